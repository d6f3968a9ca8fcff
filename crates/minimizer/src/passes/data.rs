//! Data: fewer words, simpler words.

use tangle_program::case::{Case, Data};
use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Builtin, Expr};

use super::candidates::{Candidates, chunks, each};
use crate::access::{each_expr_mut, exprs};

/// A place that data come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Input(u32),
    Uniform(u32),
    Push(u32),
    Constant(u32),
    Flat(u32),
    /// Of the resources, in all arrays of descriptors.
    Resource(u32),
}

impl Source {
    fn of(expr: &Expr) -> Option<Source> {
        match expr {
            Expr::Input(k) | Expr::InputOf(k, _) => Some(Source::Input(*k)),
            Expr::Uniform(k) => Some(Source::Uniform(*k)),
            Expr::Push(k) => Some(Source::Push(*k)),
            Expr::Constant(k) => Some(Source::Constant(*k)),
            Expr::Flat(k) => Some(Source::Flat(*k)),
            _ => None,
        }
    }

    fn expr(self) -> Expr {
        match self {
            Source::Input(k) => Expr::Input(k),
            Source::Uniform(k) => Expr::Uniform(k),
            Source::Push(k) => Expr::Push(k),
            Source::Constant(k) => Expr::Constant(k),
            Source::Flat(k) => Expr::Flat(k),
            // Only what has a literal for its index reads one alone, and that is left to `descriptors`.
            Source::Resource(k) => Expr::Uint(k),
        }
    }
}

fn resources(data: &Data) -> impl Iterator<Item = Source> {
    (0..data.resources.len()).map(|k| Source::Resource(k as u32))
}

fn all(data: &Data) -> Vec<Source> {
    let inputs = (0..data.inputs.len()).map(|k| Source::Input(k as u32));
    let uniforms = (0..data.uniforms.len()).map(|k| Source::Uniform(k as u32));
    let push = (0..data.push.len()).map(|k| Source::Push(k as u32));
    let constants = (0..data.constants.len()).map(|k| Source::Constant(k as u32));
    let flats = (0..data.flats.len()).map(|k| Source::Flat(k as u32));
    inputs.chain(uniforms).chain(push).chain(constants).chain(flats).collect()
}

fn remove(data: &mut Data, source: Source) {
    match source {
        Source::Input(k) => drop(data.inputs.remove(k as usize)),
        Source::Uniform(k) => drop(data.uniforms.remove(k as usize)),
        Source::Push(k) => drop(data.push.remove(k as usize)),
        Source::Constant(k) => drop(data.constants.remove(k as usize)),
        Source::Flat(k) => drop(data.flats.remove(k as usize)),
        Source::Resource(k) => drop(data.resources.remove(k as usize)),
    }
}

/// Reads another value wherever a source is read, and drops the source; those behind it move up.
fn read_instead(case: &mut Case, source: Source, value: &Expr) {
    each_expr_mut(&mut case.program, &mut |_, expr| {
        if Source::of(expr) == Some(source) {
            *expr = value.clone();
        }
    });
    each_expr_mut(&mut case.program, &mut |_, expr| match (expr, source) {
        (Expr::Input(k) | Expr::InputOf(k, _), Source::Input(gone))
        | (Expr::Uniform(k), Source::Uniform(gone))
        | (Expr::Push(k), Source::Push(gone))
        | (Expr::Constant(k), Source::Constant(gone))
        | (Expr::Flat(k), Source::Flat(gone))
            if *k > gone =>
        {
            *k -= 1;
        }
        _ => {}
    });
    remove(&mut case.data, source);
}

/// Drops all sources that nothing reads; then puts a literal, the lane or another source in the place of each one.
pub fn sources(case: &Case) -> Candidates<'_> {
    let used: Vec<Source> = exprs(&case.program).iter().filter_map(|at| Source::of(at.expr)).collect();
    let reads_resources = exprs(&case.program).iter().any(|at| matches!(at.expr, Expr::Resource(_)));
    let mut sources = all(&case.data);
    // They are read one by one or, as far as can be seen, all of them.
    sources.extend(resources(&case.data).filter(|_| !reads_resources));
    let (used, unused): (Vec<Source>, Vec<Source>) = sources.into_iter().partition(|source| used.contains(source));
    let mut edits: Vec<Vec<(Source, Expr)>> = Vec::new();
    if !unused.is_empty() {
        // From the last to the first, so that the numbers of the others stay right.
        edits.push(unused.iter().rev().map(|source| (*source, Expr::Uint(0))).collect());
    }
    for &source in &used {
        let others = used.iter().filter(|other| **other != source && matches!(other, Source::Input(_)));
        let constants = constant(&case.data, source).map(Expr::Uint);
        let usual = [Expr::Uint(0), Expr::Builtin(Builtin::Lane), Expr::Builtin(Builtin::LocalIndex)];
        let values = constants.into_iter().chain(usual).chain(others.map(|other| other.expr()));
        edits.extend(values.map(|value| vec![(source, value)]));
    }
    each(case, edits, |case, edits| {
        for (source, value) in edits {
            read_instead(case, source, &value);
        }
    })
}

/// The word of a resource in the place of what reads it by a literal index; half as many resources in each array of descriptors, and indices that are taken
/// by as small a mask.
pub fn descriptors(case: &Case) -> Candidates<'_> {
    let read = exprs(&case.program);
    let words = resources(&case.data).filter(|source| read.iter().any(|at| reads(at.expr, *source)));
    let half = case.data.resources.len() / 2;
    let halves = (half > 0).then_some(ResourceEdit::Halve(half));
    let edits: Vec<_> = words.map(ResourceEdit::Word).chain(halves).collect();
    each(case, edits, |case, edit| match edit {
        ResourceEdit::Word(source) => {
            let Some(word) = constant(&case.data, source) else { return };
            each_expr_mut(&mut case.program, &mut |_, expr| {
                if reads(expr, source) {
                    *expr = Expr::Uint(word);
                }
            });
        }
        ResourceEdit::Halve(half) => halve(case, half),
    })
}

/// A change of resources, or of what reads them.
enum ResourceEdit {
    /// Its word for what reads this resource.
    Word(Source),
    /// So many are left.
    Halve(usize),
}

/// True of an expression that reads this resource, and always that.
fn reads(expr: &Expr, source: Source) -> bool {
    matches!(expr, Expr::Resource(resource) if *resource.index == source.expr())
}

fn halve(case: &mut Case, half: usize) {
    case.data.resources.truncate(half);
    each_expr_mut(&mut case.program, &mut |_, expr| {
        let Expr::Resource(resource) = expr else { return };
        if let Expr::Binary(BinaryOp::BitAnd, _, mask) = &mut *resource.index
            && let Expr::Uint(mask) = &mut **mask
        {
            *mask &= half as u32 - 1;
        }
    });
}

/// The value of a source that is the same for all lanes.
fn constant(data: &Data, source: Source) -> Option<u32> {
    match source {
        Source::Input(k) | Source::Flat(k) => {
            let sources = if matches!(source, Source::Flat(_)) { &data.flats } else { &data.inputs };
            let words = &sources[k as usize];
            words.first().copied().filter(|first| words.iter().all(|word| word == first))
        }
        Source::Uniform(k) => Some(data.uniforms[k as usize]),
        Source::Push(k) => Some(data.push[k as usize]),
        Source::Constant(k) => Some(data.constants[k as usize].value),
        Source::Resource(k) => Some(data.resources[k as usize]),
    }
}

/// The most runs of words of one input that are tried.
const RUNS: usize = 40;

/// Makes inputs all zero, all one, the number of the invocation, or that number's lowest bit; makes runs of words 0 or
/// 1, single ones also a power of two.
pub fn values(case: &Case) -> Candidates<'_> {
    let invocations = case.entry_point.group_size().max(1);
    let mut edits: Vec<(Source, Vec<u32>)> = Vec::new();
    for source in all(&case.data).into_iter().chain(resources(&case.data)) {
        let words = match source {
            Source::Input(k) => case.data.inputs[k as usize].clone(),
            Source::Flat(k) => case.data.flats[k as usize].clone(),
            Source::Uniform(k) => vec![case.data.uniforms[k as usize]],
            Source::Push(k) => vec![case.data.push[k as usize]],
            Source::Constant(k) => vec![case.data.constants[k as usize].value],
            Source::Resource(k) => vec![case.data.resources[k as usize]],
        };
        let local = || (0..words.len() as u32).map(|i| i % invocations);
        let whole =
            [words.iter().map(|_| 0).collect(), words.iter().map(|_| 1).collect(), local().map(|i| i & 1).collect()];
        edits.extend(
            whole
                .into_iter()
                .chain([local().collect(), words.iter().map(|word| word & 1).collect()])
                .map(|new| (source, new)),
        );
        for (start, len) in chunks(words.len()).into_iter().take(RUNS) {
            let run = start..start + len;
            let top = if len == 1 { words[start].checked_ilog2().map(|bit| 1 << bit) } else { None };
            for value in [Some(0), Some(1), top].into_iter().flatten() {
                let mut new = words.clone();
                new[run.clone()].fill(value);
                edits.push((source, new));
            }
        }
    }
    each(case, edits, |case, (source, new)| match source {
        Source::Input(k) => case.data.inputs[k as usize] = new,
        Source::Flat(k) => case.data.flats[k as usize] = new,
        Source::Uniform(k) => case.data.uniforms[k as usize] = new[0],
        Source::Push(k) => case.data.push[k as usize] = new[0],
        Source::Constant(k) => case.data.constants[k as usize].value = new[0],
        Source::Resource(k) => case.data.resources[k as usize] = new[0],
    })
}

/// Lets the module have the value that a specialisation constant is made, or a simple one.
pub fn defaults(case: &Case) -> Candidates<'_> {
    let constants = case.data.constants.iter().enumerate();
    let edits = constants.flat_map(|(k, constant)| [0, 1, constant.value].map(|default| (k, default)));
    each(case, edits.collect(), |case, (k, default)| case.data.constants[k].default = default)
}
