//! Who executes an instruction together, by the rules of the tier. See the crate's page, "Convergence".

use smallvec::SmallVec;

use super::Machine;
use super::classes::Entry;
use super::layout::Subgroup;
use crate::dispatch::Tier;
use crate::faults::Planted;
use crate::lanes::Lanes;

impl Machine<'_> {
    /// The lanes of a subgroup that run now.
    pub(super) fn mask_of(&self, subgroup: &Subgroup) -> u128 {
        let mut mask = 0;
        for (lane, &slot) in subgroup.slots.iter().enumerate() {
            if slot != u32::MAX && self.lanes.contains(slot as usize) {
                mask |= 1 << lane;
            }
        }
        mask
    }

    /// What the entry into a construct, or a call, is for the lanes.
    pub(super) fn entry(&self, lanes: &Lanes) -> Entry {
        let mut entry = Entry::default();
        match self.tier {
            Tier::Maximal => {
                entry.classes = self.classes.several.then(|| self.classes.of.clone());
            }
            Tier::Plain => entry.workgroup = self.is_uniform_in_workgroup(lanes),
            Tier::SubgroupUniform => {
                entry.workgroup = self.is_uniform_in_workgroup(lanes);
                entry.subgroups = SmallVec::from_elem(0, self.layout.subgroups.len().div_ceil(64));
                for (s, subgroup) in self.layout.subgroups.iter().enumerate() {
                    if entry.workgroup || self.is_uniform(lanes, &subgroup.lanes) {
                        entry.subgroups[s / 64] |= 1 << (s % 64);
                    }
                }
            }
        }
        entry
    }

    /// True if control flow is uniform in the workgroup. That of a draw has no meaning: nothing says that all of its lanes are of one invocation group.
    fn is_uniform_in_workgroup(&self, lanes: &Lanes) -> bool {
        self.draw.is_none() && self.is_uniform(lanes, &Lanes::all(self.n))
    }

    /// "All invocations in the group execute the same dynamic instance" (SPIR-V 1.6 §2.2.5, uniform control flow).
    fn is_uniform(&self, lanes: &Lanes, group: &Lanes) -> bool {
        group.within(lanes) && (!self.classes.several || self.classes.common(group.iter()).is_some())
    }

    /// Lanes take different sides of a branch. At tier maximal they are apart, and that is all.
    pub(super) fn diverge(&mut self, lanes: &Lanes, decision: impl Fn(usize) -> u64) {
        if self.tier != Tier::Maximal {
            self.classes.split(lanes, decision);
        }
    }

    /// Lanes have different selectors. At tier maximal those with one selector stay together; whether others join them in a case construct
    /// is open (SPV_KHR_maximal_reconvergence, "Divergence").
    pub(super) fn diverge_at_switch(&mut self, lanes: &Lanes, decision: impl Fn(usize) -> u64) {
        if self.tier == Tier::Maximal && self.is(Planted::SwitchAlwaysExact) {
            return;
        }
        self.classes.split(lanes, decision);
    }

    /// Lanes are together again, as they were.
    fn restore(&mut self, entry: &Entry, lanes: &Lanes) {
        if !self.classes.several {
            return;
        }
        for slot in lanes.iter() {
            self.classes.of[slot] = entry.classes.as_ref().map_or(0, |classes| classes[slot]);
        }
        self.classes.several = self.classes.of.iter().any(|&class| class != 0);
    }

    /// At the merge block of a construct.
    pub(super) fn reconverge_at_merge(&mut self, entry: &Entry, lanes: &Lanes) {
        match self.tier {
            Tier::Maximal => self.restore(entry, lanes),
            Tier::Plain | Tier::SubgroupUniform => self.reconverge_uniformly(entry, lanes),
        }
    }

    /// "If control flow is uniform upon entry into a structured loop or selection, and all invocations leave that loop or selection via the
    /// header block's declared merge block, then control flow reconverges to be uniform at that merge block" (SPIR-V 1.6 §2.2.5); with
    /// `SubgroupUniformControlFlowKHR` that holds for each subgroup as well.
    fn reconverge_uniformly(&mut self, entry: &Entry, lanes: &Lanes) {
        let all = Lanes::all(self.n);
        let ignores = self.is(Planted::UniformWithoutAll);
        if entry.workgroup && (all.within(lanes) || ignores) {
            if self.classes.common(lanes.iter()).is_none() {
                let class = self.classes.fresh();
                lanes.iter().for_each(|slot| self.classes.of[slot] = class);
            }
            return;
        }
        for (s, subgroup) in self.layout.subgroups.iter().enumerate() {
            let was = entry.subgroups.get(s / 64).is_some_and(|word| word >> (s % 64) & 1 == 1);
            // Helpers may be gone before they come there, and then not all invocations do.
            let has_helpers = !self.helpers.is_empty() && !subgroup.lanes.and(&self.helpers).is_empty();
            let come = was && !has_helpers && subgroup.lanes.within(lanes);
            if come && self.classes.common(subgroup.lanes.iter()).is_none() {
                let class = self.classes.fresh();
                subgroup.lanes.iter().for_each(|slot| self.classes.of[slot] = class);
            }
        }
    }

    /// At the continue target: all lanes of the iteration that did not leave are together (SPV_KHR_maximal_reconvergence); no other tier says so.
    pub(super) fn reconverge_iteration(&mut self, lanes: &Lanes) {
        if self.tier == Tier::Maximal {
            let entry = self.frames.last().map(|frame| frame.entry.clone()).unwrap_or_default();
            self.restore(&entry, lanes);
        }
    }

    /// After a call: the same.
    pub(super) fn reconverge_after_call(&mut self, entry: &Entry, lanes: &Lanes) {
        if self.is(Planted::ReconvergesAfterCall) {
            let class = self.classes.fresh();
            lanes.iter().for_each(|slot| self.classes.of[slot] = class);
            return;
        }
        if self.tier == Tier::Maximal {
            self.restore(entry, lanes);
        }
    }

    /// True if the lanes of a subgroup that run now are one class.
    pub(super) fn is_exact(&self, subgroup: usize, mask: u128) -> bool {
        !self.classes.several || self.common_of(subgroup, mask).is_some()
    }

    /// True if all lanes that run are one class.
    pub(super) fn is_one_class(&self) -> bool {
        !self.classes.several || self.classes.common(self.lanes.iter()).is_some()
    }

    /// The class of a lane: those of one class are known to be together.
    pub(super) fn class_of(&self, slot: usize) -> u32 {
        if self.classes.several { self.classes.of[slot] } else { 0 }
    }

    /// Those of the lanes that are known to be with one of them.
    pub(super) fn class_mask(&self, subgroup: usize, mask: u128, slot: usize) -> u128 {
        let slots = &self.layout.subgroups[subgroup].slots;
        let with =
            |lane: &usize| mask >> lane & 1 == 1 && self.classes.of[slots[*lane] as usize] == self.classes.of[slot];
        (0..slots.len()).filter(with).fold(0, |found, lane| found | 1 << lane)
    }

    /// Lanes that are known to be together, set by set.
    pub(super) fn by_class(&self, slots: &[u32]) -> Vec<Vec<u32>> {
        let mut sets: Vec<(u32, Vec<u32>)> = Vec::new();
        for &slot in slots.iter().filter(|_| !self.is(Planted::OpenBarrierOrdersNothing)) {
            let class = self.classes.of[slot as usize];
            match sets.iter_mut().find(|(known, _)| *known == class) {
                Some((_, set)) => set.push(slot),
                None => sets.push((class, vec![slot])),
            }
        }
        sets.into_iter().map(|(_, set)| set).collect()
    }

    fn common_of(&self, subgroup: usize, mask: u128) -> Option<u32> {
        let slots = &self.layout.subgroups[subgroup].slots;
        let lanes = (0..slots.len()).filter(|lane| mask >> lane & 1 == 1);
        self.classes.common(lanes.map(|lane| slots[lane] as usize))
    }

    /// True if a lost lane of the subgroup may be with those that run: it entered the innermost construct, or the call, with them.
    pub(super) fn may_be_joined(&self, subgroup: usize) -> bool {
        if self.lost.is_empty() || self.is(Planted::LostLanesIgnored) {
            return false;
        }
        let lanes = &self.layout.subgroups[subgroup].lanes;
        self.frames.last().is_some_and(|frame| !lanes.and(&self.lost).and(&frame.present).is_empty())
    }

    /// True if a lost lane of the subgroup may come to an instruction together with those that run.
    pub(super) fn lost_may_come(&self, subgroup: usize) -> bool {
        match self.tier {
            Tier::Maximal => self.may_be_joined(subgroup),
            _ => !self.layout.subgroups[subgroup].lanes.and(&self.lost).is_empty(),
        }
    }

    /// True if these lanes are exactly the tangle of a subgroup instruction.
    pub(super) fn knows_tangle(&mut self, number: u32, subgroup: usize, mask: u128) -> bool {
        self.tangles.0 += 1;
        let together = self.is_exact(subgroup, mask);
        let known = match self.tier {
            Tier::Maximal => together && !self.may_be_joined(subgroup),
            _ => {
                let at = number as usize * self.layout.subgroups.len() + subgroup;
                self.claims.visitors[at] |= mask;
                together && (mask == self.layout.subgroups[subgroup].live || self.claim(at, subgroup, mask))
            }
        };
        self.tangles.1 += u64::from(!known);
        known || self.is(Planted::EveryTangleExact)
    }

    /// Lanes on one path are together; nobody else can be with them if nobody else ever comes by.
    fn claim(&mut self, at: usize, subgroup: usize, mask: u128) -> bool {
        let workgroup = self.workgroup;
        let knowledge = self.knowledge;
        // Somebody else has come by already.
        if self.claims.visitors[at] & !mask != 0
            || knowledge.no_claims
            || knowledge.with_lost.contains(&(workgroup, subgroup as u32))
            || knowledge.open.contains(&(workgroup, at as u32))
        {
            return false;
        }
        self.claims.claimed[at] &= mask;
        self.claims.any = true;
        true
    }
}
