//! Functions for operations on ballots that HLSL has no intrinsic function for.

use tangle_program::subgroup::SubgroupOp as Op;

/// The function of this name, which counts the bits of a mask below a lane.
macro_rules! bits_below {
    ($name:literal, $end:literal) => {
        concat!(
            "uint ",
            $name,
            "(uint4 mask) {\n    uint4 counts = countbits(mask & LanesBelow(",
            $end,
            "));\n    return counts.x + counts.y + counts.z + counts.w;\n}\n"
        )
    };
}

/// The text of the function; `None` of an operation that needs none.
pub(super) const fn of_ballot(op: Op) -> Option<&'static str> {
    Some(match op {
        Op::InverseBallot => {
            "\
bool InverseBallot(uint4 mask) {
    return (mask[LaneIndex >> 5u] >> (LaneIndex & 31u) & 1u) != 0u;
}
"
        }
        Op::BallotBitExtract => {
            "\
bool BallotBitExtract(uint4 mask, uint bit) {
    return (mask[bit >> 5u] >> (bit & 31u) & 1u) != 0u;
}
"
        }
        Op::BallotBitCount => bits_below!("BallotBitCount", "LaneCount"),
        Op::BallotInclusiveBitCount => bits_below!("BallotInclusiveBitCount", "LaneIndex + 1u"),
        Op::BallotExclusiveBitCount => bits_below!("BallotExclusiveBitCount", "LaneIndex"),
        Op::BallotFindLsb => {
            "\
uint BallotFindLSB(uint4 mask) {
    mask &= LanesBelow(LaneCount);
    uint low = min(firstbitlow(mask.x), min(firstbitlow(mask.y), 96u) + 32u);
    uint high = min(min(firstbitlow(mask.z), 64u) + 64u, min(firstbitlow(mask.w), 32u) + 96u);
    return min(low, high);
}
"
        }
        Op::BallotFindMsb => {
            "\
// One more than the highest bit, in a mask of which this is the part from `first` on; 0 without one.
uint EndOfBits(uint part, uint first) {
    uint end = firstbithigh(part) + 1u;
    return end + first * min(end, 1u);
}
uint BallotFindMSB(uint4 mask) {
    mask &= LanesBelow(LaneCount);
    uint low = max(EndOfBits(mask.x, 0u), EndOfBits(mask.y, 32u));
    uint high = max(EndOfBits(mask.z, 64u), EndOfBits(mask.w, 96u));
    return max(low, high) - 1u;
}
"
        }
        _ => return None,
    })
}

/// The lanes below one, as a mask. Without a branch: at tier plain nothing says that lanes come together behind one.
pub(super) const LANES: &str = "\
uint LowBits(uint count) { return (1u << min(count, 31u)) - 1u | (count >> 5u) << 31u; }
uint4 LanesBelow(uint end) {
    int4 counts = min(max(int4(end, end, end, end) - int4(0, 32, 64, 96), 0), 32);
    return uint4(LowBits(counts.x), LowBits(counts.y), LowBits(counts.z), LowBits(counts.w));
}
";
