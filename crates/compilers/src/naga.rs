//! naga, the shader compiler of wgpu: WGSL to SPIR-V, a crate in this process. Its options are those that wgpu has on Vulkan: indices are
//! restricted to what they index, loops bounded, arrays of the workgroup filled with zeros.

use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use tangle_program::case::{Case, SpirvVersion, Stage, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Builtin, Expr, Load, walk_block};
use tangle_program::variant::Language;

use crate::compiler::{Call, Compiler, Failure, Found, change_exprs};

pub(crate) const WGSL: Compiler = Compiler {
    name: "naga",
    language: Language::Wgsl,
    about: "naga, wgpu's shader compiler",
    promise: Tier::Plain,
    stages: |_| &[Stage::Compute],
    least_spirv: SpirvVersion::V1_3,
    lacks_features: &[],
    lacks,
    fitted: Some(fitted),
    find: |_| Ok(Found { version: "naga crate 30.0.1".into(), ..Found::default() }),
    compile,
    command: |_, _| Some("naga shader.wgsl shader.spv".into()),
};

/// Workgroups of more than one dimension: of `subgroup_id` and `subgroup_invocation_id` it says that they are "not supported" with these.
/// `subgroupElect`, which it does not know. And values in a storage buffer that other invocations wrote: its modules make nothing available or visible there (no
/// `Coherent`, no operands of the Vulkan memory model; gfx-rs/wgpu, issue 9221), so that a driver owes nothing (docs/rules.md, rule Y12).
fn lacks(case: &Case) -> Vec<String> {
    let mut lacking = Vec::new();
    if case.entry_point.stage == Stage::Compute && case.entry_point.workgroups().size[1..] != [1, 1] {
        lacking.push("workgroups of several dimensions, with naga".to_owned());
    }
    let is_of_others = |load: &Load| {
        let array = case.program.shared.get(load.array as usize);
        array.is_some_and(|array| !array.storage.is_workgroup() && !load.is_own(array.parts))
    };
    let (mut elects, mut loads) = (false, false);
    for function in &case.program.functions {
        walk_block(&function.body, &mut |stmt| {
            elects |= stmt.direct_exprs().any(|expr| expr.any(&mut |part| is_elect(part)));
            let is_load = |part: &Expr| matches!(part, Expr::Load(load) if is_of_others(load));
            loads |= stmt.direct_exprs().any(|expr| expr.any(&mut |part| is_load(part)));
        });
    }
    if elects {
        lacking.push("subgroupElect, with naga".to_owned());
    }
    if loads {
        lacking.push("values of other invocations in storage buffers, with naga".to_owned());
    }
    lacking
}

fn is_elect(expr: &Expr) -> bool {
    matches!(expr, Expr::Subgroup(call) if call.op == SubgroupOp::Elect)
}

/// As many invocations in one dimension, and `subgroupBroadcastFirst(lane) == lane` for `subgroupElect()`.
fn fitted(case: &mut Case) {
    if case.entry_point.stage != Stage::Compute {
        return;
    }
    let workgroups = case.entry_point.workgroups_mut();
    workgroups.size = [workgroups.size.iter().product(), 1, 1];
    change_exprs(case, &mut |_, expr| {
        if is_elect(expr) {
            let lane = Expr::Builtin(Builtin::Lane);
            let first = Expr::subgroup(SubgroupOp::BroadcastFirst, [lane.clone()]);
            *expr = Expr::binary(BinaryOp::Eq, first, lane);
        }
    });
}

fn compile(call: &Call<'_>) -> Result<Vec<u32>, Failure> {
    let refused = |message: String| Failure::Refused(message.trim().to_owned());
    let module =
        naga::front::wgsl::parse_str(call.source).map_err(|error| refused(error.emit_to_string(call.source)))?;
    let capabilities = Capabilities::IMMEDIATES | Capabilities::SUBGROUP | Capabilities::SHADER_FLOAT16;
    let info = Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .map_err(|error| refused(error.emit_to_string(call.source)))?;
    let restricted = BoundsCheckPolicy::Restrict;
    let options = spv::Options {
        // Good for whoever takes a later one. From 1.4 on its arrays of functions would not be valid, beside those of workgroups
        // (gfx-rs/wgpu, issue 7696), which they are in 1.3.
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        // Those of the shader itself.
        fake_missing_bindings: true,
        bounds_check_policies: BoundsCheckPolicies { index: restricted, buffer: restricted, ..Default::default() },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::Polyfill,
        force_loop_bounding: true,
        ..Default::default()
    };
    let entry_point = spv::PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: "main".to_owned() };
    spv::write_vec(&module, &info, &options, Some(&entry_point)).map_err(|error| refused(error.to_string()))
}
