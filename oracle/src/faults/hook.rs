//! Where faults take hold, and what they see of the place.

use tangle_program::case::SpecConstant;
use tangle_program::memory::{AtomicOp, StorageClass};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::resource::ResourceClass;
use tangle_program::tree::Builtin;
use tangle_program::types::Scalar;

use super::operation::{Operation, Outcome};
use crate::mask::Mask;
use crate::rules::{Access, Accessed, Bound, Construct, Jump, Merge, Peephole, Rewrite, Scope};

/// Where a fault takes hold, and what it makes of the right behaviour. Sets of lanes are those of one subgroup.
pub(super) enum Hook {
    /// The lanes that go on from a merge: of those that arrived, in order of arrival.
    Merge(Merge, fn(&[u128]) -> u128),
    /// The tangle of an operation.
    Tangle(fn(&Tangling<'_>) -> u128),
    /// The lanes whose variable an assignment changes.
    Stored(fn(&[Scope], Mask) -> Mask),
    Jump(fn(&[Scope], Jump) -> Jump),
    /// The lowest active lane of a subgroup decides a condition for all.
    FirstDecides(Construct),
    /// No lane falls through: those that come to the end of a segment leave the switch.
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
    /// What an atomic returns, of what it found and of what lanes of the subgroup found in the same element that execute it together, before it.
    Returned(fn(AtomicOp, u64, &[u64]) -> u64),
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
    Element(fn(Accessed, usize, usize) -> usize),
    /// The resource of an array of descriptors that a lane accesses.
    Resource(fn(&Choosing) -> u64),
    /// Nobody goes on after an assumption.
    Assumed,
    Specialised(fn(SpecConstant) -> u32),
    /// A built-in variable of a lane.
    Builtin(fn(Builtin, usize, u128) -> u128),
}

/// How a lane comes to a resource.
pub(super) struct Choosing {
    pub(super) class: ResourceClass,
    pub(super) non_uniform: bool,
    pub(super) own: u64,
    /// What the lowest active lane of its subgroup has.
    pub(super) of_first_active: u64,
    /// What lane 0 has, which may not be active.
    pub(super) of_lane_0: u64,
}

/// Whether a fault of open tangles shows where only one lane comes by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AnyTangle {
    Yes,
    OfSeveral,
}

/// An operation's tangle and where it stands.
pub(super) struct Tangling<'a> {
    pub(super) scopes: &'a [Scope],
    pub(super) live: u128,
    pub(super) tangle: u128,
    pub(super) of: &'a dyn Fn(&Mask) -> u128,
}

impl Tangling<'_> {
    pub(super) fn reached(&self, scope: Option<&Scope>) -> u128 {
        scope.map_or(self.tangle, |scope| self.tangle | (self.of)(&scope.reached))
    }

    pub(super) fn entered(&self, scope: Option<&Scope>) -> u128 {
        scope.map_or(self.tangle, |scope| self.tangle | (self.of)(&scope.entered))
    }
}

pub(super) fn innermost(scopes: &[Scope], construct: Construct) -> Option<&Scope> {
    scopes.last().filter(|scope| scope.construct == construct)
}

pub(super) fn enclosing(scopes: &[Scope], construct: Construct) -> Option<&Scope> {
    scopes.iter().rev().find(|scope| scope.construct == construct)
}

pub(super) fn is_divergent(scopes: &[Scope]) -> bool {
    scopes.iter().any(|scope| scope.entered != scope.reached)
}
