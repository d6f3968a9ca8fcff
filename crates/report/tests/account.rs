//! The account of a finding says what the judge says.

mod common;

use common::{PROMISE, SIZE, observe, vectors};
use tangle_identity::account::{Account, State};
use tangle_identity::rule;
use tangle_oracle::faults::Fault;
use tangle_oracle::judge::{Verdict, judge};
use tangle_oracle::map::LaneMap;
use tangle_report::reporter::text::{Colour, step};
use tangle_report::wrong_step::WrongStep;

#[test]
fn the_first_wrong_step_is_the_judges() {
    let (mut wrong, mut right) = (0, 0);
    for (name, case) in vectors() {
        for &fault in Fault::ALL {
            let Some(seen) = observe(&case, fault) else { continue };
            let judgement = judge(&case, &seen, PROMISE);
            let account = Account::new(&case, LaneMap::linear(&case, SIZE), Some(&seen)).expect("it is well-defined");
            let place = format!("{name}, {}", fault.name());
            let Verdict::Mismatch(mismatch) = judgement.verdict else {
                assert!(account.first().is_none(), "{place}");
                right += 1;
                continue;
            };
            wrong += 1;
            let first = account.first().unwrap_or_else(|| panic!("{place}: nothing is wrong"));
            assert_eq!(first.kind, mismatch.kind, "{place}");
            assert_eq!(first.group, mismatch.group, "{place}");
            assert_eq!(
                first.step.and_then(|step| account.site(step)).map_or(0, |site| site.id),
                mismatch.site,
                "{place}"
            );
            assert_eq!(account.wrong_lanes(), mismatch.wrong_lanes as usize, "{place}");
            let lanes = |index: &usize| (account.lanes[*index].subgroup, account.lanes[*index].lane);
            let shown: Vec<_> = first.lanes.iter().map(lanes).collect();
            let judged: Vec<_> = mismatch.lanes.iter().map(|lane| (lane.subgroup, lane.lane)).collect();
            assert_eq!(shown, judged, "{place}");
            every_lane_has_a_state(&account, &place);
            everything_is_shown(&account, &place);
        }
    }
    assert!(wrong > 80 && right > 100, "{wrong} wrong, {right} right");
}

fn every_lane_has_a_state(account: &Account<'_>, place: &str) {
    for (number, step) in account.steps.iter().enumerate() {
        let states = account.states(number);
        let here = states.values().filter(|state| !matches!(state, State::Absent | State::Intruder)).count();
        let active: u32 = step.active.iter().map(|(_, lanes)| lanes.count_ones()).sum();
        assert_eq!(here, active as usize, "{place}, step {number}");
    }
}

fn everything_is_shown(account: &Account<'_>, place: &str) {
    let wrong_step = WrongStep::of(account).unwrap_or_else(|| panic!("{place}: nothing is shown"));
    let first = account.first().expect("something is wrong");
    assert_eq!(wrong_step.rows.len(), first.lanes.len(), "{place}");
    let before: u32 =
        wrong_step.origins.iter().flat_map(|origin| &origin.lanes).map(|(_, lanes)| lanes.count_ones()).sum();
    assert_eq!(before as usize, first.lanes.len(), "{place}");
    assert!(!rule::of_step(account, &first).is_empty(), "{place}");
    let plain = step(&wrong_step, Colour::Plain);
    assert!(!plain.contains('\x1b') && plain.contains(&wrong_step.headline), "{place}: {plain}");
    let coloured = step(&wrong_step, Colour::Ansi);
    assert_eq!(without_colour(&coloured), plain, "{place}");
}

/// The text without escape sequences.
fn without_colour(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}
