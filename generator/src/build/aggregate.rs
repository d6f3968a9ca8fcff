//! Arrays, matrices, structs, those of each other, and components of vectors by an index: how compilers keep what lanes access at different
//! places.

use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Block, Builtin, Expr, Stmt, VarId};
use tangle_program::types::{Kind, Scalar, Shape, Type};

use super::Builder;
use super::frame::{Cost, Role};
use super::log::Moment;
use super::term::{Want, bin, lane, uint};
use crate::class::Class;

/// Of a hundred aggregates, those that are not of one scalar or vector type.
const NESTED: u32 = 45;
/// Nested types of a program.
const MOST_NESTED: usize = 2;
/// Scalars in a nested aggregate.
const MOST_COMPONENTS: usize = 32;

/// True if a value of a type has parts of another one, in whatever depth.
fn holds(ty: Type, element: Type) -> bool {
    match ty.indexed() {
        Some((part, _)) => part == element || holds(part, element),
        None => ty.parts().any(|part| part == element || holds(part, element)),
    }
}

impl Builder<'_> {
    /// A type for a parameter or a result.
    pub(crate) fn any_type(&mut self) -> Type {
        if self.draw.percent(self.weights.aggregates) { self.aggregate_type() } else { self.data_type() }
    }

    fn aggregate_type(&mut self) -> Type {
        let nested = if self.draw.percent(NESTED) { self.nested_type() } else { None };
        nested.unwrap_or_else(|| self.plain_aggregate_type())
    }

    /// An array, matrix or struct of one scalar or vector type.
    fn plain_aggregate_type(&mut self) -> Type {
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

    /// A struct of members of several types, or an array or a struct of aggregates. A program has few of them, so that variables of one type
    /// meet.
    fn nested_type(&mut self) -> Option<Type> {
        if !self.nested_types.is_empty() && (self.nested_types.len() >= MOST_NESTED || self.draw.percent(60)) {
            return Some(self.draw.pick(&self.nested_types));
        }
        let few = 2 + self.draw.below(2) as u8;
        let ty = match self.draw.below(8) {
            0..=2 => self.record_type(Self::any_single),
            3 => Type::array(self.plain_aggregate_type(), few),
            4 | 5 => Type::array(self.record_type(Self::any_single)?, few),
            6 => self.record_type(|b| if b.draw.percent(50) { b.plain_aggregate_type() } else { b.any_single() }),
            _ => {
                let inner = self.record_type(Self::any_single)?;
                let outer = self.record_type(|b| if b.draw.percent(50) { inner } else { b.any_single() });
                outer.and_then(|outer| if self.draw.percent(30) { Type::array(outer, 2) } else { Some(outer) })
            }
        };
        let ty = ty.filter(|ty| ty.is_nested() && ty.components() <= MOST_COMPONENTS)?;
        self.nested_types.push(ty);
        Some(ty)
    }

    fn record_type(&mut self, member: impl Fn(&mut Self) -> Type) -> Option<Type> {
        let members: Vec<Type> = (0..2 + self.draw.below(3)).map(|_| member(self)).collect();
        Type::structure(&members)
    }

    /// A scalar or a vector of any width: members of a struct lie beside each other.
    fn any_single(&mut self) -> Type {
        let ty = self.data_type();
        if self.draw.percent(30) { Type { width: 1 + self.draw.below(4) as u8, ..ty } } else { ty }
    }

    /// An aggregate: a variable, or made of its elements.
    pub(crate) fn aggregate(&mut self, ty: Type, want: Want) -> Expr {
        if let (true, Some(var)) = (self.draw.percent(60), self.variable(ty, want.class())) {
            return Expr::Var(var);
        }
        let elements = ty.parts().map(|element| {
            let value = self.expr(element, want.deeper());
            self.fitted(value, element, want.class())
        });
        Expr::Vector(ty, elements.collect())
    }

    /// A number of an element that every lane has for itself; mostly others have others.
    pub(crate) fn index(&mut self, ty: Type) -> Expr {
        let count = ty.parts().count().max(1) as u32;
        if ty.kind() == Kind::Struct || self.draw.percent(15) {
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

    /// A variable with elements of a type, in whatever depth, and one of them.
    pub(crate) fn element_of(&mut self, element: Type, class: Class) -> Option<Expr> {
        let fitting: Vec<VarId> = self.vars_where(|var| holds(var.ty, element) && var.class <= class);
        if fitting.is_empty() {
            return None;
        }
        let var = self.draw.pick(&fitting);
        let mut of = self.frame.var(var).ty;
        let mut found = Expr::Var(var);
        while of != element {
            let leads = |part: &Type| *part == element || holds(*part, element);
            let index = match of.indexed() {
                Some(_) => self.index(of),
                None => {
                    let numbers = (0..).zip(of.parts()).filter(|(_, part)| leads(part));
                    uint(self.draw.pick(&numbers.map(|(number, _)| number).collect::<Vec<u32>>()))
                }
            };
            of = of.part(index.literal())?;
            found = Expr::element(found, index);
        }
        Some(found)
    }

    /// Indices to a part of a value of a type, and its type.
    fn path(&mut self, ty: Type) -> (Vec<Expr>, Type) {
        let (mut indices, mut of) = (Vec::new(), ty);
        while !of.is_scalar() {
            let ends = if of.is_single() { 80 } else { 25 };
            if !indices.is_empty() && self.draw.percent(ends) {
                break;
            }
            let index = self.index(of);
            let Some(part) = of.part(index.literal()) else { break };
            of = part;
            indices.push(index);
        }
        (indices, of)
    }

    fn vars_where(&self, fits: impl Fn(&super::frame::Var) -> bool) -> Vec<VarId> {
        (0..).zip(&self.frame.vars).filter(|(_, var)| fits(var)).map(|(id, _)| id).collect()
    }

    /// Writes an element, reads one; copies of nested aggregates more often than of others.
    pub(crate) fn element_statement(&mut self, out: &mut Block) {
        let var = self.aggregate_variable(out);
        let ty = self.frame.var(var).ty;
        if self.draw.percent(75) {
            self.write_part(var, out);
        }
        if self.draw.percent(if ty.is_nested() { 40 } else { 15 }) {
            self.copy(var, out);
        }
        self.read_part(var, out);
    }

    fn write_part(&mut self, var: VarId, out: &mut Block) {
        let (indices, part) = self.path(self.frame.var(var).ty);
        let value = self.expr(part, Want::of(Class::Clean, 2));
        let value = self.fitted(value, part, Class::Clean);
        self.set_part(var, indices, value, out);
    }

    /// A part of the variable, or a part of its type of another one.
    fn read_part(&mut self, var: VarId, out: &mut Block) {
        let (indices, part) = self.path(self.frame.var(var).ty);
        let other = if self.draw.percent(40) { self.element_of(part, Class::Clean) } else { None };
        let value = other.unwrap_or_else(|| indices.into_iter().fold(Expr::Var(var), Expr::element));
        let result = self.result_variable(part, Class::Clean);
        let value = if self.frame.in_loop() { self.accumulated(result, value) } else { value };
        let assign = self.assign(result, value);
        out.push(assign);
        self.observe(Moment::Operation, &[result], out);
    }

    /// Copies all of a variable, in some lanes only or in all of them; then perhaps the original or the copy changes, which the other one must not.
    fn copy(&mut self, of: VarId, out: &mut Block) {
        let ty = self.frame.var(of).ty;
        let old = if self.draw.percent(70) { self.writable(ty, Class::Clean, &[of]) } else { None };
        let copy = old.unwrap_or_else(|| self.frame.local("copy", ty, Class::Clean, Role::Data));
        if self.draw.percent(35) {
            let cond = self.own_condition();
            let chosen = self.branch(
                cond,
                |b| vec![b.assign(copy, Expr::Var(of))],
                |b| {
                    let value = b.aggregate(ty, Want::of(Class::Clean, 1));
                    vec![b.assign(copy, value)]
                },
            );
            out.push(chosen);
        } else {
            let assign = self.assign(copy, Expr::Var(of));
            out.push(assign);
        }
        if self.draw.percent(50) {
            let changed = self.draw.pick(&[of, copy]);
            self.write_part(changed, out);
        }
        if self.draw.percent(60) {
            self.read_part(copy, out);
        }
    }

    /// `var[index] = value;`
    pub(crate) fn set_element(&mut self, var: VarId, index: Expr, value: Expr, out: &mut Block) {
        self.set_part(var, vec![index], value, out);
    }

    /// The same with more indices.
    fn set_part(&mut self, var: VarId, indices: Vec<Expr>, value: Expr, out: &mut Block) {
        let mut indices = indices.into_iter();
        let Some(index) = indices.next() else { return };
        self.frame.charge(Cost { words: 0, steps: 1 });
        self.frame.touch(var);
        out.push(Stmt::SetElement { var, index, inner: indices.collect(), value });
    }

    /// An aggregate or a vector whose elements can be written: an old one, or a new one.
    fn aggregate_variable(&mut self, out: &mut Block) -> VarId {
        let old = self.vars_where(|var| !var.ty.is_scalar() && var.class == Class::Clean && var.role == Role::Data);
        if !old.is_empty() && self.draw.percent(65) {
            return self.draw.pick(&old);
        }
        let ty = self.aggregate_type();
        let stem = match ty.kind() {
            Kind::Single => "v",
            Kind::Array => "array",
            Kind::Matrix => "matrix",
            Kind::Struct => "record",
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
