//! The promises of the crate's first page, over many seeds and bytes.

use arbitrary::Unstructured;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tangle_analysis::cost::cost;
use tangle_analysis::validate::validate;
use tangle_emit::glsl::glsl;
use tangle_generator::stats::Construct;
use tangle_generator::{Config, Density, Profile, Size, Stats, from_seed, generate, vary};
use tangle_program::case::{Case, SpirvVersion, Stage, SubgroupSize, Tier};
use tangle_program::needs::{declared_scalars, scalar_of};
use tangle_program::subgroup::{Category, Param, SubgroupOp, TABLE};
use tangle_program::tree::{Expr, Function, Stmt, walk_block};
use tangle_program::types::{Scalar, Type};

const SEEDS: u64 = 400;

fn profiles() -> impl Iterator<Item = Profile> {
    Profile::ALL.into_iter().map(|(profile, _)| profile)
}

/// A default configuration of each profile and tier.
fn configs() -> impl Iterator<Item = Config> {
    profiles().flat_map(|profile| Tier::ALL.map(|tier| Config { profile, tier, ..Config::default() }))
}

/// Devices that cannot do everything.
fn devices() -> Vec<Config> {
    let swiftshader = Config {
        categories: Category::ALL
            .into_iter()
            .filter(|category| !matches!(category, Category::Clustered | Category::Rotate | Category::RotateClustered))
            .collect(),
        scalars: [Scalar::Bool, Scalar::Int, Scalar::Uint].into(),
        min_subgroup_size: 4,
        max_subgroup_size: 4,
        broadcast_dynamic_id: false,
        ..Config::default()
    };
    let wide = Config {
        min_subgroup_size: 8,
        max_subgroup_size: 64,
        required_sizes: vec![8, 16, 32, 64],
        full_subgroups: true,
        varying_size: true,
        spirv: vec![SpirvVersion::V1_6],
        max_workgroup: [1024, 1024, 64],
        max_invocations: 1024,
        // Some drivers set no limit.
        max_workgroup_subgroups: u32::MAX,
        ..Config::default()
    };
    let swiftshader = Config { derivative_groups: Vec::new(), push_constants: false, ..swiftshader };
    let bare = Config { categories: [Category::Basic].into(), min_subgroup_size: 1, ..Config::default() };
    let narrow = Config { max_workgroup: [16, 2, 1], max_invocations: 16, max_workgroups: 1, ..Config::default() };
    vec![swiftshader, wide, bare, narrow]
}

fn assert_valid(case: &Case, what: &str) {
    if let Err(invalid) = validate(case) {
        panic!("{what}: {invalid}");
    }
}

fn for_each_expr(case: &Case, visit: &mut dyn FnMut(&Function, &Expr)) {
    for function in &case.program.functions {
        walk_block(&function.body, &mut |stmt| {
            stmt.direct_exprs().for_each(|expr| expr.walk(&mut |part| visit(function, part)));
        });
    }
}

#[test]
fn every_seed_gives_a_valid_case() {
    for config in configs() {
        for seed in 0..SEEDS {
            let case = from_seed(seed, &config);
            assert_valid(&case, &format!("{} {} seed {seed}", config.profile.name(), config.tier.name()));
        }
    }
}

#[test]
fn every_device_is_respected() {
    for (which, device) in devices().into_iter().enumerate() {
        for profile in profiles() {
            for tier in Tier::ALL {
                let config = Config { profile, tier, ..device.clone() };
                for seed in 0..SEEDS / 8 {
                    let case = from_seed(seed, &config);
                    assert_valid(&case, &format!("device {which} {} {} seed {seed}", profile.name(), tier.name()));
                    assert_within(&case, &config);
                }
            }
        }
    }
}

fn assert_within(case: &Case, config: &Config) {
    let entry_point = &case.entry_point;
    let workgroups = &entry_point.workgroups();
    assert!(config.spirv.contains(&entry_point.spirv));
    assert!(config.push_constants || case.data.push.is_empty());
    assert!(entry_point.group_size() <= config.max_invocations && entry_point.groups() <= config.max_workgroups);
    assert!(workgroups.size.iter().zip(config.max_workgroup).all(|(&side, most)| (1..=most).contains(&side)));
    let sure = match entry_point.subgroup_size {
        SubgroupSize::Required(size) => {
            assert!(config.required_sizes.contains(&size));
            assert!(entry_point.group_size() <= size.saturating_mul(config.max_workgroup_subgroups), "VUID 02756");
            size
        }
        SubgroupSize::Varying => {
            assert!(config.varying_size);
            config.min_subgroup_size
        }
        SubgroupSize::Default => config.min_subgroup_size,
    };
    if entry_point.full_subgroups {
        let multiple_of = match entry_point.subgroup_size {
            SubgroupSize::Required(size) => size,
            _ => config.max_subgroup_size,
        };
        assert!(config.full_subgroups && workgroups.size[0].is_multiple_of(multiple_of), "VUIDs 02757 to 02759");
    }
    if let Some(group) = workgroups.derivative_group {
        assert!(
            config.derivative_groups.contains(&group) && group.divides(workgroups.size) && sure >= 4,
            "VUIDs 10151, 10152"
        );
    }
    let shared = case.program.shared.iter().map(|array| array.scalar);
    let declared = case.program.functions.iter().flat_map(declared_scalars);
    // Bool, int, uint and float are used in any case.
    let offered = |scalar: Scalar| !scalar.is_extended() || config.scalars.contains(&scalar);
    assert!(shared.chain(declared).all(offered));
    for_each_expr(case, &mut |_, expr| {
        assert!(scalar_of(expr).is_none_or(offered), "{expr:?}");
        if let Expr::Builtin(builtin) = expr {
            assert!(builtin.ty() != Type::MASK || config.categories.contains(&Category::Ballot));
        }
        let Expr::Subgroup(call) = expr else { return };
        assert!(config.categories.contains(&call.op.info().category), "{:?}", call.op);
        assert!(call.cluster.is_none_or(|cluster| cluster <= sure), "a cluster larger than the subgroup");
        let dynamic = config.broadcast_dynamic_id && entry_point.spirv >= SpirvVersion::V1_5;
        if call.op == SubgroupOp::Broadcast && !dynamic {
            assert!(matches!(call.args[1], Expr::Uint(_)));
        }
    });
}

#[test]
fn sizes_are_limits() {
    let size = Size { top: 3, statements: 8, depth: 2, functions: 0, log_words: 64, steps: 400, series: (14, 30) };
    for seed in 0..SEEDS {
        let case = from_seed(seed, &Config { size: Some(size), ..Config::default() });
        let cost = cost(&case);
        assert!(cost.log_words <= 64 && cost.steps <= 400, "seed {seed}: {cost:?}");
        assert_eq!(case.program.functions.len(), 1);
    }
    for config in configs() {
        let size = config.profile.size();
        for seed in 0..SEEDS / 4 {
            let cost = cost(&from_seed(seed, &config));
            assert!(cost.log_words <= u64::from(size.log_words) && cost.steps <= u64::from(size.steps));
        }
    }
}

#[test]
fn the_same_input_gives_the_same_case() {
    for config in configs() {
        for seed in 0..20 {
            assert_eq!(from_seed(seed, &config), from_seed(seed, &config));
        }
    }
}

#[test]
fn different_seeds_give_different_cases() {
    let config = Config::default();
    let cases: std::collections::HashSet<_> = (0..200).map(|seed| from_seed(seed, &config).program).collect();
    assert_eq!(cases.len(), 200);
}

#[test]
fn any_bytes_give_a_valid_case() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for config in configs() {
        for length in [0, 1, 2, 7, 60, 200, 300, 321, 330, 500, 1000, 2000, 4096] {
            let mut bytes = vec![0; length];
            for fill in 0..4 {
                match fill {
                    0 => bytes.fill(0),
                    1 => bytes.fill(0xFF),
                    _ => rng.fill_bytes(&mut bytes),
                }
                let case = generate(&mut Unstructured::new(&bytes), &config).expect("bytes never run out");
                assert_valid(&case, &format!("{length} bytes, fill {fill}"));
            }
        }
    }
}

#[test]
fn no_bytes_give_a_small_case() {
    let case = generate(&mut Unstructured::new(&[]), &Config::default()).expect("bytes never run out");
    assert!(Stats::of(&case).statements <= 12, "{case:?}");
}

#[test]
fn a_changed_byte_changes_one_statement_of_main() {
    let config = Config { density: Some(Density::Final), ..Config::default() };
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut bytes = vec![0; 8 * 1024];
    let (mut near, mut all) = (0, 0);
    for round in 0..60 {
        rng.fill_bytes(&mut bytes);
        let before = generate(&mut Unstructured::new(&bytes), &config).expect("bytes never run out");
        // Somewhere in the third statement.
        let at = 320 + 2 * 1024 + round;
        bytes[at] ^= 0x11;
        let after = generate(&mut Unstructured::new(&bytes), &config).expect("bytes never run out");
        assert_eq!(before.entry_point, after.entry_point);
        assert_eq!(before.data, after.data);
        let start = |case: &Case| case.program.main().expect("a case has a main").body[..3].to_vec();
        assert_eq!(start(&before), start(&after), "what stands before does not change");
        all += 1;
        near += u32::from(distance(&before, &after) <= 12);
    }
    assert!(2 * near >= all, "{near} of {all} changes were small");
}

/// Statements of `main` that only one of the programs has.
fn distance(a: &Case, b: &Case) -> usize {
    let body = |case: &Case| case.program.main().expect("a case has a main").body.clone();
    let (a, b) = (body(a), body(b));
    let same_start = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let same_end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    a.len().max(b.len()).saturating_sub(same_start + same_end)
}

#[test]
fn every_operation_occurs_with_every_type() {
    let mut stats = Stats::default();
    for profile in [Profile::Default, Profile::Ops, Profile::Vectors] {
        let config = Config { profile, ..Config::default() };
        (0..8_000).for_each(|seed| stats.merge(&Stats::of(&from_seed(seed, &config))));
        // Derivatives are of fragment shaders.
        let config = Config { stage: Stage::Fragment, ..config };
        (0..1_000).for_each(|seed| stats.merge(&Stats::of(&from_seed(seed, &config))));
    }
    for info in &TABLE {
        if !info.params.contains(&Param::Value) {
            assert!(stats.operation(info.op) > 0, "{}", info.name);
            continue;
        }
        for &scalar in info.scalars {
            // Vectors of the types that GLSL lacks are rare: one of some width will do.
            let widths: &[&[u8]] = if scalar.is_extended() { &[&[1], &[2, 3, 4]] } else { &[&[1], &[2], &[3], &[4]] };
            for widths in widths {
                let count: u64 = stats
                    .operations
                    .iter()
                    .filter(|count| count.op == info.op)
                    .filter(|count| count.ty.is_some_and(|ty| ty.scalar == scalar && widths.contains(&ty.width)))
                    .map(|count| count.count)
                    .sum();
                assert!(count > 0, "{} of {} {widths:?}", info.name, scalar.name());
            }
        }
    }
}

/// What only fragment shaders have.
const OF_FRAGMENTS: [Construct; 8] = [
    Construct::Discard,
    Construct::FlatInput,
    Construct::HelperInput,
    Construct::IsHelper,
    Construct::PartialQuads,
    Construct::Layers,
    Construct::Samples,
    Construct::QuadDerivatives,
];

#[test]
fn every_construct_occurs() {
    for tier in Tier::ALL {
        for profile in [Profile::Default, Profile::Large, Profile::Loops, Profile::Switch, Profile::Calls] {
            let config = Config { profile, tier, ..Config::default() };
            let mut stats = Stats::default();
            (0..1_500).for_each(|seed| stats.merge(&Stats::of(&from_seed(seed, &config))));
            let is_here = |construct: &&Construct| match construct {
                construct if OF_FRAGMENTS.contains(construct) => false,
                // Of task and mesh shaders.
                Construct::TaskPayload => false,
                Construct::CarriedUniform => tier == Tier::Maximal,
                _ => true,
            };
            for &construct in Construct::ALL.iter().filter(is_here) {
                assert!(stats.construct(construct) > 0, "{} {}: {construct:?}", profile.name(), tier.name());
            }
        }
        let config = Config { stage: Stage::Fragment, tier, ..Config::default() };
        let mut stats = Stats::default();
        (0..400).for_each(|seed| stats.merge(&Stats::of(&from_seed(seed, &config))));
        for construct in OF_FRAGMENTS {
            assert!(stats.construct(construct) > 0, "{}: {construct:?}", tier.name());
        }
        for stage in [Stage::Task, Stage::Mesh] {
            let config = Config { stage, tier, ..Config::default() };
            let payloads = (0..100).map(|seed| Stats::of(&from_seed(seed, &config)).construct(Construct::TaskPayload));
            assert!((30..80).contains(&payloads.sum::<u64>()), "{} {}", stage.name(), tier.name());
        }
    }
}

#[test]
fn merged_statistics_add_up() {
    let config = Config::default();
    let (a, b) = (Stats::of(&from_seed(1, &config)), Stats::of(&from_seed(2, &config)));
    let mut sum = a.clone();
    sum.merge(&b);
    assert_eq!(sum.cases, 2);
    assert_eq!(sum.statements, a.statements + b.statements);
    for &construct in Construct::ALL {
        assert_eq!(sum.construct(construct), a.construct(construct) + b.construct(construct));
    }
    for info in &TABLE {
        assert_eq!(sum.operation(info.op), a.operation(info.op) + b.operation(info.op));
    }
}

#[test]
fn every_operator_occurs() {
    use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
    use tangle_program::tree::Builtin;
    let mut seen = std::collections::BTreeSet::new();
    let config = Config::default();
    for seed in 0..1_500 {
        for_each_expr(&from_seed(seed, &config), &mut |_, expr| {
            match expr {
                Expr::Unary(op, _) => seen.insert(format!("{op:?}")),
                Expr::Binary(op, ..) => seen.insert(format!("{op:?}")),
                Expr::Intrinsic(op, _) => seen.insert(format!("{op:?}")),
                Expr::Builtin(builtin) => seen.insert(format!("{builtin:?}")),
                Expr::Cast(scalar, _) => seen.insert(format!("to {}", scalar.name())),
                _ => false,
            };
        });
    }
    let all = UnaryOp::ALL.iter().map(|op| format!("{op:?}"));
    let all = all.chain(BinaryOp::ALL.iter().map(|op| format!("{op:?}")));
    let all = all.chain(Intrinsic::ALL.iter().map(|op| format!("{op:?}")));
    let all = all.chain(Builtin::ALL.iter().map(|builtin| format!("{builtin:?}")));
    for name in all.chain(Scalar::ALL.map(|scalar| format!("to {}", scalar.name()))) {
        assert!(seen.contains(&name), "{name}");
    }
}

#[test]
fn cases_end_with_an_observation() {
    for config in configs() {
        for seed in 0..SEEDS / 4 {
            let case = from_seed(seed, &config);
            let main = case.program.main().expect("a case has a main");
            assert!(matches!(main.body.last(), Some(Stmt::Log { .. })), "seed {seed}");
        }
    }
}

#[test]
fn sites_are_numbered_as_they_are_read() {
    let case = from_seed(7, &Config { profile: Profile::Large, ..Config::default() });
    let mut sites = Vec::new();
    for function in &case.program.functions {
        walk_block(&function.body, &mut |stmt| {
            if let Stmt::Log { site, .. } = stmt {
                sites.push(*site);
            }
        });
    }
    assert!(sites.iter().copied().eq(1..=sites.len() as u32), "{sites:?}");
}

#[test]
fn configurations_and_statistics_have_a_json_form() {
    let config = Config { size: Some(Size::SMALL), density: Some(Density::Sparse), ..Config::default() };
    let text = serde_json::to_string(&config).expect("it has a JSON form");
    assert_eq!(serde_json::from_str::<Config>(&text).expect("it reads"), config);
    let stats = Stats::of(&from_seed(3, &config));
    let text = serde_json::to_string(&stats).expect("it has a JSON form");
    assert_eq!(serde_json::from_str::<Stats>(&text).expect("it reads"), stats);
}

/// Other data leave the shader and the pipeline as they are. There nearly always are some, and most differ in what lanes read, not only
/// in which lane reads it.
#[test]
fn other_data_for_the_same_program() {
    let (mut tried, mut made, mut other_values) = (0, 0, 0);
    for (config, seed) in configs().chain(devices()).flat_map(|config| (0..12).map(move |seed| (config.clone(), seed)))
    {
        let case = from_seed(seed, &config);
        let mut seen = vec![case.data.clone()];
        for number in 1..4 {
            tried += 1;
            let Some(other) = vary(&case, number) else { continue };
            made += 1;
            assert_eq!(vary(&case, number).as_ref(), Some(&other), "the same every time");
            assert_valid(&other, &format!("{:?}, seed {seed}, data {number}", config.profile));
            assert_eq!(glsl(&other), glsl(&case));
            assert_eq!(
                (&other.entry_point, &other.variant, &other.program),
                (&case.entry_point, &case.variant, &case.program)
            );
            assert_eq!(other.specialization(), case.specialization());
            assert_eq!(other.data.push.len(), case.data.push.len(), "it belongs to the pipeline's layout");
            assert!(!seen.contains(&other.data) || case.entry_point.invocations() < 4);
            let sorted = |case: &Case| {
                let mut inputs = case.data.inputs.clone();
                inputs.iter_mut().for_each(|words| words.sort_unstable());
                inputs
            };
            other_values += usize::from(sorted(&other) != sorted(&case));
            seen.push(other.data);
        }
    }
    println!("{made} of {tried} data, {other_values} with other values");
    assert!(made * 100 > tried * 97, "{made} of {tried}");
    assert!(other_values * 10 > made * 7, "{other_values} of {made}");
}
