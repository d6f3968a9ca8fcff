//! Faults on demand, so that crashes, hangs and restarts can be tested without a broken driver.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use crate::job::{Outcome, Stage};

/// Test hook: environment variable with a comma-separated list of faults.
///
/// | fault | what the worker does |
/// |---|---|
/// | `init` | prints a line and exits with code 3 before its first word |
/// | `silent` | never says its first word |
/// | `crash@N` | segmentation fault in the pipeline stage of job N |
/// | `hang@N` | hangs in the pipeline stage of job N |
/// | `exit@N` | exits with code 3 in the pipeline stage of job N |
/// | `garbage@N` | writes nonsense into the protocol in the pipeline stage of job N |
/// | `chatter@N` | prints a line on standard output in the pipeline stage of job N |
/// | `lost@N` | reports a lost device for job N |
/// | `quit@N` | dies before it begins job N |
pub const FAULT_VARIABLE: &str = "TANGLE_WORKER_FAULT";

/// What to do wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Crash,
    Hang,
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
}

impl Faults {
    /// Reads [`FAULT_VARIABLE`].
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
                        "exit" => Kind::Exit,
                        "garbage" => Kind::Garbage,
                        "chatter" => Kind::Chatter,
                        "lost" => Kind::Lost,
                        "quit" => Kind::Quit,
                        _ => return Err(unknown()),
                    };
                    faults.in_jobs.push((kind, job.parse().map_err(|_| unknown())?));
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
        if stage != Stage::Pipeline {
            return;
        }
        for (kind, _) in self.in_jobs.iter().filter(|(_, number)| *number == job) {
            match kind {
                Kind::Crash => {
                    eprintln!("fault: crash in job {job}");
                    crash();
                }
                Kind::Hang => {
                    eprintln!("fault: hang in job {job}");
                    hang();
                }
                Kind::Exit => std::process::exit(3),
                Kind::Garbage => drop(output.write_all(b"segmentation fault (core dumped)")),
                Kind::Chatter => println!("the driver says hello in job {job}"),
                Kind::Lost | Kind::Quit => {}
            }
        }
    }

    /// The outcome that stands for the job's own.
    pub(super) fn replaces(&self, job: u64) -> Option<Outcome> {
        self.has(Kind::Lost, job).then_some(Outcome::DeviceLost { stage: Stage::Wait { launch: 0 } })
    }

    fn has(&self, kind: Kind, job: u64) -> bool {
        self.in_jobs.contains(&(kind, job))
    }
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
        assert!(Faults::parse("").is_ok_and(|faults| faults.in_jobs.is_empty()));
        for wrong in ["crash", "crash@", "boom@3", "crash@x"] {
            assert!(Faults::parse(wrong).is_err_and(|error| error.contains(wrong)), "{wrong}");
        }
    }
}
