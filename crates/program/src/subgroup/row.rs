//! What a row of the table is made of, and what a meaning gets of an operation.

use serde::{Deserialize, Serialize};

use crate::types::Scalar;

/// The eight categories of GL_KHR_shader_subgroup, and those of later extensions; each has its own extension and feature. Derivatives are no
/// subgroup operations, and need neither; like quad operations they exchange values within a quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are those of VkSubgroupFeatureFlagBits and of Vulkan features")]
pub enum Category {
    Basic,
    Vote,
    Ballot,
    Arithmetic,
    Shuffle,
    ShuffleRelative,
    Clustered,
    Quad,
    Rotate,
    RotateClustered,
    QuadControl,
    Partitioned,
    Derivative,
}

impl Category {
    /// Every category, in the order of the Vulkan feature bits.
    pub const ALL: [Category; 13] = [
        Category::Basic,
        Category::Vote,
        Category::Arithmetic,
        Category::Ballot,
        Category::Shuffle,
        Category::ShuffleRelative,
        Category::Clustered,
        Category::Quad,
        Category::Rotate,
        Category::RotateClustered,
        Category::QuadControl,
        Category::Partitioned,
        Category::Derivative,
    ];

    /// Short name, as in the Vulkan feature bits.
    pub const fn name(self) -> &'static str {
        match self {
            Category::Basic => "basic",
            Category::Vote => "vote",
            Category::Ballot => "ballot",
            Category::Arithmetic => "arithmetic",
            Category::Shuffle => "shuffle",
            Category::ShuffleRelative => "shuffle_relative",
            Category::Clustered => "clustered",
            Category::Quad => "quad",
            Category::Rotate => "rotate",
            Category::RotateClustered => "rotate_clustered",
            Category::QuadControl => "quad_control",
            Category::Partitioned => "partitioned",
            Category::Derivative => "derivative",
        }
    }

    /// What its results are called, in signatures and in the skeletons that known bugs are saved with: of the basic operations `elect` alone has one.
    pub const fn title(self) -> &'static str {
        match self {
            Category::Basic => "elect",
            Category::Vote => "vote",
            Category::Ballot => "ballot",
            Category::Arithmetic => "arithmetic",
            Category::Shuffle => "shuffle",
            Category::ShuffleRelative => "shuffle relative",
            Category::Clustered => "clustered",
            Category::Quad => "quad",
            Category::Rotate => "rotate",
            Category::RotateClustered => "clustered rotate",
            Category::QuadControl => "quad vote",
            Category::Partitioned => "partitioned",
            Category::Derivative => "derivative",
        }
    }
}

/// An operand of a subgroup operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// The generic operand: any type the row allows, scalar or vector.
    Value,
    /// A bool, lane by lane.
    Predicate,
    /// A uvec4, lane by lane: the lane's own mask.
    Mask,
    /// A uvec4 that must be equal over `T`: else undefined behaviour.
    UniformMask,
    /// A uint, lane by lane.
    Uint,
    /// A uint that must be equal over `T`; a literal unless SPIR-V 1.5 and `subgroupBroadcastDynamicId`.
    BroadcastLane,
    /// A uint that must be equal over `T`: else undefined behaviour.
    UniformUint,
    /// A literal 0 to 3.
    QuadIndex,
    /// A uvec4 of which the lanes' values are a valid partition of `T` (GL_NV_shader_subgroup_partitioned §3.8).
    Partition,
}

/// The result of a subgroup operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Nothing: the operation is a statement.
    Nothing,
    /// The type of the [`Param::Value`] operand.
    Same,
    /// A bool, for each lane.
    Bool,
    /// A uint, for each lane.
    Uint,
    /// A uvec4, for each lane: a ballot.
    Mask,
}

/// How an undefined *value* operand spreads to results. An undefined operand of another kind taints its own lane's result,
/// or everybody's where it must be uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// A lane's result depends on its own operands only.
    Own,
    /// Every lane's result depends on every operand.
    Everyone,
    /// The operation moves values between lanes; undefinedness moves with them.
    Moves,
    /// A result combines some lanes' values; it is undefined if any of these is.
    Combines,
}

/// How well an expectation stands: what a mismatch with it rests on. The order is from the best to the weakest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A sentence of a specification.
    #[default]
    Hard,
    /// Follows from the letter of the specification, but no conformance test covers it: results that only the rule for straight code
    /// refutes, and lanes on one path in divergent control flow without maximal reconvergence.
    Strong,
    /// The implementation's own method: sums and products of floats over a group (Vulkan, "Precision and Operation of SPIR-V
    /// Instructions", has no row for them). A wrong result is a question of quality.
    Quality,
}

impl Severity {
    /// Every severity, from the best founded on.
    pub const ALL: [Severity; 3] = [Severity::Hard, Severity::Strong, Severity::Quality];

    /// The name in JSON, on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Hard => "hard",
            Severity::Strong => "strong",
            Severity::Quality => "quality",
        }
    }
}

/// Which lanes the result of a lane depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The lane itself: the result is a function of its own operands.
    Own,
    /// Those of `T` in the lane's quad.
    Quad,
    /// All lanes of `T`.
    Tangle,
}

impl Reach {
    /// The sets of lanes of a tangle that wait for each other: each quad for quad operations (docs/rules.md, rule P11), all of the tangle for
    /// the others (rule P2).
    pub fn waiting(self, tangle: u128) -> impl Iterator<Item = u128> {
        let width = match self {
            Reach::Quad => 4,
            Reach::Own | Reach::Tangle => 128,
        };
        let parts = (0..128).step_by(width).map(move |first| tangle & first_lanes(width) << first);
        parts.filter(|&part| part != 0)
    }
}

/// For which operands a result is defined in every lane of every tangle, given that the operands are defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defined {
    /// All operands.
    Always,
    /// None that is known without the tangle.
    Never,
    /// The second operand is the number of a lane that is found in the tangle itself.
    LaneInTangle,
    /// The same, or it is the lane's own number.
    OwnLaneOrInTangle,
    /// The second operand is the literal 0.
    ZeroSecond,
    /// The second operand is the number of a bit below the subgroup size.
    BitIndex,
    /// The mask has no bits outside the tangle, so that every reading of the specification agrees (docs/rules.md, rule P5).
    MaskInTangle,
    /// The same, and it has at least one bit.
    FullMask,
}

/// When all lanes of `T` get the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uniform {
    /// Whatever the operands are.
    Always,
    /// If they all have the same second operand, which names one source lane.
    BySecond,
    /// If they all have the same operands.
    ByAll,
    /// Lanes may get different results.
    No,
}

/// One dynamic instance of an operation in one subgroup.
#[derive(Debug)]
pub struct Instance<'a> {
    /// `gl_SubgroupSize`, a power of two up to 128.
    pub size: usize,
    /// `T`: bit k stands for the lane with `gl_SubgroupInvocationID == k`. Not empty.
    pub tangle: u128,
    /// Type of the generic operand; [`Scalar::Bool`] if there is none.
    pub scalar: Scalar,
    /// Which component of the generic operand this is about.
    pub component: Component,
    /// Cluster size; 0 if the operation has none.
    pub cluster: usize,
    /// True if the generic operand is a preserved number ([`Expr::is_preserved`](crate::tree::Expr::is_preserved)): an infinity of the operation
    /// itself is then one.
    pub preserved: bool,
    /// Operand columns of `size` lanes each, in order: a [`Param::Mask`] takes four. A vector operand is given one component at a
    /// time; what is not of its type (the bool of `subgroupAllEqual`, the mask of `subgroupPartitionNV`) the caller combines with *and*.
    pub args: &'a [&'a [u64]],
}

/// A component of a vector, or a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its number, from 0.
    pub index: usize,
    /// The number of components; 1 for a scalar.
    pub of: usize,
}

impl Component {
    /// A scalar: the only component.
    pub const SCALAR: Component = Component { index: 0, of: 1 };

    /// True for the last component of a vector.
    pub const fn is_last_of_vector(self) -> bool {
        self.of > 1 && self.index + 1 == self.of
    }
}

/// Undefined behaviour: what the program did wrong. Such a program must not be generated.
pub type Ub = &'static str;

/// Writes the result of every lane of `T` to `out` (component `c` of lane `k` at `c * size + k`) and returns the lanes of
/// `T` whose result is undefined.
pub type Meaning = fn(&Instance<'_>, &mut [u64]) -> Result<u128, Ub>;

/// The lanes of a mask, in ascending order.
pub fn lanes(mut mask: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(lane)
    })
}

/// The mask of lanes `0..n`, for `n` up to 128.
pub const fn first_lanes(n: usize) -> u128 {
    if n >= 128 { u128::MAX } else { (1 << n) - 1 }
}
