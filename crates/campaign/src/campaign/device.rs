//! One device's way through the sequence: its workers take programs, run them, and hand over their results.

use std::borrow::Cow;
use std::fs::{self};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use tangle_analysis::validate::validate;
use tangle_emit::source;
use tangle_files::sync_folder;
use tangle_program::case::Case;

use super::in_flight::Batch;
use super::queue::OrderedQueue;
use super::record::{Completed, Entered};
use super::running::{Campaign, Loss};
use super::shared::{Drawn, Shared};
use super::way::{NextProgram, Queue, Running};
use super::worker::WorkerLoop;
use crate::prepare::{Prep, Prepared};
use crate::target::{Conclusion, Finish, Target};

/// Has the cases of a program be what a device can run, if it is a compiler, by [`Target::fitted`]. The program is that of the first; data with which it
/// is not valid, or has another shader, are left out: what is promised of them holds for the program as it was.
fn fit(cases: &mut Vec<(u64, Arc<Case>)>, fitted: impl Fn(&Case) -> Cow<'_, Case>) {
    let Some((first, case)) = cases.first() else { return };
    let Cow::Owned(one) = fitted(case) else { return };
    // A program may need its data to lie elsewhere.
    let has_own_data = one.data == case.data;
    let (first, shader) = (*first, source(&one));
    cases.retain_mut(|(number, case)| {
        let data = if has_own_data { case.data.clone() } else { fitted(case).into_owned().data };
        *case = Arc::new(Case { data, origin: case.origin.clone(), ..one.clone() });
        *number == first || validate(case).is_ok() && source(case) == shader
    });
}

/// Programs shared between devices that are at about the same place in the sequence.
const SHARED: usize = 128;

impl Campaign {
    /// True if nothing of this program is to run any more.
    pub(super) fn is_over(&self, program: u64) -> bool {
        self.stop.load(Ordering::SeqCst)
            || self.options.cases.is_some_and(|cases| program * self.plan.inputs() >= cases)
            || self.is_time_for_the_rest()
    }

    /// One device's way through the sequence: a thread for each worker.
    pub(super) fn work(&self, target: &Target) -> anyhow::Result<()> {
        let next_case = self.update_device(target, |entry| entry.next_case);
        let queue = OrderedQueue::new(self.plan.shard().place_of(next_case / self.plan.inputs()));
        let workers = target.executor.workers();
        let of = workers.len();
        let ends: Vec<anyhow::Result<Option<String>>> = std::thread::scope(|scope| {
            let queue = &queue;
            let threads: Vec<_> = workers
                .into_iter()
                .enumerate()
                .map(|(number, worker)| {
                    scope.spawn(move || {
                        let lease = queue.lease();
                        let running = worker
                            .is_in_process()
                            .then(|| Running::of_worker(&self.folder.in_flight(&target.name), number));
                        let reason = WorkerLoop::new(self, target, worker, queue, running.transpose()?).run()?;
                        lease.leave();
                        Ok(reason)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(anyhow!("a thread ended")))).collect()
        });
        let reasons: Vec<String> =
            ends.into_iter().collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect();
        if let Some(reason) = reasons.last().cloned() {
            let lost = reasons.len();
            let loss = match lost == of {
                true => Loss::Device { next_case: self.update_device(target, |entry| entry.next_case), reason },
                false => Loss::Workers { lost, of, reason },
            };
            self.losses.lock().unwrap_or_else(PoisonError::into_inner).insert(target.name.clone(), loss);
        }
        Ok(())
    }

    /// Takes the result of a program, and concludes those whose turn it is.
    pub(super) fn enter(
        &self,
        target: &Target,
        queue: &Queue,
        program: u64,
        cases: Vec<(u64, Entered)>,
    ) -> anyhow::Result<()> {
        queue.enter(self.plan.shard().place_of(program), cases, |_, cases| {
            let closed = self.closed.read().unwrap_or_else(PoisonError::into_inner);
            if *closed {
                // The statistics are saved and printed: it runs again when the campaign goes on.
                return Ok(());
            }
            for (index, entered) in cases {
                if self.options.until_first && self.has_finding.load(Ordering::SeqCst) {
                    // The campaign ended before it, as if it had not run.
                    return Ok(());
                }
                if *index < self.update_device(target, |entry| entry.next_case) {
                    // Entered before a save failed in the middle of the program.
                    continue;
                }
                if index % self.plan.inputs() == 0 {
                    // Of the program whose turn it is, which another worker may have run.
                    let program = index / self.plan.inputs();
                    let drawn = self.shared(program).drawn.get().map(|drawn| drawn.avoided);
                    let avoided = drawn.unwrap_or_else(|| self.plan.avoided(program));
                    self.update_device(target, |entry| entry.avoided += avoided);
                }
                self.enter_case(target, *index, entered)?;
            }
            Ok(())
        })
    }

    /// Enters the result of a case that timed out and waited.
    pub(super) fn enter_late(&self, target: &Target, index: u64, entered: &Entered) -> anyhow::Result<()> {
        let closed = self.closed.read().unwrap_or_else(PoisonError::into_inner);
        if *closed {
            return Ok(());
        }
        if let Entered::Completed(_) = entered {
            self.enter_case(target, index, entered)?;
        }
        self.forget_time_out(target, index);
        Ok(())
    }

    fn enter_case(&self, target: &Target, index: u64, entered: &Entered) -> anyhow::Result<()> {
        let is_concluded = match entered {
            Entered::Completed(completed) => {
                let program = index / self.plan.inputs();
                self.contained(target, program, || self.conclude(target, index, completed))?.is_some()
            }
            Entered::TimedOut(outcome) => {
                self.note_time_out(target, index, outcome);
                false
            }
            Entered::LeftOut => false,
        };
        if !is_concluded {
            self.update(|statistics| statistics.leave_out(&target.name, index));
        }
        // Cases that did not run have no file.
        let _ = fs::remove_file(self.in_flight_path(target, index));
        Ok(())
    }

    /// The numbers of a program's cases that are to run in this campaign, and have not.
    pub(super) fn numbers(&self, target: &Target, program: u64) -> Range<u64> {
        let inputs = self.plan.inputs();
        let first = (program * inputs).max(self.update_device(target, |entry| entry.next_case));
        first..((program + 1) * inputs).min(self.options.cases.unwrap_or(u64::MAX))
    }

    /// These cases of a program, ready to run, or over if they cannot.
    pub(super) fn next_program(
        &self,
        target: &Target,
        running: Option<&Running>,
        program: u64,
        numbers: Range<u64>,
    ) -> anyhow::Result<NextProgram> {
        let shared = self.shared(program);
        let drawn = shared.drawn.get_or_init(|| {
            let started = Instant::now();
            let (cases, avoided) = self.plan.cases(program);
            self.update_device(target, |entry| entry.times.generate += started.elapsed().as_secs_f64());
            Drawn { cases: cases.into_iter().map(|case| case.map(Arc::new)).collect(), avoided }
        });
        let here = |(number, case): (u64, &Option<Arc<Case>>)| Some((number, Arc::clone(case.as_ref()?)));
        let mut cases: Vec<(u64, Arc<Case>)> = (program * self.plan.inputs()..)
            .zip(&drawn.cases)
            .filter(|(number, _)| numbers.contains(number))
            .filter_map(here)
            .take(if target.executes() { usize::MAX } else { 1 })
            .collect();
        fit(&mut cases, |case| target.fitted(case));
        let Some((_, case)) = cases.first() else {
            return Ok(NextProgram::Completed(numbers.map(|number| (number, Entered::LeftOut)).collect()));
        };
        let missing = target.missing(case);
        if !missing.is_empty() {
            let conclusion = Conclusion::without_data(Finish::Unsupported { missing });
            let completed = |number| {
                let completed = Completed { conclusion: conclusion.clone(), ran: None };
                (number, Entered::Completed(Box::new(completed)))
            };
            return Ok(NextProgram::Completed(numbers.map(completed).collect()));
        }
        if let Some(how) = self.suspects.guilty(&target.name, program) {
            // Not even compiled: that may be what did it.
            let case = Case::clone(case);
            let prep = Arc::new(Prep::Ready(Prepared { shader: source(&case), case, spirv: Vec::new() }));
            cases.truncate(1);
            let conclusion = Conclusion::without_data(Finish::Fatal { how: how.to_string() });
            let batch = Batch { numbers, prep, cases };
            return Ok(NextProgram::Completed(self.completed(target, None, &batch, vec![(0, conclusion)])));
        }
        match running {
            Some(running) => running.note(program)?,
            None => self.note_in_flight(target, &cases)?,
        }
        let made = shared.prep(target.executor.front_end());
        let prep = made.get_or_init(|| {
            let started = Instant::now();
            let prep = Prep::of(Case::clone(case));
            self.update_device(target, |entry| entry.times.compile += started.elapsed().as_secs_f64());
            Arc::new(prep)
        });
        let prep = Arc::clone(prep);
        if let Prep::Faulty(_, fault) = &*prep {
            anyhow::ensure!(!fault.is_local(), "{fault}");
            // The data have nothing to do with it.
            cases.truncate(1);
            let conclusion = fault.into();
            let batch = Batch { numbers, prep, cases };
            return Ok(NextProgram::Completed(self.completed(target, None, &batch, vec![(0, conclusion)])));
        }
        Ok(NextProgram::Ready(Batch { numbers, prep, cases }))
    }

    pub(super) fn shared(&self, program: u64) -> Arc<Shared> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = Arc::clone(shared.entry(program).or_default());
        while shared.len() > SHARED {
            shared.pop_first();
        }
        entry
    }

    fn in_flight_path(&self, target: &Target, index: u64) -> PathBuf {
        self.folder.in_flight(&target.name).join(format!("{index}.json"))
    }

    /// The cases are on disk before a compiler or driver sees them; where the machine went down before, synced.
    fn note_in_flight(&self, target: &Target, cases: &[(u64, Arc<Case>)]) -> anyhow::Result<()> {
        let started = Instant::now();
        for (index, case) in cases {
            let path = self.in_flight_path(target, *index);
            let text = serde_json::to_vec(&**case)?;
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if self.suspects.is_careful {
            // Which cases is enough: what is in the files can be made again.
            let folder = self.folder.in_flight(&target.name);
            sync_folder(&folder).with_context(|| format!("cannot sync {}", folder.display()))?;
        }
        self.update_device(target, |entry| entry.times.save += started.elapsed().as_secs_f64());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tangle_generator::{Config, from_seed};

    use super::*;

    #[test]
    fn each_input_keeps_its_words_where_a_compiler_needs_them_elsewhere() {
        let front_end = "hlsl@clang".parse().expect("a front end");
        let fitted = |case: &Case| tangle_compilers::fitted(&front_end, case.clone());
        let mut moved = 0;
        for seed in 0..40 {
            let one = from_seed(seed, &Config::default());
            let mut other = one.clone();
            other.data.push.iter_mut().chain(&mut other.data.uniforms).for_each(|word| *word ^= 1);
            let valid = [&one, &other].map(|case| validate(&fitted(case)).is_ok());
            let mut cases = vec![(0, Arc::new(one.clone())), (1, Arc::new(other.clone()))];
            fit(&mut cases, |case| Cow::Owned(fitted(case)));
            for ((_, case), before) in cases.iter().zip([&one, &other]) {
                assert!(validate(case).is_ok(), "seed {seed}");
                if case.data.push.is_empty() && !before.data.push.is_empty() {
                    assert_eq!(case.data.uniforms, [&before.data.uniforms[..], &before.data.push].concat());
                    moved += 1;
                }
            }
            assert!(cases.len() == 2 || valid != [true; 2] || fitted(&one).program != fitted(&other).program);
        }
        assert!(moved > 40, "{moved}");
    }
}
