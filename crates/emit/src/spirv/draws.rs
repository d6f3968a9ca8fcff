//! Where the printer uses a freedom.

use tangle_program::variant::{Freedom, Printing};

/// Where a freedom is used: a sequence of numbers that follows from the seed.
pub(super) struct Draws {
    state: u64,
    freedoms: u32,
}

impl Draws {
    pub fn new(printing: &Printing) -> Draws {
        let freedoms = printing.freedoms.iter().fold(0, |all, &freedom| all | 1 << freedom as u32);
        Draws { state: printing.seed.into(), freedoms }
    }

    /// Whether to use a freedom here: once in `often` times.
    pub fn takes_once_in(&mut self, often: u64, freedom: Freedom) -> bool {
        self.freedoms >> freedom as u32 & 1 == 1 && self.next().is_multiple_of(often)
    }

    /// Whether to use a freedom here: every other time.
    pub fn takes(&mut self, freedom: Freedom) -> bool {
        self.takes_once_in(2, freedom)
    }

    /// The next 64 random bits, by SplitMix64.
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}
