//! The planted faults of the tree's devices contradict what the interpreter determines of the modules.

use std::collections::BTreeSet;

use crate::common::{case_of, compiled, consecutive, contradicts, interpret, maps};
use crate::tree::planted;
use tangle_analysis::validate::validate;
use tangle_interpreter::{End, Outcome};
use tangle_oracle::faults::workgroup::{PlantedWorkgroup, WorkgroupFault};
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::map::LaneMap;
use tangle_oracle::reference::observe;
use tangle_oracle::rules::Spec;
use tangle_program::case::{Case, Stage, Tier};

/// Faults of the tree's devices that contradict nothing: they only show where the interpreter determines no word, in tangles that the tier leaves open
/// and in atomics that contend. What they break is a relation between words, which the tree oracle knows (`oracle/tests/relations.rs`).
const OPEN: [(Fault, &str); 14] = [
    (Fault::TicketTwice, "which invocation comes first is open; that there is an order is a relation"),
    (Fault::ExchangeOfFirst, "which invocation comes first is open; that there is an order is a relation"),
    (Fault::BitsOfFirst, "which invocation comes first is open; that there is an order is a relation"),
    (Fault::OpenOperationsSplit, "who is together is open; that it is the same for all operations is a relation"),
    (Fault::OpenElectsTwo, "which lane is elected is open for each of them"),
    (Fault::OpenElectsNone, "which lane is elected is open for each of them"),
    (Fault::OpenBallotWithoutSelf, "a ballot is open as a whole word; that a lane finds itself in it is a relation"),
    (
        Fault::OpenBallotOtherBranch,
        "which lanes a ballot shows is open; that those of another branch show none of this one is a relation",
    ),
    (
        Fault::OpenBallotInconsistent,
        "which lanes a ballot shows is open; that all that it shows see the same one is a relation",
    ),
    (Fault::OpenBallotSplit, "which lanes a ballot shows is open; that those of one path are together is a relation"),
    (Fault::OpenReduceWithoutFirst, "what is combined is open; that it is what the ballot shows is a relation"),
    (Fault::OpenReduceAll, "what is combined is open; that it is what the ballot shows is a relation"),
    (Fault::OpenScanWithoutFirst, "what is combined is open; that it is what the ballot shows is a relation"),
    (
        Fault::OpenBroadcastFirstOutside,
        "whose value is taken is open; that it is the first of the ballot is a relation",
    ),
];

/// What the interpreter makes of a case, which the tree's device without a fault does not contradict. `None` if it does not decide what the case does.
fn executed(case: &Case, map: &LaneMap, ours: tangle_interpreter::LaneMap) -> Option<Outcome> {
    let module = compiled(case).expect("it compiles");
    let outcome = interpret(case, &module, ours, None).expect("it is executed")?;
    let right = observe(case, map, || Spec).expect("the case is well-formed");
    assert!(outcome.end != End::Completed || !contradicts(case, &outcome, &right), "without a fault");
    (outcome.end == End::Completed).then_some(outcome)
}

/// On the program that shows what each fault does.
#[test]
fn faults_of_programs_are_caught() {
    assert!(OPEN.iter().all(|(_, why)| !why.is_empty()));
    let programs = planted::programs().rows;
    let mut caught = BTreeSet::new();
    for (fault, case, ..) in &programs {
        validate(case).unwrap_or_else(|invalid| panic!("{fault:?}: {invalid:?}"));
        let (map, ours) = maps(case, 8, consecutive);
        let outcome = executed(case, &map, ours).unwrap_or_else(|| panic!("{fault:?}: not decided"));
        let seen = observe(case, &map, || Planted::new(*fault)).expect("the case is well-formed");
        if contradicts(case, &outcome, &seen) {
            caught.insert(*fault);
        }
    }
    let missed: BTreeSet<Fault> = Fault::ALL.iter().copied().filter(|fault| !caught.contains(fault)).collect();
    assert_eq!(missed, OPEN.iter().map(|(fault, _)| *fault).collect(), "those that are not caught");
    println!("{} of {} faults caught in {} programs", caught.len(), Fault::ALL.len(), programs.len());
}

/// Within so many seeds, of each tier, every fault of the lane map has to be caught.
const SEEDS: u64 = 100;

#[test]
fn faults_of_the_lane_map_are_caught() {
    let of_compute = |fault: &WorkgroupFault| fault.shows_in(Stage::Compute);
    let mut left: Vec<WorkgroupFault> = WorkgroupFault::ALL.iter().copied().filter(of_compute).collect();
    for (seed, tier) in (0..SEEDS).flat_map(|seed| Tier::ALL.map(|tier| (seed, tier))) {
        if left.is_empty() {
            break;
        }
        let (case, size, placement) = case_of(seed, tier);
        let (map, ours) = maps(&case, size, placement);
        let Some(outcome) = executed(&case, &map, ours) else { continue };
        left.retain(|&fault| {
            let seen = observe(&case, &map, || PlantedWorkgroup(fault)).expect("the case is well-formed");
            !contradicts(&case, &outcome, &seen)
        });
    }
    assert!(left.is_empty(), "not caught: {left:?}");
}
