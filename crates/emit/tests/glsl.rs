//! What is printed: programs as snapshots in `tests/snapshots/`, parentheses and declarations as tables.

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::tour;
use common::*;
use tangle_analysis::validate::validate;
use tangle_emit::expression;
use tangle_emit::glsl::{glsl, print};
use tangle_program::case::{DerivativeGroup, FloatControls, FloatMode, Tier};
use tangle_program::memory::{Shared, StorageClass};
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::Resource;
use tangle_program::tree::{Expr, LoopKind, Stmt};
use tangle_program::types::{Scalar, Type};

#[test]
fn programs() {
    for (name, case) in tour::programs() {
        assert_eq!(validate(&case), Ok(()), "{name}");
        insta::assert_snapshot!(name, glsl(&case));
    }
}

/// Precedence of GLSL 4.60 §5.1, and what readers would have to look up.
#[test]
fn parentheses() {
    use BinaryOp::*;
    let mut case = case(
        "",
        main_of(|f| {
            for name in ["a", "b", "c"] {
                f.add_local(name, Type::UINT);
            }
            vec![]
        }),
    );
    let [a, b, c] = [0, 1, 2].map(|var| move || Expr::Var(var));
    let neg = |x| Expr::unary(UnaryOp::Neg, x);
    let not = |x| Expr::unary(UnaryOp::Not, x);
    let resource = |class, non_uniform| {
        let index = Box::new(binary(lane(), BitAnd, uint(3)));
        Expr::Resource(Resource { class, index, non_uniform })
    };
    let of_input = |k, index| Expr::InputOf(k, Box::new(index));
    case.data.inputs = vec![vec![0; 8]; 2];
    for (expr, want) in [
        (binary(binary(a(), Add, b()), Sub, c()), "a + b - c"),
        (binary(a(), Sub, binary(b(), Add, c())), "a - (b + c)"),
        (binary(a(), Add, binary(b(), Mul, c())), "a + b * c"),
        (binary(binary(a(), Add, b()), Mul, c()), "(a + b) * c"),
        (binary(binary(a(), Mul, b()), Mod, c()), "a * b % c"),
        (binary(a(), Div, binary(b(), Div, c())), "a / (b / c)"),
        (binary(binary(a(), BitAnd, b()), Eq, c()), "(a & b) == c"),
        (binary(a(), BitAnd, binary(b(), Eq, c())), "a & (b == c)"),
        (binary(binary(a(), Add, b()), Lt, c()), "a + b < c"),
        (binary(binary(a(), Lt, b()), Eq, c()), "(a < b) == c"),
        (binary(binary(a(), Eq, b()), Eq, c()), "(a == b) == c"),
        (binary(binary(a(), Add, b()), Shl, c()), "(a + b) << c"),
        (binary(binary(a(), Shl, b()), Shl, c()), "(a << b) << c"),
        (binary(binary(a(), BitAnd, b()), BitAnd, c()), "a & b & c"),
        (binary(a(), BitAnd, binary(b(), BitAnd, c())), "a & (b & c)"),
        (binary(binary(a(), BitAnd, b()), BitOr, c()), "(a & b) | c"),
        (binary(binary(a(), BitXor, b()), Shr, c()), "(a ^ b) >> c"),
        (binary(binary(a(), Lt, b()), And, binary(b(), Ge, c())), "a < b && b >= c"),
        (binary(binary(a(), And, b()), And, c()), "a && b && c"),
        (binary(binary(a(), And, b()), Or, c()), "(a && b) || c"),
        (binary(a(), Xor, binary(b(), Xor, c())), "a ^^ (b ^^ c)"),
        (binary(a(), Sub, Expr::Int(-1)), "a - -1"),
        (neg(Expr::Int(-1)), "-(-1)"),
        (neg(neg(a())), "-(-a)"),
        (neg(Expr::Int(i32::MIN)), "-int(0x80000000u)"),
        (Expr::unary(UnaryOp::BitNot, neg(a())), "~-a"),
        (neg(binary(a(), Mul, b())), "-(a * b)"),
        (not(not(a())), "!!a"),
        (not(binary(a(), Eq, b())), "!(a == b)"),
        (tour::select(a(), b(), tour::select(a(), b(), c())), "a ? b : (a ? b : c)"),
        (tour::select(binary(a(), Or, b()), b(), c()), "a || b ? b : c"),
        (binary(tour::select(a(), b(), c()), Add, c()), "(a ? b : c) + c"),
        (tour::component(binary(a(), Add, b()), 1), "(a + b).y"),
        (tour::component(neg(a()), 3), "(-a).w"),
        (tour::component(ballot(Expr::Bool(true)), 0), "subgroupBallot(true).x"),
        (tour::cast(Scalar::Int, binary(a(), Add, b())), "int(a + b)"),
        (Expr::Uint(65_535), "65535u"),
        (Expr::Uint(65_536), "0x10000u"),
        (Expr::Uniform(6), "uniform_words[1].z"),
        (Expr::Constant(1), "SPEC1"),
        (resource(ResourceClass::StorageBuffer, false), "storage_buffers[lane & 3u].word"),
        (resource(ResourceClass::UniformBuffer, true), "uniform_buffers[nonuniformEXT(lane & 3u)].word"),
        (resource(ResourceClass::StorageTexelBuffer, false), "imageLoad(storage_texels[lane & 3u], 0).x"),
        (
            resource(ResourceClass::StorageImage, true),
            "imageLoad(storage_images[nonuniformEXT(lane & 3u)], ivec2(0)).x",
        ),
        (of_input(0, binary(a(), BitAnd, uint(3))), "input_words[(a & 3u) * 2u]"),
        (of_input(1, lane()), "input_words[lane * 2u + 1u]"),
    ] {
        assert_eq!(expression(&case, &case.program.functions[0], &expr), want);
    }
}

/// An invocation's own elements beside each other, in shared memory and in the slice of its workgroup.
#[test]
fn stores_to_elements_of_ones_own() {
    for (storage, groups, line) in [
        (StorageClass::Workgroup, 1, "s0[gl_LocalInvocationIndex * 4u + (lane & 3u)] = 7u;"),
        (
            StorageClass::StorageBuffer,
            2,
            "s0[workgroup_index * 32u + gl_LocalInvocationIndex * 4u + (lane & 3u)] = 7u;",
        ),
    ] {
        let element = Some(binary(lane(), BinaryOp::BitAnd, uint(3)));
        let mut case = case("", main_of(|_| vec![Stmt::Store { array: 0, element, value: uint(7) }]));
        case.entry_point.workgroups_mut().count = [groups, 1, 1];
        case.program.shared =
            vec![Shared { name: "s0".into(), scalar: Scalar::Uint, len: 32, init: 0, parts: 4, storage }];
        assert!(glsl(&case).contains(line), "{}", glsl(&case));
    }
}

/// The lines of main after the prologue, without the closing brace.
fn body(case: &tangle_program::case::Case) -> Vec<String> {
    let text = glsl(case);
    let prologue = text.lines().skip_while(|line| !line.contains("map_base + 4u"));
    let lines = prologue.skip(2).take_while(|line| *line != "}");
    lines.map(|line| line.strip_prefix("    ").expect("it is indented").to_owned()).collect()
}

#[test]
fn locals_are_declared_where_they_start() {
    // Not read before, not in a block: declared there. The second one is read by its own value.
    let at_first_mention = main_of(|f| {
        let (x, y) = (f.add_local("x", Type::UINT), f.add_local("y", Type::UINT));
        vec![assign(x, lane()), assign(y, binary(Expr::Var(y), BinaryOp::Add, uint(1))), assign(x, Expr::Var(y))]
    });
    let want = ["uint y = 0u;", "uint x = lane;", "y = y + 1u;", "x = y;"];
    assert_eq!(body(&case("", at_first_mention)), want);
    // A counter read after its loop keeps its value; one that is not lives in the loop.
    let counters = main_of(|f| {
        let (i, j, k) = (f.add_local("i", Type::UINT), f.add_local("j", Type::UINT), f.add_local("k", Type::UINT));
        let nested = repeat(LoopKind::While, k, uint(2), None, []);
        vec![counted(i, uint(2), [], []), counted(j, uint(2), [], [nested]), log(1, i)]
    });
    let want = [
        "uint i = 0u;",
        "for (i = 0u; i < 2u; i++) {",
        "}",
        "for (uint j = 0u; j < 2u; j++) {",
        "    uint k = 0u;",
        "    while (k < 2u) {",
        "        k++;",
        "    }",
        "}",
        "LOG1(1, i);",
    ];
    assert_eq!(body(&case("", counters)), want);
    // A loop that starts from its own counter, at 0 by definition.
    let own_start = main_of(|f| {
        let i = f.add_local("i", Type::UINT);
        let kind = LoopKind::For { init: binary(Expr::Var(i), BinaryOp::Add, uint(1)), step: 2, update: vec![] };
        vec![repeat(kind, i, uint(2), None, [])]
    });
    let want = ["uint i = 0u;", "for (i = i + 1u; i < 2u; i += 2u) {", "}"];
    assert_eq!(body(&case("", own_start)), want);
}

#[test]
fn only_what_is_used_is_declared() {
    let mut case = case("", main_of(|_| vec![]));
    case.data.uniforms = vec![1];
    insta::assert_snapshot!(glsl(&case));
    case.tier = Tier::Plain;
    assert!(!glsl(&case).contains("reconverge"));
}

/// docs/rules.md, rules F6 and F9
#[test]
fn preserved_numbers_are_made_of_bits_and_become_bits() {
    let pair = Type::vector(Scalar::Uint, 2);
    let of = |op, value| Expr::Intrinsic(op, vec![value]);
    let mut case = case(
        "",
        main_of(|f| {
            let (word, words) = (f.add_local("word", Type::UINT), f.add_local("words", pair));
            let least = Expr::subgroup(SubgroupOp::Reduce(Fold::Min), [of(Intrinsic::FromBits, Expr::Var(word))]);
            let any = of(Intrinsic::FromAllBits, Expr::Var(words));
            vec![assign(word, of(Intrinsic::ToBits, least)), assign(words, of(Intrinsic::ToBits, any))]
        }),
    );
    assert!(!glsl(&case).contains("spirv_execution_mode"));
    case.entry_point.float_controls = FloatControls::NONE.with(FloatMode::DenormPreserve, Scalar::Float);
    let text = glsl(&case);
    for line in [
        "#extension GL_EXT_spirv_intrinsics : require",
        "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = [4464], 4459, 32); // DenormPreserve",
        "float FROM_BITS(uint x) { x = mix(x, x & uint(0x80000000u), (x & uint(0x7F800000u)) == uint(0x0u)); \
         return uintBitsToFloat(mix(x, x | uint(0x400000u), (x & uint(0x7FFFFFFFu)) > uint(0x7F800000u))); }",
        "vec2 FROM_ALL_BITS(uvec2 x) { return uintBitsToFloat(mix(x, x | uvec2(0x400000u), \
         greaterThan(x & uvec2(0x7FFFFFFFu), uvec2(0x7F800000u)))); }",
        "uint TO_BITS(float x) { return mix(floatBitsToUint(x), uint(0x7FC00000u), isnan(x)); }",
        "    word = TO_BITS(subgroupMin(FROM_BITS(word)));",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

/// docs/rules.md, rule F10
#[test]
fn rounded_numbers_are_precise_and_become_bits() {
    let pair = Type::vector(Scalar::Uint64, 2);
    let mut case = case(
        "",
        main_of(|f| {
            let (word, doubles) = (f.add_local("word", Type::UINT), f.add_local("doubles", pair));
            let sum = Expr::Intrinsic(Intrinsic::FSubRtz, vec![Expr::Var(word), Expr::Var(word)]);
            let int = Expr::Cast(Scalar::Int, Box::new(Expr::Var(word)));
            let halves = Expr::Intrinsic(Intrinsic::FloatToHalfRte, vec![Expr::Var(doubles)]);
            let words = Expr::Cast(Scalar::Uint64, Box::new(halves));
            let number = Expr::Intrinsic(Intrinsic::IntToFloatRtz, vec![int]);
            vec![assign(word, sum), assign(word, number), assign(doubles, words)]
        }),
    );
    case.entry_point.float_controls = FloatControls::NONE
        .with(FloatMode::RoundingModeRTZ, Scalar::Float)
        .with(FloatMode::RoundingModeRTE, Scalar::Float16);
    let text = glsl(&case);
    for line in [
        "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require",
        "#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require",
        "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = [4467], 4462, 16); // RoundingModeRTE",
        "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = [4468], 4463, 32); // RoundingModeRTZ",
        "uint FSUB_RTZ(uint x, uint y) { precise float result = uintBitsToFloat(x) - uintBitsToFloat(y); return floatBitsToUint(result); }",
        "uint INT_TO_F32_RTZ(int x) { precise float result = float(x); return floatBitsToUint(result); }",
        "u16vec2 TO_F16_RTE(u64vec2 x) { precise f16vec2 result = f16vec2(uint64BitsToDouble(x)); return float16BitsToUint16(result); }",
        "    word = FSUB_RTZ(word, word);",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

/// glslang checks the size when it comes to the derivative group, and so wants it first.
#[test]
fn derivative_groups_stand_behind_the_size() {
    let mut case = case("", main_of(|_| vec![]));
    let workgroups = case.entry_point.workgroups_mut();
    (workgroups.size, workgroups.derivative_group) = ([4, 2, 1], Some(DerivativeGroup::Quads));
    let text = glsl(&case);
    let size = "layout(local_size_x = 4, local_size_y = 2, local_size_z = 1) in;\n";
    assert!(text.contains("#extension GL_NV_compute_shader_derivatives : require\n"), "{text}");
    assert!(text.contains(&format!("{size}layout(derivative_group_quadsNV) in;\n")), "{text}");
}

#[test]
fn statements_have_lines() {
    let case = case(
        "",
        main_of(|f| {
            let (mask, i) = (mask_of(f), f.add_local("i", Type::UINT));
            let any = Expr::subgroup(SubgroupOp::Any, [lane_bits(1, 1)]);
            vec![repeat(
                LoopKind::For { init: uint(0), step: 1, update: point(2, mask).into() },
                i,
                uint(2),
                None,
                [branch(any, point(1, mask), [])],
            )]
        }),
    );
    let printed = print(&case);
    let lines: Vec<&str> = printed.text.lines().collect();
    let line = |site| lines[printed.line_of_site(site).unwrap() - 1];
    assert!(line(1).contains("LOG1(1, mask)"));
    assert!(line(2).starts_with("    for ("));
    assert_eq!(printed.line_of_site(3), None);
    let of_the_loop = printed.places.iter().filter(|(line, _)| Some(*line) == printed.line_of_site(2));
    assert_eq!(of_the_loop.count(), 3, "the loop and its update");

    let margin = printed.with_margin(|stmt| match stmt {
        Stmt::Log { site, .. } => Some(format!("site {site}")),
        Stmt::Loop(_) => Some("loop".into()),
        _ => None,
    });
    let (_, noted) = margin.split_once("uint mask = 0u;\n").unwrap();
    let want = "    \
    for (uint i = 0u; i < 2u; i++, mask = subgroupBallot(true).x, LOG1(2, mask)) {  // loop; site 2
        if (subgroupAny((lane & 1u) == 1u)) {
            mask = subgroupBallot(true).x;
            LOG1(1, mask);                                                          // site 1
        }
    }
}
";
    assert_eq!(noted, want);
}

/// Types that GLSL lacks ask for their extensions, and for others where a subgroup operation works on them.
#[test]
fn extended_types() {
    let cast = |scalar, x| Expr::Cast(scalar, Box::new(x));
    let case = case(
        "",
        main_of(|f| {
            let wide = f.add_local("wide", Type::vector(Scalar::Uint64, 2));
            let byte = f.add_local("byte", Type::scalar(Scalar::Int8));
            let sum = Expr::subgroup(SubgroupOp::Reduce(tangle_program::subgroup::Fold::Add), [Expr::Var(wide)]);
            vec![
                Stmt::Assign { var: wide, value: sum },
                Stmt::Assign { var: byte, value: cast(Scalar::Int8, uint(200)) },
                Stmt::Log { site: 1, values: vec![Expr::Var(wide), Expr::Var(byte)] },
            ]
        }),
    );
    assert_eq!(validate(&case), Ok(()));
    let text = glsl(&case);
    for line in [
        "#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require",
        "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require",
        "#extension GL_EXT_shader_subgroup_extended_types_int64 : require",
        "    u64vec2 wide = u64vec2(0);",
        "    int8_t byte = int8_t(200u);",
        "    LOG5(1, wide.x, wide.x >> 32u, wide.y, wide.y >> 32u, byte);",
    ] {
        assert!(text.lines().any(|found| found == line), "no line {line:?} in\n{text}");
    }
    assert!(!text.contains("extended_types_int8") && !text.contains("int16"));
    assert_eq!(tangle_program::case::Case::from_json(&case.to_json()).as_ref(), Ok(&case));
}

/// Floats are logged by their bits, a zero without its sign.
#[test]
fn floats() {
    use Scalar::{Double, Float, Float16};
    let cast = |scalar, x| Expr::Cast(scalar, Box::new(x));
    let case = case(
        "",
        main_of(|f| {
            let half = f.add_local("fine", Type::vector(Float16, 2));
            let single = f.add_local("single", Type::scalar(Float));
            let double = f.add_local("twice", Type::scalar(Double));
            let small = |scalar| cast(scalar, Expr::binary(BinaryOp::BitAnd, lane(), uint(7)));
            let sum = Expr::subgroup(SubgroupOp::Reduce(tangle_program::subgroup::Fold::Max), [Expr::Var(half)]);
            let difference = Expr::binary(BinaryOp::Sub, small(Float), Expr::Float(Float, -7));
            vec![
                Stmt::Assign { var: half, value: sum },
                Stmt::Assign { var: single, value: Expr::unary(UnaryOp::Neg, difference) },
                Stmt::Assign { var: double, value: Expr::binary(BinaryOp::Mul, Expr::Float(Double, 2), small(Double)) },
                Stmt::Log { site: 1, values: vec![Expr::Var(half), Expr::Var(single), Expr::Var(double)] },
            ]
        }),
    );
    assert_eq!(validate(&case), Ok(()));
    let text = glsl(&case);
    for line in [
        "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require",
        "#extension GL_EXT_shader_subgroup_extended_types_float16 : require",
        "#define FLOAT_WORD(value) (floatBitsToUint(value) * min(floatBitsToUint(value) << 1u, 1u))",
        "    f16vec2 fine = f16vec2(0);",
        "    float single = -(float(lane & 7u) - -1.75);",
        "    double twice = 0.5lf * double(lane & 7u);",
        "    LOG5(1, FLOAT_WORD(float(fine.x)), FLOAT_WORD(float(fine.y)), FLOAT_WORD(single), LOW_WORD(twice), HIGH_WORD(twice));",
    ] {
        assert!(text.lines().any(|found| found == line), "no line {line:?} in\n{text}");
    }
    assert_eq!(tangle_program::case::Case::from_json(&case.to_json()).as_ref(), Ok(&case));
}
