//! Checks that a case is well formed and that nothing undefined can run, whatever the lane map and the convergence choices of the
//! implementation.
//!
//! Everything else in tangle relies on this: the printer prints valid GLSL, the oracle meets no undefined behaviour, and a
//! driver that fails on a valid case is wrong. The rules, in the order of this page:
//!
//! 1. size: nesting and counts, so that nothing that follows can recurse too deep or take too long;
//! 2. entry point and data: stage, dimensions, lengths;
//! 3. names ([`crate::names`]);
//! 4. statements: where they may stand, what they may refer to, calls, loops, switches, logs;
//! 5. expressions: types ([`type_of`]);
//! 6. operands: everything that would be undefined behaviour or an unguarded undefined value (docs/rules.md, sections P and N), floats that
//!    might not be exact ([`crate::exact`]), rounded results of which nothing is promised, operands that must be uniform ([`crate::uniform`]), and undefined values that would decide
//!    something ([`crate::undefined`]);
//! 7. shared memory: no data races, barriers in uniform control flow ([`crate::races`]);
//! 8. cost: log words and steps ([`crate::cost`]).

use std::collections::HashSet;

use tangle_program::case::{
    Case, Coverage, Data, Draw, EntryPoint, FORMAT, FloatControls, FloatMode, Items, Launch, SpirvVersion, Stage,
    SubgroupSize, Tier, Workgroups,
};
use tangle_program::float_controls::FLOATS;
use tangle_program::interface::MAX_FLATS;
use tangle_program::memory::{FILL_INDEX, MAX_SHARED_BYTES};
use tangle_program::resource::MAX_RESOURCES;
use tangle_program::subgroup::{MAX_SUBGROUP_SIZE, is_subgroup_size};
use tangle_program::tree::{
    Block, Expr, Function, FunctionId, MAX_BLOCK_DEPTH, MAX_EXPR_DEPTH, Program, Stmt, around_bodies,
};
use tangle_program::types::Scalar;

use self::checker::Checker;
use self::invalid::{At, Checked, each, invalid, refuse};
use crate::cost::{MAX_LOG_WORDS, MAX_LONG_ITERATIONS, MAX_STEPS, cost, log_stride};
use crate::undefined::MayBeUndefined;
use crate::uniform::Tangles;
use crate::{names, races};

pub use self::expression::type_of;
pub use self::invalid::Invalid;

mod checker;
mod expression;
mod invalid;
mod rounding;
mod statement;

/// The most functions of a program, `main` included.
pub const MAX_FUNCTIONS: usize = 64;
/// The most parameters and locals of a function.
pub const MAX_VARS: usize = 256;
/// The most statements and switch labels of a program.
pub const MAX_STATEMENTS: usize = 5_000;
/// The most expressions of a program, parts of others included.
pub const MAX_EXPRS: usize = 50_000;
/// The most invocations in a workgroup.
pub const MAX_WORKGROUP: u64 = 1024;
/// The most invocations in a dispatch.
pub const MAX_INVOCATIONS: u64 = 1 << 16;
/// The most words of all inputs together.
const MAX_INPUT_WORDS: u64 = 1 << 20;
/// The most words of the log buffer.
const MAX_LOG_BUFFER_WORDS: u64 = 1 << 22;
/// The most words of the uniform buffer: what every device offers (`maxUniformBufferRange`).
const MAX_UNIFORM_WORDS: usize = 4096;
/// The most specialisation constants.
const MAX_CONSTANTS: usize = 32;
/// The most words of push constants: what every device offers (`maxPushConstantsSize`).
const MAX_PUSH_WORDS: usize = 32;

/// `Ok` if the case is valid.
pub fn validate(case: &Case) -> Result<(), Invalid> {
    if case.format != FORMAT {
        return invalid(format!("is {}, but only {FORMAT} is known", case.format)).at(|| "format".into());
    }
    sizes(&case.program).at(|| "program".into())?;
    entry_point(&case.entry_point).at(|| "entry_point".into())?;
    variant(case).at(|| "variant".into())?;
    data(&case.data, &case.entry_point).at(|| "data".into())?;
    program(case).at(|| "program".into())?;
    races::check(case)
        .or_else(|race| invalid(race.reason).at(|| format!("program.functions[{}].body", race.function)))?;
    costs(case)
}

// 1. Size

/// How much of the allowed size is left.
struct Budget {
    statements: usize,
    exprs: usize,
}

fn sizes(program: &Program) -> Checked {
    if program.functions.len() > MAX_FUNCTIONS {
        refuse!("has {} functions, more than {MAX_FUNCTIONS}", program.functions.len());
    }
    let mut budget = Budget { statements: MAX_STATEMENTS, exprs: MAX_EXPRS };
    each(&program.functions, |function| {
        if function.var_count() > MAX_VARS {
            refuse!("has {} parameters and locals, more than {MAX_VARS}", function.var_count());
        }
        each(&function.body, |stmt| budget.stmt(stmt, MAX_BLOCK_DEPTH - 1)).at(|| "body".into())
    })
    .at(|| "functions".into())
}

impl Budget {
    fn block(&mut self, block: &Block, depth: usize) -> Checked {
        let Some(depth) = depth.checked_sub(1) else { refuse!("statements nest more than {MAX_BLOCK_DEPTH} deep") };
        block.iter().try_for_each(|stmt| self.stmt(stmt, depth))
    }

    fn stmt(&mut self, stmt: &Stmt, depth: usize) -> Checked {
        let labels = match stmt {
            Stmt::Switch { arms, .. } => arms.iter().map(|arm| arm.labels.len()).sum(),
            _ => 0,
        };
        match self.statements.checked_sub(1 + labels) {
            Some(left) => self.statements = left,
            None => refuse!("the program has more than {MAX_STATEMENTS} statements and switch labels"),
        }
        stmt.direct_exprs().try_for_each(|expr| self.expr(expr, MAX_EXPR_DEPTH))?;
        stmt.nested_blocks().try_for_each(|block| self.block(block, depth))
    }

    fn expr(&mut self, expr: &Expr, depth: usize) -> Checked {
        let Some(depth) = depth.checked_sub(1) else { refuse!("expressions nest more than {MAX_EXPR_DEPTH} deep") };
        match self.exprs.checked_sub(1) {
            Some(left) => self.exprs = left,
            None => refuse!("the program has more than {MAX_EXPRS} expressions"),
        }
        expr.operands().try_for_each(|operand| self.expr(operand, depth))
    }
}

// 2. Entry point and data

fn entry_point(entry_point: &EntryPoint) -> Checked {
    let (stage, spirv) = (entry_point.stage, entry_point.spirv);
    if spirv < stage.first_spirv() {
        return invalid(format!("{} shaders need SPIR-V {}, not {spirv}", stage.name(), stage.first_spirv()))
            .at(|| "spirv".into());
    }
    float_controls(entry_point.float_controls).at(|| "float_controls".into())?;
    if let SubgroupSize::Required(size) = entry_point.subgroup_size {
        required_size(entry_point, size).at(|| "subgroup_size".into())?;
    }
    let count = |sides: [u32; 3]| sides.iter().fold(1u64, |n, &side| n.saturating_mul(side.into()));
    let workgroups = match (&entry_point.launch, stage) {
        (Launch::Draw(draw), Stage::Fragment) => return drawn(entry_point, draw).at(|| "launch.draw".into()),
        (Launch::Items(items), stage) if stage.item_names().is_some() => {
            return drawn_items(entry_point, items).at(|| "launch.items".into());
        }
        (Launch::Workgroups(workgroups), stage) if stage.has_workgroups() => workgroups,
        (Launch::Draw(_) | Launch::Items(_) | Launch::Workgroups(_), _) => {
            return invalid(format!("no {} shader is launched like this", stage.name())).at(|| "launch".into());
        }
    };
    let (workgroup, groups) = (count(workgroups.size), count(workgroups.count));
    if !(1..=MAX_WORKGROUP).contains(&workgroup) {
        return invalid(format!("{workgroup} invocations: must be 1 to {MAX_WORKGROUP}"))
            .at(|| "launch.workgroups.size".into());
    }
    if groups == 0 || workgroup.saturating_mul(groups) > MAX_INVOCATIONS {
        return invalid(format!(
            "{groups} workgroups of {workgroup} invocations: must be 1 to {MAX_INVOCATIONS} together"
        ))
        .at(|| "launch.workgroups.count".into());
    }
    if let Some(size) = workgroups.default_size
        && !(1..=MAX_WORKGROUP).contains(&count(size))
    {
        return invalid(format!("{} invocations: must be 1 to {MAX_WORKGROUP}", count(size)))
            .at(|| "launch.workgroups.default_size".into());
    }
    payload(entry_point.stage, workgroups).at(|| "launch.workgroups".into())?;
    derivative_group(entry_point, workgroups).at(|| "launch.workgroups.derivative_group".into())
}

/// One width for each mode: glslang keeps the last one (`spirv_execution_mode` of GL_EXT_spirv_intrinsics).
fn float_controls(asked: FloatControls) -> Checked {
    let of = |mode| asked.iter().filter(move |&(other, _)| other == mode).count();
    if let Some(mode) = FloatMode::ALL.into_iter().find(|&mode| of(mode) > 1) {
        refuse!("{} of several widths: GLSL can say one", mode.name());
    }
    // SPV_KHR_float_controls: an entry point "can set at most one of" the two "for the given Floating-Point Type Bit Width".
    let of_both = |scalar: &Scalar| {
        [FloatMode::RoundingModeRTE, FloatMode::RoundingModeRTZ].iter().all(|&mode| asked.has(mode, *scalar))
    };
    match FLOATS.into_iter().find(of_both) {
        Some(scalar) => invalid(format!("both rounding modes of {} bits", scalar.size())),
        None => Ok(()),
    }
}

/// Task shaders emit, and mesh shaders are emitted.
fn payload(stage: Stage, workgroups: &Workgroups) -> Checked {
    if workgroups.meshes > 0 && stage != Stage::Task {
        refuse!("mesh workgroups are emitted by task shaders, not by {} shaders", stage.name());
    }
    if workgroups.meshes > MAX_MESHES {
        refuse!("{} mesh workgroups: must be 0 to {MAX_MESHES}", workgroups.meshes);
    }
    if workgroups.by_task && stage != Stage::Mesh {
        refuse!("a task shader emits mesh shaders, not {} shaders", stage.name());
    }
    Ok(())
}

/// Workgroups, and subgroups of a size that is asked for, are whole quads.
fn derivative_group(entry_point: &EntryPoint, workgroups: &Workgroups) -> Checked {
    let Some(group) = workgroups.derivative_group else { return Ok(()) };
    // Whether other stages may have one is a property of the device (meshAndTaskShaderDerivatives).
    if entry_point.stage != Stage::Compute {
        refuse!("quads are said of compute shaders, not of {} shaders", entry_point.stage.name());
    }
    for [x, y, z] in std::iter::once(workgroups.size).chain(workgroups.default_size) {
        if !group.divides([x, y, z]) {
            refuse!("workgroups of {x}x{y}x{z} are not whole quads ({})", group.name());
        }
    }
    match entry_point.subgroup_size {
        SubgroupSize::Required(size) if size < 4 => refuse!("a subgroup of {size} has no quads"),
        _ => Ok(()),
    }
}

/// Something is covered, and no rasteriser can be in doubt of what.
fn drawn(entry_point: &EntryPoint, draw: &Draw) -> Checked {
    if entry_point.full_subgroups {
        refuse!("full subgroups are of stages with workgroups");
    }
    for (name, side) in [("width", draw.width), ("height", draw.height)] {
        if !(1..=MAX_FRAMEBUFFER).contains(&side) {
            return invalid(format!("{side} pixels: must be 1 to {MAX_FRAMEBUFFER}")).at(|| name.into());
        }
    }
    if !Draw::SAMPLES.contains(&draw.samples) {
        return invalid(format!("{} samples: must be 1, 2, 4 or 8", draw.samples)).at(|| "samples".into());
    }
    layers(entry_point, draw).at(|| "layers".into())?;
    let places = draw.grid().iter().fold(1u64, |n, &side| n.saturating_mul(side.into()));
    if draw.triangles.is_empty() || places > MAX_FRAGMENTS {
        refuse!("{places} places for fragments: must be 1 to {MAX_FRAGMENTS}");
    }
    let mut covered = false;
    for (k, corners) in (0..).zip(&draw.triangles) {
        // Twice the framebuffer, so that one triangle can cover it all.
        if corners.iter().any(|&[x, y]| x > 2 * draw.width || y > 2 * draw.height) {
            return invalid("a corner is too far away").at(|| format!("triangles[{k}]"));
        }
        covered |= fragments(draw, k).at(|| format!("triangles[{k}]"))?;
    }
    if !covered {
        refuse!("no pixel is covered");
    }
    Ok(())
}

/// The layers that every device has (Vulkan, Required Limits, maxFramebufferLayers). Before SPIR-V 1.5 it is an extension by which vertex shaders choose
/// one (SPV_EXT_shader_viewport_index_layer).
fn layers(entry_point: &EntryPoint, draw: &Draw) -> Checked {
    if !(1..=MAX_LAYERS).contains(&draw.layers) {
        refuse!("{} layers: must be 1 to {MAX_LAYERS}", draw.layers);
    }
    if draw.layers > 1 && entry_point.spirv < SpirvVersion::V1_5 {
        refuse!("several layers need SPIR-V {}, not {}", SpirvVersion::V1_5, entry_point.spirv);
    }
    Ok(())
}

/// True if a triangle has fragments.
fn fragments(draw: &Draw, triangle: u32) -> Result<bool, Invalid> {
    let mut covered = false;
    for (x, y) in (0..draw.height).flat_map(|y| (0..draw.width).map(move |x| (x, y))) {
        for sample in 0..draw.samples {
            match (draw.coverage(triangle, sample, [x, y]), draw.samples) {
                (Coverage::Inside, _) => covered = true,
                (Coverage::Outside, _) => {}
                (Coverage::OnSide, 1) => refuse!("a side goes through the centre of pixel ({x}, {y})"),
                (Coverage::OnSide, _) => refuse!("a side goes through sample {sample} of pixel ({x}, {y})"),
                (Coverage::NearClippedSide, _) => {
                    refuse!("a side that leaves the framebuffer is too near to sample {sample} of pixel ({x}, {y})")
                }
            }
        }
    }
    Ok(covered)
}

/// There are items, not too many.
fn drawn_items(entry_point: &EntryPoint, items: &Items) -> Checked {
    if entry_point.full_subgroups {
        refuse!("full subgroups are of stages with workgroups");
    }
    let [least, most] = entry_point.stage.item_sizes();
    if !(least..=most).contains(&items.size) {
        return invalid(format!("{} invocations: must be {least} to {most}", items.size)).at(|| "size".into());
    }
    if items.count == 0 {
        return invalid("none").at(|| "count".into());
    }
    if items.identities() > MAX_ITEMS {
        refuse!("{} invocations: must be 1 to {MAX_ITEMS}", items.identities());
    }
    Ok(())
}

/// The most invocations of all items of a draw together.
pub const MAX_ITEMS: u32 = 1 << 10;
/// The most mesh workgroups that a workgroup of a task shader emits.
const MAX_MESHES: u32 = 8;
/// The longest side of a framebuffer, pixels.
const MAX_FRAMEBUFFER: u32 = 128;
/// The most layers of a framebuffer.
const MAX_LAYERS: u32 = 256;
/// The most places for fragments of all triangles, layers and samples together.
const MAX_FRAGMENTS: u64 = 1 << 13;

/// The SPIR-V printer knows shaders of workgroups, and no payloads.
fn variant(case: &Case) -> Checked {
    let stage = case.entry_point.stage;
    if !case.variant.fits(&case.entry_point) {
        return invalid(match stage.has_workgroups() {
            true => "a printed module has no payload".into(),
            false => format!("a printed module is a compute, task or mesh shader, not a {} shader", stage.name()),
        });
    }
    Ok(())
}

fn required_size(entry_point: &EntryPoint, size: u32) -> Checked {
    if !is_subgroup_size(size) {
        refuse!("a required subgroup size of {size}: must be a power of two up to {MAX_SUBGROUP_SIZE}");
    }
    // VUID-VkPipelineShaderStageCreateInfo-pNext-02757
    let [x, ..] = entry_point.workgroups().size;
    if entry_point.full_subgroups && x % size != 0 {
        refuse!("full subgroups of {size} need a multiple of that as the x dimension, not {x}");
    }
    Ok(())
}

fn data(data: &Data, entry_point: &EntryPoint) -> Checked {
    let invocations = u64::from(entry_point.invocations());
    each(&data.inputs, |words| {
        if words.len() as u64 != invocations {
            refuse!("has {} words for {invocations} invocations", words.len());
        }
        Ok(())
    })
    .at(|| "inputs".into())?;
    let words = invocations * data.inputs.len() as u64;
    if words > MAX_INPUT_WORDS {
        return invalid(format!("{words} words, more than {MAX_INPUT_WORDS}")).at(|| "inputs".into());
    }
    if !data.flats.is_empty() && entry_point.draw().is_none() {
        return invalid("only fragment shaders have flat inputs").at(|| "flats".into());
    }
    each(&data.flats, |words| match words.len() {
        0 => invalid("has no word"),
        _ => Ok(()),
    })
    .at(|| "flats".into())?;
    for (name, len, most) in [
        ("flats", data.flats.len(), MAX_FLATS),
        ("uniforms", data.uniforms.len(), MAX_UNIFORM_WORDS),
        ("push", data.push.len(), MAX_PUSH_WORDS),
        ("resources", data.resources.len(), MAX_RESOURCES),
        ("constants", data.constants.len(), MAX_CONSTANTS),
    ] {
        if len > most {
            return invalid(format!("{len} words, more than {most}")).at(|| name.into());
        }
    }
    Ok(())
}

// 3. Names

fn function_names(functions: &[Function]) -> Checked {
    let mut seen = HashSet::new();
    (0..).zip(functions).try_for_each(|(i, function)| {
        let name = function.name.as_str();
        let is_last = i + 1 == functions.len();
        let checked = match name {
            "main" if is_last => Ok(()),
            "main" => Err("only the last function is main".to_owned()),
            _ if is_last => Err(format!("the last function must be main, not '{name}'")),
            _ if !seen.insert(name) => Err(format!("there are two functions '{name}'")),
            _ => names::check(name),
        };
        checked.or_else(invalid).at(|| format!("[{i}].name"))
    })
}

fn shared(case: &Case) -> Checked {
    let program = &case.program;
    if !case.entry_point.stage.has_workgroups() && !program.shared.is_empty() {
        refuse!("a {} shader has no arrays that are shared", case.entry_point.stage.name());
    }
    let bytes = program.shared.iter().fold(0, |sum: u64, array| sum.saturating_add(array.bytes()));
    if bytes > MAX_SHARED_BYTES {
        refuse!("{bytes} bytes, more than {MAX_SHARED_BYTES}");
    }
    let mut seen = HashSet::new();
    each(&program.shared, |array| {
        if !seen.insert(array.name.clone()) || program.functions.iter().any(|function| function.name == array.name) {
            return invalid(format!("there are two things called '{}'", array.name)).at(|| "name".into());
        }
        if array.name == FILL_INDEX {
            return invalid(format!("'{FILL_INDEX}' counts the elements when arrays are filled")).at(|| "name".into());
        }
        names::check(&array.name).or_else(invalid).at(|| "name".into())?;
        if !array.scalar.is_integer() {
            return invalid(format!("an array holds integers, not {}", array.scalar.name())).at(|| "type".into());
        }
        if u64::from(array.init) > array.scalar.bits() {
            return invalid(format!("{} is more than {} holds", array.init, array.scalar.name())).at(|| "init".into());
        }
        if array.len == 0 {
            return invalid("an array has at least one element").at(|| "len".into());
        }
        if array.parts == 0 {
            return invalid("an invocation has at least one element").at(|| "parts".into());
        }
        Ok(())
    })
}

// 4. Statements

fn program(case: &Case) -> Checked {
    let functions = &case.program.functions;
    if functions.is_empty() {
        return invalid("there is no main").at(|| "functions".into());
    }
    function_names(functions).at(|| "functions".into())?;
    shared(case).at(|| "shared".into())?;
    let undefined = MayBeUndefined::of(&case.program, &case.entry_point);
    // In the callers, too.
    let in_switch = around_bodies(functions, false, |inside, stmt| inside || matches!(stmt, Stmt::Switch { .. }));
    let tangles = |id: FunctionId| match case.tier {
        Tier::Maximal if !in_switch[id as usize] => Tangles::Exact,
        Tier::Plain | Tier::SubgroupUniform | Tier::Maximal => Tangles::Loose,
    };
    let mut sites = HashSet::new();
    (0..).zip(functions).try_for_each(|(id, function)| {
        let mut checker = Checker::new(case, id, function, &undefined, &mut sites);
        checker.function(tangles(id)).at(|| format!("functions[{id}]"))
    })
}

// 8. Cost

fn costs(case: &Case) -> Checked {
    let cost = cost(case);
    if cost.log_words > MAX_LOG_WORDS {
        refuse!("an invocation may log {} words, more than {MAX_LOG_WORDS}", cost.log_words);
    }
    if cost.steps > MAX_STEPS {
        refuse!("an invocation may execute {} statements, more than {MAX_STEPS}", cost.steps);
    }
    if cost.long_iterations > MAX_LONG_ITERATIONS {
        refuse!("long loops may run {} times in all, more than {MAX_LONG_ITERATIONS}", cost.long_iterations);
    }
    let invocations = u64::from(case.entry_point.invocations());
    let words = invocations * u64::from(log_stride(case));
    if words > MAX_LOG_BUFFER_WORDS {
        refuse!("the logs of {invocations} invocations take {words} words, more than {MAX_LOG_BUFFER_WORDS}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::VISITS;
    use tangle_program::case::{EntryPoint, Origin, SpirvVersion};
    use tangle_program::ops::{BinaryOp, Intrinsic};
    use tangle_program::tree::Local;
    use tangle_program::types::{Scalar, Type};

    /// A program that stores an expression of `levels` levels in itself, until it is as deep as is valid.
    fn nested(levels: usize, wrap: fn(Box<Expr>) -> Expr, ty: Type) -> Case {
        let times = (MAX_EXPR_DEPTH - 1) / levels;
        let value = (0..times).fold(Expr::Var(0), |inner, _| wrap(Box::new(inner)));
        let main = Function {
            name: "main".into(),
            params: Vec::new(),
            result: None,
            locals: vec![Local::new("x", ty)],
            body: vec![Stmt::Assign { var: 0, value }],
        };
        Case {
            format: FORMAT,
            about: String::new(),
            origin: Origin::default(),
            tier: Tier::Maximal,
            entry_point: EntryPoint::compute([8, 1, 1], [1, 1, 1], SpirvVersion::V1_3),
            data: Data::default(),
            program: Program { shared: Vec::new(), functions: vec![main] },
            variant: Default::default(),
        }
    }

    #[test]
    fn every_expression_is_looked_at_once() {
        let (int, float) = (Type::INT, Type::scalar(Scalar::Float));
        type Nested = (&'static str, Type, usize, fn(Box<Expr>) -> Expr);
        let table: [Nested; 8] = [
            ("bitCount(x)", int, 1, |x| Expr::Intrinsic(Intrinsic::BitCount, vec![*x])),
            ("findLSB(x)", int, 1, |x| Expr::Intrinsic(Intrinsic::FindLsb, vec![*x])),
            ("findMSB(x)", int, 1, |x| Expr::Intrinsic(Intrinsic::FindMsb, vec![*x])),
            ("int(x)", int, 1, |x| Expr::Cast(Scalar::Int, x)),
            ("x | 1", int, 1, |x| Expr::binary(BinaryOp::BitOr, *x, Expr::Int(1))),
            ("9 / (x | 1u)", Type::UINT, 2, |x| {
                Expr::binary(BinaryOp::Div, Expr::Uint(9), Expr::binary(BinaryOp::BitOr, *x, Expr::Uint(1)))
            }),
            ("uvec2(x, 0u).x", Type::UINT, 2, |x| {
                let vector = Expr::Vector(Type::vector(Scalar::Uint, 2), vec![*x, Expr::Uint(0)]);
                Expr::Component(Box::new(vector), 0)
            }),
            ("float(int(x) & 7)", float, 3, |x| {
                let bits = Expr::binary(BinaryOp::BitAnd, Expr::Cast(Scalar::Int, x), Expr::Int(7));
                Expr::Cast(Scalar::Float, Box::new(bits))
            }),
        ];
        for (what, ty, levels, wrap) in table {
            let case = nested(levels, wrap, ty);
            let mut expressions = 0;
            let exprs = case.program.functions[0].body[0].direct_exprs();
            exprs.for_each(|expr| expr.walk(&mut |_| expressions += 1));
            VISITS.set(0);
            assert_eq!(validate(&case), Ok(()), "{what}");
            assert_eq!(VISITS.get(), expressions, "{what}");
        }
    }
}
