//! The known bugs of spirv-opt, as the interpreter proves them: the module before the passes means what the program does, and the one behind them something else.

use std::path::Path;

use crate::common::{compare, compiled, consecutive, expect, optimised};
use tangle_program::case::Case;

/// The optimiser dies of it, in this process.
const CRASHES: &str = "spirv-opt-crash-in-loop-of-no-trip";

#[test]
fn known_bugs_of_the_optimiser_change_what_a_module_means() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../known");
    let mut tried = Vec::new();
    for entry in std::fs::read_dir(&book).expect("the book is there") {
        let folder = entry.expect("it can be read").path();
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let Ok(text) = std::fs::read_to_string(folder.join("case.json")) else { continue };
        if !name.starts_with("spirv-opt-") || name == CRASHES {
            continue;
        }
        let case = Case::from_json(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        if case.variant.front_end().is_some() {
            // Of no compiler here: `tangle bugs retest` has them all.
            continue;
        }
        let front_end = Case { variant: Default::default(), ..case.clone() };
        let before = compiled(&case).unwrap_or_else(|error| panic!("{name}: {error}"));
        let behind = optimised(&case, &before, &case.variant.flags()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let differences = [1, 2, 4, 8, 16, 32, 64, 128].into_iter().filter_map(|size| {
            let expected = expect(&case, size, consecutive).ok()?;
            let right = compare(&front_end, &before, &expected, None);
            assert!(right.is_ok(), "{name}, size {size}, before the passes: {right:?}");
            compare(&case, &behind, &expected, None).err()
        });
        let found: Vec<String> = differences.collect();
        assert!(!found.is_empty(), "{name}: behind the passes it means the same");
        tried.push(name);
    }
    assert!(tried.len() >= 5, "only {tried:?}");
}
