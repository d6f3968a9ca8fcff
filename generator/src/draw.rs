//! Decisions from bytes.
//!
//! Every decision takes the next byte or two, and an exhausted source answers 0: the first alternative, "no" to every
//! "how about", the smallest number. Generation therefore always ends, and tables put the simplest alternative first.
//!
//! A byte picks by *magnitude* (`byte * n / 256`), so that a small change of a byte stays a small change of the choice.

/// A cursor over the bytes a case is made from.
pub(crate) struct Draw<'a> {
    bytes: &'a [u8],
    next: usize,
    end: usize,
}

impl<'a> Draw<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Draw { bytes, next: 0, end: bytes.len() }
    }

    /// Goes on with the bytes `start..start + len`, as far as they exist. A part of a case that has a window of its own
    /// does not shift its neighbours when it takes more or fewer bytes.
    pub(crate) fn window(&mut self, start: usize, len: usize) {
        self.next = start.min(self.bytes.len());
        self.end = (start + len).min(self.bytes.len());
    }

    /// True if every further answer is 0.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.next >= self.end
    }

    pub(crate) fn byte(&mut self) -> u8 {
        if self.is_exhausted() {
            return 0;
        }
        self.next += 1;
        self.bytes[self.next - 1]
    }

    pub(crate) fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// A number below `n`, which is at least 1.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        debug_assert!(n > 0);
        match n {
            0 | 1 => 0,
            2..=64 => (u32::from(self.byte()) * n) >> 8,
            _ => {
                let wide = u64::from(u16::from_be_bytes([self.byte(), self.byte()]));
                ((wide * u64::from(n)) >> 16) as u32
            }
        }
    }

    /// A number from `low` to `high`, both possible.
    pub(crate) fn range(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in `percent` of 100 cases; false when exhausted.
    pub(crate) fn percent(&mut self, percent: u32) -> bool {
        u32::from(self.byte()) * 100 >= 256 * 100u32.saturating_sub(percent) && percent > 0
    }

    /// One of the items, which are not none.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize]
    }

    /// One of the items by weight; the first one if all weights are 0.
    pub(crate) fn weighted<T: Copy>(&mut self, items: &[(u32, T)]) -> T {
        items[self.index(items.iter().map(|&(weight, _)| weight))].1
    }

    /// The position of one of the weights; 0 if all are 0.
    pub(crate) fn index(&mut self, weights: impl Iterator<Item = u32> + Clone) -> usize {
        let total: u32 = weights.clone().sum();
        if total == 0 {
            return 0;
        }
        let mut at = self.below(total);
        for (i, weight) in weights.enumerate() {
            if at < weight {
                return i;
            }
            at -= weight;
        }
        0
    }
}
