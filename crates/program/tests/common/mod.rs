//! Words to write small programs with.
#![allow(dead_code, reason = "every test uses some of them")]

pub mod tour;

use std::path::Path;

use tangle_analysis::validate::validate;
use tangle_program::case::{Case, Data, EntryPoint, FORMAT, Origin, SpirvVersion, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Arm, Block, Builtin, Expr, Function, Label, Loop, LoopKind, Program, Stmt, Test, VarId};
use tangle_program::types::Type;

/// Checks that the folder of the corpus holds these cases and nothing else; writes them first if the variable is set.
pub fn check_corpus(folder: &str, variable: &str, cases: Vec<(&str, Case)>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
    let write = std::env::var_os(variable).is_some();
    for (name, case) in &cases {
        assert_eq!(validate(case), Ok(()), "{name}");
        let (path, text) = (folder.join(format!("{name}.json")), case.to_json());
        if write {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let saved = std::fs::read_to_string(&path).unwrap();
        assert_eq!(saved, text, "{name} in the corpus is not what is built here");
        assert_eq!(Case::from_json(&saved).as_ref(), Ok(case), "{name}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), cases.len(), "{}", folder.display());
}

pub fn case(about: &str, functions: Vec<Function>) -> Case {
    Case {
        format: FORMAT,
        about: about.to_owned(),
        origin: Origin::default(),
        tier: Tier::Maximal,
        entry_point: EntryPoint::compute([8, 1, 1], [1, 1, 1], SpirvVersion::V1_3),
        variant: tangle_program::variant::Variant::default(),
        data: Data::default(),
        program: Program { shared: Vec::new(), functions },
    }
}

/// A function without parameters or result, whose locals are declared while its body is built.
pub fn function(name: &str, body: impl FnOnce(&mut Function) -> Block) -> Function {
    let mut function =
        Function { name: name.to_owned(), params: Vec::new(), result: None, locals: Vec::new(), body: Vec::new() };
    function.body = body(&mut function);
    function
}

pub fn main_of(body: impl FnOnce(&mut Function) -> Block) -> Vec<Function> {
    vec![function("main", body)]
}

pub fn lane() -> Expr {
    Expr::Builtin(Builtin::Lane)
}

pub fn uint(value: u32) -> Expr {
    Expr::Uint(value)
}

pub fn binary(lhs: Expr, op: BinaryOp, rhs: Expr) -> Expr {
    Expr::binary(op, lhs, rhs)
}

pub fn lane_is(op: BinaryOp, value: u32) -> Expr {
    binary(lane(), op, uint(value))
}

/// `(lane & mask) == value`
pub fn lane_bits(mask: u32, value: u32) -> Expr {
    binary(binary(lane(), BinaryOp::BitAnd, uint(mask)), BinaryOp::Eq, uint(value))
}

pub fn ballot(predicate: Expr) -> Expr {
    Expr::subgroup(SubgroupOp::Ballot, [predicate])
}

pub fn assign(var: VarId, value: Expr) -> Stmt {
    Stmt::Assign { var, value }
}

pub fn log(site: u32, var: VarId) -> Stmt {
    Stmt::Log { site, values: vec![Expr::Var(var)] }
}

/// The variable that takes the ballots of a function.
pub fn mask_of(function: &mut Function) -> VarId {
    function.add_local("mask", Type::UINT)
}

/// `mask = subgroupBallot(true).x; LOG1(site, mask);`
pub fn point(site: u32, mask: VarId) -> [Stmt; 2] {
    [assign(mask, Expr::Component(Box::new(ballot(Expr::Bool(true))), 0)), log(site, mask)]
}

pub fn branch(cond: Expr, then: impl Into<Block>, otherwise: impl Into<Block>) -> Stmt {
    Stmt::If { cond, then: then.into(), otherwise: otherwise.into(), control: Default::default() }
}

pub fn repeat(kind: LoopKind, counter: VarId, bound: Expr, test: Option<Test>, body: impl Into<Block>) -> Stmt {
    Stmt::Loop(Box::new(Loop { kind, counter, bound, test, body: body.into(), control: Default::default() }))
}

/// `for (counter = 0; counter < bound; counter++, update) { body }`
pub fn counted(counter: VarId, bound: Expr, update: impl Into<Block>, body: impl Into<Block>) -> Stmt {
    repeat(LoopKind::For { init: uint(0), step: 1, update: update.into() }, counter, bound, None, body)
}

pub fn arm(label: Label, body: impl Into<Block>) -> Arm {
    Arm { labels: vec![label], body: body.into() }
}

pub fn join(parts: impl IntoIterator<Item = Block>) -> Block {
    parts.into_iter().flatten().collect()
}
