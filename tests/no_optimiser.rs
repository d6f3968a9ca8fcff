//! A machine on which the optimiser does not run: that is no finding. In a program of its own, because every test in it has the same machine.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::*;
use tangle_campaign::campaign::{Campaign, CampaignOptions, Folder};
use tangle_campaign::plan::Choice;
use tangle_campaign::prepare::prepare;
use tangle_campaign::target::{Conclusion, Finish, Target};
use tangle_program::case::Case;
use tangle_program::variant::Variant;
use tangle_runner::toolchain;

static STOP: AtomicBool = AtomicBool::new(false);

#[test]
fn an_optimiser_that_cannot_be_started_stops_a_campaign_and_is_no_finding() {
    toolchain::compile_by("/there/is/none".into());
    let mut case = Case::from_json(&read(&vector("V01"))).expect("a case of the corpus");
    case.variant = Variant::Size;
    let fault = prepare(case.clone()).expect_err("there is no optimiser");
    let conclusion = Conclusion::from(&fault);
    assert!(matches!(conclusion.finish, Finish::NoWorker { .. }) && conclusion.signature(&case).is_none());

    let place = tempfile::tempdir().expect("a temporary folder");
    let choice = Choice { variant: Some(Variant::Size), ..Choice::default() };
    let options = CampaignOptions {
        choice,
        cases: Some(40),
        time: None,
        witnesses: 5,
        known: Default::default(),
        max_disk: CampaignOptions::MAX_DISK,
        processor_time: None,
        until_first: false,
    };
    let targets = vec![Target::built_in("reference").expect("it is built in")];
    let folder = Folder::open(place.path()).expect("it is free");
    let campaign = Arc::new(Campaign::new(options, folder, targets, &STOP).expect("it can be set up"));
    let error = campaign.run(|_| {}).expect_err("nothing can be compiled").to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("the shader toolchain does not run: cannot start the compilers: "), "{error}");
    assert!(!place.path().join("findings").exists(), "{:?}", tree(place.path()));
    let state = read_json(&place.path().join("campaign.json"));
    assert_eq!(number(&state["ledger"]["devices"]["reference"]["cases"]), 0, "{state}");
}
