//! Planted faults: a device with one rule changed.
//!
//! Each [`Fault`] is a mistake that a driver has made or could make. The reference device with a fault shows that a campaign can fail: every
//! fault must be caught within a stated number of generated cases, and does what its text says (`oracle/tests/faults.rs`).
//!
//! A fault is one row of [`table`]: name, text, and the [`Hook`] where it takes hold.

/// Declares a table of faults, whose module has a `Hook`.
macro_rules! faults {
    (#[doc = $what:literal] $Fault:ident: $($(#[doc = $about:literal])+ $name:ident => $hook:expr,)+) => {
        #[doc = $what]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $Fault { $($(#[doc = $about])+ $name,)+ }

        impl $Fault {
            /// Every fault.
            pub const ALL: &[$Fault] = &[$($Fault::$name,)+];

            /// What is wrong.
            pub const fn about(self) -> &'static str {
                match self { $($Fault::$name => concat!($($about),+).trim_ascii(),)+ }
            }

            /// The name in JSON and in reports.
            pub fn name(self) -> String {
                super::snake_case(&format!("{self:?}"))
            }

            /// Where it takes hold.
            pub(super) fn hook(self) -> Hook {
                match self { $($Fault::$name => $hook,)+ }
            }
        }
    };
}

mod algebra;
pub mod fragment;
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
use tangle_program::types::{Scalar, Shape};

use crate::mask::Mask;
use crate::rules::{Access, Bound, Construct, Jump, Merge, Merging, Peephole, Rewrite, Rules, Scope};
use operation::Operation;
pub use table::Fault;

/// Where a fault takes hold, and what it makes of the right behaviour. Sets of lanes are those of one subgroup.
enum Hook {
    /// The lanes that go on from a merge: of those that arrived, in order of arrival.
    Merge(Merge, fn(&[u128]) -> u128),
    /// The tangle of an operation.
    Tangle(fn(&Tangling<'_>) -> u128),
    /// The lanes whose variable an assignment changes.
    Stored(fn(&[Scope], Mask) -> Mask),
    Jump(fn(&[Scope], Jump) -> Jump),
    /// The lowest active lane of a subgroup decides a condition for all.
    FirstDecides(Construct),
    /// Nobody falls through.
    FallsThrough,
    /// The lanes whose out arguments are copied back: of those at the function's end, and all that returned.
    CopiedOut(fn(&Mask, Mask) -> Mask),
    /// The slot of an array of so many elements that a store goes to.
    Slot(fn(usize, usize) -> usize),
    /// What a load of an element of this type finds.
    Load(fn(Scalar, &[u64], usize) -> u64),
    /// The other element of so many that a store of this type sets to 0.
    Clobber(fn(Scalar, usize, usize) -> Option<usize>),
    /// Loads from other invocations' slots come before the last barrier.
    Stale(StorageClass),
    /// The same of subgroup barriers, by the storage and whether only some lanes of the subgroup execute it.
    Late(fn(StorageClass, bool) -> bool),
    /// Only the first lane of a subgroup performs an atomic.
    FirstAtomic,
    AtomicLanes(fn(&[Scope], Mask) -> Mask),
    /// What an atomic leaves in memory, of the old value, the operand, and the right value.
    Atomic(fn(AtomicOp, Scalar, [u64; 3]) -> u64),
    /// The result of an operation; `None` where it is right.
    Operation(fn(&Operation<'_>, &mut [u64]) -> Outcome),
    /// Likewise, in tangles that the tier leaves open.
    Open(AnyTangle, fn(&Operation<'_>, &mut [u64]) -> Outcome),
    Binary(fn(BinaryOp, Scalar) -> Scalar),
    Intrinsic(fn(Intrinsic, Scalar) -> (Intrinsic, Scalar)),
    /// What a compiler makes of an expression; `None` where it does nothing to it.
    Peephole(Peephole),
    /// What a compiler makes of statements; `None` where it does nothing to them.
    Rewrite(Rewrite),
    /// The bound that a compiler takes a loop to have.
    Bound(Bound),
    /// Every lane accesses the element of the lowest active lane of its subgroup.
    FirstElement(Access),
    /// The element of so many that a lane accesses.
    Element(fn(Access, Shape, usize, usize) -> usize),
    /// The resource of an array of descriptors that a lane accesses.
    Resource(fn(&Choosing) -> u64),
    /// Nobody goes on after an assumption.
    Assumed,
    Specialised(fn(SpecConstant) -> u32),
    /// A built-in variable of a lane.
    Builtin(fn(Builtin, usize, u128) -> u128),
}

/// How a lane comes to a resource.
struct Choosing {
    class: ResourceClass,
    non_uniform: bool,
    own: u64,
    /// What the lowest active lane of its subgroup has.
    of_first_active: u64,
    /// What lane 0 has, which may not be active.
    of_lane_0: u64,
}

/// Whether a fault of open tangles shows where only one lane comes by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnyTangle {
    Yes,
    OfSeveral,
}

/// Undefined lanes, as [`tangle_program::subgroup::Meaning`] has them; `None` if the fault does not show.
type Outcome = Option<Result<u128, Ub>>;

/// An operation's tangle and where it stands.
struct Tangling<'a> {
    scopes: &'a [Scope],
    live: u128,
    tangle: u128,
    of: &'a dyn Fn(&Mask) -> u128,
}

impl Tangling<'_> {
    fn reached(&self, scope: Option<&Scope>) -> u128 {
        scope.map_or(self.tangle, |scope| self.tangle | (self.of)(&scope.reached))
    }

    fn entered(&self, scope: Option<&Scope>) -> u128 {
        scope.map_or(self.tangle, |scope| self.tangle | (self.of)(&scope.entered))
    }
}

fn innermost(scopes: &[Scope], construct: Construct) -> Option<&Scope> {
    scopes.last().filter(|scope| scope.construct == construct)
}

fn enclosing(scopes: &[Scope], construct: Construct) -> Option<&Scope> {
    scopes.iter().rev().find(|scope| scope.construct == construct)
}

fn is_divergent(scopes: &[Scope]) -> bool {
    scopes.iter().any(|scope| scope.entered != scope.reached)
}

/// The lowest lane of a set.
const fn lowest(lanes: u128) -> u128 {
    lanes & lanes.wrapping_neg()
}

/// The highest lane of a set; none of none.
const fn highest(lanes: u128) -> u128 {
    if lanes == 0 { 0 } else { 1 << (127 - lanes.leading_zeros()) }
}

impl Fault {
    /// True for those that only show in tangles that a tier leaves open.
    pub fn is_of_open_tangles(self) -> bool {
        matches!(self.hook(), Hook::Open(..))
    }
}

/// `ElectHighest` as `elect_highest`.
fn snake_case(camel: &str) -> String {
    let mut name = String::new();
    for c in camel.chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
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

    fn elements(&mut self, access: Access, shape: Shape, count: usize, places: &mut [(usize, usize)]) {
        let hook = self.fault.hook();
        let mut leader: Option<(usize, usize)> = None;
        for (slot, element) in places {
            let subgroup = *slot / self.size;
            let (_, first) = *leader.filter(|(of, _)| *of == subgroup).get_or_insert((subgroup, *element));
            leader = Some((subgroup, first));
            match hook {
                Hook::FirstElement(of) if of == access => *element = first,
                Hook::Element(change) => *element = change(access, shape, count, *element),
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
