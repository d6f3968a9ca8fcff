//! Every execution that the rules allow.
//!
//! Lanes that are together have one *label*, and go on together as long as they choose alike (R2 of docs/rules.md, section R). An execution is
//! a sequence of moves.
//!
//! At the tiers `plain` and `subgroup_uniform` a move is that some labels whose next operation is the same one execute it together, whatever
//! ways their lanes have gone before (R4). A construct that control flow was uniform upon entry to is a meeting at its merge
//! block, if all lanes of the group leave by it (R6). Whether they will may depend on who is elected; then a lane may go on
//! *promising* that somebody will not, and the execution counts only if that comes true.
//!
//! At tier `maximal` lanes wait at every merge block, continue target and end of a call for those that came in with them and
//! do not escape (rule X3), and nobody else joins them. The only moves left are which labels go on together at a label of a switch.

use std::collections::{BTreeMap, HashSet};

use tangle_program::case::Tier;

use super::code::{By, Code, END, Instr, Lane};
use super::program::Op;

/// An operation, executed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The static operation.
    pub id: u32,
    pub op: Op,
    /// Lanes of the subgroup.
    pub tangle: u32,
    /// For each lane: where the result is in its log.
    pub words: Vec<(usize, usize)>,
}

/// What the lanes of a subgroup log.
pub type Logs = Vec<Vec<u32>>;

/// The executions of one subgroup: what they log, and one way to come to it.
pub struct Executions {
    pub of: BTreeMap<Logs, Vec<Instance>>,
    /// False if there were too many states.
    pub complete: bool,
}

/// A group whose control flow is uniform or not.
#[derive(Clone)]
struct State {
    lanes: Vec<Lane>,
    label: Vec<u32>,
    next: u32,
    /// Control flow of the group is uniform.
    uniform: bool,
    /// Constructs entered uniformly that a lane has left by another way than the merge block, and that one is promised to.
    escaped: Vec<u32>,
    promised: Vec<u32>,
    trace: Vec<Instance>,
}

/// What lanes at a merge block do.
enum Wait {
    /// They go on: control flow need not be uniform again.
    Over,
    /// Everybody is here: control flow is uniform again.
    Meeting,
    /// They wait: everybody will come.
    Needed,
    /// Nobody knows yet whether everybody will come to the merge block of this entry.
    Unclear(u32),
}

/// What distinguishes states: how lanes came here does not matter.
type Met = (Vec<Lane>, Vec<u32>, bool, [Vec<u32>; 2]);

struct Explorer<'a> {
    code: &'a Code,
    tier: Tier,
    size: usize,
    /// The invocation that lane 0 of a state is.
    first: usize,
    /// The lanes of a state that are looked at.
    mine: std::ops::Range<usize>,
    most: usize,
    met: HashSet<Met>,
    found: Executions,
}

/// Executions of the n-th subgroup of `lanes` invocations in subgroups of `size`. `most` states are looked at.
pub fn explore(code: &Code, tier: Tier, (lanes, size): (usize, usize), nth: usize, most: usize) -> Executions {
    let subgroup = nth * size..lanes.min((nth + 1) * size);
    // At tier plain the workgroup is what is uniform or not. Elsewhere other subgroups do not matter.
    let (first, mine, count) = match tier {
        Tier::Plain => (0, subgroup, lanes),
        _ => (subgroup.start, 0..subgroup.len(), subgroup.len()),
    };
    let found = Executions { of: BTreeMap::new(), complete: true };
    let mut explorer = Explorer { code, tier, size, first, mine, most, met: HashSet::new(), found };
    explorer.go(State {
        lanes: vec![code.start(); count],
        label: vec![0; count],
        next: 1,
        uniform: tier != Tier::Maximal,
        escaped: Vec::new(),
        promised: Vec::new(),
        trace: Vec::new(),
    });
    explorer.found
}

impl State {
    fn lanes_with(&self, label: u32) -> Vec<usize> {
        (0..self.lanes.len()).filter(|&lane| self.label[lane] == label).collect()
    }

    /// The labels, in the order of their lowest lanes.
    fn labels(&self) -> Vec<u32> {
        let mut labels: Vec<u32> = Vec::new();
        self.label.iter().for_each(|label| {
            if !labels.contains(label) {
                labels.push(*label);
            }
        });
        labels
    }

    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn join(&mut self, lanes: &[usize]) {
        let label = self.fresh();
        lanes.iter().for_each(|&lane| self.label[lane] = label);
    }
}

impl Explorer<'_> {
    fn go(&mut self, mut state: State) {
        if self.met.len() >= self.most {
            self.found.complete = false;
            return;
        }
        self.settle(&mut state);
        let with = state.label.iter().map(|label| state.label.iter().position(|l| l == label).unwrap_or(0) as u32);
        let promises = [state.escaped.clone(), state.promised.clone()];
        if !self.met.insert((state.lanes.clone(), with.collect(), state.uniform, promises)) {
            return;
        }
        if state.lanes.iter().all(|lane| lane.pc == END) {
            if state.promised.iter().all(|entry| state.escaped.contains(entry)) {
                let logs = state.lanes[self.mine.clone()].iter().map(|lane| lane.log.clone()).collect();
                self.found.of.entry(logs).or_insert(state.trace);
            }
            return;
        }
        let moves = self.moves(&state);
        assert!(!moves.is_empty() || !state.promised.is_empty(), "nobody can go on: {:?}", state.lanes);
        moves.into_iter().for_each(|after| self.go(after));
    }

    /// Does everything that there is no choice about.
    fn settle(&self, state: &mut State) {
        while if state.uniform {
            self.step_all(state)
        } else {
            state.labels().into_iter().any(|l| self.advance(state, l))
        } {}
    }

    fn is_mine(&self, lane: usize) -> bool {
        self.mine.contains(&lane)
    }

    /// Control flow is uniform: everybody executes one instruction.
    fn step_all(&self, state: &mut State) -> bool {
        let all: Vec<usize> = (0..state.lanes.len()).collect();
        match self.code.at(&state.lanes[0]) {
            None => return false,
            Some(Instr::Op { .. }) => {
                for subgroup in self.subgroups(&all) {
                    self.operate(state, &subgroup);
                }
            }
            Some(_) => {
                let ways = self.step(state, &all);
                if ways.iter().any(|way| *way != ways[0]) {
                    state.uniform = false;
                    for lanes in self.subgroups(&all) {
                        self.split(state, &lanes, &ways);
                    }
                }
            }
        }
        true
    }

    fn subgroups(&self, lanes: &[usize]) -> Vec<Vec<usize>> {
        lanes
            .chunk_by(|x, y| (self.first + x) / self.size == (self.first + y) / self.size)
            .map(<[usize]>::to_vec)
            .collect()
    }

    /// Lanes execute an instruction that is no operation; gives their ways.
    fn step(&self, state: &mut State, lanes: &[usize]) -> Vec<u32> {
        let fresh = state.fresh();
        let mut ways = Vec::new();
        for &lane in lanes {
            let instr = self.code.at(&state.lanes[lane]);
            let known = self.tier == Tier::Maximal || state.uniform;
            let leaves = matches!(instr, Some(Instr::Jump { .. } | Instr::Return));
            let (opens, iterates) = (matches!(instr, Some(Instr::Open(_))), matches!(instr, Some(Instr::Iterate)));
            let before = if leaves { state.lanes[lane].inside.clone() } else { Vec::new() };
            let of_lane = &mut state.lanes[lane];
            ways.push(self.code.step(of_lane, self.first + lane));
            if let Some(inside) = of_lane.inside.last_mut() {
                if opens && known && (self.tier == Tier::Maximal || !inside.is_call) {
                    inside.entry = fresh;
                }
                if iterates && self.tier == Tier::Maximal {
                    inside.iteration = fresh;
                }
            }
            let left = before.iter().skip(of_lane.inside.len()).map(|inside| inside.entry).filter(|entry| *entry != 0);
            state.escaped.extend(left);
        }
        state.escaped.sort_unstable();
        state.escaped.dedup();
        ways
    }

    /// Lanes that went different ways are no longer together. `ways` are those of all lanes.
    fn split(&self, state: &mut State, lanes: &[usize], ways: &[u32]) {
        let mut of_way: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        lanes.iter().for_each(|&lane| of_way.entry(ways[lane]).or_default().push(lane));
        of_way.values().for_each(|lanes| state.join(lanes));
    }

    /// These lanes execute an operation together.
    fn operate(&self, state: &mut State, lanes: &[usize]) {
        let Some(Instr::Op { id, op, site }) = self.code.at(&state.lanes[lanes[0]]) else { return };
        let number = |lane: usize| ((self.first + lane) % self.size) as u32;
        let tangle = lanes.iter().fold(0, |tangle, &lane| tangle | 1 << number(lane));
        let mut words = Vec::new();
        for &lane in lanes {
            let of_lane = &mut state.lanes[lane];
            let value = op.of(tangle, number(lane));
            of_lane.log.extend(*site);
            words.push((number(lane) as usize, of_lane.log.len()));
            of_lane.log.push(value);
            if *op == Op::Elect {
                of_lane.elected = value == 1;
            }
            self.code.step(of_lane, self.first + lane);
        }
        if self.is_mine(lanes[0]) {
            state.trace.push(Instance { id: *id, op: *op, tangle, words });
        }
    }

    /// Lanes with one label go on by an instruction, if there is no choice and nobody to wait for.
    fn advance(&self, state: &mut State, label: u32) -> bool {
        let lanes = state.lanes_with(label);
        let is_maximal = self.tier == Tier::Maximal;
        match self.code.at(&state.lanes[lanes[0]]) {
            None => return false,
            Some(Instr::Op { .. }) if is_maximal || !self.is_mine(lanes[0]) => {
                self.operate(state, &lanes);
                return true;
            }
            Some(Instr::Op { .. }) => return false,
            Some(Instr::Label) if is_maximal => return false,
            Some(Instr::Close(_) | Instr::Continue(_)) if is_maximal => return self.reconverge(state, lanes[0]),
            Some(Instr::Close(_)) => match self.wait(state, &lanes) {
                Wait::Over => {}
                Wait::Meeting => {
                    let all: Vec<usize> = (0..state.lanes.len()).collect();
                    state.join(&all);
                    state.uniform = true;
                    return true;
                }
                Wait::Needed | Wait::Unclear(_) => return false,
            },
            Some(_) => {}
        }
        let ways = self.step(state, &lanes);
        if ways.iter().any(|way| *way != ways[0]) {
            let mut of_all = vec![0; state.lanes.len()];
            lanes.iter().zip(ways).for_each(|(&lane, way)| of_all[lane] = way);
            self.split(state, &lanes, &of_all);
        }
        true
    }

    /// Tier maximal: lanes that came in together wait for each other, unless they escape.
    fn reconverge(&self, state: &mut State, lane: usize) -> bool {
        let pc = state.lanes[lane].pc;
        let Some(&here) = state.lanes[lane].inside.last() else { return false };
        let at_continue = matches!(self.code.at(&state.lanes[lane]), Some(Instr::Continue(_)));
        let same = |other: &Lane| {
            other.inside.iter().any(|inside| {
                let iteration = !at_continue || inside.iteration == here.iteration;
                (inside.construct, inside.entry) == (here.construct, here.entry) && iteration
            })
        };
        let has_left = |other: &Lane| {
            other.inside.last().is_some_and(|inside| inside.construct == here.construct)
                && at_continue
                && matches!(self.code.at(other), Some(Instr::Close(c)) if *c == here.construct)
        };
        let awaited: Vec<usize> =
            (0..state.lanes.len()).filter(|&l| same(&state.lanes[l]) && !has_left(&state.lanes[l])).collect();
        let is_here = |l: &usize| {
            state.lanes[*l].pc == pc && state.lanes[*l].inside.last().is_some_and(|i| i.entry == here.entry)
        };
        if !awaited.iter().all(is_here) {
            return false;
        }
        state.join(&awaited);
        self.step(state, &awaited);
        true
    }

    /// What lanes at a merge block wait for at the weaker tiers.
    fn wait(&self, state: &State, lanes: &[usize]) -> Wait {
        let entries = lanes.iter().filter_map(|&lane| state.lanes[lane].inside.last()).map(|inside| inside.entry);
        let entry = entries.max().unwrap_or(0);
        if entry == 0 || state.escaped.contains(&entry) || state.promised.contains(&entry) {
            return Wait::Over;
        }
        let pc = state.lanes[lanes[0]].pc;
        let arrived = |lane: &Lane| lane.pc == pc && lane.inside.last().is_some_and(|inside| inside.entry == entry);
        if state.lanes.iter().all(arrived) {
            return Wait::Meeting;
        }
        let inside = |lane: &Lane| lane.inside.iter().any(|inside| inside.entry == entry);
        let others = (0..state.lanes.len()).filter(|&lane| inside(&state.lanes[lane]) && !arrived(&state.lanes[lane]));
        let will: Vec<Option<bool>> = others.map(|lane| self.escapes(&state.lanes[lane], lane, entry)).collect();
        if will.contains(&Some(true)) {
            Wait::Over
        } else if will.iter().all(|will| *will == Some(false)) {
            Wait::Needed
        } else {
            Wait::Unclear(entry)
        }
    }

    /// True if a lane will leave a construct by another way than its merge block; `None` if that depends on who is elected.
    fn escapes(&self, lane: &Lane, index: usize, entry: u32) -> Option<bool> {
        let mut lane = lane.clone();
        loop {
            let by = self.code.at(&lane);
            if matches!(by, Some(Instr::Choose { by: By::Elected, .. })) {
                return None;
            }
            let by_merge = matches!(by, Some(Instr::Close(_)));
            self.code.step(&mut lane, self.first + index);
            if lane.inside.iter().all(|inside| inside.entry != entry) {
                return Some(!by_merge);
            }
        }
    }

    fn moves(&self, state: &State) -> Vec<State> {
        let mut moves = Vec::new();
        // What may go on together: an operation; at tier maximal, a label in one execution of its switch.
        let mut ready: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for label in state.labels() {
            let lanes = state.lanes_with(label);
            let lane = &state.lanes[lanes[0]];
            match self.code.at(lane) {
                Some(Instr::Op { .. }) => ready.entry((lane.pc, 0)).or_default().push(label),
                Some(Instr::Label) => {
                    let entry = lane.inside.last().map_or(0, |inside| inside.entry);
                    ready.entry((lane.pc, entry)).or_default().push(label);
                }
                Some(Instr::Close(_)) => {
                    if let Wait::Unclear(entry) = self.wait(state, &lanes) {
                        let mut after = state.clone();
                        after.promised.push(entry);
                        after.promised.sort_unstable();
                        after.promised.dedup();
                        moves.push(after);
                    }
                }
                _ => {}
            }
        }
        for labels in ready.values() {
            for set in 1..1u32 << labels.len() {
                let chosen = |label: &u32| labels.iter().position(|l| l == label).is_some_and(|k| set >> k & 1 == 1);
                let lanes: Vec<usize> = (0..state.lanes.len()).filter(|&lane| chosen(&state.label[lane])).collect();
                let mut after = state.clone();
                after.join(&lanes);
                match self.tier {
                    Tier::Maximal => drop(self.step(&mut after, &lanes)),
                    _ => self.operate(&mut after, &lanes),
                }
                moves.push(after);
            }
        }
        moves
    }
}
