//! Loops of tens of thousands of iterations, shortened: a driver may count to 65,535.
//!
//! ```text
//!   for (uint i = 0u; i < 0x10000u; i++) { … }
//!   for (uint i = 0u; i < 4u; i++) { … }
//! ```
//!
//! Values that the loop computes become others; what is logged behind it stays in its place.

use tangle_program::tree::{Block, Expr, Function, Stmt};

/// From so many iterations on a loop is long.
const LONG: u32 = 1 << 14;
/// How many iterations it has then.
const FEW: u32 = 4;

/// Makes the long loops of a function short.
pub fn shorten(function: &mut Function) {
    in_block(&mut function.body);
}

fn in_block(block: &mut Block) {
    for stmt in block {
        if let Stmt::Loop(l) = stmt {
            in_bound(&mut l.bound);
        }
        stmt.nested_blocks_mut().into_iter().for_each(in_block);
    }
}

/// A bound may be a sum: `65530u + input_words[invocation]`.
fn in_bound(bound: &mut Expr) {
    match bound {
        Expr::Uint(literal) if *literal >= LONG => *literal = FEW,
        bound => bound.operands_mut().into_iter().for_each(in_bound),
    }
}
