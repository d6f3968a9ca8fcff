//! Changes a case a little.
//!
//! In: a valid case, and dice. Out: a valid case that differs in one place, or `None` where the dice found nothing to change. What uses
//! it: the `cargo fuzz` targets, as libFuzzer's custom mutator and crossover, and black-box campaigns that start from a corpus.
//!
//! ```text
//!   case ─► mutator of TABLE ─► tidy ─► sound? ─► case
//!             ▲                  │        └─ validate (bounds, undefined values, uniform operands), and not too large
//!           dice                 └─ a number for each log site, a counter for each loop, nothing behind a jump
//! ```
//!
//! - [`TABLE`] lists the mutators; each is a function that edits a case in place.
//! - [`mutate`] draws one of them, [`cross`] puts a part of one case into another.
//! - Mutators look at the tree through [`tangle_minimizer::access`] and the visitors of `tangle_program::tree`, so that kinds of
//!   statements and expressions they know nothing of are carried along. What is not valid afterwards is thrown away.
//!
//! They change meaning as they like: the oracle predicts whatever comes out.

mod control;
mod dice;
mod launch;
mod look;
mod operations;
mod shrink;
mod splice;
mod tidy;

use tangle_analysis::cost::cost;
use tangle_analysis::validate::validate;
use tangle_program::case::Case;

pub use dice::Dice;

/// One way to change a case.
#[derive(Clone, Copy)]
pub struct Mutator {
    /// Its name, for tables.
    pub name: &'static str,
    /// What it does to a case, for tables.
    pub about: &'static str,
    /// How often it is drawn.
    pub weight: u32,
    /// Changes the case; `None` if there was nothing to change.
    edit: fn(&mut Case, &mut Dice) -> Option<()>,
}

/// Every mutator, drawn by weight.
pub const TABLE: &[Mutator] = &[
    Mutator { name: "wrap", about: "put control flow around statements", weight: 4, edit: control::wrap },
    Mutator { name: "jump", about: "a break, continue or return for some lanes", weight: 3, edit: control::jump },
    Mutator { name: "condition", about: "other lanes for a condition", weight: 3, edit: control::condition },
    Mutator { name: "after-loop", about: "do behind a loop what is done in it", weight: 4, edit: control::after_loop },
    Mutator { name: "attribute", about: "ask something else of the compiler", weight: 1, edit: control::attribute },
    Mutator { name: "move", about: "move a statement", weight: 2, edit: control::relocate },
    Mutator { name: "splice", about: "copy statements elsewhere", weight: 4, edit: splice::within },
    Mutator { name: "family", about: "another operation of the family", weight: 6, edit: operations::family },
    Mutator { name: "duplicate", about: "an operation beside itself", weight: 3, edit: operations::duplicate },
    Mutator { name: "expression", about: "another expression of the type", weight: 3, edit: operations::expression },
    Mutator { name: "number", about: "another number", weight: 3, edit: operations::number },
    Mutator { name: "observe", about: "log a variable", weight: 2, edit: operations::observe },
    Mutator { name: "launch", about: "another launch", weight: 2, edit: launch::launch },
    Mutator { name: "data", about: "other data", weight: 3, edit: launch::data },
    Mutator { name: "shrink", about: "a step of the minimizer", weight: 4, edit: shrink::shrink },
];

/// How often [`mutate`] and [`cross`] try before they give up.
const TRIES: usize = 12;

/// The most statements that a mutated case may execute, unless it did before: fuzzers want many runs.
const STEPS: u64 = 6_000;
/// The most statements in its program.
const STATEMENTS: u64 = 320;
/// The most expressions in these, parts of others among them.
const EXPRESSIONS: u64 = 4_000;
/// The most invocations in a dispatch.
const INVOCATIONS: u64 = 1_024;

/// A mutant of a case: one change, by a mutator that the dice choose. `keep` may refuse mutants; they are valid.
pub fn mutate(case: &Case, dice: &mut Dice, keep: impl Fn(&Case) -> bool) -> Option<Case> {
    (0..TRIES).find_map(|_| {
        let mutator = &TABLE[dice.index(TABLE.iter().map(|mutator| mutator.weight))];
        mutator.apply(case, dice).filter(&keep)
    })
}

/// A case with a part of another one in it. `keep` may refuse it; it is valid.
pub fn cross(case: &Case, other: &Case, dice: &mut Dice, keep: impl Fn(&Case) -> bool) -> Option<Case> {
    (0..TRIES).find_map(|_| {
        let mut mutant = case.clone();
        splice::across(&mut mutant, other, dice)?;
        finished(mutant, case).filter(&keep)
    })
}

impl Mutator {
    /// Tries once. `None` if there is nothing to change, nothing changed, or the mutant is not valid or too large.
    pub fn apply(&self, case: &Case, dice: &mut Dice) -> Option<Case> {
        let mut mutant = case.clone();
        (self.edit)(&mut mutant, dice)?;
        finished(mutant, case)
    }
}

/// Tidies a mutant up; `None` if it is of no use.
fn finished(mut mutant: Case, case: &Case) -> Option<Case> {
    tidy::tidy(&mut mutant.program);
    if mutant == *case || !is_small(&mutant, case) || validate(&mutant).is_err() {
        return None;
    }
    // It is no longer what the generator made.
    (mutant.origin.seed, mutant.origin.data, mutant.origin.bytes) = (None, None, None);
    Some(mutant)
}

/// True if a mutant is no larger than fuzzing wants, or than the case was.
fn is_small(mutant: &Case, case: &Case) -> bool {
    let fits = |most: u64, of: &dyn Fn(&Case) -> u64| {
        let new = of(mutant);
        new <= most || new <= of(case)
    };
    fits(INVOCATIONS, &|case| case.entry_point.invocations().into())
        && fits(STATEMENTS, &|case| tangle_minimizer::statements(&case.program) as u64)
        && fits(EXPRESSIONS, &|case| tangle_minimizer::expressions(&case.program) as u64)
        && fits(STEPS, &|case| cost(case).steps)
}
