//! What the generator makes reaches everything there is: no cell of operation × context and of operation × type stays empty without a
//! reason.

use tangle_analysis::context::Context;
use tangle_campaign::coverage::{fill, measure};
use tangle_campaign::plan::Choice;
use tangle_oracle::coverage::{At, Coverage, EXEMPTIONS, Fill, reachable};
use tangle_program::case::Tier;
use tangle_program::subgroup::TABLE;

/// Cases between two looks.
const STEP: u64 = 2_000;

/// The rarest cells are some hundred times rarer than the others.
const MOST: u64 = 100_000;

#[test]
fn every_cell_is_checked_or_exempt() {
    let mut coverage = Coverage::default();
    let mut steps = 0..MOST / STEP;
    while !coverage.gaps().is_empty()
        && let Some(seed) = steps.next()
    {
        let choice = Choice { seed, tier: Some(Tier::Maximal), ..Choice::default() };
        fill(&mut coverage, choice, STEP).expect("the reference device runs every case");
    }
    let cases = steps.start * STEP;
    assert_eq!(coverage.gaps(), [], "{cases} cases");
    println!("note: {cases} cases, of which {} ran, fill every cell", coverage.cases);
}

#[test]
fn an_operation_that_is_never_generated_is_a_gap_in_every_column() {
    let without = ["subgroupShuffleXor".parse().expect("an operation")].into();
    let coverage = measure(Choice { seed: 1, without, ..Choice::default() }, 200).expect("it runs");
    let gaps = coverage.gaps();
    for context in Context::ALL {
        let here =
            gaps.iter().find(|gap| gap.op.info().name == "subgroupShuffleXor" && gap.at == At::Context(*context));
        assert!(here.is_some_and(|gap| gap.fill == Fill::Empty), "{context:?}: {here:?}");
    }
    let (filled, all) = coverage.filled();
    assert_eq!(filled + gaps.len(), all);
}

#[test]
fn every_exemption_is_needed() {
    for exemption in &EXEMPTIONS {
        let applies = TABLE
            .iter()
            .filter(|info| (exemption.applies)(info))
            .any(|info| exemption.contexts.iter().any(|&context| reachable(info, context).1 == Some(exemption.reason)));
        assert!(applies, "{}", exemption.reason);
    }
}

#[test]
fn the_table_has_a_json_form() {
    let coverage = measure(Choice { seed: 2, ..Choice::default() }, 50).expect("it runs");
    let text = serde_json::to_string(&coverage).expect("it is plain data");
    assert_eq!(serde_json::from_str::<Coverage>(&text).expect("it reads"), coverage);
}
