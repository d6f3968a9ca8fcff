//! Hostile modules, with flipped bits or of arbitrary words: an error or some outcome, never a panic, never more than the limits.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::common::{case_of, compiled, dispatch, maps, options};
use peak_alloc::PeakAlloc;
use tangle_interpreter::pipeline::DECODE_MEMORY;
use tangle_interpreter::{
    Binding, Buffer, Dispatch, Draw, End, Error, LaneMap, Limits, Module, Pipeline, PipelineOptions,
};
use tangle_program::case::{Case, SpirvVersion, Stage, Tier};
use tangle_runner::toolchain::{self, AssemblyTarget};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What is measured belongs to one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

const LIMITS: Limits = Limits { steps: 20_000, memory: 64 << 20 };

/// A number that looks random (splitmix64).
fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Bytes that `work` has allocated at one time, beyond what there was before.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = work();
    (result, MEMORY.peak_usage().saturating_sub(before))
}

/// How far modules came.
#[derive(Debug, Default)]
struct Ends {
    parsed: u32,
    decoded: u32,
    ended: u32,
    largest: usize,
}

/// Parses, decodes and runs a module, and checks the limits of each. A dispatch is made for the pipeline.
fn survive(words: &[u32], options: &PipelineOptions, dispatch: impl FnOnce(&Pipeline) -> Dispatch, ends: &mut Ends) {
    let (module, _) = peak(|| Module::parse(words));
    let Ok(module) = module else { return };
    ends.parsed += 1;
    let (pipeline, used) = peak(|| Pipeline::new(&module, options));
    assert!(used as u64 <= DECODE_MEMORY, "decoding takes {used} bytes");
    ends.largest = ends.largest.max(used);
    let Ok(pipeline) = pipeline else { return };
    ends.decoded += 1;
    let dispatch = dispatch(&pipeline);
    let buffers: usize = dispatch.buffers.iter().map(|buffer| buffer.bytes.len()).sum();
    let (outcome, used) = peak(|| pipeline.run(&dispatch));
    // Contents of buffers while it runs and in the outcome, with a state of four bytes for each of them.
    let allowed = dispatch.limits.memory as usize + 8 * buffers + (1 << 20);
    assert!(used <= allowed, "running takes {used} bytes of {allowed}");
    ends.largest = ends.largest.max(used);
    if let Ok(outcome) = outcome {
        ends.ended += 1;
        assert!(outcome.reasons.iter().all(|reason| !reason.to_string().is_empty()));
        for buffer in outcome.buffers {
            assert!(buffer.states.iter().all(|&state| state as usize <= outcome.reasons.len()));
        }
    }
}

/// Buffers of moderate size for whatever the module has.
fn any_dispatch(pipeline: &Pipeline) -> Dispatch {
    let interface = pipeline.interface();
    let buffer = |binding: &Binding| {
        let size = binding.size.saturating_add(binding.element.unwrap_or(0).saturating_mul(64)).min(1 << 16);
        let (set, binding, count) = (binding.set, binding.binding, binding.count.min(16));
        (0..count).map(move |element| Buffer {
            set,
            binding,
            element,
            bytes: vec![0; size as usize],
            ..Buffer::default()
        })
    };
    let draw = Draw::of(interface, [5, 3], &BTreeMap::new());
    let invocations = match interface.is_of_draw() {
        true => draw.len() as u32,
        false => interface.workgroup_size.iter().fold(1u32, |n, side| n.saturating_mul(*side)),
    };
    Dispatch {
        workgroups: [1; 3],
        lane_map: LaneMap::linear(invocations.min(1 << 14), 32),
        draw,
        buffers: interface.bindings.iter().flat_map(buffer).collect(),
        push: vec![0; interface.push_size.min(1 << 16) as usize],
        limits: LIMITS,
    }
}

fn flipped_bits(count: u64) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut modules: Vec<(Case, Vec<u32>, _, _)> = Vec::new();
    for seed in 0..12 {
        let (case, size, placement) = case_of(seed, Tier::ALL[seed as usize % 3]);
        modules.extend(compiled(&case).ok().map(|module| (case, module, size, placement)));
    }
    let mut ends = Ends::default();
    for number in 0..count {
        let (case, module, size, placement) = &modules[number as usize % modules.len()];
        let mut words = module.clone();
        for flip in 0..1 + number % 4 / 3 {
            let at = mix(number * 4 + flip);
            // Half of them in functions, which stand at the end.
            let first = if number % 2 == 0 { 0 } else { words.len() / 2 };
            let word = first + (at >> 8) as usize % (words.len() - first);
            // Mostly small changes: another id, another literal.
            let bit = if number % 3 == 0 { at % 32 } else { at % 8 };
            words[word] ^= 1 << bit;
        }
        let made = |_: &Pipeline| Dispatch { limits: LIMITS, ..dispatch(case, maps(case, *size, *placement).1) };
        survive(&words, &options(case), made, &mut ends);
    }
    println!("{count} flipped: {ends:?}");
    assert!(u64::from(ends.ended) > count / 20, "{ends:?}");
}

/// What only shaders without workgroups have: inputs, outputs, helpers, derivatives.
#[test]
fn flipped_bits_of_draws_give_no_panic() {
    const FRAGMENT: &str = "#version 450
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_EXT_demote_to_helper_invocation : require
layout(location = 1, component = 1) flat in uvec2 given;
layout(location = 0) out vec4 seen;
layout(binding = 0) buffer Words { uint words[]; };
void main() {
    uint at = uint(gl_FragCoord.x) + 8u * uint(gl_FragCoord.y);
    for (uint i = 0u; i < 3u; i++) {
        if ((at + i) % 5u == given.x) demote;
        seen = vec4(dFdx(float(at * i)), fwidthFine(float(at)), subgroupQuadSwapVertical(i), gl_HelperInvocation);
        if (at == 7u) discard;
    }
    words[at] = atomicAdd(words[40], 1u) + uint(helperInvocationEXT());
}";
    const VERTEX: &str = "#version 450
#extension GL_KHR_shader_subgroup_ballot : require
layout(location = 2) out uvec2 seen;
layout(binding = 0) buffer Words { uint words[]; };
void main() {
    seen = uvec2(gl_VertexIndex, subgroupBallot(gl_InstanceIndex > 1).x);
    words[gl_VertexIndex + 8 * gl_InstanceIndex] = seen.x;
    gl_Position = vec4(seen, 0.0, 1.0);
}";
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut ends = Ends::default();
    for (glsl, stage) in [(FRAGMENT, Stage::Fragment), (VERTEX, Stage::Vertex)] {
        let module = toolchain::compile_with_lines(glsl, stage, SpirvVersion::V1_3).expect("it compiles");
        for number in 0..600 {
            let mut words = module.clone();
            let at = mix(number);
            let word = 5 + (at >> 8) as usize % (words.len() - 5);
            words[word] ^= 1 << (if number % 3 == 0 { at % 32 } else { at % 8 });
            survive(&words, &PipelineOptions::default(), any_dispatch, &mut ends);
        }
    }
    println!("{ends:?}");
    assert!(ends.ended > 200, "{ends:?}");
}

#[test]
fn flipped_bits_give_no_panic() {
    flipped_bits(2_000);
}

#[test]
#[ignore = "takes minutes"]
fn many_flipped_bits_give_no_panic() {
    flipped_bits(50_000);
}

/// Instructions with any opcode, any number of words and any operands, small ones mostly, so that ids meet.
#[test]
fn arbitrary_words_give_no_panic() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut ends = Ends::default();
    for number in 0..20_000 {
        let mut dice = mix(number);
        let mut draw = |below: u64| {
            dice = mix(dice);
            (dice >> 16) % below
        };
        let mut words = vec![0x0723_0203, 0x0001_0300, 0, 64, 0];
        for _ in 0..draw(12) {
            let opcode = if draw(4) == 0 { draw(7000) } else { draw(420) };
            let count = 1 + draw(7);
            words.push((count << 16 | opcode) as u32);
            for _ in 1..count {
                let below = if draw(8) == 0 { 1 << 32 } else { 32 };
                words.push(draw(below) as u32);
            }
        }
        words.truncate(words.len() - draw(5).min(words.len() as u64 - 5) as usize);
        survive(&words, &PipelineOptions::default(), any_dispatch, &mut ends);
    }
    println!("{ends:?}");
    assert!(ends.parsed > 100, "{ends:?}");
}

#[test]
fn words_that_are_no_module_are_errors() {
    const HEADER: [u32; 5] = [0x0723_0203, 0x0001_0300, 0, 8, 0];
    let instruction = |words: &[u32]| [&HEADER, words].concat();
    let rows: [(Vec<u32>, &str); 9] = [
        (vec![], "header"),
        (vec![0x0723_0203], "header"),
        (HEADER.to_vec(), "no entry point"),
        (vec![1, 2, 3, 4, 5, 6], "header"),
        // OpName %1 "abcd…, cut off.
        (instruction(&[0x0004_0005, 1, 0x6463_6261]), "ends past the module"),
        // The same with as many words as it says, and no end of the string.
        (instruction(&[0x0003_0005, 1, 0x6463_6261]), "limit"),
        (instruction(&[0x0000_0005]), "zero word count"),
        // %2 = OpSpecConstantOp %1 with OpConstant, and with itself.
        (instruction(&[0x0005_0034, 1, 2, 43, 0]), "OpSpecConstantOp with opcode 43"),
        (instruction(&[0x0005_0034, 1, 2, 52, 0]), "OpSpecConstantOp with opcode 52"),
    ];
    for (words, says) in rows {
        let refused = Module::parse(&words).and_then(|module| Pipeline::new(&module, &PipelineOptions::default()));
        let error = refused.expect_err("it is refused").to_string();
        assert!(error.contains(says), "{words:x?}: {error}");
    }
}

/// One variable with an array of this length, and a body.
fn with_array(class: &str, length: u32, body: &str) -> Vec<u32> {
    let (decoration, global, local) = match class {
        "Function" => ("", String::new(), "%v = OpVariable %p Function"),
        "StorageBuffer" => (
            "OpDecorate %v DescriptorSet 0\nOpDecorate %v Binding 0\nOpDecorate %s Block\nOpMemberDecorate %s 0 Offset 0\nOpDecorate %a ArrayStride 4",
            format!("%v = OpVariable %p {class}"),
            "",
        ),
        _ => ("", format!("%v = OpVariable %p {class}"), ""),
    };
    let text = format!(
        "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 64 1 1
        {decoration}
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %0 = OpConstant %uint 0
        %1 = OpConstant %uint 1
        %n = OpConstant %uint {length}
        %a = OpTypeArray %uint %n
        %s = OpTypeStruct %a
        %p = OpTypePointer {class} %s
        %pu = OpTypePointer {class} %uint
        {global}
        %main = OpFunction %void None %fn
        %entry = OpLabel
        {local}
        {body}
        OpReturn
        OpFunctionEnd"
    );
    let target = AssemblyTarget::parse("spv1.3").expect("a target");
    toolchain::assemble(&text, target).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// An array as large as 32 bits can say, of each kind of memory: refused, or touched in part only. (One of a size that fits is run.)
#[test]
fn huge_arrays_stay_within_the_limits() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let element = "%e = OpAccessChain %pu %v %0 %0\n%x = OpLoad %uint %e\nOpStore %e %1";
    let whole = "%x = OpLoad %s %v\nOpStore %v %x";
    for class in ["Function", "Private", "Workgroup", "StorageBuffer"] {
        for body in [element, whole] {
            for length in [1 << 10, 1 << 16, 1 << 20, (1 << 22) + 1, 1 << 28, u32::MAX] {
                let mut ends = Ends::default();
                survive(&with_array(class, length, body), &PipelineOptions::default(), any_dispatch, &mut ends);
                assert!(length > 1 << 10 || ends.ended == 1, "{class} {length}: {ends:?}");
            }
        }
    }
}

/// Memory is counted as it is touched: the same shader runs with a limit that the touched part fits, and not with less.
#[test]
fn memory_is_counted_by_what_is_touched() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let glsl = "#version 450
        layout(local_size_x = 64) in;
        layout(set = 0, binding = 0) buffer Data { uint data[]; };
        void main() {
            for (uint i = 0u; i < 1024u; i++) data[i * 256u + gl_LocalInvocationIndex] = i;
        }";
    let words = toolchain::compile(glsl, SpirvVersion::V1_3).expect("it compiles");
    let pipeline = Pipeline::new(&Module::parse(&words).expect("a module"), &PipelineOptions::default());
    let pipeline = pipeline.expect("supported");
    let run = |memory| {
        pipeline.run(&Dispatch {
            workgroups: [1; 3],
            lane_map: LaneMap::linear(64, 32),
            draw: Draw::default(),
            buffers: vec![Buffer { bytes: vec![0; 1 << 20], ..Buffer::default() }],
            push: Vec::new(),
            limits: Limits { memory, ..Limits::default() },
        })
    };
    assert_eq!(run(8 << 20).expect("it fits").end, End::Completed);
    assert!(matches!(run(1 << 20), Err(Error::Memory(_))));
    // Nothing but the step limit ends what does not end by itself.
    let endless = "#version 450
        layout(local_size_x = 64) in;
        layout(set = 0, binding = 0) buffer Data { uint data[]; };
        void main() { for (uint i = 0u; data[i % 64u] == 0u; i++) {} }";
    let words = toolchain::compile(endless, SpirvVersion::V1_3).expect("it compiles");
    let pipeline = Pipeline::new(&Module::parse(&words).expect("a module"), &PipelineOptions::default());
    let outcome = pipeline.expect("supported").run(&Dispatch {
        workgroups: [1; 3],
        lane_map: LaneMap::linear(64, 32),
        draw: Draw::default(),
        buffers: vec![Buffer { bytes: vec![0; 256], ..Buffer::default() }],
        push: Vec::new(),
        limits: LIMITS,
    });
    assert!(matches!(&outcome, Err(Error::Steps(limit, _)) if *limit == LIMITS.steps), "{outcome:?}");
}
