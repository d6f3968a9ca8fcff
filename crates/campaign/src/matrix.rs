//! Devices against bugs: every case on every device, and from that, which version of a driver has the bug and which has not.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

use tangle_identity::book::version_numbers as numbers;
use tangle_identity::{DriverId, Kind, Status};
use tangle_program::case::Case;
use tangle_report::matrix::{Matrix, MatrixCell, MatrixDevice, MatrixRow, Meaning};

use crate::everywhere::everywhere;
use crate::prepare::Prep;
use crate::target::{Conclusion, Target};

/// A case that shows a bug, or might.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Name of the bug or case.
    pub name: String,
    /// What is said of it: versions, say.
    pub about: String,
    /// The case that is run on every device, with its own variant.
    pub case: Case,
}

/// Runs every case on every device. `done` counts the runs that are through.
pub fn matrix(targets: &[Target], subjects: &[Subject], done: &AtomicUsize) -> Matrix {
    let preps: Vec<Prep> = subjects.iter().map(|subject| Prep::of(subject.case.clone())).collect();
    let conclusions = everywhere(targets, &preps, done);
    let versions: Vec<Version> = targets.iter().map(Version::of).collect();
    let row = |(index, subject): (usize, &Subject)| {
        let cells: Vec<MatrixCell> = conclusions.iter().map(|device| cell(&subject.case, &device[index])).collect();
        MatrixRow {
            name: subject.name.clone(),
            about: subject.about.clone(),
            history: histories(&versions, &cells),
            cells,
        }
    };
    let device =
        |target: &Target| MatrixDevice { name: target.name.clone(), driver: target.id().driver.trim().to_owned() };
    Matrix { devices: targets.iter().map(device).collect(), rows: subjects.iter().enumerate().map(row).collect() }
}

fn cell(case: &Case, conclusion: &Conclusion) -> MatrixCell {
    let status = conclusion.status(case);
    let meaning = match status {
        // The toolchain's, and no device's.
        Status::Finding(Kind::Toolchain) => Meaning::Open,
        Status::Finding(_) => Meaning::Bad,
        Status::Pass => Meaning::Good,
        Status::Vacuous | Status::Compiled | Status::NotRun | Status::NoWorker | Status::ShortOfMemory => Meaning::Open,
    };
    MatrixCell { status, meaning }
}

/// A driver and its version, as numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    driver: String,
    numbers: Vec<u32>,
}

impl Version {
    fn of(target: &Target) -> Version {
        let DriverId { name, version } = target.driver_id();
        Version { driver: name, numbers: numbers(&version) }
    }

    fn number(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        if numbers.is_empty() { "this version".into() } else { numbers.join(".") }
    }
}

/// For each driver that shows the bug: the versions that have it, and those that have not. A version has it if one of its devices
/// shows it.
fn histories(versions: &[Version], cells: &[MatrixCell]) -> Vec<String> {
    let mut drivers: BTreeMap<&str, BTreeMap<&Version, Meaning>> = BTreeMap::new();
    for (version, cell) in versions.iter().zip(cells) {
        let of_driver = || versions.iter().zip(cells).filter(|(other, _)| other.driver == version.driver);
        let meaning = match cell.meaning {
            // That a pipeline could be created speaks against a bug only if the bug is that it cannot.
            Meaning::Open if cell.status == Status::Compiled && !of_driver().any(|(_, cell)| is_result(cell)) => {
                Meaning::Good
            }
            Meaning::Open => continue,
            meaning => meaning,
        };
        let known = drivers.entry(&version.driver).or_default().entry(version).or_insert(meaning);
        if meaning == Meaning::Bad {
            *known = Meaning::Bad;
        }
    }
    let shown = drivers.into_iter().filter(|(_, versions)| versions.values().any(|&meaning| meaning == Meaning::Bad));
    shown.map(|(driver, versions)| format!("{driver}: {}", history(&versions))).collect()
}

/// True if this is a wrong result: something ran.
fn is_result(cell: &MatrixCell) -> bool {
    matches!(cell.status, Status::Finding(Kind::Value | Kind::Path | Kind::LaneMap))
}

/// One driver's history, from its oldest version here to its newest.
fn history(versions: &BTreeMap<&Version, Meaning>) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut before: Option<(&Version, Meaning)> = None;
    for (&version, &meaning) in versions {
        let number = version.number();
        match (before, meaning) {
            (None, Meaning::Bad) => parts.push(format!("bad in {number}")),
            (Some((_, Meaning::Bad)), Meaning::Bad) => parts.push(format!("and {number}")),
            (Some((earlier, _)), Meaning::Bad) => {
                parts.push(format!("good in {}, bad since {number}", earlier.number()));
            }
            (Some((_, Meaning::Bad)), _) => parts.push(format!("fixed in {number} or earlier")),
            _ => {}
        }
        before = Some((version, meaning));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        let table: [(&str, &[u32]); 4] = [
            ("Mesa 22.3.6 (LLVM 15.0.6)", &[22, 3, 6]),
            ("Mesa 26.2.6-1 (LLVM 22.1.8)", &[26, 2, 6]),
            ("580.159.04", &[580, 159, 4]),
            ("", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(numbers(text), expected, "{text}");
        }
    }

    #[test]
    fn a_history_tells_who_fixed_what() {
        use Meaning::{Bad, Good, Open};
        type Devices = &'static [(&'static str, &'static str, Meaning)];
        let table: [(Devices, &[&str]); 6] = [
            (&[("l", "22.3", Bad), ("l", "25.0", Good)], &["l: bad in 22.3, fixed in 25.0 or earlier"]),
            (&[("l", "26.2", Bad), ("l", "25.0", Good)], &["l: good in 25.0, bad since 26.2"]),
            (&[("l", "9.1", Bad), ("l", "10.0", Bad)], &["l: bad in 9.1, and 10.0"]),
            // One device of a version is enough; what says nothing is left out.
            (&[("l", "9.1", Good), ("l", "9.1", Bad), ("l", "8.0", Open)], &["l: bad in 9.1"]),
            (&[("a", "1.0", Good), ("b", "", Bad)], &["b: bad in this version"]),
            (&[("a", "1.0", Good)], &[]),
        ];
        for (devices, expected) in table {
            let version = |driver: &str, text: &str| Version { driver: driver.into(), numbers: numbers(text) };
            let versions: Vec<Version> = devices.iter().map(|(driver, text, _)| version(driver, text)).collect();
            let cells: Vec<MatrixCell> =
                devices.iter().map(|&(_, _, meaning)| MatrixCell { status: Status::NotRun, meaning }).collect();
            assert_eq!(histories(&versions, &cells), expected, "{devices:?}");
        }
    }

    #[test]
    fn compiling_speaks_against_crashes_only() {
        let versions = ["1.0", "2.0"].map(|text| Version { driver: "r".into(), numbers: numbers(text) });
        let compiled = MatrixCell { status: Status::Compiled, meaning: Meaning::Open };
        for (kind, expected) in
            [(Kind::Crash, "r: bad in 1.0, fixed in 2.0 or earlier"), (Kind::Value, "r: bad in 1.0")]
        {
            let cells = [MatrixCell { status: Status::Finding(kind), meaning: Meaning::Bad }, compiled];
            assert_eq!(histories(&versions, &cells), [expected]);
        }
    }
}
