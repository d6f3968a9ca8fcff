//! Lines of progress on standard error: rewritten in place on a terminal, repeated now and then elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ratatui::crossterm::terminal;

use super::output::say_stderr;
use tangle_report::text::shortened;

/// Time between two lines on a terminal.
const ON_TERMINAL: Duration = Duration::from_millis(200);

/// Time between two lines elsewhere.
const ELSEWHERE: Duration = Duration::from_secs(30);

/// A line of progress.
pub struct Progress {
    terminal: bool,
    shown: Option<Instant>,
    /// What the last line was about.
    about: String,
    width: usize,
}

impl Progress {
    pub fn new() -> Progress {
        Progress { terminal: std::io::stderr().is_terminal(), shown: None, about: String::new(), width: 0 }
    }

    /// Shows a line if it is time for one, or if something else goes on now.
    pub fn show(&mut self, line: &str) {
        let every = if self.terminal { ON_TERMINAL } else { ELSEWHERE };
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= every);
        if is_due || about(line) != self.about {
            self.shown = Some(Instant::now());
            self.about = about(line).to_owned();
            self.write(line);
        }
    }

    fn write(&mut self, line: &str) {
        let mut stderr = std::io::stderr();
        // A line that cannot be written is no reason to stop.
        let _ = if self.terminal {
            let columns = terminal::size().map_or(80, |(columns, _)| usize::from(columns));
            let line = shortened(line, columns.saturating_sub(1).max(1));
            let width = std::mem::replace(&mut self.width, line.chars().count());
            write!(stderr, "\r{line:width$}").and_then(|()| stderr.flush())
        } else {
            writeln!(stderr, "{}", shortened(line, 1_000))
        };
    }

    /// Leaves the last line where it is.
    pub fn end(&self) {
        if self.terminal && self.shown.is_some() {
            say_stderr!();
        }
    }
}

/// The first word of a line, which says what goes on; figures are none.
fn about(line: &str) -> &str {
    line.split(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default()
}

/// Does something, and shows meanwhile how much of it is done: `done` counts to `all`.
pub fn watch<T>(what: &str, all: usize, done: &AtomicUsize, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    let show = || {
        let (started, mut progress) = (Instant::now(), Progress::new());
        while !over.load(Ordering::SeqCst) {
            std::thread::park_timeout(ON_TERMINAL);
            let done = done.load(Ordering::Relaxed);
            // What is over at once needs no progress.
            if started.elapsed() >= Duration::from_secs(1) && !over.load(Ordering::SeqCst) {
                progress.show(&remaining(what, done, all, started.elapsed()));
            }
        }
        progress.end();
    };
    std::thread::scope(|scope| {
        let shown = scope.spawn(show);
        let result = work();
        over.store(true, Ordering::SeqCst);
        shown.thread().unpark();
        result
    })
}

/// `12 of 60 cases run, 48 remain, about 2m 5s`
fn remaining(what: &str, done: usize, all: usize, elapsed: Duration) -> String {
    let left = all.saturating_sub(done);
    let time = match done {
        0 => String::new(),
        _ => format!(
            ", about {}",
            humantime::format_duration(Duration::from_secs((elapsed.as_secs_f64() * left as f64 / done as f64) as u64))
        ),
    };
    format!("{done} of {all} {what}, {left} remain{time}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_is_said_with_the_time() {
        let seconds = Duration::from_secs;
        assert_eq!(remaining("cases", 0, 60, seconds(3)), "0 of 60 cases, 60 remain");
        assert_eq!(remaining("cases", 20, 60, seconds(10)), "20 of 60 cases, 40 remain, about 20s");
        assert_eq!(watch("cases", 1, &AtomicUsize::new(0), || 7), 7);
    }

    #[test]
    fn another_line_is_another_first_word() {
        assert_eq!(about("1,204 cases, 11.3/s"), about("9 cases"));
        assert_ne!(about("minimising value-1 for 3 s"), about("9 cases"));
    }
}
