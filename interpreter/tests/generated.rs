//! Both oracles agree on generated cases: the tree's, and the interpreter's on the modules that compilers make of them.

mod common;

use std::io::Write as _;

use common::{Counts, NOT_DEFINED, case_of, compare, compiled, contradicts, expect, interpret, maps, module_of};
use tangle_interpreter::End;
use tangle_interpreter::faults::Planted;
use tangle_oracle::faults::workgroup::{PlantedWorkgroup, WorkgroupFault};
use tangle_oracle::faults::{Fault, Planted as Faulty};
use tangle_oracle::judge::Observation;
use tangle_oracle::map::LaneMap;
use tangle_oracle::reference::observe;
use tangle_oracle::rules::Spec;
use tangle_program::case::{Case, Tier};

/// Seeds: `TANGLE_SEEDS=FIRST..END` has the test look at others, for as long as one likes.
fn seeds(default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("TANGLE_SEEDS") else { return default };
    let ends = text.split_once("..").and_then(|(first, end)| Some((first.parse().ok()?, end.parse().ok()?)));
    ends.map(|(first, end)| first..end).expect("TANGLE_SEEDS is FIRST..END")
}

#[test]
fn both_oracles_agree() {
    let mut wrong = Vec::new();
    let (mut skipped, mut undefined) = (0, 0);
    let mut too_open = Vec::new();
    for tier in Tier::ALL {
        let mut counts = Counts::default();
        for seed in seeds(0..60) {
            let (mut case, size, placement) = case_of(seed, tier);
            // Written before a compiler sees it, which may die of it; gone once both agree.
            let kept = std::env::var_os("TANGLE_KEEP").map(|folder| {
                let file = std::path::Path::new(&folder).join(format!("{}-{seed}.json", tier.name()));
                std::fs::write(&file, case.to_json()).expect("the folder is there");
                file
            });
            let module = match module_of(&mut case, seed) {
                Ok(Some(module)) => module,
                Ok(None) => {
                    skipped += 1;
                    continue;
                }
                Err(error) => {
                    wrong.push(format!("{} seed {seed}: {error}", tier.name()));
                    continue;
                }
            };
            if std::env::var("TANGLE_SHOW").is_ok_and(|show| show == format!("{}:{seed}", tier.name())) {
                println!("{}", tangle_emit::glsl::glsl(&case));
                println!("{}", tangle_runner::toolchain::disassemble(&module).unwrap_or_default());
            }
            if let Some(folder) = std::env::var_os("TANGLE_DUMP") {
                common::dump(
                    &case,
                    &module,
                    size,
                    placement,
                    &std::path::Path::new(&folder).join(format!("{}-{seed}", tier.name())),
                );
            }
            let compared = expect(&case, size, placement).and_then(|expected| compare(&case, &module, &expected, None));
            match compared {
                Ok(found) => {
                    counts.add(found);
                    kept.into_iter().for_each(|file| std::fs::remove_file(file).expect("the file is there"));
                }
                Err(error) if error.starts_with(NOT_DEFINED) => undefined += 1,
                Err(difference) => {
                    let variant = &case.variant;
                    wrong.push(format!("{} seed {seed}, size {size}, {variant}: {difference}", tier.name()));
                }
            }
        }
        println!("tier {}: {counts:?}, {skipped} not optimised, {undefined} not defined", tier.name());
        if counts.compared <= 20 * counts.only_tree || counts.cases < 50 * counts.undecided {
            too_open.push(counts);
        }
    }
    for line in wrong.iter().take(60) {
        println!("{line}");
    }
    assert!(wrong.is_empty(), "{} differences", wrong.len());
    assert!(too_open.is_empty(), "the interpreter leaves too much open: {too_open:?}");
}

/// Within so many seeds, of each tier, every fault has to be caught.
const SEEDS: u64 = 1000;

/// Each planted fault of the interpreter is caught by the comparison.
#[test]
fn planted_faults_are_caught() {
    let mut left: Vec<Planted> =
        Planted::ALL.iter().copied().filter(|fault| !Planted::BY_HAND.contains(fault)).collect();
    assert!(left.len() >= 40, "only {} faults", left.len());
    'search: for seed in seeds(0..SEEDS) {
        for tier in Tier::ALL {
            if left.is_empty() {
                break 'search;
            }
            let (mut case, size, placement) = case_of(seed, tier);
            let Ok(Some(module)) = module_of(&mut case, seed) else { continue };
            let Ok(expected) = expect(&case, size, placement) else { continue };
            left.retain(|&fault| {
                let missed = compare(&case, &module, &expected, Some(fault)).is_ok();
                if !missed {
                    // Past the capture of the test harness: the list is part of what the suite has to say.
                    let (name, tier) = (format!("{fault:?}"), tier.name());
                    writeln!(std::io::stderr(), "{name:28} caught by seed {seed:3} {tier:16}  {}", fault.about())
                        .expect("stderr is open");
                }
                missed
            });
        }
    }
    assert!(left.is_empty(), "not caught: {left:?}");
}

/// Within so many seeds, of each tier, every fault of the tree's devices has to be caught.
const TREE_SEEDS: u64 = 2000;

/// Seeds that show what others show seldom: they are tried before those from [`COMMON`] on.
const RARE: [u64; 17] = [31, 33, 34, 35, 42, 50, 62, 78, 79, 82, 112, 135, 324, 338, 386, 532, 648];
const COMMON: u64 = 30;

/// Faults of the tree's devices that contradict nothing: they only show in tangles that the tier leaves open, where the interpreter determines no word. What they break is a
/// relation between words, which the tree oracle knows (`oracle/tests/relations.rs`).
const OPEN: [(Fault, &str); 10] = [
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

/// A fault of the tree's devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TreeFault {
    Program(Fault),
    LaneMap(WorkgroupFault),
}

impl TreeFault {
    /// What a device with it leaves of a case; `None` if it does not come to an end.
    fn observe(self, case: &Case, map: &LaneMap) -> Option<Observation> {
        match self {
            TreeFault::Program(fault) => observe(case, map, || Faulty::new(fault)).ok(),
            TreeFault::LaneMap(fault) => observe(case, map, || PlantedWorkgroup(fault)).ok(),
        }
    }

    fn about(self) -> &'static str {
        match self {
            TreeFault::Program(fault) => fault.about(),
            TreeFault::LaneMap(fault) => fault.about(),
        }
    }
}

/// Each planted fault of the tree's devices contradicts what the interpreter determines of the module.
#[test]
fn faults_of_the_tree_are_caught() {
    let program = Fault::ALL.iter().map(|&fault| TreeFault::Program(fault));
    let lane_map = WorkgroupFault::ALL.iter().map(|&fault| TreeFault::LaneMap(fault));
    let mut left: Vec<TreeFault> = program.chain(lane_map).collect();
    let all = left.len();
    let mut cases = 0;
    let is_open = |fault: &TreeFault| OPEN.iter().any(|(open, _)| *fault == TreeFault::Program(*open));
    assert!(OPEN.iter().all(|(fault, why)| fault.is_of_open_tangles() && !why.is_empty()));
    let range = seeds(0..TREE_SEEDS);
    let (first, rest) = (range.start..range.end.min(COMMON), range.start.max(COMMON)..range.end);
    'search: for seed in first.chain(RARE).chain(rest) {
        for tier in Tier::ALL {
            if left.iter().all(is_open) {
                break 'search;
            }
            let (case, size, placement) = case_of(seed, tier);
            let Ok(module) = compiled(&case) else { continue };
            let (map, ours) = maps(&case, size, placement);
            let Ok(Some(outcome)) = interpret(&case, &module, ours, None) else { continue };
            let Ok(right) = observe(&case, &map, || Spec) else { continue };
            // Without a fault nothing is contradicted, so that what is found is found of the fault.
            if outcome.end != End::Completed || contradicts(&case, &outcome, &right) {
                continue;
            }
            cases += 1;
            left.retain(|&fault| {
                let caught = fault.observe(&case, &map).is_some_and(|seen| contradicts(&case, &outcome, &seen));
                if caught {
                    let (name, tier) = (format!("{fault:?}"), tier.name());
                    writeln!(std::io::stderr(), "{name:42} caught by seed {seed:3} {tier:16}  {}", fault.about())
                        .expect("stderr is open");
                }
                !caught
            });
        }
    }
    println!("{} of {all} faults caught in {cases} cases", all - left.len());
    let missed: Vec<&TreeFault> = left.iter().filter(|fault| !is_open(fault)).collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
    assert_eq!(left.len(), OPEN.len(), "some of these can be caught: only {left:?} are left");
}
