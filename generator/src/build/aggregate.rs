//! Arrays, matrices, structs, and components of vectors by an index: how compilers keep what lanes access at different places.

use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Block, Builtin, Expr, Stmt, VarId};
use tangle_program::types::{Scalar, Shape, Type};

use super::Builder;
use super::frame::{Cost, Role};
use super::log::Moment;
use super::term::{Want, bin, lane, uint};
use crate::class::Class;

impl Builder<'_> {
    /// A type for a parameter or a result.
    pub(crate) fn any_type(&mut self) -> Type {
        if self.draw.percent(self.weights.aggregates) { self.aggregate_type() } else { self.data_type() }
    }

    fn aggregate_type(&mut self) -> Type {
        let element = self.data_type();
        let few = 2 + self.draw.below(3) as u8;
        match self.draw.below(8) {
            0 | 1 if self.weights.scalars[Scalar::Float as usize] > 0 => {
                Type { shape: Shape::Matrix(few), ..Type::vector(Scalar::Float, 2 + self.draw.below(3) as u8) }
            }
            2 | 3 => Type { shape: Shape::Struct(few), ..element },
            _ if element.is_scalar() => Type { shape: Shape::Array(self.draw.pick(&[4, 2, 3, 5, 8])), ..element },
            _ => Type { shape: Shape::Array(few), ..element },
        }
    }

    /// An aggregate: a variable, or made of its elements.
    pub(crate) fn aggregate(&mut self, ty: Type, want: Want) -> Expr {
        if let (true, Some(var)) = (self.draw.percent(60), self.variable(ty, want.class())) {
            return Expr::Var(var);
        }
        let Some((element, count)) = ty.indexed() else { return self.expr(ty, want) };
        let elements = (0..count).map(|_| {
            let value = self.expr(element, want.deeper());
            self.fitted(value, element, want.class())
        });
        Expr::Vector(ty, elements.collect())
    }

    /// A number of an element that every lane has for itself; mostly others have others.
    pub(crate) fn index(&mut self, ty: Type) -> Expr {
        let count = ty.indexed().map_or(1, |(_, count)| u32::from(count));
        if matches!(ty.shape, Shape::Struct(_)) || self.draw.percent(15) {
            return uint(self.draw.below(count));
        }
        let word = match self.draw.below(8) {
            0..=2 => lane(),
            3 => Expr::Builtin(Builtin::LocalIndex),
            4 => self.constant_word(),
            5 => bin(BinaryOp::Shr, lane(), uint(1)),
            _ => self.input(),
        };
        if count.is_power_of_two() {
            bin(BinaryOp::BitAnd, word, uint(count - 1))
        } else {
            bin(BinaryOp::Mod, word, uint(count))
        }
    }

    /// A variable with elements of a type, and one of them.
    pub(crate) fn element_of(&mut self, element: Type, class: Class) -> Option<Expr> {
        let gives = |ty: Type| ty.indexed().is_some_and(|(gives, _)| gives == element);
        let fitting: Vec<VarId> = self.vars_where(|var| gives(var.ty) && var.class <= class);
        if fitting.is_empty() {
            return None;
        }
        let var = self.draw.pick(&fitting);
        let index = self.index(self.frame.var(var).ty);
        Some(Expr::Element(Box::new(Expr::Var(var)), Box::new(index)))
    }

    fn vars_where(&self, fits: impl Fn(&super::frame::Var) -> bool) -> Vec<VarId> {
        (0..).zip(&self.frame.vars).filter(|(_, var)| fits(var)).map(|(id, _)| id).collect()
    }

    /// Writes an element, reads one.
    pub(crate) fn element_statement(&mut self, out: &mut Block) {
        let var = self.aggregate_variable(out);
        let ty = self.frame.var(var).ty;
        let Some((element, _)) = ty.indexed() else { return self.assignment(out) };
        if self.draw.percent(75) {
            let index = self.index(ty);
            let value = self.expr(element, Want::of(Class::Clean, 2));
            let value = self.fitted(value, element, Class::Clean);
            self.set_element(var, index, value, out);
        }
        if self.draw.percent(15) {
            let copy = self.frame.local("copy", ty, Class::Clean, Role::Data);
            let assign = self.assign(copy, Expr::Var(var));
            out.push(assign);
        }
        if let Some(value) = self.element_of(element, Class::Clean) {
            let result = self.result_variable(element, Class::Clean);
            let value = if self.frame.in_loop() { self.accumulated(result, value) } else { value };
            let assign = self.assign(result, value);
            out.push(assign);
            self.observe(Moment::Operation, &[result], out);
        }
    }

    /// `var[index] = value;`
    pub(crate) fn set_element(&mut self, var: VarId, index: Expr, value: Expr, out: &mut Block) {
        self.frame.charge(Cost { words: 0, steps: 1 });
        self.frame.touch(var);
        out.push(Stmt::SetElement { var, index, value });
    }

    /// An aggregate or a vector whose elements can be written: an old one, or a new one.
    fn aggregate_variable(&mut self, out: &mut Block) -> VarId {
        let old = self.vars_where(|var| !var.ty.is_scalar() && var.class == Class::Clean && var.role == Role::Data);
        if !old.is_empty() && self.draw.percent(65) {
            return self.draw.pick(&old);
        }
        let ty = self.aggregate_type();
        let stem = match ty.shape {
            Shape::Single => "v",
            Shape::Array(_) => "array",
            Shape::Matrix(_) => "matrix",
            Shape::Struct(_) => "record",
        };
        let value = self.aggregate(ty, Want::of(Class::Clean, 1));
        let var = self.frame.local(stem, ty, Class::Clean, Role::Data);
        if self.draw.percent(80) {
            let assign = self.assign(var, value);
            out.push(assign);
        }
        var
    }
}
