//! Writes a copy of the oracle that holds every mutant, and builds its tests as one program.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::find::{Found, ID, find};

/// Files of the oracle that stay as they are: planted faults are hooks of tests.
const SKIPPED: &str = "faults/";

/// The program with all the tests, in the folder of the schema.
pub const PROGRAM: &str = "oracle-tests";

/// The mutants that do not compile, a line each.
const DROPPED: &str = "dropped.txt";

/// How the tests are built: fast, with everything that may panic.
const PROFILE: &str = "
[profile.mutants]
inherits = \"release\"
debug = false
debug-assertions = true
overflow-checks = true
strip = true
";

/// Text of a mutant in a written file.
struct Piece {
    range: Range<usize>,
    name: String,
}

/// Makes the schema of the repository `root` in the folder `out`; mutants that do not compile are left out.
pub fn build(root: &Path, out: &Path) -> Result<()> {
    // What did not compile the last time: names that are gone do no harm.
    let known = std::fs::read_to_string(out.join(DROPPED)).unwrap_or_default();
    let mut dropped: BTreeSet<String> = known.lines().map(str::to_owned).collect();
    write_manifests(root, out)?;
    write_tests(root, out)?;
    loop {
        let pieces = write_sources(root, out, &dropped)?;
        let before = dropped.len();
        match compile(out, &pieces, &mut dropped)? {
            Some(program) => {
                let names: Vec<&str> = dropped.iter().map(String::as_str).collect();
                std::fs::write(out.join(DROPPED), names.join("\n"))?;
                println!("{before} mutants do not compile");
                std::fs::copy(&program, out.join(PROGRAM))?;
                return Ok(());
            }
            None if dropped.len() == before => bail!("the schema does not compile, and no mutant is to blame"),
            None => println!("{} mutants do not compile", dropped.len()),
        }
    }
}

/// A workspace of its own around the copy, with the dependencies of the repository.
fn write_manifests(root: &Path, out: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let start = text.find("[workspace.package]").context("no [workspace.package]")?;
    let end = text.find("\n[package]").context("no [package]")?;
    let shared = text[start..end]
        .replace("path = \"", &format!("path = \"{}/", root.display()))
        .replace(&format!("\"{}/oracle\"", root.display()), "\"oracle\"");
    std::fs::create_dir_all(out.join("oracle"))?;
    std::fs::write(
        out.join("Cargo.toml"),
        format!("[workspace]\nmembers = [\"oracle\"]\nresolver = \"3\"\n\n{shared}{PROFILE}"),
    )?;
    std::fs::copy(root.join("Cargo.lock"), out.join("Cargo.lock"))?;
    let text = std::fs::read_to_string(root.join("oracle/Cargo.toml"))?;
    let text = text[..text.find("[[test]]").unwrap_or(text.len())].to_owned();
    let is_kept = |line: &&str| !line.starts_with("criterion") && !line.starts_with("mimalloc");
    std::fs::write(out.join("oracle/Cargo.toml"), text.lines().filter(is_kept).collect::<Vec<_>>().join("\n"))?;
    Ok(())
}

/// The integration tests, as the module `suite`.
fn write_tests(root: &Path, out: &Path) -> Result<()> {
    for (path, text) in sources(&root.join("oracle/tests"))? {
        let text = text
            .replace("env!(\"CARGO_MANIFEST_DIR\")", "&std::env::var(\"TANGLE_ORACLE\").unwrap()")
            .replace("crate::", "crate::suite::");
        write(&out.join("oracle/tests").join(&path), &text)?;
    }
    // The sources include cases of it, too.
    let corpus = out.join("corpus");
    if !corpus.exists() {
        std::os::unix::fs::symlink(root.join("corpus"), corpus)?;
    }
    write(&out.join("oracle/src/mutants.rs"), include_str!("chosen.rs"))
}

/// The sources with their mutants, and the list of these; gives where in each file they are.
fn write_sources(root: &Path, out: &Path, dropped: &BTreeSet<String>) -> Result<Vec<(String, Vec<Piece>)>> {
    let mut all = Vec::new();
    let mut list = String::new();
    let mut id = 0;
    for (path, mut text) in sources(&root.join("oracle/src"))? {
        let shown = path.display().to_string();
        let mut pieces = Vec::new();
        if !shown.starts_with(SKIPPED) {
            // What runs at compile time cannot ask which mutant it is.
            text = text.replace("const fn", "fn");
            let file = shown.clone();
            let found = find(&text, &|name| !dropped.contains(&format!("{file} {name}")))
                .with_context(|| format!("{shown} is not read"))?;
            for (nth, mutant) in found.mutants.iter().enumerate() {
                writeln!(list, "{}\t{shown}:{}\t{shown} {}", id + 1 + nth, mutant.line, mutant.name)?;
            }
            (text, pieces) = spliced(&text, &found, &shown, id);
            id += found.mutants.len();
        }
        if shown == "lib.rs" {
            text = format!(
                "#![allow(warnings)]\n{text}\nmod mutants;\n#[cfg(test)]\nextern crate self as tangle_oracle;\n#[cfg(test)]\n#[path = \"../tests/main.rs\"]\nmod suite;\n"
            );
        }
        write(&out.join("oracle/src").join(&path), &text)?;
        all.push((format!("oracle/src/{shown}"), pieces));
    }
    write(&out.join("mutants.tsv"), &list)?;
    println!("{id} mutants");
    Ok(all)
}

fn spliced(text: &str, found: &Found, file: &str, first: usize) -> (String, Vec<Piece>) {
    let mut result = String::new();
    let mut pieces = Vec::new();
    let mut at = 0;
    for insertion in &found.insertions {
        result += &text[at..insertion.at];
        at = insertion.at;
        for (text, mutant) in &insertion.pieces {
            let start = result.len();
            match mutant {
                None => result += text,
                Some(mutant) => {
                    result += &text.replace(&format!("{ID}{mutant}{ID}"), &(first + mutant + 1).to_string());
                    let name = format!("{file} {}", found.mutants[*mutant].name);
                    pieces.push(Piece { range: start..result.len(), name });
                }
            }
        }
    }
    result += &text[at..];
    (result, pieces)
}

/// Builds the tests: their program, or `None` if mutants had to be dropped.
fn compile(out: &Path, pieces: &[(String, Vec<Piece>)], dropped: &mut BTreeSet<String>) -> Result<Option<PathBuf>> {
    let output = Command::new("cargo")
        .args(["test", "--no-run", "--lib", "-p", "tangle-oracle", "--profile", "mutants", "--message-format=json"])
        .current_dir(out)
        .env("CARGO_TARGET_DIR", out.join("target"))
        .stderr(Stdio::inherit())
        .output()?;
    let mut program = None;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        if let Some(path) = message["executable"].as_str() {
            program = Some(PathBuf::from(path));
        }
        let message = &message["message"];
        if message["level"] == "error" {
            let spans = message["spans"].as_array().map_or(&[][..], Vec::as_slice);
            let blamed: Vec<&str> = spans.iter().flat_map(|span| blamed(span, pieces)).collect();
            if blamed.is_empty() && !spans.is_empty() {
                println!("{}", message["rendered"].as_str().unwrap_or_default());
            }
            dropped.extend(blamed.into_iter().map(str::to_owned));
        }
    }
    Ok(if output.status.success() { program } else { None })
}

/// The mutants in whose text an error is.
fn blamed<'p>(span: &serde_json::Value, pieces: &'p [(String, Vec<Piece>)]) -> Vec<&'p str> {
    let number = |key: &str| span[key].as_u64().unwrap_or(0) as usize;
    let (start, end) = (number("byte_start"), number("byte_end"));
    let of_file = pieces.iter().find(|(file, _)| span["file_name"].as_str() == Some(file));
    let touched = of_file.into_iter().flat_map(|(_, pieces)| pieces);
    touched
        .filter(|piece| piece.range.start < end && start < piece.range.end)
        .map(|piece| piece.name.as_str())
        .collect()
}

/// Every Rust file of a folder, by its path in there.
fn sources(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).with_context(|| next.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push((path.strip_prefix(folder)?.to_owned(), std::fs::read_to_string(&path)?));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Writes a file unless it is there already: cargo goes by its time.
fn write(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    std::fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
