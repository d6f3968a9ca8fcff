//! Hints that a compiler need not use: values to expect and conditions to assume (GL_EXT_expect_assume), and `precise`.

use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::tree::MAX_EXPR_DEPTH;
use tangle_program::tree::{Block, Builtin, Expr, Program, Stmt};
use tangle_program::types::Scalar;

use super::Builder;
use super::frame::Cost;
use super::term::{bin, nesting, number, uint};

impl Builder<'_> {
    /// A value that decides something, now and then with what to expect of it.
    pub(crate) fn with_expectation(&mut self, value: Expr, scalar: Scalar) -> Expr {
        if !self.draw.percent(self.weights.hints) || nesting(&value) > MAX_EXPR_DEPTH / 2 {
            return value;
        }
        self.expecting(value, scalar)
    }

    /// `expectEXT(value, …)`: right for some lanes, perhaps.
    pub(crate) fn expecting(&mut self, value: Expr, scalar: Scalar) -> Expr {
        let expected = match scalar {
            Scalar::Bool => Expr::Bool(self.draw.percent(50)),
            scalar => number(scalar, self.draw.below(6)),
        };
        Expr::Intrinsic(Intrinsic::Expect, vec![value, expected])
    }

    /// `assumeEXT(…);`: something that holds in every lane, as the data and the launch are.
    pub(crate) fn assumption(&mut self, out: &mut Block) {
        let value = self.limited();
        let range = self.scope().info(&value).range;
        let (least, most) = (range.lo as u32, range.hi as u32);
        let cond = match self.draw.below(4) {
            0 if least > 0 => bin(BinaryOp::Ge, value, uint(least)),
            1 if most < u32::MAX => bin(BinaryOp::Ne, value, uint(most + 1)),
            2 if most < u32::MAX => bin(BinaryOp::Lt, value, uint(most + 1)),
            _ => bin(BinaryOp::Le, value, uint(most)),
        };
        self.frame.charge(Cost { words: 0, steps: 1 });
        out.push(Stmt::Assume(cond));
    }

    /// A word of which the launch and the data say how small and how large it can be.
    fn limited(&mut self) -> Expr {
        match self.draw.below(6) {
            0 => Expr::Builtin(Builtin::Lane),
            1 => Expr::Builtin(Builtin::SubgroupSize),
            2 => Expr::Builtin(Builtin::LocalIndex),
            3 => Expr::Uniform(self.draw.below(self.data.uniforms.len() as u32)),
            _ => Expr::Input(self.draw.below(self.data.inputs.len() as u32)),
        }
    }
}

/// Makes every so many-th local of a floating-point type `precise`; with 0 none.
pub(crate) fn make_precise(program: &mut Program, every: usize) {
    let locals = program.functions.iter_mut().flat_map(|function| &mut function.locals);
    let floats = locals.filter(|local| local.ty.scalar.is_float());
    for (k, local) in floats.enumerate().filter(|_| every > 0) {
        local.precise = k % every == 0;
    }
}
