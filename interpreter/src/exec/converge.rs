//! Who executes an instruction together, by the rules of the tier. See the crate's page, "Convergence".

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{Layout, Machine, Subgroup};
use crate::dispatch::Tier;
use crate::faults::Planted;
use crate::lanes::Lanes;

/// Classes of lanes that are known to be together.
#[derive(Debug)]
pub(crate) struct Classes {
    of: Vec<u32>,
    next: u32,
    /// Some lane is in another class than 0.
    several: bool,
}

impl Classes {
    pub fn new(n: usize) -> Classes {
        Classes { of: vec![0; n], next: 1, several: false }
    }

    fn fresh(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1).max(1);
        self.next
    }

    /// Lanes of one class with the same decision stay in one class.
    fn split(&mut self, lanes: &Lanes, decision: impl Fn(usize) -> u64) {
        let mut known: FxHashMap<(u32, u64), u32> = FxHashMap::default();
        for slot in lanes.iter() {
            let key = (self.of[slot], decision(slot));
            let class = match known.get(&key) {
                Some(&class) => class,
                None => {
                    let class = self.fresh();
                    known.insert(key, class);
                    class
                }
            };
            self.of[slot] = class;
        }
        self.several = true;
    }

    /// The class of all of these lanes, if they are in one.
    fn common(&self, mut lanes: impl Iterator<Item = usize>) -> Option<u32> {
        let first = self.of[lanes.next()?];
        lanes.all(|slot| self.of[slot] == first).then_some(first)
    }
}

/// What is remembered of the entry into a construct.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// Tier maximal: the classes of all lanes; none if there was one class only.
    classes: Option<Vec<u32>>,
    /// The other tiers: control flow was uniform for the workgroup.
    workgroup: bool,
    /// Bit `s`: it was for subgroup `s`.
    subgroups: SmallVec<[u64; 2]>,
}

impl Entry {
    /// True if it has the class of every lane.
    pub fn has_classes(&self) -> bool {
        self.classes.is_some()
    }
}

/// What earlier runs of the same dispatch found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knowledge {
    /// Subgroup instructions (workgroup, number × subgroups + subgroup) whose visitors do not all come together.
    open: FxHashSet<(u32, u32)>,
    /// Subgroups (workgroup, subgroup) with lost lanes, which may visit any instruction.
    haunted: FxHashSet<(u32, u32)>,
    /// The rule of visitors is not used at all.
    pub no_claims: bool,
    /// Locations (object, granule) of atomics whose order is open.
    pub contended: FxHashSet<(u32, u32)>,
}

/// What this run assumes: that the lanes that execute a subgroup instruction together, on one path, are all that ever visit it.
#[derive(Debug)]
pub(crate) struct Claims {
    visitors: Vec<u128>,
    /// The lanes that every claim so far names; all ones without a claim.
    claimed: Vec<u128>,
    any: bool,
}

impl Claims {
    pub fn new(tier: Tier, count: usize) -> Claims {
        let count = if tier == Tier::Maximal { 0 } else { count };
        Claims { visitors: vec![0; count], claimed: vec![u128::MAX; count], any: false }
    }

    pub fn any(&self) -> bool {
        self.any
    }

    /// Adds what was assumed wrongly to the knowledge; true if there is any.
    pub fn check(&self, workgroup: u32, layout: &Layout, lost: &Lanes, knowledge: &mut Knowledge) -> bool {
        let subgroups = layout.subgroups.len();
        let mut wrong = false;
        let haunted: Vec<bool> =
            layout.subgroups.iter().map(|subgroup| lost.iter().any(|slot| subgroup.lanes.contains(slot))).collect();
        for (at, (&visitors, &claimed)) in self.visitors.iter().zip(&self.claimed).enumerate() {
            if claimed == u128::MAX {
                continue;
            }
            let subgroup = at % subgroups;
            let whole = claimed == layout.subgroups[subgroup].live;
            if haunted[subgroup] && !whole {
                wrong |= knowledge.haunted.insert((workgroup, subgroup as u32));
            }
            if claimed != visitors {
                wrong |= knowledge.open.insert((workgroup, at as u32));
            }
        }
        wrong
    }
}

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
            Tier::Plain => entry.workgroup = self.is_uniform(lanes, &Lanes::all(self.n)),
            Tier::SubgroupUniform => {
                entry.workgroup = self.is_uniform(lanes, &Lanes::all(self.n));
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
            if was && subgroup.lanes.within(lanes) && self.classes.common(subgroup.lanes.iter()).is_none() {
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

    /// Those of the lanes that are known to be with one of them.
    pub(super) fn class_mask(&self, subgroup: usize, mask: u128, slot: usize) -> u128 {
        let slots = &self.layout.subgroups[subgroup].slots;
        let with =
            |lane: &usize| mask >> lane & 1 == 1 && self.classes.of[slots[*lane] as usize] == self.classes.of[slot];
        (0..slots.len()).filter(with).fold(0, |found, lane| found | 1 << lane)
    }

    fn common_of(&self, subgroup: usize, mask: u128) -> Option<u32> {
        let slots = &self.layout.subgroups[subgroup].slots;
        let lanes = (0..slots.len()).filter(|lane| mask >> lane & 1 == 1);
        self.classes.common(lanes.map(|lane| slots[lane] as usize))
    }

    /// True if these lanes are exactly the tangle of a subgroup instruction.
    pub(super) fn knows_tangle(&mut self, number: u32, subgroup: usize, mask: u128) -> bool {
        self.tangles.0 += 1;
        let together = self.is_exact(subgroup, mask);
        let known = match self.tier {
            Tier::Maximal => together,
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
        if knowledge.no_claims
            || knowledge.haunted.contains(&(workgroup, subgroup as u32))
            || knowledge.open.contains(&(workgroup, at as u32))
        {
            return false;
        }
        self.claims.claimed[at] &= mask;
        self.claims.any = true;
        true
    }
}
