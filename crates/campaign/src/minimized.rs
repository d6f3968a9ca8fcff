//! Where a minimised finding goes: a finding's folder that also says how it was made (`minimized.json`, `neighbour.json`), and beside
//! it, until that is finished, the smallest case so far (`minimized.best.json`), from which a later run goes on.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde::Deserialize;
use tangle_analysis::validate::validate;
use tangle_emit::source;
use tangle_files::write_atomically;
use tangle_identity::Change;
use tangle_minimizer::statements;
use tangle_program::case::Case;
use tangle_report::SavedFinding;

use crate::finding::finding;
use crate::reduce::{Aside, Reduction, content_hash};
use crate::target::Target;

/// The folder of a minimised finding, or the file of a case alone.
#[derive(Clone, Debug)]
pub struct MinimizedPath {
    out: PathBuf,
}

impl MinimizedPath {
    /// Where a person wants it: a folder, or a `.json` file.
    pub fn new(out: &Path) -> MinimizedPath {
        MinimizedPath { out: out.to_owned() }
    }

    /// Where that of a finding is, or of a case that stands alone.
    pub fn of(case: &Path) -> MinimizedPath {
        MinimizedPath { out: if case.is_dir() { case.join("minimized") } else { case.with_extension("minimized") } }
    }

    /// The folder or file.
    pub fn path(&self) -> &Path {
        &self.out
    }

    /// True if it is a case alone, without the files of a finding.
    pub fn is_file(&self) -> bool {
        self.out.extension().is_some_and(|extension| extension == "json")
    }

    /// Only an older result of the same case makes way for a new one.
    ///
    /// # Errors
    /// If something else is there.
    pub fn check(&self, original: &Case) -> anyhow::Result<()> {
        let is_free = if self.is_file() {
            !self.out.exists() || read_case(&self.out).is_some_and(|case| is_from(&case, original))
        } else {
            let is_empty = || fs::read_dir(&self.out).is_ok_and(|mut entries| entries.next().is_none());
            !self.out.exists() || self.out.join(RECORD).exists() || is_empty()
        };
        anyhow::ensure!(is_free, "{} is there already, and no minimised form of this case", self.out.display());
        Ok(())
    }

    /// Saves the best case so far, so that a killed run loses nothing.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note(&self, original: &Case, best: &Case) -> anyhow::Result<()> {
        let path = self.beside("best.json");
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let mut best = best.clone();
        best.origin.minimized_from = Some(content_hash(original));
        write_atomically(&path, best.to_json().as_bytes())
    }

    /// What an earlier run reached of a case before it ended.
    pub fn unfinished(&self, original: &Case) -> Option<Case> {
        read_case(&self.beside("best.json")).filter(|case| is_from(case, original))
    }

    /// The minimised finding, if it is there and no step further fails.
    pub fn finished(&self) -> Option<SavedFinding> {
        self.record()?.finished.then(|| SavedFinding::read(&self.out).ok()).flatten()
    }

    /// What the minimised finding passes without.
    pub fn passes_without(&self) -> BTreeSet<Change> {
        self.record().map(|record| record.passes_without).unwrap_or_default()
    }

    fn record(&self) -> Option<Record> {
        serde_json::from_slice(&tangle_files::read(&self.out.join(RECORD), tangle_files::MOST).ok()?).ok()
    }

    /// Saves a result. A folder is written beside its place and put there at once; an older result goes only then.
    ///
    /// # Errors
    /// If something cannot be written. What was there before stays.
    pub fn save(&self, target: &Target, original: &Case, reduction: &Reduction, time: Duration) -> anyhow::Result<()> {
        if self.is_file() {
            write_atomically(&self.out, reduction.minimized.case.to_json().as_bytes())?;
        } else {
            self.save_folder(target, original, reduction, time)?;
        }
        if reduction.minimized.finished {
            // What is left over does no harm.
            let _ = fs::remove_file(self.beside("best.json"));
            return Ok(());
        }
        self.note(original, &reduction.minimized.case)
    }

    /// Saves what candidates failed with in another way as findings of their own, beside it. Gives their folders.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn save_asides(&self, target: &Target, asides: &[Aside]) -> anyhow::Result<Vec<PathBuf>> {
        let below = self.out.with_file_name(ASIDES);
        let save = |Aside { prep, conclusion, signature }: &Aside| {
            Ok(finding(target, prep, conclusion, signature.clone()).save(&below)?)
        };
        asides.iter().map(save).collect()
    }

    fn save_folder(
        &self,
        target: &Target,
        original: &Case,
        reduction: &Reduction,
        time: Duration,
    ) -> anyhow::Result<()> {
        self.clear();
        let partial = self.beside(&format!("{}.partial", std::process::id()));
        let old = self.beside(&format!("{}.old", std::process::id()));
        let finding = finding(target, &reduction.prep, &reduction.conclusion, reduction.signature.clone());
        let folder = finding.save(&partial)?;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        write(RECORD, &(serde_json::to_string_pretty(&record(original, reduction, time))? + "\n"))?;
        if let Some(neighbour) = &reduction.minimized.neighbour {
            write("neighbour.json", &neighbour.to_json())?;
            write(&format!("neighbour.{}", neighbour.extension()), &source(neighbour))?;
        }
        if self.out.exists() {
            fs::rename(&self.out, &old).with_context(|| format!("cannot replace {}", self.out.display()))?;
        }
        fs::rename(&folder, &self.out).with_context(|| format!("cannot write {}", self.out.display()))?;
        // What is left over does no harm.
        let _ = fs::remove_dir_all(&partial);
        let _ = fs::remove_dir_all(&old);
        Ok(())
    }

    /// Removes what runs left that were killed while they saved.
    fn clear(&self) {
        let folder = self.out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let prefix = self.beside("");
        let prefix = prefix.file_name().unwrap_or_default().to_string_lossy();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some((pid, "partial" | "old")) =
                name.to_str().and_then(|name| name.strip_prefix(&*prefix)?.split_once('.'))
            else {
                continue;
            };
            if pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// A file or folder beside the result.
    fn beside(&self, what: &str) -> PathBuf {
        let mut name = self.out.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{what}"));
        self.out.with_file_name(name)
    }
}

/// The file that says how a minimised finding was made.
const RECORD: &str = "minimized.json";
/// Name of the folder of what candidates failed with in another way.
const ASIDES: &str = "other-failures";

/// What is needed of it.
#[derive(Deserialize)]
struct Record {
    finished: bool,
    #[serde(default)]
    passes_without: BTreeSet<Change>,
}

fn record(original: &Case, reduction: &Reduction, time: Duration) -> serde_json::Value {
    let minimized = &reduction.minimized;
    serde_json::json!({
        "format": 1,
        "finished": minimized.finished,
        "statements": { "before": statements(&original.program), "after": statements(&minimized.case.program) },
        "tried": minimized.tried,
        "accepted": minimized.accepted,
        "seconds": time.as_secs_f64(),
        "fails_before": reduction.before,
        "fails_after": reduction.after,
        "passes_at_maximal": reduction.passes_at_maximal,
        "passes_without": reduction.passes_without,
    })
}

fn read_case(file: &Path) -> Option<Case> {
    let case = Case::from_json(&tangle_files::read_text(file).ok()?).ok()?;
    validate(&case).is_ok().then_some(case)
}

fn is_from(case: &Case, original: &Case) -> bool {
    case.origin.minimized_from.as_deref() == Some(&content_hash(original))
}
