//! What orders accesses of different invocations: barriers and fences; and which accesses race.

use smallvec::SmallVec;

use super::sparse::PAGE;
use super::sync::{Suspect, Sync};
use super::{
    ATOMIC_WROTE, MANY, MIXED, Memory, OTHERS_ACTED, Order, PRIVATE_READ, Shadow, UNKNOWN_SCOPES, UNORDERED_WRITES,
};
use crate::code::*;
use crate::exec::layout::Layout;
use crate::exec::stop::Stop;
use crate::outcome::Why;

/// Releases by their scope: [`Order::released`].
const OF_SUBGROUP: usize = 0;
const OF_WORKGROUP: usize = 1;

/// An access that is noted: object, offset and bytes of it.
pub(super) type Touched = (u32, u64, u64);

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

impl Memory {
    fn invocation(&self, slot: usize) -> u32 {
        self.workgroup * self.n + slot as u32 + 1
    }

    /// The place of an invocation in the workgroup that runs, if it is of that.
    #[inline]
    fn slot_of(&self, invocation: u32) -> Option<usize> {
        let slot = invocation.wrapping_sub(1).wrapping_sub(self.workgroup * self.n);
        (slot < self.n).then_some(slot as usize)
    }

    /// True if what an invocation did at a time is ordered before what this one does now.
    fn is_ordered(&self, domain: usize, invocation: u32, time: u32, slot: usize, layout: &Layout) -> bool {
        let Some(other) = self.slot_of(invocation) else { return false };
        if other == slot || self.is_past(domain, invocation, time) {
            return true;
        }
        let order = &self.orders[domain];
        order.is_in(&order.seen, time, slot, other, layout)
            || self.barriers_acquire && self.is_offered(domain, invocation, time, slot, layout)
    }

    /// True if it would be, had this one acquired behind the control barrier before which the other released: C and no acquire barrier B behind it (Vulkan memory
    /// model, "Synchronizes-With"). It is not called a race, since shaders of GLSL seldom have the second fence (`memoryBarrierBuffer(); barrier();`), but what
    /// is read is open: a driver may access memory earlier that nothing keeps behind the barrier.
    fn is_offered(&self, domain: usize, invocation: u32, time: u32, slot: usize, layout: &Layout) -> bool {
        let Some(other) = self.slot_of(invocation) else { return false };
        let order = &self.orders[domain];
        order.handed.get(other).is_some_and(|&handed| time <= handed)
            || order.is_in(&order.offered, time, slot, other, layout)
    }

    /// True if what an invocation did at a time is ordered before what everybody of the workgroup does now.
    fn is_past(&self, domain: usize, invocation: u32, time: u32) -> bool {
        let Some(other) = self.slot_of(invocation) else { return false };
        let order = &self.orders[domain];
        time <= order.floor || order.until.get(other).is_some_and(|&until| time <= until)
    }

    /// For how many of the levels of [`Order::released`] a memory scope counts.
    fn levels(&self, scope: Reach) -> usize {
        match scope {
            Reach::Nobody => 0,
            Reach::Subgroup if !self.scopes_ignored => 1,
            Reach::Subgroup | Reach::Workgroup | Reach::Everybody => 2,
        }
    }

    /// `OpMemoryBarrier`: what was done before is released by the next control barrier, and what others released before the last one is before what is
    /// done from now on.
    pub fn fence(&mut self, semantics: Semantics, slots: &[u32]) {
        self.release(semantics, slots);
        if let Some(sync) = &self.sync {
            let first = self.workgroup * self.n + 1;
            let acquires = slots.iter().copied().filter(|slot| sync.fence_acquires(first + slot));
            let acquires: SmallVec<[u32; 64]> = acquires.collect();
            self.acquire(semantics, &acquires);
        }
        let levels = self.levels(semantics.scope);
        for domain in 0..self.orders.len() {
            if semantics.acquires[domain] {
                self.accept(domain, levels, slots);
            }
            if semantics.releases[domain] {
                self.orders[domain].release(levels, slots);
            }
        }
    }

    /// Invocations acquire behind a control barrier.
    fn accept(&mut self, domain: usize, levels: usize, slots: &[u32]) {
        let order = &mut self.orders[domain];
        if levels > OF_WORKGROUP && slots.len() >= self.waited && !order.handed.is_empty() {
            order.until.resize(order.handed.len(), 0);
            order.until.iter_mut().zip(&order.handed).for_each(|(until, handed)| *until = (*until).max(*handed));
        }
        if levels > OF_SUBGROUP && !order.offered.is_empty() {
            order.seen.resize(order.offered.len(), order.floor);
            for &slot in slots {
                let row = order.row(slot);
                let both = order.seen[row.clone()].iter_mut().zip(&order.offered[row]);
                both.for_each(|(seen, offered)| *seen = (*seen).max(*offered));
            }
        }
    }

    /// For a planted fault: fences are executed as late as possible.
    pub fn fence_again(&mut self, slots: &[u32]) {
        for order in &mut self.orders {
            for &slot in slots {
                let released = order.released.iter_mut().map(|released| &mut released[slot as usize]);
                released.filter(|time| **time != 0).for_each(|time| *time = order.now[slot as usize]);
                order.now[slot as usize] += 1;
            }
        }
    }

    /// Lanes of a subgroup come to a control barrier.
    pub fn subgroup_barrier(&mut self, semantics: Semantics, slots: &[u32], layout: &Layout) {
        for domain in 0..self.orders.len() {
            if semantics.releases[domain] {
                let levels = self.levels(semantics.scope);
                self.orders[domain].release(levels, slots);
            }
            self.meet(domain, semantics, slots, layout);
        }
    }

    /// Lanes of a subgroup are together at a control barrier: what each released is before what each does once it has acquired.
    fn meet(&mut self, domain: usize, semantics: Semantics, slots: &[u32], layout: &Layout) {
        let order = &mut self.orders[domain];
        let released = &order.released[OF_SUBGROUP];
        if slots.iter().any(|&slot| released[slot as usize] != 0) {
            let mut joined = vec![order.floor; order.lanes];
            for &slot in slots {
                let lane = layout.places[slot as usize].lane as usize;
                joined[lane] = joined[lane].max(released[slot as usize]);
                let known = order.passed_on[OF_SUBGROUP].get(order.row(slot)).unwrap_or_default();
                joined.iter_mut().zip(known).for_each(|(joined, known)| *joined = (*joined).max(*known));
            }
            order.offered.resize(self.n as usize * order.lanes, order.floor);
            for &slot in slots {
                let row = order.row(slot);
                let both = order.offered[row].iter_mut().zip(&joined);
                both.for_each(|(offered, joined)| *offered = (*offered).max(*joined));
            }
        }
        if semantics.acquires[domain] {
            self.accept(domain, self.levels(semantics.scope), slots);
        }
    }

    /// All invocations of the workgroup are ordered, in the kinds of memory of which the barrier acquires and releases with all of them, or in which they
    /// release by fences before it and acquire by fences behind it; those in `slots` are known to come. With a taint, what was written before may since have
    /// been overwritten by one of the others, whose path is unknown.
    pub fn workgroup_barrier(&mut self, semantics: Semantics, slots: &[u32], taint: u32, layout: &Layout) {
        let levels = self.levels(semantics.scope);
        let orders = semantics.both().map(|both| both && levels > OF_WORKGROUP);
        self.barriers.iter_mut().zip(orders).for_each(|(count, orders)| *count += u32::from(orders));
        self.waited = slots.len();
        for (domain, orders) in orders.into_iter().enumerate() {
            let order = &mut self.orders[domain];
            if orders {
                order.begin_anew();
            } else {
                if semantics.releases[domain] {
                    order.release(levels, slots);
                }
                let is_one_released =
                    |level: usize| slots.iter().any(|&slot| order.released[level][slot as usize] != 0);
                let [of_subgroup, of_workgroup] = [OF_SUBGROUP, OF_WORKGROUP].map(is_one_released);
                if of_workgroup {
                    order.hand(slots, layout);
                }
                if semantics.acquires[domain] {
                    self.accept(domain, levels, slots);
                }
                for subgroup in layout.subgroups.iter().filter(|_| of_subgroup) {
                    let lanes: SmallVec<[u32; 128]> =
                        subgroup.slots.iter().copied().filter(|slot| slots.contains(slot)).collect();
                    self.meet(domain, semantics, &lanes, layout);
                }
                if !of_workgroup {
                    continue;
                }
            }
            if taint != 0 {
                for object in self.objects.iter_mut().filter(|object| object.domain == domain && !object.read_only) {
                    object.taints.reset(taint, &mut self.budget);
                }
            }
        }
    }

    /// Two accesses that no barrier orders, one of them made now and the other `(who, when, wrote)`. A race, unless atomics and fences may order them.
    fn unordered(
        &mut self,
        object: u32,
        granule: usize,
        slot: usize,
        (other, before, wrote): (u32, u32, bool),
    ) -> Result<(), Clash> {
        let (place, invocation, domain) = (self.place, self.invocation(slot), self.objects[object as usize].domain);
        let now = self.orders[domain].now[slot];
        let suspect = Suspect { place, invocation, now, other, before, wrote, object, granule, domain };
        let may_order = self.sync.as_mut().is_some_and(|sync| sync.may_order(suspect));
        if may_order { Ok(()) } else { Err(Clash::Race(other, wrote)) }
    }

    /// Lanes executed an atomic that reads.
    pub fn read_atomically(&mut self, slots: &[u32]) {
        let first = self.workgroup * self.n + 1;
        if let Some(sync) = &mut self.sync {
            slots.iter().for_each(|slot| sync.read_atomically(first + slot));
        }
    }

    /// What lanes do before: released.
    pub fn release(&mut self, semantics: Semantics, slots: &[u32]) {
        self.tick(slots, semantics.releases, |sync, domain, invocation, before, _| {
            sync.release(domain, invocation, before)
        });
    }

    /// What lanes do from now on: behind an acquire.
    pub fn acquire(&mut self, semantics: Semantics, slots: &[u32]) {
        self.tick(slots, semantics.acquires, |sync, domain, invocation, _, now| sync.acquire(domain, invocation, now));
    }

    /// Lanes come to a control barrier, which also orders what they fenced before it.
    pub fn hand_over(&mut self, semantics: Semantics, slots: &[u32]) {
        self.tick(slots, semantics.kinds(), |sync, domain, invocation, before, _| {
            sync.hand_over(domain, invocation, before)
        });
        let first = self.workgroup * self.n + 1;
        let Some(sync) = &mut self.sync else { return };
        for (domain, order) in self.orders.iter().enumerate() {
            for &slot in slots {
                sync.hand_over(domain, first + slot, order.released[OF_SUBGROUP][slot as usize]);
            }
        }
    }

    /// Lanes leave a control barrier.
    pub fn take_over(&mut self, semantics: Semantics, slots: &[u32]) {
        self.tick(slots, semantics.kinds(), |sync, domain, invocation, _, now| sync.take_over(domain, invocation, now));
    }

    /// A point in time of some lanes, between what they did before and what they do from now on.
    fn tick(&mut self, slots: &[u32], kinds: Orders, mut note: impl FnMut(&mut Sync, usize, u32, u32, u32)) {
        let first = self.workgroup * self.n + 1;
        let Some(sync) = &mut self.sync else { return };
        for (domain, _) in kinds.iter().enumerate().filter(|(_, named)| **named) {
            for &slot in slots {
                let now = &mut self.orders[domain].now[slot as usize];
                *now += 1;
                note(sync, domain, first + slot, *now - 1, *now);
            }
        }
    }

    /// Who an access has to do with: what barriers make available or visible of everything reaches everybody whom they order.
    #[inline]
    fn completed(&self, sharing: Sharing, domain: usize, writes: bool) -> Sharing {
        if sharing == Sharing::WITH_EVERYBODY {
            return sharing;
        }
        if self.private_is_shared {
            return Sharing::WITH_EVERYBODY;
        }
        let by_barriers = sharing.non_private && self.made[usize::from(!writes)][domain];
        // Nobody else has workgroup memory.
        let whole = domain == 0 && sharing.reach == Reach::Workgroup;
        Sharing { reach: if by_barriers || whole { Reach::Everybody } else { sharing.reach }, ..sharing }
    }

    /// True if an invocation is within reach of another one, which is the present one or of which that is known.
    fn reaches(&self, reach: Reach, other: u32, slot: usize, layout: &Layout) -> bool {
        let of_group = self.slot_of(other);
        let place = of_group.and_then(|other| layout.places.get(other));
        match reach {
            _ if of_group == Some(slot) || self.scopes_ignored => true,
            Reach::Nobody => false,
            Reach::Subgroup => place.is_some_and(|place| place.subgroup == layout.places[slot].subgroup),
            Reach::Workgroup => place.is_some(),
            Reach::Everybody => true,
        }
    }

    /// One or several invocations, and when they accessed something.
    fn all_of(&self, who: u32, when: u32) -> SmallVec<[(u32, u32); 4]> {
        match who {
            0 => SmallVec::new(),
            many if many & MANY != 0 => SmallVec::from_slice(&self.several[(many & !MANY) as usize]),
            one => SmallVec::from_slice(&[(one, when)]),
        }
    }

    /// Notes a plain access. Gives why what it reads or leaves is not determined: another's unordered write may come before or after it, or what others wrote
    /// and read is private.
    #[inline]
    pub(super) fn touch(
        &mut self,
        (object, offset, size): Touched,
        slot: usize,
        writes: bool,
        sharing: Sharing,
        layout: &Layout,
    ) -> Result<Option<Why>, Clash> {
        let me = self.invocation(slot);
        let bytes = &self.objects[object as usize];
        if bytes.read_only {
            return Ok(None);
        }
        let domain = bytes.domain;
        let sharing = self.completed(sharing, domain, writes);
        let bytes = &mut self.objects[object as usize];
        let shift = self.granule.trailing_zeros();
        let (first, last) = ((offset >> shift) as usize, ((offset + size - 1) >> shift) as usize);
        let time = self.orders[domain].now[slot];
        if bytes.several_ways
            && let Some(why) = self.other_way(object, first..=last, sharing, writes)?
        {
            self.touch_shared(object, first..=last, slot, writes, sharing, layout)?;
            return Ok(Some(why));
        }
        let bytes = &mut self.objects[object as usize];
        if first / PAGE == last / PAGE && self.equal.is_none() {
            let page = bytes.shadow.page(first / PAGE, bytes.granules, &mut self.budget)?;
            let granules = &mut page[first % PAGE..=last % PAGE];
            let alone = |who: u32| who == 0 || who == me;
            let is_own = |shadow: &Shadow| {
                alone(shadow.writer)
                    && alone(shadow.reader)
                    && shadow.atomic == 0
                    && shadow.flags & UNORDERED_WRITES == 0
            };
            if granules.iter().all(is_own) {
                granules.iter_mut().for_each(|shadow| shadow.note(me, time, writes, sharing));
                return Ok(None);
            }
        }
        self.touch_shared(object, first..=last, slot, writes, sharing, layout)
    }

    /// Notes through what granules are accessed to which there are several ways. Gives why what is read or left there is open, if it is.
    fn other_way(
        &mut self,
        object: u32,
        granules: std::ops::RangeInclusive<usize>,
        sharing: Sharing,
        writes: bool,
    ) -> Result<Option<Why>, Stop> {
        let mut open = None;
        for at in granules {
            let Some(aliases) = self.aliases.as_mut().filter(|_| !self.aliases_assumed) else { break };
            let met = aliases.note((object, at), self.through, sharing, writes, &mut self.budget)?;
            if met.open {
                open = Some(Why::Aliased);
            }
            if met.reads_are_open {
                self.reads_are_open(object, at, Why::Aliased)?;
            }
        }
        Ok(open)
    }

    /// The same for granules that others may have accessed.
    fn touch_shared(
        &mut self,
        object: u32,
        granules: std::ops::RangeInclusive<usize>,
        slot: usize,
        writes: bool,
        sharing: Sharing,
        layout: &Layout,
    ) -> Result<Option<Why>, Clash> {
        let (domain, me) = (self.objects[object as usize].domain, self.invocation(slot));
        let time = self.orders[domain].now[slot];
        let mut open = None;
        let mut clashes: SmallVec<[(u32, u32, bool); 2]> = SmallVec::new();
        for at in granules {
            let shadow = self.objects[object as usize].shadow.get(at);
            let follows =
                |who: u32, when: u32| who == 0 || who == me || self.is_ordered(domain, who, when, slot, layout);
            let may_follow =
                |who: u32, when: u32| follows(who, when) || self.is_offered(domain, who, when, slot, layout);
            let acted = if writes || shadow.kind != 1 { shadow.atomic } else { 0 };
            let read = if writes { shadow.reader } else { 0 };
            let mut read_is_open = None;
            let mut unordered = writes && self.has_unordered_writes(shadow, domain);
            // An atomic has read, too.
            for (who, when, wrote, has_read) in [
                (shadow.writer, shadow.written, true, false),
                (acted, shadow.acted, true, true),
                (read, shadow.read, false, true),
            ] {
                if self.late(who, when, follows).is_some() {
                    let clash = self.late(who, when, may_follow);
                    let why = Some(if clash.is_some() { Why::Order } else { Why::Unacquired });
                    open = if wrote { why } else { open };
                    read_is_open = if writes && has_read { why } else { read_is_open };
                    unordered |= writes && wrote;
                    clashes.extend(clash.map(|(who, when)| (who, when, wrote)));
                }
            }
            unordered |= writes && self.late_equal(object, at, follows).is_some();
            if unordered {
                open.get_or_insert(Why::Order);
            }
            clashes.extend(self.late_equal(object, at, may_follow).map(|(who, when)| (who, when, true)));
            // Of several readers some other may not.
            let reader_precedes = shadow.reader & MANY == 0 && follows(shadow.reader, shadow.read);
            for clash in clashes.drain(..) {
                self.unordered(object, at, slot, clash)?;
            }
            if let Some(why) = read_is_open {
                self.reads_are_open(object, at, why)?;
            }
            if self.hides_write(shadow, slot, writes, sharing, layout) {
                open.get_or_insert(Why::Private);
            }
            if writes && self.hides_read(shadow, me, sharing) {
                open.get_or_insert(Why::Private);
                self.reads_are_open(object, at, Why::Private)?;
            }
            let mut next = shadow;
            if writes {
                self.forget(shadow);
                next = Shadow::default();
                next.note(me, time, true, sharing);
                next.flags |= if unordered { UNORDERED_WRITES } else { 0 };
                self.equal.iter_mut().for_each(|equal| _ = equal.remove(&(object, at)));
            } else {
                (next.reader, next.read) = self.joined((shadow.reader, shadow.read), (me, time), reader_precedes)?;
                next.flags |= if sharing.non_private { 0 } else { PRIVATE_READ };
            }
            let bytes = &mut self.objects[object as usize];
            *bytes.shadow.at(at, bytes.granules, &mut self.budget)? = next;
        }
        Ok(open)
    }

    /// True if a write before the last one is not ordered with it, and no barrier has ordered all since.
    fn has_unordered_writes(&self, shadow: Shadow, domain: usize) -> bool {
        let is_past = self.slot_of(shadow.writer).is_some() && shadow.written <= self.orders[domain].floor;
        shadow.flags & UNORDERED_WRITES != 0 && !is_past
    }

    /// True if what another invocation wrote before is not location-ordered before a plain access, although a barrier orders them: "both X and Y are non-private",
    /// the write is made available to a domain that both have in common, and visible to a read (Vulkan memory model, "Location-Ordered").
    fn hides_write(&self, shadow: Shadow, slot: usize, writes: bool, sharing: Sharing, layout: &Layout) -> bool {
        let me = self.invocation(slot);
        let takes = |who: u32| sharing.non_private && (writes || self.reaches(sharing.reach, who, slot, layout));
        let by_plain = shadow.writer != 0
            && shadow.writer != me
            && !(self.reaches(shadow.reach, shadow.writer, slot, layout) && takes(shadow.writer));
        let acted = self.all_of(shadow.atomic, shadow.acted);
        let by_atomics = shadow.flags & ATOMIC_WROTE != 0
            && (shadow.flags & UNKNOWN_SCOPES != 0
                || shadow.flags & OTHERS_ACTED != 0
                    && !(sharing.non_private && (writes || sharing.reach == Reach::Everybody))
                || acted
                    .iter()
                    .any(|&(who, _)| who != me && !(self.reaches(shadow.scope, who, slot, layout) && takes(who))));
        by_plain || by_atomics
    }

    /// True if a write may come before what another invocation read before it, although a barrier orders them: "X is a read, both X and Y are non-private, and
    /// X->Y" (Vulkan memory model, "Location-Ordered").
    fn hides_read(&self, shadow: Shadow, me: u32, sharing: Sharing) -> bool {
        let by_other = |who: u32| who != 0 && who != me;
        let acted = by_other(shadow.atomic) || shadow.flags & OTHERS_ACTED != 0;
        by_other(shadow.reader) && (shadow.flags & PRIVATE_READ != 0 || !sharing.non_private)
            || acted && !sharing.non_private
    }

    /// What was read of a granule is open: the run is repeated.
    fn reads_are_open(&mut self, object: u32, granule: usize, why: Why) -> Result<(), Stop> {
        let key = (object, granule as u32);
        if self.hidden.insert(key, why).is_none() && self.contended.insert(key) {
            self.budget.take(8 * size_of::<(u32, u32)>())?;
        }
        Ok(())
    }

    /// Another invocation that has stored what is there, and that is not followed.
    fn late_equal(&self, object: u32, at: usize, follows: impl Fn(u32, u32) -> bool) -> Option<(u32, u32)> {
        let list = self.equal.as_ref()?.get(&(object, at))?;
        list.iter().find(|(who, when)| !follows(*who, *when)).copied()
    }

    /// Notes a store of what is there, which follows no other store. False if it clashes with other accesses than stores.
    pub(super) fn touch_equal(
        &mut self,
        (object, offset, size): Touched,
        slot: usize,
        sharing: Sharing,
        layout: &Layout,
    ) -> Result<bool, Stop> {
        let (domain, me) = (self.objects[object as usize].domain, self.invocation(slot));
        let time = self.orders[domain].now[slot];
        let sharing = self.completed(sharing, domain, true);
        let shift = self.granule.trailing_zeros();
        let granules = (offset >> shift) as usize..=((offset + size - 1) >> shift) as usize;
        for at in granules.clone() {
            let shadow = self.objects[object as usize].shadow.get(at);
            let follows =
                |who: u32, when: u32| who == 0 || who == me || self.is_ordered(domain, who, when, slot, layout);
            let late = [(shadow.atomic, shadow.acted), (shadow.reader, shadow.read)];
            if late.iter().any(|&(who, when)| self.late(who, when, follows).is_some()) {
                return Ok(false);
            }
        }
        for at in granules {
            let mut shadow = self.objects[object as usize].shadow.get(at);
            let before = (shadow.writer, shadow.written);
            self.forget(shadow);
            shadow = Shadow::default();
            shadow.note(me, time, true, sharing);
            self.budget.take(size_of::<(u32, u32)>() * 4)?;
            if let (Some(equal), true) = (&mut self.equal, before.0 != 0) {
                equal.entry((object, at)).or_default().push(before);
            }
            let bytes = &mut self.objects[object as usize];
            *bytes.shadow.at(at, bytes.granules, &mut self.budget)? = shadow;
        }
        Ok(true)
    }

    /// Of one or several invocations, and when they accessed something, one that an access does not follow.
    fn late(&self, who: u32, when: u32, follows: impl Fn(u32, u32) -> bool) -> Option<(u32, u32)> {
        if who & MANY != 0 {
            let list = &self.several[(who & !MANY) as usize];
            return list.iter().find(|(who, when)| !follows(*who, *when)).copied();
        }
        (!follows(who, when)).then_some((who, when))
    }

    /// Nothing refers to the lists of a granule any more.
    fn forget(&mut self, shadow: Shadow) {
        let lists = [shadow.reader, shadow.atomic].into_iter().filter(|who| who & MANY != 0);
        self.free.extend(lists.map(|many| many & !MANY));
    }

    /// One or several invocations, and another one, which follows them all or not.
    fn joined(&mut self, before: (u32, u32), me: (u32, u32), follows: bool) -> Result<(u32, u32), Stop> {
        let many = before.0 & MANY != 0;
        if follows {
            if many {
                self.free.push(before.0 & !MANY);
            }
            return Ok(me);
        }
        if !many {
            return Ok((MANY | self.list_of(before, me)?, me.1));
        }
        let list = &mut self.several[(before.0 & !MANY) as usize];
        match list.binary_search_by_key(&me.0, |(who, _)| *who) {
            Ok(at) => list[at].1 = me.1,
            Err(at) => {
                self.budget.take(size_of::<(u32, u32)>() * 2)?;
                list.insert(at, me);
            }
        }
        Ok((before.0, me.1))
    }

    /// A list of two.
    fn list_of(&mut self, first: (u32, u32), second: (u32, u32)) -> Result<u32, Stop> {
        let pair = if first.0 < second.0 { [first, second] } else { [second, first] };
        if let Some(index) = self.free.pop() {
            let list = &mut self.several[index as usize];
            list.clear();
            list.extend(pair);
            return Ok(index);
        }
        self.budget.take(128)?;
        self.several.push(pair.to_vec());
        Ok(self.several.len() as u32 - 1)
    }

    /// Notes an atomic: whether others that nothing orders with it touch the location, too, and whether their operators do not commute.
    pub(super) fn act(
        &mut self,
        object: u32,
        (offset, size): (u64, u64),
        slot: usize,
        (kind, scope): (u8, Reach),
        layout: &Layout,
    ) -> Result<(bool, bool), Clash> {
        let (mut others, mut mixed) = (false, false);
        for at in (offset / self.granule)..=((offset + size - 1) / self.granule) {
            let found = self.act_on(object, at as usize, slot, (kind, scope), layout)?;
            others |= found.0;
            mixed |= found.1;
        }
        Ok((others, mixed))
    }

    fn act_on(
        &mut self,
        object: u32,
        at: usize,
        slot: usize,
        (kind, scope): (u8, Reach),
        layout: &Layout,
    ) -> Result<(bool, bool), Clash> {
        let bytes = &self.objects[object as usize];
        let (domain, several_ways, me) = (bytes.domain, bytes.several_ways, self.invocation(slot));
        let time = self.orders[domain].now[slot];
        let mut shadow = bytes.shadow.get(at);
        let follows = |who: u32, when: u32| who == 0 || who == me || self.is_ordered(domain, who, when, slot, layout);
        let may_follow = |who: u32, when: u32| follows(who, when) || self.is_offered(domain, who, when, slot, layout);
        let sharing = self.completed(Sharing { non_private: true, reach: scope }, domain, false);
        // Nobody else has workgroup memory.
        let scope = if domain == 0 && scope == Reach::Workgroup { Reach::Everybody } else { scope };
        // "If two atomic operations are not mutually-ordered, and if their sets of memory locations overlap, then each must be synchronized against the other as
        // if they were non-atomic operations" (Vulkan memory model, "Atomic Operation"). That needs both to be within the scope of the other one.
        let both_load = kind == 1 && shadow.kind == 1;
        let mutual = |who: u32| self.reaches(scope.min(shadow.scope), who, slot, layout);
        let late = |follows: &dyn Fn(u32, u32) -> bool| {
            let wrote = (!follows(shadow.writer, shadow.written)).then_some((shadow.writer, shadow.written));
            let equal = self.late_equal(object, at, follows);
            let read = self.late(shadow.reader, shadow.read, follows).filter(|_| kind != 1);
            let alien = match shadow.flags & UNKNOWN_SCOPES {
                0 if !both_load => {
                    self.late(shadow.atomic, shadow.acted, |who, when| follows(who, when) || mutual(who))
                }
                _ => None,
            };
            [wrote, equal, read, alien]
        };
        let [wrote, equal, read, alien] = late(&follows);
        let is_alone = [wrote, equal, read, alien].iter().all(Option::is_none);
        if !is_alone {
            let [wrote, equal, read, alien] = late(&may_follow);
            for (clash, wrote) in [(wrote, true), (equal, true), (read, false), (alien, true)] {
                clash.map_or(Ok(()), |(who, when)| self.unordered(object, at, slot, (who, when, wrote)))?;
            }
        }
        if read.is_some() {
            self.reads_are_open(object, at, Why::Order)?;
        }
        let follows = |who: u32, when: u32| who == 0 || who == me || self.is_ordered(domain, who, when, slot, layout);
        let ordered = self.late(shadow.atomic, shadow.acted, follows).is_none();
        let others = !both_load && !ordered || !is_alone;
        let hides_read = kind != 1 && self.hides_read(shadow, me, sharing);
        if hides_read {
            self.reads_are_open(object, at, Why::Private)?;
        }
        let aliased = several_ways && self.other_way(object, at..=at, sharing, kind != 1)?.is_some();
        let unknown = shadow.flags & UNKNOWN_SCOPES != 0 && !ordered;
        let hidden = aliased
            || hides_read
            || unknown
            || wrote.is_some()
            || equal.is_some()
            || self.has_unordered_writes(shadow, domain)
            || alien.is_some()
            || self.hides_write(shadow, slot, false, sharing, layout);
        let others = others || hidden;
        // The operators since the last point that orders them all.
        let own = kind;
        let is_past = |who: u32, when: u32| who == 0 || self.is_past(domain, who, when);
        let all_ordered = self.late(shadow.atomic, shadow.acted, is_past).is_none();
        let since = if all_ordered { 0 } else { shadow.kind };
        let kind = match since {
            0 | 1 => kind,
            same if same == kind || kind == 1 => same,
            _ => MIXED,
        };
        let (wrote, kind) = (own != 1, if hidden { MIXED } else { kind });
        shadow.kind = kind;
        shadow.note_atomic(me, scope, wrote, ordered);
        let follows = ordered || self.only_last_atomic;
        (shadow.atomic, shadow.acted) = self.joined((shadow.atomic, shadow.acted), (me, time), follows)?;
        let bytes = &mut self.objects[object as usize];
        *bytes.shadow.at(at, bytes.granules, &mut self.budget)? = shadow;
        Ok((others, kind == MIXED))
    }
}

impl Order {
    /// The place of an invocation in the tables by invocation and lane.
    fn row(&self, slot: u32) -> std::ops::Range<usize> {
        slot as usize * self.lanes..(slot as usize + 1) * self.lanes
    }

    /// Invocations release what they did and what they have seen.
    fn release(&mut self, levels: usize, slots: &[u32]) {
        for &slot in slots {
            let row = self.row(slot);
            for (released, passed_on) in self.released.iter_mut().zip(&mut self.passed_on).take(levels) {
                released[slot as usize] = self.now[slot as usize];
                if !self.seen.is_empty() {
                    passed_on.resize(self.seen.len(), 0);
                    passed_on[row.clone()].copy_from_slice(&self.seen[row.clone()]);
                }
            }
            self.now[slot as usize] += 1;
        }
    }

    /// What invocations released to the workgroup is before what others do once they have acquired.
    fn hand(&mut self, slots: &[u32], layout: &Layout) {
        self.handed.resize(self.now.len(), 0);
        for &slot in slots {
            let handed = &mut self.handed[slot as usize];
            *handed = (*handed).max(self.released[OF_WORKGROUP][slot as usize]);
            let known = self.passed_on[OF_WORKGROUP].get(self.row(slot)).unwrap_or_default();
            let subgroup = &layout.subgroups[layout.places[slot as usize].subgroup as usize];
            // Of lanes that nobody has there is nothing.
            for (&other, &time) in subgroup.slots.iter().zip(known) {
                let handed = self.handed.get_mut(other as usize);
                handed.into_iter().for_each(|handed| *handed = (*handed).max(time));
            }
        }
    }

    /// Everything before is ordered before everything behind.
    fn begin_anew(&mut self) {
        self.floor = self.now.iter().copied().max().unwrap_or(1);
        self.now.fill(self.floor + 1);
        for known in [&mut self.until, &mut self.handed, &mut self.seen, &mut self.offered] {
            known.clear();
        }
        self.passed_on.iter_mut().for_each(Vec::clear);
    }

    /// True if a table of each lane's time, by invocation and lane of its subgroup, has this time of another lane of the subgroup.
    fn is_in(&self, table: &[u32], time: u32, slot: usize, other: usize, layout: &Layout) -> bool {
        let same = layout.places[other].subgroup == layout.places[slot].subgroup;
        let lane = layout.places[other].lane as usize;
        same && table.get(slot * self.lanes + lane).is_some_and(|&known| time <= known)
    }
}

impl Shadow {
    /// Notes a plain access of the only invocation that there is to be noted.
    #[inline]
    fn note(&mut self, me: u32, time: u32, writes: bool, sharing: Sharing) {
        if writes {
            (self.writer, self.written, self.reach) = (me, time, sharing.reach);
            (self.reader, self.read, self.flags, self.scope) = (0, 0, 0, Reach::default());
        } else {
            (self.reader, self.read) = (me, time);
            self.flags |= if sharing.non_private { 0 } else { PRIVATE_READ };
        }
    }

    /// Notes an atomic, which follows all others that are noted or not. Of those that it follows nothing is kept but that they were there.
    fn note_atomic(&mut self, me: u32, scope: Reach, writes: bool, follows: bool) {
        let others = self.atomic != 0 && self.atomic != me;
        if others && follows {
            self.flags |= OTHERS_ACTED | if self.scope == Reach::Everybody { 0 } else { UNKNOWN_SCOPES };
        }
        if self.atomic != 0 && self.scope != scope {
            self.flags |= UNKNOWN_SCOPES;
        }
        self.flags |= if writes { ATOMIC_WROTE } else { 0 };
        self.scope = scope;
    }
}
