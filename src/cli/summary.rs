//! What `tangle fuzz` prints at the end: bugs first, then a line for each device, then counts of the rest.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tangle_campaign::ledger::{BugBook, DeviceBook, FindingBook, Ledger};
use tangle_generator::stats::Construct;
use tangle_program::subgroup::TABLE;
use tangle_report::text::thousands;

use super::output::{OutputError, put, shortened};

/// Bugs, and signatures that are not minimised, that are shown; the page of the campaign has all of them.
const SHOWN: usize = 6;

/// Longest line, in characters.
const WIDTH: usize = 160;

/// What a campaign leaves behind.
pub struct Summary<'a> {
    /// The statistics.
    pub ledger: &'a Ledger,
    /// Findings that should have been minimised and were not, with the reasons.
    pub not_minimized: &'a BTreeMap<PathBuf, String>,
    /// The campaign's folder.
    pub folder: &'a Path,
}

impl Summary<'_> {
    /// Prints it on standard output.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn print(&self) -> Result<(), OutputError> {
        let mut text = self.bugs() + &self.unexplained();
        for (name, device) in &self.ledger.devices {
            text += &line(&format!("{name}: {}", counts(device)));
        }
        text += &self.rest();
        put(format_args!("{text}"))
    }

    fn bugs(&self) -> String {
        let mut bugs: Vec<&BugBook> = self.ledger.bugs.iter().collect();
        // What is not known comes first, and then what shows most often.
        bugs.sort_by_key(|bug| (bug.known.is_some(), std::cmp::Reverse(self.cases(bug))));
        let mut text = String::new();
        for bug in bugs.iter().take(SHOWN) {
            let known = bug.known.as_ref().map_or(String::new(), |known| format!(" (known: {known})"));
            let flake = bug.flake.map_or(String::new(), |rate| format!(", fails {rate}"));
            text += &line(&format!(
                "bug on {}: {}{known}: {} findings, smallest {} statements{flake}",
                bug.device,
                bug.bug,
                thousands(self.cases(bug)),
                bug.statements
            ));
            text += &format!("  tangle explain {}\n", self.folder.join(&bug.representative).display());
        }
        text + &more(bugs.len(), "bugs", self.folder)
    }

    /// Cases with the signatures that were minimised to a bug.
    fn cases(&self, bug: &BugBook) -> u64 {
        let is_its = |entry: &&FindingBook| entry.device == bug.device && bug.signatures.contains(&entry.signature);
        self.ledger.findings.iter().filter(is_its).map(|entry| entry.cases).sum()
    }

    /// Signatures of which no finding was minimised.
    fn unexplained(&self) -> String {
        let is_explained = |entry: &FindingBook| {
            self.ledger.bugs.iter().any(|bug| bug.device == entry.device && bug.signatures.contains(&entry.signature))
        };
        let mut left: Vec<&FindingBook> = self.ledger.findings.iter().filter(|entry| !is_explained(entry)).collect();
        left.sort_by_key(|entry| std::cmp::Reverse(entry.cases));
        let mut text = String::new();
        for entry in left.iter().take(SHOWN) {
            text += &line(&format!(
                "not minimised: {} {} ({} cases, first {})",
                entry.device,
                entry.signature,
                thousands(entry.cases),
                entry.first_case
            ));
            if let Some(folder) = entry.folders.first() {
                text += &format!("  tangle minimize {}\n", self.folder.join(folder).display());
            }
        }
        text + &more(left.len(), "signatures that are not minimised", self.folder)
    }

    fn rest(&self) -> String {
        let mut text = String::new();
        for known in self.ledger.known.iter().take(SHOWN) {
            text += &line(&format!("known on {}: {} ({} cases)", known.device, known.bug, thousands(known.cases)));
        }
        text += &more(self.ledger.known.len(), "known bugs", self.folder);
        let mut reasons = BTreeMap::<&str, usize>::new();
        self.not_minimized.values().for_each(|reason| *reasons.entry(reason).or_default() += 1);
        if !reasons.is_empty() {
            let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
            reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            let others = reasons.len().saturating_sub(3);
            let mut texts: Vec<String> =
                reasons.iter().take(3).map(|(reason, count)| format!("{count} × {}", shortened(reason, 60))).collect();
            if others > 0 {
                texts.push(format!("{others} other reasons"));
            }
            text += &line(&format!("{} findings are not minimised: {}", self.not_minimized.len(), texts.join("; ")));
        }
        text
    }
}

/// The row that stands for those that are not shown.
fn more(all: usize, what: &str, folder: &Path) -> String {
    match all.checked_sub(SHOWN) {
        None | Some(0) => String::new(),
        Some(more) => format!("{more} more {what}: `tangle report {} --out page.html` has all\n", folder.display()),
    }
}

fn line(text: &str) -> String {
    shortened(text, WIDTH) + "\n"
}

/// What a device did, in a line.
fn counts(device: &DeviceBook) -> String {
    let verdicts: Vec<String> =
        device.verdicts.iter().map(|(verdict, n)| format!("{} {verdict}", thousands(*n))).collect();
    let mut text = format!("{} cases", thousands(device.cases));
    if !verdicts.is_empty() {
        let _ = write!(text, " ({})", verdicts.join(", "));
    }
    for (count, what) in [
        (device.unsupported, "not supported"),
        (device.left_out, "left out"),
        (device.restarts, "workers replaced"),
        (device.slow, "slow"),
        (device.killed, "killed from outside"),
        (device.short_of_memory, "short of memory"),
        (device.unconfirmed, "time-outs like confirmed hangs"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {} {what}", thousands(count));
        }
    }
    let counts = device.counts;
    let logged = counts.checked + counts.tainted + counts.skipped;
    let share = 100.0 * counts.checked as f64 / logged.max(1) as f64;
    text + &format!("; {} values checked ({share:.0} %)", thousands(counts.checked))
}

/// Prints what was compared and where the time went, for each device.
pub fn print_counts(ledger: &Ledger) -> Result<(), OutputError> {
    for (name, device) in &ledger.devices {
        let (counts, times) = (device.counts, device.times);
        put(format_args!(
            "\n{name}: {} values tainted, {} skipped; {} steps checked; {:.0} % of the log sites reached\n",
            thousands(counts.tainted),
            thousands(counts.skipped),
            thousands(counts.steps),
            100.0 * counts.sites_reached as f64 / counts.sites.max(1) as f64
        ))?;
        put(format_args!(
            "  {} values logged under divergence, {:.0} % of them checked; {} values checked by the tangles observed\n",
            thousands(counts.divergent),
            100.0 * counts.divergent_checked as f64 / counts.divergent.max(1) as f64,
            thousands(counts.observed)
        ))?;
        put(format_args!(
            "  seconds: generate {:.1}, compile {:.1}, driver {:.1} ({:.0} % of the workers' {:.1}), judge {:.1}, save {:.1}\n",
            times.generate,
            times.compile,
            times.driver,
            100.0 * times.driver_share(),
            times.worker,
            times.judge,
            times.save
        ))?;
    }
    Ok(())
}

/// Prints how often each construct was generated, and each operation ran and was checked.
pub fn print_operations(ledger: &Ledger) -> Result<(), OutputError> {
    put(format_args!("\n{:22} {:66} {:>12}\n", "construct", "", "generated"))?;
    for &construct in Construct::ALL {
        let count = thousands(ledger.generated.construct(construct));
        put(format_args!("{:22} {:66} {count:>12}\n", construct.name(), construct.about()))?;
    }
    put(format_args!(
        "\n{:32} {:>10} {:>14} {:>14} {:>14} {:>14}\n",
        "operation", "generated", "lanes, full", "lanes, partial", "checked, full", "checked, part."
    ))?;
    for info in &TABLE {
        let used = ledger.operations.get(info.name).copied().unwrap_or_default();
        put(format_args!(
            "{:32} {:>10} {:>14} {:>14} {:>14} {:>14}\n",
            info.name,
            thousands(ledger.generated.operation(info.op)),
            thousands(used.executed_full),
            thousands(used.executed_partial),
            thousands(used.checked_full),
            thousands(used.checked_partial)
        ))?;
    }
    Ok(())
}
