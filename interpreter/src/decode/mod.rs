//! From a module to [`Code`].
//!
//! ```text
//!   entry.rs         entry point, execution modes, names, decorations
//!   global.rs        types, constants, variables
//!   body.rs          functions: blocks and terminators; instructions.rs, extended.rs, memory.rs, image.rs, texel.rs: instructions
//!   finish.rs        the places of all values
//! ```

mod body;
mod entry;
mod extended;
mod finish;
mod global;
mod image;
mod instructions;
mod memory;
mod texel;

pub(crate) use instructions::is_group;

use std::collections::{BTreeMap, BTreeSet};

use rspirv::spirv;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::code::*;
use crate::dispatch::PipelineOptions;
use crate::ids::Ids;
use crate::module::{Binding, Interface, Module, SpecConstant, has_workgroups};
use crate::operand::{Number, Operand};
use crate::outcome::Error;
use crate::source::{Instruction, Source};
use crate::types::{MatrixLayout, Scalar, TypeId, Types};

pub(crate) use body::GROUP_TAG;

pub(crate) type Cells = SmallVec<[Reg; 4]>;

/// What the cells of a constant are.
pub(crate) type Starts = SmallVec<[Start; 1]>;

/// Columns of values in functions: numbered from here until [`finish`] gives them their places.
pub(crate) const TEMP: Reg = 1 << 30;

/// Limits of what a module can ask of the decoder. Together they keep it below [`DECODE_MEMORY`](crate::pipeline::DECODE_MEMORY).
const MAX_INSTRUCTIONS: usize = 1 << 21;
const MAX_OBJECTS: u64 = 1 << 12;
const MAX_COLUMNS: u64 = 1 << 21;
/// Scalars of all values and constants together.
const MAX_SCALARS: usize = 1 << 22;

/// A pointer, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct Pointer {
    pub ty: TypeId,
    pub pointee: TypeId,
    pub space: Space,
    pub base: Base,
    /// Added to the base: bytes or cells.
    pub offset: u64,
    pub matrix: Option<MatrixLayout>,
    /// Distance of the components, for a vector in a row-major matrix.
    pub step: Option<u64>,
    pub read_only: bool,
    /// Decorated `Coherent` or `Volatile`.
    pub coherent: bool,
    /// Decorated `Volatile`, or its structure's member is.
    pub volatile: bool,
    /// The next index chooses one of so many descriptors.
    pub descriptors: Option<u64>,
    /// An index that is no constant has chosen the descriptor, and nothing says that it may differ between invocations (`NonUniform`).
    pub uniform_descriptor: bool,
    /// To a texel, or to nowhere.
    pub texel: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Def {
    Value(TypeId, Cells),
    Pointer(Box<Pointer>),
}

#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub ty: TypeId,
    pub cells: Starts,
}

#[derive(Clone, Debug, Default)]
struct Decorations {
    set: Option<u32>,
    binding: Option<u32>,
    spec_id: Option<u32>,
    built_in: Option<u32>,
    location: Option<u32>,
    component: Option<u32>,
    /// `Index`, of the outputs of blending with two sources.
    index: Option<u32>,
    flat: bool,
    array_stride: Option<u32>,
    read_only: bool,
    aliased: bool,
    coherent: bool,
    volatile: bool,
    buffer_block: bool,
    block: bool,
}

/// Decorations that results of instructions have.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    non_uniform: bool,
    relaxed: bool,
    no_contraction: bool,
    no_signed_wrap: bool,
    no_unsigned_wrap: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct MemberDecorations {
    offset: Option<u32>,
    matrix_stride: Option<u32>,
    row_major: bool,
    read_only: bool,
    coherent: bool,
    volatile: bool,
    built_in: Option<u32>,
}

/// What locations are described by: `OpString` of files, `OpName` of functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub files: FxHashMap<u32, String>,
    /// The name of each function of [`Code::functions`], if it has one.
    pub functions: Vec<Option<String>>,
}

/// Float execution modes of one width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FloatModes {
    pub preserve: bool,
    pub denorm_preserve: bool,
    /// Without one, either neighbour of what is not exact may come.
    pub rounding: Option<Direction>,
}

/// Where correctly rounded results are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// `RoundingModeRTE`
    NearestEven,
    /// `RoundingModeRTZ`
    Zero,
}

pub(crate) struct Decoded {
    pub code: Code,
    pub interface: Interface,
    pub names: Names,
    pub float_modes: [FloatModes; 3],
}

pub(crate) struct Decoder<'a> {
    module: &'a Source,
    options: &'a PipelineOptions,
    pub types: Types,
    pub type_ids: Ids<TypeId>,
    /// The id that each type got last.
    id_of_type: Vec<u32>,
    pointer_strides: FxHashMap<TypeId, u32>,
    decorations: FxHashMap<u32, Decorations>,
    marks: Ids<Marks>,
    members: FxHashMap<(u32, u32), MemberDecorations>,
    pub constants: Ids<Constant>,
    constant_columns: FxHashMap<Start, Reg>,
    pub defs: Ids<Def>,
    pub code: Code,
    names: Names,
    /// `OpName` of ids.
    name_of: Ids<Number>,
    function_ids: FxHashMap<u32, u32>,
    float_modes: [FloatModes; 3],
    /// The execution model of the entry point.
    stage: spirv::ExecutionModel,
    /// The variables that the entry point names.
    in_interface: BTreeSet<u32>,
    glsl: BTreeSet<u32>,
    ignored_sets: BTreeSet<u32>,
    unsupported: BTreeSet<String>,
    bindings: Vec<Binding>,
    /// Of those that are images, their number and their type.
    image_bindings: Vec<(usize, TypeId)>,
    /// Types of images that have pointers to texels.
    atomic_images: BTreeSet<TypeId>,
    push_size: u64,
    spec_constants: BTreeMap<u32, SpecConstant>,
    temps: u32,
    pub permanent: u32,
    labels: FxHashMap<u32, u32>,
    workgroup_size_constant: Option<u32>,
    /// The memory model is `Vulkan`: every access says by its operands what it shares.
    vulkan_memory: bool,
    /// Kinds of memory that some barrier releases without `MakeAvailable`, or acquires without `MakeVisible`.
    not_made: (Orders, Orders),
    // While a function is decoded:
    function: u32,
    place: u32,
    line: Option<(u32, u32)>,
    /// Scalars of all accesses.
    leaves: usize,
    /// Scalars of all values and constants.
    scalars: usize,
}

pub(crate) fn invalid(why: impl Into<String>) -> Error {
    Error::Invalid(why.into())
}

/// The id of an operand.
pub(crate) fn id_at(inst: &Instruction<'_>, at: usize) -> Result<u32, Error> {
    match inst.operands.get(at) {
        Some(Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id)) => Ok(*id),
        _ => Err(invalid(format!("Op{:?} without operand {at}", inst.class.opcode))),
    }
}

/// The literal of an operand.
pub(crate) fn literal_at(inst: &Instruction<'_>, at: usize) -> Result<u32, Error> {
    match inst.operands.get(at) {
        Some(Operand::LiteralBit32(value) | Operand::LiteralExtInstInteger(value)) => Ok(*value),
        _ => Err(invalid(format!("Op{:?} without literal {at}", inst.class.opcode))),
    }
}

pub(crate) fn integer_width(scalar: Scalar) -> Result<u8, Error> {
    match scalar {
        Scalar::Bool => Ok(1),
        Scalar::Int(width, _) => Ok(width),
        Scalar::Pointer => Ok(64),
        Scalar::Float(_) => Err(invalid("a float where an integer has to be")),
    }
}

pub(crate) fn float_width(scalar: Scalar) -> Result<u8, Error> {
    match scalar {
        Scalar::Float(width) => Ok(width),
        _ => Err(invalid("no float where one has to be")),
    }
}

/// True for the stages that are executed.
fn is_executed(stage: spirv::ExecutionModel) -> bool {
    use spirv::ExecutionModel as M;
    has_workgroups(stage)
        || matches!(stage, M::Fragment | M::Vertex | M::TessellationControl | M::TessellationEvaluation | M::Geometry)
}

pub(crate) fn decode(module: &Module, options: &PipelineOptions) -> Result<Decoded, Error> {
    let count = module.source.len();
    if count > MAX_INSTRUCTIONS {
        return Err(Error::Memory(format!("{count} instructions")));
    }
    let mut decoder = Decoder::new(&module.source, options);
    let read = decoder.globals().and_then(|(entry_id, interface)| {
        decoder.functions(entry_id)?;
        Ok(interface)
    });
    // What is not supported may be why something else looks invalid.
    if !decoder.unsupported.is_empty() && !matches!(read, Err(Error::Memory(_))) {
        return Err(Error::Unsupported(decoder.unsupported.into_iter().collect()));
    }
    let mut interface = read?;
    for (number, _) in decoder.image_bindings.iter().filter(|(_, ty)| decoder.atomic_images.contains(ty)) {
        if let Some(image) = &mut interface.bindings[*number].image {
            image.atomic = true;
        }
    }
    decoder.finish()?;
    let made = |not_made: Orders| not_made.map(|not_made| decoder.vulkan_memory && !not_made);
    (decoder.code.made_available, decoder.code.made_visible) = (made(decoder.not_made.0), made(decoder.not_made.1));
    Ok(Decoded { code: decoder.code, interface, names: decoder.names, float_modes: decoder.float_modes })
}

impl<'a> Decoder<'a> {
    fn new(module: &'a Source, options: &'a PipelineOptions) -> Decoder<'a> {
        let (count, bound) = (module.len(), module.bound as usize);
        // The capacity that modules of this length need, so that little is copied while they grow.
        let code = Code {
            granule: 8,
            insts: Vec::with_capacity(count),
            places: Vec::with_capacity(count),
            pool: Vec::with_capacity(count),
            accesses: Vec::with_capacity(count / 3),
            chains: Vec::with_capacity(count / 8),
            ..Code::default()
        };
        Decoder {
            module,
            options,
            types: Types::default(),
            type_ids: Ids::new(count, bound),
            id_of_type: Vec::new(),
            pointer_strides: FxHashMap::default(),
            decorations: FxHashMap::default(),
            marks: Ids::new(count, bound),
            members: FxHashMap::default(),
            constants: Ids::new(count, bound),
            constant_columns: FxHashMap::default(),
            defs: Ids::new(count, bound).with_capacity(count),
            code,
            names: Names::default(),
            name_of: Ids::new(count, bound),
            function_ids: FxHashMap::default(),
            float_modes: [FloatModes::default(); 3],
            stage: spirv::ExecutionModel::GLCompute,
            in_interface: BTreeSet::new(),
            glsl: BTreeSet::new(),
            ignored_sets: BTreeSet::new(),
            unsupported: BTreeSet::new(),
            bindings: Vec::new(),
            image_bindings: Vec::new(),
            atomic_images: BTreeSet::new(),
            push_size: 0,
            spec_constants: BTreeMap::new(),
            temps: 0,
            permanent: 0,
            labels: FxHashMap::default(),
            workgroup_size_constant: None,
            vulkan_memory: false,
            not_made: Default::default(),
            function: 0,
            place: 0,
            line: None,
            leaves: 0,
            scalars: 0,
        }
    }

    /// Notes what is not supported; decoding goes on, to find everything.
    pub fn unsupported(&mut self, what: impl Into<String>) {
        if self.unsupported.len() < 64 {
            self.unsupported.insert(what.into());
        }
    }

    /// The name of an id, if it has one.
    fn name(&self, id: u32) -> Option<&str> {
        self.name_of.get(id).map(|&name| self.module.text(name))
    }

    fn decoration(&self, id: u32) -> Decorations {
        self.decorations.get(&id).cloned().unwrap_or_default()
    }

    pub fn is_relaxed(&self, id: u32) -> bool {
        self.marks.get(id).is_some_and(|marks| marks.relaxed)
    }

    /// It may be rearranged with others (Vulkan, "Evaluation of Expressions").
    pub fn is_rearranged(&self, inst: &Instruction<'_>) -> bool {
        !inst.result_id.and_then(|id| self.marks.get(id)).is_some_and(|marks| marks.no_contraction)
    }

    pub fn pointer_stride(&self, ty: TypeId) -> Option<u32> {
        self.pointer_strides.get(&ty).copied()
    }

    pub fn type_of(&self, id: u32) -> Result<TypeId, Error> {
        self.type_ids.get(id).copied().ok_or_else(|| invalid(format!("%{id} is no type")))
    }

    // ---- module scope ----

    fn globals(&mut self) -> Result<(u32, Interface), Error> {
        let (entry_id, entry, stage) = self.entry_point()?;
        if !is_executed(stage) {
            self.unsupported(format!("execution model {stage:?}"));
        }
        self.stage = stage;
        if self.has_mode(entry_id, spirv::ExecutionMode::FPFastMathDefault) {
            self.unsupported("the execution mode FPFastMathDefault");
        }
        self.float_modes = self.float_modes(entry_id);
        self.in_interface = self.interface_of(entry_id, stage);
        self.memory_model();
        self.imports();
        self.debug();
        self.annotations();
        for inst in self.module.section(&self.module.globals) {
            self.global(&inst)?;
        }
        let workgroup_size = if has_workgroups(stage) { self.workgroup_size(entry_id)? } else { [1; 3] };
        let tier = self.options.tier.unwrap_or_else(|| self.declared_tier(entry_id));
        self.code.equal_stores = self.options.equal_stores;
        let interface = Interface {
            entry,
            stage,
            workgroup_size,
            quads_of_ids: self.has_mode(entry_id, spirv::ExecutionMode::DerivativeGroupQuadsKHR),
            quad_derivatives: self.has_mode(entry_id, spirv::ExecutionMode::QuadDerivativesKHR),
            inputs: self.code.flat_inputs.iter().map(|input| input.location).collect(),
            tier,
            bindings: std::mem::take(&mut self.bindings),
            push_size: self.push_size,
            spec_constants: std::mem::take(&mut self.spec_constants).into_values().collect(),
        };
        Ok((entry_id, interface))
    }
}
