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

/// The most words of which one is chosen: more make too large a program.
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
    let Some(words) = words.filter(|words| (1..=MOST).contains(&words.len())) else { return };
    if index.any(&mut |part| matches!(part, Expr::Subgroup(_))) {
        return;
    }
    let known = chosen(index, 0, words);
    *expr = Expr::Select(Box::new(helper.clone()), Box::new(known), Box::new(expr.clone()));
}

/// The word of an index among these, of which the first has the number `first`.
fn chosen(index: &Expr, first: usize, words: &[u32]) -> Expr {
    let same = words.iter().all(|word| *word == words[0]);
    if same {
        return Expr::Uint(words[0]);
    }
    let (low, high) = words.split_at(words.len() / 2);
    let is_low = Expr::binary(BinaryOp::Lt, index.clone(), Expr::Uint((first + low.len()) as u32));
    let [low, high] = [chosen(index, first, low), chosen(index, first + low.len(), high)].map(Box::new);
    Expr::Select(Box::new(is_low), low, high)
}
