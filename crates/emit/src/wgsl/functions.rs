//! Functions for subgroup operations that WGSL has no built-in function for.

use tangle_program::subgroup::SubgroupOp as Op;

/// The function of this name, which counts the bits of a mask below a lane.
macro_rules! bits_below {
    ($name:literal, $end:literal) => {
        concat!(
            "fn ",
            $name,
            "(mask: vec4<u32>) -> u32 {\n    let counts = countOneBits(mask & lanesBelow(",
            $end,
            "));\n    return counts.x + counts.y + counts.z + counts.w;\n}\n"
        )
    };
}

/// The text of the function; `None` of an operation that needs none.
pub(super) const fn of_operation(op: Op) -> Option<&'static str> {
    Some(match op {
        Op::Reduce(_) => {
            "\
fn subgroupParity(x: bool) -> bool {
    let counts = countOneBits(subgroupBallot(x));
    return ((counts.x + counts.y + counts.z + counts.w) & 1u) != 0u;
}
"
        }
        Op::InverseBallot => {
            "\
fn inverseBallot(mask: vec4<u32>) -> bool {
    return ((mask[lane >> 5u] >> (lane & 31u)) & 1u) != 0u;
}
"
        }
        Op::BallotBitExtract => {
            "\
fn ballotBitExtract(mask: vec4<u32>, bit: u32) -> bool {
    return ((mask[bit >> 5u] >> (bit & 31u)) & 1u) != 0u;
}
"
        }
        Op::BallotBitCount => bits_below!("ballotBitCount", "subgroup_size"),
        Op::BallotInclusiveBitCount => bits_below!("ballotInclusiveBitCount", "lane + 1u"),
        Op::BallotExclusiveBitCount => bits_below!("ballotExclusiveBitCount", "lane"),
        Op::BallotFindLsb => {
            "\
fn ballotFindLSB(ballot: vec4<u32>) -> u32 {
    let mask = ballot & lanesBelow(subgroup_size);
    let low = min(firstTrailingBit(mask.x), min(firstTrailingBit(mask.y), 96u) + 32u);
    let high = min(min(firstTrailingBit(mask.z), 64u) + 64u, min(firstTrailingBit(mask.w), 32u) + 96u);
    return min(low, high);
}
"
        }
        Op::BallotFindMsb => {
            "\
// One more than the highest bit, in a mask of which this is the part from `first` on; 0 without one.
fn endOfBits(part: u32, first: u32) -> u32 {
    let end = firstLeadingBit(part) + 1u;
    return end + first * min(end, 1u);
}
fn ballotFindMSB(ballot: vec4<u32>) -> u32 {
    let mask = ballot & lanesBelow(subgroup_size);
    let low = max(endOfBits(mask.x, 0u), endOfBits(mask.y, 32u));
    let high = max(endOfBits(mask.z, 64u), endOfBits(mask.w, 96u));
    return max(low, high) - 1u;
}
"
        }
        _ => return None,
    })
}

/// The invocations below one, as a mask. Without a branch: nothing says that invocations come together behind one.
pub(super) const LANES: &str = "\
fn lowBits(count: u32) -> u32 {
    return ((1u << min(count, 31u)) - 1u) | ((count >> 5u) << 31u);
}
fn lanesBelow(end: u32) -> vec4<u32> {
    let counts = clamp(vec4<i32>(i32(end)) - vec4<i32>(0, 32, 64, 96), vec4<i32>(0), vec4<i32>(32));
    return vec4<u32>(lowBits(u32(counts.x)), lowBits(u32(counts.y)), lowBits(u32(counts.z)), lowBits(u32(counts.w)));
}
";
