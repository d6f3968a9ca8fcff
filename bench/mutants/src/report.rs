//! Says which mutants survive, and which of them have an explanation.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::run::{Results, Test};

/// What is known of all mutants.
#[derive(Debug, Default)]
pub struct Report {
    mutants: usize,
    killed: usize,
    /// Mutants that not all tests have run against that reach them.
    open: usize,
    /// Survivors with an explanation.
    explained: usize,
    /// Survivors without: number, place, name.
    unexplained: Vec<String>,
    /// Explanations of what is killed, or is not there.
    stale: Vec<String>,
}

impl Report {
    /// Puts together what is known; `explained` is a file of names, each group with its reason indented behind it.
    pub fn of(mutants: &[(u32, [String; 2])], tests: &[Test], results: &Results, explained: &Path) -> Result<Report> {
        let mut reasons = explanations(explained)?;
        let mut report = Report { mutants: mutants.len(), ..Report::default() };
        for (id, [name, place]) in mutants {
            let reaching: Vec<&Test> = tests.iter().filter(|test| test.reaches.contains(id)).collect();
            if results.killed.contains_key(id) {
                report.killed += 1;
            } else if reasons.remove(name).is_some() {
                report.explained += 1;
            } else if !reaching.iter().all(|test| results.has_passed(*id, test)) {
                report.open += 1;
            } else {
                let reached = if reaching.is_empty() { ", reached by no test" } else { "" };
                report.unexplained.push(format!("{id}\t{place}\t{name}{reached}"));
            }
        }
        report.stale = reasons.into_keys().collect();
        Ok(report)
    }

    /// True if no survivor is unexplained.
    pub fn is_clean(&self) -> bool {
        self.open == 0 && self.unexplained.is_empty() && self.stale.is_empty()
    }

    /// The lines that a person reads, the summary last.
    pub fn text(&self) -> String {
        let Report { mutants, killed, open, explained, unexplained, stale } = self;
        let mut text = String::new();
        unexplained.iter().for_each(|line| text += &format!("{line}\n"));
        stale.iter().for_each(|name| text += &format!("explained, but killed or not there: {name}\n"));
        let _ = writeln!(
            text,
            "{mutants} mutants: {killed} killed, {explained} survive with an explanation, {} without, {open} open",
            unexplained.len()
        );
        text
    }
}

fn explanations(path: &Path) -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut reasons = BTreeMap::new();
    let mut names: Vec<&str> = Vec::new();
    let mut has_reason = false;
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        if line.starts_with(' ') {
            has_reason = true;
            names.iter().for_each(|name| *reasons.entry((*name).to_owned()).or_default() += line.trim());
            continue;
        }
        if has_reason {
            names.clear();
        }
        has_reason = false;
        names.push(line);
    }
    if !has_reason && !names.is_empty() {
        bail!("{}: no reason behind {}", path.display(), names[0]);
    }
    Ok(reasons)
}
