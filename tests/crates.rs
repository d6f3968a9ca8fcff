//! What CONTRIBUTING.md says of the crates is what their manifests say.

use std::collections::BTreeSet;

use crate::common::*;

/// The crates of the workspace that a manifest names as dependencies, without those of tests only.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = manifest.parse().expect("a manifest");
    let all = manifest["dependencies"].as_table().into_iter().flat_map(|table| table.keys());
    all.filter_map(|name| name.strip_prefix("tangle-")).map(str::to_owned).collect()
}

#[test]
fn the_crates_depend_on_each_other_as_they_are_drawn() {
    let workspace: toml::Table = read(&root().join("Cargo.toml")).parse().expect("a manifest");
    let paths = workspace["workspace"]["dependencies"].as_table().expect("a table");
    let mut left: BTreeSet<&str> = paths.keys().filter_map(|name| name.strip_prefix("tangle-")).collect();
    let page = read(&root().join("CONTRIBUTING.md"));
    let drawn = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a drawing");
    let mut above = BTreeSet::new();
    for line in drawn.lines() {
        let (name, uses) = line.split_once('◄').unwrap_or((line, ""));
        let name = name.trim();
        let uses: BTreeSet<String> = uses.split_whitespace().map(str::to_owned).collect();
        assert!(left.remove(name), "{name} is no crate, or is drawn twice");
        let path = paths[&format!("tangle-{name}")]["path"].as_str().expect("a path");
        assert_eq!(uses, dependencies(&read(&root().join(path).join("Cargo.toml"))), "of {name}");
        assert!(uses.is_subset(&above), "{name} uses what stands below it");
        above.insert(name.to_owned());
    }
    assert!(left.is_empty(), "not drawn: {left:?}");
}
