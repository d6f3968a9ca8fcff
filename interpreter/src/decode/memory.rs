//! Pointers, accesses, atomics and barriers.

use rspirv::dr::{self, Operand};
use rspirv::spirv::{MemoryAccess, Op as Opcode};
use smallvec::smallvec;

use super::{Decoder, Def, Pointer, id_at, integer_width, invalid};
use crate::alu;
use crate::code::*;
use crate::outcome::Error;
use crate::types::{Scalar, Type};

/// `WorkgroupMemory`, `UniformMemory` and `ImageMemory` of memory semantics (SPIR-V 1.6 §3.25), in the order of [`Orders`].
const KINDS_OF_MEMORY: [u64; 3] = [0x100, 0x40, 0x800];

/// `Acquire`, `AcquireRelease` and `SequentiallyConsistent`; `Release` and the two.
const ACQUIRES: u64 = 0x1A;
const RELEASES: u64 = 0x1C;
const ORDERS: u64 = ACQUIRES | RELEASES;

/// The most scalars that all accesses of a module may have together.
const MAX_LEAVES: usize = 1 << 21;

impl Decoder<'_> {
    pub(super) fn pointer(&self, id: u32) -> Result<Pointer, Error> {
        match self.defs.get(&id) {
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
            Base::Reg(_) => self.chain(pointer, Vec::new()),
        }
    }

    /// Emits the computation of an address.
    fn chain(&mut self, pointer: &Pointer, terms: Vec<Term>) -> Reg {
        let ins: Vec<Reg> = match pointer.base {
            Base::Reg(reg) => [reg].into_iter().chain(terms.iter().map(|term| term.index)).collect(),
            _ => terms.iter().map(|term| term.index).collect(),
        };
        self.code.chains.push(Chain { base: pointer.base, space: pointer.space, offset: pointer.offset, terms });
        let op = Op::Chain(self.code.chains.len() as u32 - 1);
        self.emit_row(op, &ins)
    }

    /// `OpAccessChain` and its relatives (SPIR-V 1.6 §3.52.8).
    pub(super) fn access_chain(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let (id, result_ty) = self.result(inst)?;
        let mut pointer = self.pointer(id_at(inst, 0)?)?;
        if pointer.pointee == u32::MAX {
            return Err(invalid("a pointer to an incomplete type"));
        }
        let mut terms = Vec::new();
        let mut from = 1;
        if matches!(inst.class.opcode, Opcode::PtrAccessChain | Opcode::InBoundsPtrAccessChain) {
            let stride = match self.pointer_stride(pointer.ty) {
                Some(stride) => u64::from(stride),
                None if pointer.space == Space::Cells => self.types.cells(pointer.pointee),
                None => self.types.stride(pointer.pointee, None),
            };
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

    /// A pointer, or an image or sampler, which may be marked as one that differs between invocations.
    pub(super) fn define_pointer(&mut self, id: u32, mut pointer: Pointer) {
        pointer.uniform_descriptor &= !self.decoration(id).non_uniform;
        self.defs.insert(id, Def::Pointer(Box::new(pointer)));
    }

    /// One index.
    fn step(&mut self, pointer: &mut Pointer, index: u32, terms: &mut Vec<Term>) -> Result<(), Error> {
        let constant = self.literal_constant(index).ok();
        let index_width = {
            let ty = self.value_type(index)?;
            match self.types.scalar(ty) {
                Some(Scalar::Int(width, _)) => width,
                _ => return Err(invalid("an index that is no integer")),
            }
        };
        let cells = pointer.space == Space::Cells;
        let (part, stride, limit) = match self.types.get(pointer.pointee).clone() {
            Type::Struct(members) => {
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

    /// Describes an access through a pointer.
    fn access(&mut self, pointer: &Pointer, volatile: bool) -> Result<u32, Error> {
        if pointer.pointee == u32::MAX {
            return Err(invalid("a pointer to an incomplete type"));
        }
        let mut leaves = Vec::new();
        if self.types.cells(pointer.pointee) > 1 << 16 {
            return Err(Error::Memory("an access to too many scalars".into()));
        }
        if self.types.is_opaque(pointer.pointee)
            || matches!(self.types.get(pointer.pointee), Type::RuntimeArray(..) | Type::Void)
        {
            return Err(invalid("an access to a type without values"));
        }
        if pointer.space == Space::Cells {
            let mut scalars = Vec::new();
            self.types.scalars(pointer.pointee, &mut scalars);
            leaves.extend(scalars.into_iter().enumerate().map(|(i, s)| (pointer.offset + i as u64, s)));
        } else {
            let mut found = Vec::new();
            self.types.leaves(pointer.pointee, pointer.offset, pointer.matrix, pointer.step, &mut found);
            leaves.extend(found.into_iter().map(|leaf| (leaf.offset, leaf.scalar)));
            let smallest = leaves.iter().map(|(_, scalar)| scalar.bytes()).min().unwrap_or(8);
            self.code.granule = self.code.granule.min(smallest);
        }
        let mut narrow = Vec::with_capacity(leaves.len());
        for (offset, scalar) in leaves {
            narrow.push((u32::try_from(offset).map_err(|_| invalid("an offset that is too large"))?, scalar));
        }
        self.leaves += narrow.len();
        if self.leaves > MAX_LEAVES {
            return Err(Error::Memory("too many scalars are accessed".into()));
        }
        self.code.accesses.push(Access {
            base: pointer.base,
            space: pointer.space,
            leaves: narrow,
            read_only: pointer.read_only,
            uniform_descriptor: pointer.uniform_descriptor,
            volatile,
            semantics: Semantics::default(),
            texel: pointer.texel,
        });
        Ok(self.code.accesses.len() as u32 - 1)
    }

    /// The column that a base needs, as an operand.
    pub(super) fn base_operand(pointer: &Pointer) -> Reg {
        match pointer.base {
            Base::Reg(reg) => reg,
            _ => NONE,
        }
    }

    pub(super) fn load(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
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
        let access = self.access(&pointer, is_volatile(inst, 1))?;
        let count = self.checked_cells(ty)?;
        let outs = self.temps(count);
        if self.code.accesses[access as usize].leaves.len() != count {
            return Err(invalid("OpLoad of another type"));
        }
        self.push(Op::Load(access), NONE, [Self::base_operand(&pointer), NONE, NONE], &outs, &[]);
        self.define(id, ty, outs)
    }

    pub(super) fn store(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let pointer = self.pointer(id_at(inst, 0)?)?;
        let values = self.cells(id_at(inst, 1)?)?;
        self.store_cells(&pointer, is_volatile(inst, 2), &values)
    }

    pub(super) fn store_cells(&mut self, pointer: &Pointer, volatile: bool, values: &[Reg]) -> Result<(), Error> {
        let access = self.access(pointer, volatile)?;
        if self.code.accesses[access as usize].leaves.len() != values.len() {
            return Err(invalid("a store of another type"));
        }
        self.push(Op::Store(access), NONE, [Self::base_operand(pointer), NONE, NONE], &[], values);
        Ok(())
    }

    pub(super) fn copy_memory(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let (to, from) = (self.pointer(id_at(inst, 0)?)?, self.pointer(id_at(inst, 1)?)?);
        let (store, load) = (self.access(&to, false)?, self.access(&from, false)?);
        let count = self.code.accesses[load as usize].leaves.len();
        if self.code.accesses[store as usize].leaves.len() != count {
            return Err(invalid("OpCopyMemory between types"));
        }
        let values = self.temps(count);
        self.push(Op::Load(load), NONE, [Self::base_operand(&from), NONE, NONE], &values, &[]);
        self.push(Op::Store(store), NONE, [Self::base_operand(&to), NONE, NONE], &[], &values);
        Ok(())
    }

    pub(super) fn array_length(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
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

    pub(super) fn atomic(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let opcode = inst.class.opcode;
        let op = atomic_of(opcode).ok_or_else(|| invalid("no atomic"))?;
        let pointer = self.pointer(id_at(inst, 0)?)?;
        let scalar = self.types.scalar(pointer.pointee).ok_or_else(|| invalid("an atomic on no scalar"))?;
        let semantics = self.literal_constant(id_at(inst, 2)?)?;
        // Of a comparison that fails, too.
        let unequal = if op == AtomicOp::CompareExchange { self.literal_constant(id_at(inst, 3)?)? } else { 0 };
        self.code.fences |= (semantics | unequal) & ORDERS != 0;
        self.code.atomics = true;
        let access = self.access(&pointer, false)?;
        self.code.accesses[access as usize].semantics = semantics_of(semantics).and(semantics_of(unequal));
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

    /// `OpControlBarrier`, `OpMemoryBarrier` (SPIR-V 1.6 §3.52.20).
    pub(super) fn barrier(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        if inst.class.opcode == Opcode::MemoryBarrier {
            let semantics = self.literal_constant(id_at(inst, 1)?)?;
            self.code.fences |= semantics & ORDERS != 0;
            self.push(Op::MemoryBarrier(semantics_of(semantics)), NONE, [NONE; 3], &[], &[]);
            return Ok(());
        }
        let execution = self.literal_constant(id_at(inst, 0)?)?;
        let memory = self.literal_constant(id_at(inst, 1)?)?;
        let semantics = self.literal_constant(id_at(inst, 2)?)?;
        let workgroup = match execution {
            2 => true,
            3 => false,
            other => {
                self.unsupported(format!("OpControlBarrier with execution scope {other}"));
                true
            }
        };
        // Acquire and release both, of a scope that holds everybody who waits.
        let both = semantics & 0x18 != 0 || semantics & 0x6 == 0x6;
        let wide = match memory {
            0 | 1 | 2 | 5 => true,
            3 => !workgroup,
            _ => false,
        };
        let orders = KINDS_OF_MEMORY.map(|bit| semantics & bit != 0 && both && wide);
        self.code.barriers.push(Barrier { workgroup, orders, semantics: semantics_of(semantics) });
        let op = Op::ControlBarrier(self.code.barriers.len() as u32 - 1);
        let number = self.code.group_count;
        self.code.group_count += 1;
        self.push(op, NONE, [NONE; 3], &[], &[]);
        if let Some(inst) = self.code.insts.last_mut() {
            inst.d = number | super::body::GROUP_TAG;
        }
        Ok(())
    }
}

fn semantics_of(bits: u64) -> Semantics {
    let kinds = |order: u64| KINDS_OF_MEMORY.map(|bit| bits & bit != 0 && bits & order != 0);
    Semantics { acquires: kinds(ACQUIRES), releases: kinds(RELEASES) }
}

fn is_volatile(inst: &dr::Instruction, at: usize) -> bool {
    match inst.operands.get(at) {
        Some(Operand::MemoryAccess(access)) => access.contains(MemoryAccess::VOLATILE),
        _ => false,
    }
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
