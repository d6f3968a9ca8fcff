//! The reduction passes: ways to make a case smaller.
//!
//! A pass is a function from a case to candidates, made one at a time and ordered from the largest reduction to the smallest. It
//! knows nothing of what the others do, nor of what fails: the engine tries its candidates. All of them are smaller than the case; those
//! that are not valid are never tried.

mod aggregates;
pub(crate) mod attributes;
pub(crate) mod candidates;
mod control;
mod data;
mod delete;
mod expressions;
mod functions;
mod launch;
mod log;
mod memory;
mod names;
pub(crate) mod slice;
mod types;
mod variables;
mod variant;

use tangle_program::case::Case;

pub use candidates::Candidates;

/// One way to make cases smaller.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name, for progress lines.
    pub name: &'static str,
    /// What its candidates are, in a few words, for lists.
    pub about: &'static str,
    /// The candidates that it makes from a case, the boldest first.
    pub candidates: for<'a> fn(&'a Case) -> Candidates<'a>,
}

/// Every pass, in the order in which they run: what removes most comes first, what only makes reading easier last.
pub const TABLE: &[Pass] = &[
    Pass { name: "groups", about: "fewer workgroups", candidates: launch::groups },
    Pass { name: "variant", about: "less done to the module", candidates: variant::candidates },
    Pass { name: "slice", about: "keep some log sites, and only what leads to them", candidates: slice::candidates },
    Pass { name: "unused", about: "drop what nothing mentions", candidates: variables::unused },
    Pass { name: "delete", about: "delete runs of statements", candidates: delete::candidates },
    Pass { name: "earlier", about: "log what is computed or decided earlier", candidates: log::earlier },
    Pass { name: "functions", about: "delete, empty and inline functions", candidates: functions::whole },
    Pass { name: "unwrap", about: "put a part in the place of an if, switch or loop", candidates: control::unwrap },
    Pass { name: "forget", about: "delete all assignments to a variable", candidates: variables::forget },
    Pass { name: "attributes", about: "ask nothing of the compiler", candidates: attributes::candidates },
    Pass { name: "workgroup", about: "smaller workgroups", candidates: launch::workgroup },
    Pass { name: "log", about: "log fewer values", candidates: log::values },
    Pass { name: "guards", about: "make an else of what follows a return or continue", candidates: control::guards },
    Pass { name: "control", about: "drop parts of ifs, switches and loops", candidates: control::parts },
    Pass { name: "signatures", about: "drop parameters and results", candidates: functions::signatures },
    Pass { name: "inputs", about: "put one value in the place of an input everywhere", candidates: data::sources },
    Pass { name: "expressions", about: "put less in the place of an expression", candidates: expressions::replace },
    Pass { name: "substitute", about: "put a value in the place of a variable", candidates: variables::substitute },
    Pass { name: "words", about: "make uints of other integers, integers of floats", candidates: types::words },
    Pass { name: "narrow", about: "make scalars of vectors", candidates: types::narrow },
    Pass {
        name: "elements",
        about: "make single values of arrays, matrices and structs",
        candidates: aggregates::elements,
    },
    Pass { name: "memory", about: "forget what atomics return", candidates: memory::candidates },
    Pass { name: "merge", about: "make one of two variables", candidates: variables::merge },
    Pass {
        name: "resources",
        about: "put words in the place of descriptors, and halve their arrays",
        candidates: data::descriptors,
    },
    Pass { name: "data", about: "simplify the data", candidates: data::values },
    Pass { name: "defaults", about: "simplify what constants are in the module", candidates: data::defaults },
    Pass { name: "launch", about: "ask for less: sizes, flags, versions, tier", candidates: launch::demands },
    Pass {
        name: "parts in draws",
        about: "put a part in the place of an if, and draw otherwise",
        candidates: launch::parts_in_draws,
    },
    Pass { name: "numbers", about: "make numbers smaller", candidates: expressions::numbers },
    Pass { name: "names", about: "short names, sites from 1", candidates: names::candidates },
];
