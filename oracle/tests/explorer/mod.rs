//! A second look at the oracle: every execution that sections R to X of docs/rules.md allow, one by one.
//!
//! The explorer shares nothing with the oracle but the case: the oracle executes the tree with masks of lanes, the explorer a
//! list of instructions lane by lane ([`code`]), and who is together comes out of the moves that are allowed ([`execution`]). It
//! computes of a small program ([`program`]) everything that a device may log. The oracle must accept all of that, and refuse the rest: what is just
//! outside comes from legal executions that are spoilt ([`mutants`]).
//!
//! `TANGLE_SEEDS=FIRST..END` looks at other programs, for as long as one likes.

mod code;
mod execution;
mod mutants;
mod program;

use std::collections::{BTreeMap, BTreeSet};

use code::{Code, Instr};
use execution::{Executions, Logs, explore};
use mutants::{Spoilt, mutants};
use program::{Lots, Program, Style};
use tangle_analysis::validate::validate;
use tangle_oracle::judge::{Observation, Verdict, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_program::case::{Case, Tier};

/// States of one program looked at.
const MOST: usize = 20_000;
/// Legal executions of one program that are judged, and that are spoilt.
const JUDGED: usize = 40;
const SPOILT: usize = 3;
/// Mutants of one execution that are judged.
const MUTANTS: usize = 60;

/// Invocations and subgroup size: one subgroup, a part of one, two of which one is partial.
const SHAPES: [(u32, u32); 3] = [(4, 4), (3, 8), (6, 4)];

fn seeds(count: u64) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("TANGLE_SEEDS") else { return 0..count };
    let ends = text.split_once("..").and_then(|(first, end)| Some((first.parse().ok()?, end.parse().ok()?)));
    ends.map(|(first, end)| first..end).expect("TANGLE_SEEDS is FIRST..END")
}

/// What was compared.
#[derive(Debug, Default)]
struct Figures {
    programs: usize,
    /// Programs with all their executions, and those with only one.
    complete: usize,
    single: usize,
    legal: usize,
    /// Mutants outside, and those of them that were refused.
    illegal: BTreeMap<Spoilt, [usize; 2]>,
}

/// A program with all that belongs to it.
struct Subject {
    case: Case,
    map: LaneMap,
    size: u32,
    code: Code,
    executions: Vec<Executions>,
}

impl Subject {
    fn new(program: &Program, tier: Tier, (lanes, size): (u32, u32)) -> Subject {
        let case = program.case(lanes, tier);
        validate(&case).unwrap_or_else(|invalid| panic!("{invalid}"));
        let code = Code::of(program);
        let shape = (lanes as usize, size as usize);
        let explore = |nth| explore(&code, tier, shape, nth, MOST);
        let executions = (0..lanes.div_ceil(size) as usize).map(explore).collect();
        Subject { map: LaneMap::linear(&case, size), case, size, code, executions }
    }

    /// True if the oracle has nothing to say against these logs, subgroup by subgroup.
    fn accepts(&self, logs: &[&Logs]) -> bool {
        let observation = Observation {
            map: self.map.words(&self.case),
            logs: logs.iter().flat_map(|l| l.iter().cloned()).collect(),
            open: Vec::new(),
        };
        let promise = SubgroupPromise::vulkan(self.size, 4, 8);
        match judge(&self.case, &observation, promise).verdict {
            Verdict::Pass | Verdict::Vacuous => true,
            Verdict::Mismatch(_) => false,
            other => panic!("{other:?}"),
        }
    }

    /// The program, for people.
    fn shown(&self) -> String {
        let text = tangle_emit::glsl::glsl(&self.case);
        let is_dull = |line: &&str| line.starts_with('#') || line.starts_with("layout(") || line.contains("map_");
        text.lines().filter(|line| !is_dull(line)).collect::<Vec<_>>().join("\n")
    }

    fn sites(&self) -> Vec<u32> {
        let site = |instr: &Instr| if let Instr::Op { site, .. } = instr { *site } else { None };
        self.code.instrs.iter().filter_map(site).collect()
    }
}

/// Logs without zeros at the end, which a device may leave out.
fn trimmed(logs: &Logs) -> Logs {
    let trim = |log: &Vec<u32>| log[..log.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1)].to_vec();
    logs.iter().map(trim).collect()
}

/// Looks at programs of a style; prints the first few mutants that pass.
fn look(tier: Tier, style: Style, shapes: &[(u32, u32)], count: u64) -> Figures {
    let mut figures = Figures::default();
    let mut shown = 0;
    for seed in seeds(count) {
        let shape = shapes[seed as usize % shapes.len()];
        let program = Lots::new(seed, Style { lanes: shape.0, ..style }).program();
        let subject = Subject::new(&program, tier, shape);
        let legal: Vec<Vec<&Logs>> = subject.executions.iter().map(|of| of.of.keys().collect()).collect();
        let most = legal.iter().map(Vec::len).max().unwrap_or(0);
        let complete = subject.executions.iter().all(|of| of.complete);
        figures.programs += 1;
        figures.complete += usize::from(complete);
        figures.single += usize::from(complete && most == 1);
        let stride = most.div_ceil(JUDGED).max(1);
        let nth = |i: usize| -> Vec<&Logs> { legal.iter().map(|of| of[i % of.len()]).collect() };
        for i in (0..most).step_by(stride) {
            let logs = nth(i);
            assert!(
                subject.accepts(&logs),
                "a legal execution is refused: {logs:x?}, {tier:?}, {shape:?}, program {seed}\n{}",
                subject.shown()
            );
            figures.legal += 1;
        }
        if !complete {
            continue;
        }
        let known: Vec<BTreeSet<Logs>> = legal.iter().map(|of| of.iter().map(|logs| trimmed(logs)).collect()).collect();
        for i in (0..most).step_by(most.div_ceil(SPOILT).max(1)) {
            let logs = nth(i);
            for (subgroup, executions) in subject.executions.iter().enumerate() {
                let all = mutants(logs[subgroup], &executions.of[logs[subgroup]], &subject.sites());
                let stride = all.len().div_ceil(MUTANTS).max(1);
                for (how, mutant) in all.into_iter().skip(seed as usize % stride).step_by(stride) {
                    if known[subgroup].contains(&trimmed(&mutant)) {
                        continue;
                    }
                    let mut spoilt = logs.clone();
                    spoilt[subgroup] = &mutant;
                    let refused = !subject.accepts(&spoilt);
                    let counts = figures.illegal.entry(how).or_default();
                    counts[0] += 1;
                    counts[1] += usize::from(refused);
                    if !refused && (shown < 6 || how == Spoilt::Path) {
                        shown += 1;
                        println!(
                            "passes: {how:?} {mutant:x?}, from {:x?}, {tier:?}, {shape:?}, program {seed}",
                            logs[subgroup]
                        );
                        println!("{}", subject.shown());
                    }
                }
            }
        }
    }
    println!("{tier:?} {style:?}: {figures:?}");
    figures
}

impl Figures {
    fn all(&self) -> [usize; 2] {
        self.illegal.values().fold([0; 2], |[all, refused], [n, r]| [all + n, refused + r])
    }

    /// Enough was looked at, and of what is illegal at least so many of 10,000 were refused.
    fn hold(&self, refused: usize) {
        let [illegal, found] = self.all();
        assert!(self.complete * 10 >= self.programs * 9 && self.complete > self.single, "{self:?}");
        assert!(self.legal > self.programs && illegal > 20 * self.programs, "{self:?}");
        assert!(found * 10_000 >= illegal * refused, "{found} of {illegal} refused: {self:?}");
    }
}

const BALLOTS: Style = Style { lanes: 0, jumps: false, operations: false, leaders: false };
const ALL: Style = Style { lanes: 0, jumps: true, operations: true, leaders: true };

/// Ballots show who is together, so that next to nothing is left open: the oracle accepts what is legal, and nothing else but a lane that
/// runs ahead of a merge block where there is no operation (`observed` says why).
#[test]
fn ballots_are_accepted_exactly_where_an_execution_is_legal() {
    look(Tier::Plain, BALLOTS, &SHAPES, 400).hold(9999);
    look(Tier::Plain, Style { jumps: true, ..BALLOTS }, &SHAPES, 400).hold(9999);
}

/// Of other operations several divisions may explain what is seen of each one, though no execution has them all.
#[test]
fn operations_are_accepted_where_an_execution_is_legal() {
    look(Tier::Plain, Style { operations: true, ..BALLOTS }, &SHAPES, 400).hold(9985);
    look(Tier::Plain, Style { leaders: false, ..ALL }, &SHAPES, 400).hold(9985);
}

/// The same where the elected lane goes its own way.
#[test]
fn leaders_are_accepted_where_an_execution_is_legal() {
    // A workgroup of one subgroup: elsewhere who is elected in one subgroup would matter to the other's control flow.
    look(Tier::Plain, ALL, &SHAPES[..2], 400).hold(9985);
}

#[test]
fn subgroup_uniform_is_accepted_where_an_execution_is_legal() {
    look(Tier::SubgroupUniform, ALL, &SHAPES, 700).hold(9985);
}

/// Nearly always one execution; the rest are the segments of switches.
#[test]
fn maximal_is_accepted_where_an_execution_is_legal() {
    look(Tier::Maximal, ALL, &SHAPES, 1000).hold(9985);
}
