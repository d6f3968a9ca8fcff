//! Loops whose iterations only sum something up: as many of these as every lane makes are made at once.
//!
//! What tens of thousands of them leave behind is known without making each: `x + e` so many times is `x + n * e` in the arithmetic of the type (rule N1), and
//! `x ^ e` twice is `x`. The last iterations, in which lanes leave, are made one by one.

use std::rc::Rc;

use smallvec::SmallVec;
use tangle_program::ops::{self, BinaryOp};
use tangle_program::types::Scalar;

use super::frame::Frame;
use super::stop::Stop;
use super::{Flow, Machine};
use crate::lower::{Form, LoopCode, Node, Step};
use crate::rules::Rules;
use crate::value::Value;

/// Fewer iterations are made one by one.
const FEWEST: u64 = 64;
/// So many at the end, too.
const LAST: u64 = 2;

/// `x = x + e` or `x = x ^ e`, with an `e` that is the same in every iteration.
struct Sum<'a> {
    var: usize,
    op: BinaryOp,
    scalar: Scalar,
    by: &'a Node,
}

/// The sums that the body of a loop consists of.
fn sums(code: &LoopCode) -> Option<SmallVec<[Sum<'_>; 2]>> {
    let is_plain = match &code.form {
        Form::For { update, .. } => update.is_empty(),
        Form::While | Form::DoWhile | Form::Forever => true,
    };
    if code.cond.is_some() || !code.before.is_empty() || !is_plain || !code.block.iter().all(is_sum) {
        return None;
    }
    let sums: SmallVec<[Sum<'_>; 2]> = code
        .block
        .iter()
        .filter_map(|step| match step {
            Step::Assign { var, value: Node::Binary { op, scalar, rhs, .. } } => {
                Some(Sum { var: *var, op: *op, scalar: *scalar, by: rhs })
            }
            _ => None,
        })
        .collect();
    let mut changed: SmallVec<[usize; 3]> = sums.iter().map(|sum| sum.var).collect();
    changed.push(code.counter);
    let is_once = (1..changed.len()).all(|k| !changed[..k].contains(&changed[k]));
    let is_fixed = sums.iter().all(|sum| is_fixed(sum.by, &changed));
    (is_once && is_fixed && is_fixed_bound(code, &changed)).then_some(sums)
}

fn is_fixed_bound(code: &LoopCode, changed: &[usize]) -> bool {
    is_fixed(&code.bound, changed)
}

fn is_sum(step: &Step) -> bool {
    match step {
        Step::Assign { var, value: Node::Binary { op: BinaryOp::Add | BinaryOp::BitXor, scalar, lhs, .. } } => {
            scalar.is_integer() && matches!(**lhs, Node::Var(of) if of == *var)
        }
        _ => false,
    }
}

/// True for a value that follows from variables that the loop leaves alone and from what never changes.
fn is_fixed(node: &Node, changed: &[usize]) -> bool {
    match node {
        Node::Const { .. }
        | Node::Builtin(_)
        | Node::Input(_)
        | Node::Uniform(_)
        | Node::Push(_)
        | Node::Constant(_) => true,
        Node::Var(var) => !changed.contains(var),
        Node::Unary { arg, .. } | Node::Cast { arg, .. } => is_fixed(arg, changed),
        Node::Binary { lhs, rhs, .. } => is_fixed(lhs, changed) && is_fixed(rhs, changed),
        Node::Flat(_)
        | Node::InputOf(..)
        | Node::ShortCircuit { .. }
        | Node::Select { .. }
        | Node::Intrinsic { .. }
        | Node::Vector(_)
        | Node::Component { .. }
        | Node::Subgroup(_)
        | Node::Load { .. }
        | Node::Resource { .. }
        | Node::Element { .. } => false,
    }
}

impl<'a, R: Rules> Machine<'a, R> {
    /// Makes the iterations at once that all lanes make, if there are many and they only sum something up. The counter has its first value.
    pub(super) fn skip_ahead(&mut self, frame: &mut Frame, code: &'a LoopCode, (a, u): &Flow) -> Result<(), Stop> {
        let Some(sums) = sums(code) else { return Ok(()) };
        let bound = self.eval(frame, &code.bound, a, u)?;
        let a = a.minus(&self.lost);
        let counter = &frame.vars[code.counter];
        let step = if let Form::For { step, .. } = &code.form { *step } else { 1 };
        let iterations = a.slots().map(|slot| {
            let distance = bound.columns[0][slot].saturating_sub(counter.columns[0][slot]);
            distance / u64::from(step.max(1))
        });
        // A lane of which it is not known when it leaves is lost at the next test, whatever it has summed up by then.
        let count = iterations.min().unwrap_or(0).saturating_sub(LAST);
        if count < FEWEST {
            return Ok(());
        }
        for sum in &sums {
            let by = self.eval(frame, sum.by, &a, u)?;
            let times = match sum.op {
                BinaryOp::BitXor => count % 2,
                _ => count,
            };
            let mut columns = by.columns.clone();
            for column in &mut columns {
                let mut whole = vec![0; column.len()];
                ops::binary(
                    BinaryOp::Mul,
                    sum.scalar,
                    column,
                    &vec![times & sum.scalar.bits(); column.len()],
                    &mut whole,
                );
                *column = Rc::new(whole);
            }
            let by = Value { columns, names: None, ..by };
            let summed = self.binary(sum.op, sum.scalar, frame.vars[sum.var].clone(), &by, &a)?;
            self.assign(frame, sum.var, summed, &a);
        }
        self.count(frame, code.counter, step.wrapping_mul(count as u32), &a);
        // All of them have made the same decisions; one by one their values are 1 and 0. With another number of iterations at once the path may be the same
        // and is taken for another one.
        self.note_path(code.decision, &a, count);
        Ok(())
    }
}
