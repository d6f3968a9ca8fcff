//! A program on its way through a device, with all its inputs in one job.
//!
//! When a job fails in one of its launches, that one is run again alone: the finding that is saved is a case with one input, and has to
//! be what fails. What may have other reasons than the case (a time-out, a signal from outside, memory that ran out, a crash, a lost device:
//! [`Outcome::suspicion`]) runs again in any case, with ten times the time, and with no other worker beside it unless it crashed
//! ([`Terms::Again`]). What other inputs of the program would have given is left out then. A time-out waits for that ([`super::timeouts`]).
//!
//! | job | alone | the case |
//! |---|---|---|
//! | fails | fails | failed as it did alone |
//! | breaks off with an error | does not | failed as it did in company; the stage names the launch |
//! | crashes, or loses the device | does not | runs again in company; fails if it does then; else it is what it was alone, and a [flake](Conclusion::flake) |
//! | times out, is killed, has no memory | does not | is what it was alone: a time-out later |
//! | runs; the lane map of a GPU breaks a rule | does not | is what it was alone |
//!
//! Of a GPU, since others may use it: a display server, another process. A crash like those that occurred again often enough is one without
//! being seen again. What undefined behaviour a module has, or that it does not end, is known by the launch, and nothing runs again.

use std::ops::Range;
use std::sync::Arc;

use crossbeam_channel::Sender;
use tangle_oracle::judge::Verdict;
use tangle_program::case::Case;
use tangle_runner::{Completion, Outcome, Suspicion, Terms};

use crate::capabilities::Capabilities;
use crate::executor::{Task, Worker};
use crate::prepare::Prep;
use crate::target::{Conclusion, Finish};

/// Cases that have a program in common.
#[derive(Clone)]
pub(super) struct Batch {
    /// Their numbers, those that the device leaves out too.
    pub(super) numbers: Range<u64>,
    /// What is made from the program once for all of them.
    pub(super) prep: Arc<Prep>,
    /// Those that run, with their numbers; at least one.
    pub(super) cases: Vec<(u64, Arc<Case>)>,
}

/// A batch that a worker is working on.
pub(super) struct InFlight {
    batch: Batch,
    /// What runs again, if something does.
    again: Option<Again>,
    /// The results of all of them, if one is to be cleared of a wrong lane map.
    together: Vec<Conclusion>,
    /// True of a time-out that waited for its confirmation.
    is_late: bool,
}

/// A failed job that runs again.
struct Again {
    /// Which of its cases it failed in.
    at: usize,
    /// Whether that one runs alone, or all of them again.
    alone: bool,
    /// The result of the job with all of them; `None` of a time-out that waited for its confirmation.
    before: Option<Outcome>,
    /// Why nothing may run beside it, if nothing may.
    suspicion: Option<Suspicion>,
}

impl Again {
    /// True if what came before was something, although it does not occur again.
    fn is_flake(&self) -> bool {
        self.suspicion.is_some_and(|suspicion| !suspicion.is_cleared_by_success())
    }
}

/// What comes of a completion.
pub(super) enum JobResult {
    /// The conclusions, with the places of the cases in the batch.
    Completed(Vec<(usize, Conclusion)>),
    /// A case is to run again.
    Rerun,
    /// A case timed out: its place in the batch.
    TimedOut(usize, Outcome),
    /// There is no worker any more.
    NoWorker(String),
}

impl InFlight {
    pub(super) fn new(batch: Batch) -> InFlight {
        InFlight { batch, again: None, together: Vec::new(), is_late: false }
    }

    /// A batch of one case, whose time-out is to be confirmed.
    pub(super) fn timed_out(batch: Batch) -> InFlight {
        let again = Again { at: 0, alone: true, before: None, suspicion: Some(Suspicion::Slow) };
        InFlight { batch, again: Some(again), together: Vec::new(), is_late: true }
    }

    pub(super) fn batch(&self) -> &Batch {
        &self.batch
    }

    pub(super) fn is_late(&self) -> bool {
        self.is_late
    }

    /// Has a worker run what is to run now: what does not run again, on these terms.
    pub(super) fn submit(&self, worker: &dyn Worker, id: u64, first: Terms, completions: &Sender<Completion>) {
        let cases: Vec<&Case> = self.asked().iter().map(|(_, case)| &**case).collect();
        if let Prep::Ready(prepared) = &*self.batch.prep {
            let suspicion = self.again.as_ref().and_then(|again| again.suspicion);
            let terms = suspicion.map_or(first, Terms::Again);
            worker.submit(&Task { id, prepared, cases: &cases, terms }, completions);
        }
    }

    /// The cases of the job that runs now.
    fn asked(&self) -> &[(u64, Arc<Case>)] {
        match &self.again {
            Some(Again { at, alone: true, .. }) => &self.batch.cases[*at..=*at],
            _ => &self.batch.cases,
        }
    }

    /// Takes the outcome of the job. `is_settled` says of one that fails whether enough like it were confirmed.
    pub(super) fn receive(
        &mut self,
        capabilities: &Capabilities,
        outcome: Outcome,
        is_settled: impl Fn(&Outcome) -> bool,
    ) -> JobResult {
        let launches = self.batch.cases.len();
        if self.again.is_none()
            && let Some(stage) = outcome.failed_in()
        {
            let launch = stage.launch().and_then(|launch| usize::try_from(launch).ok());
            let suspicion = match outcome.suspicion() {
                Some(Suspicion::Slow) => {
                    let at = launch.unwrap_or(0).min(launches.saturating_sub(1));
                    return JobResult::TimedOut(at, outcome);
                }
                Some(Suspicion::Crashed) if is_settled(&outcome) => None,
                suspicion => suspicion,
            };
            let at = if suspicion.is_some() { Some(launch.unwrap_or(0)) } else { launch.filter(|_| launches > 1) };
            if let Some(at) = at.filter(|&at| at < launches) {
                self.again = Some(Again { at, alone: true, before: Some(outcome), suspicion });
                return JobResult::Rerun;
            }
        }
        // The launch that an executor of modules stopped at.
        let stopped = match outcome {
            Outcome::Undefined { launch, .. } | Outcome::Endless { launch, .. } => {
                (launch as usize).min(self.asked().len().saturating_sub(1))
            }
            _ => 0,
        };
        let cases = self.asked().iter().map(|(_, case)| &**case);
        let mut conclusions = Conclusion::of_launches(cases, capabilities, outcome.clone());
        if let Finish::NoWorker { reason } = &conclusions[0].finish {
            return JobResult::NoWorker(reason.clone());
        }
        if capabilities.may_be_disturbed
            && self.again.is_none()
            && let Some(at) = conclusions.iter().position(has_wrong_lane_map)
        {
            let suspicion = Some(Suspicion::Disturbed);
            self.again = Some(Again { at, alone: true, before: Some(outcome), suspicion });
            self.together = conclusions;
            return JobResult::Rerun;
        }
        let Some(again) = self.again.take() else {
            return JobResult::Completed((stopped..).zip(conclusions).collect());
        };
        if !self.together.is_empty() {
            let suspicion = outcome.suspicion();
            if again.suspicion == Some(Suspicion::Disturbed) && suspicion.is_some() {
                // It is to be confirmed, too.
                self.again = Some(Again { before: Some(outcome), suspicion, ..again });
                return JobResult::Rerun;
            }
            let mut together = std::mem::take(&mut self.together);
            let mut alone = conclusions.swap_remove(0);
            if again.is_flake() && suspicion.is_none() {
                alone.flake = again.before;
            }
            together[again.at] = alone;
            return JobResult::Completed((0..).zip(together).collect());
        }
        self.confirm(again, conclusions)
    }

    /// What a failure is, given the result the next time.
    fn confirm(&mut self, again: Again, mut conclusions: Vec<Conclusion>) -> JobResult {
        let (at, is_flake) = (again.at, again.is_flake());
        // One for each launch, unless the job broke off or has only one.
        let is_whole = !again.alone && conclusions.len() == self.batch.cases.len();
        let here = if is_whole { at } else { 0 };
        let fails = matches!(conclusions[here].finish, Finish::Failed(_));
        if !fails && is_flake {
            if again.alone && self.batch.cases.len() > 1 {
                self.again = Some(Again { alone: false, ..again });
                return JobResult::Rerun;
            }
            conclusions[here].flake = again.before;
        } else if let Some(before) = again.before.filter(|_| !fails && again.suspicion.is_none())
            && conclusions[here].signature(&self.batch.cases[at].1).is_none()
        {
            conclusions = vec![Conclusion::without_data(Finish::Failed(before))];
        }
        let first = if is_whole { 0 } else { at };
        JobResult::Completed((first..).zip(conclusions).collect())
    }
}

fn has_wrong_lane_map(conclusion: &Conclusion) -> bool {
    matches!(&conclusion.finish, Finish::Judged(judgement) if judgement.verdict == Verdict::LaneMap)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tangle_files::text::Lines;
    use tangle_program::case::Case;
    use tangle_runner::{Completed, LaunchOutput, Shortage, Stage, Stall, WorkerEnd};

    use super::*;
    use crate::executor::reference::{Behaviour, Reference};
    use crate::prepare::{Prepared, launch_output};

    const DEVICE: Reference = Reference { behaviour: Behaviour::Spec, subgroup_size: 8 };

    fn case() -> Case {
        Case::from_json(include_str!("../../../../corpus/vectors/V03.json")).expect("a case of the corpus")
    }

    fn in_flight(cases: u64) -> InFlight {
        let prepared = Prepared::without_module(case());
        let cases = (0..cases).map(|number| (number, Arc::new(case()))).collect::<Vec<_>>();
        InFlight::new(Batch { numbers: 0..cases.len() as u64, prep: Arc::new(Prep::Ready(prepared)), cases })
    }

    fn crash(stage: Stage) -> Outcome {
        Outcome::Crashed { end: WorkerEnd::Signal(11), stage, stderr: Lines::default() }
    }

    fn time_out(stage: Stage) -> Outcome {
        Outcome::TimedOut { stage, how: Stall::Processor, after: Duration::from_secs(9), stderr: Lines::default() }
    }

    fn killed(stage: Stage) -> Outcome {
        Outcome::Crashed { end: WorkerEnd::Signal(9), stage, stderr: Lines::default() }
    }

    fn no_memory(shortage: Shortage) -> Outcome {
        Outcome::OutOfMemory { shortage, stage: Stage::Pipeline, stderr: Lines::default() }
    }

    /// What a correct device gives.
    fn completed(launches: usize) -> Outcome {
        let seen = launch_output(&case(), &DEVICE.observe(&case()).expect("a valid case"));
        Outcome::Completed(Completed { launches: vec![seen; launches], ..Completed::default() })
    }

    /// What comes of a job, and of the one with a single launch if there is one: places and results.
    fn result(cases: u64, outcomes: &[Outcome]) -> Vec<String> {
        result_on(&Capabilities::reference(8), cases, outcomes, false)
    }

    fn result_on(capabilities: &Capabilities, cases: u64, outcomes: &[Outcome], is_settled: bool) -> Vec<String> {
        result_of(in_flight(cases), capabilities, outcomes, is_settled)
    }

    fn result_of(
        mut in_flight: InFlight,
        capabilities: &Capabilities,
        outcomes: &[Outcome],
        is_settled: bool,
    ) -> Vec<String> {
        let mut seen = Vec::new();
        for outcome in outcomes {
            seen.push(match in_flight.receive(capabilities, outcome.clone(), |_| is_settled) {
                JobResult::TimedOut(at, _) => format!("{at} timed out"),
                JobResult::Rerun if in_flight.asked().len() == 1 => {
                    let beside = in_flight.again.as_ref().is_some_and(|again| again.suspicion.is_none());
                    format!("again {}{}", in_flight.asked()[0].0, if beside { ", beside others" } else { "" })
                }
                JobResult::Rerun => "again, all".into(),
                JobResult::NoWorker(reason) => reason,
                JobResult::Completed(over) => {
                    let one = |(at, conclusion): (usize, Conclusion)| {
                        let signature = conclusion.signature(&case()).map(|signature| signature.to_string());
                        let flake = if conclusion.flake.is_some() { " (flake)" } else { "" };
                        format!("{at} {}{flake}", signature.unwrap_or_else(|| conclusion.status(&case()).title()))
                    };
                    over.into_iter().map(one).collect::<Vec<_>>().join(", ")
                }
            });
        }
        seen
    }

    #[test]
    fn undefined_behaviour_is_that_of_its_launch() {
        let undefined = Outcome::Undefined { launch: 2, rule: "rule".into(), place: "place".into() };
        assert_eq!(result(3, &[undefined]), ["2 toolchain: the module has undefined behaviour: rule"]);
        let endless = Outcome::Endless { launch: 1, place: "place".into() };
        assert_eq!(result(3, &[endless]), ["1 toolchain: the module does not end: the program does"]);
    }

    #[test]
    fn a_wrong_lane_map_of_a_gpu_runs_again_alone() {
        let gpu = Capabilities { may_be_disturbed: true, ..Capabilities::reference(8) };
        // Lanes that are all of one number.
        let mut observation = DEVICE.observe(&case()).expect("a valid case");
        observation.map.chunks_mut(case().entry_point.map_words()).for_each(|record| record[0] = 0);
        let [right, wrong] =
            [DEVICE.observe(&case()).expect("a valid case"), observation].map(|seen| launch_output(&case(), &seen));
        let job = |launches: &[&LaunchOutput]| {
            let launches = launches.iter().map(|&launch| launch.clone()).collect();
            Outcome::Completed(Completed { launches, ..Completed::default() })
        };
        let spoilt = job(&[&right, &wrong, &right]);
        for (capabilities, outcomes, expected) in [
            (&Capabilities::reference(8), vec![spoilt.clone()], vec!["0 pass, 1 lane_map, 2 pass"]),
            (&gpu, vec![spoilt.clone(), job(&[&right])], vec!["again 1", "0 pass, 1 pass, 2 pass"]),
            (&gpu, vec![spoilt.clone(), job(&[&wrong])], vec!["again 1", "0 pass, 1 lane_map, 2 pass"]),
            (
                &gpu,
                vec![spoilt.clone(), crash(Stage::Pipeline), crash(Stage::Pipeline)],
                vec!["again 1", "again 1", "0 pass, 1 crash, 2 pass"],
            ),
            (
                &gpu,
                vec![spoilt.clone(), crash(Stage::Pipeline), job(&[&right])],
                vec!["again 1", "again 1", "0 pass, 1 pass (flake), 2 pass"],
            ),
        ] {
            let statuses: Vec<String> = result_on(capabilities, 3, &outcomes, false)
                .iter()
                .map(|seen| {
                    seen.split(", ").map(|one| one.split(": ").next().unwrap_or(one)).collect::<Vec<_>>().join(", ")
                })
                .collect();
            assert_eq!(statuses, expected, "{outcomes:?}");
        }
    }

    #[test]
    fn a_launch_that_fails_runs_again_alone() {
        let (wait, pipeline) = (|launch| Stage::Wait { launch }, Stage::Pipeline);
        let lost = Outcome::WorkerLost { reason: "gone".into() };
        let error = |stage| Outcome::VulkanError { call: "vkWaitForFences".into(), result: "VK_TIMEOUT".into(), stage };
        let device_lost = |stage| Outcome::DeviceLost { stage };
        let rows: [(u64, Vec<Outcome>, &[&str]); 20] = [
            (3, vec![completed(3)], &["0 pass, 1 pass, 2 pass"]),
            (
                3,
                vec![crash(pipeline), crash(pipeline)],
                &["again 0", "0 crash: killed by SIGSEGV while creating the pipeline"],
            ),
            (
                1,
                vec![crash(wait(0)), crash(wait(0))],
                &["again 0", "0 crash: killed by SIGSEGV while running the dispatch"],
            ),
            (
                3,
                vec![crash(wait(2)), crash(wait(0))],
                &["again 2", "2 crash: killed by SIGSEGV while running the dispatch"],
            ),
            // In company only.
            (
                3,
                vec![crash(wait(2)), completed(1), crash(wait(2))],
                &["again 2", "again, all", "2 crash: killed by SIGSEGV while running the dispatch"],
            ),
            (
                3,
                vec![crash(wait(2)), completed(1), completed(3)],
                &["again 2", "again, all", "0 pass, 1 pass, 2 pass (flake)"],
            ),
            (
                3,
                vec![crash(pipeline), completed(1), completed(3)],
                &["again 0", "again, all", "0 pass (flake), 1 pass, 2 pass"],
            ),
            (1, vec![crash(wait(0)), completed(1)], &["again 0", "0 pass (flake)"]),
            (1, vec![device_lost(wait(0)), completed(1)], &["again 0", "0 pass (flake)"]),
            (
                1,
                vec![device_lost(wait(0)), device_lost(wait(0))],
                &["again 0", "0 device_lost: while running the dispatch"],
            ),
            (
                3,
                vec![error(wait(2)), completed(1)],
                &[
                    "again 2, beside others",
                    "2 vulkan_error: vkWaitForFences returned VK_TIMEOUT while running the dispatch",
                ],
            ),
            (1, vec![time_out(wait(0))], &["0 timed out"]),
            (3, vec![time_out(wait(1))], &["1 timed out"]),
            (3, vec![time_out(pipeline)], &["0 timed out"]),
            (3, vec![crash(wait(1)), lost], &["again 1", "gone"]),
            (3, vec![killed(pipeline), completed(1)], &["again 0", "0 pass"]),
            (3, vec![killed(wait(1)), completed(1)], &["again 1", "1 pass"]),
            (
                1,
                vec![killed(pipeline), killed(pipeline)],
                &["again 0", "0 crash: killed by SIGKILL while creating the pipeline"],
            ),
            (
                1,
                vec![no_memory(Shortage::Allocation), no_memory(Shortage::Allocation)],
                &["again 0", "0 out_of_memory: an allocation failed while creating the pipeline"],
            ),
            // That is the machine's fault.
            (1, vec![no_memory(Shortage::System), no_memory(Shortage::System)], &["again 0", "0 short of memory"]),
        ];
        for (cases, outcomes, expected) in rows {
            assert_eq!(result(cases, &outcomes), expected, "{outcomes:?}");
        }
    }

    #[test]
    fn a_time_out_is_what_it_is_alone() {
        for (outcome, expected) in [
            (completed(1), "0 pass"),
            (time_out(Stage::Pipeline), "0 hang: while creating the pipeline"),
            (crash(Stage::Pipeline), "0 crash: killed by SIGSEGV while creating the pipeline"),
        ] {
            let in_flight = InFlight::timed_out(in_flight(1).batch);
            assert_eq!(result_of(in_flight, &Capabilities::reference(8), &[outcome], false), [expected]);
        }
    }

    #[test]
    fn what_is_like_confirmed_failures_needs_no_confirmation() {
        let (wait, pipeline) = (|launch| Stage::Wait { launch }, Stage::Pipeline);
        let rows: [(u64, Vec<Outcome>, &[&str]); 3] = [
            (3, vec![crash(pipeline)], &["0 crash: killed by SIGSEGV while creating the pipeline"]),
            (
                3,
                vec![crash(wait(1)), completed(1)],
                &["again 1, beside others", "1 crash: killed by SIGSEGV while running the dispatch"],
            ),
            // The reset of a GPU looks the same to all that run on it.
            (1, vec![Outcome::DeviceLost { stage: wait(0) }, completed(1)], &["again 0", "0 pass (flake)"]),
        ];
        for (cases, outcomes, expected) in rows {
            assert_eq!(result_on(&Capabilities::reference(8), cases, &outcomes, true), expected, "{outcomes:?}");
        }
    }
}
