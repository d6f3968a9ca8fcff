//! What each operation computes: a function of the lanes `T` that execute it together and of their operands.
//!
//! The rows of the table ([`super::TABLE`]) name these functions and the sentences that they follow.

use super::fold::Fold;
use super::row::{Instance, Reach, Ub, first_lanes, lanes};
use crate::float;
use crate::types::Scalar;

/// Which operands a minimum or maximum of floats is of.
#[derive(Clone, Copy, Default)]
struct Operands {
    any: bool,
    numbers: bool,
    zeros: [bool; 2],
}

impl Operands {
    fn and(mut self, scalar: Scalar, value: u64) -> Operands {
        if scalar.is_float() {
            self.any = true;
            self.numbers |= !float::is_nan(scalar, value);
            let negative = value & float::sign(scalar) != 0;
            self.zeros[usize::from(negative)] |= float::is_zero(scalar, value);
        }
        self
    }

    /// True if all are NaN, or the result is a zero and there are some of both signs (docs/rules.md, rule F8).
    fn leave_open(self, fold: Fold, scalar: Scalar, result: u64) -> bool {
        matches!(fold, Fold::Min | Fold::Max)
            && scalar.is_float()
            && (self.any && !self.numbers || float::is_zero(scalar, result) && self.zeros == [true; 2])
    }
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

    /// Gives the lanes whose result is undefined.
    fn scan(&self, fold: Fold, out: &mut [u64], inclusive: bool) -> u128 {
        let mut sum = fold.identity(self.scalar);
        let (mut before, mut undefined) = (Operands::default(), 0);
        for k in lanes(self.tangle) {
            let value = self.args[0][k];
            let next = fold.apply(self.scalar, sum, value);
            let after = before.and(self.scalar, value);
            let (result, of) = if inclusive { (next, after) } else { (sum, before) };
            out[k] = result;
            undefined |= u128::from(of.leave_open(fold, self.scalar, result)) << k;
            (sum, before) = (next, after);
        }
        undefined
    }

    /// A function of a lane's own mask. The texts differ on which bits count: all below the subgroup size (GLSL issue 48,
    /// GL_KHR_shader_subgroup), those up to the highest lane of `T`, or those of `T` alone (readings of SPIR-V 1.6 rev 5 and
    /// later). A result on which the readings disagree is not checkable: undefined (docs/rules.md, rule P5).
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

pub(super) fn nothing(_: &Instance<'_>, _: &mut [u64]) -> Result<u128, Ub> {
    Ok(0)
}

pub(super) fn elect(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let lowest = i.tangle.trailing_zeros() as usize;
    i.each(out, |k| u64::from(k == lowest))
}

pub(super) fn all(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.everyone(out, u64::from(lanes(i.tangle).all(|k| i.args[0][k] != 0)))
}

pub(super) fn any(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.everyone(out, u64::from(lanes(i.tangle).any(|k| i.args[0][k] != 0)))
}

pub(super) fn all_equal(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let value = |k: usize| i.args[0][k];
    let first = i.tangle.trailing_zeros() as usize;
    if !i.scalar.is_float() {
        return i.everyone(out, u64::from(lanes(i.tangle).all(|k| value(k) == value(first))));
    }
    // An ordered compare: zeros are equal, a NaN is equal to nothing. Whether the only lane is compared with itself is open (rule F7).
    let number = |k: usize| float::value(i.scalar, value(k));
    i.everyone(out, u64::from(lanes(i.tangle).all(|k| number(k) == number(first))))?;
    let alone = i.tangle.is_power_of_two() && float::is_nan(i.scalar, value(first));
    Ok(if alone { i.tangle } else { 0 })
}

pub(super) fn broadcast(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let source = i.uniform(1, "subgroupBroadcast: the lane is not dynamically uniform")?;
    i.gather(out, |_| source)
}

pub(super) fn broadcast_first(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.everyone(out, i.args[0][i.tangle.trailing_zeros() as usize])
}

pub(super) fn ballot(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let mask = lanes(i.tangle).filter(|&k| i.args[0][k] != 0).fold(0u128, |mask, k| mask | 1 << k);
    for c in 0..4 {
        i.everyone(&mut out[c * i.size..][..i.size], u64::from((mask >> (32 * c)) as u32))?;
    }
    Ok(0)
}

pub(super) fn inverse_ballot(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    for c in 0..4 {
        i.uniform(c, "subgroupInverseBallot: the mask differs between the lanes of one instance")?;
    }
    i.each(out, |k| (i.mask_arg(0, k) >> k & 1) as u64)
}

pub(super) fn ballot_bit_extract(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let mut undefined = 0;
    for k in lanes(i.tangle) {
        let index = i.args[4][k] as usize;
        out[k] = if index < i.size { (i.mask_arg(0, k) >> index & 1) as u64 } else { 0 };
        undefined |= u128::from(index >= i.size) << k;
    }
    Ok(undefined)
}

pub(super) fn ballot_bit_count(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.own_mask(out, |_, mask| Some(u64::from(mask.count_ones())))
}

pub(super) fn ballot_inclusive_bit_count(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.own_mask(out, |k, mask| Some(u64::from((mask & first_lanes(k + 1)).count_ones())))
}

pub(super) fn ballot_exclusive_bit_count(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.own_mask(out, |k, mask| Some(u64::from((mask & first_lanes(k)).count_ones())))
}

pub(super) fn ballot_find_lsb(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.own_mask(out, |_, mask| (mask != 0).then(|| u64::from(mask.trailing_zeros())))
}

pub(super) fn ballot_find_msb(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.own_mask(out, |_, mask| (mask != 0).then(|| u64::from(127 - mask.leading_zeros())))
}

pub(super) fn shuffle(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| i.args[1][k])
}

pub(super) fn shuffle_xor(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| k as u64 ^ i.args[1][k])
}

pub(super) fn shuffle_up(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| (k as u64).wrapping_sub(i.args[1][k]))
}

pub(super) fn shuffle_down(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| k as u64 + i.args[1][k])
}

pub(super) fn rotate(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let delta = i.uniform(1, "subgroupRotate: the delta is not dynamically uniform")?;
    i.gather(out, |k| (k as u64 + delta) & (i.size as u64 - 1))
}

pub(super) fn clustered_rotate(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let n = i.clusters()? as u64;
    let delta = i.uniform(1, "subgroupClusteredRotate: the delta is not dynamically uniform")?;
    i.gather(out, |k| ((k as u64 + delta) & (n - 1)) + (k as u64 & !(n - 1)))
}

pub(super) fn quad_broadcast(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let index = i.uniform(1, "subgroupQuadBroadcast: the index is not uniform")?;
    i.gather(out, |k| if index < 4 { (k & !3) as u64 + index } else { u64::MAX })
}

pub(super) fn quad_swap_horizontal(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| k as u64 ^ 1)
}

pub(super) fn quad_swap_vertical(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| k as u64 ^ 2)
}

pub(super) fn quad_swap_diagonal(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.gather(out, |k| k as u64 ^ 3)
}

/// The quads of `T`, each with its lanes that are there: 4 consecutive lanes (Vulkan, "Quad" scope).
fn quads(i: &Instance<'_>) -> impl Iterator<Item = u128> {
    Reach::Quad.waiting(i.tangle)
}

pub(super) fn quad_all(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    quads(i).try_fold(0, |_, tangle| all(&Instance { tangle, ..*i }, out))
}

pub(super) fn quad_any(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    quads(i).try_fold(0, |_, tangle| any(&Instance { tangle, ..*i }, out))
}

// ---- derivatives ----

/// The difference across the quad of a lane along x (`step` 1) or y (2), in the lane's own row or column: as in fine derivatives.
fn difference(i: &Instance<'_>, lane: usize, step: usize) -> f64 {
    let operand = |lane: usize| float::value(i.scalar, i.args[0][lane]);
    operand(lane | step) - operand(lane & !step)
}

/// A derivative whose fine result is this, for every lane. A coarse one may be that of any lane of the quad, and is undefined where these
/// differ; either is in a quad that is not whole.
fn derivative(
    i: &Instance<'_>,
    out: &mut [u64],
    is_coarse: bool,
    fine: impl Fn(&Instance<'_>, usize) -> f64,
) -> Result<u128, Ub> {
    let mut undefined = 0;
    for quad in quads(i) {
        let first = quad.trailing_zeros() as usize & !3;
        let is_whole = quad == first_lanes(4) << first && first + 4 <= i.size;
        for k in lanes(quad) {
            let result = if is_whole { fine(i, k) } else { 0.0 };
            let is_agreed = is_whole && (!is_coarse || (first..first + 4).all(|other| fine(i, other) == result));
            out[k] = float::bits(i.scalar, result);
            undefined |= u128::from(!is_agreed) << k;
        }
    }
    Ok(undefined)
}

/// What `fwidth` of a lane is where its derivatives are fine.
fn width(i: &Instance<'_>, lane: usize) -> f64 {
    difference(i, lane, 1).abs() + difference(i, lane, 2).abs()
}

pub(super) fn fine_x(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    derivative(i, out, false, |i, lane| difference(i, lane, 1))
}

pub(super) fn fine_y(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    derivative(i, out, false, |i, lane| difference(i, lane, 2))
}

pub(super) fn fine_width(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    derivative(i, out, false, width)
}

pub(super) fn coarse_x(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    derivative(i, out, true, |i, lane| difference(i, lane, 1))
}

pub(super) fn coarse_y(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    derivative(i, out, true, |i, lane| difference(i, lane, 2))
}

pub(super) fn coarse_width(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    derivative(i, out, true, width)
}

pub(super) fn partition(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let value = i.args[0];
    for k in lanes(i.tangle) {
        let subset =
            lanes(i.tangle).filter(|&other| value[other] == value[k]).fold(0u128, |mask, other| mask | 1 << other);
        (0..4).for_each(|c| out[c * i.size + k] = u64::from((subset >> (32 * c)) as u32));
    }
    Ok(0)
}

// ---- reductions and scans by the number of their fold ----

const fn fold_of(number: usize) -> Fold {
    Fold::ALL[number]
}

pub(super) fn reduce<const F: usize>(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let first = fold_of(F).identity(i.scalar);
    let result = lanes(i.tangle).fold(first, |sum, k| fold_of(F).apply(i.scalar, sum, i.args[0][k]));
    i.everyone(out, result)?;
    let operands = lanes(i.tangle).fold(Operands::default(), |all, k| all.and(i.scalar, i.args[0][k]));
    Ok(if operands.leave_open(fold_of(F), i.scalar, result) { i.tangle } else { 0 })
}

pub(super) fn inclusive<const F: usize>(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    Ok(i.scan(fold_of(F), out, true))
}

pub(super) fn exclusive<const F: usize>(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let undefined = i.scan(fold_of(F), out, false);
    let first = 1 << i.tangle.trailing_zeros();
    Ok(undefined | if fold_of(F).starts_infinite(i.scalar) && !i.preserved { first } else { 0 })
}

/// "A cluster as used by a clustered operation is defined such that for all invocations within the cluster, their
/// <gl_SubgroupInvocationID> is in [x, x+1, x+2, ..., x+n-1], where n is the cluster size, and x is a multiple of n."
/// (GL_KHR_shader_subgroup) So it goes by lane numbers, also where some of them do not exist.
pub(super) fn clustered<const F: usize>(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    let n = i.clusters()?;
    let mut undefined = 0;
    for first in (0..i.size).step_by(n) {
        let tangle = i.tangle & first_lanes(n) << first;
        if tangle != 0 {
            undefined |= reduce::<F>(&Instance { tangle, ..*i }, out)?;
        }
    }
    Ok(undefined)
}

pub(super) fn partitioned<const F: usize>(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.subsets(1)?.try_fold(0, |all, tangle| Ok(all | reduce::<F>(&Instance { tangle, ..*i }, out)?))
}

pub(super) fn partitioned_inclusive<const F: usize>(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.subsets(1)?.try_fold(0, |all, tangle| Ok(all | inclusive::<F>(&Instance { tangle, ..*i }, out)?))
}

pub(super) fn partitioned_exclusive<const F: usize>(i: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
    i.subsets(1)?.try_fold(0, |all, tangle| Ok(all | exclusive::<F>(&Instance { tangle, ..*i }, out)?))
}
