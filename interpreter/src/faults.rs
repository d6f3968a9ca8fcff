//! Faults to plant: each breaks one rule of the interpreter, to see that a comparison with another oracle catches it. For tests only.

macro_rules! faults {
    ($($name:ident: $about:literal,)*) => {
        /// A fault of the interpreter that a test plants.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Planted {
            $(#[doc = $about] $name,)*
        }

        impl Planted {
            /// Every fault, in the order of the table.
            pub const ALL: &'static [Planted] = &[$(Planted::$name,)*];

            /// What the interpreter does wrong with it, in one line.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Planted::$name => $about,)*
                }
            }
        }
    };
}

faults! {
    // Masks and merges.
    ConditionOfFirstLane: "all lanes of a tangle branch as the first one does",
    MergeLosesLane: "the last lane does not reconverge at the merge block of a loop",
    SelectionNotMerged: "odd and even lanes stay apart after a selection",
    ContinueNotAwaited: "lanes do not wait for each other at the continue target",
    IterationsMix: "lanes that leave a loop early are merged into its next iteration's continue construct",
    ReturnEndsInvocation: "a return in a function called ends the invocation",
    CallKeepsOnlyLastReturn: "after a call only the lanes of its last return go on",
    // Switches.
    SwitchDefaultOnly: "every selector goes to the default",
    SwitchLosesFallthrough: "lanes that fall through leave the switch",
    LoopEnteredBehindHeader: "a loop is entered behind the instructions of its header",
    LostLanesIgnored: "lanes whose path is open are taken to be alone",
    SwitchAlwaysExact: "lanes with different selectors are taken to be together in a case construct",
    // Phis, calls, variables.
    PhisOneByOne: "phis of a block take their values one after the other",
    PhiOfOtherEdge: "phis are not updated on back edges",
    CallArgumentsSwapped: "the first two arguments of a call are swapped",
    ResultNotCopied: "the result of a call is not copied for the lowest lane",
    StoreToAllLanes: "a store to a variable changes it for inactive lanes, too",
    StoreForgotten: "a store to a variable by part of the workgroup does nothing",
    // Tiers.
    UniformWithoutAll: "control flow counts as uniform at a merge block that not all lanes come to",
    EveryTangleExact: "no tangle is left open",
    ReconvergesAfterCall: "lanes are one class after a call at every tier",
    // States.
    TaintForgotten: "a result of undefined or open operands counts as determined",
    InactiveSourceIsOwn: "a shuffle from an inactive lane gives the lane's own value",
    NoBitFoundIsZero: "FindLSB of an empty ballot is 0",
    // Subgroup operations.
    InactiveLanesTakePart: "inactive lanes take part in subgroup operations",
    ElectHighest: "the highest lane is elected",
    BroadcastLast: "OpGroupNonUniformBroadcastFirst takes the last lane",
    BallotOfNegation: "a ballot holds the lanes whose predicate is false",
    AllIsAny: "OpGroupNonUniformAll is true if one lane's predicate is",
    AllEqualOfFirstComponent: "OpGroupNonUniformAllEqual looks at the first component only",
    ShuffleDownWraps: "OpGroupNonUniformShuffleDown wraps around",
    ShuffleUpIsDown: "OpGroupNonUniformShuffleUp goes down",
    XorMaskOfFirstLane: "OpGroupNonUniformShuffleXor takes the mask of the first lane",
    RotateBackwards: "rotation goes the other way",
    QuadSwapVerticalIsDiagonal: "a vertical quad swap is diagonal",
    QuadBroadcastFromZero: "a quad broadcast takes lane 0 of the quad",
    ExclusiveCountIsInclusive: "the exclusive bit count counts the lane itself",
    FindLsbIsMsb: "FindLSB finds the highest bit",
    ClusterDoubled: "clusters are twice as large",
    InclusiveIsExclusive: "inclusive scans leave out the lane itself",
    ExclusiveIsInclusive: "exclusive scans count the lane itself",
    IdentityZero: "the identity of every reduction is 0",
    ReduceMaxIsMin: "an unsigned maximum is a minimum",
    ReduceAddForgetsFirst: "sums leave out the first lane",
    PartitionIsTangle: "a partition has one subset, the whole tangle",
    // Arithmetic.
    ZeroExtension: "signed conversions extend by zeros",
    ArithmeticShiftIsLogical: "an arithmetic shift brings in zeros",
    ModuloIsRemainder: "OpSMod has the sign of the dividend",
    SignedLessIsUnsigned: "a signed comparison is unsigned",
    LessIsLessEqual: "OpULessThan holds for equal operands",
    MinIsMax: "UMin is UMax",
    SubIsAdd: "OpISub adds",
    FloatSubIsAdd: "OpFSub adds",
    SelectSwapped: "OpSelect takes the other one",
    DotOverflows: "the products of a saturating dot product may overflow",
    FractOfHost: "the fraction of a float is the host's, rounded to 64 bits",
    RoundingSwapped: "RoundingModeRTE rounds toward zero, and RoundingModeRTZ to nearest",
    TiesToOdd: "of two numbers that are as near, RoundingModeRTE takes the odd one",
    RelaxedIsPrecise: "relaxed precision is full precision",
    BitFieldShifted: "bit fields begin one bit higher",
    OpenSourceIsInactive: "a source that may be in the tangle is taken to be outside",
    // Fragment shaders.
    HelpersStore: "what helper invocations store has an effect",
    HelpersAlwaysThere: "helper invocations take part wherever they come",
    HelpersActiveAtEachTier: "helper invocations are active in each operation at every tier",
    DemotedIsNoHelper: "an invocation that is demoted does not say so",
    DerivativeReversed: "derivatives are differences the other way round",
    DerivativeOfOtherRow: "fine derivatives are those of the other row and column",
    CoarseIsFine: "a coarse derivative is that of the lane's own row and column",
    // Memory.
    LostLanesLeaveAtomics: "lanes whose path is open are taken to execute no atomics",
    OpenAddressInOrder: "atomics at open addresses are performed in the order of execution here",
    AtomicsOfOthersForgotten: "of atomics that nothing orders the last one counts alone",
    BarrierHidesLostWrites: "what lanes on an open path wrote before a barrier is not seen behind it",
    FenceReleasesAll: "a fence releases what is done up to the next control barrier",
    BarrierAcquires: "what was released before a control barrier is ordered behind it, whoever acquires",
    VolatileInOrder: "volatile accesses are made in the order of execution here",
    OpenBarrierOrdersNothing: "a subgroup barrier orders nothing if it is open which lanes execute it",
    AtomicOrIsXor: "OpAtomicOr is OpAtomicXor",
    AtomicLosesLane: "the atomic of the first lane is lost",
    PrivateIsShared: "accesses that are neither coherent nor made available and visible are seen by others all the same",
    AliasesAssumed: "variables of one buffer are taken to be Aliased, and its descriptors to be one",
    ScopesIgnored: "the memory scopes of atomics and barriers hold everybody",
    AlignmentIgnored: "physical addresses need no alignment",
    IndexOffByOne: "dynamic indices of variables are one too high where that is in bounds",
}

impl Planted {
    /// Those that generated cases show seldom, or never; `tests/semantics.rs` and `tests/fragment.rs` have a shader for each.
    pub const BY_HAND: [Planted; 30] = [
        Planted::HelpersStore,
        Planted::HelpersAlwaysThere,
        Planted::HelpersActiveAtEachTier,
        Planted::DemotedIsNoHelper,
        Planted::DerivativeReversed,
        Planted::DerivativeOfOtherRow,
        Planted::CoarseIsFine,
        Planted::PrivateIsShared,
        Planted::ScopesIgnored,
        Planted::AliasesAssumed,
        Planted::AlignmentIgnored,
        Planted::PhisOneByOne,
        Planted::UniformWithoutAll,
        Planted::ReconvergesAfterCall,
        Planted::NoBitFoundIsZero,
        Planted::LoopEnteredBehindHeader,
        Planted::LostLanesIgnored,
        Planted::OpenBarrierOrdersNothing,
        Planted::BarrierHidesLostWrites,
        Planted::OpenSourceIsInactive,
        Planted::LostLanesLeaveAtomics,
        Planted::OpenAddressInOrder,
        Planted::AtomicsOfOthersForgotten,
        Planted::FenceReleasesAll,
        Planted::BarrierAcquires,
        Planted::VolatileInOrder,
        Planted::DotOverflows,
        Planted::FractOfHost,
        Planted::TiesToOdd,
        Planted::RelaxedIsPrecise,
    ];
}
