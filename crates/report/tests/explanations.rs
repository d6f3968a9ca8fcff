//! What reports say of wrong results that released drivers gave, text by text: where it went wrong, and which sentence that breaks.
//!
//! `observed.json` has what the drivers logged for cases of `corpus/regressions`; the subgroups are of consecutive invocations there, and the lane
//! map is right. After a change read the whole difference (`cargo insta review`): a wrong blame is worse than none.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use tangle_emit::glsl::glsl;
use tangle_identity::Signature;
use tangle_oracle::judge::{Observation, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_program::case::Case;
use tangle_report::saved::SavedShader;
use tangle_report::subject::{Basis, Subject};

/// What a driver made of a case.
#[derive(Deserialize)]
struct Observed {
    /// A file of `corpus/regressions`, without its ending.
    case: String,
    /// The driver and its version.
    device: String,
    /// Invocations of a subgroup.
    size: u32,
    /// The log of each invocation, without zeros at the end.
    logs: Vec<Vec<u32>>,
}

fn explanation(observed: Observed) -> String {
    let Observed { case, device, size, logs } = observed;
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/regressions");
    let text = std::fs::read_to_string(corpus.join(format!("{case}.json"))).expect("a case of the corpus");
    let (name, case) = (case, Case::from_json(&text).expect("it is a case"));
    let observation = Observation { map: LaneMap::linear(&case, size).words(&case), logs, open: Vec::new() };
    let promise = SubgroupPromise::vulkan(size, size, size);
    let signature = Signature::traced(&case, &judge(&case, &observation, promise), Some(&observation));
    let shader = SavedShader { source: glsl(&case), spirv: Vec::new(), disassembly: String::new() };
    let subject = Subject {
        basis: Basis::Observed { observation, promise },
        signature,
        ..Subject::of(case, shader, String::new())
    };
    let analysis = subject.analyse().expect("the case is defined");
    let step = analysis.wrong_step.as_ref().unwrap_or_else(|| panic!("{name} on {device}: nothing is wrong"));
    let mut text = format!("## {name} on {device}\n");
    let _ = writeln!(text, "{}", subject.signature.as_ref().expect("it is a finding"));
    let _ = writeln!(text, "{}", step.headline);
    for rule in &analysis.rules {
        let _ = writeln!(text, "- {}", rule.heading());
        if !rule.quote.is_empty() {
            let _ = writeln!(text, "  \"{}\"", rule.quote);
        }
        let _ = writeln!(text, "  {}", rule.because);
    }
    text
}

#[test]
fn reports_blame_what_went_wrong() {
    let observed: Vec<Observed> = serde_json::from_str(include_str!("observed.json")).expect("plain data");
    assert!(observed.len() >= 20);
    let texts: Vec<String> = observed.into_iter().map(explanation).collect();
    insta::assert_snapshot!(texts.join("\n"));
}
