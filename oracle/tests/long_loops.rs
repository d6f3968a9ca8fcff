//! Loops of many iterations: what they leave behind, by hand. Iterations that only sum something up, of which there may be tens of thousands, are made at once
//! (`machine/long.rs`); whatever looks like that and is not has to be made one by one.

use crate::common::*;
use tangle_program::case::Tier;
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Expr, LoopKind, Stmt, Test};

const A: u32 = 1;
/// The counter, and what the loops change.
const I: u32 = 0;
const X: u32 = 1;
const Y: u32 = 2;
/// How many iterations loops have that only sum something up.
const MANY: u32 = 60_000;
/// And others: enough to be made at once.
const OTHERS: u32 = 120;

fn add(var_of: u32, by: Expr) -> Stmt {
    set(var_of, bin(var(var_of), BinaryOp::Add, by))
}

/// A loop whose bound is the same for all lanes, or is larger by the number of the lane.
fn many(kind: LoopKind, bound: Expr, body: impl Into<Vec<Stmt>>) -> Stmt {
    let mut looped = counted(I, bound, [], body.into());
    if let Stmt::Loop(l) = &mut looped {
        l.kind = kind;
    }
    looped
}

/// Counter, x and y behind some statements, at every tier; of each lane, or the same of all.
#[track_caller]
fn leaves(body: impl IntoIterator<Item = Stmt>, seen: &str) {
    let mut body: Vec<Stmt> = body.into_iter().collect();
    body.push(log(A, [var(I), var(X), var(Y)]));
    let case = main_of(body);
    let seen = if seen.contains(' ') { seen.to_owned() } else { [seen; 8].join(" ") };
    for tier in [Tier::Maximal, Tier::Plain, Tier::SubgroupUniform] {
        check(&case, tier, &format!("A=FF:[{seen}]"));
    }
}

#[test]
fn sums_are_made_at_once() {
    let each = || bin(uint(MANY), BinaryOp::Add, lane());
    let toggle = || set(Y, bin(var(Y), BinaryOp::BitXor, uint(5)));
    leaves(
        [many(LoopKind::While, each(), [add(X, lane()), toggle()])],
        "60000/0/0 60001/60001/5 60002/120004/0 60003/180009/5 60004/240016/0 60005/300025/5 60006/360036/0 60007/420049/5",
    );
    // The number of iterations that all make is odd.
    leaves([many(LoopKind::DoWhile, uint(MANY + 1), [add(X, uint(3)), toggle()])], "60001/180003/5");
    leaves([many(LoopKind::Forever, uint(MANY), [add(X, uint(3)), toggle()])], "60000/180000/0");
    // The counter goes past the bound: 1, 4, …, 59998, 60001.
    let strides = LoopKind::For { init: uint(1), step: 3, update: Vec::new() };
    leaves([many(strides, uint(MANY), [add(X, uint(7)), toggle()])], "60001/140000/0");
    // What sums up is not changed, and has another value in each lane that differs in every bit.
    let fixed = bin(var(Y), BinaryOp::Mul, lane());
    leaves(
        [set(Y, uint(0x1_0001)), many(LoopKind::While, uint(MANY), [add(X, fixed)])],
        "60000/0/65537 60000/3932220000/65537 60000/3569472704/65537 60000/3206725408/65537 60000/2843978112/65537 60000/2481230816/65537 \
         60000/2118483520/65537 60000/1755736224/65537",
    );
}

#[test]
fn what_is_no_sum_is_made_one_by_one() {
    let one = || add(X, uint(1));
    let times = |by| set(X, bin(var(X), BinaryOp::Mul, uint(by)));
    let table: [(Vec<Stmt>, Vec<Stmt>, &str); 8] = [
        // Powers of 2 and 3.
        (vec![set(X, uint(1))], vec![set(X, bin(var(X), BinaryOp::Add, var(X)))], "120/0/0"),
        (vec![set(X, uint(1))], vec![times(3)], "120/2968405089/0"),
        // The sum of another variable.
        (vec![set(Y, uint(7))], vec![set(X, bin(var(Y), BinaryOp::Add, uint(1)))], "120/8/7"),
        // What is added changes: by the loop before, and after, and by its counter.
        (vec![], vec![one(), add(Y, var(X))], "120/120/7260"),
        (vec![], vec![add(Y, var(X)), one()], "120/120/7140"),
        (vec![], vec![add(X, var(I))], "120/7260/0"),
        // One variable twice: 0 + 1 is 1, which differs from 0 in its last bit.
        (vec![], vec![one(), set(X, bin(var(X), BinaryOp::BitXor, uint(1)))], "120/0/0"),
        // A copy.
        (vec![], vec![set(Y, var(X)), one()], "120/120/119"),
    ];
    for (before, body, seen) in table {
        leaves(before.into_iter().chain([many(LoopKind::While, uint(OTHERS), body)]), seen);
    }
}

/// Lanes of which it is not known when they leave are lost (rule D4), and change nothing for the others: lanes 0 to 5 have come to a sum by two ways, and it is
/// 6 or 3.
#[test]
fn lanes_with_another_bound_that_is_not_known() {
    const SUM: u32 = 3;
    let sum = op(SubgroupOp::Reduce(Fold::Add), [uint(1)]);
    let hundreds = || bin(bin(var(SUM), BinaryOp::BitAnd, uint(7)), BinaryOp::Mul, uint(100));
    for kind in [LoopKind::While, LoopKind::DoWhile, LoopKind::Forever] {
        let case = main_of([
            set(SUM, uint(1)),
            when(below(6), [when(odd(), []), set(SUM, sum.clone())]),
            many(kind, hundreds(), [add(X, uint(3))]),
            log(A, [var(I), var(X)]),
        ]);
        let all = "A=FF:[600/1800 600/1800 600/1800 600/1800 600/1800 600/1800 100/300 100/300]";
        check_tiers(&case, all, "A=C0:[100/300 100/300]");
    }
}

#[test]
fn heads_that_do_more_are_executed_each_time() {
    let one = || add(X, uint(1));
    let tested = |before: Vec<Stmt>, cond: Expr| {
        let mut looped = many(LoopKind::While, uint(OTHERS), [one()]);
        if let Stmt::Loop(l) = &mut looped {
            l.test = Some(Test { before, cond });
        }
        looped
    };
    leaves([tested(vec![], bin(var(X), BinaryOp::Lt, uint(90)))], "90/90/0");
    leaves([tested(vec![add(Y, uint(2))], Expr::Bool(true))], "120/120/242");
    let update = LoopKind::For { init: uint(0), step: 1, update: vec![add(Y, uint(2))] };
    leaves([many(update, uint(OTHERS), [one()])], "120/120/240");
    // The bound runs away until its last 7 bits are 0.
    let away = bin(var(Y), BinaryOp::BitAnd, uint(0x7F));
    leaves([set(Y, uint(100)), many(LoopKind::While, away, [one(), add(Y, uint(1))])], "28/28/128");
}
