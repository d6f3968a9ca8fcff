//! Stages before rasterisation (docs/rules.md, section I): small programs with expectations by hand, generated cases on right devices, and planted faults.

use crate::common::*;
use tangle_analysis::validate::validate;
use tangle_generator::{Config, Profile, from_seed};
use tangle_oracle::faults::items::{ItemFault, PlantedItem};
use tangle_oracle::judge::{Counts, Judgement, Verdict, judge};
use tangle_oracle::map::{LaneMap, MapRule, SubgroupPromise};
use tangle_oracle::observed::Severity;
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{Drawn, MinimalReconvergence, Rules, Spec};
use tangle_program::case::{Case, Items, Launch, SpirvVersion, Stage, SubgroupSize, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Builtin, Stmt};

const A: u32 = 1;
const B: u32 = 2;
const PROMISE: SubgroupPromise = SubgroupPromise::vulkan(8, 4, 128);
const STAGES: [Stage; 4] = [Stage::Vertex, Stage::TessellationControl, Stage::TessellationEvaluation, Stage::Geometry];

/// A vertex shader of `count` instances of `size` vertices.
fn vertices(tier: Tier, size: u32, count: u32, body: impl Into<Vec<Stmt>>) -> Case {
    let mut case = Case { tier, ..main_of(body) };
    case.entry_point.stage = Stage::Vertex;
    case.entry_point.launch = Launch::Items(Items { size, count });
    validate(&case).expect("it is valid");
    case
}

/// Nothing says at tier plain that lanes come together again, since nothing says which of them are an invocation group (rule I4).
#[test]
fn what_a_tier_promises() {
    let body = || [when(bin(lane(), BinaryOp::Lt, uint(2)), [see(A)]), see(B)];
    let seen = |tier| {
        let case = vertices(tier, 4, 1, body());
        expected(&case, &LaneMap::linear(&case, 4)).expect("it is defined")
    };
    assert_eq!(seen(Tier::Maximal), "A=03 B=0F");
    assert_eq!(seen(Tier::SubgroupUniform), "A=03 B=0F");
    assert_eq!(seen(Tier::Plain), "A=03 B=0F?");
    // All go the same way, as the lanes of one invocation group or of several.
    let together = vertices(Tier::Plain, 4, 1, [when(bin(lane(), BinaryOp::Lt, uint(4)), [see(A)]), see(B)]);
    assert_eq!(expected(&together, &LaneMap::linear(&together, 4)).expect("it is defined"), "A=0F B=0F");
}

/// Whatever the invocation groups are, lanes on one path since the beginning are together by a sentence (rule R2 from rule R1).
#[test]
fn lanes_that_never_part_are_together() {
    for (body, severity) in [
        (vec![see(A), see(B)], Severity::Hard),
        (vec![when(bin(lane(), BinaryOp::Lt, uint(4)), [see(A)]), see(B)], Severity::Hard),
    ] {
        let case = vertices(Tier::Plain, 4, 1, body);
        let mut observation = observe(&case, &LaneMap::linear(&case, 4), || Spec).expect("it is well-formed");
        observation.logs[1][3] ^= 0x40;
        let verdict = judge(&case, &observation, SubgroupPromise { default: 4, ..PROMISE }).verdict;
        let Verdict::Mismatch(mismatch) = verdict else { panic!("{verdict:?}") };
        assert_eq!((mismatch.site, mismatch.severity), (B, severity));
    }
}

/// Two vertices of three instances in subgroups of 4, the third vertex of all executed again: each execution is an invocation of its own.
#[test]
fn a_vertex_may_be_executed_again() {
    let place = [Builtin::LocalX, Builtin::LocalY, Builtin::LocalZ].map(tangle_program::tree::Expr::Builtin);
    let case = vertices(Tier::Maximal, 2, 3, [log(A, place), see(B)]);
    let map = LaneMap::of_executions(&[0, 1, 2, 3, 4, 5, 8, 14], 4);
    let values = "A=0F+0F:[0/0/0 1/0/0 0/1/0 1/1/0 0/2/0 1/2/0 0/1/1 0/1/2] B=0F+0F:[15 15 15 15 15 15 15 15]";
    assert_eq!(expected(&case, &map).expect("it is defined"), values);
    let observation = observe(&case, &map, || Spec).expect("it is well-formed");
    let promise = SubgroupPromise { default: 4, ..PROMISE };
    assert_eq!(judge(&case, &observation, promise).verdict, Verdict::Pass);
    // A log of an execution that was not counted is a store that nobody made.
    let mut other = observation.clone();
    other.map[6 * Items::EXECUTIONS as usize * 8 + 2] -= 1;
    assert_eq!(judge(&case, &other, promise).map_faults[0].rule, MapRule::Executions);
    // More executions than have a place: nothing is said.
    let mut many = observation;
    many.map[6 * Items::EXECUTIONS as usize * 8 + 2] = Items::EXECUTIONS + 1;
    let judged = judge(&case, &many, promise);
    assert_eq!((judged.verdict, judged.map_faults), (Verdict::Vacuous, Vec::new()));
}

/// What may be two parts of one subgroup at the beginning may be one later: at tier plain nothing is said.
#[test]
fn parts_of_a_subgroup() {
    for (tier, verdict) in [(Tier::Plain, Verdict::Vacuous), (Tier::Maximal, Verdict::Pass)] {
        let case = vertices(tier, 4, 1, [see(A)]);
        let mut observation = observe(&case, &LaneMap::linear(&case, 2), || Spec).expect("it is well-formed");
        for record in observation.map[..4 * 8].chunks_mut(8) {
            record[1] = 4;
            if record[2] == 2 {
                record[0] += 2;
                record[3] <<= 2;
            }
        }
        for log in &mut observation.logs[2..4] {
            log[1] = 0xC;
        }
        assert_eq!(judge(&case, &observation, SubgroupPromise { default: 4, ..PROMISE }).verdict, verdict, "{tier:?}");
    }
}

fn run<R: Rules>(case: &Case, size: u32, seed: u64, rules: impl Fn() -> R) -> Judgement {
    let size = if let SubgroupSize::Required(size) = case.entry_point.subgroup_size { size } else { size };
    let map = match seed % 3 {
        0 => {
            // Some are executed twice, and not in order.
            let identities = case.entry_point.items().expect("a draw").identities();
            let again = (0..identities).filter(|index| index % 5 == 1).map(|index| identities + index);
            LaneMap::of_executions(&(0..identities).rev().chain(again).collect::<Vec<_>>(), size)
        }
        _ => LaneMap::linear(case, size),
    };
    let observation = observe(case, &map, rules).expect("a generated case is well-formed");
    judge(case, &observation, SubgroupPromise { default: size, ..PROMISE })
}

fn config(stage: Stage, tier: Tier) -> Config {
    Config { stage, tier, max_subgroup_size: 32, required_sizes: vec![4, 8, 16, 32], ..Config::default() }
}

/// `TANGLE_ITEM_SEEDS=N` has it look at more.
#[test]
fn right_devices_pass_generated_cases() {
    let seeds = std::env::var("TANGLE_ITEM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    for (stage, tier) in STAGES.into_iter().flat_map(|stage| Tier::ALL.map(|tier| (stage, tier))) {
        let mut counts = Counts::default();
        for seed in 0..seeds {
            let profile = Profile::ALL[seed as usize % Profile::ALL.len()].0;
            let size = [4, 8, 32, 64][seed as usize / Profile::ALL.len() % 4];
            let case = from_seed(seed, &Config { profile, ..config(stage, tier) });
            validate(&case).unwrap_or_else(|invalid| panic!("seed {seed}: {invalid}"));
            for (device, judgement) in [
                ("together", run(&case, size, seed, || Spec)),
                ("minimal", run(&case, size, seed, || MinimalReconvergence)),
                ("drawn", run(&case, size, seed, || Drawn::new(seed))),
            ] {
                let right = matches!(judgement.verdict, Verdict::Pass | Verdict::Vacuous);
                assert!(right, "{stage:?}, {tier:?}, seed {seed}, size {size}, {device}: {judgement:?}");
                counts.add(judgement.counts);
            }
        }
        eprintln!("{} shaders, tier {}: {counts:?}", stage.name(), tier.name());
        assert!(tier == Tier::Plain || counts.checked > counts.tainted, "{counts:?}");
    }
}

#[test]
fn planted_faults_are_caught() {
    let text = |fault: ItemFault| (fault.name(), fault.about());
    all_are_caught(200, ItemFault::ALL.iter().copied(), text, |fault, seed| {
        let stage = STAGES[seed as usize % STAGES.len()];
        let tier = if seed % 4 == 3 { Tier::Plain } else { Tier::Maximal };
        let case = from_seed(seed, &config(stage, tier));
        run(&case, [4, 8, 32][seed as usize % 3], seed, || PlantedItem(fault)).verdict
    });
}

/// Lanes in every word of the ballot: what is written is what rule I2 says, and is read back.
#[test]
fn the_ballot_of_a_record_has_four_words() {
    const MARK: u32 = tangle_program::case::interface::MAP_WRITTEN;
    let case = vertices(Tier::Maximal, 4, 25, [see(A)]);
    let map = LaneMap::linear(&case, 128);
    let words = map.words(&case);
    assert_eq!(words[..8], [0, 128, 0, !0, !0, !0, 0xF, MARK]);
    assert_eq!(words[99 * 8..100 * 8], [99, 128, 0, !0, !0, !0, 0xF, MARK]);
    assert_eq!(LaneMap::check(&case, &words, SubgroupPromise { default: 128, ..PROMISE }), (Some(map), Vec::new()));
}

/// The rules of the map, each broken once.
#[test]
fn rules_of_the_map() {
    const LANE: usize = 0;
    const SIZE: usize = 1;
    const TOKEN: usize = 2;
    const BALLOT: usize = 3;
    const MARK: usize = 7;
    // Two subgroups of 4.
    let case = vertices(Tier::Maximal, 4, 2, [see(A)]);
    let right = LaneMap::linear(&case, 4).words(&case);
    let promise = SubgroupPromise::vulkan(4, 4, 8);
    let check =
        |words: &[u32]| LaneMap::check(&case, words, promise).1.iter().map(|fault| fault.rule).collect::<Vec<_>>();
    assert_eq!(check(&right), []);
    let rows: [(&str, MapRule, &[(usize, usize, u32)]); 11] = [
        ("no record", MapRule::Executions, &[(2, MARK, 0)]),
        ("a lane past the size", MapRule::LaneIds, &[(3, LANE, 4)]),
        ("a lane far past the size", MapRule::LaneIds, &[(3, LANE, 127)]),
        ("a lane twice", MapRule::LaneIds, &[(3, LANE, 2)]),
        ("the first lane twice", MapRule::LaneIds, &[(1, LANE, 0)]),
        (
            "another size in the second subgroup",
            MapRule::Size,
            &[(4, SIZE, 8), (5, SIZE, 8), (6, SIZE, 8), (7, SIZE, 8)],
        ),
        ("another size in one lane", MapRule::Size, &[(1, SIZE, 8)]),
        ("a ballot without a lane of the subgroup", MapRule::EntryBallot, &[(5, BALLOT, 7)]),
        ("a ballot with other lanes instead", MapRule::EntryBallot, &[(5, BALLOT, 0xF0)]),
        ("a ballot with one lane more", MapRule::NoHelpers, &[(5, BALLOT, 0x1F)]),
        ("a token of none of them", MapRule::Token, &[(4, TOKEN, 5), (5, TOKEN, 5), (6, TOKEN, 5), (7, TOKEN, 5)]),
    ];
    for (what, rule, changes) in rows {
        let mut words = right.clone();
        changes.iter().for_each(|&(record, at, value)| words[8 * record + at] = value);
        assert_eq!(check(&words), [rule], "{what}");
    }
    // Where sizes may vary those of two subgroups may differ, and nothing is said; those of the lanes of one may not.
    let varying = [
        (SubgroupSize::Varying, SpirvVersion::V1_3, 4, vec![]),
        (SubgroupSize::Default, SpirvVersion::V1_6, 4, vec![]),
        (SubgroupSize::Varying, SpirvVersion::V1_3, 5, vec![MapRule::Size]),
        (SubgroupSize::Required(4), SpirvVersion::V1_6, 4, vec![MapRule::Size]),
    ];
    for (asked, spirv, from, faults) in varying {
        let mut case = case.clone();
        (case.entry_point.subgroup_size, case.entry_point.spirv) = (asked, spirv);
        let mut words = right.clone();
        words.chunks_exact_mut(8).take(8).skip(from).for_each(|record| record[SIZE] = 8);
        let (map, found) = LaneMap::check(&case, &words, promise);
        assert_eq!((map, found.iter().map(|fault| fault.rule).collect::<Vec<_>>()), (None, faults), "{asked:?}");
    }
    // A size that is not promised, everywhere.
    let small = LaneMap::linear(&case, 2).words(&case);
    assert_eq!(check(&small), [MapRule::Size]);
}

/// Each vertex as often as there is place for.
#[test]
fn every_place_may_be_taken() {
    let case = vertices(Tier::Maximal, 2, 2, [see(A)]);
    let map = LaneMap::of_executions(&(0..4 * Items::EXECUTIONS).collect::<Vec<_>>(), 4);
    let words = map.words(&case);
    assert_eq!(LaneMap::check(&case, &words, SubgroupPromise { default: 4, ..PROMISE }), (Some(map), Vec::new()));
}

/// Subgroups of which each has a lane that the other has, too, are two: at tier plain, too, there is something to say. Subgroups that have no
/// lane in common may be one.
#[test]
fn lanes_that_meet_are_of_two_subgroups() {
    let promise = SubgroupPromise { default: 4, ..PROMISE };
    for (tier, are_apart) in [(Tier::Plain, false), (Tier::Plain, true), (Tier::Maximal, false), (Tier::Maximal, true)]
    {
        let case = vertices(tier, 4, 1, [see(A)]);
        let mut words = LaneMap::linear(&case, 2).words(&case);
        for (index, record) in words[..4 * 8].chunks_mut(8).enumerate() {
            record[1] = 4;
            if index >= 2 {
                let by = if are_apart { 2 } else { 1 };
                record[0] += by;
                record[3] <<= by;
            }
        }
        let (map, faults) = LaneMap::check(&case, &words, promise);
        assert_eq!(faults, []);
        assert_eq!(map.is_none(), tier == Tier::Plain && are_apart, "{tier:?} {are_apart}");
        if let Some(map) = map {
            assert_eq!(map.words(&case), words);
        }
    }
}
