//! Short ways to say programs, and to read them.
#![allow(dead_code, reason = "each test uses some")]

use tangle_analysis::validate::validate;
use tangle_emit::glsl::glsl;
use tangle_minimizer::{Pass, TABLE};
use tangle_program::case::{Case, Data, EntryPoint, FORMAT, Origin, SpirvVersion, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Block, Builtin, Expr, Function, Local, Loop, LoopKind, Program, Stmt, VarId};
use tangle_program::types::Type;

/// A case with these functions, two inputs, a uniform word and a push-constant word, for one workgroup of eight.
pub fn case(functions: Vec<Function>) -> Case {
    Case {
        format: FORMAT,
        about: String::new(),
        origin: Origin::default(),
        tier: Tier::Maximal,
        entry_point: EntryPoint::compute([8, 1, 1], [1, 1, 1], SpirvVersion::V1_3),
        variant: tangle_program::variant::Variant::default(),
        data: Data { inputs: vec![(0..8).collect(), vec![5; 8]], uniforms: vec![7], push: vec![9], ..Data::default() },
        program: Program { shared: Vec::new(), functions },
    }
}

/// A `main` with locals `u0`, `u1` and so on of these types.
pub fn main(locals: &[Type], body: Block) -> Function {
    let local = |(i, ty): (usize, &Type)| Local::new(format!("u{i}"), *ty);
    let locals = locals.iter().enumerate().map(local).collect();
    Function { name: "main".into(), params: Vec::new(), result: None, locals, body }
}

pub fn log(site: u32) -> Stmt {
    logs(site, [])
}

pub fn logs(site: u32, values: impl Into<Vec<Expr>>) -> Stmt {
    Stmt::Log { site, values: values.into() }
}

pub fn assign(var: VarId, value: Expr) -> Stmt {
    Stmt::Assign { var, value }
}

pub fn if_else(cond: Expr, then: Block, otherwise: Block) -> Stmt {
    Stmt::If { cond, then, otherwise, control: Default::default() }
}

/// `for (counter = 0; counter < bound; counter++) { body }`
pub fn count(counter: VarId, bound: Expr, body: Block) -> Stmt {
    let kind = LoopKind::For { init: Expr::Uint(0), step: 1, update: Vec::new() };
    Stmt::Loop(Box::new(Loop { kind, counter, bound, test: None, body, control: Default::default() }))
}

pub fn lane() -> Expr {
    Expr::Builtin(Builtin::Lane)
}

pub fn var(id: VarId) -> Expr {
    Expr::Var(id)
}

pub fn uint(n: u32) -> Expr {
    Expr::Uint(n)
}

pub fn add(x: Expr, y: Expr) -> Expr {
    Expr::binary(BinaryOp::Add, x, y)
}

pub fn less(x: Expr, y: Expr) -> Expr {
    Expr::binary(BinaryOp::Lt, x, y)
}

pub fn sum(x: Expr) -> Expr {
    Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [x])
}

/// The pass of this name.
pub fn pass(name: &str) -> &'static Pass {
    TABLE.iter().find(|pass| pass.name == name).unwrap_or_else(|| panic!("there is no pass '{name}'"))
}

/// The valid candidates of a pass.
pub fn candidates(name: &str, case: &Case) -> Vec<Case> {
    assert_eq!(validate(case), Ok(()));
    (pass(name).candidates)(case).filter(|candidate| validate(candidate).is_ok()).collect()
}

/// The functions of the shader on one line, without what every shader begins with.
pub fn body(case: &Case) -> String {
    let text = glsl(case);
    let is_function = |line: &str| line.ends_with('{') && !line.starts_with(' ');
    let mut words = Vec::new();
    let mut in_prologue = false;
    for line in text.lines().skip_while(|line| !is_function(line)) {
        in_prologue |= line.starts_with("void main()");
        if line.is_empty() {
            in_prologue = false;
        } else if !in_prologue {
            words.push(line.trim());
        }
    }
    // The end of `main`.
    words.pop();
    words.join(" ")
}
