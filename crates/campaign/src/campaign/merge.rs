//! Folders of campaigns made one: the shards of a campaign, the nights of a farm.
//!
//! What comes out depends on nothing but which campaigns, at which saves, are in the folders: the order does not matter, what is merged twice
//! counts once, a merged folder can be merged again, and a later state of a campaign takes the place of an earlier one. For that the merged
//! folder keeps the figures of each campaign (`parts/<id>.json`), and adds them up anew.
//!
//! | of a campaign | becomes |
//! |---|---|
//! | a finding | the same folder; where two have the same name (device, case and signature are the same) and differ, what was minimised further wins, and then what has the smaller hash |
//! | statistics, coverage | added up; numbers of cases are those of the whole sequence |
//! | findings that were saved and not counted, because the campaign was killed | counted, until a later state of the campaign says more |
//! | samples | one line of the whole for every so many seconds |
//!
//! Files are hard links where the file system allows it: campaigns never change a file in place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::num::NonZero;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, anyhow};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};
use tangle_files::{create_folder, partial, remove_partials, write_atomically};
use tangle_identity::Signature;
use tangle_oracle::coverage::Coverage;
use tangle_report::campaign::{DeviceSample, Sample};
use tangle_report::statistics::Statistics;

use super::folder::{COVERAGE, Folder, MergedFrom, STATE, State, read_coverage_file, read_json, read_state};
use super::sample::{STATS, read_samples};
use crate::plan::Choice;
use crate::shard::Shard;

/// Where the figures of the campaigns are that a folder was merged from.
const PARTS: &str = "parts";

/// The folder of a campaign that has a folder for each finding, by device.
const FINDINGS: &str = "findings";

/// Where failures that occurred once are.
const FLAKES: &str = "flakes";

/// About how many samples a merged folder has.
const SAMPLES: u64 = 2_000;

/// The result of a merge.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// Campaigns in the folder now.
    pub parts: usize,
    /// Findings in the folder now.
    pub findings: usize,
    /// Findings that were not there before.
    pub new: usize,
    /// What all of it comes to.
    pub statistics: Statistics,
    /// Folders that were left out, and why.
    pub notes: Vec<String>,
}

/// The figures of one campaign.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Part {
    #[serde(flatten)]
    state: State,
    coverage: BTreeMap<String, Coverage>,
    samples: Vec<Sample>,
    /// Findings that were saved and not counted.
    uncounted: Vec<Uncounted>,
}

/// A finding that was saved and not counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Uncounted {
    /// Below the campaign's folder.
    folder: String,
    device: String,
    number: u64,
    #[serde(flatten)]
    signature: Signature,
}

impl Part {
    /// What comes later in the life of a campaign; between equals, anything that is the same everywhere.
    fn age(&self) -> (u64, usize, u64, [u8; 32]) {
        let text = serde_json::to_vec(self).unwrap_or_default();
        (self.state.save, self.uncounted.len(), self.state.statistics.cases(), *blake3::hash(&text).as_bytes())
    }

    fn id(&self) -> String {
        self.state.id()
    }
}

/// Merges the campaigns in some folders into a folder, which may have been merged into before.
///
/// # Errors
/// If the folder is that of a campaign, or cannot be written, or no campaign is in any of the folders.
pub fn merge(out: &Path, sources: &[PathBuf]) -> anyhow::Result<Merged> {
    let mut folder = Folder::open(out)?;
    let there = read_either(out)?;
    let is_merged = there.as_ref().is_none_or(|state| state.merged.is_some());
    anyhow::ensure!(is_merged, "{} holds a campaign; choose another --out", out.display());
    let parts_folder = out.join(PARTS);
    create_folder(&parts_folder).with_context(|| format!("cannot create {}", parts_folder.display()))?;
    remove_partials(&parts_folder);
    let mut merged = Merged::default();
    let mut parts = stored_parts(out)?;
    let mut changed: BTreeSet<String> = BTreeSet::new();
    let mut used = !parts.is_empty();
    let mut taken: Vec<&Path> = Vec::new();
    for source in sources {
        if is_same(source, out) {
            continue;
        }
        let found = match parts_of(source) {
            Ok(found) => found,
            Err(error) => {
                merged.notes.push(format!("{} is left out: {error:#}", source.display()));
                continue;
            }
        };
        used = true;
        for part in found {
            let id = part.id();
            if parts.get(&id).is_none_or(|there| there.age() < part.age()) {
                changed.insert(id.clone());
                parts.insert(id, part);
            }
        }
        taken.push(source);
    }
    anyhow::ensure!(used, "no campaign to merge: {}", merged.notes.join("; "));
    merged.new = take(&taken, out, FINDINGS)?;
    take(&taken, out, FLAKES)?;
    folder.keep();
    // Everything is on the disk before the statistics that names it.
    for id in &changed {
        write_plain(&parts_folder.join(format!("{id}.json")), &serde_json::to_vec(&parts[id])?)?;
    }
    write_samples(out, &together(&parts.values().map(|part| &part.samples[..]).collect::<Vec<_>>()))?;
    sync_all(out)?;
    let (state, coverage) = sum(&parts, there.map_or(0, |state| state.save));
    folder.write(&state, &coverage)?;
    merged.findings = folders_below(out, FINDINGS).len();
    merged.parts = parts.len();
    merged.statistics = state.statistics;
    Ok(merged)
}

fn is_same(a: &Path, b: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    canonical(a).is_some_and(|a| Some(a) == canonical(b))
}

/// The state in a folder, or the one before; `None` if there is none.
fn read_either(folder: &Path) -> anyhow::Result<Option<State>> {
    let mut problem = None;
    for name in [format!("{STATE}.json"), format!("{STATE}.previous.json")] {
        match read_state(&folder.join(&name))? {
            Ok(Some(state)) => return Ok(Some(state)),
            Ok(None) => {}
            Err(error) => problem = Some(anyhow!("{name} is damaged: {error}")),
        }
    }
    problem.map_or(Ok(None), Err)
}

/// The figures that were kept of the campaigns of a merged folder.
fn stored_parts(folder: &Path) -> anyhow::Result<BTreeMap<String, Part>> {
    let mut parts = BTreeMap::new();
    for entry in fs::read_dir(folder.join(PARTS)).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_part =
            path.extension().is_some_and(|end| end == "json") && !entry.file_name().to_string_lossy().starts_with('.');
        if is_part {
            let part: Option<Part> =
                read_json(&path).map_err(|problem| anyhow!("cannot read {}: {problem}", path.display()))?;
            parts.extend(part.map(|part| (part.id(), part)));
        }
    }
    Ok(parts)
}

/// The campaigns in a folder: one, or those that it was merged from.
fn parts_of(source: &Path) -> anyhow::Result<Vec<Part>> {
    anyhow::ensure!(source.is_dir(), "there is no such folder");
    let state = read_either(source)?.context("there is no campaign in it")?;
    if state.merged.is_some() {
        return Ok(stored_parts(source)?.into_values().collect());
    }
    let saved = |which: &str| read_coverage_file(&source.join(format!("{COVERAGE}{which}.json"))).ok().flatten();
    let coverage = [saved(""), saved(".previous")].into_iter().flatten();
    // A newer one would have something twice.
    let coverage = coverage.filter(|saved| saved.save <= state.save).max_by_key(|saved| saved.save);
    let counted: BTreeSet<&String> = state.statistics.findings.iter().flat_map(|entry| &entry.folders).collect();
    let mut uncounted: Vec<Uncounted> = folders_below(source, FINDINGS)
        .into_iter()
        .filter(|folder| !counted.contains(folder))
        .filter_map(|folder| read_uncounted(source, folder))
        .collect();
    uncounted.sort();
    let coverage = coverage.map(|saved| saved.devices).unwrap_or_default();
    Ok(vec![Part { coverage, samples: read_samples(source)?, uncounted, state }])
}

fn read_uncounted(source: &Path, folder: String) -> Option<Uncounted> {
    /// What is needed of a `finding.json`.
    #[derive(Deserialize)]
    struct Saved {
        device: String,
        #[serde(default)]
        number: u64,
        #[serde(flatten)]
        signature: Signature,
    }
    let text = tangle_files::read_text(&source.join(&folder).join("finding.json")).ok()?;
    let Saved { device, number, signature } = serde_json::from_str(&text).ok()?;
    Some(Uncounted { folder, device, number, signature })
}

/// The findings of a folder, `findings/<device>/<name>`, in order, or its flakes. What is being written, or was set aside, is none.
fn folders_below(folder: &Path, kind: &str) -> Vec<String> {
    let below = |path: &Path| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_whole = !name.starts_with('.') && !name.ends_with(".damaged");
            (is_whole && entry.file_type().ok()?.is_dir()).then_some(name)
        })
    };
    let findings = folder.join(kind);
    let devices = below(&findings);
    let mut all: Vec<String> = devices
        .flat_map(|device| {
            below(&findings.join(&device)).map(move |name| format!("{kind}/{device}/{name}")).collect::<Vec<_>>()
        })
        .collect();
    all.sort();
    all
}

/// Takes over the findings of folders, or their flakes, several at a time, for it is the file system that takes the time: how many were not there.
/// Forms of one finding are taken over one after the other.
fn take(sources: &[&Path], out: &Path, kind: &str) -> anyhow::Result<usize> {
    let mut forms: BTreeMap<String, Vec<&Path>> = BTreeMap::new();
    for source in sources {
        folders_below(source, kind).into_iter().for_each(|name| forms.entry(name).or_default().push(source));
    }
    let places: BTreeSet<PathBuf> = forms.keys().filter_map(|name| Some(out.join(name).parent()?.to_owned())).collect();
    for device in places {
        create_folder(&device).with_context(|| format!("cannot create {}", device.display()))?;
        remove_partials(&device);
    }
    let (waiting, new) = (Mutex::new(forms.iter()), AtomicUsize::new(0));
    let work = || -> anyhow::Result<()> {
        loop {
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((name, sources)) = next else { return Ok(()) };
            for source in sources {
                let (from, to) = (source.join(name), out.join(name));
                let is_new = !to.exists();
                let taken = if is_new { put(&from, &to) } else { better(&from, &to) };
                taken.with_context(|| format!("cannot take over {}", from.display()))?;
                new.fetch_add(usize::from(is_new), Ordering::Relaxed);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a thread ended"))?)
    })?;
    Ok(new.into_inner())
}

/// What belongs to the minimised form of a finding.
fn is_of_minimized(name: &str) -> bool {
    name.starts_with("minimized")
}

/// Makes of two forms of a finding the one that has the best of both.
fn better(from: &Path, to: &Path) -> std::io::Result<()> {
    let inode = |path: PathBuf| fs::metadata(path).ok().map(|there| (there.dev(), there.ino()));
    let same = |name: &str| inode(from.join(name)) == inode(to.join(name));
    if same("finding.json") && same("minimized/minimized.json") && same("minimized.best.json") {
        // Taken over before.
        return Ok(());
    }
    let (ours, theirs) = (Form::of(to), Form::of(from));
    let is_main_better = theirs.main < ours.main;
    let is_small_better = theirs.small < ours.small;
    let sources: [(&Path, bool); 2] =
        [(if is_main_better { from } else { to }, false), (if is_small_better { from } else { to }, true)];
    if !is_main_better && !is_small_better {
        return Ok(());
    }
    let place = partial(to);
    fs::create_dir(&place)?;
    for (source, of_minimized) in sources {
        link_tree(source, &place, &|name| is_of_minimized(name) == of_minimized)?;
    }
    replace(&place, to)
}

/// Puts a folder in the place of another, which goes: at no time is one of them not whole under a name of its own.
fn replace(from: &Path, to: &Path) -> std::io::Result<()> {
    if renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE).is_ok() {
        return fs::remove_dir_all(from);
    }
    // The file system cannot exchange names. What is called so is left alone if this is the end.
    let mut old = to.as_os_str().to_owned();
    old.push(".damaged");
    fs::rename(to, &old)?;
    fs::rename(from, to)?;
    fs::remove_dir_all(&old)
}

/// How good a form of a finding is; less is better.
struct Form {
    /// A hash of its files.
    main: [u8; 32],
    /// Of its minimised form: that it is finished, its size in bytes (nothing is the largest), and a hash.
    small: (Reverse<bool>, u64, [u8; 32]),
}

impl Form {
    fn of(folder: &Path) -> Form {
        let read = |name: &str| tangle_files::read_text(&folder.join(name)).ok();
        let record = read("minimized/minimized.json").and_then(|text| serde_json::from_str(&text).ok());
        let record: serde_json::Value = record.unwrap_or_default();
        let size = read("minimized/case.json").or_else(|| read("minimized.best.json"));
        Form {
            main: hash(folder, &|name| !is_of_minimized(name)),
            small: (
                Reverse(record["finished"] == true),
                size.map_or(u64::MAX, |text| text.len() as u64),
                hash(folder, &is_of_minimized),
            ),
        }
    }
}

/// A hash of the files in a folder, with their names. `wants` chooses among the names at the top.
fn hash(folder: &Path, wants: &dyn Fn(&str) -> bool) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !wants(&name) || name.starts_with('.') {
            continue;
        }
        let path = entry.path();
        hasher.update(name.as_bytes());
        match path.is_dir() {
            true => hasher.update(&hash(&path, &|_| true)),
            false => hasher.update(&tangle_files::read(&path, tangle_files::MOST).unwrap_or_default()),
        };
    }
    *hasher.finalize().as_bytes()
}

fn put(from: &Path, to: &Path) -> std::io::Result<()> {
    let place = partial(to);
    fs::create_dir(&place)?;
    link_tree(from, &place, &|_| true)?;
    fs::rename(&place, to)
}

/// Links what is in a folder, or copies it where that cannot be done. `wants` chooses among the names at the top.
fn link_tree(from: &Path, to: &Path, wants: &dyn Fn(&str) -> bool) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if !wants(&name.to_string_lossy()) || name.to_string_lossy().starts_with('.') {
            continue;
        }
        let (path, place) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            fs::create_dir(&place)?;
            link_tree(&path, &place, &|_| true)?;
        } else if fs::hard_link(&path, &place).is_err() {
            fs::copy(&path, &place)?;
        }
    }
    Ok(())
}

/// Writes a file whole; [`sync_all`] puts it on the disk.
fn write_plain(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    let partial = partial(path);
    let written = fs::write(&partial, contents).and_then(|()| fs::rename(&partial, path));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Puts everything on the disk that was written to the file system of a folder: a call for each of a million files would take hours.
fn sync_all(folder: &Path) -> anyhow::Result<()> {
    let synced = File::open(folder).and_then(|folder| Ok(rustix::fs::syncfs(&folder)?));
    synced.with_context(|| format!("cannot sync {}", folder.display()))
}

/// The state and the coverage of several campaigns together. `save` is how often the merged folder was saved before.
fn sum(parts: &BTreeMap<String, Part>, save: u64) -> (State, BTreeMap<String, Coverage>) {
    let mut coverage: BTreeMap<String, Coverage> = BTreeMap::new();
    let mut devices = BTreeSet::new();
    let mut seeds = BTreeSet::new();
    for part in parts.values() {
        devices.extend(part.state.devices.iter().cloned());
        seeds.insert(part.state.choice.seed);
        for (device, covered) in &part.coverage {
            coverage.entry(device.clone()).or_default().merge(covered);
        }
    }
    let statistics = Statistics::sum(parts.values().map(counted));
    let choices: BTreeSet<String> = parts.values().map(|part| whole(&part.state.choice)).collect();
    // One that is not the same everywhere says nothing.
    let choice = parts.values().next().filter(|_| choices.len() == 1).map(|part| part.state.choice.clone());
    let choice = Choice { shard: Shard::default(), ..choice.unwrap_or_default() };
    let merged = Some(MergedFrom { parts: parts.len(), seeds });
    let state = State { save: save + 1, statistics, merged, ..State::new(choice, devices.into_iter().collect()) };
    (state, coverage)
}

fn whole(choice: &Choice) -> String {
    serde_json::to_string(&Choice { shard: Shard::default(), ..choice.clone() }).unwrap_or_default()
}

/// The statistics of a campaign with the findings that it did not come to count.
fn counted(part: &Part) -> Statistics {
    let mut statistics = part.state.statistics.clone();
    for found in &part.uncounted {
        let entry = statistics.finding(&found.device, &found.signature, found.number);
        entry.cases += 1;
        entry.first_case = entry.first_case.min(found.number);
        entry.last_case = entry.last_case.max(found.number);
        entry.folders.push(found.folder.clone());
    }
    statistics
}

/// How campaigns went together: at some moments, the sum of what each had by then. How many different signatures and bugs there were together
/// nobody counted then: it is what one of them had at least.
fn together(parts: &[&[Sample]]) -> Vec<Sample> {
    let all = || parts.iter().flat_map(|samples| samples.iter());
    let (Some(first), Some(last)) = (all().map(|at| at.time).min(), all().map(|at| at.time).max()) else {
        return Vec::new();
    };
    let step = ((last - first) / SAMPLES).max(1);
    let mut order: Vec<(u64, usize, &Sample)> = parts
        .iter()
        .enumerate()
        .flat_map(|(number, samples)| samples.iter().map(move |sample| (sample.time, number, sample)))
        .collect();
    order.sort_by_key(|(time, number, _)| (*time, *number));
    let mut latest: BTreeMap<usize, &Sample> = BTreeMap::new();
    let mut moments = Vec::new();
    let mut rest = order.into_iter().peekable();
    while let Some((time, number, sample)) = rest.next() {
        latest.insert(number, sample);
        let is_last_of_step = rest.peek().is_none_or(|(next, ..)| (next - first) / step > (time - first) / step);
        if is_last_of_step {
            moments.push(add(time, latest.values().copied()));
        }
    }
    moments
}

fn add<'a>(time: u64, samples: impl Iterator<Item = &'a Sample>) -> Sample {
    let mut sum = Sample { time, ..Sample::default() };
    for sample in samples {
        sum.seconds += sample.seconds;
        sum.signatures = sum.signatures.max(sample.signatures);
        sum.bugs = sum.bugs.max(sample.bugs);
        sum.findings += sample.findings;
        sum.known += sample.known;
        sum.waiting += sample.waiting;
        sum.memory += sample.memory;
        for (name, device) in &sample.devices {
            let DeviceSample { cases, unsupported, checked, verdicts, restarts, coverage } = device;
            let entry = sum.devices.entry(name.clone()).or_default();
            entry.cases += cases;
            entry.unsupported += unsupported;
            entry.checked += checked;
            entry.restarts += restarts;
            entry.coverage = entry.coverage.max(*coverage);
            for (verdict, count) in verdicts {
                *entry.verdicts.entry(*verdict).or_default() += count;
            }
        }
    }
    sum
}

fn write_samples(out: &Path, samples: &[Sample]) -> anyhow::Result<()> {
    let mut text = Vec::new();
    for sample in samples {
        serde_json::to_writer(&mut text, sample)?;
        text.write_all(b"\n")?;
    }
    write_atomically(&out.join(STATS), &text)
}
