//! What distinguishes cases, to leave out those that show a bug that is known already.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tangle_program::case::Case;
use tangle_program::subgroup::{SubgroupOp, TABLE};

use crate::stats::{Construct, Stats};

/// Something that a case contains or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// A construct of the language, by the name in [`Construct`].
    Construct(Construct),
    /// A subgroup operation, by its GLSL name.
    Operation(SubgroupOp),
}

impl Feature {
    /// True if the counters of a case have it.
    pub fn is_in(self, stats: &Stats) -> bool {
        match self {
            Feature::Construct(construct) => stats.construct(construct) > 0,
            Feature::Operation(op) => stats.operation(op) > 0,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Feature::Construct(construct) => construct.name(),
            Feature::Operation(op) => op.info().name,
        }
    }
}

/// Features that stand together in a case, at least one: `subgroupBarrier`, or `DivergentLoop + subgroupAdd`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Combination(BTreeSet<Feature>);

impl Combination {
    /// What a minimal case is made of, as far as a bug can be blamed on it: constructs, and with `operations` the subgroup operations. Every case
    /// assigns and logs, and the form of a loop matters less than that lanes leave it one by one. `None` if nothing is left.
    pub fn of_minimal(case: &Case, operations: bool) -> Option<Combination> {
        let stats = Stats::of(case);
        let parts_lanes = stats.construct(Construct::DivergentLoop) > 0;
        let matters = |construct: &Construct| match construct {
            Construct::Assign | Construct::Log => false,
            Construct::For | Construct::While | Construct::DoWhile | Construct::Forever => !parts_lanes,
            _ => true,
        };
        let constructs = stats.constructs.keys().copied().filter(matters).map(Feature::Construct);
        let of_ops = stats.operations.iter().filter(|_| operations).map(|count| Feature::Operation(count.op));
        let features: BTreeSet<Feature> = constructs.chain(of_ops).collect();
        (!features.is_empty()).then_some(Combination(features))
    }

    /// True if the counters of a case have all of it.
    pub fn is_in(&self, stats: &Stats) -> bool {
        self.0.iter().all(|feature| feature.is_in(stats))
    }

    /// The operation, if it is one and nothing else.
    pub fn operation(&self) -> Option<SubgroupOp> {
        match self.0.iter().collect::<Vec<_>>()[..] {
            [Feature::Operation(op)] => Some(*op),
            _ => None,
        }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|feature| feature.name()).collect();
        f.write_str(&names.join(" + "))
    }
}

/// A name that is neither a construct's nor an operation's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is neither a subgroup operation, such as subgroupAdd, nor a construct, such as DivergentLoop")]
pub struct UnknownFeature(String);

impl FromStr for Feature {
    type Err = UnknownFeature;

    fn from_str(name: &str) -> Result<Feature, UnknownFeature> {
        let construct = Construct::ALL.iter().find(|construct| construct.name() == name);
        let op = || TABLE.iter().find(|info| info.name == name).map(|info| Feature::Operation(info.op));
        construct.map(|&construct| Feature::Construct(construct)).or_else(op).ok_or_else(|| UnknownFeature(name.into()))
    }
}

impl FromStr for Combination {
    type Err = UnknownFeature;

    fn from_str(names: &str) -> Result<Combination, UnknownFeature> {
        names.split('+').map(|name| name.trim().parse()).collect::<Result<_, _>>().map(Combination)
    }
}

impl TryFrom<String> for Combination {
    type Error = UnknownFeature;

    fn try_from(names: String) -> Result<Combination, UnknownFeature> {
        names.parse()
    }
}

impl From<Combination> for String {
    fn from(combination: Combination) -> String {
        combination.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, from_seed};

    #[test]
    fn combinations_are_read_and_written() {
        for (text, written) in [
            ("subgroupBarrier", Ok("subgroupBarrier")),
            ("subgroupAdd+DivergentLoop", Ok("DivergentLoop + subgroupAdd")),
            (" Switch ", Ok("Switch")),
            ("Switch + nothing", Err("nothing")),
            ("", Err("")),
        ] {
            let read = text.parse::<Combination>().map(|combination| combination.to_string());
            assert_eq!(read, written.map(str::to_owned).map_err(|name| UnknownFeature(name.into())), "{text}");
        }
    }

    #[test]
    fn a_case_has_what_it_is_made_of() {
        let mut with_loop = 0;
        for seed in 0..200 {
            let case = from_seed(seed, &Config::default());
            let stats = Stats::of(&case);
            let all = Combination::of_minimal(&case, true);
            assert!(all.is_none_or(|all| all.is_in(&stats)), "seed {seed}");
            let parts: Combination = "DivergentLoop".parse().expect("a construct");
            with_loop += u32::from(parts.is_in(&stats));
        }
        // Most have one, and some do not, so that a campaign can leave them out.
        assert!((80..190).contains(&with_loop), "{with_loop} of 200");
    }
}
