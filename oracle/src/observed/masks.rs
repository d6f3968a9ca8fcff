//! `subgroupBallot(true)`: the operation that shows who is together (docs/rules.md, section O, O1 to O6).

use std::collections::BTreeMap;

use tangle_program::subgroup::{Severity, SubgroupOp, lanes};

use super::group::{By, Class, Group, Instances};
use super::segment::Segments;
use super::trace::{Bindings, Bound, Step};
use super::{Broken, Status, TangleRule};

/// True if the group is a ballot of all lanes that execute it.
pub(crate) fn shows_all(group: &Group<'_, '_>) -> bool {
    let all_true = |&member: &usize| {
        let step = &group.steps[member];
        let predicate = &step.args[0];
        let tainted =
            predicate.taint.as_ref().is_some_and(|taint| taint.lanes.lanes(step.first, step.size) & step.lanes != 0);
        !tainted && lanes(step.lanes).all(|lane| predicate.columns[0][step.first + lane] == 1)
    };
    group.step().op.info.op == SubgroupOp::Ballot && group.members.iter().all(all_true)
}

/// The mask that a lane shows, if it shows all of it. Components without lanes may be left out.
fn mask(step: &Step<'_>, lane: usize) -> Option<u128> {
    let needed = step.size.div_ceil(32);
    (0..step.width).try_fold(0, |mask, c| match step.seen_at(c, lane) {
        Some(word) => Some(mask | u128::from(word) << (32 * c)),
        None => (c >= needed).then_some(mask),
    })
}

/// Reads the instances, and what they rest on: a sentence if every lane shows its own mask. Or says what the masks break.
pub(crate) fn read(group: &Group<'_, '_>, instances: &mut Instances) -> Result<Severity, Broken> {
    let broken = |rule: TangleRule| Broken::at(group.tier, rule);
    let visitors = group.members.iter().fold(0, |all, &member| all | group.steps[member].lanes);
    // By lane: what it saw, in order; `None` where that is not known.
    let mut seen: BTreeMap<usize, Vec<(usize, Option<u128>)>> = BTreeMap::new();
    for &member in &group.members {
        let step = &group.steps[member];
        for lane in lanes(step.lanes) {
            let mask = mask(step, lane);
            if mask.is_some_and(|mask| mask >> lane & 1 == 0) {
                return Err(broken(TangleRule::OwnBit));
            }
            if mask.is_some_and(|mask| mask & !visitors != 0) {
                return Err(broken(TangleRule::Visitors));
            }
            seen.entry(lane).or_default().push((member, mask));
        }
    }
    consistent(&seen).map_err(broken)?;
    let by_themselves = seen.values().flatten().all(|(_, mask)| mask.is_some());
    let severity = if by_themselves { Severity::Hard } else { group.by_path() };
    let classes = group.classes(By::Seen);
    if whole(&classes, group).is_err() {
        let by_path = whole(&group.classes(By::Path), group);
        return Err(broken(if by_path.is_err() { TangleRule::PathClass } else { TangleRule::StraightCode }));
    }
    // Members of a class are together, so one that shows its mask speaks for all.
    for class in &classes {
        let Ok(Some(mask)) = whole(std::slice::from_ref(class), group) else { continue };
        for &(member, part) in &class.parts {
            for lane in lanes(part) {
                let line = seen.get_mut(&lane).into_iter().flatten();
                line.filter(|(at, _)| *at == member).for_each(|(_, seen)| *seen = Some(mask));
            }
        }
    }
    consistent(&seen).map_err(|rule| broken(rule).resting_on(severity))?;
    if seen.values().flatten().any(|(_, mask)| mask.is_none()) {
        return Ok(severity);
    }
    for (&lane, line) in &seen {
        let mut times: BTreeMap<u128, usize> = BTreeMap::new();
        for &(member, mask) in line {
            let mask = mask.unwrap_or(0);
            let nth = times.entry(mask).or_default();
            instances[member][lane] = Some(group.instance(mask, *nth));
            *nth += 1;
        }
    }
    let split = |class: &Class| {
        let mut of = class.parts.iter().flat_map(|&(member, part)| lanes(part).map(move |lane| (member, lane)));
        let first = of.next().and_then(|(member, lane)| instances[member][lane]);
        of.any(|(member, lane)| instances[member][lane] != first)
    };
    if classes.iter().any(split) {
        let by_path = group.classes(By::Path).iter().any(split);
        return Err(broken(if by_path { TangleRule::PathClass } else { TangleRule::StraightCode }));
    }
    Ok(severity)
}

/// O3: the n-th ballot of a mask is one instance for all of its lanes, so that they have seen it equally often.
fn consistent(seen: &BTreeMap<usize, Vec<(usize, Option<u128>)>>) -> Result<(), TangleRule> {
    let mut masks: Vec<u128> = seen.values().flatten().filter_map(|&(_, mask)| mask).collect();
    masks.sort_unstable();
    masks.dedup();
    for mask in masks {
        let times = |lane: usize| {
            let line = || seen.get(&lane).into_iter().flatten();
            let sure = line().filter(|(_, seen)| *seen == Some(mask)).count();
            let open = line().filter(|(_, seen)| seen.is_none()).count();
            (sure, sure + open)
        };
        let most = lanes(mask).map(|lane| times(lane).0).max().unwrap_or(0);
        if lanes(mask).any(|lane| times(lane).1 < most) {
            return Err(TangleRule::Partition);
        }
    }
    Ok(())
}

/// The mask that the classes show, if they all show one and the same; an error if a class shows two.
fn whole(classes: &[Class], group: &Group<'_, '_>) -> Result<Option<u128>, ()> {
    let mut last = None;
    for class in classes {
        let of = class.parts.iter().flat_map(|&(member, part)| lanes(part).map(move |lane| (member, lane)));
        let mut masks = of.filter_map(|(member, lane)| mask(&group.steps[member], lane));
        let first = masks.next();
        if masks.any(|mask| Some(mask) != first) || first.is_some_and(|mask| class.lanes & !mask != 0) {
            return Err(());
        }
        last = first;
    }
    Ok(last)
}

/// What the instances show of the segments that they are in.
pub(crate) fn divide(group: &Group<'_, '_>, instances: &Instances, segments: &mut Segments) {
    for &member in group.members.iter().filter(|&&member| !group.steps[member].segments.is_empty()) {
        let step = &group.steps[member];
        let mut blocks: BTreeMap<u64, u128> = BTreeMap::new();
        for lane in lanes(step.lanes) {
            if let Some(instance) = instances[member][lane] {
                *blocks.entry(instance).or_default() |= 1 << lane;
            }
        }
        let all = blocks.values().fold(0, |all, block| all | block);
        for &block in blocks.values() {
            segments.join(step, block);
            segments.part(step, block, all & !block);
        }
    }
}

/// Adopts the masks, and the instances that they show.
pub(crate) fn bind(group: &Group<'_, '_>, instances: &Instances, bindings: &mut Bindings) {
    for class in group.classes(By::Seen) {
        let shown = whole(std::slice::from_ref(&class), group).ok().flatten();
        for &(member, part) in &class.parts {
            let step = &group.steps[member];
            for lane in lanes(part) {
                let word = |c: usize| shown.map(|mask| u64::from((mask >> (32 * c)) as u32));
                let bound = Bound {
                    bits: (0..step.width).map(word).collect(),
                    status: Status::Checked,
                    defined: true,
                    instance: instances[member][lane],
                    severity: if mask(step, lane).is_some() { Severity::Hard } else { group.by_path() },
                };
                bindings.insert(step.visit(lane), bound);
            }
        }
    }
}
