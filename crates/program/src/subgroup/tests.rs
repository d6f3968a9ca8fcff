//! Expectations written by hand from the texts, not from the functions: what each operation gives each lane.
//!
//! The oracle and the reference device share the table of operations. A wrong function there would be wrong in both, and only these
//! lines would say so: every operation has some, and every fold of every kind of type.

use super::*;
use crate::float;
use crate::types::Scalar;

#[test]
fn every_operation_finds_its_row() {
    for (i, row) in TABLE.iter().enumerate() {
        assert_eq!(row.op.index(), i, "{}", row.name);
        let namesakes = TABLE.iter().filter(|other| other.name == row.name || other.spirv == row.spirv);
        assert_eq!(namesakes.count(), 1, "{}", row.name);
        assert!(row.gives == Gives::Nothing || !row.sentence.is_empty(), "{}", row.name);
        for name in [row.name, row.spirv] {
            assert_eq!(serde_json::from_value::<SubgroupOp>(name.into()).unwrap(), row.op);
        }
    }
    assert_eq!(
        SubgroupOp::PartitionedExclusive(Fold::Min).info().spirv,
        "GroupNonUniformMin PartitionedExclusiveScanNV"
    );
}

/// One row a line: operation, type (`*`: the operand is preserved; `/n`: clusters of n), lanes of the tangle in hexadecimal; the first operand of lanes 0 to 7; the second; what
/// lanes 0 to 7 get. One number stands for eight equal ones. `.` is a lane outside the tangle, `?` an undefined result, `UB` undefined behaviour.
const EXPECTED: &str = "
    subgroupElect bool F0 | 0 | 0 | . . . . 1 0 0 0
    subgroupElect bool 90 | 0 | 0 | . . . . 1 . . 0
    subgroupElect bool 80 | 0 | 0 | . . . . . . . 1
    subgroupAll bool FF | 1 1 1 1 1 1 1 1 | 0 | 1
    subgroupAll bool FF | 1 1 1 0 1 1 1 1 | 0 | 0
    subgroupAll bool FF | 0 1 1 1 1 1 1 1 | 0 | 0
    subgroupAll bool FF | 1 1 1 1 1 1 1 0 | 0 | 0
    subgroupAll bool 7E | 0 1 1 1 1 1 1 0 | 0 | . 1 1 1 1 1 1 .
    subgroupAny bool FF | 0 0 0 0 0 0 0 0 | 0 | 0
    subgroupAny bool FF | 0 0 0 1 0 0 0 0 | 0 | 1
    subgroupAny bool FF | 0 0 0 0 0 0 0 1 | 0 | 1
    subgroupAny bool 7E | 1 0 0 0 0 0 0 1 | 0 | . 0 0 0 0 0 0 .
    subgroupAllEqual uint FF | 9 9 9 9 9 9 9 9 | 0 | 1
    subgroupAllEqual uint FF | 9 9 9 5 9 9 9 9 | 0 | 0
    subgroupAllEqual uint FF | 5 9 9 9 9 9 9 9 | 0 | 0
    subgroupAllEqual uint FF | 9 5 9 9 9 9 9 9 | 0 | 0
    subgroupAllEqual uint FF | 9 9 9 9 9 9 5 9 | 0 | 0
    subgroupAllEqual uint FF | 9 9 9 9 9 9 9 5 | 0 | 0
    subgroupAllEqual uint F7 | 9 9 9 5 9 9 9 9 | 0 | 1 1 1 . 1 1 1 1
    subgroupAllEqual uint 7E | 5 9 9 9 9 9 9 5 | 0 | . 1 1 1 1 1 1 .
    subgroupAllEqual uint 08 | 1 2 3 4 5 6 7 8 | 0 | . . . 1 . . . .
    subgroupAllEqual int FF | 7 7 7 7 7 7 7 -7 | 0 | 0
    subgroupAllEqual float FF | 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 | 0 | 1
    subgroupAllEqual float FF | 1.5 1.5 1.5 1.5 2.5 1.5 1.5 1.5 | 0 | 0
    subgroupAllEqual float* FF | 0 -0 0 0 0 0 0 -0 | 0 | 1
    subgroupAllEqual float* FF | inf inf inf inf inf inf inf inf | 0 | 1
    subgroupAllEqual float* FF | inf -inf inf inf inf inf inf inf | 0 | 0
    subgroupAllEqual float* FF | NaN NaN NaN NaN NaN NaN NaN NaN | 0 | 0
    subgroupAllEqual float* 60 | 1 1 1 1 1 1 NaN 1 | 0 | . . . . . 0 0 .
    subgroupAllEqual float* 40 | 1 1 1 1 1 1 NaN 1 | 0 | . . . . . . ? .
    subgroupAllEqual float16_t* 20 | 1 1 1 1 1 -0 NaN 1 | 0 | . . . . . 1 . .
    subgroupAllEqual uint64_t FF | 4294967296 0 0 0 0 0 0 0 | 0 | 0
    subgroupBroadcast float* 0E | 1 2 -0 4 5 6 7 8 | 2 | . -0 -0 -0 . . . .
    subgroupBroadcast uint 0E | 1 2 3 4 5 6 7 8 | 2 | . 3 3 3 . . . .
    subgroupBroadcast uint FF | 1 2 3 4 5 6 7 8 | 0 | 1
    subgroupBroadcast uint F0 | 1 2 3 4 5 6 7 8 | 2 | . . . . ? ? ? ?
    subgroupBroadcast uint FF | 1 2 3 4 5 6 7 8 | 8 | ?
    subgroupBroadcast uint 0F | 1 2 3 4 5 6 7 8 | 2 2 1 2 2 2 2 2 | UB
    subgroupBroadcast uint 0F | 1 2 3 4 5 6 7 8 | 2 2 2 2 7 7 7 7 | 3 3 3 3 . . . .
    subgroupBroadcastFirst uint FF | 1 2 3 4 5 6 7 8 | 0 | 1
    subgroupBroadcastFirst uint F0 | 1 2 3 4 5 6 7 8 | 0 | . . . . 5 5 5 5
    subgroupBroadcastFirst float A0 | 1 2 3 4 5 6.5 7 8 | 0 | . . . . . 6.5 . 6.5
    subgroupShuffle uint FF | 1 2 3 4 5 6 7 8 | 7 6 5 4 3 2 1 0 | 8 7 6 5 4 3 2 1
    subgroupShuffle uint 55 | 1 2 3 4 5 6 7 8 | 1 2 3 4 5 6 7 8 | ? . ? . ? . ? .
    subgroupShuffle uint 03 | 1 2 3 4 5 6 7 8 | 9 0 0 0 0 0 0 0 | ? 1 . . . . . .
    subgroupShuffle uint FF | 1 2 3 4 5 6 7 8 | 8 | ?
    subgroupShuffle uint F0 | 1 2 3 4 5 6 7 8 | 0 0 0 0 7 3 6 5 | . . . . 8 ? 7 6
    subgroupShuffleXor uint FF | 1 2 3 4 5 6 7 8 | 4 | 5 6 7 8 1 2 3 4
    subgroupShuffleXor uint FF | 1 2 3 4 5 6 7 8 | 0 1 2 3 4 5 6 7 | 1
    subgroupShuffleXor uint 7F | 1 2 3 4 5 6 7 8 | 1 | 2 1 4 3 6 5 ? .
    subgroupShuffleXor uint FF | 1 2 3 4 5 6 7 8 | 8 | ?
    subgroupShuffleUp uint FF | 1 2 3 4 5 6 7 8 | 1 | ? 1 2 3 4 5 6 7
    subgroupShuffleUp uint FD | 1 2 3 4 5 6 7 8 | 1 | ? . ? 3 4 5 6 7
    subgroupShuffleUp uint FF | 1 2 3 4 5 6 7 8 | 0 1 1 2 2 7 6 7 | 1 1 2 2 3 ? 1 1
    subgroupShuffleUp uint FF | 1 2 3 4 5 6 7 8 | 4294967295 | ?
    subgroupShuffleDown uint FF | 1 2 3 4 5 6 7 8 | 1 | 2 3 4 5 6 7 8 ?
    subgroupShuffleDown uint BF | 1 2 3 4 5 6 7 8 | 1 | 2 3 4 5 6 ? . ?
    subgroupShuffleDown uint FF | 1 2 3 4 5 6 7 8 | 7 0 0 0 0 0 1 1 | 8 2 3 4 5 6 8 ?
    subgroupShuffleDown uint FF | 1 2 3 4 5 6 7 8 | 4294967295 | ?
    subgroupRotate uint FF | 1 2 3 4 5 6 7 8 | 3 | 4 5 6 7 8 1 2 3
    subgroupRotate uint FF | 1 2 3 4 5 6 7 8 | 4294967295 | 8 1 2 3 4 5 6 7
    subgroupRotate uint 7F | 1 2 3 4 5 6 7 8 | 1 | 2 3 4 5 6 7 ? .
    subgroupRotate uint FF | 1 2 3 4 5 6 7 8 | 1 1 1 1 1 1 1 2 | UB
    subgroupClusteredRotate uint/4 FF | 1 2 3 4 5 6 7 8 | 1 | 2 3 4 1 6 7 8 5
    subgroupClusteredRotate uint/4 FF | 1 2 3 4 5 6 7 8 | 7 | 4 1 2 3 8 5 6 7
    subgroupClusteredRotate uint/2 7F | 1 2 3 4 5 6 7 8 | 1 | 2 1 4 3 6 5 ? .
    subgroupClusteredRotate uint/16 FF | 1 2 3 4 5 6 7 8 | 1 | UB
    subgroupClusteredRotate uint/4 FF | 1 2 3 4 5 6 7 8 | 1 2 1 1 1 1 1 1 | UB
    subgroupQuadBroadcast uint 7F | 1 2 3 4 5 6 7 8 | 3 | 4 4 4 4 ? ? ? .
    subgroupQuadBroadcast uint FF | 1 2 3 4 5 6 7 8 | 0 | 1 1 1 1 5 5 5 5
    subgroupQuadBroadcast uint FF | 1 2 3 4 5 6 7 8 | 4 | ?
    subgroupQuadSwapHorizontal uint FF | 1 2 3 4 5 6 7 8 | 0 | 2 1 4 3 6 5 8 7
    subgroupQuadSwapHorizontal uint FE | 1 2 3 4 5 6 7 8 | 0 | . ? 4 3 6 5 8 7
    subgroupQuadSwapVertical uint FF | 1 2 3 4 5 6 7 8 | 0 | 3 4 1 2 7 8 5 6
    subgroupQuadSwapVertical uint 7F | 1 2 3 4 5 6 7 8 | 0 | 3 4 1 2 7 ? 5 .
    subgroupQuadSwapDiagonal uint FE | 1 2 3 4 5 6 7 8 | 0 | . 3 2 ? 8 7 6 5
    subgroupQuadAll bool FF | 1 1 1 0 1 1 1 1 | 0 | 0 0 0 0 1 1 1 1
    subgroupQuadAll bool F7 | 1 1 1 0 1 1 1 1 | 0 | 1 1 1 . 1 1 1 1
    subgroupQuadAll bool 81 | 1 0 0 0 1 1 1 0 | 0 | 1 . . . . . . 0
    subgroupQuadAny bool FF | 0 0 0 0 1 0 0 0 | 0 | 0 0 0 0 1 1 1 1
    subgroupQuadAny bool EF | 0 0 0 0 1 0 0 0 | 0 | 0 0 0 0 . 0 0 0
    dFdxFine float FF | 1 4 2 9 5.5 5 5 5.25 | 0 | 3 3 7 7 -0.5 -0.5 0.25 0.25
    dFdyFine float FF | 1 4 2 9 5.5 5 5 5.25 | 0 | 1 5 1 5 -0.5 0.25 -0.5 0.25
    fwidthFine float FF | 1 4 2 9 5.5 5 5 5.25 | 0 | 4 8 8 12 1 0.75 0.75 0.5
    dFdxFine float 7F | 4 1 2 2 1 2 3 4 | 0 | -3 -3 0 0 ? ? ? .
    dFdyFine float FE | 4 1 2 2 1 2 3 4 | 0 | . ? ? ? 2 2 2 2
    fwidthFine float F8 | 4 1 2 2 1 2 3 4 | 0 | . . . ? 3 3 3 3
    dFdxCoarse float FF | 1 4 3 6 1 2 1 3 | 0 | 3 3 3 3 ? ? ? ?
    dFdyCoarse float FF | 1 4 3 6 1 2 1 3 | 0 | 2 2 2 2 ? ? ? ?
    fwidthCoarse float FF | 1 4 3 6 1 2 1 3 | 0 | 5 5 5 5 ? ? ? ?
    fwidthCoarse float FF | 0 3 3 0 1 2 1 2 | 0 | 6 6 6 6 1 1 1 1
    dFdxCoarse float EF | 1 2 1 2 1 2 1 2 | 0 | 1 1 1 1 . ? ? ?
    dFdx float FF | 1 4 3 6 1 2 1 3 | 0 | 3 3 3 3 ? ? ? ?
    dFdx float FF | 0 3 3 0 1 2 1 2 | 0 | ? ? ? ? 1 1 1 1
    dFdy float FF | 1 4 3 6 1 2 1 3 | 0 | 2 2 2 2 ? ? ? ?
    fwidth float FF | 1 4 3 6 1 2 1 3 | 0 | 5 5 5 5 ? ? ? ?
    subgroupAdd uint FF | 1 2 3 4 5 6 7 8 | 0 | 36
    subgroupAdd uint 07 | 1 2 3 4 5 6 7 8 | 0 | 6 6 6 . . . . .
    subgroupAdd uint 81 | 4294967295 0 0 0 0 0 0 3 | 0 | 2 . . . . . . 2
    subgroupAdd int FF | -1 -2 -3 -4 5 6 7 -8 | 0 | 0
    subgroupAdd uint8_t 81 | 200 0 0 0 0 0 0 100 | 0 | 44 . . . . . . 44
    subgroupAdd int16_t 03 | 32767 1 0 0 0 0 0 0 | 0 | -32768 -32768 . . . . . .
    subgroupAdd uint64_t 03 | 18446744073709551615 2 0 0 0 0 0 0 | 0 | 1 1 . . . . . .
    subgroupAdd float 0F | 1.5 2 -0.25 4 0 0 0 0 | 0 | 7.25 7.25 7.25 7.25 . . . .
    subgroupMul uint 0F | 1 2 3 4 5 6 7 8 | 0 | 24 24 24 24 . . . .
    subgroupMul uint 03 | 65536 65537 0 0 0 0 0 0 | 0 | 65536 65536 . . . . . .
    subgroupMul int 03 | -3 5 0 0 0 0 0 0 | 0 | -15 -15 . . . . . .
    subgroupMul float 0E | 0 1.5 2 -4 0 0 0 0 | 0 | . -12 -12 -12 . . . .
    subgroupMin uint F0 | 1 2 3 4 5 6 7 8 | 0 | . . . . 5 5 5 5
    subgroupMin uint 03 | 4294967295 3 0 0 0 0 0 0 | 0 | 3 3 . . . . . .
    subgroupMin int 03 | -1 3 -9 0 0 0 0 0 | 0 | -1 -1 . . . . . .
    subgroupMin int8_t 03 | -128 127 0 0 0 0 0 0 | 0 | -128 -128 . . . . . .
    subgroupMin float 07 | 1.5 -2.5 0.5 -9 0 0 0 0 | 0 | -2.5 -2.5 -2.5 . . . . .
    subgroupMax uint 0F | 1 2 3 4 5 6 7 8 | 0 | 4 4 4 4 . . . .
    subgroupMax uint 03 | 4294967295 3 0 0 0 0 0 0 | 0 | 4294967295 4294967295 . . . . . .
    subgroupMax int 03 | -1 -3 9 0 0 0 0 0 | 0 | -1 -1 . . . . . .
    subgroupMax float 07 | 1.5 -2.5 0.5 9 0 0 0 0 | 0 | 1.5 1.5 1.5 . . . . .
    subgroupMax double 07 | -1.5 -2.5 -0.5 9 0 0 0 0 | 0 | -0.5 -0.5 -0.5 . . . . .
    subgroupAnd uint 05 | 7 0 14 0 0 0 0 0 | 0 | 6 . 6 . . . . .
    subgroupAnd bool 07 | 1 1 1 0 0 0 0 0 | 0 | 1 1 1 . . . . .
    subgroupAnd bool 0F | 1 1 0 1 0 0 0 0 | 0 | 0 0 0 0 . . . .
    subgroupOr uint 03 | 5 2 8 0 0 0 0 0 | 0 | 7 7 . . . . . .
    subgroupOr bool 03 | 0 0 1 1 0 0 0 0 | 0 | 0 0 . . . . . .
    subgroupXor uint 07 | 1 2 4 8 0 0 0 0 | 0 | 7 7 7 . . . . .
    subgroupXor uint 03 | 6 3 0 0 0 0 0 0 | 0 | 5 5 . . . . . .
    subgroupXor bool 0F | 1 1 1 0 0 0 0 0 | 0 | 1 1 1 1 . . . .
    subgroupInclusiveAdd uint FB | 1 2 3 4 5 6 7 8 | 0 | 1 3 . 7 12 18 25 33
    subgroupInclusiveMul uint 0F | 2 3 4 5 0 0 0 0 | 0 | 2 6 24 120 . . . .
    subgroupInclusiveMin int 0F | 3 -4 5 -6 0 0 0 0 | 0 | 3 -4 -4 -6 . . . .
    subgroupInclusiveMax uint 0F | 3 1 5 4 0 0 0 0 | 0 | 3 3 5 5 . . . .
    subgroupInclusiveAnd uint 0F | 15 14 12 3 0 0 0 0 | 0 | 15 14 12 0 . . . .
    subgroupInclusiveOr uint 0F | 0 1 4 2 0 0 0 0 | 0 | 0 1 5 7 . . . .
    subgroupInclusiveXor uint 0F | 1 1 4 5 0 0 0 0 | 0 | 1 0 4 1 . . . .
    subgroupInclusiveAdd float 0D | 0.5 9 0.25 -1 0 0 0 0 | 0 | 0.5 . 0.75 -0.25 . . . .
    subgroupInclusiveMin float 07 | 2 -1 0 0 0 0 0 0 | 0 | 2 -1 -1 . . . . .
    subgroupExclusiveAdd uint FB | 1 2 3 4 5 6 7 8 | 0 | 0 1 . 3 7 12 18 25
    subgroupExclusiveMul uint 0F | 2 3 4 5 0 0 0 0 | 0 | 1 2 6 24 . . . .
    subgroupExclusiveMin uint 06 | 1 2 3 4 5 6 7 8 | 0 | . 4294967295 2 . . . . .
    subgroupExclusiveMax uint 06 | 1 2 3 4 5 6 7 8 | 0 | . 0 2 . . . . .
    subgroupExclusiveMin int 06 | 1 2 3 4 5 6 7 8 | 0 | . 2147483647 2 . . . . .
    subgroupExclusiveMax int 06 | 1 2 3 4 5 6 7 8 | 0 | . -2147483648 2 . . . . .
    subgroupExclusiveMin int8_t 03 | -5 0 0 0 0 0 0 0 | 0 | 127 -5 . . . . . .
    subgroupExclusiveMax int16_t 03 | -5 0 0 0 0 0 0 0 | 0 | -32768 -5 . . . . . .
    subgroupExclusiveMin uint64_t 03 | 5 0 0 0 0 0 0 0 | 0 | 18446744073709551615 5 . . . . . .
    subgroupExclusiveAnd uint8_t 03 | 6 0 0 0 0 0 0 0 | 0 | 255 6 . . . . . .
    subgroupExclusiveAnd bool 07 | 1 0 1 0 0 0 0 0 | 0 | 1 1 0 . . . . .
    subgroupExclusiveOr uint 07 | 1 4 2 0 0 0 0 0 | 0 | 0 1 5 . . . . .
    subgroupExclusiveXor uint 07 | 5 4 2 0 0 0 0 0 | 0 | 0 5 1 . . . . .
    subgroupExclusiveMin float 0E | 9 1.5 -2 0 0 0 0 0 | 0 | . ? 1.5 -2 . . . .
    subgroupExclusiveMax float 0E | 9 1.5 -2 0 0 0 0 0 | 0 | . ? 1.5 1.5 . . . .
    subgroupExclusiveMin float16_t 03 | 9 1.5 0 0 0 0 0 0 | 0 | ? 9 . . . . . .
    subgroupExclusiveMax double 03 | 9 1.5 0 0 0 0 0 0 | 0 | ? 9 . . . . . .
    subgroupExclusiveMin float* 0E | 9 1.5 -2 0 0 0 0 0 | 0 | . inf 1.5 -2 . . . .
    subgroupExclusiveMax float16_t* 0E | 9 1.5 -2 0 0 0 0 0 | 0 | . -inf 1.5 1.5 . . . .
    subgroupExclusiveMin double* 01 | NaN 0 0 0 0 0 0 0 | 0 | inf . . . . . . .
    subgroupExclusiveMin float* 0F | NaN NaN 3 0 0 0 0 0 | 0 | inf ? ? 3 . . . .
    subgroupExclusiveMax float* 1F | 0 -0 -3 -1 0 0 0 0 | 0 | -inf 0 ? ? ? . . .
    subgroupExclusiveMin float* 1F | 0 -0 -3 -1 0 0 0 0 | 0 | inf 0 ? -3 -3 . . .
    subgroupInclusiveMin float* 1F | NaN inf -0 -0 0 0 0 0 | 0 | ? inf -0 -0 ? . . .
    subgroupInclusiveMax float* 1F | NaN -inf -0 -0 0 0 0 0 | 0 | ? -inf -0 -0 ? . . .
    subgroupMin float* FF | 3 NaN 1 NaN inf 2 NaN 5 | 0 | 1
    subgroupMax float* FF | 3 NaN 1 NaN inf 2 NaN 5 | 0 | inf
    subgroupMin float* 3F | NaN NaN NaN NaN NaN NaN 1 2 | 0 | ? ? ? ? ? ? . .
    subgroupMin float* 0F | -0 1 -0 NaN 0 0 0 0 | 0 | -0 -0 -0 -0 . . . .
    subgroupMin double* 1F | -0 1 -0 NaN 0 0 0 0 | 0 | ? ? ? ? ? . . .
    subgroupMax float* 1F | -0 -1 -0 NaN -inf 0 0 0 | 0 | -0 -0 -0 -0 -0 . . .
    subgroupClusteredMax float*/2 FF | NaN NaN -0 0 -inf NaN -0 -2 | 0 | ? ? ? ? -inf -inf -0 -0
    subgroupExclusiveAdd float 0E | 9 1.5 -2 0 0 0 0 0 | 0 | . 0 1.5 -0.5 . . . .
    subgroupExclusiveMul float 0E | 9 1.5 -2 0 0 0 0 0 | 0 | . 1 1.5 -3 . . . .
    subgroupClusteredAdd uint/4 FE | 1 2 3 4 5 6 7 8 | 0 | . 9 9 9 26 26 26 26
    subgroupClusteredAdd uint/1 FF | 1 2 3 4 5 6 7 8 | 0 | 1 2 3 4 5 6 7 8
    subgroupClusteredAdd uint/8 7F | 1 2 3 4 5 6 7 8 | 0 | 28 28 28 28 28 28 28 .
    subgroupClusteredAdd uint/2 B6 | 1 2 3 4 5 6 7 8 | 0 | . 2 3 . 11 11 . 8
    subgroupClusteredMul uint/2 0F | 1 2 3 4 5 6 7 8 | 0 | 2 2 12 12 . . . .
    subgroupClusteredMin int/4 FF | 1 -2 3 4 5 6 7 -8 | 0 | -2 -2 -2 -2 -8 -8 -8 -8
    subgroupClusteredMax uint/4 7F | 1 2 3 4 5 6 7 8 | 0 | 4 4 4 4 7 7 7 .
    subgroupClusteredAnd uint/2 0F | 3 6 5 4 0 0 0 0 | 0 | 2 2 4 4 . . . .
    subgroupClusteredOr bool/2 0F | 0 1 0 0 0 0 0 0 | 0 | 1 1 0 0 . . . .
    subgroupClusteredXor uint/4 0F | 1 2 4 1 0 0 0 0 | 0 | 6 6 6 6 . . . .
    subgroupClusteredAdd uint/16 FF | 1 2 3 4 5 6 7 8 | 0 | UB
    subgroupClusteredAdd uint/3 FF | 1 2 3 4 5 6 7 8 | 0 | UB
";

/// The bits of a number of a type, as the table writes it.
fn number(scalar: Scalar, text: &str) -> u64 {
    if scalar.is_float() {
        let number: f64 = text.parse().unwrap_or_else(|_| panic!("'{text}' is no number"));
        let sign = if number == 0.0 && number.is_sign_negative() { float::sign(scalar) } else { 0 };
        return float::bits(scalar, number) | sign;
    }
    let value: i128 = text.parse().unwrap_or_else(|_| panic!("'{text}' is no number"));
    value as u64 & scalar.bits()
}

/// Eight numbers, or one for all eight lanes.
fn column(text: &str, number: impl Fn(&str) -> u64) -> [u64; 8] {
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(matches!(words.len(), 1 | 8), "'{text}' is no column");
    std::array::from_fn(|lane| number(words[lane % words.len()]))
}

#[test]
fn every_operation_gives_what_the_texts_say() {
    let mut seen = Vec::new();
    for line in EXPECTED.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let [operation, first, second, want] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let [name, ty, tangle] = operation.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (ty, cluster) = ty.split_once('/').unwrap_or((ty, "0"));
        let (ty, preserved) = ty.strip_suffix('*').map_or((ty, false), |ty| (ty, true));
        let info = TABLE.iter().find(|info| info.name == name).unwrap_or_else(|| panic!("{line}"));
        let scalar =
            Scalar::ALL.into_iter().find(|scalar| scalar.info().format_1 == ty).unwrap_or_else(|| panic!("{line}"));
        assert!(info.scalars.is_empty() || info.scalars.contains(&scalar), "{line}");
        let tangle = u128::from_str_radix(tangle, 16).unwrap_or_else(|_| panic!("{line}"));
        let (first, second) = (column(first, |x| number(scalar, x)), column(second, |x| number(Scalar::Uint64, x)));
        let instance = Instance {
            size: 8,
            tangle,
            scalar,
            component: Component::SCALAR,
            cluster: cluster.parse().unwrap_or_else(|_| panic!("{line}")),
            preserved,
            args: &[&first, &second],
        };
        let mut out = [0x5A; 8];
        let found = (info.meaning)(&instance, &mut out);
        seen.push(info.op);
        if want.trim() == "UB" {
            assert!(found.is_err(), "{line}");
            continue;
        }
        let result = if info.gives == Gives::Same { scalar } else { Scalar::Uint };
        let words: Vec<&str> = want.split_whitespace().collect();
        let undefined = found.unwrap_or_else(|ub| panic!("{line}: {ub}"));
        for lane in 0..8 {
            let want = words[lane % words.len()];
            assert_eq!(want == ".", tangle >> lane & 1 == 0 && words.len() > 1, "lane {lane} of {line}");
            assert_eq!(want == "?", undefined >> lane & 1 == 1, "lane {lane} of {line}");
            if !matches!(want, "." | "?") {
                assert_eq!(out[lane], number(result, want), "lane {lane} of {line}");
            }
        }
    }
    // Ballots and partitions have masks, which the tests below give them.
    let has_mask = |info: &OpInfo| info.category == Category::Partitioned || info.gives == Gives::Mask;
    let of_mask = |info: &OpInfo| info.params.iter().any(|param| matches!(param, Param::Mask | Param::UniformMask));
    for info in TABLE.iter().filter(|info| info.gives != Gives::Nothing && !has_mask(info) && !of_mask(info)) {
        assert!(seen.contains(&info.op), "no line about {}", info.name);
    }
}

/// What the column `uniform` says is what the functions give.
#[test]
fn operations_that_give_all_lanes_the_same() {
    let first: [u64; 8] = [3, 1, 4, 1, 5, 9, 2, 6];
    let (same, zero) = ([2; 8], [0; 8]);
    for info in TABLE.iter().filter(|info| info.uniform != Uniform::No) {
        let args: [&[u64]; 5] = match info.params {
            [Param::Mask, ..] => [&same, &zero, &zero, &zero, &same],
            _ => [&first, &same, &zero, &zero, &zero],
        };
        for tangle in 1..256 {
            let (scalar, component) = (Scalar::Uint, Component::SCALAR);
            let mut out = [0; 32];
            let instance = Instance { size: 8, tangle, scalar, component, cluster: 0, preserved: false, args: &args };
            let undefined = (info.meaning)(&instance, &mut out).expect("the operands are uniform");
            let mut results = lanes(tangle & !undefined).map(|lane| out[lane]);
            let one = results.next();
            assert!(results.all(|result| Some(result) == one), "{} in {tangle:#x}", info.name);
        }
    }
}

/// What lanes outside the tangle, and undefined results, are not compared with.
const X: u64 = u64::MAX;

/// One uvec4 for all lanes, then the index of `subgroupBallotBitExtract`.
fn of_mask(op: SubgroupOp, tangle: u128, mask: u64, index: u64) -> (Result<u128, Ub>, [u64; 8]) {
    let (x, zero, index) = ([mask; 8], [0; 8], [index; 8]);
    let mut out = [X; 8];
    let args: [&[u64]; 5] = [&x, &zero, &zero, &zero, &index];
    let instance = Instance {
        size: 8,
        tangle,
        scalar: Scalar::Bool,
        component: Component::SCALAR,
        cluster: 0,
        preserved: false,
        args: &args,
    };
    ((op.info().meaning)(&instance, &mut out), out)
}

/// docs/rules.md, rule P5: bit counts and searches of a ballot are functions of a mask
#[test]
fn functions_of_a_mask() {
    use SubgroupOp as Op;
    for (op, tangle, mask, undefined, want) in [
        (Op::BallotBitCount, 0xFF, 0xFFFF_FF0F, 0, [4; 8]),
        // Bits of lanes outside the tangle: the readings disagree.
        (Op::BallotBitCount, 0x0F, 0xFF, 0x0F, [X; 8]),
        // V15
        (Op::BallotInclusiveBitCount, 0xFF, 0x1F, 0, [1, 2, 3, 4, 5, 5, 5, 5]),
        (Op::BallotExclusiveBitCount, 0xFF, 0x1F, 0, [0, 1, 2, 3, 4, 5, 5, 5]),
        (Op::BallotFindLsb, 0xFF, 0x30, 0, [4; 8]),
        (Op::BallotFindMsb, 0xFF, 0x30, 0, [5; 8]),
        (Op::BallotFindLsb, 0xFF, 0xF00, 0xFF, [X; 8]),
        (Op::InverseBallot, 0xFF, 0x81, 0, [1, 0, 0, 0, 0, 0, 0, 1]),
        (Op::BallotBitExtract, 0xFF, 0x04, 0, [1; 8]),
    ] {
        let (got, mut out) = of_mask(op, tangle, mask, 2);
        assert_eq!(got, Ok(undefined), "{}", op.info().name);
        lanes(undefined | !tangle & 0xFF).for_each(|k| out[k] = X);
        assert_eq!(out, want, "{}", op.info().name);
    }
    assert_eq!(of_mask(Op::BallotBitExtract, 0x3, 0, 8).0, Ok(0x3));
}

/// docs/rules.md, rule P6: a broadcast's lane and the like must be the same in all lanes
#[test]
fn operands_that_must_be_uniform() {
    let (value, differs) = ([0; 8], [0, 0, 0, 1, 0, 0, 0, 0]);
    let mut out = [0; 32];
    for (tangle, is_ok) in [(0xFF, false), (0xF7, true), (0x08, true)] {
        for op in [SubgroupOp::Broadcast, SubgroupOp::Rotate] {
            let instance = Instance {
                size: 8,
                tangle,
                scalar: Scalar::Uint,
                component: Component::SCALAR,
                cluster: 0,
                preserved: false,
                args: &[&value, &differs],
            };
            assert_eq!((op.info().meaning)(&instance, &mut out).is_ok(), is_ok, "{}", op.info().name);
        }
        let args: [&[u64]; 4] = [&value, &value, &differs, &value];
        let instance = Instance {
            size: 8,
            tangle,
            scalar: Scalar::Bool,
            component: Component::SCALAR,
            cluster: 0,
            preserved: false,
            args: &args,
        };
        assert_eq!((SubgroupOp::InverseBallot.info().meaning)(&instance, &mut out).is_ok(), is_ok);
    }
    let instance = Instance {
        size: 8,
        tangle: 0xFF,
        scalar: Scalar::Uint,
        component: Component::SCALAR,
        cluster: 16,
        preserved: false,
        args: &[&value],
    };
    assert!((SubgroupOp::Clustered(Fold::Add).info().meaning)(&instance, &mut out).is_err());
}

#[test]
fn ballots_and_votes() {
    let predicate = [1, 0, 1, 1, 0, 0, 0, 1];
    let mut out = [X; 32];
    let instance = Instance {
        size: 8,
        tangle: 0x7F,
        scalar: Scalar::Bool,
        component: Component::SCALAR,
        cluster: 0,
        preserved: false,
        args: &[&predicate],
    };
    let mut run = |op: SubgroupOp| {
        (op.info().meaning)(&instance, &mut out).unwrap();
        [out[0], out[8], out[16], out[24]]
    };
    assert_eq!(run(SubgroupOp::Ballot), [0x0D, 0, 0, 0]);
    assert_eq!(run(SubgroupOp::All)[0], 0);
    assert_eq!(run(SubgroupOp::Any)[0], 1);
    assert_eq!(run(SubgroupOp::AllEqual)[0], 0);
}

/// docs/rules.md, rule P12: partitions, and what is undefined without one
#[test]
fn partitions() {
    let values = [3, 1, 3, 1, 7, 3, 1, 1];
    let mut out = [X; 32];
    let instance = Instance {
        size: 8,
        tangle: 0x7F,
        scalar: Scalar::Uint,
        component: Component::SCALAR,
        cluster: 0,
        preserved: false,
        args: &[&values],
    };
    assert_eq!((SubgroupOp::Partition.info().meaning)(&instance, &mut out), Ok(0));
    assert_eq!(out[..8], [0x25, 0x4A, 0x25, 0x4A, 0x10, 0x25, 0x4A, X]);
    assert_eq!(out[8..15], [0; 7]);

    let (numbers, zero) = ([1, 2, 3, 4, 5, 6, 7, 8], [0; 8]);
    let masks: [u64; 8] = [0x25, 0x4A, 0x25, 0x4A, 0x10, 0x25, 0x4A, 0];
    let run = |op: SubgroupOp, tangle, masks: &[u64; 8]| {
        let mut out = [X; 8];
        let args: [&[u64]; 5] = [&numbers, masks, &zero, &zero, &zero];
        let instance = Instance {
            size: 8,
            tangle,
            scalar: Scalar::Uint,
            component: Component::SCALAR,
            cluster: 0,
            preserved: false,
            args: &args,
        };
        (op.info().meaning)(&instance, &mut out).map(|_| out)
    };
    let add = Fold::Add;
    assert_eq!(run(SubgroupOp::Partitioned(add), 0x7F, &masks), Ok([10, 13, 10, 13, 5, 10, 13, X]));
    assert_eq!(run(SubgroupOp::PartitionedInclusive(add), 0x7F, &masks), Ok([1, 2, 4, 6, 5, 10, 13, X]));
    assert_eq!(run(SubgroupOp::PartitionedExclusive(add), 0x7F, &masks), Ok([0, 0, 1, 2, 0, 4, 6, X]));
    // Lane 5 is not there; its subset is what is left.
    assert_eq!(run(SubgroupOp::Partitioned(add), 0x5F, &masks), Ok([4, 13, 4, 13, 5, X, 13, X]));
    // Bits of lanes that do not exist are ignored.
    assert_eq!(run(SubgroupOp::Partitioned(add), 0x3, &[0xF01, 0x102, 0, 0, 0, 0, 0, 0]).map(|out| out[1]), Ok(2));
    // Lane 0 is not in its own subset; lanes 0 and 1 see each other, and see different sets.
    assert!(run(SubgroupOp::Partitioned(add), 0x3, &[2, 2, 0, 0, 0, 0, 0, 0]).is_err());
    assert!(run(SubgroupOp::Partitioned(add), 0x3, &[3, 2, 0, 0, 0, 0, 0, 0]).is_err());
}
