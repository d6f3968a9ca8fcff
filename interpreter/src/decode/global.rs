//! Types, constants and variables of a module.

use rspirv::spirv::{self, ExecutionModel, Op as Opcode, StorageClass};
use smallvec::smallvec;

use super::{
    Constant, Decoder, Decorations, Def, MAX_COLUMNS, MAX_OBJECTS, MAX_SCALARS, Pointer, Starts, id_at, invalid,
    literal_at,
};
use crate::alu;
use crate::code::*;
use crate::module::{Binding, BindingKind, ImageShape, SpecConstant};
use crate::operand::Operand;
use crate::outcome::Error;
use crate::source::Instruction;
use crate::types::{MAX_CELLS, MatrixLayout, Member, Scalar, Type, TypeId};

impl<'a> Decoder<'a> {
    pub(super) fn global(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
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
                self.name_type(id, ty);
            }
            _ if opcode.is_type() => self.type_instruction(inst)?,
            _ if opcode.is_constant() => self.constant(inst)?,
            Opcode::Variable => self.global_variable(inst)?,
            Opcode::Undef => {
                let ty = self.type_of(inst.result_type.unwrap_or(0))?;
                let cells = self.checked_cells(ty)?;
                self.add_constant(inst, ty, smallvec![Start::Undef; cells])?;
            }
            // OpExtInst at module scope is non-semantic.
            Opcode::ExtInst => {}
            other => self.unsupported(format!("Op{other:?} outside a function")),
        }
        Ok(())
    }

    fn type_instruction(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
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
                        coherent: decorations.coherent,
                        volatile: decorations.volatile,
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
                let ty = match self.type_ids.get(id) {
                    Some(&forward) if matches!(self.types.get(forward), Type::Pointer(_, TypeId::MAX)) => {
                        self.types.set_pointee(forward, pointee);
                        forward
                    }
                    _ => self.types.add(Type::Pointer(class, pointee))?,
                };
                if let Some(stride) = self.decoration(id).array_stride {
                    self.pointer_strides.insert(ty, stride);
                }
                self.name_type(id, ty);
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
        self.name_type(id, ty);
        Ok(())
    }

    fn name_type(&mut self, id: u32, ty: TypeId) {
        self.type_ids.insert(id, ty);
        self.id_of_type.resize(self.id_of_type.len().max(ty as usize + 1), 0);
        self.id_of_type[ty as usize] = id;
    }

    /// The id of a type, or 0.
    fn id_of(&self, ty: TypeId) -> u32 {
        let id = self.id_of_type.get(ty as usize).copied();
        id.filter(|&id| self.type_ids.get(id) == Some(&ty)).unwrap_or(0)
    }

    /// True for a constant whose value specialisation decides.
    fn is_specialised(&self, id: u32) -> bool {
        let of_specialisation = [Opcode::SpecConstant, Opcode::SpecConstantOp];
        let mut all = self.module.section(&self.module.globals);
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

    fn add_constant(&mut self, inst: &Instruction<'_>, ty: TypeId, cells: Starts) -> Result<(), Error> {
        let id = inst.result_id.ok_or_else(|| invalid("a constant without an id"))?;
        self.count_scalars(cells.len())?;
        self.constants.insert(id, Constant { ty, cells });
        Ok(())
    }

    fn constant(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let ty = self.type_of(inst.result_type.unwrap_or(0))?;
        let opcode = inst.class.opcode;
        let id = inst.result_id.unwrap_or(0);
        let width = self.types.scalar(ty).map_or(64, Scalar::width);
        let cells = match opcode {
            Opcode::ConstantTrue => smallvec![Start::Value(1)],
            Opcode::ConstantFalse => smallvec![Start::Value(0)],
            Opcode::SpecConstantTrue => smallvec![Start::Value(self.specialised(id, 1, 1))],
            Opcode::SpecConstantFalse => smallvec![Start::Value(self.specialised(id, 1, 0))],
            Opcode::Constant | Opcode::SpecConstant => {
                let bits = match inst.operands.first() {
                    Some(Operand::LiteralBit32(bits)) => u64::from(*bits),
                    Some(Operand::LiteralBit64(number)) => self.module.wide(*number),
                    _ => return Err(invalid("OpConstant without a literal")),
                } & alu::mask(width);
                let bits = if opcode == Opcode::SpecConstant { self.specialised(id, width, bits) } else { bits };
                smallvec![Start::Value(bits)]
            }
            Opcode::ConstantNull => smallvec![Start::Value(0); self.checked_cells(ty)?],
            Opcode::ConstantComposite | Opcode::SpecConstantComposite => {
                let expected = self.checked_cells(ty)?;
                let mut cells = Starts::with_capacity(expected);
                for at in 0..inst.operands.len() {
                    let part = id_at(inst, at)?;
                    let part = self.constants.get(part).ok_or_else(|| invalid(format!("%{part} is no constant")))?;
                    cells.extend_from_slice(&part.cells);
                    if cells.len() > expected {
                        break;
                    }
                }
                cells
            }
            // One value for all constituents (SPV_EXT_replicated_composites).
            Opcode::ConstantCompositeReplicateEXT | Opcode::SpecConstantCompositeReplicateEXT => {
                let part = id_at(inst, 0)?;
                let part = self.constants.get(part).ok_or_else(|| invalid(format!("%{part} is no constant")))?;
                let part = part.cells.clone();
                part.iter().copied().cycle().take(self.checked_cells(ty)?).collect()
            }
            Opcode::SpecConstantOp => self.constant_operation(inst, ty)?.into(),
            other => {
                self.unsupported(format!("Op{other:?}"));
                smallvec![Start::Undef; self.checked_cells(ty)?]
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
        let name = self.name(id).map(str::to_owned);
        self.spec_constants.insert(number, SpecConstant { id: number, default, width: u32::from(width), name });
        self.options
            .specialization
            .get(&number)
            .map_or(default, |&value| if width == 1 { u64::from(value != 0) } else { value & alu::mask(width) })
    }

    /// An integer constant that something has to know when the module is decoded.
    pub fn literal_constant(&self, id: u32) -> Result<u64, Error> {
        let undefined = |constant: &Constant| constant.cells.contains(&Start::Undef);
        let problem = match self.constants.get(id).is_some_and(undefined) {
            true => format!("the value of the constant %{id} is undefined"),
            false => format!("%{id} is no integer constant"),
        };
        self.known_integer(id).ok_or_else(|| invalid(problem))
    }

    /// The value of a constant, if it is one of a single number.
    pub(super) fn known_integer(&self, id: u32) -> Option<u64> {
        match self.constants.get(id)?.cells[..] {
            [Start::Value(value)] => Some(value),
            _ => None,
        }
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

    /// The id of a variable, its type, and what that points to.
    pub(super) fn variable(&self, inst: &Instruction<'_>) -> Result<(u32, TypeId, TypeId), Error> {
        let id = inst.result_id.ok_or_else(|| invalid("a variable without an id"))?;
        let ty = self.type_of(inst.result_type.unwrap_or(0))?;
        match *self.types.get(ty) {
            Type::Pointer(_, TypeId::MAX) => Err(invalid("a variable of an incomplete type")),
            Type::Pointer(_, pointee) => Ok((id, ty, pointee)),
            _ => Err(invalid("a variable of no pointer type")),
        }
    }

    fn global_variable(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty, pointee) = self.variable(inst)?;
        let class = match inst.operands.first() {
            Some(Operand::StorageClass(class)) => *class,
            _ => return Err(invalid("OpVariable without a storage class")),
        };
        // All that an entry point uses are in its interface (SPIR-V 1.6, OpEntryPoint): others are those of other entry points.
        if matches!(class, StorageClass::Input | StorageClass::Output) && !self.in_interface.contains(&id) {
            return Ok(());
        }
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
            coherent: decorations.coherent,
            volatile: decorations.volatile,
            descriptors: None,
            uniform_descriptor: false,
            texel: false,
        };
        match class {
            // What an invocation sets of its mesh is not looked at, and it cannot be read by others.
            StorageClass::Private | StorageClass::Output => {
                pointer.space = Space::Cells;
                let count = self.checked_cells(pointee)?;
                let first = self.permanent_columns(count)?;
                pointer.base = Base::Cells(first);
                if let (StorageClass::Output, Some(location), false) =
                    (class, decorations.location, super::has_workgroups(self.stage))
                {
                    let (component, index) = (decorations.component.unwrap_or(0), decorations.index.unwrap_or(0));
                    self.code.outputs.push(Output { location, index, component, first, count: count as u32 });
                }
                let values = match initialiser {
                    Some(id) => Some(
                        self.constants.get(id).cloned().ok_or_else(|| invalid("an initialiser that is no constant"))?,
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
            // A payload of a task shader is shared by its workgroup; that of a mesh shader comes from a task shader, which is not here.
            StorageClass::TaskPayloadWorkgroupEXT if self.stage != ExecutionModel::TaskEXT => {
                self.unsupported("the payload of a mesh shader");
            }
            StorageClass::Workgroup | StorageClass::TaskPayloadWorkgroupEXT => {
                let size = self.types.size(pointee, None);
                if size > 1 << 24 {
                    return Err(Error::Memory(format!("{size} bytes of workgroup memory")));
                }
                let zeroed = match initialiser {
                    None => false,
                    Some(id) => {
                        let zero =
                            self.constants.get(id).is_some_and(|c| c.cells.iter().all(|c| *c == Start::Value(0)));
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
        let number = self.code.objects.len() as u32;
        self.code.objects.push(Object { kind, read_only, zeroed: false, size, variable: number, aliased: false });
        Ok(Base::Bytes { object: number, offset: 0 })
    }

    fn input(&mut self, decorations: &Decorations, pointee: TypeId, first: Reg, count: usize) {
        let (stage, volatile) = (self.stage, decorations.volatile);
        if let (ExecutionModel::Fragment, None, Some(location)) = (stage, decorations.built_in, decorations.location) {
            return self.flat_input(decorations, location, pointee, first);
        }
        let add = |built_in: Option<u32>, first: Reg, count: u32, code: &mut Code| match built_in
            .and_then(spirv::BuiltIn::from_u32)
        {
            Some(built_in) if known_built_in(stage, built_in) => {
                code.built_ins.push(BuiltInColumns { built_in, volatile, first, count });
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

    /// An input that has one value in a primitive: that of its provoking vertex (Vulkan, Flat Shading).
    fn flat_input(&mut self, decorations: &Decorations, location: u32, pointee: TypeId, first: Reg) {
        let component = decorations.component.unwrap_or(0);
        match self.types.components(pointee) {
            Some((Scalar::Int(32, _) | Scalar::Float(32), n))
                if decorations.flat && component as usize + n as usize <= 4 =>
            {
                self.code.flat_inputs.push(FlatInput { location, component, first, count: n });
            }
            Some(_) if !decorations.flat => self.unsupported("inputs that are interpolated"),
            _ => self.unsupported("inputs that are no vectors of 32-bit numbers"),
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
            Type::Array(part, n, _) => (part, n),
            Type::RuntimeArray(part, _) => match self.options.descriptors.get(&(set, binding)) {
                Some(&n) => (part, n.into()),
                None => {
                    return Err(Error::Dispatch(format!(
                        "set {set} binding {binding} is a run-time array of descriptors: say how many it has (--descriptors {set}.{binding}=N)"
                    )));
                }
            },
            _ => (pointer.pointee, 1),
        };
        pointer.descriptors = (block != pointer.pointee).then_some(count);
        let block_id = self.id_of(block);
        let block_decorations = self.decoration(block_id);
        let name = self.name(id).or_else(|| self.name(block_id)).map(str::to_owned);
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
                    image = Some(ImageShape {
                        texel: shape.format.bytes(),
                        dimensions: shape.dimensions,
                        dim: shape.dim,
                        arrayed: shape.arrayed,
                        multisampled: shape.multisampled,
                        with_sampler: matches!(self.types.get(block), Type::SampledImage(_)),
                        format: shape.named,
                        atomic: false,
                    });
                    self.image_bindings.push((self.bindings.len(), block));
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
        let size = self.types.size(block, None);
        pointer.read_only |= kind == BindingKind::UniformBuffer;
        if count > MAX_OBJECTS {
            return Err(Error::Memory(format!("{count} descriptors")));
        }
        let count = count as u32;
        let first = self.code.objects.len() as u32;
        for element in 0..count {
            let texel = image.map_or(0, |image| image.texel);
            let object = match kind {
                BindingKind::Sampler => ObjectKind::Nothing,
                _ => ObjectKind::Buffer { set, binding, element, texel },
            };
            self.object(object, read_only, size)?;
        }
        for object in &mut self.code.objects[first as usize..] {
            (object.variable, object.aliased) = (first, decorations.aliased);
        }
        pointer.base = Base::Bytes { object: first, offset: 0 };
        self.bindings.push(Binding {
            set,
            binding,
            kind,
            count,
            is_array: pointer.descriptors.is_some(),
            size,
            element,
            image,
            name,
            read_only,
        });
        Ok(())
    }
}

fn known_built_in(stage: ExecutionModel, built_in: spirv::BuiltIn) -> bool {
    use spirv::BuiltIn as B;
    let of_stage = match stage {
        ExecutionModel::Vertex => matches!(built_in, B::VertexIndex | B::InstanceIndex),
        ExecutionModel::TessellationControl | ExecutionModel::Geometry => {
            matches!(built_in, B::InvocationId | B::PrimitiveId)
        }
        ExecutionModel::TessellationEvaluation => matches!(built_in, B::TessCoord | B::PrimitiveId),
        ExecutionModel::Fragment => {
            matches!(built_in, B::FragCoord | B::HelperInvocation | B::SampleId | B::Layer | B::PrimitiveId)
        }
        _ => matches!(
            built_in,
            B::NumWorkgroups
                | B::WorkgroupSize
                | B::WorkgroupId
                | B::LocalInvocationId
                | B::GlobalInvocationId
                | B::LocalInvocationIndex
                | B::NumSubgroups
                | B::SubgroupId
        ),
    };
    of_stage
        || matches!(
            built_in,
            B::SubgroupSize
                | B::SubgroupLocalInvocationId
                | B::SubgroupEqMask
                | B::SubgroupGeMask
                | B::SubgroupGtMask
                | B::SubgroupLeMask
                | B::SubgroupLtMask
        )
}
