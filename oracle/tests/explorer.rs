//! A second look at the rules for observed tangles: every execution that the rules of semantics.md §3.2 to §3.6 allow, one by one.
//!
//! The explorer shares nothing with the oracle but the case. A lane is a list of things to do: *operations*, *choices* between two ways, and
//! *meetings*, where control flow is uniform again. At any time, lanes that were together and made the same choices since then must go on
//! together (R2); such lanes have one *label*. An execution is a sequence of moves: some labels whose next operation is the same one execute it
//! together, whatever ways their lanes have gone before (R4). A meeting needs everybody (R6).

mod common;

use std::collections::{BTreeSet, HashSet};

use common::{bin, counted, either, function, lane, log, uint};
use tangle_oracle::judge::{Observation, Verdict, judge};
use tangle_oracle::map::{LaneMap, SizePromise};
use tangle_program::case::{Case, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Block, Expr};
use tangle_program::validate::validate;

const LANES: usize = 4;
/// States of one program looked at.
const MOST: usize = 20_000;
const PROGRAMS: u64 = 120;

/// A small program.
#[derive(Clone, Debug)]
enum Node {
    /// Logs a ballot, and perhaps the sum of the lanes' bits, an operation of its own.
    See { site: u32, sum: bool },
    /// The lanes of the mask go one way.
    If(u32, Vec<Node>, Vec<Node>),
    /// How often each lane goes round.
    Loop([u32; LANES], Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// An operation; the site it logs first, if it is the first of a log.
    Operation {
        id: u32,
        starts: Option<u32>,
    },
    Choice(u32, u32),
    Meeting,
}

// ---- what the lanes do ----

struct Unrolled {
    lanes: [Vec<Item>; LANES],
}

impl Unrolled {
    /// `uniform`: control flow is (§3.6). Numbers of choices are those of the nodes in the text.
    fn block(&mut self, nodes: &[Node], at: u32, active: u32, uniform: bool) {
        for (k, node) in nodes.iter().enumerate() {
            self.node(node, at * 8 + k as u32 + 1, active, uniform);
        }
    }

    fn each(&mut self, active: u32, item: impl Fn(usize) -> Item) {
        (0..LANES).filter(|lane| active >> lane & 1 == 1).for_each(|lane| self.lanes[lane].push(item(lane)));
    }

    fn node(&mut self, node: &Node, at: u32, active: u32, uniform: bool) {
        if active == 0 {
            return;
        }
        match node {
            Node::See { site, sum } => {
                self.each(active, |_| Item::Operation { id: site * 2, starts: Some(*site) });
                if *sum {
                    self.each(active, |_| Item::Operation { id: site * 2 + 1, starts: None });
                }
            }
            Node::If(mask, then, otherwise) => {
                self.each(active, |lane| Item::Choice(at, mask >> lane & 1));
                let (p, q) = (active & mask, active & !mask);
                self.block(then, at * 8 + 1, p, uniform && q == 0);
                self.block(otherwise, at * 8 + 2, q, uniform && p == 0);
            }
            Node::Loop(trips, body) => {
                let mut here = active;
                let mut together = uniform;
                for round in 0.. {
                    let stay = (0..LANES)
                        .filter(|&lane| here >> lane & 1 == 1 && trips[lane] > round)
                        .fold(0, |m, lane| m | 1 << lane);
                    self.each(here, |lane| Item::Choice(at, stay >> lane & 1));
                    together &= stay == here;
                    here = stay;
                    if here == 0 {
                        break;
                    }
                    self.block(body, at * 8 + 3, here, together);
                }
            }
        }
        if uniform && !matches!(node, Node::See { .. }) {
            self.each(active, |_| Item::Meeting);
        }
    }
}

// ---- every execution ----

#[derive(Clone)]
struct State {
    at: [usize; LANES],
    /// Lanes with one label are together, as long as they choose alike.
    label: [u32; LANES],
    next_label: u32,
    logs: [Vec<u32>; LANES],
}

struct Explorer<'a> {
    lanes: &'a [Vec<Item>; LANES],
    seen: BTreeSet<[Vec<u32>; LANES]>,
    /// States met: different orders of moves that do not concern each other lead to one.
    met: HashSet<Met>,
    complete: bool,
}

/// Where the lanes are, who is with whom, and what was logged.
type Met = ([usize; LANES], [usize; LANES], [Vec<u32>; LANES]);

impl Explorer<'_> {
    fn explore(&mut self, mut state: State) {
        if self.met.len() >= MOST {
            self.complete = false;
            return;
        }
        self.choose(&mut state);
        let with = state.label.map(|label| state.label.iter().position(|other| *other == label).unwrap_or(0));
        if !self.met.insert((state.at, with, state.logs.clone())) {
            return;
        }
        let next: Vec<Option<Item>> = (0..LANES).map(|lane| self.lanes[lane].get(state.at[lane]).copied()).collect();
        if next.iter().all(Option::is_none) {
            self.seen.insert(state.logs);
            return;
        }
        if next.iter().all(|item| *item == Some(Item::Meeting)) {
            state.at.iter_mut().for_each(|at| *at += 1);
            state.label = [state.next_label; LANES];
            state.next_label += 1;
            return self.explore(state);
        }
        let mut operations: Vec<u32> = Vec::new();
        for item in next.iter().flatten() {
            if let Item::Operation { id, .. } = item
                && !operations.contains(id)
            {
                operations.push(*id);
            }
        }
        for operation in operations {
            let ready = |lane: &usize| matches!(next[*lane], Some(Item::Operation { id, .. }) if id == operation);
            let mut labels: Vec<u32> = (0..LANES).filter(ready).map(|lane| state.label[lane]).collect();
            labels.sort_unstable();
            labels.dedup();
            for set in 1..1u32 << labels.len() {
                let chosen = |label: &u32| labels.iter().position(|l| l == label).is_some_and(|k| set >> k & 1 == 1);
                let mut after = state.clone();
                let members: Vec<usize> = (0..LANES).filter(ready).filter(|&lane| chosen(&state.label[lane])).collect();
                let mask = members.iter().fold(0u32, |mask, lane| mask | 1 << lane);
                for &lane in &members {
                    if let Some(Item::Operation { starts: Some(site), .. }) = next[lane] {
                        after.logs[lane].push(site);
                    }
                    // The ballot, and the sum of the members' bits, are the same number.
                    after.logs[lane].push(mask);
                    after.at[lane] += 1;
                    after.label[lane] = state.next_label;
                }
                after.next_label += 1;
                self.explore(after);
            }
        }
    }

    /// Lets the lanes make their choices up to the next operation or meeting. Lanes with one label get different ones where they choose
    /// differently.
    fn choose(&self, state: &mut State) {
        let mut ways: Vec<((u32, Vec<Item>), u32)> = Vec::new();
        let before = state.label;
        for lane in 0..LANES {
            let mut way = Vec::new();
            while let Some(item @ Item::Choice(..)) = self.lanes[lane].get(state.at[lane]) {
                way.push(*item);
                state.at[lane] += 1;
            }
            if way.is_empty()
                && !before.iter().enumerate().any(|(other, label)| other != lane && *label == before[lane])
            {
                continue;
            }
            let key = (before[lane], way);
            state.label[lane] = match ways.iter().find(|(known, _)| *known == key) {
                Some((_, label)) => *label,
                None => {
                    ways.push((key, state.next_label));
                    state.next_label += 1;
                    state.next_label - 1
                }
            };
        }
    }
}

// ---- the same program as a case ----

fn statements(nodes: &[Node], counters: &mut u32) -> Block {
    let lane = || bin(lane(), BinaryOp::BitAnd, uint(LANES as u32 - 1));
    let bit_of_lane = || bin(uint(1), BinaryOp::Shl, lane());
    let statement = |node: &Node| match node {
        Node::See { site, sum } => {
            let ballot = Expr::Component(Box::new(Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)])), 0);
            let sum = sum.then(|| Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [bit_of_lane()]));
            log(*site, [ballot].into_iter().chain(sum).collect::<Vec<_>>())
        }
        Node::If(mask, then, otherwise) => {
            let bit = bin(bin(uint(*mask), BinaryOp::Shr, lane()), BinaryOp::BitAnd, uint(1));
            let (then, otherwise) = (statements(then, counters), statements(otherwise, counters));
            either(bin(bit, BinaryOp::Eq, uint(1)), then, otherwise)
        }
        Node::Loop(trips, body) => {
            let packed = trips.iter().rev().fold(0, |packed, trips| packed << 2 | trips);
            let shift = bin(lane(), BinaryOp::Mul, uint(2));
            let bound = bin(bin(uint(packed), BinaryOp::Shr, shift), BinaryOp::BitAnd, uint(3));
            let counter = *counters;
            *counters += 1;
            counted(counter, bound, [], statements(body, counters))
        }
    };
    nodes.iter().map(statement).collect()
}

fn case_of(nodes: &[Node]) -> Case {
    let body = statements(nodes, &mut 0);
    let mut case = common::case(vec![function("main", body)]);
    case.tier = Tier::Plain;
    case.launch.workgroup = [LANES as u32, 1, 1];
    case
}

// ---- random programs ----

struct Lots(u64);

impl Lots {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn program(&mut self, sums: bool) -> Vec<Node> {
        let mut site = 0;
        let mut body = self.block(2, 2, &mut site, sums);
        site += 1;
        body.push(Node::See { site, sum: sums });
        // Nothing comes together again inside; the loop lets lanes come by more than once.
        let whole = match self.below(3) {
            0 => Node::Loop(std::array::from_fn(|_| 1 + self.below(2) as u32), body),
            1 => Node::If(self.below(2) as u32 | 0b1110, body, Vec::new()),
            _ => Node::If(0b0111, body, Vec::new()),
        };
        vec![whole]
    }

    fn block(&mut self, most: u64, depth: u32, site: &mut u32, sums: bool) -> Vec<Node> {
        (0..=self.below(most)).map(|_| self.node(depth, site, sums)).collect()
    }

    fn node(&mut self, depth: u32, site: &mut u32, sums: bool) -> Node {
        match self.below(if depth == 0 { 1 } else { 4 }) {
            1 | 2 => {
                let mask = self.below(16) as u32;
                let then = self.block(2, depth - 1, site, sums);
                Node::If(mask, then, if self.below(2) == 0 { Vec::new() } else { self.block(1, depth - 1, site, sums) })
            }
            3 => {
                let trips = std::array::from_fn(|_| self.below(3) as u32);
                Node::Loop(trips, self.block(1, depth - 1, site, sums))
            }
            _ => {
                *site += 1;
                Node::See { site: *site, sum: sums && self.below(2) == 0 }
            }
        }
    }
}

/// What the oracle says of these logs.
fn accepts(case: &Case, map: &LaneMap, logs: &[Vec<u32>; LANES]) -> bool {
    let observation = Observation { map: map.words(case), logs: logs.to_vec() };
    let promise = SizePromise { default: LANES as u32, min: LANES as u32, max: LANES as u32 };
    match judge(case, &observation, promise).verdict {
        Verdict::Pass | Verdict::Vacuous => true,
        Verdict::Mismatch(_) => false,
        other => panic!("{other:?}"),
    }
}

/// Programs, executions accepted, and executions outside that were refused.
fn look(sums: bool) -> [usize; 3] {
    let mut figures = [0; 3];
    for seed in 0..PROGRAMS {
        let program = Lots((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)).program(sums);
        let case = case_of(&program);
        validate(&case).unwrap_or_else(|invalid| panic!("program {seed}: {invalid}"));
        let map = LaneMap::linear(&case, LANES as u32);
        let mut unrolled = Unrolled { lanes: Default::default() };
        unrolled.block(&program, 0, 0b1111, true);
        let mut explorer =
            Explorer { lanes: &unrolled.lanes, seen: BTreeSet::new(), met: HashSet::new(), complete: true };
        let start = State { at: [0; LANES], label: [0; LANES], next_label: 1, logs: Default::default() };
        explorer.explore(start);
        figures[0] += 1;
        let shown = || tangle_program::glsl::glsl(&case).lines().skip(30).collect::<Vec<_>>().join("\n");
        for (i, logs) in explorer.seen.iter().enumerate().filter(|(i, _)| i % 7 == 0 || *i < 60) {
            assert!(accepts(&case, &map, logs), "a legal execution is refused: {logs:x?}, program {seed}\n{}", shown());
            figures[1] += 1;
            if !explorer.complete || i >= 60 {
                continue;
            }
            for (lane, at, bit) in places(&program_sites(&unrolled.lanes), logs) {
                let mut mutant = logs.clone();
                mutant[lane][at] ^= 1 << bit;
                if explorer.seen.contains(&mutant) {
                    continue;
                }
                let accepted = accepts(&case, &map, &mutant);
                assert!(!accepted, "an illegal execution passes: {mutant:x?}, program {seed}\n{}", shown());
                figures[2] += 1;
            }
        }
    }
    figures
}

/// For every lane, which of its words are results.
fn program_sites(lanes: &[Vec<Item>; LANES]) -> [Vec<bool>; LANES] {
    std::array::from_fn(|lane| {
        let words = lanes[lane].iter().flat_map(|item| match item {
            Item::Operation { starts: Some(_), .. } => vec![false, true],
            Item::Operation { starts: None, .. } => vec![true],
            _ => Vec::new(),
        });
        words.collect()
    })
}

fn places(results: &[Vec<bool>; LANES], logs: &[Vec<u32>; LANES]) -> Vec<(usize, usize, usize)> {
    let words = |lane: usize| (0..logs[lane].len()).filter(move |&at| results[lane][at]);
    (0..LANES).flat_map(|lane| words(lane).flat_map(move |at| (0..LANES).map(move |bit| (lane, at, bit)))).collect()
}

#[test]
fn ballots_are_accepted_exactly_where_an_execution_is_legal() {
    let [programs, legal, refused] = look(false);
    println!("{programs} programs, {legal} legal executions accepted, {refused} others refused");
    assert!(programs > 100 && legal > 300 && refused > 1_000);
}

#[test]
fn operations_beside_ballots_are_accepted_exactly_where_an_execution_is_legal() {
    let [programs, legal, refused] = look(true);
    println!("{programs} programs, {legal} legal executions accepted, {refused} others refused");
    assert!(programs > 100 && legal > 300 && refused > 1_000);
}
