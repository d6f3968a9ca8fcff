//! Hand-made tables of what the rows compute.

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
        assert_eq!(bin(op, scalar, x, y), want, "{x} {} {y}", op.info().name);
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
        assert_eq!(out[0], want, "{x} {} {y} of {}", op.info().name, scalar.name());
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
            assert_eq!(out, [bits(want)], "{x} {} {y}", op.info().name);
        }
        for (op, x, y, want) in [(Lt, -1.0, 0.5, 1), (Ge, -1.0, 0.5, 0), (Eq, 2.0, 2.0, 1), (Ne, 2.0, 2.0, 0)] {
            let mut out = [0];
            binary(op, scalar, &[bits(x)], &[bits(y)], &mut out);
            assert_eq!(out, [want], "{x} {} {y}", op.info().name);
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
        assert_eq!(binary_undefined(op, scalar, x, y), want, "{x} {} {y}", op.info().name);
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
        (MulHigh, Uint, vec![i(-1), i(-1)], i(-2)),
        (MulHigh, Int, vec![i(-1), i(-1)], 0),
        (MulHigh, Int, vec![i(i32::MIN), 2], i(-1)),
        (SignedRem, Int, vec![7, 3], 1),
        (SignedRem, Int, vec![i(-7), 3], i(-1)),
        (SignedRem, Int, vec![7, i(-3)], 1),
        (SignedRem, Int, vec![i(-7), i(-3)], i(-1)),
        (SignedRem, Int, vec![i(-6), 3], 0),
        (SignedRem, Int, vec![i(i32::MIN), 10], i(-8)),
        (SignedRem, Scalar::Int8, vec![0x80, 3], 0xFE),
        (SignedMod, Int, vec![7, 3], 1),
        (SignedMod, Int, vec![i(-7), 3], 2),
        (SignedMod, Int, vec![7, i(-3)], i(-2)),
        (SignedMod, Int, vec![i(-7), i(-3)], i(-1)),
        (SignedMod, Int, vec![i(-6), 3], 0),
        (SignedMod, Int, vec![1, i(i32::MIN)], i(i32::MIN + 1)),
        (SignedMod, Scalar::Int64, vec![u64::MAX, 10], 9),
        (AddCarry, Uint, vec![i(-1), 1], 1),
        (AddCarry, Uint, vec![i(-2), 1], 0),
        (SubBorrow, Uint, vec![1, 2], 1),
        (SubBorrow, Uint, vec![2, 2], 0),
        (Dot, Uint, vec![0xFF02_0304, 0x0205_0607], 510 + 10 + 18 + 28),
        (Dot, Int, vec![0xFF02_0304, 0x0205_0607], 10 + 18 + 28 - 2),
        (Dot, Int, vec![0x8080_8080, 0x8080_8080], 4 << 14),
        (DotAccSat, Uint, vec![1, 1, i(-1)], i(-1)),
        (DotAccSat, Int, vec![0x7F, 2, i(i32::MAX - 1)], i(i32::MAX)),
        (DotAccSat, Int, vec![0x80, 1, i(i32::MIN + 1)], i(i32::MIN)),
        (DotAccSat, Int, vec![0xFF, 1, 5], 4),
        (Unpack8, Uint, vec![0x0403_0201, 2], 3),
        (Unpack16, Int, vec![0x8403_0201, 1], 0x8403),
        (Unpack32, Scalar::Uint64, vec![5 << 32 | 6, 1], 5),
        (Pack32, Scalar::Int8, vec![0x80, 2, 3, 0xFF], 0xFF03_0280),
        (Pack64, Uint, vec![6, 5], 5 << 32 | 6),
        (Mix, Uint, vec![6, 5, 0], 6),
        (Mix, Uint, vec![6, 5, 1], 5),
        (Any, Scalar::Bool, vec![0, 1], 1),
        (Any, Scalar::Bool, vec![0, 0], 0),
        (All, Scalar::Bool, vec![0, 1], 0),
        (All, Scalar::Bool, vec![1, 1], 1),
    ] {
        assert_eq!(intrinsic(op, scalar, &args), want, "{op:?} {args:?}");
        assert_eq!(intrinsic_undefined(op, scalar, &args), None, "{op:?} {args:?}");
    }
    for (op, from, to) in [
        (Pack16, "u8vec2", Some("uint16_t")),
        (Pack32, "i8vec4", Some("int")),
        (Pack64, "u16vec4", Some("uint64_t")),
        (Pack32, "u8vec3", None),
        (Pack32, "u8vec2", None),
        (Unpack8, "int16_t", Some("i8vec2")),
        (Unpack8, "uint64_t", None),
        (Unpack16, "uint64_t", Some("u16vec4")),
        (Unpack32, "int64_t", Some("ivec2")),
        (Unpack32, "uint", None),
        (Any, "bvec3", Some("bool")),
        (Any, "bool", None),
        (Dot, "uvec2", None),
        (AddCarry, "int", None),
    ] {
        let (from, to) = (from.parse().unwrap(), to.map(|to| to.parse().unwrap()));
        assert_eq!(op.info().result(from), to, "{op:?} {from:?}");
    }
    assert_eq!(intrinsic_undefined(BitfieldExtract, Uint, &[1, 31, 2]), Some(Undefined::Value));
    assert_eq!(intrinsic_undefined(Clamp, Uint, &[1, 3, 2]), Some(Undefined::Value));
    for op in [SignedRem, SignedMod] {
        assert_eq!(intrinsic_undefined(op, Int, &[1, 0]), Some(Undefined::Behaviour));
        assert_eq!(intrinsic_undefined(op, Int, &[i(i32::MIN), i(-1)]), Some(Undefined::Behaviour));
        assert_eq!(intrinsic_undefined(op, Int, &[i(i32::MIN + 1), i(-1)]), None);
    }
}
