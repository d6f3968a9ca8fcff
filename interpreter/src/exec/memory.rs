//! Memory: bytes with their states, who accessed them last, and what orders that.
//!
//! An access races with another one of another invocation to the same location if one of them writes, not both are atomic, and neither is ordered before
//! the other (Vulkan memory model, "Data Race"). What orders accesses of different invocations here: control barriers whose semantics acquire and release
//! the storage class. Modules with atomics and with atomics or fences that acquire or release are not checked for races, since a chain of them may order any
//! two accesses; what an invocation reads there of another's unordered writes is open.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Layout, Machine, POISON, Reasons, Stop};
use crate::alu;
use crate::code::*;
use crate::dispatch::Dispatch;
use crate::faults::Planted;
use crate::outcome::{Error, Rule, Why};
use crate::types::Scalar;

/// Who accessed a granule last. Invocations are counted from 1 over the whole dispatch.
#[derive(Clone, Copy, Debug, Default)]
struct Shadow {
    writer: u32,
    written: u32,
    reader: u32,
    read: u32,
    /// The last atomic.
    atomic: u32,
    acted: u32,
    /// What the atomics since then were: 0 none, 1 loads, else an operator; [`MIXED`].
    kind: u8,
}

/// Scalars that are loaded or stored in one step.
const SCALARS_PER_STEP: u64 = 256;
const MIXED: u8 = u8::MAX;
/// Several readers: with this bit, the index of a list.
const MANY: u32 = 1 << 31;

/// What a run may still allocate, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget(u64);

impl Budget {
    /// Takes bytes.
    pub fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        self.0 = self.0.checked_sub(bytes as u64).ok_or(Stop::Memory)?;
        Ok(())
    }

    /// Gives bytes back.
    pub fn give(&mut self, bytes: usize) {
        self.0 += bytes as u64;
    }
}

/// Elements that are allocated together.
const PAGE: usize = 64;

/// Something for each of many places, allocated where it is first written.
#[derive(Clone, Debug, Default)]
struct Sparse<T> {
    /// What stands where nothing was written.
    fill: T,
    /// None before the first page is there.
    pages: Vec<Option<Box<[T; PAGE]>>>,
    used: usize,
}

impl<T: Copy> Sparse<T> {
    fn new(fill: T) -> Sparse<T> {
        Sparse { fill, pages: Vec::new(), used: 0 }
    }

    /// A page, and its number, for every one that is there.
    fn pages(&self) -> impl Iterator<Item = (usize, &[T; PAGE])> {
        self.pages.iter().enumerate().filter_map(|(at, page)| Some((at, &**page.as_ref()?)))
    }

    /// True if nothing was written.
    fn is_untouched(&self) -> bool {
        self.pages.is_empty()
    }

    #[inline]
    fn get(&self, at: usize) -> T {
        match self.pages.get(at / PAGE) {
            Some(Some(page)) => page[at % PAGE],
            _ => self.fill,
        }
    }

    /// A place among `count`.
    #[inline]
    fn at(&mut self, at: usize, count: usize, budget: &mut Budget) -> Result<&mut T, Stop> {
        Ok(&mut self.page(at / PAGE, count, budget)?[at % PAGE])
    }

    #[inline]
    fn page(&mut self, number: usize, count: usize, budget: &mut Budget) -> Result<&mut [T; PAGE], Stop> {
        if !matches!(self.pages.get(number), Some(Some(_))) {
            self.make_page(number, count, budget)?;
        }
        self.pages[number].as_deref_mut().ok_or(Stop::Memory)
    }

    #[cold]
    fn make_page(&mut self, number: usize, count: usize, budget: &mut Budget) -> Result<(), Stop> {
        if self.pages.is_empty() {
            let pages = count.div_ceil(PAGE);
            budget.take(pages * size_of::<Option<Box<[T; PAGE]>>>())?;
            self.used += pages * size_of::<Option<Box<[T; PAGE]>>>();
            self.pages.resize_with(pages, || None);
        }
        budget.take(size_of::<[T; PAGE]>())?;
        self.used += size_of::<[T; PAGE]>();
        self.pages[number] = Some(Box::new([self.fill; PAGE]));
        Ok(())
    }

    /// One value everywhere.
    fn reset(&mut self, fill: T, budget: &mut Budget) {
        budget.give(self.used);
        *self = Sparse::new(fill);
    }
}

/// The memory of a variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    pub bytes: Vec<u8>,
    /// Taint of every byte.
    taints: Sparse<u32>,
    /// By granule.
    shadow: Sparse<Shadow>,
    granules: usize,
    pub read_only: bool,
    /// Index in [`Orders`].
    domain: usize,
    /// Of an image.
    pub extent: [u32; 3],
    /// The variable, or one of them; none for a buffer that only addresses point to.
    object: Option<u32>,
}

impl Bytes {
    /// The greatest taint of some bytes.
    #[inline]
    fn taint(&self, at: usize, size: usize) -> u32 {
        let within = at % PAGE;
        if within + size <= PAGE {
            return match self.taints.pages.get(at / PAGE) {
                Some(Some(page)) => page[within..within + size].iter().copied().max().unwrap_or(0),
                _ => self.taints.fill,
            };
        }
        (at..at + size).map(|byte| self.taints.get(byte)).max().unwrap_or(0)
    }

    /// What a function makes of the taint of every byte; none if that is 0 for all.
    pub fn states(&self, mut state: impl FnMut(u32) -> u32) -> Vec<u32> {
        let fill = state(self.taints.fill);
        if self.taints.is_untouched() && fill == 0 {
            return Vec::new();
        }
        let mut states = vec![fill; self.bytes.len()];
        let mut any = fill != 0;
        for (number, page) in self.taints.pages() {
            for (to, &taint) in states[number * PAGE..].iter_mut().zip(page) {
                *to = if taint == 0 { 0 } else { state(taint) };
                any |= *to != 0;
            }
        }
        if any { states } else { Vec::new() }
    }
}

/// Why an access cannot be made.
pub(super) enum Clash {
    /// With this invocation; true if that one wrote.
    Race(u32, bool),
    Stop(Stop),
}

impl From<Stop> for Clash {
    fn from(stop: Stop) -> Clash {
        Clash::Stop(stop)
    }
}

/// What a barrier has ordered, for one kind of memory.
#[derive(Clone, Debug, Default)]
struct Order {
    /// Accesses up to this time are ordered before everything that follows.
    floor: u32,
    now: Vec<u32>,
    /// By invocation and lane of its subgroup: the time up to which that lane's accesses are ordered before it. Empty before the first subgroup
    /// barrier.
    seen: Vec<u32>,
    lanes: usize,
}

/// All memory of a dispatch, and the clocks of the workgroup that runs.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub objects: Vec<Bytes>,
    /// By variable: its memory, of [`Memory::objects`]. Several variables, or descriptors, may have one buffer.
    of_variable: Vec<u32>,
    /// By buffer of the dispatch, if the module can reach it.
    pub of_buffer: Vec<Option<u32>>,
    /// First address, last address, object.
    addresses: Vec<(u64, u64, u32)>,
    granule: u64,
    orders: [Order; 3],
    readers: Vec<Vec<(u32, u32)>>,
    /// Lists of readers that nothing refers to.
    free: Vec<u32>,
    pub budget: Budget,
    /// Invocations of one workgroup.
    n: u32,
    workgroup: u32,
    checks_races: bool,
    /// [`PipelineOptions::equal_stores`](crate::PipelineOptions), and by object and granule: who else has stored what is there, and when.
    equal: Option<FxHashMap<(u32, usize), Vec<(u32, u32)>>>,
    /// By invocation and kind of memory: a fence was executed since the last control barrier.
    fenced: Vec<Orders>,
    lost: bool,
    /// New contended locations: what the run assumed of an atomic's order was wrong.
    pub contended: FxHashSet<(u32, u32)>,
}

impl Memory {
    /// The memory of a dispatch. `spare`: bytes for what is to be known of the contents.
    pub fn new(code: &Code, dispatch: &Dispatch, n: u32, spare: u64) -> Result<Memory, Error> {
        let mut memory = Memory {
            budget: Budget(spare),
            granule: u64::from(code.granule.max(1)),
            n,
            checks_races: !(code.fences && code.atomics),
            equal: code.equal_stores.then(FxHashMap::default),
            ..Memory::default()
        };
        let whole = |at: usize| dispatch.buffers[at].same_as.filter(|&other| other < at).unwrap_or(at);
        memory.of_buffer = vec![None; dispatch.buffers.len()];
        for (index, object) in code.objects.iter().enumerate() {
            let made = Bytes { read_only: object.read_only, object: Some(index as u32), domain: 1, ..Bytes::default() };
            let bytes = match object.kind {
                ObjectKind::Nothing => made,
                ObjectKind::Workgroup(size) => Bytes { domain: 0, bytes: vec![0; size as usize], ..made },
                ObjectKind::Push => {
                    if (dispatch.push.len() as u64) < object.size {
                        let (has, needs) = (dispatch.push.len(), object.size);
                        return Err(Error::Dispatch(format!(
                            "push constants of {has} bytes, the module reads {needs}"
                        )));
                    }
                    Bytes { bytes: dispatch.push.clone(), ..made }
                }
                ObjectKind::Buffer { set, binding, element, texel } => {
                    let key = (set, binding, element);
                    let found = dispatch.buffers.iter().position(|b| (b.set, b.binding, b.element) == key);
                    let Some(at) = found.map(whole) else {
                        return Err(Error::Dispatch(format!("there is no buffer {set}.{binding} (element {element})")));
                    };
                    if let Some(known) = memory.of_buffer[at] {
                        memory.objects[known as usize].read_only &= object.read_only;
                        memory.of_variable.push(known);
                        continue;
                    }
                    memory.of_buffer[at] = Some(memory.objects.len() as u32);
                    let (bytes, extent) = (dispatch.buffers[at].bytes.clone(), dispatch.buffers[at].extent);
                    let needs = extent.iter().fold(u64::from(texel), |n, &side| n.saturating_mul(u64::from(side)));
                    if needs > bytes.len() as u64 {
                        let has = bytes.len();
                        return Err(Error::Dispatch(format!("image {set}.{binding} of {has} bytes needs {needs}")));
                    }
                    Bytes { bytes, domain: if texel > 0 { 2 } else { 1 }, extent, ..made }
                }
            };
            memory.of_variable.push(memory.objects.len() as u32);
            memory.objects.push(bytes);
        }
        for (at, buffer) in dispatch.buffers.iter().enumerate() {
            let Some(address) = buffer.address.filter(|_| whole(at) == at) else { continue };
            let object = match memory.of_buffer[at] {
                Some(object) => object,
                // One that only addresses point to.
                None => {
                    memory.objects.push(Bytes { bytes: buffer.bytes.clone(), domain: 1, ..Bytes::default() });
                    memory.objects.len() as u32 - 1
                }
            };
            memory.of_buffer[at] = Some(object);
            memory.objects[object as usize].read_only = false;
            memory.addresses.push((address, address.saturating_add(buffer.bytes.len() as u64), object));
        }
        for at in 0..dispatch.buffers.len() {
            memory.of_buffer[at] = memory.of_buffer[whole(at)];
        }
        for object in &mut memory.objects {
            object.granules = (object.bytes.len() as u64).div_ceil(memory.granule) as usize;
        }
        Ok(memory)
    }

    /// A workgroup begins: its memory is not initialised, and nothing is ordered yet.
    pub fn begin_workgroup(&mut self, code: &Code, workgroup: u32, size: usize, reasons: &mut Reasons) {
        self.workgroup = workgroup;
        self.lost = false;
        self.fenced = vec![Orders::default(); self.n as usize];
        let never = reasons.taint(Why::Uninitialised, super::NOWHERE);
        for bytes in &mut self.objects {
            let Some(object) = bytes.object.map(|object| &code.objects[object as usize]) else { continue };
            if matches!(object.kind, ObjectKind::Workgroup(_)) {
                bytes.bytes.fill(0);
                for (_, page) in bytes.shadow.pages() {
                    self.free.extend(page.iter().filter(|s| s.reader & MANY != 0).map(|s| s.reader & !MANY));
                }
                bytes.shadow.reset(Shadow::default(), &mut self.budget);
                bytes.taints.reset(if object.zeroed { 0 } else { never }, &mut self.budget);
            }
        }
        let objects = &self.objects;
        self.equal.iter_mut().for_each(|equal| equal.retain(|(object, _), _| objects[*object as usize].domain != 0));
        for order in &mut self.orders {
            *order = Order { floor: 0, now: vec![1; self.n as usize], seen: Vec::new(), lanes: size };
        }
    }

    fn invocation(&self, slot: usize) -> u32 {
        self.workgroup * self.n + slot as u32 + 1
    }

    /// True if what an invocation did at a time is ordered before what this one does now.
    fn is_ordered(&self, domain: usize, invocation: u32, time: u32, slot: usize, layout: &Layout) -> bool {
        let other = (invocation - 1).wrapping_sub(self.workgroup * self.n) as usize;
        if other >= self.n as usize {
            return false;
        }
        let order = &self.orders[domain];
        if other == slot || time <= order.floor {
            return true;
        }
        let same = layout.places[other].subgroup == layout.places[slot].subgroup;
        let lane = layout.places[other].lane as usize;
        same && order.seen.get(slot * order.lanes + lane).is_some_and(|&seen| time <= seen)
    }

    /// `OpMemoryBarrier`: the next control barrier orders these kinds of memory, too.
    pub fn fence(&mut self, orders: Orders, slots: &[u32]) {
        for (domain, _) in orders.iter().enumerate().filter(|(_, orders)| **orders) {
            slots.iter().for_each(|&slot| self.fenced[slot as usize][domain] = true);
        }
    }

    /// What a barrier orders for lanes that executed a fence since the last one.
    fn ordered_by(&mut self, orders: Orders, slots: impl Iterator<Item = usize> + Clone) -> Orders {
        let fenced = |domain: usize| slots.clone().all(|slot| self.fenced[slot][domain]);
        let orders = std::array::from_fn(|domain| orders[domain] || fenced(domain));
        slots.for_each(|slot| self.fenced[slot] = Orders::default());
        orders
    }

    /// The lanes are ordered among each other.
    pub fn subgroup_barrier(&mut self, orders: Orders, slots: &[u32], layout: &Layout) {
        let orders = self.ordered_by(orders, slots.iter().map(|slot| *slot as usize));
        for (order, _) in self.orders.iter_mut().zip(orders).filter(|(_, orders)| *orders) {
            let lanes = order.lanes;
            if order.seen.is_empty() {
                order.seen = vec![order.floor; self.n as usize * lanes];
            }
            let mut joined = vec![order.floor; lanes];
            for &slot in slots {
                let row = &order.seen[slot as usize * lanes..(slot as usize + 1) * lanes];
                joined.iter_mut().zip(row).for_each(|(x, y)| *x = (*x).max(*y));
                let lane = layout.places[slot as usize].lane as usize;
                joined[lane] = joined[lane].max(order.now[slot as usize]);
            }
            for &slot in slots {
                order.seen[slot as usize * lanes..(slot as usize + 1) * lanes].copy_from_slice(&joined);
                order.now[slot as usize] += 1;
            }
        }
    }

    /// All invocations of the workgroup are ordered; those in `slots` are known to come, each behind its own fences. With a taint, what was written
    /// before may since have been overwritten by one of the others, whose path is unknown.
    pub fn workgroup_barrier(&mut self, orders: Orders, slots: &[u32], taint: u32) {
        let orders = self.ordered_by(orders, slots.iter().map(|slot| *slot as usize));
        for (domain, order) in self.orders.iter_mut().enumerate() {
            if !orders[domain] {
                continue;
            }
            let latest = order.now.iter().copied().max().unwrap_or(1);
            order.floor = latest;
            order.now.fill(latest + 1);
            order.seen.clear();
            if taint != 0 {
                for object in self.objects.iter_mut().filter(|object| object.domain == domain && !object.read_only) {
                    object.taints.reset(taint, &mut self.budget);
                }
            }
        }
    }

    /// An invocation's path is unknown from here on.
    pub fn lose(&mut self) {
        self.lost = true;
    }

    /// What lost invocations may have written: everything that no other one accessed, since races are excluded.
    pub fn taint_lost(&mut self, lost: impl Fn(u32) -> bool, taint: u32) -> Result<(), Stop> {
        let granule = self.granule as usize;
        for object in self.objects.iter_mut().filter(|object| object.domain != 0 && !object.read_only) {
            let length = object.bytes.len();
            let old = std::mem::replace(&mut object.taints, Sparse::new(0));
            object.taints.fill = old.fill.max(taint);
            for (at, first) in (0..length).step_by(granule).enumerate() {
                let shadow = object.shadow.get(at);
                let written = shadow.writer != 0 && !lost(shadow.writer);
                let read = shadow.reader != 0 && (shadow.reader & MANY != 0 || !lost(shadow.reader));
                for byte in first..(first + granule).min(length) {
                    let before = old.get(byte);
                    let after = if written || read { before } else { before.max(taint) };
                    if after != object.taints.fill {
                        *object.taints.at(byte, length, &mut self.budget)? = after;
                    }
                }
            }
            self.budget.give(old.used);
        }
        Ok(())
    }

    /// Notes a plain access. False if another's unordered write may come before or after it.
    #[inline]
    fn touch(
        &mut self,
        object: u32,
        offset: u64,
        size: u64,
        slot: usize,
        writes: bool,
        layout: &Layout,
    ) -> Result<bool, Clash> {
        let me = self.invocation(slot);
        let bytes = &mut self.objects[object as usize];
        if bytes.read_only {
            return Ok(true);
        }
        let shift = self.granule.trailing_zeros();
        let (first, last) = ((offset >> shift) as usize, ((offset + size - 1) >> shift) as usize);
        let time = self.orders[bytes.domain].now[slot];
        if first == last && self.equal.is_none() {
            let shadow = bytes.shadow.at(first, bytes.granules, &mut self.budget)?;
            let alone = |who: u32| who == 0 || who == me;
            if alone(shadow.writer) && alone(shadow.reader) && shadow.atomic == 0 {
                if writes {
                    (shadow.writer, shadow.written) = (me, time);
                    (shadow.reader, shadow.read) = (0, 0);
                } else {
                    (shadow.reader, shadow.read) = (me, time);
                }
                return Ok(true);
            }
        }
        self.touch_shared(object, first..=last, slot, writes, layout)
    }

    /// The same for granules that others may have accessed.
    fn touch_shared(
        &mut self,
        object: u32,
        granules: std::ops::RangeInclusive<usize>,
        slot: usize,
        writes: bool,
        layout: &Layout,
    ) -> Result<bool, Clash> {
        let (domain, me) = (self.objects[object as usize].domain, self.invocation(slot));
        let time = self.orders[domain].now[slot];
        let mut ordered = true;
        for at in granules {
            let shadow = self.objects[object as usize].shadow.get(at);
            let follows =
                |who: u32, when: u32| who == 0 || who == me || self.is_ordered(domain, who, when, slot, layout);
            if !follows(shadow.writer, shadow.written) {
                if self.checks_races {
                    return Err(Clash::Race(shadow.writer, true));
                }
                ordered = false;
            }
            if !follows(shadow.atomic, shadow.acted) && (writes || shadow.kind != 1) {
                if self.checks_races {
                    return Err(Clash::Race(shadow.atomic, true));
                }
                ordered = false;
            }
            if let (Some(who), true) = (self.late_equal(object, at, follows), self.checks_races) {
                return Err(Clash::Race(who, true));
            }
            let mut next = shadow;
            if writes {
                if self.checks_races {
                    if let Some(who) = self.late_reader(shadow, follows) {
                        return Err(Clash::Race(who, false));
                    }
                }
                if shadow.reader & MANY != 0 {
                    self.free.push(shadow.reader & !MANY);
                }
                next = Shadow { writer: me, written: time, ..Shadow::default() };
                self.equal.iter_mut().for_each(|equal| _ = equal.remove(&(object, at)));
            } else if shadow.reader & MANY != 0 {
                let list = &mut self.readers[(shadow.reader & !MANY) as usize];
                match list.binary_search_by_key(&me, |(who, _)| *who) {
                    Ok(at) => list[at].1 = time,
                    Err(at) => {
                        self.budget.take(size_of::<(u32, u32)>() * 2)?;
                        list.insert(at, (me, time));
                    }
                }
            } else if follows(shadow.reader, shadow.read) {
                (next.reader, next.read) = (me, time);
            } else {
                next.reader = MANY | self.readers_of((shadow.reader, shadow.read), (me, time))?;
            }
            let bytes = &mut self.objects[object as usize];
            *bytes.shadow.at(at, bytes.granules, &mut self.budget)? = next;
        }
        Ok(ordered)
    }

    /// Another invocation that has stored what is there, and that is not followed.
    fn late_equal(&self, object: u32, at: usize, follows: impl Fn(u32, u32) -> bool) -> Option<u32> {
        let list = self.equal.as_ref()?.get(&(object, at))?;
        list.iter().find(|(who, when)| !follows(*who, *when)).map(|(who, _)| *who)
    }

    /// Notes a store of what is there, which follows no other store. False if it clashes with other accesses than stores.
    fn touch_equal(&mut self, object: u32, offset: u64, size: u64, slot: usize, layout: &Layout) -> Result<bool, Stop> {
        let (domain, me) = (self.objects[object as usize].domain, self.invocation(slot));
        let time = self.orders[domain].now[slot];
        let shift = self.granule.trailing_zeros();
        let granules = (offset >> shift) as usize..=((offset + size - 1) >> shift) as usize;
        for at in granules.clone() {
            let shadow = self.objects[object as usize].shadow.get(at);
            let follows =
                |who: u32, when: u32| who == 0 || who == me || self.is_ordered(domain, who, when, slot, layout);
            if !follows(shadow.atomic, shadow.acted) || self.late_reader(shadow, follows).is_some() {
                return Ok(false);
            }
        }
        for at in granules {
            let mut shadow = self.objects[object as usize].shadow.get(at);
            let before = (shadow.writer, shadow.written);
            if shadow.reader & MANY != 0 {
                self.free.push(shadow.reader & !MANY);
            }
            shadow = Shadow { writer: me, written: time, ..Shadow::default() };
            self.budget.take(size_of::<(u32, u32)>() * 4)?;
            if let (Some(equal), true) = (&mut self.equal, before.0 != 0) {
                equal.entry((object, at)).or_default().push(before);
            }
            let bytes = &mut self.objects[object as usize];
            *bytes.shadow.at(at, bytes.granules, &mut self.budget)? = shadow;
        }
        Ok(true)
    }

    /// A reader that a write does not follow.
    fn late_reader(&self, shadow: Shadow, follows: impl Fn(u32, u32) -> bool) -> Option<u32> {
        if shadow.reader & MANY != 0 {
            let list = &self.readers[(shadow.reader & !MANY) as usize];
            return list.iter().find(|(who, when)| !follows(*who, *when)).map(|(who, _)| *who);
        }
        (!follows(shadow.reader, shadow.read)).then_some(shadow.reader)
    }

    /// A list of two readers.
    fn readers_of(&mut self, first: (u32, u32), second: (u32, u32)) -> Result<u32, Stop> {
        let pair = if first.0 < second.0 { [first, second] } else { [second, first] };
        if let Some(index) = self.free.pop() {
            let list = &mut self.readers[index as usize];
            list.clear();
            list.extend(pair);
            return Ok(index);
        }
        self.budget.take(128)?;
        self.readers.push(pair.to_vec());
        Ok(self.readers.len() as u32 - 1)
    }

    /// Notes an atomic: whether others that nothing orders with it touch the location, too, and whether their operators do not commute.
    fn act(&mut self, object: u32, offset: u64, slot: usize, kind: u8, layout: &Layout) -> Result<(bool, bool), Clash> {
        let bytes = &self.objects[object as usize];
        let (domain, me) = (bytes.domain, self.invocation(slot));
        let time = self.orders[domain].now[slot];
        let at = (offset / self.granule) as usize;
        let mut shadow = bytes.shadow.get(at);
        let follows = |who: u32, when: u32| who == 0 || who == me || self.is_ordered(domain, who, when, slot, layout);
        if self.checks_races {
            if !follows(shadow.writer, shadow.written) {
                return Err(Clash::Race(shadow.writer, true));
            }
            if let Some(who) = self.late_equal(object, at, follows) {
                return Err(Clash::Race(who, true));
            }
            if let (Some(who), true) = (self.late_reader(shadow, follows), kind != 1) {
                return Err(Clash::Race(who, false));
            }
        }
        let both_load = kind == 1 && shadow.kind == 1;
        let others = !both_load && !follows(shadow.atomic, shadow.acted);
        // The operators since the last point that orders them all.
        let since = if shadow.atomic == 0 || shadow.acted <= self.orders[domain].floor { 0 } else { shadow.kind };
        let kind = match since {
            0 | 1 => kind,
            same if same == kind || kind == 1 => same,
            _ => MIXED,
        };
        (shadow.atomic, shadow.acted, shadow.kind) = (me, time, kind);
        let bytes = &mut self.objects[object as usize];
        *bytes.shadow.at(at, bytes.granules, &mut self.budget)? = shadow;
        Ok((others, kind == MIXED))
    }

    /// The object and the offset behind a pointer.
    pub(super) fn resolve(&self, space: Space, pointer: u64) -> Option<(u32, u64)> {
        if space == Space::Physical {
            let found = self.addresses.iter().find(|(first, end, _)| (*first..*end).contains(&pointer));
            return found.map(|(first, _, object)| (*object, pointer - first));
        }
        let object = (pointer >> OFFSET_BITS).checked_sub(1)?;
        let object = *self.of_variable.get(usize::try_from(object).ok()?)?;
        Some((object, pointer & ((1 << OFFSET_BITS) - 1)))
    }
}

fn read(bytes: &[u8], size: usize) -> u64 {
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[..size]);
    u64::from_le_bytes(word)
}

impl Machine<'_> {
    // ---- addresses ----

    pub(super) fn chain(&mut self, inst: &Inst, chain: u32) {
        let code = self.code;
        let chain = &code.chains[chain as usize];
        let bounds = self.reasons.taint(Why::OutOfBounds, inst.place);
        let fixed = match chain.base {
            Base::Cells(first) => Some(u64::from(first)),
            Base::Bytes { object, offset } => Some((u64::from(object) + 1) << OFFSET_BITS | offset),
            Base::Reg(_) => None,
        };
        if self.plain_chain(inst, chain, fixed) {
            return;
        }
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
        for &slot in &self.active {
            let slot = slot as usize;
            let mut pointer = first.wrapping_add(base.map_or(0, |reg| self.columns.bits(reg)[slot].get()));
            for term in &chain.terms {
                let index = alu::signed(self.columns.bits(term.index)[slot].get(), term.width);
                let limit = match term.limit {
                    Some(limit) => limit,
                    None if chain.space == Space::Bytes => 1 << (OFFSET_BITS - 8),
                    None => return false,
                };
                if index as u64 >= limit {
                    return false;
                }
                pointer = pointer.wrapping_add((index as u64).wrapping_mul(term.stride));
            }
            self.columns.bits(inst.d)[slot].set(pointer);
        }
        self.clear(inst.d);
        true
    }

    /// A pointer that may be used: behaviour is undefined if it is undefined; an open one gives its taint.
    #[inline]
    fn usable(&mut self, inst: &Inst, slot: usize, base: Base) -> Result<(u64, u32), Stop> {
        let (pointer, taint) = match base {
            Base::Cells(first) => (u64::from(first), 0),
            Base::Bytes { object, offset } => ((u64::from(object) + 1) << OFFSET_BITS | offset, 0),
            Base::Reg(reg) => self.columns.get(reg, slot),
        };
        if taint & POISON != 0 {
            return Err(self.poison(inst.place, vec![slot as u32], "address", taint));
        }
        Ok((pointer, taint))
    }

    #[inline]
    fn located(&mut self, inst: &Inst, slot: usize, space: Space, pointer: u64, end: u64) -> Result<(u32, u64), Stop> {
        let found = self.memory.resolve(space, pointer);
        if let Some((object, offset)) = found {
            let length = self.memory.objects[object as usize].bytes.len() as u64;
            if offset.checked_add(end).is_some_and(|end| end <= length) {
                return Ok((object, offset));
            }
            let detail = format!("bytes {offset} to {} of {length}", offset.saturating_add(end));
            return Err(self.undefined(Rule::OutOfBounds, inst.place, vec![slot as u32], detail));
        }
        let detail = format!("no object is at {pointer:#x}");
        Err(self.undefined(Rule::OutOfBounds, inst.place, vec![slot as u32], detail))
    }

    fn clash(&self, inst: &Inst, slot: usize, object: u32, offset: u64, clash: Clash) -> Stop {
        let (other, wrote) = match clash {
            Clash::Race(other, wrote) => (other, wrote),
            Clash::Stop(stop) => return stop,
        };
        let (workgroup, invocation) = ((other - 1) / self.n as u32, (other - 1) % self.n as u32);
        let verb = if wrote { "wrote" } else { "read" };
        let variable = self.memory.objects[object as usize].object;
        let what = match variable.map(|object| &self.code.objects[object as usize].kind) {
            Some(ObjectKind::Buffer { set, binding, texel, .. }) => {
                format!("{} {set}.{binding}", if *texel > 0 { "image" } else { "buffer" })
            }
            Some(ObjectKind::Workgroup(_)) => "workgroup memory".to_owned(),
            _ => "memory".to_owned(),
        };
        let detail = format!("byte {offset} of {what}, which invocation {invocation} of workgroup {workgroup} {verb}");
        self.undefined(Rule::DataRace, inst.place, vec![slot as u32], detail)
    }

    // ---- accesses ----

    /// A descriptor that an index without `NonUniform` has chosen is the same in all lanes of a subgroup that access it together (Vulkan,
    /// VUID-RuntimeSpirv-subgroupSize-10149). Descriptors of one buffer are not distinguished.
    fn one_descriptor(&mut self, inst: &Inst, access: &Access) -> Result<(), Stop> {
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

    pub(super) fn load(&mut self, inst: &Inst, access: u32) -> Result<(), Stop> {
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
        let end = access.leaves.iter().map(|(offset, scalar)| u64::from(*offset) + u64::from(scalar.bytes())).max();
        let end = end.unwrap_or(0);
        let layout = self.layout;
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (pointer, open) = self.usable(inst, slot, access.base)?;
            let nowhere = access.texel && open == 0 && pointer == NO_TEXEL;
            if open != 0 || nowhere {
                let outside = Why::OutsideImage;
                let taint = if nowhere { self.reasons.taint(outside, inst.place) } else { self.reasons.derived(open) };
                outs.iter().for_each(|&out| self.columns.set(out, slot, 0, taint));
                continue;
            }
            let (object, offset) = self.located(inst, slot, access.space, pointer, end)?;
            for (&(leaf, scalar), &out) in access.leaves.iter().zip(outs) {
                let (first, size) = (offset + u64::from(leaf), u64::from(scalar.bytes()));
                let mut taint = 0;
                if !access.synchronises {
                    match self.memory.touch(object, first, size, slot, false, layout) {
                        Ok(true) => {}
                        Ok(false) => taint = self.reasons.taint(Why::Order, inst.place),
                        Err(clash) => return Err(self.clash(inst, slot, object, first, clash)),
                    }
                }
                let bytes = &self.memory.objects[object as usize];
                let at = first as usize;
                let value = read(&bytes.bytes[at..], size as usize);
                taint = taint.max(bytes.taint(at, size as usize));
                let value = if scalar == Scalar::Bool { value & 1 } else { value };
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

    pub(super) fn store(&mut self, inst: &Inst, access: u32) -> Result<(), Stop> {
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
        let end = access.leaves.iter().map(|(offset, scalar)| u64::from(*offset) + u64::from(scalar.bytes())).max();
        let end = end.unwrap_or(0);
        let layout = self.layout;
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (pointer, open) = self.usable(inst, slot, access.base)?;
            if open != 0 {
                self.store_anywhere(inst, access.space, pointer);
                continue;
            }
            if access.texel && pointer == NO_TEXEL {
                continue;
            }
            let (object, offset) = self.located(inst, slot, access.space, pointer, end)?;
            if self.memory.objects[object as usize].read_only {
                return Err(self.undefined(Rule::ReadOnly, inst.place, vec![slot as u32], String::new()));
            }
            for (&(leaf, scalar), &reg) in access.leaves.iter().zip(ins) {
                let (first, size) = (offset + u64::from(leaf), u64::from(scalar.bytes()));
                let (value, taint) = self.columns.get(reg, slot);
                if !access.synchronises {
                    if let Err(clash) = self.memory.touch(object, first, size, slot, true, layout) {
                        if taint == 0 && self.stores_equal(object, first, size, slot, value)? {
                            continue;
                        }
                        return Err(self.clash(inst, slot, object, first, clash));
                    }
                }
                self.write(object, first as usize, size as usize, value, taint)?;
            }
        }
        Ok(())
    }

    /// True if this is a store of what is there, and such stores are allowed: [`PipelineOptions::equal_stores`](crate::PipelineOptions).
    fn stores_equal(&mut self, object: u32, first: u64, size: u64, slot: usize, value: u64) -> Result<bool, Stop> {
        let bytes = &self.memory.objects[object as usize];
        let (at, length) = (first as usize, size as usize);
        let same = bytes.bytes[at..at + length] == value.to_le_bytes()[..length] && bytes.taint(at, length) == 0;
        if self.memory.equal.is_none() || !same {
            return Ok(false);
        }
        self.memory.touch_equal(object, first, size, slot, self.layout)
    }

    fn write(&mut self, object: u32, at: usize, size: usize, value: u64, taint: u32) -> Result<(), Stop> {
        let Memory { objects, budget, .. } = &mut *self.memory;
        let Bytes { bytes, taints, .. } = &mut objects[object as usize];
        bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
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

    /// A store to an open address may go to any byte of its variable: the pointer is the variable's, without the index that is open.
    fn store_anywhere(&mut self, inst: &Inst, space: Space, pointer: u64) {
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
        let Memory { objects, budget, .. } = &mut *self.memory;
        for (index, object) in objects.iter_mut().enumerate().filter(|(_, object)| !object.read_only) {
            let same_binding = of_found.is_some() && of_found == binding(object);
            if found.is_none_or(|found| found == index as u32) || same_binding {
                object.taints.reset(taint, budget);
            }
        }
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

    pub(super) fn array_length(&mut self, inst: &Inst, length: u32) -> Result<(), Stop> {
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

    // ---- atomics ----

    /// Atomics of one instruction are performed lane by lane, in an order that nothing promises.
    pub(super) fn atomic(&mut self, inst: &Inst, access: u32, op: AtomicOp, scalar: Scalar) -> Result<(), Stop> {
        let code = self.code;
        let access = &code.accesses[access as usize];
        self.one_descriptor(inst, access)?;
        if access.space == Space::Cells {
            let slots = self.active.clone();
            return Err(self.undefined(Rule::OutOfBounds, inst.place, slots, "an atomic on private memory".into()));
        }
        let size = u64::from(scalar.bytes());
        let leaf = access.leaves.first().map_or(0, |(offset, _)| u64::from(*offset));
        let layout = self.layout;
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (pointer, open) = self.usable(inst, slot, access.base)?;
            if open != 0 {
                let taint = self.reasons.taint(Why::Path, inst.place);
                if op != AtomicOp::Load {
                    self.store_anywhere(inst, access.space, pointer);
                }
                if inst.d != NONE {
                    self.columns.set(inst.d, slot, 0, taint);
                }
                continue;
            }
            if access.texel && pointer == NO_TEXEL {
                if inst.d != NONE {
                    let taint = self.reasons.taint(Why::OutsideImage, inst.place);
                    self.columns.set(inst.d, slot, 0, taint);
                }
                continue;
            }
            let (object, offset) = self.located(inst, slot, access.space, pointer, leaf + size)?;
            let offset = offset + leaf;
            if op != AtomicOp::Load && (access.read_only || self.memory.objects[object as usize].read_only) {
                return Err(self.undefined(Rule::ReadOnly, inst.place, vec![slot as u32], String::new()));
            }
            let (others, mixed) = match self.memory.act(object, offset, slot, kind_of(op), layout) {
                Ok(found) => found,
                Err(clash) => return Err(self.clash(inst, slot, object, offset, clash)),
            };
            let key = (object, (offset / u64::from(code.granule.max(1))) as u32);
            let known = self.knowledge.contended.contains(&key);
            if others && !known && self.memory.contended.insert(key) {
                self.memory.budget.take(4 * size_of::<(u32, u32)>())?;
            }
            self.atomic_lane(inst, (object, offset), slot, op, scalar, known || others, mixed)?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one atomic of one lane")]
    fn atomic_lane(
        &mut self,
        inst: &Inst,
        (object, offset): (u32, u64),
        slot: usize,
        op: AtomicOp,
        scalar: Scalar,
        contended: bool,
        mixed: bool,
    ) -> Result<(), Stop> {
        let (w, size, at) = (scalar.width(), scalar.bytes() as usize, offset as usize);
        let bytes = &self.memory.objects[object as usize];
        let old = read(&bytes.bytes[at..], size);
        let old_taint = bytes.taint(at, size);
        let operand = |this: &Self, reg: Reg| if reg == NONE { (0, 0) } else { this.columns.get(reg, slot) };
        let ((value, value_taint), (expected, expected_taint)) = (operand(self, inst.b), operand(self, inst.c));
        let order = if contended { self.reasons.taint(Why::Order, inst.place) } else { 0 };
        if inst.d != NONE {
            let taint = if old_taint != 0 { self.reasons.derived(old_taint) } else { 0 };
            self.columns.set(inst.d, slot, old, taint.max(order));
        }
        let first = self.active.first() == Some(&(slot as u32));
        if op == AtomicOp::Load || (first && self.active.len() > 1 && self.is(Planted::AtomicLosesLane)) {
            return Ok(());
        }
        let (new, taint) = match op {
            AtomicOp::Exchange | AtomicOp::Store => (value, value_taint.max(order)),
            AtomicOp::CompareExchange => {
                let new = if old == expected { value } else { old };
                (new, value_taint.max(expected_taint).max(old_taint).max(order))
            }
            AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax => {
                let float = match op {
                    AtomicOp::FAdd => Float2::Add,
                    AtomicOp::FMin => Float2::Min,
                    _ => Float2::Max,
                };
                let (x, y) = (self.number(w, old, old_taint), self.number(w, value, value_taint));
                let answer = self.float2(float, w, x, y);
                let (bits, taint) = self.answer(w, answer, inst.place);
                let rounds = contended && op == AtomicOp::FAdd;
                (bits, taint.max(if rounds { order } else { 0 }))
            }
            _ => {
                let int = integer_of(op);
                let int = if self.is(Planted::AtomicOrIsXor) && int == Int2::Or { Int2::Xor } else { int };
                (alu::int2(int, w, old, value).unwrap_or(0), old_taint.max(value_taint))
            }
        };
        // Operators that do not commute leave open what remains.
        let taint = if mixed && contended { taint.max(self.reasons.taint(Why::Order, inst.place)) } else { taint };
        let taint = if taint != 0 { self.reasons.derived(taint) } else { 0 };
        self.write(object, at, size, new, taint)
    }
}

fn integer_of(op: AtomicOp) -> Int2 {
    match op {
        AtomicOp::Sub => Int2::Sub,
        AtomicOp::SMin => Int2::SMin,
        AtomicOp::UMin => Int2::UMin,
        AtomicOp::SMax => Int2::SMax,
        AtomicOp::UMax => Int2::UMax,
        AtomicOp::And => Int2::And,
        AtomicOp::Or => Int2::Or,
        AtomicOp::Xor => Int2::Xor,
        _ => Int2::Add,
    }
}

/// Operators with one kind commute with each other.
fn kind_of(op: AtomicOp) -> u8 {
    match op {
        AtomicOp::Load => 1,
        AtomicOp::Add | AtomicOp::Sub => 2,
        AtomicOp::SMin => 3,
        AtomicOp::UMin => 4,
        AtomicOp::SMax => 5,
        AtomicOp::UMax => 6,
        AtomicOp::And => 7,
        AtomicOp::Or => 8,
        AtomicOp::Xor => 9,
        AtomicOp::FAdd => 10,
        AtomicOp::FMin => 11,
        AtomicOp::FMax => 12,
        AtomicOp::Store | AtomicOp::Exchange | AtomicOp::CompareExchange => MIXED,
    }
}
