//! Log less, and log earlier.

use tangle_program::case::Case;
use tangle_program::tree::{Expr, SiteId, Stmt, walk_block};
use tangle_program::types::Scalar;

use super::candidates::{Candidates, chunks, each};
use super::slice::{self, site_of};
use super::types::component_of;
use crate::access::{each_block_mut, edit_stmt, replace_stmt, stmts};

/// Takes values out of log entries: halves, quarters, and so on down to single ones.
pub fn values(case: &Case) -> Candidates<'_> {
    let mut edits = Vec::new();
    for (place, stmt) in stmts(&case.program) {
        if let Stmt::Log { values, .. } = stmt {
            edits.extend(chunks(values.len()).into_iter().map(|(start, len)| (place, start, len)));
        }
    }
    edits.sort_by_key(|&(_, _, len)| std::cmp::Reverse(len));
    each(case, edits, |case, (place, start, len)| {
        edit_stmt(&mut case.program, place, |stmt| {
            if let Stmt::Log { values, .. } = stmt {
                values.drain(start..start + len);
            }
        });
    })
}

/// The most log sites for which every other place is tried.
const SITES: usize = 2;

/// Logs earlier: puts a log of what is computed or decided there in the place of a statement, and drops the rest but what leads to it. A
/// wrong path becomes a wrong value, and a wrong result is seen where it arises.
pub fn earlier(case: &Case) -> Candidates<'_> {
    let all = stmts(&case.program);
    let sites: Vec<SiteId> = all.iter().filter_map(|(_, stmt)| site_of(stmt)).collect();
    let mut edits = Vec::new();
    for (place, stmt) in &all {
        let function = &case.program.functions[place.function as usize];
        // A log inside, or the only ones there are.
        let sites = if sites.len() <= SITES { sites.clone() } else { first_inside(stmt).into_iter().collect() };
        for expr in stmt.direct_exprs().filter(|_| site_of(stmt).is_none()) {
            let value = match expr.ty(function) {
                Some(ty) if ty.is_scalar() => expr.clone(),
                Some(_) => component_of(expr, 0, function),
                None => continue,
            };
            // A 64-bit value or a float is not logged but as a variable.
            let value = match value.ty(function) {
                Some(ty) if ty.scalar.is_float() => {
                    Expr::Cast(Scalar::Uint, Box::new(Expr::Cast(Scalar::Int, Box::new(value))))
                }
                Some(ty) if ty.scalar.words() > 1 => Expr::Cast(Scalar::Uint, Box::new(value)),
                _ => value,
            };
            edits.extend(sites.iter().map(|site| (*place, *site, value.clone())));
        }
    }
    each(case, edits, |case, (place, site, value)| {
        // The new log gets the old one's site only after that is gone.
        replace_stmt(&mut case.program, place, vec![Stmt::Log { site: SiteId::MAX, values: vec![value] }]);
        each_block_mut(&mut case.program, &mut |_, block| {
            block.retain(|stmt| site_of(stmt) != Some(site));
            for stmt in block {
                if let Stmt::Log { site: new @ SiteId::MAX, .. } = stmt {
                    *new = site;
                }
            }
        });
        case.program = slice::only(&case.program, site);
    })
}

/// The first log site in what stands in a statement.
fn first_inside(stmt: &Stmt) -> Option<SiteId> {
    let mut first = None;
    for block in stmt.nested_blocks() {
        walk_block(block, &mut |stmt| first = first.or(site_of(stmt)));
    }
    first
}
