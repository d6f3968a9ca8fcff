//! The vectors of the corpus as modules: the interpreter gives for each what its tree gives.

use crate::common::{compare, compiled, consecutive, expect, optimised, reversed};
use tangle_program::case::{Case, Tier};
use tangle_program::variant::Variant;

#[test]
fn vectors_are_as_the_tree_says() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/vectors");
    let mut names: Vec<_> =
        std::fs::read_dir(folder).expect("the vectors").flatten().map(|entry| entry.path()).collect();
    names.sort();
    assert_eq!(names.len(), 18);
    let mut values = 0;
    for path in names {
        let text = std::fs::read_to_string(&path).expect("readable");
        for tier in Tier::ALL {
            for variant in [Variant::Unoptimised, Variant::Performance, Variant::Size] {
                let mut case = Case::from_json(&text).expect("a case");
                case.tier = tier;
                if tangle_analysis::validate::validate(&case).is_err() {
                    continue;
                }
                let module = compiled(&case).expect("it compiles");
                let module = match variant.is_optimised() {
                    true => optimised(&case, &module, &variant.flags()).expect("it is optimised"),
                    false => module,
                };
                case.variant = variant;
                for placement in [consecutive, reversed] {
                    let expected = match expect(&case, 8, placement) {
                        Ok(expected) => expected,
                        Err(_) => continue,
                    };
                    match compare(&case, &module, &expected, None) {
                        Ok(counts) => values += counts.compared,
                        Err(error) => panic!("{}, tier {}, {}: {error}", path.display(), tier.name(), case.variant),
                    }
                }
            }
        }
    }
    assert!(values > 3000, "{values} values compared");
}
