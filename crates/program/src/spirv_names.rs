//! Subgroup operations by their SPIR-V names (SPIR-V 1.6 §3.49.24 and the extensions of each): how cases say them.
//!
//! The name is that of the instruction without `Op` and without the kind of its operands (`OpGroupNonUniformIAdd`, `SMin` and
//! `LogicalAnd` are `Add`, `Min` and `And`), then the group operation, or what else tells operations of one instruction apart. Barriers are
//! said by their scope and the memory that they order.

use serde::{Deserialize, Deserializer, Serializer};

use crate::subgroup::{Fold, SubgroupOp, TABLE};

/// The name of an operation, such as `GroupNonUniformAdd InclusiveScan`.
pub fn name(op: SubgroupOp) -> String {
    let plain = match op {
        SubgroupOp::Barrier => "ControlBarrier Subgroup",
        SubgroupOp::MemoryBarrier => "MemoryBarrier Subgroup",
        SubgroupOp::MemoryBarrierBuffer => "MemoryBarrier Subgroup UniformMemory",
        SubgroupOp::MemoryBarrierShared => "MemoryBarrier Subgroup WorkgroupMemory",
        SubgroupOp::MemoryBarrierImage => "MemoryBarrier Subgroup ImageMemory",
        SubgroupOp::Elect => "GroupNonUniformElect",
        SubgroupOp::All => "GroupNonUniformAll",
        SubgroupOp::Any => "GroupNonUniformAny",
        SubgroupOp::AllEqual => "GroupNonUniformAllEqual",
        SubgroupOp::Broadcast => "GroupNonUniformBroadcast",
        SubgroupOp::BroadcastFirst => "GroupNonUniformBroadcastFirst",
        SubgroupOp::Ballot => "GroupNonUniformBallot",
        SubgroupOp::InverseBallot => "GroupNonUniformInverseBallot",
        SubgroupOp::BallotBitExtract => "GroupNonUniformBallotBitExtract",
        SubgroupOp::BallotBitCount => "GroupNonUniformBallotBitCount Reduce",
        SubgroupOp::BallotInclusiveBitCount => "GroupNonUniformBallotBitCount InclusiveScan",
        SubgroupOp::BallotExclusiveBitCount => "GroupNonUniformBallotBitCount ExclusiveScan",
        SubgroupOp::BallotFindLsb => "GroupNonUniformBallotFindLSB",
        SubgroupOp::BallotFindMsb => "GroupNonUniformBallotFindMSB",
        SubgroupOp::Shuffle => "GroupNonUniformShuffle",
        SubgroupOp::ShuffleXor => "GroupNonUniformShuffleXor",
        SubgroupOp::ShuffleUp => "GroupNonUniformShuffleUp",
        SubgroupOp::ShuffleDown => "GroupNonUniformShuffleDown",
        SubgroupOp::QuadBroadcast => "GroupNonUniformQuadBroadcast",
        SubgroupOp::QuadSwapHorizontal => "GroupNonUniformQuadSwap Horizontal",
        SubgroupOp::QuadSwapVertical => "GroupNonUniformQuadSwap Vertical",
        SubgroupOp::QuadSwapDiagonal => "GroupNonUniformQuadSwap Diagonal",
        SubgroupOp::Rotate => "GroupNonUniformRotateKHR",
        SubgroupOp::ClusteredRotate => "GroupNonUniformRotateKHR ClusterSize",
        SubgroupOp::QuadAll => "GroupNonUniformQuadAllKHR",
        SubgroupOp::QuadAny => "GroupNonUniformQuadAnyKHR",
        SubgroupOp::Partition => "GroupNonUniformPartitionNV",
        SubgroupOp::Reduce(fold) => return arithmetic(fold, "Reduce"),
        SubgroupOp::Inclusive(fold) => return arithmetic(fold, "InclusiveScan"),
        SubgroupOp::Exclusive(fold) => return arithmetic(fold, "ExclusiveScan"),
        SubgroupOp::Clustered(fold) => return arithmetic(fold, "ClusteredReduce"),
        SubgroupOp::Partitioned(fold) => return arithmetic(fold, "PartitionedReduceNV"),
        SubgroupOp::PartitionedInclusive(fold) => return arithmetic(fold, "PartitionedInclusiveScanNV"),
        SubgroupOp::PartitionedExclusive(fold) => return arithmetic(fold, "PartitionedExclusiveScanNV"),
    };
    plain.to_owned()
}

fn arithmetic(fold: Fold, group_operation: &str) -> String {
    let operation = match fold {
        Fold::Add => "Add",
        Fold::Mul => "Mul",
        Fold::Min => "Min",
        Fold::Max => "Max",
        Fold::And => "And",
        Fold::Or => "Or",
        Fold::Xor => "Xor",
    };
    format!("GroupNonUniform{operation} {group_operation}")
}

pub(crate) fn serialize<S: Serializer>(op: &SubgroupOp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&name(*op))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SubgroupOp, D::Error> {
    let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
    // Format 1 had the names of GLSL.
    let row = TABLE.iter().find(|info| info.name == text || name(info.op) == text);
    row.map(|info| info.op).ok_or_else(|| serde::de::Error::custom(format!("unknown subgroup operation '{text}'")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different() {
        let names: std::collections::BTreeSet<String> = TABLE.iter().map(|info| name(info.op)).collect();
        assert_eq!(names.len(), TABLE.len());
        assert_eq!(name(SubgroupOp::PartitionedExclusive(Fold::Min)), "GroupNonUniformMin PartitionedExclusiveScanNV");
    }
}
