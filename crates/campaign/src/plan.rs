//! Which case comes when: the sequence of a campaign, a function of its seed alone.
//!
//! Case number `i` is made for one class of devices, drawn from the classes present, so that every device gets programs
//! that use all it can do, and simpler devices still run what they can of the rest. Every device goes through
//! the same sequence at its own pace and leaves out what it cannot run.
//!
//! Compiling a program costs a driver much more than running it, so some cases that follow each other have one program and differ in their
//! data only: cases `k * n` to `k * n + k - 1` for `k` inputs to a program ([`Choice::inputs`]).

use std::collections::BTreeSet;
use std::num::NonZero;

use arbitrary::Unstructured;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use tangle_analysis::cost::cost;
use tangle_analysis::validate::validate;
use tangle_generator::{Combination, Config, Contents, Profile, from_seed, generate, vary};
use tangle_identity::Change;
use tangle_program::case::{Case, Launch, Stage, Tier};
use tangle_program::subgroup::{Gives, SubgroupOp};
use tangle_program::tree::{Block, Stmt};
use tangle_program::variant::{Freedom, PASSES, Printing, Variant};

use crate::capabilities::missing_in_arb;
use crate::executor::{Economy, INPUTS};
use crate::shard::Shard;
use crate::target::Target;

/// How often a tier is drawn, where a device offers it. What is exact everywhere finds most.
pub const TIER_WEIGHTS: [(Tier, u32); 3] = [(Tier::Maximal, 6), (Tier::SubgroupUniform, 2), (Tier::Plain, 3)];

/// How often a stage is drawn, where a device offers it: it multiplies the weight of a tier. What is not compute costs as much and goes
/// through other parts of a driver only at its ends.
const STAGE_WEIGHTS: [(Stage, u32); 8] = [
    (Stage::Compute, 16),
    (Stage::Task, 2),
    (Stage::Mesh, 2),
    (Stage::Fragment, 6),
    (Stage::Vertex, 1),
    (Stage::TessellationControl, 1),
    (Stage::TessellationEvaluation, 1),
    (Stage::Geometry, 1),
];

/// Stages that a GPU which executes is given only where they are asked for. Where lanes of one that are of a workgroup or a patch wait for each other in
/// vain the draw never ends, its worker cannot be killed, and the whole GPU stands still until its driver gives up (docs/stages.md, "On a GPU").
const ONLY_ASKED_FOR_ON_GPUS: [Stage; 3] = [Stage::Task, Stage::Mesh, Stage::TessellationControl];

/// How often a profile is drawn when none is asked for.
pub const PROFILE_WEIGHTS: &[(Profile, u32)] = &[
    (Profile::Default, 8),
    (Profile::Loops, 3),
    (Profile::Small, 2),
    (Profile::Ops, 2),
    (Profile::Switch, 1),
    (Profile::Calls, 1),
    (Profile::Shapes, 1),
    (Profile::Idioms, 2),
    (Profile::Vectors, 1),
    (Profile::Large, 1),
];

/// How often a variant is drawn when none is asked for. The front end's module comes first: optimisers also hide bugs of drivers, and
/// have bugs of their own.
const VARIANT_WEIGHTS: &[(Drawn, u32)] = &[
    (Drawn::Fixed(Variant::Unoptimised), 13),
    (Drawn::Fixed(Variant::DriverUnoptimised), 2),
    (Drawn::Fixed(Variant::Performance), 2),
    (Drawn::Fixed(Variant::Size), 1),
    (Drawn::Passes, 2),
    (Drawn::Printed, 5),
];

/// The same of the front end's module beside the text, where a device takes both.
const MODULE_WEIGHT: u32 = 5;

/// The most data of a program: all of them are in memory at once.
pub const MOST_INPUTS: u32 = 1_000;

/// How many programs are made for one that has nothing but what ARB_shader_ballot has. One that does not is left out on such a device.
const MOST_TRIES: u32 = 200;

/// How many programs are left out for one that has nothing to be avoided. If the next one has something, too, the one with least of it runs: a campaign
/// that avoids too much still goes on.
const MOST_AVOIDED: u64 = 200;

/// The most passes of a drawn list.
const MOST_PASSES: u32 = 12;

/// A variant, or that its passes or freedoms are drawn.
#[derive(Clone, Debug)]
enum Drawn {
    Fixed(Variant),
    Passes,
    Printed,
}

/// What a campaign is asked to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Seed of the sequence.
    pub seed: u64,
    /// Only this profile; else a mixture.
    pub profile: Option<Profile>,
    /// Only this tier; else a mixture.
    pub tier: Option<Tier>,
    /// Only these stages; else a mixture.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub stages: BTreeSet<Stage>,
    /// Only this variant; else a mixture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
    /// How many cases have the same program, each with data of its own.
    #[serde(default = "one")]
    pub inputs: NonZero<u32>,
    /// Of how many programs with a loop of tens of thousands of iterations one is drawn.
    #[serde(default = "one")]
    pub long_loops: NonZero<u32>,
    /// Whether programs are half as large as those of their profile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_halved: bool,
    /// What no case contains: how a campaign is steered away from what is known to be broken.
    #[serde(default)]
    pub without: BTreeSet<Combination>,
    /// Those of them that make drivers die or hang.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deadly: BTreeSet<Combination>,
    /// What most cases do not contain: what programs that show a known bug have in them, which is more than what makes them show it. One of
    /// [`LET_THROUGH`] programs is drawn as if this were empty.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub seldom: BTreeSet<Combination>,
    /// What programs are changed by: those that have it show a bug that is known.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub changes: BTreeSet<Change>,
    /// Which part of the programs. Programs and cases have the numbers that they have in the whole sequence.
    #[serde(default, skip_serializing_if = "Shard::is_all")]
    pub shard: Shard,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice {
            seed: 0,
            profile: None,
            tier: None,
            stages: BTreeSet::new(),
            variant: None,
            inputs: INPUTS,
            long_loops: one(),
            is_halved: false,
            without: BTreeSet::new(),
            deadly: BTreeSet::new(),
            seldom: BTreeSet::new(),
            changes: BTreeSet::new(),
            shard: Shard::default(),
        }
    }
}

impl Choice {
    /// What it makes its cases of.
    pub fn economy(&self) -> Economy {
        Economy { inputs: self.inputs, long_loops: self.long_loops, is_halved: self.is_halved }
    }
}

/// What campaigns had before there was a choice.
const fn one() -> NonZero<u32> {
    NonZero::<u32>::MIN
}

/// How many combinations to avoid a case has: fewer are better, of those first that drivers die of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Reasons {
    deadly: usize,
    all: usize,
}

/// One of so many programs may have in it what a known bug's programs have ([`Choice::seldom`]).
pub const LET_THROUGH: u64 = 8;

/// From so many iterations on a program has long loops ([`Choice::long_loops`]).
const LONG: u64 = 10_000;

/// The sequence of cases of a campaign.
#[derive(Clone, Debug)]
pub struct Plan {
    choice: Choice,
    /// For each class of devices: the configurations of the tiers it offers, with weights.
    classes: Vec<Vec<(Config, u32)>>,
    /// The variants, with weights.
    variants: Vec<(Drawn, u32)>,
}

impl Plan {
    /// The sequence for these devices.
    ///
    /// # Errors
    /// If no device offers the tier in one of the stages.
    pub fn new(choice: Choice, targets: &[Target]) -> anyhow::Result<Plan> {
        let tier = choice.tier;
        let mut classes: Vec<Vec<(Config, u32)>> = Vec::new();
        for target in targets {
            let front_end = choice.variant.as_ref().and_then(Variant::front_end);
            let capabilities =
                match front_end.and_then(|front_end| Some((front_end, tangle_compilers::row(front_end)?))) {
                    Some((front_end, compiler)) => {
                        // Of one that is not here nothing runs.
                        let found = tangle_compilers::found(front_end).unwrap_or_default();
                        &target.capabilities.through(compiler, &found)
                    }
                    None => &target.capabilities,
                };
            let tiers = TIER_WEIGHTS
                .into_iter()
                .filter(|&(offered, _)| tier.is_none_or(|tier| tier == offered) && capabilities.offers(offered));
            let is_gpu = capabilities.is_gpu && target.executes();
            let mixed = |stage| !(is_gpu && ONLY_ASKED_FOR_ON_GPUS.contains(&stage));
            let stages = STAGE_WEIGHTS.into_iter().filter(|&(stage, _)| {
                let chosen = if choice.stages.is_empty() { mixed(stage) } else { choice.stages.contains(&stage) };
                chosen && capabilities.offers_stage(stage)
            });
            let stages: Vec<_> = stages.collect();
            // With one stage the weights are those of the tiers.
            let whole: u32 = if stages.len() == 1 { stages[0].1 } else { 1 };
            let class: Vec<_> = tiers
                .flat_map(|(tier, weight)| {
                    stages.iter().map(move |&(stage, times)| (stage, tier, weight * times / whole))
                })
                .map(|(stage, tier, weight)| (capabilities.config(stage, tier), weight))
                .collect();
            if !class.is_empty() && !classes.contains(&class) {
                classes.push(class);
            }
        }
        let stages: Vec<&str> = choice.stages.iter().map(|stage| stage.name()).collect();
        anyhow::ensure!(
            !classes.is_empty(),
            "no chosen device offers tier {}{}",
            tier.map_or("any", Tier::name),
            if stages.is_empty() { String::new() } else { format!(" in stage {}", stages.join(", ")) }
        );
        let takes_both = |target: &Target| target.capabilities.dialect.is_opengl() && target.capabilities.takes_modules;
        let modules = targets.iter().any(takes_both).then_some((Drawn::Fixed(Variant::Module), MODULE_WEIGHT));
        let variants = VARIANT_WEIGHTS.iter().cloned().chain(modules).collect();
        Ok(Plan { choice, classes, variants })
    }

    /// Case number `index`; `None` if its program has no other data.
    pub fn case(&self, index: u64) -> Option<Case> {
        let inputs = u64::from(self.choice.inputs.get());
        let case = self.program(index / inputs);
        match (index % inputs) as u32 {
            0 => Some(case),
            number => vary(&case, number),
        }
    }

    /// The cases of a program, `None` for data that it does not have, and how many programs were left out for it ([`Plan::avoided`]).
    pub fn cases(&self, program: u64) -> (Vec<Option<Case>>, u64) {
        let (case, avoided) = self.drawn(program);
        let others: Vec<Option<Case>> = (1..self.choice.inputs.get()).map(|number| vary(&case, number)).collect();
        (std::iter::once(Some(case)).chain(others).collect(), avoided)
    }

    /// Seed of the sequence.
    pub fn seed(&self) -> u64 {
        self.choice.seed
    }

    /// Which part of the programs is to run.
    pub fn shard(&self) -> Shard {
        self.choice.shard
    }

    /// How many cases have the same program.
    pub fn inputs(&self) -> u64 {
        self.choice.inputs.get().into()
    }

    /// Program number `index`, with its first data.
    fn program(&self, index: u64) -> Case {
        self.drawn(index).0
    }

    /// How many programs were drawn for this number that have what is to be avoided, and were left out. It draws them again.
    pub fn avoided(&self, index: u64) -> u64 {
        if self.left_out(index).next().is_none() { 0 } else { self.drawn(index).1 }
    }

    /// The program of this number with its first data, and how many were left out before it.
    fn drawn(&self, index: u64) -> (Case, u64) {
        let mut rng = SmallRng::seed_from_u64(self.choice.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ index);
        let config = Config { turn: Some(index), ..self.config(&mut |below| rng.random_range(0..below)) };
        let (mut tries, mut avoided) = (0, 0);
        // What is least to be avoided of what is, and why it is.
        let mut least: Option<(Reasons, Case)> = None;
        loop {
            let mut case = from_seed(rng.random(), &config);
            tries += 1;
            let fits = config.without.is_empty() || tries > MOST_TRIES || missing_in_arb(&case).is_empty();
            if !fits || self.is_spared(index, &case) {
                continue;
            }
            case = self.without_barriers(index, case);
            for change in &self.choice.changes {
                case = change.apply(&case).unwrap_or(case);
            }
            // Drawn last: the choice of a variant does not change the program.
            let drawn = variant(&mut |below| rng.random_range(0..below), &self.variants);
            case.variant = self.choice.variant.clone().unwrap_or(drawn);
            if !case.variant.fits(&case.entry_point) {
                case.variant = Variant::Unoptimised;
            }
            if let Some(reasons) = self.reasons_to_avoid(index, &case) {
                if least.as_ref().is_none_or(|(before, _)| reasons < *before) {
                    least = Some((reasons, case));
                }
                if avoided < MOST_AVOIDED {
                    avoided += 1;
                    continue;
                }
                case = least.take().expect("this one, if no other").1;
            }
            let asked = self.choice.variant.is_some();
            if !asked && case.entry_point.workgroups().derivative_group.is_some() && !case.variant.is_printed() {
                // glslang declares an extension that newer drivers do not take (`Feature::ComputeShaderDerivativesNv`).
                case.variant = Variant::Printed(Printing::PLAIN);
            }
            if let (true, Launch::Workgroups(workgroups)) =
                (case.variant.loses_workgroup_size(), &mut case.entry_point.launch)
            {
                workgroups.default_size = None;
            }
            let case = match case.variant.front_end().cloned() {
                Some(front_end) => tangle_compilers::fitted(&front_end, case),
                None => case,
            };
            return (case, avoided);
        }
    }

    /// True if its loop of so many iterations is not for the program of this number.
    fn is_spared(&self, index: u64, case: &Case) -> bool {
        !index.is_multiple_of(self.choice.long_loops.get().into()) && cost(case).long_iterations >= LONG
    }

    /// The case without the barriers that are to be avoided, alone or beside what else it has; as it is where it needs their order, so that it is left
    /// out.
    fn without_barriers(&self, index: u64, case: Case) -> Case {
        let barriers = |combination: &Combination| {
            combination.operations().filter(|op| op.info().gives == Gives::Nothing).collect::<BTreeSet<_>>()
        };
        let with_barriers = self.left_out(index).filter(|combination| !barriers(combination).is_empty());
        let ops: BTreeSet<SubgroupOp> = in_case(with_barriers, &case).into_iter().flat_map(barriers).collect();
        if ops.is_empty() {
            return case;
        }
        let mut without = case.clone();
        without.program.functions.iter_mut().for_each(|function| remove_barriers(&mut function.body, &ops));
        if validate(&without).is_ok() { without } else { case }
    }

    /// What the program of this number is to be without.
    fn left_out(&self, index: u64) -> impl Iterator<Item = &Combination> {
        let Choice { without, seldom, .. } = &self.choice;
        without.iter().chain(seldom.iter().filter(move |_| !index.is_multiple_of(LET_THROUGH)))
    }

    /// Why a case is to be avoided, if it is. Cases are made much faster than drivers run them, so that a new one is drawn instead.
    fn reasons_to_avoid(&self, index: u64, case: &Case) -> Option<Reasons> {
        let avoided = in_case(self.left_out(index), case);
        let deadly = avoided.iter().filter(|combination| self.choice.deadly.contains(combination)).count();
        (!avoided.is_empty()).then_some(Reasons { deadly, all: avoided.len() })
    }

    /// A case from fuzz bytes: the first three choose devices, tier and profile, the generator has the rest.
    ///
    /// # Errors
    /// Never for want of bytes; the type is that of `arbitrary`.
    pub fn case_from_bytes(&self, u: &mut Unstructured<'_>) -> arbitrary::Result<Case> {
        let config = self.config(&mut |below| u.arbitrary::<u8>().map_or(0, u32::from) % below);
        generate(u, &config)
    }

    /// Draws a class of devices, a tier and a profile; `draw(n)` gives a number below `n`.
    fn config(&self, draw: &mut dyn FnMut(u32) -> u32) -> Config {
        let class = &self.classes[draw(self.classes.len() as u32) as usize];
        let mut config = weighted(draw, class).clone();
        let drawn = *weighted(draw, PROFILE_WEIGHTS);
        config.profile = self.choice.profile.unwrap_or(drawn);
        config.size = self.choice.is_halved.then(|| config.profile.size().halved());
        config
    }
}

/// Draws a variant by these weights; `draw(n)` gives a number below `n`.
fn variant(draw: &mut dyn FnMut(u32) -> u32, weights: &[(Drawn, u32)]) -> Variant {
    match weighted(draw, weights) {
        Drawn::Fixed(variant) => variant.clone(),
        Drawn::Passes => {
            let count = 1 + draw(MOST_PASSES);
            Variant::of_passes((0..count).map(|_| PASSES[draw(PASSES.len() as u32) as usize]))
        }
        Drawn::Printed => {
            let seed = draw(u32::MAX);
            let freedoms = Freedom::ALL.iter().copied().filter(|_| draw(2) == 0).collect();
            Variant::Printed(Printing::new(seed, freedoms))
        }
    }
}

/// Those of the combinations that are in a case. What it contains is looked at only if there is one to compare it with.
fn in_case<'a>(combinations: impl Iterator<Item = &'a Combination>, case: &Case) -> Vec<&'a Combination> {
    let mut contents = None;
    let mut is_in = |combination: &Combination| combination.is_in(contents.get_or_insert_with(|| Contents::of(case)));
    combinations.filter(|combination| is_in(combination)).collect()
}

fn remove_barriers(block: &mut Block, without: &BTreeSet<SubgroupOp>) {
    block.retain(|stmt| !matches!(stmt, Stmt::SubgroupBarrier(op) if without.contains(op)));
    for stmt in block {
        match stmt {
            Stmt::If { then, otherwise, .. } => {
                remove_barriers(then, without);
                remove_barriers(otherwise, without);
            }
            Stmt::Switch { arms, .. } => arms.iter_mut().for_each(|arm| remove_barriers(&mut arm.body, without)),
            Stmt::Loop(l) => remove_barriers(&mut l.body, without),
            _ => {}
        }
    }
}

fn weighted<'a, T>(draw: &mut dyn FnMut(u32) -> u32, choices: &'a [(T, u32)]) -> &'a T {
    let mut drawn = draw(choices.iter().map(|(_, weight)| weight).sum());
    for (choice, weight) in choices {
        match drawn.checked_sub(*weight) {
            Some(rest) => drawn = rest,
            None => return choice,
        }
    }
    unreachable!("a number below the sum of the weights was drawn")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tangle_generator::Stats;

    use super::*;

    fn plan(variant: Option<Variant>) -> Plan {
        let target = Target::built_in("reference").expect("it is built in");
        let stages = [Stage::Compute].into();
        let choice = Choice { seed: 5, profile: Some(Profile::Small), variant, stages, ..Choice::default() };
        Plan::new(choice, &[target]).expect("it offers every tier")
    }

    #[test]
    fn every_variant_is_drawn_and_the_program_does_not_depend_on_it() {
        let (mixed, fixed) = (plan(None), plan(Some(Variant::Size)));
        let mut families = BTreeMap::<&str, u32>::new();
        for index in 0..200 {
            let (mut one, mut other) = (mixed.program(index), fixed.program(index));
            *families.entry(one.variant.family()).or_default() += 1;
            assert_eq!(mixed.program(index), one, "the same case every time");
            assert_eq!(other.variant, Variant::Size);
            (one.variant, other.variant) = Default::default();
            // Some passes lose a workgroup size that is specialised: the same size is fixed with them.
            for case in [&mut one, &mut other] {
                case.entry_point.workgroups_mut().default_size = None;
            }
            assert_eq!(one, other);
        }
        assert_eq!(families.len(), 6, "{families:?}");
        assert!(families["unoptimised"] > 80, "{families:?}");
        assert!(families["printed"] > 20, "{families:?}");
    }

    /// A bug whose programs pass without barriers in loops, and one of a pass of the optimiser.
    #[test]
    fn what_shows_known_bugs_is_changed_or_left_out() {
        let barriers: Change = "subgroupBarrier in a loop".parse().expect("a change");
        let inlined: Combination = "spirv-opt:inline-entry-points-exhaustive".parse().expect("a pass");
        let target = [Target::built_in("reference").expect("it is built in")];
        let choice = Choice { seed: 5, ..Choice::default() };
        let steered = Choice { changes: [barriers].into(), without: [inlined.clone()].into(), ..choice.clone() };
        let plans = [choice, steered].map(|choice| Plan::new(choice, &target).expect("a plan"));
        let counts = plans.each_ref().map(|plan| {
            let cases: Vec<Case> = (0..200).map(|index| plan.program(index)).collect();
            let shows = |case: &&Case| barriers.apply(case).is_some();
            let optimised = |case: &&Case| inlined.is_in(&Contents::of(case));
            let avoided: u64 = (0..200).map(|index| plan.avoided(index)).sum();
            (cases.iter().filter(shows).count(), cases.iter().filter(optimised).count(), avoided)
        });
        assert!(counts[0].0 > 10 && counts[0].1 > 10 && counts[0].2 == 0, "{counts:?}");
        assert!(counts[1].0 == 0 && counts[1].1 == 0 && counts[1].2 > 10, "{counts:?}");
    }

    #[test]
    fn a_gpu_gets_what_does_not_stop_it() {
        let mut target = Target::built_in("reference").expect("it is built in");
        let stages = |target: &Target| -> BTreeSet<Stage> {
            let choice = Choice { seed: 5, profile: Some(Profile::Small), ..Choice::default() };
            let plan = Plan::new(choice, std::slice::from_ref(target)).expect("a plan");
            (0..400).map(|index| plan.program(index).entry_point.stage).collect()
        };
        let all = stages(&target);
        target.capabilities.is_gpu = true;
        let left_out: Vec<Stage> = all.difference(&stages(&target)).copied().collect();
        assert_eq!(left_out, [Stage::Task, Stage::Mesh, Stage::TessellationControl]);
        assert_eq!(all.len(), 8);
    }

    #[test]
    fn long_loops_come_as_often_as_is_chosen() {
        let target = [Target::built_in("reference").expect("it is built in")];
        let numbers = |long_loops: u32| -> Vec<u64> {
            let choice = Choice { seed: 3, long_loops: NonZero::new(long_loops).expect("not 0"), ..Choice::default() };
            let plan = Plan::new(choice, &target).expect("a plan");
            (0..800).filter(|&index| cost(&plan.program(index)).long_iterations >= LONG).collect()
        };
        let [all, few] = [1, 16].map(numbers);
        assert!(all.len() > 8, "{all:?}");
        assert_eq!(few, all.into_iter().filter(|number| number % 16 == 0).collect::<Vec<_>>());
    }

    #[test]
    fn halved_programs_are_smaller() {
        let target = [Target::built_in("interpreter").expect("it is built in")];
        let statements = |is_halved: bool| -> u32 {
            let plan = Plan::new(Choice { seed: 3, is_halved, ..Choice::default() }, &target).expect("a plan");
            (0..200).map(|index| Stats::of(&plan.program(index)).statements as u32).sum()
        };
        let [whole, half] = [false, true].map(statements);
        assert!((0.4..0.65).contains(&(f64::from(half) / f64::from(whole))), "{half} of {whole}");
    }

    /// Where invocations exchange values through memory, the barrier that orders them cannot go: such a program is left out.
    #[test]
    fn programs_without_barriers_are_valid() {
        let target = [Target::built_in("reference").expect("it is built in")];
        let barrier: Combination = "subgroupBarrier".parse().expect("an operation");
        let choice = Choice { seed: 7, ..Choice::default() };
        let without = Choice { without: [barrier.clone()].into(), ..choice.clone() };
        let [with, without] = [choice, without].map(|choice| Plan::new(choice, &target).expect("a plan"));
        let has_barrier = |case: &Case| barrier.is_in(&Contents::of(case));
        assert!((0..300).any(|index| has_barrier(&with.program(index))));
        for index in 0..300 {
            let case = without.program(index);
            assert!(!has_barrier(&case), "{index}");
            assert_eq!(validate(&case), Ok(()), "{index}");
        }
        assert!((0..300).any(|index| without.avoided(index) > 0));
    }

    /// Barriers of a stage are taken out as those of all stages are, in place of leaving the programs out.
    #[test]
    fn barriers_of_one_stage_are_taken_out() {
        let target = [Target::built_in("reference").expect("it is built in")];
        let drawn = |without: &str| {
            let without = [without.parse().expect(without)].into();
            let choice = Choice { seed: 7, stages: [Stage::Compute].into(), without, ..Choice::default() };
            let plan = Plan::new(choice, &target).expect("a plan");
            (0..100).map(|index| plan.drawn(index)).collect::<Vec<_>>()
        };
        assert_eq!(drawn("subgroupBarrier + compute"), drawn("subgroupBarrier"));
    }

    /// What a known bug's programs have in them is left out, and not of all programs: most that have it pass.
    #[test]
    fn some_programs_may_have_what_known_bugs_are_made_of() {
        let target = [Target::built_in("reference").expect("it is built in")];
        let loops: Combination = "DivergentLoop".parse().expect("a construct");
        let choice = Choice { seed: 9, ..Choice::default() };
        let seldom = Choice { seldom: [loops.clone()].into(), ..choice.clone() };
        let [all, seldom] = [choice, seldom].map(|choice| Plan::new(choice, &target).expect("a plan"));
        let with_loop = |index| loops.is_in(&Contents::of(&seldom.program(index)));
        let with_loop: Vec<u64> = (0..160).filter(|&index| with_loop(index)).collect();
        assert!(
            with_loop.len() > 3 && with_loop.iter().all(|index| index.is_multiple_of(LET_THROUGH)),
            "{with_loop:?}"
        );
        for index in (0..160).step_by(LET_THROUGH as usize) {
            assert_eq!(seldom.drawn(index), (all.program(index), 0), "{index}");
        }
        assert!((1..LET_THROUGH).any(|index| seldom.avoided(index) > 0));
    }

    #[test]
    fn a_plan_that_avoids_every_program_has_one_nevertheless() {
        let target = [Target::built_in("reference").expect("it is built in")];
        let log: Combination = "Log".parse().expect("a construct");
        let choice = Choice { seed: 5, without: [log.clone()].into(), ..Choice::default() };
        let plan = Plan::new(choice, &target).expect("a plan");
        let (case, avoided) = plan.drawn(0);
        assert!(log.is_in(&Contents::of(&case)));
        assert_eq!(avoided, MOST_AVOIDED);
        // Then the one that has least of it.
        let loops: Combination = "DivergentLoop".parse().expect("a construct");
        let choice = Choice { seed: 5, without: [log.clone(), loops.clone()].into(), ..Choice::default() };
        let plan = Plan::new(choice, &target).expect("a plan");
        for index in 0..4 {
            let contents = Contents::of(&plan.drawn(index).0);
            assert!(log.is_in(&contents) && !loops.is_in(&contents), "{index}");
        }
        assert!(Reasons { deadly: 0, all: 5 } < Reasons { deadly: 1, all: 1 });
    }

    #[test]
    fn cases_with_one_program_follow_each_other() {
        let plan = plan(None);
        let inputs = plan.inputs();
        assert!(inputs > 1);
        for program in 0..20 {
            let (cases, _) = plan.cases(program);
            let one_by_one: Vec<_> = (program * inputs..(program + 1) * inputs).map(|index| plan.case(index)).collect();
            assert_eq!(cases, one_by_one);
            let cases: Vec<Case> = cases.into_iter().flatten().collect();
            for case in &cases[1..] {
                assert_eq!(
                    (&case.program, &case.entry_point, &case.variant),
                    (&cases[0].program, &cases[0].entry_point, &cases[0].variant)
                );
                assert_ne!(case.data, cases[0].data);
            }
        }
    }
}
