//! Makes a failing case small on the device where it fails.
//!
//! The minimizer proposes, [`reduce`] runs: it prepares candidates, keeps the workers busy with several of them at a time, has the oracle
//! judge what comes back, and asks whether that is *the same failure* ([`Same`]).
//!
//! ```text
//!   tangle-minimizer ── candidates ──► prepare ──► worker 1, worker 2, … ──► judge ──► signature ──► the same failure?
//!          ▲                                                                                             │
//!          └───────────────────────────── fails / passes / other ◄───────────────────────────────────────┘
//! ```

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use tangle_identity::{Change, Detail, Kind, Signature};
use tangle_minimizer::{Check, Minimized, Progress, Small, minimize};
use tangle_program::case::Case;
use tangle_report::saved::Rate;
use tangle_runner::{Completion, Terms, thread_time};

use crate::against::Against;
use crate::clearest::{AtMaximal, at_maximal, is_pass, raised};
use crate::counterfactual::Failing;
use crate::executor::Task;
use crate::prepare::{Prep, Prepared, prepare};
use crate::target::{Conclusion, Finish, Target};

/// When a candidate counts as failing the same way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Same {
    /// The same kind of failure:
    ///
    /// | the case | a candidate must |
    /// |---|---|
    /// | gives wrong values, or lanes take wrong paths | do one of the two. They are one class: a wrong value that decides a branch is a wrong path, and the program that shows the value is the better one for people. |
    /// | breaks a rule of the lane map, and does nothing else wrong | do the same, with the same rule |
    /// | crashes, hangs, loses the device, or makes a Vulkan function fail | do the same at the same stage, with the same words where the driver says any |
    /// | is rejected by the toolchain | be rejected by the same step |
    #[default]
    Failure,
    /// The same signature, by the letter: the operation and its lanes, too.
    Signature,
    /// Anything that is a finding, except that the oracle calls the case not well-defined.
    Anything,
}

/// How a case is reduced.
#[derive(Clone, Debug, Default)]
pub struct ReduceOptions {
    /// When a candidate counts as failing.
    pub same: Same,
    /// How long at most; `None` for no end.
    pub time: Option<Duration>,
    /// How much processor time at most, that of this thread and of the workers together; `None` for no end.
    pub processor_time: Option<Duration>,
    /// How many candidates are run at most; `None` for no end.
    pub candidates: Option<u64>,
    /// [`content_hash`] of the original, if the case is what an earlier reduction reached.
    pub from: Option<String>,
    /// A device that a candidate must not fail on.
    pub against: Option<Against>,
}

/// A case that was made smaller, and how both fail.
#[derive(Debug)]
pub struct Reduction {
    /// What the minimizer gives.
    pub minimized: Minimized,
    /// The reduced case, prepared.
    pub prep: Prep,
    /// The result of a run of it that failed.
    pub conclusion: Conclusion,
    /// What that run failed with.
    pub signature: Signature,
    /// How often the case failed before.
    pub before: Rate,
    /// How often the reduced case fails.
    pub after: Rate,
    /// True if what it breaks rests on less than a sentence, and the device does the same program right at tier maximal.
    pub passes_at_maximal: bool,
    /// What it passes without, if it is finished.
    pub passes_without: BTreeSet<Change>,
    /// What candidates failed with in another way.
    pub asides: Vec<Aside>,
}

/// A candidate that the driver died of, although the case does not make it die: most likely another bug. Only crashes and lost devices, one of each
/// signature; a hang would cost its ten time limits to confirm.
#[derive(Debug)]
pub struct Aside {
    /// The candidate.
    pub prep: Prep,
    /// The result of a second run of it.
    pub conclusion: Conclusion,
    /// What that failed with.
    pub signature: Signature,
}

/// Jobs that a worker has at a time: one runs, the other waits while this side prepares and judges.
const IN_FLIGHT: usize = 2;
/// Runs that show whether a failure comes every time.
const RUNS: u32 = 3;
/// Runs that show how often it comes if not.
const MORE_RUNS: u32 = 7;
/// The most runs of one candidate whose failure is expected only now and then.
const MOST_REPEATS: u32 = 8;
/// The most candidates that are kept for failing in another way.
const MOST_ASIDES: usize = 4;

/// Reduces a case that fails on a device. `targets` are workers of that one device, at least one. `signature` is what the case was
/// found with, if anything. `stop` ends the search; what it found so far counts.
///
/// # Errors
/// If the case does not fail this way here, or a worker cannot be had any more.
pub fn reduce(
    targets: &[Target],
    case: &Case,
    signature: Option<&Signature>,
    options: &ReduceOptions,
    stop: &AtomicBool,
    mut progress: impl FnMut(&Progress<'_>) -> ControlFlow<()>,
) -> anyhow::Result<Reduction> {
    let (started, processor_began) = (Instant::now(), thread_time());
    let mut judge = Judge::new(targets, stop);
    let mut first = judge.one(case)?;
    let airtight = match options.same {
        Same::Failure => judge.at_maximal(case, &first)?,
        Same::Signature | Same::Anything => AtMaximal::Unsaid,
    };
    let mut from = options.from.clone();
    let (case, signature) = match &airtight {
        AtMaximal::Wrong(wrong) => {
            from.get_or_insert_with(|| content_hash(case));
            first = wrong.1.clone();
            (&wrong.0, None)
        }
        AtMaximal::Right | AtMaximal::Unsaid => (case, signature),
    };
    let same = options.same;
    let (criterion, before) = judge.criterion(case, first, signature, same)?;
    judge.criterion = Some(criterion);
    judge.against = options.against.as_ref();
    judge.repeats = repeats(before);
    judge.deadline = options.time.map(|time| started + time);
    judge.processor_time = options.processor_time.map(|time| processor_began + time);
    let options = tangle_minimizer::MinimizeOptions {
        time: options.time.map(|time| time.saturating_sub(started.elapsed())),
        candidates: options.candidates,
        batch: judge.batch(),
        focus: judge.focus,
    };
    // Where a failure is intermittent, the last steps may have been luck.
    let mut steps = vec![case.clone()];
    let mut minimized = minimize(
        case,
        &options,
        |cases| judge.check(cases),
        |report| {
            if report.improved {
                steps.push(report.best.clone());
            }
            if stop.load(Ordering::SeqCst) {
                // The last one is reported, too: there may be something to save.
                let _ = progress(report);
                return ControlFlow::Break(());
            }
            progress(report)
        },
    );
    if let Some(reason) = judge.trouble.take() {
        bail!("{reason}");
    }
    let (last, mut conclusion, mut after) = judge.last_that_fails(&steps)?;
    if last + 1 < steps.len() {
        // The rest was luck, and so is what is said of it.
        minimized = Minimized { case: steps.swap_remove(last), neighbour: None, finished: false, ..minimized };
    }
    let mut passes_at_maximal = false;
    if same == Same::Failure {
        // A smaller program may be beyond doubt where the one that was found is not.
        match judge.at_maximal(&minimized.case, &conclusion)? {
            AtMaximal::Wrong(found) => {
                let (at_maximal, _) = *found;
                if let (Some(wrong), rate) = judge.confirm(&at_maximal)? {
                    (conclusion, after) = (wrong, rate);
                    minimized.case = at_maximal;
                    minimized.neighbour = match minimized.neighbour {
                        Some(neighbour) => judge.right_at_maximal(&neighbour)?,
                        None => None,
                    };
                }
            }
            AtMaximal::Right => passes_at_maximal = true,
            AtMaximal::Unsaid => {}
        }
    }
    if conclusion.overflows()
        && let Some((small, case, wrong, rate)) = judge.without_overflow(&minimized.case)?
    {
        (conclusion, after) = (wrong, rate);
        minimized.case = case;
        minimized.neighbour = match minimized.neighbour.and_then(|neighbour| small.in_case(&neighbour)) {
            Some(neighbour) if judge.is_right(&neighbour)? => Some(neighbour),
            _ => None,
        };
    }
    minimized.case.origin.minimized_from = Some(from.unwrap_or_else(|| content_hash(case)));
    let prep = Prep::of(minimized.case.clone());
    let Some(signature) = conclusion.signature(prep.case()) else { bail!("the minimised case does not fail any more") };
    let failing = minimized.finished.then(|| Failing::confirm(&targets[0], prep.case(), &signature)).flatten();
    let passes_without = failing.map(|failing| failing.passes_without()).unwrap_or_default();
    let asides = judge.asides();
    Ok(Reduction { minimized, prep, conclusion, signature, before, after, passes_at_maximal, passes_without, asides })
}

/// Names the content of a case, whatever its file is called.
pub fn content_hash(case: &Case) -> String {
    blake3::hash(case.to_json().as_bytes()).to_hex()[..16].to_owned()
}

/// So many runs that a failure of this rate shows in nine of ten cases.
fn repeats(rate: Rate) -> u32 {
    if rate.is_always() {
        return 1;
    }
    let passes = 1.0 - f64::from(rate.failed) / f64::from(rate.runs);
    ((0.1f64.ln() / passes.ln()).ceil() as u32).clamp(1, MOST_REPEATS)
}

/// What a candidate must do.
#[derive(Clone, Debug)]
struct Criterion {
    same: Same,
    signature: Signature,
}

impl Criterion {
    fn is_met(&self, case: &Case, conclusion: &Conclusion) -> bool {
        let Some(signature) = conclusion.signature(case) else { return false };
        match self.same {
            Same::Anything => signature.kind != Kind::Invalid,
            Same::Signature => signature == self.signature,
            Same::Failure => signature.fails_like(&self.signature),
        }
    }
}

/// Runs candidates on the workers of a device.
struct Judge<'a> {
    targets: &'a [Target],
    stop: &'a AtomicBool,
    deadline: Option<Instant>,
    /// When it is over, by the processor time of this thread and of the workers together.
    processor_time: Option<Duration>,
    /// What the workers have spent.
    by_workers: Duration,
    /// Until it is known, nothing is the same failure.
    criterion: Option<Criterion>,
    /// A device that a candidate must not fail on.
    against: Option<&'a Against>,
    /// How often a candidate runs before it counts as passing.
    repeats: u32,
    /// The site of the first wrong step of the case.
    focus: Option<u32>,
    /// Candidates that the driver died of, although the case does not make it die.
    deaths: Vec<(Signature, Case)>,
    next_job: u64,
    completions: (Sender<Completion>, Receiver<Completion>),
    /// Why it cannot go on.
    trouble: Option<String>,
}

impl<'a> Judge<'a> {
    fn new(targets: &'a [Target], stop: &'a AtomicBool) -> Judge<'a> {
        Judge {
            targets,
            stop,
            deadline: None,
            processor_time: None,
            by_workers: Duration::ZERO,
            criterion: None,
            against: None,
            repeats: 1,
            focus: None,
            deaths: Vec::new(),
            next_job: 0,
            completions: unbounded(),
            trouble: None,
        }
    }

    /// True if every failure costs a worker.
    fn is_costly(&self) -> bool {
        self.criterion.as_ref().is_some_and(|criterion| criterion.signature.kind.costs_a_worker())
    }

    /// A failure that costs a worker is not tried with several at a time; one that may leave a GPU on which others hang, with none beside it.
    fn batch(&self) -> usize {
        let is_hang = self.criterion.as_ref().is_some_and(|criterion| criterion.signature.kind == Kind::Hang);
        if is_hang && self.targets[0].capabilities.is_gpu {
            return 1;
        }
        self.targets.len() * if self.is_costly() { 1 } else { IN_FLIGHT }
    }

    /// Runs one case and waits for it.
    fn one(&mut self, case: &Case) -> anyhow::Result<Conclusion> {
        let Some(target) = self.targets.first() else { bail!("no device") };
        let conclusion = match prepare(case.clone()) {
            Ok(prepared) => target.run(&prepared),
            Err(fault) => Conclusion::from(&fault),
        };
        self.by_workers += conclusion.worker_time();
        match &conclusion.finish {
            Finish::NoWorker { reason } => bail!("device {}: {reason}", target.name),
            Finish::Unsupported { missing } => bail!("device {} lacks {}", target.name, missing.join(", ")),
            _ => Ok(conclusion),
        }
    }

    /// Judges a failure at tier maximal, too: what is wrong there beyond doubt is what there is to report.
    fn at_maximal(&mut self, case: &Case, first: &Conclusion) -> anyhow::Result<AtMaximal> {
        let Some(target) = self.targets.first() else { return Ok(AtMaximal::Unsaid) };
        at_maximal(target, case, first.signature(case).as_ref(), self.repeats, |case| self.one(case))
    }

    /// A case that passes at its own tier, at tier maximal, if it passes there, too.
    fn right_at_maximal(&mut self, case: &Case) -> anyhow::Result<Option<Case>> {
        let Some(case) = self.targets.first().and_then(|target| raised(target, case)) else { return Ok(None) };
        Ok(self.is_right(&case)?.then_some(case))
    }

    /// True if a case passes every time.
    fn is_right(&mut self, case: &Case) -> anyhow::Result<bool> {
        for _ in 0..self.repeats {
            if !is_pass(&self.one(case)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first numbers with which the case fails the same way and its sums and products over lanes stay within their types: the case with them, the
    /// result of a run that failed, and how often it does.
    fn without_overflow(&mut self, case: &Case) -> anyhow::Result<Option<(Small, Case, Conclusion, Rate)>> {
        for small in Small::ALL {
            let Some(case) = small.in_case(case) else { continue };
            if let (Some(conclusion), rate) = self.confirm(&case)?
                && !conclusion.overflows()
            {
                return Ok(Some((small, case, conclusion, rate)));
            }
        }
        Ok(None)
    }

    /// Finds out what the failure is and how often it comes, given the first run.
    fn criterion(
        &mut self,
        case: &Case,
        first: Conclusion,
        found: Option<&Signature>,
        same: Same,
    ) -> anyhow::Result<(Criterion, Rate)> {
        let mut rate = Rate::default();
        let mut criterion = found.map(|signature| Criterion { same, signature: signature.clone() });
        let mut next = Some(first);
        let mut seen: Option<Signature> = None;
        loop {
            let conclusion = match next.take() {
                Some(conclusion) => conclusion,
                None => self.one(case)?,
            };
            rate.runs += 1;
            if let Some(signature) = conclusion.signature(case).filter(|signature| signature.kind != Kind::Invalid) {
                let criterion = criterion.get_or_insert_with(|| Criterion { same, signature: signature.clone() });
                if matches!(criterion.signature.detail, Detail::Text(_)) && signature.fails_like(&criterion.signature) {
                    // That of a finding of an older format says less.
                    criterion.signature = signature.clone();
                }
                if criterion.is_met(case, &conclusion) {
                    rate.failed += 1;
                    self.focus = self.focus.or(first_wrong_site(&conclusion));
                }
                seen.get_or_insert(signature);
            }
            let is_costly = seen.as_ref().is_some_and(|seen| seen.kind == Kind::Hang);
            let enough = is_costly && rate.failed > 0
                || rate.runs >= RUNS && rate.is_always()
                || rate.runs >= RUNS + MORE_RUNS
                || self.stop.load(Ordering::SeqCst) && rate.failed > 0;
            if enough {
                break;
            }
        }
        let name = &self.targets[0].name;
        match (criterion, seen) {
            (Some(criterion), _) if rate.failed > 0 => Ok((criterion, rate)),
            (Some(criterion), Some(seen)) => bail!(
                "on {name} the case fails in another way now ({seen}; it was {}): --any-failure takes any",
                criterion.signature
            ),
            _ => bail!("the case does not fail on {name} ({} runs)", rate.runs),
        }
    }

    /// Goes back from the last step to one that fails when it is run again: its number, the result of a run that failed, and how often it
    /// does. Usually the last one does.
    fn last_that_fails(&mut self, steps: &[Case]) -> anyhow::Result<(usize, Conclusion, Rate)> {
        let mut back = 0;
        loop {
            let at = (steps.len() - 1).saturating_sub(back);
            if let (Some(conclusion), rate) = self.confirm(&steps[at])? {
                return Ok((at, conclusion, rate));
            }
            if at == 0 {
                bail!("the case failed before and then not any more: the failure is intermittent");
            }
            back = 2 * back + 1;
        }
    }

    /// Runs a case a few times: the result of a run that failed, and how often it does.
    fn confirm(&mut self, case: &Case) -> anyhow::Result<(Option<Conclusion>, Rate)> {
        let runs = if self.is_costly() { RUNS - 1 } else { RUNS + 2 } * self.repeats.min(2);
        let mut rate = Rate::default();
        let mut failing = None;
        for _ in 0..runs {
            let conclusion = self.one(case)?;
            rate.runs += 1;
            if self.is_met(case, &conclusion) {
                rate.failed += 1;
                failing.get_or_insert(conclusion);
            }
        }
        Ok((failing, rate))
    }

    fn is_met(&self, case: &Case, conclusion: &Conclusion) -> bool {
        self.criterion.as_ref().is_some_and(|criterion| criterion.is_met(case, conclusion))
    }

    fn answer(&mut self, case: &Case, conclusion: &Conclusion) -> Check {
        if let Finish::NoWorker { reason } = &conclusion.finish {
            self.trouble = Some(format!("device {}: {reason}", self.targets[0].name));
        }
        if self.is_met(case, conclusion) {
            let signature = conclusion.signature(case);
            let too =
                |(against, signature): (&Against, Signature)| against.fails_too(&Prep::of(case.clone()), &signature);
            return if self.against.zip(signature).is_some_and(too) { Check::Other } else { Check::Fails };
        }
        if is_pass(conclusion) {
            return Check::Passes;
        }
        self.deaths.extend(self.death(case, conclusion));
        Check::Other
    }

    /// A candidate that the driver died of, if that is a failure of another kind, and the first that looks so.
    fn death(&self, case: &Case, conclusion: &Conclusion) -> Option<(Signature, Case)> {
        if self.is_costly() || self.deaths.len() >= MOST_ASIDES {
            return None;
        }
        let is_new = |signature: &Signature| !self.deaths.iter().any(|(other, _)| other.fails_like(signature));
        let signature = conclusion.signature(case).filter(|signature| is_aside(signature.kind) && is_new(signature))?;
        Some((signature, case.clone()))
    }

    /// Those of these candidates that fail again, and not on the device that none must fail on; as many as there is time for.
    fn asides(&mut self) -> Vec<Aside> {
        let mut asides = Vec::new();
        for (first, case) in std::mem::take(&mut self.deaths) {
            if self.is_over() {
                break;
            }
            // What was reduced does not depend on it.
            let Ok(conclusion) = self.one(&case) else { break };
            let Some(signature) = conclusion.signature(&case).filter(|signature| signature.fails_like(&first)) else {
                continue;
            };
            let prep = Prep::of(case);
            if !self.against.is_some_and(|against| against.fails_too(&prep, &signature)) {
                asides.push(Aside { prep, conclusion, signature });
            }
        }
        asides
    }

    /// Answers for candidates in order, as far as the first that fails.
    fn check(&mut self, cases: &[Case]) -> Vec<Check> {
        let mut open = Open::new(cases.len(), self.repeats);
        for (i, case) in cases.iter().enumerate() {
            if open.is_decided() || self.is_over() {
                break;
            }
            if self.targets.iter().any(|target| !target.missing(case).is_empty()) {
                open.decide(i, Check::Other);
                continue;
            }
            match prepare(case.clone()) {
                Err(fault) => {
                    let answer = self.answer(case, &Conclusion::from(&fault));
                    open.decide(i, answer);
                }
                Ok(prepared) => self.submit(i, &prepared, &mut open),
            }
            while let Ok(completion) = self.completions.1.try_recv() {
                self.take(completion, cases, &mut open);
            }
        }
        while !open.is_decided() && open.waits() && !self.is_over() {
            match self.completions.1.recv_timeout(Duration::from_millis(100)) {
                Ok(completion) => self.take(completion, cases, &mut open),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if self.trouble.is_some() { Vec::new() } else { open.answers() }
    }

    fn submit(&mut self, i: usize, prepared: &Prepared, open: &mut Open) {
        let gpu = &self.targets[0];
        if let Err(reason) = gpu.examine(gpu.executor.workers()[0], &prepared.case) {
            self.trouble = Some(format!("device {}: {reason}", gpu.name));
            return;
        }
        for _ in 0..self.repeats {
            let id = self.next_job;
            self.next_job += 1;
            let target = &self.targets[id as usize % self.targets.len()];
            open.jobs.push((id, i));
            let task = Task { id, prepared, cases: &[&prepared.case], terms: Terms::Usual };
            target.executor.workers()[0].submit(&task, &self.completions.0);
        }
    }

    fn take(&mut self, completion: Completion, cases: &[Case], open: &mut Open) {
        // Those that nobody waits for any more are of an earlier batch.
        let Some(at) = open.jobs.iter().position(|(id, _)| *id == completion.job) else { return };
        let (_, i) = open.jobs.remove(at);
        self.targets[0].heed(&completion.outcome);
        let conclusion = Conclusion::of(&cases[i], &self.targets[0].capabilities, completion.outcome);
        self.by_workers += conclusion.worker_time();
        let answer = self.answer(&cases[i], &conclusion);
        open.ran(i, answer);
    }

    fn is_over(&self) -> bool {
        self.trouble.is_some()
            || self.stop.load(Ordering::SeqCst)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.processor_time.is_some_and(|end| thread_time() + self.by_workers >= end)
    }
}

/// True of failures that are kept of candidates.
const fn is_aside(kind: Kind) -> bool {
    matches!(kind, Kind::Crash | Kind::DeviceLost)
}

fn first_wrong_site(conclusion: &Conclusion) -> Option<u32> {
    conclusion.mismatch().map(|mismatch| mismatch.site).filter(|site| *site > 0)
}

/// The candidates of a batch, and what is known of them.
struct Open {
    /// Jobs that run: id, and number of the candidate.
    jobs: Vec<(u64, usize)>,
    /// For each candidate: the answer so far, and how many runs are missing.
    found: Vec<(Option<Check>, u32)>,
}

impl Open {
    fn new(candidates: usize, repeats: u32) -> Open {
        Open { jobs: Vec::new(), found: vec![(None, repeats); candidates] }
    }

    fn decide(&mut self, i: usize, answer: Check) {
        self.found[i] = (Some(answer), 0);
    }

    /// One failure is enough; to pass, all runs must.
    fn ran(&mut self, i: usize, answer: Check) {
        let (so_far, missing) = &mut self.found[i];
        *missing = if answer == Check::Fails { 0 } else { missing.saturating_sub(1) };
        *so_far = Some(match (answer, *so_far) {
            (Check::Fails, _) | (_, Some(Check::Fails)) => Check::Fails,
            (Check::Other, _) | (_, Some(Check::Other)) => Check::Other,
            _ => Check::Passes,
        });
    }

    fn waits(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// True if a candidate fails and all before it do not, or if nothing is missing.
    fn is_decided(&self) -> bool {
        let known = self.found.iter().take_while(|(_, missing)| *missing == 0);
        let answers: Vec<Option<Check>> = known.map(|(answer, _)| *answer).collect();
        answers.contains(&Some(Check::Fails)) || answers.len() == self.found.len()
    }

    /// As far as they are known without a gap.
    fn answers(self) -> Vec<Check> {
        self.found.into_iter().map_while(|(answer, missing)| answer.filter(|_| missing == 0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use tangle_files::text::Lines;
    use tangle_program::case::Tier;
    use tangle_program::ops::BinaryOp;
    use tangle_program::subgroup::{Fold, Severity, SubgroupOp};
    use tangle_program::tree::{Builtin, Expr, Stmt};
    use tangle_program::types::Scalar;
    use tangle_runner::{Outcome, WorkerEnd};

    use super::*;
    use crate::capabilities::Capabilities;
    use crate::executor::reference::Reference;
    use crate::executor::{Description, Executor, Runs, Worker};
    use crate::minimized::MinimizedPath;

    /// Lanes 0 and 1 log at a place that only they come to: at tier plain it is their one path that says that they are together.
    fn in_one_arm(logged: Expr) -> Case {
        let text = include_str!("../../../corpus/vectors/V01.json");
        let mut case = Case { tier: Tier::Plain, ..Case::from_json(text).expect("a case of the corpus") };
        case.program.functions.last_mut().expect("main").body = vec![Stmt::If {
            cond: Expr::binary(BinaryOp::Lt, Expr::Builtin(Builtin::Lane), Expr::Uint(2)),
            then: vec![Stmt::Log { site: 1, values: vec![logged] }],
            otherwise: Vec::new(),
            control: Default::default(),
        }];
        case
    }

    fn reduced(device: &[Target], case: &Case, same: Same, candidates: u64) -> (Signature, Reduction) {
        let found = device[0].run(&prepare(case.clone()).expect("it compiles")).signature(case).expect("it fails");
        assert_eq!(found.severity(), Severity::Strong, "{found}");
        let options = ReduceOptions { same, candidates: Some(candidates), ..ReduceOptions::default() };
        let never = AtomicBool::new(false);
        let reduction = reduce(device, case, Some(&found), &options, &never, |_| ControlFlow::Continue(()));
        (found, reduction.expect("it fails"))
    }

    #[test]
    fn what_is_doubtful_is_reported_where_it_is_hard() {
        let elected = Expr::Cast(Scalar::Uint, Box::new(Expr::subgroup(SubgroupOp::Elect, [])));
        let case = in_one_arm(elected);
        let device = [Target::built_in("reference:elect_highest").expect("there is such a fault")];
        let (_, reduction) = reduced(&device, &case, Same::Failure, 50);
        assert_eq!(reduction.signature.severity(), Severity::Hard, "{}", reduction.signature);
        assert!(!reduction.passes_at_maximal);
        let (found, by_the_letter) = reduced(&device, &case, Same::Signature, 50);
        assert_eq!(by_the_letter.signature, found, "by the letter it stays what it is");
    }

    #[test]
    fn a_sum_that_overflows_is_made_of_small_numbers() {
        let text = include_str!("../../../corpus/vectors/V01.json");
        let mut case = Case { tier: Tier::Plain, ..Case::from_json(text).expect("a case of the corpus") };
        let lane = || Expr::Builtin(Builtin::Lane);
        let sum = Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [Expr::binary(BinaryOp::Sub, lane(), Expr::Uint(1))]);
        case.program.functions.last_mut().expect("main").body = vec![Stmt::Log { site: 1, values: vec![sum] }];
        let device = [Target::built_in("reference:reduce_four_lanes").expect("there is such a fault")];
        let found = device[0].run(&prepare(case.clone()).expect("it compiles"));
        assert!(found.overflows(), "{found:?}");
        let options = ReduceOptions { candidates: Some(0), ..ReduceOptions::default() };
        let never = AtomicBool::new(false);
        let reduction = reduce(&device, &case, None, &options, &never, |_| ControlFlow::Continue(()));
        let reduction = reduction.expect("it fails");
        let body = |case: &Case| case.program.functions.last().expect("main").body.clone();
        assert_eq!(body(reduction.prep.case()), body(&Small::ThreeBits.in_case(&case).expect("a sum")));
        assert!(!reduction.conclusion.overflows());
        assert!(reduction.after.is_always());
    }

    /// A device that does with a task what a test says.
    struct Scripted<S>(S);

    impl<S: Fn(&Task<'_>, &Sender<Completion>) + Send + Sync> Worker for Scripted<S> {
        fn submit(&self, task: &Task<'_>, completions: &Sender<Completion>) {
            (self.0)(task, completions);
        }
    }

    impl<S: Fn(&Task<'_>, &Sender<Completion>) + Send + Sync> Executor for Scripted<S> {
        fn description(&self) -> Description {
            let (name, info) = ("scripted".to_owned(), serde_json::Value::Null);
            Description { name, capabilities: Capabilities::reference(reference("reference").subgroup_size), info }
        }

        fn workers(&self) -> Vec<&dyn Worker> {
            vec![self]
        }

        fn open_workers(&mut self, _jobs: NonZero<usize>, _warn: &mut dyn FnMut(String)) {}

        fn runs(&self) -> Runs {
            Runs::Tree
        }
    }

    fn scripted(submit: impl Fn(&Task<'_>, &Sender<Completion>) + Send + Sync + 'static) -> [Target; 1] {
        [Target::new(Box::new(Scripted(submit)))]
    }

    fn reference(name: &str) -> Reference {
        name.parse().expect("there is such a device")
    }

    #[test]
    fn what_passes_at_maximal_keeps_its_severity_and_says_so() {
        let elected = Expr::Cast(Scalar::Uint, Box::new(Expr::subgroup(SubgroupOp::Elect, [])));
        let (wrong, right) = (reference("reference:elect_highest"), reference("reference"));
        let device = scripted(move |task, completions| {
            let is_maximal = task.prepared.case.tier == Tier::Maximal;
            if is_maximal { &right } else { &wrong }.submit(task, completions);
        });
        // Without the `if` it is hard at tier plain, too.
        let (found, reduction) = reduced(&device, &in_one_arm(elected), Same::Failure, 0);
        assert_eq!(reduction.signature.severity(), found.severity());
        assert_eq!((reduction.prep.case().tier, reduction.passes_at_maximal), (Tier::Plain, true));
    }

    #[test]
    fn a_candidate_that_the_driver_dies_of_is_kept() {
        let elected = Expr::Cast(Scalar::Uint, Box::new(Expr::subgroup(SubgroupOp::Elect, [])));
        let wrong = reference("reference:elect_highest");
        let device = scripted(move |task, completions| {
            let body = &task.prepared.case.program.functions.last().expect("main").body;
            if body.iter().any(|stmt| matches!(stmt, Stmt::If { .. })) {
                return wrong.submit(task, completions);
            }
            let stage = tangle_runner::Stage::Pipeline;
            let outcome = Outcome::Crashed { end: WorkerEnd::Signal(11), stage, stderr: Lines::default() };
            completions.send(Completion { job: task.id, outcome }).expect("somebody waits");
        });
        let (_, reduction) = reduced(&device, &in_one_arm(elected), Same::Failure, 200);
        assert_eq!(reduction.signature.kind, Kind::Value);
        let [aside] = &reduction.asides[..] else { panic!("{:?}", reduction.asides) };
        assert_eq!(aside.signature.kind, Kind::Crash);
        let place = tempfile::tempdir().expect("a temporary folder");
        let minimized = MinimizedPath::new(&place.path().join("minimized"));
        let folders = minimized.save_asides(&device[0], &reduction.asides).expect("the folder can be written");
        let saved = Case::from_json(&std::fs::read_to_string(folders[0].join("case.json")).expect("it is saved"));
        assert_eq!(saved.expect("a case"), *aside.prep.case());
        assert!(folders[0].starts_with(place.path().join("other-failures")), "{folders:?}");
    }
}
