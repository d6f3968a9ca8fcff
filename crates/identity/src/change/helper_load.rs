//! Loads by helper invocations, computed: what a helper would load is known, since nobody writes there.
//!
//! ```text
//!   inputs[invocation]
//!   gl_HelperInvocation ? (invocation < 1u ? 7u : invocation < 2u ? 0u : 3u) : inputs[invocation]
//! ```
//!
//! A program that passes with it fails because of what a helper loads: Vulkan, Helper Invocations, takes from helpers the effect of stores, and
//! nothing from loads of what nobody stores to.

use tangle_program::case::{Case, Data, Stage};
use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Builtin, Expr, Stmt};

/// The most words between which is chosen, equal ones that lie together taken as one: more make too large a program.
const MOST: usize = 64;

/// Computes what helpers load in a fragment shader.
pub fn compute(case: &mut Case) {
    if case.entry_point.stage != Stage::Fragment {
        return;
    }
    let Case { program, data, .. } = case;
    // Who is a helper may change where the program demotes; the built-in variable does not say it there.
    let helper = Expr::Builtin(if program.demotes() { Builtin::Helper } else { Builtin::HelperInput });
    for function in &mut program.functions {
        in_block(&mut function.body, data, &helper);
    }
}

fn in_block(block: &mut [Stmt], data: &Data, helper: &Expr) {
    for stmt in block {
        stmt.direct_exprs_mut().into_iter().for_each(|expr| in_expr(expr, data, helper));
        stmt.nested_blocks_mut().into_iter().for_each(|block| in_block(block, data, helper));
    }
}

fn in_expr(expr: &mut Expr, data: &Data, helper: &Expr) {
    expr.operands_mut().into_iter().for_each(|operand| in_expr(operand, data, helper));
    let own = Expr::Builtin(Builtin::LocalIndex);
    let (index, words) = match expr {
        Expr::Input(k) => (&own, data.inputs.get(*k as usize)),
        Expr::InputOf(k, of) => (&**of, data.inputs.get(*k as usize)),
        Expr::Resource(resource) => (&*resource.index, Some(&data.resources)),
        _ => return,
    };
    // An operation in the index is executed once.
    let Some(words) = words.filter(|words| !words.is_empty()) else { return };
    if index.any(&mut |part| matches!(part, Expr::Subgroup(_))) {
        return;
    }
    let mut left = MOST;
    let Some(known) = chosen(index, 0, words, &mut left) else { return };
    *expr = Expr::Select(Box::new(helper.clone()), Box::new(known), Box::new(expr.clone()));
}

/// The word of an index among these, of which the first has the number `first`; `None` if that is a choice between more than are `left`.
fn chosen(index: &Expr, first: usize, words: &[u32], left: &mut usize) -> Option<Expr> {
    if words.iter().all(|word| *word == words[0]) {
        *left = left.checked_sub(1)?;
        return Some(Expr::Uint(words[0]));
    }
    let (low, high) = words.split_at(words.len() / 2);
    let is_low = Expr::binary(BinaryOp::Lt, index.clone(), Expr::Uint((first + low.len()) as u32));
    let [low, high] = [(first, low), (first + low.len(), high)].map(|(first, words)| chosen(index, first, words, left));
    Some(Expr::Select(Box::new(is_low), Box::new(low?), Box::new(high?)))
}
