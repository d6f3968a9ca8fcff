//! Ways into the tree: the parts of a program by number, for looking and for changing.
//!
//! Blocks, statements and expressions are numbered in one order, outer ones first, `main` before the functions that it calls. A pass
//! looks at the numbered parts of a case, decides on an edit, and does it to the part of the same number in a copy.

use tangle_program::tree::{Block, Expr, Function, FunctionId, Program, Stmt, VarId};

/// The functions, `main` first.
fn in_order(program: &Program) -> impl Iterator<Item = (FunctionId, &Function)> {
    program.functions.iter().enumerate().rev().map(|(id, function)| (id as FunctionId, function))
}

/// Every block with the function it stands in. A block's place in this list is its number.
pub fn blocks(program: &Program) -> Vec<(FunctionId, &Block)> {
    fn collect<'a>(id: FunctionId, block: &'a Block, all: &mut Vec<(FunctionId, &'a Block)>) {
        all.push((id, block));
        for stmt in block {
            stmt.nested_blocks().for_each(|inner| collect(id, inner, all));
        }
    }
    let mut all = Vec::new();
    in_order(program).for_each(|(id, function)| collect(id, &function.body, &mut all));
    all
}

/// Changes the block of this number.
pub fn edit_block(program: &mut Program, number: usize, edit: impl FnOnce(&mut Block)) {
    fn find<'a>(block: &'a mut Block, left: &mut usize) -> Option<&'a mut Block> {
        match left.checked_sub(1) {
            None => return Some(block),
            Some(fewer) => *left = fewer,
        }
        block.iter_mut().flat_map(Stmt::nested_blocks_mut).find_map(|inner| find(inner, left))
    }
    let mut left = number;
    if let Some(block) = program.functions.iter_mut().rev().find_map(|function| find(&mut function.body, &mut left)) {
        edit(block);
    }
}

/// Where a statement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StmtAt {
    /// The function that it stands in, by number.
    pub function: FunctionId,
    /// The number of its block.
    pub block: usize,
    /// Its index in the block.
    pub index: usize,
}

/// Every statement with its place, block by block.
pub fn stmts(program: &Program) -> Vec<(StmtAt, &Stmt)> {
    let mut all = Vec::new();
    for (number, (function, block)) in blocks(program).into_iter().enumerate() {
        all.extend(block.iter().enumerate().map(|(index, stmt)| (StmtAt { function, block: number, index }, stmt)));
    }
    all
}

/// Changes the statement at this place.
pub fn edit_stmt(program: &mut Program, place: StmtAt, edit: impl FnOnce(&mut Stmt)) {
    edit_block(program, place.block, |block| {
        if let Some(stmt) = block.get_mut(place.index) {
            edit(stmt);
        }
    });
}

/// Puts statements in the place of another. What would stand behind a jump is dropped.
pub fn replace_stmt(program: &mut Program, place: StmtAt, with: Vec<Stmt>) {
    edit_block(program, place.block, |block| {
        if place.index < block.len() {
            let rest = if with.last().is_some_and(Stmt::is_jump) { block.len() } else { place.index + 1 };
            block.splice(place.index..rest, with);
        }
    });
}

/// Calls `visit` on every statement, outer ones first, to change it; what stands in it is visited after the change.
pub fn each_stmt_mut(program: &mut Program, visit: &mut dyn FnMut(FunctionId, &mut Stmt)) {
    for (id, function) in (0..).zip(&mut program.functions) {
        each_stmt_of_block_mut(&mut function.body, &mut |stmt| visit(id, stmt));
    }
}

/// Calls `visit` on every statement of a block, outer ones first, to change it.
pub fn each_stmt_of_block_mut(block: &mut Block, visit: &mut dyn FnMut(&mut Stmt)) {
    for stmt in block {
        visit(stmt);
        stmt.nested_blocks_mut().into_iter().for_each(|inner| each_stmt_of_block_mut(inner, visit));
    }
}

/// Calls `visit` on every block, inner ones first, to change it.
pub fn each_block_mut(program: &mut Program, visit: &mut dyn FnMut(FunctionId, &mut Block)) {
    fn walk(id: FunctionId, block: &mut Block, visit: &mut dyn FnMut(FunctionId, &mut Block)) {
        block.iter_mut().flat_map(Stmt::nested_blocks_mut).for_each(|inner| walk(id, inner, visit));
        visit(id, block);
    }
    for (id, function) in (0..).zip(&mut program.functions) {
        walk(id, &mut function.body, visit);
    }
}

/// Calls `visit` on an expression and everything below it, to change it; operands are visited before what they belong to.
pub fn walk_expr_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    expr.operands_mut().into_iter().for_each(|operand| walk_expr_mut(operand, visit));
    visit(expr);
}

/// Calls `visit` on every expression of the program, to change it; operands before what they belong to.
pub fn each_expr_mut(program: &mut Program, visit: &mut dyn FnMut(FunctionId, &mut Expr)) {
    each_stmt_mut(program, &mut |id, stmt| {
        for expr in stmt.direct_exprs_mut() {
            walk_expr_mut(expr, &mut |expr| visit(id, expr));
        }
    });
}

/// An expression with everything around it.
#[derive(Clone, Copy, Debug)]
pub struct ExprAt<'a> {
    /// Where its statement is.
    pub place: StmtAt,
    /// That statement.
    pub stmt: &'a Stmt,
    /// Which of the statement's direct expressions it is or is a part of.
    pub root: usize,
    /// Its number in that expression, which itself is number 0; parents before operands.
    pub number: usize,
    /// The expression itself.
    pub expr: &'a Expr,
}

/// Every expression of the program, statement by statement, parents before operands.
pub fn exprs(program: &Program) -> Vec<ExprAt<'_>> {
    let mut all = Vec::new();
    for (place, stmt) in stmts(program) {
        for (root, direct) in stmt.direct_exprs().enumerate() {
            let mut number = 0;
            direct.walk(&mut |expr| {
                all.push(ExprAt { place, stmt, root, number, expr });
                number += 1;
            });
        }
    }
    all
}

/// Puts another expression in the place of one.
pub fn replace_expr(program: &mut Program, at: ExprAt<'_>, with: Expr) {
    fn find<'a>(expr: &'a mut Expr, left: &mut usize) -> Option<&'a mut Expr> {
        match left.checked_sub(1) {
            None => return Some(expr),
            Some(fewer) => *left = fewer,
        }
        expr.operands_mut().into_iter().find_map(|operand| find(operand, left))
    }
    edit_stmt(program, at.place, |stmt| {
        let mut left = at.number;
        let root = stmt.direct_exprs_mut().into_iter().nth(at.root);
        if let Some(expr) = root.and_then(|root| find(root, &mut left)) {
            *expr = with;
        }
    });
}

/// The variables that an expression reads.
pub fn reads(expr: &Expr) -> Vec<VarId> {
    let mut vars = Vec::new();
    expr.walk(&mut |expr| {
        if let Expr::Var(var) = expr {
            vars.push(*var);
        }
    });
    vars
}

/// Changes every mention of a variable in a function, counters and what calls write included.
pub fn rename_vars(function: &mut Function, new: &dyn Fn(VarId) -> VarId) {
    fn walk(block: &mut Block, new: &dyn Fn(VarId) -> VarId) {
        for stmt in block {
            stmt.written_mut().into_iter().for_each(|var| *var = new(*var));
            if let Stmt::Loop(l) = stmt {
                l.counter = new(l.counter);
            }
            for expr in stmt.direct_exprs_mut() {
                walk_expr_mut(expr, &mut |expr| {
                    if let Expr::Var(var) = expr {
                        *var = new(*var);
                    }
                });
            }
            stmt.nested_blocks_mut().into_iter().for_each(|inner| walk(inner, new));
        }
    }
    walk(&mut function.body, new);
}

/// The variables that are mentioned anywhere in a function, by id.
pub fn mentioned(function: &Function) -> Vec<bool> {
    let mut found = vec![false; function.var_count()];
    let mut mark = |var: VarId| {
        if let Some(found) = found.get_mut(var as usize) {
            *found = true;
        }
    };
    tangle_program::tree::walk_block(&function.body, &mut |stmt| {
        stmt.written().for_each(&mut mark);
        if let Stmt::Loop(l) = stmt {
            mark(l.counter);
        }
        stmt.direct_exprs().flat_map(reads).for_each(&mut mark);
    });
    found
}
