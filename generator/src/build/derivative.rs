//! Derivatives in fragment shaders, where control flow is uniform in the triangle, or in the quad if that is enough (docs/rules.md, rule H10).

use tangle_analysis::races::may_synchronise_after;
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Category, SubgroupOp, TABLE};
use tangle_program::tree::{Block, Builtin, Expr};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::cond::Cond;
use super::frame::{Cost, Role, Source};
use super::term::{Want, bin, cast, uint};
use crate::class::Class;

/// What a derivative takes at least.
const LEAST: Cost = Cost { words: 8, steps: 60 };
/// Operands are at most this, so that `fwidth` of them can be stored.
const LARGEST: u32 = 2047;

impl Builder<'_> {
    /// True if a derivative may stand behind these statements of `main`.
    pub(crate) fn may_derive(&self, main: &Block) -> bool {
        self.is_fragment()
            && self.has(SubgroupOp::DFdxFine)
            && self.frame.affords(LEAST)
            && may_synchronise_after(&self.shared, &self.functions, self.config.tier, &self.entry_point, main)
    }

    /// Derivatives: alone, or where a condition holds that is the same in the triangle, or in the quad.
    pub(crate) fn derivative(&mut self, out: &mut Block) {
        if self.draw.percent(70) {
            return self.derivatives(out);
        }
        let cond = self.condition_of_group();
        let both = self.draw.percent(50);
        let derived = |b: &mut Self| {
            let mut block = Vec::new();
            b.derivatives(&mut block);
            block
        };
        let chosen = self.branch(cond, derived, |b| if both { derived(b) } else { Vec::new() });
        out.push(chosen);
    }

    /// One or two of one operand.
    fn derivatives(&mut self, out: &mut Block) {
        let width = if self.draw.percent(self.weights.vectors) { 2 + self.draw.below(3) as u8 } else { 1 };
        let ty = Type::vector(Scalar::Float, width);
        let value = self.private("height", ty);
        let height = if width == 1 {
            self.height()
        } else {
            let parts = (0..width).map(|_| self.height()).collect();
            Expr::Vector(ty, parts)
        };
        self.set(value, height, out);
        for _ in 0..1 + self.draw.below(3) / 2 {
            let rows: Vec<SubgroupOp> =
                TABLE.iter().filter(|info| info.category == Category::Derivative).map(|info| info.op).collect();
            let op = self.draw.pick(&rows);
            let slope = self.frame.local("slope", ty, Class::MaybeUndefined, Role::Private);
            self.set(slope, Expr::subgroup(op, [Expr::Var(value)]), out);
            if self.draw.percent(90) {
                self.log(vec![Expr::Var(slope)], out);
            }
        }
    }

    /// What is derived: a plane, whose coarse derivatives are certain, or something else that may differ from lane to lane.
    fn height(&mut self) -> Expr {
        let float = |word: Expr| cast(Scalar::Float, bin(BinaryOp::BitAnd, word, uint(LARGEST)));
        if self.draw.percent(55) {
            let mut along = |side| {
                let slope = uint(self.draw.below(8));
                float(bin(BinaryOp::Mul, Expr::Builtin(side), slope))
            };
            let (x, y) = (along(Builtin::LocalX), along(Builtin::LocalY));
            let op = self.draw.pick(&[BinaryOp::Add, BinaryOp::Sub]);
            return bin(op, x, y);
        }
        let word = self.varying(Scalar::Uint, Want::of(Class::Clean, 1));
        float(word)
    }

    /// A condition that all invocations judge alike that have to be together: those of a triangle, or of a quad.
    fn condition_of_group(&mut self) -> Cond {
        let draw = self.entry_point.draw().filter(|_| self.is_maximal());
        let of_quads = draw.is_some_and(|draw| draw.quad_derivatives);
        let several = draw.is_some_and(|draw| draw.primitives() > 1);
        let one_sample = draw.is_some_and(|draw| draw.samples == 1);
        if of_quads && self.draw.percent(70) {
            return self.condition_of_quad();
        }
        if several && self.draw.percent(60) {
            let slice = (one_sample || of_quads).then_some(Expr::Builtin(Builtin::LocalZ));
            if let Some(triangle) = self.flat(70).or(slice) {
                return Cond::new(bits(triangle, 1), Source::Local);
            }
        }
        let word = self.constant_word();
        let mask = self.draw.pick(&[1, 2, 3]);
        Cond::uniform(bits(word, mask))
    }

    /// A condition that the four invocations of a quad judge alike, and others differently.
    fn condition_of_quad(&mut self) -> Cond {
        let quad = |number, count| bin(BinaryOp::Div, Expr::Builtin(number), uint(count));
        let expr = match self.draw.below(6) {
            0 => bits(quad(Builtin::Lane, 4), 1),
            1 => bits(quad(Builtin::LocalX, 2), 1),
            2 => bits(quad(Builtin::LocalY, 2), 1),
            3 => bits(Expr::Builtin(Builtin::Lane), 4),
            4 => {
                let word = self.varying(Scalar::Uint, Want::of(Class::Clean, 1));
                Expr::subgroup(SubgroupOp::QuadAny, [bits(word, 1)])
            }
            _ => {
                let word = self.varying(Scalar::Uint, Want::of(Class::Clean, 1));
                Expr::subgroup(SubgroupOp::QuadAll, [bits(word, 3)])
            }
        };
        Cond::new(expr, Source::Local)
    }
}

/// True if a word has one of these bits.
fn bits(word: Expr, mask: u32) -> Expr {
    bin(BinaryOp::Ne, bin(BinaryOp::BitAnd, word, uint(mask)), uint(0))
}
