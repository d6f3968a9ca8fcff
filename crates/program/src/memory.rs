//! Memory that the invocations of a workgroup share, in shared memory or in a storage buffer: arrays, atomics and barriers.
//!
//! What an invocation reads must not depend on who came first (rules A1 and A2; docs/rules.md, section Y), but for what atomics return, which is judged
//! together (rule A3). The forms are chosen so that the rules of
//! `tangle_analysis::races` can prove it: an invocation *stores* to the slot of its own number only, or to one of the elements beside each other that are
//! its own ([`Shared::parts`]), anybody may *load* any slot, and
//! *atomics* go anywhere; `barrier()` divides a run into phases in which an array is used in one of these ways. Within a phase lanes that are
//! together in a subgroup may load what they have stored, ordered by `subgroupBarrier()` ([`crate::tree::Load::is_of_peer`]).

use serde::{Deserialize, Serialize};

use crate::subgroup::Fold;
use crate::types::{Scalar, Type};

/// Index of an array in [`crate::tree::Program::shared`].
pub type ArrayId = u32;

/// The most shared memory of a program in bytes: what every device offers (`maxComputeSharedMemorySize`).
pub const MAX_SHARED_BYTES: u64 = 16_384;

/// What a shader in GLSL calls the index with which it fills arrays in loops of their own: no array has that name.
pub const FILL_INDEX: &str = "slot";

/// Where an array lies (SPIR-V 1.6 §3.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StorageClass {
    /// `shared`: memory of a workgroup.
    #[default]
    #[serde(alias = "workgroup")]
    Workgroup,
    /// In a `coherent buffer`, where every workgroup has a slice of its own.
    #[serde(alias = "storage_buffer")]
    StorageBuffer,
}

/// An array of a workgroup. Every workgroup has its own; all elements are `init` when the program begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// GLSL identifier, unique among the arrays.
    pub name: String,
    /// Element type: an integer. Atomics are on 32 or 64 bits.
    #[serde(rename = "type")]
    pub scalar: Scalar,
    /// Number of elements of each workgroup's array.
    pub len: u32,
    /// What they hold at first: these bits, widened with zeros.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub init: u32,
    /// How many elements belong to each invocation, beside each other: those from its number times this on.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub parts: u32,
    /// In shared memory or in a buffer.
    #[serde(default, skip_serializing_if = "StorageClass::is_workgroup")]
    pub storage: StorageClass,
}

impl StorageClass {
    /// True for shared memory.
    pub const fn is_workgroup(&self) -> bool {
        matches!(self, StorageClass::Workgroup)
    }
}

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Shared {
    /// The type of an element.
    pub const fn ty(&self) -> Type {
        Type::scalar(self.scalar)
    }

    /// Size in bytes of one workgroup's array.
    pub fn bytes(&self) -> u64 {
        u64::from(self.len) * u64::from(self.scalar.size() / 8)
    }
}

/// Size in bytes of the buffer that holds the slices of so many workgroups, laid out by std430: array after array, each aligned as its
/// elements are, 0 if there is none (OpenGL 4.6 §7.6.2.2).
pub fn buffer_bytes(arrays: &[Shared], workgroups: u32) -> u64 {
    let in_buffer = arrays.iter().filter(|array| !array.storage.is_workgroup());
    in_buffer.fold(0, |end: u64, array| {
        end.next_multiple_of(u64::from(array.scalar.size() / 8)) + array.bytes() * u64::from(workgroups)
    })
}

/// True for the types that atomics have (GLSL 4.60 §8.11, GL_EXT_shader_atomic_int64).
pub const fn has_atomics(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Int | Scalar::Uint | Scalar::Int64 | Scalar::Uint64)
}

/// An atomic memory function of GLSL 4.60 §8.11.
/// Its JSON form is the SPIR-V instruction without the kind of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of GLSL")]
pub enum AtomicOp {
    #[serde(rename = "AtomicAdd", alias = "add")]
    Add,
    #[serde(rename = "AtomicMin", alias = "min")]
    Min,
    #[serde(rename = "AtomicMax", alias = "max")]
    Max,
    #[serde(rename = "AtomicAnd", alias = "and")]
    And,
    #[serde(rename = "AtomicOr", alias = "or")]
    Or,
    #[serde(rename = "AtomicXor", alias = "xor")]
    Xor,
    #[serde(rename = "AtomicExchange", alias = "exchange")]
    Exchange,
    #[serde(rename = "AtomicCompareExchange", alias = "comp_swap")]
    CompSwap,
}

impl AtomicOp {
    /// Every function, in the order of declaration.
    pub const ALL: [AtomicOp; 8] = [
        AtomicOp::Add,
        AtomicOp::Min,
        AtomicOp::Max,
        AtomicOp::And,
        AtomicOp::Or,
        AtomicOp::Xor,
        AtomicOp::Exchange,
        AtomicOp::CompSwap,
    ];

    /// What it combines the old value with: these come to the same in any order (rules A1 and A2).
    pub const fn fold(self) -> Option<Fold> {
        Some(match self {
            AtomicOp::Add => Fold::Add,
            AtomicOp::Min => Fold::Min,
            AtomicOp::Max => Fold::Max,
            AtomicOp::And => Fold::And,
            AtomicOp::Or => Fold::Or,
            AtomicOp::Xor => Fold::Xor,
            AtomicOp::Exchange | AtomicOp::CompSwap => return None,
        })
    }

    /// What is in memory afterwards.
    pub fn apply(self, scalar: Scalar, old: u64, value: u64, compare: u64) -> u64 {
        match self.fold() {
            Some(fold) => fold.apply(scalar, old, value),
            None if self == AtomicOp::CompSwap && old != compare => old,
            None => value,
        }
    }
}

/// A statement that orders memory accesses. Its JSON form is the SPIR-V instruction, the scope and the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Sync {
    /// `barrier();`: nobody goes on before everybody has come, and then all see what all have written to arrays. With arrays in a buffer it
    /// stands between two `memoryBarrierBuffer();`, since alone it orders shared memory only (GLSL 4.60 §8.16).
    #[serde(rename = "ControlBarrier", alias = "barrier")]
    Barrier,
    /// `memoryBarrier();`: accesses to all memory, for the device.
    #[serde(rename = "MemoryBarrier Device", alias = "memory")]
    Memory,
    /// `memoryBarrierShared();`: accesses to shared memory.
    #[serde(rename = "MemoryBarrier Device WorkgroupMemory", alias = "memory_shared")]
    MemoryShared,
    /// `memoryBarrierBuffer();`: accesses to buffers, for the device.
    #[serde(rename = "MemoryBarrier Device UniformMemory", alias = "memory_buffer")]
    MemoryBuffer,
    /// `groupMemoryBarrier();`: accesses to all memory, for the workgroup.
    #[serde(rename = "MemoryBarrier Workgroup", alias = "group_memory")]
    GroupMemory,
}

impl Sync {
    /// Every one of these statements, `barrier()` first.
    pub const ALL: [Sync; 5] = [Sync::Barrier, Sync::Memory, Sync::MemoryShared, Sync::MemoryBuffer, Sync::GroupMemory];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics() {
        use AtomicOp as Op;
        let minus_one = 0xFFFF_FFFF;
        for (op, scalar, old, value, compare, want) in [
            (Op::Add, Scalar::Uint, minus_one, 2, 0, 1),
            (Op::Min, Scalar::Int, 3, minus_one, 0, minus_one),
            (Op::Min, Scalar::Uint, 3, minus_one, 0, 3),
            (Op::Max, Scalar::Uint64, 3, 1 << 40, 0, 1 << 40),
            (Op::And, Scalar::Uint, 6, 3, 0, 2),
            (Op::Or, Scalar::Uint, 6, 3, 0, 7),
            (Op::Xor, Scalar::Uint, 6, 3, 0, 5),
            (Op::Exchange, Scalar::Uint, 6, 3, 0, 3),
            (Op::CompSwap, Scalar::Uint, 6, 3, 6, 3),
            (Op::CompSwap, Scalar::Uint, 6, 3, 5, 6),
        ] {
            assert_eq!(op.apply(scalar, old, value, compare), want, "{op:?}");
        }
    }
}
