//! Panics of tangle's own (of the generator, the oracle, the minimiser): each costs its program and no more. It is counted, kept in
//! `panics/`, and makes the campaign end with an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::Context as _;
use tangle_files::{create_folder, write_atomically};

use super::running::Campaign;
use crate::panics::message;
use crate::target::Target;

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
