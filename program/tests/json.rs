//! The JSON form: nothing is lost, people can read it, and what is wrong is said where it is.

mod common;

use common::*;
use tangle_program::case::Case;
use tangle_program::glsl::glsl;
use tangle_program::json::JsonError;
use tangle_program::needs::needs;
use tangle_program::ops::UnaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Arm, Expr, Label, Stmt, SubgroupCall};
use tangle_program::validate::{MAX_BLOCK_DEPTH, MAX_EXPR_DEPTH, validate};

#[test]
fn programs_round_trip() {
    for (name, case) in tour::programs() {
        assert_eq!(Case::from_json(&case.to_json()), Ok(case), "{name}");
    }
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
            "\"format\": 1",
            "\"format\": 7",
            "the case has format 7, but this tangle reads only up to 1: use a newer tangle",
        ),
        ("\"format\": 1", "\"format\": 0", "there is no format 0"),
        ("\"format\": 1,", "", "not a test case of tangle: it has no \"format\" number"),
        ("\"format\": 1", "\"format\": \"one\"", "not a test case of tangle: it has no \"format\" number"),
        // A newer format is named even if nothing else is understood.
        (
            "\"format\": 1,",
            "\"format\": 2, \"news\": {},",
            "the case has format 2, but this tangle reads only up to 1: use a newer tangle",
        ),
        (
            "\"maximal\"",
            "\"best\"",
            "unknown variant `best`, expected one of `plain`, `subgroup_uniform`, `maximal` at tier (line 4, column 16)",
        ),
        (
            "\"spirv\": \"1.3\"",
            "\"spirv\": \"1.3\", \"speed\": 1",
            "unknown field `speed`, expected one of `workgroup`, `groups`, `subgroup_size`, `full_subgroups`, `default_workgroup`, `spirv` \
             at launch.speed (line 10, column 27)",
        ),
        (
            "\"log\": {\"site\": 1",
            "\"log\": {\"site\": -1",
            "invalid value: integer `-1`, expected u32 at program.functions[0].body[0].if.then[1].log.site (line 25, column 31)",
        ),
        (
            "subgroupBallot",
            "subgroupBallet",
            "unknown subgroup operation 'subgroupBallet' \
             at program.functions[0].body[0].if.then[0].assign.value.component[0].subgroup.op (line 23, column 74)",
        ),
        ("\"tier\"", "tier", "key must be a string (line 4, column 3)"),
    ] {
        assert!(good.contains(from), "{from}");
        assert_eq!(message(&good.replacen(from, to, 1)), want);
    }
    assert_eq!(message(""), "EOF while parsing a value (line 1, column 0)");
    assert_eq!(message("[]"), "not a test case of tangle: it has no \"format\" number");
    assert_eq!(message(&(good.clone() + "x")), "trailing characters (line 40, column 1)");
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
            std::hint::black_box((glsl(&case), needs(&case)));
        }
    }
    assert!(readable > 100 && valid > 10, "{readable} readable and {valid} valid cases say little");
}
