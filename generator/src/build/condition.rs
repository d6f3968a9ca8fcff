//! Conditions, selectors and bounds: what parts the lanes.
//!
//! All of them are [`Class::Clean`]. They are made so that most of them are true for some lanes and false for others: single bits and
//! small fields of lane numbers, data and counters, not comparisons of arbitrary words. Which kind comes next: [`table`].

mod table;

use tangle_program::case::SpecConstant;
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Builtin, Expr, VarId};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::cond::{Cond, Outlook};
use super::frame::{Role, Source};
use super::term::{bin, cast, lane, uint};
use crate::class::{Class, Decision};
use crate::profile::Profile;
use table::CONDITIONS;

/// The weights of the table in a profile.
pub(super) fn weights(profile: Profile) -> Vec<u32> {
    CONDITIONS.iter().map(|row| row.weight.in_profile(profile)).collect()
}

fn masked(x: Expr, mask: u32) -> Expr {
    bin(BinaryOp::BitAnd, x, uint(mask))
}

impl Builder<'_> {
    /// A condition that lanes of the group may judge differently, or the same.
    pub(crate) fn condition(&mut self) -> Cond {
        let mut cond = self.condition_once();
        for _ in 0..2 {
            if self.outlook(&cond.expr) == Outlook::Mixed || cond.decision == Decision::Uniform {
                break;
            }
            cond = self.condition_once();
        }
        cond
    }

    fn condition_once(&mut self) -> Cond {
        if self.preserves() && self.draw.percent(10) {
            return self.preserved_condition();
        }
        let row = &CONDITIONS[self.draw.index(self.weights.rows.conditions.iter().copied())];
        (row.build)(self)
    }

    /// What says who is a helper.
    fn helper(&mut self) -> Builtin {
        match (self.demotes, self.config.demote && self.draw.percent(40)) {
            (true, _) | (false, true) => Builtin::Helper,
            (false, false) => Builtin::HelperInput,
        }
    }

    /// A condition on a lane's own data: no operation in it, and lanes likely differ.
    pub(crate) fn own_condition(&mut self) -> Cond {
        if self.is_fragment() && self.draw.percent(10) {
            return Cond::new(Expr::Builtin(self.helper()), Source::Local);
        }
        match self.draw.below(4) {
            0 => self.bits(),
            1 => self.compare(),
            2 => self.lanes(),
            _ => self.iteration_or_bits(),
        }
    }

    /// On the counter of a loop around, if there is one.
    fn iteration_or_bits(&mut self) -> Cond {
        match self.counter() {
            Some(counter) => self.iteration(counter),
            None => self.bits(),
        }
    }

    fn join(&mut self) -> Cond {
        let op = self.junction();
        let left = self.own_or_uniform();
        let before = self.frame.flow;
        if op != BinaryOp::Xor {
            self.frame.flow = before.arm(left.decision);
        }
        let right =
            if self.draw.percent(35) && self.frame.flow.is_exact() { self.vote() } else { self.own_condition() };
        self.frame.flow = before;
        Cond { expr: bin(op, left.expr, right.expr), decision: left.decision.and(right.decision), source: left.source }
    }

    fn own_or_uniform(&mut self) -> Cond {
        if self.draw.percent(15) { Cond::uniform(self.uniform_condition()) } else { self.own_condition() }
    }

    /// A word that differs between lanes, other than those that enclosing conditions tested.
    pub(crate) fn source(&mut self) -> (Expr, Source) {
        let first = self.any_source();
        if !self.frame.tested.contains(&first.1) {
            return first;
        }
        self.any_source()
    }

    fn any_source(&mut self) -> (Expr, Source) {
        if let Some(flat) = self.flat(15) {
            return (flat, Source::Other);
        }
        match self.draw.below(16) {
            0..=4 => {
                let k = self.draw.below(self.data.inputs.len() as u32);
                (Expr::Input(k), Source::Input(k))
            }
            5..=8 => (lane(), Source::Lane),
            9 | 10 => (Expr::Builtin(Builtin::LocalIndex), Source::Local),
            _ => match self.variable(Type::UINT, Class::Clean) {
                Some(var) => (Expr::Var(var), Source::Var(var)),
                None => (lane(), Source::Lane),
            },
        }
    }

    /// `(x & 5u) != 0u`
    fn bits(&mut self) -> Cond {
        let (x, source) = self.source();
        let expr = match self.draw.below(4) {
            0 => {
                let mask = self.draw.pick(&[1, 2, 3, 4, 5, 6]);
                bin(self.draw.pick(&[BinaryOp::Ne, BinaryOp::Eq]), masked(x, mask), uint(0))
            }
            1 => {
                let value = self.draw.below(4);
                bin(self.draw.pick(&[BinaryOp::Eq, BinaryOp::Ne]), masked(x, 3), uint(value))
            }
            2 => {
                let (m, k) = self.draw.pick(&[(3, 0), (3, 1), (3, 2), (5, 2), (5, 1)]);
                let op = self.draw.pick(&[BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Gt]);
                // Nothing is below 0 or, of a remainder, above `m - 1`; `k` keeps clear of both.
                let k = if op == BinaryOp::Lt { k.max(1) } else { k };
                let k = if op == BinaryOp::Gt { k.min(m - 2) } else { k };
                bin(op, bin(BinaryOp::Mod, x, uint(m)), uint(k))
            }
            _ => {
                let shift = self.draw.range(1, 3);
                bin(BinaryOp::Eq, masked(bin(BinaryOp::Shr, x, uint(shift)), 1), uint(self.draw.below(2)))
            }
        };
        Cond::new(expr, source)
    }

    /// Fields compared with each other or with a number inside their range.
    fn compare(&mut self) -> Cond {
        let (x, source) = self.source();
        let op = self.draw.pick(&[BinaryOp::Lt, BinaryOp::Ge, BinaryOp::Le, BinaryOp::Gt]);
        let expr = match self.draw.below(4) {
            0 => bin(op, masked(x, 7), uint(self.draw.range(1, 5))),
            1 => {
                let y = match self.any_source() {
                    (_, other) if other == source => bin(BinaryOp::Shr, x.clone(), uint(2)),
                    (y, _) => y,
                };
                bin(op, masked(x, 7), masked(y, 7))
            }
            2 => {
                let limit = masked(self.constant_word(), 7);
                bin(op, masked(x, 7), limit)
            }
            _ => {
                let signed = cast(Scalar::Int, masked(x, 7));
                let k = self.draw.range(1, 5) as i32;
                bin(op, bin(BinaryOp::Sub, signed, Expr::Int(k)), Expr::Int(0))
            }
        };
        Cond::new(expr, source)
    }

    /// The edges and halves of the subgroup.
    fn lanes(&mut self) -> Cond {
        let size = || Expr::Builtin(Builtin::SubgroupSize);
        let expr = match self.draw.below(7) {
            0 => bin(BinaryOp::Ne, lane(), uint(0)),
            1 => bin(BinaryOp::Lt, bin(BinaryOp::Add, lane(), uint(1)), size()),
            2 => bin(BinaryOp::Ge, lane(), bin(BinaryOp::Shr, size(), uint(1))),
            3 => bin(BinaryOp::Ge, lane(), uint(self.draw.range(1, 3))),
            4 => bin(BinaryOp::Ne, lane(), uint(self.draw.below(4))),
            5 => bin(BinaryOp::Lt, lane(), uint(self.draw.range(1, 4))),
            _ => bin(BinaryOp::Eq, masked(lane(), 1), uint(self.draw.below(2))),
        };
        Cond::new(expr, Source::Lane)
    }

    /// The counter of an enclosing loop, or of an earlier one.
    pub(crate) fn counter(&self) -> Option<VarId> {
        let counters = self.frame.vars.iter().enumerate().filter(|(_, var)| var.role == Role::Counter);
        let newest = counters.max_by_key(|(_, var)| var.written)?;
        self.frame.in_loop().then_some(newest.0 as VarId)
    }

    /// A condition that becomes true for one lane after another as the loop goes on.
    pub(crate) fn turning_condition(&mut self) -> Cond {
        let Some(counter) = self.counter() else { return self.own_condition() };
        let i = || Expr::Var(counter);
        let (x, source) = self.source_beside(counter);
        let expr = match self.draw.below(5) {
            0 => bin(BinaryOp::Ge, i(), masked(x, 3)),
            1 => bin(BinaryOp::Lt, masked(x, 3), i()),
            2 => bin(BinaryOp::Eq, masked(x, 3), masked(i(), 3)),
            3 => bin(BinaryOp::Eq, masked(bin(BinaryOp::BitXor, x, i()), 3), uint(self.draw.below(4))),
            _ => bin(BinaryOp::Gt, bin(BinaryOp::Add, masked(x, 1), i()), uint(self.draw.range(1, 2))),
        };
        Cond::new(expr, source)
    }

    /// A source other than the counter it is compared with.
    fn source_beside(&mut self, counter: VarId) -> (Expr, Source) {
        match self.source() {
            (_, Source::Var(var)) if var == counter => (lane(), Source::Lane),
            other => other,
        }
    }

    /// A condition under which lanes go on with a loop, some longer than others.
    pub(crate) fn staying_condition(&mut self) -> Expr {
        let Some(counter) = self.counter() else { return self.condition().expr };
        let i = || Expr::Var(counter);
        let (x, _) = self.source_beside(counter);
        match self.draw.below(4) {
            0 => bin(BinaryOp::Le, i(), masked(x, 3)),
            1 => bin(BinaryOp::Ne, i(), masked(x, 3)),
            2 => bin(BinaryOp::Ge, bin(BinaryOp::BitOr, masked(x, 7), uint(1)), i()),
            _ => bin(BinaryOp::Ne, masked(bin(BinaryOp::Add, x, i()), 3), uint(self.draw.below(4))),
        }
    }

    /// A condition that changes as the loop goes on.
    fn iteration(&mut self, counter: VarId) -> Cond {
        let i = || Expr::Var(counter);
        let (x, source) = self.source_beside(counter);
        let expr = match self.draw.below(6) {
            0 => bin(BinaryOp::Eq, masked(x, 3), masked(i(), 3)),
            1 => bin(BinaryOp::Ge, i(), masked(x, 3)),
            2 => bin(BinaryOp::Eq, masked(bin(BinaryOp::Add, x, i()), 1), uint(0)),
            3 => bin(BinaryOp::Gt, masked(x, 7), i()),
            4 => bin(BinaryOp::Eq, masked(bin(BinaryOp::BitXor, x, i()), 3), uint(self.draw.below(4))),
            _ => {
                let expr = bin(BinaryOp::Eq, i(), uint(self.draw.range(1, 3)));
                let uniform = self.frame.var(counter).uniform;
                return if uniform { Cond::uniform(expr) } else { Cond::new(expr, Source::Var(counter)) };
            }
        };
        Cond::new(expr, source)
    }

    /// A condition that all lanes of the tier's group judge alike.
    pub(crate) fn uniform_condition(&mut self) -> Expr {
        if self.draw.percent(30) && self.votes_are_uniform() {
            return self.uniform_vote();
        }
        let op = self.draw.pick(&[BinaryOp::Ne, BinaryOp::Eq]);
        let mask = self.draw.pick(&[1, 3, 2]);
        let word = match self.uniform_counter() {
            Some(counter) if self.draw.percent(50) => Expr::Var(counter),
            _ if self.draw.percent(20) => Expr::Builtin(Builtin::WorkgroupIndex),
            _ => self.constant_word(),
        };
        let value = self.draw.below(2);
        bin(op, masked(word, mask), uint(value))
    }

    pub(crate) fn uniform_counter(&self) -> Option<VarId> {
        let uniform = self.frame.vars.iter().rposition(|var| var.role == Role::Counter && var.uniform);
        uniform.map(|id| id as VarId)
    }

    /// True if votes give all lanes of the tier's group the same answer here.
    pub(crate) fn votes_are_uniform(&self) -> bool {
        use tangle_program::case::Tier;
        match self.config.tier {
            Tier::Maximal => self.frame.flow.is_exact(),
            Tier::SubgroupUniform => self.frame.flow.is_uniform(),
            Tier::Plain => false,
        }
    }

    /// A vote, or a reduction, compared: the same for all lanes that are together.
    pub(crate) fn uniform_vote(&mut self) -> Expr {
        let vote = self.has(SubgroupOp::Any);
        let add = self.has(SubgroupOp::Reduce(Fold::Add));
        match self.draw.below(6) {
            0 | 1 if vote => {
                let predicate = self.own_condition().expr;
                Expr::subgroup(SubgroupOp::Any, [predicate])
            }
            2 if vote => {
                let predicate = self.own_condition().expr;
                Expr::subgroup(SubgroupOp::All, [predicate])
            }
            3 if vote => {
                let (x, _) = self.source();
                Expr::subgroup(SubgroupOp::AllEqual, [masked(x, self.draw.pick(&[1, 2, 4]))])
            }
            4 if add => {
                let (x, _) = self.source();
                let fold = self.draw.pick(&[Fold::Add, Fold::Xor, Fold::Max, Fold::Min]);
                let sum = Expr::subgroup(SubgroupOp::Reduce(fold), [masked(x, 7)]);
                bin(BinaryOp::Ne, masked(sum, self.draw.pick(&[1, 2, 3])), uint(0))
            }
            _ if self.has(SubgroupOp::Ballot) => {
                let predicate = self.own_condition().expr;
                let ballot = Expr::subgroup(SubgroupOp::Ballot, [predicate]);
                let count = Expr::subgroup(SubgroupOp::BallotBitCount, [ballot]);
                bin(self.draw.pick(&[BinaryOp::Gt, BinaryOp::Le]), count, uint(self.draw.range(1, 4)))
            }
            _ => bin(BinaryOp::Ne, masked(self.constant_word(), 1), uint(0)),
        }
    }

    /// A condition on the result of a subgroup operation.
    fn vote(&mut self) -> Cond {
        let decision = if self.votes_are_uniform() { Decision::Uniform } else { Decision::Divergent };
        let (x, source) = self.source();
        let small = masked(x, self.draw.pick(&[3, 1, 7]));
        let min_max = [
            (Fold::Min, BinaryOp::Eq),
            (Fold::Max, BinaryOp::Ne),
            (Fold::Min, BinaryOp::Lt),
            (Fold::Max, BinaryOp::Eq),
        ];
        match self.draw.below(10) {
            0 if self.has(SubgroupOp::Elect) => Cond::new(Expr::subgroup(SubgroupOp::Elect, []), Source::Other),
            1 | 2 => Cond { expr: self.uniform_vote(), decision, source: Source::Other },
            3 | 4 if self.has(SubgroupOp::BroadcastFirst) => {
                let first = Expr::subgroup(SubgroupOp::BroadcastFirst, [small.clone()]);
                Cond::new(bin(self.draw.pick(&[BinaryOp::Eq, BinaryOp::Ne]), small, first), source)
            }
            5 | 6 if self.has(SubgroupOp::Reduce(Fold::Min)) => {
                let (fold, op) = self.draw.pick(&min_max);
                let extreme = Expr::subgroup(SubgroupOp::Reduce(fold), [small.clone()]);
                // `min < x`, not `x < min`.
                let expr = if op == BinaryOp::Lt { bin(op, extreme, small) } else { bin(op, small, extreme) };
                Cond::new(expr, source)
            }
            7 | 8 => match self.operation_of(Type::UINT, Class::Clean) {
                Some(result) => {
                    let mask = self.draw.pick(&[1, 2, 3]);
                    Cond::new(bin(BinaryOp::Ne, masked(result, mask), uint(self.draw.below(2))), Source::Other)
                }
                None => self.bits(),
            },
            _ => match self.operation_of(Type::BOOL, Class::Clean) {
                Some(expr) => Cond::new(expr, Source::Other),
                None => self.bits(),
            },
        }
    }

    /// A uint with a known upper bound up to `most`, which is at least 1, and the bound.
    pub(crate) fn bound(&mut self, most: u32, decision: Decision) -> (Expr, u32) {
        let bound = self.bound_once(most, decision);
        // Loops that nobody enters are rare enough without looking for them.
        let zero =
            self.estimate(|guess| guess.values(&bound.0)).is_some_and(|values| values.iter().all(|&(v, _)| v == 0));
        if zero && !self.draw.percent(10) { self.bound_once(most, decision) } else { bound }
    }

    /// A bound of up to `most`, for many of the lanes far from 0.
    pub(crate) fn long_bound(&mut self, most: u32, decision: Decision) -> (Expr, u32) {
        if decision == Decision::Uniform {
            return (uint(most), most);
        }
        let mask = ones_below(most + 1);
        let (x, _) = self.source();
        let spread = bin(BinaryOp::Mul, x, uint(self.draw.pick(&[1, 3, 5, 37])));
        (masked(spread, mask), mask)
    }

    fn bound_once(&mut self, most: u32, decision: Decision) -> (Expr, u32) {
        if decision == Decision::Uniform {
            return self.uniform_bound(most);
        }
        let (x, _) = self.source();
        match self.draw.below(8) {
            0 | 1 => self.uniform_bound(most),
            2 | 3 if most >= 2 => {
                let mask = ones_below(most);
                (bin(BinaryOp::Add, masked(x, mask), uint(1)), mask + 1)
            }
            4 => (Expr::Intrinsic(Intrinsic::Min, vec![x, uint(most)]), most),
            5 => (bin(BinaryOp::Mod, x, uint(most + 1)), most),
            6 => {
                let counted = Expr::Intrinsic(Intrinsic::BitCount, vec![masked(x, ones_below(1 << most.min(5)))]);
                (cast(Scalar::Uint, counted), most.min(5))
            }
            _ => {
                let mask = ones_below(most + 1);
                (masked(x, mask), mask)
            }
        }
    }

    fn uniform_bound(&mut self, most: u32) -> (Expr, u32) {
        match self.draw.below(4) {
            0 | 1 => {
                let count = self.draw.range(2.min(most), most);
                (uint(count), count)
            }
            2 if most >= 2 => {
                let mask = ones_below(most);
                (bin(BinaryOp::Add, masked(self.constant_word(), mask), uint(1)), mask + 1)
            }
            // The first ones of the constants and the uniforms are small numbers, and their values are known.
            _ => {
                if let Some(SpecConstant { default, value }) = self.data.constants.first() {
                    let count = (*default).max(*value);
                    if count <= most {
                        return (Expr::Constant(0), count);
                    }
                }
                let word = self.data.uniforms[0];
                if word <= most { (Expr::Uniform(0), word) } else { (uint(most), most) }
            }
        }
    }
}

/// The greatest `2^k - 1` below `n`, for `n` at least 1.
fn ones_below(n: u32) -> u32 {
    (1 << (n.max(1)).ilog2()) - 1
}
