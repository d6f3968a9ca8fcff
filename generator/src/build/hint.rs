//! What the compiler is told and need not use: what to expect and to assume (GL_EXT_expect_assume), and `precise`.

use tangle_program::bounds::MAX_SUBGROUP_SIZE;
use tangle_program::case::SubgroupSize;
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::tree::{Block, Builtin, Expr, Program, Stmt};
use tangle_program::types::Scalar;
use tangle_program::validate::MAX_EXPR_DEPTH;

use super::Builder;
use super::expression::{bin, nesting, number, uint};
use super::frame::Cost;

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
        let (value, least, most) = self.limited();
        let cond = match self.draw.below(4) {
            0 if least > 0 => bin(BinaryOp::Ge, value, uint(least)),
            1 if most < u32::MAX => bin(BinaryOp::Ne, value, uint(most + 1)),
            2 if most < u32::MAX => bin(BinaryOp::Lt, value, uint(most + 1)),
            _ => bin(BinaryOp::Le, value, uint(most)),
        };
        self.frame.charge(Cost { words: 0, steps: 1 });
        out.push(Stmt::Assume(cond));
    }

    /// A word with the least and the most that it is anywhere.
    fn limited(&mut self) -> (Expr, u32, u32) {
        let subgroup = match self.launch.subgroup_size {
            SubgroupSize::Required(size) => (size, size),
            SubgroupSize::Default | SubgroupSize::Varying => (1, MAX_SUBGROUP_SIZE),
        };
        match self.draw.below(6) {
            0 => (Expr::Builtin(Builtin::Lane), 0, subgroup.1 - 1),
            1 => (Expr::Builtin(Builtin::SubgroupSize), subgroup.0, subgroup.1),
            2 => (Expr::Builtin(Builtin::LocalIndex), 0, self.launch.invocations() - 1),
            3 => {
                let k = self.draw.below(self.data.uniforms.len() as u32);
                let word = self.data.uniforms[k as usize];
                (Expr::Uniform(k), word, word)
            }
            _ => {
                let k = self.draw.below(self.data.inputs.len() as u32);
                let words = &self.data.inputs[k as usize];
                let (least, most) = (words.iter().min(), words.iter().max());
                (Expr::Input(k), least.copied().unwrap_or(0), most.copied().unwrap_or(u32::MAX))
            }
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
