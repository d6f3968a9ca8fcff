//! Directions of rounding, and what is computed in one of them (docs/rules.md, rules F10 and F11).
//!
//! Operands and results are bits: the results are no numbers of [`crate::float`], which are exact, and nothing but their bits is known of them.

use std::cmp::Ordering;

use crate::float;
use crate::types::Scalar;

/// A direction of rounding that an execution mode asks for (IEEE 754-2019 §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rounding {
    /// `roundTiesToEven`: to the nearest number; of two that are as near, to the one whose last bit is 0. `RoundingModeRTE`.
    TiesToEven,
    /// `roundTowardZero`: to the nearest number that is no greater in magnitude. `RoundingModeRTZ`.
    TowardZero,
}

impl Rounding {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Rounding {
        match self {
            Rounding::TiesToEven => Rounding::TowardZero,
            Rounding::TowardZero => Rounding::TiesToEven,
        }
    }
}

/// What is computed and rounded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// `OpFAdd`
    Add,
    /// `OpFSub`
    Sub,
    /// `OpFMul`
    Mul,
    /// `OpConvertSToF` or `OpConvertUToF`, to this type.
    OfInteger(Scalar),
    /// `OpFConvert` to this type, which is shorter.
    OfFloat(Scalar),
}

impl Operation {
    /// True if it takes integers; else bits of floats.
    pub const fn takes_integers(self) -> bool {
        matches!(self, Operation::OfInteger(_))
    }

    /// How many operands it takes.
    pub const fn operands(self) -> usize {
        match self {
            Operation::Add | Operation::Sub | Operation::Mul => 2,
            Operation::OfInteger(_) | Operation::OfFloat(_) => 1,
        }
    }
}

/// A rounded operation: [`Intrinsic::rounded`](crate::ops::Intrinsic::rounded).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rounded {
    /// What is computed.
    pub operation: Operation,
    /// How it is rounded.
    pub rounding: Rounding,
}

impl Rounded {
    /// The floating-point type of the operands, which are of a type of integers; `None` if they are integers themselves, or no float is as long.
    pub const fn source(self, operands: Scalar) -> Option<Scalar> {
        if self.operation.takes_integers() { None } else { float::of_size(operands.size()) }
    }

    /// The floating-point type of the result, whose mode it needs; `None` if the operands are no bits of one.
    pub const fn target(self, operands: Scalar) -> Option<Scalar> {
        match self.operation {
            Operation::OfInteger(to) | Operation::OfFloat(to) => Some(to),
            _ => float::of_size(operands.size()),
        }
    }

    /// The bits of the result for operands of a type of integers. What exceeds the range becomes an infinity or the largest number, as IEEE 754 has it;
    /// valid programs have no such results, and no operands that are infinities or NaN (`tangle_analysis::validate`).
    pub fn bits(self, operands: Scalar, x: &[u64]) -> u64 {
        let (x, y) = (x.first().copied().unwrap_or(0), x.get(1).copied().unwrap_or(0));
        let Some(to) = self.target(operands) else { return 0 };
        let number = |bits: u64| {
            self.source(operands).map_or_else(|| Exact::integer(operands, bits), |from| Exact::of(from, bits))
        };
        let exact = match self.operation {
            Operation::Add => number(x).plus(number(y)),
            Operation::Sub => number(x).plus(number(y).negated()),
            Operation::Mul => number(x).times(number(y)),
            Operation::OfInteger(_) | Operation::OfFloat(_) => number(x),
        };
        exact.rounded(to, self.rounding)
    }
}

/// `magnitude · 2^exponent`, negated or not. Magnitudes of operands have no more than 64 bits.
#[derive(Clone, Copy, Debug)]
struct Exact {
    negative: bool,
    magnitude: u128,
    exponent: i32,
}

/// How many bits of a significand are written, and the biased exponent of infinities and NaN.
fn layout(scalar: Scalar) -> (u32, u64) {
    let fraction = float::fraction_bits(scalar);
    (fraction, float::infinity(scalar) >> fraction)
}

impl Exact {
    /// The number with these bits; infinities and NaN count as numbers.
    fn of(scalar: Scalar, bits: u64) -> Exact {
        let (fraction, most) = layout(scalar);
        let (biased, units) = (bits >> fraction & most, bits & ((1 << fraction) - 1));
        // Denormals have the exponent of the least normal number, and no first digit of 1 that is not written.
        let first = u64::from(biased > 0) << fraction;
        let exponent = biased.max(1) as i32 - (most >> 1) as i32 - fraction as i32;
        Exact { negative: bits & float::sign(scalar) != 0, magnitude: (first | units).into(), exponent }
    }

    fn integer(scalar: Scalar, bits: u64) -> Exact {
        let signed = scalar.extend(bits) as i64;
        match scalar.is_signed() {
            true => Exact { negative: signed < 0, magnitude: signed.unsigned_abs().into(), exponent: 0 },
            false => Exact { negative: false, magnitude: bits.into(), exponent: 0 },
        }
    }

    fn negated(self) -> Exact {
        Exact { negative: !self.negative, ..self }
    }

    fn times(self, other: Exact) -> Exact {
        Exact {
            negative: self.negative != other.negative,
            magnitude: self.magnitude * other.magnitude,
            exponent: self.exponent + other.exponent,
        }
    }

    /// The sum, or, where the operands are so far apart that this does not fit, a number that is rounded like it.
    fn plus(self, other: Exact) -> Exact {
        // So many digits hold the larger operand and then those that decide about rounding.
        const APART: i32 = 60;
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        if large.magnitude == 0 {
            return if small.magnitude == 0 {
                Exact { negative: large.negative && small.negative, ..small }
            } else {
                small
            };
        }
        let gap = large.exponent - small.exponent;
        let (scaled, exponent, low) = match gap <= APART {
            true => (large.magnitude << gap, small.exponent, small.magnitude),
            // All of it is less than half a unit of any result: it only matters that it is there.
            false => (large.magnitude << APART, large.exponent - APART, u128::from(small.magnitude != 0)),
        };
        if large.negative == small.negative {
            return Exact { negative: large.negative, magnitude: scaled + low, exponent };
        }
        match scaled.cmp(&low) {
            // IEEE 754-2019 §6.3: in these directions of rounding "the sign of a sum that is exactly zero is +".
            Ordering::Equal => Exact { negative: false, magnitude: 0, exponent },
            Ordering::Greater => Exact { negative: large.negative, magnitude: scaled - low, exponent },
            Ordering::Less => Exact { negative: small.negative, magnitude: low - scaled, exponent },
        }
    }

    /// The bits of the number after rounding.
    fn rounded(self, to: Scalar, rounding: Rounding) -> u64 {
        let sign = if self.negative { float::sign(to) } else { 0 };
        if self.magnitude == 0 {
            return sign;
        }
        let (fraction, most) = layout(to);
        let least = 1 - (most >> 1) as i32;
        let binade = self.exponent + self.magnitude.ilog2() as i32;
        // Of the last digit of the result.
        let unit = binade.max(least) - fraction as i32;
        let (units, rest, half) = match u32::try_from(unit - self.exponent) {
            Ok(0) | Err(_) => (self.magnitude << (self.exponent - unit).max(0), 0, 1),
            Ok(shift @ 1..=127) => (self.magnitude >> shift, self.magnitude & ((1 << shift) - 1), 1 << (shift - 1)),
            // Less than a quarter of the least denormal.
            Ok(_) => (0, 1, 2),
        };
        let up = match rounding {
            Rounding::TiesToEven => rest > half || rest == half && units & 1 == 1,
            Rounding::TowardZero => false,
        };
        // A first digit of 1, which is not written, carries into the exponent, and so does what is rounded up to the next power of two.
        let magnitude = ((binade.max(least) - least) as u128) << fraction;
        let magnitude = magnitude + units + u128::from(up);
        let infinity = float::infinity(to);
        sign | match (u64::try_from(magnitude), rounding) {
            (Ok(bits), _) if bits < infinity => bits,
            (_, Rounding::TiesToEven) => infinity,
            (_, Rounding::TowardZero) => infinity - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Operation::{Add, Mul, OfFloat, OfInteger, Sub};

    fn both(operation: Operation, operands: Scalar, x: &[u64]) -> [u64; 2] {
        [Rounding::TiesToEven, Rounding::TowardZero].map(|rounding| Rounded { operation, rounding }.bits(operands, x))
    }

    /// Operands, and the bits of the results by hand: to nearest, and toward zero.
    #[test]
    fn integers() {
        let (half, float) = (OfInteger(Scalar::Float16), OfInteger(Scalar::Float));
        for (operation, scalar, x, expected) in [
            // 2²⁴ + 1 lies in the middle, 2²⁴ + 3 too.
            (float, Scalar::Uint, 0x0100_0001, [0x4B80_0000, 0x4B80_0000]),
            (float, Scalar::Uint, 0x0100_0003, [0x4B80_0002, 0x4B80_0001]),
            (float, Scalar::Int, -0x0100_0003_i64, [0xCB80_0002, 0xCB80_0001]),
            (float, Scalar::Uint, 0xFFFF_FFFF, [0x4F80_0000, 0x4F7F_FFFF]),
            (float, Scalar::Int, -0x8000_0000, [0xCF00_0000; 2]),
            (float, Scalar::Int, -0x7FFF_FFFF, [0xCF00_0000, 0xCEFF_FFFF]),
            (float, Scalar::Int8, -7, [0xC0E0_0000; 2]),
            // 2⁶³ + 2³⁹ + 1: a double in between is the middle, and this goes down from there.
            (float, Scalar::Uint64, (1 << 63 | 1 << 39 | 1_u64) as i64, [0x5F00_0001, 0x5F00_0000]),
            (float, Scalar::Int64, -(1 << 62 | 1 << 38 | 1), [0xDE80_0001, 0xDE80_0000]),
            (float, Scalar::Int64, i64::MAX, [0x5F00_0000, 0x5EFF_FFFF]),
            (half, Scalar::Uint, 2049, [0x6800, 0x6800]),
            (half, Scalar::Int, 2051, [0x6802, 0x6801]),
            (half, Scalar::Int16, -2051, [0xE802, 0xE801]),
            (half, Scalar::Uint16, 65_503, [0x7BFF, 0x7BFE]),
            // Not in valid programs: past the largest number.
            (half, Scalar::Uint, 65_519, [0x7BFF, 0x7BFF]),
            (half, Scalar::Uint, 65_520, [0x7C00, 0x7BFF]),
            (half, Scalar::Int64, i64::MIN, [0xFC00, 0xFBFF]),
        ] {
            assert_eq!(both(operation, scalar, &[x as u64 & scalar.bits()]), expected, "{x}");
        }
    }

    #[test]
    fn shorter_floats() {
        let (half, float) = (OfFloat(Scalar::Float16), OfFloat(Scalar::Float));
        for (operation, scalar, x, expected) in [
            // 1 + 2⁻¹¹, a little more, 1 + 3 · 2⁻¹¹, and the same negated.
            (half, Scalar::Uint, 0x3F80_1000, [0x3C00, 0x3C00]),
            (half, Scalar::Uint, 0x3F80_1001, [0x3C01, 0x3C00]),
            (half, Scalar::Uint, 0x3F80_3000, [0x3C02, 0x3C01]),
            (half, Scalar::Uint, 0xBF80_3000, [0xBC02, 0xBC01]),
            (half, Scalar::Uint, 0x3F80_2FFF, [0x3C01, 0x3C01]),
            // Just below 2, and below 65,504.
            (half, Scalar::Uint, 0x3FFF_F000, [0x4000, 0x3FFF]),
            (half, Scalar::Uint, 0x477F_DFFF, [0x7BFF, 0x7BFE]),
            // 2⁻¹⁴, and denormals.
            (half, Scalar::Uint, 0x3880_0000, [0x0400, 0x0400]),
            (half, Scalar::Uint, 0x387F_FFFF, [0x0400, 0x03FF]),
            (half, Scalar::Uint, 0x3300_0001, [0x0001, 0x0000]),
            (half, Scalar::Uint, 0xB300_0000, [0x8000, 0x8000]),
            // 1 + 2⁻¹¹ + 2⁻³⁰: a float in between is the middle.
            (half, Scalar::Uint64, 0x3FF0_0200_0040_0000, [0x3C01, 0x3C00]),
            (half, Scalar::Uint64, 0xBFF0_0200_0000_0000, [0xBC00, 0xBC00]),
            // 1 + 2⁻¹¹ - 2⁻³⁰: a float in between, rounded to nearest, is the middle, too.
            (half, Scalar::Uint64, 0x3FF0_05FF_FFC0_0000, [0x3C01, 0x3C01]),
            (float, Scalar::Uint64, 0x3FF0_0000_1000_0000, [0x3F80_0000, 0x3F80_0000]),
            (float, Scalar::Uint64, 0x3FF0_0000_1000_0001, [0x3F80_0001, 0x3F80_0000]),
            (float, Scalar::Uint64, 0xBFF0_0000_3000_0000, [0xBF80_0002, 0xBF80_0001]),
            (float, Scalar::Uint64, 0x7FE0_0000_0000_0000, [0x7F80_0000, 0x7F7F_FFFF]),
            (float, Scalar::Uint64, 1, [0, 0]),
        ] {
            assert_eq!(both(operation, scalar, &[x]), expected, "{x:#x}");
        }
    }

    #[test]
    fn sums_and_products() {
        for (operation, scalar, x, y, expected) in [
            (Add, Scalar::Uint, 0x3F80_0000, 0x3380_0000, [0x3F80_0000, 0x3F80_0000]),
            (Add, Scalar::Uint, 0x3F80_0001, 0x3380_0000, [0x3F80_0002, 0x3F80_0001]),
            (Sub, Scalar::Uint, 0x3F80_0001, 0xB380_0000, [0x3F80_0002, 0x3F80_0001]),
            (Sub, Scalar::Uint, 0xBF80_0001, 0x3380_0000, [0xBF80_0002, 0xBF80_0001]),
            // 1 less what is far below its last digit.
            (Sub, Scalar::Uint, 0x3F80_0000, 0x3080_0000, [0x3F80_0000, 0x3F7F_FFFF]),
            (Add, Scalar::Uint, 0x3080_0000, 0xBF80_0000, [0xBF80_0000, 0xBF7F_FFFF]),
            (Sub, Scalar::Uint, 0x7E80_0000, 0x0080_0000, [0x7E80_0000, 0x7E7F_FFFF]),
            (Add, Scalar::Uint, 0x7E80_0000, 0x0080_0000, [0x7E80_0000, 0x7E80_0000]),
            // Exactly zero, and a zero as an operand.
            (Sub, Scalar::Uint, 0xC123_4567, 0xC123_4567, [0, 0]),
            (Add, Scalar::Uint, 0x8000_0000, 0x8000_0000, [0x8000_0000, 0x8000_0000]),
            (Add, Scalar::Uint, 0x8000_0000, 0x3F80_0001, [0x3F80_0001, 0x3F80_0001]),
            // The rows of the conformance tests (`V_ADD_ARG_A` and so on).
            (Add, Scalar::Uint16, 0x3C03, 0x3C00, [0x4002, 0x4001]),
            (Sub, Scalar::Uint16, 0x3C03, 0x4203, [0xC002, 0xC001]),
            (Mul, Scalar::Uint16, 0x3C03, 0x1900, [0x1904, 0x1903]),
            // 2¹⁵ - 2⁻¹⁴: a float of 32 bits in between cannot hold it.
            (Sub, Scalar::Uint16, 0x7800, 0x0400, [0x7800, 0x77FF]),
            (Mul, Scalar::Uint, 0x3FC0_0000, 0x3F80_0001, [0x3FC0_0002, 0x3FC0_0001]),
            (Mul, Scalar::Uint, 0x3FFF_FFFF, 0x3FFF_FFFF, [0x407F_FFFE, 0x407F_FFFE]),
            (Mul, Scalar::Uint, 0x3FFF_FFFF, 0xBFFF_FFFE, [0xC07F_FFFD, 0xC07F_FFFD]),
            (Mul, Scalar::Uint, 0x3F80_0001, 0x3FFF_FFFF, [0x4000_0000, 0x4000_0000]),
            (Mul, Scalar::Uint, 0x7F00_0000, 0x4000_0001, [0x7F80_0000, 0x7F7F_FFFF]),
        ] {
            assert_eq!(both(operation, scalar, &[x, y]), expected, "{operation:?} {x:#x} {y:#x}");
        }
    }

    /// The host's own arithmetic rounds to nearest. Toward zero is that number, or the one before it if it is too large.
    #[test]
    fn as_the_host_rounds() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.rotate_left(23) ^ state >> 17
        };
        let toward_zero =
            |nearest: f32, exact: f64| nearest.to_bits() - u32::from(f64::from(nearest).abs() > exact.abs());
        for _ in 0..200_000 {
            let (x, y) = (random(), random());
            let number = |bits: u64| f32::from_bits(bits as u32 & 0x8FFF_FFFF | 0x3000_0000);
            let (a, b) = (number(x), number(y));
            let operands = [a, b].map(|x| u64::from(x.to_bits()));
            let exact = f64::from(a) * f64::from(b);
            let expected = [u64::from((a * b).to_bits()), toward_zero(a * b, exact).into()];
            assert_eq!(both(Mul, Scalar::Uint, &operands), expected, "{a:e} {b:e}");
            let [sum, _] = both(Add, Scalar::Uint, &operands);
            let [difference, _] = both(Sub, Scalar::Uint, &operands);
            assert_eq!([sum, difference], [a + b, a - b].map(|x| u64::from(x.to_bits())), "{a:e} {b:e}");
            assert_eq!(both(OfInteger(Scalar::Float), Scalar::Int64, &[x])[0], u64::from((x as i64 as f32).to_bits()));
            let single =
                [u64::from((x as u32 as f32).to_bits()), toward_zero(x as u32 as f32, f64::from(x as u32)).into()];
            assert_eq!(both(OfInteger(Scalar::Float), Scalar::Uint, &[x & 0xFFFF_FFFF]), single);
            let double = f64::from_bits(x & 0x8FFF_FFFF_FFFF_FFFF | 0x3000_0000_0000_0000);
            let single = [u64::from((double as f32).to_bits()), toward_zero(double as f32, double).into()];
            assert_eq!(both(OfFloat(Scalar::Float), Scalar::Uint64, &[double.to_bits()]), single, "{double:e}");
            assert_eq!(
                both(OfFloat(Scalar::Float16), Scalar::Uint64, &[double.to_bits()])[0],
                u64::from(float::half_bits(double))
            );
        }
    }

    #[test]
    fn types() {
        let sum = Rounded { operation: Add, rounding: Rounding::TowardZero };
        assert_eq!(
            [sum.source(Scalar::Uint16), sum.target(Scalar::Uint)],
            [Some(Scalar::Float16), Some(Scalar::Float)]
        );
        let half = Rounded { operation: OfInteger(Scalar::Float16), ..sum };
        assert_eq!([half.source(Scalar::Uint), half.target(Scalar::Int8)], [None, Some(Scalar::Float16)]);
    }
}
