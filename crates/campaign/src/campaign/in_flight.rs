//! A program on its way through a device, with all its inputs in one job.
//!
//! When a job fails in one of its launches, that one is run again alone: the finding that is saved is a case with one input, and has to
//! be what fails. What may have other reasons than the case (a time-out, a signal from outside, memory that ran out) runs again in any
//! case, with no other worker beside it and ten times the time ([`Device::submit_alone`]), and counts only if it comes again. What other
//! inputs of the program would have given is left out then.
//!
//! | job | alone | the case |
//! |---|---|---|
//! | fails | fails | failed as it did alone |
//! | crashes, or breaks off with an error | does not | failed as it did in company; the stage names the launch |
//! | times out, is killed, has no memory | does not | is what it was alone |
//! | runs; the lane map of a GPU breaks a rule | does not | is what it was alone |
//!
//! Of a GPU, since others may use it: a display server, another process. What undefined behaviour a module has is known by the launch, and
//! nothing runs again.

use std::ops::Range;
use std::sync::Arc;

use crossbeam_channel::Sender;
use tangle_oracle::judge::Verdict;
use tangle_program::case::Case;
use tangle_runner::{Completion, Outcome};

use crate::capabilities::Capabilities;
use crate::executor::{Task, Worker};
use crate::prepare::Prep;
use crate::target::{Conclusion, Finish};

/// Cases that have a program in common.
#[derive(Clone)]
pub(super) struct Batch {
    /// Their numbers, those that the device leaves out too.
    pub(super) numbers: Range<u64>,
    /// The program.
    pub(super) prep: Arc<Prep>,
    /// Those that run, with their numbers; at least one.
    pub(super) cases: Vec<(u64, Arc<Case>)>,
}

/// A batch that a worker is working on.
pub(super) struct InFlight {
    batch: Batch,
    /// Which of its cases runs again alone, and what came of the job with all of them.
    alone: Option<(usize, Outcome)>,
    /// What came of all of them, if one is to be cleared of a wrong lane map.
    together: Vec<Conclusion>,
}

/// What comes of a completion.
pub(super) enum JobResult {
    /// The conclusions, with the places of the cases in the batch.
    Completed(Vec<(usize, Conclusion)>),
    /// A case is to run again.
    Rerun,
    /// There is no worker any more.
    NoWorker(String),
}

impl InFlight {
    pub(super) fn new(batch: Batch) -> InFlight {
        InFlight { batch, alone: None, together: Vec::new() }
    }

    pub(super) fn batch(&self) -> &Batch {
        &self.batch
    }

    /// What is to be confirmed, if the job failed in a way that may not be its own fault.
    pub(super) fn unconfirmed(&self) -> Option<&Outcome> {
        self.alone.as_ref().map(|(_, before)| before).filter(|before| before.suspicion().is_some())
    }

    /// Has a worker run what is to run now.
    pub(super) fn submit(&self, worker: &dyn Worker, id: u64, completions: &Sender<Completion>) {
        let cases: Vec<&Case> = self.asked().iter().map(|(_, case)| &**case).collect();
        if let Prep::Ready(prepared) = &*self.batch.prep {
            let suspicion = self.alone.as_ref().and_then(|(_, before)| before.suspicion());
            worker.submit(&Task { id, prepared, cases: &cases, suspicion }, completions);
        }
    }

    /// The cases of the job that runs now.
    fn asked(&self) -> &[(u64, Arc<Case>)] {
        match self.alone {
            Some((at, _)) => &self.batch.cases[at..=at],
            None => &self.batch.cases,
        }
    }

    /// Takes the outcome of the job.
    pub(super) fn receive(&mut self, capabilities: &Capabilities, outcome: Outcome) -> JobResult {
        if self.alone.is_none()
            && let Some(at) = suspect(&outcome, self.batch.cases.len())
        {
            self.alone = Some((at, outcome));
            return JobResult::Rerun;
        }
        let cases = self.asked().iter().map(|(_, case)| &**case);
        let undefined = match outcome {
            Outcome::Undefined { launch, .. } => (launch as usize).min(cases.len().saturating_sub(1)),
            _ => 0,
        };
        let mut conclusions = Conclusion::of_launches(cases, capabilities, outcome.clone());
        if let Finish::NoWorker { reason } = &conclusions[0].finish {
            return JobResult::NoWorker(reason.clone());
        }
        if capabilities.may_be_disturbed
            && self.alone.is_none()
            && let Some(at) = conclusions.iter().position(has_wrong_lane_map)
        {
            (self.alone, self.together) = (Some((at, outcome)), conclusions);
            return JobResult::Rerun;
        }
        let first = self.alone.as_ref().map_or(undefined, |(at, _)| *at);
        if !self.together.is_empty() {
            self.alone = None;
            let mut together = std::mem::take(&mut self.together);
            together[first] = conclusions.swap_remove(0);
            return JobResult::Completed((0..).zip(together).collect());
        }
        if let Some((_, before)) = self.alone.take()
            && before.suspicion().is_none()
            && !matches!(conclusions[0].finish, Finish::Failed(_))
        {
            conclusions = vec![Conclusion::without_data(Finish::Failed(before))];
        }
        JobResult::Completed((first..).zip(conclusions).collect())
    }
}

fn has_wrong_lane_map(conclusion: &Conclusion) -> bool {
    matches!(&conclusion.finish, Finish::Judged(judgement) if judgement.verdict == Verdict::LaneMap)
}

/// The launch of a failed job that is to run again alone, of so many.
fn suspect(outcome: &Outcome, launches: usize) -> Option<usize> {
    let stage = outcome.failed_in()?;
    let launch = stage.launch().and_then(|launch| usize::try_from(launch).ok());
    match outcome.suspicion() {
        Some(_) => Some(launch.unwrap_or(0)),
        None => launch.filter(|_| launches > 1),
    }
    .filter(|&launch| launch < launches)
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
        let seen = launch_output(&DEVICE.observe(&case()).expect("a valid case"));
        Outcome::Completed(Completed { launches: vec![seen; launches], ..Completed::default() })
    }

    /// What comes of a job, and of the one with a single launch if there is one: places and results.
    fn result(cases: u64, outcomes: &[Outcome]) -> Vec<String> {
        result_on(&Capabilities::reference(8), cases, outcomes)
    }

    fn result_on(capabilities: &Capabilities, cases: u64, outcomes: &[Outcome]) -> Vec<String> {
        let mut in_flight = in_flight(cases);
        let mut seen = Vec::new();
        for outcome in outcomes {
            seen.push(match in_flight.receive(capabilities, outcome.clone()) {
                JobResult::Rerun => format!("again {}", in_flight.asked()[0].0),
                JobResult::NoWorker(reason) => reason,
                JobResult::Completed(over) => {
                    let one = |(at, conclusion): (usize, Conclusion)| {
                        let signature = conclusion.signature(&case()).map(|signature| signature.to_string());
                        format!("{at} {}", signature.unwrap_or_else(|| conclusion.status(&case()).into()))
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
    }

    #[test]
    fn a_wrong_lane_map_of_a_gpu_runs_again_alone() {
        let gpu = Capabilities { may_be_disturbed: true, ..Capabilities::reference(8) };
        // Lanes that are all of one number.
        let mut observation = DEVICE.observe(&case()).expect("a valid case");
        observation.map.chunks_mut(case().entry_point.map_words()).for_each(|record| record[0] = 0);
        let [right, wrong] =
            [DEVICE.observe(&case()).expect("a valid case"), observation].map(|seen| launch_output(&seen));
        let job = |launches: &[&LaunchOutput]| {
            let launches = launches.iter().map(|&launch| launch.clone()).collect();
            Outcome::Completed(Completed { launches, ..Completed::default() })
        };
        let spoilt = job(&[&right, &wrong, &right]);
        for (capabilities, outcomes, expected) in [
            (&Capabilities::reference(8), vec![spoilt.clone()], vec!["0 pass, 1 lane_map, 2 pass"]),
            (&gpu, vec![spoilt.clone(), job(&[&right])], vec!["again 1", "0 pass, 1 pass, 2 pass"]),
            (&gpu, vec![spoilt.clone(), job(&[&wrong])], vec!["again 1", "0 pass, 1 lane_map, 2 pass"]),
            (&gpu, vec![spoilt.clone(), crash(Stage::Pipeline)], vec!["again 1", "0 pass, 1 crash, 2 pass"]),
        ] {
            let statuses: Vec<String> = result_on(capabilities, 3, &outcomes)
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
        let rows: [(u64, Vec<Outcome>, &[&str]); 14] = [
            (3, vec![completed(3)], &["0 pass, 1 pass, 2 pass"]),
            (3, vec![crash(pipeline)], &["0 crash: killed by SIGSEGV while creating the pipeline"]),
            (1, vec![crash(wait(0))], &["0 crash: killed by SIGSEGV while running the dispatch"]),
            (
                3,
                vec![crash(wait(2)), crash(wait(0))],
                &["again 2", "2 crash: killed by SIGSEGV while running the dispatch"],
            ),
            (
                3,
                vec![crash(wait(2)), completed(1)],
                &["again 2", "2 crash: killed by SIGSEGV while running the dispatch"],
            ),
            (1, vec![time_out(wait(0)), completed(1)], &["again 0", "0 pass"]),
            (3, vec![time_out(wait(1)), completed(1)], &["again 1", "1 pass"]),
            (3, vec![time_out(pipeline), time_out(pipeline)], &["again 0", "0 hang: while creating the pipeline"]),
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
}
