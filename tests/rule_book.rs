//! Citations lead somewhere: every rule that is cited stands in `docs/rules.md`, once, and every page that is named is in the repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::*;
use regex::Regex;
use tangle_identity::quotation::QUOTATIONS;
use tangle_oracle::map::MapRule;
use tangle_oracle::observed::TangleRule;
use tangle_program::subgroup::TABLE;
use tangle_program::types::Scalar;

/// The numbers of the rules that the book defines, in its order.
fn defined(book: &str) -> Vec<String> {
    let heading = Regex::new(r"(?m)^- \*\*([A-Z])(\d+)\*\*(?: to \*\*[A-Z](\d+)\*\*)?").expect("a pattern");
    let numbers = heading.captures_iter(book).flat_map(|found| {
        let number = |group: usize| found.get(group).map(|text| text.as_str().parse::<u32>().expect("digits"));
        let first = number(2).expect("it has a number");
        let last = number(3).unwrap_or(first);
        (first..=last).map(move |number| format!("{}{number}", &found[1])).collect::<Vec<_>>()
    });
    numbers.collect()
}

/// The rules of the book: their first number and all that stands there, behind the introduction of the section.
fn rules(book: &str) -> Vec<(String, String)> {
    let heading = Regex::new(r"^- \*\*([A-Z]\d+)\*\*").expect("a pattern");
    let mut rules: Vec<(String, String)> = Vec::new();
    for section in book.split("\n## ").skip(1) {
        let mut introduction = String::new();
        let mut is_rule = false;
        for line in section.lines() {
            if let Some(found) = heading.captures(line) {
                rules.push((found[1].to_owned(), introduction.clone()));
                is_rule = true;
            }
            let text = rules.last_mut().filter(|_| is_rule).map_or(&mut introduction, |(_, text)| text);
            text.push_str(line);
            text.push('\n');
        }
    }
    rules
}

/// True if a rule names a source of the book's table, an extension, or a rule other than itself.
fn is_founded(number: &str, text: &str, tags: &[&str]) -> bool {
    let word = Regex::new(r"[A-Za-z0-9_-]+").expect("a pattern");
    let other = Regex::new(r"^[A-Z]\d{1,2}$").expect("a pattern");
    let extension = Regex::new(r"^(?:GL|SPV|VK)_[A-Z]+_\w+$").expect("a pattern");
    word.find_iter(text).map(|found| found.as_str()).any(|word| {
        tags.contains(&word)
            || word == "SPIRV-Tools"
            || extension.is_match(word)
            || other.is_match(word) && word != number
    })
}

#[test]
fn every_rule_names_its_source_or_what_it_follows_from() {
    let book = read(&root().join("docs/rules.md"));
    let row = Regex::new(r"(?m)^\| ([A-Z][A-Z-]+) \|").expect("a pattern");
    let tags: Vec<&str> = row.captures_iter(&book).map(|found| found.get(1).expect("a group").as_str()).collect();
    assert!(tags.contains(&"SPV") && tags.contains(&"GLSL-INT"), "{tags:?}");
    let all = rules(&book);
    assert!(all.len() > 100, "{}", all.len());
    let unfounded: Vec<&String> =
        all.iter().filter(|(number, text)| !is_founded(number, text, &tags)).map(|(number, _)| number).collect();
    assert!(unfounded.is_empty(), "without a source or another rule: {unfounded:?}");
    for (text, founded) in [("**A1** It is so.", false), ("**A1** (SPV) So.", true), ("**A1** By A2.", true)] {
        assert_eq!(is_founded("A1", text, &tags), founded, "{text}");
    }
}

/// The numbers that a text cites: `rule O3`, `rules O1 to O8 and O11`, `rules.md, E8`.
fn cited(text: &str) -> Vec<String> {
    let list = r"((?:[A-Z]\d{1,2})(?:(?:, | and | or | to )[A-Z]\d{1,2})*)";
    let citation = Regex::new(&format!(r"(?:\b[Rr]ules? |rules\.md,? ){list}\b")).expect("a pattern");
    let number = Regex::new(r"[A-Z]\d{1,2}").expect("a pattern");
    let lists = citation.captures_iter(text).map(|found| found[1].to_owned()).collect::<Vec<_>>();
    lists
        .iter()
        .flat_map(|list| number.find_iter(list).map(|found| found.as_str().to_owned()).collect::<Vec<_>>())
        .collect()
}

/// Sources and pages that git knows, or all of them where there is no git.
fn files() -> Vec<PathBuf> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let listed = output.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    let names = listed.split(|&byte| byte == 0).map(|name| String::from_utf8_lossy(name).into_owned());
    let is_text = |name: &String| [".rs", ".md", ".toml", ".sh", ".py"].iter().any(|end| name.ends_with(end));
    names.filter(is_text).map(PathBuf::from).filter(|path| root().join(path).is_file()).collect()
}

#[test]
fn every_rule_that_is_cited_is_in_the_book() {
    let rules = defined(&read(&root().join("docs/rules.md")));
    let known: BTreeSet<&String> = rules.iter().collect();
    assert_eq!(known.len(), rules.len(), "a rule stands in the book twice");
    let mut citations = 0;
    let mut dangling = Vec::new();
    for file in files() {
        for number in cited(&read(&root().join(&file))) {
            citations += 1;
            if !known.contains(&number) {
                dangling.push(format!("{}: {number}", file.display()));
            }
        }
    }
    assert!(dangling.is_empty(), "cited and not in docs/rules.md:\n{}", dangling.join("\n"));
    note!("{citations} citations of {} rules", rules.len());
}

#[test]
fn every_rule_that_a_report_names_is_in_the_book() {
    let rules: BTreeSet<String> = defined(&read(&root().join("docs/rules.md"))).into_iter().collect();
    let of_tangles = TangleRule::ALL.iter().map(|rule| rule.number());
    let of_maps = MapRule::ALL.iter().map(|rule| rule.number());
    let of_operations =
        TABLE.iter().flat_map(|info| info.scalars.iter().chain(&[Scalar::Uint]).map(|&scalar| info.rule(scalar)));
    for number in of_tangles.chain(of_maps).chain(of_operations) {
        assert!(rules.contains(&number.to_string()), "{number} is not in docs/rules.md");
    }
    // Those that stand in the code of reports by themselves.
    let source = read(&root().join("crates/identity/src/rule.rs"));
    let pair = Regex::new(r"\('([A-Z])', (\d+)\)").expect("a pattern");
    let named: Vec<String> = pair.captures_iter(&source).map(|found| format!("{}{}", &found[1], &found[2])).collect();
    assert!(named.len() > 8, "{named:?}");
    named.iter().for_each(|number| assert!(rules.contains(number), "{number} is not in docs/rules.md"));
}

/// A text on one line, without what the sources of a specification have for markup, and with plain apostrophes.
fn folded(text: &str) -> String {
    let plain = text.replace('’', "'");
    let link = Regex::new(r"<<[^,>]*,\s*([^>]*)>>").expect("a pattern");
    let plain = link.replace_all(&plain, "$1");
    let plain = Regex::new(r"\b(?:code|pname|ename):").expect("a pattern").replace_all(&plain, "");
    let plain = Regex::new(r"\b(must|may|should|can|required):").expect("a pattern").replace_all(&plain, "$1");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_sentence_that_a_report_quotes_is_in_the_book() {
    let book = folded(&read(&root().join("docs/rules.md")));
    for quotation in QUOTATIONS {
        assert!(book.contains(&folded(quotation.text)), "docs/rules.md does not quote {quotation:?}");
    }
    assert_eq!(folded("a <<b-c, d\n  e>> must: not’s code:X"), "a d e must not's X");
}

/// Pages of other projects, which are named with their project.
const ELSEWHERE: [&str; 4] =
    ["amber_script.md", "LoaderDriverInterface.md", "fuzzer_environment.md", "icd_enumeration.md"];

#[test]
fn every_page_that_is_named_is_in_the_repository() {
    let page = Regex::new(r"[\w./-]*\w\.md\b").expect("a pattern");
    let files = files();
    let name_of = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let names: BTreeSet<String> = files.iter().map(|path| name_of(path)).collect();
    let mut missing = Vec::new();
    for file in &files {
        for found in page.find_iter(&read(&root().join(file))) {
            let name = name_of(Path::new(found.as_str()));
            if !names.contains(&name) && !ELSEWHERE.contains(&name.as_str()) {
                missing.push(format!("{}: {}", file.display(), found.as_str()));
            }
        }
    }
    assert!(missing.is_empty(), "named and not in the repository:\n{}", missing.join("\n"));
}

#[test]
fn a_citation_is_recognised_and_a_dangling_one_is_found() {
    let book = "- **O1** One.\n- **O2** (strong) Two.\n- **V1** to **V3**: three.\n";
    assert_eq!(defined(book), ["O1", "O2", "V1", "V2", "V3"]);
    for (text, numbers) in [
        ("(rule O3)", vec!["O3"]),
        ("rules O1 to O8 and O11 hold", vec!["O1", "O8", "O11"]),
        ("docs/rules.md, E8; X1", vec!["E8"]),
        ("Rule R6 of the 3 rules", vec!["R6"]),
        ("V100 has no rule", vec![]),
    ] {
        assert_eq!(cited(text), numbers, "{text}");
    }
}
