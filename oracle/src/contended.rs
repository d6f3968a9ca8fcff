//! What atomics of several lanes return from one element: some order of them must give it (rule A3).
//!
//! Each atomic leads from the value that it returns to the value that it leaves. Put one behind the other, from what the element held before
//! to what it holds in the end, they are a walk that takes each step once, so that with all returned values known there is an order if and only if
//! the steps are connected and every value is left as often as it is come to, but for the first and the last (Euler). The order in which one lane's
//! own atomics come is not asked for. Where some of the returned values are not logged, less is said ([`Seen::is_refuted_in_part`]).
//!
//! Nothing is said of a workgroup in which something else is wrong, or in which a lane's path or the element of an atomic is not known.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use tangle_program::case::Tier;
use tangle_program::memory::AtomicOp;
use tangle_program::types::Scalar;

use crate::machine::{Done, History, LaneLog, Named, Shown};
use crate::observed::{Broken, Status, TangleRule};
use tangle_program::subgroup::Severity;

/// What a pass noted of the atomics of a workgroup.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    /// By element and phase.
    pub histories: Vec<History>,
    /// What [`Shown::name`] stands for.
    pub names: Vec<Named>,
    /// The weakest rule that a lane's path rests on.
    pub rests_on: Severity,
}

impl Contention {
    /// Judges what lanes show of the atomics. `logs` are those that are expected, and `actual` those of the device, by slot; of slots that are not among
    /// `slots` nothing is there.
    pub fn judge<'l>(&self, tier: Tier, logs: &mut [LaneLog], slots: &[usize], actual: impl Fn(usize) -> &'l [u32]) {
        let shows = slots.iter().any(|&slot| !logs[slot].shown.is_empty());
        if !shows || !slots.iter().all(|&slot| agrees(&logs[slot], actual(slot))) {
            return;
        }
        let words = slots.iter().flat_map(|&slot| Word::of(slot, &logs[slot], actual(slot))).collect::<Vec<Word>>();
        for (number, history) in self.histories.iter().enumerate() {
            let Some(before) = history.before.filter(|_| history.several && history.known) else { continue };
            let mut seen = Seen::nothing(history, before);
            let here: Vec<(&Word, Option<usize>)> = words
                .iter()
                .filter_map(|word| match self.names[word.name] {
                    Named::Returned(of, nth) if of == number => Some((word, Some(nth))),
                    Named::Left(of) if of == number => Some((word, None)),
                    Named::Returned(..) | Named::Left(_) => None,
                })
                .collect();
            here.iter().for_each(|(word, nth)| seen.see(*nth, word.value));
            let expected = match seen.explain() {
                Explained::Open => continue,
                Explained::By => seen.clone(),
                Explained::Not(order) => order,
            };
            let severity = history.severity.max(self.rests_on);
            let broken = Broken::at(tier, TangleRule::AtomicOrder).resting_on(severity);
            for (word, nth) in here {
                let value = nth.map_or(expected.left, |nth| expected.returned[nth]);
                let status = if value == Some(word.value) { Status::Checked } else { Status::Broken(broken) };
                word.adopt(&mut logs[word.slot], value, status);
            }
        }
    }
}

/// True if the words that have one legal value have it.
fn agrees(log: &LaneLog, actual: &[u32]) -> bool {
    let word = |words: &[u32], at: usize| words.get(at).copied().unwrap_or(0);
    let end = if log.lost { log.words.len() } else { log.words.len().max(actual.len()) };
    (0..end).all(|at| word(actual, at) == word(&log.words, at) || log.tainted.binary_search(&(at as u32)).is_ok())
}

/// A value that a log shows: one word, or two.
struct Word {
    slot: usize,
    name: usize,
    at: Vec<u32>,
    value: u64,
}

impl Word {
    fn of(slot: usize, log: &LaneLog, actual: &[u32]) -> Vec<Word> {
        let mut words: Vec<Word> = Vec::new();
        for &Shown { at, name, part } in &log.shown {
            let value = u64::from(actual.get(at as usize).copied().unwrap_or(0)) << (32 * part);
            match words.last_mut() {
                Some(low) if part == 1 => {
                    low.at.push(at);
                    low.value |= value;
                }
                _ => words.push(Word { slot, name, at: vec![at], value }),
            }
        }
        words
    }

    /// From now on this is expected there.
    fn adopt(&self, log: &mut LaneLog, value: Option<u64>, status: Status) {
        let Some(value) = value else { return };
        for (part, &at) in self.at.iter().enumerate() {
            let word = (value >> (32 * part)) as u32;
            let is_right = word == (self.value >> (32 * part)) as u32;
            log.words[at as usize] = word;
            log.tainted.retain(|&tainted| tainted != at);
            let place = log.adopted.partition_point(|&(adopted, _)| adopted < at);
            log.adopted.insert(place, (at, if is_right { Status::Checked } else { status }));
        }
    }
}

/// What is seen of the atomics on an element.
#[derive(Clone, Debug)]
struct Seen<'h> {
    scalar: Scalar,
    done: &'h [Done],
    before: u64,
    returned: Vec<Option<u64>>,
    /// What the element holds in the end.
    left: Option<u64>,
}

/// Whether an order of the atomics gives what is seen.
#[derive(Debug)]
enum Explained<'h> {
    /// Some order of them gives every value that is seen.
    By,
    /// None does: what the nearest gives.
    Not(Seen<'h>),
    /// Too little is seen.
    Open,
}

impl<'h> Seen<'h> {
    fn nothing(history: &'h History, before: u64) -> Seen<'h> {
        let returned = vec![None; history.done.len()];
        Seen { scalar: history.scalar, done: &history.done, before, returned, left: None }
    }

    /// The first word that shows a value counts; others must be the same.
    fn see(&mut self, nth: Option<usize>, value: u64) {
        let place = nth.map_or(&mut self.left, |nth| &mut self.returned[nth]);
        place.get_or_insert(value);
    }

    fn apply(&self, nth: usize, found: u64) -> u64 {
        let Done { op, value, compare } = self.done[nth];
        op.apply(self.scalar, found, value, compare)
    }

    fn explain(&self) -> Explained<'h> {
        let is_whole = self.returned.iter().all(Option::is_some);
        let is_refuted = if is_whole { !self.has_walk() } else { self.is_refuted_in_part() };
        if is_refuted {
            return Explained::Not(self.nearest());
        }
        let seen = self.returned.iter().flatten().count();
        if is_whole || seen > 1 && self.common().is_some() { Explained::By } else { Explained::Open }
    }

    /// With all returned values known: true if the atomics can be put one behind the other.
    fn has_walk(&self) -> bool {
        let steps: Vec<(u64, u64)> = self
            .returned
            .iter()
            .enumerate()
            .filter_map(|(nth, from)| Some(((*from)?, self.apply(nth, (*from)?))))
            .collect();
        let mut balance: HashMap<u64, i64> = HashMap::new();
        let mut next: HashMap<u64, Vec<u64>> = HashMap::new();
        for &(from, to) in &steps {
            *balance.entry(from).or_default() += 1;
            *balance.entry(to).or_default() -= 1;
            next.entry(from).or_default().push(to);
            next.entry(to).or_default().push(from);
        }
        // The walk ends where what is left over says.
        *balance.entry(self.before).or_default() -= 1;
        let mut over = balance.iter().filter(|(_, balance)| **balance != 0);
        let end = match (over.next(), over.next()) {
            (Some((&end, -1)), None) => end,
            _ => return false,
        };
        let mut reached = HashSet::from([self.before]);
        let mut waiting = vec![self.before];
        while let Some(value) = waiting.pop() {
            let new = next.get(&value).into_iter().flatten().filter(|&&to| reached.insert(to));
            waiting.extend(new);
        }
        self.left.is_none_or(|left| left == end) && steps.iter().all(|(from, _)| reached.contains(from))
    }

    /// The function that all the atomics are, where something can be said of some of them alone.
    fn common(&self) -> Option<AtomicOp> {
        let op = self.done.first()?.op;
        let is_known = match op {
            AtomicOp::Add => self.total().is_some(),
            AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or | AtomicOp::Exchange => true,
            AtomicOp::Xor | AtomicOp::CompSwap => false,
        };
        (is_known && self.done.iter().all(|done| done.op == op)).then_some(op)
    }

    /// The sum of what is added, where that does not come round to where it began.
    fn total(&self) -> Option<u64> {
        let sum: u128 = self.done.iter().map(|done| u128::from(done.value & self.scalar.bits())).sum();
        (sum <= u128::from(self.scalar.bits())).then_some(sum as u64)
    }

    /// With some of the returned values known: true if no order gives them, whatever the others are.
    fn is_refuted_in_part(&self) -> bool {
        let seen = || self.returned.iter().enumerate().filter_map(|(nth, found)| found.map(|found| (nth, found)));
        match self.common() {
            Some(AtomicOp::Add) => self.refutes_sum(seen()),
            Some(AtomicOp::Exchange) => {
                // What was put there is taken out once.
                let mut there: HashMap<u64, i64> = HashMap::from([(self.before, 1)]);
                self.done.iter().for_each(|done| *there.entry(done.value).or_default() += 1);
                seen().map(|(_, found)| found).chain(self.left).any(|found| {
                    let left = there.entry(found).or_default();
                    *left -= 1;
                    *left < 0
                })
            }
            Some(AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or) => {
                // It never comes back to a value that it has left.
                let mut was_left = HashSet::new();
                seen().any(|(nth, found)| self.apply(nth, found) != found && !was_left.insert(found))
            }
            Some(AtomicOp::Xor | AtomicOp::CompSwap) | None => false,
        }
    }

    /// Sums that only grow: each addition has a part of the way for itself, and what adds nothing finds no value within another's.
    fn refutes_sum(&self, seen: impl Iterator<Item = (usize, u64)>) -> bool {
        let Some(total) = self.total() else { return false };
        let mut parts: Vec<(u64, u64)> = seen
            .map(|(nth, found)| {
                (found.wrapping_sub(self.before) & self.scalar.bits(), self.done[nth].value & self.scalar.bits())
            })
            .collect();
        parts.sort_unstable();
        let overlap = parts.windows(2).any(|pair| pair[0].0 + pair[0].1 > pair[1].0);
        let past = parts.iter().any(|&(start, len)| start.checked_add(len).is_none_or(|end| end > total));
        let each = self.done.first().map_or(0, |done| done.value & self.scalar.bits());
        let is_even = each > 0 && self.done.iter().all(|done| done.value & self.scalar.bits() == each);
        past || overlap || is_even && parts.iter().any(|(start, _)| start % each != 0)
    }

    /// What an order gives that has as much of what is seen as it finds going from one atomic to the next.
    fn nearest(&self) -> Seen<'h> {
        let mut by_value: HashMap<u64, VecDeque<usize>> = HashMap::new();
        let mut unseen = VecDeque::new();
        for (nth, found) in self.returned.iter().enumerate() {
            found.map_or(&mut unseen, |found| by_value.entry(found).or_default()).push_back(nth);
        }
        let mut left: BTreeSet<usize> = (0..self.done.len()).collect();
        let mut passed: Vec<u64> = Vec::new();
        let mut order = self.clone();
        let mut value = self.before;
        while let Some(&first) = left.first() {
            let fitting = by_value.get_mut(&value).and_then(VecDeque::pop_front);
            // Of those that fit nowhere, first one that shows what another has found already.
            let nth = fitting.or_else(|| unseen.pop_front()).unwrap_or_else(|| {
                let again = passed.iter().find_map(|value| by_value.get_mut(value).and_then(VecDeque::pop_front));
                again.unwrap_or_else(|| {
                    let rest = self.returned[first].and_then(|found| by_value.get_mut(&found));
                    rest.and_then(VecDeque::pop_front).unwrap_or(first)
                })
            });
            left.remove(&nth);
            order.returned[nth] = Some(value);
            passed.push(value);
            value = self.apply(nth, value);
        }
        order.left = Some(value);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(scalar: Scalar, before: u64, done: &[(AtomicOp, u64)]) -> History {
        let done = done.iter().map(|&(op, value)| Done { op, value, compare: 0 }).collect();
        History::of_several(scalar, before, done)
    }

    /// `By`, `Open`, or what is expected instead.
    fn explained(history: &History, returned: &[Option<u64>], left: Option<u64>) -> String {
        let mut seen = Seen::nothing(history, history.before.expect("it is known"));
        seen.returned = returned.to_vec();
        seen.left = left;
        match seen.explain() {
            Explained::By => "by".into(),
            Explained::Open => "open".into(),
            Explained::Not(order) => {
                let words: Vec<String> = order.returned.iter().flatten().map(u64::to_string).collect();
                format!("not: {}", words.join(" "))
            }
        }
    }

    #[test]
    fn orders_of_atomics() {
        use AtomicOp::{Add, And, CompSwap, Exchange, Max, Or, Xor};
        let u32s = |before, done: &[(AtomicOp, u64)]| history(Scalar::Uint, before, done);
        let ones = u32s(10, &[(Add, 1); 4]);
        let tens = u32s(0, &[(Add, 10), (Add, 20), (Add, 30)]);
        let wraps = u32s(0, &[(Add, 0xFFFF_FFFF), (Add, 1), (Add, 1)]);
        let just_not = u32s(0, &[(Add, 0xFFFF_FFFD), (Add, 1), (Add, 1)]);
        let nothing = u32s(5, &[(Add, 0); 3]);
        let uneven = u32s(0, &[(Add, 2), (Add, 0), (Add, 1)]);
        let swaps = u32s(9, &[(Exchange, 1), (Exchange, 2), (Exchange, 2), (Exchange, 9)]);
        let bits = u32s(0, &[(Or, 1), (Or, 2), (Or, 4)]);
        let clears = u32s(7, &[(And, !1 & 0xFFFF_FFFF), (And, !2 & 0xFFFF_FFFF), (And, !4 & 0xFFFF_FFFF)]);
        let mixed = u32s(5, &[(Add, 1), (Xor, 3), (Max, 7)]);
        let compared = u32s(0, &[(CompSwap, 4), (CompSwap, 5)]);
        let some = |values: &[u64]| values.iter().map(|&value| Some(value)).collect::<Vec<_>>();
        for (history, returned, left, expected) in [
            // Tickets, in any order.
            (&ones, some(&[10, 11, 12, 13]), None, "by"),
            (&ones, some(&[13, 10, 12, 11]), Some(14), "by"),
            (&ones, some(&[10, 11, 11, 12]), None, "not: 10 11 13 12"),
            (&ones, some(&[10, 11, 12, 14]), None, "not: 10 11 12 13"),
            (&ones, some(&[11, 12, 13, 14]), None, "not: 10 11 12 13"),
            // Sums of different parts.
            (&tens, some(&[50, 30, 0]), Some(60), "by"),
            (&tens, some(&[50, 30, 0]), Some(50), "not: 50 30 0"),
            (&tens, some(&[0, 10, 20]), None, "not: 0 10 30"),
            // Round and round.
            (&wraps, some(&[0, 0, 0xFFFF_FFFF]), None, "by"),
            (&wraps, some(&[0, 0, 0]), None, "not: 0 4294967295 0"),
            // A value may be there twice.
            (&swaps, some(&[9, 1, 2, 2]), Some(9), "by"),
            (&swaps, some(&[9, 9, 2, 1]), None, "by"),
            (&swaps, some(&[9, 1, 1, 2]), None, "not: 9 1 9 2"),
            // Steps that are connected to nothing: 1 and 2 exchanged for each other.
            (&u32s(9, &[(Exchange, 8), (Exchange, 1), (Exchange, 2)]), some(&[9, 2, 1]), None, "not: 9 8 1"),
            (&bits, some(&[6, 0, 2]), Some(7), "by"),
            (&bits, some(&[0, 0, 0]), Some(7), "not: 0 1 3"),
            (&clears, some(&[7, 6, 4]), Some(0), "by"),
            (&clears, some(&[7, 7, 4]), Some(0), "not: 7 6 4"),
            (&mixed, some(&[5, 6, 5]), Some(7), "by"),
            (&mixed, some(&[5, 6, 7]), None, "not: 5 6 5"),
            (&mixed, some(&[5, 7, 6]), None, "by"),
            (&compared, some(&[0, 4]), Some(4), "by"),
            (&compared, some(&[0, 0]), Some(4), "not: 0 4"),
            // Some of them are not seen.
            (&ones, vec![Some(10), None, None, Some(13)], None, "by"),
            (&ones, vec![Some(10), None, None, Some(10)], None, "not: 10 11 12 13"),
            (&ones, vec![None, None, None, Some(14)], None, "not: 10 11 12 13"),
            (&ones, vec![None, None, None, Some(12)], None, "open"),
            (&u32s(0, &[(Add, 4); 3]), vec![None, Some(2), None], None, "not: 0 8 4"),
            (&tens, vec![Some(20), Some(0), None], None, "by"),
            (&tens, vec![None, Some(0), Some(10)], None, "not: 50 0 20"),
            (&wraps, vec![None, Some(0), Some(0)], None, "open"),
            (&just_not, vec![None, Some(0), Some(0)], None, "not: 2 0 1"),
            (&nothing, vec![Some(5), Some(5), None], None, "by"),
            (&nothing, vec![Some(5), Some(6), None], None, "not: 5 5 5"),
            (&uneven, vec![Some(1), None, None], None, "open"),
            // Between 0 and 2 nobody finds anything.
            (&uneven, vec![Some(0), Some(1), None], None, "not: 0 2 2"),
            (&swaps, vec![Some(2), Some(2), None, None], None, "by"),
            (&swaps, vec![Some(1), Some(1), None, None], None, "not: 1 9 2 2"),
            (&swaps, vec![None, None, None, Some(1)], Some(1), "not: 9 1 2 1"),
            (&bits, vec![Some(0), Some(0), None], None, "not: 0 1 3"),
            (&mixed, vec![Some(5), Some(5), None], None, "open"),
            (&compared, vec![Some(0), None], None, "open"),
        ] {
            let found = explained(history, &returned, left);
            let same_kind = found == expected || expected.starts_with("not") && found.starts_with("not");
            assert!(same_kind, "{:?} {returned:?} {left:?}: {found}, not {expected}", history.done);
            if let Some(words) = expected.strip_prefix("not: ").filter(|_| returned.iter().all(Option::is_some)) {
                assert_eq!(found, format!("not: {words}"), "{:?} {returned:?}", history.done);
            }
        }
    }

    /// Every order of a few atomics explains what it gives, and so does any part of it; nothing else does.
    #[test]
    fn exactly_what_orders_give_is_explained() {
        use AtomicOp::{Add, And, CompSwap, Exchange, Max, Min, Or, Xor};
        let programs: [&[(AtomicOp, u64)]; 9] = [
            &[(Add, 1), (Add, 1), (Add, 2)],
            &[(Add, 2), (Add, 0), (Add, 1)],
            &[(Add, 3), (Add, 255), (Add, 2)],
            &[(Exchange, 1), (Exchange, 2), (Exchange, 1)],
            &[(Or, 1), (Or, 3), (Or, 2)],
            &[(And, 2), (And, 1), (And, 3)],
            &[(Min, 1), (Min, 0), (Min, 2)],
            &[(Xor, 1), (Max, 2), (Add, 1)],
            &[(CompSwap, 1), (Exchange, 0), (CompSwap, 2)],
        ];
        for done in programs {
            for before in 0..4 {
                let history = history(Scalar::Uint8, before, done);
                let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
                let legal: Vec<[u64; 3]> = orders
                    .iter()
                    .map(|order| {
                        let seen = Seen::nothing(&history, before);
                        let mut returned = [0; 3];
                        order.iter().fold(before, |value, &nth| {
                            returned[nth] = value;
                            seen.apply(nth, value)
                        });
                        returned
                    })
                    .collect();
                for tuple in 0..6u64.pow(3) {
                    let values = [tuple % 6, tuple / 6 % 6, tuple / 36];
                    for hidden in 0..8 {
                        let shown = |nth: usize| hidden >> nth & 1 == 0;
                        let returned: Vec<Option<u64>> =
                            (0..3).map(|nth| Some(values[nth]).filter(|_| shown(nth))).collect();
                        let is_legal =
                            legal.iter().any(|legal| (0..3).all(|nth| !shown(nth) || legal[nth] == values[nth]));
                        let found = explained(&history, &returned, None);
                        if is_legal {
                            assert!(!found.starts_with("not"), "{done:?} from {before}: {returned:?}: {found}");
                        } else if hidden == 0 {
                            assert!(found.starts_with("not"), "{done:?} from {before}: {returned:?}: {found}");
                        }
                    }
                }
            }
        }
    }
}
