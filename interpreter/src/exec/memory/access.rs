//! Instructions that access memory: access chains, loads, stores; atomics are in `atomic.rs`.

use super::order::{Clash, Touched};
use super::sparse::PAGE;
use super::{Bytes, Memory, SCALARS_PER_STEP, read, write};
use crate::alu;
use crate::code::*;
use crate::exec::Machine;
use crate::exec::reasons::{POISON, location};
use crate::exec::stop::Stop;
use crate::faults::Planted;
use crate::outcome::{Rule, Why};
use crate::trace::Write;
use crate::types::Scalar;

impl Memory {
    /// A race, in words.
    fn race(&self, code: &Code, object: u32, offset: u64, other: u32, wrote: bool) -> String {
        let (workgroup, invocation) = ((other - 1) / self.n, (other - 1) % self.n);
        let verb = if wrote { "wrote" } else { "read" };
        let what = self.name(code, object);
        format!("byte {offset} of {what}, which invocation {invocation} of workgroup {workgroup} {verb}")
    }

    /// What an object is called in messages.
    fn name(&self, code: &Code, object: u32) -> String {
        let variable = self.objects[object as usize].object;
        match variable.map(|object| &code.objects[object as usize].kind) {
            Some(ObjectKind::Buffer { set, binding, texel, .. }) => {
                format!("{} {set}.{binding}", if *texel > 0 { "image" } else { "buffer" })
            }
            Some(ObjectKind::Workgroup(_)) => "workgroup memory".to_owned(),
            Some(ObjectKind::Push) => "the push constants".to_owned(),
            _ => "memory".to_owned(),
        }
    }

    /// Of the races that depended on what invocations do later, the first one that is certain: where, of which workgroup and invocation, in words.
    pub fn late_race(&self, code: &Code) -> Option<(u32, u32, u32, String)> {
        let found = self.sync.as_ref()?.certain()?;
        let (workgroup, slot) = ((found.invocation - 1) / self.n, (found.invocation - 1) % self.n);
        let offset = found.granule as u64 * self.granule;
        Some((found.place, workgroup, slot, self.race(code, found.object, offset, found.other, found.wrote)))
    }
}

/// What a lane accesses.
enum Reached {
    /// An object, from an offset on.
    Inside(u32, u64),
    /// What an open pointer leads to, with this taint.
    Open(u64, u32),
    /// A texel outside of its image.
    Nothing,
}

impl Machine<'_> {
    pub(crate) fn chain(&mut self, inst: &Inst, chain: u32) {
        let code = self.code;
        let chain = &code.chains[chain as usize];
        let fixed = match chain.base {
            Base::Cells(first) => Some(u64::from(first)),
            Base::Bytes { object, offset } => Some((u64::from(object) + 1) << OFFSET_BITS | offset),
            Base::Reg(_) => None,
        };
        if self.plain_chain(inst, chain, fixed) {
            return;
        }
        let bounds = self.reasons.taint(Why::OutOfBounds, inst.place);
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (mut pointer, mut taint) = match (fixed, chain.base) {
                (Some(fixed), _) => (fixed, 0),
                (None, Base::Reg(reg)) => self.columns.get(reg, slot),
                (None, _) => (0, 0),
            };
            pointer = pointer.wrapping_add(chain.offset);
            for term in &chain.terms {
                let (index, t) = self.columns.get(term.index, slot);
                let index = alu::signed(index, term.width);
                if t != 0 {
                    taint = taint.max(self.reasons.derived(t));
                    continue;
                }
                let outside = match term.limit {
                    Some(limit) => index < 0 || index as u64 >= limit,
                    // A run-time array has no negative index; its end is known when it is accessed.
                    None => chain.space == Space::Bytes && (index < 0 || index as u64 >= 1 << (OFFSET_BITS - 8)),
                };
                if outside {
                    taint = taint.max(bounds);
                    continue;
                }
                let fits = term.limit.is_some_and(|limit| index as u64 + 1 < limit);
                let index = index + i64::from(fits && self.is(Planted::IndexOffByOne));
                pointer = pointer.wrapping_add((index as u64).wrapping_mul(term.stride));
            }
            self.columns.set(inst.d, slot, pointer, taint);
        }
        if self.full {
            let any = self.columns.taints(inst.d).iter().any(|taint| taint.get() != 0);
            self.columns.tainted[inst.d as usize].set(any);
        }
    }

    /// The same where nothing is undefined, open or out of bounds; false if it cannot be done so.
    fn plain_chain(&mut self, inst: &Inst, chain: &Chain, fixed: Option<u64>) -> bool {
        let base = match chain.base {
            Base::Reg(reg) if fixed.is_none() => Some(reg),
            _ => None,
        };
        let tainted = |reg: Reg| self.columns.is_tainted(reg);
        if base.is_some_and(tainted) || chain.terms.iter().any(|term| tainted(term.index)) || self.fault.is_some() {
            return false;
        }
        let first = fixed.unwrap_or(0).wrapping_add(chain.offset);
        match base {
            Some(reg) => self.each1(inst.d, reg, |pointer| first.wrapping_add(pointer)),
            None => self.each_active(inst.d, |_| first),
        }
        for term in &chain.terms {
            let limit = match term.limit {
                Some(limit) => limit,
                None if chain.space == Space::Bytes => 1 << (OFFSET_BITS - 8),
                None => return false,
            };
            let mut outside = false;
            self.each2(inst.d, inst.d, term.index, |pointer, index| {
                let index = alu::signed(index, term.width) as u64;
                outside |= index >= limit;
                pointer.wrapping_add(index.wrapping_mul(term.stride))
            });
            if outside {
                return false;
            }
        }
        self.clear(inst.d);
        true
    }

    /// A pointer that may be used: behaviour is undefined if it is undefined; an open one gives its taint.
    #[inline]
    pub(super) fn usable(&mut self, inst: &Inst, slot: usize, base: Base) -> Result<(u64, u32), Stop> {
        let (pointer, taint) = match base {
            Base::Cells(first) => (u64::from(first), 0),
            Base::Bytes { object, offset } => ((u64::from(object) + 1) << OFFSET_BITS | offset, 0),
            Base::Reg(reg) if !self.columns.is_tainted(reg) => (self.columns.bits(reg)[slot].get(), 0),
            Base::Reg(reg) => self.columns.get(reg, slot),
        };
        if taint & POISON != 0 {
            return Err(self.poison(inst.place, vec![slot as u32], "address", taint));
        }
        Ok((pointer, taint))
    }

    #[inline]
    pub(super) fn located(
        &mut self,
        inst: &Inst,
        slot: usize,
        space: Space,
        pointer: u64,
        end: u64,
    ) -> Result<(u32, u64), Stop> {
        let found = self.memory.resolve(space, pointer);
        if let Some((object, offset)) = found {
            let bytes = &self.memory.objects[object as usize];
            let length = bytes.bytes.len() as u64;
            if bytes.several_ways {
                self.memory.through = Memory::way(space, pointer);
            }
            if offset.checked_add(end).is_some_and(|end| end <= length) {
                return Ok((object, offset));
            }
        }
        Err(self.outside(inst, slot, found, pointer, end))
    }

    #[cold]
    fn outside(&self, inst: &Inst, slot: usize, found: Option<(u32, u64)>, pointer: u64, end: u64) -> Stop {
        if let Some((object, offset)) = found {
            let length = self.memory.objects[object as usize].bytes.len();
            let name = self.memory.name(self.code, object);
            let detail = format!("bytes {offset} to {} of {name}, which has {length}", offset.saturating_add(end));
            return self.undefined(Rule::OutOfBounds, inst.place, vec![slot as u32], detail);
        }
        let detail = format!("no buffer has the address {pointer:#x}");
        self.undefined(Rule::OutOfBounds, inst.place, vec![slot as u32], detail)
    }

    /// The address of an access is as aligned as it has to be.
    #[inline]
    fn aligned(&self, inst: &Inst, slot: usize, access: &Access, pointer: u64) -> Result<(), Stop> {
        let Some((offset, alignment)) = access.aligned else { return Ok(()) };
        let address = pointer.wrapping_add(offset);
        if address.is_multiple_of(alignment) || self.is(Planted::AlignmentIgnored) {
            return Ok(());
        }
        let detail = format!("{address:#x} is no multiple of {alignment}");
        Err(self.undefined(Rule::Misaligned, inst.place, vec![slot as u32], detail))
    }

    /// Why what an invocation reads there may already be what is written behind it, if it may: an earlier run has found that out.
    #[inline]
    fn hidden(&self, object: u32, first: u64, size: u64) -> Option<Why> {
        let hidden = &self.knowledge.hidden;
        if hidden.is_empty() {
            return None;
        }
        let granule = u64::from(self.code.granule.max(1));
        let mut granules = first / granule..=(first + size - 1) / granule;
        granules.find_map(|at| hidden.get(&(object, at as u32)).copied())
    }

    pub(super) fn clash(&self, inst: &Inst, slot: usize, object: u32, offset: u64, clash: Clash) -> Stop {
        let (other, wrote) = match clash {
            Clash::Race(other, wrote) => (other, wrote),
            Clash::Stop(stop) => return stop,
        };
        let detail = self.memory.race(self.code, object, offset, other, wrote);
        self.undefined(Rule::DataRace, inst.place, vec![slot as u32], detail)
    }

    // ---- accesses ----

    /// The object that all lanes access, if it is one, to which there is one way, and all of them are inside of it.
    fn common_object(&self, access: &Access) -> Option<u32> {
        if access.space != Space::Bytes || access.texel {
            return None;
        }
        let pointer = |slot: u32| match access.base {
            Base::Bytes { object, offset } => Some((u64::from(object) + 1) << OFFSET_BITS | offset),
            Base::Reg(reg) if !self.columns.is_tainted(reg) => Some(self.columns.bits(reg)[slot as usize].get()),
            Base::Reg(_) | Base::Cells(_) => None,
        };
        let first = pointer(*self.active.first()?)?;
        let (object, _) = self.memory.resolve(access.space, first)?;
        let bytes = &self.memory.objects[object as usize];
        let room = (bytes.bytes.len() as u64).checked_sub(access.end).filter(|_| !bytes.several_ways)?;
        let begin = first & !OFFSET_MASK;
        let inside = |slot: &u32| pointer(*slot).is_some_and(|pointer| pointer.wrapping_sub(begin) <= room);
        self.active.iter().all(inside).then_some(object)
    }

    /// What a lane accesses.
    #[inline(always)]
    fn reached(&mut self, inst: &Inst, slot: usize, access: &Access, common: Option<u32>) -> Result<Reached, Stop> {
        if let Some(object) = common {
            let offset = match access.base {
                Base::Bytes { offset, .. } => offset,
                Base::Reg(reg) => self.columns.bits(reg)[slot].get() & OFFSET_MASK,
                Base::Cells(_) => 0,
            };
            return Ok(Reached::Inside(object, offset));
        }
        let (pointer, open) = self.usable(inst, slot, access.base)?;
        if open != 0 {
            return Ok(Reached::Open(pointer, open));
        }
        if access.texel && pointer == NO_TEXEL {
            return Ok(Reached::Nothing);
        }
        self.aligned(inst, slot, access, pointer)?;
        let (object, offset) = self.located(inst, slot, access.space, pointer, access.end)?;
        Ok(Reached::Inside(object, offset))
    }

    /// A descriptor that an index without `NonUniform` has chosen is the same in all lanes of a subgroup that access it together (Vulkan,
    /// VUID-RuntimeSpirv-subgroupSize-10149). Descriptors of one buffer are not distinguished.
    pub(super) fn one_descriptor(&mut self, inst: &Inst, access: &Access) -> Result<(), Stop> {
        if !access.uniform_descriptor {
            return Ok(());
        }
        let mut chosen: Vec<(u32, u32)> = Vec::new();
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (pointer, open) = self.usable(inst, slot, access.base)?;
            if open != 0 || access.texel && pointer == NO_TEXEL {
                continue;
            }
            let Some((object, _)) = self.memory.resolve(access.space, pointer) else { continue };
            let subgroup = self.layout.places[slot].subgroup;
            match chosen.iter().find(|(of, _)| *of == subgroup) {
                None => chosen.push((subgroup, object)),
                Some((_, first)) if *first == object => {}
                Some(_) => {
                    let slots = self.active.clone();
                    return Err(self.undefined(Rule::NonUniformDescriptor, inst.place, slots, String::new()));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn load(&mut self, inst: &Inst, access: u32) -> Result<(), Stop> {
        let code = self.code;
        let access = &code.accesses[access as usize];
        self.one_descriptor(inst, access)?;
        let outs = &code.pool[inst.outs.range()];
        self.steps += outs.len() as u64 / SCALARS_PER_STEP;
        if access.space == Space::Cells {
            return self.load_cells(inst, access, outs);
        }
        for &out in outs {
            self.clear(out);
        }
        if self.load_unchanging(access, outs) {
            return Ok(());
        }
        let common = self.common_object(access);
        let layout = self.layout;
        self.memory.place = inst.place;
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (object, offset) = match self.reached(inst, slot, access, common)? {
                Reached::Inside(object, offset) => (object, offset),
                open => {
                    let taint = match open {
                        Reached::Open(_, taint) => self.reasons.derived(taint),
                        _ => self.reasons.taint(Why::OutsideImage, inst.place),
                    };
                    outs.iter().for_each(|&out| self.columns.set(out, slot, 0, taint));
                    continue;
                }
            };
            for (&(leaf, scalar), &out) in access.leaves.iter().zip(outs) {
                let (first, size) = (offset + u64::from(leaf), u64::from(scalar.bytes()));
                let mut taint = 0;
                if access.volatile {
                    taint = self.volatile(inst, (object, first, size), slot, false, access.sharing)?;
                } else {
                    match self.memory.touch((object, first, size), slot, false, access.sharing, layout) {
                        Ok(why) => {
                            if let Some(why) = why.or_else(|| self.hidden(object, first, size)) {
                                taint = self.reasons.taint(why, inst.place);
                            }
                        }
                        Err(clash) => return Err(self.clash(inst, slot, object, first, clash)),
                    }
                }
                let bytes = &self.memory.objects[object as usize];
                let at = first as usize;
                let value = scalar_at(&bytes.bytes[at..], scalar);
                taint = taint.max(bytes.taint(at, size as usize));
                if taint == 0 {
                    // Cleared before.
                    self.columns.bits(out)[slot].set(value);
                } else {
                    self.columns.set(out, slot, value, taint);
                }
            }
        }
        Ok(())
    }

    /// Loads what nobody can write, for all lanes in one step: nothing is noted of such accesses, and every byte is determined. False if there is more to it.
    fn load_unchanging(&self, access: &Access, outs: &[Reg]) -> bool {
        if access.space != Space::Bytes || access.volatile || access.texel {
            return false;
        }
        match access.base {
            Base::Bytes { object, offset } => {
                let Some(bytes) = self.memory.unchanging(object) else { return false };
                let Some(bytes) = bytes.get(offset as usize..).filter(|bytes| bytes.len() as u64 >= access.end) else {
                    return false;
                };
                for (&(leaf, scalar), &out) in access.leaves.iter().zip(outs) {
                    let value = scalar_at(&bytes[leaf as usize..], scalar);
                    self.each_active(out, |_| value);
                }
                true
            }
            Base::Reg(reg) if !self.columns.is_tainted(reg) => {
                let pointers = self.columns.bits(reg);
                let Some(&first) = self.active.first() else { return false };
                let object = pointers[first as usize].get() >> OFFSET_BITS;
                let Some(bytes) = object.checked_sub(1).and_then(|object| self.memory.unchanging(object as u32)) else {
                    return false;
                };
                let Some(room) = (bytes.len() as u64).checked_sub(access.end) else { return false };
                let begin = object << OFFSET_BITS;
                let inside = |slot: usize| pointers[slot].get().wrapping_sub(begin) <= room;
                if !self.active.iter().all(|&slot| inside(slot as usize)) {
                    return false;
                }
                for (&(leaf, scalar), &out) in access.leaves.iter().zip(outs) {
                    let bytes = &bytes[leaf as usize..];
                    let at = |slot: usize| (pointers[slot].get() - begin) as usize;
                    match scalar.bytes() {
                        4 => self.each_active(out, |slot| read(&bytes[at(slot)..], 4)),
                        _ => self.each_active(out, |slot| scalar_at(&bytes[at(slot)..], scalar)),
                    }
                }
                true
            }
            Base::Reg(_) | Base::Cells(_) => false,
        }
    }

    fn load_cells(&mut self, inst: &Inst, access: &Access, outs: &[Reg]) -> Result<(), Stop> {
        if let Base::Cells(first) = access.base {
            for (&(cell, _), &out) in access.leaves.iter().zip(outs) {
                self.mov(out, first + cell);
            }
            return Ok(());
        }
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (pointer, open) = self.usable(inst, slot, access.base)?;
            for (&(cell, _), &out) in access.leaves.iter().zip(outs) {
                let (bits, taint) = match self.cell(pointer, cell) {
                    _ if open != 0 => (0, self.reasons.derived(open)),
                    Some(reg) => {
                        self.hand_on(out, reg, slot);
                        self.columns.get(reg, slot)
                    }
                    None => {
                        return Err(self.undefined(Rule::OutOfBounds, inst.place, vec![slot as u32], String::new()));
                    }
                };
                self.columns.set(out, slot, bits, taint);
            }
        }
        if self.full {
            for &out in outs {
                let any = self.columns.taints(out).iter().any(|taint| taint.get() != 0);
                self.columns.tainted[out as usize].set(any);
            }
        }
        Ok(())
    }

    fn cell(&self, pointer: u64, cell: u32) -> Option<Reg> {
        let reg = u32::try_from(pointer).ok()?.checked_add(cell)?;
        (reg < self.code.columns).then_some(reg)
    }

    pub(crate) fn store(&mut self, inst: &Inst, access: u32) -> Result<(), Stop> {
        let code = self.code;
        let access = &code.accesses[access as usize];
        self.one_descriptor(inst, access)?;
        let ins = &code.pool[inst.ins.range()];
        self.steps += ins.len() as u64 / SCALARS_PER_STEP;
        if access.read_only {
            let slots = self.active.clone();
            return Err(self.undefined(Rule::ReadOnly, inst.place, slots, String::new()));
        }
        if access.space == Space::Cells {
            return self.store_cells(inst, access, ins);
        }
        self.without_helpers(|this| this.store_bytes(inst, access, ins))
    }

    fn store_bytes(&mut self, inst: &Inst, access: &Access, ins: &[Reg]) -> Result<(), Stop> {
        let common = self.common_object(access);
        let layout = self.layout;
        self.memory.place = inst.place;
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (object, offset) = match self.reached(inst, slot, access, common)? {
                Reached::Inside(object, offset) => (object, offset),
                Reached::Open(pointer, _) => {
                    self.store_anywhere(inst, access.space, pointer, access.volatile)?;
                    continue;
                }
                Reached::Nothing => continue,
            };
            if self.memory.objects[object as usize].read_only {
                return Err(self.undefined(Rule::ReadOnly, inst.place, vec![slot as u32], String::new()));
            }
            for (&(leaf, scalar), &reg) in access.leaves.iter().zip(ins) {
                let (first, size) = (offset + u64::from(leaf), u64::from(scalar.bytes()));
                let (value, mut taint) = self.columns.get(reg, slot);
                if access.volatile {
                    taint = taint.max(self.volatile(inst, (object, first, size), slot, true, access.sharing)?);
                } else {
                    match self.memory.touch((object, first, size), slot, true, access.sharing, layout) {
                        Ok(None) => {}
                        // Another's write may come later.
                        Ok(Some(why)) => taint = taint.max(self.reasons.taint(why, inst.place)),
                        Err(_)
                            if taint == 0
                                && self.stores_equal((object, first, size), slot, value, access.sharing)? =>
                        {
                            continue;
                        }
                        Err(clash) => return Err(self.clash(inst, slot, object, first, clash)),
                    }
                }
                if self.observer.is_some() {
                    self.show_write(inst, slot, (object, first as usize), size as usize, (value, taint));
                }
                self.write(object, first as usize, size as usize, value, taint)?;
            }
        }
        Ok(())
    }

    /// The taint of a volatile access. Programs wait for each other by such accesses, so that a race of theirs is not called undefined; what they read
    /// and write there is open, as of atomics by running again.
    fn volatile(
        &mut self,
        inst: &Inst,
        (object, first, size): Touched,
        slot: usize,
        writes: bool,
        sharing: Sharing,
    ) -> Result<u32, Stop> {
        if self.is(Planted::VolatileInOrder) {
            return Ok(0);
        }
        if self.may_be_anywhere(object) {
            return Ok(self.reasons.taint(Why::Path, inst.place));
        }
        let key = (object, (first / u64::from(self.code.granule.max(1))) as u32);
        let is_open = self.knowledge.contended.contains(&key);
        let found = match is_open {
            true => Ok(Some(Why::Order)),
            false => self.memory.touch((object, first, size), slot, writes, sharing, self.layout),
        };
        match found {
            Ok(None) => return Ok(0),
            Err(Clash::Stop(stop)) => return Err(stop),
            Ok(Some(_)) | Err(Clash::Race(..)) if is_open => {}
            Ok(Some(_)) | Err(Clash::Race(..)) => {
                if self.memory.contended.insert(key) {
                    self.memory.budget.take(4 * size_of::<(u32, u32)>())?;
                }
            }
        }
        Ok(self.reasons.taint(Why::Order, inst.place))
    }

    /// True if another invocation may write to any byte of an object now, by an atomic or a volatile store at an open address.
    pub(super) fn may_be_anywhere(&self, object: u32) -> bool {
        let bytes = &self.memory.objects[object as usize];
        let barriers = self.memory.barriers[bytes.domain];
        let found = self.knowledge.may_be_anywhere(self.workgroup, object, bytes.domain != 0, barriers);
        found && !self.is(Planted::OpenAddressInOrder)
    }

    /// True if this is a store of what is there, and such stores are allowed: [`PipelineOptions::equal_stores`](crate::PipelineOptions).
    fn stores_equal(
        &mut self,
        (object, first, size): Touched,
        slot: usize,
        value: u64,
        sharing: Sharing,
    ) -> Result<bool, Stop> {
        let bytes = &self.memory.objects[object as usize];
        let (at, length) = (first as usize, size as usize);
        let same = bytes.bytes[at..at + length] == value.to_le_bytes()[..length] && bytes.taint(at, length) == 0;
        if self.memory.equal.is_none() || !same {
            return Ok(false);
        }
        self.memory.touch_equal((object, first, size), slot, sharing, self.layout)
    }

    /// Shows an observer what is about to be written.
    pub(super) fn show_write(
        &mut self,
        inst: &Inst,
        slot: usize,
        (object, offset): (u32, usize),
        bytes: usize,
        (value, taint): (u64, u32),
    ) {
        let Some(observer) = self.observer.take() else { return };
        if let Some(buffer) = self.memory.of_buffer.iter().position(|known| *known == Some(object)) {
            let there = &self.memory.objects[object as usize];
            let before = (there.taint(offset, bytes) == 0).then(|| read(&there.bytes[offset..], bytes));
            observer.wrote(&Write {
                location: location(self.code, self.names, inst.place),
                workgroup: self.workgroup,
                local_index: slot as u32,
                buffer,
                offset,
                bytes,
                value: (taint == 0).then_some(value),
                before,
            });
        }
        self.observer = Some(observer);
    }

    #[inline]
    pub(super) fn write(&mut self, object: u32, at: usize, size: usize, value: u64, taint: u32) -> Result<(), Stop> {
        let Memory { objects, budget, .. } = &mut *self.memory;
        let Bytes { bytes, taints, .. } = &mut objects[object as usize];
        write(&mut bytes[at..], value, size);
        let (page, within) = (at / PAGE, at % PAGE);
        if taint == taints.fill && !matches!(taints.pages.get(page), Some(Some(_))) && within + size <= PAGE {
            return Ok(());
        }
        if within + size <= PAGE {
            taints.page(page, bytes.len(), budget)?[within..within + size].fill(taint);
            return Ok(());
        }
        for byte in at..at + size {
            *taints.at(byte, bytes.len(), budget)? = taint;
        }
        Ok(())
    }

    /// A store to an open address may go to any byte of its variable: the pointer is the variable's, without the index that is open. One that is no race
    /// with others' may also come behind those that are executed later here.
    pub(super) fn store_anywhere(
        &mut self,
        inst: &Inst,
        space: Space,
        pointer: u64,
        unordered: bool,
    ) -> Result<(), Stop> {
        let taint = self.reasons.taint(Why::Path, inst.place);
        let code = self.code;
        let binding = |object: &Bytes| match object.object.map(|object| &code.objects[object as usize].kind) {
            Some(ObjectKind::Buffer { set, binding, .. }) => Some((*set, *binding)),
            _ => None,
        };
        let found = match space {
            Space::Physical => None,
            _ => self.memory.resolve(space, pointer).map(|(object, _)| object),
        };
        let of_found = found.and_then(|found| binding(&self.memory.objects[found as usize]));
        let Memory { objects, budget, unordered_anywhere, barriers, .. } = &mut *self.memory;
        for (index, object) in objects.iter_mut().enumerate().filter(|(_, object)| !object.read_only) {
            let same_binding = of_found.is_some() && of_found == binding(object);
            if found.is_none_or(|found| found == index as u32) || same_binding {
                object.taints.reset(taint, budget);
                if unordered && unordered_anywhere.insert((self.workgroup, index as u32, barriers[object.domain])) {
                    budget.take(4 * size_of::<(u32, u32, u32)>())?;
                }
            }
        }
        Ok(())
    }

    fn store_cells(&mut self, inst: &Inst, access: &Access, ins: &[Reg]) -> Result<(), Stop> {
        if let Base::Cells(first) = access.base {
            if self.is(Planted::StoreForgotten) && self.active.len() < self.n {
                return Ok(());
            }
            if self.is(Planted::StoreToAllLanes) && self.active.len() < self.n {
                for (&(cell, _), &reg) in access.leaves.iter().zip(ins) {
                    for slot in 0..self.n {
                        let (bits, taint) = self.columns.get(reg, slot);
                        self.columns.set(first + cell, slot, bits, taint);
                    }
                }
                return Ok(());
            }
            for (&(cell, _), &reg) in access.leaves.iter().zip(ins) {
                self.mov(first + cell, reg);
            }
            return Ok(());
        }
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (pointer, open) = self.usable(inst, slot, access.base)?;
            if open != 0 {
                // Any variable of the invocation may have been written.
                let taint = self.reasons.taint(Why::Path, inst.place);
                for reg in 0..self.code.columns {
                    let (bits, old) = self.columns.get(reg, slot);
                    self.columns.set(reg, slot, bits, old.max(taint));
                }
                continue;
            }
            for (&(cell, _), &reg) in access.leaves.iter().zip(ins) {
                let (bits, taint) = self.columns.get(reg, slot);
                match self.cell(pointer, cell) {
                    Some(to) => {
                        self.hand_on(to, reg, slot);
                        self.columns.set(to, slot, bits, taint);
                    }
                    None => {
                        return Err(self.undefined(Rule::OutOfBounds, inst.place, vec![slot as u32], String::new()));
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn array_length(&mut self, inst: &Inst, length: u32) -> Result<(), Stop> {
        let Length { base, offset, stride } = self.code.lengths[length as usize];
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (pointer, open) = self.usable(inst, slot, base)?;
            let object = self.memory.resolve(Space::Bytes, pointer).map_or(0, |(object, _)| object);
            let bytes = self.memory.objects.get(object as usize).map_or(0, |object| object.bytes.len() as u64);
            let count = bytes.saturating_sub(offset) / stride;
            self.columns.set(inst.d, slot, count, open);
        }
        Ok(())
    }
}

/// A scalar in memory.
#[inline(always)]
fn scalar_at(bytes: &[u8], scalar: Scalar) -> u64 {
    let value = read(bytes, scalar.bytes() as usize);
    if scalar == Scalar::Bool { value & 1 } else { value }
}
