//! The table of subgroup operations: one row describes one built-in function of GLSL completely.
//!
//! Generator, printer, validator, oracle, coverage table and documentation all read [`TABLE`]. A row holds the GLSL name,
//! the category (with the extension to enable and the Vulkan feature bit to ask for), the operands and the result, the
//! allowed types, how an undefined operand spreads, and the *meaning*: a function of the scope-restricted tangle `T` (the lanes of one
//! subgroup that execute this dynamic instance, SPIR-V 1.6 §2.2.5) and of each lane's operands.
//!
//! Sources: SPIR-V 1.6 rev 6 §3.3.24 "Non-Uniform Instructions", GL_KHR_shader_subgroup rev 8, SPV_KHR_subgroup_rotate,
//! GL_EXT_shader_quad_control and GL_NV_shader_subgroup_partitioned; collected in semantics.md §1.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::float;
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
        if scalar.is_float() {
            return self.apply_float(scalar, x, y);
        }
        // Adding it to both puts two's complement values in the order of their bits.
        let bias = if scalar.is_signed() { 1 << (scalar.size() - 1) } else { 0 };
        match self {
            Fold::Add => x.wrapping_add(y) & scalar.bits(),
            Fold::Mul => x.wrapping_mul(y) & scalar.bits(),
            Fold::Min => (x ^ bias).min(y ^ bias) ^ bias,
            Fold::Max => (x ^ bias).max(y ^ bias) ^ bias,
            Fold::And => x & y,
            Fold::Or => x | y,
            Fold::Xor => x ^ y,
        }
    }

    fn apply_float(self, scalar: Scalar, x: u64, y: u64) -> u64 {
        let (x, y) = (float::value(scalar, x), float::value(scalar, y));
        let result = match self {
            Fold::Add => x + y,
            Fold::Mul => x * y,
            Fold::Min => x.min(y),
            Fold::Max => x.max(y),
            // Floats have no bitwise operations.
            Fold::And | Fold::Or | Fold::Xor => x,
        };
        float::bits(scalar, result)
    }

    /// The identity of the operation (semantics.md §1.6): what an exclusive scan gives to the first lane.
    pub const fn identity(self, scalar: Scalar) -> u64 {
        match self {
            Fold::Mul if scalar.is_float() => float::one(scalar),
            Fold::Min if scalar.is_float() => float::infinity(scalar),
            Fold::Max if scalar.is_float() => float::infinity(scalar) | 1 << (scalar.size() - 1),
            Fold::Add | Fold::Or | Fold::Xor => 0,
            Fold::Mul => 1,
            Fold::And => scalar.bits(),
            Fold::Min if scalar.is_signed() => scalar.bits() >> 1,
            Fold::Max if scalar.is_signed() => 1 << (scalar.size() - 1),
            Fold::Min => scalar.bits(),
            Fold::Max => 0,
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
    QuadAll,
    QuadAny,
    Partition,
    Partitioned(Fold),
    PartitionedInclusive(Fold),
    PartitionedExclusive(Fold),
}

/// The eight categories of GL_KHR_shader_subgroup, and those of later extensions; each has its own extension and feature.
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
}

impl Category {
    /// Every category, in the order of the Vulkan feature bits.
    pub const ALL: [Category; 12] = [
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
            Category::QuadControl => "GL_EXT_shader_quad_control",
            Category::Partitioned => "GL_NV_shader_subgroup_partitioned",
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
            Category::QuadControl => "quad_control",
            Category::Partitioned => "partitioned",
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
    /// A uvec4 of which the lanes' values are a valid partition of `T` (GL_NV_shader_subgroup_partitioned §3.8).
    Partition,
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
    /// Which component of the generic operand this is about.
    pub component: Component,
    /// Cluster size; 0 if the operation has none.
    pub cluster: usize,
    /// Operand columns of `size` lanes each, in order: a [`Param::Mask`] takes four. A vector operand is given one component at a
    /// time; what is not of its type (the bool of `subgroupAllEqual`, the mask of `subgroupPartitionNV`) the caller combines with *and*.
    pub args: &'a [&'a [u64]],
}

/// A component of a vector, or a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its number.
    pub index: usize,
    /// The number of components; 1 for a scalar.
    pub of: usize,
}

impl Component {
    /// A scalar.
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

    /// The subsets of the partition that the uvec4 at operand column `first` makes. Every lane must be in its own subset, and
    /// two lanes that see each other must see the same; bits of lanes that do not exist are ignored.
    fn subsets(&self, first: usize) -> Result<impl Iterator<Item = u128>, Ub> {
        let subset = move |k: usize| self.mask_arg(first, k) & first_lanes(self.size);
        let is_valid = |k: usize| {
            let own = subset(k);
            own >> k & 1 == 1 && lanes(own & self.tangle).all(|other| subset(other) == own)
        };
        if !lanes(self.tangle).all(is_valid) {
            return Err("a partitioned operation: the masks are not a partition of the lanes");
        }
        Ok(lanes(self.tangle)
            .map(move |k| (k, subset(k) & self.tangle))
            .filter(|(k, subset)| subset.trailing_zeros() as usize == *k)
            .map(|(_, subset)| subset))
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

/// The quads of `T`, each with its lanes that are there: 4 consecutive lanes (Vulkan, "Quad" scope).
fn quads(i: &Instance<'_>) -> impl Iterator<Item = u128> {
    let tangle = i.tangle;
    (0..i.size).step_by(4).map(move |first| tangle & 0xF << first).filter(|&quad| quad != 0)
}

fn quad_all(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    quads(i).try_fold(0, |_, tangle| all(&Instance { tangle, ..*i }, out))
}

fn quad_any(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    quads(i).try_fold(0, |_, tangle| any(&Instance { tangle, ..*i }, out))
}

fn partition(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let value = i.args[0];
    for k in lanes(i.tangle) {
        let subset =
            lanes(i.tangle).filter(|&other| value[other] == value[k]).fold(0u128, |mask, other| mask | 1 << other);
        (0..4).for_each(|c| out[c * i.size + k] = u64::from((subset >> (32 * c)) as u32));
    }
    Ok(0)
}

const ANY_TYPE: &[Scalar] = &Scalar::ALL;
/// What partitioned operations take here. Floats would need rules for NaN and signed zeros of the partition (semantics.md §1.9).
const INTEGERS: &[Scalar] = &Scalar::INTEGERS;
const NUMBERS: &[Scalar] = &Scalar::NUMBERS;
/// What has bits.
const BITS: &[Scalar] = {
    let [bits @ .., _, _, _] = &Scalar::ALL;
    bits
};

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

/// The rows of one combining operation: reduction, inclusive and exclusive scan, clustered reduction, and the first three of
/// every subset of a partition.
macro_rules! fold_rows {
    ($fold:ident, $scalars:expr, $partitioned:expr) => {{
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
            let first = 1 << i.tangle.trailing_zeros();
            Ok(if SubgroupOp::Exclusive(FOLD).starts_infinite(i.scalar) { first } else { 0 })
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
        fn partitioned(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
            i.subsets(1)?.try_fold(0, |_, tangle| reduce(&Instance { tangle, ..*i }, out))
        }
        fn partitioned_inclusive(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
            i.subsets(1)?.try_fold(0, |_, tangle| inclusive(&Instance { tangle, ..*i }, out))
        }
        fn partitioned_exclusive(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
            i.subsets(1)?.try_fold(0, |_, tangle| exclusive(&Instance { tangle, ..*i }, out))
        }
        const fn partitioned_row(op: SubgroupOp, name: &'static str, meaning: Meaning) -> OpInfo {
            let params = &[Param::Value, Param::Partition];
            OpInfo { params, scalars: $partitioned, ..fold_row(op, name, Category::Partitioned, meaning) }
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
            partitioned_row(
                SubgroupOp::Partitioned(FOLD),
                concat!("subgroupPartitioned", stringify!($fold), "NV"),
                partitioned,
            ),
            partitioned_row(
                SubgroupOp::PartitionedInclusive(FOLD),
                concat!("subgroupPartitionedInclusive", stringify!($fold), "NV"),
                partitioned_inclusive,
            ),
            partitioned_row(
                SubgroupOp::PartitionedExclusive(FOLD),
                concat!("subgroupPartitionedExclusive", stringify!($fold), "NV"),
                partitioned_exclusive,
            ),
        ]
    }};
}

/// Number of operations without a fold, and with one.
const PLAIN: usize = 32;
const FOLDED: usize = 7 * FORMS;
/// Rows of one fold.
const FORMS: usize = 7;

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
        row(Op::QuadAll, "subgroupQuadAll", Category::QuadControl, &[P::Predicate], Bool, quad_all),
        row(Op::QuadAny, "subgroupQuadAny", Category::QuadControl, &[P::Predicate], Bool, quad_any),
        OpInfo { scalars: BITS, ..row(Op::Partition, "subgroupPartitionNV", Category::Partitioned, &[P::Value], Mask, partition) },
    ]
};

const FOLD_ROWS: [[OpInfo; FORMS]; 7] = [
    fold_rows!(Add, NUMBERS, INTEGERS),
    fold_rows!(Mul, NUMBERS, INTEGERS),
    fold_rows!(Min, NUMBERS, INTEGERS),
    fold_rows!(Max, NUMBERS, INTEGERS),
    fold_rows!(And, BITS, BITS),
    fold_rows!(Or, BITS, BITS),
    fold_rows!(Xor, BITS, BITS),
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
        table[PLAIN + f] = copy(&folds[f / FORMS][f % FORMS]);
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

    /// True if the first lane of every tangle gets an infinity. Devices may assume that there is none (no case asks for
    /// SignedZeroInfNanPreserve, semantics.md §1.6): that result is undefined.
    pub const fn starts_infinite(self, scalar: Scalar) -> bool {
        matches!(self, SubgroupOp::Exclusive(Fold::Min | Fold::Max)) && scalar.is_float()
    }

    /// What reductions and scans combine with.
    pub const fn fold(self) -> Option<Fold> {
        match self {
            SubgroupOp::Reduce(fold)
            | SubgroupOp::Inclusive(fold)
            | SubgroupOp::Exclusive(fold)
            | SubgroupOp::Clustered(fold)
            | SubgroupOp::Partitioned(fold)
            | SubgroupOp::PartitionedInclusive(fold)
            | SubgroupOp::PartitionedExclusive(fold) => Some(fold),
            _ => None,
        }
    }

    /// The row's number in [`TABLE`], for counters indexed by operation.
    pub const fn index(self) -> usize {
        use SubgroupOp as Op;
        match self {
            Op::Barrier => 0,
            Op::MemoryBarrier => 1,
            Op::MemoryBarrierBuffer => 2,
            Op::MemoryBarrierShared => 3,
            Op::Elect => 4,
            Op::All => 5,
            Op::Any => 6,
            Op::AllEqual => 7,
            Op::Broadcast => 8,
            Op::BroadcastFirst => 9,
            Op::Ballot => 10,
            Op::InverseBallot => 11,
            Op::BallotBitExtract => 12,
            Op::BallotBitCount => 13,
            Op::BallotInclusiveBitCount => 14,
            Op::BallotExclusiveBitCount => 15,
            Op::BallotFindLsb => 16,
            Op::BallotFindMsb => 17,
            Op::Shuffle => 18,
            Op::ShuffleXor => 19,
            Op::ShuffleUp => 20,
            Op::ShuffleDown => 21,
            Op::QuadBroadcast => 22,
            Op::QuadSwapHorizontal => 23,
            Op::QuadSwapVertical => 24,
            Op::QuadSwapDiagonal => 25,
            Op::Rotate => 26,
            Op::ClusteredRotate => 27,
            Op::MemoryBarrierImage => 28,
            Op::QuadAll => 29,
            Op::QuadAny => 30,
            Op::Partition => 31,
            Op::Reduce(fold) => PLAIN + FORMS * fold as usize,
            Op::Inclusive(fold) => PLAIN + FORMS * fold as usize + 1,
            Op::Exclusive(fold) => PLAIN + FORMS * fold as usize + 2,
            Op::Clustered(fold) => PLAIN + FORMS * fold as usize + 3,
            Op::Partitioned(fold) => PLAIN + FORMS * fold as usize + 4,
            Op::PartitionedInclusive(fold) => PLAIN + FORMS * fold as usize + 5,
            Op::PartitionedExclusive(fold) => PLAIN + FORMS * fold as usize + 6,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_finds_its_row() {
        for (i, row) in TABLE.iter().enumerate() {
            assert_eq!(row.op.index(), i, "{}", row.name);
            assert_eq!(TABLE.iter().filter(|other| other.name == row.name).count(), 1, "{}", row.name);
        }
    }

    /// Lanes 0 to 7 with the operand `lane + 1`, then a second operand.
    struct Row {
        op: SubgroupOp,
        scalar: Scalar,
        cluster: usize,
        tangle: u128,
        second: [u64; 8],
        want: [u64; 8],
        undefined: u128,
    }

    const NONE: [u64; 8] = [0; 8];
    const UP_BY_ONE: [u64; 8] = [1; 8];

    fn row(op: SubgroupOp, tangle: u128, want: [u64; 8]) -> Row {
        Row { op, scalar: Scalar::Uint, cluster: 0, tangle, second: NONE, want, undefined: 0 }
    }

    /// What lanes outside the tangle, and undefined results, are not compared with.
    const X: u64 = u64::MAX;

    /// semantics.md §1; a result of a lane outside the tangle is `X` here.
    #[test]
    fn meanings() {
        use SubgroupOp as Op;
        let add = Fold::Add;
        let rows = [
            row(Op::Elect, 0xF0, [X, X, X, X, 1, 0, 0, 0]),
            row(Op::BroadcastFirst, 0xF0, [X, X, X, X, 5, 5, 5, 5]),
            row(Op::Reduce(add), 0xFF, [36; 8]),
            row(Op::Reduce(add), 0x07, [6, 6, 6, X, X, X, X, X]),
            row(Op::Reduce(Fold::Mul), 0x0F, [24, 24, 24, 24, X, X, X, X]),
            row(Op::Reduce(Fold::Min), 0xF0, [X, X, X, X, 5, 5, 5, 5]),
            row(Op::Reduce(Fold::Max), 0x0F, [4, 4, 4, 4, X, X, X, X]),
            row(Op::Reduce(Fold::And), 0x05, [1, X, 1, X, X, X, X, X]),
            row(Op::Reduce(Fold::Or), 0x03, [3, 3, X, X, X, X, X, X]),
            row(Op::Reduce(Fold::Xor), 0x07, [0, 0, 0, X, X, X, X, X]),
            // V11
            row(Op::Exclusive(add), 0xFB, [0, 1, X, 3, 7, 12, 18, 25]),
            row(Op::Inclusive(add), 0xFB, [1, 3, X, 7, 12, 18, 25, 33]),
            row(Op::Exclusive(Fold::Min), 0x06, [X, 0xFFFF_FFFF, 2, X, X, X, X, X]),
            Row { scalar: Scalar::Int, ..row(Op::Exclusive(Fold::Min), 0x06, [X, 0x7FFF_FFFF, 2, X, X, X, X, X]) },
            Row { scalar: Scalar::Int, ..row(Op::Exclusive(Fold::Max), 0x06, [X, 0x8000_0000, 2, X, X, X, X, X]) },
            // V13
            Row { cluster: 4, ..row(Op::Clustered(add), 0xFE, [X, 9, 9, 9, 26, 26, 26, 26]) },
            Row { cluster: 1, ..row(Op::Clustered(add), 0xFF, [1, 2, 3, 4, 5, 6, 7, 8]) },
            Row { second: [7, 6, 5, 4, 3, 2, 1, 0], ..row(Op::Shuffle, 0xFF, [8, 7, 6, 5, 4, 3, 2, 1]) },
            // V12
            Row { second: [1, 2, 3, 4, 5, 6, 7, 8], undefined: 0x55, ..row(Op::Shuffle, 0x55, [X; 8]) },
            Row { second: [9, 0, 0, 0, 0, 0, 0, 0], undefined: 1, ..row(Op::Shuffle, 0x03, [X, 1, X, X, X, X, X, X]) },
            Row { second: UP_BY_ONE, undefined: 1, ..row(Op::ShuffleUp, 0xFF, [X, 1, 2, 3, 4, 5, 6, 7]) },
            Row { second: UP_BY_ONE, undefined: 0x80, ..row(Op::ShuffleDown, 0xFF, [2, 3, 4, 5, 6, 7, 8, X]) },
            // A delta near 2^32 must not wrap around into range.
            Row { second: [0xFFFF_FFFF; 8], undefined: 0xFF, ..row(Op::ShuffleDown, 0xFF, [X; 8]) },
            Row { second: [0xFFFF_FFFF; 8], undefined: 0xFF, ..row(Op::ShuffleUp, 0xFF, [X; 8]) },
            Row { second: [4; 8], ..row(Op::ShuffleXor, 0xFF, [5, 6, 7, 8, 1, 2, 3, 4]) },
            // V14
            Row { second: [3; 8], ..row(Op::Rotate, 0xFF, [4, 5, 6, 7, 8, 1, 2, 3]) },
            Row { second: [0xFFFF_FFFF; 8], ..row(Op::Rotate, 0xFF, [8, 1, 2, 3, 4, 5, 6, 7]) },
            Row { second: UP_BY_ONE, cluster: 4, ..row(Op::ClusteredRotate, 0xFF, [2, 3, 4, 1, 6, 7, 8, 5]) },
            Row { second: [2; 8], ..row(Op::Broadcast, 0x0E, [X, 3, 3, 3, X, X, X, X]) },
            Row { second: [2; 8], undefined: 0xF0, ..row(Op::Broadcast, 0xF0, [X; 8]) },
            Row { second: [3; 8], undefined: 0x70, ..row(Op::QuadBroadcast, 0x7F, [4, 4, 4, 4, X, X, X, X]) },
            row(Op::QuadSwapHorizontal, 0xFF, [2, 1, 4, 3, 6, 5, 8, 7]),
            row(Op::QuadSwapVertical, 0xFF, [3, 4, 1, 2, 7, 8, 5, 6]),
            Row { undefined: 0x08, ..row(Op::QuadSwapDiagonal, 0xFE, [X, 3, 2, X, 8, 7, 6, 5]) },
        ];
        for Row { op, scalar, cluster, tangle, second, want, undefined } in rows {
            let first: [u64; 8] = std::array::from_fn(|k| k as u64 + 1);
            let mut out = [X; 8];
            let instance =
                Instance { size: 8, tangle, scalar, component: Component::SCALAR, cluster, args: &[&first, &second] };
            let got = (op.info().meaning)(&instance, &mut out).unwrap();
            assert_eq!(got, undefined, "{} undefined", op.info().name);
            lanes(undefined).for_each(|k| out[k] = X);
            assert_eq!(out, want, "{} with {tangle:#x}", op.info().name);
        }
    }

    /// One uvec4 for all lanes, then the index of `subgroupBallotBitExtract`.
    fn of_mask(op: SubgroupOp, tangle: u128, mask: u64, index: u64) -> (Result<u128, Ub>, [u64; 8]) {
        let (x, zero, index) = ([mask; 8], [0; 8], [index; 8]);
        let mut out = [X; 8];
        let args: [&[u64]; 5] = [&x, &zero, &zero, &zero, &index];
        let instance =
            Instance { size: 8, tangle, scalar: Scalar::Bool, component: Component::SCALAR, cluster: 0, args: &args };
        ((op.info().meaning)(&instance, &mut out), out)
    }

    /// semantics.md §1.4
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

    /// semantics.md §1.10
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

    /// semantics.md §1.8: lanes outside the tangle are skipped.
    #[test]
    fn quad_votes() {
        for (op, tangle, predicate, want) in [
            (SubgroupOp::QuadAll, 0xFF, 0xF7, [0, 0, 0, 0, 1, 1, 1, 1]),
            (SubgroupOp::QuadAll, 0xF7, 0xF7, [1, 1, 1, X, 1, 1, 1, 1]),
            (SubgroupOp::QuadAny, 0xFF, 0x10, [0, 0, 0, 0, 1, 1, 1, 1]),
            (SubgroupOp::QuadAny, 0xEF, 0x10, [0, 0, 0, 0, X, 0, 0, 0]),
        ] {
            let column: [u64; 8] = std::array::from_fn(|k| predicate >> k & 1);
            let mut out = [X; 8];
            let instance = Instance {
                size: 8,
                tangle,
                scalar: Scalar::Bool,
                component: Component::SCALAR,
                cluster: 0,
                args: &[&column],
            };
            assert_eq!((op.info().meaning)(&instance, &mut out), Ok(0));
            assert_eq!(out, want, "{} {tangle:#x} {predicate:#x}", op.info().name);
        }
    }

    /// semantics.md §1.9
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
}
