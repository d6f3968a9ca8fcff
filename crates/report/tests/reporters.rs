//! Every format has a form for findings, and what docs/reports.md says of JSON is there.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{PROMISE, observe, vectors};
use serde_json::Value;
use tangle_emit::glsl::glsl;
use tangle_identity::stage::Stage;
use tangle_identity::{BugId, Detail, Kind, Signature, Status};
use tangle_oracle::coverage::Coverage;
use tangle_oracle::faults::Fault;
use tangle_oracle::judge::judge;
use tangle_report::campaign::{Campaign, SavedProgram};
use tangle_report::matrix::{Matrix, MatrixCell, MatrixDevice, MatrixRow, Meaning};
use tangle_report::replay::Replay;
use tangle_report::reporter::{FORMATS, Json, Markdown, Reporter, Text, for_file};
use tangle_report::saved::SavedShader;
use tangle_report::statistics::BugEntry;
use tangle_report::subject::{Basis, Subject, TestedDevice};

/// A finding with a first wrong step.
fn subject() -> Subject {
    let found = vectors().into_iter().find_map(|(_, case)| {
        let observation = Fault::ALL.iter().find_map(|&fault| {
            let seen = observe(&case, fault)?;
            Signature::of(&case, &judge(&case, &seen, PROMISE)).map(|signature| (seen, signature))
        });
        observation.map(|(seen, signature)| (case, seen, signature))
    });
    let (case, observation, signature) = found.expect("some fault shows in some vector");
    let shader = SavedShader { source: glsl(&case), spirv: vec![0x0723_0203], disassembly: String::new() };
    Subject {
        basis: Basis::Observed { observation, promise: PROMISE },
        signature: Some(signature),
        report: "what happened".into(),
        device: Some(TestedDevice { name: "lvp".into(), info: Value::Null, start: String::new() }),
        command: "tangle run x --device lvp".into(),
        ..Subject::of(case, shader, "tangle".into())
    }
}

#[test]
fn every_format_has_a_form_for_a_finding() {
    let subject = subject();
    let analysis = subject.analyse().expect("it is well-defined");
    let headline = analysis.headline().expect("something is wrong");
    for (name, format) in FORMATS {
        let text = format.finding(&analysis).expect("it can be shown").unwrap_or_else(|| panic!("{name}: no form"));
        assert!(text.to_lowercase().contains(&headline.to_lowercase()), "{name}: {text}");
    }
}

#[test]
fn every_format_for_people_shows_flakes_and_changes_of_versions() {
    let mut campaign =
        Campaign { sections: vec!["lvp goes on at case 7 with 26 instead of 25".into()], ..Campaign::default() };
    let lost = Signature::new(Kind::DeviceLost, Detail::Text("while it ran".into()));
    campaign.statistics.flake("lvp", &lost, 3).cases += 1;
    for (name, format) in FORMATS.iter().filter(|(name, _)| *name != "xml") {
        let text = format.campaign(&campaign).expect("it can be shown").unwrap_or_else(|| panic!("{name}: no form"));
        assert!(text.contains("lvp goes on at case 7") && text.contains("while it ran"), "{name}: {text}");
    }
}

#[test]
fn files_say_their_format_and_the_option_overrides_it() {
    for (file, asked, is_known) in [
        ("a.html", None, true),
        ("a.html", Some("json"), true),
        ("a", Some("xml"), true),
        ("a", None, false),
        ("a.html", Some("pdf"), false),
        ("a.HTML", None, false),
    ] {
        assert_eq!(for_file(Path::new(file), asked).is_ok(), is_known, "{file} {asked:?}");
    }
}

/// Two cases on two devices.
fn matrix() -> Matrix {
    let cell = |status, meaning| MatrixCell { status, meaning };
    let device = |name: &str| MatrixDevice { name: name.into(), driver: format!("driver of {name}") };
    let row = |name: &str, cells| MatrixRow {
        name: name.into(),
        about: "last bad 1".into(),
        cells,
        history: vec!["d: bad in 1".into()],
    };
    let (bad, good, open) = (
        cell(Status::Finding(Kind::Value), Meaning::Bad),
        cell(Status::Pass, Meaning::Good),
        cell(Status::Compiled, Meaning::Open),
    );
    Matrix {
        devices: vec![device("a"), device("b|c")],
        rows: vec![row("one", vec![bad, good]), row("two", vec![open, good])],
    }
}

fn covered() -> BTreeMap<String, Coverage> {
    BTreeMap::from([("a".to_owned(), Coverage::default())])
}

/// The object of the only device, with the fields that all reports have.
fn only_device(text: &str) -> String {
    let object: Value = serde_json::from_str(text).expect("it is JSON");
    assert_eq!((&object["what"], object["devices"].as_array().map(Vec::len)), (&"coverage".into(), Some(1)));
    object["devices"][0].to_string()
}

#[test]
fn a_matrix_says_who_fails_in_every_format() {
    let text = Json.matrix(&matrix()).expect("it can be shown").expect("it has a form");
    let object: Value = serde_json::from_str(&text).expect("it is JSON");
    let bad = |row: usize, device: usize| object["rows"][row]["results"][device]["bad"].clone();
    assert_eq!([bad(0, 0), bad(0, 1), bad(1, 0)], [Value::Bool(true), Value::Bool(false), Value::Null]);
    let text = Markdown.matrix(&matrix()).expect("it can be shown").expect("it has a form");
    for line in ["| case | a | b|c |", "| one | value | pass |", "| one | d: bad in 1 | last bad 1 |"] {
        assert!(text.contains(&line.replace("b|c", "b\\|c")), "{line}: {text}");
    }
    let text = Markdown.coverage(&covered()).expect("it can be shown").expect("it has a form");
    assert!(text.contains("## a: 0 of ") && text.contains("| subgroupElect | 0 "), "{text}");
}

/// Each table of docs/reports.md names every field, and no field that is not there.
#[test]
fn the_fields_of_json_are_those_of_the_documentation() {
    let docs = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reports.md"));
    let docs = docs.expect("the file can be read");
    let subject = subject();
    let finding = Json.finding(&subject.analyse().expect("it is well-defined"));
    for (heading, made) in [
        ("### A finding", finding),
        ("### A campaign", Json.campaign(&Campaign::default())),
        ("### A replay", Json.replay(&Replay::default())),
        ("### A matrix", Json.matrix(&matrix())),
        ("### Coverage", Json.coverage(&covered()).map(|text| text.as_deref().map(only_device))),
    ] {
        let text = made.expect("it can be shown").expect("it has a form");
        let object: Value = serde_json::from_str(&text).expect("it is JSON");
        let fields = object.as_object().expect("an object").keys().map(String::as_str);
        let mut fields: Vec<&str> = fields.filter(|field| !["format", "what"].contains(field)).collect();
        let (_, section) = docs.split_once(heading).unwrap_or_else(|| panic!("docs/reports.md has no {heading}"));
        let section = section.split("\n#").next().unwrap_or_default();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
        let named =
            rows.flat_map(|row| row.split(',')).map(|name| name.trim().trim_matches('`').trim_end_matches("[]"));
        let mut named: Vec<&str> = named.filter(|name| !name.contains('.')).collect();
        fields.sort_unstable();
        named.sort_unstable();
        assert_eq!(fields, named, "{heading}");
    }
}

/// However much was found: bugs first, then the devices, then the rest, in the rows of a terminal of 80 columns.
#[test]
fn the_end_of_a_campaign_fits_on_a_screen() {
    let signature = |number: usize| {
        let words = "a message of the driver that goes on for longer than a row of the terminal has columns for it";
        Signature::new(Kind::Value, Detail::Text(format!("{number}: {words} {words}")))
    };
    let mut campaign = Campaign { folder: "tangle-out".into(), ..Campaign::default() };
    for number in 0..30 {
        let (device, signature) = (format!("lavapipe-{number}"), signature(number));
        campaign.statistics.enter(&device, 5, Status::Pass, Default::default());
        campaign.statistics.finding(&device, &signature, 5).cases += 1;
        campaign.statistics.flake(&device, &signature, 5).cases += 1;
        campaign.sections.push(format!("{device} goes on at case 7 with 26 instead of 25"));
        if number % 2 == 0 {
            campaign.statistics.enter_bug(BugEntry {
                device,
                bug: BugId::Text(format!("wrong result: {number}")),
                operators: Default::default(),
                passes_without: Default::default(),
                recognised: Default::default(),
                known: None,
                signatures: [signature].into(),
                witnesses: 1,
                representative: format!("findings/lavapipe-{number}/value-0123456789ab/minimized"),
                statements: 3,
                severity: Default::default(),
                flake: None,
            });
        }
    }
    let representative = campaign.statistics.bugs[0].representative.clone();
    let others_to_blame = [("lavapipe-0".to_owned(), Stage::Optimiser)].into();
    campaign.programs.insert(representative, SavedProgram { others_to_blame, ..SavedProgram::default() });
    let text = Text::PLAIN.campaign(&campaign).expect("it can be shown").expect("it has a form");
    let rows: usize = text.lines().map(|line| line.chars().count().div_ceil(80)).sum();
    assert!((24..=40).contains(&rows), "{rows} rows:\n{text}");
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} is missing:\n{text}"));
    let order =
        [at("bug on "), at(" more bugs"), at("not minimised: "), at("lavapipe-0: 1 cases"), at(" more devices")];
    assert!(order.is_sorted() && at("1 findings, smallest 3 statements") < order[1], "{order:?}:\n{text}");
    assert!(
        text.contains("  tangle explain tangle-out/findings/lavapipe-") && text.contains("goes on at case 7"),
        "{text}"
    );
    assert!(text.contains("bug on lavapipe-0 (optimiser (spirv-opt) to blame): wrong result: 0"), "{text}");
}
