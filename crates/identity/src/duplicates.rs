//! Which bugs of a book may have one cause: joined, or separated, by what was seen of both.
//!
//! | evidence | joins | separates |
//! |---|---|---|
//! | versions on which both were tried | the same have them, and some do not | one has the one and not the other |
//! | the driver's own switches, on one version | one makes both pass | one makes the one pass and not the other |
//! | shape of the minimal program | it is the same | - |
//!
//! One cause is suggested where two of the three join and none separates: a coarse switch (no optimisation at all) makes many bugs pass, and many
//! came with one version. What is suggested is for people to confirm (`tangle bugs set ID --duplicate-of OTHER`).

use std::collections::{BTreeMap, BTreeSet};

use crate::book::{Record, Seen};
use crate::switches::{Switch, Switches, listed};

/// What is known of two bugs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// What they have in common, in words, one for each kind of evidence.
    pub same: Vec<String>,
    /// What separates them, in words.
    pub differs: Vec<String>,
}

/// What it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They seem to have one cause.
    OneCause,
    /// They have two causes: a version or a switch separates them.
    Apart,
    /// Too little is known.
    Unknown,
}

impl Evidence {
    /// What it comes to.
    pub fn relation(&self) -> Relation {
        match (self.same.len(), self.differs.is_empty()) {
            (_, false) => Relation::Apart,
            (2.., true) => Relation::OneCause,
            _ => Relation::Unknown,
        }
    }
}

/// True if two bugs may be of one driver.
fn share_driver(a: &Record, b: &Record) -> bool {
    a.drivers.is_empty() || b.drivers.is_empty() || a.drivers.iter().any(|driver| b.drivers.contains(driver))
}

/// Compares two bugs; `shapes` are those of their minimal programs, where they are known. Bugs of different drivers have nothing to do with
/// each other: `None`.
pub fn compare(a: &Record, b: &Record, shapes: [Option<&str>; 2]) -> Option<Evidence> {
    if !share_driver(a, b) {
        return None;
    }
    let mut evidence = Evidence::default();
    versions(a, b, &mut evidence);
    switches(a, b, &mut evidence);
    if let [Some(own), Some(other)] = shapes
        && own == other
        && a.effect == b.effect
    {
        evidence.same.push(format!("the same shape: {own}"));
    }
    Some(evidence)
}

fn versions(a: &Record, b: &Record, evidence: &mut Evidence) {
    let seen = |record: &Record| -> BTreeMap<(String, String), Seen> {
        record.versions.iter().map(|at| ((at.driver.clone(), at.version.clone()), at.result)).collect()
    };
    let (own, other) = (seen(a), seen(b));
    let mut results = BTreeSet::new();
    for ((driver, version), result) in &own {
        match other.get(&(driver.clone(), version.clone())) {
            Some(same) if same == result => drop(results.insert(*result)),
            Some(_) => {
                let (has, lacks) = if *result == Seen::Bad { (a, b) } else { (b, a) };
                evidence.differs.push(format!("{driver} {version} has {}, and not {}", has.id, lacks.id));
            }
            None => {}
        }
    }
    // Where every version has both, or none, that is no coincidence to wonder about.
    if results.len() == 2 && evidence.differs.is_empty() {
        evidence.same.push(format!("the same versions: {}", a.ranges().join("; ")));
    }
}

fn switches(a: &Record, b: &Record, evidence: &mut Evidence) {
    let mut both: BTreeSet<&Switch> = BTreeSet::new();
    for own in &a.switches {
        let on_same = |other: &&Switches| other.driver == own.driver && other.version == own.version;
        for other in b.switches.iter().filter(on_same) {
            for (passing, failing, has, lacks) in [(own, other, a, b), (other, own, b, a)] {
                let of_driver = passing.passes.iter().filter(|switch| switch.is_of_driver());
                for switch in of_driver.filter(|switch| failing.fails.contains(switch)) {
                    evidence.differs.push(format!("{switch} makes {} pass, and not {}", has.id, lacks.id));
                }
            }
            both.extend(own.passes.iter().filter(|switch| switch.is_of_driver() && other.passes.contains(switch)));
        }
    }
    if !both.is_empty() {
        evidence.same.push(format!("both pass with {}", listed(both)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::SeenVersion;

    fn bug(id: &str, versions: &str, passes: &[&str], fails: &[&str]) -> Record {
        let words = |list: &[&str]| list.iter().map(|&word| word.to_owned().into()).collect();
        let seen = |(number, mark): (usize, char)| SeenVersion {
            driver: "l".into(),
            version: format!("1.{number}"),
            result: if mark == 'x' { Seen::Bad } else { Seen::Good },
        };
        let switches =
            Switches { driver: "l".into(), passes: words(passes), fails: words(fails), ..Switches::default() };
        Record {
            id: id.into(),
            drivers: vec!["l".into()],
            versions: versions.chars().enumerate().filter(|(_, mark)| *mark != '-').map(seen).collect(),
            switches: vec![switches],
            ..Record::default()
        }
    }

    #[test]
    fn bugs_are_joined_and_told_apart_by_what_was_seen_of_both() {
        use Relation::{Apart, OneCause, Unknown};
        type Bug<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a str);
        let cases: &[(Bug<'_>, Bug<'_>, Relation)] = &[
            // Versions and a switch.
            ((".xx", &["A=1"], &[], "s"), (".xx", &["A=1"], &[], "t"), OneCause),
            // A switch and the shape.
            (("xx", &["A=1"], &[], "s"), ("xx", &["A=1"], &[], "s"), OneCause),
            // Versions and the shape, of which some were tried with one bug only.
            ((".x-", &[], &[], "s"), (".xx", &[], &[], "s"), OneCause),
            // One kind of evidence is not enough.
            ((".xx", &[], &[], "s"), (".xx", &[], &[], "t"), Unknown),
            (("xx", &[], &[], "s"), ("xx", &[], &[], "s"), Unknown),
            (("xx", &["A=1"], &[], "s"), ("xx", &["A=1"], &[], "t"), Unknown),
            // One that separates is.
            ((".xx", &["A=1"], &[], "s"), ("..x", &["A=1"], &[], "s"), Apart),
            ((".xx", &["A=1"], &["B=1"], "s"), (".xx", &["A=1", "B=1"], &[], "s"), Apart),
            ((".xx", &[], &["A=1"], "s"), (".xx", &["A=1"], &[], "s"), Apart),
            // What a pass does depends on the program.
            ((".xx", &["spirv-opt:ccp"], &[], "s"), (".xx", &[], &["spirv-opt:ccp"], "s"), OneCause),
            ((".xx", &["spirv-opt:ccp"], &[], "s"), (".xx", &["spirv-opt:ccp"], &[], "t"), Unknown),
        ];
        for (a, b, expected) in cases {
            let of = |id, bug: &Bug<'_>| self::bug(id, bug.0, bug.1, bug.2);
            let (first, second) = (of("a", a), of("b", b));
            for (first, second, shapes) in
                [(&first, &second, [Some(a.3), Some(b.3)]), (&second, &first, [Some(b.3), Some(a.3)])]
            {
                let evidence = compare(first, second, shapes).expect("one driver");
                assert_eq!(evidence.relation(), *expected, "{a:?} {b:?}: {evidence:?}");
            }
        }
        let other = Record { drivers: vec!["m".into()], ..bug("c", ".x", &[], &[]) };
        assert_eq!(compare(&bug("a", ".x", &[], &[]), &other, [None; 2]), None);
    }
}
