//! Rounded numbers: conversions, sums and products that are not exact, in programs that ask for a direction of rounding (docs/rules.md, rules F10
//! and F11).
//!
//! Operands are made of bits, whose exponents masks fix, or are integers that are not 0. Of each result the bits are taken at once.

use tangle_program::case::{FloatControls, FloatMode};
use tangle_program::float;
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::rounding::{Operation, Rounded, Rounding};
use tangle_program::subgroup::{Gives, OpInfo, SubgroupOp};
use tangle_program::tree::{Block, Expr};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::preserved::{bits_of, has_types, kept};
use super::term::{Want, bin, cast};
use crate::class::Class;
use crate::config::Config;
use crate::draw::Draw;

/// What may be asked for, with its weight. Of doubles no more is promised than of floats of 32 bits.
const MODES: [(u32, Rounding, Scalar); 4] = [
    (6, Rounding::TiesToEven, Scalar::Float),
    (6, Rounding::TowardZero, Scalar::Float),
    (5, Rounding::TiesToEven, Scalar::Float16),
    (5, Rounding::TowardZero, Scalar::Float16),
];

/// Of a hundred programs, those that ask for numbers to be kept.
const PRESERVING: u32 = 10;

/// Those of them that ask for a direction of rounding, too, of a hundred.
const ROUNDING_BESIDE: u32 = 25;

/// Of a hundred programs, those that ask for nothing but that.
const ROUNDING: u32 = 5;

/// What a program asks for.
pub(super) fn float_controls(draw: &mut Draw<'_>, config: &Config) -> FloatControls {
    if config.float_controls.is_none() {
        return FloatControls::NONE;
    }
    match draw.below(100) {
        0..PRESERVING => {
            let asked = kept(draw, config);
            if draw.percent(ROUNDING_BESIDE) { modes(draw, config, asked) } else { asked }
        }
        drawn if drawn < PRESERVING + ROUNDING => modes(draw, config, FloatControls::NONE),
        _ => FloatControls::NONE,
    }
}

/// These modes and a direction of rounding of a type, or of two types a different one.
fn modes(draw: &mut Draw<'_>, config: &Config, asked: FloatControls) -> FloatControls {
    let weights = MODES.map(|(weight, rounding, scalar)| {
        let offered = config.float_controls.has(FloatMode::of_rounding(rounding), scalar) && has_types(config, scalar);
        (if offered { weight } else { 0 }, (rounding, scalar))
    });
    if weights.iter().all(|&(weight, _)| weight == 0) {
        return asked;
    }
    let first = draw.weighted(&weights);
    let differs = |(rounding, scalar): (Rounding, Scalar)| rounding != first.0 && scalar != first.1;
    let second = weights.into_iter().find(|&(weight, other)| weight > 0 && differs(other)).filter(|_| draw.percent(20));
    let with = |asked: FloatControls, (rounding, scalar)| asked.with(FloatMode::of_rounding(rounding), scalar);
    second.map_or(with(asked, first), |(_, second)| with(with(asked, first), second))
}

/// How many bits of a significand are written, and the exponent of 1 as it is written.
fn layout(scalar: Scalar) -> (u32, u32) {
    let (fraction, exponent) = (float::fraction_bits(scalar), float::infinity(scalar).count_ones());
    (fraction, (1 << (exponent - 1)) - 1)
}

/// So many low bits.
fn low(bits: u32) -> u64 {
    (1_u64 << bits) - 1
}

/// Which bits of a word are kept, and which are then set.
#[derive(Clone, Copy)]
struct Shape {
    mask: u64,
    ones: u64,
}

impl Builder<'_> {
    /// True if the program asks for a direction of rounding.
    pub(super) fn rounds(&self) -> bool {
        !self.rounded_modes().is_empty()
    }

    fn rounded_modes(&self) -> Vec<(Rounding, Scalar)> {
        let asked = self.entry_point.float_controls;
        let all = MODES.into_iter().map(|(_, rounding, scalar)| (rounding, scalar));
        all.filter(|&(rounding, scalar)| asked.rounds(rounding, scalar)).collect()
    }

    /// `var = bits(x + y);`, or of the bits in another lane.
    pub(super) fn rounded_statement(&mut self, out: &mut Block) {
        let modes = self.rounded_modes();
        if modes.is_empty() {
            return self.assignment(out);
        }
        let (rounding, scalar) = self.draw.pick(&modes);
        let width = self.draw.weighted(&[(7, 1), (2, 2), (1, 3), (1, 4)]);
        let value = self.rounded(rounding, scalar, width);
        let bits = bits_of(scalar);
        let keeps = self.entry_point.float_controls.has(FloatMode::SignedZeroInfNanPreserve, scalar);
        match self.draw.below(100) {
            0..40 => {
                let var = self.result_variable(Type::vector(bits, width), Class::Clean);
                self.keep(var, value, out);
            }
            40..60 if keeps => {
                let moves = |info: &OpInfo| info.preserves() && !info.op.may_leave_open();
                let number = Expr::Intrinsic(Intrinsic::FromBits, vec![value]);
                self.rounded_in_other_lane(Type::vector(scalar, width), number, moves, out);
            }
            _ => {
                let fits = |info: &OpInfo| info.gives == Gives::Same || info.op == SubgroupOp::AllEqual;
                if bits != Scalar::Uint && self.draw.percent(50) {
                    let words = cast(Scalar::Uint, value);
                    return self.rounded_in_other_lane(Type::vector(Scalar::Uint, width), words, fits, out);
                }
                self.rounded_in_other_lane(Type::vector(bits, width), value, fits, out);
            }
        }
    }

    /// An operation on a value of a type, which is a preserved number if it is a float.
    fn rounded_in_other_lane(&mut self, ty: Type, value: Expr, fits: impl Fn(&OpInfo) -> bool, out: &mut Block) {
        let class = if self.draw.percent(25) { Class::MaybeUndefined } else { self.frame.flow.class() };
        let takes = |info: &OpInfo| info.scalars.contains(&ty.scalar) && info.scalars.contains(&Scalar::Uint);
        let Some(info) = self.choose(class, |info| takes(info) && fits(info)) else { return self.assignment(out) };
        let (mut expr, class) = self.call(info, Type::vector(Scalar::Uint, ty.width), class);
        if let Expr::Subgroup(call) = &mut expr {
            call.args[0] = value;
        }
        let mut result = info.result_type(Some(ty)).unwrap_or(Type::BOOL);
        if result.scalar.is_float() {
            expr = Expr::Intrinsic(Intrinsic::ToBits, vec![expr]);
            result = Type { scalar: bits_of(result.scalar), ..result };
        }
        let var = self.result_variable(result, class);
        self.keep(var, expr, out);
    }

    /// The bits of what is rounded to a type; of so many numbers.
    fn rounded(&mut self, rounding: Rounding, scalar: Scalar, width: u8) -> Expr {
        let asked = self.entry_point.float_controls;
        // A mode of the longer type would say otherwise: the same one cannot be asked for twice.
        let sources: Vec<Scalar> = [Scalar::Float, Scalar::Double]
            .into_iter()
            .filter(|&source| source.size() > scalar.size() && has_types(self.config, source))
            .filter(|&source| {
                let modes = [FloatMode::RoundingModeRTE, FloatMode::RoundingModeRTZ];
                modes.into_iter().all(|mode| !asked.has(mode, source))
            })
            .collect();
        let operation = self.draw.weighted(&[
            (3, Operation::Add),
            (3, Operation::Sub),
            (3, Operation::Mul),
            (4, Operation::OfInteger(scalar)),
            (if sources.is_empty() { 0 } else { 5 }, Operation::OfFloat(scalar)),
        ]);
        let args = match operation {
            Operation::Add | Operation::Sub => self.terms(operation, scalar, width),
            Operation::Mul => self.factors(scalar, width),
            Operation::OfInteger(to) => vec![self.inexact_integer(to, width)],
            Operation::OfFloat(to) => {
                let source = self.draw.pick(&sources);
                vec![self.longer(source, to, width)]
            }
        };
        match Intrinsic::of_rounded(Rounded { operation, rounding }) {
            Some(op) => Expr::Intrinsic(op, args),
            None => args.into_iter().next().unwrap_or(Expr::Uint(0)),
        }
    }

    /// Words of a shape.
    fn shaped(&mut self, scalar: Scalar, width: u8, Shape { mask, ones }: Shape) -> Expr {
        let parts: Vec<Expr> = (0..width)
            .map(|_| {
                let word = self.varying(scalar, Want::own(1));
                let kept = bin(BinaryOp::BitAnd, word, Expr::bits(scalar, mask));
                bin(BinaryOp::BitOr, kept, Expr::bits(scalar, ones))
            })
            .collect();
        if width == 1 {
            return parts.into_iter().next().unwrap_or(Expr::Uint(0));
        }
        Expr::Vector(Type::vector(scalar, width), parts)
    }

    /// The sign of a number: either, or one.
    fn sign(&mut self, scalar: Scalar) -> Shape {
        let sign = float::sign(scalar);
        self.draw.weighted(&[
            (4, Shape { mask: sign, ones: 0 }),
            (1, Shape { mask: 0, ones: 0 }),
            (1, Shape { mask: 0, ones: sign }),
        ])
    }

    /// An exponent as it is written, and some of its low bits that are left open.
    fn exponent(&mut self, scalar: Scalar, least: u32, most: u32) -> Shape {
        let (fraction, one) = layout(scalar);
        // Mostly numbers that are neither very large nor very small.
        let (least, most) = match self.draw.percent(70) {
            true => (least.max(one.saturating_sub(8)).min(most), most.min(one + 8).max(least)),
            false => (least, most),
        };
        let open = self.draw.below(3);
        let range = 1 << open;
        let first = self.draw.range(least, most).next_multiple_of(range);
        // What is left open has to fit above it.
        let (first, open) = if first + range - 1 <= most { (first, range - 1) } else { (most, 0) };
        Shape { mask: u64::from(open) << fraction, ones: u64::from(first) << fraction }
    }

    fn number(&mut self, scalar: Scalar, width: u8, shapes: [Shape; 3]) -> Expr {
        let all = shapes.iter().fold(Shape { mask: 0, ones: 0 }, |all, shape| Shape {
            mask: all.mask | shape.mask,
            ones: all.ones | shape.ones,
        });
        self.shaped(bits_of(scalar), width, all)
    }

    /// Two numbers to add or to subtract: the second one ends behind the digits of the first.
    fn terms(&mut self, operation: Operation, scalar: Scalar, width: u8) -> Vec<Expr> {
        let (fraction, one) = layout(scalar);
        let keeps = self.entry_point.float_controls.has(FloatMode::SignedZeroInfNanPreserve, scalar);
        let gap = match self.draw.below(10) {
            0 => 0,
            1 | 2 => self.draw.range(1, 3),
            3 => fraction,
            4..7 => fraction + 1,
            7 => fraction + 2,
            _ => fraction + 3,
        };
        // Far enough from denormals and from the largest numbers.
        let (least, most) = (if gap < 2 { fraction + 1 } else { 1 }, 2 * one - 2 - gap);
        let (least, most) = match self.draw.percent(70) {
            true => (least.max(one.saturating_sub(8)).min(most), most.min(one + 8).max(least)),
            false => (least, most),
        };
        let small = self.draw.range(least, most);
        let [mut x, mut y] = [self.sign(scalar), self.sign(scalar)];
        if gap == 0 && !(keeps && self.draw.percent(50)) {
            // Of one sign: nothing is left of what is equal.
            let sign = if self.draw.percent(50) { float::sign(scalar) } else { 0 };
            let other = if operation == Operation::Sub { sign ^ float::sign(scalar) } else { sign };
            [x, y] = [Shape { mask: 0, ones: sign }, Shape { mask: 0, ones: other }];
        }
        let exact = |exponent: u32| Shape { mask: 0, ones: u64::from(exponent) << fraction };
        let all = low(fraction);
        let digits =
            self.draw.weighted(&[(3, 0), (2, 1 << (fraction - 1)), (2, 3 << (fraction - 2)), (2, all), (1, 3)]);
        let first = self.number(scalar, width, [x, exact(small + gap), Shape { mask: all, ones: 0 }]);
        let second = self.number(scalar, width, [y, exact(small), Shape { mask: digits, ones: 0 }]);
        if self.draw.percent(30) { vec![second, first] } else { vec![first, second] }
    }

    /// Two numbers to multiply, whose digits are a few more than those of a product.
    fn factors(&mut self, scalar: Scalar, width: u8) -> Vec<Expr> {
        let (fraction, one) = layout(scalar);
        let digits = match self.draw.percent(30) {
            true => [fraction; 2],
            false => {
                let first = self.draw.range(1, fraction);
                [first, (fraction + self.draw.range(1, 3) - first).min(fraction)]
            }
        };
        let spread = one / 3;
        digits
            .into_iter()
            .map(|digits| {
                let sign = self.sign(scalar);
                let exponent = self.exponent(scalar, one - spread, one + spread);
                let kept = low(digits) << (fraction - digits);
                self.number(scalar, width, [sign, exponent, Shape { mask: kept, ones: 0 }])
            })
            .collect()
    }

    /// So many digits, of which so many are lost: around the middle between two results as often as anywhere.
    fn digits(&mut self, digits: u32, lost: u32) -> Shape {
        let (kept, middle) = (low(digits) & !low(lost), 1 << (lost - 1));
        match self.draw.below(6) {
            0 => Shape { mask: low(digits), ones: 0 },
            1 => Shape { mask: kept, ones: middle },
            // Just above the middle, and just below.
            2 => Shape { mask: kept | low(lost / 2), ones: middle | 1 },
            3 => Shape { mask: kept, ones: middle - 1 },
            // What is rounded up to the next power of two.
            4 => Shape { mask: middle | low(lost / 2), ones: kept },
            _ => Shape { mask: kept | middle, ones: 1 },
        }
    }

    /// Bits of a longer float that is converted to a shorter one.
    fn longer(&mut self, from: Scalar, to: Scalar, width: u8) -> Expr {
        let ((fraction, one), (short, short_one)) = (layout(from), layout(to));
        let sign = self.sign(from);
        let exponent = self.exponent(from, one - short_one + 1, one + short_one - 1);
        let digits = self.digits(fraction, fraction - short);
        self.number(from, width, [sign, exponent, digits])
    }

    /// Integers that a float of the type may not hold.
    fn inexact_integer(&mut self, to: Scalar, width: u8) -> Expr {
        let (fraction, _) = layout(to);
        let long = has_integers(self.config, Scalar::Uint64) && self.draw.percent(40);
        let narrow = to == Scalar::Float16 && has_integers(self.config, Scalar::Uint16) && self.draw.percent(40);
        let scalar = if long {
            Scalar::Uint64
        } else if narrow {
            Scalar::Uint16
        } else {
            Scalar::Uint
        };
        let signed = self.draw.percent(50);
        let most = scalar.size() - u32::from(signed);
        // No more than the largest number of 16 bits.
        let most = if to == Scalar::Float16 { 15 } else { most };
        let length = match self.draw.percent(60) {
            true => most,
            false => self.draw.range(fraction + 2, most),
        };
        let digits = self.digits(length - 1, length - 1 - fraction);
        // The first digit, so that it is not 0.
        let shape = Shape { ones: digits.ones | 1 << (length - 1), ..digits };
        let value = self.shaped(scalar, width, shape);
        if !signed {
            return value;
        }
        let value = cast(scalar.signed(), value);
        if self.draw.percent(60) { Expr::unary(UnaryOp::Neg, value) } else { value }
    }
}

/// True if there are integers of the type.
fn has_integers(config: &Config, scalar: Scalar) -> bool {
    !scalar.is_extended() || config.scalars.contains(&scalar)
}
