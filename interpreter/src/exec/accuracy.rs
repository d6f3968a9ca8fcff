//! The intervals that the precision of an operation allows.

use std::f64::consts::PI;

use super::format::{format, mul, neighbours, scaled, ulp};
use crate::outcome::Why;

/// What an operand can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// One of these: from, to. The sign of a zero is not distinguished.
    Range(f64, f64),
    Infinite(bool),
    Nan,
    /// Nothing is known of it.
    Unknown,
}

/// What a result can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Answer {
    /// A number, which has to be rounded unless it is `exact`.
    Between(f64, f64),
    /// Exactly these bits, the sign of a zero included.
    Bits(u64),
    Open(Why),
}

/// GLSL.std.450, Ldexp: "If this product is too large to be represented in the floating-point type, the resulting value is undefined. If exp is greater
/// than +128 (single precision) or +1024 (double precision), the resulting value is undefined. If exp is less than -126 (single precision) or -1022 (double
/// precision), the result may be flushed to zero." Half precision: as these, with its own limits. Else it is correctly rounded.
pub(super) fn ldexp(w: u8, x: Number, n: i64) -> Answer {
    let (_, least, most) = format(w);
    let Number::Range(low, high) = x else {
        return Answer::Open(if x == Number::Unknown { Why::Precision } else { Why::Implementation });
    };
    if n > i64::from(most) + 1 {
        return Answer::Open(Why::Operands);
    }
    let n = n.max(-4096) as i32;
    let end = |x: f64| {
        let y = scaled(x, n);
        // What no host number shows is next to the one that does.
        if x != 0.0 && y.abs() < 2f64.powi(-1000) { (below(y), above(y)) } else { (y, y) }
    };
    let (low, high) = (end(low).0, end(high).1);
    let limit = 2f64.powi(most) * 2.0;
    if low >= limit || high <= -limit {
        return Answer::Open(Why::Operands);
    }
    if low.abs().max(high.abs()) >= limit {
        return Answer::Open(Why::Precision);
    }
    if n < least { Answer::Between(low.min(0.0), high.max(0.0)) } else { Answer::Between(low, high) }
}

/// Roundings of a sum or product that may be as far off as a division of this width: 2.5 ULP, of 32 bits at most.
pub(super) fn division_roundings(w: u8) -> f64 {
    3.0 * 2f64.powi(format(w).0 - format(w.min(32)).0)
}

/// What lies within so many ULP of an interval.
pub(super) fn within_ulps(w: u8, (low, high): (f64, f64), n: f64) -> Answer {
    Answer::Between(low - n * ulp(w, low), high + n * ulp(w, high))
}

/// An operation that inherits the error of a formula: the exact results, and what the formula may give for them.
pub(super) fn inherited(exact: (f64, f64), formula: (f64, f64)) -> Answer {
    let ends = [exact.0, exact.1];
    let error = ends.iter().flat_map(|x| [(x - formula.0).abs(), (x - formula.1).abs()]).fold(0.0, f64::max);
    Answer::Between(exact.0 - error, exact.1 + error)
}

/// `log2` of what lies in an interval of positive numbers, with its error; by another base, divided by `scale`.
pub(super) fn logarithm(w: u8, (low, high): (f64, f64), scale: f64) -> (f64, f64) {
    let near_one = low <= 2.0 && high >= 0.5;
    let absolute = if near_one { 2f64.powi(if w == 16 { -7 } else { -21 }) } else { 0.0 };
    let (low, high) = (low.log2() * scale, high.log2() * scale);
    (low - (3.0 * ulp(w, low)).max(absolute), high + (3.0 * ulp(w, high)).max(absolute))
}

/// `exp2` of an interval, without its error and with it.
pub(super) fn exponential(w: u8, (low, high): (f64, f64), f: fn(f64) -> f64) -> ((f64, f64), (f64, f64)) {
    let n = if w == 16 { 1.0 } else { 3.0 } + 2.0 * low.abs().max(high.abs());
    let exact = (f(low), f(high));
    (exact, (exact.0 - n * ulp(w, exact.0), exact.1 + n * ulp(w, exact.1)))
}

/// The sine of what lies in an interval within [-π, π], with its error; `shift` is π/2 for the cosine.
pub(super) fn sine(w: u8, (low, high): (f64, f64), shift: f64) -> Answer {
    let f = |x: f64| (x + shift).sin();
    let (mut least, mut most) = (f(low).min(f(high)), f(low).max(f(high)));
    let meets = |at: f64| low + shift <= at && at <= high + shift;
    for turn in [-1.0, 0.0, 1.0] {
        if meets(PI / 2.0 + turn * 2.0 * PI) {
            most = 1.0;
        }
        if meets(-PI / 2.0 + turn * 2.0 * PI) {
            least = -1.0;
        }
    }
    let error = 2f64.powi(if w == 16 { -7 } else { -11 });
    Answer::Between(least - error - 1e-15, most + error + 1e-15)
}

/// The precision of `atan` and `atan2`: "4096 ULP", of half precision "5 ULP" (Vulkan, "Precision of GLSL.std.450 Instructions").
pub(super) fn arctangent_ulps(w: u8) -> f64 {
    if w == 16 { 5.0 } else { 4096.0 }
}

/// `OpQuantizeToF16`: a number of 16 bits, whichever of the two around it: "These execution modes" of rounding "do not affect OpQuantizeToF16" (Vulkan, "Correctly
/// Rounded"). What is too small for a normalised number of 16 bits may become a zero; what is too large an infinity, which is not promised (SPIR-V 1.6 §3.52.11).
pub(super) fn quantized(x: Number) -> Answer {
    let Number::Range(low, high) = x else {
        return Answer::Open(if x == Number::Unknown { Why::Precision } else { Why::Implementation });
    };
    let (_, least, most) = format(16);
    if low.abs().max(high.abs()) >= 2f64.powi(most) * 2.0 {
        return Answer::Open(Why::Implementation);
    }
    let (low, high) = (neighbours(16, low).0, neighbours(16, high).1);
    let may_flush = |x: f64| x != 0.0 && x.abs() < 2f64.powi(least);
    let low = if may_flush(low) { low.min(0.0) } else { low };
    let high = if may_flush(high) { high.max(0.0) } else { high };
    Answer::Between(low, high)
}

/// The next number of 64 bits.
pub(super) fn above(x: f64) -> f64 {
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    let bits = x.to_bits();
    f64::from_bits(match x == 0.0 {
        true => 1,
        false if x > 0.0 => bits + 1,
        false => bits - 1,
    })
}

/// The next double below, towards negative infinity.
pub(super) fn below(x: f64) -> f64 {
    -above(-x)
}

pub(super) fn between((low, high): (f64, f64)) -> Answer {
    Answer::Between(low, high)
}

/// Both ends of an interval, a little wider if they are not exact.
pub(crate) fn widen(low: (f64, bool), high: (f64, bool)) -> (f64, f64) {
    (if low.1 { low.0 } else { below(low.0) }, if high.1 { high.0 } else { above(high.0) })
}

/// What the products of numbers of two intervals lie between.
#[inline]
pub(crate) fn product((a, b): (f64, f64), (c, d): (f64, f64)) -> (f64, f64) {
    if a.to_bits() == b.to_bits() && c.to_bits() == d.to_bits() {
        let product = mul(a, c);
        return widen(product, product);
    }
    between_all([mul(a, c), mul(a, d), mul(b, c), mul(b, d)].into_iter())
}

pub(crate) fn between_all(ends: impl Iterator<Item = (f64, bool)>) -> (f64, f64) {
    let (mut low, mut high) = ((f64::INFINITY, true), (f64::NEG_INFINITY, true));
    for end in ends {
        if end.0 < low.0 || (end.0 == low.0 && !end.1) {
            low = end;
        }
        if end.0 > high.0 || (end.0 == high.0 && !end.1) {
            high = end;
        }
    }
    widen(low, high)
}
