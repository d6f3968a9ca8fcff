//! Shapes of integer arithmetic that compilers recognise and rewrite, and that they got wrong: rotates, carries, packed bytes, saturation.
//!
//! Every one is defined for all operands: amounts stay below the width, divisors are not 0, and no least integer meets -1.

use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::tree::Expr;
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::expression::is_left_to_drivers;
use super::term::{Want, bin, cast, number, uint};

/// Makes an expression of a type.
type Make = fn(&mut Builder<'_>, Scalar, Want) -> Expr;

/// On any integer type, with weights.
const IDIOMS: [(u32, Make); 11] = [
    (14, funnel),
    (9, pair),
    (7, high_product),
    (12, bytes),
    (10, packed),
    (8, difference),
    (8, saturated),
    (12, logic),
    (10, extreme),
    (10, quotient),
    (9, mixed),
];

fn call(op: Intrinsic, args: impl Into<Vec<Expr>>) -> Expr {
    Expr::Intrinsic(op, args.into())
}

fn not(x: Expr) -> Expr {
    Expr::unary(UnaryOp::BitNot, x)
}

fn low_byte(x: Expr) -> Expr {
    bin(BinaryOp::BitAnd, x, uint(0xFF))
}

fn component(x: Expr, c: u32) -> Expr {
    Expr::Component(Box::new(x), c as u8)
}

/// A word as a number of another integer type.
fn to(scalar: Scalar, word: Expr) -> Expr {
    if scalar == Scalar::Uint { word } else { cast(scalar, word) }
}

/// A number of an integer type as one of another.
fn retyped(from: Scalar, to: Scalar, x: Expr) -> Expr {
    if from == to { x } else { cast(to, x) }
}

impl Builder<'_> {
    /// A number of an integer type in one of the shapes.
    pub(crate) fn idiom(&mut self, scalar: Scalar, want: Want) -> Expr {
        if self.config.dot_product && self.draw.percent(9) {
            return dot(self, scalar, want);
        }
        let make = self.draw.weighted(&IDIOMS);
        make(self, scalar, want)
    }

    /// An operand that stands in several places: without operations.
    fn plain(&mut self, scalar: Scalar, want: Want) -> Expr {
        let leaf = Want::of(want.class(), 0);
        if self.draw.percent(10) {
            let far = self.far(scalar);
            let x = self.varying(scalar, leaf);
            return bin(self.draw.pick(&[BinaryOp::BitXor, BinaryOp::Add, BinaryOp::BitOr]), x, far);
        }
        self.varying(scalar, leaf)
    }

    /// The same, and never undefined.
    fn sure(&mut self, scalar: Scalar, want: Want) -> Expr {
        self.varying(scalar, Want::of(want.defined().class(), 0))
    }

    /// A literal at an end of the range of a type, or with all bits set.
    fn far(&mut self, scalar: Scalar) -> Expr {
        let top = match scalar.size() {
            64 => bin(BinaryOp::Shl, number(scalar, 1), uint(63)),
            size => number(scalar, 1 << (size - 1)),
        };
        match self.draw.below(4) {
            0 | 1 => top,
            2 => not(top),
            _ => not(number(scalar, self.draw.below(2))),
        }
    }

    /// Integers of a size are there, and wanted.
    fn uses(&mut self, scalar: Scalar) -> bool {
        let weight = self.weights.scalars[scalar as usize];
        self.config.scalars.contains(&scalar) && (weight > 0 || self.draw.percent(25))
    }
}

/// `x << a | y >> b`, a rotate if both are one: by a literal, by a variable, by 0.
fn funnel(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    use BinaryOp::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};
    // The other type shifts in its sign.
    let ty = if b.draw.percent(80) { scalar.unsigned() } else { scalar };
    let (size, most) = (scalar.size(), scalar.size() - 1);
    let high = b.plain(ty, want);
    let low = if b.draw.percent(55) { high.clone() } else { b.plain(ty, want) };
    let amount = |b: &mut Builder<'_>| {
        let amount = match b.draw.below(4) {
            0 => b.constant_word(),
            1 => uint(size * b.draw.below(2)),
            _ => b.sure(Scalar::Uint, want),
        };
        bin(BitAnd, amount, uint(most))
    };
    let (left, right) = match b.draw.below(6) {
        0..=2 => {
            let by = b.draw.pick(&[8, 1, 16, 7, 24, 31]) % size;
            let by = if by == 0 { most } else { by };
            (uint(by), uint(size - by))
        }
        3 => {
            let by = amount(b);
            let Expr::Binary(_, word, _) = by.clone() else { return high };
            (by, bin(BitAnd, Expr::unary(UnaryOp::Neg, *word), uint(most)))
        }
        4 => {
            let by = amount(b);
            (by.clone(), bin(BitAnd, bin(Sub, uint(size), by), uint(most)))
        }
        _ => {
            // In two steps, so that 0 takes nothing from the other word.
            let by = amount(b);
            let half = bin(Shr, low, uint(1));
            let right = bin(Shr, half, bin(Sub, uint(most), by.clone()));
            return retyped(ty, scalar, bin(BitOr, bin(Shl, high, by), right));
        }
    };
    let (left, right) = if b.draw.percent(50) { (left, right) } else { (right, left) };
    let op = b.draw.pick(&[BitOr, BitOr, BitXor, Add]);
    retyped(ty, scalar, bin(op, bin(Shl, high, left), bin(Shr, low, right)))
}

/// Sums and differences of 64-bit numbers in pairs of words; the high word, or both.
fn pair(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    use BinaryOp::{Add, BitOr, BitXor, Lt, Shl, Shr, Sub};
    let (x, y) = (b.plain(Scalar::Uint, want), b.plain(Scalar::Uint, want));
    let (high_x, high_y) = (b.plain(Scalar::Uint, want), b.plain(Scalar::Uint, want));
    let op = b.draw.pick(&[Add, Sub]);
    if b.uses(Scalar::Uint64) && b.draw.percent(35) {
        let wide = |high: Expr, low: Expr| {
            bin(BitOr, bin(Shl, cast(Scalar::Uint64, high), uint(32)), cast(Scalar::Uint64, low))
        };
        let sum = bin(op, wide(high_x, x), wide(high_y, y));
        let sum = if b.draw.percent(50) { bin(Shr, sum, uint(32)) } else { sum };
        return retyped(Scalar::Uint64, scalar, sum);
    }
    let low = bin(op, x.clone(), y.clone());
    let carry = match (op, b.draw.percent(50)) {
        (Add, true) => call(Intrinsic::AddCarry, [x, y]),
        (Add, false) => cast(Scalar::Uint, bin(Lt, low.clone(), x)),
        (_, true) => call(Intrinsic::SubBorrow, [x, y]),
        (_, false) => cast(Scalar::Uint, bin(Lt, x, y)),
    };
    let high = bin(op, bin(op, high_x, high_y), carry);
    to(scalar, if b.draw.percent(50) { bin(BitXor, high, low) } else { high })
}

/// The high word of a product.
fn high_product(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    use BinaryOp::{Add, Mul, Shr};
    let word = if scalar == Scalar::Int || b.draw.percent(30) { Scalar::Int } else { Scalar::Uint };
    let x = b.varying(word, want.deeper());
    let y = match b.draw.below(4) {
        // Division by 3, 5 and 7.
        0 => number(word, b.draw.pick(&[0xAAAA_AAAB, 0xCCCC_CCCD, 0x2492_4925, 0x8000_0000])),
        _ => b.varying(word, want.deeper()),
    };
    let wide = if word == Scalar::Int { Scalar::Int64 } else { Scalar::Uint64 };
    let high = if b.draw.percent(30) && b.uses(wide) {
        cast(word, bin(Shr, bin(Mul, cast(wide, x), cast(wide, y)), uint(32)))
    } else {
        call(Intrinsic::MulHigh, [x, y])
    };
    let high = match b.draw.below(3) {
        0 => bin(Add, high, b.plain(word, want)),
        1 => bin(Shr, high, uint(b.draw.range(1, 3))),
        _ => high,
    };
    retyped(word, scalar, high)
}

/// Bytes and halves of words, by shifts and masks.
fn bytes(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    use BinaryOp::{BitAnd, BitOr, Mul, Shl, Shr};
    let (x, y) = (b.plain(Scalar::Uint, want), b.plain(Scalar::Uint, want));
    let masked = |x: &Expr, mask: u32| bin(BitAnd, x.clone(), uint(mask));
    let by = |n: u32| uint(8 * n);
    let byte = |b: &mut Builder<'_>, x: &Expr| low_byte(bin(Shr, x.clone(), by(b.draw.range(1, 3))));
    let word = match b.draw.below(7) {
        0 => byte(b, &x),
        // With its sign.
        1 => {
            let left = by(b.draw.range(1, 3));
            cast(Scalar::Uint, bin(Shr, bin(Shl, cast(Scalar::Int, x), left), by(3)))
        }
        // By a variable.
        2 => {
            let which = bin(BitAnd, b.sure(Scalar::Uint, want), uint(3));
            low_byte(bin(Shr, x, bin(Mul, which, uint(8))))
        }
        3 => bin(BitOr, bin(Shr, masked(&x, 0xFF00_FF00), by(1)), bin(Shl, masked(&x, 0x00FF_00FF), by(1))),
        4 => bin(BitOr, bin(Shl, x, by(2)), masked(&y, 0xFFFF)),
        5 => bin(BitOr, masked(&x, 0xFFFF_0000), bin(Shr, y, by(2))),
        _ => {
            let parts = [byte(b, &x), bin(Shl, byte(b, &y), by(1)), bin(Shl, byte(b, &x), by(2)), bin(Shl, y, by(3))];
            let [first, second, third, fourth] = parts;
            bin(BitOr, bin(BitOr, first, second), bin(BitOr, third, fourth))
        }
    };
    to(scalar, word)
}

/// Integers packed into a wider one and taken out of it, perhaps in another order or changed on the way.
fn packed(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    use BinaryOp::{Add, BitAnd, Sub};
    use Intrinsic as I;
    let kinds = [
        (Scalar::Uint, Scalar::Uint8, I::Unpack8, I::Pack32),
        (Scalar::Uint, Scalar::Uint16, I::Unpack16, I::Pack32),
        (Scalar::Uint64, Scalar::Uint, I::Unpack32, I::Pack64),
        (Scalar::Uint16, Scalar::Uint8, I::Unpack8, I::Pack16),
        (Scalar::Uint64, Scalar::Uint16, I::Unpack16, I::Pack64),
    ];
    let (mut whole, mut part, unpack, pack) = b.draw.pick(&kinds);
    if !b.uses(whole) || !b.uses(part) {
        return bytes(b, scalar, want);
    }
    if b.draw.percent(30) {
        (whole, part) = (whole.signed(), part.signed());
    }
    let width = whole.size() / part.size();
    let ty = Type::vector(part, width as u8);
    let parts = call(unpack, [b.plain(whole, want)]);
    let value = match b.draw.below(6) {
        0 | 1 => return retyped(part, scalar, component(parts, b.draw.below(width))),
        2 => bin(b.draw.pick(&[Add, Sub, BitAnd]), parts, call(unpack, [b.plain(whole, want)])),
        3 => {
            let new = (0..width).map(|_| b.varying(part, Want::of(want.class(), 0))).collect();
            Expr::Vector(ty, new)
        }
        _ => {
            let other = call(unpack, [b.plain(whole, want)]);
            let chosen = (0..width).map(|_| {
                let of = if b.draw.percent(70) { &parts } else { &other };
                component(of.clone(), b.draw.below(width))
            });
            Expr::Vector(ty, chosen.collect())
        }
    };
    retyped(whole, scalar, call(pack, [value]))
}

/// Absolute differences, of numbers and of the bytes of words.
fn difference(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    use BinaryOp::{Add, Shr, Sub};
    use Intrinsic::{Max, Min};
    let apart = |x: Expr, y: Expr| bin(Sub, call(Max, [x.clone(), y.clone()]), call(Min, [x, y]));
    if b.draw.percent(40) {
        return apart(b.plain(scalar, want), b.plain(scalar, want));
    }
    let (x, y) = (b.plain(Scalar::Uint, want), b.plain(Scalar::Uint, want));
    let byte = |x: &Expr, k: u32| low_byte(if k == 0 { x.clone() } else { bin(Shr, x.clone(), uint(8 * k)) });
    let mut sum = if b.draw.percent(50) { b.plain(Scalar::Uint, want) } else { apart(byte(&x, 3), byte(&y, 3)) };
    for k in 0..b.draw.range(2, 3) {
        sum = bin(Add, sum, apart(byte(&x, k), byte(&y, k)));
    }
    to(scalar, sum)
}

/// Sums and differences that stop at an end of the range.
fn saturated(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    use BinaryOp::{Add, Sub};
    use Intrinsic::{AddCarry, Clamp, Max, Min, Mix, SubBorrow};
    let ty = scalar.unsigned();
    let (x, y) = (b.plain(ty, want), b.plain(ty, want));
    let of_words = ty == Scalar::Uint;
    let sum = match b.draw.below(6) {
        0 | 1 => bin(Add, x.clone(), call(Min, [y, not(x)])),
        2 => bin(Sub, call(Max, [x, y.clone()]), y),
        3 => bin(Sub, x.clone(), call(Min, [x, y])),
        4 if of_words && b.draw.percent(50) => {
            let (sum, carry) = (bin(Add, x.clone(), y.clone()), call(AddCarry, [x, y]));
            call(Mix, [sum, uint(u32::MAX), cast(Scalar::Bool, carry)])
        }
        4 if of_words => {
            let (rest, borrow) = (bin(Sub, x.clone(), y.clone()), call(SubBorrow, [x, y]));
            call(Mix, [rest, uint(0), cast(Scalar::Bool, borrow)])
        }
        // Narrow ones in ints.
        _ => {
            let narrow = b.draw.pick(&[8, 16]);
            let half = 1 << (narrow - 1);
            let (least, most) = if b.draw.percent(50) { (-half, half - 1) } else { (0, 2 * half - 1) };
            let small = |x: Expr| {
                let part = bin(BinaryOp::BitAnd, retyped(ty, Scalar::Int, x), Expr::Int(2 * half - 1));
                bin(Add, part, Expr::Int(least))
            };
            let sum = bin(b.draw.pick(&[Add, Sub]), small(x), small(y));
            return retyped(Scalar::Int, scalar, call(Clamp, [sum, Expr::Int(least), Expr::Int(most)]));
        }
    };
    retyped(ty, scalar, sum)
}

/// Bitwise functions of three operands, of which some are one.
fn logic(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    use BinaryOp::{BitAnd, BitOr, BitXor};
    let (x, y) = (b.plain(scalar, want), b.plain(scalar, want));
    let z = match b.draw.below(5) {
        0 => x.clone(),
        1 => y.clone(),
        _ => b.plain(scalar, want),
    };
    let both = |op, x: &Expr, y: &Expr| bin(op, x.clone(), y.clone());
    let inverse = |x: &Expr| not(x.clone());
    match b.draw.below(10) {
        0 | 1 => {
            let same = both(b.draw.pick(&[BitXor, BitAnd, BitOr]), &x, &x);
            both(b.draw.pick(&[BitXor, BitOr, BitAnd]), &same, &y)
        }
        2 => both(BitOr, &both(BitAnd, &x, &y), &both(BitAnd, &inverse(&x), &z)),
        3 => both(BitXor, &z, &both(BitAnd, &x, &both(BitXor, &y, &z))),
        4 => both(BitOr, &both(BitOr, &both(BitAnd, &x, &y), &both(BitAnd, &y, &z)), &both(BitAnd, &z, &x)),
        _ => {
            let (inner, outer) = (b.draw.pick(&[BitXor, BitAnd, BitOr]), b.draw.pick(&[BitOr, BitXor, BitAnd]));
            let mut some = |x: Expr| if b.draw.percent(30) { not(x) } else { x };
            let (x, y, z) = (some(x), some(y), some(z));
            let value = bin(outer, bin(inner, x, y), z);
            some(value)
        }
    }
}

/// Absolute values, signs and leading zeros where the range ends.
fn extreme(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    use BinaryOp::{Add, BitAnd, BitOr, BitXor, Eq, Lt, Shr, Sub};
    use Intrinsic::{Abs, BitCount, FindLsb, FindMsb, Max, Min, Sign};
    let signed = scalar.signed();
    let top = uint(scalar.size() - 1);
    let mut x = b.plain(signed, want);
    if b.draw.percent(50) {
        // Where the range ends, and one beside it.
        let far = b.far(signed);
        x = match b.draw.below(3) {
            0 => bin(BitOr, x, far),
            1 => bin(Add, bin(BitAnd, x, number(signed, 1)), far),
            _ => call(b.draw.pick(&[Max, Min]), [x, far]),
        };
    }
    let neg = |x: &Expr| Expr::unary(UnaryOp::Neg, x.clone());
    let zeros = |x: Expr| bin(Sub, Expr::Int(31), call(FindMsb, [cast(Scalar::Uint, x)]));
    let value = match b.draw.below(10) {
        0 | 1 => {
            let sign = bin(Shr, x.clone(), top);
            bin(Sub, bin(BitXor, x, sign.clone()), sign)
        }
        2 => call(Max, [x.clone(), neg(&x)]),
        3 => {
            let rest = bin(Shr, cast(scalar.unsigned(), neg(&x)), top.clone());
            bin(BitOr, bin(Shr, x, top), cast(signed, rest))
        }
        4 => cast(signed, bin(b.draw.pick(&[Lt, Eq]), x, b.far(signed))),
        5 => retyped(Scalar::Int, signed, zeros(x)),
        6 => retyped(Scalar::Int, signed, bin(Shr, zeros(x), uint(5))),
        7 => {
            let lowest = cast(Scalar::Uint, bin(BitAnd, x.clone(), neg(&x)));
            let found = b.draw.pick(&[FindMsb, BitCount, FindLsb]);
            retyped(Scalar::Int, signed, call(found, [lowest]))
        }
        8 if is_left_to_drivers(signed, &x) => {
            let least = Expr::Int(-(i32::MAX >> (32 - scalar.size().min(32))));
            call(Abs, [call(Max, [x, retyped(Scalar::Int, signed, least)])])
        }
        8 | 9 if is_left_to_drivers(signed, &x) => call(Sign, [x]),
        _ => call(Min, [call(Max, [x, b.far(signed)]), b.far(signed)]),
    };
    retyped(signed, scalar, value)
}

/// Quotients and remainders by all that cannot be 0.
fn quotient(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    use BinaryOp::{BitAnd, BitOr, Div, Mod, Mul, Shl, Shr, Sub};
    let size = scalar.size();
    let below = |b: &mut Builder<'_>| bin(BitAnd, b.sure(Scalar::Uint, want), uint(size - 1));
    if scalar.is_signed() {
        // Half of a number is never the least one.
        let half = bin(Shr, b.sure(scalar, want), uint(1));
        let divisor = match b.draw.below(4) {
            0 => Expr::unary(UnaryOp::Neg, number(scalar, b.draw.pick(&[1, 3, 2, 7, 10]))),
            1 => Expr::unary(UnaryOp::Neg, bin(BitOr, b.sure(scalar, want), number(scalar, 1))),
            _ => bin(BitOr, b.sure(scalar, want), number(scalar, b.draw.pick(&[1, 1, 2, 5]))),
        };
        if b.config.signed_remainders && b.draw.percent(40) {
            return call(b.signed_remainder(), [half, divisor]);
        }
        let quotient = bin(Div, half.clone(), divisor.clone());
        // What is left over.
        return if b.draw.percent(40) { bin(Sub, half, bin(Mul, quotient, divisor)) } else { quotient };
    }
    let dividend = b.plain(scalar, want);
    let divisor = match b.draw.below(5) {
        0 => call(Intrinsic::Max, [b.sure(scalar, want), number(scalar, 1)]),
        1 => bin(Shl, number(scalar, 1), below(b)),
        2 => bin(BitOr, bin(Shr, b.sure(scalar, want), below(b)), number(scalar, b.draw.pick(&[1, 2, 3]))),
        _ => bin(BitOr, b.sure(scalar, want), number(scalar, 1)),
    };
    // Numbers that a float holds are divided in floats.
    let small = |x: Expr| if size > 24 { bin(BitAnd, x, number(scalar, 0xFF_FFFF)) } else { x };
    let (dividend, divisor) = match b.draw.below(4) {
        0 => (small(dividend), bin(BitOr, small(divisor), number(scalar, 1))),
        1 => (dividend, bin(BitOr, small(divisor), number(scalar, 1))),
        _ => (dividend, divisor),
    };
    match b.draw.below(3) {
        0 => bin(Mod, dividend, divisor),
        1 => bin(Sub, dividend.clone(), bin(Mul, bin(Div, dividend, divisor.clone()), divisor)),
        _ => bin(Div, dividend, divisor),
    }
}

/// A component of what comparisons of vectors choose.
fn mixed(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    if b.draw.percent(40) {
        let cond = b.boolean(Want::of(want.class(), 0));
        let x = b.varying(scalar, want.deeper());
        let y = b.other_than(&x, scalar, want.deeper());
        return call(Intrinsic::Mix, [x, y, cond]);
    }
    let width = b.draw.range(2, 4);
    let mixed = b.chosen(Type::vector(scalar, width as u8), want);
    component(mixed, b.draw.below(width))
}

impl Builder<'_> {
    /// A vector of which each component is one of two, by a comparison of vectors.
    pub(crate) fn chosen(&mut self, ty: Type, want: Want) -> Expr {
        let leaf = Want::of(want.class(), 0);
        let (x, y) = (self.vector(ty, leaf), self.vector(ty, leaf));
        let cond = self.compared(ty.width, leaf);
        call(Intrinsic::Mix, [x, y, cond])
    }

    /// A vector of bools from a comparison.
    pub(crate) fn compared(&mut self, width: u8, want: Want) -> Expr {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let scalar = match self.extended_scalar() {
            Some(scalar) if self.draw.percent(60) => scalar,
            _ => self.draw.pick(&[Scalar::Uint, Scalar::Int]),
        };
        let ty = Type::vector(scalar, width);
        let op = self.draw.pick(&[Lt, Ne, Ge, Eq, Gt, Le]);
        let few = |x: Expr| {
            let mask = (0..width).map(|_| number(scalar, 3)).collect();
            bin(BinaryOp::BitAnd, x, Expr::Vector(ty, mask))
        };
        let (x, y) = (self.vector(ty, want), self.vector(ty, want));
        // Whole words are almost never equal.
        let is_equality = matches!(op, Eq | Ne) && scalar.is_integer();
        let cond = if is_equality { bin(op, few(x), few(y)) } else { bin(op, x, y) };
        if self.draw.percent(15) { Expr::unary(UnaryOp::Not, cond) } else { cond }
    }

    /// `any` or `all` of a comparison of vectors.
    pub(crate) fn any_or_all(&mut self, want: Want) -> Expr {
        let op = self.draw.pick(&[Intrinsic::Any, Intrinsic::All]);
        let width = self.draw.range(2, 4) as u8;
        call(op, [self.compared(width, want)])
    }
}

/// Sums of products of bytes.
fn dot(b: &mut Builder<'_>, scalar: Scalar, want: Want) -> Expr {
    let word = if scalar == Scalar::Int || b.draw.percent(40) { Scalar::Int } else { Scalar::Uint };
    let (x, y) = (b.plain(word, want), b.plain(word, want));
    let sum = match b.draw.below(3) {
        0 => call(Intrinsic::Dot, [x, y]),
        1 => bin(BinaryOp::Add, call(Intrinsic::Dot, [x, y]), b.plain(word, want)),
        _ => {
            let far = b.far(word);
            let start = bin(BinaryOp::BitXor, bin(BinaryOp::BitAnd, b.plain(word, want), number(word, 0x3FFF)), far);
            call(Intrinsic::DotAccSat, [x, y, start])
        }
    };
    retyped(word, scalar, sum)
}
