//! The pages are well-formed, load nothing, and their links lead somewhere.

mod common;

use std::collections::BTreeSet;

use common::{PROMISE, observe, vectors};
use tangle_emit::glsl::glsl;
use tangle_identity::Signature;
use tangle_oracle::faults::Fault;
use tangle_oracle::judge::{Kind, Observation, Verdict, judge};
use tangle_program::case::{Case, Draw, Launch, Stage};
use tangle_report::campaign::Campaign;
use tangle_report::html::campaign::campaign;
use tangle_report::html::finding::finding;
use tangle_report::saved::SavedShader;
use tangle_report::subject::{Basis, Elsewhere, Subject, TestedDevice};

/// Elements without an end tag.
const VOID: [&str; 3] = ["meta", "br", "!doctype"];

/// What is wrong with a page.
fn problem(page: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut targets = Vec::new();
    for (at, _) in page.match_indices('<') {
        let tag = page[at + 1..].split_once('>').map(|(tag, _)| tag)?;
        let name = tag.trim_start_matches('/').split(' ').next()?;
        if ["script", "link", "img", "iframe", "object"].contains(&name) {
            return Some(format!("<{tag}> may load something"));
        }
        if let Some(name) = tag.strip_prefix('/') {
            match open.pop() {
                Some(last) if last == name => {}
                last => return Some(format!("</{name}> ends {last:?}")),
            }
        } else if !VOID.contains(&name) {
            open.push(name);
        }
        let attribute = |key: &str| tag.split_once(&format!(" {key}=\"")).and_then(|(_, rest)| rest.split('"').next());
        if let Some(id) = attribute("id")
            && !ids.insert(id)
        {
            return Some(format!("two elements have the id {id}"));
        }
        targets.extend(attribute("href").and_then(|target| target.strip_prefix('#')));
    }
    let lost = targets.into_iter().find(|target| !ids.contains(target));
    let lost = lost.map(|target| format!("nothing has the id {target}"));
    lost.or_else(|| (!open.is_empty()).then(|| format!("{open:?} do not end")))
}

/// A fragment shader's lanes stand on the framebuffer, too: a cell for each, and the quads that they make.
#[test]
fn pages_of_fragment_shaders_have_the_framebuffer() {
    let mut case = Case::from_json(include_str!("../../../corpus/vectors/V16.json")).expect("a case");
    case.entry_point.stage = Stage::Fragment;
    // Covers (0, 0) to (2, 0) and (0, 1) of two quads.
    let triangles = vec![[[0, 0], [4, 0], [0, 2]]];
    case.entry_point.launch = Launch::Draw(Draw::new([4, 2], triangles));
    let page_of = |case: &Case, seen: &Observation| {
        let shader = SavedShader { glsl: glsl(case), spirv: Vec::new(), disassembly: String::new() };
        let basis = Basis::Observed { observation: seen.clone(), promise: PROMISE };
        let subject = Subject { basis, ..Subject::of(case.clone(), shader, String::new()) };
        finding(&subject.analyse().expect("defined"))
    };
    let mut wrong = 0;
    for &fault in Fault::ALL {
        let Some(seen) = observe(&case, fault) else { continue };
        let judged = judge(&case, &seen, PROMISE);
        let page = page_of(&case, &seen);
        assert_eq!(problem(&page), None, "{fault:?}");
        let (_, picture) = page.split_once("<div class=\"framebuffer\">").expect("the picture is there");
        let (picture, _) = picture.split_once("</svg>").expect("it ends");
        assert_eq!(picture.matches("class=\"quad\"").count(), 2, "{fault:?}");
        assert_eq!(picture.matches(" helper\" x=").count(), 3 * 4, "{fault:?}: a cell and its two lines of text");
        let marked = (0..8).filter(|lane| picture.contains(&format!(">x{lane}</text>"))).count();
        if let Verdict::Mismatch(mismatch) = judged.verdict
            && mismatch.kind == Kind::Value
        {
            assert_eq!(marked, mismatch.lanes.len(), "{fault:?}");
            wrong += 1;
        }
    }
    assert!(wrong > 5, "{wrong} wrong pictures");
    let (_, compute) = vectors().swap_remove(0);
    let seen = observe(&compute, Fault::ALL[0]).expect("it is well-formed");
    assert!(!page_of(&compute, &seen).contains("class=\"framebuffer\""));
}

#[test]
fn findings_make_whole_pages() {
    let info = serde_json::json!({ "device_name": "<b>&\"", "driver_name": "</script>" });
    let mut pages = 0;
    for (name, case) in vectors() {
        for &fault in Fault::ALL {
            let Some(seen) = observe(&case, fault) else { continue };
            let Some(signature) = Signature::of(&case, &judge(&case, &seen, PROMISE)) else { continue };
            let device = TestedDevice { name: "<i>".into(), info: info.clone(), start: String::new() };
            let other = Elsewhere {
                device: "<i>".into(),
                driver: "<i>".into(),
                version: "<b>&".into(),
                result: "<b>&".into(),
                is_right: Some(true),
            };
            let subject = Subject {
                shader: SavedShader { glsl: glsl(&case), spirv: Vec::new(), disassembly: String::new() },
                beside: Vec::new(),
                basis: Basis::Observed { observation: seen, promise: PROMISE },
                signature: Some(signature),
                report: String::new(),
                device: Some(device),
                others: vec![other],
                rate: None,
                passes_at_maximal: false,
                neighbour: Some(case.clone()),
                variants: None,
                switches: None,
                command: "tangle run <0>".into(),
                versions: "tangle <0>".into(),
                case: case.clone(),
            };
            let page = finding(&subject.analyse().expect("it is well-defined"));
            assert_eq!(problem(&page), None, "{name}, {}", fault.name());
            for raw in ["<i>", "<b>&", "<0>"] {
                // The strips are made of <i class="…">.
                assert!(!page.contains(raw), "{name}, {}: {raw}", fault.name());
            }
            pages += 1;
        }
    }
    assert!(pages > 80, "{pages}");
}

#[test]
fn an_empty_campaign_makes_a_whole_page() {
    assert_eq!(problem(&campaign(&Campaign::default())), None);
}
