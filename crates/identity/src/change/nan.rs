//! A NaN in the minimum or maximum of a group, or in what a group compares, taken out: an infinity stands in its place, for a minimum or maximum that which decides nothing.
//! Of what a group compares the sign of a zero is taken out, too: whoever compares bits gets both wrong.
//!
//! ```text
//!   subgroupMax(bitsToFloat(x))
//!   subgroupMax(bitsToFloat(mix(x, 0xFF800000u, (x & 0x7FFFFFFFu) > 0x7F800000u)))
//! ```
//!
//! Every result that is known stays: "if for any two Values one of them is a NaN, the other is chosen" (SPIR-V, OpGroupNonUniformFMin and FMax; docs/rules.md, F8). A program that
//! passes with it fails because of what its driver makes of a NaN there. Of `subgroupAllEqual` the results change, since a NaN is equal to nothing (rule P13);
//! those of zeros stay, since -0 is equal to 0.

use tangle_program::float;
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Block, Expr, Function};
use tangle_program::types::{Scalar, Type};

/// What a group uses a number for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Uses {
    /// Minimum and maximum.
    Extremum,
    /// `subgroupAllEqual`
    Comparison,
}

/// Takes NaN out of all that groups use like this in a function.
pub fn take_out(function: &mut Function, uses: Uses) {
    function.change_body(|function, body| in_block(function, uses, body));
}

fn in_block(function: &Function, uses: Uses, block: &mut Block) {
    for stmt in block {
        stmt.direct_exprs_mut().into_iter().for_each(|expr| in_expr(function, uses, expr));
        stmt.nested_blocks_mut().into_iter().for_each(|block| in_block(function, uses, block));
    }
}

fn in_expr(function: &Function, uses: Uses, expr: &mut Expr) {
    if let Some((fold, operand)) = used(uses, expr) {
        in_operand(function, uses, fold, operand);
    }
    expr.operands_mut().into_iter().for_each(|operand| in_expr(function, uses, operand));
}

/// The operand that a group uses like this, and what combines it if something does.
fn used(uses: Uses, expr: &mut Expr) -> Option<(Option<Fold>, &mut Expr)> {
    let Expr::Subgroup(call) = expr else { return None };
    let fold = call.op.fold();
    let is_used = match uses {
        Uses::Extremum => matches!(fold, Some(Fold::Min | Fold::Max)),
        Uses::Comparison => call.op == SubgroupOp::AllEqual,
    };
    Some((fold, call.args.first_mut().filter(|_| is_used)?))
}

/// Takes NaN out of what an operand is made of. Another one in it has those of its own.
fn in_operand(function: &Function, uses: Uses, fold: Option<Fold>, operand: &mut Expr) {
    if used(uses, operand).is_some() {
        return;
    }
    let made = operand.ty(function);
    match (operand, made) {
        (Expr::Intrinsic(op, args), Some(made)) if op.is_from_bits() => {
            if let [bits] = &mut args[..]
                && let Some(ty) = bits.ty(function)
                // An operation is executed once.
                && !bits.any(&mut |part| matches!(part, Expr::Subgroup(_)))
            {
                *bits = without_nan(fold, bits, ty, made.scalar);
                if uses == Uses::Comparison {
                    *bits = without_signed_zero(bits, ty, made.scalar);
                }
            }
        }
        (other, _) => other.operands_mut().into_iter().for_each(|operand| in_operand(function, uses, fold, operand)),
    }
}

/// The bits of numbers as they are, and of an infinity for those of a NaN.
fn without_nan(fold: Option<Fold>, bits: &Expr, ty: Type, scalar: Scalar) -> Expr {
    let infinity = float::infinity(scalar);
    let neutral = if fold == Some(Fold::Max) { infinity | float::sign(scalar) } else { infinity };
    let is_nan = Expr::binary(BinaryOp::Gt, unsigned(bits, ty, scalar), all(ty, infinity));
    Expr::Intrinsic(Intrinsic::Mix, vec![bits.clone(), all(ty, neutral), is_nan])
}

/// The bits of numbers as they are, and of 0 for those of -0.
fn without_signed_zero(bits: &Expr, ty: Type, scalar: Scalar) -> Expr {
    let is_zero = Expr::binary(BinaryOp::Eq, unsigned(bits, ty, scalar), all(ty, 0));
    Expr::Intrinsic(Intrinsic::Mix, vec![bits.clone(), all(ty, 0), is_zero])
}

/// The bits of numbers without their signs.
fn unsigned(bits: &Expr, ty: Type, scalar: Scalar) -> Expr {
    Expr::binary(BinaryOp::BitAnd, bits.clone(), all(ty, float::sign(scalar) - 1))
}

/// The same bits in each component.
fn all(ty: Type, value: u64) -> Expr {
    Expr::composite(ty, &mut |part| Expr::bits(part, value))
}
