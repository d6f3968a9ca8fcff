//! Operators and built-in functions on a lane's own values: names, and what they compute.
//!
//! Values are columns: one `u64` for each lane, holding the bits of the scalar type ([`Scalar::bits`]); bool is 0 or 1,
//! integers are the two's complement pattern of their width, zeros above, and floats those of [`crate::float`]. Every function here is total: where the specification leaves a result undefined it
//! gives some number, and [`binary_undefined`] and [`intrinsic_undefined`] say so. Sources: SPIR-V 1.6 §3.3.13–§3.3.15,
//! GLSL 4.60 §5.9 and §8.8, collected in docs/rules.md, section N.

use serde::{Deserialize, Serialize};

use crate::float;
use crate::types::Scalar;

/// A unary operator. Its JSON form, as that of the other operators, is the SPIR-V instruction without the kind of its operands
/// (`OpSNegate` and `OpFNegate` are `Negate`); format 1 had the operator of GLSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum UnaryOp {
    /// `-x`, wrapping on integers.
    #[serde(rename = "Negate", alias = "-")]
    Neg,
    /// `~x` on integers.
    #[serde(rename = "Not", alias = "~")]
    BitNot,
    /// `!x` on bool scalars.
    #[serde(rename = "LogicalNot", alias = "!")]
    Not,
}

impl UnaryOp {
    /// Every unary operator.
    pub const ALL: [UnaryOp; 3] = [UnaryOp::Neg, UnaryOp::BitNot, UnaryOp::Not];

    /// The operator as written in GLSL.
    pub const fn token(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::BitNot => "~",
            UnaryOp::Not => "!",
        }
    }
}

/// A binary operator. Both operands have one type, except that the right operand of a shift is uint, or a vector of
/// uints as wide as the left one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BinaryOp {
    /// Wrapping addition.
    #[serde(rename = "Add", alias = "+")]
    Add,
    /// Wrapping subtraction.
    #[serde(rename = "Sub", alias = "-")]
    Sub,
    /// Wrapping multiplication.
    #[serde(rename = "Mul", alias = "*")]
    Mul,
    /// Division; signed division truncates toward zero. By zero, and `INT_MIN / -1`: undefined behaviour.
    #[serde(rename = "Div", alias = "/")]
    Div,
    /// Remainder. By zero: undefined behaviour; with a negative operand: undefined.
    #[serde(rename = "Mod", alias = "%")]
    Mod,
    /// Bitwise and.
    #[serde(rename = "BitwiseAnd", alias = "&")]
    BitAnd,
    /// Bitwise or.
    #[serde(rename = "BitwiseOr", alias = "|")]
    BitOr,
    /// Bitwise exclusive or.
    #[serde(rename = "BitwiseXor", alias = "^")]
    BitXor,
    /// Left shift; by the width or more: undefined value.
    #[serde(rename = "ShiftLeft", alias = "<<")]
    Shl,
    /// Right shift, arithmetic on signed and logical on unsigned types; by the width or more: undefined value.
    #[serde(rename = "ShiftRight", alias = ">>")]
    Shr,
    /// Less than, on scalars; gives bool.
    #[serde(rename = "LessThan", alias = "<")]
    Lt,
    /// Less than or equal.
    #[serde(rename = "LessThanEqual", alias = "<=")]
    Le,
    /// Greater than.
    #[serde(rename = "GreaterThan", alias = ">")]
    Gt,
    /// Greater than or equal.
    #[serde(rename = "GreaterThanEqual", alias = ">=")]
    Ge,
    /// Equal, on scalars of any type; gives bool.
    #[serde(rename = "Equal", alias = "==")]
    Eq,
    /// Not equal.
    #[serde(rename = "NotEqual", alias = "!=")]
    Ne,
    /// `&&`: the right operand is evaluated only by the lanes where the left one is true.
    #[serde(rename = "LogicalAnd", alias = "&&")]
    And,
    /// `||`: the right operand is evaluated only by the lanes where the left one is false.
    #[serde(rename = "LogicalOr", alias = "||")]
    Or,
    /// `^^`: both operands are evaluated.
    #[serde(rename = "LogicalNotEqual", alias = "^^")]
    Xor,
}

impl BinaryOp {
    /// Every binary operator.
    pub const ALL: [BinaryOp; 19] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Mod,
        BinaryOp::BitAnd,
        BinaryOp::BitOr,
        BinaryOp::BitXor,
        BinaryOp::Shl,
        BinaryOp::Shr,
        BinaryOp::Lt,
        BinaryOp::Le,
        BinaryOp::Gt,
        BinaryOp::Ge,
        BinaryOp::Eq,
        BinaryOp::Ne,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
    ];

    /// The operator as written in GLSL.
    pub const fn token(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::Xor => "^^",
        }
    }

    /// `&&`, `||`, `^^`: bool operands, bool result.
    pub const fn is_logical(self) -> bool {
        matches!(self, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
    }

    /// Comparisons: scalar operands, bool result.
    pub const fn is_comparison(self) -> bool {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        matches!(self, Lt | Le | Gt | Ge | Eq | Ne)
    }

    /// Shifts: the right operand is uint.
    pub const fn is_shift(self) -> bool {
        matches!(self, BinaryOp::Shl | BinaryOp::Shr)
    }
}

/// A built-in function of GLSL §8.3 (numbers) and §8.8 (int and uint only, docs/rules.md, section N), on each component, or the hint of
/// GL_EXT_expect_assume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Intrinsic {
    /// `min(x, y)` on numbers.
    #[serde(rename = "Min", alias = "min")]
    Min,
    /// `max(x, y)` on numbers.
    #[serde(rename = "Max", alias = "max")]
    Max,
    /// `clamp(x, lo, hi)` on numbers; undefined if `lo > hi`.
    #[serde(rename = "Clamp", alias = "clamp")]
    Clamp,
    /// `abs(x)` on signed integers and floats; the least integer is avoided (docs/rules.md, section N).
    #[serde(rename = "Abs", alias = "abs")]
    Abs,
    /// `sign(x)` on signed integers and floats.
    #[serde(rename = "Sign", alias = "sign")]
    Sign,
    /// `bitfieldExtract(x, int offset, int bits)`; undefined unless `0 <= offset`, `0 <= bits`, `offset + bits <= 32`.
    #[serde(rename = "BitFieldExtract", alias = "bitfieldExtract")]
    BitfieldExtract,
    /// `bitfieldInsert(base, insert, int offset, int bits)`; same condition.
    #[serde(rename = "BitFieldInsert", alias = "bitfieldInsert")]
    BitfieldInsert,
    /// `bitfieldReverse(x)`
    #[serde(rename = "BitReverse", alias = "bitfieldReverse")]
    BitfieldReverse,
    /// `bitCount(x)`; gives int.
    #[serde(rename = "BitCount", alias = "bitCount")]
    BitCount,
    /// `findLSB(x)`; gives int, -1 for 0.
    #[serde(rename = "FindILsb", alias = "findLSB")]
    FindLsb,
    /// `findMSB(x)`; gives int, -1 for 0, and for int also for -1.
    #[serde(rename = "FindMsb", alias = "findMSB")]
    FindMsb,
    /// `floor(x)` on floats.
    #[serde(rename = "Floor", alias = "floor")]
    Floor,
    /// `ceil(x)` on floats.
    #[serde(rename = "Ceil", alias = "ceil")]
    Ceil,
    /// `trunc(x)` on floats.
    #[serde(rename = "Trunc", alias = "trunc")]
    Trunc,
    /// `expectEXT(x, expected)` on bool and integers: `x`, and a hint to the compiler, which need not come true (SPV_KHR_expect_assume).
    #[serde(rename = "Expect", alias = "expect")]
    Expect,
}

/// The types that an [`Intrinsic`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Everything but bool.
    Number,
    /// Signed integers and floats.
    Signed,
    /// int and uint.
    Word,
    /// Floats.
    Float,
    /// bool and integers.
    Discrete,
}

impl Operand {
    /// True for the types it stands for.
    pub const fn admits(self, scalar: Scalar) -> bool {
        match self {
            Operand::Number => !matches!(scalar, Scalar::Bool),
            Operand::Signed => scalar.is_signed() || scalar.is_float(),
            Operand::Word => scalar.is_word(),
            Operand::Float => scalar.is_float(),
            Operand::Discrete => !scalar.is_float(),
        }
    }
}

/// What an [`Intrinsic`] takes and gives, for a first operand of scalar type `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntrinsicShape {
    /// The GLSL name.
    pub name: &'static str,
    /// How many leading operands have type `T`.
    pub values: usize,
    /// How many int scalars follow (offset and bits).
    pub offsets: usize,
    /// True if the result is int whatever `T` is; else it is `T`.
    pub gives_int: bool,
    /// What `T` can be.
    pub operand: Operand,
}

impl Intrinsic {
    /// Every intrinsic.
    pub const ALL: [Intrinsic; 15] = [
        Intrinsic::Min,
        Intrinsic::Max,
        Intrinsic::Clamp,
        Intrinsic::Abs,
        Intrinsic::Sign,
        Intrinsic::BitfieldExtract,
        Intrinsic::BitfieldInsert,
        Intrinsic::BitfieldReverse,
        Intrinsic::BitCount,
        Intrinsic::FindLsb,
        Intrinsic::FindMsb,
        Intrinsic::Floor,
        Intrinsic::Ceil,
        Intrinsic::Trunc,
        Intrinsic::Expect,
    ];

    /// Name, operands and result.
    pub const fn shape(self) -> IntrinsicShape {
        const fn row(name: &'static str, values: usize, offsets: usize) -> IntrinsicShape {
            IntrinsicShape { name, values, offsets, gives_int: false, operand: Operand::Number }
        }
        const fn bits(name: &'static str, values: usize, offsets: usize) -> IntrinsicShape {
            IntrinsicShape { operand: Operand::Word, ..row(name, values, offsets) }
        }
        const fn of(operand: Operand, name: &'static str) -> IntrinsicShape {
            IntrinsicShape { operand, ..row(name, 1, 0) }
        }
        match self {
            Intrinsic::Min => row("min", 2, 0),
            Intrinsic::Max => row("max", 2, 0),
            Intrinsic::Clamp => row("clamp", 3, 0),
            Intrinsic::Abs => of(Operand::Signed, "abs"),
            Intrinsic::Sign => of(Operand::Signed, "sign"),
            Intrinsic::BitfieldExtract => bits("bitfieldExtract", 1, 2),
            Intrinsic::BitfieldInsert => bits("bitfieldInsert", 2, 2),
            Intrinsic::BitfieldReverse => bits("bitfieldReverse", 1, 0),
            Intrinsic::BitCount => IntrinsicShape { gives_int: true, ..bits("bitCount", 1, 0) },
            Intrinsic::FindLsb => IntrinsicShape { gives_int: true, ..bits("findLSB", 1, 0) },
            Intrinsic::FindMsb => IntrinsicShape { gives_int: true, ..bits("findMSB", 1, 0) },
            Intrinsic::Floor => of(Operand::Float, "floor"),
            Intrinsic::Ceil => of(Operand::Float, "ceil"),
            Intrinsic::Trunc => of(Operand::Float, "trunc"),
            Intrinsic::Expect => IntrinsicShape { operand: Operand::Discrete, ..row("expectEXT", 2, 0) },
        }
    }
}

/// What the specification withholds for particular operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undefined {
    /// Only the result is undefined: it is tainted.
    Value,
    /// The whole run is: such a program must not exist.
    Behaviour,
}

fn int(bits: u64) -> i32 {
    bits as u32 as i32
}

fn from_int(value: i32) -> u64 {
    u64::from(value as u32)
}

/// The low bits of a signed result.
fn cut(scalar: Scalar, value: i64) -> u64 {
    value as u64 & scalar.bits()
}

/// The value of a signed type.
fn value(scalar: Scalar, bits: u64) -> i64 {
    scalar.extend(bits) as i64
}

/// `op x` for a whole column of a scalar type.
pub fn unary(op: UnaryOp, scalar: Scalar, x: &[u64], out: &mut [u64]) {
    let bits = scalar.bits();
    match op {
        UnaryOp::Neg if scalar.is_float() => float::map(scalar, x, out, |x| -x),
        UnaryOp::Neg => out.iter_mut().zip(x).for_each(|(o, &x)| *o = x.wrapping_neg() & bits),
        UnaryOp::BitNot => out.iter_mut().zip(x).for_each(|(o, &x)| *o = !x & bits),
        UnaryOp::Not => out.iter_mut().zip(x).for_each(|(o, &x)| *o = x ^ 1),
    }
}

/// `x op y` for a whole column; `scalar` is the type of `x`.
pub fn binary(op: BinaryOp, scalar: Scalar, x: &[u64], y: &[u64], out: &mut [u64]) {
    // One loop for each operator, so that the compiler vectorises it.
    macro_rules! each {
        (|$x:ident, $y:ident| $f:expr) => {
            for ((o, &$x), &$y) in out.iter_mut().zip(x).zip(y) {
                *o = $f;
            }
        };
    }
    macro_rules! signed {
        (|$x:ident, $y:ident| $f:expr) => {
            each!(|a, b| {
                let ($x, $y) = (value(scalar, a), value(scalar, b));
                $f
            })
        };
    }
    if scalar.is_float() {
        return float_binary(op, scalar, x, y, out);
    }
    let signed = scalar.is_signed();
    let bits = scalar.bits();
    // What a shift amount that is out of range does is undefined; here it is taken modulo the width.
    let within = u64::from(scalar.size().max(8) - 1);
    match op {
        BinaryOp::Add => each!(|x, y| x.wrapping_add(y) & bits),
        BinaryOp::Sub => each!(|x, y| x.wrapping_sub(y) & bits),
        BinaryOp::Mul => each!(|x, y| x.wrapping_mul(y) & bits),
        BinaryOp::Div if signed => signed!(|x, y| cut(scalar, x.checked_div(y).unwrap_or(0))),
        BinaryOp::Div => each!(|x, y| x.checked_div(y).unwrap_or(0)),
        BinaryOp::Mod if signed => signed!(|x, y| cut(scalar, x.checked_rem(y).unwrap_or(0))),
        BinaryOp::Mod => each!(|x, y| x.checked_rem(y).unwrap_or(0)),
        BinaryOp::BitAnd => each!(|x, y| x & y),
        BinaryOp::BitOr => each!(|x, y| x | y),
        BinaryOp::BitXor | BinaryOp::Xor => each!(|x, y| x ^ y),
        BinaryOp::Shl => each!(|x, y| x << (y & within) & bits),
        BinaryOp::Shr if signed => each!(|x, y| cut(scalar, value(scalar, x) >> (y & within))),
        BinaryOp::Shr => each!(|x, y| x >> (y & within)),
        BinaryOp::Lt if signed => signed!(|x, y| u64::from(x < y)),
        BinaryOp::Lt => each!(|x, y| u64::from(x < y)),
        BinaryOp::Le if signed => signed!(|x, y| u64::from(x <= y)),
        BinaryOp::Le => each!(|x, y| u64::from(x <= y)),
        BinaryOp::Gt if signed => signed!(|x, y| u64::from(x > y)),
        BinaryOp::Gt => each!(|x, y| u64::from(x > y)),
        BinaryOp::Ge if signed => signed!(|x, y| u64::from(x >= y)),
        BinaryOp::Ge => each!(|x, y| u64::from(x >= y)),
        BinaryOp::Eq => each!(|x, y| u64::from(x == y)),
        BinaryOp::Ne => each!(|x, y| u64::from(x != y)),
        BinaryOp::And => each!(|x, y| x & y),
        BinaryOp::Or => each!(|x, y| x | y),
    }
}

/// `x op y` of floats. The operators that floats do not have give zero.
fn float_binary(op: BinaryOp, scalar: Scalar, x: &[u64], y: &[u64], out: &mut [u64]) {
    match op {
        BinaryOp::Add => float::zip(scalar, x, y, out, |x, y| x + y),
        BinaryOp::Sub => float::zip(scalar, x, y, out, |x, y| x - y),
        BinaryOp::Mul => float::zip(scalar, x, y, out, |x, y| x * y),
        BinaryOp::Lt => float::compare(scalar, x, y, out, |x, y| x < y),
        BinaryOp::Le => float::compare(scalar, x, y, out, |x, y| x <= y),
        BinaryOp::Gt => float::compare(scalar, x, y, out, |x, y| x > y),
        BinaryOp::Ge => float::compare(scalar, x, y, out, |x, y| x >= y),
        BinaryOp::Eq => float::compare(scalar, x, y, out, |x, y| x == y),
        BinaryOp::Ne => float::compare(scalar, x, y, out, |x, y| x != y),
        _ => out.fill(0),
    }
}

/// What is undefined about `x op y` for one lane (docs/rules.md, section N).
pub fn binary_undefined(op: BinaryOp, scalar: Scalar, x: u64, y: u64) -> Option<Undefined> {
    let signed = scalar.is_signed();
    let (a, b) = (value(scalar, x), value(scalar, y));
    match op {
        BinaryOp::Div | BinaryOp::Mod if y == 0 => Some(Undefined::Behaviour),
        BinaryOp::Div | BinaryOp::Mod if signed && a == scalar.least() && b == -1 => Some(Undefined::Behaviour),
        BinaryOp::Mod if signed && (a < 0 || b < 0) => Some(Undefined::Value),
        BinaryOp::Shl | BinaryOp::Shr if y >= u64::from(scalar.size()) => Some(Undefined::Value),
        _ => None,
    }
}

/// True for the operators for which [`binary_undefined`] can give something.
pub const fn binary_may_be_undefined(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Div | BinaryOp::Mod | BinaryOp::Shl | BinaryOp::Shr)
}

fn field_mask(offset: u64, bits: u64) -> u32 {
    let ones = if bits >= 32 { u32::MAX } else { (1u32 << bits) - 1 };
    ones.checked_shl(offset as u32).unwrap_or(0)
}

fn bitfield_extract(signed: bool, x: u64, offset: u64, bits: u64) -> u64 {
    if bits == 0 || bits > 32 || offset > 31 {
        return 0;
    }
    let field = (x as u32 & field_mask(offset, bits)) >> offset;
    let unused = 32 - bits as u32;
    if signed { from_int(((field << unused) as i32) >> unused) } else { u64::from(field) }
}

/// The intrinsic for one lane; `scalar` is the type of the first operand.
pub fn intrinsic(op: Intrinsic, scalar: Scalar, args: &[u64]) -> u64 {
    if scalar.is_float() {
        return float_intrinsic(op, scalar, args);
    }
    let signed = scalar.is_signed();
    let x = args[0];
    let less = |x: u64, y: u64| if signed { value(scalar, x) < value(scalar, y) } else { x < y };
    let min = |x: u64, y: u64| if less(y, x) { y } else { x };
    let max = |x: u64, y: u64| if less(x, y) { y } else { x };
    match op {
        Intrinsic::Min => min(x, args[1]),
        Intrinsic::Max => max(x, args[1]),
        Intrinsic::Clamp => min(max(x, args[1]), args[2]),
        Intrinsic::Abs => cut(scalar, value(scalar, x).wrapping_abs()),
        Intrinsic::Sign => cut(scalar, value(scalar, x).signum()),
        Intrinsic::BitfieldExtract => bitfield_extract(signed, x, args[1], args[2]),
        Intrinsic::BitfieldInsert => {
            let mask = field_mask(args[2], args[3]);
            let insert = (args[1] as u32).checked_shl(args[2] as u32).unwrap_or(0);
            u64::from((x as u32 & !mask) | (insert & mask))
        }
        Intrinsic::BitfieldReverse => u64::from((x as u32).reverse_bits()),
        Intrinsic::BitCount => u64::from((x as u32).count_ones()),
        Intrinsic::FindLsb => match x as u32 {
            0 => from_int(-1),
            bits => u64::from(bits.trailing_zeros()),
        },
        Intrinsic::FindMsb => match if signed && int(x) < 0 { !(x as u32) } else { x as u32 } {
            0 => from_int(-1),
            bits => u64::from(31 - bits.leading_zeros()),
        },
        Intrinsic::Expect | Intrinsic::Floor | Intrinsic::Ceil | Intrinsic::Trunc => x,
    }
}

/// The intrinsic of floats; those that floats do not have give the operand.
fn float_intrinsic(op: Intrinsic, scalar: Scalar, args: &[u64]) -> u64 {
    let arg = |i: usize| float::value(scalar, args[i]);
    let x = arg(0);
    float::bits(
        scalar,
        match op {
            Intrinsic::Min => x.min(arg(1)),
            Intrinsic::Max => x.max(arg(1)),
            Intrinsic::Clamp => x.max(arg(1)).min(arg(2)),
            Intrinsic::Abs => x.abs(),
            Intrinsic::Sign if x == 0.0 => 0.0,
            Intrinsic::Sign => x.signum(),
            Intrinsic::Floor => x.floor(),
            Intrinsic::Ceil => x.ceil(),
            Intrinsic::Trunc => x.trunc(),
            _ => x,
        },
    )
}

/// What is undefined about the intrinsic for one lane.
pub fn intrinsic_undefined(op: Intrinsic, scalar: Scalar, args: &[u64]) -> Option<Undefined> {
    let field_fits = |offset: u64, bits: u64| {
        let (offset, bits) = (i64::from(int(offset)), i64::from(int(bits)));
        offset >= 0 && bits >= 0 && offset + bits <= 32
    };
    let defined = match op {
        // `tangle_analysis::validate` sees to the bounds of a clamp.
        _ if scalar.is_float() => true,
        Intrinsic::Clamp if scalar.is_signed() => value(scalar, args[1]) <= value(scalar, args[2]),
        Intrinsic::Clamp => args[1] <= args[2],
        Intrinsic::Abs => value(scalar, args[0]) != scalar.least(),
        Intrinsic::BitfieldExtract => field_fits(args[1], args[2]),
        Intrinsic::BitfieldInsert => field_fits(args[2], args[3]),
        _ => true,
    };
    (!defined).then_some(Undefined::Value)
}

/// `to(x)` for one lane (GLSL 4.60 §5.4.1, GL_EXT_shader_explicit_arithmetic_types): integers keep the low bits; wider ones take the
/// sign of a signed operand, else zeros. Floats lose what is behind the point; their conversions are exact otherwise
/// (`tangle_analysis::exact`).
pub fn cast(from: Scalar, to: Scalar, x: u64) -> u64 {
    match (from, to) {
        (_, Scalar::Bool) if from.is_float() => u64::from(float::value(from, x) != 0.0),
        _ if from.is_float() && to.is_float() => float::bits(to, float::value(from, x)),
        _ if from.is_float() => float::value(from, x) as i64 as u64 & to.bits(),
        _ if to.is_float() && from.is_signed() => float::bits(to, value(from, x) as f64),
        _ if to.is_float() => float::bits(to, x as f64),
        (Scalar::Bool, Scalar::Bool) => x,
        (_, Scalar::Bool) => u64::from(x != 0),
        _ => from.extend(x) & to.bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(op: BinaryOp, scalar: Scalar, x: i64, y: i64) -> i64 {
        let mut out = [0];
        binary(op, scalar, &[u64::from(x as u32)], &[u64::from(y as u32)], &mut out);
        if scalar == Scalar::Int && !op.is_comparison() { i64::from(int(out[0])) } else { out[0] as i64 }
    }

    #[test]
    fn binary_table() {
        use BinaryOp::*;
        use Scalar::{Int, Uint};
        let max = i64::from(u32::MAX);
        for (op, scalar, x, y, want) in [
            (Add, Uint, max, 2, 1),
            (Sub, Uint, 0, 1, max),
            (Mul, Int, 1 << 30, 4, 0),
            (Div, Int, -7, 2, -3),
            (Div, Uint, max, 2, max / 2),
            (Mod, Int, 7, 3, 1),
            (Shr, Int, -8, 1, -4),
            (Shr, Uint, max, 31, 1),
            (Shl, Uint, 3, 31, 1 << 31),
            (Lt, Int, -1, 0, 1),
            (Lt, Uint, max, 0, 0),
            (Ge, Int, -1, -1, 1),
            (BitXor, Uint, 0b1100, 0b1010, 0b0110),
        ] {
            assert_eq!(bin(op, scalar, x, y), want, "{x} {} {y}", op.token());
        }
    }

    #[test]
    fn widths_table() {
        use BinaryOp::*;
        use Scalar::{Int8, Int16, Int64, Uint8, Uint16, Uint64};
        for (op, scalar, x, y, want) in [
            (Add, Uint8, 0xFF, 2, 1),
            (Mul, Int8, 0x7F, 0x7F, 1),
            (Sub, Uint64, 0, 1, u64::MAX),
            (Mul, Uint64, 1 << 63, 2, 0),
            (Add, Uint64, 0xFFFF_FFFF, 1, 1 << 32),
            (Div, Int8, 0xF9, 2, 0xFD),
            (Div, Int64, (-7i64) as u64, 2, (-3i64) as u64),
            (Shr, Int8, 0x80, 7, 0xFF),
            (Shr, Uint16, 0x8000, 15, 1),
            (Shl, Uint16, 0x8001, 1, 2),
            (Shl, Uint64, 1, 63, 1 << 63),
            (Shr, Int64, 1 << 63, 63, u64::MAX),
            (Lt, Int16, 0x8000, 0, 1),
            (Lt, Uint16, 0x8000, 0, 0),
            (Gt, Int64, 1, u64::MAX, 1),
        ] {
            let mut out = [0];
            binary(op, scalar, &[x], &[y], &mut out);
            assert_eq!(out[0], want, "{x} {} {y} of {}", op.token(), scalar.name());
        }
        let mut out = [0];
        unary(UnaryOp::Neg, Int8, &[0x80], &mut out);
        assert_eq!(out, [0x80]);
        unary(UnaryOp::BitNot, Uint16, &[1], &mut out);
        assert_eq!(out, [0xFFFE]);
        for (from, to, x, want) in [
            (Int8, Uint64, 0x80, (-128i64) as u64),
            (Uint8, Int64, 0x80, 0x80),
            (Scalar::Int, Uint16, 0xFFFF_8001, 0x8001),
            (Int16, Scalar::Uint, 0x8000, 0xFFFF_8000),
            (Scalar::Uint, Uint64, 0xFFFF_FFFF, 0xFFFF_FFFF),
            (Scalar::Int, Uint64, 0xFFFF_FFFF, u64::MAX),
            (Uint64, Scalar::Bool, 1 << 40, 1),
            (Scalar::Bool, Uint64, 1, 1),
        ] {
            assert_eq!(cast(from, to, x), want, "{} to {}", from.name(), to.name());
        }
        assert_eq!(intrinsic(Intrinsic::Min, Int64, &[1, u64::MAX]), u64::MAX);
        assert_eq!(intrinsic(Intrinsic::Max, Uint8, &[1, 0xFF]), 0xFF);
        assert_eq!(intrinsic(Intrinsic::Sign, Int16, &[0x8000]), 0xFFFF);
        assert_eq!(intrinsic_undefined(Intrinsic::Abs, Int8, &[0x80]), Some(Undefined::Value));
        assert_eq!(binary_undefined(Shl, Uint8, 1, 8), Some(Undefined::Value));
        assert_eq!(binary_undefined(Shl, Uint64, 1, 63), None);
        assert_eq!(binary_undefined(Div, Int8, 0x80, 0xFF), Some(Undefined::Behaviour));
    }

    #[test]
    fn float_table() {
        use BinaryOp::*;
        for scalar in [Scalar::Float16, Scalar::Float, Scalar::Double] {
            let bits = |x: f64| float::bits(scalar, x);
            for (op, x, y, want) in
                [(Add, 1.5, 2.25, 3.75), (Sub, 1.0, 1.0, 0.0), (Mul, -0.5, 4.0, -2.0), (Mul, -1.0, 0.0, 0.0)]
            {
                let mut out = [0];
                binary(op, scalar, &[bits(x)], &[bits(y)], &mut out);
                assert_eq!(out, [bits(want)], "{x} {} {y}", op.token());
            }
            for (op, x, y, want) in [(Lt, -1.0, 0.5, 1), (Ge, -1.0, 0.5, 0), (Eq, 2.0, 2.0, 1), (Ne, 2.0, 2.0, 0)] {
                let mut out = [0];
                binary(op, scalar, &[bits(x)], &[bits(y)], &mut out);
                assert_eq!(out, [want], "{x} {} {y}", op.token());
            }
            let mut out = [0];
            unary(UnaryOp::Neg, scalar, &[bits(0.0)], &mut out);
            assert_eq!(out, [0], "zero has no sign");
            for (op, args, want) in [
                (Intrinsic::Min, vec![-1.0, 0.25], -1.0),
                (Intrinsic::Max, vec![-1.0, 0.25], 0.25),
                (Intrinsic::Clamp, vec![9.0, -1.0, 2.5], 2.5),
                (Intrinsic::Abs, vec![-1.5], 1.5),
                (Intrinsic::Sign, vec![-1.5], -1.0),
                (Intrinsic::Sign, vec![0.0], 0.0),
                (Intrinsic::Floor, vec![-1.25], -2.0),
                (Intrinsic::Ceil, vec![-0.25], 0.0),
                (Intrinsic::Trunc, vec![-1.75], -1.0),
            ] {
                let args: Vec<u64> = args.into_iter().map(bits).collect();
                assert_eq!(intrinsic(op, scalar, &args), bits(want), "{op:?}");
            }
            for (from, to, x, want) in [
                (Scalar::Int, scalar, u64::from(-3i32 as u32), bits(-3.0)),
                (Scalar::Uint8, scalar, 200, bits(200.0)),
                (Scalar::Bool, scalar, 1, bits(1.0)),
                (scalar, Scalar::Int, bits(-2.75), u64::from(-2i32 as u32)),
                (scalar, Scalar::Bool, bits(0.25), 1),
                (scalar, Scalar::Float, bits(-7.25), u64::from((-7.25f32).to_bits())),
            ] {
                assert_eq!(cast(from, to, x), want, "{} to {}", from.name(), to.name());
            }
        }
    }

    #[test]
    fn undefined_table() {
        use BinaryOp::*;
        use Undefined::*;
        let min = u64::from(i32::MIN as u32);
        let minus_1 = u64::from(u32::MAX);
        for (op, scalar, x, y, want) in [
            (Div, Scalar::Uint, 1, 0, Some(Behaviour)),
            (Div, Scalar::Int, min, minus_1, Some(Behaviour)),
            (Div, Scalar::Int, min, 1, None),
            (Mod, Scalar::Int, minus_1, 3, Some(Value)),
            (Mod, Scalar::Uint, minus_1, 3, None),
            (Shl, Scalar::Uint, 1, 32, Some(Value)),
            (Shr, Scalar::Int, 1, 31, None),
        ] {
            assert_eq!(binary_undefined(op, scalar, x, y), want, "{x} {} {y}", op.token());
        }
    }

    #[test]
    fn intrinsic_table() {
        use Intrinsic::*;
        use Scalar::{Int, Uint};
        let i = |v: i32| from_int(v);
        for (op, scalar, args, want) in [
            (Min, Int, vec![i(-1), 1], i(-1)),
            (Min, Uint, vec![i(-1), 1], 1),
            (Max, Int, vec![i(-1), 1], 1),
            (Clamp, Int, vec![i(-9), i(-2), 3], i(-2)),
            (Abs, Int, vec![i(-5)], 5),
            (Sign, Int, vec![i(-5)], i(-1)),
            (BitfieldExtract, Int, vec![0xF0, 4, 4], i(-1)),
            (BitfieldExtract, Uint, vec![0xF0, 4, 4], 15),
            (BitfieldExtract, Uint, vec![0xF0, 4, 0], 0),
            (BitfieldExtract, Uint, vec![i(-1), 0, 32], i(-1)),
            (BitfieldInsert, Uint, vec![0, 0xFF, 4, 4], 0xF0),
            (BitfieldInsert, Uint, vec![7, 0xFF, 32, 0], 7),
            (BitfieldReverse, Uint, vec![1], 1 << 31),
            (BitCount, Int, vec![i(-1)], 32),
            (FindLsb, Uint, vec![0], i(-1)),
            (FindLsb, Uint, vec![8], 3),
            (FindMsb, Uint, vec![i(-1)], 31),
            (FindMsb, Int, vec![i(-1)], i(-1)),
            (FindMsb, Int, vec![i(-2)], 0),
        ] {
            assert_eq!(intrinsic(op, scalar, &args), want, "{op:?} {args:?}");
            assert_eq!(intrinsic_undefined(op, scalar, &args), None, "{op:?} {args:?}");
        }
        assert_eq!(intrinsic_undefined(BitfieldExtract, Uint, &[1, 31, 2]), Some(Undefined::Value));
        assert_eq!(intrinsic_undefined(Clamp, Uint, &[1, 3, 2]), Some(Undefined::Value));
    }
}
