//! The folder of a campaign: its lock, and what it says about its campaign (`campaign.json`, `coverage.json`).
//!
//! Both are written whole and synced, and the one before is kept (`campaign.previous.json`, `coverage.previous.json`): a state that cannot
//! be read is set aside (`.damaged`), reported, and the one before goes on. The two belong together by the number of their save, so
//! that nothing counts twice when the process ends between them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, anyhow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tangle_analysis::validate::validate;
use tangle_files::{create_folder, remove_partials, write_atomically};
use tangle_generator::Profile;
use tangle_identity::stage::Stage;
use tangle_oracle::coverage::Coverage;
use tangle_program::case::{Case, Tier};
use tangle_program::variant::Variant;

use tangle_report::campaign as report;
use tangle_report::statistics::Statistics;

use super::sample::read_samples;
use super::section::{Section, all_changes};
use crate::plan::Choice;
use crate::variants;

/// The version of `campaign.json` that this code reads and writes.
const FORMAT: u32 = 1;

/// The state of the campaign.
pub(super) const STATE: &str = "campaign";

/// What the campaign covered.
pub(super) const COVERAGE: &str = "coverage";

/// The file that says that a process has the folder.
const LOCK: &str = "campaign.lock";

/// The most that is read of a state, in bytes: read, it takes several times as much memory.
const MOST: u64 = 128 << 20;

/// Where a merged state comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MergedFrom {
    /// How many campaigns it is the sum of.
    pub(super) parts: usize,
    /// The seeds of their sequences.
    pub(super) seeds: BTreeSet<u64>,
}

/// A campaign as it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) format: u32,
    /// Of tangle, when it was saved.
    pub(super) version: String,
    /// Identifies this campaign; empty in those of versions that had none.
    #[serde(default)]
    pub(super) id: String,
    /// What it was merged from, if it is no campaign that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) merged: Option<MergedFrom>,
    /// Number of this save: that of the coverage that belongs to it.
    #[serde(default)]
    pub(super) save: u64,
    #[serde(flatten)]
    pub(super) choice: Choice,
    /// The devices: they decide the sequence.
    pub(super) devices: Vec<String>,
    /// The last one goes on.
    #[serde(default)]
    pub(super) sections: Vec<Section>,
    #[serde(rename = "ledger")]
    pub(super) statistics: Statistics,
}

/// Coverage as it is saved.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedCoverage {
    pub(super) save: u64,
    pub(super) devices: BTreeMap<String, Coverage>,
}

/// What is there of an earlier run.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// The state; `None` if there is none that can be read.
    pub(super) state: Option<State>,
    /// What was covered, by device.
    pub(super) coverage: BTreeMap<String, Coverage>,
    /// What a person should know, a sentence each.
    pub(super) notes: Vec<String>,
}

impl State {
    pub(super) fn new(choice: Choice, devices: Vec<String>) -> State {
        let version = env!("CARGO_PKG_VERSION").into();
        State {
            format: FORMAT,
            version,
            id: format!("{:032x}", rand::random::<u128>()),
            merged: None,
            save: 0,
            choice,
            devices,
            sections: Vec::new(),
            statistics: Statistics::default(),
        }
    }

    /// Identifies this campaign among those that are merged.
    pub(super) fn id(&self) -> String {
        match self.id.is_empty() {
            false => self.id.clone(),
            // The times in it are those of one run only.
            true => {
                let what = serde_json::to_vec(&(&self.choice, &self.devices, &self.sections)).unwrap_or_default();
                blake3::hash(&what).to_hex()[..32].to_owned()
            }
        }
    }

    /// How a campaign that is asked for differs from this one, in words; empty if it is the same.
    fn differences(&self, choice: &Choice, devices: &[String]) -> Vec<String> {
        let (here, asked) = (&self.choice, choice);
        let names = |devices: &[String]| devices.join(", ");
        let text = |variant: &Option<Variant>| variant.as_ref().map(Variant::to_string);
        let size = |choice: &Choice| if choice.is_halved { "half" } else { "whole" }.to_owned();
        let stages = |choice: &Choice| {
            let names: Vec<&str> = choice.stages.iter().map(|stage| stage.name()).collect();
            or_any((!names.is_empty()).then(|| names.join(", ")))
        };
        let rows = [
            ("seed", here.seed.to_string(), asked.seed.to_string()),
            ("devices", names(&self.devices), names(devices)),
            ("profile", or_any(here.profile.map(Profile::name)), or_any(asked.profile.map(Profile::name))),
            ("tier", or_any(here.tier.map(Tier::name)), or_any(asked.tier.map(Tier::name))),
            ("stage", stages(here), stages(asked)),
            ("variant", or_any(text(&here.variant)), or_any(text(&asked.variant))),
            ("inputs", here.inputs.to_string(), asked.inputs.to_string()),
            ("long loops", format!("1 of {}", here.long_loops), format!("1 of {}", asked.long_loops)),
            ("size", size(here), size(asked)),
            ("without", or_none(&here.without), or_none(&asked.without)),
            ("seldom", or_none(&here.seldom), or_none(&asked.seldom)),
            ("changes", or_none(&here.changes), or_none(&asked.changes)),
            ("shard", here.shard.to_string(), asked.shard.to_string()),
        ];
        let differing = rows.into_iter().filter(|(_, here, asked)| here != asked);
        differing.map(|(what, here, asked)| format!("{what} {here}, not {asked}")).collect()
    }
}

fn or_any(name: Option<impl Into<String>>) -> String {
    name.map_or_else(|| "any".into(), Into::into)
}

fn or_none<T: ToString>(all: &BTreeSet<T>) -> String {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

/// The folder of a campaign, which no other process uses meanwhile. Dropped before [`Folder::keep`], it leaves nothing behind that it made.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The lock goes with the file.
    lock: File,
    /// Folders that were made, the innermost first, and that go if nothing comes of the campaign.
    made: Vec<PathBuf>,
    /// True if `coverage.json` belongs to `campaign.json`: only then it is worth keeping when a new one comes.
    is_coverage_current: AtomicBool,
}

impl Folder {
    /// Makes the folder if it is not there, and locks it.
    ///
    /// # Errors
    /// If it cannot be made or written to, or another process has it.
    pub fn open(path: &Path) -> anyhow::Result<Folder> {
        let made = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let made: Vec<PathBuf> = made.map(Path::to_owned).collect();
        create_folder(path).with_context(|| format!("cannot create {}", path.display()))?;
        let file = path.join(LOCK);
        let lock = File::options().create(true).append(true).open(&file);
        let lock = lock.with_context(|| format!("cannot write {}", file.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                anyhow::bail!("another campaign is running in {}; choose another --out", path.display())
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", file.display()));
            }
        }
        remove_partials(path);
        Ok(Folder { path: path.to_owned(), lock, made, is_coverage_current: AtomicBool::new(true) })
    }

    /// The folder that is locked.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says that there is a campaign in it now.
    pub(super) fn keep(&mut self) {
        self.made.clear();
    }

    /// Makes sure that the folder is still the one that was opened.
    ///
    /// # Errors
    /// If it was deleted, moved or replaced.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let own = self.lock.metadata()?;
        let is_own =
            fs::metadata(self.path.join(LOCK)).is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino()));
        anyhow::ensure!(is_own, "{} was deleted, moved or replaced while the campaign ran", self.path.display());
        Ok(())
    }

    /// What the campaign in the folder is made of, if there is one: a resumed campaign keeps what is not asked for anew.
    ///
    /// # Errors
    /// If the folder's campaign is of an unknown format.
    pub fn choice(&self) -> anyhow::Result<Option<Choice>> {
        let states = [self.file(STATE), self.previous(STATE)].into_iter();
        for path in states {
            if let Ok(Some(state)) = read_state(&path)? {
                return Ok(Some(state.choice));
            }
        }
        Ok(None)
    }

    /// What an earlier run left of the campaign that is asked for. A state that cannot be read is set aside.
    ///
    /// # Errors
    /// If there is another campaign in the folder, or one of an unknown format, or something damaged cannot be set aside.
    pub(super) fn take_up(&self, choice: &Choice, devices: &[String]) -> anyhow::Result<Earlier> {
        let mut earlier = Earlier::default();
        for path in [self.file(STATE), self.previous(STATE)] {
            match read_state(&path)? {
                Ok(state) => earlier.state = state,
                Err(problem) => earlier.notes.push(set_aside(&path, &problem)?),
            }
            if earlier.state.is_some() {
                break;
            }
        }
        let Some(state) = &earlier.state else {
            if !earlier.notes.is_empty() {
                earlier.notes.push(
                    "no state of the campaign can be read: it starts again, and keeps the findings that are there"
                        .into(),
                );
            }
            return Ok(earlier);
        };
        anyhow::ensure!(
            state.merged.is_none(),
            "{} is what `tangle merge` made of campaigns; choose another --out",
            self.path.display()
        );
        let differences = state.differences(choice, devices);
        anyhow::ensure!(
            differences.is_empty(),
            "{} holds another campaign: {}; choose another --out",
            self.path.display(),
            differences.join("; ")
        );
        if !earlier.notes.is_empty() {
            earlier.notes.push("the state saved before it goes on".into());
        }
        let save = state.save;
        earlier.coverage = self.take_up_coverage(save, &mut earlier.notes)?;
        Ok(earlier)
    }

    /// The coverage of this save, or what comes nearest.
    fn take_up_coverage(&self, save: u64, notes: &mut Vec<String>) -> anyhow::Result<BTreeMap<String, Coverage>> {
        let mut nearest: Option<SavedCoverage> = None;
        for path in [self.file(COVERAGE), self.previous(COVERAGE)] {
            match read_coverage_file(&path) {
                Ok(Some(saved)) if saved.save == save => {
                    self.is_coverage_current.store(path == self.file(COVERAGE), Ordering::SeqCst);
                    return Ok(saved.devices);
                }
                // An older one lacks something; a newer one would have something twice.
                Ok(Some(saved)) if saved.save < save => nearest = nearest.or(Some(saved)),
                Ok(_) => {}
                Err(problem) => notes.push(set_aside(&path, &problem)?),
            }
        }
        if save > 0 {
            notes.push("the coverage of the last save cannot be read: the table of coverage lacks a part".into());
        }
        Ok(nearest.map(|saved| saved.devices).unwrap_or_default())
    }

    /// Saves a campaign and what it covered, and keeps what was saved before.
    pub(super) fn write(&self, state: &State, coverage: &BTreeMap<String, Coverage>) -> anyhow::Result<()> {
        self.check()?;
        let text = serde_json::to_vec(&Borrowed { save: state.save, devices: coverage })?;
        match self.is_coverage_current.swap(false, Ordering::SeqCst) {
            true => self.replace(COVERAGE, &text)?,
            // The state could not be saved after it: the one before is still that of the state.
            false => write_atomically(&self.file(COVERAGE), &text)?,
        }
        self.replace(STATE, &serde_json::to_vec_pretty(state)?)?;
        self.is_coverage_current.store(true, Ordering::SeqCst);
        return Ok(());

        /// [`SavedCoverage`], borrowed: the two have the same fields.
        #[derive(Serialize)]
        struct Borrowed<'a> {
            save: u64,
            devices: &'a BTreeMap<String, Coverage>,
        }
    }

    /// The file keeps its name also if the new contents cannot be written; where the file system has no links, the one before has it alone.
    fn replace(&self, name: &str, contents: &[u8]) -> anyhow::Result<()> {
        let (file, previous) = (self.file(name), self.previous(name));
        let link = tangle_files::partial(&previous);
        let linked = fs::hard_link(&file, &link).and_then(|()| fs::rename(&link, &previous));
        match linked.or_else(|_| fs::rename(&file, &previous)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot write {}", previous.display()))
            }
            _ => write_atomically(&file, contents),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.json"))
    }

    fn previous(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.previous.json"))
    }

    /// Where the findings are: a folder for each device.
    pub(super) fn findings(&self) -> PathBuf {
        self.path.join("findings")
    }

    /// Where failures are kept that occurred once: a folder for each device.
    pub(super) fn flakes(&self) -> PathBuf {
        self.path.join("flakes")
    }

    /// Where the cases are that a device has, or may have, at the moment.
    pub(super) fn in_flight(&self, device: &str) -> PathBuf {
        self.path.join("in-flight").join(device.replace(['/', ':'], "_"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.made.is_empty() {
            let _ = fs::remove_file(self.path.join(LOCK));
        }
        // Only what is empty goes.
        self.made.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

/// A state; `None` if there is none, and the problem if it cannot be read.
///
/// # Errors
/// If its format is unknown: a newer tangle goes on with it.
pub(super) fn read_state(path: &Path) -> anyhow::Result<Result<Option<State>, String>> {
    /// What every version has.
    #[derive(Deserialize)]
    struct Versioned {
        format: u32,
    }
    match read_json::<Versioned>(path) {
        Ok(Some(Versioned { format })) => anyhow::ensure!(
            format == FORMAT,
            "cannot read {}: it has format {format}, and this tangle knows format {FORMAT}",
            path.display()
        ),
        Ok(None) => return Ok(Ok(None)),
        Err(problem) => return Ok(Err(problem)),
    }
    Ok(read_json(path))
}

pub(super) fn read_coverage_file(path: &Path) -> Result<Option<SavedCoverage>, String> {
    // Before saves had numbers, the devices stood alone.
    let old = || Ok(read_json(path)?.map(|devices| SavedCoverage { save: 0, devices }));
    read_json(path).or_else(|problem| old().map_err(|_: String| problem))
}

/// What a file of JSON holds; `None` if there is none.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, String> {
    match tangle_files::read(path, MOST) {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| error.to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Renames something damaged, so that nothing is written over it, and says so.
pub(super) fn set_aside(path: &Path, problem: &str) -> anyhow::Result<String> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".damaged");
    let aside = PathBuf::from(aside);
    if aside.is_dir() {
        fs::remove_dir_all(&aside).with_context(|| format!("cannot remove {}", aside.display()))?;
    }
    tangle_files::rename(path, &aside).with_context(|| format!("cannot rename {}", path.display()))?;
    Ok(format!("{} is damaged ({problem}) and set aside as {}", path.display(), aside.display()))
}

/// What the campaign in a folder covered, by device; `None` if that was not saved.
///
/// # Errors
/// If it cannot be read, and what was saved before cannot either.
pub fn read_coverage(folder: &Path) -> anyhow::Result<Option<BTreeMap<String, Coverage>>> {
    let [path, previous] = ["", ".previous"].map(|which| folder.join(format!("{COVERAGE}{which}.json")));
    let saved = match (read_coverage_file(&path), read_coverage_file(&previous)) {
        (Ok(Some(saved)), _) | (_, Ok(Some(saved))) => Some(saved),
        (Ok(None), _) => None,
        (Err(problem), _) => anyhow::bail!("cannot read {}: {problem}", path.display()),
    };
    Ok(saved.map(|saved| saved.devices))
}

/// The campaign in a folder, for reports; `None` if there is none. The address of the folder is left to whoever knows where the report stands.
///
/// # Errors
/// If it cannot be read.
pub fn read(folder: &Path) -> anyhow::Result<Option<report::Campaign>> {
    let path = folder.join(format!("{STATE}.json"));
    if !path.is_file() {
        return Ok(None);
    }
    let Some(state) = read_state(&path)?.map_err(|problem| anyhow!("cannot read {}: {problem}", path.display()))?
    else {
        return Ok(None);
    };
    let State { version, choice, devices, sections, statistics, merged, .. } = state;
    let seeds = merged.as_ref().map_or([choice.seed].into(), |merged| merged.seeds.clone());
    let about = [
        merged.map(|merged| ("campaigns", merged.parts.to_string())),
        Some(match seeds.first().filter(|_| seeds.len() == 1) {
            Some(seed) => ("seed", seed.to_string()),
            None => ("seeds", seeds.len().to_string()),
        }),
        choice.profile.map(|profile| ("profile", profile.name().to_owned())),
        choice.tier.map(|tier| ("tier", tier.name().to_owned())),
        (!choice.shard.is_all()).then(|| ("shard", choice.shard.to_string())),
        Some(("tangle", version)),
    ];
    let found = statistics.findings.iter().flat_map(|entry| &entry.folders);
    let found = found.flat_map(|folder| [folder.clone(), report::minimized(folder)]);
    let mut programs = programs_of_bugs(folder, &statistics);
    programs.extend(found.filter_map(|place| {
        let program = saved_program(&folder.join(&place))?;
        Some((place, program))
    }));
    Ok(Some(report::Campaign {
        about: about.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect(),
        programs,
        samples: read_samples(folder)?,
        coverage: read_coverage(folder)?.unwrap_or_default(),
        folder: folder.to_owned(),
        sections: all_changes(&sections),
        devices,
        statistics,
        ..report::Campaign::default()
    }))
}

/// What is in the folders that represent the bugs of a campaign, by folder below that of the campaign.
pub fn programs_of_bugs(folder: &Path, statistics: &Statistics) -> BTreeMap<String, report::SavedProgram> {
    let places = statistics.bugs.iter().map(|bug| &bug.representative);
    places.filter_map(|place| Some((place.clone(), saved_program(&folder.join(place))?))).collect()
}

fn saved_program(folder: &Path) -> Option<report::SavedProgram> {
    let text = tangle_files::read_text(&folder.join("case.json")).ok()?;
    let case = Case::from_json(&text).ok().filter(|case| validate(case).is_ok())?;
    Some(report::SavedProgram {
        statements: tangle_minimizer::statements(&case.program),
        program: tangle_emit::print(&case).functions(),
        report: tangle_files::read_text(&folder.join("report.txt")).unwrap_or_default(),
        others_to_blame: others_to_blame(folder).unwrap_or_default(),
    })
}

/// The devices whose drivers are not to blame for what they show, as the table of variants beside a finding says.
fn others_to_blame(folder: &Path) -> Option<BTreeMap<String, Stage>> {
    let table = variants::read(folder)?;
    let to_blame = |device: &String| {
        let stage = table.blame(device)?.stage;
        let is_another = !matches!(stage, Stage::Driver | Stage::Ambiguous | Stage::Undecided);
        is_another.then(|| (device.clone(), stage))
    };
    Some(table.columns.iter().filter_map(|column| to_blame(&column.device)).collect())
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use tangle_program::case::Stage;

    use super::*;

    #[test]
    fn every_difference_is_told() {
        let here = Choice { seed: 1, ..Choice::default() };
        let state = State::new(here.clone(), vec!["lvp".into()]);
        let asked = Choice {
            seed: 2,
            profile: Some(Profile::Small),
            tier: Some(Tier::Plain),
            stages: [Stage::Mesh].into(),
            variant: Some(Variant::Size),
            inputs: NonZero::<u32>::MIN,
            long_loops: NonZero::new(8).expect("not 0"),
            is_halved: true,
            without: ["subgroupElect".parse().expect("an operation")].into(),
            deadly: BTreeSet::new(),
            seldom: BTreeSet::new(),
            changes: ["subgroupBarrier in a loop".parse().expect("a change")].into(),
            shard: "2/8".parse().expect("a shard"),
        };
        let lvp = ["lvp".to_owned()];
        let table: [(&Choice, &[String], &[&str]); 3] = [
            (&here, &lvp, &[]),
            (&here, &["lvp".to_owned(), "reference".to_owned()], &["devices lvp, not lvp, reference"]),
            (
                &asked,
                &lvp,
                &[
                    "seed 1, not 2",
                    "profile any, not small",
                    "tier any, not plain",
                    "stage any, not mesh",
                    "variant any, not spirv-opt-Os",
                    "inputs 8, not 1",
                    "long loops 1 of 1, not 1 of 8",
                    "size whole, not half",
                    "without nothing, not subgroupElect",
                    "changes nothing, not subgroupBarrier in a loop",
                    "shard 1/1, not 2/8",
                ],
            ),
        ];
        for (choice, devices, differences) in table {
            assert_eq!(state.differences(choice, devices), differences);
        }
    }

    #[test]
    fn a_folder_is_used_by_one_process_at_a_time_and_an_unknown_format_is_told() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::open(place.path()).expect("it is free");
        let error = Folder::open(place.path()).expect_err("it is taken").to_string();
        assert!(error.contains("another campaign is running"), "{error}");
        folder.write(&State::new(Choice::default(), vec![]), &BTreeMap::new()).expect("it can be written");
        assert_eq!(folder.choice().expect("it can be read").map(|choice| choice.seed), Some(0));
        fs::write(folder.file(STATE), "{\"format\": 9}").expect("it can be written");
        let error = folder.choice().expect_err("an unknown format").to_string();
        assert!(error.contains("format 9") && error.contains("campaign.json"), "{error}");
        drop(folder);
        Folder::open(place.path()).expect("it is free again");
    }

    /// A folder with three saves, and what is there of it after `damage`.
    fn after(damage: impl FnOnce(&Folder)) -> (u64, Option<u64>, Vec<String>) {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::open(place.path()).expect("it is free");
        for save in 1..=3 {
            let mut cases = Coverage::default();
            cases.cases = save;
            let state = State { save, ..State::new(Choice::default(), vec![]) };
            folder.write(&state, &[("lvp".to_owned(), cases)].into()).expect("it can be written");
        }
        damage(&folder);
        let earlier = folder.take_up(&Choice::default(), &[]).expect("it heals");
        let again = folder.take_up(&Choice::default(), &[]).expect("it stays healed");
        assert_eq!(again.state.as_ref().map(|state| state.save), earlier.state.as_ref().map(|state| state.save));
        let covered = earlier.coverage.get("lvp").map(|coverage| coverage.cases);
        (earlier.state.map_or(0, |state| state.save), covered, earlier.notes)
    }

    #[test]
    fn a_damaged_state_heals_and_is_reported() {
        type Damage = fn(&Folder);
        let table: [(&str, Damage, (u64, Option<u64>), &[&str]); 7] = [
            ("nothing", |_| {}, (3, Some(3)), &[]),
            (
                "empty",
                |folder| fs::write(folder.file(STATE), "").expect("ours"),
                (2, Some(2)),
                &["campaign.json is damaged", "goes on"],
            ),
            (
                "torn",
                |folder| {
                    let text = fs::read(folder.file(STATE)).expect("ours");
                    fs::write(folder.file(STATE), &text[..text.len() / 2]).expect("ours");
                },
                (2, Some(2)),
                &["campaign.json is damaged", "goes on"],
            ),
            ("between", |folder| fs::remove_file(folder.file(STATE)).expect("ours"), (2, Some(2)), &[]),
            (
                "coverage",
                |folder| fs::write(folder.file(COVERAGE), "{").expect("ours"),
                (3, Some(2)),
                &["coverage.json is damaged", "lacks a part"],
            ),
            (
                "both states",
                |folder| {
                    [folder.file(STATE), folder.previous(STATE)]
                        .iter()
                        .for_each(|path| fs::write(path, "x").expect("ours"))
                },
                (0, None),
                &["campaign.json is damaged", "campaign.previous.json is damaged", "starts again"],
            ),
            (
                "coverage is ahead",
                |folder| {
                    folder.replace(COVERAGE, br#"{"save": 4, "devices": {}}"#).expect("ours");
                },
                (3, Some(3)),
                &[],
            ),
        ];
        for (what, damage, expected, parts) in table {
            let (save, covered, notes) = after(damage);
            assert_eq!((save, covered), expected, "{what}: {notes:?}");
            assert_eq!(notes.len(), parts.len(), "{what}: {notes:?}");
            for (note, part) in notes.iter().zip(parts) {
                assert!(note.contains(part), "{what}: {notes:?}");
            }
        }
    }

    #[test]
    fn a_state_that_cannot_be_saved_twice_keeps_its_coverage() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::open(place.path()).expect("it is free");
        let save = |save: u64| {
            let mut coverage = Coverage::default();
            coverage.cases = save;
            let state = State { save, ..State::new(Choice::default(), vec![]) };
            folder.write(&state, &[("lvp".to_owned(), coverage)].into())
        };
        save(1).expect("it can be written");
        save(2).expect("it can be written");
        fs::remove_file(folder.previous(STATE)).expect("ours");
        fs::create_dir(folder.previous(STATE)).expect("ours");
        for _ in 0..2 {
            save(3).expect_err("the state before cannot be kept");
            let earlier = folder.take_up(&Choice::default(), &[]).expect("it is there");
            assert_eq!(earlier.state.map(|state| state.save), Some(2));
            assert_eq!(earlier.coverage["lvp"].cases, 2, "{:?}", earlier.notes);
        }
    }

    #[test]
    fn a_folder_that_nothing_came_of_goes_and_one_that_is_replaced_is_reported() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let path = place.path().join("a/b");
        drop(Folder::open(&path).expect("it is free"));
        assert!(!place.path().join("a").exists());
        let mut folder = Folder::open(&path).expect("it is free");
        folder.keep();
        folder.check().expect("it is there");
        fs::rename(&path, place.path().join("moved")).expect("ours");
        let error = folder.check().expect_err("it is gone").to_string();
        assert!(error.contains("deleted, moved or replaced"), "{error}");
        fs::create_dir(&path).expect("ours");
        fs::write(path.join(LOCK), "").expect("ours");
        folder.check().expect_err("it is another");
        drop(folder);
        assert!(place.path().join("moved").join(LOCK).exists(), "a campaign's folder stays");
    }
}
