//! What of a rounded operation is promised (docs/rules.md, rules F10 and F11): the mode of its width is asked for, its operands are normal numbers, and
//! its result is one, too, or exactly a zero of a sign that is promised.

use tangle_program::float;
use tangle_program::float_controls::{FloatControls, FloatMode};
use tangle_program::rounding::{Operation, Rounded};
use tangle_program::tree::{Expr, Function};
use tangle_program::types::Scalar;

use super::invalid::{At, Checked, invalid, refuse};
use crate::info::ExprInfo;
use crate::known_bits::{KnownBits, known_bits};

/// The number of binades, digits and exponents of a type, all as they are written: biased.
#[derive(Clone, Copy)]
struct Layout {
    /// Bits of the significand that are written.
    fraction: u32,
    exponent_bits: u32,
    /// What an exponent has more than is written.
    bias: i64,
    /// The greatest exponent of a number; the least of a normal one is 1.
    most: i64,
}

impl Layout {
    fn of(scalar: Scalar) -> Layout {
        let infinity = float::infinity(scalar);
        let fraction = float::fraction_bits(scalar);
        let most = (infinity >> fraction) as i64 - 1;
        Layout { fraction, exponent_bits: infinity.count_ones(), bias: most / 2, most }
    }
}

/// What masks say of the number that bits stand for.
#[derive(Clone, Copy)]
struct Known {
    /// The biased exponent is no less.
    least: i64,
    /// It is no greater.
    most: i64,
    negative: Option<bool>,
}

impl Known {
    fn of(layout: Layout, scalar: Scalar, bits: KnownBits) -> Known {
        let (least, most) = bits.field(layout.fraction, layout.exponent_bits);
        Known { least: least as i64, most: most as i64, negative: bits.bit(scalar.size() - 1) }
    }
}

/// Checks a rounded operation on `args`, of which `operands` is known.
pub(super) fn rounded(
    rounded: Rounded,
    asked: FloatControls,
    args: &[Expr],
    operands: &[ExprInfo],
    function: &Function,
) -> Checked {
    let scalar = operands.first().map_or(Scalar::Uint, ExprInfo::scalar);
    let Some(target) = rounded.target(scalar) else { return invalid("has no floating-point type") };
    modes(rounded, asked, scalar, target).at(|| "ext_inst[0]".into())?;
    let at = |i: usize| move || format!("ext_inst[1][{i}]");
    let Some(source) = rounded.source(scalar) else {
        return match operands {
            [x] => integer(target, x).at(at(0)),
            _ => Ok(()),
        };
    };
    let layout = Layout::of(source);
    let known: Vec<Known> =
        args.iter().map(|arg| Known::of(layout, source, known_bits(arg, scalar, function))).collect();
    for (i, known) in known.iter().enumerate() {
        if known.least < 1 || known.most > layout.most {
            return invalid("may be no normal number: masks do not fix its exponent").at(at(i));
        }
    }
    let zeros = asked.has(FloatMode::SignedZeroInfNanPreserve, target);
    match (rounded.operation, known.as_slice()) {
        (Operation::Add, &[x, y]) => sum(layout, x, y, zeros),
        (Operation::Sub, &[x, y]) => sum(layout, x, Known { negative: y.negative.map(|sign| !sign), ..y }, zeros),
        (Operation::Mul, &[x, y]) => {
            // 1 · 1 up to 2 · 2.
            normal(layout, x.least + y.least - layout.bias, x.most + y.most - layout.bias + 2)
        }
        (Operation::OfFloat(_), &[x]) => {
            let to = Layout::of(target);
            let shift = layout.bias - to.bias;
            normal(to, x.least - shift, x.most - shift + 1)
        }
        _ => Ok(()),
    }
    .at(|| "ext_inst[1]".into())
}

/// The mode of the result, and none of the operands that says otherwise.
fn modes(rounded: Rounded, asked: FloatControls, operands: Scalar, target: Scalar) -> Checked {
    let mode = FloatMode::of_rounding(rounded.rounding);
    if !asked.has(mode, target) {
        refuse!("needs {} of {} bits", mode.name(), target.size());
    }
    let other = FloatMode::of_rounding(rounded.rounding.other());
    match rounded.source(operands).filter(|source| asked.has(other, *source)) {
        Some(source) => invalid(format!("{} of {} bits may be meant as well", other.name(), source.size())),
        None => Ok(()),
    }
}

/// The largest number is the largest integer, too; the sign of a zero is open (rule F5).
fn integer(target: Scalar, x: &ExprInfo) -> Checked {
    let most = float::value(target, float::infinity(target) - 1) as i128;
    if x.range.lo < -most || x.range.hi > most {
        refuse!("may be {} to {}, but the largest number is {most}", x.range.lo, x.range.hi);
    }
    if !x.is_nonzero {
        refuse!("may be 0, whose sign is open");
    }
    Ok(())
}

/// A sum of two numbers. `zeros` says that the sign of a zero is promised.
fn sum(layout: Layout, x: Known, y: Known, zeros: bool) -> Checked {
    let (least, most) = (x.least.min(y.least), x.most.max(y.most));
    let adds = x.negative.is_some() && x.negative == y.negative;
    // One of the two is larger, so that they are not equal.
    let differ = x.least > y.most || y.least > x.most;
    if !adds && !differ && !zeros {
        refuse!("may be 0, whose sign is open");
    }
    // More than half of an operand is left of it where the other is less than half as large.
    let left = |of: Known, less: Known| (of.least > less.most + 1).then_some(of.least - 1);
    // Else what is left is a multiple of the last digit of the smaller one.
    let least = match left(x, y).or(left(y, x)) {
        _ if adds => least,
        Some(left) => left,
        None => least - i64::from(layout.fraction),
    };
    normal(layout, least, most + 2)
}

/// The magnitude of an exact result is at least the power of two with this biased exponent, and, rounded, at most that with the other one.
fn normal(layout: Layout, least: i64, most: i64) -> Checked {
    if least < 1 {
        refuse!("may be a denormal");
    }
    if most > layout.most {
        refuse!("may be too large");
    }
    Ok(())
}
