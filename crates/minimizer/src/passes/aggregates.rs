//! Smaller aggregates: one element or member instead of all, structs without a member.

use std::collections::BTreeSet;

use tangle_program::case::Case;
use tangle_program::needs::declared_types;
use tangle_program::tree::{Expr, Function, Stmt};
use tangle_program::types::{Kind, Type};

use super::candidates::{Candidates, each, zero};
use crate::access::{each_expr_mut, each_stmt_mut};

/// What becomes of the values of an aggregate type.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// One part of it, whose number says which. Of parts that are alike it is whichever is indexed.
    Only(u32),
    /// The struct without a member.
    Without(u32),
}

/// What becomes of an index into a value of the type.
enum Part {
    /// It has another number.
    Number(u32),
    /// The value is what it picked.
    Whole,
    /// There is no such part any more.
    Gone,
}

impl Change {
    fn new_type(self, ty: Type) -> Option<Type> {
        match self {
            Change::Only(part) => ty.part(Some(part)),
            Change::Without(member) => {
                let rest = (0..).zip(ty.parts()).filter(|(number, _)| *number != member);
                Type::structure(&rest.map(|(_, part)| part).collect::<Vec<Type>>())
            }
        }
    }

    fn index(self, ty: Type, index: &Expr) -> Part {
        match (self, index.literal()) {
            (Change::Only(_), _) if ty.indexed().is_some() => Part::Whole,
            (Change::Only(part), Some(number)) if part == number => Part::Whole,
            (Change::Without(member), Some(number)) if number < member => Part::Number(number),
            (Change::Without(member), Some(number)) if number > member => Part::Number(number - 1),
            _ => Part::Gone,
        }
    }
}

/// Makes one element or member of every value of an aggregate type, or takes a member away; components of vectors by an index become first
/// ones.
pub fn elements(case: &Case) -> Candidates<'_> {
    let declared = case.program.functions.iter().flat_map(declared_types);
    let aggregates: BTreeSet<Type> = declared.flat_map(within).collect();
    let edits = aggregates.into_iter().flat_map(|ty| changes(ty).into_iter().map(move |change| Some((ty, change))));
    let edits: Vec<Option<(Type, Change)>> = edits.chain([None]).collect();
    each(case, edits, |case, edit| match edit {
        Some((ty, change)) => apply(case, ty, change),
        None => each_expr_mut(&mut case.program, &mut |_, expr| {
            if let Expr::Element(x, _) = expr {
                *expr = Expr::Component(x.clone(), 0);
            }
        }),
    })
}

/// The aggregate types that a type is made of, itself among them.
fn within(ty: Type) -> Vec<Type> {
    let inner = if ty.is_nested() { ty.parts().flat_map(within).collect() } else { Vec::new() };
    inner.into_iter().chain((!ty.is_single()).then_some(ty)).collect()
}

fn changes(ty: Type) -> Vec<Change> {
    let numbers = 0..u32::from(ty.elements());
    if ty.indexed().is_some() {
        return vec![Change::Only(0)];
    }
    let loses = ty.kind() == Kind::Struct && ty.elements() > 2;
    numbers.clone().map(Change::Only).chain(numbers.filter(|_| loses).map(Change::Without)).collect()
}

fn apply(case: &mut Case, ty: Type, change: Change) {
    let Some(new) = change.new_type(ty) else { return };
    let before = case.program.functions.clone();
    each_stmt_mut(&mut case.program, &mut |id, stmt| set_element(stmt, &before[id as usize], ty, change));
    each_stmt_mut(&mut case.program, &mut |id, stmt| {
        let function = &before[id as usize];
        stmt.direct_exprs_mut().into_iter().for_each(|expr| expression(expr, function, (ty, new), change));
    });
    for function in &mut case.program.functions {
        let params = function.params.iter_mut().map(|param| &mut param.ty);
        let locals = function.locals.iter_mut().map(|local| &mut local.ty);
        params.chain(locals).chain(&mut function.result).for_each(|of| *of = replaced(*of, ty, new));
    }
}

/// What becomes of an expression, parents first: the type of what an index picks from is that of before.
fn expression(expr: &mut Expr, function: &Function, (ty, new): (Type, Type), change: Change) {
    let picked = match expr {
        Expr::Element(x, index) if x.ty(function) == Some(ty) => Some(change.index(ty, index)),
        _ => None,
    };
    let before = expr.ty(function);
    expr.operands_mut().into_iter().for_each(|operand| expression(operand, function, (ty, new), change));
    match (picked, &mut *expr, change) {
        (Some(Part::Number(number)), Expr::Element(_, index), _) => **index = Expr::Uint(number),
        (Some(Part::Whole), Expr::Element(x, _), _) => *expr = Expr::clone(x),
        (Some(_), ..) => *expr = before.map_or(Expr::Uint(0), |before| zero(replaced(before, ty, new))),
        (None, Expr::Vector(of, args), Change::Only(part)) if *of == ty && (part as usize) < args.len() => {
            *expr = args.swap_remove(part as usize);
        }
        (None, Expr::Vector(of, args), Change::Without(member)) if *of == ty && (member as usize) < args.len() => {
            args.remove(member as usize);
            *of = new;
        }
        (None, Expr::Vector(of, _), _) => *of = replaced(*of, ty, new),
        (None, ..) => {}
    }
}

/// A type with another one for one that it is made of. What does not exist then stays, and the case is not valid.
fn replaced(of: Type, ty: Type, new: Type) -> Type {
    if of == ty { new } else { of.with_parts(|part| Some(replaced(part, ty, new))).unwrap_or(of) }
}

/// An index of what is written to a value of the type; without any, all of the variable is written. What is gone is not written.
fn set_element(stmt: &mut Stmt, function: &Function, ty: Type, change: Change) {
    let Stmt::SetElement { var, index, inner, value } = stmt else { return };
    let mut of = function.var_type(*var);
    let mut indices = Vec::with_capacity(1 + inner.len());
    for index in std::iter::once(&*index).chain(&*inner) {
        let part = of.and_then(|of| of.part(index.literal()));
        match (of == Some(ty)).then(|| change.index(ty, index)) {
            None => indices.push(index.clone()),
            Some(Part::Number(number)) => indices.push(Expr::Uint(number)),
            Some(Part::Whole) => {}
            Some(Part::Gone) => {
                *stmt = Stmt::Assign { var: *var, value: Expr::Var(*var) };
                return;
            }
        }
        of = part;
    }
    let mut indices = indices.into_iter();
    *stmt = match indices.next() {
        None => Stmt::Assign { var: *var, value: value.clone() },
        Some(index) => Stmt::SetElement { var: *var, index, inner: indices.collect(), value: value.clone() },
    };
}
