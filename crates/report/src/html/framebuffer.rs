//! The picture of a fragment shader's lanes on the framebuffer: a grid for each triangle, layer and sample, with quads in heavy lines.
//!
//! A cell is a pixel, and says which subgroup and lane the invocation there has; its colour is what the lane is at one step. Helper
//! invocations are dashed, those outside of the framebuffer too: the grid has whole quads.

use std::collections::BTreeMap;

use tangle_identity::account::{Account, State};
use tangle_program::case::Draw;
use tangle_program::text::capital;

use super::Html;
use super::cell::{class, title};
use crate::wrong_step::mark;

/// Width and height of a pixel.
const PIXEL: u32 = 32;
/// Margin around a grid.
const MARGIN: u32 = 3;
/// At most so many columns and rows of a framebuffer are drawn, and so many slices of the grid.
const SIDE: u32 = 24;
const SLICES: usize = 4;

/// The lanes at a place of the grid, by index in the account.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Who the place belongs to.
    lane: Option<usize>,
    /// A helper that stands for the place, which is a fragment's in another quad.
    helper: Option<usize>,
}

/// The framebuffer at a step; `None`: after the last one, where lanes go on that had to end. No picture in other stages.
pub(super) fn framebuffer(account: &Account<'_>, step: Option<usize>) -> Option<Html> {
    let draw = account.case.entry_point.draw()?;
    let places = places(account);
    let states = step.map_or_else(BTreeMap::new, |step| account.states(step));
    let state = |index: usize| match step {
        Some(_) => states.get(&index).copied().unwrap_or(State::Absent),
        None if account.lanes[index].wrong_step() == Some(usize::MAX) => State::Intruder,
        None => State::Absent,
    };
    let is_wrong = |index: usize| matches!(state(index), State::WrongValue | State::Missing | State::Intruder);
    // The slices with wrong lanes first.
    let mut slices: Vec<(bool, u32, [u32; 2])> = Vec::new();
    for (&[x, y, depth], place) in &places {
        let wrong = place.lane.is_some_and(is_wrong);
        match slices.iter_mut().find(|(_, other, _)| *other == depth) {
            None => slices.push((wrong, depth, [x, y])),
            Some(known) if wrong && !known.0 => *known = (true, depth, [x, y]),
            Some(_) => {}
        }
    }
    slices.sort_by_key(|&(wrong, depth, _)| (!wrong, depth));
    let left_out = slices.len().saturating_sub(SLICES);
    slices.truncate(SLICES);
    let mut html = Html::default();
    html.raw("<div class=\"framebuffer\">\n");
    caption(&mut html, account, step);
    for (_, depth, centre) in slices {
        grid(&mut html, account, draw, &places, depth, centre, &|index| {
            let state = state(index);
            (state, title(account, index, step.unwrap_or(usize::MAX), state))
        });
    }
    if left_out > 0 {
        html.element("p", &[], format_args!("And {left_out} more of this kind.")).raw("\n");
    }
    html.raw("</div>\n");
    Some(html)
}

fn caption(html: &mut Html, account: &Account<'_>, step: Option<usize>) {
    html.raw("<p>");
    let at = step.and_then(|step| Some((account.steps.get(step)?.number?, account.site(step)?.line)));
    match at {
        Some((number, line)) => html.text(format_args!("The framebuffer at step {}, line {line}", number + 1)),
        None => html.raw("The framebuffer after the last step"),
    };
    html.raw(
        ": subgroup and lane of each pixel. Heavy lines are quads, dashed cells helper invocations; a dot is a helper that stands for the \
         place in another quad.</p>\n",
    );
}

/// Who is where in the draw's grid.
fn places(account: &Account<'_>) -> BTreeMap<[u32; 3], Place> {
    let mut places = BTreeMap::<[u32; 3], Place>::new();
    let workgroups = account.case.entry_point.workgroups();
    for (index, lane) in account.lanes.iter().enumerate() {
        let at = workgroups.position(lane.invocation.index);
        let place = places.entry(at).or_default();
        if lane.stands_in {
            place.helper = Some(index);
        } else {
            place.lane = Some(index);
        }
    }
    places
}

/// The columns or rows to draw: all of them, or whole quads around one.
fn window(all: u32, centre: u32) -> std::ops::Range<u32> {
    let first = centre.saturating_sub(SIDE / 2).min(all.saturating_sub(SIDE)) / 2 * 2;
    first..all.min(first + SIDE)
}

fn grid(
    html: &mut Html,
    account: &Account<'_>,
    draw: &Draw,
    places: &BTreeMap<[u32; 3], Place>,
    depth: u32,
    centre: [u32; 2],
    state: &dyn Fn(usize) -> (State, String),
) {
    let [all_columns, all_rows, slices] = draw.grid();
    let (columns, rows) = (window(all_columns, centre[0]), window(all_rows, centre[1]));
    let pixels = |range: &std::ops::Range<u32>| (range.end - range.start) * PIXEL + 2 * MARGIN;
    let (width, height) = (pixels(&columns), pixels(&rows));
    if slices > 1 || pixels(&(0..all_columns)) > width || pixels(&(0..all_rows)) > height {
        html.raw("<p>").text(format_args!("{}", capital(&draw.describe_slice(depth))));
        if columns.len() < all_columns as usize || rows.len() < all_rows as usize {
            let part = (columns.start, columns.end - 1, rows.start, rows.end - 1);
            html.text(format_args!(", pixels ({}, {}) to ({}, {})", part.0, part.2, part.1, part.3));
        }
        html.raw("</p>\n");
    }
    let place = |at: u32, range: &std::ops::Range<u32>| MARGIN + (at - range.start) * PIXEL;
    html.open("svg", &[("class", &"grid"), ("width", &width), ("height", &height), ("role", &"img")]);
    html.raw("<title>Lanes on the framebuffer</title>\n");
    for y in rows.clone() {
        for x in columns.clone() {
            let at = [x, y, depth];
            pixel(
                html,
                account,
                places.get(&at).copied().unwrap_or_default(),
                [place(x, &columns), place(y, &rows)],
                state,
            );
        }
        html.raw("\n");
    }
    for y in rows.clone().step_by(2) {
        for x in columns.clone().step_by(2) {
            let has_lanes = [[0, 0], [1, 0], [0, 1], [1, 1]].iter().any(|[i, j]| {
                places.get(&[x + i, y + j, depth]).is_some_and(|place| place.lane.or(place.helper).is_some())
            });
            if has_lanes {
                outline(html, "quad", [place(x, &columns), place(y, &rows)], [2 * PIXEL, 2 * PIXEL]);
            }
        }
    }
    // The edge of the framebuffer, which may be inside a quad.
    let corner = |at: u32, range: &std::ops::Range<u32>| {
        i64::from(MARGIN) + (i64::from(at) - i64::from(range.start)) * i64::from(PIXEL)
    };
    let edge = [corner(draw.width, &columns), corner(draw.height, &rows)];
    let edge = format!("M {} {MARGIN} V {} H {MARGIN}", edge[0], edge[1]);
    html.open("path", &[("class", &"edge"), ("d", &edge)]).raw("</path>\n");
    let corners = draw.triangles[draw.slice(depth).triangle as usize]
        .map(|[x, y]| format!("{},{}", corner(x, &columns), corner(y, &rows)));
    html.open("polygon", &[("class", &"triangle"), ("points", &corners.join(" "))]).raw("</polygon>\n");
    html.raw("</svg>\n");
}

fn outline(html: &mut Html, class: &str, [x, y]: [u32; 2], [width, height]: [u32; 2]) {
    html.open("rect", &[("class", &class), ("x", &x), ("y", &y), ("width", &width), ("height", &height)])
        .raw("</rect>\n");
}

fn pixel(
    html: &mut Html,
    account: &Account<'_>,
    place: Place,
    [x, y]: [u32; 2],
    state: &dyn Fn(usize) -> (State, String),
) {
    let Some(index) = place.lane.or(place.helper) else {
        let (x, y) = (x + PIXEL / 2, y + PIXEL / 2);
        html.open("circle", &[("class", &"absent"), ("cx", &x), ("cy", &y), ("r", &1)]).raw("</circle>");
        return;
    };
    let lane = &account.lanes[index];
    let (own, about) = state(index);
    let class = match (own, lane.is_helper) {
        (State::Absent, false) => "away".to_owned(),
        (State::Absent, true) => "away helper".to_owned(),
        (state, false) => class(state).to_owned(),
        (state, true) => format!("{} helper", class(state)),
    };
    let (left, top, side) = (x + 2, y + 2, PIXEL - 4);
    html.open("rect", &[("class", &class), ("x", &left), ("y", &top), ("width", &side), ("height", &side), ("rx", &2)]);
    html.element("title", &[], about).raw("</rect>");
    let (middle, line) = (x + PIXEL / 2, y + PIXEL / 2);
    html.element("text", &[("class", &class), ("x", &middle), ("y", &(line - 1))], format_args!("s{}", lane.subgroup));
    let shown = match own {
        State::WrongValue | State::Missing | State::Intruder => format!("{}{}", mark(own), lane.lane),
        _ => lane.lane.to_string(),
    };
    html.element("text", &[("class", &class), ("x", &middle), ("y", &(line + 10))], shown);
    if let Some(helper) = place.helper.filter(|_| place.lane.is_some()) {
        let (x, y) = (x + PIXEL - 6, y + 6);
        html.open("circle", &[("class", &"stands-in"), ("cx", &x), ("cy", &y), ("r", &3)]);
        html.element("title", &[], format_args!("In another quad:\n{}", state(helper).1)).raw("</circle>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_whole_quads_and_what_it_is_around() {
        assert_eq!(window(8, 7), 0..8);
        for centre in [0, 1, 13, 40, 126, 127] {
            let window = window(128, centre);
            assert!(
                window.contains(&centre) && window.start.is_multiple_of(2) && window.len() == SIDE as usize,
                "{window:?}"
            );
        }
    }
}
