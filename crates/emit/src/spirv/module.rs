//! What is declared outside of functions.

use std::collections::BTreeSet;

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Function, Instruction, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, Dim, ExecutionMode, ExecutionModel, ImageFormat, MemoryModel, Op,
    StorageClass,
};
use rustc_hash::FxHashMap;
use tangle_features::{FeatureSet, needs};
use tangle_program::case::{Case, DerivativeGroup, SpirvVersion, Stage, Tier, interface};
use tangle_program::memory::ArrayId;
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Category, SubgroupOp};
use tangle_program::tree::{Expr, Program, Stmt, walk_block};
use tangle_program::types::{Kind, Scalar, Type};
use tangle_program::variant::Freedom;

use super::draws::Draws;
use crate::plan::{FLOAT_CONTROLS, mode_numbers};

/// The id of an instruction's result.
pub(super) type Id = u32;

/// `SpecId` of the first cluster size that is a specialisation constant. Nobody specialises it.
const FIRST_CLUSTER: u32 = 1000;

/// A module that is being printed.
pub(super) struct Module<'a> {
    pub case: &'a Case,
    pub draws: Draws,
    pub features: FeatureSet,
    /// The functions so far, in the order of the program.
    pub functions: Vec<Id>,
    builder: Builder,
    types: FxHashMap<Type, Id>,
    /// By storage class and what is pointed to.
    pointers: FxHashMap<(StorageClass, Id), Id>,
    /// By type and bits.
    constants: FxHashMap<(Id, u64), Id>,
    nulls: FxHashMap<Id, Id>,
    undefined: FxHashMap<Id, Id>,
    built_ins: FxHashMap<BuiltIn, Id>,
    globals: FxHashMap<Global, Id>,
    /// Global variables that the entry point lists.
    interface: Vec<Id>,
    /// The import of GLSL.std.450, once something needs it.
    glsl: Option<Id>,
    clusters: u32,
}

/// A variable outside of functions, or what it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Global {
    Inputs,
    Uniforms,
    Push,
    Map,
    Log,
    /// The arrays that lie in a buffer.
    Arrays,
    /// An array in shared memory.
    Shared(ArrayId),
    /// The number of the invocation in the dispatch.
    Invocation,
    /// Where its log begins.
    LogBase,
    /// How many words it has logged.
    Cursor,
    /// Specialisation constant `k` of the case.
    Constant(u32),
    /// A block that is a runtime array of words.
    Words,
    /// An array of descriptors.
    Resources(ResourceClass),
    /// The type of its resources.
    Resource(ResourceClass),
}

/// Where the blocks of a class of resources are; `None` of images.
pub(super) const fn block_storage(class: ResourceClass) -> Option<StorageClass> {
    match class {
        ResourceClass::StorageBuffer => Some(StorageClass::StorageBuffer),
        ResourceClass::UniformBuffer => Some(StorageClass::Uniform),
        ResourceClass::StorageTexelBuffer | ResourceClass::StorageImage => None,
    }
}

/// True if there is a derivative that needs DerivativeControl, which every device has (Vulkan, Capabilities).
fn has_fine_or_coarse_derivatives(program: &Program) -> bool {
    let plain = [SubgroupOp::DFdx, SubgroupOp::DFdy, SubgroupOp::Fwidth];
    let needs = |expr: &Expr| matches!(expr, Expr::Subgroup(call) if call.op.info().category == Category::Derivative && !plain.contains(&call.op));
    let mut found = false;
    for function in &program.functions {
        walk_block(&function.body, &mut |stmt| {
            found |= stmt.direct_exprs().any(|expr| expr.any(&mut |part| needs(part)));
        });
    }
    found
}

impl<'a> Module<'a> {
    pub fn new(case: &'a Case, draws: Draws) -> Module<'a> {
        let mut builder = Builder::new();
        let version = case.entry_point.spirv.word();
        builder.set_version((version >> 16) as u8, (version >> 8) as u8);
        let features = needs(case).features;
        let mut module = Module {
            case,
            draws,
            features,
            functions: Vec::new(),
            builder,
            types: FxHashMap::default(),
            pointers: FxHashMap::default(),
            constants: FxHashMap::default(),
            nulls: FxHashMap::default(),
            undefined: FxHashMap::default(),
            built_ins: FxHashMap::default(),
            globals: FxHashMap::default(),
            interface: Vec::new(),
            glsl: None,
            clusters: 0,
        };
        module.preamble();
        module
    }

    fn preamble(&mut self) {
        self.builder.capability(Capability::Shader);
        if has_fine_or_coarse_derivatives(&self.case.program) {
            self.builder.capability(Capability::DerivativeControl);
        }
        let mut extensions: Vec<&str> = Vec::new();
        for row in self.features.rows() {
            // Of the integer dot products only those of packed operands are printed; the others need more features.
            let other = [Capability::DotProductInput4x8Bit, Capability::DotProductInputAll];
            for &capability in row.spirv.capabilities.iter().filter(|capability| !other.contains(capability)) {
                self.builder.capability(capability);
            }
            extensions.extend(row.spirv.extensions.iter().chain(&row.spirv.declares).copied());
        }
        let controls = self.case.entry_point.float_controls;
        let capabilities: BTreeSet<u32> = controls.iter().map(|(mode, _)| mode_numbers(mode)[0]).collect();
        for capability in capabilities.into_iter().filter_map(Capability::from_u32) {
            self.builder.capability(capability);
            extensions.push(FLOAT_CONTROLS);
        }
        extensions.extend(match self.case.tier {
            Tier::Plain => None,
            Tier::SubgroupUniform => Some("SPV_KHR_subgroup_uniform_control_flow"),
            Tier::Maximal => Some("SPV_KHR_maximal_reconvergence"),
        });
        let mut declared = BTreeSet::new();
        for extension in extensions.into_iter().filter(|&extension| declared.insert(extension)) {
            self.builder.extension(extension);
        }
        self.builder.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    }

    /// The words, when all functions are there.
    pub fn finish(mut self) -> Vec<u32> {
        let main = self.functions.last().copied().unwrap_or(0);
        let workgroups = self.case.entry_point.workgroups();
        match workgroups.default_size {
            None => self.builder.execution_mode(main, ExecutionMode::LocalSize, workgroups.size),
            Some(default) => self.specialised_size(main, default),
        }
        let derivative_group = workgroups.derivative_group.map(|group| match group {
            DerivativeGroup::Quads => ExecutionMode::DerivativeGroupQuadsKHR,
            DerivativeGroup::Linear => ExecutionMode::DerivativeGroupLinearKHR,
        });
        if let Some(mode) = derivative_group {
            self.builder.execution_mode(main, mode, []);
        }
        for (mode, scalar) in self.case.entry_point.float_controls.iter() {
            if let Some(mode) = ExecutionMode::from_u32(mode_numbers(mode)[1]) {
                self.builder.execution_mode(main, mode, [scalar.size()]);
            }
        }
        match self.case.tier {
            Tier::Plain => {}
            Tier::SubgroupUniform => {
                self.builder.execution_mode(main, ExecutionMode::SubgroupUniformControlFlowKHR, []);
            }
            Tier::Maximal => self.builder.execution_mode(main, ExecutionMode::MaximallyReconvergesKHR, []),
        }
        let model = match self.case.entry_point.stage {
            Stage::Task => ExecutionModel::TaskEXT,
            Stage::Mesh => {
                // Of those of the GLSL shader, which makes none.
                self.builder.execution_mode(main, ExecutionMode::OutputVertices, [3]);
                self.builder.execution_mode(main, ExecutionMode::OutputPrimitivesEXT, [1]);
                self.builder.execution_mode(main, ExecutionMode::OutputTrianglesEXT, []);
                ExecutionModel::MeshEXT
            }
            _ => ExecutionModel::GLCompute,
        };
        self.builder.entry_point(model, main, "main", &self.interface);
        self.builder.module().assemble()
    }

    /// As glslang says it: SPIR-V 1.6 deprecates the built-in, and earlier versions lack LocalSizeId in Vulkan.
    fn specialised_size(&mut self, main: Id, default: [u32; 3]) {
        let uint = self.ty(Type::UINT);
        let sides: Vec<Id> = (0..)
            .zip(default)
            .map(|(number, side)| {
                let id = self.builder.spec_constant_bit32(uint, side);
                self.decorate(id, Decoration::SpecId, &[number]);
                id
            })
            .collect();
        if self.case.entry_point.spirv >= SpirvVersion::V1_6 {
            self.builder.execution_mode_id(main, ExecutionMode::LocalSizeId, sides);
        } else {
            let ty = self.ty(Type::vector(Scalar::Uint, 3));
            let size =
                self.global_instruction(Op::SpecConstantComposite, Some(ty), sides.into_iter().map(Operand::IdRef));
            let built_in = [Operand::BuiltIn(BuiltIn::WorkgroupSize)];
            self.builder.decorate(size, Decoration::BuiltIn, built_in);
            self.builder.execution_mode(main, ExecutionMode::LocalSize, default);
        }
    }

    pub fn id(&mut self) -> Id {
        self.builder.id()
    }

    pub fn name(&mut self, id: Id, name: &str) {
        self.builder.name(id, name);
    }

    pub fn add_function(&mut self, function: Function) {
        self.builder.module_mut().functions.push(function);
    }

    pub fn decorate(&mut self, id: Id, decoration: Decoration, literals: &[u32]) {
        self.builder.decorate(id, decoration, literals.iter().map(|&literal| Operand::LiteralBit32(literal)));
    }

    fn global_instruction(&mut self, op: Op, ty: Option<Id>, operands: impl IntoIterator<Item = Operand>) -> Id {
        let id = self.builder.id();
        let instruction = Instruction::new(op, ty, Some(id), operands.into_iter().collect());
        self.builder.module_mut().types_global_values.push(instruction);
        id
    }

    /// A type without a layout.
    pub fn ty(&mut self, ty: Type) -> Id {
        if let Some(&id) = self.types.get(&ty) {
            return id;
        }
        let part = ty.part(Some(0)).unwrap_or(ty);
        let id = match (ty.kind(), ty.width) {
            (Kind::Single, 1) => match ty.scalar {
                Scalar::Bool => self.builder.type_bool(),
                scalar if scalar.is_float() => self.builder.type_float(scalar.size(), None),
                scalar => self.builder.type_int(scalar.size(), scalar.is_signed().into()),
            },
            (Kind::Single, width) => {
                let component = self.ty(part);
                self.builder.type_vector(component, width.into())
            }
            (Kind::Array, _) => {
                let (element, count) = (self.ty(part), self.uint(ty.elements().into()));
                self.global_instruction(Op::TypeArray, None, [element, count].map(Operand::IdRef))
            }
            (Kind::Matrix, _) => {
                let column = self.ty(part);
                self.builder.type_matrix(column, ty.elements().into())
            }
            (Kind::Struct, _) => {
                let members: Vec<Operand> = ty.parts().map(|member| Operand::IdRef(self.ty(member))).collect();
                self.global_instruction(Op::TypeStruct, None, members)
            }
        };
        self.types.insert(ty, id);
        id
    }

    pub fn void(&mut self) -> Id {
        self.builder.type_void()
    }

    pub fn function_type(&mut self, result: Id, params: Vec<Id>) -> Id {
        self.builder.type_function(result, params)
    }

    pub fn pointer_to(&mut self, class: StorageClass, to: Id) -> Id {
        if let Some(&id) = self.pointers.get(&(class, to)) {
            return id;
        }
        let id = self.builder.type_pointer(None, class, to);
        self.pointers.insert((class, to), id);
        id
    }

    pub fn pointer(&mut self, class: StorageClass, to: Type) -> Id {
        let to = self.ty(to);
        self.pointer_to(class, to)
    }

    /// A constant of a scalar type by its bits.
    pub fn bits(&mut self, scalar: Scalar, bits: u64) -> Id {
        let ty = self.ty(Type::scalar(scalar));
        if bits == 0 && self.draws.takes(Freedom::Forms) {
            return self.null(ty);
        }
        if let Some(&id) = self.constants.get(&(ty, bits)) {
            return id;
        }
        let id = match (scalar, scalar.size()) {
            (Scalar::Bool, _) => {
                let op = if bits == 0 { Op::ConstantFalse } else { Op::ConstantTrue };
                self.global_instruction(op, Some(ty), [])
            }
            (_, 64) => self.builder.constant_bit64(ty, bits),
            // SPIR-V 1.6 §2.2.1: narrow literals are sign-extended if the type is signed.
            _ => self.builder.constant_bit32(ty, scalar.extend(bits) as u32),
        };
        self.constants.insert((ty, bits), id);
        id
    }

    pub fn uint(&mut self, value: u32) -> Id {
        let ty = self.ty(Type::UINT);
        if let Some(&id) = self.constants.get(&(ty, value.into())) {
            return id;
        }
        let id = self.builder.constant_bit32(ty, value);
        self.constants.insert((ty, value.into()), id);
        id
    }

    /// The zero of a type.
    pub fn zero(&mut self, ty: Type) -> Id {
        if ty.is_scalar() {
            return self.bits(ty.scalar, 0);
        }
        let ty = self.ty(ty);
        self.null(ty)
    }

    fn null(&mut self, ty: Id) -> Id {
        if let Some(&id) = self.nulls.get(&ty) {
            return id;
        }
        let id = self.global_instruction(Op::ConstantNull, Some(ty), []);
        self.nulls.insert(ty, id);
        id
    }

    pub fn undefined(&mut self, ty: Type) -> Id {
        let ty = self.ty(ty);
        if let Some(&id) = self.undefined.get(&ty) {
            return id;
        }
        let id = self.global_instruction(Op::Undef, Some(ty), []);
        self.undefined.insert(ty, id);
        id
    }

    /// A cluster size: a constant, or a specialisation constant that keeps its default.
    pub fn cluster_size(&mut self, size: u32) -> Id {
        if !self.draws.takes(Freedom::Forms) {
            return self.uint(size);
        }
        let ty = self.ty(Type::UINT);
        let id = self.builder.spec_constant_bit32(ty, size);
        self.decorate(id, Decoration::SpecId, &[FIRST_CLUSTER + self.clusters]);
        self.clusters += 1;
        id
    }

    pub fn glsl(&mut self) -> Id {
        *self.glsl.get_or_insert_with(|| self.builder.ext_inst_import("GLSL.std.450"))
    }

    fn variable(&mut self, class: StorageClass, ty: Id, initial: Option<Id>) -> Id {
        let pointer = self.pointer_to(class, ty);
        let id = self.builder.variable(pointer, None, class, initial);
        // SPIR-V 1.6 §3.3.4, OpEntryPoint: before version 1.4 only inputs and outputs.
        if class == StorageClass::Input || self.case.entry_point.spirv >= SpirvVersion::V1_4 {
            self.interface.push(id);
        }
        id
    }

    /// The variable of a built-in, declared where it is asked for first.
    pub fn built_in(&mut self, built_in: BuiltIn, ty: Type) -> Id {
        if let Some(&id) = self.built_ins.get(&built_in) {
            return id;
        }
        let ty = self.ty(ty);
        let id = self.variable(StorageClass::Input, ty, None);
        self.builder.decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(built_in)]);
        self.built_ins.insert(built_in, id);
        id
    }

    /// A variable outside of functions. It is declared when it is first asked for.
    pub fn global(&mut self, global: Global) -> Id {
        if let Some(&id) = self.globals.get(&global) {
            return id;
        }
        let id = self.declare(global);
        self.globals.insert(global, id);
        id
    }

    fn declare(&mut self, global: Global) -> Id {
        match global {
            Global::Words => {
                let array = self.runtime_array();
                self.block(vec![(array, 0)])
            }
            Global::Resource(class) => self.resource(class),
            Global::Resources(class) => self.resources(class),
            Global::Inputs => self.words(interface::INPUTS, Decoration::NonWritable, "Inputs"),
            Global::Map => self.words(interface::MAP, Decoration::NonReadable, "Map"),
            Global::Log => self.words(interface::LOG, Decoration::NonReadable, "Log"),
            Global::Uniforms => {
                let rows = self.case.data.uniforms.len().div_ceil(4) as u32;
                let array = self.strided_array(Type::MASK, rows, 16);
                let block = self.block(vec![(array, 0)]);
                self.buffer(StorageClass::Uniform, block, interface::UNIFORMS, "Uniforms")
            }
            Global::Push => {
                let array = self.strided_array(Type::UINT, self.case.data.push.len() as u32, 4);
                let block = self.block(vec![(array, 0)]);
                self.variable(StorageClass::PushConstant, block, None)
            }
            Global::Arrays => self.arrays(),
            Global::Shared(array) => {
                let Some(array) = self.case.program.shared.get(array as usize) else { return 0 };
                let (element, count) = (self.ty(array.ty()), self.uint(array.len));
                let ty = self.global_instruction(Op::TypeArray, None, [element, count].map(Operand::IdRef));
                let id = self.variable(StorageClass::Workgroup, ty, None);
                self.name(id, &array.name);
                id
            }
            Global::Invocation => self.private("invocation"),
            Global::LogBase => self.private("log_base"),
            Global::Cursor => self.private("cursor"),
            Global::Constant(k) => {
                let ty = self.ty(Type::UINT);
                let default = self.case.data.constants.get(k as usize).map_or(0, |constant| constant.default);
                let id = self.builder.spec_constant_bit32(ty, default);
                self.decorate(id, Decoration::SpecId, &[interface::FIRST_CONSTANT + k]);
                id
            }
        }
    }

    /// A block of one word, or an image of such texels.
    fn resource(&mut self, class: ResourceClass) -> Id {
        let word = self.ty(Type::UINT);
        let dim = match class {
            ResourceClass::StorageBuffer | ResourceClass::UniformBuffer => return self.block(vec![(word, 0)]),
            ResourceClass::StorageTexelBuffer => {
                self.declare_capability(Capability::ImageBuffer);
                Dim::DimBuffer
            }
            ResourceClass::StorageImage => Dim::Dim2D,
        };
        self.builder.type_image(word, dim, 0, 0, 0, 2, ImageFormat::R32ui, None)
    }

    fn resources(&mut self, class: ResourceClass) -> Id {
        let count = self.uint(self.case.data.resources.len() as u32);
        let element = self.global(Global::Resource(class));
        let array = self.global_instruction(Op::TypeArray, None, [element, count].map(Operand::IdRef));
        let storage = block_storage(class).unwrap_or(StorageClass::UniformConstant);
        let id = self.buffer(storage, array, class.binding(), class.name());
        if storage != StorageClass::Uniform {
            self.decorate(id, Decoration::NonWritable, &[]);
        }
        id
    }

    /// Declares a capability, once.
    pub fn declare_capability(&mut self, capability: Capability) {
        let operand = Operand::Capability(capability);
        if !self.builder.module_ref().capabilities.iter().any(|known| known.operands.first() == Some(&operand)) {
            self.builder.capability(capability);
        }
    }

    fn private(&mut self, name: &str) -> Id {
        let ty = self.ty(Type::UINT);
        let id = self.variable(StorageClass::Private, ty, None);
        self.name(id, name);
        id
    }

    fn runtime_array(&mut self) -> Id {
        let element = self.ty(Type::UINT);
        let id = self.global_instruction(Op::TypeRuntimeArray, None, [Operand::IdRef(element)]);
        self.decorate(id, Decoration::ArrayStride, &[4]);
        id
    }

    fn strided_array(&mut self, element: Type, count: u32, stride: u32) -> Id {
        let (element, count) = (self.ty(element), self.uint(count));
        let id = self.global_instruction(Op::TypeArray, None, [element, count].map(Operand::IdRef));
        self.decorate(id, Decoration::ArrayStride, &[stride]);
        id
    }

    /// A struct of these members at these offsets.
    fn block(&mut self, members: Vec<(Id, u32)>) -> Id {
        let id = self.global_instruction(Op::TypeStruct, None, members.iter().map(|&(ty, _)| Operand::IdRef(ty)));
        for (member, (_, offset)) in (0..).zip(members) {
            self.builder.member_decorate(id, member, Decoration::Offset, [Operand::LiteralBit32(offset)]);
        }
        self.decorate(id, Decoration::Block, &[]);
        id
    }

    fn buffer(&mut self, class: StorageClass, block: Id, binding: u32, name: &str) -> Id {
        let id = self.variable(class, block, None);
        self.decorate(id, Decoration::DescriptorSet, &[0]);
        self.decorate(id, Decoration::Binding, &[binding]);
        self.name(id, name);
        id
    }

    fn words(&mut self, binding: u32, access: Decoration, name: &str) -> Id {
        let block = self.global(Global::Words);
        let id = self.buffer(StorageClass::StorageBuffer, block, binding, name);
        self.decorate(id, access, &[]);
        id
    }

    /// std430, as [`tangle_program::memory::buffer_bytes`] has it.
    fn arrays(&mut self) -> Id {
        let groups = self.case.entry_point.groups();
        let mut members = Vec::new();
        let mut end = 0u32;
        for array in self.case.program.shared.iter().filter(|array| !array.storage.is_workgroup()) {
            let stride = array.scalar.size() / 8;
            let count = array.len.saturating_mul(groups);
            let offset = end.next_multiple_of(stride);
            members.push((self.strided_array(array.ty(), count, stride), offset));
            end = offset.saturating_add(count.saturating_mul(stride));
        }
        let block = self.block(members);
        let id = self.buffer(StorageClass::StorageBuffer, block, interface::ARRAYS, "Arrays");
        self.decorate(id, Decoration::Coherent, &[]);
        id
    }

    /// True if some function logs something.
    pub fn logs(&self) -> bool {
        let mut found = false;
        for function in &self.case.program.functions {
            tangle_program::tree::walk_block(&function.body, &mut |stmt| found |= matches!(stmt, Stmt::Log { .. }));
        }
        found
    }
}
