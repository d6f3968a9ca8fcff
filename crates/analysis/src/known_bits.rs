//! Bits of integers that masks fix: `x & 0x007FFFFF | 0x3F800000` has the exponent of 1, whatever `x` is.

use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::tree::{Expr, Function};
use tangle_program::types::Scalar;

/// What is known of the bits of an integer, or of those of every component of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownBits {
    /// Those that are 1.
    pub ones: u64,
    /// Those that are 0. Bits above the width of the type are among them.
    pub zeros: u64,
}

impl KnownBits {
    const NOTHING: KnownBits = KnownBits { ones: 0, zeros: 0 };

    fn exactly(bits: u64) -> KnownBits {
        KnownBits { ones: bits, zeros: !bits }
    }

    /// What both say.
    fn or(self, other: KnownBits) -> KnownBits {
        KnownBits { ones: self.ones & other.ones, zeros: self.zeros & other.zeros }
    }

    fn cut(self, scalar: Scalar) -> KnownBits {
        KnownBits { ones: self.ones & scalar.bits(), zeros: self.zeros | !scalar.bits() }
    }

    /// The least value that a field of bits can have, and the greatest.
    pub fn field(self, offset: u32, bits: u32) -> (u64, u64) {
        let mask = (1 << bits) - 1;
        (self.ones >> offset & mask, !self.zeros >> offset & mask)
    }

    /// A bit, if it is known.
    pub fn bit(self, number: u32) -> Option<bool> {
        match (self.ones >> number & 1, self.zeros >> number & 1) {
            (1, _) => Some(true),
            (_, 1) => Some(false),
            _ => None,
        }
    }
}

/// What an expression by itself shows of the bits of its value: masks, literals and what combines them. `scalar` is its type, an integer.
pub(crate) fn known_bits(expr: &Expr, scalar: Scalar, function: &Function) -> KnownBits {
    let of = |expr: &Expr| known_bits(expr, scalar, function);
    let known = match expr {
        Expr::Uint(bits) => KnownBits::exactly((*bits).into()),
        Expr::Int(value) => KnownBits::exactly(u64::from(*value as u32)),
        Expr::Unary(UnaryOp::BitNot, x) => {
            let KnownBits { ones, zeros } = of(x);
            KnownBits { ones: zeros, zeros: ones }
        }
        Expr::Binary(BinaryOp::BitAnd, x, y) => {
            let (x, y) = (of(x), of(y));
            KnownBits { ones: x.ones & y.ones, zeros: x.zeros | y.zeros }
        }
        Expr::Binary(BinaryOp::BitOr, x, y) => {
            let (x, y) = (of(x), of(y));
            KnownBits { ones: x.ones | y.ones, zeros: x.zeros & y.zeros }
        }
        Expr::Binary(op @ (BinaryOp::Shl | BinaryOp::Shr), x, count) => match (op, literal(count)) {
            (BinaryOp::Shl, Some(n)) if n < scalar.size() => {
                let KnownBits { ones, zeros } = of(x);
                KnownBits { ones: ones << n, zeros: zeros << n | ((1 << n) - 1) }
            }
            (_, Some(n)) if n < scalar.size() && !scalar.is_signed() => {
                let KnownBits { ones, zeros } = of(x);
                KnownBits { ones: ones >> n, zeros: zeros >> n | !(u64::MAX >> n) }
            }
            _ => KnownBits::NOTHING,
        },
        Expr::Select(_, x, y) => of(x).or(of(y)),
        Expr::Intrinsic(Intrinsic::Mix, args) => match args.as_slice() {
            [x, y, _] => of(x).or(of(y)),
            _ => KnownBits::NOTHING,
        },
        Expr::Vector(_, parts) => parts.iter().map(of).reduce(KnownBits::or).unwrap_or(KnownBits::NOTHING),
        Expr::Component(x, c) => match &**x {
            Expr::Vector(_, parts) => parts.get(usize::from(*c)).map_or(KnownBits::NOTHING, of),
            x => of(x),
        },
        Expr::Cast(_, x) => match x.ty(function) {
            Some(ty) if ty.scalar.is_integer() => {
                let (from, known) = (ty.scalar, known_bits(x, ty.scalar, function));
                // A sign that is not known to be 0 may fill the bits above.
                let filled = from.is_signed() && known.bit(from.size() - 1) != Some(false);
                KnownBits { zeros: if filled { known.zeros & from.bits() } else { known.zeros }, ..known }
            }
            _ => KnownBits::NOTHING,
        },
        _ => KnownBits::NOTHING,
    };
    known.cut(scalar)
}

/// The number that a shift by a literal, or by a vector of one literal, shifts by.
fn literal(count: &Expr) -> Option<u32> {
    match count {
        Expr::Uint(n) => Some(*n),
        Expr::Vector(_, parts) => {
            let first = parts.first().and_then(literal)?;
            parts.iter().all(|part| literal(part) == Some(first)).then_some(first)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::tree::Local;
    use tangle_program::types::Type;

    #[test]
    fn bits_table() {
        let locals = [Scalar::Uint, Scalar::Int, Scalar::Uint64, Scalar::Bool];
        let locals = locals.map(|scalar| Local::new("x", Type::scalar(scalar))).into();
        let function = Function { name: "main".into(), params: vec![], result: None, locals, body: vec![] };
        let (u, i, long, flag) = (Expr::Var(0), Expr::Var(1), Expr::Var(2), Expr::Var(3));
        let bin = |x: &Expr, op, y: &Expr| Expr::binary(op, x.clone(), y.clone());
        let cast = |scalar, x: &Expr| Expr::Cast(scalar, Box::new(x.clone()));
        let masked =
            bin(&bin(&u, BinaryOp::BitAnd, &Expr::Uint(0x807F_FFFF)), BinaryOp::BitOr, &Expr::Uint(0x3F80_0000));
        let high = bin(&cast(Scalar::Uint64, &Expr::Uint(0x3FF0_0000)), BinaryOp::Shl, &Expr::Uint(32));
        let chosen = |x: u32, y: u32| Expr::Intrinsic(Intrinsic::Mix, vec![Expr::Uint(x), Expr::Uint(y), flag.clone()]);
        let nothing = |scalar: Scalar| (0, !scalar.bits());
        let above = !u64::from(u32::MAX);
        for (expr, scalar, expected) in [
            (u.clone(), Scalar::Uint, nothing(Scalar::Uint)),
            (masked.clone(), Scalar::Uint, (0x3F80_0000, above | 0x4000_0000)),
            (high.clone(), Scalar::Uint64, (0x3FF0_0000 << 32, !(0x3FF0_0000 << 32))),
            (bin(&long, BinaryOp::BitOr, &high), Scalar::Uint64, (0x3FF0_0000 << 32, 0)),
            (chosen(0x13, 0x31), Scalar::Uint, (0x11, above | 0xFFFF_FFCC)),
            (bin(&u, BinaryOp::Shr, &Expr::Uint(28)), Scalar::Uint, (0, !0xF)),
            (bin(&u, BinaryOp::Shr, &u), Scalar::Uint, nothing(Scalar::Uint)),
            (bin(&u, BinaryOp::Shl, &Expr::Uint(4)), Scalar::Uint, (0, above | 0xF)),
            (bin(&u, BinaryOp::Shl, &Expr::Uint(32)), Scalar::Uint, nothing(Scalar::Uint)),
            (bin(&i, BinaryOp::Shr, &Expr::Uint(28)), Scalar::Int, nothing(Scalar::Int)),
            (Expr::unary(UnaryOp::BitNot, Expr::Uint(5)), Scalar::Uint, (0xFFFF_FFFA, above | 5)),
            (cast(Scalar::Uint16, &masked), Scalar::Uint16, (0, !0xFFFF)),
            (cast(Scalar::Uint64, &i), Scalar::Uint64, (0, 0)),
            (cast(Scalar::Uint64, &u), Scalar::Uint64, (0, above)),
            (cast(Scalar::Uint64, &Expr::Int(-1)), Scalar::Uint64, (0xFFFF_FFFF, 0)),
            (cast(Scalar::Uint, &flag), Scalar::Uint, nothing(Scalar::Uint)),
            (
                Expr::Component(Box::new(Expr::Vector(Type::vector(Scalar::Uint, 2), vec![u.clone(), masked])), 1),
                Scalar::Uint,
                (0x3F80_0000, above | 0x4000_0000),
            ),
        ] {
            let KnownBits { ones, zeros } = known_bits(&expr, scalar, &function);
            assert_eq!((ones, zeros), expected, "{expr:?}");
        }
        assert_eq!(KnownBits { ones: 0x3F80_0000, zeros: 0x4000_0000 }.field(23, 8), (0x7F, 0x7F));
        assert_eq!(KnownBits { ones: 0x0080_0000, zeros: 0x0100_0000 }.field(23, 2), (1, 1));
        assert_eq!(KnownBits { ones: 2, zeros: 1 }.bit(1), Some(true));
    }
}
