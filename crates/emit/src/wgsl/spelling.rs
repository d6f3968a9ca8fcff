//! How WGSL spells what the tree names: types, functions, built-in values.

use std::borrow::Cow;
use std::fmt;

use tangle_program::memory::{AtomicOp, Shared};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::rounded_intrinsics;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Builtin, Function, SubgroupCall};
use tangle_program::types::{Kind, Scalar, Shape, Type};

use crate::printer::{NOTHING, struct_name};

/// A scalar type; `None` if WGSL has none.
pub(crate) const fn scalar(scalar: Scalar) -> Option<&'static str> {
    match scalar {
        Scalar::Bool => Some("bool"),
        Scalar::Int => Some("i32"),
        Scalar::Uint => Some("u32"),
        Scalar::Float16 => Some("f16"),
        Scalar::Float => Some("f32"),
        // The language has what is listed.
        _ => None,
    }
}

/// A type as WGSL names it. A struct has the name that the shader declares it by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeName(pub Type);

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = scalar(self.0.scalar).unwrap_or(NOTHING);
        let single = TypeName(Type { shape: Shape::Single, ..self.0 });
        match (self.0.shape, self.0.width) {
            (Shape::Single, 1) => f.write_str(name),
            (Shape::Single, n) => write!(f, "vec{n}<{name}>"),
            (Shape::Array(n), _) => write!(f, "array<{single}, {n}>"),
            (Shape::Matrix(n), rows) => write!(f, "mat{n}x{rows}<{name}>"),
            (Shape::Struct(n), 1) => write!(f, "Struct_{name}_{n}"),
            (Shape::Struct(n), width) => write!(f, "Struct_{name}x{width}_{n}"),
            (Shape::Nested(_), _) => match (self.0.kind(), self.0.part(Some(0))) {
                (Kind::Array, Some(element)) => write!(f, "array<{}, {}>", TypeName(element), self.0.elements()),
                _ => f.write_str(&struct_name(self.0)),
            },
        }
    }
}

/// Words of WGSL that a program may use as names, since they are none of GLSL: keywords, reserved words (WGSL, "Reserved Words"), and what is
/// declared without the shader's doing and mentioned by printed shaders. Sorted.
#[rustfmt::skip]
const WORDS: [&str; 127] = [
    "abstract", "alias", "alignas", "alignof", "array", "as", "asm_fragment", "async", "atomic", "auto", "await", "become",
    "bitcast", "catch", "co_await", "co_return", "co_yield", "column_major", "compile", "compile_fragment", "concept",
    "const_assert", "const_cast", "consteval", "constexpr", "constinit", "continuing", "crate", "debugger", "decltype",
    "delete", "demote_to_helper", "diagnostic", "dynamic_cast", "enable", "explicit", "export", "extends", "f16", "f32",
    "fallthrough", "final", "finally", "fn", "friend", "from", "function", "fxgroup", "get", "groupshared", "i32",
    "immediate", "impl", "implements", "import", "instanceof", "let", "loop", "macro", "macro_rules", "match", "meta",
    "module", "move", "mut", "mutable", "new", "nil", "noexcept", "nointerpolation", "non_coherent", "noncoherent", "null",
    "nullptr", "of", "operator", "override", "package", "packoffset", "pass", "pixelfragment", "premerge", "priv",
    "private", "protected", "ptr", "pub", "read", "read_write", "ref", "regardless", "register", "reinterpret_cast",
    "require", "requires", "select", "self", "set", "snorm", "static_assert", "static_cast", "std", "storage", "super",
    "target", "thread_local", "throw", "trait", "try", "type", "typeid", "typename", "typeof", "u32", "unless", "unorm",
    "unsafe", "unsized", "use", "var", "virtual", "wgsl", "where", "with", "workgroup", "write", "yield",
];

/// A name of the program, with an underscore behind it where it is a word of WGSL.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    if WORDS.binary_search(&name).is_ok() { format!("{name}_").into() } else { name.into() }
}

/// An array, before its index.
pub(crate) fn array(array: &Shared) -> String {
    let name = name(&array.name);
    if array.storage.is_workgroup() { name.into_owned() } else { format!("Arrays.{name}") }
}

/// What the shader has a copy of a built-in value in; `None` if WGSL has none.
pub(crate) const fn builtin(builtin: Builtin) -> Option<&'static str> {
    match builtin {
        Builtin::Lane => Some("lane"),
        Builtin::SubgroupSize => Some("subgroup_size"),
        Builtin::SubgroupId => Some("subgroupId"),
        Builtin::NumSubgroups => Some("numSubgroups"),
        Builtin::LocalIndex => Some("localIndex"),
        Builtin::LocalX => Some("localId.x"),
        Builtin::LocalY => Some("localId.y"),
        Builtin::LocalZ => Some("localId.z"),
        Builtin::WorkgroupIndex => Some("workgroup_index"),
        // Compute shaders have no helper invocations.
        Builtin::Helper
        | Builtin::HelperInput
        | Builtin::EqMask
        | Builtin::GeMask
        | Builtin::GtMask
        | Builtin::LeMask
        | Builtin::LtMask => None,
    }
}

/// The function of an atomic operation; `None` if WGSL has none.
pub(crate) const fn atomic(op: AtomicOp) -> Option<&'static str> {
    match op {
        AtomicOp::Add => Some("atomicAdd"),
        AtomicOp::Min => Some("atomicMin"),
        AtomicOp::Max => Some("atomicMax"),
        AtomicOp::And => Some("atomicAnd"),
        AtomicOp::Or => Some("atomicOr"),
        AtomicOp::Xor => Some("atomicXor"),
        AtomicOp::Exchange => Some("atomicExchange"),
        // `atomicCompareExchangeWeak` may fail without a reason.
        AtomicOp::CompSwap => None,
    }
}

/// The operator; `^^` is `!=` of bools.
pub(crate) const fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Xor => "!=",
        op => crate::glsl::spelling::binary(op),
    }
}

/// A function on an invocation's own values; `None` if WGSL has none.
pub(crate) const fn intrinsic(op: Intrinsic) -> Option<&'static str> {
    match op {
        Intrinsic::Min => Some("min"),
        Intrinsic::Max => Some("max"),
        Intrinsic::Clamp => Some("clamp"),
        Intrinsic::Abs => Some("abs"),
        Intrinsic::Sign => Some("sign"),
        Intrinsic::BitfieldExtract => Some("extractBits"),
        Intrinsic::BitfieldInsert => Some("insertBits"),
        Intrinsic::BitfieldReverse => Some("reverseBits"),
        Intrinsic::BitCount => Some("countOneBits"),
        Intrinsic::FindLsb => Some("firstTrailingBit"),
        Intrinsic::FindMsb => Some("firstLeadingBit"),
        Intrinsic::Floor => Some("floor"),
        Intrinsic::Ceil => Some("ceil"),
        Intrinsic::Trunc => Some("trunc"),
        Intrinsic::AddCarry => Some("addCarry"),
        Intrinsic::SubBorrow => Some("subBorrow"),
        Intrinsic::SignedRem => Some("%"),
        Intrinsic::SignedMod => Some("signedMod"),
        Intrinsic::Dot => Some("dot4I8Packed"),
        Intrinsic::Mix => Some("select"),
        Intrinsic::Any => Some("any"),
        Intrinsic::All => Some("all"),
        Intrinsic::Expect
        | Intrinsic::MulHigh
        | Intrinsic::DotAccSat
        | Intrinsic::Pack16
        | Intrinsic::Pack32
        | Intrinsic::Pack64
        | Intrinsic::Unpack8
        | Intrinsic::Unpack16
        | Intrinsic::Unpack32
        | Intrinsic::FromBits
        | Intrinsic::FromAllBits
        | Intrinsic::ToBits
        | rounded_intrinsics!() => None,
    }
}

/// A function of the shader itself for operands of so many components: WGSL has no overloading.
pub(crate) fn of_width(op: Intrinsic, width: u8) -> String {
    let name = intrinsic(op).unwrap_or(NOTHING);
    if width == 1 { name.to_owned() } else { format!("{name}{width}") }
}

/// How a subgroup operation is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wave {
    /// A built-in function of the same operands.
    Call(&'static str),
    /// A function of the shader itself.
    Helper(&'static str),
    /// `subgroupBroadcast` where the invocation is known to be there, else `subgroupShuffle`.
    Broadcast,
    /// The function where the second operand is uniform; else `subgroupShuffle` of a lane that is computed of the own one.
    Relative(&'static str, &'static str),
    /// `subgroupShuffle` of a lane so much higher, around the end.
    Rotate,
    /// WGSL has no such operation.
    Lacking,
}

/// How an operation is said of an operand of this type.
pub(crate) fn wave(op: SubgroupOp, ty: Option<Type>) -> Wave {
    use SubgroupOp as Op;
    let is_bool = ty.is_some_and(|ty| ty.scalar == Scalar::Bool);
    let is_float = ty.is_some_and(|ty| ty.scalar.is_float());
    let one = ty.is_none_or(|ty| ty.width == 1);
    match op {
        Op::Elect => Wave::Call("subgroupElect"),
        Op::All => Wave::Call("subgroupAll"),
        Op::Any => Wave::Call("subgroupAny"),
        Op::Ballot => Wave::Call("subgroupBallot"),
        Op::InverseBallot => Wave::Helper("inverseBallot"),
        Op::BallotBitExtract => Wave::Helper("ballotBitExtract"),
        Op::BallotBitCount => Wave::Helper("ballotBitCount"),
        Op::BallotInclusiveBitCount => Wave::Helper("ballotInclusiveBitCount"),
        Op::BallotExclusiveBitCount => Wave::Helper("ballotExclusiveBitCount"),
        Op::BallotFindLsb => Wave::Helper("ballotFindLSB"),
        Op::BallotFindMsb => Wave::Helper("ballotFindMSB"),
        Op::Reduce(Fold::And) if is_bool && one => Wave::Call("subgroupAll"),
        Op::Reduce(Fold::Or) if is_bool && one => Wave::Call("subgroupAny"),
        Op::Reduce(Fold::Xor) if is_bool && one => Wave::Helper("subgroupParity"),
        // The rest is for numbers and their vectors.
        _ if is_bool => Wave::Lacking,
        Op::Broadcast => Wave::Broadcast,
        Op::Shuffle => Wave::Call("subgroupShuffle"),
        Op::BroadcastFirst => Wave::Call("subgroupBroadcastFirst"),
        Op::ShuffleXor => Wave::Relative("subgroupShuffleXor", "^"),
        Op::ShuffleUp => Wave::Relative("subgroupShuffleUp", "-"),
        Op::ShuffleDown => Wave::Relative("subgroupShuffleDown", "+"),
        Op::Rotate => Wave::Rotate,
        Op::QuadBroadcast => Wave::Call("quadBroadcast"),
        Op::QuadSwapHorizontal => Wave::Call("quadSwapX"),
        Op::QuadSwapVertical => Wave::Call("quadSwapY"),
        Op::QuadSwapDiagonal => Wave::Call("quadSwapDiagonal"),
        Op::Reduce(Fold::And | Fold::Or | Fold::Xor) if is_float => Wave::Lacking,
        Op::Reduce(Fold::Add) => Wave::Call("subgroupAdd"),
        Op::Reduce(Fold::Mul) => Wave::Call("subgroupMul"),
        Op::Reduce(Fold::Min) => Wave::Call("subgroupMin"),
        Op::Reduce(Fold::Max) => Wave::Call("subgroupMax"),
        Op::Reduce(Fold::And) => Wave::Call("subgroupAnd"),
        Op::Reduce(Fold::Or) => Wave::Call("subgroupOr"),
        Op::Reduce(Fold::Xor) => Wave::Call("subgroupXor"),
        Op::Inclusive(Fold::Add) => Wave::Call("subgroupInclusiveAdd"),
        Op::Inclusive(Fold::Mul) => Wave::Call("subgroupInclusiveMul"),
        Op::Exclusive(Fold::Add) => Wave::Call("subgroupExclusiveAdd"),
        Op::Exclusive(Fold::Mul) => Wave::Call("subgroupExclusiveMul"),
        // The language has what is listed.
        _ => Wave::Lacking,
    }
}

/// True for subgroup operations that are functions of the shader itself, which a person would write, too.
pub(crate) fn is_helper(call: &SubgroupCall, function: &Function) -> bool {
    let ty = call.args.first().and_then(|arg| arg.ty(function));
    matches!(wave(call.op, ty), Wave::Helper(_))
}

/// True for the types that `select` takes.
pub(super) fn is_selectable(ty: Type) -> bool {
    matches!(ty.shape, Shape::Single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(WORDS.is_sorted());
        assert_eq!((name("fn"), name("mask")), (Cow::from("fn_"), Cow::from("mask")));
    }
}
