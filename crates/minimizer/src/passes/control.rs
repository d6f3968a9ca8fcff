//! Take control flow apart.

use tangle_program::case::Case;
use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::tree::{Arm, Expr, Label, Loop, LoopKind, Stmt};
use tangle_program::types::{Scalar, Type};

use super::candidates::{Candidates, Target, each, without_jumps};
use crate::access::{StmtAt, edit_stmt, replace_stmt, stmts};
use crate::size::stmt_weight;

/// Puts a part of an `if`, switch or loop in its place; heaviest statements first.
pub fn unwrap(case: &Case) -> Candidates<'_> {
    let mut edits: Vec<(u64, StmtAt, Vec<Stmt>)> = Vec::new();
    for (place, stmt) in stmts(&case.program) {
        let scalar = |selector: &Expr| {
            let function = &case.program.functions[place.function as usize];
            selector.ty(function).unwrap_or(Type::UINT).scalar
        };
        let parts = match stmt {
            Stmt::If { cond, then, otherwise, .. } => parts_of_if(cond, then, otherwise),
            Stmt::Switch { selector, arms, .. } => parts_of_switch(selector, scalar(selector), arms),
            Stmt::Loop(l) => parts_of_loop(l),
            _ => Vec::new(),
        };
        edits.extend(parts.into_iter().map(|part| (stmt_weight(stmt), place, part)));
    }
    edits.sort_by_key(|(weight, ..)| std::cmp::Reverse(*weight));
    each(case, edits, |case, (_, place, part)| replace_stmt(&mut case.program, place, part))
}

/// Each side, both, and the choice of a value where the sides assign to one variable and do nothing else.
fn parts_of_if(cond: &Expr, then: &[Stmt], otherwise: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut parts = vec![then.to_vec()];
    if !otherwise.is_empty() {
        parts.push(otherwise.to_vec());
        if !then.last().is_some_and(Stmt::is_jump) {
            parts.push([then, otherwise].concat());
        }
    }
    if let [Stmt::Assign { var, value }] = then {
        let other = match otherwise {
            [] => Some(Expr::Var(*var)),
            [Stmt::Assign { var: same, value }] if same == var => Some(value.clone()),
            _ => None,
        };
        parts.extend(other.map(|other| {
            let [cond, value, other] = [cond, value, &other].map(|part| Box::new(part.clone()));
            vec![Stmt::Assign { var: *var, value: Expr::Select(cond, value, other) }]
        }));
    }
    parts
}

/// Every arm by itself, and every arm as an `if` with the default as its `else`.
fn parts_of_switch(selector: &Expr, scalar: Scalar, arms: &[Arm]) -> Vec<Vec<Stmt>> {
    let bodies: Vec<Vec<Stmt>> = arms.iter().map(|arm| without_jumps(&arm.body, Target::Switch)).collect();
    let mut parts = bodies.clone();
    let default = arms.iter().position(|arm| arm.labels.contains(&Label::Default));
    for (i, arm) in arms.iter().enumerate().filter(|(i, _)| default != Some(*i)) {
        let Some(Label::Case(value)) = arm.labels.first() else { continue };
        let label = match scalar {
            Scalar::Int => Expr::Int(*value as i32),
            _ => Expr::Uint(*value as u32),
        };
        let otherwise = default.map_or(Vec::new(), |default| bodies[default].clone());
        let cond = Expr::binary(BinaryOp::Eq, selector.clone(), label);
        parts.push(vec![Stmt::If { cond, then: bodies[i].clone(), otherwise, control: Default::default() }]);
    }
    parts
}

/// The body once, alone and under the loop's condition.
fn parts_of_loop(l: &Loop) -> Vec<Vec<Stmt>> {
    let body = without_jumps(&l.body, Target::Loop);
    let before = l.test.as_ref().map_or(&[][..], |test| &test.before);
    let mut parts = vec![body.clone()];
    if !before.is_empty() {
        parts.push([before, &body].concat());
    }
    if let Some(test) = &l.test {
        let mut guarded = before.to_vec();
        guarded.push(Stmt::If {
            cond: test.cond.clone(),
            then: body,
            otherwise: Vec::new(),
            control: Default::default(),
        });
        parts.push(guarded);
    }
    parts
}

/// Drops parts of an `if`, switch or loop that stays.
pub fn parts(case: &Case) -> Candidates<'_> {
    let mut edits = Vec::new();
    for (place, stmt) in stmts(&case.program) {
        let variants = match stmt {
            Stmt::If { cond, then, otherwise, .. } if !otherwise.is_empty() => halves_of_if(cond, then, otherwise),
            Stmt::Switch { selector, arms, .. } => fewer_arms(selector, arms),
            Stmt::Loop(l) => simpler_loops(l).into_iter().map(|l| Stmt::Loop(Box::new(l))).collect(),
            _ => Vec::new(),
        };
        edits.extend(variants.into_iter().map(|variant| (place, variant)));
    }
    each(case, edits, |case, (place, variant)| edit_stmt(&mut case.program, place, |stmt| *stmt = variant))
}

fn halves_of_if(cond: &Expr, then: &[Stmt], otherwise: &[Stmt]) -> Vec<Stmt> {
    let side = |cond: Expr, side: &[Stmt]| Stmt::If {
        cond,
        then: side.to_vec(),
        otherwise: Vec::new(),
        control: Default::default(),
    };
    vec![
        side(cond.clone(), then),
        side(Expr::unary(UnaryOp::Not, cond.clone()), otherwise),
        side(cond.clone(), otherwise),
    ]
}

/// Without each arm, and without each label of an arm with several.
fn fewer_arms(selector: &Expr, arms: &[Arm]) -> Vec<Stmt> {
    let mut variants = Vec::new();
    let mut with = |edit: &dyn Fn(&mut Vec<Arm>)| {
        let mut arms = arms.to_vec();
        edit(&mut arms);
        variants.push(Stmt::Switch { selector: selector.clone(), arms, control: Default::default() });
    };
    for i in 0..arms.len() {
        with(&|arms| _ = arms.remove(i));
    }
    for (i, arm) in arms.iter().enumerate().filter(|(_, arm)| arm.labels.len() > 1) {
        (0..arm.labels.len()).for_each(|label| with(&|arms| _ = arms[i].labels.remove(label)));
    }
    variants
}

fn simpler_loops(l: &Loop) -> Vec<Loop> {
    let mut variants = Vec::new();
    let plain = LoopKind::For { init: Expr::Uint(0), step: 1, update: Vec::new() };
    if let Some(test) = &l.test {
        variants.push(Loop { test: None, ..l.clone() });
        // A test of the counter can be the bound.
        if let Expr::Binary(BinaryOp::Lt | BinaryOp::Le | BinaryOp::Ne, x, bound) = &test.cond
            && **x == Expr::Var(l.counter)
        {
            variants.push(Loop { test: None, bound: Expr::clone(bound), ..l.clone() });
        }
        if !test.before.is_empty() {
            let mut l = l.clone();
            l.test.iter_mut().for_each(|test| test.before.clear());
            variants.push(l);
        }
    }
    if l.kind != plain {
        variants.push(Loop { kind: plain, ..l.clone() });
    }
    if let LoopKind::For { init, step, update } = &l.kind
        && !update.is_empty()
    {
        let kind = LoopKind::For { init: init.clone(), step: *step, update: Vec::new() };
        variants.push(Loop { kind, ..l.clone() });
    }
    variants
}

/// Where a statement stands after which nothing follows in its construct.
#[derive(Clone, Copy, Debug)]
enum Body {
    Function(usize),
    Loop(StmtAt),
}

/// Puts what follows an `if` that returns, or continues its loop, into its `else`, without the jump.
pub fn guards(case: &Case) -> Candidates<'_> {
    let mut edits: Vec<(Body, Vec<Stmt>)> = Vec::new();
    for (id, function) in
        case.program.functions.iter().enumerate().rev().filter(|(_, function)| function.result.is_none())
    {
        let bodies = without_guards(&function.body, &Stmt::Return(None));
        edits.extend(bodies.into_iter().map(|body| (Body::Function(id), body)));
    }
    for (place, stmt) in stmts(&case.program) {
        if let Stmt::Loop(l) = stmt {
            let bodies = without_guards(&l.body, &Stmt::Continue);
            edits.extend(bodies.into_iter().map(|body| (Body::Loop(place), body)));
        }
    }
    each(case, edits, |case, (which, body)| match which {
        Body::Function(id) => case.program.functions[id].body = body,
        Body::Loop(place) => edit_stmt(&mut case.program, place, |stmt| {
            if let Stmt::Loop(l) = stmt {
                l.body = body;
            }
        }),
    })
}

/// The body without each of its guards: an `if` that ends with the jump, and has no `else`.
fn without_guards(body: &[Stmt], jump: &Stmt) -> Vec<Vec<Stmt>> {
    let mut bodies = Vec::new();
    for (i, stmt) in body.iter().enumerate() {
        let Stmt::If { cond, then, otherwise, .. } = stmt else { continue };
        let rest = &body[i + 1..];
        if !otherwise.is_empty() || then.last() != Some(jump) || rest.is_empty() {
            continue;
        }
        let then = &then[..then.len() - 1];
        let guarded = if then.is_empty() {
            Stmt::If {
                cond: Expr::unary(UnaryOp::Not, cond.clone()),
                then: rest.to_vec(),
                otherwise: Vec::new(),
                control: Default::default(),
            }
        } else {
            Stmt::If { cond: cond.clone(), then: then.to_vec(), otherwise: rest.to_vec(), control: Default::default() }
        };
        bodies.push([&body[..i], &[guarded]].concat());
    }
    bodies
}
