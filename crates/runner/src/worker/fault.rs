//! Faults on demand, so that crashes, hangs and restarts can be tested without a broken driver.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use crate::job::Job;
use crate::meter::process_time;
use crate::outcome::{Completed, LaunchOutput, Outcome, ReadBack, Stage};
use crate::protocol::{self, FromWorker};

/// Test hook: environment variable with a comma-separated list of faults.
///
/// | fault | what the worker does |
/// |---|---|
/// | `init` | prints a line and exits with code 3 before its first word |
/// | `silent` | never says its first word |
/// | `crash@N` | segmentation fault in the pipeline stage of job N |
/// | `hang@N` | hangs in the pipeline stage of job N, computing nothing |
/// | `stall@N` | hangs in job N while the device executes it |
/// | `spin@N` | computes for ever in the pipeline stage of job N |
/// | `slow@N` | computes for 3 seconds of processor time in the pipeline stage of job N |
/// | `lock@N` | waits for 2 seconds in job N, as for a GPU that another worker uses |
/// | `kill@N` | is killed (SIGKILL) in the pipeline stage of job N, as if from outside |
/// | `bad_alloc@N` | has no memory in the pipeline stage of job N |
/// | `lie@N` | gives an answer to job N that is larger than what was asked for |
/// | `huge@N` | announces a message of 4 GiB in job N |
/// | `exit@N` | exits with code 3 in the pipeline stage of job N |
/// | `garbage@N` | writes nonsense into the protocol in the pipeline stage of job N |
/// | `chatter@N` | prints a line on standard output in the pipeline stage of job N |
/// | `mutate@N` | spoils a byte or some of its answer to job N |
/// | `flip.K@N` | changes a bit in the first word of the K-th buffer that job N gives back, in every launch; K counts from 0 |
/// | `lost@N` | reports a lost device for job N |
/// | `quit@N` | dies before it begins job N |
///
/// A number with `!` behind it is for the first worker that gets so far: a file beside [`STATE_VARIABLE`] says so to the next one.
pub const FAULT_VARIABLE: &str = "TANGLE_WORKER_FAULT";

/// Test hook: environment variable with the beginning of the names of files that say which faults have been had.
pub const STATE_VARIABLE: &str = "TANGLE_WORKER_FAULT_STATE";

/// What to do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Crash,
    Hang,
    Stall,
    Spin,
    Slow,
    Lock,
    Kill,
    BadAlloc,
    Lie,
    Mutate,
    Flip(usize),
    Huge,
    Exit,
    Garbage,
    Chatter,
    Lost,
    Quit,
}

/// The faults this worker is to have.
#[derive(Default)]
pub(super) struct Faults {
    init: bool,
    silent: bool,
    in_jobs: Vec<(Kind, u64)>,
    /// Those that come once.
    once: Vec<(Kind, u64)>,
}

impl Faults {
    /// The faults that [`FAULT_VARIABLE`] asks for; none without it.
    pub(super) fn from_environment() -> Result<Faults, String> {
        Faults::parse(&std::env::var(FAULT_VARIABLE).unwrap_or_default())
    }

    fn parse(text: &str) -> Result<Faults, String> {
        let mut faults = Faults::default();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let unknown = || format!("{FAULT_VARIABLE}: unknown fault `{item}`");
            match (item, item.split_once('@')) {
                ("init", _) => faults.init = true,
                ("silent", _) => faults.silent = true,
                (_, Some((kind, job))) => {
                    let kind = match kind {
                        "crash" => Kind::Crash,
                        "hang" => Kind::Hang,
                        "stall" => Kind::Stall,
                        "spin" => Kind::Spin,
                        "slow" => Kind::Slow,
                        "lock" => Kind::Lock,
                        "kill" => Kind::Kill,
                        "bad_alloc" => Kind::BadAlloc,
                        "lie" => Kind::Lie,
                        "mutate" => Kind::Mutate,
                        "huge" => Kind::Huge,
                        "exit" => Kind::Exit,
                        "garbage" => Kind::Garbage,
                        "chatter" => Kind::Chatter,
                        "lost" => Kind::Lost,
                        "quit" => Kind::Quit,
                        _ => match kind.strip_prefix("flip.").map(str::parse) {
                            Some(Ok(buffer)) => Kind::Flip(buffer),
                            _ => return Err(unknown()),
                        },
                    };
                    let number = job.trim_end_matches('!');
                    let fault = (kind, number.parse().map_err(|_| unknown())?);
                    faults.in_jobs.push(fault);
                    faults.once.extend((number != job).then_some(fault));
                }
                _ => return Err(unknown()),
            }
        }
        Ok(faults)
    }

    /// Before the worker's first word.
    pub(super) fn at_start(&self) {
        if self.init {
            eprintln!("fault: cannot initialise");
            std::process::exit(3);
        }
        if self.silent {
            hang();
        }
    }

    /// Before a job begins.
    pub(super) fn before(&self, job: u64) {
        if self.has(Kind::Quit, job) {
            eprintln!("fault: quit before job {job}");
            std::process::exit(3);
        }
    }

    /// In a job, when a stage begins.
    pub(super) fn at_stage(&self, job: u64, stage: Stage, output: &mut File) {
        let is_due = |kind| match kind {
            Kind::Stall => stage == Stage::Wait { launch: 0 },
            _ => stage == Stage::Pipeline,
        };
        for fault in self.in_jobs.iter().filter(|(kind, number)| *number == job && is_due(*kind)) {
            if self.once.contains(fault) && !is_first(*fault) {
                continue;
            }
            match fault.0 {
                Kind::Crash => {
                    // As drivers do, in colour.
                    eprintln!("fault: \x1b[1;31mcrash\x1b[0m in job {job}");
                    crash();
                }
                Kind::Hang | Kind::Stall => {
                    eprintln!("fault: hang in job {job}");
                    hang();
                }
                Kind::Spin => {
                    eprintln!("fault: spin in job {job}");
                    compute(u64::MAX);
                }
                Kind::Slow => compute(3000),
                Kind::Lock => {
                    let stage = Stage::Lock { launch: 0 };
                    let _ = protocol::write(output, &FromWorker::Started { id: job, stage });
                    std::thread::sleep(Duration::from_secs(2));
                }
                Kind::Kill => {
                    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
                }
                Kind::BadAlloc => super::memory::out_of_memory(),
                Kind::Huge => drop(output.write_all(b"tngl\xff\xff\xff\xff")),
                Kind::Exit => std::process::exit(3),
                Kind::Garbage => drop(output.write_all(b"segmentation fault (core dumped)")),
                Kind::Chatter => println!("the driver says hello in job {job}"),
                Kind::Lost | Kind::Quit | Kind::Lie | Kind::Mutate | Kind::Flip(_) => {}
            }
        }
    }

    /// The outcome that stands for the job's own.
    pub(super) fn replaces(&self, job: &Job) -> Option<Outcome> {
        if self.has(Kind::Lie, job.id) {
            return Some(Outcome::Completed(Completed {
                launches: vec![huge(); job.launches.len()],
                ..Completed::default()
            }));
        }
        let fault = (Kind::Lost, job.id);
        let is_lost = self.in_jobs.contains(&fault) && (!self.once.contains(&fault) || is_first(fault));
        is_lost.then_some(Outcome::DeviceLost { stage: Stage::Wait { launch: 0 } })
    }

    /// Changes what a job gives back, if that is wanted.
    pub(super) fn change(&self, job: u64, completed: &mut Completed) {
        let flipped = self.in_jobs.iter().filter(|(_, number)| *number == job);
        let flipped = flipped.filter_map(|(kind, _)| if let Kind::Flip(buffer) = kind { Some(*buffer) } else { None });
        for buffer in flipped {
            for read_back in completed.launches.iter_mut().filter_map(|launch| launch.buffers.get_mut(buffer)) {
                let mut words = read_back.to_words();
                if let Some(first) = words.first_mut() {
                    *first ^= 1;
                }
                *read_back = ReadBack::trimmed(&words, Some(read_back.slice_words()));
            }
        }
    }

    /// Writes the answer to a job, spoilt if that is wanted.
    pub(super) fn answer(&self, job: u64, answer: &FromWorker, output: &mut File) -> std::io::Result<()> {
        if !self.has(Kind::Mutate, job) {
            return protocol::write(output, answer);
        }
        let mut frame = protocol::encode(answer).unwrap_or_default();
        mutate(&mut frame, job);
        output.write_all(&frame)
    }

    fn has(&self, kind: Kind, job: u64) -> bool {
        self.in_jobs.contains(&(kind, job))
    }
}

/// A buffer of 16 GiB in a few bytes.
fn huge() -> LaunchOutput {
    let json = r#"{"words":4294967295,"slice_words":4294967295,"ends":[0],"data":[]}"#;
    LaunchOutput { buffers: serde_json::from_str(json).into_iter().collect(), ..LaunchOutput::default() }
}

/// Makes the file that says that a fault was had; false if it is there.
fn is_first((kind, job): (Kind, u64)) -> bool {
    let path = std::env::var(STATE_VARIABLE).unwrap_or_default();
    std::fs::OpenOptions::new().write(true).create_new(true).open(format!("{path}{kind:?}-{job}")).is_ok()
}

/// Spoils bytes of a frame, others for each number: some are changed, or left out, or come twice.
pub(crate) fn mutate(frame: &mut Vec<u8>, number: u64) {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |end: usize| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % end.max(1) as u64) as usize
    };
    for _ in 0..=below(4) {
        let (at, value) = (below(frame.len()), [0, 1, 0x7f, 0x80, 0xff, below(256) as u8][below(6)]);
        match below(5) {
            _ if frame.is_empty() => {}
            0 => drop(frame.drain(at..frame.len().min(at + 1 + below(8)))),
            1 => frame.insert(at, value),
            2 => (at..frame.len().min(at + 5)).for_each(|at| frame[at] = 0xff),
            _ => frame[at] = value,
        }
    }
}

/// Uses up so many milliseconds of processor time.
pub(crate) fn compute(milliseconds: u64) {
    let end = process_time() + Duration::from_millis(milliseconds);
    while process_time() < end {}
}

fn crash() -> ! {
    use rustix::process::{Signal, getpid, kill_process};
    loop {
        // The first signal only takes Rust's own handler away: it returns, and expects the faulting instruction to
        // fault again.
        let _ = kill_process(getpid(), Signal::SEGV);
    }
}

fn hang() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_from_a_list() {
        let faults = Faults::parse("crash@3,hang@12,init").unwrap_or_default();
        assert!(faults.init && !faults.silent);
        assert!(faults.has(Kind::Crash, 3) && faults.has(Kind::Hang, 12) && !faults.has(Kind::Hang, 3));
        let once = Faults::parse("kill@3!,spin@4").unwrap_or_default();
        assert_eq!((once.in_jobs.len(), once.once), (2, vec![(Kind::Kill, 3)]));
        assert!(Faults::parse("").is_ok_and(|faults| faults.in_jobs.is_empty()));
        for wrong in ["crash", "crash@", "boom@3", "crash@x"] {
            assert!(Faults::parse(wrong).is_err_and(|error| error.contains(wrong)), "{wrong}");
        }
    }
}
