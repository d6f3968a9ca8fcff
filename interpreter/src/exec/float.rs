//! Floating-point operations: exact values, or intervals by the precision that Vulkan demands (Vulkan, "Precision and Operation of SPIR-V
//! Instructions"). A result that the precision leaves open is one value of an interval, and comparisons and conversions that come out the same for all
//! of it are determined again.
//!
//! - Errors in ULP are those of single precision for 64 bits: "the precision of double-precision instructions is at least that of single precision".
//! - `OpFAdd`, `OpFSub`, `OpFMul` and conversions are correctly rounded: exact if the result is representable, else either neighbour, since the rounding
//!   mode is the implementation's, or the one that `RoundingModeRTE` or `RoundingModeRTZ` of the result's width says (`directed`).
//! - The sign of a zero, infinities and NaNs are only promised with `SignedZeroInfNanPreserve`; denormals may be flushed without `DenormPreserve`.
//! - What is "inherited from a formula" may lie as far from the exact result, on either side, as anything that the formula may give when it is rearranged
//!   by associativity, commutativity and distributivity (Vulkan, "Inherited From Formula").
//! - Without `NoContraction` an expression may be rearranged: `expansion.rs`.
//!
//! `format.rs` has the formats and `accuracy.rs` the intervals; here are the instructions.

use std::f64::consts::{LN_2, PI};

use super::Machine;
use super::accuracy::{
    Answer, Number, above, arctangent_ulps, below, between, division_roundings, exponential, inherited, ldexp,
    logarithm, product, quantized, sine, widen, within_ulps,
};
use super::expansion::{Expansion, bytes_of_column};
use super::format::{
    add, decode, encode, encode_normal, exponent_of, format, integer_to_odd, nearest, neighbours, power, scaled,
    sum_to_odd, ulp, whole,
};
use super::reasons::POISON;
use super::stop::Stop;
use crate::alu;
use crate::code::*;
use crate::decode::{Direction, FloatModes};
use crate::faults::Planted;
use crate::lanes::Lanes;
use crate::outcome::Why;

/// A number as an instruction may find it that need not respect `DenormPreserve`: a denormal is itself or zero.
fn flushed(w: u8, number: Number) -> Number {
    let (_, least, _) = format(w);
    let tiny = power(least);
    match number {
        Number::Range(low, high) => Number::Range(
            if low > 0.0 && low < tiny { -0.0 } else { low },
            if high < 0.0 && high > -tiny { 0.0 } else { high },
        ),
        other => other,
    }
}

impl Machine<'_> {
    pub(super) fn modes(&self, w: u8) -> FloatModes {
        self.float_modes[match w {
            16 => 0,
            32 => 1,
            _ => 2,
        }]
    }

    /// What an operand can be. Undefined ones are dealt with before.
    #[inline]
    pub(super) fn number(&self, w: u8, bits: u64, taint: u32) -> Number {
        // Most are normal numbers of 32 bits.
        let single = f32::from_bits(bits as u32);
        if w == 32 && taint == 0 && single.is_normal() {
            return Number::Range(single.into(), single.into());
        }
        self.any_number(w, bits, taint)
    }

    fn any_number(&self, w: u8, bits: u64, taint: u32) -> Number {
        if taint != 0 {
            if let Some((low, high)) = self.reasons.interval_of(taint) {
                return Number::Range(low, high);
            }
            let zero_of_any_sign = self.reasons.flip_of(taint).is_some() && decode(w, bits) == 0.0;
            return if zero_of_any_sign { Number::Range(-0.0, 0.0) } else { Number::Unknown };
        }
        let x = decode(w, bits);
        if x.is_nan() {
            return Number::Nan;
        }
        if x.is_infinite() {
            return Number::Infinite(x < 0.0);
        }
        let (_, least, _) = format(w);
        if x != 0.0 && x.abs() < power(least) && !self.modes(w).denorm_preserve {
            return Number::Range(x.min(0.0), x.max(0.0));
        }
        Number::Range(x, x)
    }

    /// The bits and the taint of a result. `rounded` says that the operation is correctly rounded; else an inexact end is part of an interval.
    pub(super) fn answer(&mut self, w: u8, answer: Answer, place: u32) -> (u64, u32) {
        // Most are one number, which nothing is done to.
        if let Answer::Between(low, high) = answer
            && low.to_bits() == high.to_bits()
            && let Some(bits) = encode_normal(w, low)
        {
            return (bits, 0);
        }
        let modes = self.modes(w);
        let (low, high) = match answer {
            Answer::Bits(bits) => return (bits, 0),
            Answer::Open(why) => return (0, self.reasons.taint(why, place)),
            Answer::Between(low, high) => (neighbours(w, low).0, neighbours(w, high).1),
        };
        let (_, least, most) = format(w);
        let limit = power(most) * 2.0;
        if !(low.abs() < limit && high.abs() < limit) {
            return (0, self.reasons.taint(Why::Implementation, place));
        }
        // A denormal may be flushed.
        let tiny = power(least);
        let may_flush = !modes.denorm_preserve;
        let low = if may_flush && low > 0.0 && low < tiny { 0.0 } else { low };
        let high = if may_flush && high < 0.0 && high > -tiny { 0.0 } else { high };
        if low == high {
            if low == 0.0 {
                // Ends of both signs: nothing says which of them it is.
                if modes.preserve && low.is_sign_negative() == high.is_sign_negative() {
                    return (encode(w, low).unwrap_or(0), 0);
                }
                return (0, self.reasons.flipped(Why::Implementation, place, 1 << (w - 1)));
            }
            if let Some(bits) = encode(w, low) {
                return (bits, 0);
            }
        }
        (nearest(w, low / 2.0 + high / 2.0), self.reasons.interval(place, low, high))
    }

    /// One rounding to 16 bits, whose denormals may be flushed and whose infinities are not promised.
    pub(super) fn relaxed_float(&mut self, bits: u64, place: u32) -> u32 {
        let x = decode(32, bits);
        let (_, least, most) = format(16);
        let is_tiny = x != 0.0 && x.abs() < power(least);
        if encode(16, x).is_some() && !is_tiny {
            return 0;
        }
        if x.abs() >= power(most) {
            return self.reasons.taint(Why::Implementation, place);
        }
        let error = (x.abs() * power(-10)).max(power(-24));
        let (low, high) = (x - error, x + error);
        let (low, high) = if is_tiny { (low.min(0.0), high.max(0.0)) } else { (low, high) };
        self.reasons.interval(place, low, high)
    }

    pub(super) fn float(&mut self, inst: &Inst) -> Result<(), Stop> {
        let operands = [inst.a, inst.b, inst.c];
        for at in 0..self.active.len() {
            let slot = self.active[at] as usize;
            let mut values = [(0, 0); 3];
            let mut poison = 0;
            for (value, &reg) in values.iter_mut().zip(&operands) {
                if reg != NONE {
                    *value = self.columns.get(reg, slot);
                    poison = poison.max(if value.1 & POISON != 0 { value.1 } else { 0 });
                }
            }
            if poison != 0 {
                self.columns.set(inst.d, slot, 0, poison);
                continue;
            }
            let expansion = self.expanded(inst, values, slot);
            let (bits, taint) = match (inst.op, expansion) {
                (Op::Rearranged(..) | Op::Fma(_) | Op::FMix(_), Some(expansion)) => {
                    self.rearranged(inst, values, slot, &expansion)
                }
                _ => self.float_lane(inst, values),
            };
            self.expand(inst.d, slot, expansion.unwrap_or_default());
            self.columns.set(inst.d, slot, bits, taint);
        }
        if self.full {
            let any = self.columns.taints(inst.d).iter().any(|taint| taint.get() != 0);
            self.columns.tainted[inst.d as usize].set(any);
        }
        Ok(())
    }

    /// Notes what stands behind a value.
    fn expand(&mut self, reg: Reg, slot: usize, expansion: Expansion) {
        if !self.expansions.had(reg) && !expansion.is_leaf() {
            self.exhausted |= self.memory.budget.take(bytes_of_column(self.n)).is_err();
            self.expansions.make(reg, self.n);
        }
        self.expansions.set(reg, slot, expansion);
    }

    /// What stands behind the result of an instruction; `None` if that is the value alone.
    fn expanded(&self, inst: &Inst, values: [(u64, u32); 3], slot: usize) -> Option<Expansion> {
        let regs = [inst.a, inst.b, inst.c];
        let number = |w, at: usize| self.number(w, values[at].0, values[at].1);
        let of = |w, at: usize| self.expansions.get(regs[at], slot).of(number(w, at));
        // Minima and the like make no expansion, they continue one.
        let has_one = || regs.iter().any(|&reg| reg != NONE && !self.expansions.get(reg, slot).is_leaf());
        match inst.op {
            Op::Rearranged(Float2::Div, w) => {
                let (Number::Range(low, high), Some(x)) = (number(w, 1), of(w, 0)) else { return None };
                let is_apart_from_zero = low > 0.0 || high < 0.0;
                is_apart_from_zero.then(|| x.over((low, high), division_roundings(w)))
            }
            Op::Rearranged(op, w) => {
                let op = if self.is(Planted::FloatSubIsAdd) && op == Float2::Sub { Float2::Add } else { op };
                let (x, y) = (of(w, 0)?, of(w, 1)?);
                match op {
                    Float2::Add => Some(x.plus(y)),
                    Float2::Sub => Some(x.plus(y.negated())),
                    Float2::Mul => Some(x.times(y)),
                    _ => None,
                }
            }
            Op::Fma(w) => Some(of(w, 0)?.times(of(w, 1)?).plus(of(w, 2)?)),
            // x × (1 - a) + y × a
            Op::FMix(w) => {
                let (x, y, a) = (of(w, 0)?, of(w, 1)?, of(w, 2)?);
                let one = Expansion::default().of(Number::Range(1.0, 1.0))?;
                Some(x.times(one.plus(a.negated())).plus(y.times(a)))
            }
            Op::Inherited(w) if has_one() => match (of(w, 0)?, number(w, 0)) {
                (x, Number::Range(low, high)) if low != high => {
                    Some(x.blurred((low - (high - low), high + (high - low))))
                }
                (x, _) => Some(x),
            },
            Op::Float1(Float1::Negate, w) if has_one() => Some(of(w, 0)?.negated()),
            Op::Float1(Float1::Abs, w) if has_one() => {
                let x = of(w, 0)?;
                let (low, high) = x.exact();
                let least = if low > 0.0 || high < 0.0 { low.abs().min(high.abs()) } else { 0.0 };
                Some(x.or(x, (least, low.abs().max(high.abs()))))
            }
            Op::Float2(op @ (Float2::Min | Float2::NMin | Float2::Max | Float2::NMax), w) if has_one() => {
                let (x, y) = (of(w, 0)?, of(w, 1)?);
                let pick = if matches!(op, Float2::Min | Float2::NMin) { f64::min } else { f64::max };
                let ((a, b), (c, d)) = (x.exact(), y.exact());
                Some(x.or(y, (pick(a, c), pick(b, d))))
            }
            Op::FClamp(w) if has_one() => {
                let (x, low, high) = (of(w, 0)?, of(w, 1)?, of(w, 2)?);
                let clamp = |x: f64, low: f64, high: f64| x.max(low).min(high);
                let ((a, b), (c, d), (e, f)) = (x.exact(), low.exact(), high.exact());
                Some(x.or(low, (a, b)).or(high, (clamp(a, c, e), clamp(b, d, f))))
            }
            _ => None,
        }
    }

    /// The result of an expression that may be rearranged. Where both operands are taken as they stand there is nothing to rearrange.
    fn rearranged(&mut self, inst: &Inst, values: [(u64, u32); 3], slot: usize, expansion: &Expansion) -> (u64, u32) {
        let (w, one_operation) = match inst.op {
            Op::Rearranged(_, w) => {
                let is_one_value = |reg| self.expansions.get(reg, slot).is_one_value();
                (w, is_one_value(inst.a) && is_one_value(inst.b))
            }
            Op::Fma(w) | Op::FMix(w) => (w, false),
            _ => return (0, self.reasons.taint(Why::Precision, inst.place)),
        };
        if one_operation {
            return self.float_lane(inst, values);
        }
        let (digits, least, _) = format(w);
        let tiny = power(if self.modes(w).denorm_preserve { least - digits + 1 } else { least });
        let answer = match expansion.result(w, tiny) {
            // Which sign it has depends on how the expression is rearranged.
            Some((low, high)) if low == 0.0 && high == 0.0 => Answer::Between(-0.0, 0.0),
            Some(ends) => between(ends),
            None => Answer::Open(Why::Implementation),
        };
        self.answer(w, answer, inst.place)
    }

    /// An expression that is computed in 16 bits, or may be.
    pub(super) fn relax_expansion(&mut self, reg: Reg, slot: usize) {
        let expansion = self.expansions.get(reg, slot);
        if !expansion.is_leaf() {
            self.expansions.set(reg, slot, expansion.coarser(11, power(14)));
        }
    }

    /// Nothing is known of what stands behind a value.
    pub(super) fn expand_nothing(&mut self, reg: Reg, slot: usize) {
        self.expansions.set(reg, slot, Expansion::default());
    }

    /// What stands behind a value of a column stands behind one of another, too.
    pub(super) fn hand_on(&mut self, to: Reg, from: Reg, slot: usize) {
        self.expand(to, slot, self.expansions.get(from, slot));
    }

    /// The same for the phis of a block, all at once.
    pub(super) fn hand_on_phis(&mut self, moves: &[Reg], lanes: &Lanes) {
        for slot in lanes.iter() {
            let behind: Vec<Expansion> = moves.chunks_exact(2).map(|pair| self.expansions.get(pair[1], slot)).collect();
            for (pair, expansion) in moves.chunks_exact(2).zip(behind) {
                self.expand(pair[0], slot, expansion);
            }
        }
    }

    /// Nothing stands behind the results of an instruction but their values.
    pub(super) fn forget_expansions(&mut self, inst: &Inst) {
        let code = self.code;
        let outs = code.pool[inst.outs.range()].iter().copied();
        for reg in std::iter::once(inst.d).chain(outs) {
            if self.expansions.has(reg) {
                for &slot in &self.active {
                    self.expansions.set(reg, slot as usize, Expansion::default());
                }
            }
        }
    }

    fn float_lane(&mut self, inst: &Inst, values: [(u64, u32); 3]) -> (u64, u32) {
        let place = inst.place;
        match inst.op {
            Op::Float1(op, w) => {
                let keeps = matches!(op, Float1::Negate | Float1::Abs | Float1::Sign);
                let x = self.number(w, values[0].0, values[0].1);
                let x = if keeps { x } else { flushed(w, x) };
                let answer = self.float1(op, w, x, values[0].0);
                let found = self.answer(w, answer, place);
                let found = if op == Float1::Negate { found } else { self.zero_of_any_sign(w, found, place) };
                if keeps { found } else { self.may_flush(w, found, place) }
            }
            Op::Float2(op, w) | Op::Rearranged(op, w) => {
                let (x, y) = (self.number(w, values[0].0, values[0].1), self.number(w, values[1].0, values[1].1));
                let op = if self.is(Planted::FloatSubIsAdd) && op == Float2::Sub { Float2::Add } else { op };
                let is_sum = matches!(op, Float2::Add | Float2::Sub | Float2::Mul);
                let keeps = is_sum || matches!(op, Float2::Min | Float2::Max | Float2::NMin | Float2::NMax);
                let (x, y) = if keeps { (x, y) } else { (flushed(w, x), flushed(w, y)) };
                let answer = self.float2(op, w, x, y);
                let found = self.answer(w, answer, place);
                // "The {ExecutionMode} does not change which rearrangements are valid" (Vulkan, Evaluation of Expressions): a zero may be left out.
                let is_zero = |number| matches!(number, Number::Range(low, high) if low == 0.0 && high == 0.0);
                let may_change = matches!(inst.op, Op::Rearranged(..)) && (is_zero(x) || is_zero(y));
                let found = match (is_sum || op == Float2::Div) && !may_change {
                    true => found,
                    false => self.zero_of_any_sign(w, found, place),
                };
                if keeps { found } else { self.may_flush(w, found, place) }
            }
            // Some operand is no number.
            Op::Fma(w) | Op::FMix(w) => {
                let operands = values.map(|(bits, taint)| self.number(w, bits, taint));
                let unknown = operands.contains(&Number::Unknown);
                (0, self.reasons.taint(if unknown { Why::Precision } else { Why::Implementation }, place))
            }
            Op::Inherited(w) => self.inherited(w, values[0], place),
            Op::Ldexp(w, exponent) => {
                let (power, power_taint) = values[1];
                let number = flushed(w, self.number(w, values[0].0, values[0].1));
                if power_taint != 0 {
                    return (0, self.reasons.taint(self.reasons.why(power_taint), place));
                }
                let answer = ldexp(w, number, alu::signed(power, exponent));
                let found = self.answer(w, answer, place);
                self.may_flush(w, found, place)
            }
            Op::Exponent(w, to) => match flushed(w, self.number(w, values[0].0, values[0].1)) {
                Number::Range(low, high) if low == high => {
                    let exponent = if low == 0.0 { 0 } else { exponent_of(low) + 1 };
                    (i64::from(exponent) as u64 & alu::mask(to), 0)
                }
                Number::Range(..) | Number::Unknown => (0, self.reasons.taint(Why::Precision, place)),
                // "If the input is an infinity or a NaN, the exponent is undefined" (GLSL.std.450, Frexp).
                Number::Infinite(_) | Number::Nan => (0, self.reasons.taint(Why::Operands, place)),
            },
            Op::FClamp(w) => {
                let crossed = {
                    let (low, high) =
                        (self.number(w, values[1].0, values[1].1), self.number(w, values[2].0, values[2].1));
                    self.compare(FloatCompare::Greater, w, low, high)
                };
                match crossed {
                    Some(false) => {}
                    Some(true) => return (0, self.reasons.taint(Why::Operands, place)),
                    None => return (0, self.reasons.taint(Why::Precision, place)),
                }
                let above = self.two(Float2::Max, w, values[0], values[1], place);
                self.two(Float2::Min, w, above, values[2], place)
            }
            Op::FloatCompare(op, w, unordered) => {
                let (x, y) = (self.number(w, values[0].0, values[0].1), self.number(w, values[1].0, values[1].1));
                let nan = matches!(x, Number::Nan) || matches!(y, Number::Nan);
                match self.compare(op, w, x, y) {
                    Some(result) => (u64::from(result), 0),
                    None if nan && self.modes(w).preserve => (u64::from(unordered), 0),
                    None => (0, self.reasons.taint(Why::Precision, place)),
                }
            }
            Op::IsNan(w) | Op::IsInf(w) => {
                let asks_nan = matches!(inst.op, Op::IsNan(_));
                match self.number(w, values[0].0, values[0].1) {
                    Number::Range(..) => (0, 0),
                    Number::Nan if self.modes(w).preserve => (u64::from(asks_nan), 0),
                    Number::Infinite(_) if self.modes(w).preserve => (u64::from(!asks_nan), 0),
                    _ => (0, self.reasons.taint(Why::Implementation, place)),
                }
            }
            Op::FloatConvert(from, to) => {
                let answer = match self.number(from, values[0].0, values[0].1) {
                    Number::Range(low, high) => Answer::Between(low, high),
                    Number::Infinite(negative) if self.modes(from).preserve && self.modes(to).preserve => {
                        let infinity = if negative { f64::NEG_INFINITY } else { f64::INFINITY };
                        encode(to, infinity).map_or(Answer::Open(Why::Implementation), Answer::Bits)
                    }
                    _ => Answer::Open(Why::Implementation),
                };
                self.answer(to, answer, place)
            }
            Op::DirectedFloat2(op, w) => {
                let (x, y) = (self.number(w, values[0].0, values[0].1), self.number(w, values[1].0, values[1].1));
                let op = if self.is(Planted::FloatSubIsAdd) && op == Float2::Sub { Float2::Add } else { op };
                let answer = match (op, x, y) {
                    (Float2::Mul, ..) => self.float2(op, w, x, y),
                    // One number each: the sum is known better than by what lies around it.
                    (_, Number::Range(a, b), Number::Range(c, d)) if a == b && c == d && a != 0.0 && c != 0.0 => {
                        let sum = sum_to_odd(a, if op == Float2::Sub { -c } else { c });
                        Answer::Between(sum, sum)
                    }
                    _ => self.float2(op, w, x, y),
                };
                let answer = self.directed(w, answer);
                self.answer(w, answer, place)
            }
            Op::DirectedConvert(from, to) => {
                let answer = match self.number(from, values[0].0, values[0].1) {
                    Number::Range(low, high) => self.directed(to, Answer::Between(low, high)),
                    _ => return self.float_lane(&Inst { op: Op::FloatConvert(from, to), ..*inst }, values),
                };
                self.answer(to, answer, place)
            }
            Op::DirectedInt(from, is_signed, to) => {
                let (bits, taint) = values[0];
                let signed = alu::signed(bits, from);
                let (is_negative, magnitude) =
                    if is_signed { (signed < 0, signed.unsigned_abs()) } else { (false, bits & alu::mask(from)) };
                if taint != 0 || magnitude == 0 {
                    return self.float_lane(&Inst { op: Op::IntToFloat(from, is_signed, to), ..*inst }, values);
                }
                let x = integer_to_odd(magnitude);
                let x = if is_negative { -x } else { x };
                let answer = self.directed(to, Answer::Between(x, x));
                self.answer(to, answer, place)
            }
            Op::Quantize => {
                let answer = quantized(self.number(32, values[0].0, values[0].1));
                self.answer(32, answer, place)
            }
            Op::IntToFloat(from, is_signed, to) => {
                let (bits, taint) = values[0];
                if taint != 0 {
                    return (0, self.reasons.derived(taint));
                }
                let signed = alu::signed(bits, from);
                let (x, magnitude) = match is_signed {
                    true => (signed as f64, signed.unsigned_abs()),
                    false => (bits as f64, bits),
                };
                // Numbers of 53 bits are exact; so are greater ones that end in zeros.
                let is_exact = magnitude < 1 << 53 || magnitude.trailing_zeros() + 53 > magnitude.ilog2();
                let answer = if is_exact { Answer::Between(x, x) } else { Answer::Between(below(x), above(x)) };
                // Zero from an integer has no sign to lose.
                if magnitude == 0 { (0, 0) } else { self.answer(to, answer, place) }
            }
            Op::FloatToInt(from, to, is_signed) => {
                let Number::Range(low, high) = self.number(from, values[0].0, values[0].1) else {
                    let unknown = values[0].1 != 0;
                    let why = if unknown { Why::Precision } else { Why::Operands };
                    return (0, self.reasons.taint(why, place));
                };
                let (low, high) = (whole(low), whole(high));
                let (least, most) = if is_signed {
                    (-(power(i32::from(to) - 1)), power(i32::from(to) - 1))
                } else {
                    (0.0, power(i32::from(to)))
                };
                if low < least || high >= most {
                    let all = high < least || low >= most;
                    let why = if all { Why::Operands } else { Why::Precision };
                    return (0, self.reasons.taint(why, place));
                }
                let bits = (low as i128) as u64 & alu::mask(to);
                if low == high { (bits, 0) } else { (bits, self.reasons.taint(Why::Precision, place)) }
            }
            _ => (0, self.reasons.taint(Why::Implementation, place)),
        }
    }

    /// Rounds both ends of what a correctly rounded result lies between, as the mode of the width says: rounding changes no order. What is "considered
    /// denormal whenever the infinitely precise result is non-zero and of smaller magnitude than the smallest normal value" (Vulkan) stays as it is.
    fn directed(&self, w: u8, answer: Answer) -> Answer {
        let modes = self.modes(w);
        let (Some(mut direction), Answer::Between(low, high)) = (modes.rounding, answer) else { return answer };
        if self.is(Planted::RoundingSwapped) {
            direction = if direction == Direction::Zero { Direction::NearestEven } else { Direction::Zero };
        }
        let (_, least, _) = format(w);
        let is_tiny = |x: f64| x != 0.0 && x.abs() < power(least);
        if !modes.denorm_preserve && (is_tiny(low) || is_tiny(high)) {
            return answer;
        }
        let tie_to = u64::from(self.is(Planted::TiesToOdd));
        let end = |x: f64| {
            let (below, above) = neighbours(w, x);
            let takes_below = match direction {
                Direction::Zero => x > 0.0,
                // Differences of neighbouring numbers are exact. What is above the largest number has an even last digit.
                Direction::NearestEven if x - below == above - x => {
                    encode(w, below).is_some_and(|bits| bits & 1 == tie_to)
                }
                Direction::NearestEven => x - below < above - x,
            };
            if takes_below { below } else { above }
        };
        Answer::Between(end(low), end(high))
    }

    /// What may come of a formula: its exact result lies somewhere in the interval, and what is returned as far from that, on either side, as anything else
    /// in it.
    fn inherited(&mut self, w: u8, (bits, taint): (u64, u32), place: u32) -> (u64, u32) {
        match self.number(w, bits, taint) {
            _ if taint == 0 => (bits, 0),
            Number::Range(low, high) => self.answer(w, Answer::Between(low - (high - low), high + (high - low)), place),
            _ => (0, self.reasons.derived(taint)),
        }
    }

    /// One operation inside of another one.
    pub(super) fn two(&mut self, op: Float2, w: u8, x: (u64, u32), y: (u64, u32), place: u32) -> (u64, u32) {
        let (x, y) = (self.number(w, x.0, x.1), self.number(w, y.0, y.1));
        let answer = self.float2(op, w, x, y);
        let found = self.answer(w, answer, place);
        self.zero_of_any_sign(w, found, place)
    }

    /// The result of an instruction that is not among those that must respect `SignedZeroInfNanPreserve`, as those of GLSL.std.450 (Vulkan, "Precision
    /// and Operation of SPIR-V Instructions"): the sign of a zero is open.
    fn zero_of_any_sign(&mut self, w: u8, (bits, taint): (u64, u32), place: u32) -> (u64, u32) {
        if taint == 0 && bits & (alu::mask(w) >> 1) == 0 {
            return (0, self.reasons.flipped(Why::Implementation, place, 1 << (w - 1)));
        }
        (bits, taint)
    }

    /// The result of an instruction that is not among those that must respect `DenormPreserve` (ibid.): a denormal may be flushed.
    fn may_flush(&mut self, w: u8, (bits, taint): (u64, u32), place: u32) -> (u64, u32) {
        if taint != 0 {
            return (bits, taint);
        }
        match flushed(w, self.number(w, bits, 0)) {
            Number::Range(low, high) if low != high => (bits, self.reasons.interval(place, low, high)),
            _ => (bits, 0),
        }
    }

    pub(super) fn float1(&self, op: Float1, w: u8, x: Number, bits: u64) -> Answer {
        let Number::Range(low, high) = x else {
            return match (op, x) {
                (Float1::Negate, Number::Infinite(_)) if self.modes(w).preserve => Answer::Bits(bits ^ 1 << (w - 1)),
                (_, Number::Unknown) => Answer::Open(Why::Precision),
                _ => Answer::Open(Why::Implementation),
            };
        };
        let monotone = |f: fn(f64) -> f64| Answer::Between(f(low), f(high));
        match op {
            Float1::Negate if low.to_bits() == high.to_bits() && low == 0.0 && self.modes(w).preserve => {
                Answer::Bits(bits ^ 1 << (w - 1))
            }
            Float1::Negate => Answer::Between(-high, -low),
            Float1::Abs if low >= 0.0 => Answer::Between(low, high),
            Float1::Abs if high <= 0.0 => Answer::Between(-high, -low),
            Float1::Abs => Answer::Between(0.0, high.max(-low)),
            Float1::Sign => monotone(|x| if x == 0.0 { 0.0 } else { x.signum() }),
            Float1::Floor => monotone(f64::floor),
            Float1::Ceil => monotone(f64::ceil),
            Float1::Trunc => monotone(f64::trunc),
            Float1::RoundEven => monotone(f64::round_ties_even),
            // "The fraction 0.5 will round in a direction chosen by the implementation" (GLSL.std.450, Round).
            Float1::Round => Answer::Between((low - 0.5).ceil(), (high + 0.5).floor()),
            Float1::Fraction if low == high => {
                let part = (low - low.trunc()).copysign(low);
                Answer::Between(part, part)
            }
            Float1::Significand if low == high && low == 0.0 => Answer::Between(low, low),
            Float1::Significand if low == high => {
                let part = scaled(low, -(exponent_of(low) + 1));
                Answer::Between(part, part)
            }
            // Of a small negative number this lies next to 1, and in no format.
            Float1::Fract if low == high => {
                let part = add(low, -low.floor());
                let part = if self.is(Planted::FractOfHost) { (part.0, true) } else { part };
                between(widen(part, part))
            }
            Float1::InverseSqrt if low > 0.0 => within_ulps(w, (1.0 / high.sqrt(), 1.0 / low.sqrt()), 2.0),
            // "Inherited from 1.0 / inversesqrt()": 2 ULP of the one, 2.5 of the other.
            Float1::Sqrt if low >= power(-126) && high <= power(126) => {
                let unit = ulp(w, 1.0);
                let root = (low.sqrt(), high.sqrt());
                let formula = (
                    root.0 / (1.0 + 2.0 * unit) * (1.0 - 2.5 * unit),
                    root.1 / (1.0 - 2.0 * unit) * (1.0 + 2.5 * unit),
                );
                let error = (root.0 - formula.0).max(formula.1 - root.1);
                Answer::Between(root.0 - error, root.1 + error)
            }
            Float1::Exp if w <= 32 => {
                let (_, (low, high)) = exponential(w, (low, high), f64::exp);
                Answer::Between(low, high)
            }
            Float1::Exp2 if w <= 32 => {
                let (_, (low, high)) = exponential(w, (low, high), f64::exp2);
                Answer::Between(low, high)
            }
            Float1::Log | Float1::Log2 if w <= 32 && low > 0.0 => {
                let (low, high) = logarithm(w, (low, high), if op == Float1::Log { LN_2 } else { 1.0 });
                Answer::Between(low, high)
            }
            Float1::Sin if w <= 32 && low >= -PI && high <= PI => sine(w, (low, high), 0.0),
            Float1::Atan => within_ulps(w, (low.atan(), high.atan()), arctangent_ulps(w)),
            Float1::Cos if w <= 32 && low >= -PI && high <= PI => sine(w, (low, high), PI / 2.0),
            _ => Answer::Open(Why::Precision),
        }
    }

    pub(super) fn float2(&self, op: Float2, w: u8, x: Number, y: Number) -> Answer {
        let (Number::Range(a, b), Number::Range(c, d)) = (x, y) else {
            let unknown = matches!(x, Number::Unknown) || matches!(y, Number::Unknown);
            return Answer::Open(if unknown { Why::Precision } else { Why::Implementation });
        };
        match op {
            Float2::Add => between(widen(add(a, c), add(b, d))),
            Float2::Sub => between(widen(add(a, -d), add(b, -c))),
            Float2::Mul => between(product((a, b), (c, d))),
            // 2.5 ULP for divisors of this size.
            Float2::Div => {
                if c == 0.0 && d == 0.0 {
                    // An infinity or a NaN.
                    return Answer::Open(Why::Implementation);
                }
                let (_, least, most) = format(w.min(32));
                let sizes = [c.abs(), d.abs()];
                let fits =
                    c.signum() == d.signum() && sizes.iter().all(|y| (power(least)..=power(most - 1)).contains(y));
                if !fits {
                    return Answer::Open(Why::Precision);
                }
                let ends = [a / c, a / d, b / c, b / d];
                let (low, high) =
                    ends.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &q| (low.min(q), high.max(q)));
                within_ulps(w, (low, high), 2.5)
            }
            // "Inherited from exp2(y × log2(x))".
            Float2::Pow if w <= 32 && a > 0.0 => {
                let powers = [a.powf(c), a.powf(d), b.powf(c), b.powf(d)];
                let logs = logarithm(w, (a, b), 1.0);
                let logs = (neighbours(w, logs.0).0, neighbours(w, logs.1).1);
                let products = [logs.0 * c, logs.0 * d, logs.1 * c, logs.1 * d];
                let span = |of: [f64; 4]| of.iter().fold((f64::MAX, f64::MIN), |(l, h), &x| (l.min(x), h.max(x)));
                let (low, high) = span(products);
                let (_, formula) = exponential(w, (neighbours(w, low).0, neighbours(w, high).1), f64::exp2);
                inherited(span(powers), formula)
            }
            // Zeros of both signs are equal: either is the minimum and the maximum.
            Float2::Min | Float2::NMin | Float2::Max | Float2::NMax
                if a == 0.0 && b == 0.0 && c == 0.0 && d == 0.0 && a.is_sign_negative() != c.is_sign_negative() =>
            {
                Answer::Between(-0.0, 0.0)
            }
            Float2::Min | Float2::NMin => Answer::Between(a.min(c), b.min(d)),
            Float2::Max | Float2::NMax => Answer::Between(a.max(c), b.max(d)),
            // step(edge, x): 0 if x < edge.
            Float2::Step => match self.compare(FloatCompare::Less, w, y, x) {
                Some(true) => Answer::Bits(0),
                Some(false) => encode(w, 1.0).map_or(Answer::Open(Why::Precision), Answer::Bits),
                None => Answer::Open(Why::Precision),
            },
            // Away from where it jumps, which is at y = 0 for negative x, its extremes lie at corners.
            Float2::Atan2 if a > 0.0 || b < 0.0 || c > 0.0 => {
                let ends = [a.atan2(c), a.atan2(d), b.atan2(c), b.atan2(d)];
                let span = ends.iter().fold((f64::MAX, f64::MIN), |(low, high), &at| (low.min(at), high.max(at)));
                within_ulps(w, span, arctangent_ulps(w))
            }
            // "Result is undefined if x and y are both 0" (GLSL.std.450, Atan2).
            Float2::Atan2 if [a, b, c, d] == [0.0; 4] => Answer::Open(Why::Operands),
            Float2::Rem | Float2::Mod | Float2::Pow | Float2::Atan2 => Answer::Open(Why::Precision),
        }
    }

    /// A comparison, if it comes out the same for everything that the operands can be.
    pub(super) fn compare(&self, op: FloatCompare, w: u8, x: Number, y: Number) -> Option<bool> {
        let preserve = self.modes(w).preserve;
        let range = |x: Number| match x {
            Number::Range(low, high) => Some((low, high)),
            Number::Infinite(true) if preserve => Some((f64::NEG_INFINITY, f64::NEG_INFINITY)),
            Number::Infinite(false) if preserve => Some((f64::INFINITY, f64::INFINITY)),
            _ => None,
        };
        let ((a, b), (c, d)) = (range(x)?, range(y)?);
        let less = if b < c {
            Some(true)
        } else if a >= d {
            Some(false)
        } else {
            None
        };
        let greater = if a > d {
            Some(true)
        } else if b <= c {
            Some(false)
        } else {
            None
        };
        let equal = if a == b && c == d && a == c {
            Some(true)
        } else if b < c || a > d {
            Some(false)
        } else {
            None
        };
        match op {
            FloatCompare::Equal => equal,
            FloatCompare::NotEqual => equal.map(|equal| !equal),
            FloatCompare::Less => less,
            FloatCompare::Greater => greater,
            FloatCompare::LessEqual => greater.map(|greater| !greater),
            FloatCompare::GreaterEqual => less.map(|less| !less),
        }
    }

    /// The sum or product of all, if no order of operations can round: every part of the sum is representable.
    pub(super) fn exact_fold(&self, w: u8, fold: Fold, numbers: &[f64]) -> Option<f64> {
        let (digits, least, most) = format(w);
        if numbers.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let parts = |x: f64| -> (f64, i32) {
            // An odd number, and an exponent.
            if x == 0.0 {
                return (0.0, 0);
            }
            let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).max(-1022);
            let mut m = x.abs() / power(exponent.max(-1000)) / power(exponent - exponent.max(-1000));
            let mut e = exponent;
            while m.fract() != 0.0 {
                m *= 2.0;
                e -= 1;
            }
            while m % 2.0 == 0.0 && m != 0.0 {
                m /= 2.0;
                e += 1;
            }
            (m, e)
        };
        if fold == Fold::FAdd {
            let unit = numbers.iter().filter(|x| **x != 0.0).map(|x| parts(*x).1).min().unwrap_or(0);
            if unit < least {
                return None;
            }
            let scale = power(unit);
            let magnitude: f64 = numbers.iter().map(|x| (x / scale).abs()).sum();
            return (magnitude <= power(digits)).then(|| numbers.iter().sum());
        }
        let (mut product, mut low, mut high) = (1.0, 0, 0);
        for x in numbers {
            let (m, e) = parts(*x);
            if m == 0.0 {
                // Zero times anything finite is zero, if nothing overflows on the way.
                continue;
            }
            product *= m;
            low += e.min(0);
            high += e.max(0);
        }
        let fits = product <= power(digits) && low >= least && high + digits <= most;
        fits.then(|| numbers.iter().product())
    }
}
