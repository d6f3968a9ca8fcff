//! What orders accesses of different invocations: barriers and fences; and which accesses race.

use super::{MANY, MIXED, Memory};
use crate::code::*;
use crate::exec::{Layout, Stop};

/// Who accessed a granule last. Invocations are counted from 1 over the whole dispatch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shadow {
    pub(super) writer: u32,
    pub(super) written: u32,
    pub(super) reader: u32,
    pub(super) read: u32,
    /// The last atomic.
    pub(super) atomic: u32,
    pub(super) acted: u32,
    /// What the atomics since then were: 0 none, 1 loads, else an operator; [`MIXED`].
    pub(super) kind: u8,
}

/// Why an access cannot be made.
pub(crate) enum Clash {
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
pub(super) struct Order {
    /// Accesses up to this time are ordered before everything that follows.
    pub(super) floor: u32,
    pub(super) now: Vec<u32>,
    /// By invocation and lane of its subgroup: the time up to which that lane's accesses are ordered before it. Empty before the first subgroup
    /// barrier.
    pub(super) seen: Vec<u32>,
    pub(super) lanes: usize,
}

impl Memory {
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

    /// Notes a plain access. False if another's unordered write may come before or after it.
    #[inline]
    pub(super) fn touch(
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
    pub(super) fn touch_equal(
        &mut self,
        object: u32,
        offset: u64,
        size: u64,
        slot: usize,
        layout: &Layout,
    ) -> Result<bool, Stop> {
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
    pub(super) fn act(
        &mut self,
        object: u32,
        offset: u64,
        slot: usize,
        kind: u8,
        layout: &Layout,
    ) -> Result<(bool, bool), Clash> {
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
}
