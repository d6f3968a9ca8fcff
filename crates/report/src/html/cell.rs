//! What a lane at a step is in pictures: its class, and what is said when the mouse rests on it.

use std::fmt::Write as _;

use tangle_identity::account::{Account, Entry, Lane, State, show};

/// The class of a state in the style sheet.
pub(super) const fn class(state: State) -> &'static str {
    match state {
        State::Absent => "absent",
        State::Right => "right",
        State::Open => "open",
        State::Unseen => "unseen",
        State::WrongValue => "value",
        State::Missing => "missing",
        State::Intruder => "intruder",
        State::NotJudged => "unjudged",
    }
}

/// Who a lane of the account is, and what it did at a step.
pub(super) fn title(account: &Account<'_>, index: usize, step: usize, state: State) -> String {
    let lane = &account.lanes[index];
    let name = account.case.entry_point.describe(lane.invocation);
    let helper = if lane.is_helper { ", a helper invocation at entry" } else { "" };
    let mut text = format!("subgroup {}, lane {}: {name}{helper}", lane.subgroup, lane.lane);
    match state {
        State::Missing | State::Intruder => {
            let _ = write!(text, "\n{}", instead(account, lane));
        }
        _ => {
            if let Ok(entry) = lane.entries.binary_search_by_key(&step, |entry| entry.step) {
                values(&mut text, account, lane, &lane.entries[entry], state);
            }
        }
    }
    text
}

fn instead(account: &Account<'_>, lane: &Lane) -> String {
    match account.instead(lane) {
        None => "logs nothing more".into(),
        Some((site, _)) => match account.sites.get(&site) {
            Some(site) => format!("goes to line {} instead", site.line),
            None => format!("logs {site:#x}, which is no site"),
        },
    }
}

fn values(text: &mut String, account: &Account<'_>, lane: &Lane, entry: &Entry, state: State) {
    let Some(site) = account.site(entry.step) else { return };
    for (i, (logged, expected)) in site.values.iter().zip(entry.words.iter().skip(1)).enumerate() {
        let _ = write!(text, "\n{} = ", logged.text);
        let found = show(lane.actual_word(entry.at + 1 + i), logged.scalar);
        let known = account.observed && state != State::NotJudged;
        let _ = match expected.map(|word| show(word, logged.scalar)) {
            Some(expected) if known && expected != found => write!(text, "{found}, expected {expected}"),
            Some(expected) => write!(text, "{expected}"),
            None if known => write!(text, "{found} (open)"),
            None => write!(text, "open"),
        };
    }
}
