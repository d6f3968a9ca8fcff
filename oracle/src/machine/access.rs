//! What statements do to memory: loads, stores, atomics, and barriers.

use std::collections::BTreeMap;

use tangle_program::memory::AtomicOp;
use tangle_program::subgroup::lanes;

use super::frame::Frame;
use super::memory::{Certainty, Done, Gathered, Memory, Named, Touch, certainty};
use super::stop::Stop;
use super::{Machine, Pass};
use crate::lower::{AtomicCode, Node};
use crate::map::Subgroup;
use crate::mask::Mask;
use crate::rules::Rules;
use crate::value::Value;

/// What the lanes of a subgroup that execute one atomic statement together find in each element: by subgroup and element.
#[derive(Default)]
struct Together(BTreeMap<(usize, usize), Vec<u64>>);

impl Together {
    /// What lanes before this one found, and this one's added to it.
    fn before(&mut self, subgroup: usize, at: usize, old: u64) -> &[u64] {
        let found = self.0.entry((subgroup, at)).or_default();
        found.push(old);
        &found[..found.len() - 1]
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
            let array = &mut self.memory.arrays[array];
            let own = at / array.parts == self.layout.index[slot] as usize;
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
            let certainty = known.max(array.certainty[at]);
            found.note(slot, bits, certainty);
            let left = array.latest.get(&at).copied().filter(|_| predicting && known == Certainty::Known);
            if let (Some((_, history)), Certainty::Unknown) = (left, certainty) {
                found.name(slot, self.memory.name(Named::Left(history)));
            }
        }
        Ok(found.value(from))
    }

    pub(super) fn store(&mut self, array: usize, element: Option<&Value>, value: &Value, a: &Mask) -> Result<(), Stop> {
        let predicting = self.predicting();
        let state = &mut self.memory.arrays[array];
        state.from = std::mem::take(&mut state.from).or(&value.from);
        if let Some(element) = element {
            state.from = std::mem::take(&mut state.from).or(&element.from);
        }
        for slot in a.minus(&self.lost).slots() {
            let first = self.layout.index[slot] as usize * state.parts;
            let element_is = element.map_or(Certainty::Known, |element| certainty(element, slot));
            if element_is != Certainty::Known {
                // It may have been any of the lane's own.
                let own = first..(first + state.parts).min(state.cells.len());
                state.certainty[own].iter_mut().for_each(|held| *held = (*held).max(element_is));
                continue;
            }
            let element = element.map_or(0, |element| element.columns[0][slot] as usize);
            let at = self.rules.slot(first + element, state.cells.len());
            let Some(cell) = state.cells.get_mut(at) else { continue };
            *cell = value.columns[0][slot];
            state.certainty[at] = certainty(value, slot);
            state.latest.remove(&at);
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
        let mut together = Together::default();
        for slot in lanes {
            let at = index.columns[0][slot] as usize;
            let Some(&old) = self.memory.arrays[code.array].cells.get(at) else { continue };
            let compared = compare.as_ref().map_or(0, |compare| compare.columns[0][slot]);
            let operand = value.columns[0][slot];
            let operands =
                certainty(&value, slot).max(compare.as_ref().map_or(Certainty::Known, |c| certainty(c, slot)));
            if predicting && certainty(&index, slot) == Certainty::Known {
                let done = Done { op: code.op, value: operand, compare: compared };
                let known = operands == Certainty::Known;
                found.name(slot, self.memory.note_done((code.array, at), slot, done, known, &from));
            }
            let state = &mut self.memory.arrays[code.array];
            let new = self.rules.atomic(code.op, state.scalar, old, operand, compared);
            state.cells[at] = new;
            let before = together.before(self.layout.lane_of(slot).0, at, old);
            let returned = self.rules.returned(code.op, old, before);
            let touch = &mut state.touched[at];
            let contended =
                touch.several || self.memory.learnt.contended.contains(&(self.memory.phase, code.array, at));
            let order = if contended || open { Certainty::Unknown } else { Certainty::Known };
            found.note(slot, returned, order.max(state.certainty[at]).max(certainty(&index, slot)));
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
            self.memory.obscured = true;
            for held in &mut self.memory.arrays[code.array].certainty {
                *held = (*held).max(Certainty::Unknown);
            }
        }
        if let Some(dest) = code.dest {
            self.assign(frame, dest, found.value(from), &a);
        }
        Ok(())
    }

    /// Notes who touches what before anything is returned: lanes of one statement meet, too.
    fn note_atomics(&mut self, code: &AtomicCode, index: &Value, lanes: &[usize]) -> Result<(), Stop> {
        let Memory { arrays, phase, learnt, wrong, .. } = &mut self.memory;
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
            let parts = array.parts;
            let elements = |lane: usize| (0..parts).map(move |part| (lane, part));
            for (lane, part) in lanes(here).flat_map(elements) {
                let own = self.layout.index[first + lane] as usize * parts + part;
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
        memory.rests_on = self.steered;
        if !self.lost.is_empty() && !memory.is_empty() && !memory.learnt.open {
            memory.learnt.open = true;
            memory.wrong = true;
        }
    }
}
