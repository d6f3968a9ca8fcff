//! Integers and Booleans (SPIR-V 1.6 §3.52.11 to §3.52.15; GLSL.std.450).
//!
//! A value of `w` bits stands zero-extended in 64. Every operation gives a value, or says that it is undefined, or that behaviour is.

use crate::code::{Fold, Int1, Int2};
use crate::outcome::{Rule, Why};

/// What an operation gives instead of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The result is undefined, or not known, for this reason.
    Value(Why),
    /// The whole program has undefined behaviour: this rule is violated.
    Behaviour(Rule),
}

/// The low `w` bits.
#[inline(always)]
pub(crate) fn mask(w: u8) -> u64 {
    if w >= 64 { u64::MAX } else { (1 << w) - 1 }
}

/// As a signed number.
#[inline(always)]
pub(crate) fn signed(value: u64, w: u8) -> i64 {
    let shift = 64 - u32::from(w.clamp(1, 64));
    ((value << shift) as i64) >> shift
}

#[inline(always)]
pub(crate) fn int1(op: Int1, w: u8, x: u64) -> u64 {
    let s = signed(x, w);
    let value = match op {
        // "If the component type is integer, the result is the low-order N bits" (OpSNegate).
        Int1::Negate => x.wrapping_neg(),
        Int1::Not => !x,
        Int1::BitCount => u64::from(x.count_ones()),
        Int1::BitReverse => x.reverse_bits() >> (64 - u32::from(w.clamp(1, 64))),
        Int1::FindILsb => {
            if x == 0 {
                u64::MAX
            } else {
                u64::from(x.trailing_zeros())
            }
        }
        Int1::FindUMsb => {
            if x == 0 {
                u64::MAX
            } else {
                u64::from(63 - x.leading_zeros())
            }
        }
        // "For positive numbers, the bit number of the most significant 1 bit; for negative numbers, of the most significant 0 bit."
        Int1::FindSMsb => {
            let y = (if s < 0 { !s } else { s }) as u64;
            if y == 0 { u64::MAX } else { u64::from(63 - y.leading_zeros()) }
        }
        Int1::SAbs => s.wrapping_abs() as u64,
        Int1::SSign => s.signum() as u64,
    };
    value & mask(w)
}

#[inline(always)]
pub(crate) fn int2(op: Int2, w: u8, x: u64, y: u64) -> Result<u64, Fault> {
    let (sx, sy) = (signed(x, w), signed(y, w));
    let value = match op {
        Int2::Add => x.wrapping_add(y),
        Int2::Sub => x.wrapping_sub(y),
        Int2::Mul => x.wrapping_mul(y),
        Int2::UDiv | Int2::UMod if y == 0 => return Err(Fault::Behaviour(Rule::Division)),
        Int2::UDiv => x / y,
        Int2::UMod => x % y,
        Int2::SDiv | Int2::SRem | Int2::SMod | Int2::SRemAny | Int2::SModAny
            if sy == 0 || (sy == -1 && sx == signed(1 << (w - 1), w)) =>
        {
            return Err(Fault::Behaviour(Rule::Division));
        }
        Int2::SDiv => sx.wrapping_div(sy) as u64,
        // "if either operand to OpSRem and OpSMod instructions is negative the result is poison" (Vulkan, Precision of Individual Operations,
        // without maintenance8).
        Int2::SRem | Int2::SMod if sx < 0 || sy < 0 => return Err(Fault::Value(Why::Operands)),
        // "the result is the remainder r of Operand 1 divided by Operand 2 where if r ≠ 0, the sign of r is the same as the sign of Operand 1"
        // (OpSRem).
        Int2::SRem | Int2::SMod | Int2::SRemAny => (sx % sy) as u64,
        // The same with "the sign of Operand 2" (OpSMod): what is left over when the quotient is rounded down.
        Int2::SModAny => sx.wrapping_sub(sy.wrapping_mul(floor_div(sx, sy))) as u64,
        // "The resulting value is undefined if Shift is greater than or equal to the bit width" (§3.52.14).
        Int2::ShiftLeft | Int2::ShiftRightLogical | Int2::ShiftRightArithmetic if y >= u64::from(w) => {
            return Err(Fault::Value(Why::Operands));
        }
        Int2::ShiftLeft => x << y,
        Int2::ShiftRightLogical => x >> y,
        Int2::ShiftRightArithmetic => (sx >> y) as u64,
        Int2::And => x & y,
        Int2::Or => x | y,
        Int2::Xor => x ^ y,
        Int2::Equal => return Ok(u64::from(x == y)),
        Int2::NotEqual => return Ok(u64::from(x != y)),
        Int2::ULess => return Ok(u64::from(x < y)),
        Int2::ULessEqual => return Ok(u64::from(x <= y)),
        Int2::UGreater => return Ok(u64::from(x > y)),
        Int2::UGreaterEqual => return Ok(u64::from(x >= y)),
        Int2::SLess => return Ok(u64::from(sx < sy)),
        Int2::SLessEqual => return Ok(u64::from(sx <= sy)),
        Int2::SGreater => return Ok(u64::from(sx > sy)),
        Int2::SGreaterEqual => return Ok(u64::from(sx >= sy)),
        Int2::UMin => x.min(y),
        Int2::UMax => x.max(y),
        Int2::SMin => sx.min(sy) as u64,
        Int2::SMax => sx.max(sy) as u64,
        Int2::AddCarry => return Ok(u64::from(u128::from(x) + u128::from(y) > u128::from(mask(w)))),
        Int2::SubBorrow => return Ok(u64::from(x < y)),
        Int2::UMulHigh => ((u128::from(x) * u128::from(y)) >> w) as u64,
        Int2::SMulHigh => ((i128::from(sx) * i128::from(sy)) >> w) as u64,
    };
    Ok(value & mask(w))
}

/// The quotient of two numbers that have one, rounded down.
fn floor_div(x: i64, y: i64) -> i64 {
    let quotient = i128::from(x).div_euclid(i128::from(y));
    let rest = i128::from(x) - quotient * i128::from(y);
    // Euclid's rest is never negative: a negative divisor takes one more.
    (quotient - i128::from(y < 0 && rest > 0)) as i64
}

/// `OpBitFieldInsert`.
pub(crate) fn bit_field_insert(w: u8, base: u64, insert: u64, offset: u64, count: u64) -> Result<u64, Fault> {
    check_field(w, offset, count)?;
    let field = mask(count as u8) & mask(w);
    let field = if count == 0 { 0 } else { field << offset };
    let insert = if count == 0 { 0 } else { insert << offset };
    Ok(((base & !field) | (insert & field)) & mask(w))
}

/// `OpBitFieldSExtract`, `OpBitFieldUExtract`.
pub(crate) fn bit_field_extract(w: u8, is_signed: bool, base: u64, offset: u64, count: u64) -> Result<u64, Fault> {
    check_field(w, offset, count)?;
    if count == 0 {
        return Ok(0);
    }
    let field = (base >> offset) & mask(count as u8);
    Ok(if is_signed { signed(field, count as u8) as u64 & mask(w) } else { field })
}

/// "The resulting value is undefined if Count or Offset or their sum is greater than the number of bits in the result" (§3.52.14). Both are
/// consumed as unsigned.
fn check_field(w: u8, offset: u64, count: u64) -> Result<(), Fault> {
    if offset.saturating_add(count) > u64::from(w) { Err(Fault::Value(Why::Operands)) } else { Ok(()) }
}

/// The operator of an integer reduction; floating-point ones are elsewhere.
pub(crate) fn fold(op: Fold, w: u8, x: u64, y: u64) -> u64 {
    let op = match op {
        Fold::Add => Int2::Add,
        Fold::Mul => Int2::Mul,
        Fold::SMin => Int2::SMin,
        Fold::UMin => Int2::UMin,
        Fold::SMax => Int2::SMax,
        Fold::UMax => Int2::UMax,
        Fold::And => Int2::And,
        Fold::Or => Int2::Or,
        _ => Int2::Xor,
    };
    int2(op, w, x, y).unwrap_or(0)
}

/// Identities (SPIR-V 1.6 §3.52.24, `OpGroupNonUniformIAdd` and the others).
pub(crate) fn identity(op: Fold, w: u8) -> u64 {
    let smallest = 1u64 << (u32::from(w).max(1) - 1);
    match op {
        Fold::Add | Fold::Or | Fold::Xor | Fold::UMax | Fold::FAdd => 0,
        Fold::Mul => 1 & mask(w),
        Fold::SMin => smallest - 1,
        Fold::SMax => smallest,
        Fold::UMin | Fold::And => mask(w),
        Fold::FMul => match w {
            16 => 0x3C00,
            32 => 0x3F80_0000,
            _ => 0x3FF0_0000_0000_0000,
        },
        Fold::FMin => match w {
            16 => 0x7C00,
            32 => 0x7F80_0000,
            _ => 0x7FF0_0000_0000_0000,
        },
        Fold::FMax => match w {
            16 => 0xFC00,
            32 => 0xFF80_0000,
            _ => 0xFFF0_0000_0000_0000,
        },
    }
}
