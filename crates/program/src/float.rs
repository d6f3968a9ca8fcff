//! The values of floating-point types and their bits.
//!
//! Valid programs compute only with numbers that every device represents exactly (`tangle_analysis::exact`), so that `f64` holds them all.
//! A zero has no sign here: devices may give either (docs/rules.md, rule F5), and the printed shader takes the sign away before it logs.
//!
//! Beside these there are *preserved* numbers ([`Expr::is_preserved`](crate::tree::Expr::is_preserved)), made of bits in programs that ask for
//! SignedZeroInfNanPreserve. They may be NaN, infinities and zeros of both signs, and go only through what keeps those (rule F6). A NaN of
//! them is any NaN: its sign and payload are open.

use crate::types::Scalar;

/// The number that the bits stand for.
pub fn value(scalar: Scalar, bits: u64) -> f64 {
    match scalar {
        Scalar::Float16 => half_value(bits as u16),
        Scalar::Float => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

/// The bits of a number that the type can represent; of any other, those of one near it.
pub fn bits(scalar: Scalar, value: f64) -> u64 {
    // This gives a negative zero the positive sign.
    let value = value + 0.0;
    match scalar {
        Scalar::Float16 => half_bits(value).into(),
        Scalar::Float => (value as f32).to_bits().into(),
        _ => value.to_bits(),
    }
}

impl Scalar {
    /// What is logged of a value: the bits of a float, those of 16 bits as `float`; an integer widened to at least a word.
    pub fn logged(self, x: u64) -> u64 {
        match (self.is_float(), self.size()) {
            (false, _) => self.extend(x),
            (true, ..=31) => bits(Scalar::Float, value(self, x)),
            (true, _) => x,
        }
    }

    /// The bits of the value that is logged so, if there is one.
    pub fn from_logged(self, logged: u64) -> u64 {
        match (self.is_float(), self.size()) {
            (true, ..=31) => bits(self, value(Scalar::Float, logged)),
            _ => logged & self.bits(),
        }
    }
}

/// The bits of 1.
pub const fn one(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::Float16 => 0x3C00,
        Scalar::Float => 0x3F80_0000,
        _ => 0x3FF0_0000_0000_0000,
    }
}

/// The bits of positive infinity.
pub const fn infinity(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::Float16 => 0x7C00,
        Scalar::Float => 0x7F80_0000,
        _ => 0x7FF0_0000_0000_0000,
    }
}

/// How many bits of a significand are written: the exponent stands above them.
pub const fn fraction_bits(scalar: Scalar) -> u32 {
    infinity(scalar).trailing_zeros()
}

/// The bits of the NaN that stands for all of them: the quiet one without a sign and a payload.
pub const fn nan(scalar: Scalar) -> u64 {
    let infinity = infinity(scalar);
    infinity | (infinity & infinity.wrapping_neg()) >> 1
}

/// The bit of the sign.
pub const fn sign(scalar: Scalar) -> u64 {
    1 << (scalar.size() - 1)
}

/// True for the bits of a NaN.
pub const fn is_nan(scalar: Scalar, bits: u64) -> bool {
    bits & !sign(scalar) > infinity(scalar)
}

/// True for the bits of a zero of either sign.
pub const fn is_zero(scalar: Scalar, bits: u64) -> bool {
    bits & !sign(scalar) == 0
}

/// The bits of the number, or of a zero of the same sign if it is a denormal.
pub const fn without_denormals(scalar: Scalar, bits: u64) -> u64 {
    if bits & infinity(scalar) == 0 { bits & sign(scalar) } else { bits }
}

/// The bit that tells a quiet NaN from a signalling one (IEEE 754-2019 §6.2.1).
pub const fn quiet(scalar: Scalar) -> u64 {
    nan(scalar) & !infinity(scalar)
}

/// The bits of the number, or of the quiet NaN with the same payload if it is a signalling one.
pub const fn without_signalling(scalar: Scalar, bits: u64) -> u64 {
    if is_nan(scalar, bits) { bits | quiet(scalar) } else { bits }
}

/// The bits of a number, those of [`nan`] for every NaN.
pub const fn with_one_nan(scalar: Scalar, bits: u64) -> u64 {
    if is_nan(scalar, bits) { nan(scalar) } else { bits }
}

/// The floating-point type of so many bits.
pub const fn of_size(size: u32) -> Option<Scalar> {
    match size {
        16 => Some(Scalar::Float16),
        32 => Some(Scalar::Float),
        64 => Some(Scalar::Double),
        _ => None,
    }
}

/// The number that the bits of a half-precision number stand for.
pub fn half_value(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (bits >> 10 & 0x1F, bits & 0x3FF);
    match exponent {
        0 => sign * f64::from(fraction) * (-24f64).exp2(),
        0x1F if fraction == 0 => sign * f64::INFINITY,
        0x1F => f64::NAN,
        _ => f64::from_bits(u64::from(bits >> 15) << 63 | u64::from(exponent + 1008) << 52 | u64::from(fraction) << 42),
    }
}

/// The bits of the nearest half-precision number, ties to even (IEEE 754-2019 §4.3.1).
pub fn half_bits(value: f64) -> u16 {
    let sign = (value.to_bits() >> 63 << 15) as u16;
    if value.is_nan() {
        return sign | 0x7E00;
    }
    let exponent = (value.to_bits() >> 52 & 0x7FF) as i32 - 1023;
    if exponent > 15 {
        return sign | 0x7C00;
    }
    // Subnormal numbers have the least exponent. What rounds up to the next power of two carries into the exponent, and so does a first
    // digit of 1, which is not written: hence 14, not 15.
    let exponent = exponent.max(-14);
    let units = (value.abs() * f64::from(10 - exponent).exp2()).round_ties_even();
    sign | ((((exponent + 14) as u16) << 10) + units as u16)
}

/// `f(x)` for a whole column.
pub fn map(scalar: Scalar, x: &[u64], out: &mut [u64], f: impl Fn(f64) -> f64) {
    out.iter_mut().zip(x).for_each(|(o, &x)| *o = bits(scalar, f(value(scalar, x))));
}

/// `f(x, y)` for a whole column.
pub fn zip(scalar: Scalar, x: &[u64], y: &[u64], out: &mut [u64], f: impl Fn(f64, f64) -> f64) {
    let pairs = out.iter_mut().zip(x).zip(y);
    pairs.for_each(|((o, &x), &y)| *o = bits(scalar, f(value(scalar, x), value(scalar, y))));
}

/// A relation for a whole column.
pub fn compare(scalar: Scalar, x: &[u64], y: &[u64], out: &mut [u64], f: impl Fn(f64, f64) -> bool) {
    let pairs = out.iter_mut().zip(x).zip(y);
    pairs.for_each(|((o, &x), &y)| *o = u64::from(f(value(scalar, x), value(scalar, y))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for (number, half) in [
            (1.0, 0x3C00),
            (-2.0, 0xC000),
            (0.25, 0x3400),
            (1023.5, 0x63FF),
            (2047.0, 0x67FF),
            (65504.0, 0x7BFF),
            (f64::INFINITY, 0x7C00),
            (f64::NEG_INFINITY, 0xFC00),
        ] {
            assert_eq!(bits(Scalar::Float16, number), half, "{number}");
            assert_eq!(value(Scalar::Float16, half), number, "{half:#x}");
        }
        // The least number of all.
        assert_eq!(value(Scalar::Float16, 1), 2f64.powi(-24));
        for half in (0..=0xFFFF).filter(|half| half & 0x7C00 != 0x7C00 || half & 0x3FF == 0) {
            assert_eq!(half_bits(half_value(half)), half);
        }
        assert!(half_value(half_bits(f64::NAN)).is_nan());
    }

    #[test]
    fn halves_are_the_nearest() {
        for (number, half) in [
            (1.0 + 2f64.powi(-11), 0x3C00),
            (1.0 + 3.0 * 2f64.powi(-11), 0x3C02),
            (2.0 - 2f64.powi(-12), 0x4000),
            (65519.9, 0x7BFF),
            (65520.0, 0x7C00),
            (1e300, 0x7C00),
            (2f64.powi(-25), 0),
            (1.1 * 2f64.powi(-25), 1),
            (2f64.powi(-14) - 2f64.powi(-26), 0x0400),
            (-0.0, 0x8000),
        ] {
            assert_eq!(half_bits(number), half, "{number}");
            assert_eq!(half_bits(-number), half ^ 0x8000, "{number}");
        }
    }

    #[test]
    fn what_bits_are() {
        for (scalar, bits, nan, zero, flushed) in [
            (Scalar::Float, 0x7F80_0000, false, false, 0x7F80_0000),
            (Scalar::Float, 0x7F80_0001, true, false, 0x7F80_0001),
            (Scalar::Float, 0xFFC0_0000, true, false, 0xFFC0_0000),
            (Scalar::Float, 0x8000_0000, false, true, 0x8000_0000),
            (Scalar::Float, 0x8000_0001, false, false, 0x8000_0000),
            (Scalar::Float, 0x007F_FFFF, false, false, 0),
            (Scalar::Float, 0x0080_0000, false, false, 0x0080_0000),
            (Scalar::Float16, 0x03FF, false, false, 0),
            (Scalar::Float16, 0xFC00, false, false, 0xFC00),
            (Scalar::Float16, 0x7C01, true, false, 0x7C01),
            (Scalar::Double, 0xFFF0_0000_0000_0000, false, false, 0xFFF0_0000_0000_0000),
            (Scalar::Double, 0x8000_0000_0000_0000, false, true, 0x8000_0000_0000_0000),
            (Scalar::Double, 0x000F_FFFF_FFFF_FFFF, false, false, 0),
        ] {
            assert_eq!(is_nan(scalar, bits), nan, "{bits:#x}");
            assert_eq!(is_zero(scalar, bits), zero, "{bits:#x}");
            assert_eq!(without_denormals(scalar, bits), flushed, "{bits:#x}");
            assert_eq!(value(scalar, bits).is_nan(), nan, "{bits:#x}");
        }
        assert_eq!(without_signalling(Scalar::Float, 0xFF80_0002), 0xFFC0_0002);
        assert_eq!(without_signalling(Scalar::Float, 0xFF80_0000), 0xFF80_0000);
        assert_eq!([Scalar::Float16, Scalar::Float].map(nan), [0x7E00, 0x7FC0_0000]);
        assert_eq!(nan(Scalar::Double), 0x7FF8_0000_0000_0000);
    }

    #[test]
    fn zero_has_no_sign() {
        for scalar in [Scalar::Float16, Scalar::Float, Scalar::Double] {
            assert_eq!(bits(scalar, -0.0), 0);
            assert_eq!(bits(scalar, 1.0), one(scalar));
            assert_eq!(bits(scalar, f64::INFINITY), infinity(scalar));
        }
    }
}
