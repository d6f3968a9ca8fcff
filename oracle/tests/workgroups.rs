//! The stages with workgroups: right devices with quads of every kind, and planted faults of the lane map.

use crate::common::{all_are_caught, main_of};
use tangle_analysis::validate::validate;
use tangle_generator::{Config, from_seed};
use tangle_oracle::faults::workgroup::{PlantedWorkgroup, WorkgroupFault};
use tangle_oracle::judge::{Judgement, Verdict, judge};
use tangle_oracle::map::{LaneMap, MapRule, SubgroupPromise};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{MinimalReconvergence, Rules, Spec};
use tangle_program::case::{Case, DerivativeGroup, Launch, SpirvVersion, Stage, SubgroupSize, Tier};

const STAGES: [Stage; 3] = [Stage::Compute, Stage::Task, Stage::Mesh];

fn run<R: Rules>(case: &Case, rules: impl FnMut() -> R) -> Judgement {
    let size = if let SubgroupSize::Required(size) = case.entry_point.subgroup_size { size } else { 8 };
    let observation = observe(case, &LaneMap::linear(case, size), rules).expect("a generated case is well-formed");
    judge(case, &observation, SubgroupPromise::vulkan(8, 4, 128))
}

fn case(seed: u64, stage: Stage) -> Case {
    let tier = Tier::ALL[seed as usize % Tier::ALL.len()];
    let config = Config { stage, tier, max_subgroup_size: 32, required_sizes: vec![4, 8, 16, 32], ..Config::default() };
    from_seed(seed, &config)
}

#[test]
fn right_devices_pass_with_quads_of_every_kind() {
    let mut seen = [0; 2];
    for (seed, group) in (0..400).flat_map(|seed| DerivativeGroup::ALL.map(|group| (seed, group))) {
        let mut case = case(seed, Stage::Compute);
        let workgroups = case.entry_point.workgroups_mut();
        let default_divides = workgroups.default_size.is_none_or(|size| group.divides(size));
        if !group.divides(workgroups.size) || !default_divides {
            continue;
        }
        workgroups.derivative_group = Some(group);
        validate(&case).unwrap_or_else(|invalid| panic!("seed {seed}: {invalid}"));
        for judgement in [run(&case, || Spec), run(&case, || MinimalReconvergence)] {
            assert!(
                matches!(judgement.verdict, Verdict::Pass | Verdict::Vacuous),
                "seed {seed}, {group:?}: {judgement:?}"
            );
        }
        seen[group as usize] += 1;
    }
    assert!(seen.iter().all(|&cases| cases > 20), "{seen:?}");
}

/// Rule M10, by hand: what stands behind the records of two workgroups of four.
#[test]
fn what_is_found_in_a_payload() {
    let found = |stage: Stage, meshes: u32, by_task: bool| {
        let mut case = main_of([]);
        case.entry_point.stage = stage;
        case.entry_point.spirv = SpirvVersion::V1_4;
        case.entry_point.launch = Launch::workgroups([4, 1, 1], [2, 1, 1]);
        (case.entry_point.workgroups_mut().meshes, case.entry_point.workgroups_mut().by_task) = (meshes, by_task);
        validate(&case).map_err(|invalid| invalid.reason)?;
        let words = LaneMap::linear(&case, 4).words(&case);
        assert_eq!(words.len(), case.entry_point.map_len());
        Ok(words[8 * case.entry_point.map_words()..].iter().map(|word| !word).collect::<Vec<_>>())
    };
    assert_eq!(found(Stage::Task, 0, false), Ok(vec![]));
    assert_eq!(found(Stage::Task, 1, false), Ok((0..8).collect()));
    assert_eq!(found(Stage::Task, 2, false), Ok((0..8).flat_map(|word| [word, word]).collect()));
    assert_eq!(found(Stage::Mesh, 0, true), Ok((0..4).chain(64..68).collect()));
    for (stage, meshes, by_task, at, seen) in [
        (Stage::Task, 2, false, 3, "mesh workgroup 1 found 0x7 of invocation 1 in the payload, not 0xfffffffe"),
        (Stage::Mesh, 0, true, 1, "invocation 1 found 0x7 in the payload, not 0xfffffffe"),
        (Stage::Mesh, 0, true, 4, "invocation 0 found 0x7 in the payload, not 0xffffffbf"),
    ] {
        let mut case = main_of([]);
        case.entry_point.stage = stage;
        case.entry_point.spirv = SpirvVersion::V1_4;
        case.entry_point.launch = Launch::workgroups([4, 1, 1], [2, 1, 1]);
        (case.entry_point.workgroups_mut().meshes, case.entry_point.workgroups_mut().by_task) = (meshes, by_task);
        let mut words = LaneMap::linear(&case, 4).words(&case);
        let records = words.len() - 8 * case.entry_point.payload_copies();
        words[records + at] = 7;
        let (_, faults) = LaneMap::check(&case, &words, SubgroupPromise::vulkan(4, 4, 4));
        let found: Vec<(MapRule, &str)> = faults.iter().map(|fault| (fault.rule, fault.seen.as_str())).collect();
        assert_eq!(found, [(MapRule::Payload, seen)]);
    }
    for (stage, meshes, by_task, reason) in [
        (Stage::Compute, 1, false, "mesh workgroups are emitted by task shaders, not by compute shaders"),
        (Stage::Mesh, 1, false, "mesh workgroups are emitted by task shaders, not by mesh shaders"),
        (Stage::Task, 9, false, "9 mesh workgroups: must be 0 to 8"),
        (Stage::Task, 0, true, "a task shader emits mesh shaders, not task shaders"),
    ] {
        assert_eq!(found(stage, meshes, by_task), Err(reason.to_owned()));
    }
}

#[test]
fn planted_faults_are_caught() {
    let faults = WorkgroupFault::ALL.iter().flat_map(|&fault| STAGES.map(|stage| (fault, stage)));
    let faults = faults.filter(|&(fault, stage)| fault.shows_in(stage));
    let text =
        |(fault, stage): (WorkgroupFault, Stage)| (format!("{:8} {}", stage.name(), fault.name()), fault.about());
    all_are_caught(200, faults, text, |(fault, stage), seed| {
        run(&case(seed, stage), || PlantedWorkgroup(fault)).verdict
    });
}
