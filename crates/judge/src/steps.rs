//! The first wrong step: of the words in which a device differs, the store that is executed first among those that leave what has to be there.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use tangle_interpreter::LaneMap;
use tangle_interpreter::trace::{Instance, Observer, Tangle, Write};

/// A word that differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Word {
    /// `DescriptorSet`.
    pub set: u32,
    /// `Binding`.
    pub binding: u32,
    /// Element of an array of descriptors.
    #[serde(skip_serializing_if = "is_zero")]
    pub element: u32,
    /// The address of the buffer among the inputs, of one that no descriptor names: it has no set and binding then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// Byte offset.
    pub offset: usize,
    /// Of an image, the texel there, or the first of those: its column, row, and slice or layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub texel: Option<[u32; 3]>,
    /// What has to be there.
    pub expected: u32,
    /// What the device left there.
    pub found: u32,
    /// Bits that are not determined. They are the device's in [`Word::expected`].
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Word {
    /// What it is a word of.
    pub fn object(&self) -> String {
        let Word { set, binding, element, address, .. } = self;
        match address {
            Some(address) => format!("address {address:#x}"),
            None if *element > 0 => format!("set {set} binding {binding} element {element}"),
            None => format!("set {set} binding {binding}"),
        }
    }

    /// Where the word is: object, byte offset, and texel of an image.
    pub fn place(&self) -> String {
        let mut place = format!("{}, byte {}", self.object(), self.offset);
        if let Some([x, y, z]) = self.texel {
            let _ = write!(place, ", texel {x},{y},{z}");
        }
        place
    }
}

/// A subgroup operation of one invocation.
#[derive(Clone, Debug)]
struct Operation {
    location: String,
    tangle: Tangle,
    result: Vec<Option<u64>>,
}

/// The store that leaves the value of a wrong word, as far as is known.
#[derive(Clone, Debug)]
struct Store {
    order: u64,
    write: Write,
    /// The last subgroup operation that the invocation executed before it.
    operation: Option<Operation>,
}

/// Watches a run for stores to some words.
pub(crate) struct Steps {
    /// By buffer of the dispatch and byte offset.
    wrong: BTreeMap<(usize, usize), Word>,
    stores: BTreeMap<(usize, usize), Store>,
    /// By workgroup and local invocation index.
    operations: BTreeMap<(u32, u32), Operation>,
    order: u64,
}

impl Steps {
    pub(crate) fn new(wrong: BTreeMap<(usize, usize), Word>) -> Steps {
        Steps { wrong, stores: BTreeMap::new(), operations: BTreeMap::new(), order: 0 }
    }

    /// In words; `None` if no word is wrong.
    pub(crate) fn text(&self, map: &LaneMap) -> Option<String> {
        let Some((place, store)) = self.stores.iter().min_by_key(|(_, store)| store.order) else {
            let word = self.wrong.values().next()?;
            return Some(format!("no store of the module leaves anything at {}", word.place()));
        };
        let word = self.wrong.get(place)?;
        let Word { offset, found, expected, .. } = word;
        let Write { location, workgroup, local_index, value, before, bytes, offset: at, .. } = &store.write;
        let shown =
            |value: &Option<u64>| value.map_or("what is not determined".to_owned(), |value| format!("{value:#x}"));
        let places = map.workgroups.get(if map.workgroups.len() == 1 { 0 } else { *workgroup as usize });
        let lane = places.and_then(|places| places.get(*local_index as usize));
        let lane = lane.map_or(String::new(), |place| format!(" (subgroup {}, lane {})", place.subgroup, place.lane));
        let mut text = format!(
            "first wrong step: {location}: invocation {local_index}{lane} of workgroup {workgroup} stores {} to {}, byte {at}, \
             where {} was",
            shown(value),
            word.object(),
            shown(before),
        );
        let is_word = *bytes == 4 && at == offset;
        if is_word && *value == Some(u64::from(*expected)) && *before == Some(u64::from(*found)) {
            let _ = write!(text, "; the device left that");
        } else {
            let _ = write!(text, "; the device left {found:#x} at byte {offset}");
        }
        if let Some(Operation { location, tangle, result }) = &store.operation {
            let Tangle { subgroup, lanes, exact } = tangle;
            let values: Vec<String> = result.iter().map(shown).collect();
            let _ = write!(
                text,
                "\n  its last subgroup operation before: {location}, by lanes {lanes:#x} of subgroup {subgroup}"
            );
            let _ = write!(text, "{}", if *exact { "" } else { ", as far as is known" });
            if !values.is_empty() {
                let _ = write!(text, ", with the result {}", values.join(", "));
            }
        }
        Some(text)
    }
}

impl Observer for Steps {
    fn executed(&mut self, instance: &dyn Instance) {
        if !instance.is_group_operation() {
            return;
        }
        let (workgroup, location) = (instance.workgroup(), instance.location().to_string());
        let tangles = instance.tangles();
        for local_index in instance.active() {
            let subgroup = instance.subgroup(local_index);
            let Some(&tangle) = tangles.iter().find(|tangle| tangle.subgroup == subgroup) else { continue };
            let result = instance.result(local_index);
            let operation = Operation { location: location.clone(), tangle, result };
            self.operations.insert((workgroup, local_index), operation);
        }
    }

    fn wrote(&mut self, write: &Write) {
        self.order += 1;
        let words = (write.offset / 4..=(write.offset + write.bytes - 1) / 4).map(|word| 4 * word);
        for offset in words {
            let place = (write.buffer, offset);
            if self.wrong.contains_key(&place) {
                let operation = self.operations.get(&(write.workgroup, write.local_index)).cloned();
                self.stores.insert(place, Store { order: self.order, write: write.clone(), operation });
            }
        }
    }

    fn restarted(&mut self, _workgroup: u32) {
        self.stores.clear();
        self.operations.clear();
        self.order = 0;
    }
}
