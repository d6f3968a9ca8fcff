//! The pass from the leaves up: every analysis, applied once to each expression.

use tangle_program::tree::Expr;
use tangle_program::types::Scalar;

use crate::bounds::{Scope, is_nonzero_from};
use crate::info::ExprInfo;
use crate::undefined;
use crate::uniform::Uniformity;

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
        let makes_undefined = self
            .undefined()
            .is_some_and(|places| undefined::makes_undefined(expr, of_call, self.entry_point(), &places));
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
