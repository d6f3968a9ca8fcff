//! No circle of files: within each crate the files can be laid out so that each names only items of files below it.
//!
//! A file names an item where it imports it or writes its path; the arrow goes to the file that *defines* the item, through whatever
//! hands it on. So a parent that calls its children may not define what they use, and a parent that only hands their items on is in no circle.
//! What is not seen: methods (which file has the `impl` does not follow from a call), macros, and tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::*;
use regex::Regex;

/// The names of a module below the crate's root; none for the root itself.
type Name = Vec<String>;

/// A file of a crate.
#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    /// Items that it defines.
    defined: BTreeSet<String>,
    /// What it imports: the path, and the name that it has here.
    imports: Vec<(Vec<String>, String, bool)>,
    /// The text without comments, strings, imports and tests.
    body: String,
}

/// A crate's files.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<Name, Module>,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// The text with nothing in place of comments and with empty strings and characters.
fn bare(text: &str) -> String {
    let token = pattern(
        r##"(?s)//[^\n]*|/\*.*?\*/|\bb?r"[^"]*"|\bb?r#".*?"#|b?"(?:[^"\\]|\\.)*"|b?'(?:\\[^'\n]+|\\'|[^'\\\n])'"##,
    );
    token.replace_all(text, " ").into_owned()
}

/// The end of what a bracket at the beginning of the text opens.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The text without modules that only tests have.
fn without_tests(text: &str) -> String {
    let mut text = text.to_owned();
    let test = pattern(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?mod \w+\s*(;|\{)");
    while let Some(found) = test.captures(&text) {
        let (whole, bracket) = (found.get(0).expect("it matched"), found.get(1).expect("it matched").range());
        let end =
            if &text[bracket.clone()] == ";" { bracket.end } else { bracket.start + closing(&text[bracket.start..]) };
        text.replace_range(whole.start()..end, "");
    }
    text
}

/// The paths of a tree of imports with their names.
fn paths(tree: &str) -> Vec<(Vec<String>, String)> {
    let segments = |text: &str| -> Vec<String> {
        text.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let Some(open) = tree.find('{') else {
        let (path, name) = tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name)));
        let mut path = segments(path);
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = name.map_or_else(|| path.last().cloned().unwrap_or_default(), |name| name.trim().to_owned());
        return vec![(path, name)];
    };
    let before = segments(&tree[..open]);
    let inside = &tree[open + 1..open + closing(&tree[open..]) - 1];
    let (mut all, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inside[start..at].trim();
                start = at + 1;
                if part == "self" {
                    all.push((before.clone(), before.last().cloned().unwrap_or_default()));
                } else if !part.is_empty() {
                    all.extend(paths(part).into_iter().map(|(path, name)| ([before.clone(), path].concat(), name)));
                }
            }
            _ => {}
        }
    }
    all
}

impl Crate {
    /// Reads a file and those of its children, which are in a folder.
    fn read(&mut self, name: Name, file: &Path, folder: &Path) {
        let text = without_tests(&bare(&read(file)));
        let text = pattern(r"pub\s*\([^)]*\)").replace_all(&text, "pub").into_owned();
        let mut module = Module::default();
        for found in pattern(r"\bmod\s+(\w+)\s*;").captures_iter(&text) {
            let child = &found[1];
            let files = [folder.join(format!("{child}.rs")), folder.join(child).join("mod.rs")];
            if let Some(file) = files.iter().find(|file| file.is_file()) {
                module.children.insert(child.to_owned());
                self.read([name.as_slice(), &[child.to_owned()]].concat(), file, &folder.join(child));
            }
        }
        let item = pattern(r"\b(?:fn|struct|enum|trait|type|const|static|mod)\s+(\w+)|\bmacro_rules!\s*(\w+)");
        let name_of =
            |found: regex::Captures<'_>| found.iter().skip(1).flatten().next().map(|text| text.as_str().to_owned());
        module.defined = item.captures_iter(&text).filter_map(name_of).collect();
        let import = pattern(r"(pub\s+)?\buse\s+([^;]+);");
        for found in import.captures_iter(&text) {
            let handed_on = found.get(1).is_some();
            module.imports.extend(paths(&found[2]).into_iter().map(|(path, name)| (path, name, handed_on)));
        }
        module.body = import.replace_all(&text, "").into_owned();
        self.modules.insert(name, module);
    }

    /// Where a path in a module begins in this crate, and what is left of it; `None` if it is of another crate.
    fn begin<'p>(&self, module: &Name, path: &'p [String]) -> Option<(Name, &'p [String])> {
        match path.first()?.as_str() {
            "crate" => Some((Name::new(), &path[1..])),
            "self" => Some((module.clone(), &path[1..])),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                Some((module[..module.len().checked_sub(ups)?].to_vec(), &path[ups..]))
            }
            first => self.modules[module].children.contains(first).then(|| (module.clone(), path)),
        }
    }

    /// The module that defines what a path names, through the imports of others, and whether that is the module itself.
    fn defining(&self, module: &Name, path: &[String], most: usize) -> Option<(Name, bool)> {
        let (mut at, mut path) = self.begin(module, path)?;
        while let [first, rest @ ..] = path {
            let here = &self.modules[&at];
            if here.children.contains(first) {
                at.push(first.clone());
                path = rest;
                continue;
            }
            if first != "*" && !here.defined.contains(first) && most > 0 {
                let named = here.imports.iter().find(|(_, name, _)| name == first);
                if let Some((import, ..)) = named {
                    return self.defining(&at, &[import, rest].concat(), most - 1);
                }
                let all = here.imports.iter().filter(|(_, name, _)| name == "*");
                let found = all.filter_map(|(import, ..)| {
                    let path = [&import[..import.len() - 1], path].concat();
                    self.defining(&at, &path, most - 1).filter(|(found, _)| *found != at)
                });
                if let Some(found) = found.into_iter().next() {
                    return Some(found);
                }
            }
            return Some((at, false));
        }
        Some((at, true))
    }

    /// For each file: the files whose items it names, and one of these items.
    fn arrows(&self) -> BTreeMap<&Name, BTreeMap<Name, String>> {
        let path = pattern(r"(?:\b\w+::)+\w+");
        let arrows = self.modules.iter().map(|(name, module)| {
            let used_here = |(_, name, handed_on): &&(Vec<String>, String, bool)| {
                !handed_on || pattern(&format!(r"\b{name}\b")).is_match(&module.body)
            };
            let imports = module.imports.iter().filter(used_here).map(|(path, ..)| path.clone());
            let written = path.find_iter(&module.body).map(|found| {
                let path: Vec<String> = found.as_str().split("::").map(str::to_owned).collect();
                match module.imports.iter().find(|(_, name, _)| *name == path[0]) {
                    Some((import, ..)) => [import, &path[1..]].concat(),
                    None => path,
                }
            });
            let mut targets = BTreeMap::new();
            for path in imports.chain(written) {
                // A module that is named is no item yet.
                if let Some((target, false)) = self.defining(name, &path, 8)
                    && target != *name
                {
                    targets.entry(target).or_insert_with(|| path.join("::"));
                }
            }
            (name, targets)
        });
        arrows.collect()
    }

    /// A circle of files as lines of text, if there is one.
    fn circle(&self) -> Option<Vec<String>> {
        let arrows = self.arrows();
        // Files that name no file that is left go, until only circles and what leads to them are left.
        let mut left: BTreeSet<&Name> = arrows.keys().copied().collect();
        loop {
            let ends = |name: &&Name| !arrows[*name].keys().any(|target| left.contains(target));
            let ended: Vec<&Name> = left.iter().copied().filter(ends).collect();
            if ended.is_empty() {
                break;
            }
            left.retain(|name| !ended.contains(name));
        }
        let mut at = *left.first()?;
        let mut way: Vec<&Name> = Vec::new();
        while !way.contains(&at) {
            way.push(at);
            at = arrows[at].keys().find_map(|target| left.get(target).copied()).expect("it has not ended");
        }
        let shown = |name: &Name| if name.is_empty() { "the root".to_owned() } else { name.join("::") };
        let line = |name: &&&Name| {
            let (target, item) = arrows[**name].iter().find(|(target, _)| left.contains(target)).expect("as above");
            format!("{} names {item} of {}", shown(name), shown(target))
        };
        let first = way.iter().position(|name| *name == at).expect("the way came back");
        Some(way[first..].iter().map(|name| line(&name)).collect())
    }
}

/// The folders of the crates' sources.
fn crates() -> Vec<PathBuf> {
    let own = ["src", "generator/src", "oracle/src", "interpreter/src", "fuzz/src"].map(|folder| root().join(folder));
    let others = fs::read_dir(root().join("crates")).expect("it is in the repository").flatten();
    own.into_iter().chain(others.map(|entry| entry.path().join("src"))).filter(|folder| folder.is_dir()).collect()
}

#[test]
fn no_files_of_a_crate_name_each_other_in_a_circle() {
    let mut circles = Vec::new();
    let mut files = 0;
    for folder in crates() {
        let mut known = Crate::default();
        let begin = ["lib.rs", "main.rs"].map(|name| folder.join(name)).into_iter().find(|file| file.is_file());
        known.read(Name::new(), &begin.expect("every crate has a root"), &folder);
        files += known.modules.len();
        let place = folder.strip_prefix(root()).unwrap_or(&folder).display().to_string();
        circles.extend(known.circle().map(|lines| format!("{place}:\n  {}", lines.join("\n  "))));
    }
    assert!(circles.is_empty(), "circles of files:\n{}", circles.join("\n"));
    note!("{files} files");
}

#[test]
fn a_circle_is_found_through_what_hands_items_on() {
    let module = |text: &str, children: &[&str]| {
        let mut module = Module { body: text.to_owned(), ..Module::default() };
        module.children = children.iter().map(|&child| child.to_owned()).collect();
        module.defined = pattern(r"fn (\w+)").captures_iter(text).map(|found| found[1].to_owned()).collect();
        module
    };
    let importing = |mut module: Module, tree: &str, handed_on: bool| {
        module.imports.extend(paths(tree).into_iter().map(|(path, name)| (path, name, handed_on)));
        module
    };
    let with = |a: &str, b: &str, parent: &str| {
        let parent = importing(importing(module(parent, &["a", "b"]), "a::f", true), "b::{self, g}", true);
        let modules = [
            (Name::new(), parent),
            (vec!["a".to_owned()], importing(module("fn f() {}", &[]), a, false)),
            (vec!["b".to_owned()], importing(module("fn g() {}", &[]), b, false)),
        ];
        Crate { modules: modules.into() }.circle()
    };
    // The parent hands on, and nothing is defined in it.
    assert_eq!(with("super::g", "std::fmt", ""), None);
    assert_eq!(with("super::b", "crate::a::f", ""), None, "a module that is named is no item");
    assert_eq!(with("super::g", "crate::a::f", "").map(|lines| lines.len()), Some(2));
    // What a child uses of a parent that calls it.
    assert_eq!(with("super::own", "std::fmt", "fn own() {}"), None);
    let lines = with("super::own", "std::fmt", "fn own() { f() }").expect("a circle");
    assert_eq!(lines, ["the root names a::f of a", "a names super::own of the root"]);
    assert!(with("std::fmt", "super::own", "fn own() { b::g() }").is_some());
}
