//! Constant expressions, and places for columns.

use rspirv::spirv::Op as Opcode;

use super::{Decoder, TEMP, invalid};
use crate::alu;
use crate::code::*;
use crate::exec::format::{decode, encode};
use crate::operand::Operand;
use crate::outcome::Error;
use crate::source::Instruction;
use crate::types::{Scalar, TypeId};

/// A float of another width, if rounding and the flushing of denormals do not matter.
fn converted(from: u8, to: u8, bits: u64) -> Option<u64> {
    let least = match to {
        16 => 2f64.powi(-14),
        32 => f64::from(f32::MIN_POSITIVE),
        _ => f64::MIN_POSITIVE,
    };
    let value = decode(from, bits);
    encode(to, value).filter(|_| value == 0.0 || value.abs() >= least)
}

impl Decoder<'_> {
    /// `OpSpecConstantOp` (SPIR-V 1.6 §3.52.7).
    pub(super) fn constant_operation(&mut self, inst: &Instruction<'_>, ty: TypeId) -> Result<Vec<Start>, Error> {
        let Some(Operand::LiteralSpecConstantOpInteger(opcode)) = inst.operands.first() else {
            return Err(invalid("OpSpecConstantOp without an opcode"));
        };
        let mut rows: Vec<(TypeId, Vec<Start>)> = Vec::new();
        let mut literals = Vec::new();
        for operand in &inst.operands[1..] {
            match operand {
                Operand::IdRef(id) => {
                    let constant = self.constants.get(*id).ok_or_else(|| invalid(format!("%{id} is no constant")))?;
                    rows.push((constant.ty, constant.cells.to_vec()));
                }
                Operand::LiteralBit32(value) => literals.push(*value),
                _ => {}
            }
        }
        let count = self.checked_cells(ty)?;
        let row = |at: usize| -> Result<&(TypeId, Vec<Start>), Error> {
            rows.get(at).ok_or_else(|| invalid("OpSpecConstantOp without its operands"))
        };
        let scalar_of = |at: usize| -> Result<Scalar, Error> {
            let found = self.types.components(row(at)?.0).map(|(scalar, _)| scalar);
            found.ok_or_else(|| invalid("OpSpecConstantOp of something that is no scalar or vector"))
        };
        // Where the part of a composite begins that the literals name.
        let part = |of: TypeId| -> Result<usize, Error> {
            let step = |(part, first): (TypeId, usize), &index: &u32| {
                self.types.element(part, u64::from(index)).map(|(ty, offset)| (ty, first + offset as usize))
            };
            let found = literals.iter().try_fold((of, 0), step);
            found.map(|(_, first)| first).ok_or_else(|| invalid("an index out of a composite"))
        };
        match opcode {
            Opcode::CompositeExtract => {
                let first = part(row(0)?.0)?;
                let cells =
                    row(0)?.1.get(first..first + count).ok_or_else(|| invalid("an index out of a composite"))?;
                return Ok(cells.to_vec());
            }
            Opcode::CompositeInsert => {
                let first = part(row(1)?.0)?;
                let mut cells = row(1)?.1.clone();
                let object = &row(0)?.1;
                cells
                    .get_mut(first..first + object.len())
                    .ok_or_else(|| invalid("an index out of a composite"))?
                    .copy_from_slice(object);
                return Ok(cells);
            }
            Opcode::VectorShuffle => {
                let both: Vec<Start> = row(0)?.1.iter().chain(&row(1)?.1).copied().collect();
                let pick = |index: &u32| both.get(*index as usize).copied().unwrap_or(Start::Undef);
                return Ok(literals.iter().map(pick).collect());
            }
            Opcode::Select => {
                let (cond, x, y) = (&row(0)?.1, &row(1)?.1, &row(2)?.1);
                let pick = |c: usize| match cond.get(if cond.len() == 1 { 0 } else { c }) {
                    Some(Start::Value(0)) => y.get(c).copied(),
                    Some(Start::Value(_)) => x.get(c).copied(),
                    _ => Some(Start::Undef),
                };
                return Ok((0..count).map(|c| pick(c).unwrap_or(Start::Undef)).collect());
            }
            _ => {}
        }
        let scalar = scalar_of(0)?;
        let w = scalar.width();
        let to = self.types.components(ty).map_or(w, |(scalar, _)| scalar.width());
        let mut cells = Vec::with_capacity(count);
        for c in 0..count {
            let at = |row_at: usize| -> Result<Option<u64>, Error> {
                Ok(match row(row_at)?.1.get(c) {
                    Some(Start::Value(value)) => Some(*value),
                    _ => None,
                })
            };
            let value = match opcode {
                Opcode::SNegate => at(0)?.map(|x| alu::int1(Int1::Negate, w, x)),
                Opcode::Not | Opcode::LogicalNot => at(0)?.map(|x| alu::int1(Int1::Not, w, x)),
                Opcode::UConvert => at(0)?.map(|x| x & alu::mask(to)),
                Opcode::SConvert => at(0)?.map(|x| alu::signed(x, w) as u64 & alu::mask(to)),
                Opcode::Bitcast if w == to => at(0)?,
                Opcode::FConvert => at(0)?.map(|bits| {
                    converted(w, to, bits).unwrap_or_else(|| {
                        self.unsupported("OpSpecConstantOp with OpFConvert of a number that is rounded");
                        0
                    })
                }),
                _ => match self.int2_of(*opcode) {
                    Some(op) => match (at(0)?, at(1)?) {
                        (Some(x), Some(y)) => alu::int2(op, w, x, y).ok(),
                        _ => None,
                    },
                    None => {
                        self.unsupported(format!("OpSpecConstantOp with Op{opcode:?}"));
                        None
                    }
                },
            };
            cells.push(value.map_or(Start::Undef, Start::Value));
        }
        Ok(cells)
    }

    /// Gives every column of a function its place: one of its own if several blocks use it, else one that is shared with others.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let mut temps = uses(&self.code, self.temps as usize);
        keep_across_calls(&self.code, &mut temps);
        for temp in temps.iter_mut().filter(|temp| temp.own) {
            temp.place = self.permanent_columns(1)?;
        }
        let shared = share(&self.code, self.permanent, &mut temps);
        self.permanent_columns(shared as usize)?;
        self.code.columns = self.permanent;
        // No instruction may name a column that is not there: the machine relies on it.
        let (columns, mut fine) = (self.code.columns, true);
        let mut place = |reg: &mut Reg| {
            if let Some(temp) = temp_of(*reg) {
                *reg = temps[temp].place;
            }
            fine &= *reg < columns;
        };
        for inst in &mut self.code.insts {
            if inst.d != NONE && inst.d & super::body::GROUP_TAG == 0 {
                place(&mut inst.d);
            }
            [&mut inst.a, &mut inst.b, &mut inst.c].into_iter().filter(|reg| **reg != NONE).for_each(&mut place);
        }
        self.code.pool.iter_mut().for_each(&mut place);
        for block in &mut self.code.blocks {
            match &mut block.term {
                Term2::Cond { cond, .. } => place(cond),
                Term2::Switch { selector, .. } => place(selector),
                _ => {}
            }
        }
        let mut base = |base: &mut Base| {
            if let Base::Reg(reg) = base {
                place(reg);
            }
        };
        self.code.accesses.iter_mut().for_each(|access| base(&mut access.base));
        self.code.lengths.iter_mut().for_each(|length| base(&mut length.base));
        self.code.chains.iter_mut().for_each(|chain| base(&mut chain.base));
        self.code.chains.iter_mut().flat_map(|chain| &mut chain.terms).for_each(|term| place(&mut term.index));
        if fine { Ok(()) } else { Err(invalid("a value is used that nothing defines")) }
    }
}

/// What is known of a column of a function that has no place yet.
#[derive(Clone, Copy, Debug)]
struct Temp {
    /// The block that writes it.
    home: u32,
    /// The last instruction of that block that uses it; none if its terminator does, or if its place is free again.
    last_use: u32,
    place: Reg,
    /// It does not share its place.
    own: bool,
}

/// Where the columns are used: what a block uses it has computed before, or another one has.
fn uses(code: &Code, count: usize) -> Vec<Temp> {
    let mut temps = vec![Temp { home: u32::MAX, last_use: 0, place: NONE, own: false }; count];
    for (index, block) in (0..).zip(&code.blocks) {
        for at in block.first..block.end {
            let inst = &code.insts[at as usize];
            used(code, inst, |reg| {
                if let Some(temp) = temp_of(reg).map(|temp| &mut temps[temp]) {
                    temp.own |= temp.home != index;
                    temp.last_use = at;
                }
            });
            defined(code, inst, |reg| {
                if let Some(temp) = temp_of(reg).map(|temp| &mut temps[temp]) {
                    (temp.home, temp.last_use) = (index, at);
                }
            });
        }
        used_by_term(code, &block.term, |reg| {
            if let Some(temp) = temp_of(reg).map(|temp| &mut temps[temp]) {
                temp.own |= temp.home != index;
                temp.last_use = u32::MAX;
            }
        });
    }
    temps
}

/// Callees share columns with their callers: what is live across a call has its own.
fn keep_across_calls(code: &Code, temps: &mut [Temp]) {
    let is_call = |at: &u32| matches!(code.insts[*at as usize].op, Op::Call(_));
    for block in &code.blocks {
        let calls: Vec<u32> = (block.first..block.end).filter(is_call).collect();
        let Some(&last) = calls.last() else { continue };
        for at in block.first..last {
            defined(code, &code.insts[at as usize], |reg| {
                if let Some(temp) = temp_of(reg).map(|temp| &mut temps[temp]) {
                    let next = calls.get(calls.partition_point(|&call| call <= at));
                    temp.own |= next.is_some_and(|&call| temp.last_use > call);
                }
            });
        }
    }
}

/// Gives the columns of each block their places, from a number on: one that is not used any more is given again. Tells how many places there are.
fn share(code: &Code, first: Reg, temps: &mut [Temp]) -> u32 {
    let mut most = 0;
    let mut free: Vec<Reg> = Vec::new();
    for block in &code.blocks {
        free.clear();
        let mut next = first;
        for at in block.first..block.end {
            let inst = &code.insts[at as usize];
            defined(code, inst, |reg| {
                if let Some(temp) = temp_of(reg).map(|temp| &mut temps[temp]).filter(|temp| temp.place == NONE) {
                    temp.place = free.pop().unwrap_or_else(|| {
                        next += 1;
                        next - 1
                    });
                }
            });
            let mut release = |reg| {
                let Some(temp) = temp_of(reg).map(|temp| &mut temps[temp]) else { return };
                if !temp.own && temp.last_use == at {
                    free.push(temp.place);
                    // Once.
                    temp.last_use = u32::MAX;
                }
            };
            used(code, inst, &mut release);
            defined(code, inst, release);
        }
        most = most.max(next - first);
    }
    most
}

#[inline(always)]
fn temp_of(reg: Reg) -> Option<usize> {
    // From `TEMP` on, and without the bits above: neither `NONE` nor the number of a subgroup instruction.
    (reg >> TEMP.trailing_zeros() == 1).then(|| (reg - TEMP) as usize)
}

/// Hands on the columns that an instruction writes.
#[inline(always)]
fn defined(code: &Code, inst: &Inst, mut take: impl FnMut(Reg)) {
    if inst.d != NONE && inst.d & super::body::GROUP_TAG == 0 {
        take(inst.d);
    }
    code.pool[inst.outs.range()].iter().copied().for_each(take);
}

/// Hands on those that it reads.
#[inline(always)]
fn used(code: &Code, inst: &Inst, mut take: impl FnMut(Reg)) {
    [inst.a, inst.b, inst.c].into_iter().filter(|reg| *reg != NONE).for_each(&mut take);
    code.pool[inst.ins.range()].iter().copied().for_each(take);
}

/// Hands on those that a terminator reads, and those that phis and results get from it.
#[inline(always)]
fn used_by_term(code: &Code, term: &Term2, mut take: impl FnMut(Reg)) {
    let mut all = |span: Span| code.pool[span.range()].iter().copied().for_each(&mut take);
    match term {
        Term2::Branch(edge) => all(edge.moves),
        Term2::Cond { cond, yes, no } => {
            all(yes.moves);
            all(no.moves);
            take(*cond);
        }
        Term2::Switch { selector, cases, default, .. } => {
            cases.iter().for_each(|(_, edge)| all(edge.moves));
            all(default.moves);
            take(*selector);
        }
        Term2::Return(moves) => all(*moves),
        Term2::Terminate | Term2::Kill | Term2::Undefined(_) => {}
    }
}
