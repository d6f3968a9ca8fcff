//! Delete runs of statements.

use tangle_program::case::Case;
use tangle_program::tree::Stmt;

use super::candidates::{Candidates, chunks, each};
use crate::access::{blocks, edit_block};
use crate::size::stmt_weight;

/// A run of statements of one block.
#[derive(Clone, Copy, Debug)]
struct Run {
    block: usize,
    start: usize,
    len: usize,
}

/// Deletes from every block its halves, quarters and so on, heaviest runs of the whole program first.
pub fn candidates(case: &Case) -> Candidates<'_> {
    let mut runs = Vec::new();
    for (block, (_, stmts)) in blocks(&case.program).into_iter().enumerate() {
        let weights: Vec<u64> = stmts.iter().map(stmt_weight).collect();
        for (start, len) in chunks(stmts.len()) {
            runs.push((weights[start..start + len].iter().sum::<u64>(), Run { block, start, len }));
        }
    }
    runs.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    each(case, runs, |case, (_, Run { block, start, len })| {
        edit_block(&mut case.program, block, |stmts: &mut Vec<Stmt>| drop(stmts.drain(start..start + len)));
    })
}
