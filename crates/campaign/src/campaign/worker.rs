//! One worker's part of its device's way through the sequence: it has a few programs at a time, and each result is entered in order.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::Context as _;
use crossbeam_channel::{Receiver, Sender, unbounded};
use tangle_report::statistics::DeviceEntry;
use tangle_runner::{Completion, DeviceStats, Outcome};

use super::in_flight::{InFlight, JobResult};
use super::queue::Next;
use super::record::Entered;
use super::running::Campaign;
use super::suspects::Pass;
use super::timeouts::NextConfirmation;
use super::way::{NextProgram, Queue, Running};
use crate::executor::Worker;
use crate::target::Target;

/// Jobs a worker has at a time: one runs, the others wait while this side prepares and judges.
const IN_FLIGHT: usize = 4;

/// A worker, and what it is working on.
pub(super) struct WorkerLoop<'a> {
    campaign: &'a Campaign,
    target: &'a Target,
    worker: &'a dyn Worker,
    queue: &'a Queue,
    /// Programs that it runs or is to run.
    programs: BTreeMap<u64, (InFlight, Option<Pass<'a>>)>,
    /// What the statistics have of its counters.
    stats: DeviceStats,
    /// Where its outcomes come in.
    completions: (Sender<Completion>, Receiver<Completion>),
    /// Where the program is noted that runs in this process, if programs do.
    running: Option<Running>,
    /// How often something had hung on the GPU when it was last examined.
    hangs: u64,
    /// Whether something else hung while a time-out was confirmed.
    is_disturbed: bool,
}

/// Why a worker is lost; `None` while it is not.
type Lost = Option<String>;

/// Takes over what the runner counted for a worker since `before`.
fn take_stats(entry: &mut DeviceEntry, before: DeviceStats, now: DeviceStats) {
    entry.times.worker += now.busy.saturating_sub(before.busy).as_secs_f64();
    entry.times.driver += now.driver.saturating_sub(before.driver).as_secs_f64();
    entry.restarts += now.restarts - before.restarts;
    entry.slow += now.slow - before.slow;
    entry.killed += now.killed - before.killed;
    entry.short_of_memory += now.short_of_memory - before.short_of_memory;
}

impl<'a> WorkerLoop<'a> {
    pub(super) fn new(
        campaign: &'a Campaign,
        target: &'a Target,
        worker: &'a dyn Worker,
        queue: &'a Queue,
        running: Option<Running>,
    ) -> WorkerLoop<'a> {
        let (programs, stats, completions) = (BTreeMap::new(), DeviceStats::default(), unbounded());
        WorkerLoop {
            campaign,
            target,
            worker,
            queue,
            programs,
            stats,
            completions,
            running,
            hangs: 0,
            is_disturbed: false,
        }
    }

    /// Works until the sequence is over.
    ///
    /// # Errors
    /// If something cannot be saved.
    pub(super) fn run(mut self) -> anyhow::Result<Lost> {
        let campaign = self.campaign;
        // It runs once nothing else does here.
        let mut confirmation = None;
        loop {
            if let Some(reason) = self.target.unwell() {
                return Ok(Some(self.leave(reason)));
            }
            let mut next = Next::Wait;
            if confirmation.is_none() {
                confirmation = match self.next_confirmation(false) {
                    NextConfirmation::Now(now) => Some(now),
                    NextConfirmation::Wait | NextConfirmation::Nothing => None,
                };
            }
            while confirmation.is_none() && self.programs.len() < IN_FLIGHT {
                // None while a suspect runs alone.
                let Some(pass) = campaign.suspects.enter() else { break };
                next = self.queue.take(|place| !campaign.is_over(campaign.plan.shard().number_at(place)));
                let Next::Take(place) = next else { break };
                let program = campaign.plan.shard().number_at(place);
                if !campaign.suspects.is_suspect(&self.target.name, program) {
                    self.start(program, Some(pass))?;
                    continue;
                }
                drop(pass);
                next = Next::Wait;
                if !self.programs.is_empty() {
                    // What runs comes first.
                    self.queue.give_back([place]);
                    break;
                }
                let name = &self.target.name;
                if let Some(reason) = campaign.suspects.run_alone(name, program, || self.run_through(program))?? {
                    self.queue.give_back([place]);
                    return Ok(Some(reason));
                }
            }
            if !self.programs.is_empty() {
                if let Some(reason) = self.receive()? {
                    return Ok(Some(self.leave(reason)));
                }
            } else if let Some(mut now) = confirmation.take() {
                let number = now.number;
                if let Some(reason) = now.timed(|| self.confirm(number))? {
                    return Ok(Some(reason));
                }
            } else if next == Next::Done {
                match self.next_confirmation(true) {
                    NextConfirmation::Now(now) => confirmation = Some(now),
                    NextConfirmation::Wait => self.queue.wait(),
                    NextConfirmation::Nothing => return Ok(None),
                }
            } else {
                self.queue.wait();
            }
        }
    }

    /// Gives what it has in progress back to the others.
    fn leave(self, reason: String) -> String {
        let shard = self.campaign.plan.shard();
        self.queue.give_back(self.programs.into_keys().map(|program| shard.place_of(program)));
        reason
    }

    fn next_confirmation(&self, search_is_over: bool) -> NextConfirmation<'a> {
        self.campaign.next_confirmation(self.target, self.worker.longest(), search_is_over)
    }

    /// Runs a program from beginning to end.
    fn run_through(&mut self, program: u64) -> anyhow::Result<Lost> {
        self.start(program, None)?;
        self.finish()
    }

    /// Waits for what it has in progress.
    fn finish(&mut self) -> anyhow::Result<Lost> {
        while !self.programs.is_empty() {
            if let Some(reason) = self.receive()? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    /// Has the worker begin a program, if it can run.
    fn start(&mut self, program: u64, pass: Option<Pass<'a>>) -> anyhow::Result<()> {
        let (campaign, target) = (self.campaign, self.target);
        match campaign.contained(target, program, || self.begin(program, pass))? {
            Some(()) => Ok(()),
            None => self.pass_over(program),
        }
    }

    /// Enters a program, with which tangle itself failed, as one that was left out.
    fn pass_over(&mut self, program: u64) -> anyhow::Result<()> {
        self.programs.remove(&program);
        let numbers = self.campaign.numbers(self.target, program);
        let left_out = numbers.map(|number| (number, Entered::LeftOut)).collect();
        self.campaign.enter(self.target, self.queue, program, left_out)
    }

    fn begin(&mut self, program: u64, pass: Option<Pass<'a>>) -> anyhow::Result<()> {
        let (campaign, target) = (self.campaign, self.target);
        let numbers = campaign.numbers(target, program);
        match campaign.next_program(target, self.running.as_ref(), program, numbers)? {
            NextProgram::Completed(completed) => campaign.enter(target, self.queue, program, completed),
            NextProgram::Ready(batch) => {
                self.submit(program, InFlight::new(batch), pass);
                Ok(())
            }
        }
    }

    fn submit(&mut self, program: u64, in_flight: InFlight, pass: Option<Pass<'a>>) {
        let started = Instant::now();
        in_flight.submit(self.worker, program, self.campaign.terms(self.target), &self.completions.0);
        self.programs.insert(program, (in_flight, pass));
        if self.worker.is_in_process() {
            self.campaign.update_device(self.target, |entry| entry.times.judge += started.elapsed().as_secs_f64());
        }
    }

    /// Runs a case again that timed out. Nothing else is in progress here.
    fn confirm(&mut self, number: u64) -> anyhow::Result<Lost> {
        let (campaign, target) = (self.campaign, self.target);
        let program = number / campaign.plan.inputs();
        let lost = if campaign.suspects.is_suspect(&target.name, program) {
            campaign.suspects.run_alone(&target.name, program, || self.run_if_well(number, program, None))??
        } else {
            let pass = std::iter::repeat_with(|| campaign.suspects.enter()).flatten().next();
            self.run_if_well(number, program, pass)?
        };
        if lost.is_none() && !std::mem::take(&mut self.is_disturbed) {
            // Also if tangle itself failed.
            campaign.forget_time_out(target, number);
        }
        Ok(lost)
    }

    /// Runs a case again if the GPU is well: else it waits for another one.
    fn run_if_well(&mut self, number: u64, program: u64, pass: Option<Pass<'a>>) -> anyhow::Result<Lost> {
        let (campaign, target, worker) = (self.campaign, self.target, self.worker);
        let examine = || {
            let case = campaign.plan.case(number);
            Ok(case.and_then(|case| target.examine(worker, &case).err()))
        };
        if let Some(Some(reason)) = campaign.contained(target, program, examine)? {
            return Ok(Some(reason));
        }
        self.hangs = target.hangs();
        self.run_again(number, program, pass)
    }

    fn run_again(&mut self, number: u64, program: u64, pass: Option<Pass<'a>>) -> anyhow::Result<Lost> {
        let (campaign, target) = (self.campaign, self.target);
        let case = number..number + 1;
        let next = || campaign.next_program(target, self.running.as_ref(), program, case);
        match campaign.contained(target, program, next)? {
            None => Ok(None),
            Some(NextProgram::Completed(completed)) => self.enter_late(&completed).map(|()| None),
            Some(NextProgram::Ready(batch)) => {
                self.submit(program, InFlight::timed_out(batch), pass);
                self.finish()
            }
        }
    }

    fn enter_late(&self, completed: &[(u64, Entered)]) -> anyhow::Result<()> {
        completed.iter().try_for_each(|(number, entered)| self.campaign.enter_late(self.target, *number, entered))
    }

    /// Waits for an outcome and takes it.
    fn receive(&mut self) -> anyhow::Result<Lost> {
        let completion = self.completions.1.recv().context("the device's supervisor ended")?;
        let (campaign, target, program) = (self.campaign, self.target, completion.job);
        match campaign.contained(target, program, || self.take(completion))? {
            Some(lost) => Ok(lost),
            None => self.pass_over(program).map(|()| None),
        }
    }

    fn take(&mut self, completion: Completion) -> anyhow::Result<Lost> {
        let (campaign, target, program) = (self.campaign, self.target, completion.job);
        let Some((in_flight, _)) = self.programs.get_mut(&program) else { return Ok(None) };
        target.heed(&completion.outcome);
        if in_flight.is_late() && target.hangs() > self.hangs + 1 {
            // Another one hung since the GPU was examined, which may have left this behind: it runs once more.
            self.is_disturbed = true;
            self.programs.remove(&program);
            return Ok(None);
        }
        let started = Instant::now();
        let is_settled = |outcome: &Outcome| campaign.is_settled(target, outcome);
        let result = in_flight.receive(&target.capabilities, completion.outcome, is_settled);
        let stats = self.worker.stats();
        campaign.update_device(target, |entry| {
            entry.times.judge += started.elapsed().as_secs_f64();
            take_stats(entry, self.stats, stats);
        });
        self.stats = stats;
        let cases = match result {
            JobResult::Rerun => {
                in_flight.submit(self.worker, program, campaign.terms(target), &self.completions.0);
                return Ok(None);
            }
            JobResult::NoWorker(reason) => return Ok(Some(reason)),
            JobResult::TimedOut(at, outcome) => {
                let number = in_flight.batch().cases[at].0;
                let mut cases = campaign.completed(target, None, in_flight.batch(), Vec::new());
                if let Some((_, entered)) = cases.iter_mut().find(|(case, _)| *case == number) {
                    *entered = Entered::TimedOut(outcome);
                }
                cases
            }
            JobResult::Completed(conclusions) => {
                campaign.completed(target, Some(self.worker), in_flight.batch(), conclusions)
            }
        };
        let is_late = in_flight.is_late();
        self.programs.remove(&program);
        match is_late {
            true => self.enter_late(&cases)?,
            false => campaign.enter(target, self.queue, program, cases)?,
        }
        Ok(None)
    }
}
