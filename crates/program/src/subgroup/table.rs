//! The rows: everything about an operation but what it computes, which is a function of [`super::meaning`].

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::fold::Fold;
use super::meaning;
use super::row::{Category, Defined, Gives, Meaning, Param, Param as P, Reach, Severity, Spread, Uniform};
use crate::rule::RuleNumber;
use crate::types::{Scalar, Type};

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The operation that the row is of.
    pub op: SubgroupOp,
    /// The GLSL function, which is also the name in reports and statistics.
    pub name: &'static str,
    /// The name in cases (SPIR-V 1.6 §3.49.24 and the extensions of each): the instruction without `Op` and without the kind of its
    /// operands (`OpGroupNonUniformIAdd`, `SMin` and `LogicalAnd` are `Add`, `Min` and `And`), then the group operation, or what else
    /// distinguishes the operations of one instruction. Barriers are said by their scope and the memory that they order.
    pub spirv: &'static str,
    /// Category: decides extension and feature.
    pub category: Category,
    /// Operands in order, without the cluster size.
    pub params: &'static [Param],
    /// The type of the result.
    pub gives: Gives,
    /// Component types allowed for [`Param::Value`]; empty if there is none.
    pub scalars: &'static [Scalar],
    /// True if a constant cluster size is the last argument.
    pub clustered: bool,
    /// True if its instruction names the scope of the group.
    pub scoped: bool,
    /// Which lanes a result depends on.
    pub reach: Reach,
    /// Where its result is certainly defined.
    pub defined: Defined,
    /// How undefined operands spread.
    pub spread: Spread,
    /// When all lanes get the same.
    pub uniform: Uniform,
    /// How far it is from the operations that everybody knows: the minimizer prefers low ranks.
    pub rank: u64,
    /// How well results of float types stand. Those of other types are [`Severity::Hard`].
    pub float_severity: Severity,
    /// The rule of docs/rules.md that its results follow from.
    pub rule: RuleNumber,
    /// The rule that its results of float types follow from, where that is another.
    pub float_rule: Option<RuleNumber>,
    /// Document and section of `sentence`.
    pub source: &'static str,
    /// What the result is, word for word; `{}` stands for the name of the fold. Empty for barriers.
    pub sentence: &'static str,
    /// What it computes, of the columns of its operands.
    pub meaning: Meaning,
}

impl OpInfo {
    /// The rule that its results of a type follow from.
    pub fn rule(&self, scalar: Scalar) -> RuleNumber {
        self.float_rule.filter(|_| scalar.is_float()).unwrap_or(self.rule)
    }

    /// True if the result depends on which other lanes are in `T`, or on their operands.
    pub const fn tangle_dependent(&self) -> bool {
        !matches!(self.reach, Reach::Own)
    }

    /// True for what keeps preserved numbers as they are (docs/rules.md, rules F6 and F8): what moves them, minimum and maximum.
    pub fn preserves(&self) -> bool {
        self.gives == Gives::Same
            && self.category != Category::Derivative
            && match self.op.fold() {
                None => self.spread == Spread::Moves,
                Some(fold) => matches!(fold, Fold::Min | Fold::Max),
            }
    }

    /// True if some operands or some `T` give an undefined result.
    pub const fn may_be_undefined(&self) -> bool {
        !matches!(self.defined, Defined::Always)
    }

    /// True if the source of every lane's result is another lane or none, so that the results of one lane say nothing of other sources.
    pub fn moves(&self) -> bool {
        self.spread == Spread::Moves && self.uniform != Uniform::Always
    }

    /// How well results stand for a generic operand of this type.
    pub const fn severity(&self, scalar: Scalar) -> Severity {
        if scalar.is_float() { self.float_severity } else { Severity::Hard }
    }

    /// What the text in `source` says the result is, for a generic operand of this type.
    pub fn quotation(&self, scalar: Scalar) -> String {
        match self.op.fold() {
            Some(fold) if self.clustered => self.sentence.replace("{}", fold.noun(scalar).trim_end_matches(" <value>")),
            Some(fold) => self.sentence.replace("{}", fold.noun(scalar)),
            None => self.sentence.into(),
        }
    }

    /// The result type for a generic operand of type `value`; `None` for statements.
    pub fn result_type(&self, value: Option<Type>) -> Option<Type> {
        match self.gives {
            Gives::Nothing => None,
            Gives::Same => value,
            Gives::Bool => Some(Type::BOOL),
            Gives::Uint => Some(Type::UINT),
            Gives::Mask => Some(Type::MASK),
        }
    }
}

const ANY_TYPE: &[Scalar] = &Scalar::ALL;
/// What partitioned operations take here. Floats would need rules for NaN and signed zeros of the partition (docs/rules.md, rule P12).
const INTEGERS: &[Scalar] = &Scalar::INTEGERS;
const NUMBERS: &[Scalar] = &Scalar::NUMBERS;
/// Bool and integers: what bitwise operations take.
const BITS: &[Scalar] = &Scalar::DISCRETE;

const GLSL_SUBGROUP: &str = "GL_KHR_shader_subgroup rev 8";
const GLSL_ROTATE: &str = "GL_KHR_shader_subgroup_rotate rev 1";
const GLSL_PARTITIONED: &str = "GL_NV_shader_subgroup_partitioned rev 1";
const GLSL_QUAD_CONTROL: &str = "GL_EXT_shader_quad_control rev 1, §8.18";

/// The result is a function of the tangle and of its lanes' operands.
const P1: RuleNumber = RuleNumber::new('P', 1);
/// Lanes outside of the tangle add nothing.
const P3: RuleNumber = RuleNumber::new('P', 3);
/// Functions of a lane's own ballot.
const P5: RuleNumber = RuleNumber::new('P', 5);
/// Sums and products of floats.
const P8: RuleNumber = RuleNumber::new('P', 8);
/// Minimum and maximum of floats.
const P9: RuleNumber = RuleNumber::new('P', 9);
/// Clusters.
const P10: RuleNumber = RuleNumber::new('P', 10);
/// Quads.
const P11: RuleNumber = RuleNumber::new('P', 11);
/// Partitions.
const P12: RuleNumber = RuleNumber::new('P', 12);
/// AllEqual.
const P13: RuleNumber = RuleNumber::new('P', 13);
/// Derivatives.
const H8: RuleNumber = RuleNumber::new('H', 8);
/// Elect.
const O11: RuleNumber = RuleNumber::new('O', 11);

/// A row with nothing special: its result depends on the tangle and is always defined. Every row names the rest.
const ROW: OpInfo = OpInfo {
    op: SubgroupOp::Barrier,
    name: "",
    spirv: "",
    category: Category::Basic,
    params: &[],
    gives: Gives::Nothing,
    scalars: &[],
    clustered: false,
    scoped: true,
    reach: Reach::Tangle,
    defined: Defined::Always,
    spread: Spread::Everyone,
    uniform: Uniform::No,
    rank: 2,
    float_severity: Severity::Hard,
    rule: P1,
    float_rule: None,
    source: GLSL_SUBGROUP,
    sentence: "",
    meaning: meaning::nothing,
};

/// A barrier: a statement that gives nothing.
const BARRIER: OpInfo = OpInfo { category: Category::Basic, ..ROW };

/// One bool for all lanes.
const VOTE: OpInfo = OpInfo { category: Category::Vote, gives: Gives::Bool, uniform: Uniform::Always, ..ROW };

/// Moves values of any type between lanes.
const MOVES: OpInfo = OpInfo {
    scalars: ANY_TYPE,
    params: &[P::Value, P::Uint],
    gives: Gives::Same,
    defined: Defined::Never,
    spread: Spread::Moves,
    ..ROW
};

/// Moves values within a quad. "An invocation will not execute a dynamic instance of this instruction (X') until all invocations in its quad
/// have executed all dynamic instances that are program-ordered before X'." (SPIR-V 1.6 rev 6, OpGroupNonUniformQuadSwap)
const MOVES_IN_QUAD: OpInfo =
    OpInfo { category: Category::Quad, params: &[P::Value], reach: Reach::Quad, rule: P11, ..MOVES };

/// A partial derivative: the difference of two lanes of the quad, exact where the numbers are (Vulkan, "Precision of Core SPIR-V Instructions":
/// "Correctly rounded"). "This instruction is only valid in the Fragment Execution Model" or where a derivative group is said, and "The
/// component width must be 32 bits" (SPIR-V 1.6 §3.49.16, OpDPdx). Coarse ones may be those of the other row or column of the quad: where
/// these differ nothing is said.
const DERIVATIVE: OpInfo = OpInfo {
    category: Category::Derivative,
    scoped: false,
    params: &[P::Value],
    gives: Gives::Same,
    scalars: &[Scalar::Float],
    reach: Reach::Quad,
    defined: Defined::Never,
    rule: H8,
    source: "Vulkan, Derivative Operations",
    ..ROW
};

/// A derivative that an implementation may choose.
const COARSE: OpInfo = OpInfo {
    sentence: "may: only calculate two values instead of four (one for each of DPdx and DPdy), reusing the same result no matter the \
               originating invocation.",
    ..DERIVATIVE
};

/// The sum of the absolute values of two derivatives.
const WIDTH: OpInfo = OpInfo {
    sentence: "is equivalent to executing the corresponding code:OpDPdx* and code:OpDPdy* instructions, taking the absolute value of the \
               results, and summing them.",
    ..DERIVATIVE
};

/// A function of a lane's own ballot.
const OF_MASK: OpInfo = OpInfo {
    category: Category::Ballot,
    params: &[P::Mask],
    gives: Gives::Uint,
    defined: Defined::MaskInTangle,
    spread: Spread::Own,
    rule: P5,
    ..ROW
};

/// Declares the operations without a fold, each with its row, then those with one.
macro_rules! operations {
    ($($(#[$doc:meta])* $op:ident: $row:expr,)+) => {
        /// A subgroup operation. Cases say it by its name in SPIR-V, reports and statistics by that of the GLSL function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each variant is the GLSL function of that name; TABLE describes it")]
        pub enum SubgroupOp {
            $($(#[$doc])* $op,)+
            Reduce(Fold),
            Inclusive(Fold),
            Exclusive(Fold),
            Clustered(Fold),
            Partitioned(Fold),
            PartitionedInclusive(Fold),
            PartitionedExclusive(Fold),
        }

        /// The numbers of the rows without a fold.
        enum Plain { $($op,)+ }

        #[rustfmt::skip]
        const PLAIN_ROWS: &[OpInfo] = &[$(OpInfo { op: SubgroupOp::$op, ..$row },)+];

        impl SubgroupOp {
            /// The row's number in [`TABLE`], for counters indexed by operation.
            pub const fn index(self) -> usize {
                let (form, fold) = match self {
                    $(SubgroupOp::$op => return Plain::$op as usize,)+
                    SubgroupOp::Reduce(fold) => (0, fold),
                    SubgroupOp::Inclusive(fold) => (1, fold),
                    SubgroupOp::Exclusive(fold) => (2, fold),
                    SubgroupOp::Clustered(fold) => (3, fold),
                    SubgroupOp::Partitioned(fold) => (4, fold),
                    SubgroupOp::PartitionedInclusive(fold) => (5, fold),
                    SubgroupOp::PartitionedExclusive(fold) => (6, fold),
                };
                PLAIN_ROWS.len() + FORMS * fold as usize + form
            }

            /// What reductions and scans combine with.
            pub const fn fold(self) -> Option<Fold> {
                match self {
                    $(SubgroupOp::$op => None,)+
                    SubgroupOp::Reduce(fold)
                    | SubgroupOp::Inclusive(fold)
                    | SubgroupOp::Exclusive(fold)
                    | SubgroupOp::Clustered(fold)
                    | SubgroupOp::Partitioned(fold)
                    | SubgroupOp::PartitionedInclusive(fold)
                    | SubgroupOp::PartitionedExclusive(fold) => Some(fold),
                }
            }

            /// The same reduction or scan with another fold; other operations as they are.
            pub const fn with_fold(self, fold: Fold) -> SubgroupOp {
                match self {
                    $(SubgroupOp::$op => self,)+
                    SubgroupOp::Reduce(_) => SubgroupOp::Reduce(fold),
                    SubgroupOp::Inclusive(_) => SubgroupOp::Inclusive(fold),
                    SubgroupOp::Exclusive(_) => SubgroupOp::Exclusive(fold),
                    SubgroupOp::Clustered(_) => SubgroupOp::Clustered(fold),
                    SubgroupOp::Partitioned(_) => SubgroupOp::Partitioned(fold),
                    SubgroupOp::PartitionedInclusive(_) => SubgroupOp::PartitionedInclusive(fold),
                    SubgroupOp::PartitionedExclusive(_) => SubgroupOp::PartitionedExclusive(fold),
                }
            }
        }
    };
}

operations! {
    Barrier: OpInfo { name: "subgroupBarrier", spirv: "ControlBarrier Subgroup", ..BARRIER },
    MemoryBarrier: OpInfo { name: "subgroupMemoryBarrier", spirv: "MemoryBarrier Subgroup", ..BARRIER },
    MemoryBarrierBuffer: OpInfo { name: "subgroupMemoryBarrierBuffer", spirv: "MemoryBarrier Subgroup UniformMemory", ..BARRIER },
    MemoryBarrierShared: OpInfo { name: "subgroupMemoryBarrierShared", spirv: "MemoryBarrier Subgroup WorkgroupMemory", ..BARRIER },
    Elect: OpInfo {
        name: "subgroupElect",
        spirv: "GroupNonUniformElect",
        category: Category::Basic,
        gives: Gives::Bool,
        rank: 0,
        rule: O11,
        sentence: "The invocation chosen is the active invocation with the lowest <gl_SubgroupInvocationID>.",
        meaning: meaning::elect,
        ..ROW
    },
    All: OpInfo {
        name: "subgroupAll",
        spirv: "GroupNonUniformAll",
        params: &[P::Predicate],
        rank: 1,
        sentence: "returns true if for all active invocations <value> evaluates to true.",
        meaning: meaning::all,
        ..VOTE
    },
    Any: OpInfo {
        name: "subgroupAny",
        spirv: "GroupNonUniformAny",
        params: &[P::Predicate],
        rank: 0,
        sentence: "returns true if for any active invocation its <value> evaluates to true.",
        meaning: meaning::any,
        ..VOTE
    },
    AllEqual: OpInfo {
        name: "subgroupAllEqual",
        spirv: "GroupNonUniformAllEqual",
        params: &[P::Value],
        scalars: ANY_TYPE,
        rule: P13,
        sentence: "returns true if <value> for all active invocations is equal across the subgroup.",
        meaning: meaning::all_equal,
        ..VOTE
    },
    Broadcast: OpInfo {
        name: "subgroupBroadcast",
        spirv: "GroupNonUniformBroadcast",
        category: Category::Ballot,
        params: &[P::Value, P::BroadcastLane],
        defined: Defined::LaneInTangle,
        uniform: Uniform::BySecond,
        sentence: "returns the <value> from the invocation whose <gl_SubgroupInvocationID> is equal to <id>.",
        meaning: meaning::broadcast,
        ..MOVES
    },
    BroadcastFirst: OpInfo {
        name: "subgroupBroadcastFirst",
        spirv: "GroupNonUniformBroadcastFirst",
        category: Category::Ballot,
        params: &[P::Value],
        defined: Defined::Always,
        uniform: Uniform::Always,
        rank: 1,
        sentence: "returns the <value> from the active invocation with the lowest <gl_SubgroupInvocationID>.",
        meaning: meaning::broadcast_first,
        ..MOVES
    },
    Ballot: OpInfo {
        name: "subgroupBallot",
        spirv: "GroupNonUniformBallot",
        category: Category::Ballot,
        params: &[P::Predicate],
        gives: Gives::Mask,
        uniform: Uniform::Always,
        rank: 0,
        rule: P3,
        sentence: "If <value> evaluates to true for an active invocation then the bit corresponding to the <gl_SubgroupInvocationID> \
                   for the invocation is set to one in the result, otherwise the bit is set to zero.  Bits corresponding to inactive \
                   invocations are set to zero.",
        meaning: meaning::ballot,
        ..ROW
    },
    InverseBallot: OpInfo {
        name: "subgroupInverseBallot",
        spirv: "GroupNonUniformInverseBallot",
        params: &[P::UniformMask],
        gives: Gives::Bool,
        reach: Reach::Own,
        defined: Defined::Always,
        sentence: "returns a bool that is true if the bit in <value> that corresponds to the current invocation's \
                   <gl_SubgroupInvocationID> in <value> is true.",
        meaning: meaning::inverse_ballot,
        ..OF_MASK
    },
    BallotBitExtract: OpInfo {
        name: "subgroupBallotBitExtract",
        spirv: "GroupNonUniformBallotBitExtract",
        params: &[P::Mask, P::Uint],
        gives: Gives::Bool,
        reach: Reach::Own,
        defined: Defined::BitIndex,
        uniform: Uniform::ByAll,
        sentence: "returns a bool that is true if the bit in <value> that corresponds to <index> (where <index> begins at bit 0 of the \
                   first vector component) is 1, and false otherwise.",
        meaning: meaning::ballot_bit_extract,
        ..OF_MASK
    },
    BallotBitCount: OpInfo {
        name: "subgroupBallotBitCount",
        spirv: "GroupNonUniformBallotBitCount Reduce",
        uniform: Uniform::ByAll,
        sentence: "returns the number of bits that are set to 1 in the bits used to hold the subgroup invocations of <value>.",
        meaning: meaning::ballot_bit_count,
        ..OF_MASK
    },
    BallotInclusiveBitCount: OpInfo {
        name: "subgroupBallotInclusiveBitCount",
        spirv: "GroupNonUniformBallotBitCount InclusiveScan",
        sentence: "returns the number of bits that are set to 1 in the ballot value for subgroup invocations with a lower, or equal to, \
                   <gl_SubgroupInvocationID>.",
        meaning: meaning::ballot_inclusive_bit_count,
        ..OF_MASK
    },
    BallotExclusiveBitCount: OpInfo {
        name: "subgroupBallotExclusiveBitCount",
        spirv: "GroupNonUniformBallotBitCount ExclusiveScan",
        sentence: "returns the number of bits that are set to 1 in the ballot value for subgroup invocations with a lower \
                   <gl_SubgroupInvocationID>.",
        meaning: meaning::ballot_exclusive_bit_count,
        ..OF_MASK
    },
    BallotFindLsb: OpInfo {
        name: "subgroupBallotFindLSB",
        spirv: "GroupNonUniformBallotFindLSB",
        defined: Defined::FullMask,
        uniform: Uniform::ByAll,
        sentence: "returns the bit number of the least significant bit set to 1 in the bits used to hold the subgroup invocations of \
                   <value>.",
        meaning: meaning::ballot_find_lsb,
        ..OF_MASK
    },
    BallotFindMsb: OpInfo {
        name: "subgroupBallotFindMSB",
        spirv: "GroupNonUniformBallotFindMSB",
        defined: Defined::FullMask,
        uniform: Uniform::ByAll,
        sentence: "returns the bit number of the most significant bit set to 1 in the bits used to hold the subgroup invocations of \
                   <value>.",
        meaning: meaning::ballot_find_msb,
        ..OF_MASK
    },
    Shuffle: OpInfo {
        name: "subgroupShuffle",
        spirv: "GroupNonUniformShuffle",
        category: Category::Shuffle,
        defined: Defined::OwnLaneOrInTangle,
        uniform: Uniform::BySecond,
        sentence: "returns the <value> whose <gl_SubgroupInvocationID> is equal to <id>.",
        meaning: meaning::shuffle,
        ..MOVES
    },
    ShuffleXor: OpInfo {
        name: "subgroupShuffleXor",
        spirv: "GroupNonUniformShuffleXor",
        category: Category::Shuffle,
        defined: Defined::ZeroSecond,
        sentence: "returns the <value> whose <gl_SubgroupInvocationID> is equal to the current invocation's \
                   <gl_SubgroupInvocationID> xored with <mask>.",
        meaning: meaning::shuffle_xor,
        ..MOVES
    },
    ShuffleUp: OpInfo {
        name: "subgroupShuffleUp",
        spirv: "GroupNonUniformShuffleUp",
        category: Category::ShuffleRelative,
        defined: Defined::ZeroSecond,
        sentence: "returns the <value> whose <gl_SubgroupInvocationID> is equal to this invocation's <gl_SubgroupInvocationID> minus \
                   <delta>.",
        meaning: meaning::shuffle_up,
        ..MOVES
    },
    ShuffleDown: OpInfo {
        name: "subgroupShuffleDown",
        spirv: "GroupNonUniformShuffleDown",
        category: Category::ShuffleRelative,
        defined: Defined::ZeroSecond,
        sentence: "returns the <value> whose <gl_SubgroupInvocationID> is equal to this invocation's <gl_SubgroupInvocationID> plus \
                   <delta>.",
        meaning: meaning::shuffle_down,
        ..MOVES
    },
    QuadBroadcast: OpInfo {
        name: "subgroupQuadBroadcast",
        spirv: "GroupNonUniformQuadBroadcast",
        params: &[P::Value, P::QuadIndex],
        sentence: "returns the <value> from the invocation within the quad whose <gl_SubgroupInvocationID> % 4 is equal to <id>.",
        meaning: meaning::quad_broadcast,
        ..MOVES_IN_QUAD
    },
    QuadSwapHorizontal: OpInfo {
        name: "subgroupQuadSwapHorizontal",
        spirv: "GroupNonUniformQuadSwap Horizontal",
        sentence: "swaps the <value>s, within the quad horizontally.",
        meaning: meaning::quad_swap_horizontal,
        ..MOVES_IN_QUAD
    },
    QuadSwapVertical: OpInfo {
        name: "subgroupQuadSwapVertical",
        spirv: "GroupNonUniformQuadSwap Vertical",
        sentence: "swaps the <value>s, within the quad vertically.",
        meaning: meaning::quad_swap_vertical,
        ..MOVES_IN_QUAD
    },
    QuadSwapDiagonal: OpInfo {
        name: "subgroupQuadSwapDiagonal",
        spirv: "GroupNonUniformQuadSwap Diagonal",
        sentence: "swaps the <value>s, within the quad diagonally.",
        meaning: meaning::quad_swap_diagonal,
        ..MOVES_IN_QUAD
    },
    Rotate: OpInfo {
        name: "subgroupRotate",
        spirv: "GroupNonUniformRotateKHR",
        category: Category::Rotate,
        params: &[P::Value, P::UniformUint],
        defined: Defined::ZeroSecond,
        source: GLSL_ROTATE,
        sentence: "returns the <value> whose <gl_SubgroupInvocationID> is equal to the remainder of the division of this invocation's \
                   <gl_SubgroupInvocationID> plus <delta> by <gl_SubgroupSize>.",
        meaning: meaning::rotate,
        ..MOVES
    },
    ClusteredRotate: OpInfo {
        name: "subgroupClusteredRotate",
        spirv: "GroupNonUniformRotateKHR ClusterSize",
        category: Category::RotateClustered,
        params: &[P::Value, P::UniformUint],
        clustered: true,
        defined: Defined::ZeroSecond,
        rule: P10,
        source: "SPV_KHR_subgroup_rotate rev 1, OpGroupNonUniformRotateKHR",
        sentence: "Invocation ID = ( (LocalId + Delta) & (RotationGroupSize - 1) ) + (LocalId & ~(RotationGroupSize - 1))",
        meaning: meaning::clustered_rotate,
        ..MOVES
    },
    /// It orders image accesses, of which there are none; it must still be accepted.
    MemoryBarrierImage: OpInfo { name: "subgroupMemoryBarrierImage", spirv: "MemoryBarrier Subgroup ImageMemory", ..BARRIER },
    QuadAll: OpInfo {
        name: "subgroupQuadAll",
        spirv: "GroupNonUniformQuadAllKHR",
        category: Category::QuadControl,
        params: &[P::Predicate],
        gives: Gives::Bool,
        scoped: false,
        reach: Reach::Quad,
        rule: P11,
        source: GLSL_QUAD_CONTROL,
        sentence: "returns true if for all active invocations in the quad <value> evaluates to true.",
        meaning: meaning::quad_all,
        ..ROW
    },
    QuadAny: OpInfo {
        name: "subgroupQuadAny",
        spirv: "GroupNonUniformQuadAnyKHR",
        category: Category::QuadControl,
        params: &[P::Predicate],
        gives: Gives::Bool,
        scoped: false,
        reach: Reach::Quad,
        rule: P11,
        source: GLSL_QUAD_CONTROL,
        sentence: "returns true if for any active invocation in the quad its <value> evaluates to true.",
        meaning: meaning::quad_any,
        ..ROW
    },
    Partition: OpInfo {
        name: "subgroupPartitionNV",
        spirv: "GroupNonUniformPartitionNV",
        category: Category::Partitioned,
        params: &[P::Value],
        gives: Gives::Mask,
        scalars: BITS,
        scoped: false,
        rule: P12,
        source: GLSL_PARTITIONED,
        sentence: "returns a ballot that is a valid partition of the active invocations such that all invocations in each subset of the \
                   partition have the same value of <value>. For any two invocations in different subsets of the partition, either \
                   their values of <value> must not be equal or one must be a floating point NaN.",
        meaning: meaning::partition,
        ..ROW
    },
    DFdxFine: OpInfo {
        name: "dFdxFine",
        spirv: "DPdxFine",
        sentence: "DPdx(P0) = DPdx(P1) = P1 - P0 [and] DPdx(P2) = DPdx(P3) = P3 - P2",
        meaning: meaning::fine_x,
        ..DERIVATIVE
    },
    DFdyFine: OpInfo {
        name: "dFdyFine",
        spirv: "DPdyFine",
        sentence: "DPdy(P0) = DPdy(P2) = P2 - P0 [and] DPdy(P1) = DPdy(P3) = P3 - P1",
        meaning: meaning::fine_y,
        ..DERIVATIVE
    },
    FwidthFine: OpInfo {
        name: "fwidthFine",
        spirv: "FwidthFine",
        meaning: meaning::fine_width,
        ..WIDTH
    },
    DFdxCoarse: OpInfo {
        name: "dFdxCoarse",
        spirv: "DPdxCoarse",
        meaning: meaning::coarse_x,
        ..COARSE
    },
    DFdyCoarse: OpInfo {
        name: "dFdyCoarse",
        spirv: "DPdyCoarse",
        meaning: meaning::coarse_y,
        ..COARSE
    },
    FwidthCoarse: OpInfo {
        name: "fwidthCoarse",
        spirv: "FwidthCoarse",
        meaning: meaning::coarse_width,
        ..WIDTH
    },
    DFdx: OpInfo {
        name: "dFdx",
        spirv: "DPdx",
        sentence: "The results for code:OpDPdx and code:OpDPdy may: be calculated as either fine or coarse derivatives",
        meaning: meaning::coarse_x,
        ..COARSE
    },
    DFdy: OpInfo {
        name: "dFdy",
        spirv: "DPdy",
        sentence: "The results for code:OpDPdx and code:OpDPdy may: be calculated as either fine or coarse derivatives",
        meaning: meaning::coarse_y,
        ..COARSE
    },
    Fwidth: OpInfo {
        name: "fwidth",
        spirv: "Fwidth",
        meaning: meaning::coarse_width,
        ..WIDTH
    },
}

/// What the rows of one fold have in common.
struct FoldRows {
    scalars: &'static [Scalar],
    partitioned: &'static [Scalar],
    float_severity: Severity,
    float_rule: RuleNumber,
    /// Of the reduction, and of the scans and the clustered reduction.
    rank: [u64; 2],
    /// What the extension says of the reduction; it is not hyphenated alike everywhere.
    sentence: &'static str,
}

/// Rows of one fold.
const FORMS: usize = 7;

/// The rows of one fold: reduction, inclusive and exclusive scan, clustered reduction, and the first three of every subset of a partition.
macro_rules! fold_rows {
    ($fold:ident, $common:expr) => {{
        const COMMON: FoldRows = $common;
        const F: usize = Fold::$fold as usize;
        const COMBINES: OpInfo = OpInfo {
            category: Category::Arithmetic,
            params: &[P::Value],
            gives: Gives::Same,
            scalars: COMMON.scalars,
            spread: Spread::Combines,
            float_severity: COMMON.float_severity,
            rule: P3,
            float_rule: Some(COMMON.float_rule),
            rank: COMMON.rank[1],
            ..ROW
        };
        const PARTITIONED: OpInfo = OpInfo {
            category: Category::Partitioned,
            params: &[P::Value, P::Partition],
            scalars: COMMON.partitioned,
            rule: P12,
            float_rule: None,
            source: GLSL_PARTITIONED,
            rank: 2,
            ..COMBINES
        };
        [
            OpInfo {
                op: SubgroupOp::Reduce(Fold::$fold),
                name: concat!("subgroup", stringify!($fold)),
                spirv: concat!("GroupNonUniform", stringify!($fold), " Reduce"),
                uniform: Uniform::Always,
                rank: COMMON.rank[0],
                sentence: COMMON.sentence,
                meaning: meaning::reduce::<F>,
                ..COMBINES
            },
            OpInfo {
                op: SubgroupOp::Inclusive(Fold::$fold),
                name: concat!("subgroupInclusive", stringify!($fold)),
                spirv: concat!("GroupNonUniform", stringify!($fold), " InclusiveScan"),
                sentence: "returns an inclusive scan operation that is the {} of all active invocation-provided <value>s",
                meaning: meaning::inclusive::<F>,
                ..COMBINES
            },
            OpInfo {
                op: SubgroupOp::Exclusive(Fold::$fold),
                name: concat!("subgroupExclusive", stringify!($fold)),
                spirv: concat!("GroupNonUniform", stringify!($fold), " ExclusiveScan"),
                sentence: "returns an exclusive scan operation that is the {} of all active invocation-provided <value>s",
                meaning: meaning::exclusive::<F>,
                ..COMBINES
            },
            OpInfo {
                op: SubgroupOp::Clustered(Fold::$fold),
                name: concat!("subgroupClustered", stringify!($fold)),
                spirv: concat!("GroupNonUniform", stringify!($fold), " ClusteredReduce"),
                category: Category::Clustered,
                clustered: true,
                rule: P10,
                float_rule: None,
                sentence: "returns a clustered operation that is the {} of all active invocation-provided <value>s within a cluster",
                meaning: meaning::clustered::<F>,
                ..COMBINES
            },
            OpInfo {
                op: SubgroupOp::Partitioned(Fold::$fold),
                name: concat!("subgroupPartitioned", stringify!($fold), "NV"),
                spirv: concat!("GroupNonUniform", stringify!($fold), " PartitionedReduceNV"),
                sentence: "returns the {} of all active invocation provided <value>s in the invocation's subset of the partition.",
                meaning: meaning::partitioned::<F>,
                ..PARTITIONED
            },
            OpInfo {
                op: SubgroupOp::PartitionedInclusive(Fold::$fold),
                name: concat!("subgroupPartitionedInclusive", stringify!($fold), "NV"),
                spirv: concat!("GroupNonUniform", stringify!($fold), " PartitionedInclusiveScanNV"),
                sentence: "returns an inclusive scan operation that is the {} of all active invocation-provided <value>s in the \
                           invocation's subset of the partition.",
                meaning: meaning::partitioned_inclusive::<F>,
                ..PARTITIONED
            },
            OpInfo {
                op: SubgroupOp::PartitionedExclusive(Fold::$fold),
                name: concat!("subgroupPartitionedExclusive", stringify!($fold), "NV"),
                spirv: concat!("GroupNonUniform", stringify!($fold), " PartitionedExclusiveScanNV"),
                sentence: "returns an exclusive scan operation that is the {} of all active invocation-provided <value>s in the \
                           invocation's subset of the partition.",
                meaning: meaning::partitioned_exclusive::<F>,
                ..PARTITIONED
            },
        ]
    }};
}

const NUMERIC: FoldRows = FoldRows {
    scalars: NUMBERS,
    partitioned: INTEGERS,
    float_severity: Severity::Hard,
    float_rule: P9,
    rank: [1, 2],
    sentence: "returns the {} of all active invocation-provided <value>s",
};

/// Sums and products, which are rounded.
const ROUNDED: FoldRows = FoldRows { float_severity: Severity::Quality, float_rule: P8, ..NUMERIC };

const BITWISE: FoldRows = FoldRows {
    scalars: BITS,
    partitioned: BITS,
    sentence: "returns the {} of all active invocation provided <value>s",
    ..NUMERIC
};

const FOLD_ROWS: [[OpInfo; FORMS]; Fold::ALL.len()] = [
    fold_rows!(Add, FoldRows { rank: [0, 1], sentence: BITWISE.sentence, ..ROUNDED }),
    fold_rows!(Mul, ROUNDED),
    fold_rows!(Min, NUMERIC),
    fold_rows!(Max, NUMERIC),
    fold_rows!(And, BITWISE),
    fold_rows!(Or, BITWISE),
    fold_rows!(Xor, BITWISE),
];

/// Number of operations: folds in each of their forms.
const ROWS: usize = PLAIN_ROWS.len() + FOLD_ROWS.len() * FORMS;

/// The table: every operation once.
pub static TABLE: [OpInfo; ROWS] = {
    let mut table = [ROW; ROWS];
    let mut i = 0;
    while i < ROWS {
        table[i] = match i.checked_sub(PLAIN_ROWS.len()) {
            None => PLAIN_ROWS[i],
            Some(fold) => FOLD_ROWS[fold / FORMS][fold % FORMS],
        };
        i += 1;
    }
    table
};

impl SubgroupOp {
    /// The operation's row of [`TABLE`].
    pub fn info(self) -> &'static OpInfo {
        &TABLE[self.index()]
    }

    /// How many operands of a lane the result of a derivative adds up; of other operations that have no fold 1.
    pub const fn terms(self) -> u32 {
        use SubgroupOp::{DFdx, DFdxCoarse, DFdxFine, DFdy, DFdyCoarse, DFdyFine, Fwidth, FwidthCoarse, FwidthFine};
        match self {
            DFdxFine | DFdyFine | DFdxCoarse | DFdyCoarse | DFdx | DFdy => 2,
            FwidthFine | FwidthCoarse | Fwidth => 4,
            _ => 1,
        }
    }

    /// True if a preserved operand may leave the result open: minimum and maximum of NaN, or of zeros of both signs, and whether a NaN alone is equal
    /// (docs/rules.md, rules F7 and F8).
    pub const fn may_leave_open(self) -> bool {
        matches!(self, SubgroupOp::AllEqual) || matches!(self.fold(), Some(Fold::Min | Fold::Max))
    }

    /// True if the first lane of every tangle gets an infinity. Devices may assume that there is none where nobody asks for
    /// SignedZeroInfNanPreserve (docs/rules.md, rule F5): that result is undefined, unless the operand is a preserved number (rule F8).
    pub const fn starts_infinite(self, scalar: Scalar) -> bool {
        matches!(self, SubgroupOp::Exclusive(fold) if fold.starts_infinite(scalar))
    }
}

/// How cases say an operation: by its name in SPIR-V.
pub(crate) fn serialize_spirv_name<S: Serializer>(op: &SubgroupOp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(op.info().spirv)
}

impl Serialize for SubgroupOp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.info().name)
    }
}

/// By either name: cases of format 1 had those of GLSL.
impl<'de> Deserialize<'de> for SubgroupOp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SubgroupOp, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let row = TABLE.iter().find(|info| info.spirv == name || info.name == name);
        row.map(|info| info.op).ok_or_else(|| serde::de::Error::custom(format!("unknown subgroup operation '{name}'")))
    }
}
