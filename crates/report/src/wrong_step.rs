//! The first wrong step, taken apart: what the reporters and the bundle's README show of it, each in its format.

use std::collections::BTreeMap;

use tangle_oracle::judge::Kind;
use tangle_program::case::Case;
use tangle_program::subgroup::lanes;

use tangle_identity::account::{Account, Entry, First, Lane, Site, State, show};
use tangle_identity::trace::{AfterLoop, after_loop};

/// Lines of the shader shown before and after the wrong one.
const CONTEXT: usize = 4;
/// Subgroups shown as strips: those where something is wrong, and those where nothing is.
const STRIPS: usize = 32;
const RIGHT_STRIPS: usize = 6;
/// Columns of values shown in a table where more are logged: those with a wrong value come first.
const COLUMNS: usize = 6;

/// The first wrong step.
#[derive(Clone, Debug)]
pub struct WrongStep {
    /// What is wrong, in one sentence without a full stop.
    pub headline: String,
    /// How many lanes go wrong, in all.
    pub extent: String,
    /// Where the wrong value comes from, in one sentence without a full stop, if not from where it shows.
    pub trace: Option<String>,
    /// Where: step, group, line.
    pub place: String,
    /// The line of the shader, from 1; 0 after the last step.
    pub line: usize,
    /// Lines of the shader around it, with their numbers.
    pub excerpt: Vec<(usize, String)>,
    /// Which lanes are expected here, and which are here, by subgroup.
    pub strips: Vec<Strip>,
    /// What is logged here, of which something is wrong: the columns of the table.
    pub columns: Vec<String>,
    /// How many logged values are right in all these lanes and left out of the table.
    pub left_out: usize,
    /// The lanes that go wrong at the step, a row each.
    pub rows: Vec<LaneRow>,
    /// The step before, and the lanes that took it.
    pub origins: Vec<Origin>,
}

/// The lanes of one subgroup at the step.
#[derive(Clone, Debug)]
pub struct Strip {
    /// Number of the subgroup in its group.
    pub subgroup: usize,
    /// For each lane; `None` where there is no invocation.
    pub lanes: Vec<Option<State>>,
}

/// A lane that goes wrong, a row of the table.
#[derive(Clone, Debug)]
pub struct LaneRow {
    /// Number of the subgroup in its group.
    pub subgroup: usize,
    /// `gl_SubgroupInvocationID`
    pub lane: usize,
    /// Number of the invocation in its group.
    pub index: u32,
    /// What it logged instead, or that it did not come.
    pub result: LaneResult,
}

/// The result of a wrong lane.
#[derive(Clone, Debug)]
pub enum LaneResult {
    /// It logged the step: for each column the expected value (`None`: open) and the actual one.
    Logged(Vec<(Option<String>, String)>),
    /// It went to another step, or logged nothing more.
    Left(String),
}

/// Where wrong lanes were last, as far as they were right.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The step, and its line; `None`: the start of the program.
    pub from: Option<(usize, String)>,
    /// The lanes: subgroup, mask.
    pub lanes: Vec<(usize, u128)>,
}

impl WrongStep {
    /// The first wrong step; `None` if there is none.
    pub fn of(account: &Account<'_>) -> Option<WrongStep> {
        let first = account.first()?;
        let site = first.step.and_then(|step| account.site(step));
        let columns = columns(account, &first, site);
        let logged = site.map_or(0, |site| site.values.len());
        let traced = after_loop(account, &first);
        Some(WrongStep {
            headline: traced.as_ref().map_or_else(|| headline(account, &first, site), headline_after_loop),
            extent: format!("{} of {} lanes go wrong here or later", account.wrong_lanes(), account.lanes.len()),
            trace: traced.as_ref().map(AfterLoop::sentence),
            place: place(account, &first, site),
            line: site.map_or(0, |site| site.line),
            excerpt: site.map_or_else(Vec::new, |site| excerpt(account, site.line)),
            strips: strips(account, &first),
            left_out: if first.kind == Kind::Value { logged - columns.len() } else { 0 },
            rows: first.lanes.iter().map(|&lane| row(account, &account.lanes[lane], &columns)).collect(),
            columns: columns.iter().filter_map(|&c| Some(site?.values.get(c)?.text.clone())).collect(),
            origins: origins(account, &first),
        })
    }

    /// The strips to show, in order, and how many are left out: first all that show the failure, then a few that are right.
    pub fn shown_strips(&self) -> (Vec<&Strip>, usize) {
        let wrong = self.strips.iter().filter(|strip| !strip.is_right()).take(STRIPS);
        let right = self.strips.iter().filter(|strip| strip.is_right()).take(RIGHT_STRIPS);
        let mut shown: Vec<&Strip> = wrong.chain(right).collect();
        shown.sort_by_key(|strip| strip.subgroup);
        let left_out = self.strips.len() - shown.len();
        (shown, left_out)
    }

    /// What all wrong lanes did, if they left and all in the same way.
    pub fn all_left(&self) -> Option<&str> {
        let LaneResult::Left(what) = &self.rows.first()?.result else { return None };
        self.rows.iter().all(|row| matches!(&row.result, LaneResult::Left(other) if other == what)).then_some(what)
    }
}

fn headline(account: &Account<'_>, first: &First, site: Option<&Site>) -> String {
    let here = first.lanes.len();
    let lanes = if here == 1 { "1 lane".to_owned() } else { format!("{here} lanes") };
    match first.kind {
        Kind::Value => match site.and_then(|site| wrong_value(account, first, site)) {
            Some(name) if here == 1 => format!("{lanes} gets a wrong result of {name}"),
            Some(name) => format!("{lanes} get a wrong result of {name}"),
            None if here == 1 => format!("{lanes} computes a wrong value"),
            None => format!("{lanes} compute a wrong value"),
        },
        Kind::Path if first.lanes.iter().all(|&lane| account.instead(&account.lanes[lane]).is_none()) => {
            format!("{lanes} {} too early", if here == 1 { "ends" } else { "end" })
        }
        Kind::Path => format!("{lanes} expected here {} elsewhere", if here == 1 { "is" } else { "are" }),
        Kind::Extra => format!("{lanes} {} on after the end", if here == 1 { "goes" } else { "go" }),
    }
}

fn headline_after_loop(found: &AfterLoop) -> String {
    format!("a lane that left the loop in line {} does not keep the value of `{}`", found.line, found.variable)
}

/// The subgroup operation whose result is wrong.
fn wrong_value(account: &Account<'_>, first: &First, site: &Site) -> Option<&'static str> {
    let lane = &account.lanes[*first.lanes.first()?];
    let word = lane.first_difference(lane.entries.get(lane.wrong?.entry)?)?;
    Some(site.values.get(word.checked_sub(1)?)?.operation?.info().name)
}

fn place(account: &Account<'_>, first: &First, site: Option<&Site>) -> String {
    let in_group = match account.case.entry_point.groups() {
        1 => String::new(),
        _ => format!(", {}", account.case.entry_point.describe_group(first.group)),
    };
    let steps = account.steps.len();
    match (first.step, site) {
        (Some(step), Some(site)) => format!("step {} of {steps}{in_group}, line {}", step + 1, site.line),
        (Some(step), None) => format!("step {} of {steps}{in_group}", step + 1),
        (None, _) => format!("after the last step{in_group}"),
    }
}

fn excerpt(account: &Account<'_>, line: usize) -> Vec<(usize, String)> {
    let around = line.saturating_sub(CONTEXT).max(1)..=line + CONTEXT;
    let lines = (1..).zip(account.printed.text.lines()).filter(|(number, _)| around.contains(number));
    let lines: Vec<(usize, String)> = lines.map(|(number, text)| (number, text.to_owned())).collect();
    let indentation = |text: &str| text.len() - text.trim_start().len();
    let common =
        lines.iter().filter(|(_, text)| !text.is_empty()).map(|(_, text)| indentation(text)).min().unwrap_or(0);
    lines.into_iter().map(|(number, text)| (number, text.get(common..).unwrap_or("").to_owned())).collect()
}

fn strips(account: &Account<'_>, first: &First) -> Vec<Strip> {
    let Some(step) = first.step else { return Vec::new() };
    let layout = &account.map.groups[first.group.index()];
    let mut strips: Vec<Strip> = (0..layout.subgroups.len())
        .map(|subgroup| Strip { subgroup, lanes: vec![None; layout.subgroups[subgroup].size] })
        .collect();
    for (index, state) in account.states(step) {
        let lane = &account.lanes[index];
        strips[lane.subgroup].lanes[lane.lane] = Some(state);
    }
    strips.retain(|strip| strip.lanes.iter().flatten().any(|&state| state != State::Absent));
    strips
}

/// The columns of the table: indices of logged values; all if they are few, else those of which one is wrong.
fn columns(account: &Account<'_>, first: &First, site: Option<&Site>) -> Vec<usize> {
    let Some(site) = site.filter(|_| first.kind == Kind::Value) else { return Vec::new() };
    let all = site.values.len();
    if all <= COLUMNS {
        return (0..all).collect();
    }
    let is_wrong = |column: &usize| {
        first.lanes.iter().any(|&lane| {
            let lane = &account.lanes[lane];
            wrong_entry(lane).is_some_and(|entry| differs(lane, entry, *column))
        })
    };
    (0..all).filter(is_wrong).take(COLUMNS).collect()
}

fn wrong_entry(lane: &Lane) -> Option<&Entry> {
    lane.entries.get(lane.wrong?.entry)
}

fn differs(lane: &Lane, entry: &Entry, column: usize) -> bool {
    let expected = entry.words.get(column + 1).copied().flatten();
    expected.is_some_and(|word| word != lane.actual_word(entry.at + 1 + column))
}

fn row(account: &Account<'_>, lane: &Lane, columns: &[usize]) -> LaneRow {
    let result = match wrong_entry(lane).filter(|_| !columns.is_empty()) {
        Some(entry) => LaneResult::Logged(columns.iter().map(|&column| cell(account, lane, entry, column)).collect()),
        None => LaneResult::Left(went(account, lane)),
    };
    LaneRow { subgroup: lane.subgroup, lane: lane.lane, index: lane.invocation.index, result }
}

fn cell(account: &Account<'_>, lane: &Lane, entry: &Entry, column: usize) -> (Option<String>, String) {
    let scalar = account.site(entry.step).and_then(|site| site.values.get(column)).map(|logged| logged.scalar);
    let scalar = scalar.unwrap_or(tangle_program::types::Scalar::Uint);
    let expected = entry.words.get(column + 1).copied().flatten();
    (expected.map(|word| show(word, scalar)), show(lane.actual_word(entry.at + 1 + column), scalar))
}

/// Where a lane went instead.
fn went(account: &Account<'_>, lane: &Lane) -> String {
    let Some((site, words)) = account.instead(lane) else { return "logs nothing more".into() };
    let Some(site) = account.sites.get(&site) else {
        return format!("logs {site:#x}, which is no site of the program");
    };
    let values =
        site.values.iter().zip(words).map(|(logged, word)| format!("{} = {}", logged.text, show(word, logged.scalar)));
    let values: Vec<String> = values.take(COLUMNS).collect();
    let with = if values.is_empty() { String::new() } else { format!(" with {}", values.join(", ")) };
    format!("goes to line {} (site {}){with}", site.line, site.id)
}

fn origins(account: &Account<'_>, first: &First) -> Vec<Origin> {
    let mut by_step = BTreeMap::<Option<usize>, BTreeMap<usize, u128>>::new();
    for &lane in &first.lanes {
        let lane = &account.lanes[lane];
        let from = lane.last_right().map(|entry| entry.step);
        *by_step.entry(from).or_default().entry(lane.subgroup).or_default() |= 1 << lane.lane;
    }
    let numbered = |step: usize| {
        let site = account.site(step);
        (step, site.map_or_else(String::new, |site| format!("line {}: {}", site.line, site.source)))
    };
    by_step
        .into_iter()
        .map(|(from, lanes)| Origin { from: from.map(numbered), lanes: lanes.into_iter().collect() })
        .collect()
}

impl Strip {
    /// The expected lanes: `#`, others `.`, a blank where there is no invocation.
    pub fn expected(&self) -> String {
        self.lanes.iter().map(|lane| lane.map_or(' ', |state| if is_expected(state) { '#' } else { '.' })).collect()
    }

    /// The actual lanes, one character for each; [`LEGEND`] explains them.
    pub fn actual(&self) -> String {
        self.lanes.iter().map(|lane| lane.map_or(' ', mark)).collect()
    }

    /// True if the actual lanes are the expected ones, and all are right.
    pub fn is_right(&self) -> bool {
        self.lanes
            .iter()
            .flatten()
            .all(|state| matches!(state, State::Absent | State::Right | State::Open | State::Unseen))
    }
}

/// What the marks of [`Strip::actual`] mean.
pub const LEGEND: &str = "# here   x here with a wrong value   ! expected, not here   + here, not expected   ~ wrong before   . not expected";

/// True for the states of lanes that are expected at a step.
pub const fn is_expected(state: State) -> bool {
    !matches!(state, State::Absent | State::Intruder)
}

/// The most lines of a program that is shown where there is no line to point at.
const SHORT: usize = 40;

/// The functions of a shader, if they are few lines: for failures without a first wrong step.
pub fn short_program(case: &Case) -> Option<String> {
    Some(tangle_emit::print(case).functions()).filter(|program| program.lines().count() <= SHORT)
}

/// One character for a state.
pub const fn mark(state: State) -> char {
    match state {
        State::Absent => '.',
        State::Right | State::Open | State::Unseen => '#',
        State::WrongValue => 'x',
        State::Missing => '!',
        State::Intruder => '+',
        State::NotJudged => '~',
    }
}

/// Lanes in words: `subgroup 0: lanes 0-2, 5; subgroup 1: lane 3`.
pub fn lane_list(sets: &[(usize, u128)]) -> String {
    let one = |&(subgroup, mask): &(usize, u128)| {
        let noun = if mask.count_ones() == 1 { "lane" } else { "lanes" };
        format!("subgroup {subgroup}: {noun} {}", ranges(mask))
    };
    sets.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn ranges(mask: u128) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for lane in lanes(mask) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == lane => *last = lane,
            _ => ranges.push((lane, lane)),
        }
    }
    let shown = ranges.into_iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_shown_as_ranges() {
        for (sets, text) in [
            (vec![(0, 0b1)], "subgroup 0: lane 0"),
            (vec![(0, 0b10_0111), (2, u128::MAX)], "subgroup 0: lanes 0-2, 5; subgroup 2: lanes 0-127"),
        ] {
            assert_eq!(lane_list(&sets), text);
        }
    }

    #[test]
    fn strips_have_one_character_a_lane() {
        use State::{Absent, Intruder, Missing, NotJudged, Open, Right, WrongValue};
        let lanes = [Absent, Right, Open, WrongValue, Missing, Intruder, NotJudged].map(Some).into_iter().chain([None]);
        let strip = Strip { subgroup: 0, lanes: lanes.collect() };
        assert_eq!(strip.expected(), ".####.# ");
        assert_eq!(strip.actual(), ".##x!+~ ");
        assert!(!strip.is_right());
    }
}
