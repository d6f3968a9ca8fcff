//! What mutators look for in a case.

use std::collections::HashSet;

use tangle_minimizer::access::{StmtAt, stmts};
use tangle_program::case::{Case, Tier};
use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Block, Builtin, Expr, Function, FunctionId, Program, Stmt, VarId, walk_block};
use tangle_program::types::{Scalar, Type};

use crate::dice::Dice;

/// A name that nothing in the program has.
pub fn fresh_name(program: &Program, letter: &str) -> String {
    let in_functions = program.functions.iter().flat_map(|function| {
        let params = function.params.iter().map(|param| param.name.as_str());
        let locals = function.locals.iter().map(|local| local.name.as_str());
        params.chain(locals).chain([function.name.as_str()])
    });
    let taken: HashSet<&str> = in_functions.chain(program.shared.iter().map(|array| array.name.as_str())).collect();
    let mut names = (0..).map(|i| format!("{letter}{i}"));
    names.find(|name| !taken.contains(name.as_str())).expect("there is no end of numbers")
}

/// A new local of a function.
pub fn fresh_local(program: &mut Program, function: FunctionId, ty: Type) -> VarId {
    let name = fresh_name(program, "m");
    program.functions[function as usize].add_local(name, ty)
}

/// The place of some statement.
pub fn any_stmt(case: &Case, dice: &mut Dice) -> Option<StmtAt> {
    stmt_where(case, dice, |_| true)
}

/// The place of some statement of a kind.
pub fn stmt_where(case: &Case, dice: &mut Dice, wanted: impl Fn(&Stmt) -> bool) -> Option<StmtAt> {
    let found: Vec<StmtAt> =
        stmts(&case.program).into_iter().filter(|(_, stmt)| wanted(stmt)).map(|(place, _)| place).collect();
    dice.pick(&found).copied()
}

/// For every block, by its number: whether a loop is around it, and whether a loop or switch is.
pub fn around(program: &Program) -> Vec<(bool, bool)> {
    fn walk(block: &Block, at: (bool, bool), all: &mut Vec<(bool, bool)>) {
        all.push(at);
        for stmt in block {
            let inside = match stmt {
                Stmt::Loop(_) => (true, true),
                Stmt::Switch { .. } => (at.0, true),
                _ => at,
            };
            stmt.nested_blocks().for_each(|inner| walk(inner, inside, all));
        }
    }
    let mut all = Vec::new();
    program.functions.iter().rev().for_each(|function| walk(&function.body, (false, false), &mut all));
    all
}

/// The variables that count loops.
pub fn counters(function: &Function) -> HashSet<VarId> {
    let mut found = HashSet::new();
    walk_block(&function.body, &mut |stmt| {
        if let Stmt::Loop(l) = stmt {
            found.insert(l.counter);
        }
    });
    found
}

/// The variables of a type that anybody may write.
pub fn writable(function: &Function, ty: Type) -> Vec<VarId> {
    let counters = counters(function);
    let vars = 0..function.var_count() as VarId;
    vars.filter(|var| function.var_type(*var) == Some(ty) && !counters.contains(var)).collect()
}

/// A word that differs between lanes and is the same in every execution.
pub fn lane_word(case: &Case, dice: &mut Dice) -> Expr {
    let inputs = case.data.inputs.len();
    match dice.below(8) {
        0 | 1 if inputs > 0 => Expr::Input(dice.below(inputs) as u32),
        2 => Expr::Builtin(Builtin::LocalIndex),
        3 => Expr::Builtin(Builtin::LocalX),
        _ => Expr::Builtin(Builtin::Lane),
    }
}

/// A condition that divides the lanes.
pub fn lane_condition(case: &Case, dice: &mut Dice) -> Expr {
    let word = lane_word(case, dice);
    let bit = |word, bit| Expr::binary(BinaryOp::BitAnd, word, Expr::Uint(1u32 << bit));
    let small = Expr::Uint(dice.below(9) as u32);
    let condition = match dice.below(7) {
        0 => Expr::binary(BinaryOp::Lt, word, small),
        1 => Expr::binary(BinaryOp::Ge, word, small),
        2 => Expr::binary(BinaryOp::Ne, word, small),
        3 => Expr::binary(BinaryOp::Eq, word, small),
        // Who is elected is certain only where tangles are.
        4 if case.tier == Tier::Maximal => Expr::subgroup(SubgroupOp::Elect, []),
        _ => Expr::binary(BinaryOp::Eq, bit(word, dice.below(4)), Expr::Uint(0)),
    };
    if dice.percent(20) { Expr::unary(UnaryOp::Not, condition) } else { condition }
}

/// A value of a type that is the same for all lanes.
pub fn constant(ty: Type, dice: &mut Dice) -> Expr {
    let number = dice.one([0, 1, 2, 3, 7, 31, 0x8000_0000, u32::MAX]);
    let quarters = if ty.scalars().any(Scalar::is_float) { dice.one([0, 1, 2, 4, -4, 12, 100]) } else { 0 };
    Expr::composite(ty, &mut |scalar| match scalar {
        Scalar::Bool => Expr::Bool(number & 1 == 1),
        Scalar::Int => Expr::Int(number as i32),
        Scalar::Uint => Expr::Uint(number),
        float if float.is_float() => Expr::Float(float, quarters),
        other => Expr::Cast(other, Box::new(Expr::Uint(number))),
    })
}
