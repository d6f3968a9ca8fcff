//! Instructions that compute.

use rspirv::spirv::{ExecutionModel, Op as Opcode};
use smallvec::{SmallVec, smallvec};

use super::body::is_unscoped;
use super::image::is_image;
use super::{Cells, Decoder, Def, float_width, id_at, integer_width, invalid, literal_at};
use crate::code::*;
use crate::operand::Operand;
use crate::outcome::Error;
use crate::source::Instruction;
use crate::types::{Scalar, Type, TypeId};

/// Emits one component of a result: scalar types and columns of the operands, to the column of the result.
type Emit<'e, D> = dyn FnMut(&mut D, &[Scalar], &[Reg]) -> Result<Reg, Error> + 'e;

impl Decoder<'_> {
    /// "The Result <id> of an instruction that operates on numerical types, meaning the instruction is to operate at relaxed precision. The instruction's
    /// operands may also be truncated to the relaxed precision" (SPIR-V 1.6 §2.14).
    pub(super) fn instruction(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let Some(result) = inst.result_id.filter(|&id| self.is_relaxed(id)) else { return self.precise(inst) };
        let mut operands: Vec<u32> = Vec::new();
        let opcode = inst.class.opcode;
        let is_computed = self.result_vector(inst).is_ok() && !matches!(opcode, Opcode::FunctionCall | Opcode::Load);
        if is_computed && !is_image(opcode) && !is_atomic(opcode) {
            operands.extend(inst.operands.iter().filter_map(Operand::id));
            operands.sort_unstable();
            operands.dedup();
        }
        let mut before = Vec::new();
        for id in operands {
            let Ok((cells, scalar @ (Scalar::Int(32, _) | Scalar::Float(32)))) = self.vector(id) else { continue };
            let ty = self.value_type(id)?;
            let relaxed = cells.iter().map(|&cell| self.emit(Op::Relax(scalar), [cell, NONE, NONE])).collect();
            before.push((id, self.defs.get(id).cloned()));
            self.defs.insert(id, Def::Value(ty, relaxed));
        }
        let done = self.precise(inst);
        for (id, def) in before {
            match def {
                Some(def) => self.defs.insert(id, def),
                None => self.defs.remove(id),
            };
        }
        done?;
        if let Some(Def::Value(ty, cells)) = self.defs.get(result)
            && let Some((scalar @ (Scalar::Int(32, _) | Scalar::Float(32)), _)) = self.types.components(*ty)
        {
            let (ty, cells) = (*ty, cells.clone());
            let cells = cells.iter().map(|&cell| self.emit(Op::Relax(scalar), [cell, NONE, NONE])).collect();
            self.defs.insert(result, Def::Value(ty, cells));
        }
        Ok(())
    }

    fn precise(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        use Opcode as O;
        let opcode = inst.class.opcode;
        match opcode {
            O::Undef => {
                let (id, ty) = self.result(inst)?;
                self.define_undefined(id, ty)
            }
            O::FunctionCall => self.call(inst),
            O::ExtInst => self.extended(inst),
            O::AccessChain | O::InBoundsAccessChain | O::PtrAccessChain | O::InBoundsPtrAccessChain => {
                self.access_chain(inst)
            }
            O::Load => self.load(inst),
            O::Store => self.store(inst),
            O::CopyMemory => self.copy_memory(inst),
            O::ArrayLength => self.array_length(inst),
            _ if is_image(opcode) => self.image_instruction(inst),
            O::ControlBarrier | O::MemoryBarrier => self.barrier(inst),
            O::SetMeshOutputsEXT => {
                self.together();
                Ok(())
            }
            O::DemoteToHelperInvocation if self.stage == ExecutionModel::Fragment => {
                self.push(Op::Demote, NONE, [NONE; 3], &[], &[]);
                Ok(())
            }
            O::IsHelperInvocationEXT if self.stage == ExecutionModel::Fragment => {
                let (id, ty) = self.result(inst)?;
                let d = self.emit(Op::IsHelper, [NONE; 3]);
                self.define(id, ty, smallvec![d])
            }
            O::AssumeTrueKHR => {
                let (a, _) = self.scalar(id_at(inst, 0)?)?;
                self.push(Op::Assume, NONE, [a, NONE, NONE], &[], &[]);
                Ok(())
            }
            O::ExpectKHR | O::CopyObject | O::CopyLogical => self.alias(inst),
            _ if is_atomic(opcode) => self.atomic(inst),
            _ if is_group(opcode) => self.group(inst),
            _ => self.compute(inst),
        }
    }

    /// The result is another name of the operand.
    fn alias(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let source = id_at(inst, 0)?;
        if let Some(Def::Pointer(pointer)) = self.defs.get(source) {
            let pointer = (**pointer).clone();
            self.define_pointer(id, pointer);
            return Ok(());
        }
        let cells = self.cells(source)?;
        self.define(id, ty, cells)
    }

    /// The operation on two integers or bools that an instruction is.
    pub(super) fn int2_of(&self, opcode: Opcode) -> Option<Int2> {
        match (int2_of(opcode)?, self.options.signed_remainders) {
            (Int2::SRem, true) => Some(Int2::SRemAny),
            (Int2::SMod, true) => Some(Int2::SModAny),
            (op, _) => Some(op),
        }
    }

    fn compute(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        use Opcode as O;
        let opcode = inst.class.opcode;
        if let Some(op) = self.int2_of(opcode) {
            return self.int2_instruction(inst, op);
        }
        if let Some((op, unordered)) = float_compare_of(opcode) {
            return self.each(inst, 2, |this, scalars, x| {
                let Scalar::Float(w) = scalars[0] else { return Err(invalid("a comparison of no floats")) };
                Ok(this.emit(Op::FloatCompare(op, w, unordered), [x[0], x[1], NONE]))
            });
        }
        match opcode {
            O::SNegate | O::Not | O::BitCount | O::BitReverse | O::LogicalNot => {
                let op = match opcode {
                    O::SNegate => Int1::Negate,
                    O::BitCount => Int1::BitCount,
                    O::BitReverse => Int1::BitReverse,
                    _ => Int1::Not,
                };
                self.each(inst, 1, |this, scalars, x| {
                    let d = this.emit(Op::Int1(op, integer_width(scalars[0])?), [x[0], NONE, NONE]);
                    Ok(d)
                })
            }
            O::FNegate => self.each(inst, 1, |this, scalars, x| {
                Ok(this.emit(Op::Float1(Float1::Negate, float_width(scalars[0])?), [x[0], NONE, NONE]))
            }),
            O::FAdd | O::FSub | O::FMul | O::FDiv | O::FRem | O::FMod => {
                let op = match opcode {
                    O::FAdd => Float2::Add,
                    O::FSub => Float2::Sub,
                    O::FMul => Float2::Mul,
                    O::FDiv => Float2::Div,
                    O::FRem => Float2::Rem,
                    _ => Float2::Mod,
                };
                let rearranged = self.is_rearranged(inst) && opcode != O::FRem && opcode != O::FMod;
                self.each(inst, 2, |this, scalars, x| {
                    let w = float_width(scalars[0])?;
                    let is_sum = matches!(op, Float2::Add | Float2::Sub | Float2::Mul);
                    let op = match this.direction(None, w) {
                        _ if rearranged => Op::Rearranged(op, w),
                        Some(_) if is_sum => Op::DirectedFloat2(op, w),
                        _ => Op::Float2(op, w),
                    };
                    let d = this.emit(op, [x[0], x[1], NONE]);
                    Ok(d)
                })
            }
            O::IsNan | O::IsInf => self.each(inst, 1, |this, scalars, x| {
                let w = float_width(scalars[0])?;
                let op = if opcode == O::IsNan { Op::IsNan(w) } else { Op::IsInf(w) };
                Ok(this.emit(op, [x[0], NONE, NONE]))
            }),
            O::UConvert | O::SConvert => {
                let (_, _, to, _) = self.result_vector(inst)?;
                let to = integer_width(to)?;
                self.each(inst, 1, |this, scalars, x| {
                    let from = integer_width(scalars[0])?;
                    Ok(this.emit(Op::Resize(from, to, opcode == O::SConvert), [x[0], NONE, NONE]))
                })
            }
            O::FConvert => {
                let (_, _, to, _) = self.result_vector(inst)?;
                let to = float_width(to)?;
                self.each(inst, 1, |this, scalars, x| {
                    let from = float_width(scalars[0])?;
                    let op = match this.direction(Some(from), to) {
                        Some(_) => Op::DirectedConvert(from, to),
                        None => Op::FloatConvert(from, to),
                    };
                    Ok(this.emit(op, [x[0], NONE, NONE]))
                })
            }
            O::QuantizeToF16 => self.each(inst, 1, |this, scalars, x| match float_width(scalars[0])? {
                32 => Ok(this.emit(Op::Quantize, [x[0], NONE, NONE])),
                other => Err(invalid(format!("OpQuantizeToF16 of {other} bits"))),
            }),
            O::ConvertSToF | O::ConvertUToF => {
                let (_, _, to, _) = self.result_vector(inst)?;
                let to = float_width(to)?;
                self.each(inst, 1, |this, scalars, x| {
                    let from = integer_width(scalars[0])?;
                    let op = match this.direction(None, to) {
                        Some(_) => Op::DirectedInt(from, opcode == O::ConvertSToF, to),
                        None => Op::IntToFloat(from, opcode == O::ConvertSToF, to),
                    };
                    Ok(this.emit(op, [x[0], NONE, NONE]))
                })
            }
            O::ConvertFToS | O::ConvertFToU => {
                let (_, _, to, _) = self.result_vector(inst)?;
                let to = integer_width(to)?;
                self.each(inst, 1, |this, scalars, x| {
                    let from = float_width(scalars[0])?;
                    Ok(this.emit(Op::FloatToInt(from, to, opcode == O::ConvertFToS), [x[0], NONE, NONE]))
                })
            }
            O::Select => self.select(inst),
            O::BitFieldInsert => {
                let offset = self.scalar(id_at(inst, 2)?)?.0;
                let count = self.scalar(id_at(inst, 3)?)?.0;
                self.each(inst, 2, |this, scalars, x| {
                    Ok(this.emit_row(Op::BitFieldInsert(integer_width(scalars[0])?), &[x[0], x[1], offset, count]))
                })
            }
            O::BitFieldSExtract | O::BitFieldUExtract => {
                let offset = self.scalar(id_at(inst, 1)?)?.0;
                let count = self.scalar(id_at(inst, 2)?)?.0;
                self.each(inst, 1, |this, scalars, x| {
                    let op = Op::BitFieldExtract(integer_width(scalars[0])?, opcode == O::BitFieldSExtract);
                    Ok(this.emit(op, [x[0], offset, count]))
                })
            }
            O::IAddCarry | O::ISubBorrow | O::UMulExtended | O::SMulExtended => self.extended_arithmetic(inst),
            O::Any | O::All => {
                let (id, ty) = self.result(inst)?;
                let (cells, _) = self.vector(id_at(inst, 0)?)?;
                let op = if opcode == O::Any { Int2::Or } else { Int2::And };
                let all = cells.iter().copied().reduce(|x, y| self.emit(Op::Int2(op, 1), [x, y, NONE]));
                self.define(id, ty, smallvec![all.ok_or_else(|| invalid("an empty vector"))?])
            }
            O::Bitcast => self.bitcast(inst),
            O::ConvertPtrToU | O::ConvertUToPtr => self.alias_bits(inst),
            O::CompositeConstruct => {
                let (id, ty) = self.result(inst)?;
                let mut cells = Cells::new();
                for at in 0..inst.operands.len() {
                    let part = self.cells(id_at(inst, at)?)?;
                    cells.extend(part);
                }
                self.define(id, ty, cells)
            }
            // One value for all constituents (SPV_EXT_replicated_composites).
            O::CompositeConstructReplicateEXT => {
                let (id, ty) = self.result(inst)?;
                let part = self.cells(id_at(inst, 0)?)?;
                let count = self.checked_cells(ty)?;
                self.define(id, ty, part.iter().copied().cycle().take(count).collect())
            }
            O::CompositeExtract => {
                let (id, ty) = self.result(inst)?;
                let composite = id_at(inst, 0)?;
                let (first, part) = self.literal_path(self.value_type(composite)?, inst, 1)?;
                let count = self.checked_cells(part)?;
                let cells = self.cells(composite)?;
                let cells = cells.get(first..first + count).ok_or_else(|| invalid("an index out of a composite"))?;
                let cells = Cells::from_slice(cells);
                self.define(id, ty, cells)
            }
            O::CompositeInsert => {
                let (id, ty) = self.result(inst)?;
                let object = self.cells(id_at(inst, 0)?)?;
                let composite = id_at(inst, 1)?;
                let (first, _) = self.literal_path(self.value_type(composite)?, inst, 2)?;
                let mut cells = self.cells(composite)?;
                let place =
                    cells.get_mut(first..first + object.len()).ok_or_else(|| invalid("an index out of a composite"))?;
                place.copy_from_slice(&object);
                self.define(id, ty, cells)
            }
            O::VectorShuffle => {
                let (id, ty) = self.result(inst)?;
                let mut both = self.cells(id_at(inst, 0)?)?;
                both.extend(self.cells(id_at(inst, 1)?)?);
                let mut cells = Cells::new();
                for at in 2..inst.operands.len() {
                    let index = literal_at(inst, at)?;
                    cells.push(match index {
                        u32::MAX => self.column_of(Start::Undef),
                        _ => *both.get(index as usize).ok_or_else(|| invalid("OpVectorShuffle out of bounds"))?,
                    });
                }
                self.define(id, ty, cells)
            }
            O::VectorExtractDynamic => {
                let (id, ty) = self.result(inst)?;
                let (cells, _) = self.vector(id_at(inst, 0)?)?;
                let (index, scalar) = self.scalar(id_at(inst, 1)?)?;
                integer_width(scalar)?;
                let d = self.temp();
                self.push(Op::VectorExtract, d, [index, NONE, NONE], &[], &cells);
                self.define(id, ty, smallvec![d])
            }
            O::VectorInsertDynamic => {
                let (id, ty) = self.result(inst)?;
                let (cells, _) = self.vector(id_at(inst, 0)?)?;
                let (value, _) = self.scalar(id_at(inst, 1)?)?;
                let (index, scalar) = self.scalar(id_at(inst, 2)?)?;
                integer_width(scalar)?;
                let outs = self.temps(cells.len());
                self.push(Op::VectorInsert, NONE, [index, value, NONE], &outs, &cells);
                self.define(id, ty, outs)
            }
            O::Transpose | O::OuterProduct | O::Dot | O::VectorTimesScalar | O::MatrixTimesScalar => self.linear(inst),
            O::VectorTimesMatrix | O::MatrixTimesVector | O::MatrixTimesMatrix => self.linear(inst),
            O::SDot | O::UDot | O::SUDot | O::SDotAccSat | O::UDotAccSat | O::SUDotAccSat => self.dot(inst),
            O::PtrEqual | O::PtrNotEqual => {
                let (id, ty) = self.result(inst)?;
                let (x, y) = (self.cells(id_at(inst, 0)?)?, self.cells(id_at(inst, 1)?)?);
                let (Some(&x), Some(&y)) = (x.first(), y.first()) else {
                    return Err(invalid("a pointer without a value"));
                };
                let op = if opcode == O::PtrEqual { Int2::Equal } else { Int2::NotEqual };
                let d = self.emit(Op::Int2(op, 64), [x, y, NONE]);
                self.define(id, ty, smallvec![d])
            }
            O::PtrDiff => self.pointer_difference(inst),
            other => {
                self.unsupported(format!("Op{other:?}"));
                match inst.result_id {
                    Some(id) => {
                        let ty = self.type_of(inst.result_type.unwrap_or(0))?;
                        self.define_undefined(id, ty)
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// One emission for each component; the first `count` operands, one or two, are scalars or vectors of one length.
    pub(super) fn each(
        &mut self,
        inst: &Instruction<'_>,
        count: usize,
        mut emit: impl FnMut(&mut Self, &[Scalar], &[Reg]) -> Result<Reg, Error>,
    ) -> Result<(), Error> {
        let mut ids = [0; 2];
        let ids = &mut ids[..count];
        for (at, id) in ids.iter_mut().enumerate() {
            *id = id_at(inst, at)?;
        }
        self.each_of(inst, ids, &mut emit)
    }

    /// The same with operands that are given.
    pub(super) fn each_of(
        &mut self,
        inst: &Instruction<'_>,
        ids: &[u32],
        emit: &mut Emit<'_, Self>,
    ) -> Result<(), Error> {
        let (id, ty, _, n) = self.result_vector(inst)?;
        let unequal = || invalid(format!("Op{:?} of vectors of different lengths", inst.class.opcode));
        let mut scalars: SmallVec<[Scalar; 3]> = SmallVec::new();
        if n == 1 {
            let mut operands: SmallVec<[Reg; 3]> = SmallVec::new();
            for &id in ids {
                let (cell, scalar) = self.single(id)?.ok_or_else(unequal)?;
                operands.push(cell);
                scalars.push(scalar);
            }
            let out = emit(self, &scalars, &operands)?;
            return self.define(id, ty, smallvec![out]);
        }
        let mut rows: SmallVec<[Cells; 3]> = SmallVec::new();
        for &id in ids {
            let (cells, scalar) = self.vector(id)?;
            if cells.len() != n {
                return Err(unequal());
            }
            rows.push(cells);
            scalars.push(scalar);
        }
        let (mut out, mut operands) = (Cells::new(), Cells::new());
        for c in 0..n {
            operands.clear();
            for row in &rows {
                operands.push(row[c]);
            }
            out.push(emit(self, &scalars, &operands)?);
        }
        self.define(id, ty, out)
    }

    fn int2_instruction(&mut self, inst: &Instruction<'_>, op: Int2) -> Result<(), Error> {
        let marks = inst.result_id.and_then(|id| self.marks.get(id)).copied().unwrap_or_default();
        let wraps = [(marks.no_signed_wrap, true), (marks.no_unsigned_wrap, false)];
        self.each(inst, 2, |this, scalars, x| {
            let w = integer_width(scalars[0])?;
            for (_, signed) in wraps.iter().filter(|(decorated, _)| *decorated) {
                this.push(Op::NoWrap(op, w, *signed), NONE, [x[0], x[1], NONE], &[], &[]);
            }
            Ok(this.emit(Op::Int2(op, w), [x[0], x[1], NONE]))
        })
    }

    fn select(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let (cond, _) = self.vector(id_at(inst, 0)?)?;
        let (x, y) = (self.cells(id_at(inst, 1)?)?, self.cells(id_at(inst, 2)?)?);
        if x.len() != y.len() || (cond.len() != 1 && cond.len() != x.len()) || cond.is_empty() {
            return Err(invalid("OpSelect of different lengths"));
        }
        let float = match self.types.components(ty) {
            Some((Scalar::Float(w), _)) if !self.keeps_signs(w) => Some(w),
            _ => None,
        };
        let cells = (0..x.len()).map(|c| {
            let cond = if cond.len() == 1 { cond[0] } else { cond[c] };
            let selected = self.emit(Op::Select, [cond, x[c], y[c]]);
            float.map_or(selected, |w| self.emit(Op::SelectedZero(w), [selected, x[c], y[c]]))
        });
        let cells = cells.collect();
        self.define(id, ty, cells)
    }

    /// Results that are structures of two values.
    fn extended_arithmetic(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let (x, scalar) = self.vector(id_at(inst, 0)?)?;
        let (y, _) = self.vector(id_at(inst, 1)?)?;
        let w = integer_width(scalar)?;
        if x.len() != y.len() {
            return Err(invalid("operands of different lengths"));
        }
        let (low, high) = match inst.class.opcode {
            Opcode::IAddCarry => (Int2::Add, Int2::AddCarry),
            Opcode::ISubBorrow => (Int2::Sub, Int2::SubBorrow),
            Opcode::UMulExtended => (Int2::Mul, Int2::UMulHigh),
            _ => (Int2::Mul, Int2::SMulHigh),
        };
        let mut cells = Cells::new();
        for op in [low, high] {
            for c in 0..x.len() {
                cells.push(self.emit(Op::Int2(op, w), [x[c], y[c], NONE]));
            }
        }
        self.define(id, ty, cells)
    }

    /// Bits as another type; lower-numbered components are lower-order bits (SPIR-V 1.6 `OpBitcast`).
    fn bitcast(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (_, ty) = self.result(inst)?;
        let source = id_at(inst, 0)?;
        let source_ty = self.value_type(source)?;
        let (Some((from, n)), Some((to, m))) = (self.types.components(source_ty), self.types.components(ty)) else {
            return Err(invalid("OpBitcast of something that is no scalar or vector"));
        };
        let (from, to) = (from.width(), to.width());
        if u32::from(from) * n != u32::from(to) * m {
            return Err(invalid("OpBitcast between sizes"));
        }
        if from == to {
            return self.alias_bits(inst);
        }
        let id = inst.result_id.unwrap_or(0);
        let cells = self.cells(source)?;
        let out = self.rebundle(&cells, from, to);
        self.define(id, ty, out)
    }

    /// Joins or splits words, low-order ones first.
    pub(super) fn rebundle(&mut self, cells: &[Reg], from: u8, to: u8) -> Cells {
        let mut out = Cells::new();
        if from > to {
            for &cell in cells {
                for part in 0..from / to {
                    let shift = self.constant_column(u64::from(part) * u64::from(to));
                    let shifted = self.emit(Op::Int2(Int2::ShiftRightLogical, from), [cell, shift, NONE]);
                    out.push(self.emit(Op::Resize(from, to, false), [shifted, NONE, NONE]));
                }
            }
        } else {
            for parts in cells.chunks((to / from) as usize) {
                let mut whole = parts[0];
                for (part, &cell) in parts.iter().enumerate().skip(1) {
                    let shift = self.constant_column(part as u64 * u64::from(from));
                    let shifted = self.emit(Op::Int2(Int2::ShiftLeft, to), [cell, shift, NONE]);
                    whole = self.emit(Op::Int2(Int2::Or, to), [whole, shifted, NONE]);
                }
                out.push(whole);
            }
        }
        out
    }

    fn alias_bits(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let cells = self.cells(id_at(inst, 0)?)?;
        self.define(id, ty, cells)
    }

    /// First cell and type of a part of a composite, by literal indices.
    fn literal_path(&self, ty: TypeId, inst: &Instruction<'_>, from: usize) -> Result<(usize, TypeId), Error> {
        let (mut ty, mut first) = (ty, 0);
        for at in from..inst.operands.len() {
            let (part, offset) = self
                .types
                .element(ty, u64::from(literal_at(inst, at)?))
                .ok_or_else(|| invalid("an index out of a composite"))?;
            (ty, first) = (part, first + offset as usize);
        }
        Ok((first, ty))
    }

    fn float2(&mut self, op: Float2, w: u8, x: Reg, y: Reg) -> Reg {
        self.emit(Op::Rearranged(op, w), [x, y, NONE])
    }

    /// Operands or results of an instruction that is not rearranged with others, although its own formula may be.
    pub(super) fn settled(&mut self, inst: &Instruction<'_>, cells: Cells) -> Cells {
        if self.is_rearranged(inst) {
            return cells;
        }
        cells.iter().map(|&cell| self.emit(Op::Settled, [cell, NONE, NONE])).collect()
    }

    /// A sum of products of floats, whose precision is inherited from them (Vulkan, "Precision of core SPIR-V Instructions"): "the formula given may be
    /// transformed using the mathematical associativity, commutativity and distributivity", so that they are added in any order.
    pub(super) fn float_dot(&mut self, w: u8, x: &[Reg], y: &[Reg]) -> Reg {
        let products: Vec<Reg> = x.iter().zip(y).map(|(&x, &y)| self.float2(Float2::Mul, w, x, y)).collect();
        let sum = products.into_iter().reduce(|sum, product| self.float2(Float2::Add, w, sum, product));
        sum.map_or(NONE, |sum| self.emit(Op::Inherited(w), [sum, NONE, NONE]))
    }

    /// Matrices and vectors; a matrix is a row of columns.
    fn linear(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let a_id = id_at(inst, 0)?;
        let a = self.cells(a_id)?;
        let shape = |this: &Self, id: u32| -> Result<(usize, usize, Scalar), Error> {
            let ty = this.value_type(id)?;
            let wrong = || invalid("a matrix of no floats");
            match *this.types.get(ty) {
                Type::Matrix(column, n) => {
                    let (scalar, rows) = this.types.components(column).ok_or_else(wrong)?;
                    Ok((rows as usize, n as usize, scalar))
                }
                _ => {
                    let (scalar, rows) = this.types.components(ty).ok_or_else(wrong)?;
                    Ok((rows as usize, 1, scalar))
                }
            }
        };
        let (rows, columns, scalar) = shape(self, a_id)?;
        let mut out = Cells::new();
        if inst.class.opcode == Opcode::Transpose {
            for r in 0..rows {
                out.extend((0..columns).map(|c| a[c * rows + r]));
            }
            return self.define(id, ty, out);
        }
        let w = float_width(scalar)?;
        let b_id = id_at(inst, 1)?;
        let b = self.cells(b_id)?;
        let (a, b) = (self.settled(inst, a), self.settled(inst, b));
        let (b_rows, b_columns, _) = shape(self, b_id)?;
        let check = |fits: bool| if fits { Ok(()) } else { Err(invalid("matrices that do not fit")) };
        match inst.class.opcode {
            Opcode::Dot => {
                check(a.len() == b.len() && !a.is_empty())?;
                out.push(self.float_dot(w, &a, &b));
            }
            Opcode::VectorTimesScalar | Opcode::MatrixTimesScalar => {
                check(b.len() == 1)?;
                out.extend(a.iter().map(|&x| self.float2(Float2::Mul, w, x, b[0])));
            }
            Opcode::OuterProduct => {
                for &y in &b {
                    out.extend(a.iter().map(|&x| self.float2(Float2::Mul, w, x, y)));
                }
            }
            Opcode::VectorTimesMatrix => {
                check(a.len() == b_rows && b_rows > 0)?;
                out.extend((0..b_columns).map(|c| self.float_dot(w, &a, &b[c * b_rows..(c + 1) * b_rows])));
            }
            // With a vector, `b` has one column.
            _ => {
                check(columns == b_rows && columns > 0)?;
                for c in 0..b_columns {
                    let column = &b[c * b_rows..(c + 1) * b_rows];
                    for r in 0..rows {
                        let row: Vec<Reg> = (0..columns).map(|k| a[k * rows + r]).collect();
                        out.push(self.float_dot(w, &row, column));
                    }
                }
            }
        }
        let out = self.settled(inst, out);
        self.define(id, ty, out)
    }

    /// SPV_KHR_integer_dot_product.
    fn dot(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty, to, _) = self.result_vector(inst)?;
        let to = integer_width(to)?;
        let opcode = inst.class.opcode;
        let saturate = matches!(opcode, Opcode::SDotAccSat | Opcode::UDotAccSat | Opcode::SUDotAccSat);
        let signs = match opcode {
            Opcode::SDot | Opcode::SDotAccSat => (true, true),
            Opcode::UDot | Opcode::UDotAccSat => (false, false),
            _ => (true, false),
        };
        let (x, scalar) = self.vector(id_at(inst, 0)?)?;
        let (y, _) = self.vector(id_at(inst, 1)?)?;
        let (mut from, mut x, mut y) = (integer_width(scalar)?, x, y);
        let packed = inst.operands.iter().any(|operand| matches!(operand, Operand::PackedVectorFormat(_)));
        if packed {
            (x, y) = (self.rebundle(&x, 32, 8), self.rebundle(&y, 32, 8));
            from = 8;
        } else if x.len() == 1 {
            // "When Vector 1 and Vector 2 are scalar integer types, Packed Vector Format must be specified": spirv-val does not ask for it.
            return Err(invalid("a dot product of scalars without a packed vector format"));
        }
        if x.len() != y.len() {
            return Err(invalid("a dot product of different lengths"));
        }
        let accumulator = if saturate { self.scalar(id_at(inst, 2)?)?.0 } else { NONE };
        let both: Cells = x.iter().chain(&y).copied().collect();
        let d = self.temp();
        self.push(Op::Dot { from, to, signs, saturate }, d, [NONE, NONE, accumulator], &[], &both);
        self.define(id, ty, smallvec![d])
    }
}

/// True of an operation of a subgroup or quad: `OpGroupNonUniform*`, in the core and in extensions.
pub(crate) fn is_group(opcode: Opcode) -> bool {
    let number = opcode as u32;
    let core = Opcode::GroupNonUniformElect as u32..=Opcode::GroupNonUniformQuadSwap as u32;
    core.contains(&number) || opcode == Opcode::GroupNonUniformRotateKHR || is_unscoped(opcode)
}

fn is_atomic(opcode: Opcode) -> bool {
    super::memory::atomic_of(opcode).is_some()
}

fn int2_of(opcode: Opcode) -> Option<Int2> {
    use Opcode as O;
    Some(match opcode {
        O::IAdd => Int2::Add,
        O::ISub => Int2::Sub,
        O::IMul => Int2::Mul,
        O::UDiv => Int2::UDiv,
        O::SDiv => Int2::SDiv,
        O::UMod => Int2::UMod,
        O::SRem => Int2::SRem,
        O::SMod => Int2::SMod,
        O::ShiftLeftLogical => Int2::ShiftLeft,
        O::ShiftRightLogical => Int2::ShiftRightLogical,
        O::ShiftRightArithmetic => Int2::ShiftRightArithmetic,
        O::BitwiseAnd | O::LogicalAnd => Int2::And,
        O::BitwiseOr | O::LogicalOr => Int2::Or,
        O::BitwiseXor => Int2::Xor,
        O::IEqual | O::LogicalEqual => Int2::Equal,
        O::INotEqual | O::LogicalNotEqual => Int2::NotEqual,
        O::ULessThan => Int2::ULess,
        O::ULessThanEqual => Int2::ULessEqual,
        O::UGreaterThan => Int2::UGreater,
        O::UGreaterThanEqual => Int2::UGreaterEqual,
        O::SLessThan => Int2::SLess,
        O::SLessThanEqual => Int2::SLessEqual,
        O::SGreaterThan => Int2::SGreater,
        O::SGreaterThanEqual => Int2::SGreaterEqual,
        _ => return None,
    })
}

fn float_compare_of(opcode: Opcode) -> Option<(FloatCompare, bool)> {
    use FloatCompare as C;
    use Opcode as O;
    Some(match opcode {
        O::FOrdEqual => (C::Equal, false),
        O::FUnordEqual => (C::Equal, true),
        O::FOrdNotEqual => (C::NotEqual, false),
        O::FUnordNotEqual => (C::NotEqual, true),
        O::FOrdLessThan => (C::Less, false),
        O::FUnordLessThan => (C::Less, true),
        O::FOrdGreaterThan => (C::Greater, false),
        O::FUnordGreaterThan => (C::Greater, true),
        O::FOrdLessThanEqual => (C::LessEqual, false),
        O::FUnordLessThanEqual => (C::LessEqual, true),
        O::FOrdGreaterThanEqual => (C::GreaterEqual, false),
        O::FUnordGreaterThanEqual => (C::GreaterEqual, true),
        _ => return None,
    })
}
