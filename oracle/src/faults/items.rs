//! Planted faults of the stages before rasterisation: a device that gets one rule of section I (docs/rules.md) wrong.

use tangle_program::case::EntryPoint;
use tangle_program::case::interface::{ITEM_MAP_WORDS, MAP_WRITTEN};
use tangle_program::tree::Builtin;

use crate::mask::highest;
use crate::rules::Rules;

/// Where a fault takes hold.
pub(super) enum Hook {
    /// The record of an invocation, and how often it was executed.
    Record(fn(&mut [u32], &mut u32)),
    /// The records of all, and how often each invocation was executed, for so many of an item.
    Map(fn(&mut [u32], &mut [u32], usize)),
    /// A built-in variable, of its lane and its value.
    Builtin(fn(Builtin, u128, u128) -> u128),
}

/// The bits of an entry ballot in a record.
fn ballot(record: &mut [u32], change: fn(u128, u32) -> u128) {
    let (lane, words) = (record[0], &mut record[3..7]);
    let mask = words.iter().rev().fold(0, |mask, &word| mask << 32 | u128::from(word));
    let changed = change(mask, lane);
    (0..).zip(words).for_each(|(c, word)| *word = (changed >> (32 * c)) as u32);
}

faults! {
    /// A planted fault of the stages before rasterisation.
    ItemFault:
    // What is executed.
    /// Lane 0 is not executed.
    NotExecuted => Hook::Record(|record, count| if record[0] == 0 { record.fill(0); *count = 0 }),
    /// Lane 0 is executed, and its stores are lost.
    StoresLost => Hook::Record(|record, _| if record[0] == 0 { record.fill(0) }),
    /// The atomic that counts executions is lost.
    CountLost => Hook::Record(|_, count| *count = 0),
    /// The atomic that counts executions counts twice.
    CountDoubled => Hook::Record(|_, count| *count *= 2),
    /// All items have the number of the first.
    ItemIsFirst => Hook::Map(|_, counts, size| {
        let items = (counts.len() / size) as u32;
        counts[..size].fill(items);
        counts[size..].fill(0);
    }),
    // The lane map.
    /// All lanes have the number 0.
    LaneIsZero => Hook::Record(|record, _| record[0] = 0),
    /// The numbers of lanes begin with 1.
    LaneFromOne => Hook::Record(|record, _| record[0] += 1),
    /// The lanes of a subgroup are numbered from the end.
    LaneReversed => Hook::Record(|record, _| record[0] = record[1] - 1 - record[0]),
    /// The subgroup is said to be twice as large.
    SizeTwice => Hook::Record(|record, _| record[1] *= 2),
    /// The size is the number of lanes that are there.
    SizeIsCount => Hook::Record(|record, _| record[1] = record[3..7].iter().map(|word| word.count_ones()).sum()),
    /// The ballot at entry is empty.
    BallotEmpty => Hook::Record(|record, _| ballot(record, |_, _| 0)),
    /// The ballot at entry has the lane itself alone.
    BallotOfSelf => Hook::Record(|record, _| ballot(record, |_, lane| 1 << lane)),
    /// The ballot at entry lacks the highest lane.
    BallotWithoutHighest => Hook::Record(|record, _| ballot(record, |mask, _| mask & !highest(mask))),
    /// The ballot at entry has one lane too many.
    BallotTooWide => Hook::Record(|record, _| ballot(record, |mask, _| mask << 1 | 1)),
    /// A broadcast from the first lane gives the lane's own value.
    TokenOfSelf => Hook::Map(|records, _, _| {
        (0..).zip(records.chunks_mut(ITEM_MAP_WORDS)).filter(|(_, record)| is_written(record)).for_each(|(n, record)| record[2] = n);
    }),
    /// A broadcast from the first lane gives the value of the next subgroup.
    TokenOfNext => Hook::Record(|record, _| record[2] += record[1]),
    // Who an invocation is, in the program.
    /// The number of the invocation in its item is that of its lane.
    NumberIsLane => Hook::Builtin(|builtin, lane, value| if builtin == Builtin::LocalX { lane } else { value }),
    /// The number of the item is 0.
    ItemIsZero => Hook::Builtin(|builtin, _, value| if builtin == Builtin::LocalY { 0 } else { value }),
    /// The number of the item is one too high.
    ItemFromOne => Hook::Builtin(|builtin, _, value| if builtin == Builtin::LocalY { value + 1 } else { value }),
}

fn is_written(record: &[u32]) -> bool {
    record.last() == Some(&MAP_WRITTEN)
}

/// A device with one fault of the stages before rasterisation.
#[derive(Clone, Copy, Debug)]
pub struct PlantedItem(pub ItemFault);

impl Rules for PlantedItem {
    fn map_written(&mut self, entry_point: &EntryPoint, words: &mut [u32]) {
        let (records, counts) = words.split_at_mut(entry_point.invocations() as usize * ITEM_MAP_WORDS);
        let size = entry_point.items().map_or(1, |items| items.size as usize);
        match self.0.hook() {
            Hook::Map(change) => change(records, counts, size),
            Hook::Record(change) => {
                let identities = counts.len();
                let written = (0..).zip(records.chunks_mut(ITEM_MAP_WORDS)).filter(|(_, record)| is_written(record));
                written.for_each(|(index, record): (usize, _)| change(record, &mut counts[index % identities]));
            }
            Hook::Builtin(_) => {}
        }
    }

    fn builtin(&mut self, builtin: Builtin, lane: usize, value: u128) -> u128 {
        match self.0.hook() {
            Hook::Builtin(change) => change(builtin, lane as u128, value),
            _ => value,
        }
    }
}
