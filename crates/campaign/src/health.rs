//! Whether a GPU still comes to the end of a program that cannot hang.
//!
//! A program that hangs may leave a GPU on which others hang, too, in every process that is started after it. Seen with NVIDIA's driver 580.159.04 on
//! H200s: from one hang on, the third workgroup of task shaders that a process launched did not end, whatever the shader (docs/stages.md, "On a GPU"). So
//! a hang is believed only of a GPU that came to the end of an [empty program](empty) of the same stage since the one before.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tangle_program::case::{Case, Data, FloatControls, Launch, Stage, SubgroupSize};
use tangle_program::tree::{Function, Program};
use tangle_program::variant::Variant;

/// What is known of a GPU.
#[derive(Debug, Default)]
pub(crate) struct Health(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The stages of which it came to the end of an empty program since the last hang.
    well: BTreeSet<Stage>,
    /// Why nothing is to be believed of it any more.
    unwell: Option<String>,
}

impl Health {
    /// Something hung, or the device was lost.
    pub(crate) fn doubt(&self) {
        self.state().well.clear();
    }

    /// Why nothing is to be believed of it any more, if that is so.
    pub(crate) fn unwell(&self) -> Option<String> {
        self.state().unwell.clone()
    }

    /// Looks whether it comes to the end of an empty program of a stage, unless that is known. `ends` runs one.
    ///
    /// # Errors
    /// If it does not, or did not before: the reason to give it up.
    pub(crate) fn examine(&self, stage: Stage, ends: impl FnOnce() -> bool) -> Result<(), String> {
        let mut state = self.state();
        if state.unwell.is_none() && !state.well.contains(&stage) {
            if ends() {
                state.well.insert(stage);
            } else {
                state.unwell = Some(format!(
                    "the GPU does not come to the end of an empty {} shader any more, so that what hangs there says nothing of a program; it needs a reset, or the machine a restart",
                    stage.name()
                ));
            }
        }
        state.unwell.clone().map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let health = Health::default();
        let never = || -> bool { panic!("that is known") };
        assert_eq!(health.examine(Stage::Mesh, || true), Ok(()));
        assert_eq!(health.examine(Stage::Mesh, never), Ok(()));
        assert_eq!(health.examine(Stage::Task, || true), Ok(()));
        health.doubt();
        assert_eq!(health.examine(Stage::Mesh, || true), Ok(()));
        assert_eq!(health.unwell(), None);
        health.doubt();
        let reason = health.examine(Stage::Task, || false).expect_err("it does not end");
        assert!(reason.contains("an empty task shader"), "{reason}");
        assert_eq!(health.examine(Stage::Mesh, never), Err(reason.clone()));
        assert_eq!(health.unwell(), Some(reason));
    }
}
