//! The table of subgroup operations: one row describes one built-in function of GLSL completely.
//!
//! Generator, printer, validator, oracle, coverage table and documentation all read [`TABLE`]. A row holds the GLSL name,
//! the category (with the extension to enable and the Vulkan feature bit to ask for), the operands and the result, the
//! allowed types, how an undefined operand spreads, and the *meaning*: a function of the scope-restricted tangle `T` (the lanes of one
//! subgroup that execute this dynamic instance, SPIR-V 1.6 §2.2.5) and of each lane's operands.
//!
//! Sources: SPIR-V 1.6 rev 6 §3.3.24 "Non-Uniform Instructions", GL_KHR_shader_subgroup rev 8, SPV_KHR_subgroup_rotate;
//! collected in semantics.md §1.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::types::{Scalar, Type};

/// The combining operation of reductions and scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fold {
    /// Wrapping sum.
    Add,
    /// Wrapping product.
    Mul,
    /// Minimum, signed or unsigned by type.
    Min,
    /// Maximum, signed or unsigned by type.
    Max,
    /// Bitwise, for bool logical, and.
    And,
    /// Bitwise or logical or.
    Or,
    /// Bitwise or logical exclusive or.
    Xor,
}

impl Fold {
    /// `x ∘ y` on the bits of a scalar type.
    pub fn apply(self, scalar: Scalar, x: u64, y: u64) -> u64 {
        let signed = |bits: u64| bits as u32 as i32;
        match self {
            Fold::Add => x.wrapping_add(y) & scalar.bits(),
            Fold::Mul => x.wrapping_mul(y) & scalar.bits(),
            Fold::Min if scalar == Scalar::Int => u64::from(signed(x).min(signed(y)) as u32),
            Fold::Max if scalar == Scalar::Int => u64::from(signed(x).max(signed(y)) as u32),
            Fold::Min => x.min(y),
            Fold::Max => x.max(y),
            Fold::And => x & y,
            Fold::Or => x | y,
            Fold::Xor => x ^ y,
        }
    }

    /// The identity of the operation (semantics.md §1.6): what an exclusive scan gives to the first lane.
    pub const fn identity(self, scalar: Scalar) -> u64 {
        match (self, scalar) {
            (Fold::Add | Fold::Or | Fold::Xor, _) => 0,
            (Fold::Mul, _) => 1,
            (Fold::And, _) => scalar.bits(),
            (Fold::Min, Scalar::Int) => i32::MAX as u64,
            (Fold::Max, Scalar::Int) => i32::MIN as u32 as u64,
            (Fold::Min, _) => scalar.bits(),
            (Fold::Max, _) => 0,
        }
    }
}

/// A subgroup built-in function. Its JSON form is the GLSL name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each variant is the GLSL function of that name; TABLE describes it")]
pub enum SubgroupOp {
    Barrier,
    MemoryBarrier,
    MemoryBarrierBuffer,
    MemoryBarrierShared,
    MemoryBarrierImage,
    Elect,
    All,
    Any,
    AllEqual,
    Broadcast,
    BroadcastFirst,
    Ballot,
    InverseBallot,
    BallotBitExtract,
    BallotBitCount,
    BallotInclusiveBitCount,
    BallotExclusiveBitCount,
    BallotFindLsb,
    BallotFindMsb,
    Reduce(Fold),
    Inclusive(Fold),
    Exclusive(Fold),
    Shuffle,
    ShuffleXor,
    ShuffleUp,
    ShuffleDown,
    Clustered(Fold),
    QuadBroadcast,
    QuadSwapHorizontal,
    QuadSwapVertical,
    QuadSwapDiagonal,
    Rotate,
    ClusteredRotate,
}

/// The eight categories of GL_KHR_shader_subgroup, and rotate; each has its own extension and feature bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are those of VkSubgroupFeatureFlagBits")]
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
}

impl Category {
    /// Every category, in the order of the Vulkan feature bits.
    pub const ALL: [Category; 10] = [
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
    ];

    /// The GLSL extension to enable.
    pub const fn extension(self) -> &'static str {
        match self {
            Category::Basic => "GL_KHR_shader_subgroup_basic",
            Category::Vote => "GL_KHR_shader_subgroup_vote",
            Category::Ballot => "GL_KHR_shader_subgroup_ballot",
            Category::Arithmetic => "GL_KHR_shader_subgroup_arithmetic",
            Category::Shuffle => "GL_KHR_shader_subgroup_shuffle",
            Category::ShuffleRelative => "GL_KHR_shader_subgroup_shuffle_relative",
            Category::Clustered => "GL_KHR_shader_subgroup_clustered",
            Category::Quad => "GL_KHR_shader_subgroup_quad",
            Category::Rotate | Category::RotateClustered => "GL_KHR_shader_subgroup_rotate",
        }
    }

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
        }
    }
}

/// An operand of a subgroup operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// The generic operand: any type the row allows, scalar or vector.
    Value,
    /// A bool.
    Predicate,
    /// A uvec4.
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
}

/// The result of a subgroup operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Nothing: a statement.
    Nothing,
    /// The type of the [`Param::Value`] operand.
    Same,
    /// A bool.
    Bool,
    /// A uint.
    Uint,
    /// A uvec4.
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

/// One row of the table.
#[derive(Debug)]
pub struct OpInfo {
    /// The operation.
    pub op: SubgroupOp,
    /// The GLSL function.
    pub name: &'static str,
    /// Category: decides extension and feature bit.
    pub category: Category,
    /// Operands in order, without the cluster size.
    pub params: &'static [Param],
    /// The result.
    pub gives: Gives,
    /// Component types allowed for [`Param::Value`]; empty if there is none.
    pub scalars: &'static [Scalar],
    /// True if a constant cluster size is the last argument.
    pub clustered: bool,
    /// True if the result depends on which other lanes are in `T` or on their operands.
    pub tangle_dependent: bool,
    /// True if some operands or some `T` give an undefined result.
    pub may_be_undefined: bool,
    /// How undefined operands spread.
    pub spread: Spread,
    /// What it computes.
    pub meaning: Meaning,
}

impl OpInfo {
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

/// One dynamic instance of an operation in one subgroup.
#[derive(Debug)]
pub struct Instance<'a> {
    /// `gl_SubgroupSize`, a power of two up to 128.
    pub size: usize,
    /// `T`: bit k stands for the lane with `gl_SubgroupInvocationID == k`. Not empty.
    pub tangle: u128,
    /// Type of the generic operand; [`Scalar::Bool`] if there is none.
    pub scalar: Scalar,
    /// Cluster size; 0 if the operation has none.
    pub cluster: usize,
    /// Operand columns of `size` lanes each, in order: a [`Param::Mask`] takes four. A vector operand is given one component at a
    /// time, except to `subgroupAllEqual`, which the caller combines with *and*.
    pub args: &'a [&'a [u64]],
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

impl Instance<'_> {
    fn contains(&self, lane: usize) -> bool {
        lane < self.size && self.tangle >> lane & 1 == 1
    }

    /// The uvec4 that starts at operand column `first`, as lane `k` holds it.
    fn mask_arg(&self, first: usize, k: usize) -> u128 {
        (0..4).fold(0, |mask, c| mask | u128::from(self.args[first + c][k]) << (32 * c))
    }

    fn uniform(&self, column: usize, what: Ub) -> Result<u64, Ub> {
        let column = self.args[column];
        let value = column[self.tangle.trailing_zeros() as usize];
        if lanes(self.tangle).all(|k| column[k] == value) { Ok(value) } else { Err(what) }
    }

    fn everyone(&self, out: &mut [u64], value: u64) -> Result<u128, Ub> {
        lanes(self.tangle).for_each(|k| out[k] = value);
        Ok(0)
    }

    fn each(&self, out: &mut [u64], value: impl Fn(usize) -> u64) -> Result<u128, Ub> {
        lanes(self.tangle).for_each(|k| out[k] = value(k));
        Ok(0)
    }

    /// Every lane takes the first operand of lane `source(k)`; undefined where that is not in `T`.
    fn gather(&self, out: &mut [u64], source: impl Fn(usize) -> u64) -> Result<u128, Ub> {
        let mut undefined = 0;
        for k in lanes(self.tangle) {
            match usize::try_from(source(k)) {
                Ok(from) if self.contains(from) => out[k] = self.args[0][from],
                _ => {
                    out[k] = 0;
                    undefined |= 1 << k;
                }
            }
        }
        Ok(undefined)
    }

    fn scan(&self, fold: Fold, out: &mut [u64], inclusive: bool) {
        let mut sum = fold.identity(self.scalar);
        for k in lanes(self.tangle) {
            let next = fold.apply(self.scalar, sum, self.args[0][k]);
            out[k] = if inclusive { next } else { sum };
            sum = next;
        }
    }

    /// A function of a lane's own mask. The texts differ on which bits count: all below the subgroup size (GLSL issue 48,
    /// GL_KHR_shader_subgroup), those up to the highest lane of `T`, or those of `T` alone (readings of SPIR-V 1.6 rev 5 and
    /// later). A result on which the readings disagree is not checkable: undefined (semantics.md §1.4).
    fn own_mask(&self, out: &mut [u64], f: impl Fn(usize, u128) -> Option<u64>) -> Result<u128, Ub> {
        let up_to_highest = first_lanes(128 - self.tangle.leading_zeros() as usize);
        let mut undefined = 0;
        for k in lanes(self.tangle) {
            let mask = self.mask_arg(0, k) & first_lanes(self.size);
            let result = f(k, mask);
            let agreed = f(k, mask & up_to_highest) == result && f(k, mask & self.tangle) == result;
            out[k] = result.unwrap_or(0);
            if result.is_none() || !agreed {
                undefined |= 1 << k;
            }
        }
        Ok(undefined)
    }

    fn clusters(&self) -> Result<usize, Ub> {
        if self.cluster == 0 || !self.cluster.is_power_of_two() || self.cluster > self.size {
            return Err("cluster size is not a power of two up to the subgroup size");
        }
        Ok(self.cluster)
    }
}

fn nothing(_: &Instance<'_>, _: &mut [u64]) -> Result<u128, Ub> {
    Ok(0)
}

fn elect(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let lowest = i.tangle.trailing_zeros() as usize;
    i.each(out, |k| u64::from(k == lowest))
}

fn all(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.everyone(out, u64::from(lanes(i.tangle).all(|k| i.args[0][k] != 0)))
}

fn any(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.everyone(out, u64::from(lanes(i.tangle).any(|k| i.args[0][k] != 0)))
}

fn all_equal(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let first = i.args[0][i.tangle.trailing_zeros() as usize];
    i.everyone(out, u64::from(lanes(i.tangle).all(|k| i.args[0][k] == first)))
}

fn broadcast(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let source = i.uniform(1, "subgroupBroadcast: the lane is not dynamically uniform")?;
    i.gather(out, |_| source)
}

fn broadcast_first(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.everyone(out, i.args[0][i.tangle.trailing_zeros() as usize])
}

fn ballot(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let mask = lanes(i.tangle).filter(|&k| i.args[0][k] != 0).fold(0u128, |mask, k| mask | 1 << k);
    for c in 0..4 {
        i.everyone(&mut out[c * i.size..][..i.size], u64::from((mask >> (32 * c)) as u32))?;
    }
    Ok(0)
}

fn inverse_ballot(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    for c in 0..4 {
        i.uniform(c, "subgroupInverseBallot: the mask differs between the lanes of one instance")?;
    }
    i.each(out, |k| (i.mask_arg(0, k) >> k & 1) as u64)
}

fn ballot_bit_extract(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let mut undefined = 0;
    for k in lanes(i.tangle) {
        let index = i.args[4][k] as usize;
        out[k] = if index < i.size { (i.mask_arg(0, k) >> index & 1) as u64 } else { 0 };
        undefined |= u128::from(index >= i.size) << k;
    }
    Ok(undefined)
}

fn ballot_bit_count(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.own_mask(out, |_, mask| Some(u64::from(mask.count_ones())))
}

fn ballot_inclusive_bit_count(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.own_mask(out, |k, mask| Some(u64::from((mask & first_lanes(k + 1)).count_ones())))
}

fn ballot_exclusive_bit_count(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.own_mask(out, |k, mask| Some(u64::from((mask & first_lanes(k)).count_ones())))
}

fn ballot_find_lsb(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.own_mask(out, |_, mask| (mask != 0).then(|| u64::from(mask.trailing_zeros())))
}

fn ballot_find_msb(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.own_mask(out, |_, mask| (mask != 0).then(|| u64::from(127 - mask.leading_zeros())))
}

fn shuffle(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| i.args[1][k])
}

fn shuffle_xor(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| k as u64 ^ i.args[1][k])
}

fn shuffle_up(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| (k as u64).wrapping_sub(i.args[1][k]))
}

fn shuffle_down(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| k as u64 + i.args[1][k])
}

fn rotate(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let delta = i.uniform(1, "subgroupRotate: the delta is not dynamically uniform")?;
    i.gather(out, |k| (k as u64 + delta) & (i.size as u64 - 1))
}

fn clustered_rotate(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let n = i.clusters()? as u64;
    let delta = i.uniform(1, "subgroupClusteredRotate: the delta is not dynamically uniform")?;
    i.gather(out, |k| ((k as u64 + delta) & (n - 1)) + (k as u64 & !(n - 1)))
}

fn quad_broadcast(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let index = i.uniform(1, "subgroupQuadBroadcast: the index is not uniform")?;
    i.gather(out, |k| if index < 4 { (k & !3) as u64 + index } else { u64::MAX })
}

fn quad_swap_horizontal(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| k as u64 ^ 1)
}

fn quad_swap_vertical(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| k as u64 ^ 2)
}

fn quad_swap_diagonal(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| k as u64 ^ 3)
}

const ANY_TYPE: &[Scalar] = &Scalar::ALL;
const NUMBERS: &[Scalar] = &[Scalar::Int, Scalar::Uint];

/// A row with nothing special: tangle-dependent, always defined.
const fn row(
    op: SubgroupOp,
    name: &'static str,
    category: Category,
    params: &'static [Param],
    gives: Gives,
    meaning: Meaning,
) -> OpInfo {
    OpInfo {
        op,
        name,
        category,
        params,
        gives,
        scalars: &[],
        clustered: false,
        tangle_dependent: true,
        may_be_undefined: false,
        spread: Spread::Everyone,
        meaning,
    }
}

/// A row of an operation that moves values of any type between lanes.
const fn moving(
    op: SubgroupOp,
    name: &'static str,
    category: Category,
    params: &'static [Param],
    meaning: Meaning,
) -> OpInfo {
    OpInfo {
        scalars: ANY_TYPE,
        may_be_undefined: true,
        spread: Spread::Moves,
        ..row(op, name, category, params, Gives::Same, meaning)
    }
}

/// A row of a function of a lane's own ballot.
const fn of_mask(
    op: SubgroupOp,
    name: &'static str,
    params: &'static [Param],
    gives: Gives,
    meaning: Meaning,
) -> OpInfo {
    OpInfo { may_be_undefined: true, spread: Spread::Own, ..row(op, name, Category::Ballot, params, gives, meaning) }
}

/// The four rows of one combining operation: reduction, inclusive and exclusive scan, clustered reduction.
macro_rules! fold_rows {
    ($fold:ident, $scalars:expr) => {{
        const FOLD: Fold = Fold::$fold;
        const fn fold_row(op: SubgroupOp, name: &'static str, category: Category, meaning: Meaning) -> OpInfo {
            OpInfo {
                scalars: $scalars,
                spread: Spread::Combines,
                ..row(op, name, category, &[Param::Value], Gives::Same, meaning)
            }
        }
        fn reduce(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
            let first = FOLD.identity(i.scalar);
            i.everyone(out, lanes(i.tangle).fold(first, |sum, k| FOLD.apply(i.scalar, sum, i.args[0][k])))
        }
        fn inclusive(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
            i.scan(FOLD, out, true);
            Ok(0)
        }
        fn exclusive(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
            i.scan(FOLD, out, false);
            Ok(0)
        }
        fn clustered(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
            let n = i.clusters()?;
            for first in (0..i.size).step_by(n) {
                let tangle = i.tangle & first_lanes(n) << first;
                if tangle != 0 {
                    reduce(&Instance { tangle, ..*i }, out)?;
                }
            }
            Ok(0)
        }
        [
            fold_row(SubgroupOp::Reduce(FOLD), concat!("subgroup", stringify!($fold)), Category::Arithmetic, reduce),
            fold_row(
                SubgroupOp::Inclusive(FOLD),
                concat!("subgroupInclusive", stringify!($fold)),
                Category::Arithmetic,
                inclusive,
            ),
            fold_row(
                SubgroupOp::Exclusive(FOLD),
                concat!("subgroupExclusive", stringify!($fold)),
                Category::Arithmetic,
                exclusive,
            ),
            OpInfo {
                clustered: true,
                ..fold_row(
                    SubgroupOp::Clustered(FOLD),
                    concat!("subgroupClustered", stringify!($fold)),
                    Category::Clustered,
                    clustered,
                )
            },
        ]
    }};
}

/// Number of operations without a fold, and with one.
const PLAIN: usize = 29;
const FOLDED: usize = 28;

#[rustfmt::skip]
const PLAIN_ROWS: [OpInfo; PLAIN] = {
    use Gives::{Bool, Mask, Nothing, Uint};
    use Param as P;
    use SubgroupOp as Op;
    [
        row(Op::Barrier, "subgroupBarrier", Category::Basic, &[], Nothing, nothing),
        row(Op::MemoryBarrier, "subgroupMemoryBarrier", Category::Basic, &[], Nothing, nothing),
        row(Op::MemoryBarrierBuffer, "subgroupMemoryBarrierBuffer", Category::Basic, &[], Nothing, nothing),
        row(Op::MemoryBarrierShared, "subgroupMemoryBarrierShared", Category::Basic, &[], Nothing, nothing),
        row(Op::Elect, "subgroupElect", Category::Basic, &[], Bool, elect),
        row(Op::All, "subgroupAll", Category::Vote, &[P::Predicate], Bool, all),
        row(Op::Any, "subgroupAny", Category::Vote, &[P::Predicate], Bool, any),
        OpInfo { scalars: ANY_TYPE, ..row(Op::AllEqual, "subgroupAllEqual", Category::Vote, &[P::Value], Bool, all_equal) },
        moving(Op::Broadcast, "subgroupBroadcast", Category::Ballot, &[P::Value, P::BroadcastLane], broadcast),
        OpInfo { may_be_undefined: false, ..moving(Op::BroadcastFirst, "subgroupBroadcastFirst", Category::Ballot, &[P::Value], broadcast_first) },
        row(Op::Ballot, "subgroupBallot", Category::Ballot, &[P::Predicate], Mask, ballot),
        OpInfo { tangle_dependent: false, may_be_undefined: false, ..of_mask(Op::InverseBallot, "subgroupInverseBallot", &[P::UniformMask], Bool, inverse_ballot) },
        OpInfo { tangle_dependent: false, ..of_mask(Op::BallotBitExtract, "subgroupBallotBitExtract", &[P::Mask, P::Uint], Bool, ballot_bit_extract) },
        of_mask(Op::BallotBitCount, "subgroupBallotBitCount", &[P::Mask], Uint, ballot_bit_count),
        of_mask(Op::BallotInclusiveBitCount, "subgroupBallotInclusiveBitCount", &[P::Mask], Uint, ballot_inclusive_bit_count),
        of_mask(Op::BallotExclusiveBitCount, "subgroupBallotExclusiveBitCount", &[P::Mask], Uint, ballot_exclusive_bit_count),
        of_mask(Op::BallotFindLsb, "subgroupBallotFindLSB", &[P::Mask], Uint, ballot_find_lsb),
        of_mask(Op::BallotFindMsb, "subgroupBallotFindMSB", &[P::Mask], Uint, ballot_find_msb),
        moving(Op::Shuffle, "subgroupShuffle", Category::Shuffle, &[P::Value, P::Uint], shuffle),
        moving(Op::ShuffleXor, "subgroupShuffleXor", Category::Shuffle, &[P::Value, P::Uint], shuffle_xor),
        moving(Op::ShuffleUp, "subgroupShuffleUp", Category::ShuffleRelative, &[P::Value, P::Uint], shuffle_up),
        moving(Op::ShuffleDown, "subgroupShuffleDown", Category::ShuffleRelative, &[P::Value, P::Uint], shuffle_down),
        moving(Op::QuadBroadcast, "subgroupQuadBroadcast", Category::Quad, &[P::Value, P::QuadIndex], quad_broadcast),
        moving(Op::QuadSwapHorizontal, "subgroupQuadSwapHorizontal", Category::Quad, &[P::Value], quad_swap_horizontal),
        moving(Op::QuadSwapVertical, "subgroupQuadSwapVertical", Category::Quad, &[P::Value], quad_swap_vertical),
        moving(Op::QuadSwapDiagonal, "subgroupQuadSwapDiagonal", Category::Quad, &[P::Value], quad_swap_diagonal),
        moving(Op::Rotate, "subgroupRotate", Category::Rotate, &[P::Value, P::UniformUint], rotate),
        OpInfo { clustered: true, ..moving(Op::ClusteredRotate, "subgroupClusteredRotate", Category::RotateClustered, &[P::Value, P::UniformUint], clustered_rotate) },
        // subgroupMemoryBarrierImage orders image accesses, of which there are none; it must still be accepted.
        row(Op::MemoryBarrierImage, "subgroupMemoryBarrierImage", Category::Basic, &[], Nothing, nothing),
    ]
};

const FOLD_ROWS: [[OpInfo; 4]; 7] = [
    fold_rows!(Add, NUMBERS),
    fold_rows!(Mul, NUMBERS),
    fold_rows!(Min, NUMBERS),
    fold_rows!(Max, NUMBERS),
    fold_rows!(And, ANY_TYPE),
    fold_rows!(Or, ANY_TYPE),
    fold_rows!(Xor, ANY_TYPE),
];

/// The table: every operation once.
pub static TABLE: [OpInfo; PLAIN + FOLDED] = {
    let mut table =
        [const { row(SubgroupOp::Barrier, "", Category::Basic, &[], Gives::Nothing, nothing) }; PLAIN + FOLDED];
    let plain = PLAIN_ROWS;
    let mut i = 0;
    while i < PLAIN {
        table[i] = copy(&plain[i]);
        i += 1;
    }
    let folds = FOLD_ROWS;
    let mut f = 0;
    while f < FOLDED {
        table[PLAIN + f] = copy(&folds[f / 4][f % 4]);
        f += 1;
    }
    table
};

const fn copy(info: &OpInfo) -> OpInfo {
    OpInfo { ..*info }
}

impl SubgroupOp {
    /// The operation's row.
    pub fn info(self) -> &'static OpInfo {
        &TABLE[self.index()]
    }

    /// The row's number in [`TABLE`], for counters indexed by operation.
    pub fn index(self) -> usize {
        // Rows are few and this is called once for each node of a program, not once for each step.
        TABLE.iter().position(|info| info.op == self).expect("every operation has a row")
    }
}

impl Serialize for SubgroupOp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.info().name)
    }
}

impl<'de> Deserialize<'de> for SubgroupOp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SubgroupOp, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let row = TABLE.iter().find(|info| info.name == name);
        row.map(|info| info.op).ok_or_else(|| serde::de::Error::custom(format!("unknown subgroup operation '{name}'")))
    }
}
