//! How HLSL spells what the tree names: types, operators, functions, built-in variables, attributes.

use std::borrow::Cow;
use std::fmt;

use tangle_program::case::Stage;
use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::memory::{AtomicOp, Sync};
use tangle_program::ops::Intrinsic;
use tangle_program::rounded_intrinsics;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::Builtin;
use tangle_program::types::{Scalar, Shape, Type};

use crate::glsl;
use crate::printer::{Dialect, nested_name};

/// The scalar types that HLSL has.
pub(crate) const SCALARS: [Scalar; 10] = [
    Scalar::Bool,
    Scalar::Int,
    Scalar::Uint,
    Scalar::Int16,
    Scalar::Uint16,
    Scalar::Int64,
    Scalar::Uint64,
    Scalar::Float16,
    Scalar::Float,
    Scalar::Double,
];

/// A scalar type: those of HLSL have the same names as in GLSL.
pub(crate) const fn scalar(scalar: Scalar) -> &'static str {
    glsl::spelling::scalar(scalar).name
}

/// A type as HLSL names it. A matrix of the tree, whose elements are columns, is one of HLSL whose elements are rows: `m[k]` is the same
/// vector (HLSL, "Matrix type": an index gives a row), and nothing else is done with a matrix. A struct has the name that the shader
/// declares it by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeName(pub Type);

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = scalar(self.0.scalar);
        let single = TypeName(Type { shape: Shape::Single, ..self.0 });
        match (self.0.shape, self.0.width) {
            (Shape::Single, 1) => f.write_str(name),
            (Shape::Single, n) => write!(f, "{name}{n}"),
            (Shape::Array(n), _) => write!(f, "{single}[{n}]"),
            (Shape::Matrix(n), rows) => write!(f, "{name}{n}x{rows}"),
            (Shape::Struct(n), _) => write!(f, "Struct_{single}_{n}"),
            (Shape::Nested(_), _) => f.write_str(&nested_name(self.0, |of| TypeName(of).to_string())),
        }
    }
}

/// The zero of a type.
pub(crate) fn zero(ty: Type) -> String {
    match (ty.shape, ty.scalar) {
        (Shape::Single, Scalar::Bool) if ty.is_scalar() => "false".into(),
        (Shape::Single, Scalar::Uint) if ty.is_scalar() => "0u".into(),
        (Shape::Single, Scalar::Int) if ty.is_scalar() => "0".into(),
        _ => format!("({})0", TypeName(ty)),
    }
}

/// Words of HLSL that a program may use as names, since they are none of GLSL. Sorted.
#[rustfmt::skip]
const WORDS: [&str; 79] = [
    "asdouble", "asfloat", "asint", "asm_fragment", "asuint", "auto", "catch", "cbuffer", "char", "column_major",
    "compile", "compile_fragment", "const_cast", "countbits", "delete", "dword", "dynamic_cast", "explicit", "export",
    "firstbithigh", "firstbitlow", "friend", "globallycoherent", "groupshared", "inline", "lerp", "line", "lineadj",
    "linear", "mad", "matrix", "min10float", "min12int", "min16float", "min16int", "min16uint", "mutable", "new",
    "nointerpolation", "nullptr", "operator", "pass", "pixelfragment", "point", "private", "protected", "register",
    "reinterpret_cast", "reversebits", "row_major", "saturate", "select", "shader", "signed", "snorm", "stateblock",
    "static_assert", "static_cast", "string", "tbuffer", "technique", "technique10", "technique11", "template",
    "thread_local", "throw", "triangle", "triangleadj", "try", "typeid", "typename", "unorm", "unsigned", "vector",
    "vertexfragment", "vertices", "virtual", "vk", "wchar_t",
];

/// A name of the program, with an underscore behind it where it is a word of HLSL.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    if WORDS.binary_search(&name).is_ok() { format!("{name}_").into() } else { name.into() }
}

/// A built-in variable, or what the shader has a copy of it in; `None` if HLSL has none.
pub(crate) const fn builtin(dialect: Dialect, stage: Stage, builtin: Builtin) -> Option<&'static str> {
    if let Some(own) = super::stage::builtin(stage, builtin) {
        return Some(own);
    }
    match (dialect, builtin) {
        // Slang has functions for them (hlsl.meta.slang).
        (Dialect::Slang, Builtin::SubgroupId) => Some("WaveGetWaveIndex()"),
        (Dialect::Slang, Builtin::NumSubgroups) => Some("WaveGetNumWaves()"),
        (Dialect::Slang, Builtin::EqMask) => Some("WaveGetLaneEqMask()"),
        (Dialect::Slang, Builtin::GeMask) => Some("WaveGetLaneGeMask()"),
        (Dialect::Slang, Builtin::GtMask) => Some("WaveGetLaneGtMask()"),
        (Dialect::Slang, Builtin::LeMask) => Some("WaveGetLaneLeMask()"),
        (Dialect::Slang, Builtin::LtMask) => Some("WaveGetLaneLtMask()"),
        (_, builtin) => of_both(builtin),
    }
}

/// [`builtin`], as HLSL and Slang both have it.
const fn of_both(builtin: Builtin) -> Option<&'static str> {
    match builtin {
        Builtin::Lane => Some("lane"),
        Builtin::SubgroupSize => Some("subgroup_size"),
        Builtin::LocalIndex => Some("LocalIndex"),
        Builtin::LocalX => Some("LocalId.x"),
        Builtin::LocalY => Some("LocalId.y"),
        Builtin::LocalZ => Some("LocalId.z"),
        Builtin::WorkgroupIndex => Some("workgroup_index"),
        // Only fragment shaders have helper invocations.
        Builtin::Helper
        | Builtin::HelperInput
        | Builtin::SubgroupId
        | Builtin::NumSubgroups
        | Builtin::EqMask
        | Builtin::GeMask
        | Builtin::GtMask
        | Builtin::LeMask
        | Builtin::LtMask => None,
    }
}

/// The intrinsic function of an atomic operation.
pub(crate) const fn atomic(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Add => "InterlockedAdd",
        AtomicOp::Min => "InterlockedMin",
        AtomicOp::Max => "InterlockedMax",
        AtomicOp::And => "InterlockedAnd",
        AtomicOp::Or => "InterlockedOr",
        AtomicOp::Xor => "InterlockedXor",
        AtomicOp::Exchange => "InterlockedExchange",
        AtomicOp::CompSwap => "InterlockedCompareExchange",
    }
}

/// A barrier of the workgroup, where arrays are in a buffer or not: those of HLSL order at least as much.
pub(crate) const fn sync(sync: Sync, in_buffer: bool) -> &'static str {
    match sync {
        Sync::Barrier if in_buffer => "AllMemoryBarrierWithGroupSync",
        Sync::Barrier => "GroupMemoryBarrierWithGroupSync",
        Sync::MemoryShared => "GroupMemoryBarrier",
        Sync::MemoryBuffer => "DeviceMemoryBarrier",
        Sync::Memory | Sync::GroupMemory => "AllMemoryBarrier",
    }
}

/// What stands before an `if` or a switch, with the space after it.
pub(crate) const fn selection_control(control: SelectionControl) -> &'static str {
    match control {
        SelectionControl::Unspecified => "",
        SelectionControl::Flatten => "[flatten] ",
        SelectionControl::DontFlatten => "[branch] ",
    }
}

/// What stands before a loop, with the space after it.
pub(crate) const fn loop_control(control: LoopControl) -> &'static str {
    match control {
        LoopControl::Unspecified => "",
        LoopControl::Unroll => "[unroll] ",
        LoopControl::DontUnroll => "[loop] ",
    }
}

/// A function on a lane's own values, by what it is called in the shader; those in capitals are functions of the shader itself; `None` if
/// HLSL has none.
pub(crate) const fn intrinsic(op: Intrinsic) -> Option<&'static str> {
    match op {
        Intrinsic::Min => Some("min"),
        Intrinsic::Max => Some("max"),
        Intrinsic::Clamp => Some("clamp"),
        Intrinsic::Abs => Some("abs"),
        Intrinsic::Sign => Some("sign"),
        Intrinsic::BitfieldReverse => Some("reversebits"),
        Intrinsic::BitCount => Some("countbits"),
        Intrinsic::FindLsb => Some("firstbitlow"),
        Intrinsic::FindMsb => Some("firstbithigh"),
        Intrinsic::Floor => Some("floor"),
        Intrinsic::Ceil => Some("ceil"),
        Intrinsic::Trunc => Some("trunc"),
        Intrinsic::AddCarry => Some("ADD_CARRY"),
        Intrinsic::SubBorrow => Some("SUB_BORROW"),
        Intrinsic::Any => Some("any"),
        Intrinsic::All => Some("all"),
        Intrinsic::BitfieldExtract
        | Intrinsic::BitfieldInsert
        | Intrinsic::Expect
        | Intrinsic::Mix
        | Intrinsic::MulHigh
        | Intrinsic::SignedRem
        | Intrinsic::SignedMod
        | Intrinsic::Dot
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

/// How a subgroup operation is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wave {
    /// A wave intrinsic, or a function of the shader itself, of the same operands.
    Call(&'static str),
    /// A bitwise one, which takes unsigned integers.
    Bits(&'static str),
    /// `WaveReadLaneAt` of a lane that is computed of the lane's own number and the second operand.
    Relative(&'static str),
    /// `WaveReadLaneAt` of a lane so much higher, around the end.
    Rotate,
    /// `WaveActiveAllEqual`, which gives one bool for each component.
    AllEqual,
    /// The language has no such operation.
    Lacking,
}

/// How an operation is said of an operand of this type.
pub(crate) fn wave(dialect: Dialect, op: SubgroupOp, ty: Option<Type>) -> Wave {
    let own = match dialect {
        Dialect::Slang => wave_of_slang(op, ty),
        _ => None,
    };
    own.unwrap_or_else(|| wave_of_both(op, ty))
}

/// What Slang has and HLSL has not: rotations, scans with minimum, maximum and bitwise operators, and all operations on partitions, "equivalent to SPIRV/GLSL's subgroup
/// partitioned operation" (hlsl.meta.slang, which declares all these functions).
fn wave_of_slang(op: SubgroupOp, ty: Option<Type>) -> Option<Wave> {
    use SubgroupOp as Op;
    let ty = ty?;
    // Bitwise operations of values of less than 32 bits are left out as in HLSL.
    let has_bits = ty.scalar.size() >= 32 && ty.scalar != Scalar::Bool;
    Some(match op {
        Op::Rotate => Wave::Call("WaveRotate"),
        Op::ClusteredRotate => Wave::Call("WaveClusteredRotate"),
        _ if ty.scalar == Scalar::Bool => return None,
        Op::Exclusive(Fold::Min) => Wave::Call("WavePrefixMin"),
        Op::Exclusive(Fold::Max) => Wave::Call("WavePrefixMax"),
        Op::Exclusive(Fold::And) if has_bits => Wave::Bits("WavePrefixBitAnd"),
        Op::Exclusive(Fold::Or) if has_bits => Wave::Bits("WavePrefixBitOr"),
        Op::Exclusive(Fold::Xor) if has_bits => Wave::Bits("WavePrefixBitXor"),
        Op::Partitioned(Fold::Add) => Wave::Call("WaveMultiSum"),
        Op::Partitioned(Fold::Mul) => Wave::Call("WaveMultiProduct"),
        Op::Partitioned(Fold::Min) => Wave::Call("WaveMultiMin"),
        Op::Partitioned(Fold::Max) => Wave::Call("WaveMultiMax"),
        Op::Partitioned(Fold::And) if has_bits => Wave::Bits("WaveMultiBitAnd"),
        Op::Partitioned(Fold::Or) if has_bits => Wave::Bits("WaveMultiBitOr"),
        Op::Partitioned(Fold::Xor) if has_bits => Wave::Bits("WaveMultiBitXor"),
        Op::PartitionedInclusive(Fold::Add) => Wave::Call("WaveMultiPrefixInclusiveSum"),
        Op::PartitionedInclusive(Fold::Mul) => Wave::Call("WaveMultiPrefixInclusiveProduct"),
        Op::PartitionedInclusive(Fold::Min) => Wave::Call("WaveMultiPrefixInclusiveMin"),
        Op::PartitionedInclusive(Fold::Max) => Wave::Call("WaveMultiPrefixInclusiveMax"),
        Op::PartitionedInclusive(Fold::And) if has_bits => Wave::Bits("WaveMultiPrefixInclusiveBitAnd"),
        Op::PartitionedInclusive(Fold::Or) if has_bits => Wave::Bits("WaveMultiPrefixInclusiveBitOr"),
        Op::PartitionedInclusive(Fold::Xor) if has_bits => Wave::Bits("WaveMultiPrefixInclusiveBitXor"),
        Op::PartitionedExclusive(Fold::Add) => Wave::Call("WaveMultiPrefixExclusiveSum"),
        Op::PartitionedExclusive(Fold::Mul) => Wave::Call("WaveMultiPrefixExclusiveProduct"),
        Op::PartitionedExclusive(Fold::Min) => Wave::Call("WaveMultiPrefixExclusiveMin"),
        Op::PartitionedExclusive(Fold::Max) => Wave::Call("WaveMultiPrefixExclusiveMax"),
        Op::PartitionedExclusive(Fold::And) if has_bits => Wave::Bits("WaveMultiPrefixExclusiveBitAnd"),
        Op::PartitionedExclusive(Fold::Or) if has_bits => Wave::Bits("WaveMultiPrefixExclusiveBitOr"),
        Op::PartitionedExclusive(Fold::Xor) if has_bits => Wave::Bits("WaveMultiPrefixExclusiveBitXor"),
        _ => return None,
    })
}

/// How HLSL says it.
fn wave_of_both(op: SubgroupOp, ty: Option<Type>) -> Wave {
    use SubgroupOp as Op;
    let is_bool = ty.is_some_and(|ty| ty.scalar == Scalar::Bool);
    let one = ty.is_none_or(|ty| ty.width == 1);
    match op {
        Op::Elect => Wave::Call("WaveIsFirstLane"),
        Op::All => Wave::Call("WaveActiveAllTrue"),
        Op::Any => Wave::Call("WaveActiveAnyTrue"),
        Op::AllEqual => Wave::AllEqual,
        Op::Broadcast | Op::Shuffle => Wave::Call("WaveReadLaneAt"),
        Op::BroadcastFirst => Wave::Call("WaveReadLaneFirst"),
        Op::Ballot => Wave::Call("WaveActiveBallot"),
        Op::InverseBallot => Wave::Call("InverseBallot"),
        Op::BallotBitExtract => Wave::Call("BallotBitExtract"),
        Op::BallotBitCount => Wave::Call("BallotBitCount"),
        Op::BallotInclusiveBitCount => Wave::Call("BallotInclusiveBitCount"),
        Op::BallotExclusiveBitCount => Wave::Call("BallotExclusiveBitCount"),
        Op::BallotFindLsb => Wave::Call("BallotFindLSB"),
        Op::BallotFindMsb => Wave::Call("BallotFindMSB"),
        Op::ShuffleXor => Wave::Relative("^"),
        Op::ShuffleUp => Wave::Relative("-"),
        Op::ShuffleDown => Wave::Relative("+"),
        Op::Rotate => Wave::Rotate,
        Op::QuadBroadcast => Wave::Call("QuadReadLaneAt"),
        Op::QuadSwapHorizontal => Wave::Call("QuadReadAcrossX"),
        Op::QuadSwapVertical => Wave::Call("QuadReadAcrossY"),
        Op::QuadSwapDiagonal => Wave::Call("QuadReadAcrossDiagonal"),
        Op::Reduce(Fold::And) if is_bool && one => Wave::Call("WaveActiveAllTrue"),
        Op::Reduce(Fold::Or) if is_bool && one => Wave::Call("WaveActiveAnyTrue"),
        Op::Reduce(Fold::Xor) if is_bool && one => Wave::Call("WaveActiveParity"),
        Op::Reduce(_) | Op::Inclusive(_) | Op::Exclusive(_) | Op::PartitionedExclusive(_) if is_bool => Wave::Lacking,
        // Bitwise operations are for uint and uint64_t.
        Op::Reduce(fold) | Op::PartitionedExclusive(fold)
            if matches!(fold, Fold::And | Fold::Or | Fold::Xor) && ty.is_some_and(|ty| ty.scalar.size() < 32) =>
        {
            Wave::Lacking
        }
        Op::Reduce(Fold::Add) => Wave::Call("WaveActiveSum"),
        Op::Reduce(Fold::Mul) => Wave::Call("WaveActiveProduct"),
        Op::Reduce(Fold::Min) => Wave::Call("WaveActiveMin"),
        Op::Reduce(Fold::Max) => Wave::Call("WaveActiveMax"),
        Op::Reduce(Fold::And) => Wave::Bits("WaveActiveBitAnd"),
        Op::Reduce(Fold::Or) => Wave::Bits("WaveActiveBitOr"),
        Op::Reduce(Fold::Xor) => Wave::Bits("WaveActiveBitXor"),
        Op::Exclusive(Fold::Add) => Wave::Call("WavePrefixSum"),
        Op::Exclusive(Fold::Mul) => Wave::Call("WavePrefixProduct"),
        Op::Inclusive(Fold::Add) => Wave::Call("InclusiveSum"),
        Op::Inclusive(Fold::Mul) => Wave::Call("InclusiveProduct"),
        Op::DFdx => Wave::Call("ddx"),
        Op::DFdy => Wave::Call("ddy"),
        Op::Fwidth => Wave::Call("fwidth"),
        Op::DFdxFine => Wave::Call("ddx_fine"),
        Op::DFdyFine => Wave::Call("ddy_fine"),
        Op::DFdxCoarse => Wave::Call("ddx_coarse"),
        Op::DFdyCoarse => Wave::Call("ddy_coarse"),
        Op::Partition => Wave::Call("WaveMatch"),
        Op::PartitionedExclusive(Fold::Add) => Wave::Call("WaveMultiPrefixSum"),
        Op::PartitionedExclusive(Fold::Mul) => Wave::Call("WaveMultiPrefixProduct"),
        Op::PartitionedExclusive(Fold::And) => Wave::Bits("WaveMultiPrefixBitAnd"),
        Op::PartitionedExclusive(Fold::Or) => Wave::Bits("WaveMultiPrefixBitOr"),
        Op::PartitionedExclusive(Fold::Xor) => Wave::Bits("WaveMultiPrefixBitXor"),
        // The language has what is listed.
        _ => Wave::Lacking,
    }
}

/// True for those of the helpers that ask which lanes there are.
pub(crate) fn counts_lanes(op: SubgroupOp) -> bool {
    use SubgroupOp as Op;
    matches!(
        op,
        Op::BallotBitCount
            | Op::BallotInclusiveBitCount
            | Op::BallotExclusiveBitCount
            | Op::BallotFindLsb
            | Op::BallotFindMsb
    )
}

/// True for the operations that are functions of the shader itself, which a person would write, too.
pub(crate) fn is_helper(op: SubgroupOp) -> bool {
    use SubgroupOp as Op;
    let others = matches!(
        op,
        Op::InverseBallot | Op::BallotBitExtract | Op::Inclusive(Fold::Add | Fold::Mul) | Op::Reduce(Fold::Xor)
    );
    others || counts_lanes(op)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(WORDS.is_sorted());
        assert_eq!((name("line"), name("mask")), (Cow::from("line_"), Cow::from("mask")));
    }
}
