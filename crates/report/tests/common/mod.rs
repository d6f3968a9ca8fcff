//! What the tests of reports share: the vectors of the corpus, and what devices with planted faults make of them.

#![allow(dead_code, reason = "every test program uses some of it")]

use std::path::Path;

use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::judge::Observation;
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::reference;
use tangle_program::case::Case;

/// The subgroup size that the vectors are written for.
pub const SIZE: u32 = 8;

pub const PROMISE: SubgroupPromise = SubgroupPromise::vulkan(SIZE, 4, 128);

/// Every vector of the corpus: name and case.
pub fn vectors() -> Vec<(String, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/vectors");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).expect("the file can be read");
        let case = Case::from_json(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.file_stem().expect("a name").to_string_lossy().into_owned(), case)
    };
    files.iter().map(read).collect()
}

/// What a device with a fault makes of a case, on subgroups of [`SIZE`].
pub fn observe(case: &Case, fault: Fault) -> Option<Observation> {
    reference::observe(case, &LaneMap::linear(case, SIZE), || Planted::new(fault)).ok()
}
