//! Parts of a campaign that ran with the same versions: another tangle or driver begins a new one.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tangle_report::statistics::Statistics;

use crate::target::Target;

/// A part of a campaign that ran with the same versions of everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Version and build of tangle.
    pub tangle: String,
    /// Version of each device's driver.
    pub drivers: BTreeMap<String, String>,
    /// The first case of each device.
    pub first_cases: BTreeMap<String, u64>,
    /// Seconds that the campaign had run when it began.
    pub seconds: f64,
}

/// Begins a section unless the last one goes on; says what changed, a sentence each.
pub(super) fn begin(sections: &mut Vec<Section>, targets: &[Target], statistics: &Statistics) -> Vec<String> {
    let driver = |target: &Target| (target.name.clone(), target.driver_id().to_string());
    let first_case = |target: &Target| {
        let next = statistics.devices.get(&target.name).map_or(0, |entry| entry.next_case);
        (target.name.clone(), next)
    };
    let now = Section {
        tangle: own_version().into(),
        drivers: targets.iter().map(driver).collect(),
        first_cases: targets.iter().map(first_case).collect(),
        seconds: statistics.seconds,
    };
    let changes = sections.last().map_or(Vec::new(), |last| changes(last, &now));
    if sections.is_empty() || !changes.is_empty() {
        sections.push(now);
    }
    changes
}

/// The version of this program with its build: the beginning of the BLAKE3 hash of the executable, so that two builds of one version differ. Only
/// the version where the executable cannot be read.
fn own_version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let version = env!("CARGO_PKG_VERSION");
        // What runs, also after another build took its place on disk.
        let mut hash = blake3::Hasher::new();
        match File::open("/proc/self/exe").and_then(|program| hash.update_reader(program).map(drop)) {
            Ok(()) => format!("{version}, build {}", &hash.finalize().to_hex()[..12]),
            Err(_) => version.to_owned(),
        }
    })
}

/// What changed from one section to the next, a sentence each.
pub(super) fn all_changes(sections: &[Section]) -> Vec<String> {
    sections.windows(2).flat_map(|pair| changes(&pair[0], &pair[1])).collect()
}

fn changes(last: &Section, now: &Section) -> Vec<String> {
    let mut changes = Vec::new();
    if last.tangle != now.tangle {
        changes.push(format!("tangle {} goes on instead of {}", now.tangle, last.tangle));
    }
    for (device, driver) in &now.drivers {
        if let Some(before) = last.drivers.get(device).filter(|before| *before != driver) {
            let case = now.first_cases.get(device).copied().unwrap_or_default();
            changes.push(format!("{device} goes on at case {case} with {driver} instead of {before}"));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_begins_a_section_and_is_reported() {
        let target = Target::built_in("reference").expect("it is built in");
        let with = |version: &str| {
            let mut target = Target::built_in("reference").expect("it is built in");
            target.info["driver_info"] = version.into();
            [target]
        };
        let statistics = Statistics::default();
        let mut sections = Vec::new();
        assert_eq!(begin(&mut sections, &[target], &statistics), [""; 0]);
        assert_eq!(begin(&mut sections, &with(""), &statistics), [""; 0]);
        assert_eq!(sections.len(), 1);
        let notes = begin(&mut sections, &with("2.0"), &statistics);
        assert!(notes.len() == 1 && notes[0].contains("reference goes on at case 0 with 2.0"), "{notes:?}");
        assert!(sections[0].tangle.contains(", build "), "{}", sections[0].tangle);
        sections[1].tangle = "0.0.1".into();
        let notes = begin(&mut sections, &with("2.0"), &statistics);
        assert!(notes.len() == 1 && notes[0].contains("instead of 0.0.1"), "{notes:?}");
        assert_eq!(sections.len(), 3);
        let all = all_changes(&sections);
        assert!(all.last() == notes.last() && all.iter().any(|change| change.contains("with 2.0")), "{all:?}");
    }
}
