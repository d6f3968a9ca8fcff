//! Instructions that compute, for all lanes of a tangle at once.

use super::Machine;
use super::accuracy::Number;
use super::reasons::POISON;
use super::stop::Stop;
use crate::alu::{self, Fault};
use crate::code::*;
use crate::faults::Planted;
use crate::outcome::{Rule, Why};
use crate::types::Scalar;

/// Runs a block for every active lane.
macro_rules! lanes {
    ($self:ident, $slot:ident => $body:block) => {
        if $self.full {
            #[allow(clippy::needless_range_loop, reason = "several columns are indexed in most of them")]
            for $slot in 0..$self.n $body
        } else {
            for &$slot in &$self.active {
                let $slot = $slot as usize;
                $body
            }
        }
    };
}

/// One loop for each operation, so that none chooses in its inside.
macro_rules! each_operation {
    ($self:ident, $inst:ident, $op:ident, $w:ident, $($name:ident)*) => {
        match $op {
            $(Int2::$name => $self.binary($inst, |x, y| alu::int2(Int2::$name, $w, x, y)),)*
        }
    };
}

impl Machine<'_> {
    pub(super) fn instruction(&mut self, inst: &Inst) -> Result<(), Stop> {
        self.execute(inst)?;
        if !self.expansions.is_empty() && !self.continues_expansions(inst) {
            self.forget_expansions(inst);
        }
        Ok(())
    }

    /// True if what stands behind the result is known, whatever it is.
    fn continues_expansions(&self, inst: &Inst) -> bool {
        match inst.op {
            Op::Load(access) | Op::Store(access) => self.code.accesses[access as usize].space == Space::Cells,
            Op::Rearranged(..)
            | Op::Float1(..)
            | Op::Float2(..)
            | Op::DirectedFloat2(..)
            | Op::Fma(_)
            | Op::FMix(_)
            | Op::FClamp(_)
            | Op::Inherited(_)
            | Op::Relax(_)
            | Op::Select
            | Op::SelectedZero(_)
            | Op::VectorExtract
            | Op::VectorInsert
            | Op::Call(_) => true,
            _ => false,
        }
    }

    fn execute(&mut self, inst: &Inst) -> Result<(), Stop> {
        match inst.op {
            Op::Int1(op, w) => self.unary(inst, |x| Ok(alu::int1(op, w, x)))?,
            Op::Int2(op, w) => self.int2(inst, self.planted_int2(op), w)?,
            Op::Resize(from, to, is_signed) => {
                let is_signed = is_signed && !self.is(Planted::ZeroExtension);
                let out = alu::mask(to);
                if is_signed {
                    self.unary(inst, |x| Ok(alu::signed(x, from) as u64 & out))?;
                } else {
                    self.unary(inst, |x| Ok(x & out))?;
                }
            }
            Op::Select => self.select(inst),
            Op::SelectedZero(w) => self.selected_zero(inst, w),
            Op::BitFieldInsert(w) => {
                let code = self.code;
                if let [base, insert, offset, count] = code.pool[inst.ins.range()] {
                    let insert_bits = |x: &[u64]| alu::bit_field_insert(w, x[0], x[1], x[2], x[3]);
                    self.determined(inst, [base, insert, offset, count], insert_bits)?;
                }
            }
            Op::BitFieldExtract(w, is_signed) => {
                let up = u64::from(self.is(Planted::BitFieldShifted));
                self.ternary(inst, |base, offset, count| {
                    let higher = offset + if offset + count < u64::from(w) { up } else { 0 };
                    alu::bit_field_extract(w, is_signed, base, higher, count)
                })?;
            }
            Op::Clamp(scalar) => self.clamp(inst, scalar)?,
            Op::Relax(scalar) => self.relax(inst, scalar),
            Op::Dot { from, to, signs, saturate } => self.dot(inst, from, to, signs, saturate)?,
            Op::Open(why) => self.open(inst, why),
            Op::Float1(..)
            | Op::Float2(..)
            | Op::Rearranged(..)
            | Op::Fma(_)
            | Op::FClamp(_)
            | Op::FMix(_)
            | Op::Inherited(_)
            | Op::Ldexp(..)
            | Op::Exponent(..)
            | Op::FloatCompare(..)
            | Op::IsNan(_)
            | Op::IsInf(_)
            | Op::FloatConvert(..)
            | Op::DirectedFloat2(..)
            | Op::DirectedConvert(..)
            | Op::DirectedInt(..)
            | Op::Quantize
            | Op::IntToFloat(..)
            | Op::FloatToInt(..) => self.float(inst)?,
            Op::Settled => self.mov(inst.d, inst.a),
            Op::VectorExtract => self.vector_extract(inst),
            Op::VectorInsert => self.vector_insert(inst),
            Op::Chain(chain) => self.chain(inst, chain),
            Op::Texel(texel) => self.texel(inst, texel),
            Op::ImageSize(texel) => self.image_size(inst, texel),
            Op::Narrow(w, signed) => self.narrow(inst, w, signed)?,
            Op::Load(access) => self.load(inst, access)?,
            Op::Store(access) => self.store(inst, access)?,
            Op::Atomic(access, op, scalar) => self.atomic(inst, access, op, scalar)?,
            Op::ArrayLength(length) => self.array_length(inst, length)?,
            Op::Group { group, scalar, n, cluster } => self.group(inst, group, scalar, usize::from(n), cluster)?,
            Op::ControlBarrier(barrier) => self.control_barrier(inst, barrier)?,
            Op::MemoryBarrier(semantics) => self.memory.fence(semantics, &self.active),
            Op::Assume => self.assume(inst)?,
            Op::NoWrap(op, w, signed) => self.no_wrap(inst, op, w, signed)?,
            Op::Demote => self.demote(inst),
            Op::IsHelper => self.is_helper(inst),
            // Calls are control flow.
            Op::Call(_) => {}
        }
        Ok(())
    }

    /// No taint is left where the active lanes wrote.
    pub(super) fn clear(&self, reg: Reg) {
        if !self.columns.is_tainted(reg) {
            return;
        }
        let taints = self.columns.taints(reg);
        lanes!(self, slot => { taints[slot].set(0); });
        if self.full {
            self.columns.tainted[reg as usize].set(false);
        }
    }

    /// Computes a column from one or two others, for the active lanes. Without gaps the loop has no bounds to check, and is vectorised.
    #[inline(always)]
    pub(super) fn each1(&self, d: Reg, a: Reg, mut f: impl FnMut(u64) -> u64) {
        let (a, d) = (self.columns.bits(a), self.columns.bits(d));
        if self.full {
            for (a, d) in a.iter().zip(d) {
                d.set(f(a.get()));
            }
            return;
        }
        for &slot in &self.active {
            d[slot as usize].set(f(a[slot as usize].get()));
        }
    }

    #[inline(always)]
    pub(super) fn each2(&self, d: Reg, a: Reg, b: Reg, mut f: impl FnMut(u64, u64) -> u64) {
        let (a, b, d) = (self.columns.bits(a), self.columns.bits(b), self.columns.bits(d));
        if self.full {
            for ((a, b), d) in a.iter().zip(b).zip(d) {
                d.set(f(a.get(), b.get()));
            }
            return;
        }
        for &slot in &self.active {
            let slot = slot as usize;
            d[slot].set(f(a[slot].get(), b[slot].get()));
        }
    }

    /// Gives a column its values, for the active lanes.
    #[inline(always)]
    pub(super) fn each_active(&self, d: Reg, f: impl Fn(usize) -> u64) {
        let d = self.columns.bits(d);
        lanes!(self, slot => { d[slot].set(f(slot)); });
    }

    /// Copies a column, for the active lanes.
    pub(super) fn mov(&mut self, to: Reg, from: Reg) {
        if to == from {
            return;
        }
        self.each1(to, from, |x| x);
        if self.columns.is_tainted(from) {
            let (source, destination) = (self.columns.taints(from), self.columns.taints(to));
            let mut any = 0;
            lanes!(self, slot => {
                let taint = source[slot].get();
                any |= taint;
                destination[slot].set(taint);
            });
            if any != 0 {
                self.columns.tainted[to as usize].set(true);
            } else if self.full {
                self.columns.tainted[to as usize].set(false);
            }
        } else {
            self.clear(to);
        }
        if self.expansions.has(from) || self.expansions.has(to) {
            for at in 0..self.active.len() {
                self.hand_on(to, from, self.active[at] as usize);
            }
        }
    }

    /// True if some active lane has a taint in a column.
    fn has_taints(&self, reg: Reg) -> bool {
        if !self.columns.is_tainted(reg) {
            return false;
        }
        let taints = self.columns.taints(reg);
        let mut any = 0;
        lanes!(self, slot => { any |= taints[slot].get(); });
        any != 0
    }

    #[inline(always)]
    fn unary(&mut self, inst: &Inst, f: impl Fn(u64) -> Result<u64, Fault>) -> Result<(), Stop> {
        if self.has_taints(inst.a) {
            return self.general(inst, &[inst.a], &|x: &[u64]| f(x[0]));
        }
        self.each1(inst.d, inst.a, |x| f(x).unwrap_or(0));
        self.clear(inst.d);
        Ok(())
    }

    /// "The converted value of any integer that cannot be represented in the target format is undefined" (Vulkan, "Texel Output Format Conversion").
    fn narrow(&mut self, inst: &Inst, w: u8, signed: bool) -> Result<(), Stop> {
        self.general(inst, &[inst.a], &|x: &[u64]| {
            let low = x[0] & alu::mask(w);
            // The sign of 32 bits, in which texels are written.
            let back = if signed { alu::signed(low, w) as u64 & alu::mask(32) } else { low };
            if back == x[0] { Ok(low) } else { Err(Fault::Value(Why::Operands)) }
        })
    }

    #[inline(always)]
    fn binary(&mut self, inst: &Inst, f: impl Fn(u64, u64) -> Result<u64, Fault>) -> Result<(), Stop> {
        if self.has_taints(inst.a) || self.has_taints(inst.b) {
            return self.general(inst, &[inst.a, inst.b], &|x: &[u64]| f(x[0], x[1]));
        }
        let mut failed = false;
        // A result that fails is overwritten below, unless an operand stands there.
        let in_place = inst.d == inst.a || inst.d == inst.b;
        let d = self.columns.bits(inst.d);
        if in_place {
            lanes!(self, slot => {
                match f(self.columns.bits(inst.a)[slot].get(), self.columns.bits(inst.b)[slot].get()) {
                    Ok(value) => d[slot].set(value),
                    Err(_) => failed = true,
                }
            });
        } else {
            self.each2(inst.d, inst.a, inst.b, |x, y| {
                f(x, y).unwrap_or_else(|_| {
                    failed = true;
                    0
                })
            });
        }
        self.clear(inst.d);
        if failed {
            return self.general(inst, &[inst.a, inst.b], &|x: &[u64]| f(x[0], x[1]));
        }
        Ok(())
    }

    fn ternary(&mut self, inst: &Inst, f: impl Fn(u64, u64, u64) -> Result<u64, Fault>) -> Result<(), Stop> {
        self.determined(inst, [inst.a, inst.b, inst.c], |x| f(x[0], x[1], x[2]))
    }

    /// Of so many operands, without taints if they have none.
    fn determined<const N: usize>(
        &mut self,
        inst: &Inst,
        operands: [Reg; N],
        f: impl Fn(&[u64]) -> Result<u64, Fault>,
    ) -> Result<(), Stop> {
        let mut failed = operands.iter().any(|&reg| self.has_taints(reg));
        if !failed {
            let (columns, d) = (operands.map(|reg| self.columns.bits(reg)), self.columns.bits(inst.d));
            lanes!(self, slot => {
                match f(&columns.map(|column| column[slot].get())) {
                    Ok(value) => d[slot].set(value),
                    Err(_) => failed = true,
                }
            });
            self.clear(inst.d);
        }
        if failed { self.general(inst, &operands, &|x: &[u64]| f(x)) } else { Ok(()) }
    }

    /// Lane by lane, with taints. A result is determined if it is the same for every value that the operands can have.
    fn general(&mut self, inst: &Inst, operands: &[Reg], f: &dyn Fn(&[u64]) -> Result<u64, Fault>) -> Result<(), Stop> {
        let absorbing = absorbing(inst.op);
        let mut values = [0u64; 16];
        let mut wide = vec![0u64; if operands.len() > 16 { operands.len() } else { 0 }];
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let values = if operands.len() > 16 { &mut wide[..] } else { &mut values[..operands.len()] };
            let mut taint = 0;
            let mut absorbed = false;
            for (value, &reg) in values.iter_mut().zip(operands) {
                let (bits, t) = self.columns.get(reg, slot);
                *value = bits;
                taint = taint.max(t);
                absorbed |= t == 0 && absorbing == Some(bits);
            }
            let result = f(values);
            if taint == 0 {
                match result {
                    Ok(value) => self.columns.set(inst.d, slot, value, 0),
                    Err(fault) => {
                        let values = values.to_vec();
                        let taint = self.fault_of(fault, inst.place, slot, || format!("operands {values:?}"))?;
                        self.columns.set(inst.d, slot, 0, taint);
                    }
                }
                continue;
            }
            if taint & POISON == 0 && (absorbed || self.same_for_all(operands, values, slot, f)) {
                self.columns.set(inst.d, slot, f(values).unwrap_or(0), 0);
                continue;
            }
            let taint = if self.is(Planted::TaintForgotten) { 0 } else { self.reasons.derived(taint) };
            self.columns.set(inst.d, slot, result.unwrap_or(0), taint);
        }
        if self.full {
            let taints = self.columns.taints(inst.d);
            let any = taints.iter().any(|taint| taint.get() != 0);
            self.columns.tainted[inst.d as usize].set(any);
        }
        Ok(())
    }

    /// True if every operand is one of two known values, and the result does not depend on which.
    fn same_for_all(
        &self,
        operands: &[Reg],
        values: &[u64],
        slot: usize,
        f: &dyn Fn(&[u64]) -> Result<u64, Fault>,
    ) -> bool {
        let mut flips = Vec::new();
        for (at, &reg) in operands.iter().enumerate() {
            match self.columns.taint(reg, slot) {
                0 => {}
                taint => match self.reasons.flip_of(taint) {
                    Some(flip) => flips.push((at, flip)),
                    None => return false,
                },
            }
        }
        if flips.len() > 4 {
            return false;
        }
        let Ok(expected) = f(values) else { return false };
        (1..1u32 << flips.len()).all(|choice| {
            let mut other = values.to_vec();
            for (bit, (at, flip)) in flips.iter().enumerate() {
                if choice >> bit & 1 == 1 {
                    other[*at] ^= flip;
                }
            }
            f(&other) == Ok(expected)
        })
    }

    fn int2(&mut self, inst: &Inst, op: Int2, w: u8) -> Result<(), Stop> {
        each_operation!(self, inst, op, w,
            Add Sub Mul UDiv SDiv UMod SRem SMod SRemAny SModAny ShiftLeft ShiftRightLogical ShiftRightArithmetic And Or Xor
            Equal NotEqual ULess ULessEqual UGreater UGreaterEqual SLess SLessEqual SGreater SGreaterEqual
            UMin UMax SMin SMax AddCarry SubBorrow UMulHigh SMulHigh
        )
    }

    fn planted_int2(&self, op: Int2) -> Int2 {
        match (self.fault, op) {
            (None, op) => op,
            (Some(Planted::ArithmeticShiftIsLogical), Int2::ShiftRightArithmetic) => Int2::ShiftRightLogical,
            (Some(Planted::SignedLessIsUnsigned), Int2::SLess) => Int2::ULess,
            (Some(Planted::LessIsLessEqual), Int2::ULess) => Int2::ULessEqual,
            (Some(Planted::MinIsMax), Int2::UMin) => Int2::UMax,
            (Some(Planted::SubIsAdd), Int2::Sub) => Int2::Add,
            (Some(Planted::ModuloIsRemainder), Int2::SModAny) => Int2::SRemAny,
            (_, op) => op,
        }
    }

    fn select(&mut self, inst: &Inst) {
        let (a, mut b, mut c) = (inst.a, inst.b, inst.c);
        if self.is(Planted::SelectSwapped) {
            std::mem::swap(&mut b, &mut c);
        }
        if !self.columns.is_tainted(a) && !self.columns.is_tainted(b) && !self.columns.is_tainted(c) {
            let (cond, x, y) = (self.columns.bits(a), self.columns.bits(b), self.columns.bits(c));
            let d = self.columns.bits(inst.d);
            lanes!(self, slot => {
                let value = if cond[slot].get() != 0 { x[slot].get() } else { y[slot].get() };
                d[slot].set(value);
            });
            self.clear(inst.d);
            if self.expansions.has(b) || self.expansions.has(c) || self.expansions.has(inst.d) {
                for at in 0..self.active.len() {
                    let slot = self.active[at] as usize;
                    let chosen = if self.columns.bits(a)[slot].get() != 0 { b } else { c };
                    self.hand_on(inst.d, chosen, slot);
                }
            }
            return;
        }
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (cond, taint) = self.columns.get(a, slot);
            let (x, y) = (self.columns.get(b, slot), self.columns.get(c, slot));
            let (value, found) = if cond != 0 { x } else { y };
            // An open condition between equal values decides nothing, if nothing but the values stands behind them.
            let are_values = !self.expansions.has(b) && !self.expansions.has(c);
            let same = taint & POISON == 0 && x == y && x.1 == 0 && are_values;
            let taint = if taint != 0 && !same { self.reasons.derived(taint) } else { found };
            self.hand_on(inst.d, if cond != 0 { b } else { c }, slot);
            self.columns.set(inst.d, slot, value, taint);
        }
    }

    /// A zero that was selected without `SignedZeroInfNanPreserve`: "the flags code:NSZ, code:NotInf, and code:NotNaN are assumed" of OpSelect, too (Vulkan,
    /// "Precision and Operation of SPIR-V Instructions"), so that `x < y ? x : y` may be a minimum, and `c ? x : 0.0` a product with 0 or 1. Its sign is open where
    /// the other operand has the other one, and the whole value where that is an infinity or a NaN.
    fn selected_zero(&mut self, inst: &Inst, w: u8) {
        self.mov(inst.d, inst.a);
        let sign = 1 << (w - 1);
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (bits, taint) = self.columns.get(inst.a, slot);
            let Number::Range(0.0, 0.0) = self.number(w, bits, taint) else { continue };
            let others = [inst.b, inst.c].map(|reg| self.columns.get(reg, slot));
            let is_infinite = others.iter().any(|&(bits, taint)| match self.number(w, bits, taint) {
                Number::Infinite(_) | Number::Nan => true,
                Number::Unknown => self.reasons.why(taint) == Why::Implementation,
                Number::Range(..) => false,
            });
            let is_negative = bits & sign != 0;
            let may_differ = |&(bits, taint): &(u64, u32)| match self.number(w, bits, taint) {
                Number::Range(low, high) => [low, high].iter().any(|end| end.is_sign_negative() != is_negative),
                _ => false,
            };
            let taint = if is_infinite {
                self.reasons.taint(Why::Implementation, inst.place)
            } else if taint == 0 && others.iter().any(may_differ) {
                self.reasons.flipped(Why::Implementation, inst.place, sign)
            } else {
                continue;
            };
            self.columns.set(inst.d, slot, 0, taint);
            self.expand_nothing(inst.d, slot);
        }
    }

    fn clamp(&mut self, inst: &Inst, scalar: Scalar) -> Result<(), Stop> {
        let w = scalar.width();
        let is_signed = matches!(scalar, Scalar::Int(_, true));
        self.ternary(inst, |x, low, high| {
            let key = |value: u64| if is_signed { i128::from(alu::signed(value, w)) } else { i128::from(value) };
            // "Result is undefined if minVal > maxVal" (GLSL.std.450, UClamp, SClamp).
            if key(low) > key(high) {
                return Err(Fault::Value(Why::Operands));
            }
            Ok(if key(x) < key(low) {
                low
            } else if key(x) > key(high) {
                high
            } else {
                x
            })
        })
    }

    /// `RelaxedPrecision` (SPIR-V 1.6 §2.14): at least 16 bits, or the precision of 16-bit floats.
    fn relax(&mut self, inst: &Inst, scalar: Scalar) {
        self.mov(inst.d, inst.a);
        if self.is(Planted::RelaxedIsPrecise) {
            return;
        }
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (bits, taint) = self.columns.get(inst.d, slot);
            if taint != 0 {
                // An interval is that of 32 bits; those of 16 have other errors.
                if self.reasons.interval_of(taint).is_some() {
                    let taint = self.reasons.derived(taint);
                    self.columns.set(inst.d, slot, bits, taint);
                    self.expand_nothing(inst.d, slot);
                }
                continue;
            }
            self.relax_expansion(inst.d, slot);
            let taint = match scalar {
                Scalar::Int(w, true) if i16::try_from(alu::signed(bits, w)).is_ok() => 0,
                Scalar::Int(_, false) if bits <= u64::from(u16::MAX) => 0,
                Scalar::Float(32) => self.relaxed_float(bits, inst.place),
                _ => self.reasons.taint(Why::Implementation, inst.place),
            };
            self.columns.set(inst.d, slot, bits, taint);
        }
    }

    fn dot(&mut self, inst: &Inst, from: u8, to: u8, signs: (bool, bool), saturate: bool) -> Result<(), Stop> {
        let code = self.code;
        let ins = &code.pool[inst.ins.range()];
        let n = ins.len() / 2;
        let mut operands = ins.to_vec();
        if saturate {
            operands.push(inst.c);
        }
        let value = |x: u64, is_signed: bool| -> i128 {
            if is_signed { i128::from(alu::signed(x, from)) } else { i128::from(x) }
        };
        let ignores_overflow = self.is(Planted::DotOverflows);
        self.general(inst, &operands, &|x: &[u64]| {
            let products = || (0..n).map(|i| value(x[i], signs.0) * value(x[n + i], signs.1));
            let sum: i128 = products().sum();
            if !saturate {
                return Ok(sum as u64 & alu::mask(to));
            }
            let (low, high, old) = if signs.0 {
                let high = i128::from(alu::mask(to) >> 1);
                (-high - 1, high, i128::from(alu::signed(x[2 * n], to)))
            } else {
                (0, i128::from(alu::mask(to)), i128::from(x[2 * n]))
            };
            // "If any of the multiplications or additions, with the exception of the final accumulation, overflow or underflow, the result of the
            // instruction is undefined": in some order one does if all positive products together do, or all negative ones.
            let (least, most) =
                (products().map(|x| x.min(0)).sum::<i128>(), products().map(|x| x.max(0)).sum::<i128>());
            if (least < low || most > high) && !ignores_overflow {
                return Err(Fault::Value(Why::Operands));
            }
            Ok((sum + old).clamp(low, high) as u64 & alu::mask(to))
        })
    }

    fn open(&mut self, inst: &Inst, why: Why) {
        let open = self.reasons.taint(why, inst.place);
        let code = self.code;
        let few = [inst.a, inst.b, inst.c];
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let operands =
                few.iter().copied().filter(|reg| *reg != NONE).chain(code.pool[inst.ins.range()].iter().copied());
            let worst = operands.map(|reg| self.columns.taint(reg, slot)).max().unwrap_or(0);
            let taint = if worst & POISON != 0 { worst } else { open };
            self.columns.set(inst.d, slot, 0, taint);
        }
    }

    fn vector_extract(&mut self, inst: &Inst) {
        let code = self.code;
        let components = &code.pool[inst.ins.range()];
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (index, taint) = self.columns.get(inst.a, slot);
            let (value, found) = match components.get(usize::try_from(index).unwrap_or(usize::MAX)) {
                Some(&reg) => {
                    self.hand_on(inst.d, reg, slot);
                    self.columns.get(reg, slot)
                }
                None => (0, self.reasons.taint(Why::OutOfBounds, inst.place)),
            };
            let taint = if taint != 0 { self.reasons.derived(taint) } else { found };
            self.columns.set(inst.d, slot, value, taint);
        }
    }

    fn vector_insert(&mut self, inst: &Inst) {
        let code = self.code;
        let (outs, components) = (&code.pool[inst.outs.range()], &code.pool[inst.ins.range()]);
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let (index, taint) = self.columns.get(inst.a, slot);
            let inserted = self.columns.get(inst.b, slot);
            let outside = index >= components.len() as u64;
            let taint = match taint {
                0 if outside => self.reasons.taint(Why::OutOfBounds, inst.place),
                taint => self.reasons.derived(taint),
            };
            for (c, (&out, &old)) in outs.iter().zip(components).enumerate() {
                let (value, found) = if c as u64 == index { inserted } else { self.columns.get(old, slot) };
                self.hand_on(out, if c as u64 == index { inst.b } else { old }, slot);
                self.columns.set(out, slot, value, if taint != 0 { taint } else { found });
            }
        }
    }

    /// Behaviour is undefined where the result leaves its width.
    fn no_wrap(&mut self, inst: &Inst, op: Int2, w: u8, signed: bool) -> Result<(), Stop> {
        let value = |bits: u64| if signed { i128::from(alu::signed(bits, w)) } else { i128::from(bits) };
        let range = if signed { -(1 << (w - 1))..1_i128 << (w - 1) } else { 0..1_i128 << w };
        let mut wrong = Vec::new();
        for &slot in &self.active {
            let (x, y) = (self.columns.get(inst.a, slot as usize), self.columns.get(inst.b, slot as usize));
            let (a, b) = (value(x.0), value(y.0));
            let exact = match op {
                Int2::Add => a + b,
                Int2::Sub => a - b,
                Int2::Mul => a.saturating_mul(b),
                // Oversized shifts are another matter.
                Int2::ShiftLeft => a.checked_mul(1_i128 << y.0.min(63)).unwrap_or(range.end),
                _ => continue,
            };
            if x.1 == 0 && y.1 == 0 && !range.contains(&exact) {
                wrong.push(slot);
            }
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(self.undefined(Rule::Overflow, inst.place, wrong, String::new())),
        }
    }

    fn assume(&mut self, inst: &Inst) -> Result<(), Stop> {
        let mut wrong = Vec::new();
        for &slot in &self.active {
            let (value, taint) = self.columns.get(inst.a, slot as usize);
            if taint == 0 && value == 0 {
                wrong.push(slot);
            }
        }
        if wrong.is_empty() {
            return Ok(());
        }
        Err(self.undefined(Rule::Assumption, inst.place, wrong, String::new()))
    }
}

/// The value of one operand that decides the result alone.
fn absorbing(op: Op) -> Option<u64> {
    match op {
        Op::Int2(Int2::And | Int2::Mul, _) => Some(0),
        Op::Int2(Int2::Or, w) => Some(alu::mask(w)),
        _ => None,
    }
}
