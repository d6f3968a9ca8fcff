//! Smaller cases, as the minimizer makes them.

use tangle_minimizer::TABLE;
use tangle_program::case::Case;

use crate::dice::Dice;

/// How far down the list of a pass is looked.
const CANDIDATES: usize = 12;

/// A candidate of some pass of the minimizer.
pub fn shrink(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let pass = dice.pick(TABLE)?;
    let smaller = (pass.candidates)(case).nth(dice.below(CANDIDATES))?;
    *case = smaller;
    Some(())
}
