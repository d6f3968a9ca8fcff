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
//! Who touches an element later in the phase is not known yet when a value is returned: a pass that finds out too late is run again
//! with what it has learnt. Loads from lanes of the same tangle come behind a subgroup barrier, which orders the lanes that execute it. After a lane is lost nothing is known of what it does to memory: another pass takes every load for unknown.

use std::collections::BTreeSet;

use tangle_program::memory::{AtomicOp, Shared, StorageClass};
use tangle_program::subgroup::lanes;
use tangle_program::types::Scalar;

use super::{Frame, Machine, Pass, Stop};
use crate::lower::{AtomicCode, Node};
use crate::map::Subgroup;
use crate::mask::Mask;
use crate::rules::Rules;
use crate::value::{Provenance, Taint, Value};

/// An element in one phase: phase, array, index.
pub(crate) type ElementInPhase = (u32, usize, usize);

/// What earlier passes have learnt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learnt {
    /// Elements that several lanes touch in a phase.
    pub contended: BTreeSet<ElementInPhase>,
    /// Lanes are lost: loads are unknown.
    pub open: bool,
}

/// What may be said of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    #[default]
    Known,
    Unknown,
    Undefined,
}

/// Who touched an element in this phase.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    /// The first lane.
    lane: Option<usize>,
    several: bool,
    writes: bool,
    atomic: bool,
    /// The function of the atomics, and whether there was another one.
    op: Option<AtomicOp>,
    mixed: bool,
    /// An old value was taken for certain.
    returned: bool,
    /// The lane that stores.
    writer: Option<usize>,
    /// Its subgroup, and the lanes of that which a subgroup barrier has ordered behind its last store.
    behind: (usize, u128),
    /// The subgroup whose lanes load, and those that no subgroup barrier has ordered before what the writer does next.
    readers: (usize, u128),
    /// Lanes of several subgroups load.
    read_apart: bool,
}

struct Array {
    scalar: Scalar,
    storage: StorageClass,
    cells: Vec<u64>,
    certainty: Vec<Certainty>,
    touched: Vec<Touch>,
    from: Provenance,
    /// What the last two barriers found: for a device whose barriers come late.
    at_barrier: [Vec<u64>; 2],
    /// The same for subgroup barriers, from the first one on that comes late.
    at_subgroup_barrier: Option<[Vec<u64>; 2]>,
}

/// The shared memory of a workgroup.
pub(crate) struct Memory {
    arrays: Vec<Array>,
    phase: u32,
    learnt: Learnt,
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
                certainty: vec![Certainty::Known; cells.len()],
                touched: vec![Touch::default(); cells.len()],
                from: Provenance::default(),
                at_barrier: [cells.clone(), cells.clone()],
                at_subgroup_barrier: None,
                cells,
            }
        });
        Memory { arrays: arrays.collect(), phase: 0, learnt, wrong: false }
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
    fn touch(
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

fn certainty(value: &Value, slot: usize) -> Certainty {
    match &value.taint {
        Some(taint) if taint.lanes.contains(slot) && taint.undefined => Certainty::Undefined,
        Some(taint) if taint.lanes.contains(slot) => Certainty::Unknown,
        _ => Certainty::Known,
    }
}

/// Results of lanes, with what may be said of them.
struct Gathered {
    column: Vec<u64>,
    unknown: Mask,
    undefined: Mask,
}

impl Gathered {
    fn new(slots: usize) -> Gathered {
        Gathered { column: vec![0; slots], unknown: Mask::empty(slots), undefined: Mask::empty(slots) }
    }

    fn note(&mut self, slot: usize, bits: u64, certainty: Certainty) {
        self.column[slot] = bits;
        match certainty {
            Certainty::Known => {}
            Certainty::Unknown => self.unknown.insert(slot),
            Certainty::Undefined => self.undefined.insert(slot),
        }
    }

    fn value(self, from: Provenance) -> Value {
        let undefined = !self.undefined.is_empty();
        let lanes = self.undefined.or(&self.unknown);
        let taint = (!lanes.is_empty()).then(|| Box::new(Taint { lanes, undefined }));
        Value { taint, from, ..Value::scalar(self.column) }
    }
}

impl<'a, R: Rules> Machine<'a, R> {
    fn predicting(&self) -> bool {
        matches!(self.pass, Pass::Predict { .. })
    }

    pub(super) fn load(
        &mut self,
        frame: &Frame,
        array: usize,
        index: &'a Node,
        a: &Mask,
        u: &Mask,
    ) -> Result<Value, Stop> {
        let index = self.eval(frame, index, a, u)?;
        let predicting = self.predicting();
        let open = self.memory.learnt.open && predicting;
        let from = self.memory.arrays[array].from.clone().or(&index.from).resting_on(self.steered);
        let mut found = Gathered::new(self.layout.slots);
        for slot in a.minus(&self.lost).slots() {
            let known = if open { Certainty::Unknown } else { Certainty::Known }.max(certainty(&index, slot));
            let at = index.columns[0][slot] as usize;
            let own = at == self.layout.index[slot] as usize;
            let array = &mut self.memory.arrays[array];
            // Only a faulty device gets out of range.
            if at >= array.cells.len() {
                continue;
            }
            let cell = self.rules.loaded(array.scalar, &array.cells, at);
            if known == Certainty::Known && predicting {
                array.touch(at, slot, self.layout.lane_of(slot), false, false)?;
            }
            let bits = match &array.at_subgroup_barrier {
                _ if self.rules.is_stale(array.storage, own) => array.at_barrier[0][at],
                Some([late, _]) if !own => late[at],
                _ => cell,
            };
            found.note(slot, bits, known.max(array.certainty[at]));
        }
        Ok(found.value(from))
    }

    pub(super) fn store(&mut self, array: usize, value: &Value, a: &Mask) -> Result<(), Stop> {
        let predicting = self.predicting();
        let state = &mut self.memory.arrays[array];
        state.from = std::mem::take(&mut state.from).or(&value.from);
        for slot in a.minus(&self.lost).slots() {
            let at = self.rules.slot(self.layout.index[slot] as usize, state.cells.len());
            let Some(cell) = state.cells.get_mut(at) else { continue };
            *cell = value.columns[0][slot];
            state.certainty[at] = certainty(value, slot);
            if let Some(other) = self.rules.clobbered(state.scalar, at, state.cells.len()) {
                state.cells[other] = 0;
            }
            if predicting {
                state.touch(at, slot, self.layout.lane_of(slot), true, false)?;
            }
        }
        Ok(())
    }

    pub(super) fn atomic(&mut self, frame: &mut Frame, code: &'a AtomicCode, a: &Mask, u: &Mask) -> Result<(), Stop> {
        let index = self.eval(frame, &code.index, a, u)?;
        let compare = code.compare.as_ref().map(|compare| self.eval(frame, compare, a, u)).transpose()?;
        let value = self.eval(frame, &code.value, a, u)?;
        let a = a.minus(&self.lost);
        let predicting = self.predicting();
        let open = self.memory.learnt.open && predicting;
        let from = index.from.clone().or(&value.from).or(&self.memory.arrays[code.array].from).resting_on(self.steered);
        self.memory.arrays[code.array].from = from.clone();
        let mut lanes: Vec<usize> = self.rules.atomic_lanes(&self.scopes, a.clone()).slots().collect();
        if self.rules.atomics_descend() {
            lanes.reverse();
        }
        if predicting {
            self.note_atomics(code, &index, &lanes)?;
        }
        let mut found = Gathered::new(self.layout.slots);
        let state = &mut self.memory.arrays[code.array];
        for slot in lanes {
            let at = index.columns[0][slot] as usize;
            let Some(&old) = state.cells.get(at) else { continue };
            let compared = compare.as_ref().map_or(0, |compare| compare.columns[0][slot]);
            let new = self.rules.atomic(code.op, state.scalar, old, value.columns[0][slot], compared);
            state.cells[at] = new;
            let touch = &mut state.touched[at];
            let contended =
                touch.several || self.memory.learnt.contended.contains(&(self.memory.phase, code.array, at));
            let operands =
                certainty(&value, slot).max(compare.as_ref().map_or(Certainty::Known, |c| certainty(c, slot)));
            let order = if contended || open { Certainty::Unknown } else { Certainty::Known };
            found.note(slot, old, order.max(state.certainty[at]).max(certainty(&index, slot)));
            touch.returned |= code.dest.is_some() && order == Certainty::Known;
            let settles = touch.op.is_none_or(|op| op.fold().is_some()) && !touch.mixed;
            let held = match code.op {
                // What was there is gone.
                AtomicOp::Exchange if !contended => operands,
                AtomicOp::Exchange
                | AtomicOp::Add
                | AtomicOp::Min
                | AtomicOp::Max
                | AtomicOp::And
                | AtomicOp::Or
                | AtomicOp::Xor
                | AtomicOp::CompSwap => operands.max(state.certainty[at]),
            };
            state.certainty[at] = if contended && !settles { held.max(Certainty::Unknown) } else { held };
        }
        if predicting && a.slots().any(|slot| certainty(&index, slot) != Certainty::Known) {
            // It may have been any element.
            for held in &mut state.certainty {
                *held = (*held).max(Certainty::Unknown);
            }
        }
        if let Some(dest) = code.dest {
            let mut old = found.value(from);
            if self.observing() || matches!(self.pass, Pass::Survey) {
                old.taint = None;
            }
            self.assign(frame, dest, old, &a);
        }
        Ok(())
    }

    /// Notes who touches what before anything is returned: lanes of one statement meet, too.
    fn note_atomics(&mut self, code: &AtomicCode, index: &Value, lanes: &[usize]) -> Result<(), Stop> {
        let Memory { arrays, phase, learnt, wrong } = &mut self.memory;
        let state = &mut arrays[code.array];
        for &slot in lanes.iter().filter(|&&slot| certainty(index, slot) == Certainty::Known) {
            let at = index.columns[0][slot] as usize;
            if at >= state.cells.len() {
                return Err(Stop::Invalid("an index out of range".into()));
            }
            state.touch(at, slot, self.layout.lane_of(slot), true, true)?;
            let touch = &mut state.touched[at];
            touch.mixed |= touch.op.is_some_and(|op| op != code.op);
            touch.op = Some(code.op);
            if touch.several && touch.returned && learnt.contended.insert((*phase, code.array, at)) {
                *wrong = true;
            }
            if touch.several && touch.mixed {
                state.certainty[at] = state.certainty[at].max(Certainty::Unknown);
            }
        }
        Ok(())
    }

    /// `barrier()`: everything written is there for everybody.
    pub(super) fn barrier(&mut self, a: &Mask) -> Result<(), Stop> {
        if self.predicting() && a.or(&self.lost) != self.layout.live {
            return Err(Stop::Invalid("barrier() is not executed by the whole workgroup".into()));
        }
        self.memory.phase += 1;
        let observing = self.observing();
        for array in &mut self.memory.arrays {
            array.touched.fill(Touch::default());
            if observing {
                array.at_barrier.swap(0, 1);
                array.at_barrier[1].clone_from(&array.cells);
                array.at_subgroup_barrier = None;
            }
        }
        Ok(())
    }

    /// `subgroupBarrier()` by lanes of a subgroup together: what they have written is there for each other (rule Y10).
    pub(super) fn subgroup_barrier(&mut self, subgroup: usize, here: u128) {
        let Subgroup { first, live, .. } = self.layout.subgroups[subgroup];
        let (predicting, observing) = (self.predicting(), self.observing());
        for array in &mut self.memory.arrays {
            let late = observing && self.rules.is_late(array.storage, here != live);
            if late && array.at_subgroup_barrier.is_none() {
                let found = array.at_barrier[1].clone();
                array.at_subgroup_barrier = Some([found.clone(), found]);
            }
            for lane in lanes(here) {
                let own = self.layout.index[first + lane] as usize;
                if let (Some([before, last]), Some(cell)) = (&mut array.at_subgroup_barrier, array.cells.get(own)) {
                    before[own] = if late { last[own] } else { *cell };
                    last[own] = *cell;
                }
                let Some(touch) = array.touched.get_mut(own).filter(|_| predicting) else { continue };
                if touch.writer == Some(first + lane) {
                    touch.behind.1 |= here;
                }
                if touch.readers.0 == subgroup {
                    touch.readers.1 &= !here;
                }
            }
        }
    }

    /// After a pass: lost lanes may have done anything to memory.
    pub(super) fn close_memory(&mut self) {
        let memory = &mut self.memory;
        if !self.lost.is_empty() && !memory.is_empty() && !memory.learnt.open {
            memory.learnt.open = true;
            memory.wrong = true;
        }
    }
}
