//! Sets of invocations of one workgroup, by local invocation index.

use smallvec::{SmallVec, smallvec};

/// A set of local invocation indices.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct Lanes(SmallVec<[u64; 2]>);

// Words are copied, which the derived one does not know.
impl Clone for Lanes {
    fn clone(&self) -> Lanes {
        Lanes(SmallVec::from_slice(&self.0))
    }

    fn clone_from(&mut self, other: &Lanes) {
        if self.0.len() == other.0.len() {
            self.0.copy_from_slice(&other.0);
        } else {
            *self = other.clone();
        }
    }
}

impl Lanes {
    /// No invocation of `n`.
    pub fn none(n: usize) -> Lanes {
        Lanes(smallvec![0; n.div_ceil(64)])
    }

    /// All `n` invocations of a workgroup.
    pub fn all(n: usize) -> Lanes {
        let mut words: SmallVec<[u64; 2]> = smallvec![u64::MAX; n.div_ceil(64)];
        if !n.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last = (1 << (n % 64)) - 1;
        }
        Lanes(words)
    }

    pub fn insert(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    pub fn contains(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn add(&mut self, other: &Lanes) {
        self.0.iter_mut().zip(&other.0).for_each(|(x, y)| *x |= y);
    }

    pub fn remove(&mut self, other: &Lanes) {
        self.0.iter_mut().zip(&other.0).for_each(|(x, y)| *x &= !y);
    }

    /// Those that are in both sets.
    pub fn and(&self, other: &Lanes) -> Lanes {
        let mut both = self.clone();
        both.0.iter_mut().zip(&other.0).for_each(|(x, y)| *x &= y);
        both
    }

    /// True if all of these are in the other set.
    pub fn within(&self, other: &Lanes) -> bool {
        self.0.iter().zip(&other.0).all(|(x, y)| x & !y == 0)
    }

    /// Takes the set, and leaves none.
    pub fn take(&mut self) -> Lanes {
        let taken = self.clone();
        self.0.iter_mut().for_each(|word| *word = 0);
        taken
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| Bits(word).map(move |bit| at * 64 + bit))
    }
}

struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_any_size() {
        for n in [1, 63, 64, 65, 128, 200] {
            let all = Lanes::all(n);
            assert_eq!(all.count(), n);
            assert_eq!(all.iter().collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
            let mut odd = Lanes::none(n);
            (0..n).filter(|i| i % 2 == 1).for_each(|i| odd.insert(i));
            let mut even = all.clone();
            even.remove(&odd);
            assert!(even.within(&all) && !all.within(&odd));
            assert!(even.contains(0) && (n < 2 || !even.contains(1)));
            even.add(&odd);
            assert_eq!(even, all);
            assert_eq!(even.take(), all);
            assert!(even.is_empty());
        }
    }
}
