//! What is expected of a case on a device, and what it means when the outcome is another: the statuses and text files that users of
//! deqp-runner know.
//!
//! A case on a device has one name: `device/case`, where the case is its path in the replayed folder without `.json`.
//!
//! | file | a line | `#` starts a |
//! |---|---|---|
//! | [`Baseline`] | `device/case,Status`: what comes today; `*` stands for anything but `/` in the device, for anything in the case | comment line |
//! | [`Patterns`] (flakes, skips) | a regular expression, found anywhere in the name | comment line |

use std::collections::BTreeMap;
use std::fmt;

use regex::RegexSet;
use tangle_identity::pattern::{glob, problem};

/// The result of one run of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// Everything that was compared is right.
    Pass,
    /// Nothing was compared: neither good nor bad, and no proof of anything.
    Vacuous,
    /// A wrong result, or an error that the driver or the toolchain reports.
    Fail,
    /// The driver did not answer in time.
    Timeout,
    /// The driver died, or lost its device.
    Crash,
    /// It was not run.
    Skip,
}

impl Outcome {
    /// Every outcome, the best first but for [`Outcome::Skip`].
    pub const ALL: [Outcome; 6] =
        [Outcome::Pass, Outcome::Vacuous, Outcome::Fail, Outcome::Timeout, Outcome::Crash, Outcome::Skip];

    /// The name in files and on screen.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Pass => "Pass",
            Outcome::Vacuous => "Vacuous",
            Outcome::Fail => "Fail",
            Outcome::Timeout => "Timeout",
            Outcome::Crash => "Crash",
            Outcome::Skip => "Skip",
        }
    }

    fn from_name(name: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// True if the device, or the case, did something wrong.
    pub const fn is_failure(self) -> bool {
        matches!(self, Outcome::Fail | Outcome::Timeout | Outcome::Crash)
    }
}

/// What an outcome means, given what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// It passed, and nothing else was expected.
    Pass,
    /// It was not run: the device lacks a feature, or the skips file says so.
    Skip,
    /// It went wrong in the way that the baseline says.
    ExpectedFail,
    /// It is flaky, as the flakes file says.
    KnownFlake,
    /// Unexpected: a wrong result that the baseline does not have.
    Fail,
    /// Unexpected: the driver died.
    Crash,
    /// Unexpected: the driver hung.
    Timeout,
    /// Unexpected: nothing was compared.
    Vacuous,
    /// Unexpected: better than the baseline says.
    UnexpectedImprovement(Outcome),
    /// Unexpected: some of several runs went wrong, and the flakes file does not have it.
    Flake,
    /// Unexpected: the baseline has a case that is not there.
    Missing,
}

impl Status {
    /// True if somebody should look.
    pub const fn is_unexpected(self) -> bool {
        !matches!(self, Status::Pass | Status::Skip | Status::ExpectedFail | Status::KnownFlake)
    }
}

impl From<Outcome> for Status {
    fn from(outcome: Outcome) -> Status {
        match outcome {
            Outcome::Pass => Status::Pass,
            Outcome::Vacuous => Status::Vacuous,
            Outcome::Fail => Status::Fail,
            Outcome::Timeout => Status::Timeout,
            Outcome::Crash => Status::Crash,
            Outcome::Skip => Status::Skip,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::UnexpectedImprovement(outcome) => write!(f, "UnexpectedImprovement({})", outcome.name()),
            other => fmt::Debug::fmt(other, f),
        }
    }
}

/// How often a case went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Runs that went wrong.
    pub failed: u32,
    /// All runs, those that went wrong included.
    pub runs: u32,
}

/// A case with the meaning of its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What the runs mean.
    pub status: Status,
    /// The worst outcome of the runs.
    pub outcome: Outcome,
    /// How often it went wrong.
    pub tally: Tally,
}

/// The most runs of a case that hangs: each costs the whole time limit.
const HANG_RUNS: u32 = 2;

/// Runs a case, and again up to `runs` times in all where the first outcome is not the expected one: what always happens is a
/// failure or an improvement, what happens now and then is a flake.
pub fn rule(expected: Option<Outcome>, known_flake: KnownFlake, runs: u32, mut run: impl FnMut() -> Outcome) -> Ruling {
    let first = run();
    let count = |outcome: Outcome| Tally { failed: u32::from(outcome.is_failure()), runs: 1 };
    let is_expected = expected == Some(first) || expected.is_none() && !first.is_failure();
    if first == Outcome::Skip || is_expected {
        return Ruling { status: against(expected, first), outcome: first, tally: count(first) };
    }
    let mut outcomes = vec![first];
    while (outcomes.len() as u32) < runs && hangs(&outcomes) < HANG_RUNS {
        outcomes.push(run());
    }
    let failed = outcomes.iter().filter(|outcome| outcome.is_failure()).count() as u32;
    let tally = Tally { failed, runs: outcomes.len() as u32 };
    let outcome = outcomes.iter().copied().max().unwrap_or(first);
    let status = match known_flake {
        KnownFlake::Yes if failed > 0 => Status::KnownFlake,
        _ if failed > 0 && failed < tally.runs => Status::Flake,
        _ => against(expected, outcome),
    };
    Ruling { status, outcome, tally }
}

fn hangs(outcomes: &[Outcome]) -> u32 {
    outcomes.iter().filter(|outcome| **outcome == Outcome::Timeout).count() as u32
}

/// Whether the flakes file has a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownFlake {
    /// It has a pattern for the case.
    Yes,
    /// It has no pattern for the case.
    No,
}

/// What an outcome that always comes means.
fn against(expected: Option<Outcome>, outcome: Outcome) -> Status {
    // What passes today, and what a device cannot run, is expected without a line, too.
    let expected = expected.unwrap_or(Outcome::Pass);
    match outcome {
        Outcome::Skip => Status::Skip,
        Outcome::Pass if expected == Outcome::Pass || expected == Outcome::Skip => Status::Pass,
        _ if outcome == expected => Status::ExpectedFail,
        // In the order of `Outcome::ALL`, what comes earlier is better.
        _ if expected != Outcome::Skip && outcome < expected => Status::UnexpectedImprovement(outcome),
        _ => outcome.into(),
    }
}

/// A line of a text file that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct LineError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// The lines that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// One line of a baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// Device, or a pattern.
    pub device: String,
    /// Case, or a pattern.
    pub case: String,
    /// The outcome that is expected.
    pub outcome: Outcome,
}

/// What comes of the cases today. What is not listed passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    lines: Vec<Expectation>,
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// If a line is not `device/case,Status`.
    pub fn parse(text: &str) -> Result<Baseline, LineError> {
        lines(text)
            .map(|(line, text)| Expectation::parse(text).map_err(|problem| LineError { line, problem }))
            .collect()
    }

    /// What is expected of a case; where several lines say something, the last one counts.
    pub fn expected(&self, device: &str, case: &str) -> Option<Outcome> {
        let matching = |line: &&Expectation| glob(&line.device, device, Some('/')) && glob(&line.case, case, None);
        self.lines.iter().rev().find(matching).map(|line| line.outcome)
    }

    /// The cases that are named, not matched, for a device.
    pub fn named<'a>(&'a self, device: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.lines.iter().filter(|line| !line.case.contains('*') && line.outcome != Outcome::Skip);
        named.filter(move |line| glob(&line.device, device, Some('/'))).map(|line| line.case.as_str())
    }
}

impl FromIterator<Expectation> for Baseline {
    fn from_iter<I: IntoIterator<Item = Expectation>>(lines: I) -> Baseline {
        Baseline { lines: lines.into_iter().collect() }
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Expectation { device, case, outcome } in &self.lines {
            writeln!(f, "{device}/{case},{}", outcome.name())?;
        }
        Ok(())
    }
}

impl Expectation {
    fn parse(text: &str) -> Result<Expectation, String> {
        let (name, status) = text.rsplit_once(',').ok_or("a line is `device/case,Status`")?;
        let (device, case) = name.split_once('/').ok_or("a name is `device/case`; `*/case` means every device")?;
        let status = status.trim();
        let outcome = Outcome::from_name(status).ok_or_else(|| {
            let names = Outcome::ALL.map(Outcome::name).join(", ");
            format!("there is no status '{status}'; there are: {names}")
        })?;
        Ok(Expectation { device: device.trim().into(), case: case.trim().into(), outcome })
    }
}

/// Regular expressions, one a line.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    set: RegexSet,
}

impl Patterns {
    /// Reads a list.
    ///
    /// # Errors
    /// If a line is no regular expression.
    pub fn parse(text: &str) -> Result<Patterns, LineError> {
        let mut patterns = Vec::new();
        for (line, pattern) in lines(text) {
            regex::Regex::new(pattern).map_err(|error| LineError { line, problem: problem(&error) })?;
            patterns.push(pattern);
        }
        // Each is good; all of them together may only be too large.
        let set = RegexSet::new(patterns).map_err(|error| LineError { line: 1, problem: problem(&error) })?;
        Ok(Patterns { set })
    }

    /// True if one of them is found in the name of a case on a device.
    pub fn have(&self, device: &str, case: &str) -> bool {
        self.set.is_match(&format!("{device}/{case}"))
    }
}

/// How many cases have each status.
pub fn count(statuses: impl IntoIterator<Item = Status>) -> BTreeMap<Status, usize> {
    let mut counts = BTreeMap::new();
    statuses.into_iter().for_each(|status| *counts.entry(status).or_default() += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Crash, Fail, Pass, Skip, Timeout, Vacuous};

    #[test]
    fn an_outcome_is_read_against_what_was_expected() {
        let improved = Status::UnexpectedImprovement;
        let table = [
            (None, Pass, Status::Pass),
            (None, Fail, Status::Fail),
            (None, Crash, Status::Crash),
            (None, Timeout, Status::Timeout),
            (None, Vacuous, Status::Vacuous),
            (None, Skip, Status::Skip),
            (Some(Pass), Pass, Status::Pass),
            (Some(Pass), Fail, Status::Fail),
            (Some(Fail), Fail, Status::ExpectedFail),
            (Some(Crash), Crash, Status::ExpectedFail),
            (Some(Vacuous), Vacuous, Status::ExpectedFail),
            (Some(Fail), Pass, improved(Pass)),
            (Some(Crash), Fail, improved(Fail)),
            (Some(Fail), Crash, Status::Crash),
            (Some(Fail), Skip, Status::Skip),
            (Some(Skip), Pass, Status::Pass),
            (Some(Skip), Fail, Status::Fail),
        ];
        for (expected, outcome, status) in table {
            assert_eq!(against(expected, outcome), status, "expected {expected:?}, actual {outcome:?}");
        }
    }

    /// A device that gives these outcomes, over and over.
    fn ruling(expected: Option<Outcome>, known: KnownFlake, outcomes: &[Outcome]) -> (Status, u32, u32) {
        let mut next = outcomes.iter().copied().cycle();
        let ruling = rule(expected, known, 5, || next.next().expect("a cycle has no end"));
        (ruling.status, ruling.tally.failed, ruling.tally.runs)
    }

    #[test]
    fn what_comes_and_goes_is_a_flake() {
        use KnownFlake::{No, Yes};
        let improved = Status::UnexpectedImprovement(Pass);
        let table = [
            (None, No, &[Pass][..], (Status::Pass, 0, 1)),
            (None, No, &[Fail], (Status::Fail, 5, 5)),
            (None, No, &[Fail, Pass], (Status::Flake, 3, 5)),
            (None, Yes, &[Fail, Pass], (Status::KnownFlake, 3, 5)),
            (None, Yes, &[Fail], (Status::KnownFlake, 5, 5)),
            (None, Yes, &[Pass], (Status::Pass, 0, 1)),
            (None, No, &[Fail, Crash], (Status::Crash, 5, 5)),
            (None, No, &[Timeout], (Status::Timeout, 2, 2)),
            (Some(Fail), No, &[Fail], (Status::ExpectedFail, 1, 1)),
            (Some(Fail), No, &[Pass], (improved, 0, 5)),
            (Some(Fail), No, &[Pass, Pass, Fail], (Status::Flake, 1, 5)),
            (Some(Fail), Yes, &[Pass, Pass, Fail], (Status::KnownFlake, 1, 5)),
            (None, No, &[Skip], (Status::Skip, 0, 1)),
        ];
        for (expected, known, outcomes, want) in table {
            assert_eq!(ruling(expected, known, outcomes), want, "{expected:?} {known:?} {outcomes:?}");
        }
    }

    #[test]
    fn a_baseline_reads_back_what_it_writes() {
        let text = "# lavapipe\n\nlvp*/vectors/V0*,Fail\nlvp/vectors/V01, Pass\n*/loops/while-1,Crash\nreference:elect@16/a,b,Skip\n";
        let baseline = Baseline::parse(text).expect("a baseline");
        assert_eq!(Baseline::parse(&baseline.to_string()), Ok(baseline.clone()));
        let table = [
            ("lvp-22", "vectors/V02", Some(Fail)),
            ("lvp", "vectors/V01", Some(Pass)),
            ("lvp", "vectors/V11", None),
            ("swiftshader", "loops/while-1", Some(Crash)),
            ("reference:elect@16", "a,b", Some(Skip)),
            ("other", "x", None),
        ];
        for (device, case, outcome) in table {
            assert_eq!(baseline.expected(device, case), outcome, "{device}/{case}");
        }
        assert_eq!(baseline.named("lvp").collect::<Vec<_>>(), ["vectors/V01", "loops/while-1"]);
    }

    #[test]
    fn a_bad_line_is_named() {
        let table = [
            ("# one\nlvp/a", 2, "`device/case,Status`"),
            ("lvp,Fail", 1, "`device/case`"),
            ("\n\nlvp/a,Failed", 3, "'Failed'"),
        ];
        for (text, line, part) in table {
            let error = Baseline::parse(text).expect_err(text);
            assert_eq!(error.line, line, "{error}");
            assert!(error.problem.contains(part), "{error}");
        }
        assert_eq!(Patterns::parse("a.*\n(").map(|_| ()).map_err(|error| error.line), Err(2));
    }

    #[test]
    fn patterns_are_found_anywhere() {
        let patterns = Patterns::parse("# hangs\nlvp.*/loops/\nV0[12]$\n").expect("patterns");
        for (device, case, have) in [("lvp-22", "loops/a", true), ("x", "vectors/V01", true), ("x", "V011", false)] {
            assert_eq!(patterns.have(device, case), have, "{device}/{case}");
        }
        assert!(!Patterns::parse("# nothing\n").expect("patterns").have("a", "b"));
    }
}
