//! Which lanes are known to be together, and what a run assumes of it.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::layout::Layout;
use crate::dispatch::Tier;
use crate::lanes::Lanes;
use crate::outcome::Why;

/// Classes of lanes that are known to be together.
#[derive(Debug)]
pub(crate) struct Classes {
    pub(super) of: Vec<u32>,
    pub(super) next: u32,
    /// Some lane is in another class than 0.
    pub(super) several: bool,
}

impl Classes {
    pub fn new(n: usize) -> Classes {
        Classes { of: vec![0; n], next: 1, several: false }
    }

    pub(super) fn fresh(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1).max(1);
        self.next
    }

    /// Lanes of one class with the same decision stay in one class.
    pub(super) fn split(&mut self, lanes: &Lanes, decision: impl Fn(usize) -> u64) {
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
    pub(super) fn common(&self, mut lanes: impl Iterator<Item = usize>) -> Option<u32> {
        let first = self.of[lanes.next()?];
        lanes.all(|slot| self.of[slot] == first).then_some(first)
    }
}

/// What is remembered of the entry into a construct.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// Tier maximal: the classes of all lanes; none if there was one class only.
    pub(super) classes: Option<Vec<u32>>,
    /// The other tiers: control flow was uniform for the workgroup.
    pub(super) workgroup: bool,
    /// Bit `s`: it was for subgroup `s`.
    pub(super) subgroups: SmallVec<[u64; 2]>,
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
    pub(super) open: FxHashSet<(u32, u32)>,
    /// Subgroups (workgroup, subgroup) with lost lanes, which may visit any instruction.
    pub(super) with_lost: FxHashSet<(u32, u32)>,
    /// The rule of visitors is not used at all.
    pub no_claims: bool,
    /// Locations (object, granule) of atomics whose order is open.
    pub contended: FxHashSet<(u32, u32)>,
    /// Locations (object, granule) of which a read is open, since a write behind it may already be seen, and why that is.
    pub hidden: FxHashMap<(u32, u32), Why>,
    /// Workgroups with lost lanes, and how many control barriers had ordered each kind of memory before. What these lanes do by atomics is no race, and
    /// not known.
    pub lost: FxHashMap<u32, [u32; 3]>,
    /// Atomics and volatile stores at an open address: workgroup, object, and how many control barriers had ordered that kind of memory.
    pub unordered_anywhere: FxHashSet<(u32, u32, u32)>,
}

impl Knowledge {
    /// A workgroup has lost lanes; true if that is new.
    pub fn lose(&mut self, workgroup: u32, at: [u32; 3]) -> bool {
        let known = self.lost.entry(workgroup).or_insert([u32::MAX; 3]);
        let first = std::array::from_fn(|kind| known[kind].min(at[kind]));
        std::mem::replace(known, first) != first
    }

    /// True if lost lanes may access what an atomic of a workgroup accesses behind so many barriers, and no barrier orders them.
    pub(super) fn may_be_lost_to(&self, workgroup: u32, domain: usize, barriers: u32) -> bool {
        let own = self.lost.get(&workgroup);
        let others = domain != 0 && self.lost.len() > usize::from(own.is_some());
        others || own.is_some_and(|at| at[domain] <= barriers)
    }

    /// True if an atomic or a volatile store at an open address, which nothing orders with an access to an object by a workgroup behind so many
    /// barriers, may go there. `shared`: other workgroups access the object, too.
    pub(super) fn may_be_anywhere(&self, workgroup: u32, object: u32, shared: bool, barriers: u32) -> bool {
        self.unordered_anywhere.contains(&(workgroup, object, barriers))
            || shared && self.unordered_anywhere.iter().any(|(other, known, _)| *other != workgroup && *known == object)
    }
}

/// What this run assumes: that the lanes that execute a subgroup instruction together, on one path, are all that ever visit it.
#[derive(Debug)]
pub(crate) struct Claims {
    pub(super) visitors: Vec<u128>,
    /// The lanes that every claim so far names; all ones without a claim.
    pub(super) claimed: Vec<u128>,
    pub(super) any: bool,
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
        let with_lost: Vec<bool> =
            layout.subgroups.iter().map(|subgroup| lost.iter().any(|slot| subgroup.lanes.contains(slot))).collect();
        for (at, (&visitors, &claimed)) in self.visitors.iter().zip(&self.claimed).enumerate() {
            if claimed == u128::MAX {
                continue;
            }
            let subgroup = at % subgroups;
            let whole = claimed == layout.subgroups[subgroup].live;
            if with_lost[subgroup] && !whole {
                wrong |= knowledge.with_lost.insert((workgroup, subgroup as u32));
            }
            if claimed != visitors {
                wrong |= knowledge.open.insert((workgroup, at as u32));
            }
        }
        wrong
    }
}
