//! Control flow: frames of constructs and calls, terminators, and where lanes wait for each other.

use std::cell::Cell;

use super::frame::{Frame, Kind, NO_BLOCK, Running};
use super::reasons::{NOWHERE, POISON};
use super::stop::Stop;
use super::{Machine, classes};
use crate::code::*;
use crate::faults::Planted;
use crate::lanes::Lanes;
use crate::outcome::Why;

impl<'a> Machine<'a> {
    /// The frame of a call of these lanes.
    pub(super) fn call_frame(&self, lanes: &Lanes, resume: (u32, u32)) -> Frame {
        self.frame(Kind::Call, lanes, [NO_BLOCK; 3], resume)
    }

    fn frame(&self, kind: Kind, lanes: &Lanes, [header, merge, continues]: [u32; 3], resume: (u32, u32)) -> Frame {
        let mut present = lanes.clone();
        if let (Some(outer), false) = (self.frames.last(), self.lost.is_empty()) {
            present.add(&outer.present.and(&self.lost));
        }
        Frame {
            kind,
            header,
            merge,
            continues,
            pending: Vec::new(),
            labels: Vec::new(),
            at_merge: Lanes::none(self.n),
            at_continue: Lanes::none(self.n),
            at_header: Lanes::none(self.n),
            resume,
            present,
            entry: self.entry(lanes),
        }
    }

    /// Enters a construct or a call. The sets of its frame count as memory.
    pub(super) fn push(&mut self, frame: Frame) -> Result<(), Stop> {
        self.memory.budget.take(frame.size(self.n))?;
        self.frames.push(frame);
        Ok(())
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.memory.budget.give(frame.size(self.n));
        Some(frame)
    }

    pub(super) fn make_active(&mut self, lanes: &Lanes) {
        if self.lanes == *lanes {
            return;
        }
        self.lanes.clone_from(lanes);
        self.active.clear();
        self.active.extend(lanes.iter().map(|slot| slot as u32));
        self.full = self.active.len() == self.n;
    }

    pub(super) fn enter_call(
        &mut self,
        callee: u32,
        inst: &Inst,
        resume: (u32, u32),
        lanes: Lanes,
    ) -> Result<Running, Stop> {
        let code = self.code;
        self.push(self.call_frame(&lanes, resume))?;
        let function = &code.functions[callee as usize];
        let mut arguments = code.pool[inst.ins.range()].to_vec();
        if self.is(Planted::CallArgumentsSwapped) && arguments.len() > 1 {
            arguments.swap(0, 1);
        }
        for (&param, &argument) in function.params.iter().zip(&arguments) {
            self.mov(param, argument);
        }
        self.enter_function(callee, &lanes);
        let entry = &code.blocks[function.entry as usize];
        Ok(Running { block: function.entry, at: entry.first, lanes })
    }

    /// Function variables begin anew at every call.
    pub(super) fn enter_function(&mut self, function: u32, lanes: &Lanes) {
        self.make_active(lanes);
        let code = self.code;
        let never = self.reasons.taint(Why::Uninitialised, NOWHERE);
        for &(reg, source) in &code.locals[function as usize] {
            if source != NONE {
                self.mov(reg, source);
            } else if self.full {
                self.columns.taints(reg).iter().for_each(|cell| cell.set(never));
                self.columns.tainted[reg as usize].set(true);
            } else {
                let taints = self.columns.taints(reg);
                self.active.iter().for_each(|&slot| taints[slot as usize].set(never));
                self.columns.tainted[reg as usize].set(true);
            }
        }
    }

    /// Lanes come to a block. A loop is entered at the begin of its header, with all that the header calls: the header is part of every iteration.
    pub(super) fn enter_block(&mut self, index: u32, block: &Block, lanes: &Lanes) -> Result<(), Stop> {
        let Merge::Loop(merge, continues) = block.merge else { return Ok(()) };
        if self.frames.last().is_some_and(|top| top.kind == Kind::Loop && top.header == index) {
            return Ok(());
        }
        self.push(self.frame(Kind::Loop, lanes, [index, merge, continues], (NO_BLOCK, 0)))
    }

    pub(super) fn terminator(&mut self, block: &'a Block, lanes: Lanes) -> Result<Option<Running>, Stop> {
        if let (Merge::Loop(..), true) = (block.merge, self.is(Planted::LoopEnteredBehindHeader)) {
            let entry = self.entry(&lanes);
            if let Some(frame) = self.frames.last_mut() {
                frame.entry = entry;
            }
        }
        if let Merge::Selection(merge) = block.merge {
            let mut frame = self.frame(Kind::Selection, &lanes, [NO_BLOCK, merge, NO_BLOCK], (NO_BLOCK, 0));
            if let Term2::Switch { labels, .. } = &block.term {
                frame.kind = Kind::Switch;
                let inside = labels.iter().filter(|label| **label != merge && !self.is_awaited(**label));
                frame.labels = inside.map(|label| (*label, Lanes::none(self.n))).collect();
            }
            self.push(frame)?;
        }
        match &block.term {
            Term2::Branch(edge) => Ok(self.take(edge, lanes)),
            Term2::Cond { cond, yes, no } => self.conditional(block, *cond, yes, no, lanes),
            Term2::Switch { selector, cases, default, .. } => self.switch(block, *selector, cases, default, lanes),
            Term2::Return(moves) => {
                for pair in self.code.pool[moves.range()].chunks_exact(2) {
                    self.mov(pair[0], pair[1]);
                }
                let nested = self.frames.last().is_some_and(|frame| frame.kind != Kind::Call);
                if nested && self.is(Planted::ReturnEndsInvocation) {
                    return Ok(None);
                }
                let forgets = self.is(Planted::CallKeepsOnlyLastReturn);
                if let Some(frame) = self.frames.iter_mut().rev().find(|frame| frame.kind == Kind::Call) {
                    if forgets {
                        frame.at_merge.take();
                    }
                    frame.at_merge.add(&lanes);
                }
                Ok(None)
            }
            Term2::Kill => {
                // Whether they go on as helpers is the implementation's choice; what they store is lost in any case.
                self.terminated.add(&lanes);
                self.helpers.add(&lanes);
                self.lost.add(&lanes);
                Ok(None)
            }
            Term2::Terminate => {
                if self.draw.is_some() {
                    self.terminated.add(&lanes);
                }
                Ok(None)
            }
            Term2::Undefined(rule) => {
                let slots = self.active.clone();
                Err(self.undefined(*rule, block.place, slots, String::new()))
            }
        }
    }

    /// The lanes whose control flow is known; the others are lost.
    fn decided(&mut self, reg: Reg, lanes: Lanes, place: u32) -> Result<Lanes, Stop> {
        if !self.columns.is_tainted(reg) {
            return Ok(lanes);
        }
        let mut known = Lanes::none(self.n);
        let mut poisoned = Vec::new();
        let mut taint = 0;
        for slot in lanes.iter() {
            match self.columns.taint(reg, slot) {
                0 => known.insert(slot),
                found if found & POISON != 0 => {
                    poisoned.push(slot as u32);
                    taint = found;
                }
                found => {
                    self.lost.insert(slot);
                    self.first_lost.get_or_insert((place, found));
                }
            }
        }
        if !poisoned.is_empty() {
            return Err(self.poison(place, poisoned, "condition", taint));
        }
        if !lanes.and(&self.lost).within(&self.helpers) {
            self.memory.lose();
        }
        Ok(known)
    }

    fn conditional(
        &mut self,
        block: &'a Block,
        cond: Reg,
        yes: &'a Edge,
        no: &'a Edge,
        lanes: Lanes,
    ) -> Result<Option<Running>, Stop> {
        let lanes = self.decided(cond, lanes, block.place)?;
        if yes.to == no.to {
            return Ok(self.take(yes, lanes));
        }
        let mut taken = Lanes::none(self.n);
        let column = self.columns.bits(cond);
        lanes.iter().filter(|&slot| column[slot].get() != 0).for_each(|slot| taken.insert(slot));
        let mut other = lanes.clone();
        other.remove(&taken);
        if self.is(Planted::ConditionOfFirstLane) && !taken.is_empty() && !other.is_empty() {
            let first_holds = lanes.iter().next().is_some_and(|first| taken.contains(first));
            let (all, none) = (lanes.clone(), Lanes::none(self.n));
            (taken, other) = if first_holds { (all, none) } else { (none, all) };
        }
        if !taken.is_empty() && !other.is_empty() {
            self.diverge(&lanes, |slot| u64::from(taken.contains(slot)));
        }
        let first = self.take(yes, taken);
        let second = self.take(no, other);
        Ok(self.one_of(first, second))
    }

    fn switch(
        &mut self,
        block: &'a Block,
        selector: Reg,
        cases: &'a [(u64, Edge)],
        default: &'a Edge,
        lanes: Lanes,
    ) -> Result<Option<Running>, Stop> {
        let lanes = self.decided(selector, lanes, block.place)?;
        let mut values: Vec<(u64, Lanes)> = Vec::new();
        for slot in lanes.iter() {
            let value = self.columns.bits(selector)[slot].get();
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, set)) => set.insert(slot),
                None => {
                    let mut set = Lanes::none(self.n);
                    set.insert(slot);
                    values.push((value, set));
                }
            }
        }
        if values.len() > 1 {
            let column = self.columns.bits(selector);
            let decisions: Vec<u64> = column.iter().map(Cell::get).collect();
            self.diverge_at_switch(&lanes, |slot| decisions[slot]);
        }
        let mut next = None;
        self.dispatching = true;
        for (value, set) in values {
            let matching = cases.iter().find(|(case, _)| *case == value).map(|(_, edge)| edge);
            let edge = match matching {
                Some(edge) if !self.is(Planted::SwitchDefaultOnly) => edge,
                _ => default,
            };
            let one = self.take(edge, set);
            next = self.one_of(next, one);
        }
        self.dispatching = false;
        Ok(next)
    }

    /// Of two tangles that can run, one runs and the other one is put aside.
    fn one_of(&mut self, first: Option<Running>, second: Option<Running>) -> Option<Running> {
        let (first, second) = match (first, second) {
            (Some(first), Some(second)) => (first, second),
            (first, second) => return first.or(second),
        };
        if first.block == second.block {
            let mut first = first;
            first.lanes.add(&second.lanes);
            return Some(first);
        }
        if let Some(frame) = self.frames.last_mut() {
            match frame.pending.iter_mut().find(|(block, _)| *block == second.block) {
                Some((_, lanes)) => lanes.add(&second.lanes),
                None => frame.pending.push((second.block, second.lanes)),
            }
        }
        Some(first)
    }

    /// Lanes go along an edge.
    pub(super) fn take(&mut self, edge: &'a Edge, lanes: Lanes) -> Option<Running> {
        if lanes.is_empty() {
            return None;
        }
        let moves = &self.code.pool[edge.moves.range()];
        let is_back_edge = |frame: &Frame| frame.kind == Kind::Loop && frame.header == edge.to;
        let forgotten = self.is(Planted::PhiOfOtherEdge) && self.frames.iter().any(is_back_edge);
        if !moves.is_empty() && !forgotten {
            self.phis(moves, edge.overlap, &lanes);
        }
        self.arrive(edge.to, lanes)
    }

    /// All phis of a block take their values at once (SPIR-V 1.6 `OpPhi`).
    fn phis(&mut self, moves: &[Reg], overlap: bool, lanes: &Lanes) {
        let overlap = overlap && !self.is(Planted::PhisOneByOne);
        if !self.expansions.is_empty() {
            self.hand_on_phis(moves, lanes);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        for slot in lanes.iter() {
            scratch.clear();
            for pair in moves.chunks_exact(2) {
                if overlap {
                    scratch.push(self.columns.get(pair[1], slot));
                } else {
                    let (bits, taint) = self.columns.get(pair[1], slot);
                    self.columns.set(pair[0], slot, bits, taint);
                }
            }
            for (pair, (bits, taint)) in moves.chunks_exact(2).zip(&scratch) {
                self.columns.set(pair[0], slot, *bits, *taint);
            }
        }
        self.scratch = scratch;
    }

    /// True if an open construct of this call waits at a block.
    fn is_awaited(&self, block: u32) -> bool {
        for frame in self.frames.iter().rev() {
            if frame.kind == Kind::Call {
                return false;
            }
            let label = frame.labels.iter().any(|(label, _)| *label == block);
            if frame.header == block || frame.merge == block || frame.continues == block || label {
                return true;
            }
        }
        false
    }

    /// Lanes come to a block: they wait where an open construct reconverges there, or else run on.
    fn arrive(&mut self, block: u32, lanes: Lanes) -> Option<Running> {
        let fault = self.fault;
        let is = |planted| fault == Some(planted);
        let falls_through = !self.dispatching;
        for frame in self.frames.iter_mut().rev() {
            if frame.kind == Kind::Call {
                break;
            }
            let waits = if frame.header == block {
                &mut frame.at_header
            } else if frame.merge == block {
                let mixes = is(Planted::IterationsMix) && !frame.at_continue.is_empty();
                if mixes { &mut frame.at_continue } else { &mut frame.at_merge }
            } else if frame.continues == block && !is(Planted::ContinueNotAwaited) {
                &mut frame.at_continue
            } else if let Some((_, waits)) = frame.labels.iter_mut().find(|(label, _)| *label == block) {
                if falls_through && is(Planted::SwitchLosesFallthrough) { &mut frame.at_merge } else { waits }
            } else {
                continue;
            };
            waits.add(&lanes);
            return None;
        }
        let at = self.code.blocks[block as usize].first;
        Some(Running { block, at, lanes })
    }

    /// Nobody can run on: the innermost construct says who is next. `None` at the end of the workgroup.
    #[allow(clippy::option_option, reason = "the end, nobody yet, or somebody")]
    pub(super) fn next(&mut self) -> Result<Option<Option<Running>>, Stop> {
        let Some(frame) = self.frames.last_mut() else { return Ok(None) };
        if let Some((block, lanes)) = frame.pending.pop() {
            return Ok(Some(self.run_at(block, lanes)));
        }
        match frame.kind {
            Kind::Switch => {
                if let Some((label, waits)) = frame.labels.iter_mut().find(|(_, waits)| !waits.is_empty()) {
                    let (label, lanes) = (*label, waits.take());
                    return Ok(Some(self.run_at(label, lanes)));
                }
            }
            Kind::Loop => {
                if !frame.at_continue.is_empty() {
                    let (block, lanes) = (frame.continues, frame.at_continue.take());
                    self.reconverge_iteration(&lanes);
                    return Ok(Some(self.run_at(block, lanes)));
                }
                if !frame.at_header.is_empty() {
                    let (block, lanes) = (frame.header, frame.at_header.take());
                    if frame.continues == block {
                        self.reconverge_iteration(&lanes);
                    }
                    return Ok(Some(self.run_at(block, lanes)));
                }
            }
            Kind::Selection | Kind::Call => {}
        }
        let Some(frame) = self.pop() else { return Ok(None) };
        let lanes = frame.at_merge;
        if frame.kind == Kind::Call {
            if self.frames.is_empty() {
                return Ok(None);
            }
            if lanes.is_empty() {
                return Ok(Some(None));
            }
            return Ok(Some(Some(self.leave_call(frame.resume, frame.entry, lanes))));
        }
        if lanes.is_empty() {
            return Ok(Some(None));
        }
        self.reconverge_at_merge(&frame.entry, &lanes);
        if self.is(Planted::MergeLosesLane) && lanes.count() > 1 && frame.kind == Kind::Loop {
            let mut kept = lanes.clone();
            let mut last = Lanes::none(self.n);
            lanes.iter().last().into_iter().for_each(|slot| last.insert(slot));
            kept.remove(&last);
            let first = self.arrive(frame.merge, kept);
            let second = self.arrive(frame.merge, last);
            return Ok(Some(self.one_of_apart(first, second)));
        }
        if self.is(Planted::SelectionNotMerged) && frame.kind == Kind::Selection && lanes.count() > 1 {
            let mut low = Lanes::none(self.n);
            lanes.iter().filter(|slot| slot % 2 == 0).for_each(|slot| low.insert(slot));
            let mut high = lanes.clone();
            high.remove(&low);
            if !low.is_empty() && !high.is_empty() {
                let first = self.arrive(frame.merge, low);
                let second = self.arrive(frame.merge, high);
                return Ok(Some(self.one_of_apart(first, second)));
            }
        }
        Ok(Some(self.arrive(frame.merge, lanes)))
    }

    /// For planted faults: two tangles at one block that stay apart.
    fn one_of_apart(&mut self, first: Option<Running>, second: Option<Running>) -> Option<Running> {
        match (first, second) {
            (Some(first), Some(second)) => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.pending.push((second.block, second.lanes));
                }
                Some(first)
            }
            (first, second) => first.or(second),
        }
    }

    fn run_at(&self, block: u32, lanes: Lanes) -> Option<Running> {
        Some(Running { block, at: self.code.blocks[block as usize].first, lanes })
    }

    /// All lanes that returned go on after the call.
    fn leave_call(&mut self, (block, at): (u32, u32), entry: classes::Entry, lanes: Lanes) -> Running {
        let code = self.code;
        let inst = &code.insts[at as usize];
        let mut receiving = lanes.clone();
        if self.is(Planted::ResultNotCopied) && lanes.count() > 1 {
            let mut lowest = Lanes::none(self.n);
            lanes.iter().take(1).for_each(|slot| lowest.insert(slot));
            receiving.remove(&lowest);
        }
        self.make_active(&receiving);
        if let Op::Call(callee) = inst.op {
            let results = &code.functions[callee as usize].results;
            for (&out, &result) in code.pool[inst.outs.range()].iter().zip(results) {
                self.mov(out, result);
            }
        }
        self.reconverge_after_call(&entry, &lanes);
        Running { block, at: at + 1, lanes }
    }
}
