//! What an implementation may make of an expression of floats: "Implementations may rearrange floating-point operations using any of the mathematical
//! properties governing the expressions in precise arithmetic, even where the floating-point operations do not share these properties … This
//! rearrangement can be prevented for particular operations by using the NoContraction decoration" (Vulkan, "Evaluation of Expressions").
//!
//! Beside its value a float has the [`Expansion`] of the operations without that decoration which made it: the expression multiplied out, a sum of
//! products of values that are taken as they stand. However it is rearranged, each product passes through at most so many roundings, so that the result is
//! as near to the exact one as so many roundings of all magnitudes together are. If every part of every rearrangement is representable, it is exact.
//!
//! Sums, differences, products, quotients, negations, absolute values, minima and maxima continue an expansion; variables, phis, selections and calls
//! hand it on. What comes from memory that others see, from a subgroup operation, or from any other function is a value as it stands.

use super::accuracy::{Number, between_all, product, widen};
use super::format::{add, exponent_of, format, power};
use crate::code::Reg;

/// The unit of what is not known exactly.
const INEXACT: i32 = i32::MIN;
/// The unit of zero, of which every number is one.
const WHOLE: i32 = 1 << 20;

/// A sum of products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expansion {
    /// The result without any rounding: from, to.
    exact: (f64, f64),
    /// What the magnitudes of all products add up to.
    magnitude: f64,
    /// No part of any product is greater, 1 at least.
    reach: f64,
    /// Products; 0 for a value as it stands.
    terms: f64,
    /// Factors of a product; a division counts as many as it rounds at most.
    degree: f64,
    /// All products are multiples of 2 to the power of this.
    unit: i32,
    /// So are all parts of products.
    least: i32,
}

impl Default for Expansion {
    fn default() -> Expansion {
        Expansion { exact: (0.0, 0.0), magnitude: 0.0, reach: 1.0, terms: 0.0, degree: 0.0, unit: WHOLE, least: 0 }
    }
}

/// The exponent of the lowest bit that is set.
fn unit_of(x: f64) -> i32 {
    if x == 0.0 {
        return WHOLE;
    }
    let fraction = x.to_bits() & ((1 << 52) - 1);
    let low = if fraction == 0 { 52 } else { fraction.trailing_zeros() as i32 };
    exponent_of(x) - 52 + low
}

/// Of two units that are both known.
fn both(x: i32, y: i32, of: fn(i32, i32) -> i32) -> i32 {
    if x == INEXACT || y == INEXACT { INEXACT } else { of(x, y) }
}

impl Expansion {
    /// A value as it stands.
    fn leaf((low, high): (f64, f64)) -> Expansion {
        let magnitude = low.abs().max(high.abs());
        let unit = if low == high { unit_of(low) } else { INEXACT };
        Expansion {
            exact: (low, high),
            magnitude,
            reach: magnitude.max(1.0),
            terms: 1.0,
            degree: 1.0,
            unit,
            least: unit.min(0),
        }
    }

    /// What stands behind a value that is known to lie in an interval, if anything does.
    pub fn of(self, number: Number) -> Option<Expansion> {
        let Number::Range(low, high) = number else { return None };
        Some(if self.is_leaf() { Expansion::leaf((low, high)) } else { self })
    }

    /// True if nothing is known but the value.
    pub fn is_leaf(&self) -> bool {
        self.terms == 0.0
    }

    /// One value, with which nothing can be rearranged.
    pub fn is_one_value(&self) -> bool {
        self.terms + self.degree <= 2.0
    }

    pub fn plus(self, other: Expansion) -> Expansion {
        // Zero adds nothing, no rounding either.
        if self.magnitude == 0.0 || other.magnitude == 0.0 {
            return if self.magnitude == 0.0 { other } else { self };
        }
        let ((a, b), (c, d)) = (self.exact, other.exact);
        Expansion {
            exact: widen(add(a, c), add(b, d)),
            magnitude: self.magnitude + other.magnitude,
            reach: self.reach + other.reach,
            terms: self.terms + other.terms,
            degree: self.degree.max(other.degree),
            unit: both(self.unit, other.unit, i32::min),
            least: both(self.least, other.least, i32::min),
        }
    }

    pub fn negated(self) -> Expansion {
        Expansion { exact: (-self.exact.1, -self.exact.0), ..self }
    }

    pub fn times(self, other: Expansion) -> Expansion {
        let sum = |x: i32, y: i32| x.saturating_add(y).min(WHOLE);
        Expansion {
            exact: product(self.exact, other.exact),
            magnitude: self.magnitude * other.magnitude,
            reach: self.reach * other.reach,
            terms: self.terms * other.terms,
            degree: self.degree + other.degree,
            unit: both(self.unit, other.unit, sum),
            least: both(self.least, other.least, sum),
        }
    }

    /// Divided by a value as it stands, none of whose interval is zero; `roundings` are those of a division.
    pub fn over(self, (c, d): (f64, f64), roundings: f64) -> Expansion {
        let (a, b) = self.exact;
        let quotient = |x: f64, y: f64| (x / y, (x / y).mul_add(y, -x) == 0.0);
        let least = c.abs().min(d.abs());
        Expansion {
            exact: between_all([quotient(a, c), quotient(a, d), quotient(b, c), quotient(b, d)].into_iter()),
            magnitude: self.magnitude / least,
            reach: self.reach * (1.0 / least).max(1.0),
            degree: self.degree + roundings,
            unit: INEXACT,
            least: INEXACT,
            ..self
        }
    }

    /// Either of the two, so that the value lies in this interval.
    pub fn or(self, other: Expansion, exact: (f64, f64)) -> Expansion {
        Expansion {
            exact,
            magnitude: self.magnitude.max(other.magnitude),
            reach: self.reach.max(other.reach),
            terms: self.terms.max(other.terms),
            degree: self.degree.max(other.degree),
            unit: both(self.unit, other.unit, i32::min),
            least: both(self.least, other.least, i32::min),
        }
    }

    pub fn exact(&self) -> (f64, f64) {
        self.exact
    }

    /// The same, with an error of its own: the result lies in this interval.
    pub fn blurred(self, exact: (f64, f64)) -> Expansion {
        let magnitude = self.magnitude + (exact.1 - exact.0);
        Expansion { exact, magnitude, reach: self.reach + magnitude, unit: INEXACT, least: INEXACT, ..self }
    }

    /// Computed in fewer bits: as many more roundings.
    pub fn coarser(self, digits: i32, roundings: f64) -> Expansion {
        if self.fits(digits) {
            return self;
        }
        Expansion { degree: self.degree + roundings, unit: INEXACT, least: INEXACT, ..self }
    }

    /// No order of operations rounds, if none overflows.
    fn fits(&self, digits: i32) -> bool {
        let (low, high) = self.exact;
        low == high && self.unit != INEXACT && self.magnitude <= power(self.unit.saturating_add(digits))
    }

    /// Where the result lies in a format of this width, however the expression is rearranged; `tiny` is what is lost where a part is too small for a
    /// normal number. `None`: something may overflow.
    pub fn result(&self, w: u8, tiny: f64) -> Option<(f64, f64)> {
        let (digits, least, most) = format(w);
        let (low, high) = self.exact;
        // Not a comparison the other way round: what is no number is none.
        let is_bounded = self.reach.max(self.magnitude) < power(most) * 2.0;
        if !is_bounded {
            return None;
        }
        if self.magnitude == 0.0 || (self.fits(digits) && self.least >= least) {
            return Some((low, high));
        }
        let roundings = self.terms + self.degree - 2.0;
        // A little more, for what the host loses.
        let relative = (roundings * power(1 - digits).ln_1p()).exp_m1() * 1.000_001;
        let error = self.magnitude * relative + (roundings + 1.0) * tiny * self.reach;
        Some((low - error, high + error))
    }
}

/// The expansions of one column, of every invocation.
#[derive(Debug)]
struct Column {
    of: Box<[Expansion]>,
    /// How many of them are more than a value as it stands.
    count: usize,
}

/// The expansions of a workgroup's values: by column, for those that have had one.
#[derive(Debug, Default)]
pub(crate) struct Expansions {
    columns: Vec<Option<Column>>,
    /// Those of all columns that are more than a value as it stands.
    count: usize,
}

/// Bytes of a column.
pub(crate) fn bytes_of_column(n: usize) -> usize {
    n * size_of::<Expansion>()
}

impl Expansions {
    /// No value has any.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn column(&self, reg: Reg) -> Option<&Column> {
        self.columns.get(reg as usize)?.as_ref()
    }

    /// True if a value of this column has one.
    pub fn has(&self, reg: Reg) -> bool {
        self.column(reg).is_some_and(|column| column.count > 0)
    }

    /// True if a value of this column has had one.
    pub fn had(&self, reg: Reg) -> bool {
        self.column(reg).is_some()
    }

    pub fn get(&self, reg: Reg, slot: usize) -> Expansion {
        self.column(reg).map_or_else(Expansion::default, |column| column.of[slot])
    }

    /// Makes a column for `n` invocations.
    pub fn make(&mut self, reg: Reg, n: usize) {
        let at = reg as usize;
        if self.columns.len() <= at {
            self.columns.resize_with(at + 1, || None);
        }
        let none = || Column { of: vec![Expansion::default(); n].into_boxed_slice(), count: 0 };
        self.columns[at].get_or_insert_with(none);
    }

    /// Sets one of a column that is there.
    pub fn set(&mut self, reg: Reg, slot: usize, expansion: Expansion) {
        if let Some(Some(column)) = self.columns.get_mut(reg as usize) {
            let before = std::mem::replace(&mut column.of[slot], expansion);
            let (fewer, more) = (usize::from(!before.is_leaf()), usize::from(!expansion.is_leaf()));
            column.count = column.count + more - fewer;
            self.count = self.count + more - fewer;
        }
    }
}
