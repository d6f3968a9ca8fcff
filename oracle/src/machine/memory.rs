//! Shared memory, and arrays in a buffer, which are the same to a workgroup: what the invocations of a workgroup find there, and what of it is certain.
//!
//! Between two barriers only atomics of different lanes meet in one element ([`tangle_analysis::races`]), in an order that nothing
//! decides (rules A1 and A2). What is certain all the same:
//!
//! - an element that a single lane touches in a phase: everything, in program order;
//! - an element that several lanes touch by one commutative function: what it holds at the end of the phase; the old values that
//!   they get are *unknown*;
//! - otherwise both are unknown.
//!
//! What is unknown has a name all the same ([`Memory::names`]), so that what a device logs of it can be judged: some order of the atomics must
//! give it (rule A3, [`crate::contended`]).
//!
//! Who touches an element later in the phase is not known yet when a value is returned: a pass that finds out too late is run again
//! with what it has learnt. Loads from lanes of the same tangle come behind a subgroup barrier, which orders the lanes that execute it. After a lane is lost nothing is known of what it does to memory: another pass takes every load for unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use smallvec::smallvec;
use tangle_program::memory::{AtomicOp, Shared, StorageClass};
use tangle_program::subgroup::Severity;
use tangle_program::types::Scalar;

use super::stop::Stop;
use crate::mask::Mask;
use crate::value::{IN_MEMORY, Names, Provenance, Taint, Value};

/// An element in one phase: phase, array, index.
pub(crate) type ElementInPhase = (u32, usize, usize);

/// What earlier passes have learnt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learnt {
    /// Elements that several lanes touch in a phase.
    pub contended: BTreeSet<ElementInPhase>,
    /// Lanes are lost: loads are unknown.
    pub open: bool,
    /// Operations that helpers execute whose quad may be gone by then (rule H6), each with the helper's slot.
    pub without_quad: BTreeSet<(usize, usize)>,
}

/// What may be said of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    #[default]
    Known,
    Unknown,
    Undefined,
}

/// Who touched an element in this phase.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Touch {
    /// The slot of the first lane that touched it; `None` if none has.
    pub(super) lane: Option<usize>,
    pub(super) several: bool,
    pub(super) writes: bool,
    pub(super) atomic: bool,
    /// The function of the atomics, and whether there was another one.
    pub(super) op: Option<AtomicOp>,
    pub(super) mixed: bool,
    /// An old value was taken for certain.
    pub(super) returned: bool,
    /// The lane that stores.
    pub(super) writer: Option<usize>,
    /// Its subgroup, and the lanes of that which a subgroup barrier has ordered behind its last store.
    pub(super) behind: (usize, u128),
    /// The subgroup whose lanes load, and those that no subgroup barrier has ordered before what the writer does next.
    pub(super) readers: (usize, u128),
    /// Lanes of several subgroups load.
    pub(super) read_apart: bool,
}

/// What the atomics of a phase do to an element.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub scalar: Scalar,
    /// What it held before, if that is known.
    pub before: Option<u64>,
    /// The atomics, in the order of the pass that noted them.
    pub done: Vec<Done>,
    /// The first slot, and whether there are others.
    slot: usize,
    pub several: bool,
    /// True if the operands of all of them are known.
    pub known: bool,
    /// The weakest rule that the operands rest on.
    pub severity: Severity,
}

#[cfg(test)]
impl History {
    /// Of several lanes, all of it known.
    pub fn of_several(scalar: Scalar, before: u64, done: Vec<Done>) -> History {
        let severity = Severity::Hard;
        History { scalar, before: Some(before), done, slot: 0, several: true, known: true, severity }
    }
}

/// One atomic on an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub op: AtomicOp,
    pub value: u64,
    pub compare: u64,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// What the atomic returned: number of the history, and of the atomic in it.
    Returned(usize, usize),
    /// What the element holds behind the phase.
    Left(usize),
}

pub(super) struct Array {
    pub(super) scalar: Scalar,
    pub(super) storage: StorageClass,
    /// Elements of each invocation.
    pub(super) parts: usize,
    pub(super) cells: Vec<u64>,
    pub(super) certainty: Vec<Certainty>,
    pub(super) touched: Vec<Touch>,
    pub(super) from: Provenance,
    /// By element: the last phase that had atomics on it, and the number of their history; none if it was stored to since.
    pub(super) latest: BTreeMap<usize, (u32, usize)>,
    /// What the last two barriers found: for a device whose barriers come late.
    pub(super) at_barrier: [Vec<u64>; 2],
    /// The same for subgroup barriers, from the first one on that comes late.
    pub(super) at_subgroup_barrier: Option<[Vec<u64>; 2]>,
}

/// The shared memory of a workgroup.
pub(crate) struct Memory {
    pub(super) arrays: Vec<Array>,
    pub(super) phase: u32,
    pub(super) learnt: Learnt,
    /// What atomics did, noted by predictions.
    pub histories: Vec<History>,
    /// What the names of unknown values stand for; a name is a number here and [`IN_MEMORY`].
    pub names: Vec<Named>,
    /// The weakest rule that a lane's path rests on, at the end.
    pub rests_on: Severity,
    /// The element of an atomic is not known: the histories may lack it.
    pub obscured: bool,
    /// True if something was taken for certain that is not: the pass must be run again.
    pub wrong: bool,
}

impl Memory {
    pub fn new(shared: &[Shared], learnt: Learnt) -> Memory {
        let arrays = shared.iter().map(|array| {
            let cells = vec![u64::from(array.init); array.len as usize];
            Array {
                scalar: array.scalar,
                storage: array.storage,
                parts: array.parts.max(1) as usize,
                certainty: vec![Certainty::Known; cells.len()],
                touched: vec![Touch::default(); cells.len()],
                from: Provenance::default(),
                latest: BTreeMap::new(),
                at_barrier: [cells.clone(), cells.clone()],
                at_subgroup_barrier: None,
                cells,
            }
        });
        Memory {
            arrays: arrays.collect(),
            phase: 0,
            learnt,
            histories: Vec::new(),
            names: Vec::new(),
            rests_on: Severity::Hard,
            obscured: false,
            wrong: false,
        }
    }

    /// True if the histories have all that was done: no lane is lost, and every element is known.
    pub fn is_told(&self) -> bool {
        !self.learnt.open && !self.obscured
    }

    /// A new name for a value of memory: bit [`IN_MEMORY`] and its index in `names`.
    pub(super) fn name(&mut self, named: Named) -> u32 {
        self.names.push(named);
        IN_MEMORY | (self.names.len() - 1) as u32
    }

    /// Notes an atomic of a slot, before it is done, and names what it returns.
    pub(super) fn note_done(
        &mut self,
        (array, at): (usize, usize),
        slot: usize,
        done: Done,
        known: bool,
        from: &Provenance,
    ) -> u32 {
        let Memory { arrays, phase, histories, .. } = self;
        let state = &mut arrays[array];
        let &mut (of, history) = state.latest.entry(at).or_insert((*phase, histories.len()));
        let number = if of == *phase { history } else { histories.len() };
        if number == histories.len() {
            let before = (state.certainty[at] == Certainty::Known).then_some(state.cells[at]);
            let scalar = state.scalar;
            let severity = Severity::Hard;
            histories.push(History { scalar, before, done: Vec::new(), slot, several: false, known: true, severity });
            state.latest.insert(at, (*phase, number));
        }
        let history = &mut histories[number];
        history.several |= history.slot != slot;
        history.known &= known;
        history.severity = history.severity.max(from.severity);
        history.done.push(done);
        let nth = history.done.len() - 1;
        self.name(Named::Returned(number, nth))
    }

    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty()
    }

    /// What the next pass should know.
    pub fn into_learnt(self) -> Learnt {
        self.learnt
    }
}

impl Array {
    /// Notes an access of a slot, which is a lane of a subgroup, and says whether it is free of data races.
    pub(super) fn touch(
        &mut self,
        index: usize,
        slot: usize,
        (subgroup, lane): (usize, usize),
        write: bool,
        atomic: bool,
    ) -> Result<(), Stop> {
        let touch = &mut self.touched[index];
        let other = touch.several || touch.lane.is_some_and(|first| first != slot);
        let racy = match (write, touch.writer) {
            _ if atomic || touch.op.is_some() => other && (write || touch.writes) && !(atomic && touch.atomic),
            (true, writer) => {
                let before = if touch.readers.0 == subgroup { touch.readers.1 & !(1 << lane) } else { touch.readers.1 };
                writer.is_some_and(|writer| writer != slot) || touch.read_apart || before != 0
            }
            (false, Some(writer)) => writer != slot && (touch.behind.0 != subgroup || touch.behind.1 >> lane & 1 == 0),
            (false, None) => false,
        };
        touch.atomic = atomic && (touch.atomic || touch.lane.is_none());
        touch.several = other;
        touch.lane = touch.lane.or(Some(slot));
        touch.writes |= write;
        if write && !atomic {
            (touch.writer, touch.behind) = (Some(slot), (subgroup, 0));
        }
        if !write {
            touch.read_apart |= touch.readers.1 != 0 && touch.readers.0 != subgroup;
            touch.readers = (subgroup, touch.readers.1 | 1 << lane);
        }
        if racy { Err(Stop::Invalid("a data race in shared memory".into())) } else { Ok(()) }
    }
}

pub(super) fn certainty(value: &Value, slot: usize) -> Certainty {
    match &value.taint {
        Some(taint) if taint.lanes.contains(slot) && taint.undefined => Certainty::Undefined,
        Some(taint) if taint.lanes.contains(slot) => Certainty::Unknown,
        _ => Certainty::Known,
    }
}

/// Results of lanes, with what may be said of them.
pub(super) struct Gathered {
    pub(super) column: Vec<u64>,
    pub(super) unknown: Mask,
    pub(super) undefined: Mask,
    /// By slot; `None` if there are none.
    names: Option<Vec<u32>>,
}

impl Gathered {
    pub(super) fn new(slots: usize) -> Gathered {
        Gathered { column: vec![0; slots], unknown: Mask::empty(slots), undefined: Mask::empty(slots), names: None }
    }

    pub(super) fn note(&mut self, slot: usize, bits: u64, certainty: Certainty) {
        self.column[slot] = bits;
        match certainty {
            Certainty::Known => {}
            Certainty::Unknown => self.unknown.insert(slot),
            Certainty::Undefined => self.undefined.insert(slot),
        }
    }

    pub(super) fn value(self, from: Provenance) -> Value {
        let undefined = !self.undefined.is_empty();
        let lanes = self.undefined.or(&self.unknown);
        let taint = (!lanes.is_empty()).then(|| Box::new(Taint { lanes, undefined }));
        let names = self.names.map(|names| Box::new(Names(smallvec![Rc::new(names)])));
        Value { taint, from, names, ..Value::scalar(self.column) }
    }

    /// Names what a slot gets.
    pub(super) fn name(&mut self, slot: usize, name: u32) {
        let slots = self.column.len();
        self.names.get_or_insert_with(|| vec![0; slots])[slot] = name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 8;

    /// True if the last of these accesses of one element races with one before it. `R3`, `W3` and `A3`: the invocation in slot 3 loads,
    /// stores, adds atomically. `S`: the first subgroup executes a subgroup barrier, `S23` its lanes 2 and 3 only.
    fn is_race(accesses: &str) -> bool {
        let mut array = Array {
            scalar: Scalar::Uint,
            storage: StorageClass::Workgroup,
            parts: 1,
            cells: vec![0],
            certainty: vec![Certainty::Known],
            touched: vec![Touch::default()],
            from: Provenance::default(),
            latest: BTreeMap::new(),
            at_barrier: [vec![0], vec![0]],
            at_subgroup_barrier: None,
        };
        let mut is_race = false;
        for access in accesses.split(' ') {
            assert!(!is_race, "{accesses}: an access before {access} is a race already");
            let (kind, number) = access.split_at(1);
            if kind == "S" {
                let here = if number.is_empty() { 0xFF } else { number.bytes().fold(0, |m, b| m | 1 << (b - b'0')) };
                let touch = &mut array.touched[0];
                if touch.writer.is_some_and(|writer| here >> writer & 1 == 1) {
                    touch.behind.1 |= here;
                }
                if touch.readers.0 == 0 {
                    touch.readers.1 &= !here;
                }
                continue;
            }
            let slot: usize = number.parse().expect("a slot");
            let (writes, is_atomic) = (kind != "R", kind == "A");
            is_race = array.touch(0, slot, (slot / SIZE, slot % SIZE), writes, is_atomic).is_err();
            if is_atomic {
                array.touched[0].op = Some(AtomicOp::Add);
            }
        }
        is_race
    }

    #[test]
    fn accesses_that_meet() {
        for (accesses, race) in [
            // One invocation does what it likes, in program order.
            ("W0 R0 W0 R0", false),
            ("R3 W3", false),
            ("A0 W0 R0 A0", false),
            ("W0 A0", false),
            // Loads alone never race.
            ("R0 R1 R9 R0", false),
            // A load and a store, or two stores, of two invocations do.
            ("W0 R1", true),
            ("W0 W1", true),
            ("W0 W9", true),
            ("R0 W1", true),
            ("R1 R0 W0", true),
            ("R0 R1 W0", true),
            ("W0 R0 R1", true),
            // Also where they are the same lane of two subgroups.
            ("W1 R9", true),
            ("R1 W9", true),
            ("R9 W1", true),
            ("R0 R9 W9", true),
            ("R9 R0 W0", true),
            ("R1 R9 W9", true),
            ("R1 R9 R1 W1", true),
            ("R1 R1 W0", true),
            // Atomics do not race with each other.
            ("A0 A1 A9 A0", false),
            // They do with what is not atomic and another's.
            ("A0 R1", true),
            ("A0 W1", true),
            ("W0 A1", true),
            ("R0 A1", true),
            ("R0 A0 A1", true),
            ("W0 A0 A1", true),
            ("A0 W0 A1", true),
            ("A0 R0 A1", true),
            ("A0 A1 R0", true),
            ("A0 A1 W1", true),
            // A subgroup barrier orders the lanes that execute it, and no others (rule Y10).
            ("W0 S R1 R7", false),
            ("W0 S01 R1", false),
            ("W0 S01 R2", true),
            ("W0 S12 R1", true),
            ("W0 S R9", true),
            ("R1 S W0", false),
            ("R1 S01 W0", false),
            ("R1 R2 S01 W0", true),
            ("W0 S R1 S W0", false),
            ("W0 S R1 W0", true),
            ("W0 S W0 R1", true),
            ("R1 S R2 S W0", false),
        ] {
            assert_eq!(is_race(accesses), race, "{accesses}");
        }
    }

    #[test]
    fn what_is_certain_of_a_value() {
        let mut lanes = Mask::empty(SIZE);
        lanes.insert(2);
        let value = |undefined| Value {
            taint: Some(Box::new(Taint { lanes: lanes.clone(), undefined })),
            ..Value::scalar(vec![0; SIZE])
        };
        assert_eq!(certainty(&Value::scalar(vec![0; SIZE]), 2), Certainty::Known);
        assert_eq!([1, 2].map(|slot| certainty(&value(false), slot)), [Certainty::Known, Certainty::Unknown]);
        assert_eq!([1, 2].map(|slot| certainty(&value(true), slot)), [Certainty::Known, Certainty::Undefined]);
    }
}
