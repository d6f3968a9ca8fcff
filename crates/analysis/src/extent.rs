//! How large and how fine floats can be.

use tangle_program::subgroup::Fold;
use tangle_program::types::Scalar;

/// The least grain: far from the denormals of `float16_t`.
const LEAST_GRAIN: i32 = -10;

/// How large and how fine the values of a float expression can be: see [`crate::exact`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The sum of the absolute values of what the expression adds up.
    pub most: f64,
    /// All of it is a multiple of `2^grain`.
    pub grain: i32,
}

impl Extent {
    /// Integers up to `most` and down to `-most`.
    pub const fn integers(most: f64) -> Extent {
        Extent { most, grain: 0 }
    }

    /// What a variable of the type can hold: quarters.
    pub const fn of_variables(scalar: Scalar) -> Extent {
        let most = match scalar.size() {
            ..=16 => 128.0,
            17..=32 => 16_384.0,
            // Beyond the 20 bits of a significand that the high word holds.
            33.. => 1_048_576.0,
        };
        Extent { most, grain: -2 }
    }

    /// True if every value of it is within the other.
    pub fn is_within(self, other: Extent) -> bool {
        self.most <= other.most && self.grain >= other.grain
    }

    /// True if all intermediate results are representable.
    pub(crate) fn is_exact(self, scalar: Scalar) -> bool {
        let (precision, greatest) = if scalar.size() < 32 { (11, 15) } else { (24, 127) };
        let is_normal = self.grain >= LEAST_GRAIN && self.most <= f64::from(greatest).exp2();
        is_normal && self.most * f64::from(-self.grain).exp2() <= f64::from(precision - 1).exp2()
    }

    pub(crate) fn plus(self, other: Extent) -> Extent {
        Extent { most: self.most + other.most, grain: self.grain.min(other.grain) }
    }

    pub(crate) fn times(self, other: Extent) -> Extent {
        Extent { most: self.most * other.most, grain: self.grain + other.grain }
    }

    pub(crate) fn or(self, other: Extent) -> Extent {
        Extent { most: self.most.max(other.most), grain: self.grain.min(other.grain) }
    }

    /// A combination of as many values.
    pub(crate) fn folded(self, fold: Fold, lanes: u32) -> Extent {
        match fold {
            Fold::Add => Extent { most: self.most * f64::from(lanes), ..self },
            // Of fewer lanes the product may be larger, if the values are below 1.
            Fold::Mul => {
                Extent { most: self.most.max(1.0).powi(lanes as i32), grain: self.grain.saturating_mul(lanes as i32) }
            }
            Fold::Min | Fold::Max | Fold::And | Fold::Or | Fold::Xor => self,
        }
    }
}
