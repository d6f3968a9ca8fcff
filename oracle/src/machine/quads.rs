//! Whether the quad of a helper invocation is still there when it executes an operation without a fragment of that quad (rule H6).
//!
//! A quad may be gone once only helpers are left in it. Its last fragment, which is elsewhere, ends or is demoted before the operation or after it: neither is an
//! operation, so neither waits for anybody, whatever comes together again behind a branch or a loop. The quad is there for certain if one of its fragments comes to its end only after
//! the operation, since it executed another one before with a lane that had executed the first, or by way of several such (rule P2: an operation waits until all its lanes
//! have executed what is program-ordered before it).

use smallvec::SmallVec;
use tangle_program::subgroup::{Reach, first_lanes, lanes};

/// Helpers that executed an operation without a fragment of their quad.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unaccompanied {
    /// Id of the operation.
    op: usize,
    /// The first lane of the quad.
    quad: usize,
    helpers: u128,
    /// Lanes of the subgroup all of whose instructions from here on come after the operation.
    after: u128,
    /// A fragment of the quad ended, or became a helper, after the operation.
    certain: bool,
}

/// What is to be known of a subgroup's quads.
#[derive(Clone, Debug, Default)]
pub(super) struct Quads(Vec<Unaccompanied>);

impl Quads {
    /// Lanes execute an operation together. `fragments`: those of the subgroup that are fragments, and have not ended.
    pub(super) fn executed(&mut self, op: usize, reach: Reach, tangle: u128, fragments: u128) {
        if reach != Reach::Own {
            reach.waiting(tangle).for_each(|lanes| self.waited(lanes));
        }
        // What quad operations give to helpers alone shows in others only through operations that are looked at, too.
        if reach != Reach::Tangle {
            return;
        }
        let mut rest = tangle & !fragments;
        while rest != 0 {
            let quad = rest.trailing_zeros() as usize & !3;
            let whole = first_lanes(4) << quad;
            let helpers = rest & whole;
            rest &= !whole;
            if fragments & whole & tangle == 0 {
                let new = Unaccompanied { op, quad, helpers, after: tangle, certain: false };
                if !self.0.contains(&new) {
                    self.0.push(new);
                }
            }
        }
    }

    /// Each of these lanes has waited until all of them had executed what comes before.
    pub(super) fn waited(&mut self, lanes: u128) {
        self.0.iter_mut().filter(|earlier| earlier.after & lanes != 0).for_each(|earlier| earlier.after |= lanes);
    }

    /// These fragments end, or become helpers.
    pub(super) fn leave(&mut self, fragments: u128) {
        for executed in &mut self.0 {
            executed.certain |= fragments & first_lanes(4) << executed.quad & executed.after != 0;
        }
    }

    /// No fragment of a quad is left: the operations that may have been executed after that, each with its lanes.
    pub(super) fn close(&mut self, quad: usize) -> SmallVec<[(usize, usize); 4]> {
        let closed = self.0.extract_if(.., |executed| executed.quad == quad);
        closed
            .filter(|executed| !executed.certain)
            .flat_map(|open| lanes(open.helpers).map(move |lane| (open.op, lane)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two quads; lane 0 is the fragment of the first, all lanes of the second are fragments. Lanes 1 to 7 execute operation 7 without lane 0.
    fn left(then: impl FnOnce(&mut Quads)) -> Vec<(usize, usize)> {
        let mut quads = Quads::default();
        quads.executed(7, Reach::Tangle, 0xFE, 0xF1);
        then(&mut quads);
        quads.leave(1);
        quads.close(0).to_vec()
    }

    #[test]
    fn a_fragment_that_ends_after_an_operation_keeps_its_quad() {
        let open = [(7, 1), (7, 2), (7, 3)];
        assert_eq!(left(|_| {}), open, "it may end before");
        assert_eq!(left(|quads| quads.executed(8, Reach::Tangle, 0xFF, 0xF1)), [], "it meets those who executed it");
        assert_eq!(left(|quads| quads.executed(8, Reach::Quad, 0xFF, 0xF1)), [], "its quad has executed it");
        assert_eq!(left(|quads| quads.executed(8, Reach::Own, 0xFF, 0xF1)), open, "nobody waits");
        let others = |quads: &mut Quads| quads.executed(8, Reach::Tangle, 0xF1, 0xF1);
        assert_eq!(left(others), [], "it meets fragments of the other quad that executed it");
        let by_way_of_others = |quads: &mut Quads| {
            quads.executed(8, Reach::Tangle, 0x30, 0xF1);
            quads.executed(9, Reach::Tangle, 0x11, 0xF1);
        };
        assert_eq!(left(by_way_of_others), []);
        let stranger = |quads: &mut Quads| quads.executed(8, Reach::Quad, 0xF1, 0xF1);
        assert_eq!(left(stranger), open, "a quad operation says nothing of the other quad");
    }

    #[test]
    fn one_fragment_of_several_is_enough() {
        let mut quads = Quads::default();
        // Lanes 0 and 1 are fragments. One of them comes after it, or both do, and they end one after the other.
        for after in [0b0110, 0b0111] {
            quads.executed(3, Reach::Tangle, 0b1100, 0b11);
            quads.executed(4, Reach::Tangle, after, 0b11);
            quads.leave(0b01);
            quads.leave(0b10);
            assert_eq!(quads.close(0).to_vec(), []);
        }
    }

    /// The same of the second quad: lane 4 is its fragment.
    #[test]
    fn a_fragment_of_any_quad_keeps_it() {
        let mut quads = Quads::default();
        quads.executed(7, Reach::Tangle, 0xEF, 0x1F);
        quads.executed(8, Reach::Tangle, 0xFF, 0x1F);
        quads.leave(0x10);
        assert_eq!(quads.close(4).to_vec(), []);
    }
}
