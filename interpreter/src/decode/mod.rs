//! From a module to [`Code`]: types, constants, variables, functions.

mod body;
mod extended;
mod finish;
mod image;
mod instructions;
mod memory;
mod texel;

use std::collections::{BTreeMap, BTreeSet};

use rspirv::dr::{self, Operand};
use rspirv::spirv::{self, Decoration, Op as Opcode, StorageClass};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::alu;
use crate::code::*;
use crate::dispatch::{PipelineOptions, Tier};
use crate::module::{Binding, BindingKind, ImageShape, Interface, Module, SpecConstant};
use crate::outcome::Error;
use crate::types::{MAX_CELLS, MatrixLayout, Member, Scalar, Type, TypeId, Types};

pub(crate) use body::GROUP_TAG;

pub(crate) type Cells = SmallVec<[Reg; 4]>;

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
    /// The next index chooses a descriptor.
    pub descriptors: bool,
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
    pub cells: Vec<Start>,
}

#[derive(Clone, Debug, Default)]
struct Decorations {
    set: Option<u32>,
    binding: Option<u32>,
    spec_id: Option<u32>,
    built_in: Option<u32>,
    array_stride: Option<u32>,
    read_only: bool,
    non_uniform: bool,
    relaxed: bool,
    no_contraction: bool,
    buffer_block: bool,
    block: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct MemberDecorations {
    offset: Option<u32>,
    matrix_stride: Option<u32>,
    row_major: bool,
    read_only: bool,
    built_in: Option<u32>,
}

/// Names for people.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub ids: FxHashMap<u32, String>,
    pub files: FxHashMap<u32, String>,
    /// Id of each function of [`Code::functions`].
    pub functions: Vec<u32>,
}

/// Float execution modes of one width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FloatModes {
    pub preserve: bool,
    pub denorm_preserve: bool,
    pub round_to_even: bool,
}

pub(crate) struct Decoded {
    pub code: Code,
    pub interface: Interface,
    pub names: Names,
    pub float_modes: [FloatModes; 3],
}

pub(crate) struct Decoder<'a> {
    module: &'a dr::Module,
    options: &'a PipelineOptions,
    pub types: Types,
    pub type_ids: FxHashMap<u32, TypeId>,
    pointer_strides: FxHashMap<TypeId, u32>,
    decorations: FxHashMap<u32, Decorations>,
    members: FxHashMap<(u32, u32), MemberDecorations>,
    pub constants: FxHashMap<u32, Constant>,
    constant_columns: FxHashMap<Start, Reg>,
    pub defs: FxHashMap<u32, Def>,
    pub code: Code,
    names: Names,
    function_ids: FxHashMap<u32, u32>,
    glsl: BTreeSet<u32>,
    ignored_sets: BTreeSet<u32>,
    unsupported: BTreeSet<String>,
    bindings: Vec<Binding>,
    push_size: u64,
    spec_constants: BTreeMap<u32, SpecConstant>,
    temps: u32,
    pub permanent: u32,
    labels: FxHashMap<u32, u32>,
    workgroup_size_constant: Option<u32>,
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
pub(crate) fn id_at(inst: &dr::Instruction, at: usize) -> Result<u32, Error> {
    match inst.operands.get(at) {
        Some(Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id)) => Ok(*id),
        _ => Err(invalid(format!("Op{:?} without operand {at}", inst.class.opcode))),
    }
}

/// The literal of an operand.
pub(crate) fn literal_at(inst: &dr::Instruction, at: usize) -> Result<u32, Error> {
    match inst.operands.get(at) {
        Some(Operand::LiteralBit32(value) | Operand::LiteralExtInstInteger(value)) => Ok(*value),
        _ => Err(invalid(format!("Op{:?} without literal {at}", inst.class.opcode))),
    }
}

pub(crate) fn decode(module: &Module, options: &PipelineOptions) -> Result<Decoded, Error> {
    let count = module.dr.all_inst_iter().count();
    if count > MAX_INSTRUCTIONS {
        return Err(Error::Memory(format!("{count} instructions")));
    }
    let mut decoder = Decoder::new(&module.dr, options);
    let read = decoder.globals().and_then(|(entry_id, interface)| {
        decoder.functions(entry_id)?;
        Ok((entry_id, interface))
    });
    // What is not supported may be why something else looks invalid.
    if !decoder.unsupported.is_empty() && !matches!(read, Err(Error::Memory(_))) {
        return Err(Error::Unsupported(decoder.unsupported.into_iter().collect()));
    }
    let (entry_id, interface) = read?;
    decoder.finish()?;
    let float_modes = decoder.float_modes(entry_id);
    Ok(Decoded { code: decoder.code, interface, names: decoder.names, float_modes })
}

impl<'a> Decoder<'a> {
    fn new(module: &'a dr::Module, options: &'a PipelineOptions) -> Decoder<'a> {
        Decoder {
            module,
            options,
            types: Types::default(),
            type_ids: FxHashMap::default(),
            pointer_strides: FxHashMap::default(),
            decorations: FxHashMap::default(),
            members: FxHashMap::default(),
            constants: FxHashMap::default(),
            constant_columns: FxHashMap::default(),
            defs: FxHashMap::default(),
            code: Code { granule: 8, ..Code::default() },
            names: Names::default(),
            function_ids: FxHashMap::default(),
            glsl: BTreeSet::new(),
            ignored_sets: BTreeSet::new(),
            unsupported: BTreeSet::new(),
            bindings: Vec::new(),
            push_size: 0,
            spec_constants: BTreeMap::new(),
            temps: 0,
            permanent: 0,
            labels: FxHashMap::default(),
            workgroup_size_constant: None,
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

    fn decoration(&self, id: u32) -> Decorations {
        self.decorations.get(&id).cloned().unwrap_or_default()
    }

    pub fn is_relaxed(&self, id: u32) -> bool {
        self.decorations.get(&id).is_some_and(|d| d.relaxed)
    }

    /// It may be rearranged with others (Vulkan, "Evaluation of Expressions").
    pub fn is_rearranged(&self, inst: &dr::Instruction) -> bool {
        !inst.result_id.and_then(|id| self.decorations.get(&id)).is_some_and(|d| d.no_contraction)
    }

    pub fn pointer_stride(&self, ty: TypeId) -> Option<u32> {
        self.pointer_strides.get(&ty).copied()
    }

    pub fn type_of(&self, id: u32) -> Result<TypeId, Error> {
        self.type_ids.get(&id).copied().ok_or_else(|| invalid(format!("%{id} is no type")))
    }

    // ---- module scope ----

    fn globals(&mut self) -> Result<(u32, Interface), Error> {
        let (entry_id, entry, stage) = self.entry_point()?;
        if stage != spirv::ExecutionModel::GLCompute {
            self.unsupported(format!("execution model {stage:?}"));
        }
        self.memory_model();
        self.imports();
        self.debug();
        self.annotations();
        for inst in &self.module.types_global_values {
            self.global(inst)?;
        }
        let workgroup_size = self.workgroup_size(entry_id)?;
        let tier = self.options.tier.unwrap_or_else(|| self.declared_tier(entry_id));
        self.code.equal_stores = self.options.equal_stores;
        let interface = Interface {
            entry,
            stage,
            workgroup_size,
            quads_of_ids: self.has_mode(entry_id, spirv::ExecutionMode::DerivativeGroupQuadsKHR),
            tier,
            bindings: std::mem::take(&mut self.bindings),
            push_size: self.push_size,
            spec_constants: std::mem::take(&mut self.spec_constants).into_values().collect(),
        };
        Ok((entry_id, interface))
    }

    fn entry_point(&self) -> Result<(u32, String, spirv::ExecutionModel), Error> {
        let mut found = Vec::new();
        for inst in &self.module.entry_points {
            if let [Operand::ExecutionModel(model), Operand::IdRef(id), Operand::LiteralString(name), ..] =
                inst.operands.as_slice()
            {
                let wanted = match &self.options.entry {
                    Some(entry) => entry == name,
                    None => *model == spirv::ExecutionModel::GLCompute,
                };
                if wanted {
                    found.push((*id, name.clone(), *model));
                }
            }
        }
        match (found.len(), &self.options.entry) {
            (1, _) => Ok(found.remove(0)),
            (0, Some(name)) => Err(invalid(format!("there is no entry point '{name}'"))),
            (0, None) => match self.module.entry_points.first().and_then(|inst| inst.operands.first()) {
                Some(Operand::ExecutionModel(model)) => {
                    Err(Error::Unsupported(vec![format!("execution model {model:?}")]))
                }
                _ => Err(invalid("there is no entry point")),
            },
            (_, None) => Err(Error::Dispatch("the module has several entry points: name one".into())),
            (_, Some(name)) => Err(invalid(format!("several entry points are called '{name}'"))),
        }
    }

    fn memory_model(&mut self) {
        let addressing = self.module.memory_model.as_ref().and_then(|inst| inst.operands.first());
        match addressing {
            Some(Operand::AddressingModel(
                spirv::AddressingModel::Logical | spirv::AddressingModel::PhysicalStorageBuffer64,
            )) => {}
            other => self.unsupported(format!("addressing model {other:?}")),
        }
    }

    fn imports(&mut self) {
        let module = self.module;
        for inst in &module.ext_inst_imports {
            let (Some(id), Some(Operand::LiteralString(name))) = (inst.result_id, inst.operands.first()) else {
                continue;
            };
            if name == "GLSL.std.450" {
                self.glsl.insert(id);
            } else if name.starts_with("NonSemantic.") || name.contains("DebugInfo") {
                self.ignored_sets.insert(id);
            } else {
                self.unsupported(format!("extended instructions \"{name}\""));
            }
        }
    }

    fn debug(&mut self) {
        let module = self.module;
        for inst in &module.debug_names {
            if let [Operand::IdRef(id), Operand::LiteralString(name)] = inst.operands.as_slice() {
                if !name.is_empty() {
                    self.names.ids.insert(*id, name.clone());
                }
            }
        }
        for inst in &module.debug_string_source {
            if let (Opcode::String, Some(id), Some(Operand::LiteralString(text))) =
                (inst.class.opcode, inst.result_id, inst.operands.first())
            {
                self.names.files.insert(id, text.clone());
            }
        }
    }

    fn annotations(&mut self) {
        let module = self.module;
        for inst in &module.annotations {
            match (inst.class.opcode, inst.operands.as_slice()) {
                (Opcode::Decorate, [Operand::IdRef(id), Operand::Decoration(decoration), rest @ ..]) => {
                    let value = match rest.first() {
                        Some(Operand::LiteralBit32(value)) => Some(*value),
                        Some(Operand::BuiltIn(value)) => Some(*value as u32),
                        _ => None,
                    };
                    let entry = self.decorations.entry(*id).or_default();
                    match decoration {
                        Decoration::DescriptorSet => entry.set = value,
                        Decoration::Binding => entry.binding = value,
                        Decoration::SpecId => entry.spec_id = value,
                        Decoration::BuiltIn => entry.built_in = value,
                        Decoration::ArrayStride => entry.array_stride = value,
                        Decoration::NonWritable => entry.read_only = true,
                        Decoration::NonUniform => entry.non_uniform = true,
                        Decoration::RelaxedPrecision => entry.relaxed = true,
                        Decoration::NoContraction => entry.no_contraction = true,
                        Decoration::BufferBlock => entry.buffer_block = true,
                        Decoration::Block => entry.block = true,
                        _ => {}
                    }
                }
                (
                    Opcode::MemberDecorate,
                    [Operand::IdRef(id), Operand::LiteralBit32(member), Operand::Decoration(decoration), rest @ ..],
                ) => {
                    let value = match rest.first() {
                        Some(Operand::LiteralBit32(value)) => Some(*value),
                        Some(Operand::BuiltIn(value)) => Some(*value as u32),
                        _ => None,
                    };
                    let entry = self.members.entry((*id, *member)).or_default();
                    match decoration {
                        Decoration::Offset => entry.offset = value,
                        Decoration::MatrixStride => entry.matrix_stride = value,
                        Decoration::RowMajor => entry.row_major = true,
                        Decoration::NonWritable => entry.read_only = true,
                        Decoration::BuiltIn => entry.built_in = value,
                        _ => {}
                    }
                }
                (Opcode::GroupDecorate | Opcode::GroupMemberDecorate, _) => {
                    self.unsupported(format!("Op{:?}", inst.class.opcode));
                }
                _ => {}
            }
        }
    }

    fn global(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let opcode = inst.class.opcode;
        match opcode {
            Opcode::Line => {}
            Opcode::NoLine => {}
            Opcode::TypeForwardPointer => {
                let id = id_at(inst, 0)?;
                let class = match inst.operands.get(1) {
                    Some(Operand::StorageClass(class)) => *class as u32,
                    _ => return Err(invalid("OpTypeForwardPointer without a storage class")),
                };
                let ty = self.types.add(Type::Pointer(class, TypeId::MAX))?;
                self.type_ids.insert(id, ty);
            }
            _ if opcode.is_type() => self.type_instruction(inst)?,
            _ if opcode.is_constant() => self.constant(inst)?,
            Opcode::Variable => self.global_variable(inst)?,
            Opcode::Undef => {
                let ty = self.type_of(inst.result_type.unwrap_or(0))?;
                let cells = self.checked_cells(ty)?;
                self.add_constant(inst, ty, vec![Start::Undef; cells])?;
            }
            // OpExtInst at module scope is non-semantic.
            Opcode::ExtInst => {}
            other => self.unsupported(format!("Op{other:?} outside a function")),
        }
        Ok(())
    }

    fn type_instruction(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let id = inst.result_id.ok_or_else(|| invalid("a type without an id"))?;
        let ty = match inst.class.opcode {
            Opcode::TypeVoid => Type::Void,
            Opcode::TypeBool => Type::Scalar(Scalar::Bool),
            Opcode::TypeInt => {
                let (width, is_signed) = (literal_at(inst, 0)?, literal_at(inst, 1)?);
                if ![8, 16, 32, 64].contains(&width) {
                    return Err(invalid(format!("an integer of {width} bits")));
                }
                Type::Scalar(Scalar::Int(width as u8, is_signed != 0))
            }
            Opcode::TypeFloat => {
                let width = literal_at(inst, 0)?;
                if inst.operands.len() > 1 {
                    self.unsupported("OpTypeFloat with an encoding");
                }
                if ![16, 32, 64].contains(&width) {
                    return Err(invalid(format!("a float of {width} bits")));
                }
                Type::Scalar(Scalar::Float(width as u8))
            }
            Opcode::TypeVector => {
                let (part, n) = (self.type_of(id_at(inst, 0)?)?, literal_at(inst, 1)?);
                if self.types.scalar(part).is_none() || !(1..=16).contains(&n) {
                    return Err(invalid("a vector of no scalars"));
                }
                Type::Vector(part, n)
            }
            Opcode::TypeMatrix => {
                let (part, n) = (self.type_of(id_at(inst, 0)?)?, literal_at(inst, 1)?);
                if !matches!(self.types.get(part), Type::Vector(..)) || !(1..=16).contains(&n) {
                    return Err(invalid("a matrix of no vectors"));
                }
                Type::Matrix(part, n)
            }
            Opcode::TypeArray => {
                let part = self.type_of(id_at(inst, 0)?)?;
                let length_id = id_at(inst, 1)?;
                let length = self.literal_constant(length_id)?;
                if length == 0 {
                    return Err(match self.is_specialised(length_id) {
                        true => Error::Dispatch("an array of length 0: its length is a specialisation constant".into()),
                        false => invalid("an array of length 0"),
                    });
                }
                Type::Array(part, length, self.decoration(id).array_stride)
            }
            Opcode::TypeRuntimeArray => {
                Type::RuntimeArray(self.type_of(id_at(inst, 0)?)?, self.decoration(id).array_stride)
            }
            Opcode::TypeStruct => {
                let mut members = Vec::with_capacity(inst.operands.len());
                for at in 0..inst.operands.len() {
                    let decorations = self.members.get(&(id, at as u32)).copied().unwrap_or_default();
                    members.push(Member {
                        ty: self.type_of(id_at(inst, at)?)?,
                        offset: decorations.offset,
                        matrix: decorations
                            .matrix_stride
                            .map(|stride| MatrixLayout { stride, row_major: decorations.row_major }),
                        read_only: decorations.read_only,
                        built_in: decorations.built_in,
                    });
                }
                Type::Struct(members)
            }
            Opcode::TypePointer => {
                let class = match inst.operands.first() {
                    Some(Operand::StorageClass(class)) => *class as u32,
                    _ => return Err(invalid("OpTypePointer without a storage class")),
                };
                let pointee = self.type_of(id_at(inst, 1)?)?;
                let ty = match self.type_ids.get(&id) {
                    Some(&forward) if matches!(self.types.get(forward), Type::Pointer(_, TypeId::MAX)) => {
                        self.types.set_pointee(forward, pointee);
                        forward
                    }
                    _ => self.types.add(Type::Pointer(class, pointee))?,
                };
                if let Some(stride) = self.decoration(id).array_stride {
                    self.pointer_strides.insert(ty, stride);
                }
                self.type_ids.insert(id, ty);
                return Ok(());
            }
            Opcode::TypeFunction => {
                for at in 0..inst.operands.len() {
                    self.type_of(id_at(inst, at)?)?;
                }
                Type::Function
            }
            Opcode::TypeImage => self.image_type(inst)?,
            Opcode::TypeSampler => Type::Sampler,
            Opcode::TypeSampledImage => {
                let image = self.type_of(id_at(inst, 0)?)?;
                match *self.types.get(image) {
                    Type::Image(_) => Type::SampledImage(image),
                    Type::Opaque(what) => Type::Opaque(what),
                    _ => return Err(invalid("OpTypeSampledImage of no image")),
                }
            }
            Opcode::TypeAccelerationStructureKHR => Type::Opaque("OpTypeAccelerationStructureKHR"),
            other => {
                self.unsupported(format!("Op{other:?}"));
                Type::Opaque("a type that is not supported")
            }
        };
        let ty = self.types.add(ty)?;
        self.type_ids.insert(id, ty);
        Ok(())
    }

    /// True for a constant whose value specialisation decides.
    fn is_specialised(&self, id: u32) -> bool {
        let of_specialisation = [Opcode::SpecConstant, Opcode::SpecConstantOp];
        let mut all = self.module.types_global_values.iter();
        all.any(|inst| inst.result_id == Some(id) && of_specialisation.contains(&inst.class.opcode))
    }

    pub fn checked_cells(&self, ty: TypeId) -> Result<usize, Error> {
        let cells = self.types.cells(ty);
        if cells > MAX_CELLS {
            return Err(Error::Memory(format!("a value of {cells} scalars")));
        }
        Ok(cells as usize)
    }

    /// Counts scalars against the limit of all.
    pub fn count_scalars(&mut self, count: usize) -> Result<(), Error> {
        self.scalars = self.scalars.saturating_add(count);
        if self.scalars > MAX_SCALARS {
            return Err(Error::Memory("values with too many scalars".into()));
        }
        Ok(())
    }

    fn add_constant(&mut self, inst: &dr::Instruction, ty: TypeId, cells: Vec<Start>) -> Result<(), Error> {
        let id = inst.result_id.ok_or_else(|| invalid("a constant without an id"))?;
        self.count_scalars(cells.len())?;
        self.constants.insert(id, Constant { ty, cells });
        Ok(())
    }

    fn constant(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let ty = self.type_of(inst.result_type.unwrap_or(0))?;
        let opcode = inst.class.opcode;
        let id = inst.result_id.unwrap_or(0);
        let width = self.types.scalar(ty).map_or(64, Scalar::width);
        let cells = match opcode {
            Opcode::ConstantTrue => vec![Start::Value(1)],
            Opcode::ConstantFalse => vec![Start::Value(0)],
            Opcode::SpecConstantTrue => vec![Start::Value(self.specialised(id, 1, 1))],
            Opcode::SpecConstantFalse => vec![Start::Value(self.specialised(id, 1, 0))],
            Opcode::Constant | Opcode::SpecConstant => {
                let bits = match inst.operands.first() {
                    Some(Operand::LiteralBit32(bits)) => u64::from(*bits),
                    Some(Operand::LiteralBit64(bits)) => *bits,
                    _ => return Err(invalid("OpConstant without a literal")),
                } & alu::mask(width);
                let bits = if opcode == Opcode::SpecConstant { self.specialised(id, width, bits) } else { bits };
                vec![Start::Value(bits)]
            }
            Opcode::ConstantNull => vec![Start::Value(0); self.checked_cells(ty)?],
            Opcode::ConstantComposite | Opcode::SpecConstantComposite => {
                let expected = self.checked_cells(ty)?;
                let mut cells = Vec::with_capacity(expected);
                for at in 0..inst.operands.len() {
                    let part = id_at(inst, at)?;
                    let part = self.constants.get(&part).ok_or_else(|| invalid(format!("%{part} is no constant")))?;
                    cells.extend_from_slice(&part.cells);
                    if cells.len() > expected {
                        break;
                    }
                }
                cells
            }
            Opcode::SpecConstantOp => self.constant_operation(inst, ty)?,
            other => {
                self.unsupported(format!("Op{other:?}"));
                vec![Start::Undef; self.checked_cells(ty)?]
            }
        };
        if cells.len() != self.checked_cells(ty)? {
            return Err(invalid(format!("the constant %{id} does not fit its type")));
        }
        if self.decoration(id).built_in == Some(spirv::BuiltIn::WorkgroupSize as u32) {
            self.workgroup_size_constant = Some(id);
        }
        self.add_constant(inst, ty, cells)
    }

    fn specialised(&mut self, id: u32, width: u8, default: u64) -> u64 {
        let Some(number) = self.decoration(id).spec_id else { return default };
        let name = self.names.ids.get(&id).cloned();
        self.spec_constants.insert(number, SpecConstant { id: number, default, width: u32::from(width), name });
        self.options
            .specialization
            .get(&number)
            .map_or(default, |&value| if width == 1 { u64::from(value != 0) } else { value & alu::mask(width) })
    }

    /// An integer constant that something has to know when the module is decoded.
    pub fn literal_constant(&self, id: u32) -> Result<u64, Error> {
        match self.constants.get(&id).map(|constant| constant.cells.as_slice()) {
            Some([Start::Value(value)]) => Ok(*value),
            _ => Err(invalid(format!("%{id} is no integer constant"))),
        }
    }

    fn workgroup_size(&self, entry: u32) -> Result<[u32; 3], Error> {
        let mut size = None;
        for inst in &self.module.execution_modes {
            if inst.operands.first() != Some(&Operand::IdRef(entry)) {
                continue;
            }
            let mode = match inst.operands.get(1) {
                Some(Operand::ExecutionMode(mode)) => *mode,
                _ => continue,
            };
            if mode == spirv::ExecutionMode::LocalSize {
                size = Some([literal_at(inst, 2)?, literal_at(inst, 3)?, literal_at(inst, 4)?]);
            } else if mode == spirv::ExecutionMode::LocalSizeId {
                let side = |at| Ok::<_, Error>(self.literal_constant(id_at(inst, at)?)? as u32);
                size = Some([side(2)?, side(3)?, side(4)?]);
            }
        }
        // "WorkgroupSize: … takes precedence over any LocalSize or LocalSizeId" (Vulkan, built-in WorkgroupSize).
        if let Some(constant) = self.workgroup_size_constant.and_then(|id| self.constants.get(&id)) {
            if let [Start::Value(x), Start::Value(y), Start::Value(z)] = constant.cells[..] {
                size = Some([x as u32, y as u32, z as u32]);
            }
        }
        size.ok_or_else(|| invalid("the entry point has no workgroup size"))
    }

    fn has_mode(&self, entry: u32, wanted: spirv::ExecutionMode) -> bool {
        self.module.execution_modes.iter().any(|inst| {
            inst.operands.first() == Some(&Operand::IdRef(entry))
                && inst.operands.get(1) == Some(&Operand::ExecutionMode(wanted))
        })
    }

    fn declared_tier(&self, entry: u32) -> Tier {
        if self.has_mode(entry, spirv::ExecutionMode::MaximallyReconvergesKHR) {
            Tier::Maximal
        } else if self.has_mode(entry, spirv::ExecutionMode::SubgroupUniformControlFlowKHR) {
            Tier::SubgroupUniform
        } else {
            Tier::Plain
        }
    }

    fn float_modes(&self, entry: u32) -> [FloatModes; 3] {
        let mut modes = [FloatModes::default(); 3];
        for inst in &self.module.execution_modes {
            let [Operand::IdRef(id), Operand::ExecutionMode(mode), Operand::LiteralBit32(width)] =
                inst.operands.as_slice()
            else {
                continue;
            };
            let at = match width {
                16 => 0,
                32 => 1,
                64 => 2,
                _ => continue,
            };
            if *id != entry {
                continue;
            }
            match mode {
                spirv::ExecutionMode::SignedZeroInfNanPreserve => modes[at].preserve = true,
                spirv::ExecutionMode::DenormPreserve => modes[at].denorm_preserve = true,
                spirv::ExecutionMode::RoundingModeRTE => modes[at].round_to_even = true,
                _ => {}
            }
        }
        modes
    }

    // ---- constants as columns ----

    pub fn column_of(&mut self, start: Start) -> Reg {
        if let Some(&reg) = self.constant_columns.get(&start) {
            return reg;
        }
        let reg = self.permanent;
        self.permanent += 1;
        self.constant_columns.insert(start, reg);
        self.code.starts.push((reg, start));
        reg
    }

    pub fn constant_column(&mut self, value: u64) -> Reg {
        self.column_of(Start::Value(value))
    }

    /// Columns of their own, one after the other.
    pub fn permanent_columns(&mut self, count: usize) -> Result<Reg, Error> {
        let first = self.permanent;
        let after = u64::from(first) + count as u64;
        if after > MAX_COLUMNS {
            return Err(Error::Memory(format!("{after} columns")));
        }
        self.permanent = after as u32;
        Ok(first)
    }

    // ---- variables ----

    fn global_variable(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let id = inst.result_id.ok_or_else(|| invalid("a variable without an id"))?;
        let ty = self.type_of(inst.result_type.unwrap_or(0))?;
        let &Type::Pointer(_, pointee) = self.types.get(ty) else {
            return Err(invalid("a variable of no pointer type"));
        };
        if pointee == TypeId::MAX {
            return Err(invalid("a variable of an incomplete type"));
        }
        let class = match inst.operands.first() {
            Some(Operand::StorageClass(class)) => *class,
            _ => return Err(invalid("OpVariable without a storage class")),
        };
        let decorations = self.decoration(id);
        let initialiser = if inst.operands.len() > 1 { Some(id_at(inst, 1)?) } else { None };
        let mut pointer = Pointer {
            ty,
            pointee,
            space: Space::Bytes,
            base: Base::Cells(0),
            offset: 0,
            matrix: None,
            step: None,
            read_only: decorations.read_only,
            descriptors: false,
            uniform_descriptor: false,
            texel: false,
        };
        match class {
            StorageClass::Private => {
                pointer.space = Space::Cells;
                let count = self.checked_cells(pointee)?;
                let first = self.permanent_columns(count)?;
                pointer.base = Base::Cells(first);
                let values = match initialiser {
                    Some(id) => Some(
                        self.constants
                            .get(&id)
                            .cloned()
                            .ok_or_else(|| invalid("an initialiser that is no constant"))?,
                    ),
                    None => None,
                };
                for cell in 0..count {
                    let start = match &values {
                        Some(constant) => constant.cells.get(cell).copied().unwrap_or(Start::Undef),
                        None => Start::Uninitialised,
                    };
                    self.code.starts.push((first + cell as u32, start));
                }
            }
            StorageClass::Input => {
                pointer.space = Space::Cells;
                pointer.read_only = true;
                let count = self.checked_cells(pointee)?;
                let first = self.permanent_columns(count)?;
                pointer.base = Base::Cells(first);
                self.input(&decorations, pointee, first, count);
            }
            StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::UniformConstant => {
                self.resource(id, class, &decorations, &mut pointer)?;
            }
            StorageClass::PushConstant => {
                pointer.read_only = true;
                let size = self.types.size(pointee, None);
                self.push_size = self.push_size.max(size);
                pointer.base = self.object(ObjectKind::Push, true, size)?;
            }
            StorageClass::Workgroup => {
                let size = self.types.size(pointee, None);
                if size > 1 << 24 {
                    return Err(Error::Memory(format!("{size} bytes of workgroup memory")));
                }
                let zeroed = match initialiser {
                    None => false,
                    Some(id) => {
                        let zero =
                            self.constants.get(&id).is_some_and(|c| c.cells.iter().all(|c| *c == Start::Value(0)));
                        if !zero {
                            self.unsupported("workgroup variables with an initialiser that is not null");
                        }
                        true
                    }
                };
                pointer.base = self.workgroup(pointee, size, zeroed)?;
            }
            other => self.unsupported(format!("variables of storage class {other:?}")),
        }
        self.defs.insert(id, Def::Pointer(Box::new(pointer)));
        Ok(())
    }

    /// A workgroup variable. Those with an explicit layout all lie in the same memory (SPV_KHR_workgroup_memory_explicit_layout: "If ... more than one ...
    /// variable in the Workgroup storage class, they must all be decorated Aliased").
    fn workgroup(&mut self, pointee: TypeId, size: u64, zeroed: bool) -> Result<Base, Error> {
        let is_explicit = match self.types.get(pointee) {
            Type::Struct(members) => members.iter().any(|member| member.offset.is_some()),
            _ => false,
        };
        let first = self.code.objects.iter().position(|object| matches!(object.kind, ObjectKind::Workgroup(_)));
        let Some(at) = first.filter(|_| is_explicit) else {
            let base = self.object(ObjectKind::Workgroup(size), false, size)?;
            self.code.objects.last_mut().into_iter().for_each(|object| object.zeroed = zeroed);
            return Ok(base);
        };
        let object = &mut self.code.objects[at];
        let (least, most) = (object.size.min(size), object.size.max(size));
        // Whether all bytes begin as zeros.
        let covers = (object.zeroed && object.size == most) || (zeroed && size == most);
        let is_partly = (object.zeroed || zeroed) && !covers && least < most;
        (object.kind, object.size, object.zeroed) = (ObjectKind::Workgroup(most), most, covers);
        if is_partly {
            self.unsupported("workgroup blocks of which an initialiser covers a part");
        }
        Ok(Base::Bytes { object: at as u32, offset: 0 })
    }

    fn object(&mut self, kind: ObjectKind, read_only: bool, size: u64) -> Result<Base, Error> {
        if self.code.objects.len() as u64 >= MAX_OBJECTS {
            return Err(Error::Memory("too many variables".into()));
        }
        if size >= 1 << OFFSET_BITS {
            return Err(Error::Memory(format!("a variable of {size} bytes")));
        }
        self.code.objects.push(Object { kind, read_only, zeroed: false, size });
        Ok(Base::Bytes { object: self.code.objects.len() as u32 - 1, offset: 0 })
    }

    fn input(&mut self, decorations: &Decorations, pointee: TypeId, first: Reg, count: usize) {
        let add = |built_in: Option<u32>, first: Reg, count: u32, code: &mut Code| match built_in
            .and_then(spirv::BuiltIn::from_u32)
        {
            Some(built_in) if known_built_in(built_in) => {
                code.built_ins.push(BuiltInColumns { built_in, first, count });
                None
            }
            Some(other) => Some(format!("the built-in variable {other:?}")),
            None => Some("input variables that are not built-in".to_owned()),
        };
        if let Type::Struct(members) = self.types.get(pointee) {
            let members = members.clone();
            let mut at = first;
            for member in members {
                let cells = self.types.cells(member.ty) as u32;
                if let Some(what) = add(member.built_in, at, cells, &mut self.code) {
                    self.unsupported(what);
                }
                at += cells;
            }
        } else if let Some(what) = add(decorations.built_in, first, count as u32, &mut self.code) {
            self.unsupported(what);
        }
    }

    fn resource(
        &mut self,
        id: u32,
        class: StorageClass,
        decorations: &Decorations,
        pointer: &mut Pointer,
    ) -> Result<(), Error> {
        let (set, binding) = (decorations.set.unwrap_or(0), decorations.binding.unwrap_or(0));
        let (block, count) = match *self.types.get(pointer.pointee) {
            Type::Array(part, n, _) => (part, Some(n)),
            Type::RuntimeArray(part, _) => (part, None),
            _ => (pointer.pointee, Some(1)),
        };
        pointer.descriptors = block != pointer.pointee;
        let block_id = self.type_ids.iter().find(|(_, ty)| **ty == block).map(|(id, _)| *id).unwrap_or(0);
        let block_decorations = self.decoration(block_id);
        let name = self.names.ids.get(&id).or_else(|| self.names.ids.get(&block_id)).cloned();
        let mut kind = match class {
            StorageClass::StorageBuffer => BindingKind::StorageBuffer,
            StorageClass::Uniform if block_decorations.buffer_block => BindingKind::StorageBuffer,
            StorageClass::Uniform => BindingKind::UniformBuffer,
            _ => BindingKind::Other,
        };
        let mut element = None;
        let mut image = None;
        let mut read_only = decorations.read_only || kind == BindingKind::UniformBuffer;
        match self.types.get(block) {
            Type::Struct(members) => {
                read_only |= !members.is_empty() && members.iter().all(|member| member.read_only);
                if let Some(Type::RuntimeArray(part, stride)) = members.last().map(|m| self.types.get(m.ty)) {
                    element = Some(self.types.stride(*part, *stride));
                }
            }
            Type::Image(_) | Type::SampledImage(_) => {
                if let Some(shape) = self.types.image(block) {
                    kind = if shape.is_sampled { BindingKind::SampledImage } else { BindingKind::StorageImage };
                    read_only |= shape.is_sampled;
                    image = Some(ImageShape { texel: shape.format.bytes(), dimensions: shape.dimensions });
                }
            }
            Type::Sampler => kind = BindingKind::Sampler,
            Type::Opaque(what) => {
                let what = *what;
                self.unsupported(what);
                kind = BindingKind::Other;
            }
            _ => {
                self.unsupported("a descriptor of another type than a block");
                kind = BindingKind::Other;
            }
        }
        if count.is_none() {
            self.unsupported("run-time arrays of descriptors");
        }
        let size = self.types.size(block, None);
        pointer.read_only |= kind == BindingKind::UniformBuffer;
        let elements = count.unwrap_or(1);
        if elements > MAX_OBJECTS {
            return Err(Error::Memory(format!("{elements} descriptors")));
        }
        let first = self.code.objects.len() as u32;
        for element in 0..elements as u32 {
            let texel = image.map_or(0, |image| image.texel);
            let object = match kind {
                BindingKind::Sampler => ObjectKind::Nothing,
                _ => ObjectKind::Buffer { set, binding, element, texel },
            };
            self.object(object, read_only, size)?;
        }
        pointer.base = Base::Bytes { object: first, offset: 0 };
        self.bindings.push(Binding {
            set,
            binding,
            kind,
            count: count.map(|n| n as u32),
            size,
            element,
            image,
            name,
            read_only,
        });
        Ok(())
    }
}

fn known_built_in(built_in: spirv::BuiltIn) -> bool {
    use spirv::BuiltIn as B;
    matches!(
        built_in,
        B::NumWorkgroups
            | B::WorkgroupSize
            | B::WorkgroupId
            | B::LocalInvocationId
            | B::GlobalInvocationId
            | B::LocalInvocationIndex
            | B::SubgroupSize
            | B::NumSubgroups
            | B::SubgroupId
            | B::SubgroupLocalInvocationId
            | B::SubgroupEqMask
            | B::SubgroupGeMask
            | B::SubgroupGtMask
            | B::SubgroupLeMask
            | B::SubgroupLtMask
    )
}
