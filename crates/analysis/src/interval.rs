//! Intervals of integers.

use tangle_program::types::Scalar;

/// The integers from `lo` to `hi`, both included. Bools are 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The least value.
    pub lo: i128,
    /// The greatest value, at least `lo`.
    pub hi: i128,
}

impl Interval {
    /// From `lo` to `hi`.
    pub const fn new(lo: i128, hi: i128) -> Interval {
        Interval { lo, hi }
    }

    /// The interval of one value.
    pub const fn exactly(value: i128) -> Interval {
        Interval { lo: value, hi: value }
    }

    /// Everything that a scalar type can hold. What floats can be is another matter: [`crate::exact`].
    pub const fn all(scalar: Scalar) -> Interval {
        if scalar.is_float() {
            return Interval::new(-(1 << 100), 1 << 100);
        }
        let bits = scalar.bits() as i128;
        if scalar.is_signed() { Interval::new(scalar.least() as i128, bits >> 1) } else { Interval::new(0, bits) }
    }

    /// True if the value is in it.
    pub const fn contains(self, value: i128) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// True if every value of it is in `other`.
    pub const fn is_within(self, other: Interval) -> bool {
        other.lo <= self.lo && self.hi <= other.hi
    }

    /// The least interval around both.
    pub fn hull(self, other: Interval) -> Interval {
        Interval::new(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    /// The interval, or everything if the arithmetic of the type may have wrapped around.
    pub(crate) fn wrapped(self, scalar: Scalar) -> Interval {
        let all = Interval::all(scalar);
        if self.is_within(all) { self } else { all }
    }

    /// The interval around some values; everything if there is none, or if one of them overflowed.
    pub(crate) fn around<const N: usize>(values: [Option<i128>; N], scalar: Scalar) -> Interval {
        let all = Interval::all(scalar);
        let mut hull: Option<Interval> = None;
        for value in values {
            let Some(value) = value else { return all };
            let point = Interval::exactly(value);
            hull = Some(hull.map_or(point, |hull| hull.hull(point)));
        }
        hull.map_or(all, |hull| hull.wrapped(scalar))
    }

    /// `[0, 2^n - 1]` for the least `n` that covers both; what `|` and `^` of non-negative values stay in.
    pub(crate) fn bits_of(self, other: Interval) -> Interval {
        let bits = 128 - (self.hi | other.hi).leading_zeros();
        Interval::new(0, (1 << bits) - 1)
    }
}
