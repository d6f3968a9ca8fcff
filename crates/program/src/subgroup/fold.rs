//! What reductions and scans combine with.

use crate::float;
use crate::types::Scalar;

/// The combining operation of reductions and scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fold {
    /// Wrapping sum.
    Add,
    /// Wrapping product.
    Mul,
    /// Minimum, signed or unsigned by type.
    Min,
    /// Maximum, signed or unsigned by type.
    Max,
    /// Bitwise, for bool logical, and.
    And,
    /// Bitwise or logical or.
    Or,
    /// Bitwise or logical exclusive or.
    Xor,
}

impl Fold {
    /// Every fold, in the order of declaration.
    pub const ALL: [Fold; 7] = [Fold::Add, Fold::Mul, Fold::Min, Fold::Max, Fold::And, Fold::Or, Fold::Xor];

    /// How GL_KHR_shader_subgroup calls it, for a type.
    pub const fn noun(self, scalar: Scalar) -> &'static str {
        match (self, scalar) {
            (Fold::Add, _) => "summation",
            (Fold::Mul, _) => "multiplication",
            (Fold::Min, _) => "minimum <value>",
            (Fold::Max, _) => "maximum <value>",
            (Fold::And, Scalar::Bool) => "logical AND",
            (Fold::Or, Scalar::Bool) => "logical inclusive OR",
            (Fold::Xor, Scalar::Bool) => "logical exclusive OR",
            (Fold::And, _) => "bitwise AND",
            (Fold::Or, _) => "bitwise OR",
            (Fold::Xor, _) => "bitwise XOR",
        }
    }

    /// True if an exclusive scan gives the first lane an infinity.
    pub(super) const fn starts_infinite(self, scalar: Scalar) -> bool {
        matches!(self, Fold::Min | Fold::Max) && scalar.is_float()
    }

    /// `x ∘ y` on the bits of a scalar type.
    pub fn apply(self, scalar: Scalar, x: u64, y: u64) -> u64 {
        if scalar.is_float() {
            return self.apply_float(scalar, x, y);
        }
        // Adding it to both puts two's complement values in the order of their bits.
        let bias = if scalar.is_signed() { 1 << (scalar.size() - 1) } else { 0 };
        match self {
            Fold::Add => x.wrapping_add(y) & scalar.bits(),
            Fold::Mul => x.wrapping_mul(y) & scalar.bits(),
            Fold::Min => (x ^ bias).min(y ^ bias) ^ bias,
            Fold::Max => (x ^ bias).max(y ^ bias) ^ bias,
            Fold::And => x & y,
            Fold::Or => x | y,
            Fold::Xor => x ^ y,
        }
    }

    fn apply_float(self, scalar: Scalar, x: u64, y: u64) -> u64 {
        let (a, b) = (float::value(scalar, x), float::value(scalar, y));
        match self {
            Fold::Add => float::bits(scalar, a + b),
            Fold::Mul => float::bits(scalar, a * b),
            // One of the two is chosen, with its sign, and no NaN if there is something else (docs/rules.md, rules P9 and F8).
            Fold::Min => {
                if b < a || a.is_nan() {
                    y
                } else {
                    x
                }
            }
            Fold::Max => {
                if b > a || a.is_nan() {
                    y
                } else {
                    x
                }
            }
            // Floats have no bitwise operations.
            Fold::And | Fold::Or | Fold::Xor => x,
        }
    }

    /// True if a sum or product of these integers may leave their type, in whatever order it is computed.
    pub fn may_overflow(self, scalar: Scalar, values: impl IntoIterator<Item = u64>) -> bool {
        let shift = 64 - scalar.size();
        let mut magnitudes = values.into_iter().map(|bits| match scalar.is_signed() {
            true => ((bits << shift) as i64 >> shift).unsigned_abs(),
            false => bits,
        });
        let most = if scalar.is_signed() { scalar.bits() >> 1 } else { scalar.bits() };
        let all = match self {
            Fold::Add => magnitudes.try_fold(0_u64, u64::checked_add),
            Fold::Mul => magnitudes.try_fold(1_u64, |all, x| all.checked_mul(x.max(1))),
            Fold::Min | Fold::Max | Fold::And | Fold::Or | Fold::Xor => Some(0),
        };
        all.is_none_or(|all| all > most)
    }

    /// The identity of the operation (docs/rules.md, rule P7): what an exclusive scan gives to the first lane.
    pub const fn identity(self, scalar: Scalar) -> u64 {
        match self {
            Fold::Mul if scalar.is_float() => float::one(scalar),
            Fold::Min if scalar.is_float() => float::infinity(scalar),
            Fold::Max if scalar.is_float() => float::infinity(scalar) | 1 << (scalar.size() - 1),
            Fold::Add | Fold::Or | Fold::Xor => 0,
            Fold::Mul => 1,
            Fold::And => scalar.bits(),
            Fold::Min if scalar.is_signed() => scalar.bits() >> 1,
            Fold::Max if scalar.is_signed() => 1 << (scalar.size() - 1),
            Fold::Min => scalar.bits(),
            Fold::Max => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_or_product_may_leave_its_type() {
        let table: [(Fold, Scalar, &[u64], bool); 10] = [
            (Fold::Add, Scalar::Uint, &[0xFFFF_FFFE, 1], false),
            (Fold::Add, Scalar::Uint, &[0xFFFF_FFFF, 1], true),
            // In another order, or of some of them, it may be more than the whole.
            (Fold::Add, Scalar::Int, &[0x7FFF_FFFF, 1, 0xFFFF_FFFF], true),
            (Fold::Add, Scalar::Int, &[0xFFFF_FFFF, 0xFFFF_FFFF], false),
            (Fold::Add, Scalar::Uint8, &[200, 55], false),
            (Fold::Add, Scalar::Int8, &[100, 28], true),
            (Fold::Mul, Scalar::Uint64, &[1 << 32, 1 << 32], true),
            // Lanes that are not there leave no 0.
            (Fold::Mul, Scalar::Int16, &[0, 1 << 8, 1 << 7], true),
            (Fold::Mul, Scalar::Int16, &[3, 0xFFFD], false),
            (Fold::Max, Scalar::Uint, &[0xFFFF_FFFF, 0xFFFF_FFFF], false),
        ];
        for (fold, scalar, values, expected) in table {
            assert_eq!(fold.may_overflow(scalar, values.iter().copied()), expected, "{fold:?} {scalar:?} {values:?}");
        }
    }
}
