//! Decisions of a mutation.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// A source of decisions; the same seed makes the same ones.
pub struct Dice(SmallRng);

impl Dice {
    /// Dice with this seed.
    pub fn new(seed: u64) -> Dice {
        Dice(SmallRng::seed_from_u64(seed))
    }

    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n.max(1))
    }

    /// Any word, all equally likely.
    pub fn word(&mut self) -> u32 {
        self.0.random()
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the items, `None` if there is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// One of the items by value.
    pub fn one<T: Copy, const N: usize>(&mut self, items: [T; N]) -> T {
        items[self.below(N)]
    }

    /// The position of one of the weights.
    pub(crate) fn index(&mut self, weights: impl Iterator<Item = u32> + Clone) -> usize {
        let mut drawn = self.below(weights.clone().sum::<u32>() as usize) as u32;
        for (i, weight) in weights.enumerate() {
            match drawn.checked_sub(weight) {
                Some(rest) => drawn = rest,
                None => return i,
            }
        }
        0
    }
}
