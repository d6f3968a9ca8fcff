//! Ranges against values: whatever an expression computes lies in its range.

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::*;
use tangle_analysis::bounds::{Interval, Scope};
use tangle_program::case::{Case, Data};
use tangle_program::ops::{self, BinaryOp, Intrinsic, Operand, UnaryOp};
use tangle_program::tree::Expr;
use tangle_program::types::{Scalar, Type};

/// Knuth's MMIX generator.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Small, or near a power of two, or near the ends.
    fn word(&mut self) -> u32 {
        let near = self.pick(&[0, 1, 8, 31, 32, 255, 1 << 16, i32::MAX as u32, 1 << 31, u32::MAX]);
        near.wrapping_add(self.below(5) as u32).wrapping_sub(2)
    }
}

const INPUTS: usize = 4;
const INVOCATIONS: usize = 8;

/// The least and the greatest word of an input decide its range, so some have few bits.
fn data(random: &mut Random) -> Data {
    let mut column = |mask: u32| (0..INVOCATIONS).map(|_| random.word() & mask).collect();
    Data { inputs: [u32::MAX, 31, 3, u32::MAX].map(&mut column).into(), uniforms: vec![6, 70], ..Data::default() }
}

/// Floats have no ranges but extents: `tangle_analysis::exact`.
const INTEGERS: &[Scalar] = &Scalar::INTEGERS;

fn expr(random: &mut Random, scalar: Scalar, depth: usize) -> Expr {
    if depth == 0 || random.below(6) == 0 {
        return match (scalar, random.below(3)) {
            (Scalar::Bool, _) => Expr::Bool(random.below(2) == 1),
            (Scalar::Int, _) => Expr::Int(random.word() as i32),
            (Scalar::Uint, 0) => Expr::Uint(random.word()),
            (Scalar::Uint, 1) => Expr::Uniform(random.below(2) as u32),
            (Scalar::Uint, _) => Expr::Input(random.below(INPUTS) as u32),
            _ => Expr::Cast(scalar, Box::new(expr(random, Scalar::Uint, 0))),
        };
    }
    let of = |random: &mut Random, scalar| expr(random, scalar, depth - 1);
    let number = random.pick(INTEGERS);
    if scalar == Scalar::Bool {
        let op = random.pick(&[BinaryOp::Lt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne]);
        return match random.below(3) {
            0 => Expr::unary(UnaryOp::Not, of(random, Scalar::Bool)),
            1 => Expr::Cast(Scalar::Bool, Box::new(of(random, number))),
            _ => Expr::binary(op, of(random, number), of(random, number)),
        };
    }
    match random.below(12) {
        0 => Expr::unary(random.pick(&[UnaryOp::Neg, UnaryOp::BitNot]), of(random, scalar)),
        1 => Expr::Cast(scalar, Box::new(of(random, Scalar::Bool))),
        2 => Expr::Cast(scalar, Box::new(of(random, number))),
        3 => tour::select(of(random, Scalar::Bool), of(random, scalar), of(random, scalar)),
        4 | 5 => {
            let op = random.pick(&Intrinsic::ALL);
            let info = op.info();
            // Those that give int, or take only some types, do not fit everywhere.
            let is_signed = matches!(info.takes, Operand::Signed | Operand::SignedInteger);
            let scalar = if is_signed { scalar.signed() } else { scalar };
            let mut args: Vec<Expr> = (0..info.values).map(|_| of(random, scalar)).collect();
            args.extend((0..info.offsets).map(|_| Expr::Int(random.below(17) as i32)));
            args.extend((0..info.bools).map(|_| of(random, Scalar::Bool)));
            Expr::Intrinsic(op, args)
        }
        6 => {
            let op = random.pick(&[BinaryOp::Shl, BinaryOp::Shr]);
            Expr::binary(op, of(random, scalar), of(random, Scalar::Uint))
        }
        _ => {
            use BinaryOp::{Add, BitAnd, BitOr, BitXor, Div, Mod, Mul, Sub};
            let op = random.pick(&[Add, Sub, Mul, Div, Mod, BitAnd, BitOr, BitXor]);
            Expr::binary(op, of(random, scalar), of(random, scalar))
        }
    }
}

/// The value for one invocation; nothing if it is undefined.
fn value(expr: &Expr, case: &Case, invocation: usize) -> Option<(Scalar, u64)> {
    let of = |expr: &Expr| value(expr, case, invocation);
    let mut out = [0];
    Some(match expr {
        Expr::Bool(x) => (Scalar::Bool, u64::from(*x)),
        Expr::Int(x) => (Scalar::Int, u64::from(*x as u32)),
        Expr::Uint(x) => (Scalar::Uint, u64::from(*x)),
        Expr::Uniform(k) => (Scalar::Uint, u64::from(case.data.uniforms[*k as usize])),
        Expr::Input(k) => (Scalar::Uint, u64::from(case.data.inputs[*k as usize][invocation])),
        Expr::Unary(op, x) => {
            let (scalar, x) = of(x)?;
            ops::unary(*op, scalar, &[x], &mut out);
            (scalar, out[0])
        }
        Expr::Cast(to, x) => {
            let (from, x) = of(x)?;
            (*to, ops::cast(from, *to, x))
        }
        Expr::Select(cond, x, y) => of(if of(cond)?.1 == 1 { x } else { y })?,
        Expr::Binary(op, x, y) => {
            let ((scalar, x), (_, y)) = (of(x)?, of(y)?);
            if ops::binary_undefined(*op, scalar, x, y).is_some() {
                return None;
            }
            ops::binary(*op, scalar, &[x], &[y], &mut out);
            (if op.is_comparison() { Scalar::Bool } else { scalar }, out[0])
        }
        Expr::Intrinsic(op, args) => {
            let scalar = of(&args[0])?.0;
            let result = op.info().result(Type::scalar(scalar))?;
            let mut args: Vec<u64> = args.iter().map(|arg| of(arg).map(|(_, x)| x)).collect::<Option<_>>()?;
            if ops::intrinsic_undefined(*op, scalar, &args).is_some() {
                return None;
            }
            // Of several parts, the last one.
            args.extend((result.width > 1).then(|| u64::from(result.width) - 1));
            (result.scalar, ops::intrinsic(*op, scalar, &args))
        }
        _ => unreachable!("the expressions here have no others"),
    })
}

#[test]
fn values_lie_in_their_ranges() {
    let mut random = Random(7);
    let (mut compared, mut narrow) = (0, 0);
    for round in 0..30_000 {
        let scalar = if random.below(9) == 0 { Scalar::Bool } else { random.pick(INTEGERS) };
        let expr = expr(&mut random, scalar, 1 + round % 4);
        // An intrinsic for the other kind of number may have come in.
        if tangle_analysis::validate::type_of(&expr, &main_of(|_| vec![])[0]).is_err() {
            continue;
        }
        let case = Case { data: data(&mut random), ..case("", main_of(|_| vec![])) };
        let scope = Scope::new(&case, &case.program.functions[0]);
        let info = scope.info(&expr);
        let (range, nonzero) = (info.range, info.is_nonzero);
        for invocation in 0..INVOCATIONS {
            let Some((scalar, bits)) = value(&expr, &case, invocation) else { continue };
            let number = if scalar.is_signed() { i128::from(scalar.extend(bits) as i64) } else { i128::from(bits) };
            assert!(range.contains(number), "{number} is not in {range:?}: {expr:?} with {:?}", case.data);
            assert!(!nonzero || number != 0, "{expr:?} is 0 with {:?}", case.data);
            compared += 1;
            narrow += u32::from(range != Interval::all(scalar));
        }
    }
    assert!(compared > 50_000 && narrow > compared / 4, "{compared} values, {narrow} in narrow ranges");
}
