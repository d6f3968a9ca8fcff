//! What stands together in programs: operations and operators with their types, control constructs with those in them and behind them.
//!
//! A pair that hardly ever comes is not tested. Counted are programs, not places.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tangle_analysis::context::operations;
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::subgroup::{Gives, Param, TABLE};
use tangle_program::tree::{Block, Expr, Function, LoopKind, Program, Stmt, walk_block};
use tangle_program::types::{Scalar, Type};

/// How two things stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A subgroup operation, and the type of its generic operand; [`UNTYPED`] if it has none.
    Operation,
    /// An operator or a built-in function, and the type of its first operand.
    Operator,
    /// A control construct, and one directly in it.
    Nested,
    /// A control construct, and the next one in the same list of statements.
    Sequence,
}

impl Kind {
    /// Every kind, in the order of declaration.
    pub const ALL: [Kind; 4] = [Kind::Operation, Kind::Operator, Kind::Nested, Kind::Sequence];
}

/// In the place of the type of an operation that has no generic operand.
pub const UNTYPED: &str = "-";

/// Two things that stand together, by their names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Pair {
    /// How they stand together.
    pub kind: Kind,
    /// The operation, operator or first construct.
    pub first: String,
    /// The type or second construct.
    pub second: String,
}

/// How many programs have each pair.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// How many programs were looked at.
    pub programs: u64,
    counts: BTreeMap<Pair, u64>,
}

/// The control constructs, as they are named here.
const CONSTRUCTS: [&str; 8] = ["if", "if-else", "switch", "for", "while", "do-while", "forever", "call"];

fn construct(stmt: &Stmt) -> Option<&'static str> {
    Some(match stmt {
        Stmt::If { otherwise, .. } => {
            if otherwise.is_empty() {
                "if"
            } else {
                "if-else"
            }
        }
        Stmt::Switch { .. } => "switch",
        Stmt::Loop(l) => match l.kind {
            LoopKind::For { .. } => "for",
            LoopKind::While => "while",
            LoopKind::DoWhile => "do-while",
            LoopKind::Forever | LoopKind::Endless => "forever",
        },
        Stmt::Call { .. } => "call",
        _ => return None,
    })
}

fn pair(kind: Kind, first: impl Into<String>, second: impl Into<String>) -> Pair {
    Pair { kind, first: first.into(), second: second.into() }
}

/// The name of an operator or a built-in function; `None` for another expression.
fn operator_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Unary(op, _) => Some(format!("{op:?}")),
        Expr::Binary(op, ..) => Some(format!("{op:?}")),
        Expr::Intrinsic(op, _) => Some(format!("{op:?}")),
        _ => None,
    }
}

/// The name of what an expression does; `None` if it has no operand.
pub(crate) fn doing(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Subgroup(call) => Some(call.op.info().category.name().to_owned()),
        Expr::Cast(..) => Some("Cast".to_owned()),
        Expr::Select(..) => Some("Select".to_owned()),
        _ => operator_name(expr),
    }
}

fn operator(expr: &Expr, function: &Function) -> Option<Pair> {
    let name = operator_name(expr)?;
    Some(pair(Kind::Operator, name, expr.operands().next()?.ty(function)?.to_string()))
}

fn of_block(block: &Block, found: &mut BTreeSet<Pair>) {
    let constructs: Vec<&str> = block.iter().filter_map(construct).collect();
    found.extend(constructs.windows(2).map(|both| pair(Kind::Sequence, both[0], both[1])));
    for stmt in block {
        if let Some(outer) = construct(stmt) {
            let inside = stmt.nested_blocks().flatten().filter_map(construct);
            found.extend(inside.map(|inner| pair(Kind::Nested, outer, inner)));
        }
        stmt.nested_blocks().for_each(|inner| of_block(inner, found));
    }
}

/// The pairs of a program.
pub(crate) fn of_program(program: &Program) -> BTreeSet<Pair> {
    let mut found = BTreeSet::new();
    for placed in operations(program) {
        found.insert(pair(Kind::Operation, placed.op.info().name, type_name(placed.ty)));
    }
    for function in &program.functions {
        of_block(&function.body, &mut found);
        walk_block(&function.body, &mut |stmt| {
            stmt.direct_exprs().for_each(|expr| expr.walk(&mut |part| found.extend(operator(part, function))));
        });
    }
    found
}

impl Pairs {
    /// Counts each pair that the program has, once.
    pub fn add(&mut self, program: &Program) {
        self.programs += 1;
        of_program(program).into_iter().for_each(|pair| *self.counts.entry(pair).or_default() += 1);
    }

    /// How many programs have the pair.
    pub fn count(&self, pair: &Pair) -> u64 {
        self.counts.get(pair).copied().unwrap_or(0)
    }

    /// The pairs that come in less than one of so many programs, of those that can be generated.
    pub fn rarer_than(&self, one_of: u64) -> Vec<(Pair, u64)> {
        let counted = possible().into_iter().map(|pair| (self.count(&pair), pair));
        counted.filter(|(count, _)| count * one_of < self.programs).map(|(count, pair)| (pair, count)).collect()
    }
}

fn type_name(ty: Option<Type>) -> String {
    ty.map_or_else(|| UNTYPED.into(), |ty| ty.to_string())
}

/// Every scalar type, and its vectors of two to four components.
fn types() -> impl Iterator<Item = Type> {
    Scalar::ALL.into_iter().flat_map(|scalar| (1..=4).map(move |width| Type::vector(scalar, width)))
}

/// Every pair that a program can have.
pub fn possible() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for info in TABLE.iter().filter(|info| info.gives != Gives::Nothing) {
        if info.params.contains(&Param::Value) {
            let fitting = types().filter(|ty| info.scalars.contains(&ty.scalar));
            pairs.extend(fitting.map(|ty| pair(Kind::Operation, info.name, ty.to_string())));
        } else {
            pairs.push(pair(Kind::Operation, info.name, UNTYPED));
        }
    }
    let mut operator = |name: String, takes: &dyn Fn(Type) -> bool| {
        pairs.extend(types().filter(|ty| takes(*ty)).map(|ty| pair(Kind::Operator, name.clone(), ty.to_string())));
    };
    let is_number = |ty: Type| ty.scalar != Scalar::Bool;
    for op in UnaryOp::ALL {
        operator(format!("{op:?}"), &|ty| match op {
            UnaryOp::Neg => is_number(ty),
            UnaryOp::BitNot => ty.scalar.is_integer(),
            UnaryOp::Not => !is_number(ty),
        });
    }
    for op in BinaryOp::ALL {
        operator(format!("{op:?}"), &|ty| match op {
            _ if op.is_logical() => ty == Type::BOOL,
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => is_number(ty),
            _ if op.is_comparison() => is_number(ty),
            _ => ty.scalar.is_integer(),
        });
    }
    for op in Intrinsic::ALL {
        operator(format!("{op:?}"), &|ty| op.info().result(ty).is_some());
    }
    for outer in CONSTRUCTS {
        for inner in CONSTRUCTS {
            pairs.push(pair(Kind::Sequence, outer, inner));
            if outer != "call" {
                pairs.push(pair(Kind::Nested, outer, inner));
            }
        }
    }
    pairs
}
