//! An estimate of which invocations are active where, so that little of a program is dead.
//!
//! Some invocations, the first ones of the dispatch, are followed: [`EstimatedMask`] is a set of them. As far as loops are not involved the
//! estimate knows their variables ([`Guess`]), and so for which of them a condition holds; where it does not know it assumes that a
//! condition holds for all. Nothing relies on the estimate but taste: conditions that are always true or contradict the ones around
//! them are drawn again, labels are chosen among the values that occur. Subgroups are guessed to be of [`GUESSED_SIZE`]
//! consecutive invocations.

use tangle_program::case::{Data, EntryPoint};
use tangle_program::float;
use tangle_program::ops::{self, BinaryOp, UnaryOp};
use tangle_program::subgroup::{Component, Instance, SubgroupOp};
use tangle_program::tree::{Builtin, Expr, SubgroupCall, VarId};
use tangle_program::types::{Scalar, Type};

/// How many invocations are followed.
const FOLLOWED: usize = 32;
/// The subgroup size that is guessed.
const GUESSED_SIZE: usize = 16;

type Column = [u64; FOLLOWED];

/// What the followed invocations are believed to hold in a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guess(Column);

impl Guess {
    /// The same in all.
    pub(crate) fn all(value: u32) -> Guess {
        Guess([value.into(); FOLLOWED])
    }

    /// This guess, and `other` for those of the mask.
    pub(crate) fn overwritten(mut self, other: Guess, estimated: EstimatedMask) -> Guess {
        estimated.members().for_each(|i| self.0[i] = other.0[i]);
        self
    }
}

/// A set of followed invocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EstimatedMask(u32);

impl EstimatedMask {
    /// All that exist in the launch.
    pub(crate) fn all(entry_point: &EntryPoint) -> EstimatedMask {
        let count = entry_point.invocations();
        EstimatedMask(u32::MAX >> (32 - count.clamp(1, FOLLOWED as u32)))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(crate) fn and(self, other: EstimatedMask) -> EstimatedMask {
        EstimatedMask(self.0 & other.0)
    }

    pub(crate) fn or(self, other: EstimatedMask) -> EstimatedMask {
        EstimatedMask(self.0 | other.0)
    }

    pub(crate) fn without(self, other: EstimatedMask) -> EstimatedMask {
        EstimatedMask(self.0 & !other.0)
    }

    pub(crate) const NONE: EstimatedMask = EstimatedMask(0);

    fn of(column: &Column) -> EstimatedMask {
        let bit = |(i, &value): (usize, &u64)| u32::from(value != 0) << i;
        EstimatedMask(column.iter().enumerate().map(bit).fold(0, |all, bit| all | bit))
    }

    fn members(self) -> impl Iterator<Item = usize> {
        (0..FOLLOWED).filter(move |i| self.0 >> i & 1 == 1)
    }
}

/// Evaluates for the followed invocations.
pub(crate) struct Estimate<'a> {
    pub(crate) entry_point: &'a EntryPoint,
    pub(crate) data: &'a Data,
    /// What is guessed of each variable, by its number; `None` where nothing is.
    pub(crate) guesses: &'a [Option<Guess>],
    /// Scalar types of the variables.
    pub(crate) scalar_of: &'a dyn Fn(VarId) -> Scalar,
    /// Those that are active here.
    pub(crate) estimated: EstimatedMask,
}

impl Estimate<'_> {
    /// Those for whom the condition holds, if that is known.
    pub(crate) fn holds(&self, cond: &Expr) -> Option<EstimatedMask> {
        self.column(cond).map(|(column, _)| EstimatedMask::of(&column))
    }

    /// What a variable holds after it was set to this.
    pub(crate) fn guess(&self, value: &Expr) -> Option<Guess> {
        self.column(value).map(|(column, _)| Guess(column))
    }

    /// The values that the expression has here, ascending, and who has them.
    pub(crate) fn values(&self, expr: &Expr) -> Option<Vec<(u32, EstimatedMask)>> {
        let (column, _) = self.column(expr)?;
        let mut values: Vec<(u32, EstimatedMask)> = Vec::new();
        for i in self.estimated.members() {
            let (value, own) = (column[i] as u32, EstimatedMask(1 << i));
            match values.binary_search_by_key(&value, |&(value, _)| value) {
                Ok(at) => values[at].1 = values[at].1.or(own),
                Err(at) => values.insert(at, (value, own)),
            }
        }
        Some(values)
    }

    /// The values of a scalar expression, as bits of its type.
    fn column(&self, expr: &Expr) -> Option<(Column, Scalar)> {
        use Scalar::{Bool, Int, Uint};
        let all = |value: u32| [u64::from(value); FOLLOWED];
        Some(match expr {
            Expr::Bool(value) => (all(u32::from(*value)), Bool),
            Expr::Int(value) => (all(*value as u32), Int),
            Expr::Uint(value) => (all(*value), Uint),
            Expr::Float(scalar, quarters) => ([float::bits(*scalar, f64::from(*quarters) / 4.0); FOLLOWED], *scalar),
            Expr::Var(var) => (self.guesses[*var as usize]?.0, (self.scalar_of)(*var)),
            Expr::Input(k) => {
                let words = self.data.inputs.get(*k as usize)?;
                (std::array::from_fn(|i| words.get(i).copied().unwrap_or(0).into()), Uint)
            }
            Expr::Flat(k) => (all(*self.data.flats.get(*k as usize)?.first()?), Uint),
            Expr::Uniform(k) => (all(*self.data.uniforms.get(*k as usize)?), Uint),
            Expr::Push(k) => (all(*self.data.push.get(*k as usize)?), Uint),
            Expr::Constant(k) => (all(self.data.constants.get(*k as usize)?.value), Uint),
            Expr::Load(_) | Expr::Resource(_) | Expr::InputOf(..) | Expr::Element(..) => return None,
            Expr::Builtin(builtin) => (self.builtin(*builtin)?, Uint),
            Expr::Unary(op, x) => {
                let (x, scalar) = self.column(x)?;
                (
                    each(|out| ops::unary(*op, scalar, &x, out.as_mut_slice())),
                    if *op == UnaryOp::Not { Bool } else { scalar },
                )
            }
            Expr::Cast(to, x) => {
                let (x, from) = self.column(x)?;
                (x.map(|x| ops::cast(from, *to, x)), *to)
            }
            Expr::Binary(op, x, y) => self.binary(*op, x, y)?,
            Expr::Select(c, x, y) => {
                let ((c, _), (x, scalar), (y, _)) = (self.column(c)?, self.column(x)?, self.column(y)?);
                (std::array::from_fn(|i| if c[i] != 0 { x[i] } else { y[i] }), scalar)
            }
            Expr::Subgroup(call) => self.subgroup(call)?,
            Expr::Intrinsic(..) | Expr::Vector(..) | Expr::Component(..) => return None,
        })
    }

    fn binary(&self, op: BinaryOp, x: &Expr, y: &Expr) -> Option<(Column, Scalar)> {
        let ((x, scalar), (y, _)) = (self.column(x)?, self.column(y)?);
        let gives_bool = op.is_comparison() || op.is_logical();
        Some((each(|out| ops::binary(op, scalar, &x, &y, out)), if gives_bool { Scalar::Bool } else { scalar }))
    }

    fn builtin(&self, builtin: Builtin) -> Option<Column> {
        let count = self.entry_point.group_size() as usize;
        let each = |f: &dyn Fn(usize) -> usize| std::array::from_fn(|i| f(i) as u64);
        Some(match builtin {
            Builtin::LocalIndex => each(&|i| i % count),
            Builtin::WorkgroupIndex => each(&|i| i / count),
            Builtin::Lane => each(&|i| i % GUESSED_SIZE),
            Builtin::SubgroupSize => each(&|_| GUESSED_SIZE),
            _ => return None,
        })
    }

    /// An operation on scalars, or a count of a ballot taken on the spot.
    fn subgroup(&self, call: &SubgroupCall) -> Option<(Column, Scalar)> {
        let info = call.op.info();
        if call.op == SubgroupOp::BallotBitCount {
            let Some(Expr::Subgroup(SubgroupCall { op: SubgroupOp::Ballot, args, .. })) = call.args.first() else {
                return None;
            };
            let (predicate, _) = self.column(args.first()?)?;
            return Some((self.counts(EstimatedMask::of(&predicate).and(self.estimated)), Scalar::Uint));
        }
        let args = call.args.iter().map(|arg| self.column(arg)).collect::<Option<Vec<_>>>()?;
        let scalar = args.first().map_or(Scalar::Bool, |(_, scalar)| *scalar);
        let gives = info.result_type(Some(Type::scalar(scalar)))?;
        if !gives.is_scalar() {
            return None;
        }
        let mut result = [0; FOLLOWED];
        for first in (0..FOLLOWED).step_by(GUESSED_SIZE) {
            let tangle = u128::from(self.estimated.0 >> first) & ((1 << GUESSED_SIZE) - 1);
            if tangle == 0 {
                continue;
            }
            let lanes: Vec<&[u64]> = args.iter().map(|(column, _)| &column[first..first + GUESSED_SIZE]).collect();
            let cluster = call.cluster.map_or(0, |n| n as usize).min(GUESSED_SIZE);
            let instance = Instance {
                size: GUESSED_SIZE,
                tangle,
                scalar,
                component: Component::SCALAR,
                cluster,
                preserved: false,
                args: &lanes,
            };
            (info.meaning)(&instance, &mut result[first..first + GUESSED_SIZE]).ok()?;
        }
        Some((result, gives.scalar))
    }

    fn counts(&self, of: EstimatedMask) -> Column {
        let mut counts = [0; FOLLOWED];
        for first in (0..FOLLOWED).step_by(GUESSED_SIZE) {
            let bits = (of.0 >> first) & ((1 << GUESSED_SIZE) - 1);
            counts[first..first + GUESSED_SIZE].fill(bits.count_ones().into());
        }
        counts
    }
}

fn each(f: impl FnOnce(&mut Column)) -> Column {
    let mut out = [0; FOLLOWED];
    f(&mut out);
    out
}
