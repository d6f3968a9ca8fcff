//! From a case to a job, and from a job's outcome back to an observation.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tangle_analysis::cost::log_stride;
use tangle_emit::glsl::{self, Dialect};
use tangle_emit::spirv;
use tangle_features::{mode_of_tier, needs};
use tangle_oracle::judge::Observation;
use tangle_program::case::interface::{ARRAYS, CORNERS, INPUTS, LOG, MAP, UNIFORMS};
use tangle_program::case::{Case, Draw, SpirvVersion, Stage, SubgroupSize};
use tangle_program::map_buffer;
use tangle_program::memory::buffer_bytes;
use tangle_program::needs::resource_classes;
use tangle_program::resource::ResourceClass;
use tangle_program::variant::Variant;
use tangle_runner::{
    Buffer, BufferKind, Image, Init, ItemPipeline, Job, Launch, LaunchOutput, Module, Optimisation, Pipeline, Raster,
    ReadBack, ReadBackMode, Source, SubgroupFlags, TexelFormat,
    spirv::declares,
    toolchain::{self, ToolchainError},
};

/// A case with everything that is made from it before a device is involved.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The case, with its variant and one set of data.
    pub case: Case,
    /// Its shader, in the language of its variant. Where the module is printed it is for reading only.
    pub shader: String,
    /// The module that the case's variant asks for; `spirv-val` accepts it. Empty for executors that run no module.
    pub spirv: Vec<u32>,
}

impl Prepared {
    /// A case for executors that run no module.
    pub fn without_module(case: Case) -> Prepared {
        Prepared { case, shader: String::new(), spirv: Vec::new() }
    }
}

/// The toolchain failed on a valid case: a finding about the toolchain, which no driver gets to see.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct ToolchainFault {
    /// Which step failed, and what it said.
    pub error: ToolchainError,
    /// The shader that it failed on, in the language of the case's variant.
    pub shader: String,
}

impl ToolchainFault {
    /// True if it is no fault of the toolchain but of this machine: it does not run at all.
    pub const fn is_local(&self) -> bool {
        matches!(self.error, ToolchainError::Internal(_))
    }
}

/// A case as far as the toolchain got with it.
#[derive(Debug)]
pub enum Prep {
    /// The shader is compiled, and the module valid.
    Ready(Prepared),
    /// The toolchain failed on it.
    Faulty(Case, ToolchainFault),
}

impl Prep {
    /// Prepares a case as far as that goes.
    pub fn of(case: Case) -> Prep {
        match prepare(case.clone()) {
            Ok(prepared) => Prep::Ready(prepared),
            Err(fault) => Prep::Faulty(case, fault),
        }
    }

    /// The case, whether or not the toolchain failed on it.
    pub fn case(&self) -> &Case {
        match self {
            Prep::Ready(prepared) => &prepared.case,
            Prep::Faulty(case, _) => case,
        }
    }

    /// The same for a case that differs in its data.
    pub fn with(&self, case: Case) -> Prep {
        match self {
            Prep::Ready(prepared) => Prep::Ready(Prepared { case, ..prepared.clone() }),
            Prep::Faulty(_, fault) => Prep::Faulty(case, fault.clone()),
        }
    }
}

/// What the front end of a case's variant cannot say or take of it; empty if it can take all.
pub fn lacking(case: &Case) -> Vec<String> {
    let Some(front_end) = case.variant.front_end() else { return Vec::new() };
    let mut lacking = tangle_emit::lacks(front_end.language, case);
    lacking.extend(tangle_compilers::missing(front_end, case));
    lacking
}

/// Prints, compiles and validates a case, and optimises its module if its variant says so; or prints the module.
///
/// # Errors
/// If the compiler rejects the shader, the optimiser the module, or the validator what one of them made.
pub fn prepare(case: Case) -> Result<Prepared, ToolchainFault> {
    let source = tangle_emit::source(&case);
    if let Err(error) = beside(&case) {
        return Err(ToolchainFault { error, shader: source });
    }
    if let Variant::Printed(printing) = &case.variant {
        let spirv = spirv::module(&case, printing);
        return match toolchain::check(&spirv, case.entry_point.spirv) {
            Ok(()) => Ok(Prepared { case, shader: source, spirv }),
            Err(error) => Err(ToolchainFault { error, shader: source }),
        };
    }
    let flags = case.variant.flags();
    let made = made(&case, &source, &flags).and_then(|spirv| match lost_promise(&case, &spirv) {
        None => Ok(spirv),
        Some(lost) => Err(who_lost(&case, &source, &flags, lost)),
    });
    match made {
        Ok(spirv) => Ok(Prepared { case, shader: source, spirv }),
        Err(error) => Err(ToolchainFault { error, shader: source }),
    }
}

/// The promise that the case's shader asks for and its module does not have, in words. GL_EXT_maximal_reconvergence and
/// GL_EXT_subgroup_uniform_control_flow: an entry point with the attribute has the execution mode.
fn lost_promise(case: &Case, module: &[u32]) -> Option<String> {
    let mode = mode_of_tier(case.tier).filter(|&mode| !declares(module, mode))?;
    Some(format!("the module does not declare {mode:?}, which the shader asks for"))
}

/// Whether the front end or the optimiser lost it.
fn who_lost(case: &Case, source: &str, flags: &[String], lost: String) -> ToolchainError {
    let had_it = |module: Vec<u32>| lost_promise(case, &module).is_none();
    match !flags.is_empty() && made(case, source, &[]).is_ok_and(had_it) {
        true => ToolchainError::WeakenedByOptimiser(lost),
        false => ToolchainError::Weakened(lost),
    }
}

/// What the front end of a case makes of its shader, and `spirv-opt` with these flags of that.
pub(crate) fn made(case: &Case, source: &str, flags: &[String]) -> Result<Vec<u32>, ToolchainError> {
    match case.variant.front_end() {
        None => toolchain::make(source, case.entry_point.spirv, flags),
        Some(by) => toolchain::make_by(by, case.entry_point.stage, source, case.entry_point.spirv, flags),
    }
}

/// The modules of the shaders that stand beside that of the case ([`tangle_emit::glsl::stage::beside`]). The shaders are few, and compiled once.
///
/// # Errors
/// If the toolchain fails.
pub fn beside(case: &Case) -> Result<Vec<(Stage, Module)>, ToolchainError> {
    let compiled = |(stage, text)| Ok((stage, Module(compiled_once(text, case.entry_point.spirv)?.to_vec())));
    glsl::stage::beside(case).into_iter().map(compiled).collect()
}

fn compiled_once(text: Cow<'static, str>, version: SpirvVersion) -> Result<Arc<Vec<u32>>, ToolchainError> {
    type Compiled = HashMap<(Cow<'static, str>, SpirvVersion), Arc<Vec<u32>>>;
    static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);
    let key = (text, version);
    let compiled = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(module) = compiled().get(&key) {
        return Ok(Arc::clone(module));
    }
    let module = Arc::new(toolchain::make(&key.0, key.1, &[])?);
    compiled().insert(key, Arc::clone(&module));
    Ok(module)
}

/// The job that runs a case.
pub fn job(prepared: &Prepared, dialect: Dialect, id: u64) -> Job {
    job_with(prepared, dialect, [&prepared.case], id)
}

/// The job that runs a case's program with the data of these cases, one launch for each. They differ in nothing else. `dialect` is that of
/// the device: OpenGL compiles the GLSL itself where no optimiser is asked for, WebGPU the WGSL.
pub fn job_with<'a>(prepared: &Prepared, dialect: Dialect, cases: impl IntoIterator<Item = &'a Case>, id: u64) -> Job {
    let Prepared { case, spirv, .. } = prepared;
    let of_source = dialect.is_opengl() && case.variant.may_be_text();
    // Source has source beside it, and no modules.
    let texts = if of_source { glsl::stage::beside_in_opengl(case) } else { Vec::new() };
    let beside: Vec<(Stage, Module)> = match of_source {
        true => texts.iter().map(|(stage, _)| (*stage, Module::default())).collect(),
        // Where it does not compile, which `prepare` reports, the job says that it is no module.
        false => beside(case).unwrap_or_default(),
    };
    let only = || beside.last().map(|(_, module)| module.clone()).unwrap_or_default();
    let size = case.entry_point.subgroup_size;
    let source = match dialect {
        Dialect::OpenGl | Dialect::OpenGlArb => of_source.then(|| glsl::print_in(case, dialect).text),
        Dialect::Wgsl => Some(prepared.shader.clone()),
        Dialect::Vulkan | Dialect::Hlsl | Dialect::Slang => None,
    };
    Job {
        id,
        spirv: if source.is_some() { Vec::new() } else { spirv.clone() },
        source: source
            .map(|text| Box::new(Source { text, local_size: case.entry_point.workgroups().size, beside: texts })),
        pipeline: match case.entry_point.stage {
            Stage::Compute => Pipeline::Compute,
            Stage::Task => Pipeline::Task { mesh: Box::new(only()) },
            Stage::Mesh => {
                let task = case.entry_point.workgroups().by_task.then(|| Box::new(only()));
                Pipeline::Mesh { task }
            }
            Stage::Fragment => {
                let raster = case.entry_point.draw().map_or_else(Raster::default, |draw| {
                    let Draw { width, height, layers, samples, .. } = *draw;
                    Raster { width, height, layers, samples, ..Raster::default() }
                });
                Pipeline::Fragment(Box::new(Raster { vertex: only(), ..raster }))
            }
            stage => Pipeline::Items(Box::new(ItemPipeline { stage, beside, patches: stage.draws_patches() })),
        },
        required_subgroup_size: if let SubgroupSize::Required(size) = size { Some(size) } else { None },
        subgroup_flags: SubgroupFlags {
            require_full: case.entry_point.full_subgroups,
            allow_varying_size: size == SubgroupSize::Varying,
        },
        optimisation: match case.variant.disables_driver_optimisation() {
            true => Optimisation::Disabled,
            false => Optimisation::Default,
        },
        specialization: case.specialization(),
        features: needs(case).features,
        launches: cases.into_iter().map(launch).collect(),
        ..Job::default()
    }
}

fn launch(case: &Case) -> Launch {
    let invocations = case.entry_point.invocations() as usize;
    let storage = |binding, init, read_back| Buffer { binding, kind: BufferKind::Storage, init, read_back };
    let log_words = u64::from(log_stride(case)) * invocations as u64;
    let mut buffers = vec![
        storage(MAP, Init::Zero { words: case.entry_point.packed_map_len() as u64 }, ReadBackMode::Whole),
        storage(LOG, Init::Zero { words: log_words }, ReadBackMode::Slices(log_stride(case))),
    ];
    let arrays = buffer_bytes(&case.program.shared, case.entry_point.groups());
    if arrays != 0 {
        buffers.push(storage(ARRAYS, Init::Zero { words: arrays.div_ceil(4) }, ReadBackMode::None));
    }
    if !case.data.inputs.is_empty() {
        buffers.push(storage(INPUTS, Init::Data(interleaved(&case.data.inputs, invocations)), ReadBackMode::None));
    }
    if !case.data.uniforms.is_empty() {
        let mut words = case.data.uniforms.clone();
        // std140: an array of uvec4s.
        words.resize(words.len().next_multiple_of(4), 0);
        let init = Init::Data(words);
        buffers.push(Buffer { binding: UNIFORMS, kind: BufferKind::Uniform, init, read_back: ReadBackMode::None });
    }
    buffers.extend(resources(case));
    if case.entry_point.draw().is_some() {
        buffers.push(storage(CORNERS, Init::Data(case.vertices()), ReadBackMode::None));
    }
    let push_constants = case.data.push.iter().flat_map(|word| word.to_ne_bytes()).collect();
    Launch { groups: case.entry_point.counts(), push_constants, buffers, ..Launch::default() }
}

/// The resources of the arrays of descriptors that a program has.
fn resources(case: &Case) -> impl Iterator<Item = Buffer> + '_ {
    let used = resource_classes(&case.program);
    let classes = ResourceClass::ALL.into_iter().filter(move |class| used.contains(class));
    classes.flat_map(|class| {
        let kind = match class {
            ResourceClass::StorageBuffer => BufferKind::Storage,
            ResourceClass::UniformBuffer => BufferKind::Uniform,
            ResourceClass::StorageTexelBuffer => BufferKind::StorageTexels(TexelFormat::R32_UINT),
            ResourceClass::StorageImage => BufferKind::StorageImage(Image::ONE),
        };
        let resource = move |word| {
            let init = Init::Data(match kind {
                // std140 rounds a block up.
                BufferKind::Uniform => vec![word, 0, 0, 0],
                _ => vec![word],
            });
            Buffer { binding: class.binding(), kind, init, read_back: ReadBackMode::None }
        };
        case.data.resources.iter().copied().map(resource)
    })
}

/// `inputs[k][invocation]` as word `invocation * K + k`.
fn interleaved(inputs: &[Vec<u32>], invocations: usize) -> Vec<u32> {
    let words = (0..invocations).flat_map(|i| inputs.iter().map(move |input| input.get(i).copied().unwrap_or(0)));
    words.collect()
}

/// What was read back of a case, as an executor in this process gives it: the lane map, the logs, and which of their words are open if any are.
pub fn launch_output(case: &Case, observation: &Observation) -> LaunchOutput {
    let map = map_buffer::pack(&case.entry_point, &observation.map);
    let mut buffers = vec![ReadBack::trimmed(&map, None), ReadBack::of_slices(&observation.logs)];
    if !observation.open.is_empty() {
        buffers.push(ReadBack::of_slices(&observation.open));
    }
    LaunchOutput { buffers, ..LaunchOutput::default() }
}

/// What the oracle looks at, of a launch of a case; `None` if nothing was read back.
pub fn observation(case: &Case, launch: &LaunchOutput) -> Option<Observation> {
    let [map, log, open @ ..] = launch.buffers.as_slice() else { return None };
    let mut words = map.slice(0).to_vec();
    words.resize(map.len() as usize, 0);
    let slices = |buffer: &ReadBack| buffer.slices().map(<[u32]>::to_vec).collect();
    let map = map_buffer::unpack(&case.entry_point, &words);
    Some(Observation { map, logs: slices(log), open: open.first().map(slices).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::case::Tier;
    use tangle_program::control::{LoopControl, SelectionControl};
    use tangle_program::ops::{BinaryOp, Intrinsic};
    use tangle_program::tree::{Block, Builtin, Expr, Stmt};
    use tangle_program::types::{Scalar, Type};

    /// A case of the corpus with all its control flow asking for something.
    fn asking(json: &str, selection: SelectionControl, repeated: LoopControl) -> Case {
        fn ask(block: &mut Block, selection: SelectionControl, repeated: LoopControl) {
            for stmt in block {
                match stmt {
                    Stmt::If { control, .. } | Stmt::Switch { control, .. } => *control = selection,
                    Stmt::Loop(l) => l.control = repeated,
                    _ => {}
                }
                stmt.nested_blocks_mut().into_iter().for_each(|inner| ask(inner, selection, repeated));
            }
        }
        let mut case = Case::from_json(json).expect("a case of the corpus");
        case.program.functions.iter_mut().for_each(|function| ask(&mut function.body, selection, repeated));
        case
    }

    /// A program of OpenGL is of texts or of modules, and has as many shaders either way (ARB_gl_spirv, LinkProgram).
    #[test]
    fn a_program_of_opengl_is_of_one_kind() {
        for (json, count) in [
            (include_str!("../../../corpus/fragments/flat_inputs.json"), 1),
            (include_str!("../../../corpus/stages/tessellation_control.json"), 2),
            (include_str!("../../../corpus/stages/vertex.json"), 0),
        ] {
            for (variant, is_text) in [(Variant::Unoptimised, true), (Variant::Module, false)] {
                let case = Case { variant, ..Case::from_json(json).expect("a case of the corpus") };
                let job = job(&prepare(case).expect("it compiles"), Dialect::OpenGl, 1);
                let beside = job.pipeline.beside();
                assert_eq!(beside.len(), count);
                assert!(beside.iter().all(|(_, module)| module.is_empty() == is_text));
                assert_eq!((job.spirv.is_empty(), job.source.is_some()), (is_text, is_text));
                assert!(job.source.is_none_or(|source| source.beside.len() == count));
            }
        }
    }

    #[test]
    fn a_module_without_the_promise_of_its_shader_is_found() {
        let case = Case::from_json(include_str!("../../../corpus/vectors/V03.json")).expect("a case of the corpus");
        for tier in Tier::ALL {
            let case = Case { tier, ..case.clone() };
            let module =
                toolchain::make(&tangle_emit::source(&case), case.entry_point.spirv, &[]).expect("it compiles");
            assert_eq!(lost_promise(&case, &module), None);
            // The planted fault: a compiler that forgets the execution mode (OpExecutionMode is 16).
            let mode = mode_of_tier(tier).map(|mode| mode as u32);
            let stays = |words: &&[u32]| !(words[0] & 0xFFFF == 16 && mode == Some(words[2]));
            let instructions =
                tangle_files::module::instructions(&module).flatten().map(|instruction| instruction.words);
            let forgotten: Vec<u32> = module[..5].iter().chain(instructions.filter(stays).flatten()).copied().collect();
            assert_eq!(lost_promise(&case, &forgotten).is_some(), tier != Tier::Plain, "{}", tier.name());
        }
    }

    /// SPV_KHR_expect_assume, and the decoration of GLSL 4.60 §4.14.
    #[test]
    fn hints_and_qualifiers_arrive_in_the_module() {
        let mut case = Case::from_json(include_str!("../../../corpus/vectors/V03.json")).expect("a case of the corpus");
        let main = case.program.functions.last_mut().expect("main");
        let exact = main.add_local("exact", Type::scalar(Scalar::Float));
        main.locals.last_mut().expect("the local").precise = true;
        let real = |expr| Expr::Cast(Scalar::Float, Box::new(expr));
        let sum = Expr::binary(BinaryOp::Add, real(Expr::Builtin(Builtin::Lane)), Expr::Float(Scalar::Float, 4));
        let expected = Expr::Intrinsic(Intrinsic::Expect, vec![Expr::Builtin(Builtin::Lane), Expr::Uint(1)]);
        let assumed = Expr::binary(BinaryOp::Lt, Expr::Builtin(Builtin::Lane), Expr::Uint(128));
        main.body.extend([
            Stmt::Assign { var: exact, value: sum },
            Stmt::Assume(assumed),
            Stmt::Log { site: 99, values: vec![expected, Expr::Var(exact)] },
        ]);
        let prepared = prepare(case).expect("it compiles");
        let text = toolchain::disassemble(&prepared.spirv).expect("a module");
        for word in ["OpCapability ExpectAssumeKHR", "OpExpectKHR", "OpAssumeTrueKHR", "NoContraction"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }

    /// SPIR-V 1.6 §3.2.2 and §3.2.3.
    #[test]
    fn attributes_arrive_in_the_module() {
        // A loop and an `if`; a switch.
        let sources =
            [include_str!("../../../corpus/vectors/V03.json"), include_str!("../../../corpus/vectors/V08.json")];
        for (selection, repeated, words) in [
            (SelectionControl::Unspecified, LoopControl::Unspecified, ["None", "None"]),
            (SelectionControl::Flatten, LoopControl::Unroll, ["Flatten", "Unroll"]),
            (SelectionControl::DontFlatten, LoopControl::DontUnroll, ["DontFlatten", "DontUnroll"]),
        ] {
            for source in sources {
                let prepared = prepare(asking(source, selection, repeated)).expect("it compiles");
                let text = toolchain::disassemble(&prepared.spirv).expect("a module");
                for (op, word) in [("OpSelectionMerge", words[0]), ("OpLoopMerge", words[1])] {
                    let merges: Vec<&str> = text.lines().filter(|line| line.contains(op)).collect();
                    assert!(op == "OpLoopMerge" || !merges.is_empty(), "{text}");
                    assert!(merges.iter().all(|line| line.trim_end().ends_with(word)), "{word}: {merges:?}");
                }
            }
        }
    }
}
