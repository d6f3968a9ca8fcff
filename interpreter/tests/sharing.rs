//! What invocations see of each other's accesses, and of their own through other variables: `Coherent` and its relatives, memory scopes (Vulkan memory model),
//! `Aliased` (SPIR-V).
//!
//! A workgroup of eight invocations in two subgroups of four. Each lane writes one word with `LOG`; a row shows them: `?` is open, `-` not written.

use tangle_interpreter::faults::Planted;
use tangle_interpreter::{
    Buffer, Dispatch, Draw, End, LaneMap, Limits, Module, Outcome, Pipeline, PipelineOptions, Rule, Why,
};
use tangle_program::case::{SpirvVersion, Stage};
use tangle_runner::toolchain;

const NOTHING: u32 = 0x0BAD_0BAD;

/// Semantics of control barriers and fences in the shaders below.
const MACROS: &str = "
#define ORDERED gl_StorageSemanticsBuffer | gl_StorageSemanticsImage | gl_StorageSemanticsShared, gl_SemanticsAcquireRelease
#define MADE gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible
#define SYNC() controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, ORDERED)
#define TOGETHER() controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, 0, 0)
#define FENCE(scope) memoryBarrier(scope, ORDERED)
#define ADD(what, scope) atomicAdd(what, 1u, scope, 0, 0)
#define LOG(value) words[gl_GlobalInvocationID.x] = (value)";

fn shader(header: &str, declaration: &str, body: &str) -> String {
    format!(
        "#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
{header}
{MACROS}
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) buffer Out {{ uint words[]; }};
{declaration}
void main() {{
    uint lane = gl_LocalInvocationIndex;
    {body}
}}"
    )
}

fn compiled(glsl: &str) -> Vec<u32> {
    toolchain::compile_with_lines(glsl, Stage::Compute, SpirvVersion::V1_5).unwrap_or_else(|e| panic!("{e}\n{glsl}"))
}

fn run(glsl: &str, workgroups: u32, fault: Option<Planted>) -> Outcome {
    run_module(&compiled(glsl), workgroups, fault)
}

/// Runs a module. The buffer of binding 2 is that of binding 0.
fn run_module(words: &[u32], workgroups: u32, fault: Option<Planted>) -> Outcome {
    run_in_subgroups(words, workgroups, 4, fault)
}

fn run_in_subgroups(words: &[u32], workgroups: u32, size: u32, fault: Option<Planted>) -> Outcome {
    let mut pipeline =
        Pipeline::new(&Module::parse(words).expect("a module"), &PipelineOptions::default()).expect("supported");
    if let Some(fault) = fault {
        pipeline = pipeline.with_fault(fault);
    }
    let is_image = pipeline.interface().bindings.iter().any(|binding| binding.image.is_some());
    let buffer = |binding, word: u32| {
        let bytes = [word.to_le_bytes(); 16].concat();
        let extent = if binding == 0 && is_image { [16, 1, 1] } else { [0; 3] };
        let same_as = (binding == 2).then_some(1);
        Buffer { binding, bytes, extent, same_as, ..Buffer::default() }
    };
    let uses = |binding: u32| pipeline.interface().bindings.iter().any(|found| found.binding == binding);
    let dispatch = Dispatch {
        workgroups: [workgroups, 1, 1],
        lane_map: LaneMap::linear(8, size),
        draw: Draw::default(),
        buffers: [(1, NOTHING), (0, 0), (2, 0)]
            .into_iter()
            .filter(|(at, _)| uses(*at))
            .map(|(at, w)| buffer(at, w))
            .collect(),
        push: Vec::new(),
        limits: Limits::default(),
    };
    pipeline.run(&dispatch).expect("it is executed")
}

fn text(outcome: &Outcome, invocations: u32) -> String {
    if let End::Undefined(undefined) = &outcome.end {
        return format!("{:?}", undefined.rule);
    }
    let word = |at: u32| match outcome.buffers[0].word(4 * at as usize) {
        Some(NOTHING) => "-".to_owned(),
        Some(word) => format!("{word:x}"),
        None => "?".to_owned(),
    };
    (0..invocations).map(word).collect::<Vec<_>>().join(" ")
}

/// A declaration, a body, and what is logged.
type Row<'a> = (&'a str, &'a str, &'a str);

/// Checks rows, and that a fault makes of some what it says.
#[track_caller]
fn check(header: &str, rows: &[Row<'_>], fault: Planted, wrong: &[Row<'_>]) {
    for (rows, fault) in [(rows, None), (wrong, Some(fault))] {
        for (declaration, body, expected) in rows {
            let outcome = run(&shader(header, declaration, body), 1, fault);
            assert_eq!(text(&outcome, 8), *expected, "{fault:?}: {declaration} {body}");
        }
    }
}

const PLAIN: &str = "layout(binding = 0) buffer Data { uint data[16]; };";
const COHERENT: &str = "layout(binding = 0) coherent buffer Data { uint data[16]; };";
const EXCHANGE: &str = "data[lane] = lane; SYNC(); LOG(data[lane ^ 4u]);";
const ALL_OPEN: &str = "? ? ? ? ? ? ? ?";

/// "For private memory operations to be Location-Ordered between distinct agents requires using system-synchronizes-with rather than shader-based
/// synchronization" (Vulkan memory model, "Private vs. Non-Private").
#[test]
fn what_is_not_coherent_is_not_seen_by_others() {
    let members = "layout(binding = 0) buffer Data { coherent uint data[8]; uint other[8]; };";
    let image = |qualifier: &str| format!("layout(binding = 0, r32ui) {qualifier} uniform uimage1D image;");
    let (coherent, plain) = (image("coherent"), image(""));
    let texels = "imageStore(image, int(lane), uvec4(lane)); SYNC(); LOG(imageLoad(image, int(lane ^ 4u)).x);";
    // Read first: the write may come before it.
    let later = "uint x = data[lane ^ 4u]; SYNC(); data[lane] = 5u; LOG(x);";
    let atomics = "ADD(data[0], gl_ScopeDevice); SYNC(); LOG(data[0]);";
    let volatile = "layout(binding = 0) volatile buffer Data { uint data[16]; };";
    check(
        "",
        &[
            (PLAIN, EXCHANGE, ALL_OPEN),
            (COHERENT, EXCHANGE, "4 5 6 7 0 1 2 3"),
            (volatile, EXCHANGE, "4 5 6 7 0 1 2 3"),
            (members, EXCHANGE, "4 5 6 7 0 1 2 3"),
            (members, &EXCHANGE.replace("data", "other"), ALL_OPEN),
            (&coherent, texels, "4 5 6 7 0 1 2 3"),
            (&plain, texels, ALL_OPEN),
            ("shared uint data[8];", EXCHANGE, "4 5 6 7 0 1 2 3"),
            (PLAIN, later, ALL_OPEN),
            (COHERENT, later, "0 0 0 0 0 0 0 0"),
            (PLAIN, atomics, ALL_OPEN),
            (COHERENT, atomics, "8 8 8 8 8 8 8 8"),
            // One's own, and what nobody writes.
            (PLAIN, "data[lane] = lane; SYNC(); LOG(data[lane]);", "0 1 2 3 4 5 6 7"),
            (PLAIN, "SYNC(); LOG(data[lane ^ 4u]);", "0 0 0 0 0 0 0 0"),
        ],
        Planted::PrivateIsShared,
        &[
            (PLAIN, EXCHANGE, "4 5 6 7 0 1 2 3"),
            (&plain, texels, "4 5 6 7 0 1 2 3"),
            (PLAIN, later, "0 0 0 0 0 0 0 0"),
            (PLAIN, atomics, "8 8 8 8 8 8 8 8"),
        ],
    );
    let outcome = run(&shader("", PLAIN, EXCHANGE), 1, None);
    assert!(outcome.reasons.iter().any(|reason| reason.why == Why::Private), "{:?}", outcome.reasons);
}

/// The same where every access says for itself what it shares.
#[test]
fn accesses_of_the_vulkan_memory_model_say_what_they_share() {
    let header = "#pragma use_vulkan_memory_model";
    let buffer = |qualifier: &str| format!("layout(binding = 0) {qualifier} buffer Data {{ uint data[16]; }};");
    let [private, non_private, of_subgroup, of_workgroup, of_device] =
        ["", "nonprivate", "subgroupcoherent", "workgroupcoherent", "devicecoherent"].map(buffer);
    let made = "data[lane] = lane; controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, MADE); LOG(data[lane ^ 4u]);";
    let near = "data[lane] = lane; SYNC(); LOG(data[lane ^ 1u]);";
    let later = "uint x = data[lane ^ 4u]; SYNC(); data[lane] = 5u; LOG(x);";
    check(
        header,
        &[
            (&private, EXCHANGE, ALL_OPEN),
            (&private, made, ALL_OPEN),
            // Barriers make available and visible what is not private.
            (&non_private, made, "4 5 6 7 0 1 2 3"),
            (&non_private, EXCHANGE, ALL_OPEN),
            // A read needs no more than that to come before a write.
            (&non_private, later, "0 0 0 0 0 0 0 0"),
            (&private, later, ALL_OPEN),
            (&of_subgroup, EXCHANGE, ALL_OPEN),
            (&of_subgroup, near, "1 0 3 2 5 4 7 6"),
            (&of_workgroup, EXCHANGE, "4 5 6 7 0 1 2 3"),
            (&of_device, EXCHANGE, "4 5 6 7 0 1 2 3"),
            ("shared uint data[8];", "data[lane] = lane; barrier(); LOG(data[lane ^ 4u]);", "4 5 6 7 0 1 2 3"),
        ],
        Planted::PrivateIsShared,
        &[(&private, EXCHANGE, "4 5 6 7 0 1 2 3"), (&of_subgroup, EXCHANGE, "4 5 6 7 0 1 2 3")],
    );
}

/// "A and B are in the instance of each other's memory scopes" (Vulkan memory model, "Synchronizes-With").
#[test]
fn barriers_order_those_within_their_memory_scope() {
    let fence = |scope: &str, other: &str| {
        format!("data[lane] = lane; FENCE({scope}); TOGETHER(); FENCE({scope}); LOG(data[lane ^ {other}]);")
    };
    let barrier = |scope: &str, other: &str| {
        format!("data[lane] = lane; controlBarrier(gl_ScopeWorkgroup, {scope}, ORDERED); LOG(data[lane ^ {other}]);")
    };
    let of_subgroup = fence("gl_ScopeSubgroup", "4u");
    let race = "DataRace";
    // Through lane 1, which releases what it has seen.
    let through = |between: &str| {
        format!(
            "if (lane == 0u) data[0] = 7u; {between} TOGETHER(); FENCE(gl_ScopeWorkgroup); if (lane == 4u) LOG(data[0]);"
        )
    };
    let passed_on = through("subgroupBarrier(); if (lane == 1u) FENCE(gl_ScopeWorkgroup);");
    let to_subgroup = through("subgroupBarrier(); if (lane == 1u) FENCE(gl_ScopeSubgroup);");
    let too_early = through("if (lane == 1u) FENCE(gl_ScopeWorkgroup); subgroupBarrier();");
    check(
        "",
        &[
            (COHERENT, &fence("gl_ScopeDevice", "4u"), "4 5 6 7 0 1 2 3"),
            (COHERENT, &fence("gl_ScopeWorkgroup", "4u"), "4 5 6 7 0 1 2 3"),
            (COHERENT, &of_subgroup, race),
            (COHERENT, &fence("gl_ScopeSubgroup", "1u"), "1 0 3 2 5 4 7 6"),
            (COHERENT, &fence("gl_ScopeInvocation", "1u"), race),
            (COHERENT, &passed_on, "- - - - 7 - - -"),
            (COHERENT, &to_subgroup, race),
            (COHERENT, &too_early, race),
            (COHERENT, &barrier("gl_ScopeDevice", "4u"), "4 5 6 7 0 1 2 3"),
            (COHERENT, &barrier("gl_ScopeSubgroup", "4u"), race),
            (COHERENT, &barrier("gl_ScopeSubgroup", "1u"), "1 0 3 2 5 4 7 6"),
            (COHERENT, &barrier("gl_ScopeInvocation", "1u"), race),
        ],
        Planted::ScopesIgnored,
        &[
            (COHERENT, &of_subgroup, "4 5 6 7 0 1 2 3"),
            (COHERENT, &barrier("gl_ScopeSubgroup", "4u"), "4 5 6 7 0 1 2 3"),
        ],
    );
    // In a subgroup of which half the lanes are nobody's.
    let outcome = run_in_subgroups(&compiled(&shader("", COHERENT, &passed_on)), 1, 16, None);
    assert_eq!(text(&outcome, 8), "- - - - 7 - - -");
}

/// "If two atomic operations are not mutually-ordered, and if their sets of memory locations overlap, then each must be synchronized against the other as if they
/// were non-atomic operations" (Vulkan memory model, "Atomic Operation").
#[test]
fn atomics_are_ordered_with_those_within_their_scope() {
    let all = |scope: &str| format!("ADD(data[0], {scope}); SYNC(); LOG(data[0]);");
    let each = |scope: &str| format!("ADD(data[lane >> 2], {scope}); SYNC(); LOG(data[lane >> 2]);");
    let (device, of_subgroup) = (all("gl_ScopeDevice"), all("gl_ScopeSubgroup"));
    let eight = "8 8 8 8 8 8 8 8";
    let mixed = "if (lane == 0u) ADD(data[0], gl_ScopeDevice); if (lane == 4u) ADD(data[0], gl_ScopeSubgroup); SYNC(); LOG(data[0]);";
    // Ordered by the barrier, but available to the subgroup alone.
    let plain = "if (lane < 4u) ADD(data[0], gl_ScopeSubgroup); SYNC(); if (lane > 3u) LOG(data[0]);";
    let atomic =
        "if (lane < 4u) ADD(data[0], gl_ScopeSubgroup); SYNC(); if (lane == 4u) LOG(ADD(data[0], gl_ScopeDevice));";
    let one_by_one = "if (lane < 4u) ADD(data[0], gl_ScopeSubgroup); SYNC(); if (lane < 4u) LOG(data[0]);";
    check(
        "",
        &[
            (COHERENT, &device, eight),
            (COHERENT, &all("gl_ScopeWorkgroup"), eight),
            (COHERENT, &of_subgroup, "DataRace"),
            (COHERENT, &each("gl_ScopeSubgroup"), "4 4 4 4 4 4 4 4"),
            (COHERENT, mixed, "DataRace"),
            (COHERENT, plain, "- - - - ? ? ? ?"),
            (COHERENT, atomic, "- - - - ? - - -"),
            (COHERENT, one_by_one, "4 4 4 4 - - - -"),
            (
                "shared uint data[8];",
                "data[lane] = 0u; SYNC(); ADD(data[0], gl_ScopeWorkgroup); SYNC(); LOG(data[0]);",
                eight,
            ),
        ],
        Planted::ScopesIgnored,
        &[(COHERENT, &of_subgroup, eight)],
    );
    // Of two workgroups.
    let two = |scope: &str| {
        let body = format!("ADD(data[0], {scope}); LOG(1u);");
        match run(&shader("", COHERENT, &body), 2, None) {
            Outcome { end: End::Undefined(what), .. } => Err(what.rule),
            outcome => Ok(outcome.buffers[1].word(0)),
        }
    };
    assert_eq!(two("gl_ScopeDevice"), Ok(Some(16)));
    assert_eq!(two("gl_ScopeWorkgroup"), Err(Rule::DataRace));
    // A barrier of the one workgroup says nothing of the other's atomics.
    let sum = "atomicAdd(data[0], 3u, gl_ScopeDevice, 0, 0);";
    let or = "atomicOr(data[0], 1u, gl_ScopeDevice, 0, 0);";
    let body = format!(
        "if (gl_WorkGroupID.x == 0u && lane == 0u) {sum} SYNC(); if (gl_WorkGroupID.x == 1u && lane == 0u) {or} LOG(1u);"
    );
    assert_eq!(run(&shader("", COHERENT, &body), 2, None).buffers[1].word(0), None);
}

/// A module with `Aliased` on so many of the variables whose bindings are not 1, in the order of their decorations.
fn aliased(words: &[u32], count: usize) -> Vec<u32> {
    const BINDING: [u32; 2] = [4 << 16 | 71, 33];
    let mut changed = words[..5].to_vec();
    let (mut at, mut left) = (5, count);
    while at < words.len() {
        let inst = &words[at..at + (words[at] >> 16) as usize];
        changed.extend(inst);
        if let &[head, variable, decoration, binding] = inst
            && [head, decoration] == BINDING
            && binding != 1
            && left > 0
        {
            left -= 1;
            changed.extend([3 << 16 | 71, variable, 20]);
        }
        at += inst.len();
    }
    toolchain::validate(&changed, SpirvVersion::V1_5).expect("it is valid");
    changed
}

/// "The consumer is free to assume aliasing is not present between memory object declarations, unless the memory object declarations explicitly indicate they
/// alias … Only those memory object declarations decorated with Aliased or AliasedPointer may alias each other" (SPIR-V 1.6 §2.18.2).
#[test]
fn variables_of_one_buffer_have_its_bytes_if_they_are_aliased() {
    let declared = |qualifier: &str, other: &str| {
        format!(
            "layout(binding = 0) {qualifier} buffer A {{ uint a[16]; }}; layout({other}) {qualifier} buffer B {{ uvec2 b[8]; }};"
        )
    };
    // Two variables of one descriptor, and two descriptors of one buffer.
    let [plain, coherent] = ["", "coherent"].map(|qualifier| declared(qualifier, "binding = 0"));
    let [apart, apart_coherent] = ["", "coherent"].map(|qualifier| declared(qualifier, "binding = 2"));
    let floats = "layout(binding = 0) buffer A { uint a[16]; }; layout(binding = 0) buffer B { float f[16]; };";
    let (zeros, lanes, twos) = ("0 0 0 0 0 0 0 0", "0 1 2 3 4 5 6 7", "2 2 2 2 2 2 2 2");
    let across = "4 5 6 7 0 1 2 3";
    let written = "a[2u * lane] = lane; LOG(b[lane].x);";
    let back = "b[lane].x = lane; LOG(a[2u * lane]);";
    let read_first = "uint x = a[2u * lane]; b[lane].x = 7u; LOG(x);";
    let twice = "a[2u * lane] = 1u; b[lane].x = 2u; LOG(b[lane].x);";
    let thrice = "a[2u * lane] = 1u; b[lane].x = 3u; b[lane].x = 2u; LOG(b[lane].x);";
    let exchange = "a[2u * lane] = lane; SYNC(); LOG(b[lane ^ 4u].x);";
    let atomics = "ADD(a[0], gl_ScopeDevice); SYNC(); LOG(b[0].x);";
    let own_atomic = "ADD(a[2u * lane], gl_ScopeDevice); LOG(ADD(b[lane].x, gl_ScopeDevice) + 1u);";
    let race = "a[2u * lane] = lane; LOG(b[lane ^ 1u].x);";
    let others = "a[2u * lane] = lane; LOG(b[lane].y);";
    let nothing_written = "LOG(a[2u * lane] + b[lane].x);";
    // With no variable decorated, the first, and both.
    for (declaration, body, expected) in [
        (&plain, written, [ALL_OPEN, ALL_OPEN, lanes]),
        (&plain, back, [ALL_OPEN, ALL_OPEN, lanes]),
        (&plain, read_first, [ALL_OPEN, ALL_OPEN, zeros]),
        (&plain, twice, [ALL_OPEN, ALL_OPEN, twos]),
        (&plain, thrice, [ALL_OPEN, ALL_OPEN, twos]),
        (&plain, race, ["DataRace"; 3]),
        (&plain, others, [zeros; 3]),
        (&plain, nothing_written, [zeros; 3]),
        (&plain, exchange, [ALL_OPEN; 3]),
        (&coherent, exchange, [ALL_OPEN, ALL_OPEN, across]),
        (&coherent, atomics, [ALL_OPEN, ALL_OPEN, "8 8 8 8 8 8 8 8"]),
        (&coherent, own_atomic, [ALL_OPEN, ALL_OPEN, twos]),
        (&floats.to_owned(), "a[lane] = 0x3F800000u; LOG(uint(f[lane] * 2.0));", [ALL_OPEN, ALL_OPEN, twos]),
        // "Two memory accesses through distinct references may require availability and visibility operations" (Vulkan memory model, "Reference").
        (&apart, written, [ALL_OPEN; 3]),
        (&apart, read_first, [ALL_OPEN; 3]),
        (&apart, race, ["DataRace"; 3]),
        (&apart, others, [zeros; 3]),
        (&apart_coherent, written, [ALL_OPEN, ALL_OPEN, lanes]),
        (&apart_coherent, read_first, [ALL_OPEN, ALL_OPEN, zeros]),
        (&apart_coherent, twice, [ALL_OPEN, ALL_OPEN, twos]),
        (&apart_coherent, exchange, [ALL_OPEN, ALL_OPEN, across]),
    ] {
        let words = compiled(&shader("", declaration, body));
        for (count, expected) in expected.into_iter().enumerate() {
            let outcome = run_module(&aliased(&words, count), 1, None);
            assert_eq!(text(&outcome, 8), expected, "{count} aliased: {declaration} {body}");
        }
    }
    let words = compiled(&shader("", &plain, written));
    let outcome = run_module(&words, 1, None);
    assert!(outcome.reasons.iter().any(|reason| reason.why == Why::Aliased), "{:?}", outcome.reasons);
    // Read back at both places.
    let outcome = run_module(&aliased(&compiled(&shader("", &apart_coherent, written)), 2), 1, None);
    assert_eq!([1, 2].map(|at| outcome.buffers[at].word(16)), [Some(2); 2]);
    for (declaration, body) in [(&plain, written), (&plain, back), (&apart, written)] {
        let words = compiled(&shader("", declaration, body));
        let outcome = run_module(&words, 1, Some(Planted::AliasesAssumed));
        assert_eq!(text(&outcome, 8), lanes, "{declaration} {body}");
    }
}
