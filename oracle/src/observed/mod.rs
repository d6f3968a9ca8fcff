//! Judging code whose tangles the tier leaves open, by what the device shows of them (docs/rules.md, section O).
//!
//! # The problem
//!
//! Where a tangle `T` is not exact, a result `op(T, operands)` has several legal values, and so has everything computed from it. All
//! the same, a device cannot log what it likes: the lanes that execute an instruction are divided into *instances*, and one division
//! must explain all the results.
//!
//! # What is known
//!
//! The log of a lane is a sequence of (site, values), so it is known which execution of a log site every word comes from. While a program is
//! *followed*, each result of an open operation has a **name** (operation, lane, n-th execution by that lane), which stays with it as it is copied;
//! a word that has a name shows that result. No instrumentation is needed for that: what the case logs anyway counts, and a
//! `subgroupBallot(true)` next to an operation is only an operation that shows all of its `T`.
//!
//! # What is allowed
//!
//! For one static operation and one subgroup, the executions of all lanes form **classes**: lanes with one path since the last point where
//! they were known to be together. An instance
//!
//! - is a union of classes (rules R1 and R2; at tier maximal, of the units of a switch segment, rule S1),
//! - holds no lane twice (rule O3), and no lane that does not execute the operation,
//! - at tier maximal, holds only lanes that are here at the same time,
//! - is no larger than the instance of an operation behind it in straight code: who is together stays together (R2),
//! - holds no execution that comes before another of its own ([`order`]),
//! - in one execution of a segment of a switch at tier maximal, holds two lanes always or never ([`segment`]).
//!
//! Tangles may be wider or narrower than at tier maximal: lanes in different iterations may be together (rule R8).
//!
//! # Judging
//!
//! 1. Each group of classes is solved: some division of it into instances gives every result seen ([`solve`]). Masks of
//!    `subgroupBallot(true)` are read directly ([`masks`]): own bit (O1), only visitors (O2), one instance for all of its members (O3),
//!    whole classes (O5). The instances they show must be in an acyclic order (O4).
//!    Classes that are in one instance in every division are together, too: that shows more of the order.
//! 2. Results seen are **adopted**, those of a tangle that is now known are computed, and the lanes of an instance shown get a common
//!    path. The program is followed again with that, until nothing new comes out. So code behind an adopted value is judged
//!    exactly, and an operation between two ballots by what they show (O6, O7, O8; O11 is O7 for `subgroupElect`).
//! 3. Where no division explains what was seen, a rule is broken. The results of the most likely legal division stand as what
//!    was expected.
//!
//! # What is not said
//!
//! A result that some legal instance leaves undefined is never adopted. An adopted value counts as checked only where the device could not
//! have logged anything it liked: see [`Status`]. A search that takes too long accepts. In a subgroup with lost lanes nothing
//! is solved, since a lost lane may be in any instance; what it logs may find it again.
//!
//! `oracle/tests/explorer` counts what passes although no execution gives it. These are the reasons:
//!
//! - *Several operations at once.* Each operation is solved by itself, with what is certain of the others. Two that each have several
//!   divisions, but none that go together, pass.
//! - *A merge without an operation.* Where control flow is uniform again at a merge block (R6), lanes that have passed it cannot
//!   be together with lanes before it. But only operations are said to wait for each other (O4), so that the order does not count the merge.
//! - *An intermittent path.* A wrong result that decides the path of its lane can make an operation exact on the one path and open on the
//!   other, so that following comes to no end ([`follow`] gives `None`).
//! - *Selectors inside.* Lanes with one selector that are apart in the segment of a switch were apart in the segment around it, too.

mod group;
mod masks;
mod order;
mod rule;
mod segment;
mod solve;
pub(crate) mod trace;

use std::rc::Rc;

pub use rule::TangleRule;
pub use tangle_program::subgroup::Severity;

use crate::lower::Code;
use crate::machine::{Learnt, Machine, Pass, Stop};
use crate::map::Layout;
use crate::rules::Spec;
use tangle_program::case::Case;
use trace::{Bindings, Trace};
pub(crate) use trace::{Broken, Seen, Status};

/// Rounds of following at most; each brings to light what the one before made known.
const ROUNDS: usize = 6;

/// Follows what the lanes of a group logged, from a prediction that leaves something open. `None` if it
/// is not known who visits what.
pub(crate) fn follow<'a>(
    case: &'a Case,
    code: &'a Code,
    layout: &'a Layout,
    (mut visitors, mut classes): (Vec<u128>, Vec<bool>),
    seen: &Seen<'a>,
) -> Result<Option<Machine<'a, Spec>>, Stop> {
    let mut bindings = Rc::new(Bindings::default());
    for round in 0.. {
        let mut learnt = Learnt::default();
        // It ends: each time round, more of finitely many things is known of memory.
        let mut machine = loop {
            let pass = Pass::Predict { visitors: visitors.clone(), classes: classes.clone() };
            let mut machine = Machine::new(case, code, layout, Spec, pass).knowing(learnt);
            machine.trace = Some(Box::new(Trace::new(code, layout, seen, Rc::clone(&bindings))));
            machine.run()?;
            if !machine.memory.wrong {
                break machine;
            }
            learnt = machine.memory.into_learnt();
        };
        let found: Vec<bool> = machine.lost_by_subgroup().map(|lost| !lost).collect();
        let mut settled = true;
        for (s, &found) in found.iter().enumerate() {
            let of_subgroup = (s..visitors.len()).step_by(layout.subgroups.len());
            let same = of_subgroup.clone().all(|at| visitors[at] == machine.visitors[at]);
            // Who visits what is known once everybody's path is.
            settled &= if found { classes[s] && same } else { !classes[s] };
            classes[s] = found;
            of_subgroup.for_each(|at| visitors[at] = machine.visitors[at]);
        }
        let Some(trace) = machine.trace.take() else { return Ok(None) };
        let next = solve::solve(&trace.steps, &trace.known, case.tier, &found);
        if settled && (next == *bindings || round >= ROUNDS) {
            return Ok(Some(machine));
        }
        if round >= 2 * ROUNDS {
            break;
        }
        bindings = Rc::new(next);
    }
    Ok(None)
}
