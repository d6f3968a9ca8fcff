//! Sets of invocations of one workgroup.

use smallvec::SmallVec;

/// A set of slots: one slot for each lane of each subgroup of a workgroup, subgroup by subgroup ([`crate::map::Layout`]).
/// Sets that are combined belong to one layout: sets of different lengths are a fault of tangle, and panic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mask(SmallVec<[u64; 4]>);

impl Mask {
    /// The empty set for `slots` slots, of which there is at least one.
    pub fn empty(slots: usize) -> Mask {
        assert_ne!(slots, 0, "a workgroup without invocations");
        Mask(SmallVec::from_elem(0, slots.div_ceil(64)))
    }

    /// True if no slot is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Number of slots in the set.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Adds the slot; nothing happens if the set has it.
    pub fn insert(&mut self, slot: usize) {
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    /// Takes a slot out.
    pub fn remove(&mut self, slot: usize) {
        self.0[slot / 64] &= !(1 << (slot % 64));
    }

    /// True if the slot is in the set.
    pub fn contains(&self, slot: usize) -> bool {
        self.0[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// The words of both sets, side by side.
    fn beside<'a>(&'a self, other: &'a Mask) -> impl Iterator<Item = (u64, u64)> + 'a {
        assert_eq!(self.0.len(), other.0.len(), "sets of one layout");
        self.0.iter().copied().zip(other.0.iter().copied())
    }

    fn zip(&self, other: &Mask, f: impl Fn(u64, u64) -> u64) -> Mask {
        Mask(self.beside(other).map(|(x, y)| f(x, y)).collect())
    }

    /// `self ∩ other`
    pub fn and(&self, other: &Mask) -> Mask {
        self.zip(other, |x, y| x & y)
    }

    /// `self ∪ other`
    pub fn or(&self, other: &Mask) -> Mask {
        self.zip(other, |x, y| x | y)
    }

    /// `self \ other`
    pub fn minus(&self, other: &Mask) -> Mask {
        self.zip(other, |x, y| x & !y)
    }

    /// Adds all slots of `other`.
    pub fn add(&mut self, other: &Mask) {
        assert_eq!(self.0.len(), other.0.len(), "sets of one layout");
        self.0.iter_mut().zip(&other.0).for_each(|(x, &y)| *x |= y);
    }

    /// True if `self ⊆ other`.
    pub fn within(&self, other: &Mask) -> bool {
        self.beside(other).all(|(x, y)| x & !y == 0)
    }

    /// True if the sets have a slot in common.
    pub fn meets(&self, other: &Mask) -> bool {
        self.beside(other).any(|(x, y)| x & y != 0)
    }

    /// The lowest slot in the set.
    pub fn first(&self) -> Option<usize> {
        self.slots().next()
    }

    /// The slots in ascending order.
    pub fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(i * 64 + bit)
            })
        })
    }

    /// The slots `first..first + size` as a lane mask; `size` is a power of two up to 128 that divides `first`.
    pub fn lanes(&self, first: usize, size: usize) -> u128 {
        if size == 128 {
            return u128::from(self.0[first / 64]) | u128::from(self.0[first / 64 + 1]) << 64;
        }
        let word = self.0[first / 64] >> (first % 64);
        u128::from(if size == 64 { word } else { word & ((1 << size) - 1) })
    }

    /// Adds the lanes of a subgroup that starts at slot `first`.
    pub fn insert_lanes(&mut self, first: usize, lanes: u128) {
        let (low, high) = (lanes as u64, (lanes >> 64) as u64);
        let placed = low << (first % 64);
        assert!(placed >> (first % 64) == low && (high == 0 || first.is_multiple_of(64)), "lanes of one subgroup");
        self.0[first / 64] |= placed;
        if high != 0 {
            self.0[first / 64 + 1] |= high;
        }
    }
}

/// The lowest lane of a set.
pub(crate) const fn lowest(lanes: u128) -> u128 {
    lanes & lanes.wrapping_neg()
}

/// The highest lane of a set; none of none.
pub(crate) const fn highest(lanes: u128) -> u128 {
    if lanes == 0 { 0 } else { 1 << (127 - lanes.leading_zeros()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "sets of one layout")]
    fn sets_of_two_layouts_are_not_combined() {
        let _ = Mask::empty(64).or(&Mask::empty(128));
    }

    #[test]
    #[should_panic(expected = "lanes of one subgroup")]
    fn no_lane_gets_lost() {
        Mask::empty(128).insert_lanes(60, 0x1F);
    }

    #[test]
    #[should_panic(expected = "without invocations")]
    fn no_set_is_of_no_slots() {
        let _ = Mask::empty(0);
    }

    #[test]
    fn lanes_of_every_size_round_trip() {
        for (first, size, lanes) in
            [(0, 8, 0xA5), (24, 8, 0xFF), (64, 64, u128::from(u64::MAX)), (128, 128, u128::MAX - 1), (3, 1, 1)]
        {
            let mut mask = Mask::empty(256);
            mask.insert_lanes(first, lanes);
            assert_eq!(mask.lanes(first, size), lanes);
            assert_eq!(mask.count(), lanes.count_ones());
            assert_eq!(mask.slots().next(), Some(first + lanes.trailing_zeros() as usize));
        }
    }

    #[test]
    fn what_is_in_a_set_stays_when_it_is_added_again() {
        let mut mask = Mask::empty(128);
        for _ in 0..2 {
            mask.insert(70);
            mask.insert_lanes(0, 1 << 127 | 1);
            mask.add(&mask.clone());
            assert_eq!(mask.slots().collect::<Vec<_>>(), [0, 70, 127]);
        }
    }

    #[test]
    fn sets_meet_where_they_have_a_slot_in_common() {
        for (one, other, meets) in
            [(0b0110, 0b1001, false), (0b0110, 0b1100, true), (0b0110, 0, false), (0b1, 0b1, true)]
        {
            let [one, other] = [one, other].map(|lanes| {
                let mut mask = Mask::empty(64);
                mask.insert_lanes(0, lanes);
                mask
            });
            assert_eq!(one.meets(&other), meets, "{one:?} {other:?}");
            assert_eq!(other.meets(&one), meets, "{one:?} {other:?}");
        }
    }
}
