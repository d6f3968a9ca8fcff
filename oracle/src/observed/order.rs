//! The order of instances (semantics.md §3.7, O4): a lane executes an instruction only when all lanes of its tangle have executed
//! everything before it, so that instances follow one another without a cycle.

use std::collections::{BTreeMap, BTreeSet};

use tangle_program::subgroup::lanes;

use super::solve::Instances;
use super::trace::Step;

/// The steps with instances that no order can hold.
pub(crate) fn cyclic(steps: &[Step<'_>], instances: &Instances) -> BTreeSet<usize> {
    let mut followers: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut last: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (step, instances) in steps.iter().zip(instances) {
        for lane in lanes(step.lanes) {
            let Some(here) = instances[lane] else { continue };
            followers.entry(here).or_default();
            if let Some(before) = last.insert((step.subgroup, lane), here) {
                followers.entry(before).or_default().insert(here);
            }
        }
    }
    let left = without_ends(without_ends(followers));
    let is_left = |(step, instances): (&Step<'_>, &Vec<Option<u64>>)| {
        lanes(step.lanes).any(|lane| instances[lane].is_some_and(|here| left.contains_key(&here)))
    };
    let steps = steps.iter().zip(instances).enumerate();
    steps.filter(|(_, step)| is_left(*step)).map(|(i, _)| i).collect()
}

/// Takes away instances that nothing precedes until there are none, and turns the edges round. Done twice, what is left lies on cycles
/// or between them.
fn without_ends(mut followers: BTreeMap<u64, BTreeSet<u64>>) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut before: BTreeMap<u64, usize> = followers.keys().map(|&instance| (instance, 0)).collect();
    for follower in followers.values().flatten() {
        *before.entry(*follower).or_default() += 1;
    }
    let mut free: Vec<u64> = before.iter().filter(|(_, count)| **count == 0).map(|(&instance, _)| instance).collect();
    while let Some(instance) = free.pop() {
        for follower in followers.remove(&instance).unwrap_or_default() {
            let count = before.entry(follower).or_default();
            *count -= 1;
            if *count == 0 {
                free.push(follower);
            }
        }
    }
    let mut turned: BTreeMap<u64, BTreeSet<u64>> =
        followers.keys().map(|&instance| (instance, BTreeSet::new())).collect();
    for (instance, after) in &followers {
        for follower in after {
            turned.entry(*follower).or_default().insert(*instance);
        }
    }
    turned
}
