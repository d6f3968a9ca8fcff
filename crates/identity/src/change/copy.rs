//! Values of loops, copied: what is used behind a loop that changes it is kept in an array, to which a lane writes before it leaves.
//!
//! ```text
//!   loop { x = f(x); if (c) { break; } }  use(x);
//!   kept[i] = x; loop { x = f(x); if (c) { kept[i] = x; break; } kept[i] = x; } x = kept[i];  use(x);
//! ```
//!
//! The index is `gl_SubgroupInvocationID & 1u`, which no compiler knows, so that the array is one.

use std::collections::BTreeMap;

use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Block, Builtin, Expr, Function, Loop, LoopKind, Stmt, VarId, walk_block};
use tangle_program::types::{Shape, Type};

/// Copies what is used behind the loops of a function.
pub fn copy_values(function: &mut Function) {
    let mut reads = BTreeMap::new();
    count_reads(&function.body, &mut reads);
    function.change_body(|function, body| in_block(function, &reads, body, false));
}

fn count_reads(stmts: &[Stmt], reads: &mut BTreeMap<VarId, usize>) {
    walk_block(stmts, &mut |stmt| {
        stmt.direct_exprs().for_each(|expr| {
            expr.walk(&mut |expr| {
                if let Expr::Var(var) = expr {
                    *reads.entry(*var).or_default() += 1;
                }
            });
        });
    });
}

fn in_block(function: &mut Function, reads: &BTreeMap<VarId, usize>, block: &mut Block, in_loop: bool) {
    let mut copied = Block::with_capacity(block.len());
    for mut stmt in std::mem::take(block) {
        let behind = used_behind(&stmt, function, reads, in_loop);
        let is_loop = matches!(stmt, Stmt::Loop(_));
        stmt.nested_blocks_mut().into_iter().for_each(|inner| in_block(function, reads, inner, in_loop || is_loop));
        let Stmt::Loop(l) = &mut stmt else {
            copied.push(stmt);
            continue;
        };
        let mut keep = Block::new();
        let mut take = Block::new();
        for (var, ty) in behind {
            let kept = function.add_fresh_local("kept", Type { shape: Shape::Array(2), ..ty });
            keep.push(Stmt::SetElement { var: kept, index: index(), inner: Vec::new(), value: Expr::Var(var) });
            take.push(Stmt::Assign { var, value: Expr::element(Expr::Var(kept), index()) });
        }
        before_jumps(&mut l.body, &keep, &[Stmt::Break, Stmt::Continue]);
        if !l.body.last().is_some_and(Stmt::is_jump) {
            l.body.extend_from_slice(&keep);
        }
        copied.extend(keep);
        copied.push(stmt);
        copied.extend(take);
    }
    *block = copied;
}

fn index() -> Expr {
    Expr::binary(BinaryOp::BitAnd, Expr::Builtin(Builtin::Lane), Expr::Uint(1))
}

/// The scalars and vectors that the body of a loop changes and that something else reads, or the loop itself when the loop around it comes to it again.
fn used_behind(stmt: &Stmt, function: &Function, reads: &BTreeMap<VarId, usize>, in_loop: bool) -> Vec<(VarId, Type)> {
    let Stmt::Loop(l) = stmt else { return Vec::new() };
    let mut inside = BTreeMap::new();
    count_reads(std::slice::from_ref(stmt), &mut inside);
    let is_read_behind = |var: &VarId| in_loop && inside.contains_key(var) || reads.get(var) > inside.get(var);
    let mut vars: Vec<VarId> = Vec::new();
    walk_block(&l.body, &mut |stmt| vars.extend(stmt.written()));
    let (counters, late) = (counters(&l.body), written_late(l));
    vars.retain(|var| is_read_behind(var) && !counters.contains(var) && !late.contains(var));
    vars.sort_unstable();
    vars.dedup();
    let of_type = |var: VarId| function.var_type(var).filter(|ty| ty.is_single()).map(|ty| (var, ty));
    vars.into_iter().filter_map(of_type).collect()
}

/// The counters of loops, which nothing else may write.
fn counters(block: &Block) -> Vec<VarId> {
    let mut counters = Vec::new();
    walk_block(block, &mut |stmt| {
        if let Stmt::Loop(l) = stmt {
            counters.push(l.counter);
        }
    });
    counters
}

/// What a loop changes between the end of its body and its exit.
fn written_late(l: &Loop) -> Vec<VarId> {
    let update = match &l.kind {
        LoopKind::For { update, .. } => update.as_slice(),
        _ => &[],
    };
    let before = l.test.as_ref().map_or(&[][..], |test| &test.before);
    update.iter().chain(before).flat_map(Stmt::written).collect()
}

/// Puts statements before the jumps out of an iteration.
fn before_jumps(block: &mut Block, keep: &[Stmt], jumps: &[Stmt]) {
    let mut at = 0;
    while at < block.len() {
        match &mut block[at] {
            // It has its own `break` and `continue`.
            Stmt::Loop(_) => {}
            Stmt::Switch { arms, .. } => {
                arms.iter_mut().for_each(|arm| before_jumps(&mut arm.body, keep, &[Stmt::Continue]));
            }
            stmt if jumps.contains(stmt) => {
                block.splice(at..at, keep.iter().cloned());
                at += keep.len();
            }
            stmt => stmt.nested_blocks_mut().into_iter().for_each(|inner| before_jumps(inner, keep, jumps)),
        }
        at += 1;
    }
}
