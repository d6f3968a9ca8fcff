//! What the rows compute: integers of every width, and where a result is undefined.

use crate::types::Scalar;

/// What the specification withholds for particular operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undefined {
    /// Only the result is undefined: it is tainted.
    Value,
    /// The whole run is: such a program must not exist.
    Behaviour,
}

/// The sum of the products of the bytes of two words.
pub(super) fn dot(scalar: Scalar, x: u64, y: u64) -> i64 {
    let byte = |word: u64, k: usize| {
        let byte = (word as u32).to_le_bytes()[k];
        if scalar.is_signed() { i64::from(byte as i8) } else { i64::from(byte) }
    };
    (0..4).map(|k| byte(x, k) * byte(y, k)).sum()
}

pub(super) fn int(bits: u64) -> i32 {
    bits as u32 as i32
}

pub(super) fn from_int(value: i32) -> u64 {
    u64::from(value as u32)
}

/// The low bits of a signed result.
pub(super) fn cut(scalar: Scalar, value: i64) -> u64 {
    value as u64 & scalar.bits()
}

/// The value of a signed type.
pub(super) fn value(scalar: Scalar, bits: u64) -> i64 {
    scalar.extend(bits) as i64
}

/// The remainder with the sign of the divisor; of a division that is undefined, any number.
pub(super) fn modulo(x: i64, y: i64) -> i64 {
    let rest = x.checked_rem(y).unwrap_or(0);
    if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest }
}

pub(super) fn amount(scalar: Scalar, y: u64) -> u64 {
    y & u64::from(scalar.size().max(8) - 1)
}

pub(super) fn less(scalar: Scalar, x: u64, y: u64) -> bool {
    if scalar.is_signed() { value(scalar, x) < value(scalar, y) } else { x < y }
}

pub(super) fn min(scalar: Scalar, x: u64, y: u64) -> u64 {
    if less(scalar, y, x) { y } else { x }
}

pub(super) fn max(scalar: Scalar, x: u64, y: u64) -> u64 {
    if less(scalar, x, y) { y } else { x }
}

/// The value is undefined unless this holds.
pub(super) fn unless(defined: bool) -> Option<Undefined> {
    (!defined).then_some(Undefined::Value)
}

pub(super) fn undefined_quotient(scalar: Scalar, x: u64, y: u64) -> Option<Undefined> {
    let overflows = scalar.is_signed() && value(scalar, x) == scalar.least() && value(scalar, y) == -1;
    (y == 0 || overflows).then_some(Undefined::Behaviour)
}

pub(super) fn undefined_remainder(scalar: Scalar, x: u64, y: u64) -> Option<Undefined> {
    let is_negative = |bits| scalar.is_signed() && value(scalar, bits) < 0;
    undefined_quotient(scalar, x, y).or((is_negative(x) || is_negative(y)).then_some(Undefined::Value))
}

pub(super) fn undefined_shift(scalar: Scalar, _: u64, y: u64) -> Option<Undefined> {
    (y >= u64::from(scalar.size())).then_some(Undefined::Value)
}

pub(super) fn field_fits(offset: u64, bits: u64) -> bool {
    let (offset, bits) = (i64::from(int(offset)), i64::from(int(bits)));
    offset >= 0 && bits >= 0 && offset + bits <= 32
}

fn field_mask(offset: u64, bits: u64) -> u32 {
    let ones = if bits >= 32 { u32::MAX } else { (1u32 << bits) - 1 };
    ones.checked_shl(offset as u32).unwrap_or(0)
}

pub(super) fn bitfield_extract(signed: bool, x: u64, offset: u64, bits: u64) -> u64 {
    if bits == 0 || bits > 32 || offset > 31 {
        return 0;
    }
    let field = (x as u32 & field_mask(offset, bits)) >> offset;
    let unused = 32 - bits as u32;
    if signed { from_int(((field << unused) as i32) >> unused) } else { u64::from(field) }
}

pub(super) fn bitfield_insert(base: u64, insert: u64, offset: u64, bits: u64) -> u64 {
    let mask = field_mask(offset, bits);
    let insert = (insert as u32).checked_shl(offset as u32).unwrap_or(0);
    u64::from((base as u32 & !mask) | (insert & mask))
}
