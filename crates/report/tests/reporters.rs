//! Every format has a form for findings, and what docs/reports.md says of JSON is there.

mod common;

use std::path::Path;

use common::{PROMISE, observe, vectors};
use serde_json::Value;
use tangle_emit::glsl::glsl;
use tangle_identity::Signature;
use tangle_oracle::faults::Fault;
use tangle_oracle::judge::judge;
use tangle_report::campaign::Campaign;
use tangle_report::replay::Replay;
use tangle_report::reporter::{FORMATS, Json, Reporter, for_file};
use tangle_report::saved::SavedShader;
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
    Subject {
        shader: SavedShader { glsl: glsl(&case), spirv: vec![0x0723_0203], disassembly: String::new() },
        basis: Basis::Observed { observation, promise: PROMISE },
        signature: Some(signature),
        report: "what happened".into(),
        device: Some(TestedDevice { name: "lvp".into(), info: Value::Null, start: String::new() }),
        others: Vec::new(),
        rate: None,
        passes_at_maximal: false,
        neighbour: None,
        variants: None,
        switches: None,
        command: "tangle run x --device lvp".into(),
        versions: "tangle".into(),
        case,
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
