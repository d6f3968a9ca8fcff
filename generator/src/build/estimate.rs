//! A guess at who gets where, so that little of a program is dead.
//!
//! Some invocations, the first ones of the dispatch, are followed: [`Crowd`] is a set of them. A condition or selector over inputs,
//! constants and invocation numbers has a known value for each of them; one over variables has not, and is believed to keep
//! everybody. Nothing relies on the guess but taste: conditions that are always true or contradict the ones around them
//! are drawn again, labels are chosen among the values that occur.

use tangle_program::case::{Data, Launch};
use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::tree::{Builtin, Expr};
use tangle_program::types::Scalar;

/// How many invocations are followed.
const FOLLOWED: usize = 32;
/// The subgroup size that lane numbers are guessed with.
const GUESSED_SIZE: u32 = 16;

type Column = [u32; FOLLOWED];

/// A set of followed invocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crowd(u32);

impl Crowd {
    /// All that exist in the launch.
    pub(crate) fn everybody(launch: &Launch) -> Crowd {
        let count = launch.invocations().saturating_mul(launch.workgroups());
        Crowd(u32::MAX >> (32 - count.clamp(1, FOLLOWED as u32)))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn and(self, other: Crowd) -> Crowd {
        Crowd(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Crowd) -> Crowd {
        Crowd(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Crowd) -> Crowd {
        Crowd(self.0 & !other.0)
    }

    pub(crate) const NOBODY: Crowd = Crowd(0);

    fn of(column: &Column) -> Crowd {
        let bit = |(i, &value): (usize, &u32)| u32::from(value != 0) << i;
        Crowd(column.iter().enumerate().map(bit).fold(0, |all, bit| all | bit))
    }

    fn members(self) -> impl Iterator<Item = usize> {
        (0..FOLLOWED).filter(move |i| self.0 >> i & 1 == 1)
    }
}

/// Evaluates for the followed invocations.
pub(crate) struct Estimate<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) data: &'a Data,
}

impl Estimate<'_> {
    /// Those for whom the condition holds, if that can be told.
    pub(crate) fn holds(&self, cond: &Expr) -> Option<Crowd> {
        self.column(cond).map(|column| Crowd::of(&column))
    }

    /// The values that the expression has among these, ascending, and who has them.
    pub(crate) fn values(&self, expr: &Expr, among: Crowd) -> Option<Vec<(u32, Crowd)>> {
        let column = self.column(expr)?;
        let mut values: Vec<(u32, Crowd)> = Vec::new();
        for i in among.members() {
            let own = Crowd(1 << i);
            match values.binary_search_by_key(&column[i], |&(value, _)| value) {
                Ok(at) => values[at].1 = values[at].1.or(own),
                Err(at) => values.insert(at, (column[i], own)),
            }
        }
        Some(values)
    }

    fn column(&self, expr: &Expr) -> Option<Column> {
        Some(match expr {
            Expr::Bool(value) => [u32::from(*value); FOLLOWED],
            Expr::Int(value) => [*value as u32; FOLLOWED],
            Expr::Uint(value) => [*value; FOLLOWED],
            Expr::Input(k) => {
                let words = self.data.inputs.get(*k as usize)?;
                std::array::from_fn(|i| words.get(i).copied().unwrap_or(0))
            }
            Expr::Uniform(k) => [*self.data.uniforms.get(*k as usize)?; FOLLOWED],
            Expr::Push(k) => [*self.data.push.get(*k as usize)?; FOLLOWED],
            Expr::Builtin(builtin) => self.builtin(*builtin)?,
            Expr::Unary(UnaryOp::Not, x) => self.column(x)?.map(|x| x ^ 1),
            Expr::Cast(Scalar::Int | Scalar::Uint, x) => self.column(x)?,
            Expr::Binary(op, x, y) => {
                let (x, y) = (self.column(x)?, self.column(y)?);
                let f = binary(*op, is_signed(expr))?;
                std::array::from_fn(|i| f(x[i], y[i]))
            }
            _ => return None,
        })
    }

    fn builtin(&self, builtin: Builtin) -> Option<Column> {
        let count = self.launch.invocations();
        let each = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|i| f(i as u32));
        Some(match builtin {
            Builtin::LocalIndex => each(&|i| i % count),
            Builtin::WorkgroupIndex => each(&|i| i / count),
            Builtin::Lane => each(&|i| i % count % GUESSED_SIZE),
            Builtin::SubgroupSize => [GUESSED_SIZE; FOLLOWED],
            _ => return None,
        })
    }
}

/// True for a comparison of ints.
fn is_signed(expr: &Expr) -> bool {
    match expr {
        Expr::Int(_) | Expr::Cast(Scalar::Int, _) => true,
        Expr::Binary(_, x, y) => is_signed(x) || is_signed(y),
        _ => false,
    }
}

fn binary(op: BinaryOp, signed: bool) -> Option<fn(u32, u32) -> u32> {
    Some(match op {
        BinaryOp::Add => u32::wrapping_add,
        BinaryOp::Sub => u32::wrapping_sub,
        BinaryOp::BitAnd | BinaryOp::And => |x, y| x & y,
        BinaryOp::BitOr | BinaryOp::Or => |x, y| x | y,
        BinaryOp::BitXor | BinaryOp::Xor => |x, y| x ^ y,
        BinaryOp::Shr if !signed => |x, y| x.wrapping_shr(y),
        BinaryOp::Mod if !signed => |x, y| x.checked_rem(y).unwrap_or(0),
        BinaryOp::Eq => |x, y| u32::from(x == y),
        BinaryOp::Ne => |x, y| u32::from(x != y),
        BinaryOp::Lt if signed => |x, y| u32::from((x as i32) < y as i32),
        BinaryOp::Le if signed => |x, y| u32::from(x as i32 <= y as i32),
        BinaryOp::Gt if signed => |x, y| u32::from(x as i32 > y as i32),
        BinaryOp::Ge if signed => |x, y| u32::from(x as i32 >= y as i32),
        BinaryOp::Lt => |x, y| u32::from(x < y),
        BinaryOp::Le => |x, y| u32::from(x <= y),
        BinaryOp::Gt => |x, y| u32::from(x > y),
        BinaryOp::Ge => |x, y| u32::from(x >= y),
        _ => return None,
    })
}
