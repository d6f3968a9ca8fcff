//! The picture of lanes against steps.
//!
//! A row is a step, a column is a lane; subgroups stand apart. What a lane is at a step is a cell's colour and shape: divergence is
//! where cells go missing, reconvergence where they come back. The labels at the left are links to the lines of the program. Labels
//! and heads stay in place while the picture is scrolled.

use std::collections::BTreeMap;

use tangle_program::case::GroupId;
use tangle_program::tree::SiteId;

use super::Html;
use super::cell::{class, title};
use crate::wrong_step::mark;
use tangle_identity::account::{Account, State};

/// Width and height of a cell, and the gap between subgroups.
const CELL: usize = 13;
const ROW: usize = 17;
const GAP: usize = 10;
/// Height of the heads.
const HEAD: usize = 30;

/// At most so many lanes and steps are drawn: those around the first wrong step.
const LANES: usize = 256;
const STEPS_BEFORE: usize = 250;
const STEPS_AFTER: usize = 100;
/// With more cells than this, equal neighbours are drawn as one, without their values.
const CELLS: usize = 12_000;

/// A subgroup: its number, and of each lane that exists the number and the index in the account.
type Group = (usize, Vec<(usize, usize)>);

/// What is drawn: lanes against steps, of one group.
struct Picture<'a> {
    account: &'a Account<'a>,
    subgroups: Vec<Group>,
    steps: Vec<usize>,
    wrong: Option<usize>,
    merged: bool,
}

/// Writes the picture of one group around a step, with another picture beside it.
pub(super) fn picture(
    html: &mut Html,
    account: &Account<'_>,
    group: GroupId,
    wrong: Option<usize>,
    beside: Option<Html>,
) {
    let of_group = |step: &usize| account.steps[*step].group == group;
    let all: Vec<usize> = (0..account.steps.len()).filter(of_group).collect();
    let at = wrong.and_then(|wrong| all.iter().position(|&step| step == wrong)).unwrap_or(all.len());
    let steps = all[at.saturating_sub(STEPS_BEFORE)..all.len().min(at + STEPS_AFTER)].to_vec();
    let subgroups = subgroups(account, group, wrong);
    let lanes: usize = subgroups.iter().map(|(_, lanes)| lanes.len()).sum();
    let picture = Picture { account, wrong, merged: lanes * steps.len() > CELLS, steps, subgroups };
    left_out(html, &picture, &all, group);
    legend(html);
    html.raw("<div class=\"beside\">\n");
    html.raw(
        "<div class=\"picture\">\n<div class=\"corner\"><span>step</span> <span>line</span> <span>times</span></div>\n",
    );
    picture.heads(html);
    picture.labels(html);
    picture.body(html);
    html.raw("</div>\n");
    if let Some(beside) = beside {
        html.append(beside);
    }
    html.raw("</div>\n");
}

/// The subgroups to draw: all, or those that go wrong first.
fn subgroups(account: &Account<'_>, group: GroupId, wrong: Option<usize>) -> Vec<Group> {
    let mut subgroups = BTreeMap::<usize, Vec<(usize, usize)>>::new();
    for (index, lane) in account.lanes.iter().enumerate().filter(|(_, lane)| lane.invocation.group == group) {
        subgroups.entry(lane.subgroup).or_default().push((lane.lane, index));
    }
    let is_wrong = |lanes: &[(usize, usize)]| {
        lanes.iter().any(|&(_, index)| wrong.is_some() && account.lanes[index].wrong_step() == wrong)
    };
    let mut order: Vec<_> = subgroups.into_iter().collect();
    order.sort_by_key(|(_, lanes)| !is_wrong(lanes));
    let mut drawn = 0;
    order.retain(|(_, lanes)| {
        drawn += lanes.len();
        drawn <= LANES || drawn == lanes.len()
    });
    order.sort_by_key(|(subgroup, _)| *subgroup);
    order
}

fn left_out(html: &mut Html, picture: &Picture<'_>, all: &[usize], group: GroupId) {
    let account = picture.account;
    let mut notes = Vec::new();
    let entry_point = &account.case.entry_point;
    if entry_point.groups() > 1 {
        notes.push(format!("This is {} of {}.", entry_point.describe_group(group), entry_point.groups()));
    }
    if picture.steps.len() < all.len() {
        let ends = picture.steps.first().zip(picture.steps.last()).map(|(first, last)| (first + 1, last + 1));
        let (first, last) = ends.unwrap_or((0, 0));
        notes.push(format!("Steps {first} to {last} of {}; all before are right.", all.len()));
    }
    let there = account.map.groups[group.index()].subgroups.len();
    if picture.subgroups.len() < there {
        notes.push(format!("{} of {there} subgroups.", picture.subgroups.len()));
    }
    if !notes.is_empty() {
        html.element("p", &[], notes.join(" "));
    }
}

const STATES: [(State, &str); 8] = [
    (State::Right, "here, and right"),
    (State::Open, "here; some values are left open"),
    (State::Unseen, "expected here, nothing is logged; the number is the loop's counter"),
    (State::Absent, "not here"),
    (State::WrongValue, "here with a wrong value"),
    (State::Missing, "expected here, is elsewhere"),
    (State::Intruder, "here, expected elsewhere"),
    (State::NotJudged, "not judged: wrong before"),
];

fn legend(html: &mut Html) {
    html.raw("<ul class=\"legend\">");
    for (state, about) in STATES {
        html.raw("<li><svg width=\"15\" height=\"17\" aria-hidden=\"true\">");
        cell(html, state, 1, 0, 1, None);
        html.raw("</svg> ").text(about).raw("</li>");
    }
    html.raw("</ul>\n");
}

/// A cell, or several of one kind side by side.
fn cell(html: &mut Html, state: State, x: usize, y: usize, count: usize, title: Option<&str>) {
    if state == State::Absent {
        for i in 0..count {
            html.open(
                "circle",
                &[("class", &"absent"), ("cx", &(x + i * CELL + CELL / 2)), ("cy", &(y + ROW / 2)), ("r", &1)],
            );
            html.raw("</circle>");
        }
        return;
    }
    let (width, height) = (count * CELL - 2, ROW - 4);
    html.open(
        "rect",
        &[
            ("class", &class(state)),
            ("x", &(x + 1)),
            ("y", &(y + 2)),
            ("width", &width),
            ("height", &height),
            ("rx", &2),
        ],
    );
    if let Some(title) = title {
        html.element("title", &[], title);
    }
    html.raw("</rect>");
    if matches!(state, State::WrongValue | State::Missing | State::Intruder) {
        // The shape says it, too, where colours cannot be distinguished.
        for i in 0..count {
            html.element(
                "text",
                &[("class", &class(state)), ("x", &(x + i * CELL + CELL / 2)), ("y", &(y + 13))],
                mark(state),
            );
        }
    }
}

impl Picture<'_> {
    fn width(&self) -> usize {
        self.subgroups.iter().map(|(subgroup, _)| self.size(*subgroup) * CELL + GAP).sum()
    }

    fn group(&self) -> GroupId {
        self.subgroups.first().map_or(GroupId::default(), |(_, lanes)| self.account.lanes[lanes[0].1].invocation.group)
    }

    fn size(&self, subgroup: usize) -> usize {
        self.account.map.groups[self.group().index()].subgroups[subgroup].size
    }

    /// Where each subgroup begins.
    fn places(&self) -> impl Iterator<Item = (usize, &Group)> {
        let mut x = GAP / 2;
        self.subgroups.iter().map(move |group| {
            let place = (x, group);
            x += self.size(group.0) * CELL + GAP;
            place
        })
    }

    fn heads(&self, html: &mut Html) {
        html.open("svg", &[("class", &"heads"), ("width", &self.width()), ("height", &HEAD)]);
        for (x, (subgroup, _)) in self.places() {
            let size = self.size(*subgroup);
            let name = match size {
                8.. => "subgroup ",
                4.. => "group ",
                _ => "",
            };
            html.element(
                "text",
                &[("class", &"group"), ("x", &(x + size * CELL / 2)), ("y", &11)],
                format_args!("{name}{subgroup}"),
            );
            for lane in (0..size).step_by(if size > 8 { 4 } else { 2 }) {
                html.element("text", &[("class", &"lane"), ("x", &(x + lane * CELL + CELL / 2)), ("y", &25)], lane);
            }
        }
        html.raw("</svg>\n");
    }

    fn labels(&self, html: &mut Html) {
        html.raw("<ol class=\"labels\">\n");
        let mut times = BTreeMap::<SiteId, (usize, usize)>::new();
        for &step in &self.steps {
            times.entry(self.account.steps[step].site).or_default().1 += 1;
        }
        for &step in &self.steps {
            let (nth, all) = times.entry(self.account.steps[step].site).or_default();
            *nth += 1;
            let nth = if *all > 1 { nth.to_string() } else { String::new() };
            let class = if self.wrong == Some(step) { "wrong" } else { "" };
            html.open("li", &[("class", &class), ("value", &(step + 1))]);
            let (line, source) = self.account.site(step).map_or((0, ""), |site| (site.line, site.source.as_str()));
            let number = self.account.steps[step].number.map_or(String::new(), |number| (number + 1).to_string());
            html.element("span", &[("class", &"step")], number);
            html.open("a", &[("href", &format_args!("#L{line}")), ("title", &source)]).element(
                "span",
                &[("class", &"line")],
                line,
            );
            html.element("span", &[("class", &"times")], nth).element("code", &[], source).raw("</a></li>\n");
        }
        if self.has_extra() {
            html.raw("<li><span class=\"step\"></span>after the end</li>\n");
        }
        html.raw("</ol>\n");
    }

    fn has_extra(&self) -> bool {
        let group = self.group();
        self.account.lanes.iter().any(|lane| lane.invocation.group == group && lane.wrong_step() == Some(usize::MAX))
    }

    fn body(&self, html: &mut Html) {
        let rows = self.steps.len() + usize::from(self.has_extra());
        let width = self.width();
        html.open("svg", &[("class", &"cells"), ("width", &width), ("height", &(rows * ROW)), ("role", &"img")]);
        html.raw("<title>Lanes against steps</title>\n");
        for (i, &step) in self.steps.iter().enumerate() {
            let y = i * ROW;
            if self.wrong == Some(step) {
                html.open("rect", &[("class", &"band"), ("x", &0), ("y", &y), ("width", &width), ("height", &ROW)])
                    .raw("</rect>");
            }
            self.row(html, step, y);
            html.raw("\n");
        }
        if self.has_extra() {
            self.after_the_end(html, self.steps.len() * ROW);
        }
        html.raw("</svg>\n");
    }

    fn row(&self, html: &mut Html, step: usize, y: usize) {
        let states = self.account.states(step);
        for (x, (_, lanes)) in self.places() {
            let mut cells = lanes.iter().map(|&(lane, index)| (lane, index, states[&index])).peekable();
            while let Some((lane, index, state)) = cells.next() {
                let mut last = lane;
                while let Some((next, ..)) =
                    cells.next_if(|&(next, _, other)| self.joins(state) && other == state && next == last + 1)
                {
                    last = next;
                }
                let title = (last == lane && state != State::Absent).then(|| title(self.account, index, step, state));
                cell(html, state, x + lane * CELL, y, last - lane + 1, title.as_deref());
                if let Some(counter) = self.counter(index, step).filter(|counter| last == lane && *counter < 100) {
                    let (x, y) = (x + lane * CELL + CELL / 2, y + 12);
                    html.element("text", &[("class", &"counter"), ("x", &x), ("y", &y)], counter);
                }
            }
        }
    }

    /// True if cells of this kind are drawn as one.
    const fn joins(&self, state: State) -> bool {
        self.merged && matches!(state, State::Right | State::Open | State::Unseen | State::NotJudged)
    }

    /// The counter of the loop whose body begins at a step.
    fn counter(&self, index: usize, step: usize) -> Option<u32> {
        let entries = &self.account.lanes[index].entries;
        let at = entries.binary_search_by_key(&step, |entry| entry.step).ok()?;
        entries[at].counter
    }

    fn after_the_end(&self, html: &mut Html, y: usize) {
        for (x, (_, lanes)) in self.places() {
            for &(lane, index) in lanes {
                let here = self.account.lanes[index].wrong_step() == Some(usize::MAX);
                let state = if here { State::Intruder } else { State::Absent };
                let title = here.then(|| title(self.account, index, usize::MAX, state));
                cell(html, state, x + lane * CELL, y, 1, title.as_deref());
            }
        }
    }
}
