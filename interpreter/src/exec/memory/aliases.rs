//! Several variables of one buffer, and other ways to it: what an access through one has to do with an access through another.
//!
//! Variables with one descriptor are one reference ("The descriptor that a variable is bound to", Vulkan memory model, "Reference"), so that their accesses are
//! ordered as those of one variable. But "the consumer is free to assume aliasing is not present between memory object declarations, unless the memory object
//! declarations explicitly indicate they alias … Only those memory object declarations decorated with Aliased or AliasedPointer may alias each other" (SPIR-V
//! 1.6 §2.18.2, "Aliasing"): of two accesses through different ones, one of them a write, either may come first, in one invocation, too, and whatever orders them.
//! Nothing says that behaviour is undefined: what they read and leave is open.
//!
//! A buffer in several descriptors, or at an address besides, is several references. "Two memory accesses through distinct references may require
//! availability and visibility operations" (Vulkan memory model, "Reference"), also those of one invocation: the write has to be made available to the device,
//! and visible to the read from there (Vulkan memory model, "Location-Ordered").

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::sparse::Budget;
use crate::code::*;
use crate::exec::stop::Stop;

/// What an access goes through: an object of the module, or [`ADDRESS`].
pub(super) type Through = u32;

/// A physical address. The pointers that lead there count as `AliasedPointer`, which compilers make them where nothing else is said.
pub(super) const ADDRESS: Through = Through::MAX;

/// An access: through what, and what it shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    through: Through,
    sharing: Sharing,
}

/// Who accessed a granule.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The last write; `None` before the first.
    write: Option<Access>,
    /// Reads since then, one of a kind.
    reads: SmallVec<[Access; 2]>,
    /// Which of two writes is the last is open, and so is all that comes after them.
    mixed: bool,
}

/// What an access through one of several ways meets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Met {
    /// What it reads, or leaves, is open.
    pub(super) open: bool,
    /// What was read before is.
    pub(super) reads_are_open: bool,
}

/// What was accessed through several ways.
#[derive(Clone, Debug, Default)]
pub(super) struct Aliases {
    objects: Vec<Object>,
    granules: FxHashMap<(u32, usize), Seen>,
}

impl Aliases {
    pub(super) fn new(code: &Code) -> Aliases {
        Aliases { objects: code.objects.clone(), granules: FxHashMap::default() }
    }

    /// True if the consumer of the module may take it that two different declarations do not alias.
    fn may_be_taken_apart(&self, one: Through, other: Through) -> bool {
        let of = |through: Through| self.objects.get(through as usize);
        let is_aliased = |through: Through| of(through).is_none_or(|object| object.aliased);
        let declaration = |through: Through| of(through).map(|object| object.variable);
        declaration(one) != declaration(other) && !(is_aliased(one) && is_aliased(other))
    }

    /// True if two ways are one reference.
    fn is_one_reference(&self, one: Through, other: Through) -> bool {
        let descriptor = |through: Through| self.objects.get(through as usize).map(|object| &object.kind);
        one == other || descriptor(one) == descriptor(other)
    }

    /// True if one access is known to come before another one, through what they go.
    fn precedes(&self, first: Access, second: Access, [first_writes, second_writes]: [bool; 2]) -> bool {
        if self.may_be_taken_apart(first.through, second.through) {
            return false;
        }
        if self.is_one_reference(first.through, second.through) {
            return true;
        }
        let non_private = first.sharing.non_private && second.sharing.non_private;
        let available = !first_writes || first.sharing.reach == Reach::Everybody;
        let visible = second_writes || second.sharing.reach == Reach::Everybody;
        non_private && available && (!first_writes || visible)
    }

    /// Notes an access to a granule of an object.
    pub(super) fn note(
        &mut self,
        place: (u32, usize),
        through: Through,
        sharing: Sharing,
        writes: bool,
        budget: &mut Budget,
    ) -> Result<Met, Stop> {
        let mut seen = match self.granules.remove(&place) {
            Some(seen) => seen,
            None => {
                budget.take(2 * size_of::<((u32, usize), Seen)>())?;
                Seen::default()
            }
        };
        let access = Access { through, sharing };
        let late = seen.write.is_some_and(|write| !self.precedes(write, access, [true, writes]));
        seen.mixed |= late && writes;
        let reads_are_open = writes && seen.reads.iter().any(|&read| !self.precedes(read, access, [false, true]));
        let met = Met { open: late || seen.mixed, reads_are_open };
        if writes {
            seen.write = Some(access);
            seen.reads.clear();
        } else if !seen.reads.contains(&access) {
            budget.take(if seen.reads.len() < 2 { 0 } else { 2 * size_of::<Access>() })?;
            seen.reads.push(access);
        }
        self.granules.insert(place, seen);
        Ok(met)
    }
}
