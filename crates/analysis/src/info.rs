//! What is known of an expression without running it, found in one pass from the leaves up.
//!
//! Each analysis is a rule that makes what it knows of an expression from what is known of its operands: ranges ([`crate::bounds`]),
//! exactness of floats ([`crate::exact`]), undefined values ([`crate::undefined`]), uniformity ([`crate::uniform`]). Here they are
//! applied together, once to each expression, so that the cost of all of them is linear in the size of the expression.

use tangle_program::tree::Expr;
use tangle_program::types::{Scalar, Type};

use crate::bounds::{Interval, Scope, is_nonzero_from};
use crate::exact::Extent;
use crate::undefined;
use crate::uniform::Uniformity;

/// What is known of an expression.
#[derive(Clone, Debug)]
pub struct ExprInfo {
    /// Its type; `None` where it is plain that it has none.
    pub ty: Option<Type>,
    /// The values that it can have where it is defined; of a vector, those that its components can have.
    pub range: Interval,
    /// True if the value, or every component, is known not to be zero. Sees more than the range: `x | 1`.
    pub is_nonzero: bool,
    /// Of a float, or of the components of a vector of floats; `None` of others, and if something in it may be inexact.
    pub extent: Option<Extent>,
    /// True if some lane's value may be undefined.
    pub may_be_undefined: bool,
    /// Where it is the same for all lanes that evaluate it together.
    pub uniformity: Uniformity,
    /// The range of each component, if it is a vector made of them.
    pub(crate) components: Option<Box<[Interval]>>,
}

impl ExprInfo {
    /// The component type.
    pub(crate) fn scalar(&self) -> Scalar {
        self.ty.map_or(Scalar::Uint, |ty| ty.scalar)
    }

    /// True if a value can be stored to a variable of the type.
    pub fn fits(&self, ty: Type) -> bool {
        !ty.scalar.is_float() || self.extent.is_some_and(|extent| extent.is_within(Extent::of_variables(ty.scalar)))
    }
}

impl Scope<'_> {
    /// What is known of an expression that stands here.
    pub fn info(&self, expr: &Expr) -> ExprInfo {
        let mut known = Vec::new();
        self.learn_info(expr, &mut known);
        known.pop().expect("it was just found out")
    }

    /// Puts what is known of the expression on the stack.
    fn learn_info(&self, expr: &Expr, known: &mut Vec<ExprInfo>) {
        let first = known.len();
        expr.operands().for_each(|operand| self.learn_info(operand, known));
        let info = self.info_from(expr, &known[first..]);
        known.truncate(first);
        known.push(info);
    }

    /// What is known of an expression, `operands` being what is known of its operands.
    pub(crate) fn info_from(&self, expr: &Expr, operands: &[ExprInfo]) -> ExprInfo {
        #[cfg(test)]
        VISITS.set(VISITS.get() + 1);
        let ty = expr.type_from(self.function(), |i, _| operands.get(i)?.ty);
        let scalar = ty.map_or(Scalar::Uint, |ty| ty.scalar);
        let range = self.range_from(expr, scalar, operands);
        let of_call = || operands.first().map(ExprInfo::scalar);
        let makes_undefined =
            self.undefined().is_some_and(|held| undefined::makes_undefined(expr, of_call, self.entry_point(), &held));
        ExprInfo {
            ty,
            range,
            is_nonzero: is_nonzero_from(expr, range, operands),
            extent: self.extent_from(expr, scalar, operands),
            may_be_undefined: makes_undefined || operands.iter().any(|operand| operand.may_be_undefined),
            uniformity: Uniformity::from(expr, |i| operands[i].uniformity).max(self.here.of(expr)),
            components: matches!(expr, Expr::Vector(..))
                .then(|| operands.iter().map(|operand| operand.range).collect()),
        }
    }
}

#[cfg(test)]
thread_local! {
    /// How often something was found out of an expression.
    pub(crate) static VISITS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
