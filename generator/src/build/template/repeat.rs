//! The same operation in several places: what must not be merged, hoisted or sunk.

use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Block, Builtin, Expr, Stmt, ends_in_jump};
use tangle_program::types::{Scalar, Type};

use super::super::Builder;
use super::super::cond::Cond;
use super::super::frame::{Key, Role, Source};
use super::super::log::Moment;
use super::super::term::{Want, bin, lane, uint};
use crate::class::{Class, Decision};

impl Builder<'_> {
    /// `if (c) { r = op(x); } else { r = op(x); }`
    pub(super) fn sibling_arms(&mut self, out: &mut Block) {
        let ty = self.number_type();
        let detector = self.detector(ty);
        let value = self.own_value(ty);
        let other = if self.draw.percent(65) { value.clone() } else { self.own_value(ty) };
        let cond = self.condition();
        // Both arms write one variable, of the class the results have there.
        let class = self.frame.flow.arm(cond.decision).class();
        let result = self.result_variable(ty, class);
        let more = self.draw.percent(30);
        let arm = |value: Expr| {
            move |b: &mut Self| {
                let mut block = Vec::new();
                if more {
                    b.extend(1, &mut block);
                }
                if !ends_in_jump(&block) {
                    // What came before may have parted the lanes of the arm.
                    if b.frame.flow.class() > class {
                        b.detect(detector, ty, value, &mut block);
                    } else {
                        b.set(result, detector.on(value), &mut block);
                        b.observe(Moment::Operation, &[result], &mut block);
                    }
                }
                block
            }
        };
        let stmt = self.branch(cond, arm(value.clone()), arm(other));
        out.push(stmt);
        self.observe(Moment::Operation, &[result], out);
        if self.draw.percent(40) {
            self.detect(detector, ty, value, out);
        }
    }

    /// The same operation on the same value, and then on a changed one.
    pub(super) fn repeated(&mut self, out: &mut Block) {
        let ty = self.number_type();
        let detector = self.detector(ty);
        let value = self.result_variable(ty, Class::Clean);
        let start = self.own_value(ty);
        self.set(value, start, out);
        for _ in 0..2 + self.draw.below(2) {
            self.detect(detector, ty, Expr::Var(value), out);
            match self.draw.below(4) {
                0 | 1 => {
                    let change = self.own_value(ty);
                    self.add_to(value, change, out);
                }
                2 => {
                    let cond = self.own_condition();
                    let change = self.own_value(ty);
                    let stmt = self.branch(
                        cond,
                        |b| {
                            let mut block = Vec::new();
                            b.add_to(value, change, &mut block);
                            block
                        },
                        |_| Vec::new(),
                    );
                    out.push(stmt);
                }
                _ => out.push(Stmt::SubgroupBarrier(SubgroupOp::Barrier)),
            }
        }
        self.detect(detector, ty, Expr::Var(value), out);
    }

    /// Operations without lane 0, without the last lane, or without both halves of a pair.
    pub(super) fn edge_lanes(&mut self, out: &mut Block) {
        let size = || Expr::Builtin(Builtin::SubgroupSize);
        let expr = match self.draw.below(6) {
            0 | 1 => bin(BinaryOp::Ne, lane(), uint(0)),
            2 | 3 => bin(BinaryOp::Lt, bin(BinaryOp::Add, lane(), uint(1)), size()),
            4 => bin(BinaryOp::Gt, lane(), uint(self.draw.range(1, 2))),
            _ => bin(BinaryOp::Eq, bin(BinaryOp::BitAnd, lane(), uint(1)), uint(self.draw.below(2))),
        };
        let count = 2 + self.draw.below(2);
        let stmt = self.branch(
            Cond { expr, decision: Decision::Divergent, source: Source::Lane },
            |b| {
                let mut block = Vec::new();
                for _ in 0..count {
                    b.operation_statement(&mut block);
                }
                block
            },
            |_| Vec::new(),
        );
        out.push(stmt);
    }

    /// Operations with uniform operands where a condition fixes what a key is: the same in all lanes that are there, something else in
    /// the others.
    pub(super) fn keyed(&mut self, out: &mut Block) {
        let mask = self.draw.pick(&[3, 1, 7]);
        let word = match self.draw.below(2) {
            0 => lane(),
            _ => self.varying(Scalar::Uint, Want::own(1)),
        };
        let mut key = bin(BinaryOp::BitAnd, word, uint(mask));
        if self.draw.percent(60) {
            let var = self.private("key", Type::UINT);
            self.set(var, key, out);
            key = Expr::Var(var);
        } else if key.any(&mut |part| match part {
            Expr::Var(_) | Expr::Float(..) => true,
            Expr::Cast(to, _) => to.is_float(),
            _ => false,
        }) {
            // What it is made of could be written in the arm, and equal floats may be zeros of either sign.
            key = bin(BinaryOp::BitAnd, lane(), uint(mask));
        }
        let known = match self.draw.below(3) {
            0 => bin(BinaryOp::BitAnd, self.constant_word(), uint(mask)),
            _ => uint(self.draw.below(mask + 1)),
        };
        let expr = bin(BinaryOp::Eq, key.clone(), known);
        let (count, with_else) = (1 + self.draw.below(2), self.draw.percent(40));
        let stmt = self.branch(
            Cond { expr, decision: Decision::Divergent, source: Source::Other },
            |b| {
                let resource = (b.has_resources() && b.draw.percent(25)).then(|| key.clone());
                b.knowing([Key { expr: key, ty: Type::UINT, exact: false }], |b| {
                    let mut block = Vec::new();
                    if let Some(key) = resource {
                        b.keep_resource(key, false, &mut block);
                    }
                    for _ in 0..count {
                        b.keyed_operation(&mut block);
                    }
                    if b.draw.percent(40) {
                        b.extend(1, &mut block);
                    }
                    block
                })
            },
            |b| if with_else { b.filled(1) } else { Vec::new() },
        );
        out.push(stmt);
    }

    /// `k = x & 3; if (c) { k = u & 3; v = array[k]; … } w = array[nonuniformEXT(k)];`
    pub(super) fn descriptor(&mut self, out: &mut Block) {
        let which = self.private("which", Type::UINT);
        let own = self.varying(Scalar::Uint, Want::own(1));
        let index = self.resource_index(own);
        self.set(which, index, out);
        let cond = self.own_condition();
        let (with_else, more) = (self.draw.percent(30), self.draw.percent(30));
        let stmt = self.branch(
            cond,
            |b| {
                let mut block = Vec::new();
                let word = b.constant_word();
                let index = b.resource_index(word);
                b.set(which, index, &mut block);
                b.keep_resource(Expr::Var(which), false, &mut block);
                if more {
                    b.extend(1, &mut block);
                }
                b.observe(Moment::Place, &[], &mut block);
                block
            },
            |b| if with_else { b.filled(1) } else { Vec::new() },
        );
        out.push(stmt);
        self.keep_resource(Expr::Var(which), true, out);
    }

    /// An operation with an operand that has to be uniform, its result kept.
    pub(crate) fn keyed_operation(&mut self, out: &mut Block) {
        let Some((value, ty, class)) = self.uniform_operation() else { return self.operation_statement(out) };
        let var = self.result_variable(ty, class);
        self.keep(var, value, out);
    }

    /// A fast path for subgroups that agree.
    pub(super) fn vote_fast_path(&mut self, out: &mut Block) {
        let decision = if self.votes_are_uniform() { Decision::Uniform } else { Decision::Divergent };
        let expr = self.uniform_vote();
        let ty = self.number_type();
        let fast = self.draw.percent(60);
        let slow = 1 + self.draw.below(2);
        let stmt = self.branch(
            Cond { expr, decision, source: Source::Other },
            |b| {
                let mut block = Vec::new();
                if fast {
                    let detector = b.detector(ty);
                    let value = b.own_value(ty);
                    b.detect(detector, ty, value, &mut block);
                }
                b.extend(1, &mut block);
                b.nonempty(block)
            },
            |b| {
                let mut block = Vec::new();
                b.if_statement(&mut block);
                b.extend(slow, &mut block);
                block
            },
        );
        out.push(stmt);
    }

    /// `c && subgroupAny(x)`: the right side runs with a part of the lanes.
    pub(super) fn short_circuit(&mut self, out: &mut Block) {
        let op = self.draw.pick(&[BinaryOp::And, BinaryOp::Or]);
        let left = self.own_condition();
        let before = self.frame.flow;
        self.frame.flow = before.arm(left.decision);
        let class = self.frame.flow.class();
        let right = match self.draw.below(3) {
            0 => {
                let predicate = self.own_condition().expr;
                let op = self.draw.pick(&[SubgroupOp::Any, SubgroupOp::All]);
                Expr::subgroup(op, [predicate])
            }
            1 => {
                let detector = self.detector(Type::UINT);
                let value = self.own_value(Type::UINT);
                bin(BinaryOp::Ne, bin(BinaryOp::BitAnd, detector.on(value), uint(self.draw.pick(&[1, 2, 3]))), uint(0))
            }
            _ => match self.operation_of(Type::BOOL, class) {
                Some(expr) => expr,
                None => Expr::subgroup(SubgroupOp::Any, [Expr::Bool(true)]),
            },
        };
        self.frame.flow = before;
        let expr = bin(op, left.expr, right);
        if class == Class::Clean && self.draw.percent(50) {
            let size = 1 + self.draw.below(2);
            let cond = Cond { expr, decision: Decision::Divergent, source: left.source };
            let stmt = self.branch(cond, |b| b.filled(size), |_| Vec::new());
            return out.push(stmt);
        }
        let var = self.result_variable(Type::BOOL, class);
        self.set(var, expr, out);
        self.observe(Moment::Operation, &[var], out);
    }

    /// Ballot, operation, ballot in one block, all logged: the tangle of the operation lies between the two (docs/rules.md, section O).
    pub(super) fn sandwich(&mut self, out: &mut Block) {
        let class = self.frame.flow.class();
        let all = || Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]);
        let before = self.frame.local("before", Type::MASK, class, Role::Private);
        let after = self.frame.local("after", Type::MASK, class, Role::Private);
        let ty = self.number_type();
        let detector = self.detector(ty);
        let value = self.own_value(ty);
        let result = self.result_variable(ty, class);
        self.set(before, all(), out);
        self.set(result, detector.on(value), out);
        self.set(after, all(), out);
        self.log(vec![Expr::Var(before), Expr::Var(result), Expr::Var(after)], out);
    }
}
