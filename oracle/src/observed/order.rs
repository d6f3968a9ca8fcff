//! The order of instances (docs/rules.md, rule O4): a lane executes an instruction only when all lanes of its tangle have executed
//! everything before it, so that instances follow one another without a cycle. For quad operations it is the lanes of its quad: "An
//! invocation will not execute a dynamic instance of this instruction (X') until all invocations in its quad have executed all dynamic
//! instances that are program-ordered before X'." (SPIR-V 1.6 rev 6, OpGroupNonUniformQuadSwap; rule P11) Each quad is then an event of its own.
//!
//! Lanes that are known to be together are one *event*: an instance that ballots show, one of an exact tangle, or a class of
//! an operation whose instances are not known (it is in one instance, whichever). What a lane executes before an event comes before what any lane of
//! the event executes behind it. So two events of which one comes before the other cannot be of one instance, and
//! nothing comes before itself.

use std::cell::OnceCell;
use std::collections::HashMap;

use tangle_program::subgroup::lanes;

use super::group::{Class, Instances};
use super::trace::{Known, Step};

/// What distinguishes the events of a subgroup.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    Shown(u64),
    Known(usize),
    /// Number of the group and of the class.
    Class(usize, usize),
}

/// Events of one run, and which follow which directly.
pub(crate) struct Order {
    /// By step and lane.
    event_of: Vec<Vec<Option<usize>>>,
    followers: Vec<Vec<usize>>,
    /// The lanes of each event, and the number of it among those of the lane, from 1.
    places: Vec<Vec<(usize, u32)>>,
    /// The events in an order, without those on cycles or behind one.
    sorted: Vec<usize>,
    /// For each event that is sorted: how many events of each lane come before it or are it.
    clocks: OnceCell<Vec<Vec<u32>>>,
}

impl Order {
    /// `classes` are those of the groups whose instances are not shown.
    pub fn new(steps: &[Step<'_>], known: &[Known], instances: &Instances, classes: &[&[Class]]) -> Order {
        let mut class_of: Vec<Vec<Option<Name>>> = steps.iter().map(|step| vec![None; step.size]).collect();
        for (group, classes) in classes.iter().enumerate() {
            for (n, class) in classes.iter().enumerate() {
                for &(step, part) in &class.parts {
                    lanes(part).for_each(|lane| class_of[step][lane] = Some(Name::Class(group, n)));
                }
            }
        }
        let mut events = Events::default();
        let mut event_of: Vec<Vec<Option<usize>>> = steps.iter().map(|step| vec![None; step.size]).collect();
        let mut known = known.iter().enumerate().peekable();
        for (i, step) in steps.iter().enumerate() {
            while let Some((k, known)) = known.next_if(|(_, known)| known.at <= i) {
                for lane in lanes(known.lanes) {
                    events.add((known.subgroup, lane), Name::Known(k));
                }
            }
            for lane in lanes(step.lanes) {
                let name = instances[i][lane].map(Name::Shown).or(class_of[i][lane]);
                event_of[i][lane] = name.map(|name| events.add((step.subgroup, lane), name));
            }
        }
        let Events { followers, places, .. } = events;
        let sorted = sorted(&followers);
        Order { event_of, followers, places, sorted, clocks: OnceCell::new() }
    }

    fn clocks(&self) -> Vec<Vec<u32>> {
        let width = self.places.iter().flatten().map(|(lane, _)| lane + 1).max().unwrap_or(0);
        let mut clocks = vec![Vec::new(); self.places.len()];
        self.sorted.iter().for_each(|&event| clocks[event] = vec![0; width]);
        for &event in &self.sorted {
            let mut clock = std::mem::take(&mut clocks[event]);
            self.places[event].iter().for_each(|&(lane, number)| clock[lane] = clock[lane].max(number));
            for &follower in &self.followers[event] {
                clocks[follower].iter_mut().zip(&clock).for_each(|(at, from)| *at = (*at).max(*from));
            }
            clocks[event] = clock;
        }
        clocks
    }

    /// For each step, the lanes whose instances no order can hold: on cycles, or between them. Empty if there are none.
    pub fn cyclic(&self) -> Vec<u128> {
        if self.sorted.len() == self.places.len() {
            return Vec::new();
        }
        let mut left = vec![true; self.places.len()];
        self.sorted.iter().for_each(|&event| left[event] = false);
        // Of those behind a cycle, the ones that lead to none are sound.
        let mut before = vec![Vec::new(); left.len()];
        for event in (0..left.len()).filter(|&event| left[event]) {
            self.followers[event].iter().for_each(|&follower| before[follower].push(event));
        }
        self::sorted(&before).into_iter().for_each(|event| left[event] = false);
        let is_cyclic = |event: &Option<usize>| event.is_some_and(|event| left[event]);
        let lanes_of = |events: &Vec<Option<usize>>| {
            let cyclic = events.iter().enumerate().filter(|(_, event)| is_cyclic(event));
            cyclic.fold(0, |mask, (lane, _)| mask | 1u128 << lane)
        };
        self.event_of.iter().map(lanes_of).collect()
    }

    /// True if one of two classes comes before the other.
    pub fn apart(&self, x: &Class, y: &Class) -> bool {
        self.precedes(x, y) || self.precedes(y, x)
    }

    fn event(&self, class: &Class) -> Option<usize> {
        let &(step, part) = class.parts.first()?;
        self.event_of[step][part.trailing_zeros() as usize]
    }

    fn precedes(&self, x: &Class, y: &Class) -> bool {
        let (Some(x), Some(y)) = (self.event(x), self.event(y)) else { return false };
        let clock = &self.clocks.get_or_init(|| self.clocks())[y];
        x != y && self.places[x].iter().any(|&(lane, number)| clock.get(lane).is_some_and(|at| *at >= number))
    }
}

/// Events as they are found, lane by lane.
#[derive(Default)]
struct Events {
    names: HashMap<Name, usize>,
    followers: Vec<Vec<usize>>,
    places: Vec<Vec<(usize, u32)>>,
    /// By subgroup and lane: the last event, and its number.
    last: HashMap<(usize, usize), (usize, u32)>,
}

impl Events {
    fn add(&mut self, lane: (usize, usize), name: Name) -> usize {
        let event = *self.names.entry(name).or_insert_with(|| {
            self.followers.push(Vec::new());
            self.places.push(Vec::new());
            self.places.len() - 1
        });
        let (before, number) = self.last.get(&lane).map_or((None, 1), |&(before, number)| (Some(before), number + 1));
        if let Some(before) = before
            && self.followers[before].last() != Some(&event)
        {
            self.followers[before].push(event);
        }
        self.places[event].push((lane.1, number));
        self.last.insert(lane, (event, number));
        event
    }
}

/// Those from which no way leads back to themselves, nor from any before them: each behind all that it follows.
fn sorted(followers: &[Vec<usize>]) -> Vec<usize> {
    let mut before = vec![0; followers.len()];
    followers.iter().flatten().for_each(|&follower| before[follower] += 1);
    let mut sorted: Vec<usize> = (0..before.len()).filter(|&event| before[event] == 0).collect();
    let mut at = 0;
    while let Some(&event) = sorted.get(at) {
        at += 1;
        for &follower in &followers[event] {
            before[follower] -= 1;
            if before[follower] == 0 {
                sorted.push(follower);
            }
        }
    }
    sorted
}
