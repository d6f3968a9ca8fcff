//! Small shaders, and what every lane must write, as text.
//!
//! One workgroup of eight invocations, one subgroup. Each lane writes words with `LOG`; a row shows them in hexadecimal, lane by lane: `3,?` are two words,
//! of which the second is not determined; `~` says that nothing is known of a lane's words from there on; `-` that it writes none, `.` that it skips one.

use std::collections::BTreeMap;

use rspirv::spirv::Op;
use tangle_interpreter::faults::Planted;
use tangle_interpreter::{
    Buffer, Dispatch, Draw, End, Error, LaneMap, Limits, Module, Outcome, Pipeline, PipelineOptions, Rule, Tier, Why,
};
use tangle_program::case::{SpirvVersion, Stage};
use tangle_runner::toolchain::{self, AssemblyTarget};

const WORDS: usize = 16;
/// What the output holds before.
const NOTHING: u32 = 0x0BAD_0BAD;

fn shader(declarations: &str, body: &str) -> String {
    // Blocks of workgroup memory stand alone.
    let shared = if declarations.contains("GL_EXT_shared_memory_block") { "" } else { "shared uint s[8];" };
    format!(
        "#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_rotate : require
#extension GL_NV_shader_subgroup_partitioned : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_expect_assume : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) coherent buffer Data {{ uint data[16]; }};
layout(set = 0, binding = 1) buffer Out {{ uint words[]; }};
{shared}
uint lane, cursor = 0u;
#define LOG(value) words[gl_LocalInvocationIndex * {WORDS}u + cursor++] = (value)
#define b() subgroupBallot(true).x
{declarations}
void main() {{
    lane = gl_SubgroupInvocationID;
    {body}
}}
"
    )
}

fn compile(declarations: &str, body: &str) -> Vec<u32> {
    let glsl = shader(declarations, body);
    toolchain::compile_with_lines(&glsl, Stage::Compute, SpirvVersion::V1_6)
        .unwrap_or_else(|error| panic!("{error}\n{glsl}"))
}

fn run(words: &[u32], tier: Tier, fault: Option<Planted>) -> Outcome {
    attempt(words, tier, fault).unwrap_or_else(|error| panic!("{error}"))
}

fn attempt(words: &[u32], tier: Tier, fault: Option<Planted>) -> Result<Outcome, Error> {
    let module = Module::parse(words).expect("a module");
    let options = PipelineOptions { tier: Some(tier), ..PipelineOptions::default() };
    let mut pipeline = Pipeline::new(&module, &options).unwrap_or_else(|error| panic!("{error}"));
    if let Some(fault) = fault {
        pipeline = pipeline.with_fault(fault);
    }
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    // Images have four columns, two rows, and two slices or layers.
    let images = pipeline.interface().bindings.iter().flat_map(|found| {
        let Some(shape) = found.image else { return Vec::new() };
        let extent = [4, if shape.dimensions > 1 { 2 } else { 1 }, if shape.dimensions > 2 { 2 } else { 1 }];
        let bytes = vec![0; extent.iter().product::<u32>() as usize * shape.texel as usize];
        let image =
            |element| Buffer { binding: found.binding, element, bytes: bytes.clone(), extent, ..Buffer::default() };
        (0..found.count).map(image).collect()
    });
    let buffers = [
        Buffer { binding: 0, bytes: bytes(&[0; 16]), ..Buffer::default() },
        Buffer { binding: 1, bytes: bytes(&[NOTHING; 8 * WORDS]), ..Buffer::default() },
    ];
    let dispatch = Dispatch {
        workgroups: [1; 3],
        lane_map: LaneMap::linear(8, 8),
        draw: Draw::default(),
        buffers: buffers.into_iter().chain(images).collect(),
        push: Vec::new(),
        limits: Limits { steps: 100_000, ..Limits::default() },
    };
    pipeline.run(&dispatch)
}

/// The words of each lane.
fn text(outcome: &Outcome) -> String {
    if let End::Undefined(undefined) = &outcome.end {
        return undefined.to_string();
    }
    let lanes = (0..8).map(|lane| {
        let word = |at: usize| outcome.buffers[1].word(4 * (lane * WORDS + at));
        let known = |at: &usize| word(*at) != Some(NOTHING);
        let Some(last) = (0..WORDS).rfind(known) else { return "-".to_owned() };
        let open = (0..=last).rev().take_while(|at| word(*at).is_none()).count();
        let all_open = last == WORDS - 1 && open > 1;
        let shown = if all_open { last + 1 - open } else { last + 1 };
        let mut words: Vec<String> = (0..shown)
            .map(|at| match word(at) {
                Some(NOTHING) => ".".to_owned(),
                Some(word) => format!("{word:x}"),
                None => "?".to_owned(),
            })
            .collect();
        if all_open {
            words.push("~".to_owned());
        }
        words.join(",")
    });
    lanes.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(declarations: &str, body: &str, rows: &[(Tier, &str)]) {
    let module = compile(declarations, body);
    for (tier, expected) in rows {
        assert_eq!(text(&run(&module, *tier, None)), *expected, "at tier {tier:?}: {body}");
    }
}

/// The same at every tier.
#[track_caller]
fn check_all(body: &str, expected: &str) {
    check("", body, &[(Tier::Maximal, expected), (Tier::SubgroupUniform, expected), (Tier::Plain, expected)]);
}

const EIGHT_FF: &str = "ff ff ff ff ff ff ff ff";

#[test]
fn selections() {
    check(
        "",
        "if (lane < 6u) { if (lane < 2u) LOG(b()); else LOG(b()); LOG(b()); } LOG(b());",
        &[
            (Tier::Maximal, "3,3f,ff 3,3f,ff 3c,3f,ff 3c,3f,ff 3c,3f,ff 3c,3f,ff ff ff"),
            (Tier::Plain, "3,?,ff 3,?,ff 3c,?,ff 3c,?,ff 3c,?,ff 3c,?,ff ff ff"),
        ],
    );
    // An own lane's value does not depend on who is together.
    check(
        "",
        "if (lane < 6u) { if (lane < 2u) data[lane] = 1u; LOG(subgroupShuffleXor(lane, 0u)); LOG(subgroupShuffle(lane, 0u)); }",
        &[(Tier::Maximal, "0,0 1,0 2,0 3,0 4,0 5,0 - -"), (Tier::Plain, "0,0 1,? 2,? 3,? 4,? 5,? - -")],
    );
}

#[test]
fn loops() {
    check_all(
        "for (uint i = 0u; i < 2u; i++) LOG(b()); LOG(b());",
        "ff,ff,ff ff,ff,ff ff,ff,ff ff,ff,ff ff,ff,ff ff,ff,ff ff,ff,ff ff,ff,ff",
    );
    check(
        "",
        "for (uint i = 0u; i <= (lane & 1u); i++) LOG(b()); LOG(b());",
        &[
            (Tier::Maximal, "ff,ff ff,aa,ff ff,ff ff,aa,ff ff,ff ff,aa,ff ff,ff ff,aa,ff"),
            // All of the subgroup are on one path in the first iteration; in the second, others might be there.
            (Tier::Plain, "ff,ff ff,?,ff ff,ff ff,?,ff ff,ff ff,?,ff ff,ff ff,?,ff"),
        ],
    );
    check(
        "",
        "for (uint i = 0u; i < 2u; i++) { if ((lane & 1u) == 1u) continue; LOG(b()); } LOG(b());",
        &[(Tier::Maximal, "55,55,ff ff 55,55,ff ff 55,55,ff ff 55,55,ff ff")],
    );
}

#[test]
fn switches() {
    check(
        "",
        "switch (lane & 3u) { case 0u: case 1u: LOG(b()); break; case 2u: LOG(b()); break; default: LOG(b()); } LOG(b());",
        &[(Tier::Maximal, "?,ff ?,ff 44,ff 88,ff ?,ff ?,ff 44,ff 88,ff")],
    );
    // Who falls through may join those that come directly, or not.
    check(
        "",
        "switch (lane & 1u) { case 0u: LOG(b()); case 1u: LOG(b()); } LOG(b());",
        &[(Tier::Maximal, "55,?,ff ?,ff 55,?,ff ?,ff 55,?,ff ?,ff 55,?,ff ?,ff")],
    );
}

#[test]
fn calls_and_returns() {
    check(
        "void f() { if (lane < 4u) return; LOG(b()); }",
        "f(); LOG(b());",
        &[(Tier::Maximal, "ff ff ff ff f0,ff f0,ff f0,ff f0,ff"), (Tier::Plain, "? ? ? ? f0,? f0,? f0,? f0,?")],
    );
    let faulty = run(
        &compile("void f() { if (lane < 4u) return; LOG(b()); }", "f(); LOG(b());"),
        Tier::Plain,
        Some(Planted::ReconvergesAfterCall),
    );
    assert_eq!(self::text(&faulty), "ff ff ff ff f0,ff f0,ff f0,ff f0,ff");
    // "All invocations leave via the merge block": these do not.
    let body = "if (lane < 2u) data[lane] = 1u; else if (lane < 4u) return; LOG(b());";
    check("", body, &[(Tier::Maximal, "f3 f3 - - f3 f3 f3 f3"), (Tier::Plain, "? ? - - ? ? ? ?")]);
    let faulty = run(&compile("", body), Tier::Plain, Some(Planted::UniformWithoutAll));
    assert_eq!(self::text(&faulty), "f3 f3 - - f3 f3 f3 f3");
}

#[test]
fn a_path_that_depends_on_an_open_value() {
    check(
        "",
        "LOG(7u); if (lane < 6u) { if (lane < 2u) data[lane] = 1u; if (b() != 0x3Fu) LOG(1u); } LOG(2u);",
        &[
            (Tier::Maximal, "7,2 7,2 7,2 7,2 7,2 7,2 7,2 7,2"), // The lost lanes may write anywhere that nobody else does.
            (Tier::Plain, "~ ~ ~ ~ ~ ~ 7,2,~ 7,2,~"),
        ],
    );
}

/// Whoever entered a construct with a lane whose path is open may have it beside them until the construct's end.
#[test]
fn lanes_whose_path_is_open_may_be_with_others() {
    // Whether lanes 0 and 1 are together behind `case 1u` is open, and so x is.
    let open = "uint x = 0u; if (lane < 2u) { switch (lane) { case 0u: LOG(b()); case 1u: x = b(); } }";
    let body = format!("{open} if (x == 1u) LOG(1u); LOG(b()); if (lane > 5u) LOG(b()); LOG(2u);");
    check("", &body, &[(Tier::Maximal, "~ ~ ?,2,~ ?,2,~ ?,2,~ ?,2,~ ?,?,2,~ ?,?,2,~")]);
    let faulty = run(&compile("", &body), Tier::Maximal, Some(Planted::LostLanesIgnored));
    assert_eq!(self::text(&faulty), "~ ~ fc,2,~ fc,2,~ fc,2,~ fc,2,~ fc,c0,2,~ fc,c0,2,~");
    // Those that entered no construct with them are as before.
    let apart = format!("if (lane < 4u) {{ {open} if (x == 1u) LOG(1u); LOG(b()); LOG(2u); }} LOG(b()); LOG(3u);");
    let apart = format!("if (lane > 3u) LOG(b()); {apart}");
    check("", &apart, &[(Tier::Maximal, "~ ~ ?,2,?,3,~ ?,2,?,3,~ f0,?,3,~ f0,?,3,~ f0,?,3,~ f0,?,3,~")]);
}

/// Lanes whose path is open do not make a barrier behind it undefined: lanes 6 and 7 part, and meet at a merge block only if all come to it.
#[test]
fn a_barrier_behind_a_path_that_depends_on_an_open_value() {
    let body = "if (lane < 6u) { if (lane < 2u) data[lane] = 1u; if (b() != 0x3Fu) LOG(1u); } if (lane == 7u) data[7] = 1u; barrier(); LOG(2u);";
    check("", body, &[(Tier::Maximal, "2 2 2 2 2 2 2 2")]);
    let error = attempt(&compile("", body), Tier::Plain, None).expect_err("it is open");
    assert!(error.to_string().contains("OpControlBarrier") && error.to_string().contains("that is open"), "{error}");
    // A fence orders what those do that are known to come, whether the others came to it or not.
    let exchange = "if (lane < 6u) { if (lane < 2u) data[lane] = 1u; if (b() != 0x3Fu) LOG(1u); }
        data[lane + 8u] = lane; memoryBarrierBuffer(); barrier(); if (lane > 5u) data[lane + 8u - (lane & 1u) * 2u + 1u] = 5u;";
    check("", exchange, &[(Tier::Plain, "~ ~ ~ ~ ~ ~ ~ ~")]);
    let apart = "if (lane < 6u) barrier(); LOG(2u);";
    let outcome = attempt(&compile("", apart), Tier::Plain, None).expect("it runs");
    assert!(matches!(outcome.end, End::Undefined(what) if what.rule == Rule::BarrierInDivergence));
}

#[test]
fn undefined_values() {
    check_all("if ((lane & 1u) == 0u) LOG(subgroupShuffle(lane, lane + 1u)); LOG(1u);", "?,1 1 ?,1 1 ?,1 1 ?,1 1");
    check_all("uint x; if (lane < 4u) x = 1u; LOG(x);", "1 1 1 1 ? ? ? ?");
    check_all("LOG(1u << (lane + 28u));", "10000000 20000000 40000000 80000000 ? ? ? ?");
    check_all("LOG(subgroupShuffleUp(lane, 1u));", "? 0 1 2 3 4 5 6");
    let nothing = "LOG(subgroupBallotFindLSB(uvec4(0u)));";
    check_all(nothing, "? ? ? ? ? ? ? ?");
    let faulty = run(&compile("", nothing), Tier::Maximal, Some(Planted::NoBitFoundIsZero));
    assert_eq!(self::text(&faulty), "0 0 0 0 0 0 0 0");
    check_all("LOG(bitfieldExtract(0xF0u, int(lane), 28));", "f0 78 3c 1e f ? ? ?");
}

/// What is undefined only for some of what open operands, or an open tangle, can be is open: a branch on it need not be undefined behaviour.
#[test]
fn what_may_be_undefined_is_open() {
    let q = "float q = float(lane + 1u) / 3.0;";
    // "If Id is an inactive invocation, the resulting value is undefined": lane 7 comes to the shuffle on whatever path.
    let source = format!(
        "{q} if (lane == 7u) {{ if (q * 3.0 == 8.0) s[0] = 1u; }} if (subgroupShuffle(lane, 7u) == 7u) LOG(1u); LOG(2u);"
    );
    let row = ["~"; 8].join(" ");
    check("", &source, &[(Tier::Maximal, &row), (Tier::SubgroupUniform, &row), (Tier::Plain, &row)]);
    let faulty = run(&compile("", &source), Tier::Maximal, Some(Planted::OpenSourceIsInactive));
    assert!(matches!(faulty.end, End::Undefined(what) if what.rule == Rule::Poison));
    for open in [
        "subgroupBallotBitExtract(uvec4(5u), q * 3.0 == float(lane + 1u) ? 1u : 99u)",
        "uint(q * 4294967296.0) == 5u && lane == 7u",
        "clamp(0.5, q, float(lane + 1u) * 0.33333334) == 2.0",
        "ldexp(q * 3.0 / float(lane + 1u), 127) > 2.0",
    ] {
        let body = format!("{q} if (lane == 2u) {{ bool open = {open}; if (open) LOG(1u); }} LOG(2u);");
        let outcome = run(&compile("", &body), Tier::Maximal, None);
        assert!(matches!(outcome.end, End::Completed), "{body}: {}", text(&outcome));
    }
    let certain = format!("{q} if (uint(q - 1e3) == 5u) LOG(1u);");
    assert!(matches!(run(&compile("", &certain), Tier::Maximal, None).end, End::Undefined(_)));
}

#[test]
fn open_values_that_decide_nothing() {
    let open = "uint x = 0u; if (lane < 6u) { if (lane < 2u) data[lane] = 1u; x = b(); }";
    let body = format!("{open} LOG(x & 0u); LOG(x | 0xFFFFFFFFu); LOG(x);");
    let row = "0,ffffffff,?";
    check("", &body, &[(Tier::Plain, &format!("{} 0,ffffffff,0 0,ffffffff,0", [row; 6].join(" ")))]);
}

#[test]
fn floats() {
    // Division has a precision of 2.5 ULP: what it does not decide is open.
    check_all(
        "float q = float(lane + 1u) / 3.0; LOG(uint(q < 10.0)); LOG(uint(q)); LOG(floatBitsToUint(q));",
        "1,0,? 1,0,? 1,?,? 1,1,? 1,1,? 1,?,? 1,2,? 1,2,?",
    );
    // The sign of a zero is open; nothing else of it is.
    check_all(
        "float z = -uintBitsToFloat(data[0]); LOG(floatBitsToUint(z) << 1u); LOG(floatBitsToUint(z));",
        &["0,?"; 8].join(" "),
    );
    check_all(
        "float x = float(lane) * 0.5 + 1.0; LOG(floatBitsToUint(x));",
        "3f800000 3fc00000 40000000 40200000 40400000 40600000 40800000 40900000",
    );
    // 1 + 2^-24 lies between two floats.
    check_all(
        "float x = 1.0 + uintBitsToFloat(0x33800000u + data[0]); LOG(floatBitsToUint(x)); LOG(uint(x < 1.5));",
        &["?,1"; 8].join(" "),
    );
    check_all("float x = subgroupAdd(float(lane)); LOG(floatBitsToUint(x));", &["41e00000"; 8].join(" "));
}

/// Exact results that lie next to a number are in no format: either neighbour may come.
#[test]
fn fractions_of_small_negative_numbers() {
    let body = "float x = -1e-20 + uintBitsToFloat(data[0]); LOG(floatBitsToUint(fract(x))); LOG(uint(fract(x) < 1.0)); LOG(uint(fract(x) > 0.99));";
    check_all(body, &["?,?,1"; 8].join(" "));
    let faulty = run(&compile("", body), Tier::Maximal, Some(Planted::FractOfHost));
    assert_eq!(self::text(&faulty), ["3f800000,0,1"; 8].join(" "));
}

/// "The instruction is to operate at relaxed precision. The instruction's operands may also be truncated to the relaxed precision" (SPIR-V 1.6 §2.14).
#[test]
fn operands_and_results_at_relaxed_precision() {
    let constants = "%65537 = OpConstant %uint 65537\n%float = OpTypeFloat 32\n%tenth = OpConstant %float 0.1\n%half = OpConstant %float 0.5\n";
    let header = HEADER.replacen("%void", "OpDecorate %r RelaxedPrecision\n%void", 1).replacen(
        "%array = OpTypeR",
        &format!("{constants}%array = OpTypeR"),
        1,
    );
    for (operation, row) in [
        ("%r = OpShiftRightLogical %uint %65537 %1", "?"),
        ("%r = OpUDiv %uint %65537 %65537", "?"),
        ("%r = OpIAdd %uint %16 %1", "11"),
        ("%r = OpBitReverse %uint %1", "?"),
        ("%r = OpFNegate %float %tenth", "?"),
        ("%r = OpFNegate %float %half", "bf000000"),
    ] {
        let as_uint = if operation.contains("float") { "OpBitcast" } else { "OpCopyObject" };
        let words = assemble(
            &header,
            &format!("{operation}\n%value = {as_uint} %uint %r\nSTORE 0 %value\nOpReturn\n"),
            "spv1.3",
        );
        assert_eq!(text(&run(&words, Tier::Maximal, None)), [row; 8].join(" "), "{operation}");
        let faulty = run(&words, Tier::Maximal, Some(Planted::RelaxedIsPrecise));
        assert!(!text(&faulty).contains('?'), "{operation}");
    }
}

/// SPV_KHR_no_integer_wrap_decoration: where an instruction leaves its width that is decorated so, behaviour is undefined. The lane number is 0 to 7.
#[test]
fn instructions_that_are_not_to_wrap() {
    let rows: [(&str, &str, &[u32]); 9] = [
        ("NoUnsignedWrap", "OpISub %uint %lane %2", &[0, 1]),
        ("NoSignedWrap", "OpISub %uint %lane %2", &[]),
        ("NoSignedWrap", "OpIAdd %uint %lane %most", &[1, 2, 3, 4, 5, 6, 7]),
        ("NoUnsignedWrap", "OpIAdd %uint %lane %most", &[]),
        ("NoUnsignedWrap", "OpIMul %uint %lane %most", &[3, 4, 5, 6, 7]),
        ("NoSignedWrap", "OpIMul %uint %lane %most", &[2, 3, 4, 5, 6, 7]),
        ("NoSignedWrap", "OpShiftLeftLogical %uint %most %lane", &[1, 2, 3, 4, 5, 6, 7]),
        ("NoUnsignedWrap", "OpShiftLeftLogical %uint %most %lane", &[2, 3, 4, 5, 6, 7]),
        ("NoContraction", "OpISub %uint %lane %2", &[]),
    ];
    for (decoration, instruction, lanes) in rows {
        let header = HEADER.replacen("OpDecorate %out", &format!("OpDecorate %r {decoration}\nOpDecorate %out"), 1);
        let header = header.replacen("%0 = OpC", "%most = OpConstant %uint 0x7FFFFFFF\n%0 = OpC", 1);
        let extension = "OpExtension \"SPV_KHR_no_integer_wrap_decoration\"\nOpMemoryModel";
        let header = header.replacen("OpMemoryModel", extension, 1);
        let words = assemble(&header, &format!("%r = {instruction}\nSTORE 0 %r\nOpReturn\n"), "spv1.3");
        let found = match run(&words, Tier::Maximal, None).end {
            End::Undefined(undefined) if undefined.rule == Rule::Overflow => undefined.lanes,
            End::Completed => Vec::new(),
            other => panic!("{other:?}: {decoration} {instruction}"),
        };
        assert_eq!(found, lanes, "{decoration} {instruction}");
    }
}

/// Vulkan, "Precision and Operation of SPIR-V Instructions": which instructions "must respect the DenormPreserve {ExecutionMode}". `%x` is a denormal.
#[test]
fn denormals_are_kept_by_the_instructions_that_must() {
    let header = with_float_mode("DenormPreserve");
    for (operation, row) in [
        ("OpFNegate %float %x", "80000001"),
        ("OpFAdd %float %x %zero", "1"),
        ("OpFMul %float %x %one", "1"),
        ("OpExtInst %float %std FAbs %x", "1"),
        ("OpExtInst %float %std FMax %x %zero", "1"),
        ("OpExtInst %float %std FSign %x", "3f800000"),
        ("OpExtInst %float %std Ceil %x", "?"),
        ("OpExtInst %float %std Fract %x", "?"),
        ("OpExtInst %float %std Step %x %zero", "?"),
        ("OpFDiv %float %x %one", "?"),
    ] {
        let body = format!(
            "%x = OpBitcast %float %1\n%r = {operation}\n%value = OpBitcast %uint %r\nSTORE 0 %value\nOpReturn\n"
        );
        let words = assemble(&header, &body, "spv1.3");
        assert_eq!(text(&run(&words, Tier::Maximal, None)), [row; 8].join(" "), "{operation}");
    }
}

/// Vulkan, "Correctly Rounded". Operands are in the words 1 to 3 of what is read, `%x` and `%y` their bits as floats; without a mode the result is either
/// neighbour.
#[test]
fn rounding_modes_decide_between_neighbours() {
    let numbers = "%low = OpConstant %uint 0x3F800001
        %tie = OpConstant %uint 0x33800000
        %far = OpConstant %uint 0x20800000
        %odd = OpConstant %uint 0x01000003
        %all = OpConstant %uint 0xFFFFFFFF
        %0 = OpC";
    for (operation, operands, nearest, zero) in [
        ("OpFAdd %float %x %y", ("low", "tie"), "3f800002", "3f800001"),
        ("OpFSub %float %x %y", ("low", "far"), "3f800001", "3f800000"),
        ("OpFAdd %float %x %y", ("low", "far"), "3f800001", "3f800001"),
        ("OpFMul %float %x %y", ("low", "low"), "3f800002", "3f800002"),
        ("OpConvertUToF %float %odd", ("low", "low"), "4b800002", "4b800001"),
        ("OpConvertUToF %float %all", ("low", "low"), "4f800000", "4f7fffff"),
        ("OpConvertSToF %float %all", ("low", "low"), "bf800000", "bf800000"),
        // Not correctly rounded, or of another width.
        ("OpFDiv %float %x %y", ("low", "odd"), "?", "?"),
    ] {
        for (mode, row) in [("RoundingModeRTE", nearest), ("RoundingModeRTZ", zero)] {
            let body = format!(
                "%x = OpBitcast %float %{}\n%y = OpBitcast %float %{}\n%r = {operation}\n%value = OpBitcast %uint %r\nSTORE 0 %value\nOpReturn\n",
                operands.0, operands.1
            );
            let with = |header: String| {
                let header = header.replacen("%0 = OpC", numbers, 1);
                let precise = if operation.contains("OpF") { "OpDecorate %r NoContraction\n" } else { "" };
                header.replacen("OpDecorate %out", &format!("{precise}OpDecorate %out"), 1)
            };
            let found = text(&run(&assemble(&with(with_float_mode(mode)), &body, "spv1.3"), Tier::Maximal, None));
            assert_eq!(found, [row; 8].join(" "), "{mode} {operation} {operands:?}");
            // Of the halfway cases the other one.
            let halfway = mode == "RoundingModeRTE" && (operands == ("low", "tie") || operation.ends_with("%odd"));
            if halfway {
                let module = assemble(&with(with_float_mode(mode)), &body, "spv1.3");
                assert_eq!(
                    text(&run(&module, Tier::Maximal, Some(Planted::TiesToOdd))),
                    [zero; 8].join(" "),
                    "{operation}"
                );
            }
            // Denormals are all that this mode is about.
            let without = assemble(&with(with_float_mode("DenormPreserve")), &body, "spv1.3");
            let exact = operation == "OpConvertSToF %float %all";
            let open = if exact { "bf800000" } else { "?" };
            assert_eq!(text(&run(&without, Tier::Maximal, None)), [open; 8].join(" "), "{operation} {operands:?}");
        }
    }
}

/// The header of a module with this execution mode for floats of 32 bits.
fn with_float_mode(mode: &str) -> String {
    let extension = "OpExtension \"SPV_KHR_float_controls\"\n%std = OpExtInstImport \"GLSL.std.450\"\nOpMemoryModel";
    let constants = "%float = OpTypeFloat 32\n%one = OpConstant %float 1\n%zero = OpConstant %float 0\n%0 = OpC";
    HEADER
        .replacen("OpMemoryModel", &format!("OpCapability {mode}\n{extension}"), 1)
        .replacen("OpDecorate %index", &format!("OpExecutionMode %main {mode} 32\nOpDecorate %index"), 1)
        .replacen("%0 = OpC", constants, 1)
}

/// The mode "does not change which rearrangements are valid" (Vulkan, Evaluation of Expressions). `%x` is -0.
#[test]
fn signs_of_zeros_are_kept_unless_a_rearrangement_changes_them() {
    for (operation, with_no_contraction, row) in [
        ("OpFAdd %float %x %zero", "0", "?"),
        ("OpFMul %float %x %zero", "80000000", "?"),
        ("OpFNegate %float %x", "0", "0"),
    ] {
        for (decoration, row) in [("OpDecorate %r NoContraction\n", with_no_contraction), ("", row)] {
            let header = with_float_mode("SignedZeroInfNanPreserve");
            let header = header.replacen("OpDecorate %out", &format!("{decoration}OpDecorate %out"), 1);
            let body = format!(
                "%bits = OpShiftLeftLogical %uint %1 %31\n%x = OpBitcast %float %bits\n%r = {operation}\n%value = OpBitcast %uint %r\nSTORE 0 %value\nOpReturn\n"
            );
            let header = header.replacen("%0 = OpC", "%31 = OpConstant %uint 31\n%0 = OpC", 1);
            let words = assemble(&header, &body, "spv1.3");
            assert_eq!(text(&run(&words, Tier::Maximal, None)), [row; 8].join(" "), "{operation} {decoration}");
        }
    }
}

/// Without the mode `x < y ? x : y` may be a minimum, and `c ? x : 0.0` a product: what is selected may be a zero of the other sign, or a NaN.
#[test]
fn zeros_that_are_selected_beside_other_signs_are_open() {
    for (selected, other, row) in [
        ("0x0p+0", "-0x0p+0", "?"),
        ("-0x0p+0", "0x0p+0", "?"),
        ("0x0p+0", "-0x1.8p+0", "?"),
        ("0x0p+0", "0x1p+128", "?"),
        ("0x0p+0", "0x1.8p+128", "?"),
        ("0x0p+0", "0x1.8p+0", "0"),
        ("-0x0p+0", "-0x1.8p+0", "80000000"),
        ("0x1.8p+0", "-0x0p+0", "3fc00000"),
    ] {
        let body = "%c = OpIEqual %bool %0 %0\n%r = OpSelect %float %c %x %y\n%value = OpBitcast %uint %r\nSTORE 0 %value\nOpReturn\n";
        let numbers = format!("%x = OpConstant %float {selected}\n%y = OpConstant %float {other}\n%0 = OpC");
        let with_mode = with_float_mode("SignedZeroInfNanPreserve").replacen("%0 = OpC", &numbers, 1);
        let without = HEADER.replacen("%0 = OpC", &format!("%float = OpTypeFloat 32\n{numbers}"), 1);
        assert_eq!(
            text(&run(&assemble(&without, body, "spv1.3"), Tier::Maximal, None)),
            [row; 8].join(" "),
            "{selected} {other}"
        );
        let kept = text(&run(&assemble(&with_mode, body, "spv1.3"), Tier::Maximal, None));
        assert!(!kept.contains('?'), "{selected} {other}: {kept}");
    }
}

/// Inputs and outputs of other entry points are none of this one's.
#[test]
fn variables_of_other_entry_points_are_left_alone() {
    let header = HEADER
        .replacen(
            "OpExecutionMode",
            "OpEntryPoint Fragment %other \"other\" %colour\nOpExecutionMode %other OriginUpperLeft\nOpExecutionMode",
            1,
        )
        .replacen("OpDecorate %index", "OpDecorate %colour Location 0\nOpDecorate %index", 1)
        .replacen(
            "%main = OpFunction",
            "%pout = OpTypePointer Output %uint\n%colour = OpVariable %pout Output\n%main = OpFunction",
            1,
        );
    let body = "STORE 0 %lane\nOpReturn\nOpFunctionEnd\n%other = OpFunction %void None %fn\n%other_entry = OpLabel\nOpStore %colour %1\nOpReturn\n";
    let words = assemble(&header, body, "spv1.3");
    assert_eq!(text(&run(&words, Tier::Maximal, None)), "0 1 2 3 4 5 6 7");
    let module = Module::parse(&words).expect("a module");
    let options = PipelineOptions { entry: Some("third".into()), ..PipelineOptions::default() };
    let problem = Pipeline::new(&module, &options).expect_err("there is none").to_string();
    assert!(problem.contains("'main', 'other'"), "{problem}");
}

/// Constants may be made by instructions with several literals.
#[test]
fn constants_of_several_indices() {
    let types = "%four = OpConstant %uint 4\n%rows = OpTypeArray %v4 %four\n%part = OpConstantComposite %v4 %0 %1 %2 %3\n%all = OpConstantComposite %rows %part %part %part %part\n";
    let made = "%with = OpSpecConstantOp %rows CompositeInsert %6 %all 2 1\n%element = OpSpecConstantOp %uint CompositeExtract %with 2 1\n%0 = OpC";
    let (last, rest) = (HEADER.rfind("%array = OpTypeRuntimeArray").expect("it is there"), HEADER);
    let header = format!("{}{types}{}\n{}", &rest[..last], made.trim_end_matches("%0 = OpC"), &rest[last..]);
    let words = assemble(&header, "STORE 0 %element\nOpReturn\n", "spv1.3");
    assert_eq!(text(&run(&words, Tier::Maximal, None)), ["6"; 8].join(" "));
}

/// One value for all constituents of a composite.
#[test]
fn replicated_composites() {
    let header = HEADER
        .replacen(
            "OpMemoryModel",
            "OpCapability ReplicatedCompositesEXT\nOpExtension \"SPV_EXT_replicated_composites\"\nOpMemoryModel",
            1,
        )
        .replacen("%array = OpType", "%fours = OpConstantCompositeReplicateEXT %v4 %4\n%array = OpType", 1);
    let body = "%lanes = OpCompositeConstructReplicateEXT %v4 %lane\n%sum = OpIAdd %v4 %lanes %fours\n%x = OpCompositeExtract %uint %sum 3\nSTORE 0 %x\nOpReturn\n";
    assert_eq!(text(&run(&assemble(&header, body, "spv1.3"), Tier::Maximal, None)), "4 5 6 7 8 9 a b");
}

/// An access out of bounds says of what, and control flow that is open says from where on.
#[test]
fn messages_name_what_they_are_about() {
    let header = HEADER.replacen("%0 = OpC", "%far = OpConstant %uint 1000000\n%0 = OpC", 1);
    let body = "%place = OpAccessChain %puint %out %0 %far\nOpStore %place %1\nOpReturn\n";
    let End::Undefined(undefined) = run(&assemble(&header, body, "spv1.3"), Tier::Maximal, None).end else {
        panic!("it is out of bounds")
    };
    assert!(undefined.detail.contains(" to 4000004 of buffer 0.1, which has 512"), "{undefined}");
    let open = "float q = float(lane + 1u) / 3.0; if (q == 1.0) LOG(1u);";
    let path = run(&compile("", open), Tier::Maximal, None).open_path.expect("a path").to_string();
    assert!(path.contains("OpBranchConditional") && path.contains("precision"), "{path}");
    let barrier = "float q = float(lane + 1u) / 3.0; if (lane < 4u) { if (q == 1.0) LOG(1u); barrier(); }";
    let problem = attempt(&compile("", barrier), Tier::Maximal, None).expect_err("it is not known").to_string();
    assert!(
        problem.contains("OpControlBarrier") && problem.contains("the operand of OpBranchConditional"),
        "{problem}"
    );
}

/// Where division by zero, whose quotient is an infinity or a NaN, is the other operand, a compiler may multiply; zeros of no certain sign are zeros, too.
#[test]
fn zeros_that_are_selected_beside_a_division_by_zero_are_open() {
    let zero = "float zero = uintBitsToFloat(data[0]);";
    let body = format!("{zero} float q = mix(1.0 / zero, zero, lane < 4u); LOG(floatBitsToUint(q));");
    check_all(&body, &["?"; 8].join(" "));
    let body = format!("{zero} float q = mix(1.0 / zero, -zero, lane < 8u); LOG(floatBitsToUint(q) << 1u);");
    check_all(&body, &["?"; 8].join(" "));
    let body = format!("{zero} float q = mix(1.0 / float(lane + 1u), zero, lane < 8u); LOG(floatBitsToUint(q));");
    check_all(&body, &["0"; 8].join(" "));
}

/// Flags that an instruction has count more than the execution modes.
#[test]
fn fast_math_flags_are_not_supported() {
    let body = "%one = OpConvertUToF %float %1\n%r = OpFAdd %float %one %one\n%value = OpBitcast %uint %r\nSTORE 0 %value\nOpReturn\n";
    let header = HEADER.replacen("%0 = OpC", "%float = OpTypeFloat 32\n%0 = OpC", 1);
    let words = assemble(&header, body, "spv1.3");
    assert!(Pipeline::new(&Module::parse(&words).expect("a module"), &PipelineOptions::default()).is_ok());
    let header = header
        .replacen(
            "OpMemoryModel",
            "OpCapability FloatControls2\nOpExtension \"SPV_KHR_float_controls2\"\nOpMemoryModel",
            1,
        )
        .replacen("OpDecorate %out", "OpDecorate %r FPFastMathMode NotNaN\nOpDecorate %out", 1);
    let words = assemble(&header, body, "spv1.3");
    let refused = Pipeline::new(&Module::parse(&words).expect("a module"), &PipelineOptions::default());
    assert!(refused.expect_err("it is refused").to_string().contains("FPFastMathMode"));
}

/// A driver may rely on values being uniform, which is not looked at.
#[test]
fn asserted_uniform_values_are_not_supported() {
    let body = "%r = OpIAdd %uint %1 %1\nSTORE 0 %r\nOpReturn\n";
    for (version, interface, decoration, name) in [
        ("spv1.3", "%index", "OpDecorate %r Uniform", "the decoration Uniform"),
        ("spv1.4", "%index %out", "OpDecorateId %r UniformId %3", "the decoration UniformId"),
    ] {
        let header = HEADER.replacen("\"main\" %index", &format!("\"main\" {interface}"), 1).replacen(
            "OpDecorate %out",
            &format!("{decoration}\nOpDecorate %out"),
            1,
        );
        let words = assemble(&header, body, version);
        let refused = Pipeline::new(&Module::parse(&words).expect("a module"), &PipelineOptions::default());
        assert!(refused.expect_err("it is refused").to_string().contains(name), "{name}");
    }
}

/// A loop that goes on only because lanes were taken to be together, whom a later visitor separates, is no reason to give up.
#[test]
fn what_rests_on_an_assumption_is_not_given_up() {
    let body = "uint s = 0u;
        for (uint k = 0u; k < 2u; k++) {
            if (lane < 4u) { if (k == 0u) { s = f(); while (s == 4u) { s = s * 1u; } } }
            else { if (k == 1u) s = f(); }
        }
        LOG(lane);";
    let outcome = attempt(&compile("uint f() { return subgroupAdd(1u); }", body), Tier::Plain, None);
    assert!(outcome.is_ok_and(|outcome| matches!(outcome.end, End::Completed)));
}

/// What a loop control says of a loop's dependencies is for a compiler to rely on.
#[test]
fn loop_controls_that_promise_something_are_not_supported() {
    let body = "OpBranch %loop
        %loop = OpLabel
        OpLoopMerge %done %again CONTROL
        OpBranch %body
        %body = OpLabel
        %more = OpULessThan %bool %lane %0
        OpBranchConditional %more %again %done
        %again = OpLabel
        OpBranch %loop
        %done = OpLabel
        STORE 0 %lane
        OpReturn
        ";
    for (control, refused) in
        [("Unroll", false), ("DontUnroll", false), ("DependencyInfinite", true), ("DependencyLength 3", true)]
    {
        let words = assemble(HEADER, &body.replace("CONTROL", control), "spv1.3");
        let module = Module::parse(&words).expect("a module");
        let pipeline = Pipeline::new(&module, &PipelineOptions::default());
        assert_eq!(pipeline.is_err(), refused, "{control}");
    }
}

/// Rule P6: lanes that may be together have one mask, or what they get is open.
#[test]
fn an_inverse_ballot_of_lanes_that_may_be_together() {
    let body = "if (lane < 6u) {\nuvec4 mask = uvec4(MASK);\nLOG(uint(subgroupInverseBallot(mask)));\n}\n";
    let of = |mask: &str| text(&run(&compile("", &body.replace("MASK", mask)), Tier::Plain, None));
    assert_eq!(of("5u"), "1 0 1 0 0 0 - -");
    assert_eq!(of("lane < 4u ? 5u : 6u"), "? ? ? ? ? ? - -");
}

/// Vulkan, "Precision and Operation of SPIR-V Instructions": an expression, its exact result, and how far off it may be. `z` is a zero that compilers
/// do not know.
#[test]
fn precision_of_functions() {
    let ulp = |exponent: i32| 2f64.powi(exponent - 23);
    let rows: [(&str, f64, f64); 15] = [
        ("7.0 / (3.0 + z)", 7.0 / 3.0, 2.5 * ulp(1)),
        ("inversesqrt(3.0 + z)", 1.0 / 3f64.sqrt(), 2.0 * ulp(-1)),
        // 1 / inversesqrt(): relative errors of 2 ULP, then 2.5 ULP.
        ("sqrt(3.0 + z)", 3f64.sqrt(), 3f64.sqrt() * 4.5 * ulp(0)),
        ("exp(1.0 + z)", 1f64.exp(), 5.0 * ulp(1)),
        ("exp2(-2.5 + z)", 2f64.powf(-2.5), 8.0 * ulp(-3)),
        ("log(5.0 + z)", 5f64.ln(), 3.0 * ulp(0)),
        ("log2(3.0 + z)", 3f64.log2(), 3.0 * ulp(0)),
        ("log(1.0 + z)", 0.0, 2f64.powi(-21)),
        ("log2(0.5 + z)", -1.0, 2f64.powi(-21)),
        ("sin(1.0 + z)", 1f64.sin(), 2f64.powi(-11)),
        ("sin(-3.0 + z)", (-3f64).sin(), 2f64.powi(-11)),
        ("cos(2.0 + z)", 2f64.cos(), 2f64.powi(-11)),
        ("cos(z)", 1.0, 2f64.powi(-11)),
        // exp2(y × log2(x)): 3 ULP of log2(3) times 2, rounded, and (3 + 2 × 3.17) ULP of exp2.
        ("pow(3.0 + z, 2.0)", 9.0, 9.0 * 2f64.ln() * (6.0 * ulp(0) + ulp(1)) + 9.34 * ulp(3)),
        ("fma(3.0 + z, 0.25, 0.125)", 0.875, 0.0),
    ];
    for (expression, exact, error) in rows {
        let test = |at: f64, is: &str| format!("LOG(uint(x {is} {at:.12e}));");
        // Ends of intervals are numbers of 32 bits, and so are those that are compared with.
        let far = 1.001 * error + 1.5 * ulp(exact.abs().max(1e-6).log2().floor() as i32);
        let body = format!(
            "float z = uintBitsToFloat(data[0]); float x = {expression}; {}{}{}{}",
            test(exact - far, ">"),
            test(exact + far, "<"),
            test(exact - 0.7 * error, ">="),
            test(exact + 0.7 * error, "<="),
        );
        check_all(&body, &[if error == 0.0 { "1,1,1,1" } else { "1,1,?,?" }; 8].join(" "));
    }
    // No precision is promised outside of the domain, nor for what the table does not name.
    for expression in ["sin(4.0 + z)", "sqrt(z)", "log(z)", "pow(z, 2.0)", "determinant(mat2(1.0 + z))"] {
        let body = format!("float z = uintBitsToFloat(data[0]); float x = {expression}; LOG(uint(x < 100.0));");
        check_all(&body, &["?"; 8].join(" "));
    }
}

/// What is "inherited from" a formula, or is one: an interval around the result, and what is exact in every form of it.
#[test]
fn functions_by_formula() {
    let rows = [
        ("tan(1.0 + z)", 1.557, 0.01),
        ("tan(-0.5 + z)", -0.5463, 0.005),
        ("asin(0.5 + z)", 0.5f64.asin(), 0.003),
        ("acos(-0.5 + z)", 2.0944, 0.005),
        ("atan(1.0 + z)", 1f64.atan(), 0.0005),
        ("atan(1.0 + z, -2.0)", 2.6779, 0.002),
        ("atan(-1.0 + z, 0.5)", -1.1071, 0.001),
        ("sinh(1.0 + z)", 1.1752, 0.0001),
        ("cosh(1.0 + z)", 1.5431, 0.0001),
        ("tanh(1.0 + z)", 0.7616, 0.0001),
        ("asinh(1.0 + z)", 0.8814, 0.0001),
        ("acosh(2.0 + z)", 1.3170, 0.0001),
        ("atanh(0.5 + z)", 0.5493, 0.0001),
        ("smoothstep(0.0, 1.0, 0.25 + z)", 0.15625, 0.0001),
        ("refract(vec2(0.6, -0.8) + z, vec2(0.0, 1.0), 0.5).y", -0.9539, 0.0001),
        ("refract(vec2(0.6, -0.8) + z, vec2(0.0, 1.0), 0.5).x", 0.3, 0.0001),
    ];
    for (expression, value, within) in rows {
        let body = format!(
            "float z = uintBitsToFloat(data[0]); float x = {expression}; LOG(uint(x > {:.6})); LOG(uint(x < {:.6})); LOG(uint(x > {value:.6}) | 2u);",
            value - within,
            value + within
        );
        let outcome = run(&compile("", &body), Tier::Maximal, None);
        let found = text(&outcome);
        assert!(found.starts_with("1,1,"), "{expression}: {found}");
    }
    for (expression, words) in [
        ("reflect(vec2(1.0, -1.0) + z, vec2(0.0, 1.0)).y", "3f800000"),
        ("faceforward(vec2(1.0, 2.0) + z, vec2(1.0, 0.0), vec2(-1.0, 0.0)).y", "40000000"),
        ("faceforward(vec2(1.0, 2.0) + z, vec2(1.0, 0.0), vec2(1.0, 0.0)).y", "c0000000"),
        // k is negative: all is reflected.
        ("refract(vec2(0.75, -0.25) + z, vec2(0.0, 1.0), 2.0).x", "0"),
        ("tan(1.0 + z)", "?"),
        ("atan(1.0 + z)", "?"),
        // Where the arc tangent jumps, and where nothing is promised.
        ("atan(z, -1.0)", "?"),
        ("smoothstep(0.0, 1.0, 0.25 + z)", "?"),
        ("smoothstep(1.0, 0.0, 0.25 + z)", "?"),
        ("tan(4.0 + z)", "?"),
    ] {
        let body = format!("float z = uintBitsToFloat(data[0]); LOG(floatBitsToUint({expression}));");
        check_all(&body, &[words; 8].join(" "));
    }
}

/// Blocks of workgroup memory with an explicit layout share their bytes (GL_EXT_shared_memory_block).
#[test]
fn workgroup_blocks() {
    let blocks = "#extension GL_EXT_shared_memory_block : require
        shared A { uint words_of_a[8]; } a;
        shared B { layout(offset = 8) uint16_t halves[4]; } c;";
    let write = "a.words_of_a[lane] = 0x10001u * lane;";
    let read = "LOG(uint(c.halves[lane % 4u]));";
    check(blocks, &format!("{write} barrier(); {read}"), &[(Tier::Plain, "2 2 3 3 2 2 3 3")]);
    let raced = text(&run(&compile(blocks, &format!("{write} {read}")), Tier::Plain, None));
    assert!(raced.contains("data race"), "{raced}");
    // The part that nobody wrote.
    check(
        blocks,
        "if (lane < 2u) c.halves[lane] = uint16_t(5u); barrier(); LOG(a.words_of_a[lane]);",
        &[(Tier::Plain, "? ? 50005 ? ? ? ? ?")],
    );
}

/// Storage images: a texel for each lane, and what is outside of them.
#[test]
fn storage_images() {
    let images = "#extension GL_EXT_nonuniform_qualifier : require
        layout(set = 0, binding = 2, r32ui) coherent uniform uimage2D u;
        layout(set = 0, binding = 3, rgba8i) uniform iimage2D i;
        layout(set = 0, binding = 4, rg16f) uniform image2DArray f;
        layout(set = 0, binding = 5, rgba32f) uniform image3D v;
        layout(set = 0, binding = 6, r16ui) uniform uimageBuffer t;
        layout(set = 0, binding = 7, r32i) uniform iimage1D several[2];
        ivec2 own() { return ivec2(lane % 4u, lane / 4u); }";
    let write = "imageStore(u, own(), uvec4(lane * 3u));";
    let read = "LOG(imageLoad(u, ivec2(lane % 4u, 1u - lane / 4u)).x);";
    for (body, words) in [
        (format!("{write} memoryBarrierImage(); barrier(); memoryBarrierImage(); {read}").as_str(), "c f 12 15 0 3 6 9"),
        (&format!("{write} {} LOG(imageLoad(u, own()).w);", read.replace("1u - lane / 4u", "lane / 4u")), "0,1 3,1 6,1 9,1 c,1 f,1 12,1 15,1"),
        ("ivec3 s = imageSize(f); LOG(uint(s.x)); LOG(uint(s.y)); LOG(uint(s.z));", &["4,2,2"; 8].join(" ")),
        // Stores outside of it have no effect; what is read there is open.
        ("imageStore(u, own() - ivec2(lane / 7u * 7u, 0), uvec4(9u)); LOG(imageLoad(u, own()).x);", "9 9 9 9 9 9 9 0"),
        ("LOG(imageLoad(u, own() + ivec2(1, 0)).x);", "0 0 0 ? 0 0 0 ?"),
        ("LOG(imageAtomicAdd(u, own() + ivec2(1, 0), 5u)); LOG(imageLoad(u, own() + ivec2(1, 0)).x);", "0,5 0,5 0,5 ?,? 0,5 0,5 0,5 ?,?"),
        ("imageAtomicAdd(u, ivec2(2, 1), lane); memoryBarrierImage(); barrier(); memoryBarrierImage(); LOG(imageLoad(u, ivec2(2, 1)).x);", &["1c"; 8].join(" ")),
        // -4 to 3, and what eight bits do not hold.
        (
            "imageStore(i, own(), ivec4(int(lane) - 4, 128, -128, 127)); ivec4 x = imageLoad(i, own());
             LOG(uint(x.x)); LOG(uint(x.y)); LOG(uint(x.z)); LOG(uint(x.w));",
            "fffffffc,?,ffffff80,7f fffffffd,?,ffffff80,7f fffffffe,?,ffffff80,7f ffffffff,?,ffffff80,7f \
             0,?,ffffff80,7f 1,?,ffffff80,7f 2,?,ffffff80,7f 3,?,ffffff80,7f",
        ),
        // 1/3 lies between two halves.
        (
            "imageStore(f, ivec3(own(), 1), vec4(lane + 1u, 1.0 / 3.0, 7.0, 7.0)); vec4 x = imageLoad(f, ivec3(own(), 1));
             LOG(uint(x.x)); LOG(floatBitsToUint(x.y)); LOG(uint(abs(x.y * 3.0 - 1.0) < 0.001)); LOG(uint(x.z) + uint(x.w));",
            "1,?,1,1 2,?,1,1 3,?,1,1 4,?,1,1 5,?,1,1 6,?,1,1 7,?,1,1 8,?,1,1",
        ),
        (
            "imageStore(v, ivec3(own(), 1), vec4(1.5, lane + 1u, -2.0, 3.0)); vec4 x = imageLoad(v, ivec3(own(), 1));
             LOG(floatBitsToUint(x.x)); LOG(uint(x.y)); LOG(uint(imageLoad(v, ivec3(own(), 0)).w));",
            "3fc00000,1,0 3fc00000,2,0 3fc00000,3,0 3fc00000,4,0 3fc00000,5,0 3fc00000,6,0 3fc00000,7,0 3fc00000,8,0",
        ),
        (
            "imageStore(several[nonuniformEXT(lane & 1u)], int(lane >> 1), ivec4(lane));
             LOG(uint(imageLoad(several[nonuniformEXT(lane & 1u)], int(lane >> 1)).x));",
            "0 1 2 3 4 5 6 7",
        ),
        (
            "if (lane < 5u) imageStore(t, int(lane), uvec4(0xFFFFu)); LOG(uint(imageSize(t))); LOG(imageLoad(t, int(lane)).x);",
            "4,ffff 4,ffff 4,ffff 4,ffff 4,? 4,? 4,? 4,?",
        ),
    ] {
        check(images, body, &[(Tier::Maximal, words), (Tier::Plain, words)]);
    }
    for race in [format!("{write} barrier(); {read}"), format!("{write} memoryBarrierBuffer(); barrier(); {read}")] {
        let found = text(&run(&compile(images, &race), Tier::Plain, None));
        assert!(found.contains("data race") && found.contains("image 0.2"), "{found}");
    }
}

/// Normalised fixed point, packed words and small floats; an image whose type names no format has four components of 32 bits.
#[test]
fn formats_of_storage_images() {
    let images = "#extension GL_EXT_shader_image_load_formatted : require
        layout(set = 0, binding = 2, rgba8) uniform image2D u;
        layout(set = 0, binding = 3, rg16_snorm) uniform image2D sn;
        layout(set = 0, binding = 4, rgb10_a2) uniform image2D p;
        layout(set = 0, binding = 5, rgb10_a2ui) uniform uimage2D q;
        layout(set = 0, binding = 6, r11f_g11f_b10f) uniform image2D f;
        layout(set = 0, binding = 7) uniform image2D any;
        ivec2 own() { return ivec2(lane % 4u, lane / 4u); }
        void logged(vec4 x) { for (int i = 0; i < 4; i++) LOG(x[i] == 0.0 ? 0u : floatBitsToUint(x[i])); }";
    let all = |words: &str| [words; 8].join(" ");
    for (body, words) in [
        // The ends are exact; what lies between two integers becomes any of them.
        ("imageStore(u, own(), vec4(-3.0, 1.0, 7.0, 0.0)); logged(imageLoad(u, own()));", all("0,3f800000,3f800000,0")),
        ("imageStore(u, own(), vec4(0.3)); LOG(uint(imageLoad(u, own()).x * 1000.0));", all("?")),
        (
            "imageStore(sn, own(), vec4(-1.0, 1.0, 5.0, 5.0)); logged(imageLoad(sn, own()));",
            all("bf800000,3f800000,0,3f800000"),
        ),
        (
            "imageStore(sn, own(), vec4(-7.0, 0.0, 0.0, 0.0)); logged(imageLoad(sn, own()));",
            all("bf800000,0,0,3f800000"),
        ),
        (
            "imageStore(p, own(), vec4(1.0, 0.0, 1.0, 1.0)); logged(imageLoad(p, own()));",
            all("3f800000,0,3f800000,3f800000"),
        ),
        (
            "imageStore(q, own(), uvec4(1023u, lane, 5u, 3u)); uvec4 x = imageLoad(q, own()); LOG(x.x); LOG(x.y); LOG(x.z); LOG(x.w);",
            (0..8).map(|lane| format!("3ff,{lane},5,3")).collect::<Vec<_>>().join(" "),
        ),
        // 1.5 and 65024 have few bits, 1/3 has not, and there is no sign.
        (
            "imageStore(f, own(), vec4(1.5, 65024.0, 0.0, 9.0)); logged(imageLoad(f, own()));",
            all("3fc00000,477e0000,0,3f800000"),
        ),
        (
            "imageStore(f, own(), vec4(1.5, 1.0 / 3.0, 1.0, 9.0)); LOG(floatBitsToUint(imageLoad(f, own()).y));",
            all("?"),
        ),
        ("imageStore(f, own(), vec4(-1.5, 0.0, 0.0, 0.0)); LOG(floatBitsToUint(imageLoad(f, own()).x));", all("?")),
        (
            "imageStore(any, own(), vec4(0.5, 1.0, 2.0, 0.25)); logged(imageLoad(any, own()));",
            all("3f000000,3f800000,40000000,3e800000"),
        ),
    ] {
        check(images, body, &[(Tier::Maximal, &words), (Tier::Plain, &words)]);
    }
}

/// Images that are read only: fetches of the one level are exact, what is sampled is open, and no reason to go astray.
#[test]
fn sampled_images() {
    let images = "#extension GL_EXT_samplerless_texture_functions : require
        layout(set = 0, binding = 2) uniform sampler2D x;
        layout(set = 0, binding = 3) uniform utexture3D v;
        layout(set = 0, binding = 4) uniform sampler how;
        layout(set = 0, binding = 5) uniform texture2DArray a[2];
        layout(set = 0, binding = 6) uniform samplerCube c;
        layout(set = 0, binding = 7) uniform isamplerBuffer t;
        layout(set = 0, binding = 8) uniform sampler2DMS m;
        float of(sampler2D y) { return texelFetch(y, ivec2(0), 0).x; }
        ivec2 own() { return ivec2(lane % 4u, lane / 4u); }";
    let all = |words: &str| [words; 8].join(" ");
    for (body, words) in [
        ("LOG(uint(texelFetch(x, own(), 0).x == 0.0)); LOG(uint(of(x)));", all("1,0")),
        ("LOG(uint(texelFetchOffset(x, own(), 0, ivec2(1, 0)).x));", "0 0 0 ? 0 0 0 ?".into()),
        // There is one level.
        ("LOG(uint(texelFetch(x, own(), int(lane & 1u)).x));", "0 ? 0 ? 0 ? 0 ?".into()),
        ("LOG(texelFetch(v, ivec3(own(), 1), 0).w); LOG(uint(textureSize(v, 0).z));", all("0,2")),
        (
            "LOG(uint(textureSize(x, int(lane & 1u)).x)); LOG(uint(textureQueryLevels(x)));",
            "4,1 ?,1 4,1 ?,1 4,1 ?,1 4,1 ?,1".into(),
        ),
        (
            "LOG(uint(texture(x, vec2(0.5)).x)); LOG(lane);",
            (0..8).map(|lane| format!("?,{lane}")).collect::<Vec<_>>().join(" "),
        ),
        ("LOG(uint(textureLod(sampler2DArray(a[lane & 1u], how), vec3(0.5), 0.0).x)); LOG(1u);", all("?,1")),
        (
            "LOG(uint(textureSize(a[1], 0).z)); LOG(uint(textureSize(c, 0).y)); LOG(uint(textureGather(c, vec3(1.0)).x));",
            all("2,2,?"),
        ),
        ("LOG(uint(texelFetch(t, int(lane)).x)); LOG(uint(textureSize(t)));", "0,4 0,4 0,4 0,4 ?,4 ?,4 ?,4 ?,4".into()),
        ("LOG(uint(texelFetch(m, own(), 0).x)); LOG(uint(textureSize(m).x));", all("?,4")),
    ] {
        check(images, body, &[(Tier::Maximal, &words), (Tier::Plain, &words)]);
    }
    let outcome = run(&compile(images, "LOG(floatBitsToUint(texture(x, vec2(0.5)).x));"), Tier::Maximal, None);
    let state = outcome.buffers[1].states[0] as usize;
    assert_eq!(outcome.reasons[state - 1].why, Why::Sampled);
}

/// `packUnorm4x8` and its relatives round to the nearest; from the middle between two integers to any of them.
#[test]
fn normalised_words() {
    let all = |words: &str| [words; 8].join(" ");
    for (body, words) in [
        (
            "LOG(packUnorm4x8(vec4(0.0, 1.0, 0.31, -2.0))); LOG(packSnorm4x8(vec4(-1.0, 1.0, 0.3, -7.0)));",
            all("4fff00,81267f81"),
        ),
        ("LOG(packUnorm2x16(vec2(1.0, 0.25))); LOG(packSnorm2x16(vec2(-1.0, 0.25)));", all("4000ffff,20008001")),
        ("LOG(packUnorm2x16(vec2(0.5, 1.0)));", all("?")),
        (
            "vec4 x = unpackUnorm4x8(0xFF330000u); LOG(uint(x.x < 0.001)); LOG(uint(abs(x.z - 0.2) < 0.001 && abs(x.w - 1.0) < 0.001));",
            all("1,1"),
        ),
        (
            "vec2 x = unpackSnorm2x16(0x80008001u); LOG(uint(abs(x.x + 1.0) < 0.001 && x.y >= -1.0 && x.y < -0.99));",
            all("1"),
        ),
    ] {
        check("", body, &[(Tier::Plain, &words)]);
    }
}

/// Functions whose results are "correct" or "correctly rounded", and what GLSL.std.450 leaves undefined of them.
#[test]
fn parts_of_floats() {
    for (body, words) in [
        ("int e; float m = frexp(6.0 + z, e); LOG(floatBitsToUint(m)); LOG(uint(e));", "3f400000,3"),
        ("int e; float m = frexp(-1e-3 + z, e); LOG(floatBitsToUint(m)); LOG(uint(e));", "bf03126f,fffffff7"),
        ("int e; float m = frexp(z, e); LOG(floatBitsToUint(m) << 1u); LOG(uint(e));", "0,0"),
        ("ivec2 e; vec2 m = frexp(vec2(8.0, 0.25) + z, e); LOG(floatBitsToUint(m.y)); LOG(uint(e.x));", "3f000000,4"),
        ("int e; float m = frexp(1.0 / z, e); LOG(floatBitsToUint(m)); LOG(uint(e));", "?,?"),
        (
            "float w; float f = modf(-2.5 + z, w); LOG(floatBitsToUint(f)); LOG(floatBitsToUint(w));",
            "bf000000,c0000000",
        ),
        ("float w; float f = modf(3.0 + z, w); LOG(floatBitsToUint(f) << 1u); LOG(floatBitsToUint(w));", "0,40400000"),
        (
            "LOG(floatBitsToUint(ldexp(0.75 + z, 3 + n))); LOG(floatBitsToUint(ldexp(-5.0 + z, n - 7)));",
            "40c00000,bd200000",
        ),
        // Too large a product, too large an exponent; the least that may not be flushed, and one that may.
        ("LOG(floatBitsToUint(ldexp(1.0 + z, 128 + n))); LOG(floatBitsToUint(ldexp(z, 129 + n)));", "?,?"),
        ("LOG(floatBitsToUint(ldexp(1.0 + z, n - 126))); LOG(floatBitsToUint(ldexp(4.0 + z, n - 127)));", "800000,?"),
        ("LOG(uint(ldexp(4.0 + z, n - 127) < 1e-37)); LOG(floatBitsToUint(ldexp(1e-37 + z, 300 + n)));", "1,?"),
    ] {
        check_all(&format!("float z = uintBitsToFloat(data[0]); int n = int(data[1]); {body}"), &[words; 8].join(" "));
    }
}

/// "The formula given may be transformed using the mathematical associativity, commutativity and distributivity" (Vulkan, "Inherited From Formula").
#[test]
fn formulas_in_any_form() {
    for (body, words) in [
        // x + (y - x) × a loses y beside x; x × (1 - a) + y × a does not.
        ("LOG(floatBitsToUint(mix(1e8 + z, 1.0, 1.0))); LOG(uint(mix(1e8 + z, 1.0, 1.0) < 100.0));", "?,1"),
        ("LOG(floatBitsToUint(mix(2.0 + z, 4.0, 0.5)));", "40400000"),
        // The sum depends on the order, or does not.
        ("LOG(floatBitsToUint(dot(vec3(1e8, 1.0, -1e8) + z, vec3(1.0))));", "?"),
        ("LOG(floatBitsToUint(dot(vec3(1.0, 2.0, 3.0) + z, vec3(4.0, 5.0, 6.0))));", "42000000"),
        ("LOG(floatBitsToUint(dot(vec2(1.5, -2.0) + z, vec2(4.0, 5.0))));", "c0800000"),
        (
            "float x = length(vec2(3.0, 4.0) + z); LOG(uint(abs(x - 5.0) < 1e-5)); LOG(uint(abs(x - 5.0) < 1e-7));",
            "1,?",
        ),
        ("vec2 x = normalize(vec2(3.0, -4.0) + z); LOG(uint(x.y < -0.7999)); LOG(uint(x.x <= 0.6));", "1,?"),
        ("vec3 x = cross(vec3(1.0, 2.0, 3.0) + z, vec3(4.0, 5.0, 6.0)); LOG(floatBitsToUint(x.y));", "40c00000"),
    ] {
        check_all(&format!("float z = uintBitsToFloat(data[0]); {body}"), &[words; 8].join(" "));
    }
}

/// "Implementations may rearrange floating-point operations using any of the mathematical properties governing the expressions in precise arithmetic"
/// (Vulkan, "Evaluation of Expressions"), but not those decorated with `NoContraction`, as all are that lead to a `precise` variable: what is logged
/// without and with it.
#[test]
fn expressions_may_be_rearranged() {
    // 8388608 + z is 2^23: a quarter is lost beside it.
    for (statements, plain, precise) in [
        // As it stands (2^23 - (2^23 - 1)) + 0.25; also 2^23 + (-(2^23 - 1) + 0.25), which has to be rounded.
        ("x = ((8388608.0 + z) + (-8388607.0 + z)) + 0.25;", "?", "3fa00000"),
        ("x = ((8388608.0 + z) + (-8388600.0 + z)) + 4.0;", "41400000", "41400000"),
        // Through a variable, a phi, a selection, a minimum, a component chosen at run time, a call.
        ("P float y = (8388608.0 + z) + (-8388607.0 + z); x = y + 0.25;", "?", "3fa00000"),
        ("P float y = z; if (lane < 9u) { y = (8388608.0 + z) - (8388607.0 + z); } x = y - 0.25;", "?", "3f400000"),
        ("P float y = (8388608.0 + z) - (8388607.0 + z); x = (lane < 9u ? y : z) + 0.25;", "?", "3fa00000"),
        ("P float y = (8388608.0 + z) - (8388607.0 + z); x = 0.25 - min(abs(y), 2.0);", "?", "bf400000"),
        ("P float y[2]; y[0] = (8388608.0 + z) - (8388607.0 + z); x = y[min(lane, 0u)] + 0.25;", "?", "3fa00000"),
        ("x = far(z) + 0.25;", "?", "3fa00000"),
        // Products of sums, also when they are multiplied out.
        ("x = ((4097.0 + z) - 4096.0) * ((4097.0 + z) - 4096.0);", "?", "3f800000"),
        ("x = (3.0 + z) * (5.0 + z) - (7.0 + z);", "41000000", "41000000"),
        // Nothing overflows as it stands; 1e20 × 1e30 does.
        ("x = ((1e-20 + z) * 1e20) * 1e30; x = x < 2e30 && x > 1e29 ? 1.0 : 2.0;", "?", "3f800000"),
        // Beside what is taken away again little is lost.
        ("x = ((1.0 + z) / 3.0 + 1024.0) - 1024.0; x = x < 0.5 ? 1.0 : 2.0;", "3f800000", "3f800000"),
    ] {
        for (qualifier, word) in [("", plain), ("precise", precise)] {
            let declarations = format!(
                "#define P {qualifier}
                 float far(float z) {{ P float y = (8388608.0 + z) - (8388607.0 + z); return y; }}"
            );
            let body = format!("float z = uintBitsToFloat(data[0]); P float x; {statements} LOG(floatBitsToUint(x));");
            check(&declarations, &body, &[(Tier::Maximal, &[word; 8].join(" "))]);
        }
    }
}

#[test]
fn floats_of_64_bits() {
    check_all(
        "double q = double(lane + 1u) / 3.0LF; LOG(uint(q < 10.0LF)); LOG(uint(q)); LOG(unpackDouble2x32(q).x);",
        "1,0,? 1,0,? 1,?,? 1,1,? 1,1,? 1,?,? 1,2,? 1,2,?",
    );
    // A quotient is promised with the precision of 32 bits only, sums and products are correctly rounded in 64.
    check_all(
        "double z = double(data[0]); double q = 1.0LF / (3.0LF + z);
         LOG(uint(abs(q - 1.0LF / 3.0LF) < 1e-6LF)); LOG(uint(abs(q - 1.0LF / 3.0LF) < 1e-9LF));
         double s = 1.0LF + 1e-17LF * (1.0LF + z); LOG(uint(s < 1.000000000000001LF)); LOG(uint(s == 1.0LF));
         double p = (67108865.0LF + z) * 67108863.0LF; LOG(uint(p == 4503599627370495.0LF));",
        &["1,?,1,?,1"; 8].join(" "),
    );
    check_all(
        "double r = sqrt(double(lane + 2u)); LOG(uint(r > 1.4142LF)); LOG(uint(r * 1000.0LF)); LOG(uint(r == 1.4142135623730951LF));",
        "1,586,? 1,6c4,0 1,?,0 1,8bc,0 1,991,0 1,a55,0 1,b0c,0 1,?,0",
    );
}

#[test]
fn memory() {
    check_all("s[lane] = lane; barrier(); LOG(s[7u - lane]);", "7 6 5 4 3 2 1 0");
    check_all("s[lane] = lane; subgroupBarrier(); LOG(s[7u - lane]);", "7 6 5 4 3 2 1 0");
    check_all("LOG(s[lane]);", "? ? ? ? ? ? ? ?");
    // The order of atomics is open; what they leave is not.
    check_all(
        "uint old = atomicAdd(data[0], 1u); LOG(old); memoryBarrierBuffer(); barrier(); memoryBarrierBuffer(); LOG(data[0]);",
        &["?,8"; 8].join(" "),
    );
    check_all("uint old = atomicAdd(data[lane], 1u); LOG(old);", "0 0 0 0 0 0 0 0");
    check_all("atomicOr(data[0], 1u << lane); LOG(1u);", "1 1 1 1 1 1 1 1");
    check_all("uint a[4]; for (uint i = 0u; i < 4u; i++) a[i] = i * lane; LOG(a[lane & 3u]);", "0 1 4 9 0 5 c 15");
}

/// The layout of a matrix is that of its member: written by columns, seen as words.
#[test]
fn matrices_by_rows_and_by_columns() {
    let declarations = "layout(set = 0, binding = 0, std430) buffer M { layout(row_major) mat2x3 rows; } m;
        layout(set = 0, binding = 0, std430) buffer N { layout(column_major) mat2x3 columns; } n;";
    let rows: [(&str, &str); 4] = [
        // Three rows of two, each at a multiple of 8 bytes.
        ("m.rows = mat2x3(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);", "3f800000,40800000,40000000,40a00000,40400000,40c00000,0,0"),
        // Two columns of three, each at a multiple of 16 bytes.
        (
            "n.columns = mat2x3(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);",
            "3f800000,40000000,40400000,0,40800000,40a00000,40c00000,0",
        ),
        ("m.rows[1] = vec3(1.0, 2.0, 3.0);", "0,3f800000,0,40000000,0,40400000,0,0"),
        (
            "uint i = data[15]; m.rows[i + 1u][i + 2u] = 1.0; n.columns[i + 1u][i + 2u] = 2.0;",
            "0,0,0,0,0,3f800000,40000000,0",
        ),
    ];
    for (body, words) in rows {
        let body = format!("if (lane == 0u) {{ {body} }}");
        let outcome = run(&compile(declarations, &body), Tier::Maximal, None);
        let left = (0..8).map(|at| format!("{:x}", outcome.buffers[0].word(4 * at).expect("determined")));
        assert_eq!(left.collect::<Vec<_>>().join(","), words, "{body}");
    }
}

/// Addresses point to a buffer that is bound, too, and to one that is not.
#[test]
fn physical_storage_buffer_addresses() {
    let glsl = "#version 450
        #extension GL_EXT_buffer_reference : require
        #extension GL_EXT_buffer_reference_uvec2 : require
        layout(local_size_x = 8) in;
        layout(buffer_reference, std430, buffer_reference_align = 4) buffer Node { uint value; };
        layout(set = 0, binding = 0) buffer Addresses { uvec2 nodes[8]; };
        layout(set = 0, binding = 1) buffer Out { uint words[]; };
        void main() {
            Node node = Node(nodes[gl_LocalInvocationIndex]);
            words[gl_LocalInvocationIndex * 16u] = node.value;
            node.value += 1u;
            words[gl_LocalInvocationIndex * 16u + 1u] = node.value;
        }";
    let words = toolchain::compile_with_lines(glsl, Stage::Compute, SpirvVersion::V1_5).expect("it compiles");
    let pipeline = Pipeline::new(&Module::parse(&words).expect("a module"), &PipelineOptions::default());
    let pipeline = pipeline.expect("supported");
    const FAR: u64 = 0x1_2345_6000;
    let dispatch = |offset: fn(u64) -> u64| {
        let addresses = (0..8u64).flat_map(|lane| (FAR + offset(lane)).to_le_bytes()).collect();
        Dispatch {
            workgroups: [1; 3],
            lane_map: LaneMap::linear(8, 8),
            draw: Draw::default(),
            buffers: vec![
                Buffer { binding: 0, bytes: addresses, ..Buffer::default() },
                Buffer { binding: 1, bytes: vec![0; 4 * 8 * WORDS], ..Buffer::default() },
                Buffer { set: 7, bytes: (0..32).collect(), address: Some(FAR), ..Buffer::default() },
            ],
            push: Vec::new(),
            limits: Limits::default(),
        }
    };
    let run = |offset| pipeline.run(&dispatch(offset));
    let outcome = run(|lane| 28 - 4 * lane).expect("it runs");
    assert_eq!(outcome.end, End::Completed);
    for lane in 0..8 {
        let value = u32::from_le_bytes([0, 1, 2, 3].map(|byte| byte + 28 - 4 * lane as u8));
        assert_eq!(outcome.buffers[1].word(lane * 64), Some(value));
        assert_eq!(outcome.buffers[1].word(lane * 64 + 4), Some(value + 1));
        assert_eq!(outcome.buffers[2].word(28 - 4 * lane), Some(value + 1));
    }
    let misaligned: fn(u64) -> u64 = |lane| if lane == 1 { 6 } else { 4 * lane };
    // Past the end, where nothing is, two invocations at one node, and one that is not as aligned as the type says.
    for (offset, rule, lanes) in [
        ((|lane| 4 * lane + 4) as fn(u64) -> u64, Rule::OutOfBounds, vec![7]),
        (|lane| if lane == 3 { 1 << 20 } else { 4 * lane }, Rule::OutOfBounds, vec![3]),
        (|lane| 4 * (lane / 2), Rule::DataRace, vec![0]),
        (misaligned, Rule::Misaligned, vec![1]),
    ] {
        let End::Undefined(undefined) = run(offset).expect("it runs").end else { panic!("nothing is undefined") };
        assert_eq!((undefined.rule, &undefined.lanes), (rule, &lanes), "{undefined}");
    }
    let faulty = Pipeline::new(&Module::parse(&words).expect("a module"), &PipelineOptions::default());
    let faulty = faulty.expect("supported").with_fault(Planted::AlignmentIgnored);
    let End::Undefined(undefined) = faulty.run(&dispatch(misaligned)).expect("it runs").end else { panic!("no race") };
    assert_eq!(undefined.rule, Rule::DataRace, "{undefined}");
}

/// Which descriptor each lane uses: without `NonUniform` the same one in all lanes of a subgroup that use one together.
#[test]
fn descriptors_that_differ_between_lanes() {
    let run = |body: &str| {
        let glsl = format!(
            "#version 450
            #extension GL_EXT_nonuniform_qualifier : require
            #extension GL_KHR_shader_subgroup_ballot : require
            #extension GL_EXT_maximal_reconvergence : require
            layout(local_size_x = 8) in;
            layout(set = 0, binding = 0) buffer A {{ uint word; }} array[2];
            layout(set = 0, binding = 1, r32ui) uniform uimage2D images[2];
            layout(set = 0, binding = 2) buffer B {{ uint result[8]; }};
            void main() [[maximally_reconverges]] {{ uint lane = gl_LocalInvocationIndex; {body} }}"
        );
        let words = toolchain::compile(&glsl, SpirvVersion::V1_5).expect("it compiles");
        let pipeline = Pipeline::new(&Module::parse(&words).expect("a module"), &PipelineOptions::default());
        let place = |binding, element| Buffer { binding, element, ..Buffer::default() };
        let outcome = pipeline.expect("supported").run(&Dispatch {
            workgroups: [1; 3],
            lane_map: LaneMap::linear(8, 4),
            draw: Draw::default(),
            buffers: vec![
                Buffer { bytes: vec![10, 0, 0, 0], ..place(0, 0) },
                Buffer { bytes: vec![11, 0, 0, 0], ..place(0, 1) },
                Buffer { bytes: vec![20, 0, 0, 0], extent: [1; 3], ..place(1, 0) },
                Buffer { bytes: vec![21, 0, 0, 0], extent: [1; 3], ..place(1, 1) },
                Buffer { bytes: vec![0; 32], ..place(2, 0) },
            ],
            push: Vec::new(),
            limits: Limits::default(),
        });
        let outcome = outcome.expect("it runs");
        match outcome.end {
            End::Completed => {
                Ok((0..8).map(|lane| outcome.buffers[4].word(4 * lane).unwrap_or(99)).collect::<Vec<_>>())
            }
            End::Undefined(undefined) => Err((undefined.rule, undefined.lanes)),
        }
    };
    let refused = |lanes: &[u32]| Err((Rule::NonUniformDescriptor, lanes.to_vec()));
    let every = [0, 1, 2, 3, 4, 5, 6, 7];
    for (body, wanted) in [
        ("result[lane] = array[nonuniformEXT(lane & 1u)].word;", Ok(vec![10, 11, 10, 11, 10, 11, 10, 11])),
        ("result[lane] = array[lane & 1u].word;", refused(&every)),
        (
            "result[lane] = imageLoad(images[nonuniformEXT(lane & 1u)], ivec2(0)).x;",
            Ok(vec![20, 21, 20, 21, 20, 21, 20, 21]),
        ),
        ("result[lane] = imageLoad(images[lane & 1u], ivec2(0)).x;", refused(&every)),
        ("if (lane != 0u) atomicAdd(array[lane & 1u].word, 1u);", refused(&every[1..])),
        // Each subgroup has its own.
        ("result[lane] = array[lane >> 2u].word;", Ok(vec![10, 10, 10, 10, 11, 11, 11, 11])),
        // Those that are not active do not count.
        ("if ((lane & 1u) == 1u) result[lane] = array[lane & 1u].word;", Ok(vec![0, 11, 0, 11, 0, 11, 0, 11])),
        (
            "for (;;) { uint i = subgroupBroadcastFirst(lane & 1u);
                if (i == (lane & 1u)) { result[lane] = array[lane & 1u].word; break; } }",
            Ok(vec![10, 11, 10, 11, 10, 11, 10, 11]),
        ),
    ] {
        assert_eq!(run(body), wanted, "{body}");
    }
}

#[test]
fn mediump_may_have_16_bits() {
    check_all("mediump uint x = data[0] + 70000u; LOG(x + 1u);", "? ? ? ? ? ? ? ?");
}

/// The line of the marker in a shader.
fn marked_line(declarations: &str, body: &str) -> u32 {
    let glsl = shader(declarations, body);
    glsl.lines().position(|line| line.contains("// HERE")).expect("a marker") as u32 + 1
}

#[test]
fn undefined_behaviour() {
    let rows: [(&str, Rule, &[u32]); 19] = [
        ("s[lane] = lane;\nLOG(s[7u - lane]); // HERE\n", Rule::DataRace, &[0]),
        ("words[100] = lane; // HERE\n", Rule::DataRace, &[1]),
        ("if (lane == 1u) data[3] = 1u;\nLOG(data[3]); // HERE\n", Rule::DataRace, &[0]),
        ("LOG(8u / (lane & 4u)); // HERE\n", Rule::Division, &[0]),
        ("LOG(uint(int(0x7FFFFFFFu + lane) / (int(data[0]) - 1))); // HERE\n", Rule::Division, &[1]),
        ("LOG(subgroupRotate(lane, lane)); // HERE\n", Rule::NonUniformOperand, &[0, 1, 2, 3, 4, 5, 6, 7]),
        ("LOG(subgroupQuadBroadcast(lane, lane & 3u)); // HERE\n", Rule::NonUniformOperand, &[0, 1, 2, 3]),
        ("LOG(s[lane + 4u]); // HERE\n", Rule::OutOfBounds, &[4]),
        ("words[100000u + lane] = 1u; // HERE\n", Rule::OutOfBounds, &[0]),
        ("LOG(subgroupBroadcast(lane, lane)); // HERE\n", Rule::NonUniformOperand, &[0, 1, 2, 3, 4, 5, 6, 7]),
        ("LOG(uint(subgroupInverseBallot(uvec4(lane)))); // HERE\n", Rule::NonUniformBallot, &[0, 1, 2, 3, 4, 5, 6, 7]),
        ("if (lane < 4u)\nbarrier(); // HERE\n", Rule::BarrierInDivergence, &[0, 1, 2, 3]),
        ("LOG(subgroupClusteredAdd(lane, 16u)); // HERE\n", Rule::ClusterSize, &[0, 1, 2, 3, 4, 5, 6, 7]),
        (
            "LOG(subgroupPartitionedAddNV(lane, uvec4(255u >> lane, 0u, 0u, 0u))); // HERE\n",
            Rule::Partition,
            &[0, 1, 2, 3, 4, 5, 6, 7],
        ),
        ("uint x;\nif (x == 1u) // HERE\nLOG(1u);", Rule::Poison, &[0, 1, 2, 3, 4, 5, 6, 7]),
        // The result of an oversized shift is undefined, and so what branches on it.
        ("uint x = 1u << (lane + 28u);\nif (x == 1u) // HERE\nLOG(1u);", Rule::Poison, &[4, 5, 6, 7]),
        ("LOG(data[1u << (lane + 28u - 28u * uint(lane < 4u))]); // HERE\n", Rule::Poison, &[4]),
        ("assumeEXT(lane < 5u); // HERE\n", Rule::Assumption, &[5, 6, 7]),
        ("if (lane == 2u) return;\nbarrier(); // HERE\n", Rule::BarrierInDivergence, &[0, 1, 3, 4, 5, 6, 7]),
    ];
    for (body, rule, lanes) in rows {
        let outcome = run(&compile("", body), Tier::Maximal, None);
        let End::Undefined(undefined) = &outcome.end else {
            panic!("nothing is undefined in {body}: {}", text(&outcome))
        };
        assert_eq!((undefined.rule, &undefined.lanes[..]), (rule, lanes), "{undefined} in {body}");
        assert!(undefined.to_string().contains(&format!("Op{:?}", undefined.location.opcode)), "{undefined}");
        let line = undefined.location.source.as_ref().map(|(_, line)| *line);
        assert_eq!(line, Some(marked_line("", body)), "{undefined} in {body}");
    }
    let body = "for (;;) {\ncursor = 0u;\nif (data[lane] != 0u) break; // HERE\n}";
    let Err(Error::Steps(_, location)) = attempt(&compile("", body), Tier::Maximal, None) else { panic!("it ends") };
    assert!(location.source.is_some(), "{location}");
}

/// What a subgroup barrier orders: the lanes that execute it together, and the memory that it names.
#[test]
fn exchange_within_a_subgroup() {
    for memory in ["s", "data"] {
        let last = |before: &str| format!("{memory}[lane] = lane; {before} LOG({memory}[subgroupMax(lane)]);");
        check_all(&last("subgroupBarrier();"), "7 7 7 7 7 7 7 7");
        let apart = format!("if (lane < 4u) {{ {} }}", last("subgroupBarrier();"));
        check("", &apart, &[(Tier::Maximal, "3 3 3 3 - - - -")]);
        let twice = format!("{} subgroupBarrier(); {memory}[lane] = 5u;", last("subgroupBarrier();"));
        check_all(&twice, "7 7 7 7 7 7 7 7");
        let declarations = "#extension GL_KHR_memory_scope_semantics : require";
        for racy in [
            last(""),
            last("subgroupMemoryBarrier();"),
            last("controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, 0, 0);"),
            last("if (lane < 4u) subgroupBarrier(); else subgroupBarrier();"),
            last("if (lane < 4u) subgroupBarrier();"),
            format!("{} {memory}[lane] = 5u;", last("subgroupBarrier();")),
        ] {
            let outcome = run(&compile(declarations, &racy), Tier::Maximal, None);
            let is_race = matches!(&outcome.end, End::Undefined(undefined) if undefined.rule == Rule::DataRace);
            assert!(is_race, "{racy}: {}", text(&outcome));
        }
    }
}

/// "Invocations will continue to execute the same dynamic instances as long as they follow the same control-flow path" (SPIR-V 1.6 §2.2.5): a barrier
/// orders those, whoever else comes to it. That is no race.
#[test]
fn a_subgroup_barrier_orders_those_on_one_path() {
    let exchange = "data[8u + lane] = lane; subgroupBarrier(); if (lane > 1u) LOG(data[8u + (lane ^ 1u)]);";
    let apart = format!("if (lane < 6u) {{ if (lane < 2u) s[lane] = 1u; {exchange} }}");
    let expected = "- - 3 2 5 4 - -";
    check("", &apart, &[(Tier::Maximal, expected), (Tier::SubgroupUniform, expected), (Tier::Plain, expected)]);
    let faulty = run(&compile("", &apart), Tier::Plain, Some(Planted::OpenBarrierOrdersNothing));
    assert!(matches!(faulty.end, End::Undefined(what) if what.rule == Rule::DataRace));
    // Whether others come to it, too, is open.
    let open = "float q = float(lane + 1u) / 3.0; if (lane == 0u) { if (q * 3.0 == 1.0) s[7] = 1u; }";
    let row = "~ ~ 3,~ 2,~ 5,~ 4,~ 7,~ 6,~";
    let body = format!("{open} {exchange}");
    check("", &body, &[(Tier::Maximal, row), (Tier::SubgroupUniform, row), (Tier::Plain, row)]);
    // Lanes of different classes may be apart: a race.
    let racy =
        format!("if (lane < 6u) {{ if (lane < 1u) s[lane] = 1u; {} }}", exchange.replace("lane > 1u", "lane < 2u"));
    let outcome = run(&compile("", &racy), Tier::Plain, None);
    assert!(matches!(outcome.end, End::Undefined(what) if what.rule == Rule::DataRace));
}

#[test]
fn reasons_name_the_instruction() {
    let outcome = run(&compile("", "LOG(subgroupShuffleUp(lane, 1u)); // HERE"), Tier::Maximal, None);
    let state = outcome.buffers[1].states[0] as usize;
    let reason = &outcome.reasons[state - 1];
    assert_eq!(reason.why, Why::InactiveSource);
    assert!(reason.to_string().contains("OpGroupNonUniformShuffleUp"), "{reason}");
}

/// An undefined value that decides something is traced to the instruction that left it undefined.
#[test]
fn undefined_behaviour_names_the_origin_of_its_operand() {
    for (body, says, why) in [
        (
            "int x = 5 - int(lane); if (x % 2 == 0) LOG(1u);",
            "the condition is undefined: undefined for these operands: OpSMod",
            Why::Operands,
        ),
        (
            "if (subgroupShuffleUp(lane, 1u) < 3u) LOG(1u);",
            "the condition is undefined: the source lane is not active: OpGroupNonUniformShuffleUp",
            Why::InactiveSource,
        ),
        ("uint x; if (lane > 9u) x = 1u; LOG(data[x]);", "the address is undefined: never written", Why::Uninitialised),
    ] {
        let outcome = run(&compile("", body), Tier::Maximal, None);
        let found = text(&outcome);
        assert!(found.contains(says), "{body}: {found}");
        let End::Undefined(met) = outcome.end else { panic!("{body}: {found}") };
        assert_eq!((met.rule, met.why), (Rule::Poison, Some(why)), "{body}");
    }
}

/// `radians`, `degrees` and `distance` by the formulas that their precision is inherited from.
#[test]
fn formulas_with_inherited_precision() {
    for (body, words) in [
        ("float x = radians(float(lane) * 0.0 + 180.0); LOG(uint(x * 1000.0)); LOG(floatBitsToUint(x));", "c45,?"),
        ("float x = degrees(float(lane) * 0.0 + 1.0); LOG(uint(x));", "39"),
        ("float x = distance(vec2(lane, 4.0), vec2(lane + 3u, 0.0)); LOG(uint(x + 0.5)); LOG(uint(x < 5.1));", "5,1"),
    ] {
        check("", body, &[(Tier::Plain, &[words; 8].join(" "))]);
    }
}

/// A specialisation constant in another width, where no rounding decides what it is.
#[test]
fn specialisation_constants_of_another_width() {
    let declarations = "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
        layout(constant_id = 3) const float of = 1.5;";
    let module = compile(declarations, "const float16_t half_of = float16_t(of); LOG(uint(float(half_of) * 2.0));");
    assert!(Module::parse(&module).expect("a module").uses(Op::SpecConstantOp));
    let pipeline = |of: f32| {
        let specialization = BTreeMap::from([(3, u64::from(of.to_bits()))]);
        let options = PipelineOptions { specialization, ..PipelineOptions::default() };
        Pipeline::new(&Module::parse(&module).expect("a module"), &options)
    };
    assert_eq!(text(&run(&module, Tier::Plain, None)), ["3"; 8].join(" "));
    assert!(pipeline(-2.0).is_ok());
    for rounded in [0.1, 1e-6] {
        let refused = pipeline(rounded).expect_err("rounding decides").to_string();
        assert!(refused.contains("of a number that is rounded"), "{refused}");
    }
}

/// Once, where it is declared, whatever is done with it.
#[test]
fn what_is_not_supported_is_named() {
    for (image, body, named) in [
        ("r32ui) uniform uimage2DMS x", "LOG(uint(imageSize(x).x));", "a multisampled storage image"),
        ("r32ui) uniform uimageCube x", "LOG(imageLoad(x, ivec3(0)).x);", "of other than one to three dimensions"),
    ] {
        let words = compile(&format!("layout(set = 0, binding = 2, {image};"), body);
        let refused = Pipeline::new(&Module::parse(&words).expect("a module"), &PipelineOptions::default());
        let Err(Error::Unsupported(list)) = refused else { panic!("{refused:?}") };
        assert!(list.iter().any(|what| what.contains(named)), "{list:?}");
    }
}

// ---- shapes of control flow that no GLSL front end makes ----

const HEADER: &str = "
    OpCapability Shader
    OpCapability GroupNonUniform
    OpCapability GroupNonUniformBallot
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main \"main\" %index
    OpExecutionMode %main LocalSize 8 1 1
    OpDecorate %index BuiltIn LocalInvocationIndex
    OpDecorate %array ArrayStride 4
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %out DescriptorSet 0
    OpDecorate %out Binding 1
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %uint = OpTypeInt 32 0
    %bool = OpTypeBool
    %true = OpConstantTrue %bool
    %v4 = OpTypeVector %uint 4
    %0 = OpConstant %uint 0
    %1 = OpConstant %uint 1
    %2 = OpConstant %uint 2
    %3 = OpConstant %uint 3
    %4 = OpConstant %uint 4
    %6 = OpConstant %uint 6
    %16 = OpConstant %uint 16
    %array = OpTypeRuntimeArray %uint
    %block = OpTypeStruct %array
    %pblock = OpTypePointer StorageBuffer %block
    %puint = OpTypePointer StorageBuffer %uint
    %out = OpVariable %pblock StorageBuffer
    %pin = OpTypePointer Input %uint
    %index = OpVariable %pin Input
    %main = OpFunction %void None %fn
    %entry = OpLabel
    %lane = OpLoad %uint %index
    %base = OpIMul %uint %lane %16
";

/// Assembles a body after the entry block's first instructions. A line `STORE n value` writes the n-th word; `BALLOT name` takes a ballot.
fn assembled(body: &str) -> Vec<u32> {
    assemble(HEADER, body, "spv1.3")
}

fn assemble(header: &str, body: &str, target: &str) -> Vec<u32> {
    let mut text = header.to_owned();
    for (number, line) in body.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["STORE", n, value] => text.push_str(&format!(
                "%at{number} = OpIAdd %uint %base %{n}\n%p{number} = OpAccessChain %puint %out %0 %at{number}\nOpStore %p{number} {value}\n"
            )),
            ["BALLOT", name] => text.push_str(&format!(
                "%ballot{number} = OpGroupNonUniformBallot %v4 %3 %true\n{name} = OpCompositeExtract %uint %ballot{number} 0\n"
            )),
            _ => text.push_str(&format!("{line}\n")),
        }
    }
    text.push_str("OpFunctionEnd\n");
    let target = AssemblyTarget::parse(target).expect("a target");
    let words = toolchain::assemble(&text, target).unwrap_or_else(|error| panic!("{error}\n{text}"));
    toolchain::validate(&words, SpirvVersion::V1_6).unwrap_or_else(|error| panic!("{error}\n{text}"));
    words
}

#[track_caller]
fn check_assembly(body: &str, expected: &str) {
    assert_eq!(text(&run(&assembled(body), Tier::Maximal, None)), expected, "{body}");
}

/// "If control flow is uniform upon entry into a structured loop": what a call in the header makes of it is within the loop. spirv-opt's `--merge-blocks`
/// makes such headers of `do { f(); } while (false)`.
#[test]
fn a_call_in_the_header_of_a_loop() {
    let body = "OpBranch %loop
        %loop = OpLabel
        %called = OpFunctionCall %void %f
        %again = OpULessThan %bool %lane %0
        OpLoopMerge %done %loop None
        OpBranchConditional %again %loop %done
        %done = OpLabel
        BALLOT %after
        STORE 0 %after
        OpControlBarrier %2 %2 %0
        OpReturn
        OpFunctionEnd
        %f = OpFunction %void None %fn
        %first = OpLabel
        %own = OpLoad %uint %index
        %some = OpULessThan %bool %own %4
        OpSelectionMerge %end None
        OpBranchConditional %some %early %end
        %early = OpLabel
        OpReturn
        %end = OpLabel
        OpReturn";
    for tier in [Tier::Plain, Tier::SubgroupUniform, Tier::Maximal] {
        assert_eq!(text(&run(&assembled(body), tier, None)), EIGHT_FF, "{tier:?}");
    }
    let faulty = run(&assembled(body), Tier::Plain, Some(Planted::LoopEnteredBehindHeader));
    assert!(matches!(faulty.end, End::Undefined(what) if what.rule == Rule::BarrierInDivergence));
}

/// The header is the continue target and the only block; two phis take each other's value.
#[test]
fn a_loop_of_one_block_with_phis_that_swap() {
    let body = "OpBranch %loop
        %loop = OpLabel
        %a = OpPhi %uint %1 %entry %b %loop
        %b = OpPhi %uint %2 %entry %a %loop
        %i = OpPhi %uint %0 %entry %next %loop
        %next = OpIAdd %uint %i %1
        BALLOT %together
        %again = OpULessThan %bool %i %lane
        OpLoopMerge %done %loop None
        OpBranchConditional %again %loop %done
        %done = OpLabel
        STORE 0 %a
        STORE 1 %b
        STORE 2 %together
        BALLOT %all
        STORE 3 %all
        OpReturn";
    let expected = "1,2,ff,ff 2,1,fe,ff 1,2,fc,ff 2,1,f8,ff 1,2,f0,ff 2,1,e0,ff 1,2,c0,ff 2,1,80,ff";
    check_assembly(body, expected);
    let faulty = run(&assembled(body), Tier::Maximal, Some(Planted::PhisOneByOne));
    assert_ne!(text(&faulty), expected);
}

/// The merge block of a selection is the header of a loop.
#[test]
fn a_merge_block_that_is_a_header() {
    check_assembly(
        "%low = OpULessThan %bool %lane %4
        OpSelectionMerge %loop None
        OpBranchConditional %low %then %loop
        %then = OpLabel
        BALLOT %some
        STORE 0 %some
        OpBranch %loop
        %loop = OpLabel
        %i = OpPhi %uint %0 %entry %0 %then %next %continue
        BALLOT %together
        OpLoopMerge %done %continue None
        OpBranch %test
        %test = OpLabel
        %again = OpULessThan %bool %i %lane
        OpBranchConditional %again %continue %done
        %continue = OpLabel
        %next = OpIAdd %uint %i %1
        OpBranch %loop
        %done = OpLabel
        STORE 1 %together
        OpReturn",
        "f,ff f,fe f,fc f,f8 .,f0 .,e0 .,c0 .,80",
    );
}

/// A break out of a selection inside a switch inside a loop; the switch's merge block is unreachable.
#[test]
fn breaks_over_several_constructs() {
    check_assembly(
        "OpBranch %loop
        %loop = OpLabel
        %i = OpPhi %uint %0 %entry %next %continue
        OpLoopMerge %done %continue None
        OpBranch %body
        %body = OpLabel
        OpSelectionMerge %never None
        OpSwitch %lane %other 0 %zero 1 %one
        %zero = OpLabel
        OpBranch %done
        %one = OpLabel
        OpBranch %continue
        %other = OpLabel
        %big = OpUGreaterThan %bool %lane %6
        OpSelectionMerge %also_never None
        OpBranchConditional %big %leave %stay
        %leave = OpLabel
        OpBranch %done
        %stay = OpLabel
        OpBranch %continue
        %also_never = OpLabel
        OpUnreachable
        %never = OpLabel
        OpUnreachable
        %continue = OpLabel
        BALLOT %going_on
        STORE 0 %going_on
        %next = OpIAdd %uint %i %1
        %again = OpULessThan %bool %next %2
        OpBranchConditional %again %loop %done
        %done = OpLabel
        BALLOT %all
        STORE 1 %all
        OpReturn",
        ".,ff 7e,ff 7e,ff 7e,ff 7e,ff 7e,ff 7e,ff .,ff",
    );
}

/// `VariablePointersStorageBuffer`: pointers out of a selection, a phi, a call and `OpPtrAccessChain`.
#[test]
fn variable_pointers() {
    let text = HEADER
        .replace("OpMemoryModel", "OpCapability VariablePointersStorageBuffer\nOpMemoryModel")
        .replace("%void = OpTypeVoid", "OpDecorate %puint ArrayStride 4\n%void = OpTypeVoid");
    let body = "
        %first = OpAccessChain %puint %out %0 %base
        %even_bits = OpBitwiseAnd %uint %lane %1
        %even = OpIEqual %bool %even_bits %0
        %next = OpPtrAccessChain %puint %first %1
        %chosen = OpSelect %puint %even %first %next
        OpStore %chosen %6
        OpSelectionMerge %merge None
        OpBranchConditional %even %then %merge
        %then = OpLabel
        %far = OpPtrAccessChain %puint %first %3
        OpBranch %merge
        %merge = OpLabel
        %met = OpPhi %puint %first %entry %far %then
        %old = OpLoad %uint %chosen
        OpStore %met %old
        %same = OpPtrEqual %bool %met %first
        %word = OpSelect %uint %same %1 %2
        %last = OpPtrAccessChain %puint %first %4
        OpStore %last %word
        OpReturn";
    let words = assemble(&text.replace("%main \"main\" %index", "%main \"main\" %index %out"), body, "spv1.4");
    assert_eq!(text_of(&words), "6,.,.,6,2 6,6,.,.,1 6,.,.,6,2 6,6,.,.,1 6,.,.,6,2 6,6,.,.,1 6,.,.,6,2 6,6,.,.,1");
}

/// Pointers into workgroup memory, and into one of two buffers.
#[test]
fn variable_pointers_to_several_variables() {
    let header = HEADER
        .replace("OpMemoryModel", "OpCapability VariablePointers\nOpMemoryModel")
        .replace("%main \"main\" %index", "%main \"main\" %index %out %data %wa %wb")
        .replace("%void = OpTypeVoid", "OpDecorate %data DescriptorSet 0\nOpDecorate %data Binding 0\nOpDecorate %puint ArrayStride 4\n%void = OpTypeVoid")
        .replace(
            "%pin = ",
            "%data = OpVariable %pblock StorageBuffer
            %5 = OpConstant %uint 5
            %int = OpTypeInt 32 1
            %row = OpTypeArray %uint %16
            %prow = OpTypePointer Workgroup %row
            %pword = OpTypePointer Workgroup %uint
            %wa = OpVariable %prow Workgroup
            %wb = OpVariable %prow Workgroup
            %pin = ",
        );
    let body = "
        %parity = OpBitwiseAnd %uint %lane %1
        %even = OpIEqual %bool %parity %0
        %pa = OpAccessChain %pword %wa %lane
        %pb = OpAccessChain %pword %wb %lane
        %pw = OpSelect %pword %even %pa %pb
        OpStore %pw %6
        %a = OpLoad %uint %pa
        STORE 0 %a
        %pd = OpAccessChain %puint %data %0 %lane
        %last = OpIAdd %uint %base %2
        %po = OpAccessChain %puint %out %0 %last
        %p = OpSelect %puint %even %pd %po
        OpStore %p %3
        %d = OpLoad %uint %pd
        STORE 1 %d
        %next = OpPtrAccessChain %puint %pd %3
        %up = OpPtrDiff %int %next %pd
        %bits = OpBitcast %uint %up
        STORE 3 %bits
        %down = OpPtrDiff %int %pd %next
        %less = OpBitcast %uint %down
        STORE 4 %less
        %apart = OpPtrDiff %int %pd %po
        %none = OpBitcast %uint %apart
        STORE 5 %none
        %equal = OpPtrEqual %bool %p %pd
        %word = OpSelect %uint %equal %1 %2
        STORE 6 %word
        OpReturn";
    let (even, odd) = ("6,3,.,3,fffffffd,?,1", "?,0,3,3,fffffffd,?,2");
    assert_eq!(text_of(&assemble(&header, body, "spv1.4")), [even, odd].repeat(4).join(" "));
}

/// Selectors of every width, negative literals, and a default that is the merge block.
#[test]
fn selectors_of_every_width() {
    for (width, capability) in [(8, "Int8"), (16, "Int16"), (32, "Matrix"), (64, "Int64")] {
        let header = HEADER
            .replace("OpMemoryModel", &format!("OpCapability {capability}\nOpMemoryModel"))
            .replace("%pin = ", &format!("%wide = OpTypeInt {width} 1\n%pin = "));
        let convert = if width == 32 { "OpBitcast" } else { "OpSConvert" };
        let body = format!(
            "%minus = OpISub %uint %lane %3
            %selector = {convert} %wide %minus
            OpSelectionMerge %merge None
            OpSwitch %selector %merge -3 %a -1 %b 2 %a
            %a = OpLabel
            STORE 0 %1
            OpBranch %merge
            %b = OpLabel
            STORE 0 %2
            OpBranch %merge
            %merge = OpLabel
            STORE 1 %3
            OpReturn"
        );
        assert_eq!(text_of(&assemble(&header, &body, "spv1.3")), "1,3 .,3 2,3 .,3 .,3 1,3 .,3 .,3", "{width}");
    }
}

/// What the module says is never reached, and what it says is never written.
#[test]
fn undefined_behaviour_that_no_front_end_makes() {
    let rule = |words: &[u32]| match run(words, Tier::Maximal, None).end {
        End::Undefined(undefined) => (undefined.rule, undefined.lanes.clone()),
        End::Completed => panic!("nothing is undefined"),
    };
    let unreachable = "
        %far = OpUGreaterThan %bool %lane %6
        OpSelectionMerge %merge None
        OpBranchConditional %far %then %merge
        %then = OpLabel
        OpUnreachable
        %merge = OpLabel
        OpReturn";
    assert_eq!(rule(&assembled(unreachable)), (Rule::Unreachable, vec![7]));
    let body = "STORE 0 %lane\nOpReturn";
    let all: Vec<u32> = (0..8).collect();
    let read_only =
        HEADER.replace("OpDecorate %block Block", "OpDecorate %block Block\nOpMemberDecorate %block 0 NonWritable");
    assert_eq!(rule(&assemble(&read_only, body, "spv1.3")), (Rule::ReadOnly, all.clone()));
    // The same by groups of decorations, which also give the binding.
    let grouped = HEADER.replace(
        "OpDecorate %out DescriptorSet 0\n    OpDecorate %out Binding 1",
        "
        OpDecorate %place DescriptorSet 0
        OpDecorate %place Binding 1
        %place = OpDecorationGroup
        OpGroupDecorate %place %out
        OpDecorate %fixed NonWritable
        %fixed = OpDecorationGroup
        OpGroupMemberDecorate %fixed %block 0",
    );
    assert_eq!(rule(&assemble(&grouped, body, "spv1.3")), (Rule::ReadOnly, all));
    let writable = grouped.replace("OpDecorate %fixed NonWritable", "OpDecorate %fixed Restrict");
    assert_eq!(text_of(&assemble(&writable, body, "spv1.3")), "0 1 2 3 4 5 6 7");
}

/// `OpCopyMemory` hands its memory operands on: a volatile copy of what others write is open, a plain one a race.
#[test]
fn copies_may_be_volatile() {
    let header = HEADER.replace("%lane = ", "%word = OpAccessChain %puint %out %0 %6\n%lane = ");
    let body = |access: &str| {
        format!(
            "%own = OpAccessChain %puint %out %0 %base\nOpStore %word %lane Volatile\nOpCopyMemory %own %word {access}\nOpReturn"
        )
    };
    let outcome = run(&assemble(&header, &body("Volatile"), "spv1.3"), Tier::Maximal, None);
    assert_eq!(text(&outcome), "?,.,.,.,.,.,? ? ? ? ? ? ? ?");
    // Of two masks the second one is the source's.
    let header_1_4 = header.replace("%main \"main\" %index", "%main \"main\" %index %out");
    let outcome = run(&assemble(&header_1_4, &body("None Volatile"), "spv1.4"), Tier::Maximal, None);
    assert_eq!(text(&outcome), "?,.,.,.,.,.,? ? ? ? ? ? ? ?");
    let outcome = run(&assemble(&header, &body(""), "spv1.3"), Tier::Maximal, None);
    assert!(matches!(outcome.end, End::Undefined(what) if what.rule == Rule::DataRace));
}

/// Execution modes of rounding are taken as no promise; what is exact is exact.
#[test]
fn rounding_modes_and_quantisation() {
    let header = |mode: &str| {
        HEADER
            .replace("OpMemoryModel", &format!("OpCapability {mode}\nOpMemoryModel"))
            .replace("%main \"main\" %index", "%main \"main\" %index %out")
            .replace("OpDecorate %index", &format!("OpExecutionMode %main {mode} 32\nOpDecorate %index"))
            .replace(
                "%pin = ",
                "%5 = OpConstant %uint 5
                %float = OpTypeFloat 32
                %one = OpConstant %float 1
                %tiny = OpConstant %float 0x1.8p-24
                %half = OpConstant %float 0.5
                %odd = OpConstant %float 1.0009
                %small = OpConstant %float 0x1p-15
                %large = OpConstant %float 1e6
                %pin = ",
            )
    };
    let body = "
        %sum = OpFAdd %float %one %tiny
        %sum_bits = OpBitcast %uint %sum
        STORE 0 %sum_bits
        %exact = OpFAdd %float %one %half
        %exact_bits = OpBitcast %uint %exact
        STORE 1 %exact_bits
        %q0 = OpQuantizeToF16 %float %half
        %b0 = OpBitcast %uint %q0
        STORE 2 %b0
        %q1 = OpQuantizeToF16 %float %odd
        %b1 = OpBitcast %uint %q1
        STORE 3 %b1
        %less = OpFOrdLessThan %bool %q1 %exact
        %is_less = OpSelect %uint %less %1 %0
        STORE 4 %is_less
        %q2 = OpQuantizeToF16 %float %small
        %b2 = OpBitcast %uint %q2
        STORE 5 %b2
        %q3 = OpQuantizeToF16 %float %large
        %b3 = OpBitcast %uint %q3
        STORE 6 %b3
        OpReturn";
    for mode in ["RoundingModeRTZ", "RoundingModeRTE"] {
        let words = assemble(&header(mode), body, "spv1.4");
        assert_eq!(text_of(&words), ["?,3fc00000,3f000000,?,1,?,?"; 8].join(" "), "{mode}");
    }
}

fn text_of(words: &[u32]) -> String {
    text(&run(words, Tier::Maximal, None))
}

/// SPV_KHR_integer_dot_product: packed bytes, vectors, signs, saturation. Operands come from memory, so that nothing is folded.
#[test]
fn integer_dot_products() {
    let text = HEADER.replace(
        "OpMemoryModel",
        "OpCapability DotProduct\nOpCapability DotProductInput4x8BitPacked\nOpCapability DotProductInputAll
         OpExtension \"SPV_KHR_integer_dot_product\"\nOpMemoryModel",
    );
    let text = text.replace(
        "%main = OpFunction",
        "%int = OpTypeInt 32 1
         %bytes = OpConstant %uint 0x01FF02FE
         %signs = OpConstant %uint 0x80FF7F03
         %most = OpConstant %int 0x7FFFFFF0
         %umost = OpConstant %uint 0xFFFFFFF0
         %v2 = OpTypeVector %uint 2
         %xy = OpConstantComposite %v2 %umost %3
         %main = OpFunction",
    );
    let body = "
        %s = OpSDot %int %bytes %signs PackedVectorFormat4x8Bit
        %u = OpUDot %uint %bytes %signs PackedVectorFormat4x8Bit
        %su = OpSUDot %int %bytes %signs PackedVectorFormat4x8Bit
        %us = OpSUDot %int %signs %bytes PackedVectorFormat4x8Bit
        %ss = OpSDotAccSat %int %bytes %bytes %most PackedVectorFormat4x8Bit
        %uu = OpUDotAccSat %uint %bytes %signs %umost PackedVectorFormat4x8Bit
        %vv = OpUDot %uint %xy %xy
        %of = OpUDotAccSat %uint %xy %xy %3
        %s_u = OpBitcast %uint %s
        %su_u = OpBitcast %uint %su
        %us_u = OpBitcast %uint %us
        %ss_u = OpBitcast %uint %ss
        STORE 0 %s_u
        STORE 1 %u
        STORE 2 %su_u
        STORE 3 %us_u
        STORE 4 %ss_u
        STORE 6 %uu
        STORE five %vv
        STORE seven %of
        OpReturn";
    let numbers = "%five = OpConstant %uint 5\n%seven = OpConstant %uint 7\n%16 = OpConstant";
    let words = assemble(&text.replace("%16 = OpConstant", numbers), body, "spv1.3");
    // By hand: bytes are -2|254, 2, -1|255, 1; the others 3, 127, -1|255, -128|128.
    let (signed, unsigned) = (-6 + 254 + 1 - 128, 254 * 3 + 254 + 255 * 255 + 128);
    let (mixed, other) = (-6 + 254 - 255 + 128, 254 * 3 + 254 - 255 - 128);
    let vector = 0u32.wrapping_sub(16).wrapping_mul(0u32.wrapping_sub(16)).wrapping_add(9);
    let lane = format!("{signed:x},{unsigned:x},{mixed:x},{other:x},{:x},{vector:x},ffffffff", 0x7FFF_FFF0 + 10);
    assert_eq!(text_of(&words), [format!("{lane},?").as_str(); 8].join(" "));
    let faulty = run(&words, Tier::Maximal, Some(Planted::DotOverflows));
    assert_eq!(self::text(&faulty), [format!("{lane},ffffffff").as_str(); 8].join(" "));
    let module = assemble(&text, "%s = OpSDot %int %bytes %signs\nOpReturn", "spv1.3");
    let refused = Pipeline::new(&Module::parse(&module).expect("a module"), &PipelineOptions::default());
    let Err(Error::Invalid(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("without a packed vector format"), "{why}");
}

#[test]
fn everything_is_ff_where_nothing_diverges() {
    check_all("LOG(b());", EIGHT_FF);
}

/// A lane that has executed an instruction is one of its visitors at once: that others come by alone later is then no assumption, and nothing has to be
/// repeated. Only where fewer lanes come first is the run repeated.
#[test]
fn runs_are_repeated_only_for_visitors_that_come_later() {
    for (body, repeated) in [
        ("for (uint i = 0u; i <= lane; i++) LOG(b());", false),
        ("for (uint i = 0u; i < 3u; i++) if (lane < 7u - i) LOG(b());", false),
        ("for (uint i = 0u; i < 3u; i++) if (lane < 5u + i) LOG(b());", true),
        ("if (lane < 5u) LOG(b());", false),
    ] {
        let module = compile("", body);
        let steps = |tier| run(&module, tier, None).steps;
        assert_eq!(steps(Tier::Plain) > steps(Tier::Maximal), repeated, "{body}");
    }
}

/// What a module with atomics and fences does: `None` if nothing is undefined, else what.
fn judged(body: &str) -> Option<Rule> {
    let declarations = "#extension GL_KHR_memory_scope_semantics : require";
    match run(&compile(declarations, body), Tier::Maximal, None).end {
        End::Completed => None,
        End::Undefined(undefined) => Some(undefined.rule),
    }
}

/// Atomics that release and acquire, and fences beside atomics, may order what other invocations do: that is no race, and the values are open. What
/// none of them can order is one (rule Y1).
#[test]
fn what_atomics_may_order_is_no_race() {
    let write = "if (lane == 0u) { data[1] = 7u; memoryBarrierBuffer(); atomicExchange(data[0], 1u); }";
    let (release, acquire) = (
        "gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease",
        "gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire",
    );
    let store = format!("if (lane == 0u) {{ data[1] = 7u; atomicStore(data[0], 1u, {release}); }}");
    let read = "if (atomicAdd(data[0], 0u) == 1u) { memoryBarrierBuffer(); LOG(data[1]); }";
    let load = format!("if (atomicLoad(data[0], {acquire}) == 1u) LOG(data[1]);");
    for (first, second) in [(write, read), (&store, &load), (write, &load), (&store, read)] {
        for text in
            [format!("{first} else if (lane == 1u) {{ {second} }}"), format!("if (lane == 1u) {{ {second} }} {first}")]
        {
            assert_eq!(judged(&text), None, "{text}");
        }
    }
    // The last workgroup, or here the last lane, reads what all have written.
    let last = "data[lane + 8u] = lane; memoryBarrierBuffer(); if (atomicAdd(data[0], 1u) == 7u) { memoryBarrierBuffer(); LOG(data[(lane + 1u) % 8u + 8u]); }";
    assert_eq!(judged(last), None);
    // Through the barrier of a workgroup, which another invocation reaches behind its acquire.
    let through = "if (lane == 0u) { data[1] = 7u; } s[lane] = 0u; memoryBarrierBuffer(); barrier(); if (lane == 2u) s[0] = atomicAdd(data[0], 1u); barrier(); LOG(s[0]);";
    assert_eq!(judged(through), None);
    let relaxed = "gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed";
    for racy in [
        // No acquire.
        format!("{write} if (lane == 1u) {{ if (atomicAdd(data[0], 0u) == 1u) LOG(data[1]); }}"),
        format!("{store} if (lane == 1u) {{ if (atomicLoad(data[0], {relaxed}) == 1u) LOG(data[1]); }}"),
        // The acquire comes before the atomic, and so orders nothing.
        format!("{write} if (lane == 1u) {{ memoryBarrierBuffer(); if (atomicAdd(data[0], 0u) == 1u) LOG(data[1]); }}"),
        // No release.
        format!("if (lane == 0u) {{ data[1] = 7u; atomicExchange(data[0], 1u); }} if (lane == 1u) {{ {read} }}"),
        format!(
            "if (lane == 0u) {{ atomicStore(data[0], 1u, {release}); data[1] = 7u; }} if (lane == 1u) {{ {load} }}"
        ),
        // Of another kind of memory.
        format!(
            "if (lane == 0u) {{ data[1] = 7u; memoryBarrierShared(); atomicExchange(data[0], 1u); }} if (lane == 1u) {{ {read} }}"
        ),
        // A lock without an acquire.
        "bool done = false; while (!done) { if (atomicCompSwap(data[0], 0u, 1u) == 0u) { data[1] += 1u; memoryBarrierBuffer(); atomicExchange(data[0], 0u); done = true; } }"
            .to_owned(),
        // The acquire comes late.
        format!(
            "{write} if (lane == 1u) {{ uint x = data[1]; memoryBarrierBuffer(); atomicAdd(data[0], 0u); LOG(x); }}"
        ),
        // Others synchronise.
        format!("{write} if (lane > 5u) {{ data[5] = lane; }} if (lane == 1u) {{ {read} }}"),
        // Barriers are no link of a chain without them.
        "s[lane] = lane; memoryBarrierShared(); barrier(); atomicAdd(s[0], 1u); data[5] = lane;".to_owned(),
    ] {
        assert_eq!(judged(&racy), Some(Rule::DataRace), "{racy}");
    }
}

/// What lanes may have written whose path is not known.
#[test]
fn writes_on_an_open_path_behind_something_that_orders_them() {
    let fifth_at = |tier: Tier, body: &str| {
        let outcome = run(&compile("", body), tier, None);
        assert!(matches!(outcome.end, End::Completed), "{body}: {}", text(&outcome));
        outcome.buffers[0].word(4 * 5)
    };
    let fifth = |body: &str| fifth_at(Tier::Maximal, body);
    let open = "uint open = lane == 0u ? atomicAdd(data[0], 1u) : lane == 1u ? atomicAdd(data[0], 1u) : 9u;";
    let write = "if (lane == 3u) data[5] = 1u;";
    let late = "if (open < 9u) { if (open == 1u) data[5] = 2u; }";
    for between in ["memoryBarrierBuffer(); barrier();", "subgroupBarrier();"] {
        assert_eq!(fifth(&format!("{open} {write} {between} {late}")), None, "{between}");
        // Nothing orders the two, and one of the orders of the atomics has both.
        for racy in [format!("{open} {write} {late}"), format!("{open} {between} {write} {late}")] {
            assert_eq!(judged(&racy), Some(Rule::DataRace), "{racy}");
        }
    }
    // Without atomics: a ballot in control flow that is not uniform.
    let ballot = "uint open = 9u; if (lane < 6u) { if (lane < 2u) s[lane] = 1u; open = b(); }";
    let late =
        "if (open < 9u) { if (open == 1u) s[5] = 2u; } memoryBarrierBuffer(); barrier(); if (lane == 7u) data[5] = 1u;";
    let before =
        |write: &str| format!("{ballot} {write} barrier(); if (open < 9u) {{ if (open == 1u) data[5] = 2u; }}");
    assert_eq!(fifth_at(Tier::Plain, &before("if (lane == 7u) data[5] = 1u; memoryBarrierBuffer();")), None);
    assert_eq!(fifth_at(Tier::Plain, &before("")), None);
    assert_eq!(fifth_at(Tier::Plain, &format!("{ballot} {late}")), Some(1));
    // Atomics may order them.
    let flag = "if (lane == 3u) { data[5] = 1u; memoryBarrierBuffer(); atomicExchange(data[0], 1u); }
        if (lane == 1u) { if (atomicAdd(data[0], 0u) == 1u) { memoryBarrierBuffer(); data[5] = 2u; } }";
    assert_eq!(fifth(flag), None);
}

/// "A is program-ordered before (or equals) C", "C is program-ordered before (or equals) B" (Vulkan memory model, of a release barrier A, a control barrier C
/// and an acquire barrier B): a fence releases what stands before it, and what stands between it and the control barrier is not released.
#[test]
fn a_fence_orders_what_was_done_before_it() {
    let exchange = |before: &str, between: &str| {
        format!("{before} memoryBarrierBuffer(); {between} barrier(); memoryBarrierBuffer(); LOG(data[lane ^ 1u]);")
    };
    check_all(&exchange("data[lane] = lane;", ""), "1 0 3 2 5 4 7 6");
    check_all(&exchange("data[lane] = lane;", "s[lane] = 1u;"), "1 0 3 2 5 4 7 6");
    check_all(&exchange("data[lane] = lane;", "data[lane + 8u] = 1u;"), "1 0 3 2 5 4 7 6");
    let racy = exchange("", "data[lane] = lane;");
    let outcome = run(&compile("", &racy), Tier::Maximal, None);
    assert!(matches!(outcome.end, End::Undefined(what) if what.rule == Rule::DataRace));
    let faulty = run(&compile("", &racy), Tier::Maximal, Some(Planted::FenceReleasesAll));
    assert_eq!(self::text(&faulty), "1 0 3 2 5 4 7 6");
}

/// The same: behind the control barrier somebody has to acquire, and before it to release.
#[test]
fn barriers_and_fences_acquire_what_was_released() {
    let declarations = "#extension GL_KHR_memory_scope_semantics : require
        #define FENCE(what) memoryBarrier(gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, what);
        #define BARRIER(execution, what) controlBarrier(execution, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, what);
        #define RELEASE gl_SemanticsRelease
        #define ACQUIRE gl_SemanticsAcquire
        #define BOTH gl_SemanticsAcquireRelease
        #define TOGETHER controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, 0, 0);
        #define OF_SUBGROUP controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, 0, 0);";
    let exchange = |between: &str| format!("data[lane] = lane; {between} LOG(data[lane ^ 1u]);");
    let (ordered, open, race) = ("1 0 3 2 5 4 7 6", "? ? ? ? ? ? ? ?", "DataRace");
    let found = |body: &str, fault: Option<Planted>| {
        let outcome = run(&compile(declarations, body), Tier::Maximal, fault);
        match &outcome.end {
            End::Undefined(what) => format!("{:?}", what.rule),
            End::Completed => text(&outcome),
        }
    };
    for (between, expected) in [
        ("FENCE(BOTH) TOGETHER FENCE(BOTH)", ordered),
        ("FENCE(RELEASE) TOGETHER FENCE(ACQUIRE)", ordered),
        ("FENCE(RELEASE) OF_SUBGROUP FENCE(ACQUIRE)", ordered),
        ("BARRIER(gl_ScopeWorkgroup, RELEASE) FENCE(ACQUIRE)", ordered),
        ("BARRIER(gl_ScopeSubgroup, RELEASE) FENCE(ACQUIRE)", ordered),
        ("FENCE(RELEASE) BARRIER(gl_ScopeWorkgroup, ACQUIRE)", ordered),
        ("FENCE(RELEASE) BARRIER(gl_ScopeSubgroup, ACQUIRE)", ordered),
        ("FENCE(RELEASE) TOGETHER OF_SUBGROUP TOGETHER FENCE(ACQUIRE)", ordered),
        ("FENCE(BOTH) TOGETHER", open),
        ("FENCE(BOTH) OF_SUBGROUP", open),
        ("FENCE(RELEASE) TOGETHER FENCE(RELEASE)", open),
        ("BARRIER(gl_ScopeWorkgroup, RELEASE)", open),
        ("BARRIER(gl_ScopeSubgroup, RELEASE)", open),
        ("FENCE(ACQUIRE) TOGETHER FENCE(ACQUIRE)", race),
        ("FENCE(ACQUIRE) OF_SUBGROUP FENCE(ACQUIRE)", race),
        ("TOGETHER FENCE(BOTH)", race),
        ("BARRIER(gl_ScopeWorkgroup, ACQUIRE)", race),
        ("FENCE(RELEASE) OF_SUBGROUP TOGETHER FENCE(ACQUIRE)", ordered),
        ("BARRIER(gl_ScopeSubgroup, RELEASE) TOGETHER FENCE(ACQUIRE)", ordered),
        // Those that acquire, of one subgroup.
        ("FENCE(RELEASE) TOGETHER if (lane < 4u) FENCE(ACQUIRE)", "1 0 3 2 ? ? ? ?"),
        // Those that release.
        ("if (lane < 4u) FENCE(RELEASE) TOGETHER FENCE(ACQUIRE)", race),
    ] {
        assert_eq!(found(&exchange(between), None), expected, "{between}");
    }
    // What one releases that has not acquired from the other.
    let apart = "if (lane == 0u) data[0] = 7u; if (lane < 2u) { FENCE(RELEASE) OF_SUBGROUP FENCE(ACQUIRE) }";
    let third = |release: &str| {
        format!(
            "{apart} if (lane >= 1u && lane < 4u) {{ if (lane == 2u) {{ FENCE(RELEASE) }} {release} OF_SUBGROUP FENCE(ACQUIRE) if (lane == 3u) LOG(data[0]); }}"
        )
    };
    assert_eq!(found(&third(""), None), race);
    assert_eq!(found(&third("if (lane == 1u) { FENCE(RELEASE) }"), None), "- - - 7 - - - -");
    // Atomics beside plain accesses, and several writes.
    let (zeros, sevens) = ("0 0 0 0 0 0 0 0", "7 7 7 7 7 7 7 7");
    for (body, without, with) in [
        ("uint x = atomicAdd(data[lane ^ 1u], 0u); UNITE data[lane] = 5u; FENCE(BOTH) LOG(x);", open, zeros),
        ("data[lane] = 5u; UNITE atomicAdd(data[lane ^ 1u], 2u); ALL LOG(data[lane]);", open, sevens),
        ("data[lane] = 5u; UNITE data[lane ^ 1u] = 6u; data[lane ^ 1u] = 7u; ALL LOG(data[lane]);", open, sevens),
        ("data[lane] = 5u; UNITE data[lane ^ 1u] = 6u; ALL data[lane] = 7u; LOG(data[lane]);", sevens, sevens),
        (
            "data[lane] = 5u; UNITE data[lane ^ 1u] = 6u; atomicExchange(data[lane ^ 1u], 7u); ALL LOG(data[lane]);",
            open,
            sevens,
        ),
        (
            "data[lane] = 0u; uint x = atomicAdd(data[lane], 0u); UNITE data[lane ^ 1u] = 5u; FENCE(BOTH) LOG(x);",
            open,
            zeros,
        ),
    ] {
        let all = "BARRIER(gl_ScopeWorkgroup, BOTH)";
        for (unite, expected) in [("FENCE(BOTH) TOGETHER", without), ("FENCE(BOTH) TOGETHER FENCE(BOTH)", with)] {
            let body = body.replace("UNITE", unite).replace("ALL", all);
            assert_eq!(found(&body, None), expected, "{body}");
        }
    }
    let later = |behind: &str| {
        format!("uint x = data[lane ^ 1u]; FENCE(BOTH) TOGETHER {behind} data[lane] = 5u; FENCE(BOTH) LOG(x);")
    };
    assert_eq!(found(&later("FENCE(ACQUIRE)"), None), "0 0 0 0 0 0 0 0");
    assert_eq!(found(&later(""), None), open);
    let outcome = run(&compile(declarations, &exchange("FENCE(BOTH) TOGETHER")), Tier::Maximal, None);
    assert!(outcome.reasons.iter().any(|reason| reason.why == Why::Unacquired), "{:?}", outcome.reasons);
    assert_eq!(found(&exchange("").replace(" LOG", " FENCE(BOTH) LOG"), None), race);
    let acquires = Some(Planted::BarrierAcquires);
    assert_eq!(found(&exchange("FENCE(BOTH) TOGETHER"), acquires), ordered);
    assert_eq!(found(&later(""), acquires), "0 0 0 0 0 0 0 0");
}

/// Atomics may order a read behind a write that is executed here behind it.
#[test]
fn a_read_may_come_behind_a_write_that_is_released_later() {
    let body = "if (lane == 0u) { atomicAdd(data[0], 0u); memoryBarrierBuffer(); LOG(data[1]); }
        if (lane == 1u) { data[1] = 7u; memoryBarrierBuffer(); atomicAdd(data[0], 1u); }";
    check("", body, &[(Tier::Maximal, "? - - - - - - -"), (Tier::Plain, "? - - - - - - -")]);
}

/// "X and Y are not mutually-ordered atomic operations" (Vulkan memory model, "Data Race"): volatile accesses are none, and nothing orders them.
#[test]
fn volatile_accesses_of_others_are_in_no_order() {
    let volatile = |body: &str| {
        let header = HEADER.replace("%lane = ", "%word = OpAccessChain %puint %out %0 %6\n%lane = ");
        assemble(&header, &format!("{body}\nOpReturn"), "spv1.3")
    };
    let body = "OpStore %word %lane Volatile\n%read = OpLoad %uint %word Volatile\nSTORE 0 %read";
    let outcome = run(&volatile(body), Tier::Maximal, None);
    assert_eq!(text(&outcome), "?,.,.,.,.,.,? ? ? ? ? ? ? ?");
    let faulty = run(&volatile(body), Tier::Maximal, Some(Planted::VolatileInOrder));
    assert_eq!(self::text(&faulty), "7,.,.,.,.,.,7 7 7 7 7 7 7 7");
    // One's own, and those that a barrier orders, are as others.
    let own = "%own = OpAccessChain %puint %out %0 %base\nOpStore %own %lane Volatile\n%read = OpLoad %uint %own Volatile\nSTORE 1 %read";
    let outcome = run(&volatile(own), Tier::Maximal, None);
    assert_eq!(text(&outcome), "0,0 1,1 2,2 3,3 4,4 5,5 6,6 7,7");
}

/// An atomic at an open address may be any of its array, and come before or behind others that no barrier orders with it.
#[test]
fn atomics_at_open_addresses() {
    let start = "uint i = uint(float(lane) / 3.0 * 3.0); if (lane == 0u) s[lane] = 0u; barrier();";
    let open = "if (lane == 7u) atomicExchange(s[i & 7u], 5u);";
    let known = "if (lane == 1u) LOG(atomicExchange(s[2], 6u)); barrier();";
    let body = format!("{start} {open} {known} LOG(s[2]);");
    let tiers = [Tier::Maximal, Tier::SubgroupUniform, Tier::Plain];
    check("", &body, &tiers.map(|tier| (tier, "? ?,? ? ? ? ? ? ?")));
    let faulty = run(&compile("", &body), Tier::Maximal, Some(Planted::OpenAddressInOrder));
    assert_eq!(self::text(&faulty), "6 ?,6 6 6 6 6 6 6");
    // A barrier between them orders them.
    check_all(&format!("{start} {open} barrier(); {known} LOG(s[2]);"), "6 ?,6 6 6 6 6 6 6");
}

/// Atomics are in one order, "A's scoped modification order" (Vulkan memory model), which is open: also that of what lanes on an open path may do, which
/// is no race, and that of loads and what others of those who loaded do later.
#[test]
fn atomics_whose_order_is_open() {
    let late = "float q = float(lane + 1u) / 3.0; if (lane == 7u) { if (q * 3.0 == 8.0) atomicAdd(data[0], 1u); }";
    let own = "if (lane == 0u) LOG(atomicAdd(data[0], 1u)); LOG(5u);";
    let tiers = [Tier::Maximal, Tier::SubgroupUniform, Tier::Plain];
    for body in [format!("{late} {own}"), format!("{own} {late}")] {
        check("", &body, &tiers.map(|tier| (tier, "?,5,~ 5,~ 5,~ 5,~ 5,~ 5,~ 5,~ ~")));
    }
    let faulty = run(&compile("", &format!("{late} {own}")), Tier::Maximal, Some(Planted::LostLanesLeaveAtomics));
    assert!(text(&faulty).starts_with("0,5,~"));
    // A barrier between them orders them.
    let shared = |body: &str| format!("if (lane < 1u) s[0] = 0u; barrier(); {}", body.replace("data", "s"));
    let before = shared(&format!("if (lane == 0u) LOG(atomicAdd(s[0], 1u)); barrier(); {late}"));
    check("", &before, &[(Tier::Maximal, "0,~ ~ ~ ~ ~ ~ ~ ~")]);
    let behind = shared(&format!("{late} barrier(); if (lane == 0u) LOG(atomicAdd(s[0], 1u));"));
    check("", &behind, &[(Tier::Maximal, "~ ~ ~ ~ ~ ~ ~ ~")]);

    let declarations = "#extension GL_KHR_memory_scope_semantics : require";
    let load = "uint r = atomicLoad(data[0], gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);";
    let body = format!("{load} if (lane == 7u) atomicAdd(data[0], 1u); LOG(r);");
    check(declarations, &body, &[(Tier::Maximal, "? ? ? ? ? ? ? ?"), (Tier::Plain, "? ? ? ? ? ? ? ?")]);
    let faulty = run(&compile(declarations, &body), Tier::Maximal, Some(Planted::AtomicsOfOthersForgotten));
    assert_eq!(self::text(&faulty), "0 0 0 0 0 0 0 0");
    for racy in [
        format!("{load} if (lane == 7u) data[0] = 1u; LOG(r);"),
        format!("atomicAdd(data[0], 1u); {load} if (lane == 7u) data[0] = 1u; LOG(r);"),
    ] {
        let outcome = run(&compile(declarations, &racy), Tier::Maximal, None);
        assert!(matches!(outcome.end, End::Undefined(what) if what.rule == Rule::DataRace));
    }
    for barrier in ["subgroupBarrier();", "memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();"] {
        let body = format!("{load} {barrier} if (lane == 7u) data[0] = 1u; LOG(r);");
        check(declarations, &body, &[(Tier::Maximal, "0 0 0 0 0 0 0 0")]);
        let body = format!("{load} {barrier} if (lane == 7u) atomicAdd(data[0], 1u); LOG(r);");
        check(declarations, &body, &[(Tier::Maximal, "0 0 0 0 0 0 0 0")]);
    }
}

/// What a lane on an open path may have written before a barrier that it comes to is seen behind it: the barrier "synchronizes-with" (Vulkan memory
/// model), for it as for the others. What others accessed since the barrier before it has not written: that would be a race.
#[test]
fn a_barrier_shows_what_lanes_on_an_open_path_may_have_written() {
    let q = "float q = float(lane + 1u) / 3.0;";
    let late = "if (lane == 7u) { if (q * 3.0 == 8.0) s[0] = 2u; }";
    let nothing = ["~"; 8].join(" ");
    let known = ["1,~", "1,~", "1,~", "1,~", "1,~", "1,~", "1,~", "~"].join(" ");
    for (body, row) in [
        (format!("s[lane] = 1u; subgroupBarrier(); {late} subgroupBarrier(); LOG(s[0]);"), &nothing),
        (format!("s[lane] = 1u; subgroupBarrier(); {late} barrier(); LOG(s[0]);"), &nothing),
        (format!("{late} s[lane] = 1u; subgroupBarrier(); LOG(s[lane & 3u]);"), &known),
        // It is not undefined, either.
        (format!("{late} subgroupBarrier(); if (lane == 0u) if (s[0] == 2u) LOG(3u);"), &nothing),
    ] {
        check("", &format!("{q} {body}"), &[(Tier::Maximal, row), (Tier::SubgroupUniform, row), (Tier::Plain, row)]);
    }
    let body = format!("{q} s[lane] = 1u; subgroupBarrier(); {late} subgroupBarrier(); LOG(s[0]);");
    let faulty = run(&compile("", &body), Tier::Maximal, Some(Planted::BarrierHidesLostWrites));
    assert!(text(&faulty).starts_with("1,~"));
    // A fence of theirs, and one of those that read.
    let fences =
        "data[lane] = 1u; subgroupBarrier(); if (lane == 7u) { if (q * 3.0 == 8.0) { data[0] = 2u; memoryBarrierBuffer(); } }
        barrier(); memoryBarrierBuffer(); if (lane == 0u) LOG(data[0]);";
    check("", &format!("{q} {fences}"), &[(Tier::Maximal, &nothing)]);
}

/// A loop that waits for another invocation: whether it ends is up to the order of their steps.
#[test]
fn waiting_for_another_invocation_is_not_called_endless() {
    for body in [
        "if (lane == 0u) { while (atomicAdd(data[0], 0u) == 0u) {} } else { atomicExchange(data[0], 1u); }",
        "while (atomicCompSwap(data[0], 0u, 1u) != 0u) {} data[1] += 1u; atomicExchange(data[0], 0u);",
        "bool done = false; while (!done) { if (atomicCompSwap(data[0], 0u, 1u) == 0u) { memoryBarrierBuffer(); data[1] += 1u; memoryBarrierBuffer(); atomicExchange(data[0], 0u); done = true; } }",
    ] {
        match attempt(&compile("", body), Tier::Maximal, None) {
            Ok(outcome) => assert!(matches!(outcome.end, End::Completed), "{body}: {}", text(&outcome)),
            Err(error) => assert!(matches!(error, Error::Steps(..)), "{body}: {error}"),
        }
    }
}

/// A variable that begins as zero does so in each workgroup, and each time that a run is repeated.
#[test]
fn variables_begin_anew_in_each_workgroup() {
    let text = "OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %group
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %group BuiltIn WorkgroupId
OpDecorate %array ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %words DescriptorSet 0
OpDecorate %words Binding 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%vector = OpTypeVector %uint 3
%null = OpConstantNull %uint
%one = OpConstant %uint 1
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%to_block = OpTypePointer StorageBuffer %block
%to_word = OpTypePointer StorageBuffer %uint
%to_vector = OpTypePointer Input %vector
%to_private = OpTypePointer Private %uint
%words = OpVariable %to_block StorageBuffer
%group = OpVariable %to_vector Input
%count = OpVariable %to_private Private %null
%main = OpFunction %void None %function
%1 = OpLabel
%2 = OpLoad %uint %count
%3 = OpIAdd %uint %2 %one
OpStore %count %3
%4 = OpLoad %vector %group
%5 = OpCompositeExtract %uint %4 0
%6 = OpAccessChain %to_word %words %null %5
OpStore %6 %3
OpReturn
OpFunctionEnd
";
    let target = AssemblyTarget::parse("spv1.3").expect("a target");
    let words = toolchain::assemble(text, target).expect("it assembles");
    let pipeline = Pipeline::new(&Module::parse(&words).expect("a module"), &PipelineOptions::default());
    let outcome = pipeline.expect("supported").run(&Dispatch {
        workgroups: [3, 1, 1],
        lane_map: LaneMap::linear(1, 4),
        draw: Draw::default(),
        buffers: vec![Buffer { bytes: vec![0; 12], ..Buffer::default() }],
        push: Vec::new(),
        limits: Limits::default(),
    });
    let outcome = outcome.expect("it runs");
    assert_eq!([0, 4, 8].map(|at| outcome.buffers[0].word(at)), [Some(1); 3]);
}
