//! glslang's HLSL front end, inside shaderc, so always there.
//!
//! It has the wave operations of Shader Model 6.0, no 16-bit and 64-bit integers, and evaluates both arms of `?:`, as HLSL did before its
//! version of 2021 (glslang, `HLSL/hlslGrammar.cpp`: `setNoShortCircuit`).

use shaderc::{CompileOptions, EnvVersion, OptimizationLevel, ShaderKind, SourceLanguage, TargetEnv};
use tangle_features::Feature;
use tangle_program::case::{Case, SpirvVersion, Stage, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Expr, walk_block};
use tangle_program::variant::Language;

use crate::compiler::{Call, Compiler, Failure, Found, change_exprs};

pub(crate) const HLSL: Compiler = Compiler {
    name: "glslang",
    language: Language::Hlsl,
    about: "glslang's HLSL front end, in shaderc",
    promise: Tier::Plain,
    stages: |_| &[Stage::Compute],
    least_spirv: SpirvVersion::V1_3,
    lacks_features: &[
        Feature::ShaderInt16,
        Feature::ShaderInt64,
        Feature::ShaderFloat16,
        // `asuint` of doubles.
        Feature::ShaderFloat64,
        Feature::SubgroupPartitioned,
        // It has no `NonUniformResourceIndex`, and of structured buffers no arrays.
        Feature::StorageBufferArrayDynamicIndexing,
        Feature::UniformBufferArrayDynamicIndexing,
        Feature::StorageTexelBufferArrayDynamicIndexing,
        Feature::StorageImageArrayDynamicIndexing,
    ],
    lacks,
    fitted: Some(fitted),
    find: |_| Ok(Found { version: "shaderc crate 0.10.1".into(), ..Found::default() }),
    compile,
    command: |version, _| {
        Some(format!("glslangValidator -D -V --target-env spirv{version} -e main -S comp shader.hlsl -o shader.spv"))
    },
};

/// True for wave operations where HLSL 2018 and HLSL 2021 differ in which lanes execute them: glslang follows neither in so many words.
fn is_skipped(expr: &Expr) -> bool {
    let waves = |expr: &Expr| expr.any(&mut |part| matches!(part, Expr::Subgroup(_)));
    match expr {
        Expr::Select(_, x, y) => waves(x) || waves(y),
        Expr::Binary(BinaryOp::And | BinaryOp::Or, _, y) => waves(y),
        _ => false,
    }
}

fn lacks(case: &Case) -> Vec<String> {
    let mut lacking = false;
    for function in &case.program.functions {
        walk_block(&function.body, &mut |stmt| {
            lacking |= stmt.direct_exprs().any(|expr| expr.any(&mut |part| is_skipped(part)));
        });
    }
    if lacking { vec!["wave operations that && || ?: may skip, with glslang".into()] } else { Vec::new() }
}

/// The operand that may be skipped, always.
fn fitted(case: &mut Case) {
    change_exprs(case, &mut |_, expr| {
        if is_skipped(expr)
            && let Expr::Select(_, operand, _) | Expr::Binary(_, _, operand) = expr
        {
            *expr = operand.as_ref().clone();
        }
    });
}

thread_local! {
    /// Setting one up costs more than a compilation.
    static COMPILER: Result<shaderc::Compiler, String> = shaderc::Compiler::new().map_err(|error| error.to_string());
}

fn compile(call: &Call<'_>) -> Result<Vec<u32>, Failure> {
    module(call, SourceLanguage::HLSL)
}

/// What it makes of a compute shader.
pub(crate) fn module(call: &Call<'_>, language: SourceLanguage) -> Result<Vec<u32>, Failure> {
    let absent = |error: shaderc::Error| Failure::Absent(error.to_string());
    if call.source.contains('\0') {
        return Err(Failure::Refused("the source contains a NUL character".to_owned()));
    }
    let mut options = CompileOptions::new().map_err(absent)?;
    let (vulkan, spirv) = match call.version {
        SpirvVersion::V1_3 => (EnvVersion::Vulkan1_1, shaderc::SpirvVersion::V1_3),
        // Its optimiser, which HLSL goes through in any case, knows no SPIR-V 1.4 under Vulkan 1.1.
        SpirvVersion::V1_4 => (EnvVersion::Vulkan1_2, shaderc::SpirvVersion::V1_4),
        SpirvVersion::V1_5 => (EnvVersion::Vulkan1_2, shaderc::SpirvVersion::V1_5),
        SpirvVersion::V1_6 => (EnvVersion::Vulkan1_3, shaderc::SpirvVersion::V1_6),
    };
    options.set_target_env(TargetEnv::Vulkan, vulkan as u32);
    options.set_target_spirv(spirv);
    options.set_source_language(language);
    options.set_optimization_level(OptimizationLevel::Zero);
    options.set_suppress_warnings();
    let name = if language == SourceLanguage::HLSL { "shader.hlsl" } else { "shader.comp" };
    COMPILER.with(|compiler| {
        let compiler = compiler.as_ref().map_err(|error| Failure::Absent(error.clone()))?;
        match compiler.compile_into_spirv(call.source, ShaderKind::Compute, name, "main", Some(&options)) {
            Ok(module) => Ok(module.as_binary().to_vec()),
            Err(shaderc::Error::CompilationError(_, message)) => Err(Failure::Refused(message.trim().to_owned())),
            Err(error) => Err(Failure::Refused(error.to_string())),
        }
    })
}
