//! Programs on the devices of this machine that compile source themselves (OpenGL, WebGPU), and what becomes of them when the source that the device
//! gets is changed.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use crate::common::*;
use tangle_campaign::capabilities::dialect;
use tangle_campaign::plan::{Choice, Plan};
use tangle_campaign::prepare::{Prepared, prepare};
use tangle_campaign::target::{Finish, Target};
use tangle_emit::glsl::{Dialect, print_in};
use tangle_oracle::judge::Verdict;
use tangle_program::case::Tier;
use tangle_program::variant::Variant;
use tangle_runner::worker::REWRITE_VARIABLE;
use tangle_runner::{Api, DeviceOptions, DriverConfig, DriverMode, Inventory, ProbeOptions, Subgroups, drivers};

/// Programs on each device. What the planted faults are tried on are those that pass.
const PROGRAMS: u64 = 60;

/// Programs on which a planted fault is tried.
const TRIES: usize = 10;

/// Changes of the source, each of which must be seen.
const ALL: [(&str, &str); 15] = [
    ("subgroupAdd(", "subgroupMax("),
    ("subgroupMul(", "subgroupAdd("),
    ("subgroupMin(", "subgroupMax("),
    ("subgroupMax(", "subgroupMin("),
    ("subgroupOr(", "subgroupXor("),
    ("subgroupInclusiveAdd(", "subgroupExclusiveAdd("),
    ("subgroupExclusiveAdd(", "subgroupInclusiveAdd("),
    ("subgroupExclusiveMul(", "subgroupInclusiveMul("),
    ("subgroupAny(", "subgroupAll("),
    ("subgroupAll(", "subgroupAny("),
    ("subgroupElect()", "!subgroupElect()"),
    ("subgroupShuffleUp(", "subgroupShuffleDown("),
    ("continue;", "break;"),
    ("uniform_words[0].x", "uniform_words[0].y"),
    ("invocation = workgroup_index", "invocation = 0u * workgroup_index"),
];

/// More of GLSL's. Those of the last part concern what only OpenGL's sources have.
const GLSL: [(&str, &str); 17] = [
    ("subgroupClusteredAdd(", "subgroupClusteredMax("),
    ("subgroupQuadSwapHorizontal(", "subgroupQuadSwapVertical("),
    ("gl_SubgroupLtMask", "gl_SubgroupLeMask"),
    ("gl_SubgroupGeMask", "gl_SubgroupGtMask"),
    ("push_words[0].x", "push_words[0].y"),
    ("const uint SPEC0 = ", "const uint SPEC0 = 1u + "),
    ("ballotARB(", "ballotARB(!"),
    ("readFirstInvocationARB(", "1u + readFirstInvocationARB("),
    ("uint lane = gl_SubGroupInvocationARB", "uint lane = gl_SubGroupSizeARB - 1u - gl_SubGroupInvocationARB"),
    ("anyInvocationARB(", "!anyInvocationARB("),
    ("allInvocationsARB(", "!allInvocationsARB("),
    ("gl_SubGroupLtMaskARB", "gl_SubGroupLeMaskARB"),
    ("gl_SubGroupGeMaskARB", "gl_SubGroupGtMaskARB"),
    ("binding = 5", "binding = 1"),
    ("gl_FragCoord.xy", "gl_FragCoord.yx"),
    ("entry_helper = gl_HelperInvocation", "entry_helper = !gl_HelperInvocation"),
    ("subgroupQuadSwapDiagonal(entry_self)", "subgroupQuadSwapVertical(entry_self)"),
];

/// More of WGSL's.
const WGSL: [(&str, &str); 5] = [
    ("quadSwapX(", "quadSwapY("),
    ("push_words.w0", "push_words.w1"),
    ("lane = inLane;", "lane = inSubgroupSize - 1u - inLane;"),
    ("subgroupBallot(", "subgroupBallot(!"),
    ("@binding(3)", "@binding(2)"),
];

/// The first device with subgroups from KHR_shader_subgroup, the first with those of ARB_shader_ballot, and the first of WebGPU.
static DEVICES: LazyLock<Vec<(DriverConfig, u32, Dialect)>> = LazyLock::new(|| {
    let all: Vec<DriverConfig> = drivers(None).unwrap_or_else(|error| panic!("{error}"));
    let own: Vec<DriverConfig> = all.into_iter().filter(|driver| driver.api != Api::Vulkan).collect();
    let probe = ProbeOptions { worker_exe: Some(PathBuf::from(TANGLE)), ..ProbeOptions::default() };
    let inventory = Inventory::probe(&own, &probe);
    let first = |wanted| {
        let mut devices = inventory.devices().filter(|(_, info)| info.mode == DriverMode::Execute);
        let found = devices.find(|(_, info)| {
            let has_subgroups = info.opengl.as_ref().is_none_or(|gl| gl.subgroups != Subgroups::None);
            has_subgroups && dialect(info) == wanted
        });
        found.map(|(driver, info)| (driver.clone(), info.index, wanted))
    };
    [Dialect::OpenGl, Dialect::OpenGlArb, Dialect::Wgsl].into_iter().filter_map(first).collect()
});

fn open(driver: &DriverConfig, index: u32) -> Target {
    // A test program cannot be its own worker. A hang is confirmed with ten times the time.
    let options = DeviceOptions {
        worker_exe: Some(PathBuf::from(TANGLE)),
        timeout: Some(Duration::from_secs(6)),
        ..DeviceOptions::default()
    };
    Target::driver(driver, index, &options).unwrap_or_else(|error| panic!("{error:#}"))
}

/// Random programs that pass on a device, and a line on all their results.
fn passing(target: &Target) -> Vec<Prepared> {
    let choice = Choice { seed: 7, tier: Some(Tier::Plain), variant: Some(Variant::Unoptimised), ..Choice::default() };
    let plan = Plan::new(choice, std::slice::from_ref(target)).unwrap_or_else(|error| panic!("{error:#}"));
    let (mut passing, mut checked, mut failing, mut left_out) = (Vec::new(), 0, 0, 0);
    for program in 0..PROGRAMS {
        let case = plan.cases(program).0.into_iter().flatten().next().expect("the first is there");
        let case = target.fitted(&case).into_owned();
        if !target.missing(&case).is_empty() {
            left_out += 1;
            continue;
        }
        let Ok(prepared) = prepare(case) else {
            // So has the GLSL compiler.
            failing += 1;
            continue;
        };
        let conclusion = target.run(&prepared);
        match &conclusion.finish {
            Finish::Judged(judgement) if judgement.verdict == Verdict::Pass => {
                checked += judgement.counts.checked;
                passing.push(prepared);
            }
            Finish::Judged(judgement) if judgement.verdict == Verdict::Vacuous => {}
            // Drivers have bugs, which are not what is tested here.
            _ => failing += 1,
        }
    }
    note!(
        "{}: {} of {PROGRAMS} programs pass with {checked} values checked, {failing} fail, {left_out} are left out",
        target.name,
        passing.len()
    );
    assert!(passing.len() as u64 > PROGRAMS / 2, "nothing to plant faults in");
    passing
}

fn planted_faults_are_found(dialect: Dialect) {
    tangle_runner::toolchain::compile_by(TANGLE.into());
    let Some((driver, index, _)) = DEVICES.iter().find(|(.., taken)| *taken == dialect) else {
        note!("NO DEVICE COMPILES {dialect:?} ITSELF: nothing is tested (./x setup gets some)");
        return;
    };
    let source = |prepared: &Prepared| match dialect {
        Dialect::Wgsl => prepared.shader.clone(),
        _ => print_in(&prepared.case, dialect).text,
    };
    let passing = passing(&open(driver, *index));
    let mut programs: Vec<(String, Prepared)> =
        passing.into_iter().map(|prepared| (source(&prepared), prepared)).collect();
    // What is short is compiled soon.
    programs.sort_by_key(|(source, _)| source.len());
    let (mut planted, mut missed) = (0, Vec::new());
    let more = if dialect == Dialect::Wgsl { &WGSL[..] } else { &GLSL[..] };
    for (from, to) in ALL.iter().chain(more) {
        let those = programs.iter().filter(|(source, _)| source.contains(from));
        let programs: Vec<&Prepared> = those.map(|(_, prepared)| prepared).take(TRIES).collect();
        if programs.is_empty() {
            continue;
        }
        let mut faulty = driver.clone();
        faulty.env.insert(REWRITE_VARIABLE.into(), format!("{from}=>{to}"));
        let target = open(&faulty, *index);
        planted += 1;
        if !programs.iter().any(|prepared| target.run(prepared).signature(&prepared.case).is_some()) {
            missed.push(*from);
        }
    }
    note!("{}: {} of {planted} planted faults found; missed: {missed:?}", driver.name, planted - missed.len());
    assert!(planted >= 8, "only {planted} faults could be planted on {}", driver.name);
    assert!(missed.len() * 5 <= planted, "{}: {missed:?}", driver.name);
}

#[test]
fn planted_faults_in_opengl_are_found() {
    planted_faults_are_found(Dialect::OpenGl);
}

#[test]
fn planted_faults_in_opengl_with_shader_ballot_are_found() {
    planted_faults_are_found(Dialect::OpenGlArb);
}

#[test]
fn planted_faults_in_wgsl_are_found() {
    planted_faults_are_found(Dialect::Wgsl);
}
