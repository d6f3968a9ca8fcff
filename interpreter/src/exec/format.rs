//! Floating-point formats: conversions between bits and numbers, rounding to neighbours, sums and products with their exactness.

/// A power of two, made from its bits where it is a normal number.
#[inline]
pub(super) fn power(exponent: i32) -> f64 {
    match u64::try_from(exponent.saturating_add(1023)) {
        Ok(biased @ 1..=2046) => f64::from_bits(biased << 52),
        _ => 2f64.powi(exponent),
    }
}

/// Significant bits, smallest exponent of a normal number, largest one.
pub(crate) fn format(w: u8) -> (i32, i32, i32) {
    match w {
        16 => (11, -14, 15),
        32 => (24, -126, 127),
        _ => (53, -1022, 1023),
    }
}

/// The number that the bits stand for.
pub(crate) fn decode(w: u8, bits: u64) -> f64 {
    match w {
        16 => {
            let (sign, exponent, fraction) = (bits >> 15 & 1, bits >> 10 & 0x1F, bits & 0x3FF);
            let magnitude = match exponent {
                0 => fraction as f64 * power(-24),
                31 if fraction == 0 => f64::INFINITY,
                31 => f64::NAN,
                _ => f64::from_bits((exponent + 1023 - 15) << 52 | fraction << 42),
            };
            if sign == 1 { -magnitude } else { magnitude }
        }
        32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// The bits of a number that is representable.
pub(crate) fn encode(w: u8, x: f64) -> Option<u64> {
    match w {
        16 => encode_normal(w, x).or_else(|| {
            let sign = x.to_bits() >> 63 << 15;
            if x.is_infinite() {
                return Some(sign | 0x7C00);
            }
            // Zeros and denormals, whose unit is 2 to the power of -24.
            let scaled = x.abs() * power(24);
            (scaled < 1024.0 && scaled.fract() == 0.0).then_some(sign | scaled as u64)
        }),
        32 => {
            let y = x as f32;
            (f64::from(y) == x).then(|| u64::from(y.to_bits()))
        }
        _ => (!x.is_nan()).then(|| x.to_bits()),
    }
}

/// The bits of a number that is representable and normal.
#[inline]
pub(super) fn encode_normal(w: u8, x: f64) -> Option<u64> {
    match w {
        16 => {
            let (bits, exponent) = (x.to_bits(), x.to_bits() >> 52 & 0x7FF);
            let is_normal = bits & ((1 << 42) - 1) == 0 && (1023 - 14..=1023 + 15).contains(&exponent);
            is_normal.then(|| bits >> 63 << 15 | (exponent + 15 - 1023) << 10 | bits >> 42 & 0x3FF)
        }
        32 => {
            let y = x as f32;
            (f64::from(y) == x && y.is_normal()).then(|| u64::from(y.to_bits()))
        }
        _ => x.is_normal().then(|| x.to_bits()),
    }
}

/// The largest representable number that is not greater, and the smallest that is not smaller.
pub(super) fn neighbours(w: u8, x: f64) -> (f64, f64) {
    if encode(w, x).is_some() {
        return (x, x);
    }
    let (digits, least, _) = format(w);
    let exponent = (((x.to_bits() >> 52) & 0x7FF) as i32 - 1023).max(least);
    let unit = power(exponent - (digits - 1));
    ((x / unit).floor() * unit, (x / unit).ceil() * unit)
}

/// Some representable number in an interval.
pub(super) fn nearest(w: u8, x: f64) -> u64 {
    let (low, high) = neighbours(w, x);
    let x = if x - low <= high - x { low } else { high };
    encode(w, x).unwrap_or(0)
}

/// A sum, and whether it is exact.
pub(crate) fn add(x: f64, y: f64) -> (f64, bool) {
    let sum = x + y;
    let part = sum - x;
    let error = (x - (sum - part)) + (y - part);
    (sum, error == 0.0)
}

/// A sum that is exact, or else the one of the two numbers around it whose last bit is 1: a further rounding to at least two digits fewer gives what one
/// rounding gives.
pub(super) fn sum_to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    let part = sum - x;
    let error = (x - (sum - part)) + (y - part);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // The other one lies on the side of the error.
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

/// The same of an integer.
pub(super) fn integer_to_odd(x: u64) -> f64 {
    let lost = (u64::BITS - x.leading_zeros()).saturating_sub(53);
    let kept = x >> lost;
    let odd = kept | u64::from(kept << lost != x);
    odd as f64 * power(lost as i32)
}

/// A product, and whether it is exact.
#[inline]
pub(crate) fn mul(x: f64, y: f64) -> (f64, bool) {
    let product = x * y;
    // Below this the error of the product is no number of 64 bits.
    let has_error = product.abs() > power(-960) || x == 0.0 || y == 0.0;
    // Factors of 26 bits have a product of 52; `mul_add` is a call where the processor may lack it.
    let is_short = (x.to_bits() | y.to_bits()) & ((1 << 27) - 1) == 0 && product.is_finite();
    (product, has_error && (is_short || x.mul_add(y, -product) == 0.0))
}

/// The whole part of a number; of what is between -1 and 1 a zero of either sign.
#[inline]
pub(super) fn whole(x: f64) -> f64 {
    // From here on all numbers are whole.
    if x.abs() < power(52) { (x as i64) as f64 } else { x }
}

/// `ulp(x)`, the distance of the numbers around it; at a power of two, where it is "the minimum possible" of two distances, the other one. For 64 bits
/// it is that of 32.
pub(super) fn ulp(w: u8, x: f64) -> f64 {
    let (digits, least, _) = format(w.min(32));
    // A little more than that makes good for what the host's functions lose.
    let exponent = (x.abs() * 1.000_001).log2().floor().clamp(f64::from(least), 1023.0) as i32;
    power(exponent - digits + 1) * 1.000_001
}

/// The exponent `e` of a number that is not 0 and of magnitude `2^e` to less than `2^(e+1)`.
pub(crate) fn exponent_of(x: f64) -> i32 {
    match (x.to_bits() >> 52 & 0x7FF) as i32 {
        0 => exponent_of(x * power(64)) - 64,
        biased => biased - 1023,
    }
}

/// `x × 2^n`; within the distance of two denormals of it where it is one.
pub(super) fn scaled(x: f64, n: i32) -> f64 {
    let step = n.clamp(-1000, 1000);
    let y = x * power(step);
    if step == n || y == 0.0 { y } else { scaled(y, n - step) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_and_written() {
        for bits in 0..=0xFFFF_u64 {
            let x = decode(16, bits);
            let expected = (!x.is_nan()).then_some(bits);
            assert_eq!(encode(16, x), expected, "{bits:#x}");
            let is_normal = (1..31).contains(&(bits >> 10 & 0x1F));
            assert_eq!(encode_normal(16, x), expected.filter(|_| is_normal), "{bits:#x}");
            // Between two numbers there is none.
            let between = f64::from_bits(x.to_bits() | 1);
            assert_eq!(encode(16, between), None, "{bits:#x}");
        }
        assert_eq!(encode(16, 65536.0), None);
    }

    #[test]
    fn sums_and_integers_with_an_odd_last_digit() {
        let (ulp, tiny) = (power(-52), power(-100));
        for (x, y, expected) in [
            (1.0, 2.0, 3.0),
            (1.0, tiny, 1.0 + ulp),
            (1.0, -tiny, 1.0 - power(-53)),
            (-1.0, tiny, -1.0 + power(-53)),
            (-1.0, -tiny, -1.0 - ulp),
            (1.0 + ulp, tiny, 1.0 + ulp),
            (1.0 + ulp, -tiny, 1.0 + ulp),
            (tiny, 1.0 + 2.0 * ulp, 1.0 + 3.0 * ulp),
        ] {
            assert_eq!(sum_to_odd(x, y), expected, "{x:e} {y:e}");
        }
        for (x, expected) in [
            (1, 1.0),
            ((1 << 53) + 1, power(53) + 2.0),
            ((1 << 53) + 2, power(53) + 2.0),
            ((1 << 54) + 1, power(54) + 4.0),
            ((1 << 54) + 6, power(54) + 4.0),
            (1 << 63, power(63)),
            (u64::MAX, power(64) - power(11)),
        ] {
            assert_eq!(integer_to_odd(x), expected, "{x}");
        }
    }

    #[test]
    fn products_are_exact_or_not() {
        let (wide, ulp) = (1.0 + power(-26), power(-52));
        for (x, y, is_exact) in [
            (3.0, 0.25, true),
            (-1.5, 0.0, true),
            // 26 bits each, and one bit more.
            (1.0 + power(-25), 1.0 + power(-25), true),
            (wide, wide, true),
            (wide, 1.0 + power(-27), false),
            (1.0 + ulp, 1.0 + ulp, false),
            // What is lost is no number.
            (power(-600), power(-600), false),
            (power(1000), power(1000), false),
        ] {
            assert_eq!(mul(x, y), (x * y, is_exact), "{x:e} {y:e}");
        }
        for (x, expected) in [(2.75, 2.0), (-2.75, -2.0), (-0.5, 0.0), (power(53) + 2.0, power(53) + 2.0)] {
            assert_eq!(whole(x), expected);
        }
    }
}
