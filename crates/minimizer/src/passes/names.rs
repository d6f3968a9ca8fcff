//! Short names and sites from 1: the last touch.

use tangle_analysis::names;
use tangle_program::case::Case;
use tangle_program::tree::{Function, Stmt, walk_block};

use super::candidates::{Candidates, each};

/// Everything at once, then sites and names alone.
pub fn candidates(case: &Case) -> Candidates<'_> {
    let edits: Vec<&[fn(&mut Case)]> = vec![&[sites, functions, variables], &[sites], &[functions, variables]];
    each(case, edits, |case, edits| edits.iter().for_each(|edit| edit(case)))
}

fn sites(case: &mut Case) {
    case.program.number_sites();
}

/// Functions become f, g, h and so on.
fn functions(case: &mut Case) {
    let mut fresh = ["f", "g", "h"].map(str::to_owned).into_iter().chain((1..).map(|i| format!("f{i}")));
    let last = case.program.functions.len().saturating_sub(1);
    for function in &mut case.program.functions[..last] {
        function.name = fresh.next().unwrap_or_default();
    }
}

/// Loop counters become i, j, k and so on, everything else a, b, c and so on.
fn variables(case: &mut Case) {
    let functions = case.program.functions.iter().map(|function| function.name.clone());
    let taken: Vec<String> = functions.chain(case.program.shared.iter().map(|array| array.name.clone())).collect();
    for function in &mut case.program.functions {
        let is_counter = counters(function);
        let usable = |name: &String| names::check(name).is_ok() && !taken.contains(name);
        let mut indices =
            ["i", "j", "k"].map(str::to_owned).into_iter().chain((1..).map(|n| format!("i{n}"))).filter(usable);
        let mut others = letters().filter(usable);
        let names = is_counter.into_iter().map(|counter| if counter { indices.next() } else { others.next() });
        let all = function.params.iter_mut().map(|param| &mut param.name);
        for (name, new) in all.chain(function.locals.iter_mut().map(|local| &mut local.name)).zip(names) {
            *name = new.unwrap_or_default();
        }
    }
}

/// a to e, l to z (f to h are functions, i to k counters), then with numbers.
fn letters() -> impl Iterator<Item = String> {
    let once = || (b'a'..=b'z').filter(|c| !(b'f'..=b'k').contains(c)).map(char::from);
    once().map(String::from).chain((1..).flat_map(move |n| once().map(move |c| format!("{c}{n}"))))
}

fn counters(function: &Function) -> Vec<bool> {
    let mut found = vec![false; function.var_count()];
    walk_block(&function.body, &mut |stmt| {
        if let Stmt::Loop(l) = stmt
            && let Some(found) = found.get_mut(l.counter as usize)
        {
            *found = true;
        }
    });
    found
}
