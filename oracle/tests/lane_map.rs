//! The rules of the lane map, each broken once: the fault is reported, and values are judged only where the map still says which
//! lanes there are.

use crate::common::*;
use tangle_oracle::judge::{Judgement, Observation, Verdict, judge};
use tangle_oracle::map::{LaneMap, MapRule, SubgroupPromise};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::Spec;
use tangle_program::api::Api;
use tangle_program::case::interface::MAP_WORDS;
use tangle_program::case::{Case, DerivativeGroup, GroupId, SpirvVersion, SubgroupSize};

/// Words of a record ([`tangle_program::case::interface::MAP_WORDS`]).
const LANE: usize = 0;
const SIZE: usize = 1;
const ID: usize = 2;
const COUNT: usize = 3;
const TOKEN: usize = 4;
const BALLOT: usize = 5;
const WRITTEN: usize = 9;

const PROMISE: SubgroupPromise = SubgroupPromise::vulkan(8, 4, 16);

/// Two subgroups of 8.
fn sixteen() -> Case {
    let mut case = main_of([see(1), when(below(4), [see(2)])]);
    case.entry_point.workgroups_mut().size = [16, 1, 1];
    case
}

/// What a correct device with subgroups of `size` gives back.
fn right(case: &Case, size: u32) -> Observation {
    observe(case, &LaneMap::linear(case, size), || Spec).expect("the case is well-defined")
}

fn judged(case: &Case, observation: &Observation) -> (Judgement, Vec<MapRule>) {
    let judgement = judge(case, observation, PROMISE);
    let rules = judgement.map_faults.iter().map(|fault| fault.rule).collect();
    (judgement, rules)
}

/// Breaks a map that is right in everything else.
#[track_caller]
fn broken(case: &Case, change: impl Fn(usize, &mut [u32])) -> (Judgement, Vec<MapRule>) {
    let mut observation = right(case, 8);
    let (judgement, rules) = judged(case, &observation);
    assert_eq!((judgement.verdict, rules), (Verdict::Pass, vec![]), "the map is right before it is broken");
    for (invocation, record) in observation.map.chunks_exact_mut(MAP_WORDS).enumerate() {
        change(invocation, record);
    }
    judged(case, &observation)
}

/// A rule without which nobody knows which lanes there are: no word on values.
#[track_caller]
fn is_fatal(rule: MapRule, (judgement, rules): (Judgement, Vec<MapRule>)) {
    assert_eq!((rules, &judgement.verdict), (vec![rule], &Verdict::LaneMap));
    assert_eq!((judgement.counts.checked, judgement.counts.steps), (0, 0), "values were judged on a broken map");
    println!("{rule:?}: {}", judgement.map_faults[0].seen);
}

/// A rule about names and numbers only: values are judged all the same.
#[track_caller]
fn is_survived(expected: &[MapRule], (judgement, rules): (Judgement, Vec<MapRule>)) {
    assert_eq!((rules.as_slice(), &judgement.verdict), (expected, &Verdict::LaneMap));
    assert!(judgement.counts.checked > 0 && judgement.counts.steps > 0, "{:?}", judgement.counts);
    println!("{expected:?}: {}; {} values checked", judgement.map_faults[0].seen, judgement.counts.checked);
}

#[test]
fn every_invocation_writes_a_record() {
    is_fatal(
        MapRule::Written,
        broken(&sixteen(), |i, record| {
            if i == 11 {
                record[WRITTEN] = 0
            }
        }),
    );
    let mut observation = right(&sixteen(), 8);
    observation.map.pop();
    is_fatal(MapRule::Written, judged(&sixteen(), &observation));
}

#[test]
fn the_token_is_of_the_own_subgroup() {
    // Invocations 8 to 15 all got a token of the first subgroup: they would be sixteen in one.
    is_fatal(MapRule::LaneIds, broken(&sixteen(), |_, record| record[TOKEN] = 0));
    // The token of somebody who is elsewhere.
    is_fatal(
        MapRule::Token,
        broken(&sixteen(), |i, record| {
            if i >= 8 {
                record[TOKEN] = 99
            }
        }),
    );
}

#[test]
fn lane_ids_are_below_the_size_and_differ() {
    is_fatal(
        MapRule::LaneIds,
        broken(&sixteen(), |i, record| {
            if i == 3 {
                record[LANE] = 8
            }
        }),
    );
    is_fatal(
        MapRule::LaneIds,
        broken(&sixteen(), |i, record| {
            if i == 3 {
                record[LANE] = 4
            }
        }),
    );
}

#[test]
fn the_size_is_what_the_pipeline_asks_for() {
    // SPIR-V below 1.6 and nothing asked for: exactly the default size.
    is_fatal(MapRule::Size, broken(&sixteen(), |_, record| record[SIZE] = 16));
    // One size for the whole dispatch, a power of two.
    is_fatal(
        MapRule::Size,
        broken(&sixteen(), |i, record| {
            if i >= 8 {
                record[SIZE] = 16
            }
        }),
    );
    is_fatal(MapRule::Size, broken(&sixteen(), |_, record| record[SIZE] = 12));
    // A required size is granted, whatever the default is.
    let mut required = sixteen();
    required.entry_point.subgroup_size = SubgroupSize::Required(4);
    assert_eq!(judged(&required, &right(&required, 4)).0.verdict, Verdict::Pass);
    is_fatal(MapRule::Size, judged(&required, &right(&required, 8)));
    // SPIR-V 1.6 lets the size vary within the device's range, and no further.
    let mut varying = sixteen();
    varying.entry_point.spirv = SpirvVersion::V1_6;
    for (size, fine) in [(2, false), (4, true), (8, true), (16, true)] {
        let (judgement, rules) = judged(&varying, &right(&varying, size));
        let expected = if fine { (Verdict::Pass, vec![]) } else { (Verdict::LaneMap, vec![MapRule::Size]) };
        assert_eq!((judgement.verdict, rules), expected, "size {size}");
    }
}

#[test]
fn the_entry_ballot_is_the_set_of_the_lanes() {
    // One lane short in one record, one lane too many in all, and a bit beyond the subgroup.
    is_fatal(
        MapRule::EntryBallot,
        broken(&sixteen(), |i, record| {
            if i == 5 {
                record[BALLOT] &= !1
            }
        }),
    );
    is_fatal(MapRule::EntryBallot, broken(&sixteen(), |_, record| record[BALLOT] |= 0x100));
    is_fatal(MapRule::EntryBallot, broken(&sixteen(), |_, record| record[BALLOT + 3] = 1));
}

/// Rules M3, M4 and M11, for a device of WebGPU.
#[test]
fn on_webgpu_lanes_are_dense_and_any_size_of_the_range_is_right() {
    let promise = SubgroupPromise { api: Api::WebGpu, ..SubgroupPromise::vulkan(8, 4, 16) };
    let mut case = sixteen();
    // No sentence of WGSL says that subgroups are full.
    case.entry_point.spirv = SpirvVersion::V1_6;
    let faults = |map: LaneMap| -> Vec<MapRule> {
        let (_, faults) = LaneMap::check(&case, &map.words(&case), promise);
        faults.into_iter().map(|fault| fault.rule).collect()
    };
    for size in [4, 8, 16] {
        assert_eq!(faults(LaneMap::linear(&case, size)), [], "{size}");
    }
    for size in [2, 32] {
        assert_eq!(faults(LaneMap::linear(&case, size)), [MapRule::Size], "{size}");
    }
    // Sixteen invocations in three subgroups of eight; the same with lanes 1 to 6; with lane 3 left out.
    assert_eq!(faults(LaneMap::from_fn(&case, 8, |i| (i / 6, i % 6), 3)), []);
    assert_eq!(faults(LaneMap::from_fn(&case, 8, |i| (i / 6, i % 6 + 1), 3)), [MapRule::DenseLanes]);
    let gap = |i: u32| (i / 6, i % 6 + u32::from(i % 6 > 2));
    assert_eq!(faults(LaneMap::from_fn(&case, 8, gap, 3)), [MapRule::DenseLanes]);
    // Vulkan promises nothing of the kind (rule M5).
    case.entry_point.spirv = SpirvVersion::V1_3;
    let (_, none) = LaneMap::check(&case, &LaneMap::from_fn(&case, 8, gap, 3).words(&case), PROMISE);
    assert_eq!(none, []);
}

#[test]
fn full_subgroups_where_they_are_promised() {
    // Sixteen invocations in three subgroups: legal without a promise.
    let scattered = |case: &Case| LaneMap::from_fn(case, 8, |i| (i / 6, i % 6), 3);
    let observed = |case: &Case| observe(case, &scattered(case), || Spec).expect("the case is well-defined");
    let mut case = sixteen();
    assert_eq!(judged(&case, &observed(&case)).0.verdict, Verdict::Pass);
    case.entry_point.full_subgroups = true;
    is_survived(&[MapRule::FullSubgroups], judged(&case, &observed(&case)));
    case.entry_point.full_subgroups = false;
    case.entry_point.spirv = SpirvVersion::V1_6;
    is_survived(&[MapRule::FullSubgroups], judged(&case, &observed(&case)));
    // The x dimension decides, not the product (rule M4).
    case.entry_point.workgroups_mut().size = [4, 4, 1];
    assert_eq!(judged(&case, &observed(&case)).0.verdict, Verdict::Pass);
}

#[test]
fn quads_are_those_of_the_derivative_group() {
    let with = |group, size| {
        let mut case = sixteen();
        let workgroups = case.entry_point.workgroups_mut();
        (workgroups.derivative_group, workgroups.size) = (Some(group), size);
        case
    };
    let of_ids = with(DerivativeGroup::Quads, [4, 4, 1]);
    // Invocations 1 and 4 are beside and below invocation 0.
    let exchange = |one: u32, other: u32| {
        move |_: usize, record: &mut [u32]| {
            let lane = record[LANE];
            record[LANE] = if lane == one {
                other
            } else if lane == other {
                one
            } else {
                lane
            };
        }
    };
    is_fatal(MapRule::Quads, broken(&of_ids, exchange(1, 2)));
    // Each is where it belongs in a quad, but not in its own.
    is_fatal(MapRule::Quads, broken(&of_ids, exchange(3, 7)));
    // Lanes that follow each other are no quads of ids, and the other way round.
    let of_indices = with(DerivativeGroup::Linear, [4, 4, 1]);
    for (case, other) in [(&of_ids, &of_indices), (&of_indices, &of_ids)] {
        is_fatal(MapRule::Quads, judged(case, &right(other, 8)));
    }
    // Two layers: quads do not cross them.
    let layers = with(DerivativeGroup::Quads, [2, 2, 4]);
    assert_eq!(judged(&layers, &right(&layers, 8)).0.verdict, Verdict::Pass);
    // What the module does not say is free.
    let mut free = of_ids.clone();
    free.entry_point.workgroups_mut().derivative_group = None;
    assert_eq!(judged(&free, &right(&of_ids, 8)).0.verdict, Verdict::Pass);
}

#[test]
fn subgroup_ids_are_below_their_number() {
    // As lavapipe 22.3.6 does: ids 0 and 1, and gl_NumSubgroups 1.
    let expected = [MapRule::NumSubgroups, MapRule::SubgroupIdRange];
    is_survived(&expected, broken(&sixteen(), |_, record| record[COUNT] = 1));
    is_survived(
        &[MapRule::SubgroupIdRange],
        broken(&sixteen(), |i, record| {
            if i >= 8 {
                record[ID] = 2
            }
        }),
    );
}

#[test]
fn the_number_of_subgroups_is_one_number() {
    is_survived(
        &[MapRule::NumSubgroups],
        broken(&sixteen(), |i, record| {
            if i >= 8 {
                record[COUNT] = 3
            }
        }),
    );
    // More than there are: a subgroup without lanes may be counted, unless all subgroups are full (docs/rules.md, rules M4 and M6).
    let more = |_, record: &mut [u32]| record[COUNT] = 3;
    assert_eq!(broken(&sixteen(), more).0.verdict, Verdict::Pass);
    let mut full = sixteen();
    full.entry_point.full_subgroups = true;
    is_survived(&[MapRule::NumSubgroups], broken(&full, more));
    let mut newer = sixteen();
    newer.entry_point.spirv = SpirvVersion::V1_6;
    is_survived(&[MapRule::NumSubgroups], broken(&newer, more));
    // The x dimension is no multiple of the size: nothing is promised.
    newer.entry_point.workgroups_mut().size = [4, 4, 1];
    assert_eq!(broken(&newer, more).0.verdict, Verdict::Pass);
}

#[test]
fn subgroup_ids_name_subgroups() {
    is_survived(&[MapRule::SubgroupIds], broken(&sixteen(), |_, record| record[ID] = 0));
    is_survived(
        &[MapRule::SubgroupIds],
        broken(&sixteen(), |i, record| {
            if i == 2 {
                record[ID] = 1
            }
        }),
    );
    // Which subgroup has which id is free.
    assert_eq!(broken(&sixteen(), |_, record| record[ID] ^= 1).0.verdict, Verdict::Pass);
}

#[test]
fn any_packing_without_a_promise_is_right() {
    let case = sixteen();
    for (what, map) in [
        ("one lane in each subgroup", LaneMap::from_fn(&case, 8, |i| (i, 5), 16)),
        ("odd and even", LaneMap::from_fn(&case, 8, |i| (i & 1, i / 2), 2)),
        ("backwards", LaneMap::from_fn(&case, 8, |i| (1 - i / 8, 7 - i % 8), 2)),
        ("without lane 0", LaneMap::from_fn(&case, 8, |i| (i / 7, 1 + i % 7), 3)),
    ] {
        let observation = observe(&case, &map, || Spec).expect("the case is well-defined");
        let (judgement, rules) = judged(&case, &observation);
        assert_eq!((&judgement.verdict, rules), (&Verdict::Pass, vec![]), "{what}");
        println!("{what}: {} values checked", judgement.counts.checked);
    }
}

/// Each workgroup has a map of its own, and faults name it.
#[test]
fn faults_name_their_group() {
    let mut case = sixteen();
    case.entry_point.workgroups_mut().count = [1, 3, 1];
    let (judgement, rules) = broken(&case, |i, record| {
        if i / 16 == 2 {
            record[ID] = 0
        }
    });
    assert_eq!((rules, judgement.map_faults[0].group), (vec![MapRule::SubgroupIds], GroupId(2)));
}

/// Lanes in every word of the ballot.
#[test]
fn the_ballot_of_a_record_has_four_words() {
    const MARK: u32 = tangle_program::case::interface::MAP_WRITTEN;
    let mut case = sixteen();
    case.entry_point.workgroups_mut().size = [100, 1, 1];
    let map = LaneMap::linear(&case, 128);
    let words = map.words(&case);
    assert_eq!(words[..MAP_WORDS], [0, 128, 0, 1, 0, !0, !0, !0, 0xF, MARK]);
    assert_eq!(words[99 * MAP_WORDS..], [99, 128, 0, 1, 0, !0, !0, !0, 0xF, MARK]);
    let promise = SubgroupPromise::vulkan(128, 4, 128);
    let (read, faults) = LaneMap::check(&case, &words, promise);
    assert_eq!(faults, []);
    assert_eq!(read.expect("the map is right").words(&case), words);
}

/// A language that cannot read `SubgroupId` and `NumSubgroups` has records that say so, and nothing is wrong; one that can has them right.
#[test]
fn a_language_without_subgroup_ids() {
    const NOT_OBSERVED: u32 = tangle_program::case::interface::NOT_OBSERVED;
    let hide = |_: usize, record: &mut [u32]| (record[ID], record[COUNT]) = (NOT_OBSERVED, NOT_OBSERVED);
    let mut case = sixteen();
    assert!(!broken(&case, hide).1.is_empty(), "GLSL has them");
    case.variant = "hlsl@dxc".parse().expect("a variant");
    let (judgement, rules) = broken(&case, hide);
    assert_eq!((judgement.verdict, rules), (Verdict::Pass, vec![]));
    // All records or none.
    let some = |invocation: usize, record: &mut [u32]| {
        if invocation < 8 {
            hide(invocation, record);
        }
    };
    assert!(!broken(&case, some).1.is_empty());
}

/// The last lane of the largest subgroup.
#[test]
fn a_subgroup_of_128() {
    let mut case = main_of([see(1)]);
    case.entry_point.workgroups_mut().size = [128, 1, 1];
    let map = LaneMap::linear(&case, 128);
    let promise = SubgroupPromise::vulkan(128, 4, 128);
    assert_eq!(LaneMap::check(&case, &map.words(&case), promise), (Some(map), Vec::new()));
}
