//! The shapes that real bugs had in drivers and compilers.
//!
//! A template ([`table`]) fixes the skeleton; its conditions, operations, loop forms and the statements inside are generated like everything
//! else, so that no two look alike. Templates whose control flow depends on a tangle are used only where that tangle is known
//! ([`crate::class`]).

mod exchange;
mod loops;
mod memory;
mod pressure;
mod repeat;
mod table;

use tangle_program::subgroup::{Fold, Gives, Param, SubgroupOp, TABLE};
use tangle_program::tree::{Block, Expr, SubgroupCall, VarId};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::frame::Role;
use super::row::Row;
use super::term::{Want, bin};
use crate::class::Class;
use crate::profile::Profile;
use table::TEMPLATES;

/// An operation on one value that always gives a defined result of the same type: what makes a wrong tangle visible.
#[derive(Clone, Copy)]
pub(crate) struct Detector {
    op: SubgroupOp,
    cluster: Option<u32>,
}

impl Detector {
    pub(crate) fn on(self, value: Expr) -> Expr {
        Expr::Subgroup(SubgroupCall { op: self.op, args: vec![value], cluster: self.cluster })
    }
}

/// The weights of the table in a profile.
pub(super) fn weights(profile: Profile) -> Vec<u32> {
    Row::weights(TEMPLATES, profile)
}

impl Builder<'_> {
    /// One of the templates that fit here.
    pub(crate) fn template(&mut self, out: &mut Block) {
        // A detector may always fall back to a sum.
        let sum = self.has(SubgroupOp::Reduce(Fold::Add));
        let weights: [u32; TEMPLATES.len()] =
            std::array::from_fn(|i| TEMPLATES[i].weight_here(self, self.weights.rows.templates[i]));
        if !sum || weights.iter().all(|&weight| weight == 0) {
            return self.operation_statement(out);
        }
        let row = &TEMPLATES[self.draw.index(weights.into_iter())];
        (row.build)(self, out);
    }

    // --- parts ---

    /// A variable that only its template writes.
    pub(crate) fn private(&mut self, stem: &str, ty: Type) -> VarId {
        self.frame.local(stem, ty, Class::Clean, Role::Private)
    }

    pub(crate) fn set(&mut self, var: VarId, value: Expr, out: &mut Block) {
        let assign = self.assign(var, value);
        out.push(assign);
    }

    /// A type of numbers, or of vectors of them.
    fn number_type(&mut self) -> Type {
        let scalar = match self.extended_scalar() {
            Some(scalar) if self.draw.percent(50) => scalar,
            _ => self.draw.pick(&[Scalar::Uint, Scalar::Uint, Scalar::Int]),
        };
        let width = if self.draw.percent(self.weights.vectors) { 2 + self.draw.below(3) as u8 } else { 1 };
        Type::vector(scalar, width)
    }

    /// An operation for values of this type; falls back to a sum, which the caller knows is there.
    fn detector(&mut self, ty: Type) -> Detector {
        let weights: [u32; TABLE.len()] = std::array::from_fn(|row| {
            let info = &TABLE[row];
            let fits = info.params == [Param::Value]
                && info.gives == Gives::Same
                && !info.may_be_undefined()
                && !info.op.starts_infinite(ty.scalar)
                && info.scalars.contains(&ty.scalar);
            if fits { self.weights.ops[row] } else { 0 }
        });
        if weights.iter().all(|&weight| weight == 0) {
            return Detector { op: SubgroupOp::Reduce(Fold::Add), cluster: None };
        }
        let info = &TABLE[self.draw.index(weights.into_iter())];
        Detector { op: info.op, cluster: info.clustered.then(|| self.cluster()) }
    }

    /// A value that differs between lanes and may stand anywhere.
    fn own_value(&mut self, ty: Type) -> Expr {
        match ty {
            Type { scalar, width: 1, .. } if scalar != Scalar::Bool => self.varying(scalar, Want::own(1)),
            _ => self.expr(ty, Want::own(1)),
        }
    }

    /// `var = op(value)`, perhaps logged. The variable is a new one of the class the result has here.
    fn detect(&mut self, detector: Detector, ty: Type, value: Expr, out: &mut Block) -> VarId {
        let var = self.result_variable(ty, self.frame.flow.class());
        self.keep(var, detector.on(value), out);
        var
    }

    /// `var = var op value`
    fn add_to(&mut self, var: VarId, value: Expr, out: &mut Block) {
        let sum = self.accumulated(var, value);
        self.set(var, sum, out);
    }
}

/// `x op y`
fn compare(op: tangle_program::ops::BinaryOp, x: VarId, y: Expr) -> Expr {
    bin(op, Expr::Var(x), y)
}
