//! A judgement in words: what the device did wrong, at which line, in which lanes.

use std::fmt::Write as _;

use tangle_oracle::judge::{Judgement, Kind, Mismatch, Verdict, WrongLane};
use tangle_program::case::Case;

/// Lanes shown in a table; the rest is counted.
const LANES_SHOWN: usize = 16;

/// The judgement for people: one line if all is well, else the first wrong step.
pub fn story(case: &Case, judgement: &Judgement) -> String {
    let mut text = String::new();
    let counts = judgement.counts;
    match &judgement.verdict {
        Verdict::Pass => text.push_str("pass"),
        Verdict::Vacuous => text.push_str("vacuous: nothing was compared"),
        Verdict::LaneMap => text.push_str("the lane map breaks a rule"),
        Verdict::Invalid(why) => {
            let _ = write!(text, "the case is not well-defined (a bug of tangle): {why}");
        }
        Verdict::Mismatch(mismatch) => text.push_str(&first_wrong_step(case, mismatch)),
    }
    let _ = write!(
        text,
        "\n{} values checked, {} left open by the specification or the tier, {} skipped, {} steps checked",
        counts.checked, counts.tainted, counts.skipped, counts.steps
    );
    for fault in &judgement.map_faults {
        let _ = write!(text, "\nlane map, {}\n  rule: {}", fault.describe(&case.entry_point), fault.rule.text());
    }
    text
}

fn first_wrong_step(case: &Case, mismatch: &Mismatch) -> String {
    let printed = tangle_emit::print(case);
    let mut text = String::new();
    let what = match mismatch.kind {
        Kind::Value => "wrong value",
        Kind::Path => "wrong path",
        Kind::Extra => "steps after the end",
    };
    let _ = write!(text, "{what} in {} of the dispatch's lanes; first", mismatch.wrong_lanes);
    let group = case.entry_point.describe_group(mismatch.group);
    match printed.line_of_site(mismatch.site) {
        Some(line) => {
            let source = printed.text.lines().nth(line - 1).unwrap_or_default().trim();
            let _ = writeln!(text, " at site {}, {group}, line {line}:", mismatch.site);
            let _ = writeln!(text, "  {source}");
        }
        None => {
            let _ = writeln!(text, " after the last expected step, {group}:");
        }
    }
    if let Some(rule) = mismatch.rule {
        let _ = writeln!(text, "  rule: {}; what is expected is one legal choice", rule.text());
    }
    if let Some(tier) = mismatch.weakest_tier {
        let _ = writeln!(text, "  this breaks the rules of tier {}, too", tier.name());
    }
    let sets = |sets: &[(usize, tangle_oracle::judge::LaneSet)]| {
        let shown = sets.iter().map(|(subgroup, lanes)| format!("subgroup {subgroup}: {:#x}", lanes.0));
        shown.collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(text, "  expected lanes  {}", sets(&mismatch.expected_active));
    if mismatch.actual_active != mismatch.expected_active {
        let _ = writeln!(text, "  actual lanes    {}", sets(&mismatch.actual_active));
    }
    let _ = writeln!(text, "  subgroup lane  index  expected -> actual (site first)");
    for lane in mismatch.lanes.iter().take(LANES_SHOWN) {
        let _ = writeln!(text, "  {}", lane_row(lane));
    }
    if mismatch.lanes.len() > LANES_SHOWN {
        let _ = writeln!(text, "  … and {} more lanes", mismatch.lanes.len() - LANES_SHOWN);
    }
    text.pop();
    text
}

fn lane_row(lane: &WrongLane) -> String {
    let expected = lane.expected.iter().map(|word| word.map_or("?".into(), |word| format!("{word:#x}")));
    let expected = expected.collect::<Vec<_>>().join(" ");
    let actual = lane.actual.iter().map(|word| format!("{word:#x}")).collect::<Vec<_>>().join(" ");
    let or_nothing = |text: String| if text.is_empty() { "nothing".to_owned() } else { text };
    format!(
        "{:>8} {:>4} {:>6}  {} -> {}",
        lane.subgroup,
        lane.lane,
        lane.index,
        or_nothing(expected),
        or_nothing(actual)
    )
}
