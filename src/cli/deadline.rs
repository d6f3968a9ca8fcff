//! Ends a command when its time is over, or it was stopped, whatever a driver is doing then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::output::say_stderr;

/// How much longer a command may take than it should.
#[derive(Clone, Copy)]
pub struct Grace {
    /// Longer than the time that it was given.
    time: Duration,
    /// After it was stopped.
    stop: Duration,
}

impl Grace {
    /// While devices are opened: nothing is reached yet that could be saved.
    pub const OPENING: Grace = Grace { time: Duration::from_secs(2), stop: Duration::from_secs(2) };
    /// While cases run: what was found is saved.
    pub const RUNNING: Grace = Grace { time: Duration::from_secs(18), stop: Duration::from_secs(9) };
}

/// What is said when the time is over and a device is not open.
pub const NOT_OPEN: &str = "the time is over, and a device does not start";

/// A watch over a part of a command; it ends when dropped.
pub struct Deadline(Arc<AtomicBool>);

impl Deadline {
    /// Ends the process with an error if this part still runs so long after the time that began then, or after it was stopped.
    pub fn watch(
        (began, limit): (Instant, Option<Duration>),
        stop: &'static AtomicBool,
        grace: Grace,
        error: &'static str,
    ) -> Deadline {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        std::thread::spawn(move || {
            let mut stopped: Option<Instant> = None;
            while !is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(100));
                if stop.load(Ordering::SeqCst) {
                    stopped.get_or_insert_with(Instant::now);
                }
                let is_late = limit.is_some_and(|limit| began.elapsed() >= limit + grace.time)
                    || stopped.is_some_and(|stopped| stopped.elapsed() >= grace.stop);
                if is_late && !is_over.load(Ordering::SeqCst) {
                    say_stderr!("error: {error}");
                    std::process::exit(2);
                }
            }
        });
        Deadline(over)
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
