//! Functions: delete, empty and inline them; take parameters and results away.

use tangle_program::case::Case;
use tangle_program::tree::{
    Arg, Direction, Expr, Function, FunctionId, Local, Param, Program, Stmt, VarId, walk_block,
};

use super::candidates::{Candidates, each, zero};
use super::variables::{drop_functions, drop_unused};
use crate::access::{each_block_mut, each_expr_mut, each_stmt_mut, rename_vars};
use crate::size::is_closed;

/// What to do with a whole function.
#[derive(Clone, Copy, Debug)]
enum Whole {
    /// Delete it and all its calls.
    Delete,
    /// Leave nothing in it but a return.
    Empty,
    /// Put its body in the place of its calls.
    Inline,
}

/// Deletes, empties or inlines a function; `main` stays.
pub fn whole(case: &Case) -> Candidates<'_> {
    let functions = case.program.functions.len().saturating_sub(1);
    let ids = 0..functions;
    let edits =
        [Whole::Delete, Whole::Inline, Whole::Empty].into_iter().flat_map(|what| ids.clone().map(move |id| (what, id)));
    let edits = edits.filter(|(what, id)| !matches!(what, Whole::Inline) || ends_once(&case.program.functions[*id]));
    each(case, edits.collect(), |case, (what, id)| match what {
        Whole::Delete => delete(&mut case.program, id),
        Whole::Empty => empty(&mut case.program.functions[id]),
        Whole::Inline => inline(case, id),
    })
}

fn is_call_of(stmt: &Stmt, id: usize) -> bool {
    matches!(stmt, Stmt::Call { function, .. } if *function as usize == id)
}

fn delete(program: &mut Program, id: usize) {
    each_block_mut(program, &mut |_, block| block.retain(|stmt| !is_call_of(stmt, id)));
    let keep: Vec<bool> = (0..program.functions.len()).map(|i| i != id).collect();
    drop_functions(program, &keep);
    drop_unused(program);
}

fn empty(function: &mut Function) {
    function.body.clear();
    function.locals.clear();
    if let Some(ty) = function.result {
        function.body.push(Stmt::Return(Some(zero(ty))));
    }
}

/// True if the only return is the last statement, or there is none.
fn ends_once(function: &Function) -> bool {
    let mut returns = 0;
    walk_block(&function.body, &mut |stmt| returns += usize::from(matches!(stmt, Stmt::Return(_))));
    returns == usize::from(matches!(function.body.last(), Some(Stmt::Return(_))))
}

/// Puts the body in the place of every call. Each call gets locals of its own; those that start at zero at every call are set
/// to zero if the call is not the only one.
fn inline(case: &mut Case, id: usize) {
    let callee = case.program.functions[id].clone();
    let functions = case.program.functions.len();
    let mut calls = 0;
    let mut sites = 0;
    for caller in id + 1..functions {
        let function = &mut case.program.functions[caller];
        let (params, locals) = (function.params.len(), &mut function.locals);
        let mut body = std::mem::take(&mut function.body);
        for_each_block(&mut body, &mut |block| {
            let mut at = 0;
            while at < block.len() {
                let Stmt::Call { function, args, dest } = &block[at] else {
                    at += 1;
                    continue;
                };
                if *function as usize != id {
                    at += 1;
                    continue;
                }
                let part = body_for_call(&callee, args, *dest, params, locals, calls);
                calls += 1;
                let len = part.len();
                block.splice(at..=at, part);
                at += len;
            }
        });
        case.program.functions[caller].body = body;
    }
    let keep: Vec<bool> = (0..functions).map(|i| i != id).collect();
    drop_functions(&mut case.program, &keep);
    if calls > 1 {
        // The sites of the copies must differ.
        each_stmt_mut(&mut case.program, &mut |_, stmt| {
            if let Stmt::Log { site, .. } = stmt {
                sites += 1;
                *site = sites;
            }
        });
    }
    drop_unused(&mut case.program);
}

fn for_each_block(block: &mut Vec<Stmt>, visit: &mut dyn FnMut(&mut Vec<Stmt>)) {
    block.iter_mut().flat_map(Stmt::nested_blocks_mut).for_each(|inner| for_each_block(inner, visit));
    visit(block);
}

/// The body of a function for one of its calls, its variables being new locals of the caller.
fn body_for_call(
    callee: &Function,
    args: &[Arg],
    dest: Option<VarId>,
    params: usize,
    locals: &mut Vec<Local>,
    calls: usize,
) -> Vec<Stmt> {
    let first = (params + locals.len()) as VarId;
    let mut copy = callee.clone();
    let own = callee.params.iter().map(|param| (&param.name, param.ty));
    let all = own.chain(callee.locals.iter().map(|local| (&local.name, local.ty)));
    locals.extend(all.map(|(name, ty)| Local::new(format!("{name}_{}{calls}", callee.name), ty)));
    rename_vars(&mut copy, &|var| first + var);
    let mut body = Vec::new();
    for (var, (param, arg)) in (first..).zip(callee.params.iter().zip(args)) {
        match (param.direction, arg) {
            (Direction::In, Arg::In(value)) => body.push(Stmt::Assign { var, value: value.clone() }),
            (Direction::Inout, Arg::Out(from)) => body.push(Stmt::Assign { var, value: Expr::Var(*from) }),
            _ => {}
        }
    }
    let result = match copy.body.last() {
        Some(Stmt::Return(_)) => copy.body.pop(),
        _ => None,
    };
    body.extend(copy.body);
    if let (Some(var), Some(Stmt::Return(Some(value)))) = (dest, result) {
        body.push(Stmt::Assign { var, value });
    }
    for (var, arg) in (first..).zip(args) {
        if let Arg::Out(to) = arg {
            body.push(Stmt::Assign { var: *to, value: Expr::Var(var) });
        }
    }
    body
}

/// What to take from a signature.
#[derive(Clone, Copy, Debug)]
enum Part {
    Result,
    /// The parameter becomes a local, which is zero, or has the argument's value if that is the same at all calls.
    Param(usize),
    /// An out or inout parameter only takes its value in.
    Direction(usize),
}

/// Takes results and parameters away.
pub fn signatures(case: &Case) -> Candidates<'_> {
    let mut edits = Vec::new();
    let last = case.program.functions.len().saturating_sub(1);
    for (id, function) in case.program.functions[..last].iter().enumerate() {
        edits.extend(function.result.map(|_| (id, Part::Result)));
        edits.extend((0..function.params.len()).map(|param| (id, Part::Param(param))));
        let outs = function.params.iter().enumerate().filter(|(_, param)| param.direction != Direction::In);
        edits.extend(outs.map(|(param, _)| (id, Part::Direction(param))));
    }
    each(case, edits, |case, (id, part)| match part {
        Part::Result => without_result(&mut case.program, id),
        Part::Param(param) => without_param(&mut case.program, id, param),
        Part::Direction(param) => only_in(&mut case.program, id, param),
    })
}

fn without_result(program: &mut Program, id: usize) {
    program.functions[id].result = None;
    each_stmt_mut(program, &mut |function, stmt| match stmt {
        Stmt::Return(value) if function as usize == id => *value = None,
        Stmt::Call { function, dest, .. } if *function as usize == id => *dest = None,
        _ => {}
    });
    let body = &mut program.functions[id].body;
    if matches!(body.last(), Some(Stmt::Return(None))) {
        body.pop();
    }
}

fn without_param(program: &mut Program, id: usize, param: usize) {
    let mut values = Vec::new();
    each_stmt_mut(program, &mut |_, stmt| {
        if let Stmt::Call { function, args, .. } = stmt
            && *function as usize == id
            && param < args.len()
        {
            values.push(args.remove(param));
        }
    });
    let function = &mut program.functions[id];
    let Param { name, ty, .. } = function.params.remove(param);
    let count = function.var_count() as VarId;
    function.locals.push(Local::new(name, ty));
    let param = param as VarId;
    // The others move down by one; the new local is the last.
    rename_vars(function, &|var| match var {
        _ if var == param => count,
        _ if var > param => var - 1,
        _ => var,
    });
    let first = values.first().cloned();
    if let Some(Arg::In(value)) = first.filter(|first| values.iter().all(|value| value == first))
        && is_closed(&value)
    {
        replace_var(program, id, count, &value);
    }
}

/// Puts a value in the place of a local that is only read, or assigns it at the beginning.
fn replace_var(program: &mut Program, id: usize, var: VarId, value: &Expr) {
    let mut written = false;
    walk_block(&program.functions[id].body, &mut |stmt| written |= stmt.written().any(|other| other == var));
    if written {
        program.functions[id].body.insert(0, Stmt::Assign { var, value: value.clone() });
        return;
    }
    each_expr_mut(program, &mut |function: FunctionId, expr| {
        if function as usize == id && *expr == Expr::Var(var) {
            *expr = value.clone();
        }
    });
    drop_unused(program);
}

fn only_in(program: &mut Program, id: usize, param: usize) {
    program.functions[id].params[param].direction = Direction::In;
    each_stmt_mut(program, &mut |_, stmt| {
        if let Stmt::Call { function, args, .. } = stmt
            && let (true, Some(Arg::Out(var))) = (*function as usize == id, args.get(param))
        {
            args[param] = Arg::In(Expr::Var(*var));
        }
    });
}
