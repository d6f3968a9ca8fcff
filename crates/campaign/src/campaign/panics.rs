//! Panics of tangle's own (of the generator, the oracle, the minimiser): each costs its program and no more. It is counted, kept in
//! `panics/`, and makes the campaign end with an error.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::Context as _;
use tangle_files::{create_folder, write_atomically};

use super::Campaign;
use crate::target::Target;

/// Longest message that is kept, in characters.
const LONGEST: usize = 300;

impl Campaign {
    /// Does a part of a program's way; `None` if tangle panicked.
    ///
    /// # Errors
    /// That of `work`, and if a panic cannot be noted.
    pub(super) fn contained<T>(
        &self,
        target: &Target,
        program: u64,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<Option<T>> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => result.map(Some),
            Err(panic) => self.note_panic(target, program, &message(&*panic)).map(|()| None),
        }
    }

    /// Counts a panic, and keeps what is known of the program it happened with.
    fn note_panic(&self, target: &Target, program: u64, message: &str) -> anyhow::Result<()> {
        let number = program * self.plan.inputs();
        let is_first = self.update(|statistics| statistics.enter_panic(&target.name, number, message));
        if !is_first {
            return Ok(());
        }
        let folder = self.folder.path().join("panics");
        create_folder(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let seed = self.plan.seed();
        let text = format!("{message}\n\nof case {number} of seed {seed} on {}\n", target.name);
        write_atomically(&folder.join(format!("{number}.txt")), text.as_bytes())?;
        // The generator may be what fails.
        let case = self.shared(program).first_case();
        case.map_or(Ok(()), |case| write_atomically(&folder.join(format!("{number}.json")), case.to_json().as_bytes()))
    }
}

/// What a panic says.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("tangle panicked: {}", tangle_report::text::shortened(text.unwrap_or("it does not say why"), LONGEST))
}
