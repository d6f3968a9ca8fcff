//! The bug book: a folder in git, one file a bug. Campaigns read it as known bugs ([`crate::known`]), `tangle bugs` keeps it.
//!
//! ```toml
//! id = "llvmpipe-after-loop-49bb59d0"       # for ever; the file's name, too
//! title = "wrong result: after-loop"
//! state = "reported"                        # new, reported, confirmed, fixed, invalid, duplicate, specification_question
//! tracker = "https://gitlab.freedesktop.org/…"
//! duplicate_of = "…"                        # the id of another
//! severity = "hard"
//! clearest = "maximal"                      # the tier at which it is, if not that of the case
//! drivers = ["llvmpipe"]                    # the drivers that have it, in Vulkan's words (`driverName`); or compilers, "hlsl@dxc"; or "glslang" or "spirv-opt", which make the modules
//! devices = ["lavapipe-*-w512"]             # only on devices of these names
//! note = "…"
//! case = "cases/….json"                     # and signature, skeleton, also, example, pass, effect, avoid, passes_without: as in `known.rs`
//!
//! [[versions]]                              # what was seen, version by version
//! driver = "llvmpipe"
//! version = "Mesa 25.0.7-2 (LLVM 19.1.7)"
//! result = "bad"                            # or "good"
//!
//! [[switches]]                              # `tangle bugs blame`: what makes it pass
//! device = "lavapipe-trixie"
//! passes = ["GALLIVM_PERF=nopt"]
//!
//! [[history]]
//! date = "2026-11-22"
//! what = "added from a finding on lavapipe-trixie"
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::{Deserialize, Serialize};
use tangle_generator::Combination;
use tangle_program::case::{Case, Tier};
use tangle_program::subgroup::Severity;
use tangle_program::variant::Variant;

use crate::change::Change;
use crate::entry::{DeviceId, Effect, KnownError};
use crate::signature::Signature;
use crate::switches::Switches;

/// What is known of a bug's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nobody else knows of it.
    #[default]
    New,
    /// It is in the driver's tracker.
    Reported,
    /// The driver's developers say that it is one.
    Confirmed,
    /// It does not show any more.
    Fixed,
    /// It is no bug: the driver may do what it does, or tangle was wrong.
    Invalid,
    /// It is another one.
    Duplicate,
    /// The specification has to say first.
    SpecificationQuestion,
}

impl State {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            State::New => "new",
            State::Reported => "reported",
            State::Confirmed => "confirmed",
            State::Fixed => "fixed",
            State::Invalid => "invalid",
            State::Duplicate => "duplicate",
            State::SpecificationQuestion => "specification_question",
        }
    }

    /// True if somebody has to do something about it in the driver.
    pub const fn is_open(self) -> bool {
        matches!(self, State::New | State::Reported | State::Confirmed)
    }
}

/// Whether a version has the bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// It does not show.
    Good,
    /// The bug's case fails as it did when the bug was found.
    Bad,
}

/// What was seen of a version of a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenVersion {
    /// Vulkan's `driverName`.
    pub driver: String,
    /// Vulkan's `driverInfo`.
    pub version: String,
    /// Whether the bug's case failed with it.
    pub result: Seen,
}

/// An entry of a bug's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The day, `2026-11-22`.
    pub date: String,
    /// What happened, in a sentence.
    pub what: String,
}

/// A page of the book.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Identifies it, for ever.
    pub id: String,
    /// What it is, in a line.
    #[serde(default)]
    pub title: String,
    /// How far it is.
    #[serde(default)]
    pub state: State,
    /// Where it is tracked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tracker: String,
    /// The id of the bug that it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub duplicate_of: String,
    /// What it rests on.
    #[serde(default)]
    pub severity: Severity,
    /// The tier at which the violation rests on [`Record::severity`], where it is another than that of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clearest: Option<Tier>,
    /// Names of the drivers that have it, of compilers as `tangle compilers` has them, or of the [`TOOLCHAIN`]; none: every driver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<String>,
    /// Only devices of these names, with `*` for anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Free text; nothing is decided by it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// A regular expression, found anywhere in a finding's signature: what identifies the bug ([`crate::known`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The shape of the minimal program, as `tangle fuzz --minimize` prints it ([`crate::known`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skeleton: Option<String>,
    /// A minimal case, a path from the folder of the book: its skeleton identifies the bug ([`crate::known`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<PathBuf>,
    /// Minimal cases of other shapes, paths from the folder of the book: their skeletons identify the bug as that of `case` does ([`crate::known`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<PathBuf>,
    /// A case that shows the bug and identifies nothing, a path from the folder of the book ([`crate::known`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<PathBuf>,
    /// Of a bug of `spirv-opt`: the last pass of the minimal program's list ([`crate::known`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<String>,
    /// Whether a program that `skeleton` or `case` identifies gives wrong results, or the driver dies of it ([`crate::known`]).
    #[serde(default)]
    pub effect: Effect,
    /// What `--avoid-known` steers a campaign away from; if it is not there, what the minimal `case` is made of ([`crate::known`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avoid: Option<Vec<Combination>>,
    /// Changes with which its programs pass: they identify findings that are not minimised, too ([`crate::known`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes_without: Vec<Change>,
    /// What was seen, version by version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<SeenVersion>,
    /// What makes it pass, version by version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<Switches>,
    /// What happened, from the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Event>,
}

/// The word among a bug's drivers for SPIRV-Tools' optimiser.
pub const OPTIMISER: &str = "spirv-opt";

/// The word among a bug's drivers for glslang as the compiler of Vulkan's GLSL.
pub const GLSLANG: &str = "glslang";

/// Who makes the modules that drivers get: what is wrong with these is so on every device, and the interpreter shows it without a driver.
pub const TOOLCHAIN: [&str; 2] = [GLSLANG, OPTIMISER];

fn is_toolchain(driver: &str) -> bool {
    TOOLCHAIN.contains(&driver)
}

/// The first number with a dot in it, `Mesa 22.3.6 (LLVM 15.0.6)` say, by its parts. Behind an OpenGL version (`4.6 (Core Profile) Mesa 26.2.6`,
/// `4.6.0 NVIDIA 580.159.04`: "<version number><space><vendor-specific information>", OpenGL 4.6 §22.2) the driver's own counts.
pub fn version_numbers(text: &str) -> Vec<u32> {
    let driver = text.split_once(' ').filter(|(api, rest)| is_api_version(api) && !dotted(rest).is_empty());
    dotted(driver.map_or(text, |(_, rest)| rest))
}

/// True of the version of an API, one digit a part: `4.6` and `4.6.0`.
fn is_api_version(word: &str) -> bool {
    let mut parts = word.split('.');
    let is_digit = |part: &str| part.len() == 1 && part.bytes().all(|c| c.is_ascii_digit());
    parts.clone().count() <= 3 && parts.next().is_some_and(is_digit) && parts.next().is_some_and(is_digit)
}

fn dotted(text: &str) -> Vec<u32> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let dotted = words.map(|word| word.trim_matches('.')).find(|word| word.contains('.'));
    dotted.into_iter().flat_map(|word| word.split('.')).filter_map(|number| number.parse().ok()).collect()
}

/// The result of a bug's case on a device today.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The unique name of the device, as `tangle devices` shows it.
    pub device: String,
    /// Vulkan's `driverName`; of a bug of a compiler or of `spirv-opt`, the name of that.
    pub driver: String,
    /// Vulkan's `driverInfo`, or the version of the compiler.
    pub version: String,
    /// Whether the case failed as the bug does; a device that says nothing about it has no entry.
    pub result: Seen,
    /// What the failure rests on, where it shows.
    pub severity: Option<Severity>,
    /// The tier at which it rests on that, where it is another than that of the case.
    pub clearest: Option<Tier>,
}

impl Record {
    /// Reads a page from its text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Record, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// The page as it stands in its file.
    ///
    /// # Errors
    /// None for what can be read.
    pub fn to_text(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }

    /// The case that shows it: its path from the folder of the book.
    pub fn shown_by(&self) -> Option<&Path> {
        self.case.as_deref().or(self.example.as_deref())
    }

    /// True if the device is one that the book speaks of: its driver and name are those of the bug, whatever its version.
    pub fn is_about(&self, name: &str, driver: &str) -> bool {
        let is_driver =
            self.drivers.is_empty() || self.drivers.iter().any(|own| own == driver.trim() || is_toolchain(own));
        let is_device = self.devices.is_empty() || self.devices.iter().any(|own| crate::pattern::glob(own, name, None));
        is_driver && is_device
    }

    /// What identifies it beside its minimal case, which is [`Record::case`]. Programs of many shapes make a compiler fail, so that what it said counts, too.
    /// Of a bug of `spirv-opt` the last pass counts, as all of a minimal list are needed.
    pub fn identify(&mut self, signature: &Signature, minimal: &Case) {
        let effect = Effect::of(signature.kind);
        self.effect = effect.unwrap_or_default();
        if effect.is_none() {
            self.signature = Some(regex::escape(&signature.to_string()));
        }
        if let Variant::Passes(passes) = &minimal.variant
            && (effect.is_none() || self.maker() == Some(OPTIMISER))
        {
            self.pass = passes.last().map(|pass| (*pass).to_owned());
        }
    }

    /// True if a failure may be this bug: where a signature identifies it, the failure has that signature.
    pub fn may_be(&self, failure: &Signature) -> bool {
        self.signature
            .as_deref()
            .is_none_or(|text| Regex::new(text).is_ok_and(|regex| regex.is_match(&failure.to_string())))
    }

    /// True if a compiler of shaders or the toolchain has it, and no driver.
    pub fn is_of_compiler(&self) -> bool {
        self.maker().is_some() || self.drivers.iter().any(|driver| driver.contains('@'))
    }

    /// The part of the [`TOOLCHAIN`] that has it.
    pub fn maker(&self) -> Option<&str> {
        self.drivers.iter().map(String::as_str).find(|driver| is_toolchain(driver))
    }

    /// True if a device may have it: its version is one that was seen to, or between or beside such versions with no good one nearer.
    pub fn concerns(&self, device: &DeviceId) -> bool {
        if let Some(maker) = self.maker() {
            return self.is_about(&device.name, maker);
        }
        let own = self.drivers.iter().find(|own| {
            device.driver.strip_prefix(own.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        let driver = own.map_or("", String::as_str);
        if !self.is_about(&device.name, driver) {
            return false;
        }
        let version = device.driver[driver.len()..].trim();
        self.expected(driver, version) != Some(Seen::Good)
    }

    /// What is to be expected of a version; `None` if nothing is known of the driver.
    pub fn expected(&self, driver: &str, version: &str) -> Option<Seen> {
        let seen = self.seen(driver);
        if let Some(known) = self.versions.iter().find(|seen| seen.driver == driver && seen.version == version) {
            return Some(known.result);
        }
        let numbers = version_numbers(version);
        let below = seen.range(..=numbers.clone()).next_back().map(|(_, &result)| result);
        let above = seen.range(numbers..).next().map(|(_, &result)| result);
        below.into_iter().chain(above).max()
    }

    /// What was seen of a driver, by the numbers of its versions. One that was seen to be bad is.
    fn seen(&self, driver: &str) -> BTreeMap<Vec<u32>, Seen> {
        let mut seen = BTreeMap::new();
        for at in self.versions.iter().filter(|at| at.driver == driver) {
            let result = seen.entry(version_numbers(&at.version)).or_insert(at.result);
            *result = at.result.max(*result);
        }
        seen
    }

    /// Which versions have it, a sentence for each driver.
    pub fn ranges(&self) -> Vec<String> {
        let mut drivers: Vec<&str> = self.versions.iter().map(|at| at.driver.as_str()).collect();
        drivers.sort_unstable();
        drivers.dedup();
        let show = |numbers: &[u32]| match numbers {
            [] => "this version".to_owned(),
            numbers => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join("."),
        };
        let range = |driver: &str| {
            let mut parts: Vec<String> = Vec::new();
            let mut before: Option<(String, Seen)> = None;
            for (numbers, result) in self.seen(driver) {
                let number = show(&numbers);
                match (&before, result) {
                    (None, Seen::Bad) => parts.push(format!("bad in {number}")),
                    (Some((_, Seen::Bad)), Seen::Bad) => parts.push(format!("and {number}")),
                    (Some((good, Seen::Good)), Seen::Bad) => parts.push(format!("good in {good}, bad since {number}")),
                    (Some((_, Seen::Bad)), Seen::Good) => parts.push(format!("fixed in {number} or earlier")),
                    (None | Some((_, Seen::Good)), Seen::Good) => {}
                }
                before = Some((number, result));
            }
            let parts = if parts.is_empty() { "never seen".to_owned() } else { parts.join(", ") };
            format!("{driver}: {parts}")
        };
        drivers.into_iter().map(range).collect()
    }

    /// Enters the result of the case today: widens the versions, closes what is fixed, reopens what is back. Gives the sentences that the
    /// history got: none if nothing is new. Results of drivers that the book does not name are left alone.
    pub fn retest(&mut self, tried: &[Tried], today: &str) -> Vec<String> {
        let mut by_version: BTreeMap<(&str, &str), (Seen, Vec<&str>)> = BTreeMap::new();
        for one in tried.iter().filter(|one| self.is_about(&one.device, &one.driver)) {
            let entry = by_version.entry((&one.driver, &one.version)).or_insert((one.result, Vec::new()));
            if one.result > entry.0 {
                // One device of a version that has it is enough.
                *entry = (one.result, Vec::new());
            }
            if one.result == entry.0 {
                entry.1.push(&one.device);
            }
        }
        let mut changes = Vec::new();
        let about = tried.iter().filter(|one| self.is_about(&one.device, &one.driver));
        let clearest = about.filter_map(|one| Some((one.severity?, one.clearest))).min();
        if let Some((severity, clearest)) = clearest
            && (severity, clearest) != (self.severity, self.clearest)
            // A device without the tier says nothing against it.
            && !(self.clearest.is_some() && severity > self.severity)
        {
            let at = clearest.map_or(String::new(), |tier| format!(" at tier {}", tier.name()));
            changes.push(format!("severity {}{at}, as the specification is read today", severity.name()));
            (self.severity, self.clearest) = (severity, clearest);
        }
        for ((driver, version), (result, devices)) in &by_version {
            let on = format!("{driver} {version} ({})", devices.join(", "));
            match self.versions.iter_mut().find(|seen| seen.driver == *driver && seen.version == *version) {
                Some(seen) if seen.result == *result => {}
                Some(seen) => {
                    seen.result = *result;
                    changes.push(match result {
                        Seen::Good => {
                            format!("does not show any more on {on}: the same version, so that it may come and go")
                        }
                        Seen::Bad => format!("shows on {on}, where it did not before"),
                    });
                }
                None => {
                    let (driver, version) = ((*driver).to_owned(), (*version).to_owned());
                    self.versions.push(SeenVersion { driver, version, result: *result });
                    changes.push(match result {
                        Seen::Good => format!("passes on {on}"),
                        Seen::Bad => format!("shows on {on}"),
                    });
                }
            }
        }
        self.versions.sort_by(|a, b| {
            let key = |at: &SeenVersion| (at.driver.clone(), version_numbers(&at.version), at.version.clone());
            key(a).cmp(&key(b))
        });
        changes.extend(self.judge_state());
        let date = || today.to_owned();
        self.history.extend(changes.iter().map(|what| Event { date: date(), what: what.clone() }));
        changes
    }

    /// Enters what switches say, in the place of what they said of the same version. Gives the sentence that the history got, if it is a new one.
    pub fn enter_switches(&mut self, switches: Switches, today: &str) -> Option<String> {
        let is_same = |old: &Switches| old.driver == switches.driver && old.version == switches.version;
        let old = self.switches.iter().position(is_same).map(|at| self.switches.remove(at));
        let is_news = old.is_none_or(|old| old.passes != switches.passes);
        let what = format!("on {}: {}", switches.device, switches.sentences());
        self.switches.push(switches);
        self.switches.sort_by(|a, b| (&a.driver, &a.version).cmp(&(&b.driver, &b.version)));
        if !is_news {
            return None;
        }
        self.history.push(Event { date: today.to_owned(), what: what.clone() });
        Some(what)
    }

    /// Closes it if the newest version of every driver that had it is good, and reopens it if one is bad.
    fn judge_state(&mut self) -> Option<String> {
        let mut drivers: Vec<&str> = self.versions.iter().map(|at| at.driver.as_str()).collect();
        drivers.dedup();
        let had = |seen: &BTreeMap<Vec<u32>, Seen>| seen.values().any(|&result| result == Seen::Bad);
        let newest: Vec<(&str, Seen, Vec<u32>)> = drivers
            .into_iter()
            .map(|driver| (driver, self.seen(driver)))
            .filter(|(_, seen)| had(seen))
            .filter_map(|(driver, seen)| {
                seen.last_key_value().map(|(numbers, &result)| (driver, result, numbers.clone()))
            })
            .collect();
        let bad = newest.iter().find(|(_, result, _)| *result == Seen::Bad);
        let show = |(driver, _, numbers): &(&str, Seen, Vec<u32>)| {
            format!("{driver} {}", numbers.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
        };
        match (self.state.is_open(), self.state == State::Fixed, bad) {
            (true, _, None) if !newest.is_empty() => {
                let versions: Vec<String> = newest.iter().map(show).collect();
                self.state = State::Fixed;
                Some(format!("fixed: the newest that was tried is good, {}", versions.join(", ")))
            }
            // A version that had it passes now.
            (true, _, None) if !self.versions.is_empty() => {
                self.state = State::Fixed;
                Some("fixed: no version that was tried shows it any more".into())
            }
            (_, true, Some(bad)) => {
                let what = format!("back in {}: open again", show(bad));
                self.state = if self.tracker.is_empty() { State::New } else { State::Reported };
                Some(what)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.id, self.title)
    }
}

/// A book: a folder of pages.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// The folder that its pages were read from, which paths of cases begin at.
    pub folder: PathBuf,
    /// Its pages, by id.
    pub records: Vec<Record>,
    /// Files of the older form, with several bugs each: campaigns know them, and nothing else is done with them.
    pub lists: Vec<PathBuf>,
}

impl Book {
    /// Reads a book; a folder that is not there is an empty one.
    ///
    /// # Errors
    /// If a page cannot be read, or two have one id.
    pub fn read(folder: &Path) -> Result<Book, KnownError> {
        let mut book = Book { folder: folder.to_owned(), ..Book::default() };
        if !folder.exists() {
            return Ok(book);
        }
        for file in crate::entry::files(folder)? {
            let wrong = |problem: String| KnownError { path: file.clone(), problem };
            let text = tangle_files::read_text(&file).map_err(|error| wrong(error.to_string()))?;
            if !is_page(&text) {
                book.lists.push(file);
                continue;
            }
            let record = Record::parse(&text).map_err(wrong)?;
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            if *stem != *record.id {
                return Err(wrong(format!("its id is {}, which is not its name", record.id)));
            }
            book.records.push(record);
        }
        Ok(book)
    }

    /// The file of a page.
    pub fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.toml"))
    }
}

/// True for the text of a page, as opposed to a list of bugs.
pub(crate) fn is_page(text: &str) -> bool {
    toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("id"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Detail, Kind};

    fn record() -> Record {
        Record { id: "l-x".into(), drivers: vec!["l".into()], ..Record::default() }
    }

    fn tried(all: &[(&str, &str, Seen)]) -> Vec<Tried> {
        let one = |&(driver, version, result): &(&str, &str, Seen)| Tried {
            device: format!("{driver}-{version}"),
            driver: driver.into(),
            version: format!("V {version}"),
            result,
            severity: None,
            clearest: None,
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn a_retest_widens_closes_and_reopens() {
        use Seen::{Bad, Good};
        let mut bug = record();
        let steps: [(&[(&str, &str, Seen)], State, &[&str], &str); 7] = [
            (&[("l", "2.0", Bad)], State::New, &["shows on l V 2.0"], "l: bad in 2.0"),
            // Nothing new.
            (&[("l", "2.0", Bad)], State::New, &[], "l: bad in 2.0"),
            // Another driver is another bug.
            (
                &[("m", "1.0", Bad), ("l", "1.0", Good)],
                State::New,
                &["passes on l V 1.0"],
                "l: good in 1.0, bad since 2.0",
            ),
            (&[("l", "1.5", Bad)], State::New, &["shows on l V 1.5"], "l: good in 1.0, bad since 1.5, and 2.0"),
            (
                &[("l", "3.0", Good)],
                State::Fixed,
                &["passes on l V 3.0", "fixed: the newest that was tried is good, l 3.0"],
                "l: good in 1.0, bad since 1.5, and 2.0, fixed in 3.0 or earlier",
            ),
            (
                &[("l", "3.1", Bad)],
                State::New,
                &["shows on l V 3.1", "back in l 3.1: open again"],
                "l: good in 1.0, bad since 1.5, and 2.0, fixed in 3.0 or earlier, good in 3.0, bad since 3.1",
            ),
            (
                &[("l", "3.1", Good)],
                State::Fixed,
                &["does not show any more on l V 3.1", "fixed: "],
                "l: good in 1.0, bad since 1.5, and 2.0, fixed in 3.0 or earlier",
            ),
        ];
        for (all, state, changes, range) in steps {
            let said = bug.retest(&tried(all), "2026-01-01");
            assert_eq!((said.len(), bug.state), (changes.len(), state), "{said:?}");
            assert!(said.iter().zip(changes).all(|(said, changes)| said.starts_with(changes)), "{said:?}");
            assert_eq!(bug.ranges(), [range]);
        }
        let again = Record::parse(&bug.to_text().expect("it can be written")).expect("it can be read");
        assert_eq!(again, bug);
    }

    #[test]
    fn a_severity_says_at_which_tier() {
        let mut bug = record();
        let at = |severity, clearest| Tried {
            severity: Some(severity),
            clearest,
            ..tried(&[("l", "1.0", Seen::Bad)]).swap_remove(0)
        };
        let table = [
            (at(Severity::Strong, None), Some("severity strong, as")),
            (at(Severity::Hard, Some(Tier::Maximal)), Some("severity hard at tier maximal, as")),
            (at(Severity::Hard, Some(Tier::Maximal)), None),
            // At the case's own tier is simpler.
            (at(Severity::Hard, None), Some("severity hard, as")),
        ];
        for (one, expected) in table {
            let said = bug.retest(&[one], "");
            let severity = said.iter().find(|what| what.starts_with("severity"));
            assert!(severity.is_some() == expected.is_some(), "{said:?} {expected:?}");
            assert!(
                expected.is_none_or(|expected| severity.is_some_and(|said| said.starts_with(expected))),
                "{said:?}"
            );
        }
    }

    /// A module is wrong whoever runs it.
    #[test]
    fn a_bug_of_the_toolchain_is_about_every_device() {
        for maker in TOOLCHAIN {
            let mut bug = Record { drivers: vec![maker.into()], ..record() };
            bug.retest(&tried(&[(maker, "2026.1", Seen::Bad)]), "");
            assert!(bug.concerns(&DeviceId { name: "d".into(), driver: "l V 2.0".into() }));
            assert_eq!((bug.maker(), bug.is_of_compiler()), (Some(maker), true));
            assert_eq!(bug.ranges(), [format!("{maker}: bad in 2026.1")]);
        }
    }

    /// What a driver makes of optimised modules is no bug of a pass.
    #[test]
    fn the_last_pass_identifies_bugs_of_the_optimiser() {
        let case = include_str!("../../../corpus/regressions/optimiser_clamp_of_uint8.json");
        let mut case = Case::from_json(case).expect("a case of the corpus");
        case.variant = Variant::of_passes(["eliminate-local-multi-store", "ccp"]);
        let value = Signature::new(Kind::Value, Detail::Text("x".into()));
        let refused = Signature { kind: Kind::Toolchain, ..value.clone() };
        for (driver, signature, identified) in [
            (OPTIMISER, &value, (false, Some("ccp"))),
            (OPTIMISER, &refused, (true, Some("ccp"))),
            ("l", &value, (false, None)),
        ] {
            let mut bug = Record { drivers: vec![driver.into()], ..record() };
            bug.identify(signature, &case);
            assert_eq!((bug.signature.is_some(), bug.pass.as_deref()), identified, "{driver} {signature}");
        }
    }

    #[test]
    fn the_version_is_that_of_the_driver() {
        let table: [(&str, &[u32]); 8] = [
            ("Mesa 22.3.6 (LLVM 15.0.6)", &[22, 3, 6]),
            ("580.159.04", &[580, 159, 4]),
            ("4.6 (Core Profile) Mesa 26.2.6-1", &[26, 2, 6]),
            ("4.6.0 NVIDIA 580.159.04", &[580, 159, 4]),
            ("2.0.294 (LLPC)", &[2, 0, 294]),
            ("DXC 1.7 (d66bdf94)", &[1, 7]),
            ("Slang 2026.14.1", &[2026, 14, 1]),
            ("", &[]),
        ];
        for (text, numbers) in table {
            assert_eq!(version_numbers(text), numbers, "{text}");
        }
    }

    #[test]
    fn a_version_between_bad_ones_is_bad_and_one_behind_a_good_one_is_good() {
        use Seen::{Bad, Good};
        let mut bug = record();
        bug.retest(&tried(&[("l", "1.0", Good), ("l", "2.0", Bad), ("l", "3.0", Bad), ("l", "4.0", Good)]), "");
        for (version, is_known) in [
            ("0.5", false),
            ("1.0", false),
            ("1.5", true),
            ("2.0", true),
            ("2.5", true),
            ("3.5", true),
            ("4.0", false),
            ("5.0", false),
        ] {
            let device = DeviceId { name: "d".into(), driver: format!("l V {version}") };
            assert_eq!(bug.concerns(&device), is_known, "{version}");
        }
        let other = DeviceId { name: "d".into(), driver: "lx V 2.0".into() };
        assert!(!bug.concerns(&other));
        bug.devices = vec!["e*".into()];
        assert!(!bug.concerns(&DeviceId { name: "d".into(), driver: "l V 2.0".into() }));
        assert!(record().concerns(&DeviceId { name: "d".into(), driver: "l".into() }), "nothing is known of versions");
    }
}
