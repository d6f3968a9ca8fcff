//! Executions that are spoilt, each in one way.

use super::execution::{Instance, Logs};
use super::program::Op;

/// How an execution is spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spoilt {
    /// One bit of one word.
    Bit,
    /// Two instances are one.
    Merged,
    /// Two pairs of instances are one each.
    Crossed,
    /// An instance is two.
    Split,
    /// A lane is in another instance.
    Moved,
    /// A lane sees its tangle, but nobody sees the lane.
    Missing,
    /// One more lane is elected, or none.
    Elected,
    /// An operation sees other lanes than there are.
    Other,
    /// A lane stops, goes somewhere else, or goes somewhere again.
    Path,
}

/// Writes down what an instance with these lanes logs.
fn write(logs: &mut Logs, instance: &Instance, tangle: u32) {
    for &(lane, at) in &instance.words {
        if tangle >> lane & 1 == 1 {
            logs[lane][at] = instance.op.of(tangle, lane as u32);
        }
    }
}

fn merge(logs: &mut Logs, [a, b]: [&Instance; 2]) {
    let tangle = a.tangle | b.tangle;
    write(logs, a, tangle);
    write(logs, b, tangle);
}

/// All of them; some may be legal all the same.
pub fn mutants(logs: &Logs, trace: &[Instance], sites: &[u32]) -> Vec<(Spoilt, Logs)> {
    let mut all = Vec::new();
    let mut add = |how: Spoilt, change: &mut dyn FnMut(&mut Logs)| {
        let mut mutant = logs.clone();
        change(&mut mutant);
        all.push((how, mutant));
    };
    let mut pairs: Vec<[&Instance; 2]> = Vec::new();
    for (i, a) in trace.iter().enumerate() {
        let others = trace[i + 1..].iter().filter(|b| a.id == b.id && a.tangle & b.tangle == 0);
        pairs.extend(others.map(|b| [a, b]));
    }
    for (i, &pair) in pairs.iter().enumerate() {
        add(Spoilt::Merged, &mut |logs| merge(logs, pair));
        let apart = |other: &[&Instance; 2]| pair.iter().all(|a| other.iter().all(|b| !std::ptr::eq(*a, *b)));
        for &other in pairs[i + 1..].iter().filter(|other| apart(other)) {
            add(Spoilt::Crossed, &mut |logs| {
                merge(logs, pair);
                merge(logs, other);
            });
        }
        for [from, to] in [pair, [pair[1], pair[0]]] {
            for lane in (0..32).filter(|lane| from.tangle >> lane & 1 == 1 && from.tangle.count_ones() > 1) {
                add(Spoilt::Moved, &mut |logs| {
                    write(logs, from, from.tangle & !(1 << lane));
                    write(logs, from, to.tangle | 1 << lane);
                    write(logs, to, to.tangle | 1 << lane);
                });
            }
        }
    }
    for instance in trace {
        let tangle = instance.tangle;
        // Every division into two, once: the lowest lane is in the first part.
        let mut part = (tangle - 1) & tangle;
        while part != 0 {
            if part & tangle & tangle.wrapping_neg() != 0 {
                add(Spoilt::Split, &mut |logs| {
                    write(logs, instance, part);
                    write(logs, instance, tangle & !part);
                });
            }
            part = (part - 1) & tangle;
        }
        for &(lane, at) in &instance.words {
            for bit in 0..if instance.op == Op::Elect { 1 } else { 5 } {
                let how = if instance.op == Op::Elect { Spoilt::Elected } else { Spoilt::Bit };
                add(how, &mut |logs| logs[lane][at] ^= 1 << bit);
            }
            if tangle.count_ones() > 1 {
                add(Spoilt::Missing, &mut |logs| write(logs, instance, tangle & !(1 << lane)));
            }
        }
        if instance.op == Op::Elect {
            for &(leader, _) in &instance.words {
                add(Spoilt::Elected, &mut |logs| {
                    instance.words.iter().for_each(|&(lane, at)| logs[lane][at] = u32::from(lane == leader));
                });
            }
        }
        for lane in 0..logs.len() {
            let wider = tangle ^ 1 << lane;
            add(Spoilt::Other, &mut |logs| {
                instance.words.iter().for_each(|&(lane, at)| logs[lane][at] = instance.op.of(wider, lane as u32));
            });
        }
    }
    for (lane, entries) in entries(logs, trace).into_iter().enumerate() {
        if let (Some(&last), Some(&first)) = (entries.last(), entries.first()) {
            add(Spoilt::Path, &mut |logs| logs[lane].truncate(last));
            add(Spoilt::Path, &mut |logs| drop(logs[lane].drain(..entries.get(1).copied().unwrap_or(last))));
            add(Spoilt::Path, &mut |logs| logs[lane].extend_from_within(last..));
            for &site in sites {
                add(Spoilt::Path, &mut |logs| logs[lane][last] = site);
                add(Spoilt::Path, &mut |logs| logs[lane][first] = site);
            }
        }
    }
    all
}

/// For every lane: where its entries start.
fn entries(logs: &Logs, trace: &[Instance]) -> Vec<Vec<usize>> {
    let mut results: Vec<Vec<usize>> = vec![Vec::new(); logs.len()];
    trace.iter().flat_map(|instance| &instance.words).for_each(|&(lane, at)| results[lane].push(at));
    let starts = |(lane, log): (usize, &Vec<u32>)| (0..log.len()).filter(|at| !results[lane].contains(at)).collect();
    logs.iter().enumerate().map(starts).collect()
}
