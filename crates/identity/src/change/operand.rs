//! Operations that give what they are given: the first operand stands in their place.

use tangle_emit::glsl::spelling;
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::subgroup::TABLE;
use tangle_program::tree::{Block, Expr, Function};

use super::within::Within;

/// The names of all operations, each once.
pub fn operations() -> Vec<&'static str> {
    let subgroup = TABLE.iter().map(|info| info.name);
    let unary = UnaryOp::ALL.into_iter().map(spelling::unary);
    let binary = BinaryOp::ALL.into_iter().map(spelling::binary);
    let intrinsics = Intrinsic::ALL.into_iter().map(spelling::intrinsic);
    let mut names: Vec<&str> = subgroup.chain(unary).chain(binary).chain(intrinsics).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Puts the first operand in the place of an operation of its type, in one kind of place of a function whose body stands in another.
pub fn replace(function: &mut Function, operation: &str, place: Within, here: Within) {
    function.change_body(|function, body| in_block(function, operation, place, body, here));
}

fn in_block(function: &Function, operation: &str, place: Within, block: &mut Block, here: Within) {
    for stmt in block {
        let inside = here.inside(stmt);
        if here == place {
            stmt.direct_exprs_mut().into_iter().for_each(|expr| in_expr(function, operation, expr));
        }
        stmt.nested_blocks_mut().into_iter().for_each(|block| in_block(function, operation, place, block, inside));
    }
}

fn in_expr(function: &Function, operation: &str, expr: &mut Expr) {
    expr.operands_mut().into_iter().for_each(|operand| in_expr(function, operation, operand));
    if name(expr) == Some(operation) {
        let ty = expr.ty(function);
        let mut operands = expr.operands_mut().into_iter();
        if let Some(first) = operands.next().filter(|first| first.ty(function) == ty) {
            *expr = first.clone();
        }
    }
}

/// What an operation is called.
fn name(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Subgroup(call) => Some(call.op.info().name),
        other => spelling::operator(other),
    }
}
