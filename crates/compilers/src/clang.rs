//! Clang's HLSL with LLVM's SPIR-V back end, by the program `clang` in its mode `dxc`. The
//! language is HLSL 202x, its default, with the logical operators of HLSL 2021. A process for each shader takes some 0.05 seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tangle_emit::hlsl::{QUALIFIERS, intrinsics, wave_intrinsic, words};
use tangle_features::Feature;
use tangle_program::case::{Case, SpirvVersion, Stage, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Block, Expr, Function, Stmt};
use tangle_program::types::{Scalar, Shape, Type};
use tangle_program::variant::Language;
use tempfile::TempDir;

use crate::compiler::{Call, Compiler, Failure, Found, absent, change_exprs, installed};
use crate::started;

pub(crate) const HLSL: Compiler = Compiler {
    name: "clang",
    language: Language::Hlsl,
    about: "Clang, with LLVM's SPIR-V back end",
    promise: Tier::Plain,
    stages: |_| &[Stage::Compute],
    // The oldest of its environments.
    least_spirv: SpirvVersion::V1_5,
    lacks_features: &[
        Feature::SubgroupPartitioned,
        Feature::SharedInt64Atomics,
        Feature::BufferInt64Atomics,
        // It has neither `ConstantBuffer` nor `RWTexture2D` yet.
        Feature::UniformBufferArrayDynamicIndexing,
        Feature::StorageImageArrayDynamicIndexing,
    ],
    lacks,
    fitted: Some(fitted),
    find,
    compile,
    command: |version, _| {
        let definitions = HLSL.found().ok().and_then(|found| Some(definitions(&found.path?, &found.prefix)));
        let definitions = definitions.unwrap_or_default();
        let arguments = arguments(version).join(" ");
        Some(format!(
            "{{ echo '{definitions}'; cat shader.hlsl; }} >full.hlsl; clang {arguments} full.hlsl -Fo shader.spv"
        ))
    },
};

fn find(named: Option<&Path>) -> Result<Found, String> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => installed(HLSL.name).ok_or_else(|| absent(HLSL.name))?.join("clang"),
    };
    if !path.is_file() {
        return Err(format!("there is no {}", path.display()));
    }
    let version = path.parent().and_then(|folder| std::fs::read_to_string(folder.join("version")).ok());
    let version = version.map_or_else(|| path.display().to_string(), |version| version.trim().to_owned());
    Ok(Found { path: Some(path), version, ..Found::default() })
}

/// Those that decide on the module. It knows two environments: of Vulkan 1.2 with SPIR-V 1.5, and of Vulkan 1.3 with 1.6 (clang,
/// `DXCToolChain`, `-fspv-target-env`).
fn arguments(version: SpirvVersion) -> Vec<&'static str> {
    let environment = match version {
        SpirvVersion::V1_3 | SpirvVersion::V1_4 | SpirvVersion::V1_5 => "-fspv-target-env=vulkan1.2",
        SpirvVersion::V1_6 => "-fspv-target-env=vulkan1.3",
    };
    let fixed = ["--driver-mode=dxc", "-spirv", "-T", "cs_6_6", "-E", "main", "-enable-16bit-types"];
    fixed.into_iter().chain([environment]).collect()
}

/// What a person writes before a shader whose Clang does not have the function: its name, and the lines.
const DEFINITIONS: [(&str, &str); 2] = [
    ("WaveReadLaneFirst", "#define WaveReadLaneFirst(x) WaveReadLaneAt(x, WaveActiveMin(WaveGetLaneIndex()))"),
    // 36 is SubgroupSize (SPIR-V 1.6 rev 6, §3.21).
    (
        "WaveGetLaneCount",
        "[[vk::ext_builtin_input(36)]] static const uint BuiltInSubgroupSize;\n#define WaveGetLaneCount() BuiltInSubgroupSize",
    ),
];

/// Words of HLSL that a Clang does not know, asked of it once: it learns some with each version. If it cannot be asked it is taken to know all.
fn unknown(path: &Path, prefix: &[String]) -> Arc<BTreeSet<&'static str>> {
    static ASKED: Mutex<BTreeMap<PathBuf, Arc<BTreeSet<&'static str>>>> = Mutex::new(BTreeMap::new());
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = asked.entry(path.to_owned()).or_insert_with(|| Arc::new(ask(path, prefix).unwrap_or_default()));
    Arc::clone(answer)
}

fn ask(path: &Path, prefix: &[String]) -> Option<BTreeSet<&'static str>> {
    let declarations: String =
        QUALIFIERS.iter().map(|word| format!("{word} RWStructuredBuffer<uint> x_{word};\n")).collect();
    let uses: String = intrinsics().iter().map(|name| format!("    {name};\n")).collect();
    let source = format!("{declarations}[numthreads(1, 1, 1)] void main() {{\n{uses}}}\n");
    let syntax_only = ["-Xclang", "-ferror-limit", "-Xclang", "0", "-fsyntax-only"];
    let Err(Failure::Refused(said)) = started_with((path, prefix), SpirvVersion::V1_6, &syntax_only, &source) else {
        return None;
    };
    let is_unknown = |word: &&str| {
        ["undeclared identifier", "unknown type name"].iter().any(|what| said.contains(&format!("{what} '{word}'")))
    };
    let mut unknown: BTreeSet<_> = intrinsics().into_iter().chain(QUALIFIERS).filter(is_unknown).collect();
    // Clang 22 has the function, and cannot select instructions for it.
    let counts = "RWStructuredBuffer<uint> x; [numthreads(1, 1, 1)] void main() { x[0] = WaveGetLaneCount(); }\n";
    if started_with((path, prefix), SpirvVersion::V1_6, &["-fno-crash-diagnostics"], counts).is_err() {
        unknown.insert("WaveGetLaneCount");
    }
    Some(unknown)
}

/// What stands before a shader.
fn definitions(path: &Path, prefix: &[String]) -> String {
    let unknown = unknown(path, prefix);
    DEFINITIONS.iter().filter(|(name, _)| unknown.contains(name)).map(|(_, lines)| format!("{lines}\n")).collect()
}

/// What of a shader it does not know, and has no definition for.
fn lacking() -> BTreeSet<&'static str> {
    let Ok(Found { path: Some(path), prefix, .. }) = HLSL.found() else { return BTreeSet::new() };
    let defined = |word: &str| DEFINITIONS.iter().any(|(name, _)| *name == word);
    unknown(&path, &prefix).iter().copied().filter(|word| !defined(word)).collect()
}

fn lacks(case: &Case) -> Vec<String> {
    words(case).intersection(&lacking()).map(|word| format!("{word}, with this Clang")).collect()
}

/// What is nearest to the operations that it does not know, of those that it does.
fn fitted(case: &mut Case) {
    let unknown = lacking();
    // No value depends on it.
    if unknown.contains("precise") {
        let functions = case.program.functions.iter_mut();
        functions.flat_map(|function| &mut function.locals).for_each(|local| local.precise = false);
    }
    // Clang 22 crashes on most shaders with push constants: their words go behind those of the uniform buffer.
    let first = case.data.uniforms.len() as u32;
    case.data.uniforms.append(&mut case.data.push);
    change_exprs(case, &mut |function, expr| match expr {
        Expr::Push(k) => *expr = Expr::Uniform(first + *k),
        // It has no conversions for the operands of a shift of vectors.
        Expr::Binary(BinaryOp::Shl | BinaryOp::Shr, value, count) => {
            if let (Some(to), Some(from)) = (value.ty(function), count.ty(function))
                && !to.is_scalar()
                && to.scalar.size() != from.scalar.size()
            {
                **count = Expr::Cast(to.scalar.unsigned(), count.clone());
            }
        }
        expr => fit(function, expr, &unknown),
    });
    // It crashes on the bit patterns of floats.
    for function in &mut case.program.functions {
        function.change_body(|function, body| log_no_floats(function, body));
    }
}

/// Logs whole numbers in place of floats.
fn log_no_floats(function: &Function, block: &mut Block) {
    for stmt in block {
        if let Stmt::Log { values, .. } = stmt {
            let is_float =
                |value: &Expr| value.ty(function).is_some_and(|ty| ty.scalar.is_float() && ty.shape == Shape::Single);
            for value in values.iter_mut().filter(|value| is_float(value)) {
                *value = Expr::Cast(Scalar::Int, Box::new(value.clone()));
            }
        }
        stmt.nested_blocks_mut().into_iter().for_each(|block| log_no_floats(function, block));
    }
}

fn fit(function: &Function, expr: &mut Expr, unknown: &BTreeSet<&str>) {
    let Expr::Subgroup(call) = expr else { return };
    let Some(value) = call.args.first().cloned() else { return };
    let ty = value.ty(function);
    if wave_intrinsic(call.op, ty).is_none_or(|name| !unknown.contains(name)) {
        return;
    }
    let across = |quad: u32| Expr::subgroup(SubgroupOp::ShuffleXor, [value.clone(), Expr::Uint(quad)]);
    *expr = match call.op {
        SubgroupOp::QuadSwapHorizontal => across(1),
        SubgroupOp::QuadSwapVertical => across(2),
        SubgroupOp::QuadSwapDiagonal | SubgroupOp::QuadBroadcast => across(3),
        SubgroupOp::AllEqual if ty.is_some_and(Type::is_scalar) => {
            let first = Expr::subgroup(SubgroupOp::BroadcastFirst, [value.clone()]);
            Expr::subgroup(SubgroupOp::All, [Expr::binary(BinaryOp::Eq, value, first)])
        }
        SubgroupOp::AllEqual => Expr::subgroup(SubgroupOp::Any, [Expr::Bool(true)]),
        op if op.fold().is_some() => Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [value]),
        _ => return,
    };
}

fn compile(call: &Call<'_>) -> Result<Vec<u32>, Failure> {
    let Some(path) = call.path else { return Err(Failure::Absent(absent(HLSL.name))) };
    // Messages count from the first line of the shader itself.
    let source = format!("{}#line 1\n{}", definitions(path, call.prefix), call.source);
    match started_with((path, call.prefix), call.version, &["-fno-crash-diagnostics"], &source) {
        Err(Failure::Refused(said)) => Err(Failure::Refused(reason(&said))),
        Err(failure) => Err(failure),
        Ok(folder) => started::module(&started::read(&folder, "shader.spv")?),
    }
}

/// Runs it; the folder has its module.
fn started_with(
    (path, prefix): (&Path, &[String]),
    version: SpirvVersion,
    more: &[&str],
    source: &str,
) -> Result<TempDir, Failure> {
    let folder = started::folder(&[("shader.hlsl", source)])?;
    let mut command = started::command(path, prefix);
    command.args(arguments(version)).args(more).args(["shader.hlsl", "-Fo", "shader.spv"]);
    started::run(command.current_dir(folder.path()))?;
    Ok(folder)
}

/// Its first error without the place, which is of no bug's identity; of a crash the innermost pass that it was in.
fn reason(said: &str) -> String {
    let after = |mark: &'static str| said.lines().filter_map(move |line| Some(line.split_once(mark)?.1.trim()));
    let cause = after("error in backend: ").next().or_else(|| after("LLVM ERROR: ").next()).map(without_registers);
    match (after("Running pass '").next_back().and_then(|rest| rest.split('\'').next()), cause) {
        (Some(pass), None) => format!("it crashes in the pass {pass}"),
        (Some(pass), Some(cause)) => format!("{cause}, in the pass {pass}"),
        (None, Some(cause)) => cause.to_owned(),
        (None, None) => after("error: ").next().unwrap_or(said).to_owned(),
    }
}

/// The error without what it was met in, which names registers.
fn without_registers(error: &str) -> &str {
    let end = [": %", ": <"].into_iter().filter_map(|mark| error.find(mark)).min();
    error[..end.unwrap_or(error.len())].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons() {
        let crash = "PLEASE submit\n3.\tRunning pass 'Function Pass Manager' on module 'a.hlsl'.\n\
                     4.\tRunning pass 'InstructionSelect' on function '@main'\n #0 0x7f\nclang: error: x failed";
        for (said, want) in [
            ("shader.hlsl:4:23: error: no template named 'T'\n  4 | T x;\n1 error", "no template named 'T'"),
            (crash, "it crashes in the pass InstructionSelect"),
            (&format!("LLVM ERROR: out of memory\n{crash}"), "out of memory, in the pass InstructionSelect"),
            ("fatal error: error in backend: unable to legalize: %3 = G_PHI", "unable to legalize"),
            ("LLVM ERROR: Unsupported instruction : <MCInst 0 <MCOperand Reg:2147484209>>", "Unsupported instruction"),
            ("", ""),
        ] {
            assert_eq!(reason(said), want);
        }
    }
}
