//! Whether a GPU still comes to the end of a program that cannot hang.
//!
//! A program that hangs may leave a GPU on which others hang, too, in every process that is started after it. Seen with NVIDIA's driver 580.159.04 on
//! H200s: from one hang on, the third workgroup of task shaders that a process launched did not end, whatever the shader (docs/stages.md, "On a GPU"). So
//! a hang is believed only of a GPU that came to the end of an [empty program](empty) of the same stage since the one before.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tangle_program::case::{Case, Data, FloatControls, Launch, Stage, SubgroupSize};
use tangle_program::tree::{Function, Program};
use tangle_program::variant::Variant;

/// What is known of a GPU; shared by all in this process who have opened the device.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The stages of which it came to the end of an empty program since the last hang.
    well: Mutex<BTreeSet<Stage>>,
    /// How often something hung.
    hangs: AtomicU64,
    /// Why nothing is to be believed of it any more.
    unwell: OnceLock<String>,
}

/// What became of an empty program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Examined {
    /// It came to its end.
    Ended,
    /// It hung, or the device was lost, twice.
    Hung,
    /// It did not run, or failed in another way: nothing is known.
    Nothing,
}

impl Health {
    /// Something hung, or the device was lost.
    pub(crate) fn doubt(&self) {
        self.hangs.fetch_add(1, Ordering::SeqCst);
        self.well().clear();
    }

    /// How often something hung.
    pub(crate) fn hangs(&self) -> u64 {
        self.hangs.load(Ordering::SeqCst)
    }

    /// Why nothing is to be believed of it any more, if that is so.
    pub(crate) fn unwell(&self) -> Option<String> {
        self.unwell.get().cloned()
    }

    /// Looks whether it comes to the end of an empty program of a stage, unless that is known. `run` runs one.
    ///
    /// # Errors
    /// If it does not, or did not before: the reason to give it up.
    pub(crate) fn examine(&self, stage: Stage, run: impl FnOnce() -> Examined) -> Result<(), String> {
        let mut well = self.well();
        if self.unwell.get().is_none() && !well.contains(&stage) {
            match run() {
                Examined::Ended => {
                    well.insert(stage);
                }
                Examined::Nothing => {}
                Examined::Hung => {
                    let reason = format!(
                        "the GPU does not come to the end of an empty {} shader any more, so that what hangs there says nothing of a program; it needs a reset, or the machine a restart",
                        stage.name()
                    );
                    // Whoever was first is right, too.
                    let _ = self.unwell.set(reason);
                }
            }
        }
        self.unwell().map_or(Ok(()), Err)
    }

    fn well(&self) -> MutexGuard<'_, BTreeSet<Stage>> {
        self.well.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// More than were seen to end on a GPU that was not well.
const WORKGROUPS: u32 = 8;

/// A program without a statement, launched as a case is; with several workgroups where it has any.
pub(crate) fn empty(case: &Case) -> Case {
    let main = Function { name: "main".into(), params: Vec::new(), result: None, locals: Vec::new(), body: Vec::new() };
    let mut empty = Case {
        data: Data::default(),
        program: Program { shared: Vec::new(), functions: vec![main] },
        variant: Variant::Unoptimised,
        ..case.clone()
    };
    let entry_point = &mut empty.entry_point;
    (entry_point.subgroup_size, entry_point.full_subgroups) = (SubgroupSize::Default, false);
    entry_point.float_controls = FloatControls::NONE;
    if let Launch::Workgroups(workgroups) = &mut entry_point.launch {
        (workgroups.size, workgroups.count) = ([8, 1, 1], [WORKGROUPS, 1, 1]);
        (workgroups.default_size, workgroups.derivative_group) = (None, None);
    }
    empty
}

#[cfg(test)]
mod tests {
    use tangle_analysis::validate::validate;
    use tangle_generator::{Config, from_seed};
    use tangle_program::case::{SpirvVersion, Tier};

    use super::*;

    #[test]
    fn an_empty_program_is_valid_in_every_stage() {
        for stage in Stage::ALL {
            for (seed, tier) in (0..20).zip(Tier::ALL.into_iter().cycle()) {
                let spirv = vec![SpirvVersion::V1_6];
                let case = from_seed(seed, &Config { stage, tier, spirv, ..Config::default() });
                let empty = empty(&case);
                assert_eq!(validate(&empty), Ok(()), "{} {seed}", stage.name());
                assert_eq!(empty.entry_point.stage, stage);
                assert!(!stage.has_workgroups() || empty.entry_point.groups() == WORKGROUPS);
            }
        }
    }

    #[test]
    fn a_gpu_is_examined_anew_after_each_hang_until_it_fails() {
        use Examined::{Ended, Hung, Nothing};
        let health = Health::default();
        let never = || -> Examined { panic!("that is known") };
        assert_eq!(health.examine(Stage::Mesh, || Nothing), Ok(()));
        assert_eq!(health.examine(Stage::Mesh, || Ended), Ok(()));
        assert_eq!(health.examine(Stage::Mesh, never), Ok(()));
        assert_eq!(health.examine(Stage::Task, || Ended), Ok(()));
        health.doubt();
        assert_eq!(health.examine(Stage::Mesh, || Ended), Ok(()));
        assert_eq!((health.unwell(), health.hangs()), (None, 1));
        health.doubt();
        let reason = health.examine(Stage::Task, || Hung).expect_err("it does not end");
        assert!(reason.contains("an empty task shader"), "{reason}");
        assert_eq!(health.examine(Stage::Mesh, never), Err(reason.clone()));
        assert_eq!(health.unwell(), Some(reason));
    }
}
