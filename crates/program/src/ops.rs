//! Operators and built-in functions on a lane's own values: one row for each, with its name and what it computes.
//!
//! Values are columns: one `u64` for each lane, holding the bits of the scalar type ([`Scalar::bits`]); bool is 0 or 1,
//! integers are the two's complement pattern of their width, zeros above, and floats those of [`crate::float`]. Every function here is
//! total: where the specification leaves a result undefined it gives some number, and [`binary_undefined`] and [`intrinsic_undefined`]
//! say so. Sources: SPIR-V 1.6 §3.3.13–§3.3.15, GLSL 4.60 §5.9 and §8.8, collected in docs/rules.md, section N.
//!
//! A new one is a row here, its range in `tangle_analysis::bounds` and its spelling in the emitters. The arithmetic that rows
//! share is in `arithmetic.rs`.

mod arithmetic;

use serde::{Deserialize, Serialize};

use crate::float;
use crate::rounding::{Operation, Rounded, Rounding};
use crate::types::{Scalar, Type};
pub use arithmetic::Undefined;
use arithmetic::{
    amount, bitfield_extract, bitfield_insert, cut, dot, field_fits, from_int, int, less, max, min, modulo,
    undefined_quotient, undefined_remainder, undefined_shift, unless, value,
};

/// Declares an enumeration with its rows. A name is that of the SPIR-V instruction without the kind of its operands (`OpSNegate` and
/// `OpFNegate` are `Negate`), and the JSON form; behind it stands that of format 1, the operator or function of GLSL.
macro_rules! operators {
    ($(#[$meta:meta])* $Op:ident($Info:ident) { $($(#[$doc:meta])* $op:ident = $name:literal, $format_1:literal: $row:expr,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $Op {
            $($(#[$doc])* #[serde(rename = $name, alias = $format_1)] $op,)+
        }

        impl $Op {
            /// Every one, in the order of the rows.
            pub const ALL: [$Op; [$($name),+].len()] = [$($Op::$op),+];

            /// Its row: types and meaning.
            pub const fn info(self) -> &'static $Info {
                static ROWS: &[$Info] = &[$($Info { name: $name, ..$row }),+];
                &ROWS[self as usize]
            }
        }
    };
}

/// Scalar types that an operand can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Everything but bool.
    Number,
    /// Signed integers and floats.
    Signed,
    /// Integers of any width.
    Integer,
    /// Integers of so many bits or more.
    IntegerFrom(u32),
    /// Those with a sign.
    SignedInteger,
    /// int and uint.
    Word,
    /// Floats of any width.
    Float,
    /// bool and integers.
    Discrete,
    /// bool alone.
    Bool,
    /// uint alone.
    Uint,
    /// Unsigned integers as long as floats of so many bits: from, to.
    FloatBits(u32, u32),
    /// Every scalar type.
    Any,
}

impl Operand {
    /// True for the types it stands for.
    pub const fn admits(self, scalar: Scalar) -> bool {
        match self {
            Operand::Number => !matches!(scalar, Scalar::Bool),
            Operand::Signed => scalar.is_signed() || scalar.is_float(),
            Operand::Integer => scalar.is_integer(),
            Operand::IntegerFrom(size) => scalar.is_integer() && scalar.size() >= size,
            Operand::SignedInteger => scalar.is_signed(),
            Operand::Word => scalar.is_word(),
            Operand::Float => scalar.is_float(),
            Operand::Discrete => !scalar.is_float(),
            Operand::Bool => matches!(scalar, Scalar::Bool),
            Operand::Uint => matches!(scalar, Scalar::Uint),
            Operand::FloatBits(from, to) => {
                let (size, is_bits) = (scalar.size(), matches!(scalar, Scalar::Uint16 | Scalar::Uint | Scalar::Uint64));
                is_bits && from <= size && size <= to
            }
            Operand::Any => true,
        }
    }
}

/// The row of a unary operator. It gives what it takes.
#[derive(Clone, Copy, Debug)]
pub struct UnaryInfo {
    /// The name in JSON: that of the SPIR-V instruction without the kind of its operands.
    pub name: &'static str,
    /// The scalar type of the operand, and so of the result.
    pub takes: Operand,
    /// What it computes for bool and integers.
    bits: fn(Scalar, u64) -> u64,
    /// The same for floats.
    floats: fn(f64) -> f64,
}

const UNARY: UnaryInfo = UnaryInfo { name: "", takes: Operand::Number, bits: |_, x| x, floats: |x| x };

operators! {
    /// A unary operator, on each component.
    UnaryOp(UnaryInfo) {
        /// `-x`, wrapping on integers.
        Neg = "Negate", "-": UnaryInfo { bits: |scalar, x| x.wrapping_neg() & scalar.bits(), floats: |x| -x, ..UNARY },
        /// `~x` on integers.
        BitNot = "Not", "~": UnaryInfo { takes: Operand::Integer, bits: |scalar, x| !x & scalar.bits(), ..UNARY },
        /// `!x` on bools and their vectors.
        Not = "LogicalNot", "!": UnaryInfo { takes: Operand::Bool, bits: |_, x| x ^ 1, ..UNARY },
    }
}

/// What a binary operator takes and gives, for a left operand of type `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Two of `T`, which is of numbers; gives `T`.
    Arithmetic,
    /// The same, on integers.
    Integer,
    /// Integers, and behind them uint, or a vector of uints as wide; gives `T`.
    Shift,
    /// Two of one type; gives bool, as many as there are components.
    Equality,
    /// The same, on numbers.
    Order,
    /// Two bools; gives a bool.
    Logical,
}

/// The row of a binary operator.
#[derive(Clone, Copy, Debug)]
pub struct BinaryInfo {
    /// The name in JSON: that of the SPIR-V instruction without the kind of its operands.
    pub name: &'static str,
    /// Types of operands and result.
    pub kind: Kind,
    /// What it computes for columns of bools and integers.
    columns: Columns,
    /// The same for floats.
    floats: Columns,
    /// For which operands of one lane it is undefined; `None` if for none.
    undefined: Option<fn(Scalar, u64, u64) -> Option<Undefined>>,
}

/// Writes what is computed of two columns; the scalar type is that of the left one.
type Columns = fn(Scalar, &[u64], &[u64], &mut [u64]);

/// A loop of its own for each operator, so that the compiler vectorises it.
macro_rules! columns {
    (|$scalar:ident, $x:ident, $y:ident| $f:expr) => {
        |$scalar: Scalar, x: &[u64], y: &[u64], out: &mut [u64]| {
            for ((o, &$x), &$y) in out.iter_mut().zip(x).zip(y) {
                *o = $f;
            }
        }
    };
}

/// One loop for signed types, with operands of `i64`, and one for the others, with operands of `u64`.
macro_rules! by_sign {
    (|$scalar:ident, $x:ident, $y:ident| $signed:expr, $unsigned:expr) => {
        |$scalar: Scalar, x: &[u64], y: &[u64], out: &mut [u64]| {
            let pairs = out.iter_mut().zip(x).zip(y);
            if $scalar.is_signed() {
                for ((o, &x), &y) in pairs {
                    let ($x, $y) = (value($scalar, x), value($scalar, y));
                    *o = $signed;
                }
            } else {
                for ((o, &$x), &$y) in pairs {
                    *o = $unsigned;
                }
            }
        }
    };
}

/// Floats do not have the operator.
const BINARY: BinaryInfo = BinaryInfo {
    name: "",
    kind: Kind::Integer,
    columns: |_, _, _, out| out.fill(0),
    floats: |_, _, _, out| out.fill(0),
    undefined: None,
};

/// Wrapping arithmetic on integers, with the operator of `f64` for floats, whose results are exact.
macro_rules! arithmetic {
    ($wrapping:ident, $op:tt) => {
        BinaryInfo {
            kind: Kind::Arithmetic,
            columns: columns!(|scalar, x, y| x.$wrapping(y) & scalar.bits()),
            floats: |scalar, x, y, out| float::zip(scalar, x, y, out, |x, y| x $op y),
            ..BINARY
        }
    };
}

/// Division: undefined behaviour by zero, and of the least number by -1.
macro_rules! division {
    ($checked:ident) => {
        BinaryInfo {
            columns: by_sign!(|scalar, x, y| cut(scalar, x.$checked(y).unwrap_or(0)), x.$checked(y).unwrap_or(0)),
            undefined: Some(undefined_quotient),
            ..BINARY
        }
    };
}

macro_rules! bitwise {
    ($kind:ident, $op:tt) => {
        BinaryInfo { kind: Kind::$kind, columns: columns!(|_scalar, x, y| x $op y), ..BINARY }
    };
}

macro_rules! comparison {
    ($kind:ident, $op:tt) => {
        BinaryInfo {
            kind: Kind::$kind,
            columns: by_sign!(|scalar, x, y| u64::from(x $op y), u64::from(x $op y)),
            floats: |scalar, x, y, out| float::compare(scalar, x, y, out, |x, y| x $op y),
            ..BINARY
        }
    };
}

/// Shifts by the width or more are undefined; here the amount is taken modulo the width.
const SHIFT: BinaryInfo = BinaryInfo { kind: Kind::Shift, undefined: Some(undefined_shift), ..BINARY };

operators! {
    /// A binary operator, on each component.
    BinaryOp(BinaryInfo) {
        /// Wrapping addition.
        Add = "Add", "+": arithmetic!(wrapping_add, +),
        /// Wrapping subtraction.
        Sub = "Sub", "-": arithmetic!(wrapping_sub, -),
        /// Wrapping multiplication.
        Mul = "Mul", "*": arithmetic!(wrapping_mul, *),
        /// Division; signed division truncates toward zero. By zero, and `INT_MIN / -1`: undefined behaviour.
        Div = "Div", "/": division!(checked_div),
        /// Remainder. By zero: undefined behaviour; with a negative operand: undefined.
        Mod = "Mod", "%": BinaryInfo { undefined: Some(undefined_remainder), ..division!(checked_rem) },
        /// Bitwise and.
        BitAnd = "BitwiseAnd", "&": bitwise!(Integer, &),
        /// Bitwise or.
        BitOr = "BitwiseOr", "|": bitwise!(Integer, |),
        /// Bitwise exclusive or.
        BitXor = "BitwiseXor", "^": bitwise!(Integer, ^),
        /// Left shift; by the width or more: undefined value.
        Shl = "ShiftLeft", "<<":
            BinaryInfo { columns: columns!(|scalar, x, y| x << amount(scalar, y) & scalar.bits()), ..SHIFT },
        /// Right shift, arithmetic on signed and logical on unsigned types; by the width or more: undefined value.
        Shr = "ShiftRight", ">>": BinaryInfo {
            columns: by_sign!(|scalar, x, y| cut(scalar, x >> amount(scalar, y as u64)), x >> amount(scalar, y)),
            ..SHIFT
        },
        /// Less than, on each component; gives bool.
        Lt = "LessThan", "<": comparison!(Order, <),
        /// Less than or equal.
        Le = "LessThanEqual", "<=": comparison!(Order, <=),
        /// Greater than.
        Gt = "GreaterThan", ">": comparison!(Order, >),
        /// Greater than or equal.
        Ge = "GreaterThanEqual", ">=": comparison!(Order, >=),
        /// Equal, on each component, of any type; gives bool.
        Eq = "Equal", "==": comparison!(Equality, ==),
        /// Not equal.
        Ne = "NotEqual", "!=": comparison!(Equality, !=),
        /// `&&`: the right operand is evaluated only by the lanes where the left one is true.
        And = "LogicalAnd", "&&": bitwise!(Logical, &),
        /// `||`: the right operand is evaluated only by the lanes where the left one is false.
        Or = "LogicalOr", "||": bitwise!(Logical, |),
        /// `^^`: both operands are evaluated.
        Xor = "LogicalNotEqual", "^^": bitwise!(Logical, ^),
    }
}

impl BinaryOp {
    /// `&&`, `||`, `^^`: bool operands, bool result.
    pub const fn is_logical(self) -> bool {
        matches!(self.info().kind, Kind::Logical)
    }

    /// Comparisons: bool result, of as many components as the operands have.
    pub const fn is_comparison(self) -> bool {
        matches!(self.info().kind, Kind::Equality | Kind::Order)
    }

    /// Shifts: the right operand is uint.
    pub const fn is_shift(self) -> bool {
        matches!(self.info().kind, Kind::Shift)
    }
}

/// What an [`Intrinsic`] gives for a first operand of type `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// `T`
    Same,
    /// int, as many as `T` has components.
    Int,
    /// Floats of the same size, as many as `T` has components.
    Float,
    /// Unsigned integers of the same size, as many as `T` has components.
    Bits,
    /// Unsigned integers of so many bits, as many as `T` has components.
    BitsOf(u32),
    /// A bool of a vector.
    Bool,
    /// The integer of so many bits, with the sign of `T`, if the vector `T` is as long.
    Whole(u32),
    /// As many integers of so many bits, with the sign of `T`, as the scalar `T` is long.
    Parts(u32),
}

/// The row of a built-in function, for a first operand of type `T`.
#[derive(Clone, Copy, Debug)]
pub struct IntrinsicInfo {
    /// The name in JSON, after the instruction of SPIR-V or GLSL.std.450.
    pub name: &'static str,
    /// How many leading operands have type `T`.
    pub values: usize,
    /// How many int scalars follow (offset and bits).
    pub offsets: usize,
    /// How many bools follow, each with as many components as `T`.
    pub bools: usize,
    /// Type of the result.
    pub gives: Gives,
    /// What `T` can be, or its components.
    pub takes: Operand,
    /// True if `T` is no vector.
    pub only_scalars: bool,
    /// For what is rounded in one direction, of which rule F10 speaks: what is computed, and how it is rounded.
    pub rounded: Option<Rounded>,
    /// What it computes for bool and integers, of the operands, or their components that belong together; of [`Gives::Whole`] and
    /// [`Gives::Bool`] of the components of the operand, of [`Gives::Parts`] of the operand and the number of the part.
    bits: fn(Scalar, &[u64]) -> u64,
    /// The same for floats; [`Gives::Bits`] has the function of bits for them, too.
    floats: fn(&[f64]) -> f64,
    /// What is undefined for some integers.
    undefined: fn(Scalar, &[u64]) -> Option<Undefined>,
}

/// A function of one number; floats do not have it.
const NUMBER: IntrinsicInfo = IntrinsicInfo {
    name: "",
    values: 1,
    offsets: 0,
    bools: 0,
    gives: Gives::Same,
    takes: Operand::Number,
    only_scalars: false,
    rounded: None,
    bits: |_, x| x[0],
    floats: |x| x[0],
    undefined: |_, _| None,
};

const SIGNED: IntrinsicInfo = IntrinsicInfo { takes: Operand::Signed, ..NUMBER };
const WORD: IntrinsicInfo = IntrinsicInfo { takes: Operand::Word, ..NUMBER };
const FLOAT: IntrinsicInfo = IntrinsicInfo { takes: Operand::Float, ..NUMBER };
const CARRY: IntrinsicInfo = IntrinsicInfo { values: 2, takes: Operand::Uint, ..NUMBER };
const BYTES: IntrinsicInfo = IntrinsicInfo { only_scalars: true, ..WORD };
const REMAINDER: IntrinsicInfo = IntrinsicInfo {
    values: 2,
    takes: Operand::SignedInteger,
    undefined: |scalar, x| undefined_quotient(scalar, x[0], x[1]),
    ..NUMBER
};
/// The bits of a float that these bits are made, by a change of its own.
fn of_bits(scalar: Scalar, bits: u64, change: fn(Scalar, u64) -> u64) -> u64 {
    float::of_size(scalar.size()).map_or(bits, |float| change(float, float::without_signalling(float, bits)))
}

const FROM_BITS: IntrinsicInfo = IntrinsicInfo {
    takes: Operand::FloatBits(16, 64),
    gives: Gives::Float,
    bits: |scalar, x| of_bits(scalar, x[0], |_, bits| bits),
    ..NUMBER
};
const BOOLS: IntrinsicInfo = IntrinsicInfo { takes: Operand::Bool, gives: Gives::Bool, ..NUMBER };

/// An integer of so many bits from a vector.
const fn pack(size: u32) -> IntrinsicInfo {
    IntrinsicInfo {
        takes: Operand::Integer,
        gives: Gives::Whole(size),
        bits: |scalar, x| x.iter().rev().fold(0, |whole, &part| whole << (scalar.size() & 63) | part),
        ..NUMBER
    }
}

/// The row of a function that gives parts of so many bits.
macro_rules! unpack {
    ($size:literal) => {
        IntrinsicInfo {
            takes: Operand::Integer,
            gives: Gives::Parts($size),
            bits: |_, x| x[0] >> ($size * x[1]) & ((1 << $size) - 1),
            ..NUMBER
        }
    };
}

/// The row of a rounded operation.
macro_rules! rounded {
    ($rounding:ident, $($operation:tt)+) => {{
        const ROUNDED: Rounded =
            Rounded { operation: Operation::$($operation)+, rounding: Rounding::$rounding };
        IntrinsicInfo {
            values: ROUNDED.operation.operands(),
            takes: match ROUNDED.operation {
                Operation::Add | Operation::Sub | Operation::Mul => Operand::FloatBits(16, 32),
                // Shorter ones are exact.
                Operation::OfInteger(to) => Operand::IntegerFrom(to.size()),
                Operation::OfFloat(to) => Operand::FloatBits(2 * to.size(), 64),
            },
            gives: match ROUNDED.operation {
                Operation::OfInteger(to) | Operation::OfFloat(to) => Gives::BitsOf(to.size()),
                _ => Gives::Bits,
            },
            rounded: Some(ROUNDED),
            bits: |scalar, x| ROUNDED.bits(scalar, x),
            ..NUMBER
        }
    }};
}

/// The pattern of all rounded operations ([`Intrinsic::rounded`]), for a `match` that names every intrinsic.
#[macro_export]
macro_rules! rounded_intrinsics {
    () => {
        $crate::ops::Intrinsic::FAddRte
            | $crate::ops::Intrinsic::FAddRtz
            | $crate::ops::Intrinsic::FSubRte
            | $crate::ops::Intrinsic::FSubRtz
            | $crate::ops::Intrinsic::FMulRte
            | $crate::ops::Intrinsic::FMulRtz
            | $crate::ops::Intrinsic::IntToHalfRte
            | $crate::ops::Intrinsic::IntToHalfRtz
            | $crate::ops::Intrinsic::IntToFloatRte
            | $crate::ops::Intrinsic::IntToFloatRtz
            | $crate::ops::Intrinsic::FloatToHalfRte
            | $crate::ops::Intrinsic::FloatToHalfRtz
            | $crate::ops::Intrinsic::DoubleToFloatRte
            | $crate::ops::Intrinsic::DoubleToFloatRtz
    };
}

impl IntrinsicInfo {
    /// How many operands it takes.
    pub const fn operands(&self) -> usize {
        self.values + self.offsets + self.bools
    }

    /// The type of operand `i`, for a first one of type `ty`.
    pub fn operand_type(&self, i: usize, ty: Type) -> Type {
        match i.checked_sub(self.values) {
            None => ty,
            Some(i) if i < self.offsets => Type::INT,
            Some(_) => Type { scalar: Scalar::Bool, ..ty },
        }
    }

    /// The type of the result, for a first operand of type `ty`; `None` if it does not take that.
    pub fn result(&self, ty: Type) -> Option<Type> {
        let integer = |size: u32| {
            let like = |scalar: &Scalar| scalar.size() == size && scalar.is_signed() == ty.scalar.is_signed();
            Scalar::INTEGERS.into_iter().find(like)
        };
        let unsigned =
            |size: u32| Scalar::INTEGERS.into_iter().find(|scalar| scalar.size() == size && !scalar.is_signed());
        let length = ty.scalar.size() * u32::from(ty.width);
        if !self.takes.admits(ty.scalar) || self.only_scalars && ty.width > 1 {
            return None;
        }
        match self.gives {
            Gives::Same => Some(ty),
            Gives::Int => Some(Type { scalar: Scalar::Int, ..ty }),
            Gives::Float => float::of_size(ty.scalar.size()).map(|scalar| Type { scalar, ..ty }),
            Gives::Bits => unsigned(ty.scalar.size()).map(|scalar| Type { scalar, ..ty }),
            Gives::BitsOf(size) => unsigned(size).map(|scalar| Type { scalar, ..ty }),
            Gives::Bool if ty.width > 1 => Some(Type::BOOL),
            Gives::Whole(size) if ty.width > 1 && size == length => integer(size).map(Type::scalar),
            Gives::Parts(size) if ty.width == 1 && (2..=4).contains(&(length / size)) => {
                integer(size).map(|part| Type::vector(part, (length / size) as u8))
            }
            Gives::Bool | Gives::Whole(_) | Gives::Parts(_) => None,
        }
    }

    /// True if components of the result are computed of those of the operands, one by one.
    pub const fn is_componentwise(&self) -> bool {
        matches!(self.gives, Gives::Same | Gives::Int | Gives::Float | Gives::Bits | Gives::BitsOf(_))
    }
}

operators! {
    /// A built-in function of GLSL §8.3 (numbers) and §8.8 (int and uint only, docs/rules.md, section N), on each component, or the hint of
    /// GL_EXT_expect_assume.
    Intrinsic(IntrinsicInfo) {
        /// `min(x, y)` on numbers.
        Min = "Min", "min": IntrinsicInfo {
            values: 2,
            bits: |scalar, x| min(scalar, x[0], x[1]),
            floats: |x| x[0].min(x[1]),
            ..NUMBER
        },
        /// `max(x, y)` on numbers.
        Max = "Max", "max": IntrinsicInfo {
            values: 2,
            bits: |scalar, x| max(scalar, x[0], x[1]),
            floats: |x| x[0].max(x[1]),
            ..NUMBER
        },
        /// `clamp(x, lo, hi)` on numbers; undefined if `lo > hi`.
        Clamp = "Clamp", "clamp": IntrinsicInfo {
            values: 3,
            bits: |scalar, x| min(scalar, max(scalar, x[0], x[1]), x[2]),
            floats: |x| x[0].max(x[1]).min(x[2]),
            undefined: |scalar, x| unless(!less(scalar, x[2], x[1])),
            ..NUMBER
        },
        /// `abs(x)` on signed integers and floats; the least integer is avoided (docs/rules.md, section N).
        Abs = "Abs", "abs": IntrinsicInfo {
            bits: |scalar, x| cut(scalar, value(scalar, x[0]).wrapping_abs()),
            floats: |x| x[0].abs(),
            undefined: |scalar, x| unless(value(scalar, x[0]) != scalar.least()),
            ..SIGNED
        },
        /// `sign(x)` on signed integers and floats.
        Sign = "Sign", "sign": IntrinsicInfo {
            bits: |scalar, x| cut(scalar, value(scalar, x[0]).signum()),
            floats: |x| if x[0] == 0.0 { 0.0 } else { x[0].signum() },
            ..SIGNED
        },
        /// `bitfieldExtract(x, int offset, int bits)`; undefined unless `0 <= offset`, `0 <= bits`, `offset + bits <= 32`.
        BitfieldExtract = "BitFieldExtract", "bitfieldExtract": IntrinsicInfo {
            offsets: 2,
            bits: |scalar, x| bitfield_extract(scalar.is_signed(), x[0], x[1], x[2]),
            undefined: |_, x| unless(field_fits(x[1], x[2])),
            ..WORD
        },
        /// `bitfieldInsert(base, insert, int offset, int bits)`; same condition.
        BitfieldInsert = "BitFieldInsert", "bitfieldInsert": IntrinsicInfo {
            values: 2,
            offsets: 2,
            bits: |_, x| bitfield_insert(x[0], x[1], x[2], x[3]),
            undefined: |_, x| unless(field_fits(x[2], x[3])),
            ..WORD
        },
        /// `bitfieldReverse(x)` of 32 bits.
        BitfieldReverse = "BitReverse", "bitfieldReverse":
            IntrinsicInfo { bits: |_, x| u64::from((x[0] as u32).reverse_bits()), ..WORD },
        /// `bitCount(x)`; gives int.
        BitCount = "BitCount", "bitCount":
            IntrinsicInfo { gives: Gives::Int, bits: |_, x| u64::from((x[0] as u32).count_ones()), ..WORD },
        /// `findLSB(x)`; gives int, -1 for 0.
        FindLsb = "FindILsb", "findLSB": IntrinsicInfo {
            gives: Gives::Int,
            bits: |_, x| match x[0] as u32 {
                0 => from_int(-1),
                bits => u64::from(bits.trailing_zeros()),
            },
            ..WORD
        },
        /// `findMSB(x)`; gives int, -1 for 0, and for int also for -1.
        FindMsb = "FindMsb", "findMSB": IntrinsicInfo {
            gives: Gives::Int,
            bits: |scalar, x| match if scalar.is_signed() && int(x[0]) < 0 { !(x[0] as u32) } else { x[0] as u32 } {
                0 => from_int(-1),
                bits => u64::from(31 - bits.leading_zeros()),
            },
            ..WORD
        },
        /// `floor(x)` on floats.
        Floor = "Floor", "floor": IntrinsicInfo { floats: |x| x[0].floor(), ..FLOAT },
        /// `ceil(x)` on floats.
        Ceil = "Ceil", "ceil": IntrinsicInfo { floats: |x| x[0].ceil(), ..FLOAT },
        /// `trunc(x)` on floats.
        Trunc = "Trunc", "trunc": IntrinsicInfo { floats: |x| x[0].trunc(), ..FLOAT },
        /// `expectEXT(x, expected)` on bool and integers: `x`, and a hint to the compiler, which need not come true (SPV_KHR_expect_assume).
        Expect = "Expect", "expect": IntrinsicInfo { values: 2, takes: Operand::Discrete, ..NUMBER },
        /// The high word of the product of two words (`umulExtended`, `imulExtended`).
        MulHigh = "MulExtendedHigh", "mulExtended": IntrinsicInfo {
            values: 2,
            bits: |scalar, x| match scalar.is_signed() {
                true => cut(scalar, (value(scalar, x[0]).wrapping_mul(value(scalar, x[1]))) >> 32),
                false => x[0].wrapping_mul(x[1]) >> 32,
            },
            ..WORD
        },
        /// What `uaddCarry(x, y)` carries: 1 if the sum is 2³² or more, else 0.
        AddCarry = "IAddCarry", "uaddCarry": IntrinsicInfo { bits: |_, x| x[0].wrapping_add(x[1]) >> 32, ..CARRY },
        /// What `usubBorrow(x, y)` borrows: 1 if `x < y`, else 0.
        SubBorrow = "ISubBorrow", "usubBorrow": IntrinsicInfo { bits: |_, x| u64::from(x[0] < x[1]), ..CARRY },
        /// The remainder of `x / y` with the sign of `x` (`OpSRem`, rule N13). By 0, and of the least number by -1: undefined behaviour.
        SignedRem = "SRem", "sRem": IntrinsicInfo {
            bits: |scalar, x| cut(scalar, value(scalar, x[0]).checked_rem(value(scalar, x[1])).unwrap_or(0)),
            ..REMAINDER
        },
        /// The remainder with the sign of `y` (`OpSMod`, rule N13), with the same condition.
        SignedMod = "SMod", "sMod": IntrinsicInfo {
            bits: |scalar, x| cut(scalar, modulo(value(scalar, x[0]), value(scalar, x[1]))),
            ..REMAINDER
        },
        /// `dotPacked4x8EXT(x, y)`: the sum of the products of the four bytes of two words, signed in an int
        /// (SPV_KHR_integer_dot_product).
        Dot = "DotPacked4x8", "dotPacked4x8":
            IntrinsicInfo { values: 2, bits: |scalar, x| cut(scalar, dot(scalar, x[0], x[1])), ..BYTES },
        /// `dotPacked4x8AccSatEXT(x, y, z)`: the same and `z`, as the nearest value of the type.
        DotAccSat = "DotPacked4x8AccSat", "dotPacked4x8AccSat": IntrinsicInfo {
            values: 3,
            bits: |scalar, x| {
                let least = if scalar.is_signed() { scalar.least() } else { 0 };
                let most = (scalar.bits() >> u32::from(scalar.is_signed())) as i64;
                cut(scalar, (dot(scalar, x[0], x[1]) + value(scalar, x[2])).clamp(least, most))
            },
            ..BYTES
        },
        /// `pack16(x)`: an integer of 16 bits with the bits of the components of a vector, the first one lowest (`OpBitcast`).
        Pack16 = "Pack16", "pack16": pack(16),
        /// `pack32(x)`: one of 32 bits, from bytes or halves.
        Pack32 = "Pack32", "pack32": pack(32),
        /// `pack64(x)`: one of 64 bits, from quarters or words.
        Pack64 = "Pack64", "pack64": pack(64),
        /// `unpack8(x)`: the bytes of an integer of 16 or 32 bits, lowest first (`OpBitcast`).
        Unpack8 = "Unpack8", "unpack8": unpack!(8),
        /// `unpack16(x)`: the halves of an integer of 32 bits, the quarters of one of 64.
        Unpack16 = "Unpack16", "unpack16": unpack!(16),
        /// `unpack32(x)`: the words of an integer of 64 bits.
        Unpack32 = "Unpack32", "unpack32": unpack!(32),
        /// `mix(x, y, bool)`: `y` where the bool is true, else `x`, for each component; both are evaluated.
        Mix = "Mix", "mix": IntrinsicInfo {
            values: 2,
            bools: 1,
            takes: Operand::Any,
            bits: |_, x| x[usize::from(x[2] != 0)],
            floats: |x| x[usize::from(x[2] != 0.0)],
            ..NUMBER
        },
        /// `any(x)` of a vector of bools.
        Any = "Any", "any": IntrinsicInfo { bits: |_, x| u64::from(x.contains(&1)), ..BOOLS },
        /// `all(x)` of a vector of bools.
        All = "All", "all": IntrinsicInfo { bits: |_, x| u64::from(!x.contains(&0)), ..BOOLS },
        /// The float with these bits (`OpBitcast`), a denormal made a zero of the same sign first, and a signalling NaN a quiet one: a preserved number
        /// ([`Expr::is_preserved`](crate::tree::Expr::is_preserved)).
        FromBits = "BitsToFloat", "bitsToFloat": IntrinsicInfo {
            bits: |scalar, x| of_bits(scalar, x[0], float::without_denormals),
            ..FROM_BITS
        },
        /// The float with these bits, which may be a denormal, but no signalling NaN. For programs that ask for DenormPreserve, too.
        FromAllBits = "BitsToFloatOrDenormal", "bitsToFloatOrDenormal": FROM_BITS,
        /// The bits of a preserved number (`OpBitcast`); of every NaN those of one (`OpIsNan`).
        ToBits = "FloatToBits", "floatToBits": IntrinsicInfo {
            takes: Operand::Float,
            gives: Gives::Bits,
            bits: |scalar, x| float::with_one_nan(scalar, x[0]),
            ..NUMBER
        },
        /// The bits of the sum of the floats of 16 or 32 bits with these bits, rounded to nearest, ties to even (`OpFAdd`).
        FAddRte = "FAddRTE", "fAddRTE": rounded!(TiesToEven, Add),
        /// The same, rounded toward zero.
        FAddRtz = "FAddRTZ", "fAddRTZ": rounded!(TowardZero, Add),
        /// The bits of the difference, rounded to nearest, ties to even (`OpFSub`).
        FSubRte = "FSubRTE", "fSubRTE": rounded!(TiesToEven, Sub),
        /// The same, rounded toward zero.
        FSubRtz = "FSubRTZ", "fSubRTZ": rounded!(TowardZero, Sub),
        /// The bits of the product, rounded to nearest, ties to even (`OpFMul`).
        FMulRte = "FMulRTE", "fMulRTE": rounded!(TiesToEven, Mul),
        /// The same, rounded toward zero.
        FMulRtz = "FMulRTZ", "fMulRTZ": rounded!(TowardZero, Mul),
        /// The bits of the float of 16 bits that an integer is converted to, rounded to nearest, ties to even (`OpConvertSToF`, `OpConvertUToF`).
        IntToHalfRte = "ConvertToF16RTE", "convertToF16RTE": rounded!(TiesToEven, OfInteger(Scalar::Float16)),
        /// The same, rounded toward zero.
        IntToHalfRtz = "ConvertToF16RTZ", "convertToF16RTZ": rounded!(TowardZero, OfInteger(Scalar::Float16)),
        /// The bits of the float of 32 bits that an integer is converted to, rounded to nearest, ties to even (the same instructions).
        IntToFloatRte = "ConvertToF32RTE", "convertToF32RTE": rounded!(TiesToEven, OfInteger(Scalar::Float)),
        /// The same, rounded toward zero.
        IntToFloatRtz = "ConvertToF32RTZ", "convertToF32RTZ": rounded!(TowardZero, OfInteger(Scalar::Float)),
        /// The bits of the float of 16 bits that a longer one with these bits is converted to, rounded to nearest, ties to even (`OpFConvert`).
        FloatToHalfRte = "FConvertToF16RTE", "fConvertToF16RTE": rounded!(TiesToEven, OfFloat(Scalar::Float16)),
        /// The same, rounded toward zero.
        FloatToHalfRtz = "FConvertToF16RTZ", "fConvertToF16RTZ": rounded!(TowardZero, OfFloat(Scalar::Float16)),
        /// The bits of the float of 32 bits that a double with these bits is converted to, rounded to nearest, ties to even (`OpFConvert`).
        DoubleToFloatRte = "FConvertToF32RTE", "fConvertToF32RTE": rounded!(TiesToEven, OfFloat(Scalar::Float)),
        /// The same, rounded toward zero.
        DoubleToFloatRtz = "FConvertToF32RTZ", "fConvertToF32RTZ": rounded!(TowardZero, OfFloat(Scalar::Float)),
    }
}

impl Intrinsic {
    /// True for what makes preserved numbers of bits (docs/rules.md, rule F6).
    pub const fn is_from_bits(self) -> bool {
        matches!(self, Intrinsic::FromBits | Intrinsic::FromAllBits)
    }

    /// True for what only preserved numbers have: the ways from bits and to them.
    pub const fn is_of_bits(self) -> bool {
        self.is_from_bits() || matches!(self, Intrinsic::ToBits)
    }

    /// What is rounded in one direction, and which; `None` if nothing is (docs/rules.md, rule F10).
    pub const fn rounded(self) -> Option<Rounded> {
        self.info().rounded
    }

    /// The one that computes this.
    pub fn of_rounded(rounded: Rounded) -> Option<Intrinsic> {
        Intrinsic::ALL.into_iter().find(|op| op.rounded() == Some(rounded))
    }

    /// True for the integer dot products, which a device may lack.
    pub const fn is_dot(self) -> bool {
        matches!(self, Intrinsic::Dot | Intrinsic::DotAccSat)
    }

    /// True for the remainders of numbers that may be negative, which a device may lack.
    pub const fn is_signed_remainder(self) -> bool {
        matches!(self, Intrinsic::SignedRem | Intrinsic::SignedMod)
    }
}

/// `op x` for a whole column of a scalar type.
pub fn unary(op: UnaryOp, scalar: Scalar, x: &[u64], out: &mut [u64]) {
    let info = op.info();
    if scalar.is_float() {
        return float::map(scalar, x, out, info.floats);
    }
    out.iter_mut().zip(x).for_each(|(o, &x)| *o = (info.bits)(scalar, x));
}

/// `x op y` for a whole column; `scalar` is the type of `x`. The operators that floats do not have give zero.
pub fn binary(op: BinaryOp, scalar: Scalar, x: &[u64], y: &[u64], out: &mut [u64]) {
    let info = op.info();
    (if scalar.is_float() { info.floats } else { info.columns })(scalar, x, y, out);
}

/// What is undefined about `x op y` for one lane (docs/rules.md, section N).
pub fn binary_undefined(op: BinaryOp, scalar: Scalar, x: u64, y: u64) -> Option<Undefined> {
    op.info().undefined?(scalar, x, y)
}

/// True for the operators for which [`binary_undefined`] can give something.
pub const fn binary_may_be_undefined(op: BinaryOp) -> bool {
    op.info().undefined.is_some()
}

/// The intrinsic for one lane; `scalar` is the type of the first operand. Those that floats do not have give the operand.
pub fn intrinsic(op: Intrinsic, scalar: Scalar, args: &[u64]) -> u64 {
    let info = op.info();
    if !scalar.is_float() || info.gives == Gives::Bits {
        return (info.bits)(scalar, args);
    }
    let mut numbers = [0.0; 4];
    numbers.iter_mut().zip(args).for_each(|(number, &bits)| *number = float::value(scalar, bits));
    float::bits(scalar, (info.floats)(&numbers))
}

/// What is undefined about the intrinsic for one lane.
pub fn intrinsic_undefined(op: Intrinsic, scalar: Scalar, args: &[u64]) -> Option<Undefined> {
    // `tangle_analysis::validate` sees to the bounds of a clamp of floats.
    if scalar.is_float() { None } else { (op.info().undefined)(scalar, args) }
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
mod tests;
