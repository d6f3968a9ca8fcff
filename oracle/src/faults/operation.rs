//! What a fault makes of an operation: another one, or the same with other lanes, operands or types.

use tangle_program::float;
use tangle_program::subgroup::{Fold, Instance, OpInfo, Spread, SubgroupOp, Ub, first_lanes, lanes};
use tangle_program::types::Scalar;

use crate::mask::{highest, lowest};

/// Undefined lanes, as [`tangle_program::subgroup::Meaning`] has them; `None` if the fault does not show.
pub(super) type Outcome = Option<Result<u128, Ub>>;

/// One dynamic instance of an operation in a subgroup.
pub(super) struct Operation<'a> {
    pub info: &'a OpInfo,
    pub instance: &'a Instance<'a>,
    /// The lanes that the subgroup started with.
    pub live: u128,
}

impl Operation<'_> {
    pub fn op(&self) -> SubgroupOp {
        self.info.op
    }

    pub fn tangle(&self) -> u128 {
        self.instance.tangle
    }

    pub fn scalar(&self) -> Scalar {
        self.instance.scalar
    }

    /// The lowest and the highest active lane.
    pub fn first(&self) -> usize {
        lowest(self.tangle()).trailing_zeros() as usize
    }

    pub fn last(&self) -> usize {
        highest(self.tangle()).trailing_zeros() as usize
    }

    /// An operand of a lane; 0 of one that does not exist.
    pub fn operand(&self, number: usize, lane: usize) -> u64 {
        self.instance.args[number].get(lane).copied().unwrap_or(0)
    }

    /// True if a lane of the subgroup is not active.
    pub fn is_partial(&self) -> bool {
        self.tangle() != first_lanes(self.instance.size)
    }

    /// The operation moves values between lanes.
    pub fn moves(&self) -> bool {
        self.info.spread == Spread::Moves
    }

    pub fn is_fold_of(&self, folds: &[Fold]) -> bool {
        self.op().fold().is_some_and(|fold| folds.contains(&fold))
    }

    /// The operation on the same operands, changed.
    fn on(&self, instance: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
        (self.info.meaning)(instance, out)
    }

    /// Another operation in the place of this one.
    pub fn instead(&self, op: SubgroupOp, out: &mut [u64]) -> Outcome {
        Some((op.info().meaning)(self.instance, out))
    }

    /// Operands of another type.
    pub fn of_type(&self, scalar: Scalar, out: &mut [u64]) -> Outcome {
        Some(self.on(&Instance { scalar, ..*self.instance }, out))
    }

    /// Clusters of another size.
    pub fn of_clusters(&self, cluster: usize, out: &mut [u64]) -> Outcome {
        Some(self.on(&Instance { cluster, ..*self.instance }, out))
    }

    /// The lanes really there get what they would if all the subgroup were there.
    pub fn of_whole(&self, out: &mut [u64]) -> Outcome {
        let tangle = first_lanes(self.instance.size) | self.tangle();
        Some(self.on(&Instance { tangle, ..*self.instance }, out).map(|undefined| undefined & self.tangle()))
    }

    /// All lanes of the subgroup take part, the inactive ones with zeros.
    pub fn zero_filled(&self, out: &mut [u64]) -> Outcome {
        let i = self.instance;
        let value = |lane: usize| if i.tangle >> lane & 1 == 1 { i.args[0][lane] } else { 0 };
        let column: Vec<u64> = (0..i.size).map(value).collect();
        let tangle = first_lanes(i.size);
        Some(self.on(&Instance { tangle, args: &[&column], ..*i }, out).map(|undefined| undefined & i.tangle))
    }

    /// Another operand of every lane in the place of the one of this number.
    pub fn with_operand(&self, number: usize, out: &mut [u64], operand: impl Fn(usize) -> u64) -> Outcome {
        let column: Vec<u64> = (0..self.instance.size).map(operand).collect();
        let mut args = self.instance.args.to_vec();
        args[number] = &column;
        Some(self.on(&Instance { args: &args, ..*self.instance }, out))
    }

    /// Every active lane gets the same.
    pub fn everyone(&self, out: &mut [u64], value: u64) -> Outcome {
        self.each(out, |_| value)
    }

    pub fn each(&self, out: &mut [u64], value: impl Fn(usize) -> u64) -> Outcome {
        lanes(self.tangle()).for_each(|lane| out[lane] = value(lane));
        Some(Ok(0))
    }

    /// The right results, each changed.
    pub fn then_each(&self, out: &mut [u64], change: impl Fn(usize, u64) -> u64) -> Outcome {
        let found = self.on(self.instance, out);
        lanes(self.tangle()).for_each(|lane| out[lane] = change(lane, out[lane]));
        Some(found)
    }

    /// The right results, but for the lowest active lane, which gets this.
    pub fn then_first(&self, out: &mut [u64], value: u64) -> Outcome {
        let found = self.on(self.instance, out);
        out[self.first()] = value;
        Some(found.map(|undefined| undefined & !lowest(self.tangle())))
    }

    /// The right ballots, changed for each lane.
    pub fn then_each_ballot(&self, out: &mut [u64], change: impl Fn(usize, u128) -> u128) -> Outcome {
        let found = self.on(self.instance, out);
        let size = self.instance.size;
        for lane in lanes(self.tangle()) {
            let right = (0..4).fold(0, |mask, c| mask | u128::from(out[c * size + lane]) << (32 * c));
            let wrong = change(lane, right);
            (0..4).for_each(|c| out[c * size + lane] = u64::from((wrong >> (32 * c)) as u32));
        }
        Some(found)
    }

    /// A scan from the highest active lane to the lowest.
    pub fn scan_down(&self, fold: Fold, out: &mut [u64]) -> Outcome {
        let i = self.instance;
        let mut sum = fold.identity(i.scalar);
        let ascending: Vec<usize> = lanes(i.tangle).collect();
        for &lane in ascending.iter().rev() {
            let next = fold.apply(i.scalar, sum, i.args[0][lane]);
            out[lane] = if matches!(self.op(), SubgroupOp::Inclusive(_)) { next } else { sum };
            sum = next;
        }
        Some(Ok(0))
    }

    /// What some lanes combine to.
    pub fn fold(&self, fold: Fold, of: impl Iterator<Item = usize>) -> u64 {
        of.fold(fold.identity(self.scalar()), |sum, lane| fold.apply(self.scalar(), sum, self.operand(0, lane)))
    }

    /// The sum, held within what the type can represent.
    pub fn saturating_sum(&self) -> u64 {
        let scalar = self.scalar();
        let (least, most) = match scalar.is_signed() {
            true => (i128::from(scalar.least()), i128::from(scalar.bits() >> 1)),
            false => (0, i128::from(scalar.bits())),
        };
        let value = |lane: usize| {
            let bits = scalar.extend(self.operand(0, lane));
            if scalar.is_signed() { i128::from(bits as i64) } else { i128::from(bits) }
        };
        let sum = lanes(self.tangle()).fold(0, |sum: i128, lane| (sum + value(lane)).clamp(least, most));
        sum as u64 & scalar.bits()
    }

    /// The value of a float rounded to 16 bits.
    pub fn in_half(&self, bits: u64) -> u64 {
        let half = float::bits(Scalar::Float16, float::value(self.scalar(), bits));
        float::bits(self.scalar(), float::value(Scalar::Float16, half))
    }

    /// The result where some lanes get what another set of lanes would, the others what is right.
    pub fn by(&self, tangle: u128, of: u128, out: &mut [u64]) -> Result<u128, Ub> {
        let size = self.instance.size;
        let mut other = vec![0; out.len()];
        let undefined = self.on(&Instance { tangle, ..*self.instance }, &mut other)?;
        for component in 0..out.len() / size {
            lanes(of).for_each(|lane| out[component * size + lane] = other[component * size + lane]);
        }
        Ok(undefined & of)
    }

    pub fn right(&self, out: &mut [u64]) -> Result<u128, Ub> {
        self.on(self.instance, out)
    }

    /// The lower and the upper half of the active lanes.
    pub fn halves(&self) -> [u128; 2] {
        let half = self.tangle().count_ones() as usize / 2;
        let upper = lanes(self.tangle()).skip(half).fold(0, |mask, lane| mask | 1 << lane);
        [self.tangle() & !upper, upper]
    }

    /// Everybody but the lowest active lane executes it together; the lowest one gets what `lowest` says.
    pub fn without_first(&self, out: &mut [u64]) -> Result<u128, Ub> {
        self.right(out)?;
        let rest = self.tangle() & !lowest(self.tangle());
        self.by(rest, rest, out)
    }
}

/// The integer type as wide as a float, signed or not as `like`.
pub(super) fn integer_like(scalar: Scalar, like: Scalar) -> Scalar {
    let fits = |other: &Scalar| other.size() == scalar.size() && other.is_signed() == like.is_signed();
    Scalar::INTEGERS.into_iter().find(fits).unwrap_or(Scalar::Int)
}

/// An integer of 8 or 16 bits.
pub(super) fn is_narrow(scalar: Scalar) -> bool {
    scalar.is_integer() && matches!(scalar.size(), 8 | 16)
}
