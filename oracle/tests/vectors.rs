//! The test vectors of docs/rules.md, section V: the cases of `corpus/vectors/` and what 8 lanes in one subgroup of size 8 must log.
//!
//! The letters are those of that page; where it has a ballot `X` in a loop's head, that is `B` here. How to read the text:
//! [`common`].

use std::path::Path;

use crate::common::{check, expected};
use tangle_oracle::map::LaneMap;
use tangle_program::case::{Case, Tier};

/// What the page says of tier maximal, and what follows from section E of docs/rules.md for the others: the name of the file, and both.
///
/// At the weaker tiers a mask is the largest set that may come together, and `?` marks the ballots that are not compared.
const VECTORS: [(&str, &str, &str); 18] = [
    // Both sides of an `if` are exact without any promise: all who visit one took the same path.
    ("V01", "A=07 B=F8 C=FF", "A=07 B=F8 C=FF"),
    // The first iteration has everybody. Later ones may mix with each other.
    ("V02", "A=FF FE FC F8 F0 E0 C0 80 B=FF", "A=FF FE? FC? F8? F0? E0? C0? 80? B=FF"),
    // B in the first iteration: all who ever visit it are there on one path.
    ("V03", "A=01 02 04 B=FE FC F8 C=FF", "A=01? 02? 04? B=FE FC? F8? C=FF"),
    // Lanes that continue and lanes that fall through meet at the continue target at tier maximal only.
    ("V04", "A=55 55 B=FF FF", "A=55 55 B=FF? FF?"),
    ("V05", "A=55 55 B=FF FF", "A=55 55 B=FF? FF?"),
    // B: {FF}, or {0F, F0}.
    ("V06", "A=F0 B=FF", "A=F0 B=FF?"),
    // Exact in every mode, as all visitors are one path class.
    ("V07", "A=F0", "A=F0"),
    // C: {CC}, or {44, 88}, at every tier.
    ("V08", "A=11 B=22 C=CC? D=FF", "A=11 B=22 C=CC? D=FF"),
    // B: {FF}, or {55, AA}, at every tier.
    ("V09", "A=55 B=FF? C=FF", "A=55 B=FF? C=FF"),
    ("V10", "A=- B=FF C=FF", "A=- B=FF C=FF"),
    ("V11", "A=FB:[0 1 2 3 4 5 6]", "A=FB:[0 1 2 3 4 5 6]"),
    ("V12", "A=55?", "A=55?"),
    ("V13", "A=FE:[3 3 3 4 4 4 4]", "A=FE:[3 3 3 4 4 4 4]"),
    ("V14", "A=FF:[3 4 5 6 7 0 1 2]", "A=FF:[3 4 5 6 7 0 1 2]"),
    ("V15", "A=FF:[1 2 3 4 5 5 5 5]", "A=FF:[1 2 3 4 5 5 5 5]"),
    // C: {3F}, or {03, 3C}.
    ("V16", "A=03 B=3C C=3F D=FF", "A=03 B=3C C=3F? D=FF"),
    // Which lanes leave is up to later, open elects: nothing more is said about the lanes in the loop.
    ("V17", "A=FF", "A=F0?"),
    // Lanes with different selectors need not come together again before the loop's merge.
    ("V18", "A=FE FE B=FF", "A=FE? FE? B=FF"),
];

fn vector(name: &str) -> Case {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../corpus/vectors/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Case::from_json(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn vectors_at_tier_maximal() {
    for (name, maximal, _) in VECTORS {
        println!("{name} {maximal}");
        check(&vector(name), Tier::Maximal, maximal);
    }
}

/// A workgroup of one subgroup: uniform control flow of the workgroup and of the subgroup are the same.
#[test]
fn vectors_at_the_weaker_tiers() {
    for (name, _, weaker) in VECTORS {
        println!("{name} {weaker}");
        check(&vector(name), Tier::Plain, weaker);
        check(&vector(name), Tier::SubgroupUniform, weaker);
    }
}

/// The map is an input of the oracle: with lanes in the opposite order of local indices the masks are the same, and the values
/// belong to other invocations.
#[test]
fn vectors_on_a_reversed_map() {
    for (name, maximal, _) in VECTORS {
        let case = vector(name);
        let map = LaneMap::from_fn(&case, 8, |index| (0, 7 - index), 1);
        let found = expected(&case, &map).unwrap_or_else(|error| panic!("{name}: {error}"));
        // Events list their lanes in slot order, which is lane order whatever the local indices are.
        assert_eq!(found, maximal, "{name}");
    }
}

/// Half as many lanes: each vector still has a prediction, and no lane is in it that does not exist.
#[test]
fn vectors_in_smaller_subgroups() {
    for (name, ..) in VECTORS {
        let case = vector(name);
        for size in [1, 2, 4] {
            let prediction = tangle_oracle::predict::predict(&case, &LaneMap::linear(&case, size));
            match (name, prediction) {
                // A cluster of 4 needs 4 lanes (rule P10), and rotating by 3 says nothing about fewer.
                ("V13", Err(error)) if size < 4 => assert!(error.0.contains("cluster"), "{error}"),
                (_, Ok(prediction)) => {
                    for event in prediction.events() {
                        assert!(
                            event.active.iter().all(|(_, mask)| mask >> size == 0),
                            "{name}, size {size}: {event:?}"
                        );
                    }
                }
                (_, Err(error)) => panic!("{name}, size {size}: {error}"),
            }
        }
    }
}
