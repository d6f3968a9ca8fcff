//! Planted faults: a device with one rule changed.
//!
//! Each [`Fault`] is a mistake that a driver has made or could make. The reference device with a fault shows that a campaign can fail: every
//! fault must be caught within a stated number of generated cases, and does what its text says (`oracle/tests/faults.rs`).
//!
//! A fault is one row of [`table`]: name, text, and the [`Hook`] where it takes hold.

#[macro_use]
mod declare;

mod aggregate;
mod algebra;
pub mod fragment;
mod hook;
pub mod items;
mod operation;
mod peephole;
mod table;
pub mod workgroup;

use tangle_program::case::SpecConstant;
use tangle_program::memory::{AtomicOp, StorageClass};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Instance, OpInfo, Ub, lanes};
use tangle_program::tree::Builtin;
use tangle_program::types::Scalar;

use crate::mask::{Mask, lowest};
use crate::rules::{Accessed, Bound, Construct, Jump, Merging, Peephole, Rewrite, Rules, Scope};
use hook::{AnyTangle, Choosing, Hook, Tangling};
use operation::Operation;
pub use table::Fault;

impl Fault {
    /// True for those that only show in tangles that a tier leaves open.
    pub fn is_of_open_tangles(self) -> bool {
        matches!(self.hook(), Hook::Open(..))
    }
}

/// A device with one fault.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    fault: Fault,
    /// Lanes of a subgroup.
    size: usize,
}

impl Planted {
    /// The device with this fault.
    pub fn new(fault: Fault) -> Planted {
        Planted { fault, size: 1 }
    }

    /// What becomes of each subgroup's lanes in a set.
    fn by_subgroup(&self, set: &Mask, mut change: impl FnMut(usize, u128) -> u128) -> Mask {
        let mut changed = set.minus(set);
        let mut rest = set.clone();
        while let Some(slot) = rest.first() {
            let first = slot / self.size * self.size;
            let of_subgroup = rest.lanes(first, self.size);
            changed.insert_lanes(first, change(first, of_subgroup));
            lanes(of_subgroup).for_each(|lane| rest.remove(first + lane));
        }
        changed
    }
}

impl Rules for Planted {
    fn start(&mut self, subgroup_size: usize) {
        self.size = subgroup_size;
    }

    fn merged(&mut self, merging: &Merging<'_>, merged: Mask) -> Mask {
        match self.fault.hook() {
            Hook::Merge(merge, goes_on) if merge == merging.merge => self.by_subgroup(&merged, |first, merged| {
                let of = |mask: &Mask| mask.lanes(first, self.size) & merged;
                let arrivals: Vec<u128> = merging.arrivals.iter().map(of).filter(|&lanes| lanes != 0).collect();
                goes_on(&arrivals) & merged
            }),
            _ => merged,
        }
    }

    fn tangle(&mut self, scopes: &[Scope], live: u128, tangle: u128, of: &dyn Fn(&Mask) -> u128) -> u128 {
        match self.fault.hook() {
            Hook::Tangle(change) => change(&Tangling { scopes, live, tangle, of }),
            _ => tangle,
        }
    }

    fn stored(&mut self, scopes: &[Scope], active: Mask) -> Mask {
        match self.fault.hook() {
            Hook::Stored(change) => change(scopes, active),
            _ => active,
        }
    }

    fn jump(&mut self, scopes: &[Scope], jump: Jump) -> Jump {
        match self.fault.hook() {
            Hook::Jump(change) => change(scopes, jump),
            _ => jump,
        }
    }

    fn taken(&mut self, construct: Construct, active: &Mask, taken: Mask) -> Mask {
        match self.fault.hook() {
            Hook::FirstDecides(of) if of == construct => self.by_subgroup(active, |first, active| {
                let decides = lowest(active).trailing_zeros() as usize;
                if taken.contains(first + decides) { active } else { 0 }
            }),
            _ => taken,
        }
    }

    fn falls_through(&mut self, lanes: Mask) -> Mask {
        if matches!(self.fault.hook(), Hook::FallsThrough) { lanes.minus(&lanes) } else { lanes }
    }

    fn copied_out(&mut self, at_end: &Mask, returned: Mask) -> Mask {
        match self.fault.hook() {
            Hook::CopiedOut(change) => change(at_end, returned),
            _ => returned,
        }
    }

    fn slot(&mut self, index: usize, len: usize) -> usize {
        match self.fault.hook() {
            Hook::Slot(change) => change(index, len),
            _ => index,
        }
    }

    fn loaded(&mut self, scalar: Scalar, cells: &[u64], at: usize) -> u64 {
        match self.fault.hook() {
            Hook::Load(change) => change(scalar, cells, at),
            _ => cells[at],
        }
    }

    fn clobbered(&mut self, scalar: Scalar, at: usize, len: usize) -> Option<usize> {
        match self.fault.hook() {
            Hook::Clobber(change) => change(scalar, at, len),
            _ => None,
        }
    }

    fn is_stale(&mut self, storage: StorageClass, own: bool) -> bool {
        matches!(self.fault.hook(), Hook::Stale(of) if of == storage && !own)
    }

    fn is_late(&mut self, storage: StorageClass, partial: bool) -> bool {
        matches!(self.fault.hook(), Hook::Late(is_late) if is_late(storage, partial))
    }

    fn atomic_lanes(&mut self, scopes: &[Scope], active: Mask) -> Mask {
        match self.fault.hook() {
            Hook::FirstAtomic => self.by_subgroup(&active, |_, active| lowest(active)),
            Hook::AtomicLanes(change) => change(scopes, active),
            _ => active,
        }
    }

    fn atomic(&mut self, op: AtomicOp, scalar: Scalar, old: u64, value: u64, compare: u64) -> u64 {
        let right = op.apply(scalar, old, value, compare);
        match self.fault.hook() {
            Hook::Atomic(change) => change(op, scalar, [old, value, right]),
            _ => right,
        }
    }

    fn returned(&mut self, op: AtomicOp, found: u64, before: &[u64]) -> u64 {
        match self.fault.hook() {
            Hook::Returned(change) => change(op, found, before),
            _ => found,
        }
    }

    fn operate(&mut self, info: &OpInfo, instance: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
        let found = match self.fault.hook() {
            Hook::Operation(change) => change(&Operation { info, instance, live: instance.tangle }, out),
            _ => None,
        };
        found.unwrap_or_else(|| (info.meaning)(instance, out))
    }

    fn has_open_operations(&self) -> bool {
        self.fault.is_of_open_tangles()
    }

    fn operate_open(
        &mut self,
        info: &OpInfo,
        instance: &Instance<'_>,
        live: u128,
        out: &mut [u64],
    ) -> Result<u128, Ub> {
        let found = match self.fault.hook() {
            Hook::Open(any, change) if any == AnyTangle::Yes || instance.tangle.count_ones() > 1 => {
                change(&Operation { info, instance, live }, out)
            }
            _ => None,
        };
        found.unwrap_or_else(|| self.operate(info, instance, out))
    }

    fn binary(&mut self, op: BinaryOp, scalar: Scalar) -> (BinaryOp, Scalar) {
        match self.fault.hook() {
            Hook::Binary(change) => (op, change(op, scalar)),
            _ => (op, scalar),
        }
    }

    fn intrinsic(&mut self, op: Intrinsic, scalar: Scalar) -> (Intrinsic, Scalar) {
        match self.fault.hook() {
            Hook::Intrinsic(change) => change(op, scalar),
            _ => (op, scalar),
        }
    }

    fn peephole(&self) -> Option<Peephole> {
        match self.fault.hook() {
            Hook::Peephole(rule) => Some(rule),
            _ => None,
        }
    }

    fn rewrite(&self) -> Option<Rewrite> {
        match self.fault.hook() {
            Hook::Rewrite(rewrite) => Some(rewrite),
            _ => None,
        }
    }

    fn bound(&self) -> Option<Bound> {
        match self.fault.hook() {
            Hook::Bound(bound) => Some(bound),
            _ => None,
        }
    }

    fn elements(&mut self, accessed: Accessed, count: usize, places: &mut [(usize, usize)]) {
        let hook = self.fault.hook();
        let mut leader: Option<(usize, usize)> = None;
        for (slot, element) in places {
            let subgroup = *slot / self.size;
            let (_, first) = *leader.filter(|(of, _)| *of == subgroup).get_or_insert((subgroup, *element));
            leader = Some((subgroup, first));
            match hook {
                Hook::FirstElement(of) if of == accessed.access => *element = first,
                Hook::Element(change) => *element = change(accessed, count, *element),
                _ => {}
            }
        }
    }

    fn resources(&mut self, class: ResourceClass, non_uniform: bool, indices: &[u64], chosen: &mut [(usize, u64)]) {
        let Hook::Resource(choose) = self.fault.hook() else { return };
        let mut leader: Option<(usize, u64)> = None;
        for (slot, own) in chosen {
            let subgroup = *slot / self.size;
            let (_, of_first_active) = *leader.filter(|(of, _)| *of == subgroup).get_or_insert((subgroup, *own));
            leader = Some((subgroup, of_first_active));
            let of_lane_0 = indices[subgroup * self.size];
            *own = choose(&Choosing { class, non_uniform, own: *own, of_first_active, of_lane_0 });
        }
    }

    fn assumed(&mut self, active: Mask) -> Mask {
        if matches!(self.fault.hook(), Hook::Assumed) { active.minus(&active) } else { active }
    }

    fn specialised(&mut self, constant: SpecConstant) -> u32 {
        match self.fault.hook() {
            Hook::Specialised(change) => change(constant),
            _ => constant.value,
        }
    }

    fn builtin(&mut self, builtin: Builtin, lane: usize, value: u128) -> u128 {
        match self.fault.hook() {
            Hook::Builtin(change) => change(builtin, lane, value),
            _ => value,
        }
    }
}
