//! Pointers, accesses, atomics and barriers.

use rspirv::spirv::{ExecutionModel, MemoryAccess, Op as Opcode, StorageClass};
use smallvec::smallvec;

use super::{Cells, Decoder, Def, Pointer, id_at, integer_width, invalid};
use crate::alu;
use crate::code::*;
use crate::operand::Operand;
use crate::outcome::{Error, Rule, Why};
use crate::source::Instruction;
use crate::types::{Scalar, Type, TypeId};

/// `WorkgroupMemory`, `UniformMemory` and `ImageMemory` of memory semantics (SPIR-V 1.6 §3.25), in the order of [`Orders`].
const KINDS_OF_MEMORY: [u64; 3] = [0x100, 0x40, 0x800];

/// `Acquire`, `AcquireRelease` and `SequentiallyConsistent`; `Release` and the two.
const ACQUIRES: u64 = 0x1A;
const RELEASES: u64 = 0x1C;
const ORDERS: u64 = ACQUIRES | RELEASES;

/// Bits of memory semantics (SPIR-V 1.6 §3.25): `MakeAvailable` and `MakeVisible`.
const MAKE_AVAILABLE: u64 = 0x2000;
const MAKE_VISIBLE: u64 = 0x4000;

/// The most scalars that all accesses of a module may have together.
const MAX_LEAVES: usize = 1 << 21;

impl Decoder<'_> {
    pub(super) fn pointer(&self, id: u32) -> Result<Pointer, Error> {
        match self.defs.get(id) {
            Some(Def::Pointer(pointer)) => Ok((**pointer).clone()),
            _ => Err(invalid(format!("%{id} is no pointer"))),
        }
    }

    /// A column with the bits of a pointer.
    pub(super) fn materialise(&mut self, pointer: &Pointer) -> Reg {
        // How a matrix lies is known of its member only: a pointer that is a value has lost it.
        let in_row = pointer.step.is_some() && matches!(self.types.get(pointer.pointee), Type::Vector(..));
        let matrices = pointer.matrix.is_some() && !matches!(self.types.get(pointer.pointee), Type::Struct(_));
        if pointer.space != Space::Cells && (in_row || matrices) {
            self.unsupported("variable pointers to matrices, and to columns of row-major ones");
        }
        match pointer.base {
            Base::Cells(first) => self.constant_column(u64::from(first) + pointer.offset),
            Base::Bytes { object, offset } => {
                let bits = (u64::from(object) + 1) << OFFSET_BITS | (offset + pointer.offset);
                self.constant_column(bits)
            }
            Base::Reg(reg) if pointer.offset == 0 => reg,
            Base::Reg(_) => self.chain(pointer, Terms::new()),
        }
    }

    /// Emits the computation of an address.
    fn chain(&mut self, pointer: &Pointer, terms: Terms) -> Reg {
        let ins: Cells = match pointer.base {
            Base::Reg(reg) => [reg].into_iter().chain(terms.iter().map(|term| term.index)).collect(),
            _ => terms.iter().map(|term| term.index).collect(),
        };
        self.code.chains.push(Chain { base: pointer.base, space: pointer.space, offset: pointer.offset, terms });
        let op = Op::Chain(self.code.chains.len() as u32 - 1);
        self.emit_row(op, &ins)
    }

    /// `OpAccessChain` and its relatives (SPIR-V 1.6 §3.52.8).
    pub(super) fn access_chain(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, result_ty) = self.result(inst)?;
        let mut pointer = self.pointer(id_at(inst, 0)?)?;
        if pointer.pointee == u32::MAX {
            return Err(invalid("a pointer to an incomplete type"));
        }
        let mut terms = Terms::new();
        let mut from = 1;
        if matches!(inst.class.opcode, Opcode::PtrAccessChain | Opcode::InBoundsPtrAccessChain) {
            let stride = self.element_stride(&pointer);
            let (index, scalar) = self.scalar(id_at(inst, 1)?)?;
            terms.push(Term { index, width: integer_width(scalar)?, stride, limit: None });
            from = 2;
        }
        for at in from..inst.operands.len() {
            self.step(&mut pointer, id_at(inst, at)?, &mut terms)?;
        }
        pointer.ty = result_ty;
        match *self.types.get(result_ty) {
            Type::Pointer(_, pointee) if pointee == pointer.pointee => {}
            Type::Pointer(_, pointee)
                if pointee != u32::MAX && self.types.cells(pointee) == self.types.cells(pointer.pointee) => {}
            _ => return Err(invalid("an access chain with a result of another type")),
        }
        if !terms.is_empty() {
            let reg = self.chain(&pointer, terms);
            (pointer.base, pointer.offset) = (Base::Reg(reg), 0);
        }
        self.define_pointer(id, pointer);
        Ok(())
    }

    /// How far the elements of the array lie apart that a pointer points into.
    fn element_stride(&self, pointer: &Pointer) -> u64 {
        match self.pointer_stride(pointer.ty) {
            Some(stride) => u64::from(stride),
            None if pointer.space == Space::Cells => self.types.cells(pointer.pointee),
            None => self.types.stride(pointer.pointee, None),
        }
    }

    /// `OpPtrDiff`: "The result is undefined if Operand 1 and Operand 2 do not both point to (an element in) … the same array" (SPIR-V 1.6 §3.52.8, in short): here
    /// where they are in different objects, or not a whole number of elements apart.
    pub(super) fn pointer_difference(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let pointers = [self.pointer(id_at(inst, 0)?)?, self.pointer(id_at(inst, 1)?)?];
        if pointers.iter().any(|pointer| pointer.space != Space::Bytes) {
            self.unsupported("OpPtrDiff of pointers to other memory than buffers and workgroup memory");
            return self.define_undefined(id, ty);
        }
        let Some(Scalar::Int(width, _)) = self.types.scalar(ty) else {
            return Err(invalid("OpPtrDiff with a result that is no integer"));
        };
        let stride = self.element_stride(&pointers[0]).max(1);
        let [x, y] = pointers.map(|pointer| self.materialise(&pointer));
        let (shift, stride) = (self.constant_column(u64::from(OFFSET_BITS)), self.constant_column(stride));
        let [of_x, of_y] = [x, y].map(|p| self.emit(Op::Int2(Int2::ShiftRightLogical, 64), [p, shift, NONE]));
        let same_object = self.emit(Op::Int2(Int2::Equal, 64), [of_x, of_y, NONE]);
        let bytes = self.emit(Op::Int2(Int2::Sub, 64), [x, y, NONE]);
        let elements = self.emit(Op::Int2(Int2::SDiv, 64), [bytes, stride, NONE]);
        let back = self.emit(Op::Int2(Int2::Mul, 64), [elements, stride, NONE]);
        let whole = self.emit(Op::Int2(Int2::Equal, 64), [back, bytes, NONE]);
        let defined = self.emit(Op::Int2(Int2::And, 1), [same_object, whole, NONE]);
        let result = match width {
            64 => elements,
            width => self.emit(Op::Resize(64, width, true), [elements, NONE, NONE]),
        };
        let undefined = self.emit_row(Op::Open(Why::Operands), &[]);
        let d = self.emit(Op::Select, [defined, result, undefined]);
        self.define(id, ty, smallvec![d])
    }

    /// A pointer, or an image or sampler, which may be marked as one that differs between invocations.
    pub(super) fn define_pointer(&mut self, id: u32, mut pointer: Pointer) {
        pointer.uniform_descriptor &= !self.marks.get(id).is_some_and(|marks| marks.non_uniform);
        self.defs.insert(id, Def::Pointer(Box::new(pointer)));
    }

    /// Goes one index of an access chain further; `terms` gets the indices that are no constants.
    fn step(&mut self, pointer: &mut Pointer, index: u32, terms: &mut Terms) -> Result<(), Error> {
        let constant = self.known_integer(index);
        let index_width = {
            let ty = self.value_type(index)?;
            match self.types.scalar(ty) {
                Some(Scalar::Int(width, _)) => width,
                _ => return Err(invalid("an index that is no integer")),
            }
        };
        let cells = pointer.space == Space::Cells;
        let (part, stride, limit) = match *self.types.get(pointer.pointee) {
            Type::Struct(ref members) => {
                let at = constant.ok_or_else(|| invalid("a member that is no constant"))?;
                let member =
                    members.get(usize::try_from(at).unwrap_or(usize::MAX)).ok_or_else(|| invalid("no such member"))?;
                let offset = if cells {
                    self.types.element(pointer.pointee, at).map_or(0, |(_, first)| first)
                } else {
                    self.types.member_offset(pointer.pointee, at as usize)
                };
                pointer.offset += offset;
                pointer.read_only |= member.read_only;
                pointer.coherent |= member.coherent;
                pointer.volatile |= member.volatile;
                pointer.matrix = member.matrix;
                pointer.pointee = member.ty;
                return Ok(());
            }
            Type::Array(part, ..) | Type::RuntimeArray(part, _) if pointer.descriptors.is_some() => {
                (part, 1 << OFFSET_BITS, pointer.descriptors)
            }
            Type::Array(part, n, stride) => {
                let step = if cells { self.types.cells(part) } else { self.types.stride(part, stride) };
                (part, step, Some(n))
            }
            Type::RuntimeArray(part, stride) => {
                if cells {
                    return Err(invalid("a run-time array where none can be"));
                }
                (part, self.types.stride(part, stride), None)
            }
            Type::Vector(part, n) => {
                let step = if cells { 1 } else { pointer.step.unwrap_or_else(|| self.types.stride(part, None)) };
                (part, step, Some(u64::from(n)))
            }
            Type::Matrix(column, n) => {
                let (step, row_step) =
                    if cells { (self.types.cells(column), None) } else { self.types.column(column, 1, pointer.matrix) };
                pointer.step = row_step;
                pointer.matrix = None;
                (column, step, Some(u64::from(n)))
            }
            _ => return Err(invalid("an index into something that has no parts")),
        };
        let is_descriptor = pointer.descriptors.take().is_some();
        pointer.pointee = part;
        match constant {
            Some(value) if limit.is_none_or(|n| value < n) && alu::signed(value, index_width) >= 0 => {
                match &mut pointer.base {
                    Base::Bytes { object, .. } if is_descriptor => *object += value as u32,
                    _ => {
                        let offset = value.checked_mul(stride).and_then(|bytes| pointer.offset.checked_add(bytes));
                        let offset = offset.filter(|&offset| offset < 1 << (OFFSET_BITS - 1));
                        pointer.offset = offset.ok_or_else(|| invalid("an index that is too large"))?;
                    }
                }
            }
            _ => {
                pointer.uniform_descriptor |= is_descriptor;
                let (index, _) = self.scalar(index)?;
                terms.push(Term { index, width: index_width, stride, limit });
            }
        }
        Ok(())
    }

    /// Describes an access through a pointer. What the instruction says of the access counts in modules of the Vulkan memory model; in others what the
    /// variable or the member is decorated with: "While GLSL (and legacy SPIR-V) applies the "coherent" decoration to variables …, this model treats each memory
    /// access instruction as having optional implicit availability/visibility operations. GLSL to SPIR-V compilers should map all (non-atomic) operations on
    /// a coherent variable to Make{Pointer,Texel}{Available}{Visible} flags" (Vulkan memory model, "Descriptions (Informative)").
    fn access(&mut self, pointer: &Pointer, operands: MemoryOperands, way: Way) -> Result<u32, Error> {
        if pointer.pointee == u32::MAX {
            return Err(invalid("a pointer to an incomplete type"));
        }
        // Here each invocation has outputs of its own.
        let is_output =
            matches!(self.types.get(pointer.ty), Type::Pointer(class, _) if *class == StorageClass::Output as u32);
        if is_output && way == Way::Load && self.stage == ExecutionModel::TessellationControl {
            self.unsupported("outputs of a patch that are read");
        }
        let narrow = self.leaves_of(pointer)?;
        self.leaves += narrow.len();
        if self.leaves > MAX_LEAVES {
            return Err(Error::Memory("too many scalars are accessed".into()));
        }
        let sharing = match way {
            Way::Atomic => Sharing::WITH_EVERYBODY,
            Way::Load => self.sharing(pointer, operands.non_private, operands.visible),
            Way::Store => self.sharing(pointer, operands.non_private, operands.available),
        };
        let aligned = (pointer.space == Space::Physical && way != Way::Atomic).then(|| {
            let largest = narrow.iter().map(|(_, scalar)| u64::from(scalar.bytes())).max().unwrap_or(1);
            (pointer.offset, largest.max(u64::from(operands.aligned)))
        });
        let end = narrow.iter().map(|(offset, scalar)| u64::from(*offset) + u64::from(scalar.bytes())).max();
        self.code.accesses.push(Access {
            base: pointer.base,
            space: pointer.space,
            leaves: narrow,
            end: end.unwrap_or(0),
            read_only: pointer.read_only,
            uniform_descriptor: pointer.uniform_descriptor,
            volatile: operands.volatile || pointer.volatile && way != Way::Atomic,
            semantics: Semantics::default(),
            sharing,
            aligned,
            texel: pointer.texel,
        });
        Ok(self.code.accesses.len() as u32 - 1)
    }

    /// Where the scalars of an access lie from the pointer.
    fn leaves_of(&mut self, pointer: &Pointer) -> Result<Leaves, Error> {
        let narrow = |offset: u64| u32::try_from(offset).map_err(|_| invalid("an offset that is too large"));
        let in_bytes = pointer.space != Space::Cells;
        if let Some(scalar) = self.types.scalar(pointer.pointee) {
            self.code.granule = self.code.granule.min(if in_bytes { scalar.bytes() } else { u32::MAX });
            return Ok(smallvec![(narrow(pointer.offset)?, scalar)]);
        }
        if self.types.cells(pointer.pointee) > 1 << 16 {
            return Err(Error::Memory("an access to too many scalars".into()));
        }
        if self.types.is_opaque(pointer.pointee)
            || matches!(self.types.get(pointer.pointee), Type::RuntimeArray(..) | Type::Void)
        {
            return Err(invalid("an access to a type without values"));
        }
        if !in_bytes {
            let mut scalars = Vec::new();
            self.types.scalars(pointer.pointee, &mut scalars);
            let at = |(i, scalar)| Ok((narrow(pointer.offset + i as u64)?, scalar));
            return scalars.into_iter().enumerate().map(at).collect();
        }
        let mut found = Vec::new();
        self.types.leaves(pointer.pointee, pointer.offset, pointer.matrix, pointer.step, &mut found);
        let smallest = found.iter().map(|leaf| leaf.scalar.bytes()).min().unwrap_or(8);
        self.code.granule = self.code.granule.min(smallest);
        found.into_iter().map(|leaf| Ok((narrow(leaf.offset)?, leaf.scalar))).collect()
    }

    /// What an access through a pointer shares, whose instruction says whether it is private and how far it reaches.
    pub(super) fn sharing(&self, pointer: &Pointer, non_private: bool, reach: Option<Reach>) -> Sharing {
        if self.vulkan_memory {
            return Sharing { non_private, reach: reach.unwrap_or_default() };
        }
        // Shared variables have no qualifier for it: barriers alone order them.
        let classes = [StorageClass::Workgroup, StorageClass::TaskPayloadWorkgroupEXT].map(|class| class as u32);
        let is_workgroup = matches!(self.types.get(pointer.ty), Type::Pointer(class, _) if classes.contains(class));
        if pointer.coherent || is_workgroup || self.is_coherent(pointer.pointee) {
            Sharing::WITH_EVERYBODY
        } else {
            Sharing::default()
        }
    }

    /// True for a structure all of whose members are coherent.
    fn is_coherent(&self, ty: TypeId) -> bool {
        match self.types.get(ty) {
            Type::Struct(members) => !members.is_empty() && members.iter().all(|member| member.coherent),
            _ => false,
        }
    }

    /// A memory scope (SPIR-V 1.6 §3.31).
    pub(super) fn memory_scope(&mut self, id: u32) -> Result<Reach, Error> {
        Ok(match self.literal_constant(id)? {
            0 | 1 | 5 => Reach::Everybody,
            2 => Reach::Workgroup,
            3 => Reach::Subgroup,
            4 => Reach::Nobody,
            other => {
                self.unsupported(format!("memory scope {other}"));
                Reach::Nobody
            }
        })
    }

    /// Memory operands from a position on (SPIR-V 1.6 §3.26), and where they end.
    fn memory_operands(&mut self, inst: &Instruction<'_>, at: usize) -> Result<(MemoryOperands, usize), Error> {
        let Some(Operand::MemoryAccess(mask)) = inst.operands.get(at) else {
            return Ok((MemoryOperands::default(), at));
        };
        let (mask, mut at) = (*mask, at + 1);
        let mut operands = MemoryOperands {
            volatile: mask.contains(MemoryAccess::VOLATILE),
            non_private: mask.contains(MemoryAccess::NON_PRIVATE_POINTER),
            ..MemoryOperands::default()
        };
        // In the order of the bits.
        if mask.contains(MemoryAccess::ALIGNED) {
            operands.aligned = super::literal_at(inst, at)?;
            at += 1;
        }
        if mask.contains(MemoryAccess::MAKE_POINTER_AVAILABLE) {
            operands.available = Some(self.memory_scope(id_at(inst, at)?)?);
            at += 1;
        }
        if mask.contains(MemoryAccess::MAKE_POINTER_VISIBLE) {
            operands.visible = Some(self.memory_scope(id_at(inst, at)?)?);
            at += 1;
        }
        Ok((operands, at))
    }

    /// The column that a base needs, as an operand.
    pub(super) fn base_operand(pointer: &Pointer) -> Reg {
        match pointer.base {
            Base::Reg(reg) => reg,
            _ => NONE,
        }
    }

    pub(super) fn load(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let pointer = self.pointer(id_at(inst, 0)?)?;
        if matches!(self.types.get(ty), Type::Image(_) | Type::SampledImage(_) | Type::Sampler) {
            self.define_pointer(id, pointer);
            return Ok(());
        }
        if let &Type::Opaque(what) = self.types.get(ty) {
            self.unsupported(what);
            self.defs.insert(id, Def::Value(ty, Default::default()));
            return Ok(());
        }
        let (operands, _) = self.memory_operands(inst, 1)?;
        let access = self.access(&pointer, operands, Way::Load)?;
        let count = self.checked_cells(ty)?;
        let outs = self.temps(count);
        if self.code.accesses[access as usize].leaves.len() != count {
            return Err(invalid("OpLoad of another type"));
        }
        self.push(Op::Load(access), NONE, [Self::base_operand(&pointer), NONE, NONE], &outs, &[]);
        self.define(id, ty, outs)
    }

    pub(super) fn store(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let pointer = self.pointer(id_at(inst, 0)?)?;
        let values = self.cells(id_at(inst, 1)?)?;
        let (operands, _) = self.memory_operands(inst, 2)?;
        self.store_cells(&pointer, operands, &values)
    }

    pub(super) fn store_cells(
        &mut self,
        pointer: &Pointer,
        operands: MemoryOperands,
        values: &[Reg],
    ) -> Result<(), Error> {
        let access = self.access(pointer, operands, Way::Store)?;
        if self.code.accesses[access as usize].leaves.len() != values.len() {
            return Err(invalid("a store of another type"));
        }
        self.push(Op::Store(access), NONE, [Self::base_operand(pointer), NONE, NONE], &[], values);
        Ok(())
    }

    /// `OpCopyMemory`: "If no masks or only one mask is present, it applies to both Source and Target. If two masks are present, the first applies to Target …,
    /// and the second applies to Source" (SPIR-V 1.6 §3.52.8).
    pub(super) fn copy_memory(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (to, from) = (self.pointer(id_at(inst, 0)?)?, self.pointer(id_at(inst, 1)?)?);
        let (of_target, end) = self.memory_operands(inst, 2)?;
        let of_source = if inst.operands.len() > end { self.memory_operands(inst, end)?.0 } else { of_target };
        let load = self.access(&from, of_source, Way::Load)?;
        let store = self.access(&to, of_target, Way::Store)?;
        let count = self.code.accesses[load as usize].leaves.len();
        if self.code.accesses[store as usize].leaves.len() != count {
            return Err(invalid("OpCopyMemory between types"));
        }
        let values = self.temps(count);
        self.push(Op::Load(load), NONE, [Self::base_operand(&from), NONE, NONE], &values, &[]);
        self.push(Op::Store(store), NONE, [Self::base_operand(&to), NONE, NONE], &[], &values);
        Ok(())
    }

    pub(super) fn array_length(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let pointer = self.pointer(id_at(inst, 0)?)?;
        let member = super::literal_at(inst, 1)?;
        let element = match self.types.get(pointer.pointee) {
            Type::Struct(members) => members.get(member as usize).map(|member| member.ty),
            _ => None,
        };
        let (part, stride) = match element.map(|ty| self.types.get(ty)) {
            Some(Type::RuntimeArray(part, stride)) => (*part, *stride),
            _ => return Err(invalid("OpArrayLength of no run-time array")),
        };
        if pointer.space != Space::Bytes {
            self.unsupported("OpArrayLength through a physical address");
            return self.define_undefined(id, ty);
        }
        let offset = pointer.offset + self.types.member_offset(pointer.pointee, member as usize);
        let stride = self.types.stride(part, stride);
        if stride == 0 {
            return Err(invalid("a run-time array with elements of no size"));
        }
        self.code.lengths.push(Length { base: pointer.base, offset, stride });
        let op = Op::ArrayLength(self.code.lengths.len() as u32 - 1);
        let d = self.emit(op, [Self::base_operand(&pointer), NONE, NONE]);
        self.define(id, ty, smallvec![d])
    }

    pub(super) fn atomic(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let opcode = inst.class.opcode;
        let op = atomic_of(opcode).ok_or_else(|| invalid("no atomic"))?;
        let pointer = self.pointer(id_at(inst, 0)?)?;
        let scalar = self.types.scalar(pointer.pointee).ok_or_else(|| invalid("an atomic on no scalar"))?;
        let scope = self.memory_scope(id_at(inst, 1)?)?;
        let semantics = self.literal_constant(id_at(inst, 2)?)?;
        // Of a comparison that fails, too.
        let unequal = if op == AtomicOp::CompareExchange { self.literal_constant(id_at(inst, 3)?)? } else { 0 };
        self.code.fences |= (semantics | unequal) & ORDERS != 0 && scope != Reach::Nobody;
        self.code.atomics = true;
        let access = self.access(&pointer, MemoryOperands::default(), Way::Atomic)?;
        self.code.accesses[access as usize].semantics =
            semantics_of(semantics, scope).and(semantics_of(unequal, scope));
        let value_at = match op {
            AtomicOp::CompareExchange => 4,
            _ => 3,
        };
        let implied = match opcode {
            Opcode::AtomicIIncrement | Opcode::AtomicIDecrement => Some(self.constant_column(1)),
            _ => None,
        };
        let value = match (op, implied) {
            (AtomicOp::Load, _) => NONE,
            (_, Some(one)) => one,
            _ => self.scalar(id_at(inst, value_at)?)?.0,
        };
        let comparator = match op {
            AtomicOp::CompareExchange => self.scalar(id_at(inst, 5)?)?.0,
            _ => NONE,
        };
        let base = Self::base_operand(&pointer);
        let result = inst.result_id.is_some();
        let d = if result { self.temp() } else { NONE };
        self.push(Op::Atomic(access, op, scalar), d, [base, value, comparator], &[], &[]);
        if result {
            let (id, ty) = self.result(inst)?;
            return self.define(id, ty, smallvec![d]);
        }
        Ok(())
    }

    /// Notes what a barrier that orders does not make available or visible.
    fn note_barrier(&mut self, semantics: u64) {
        for (kind, _) in KINDS_OF_MEMORY.into_iter().enumerate().filter(|(_, bit)| semantics & bit != 0) {
            self.not_made.0[kind] |= semantics & RELEASES != 0 && semantics & MAKE_AVAILABLE == 0;
            self.not_made.1[kind] |= semantics & ACQUIRES != 0 && semantics & MAKE_VISIBLE == 0;
        }
    }

    /// `OpControlBarrier`, `OpMemoryBarrier` (SPIR-V 1.6 §3.52.20).
    pub(super) fn barrier(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        if inst.class.opcode == Opcode::MemoryBarrier {
            let scope = self.memory_scope(id_at(inst, 0)?)?;
            let semantics = self.literal_constant(id_at(inst, 1)?)?;
            self.code.fences |= semantics & ORDERS != 0 && scope != Reach::Nobody;
            self.note_barrier(semantics);
            self.push(Op::MemoryBarrier(semantics_of(semantics, scope)), NONE, [NONE; 3], &[], &[]);
            return Ok(());
        }
        let execution = self.literal_constant(id_at(inst, 0)?)?;
        let memory = self.memory_scope(id_at(inst, 1)?)?;
        let semantics = self.literal_constant(id_at(inst, 2)?)?;
        self.note_barrier(semantics);
        let workgroup = match execution {
            2 if super::has_workgroups(self.stage) => true,
            3 => false,
            other => {
                self.unsupported(format!("OpControlBarrier with execution scope {other}"));
                true
            }
        };
        self.push_barrier(Barrier {
            workgroup,
            rule: Rule::BarrierInDivergence,
            semantics: semantics_of(semantics, memory),
        });
        Ok(())
    }

    /// `OpSetMeshOutputsEXT`, `OpEmitMeshTasksEXT` (SPV_EXT_mesh_shader): what they set is not looked at, and behind the one that orders accesses there are none.
    pub(super) fn together(&mut self) {
        self.push_barrier(Barrier {
            workgroup: true,
            rule: Rule::OncePerWorkgroup,
            semantics: semantics_of(0, Reach::Nobody),
        });
    }

    fn push_barrier(&mut self, barrier: Barrier) {
        self.code.barriers.push(barrier);
        let op = Op::ControlBarrier(self.code.barriers.len() as u32 - 1);
        let number = self.code.group_count;
        self.code.group_count += 1;
        self.push(op, NONE, [NONE; 3], &[], &[]);
        if let Some(inst) = self.code.insts.last_mut() {
            inst.d = number | super::body::GROUP_TAG;
        }
    }
}

/// Memory semantics with a scope. With that of the invocation they synchronise with nobody: "A and B are in the instance of each other's memory scopes" (Vulkan
/// memory model, "Synchronizes-With"). With that of the subgroup they may be a link of a chain to others, which is not followed.
fn semantics_of(bits: u64, scope: Reach) -> Semantics {
    let kinds = |order: u64| KINDS_OF_MEMORY.map(|bit| bits & bit != 0 && bits & order != 0 && scope != Reach::Nobody);
    Semantics { acquires: kinds(ACQUIRES), releases: kinds(RELEASES), scope }
}

/// What an instruction does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Load,
    Store,
    Atomic,
}

/// What an instruction says of its access (SPIR-V 1.6 §3.26).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemoryOperands {
    volatile: bool,
    /// The literal of `Aligned`, or 0.
    aligned: u32,
    non_private: bool,
    /// The scope of `MakePointerAvailable`.
    available: Option<Reach>,
    /// The scope of `MakePointerVisible`.
    visible: Option<Reach>,
}

pub(super) fn atomic_of(opcode: Opcode) -> Option<AtomicOp> {
    use Opcode as O;
    Some(match opcode {
        O::AtomicLoad => AtomicOp::Load,
        O::AtomicStore => AtomicOp::Store,
        O::AtomicExchange => AtomicOp::Exchange,
        O::AtomicCompareExchange => AtomicOp::CompareExchange,
        O::AtomicIIncrement | O::AtomicIAdd => AtomicOp::Add,
        O::AtomicIDecrement | O::AtomicISub => AtomicOp::Sub,
        O::AtomicSMin => AtomicOp::SMin,
        O::AtomicUMin => AtomicOp::UMin,
        O::AtomicSMax => AtomicOp::SMax,
        O::AtomicUMax => AtomicOp::UMax,
        O::AtomicAnd => AtomicOp::And,
        O::AtomicOr => AtomicOp::Or,
        O::AtomicXor => AtomicOp::Xor,
        O::AtomicFAddEXT => AtomicOp::FAdd,
        O::AtomicFMinEXT => AtomicOp::FMin,
        O::AtomicFMaxEXT => AtomicOp::FMax,
        _ => return None,
    })
}
