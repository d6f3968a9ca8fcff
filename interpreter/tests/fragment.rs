//! Fragment shaders: helper invocations, demotion, derivatives, inputs. A framebuffer of 3 by 2 pixels and one subgroup of eight lanes: a quad of fragments,
//! and a quad of which lanes 5 and 7 are helpers.

use rspirv::spirv::ExecutionModel;
use tangle_interpreter::faults::Planted;
use tangle_interpreter::{
    Buffer, Dispatch, Draw, End, Error, Limits, Module, Outcome, OutputValue, Pipeline, PipelineOptions, Primitive,
};
use tangle_program::case::{SpirvVersion, Stage};
use tangle_runner::toolchain;

const MAXIMAL: &str = "[[maximally_reconverges]]";
const PLAIN: &str = "";
const QUADS: &str = "layout(quad_derivatives) in;";

/// A shader in which each lane has a word of `words`, and one more is for all.
fn shader(layout: &str, attribute: &str, body: &str) -> String {
    format!(
        "#version 450
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_EXT_maximal_reconvergence : require
#extension GL_EXT_demote_to_helper_invocation : require
#extension GL_EXT_terminate_invocation : require
#extension GL_EXT_shader_quad_control : require
layout(binding = 0) buffer Words {{ uint words[]; }};
{layout}
void main() {attribute} {{
    uint lane = gl_SubgroupInvocationID;
    {body}
}}
"
    )
}

fn run(layout: &str, attribute: &str, body: &str, fault: Option<Planted>) -> Result<Outcome, Error> {
    let glsl = shader(layout, attribute, body);
    let words = toolchain::compile_with_lines(&glsl, Stage::Fragment, SpirvVersion::V1_3)
        .unwrap_or_else(|e| panic!("{e}\n{glsl}"));
    toolchain::validate(&words, SpirvVersion::V1_3).unwrap_or_else(|error| panic!("{error}\n{glsl}"));
    let mut pipeline = Pipeline::new(&Module::parse(&words)?, &PipelineOptions::default())?;
    assert_eq!(pipeline.interface().stage, ExecutionModel::Fragment);
    if let Some(fault) = fault {
        pipeline = pipeline.with_fault(fault);
    }
    let flat = [(1, [7, 8, 9, 10])].into();
    let draw = Draw::covering([3, 2], Primitive { id: 4, layer: 2, flat });
    pipeline.run(&Dispatch {
        workgroups: [1, 1, 1],
        lane_map: draw.linear(8),
        draw,
        buffers: vec![Buffer { binding: 0, bytes: vec![0xEE; 36], ..Buffer::default() }],
        push: Vec::new(),
        limits: Limits::default(),
    })
}

/// The words of the eight lanes and the one for all: `.` where nothing was stored, `?` for what is not determined.
fn text(outcome: &Outcome) -> String {
    assert_eq!(outcome.end, End::Completed);
    let word = |at: usize| match outcome.buffers[0].word(at * 4) {
        Some(0xEEEE_EEEE) => ".".to_owned(),
        Some(word) => format!("{word:x}"),
        None => "?".to_owned(),
    };
    (0..9).map(word).collect::<Vec<_>>().join(" ")
}

/// A shader, what it leaves, and what it leaves with a fault.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a [(Planted, &'a str)]);

const BALLOT: &str = "words[lane] = subgroupBallot(true).x;";

const ROWS: &[Row<'_>] = &[
    ("", MAXIMAL, BALLOT, "ff ff ff ff ff . ff . .", &[(Planted::HelpersStore, "ff ff ff ff ff ff ff ff .")]),
    // Helpers may be inactive, but for quad operations.
    ("", PLAIN, BALLOT, "? ? ? ? ? . ? . .", &[(Planted::HelpersActiveAtEachTier, "ff ff ff ff ff . ff . .")]),
    ("", PLAIN, "words[lane] = subgroupQuadSwapHorizontal(lane);", "1 0 3 2 5 . 7 . .", &[]),
    ("", PLAIN, "words[lane] = subgroupQuadBroadcast(lane, 3u);", "3 3 3 3 7 . 7 . .", &[]),
    // What a helper gets that may be inactive is not said, whatever it depends on.
    (
        "",
        PLAIN,
        "bool x = subgroupBallotBitExtract(uvec4(0xFFu), lane); words[lane] = subgroupQuadSwapHorizontal(uint(x));",
        "1 1 1 1 ? . ? . .",
        &[],
    ),
    // The last fragment of the quad is elsewhere, and may have ended: lanes 5 and 7 may be gone.
    (
        "",
        MAXIMAL,
        "uint x = 0u; if (gl_HelperInvocation) x = subgroupBallot(true).x; words[lane] = subgroupShuffleXor(x, 1u);",
        "0 0 0 0 ? . ? . .",
        &[(Planted::HelpersAlwaysThere, "0 0 0 0 a0 . a0 . .")],
    ),
    (
        "",
        MAXIMAL,
        "if (lane >= 4u && !gl_HelperInvocation) terminateInvocation; words[lane] = subgroupBallot(true).x;",
        "? ? ? ? . . . . .",
        &[(Planted::HelpersAlwaysThere, "af af af af . . . . .")],
    ),
    // Of a quad operation only what is made of their quad is open.
    (
        "",
        MAXIMAL,
        "if (lane >= 4u && !gl_HelperInvocation) terminateInvocation; words[lane] = subgroupQuadSwapVertical(lane);",
        "2 3 0 1 . . . . .",
        &[],
    ),
    // A fragment that is demoted goes on as a helper, and one that is terminated does not.
    (
        "",
        MAXIMAL,
        "if (lane == 1u) demote; words[lane] = subgroupBallot(helperInvocationEXT()).x;",
        "a2 . a2 a2 a2 . a2 . .",
        &[(Planted::DemotedIsNoHelper, "a0 . a0 a0 a0 . a0 . .")],
    ),
    (
        "",
        MAXIMAL,
        "words[lane] = 1u; if (lane == 1u) terminateInvocation; words[lane] = subgroupBallot(true).x;",
        "fd 1 fd fd fd . fd . .",
        &[],
    ),
    // `OpKill` is either.
    (
        "",
        MAXIMAL,
        "words[lane] = 1u; if (lane == 1u) discard; words[lane] = subgroupBallot(true).x;",
        "? 1 ? ? ? . ? . .",
        &[(Planted::LostLanesIgnored, "fd 1 fd fd fd . fd . .")],
    ),
    ("", MAXIMAL, "if (lane == 1u) discard; words[lane] = subgroupQuadBroadcast(lane, 2u);", "? . ? ? ? . ? . .", &[]),
    // What it was at the begin is said without `Volatile`, and what it is now is the implementation's choice then.
    (
        "",
        MAXIMAL,
        "if (lane == 1u) demote; words[lane] = subgroupQuadSwapHorizontal(uint(gl_HelperInvocation));",
        "? . 0 0 1 . 1 . .",
        &[],
    ),
    // Squares of the lanes: 0, 1, 4, 9 and 16, 25, 36, 49.
    (
        "",
        PLAIN,
        "words[lane] = uint(int(dFdxFine(float(lane * lane))));",
        "1 1 5 5 9 . d . .",
        &[
            (Planted::DerivativeReversed, "ffffffff ffffffff fffffffb fffffffb fffffff7 . fffffff3 . ."),
            (Planted::DerivativeOfOtherRow, "5 5 1 1 d . 9 . ."),
        ],
    ),
    ("", PLAIN, "words[lane] = uint(dFdyFine(float(lane * lane)));", "4 8 4 8 14 . 14 . .", &[]),
    ("", PLAIN, "words[lane] = uint(fwidthFine(-float(lane * lane)));", "5 9 9 d 1d . 21 . .", &[]),
    (
        "",
        PLAIN,
        "words[lane] = uint(dFdxCoarse(float(lane * lane)));",
        "? ? ? ? ? . ? . .",
        &[(Planted::CoarseIsFine, "1 1 5 5 9 . d . .")],
    ),
    // Lanes 0 and 1 have no slope of their own, and may get that of the other row.
    ("", PLAIN, "words[lane] = uint(dFdx(float(lane < 2u ? 0u : lane * lane)));", "? ? ? ? ? . ? . .", &[]),
    ("", PLAIN, "words[lane] = uint(dFdx(float(lane / 4u)));", "0 0 0 0 0 . 0 . .", &[]),
    ("", PLAIN, "words[lane] = uint(dFdx(float(lane)) + 2.0 * dFdyCoarse(float(lane)));", "5 5 5 5 5 . 5 . .", &[]),
    ("", PLAIN, "words[lane] = uint(fwidth(float(lane)));", "3 3 3 3 3 . 3 . .", &[]),
    // Derivatives stand where control flow is uniform in the primitive, or in the quad if that is asked for.
    ("", PLAIN, "if (lane < 4u) words[lane] = uint(dFdxFine(float(lane)));", "? ? ? ? . . . . .", &[]),
    (QUADS, MAXIMAL, "if (lane < 4u) words[lane] = uint(dFdxFine(float(lane)));", "1 1 1 1 . . . . .", &[]),
    (QUADS, MAXIMAL, "if (lane < 3u) words[lane] = uint(dFdxFine(float(lane)));", "? ? ? . . . . . .", &[]),
    // Inputs.
    (
        "",
        PLAIN,
        "words[lane] = uint(gl_FragCoord.x) + 16u * uint(gl_FragCoord.y) + 256u * uint(gl_PrimitiveID);",
        "400 401 410 411 402 . 412 . .",
        &[],
    ),
    (
        "layout(location = 1, component = 1) flat in uvec2 given;",
        PLAIN,
        "words[lane] = 16u * given.x + given.y;",
        "89 89 89 89 89 . 89 . .",
        &[],
    ),
    // Helpers count nothing.
    ("", PLAIN, "if (lane == 0u) words[8] = 0u;", ". . . . . . . . 0", &[]),
    ("", PLAIN, "atomicAdd(words[8], 0x100u);", ". . . . . . . . eeeef4ee", &[]),
    (
        "",
        PLAIN,
        "uint x = atomicOr(words[lane], 1u); words[lane] = subgroupQuadSwapHorizontal(x);",
        ". . . . ? . ? . .",
        &[],
    ),
];

#[test]
fn what_they_compute() {
    for &(layout, attribute, body, expected, faulty) in ROWS {
        let run = |fault| run(layout, attribute, body, fault).unwrap_or_else(|error| panic!("{error}: {body}"));
        assert_eq!(text(&run(None)), expected, "{attribute} {body}");
        for &(fault, expected) in faulty {
            assert_eq!(text(&run(Some(fault))), expected, "{fault:?}: {body}");
        }
    }
}

/// Outputs by location: `-` of invocations that have none.
#[test]
fn what_they_put_out() {
    for (body, expected, faulty) in [
        ("seen = uvec2(lane, subgroupBallot(true).x);", "0,ff 1,ff 2,ff 3,ff 4,ff - 6,ff -", "5,ff 7,ff"),
        ("if (lane == 1u) terminateInvocation; seen = uvec2(lane);", "0,0 - 2,2 3,3 4,4 - 6,6 -", "5,5 7,7"),
        ("if (lane == 1u) discard; seen = uvec2(lane);", "0,0 - 2,2 3,3 4,4 - 6,6 -", "5,5 7,7"),
        ("seen = uvec2(lane); if (lane == 1u) demote; seen.y = 9u;", "0,9 - 2,9 3,9 4,9 - 6,9 -", "1,9 5,9 7,9"),
        ("if (lane < 4u) seen.x = lane;", "0,? 1,? 2,? 3,? ?,? - ?,? -", "?,? ?,?"),
    ] {
        let text = |fault| {
            let outcome = run("layout(location = 3) out uvec2 seen;", MAXIMAL, body, fault).expect(body);
            let [output] = &outcome.outputs[..] else { panic!("one output of {body}") };
            assert_eq!((output.location, output.component, output.scalars), (3, 0, 2));
            let shown = |value: &OutputValue| match value {
                OutputValue::Determined(bits) => format!("{bits:x}"),
                OutputValue::Open(reason) => {
                    assert!(outcome.reasons.len() >= *reason as usize);
                    "?".to_owned()
                }
                OutputValue::Absent => "-".to_owned(),
            };
            let each = output.values.chunks(2).map(|values| match values {
                [OutputValue::Absent, OutputValue::Absent] => "-".to_owned(),
                values => values.iter().map(shown).collect::<Vec<_>>().join(","),
            });
            each.collect::<Vec<_>>()
        };
        assert_eq!(text(None).join(" "), expected, "{body}");
        let more: Vec<String> = text(Some(Planted::HelpersStore))
            .into_iter()
            .zip(text(None))
            .filter(|(x, y)| x != y)
            .map(|(x, _)| x)
            .collect();
        assert_eq!(more.join(" "), faulty, "{body}");
    }
}

/// What an atomic gives a helper is open: a helper whose path depends on it is followed no further, and opens nothing that it could not store.
#[test]
fn helpers_that_branch_on_their_atomics() {
    let body = "uint x = atomicAdd(words[lane], 0u); words[lane] = 3u; if (x == 40u) words[lane] = 4u;
        atomicOr(words[8], 1u);";
    let outcome = run("", PLAIN, body, None).expect("it runs");
    assert_eq!((text(&outcome).as_str(), outcome.lost), ("3 3 3 3 3 . 3 . eeeeeeef", 0));
}

#[test]
fn what_does_not_run() {
    for (layout, body, expected) in [
        ("layout(location = 0) in float at;", "words[lane] = uint(at);", "inputs that are interpolated"),
        ("layout(location = 3) flat in uint at;", "words[lane] = at;", "without a value for the input at location 3"),
        ("layout(location = 0) flat in dvec2 at;", "words[lane] = uint(at.x);", "no vectors of 32-bit numbers"),
    ] {
        let error = run(layout, PLAIN, body, None).expect_err(body).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
