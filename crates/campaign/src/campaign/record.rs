//! The result of a case goes to disk and into the statistics, in this order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use tangle_analysis::context::{Placed, operations};
use tangle_generator::Stats;
use tangle_identity::Signature;
use tangle_oracle::judge::Counts;
use tangle_program::case::{Case, Stage};
use tangle_report::finding::{CaseNumber, Finding};
use tangle_report::statistics::Statistics;
use tangle_runner::Outcome;

use super::in_flight::Batch;
use super::recovered::Recovered;
use super::running::Campaign;
use crate::background::Request;
use crate::clearest::{AtMaximal, at_maximal};
use crate::executor::Worker;
use crate::finding::finding;
use crate::prepare::{Prep, prepare};
use crate::reduce::Aside;
use crate::target::{Conclusion, Finish, Target};

/// What is entered of a case.
pub(super) enum Entered {
    /// Nothing: it did not run, or with others of its program that failed.
    LeftOut,
    /// A time-out that is to be confirmed.
    TimedOut(Outcome),
    /// It ran, or the device cannot run it.
    Completed(Box<Completed>),
}

/// A case that is through.
pub(super) struct Completed {
    pub(super) conclusion: Conclusion,
    /// `None` if the device cannot run it.
    pub(super) ran: Option<Ran>,
}

/// What is entered of a case that ran. Many may wait for their turn ([`queue`]): the case and what was read back are kept only where they
/// will be saved.
pub(super) struct Ran {
    stage: Stage,
    stats: Stats,
    operations: Vec<Placed>,
    signature: Option<Signature>,
    /// What it failed with once, and its signature.
    flake: Option<(Conclusion, Signature)>,
    /// True if the device to compare with fails on it, too.
    is_old: bool,
    /// The case, if it is a finding of which there are not enough yet, or a flake.
    witness: Option<Prep>,
    /// What was saved of it by a run that ended before it was counted.
    recovered: Option<Recovered>,
}

/// Enters a conclusion into the statistics.
fn enter(
    statistics: &mut Statistics,
    target: &Target,
    index: u64,
    conclusion: &Conclusion,
    signature: Option<&Signature>,
) {
    let counts = match &conclusion.finish {
        Finish::Judged(judgement) => judgement.counts,
        _ => Counts::default(),
    };
    if let Finish::Unsupported { missing } = &conclusion.finish {
        statistics.enter_lacking(&target.name, missing);
    }
    statistics.enter(&target.name, index, conclusion.finish.status(signature), counts);
}

/// A case whose mismatch rests on less than a sentence, at tier maximal, if it is wrong there beyond doubt: that is what is found then.
fn clearer(
    target: &Target,
    worker: &dyn Worker,
    case: &Case,
    signature: Option<&Signature>,
) -> Option<(Case, Conclusion)> {
    let run = |case: &Case| {
        Ok(match prepare(case.clone()) {
            Ok(prepared) => target.run_on(worker, &prepared),
            Err(fault) => Conclusion::from(&fault),
        })
    };
    match at_maximal(target, case, signature, 1, run) {
        Ok(AtMaximal::Wrong(clearer)) => Some(*clearer),
        _ => None,
    }
}

impl Campaign {
    /// What is kept of a program that ran until its turn comes: conclusions by the places of the cases in the batch. A worker judges again at tier
    /// maximal what is in doubt, where something ran.
    pub(super) fn completed(
        &self,
        target: &Target,
        worker: Option<&dyn Worker>,
        batch: &Batch,
        conclusions: Vec<(usize, Conclusion)>,
    ) -> Vec<(u64, Entered)> {
        let mut completed: BTreeMap<u64, Entered> =
            batch.numbers.clone().map(|number| (number, Entered::LeftOut)).collect();
        for (at, mut conclusion) in conclusions {
            let (number, case) = &batch.cases[at];
            conclusion = conclusion.of_well_defined(case);
            let found = conclusion.signature(case);
            let clearer = worker.and_then(|worker| clearer(target, worker, case, found.as_ref()));
            let raised = clearer.map(|(case, clearer)| {
                conclusion = clearer;
                Prep::of(case)
            });
            let case = raised.as_ref().map_or(&**case, Prep::case);
            let signature = conclusion.signature(case);
            let prep = || raised.as_ref().unwrap_or(&batch.prep).with(case.clone());
            let is_old = signature.as_ref().zip(self.against.as_ref()).is_some_and(|(signature, against)| {
                against.fails_too_on(&target.name, *number / self.plan.inputs(), &prep(), signature)
            });
            let is_wanted = |signature: &Signature| !is_old && self.is_wanted(target, *number, signature);
            let flake = conclusion.flake.take().and_then(|outcome| {
                let signature = target.failure(&outcome)?;
                Some((Conclusion::without_data(Finish::Failed(outcome)), signature))
            });
            let is_witness = signature.as_ref().is_some_and(is_wanted) || flake.is_some();
            let witness = is_witness.then(prep);
            if witness.is_none() {
                conclusion.observation = None;
            }
            let recovered = self.recovered.take(&target.name, case);
            let (stage, stats, operations) = (case.entry_point.stage, Stats::of(case), operations(&case.program));
            let ran = Ran { stage, stats, operations, signature, flake, is_old, witness, recovered };
            completed.insert(*number, Entered::Completed(Box::new(Completed { conclusion, ran: Some(ran) })));
        }
        completed.into_iter().collect()
    }

    /// True if there are too few witnesses of a finding, and none of them is the same program with other data, which would say little.
    fn is_wanted(&self, target: &Target, index: u64, signature: &Signature) -> bool {
        let program = |index: u64| index / self.plan.inputs();
        self.update(|statistics| {
            statistics.found(&target.name, signature).is_none_or(|entry| {
                entry.folders.len() < self.options.witnesses && program(entry.last_case) != program(index)
            })
        })
    }

    /// Saves the finding, if it is one, and then enters the conclusion: what is counted is on disk.
    pub(super) fn conclude(&self, target: &Target, index: u64, completed: &Completed) -> anyhow::Result<()> {
        let Completed { conclusion, ran } = completed;
        let Some(Ran { stage, stats, operations, signature, flake, is_old, witness, recovered }) = ran else {
            self.update(|statistics| enter(statistics, target, index, conclusion, None));
            return Ok(());
        };
        self.run_here.fetch_add(1, Ordering::Relaxed);
        let known = signature.as_ref().and_then(|signature| self.options.known.by_signature(&target.id(), signature));
        let old = self.against.as_ref().filter(|_| *is_old).map(|against| format!("fails on {}, too", against.name()));
        let known = known.map(|bug| bug.name.clone()).or(old);
        if let (Some((failed, signature)), Some(prep)) = (flake, witness) {
            self.keep_flake(target, index, prep, failed, signature)?;
        }
        let folder = match (signature, witness) {
            (Some(signature), Some(prep)) if known.is_none() => {
                self.save_witness(target, index, prep, conclusion, signature)?
            }
            _ => None,
        };
        if folder.is_some() {
            self.has_finding.store(true, Ordering::SeqCst);
        }
        // An intermittent failure: saved before, and not seen this time.
        let recovered = recovered.as_ref().filter(|_| signature.is_none());
        let used = match &conclusion.finish {
            Finish::Judged(judgement) => &judgement.op_use[..],
            _ => &[],
        };
        self.coverage().entry(target.name.clone()).or_default().add(*stage, operations, used);
        let nth = self.update(|statistics| {
            enter(statistics, target, index, conclusion, signature.as_ref());
            statistics.enter_operations(operations, used);
            statistics.generated.merge(stats);
            if let Some(bug) = &known {
                statistics.enter_known(&target.name, bug);
                return None;
            }
            let found = signature.as_ref().or(recovered.map(|recovered| &recovered.signature))?;
            let entry = statistics.finding(&target.name, found, index);
            if entry.cases == 0 {
                entry.first_case = index;
            }
            entry.cases += 1;
            entry.last_case = index;
            let folder = folder.as_ref().or(recovered.map(|recovered| &recovered.folder))?;
            let relative = self.relative(folder);
            if !entry.folders.contains(&relative) {
                entry.folders.push(relative);
            }
            Some(entry.folders.len() - 1)
        });
        if matches!(conclusion.finish, Finish::Fatal { .. }) {
            // Nobody runs it again.
            return Ok(());
        }
        if let (Some(signature), Some(prep), Some(folder), Some(nth)) = (signature, witness, folder, nth) {
            self.ask_for_minimized(target, prep, signature, folder, nth);
        }
        Ok(())
    }

    /// Puts a saved finding into the queue of those to be minimised: the `nth` of its signature.
    fn ask_for_minimized(&self, target: &Target, prep: &Prep, signature: &Signature, folder: PathBuf, nth: usize) {
        if let Some(background) = &self.background {
            let (device, case, signature) = (target.name.clone(), prep.case().clone(), signature.clone());
            background.ask(Request { device, case, signature, folder }, nth);
        }
    }

    /// Saves a finding unless there are enough of its kind.
    fn save_witness(
        &self,
        target: &Target,
        index: u64,
        prep: &Prep,
        conclusion: &Conclusion,
        signature: &Signature,
    ) -> anyhow::Result<Option<PathBuf>> {
        if !self.is_wanted(target, index, signature) {
            return Ok(None);
        }
        let number = CaseNumber { seed: self.plan.seed(), number: index };
        let finding = Finding { number: Some(number), ..finding(target, prep, conclusion, signature.clone()) };
        let folder = self.save(target, &finding, &self.folder.findings())?;
        self.ask_for_dump(&target.name, &folder);
        Ok(Some(folder))
    }

    /// Saves what a candidate of a finding failed with in another way, if it is new, as a finding, and has it minimised. It counts for no case.
    pub(super) fn enter_aside(&self, request: &Request, aside: &Aside) {
        let Some(target) = self.target(&request.device) else { return };
        let Aside { prep, conclusion, signature } = aside;
        if self.options.known.by_signature(&target.id(), signature).is_some() {
            return;
        }
        let number = self.update(|statistics| {
            let number = statistics.found(&target.name, &request.signature)?.first_case;
            let is_new = statistics.found(&target.name, signature).is_none();
            // From here on it is nobody else's.
            is_new.then(|| statistics.finding(&target.name, signature, number).first_case)
        });
        let Some(number) = number else { return };
        // It is none of the sequence, and has no number.
        let finding = finding(target, prep, conclusion, signature.clone());
        let folder = match self.save(target, &finding, &self.folder.findings()) {
            Ok(folder) => folder,
            Err(error) => return self.note_failure(Err(error)),
        };
        self.ask_for_dump(&target.name, &folder);
        self.has_finding.store(true, Ordering::SeqCst);
        self.update(|statistics| {
            statistics.finding(&target.name, signature, number).folders.push(self.relative(&folder));
        });
        // No case that runs again would bring it back.
        self.note_failure(self.save_state());
        self.ask_for_minimized(target, prep, signature, folder, 0);
    }

    /// Saves a failure that occurred once unless there are enough of its kind, and counts it apart: it is no finding.
    fn keep_flake(
        &self,
        target: &Target,
        index: u64,
        prep: &Prep,
        conclusion: &Conclusion,
        signature: &Signature,
    ) -> anyhow::Result<()> {
        let saved = self.update(|statistics| statistics.flake(&target.name, signature, index).folders.len());
        let folder = if saved < self.options.witnesses {
            let number = Some(CaseNumber { seed: self.plan.seed(), number: index });
            let finding = finding(target, prep, conclusion, signature.clone());
            let report =
                format!("{}\nIt did not occur again when the case ran with nothing beside it.\n", finding.report);
            let finding = Finding { number, report, ..finding };
            Some(self.save(target, &finding, &self.folder.flakes())?)
        } else {
            None
        };
        self.update(|statistics| {
            let entry = statistics.flake(&target.name, signature, index);
            entry.cases += 1;
            entry.last_case = index;
            entry.folders.extend(folder.map(|folder| self.relative(&folder)));
        });
        Ok(())
    }

    /// Saves a finding below a folder of the campaign's.
    fn save(&self, target: &Target, finding: &Finding<'_>, below: &Path) -> anyhow::Result<PathBuf> {
        let started = Instant::now();
        self.folder.check()?;
        self.disk.check(self.folder.path())?;
        let folder = finding.save(below)?;
        self.disk.add(&folder);
        self.update_device(target, |entry| entry.times.save += started.elapsed().as_secs_f64());
        Ok(folder)
    }

    /// A finding's folder as the statistics have it: below that of the campaign.
    pub(super) fn relative(&self, folder: &Path) -> String {
        folder.strip_prefix(self.folder.path()).unwrap_or(folder).display().to_string()
    }
}
