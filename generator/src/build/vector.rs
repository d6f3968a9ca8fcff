//! Operators and built-in functions on vectors, each as often as any other.

use tangle_program::ops::{BinaryOp, Gives, Intrinsic, UnaryOp};
use tangle_program::tree::Expr;
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::expression::is_left_to_drivers;
use super::float::splat;
use super::term::{Want, bin, number, uint};

/// What may stand on vectors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Function(Intrinsic),
}

/// All that gives numbers.
fn operators() -> impl Iterator<Item = Operator> {
    let unary = UnaryOp::ALL.into_iter().map(Operator::Unary);
    let binary = BinaryOp::ALL.into_iter().filter(|op| !op.is_comparison() && !op.is_logical());
    unary.chain(binary.map(Operator::Binary)).chain(Intrinsic::ALL.into_iter().map(Operator::Function))
}

impl Operator {
    /// True if it takes vectors of the type and gives such a one.
    fn fits(self, ty: Type) -> bool {
        match self {
            Operator::Unary(op) => op.info().takes.admits(ty.scalar),
            Operator::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) => true,
            Operator::Binary(_) => ty.scalar.is_integer(),
            Operator::Function(op) => op.info().result(ty) == Some(ty),
        }
    }
}

impl Builder<'_> {
    /// A component of what an operator makes of vectors.
    pub(crate) fn component_of_operated(&mut self, scalar: Scalar, want: Want) -> Expr {
        let width = self.draw.range(2, 4) as u8;
        let vector = self.operated(Type::vector(scalar, width), want);
        Expr::Component(Box::new(vector), self.draw.below(width.into()) as u8)
    }

    /// A vector of numbers that an operator or a function makes of others, with operands for which it is defined.
    pub(crate) fn operated(&mut self, ty: Type, want: Want) -> Expr {
        let hints = self.config.expect_assume && self.weights.hints > 0;
        let remainders = self.config.signed_remainders;
        let fitting: Vec<Operator> = operators()
            .filter(|op| match op {
                Operator::Function(Intrinsic::Expect) => hints,
                Operator::Function(op) if op.is_signed_remainder() => remainders,
                // It has operands of its own.
                Operator::Function(op) => op.rounded().is_none(),
                _ => true,
            })
            .filter(|op| op.fits(ty))
            .collect();
        let operator = self.draw.pick(&fitting);
        // Most are made of others.
        let x = match want.is_leaf() || self.draw.is_exhausted() || self.draw.percent(40) {
            true => self.vector(ty, Want { depth: 0, ..want }),
            false => self.operated(ty, want.deeper()),
        };
        let value = match operator {
            Operator::Unary(op) => Expr::unary(op, x),
            Operator::Binary(op) => self.operated_by(op, x, ty, want),
            Operator::Function(op) => self.function_of(op, x, ty, want),
        };
        self.fitted(value, ty, want.class())
    }

    /// A vector that is certainly defined.
    fn sure_vector(&mut self, ty: Type, want: Want) -> Expr {
        self.vector(ty, Want { depth: 0, ..want.defined() })
    }

    /// 2 to 9 in each component, or of signed types the negations of these.
    fn divisors(&mut self, ty: Type, want: Want) -> Expr {
        let all = |value: u32| splat(ty, number(ty.scalar, value));
        let bits = bin(BinaryOp::BitAnd, self.sure_vector(ty, want), all(7));
        let positive = bin(BinaryOp::Add, bits, all(2));
        if ty.scalar.is_signed() && self.draw.percent(40) { Expr::unary(UnaryOp::Neg, positive) } else { positive }
    }

    fn operated_by(&mut self, op: BinaryOp, x: Expr, ty: Type, want: Want) -> Expr {
        let Type { scalar, .. } = ty;
        let all = |value: u32| splat(ty, number(scalar, value));
        let words = Type { scalar: Scalar::Uint, ..ty };
        let y = match op {
            _ if op.is_shift() => {
                let amounts = self.sure_vector(words, want);
                bin(BinaryOp::BitAnd, amounts, splat(words, uint(scalar.size() - 1)))
            }
            BinaryOp::Div | BinaryOp::Mod if !scalar.is_signed() => {
                bin(BinaryOp::BitOr, self.sure_vector(ty, want), all(1))
            }
            BinaryOp::Div => self.divisors(ty, want),
            // Nothing negative meets `%` (rule N3).
            BinaryOp::Mod => {
                let positive = all((scalar.bits() >> 1).min(0xFFFF) as u32);
                let divisors = bin(BinaryOp::BitAnd, self.sure_vector(ty, want), all(7));
                return bin(op, bin(BinaryOp::BitAnd, x, positive), bin(BinaryOp::Add, divisors, all(2)));
            }
            _ => self.vector(ty, Want { depth: 0, ..want }),
        };
        bin(op, x, y)
    }

    fn function_of(&mut self, op: Intrinsic, x: Expr, ty: Type, want: Want) -> Expr {
        let Type { scalar, .. } = ty;
        let args = match op {
            // Bits are counted and found in uints, too.
            _ if op.info().gives == Gives::Int && self.draw.percent(50) => {
                vec![self.vector(Type { scalar: Scalar::Uint, ..ty }, Want { depth: 0, ..want })]
            }
            Intrinsic::Mix => return self.chosen(ty, want),
            Intrinsic::Abs | Intrinsic::Sign if scalar.is_integer() => {
                if !is_left_to_drivers(scalar, &x) {
                    return x;
                }
                // Half of a number is never the least one.
                let ones = splat(Type { scalar: Scalar::Uint, ..ty }, uint(1));
                vec![if op == Intrinsic::Abs { bin(BinaryOp::Shr, x, ones) } else { x }]
            }
            Intrinsic::Clamp => {
                let low = self.draw.below(8);
                let high = low + self.draw.below(24);
                vec![x, splat(ty, number(scalar, low)), splat(ty, number(scalar, high))]
            }
            Intrinsic::BitfieldExtract | Intrinsic::BitfieldInsert => {
                let mut args = vec![x];
                if op == Intrinsic::BitfieldInsert {
                    args.push(self.vector(ty, Want { depth: 0, ..want }));
                }
                let (offset, bits) = self.field(want);
                args.extend([offset, bits]);
                args
            }
            _ if op.is_signed_remainder() => vec![x, self.divisors(ty, want)],
            _ if op.info().values > 1 => vec![x, self.vector(ty, Want { depth: 0, ..want })],
            _ => vec![x],
        };
        Expr::Intrinsic(op, args)
    }
}
