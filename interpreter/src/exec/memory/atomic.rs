//! Atomics: each is done lane by lane, and what its order with others leaves open is noted.

use super::{MIXED, read};
use crate::alu;
use crate::code::*;
use crate::exec::Machine;
use crate::exec::stop::Stop;
use crate::faults::Planted;
use crate::outcome::{Rule, Why};
use crate::types::Scalar;

impl Machine<'_> {
    /// Atomics of one instruction are performed lane by lane, in an order that nothing promises.
    pub(crate) fn atomic(&mut self, inst: &Inst, access: u32, op: AtomicOp, scalar: Scalar) -> Result<(), Stop> {
        let code = self.code;
        let access = &code.accesses[access as usize];
        self.one_descriptor(inst, access)?;
        if access.space == Space::Cells {
            let slots = self.active.clone();
            return Err(self.undefined(Rule::OutOfBounds, inst.place, slots, "an atomic on private memory".into()));
        }
        self.atomics_of_helpers(inst);
        self.without_helpers(|this| this.atomics(inst, access, op, scalar))
    }

    fn atomics(&mut self, inst: &Inst, access: &Access, op: AtomicOp, scalar: Scalar) -> Result<(), Stop> {
        let code = self.code;
        let size = u64::from(scalar.bytes());
        let leaf = access.leaves.first().map_or(0, |(offset, _)| u64::from(*offset));
        let layout = self.layout;
        self.memory.place = inst.place;
        self.memory.release(access.semantics, &self.active);
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (pointer, open) = self.usable(inst, slot, access.base)?;
            if open != 0 {
                let taint = self.reasons.taint(Why::Path, inst.place);
                if op != AtomicOp::Load {
                    self.store_anywhere(inst, access.space, pointer, true)?;
                }
                if inst.d != NONE {
                    self.columns.set(inst.d, slot, 0, taint);
                }
                continue;
            }
            if access.texel && pointer == NO_TEXEL {
                if inst.d != NONE {
                    let taint = self.reasons.taint(Why::OutsideImage, inst.place);
                    self.columns.set(inst.d, slot, 0, taint);
                }
                continue;
            }
            let (object, offset) = self.located(inst, slot, access.space, pointer, leaf + size)?;
            let offset = offset + leaf;
            if op != AtomicOp::Load && (access.read_only || self.memory.objects[object as usize].read_only) {
                return Err(self.undefined(Rule::ReadOnly, inst.place, vec![slot as u32], String::new()));
            }
            let kind = (kind_of(op), access.semantics.scope);
            let (others, mixed) = match self.memory.act(object, (offset, size), slot, kind, layout) {
                Ok(found) => found,
                Err(clash) => return Err(self.clash(inst, slot, object, offset, clash)),
            };
            let key = (object, (offset / u64::from(code.granule.max(1))) as u32);
            let known = self.knowledge.contended.contains(&key);
            if others && !known && self.memory.contended.insert(key) {
                self.memory.budget.take(4 * size_of::<(u32, u32)>())?;
            }
            // A run that finds it out is repeated; until then the order is the one in which they are executed, which is allowed.
            let contended = known || others && self.knowledge.no_claims;
            let domain = self.memory.objects[object as usize].domain;
            let barriers = self.memory.barriers[domain];
            let lost = self.knowledge.may_be_lost_to(self.workgroup, domain, barriers)
                && !self.is(Planted::LostLanesLeaveAtomics);
            let anywhere = self.may_be_anywhere(object);
            let why = if lost || anywhere { Some(Why::Path) } else { contended.then_some(Why::Order) };
            self.atomic_lane(inst, (object, offset), slot, op, scalar, why, mixed || anywhere)?;
        }
        if op != AtomicOp::Store {
            self.memory.read_atomically(&self.active);
        }
        self.memory.acquire(access.semantics, &self.active);
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one atomic of one lane")]
    fn atomic_lane(
        &mut self,
        inst: &Inst,
        (object, offset): (u32, u64),
        slot: usize,
        op: AtomicOp,
        scalar: Scalar,
        contended: Option<Why>,
        mixed: bool,
    ) -> Result<(), Stop> {
        let (w, size, at) = (scalar.width(), scalar.bytes() as usize, offset as usize);
        let bytes = &self.memory.objects[object as usize];
        let old = read(&bytes.bytes[at..], size);
        let old_taint = bytes.taint(at, size);
        let operand = |this: &Self, reg: Reg| if reg == NONE { (0, 0) } else { this.columns.get(reg, slot) };
        let ((value, value_taint), (expected, expected_taint)) = (operand(self, inst.b), operand(self, inst.c));
        let order = contended.map_or(0, |why| self.reasons.taint(why, inst.place));
        if inst.d != NONE {
            let taint = if old_taint != 0 { self.reasons.derived(old_taint) } else { 0 };
            self.columns.set(inst.d, slot, old, taint.max(order));
        }
        let first = self.active.first() == Some(&(slot as u32));
        if op == AtomicOp::Load || (first && self.active.len() > 1 && self.is(Planted::AtomicLosesLane)) {
            return Ok(());
        }
        let (new, taint) = match op {
            AtomicOp::Exchange | AtomicOp::Store => (value, value_taint.max(order)),
            AtomicOp::CompareExchange => {
                let new = if old == expected { value } else { old };
                (new, value_taint.max(expected_taint).max(old_taint).max(order))
            }
            AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax => {
                let float = match op {
                    AtomicOp::FAdd => Float2::Add,
                    AtomicOp::FMin => Float2::Min,
                    _ => Float2::Max,
                };
                let (x, y) = (self.number(w, old, old_taint), self.number(w, value, value_taint));
                let answer = self.float2(float, w, x, y);
                let (bits, taint) = self.answer(w, answer, inst.place);
                let rounds = op == AtomicOp::FAdd;
                (bits, taint.max(if rounds { order } else { 0 }))
            }
            _ => {
                let int = integer_of(op);
                let int = if self.is(Planted::AtomicOrIsXor) && int == Int2::Or { Int2::Xor } else { int };
                (alu::int2(int, w, old, value).unwrap_or(0), old_taint.max(value_taint))
            }
        };
        // Operators that do not commute leave open what remains.
        let taint = if mixed { taint.max(order) } else { taint };
        let taint = if taint != 0 { self.reasons.derived(taint) } else { 0 };
        self.show_write(inst, slot, (object, at), size, (new, taint));
        self.write(object, at, size, new, taint)
    }
}

fn integer_of(op: AtomicOp) -> Int2 {
    match op {
        AtomicOp::Sub => Int2::Sub,
        AtomicOp::SMin => Int2::SMin,
        AtomicOp::UMin => Int2::UMin,
        AtomicOp::SMax => Int2::SMax,
        AtomicOp::UMax => Int2::UMax,
        AtomicOp::And => Int2::And,
        AtomicOp::Or => Int2::Or,
        AtomicOp::Xor => Int2::Xor,
        _ => Int2::Add,
    }
}

/// Operators with one kind commute with each other.
fn kind_of(op: AtomicOp) -> u8 {
    match op {
        AtomicOp::Load => 1,
        AtomicOp::Add | AtomicOp::Sub => 2,
        AtomicOp::SMin => 3,
        AtomicOp::UMin => 4,
        AtomicOp::SMax => 5,
        AtomicOp::UMax => 6,
        AtomicOp::And => 7,
        AtomicOp::Or => 8,
        AtomicOp::Xor => 9,
        AtomicOp::FAdd => 10,
        AtomicOp::FMin => 11,
        AtomicOp::FMax => 12,
        AtomicOp::Store | AtomicOp::Exchange | AtomicOp::CompareExchange => MIXED,
    }
}
