//! A program on its way through a device, with all its inputs in one job.
//!
//! When a job fails in one of its launches, that one is run again alone: the finding that is saved is a case with one input, and has to
//! be what fails. A time-out has to repeat anyway, because on a busy machine a slow case looks like a hang. What other inputs of the
//! program would have given is left out then.
//!
//! | job | alone | the case |
//! |---|---|---|
//! | fails | fails | failed as it did alone |
//! | crashes, or breaks off with an error | does not | failed as it did in company; the stage names the launch |
//! | times out | does not | is what it was alone |

use std::ops::Range;
use std::sync::Arc;

use tangle_program::case::Case;
use tangle_runner::{Device, Outcome};

use super::Prep;
use crate::capabilities::Capabilities;
use crate::prepare::job_with;
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

/// A batch that a worker has in hand.
pub(super) struct Held {
    batch: Batch,
    /// Which of its cases runs again alone, and what came of the job with all of them.
    alone: Option<(usize, Outcome)>,
}

/// What comes of a completion.
pub(super) enum Heard {
    /// The conclusions, with the places of the cases in the batch.
    Over(Vec<(usize, Conclusion)>),
    /// A case is to run again.
    Again,
    /// There is no worker any more.
    NoWorker(String),
}

impl Held {
    pub(super) fn new(batch: Batch) -> Held {
        Held { batch, alone: None }
    }

    pub(super) fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Has a device run what is to run now.
    pub(super) fn submit(&self, device: &Device, id: u64) {
        let cases = self.asked().iter().map(|(_, case)| &**case);
        if let Prep::Ready(prepared) = &*self.batch.prep {
            device.submit(job_with(prepared, cases, id));
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
    pub(super) fn hear(&mut self, capabilities: &Capabilities, outcome: Outcome) -> Heard {
        if self.alone.is_none()
            && let Some(at) = suspect(&outcome, self.batch.cases.len())
        {
            self.alone = Some((at, outcome));
            return Heard::Again;
        }
        let cases = self.asked().iter().map(|(_, case)| &**case);
        let mut conclusions = Conclusion::of_launches(cases, capabilities, outcome);
        if let Finish::NoWorker { reason } = &conclusions[0].finish {
            return Heard::NoWorker(reason.clone());
        }
        let first = self.alone.as_ref().map_or(0, |(at, _)| *at);
        if let Some((_, before)) = self.alone.take()
            && !matches!(before, Outcome::TimedOut { .. })
            && !matches!(conclusions[0].finish, Finish::Failed(_))
        {
            conclusions = vec![Conclusion::without_data(Finish::Failed(before))];
        }
        Heard::Over((first..).zip(conclusions).collect())
    }
}

/// The launch of a failed job that is to run again alone, of so many.
fn suspect(outcome: &Outcome, launches: usize) -> Option<usize> {
    let stage = outcome.failed_in()?;
    let launch = stage.launch().and_then(|launch| usize::try_from(launch).ok());
    match outcome {
        Outcome::TimedOut { .. } => Some(launch.unwrap_or(0)),
        _ => launch.filter(|_| launches > 1),
    }
    .filter(|&launch| launch < launches)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tangle_program::case::Case;
    use tangle_runner::{Completed, LaunchOutput, ReadBack, Stage, WorkerEnd};

    use super::*;
    use crate::prepare::Prepared;
    use crate::target::Reference;

    const DEVICE: Reference = Reference { behaviour: crate::target::Behaviour::Spec, subgroup_size: 8 };

    fn case() -> Case {
        Case::from_json(include_str!("../../corpus/vectors/V03.json")).expect("a case of the corpus")
    }

    fn held(cases: u64) -> Held {
        let prepared = Prepared { case: case(), glsl: String::new(), spirv: Vec::new() };
        let cases = (0..cases).map(|number| (number, Arc::new(case()))).collect::<Vec<_>>();
        Held::new(Batch { numbers: 0..cases.len() as u64, prep: Arc::new(Prep::Ready(prepared)), cases })
    }

    fn crash(stage: Stage) -> Outcome {
        Outcome::Crashed { end: WorkerEnd::Signal(11), stage, last_words: String::new() }
    }

    fn time_out(stage: Stage) -> Outcome {
        Outcome::TimedOut { stage, after: Duration::from_secs(9), last_words: String::new() }
    }

    /// What a correct device gives.
    fn completed(launches: usize) -> Outcome {
        let seen = DEVICE.observe(&case()).expect("a valid case");
        let stride = case().log_stride();
        let logs: Vec<u32> = seen
            .logs
            .iter()
            .flat_map(|log| {
                let mut slice = log.clone();
                slice.resize(stride as usize, 0);
                slice
            })
            .collect();
        let buffers = vec![ReadBack::trimmed(&seen.map, None), ReadBack::trimmed(&logs, Some(stride))];
        Outcome::Completed(Completed { launches: vec![LaunchOutput { buffers }; launches], ..Completed::default() })
    }

    /// What comes of a job, and of the one with a single launch if there is one: places and results.
    fn heard(cases: u64, outcomes: &[Outcome]) -> Vec<String> {
        let capabilities = Capabilities::reference(8);
        let mut held = held(cases);
        let mut told = Vec::new();
        for outcome in outcomes {
            told.push(match held.hear(&capabilities, outcome.clone()) {
                Heard::Again => format!("again {}", held.asked()[0].0),
                Heard::NoWorker(reason) => reason,
                Heard::Over(over) => {
                    let one = |(at, conclusion): (usize, Conclusion)| {
                        let signature = conclusion.signature(&case()).map(|signature| signature.to_string());
                        format!("{at} {}", signature.unwrap_or_else(|| conclusion.status(&case()).into()))
                    };
                    over.into_iter().map(one).collect::<Vec<_>>().join(", ")
                }
            });
        }
        told
    }

    #[test]
    fn a_launch_that_fails_runs_again_alone() {
        let (wait, pipeline) = (|launch| Stage::Wait { launch }, Stage::Pipeline);
        let lost = Outcome::WorkerLost { reason: "gone".into() };
        let rows: [(u64, Vec<Outcome>, &[&str]); 9] = [
            (3, vec![completed(3)], &["0 pass, 1 pass, 2 pass"]),
            (3, vec![crash(pipeline)], &["0 crash: killed by SIGSEGV while creating the pipeline"]),
            (1, vec![crash(wait(0))], &["0 crash: killed by SIGSEGV while waiting for the dispatch"]),
            (
                3,
                vec![crash(wait(2)), crash(wait(0))],
                &["again 2", "2 crash: killed by SIGSEGV while waiting for the dispatch"],
            ),
            (
                3,
                vec![crash(wait(2)), completed(1)],
                &["again 2", "2 crash: killed by SIGSEGV while waiting for the dispatch of launch 2"],
            ),
            (1, vec![time_out(wait(0)), completed(1)], &["again 0", "0 pass"]),
            (3, vec![time_out(wait(1)), completed(1)], &["again 1", "1 pass"]),
            (3, vec![time_out(pipeline), time_out(pipeline)], &["again 0", "0 hang: while creating the pipeline"]),
            (3, vec![crash(wait(1)), lost], &["again 1", "gone"]),
        ];
        for (cases, outcomes, expected) in rows {
            assert_eq!(heard(cases, &outcomes), expected, "{outcomes:?}");
        }
    }
}
