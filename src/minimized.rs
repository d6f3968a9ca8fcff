//! The folder of a minimised finding: a finding, and how it came to be (`minimized.json`, `neighbour.json`).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use tangle_minimizer::statements;
use tangle_program::case::Case;
use tangle_program::glsl::glsl;

use crate::campaign::finding;
use crate::reduce::Reduction;
use crate::target::Target;

/// Writes the folder beside its place and puts it there at once; an older result goes only then.
///
/// # Errors
/// If something cannot be written. What was there before stays.
pub fn save(out: &Path, target: &Target, original: &Case, reduction: &Reduction, time: Duration) -> anyhow::Result<()> {
    let partial = beside(out, "partial");
    let finding = finding(target, &reduction.prep, &reduction.conclusion, reduction.signature.clone());
    let folder = finding.save(&partial)?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    write("minimized.json", &(serde_json::to_string_pretty(&record(original, reduction, time))? + "\n"))?;
    if let Some(neighbour) = &reduction.minimized.neighbour {
        write("neighbour.json", &neighbour.to_json())?;
        write("neighbour.comp", &glsl(neighbour))?;
    }
    let old = beside(out, "old");
    if out.exists() {
        fs::rename(out, &old).with_context(|| format!("cannot replace {}", out.display()))?;
    }
    fs::rename(&folder, out).with_context(|| format!("cannot write {}", out.display()))?;
    // What is left over does no harm.
    let _ = fs::remove_dir_all(&partial);
    let _ = fs::remove_dir_all(&old);
    Ok(())
}

fn beside(out: &Path, what: &str) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.{what}", std::process::id()));
    out.with_file_name(name)
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
    })
}
