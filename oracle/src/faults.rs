//! Planted faults: a device with one rule changed.
//!
//! Each [`Fault`] is a mistake that a driver has made or could make (peers.md, semantics.md §7.4). The reference device with a fault
//! shows that a campaign can fail: every fault must be caught within a stated number of generated cases.

use serde::{Deserialize, Serialize};
use tangle_program::case::SpecConstant;
use tangle_program::float;
use tangle_program::memory::{AtomicOp, StorageClass};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{Fold, Instance, OpInfo, Spread, SubgroupOp, TABLE, Ub, first_lanes, lanes};
use tangle_program::tree::Builtin;
use tangle_program::types::{Scalar, Shape};

use crate::mask::Mask;
use crate::rules::{Access, Construct, Jump, Merge, Rules, Scope};

/// Declares the faults with their names and explanations.
macro_rules! faults {
    ($($(#[doc = $about:literal])+ $name:ident,)+) => {
        /// A planted fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Fault { $($(#[doc = $about])+ $name,)+ }

        impl Fault {
            /// Every fault.
            pub const ALL: &[Fault] = &[$(Fault::$name,)+];

            /// What is wrong.
            pub const fn about(self) -> &'static str {
                match self { $(Fault::$name => concat!($($about),+).trim_ascii(),)+ }
            }
        }
    };
}

faults! {
    // Control flow: which lanes go where.
    /// The highest lane is lost where the sides of a divergent `if` merge.
    IfMergeLosesLastLane,
    /// After a divergent `if` only the lanes of the last executed side go on.
    IfMergeKeepsOneSide,
    /// Lanes that left a loop in an early iteration are lost at its merge.
    LoopMergeLosesEarlyLanes,
    /// `continue` acts as `break`.
    ContinueBreaks,
    /// Lanes that continue skip the rest of the loop's iterations' continue target: they are not there for the next test.
    ContinueLanesLost,
    /// `break` in divergent control flow is ignored.
    BreakIgnored,
    /// Lanes that returned early from a function are lost after the call.
    EarlyReturnLost,
    /// `return` in divergent control flow inside a function is ignored.
    ReturnIgnored,
    /// Lanes that leave a switch by `break` in its first segments are lost at the merge.
    SwitchMergeLosesLanes,
    /// Falling through to the next segment of a switch does not happen.
    FallthroughLost,
    /// The lowest active lane decides a divergent loop test for all.
    LoopTestOfFirstLane,
    /// The lowest active lane decides a divergent `if` for all.
    BranchOfFirstLane,
    /// The lowest active lane decides a divergent `if` with `[[flatten]]` for all.
    FlattenedBranchOfFirstLane,
    /// The lowest active lane decides the divergent test of an `[[unroll]]` loop for all.
    UnrolledTestOfFirstLane,
    /// Nobody goes on after an `assumeEXT`: what follows is taken for unreachable.
    AssumptionUnreachable,
    /// Out arguments of lanes that returned early are not copied back.
    EarlyReturnNoCopyOut,
    /// An assignment in a loop also changes the variable of lanes that have left the loop.
    StoreToLeftLanes,
    /// An assignment under an `if` changes the variable of all lanes that reached the `if`.
    StoreIgnoresIf,

    // Which lanes take part in an operation.
    /// An operation in the `then` side is performed by all lanes that reached the `if`.
    ThenWithAllLanes,
    /// An operation in the `else` side is performed by all lanes that reached the `if`.
    ElseWithAllLanes,
    /// An operation in a loop body also sees the lanes that left in the same iteration or before.
    LoopSeesLeftLanes,
    /// An operation in a function sees all lanes that were called, returned or not.
    FunctionSeesReturnedLanes,
    /// An operation in the right operand of `&&` or `||` is performed by all lanes.
    ShortCircuitWithAllLanes,
    /// Operations are always performed by every lane that the subgroup started with.
    MaskAlwaysFull,
    /// The last lane of the subgroup never takes part in a partial operation.
    LastLaneNeverActive,
    /// Lane 0 is assumed to be active.
    LaneZeroAssumedActive,
    /// In a switch segment, only the lowest lane's selector takes part.
    SwitchSeesOneLane,

    // What operations compute.
    /// `subgroupElect` picks the highest lane.
    ElectHighest,
    /// `subgroupElect` picks lane 0, active or not.
    ElectLaneZero,
    /// `subgroupBroadcastFirst` reads lane 0, active or not.
    BroadcastFirstLaneZero,
    /// `subgroupBroadcast` reads the lane above.
    BroadcastNextLane,
    /// Inclusive scans leave out the lane's own value.
    InclusiveIsExclusive,
    /// Exclusive scans include the lane's own value.
    ExclusiveIsInclusive,
    /// Scans run over the lanes in descending order.
    ScanReversed,
    /// The first lane of an exclusive scan gets 0 instead of the identity.
    IdentityMissing,
    /// The identity of signed min and max is the unsigned one.
    IdentityUnsigned,
    /// Signed minima and maxima compare as unsigned.
    MinMaxUnsigned,
    /// Unsigned minima and maxima compare as signed.
    MinMaxSigned,
    /// Reductions include inactive lanes.
    ReduceInactive,
    /// Sums are kept in 16 bits.
    AddTruncates,
    /// Reductions combine only the first four active lanes.
    ReduceFourLanes,
    /// `xor` reductions act as `or`.
    XorIsOr,
    /// `and` reductions include zeros of inactive lanes.
    AndInactiveZero,
    /// `subgroupAll` is false when some lane is inactive.
    AllInactiveFalse,
    /// `subgroupAny` looks at the first active lane only.
    AnyFirstOnly,
    /// `subgroupAllEqual` compares the first and last active lane only.
    AllEqualEndsOnly,
    /// `subgroupBallot` ignores its argument.
    BallotIgnoresPredicate,
    /// `subgroupBallot` leaves out the calling lane.
    BallotWithoutSelf,
    /// `subgroupInverseBallot` reads the neighbouring bit.
    InverseBallotNeighbour,
    /// `subgroupBallotBitExtract` reads the bit of the calling lane.
    BitExtractOwnLane,
    /// The inclusive bit count is exclusive.
    InclusiveBitCountOffByOne,
    /// The exclusive bit count is inclusive.
    ExclusiveBitCountOffByOne,
    /// `subgroupBallotBitCount` counts at most three.
    BitCountSaturates,
    /// `subgroupBallotFindMSB` gives the lowest bit.
    FindMsbIsLsb,
    /// `subgroupBallotFindLSB` gives one too much.
    FindLsbOffByOne,
    /// `subgroupShuffle` looks at the two low bits of the lane only.
    ShuffleTwoBits,
    /// `subgroupShuffleXor` always uses the first active lane's mask.
    ShuffleXorFirstMask,
    /// `subgroupShuffleUp` shifts down.
    ShuffleUpIsDown,
    /// `subgroupShuffleDown` by more than one shifts by one.
    ShuffleDownByOne,
    /// `subgroupRotate` turns the other way.
    RotateBackwards,
    /// `subgroupClusteredRotate` ignores the clusters.
    ClusteredRotateWhole,
    /// Clustered operations combine the whole subgroup.
    ClusterIgnored,
    /// Clustered operations combine neighbouring pairs only.
    ClusterOfTwo,
    /// Horizontal and vertical quad swap are exchanged.
    QuadSwapsExchanged,
    /// Diagonal quad swap is a horizontal one.
    QuadDiagonalIsHorizontal,
    /// `subgroupQuadBroadcast` reads from the first quad.
    QuadBroadcastFirstQuad,

    // Partitions and quad votes.
    /// `subgroupPartitionNV` also finds inactive lanes with the same value.
    PartitionFindsInactive,
    /// `subgroupPartitionNV` compares the low bit only.
    PartitionOfLowBit,
    /// Partitioned reductions combine the whole subgroup.
    PartitionIgnored,
    /// Partitioned scans go on over the lanes of other subsets.
    PartitionedScanCrosses,
    /// Partitioned inclusive scans are exclusive.
    PartitionedInclusiveIsExclusive,
    /// `subgroupQuadAny` is `subgroupAny`.
    QuadAnyOfSubgroup,
    /// `subgroupQuadAll` is false when a lane of the quad is inactive.
    QuadAllInactiveFalse,

    // Shared memory.
    /// A store goes to the slot of the next invocation.
    StoreToNextSlot,
    /// Loads from shared memory do not see what other invocations wrote before the last barrier.
    BarrierIgnored,
    /// The same, where the array is in a buffer.
    BufferBarrierIgnored,
    /// Of the lanes that perform an atomic together only the first one does.
    AtomicFirstLaneOnly,
    /// An atomic under an `if` is performed by all lanes that reached the `if`.
    AtomicIgnoresIf,
    /// `atomicExchange` leaves the old value where it is.
    ExchangeLost,
    /// `atomicCompSwap` does not compare.
    CompSwapSwaps,
    /// `atomicMin` and `atomicMax` of int compare as unsigned.
    AtomicMinMaxUnsigned,
    /// 64-bit atomics write the low word only.
    WideAtomicTruncates,
    /// `atomicXor` acts as `atomicOr`.
    AtomicXorIsOr,

    // Arrays, matrices, structs, components by an index.
    /// The element that the lowest active lane reads is read by all.
    ElementOfFirstLane,
    /// The element that the lowest active lane writes is written by all.
    ElementStoreOfFirstLane,
    /// A dynamic component of a vector is the first one.
    DynamicComponentIsFirst,
    /// The last element of an array is the first one.
    LastElementIsFirst,
    /// A column of a matrix is read as the one after it.
    NextColumn,
    /// The members of a struct are read in reverse order.
    MembersReversed,

    // Types that GLSL lacks.
    /// 64-bit reductions and scans give the low 32 bits only.
    WideFoldTruncates,
    /// Minima and maxima of 8 and 16 bits compare as unsigned.
    NarrowMinMaxUnsigned,
    /// Sums of 8 and 16 bits saturate.
    NarrowAddSaturates,
    /// The identity of 64-bit minima, maxima and ands is that of 32 bits.
    WideIdentityNarrow,
    /// Moving a 64-bit value between lanes leaves the high word where it is.
    WideMoveHighStays,
    /// Moving an 8-bit value between lanes loses the top bit.
    ByteMoveLosesTop,
    /// Signed 8- and 16-bit operands of comparisons are not sign-extended.
    NarrowCompareUnsigned,

    // Floats.
    /// Inactive lanes enter minima and maxima of floats as zero instead of an infinity.
    FloatMinMaxZeroFill,
    /// Inactive lanes enter products of floats as zero.
    FloatMulZeroFill,
    /// Products of floats start from the bits of the integer 1.
    FloatMulIdentityOfInt,
    /// Sums of floats add the bits as integers.
    FloatAddOfBits,
    /// Minima and maxima of floats compare the bits as unsigned integers.
    FloatMinMaxOfBits,
    /// Comparisons of floats compare the bits as signed integers.
    FloatCompareOfBits,
    /// Sums of floats are kept in 16 bits.
    FloatAddInHalf,
    /// Inclusive scans of floats leave out the highest lane's own value.
    FloatScanShort,
    /// `subgroupAllEqual` of floats compares the low half of the bits.
    FloatAllEqualLow,
    /// The last component of a vector of floats is not combined with those of other lanes.
    FloatVectorLosesLast,
    /// Moving 16-bit floats, packed in pairs, exchanges those of neighbouring lanes.
    HalfMovePairsSwapped,
    /// Moving a double between lanes leaves the low word where it is.
    DoubleMoveLowStays,

    // Built-in variables and ordinary arithmetic.
    /// `gl_SubgroupGeMask` is `gl_SubgroupGtMask`.
    GeMaskIsGt,
    /// `gl_SubgroupLtMask` includes the lane itself.
    LtMaskIsLe,
    /// `gl_SubgroupGtMask` has bits beyond the subgroup size.
    GtMaskTooLong,
    /// A specialisation constant keeps the value that it has in the module.
    SpecialisationIgnored,
    /// Specialisation constants are read as 16 bits.
    SpecialisationTruncates,
    /// Right shifts of int are logical.
    ShiftRightLogical,
    /// Comparisons of uint are signed.
    CompareSigned,
    /// `bitfieldExtract` of int does not extend the sign.
    ExtractUnsigned,
    /// `findMSB` of int ignores the sign.
    FindMsbUnsigned,
    /// `expectEXT` gives the expected value if it is the smaller one.
    ExpectationIsMin,

    // Only where a tier weaker than maximal leaves open who is together.
    /// In an open tangle, the two lowest lanes are elected.
    OpenElectsTwo,
    /// In an open tangle of several lanes, no lane is elected.
    OpenElectsNone,
    /// The ballot of an open tangle lacks the calling lane.
    OpenBallotWithoutSelf,
    /// The ballot of an open tangle shows a lane that is somewhere else.
    OpenBallotOtherBranch,
    /// In an open tangle, the upper half of the lanes see a ballot of their own, the others one of all.
    OpenBallotInconsistent,
    /// In an open tangle, the ballots of the lower and the upper half are apart, though they took one path.
    OpenBallotSplit,
    /// A reduction in an open tangle leaves out the lowest lane, which the ballot shows.
    OpenReduceWithoutFirst,
    /// A reduction in an open tangle combines all lanes of the subgroup.
    OpenReduceAll,
    /// A scan in an open tangle leaves out the lowest lane.
    OpenScanWithoutFirst,
    /// `subgroupBroadcastFirst` in an open tangle reads the lowest lane of the subgroup, there or not.
    OpenBroadcastFirstOutside,
    /// A shuffle in an open tangle reads the lane after the right one.
    OpenShuffleNextLane,
    /// A vote in an open tangle leaves out the highest lane.
    OpenVoteWithoutLast,
    /// Everything but a ballot is executed by the halves of an open tangle apart.
    OpenOperationsSplit,
}

impl Fault {
    /// Those that only show in tangles that a tier leaves open.
    pub const OPEN: [Fault; 13] = [
        Fault::OpenElectsTwo,
        Fault::OpenElectsNone,
        Fault::OpenBallotWithoutSelf,
        Fault::OpenBallotOtherBranch,
        Fault::OpenBallotInconsistent,
        Fault::OpenBallotSplit,
        Fault::OpenReduceWithoutFirst,
        Fault::OpenReduceAll,
        Fault::OpenScanWithoutFirst,
        Fault::OpenBroadcastFirstOutside,
        Fault::OpenShuffleNextLane,
        Fault::OpenVoteWithoutLast,
        Fault::OpenOperationsSplit,
    ];

    /// The name in JSON and in reports.
    pub fn name(self) -> String {
        let mut name = String::new();
        for c in format!("{self:?}").chars() {
            if c.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(c.to_ascii_lowercase());
        }
        name
    }
}

/// A device with one fault.
#[derive(Clone, Copy, Debug)]
pub struct Planted(pub Fault);

fn innermost(scopes: &[Scope], construct: Construct) -> Option<&Scope> {
    scopes.last().filter(|scope| scope.construct == construct)
}

fn enclosing(scopes: &[Scope], construct: Construct) -> Option<&Scope> {
    scopes.iter().rev().find(|scope| scope.construct == construct)
}

fn row_of(op: SubgroupOp) -> &'static OpInfo {
    TABLE.iter().find(|info| info.op == op).expect("every operation has a row")
}

fn last_lane(mask: &Mask) -> Option<usize> {
    mask.slots().last()
}

fn is_divergent(scopes: &[Scope]) -> bool {
    scopes.iter().any(|scope| scope.entered != scope.reached)
}

impl Rules for Planted {
    fn merged(&mut self, merge: Merge, reached: &Mask, merged: Mask) -> Mask {
        let mut without = Mask::default();
        let mut lose = |slot: Option<usize>| {
            without = merged.minus(&merged);
            slot.into_iter().for_each(|slot| without.insert(slot));
            merged.minus(&without)
        };
        match (self.0, merge) {
            (Fault::IfMergeLosesLastLane, Merge::If) if merged.count() > 1 => lose(last_lane(&merged)),
            (Fault::IfMergeKeepsOneSide, Merge::If) if merged.count() > 2 => lose(merged.slots().next()),
            (Fault::LoopMergeLosesEarlyLanes, Merge::Loop) if merged.count() > 1 => lose(merged.slots().next()),
            (Fault::ContinueLanesLost, Merge::Continue) if merged.count() > 1 => lose(merged.slots().nth(1)),
            (Fault::SwitchMergeLosesLanes, Merge::Switch) if merged.count() > 1 => lose(merged.slots().next()),
            (Fault::EarlyReturnLost, Merge::Call) if merged.count() > 1 && merged == *reached => {
                lose(last_lane(&merged))
            }
            _ => merged,
        }
    }

    fn tangle(&mut self, scopes: &[Scope], live: u128, tangle: u128, of: &dyn Fn(&Mask) -> u128) -> u128 {
        let reached = |scope: Option<&Scope>| scope.map_or(tangle, |scope| tangle | of(&scope.reached));
        let entered = |scope: Option<&Scope>| scope.map_or(tangle, |scope| tangle | of(&scope.entered));
        let highest = 127 - live.leading_zeros();
        match self.0 {
            Fault::ThenWithAllLanes => reached(innermost(scopes, Construct::Then)),
            Fault::ElseWithAllLanes => reached(innermost(scopes, Construct::Else)),
            Fault::LoopSeesLeftLanes => entered(enclosing(scopes, Construct::LoopBody)),
            Fault::FunctionSeesReturnedLanes => match innermost(scopes, Construct::Function) {
                Some(scope) => tangle | of(&scope.reached),
                None => tangle,
            },
            Fault::ShortCircuitWithAllLanes => reached(innermost(scopes, Construct::RightOperand)),
            Fault::MaskAlwaysFull => live,
            Fault::LastLaneNeverActive if tangle != live && tangle != 1 << highest => tangle & !(1 << highest),
            Fault::LaneZeroAssumedActive => tangle | live & 1,
            Fault::SwitchSeesOneLane if innermost(scopes, Construct::SwitchSegment).is_some() => {
                1 << tangle.trailing_zeros()
            }
            _ => tangle,
        }
    }

    fn stored(&mut self, scopes: &[Scope], active: Mask) -> Mask {
        match self.0 {
            Fault::StoreToLeftLanes => match enclosing(scopes, Construct::LoopBody) {
                Some(scope) if scopes.last().is_some_and(|last| last.construct == Construct::LoopBody) => {
                    active.or(&scope.entered)
                }
                _ => active,
            },
            Fault::StoreIgnoresIf => match innermost(scopes, Construct::Then) {
                Some(scope) => active.or(&scope.reached),
                None => active,
            },
            _ => active,
        }
    }

    fn jump(&mut self, scopes: &[Scope], jump: Jump) -> Jump {
        match (self.0, jump) {
            (Fault::ContinueBreaks, Jump::Continue)
                if scopes.iter().all(|s| s.construct != Construct::SwitchSegment) =>
            {
                Jump::Break
            }
            (Fault::BreakIgnored, Jump::Break) if is_divergent(scopes) => Jump::Ignored,
            (Fault::ReturnIgnored, Jump::Return)
                if is_divergent(scopes) && enclosing(scopes, Construct::Function).is_some() =>
            {
                Jump::Ignored
            }
            _ => jump,
        }
    }

    fn taken(&mut self, construct: Construct, active: &Mask, taken: Mask) -> Mask {
        let first_decides = |taken: Mask| {
            if active.slots().next().is_some_and(|slot| taken.contains(slot)) {
                active.clone()
            } else {
                active.minus(active)
            }
        };
        match (self.0, construct) {
            (Fault::LoopTestOfFirstLane, Construct::LoopTest) => first_decides(taken),
            (Fault::BranchOfFirstLane, Construct::Then) => first_decides(taken),
            (Fault::FlattenedBranchOfFirstLane, Construct::FlattenedThen) => first_decides(taken),
            (Fault::UnrolledTestOfFirstLane, Construct::UnrolledLoopTest) => first_decides(taken),
            _ => taken,
        }
    }

    fn falls_through(&mut self, lanes: Mask) -> Mask {
        if self.0 == Fault::FallthroughLost { lanes.minus(&lanes) } else { lanes }
    }

    fn copied_out(&mut self, at_end: &Mask, returned: Mask) -> Mask {
        if self.0 == Fault::EarlyReturnNoCopyOut && !at_end.is_empty() { at_end.clone() } else { returned }
    }

    fn slot(&mut self, index: usize, len: usize) -> usize {
        if self.0 == Fault::StoreToNextSlot { (index + 1) % len } else { index }
    }

    fn is_stale(&mut self, storage: StorageClass, own: bool) -> bool {
        let fault = match storage {
            StorageClass::Workgroup => Fault::BarrierIgnored,
            StorageClass::StorageBuffer => Fault::BufferBarrierIgnored,
        };
        self.0 == fault && !own
    }

    fn atomic_lanes(&mut self, scopes: &[Scope], active: Mask) -> Mask {
        match self.0 {
            Fault::AtomicFirstLaneOnly => {
                let mut first = active.minus(&active);
                active.slots().take(1).for_each(|slot| first.insert(slot));
                first
            }
            Fault::AtomicIgnoresIf => match innermost(scopes, Construct::Then) {
                Some(scope) => active.or(&scope.reached),
                None => active,
            },
            _ => active,
        }
    }

    fn atomic(&mut self, op: AtomicOp, scalar: Scalar, old: u64, value: u64, compare: u64) -> u64 {
        let right = op.apply(scalar, old, value, compare);
        match (self.0, op) {
            (Fault::ExchangeLost, AtomicOp::Exchange) => old,
            (Fault::CompSwapSwaps, AtomicOp::CompSwap) => value,
            (Fault::AtomicMinMaxUnsigned, AtomicOp::Min | AtomicOp::Max) => {
                op.apply(scalar.unsigned(), old, value, compare)
            }
            (Fault::WideAtomicTruncates, _) if scalar.size() == 64 => old & !0xFFFF_FFFF | right & 0xFFFF_FFFF,
            (Fault::AtomicXorIsOr, AtomicOp::Xor) => old | value,
            _ => right,
        }
    }

    fn operate(&mut self, info: &OpInfo, instance: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
        operate(self.0, info, instance, out)
    }

    fn has_open_operations(&self) -> bool {
        Fault::OPEN.contains(&self.0)
    }

    fn operate_open(
        &mut self,
        info: &OpInfo,
        instance: &Instance<'_>,
        live: u128,
        out: &mut [u64],
    ) -> Result<u128, Ub> {
        operate_open(self.0, info, instance, live, out)
    }

    fn binary(&mut self, op: BinaryOp, scalar: Scalar) -> (BinaryOp, Scalar) {
        match (self.0, op) {
            (Fault::ShiftRightLogical, BinaryOp::Shr) => (op, scalar.unsigned()),
            (Fault::CompareSigned, BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge) => (op, scalar.signed()),
            (Fault::NarrowCompareUnsigned, BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge)
                if is_narrow(scalar) =>
            {
                (op, scalar.unsigned())
            }
            (Fault::FloatCompareOfBits, BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge)
                if scalar.is_float() =>
            {
                (op, integer_like(scalar, Scalar::Int))
            }
            _ => (op, scalar),
        }
    }

    fn intrinsic(&mut self, op: Intrinsic, scalar: Scalar) -> (Intrinsic, Scalar) {
        match (self.0, op) {
            (Fault::ExtractUnsigned, Intrinsic::BitfieldExtract) => (op, scalar.unsigned()),
            (Fault::FindMsbUnsigned, Intrinsic::FindMsb) => (op, scalar.unsigned()),
            (Fault::ExpectationIsMin, Intrinsic::Expect) => (Intrinsic::Min, scalar),
            _ => (op, scalar),
        }
    }

    fn elements(&mut self, access: Access, shape: Shape, count: usize, places: &mut [(usize, usize)]) {
        let first = places.first().map_or(0, |(_, element)| *element);
        for (_, element) in places {
            *element = match (self.0, access, shape) {
                (Fault::ElementOfFirstLane, Access::Read, _) | (Fault::ElementStoreOfFirstLane, Access::Write, _) => {
                    first
                }
                (Fault::DynamicComponentIsFirst, Access::Read, Shape::Single) => 0,
                (Fault::LastElementIsFirst, _, Shape::Array(_)) if *element + 1 == count => 0,
                (Fault::NextColumn, Access::Read, Shape::Matrix(_)) => (*element + 1) % count,
                (Fault::MembersReversed, Access::Read, Shape::Struct(_)) => count - 1 - *element,
                _ => *element,
            };
        }
    }

    fn assumed(&mut self, active: Mask) -> Mask {
        if self.0 == Fault::AssumptionUnreachable { active.minus(&active) } else { active }
    }

    fn specialised(&mut self, constant: SpecConstant) -> u32 {
        match self.0 {
            Fault::SpecialisationIgnored => constant.default,
            Fault::SpecialisationTruncates => constant.value & 0xFFFF,
            _ => constant.value,
        }
    }

    fn builtin(&mut self, builtin: Builtin, lane: usize, value: u128) -> u128 {
        match (self.0, builtin) {
            (Fault::GeMaskIsGt, Builtin::GeMask) => value & !(1 << lane),
            (Fault::LtMaskIsLe, Builtin::LtMask) => value | 1 << lane,
            (Fault::GtMaskTooLong, Builtin::GtMask) => !first_lanes(lane + 1),
            _ => value,
        }
    }
}

/// Another operation, or the same one with other lanes or operands, in the place of the right one.
fn operate(fault: Fault, info: &OpInfo, i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    use Fault as F;
    use SubgroupOp as Op;
    let right = |out: &mut [u64]| (info.meaning)(i, out);
    let instead = |op: SubgroupOp, out: &mut [u64]| (row_of(op).meaning)(i, out);
    let of_lanes = |tangle: u128, out: &mut [u64]| -> Result<u128, Ub> {
        // The lanes really there get the result that the other set would.
        let undefined = (info.meaning)(&Instance { tangle: tangle | i.tangle, ..*i }, out)?;
        Ok(undefined & i.tangle)
    };
    let everyone = |out: &mut [u64], value: u64| {
        lanes(i.tangle).for_each(|lane| out[lane] = value);
        Ok(0)
    };
    let as_bits =
        |of: Scalar, out: &mut [u64]| (info.meaning)(&Instance { scalar: integer_like(i.scalar, of), ..*i }, out);
    let first = i.tangle.trailing_zeros() as usize;
    let last = 127 - i.tangle.leading_zeros() as usize;
    let all = first_lanes(i.size);
    match (fault, info.op) {
        (F::ElectHighest, Op::Elect) => {
            lanes(i.tangle).for_each(|lane| out[lane] = u64::from(lane == last));
            Ok(0)
        }
        (F::ElectLaneZero, Op::Elect) => {
            lanes(i.tangle).for_each(|lane| out[lane] = u64::from(lane == 0));
            Ok(0)
        }
        (F::BroadcastFirstLaneZero, Op::BroadcastFirst) => everyone(out, i.args[0][0]),
        (F::BroadcastNextLane, Op::Broadcast) => {
            let undefined = right(out)?;
            let from = (i.args[1][first] as usize + 1) % i.size;
            everyone(out, i.args[0][from])?;
            Ok(undefined)
        }
        (F::InclusiveIsExclusive, Op::Inclusive(fold)) => instead(Op::Exclusive(fold), out),
        (F::ExclusiveIsInclusive, Op::Exclusive(fold)) => instead(Op::Inclusive(fold), out),
        (F::ScanReversed, Op::Inclusive(fold) | Op::Exclusive(fold)) => {
            let mut sum = fold.identity(i.scalar);
            let inclusive = matches!(info.op, Op::Inclusive(_));
            let descending: Vec<usize> = lanes(i.tangle).collect();
            for &lane in descending.iter().rev() {
                let next = fold.apply(i.scalar, sum, i.args[0][lane]);
                out[lane] = if inclusive { next } else { sum };
                sum = next;
            }
            Ok(0)
        }
        (F::IdentityMissing, Op::Exclusive(_)) => {
            right(out)?;
            out[first] = 0;
            Ok(0)
        }
        (F::IdentityUnsigned, Op::Exclusive(fold @ (Fold::Min | Fold::Max))) => {
            right(out)?;
            out[first] = fold.identity(i.scalar.unsigned());
            Ok(0)
        }
        (F::MinMaxUnsigned, op) if is_min_max(op) => {
            (info.meaning)(&Instance { scalar: i.scalar.unsigned(), ..*i }, out)
        }
        (F::MinMaxSigned, op) if is_min_max(op) => (info.meaning)(&Instance { scalar: i.scalar.signed(), ..*i }, out),
        (F::WideFoldTruncates, Op::Reduce(_) | Op::Inclusive(_) | Op::Exclusive(_) | Op::Clustered(_))
            if i.scalar.size() == 64 =>
        {
            let undefined = right(out)?;
            lanes(i.tangle).for_each(|lane| out[lane] = i.scalar.extend(out[lane] & 0xFFFF_FFFF));
            Ok(undefined)
        }
        (F::NarrowMinMaxUnsigned, op) if is_min_max(op) && is_narrow(i.scalar) => {
            (info.meaning)(&Instance { scalar: i.scalar.unsigned(), ..*i }, out)
        }
        (F::NarrowAddSaturates, Op::Reduce(Fold::Add)) if is_narrow(i.scalar) => {
            let sum = lanes(i.tangle).fold(0, |sum: u64, lane| sum.saturating_add(i.args[0][lane]));
            everyone(out, sum.min(i.scalar.bits()))
        }
        (F::WideIdentityNarrow, Op::Exclusive(fold)) if i.scalar.size() == 64 => {
            right(out)?;
            let narrow = if i.scalar.is_signed() { Scalar::Int } else { Scalar::Uint };
            out[first] = narrow.extend(fold.identity(narrow));
            Ok(0)
        }
        (F::WideMoveHighStays, _) if info.spread == Spread::Moves && i.scalar.size() == 64 => {
            let undefined = right(out)?;
            let high = !0xFFFF_FFFF;
            lanes(i.tangle).for_each(|lane| out[lane] = i.args[0][lane] & high | out[lane] & !high);
            Ok(undefined)
        }
        (F::ByteMoveLosesTop, _) if info.spread == Spread::Moves && i.scalar.size() == 8 => {
            let undefined = right(out)?;
            lanes(i.tangle).for_each(|lane| out[lane] &= 0x7F);
            Ok(undefined)
        }
        (F::FloatMinMaxZeroFill, op) if is_min_max(op) && i.scalar.is_float() && i.tangle != all => {
            filled(info, i, 0, out)
        }
        (F::FloatMulZeroFill, Op::Reduce(Fold::Mul) | Op::Clustered(Fold::Mul))
            if i.scalar.is_float() && i.tangle != all =>
        {
            filled(info, i, 0, out)
        }
        (F::FloatMulIdentityOfInt, Op::Exclusive(Fold::Mul)) if i.scalar.is_float() => {
            right(out)?;
            out[first] = 1;
            Ok(0)
        }
        (F::FloatAddOfBits, op) if is_add(op) && i.scalar.is_float() => as_bits(Scalar::Int, out),
        (F::FloatMinMaxOfBits, op) if is_min_max(op) && i.scalar.is_float() => {
            let undefined = right(out)?;
            as_bits(Scalar::Uint, out)?;
            Ok(undefined)
        }
        (F::FloatAddInHalf, op) if is_add(op) && i.scalar.is_float() => {
            right(out)?;
            lanes(i.tangle).for_each(|lane| {
                let half = float::bits(Scalar::Float16, float::value(i.scalar, out[lane]));
                out[lane] = float::bits(i.scalar, float::value(Scalar::Float16, half));
            });
            Ok(0)
        }
        (F::FloatScanShort, Op::Inclusive(Fold::Add)) if i.scalar.is_float() => {
            right(out)?;
            if first != last {
                out[last] = out[127 - (i.tangle ^ 1 << last).leading_zeros() as usize];
            }
            Ok(0)
        }
        (F::FloatAllEqualLow, Op::AllEqual) if i.scalar.is_float() => {
            let low = |lane: usize| i.args[0][lane] & ((1 << (i.scalar.size() / 2)) - 1);
            everyone(out, u64::from(lanes(i.tangle).all(|lane| low(lane) == low(first))))
        }
        (F::FloatVectorLosesLast, op) if i.component.is_last_of_vector() && i.scalar.is_float() && is_fold(op) => {
            lanes(i.tangle).for_each(|lane| out[lane] = i.args[0][lane]);
            Ok(0)
        }
        (F::HalfMovePairsSwapped, _) if info.spread == Spread::Moves && i.scalar == Scalar::Float16 => {
            let undefined = right(out)?;
            let moved = out.to_vec();
            let both = |lane: &usize| i.tangle >> (lane ^ 1) & 1 == 1;
            lanes(i.tangle).filter(both).for_each(|lane| out[lane] = moved[lane ^ 1]);
            Ok(undefined)
        }
        (F::DoubleMoveLowStays, _) if info.spread == Spread::Moves && i.scalar == Scalar::Double => {
            let undefined = right(out)?;
            let low = 0xFFFF_FFFF;
            lanes(i.tangle).for_each(|lane| out[lane] = i.args[0][lane] & low | out[lane] & !low);
            Ok(undefined)
        }
        (F::ReduceInactive, Op::Reduce(_)) => of_lanes(all, out),
        (F::AddTruncates, Op::Reduce(Fold::Add)) => {
            right(out)?;
            lanes(i.tangle).for_each(|lane| out[lane] &= 0xFFFF);
            Ok(0)
        }
        (F::ReduceFourLanes, Op::Reduce(fold)) => {
            let four = lanes(i.tangle).take(4);
            let sum = four.fold(fold.identity(i.scalar), |sum, lane| fold.apply(i.scalar, sum, i.args[0][lane]));
            everyone(out, sum)
        }
        (F::XorIsOr, Op::Reduce(Fold::Xor)) => instead(Op::Reduce(Fold::Or), out),
        (F::AndInactiveZero, Op::Reduce(Fold::And)) if i.tangle != all => everyone(out, 0),
        (F::AllInactiveFalse, Op::All) if i.tangle != all => everyone(out, 0),
        (F::AnyFirstOnly, Op::Any) => everyone(out, i.args[0][first]),
        (F::AllEqualEndsOnly, Op::AllEqual) => everyone(out, u64::from(i.args[0][first] == i.args[0][last])),
        (F::BallotIgnoresPredicate, Op::Ballot) => {
            let ones = vec![1; i.size];
            (info.meaning)(&Instance { args: &[&ones], ..*i }, out)
        }
        (F::BallotWithoutSelf, Op::Ballot) => {
            right(out)?;
            lanes(i.tangle).for_each(|lane| out[lane / 32 * i.size + lane] &= !(1 << (lane % 32)));
            Ok(0)
        }
        (F::InverseBallotNeighbour, Op::InverseBallot) => {
            lanes(i.tangle).for_each(|lane| {
                let lane_next = (lane + 1) % i.size;
                out[lane] = i.args[lane_next / 32][lane] >> (lane_next % 32) & 1;
            });
            Ok(0)
        }
        (F::BitExtractOwnLane, Op::BallotBitExtract) => {
            let own: Vec<u64> = (0..i.size as u64).collect();
            let undefined = right(out)?;
            (info.meaning)(&Instance { args: &[i.args[0], i.args[1], i.args[2], i.args[3], &own], ..*i }, out)?;
            Ok(undefined)
        }
        (F::InclusiveBitCountOffByOne, Op::BallotInclusiveBitCount) => instead(Op::BallotExclusiveBitCount, out),
        (F::ExclusiveBitCountOffByOne, Op::BallotExclusiveBitCount) => instead(Op::BallotInclusiveBitCount, out),
        (F::BitCountSaturates, Op::BallotBitCount) => {
            let undefined = right(out)?;
            lanes(i.tangle).for_each(|lane| out[lane] = out[lane].min(3));
            Ok(undefined)
        }
        (F::FindMsbIsLsb, Op::BallotFindMsb) => instead(Op::BallotFindLsb, out),
        (F::FindLsbOffByOne, Op::BallotFindLsb) => {
            let undefined = right(out)?;
            lanes(i.tangle).for_each(|lane| out[lane] += 1);
            Ok(undefined)
        }
        (F::ShuffleTwoBits, Op::Shuffle) => with_operand(info, i, out, |lane| i.args[1][lane] & 3),
        (F::ShuffleXorFirstMask, Op::ShuffleXor) => with_operand(info, i, out, |_| i.args[1][first]),
        (F::ShuffleUpIsDown, Op::ShuffleUp) => instead(Op::ShuffleDown, out),
        (F::ShuffleDownByOne, Op::ShuffleDown) => with_operand(info, i, out, |lane| i.args[1][lane].min(1)),
        (F::RotateBackwards, Op::Rotate) => {
            with_operand(info, i, out, |lane| (i.size as u64).wrapping_sub(i.args[1][lane]) & 0xFFFF_FFFF)
        }
        (F::ClusteredRotateWhole, Op::ClusteredRotate) => instead(Op::Rotate, out),
        (F::ClusterIgnored, Op::Clustered(fold)) => instead(Op::Reduce(fold), out),
        (F::ClusterOfTwo, Op::Clustered(_)) => (info.meaning)(&Instance { cluster: i.cluster.min(2), ..*i }, out),
        (F::QuadSwapsExchanged, Op::QuadSwapHorizontal) => instead(Op::QuadSwapVertical, out),
        (F::QuadSwapsExchanged, Op::QuadSwapVertical) => instead(Op::QuadSwapHorizontal, out),
        (F::QuadDiagonalIsHorizontal, Op::QuadSwapDiagonal) => instead(Op::QuadSwapHorizontal, out),
        (F::PartitionFindsInactive, Op::Partition) => of_lanes(all, out),
        (F::PartitionOfLowBit, Op::Partition) => {
            let low: Vec<u64> = i.args[0].iter().map(|value| value & 1).collect();
            (info.meaning)(&Instance { args: &[&low], ..*i }, out)
        }
        (F::PartitionIgnored, Op::Partitioned(fold)) => instead(Op::Reduce(fold), out),
        (F::PartitionedScanCrosses, Op::PartitionedInclusive(fold)) => instead(Op::Inclusive(fold), out),
        (F::PartitionedScanCrosses, Op::PartitionedExclusive(fold)) => instead(Op::Exclusive(fold), out),
        (F::PartitionedInclusiveIsExclusive, Op::PartitionedInclusive(fold)) => {
            instead(Op::PartitionedExclusive(fold), out)
        }
        (F::QuadAnyOfSubgroup, Op::QuadAny) => instead(Op::Any, out),
        (F::QuadAllInactiveFalse, Op::QuadAll) => {
            right(out)?;
            let is_whole = |lane: usize| i.tangle >> (lane & !3) & 0xF == 0xF;
            lanes(i.tangle).filter(|&lane| !is_whole(lane)).for_each(|lane| out[lane] = 0);
            Ok(0)
        }
        (F::QuadBroadcastFirstQuad, Op::QuadBroadcast) => everyone(out, i.args[0][i.args[1][first] as usize & 3]),
        _ => right(out),
    }
}

/// Likewise, in a tangle that the tier leaves open.
fn operate_open(fault: Fault, info: &OpInfo, i: &Instance<'_>, live: u128, out: &mut [u64]) -> Result<u128, Ub> {
    use Fault as F;
    use SubgroupOp as Op;
    let first = i.tangle & i.tangle.wrapping_neg();
    let last = 1u128 << (127 - i.tangle.leading_zeros());
    let upper = lanes(i.tangle).skip(i.tangle.count_ones() as usize / 2).fold(0, |mask, lane| mask | 1 << lane);
    let lower = i.tangle & !upper;
    // Some lanes get what another set of lanes would.
    let by = |tangle: u128, of: u128, out: &mut [u64]| -> Result<u128, Ub> {
        let mut other = vec![0; out.len()];
        let undefined = (info.meaning)(&Instance { tangle, ..*i }, &mut other)?;
        for component in 0..out.len() / i.size {
            lanes(of).for_each(|lane| out[component * i.size + lane] = other[component * i.size + lane]);
        }
        Ok(undefined & of)
    };
    let undefined = (info.meaning)(i, out)?;
    if i.tangle.count_ones() == 1 && !matches!(fault, F::OpenBallotWithoutSelf | F::OpenBallotOtherBranch) {
        return Ok(undefined);
    }
    match (fault, info.op) {
        (F::OpenElectsTwo, Op::Elect) => by(i.tangle & !first, i.tangle & !first, out),
        (F::OpenElectsNone, Op::Elect) => {
            out[first.trailing_zeros() as usize] = 0;
            Ok(0)
        }
        (F::OpenBallotWithoutSelf, Op::Ballot) => {
            lanes(i.tangle).for_each(|lane| out[lane / 32 * i.size + lane] &= !(1 << (lane % 32)));
            Ok(0)
        }
        (F::OpenBallotOtherBranch, Op::Ballot) => {
            if let Some(other) = lanes(live & !i.tangle).next() {
                lanes(i.tangle).for_each(|lane| out[other / 32 * i.size + lane] |= 1 << (other % 32));
            }
            Ok(0)
        }
        (F::OpenBallotInconsistent, Op::Ballot) => by(upper, upper, out),
        (F::OpenBallotSplit, Op::Ballot) => by(upper, upper, out).and_then(|_| by(lower, lower, out)),
        (F::OpenReduceWithoutFirst, Op::Reduce(_)) => {
            by(i.tangle & !first, i.tangle & !first, out)?;
            out[first.trailing_zeros() as usize] = out[last.trailing_zeros() as usize];
            Ok(0)
        }
        (F::OpenReduceAll, Op::Reduce(_)) => by(live, i.tangle, out),
        (F::OpenScanWithoutFirst, Op::Inclusive(_) | Op::Exclusive(_)) => by(i.tangle & !first, i.tangle & !first, out),
        (F::OpenBroadcastFirstOutside, Op::BroadcastFirst) => by(live, i.tangle, out),
        (F::OpenShuffleNextLane, Op::Shuffle | Op::ShuffleXor | Op::ShuffleUp | Op::ShuffleDown) => {
            let right = out[..i.size].to_vec();
            let next =
                |lane: usize| lanes(i.tangle).find(|&other| other > lane).unwrap_or(first.trailing_zeros() as usize);
            lanes(i.tangle).for_each(|lane| out[lane] = right[next(lane)]);
            Ok(undefined)
        }
        (F::OpenVoteWithoutLast, Op::All | Op::Any | Op::AllEqual) => {
            by(i.tangle & !last, i.tangle & !last, out)?;
            out[last.trailing_zeros() as usize] = out[first.trailing_zeros() as usize];
            Ok(0)
        }
        (F::OpenOperationsSplit, op) if op != Op::Ballot => Ok(by(upper, upper, out)? | by(lower, lower, out)?),
        _ => Ok(undefined),
    }
}

/// 8 and 16 bits.
fn is_narrow(scalar: Scalar) -> bool {
    matches!(scalar.size(), 8 | 16)
}

/// The integer type as wide as a float, signed or not as `like`.
fn integer_like(scalar: Scalar, like: Scalar) -> Scalar {
    let signed = match scalar {
        Scalar::Float16 => Scalar::Int16,
        Scalar::Double => Scalar::Int64,
        _ => Scalar::Int,
    };
    if like.is_signed() { signed } else { signed.unsigned() }
}

fn is_fold(op: SubgroupOp) -> bool {
    op.fold().is_some()
}

fn is_add(op: SubgroupOp) -> bool {
    op.fold() == Some(Fold::Add)
}

fn is_min_max(op: SubgroupOp) -> bool {
    matches!(op.fold(), Some(Fold::Min | Fold::Max))
}

/// The operation performed by all lanes, the inactive ones with that operand.
fn filled(info: &OpInfo, i: &Instance<'_>, operand: u64, out: &mut [u64]) -> Result<u128, Ub> {
    let value = |lane: usize| if i.tangle >> lane & 1 == 1 { i.args[0][lane] } else { operand };
    let column: Vec<u64> = (0..i.size).map(value).collect();
    let undefined = (info.meaning)(&Instance { tangle: first_lanes(i.size), args: &[&column], ..*i }, out)?;
    Ok(undefined & i.tangle)
}

/// The operation with another second operand.
fn with_operand(info: &OpInfo, i: &Instance<'_>, out: &mut [u64], operand: impl Fn(usize) -> u64) -> Result<u128, Ub> {
    let column: Vec<u64> = (0..i.size).map(operand).collect();
    (info.meaning)(&Instance { args: &[i.args[0], &column], ..*i }, out)
}
