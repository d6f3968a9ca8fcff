//! What the candidates of passes are made with.

use tangle_program::case::Case;
use tangle_program::tree::{Expr, Stmt};
use tangle_program::types::{Scalar, Type};

use crate::size::Size;

/// The candidates of a pass for one case.
pub type Candidates<'a> = Box<dyn Iterator<Item = Case> + 'a>;

/// One candidate for each edit that makes the case smaller.
pub(super) fn each<'a, E: 'a>(case: &'a Case, edits: Vec<E>, apply: impl Fn(&mut Case, E) + 'a) -> Candidates<'a> {
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
pub(super) fn smaller<'a>(case: &'a Case, candidates: impl Iterator<Item = Case> + 'a) -> Candidates<'a> {
    let size = Size::of(case);
    Box::new(candidates.filter(move |candidate| Size::of(candidate) < size))
}

/// The pieces in which `len` things are removed: halves, quarters, and so on down to single ones; `(start, length)`.
pub(super) fn chunks(len: usize) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut size = len.div_ceil(2);
    while size > 0 && len > 0 {
        all.extend((0..len).step_by(size).map(|start| (start, size.min(len - start))));
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    all
}

/// The zero of a type.
pub(super) fn zero(ty: Type) -> Expr {
    Expr::composite(ty, &mut |scalar| match scalar {
        Scalar::Bool => Expr::Bool(false),
        scalar if scalar.is_float() => Expr::Float(scalar, 0),
        scalar => integer(scalar, 0),
    })
}

/// A number of an integer type, at most 127.
pub(crate) fn integer(scalar: Scalar, n: u8) -> Expr {
    match scalar {
        Scalar::Int => Expr::Int(n.into()),
        Scalar::Uint => Expr::Uint(n.into()),
        scalar => Expr::Cast(scalar, Box::new(Expr::Uint(n.into()))),
    }
}

/// A value of a type with one scalar in all components.
pub(crate) fn splat(ty: Type, scalar: Expr) -> Expr {
    Expr::composite(ty, &mut |_| scalar.clone())
}

/// A jump out of a construct that is no longer there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Loop,
    Switch,
}

/// Takes the jumps out of the construct around a block away, with what would stand behind them: nothing does.
pub(super) fn without_jumps(block: &[Stmt], target: Target) -> Vec<Stmt> {
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
