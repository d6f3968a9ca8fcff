//! Expressions of few leaves: what algebraic rewriting and value numbering match.
//!
//! Rules of compilers match one operand in several places: `(x << k) >> k`, `x < y ? y : x`, `x - -y`, `(x | 7) & 12`; value numbering
//! compares whole expressions. Operands that are drawn one by one hardly ever meet. Here each leaf is one of two values, one of two
//! constants, or one amount to shift by, and an expression may stand beside a twin that differs in one leaf.
//!
//! Every operator here is defined for all operands: amounts stay below the width.

use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::tree::Expr;
use tangle_program::types::Scalar;

use super::Builder;
use super::term::{Want, as_number, bin, cast, number, uint};

/// What an expression is made of.
struct Leaves {
    scalar: Scalar,
    values: [Expr; 2],
    constants: [Expr; 2],
    /// Less than the width of the type.
    amount: Expr,
}

/// The kinds of inner nodes of the expression.
#[derive(Clone, Copy)]
enum Node {
    Sum,
    Bits,
    Product,
    Unary,
    Shift,
    Extreme,
    Choice,
    Sign,
}

const NODES: [(u32, Node); 8] = [
    (26, Node::Sum),
    (20, Node::Bits),
    (5, Node::Product),
    (14, Node::Unary),
    (14, Node::Shift),
    (9, Node::Extreme),
    (16, Node::Choice),
    (5, Node::Sign),
];

/// True if the front end knows the value: it would fold the expression, and the driver would not see it.
fn is_known(expr: &Expr) -> bool {
    match expr {
        Expr::Bool(_) | Expr::Int(_) | Expr::Uint(_) => true,
        _ => expr.operands().next().is_some() && expr.operands().all(is_known),
    }
}

/// How many of the values stand in an expression.
fn count(expr: &Expr, values: &[Expr; 2]) -> usize {
    if values.contains(expr) { 1 } else { expr.operands().map(|operand| count(operand, values)).sum() }
}

/// Puts the other of two values, or a number, in the place of the `n`-th of them.
fn exchange(expr: &mut Expr, values: &[Expr; 2], n: &mut usize) {
    if let Some(at) = values.iter().position(|value| value == expr) {
        if *n == 0 {
            *expr = values[1 - at].clone();
        }
        *n = n.wrapping_sub(1);
        return;
    }
    expr.operands_mut().into_iter().for_each(|operand| exchange(operand, values, n));
}

/// Two or three operators one behind the other, each with a constant.
#[derive(Clone, Copy)]
enum Link {
    Add,
    Sub,
    /// `c - x`
    From,
    Mul,
    And,
    Or,
    Xor,
    /// By the amount of all shifts of the chain.
    Shl,
    Shr,
    Min,
    Max,
    Neg,
    Not,
    Quotient,
    Remainder,
    /// `x < c ? x : d`, or the other way round.
    Choice,
}

const LINKS: [(u32, Link); 16] = [
    (6, Link::Add),
    (5, Link::Sub),
    (4, Link::From),
    (4, Link::Mul),
    (8, Link::And),
    (8, Link::Or),
    (5, Link::Xor),
    (9, Link::Shl),
    (9, Link::Shr),
    (4, Link::Min),
    (4, Link::Max),
    (5, Link::Neg),
    (4, Link::Not),
    (5, Link::Quotient),
    (3, Link::Remainder),
    (5, Link::Choice),
];

impl Builder<'_> {
    /// A number of an integer type by a few operators with constants that the driver's compiler knows: what it takes together.
    pub(crate) fn chain(&mut self, scalar: Scalar, want: Want) -> Expr {
        let leaf = Want::of(want.class(), 0);
        let start = self.varying(scalar, leaf);
        let amount = self.draw.range(1, scalar.size() - 1);
        let links = self.draw.pick(&[2, 2, 2, 3]);
        let chain = (0..links).fold(start.clone(), |x, _| self.link(x, scalar, amount));
        match self.draw.below(10) {
            // One of three operands differs: values that are not the same.
            0 => {
                let cond = bin(BinaryOp::Lt, start.clone(), self.near(scalar));
                let mix =
                    |x: &Expr, y: &Expr| Expr::Intrinsic(Intrinsic::Mix, vec![x.clone(), y.clone(), cond.clone()]);
                let other = self.varying(scalar, leaf);
                let third = bin(BinaryOp::Add, other.clone(), number(scalar, self.draw.range(1, 9)));
                let op = self.draw.pick(&[BinaryOp::Sub, BinaryOp::BitXor]);
                let pairs = if self.draw.percent(50) {
                    (mix(&chain, &other), mix(&third, &other))
                } else {
                    (mix(&other, &chain), mix(&other, &third))
                };
                bin(op, pairs.0, pairs.1)
            }
            // The same with another last constant.
            1 => {
                let twin = self.link(start, scalar, amount);
                bin(self.draw.pick(&[BinaryOp::Sub, BinaryOp::BitXor, BinaryOp::Add]), chain, twin)
            }
            _ => chain,
        }
    }

    /// A literal of a type: small, negative, a power of two or one less, or anything.
    fn near(&mut self, scalar: Scalar) -> Expr {
        let bits = scalar.size().min(32);
        let word = match self.draw.below(5) {
            0 => self.draw.range(1, 15),
            1 => 1 << self.draw.below(bits),
            2 => (1 << self.draw.below(bits)) - 1,
            3 => return Expr::unary(UnaryOp::BitNot, number(scalar, self.draw.below(16))),
            _ => self.draw.word() >> (32 - bits),
        };
        number(scalar, word)
    }

    fn link(&mut self, x: Expr, scalar: Scalar, amount: u32) -> Expr {
        use BinaryOp::{Add, BitAnd, BitOr, BitXor, Div, Lt, Mod, Mul, Shl, Shr, Sub};
        match self.draw.weighted(&LINKS) {
            Link::Add => bin(Add, x, self.near(scalar)),
            Link::Sub => bin(Sub, x, self.near(scalar)),
            Link::From => bin(Sub, self.near(scalar), x),
            Link::Mul => bin(Mul, x, self.near(scalar)),
            Link::And => bin(BitAnd, x, self.near(scalar)),
            Link::Or => bin(BitOr, x, self.near(scalar)),
            Link::Xor => bin(BitXor, x, self.near(scalar)),
            Link::Shl => bin(Shl, x, uint(amount)),
            Link::Shr => bin(Shr, x, uint(amount)),
            Link::Min => Expr::Intrinsic(Intrinsic::Min, vec![x, self.near(scalar)]),
            Link::Max => Expr::Intrinsic(Intrinsic::Max, vec![x, self.near(scalar)]),
            Link::Neg => Expr::unary(UnaryOp::Neg, x),
            Link::Not => Expr::unary(UnaryOp::BitNot, x),
            // Neither 0 nor -1; only what has no sign meets `%` (rule N3).
            Link::Quotient if scalar.is_signed() && self.draw.percent(25) => {
                bin(Div, x, Expr::unary(UnaryOp::Neg, number(scalar, self.draw.pick(&[3, 2, 7, 10]))))
            }
            Link::Quotient => bin(Div, x, number(scalar, self.draw.pick(&[3, 2, 5, 7, 10, 16, 100]))),
            Link::Remainder if !scalar.is_signed() => bin(Mod, x, number(scalar, self.draw.pick(&[3, 5, 8, 7, 10]))),
            Link::Remainder if self.config.signed_remainders && self.draw.percent(60) => {
                let divisor = number(scalar, self.draw.pick(&[3, 2, 8, 5, 7, 10, 16]));
                let divisor = if self.draw.percent(40) { Expr::unary(UnaryOp::Neg, divisor) } else { divisor };
                Expr::Intrinsic(self.signed_remainder(), vec![x, divisor])
            }
            Link::Remainder => bin(Div, x, number(scalar, self.draw.range(2, 126))),
            Link::Choice => {
                let cond = bin(Lt, x.clone(), self.near(scalar));
                let other = self.near(scalar);
                let (x, y) = if self.draw.percent(50) { (x, other) } else { (other, x) };
                Expr::Intrinsic(Intrinsic::Mix, vec![x, y, cond])
            }
        }
    }

    /// A number of an integer type, of few leaves.
    pub(crate) fn algebra(&mut self, scalar: Scalar, want: Want) -> Expr {
        let leaves = self.leaves(scalar, want);
        let depth = self.draw.pick(&[2, 2, 3]);
        let expr = self.algebraic(&leaves, depth);
        let places = count(&expr, &leaves.values);
        if places == 0 || !self.draw.percent(25) {
            return expr;
        }
        let mut twin = expr.clone();
        exchange(&mut twin, &leaves.values, &mut (self.draw.below(places as u32) as usize));
        bin(self.draw.pick(&[BinaryOp::Sub, BinaryOp::BitXor, BinaryOp::Add]), expr, twin)
    }

    fn leaves(&mut self, scalar: Scalar, want: Want) -> Leaves {
        let mut value = || self.varying(scalar, Want::of(want.class(), 0));
        let values = [value(), value()];
        let mut constant = || match self.draw.below(6) {
            0 => number(scalar, self.draw.below(2)),
            1 => Expr::unary(UnaryOp::BitNot, number(scalar, self.draw.below(2))),
            2 => bin(BinaryOp::Shl, number(scalar, 1), uint(scalar.size() - 1)),
            3 => as_number(scalar, self.constant_word()),
            _ => number(scalar, self.draw.range(2, 127)),
        };
        let constants = [constant(), constant()];
        let most = scalar.size() - 1;
        let amount = match self.draw.below(4) {
            0 => bin(BinaryOp::BitAnd, self.varying(Scalar::Uint, Want::of(want.defined().class(), 0)), uint(most)),
            _ => uint(self.draw.range(1, most)),
        };
        Leaves { scalar, values, constants, amount }
    }

    fn algebraic(&mut self, leaves: &Leaves, depth: u32) -> Expr {
        use BinaryOp::{Add, BitAnd, BitOr, BitXor, Mul, Shl, Shr, Sub};
        if depth == 0 || self.draw.is_exhausted() {
            let [x, y] = &leaves.values;
            let [c, d] = &leaves.constants;
            return self.draw.weighted(&[(5, x), (4, y), (2, c), (1, d)]).clone();
        }
        match self.draw.weighted(&NODES) {
            Node::Sum => self.node(&[Add, Sub], leaves, depth),
            Node::Bits => self.node(&[BitAnd, BitOr, BitXor], leaves, depth),
            Node::Product => self.node(&[Mul], leaves, depth),
            Node::Unary => {
                let op = self.draw.pick(&[UnaryOp::Neg, UnaryOp::BitNot]);
                Expr::unary(op, self.unknown(leaves, depth))
            }
            Node::Shift => {
                let op = self.draw.pick(&[Shl, Shr]);
                bin(op, self.unknown(leaves, depth), leaves.amount.clone())
            }
            Node::Extreme => {
                let (op, other) = self.draw.pick(&[(Intrinsic::Min, Intrinsic::Max), (Intrinsic::Max, Intrinsic::Min)]);
                // Between two limits, which may be one.
                if self.draw.percent(40) {
                    let [low, high] = [(); 2].map(|()| self.algebraic(leaves, 0));
                    let x = Expr::Intrinsic(other, vec![self.unknown(leaves, depth), low]);
                    return Expr::Intrinsic(op, vec![x, high]);
                }
                let (x, y) = self.both(leaves, depth);
                Expr::Intrinsic(op, vec![x, y])
            }
            Node::Choice => {
                let cond = self.order(leaves, depth);
                let (x, y) = (self.algebraic(leaves, depth - 1), self.algebraic(leaves, depth - 1));
                Expr::Intrinsic(Intrinsic::Mix, vec![x, y, cond])
            }
            // As a number of the other sign, which orders and shifts differently.
            Node::Sign => {
                let scalar = leaves.scalar;
                let other = if scalar.is_signed() { scalar.unsigned() } else { scalar.signed() };
                let x = cast(other, self.unknown(leaves, depth));
                cast(scalar, bin(Shr, x, leaves.amount.clone()))
            }
        }
    }

    fn node(&mut self, ops: &[BinaryOp], leaves: &Leaves, depth: u32) -> Expr {
        let op = self.draw.pick(ops);
        let (x, y) = self.both(leaves, depth);
        bin(op, x, y)
    }

    /// An operand that the front end does not know.
    fn unknown(&mut self, leaves: &Leaves, depth: u32) -> Expr {
        let expr = self.algebraic(leaves, depth - 1);
        if is_known(&expr) { leaves.values[0].clone() } else { expr }
    }

    /// Two operands, of which the front end knows one at most.
    fn both(&mut self, leaves: &Leaves, depth: u32) -> (Expr, Expr) {
        let (x, y) = (self.algebraic(leaves, depth - 1), self.algebraic(leaves, depth - 1));
        if is_known(&x) && is_known(&y) { (leaves.values[0].clone(), y) } else { (x, y) }
    }

    /// A comparison, perhaps as numbers of the other sign.
    fn order(&mut self, leaves: &Leaves, depth: u32) -> Expr {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let op = self.draw.pick(&[Lt, Lt, Gt, Le, Ge, Eq, Ne]);
        let (x, y) = self.both(leaves, depth);
        if !self.draw.percent(25) {
            return bin(op, x, y);
        }
        let scalar = leaves.scalar;
        let other = if scalar.is_signed() { scalar.unsigned() } else { scalar.signed() };
        bin(op, cast(other, x), cast(other, y))
    }
}
