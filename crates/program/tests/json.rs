//! The JSON form: nothing is lost, people can read it, and what is wrong is said where it is.

mod common;

use common::*;
use tangle_analysis::validate::validate;
use tangle_emit::glsl::glsl;
use tangle_program::case::Case;
use tangle_program::json::JsonError;
use tangle_program::ops::UnaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Arm, Expr, Label, Stmt, SubgroupCall};
use tangle_program::tree::{MAX_BLOCK_DEPTH, MAX_EXPR_DEPTH};

#[test]
fn programs_round_trip() {
    for (name, case) in tour::programs() {
        assert_eq!(Case::from_json(&case.to_json()), Ok(case), "{name}");
    }
}

/// What the last tangle with format 1 wrote of the same programs.
#[test]
fn format_1_means_the_same() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1");
    let later = ["integer_functions", "records", "nested_aggregates"];
    let written = tour::programs().into_iter().filter(|(name, _)| !later.contains(name));
    for (name, case) in written {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("a case of format 1");
        assert!(text.contains("\"format\": 1") && !case.to_json().contains("\"format\": 1"), "{name}");
        let read = Case::from_json(&text);
        assert_eq!(read.as_ref().map(glsl), Ok(glsl(&case)), "{name}");
        assert_eq!(read, Ok(case), "{name}");
    }
}

/// Names of format 1 that no program of the tour has.
#[test]
fn names_of_format_1() {
    fn read<T: serde::de::DeserializeOwned>(name: &str) -> T {
        serde_json::from_value(name.into()).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
    use tangle_program::control::{LoopControl, SelectionControl};
    use tangle_program::memory::{AtomicOp, StorageClass, Sync};
    let syncs = ["barrier", "memory", "memory_shared", "memory_buffer", "group_memory"];
    assert_eq!(syncs.map(read::<Sync>), Sync::ALL);
    let atomics = ["add", "min", "max", "and", "or", "xor", "exchange", "comp_swap"];
    assert_eq!(atomics.map(read::<AtomicOp>), AtomicOp::ALL);
    assert_eq!(["flatten", "dont_flatten"].map(read::<SelectionControl>), SelectionControl::ASKING);
    assert_eq!(["unroll", "dont_unroll"].map(read::<LoopControl>), LoopControl::ASKING);
    assert_eq!(
        ["workgroup", "storage_buffer"].map(read::<StorageClass>),
        [StorageClass::Workgroup, StorageClass::StorageBuffer]
    );
}

#[test]
fn layout() {
    let case =
        Case { data: tangle_program::case::Data { inputs: vec![(0..40).collect()], ..Default::default() }, ..v() };
    insta::assert_snapshot!(case.to_json());
}

fn v() -> Case {
    case(
        "a \"title\"",
        main_of(|f| {
            let (mask, i) = (mask_of(f), f.add_local("i", tangle_program::types::Type::UINT));
            vec![branch(lane_bits(3, 1), point(1, mask), [counted(i, uint(3), [log(2, i)], [Stmt::Continue])])]
        }),
    )
}

fn message(text: &str) -> String {
    Case::from_json(text).expect_err("it is a case").to_string()
}

#[test]
fn messages() {
    let good = v().to_json();
    for (from, to, want) in [
        (
            "\"format\": 2",
            "\"format\": 7",
            "the case has format 7, but this tangle reads only up to 2: use a newer tangle",
        ),
        ("\"format\": 2", "\"format\": 0", "there is no format 0"),
        ("\"format\": 2,", "", "not a test case of tangle: it has no \"format\" number"),
        ("\"format\": 2", "\"format\": \"one\"", "not a test case of tangle: it has no \"format\" number"),
        // A newer format is named even if nothing else is understood.
        (
            "\"format\": 2,",
            "\"format\": 3, \"added\": {},",
            "the case has format 3, but this tangle reads only up to 2: use a newer tangle",
        ),
        (
            "\"maximal\"",
            "\"best\"",
            "unknown variant `best`, expected one of `plain`, `subgroup_uniform`, `maximal` at tier (line 4, column 16)",
        ),
        (
            "\"spirv\": \"1.3\"",
            "\"spirv\": \"1.3\", \"speed\": 1",
            "unknown field `speed`, expected one of `stage`, `launch`, `subgroup_size`, `full_subgroups`, `spirv`, \
             `float_controls` at entry_point.speed (line 10, column 27)",
        ),
        (
            "\"log\": {\"site\": 1",
            "\"log\": {\"site\": -1",
            "invalid value: integer `-1`, expected u32 at program.functions[0].body[0].selection.then[1].log.site (line 32, column 31)",
        ),
        (
            "GroupNonUniformBallot",
            "GroupNonUniformBallet",
            "unknown subgroup operation 'GroupNonUniformBallet' \
             at program.functions[0].body[0].selection.then[0].assign.value.composite_extract[0].group_non_uniform.op (line 28, column 68)",
        ),
        ("\"tier\"", "tier", "key must be a string (line 4, column 3)"),
    ] {
        assert!(good.contains(from), "{from}");
        assert_eq!(message(&good.replacen(from, to, 1)), want);
    }
    assert_eq!(message(""), "EOF while parsing a value (line 1, column 0)");
    assert_eq!(message("[]"), "not a test case of tangle: it has no \"format\" number");
    assert_eq!(message(&(good.clone() + "x")), "trailing characters (line 47, column 1)");
    assert!(matches!(Case::from_json(&"[".repeat(1 << 20)), Err(JsonError::TooDeep { line: 1, .. })));
    let brackets_in_text = good.replacen("title", &"[{\\\"".repeat(1000), 1);
    assert!(Case::from_json(&brackets_in_text).is_ok());
}

/// The form that takes the most brackets, everywhere.
#[test]
fn deepest_valid_case_is_readable() {
    let op = SubgroupOp::BroadcastFirst;
    let value = (1..MAX_EXPR_DEPTH)
        .fold(Expr::Bool(true), |x, _| Expr::Subgroup(SubgroupCall { op, args: vec![x], cluster: None }));
    let not = Expr::unary(UnaryOp::Not, Expr::Bool(true));
    let innermost = vec![Stmt::Log { site: 1, values: vec![value, not] }];
    let body = (1..MAX_BLOCK_DEPTH).fold(innermost, |body, _| {
        vec![Stmt::Switch {
            selector: lane(),
            arms: vec![Arm { labels: vec![Label::Default], body }],
            control: Default::default(),
        }]
    });
    let deepest = case("", main_of(|_| body));
    assert_eq!(validate(&deepest), Ok(()));
    assert_eq!(Case::from_json(&deepest.to_json()), Ok(deepest));
}

/// Whatever stands in a case file, it is read or refused, never a panic.
#[test]
fn hostile_cases_are_refused_calmly() {
    let mut random = 1u64;
    let mut below = |n: usize| {
        // Knuth's MMIX generator.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % n
    };
    let (mut readable, mut valid) = (0, 0);
    for (_, case) in tour::programs() {
        let text = case.to_json();
        let tokens: Vec<&str> = text.split_inclusive([' ', '\n', ',', '[', ']', '{', '}', ':']).collect();
        for _ in 0..400 {
            let mut mutated = tokens.clone();
            for _ in 0..=below(3) {
                let at = below(mutated.len());
                mutated[at] = match below(6) {
                    0 => "4294967295",
                    1 => "0",
                    2 => "-1",
                    3 => "",
                    _ => tokens[below(tokens.len())],
                };
            }
            let Ok(case) = Case::from_json(&mutated.concat()) else { continue };
            readable += 1;
            valid += usize::from(validate(&case).is_ok());
            // These are for valid cases, but do not rely on it.
            std::hint::black_box(glsl(&case));
        }
    }
    assert!(readable > 100 && valid > 10, "{readable} readable and {valid} valid cases say little");
}
