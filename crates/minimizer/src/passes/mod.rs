//! The reduction passes: ways to make a case smaller.
//!
//! A pass is a function from a case to candidates, made one at a time and ordered from the largest reduction to the smallest. It
//! knows nothing of what the others do, nor of what fails: the engine tries its candidates. All of them are smaller than the case; those
//! that are not valid are never tried.

pub(crate) mod attributes;
mod control;
mod data;
mod delete;
mod expressions;
mod functions;
mod launch;
mod log;
mod memory;
mod names;
pub(crate) mod slice;
mod types;
mod variables;
mod variant;

use tangle_program::case::Case;
use tangle_program::tree::{Expr, Stmt};
use tangle_program::types::{Scalar, Type};

use crate::size::Size;

/// The candidates of a pass for one case.
pub type Candidates<'a> = Box<dyn Iterator<Item = Case> + 'a>;

/// One way to make cases smaller.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name, for progress lines.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Its candidates.
    pub candidates: for<'a> fn(&'a Case) -> Candidates<'a>,
}

/// Every pass, in the order in which they run: what removes most comes first, what only makes reading easier last.
pub const TABLE: &[Pass] = &[
    Pass { name: "groups", about: "fewer workgroups", candidates: launch::groups },
    Pass { name: "variant", about: "less done to the module", candidates: variant::candidates },
    Pass { name: "slice", about: "keep some log sites, and only what leads to them", candidates: slice::candidates },
    Pass { name: "unused", about: "drop what nothing mentions", candidates: variables::unused },
    Pass { name: "delete", about: "delete runs of statements", candidates: delete::candidates },
    Pass { name: "earlier", about: "log what is computed or decided earlier", candidates: log::earlier },
    Pass { name: "functions", about: "delete, empty and inline functions", candidates: functions::whole },
    Pass { name: "unwrap", about: "put a part in the place of an if, switch or loop", candidates: control::unwrap },
    Pass { name: "forget", about: "delete all assignments to a variable", candidates: variables::forget },
    Pass { name: "attributes", about: "ask nothing of the compiler", candidates: attributes::candidates },
    Pass { name: "workgroup", about: "smaller workgroups", candidates: launch::workgroup },
    Pass { name: "log", about: "log fewer values", candidates: log::values },
    Pass { name: "guards", about: "make an else of what follows a return or continue", candidates: control::guards },
    Pass { name: "control", about: "drop parts of ifs, switches and loops", candidates: control::parts },
    Pass { name: "signatures", about: "drop parameters and results", candidates: functions::signatures },
    Pass { name: "inputs", about: "put one value in the place of an input everywhere", candidates: data::sources },
    Pass { name: "expressions", about: "put less in the place of an expression", candidates: expressions::replace },
    Pass { name: "substitute", about: "put a value in the place of a variable", candidates: variables::substitute },
    Pass { name: "words", about: "make uints of other integers, integers of floats", candidates: types::words },
    Pass { name: "narrow", about: "make scalars of vectors", candidates: types::narrow },
    Pass { name: "elements", about: "make single values of arrays, matrices and structs", candidates: types::elements },
    Pass { name: "memory", about: "forget what atomics return", candidates: memory::candidates },
    Pass { name: "merge", about: "make one of two variables", candidates: variables::merge },
    Pass { name: "resources", about: "halve arrays of descriptors", candidates: data::resources_halved },
    Pass { name: "data", about: "simplify the data", candidates: data::values },
    Pass { name: "defaults", about: "simplify what constants are in the module", candidates: data::defaults },
    Pass { name: "launch", about: "ask for less: sizes, flags, versions, tier", candidates: launch::demands },
    Pass { name: "numbers", about: "make numbers smaller", candidates: expressions::numbers },
    Pass { name: "names", about: "short names, sites from 1", candidates: names::candidates },
];

/// One candidate for each edit that makes the case smaller.
fn each<'a, E: 'a>(case: &'a Case, edits: Vec<E>, apply: impl Fn(&mut Case, E) + 'a) -> Candidates<'a> {
    smaller(
        case,
        edits.into_iter().map(move |edit| {
            let mut candidate = case.clone();
            apply(&mut candidate, edit);
            candidate
        }),
    )
}

/// Those that are smaller than the case.
fn smaller<'a>(case: &'a Case, candidates: impl Iterator<Item = Case> + 'a) -> Candidates<'a> {
    let size = Size::of(case);
    Box::new(candidates.filter(move |candidate| Size::of(candidate) < size))
}

/// The pieces in which `len` things are removed: halves, quarters, and so on down to single ones; `(start, length)`.
fn chunks(len: usize) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut size = len.div_ceil(2);
    while size > 0 && len > 0 {
        all.extend((0..len).step_by(size).map(|start| (start, size.min(len - start))));
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    all
}

/// The zero of a type.
fn zero(ty: Type) -> Expr {
    splat(
        ty,
        match ty.scalar {
            Scalar::Bool => Expr::Bool(false),
            Scalar::Int => Expr::Int(0),
            Scalar::Uint => Expr::Uint(0),
            scalar if scalar.is_float() => Expr::Float(scalar, 0),
            scalar => Expr::Cast(scalar, Box::new(Expr::Uint(0))),
        },
    )
}

/// A value of a type with one scalar in all components.
fn splat(ty: Type, scalar: Expr) -> Expr {
    match ty.indexed() {
        None => scalar,
        Some((element, count)) => Expr::Vector(ty, vec![splat(element, scalar); usize::from(count)]),
    }
}

/// A jump out of a construct that is no longer there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Loop,
    Switch,
}

/// Takes the jumps out of the construct around a block away, with what would stand behind them: nothing does.
fn without_jumps(block: &[Stmt], target: Target) -> Vec<Stmt> {
    fn strip(block: &mut Vec<Stmt>, target: Target, break_leaves: bool) {
        block.retain(|stmt| match stmt {
            Stmt::Break => !break_leaves,
            Stmt::Continue => target != Target::Loop,
            _ => true,
        });
        for stmt in block {
            match stmt {
                Stmt::Loop(_) => {}
                // A break in there leaves that switch, a continue the loop around both.
                Stmt::Switch { arms, .. } => arms.iter_mut().for_each(|arm| strip(&mut arm.body, target, false)),
                _ => stmt.nested_blocks_mut().into_iter().for_each(|block| strip(block, target, break_leaves)),
            }
        }
    }
    let mut block = block.to_vec();
    strip(&mut block, target, true);
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_from_halves_to_single_ones() {
        for (len, expected) in [
            (0, vec![]),
            (1, vec![(0, 1)]),
            (2, vec![(0, 1), (1, 1)]),
            (4, vec![(0, 2), (2, 2), (0, 1), (1, 1), (2, 1), (3, 1)]),
            (5, vec![(0, 3), (3, 2), (0, 2), (2, 2), (4, 1), (0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]),
        ] {
            assert_eq!(chunks(len), expected, "{len}");
        }
    }
}
