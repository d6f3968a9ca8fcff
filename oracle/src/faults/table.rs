//! The faults, a row each: what is wrong, and the hook that makes it so.

use tangle_program::float;
use tangle_program::memory::{AtomicOp, StorageClass};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::resource::ResourceClass;
use tangle_program::rounding::{Rounded, Rounding};
use tangle_program::subgroup::{Fold, SubgroupOp as Op, first_lanes, lanes};
use tangle_program::tree::{Builtin, Expr, Loop, LoopKind};
use tangle_program::types::{Kind, Scalar, Shape};

use super::hook::{AnyTangle, Hook, enclosing, innermost, is_divergent};
use super::operation::{integer_like, is_narrow};
use super::{aggregate, algebra, peephole};
use crate::mask::{highest, lowest};
use crate::rules::{Access, Construct, Jump, Merge};

const MIN_MAX: &[Fold] = &[Fold::Min, Fold::Max];

/// All lanes of a merge.
fn all(arrivals: &[u128]) -> u128 {
    arrivals.iter().fold(0, |all, lanes| all | lanes)
}

/// The lanes that arrived first.
fn first(arrivals: &[u128]) -> u128 {
    arrivals.first().copied().unwrap_or(0)
}

/// The lanes that arrived last.
fn last(arrivals: &[u128]) -> u128 {
    arrivals.last().copied().unwrap_or(0)
}

/// True for a loop that the program has for its many iterations.
fn is_long(l: &Loop) -> bool {
    match &l.bound {
        Expr::Binary(BinaryOp::Add, base, _) => matches!(**base, Expr::Uint(0x8000..)),
        _ => false,
    }
}

/// What is rounded in one direction, rounded in the other one.
fn rounded_otherwise(op: Intrinsic, from: Rounding) -> Intrinsic {
    let rounded = op.rounded().filter(|rounded| rounded.rounding == from);
    rounded.and_then(|rounded| Intrinsic::of_rounded(Rounded { rounding: from.other(), ..rounded })).unwrap_or(op)
}

const fn is_comparison(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge)
}

faults! {
    /// A planted fault.
    Fault:
    // Control flow: which lanes go where.
    /// The highest lane is lost where the sides of a divergent `if` merge.
    IfMergeLosesLastLane => Hook::Merge(Merge::If, |sides| match sides {
        [_, _] => all(sides) & !highest(all(sides)),
        _ => all(sides),
    }),
    /// After a divergent `if` only the lanes of the last executed side go on.
    IfMergeKeepsOneSide => Hook::Merge(Merge::If, last),
    /// At the merge of a loop, all lanes but those that left it last are lost.
    LoopMergeLosesEarlyLanes => Hook::Merge(Merge::Loop, last),
    /// `continue` acts as `break`, but in a switch.
    ContinueBreaks => Hook::Jump(|scopes, jump| match jump {
        Jump::Continue if enclosing(scopes, Construct::SwitchSegment).is_none() => Jump::Break,
        _ => jump,
    }),
    /// Lanes that continue while others come to the end of the loop's body are lost.
    ContinueLanesLost => Hook::Merge(Merge::Continue, first),
    /// `break` in divergent control flow is ignored.
    BreakIgnored => Hook::Jump(|scopes, jump| match jump {
        Jump::Break if is_divergent(scopes) => Jump::Ignored,
        _ => jump,
    }),
    /// Lanes that return from a function before the others are lost after the call.
    EarlyReturnLost => Hook::Merge(Merge::Call, last),
    /// `return` in divergent control flow inside a function is ignored.
    ReturnIgnored => Hook::Jump(|scopes, jump| match jump {
        Jump::Return if is_divergent(scopes) && enclosing(scopes, Construct::Function).is_some() => Jump::Ignored,
        _ => jump,
    }),
    /// At the merge of a switch, all lanes but those that leave it last are lost.
    SwitchMergeLosesLanes => Hook::Merge(Merge::Switch, last),
    /// Lanes that fall through to the next segment of a switch are lost.
    FallthroughLost => Hook::FallsThrough,
    /// The lowest active lane decides the test of a loop without `[[unroll]]` for all.
    LoopTestOfFirstLane => Hook::FirstDecides(Construct::LoopTest),
    /// The lowest active lane decides an `if` without `[[flatten]]` for all.
    BranchOfFirstLane => Hook::FirstDecides(Construct::Then),
    /// The lowest active lane decides an `if` with `[[flatten]]` for all.
    FlattenedBranchOfFirstLane => Hook::FirstDecides(Construct::FlattenedThen),
    /// The lowest active lane decides the test of an `[[unroll]]` loop for all.
    UnrolledTestOfFirstLane => Hook::FirstDecides(Construct::UnrolledLoopTest),
    /// Nobody goes on after an `assumeEXT`: what follows is taken for unreachable.
    AssumptionUnreachable => Hook::Assumed,
    /// Out arguments of lanes that return before others come to the function's end are not copied back.
    EarlyReturnNoCopyOut => Hook::CopiedOut(|at_end, returned| {
        if at_end.is_empty() { returned } else { at_end.clone() }
    }),
    /// A loop with a literal bound of 0 runs once.
    ZeroTripRuns => Hook::Bound(|l| (l.bound == Expr::Uint(0)).then_some(Expr::Uint(1))),
    /// A loop with a literal bound of 1 does not run, but for `do … while`.
    OneTripSkipped => Hook::Bound(|l| (l.bound == Expr::Uint(1)).then_some(Expr::Uint(0))),
    /// A `do … while` loop of one block runs once.
    SingleBlockLoopOnce => Hook::Bound(|l| l.is_single_block().then_some(Expr::Uint(0))),
    /// A loop without a counter runs once.
    EndlessLoopOnce => Hook::Bound(|l| (l.kind == LoopKind::Endless).then_some(Expr::Uint(1))),
    /// Loops count in 16 bits: one with a bound that does not fit stops where it should begin once more.
    LoopCounterOf16Bits => Hook::Bound(|l| {
        is_long(l).then(|| Expr::binary(BinaryOp::BitAnd, l.bound.clone(), Expr::Uint(0xFFFF)))
    }),
    /// `return` in a switch leaves the switch only.
    ReturnFromSwitchBreaks => Hook::Jump(|scopes, jump| match jump {
        Jump::Return if innermost(scopes, Construct::SwitchSegment).is_some() => Jump::Break,
        _ => jump,
    }),
    /// Lanes that return in a loop without a counter go on behind it.
    ReturnFromEndlessBreaks => Hook::Rewrite(peephole::return_from_endless_breaks),
    /// No loop runs more than 48 times.
    LongLoopStops => Hook::Bound(|l| Some(Expr::Intrinsic(Intrinsic::Min, vec![l.bound.clone(), Expr::Uint(48)]))),
    /// An assignment in the body of a loop also changes the variable of lanes that left it in the same iteration.
    StoreToLeftLanes => Hook::Stored(|scopes, active| match innermost(scopes, Construct::LoopBody) {
        Some(scope) => active.or(&scope.entered),
        None => active,
    }),
    /// An assignment in the `then` side of an `if` changes the variable of all lanes that reached the `if`.
    StoreIgnoresIf => Hook::Stored(|scopes, active| match innermost(scopes, Construct::Then) {
        Some(scope) => active.or(&scope.reached),
        None => active,
    }),

    // Which lanes take part in an operation.
    /// An operation in the `then` side is performed by all lanes that reached the `if`.
    ThenWithAllLanes => Hook::Tangle(|t| t.reached(innermost(t.scopes, Construct::Then))),
    /// An operation in the `else` side is performed by all lanes that reached the `if`.
    ElseWithAllLanes => Hook::Tangle(|t| t.reached(innermost(t.scopes, Construct::Else))),
    /// An operation in the body of a loop also sees the lanes that left it in the same iteration.
    LoopSeesLeftLanes => Hook::Tangle(|t| t.entered(enclosing(t.scopes, Construct::LoopBody))),
    /// An operation in no construct of a function sees all lanes that were called, returned or not.
    FunctionSeesReturnedLanes => Hook::Tangle(|t| t.reached(innermost(t.scopes, Construct::Function))),
    /// An operation in the right operand of `&&` or `||` is performed by all lanes.
    ShortCircuitWithAllLanes => Hook::Tangle(|t| t.reached(innermost(t.scopes, Construct::RightOperand))),
    /// Operations are always performed by every lane that the subgroup started with.
    MaskAlwaysFull => Hook::Tangle(|t| t.live),
    /// The last lane of the subgroup never takes part in a partial operation, unless it is alone.
    LastLaneNeverActive => Hook::Tangle(|t| match t.tangle {
        tangle if tangle == t.live || tangle == highest(t.live) => tangle,
        tangle => tangle & !highest(t.live),
    }),
    /// Lane 0 is assumed to be active.
    LaneZeroAssumedActive => Hook::Tangle(|t| t.tangle | t.live & 1),
    /// In a switch segment, only the lowest lane takes part; the others get zeros.
    SwitchSeesOneLane => Hook::Tangle(|t| match innermost(t.scopes, Construct::SwitchSegment) {
        Some(_) => lowest(t.tangle),
        None => t.tangle,
    }),

    // What operations compute.
    /// `subgroupElect` picks the highest lane.
    ElectHighest => Hook::Operation(|o, out| match o.op() {
        Op::Elect => o.each(out, |lane| u64::from(lane == o.last())),
        _ => None,
    }),
    /// `subgroupElect` picks lane 0, active or not.
    ElectLaneZero => Hook::Operation(|o, out| match o.op() {
        Op::Elect => o.each(out, |lane| u64::from(lane == 0)),
        _ => None,
    }),
    /// `subgroupBroadcastFirst` reads lane 0, active or not.
    BroadcastFirstLaneZero => Hook::Operation(|o, out| match o.op() {
        Op::BroadcastFirst => o.everyone(out, o.operand(0, 0)),
        _ => None,
    }),
    /// `subgroupBroadcast` reads the lane above.
    BroadcastNextLane => Hook::Operation(|o, out| match o.op() {
        Op::Broadcast => {
            let from = (o.operand(1, o.first()) as usize + 1) % o.instance.size;
            o.then_each(out, |_, _| o.operand(0, from))
        }
        _ => None,
    }),
    /// Inclusive scans leave out the lane's own value.
    InclusiveIsExclusive => Hook::Operation(|o, out| match o.op() {
        Op::Inclusive(fold) => o.instead(Op::Exclusive(fold), out),
        _ => None,
    }),
    /// Exclusive scans include the lane's own value.
    ExclusiveIsInclusive => Hook::Operation(|o, out| match o.op() {
        Op::Exclusive(fold) => o.instead(Op::Inclusive(fold), out),
        _ => None,
    }),
    /// Scans run over the lanes in descending order.
    ScanReversed => Hook::Operation(|o, out| match o.op() {
        Op::Inclusive(fold) | Op::Exclusive(fold) => o.scan_down(fold, out),
        _ => None,
    }),
    /// The first lane of an exclusive scan gets 0 instead of the identity.
    IdentityMissing => Hook::Operation(|o, out| match o.op() {
        Op::Exclusive(_) => o.then_first(out, 0),
        _ => None,
    }),
    /// The first lane of an exclusive minimum or maximum of signed integers gets the identity of unsigned ones.
    IdentityUnsigned => Hook::Operation(|o, out| match o.op() {
        Op::Exclusive(fold @ (Fold::Min | Fold::Max)) if o.scalar().is_signed() => {
            o.then_first(out, fold.identity(o.scalar().unsigned()))
        }
        _ => None,
    }),
    /// Minima and maxima of signed integers are those of unsigned ones.
    MinMaxUnsigned => Hook::Operation(|o, out| match o.scalar() {
        scalar if o.is_fold_of(MIN_MAX) && scalar.is_signed() => o.of_type(scalar.unsigned(), out),
        _ => None,
    }),
    /// Minima and maxima of unsigned integers are those of signed ones.
    MinMaxSigned => Hook::Operation(|o, out| match o.scalar() {
        scalar if o.is_fold_of(MIN_MAX) && scalar.is_integer() => o.of_type(scalar.signed(), out),
        _ => None,
    }),
    /// Reductions include inactive lanes.
    ReduceInactive => Hook::Operation(|o, out| match o.op() {
        Op::Reduce(_) => o.of_whole(out),
        _ => None,
    }),
    /// Of the sum of a reduction, the low 16 bits are left.
    AddTruncates => Hook::Operation(|o, out| match o.op() {
        Op::Reduce(Fold::Add) => o.then_each(out, |_, sum| sum & 0xFFFF),
        _ => None,
    }),
    /// Reductions combine only the first four active lanes.
    ReduceFourLanes => Hook::Operation(|o, out| match o.op() {
        Op::Reduce(fold) => o.everyone(out, o.fold(fold, lanes(o.tangle()).take(4))),
        _ => None,
    }),
    /// `xor` reductions act as `or`.
    XorIsOr => Hook::Operation(|o, out| match o.op() {
        Op::Reduce(Fold::Xor) => o.instead(Op::Reduce(Fold::Or), out),
        _ => None,
    }),
    /// `and` reductions include zeros of inactive lanes.
    AndInactiveZero => Hook::Operation(|o, out| match o.op() {
        Op::Reduce(Fold::And) if o.is_partial() => o.everyone(out, 0),
        _ => None,
    }),
    /// `subgroupAll` is false when some lane is inactive.
    AllInactiveFalse => Hook::Operation(|o, out| match o.op() {
        Op::All if o.is_partial() => o.everyone(out, 0),
        _ => None,
    }),
    /// `subgroupAny` looks at the first active lane only.
    AnyFirstOnly => Hook::Operation(|o, out| match o.op() {
        Op::Any => o.everyone(out, o.operand(0, o.first())),
        _ => None,
    }),
    /// `subgroupAllEqual` compares the first and last active lane only.
    AllEqualEndsOnly => Hook::Operation(|o, out| match o.op() {
        Op::AllEqual => o.everyone(out, u64::from(o.operand(0, o.first()) == o.operand(0, o.last()))),
        _ => None,
    }),
    /// `subgroupBallot` ignores its argument.
    BallotIgnoresPredicate => Hook::Operation(|o, out| match o.op() {
        Op::Ballot => o.with_operand(0, out, |_| 1),
        _ => None,
    }),
    /// `subgroupBallot` leaves out the calling lane.
    BallotWithoutSelf => Hook::Operation(|o, out| match o.op() {
        Op::Ballot => o.then_each_ballot(out, |lane, mask| mask & !(1 << lane)),
        _ => None,
    }),
    /// `subgroupInverseBallot` reads the neighbouring bit.
    InverseBallotNeighbour => Hook::Operation(|o, out| match o.op() {
        Op::InverseBallot => o.each(out, |lane| {
            let next = (lane + 1) % o.instance.size;
            o.operand(next / 32, lane) >> (next % 32) & 1
        }),
        _ => None,
    }),
    /// `subgroupBallotBitExtract` reads the bit of the calling lane.
    BitExtractOwnLane => Hook::Operation(|o, out| match o.op() {
        Op::BallotBitExtract => o.with_operand(4, out, |lane| lane as u64),
        _ => None,
    }),
    /// The inclusive bit count is exclusive.
    InclusiveBitCountOffByOne => Hook::Operation(|o, out| match o.op() {
        Op::BallotInclusiveBitCount => o.instead(Op::BallotExclusiveBitCount, out),
        _ => None,
    }),
    /// The exclusive bit count is inclusive.
    ExclusiveBitCountOffByOne => Hook::Operation(|o, out| match o.op() {
        Op::BallotExclusiveBitCount => o.instead(Op::BallotInclusiveBitCount, out),
        _ => None,
    }),
    /// `subgroupBallotBitCount` counts at most three.
    BitCountSaturates => Hook::Operation(|o, out| match o.op() {
        Op::BallotBitCount => o.then_each(out, |_, count| count.min(3)),
        _ => None,
    }),
    /// `subgroupBallotFindMSB` gives the lowest bit.
    FindMsbIsLsb => Hook::Operation(|o, out| match o.op() {
        Op::BallotFindMsb => o.instead(Op::BallotFindLsb, out),
        _ => None,
    }),
    /// `subgroupBallotFindLSB` gives one too much.
    FindLsbOffByOne => Hook::Operation(|o, out| match o.op() {
        Op::BallotFindLsb => o.then_each(out, |_, bit| bit + 1),
        _ => None,
    }),
    /// `subgroupShuffle` looks at the two low bits of the lane only.
    ShuffleTwoBits => Hook::Operation(|o, out| match o.op() {
        Op::Shuffle => o.with_operand(1, out, |lane| o.operand(1, lane) & 3),
        _ => None,
    }),
    /// `subgroupShuffleXor` always uses the first active lane's mask.
    ShuffleXorFirstMask => Hook::Operation(|o, out| match o.op() {
        Op::ShuffleXor => o.with_operand(1, out, |_| o.operand(1, o.first())),
        _ => None,
    }),
    /// `subgroupShuffleUp` shifts down.
    ShuffleUpIsDown => Hook::Operation(|o, out| match o.op() {
        Op::ShuffleUp => o.instead(Op::ShuffleDown, out),
        _ => None,
    }),
    /// `subgroupShuffleDown` by more than one shifts by one.
    ShuffleDownByOne => Hook::Operation(|o, out| match o.op() {
        Op::ShuffleDown => o.with_operand(1, out, |lane| o.operand(1, lane).min(1)),
        _ => None,
    }),
    /// `subgroupBroadcast` reads the id in lane 0, active or not.
    BroadcastIdOfLaneZero => Hook::Operation(|o, out| match o.op() {
        Op::Broadcast => o.with_operand(1, out, |_| o.operand(1, 0)),
        _ => None,
    }),
    /// `subgroupRotate` reads the distance in lane 0, active or not.
    RotateDistanceOfLaneZero => Hook::Operation(|o, out| match o.op() {
        Op::Rotate => o.with_operand(1, out, |_| o.operand(1, 0)),
        _ => None,
    }),
    /// `subgroupInverseBallot` reads the mask in lane 0, active or not.
    InverseBallotOfLaneZero => Hook::Operation(|o, out| match o.op() {
        Op::InverseBallot => o.each(out, |lane| o.operand(lane / 32, 0) >> (lane % 32) & 1),
        _ => None,
    }),
    /// `subgroupAllEqual` of 64-bit integers compares their low words.
    AllEqualLowWord => Hook::Operation(|o, out| match o.op() {
        Op::AllEqual if o.scalar().is_integer() && o.scalar().size() == 64 => {
            let low = |lane: usize| o.operand(0, lane) as u32;
            o.everyone(out, u64::from(lanes(o.tangle()).all(|lane| low(lane) == low(o.first()))))
        }
        _ => None,
    }),
    /// `subgroupRotate` turns the other way.
    RotateBackwards => Hook::Operation(|o, out| match o.op() {
        Op::Rotate => {
            o.with_operand(1, out, |lane| (o.instance.size as u64).wrapping_sub(o.operand(1, lane)) & 0xFFFF_FFFF)
        }
        _ => None,
    }),
    /// `subgroupClusteredRotate` ignores the clusters.
    ClusteredRotateWhole => Hook::Operation(|o, out| match o.op() {
        Op::ClusteredRotate => o.instead(Op::Rotate, out),
        _ => None,
    }),
    /// Clustered operations combine the whole subgroup.
    ClusterIgnored => Hook::Operation(|o, out| match o.op() {
        Op::Clustered(fold) => o.instead(Op::Reduce(fold), out),
        _ => None,
    }),
    /// Clustered operations combine neighbouring pairs only.
    ClusterOfTwo => Hook::Operation(|o, out| match o.op() {
        Op::Clustered(_) => o.of_clusters(o.instance.cluster.min(2), out),
        _ => None,
    }),
    /// Horizontal and vertical quad swap are exchanged.
    QuadSwapsExchanged => Hook::Operation(|o, out| match o.op() {
        Op::QuadSwapHorizontal => o.instead(Op::QuadSwapVertical, out),
        Op::QuadSwapVertical => o.instead(Op::QuadSwapHorizontal, out),
        _ => None,
    }),
    /// Diagonal quad swap is a horizontal one.
    QuadDiagonalIsHorizontal => Hook::Operation(|o, out| match o.op() {
        Op::QuadSwapDiagonal => o.instead(Op::QuadSwapHorizontal, out),
        _ => None,
    }),
    /// `subgroupQuadBroadcast` reads from the first quad.
    QuadBroadcastFirstQuad => Hook::Operation(|o, out| match o.op() {
        Op::QuadBroadcast => o.everyone(out, o.operand(0, o.operand(1, o.first()) as usize & 3)),
        _ => None,
    }),

    // Partitions and quad votes.
    /// `subgroupPartitionNV` also finds inactive lanes with the same value.
    PartitionFindsInactive => Hook::Operation(|o, out| match o.op() {
        Op::Partition => o.of_whole(out),
        _ => None,
    }),
    /// `subgroupPartitionNV` compares the low bit only.
    PartitionOfLowBit => Hook::Operation(|o, out| match o.op() {
        Op::Partition => o.with_operand(0, out, |lane| o.operand(0, lane) & 1),
        _ => None,
    }),
    /// Partitioned reductions combine the whole subgroup.
    PartitionIgnored => Hook::Operation(|o, out| match o.op() {
        Op::Partitioned(fold) => o.instead(Op::Reduce(fold), out),
        _ => None,
    }),
    /// Partitioned scans go on over the lanes of other subsets.
    PartitionedScanCrosses => Hook::Operation(|o, out| match o.op() {
        Op::PartitionedInclusive(fold) => o.instead(Op::Inclusive(fold), out),
        Op::PartitionedExclusive(fold) => o.instead(Op::Exclusive(fold), out),
        _ => None,
    }),
    /// Partitioned inclusive scans are exclusive.
    PartitionedInclusiveIsExclusive => Hook::Operation(|o, out| match o.op() {
        Op::PartitionedInclusive(fold) => o.instead(Op::PartitionedExclusive(fold), out),
        _ => None,
    }),
    /// `subgroupQuadAny` is `subgroupAny`.
    QuadAnyOfSubgroup => Hook::Operation(|o, out| match o.op() {
        Op::QuadAny => o.instead(Op::Any, out),
        _ => None,
    }),
    /// `subgroupQuadAll` is false when a lane of the quad is inactive.
    QuadAllInactiveFalse => Hook::Operation(|o, out| match o.op() {
        Op::QuadAll => {
            let is_whole = |lane: usize| o.tangle() >> (lane & !3) & 0xF == 0xF;
            o.then_each(out, |lane, all| if is_whole(lane) { all } else { 0 })
        }
        _ => None,
    }),

    // Shared memory.
    /// A store goes to the slot of the next invocation.
    StoreToNextSlot => Hook::Slot(|index, len| (index + 1) % len),
    /// Loads of 8 and 16 bits find the element beside it, where two are loaded at once.
    NarrowLoadsSwapped => Hook::Load(|scalar, cells, at| match cells.get(at ^ 1) {
        Some(&beside) if is_narrow(scalar) => beside,
        _ => cells[at],
    }),
    /// Loads of signed integers of 8 and 16 bits lose the sign.
    NarrowLoadLosesSign => Hook::Load(|scalar, cells, at| match is_narrow(scalar) && scalar.is_signed() {
        true => cells[at] & scalar.bits() >> 1,
        false => cells[at],
    }),
    /// Stores of 8 and 16 bits write twice as much, the upper half being 0.
    NarrowStoreClobbers => Hook::Clobber(|scalar, at, len| Some(at + 1).filter(|&next| is_narrow(scalar) && next < len)),
    /// Of two stores beside each other, made at once, each gets what the other one should.
    AdjacentStoresSwapped => Hook::Rewrite(peephole::adjacent_stores_swapped),
    /// Of two stores beside each other the second one, which stands in a branch, is made without its condition.
    AdjacentStoreWithoutCondition => Hook::Rewrite(peephole::adjacent_store_without_condition),
    /// Of two stores beside each other the second one is lost.
    AdjacentStoreLost => Hook::Rewrite(peephole::adjacent_store_lost),
    /// Loads from shared memory do not see what other invocations wrote before the last barrier.
    BarrierIgnored => Hook::Stale(StorageClass::Workgroup),
    /// Loads from an array in a buffer do not see what other invocations wrote before the last barrier.
    BufferBarrierIgnored => Hook::Stale(StorageClass::StorageBuffer),
    /// Loads from shared memory are hoisted over `subgroupBarrier()`.
    SubgroupBarrierIgnored => Hook::Late(|storage, _| storage == StorageClass::Workgroup),
    /// Loads from an array in a buffer are hoisted over `subgroupBarrier()`.
    BufferSubgroupBarrierIgnored => Hook::Late(|storage, _| storage == StorageClass::StorageBuffer),
    /// `subgroupBarrier()` does nothing where control flow has parted.
    PartialSubgroupBarrierIgnored => Hook::Late(|_, partial| partial),
    /// Of the lanes of a subgroup that perform an atomic together only the first one does.
    AtomicFirstLaneOnly => Hook::FirstAtomic,
    /// An atomic in the `then` side of an `if` is performed by all lanes that reached the `if`.
    AtomicIgnoresIf => Hook::AtomicLanes(|scopes, active| match innermost(scopes, Construct::Then) {
        Some(scope) => active.or(&scope.reached),
        None => active,
    }),
    /// Of lanes that add to an element together two get the same ticket: the second what the first found.
    TicketTwice => Hook::Returned(|op, found, before| match (op, before) {
        (AtomicOp::Add, [first]) => *first,
        _ => found,
    }),
    /// Lanes that exchange the value of an element together all get what the first found.
    ExchangeOfFirst => Hook::Returned(|op, found, before| match op {
        AtomicOp::Exchange => before.first().copied().unwrap_or(found),
        _ => found,
    }),
    /// Lanes that set or clear bits of an element together all get what the first found.
    BitsOfFirst => Hook::Returned(|op, found, before| match op {
        AtomicOp::And | AtomicOp::Or => before.first().copied().unwrap_or(found),
        _ => found,
    }),
    /// Of lanes that perform an atomic together the highest one does not.
    AtomicOfLastLost => Hook::AtomicLanes(|_, mut active| {
        if let Some(last) = active.slots().last().filter(|_| active.count() > 1) {
            active.remove(last);
        }
        active
    }),
    /// `atomicExchange` leaves the old value where it is.
    ExchangeLost => Hook::Atomic(|op, _, [old, _, right]| if op == AtomicOp::Exchange { old } else { right }),
    /// `atomicCompSwap` does not compare.
    CompSwapSwaps => Hook::Atomic(|op, _, [_, value, right]| if op == AtomicOp::CompSwap { value } else { right }),
    /// `atomicMin` and `atomicMax` of int compare as unsigned.
    AtomicMinMaxUnsigned => Hook::Atomic(|op, scalar, [old, value, right]| match op {
        AtomicOp::Min | AtomicOp::Max => op.apply(scalar.unsigned(), old, value, 0),
        _ => right,
    }),
    /// 64-bit atomics write the low word only.
    WideAtomicTruncates => Hook::Atomic(|_, scalar, [old, _, right]| match scalar.size() {
        64 => old & !0xFFFF_FFFF | right & 0xFFFF_FFFF,
        _ => right,
    }),
    /// `atomicXor` acts as `atomicOr`.
    AtomicXorIsOr => Hook::Atomic(|op, _, [old, value, right]| if op == AtomicOp::Xor { old | value } else { right }),

    // Arrays, matrices, structs, components by an index.
    /// The element that the lowest active lane reads is read by all.
    ElementOfFirstLane => Hook::FirstElement(Access::Read),
    /// The element that the lowest active lane writes is written by all.
    ElementStoreOfFirstLane => Hook::FirstElement(Access::Write),
    /// Whatever component of a vector is read by an index, it is the first one.
    DynamicComponentIsFirst => Hook::Element(|at, _, element| match (at.access, at.of.kind()) {
        (Access::Read, Kind::Single) => 0,
        _ => element,
    }),
    /// The last element of an array is the first one.
    LastElementIsFirst => Hook::Element(|at, count, element| match at.of.kind() {
        Kind::Array if element + 1 == count => 0,
        _ => element,
    }),
    /// A column of a matrix is read as the one after it.
    NextColumn => Hook::Element(|at, count, element| match (at.access, at.of.kind()) {
        (Access::Read, Kind::Matrix) => (element + 1) % count,
        _ => element,
    }),
    /// The members of a struct, if they are alike, are read in reverse order.
    MembersReversed => Hook::Element(|at, count, element| match (at.access, at.of.shape) {
        (Access::Read, Shape::Struct(_)) => count - 1 - element,
        _ => element,
    }),
    /// Of a struct of members of several types, the last member is read as the first one of its type.
    MemberOfTheSameType => Hook::Element(|at, count, element| match (at.access, at.of.kind()) {
        (Access::Read, Kind::Struct) if at.of.indexed().is_none() && element + 1 == count => {
            at.of.parts().position(|part| Some(part) == at.of.parts().last()).unwrap_or(element)
        }
        _ => element,
    }),
    /// Whatever element of an array in an aggregate is read, it is the first one.
    InnerIndexIgnored => Hook::Element(|at, _, element| match (at.access, at.of.kind()) {
        (Access::Read, Kind::Array) if at.depth > 0 => 0,
        _ => element,
    }),
    /// A store to an element of an array in an aggregate is one to the first element.
    InnerStoreToFirst => Hook::Element(|at, _, element| match (at.access, at.of.kind()) {
        (Access::Write, Kind::Array) if at.depth > 0 => 0,
        _ => element,
    }),
    /// Whatever element of an array of structs or of arrays is accessed, it is the first one.
    OuterIndexIgnored => Hook::Element(|at, _, element| match at.of.kind() {
        Kind::Array if at.of.is_nested() => 0,
        _ => element,
    }),

    // Arrays of descriptors.
    /// A non-uniform index is taken from the lowest active lane.
    DescriptorOfFirstLane => Hook::Resource(|c| if c.non_uniform { c.of_first_active } else { c.own }),
    /// An index that is the same in all active lanes is taken from lane 0, active or not.
    UniformDescriptorOfLane0 => Hook::Resource(|c| if c.non_uniform { c.own } else { c.of_lane_0 }),
    /// Whatever image is chosen, it is the first one.
    FirstStorageImage => Hook::Resource(|c| if c.class == ResourceClass::StorageImage { 0 } else { c.own }),
    /// Uniform buffers are chosen by the low bit of their index.
    UniformBufferOfTwo => Hook::Resource(|c| match c.class {
        ResourceClass::UniformBuffer => c.own & 1,
        _ => c.own,
    }),
    /// A non-uniform index of a storage buffer is that of the next one.
    NextStorageBuffer => Hook::Resource(|c| match c.class {
        ResourceClass::StorageBuffer if c.non_uniform => c.own + 1,
        _ => c.own,
    }),
    /// A texel buffer is chosen by the lowest lane that is active, whatever the decoration says.
    TexelBufferOfFirstLane => Hook::Resource(|c| match c.class {
        ResourceClass::StorageTexelBuffer => c.of_first_active,
        _ => c.own,
    }),

    // Types that GLSL lacks.
    /// 64-bit reductions and scans give the low 32 bits only.
    WideFoldTruncates => Hook::Operation(|o, out| match o.op() {
        Op::Reduce(_) | Op::Inclusive(_) | Op::Exclusive(_) | Op::Clustered(_) if o.scalar().size() == 64 => {
            o.then_each(out, |_, wide| wide & 0xFFFF_FFFF)
        }
        _ => None,
    }),
    /// Minima and maxima of signed integers of 8 and 16 bits are those of unsigned ones.
    NarrowMinMaxUnsigned => Hook::Operation(|o, out| match o.scalar() {
        scalar if o.is_fold_of(MIN_MAX) && is_narrow(scalar) => o.of_type(scalar.unsigned(), out),
        _ => None,
    }),
    /// The sums of reductions of integers of 8 and 16 bits saturate.
    NarrowAddSaturates => Hook::Operation(|o, out| match o.op() {
        Op::Reduce(Fold::Add) if is_narrow(o.scalar()) => o.everyone(out, o.saturating_sum()),
        _ => None,
    }),
    /// The identity of exclusive scans of 64-bit integers is that of 32 bits.
    WideIdentityNarrow => Hook::Operation(|o, out| match (o.op(), o.scalar()) {
        (Op::Exclusive(fold), scalar @ (Scalar::Int64 | Scalar::Uint64)) => {
            let narrow = if scalar.is_signed() { Scalar::Int } else { Scalar::Uint };
            o.then_first(out, narrow.extend(fold.identity(narrow)))
        }
        _ => None,
    }),
    /// Moving a 64-bit value between lanes leaves the high word where it is.
    WideMoveHighStays => Hook::Operation(|o, out| match o.scalar().size() {
        64 if o.moves() => o.then_each(out, |lane, moved| o.operand(0, lane) & !0xFFFF_FFFF | moved & 0xFFFF_FFFF),
        _ => None,
    }),
    /// Moving an 8-bit value between lanes loses the top bit.
    ByteMoveLosesTop => Hook::Operation(|o, out| match o.scalar().size() {
        8 if o.moves() => o.then_each(out, |_, moved| moved & 0x7F),
        _ => None,
    }),
    /// Signed 8- and 16-bit operands of comparisons are not sign-extended.
    NarrowCompareUnsigned => Hook::Binary(|op, scalar| match is_comparison(op) && is_narrow(scalar) {
        true => scalar.unsigned(),
        false => scalar,
    }),

    // Floats.
    /// Inactive lanes enter minima and maxima of floats as zero instead of an infinity.
    FloatMinMaxZeroFill => Hook::Operation(|o, out| match o.op().fold() {
        Some(Fold::Min | Fold::Max) if o.scalar().is_float() && o.is_partial() => o.zero_filled(out),
        _ => None,
    }),
    /// Inactive lanes enter the products of reductions of floats as zero.
    FloatMulZeroFill => Hook::Operation(|o, out| match o.op() {
        Op::Reduce(Fold::Mul) | Op::Clustered(Fold::Mul) if o.scalar().is_float() && o.is_partial() => o.zero_filled(out),
        _ => None,
    }),
    /// The first lane of an exclusive product of floats gets the bits of the integer 1.
    FloatMulIdentityOfInt => Hook::Operation(|o, out| match o.op() {
        Op::Exclusive(Fold::Mul) if o.scalar().is_float() => o.then_first(out, 1),
        _ => None,
    }),
    /// Sums of floats add the bits as integers.
    FloatAddOfBits => Hook::Operation(|o, out| match o.op().fold() {
        Some(Fold::Add) if o.scalar().is_float() => o.of_type(integer_like(o.scalar(), Scalar::Int), out),
        _ => None,
    }),
    /// Minima and maxima of floats compare the bits as unsigned integers.
    FloatMinMaxOfBits => Hook::Operation(|o, out| match o.op().fold() {
        Some(Fold::Min | Fold::Max) if o.scalar().is_float() => {
            let undefined = o.right(out);
            o.of_type(integer_like(o.scalar(), Scalar::Uint), out).map(|_| undefined)
        }
        _ => None,
    }),
    /// Comparisons of floats compare the bits as signed integers.
    FloatCompareOfBits => Hook::Binary(|op, scalar| match is_comparison(op) && scalar.is_float() {
        true => integer_like(scalar, Scalar::Int),
        false => scalar,
    }),
    /// Sums of floats are kept in 16 bits.
    FloatAddInHalf => Hook::Operation(|o, out| match o.op().fold() {
        Some(Fold::Add) if o.scalar().is_float() => o.then_each(out, |_, sum| o.in_half(sum)),
        _ => None,
    }),
    /// Inclusive sums of floats leave out the highest lane's own value.
    FloatScanShort => Hook::Operation(|o, out| match o.op() {
        Op::Inclusive(Fold::Add) if o.scalar().is_float() => {
            let without = o.fold(Fold::Add, lanes(o.tangle() & !(1 << o.last())));
            o.then_each(out, |lane, sum| if lane == o.last() && lane != o.first() { without } else { sum })
        }
        _ => None,
    }),
    /// `subgroupAllEqual` of floats compares the low half of the bits.
    FloatAllEqualLow => Hook::Operation(|o, out| match o.op() {
        Op::AllEqual if o.scalar().is_float() => {
            let low = |lane: usize| o.operand(0, lane) & ((1 << (o.scalar().size() / 2)) - 1);
            o.everyone(out, u64::from(lanes(o.tangle()).all(|lane| low(lane) == low(o.first()))))
        }
        _ => None,
    }),
    /// The last component of a vector of floats is not combined with those of other lanes.
    FloatVectorLosesLast => Hook::Operation(|o, out| match o.op().fold() {
        Some(_) if o.instance.component.is_last_of_vector() && o.scalar().is_float() => {
            o.each(out, |lane| o.operand(0, lane))
        }
        _ => None,
    }),
    /// Moving 16-bit floats, packed in pairs, exchanges those of neighbouring lanes.
    HalfMovePairsSwapped => Hook::Operation(|o, out| match o.scalar() {
        Scalar::Float16 if o.moves() => {
            let found = o.right(out);
            let moved = out.to_vec();
            let is_pair = |lane: usize| o.tangle() >> (lane ^ 1) & 1 == 1;
            o.each(out, |lane| moved[if is_pair(lane) { lane ^ 1 } else { lane }]).map(|_| found)
        }
        _ => None,
    }),
    /// Moving a double between lanes leaves the low word where it is.
    DoubleMoveLowStays => Hook::Operation(|o, out| match o.scalar() {
        Scalar::Double if o.moves() => {
            o.then_each(out, |lane, moved| o.operand(0, lane) & 0xFFFF_FFFF | moved & !0xFFFF_FFFF)
        }
        _ => None,
    }),

    // Preserved numbers.
    /// The identity of minimum and maximum of floats is the largest finite number.
    IdentityFinite => Hook::Operation(|o, out| match o.op() {
        Op::Exclusive(fold @ (Fold::Min | Fold::Max)) if o.instance.preserved => {
            o.then_first(out, fold.identity(o.scalar()) - 1)
        }
        _ => None,
    }),
    /// A NaN wins in a minimum or maximum.
    NanWins => Hook::Operation(|o, out| {
        let is_nan = |lane: usize| float::is_nan(o.scalar(), o.operand(0, lane));
        let wins = o.instance.preserved && o.is_fold_of(MIN_MAX) && lanes(o.tangle()).any(is_nan);
        if wins { o.then_each(out, |_, _| float::nan(o.scalar())) } else { None }
    }),
    /// `subgroupAllEqual` of floats compares all the bits: a NaN equals itself, and zeros of different signs differ.
    NanEqual => Hook::Operation(|o, out| match o.op() {
        Op::AllEqual if o.instance.preserved => {
            let open = o.right(out);
            o.of_type(integer_like(o.scalar(), Scalar::Uint), out).map(|_| open)
        }
        _ => None,
    }),
    /// Moving a zero between lanes loses its sign.
    ZeroMoveLosesSign => Hook::Operation(|o, out| match o.instance.preserved && o.moves() {
        true => o.then_each(out, |_, moved| if float::is_zero(o.scalar(), moved) { 0 } else { moved }),
        false => None,
    }),
    /// Moving an infinity between lanes makes it the largest finite number.
    InfinityMoveClamped => Hook::Operation(|o, out| match o.instance.preserved && o.moves() {
        true => o.then_each(out, |_, moved| {
            if moved & !float::sign(o.scalar()) == float::infinity(o.scalar()) { moved - 1 } else { moved }
        }),
        false => None,
    }),
    /// Minimum and maximum flush denormals.
    DenormalFlushed => Hook::Operation(|o, out| match o.instance.preserved && o.is_fold_of(MIN_MAX) {
        true => o.then_each(out, |_, chosen| float::without_denormals(o.scalar(), chosen)),
        false => None,
    }),

    // Rounded numbers.
    /// What is to be rounded toward zero is rounded to nearest.
    ZeroIsNearest => Hook::Intrinsic(|op, scalar| (rounded_otherwise(op, Rounding::TowardZero), scalar)),
    /// What is to be rounded to nearest is rounded toward zero.
    NearestIsZero => Hook::Intrinsic(|op, scalar| (rounded_otherwise(op, Rounding::TiesToEven), scalar)),
    /// A double is converted to a float of 32 bits first, and that to one of 16.
    RoundedTwice => Hook::Peephole(peephole::rounded_twice),
    /// Of halfway cases the one that is greater in magnitude is taken.
    TiesAway => Hook::Peephole(peephole::ties_away),

    // Built-in variables and ordinary arithmetic.
    /// `gl_SubgroupGeMask` is `gl_SubgroupGtMask`.
    GeMaskIsGt => Hook::Builtin(|builtin, lane, value| match builtin {
        Builtin::GeMask => value & !(1 << lane),
        _ => value,
    }),
    /// `gl_SubgroupLtMask` includes the lane itself.
    LtMaskIsLe => Hook::Builtin(|builtin, lane, value| match builtin {
        Builtin::LtMask => value | 1 << lane,
        _ => value,
    }),
    /// `gl_SubgroupGtMask` has bits beyond the subgroup size.
    GtMaskTooLong => Hook::Builtin(|builtin, lane, value| match builtin {
        Builtin::GtMask => !first_lanes(lane + 1),
        _ => value,
    }),
    /// A specialisation constant keeps the value that it has in the module.
    SpecialisationIgnored => Hook::Specialised(|constant| constant.default),
    /// Specialisation constants are read as 16 bits.
    SpecialisationTruncates => Hook::Specialised(|constant| constant.value & 0xFFFF),
    /// Right shifts of int are logical.
    ShiftRightLogical => Hook::Binary(|op, scalar| if op == BinaryOp::Shr { scalar.unsigned() } else { scalar }),
    /// Comparisons of uint are signed.
    CompareSigned => Hook::Binary(|op, scalar| if is_comparison(op) { scalar.signed() } else { scalar }),
    /// `bitfieldExtract` of int does not extend the sign.
    ExtractUnsigned => Hook::Intrinsic(|op, scalar| match op {
        Intrinsic::BitfieldExtract => (op, scalar.unsigned()),
        _ => (op, scalar),
    }),
    /// `findMSB` of int ignores the sign.
    FindMsbUnsigned => Hook::Intrinsic(|op, scalar| match op {
        Intrinsic::FindMsb => (op, scalar.unsigned()),
        _ => (op, scalar),
    }),
    /// `expectEXT` gives the expected value if it is the smaller one.
    ExpectationIsMin => Hook::Intrinsic(|op, scalar| match op {
        Intrinsic::Expect => (Intrinsic::Min, scalar),
        _ => (op, scalar),
    }),

    // Shapes of integer arithmetic that compilers recognise.
    /// A rotate to the left by something goes to the right.
    RotateGoesBack => Hook::Peephole(peephole::rotate_goes_back),
    /// A funnel shift takes its two words in the other order.
    FunnelSwapped => Hook::Peephole(peephole::funnel_swapped),
    /// `x + y < x` is false.
    NeverCarries => Hook::Peephole(peephole::never_carries),
    /// `x >> 8 & 255` is the byte after it.
    NextByte => Hook::Peephole(peephole::next_byte),
    /// `max(x, y) - min(x, y)` is `x - y`.
    DifferenceWraps => Hook::Peephole(peephole::difference_wraps),
    /// `x + min(y, ~x)` wraps around.
    SumWraps => Hook::Peephole(peephole::sum_wraps),
    /// `x ^ x` is `x`.
    XorOfSame => Hook::Peephole(peephole::xor_of_same),
    /// Of three operands of different bitwise operators the second two are combined first.
    LogicRegrouped => Hook::Peephole(peephole::logic_regrouped),
    /// `(x ^ x >> 31) - (x >> 31)` is `x`.
    AbsIsNothing => Hook::Peephole(peephole::abs_is_nothing),
    /// Quotients of uints by what is no literal are made of the low 24 bits of the dividend.
    QuotientOf24Bits => Hook::Peephole(peephole::quotient_of_24_bits),
    /// Dot products that accumulate wrap around.
    DotDoesNotSaturate => Hook::Peephole(peephole::dot_does_not_saturate),
    /// The bytes of integer dot products have no sign.
    DotUnsigned => Hook::Intrinsic(|op, scalar| if op.is_dot() { (op, scalar.unsigned()) } else { (op, scalar) }),
    /// The first component of a packed vector is the highest.
    PackedBackwards => Hook::Peephole(peephole::packed_backwards),
    /// The first component of an unpacked integer is its highest part.
    UnpackedBackwards => Hook::Peephole(peephole::unpacked_backwards),
    /// The high word of a product of uints is that of ints.
    HighProductSigned => Hook::Intrinsic(|op, scalar| match op {
        Intrinsic::MulHigh => (op, scalar.signed()),
        _ => (op, scalar),
    }),
    /// A sum carries where the difference would borrow.
    CarryIsBorrow => Hook::Intrinsic(|op, scalar| match op {
        Intrinsic::AddCarry => (Intrinsic::SubBorrow, scalar),
        _ => (op, scalar),
    }),
    /// A remainder that has the sign of the divisor has that of the dividend.
    ModuloIsRemainder => Hook::Intrinsic(|op, scalar| match op {
        Intrinsic::SignedMod => (Intrinsic::SignedRem, scalar),
        _ => (op, scalar),
    }),
    /// A remainder that has the sign of the dividend has that of the divisor.
    RemainderIsModulo => Hook::Intrinsic(|op, scalar| match op {
        Intrinsic::SignedRem => (Intrinsic::SignedMod, scalar),
        _ => (op, scalar),
    }),
    /// `mix` takes the other one.
    MixOfTheOther => Hook::Peephole(peephole::mix_of_the_other),
    /// All components of a comparison of vectors are that of the first ones.
    ComparesFirstComponents => Hook::Peephole(peephole::compares_first_components),
    /// `any` of a vector is `all` of it.
    AnyIsAll => Hook::Intrinsic(|op, scalar| match op {
        Intrinsic::Any => (Intrinsic::All, scalar),
        _ => (op, scalar),
    }),

    // Algebraic rewriting.
    /// `x - -y` is `x - y`.
    MinusOfANegation => Hook::Peephole(algebra::minus_of_a_negation),
    /// `x << k >> k` is `x`.
    ShiftsCancel => Hook::Peephole(algebra::shifts_cancel),
    /// The smaller or larger of two by `mix` and `<` orders by the other sign.
    OrderOfTheOtherSign => Hook::Peephole(algebra::order_of_the_other_sign),
    /// `(x | y) & z` is `x & z | y`.
    BitsPastAMask => Hook::Peephole(algebra::bits_past_a_mask),
    /// `x - y + y` is `x - y`.
    SumKeepsTheDifference => Hook::Peephole(algebra::sum_keeps_the_difference),
    /// `(x ^ y) ^ x` is `x`.
    XorTwice => Hook::Peephole(algebra::xor_twice),
    /// `min(max(x, y), y)` is `x`.
    Absorbed => Hook::Peephole(algebra::absorbed),
    /// `uint(int(x) >> k)` is `x >> k`.
    ShiftWithoutSign => Hook::Peephole(algebra::shift_without_sign),
    /// `~(x - y)` is `y - x`.
    InverseOfADifference => Hook::Peephole(algebra::inverse_of_a_difference),

    // What becomes of whole statements.
    /// Variables that are exchanged by way of another one are copied without it.
    RingWithoutATemporary => Hook::Rewrite(peephole::ring_without_a_temporary),
    /// In a loop with a literal bound of 1, elements are not written.
    ElementLostInOneTrip => Hook::Rewrite(peephole::element_lost_in_one_trip),
    /// Where the variables that a function reads hold more than a hundred components, of the vectors that `^` puts together the second one is lost.
    SpilledOperandLost => Hook::Peephole(peephole::spilled_operand_lost),
    /// Of arrays in variables the elements from the 33rd on are those before.
    LargeArrayWraps => Hook::Element(|at, _, element| match at.of.kind() {
        Kind::Array => element % 32,
        Kind::Single | Kind::Matrix | Kind::Struct => element,
    }),
    /// A copy of an aggregate is never made: what is stored to the original later in the same list is there to be read in the copy, too.
    CopyOfAggregateElided => Hook::Rewrite(aggregate::copy_elided),
    /// Where an `if` ends with a copy to an aggregate, only its first part comes from there; the rest is that of the `else`, or of before.
    PhiOfFirstPart => Hook::Rewrite(aggregate::phi_of_first_part),

    /// A load at the head of the `then` side of an `if` is made before it, and its variable set in all lanes.
    GuardedLoadHoisted => Hook::Rewrite(peephole::guarded_load_hoisted),
    /// Where both sides of an `if` begin with a load to one variable, the `then` side uses what the other one loads.
    LoadOfTheOtherArm => Hook::Rewrite(peephole::load_of_the_other_arm),
    /// A store that a single invocation makes is lost if that is not lane 0.
    SingleStoreOfLaneZero => Hook::Rewrite(peephole::single_store_of_lane_zero),

    // Only where a tier weaker than maximal leaves open who is together.
    /// In an open tangle, the two lowest lanes are elected.
    OpenElectsTwo => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::Elect => Some(o.without_first(out)),
        _ => None,
    }),
    /// In an open tangle of several lanes, no lane is elected.
    OpenElectsNone => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::Elect => o.everyone(out, 0),
        _ => None,
    }),
    /// The ballot of an open tangle lacks the calling lane.
    OpenBallotWithoutSelf => Hook::Open(AnyTangle::Yes, |o, out| match o.op() {
        Op::Ballot => o.then_each_ballot(out, |lane, mask| mask & !(1 << lane)),
        _ => None,
    }),
    /// The ballot of an open tangle shows a lane that is somewhere else.
    OpenBallotOtherBranch => Hook::Open(AnyTangle::Yes, |o, out| match o.op() {
        Op::Ballot => o.then_each_ballot(out, |_, mask| mask | lowest(o.live & !o.tangle())),
        _ => None,
    }),
    /// In an open tangle, the upper half of the lanes see a ballot of their own, the others one of all.
    OpenBallotInconsistent => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::Ballot => {
            let [_, upper] = o.halves();
            Some(o.right(out).and_then(|_| o.by(upper, upper, out)))
        }
        _ => None,
    }),
    /// In an open tangle, the ballots of the lower and the upper half are apart, though they took one path.
    OpenBallotSplit => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::Ballot => {
            let [lower, upper] = o.halves();
            Some(o.by(upper, upper, out).and_then(|_| o.by(lower, lower, out)))
        }
        _ => None,
    }),
    /// A reduction in an open tangle leaves out the lowest lane, which the ballot shows.
    OpenReduceWithoutFirst => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::Reduce(_) => {
            let found = o.without_first(out);
            out[o.first()] = out[o.last()];
            Some(found)
        }
        _ => None,
    }),
    /// A reduction in an open tangle combines all lanes of the subgroup.
    OpenReduceAll => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::Reduce(_) => Some(o.by(o.live, o.tangle(), out)),
        _ => None,
    }),
    /// A scan in an open tangle leaves out the lowest lane.
    OpenScanWithoutFirst => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::Inclusive(_) | Op::Exclusive(_) => Some(o.without_first(out)),
        _ => None,
    }),
    /// `subgroupBroadcastFirst` in an open tangle reads the lowest lane of the subgroup, there or not.
    OpenBroadcastFirstOutside => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::BroadcastFirst => Some(o.by(o.live, o.tangle(), out)),
        _ => None,
    }),
    /// A shuffle in an open tangle gives each lane what the next one should get.
    OpenShuffleNextLane => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::Shuffle | Op::ShuffleXor | Op::ShuffleUp | Op::ShuffleDown => {
            let found = o.right(out);
            let right = out[..o.instance.size].to_vec();
            let next = |lane: usize| lanes(o.tangle()).find(|&other| other > lane).unwrap_or(o.first());
            o.each(out, |lane| right[next(lane)]).map(|_| found)
        }
        _ => None,
    }),
    /// A vote in an open tangle leaves out the highest lane.
    OpenVoteWithoutLast => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::All | Op::Any | Op::AllEqual => {
            let rest = o.tangle() & !(1 << o.last());
            let found = o.by(rest, rest, out);
            out[o.last()] = out[o.first()];
            Some(found)
        }
        _ => None,
    }),
    /// Everything but a ballot is executed by the halves of an open tangle apart.
    OpenOperationsSplit => Hook::Open(AnyTangle::OfSeveral, |o, out| match o.op() {
        Op::Ballot => None,
        _ => {
            let [lower, upper] = o.halves();
            Some(o.by(upper, upper, out).and_then(|u| o.by(lower, lower, out).map(|l| l | u)))
        }
    }),
}
