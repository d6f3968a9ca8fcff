//! Preserved numbers: NaN, infinities, zeros of both signs and denormals, in programs that ask for the modes that keep them (docs/rules.md,
//! rules F6 to F9).
//!
//! They are made of bits and become bits again within one expression: variables hold the bits.

use tangle_program::case::{FloatControls, FloatMode};
use tangle_program::float;
use tangle_program::float_controls::FLOATS;
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{OpInfo, SubgroupOp};
use tangle_program::tree::{Block, Expr};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::cond::Cond;
use super::frame::{Role, Source};
use super::term::{Want, bin, cast};
use crate::class::{Class, Decision};
use crate::config::Config;
use crate::draw::Draw;

/// To keep signs of zeros, infinities and NaN of a type, and perhaps its denormals.
pub(super) fn kept(draw: &mut Draw<'_>, config: &Config) -> FloatControls {
    let asked = FloatControls::NONE;
    let has = |mode, scalar| config.float_controls.has(mode, scalar);
    let weights = [(8, Scalar::Float), (3, Scalar::Float16), (3, Scalar::Double)].map(|(weight, scalar)| {
        let fits = has_types(config, scalar) && has(FloatMode::SignedZeroInfNanPreserve, scalar);
        (if fits { weight } else { 0 }, scalar)
    });
    if weights.iter().all(|&(weight, _)| weight == 0) {
        return asked;
    }
    let scalar = draw.weighted(&weights);
    let asked = asked.with(FloatMode::SignedZeroInfNanPreserve, scalar);
    if has(FloatMode::DenormPreserve, scalar) && draw.percent(50) {
        return asked.with(FloatMode::DenormPreserve, scalar);
    }
    asked
}

/// What the numbers of some bits may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Range {
    All,
    /// Of one sign, zeros and NaN included.
    OneSign,
    /// No NaN and no negative zero, visibly.
    Ordered,
}

/// True if there are the type and that of its bits.
pub(super) fn has_types(config: &Config, scalar: Scalar) -> bool {
    let has = |scalar: Scalar| !scalar.is_extended() || config.scalars.contains(&scalar);
    has(scalar) && has(bits_of(scalar))
}

/// The type of the bits of a float.
pub(super) const fn bits_of(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Float16 => Scalar::Uint16,
        Scalar::Double => Scalar::Uint64,
        _ => Scalar::Uint,
    }
}

impl Builder<'_> {
    /// True if the program keeps some special numbers.
    pub(super) fn preserves(&self) -> bool {
        let asked = self.entry_point.float_controls;
        FLOATS.into_iter().any(|scalar| asked.has(FloatMode::SignedZeroInfNanPreserve, scalar))
    }

    /// A type whose special numbers are kept.
    fn preserved_scalar(&mut self) -> Scalar {
        let asked = self.entry_point.float_controls;
        let is_kept = |scalar: &Scalar| asked.has(FloatMode::SignedZeroInfNanPreserve, *scalar);
        let kept: Vec<Scalar> = [Scalar::Float, Scalar::Float16, Scalar::Double].into_iter().filter(is_kept).collect();
        if kept.is_empty() { Scalar::Float } else { self.draw.pick(&kept) }
    }

    /// The bits of a special number, or of an ordinary one.
    fn special(&mut self, scalar: Scalar) -> u64 {
        let (infinity, sign, one) = (float::infinity(scalar), float::sign(scalar), float::one(scalar));
        let least = infinity & infinity.wrapping_neg();
        let negative = if self.draw.percent(50) { sign } else { 0 };
        negative
            | self.draw.pick(&[
                infinity,
                0,
                float::nan(scalar),
                one,
                0,
                // The largest number, the least normal one, the largest denormal and the least.
                infinity - 1,
                least,
                least - 1,
                1,
                // A NaN with a payload.
                infinity | 2,
            ])
    }

    /// Bits of which lanes have different ones.
    fn float_bits(&mut self, scalar: Scalar, range: Range) -> Expr {
        let bits = bits_of(scalar);
        let word = |b: &mut Self| b.varying(bits, Want::own(1));
        let special = |b: &mut Self| {
            let value = b.special(scalar);
            Expr::bits(bits, value)
        };
        let mut expr = match self.draw.below(8) {
            0 => special(self),
            1 => word(self),
            2 => {
                let (cond, x, y) = (self.boolean(Want::own(1)), special(self), word(self));
                Expr::Select(Box::new(cond), Box::new(x), Box::new(y))
            }
            shape => {
                let cond = self.boolean(Want::own(1));
                let (x, y) = (special(self), special(self));
                let inner = Expr::Intrinsic(Intrinsic::Mix, vec![x, y, cond]);
                if shape < 6 {
                    let (cond, other) =
                        (self.boolean(Want::own(1)), if shape < 4 { special(self) } else { word(self) });
                    Expr::Intrinsic(Intrinsic::Mix, vec![inner, other, cond])
                } else {
                    inner
                }
            }
        };
        match range {
            Range::All => {}
            Range::OneSign if self.draw.percent(50) => {
                expr = bin(BinaryOp::BitOr, expr, Expr::bits(bits, float::sign(scalar)));
            }
            Range::OneSign => expr = bin(BinaryOp::BitAnd, expr, Expr::bits(bits, float::sign(scalar) - 1)),
            Range::Ordered => {
                let positive = bin(BinaryOp::BitAnd, expr, Expr::bits(bits, float::sign(scalar) - 1));
                expr = Expr::Intrinsic(Intrinsic::Min, vec![positive, Expr::bits(bits, float::infinity(scalar))]);
            }
        }
        expr
    }

    /// A preserved number, or a vector of them.
    fn preserved(&mut self, ty: Type, range: Range) -> Expr {
        let denormals = self.entry_point.float_controls.has(FloatMode::DenormPreserve, ty.scalar);
        let op = if denormals && self.draw.percent(70) { Intrinsic::FromAllBits } else { Intrinsic::FromBits };
        let of = |b: &mut Self| Expr::Intrinsic(op, vec![b.float_bits(ty.scalar, range)]);
        if ty.is_scalar() {
            return of(self);
        }
        if range == Range::Ordered || self.draw.percent(50) {
            let parts = (0..ty.width).map(|_| of(self)).collect();
            return Expr::Vector(ty, parts);
        }
        let parts = (0..ty.width).map(|_| self.float_bits(ty.scalar, Range::All)).collect();
        let bits = Expr::Vector(Type { scalar: bits_of(ty.scalar), ..ty }, parts);
        Expr::Intrinsic(op, vec![bits])
    }

    /// `var = bits(subgroupMin(float(…)));`, an AllEqual or a comparison.
    pub(super) fn preserved_statement(&mut self, out: &mut Block) {
        if self.draw.percent(20) {
            let cond = self.preserved_comparison();
            let word = cast(Scalar::Uint, cond);
            let var = self.result_variable(Type::UINT, Class::Clean);
            return self.keep(var, word, out);
        }
        let scalar = self.preserved_scalar();
        // Minimum, maximum and AllEqual are what the modes are about.
        let folds = self.draw.percent(60);
        let ordered = folds && scalar == Scalar::Float && self.draw.percent(55);
        let is_open = folds && !ordered;
        let class = match is_open || self.draw.percent(25) {
            true => Class::MaybeUndefined,
            false => self.frame.flow.class(),
        };
        let fits = |info: &OpInfo| {
            let takes = info.scalars.contains(&scalar) && info.scalars.contains(&Scalar::Uint);
            takes && (info.preserves() || info.op == SubgroupOp::AllEqual) && info.op.may_leave_open() == folds
        };
        let Some(info) = self.choose(class, fits) else { return self.assignment(out) };
        // One open component would hide the others.
        let width = if is_open { 1 } else { self.draw.weighted(&[(6, 1), (2, 2), (1, 3), (2, 4)]) };
        let ty = Type::vector(scalar, width);
        // The same of integers, to which no operation adds an infinity that would be open.
        let (mut expr, class) = self.call(info, Type::vector(Scalar::Uint, width), class);
        // Of a zero of either sign one word of two is known after all.
        let range = match (ordered, is_open && scalar == Scalar::Double) {
            (true, _) => Range::Ordered,
            (false, true) => Range::OneSign,
            (false, false) => Range::All,
        };
        let value = self.preserved(ty, range);
        if let Expr::Subgroup(call) = &mut expr {
            call.args[0] = value;
        }
        let class = if is_open { class.max(Class::MaybeUndefined) } else { class };
        let result = info.result_type(Some(ty)).unwrap_or(Type::BOOL);
        if info.op == SubgroupOp::AllEqual {
            let var = self.result_variable(result, class);
            return self.keep(var, expr, out);
        }
        let bits = Expr::Intrinsic(Intrinsic::ToBits, vec![expr]);
        let ty = Type { scalar: bits_of(scalar), ..result };
        let var = if class == Class::Clean && self.draw.percent(50) {
            self.result_variable(ty, class)
        } else {
            self.frame.local("bits", ty, class, Role::Data)
        };
        self.keep(var, bits, out);
    }

    /// A comparison of a lane's own numbers.
    fn preserved_comparison(&mut self) -> Expr {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let ty = Type::scalar(self.preserved_scalar());
        let op = self.draw.pick(&[Lt, Eq, Ne, Gt, Le, Ge]);
        let x = self.preserved(ty, Range::All);
        // Whether it is a NaN.
        let y = if matches!(op, Eq | Ne) && self.draw.percent(50) { x.clone() } else { self.preserved(ty, Range::All) };
        bin(op, x, y)
    }

    /// The same as a condition.
    pub(super) fn preserved_condition(&mut self) -> Cond {
        let expr = self.preserved_comparison();
        Cond { expr, decision: Decision::Divergent, source: Source::Other }
    }
}
