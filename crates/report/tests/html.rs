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

/// The width of a telephone, and what is left of it between the margins, in pixels.
const PHONE: u32 = 420;
const WITHIN: u32 = PHONE - 2 * 12;

/// Classes of elements that are as wide as the page at most, and scroll what is wider.
const SCROLLING: [&str; 3] = ["scroll", "picture", "framebuffer"];

/// What of a page makes it wider than a telephone: a table or picture that nothing scrolls.
fn too_wide(page: &str) -> Option<String> {
    for class in SCROLLING {
        let rule = format!("\n.{class} {{");
        let style = page.split_once(&rule).and_then(|(_, rest)| rest.split('}').next()).unwrap_or_default();
        let is_bounded = ["max-width: 100%", "min-width: 0"].iter().any(|bound| style.contains(bound));
        if !is_bounded || !["overflow: auto", "overflow-x: auto"].iter().any(|scrolls| style.contains(scrolls)) {
            return Some(format!(".{class} does not scroll: {style}"));
        }
    }
    let mut open: Vec<(&str, bool)> = Vec::new();
    let body = page.split_once("<body").map_or(page, |(_, body)| body);
    for (at, _) in body.match_indices('<') {
        let tag = body[at + 1..].split_once('>').map(|(tag, _)| tag)?;
        let name = tag.trim_start_matches('/').split(' ').next()?;
        let attribute = |key: &str| tag.split_once(&format!(" {key}=\"")).and_then(|(_, rest)| rest.split('"').next());
        if tag.starts_with('/') {
            open.pop();
            continue;
        }
        let is_wide = match name {
            // Its words break anywhere.
            "table" => attribute("class") != Some("facts"),
            "svg" => attribute("width").and_then(|width| width.parse::<u32>().ok()).is_some_and(|width| width > WITHIN),
            _ => false,
        };
        let is_scrolled = open.last().is_some_and(|(_, is_scrolled)| *is_scrolled);
        if is_wide && !is_scrolled {
            return Some(format!("<{tag}> is wider than {PHONE} pixels"));
        }
        if !VOID.contains(&name) {
            let classes = attribute("class").unwrap_or_default();
            open.push((name, is_scrolled || classes.split(' ').any(|class| SCROLLING.contains(&class))));
        }
    }
    None
}

/// What is wrong with a page.
fn problem(page: &str) -> Option<String> {
    if let Some(wide) = too_wide(page) {
        return Some(wide);
    }
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
    let wide = {
        let mut wide = case.clone();
        wide.entry_point.launch = Launch::Draw(Draw::new([24, 2], vec![[[0, 0], [24, 0], [0, 2]]]));
        wide
    };
    // Covers (0, 0) to (2, 0) and (0, 1) of two quads.
    let triangles = vec![[[0, 0], [4, 0], [0, 2]]];
    case.entry_point.launch = Launch::Draw(Draw::new([4, 2], triangles));
    let page_of = |case: &Case, seen: &Observation| {
        let shader = SavedShader { source: glsl(case), spirv: Vec::new(), disassembly: String::new() };
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
    // A framebuffer wider than a telephone scrolls in its own place.
    let seen = observe(&wide, Fault::ALL[0]).expect("it is well-formed");
    let page = page_of(&wide, &seen);
    assert_eq!(problem(&page), None);
    assert!(too_wide(&page.replace("<div class=\"framebuffer\">", "<div>")).is_some(), "the check can fail");
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
                shader: SavedShader { source: glsl(&case), spirv: Vec::new(), disassembly: String::new() },
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
