//! Values that travel between lanes: compaction, scans, butterflies, quads.
//!
//! Whether a source lane is there is known only after the run, so most results are [`Class::MaybeUndefined`].

use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Category, Fold, SubgroupOp};
use tangle_program::tree::{Block, Builtin, Expr, SubgroupCall, Test, VarId};
use tangle_program::types::{Scalar, Type};

use super::super::Builder;
use super::super::cond::Cond;
use super::super::control::LoopHead;
use super::super::frame::{Role, Source};
use super::super::log::Moment;
use super::super::term::{Want, bin, lane, uint};
use crate::class::{Class, Decision};
use crate::weights::LoopForm;

/// `first << counter`
fn doubled(first: u32, counter: VarId) -> Expr {
    bin(BinaryOp::Shl, uint(first), bin(BinaryOp::BitAnd, Expr::Var(counter), uint(7)))
}

impl Builder<'_> {
    /// Lanes that meet a condition are numbered and moved together.
    pub(super) fn compaction(&mut self, out: &mut Block) {
        let class = self.frame.flow.class();
        let cond = self.own_condition();
        let wanted = cond.expr.clone();
        let mask = self.result_variable(Type::MASK, class);
        self.set(mask, Expr::subgroup(SubgroupOp::Ballot, [wanted.clone()]), out);
        let ballot = Expr::subgroup(SubgroupOp::Ballot, [wanted]);
        let total = self.result_variable(Type::UINT, class);
        self.set(total, Expr::subgroup(SubgroupOp::BallotBitCount, [ballot]), out);
        self.observe(Moment::Operation, &[mask, total], out);
        let stmt = self.branch(cond, |b| b.compacted(mask), |_| Vec::new());
        out.push(stmt);
    }

    fn compacted(&mut self, mask: VarId) -> Block {
        let mut out = Vec::new();
        let scan = self.draw.pick(&[SubgroupOp::BallotExclusiveBitCount, SubgroupOp::BallotInclusiveBitCount]);
        // The same number twice: from the ballot of all lanes, and from one taken here.
        let (operand, class) = if self.draw.percent(50) {
            (Expr::Var(mask), Class::MaybeUndefined)
        } else {
            (Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]), self.frame.flow.class())
        };
        let place = self.result_variable(Type::UINT, class);
        self.set(place, Expr::subgroup(scan, [operand]), &mut out);
        self.observe(Moment::Operation, &[place], &mut out);
        if self.has(SubgroupOp::Shuffle) && class < Class::MaybeUndefined {
            let ty = self.number_type();
            let value = self.own_value(ty);
            let moved = self.result_variable(ty, Class::MaybeUndefined);
            self.set(moved, Expr::subgroup(SubgroupOp::Shuffle, [value, Expr::Var(place)]), &mut out);
            self.observe(Moment::Operation, &[moved], &mut out);
        }
        if self.draw.percent(50) {
            self.extend(1, &mut out);
        }
        out
    }

    /// A number that starts from a lane's own data and then may become undefined.
    fn traveller(&mut self, out: &mut Block) -> (VarId, Type) {
        let ty = self.number_type();
        let var = self.result_variable(ty, Class::MaybeUndefined);
        let value = self.own_value(ty);
        self.set(var, value, out);
        (var, ty)
    }

    /// One of the operators; of floats, a sum or difference.
    fn combination(&mut self, ty: Type, ops: &[BinaryOp]) -> BinaryOp {
        self.draw.pick(if ty.scalar.is_float() { &[BinaryOp::Add, BinaryOp::Sub] } else { ops })
    }

    /// A prefix sum in steps of 1, 2, 4, or of every second lane in steps of 2, 4, 8; from the lowest lane up or from the highest down.
    pub(super) fn shuffle_scan(&mut self, out: &mut Block) {
        let (sum, ty) = self.traveller(out);
        let moved = self.frame.local("moved", ty, Class::MaybeUndefined, Role::Private);
        let op = self.draw.pick(&[SubgroupOp::ShuffleUp, SubgroupOp::ShuffleUp, SubgroupOp::ShuffleDown]);
        let combine = self.combination(ty, &[BinaryOp::Add, BinaryOp::BitXor, BinaryOp::Add, BinaryOp::Mul]);
        let stride = self.draw.pick(&[1, 1, 2]);
        let steps = 2 + self.draw.below(2);
        let form = self.draw.pick(&[LoopForm::For, LoopForm::For, LoopForm::While, LoopForm::DoWhile]);
        let decision = self.counted_decision();
        let (stmt, counter) = self.repeat(
            LoopHead { form, bound: (uint(steps), steps), decision },
            |b, counter| b.within_subgroup(form, doubled(stride, counter)),
            |b, counter| {
                let mut body = Vec::new();
                let distance = || doubled(stride, counter);
                b.set(moved, Expr::subgroup(op, [Expr::Var(sum), distance()]), &mut body);
                b.observe(Moment::Assignment, &[moved], &mut body);
                let inside = if op == SubgroupOp::ShuffleUp {
                    bin(BinaryOp::Ge, lane(), distance())
                } else {
                    bin(BinaryOp::Lt, bin(BinaryOp::Add, lane(), distance()), Expr::Builtin(Builtin::SubgroupSize))
                };
                let cond = Cond { expr: inside, decision: Decision::Divergent, source: Source::Lane };
                let add = b.branch(
                    cond,
                    |b| {
                        let mut block = Vec::new();
                        b.set(sum, bin(combine, Expr::Var(sum), Expr::Var(moved)), &mut block);
                        block
                    },
                    |_| Vec::new(),
                );
                body.push(add);
                body
            },
        );
        out.push(stmt);
        self.observe(Moment::Loop, &[sum, counter], out);
    }

    /// Everybody's sum by exchanges with the lane whose number differs in one bit.
    pub(super) fn butterfly(&mut self, out: &mut Block) {
        let (sum, ty) = self.traveller(out);
        let combine = self.combination(ty, &[BinaryOp::Add, BinaryOp::BitXor, BinaryOp::BitOr]);
        let in_loop = self.affordable_trips() >= 3 && self.draw.percent(50);
        if !in_loop {
            for bit in self.butterfly_bits() {
                let partner = self.exchanged(sum, uint(1 << bit));
                self.set(sum, bin(combine, Expr::Var(sum), partner), out);
                self.observe(Moment::Assignment, &[sum], out);
            }
            return self.observe(Moment::Operation, &[sum], out);
        }
        let decision = self.counted_decision();
        let form = self.draw.pick(&[LoopForm::For, LoopForm::While, LoopForm::DoWhile, LoopForm::Forever]);
        let all = self.sure_size().max(8).ilog2().min(self.affordable_trips());
        let steps = if self.draw.percent(50) { all } else { 3 };
        let (stmt, counter) = self.repeat(
            LoopHead { form, bound: (uint(steps), steps), decision },
            |b, counter| b.within_subgroup(form, doubled(1, counter)),
            |b, counter| {
                let mut body = Vec::new();
                let partner = b.exchanged(sum, doubled(1, counter));
                b.set(sum, bin(combine, Expr::Var(sum), partner), &mut body);
                b.observe(Moment::Assignment, &[sum], &mut body);
                body
            },
        );
        out.push(stmt);
        self.observe(Moment::Loop, &[sum, counter], out);
    }

    /// Bits of lane numbers: the lowest ones, or all from the highest down.
    fn butterfly_bits(&mut self) -> Vec<u32> {
        let all = self.sure_size().max(4).ilog2();
        if self.draw.percent(35) { (0..all).rev().collect() } else { (0..2 + self.draw.below(2)).collect() }
    }

    /// Loops with a literal bound keep lanes together that come together.
    fn counted_decision(&self) -> Decision {
        let together = !self.is_maximal() && self.frame.flow.is_uniform();
        if together { Decision::Uniform } else { Decision::Divergent }
    }

    /// The test of a loop over distances, now and then: as long as the next one is less than the subgroup size.
    fn within_subgroup(&mut self, form: LoopForm, distance: Expr) -> Option<Test> {
        if form == LoopForm::Forever || !self.draw.percent(40) {
            return None;
        }
        let cond = bin(BinaryOp::Lt, distance, Expr::Builtin(Builtin::SubgroupSize));
        Some(Test { before: Vec::new(), cond })
    }

    /// The partner's value: by xor, or by a shuffle from the computed lane.
    fn exchanged(&mut self, value: VarId, bit: Expr) -> Expr {
        if self.has(SubgroupOp::Shuffle) && self.draw.percent(30) {
            return Expr::subgroup(SubgroupOp::Shuffle, [Expr::Var(value), bin(BinaryOp::BitXor, lane(), bit)]);
        }
        Expr::subgroup(SubgroupOp::ShuffleXor, [Expr::Var(value), bit])
    }

    /// A few exchanges within quads, the results put together.
    pub(super) fn quad_exchange(&mut self, out: &mut Block) {
        use SubgroupOp::{QuadBroadcast, QuadSwapDiagonal, QuadSwapHorizontal, QuadSwapVertical};
        let ty = self.data_type();
        let value = self.result_variable(ty, Class::Clean);
        let start = self.expr(ty, Want::of(Class::Clean, 1));
        self.set(value, start, out);
        let swaps = [QuadSwapHorizontal, QuadSwapVertical, QuadSwapDiagonal, QuadBroadcast];
        for _ in 0..2 + self.draw.below(2) {
            let op = self.draw.pick(&swaps);
            let var = self.result_variable(ty, Class::MaybeUndefined);
            let mut args = vec![Expr::Var(value)];
            if op == QuadBroadcast {
                args.push(uint(self.draw.below(4)));
            }
            self.set(var, Expr::subgroup(op, args), out);
            self.observe(Moment::Operation, &[var], out);
        }
        let clustered = self.config.categories.contains(&Category::Clustered) && self.sure_size() >= 4;
        if clustered && ty.scalar != Scalar::Bool {
            let class = self.frame.flow.class();
            let sum = self.result_variable(ty, class);
            let call =
                SubgroupCall { op: SubgroupOp::Clustered(Fold::Add), args: vec![Expr::Var(value)], cluster: Some(4) };
            self.set(sum, Expr::Subgroup(call), out);
            self.observe(Moment::Operation, &[sum], out);
        }
    }

    /// The extreme of each cluster, which its first lane takes.
    pub(super) fn max_pooling(&mut self, out: &mut Block) {
        let ty = self.number_type();
        let class = self.frame.flow.class();
        let fold = self.draw.pick(&[Fold::Max, Fold::Max, Fold::Min]);
        let cluster = self.cluster();
        let args = vec![self.own_value(ty)];
        let pooled = self.frame.local("pooled", ty, class, Role::Private);
        let call = SubgroupCall { op: SubgroupOp::Clustered(fold), args, cluster: Some(cluster) };
        self.set(pooled, Expr::Subgroup(call), out);
        self.observe(Moment::Operation, &[pooled], out);
        let taken = self.result_variable(ty, class);
        let first = bin(BinaryOp::Eq, bin(BinaryOp::Mod, lane(), uint(cluster)), uint(0));
        let stmt = self.branch(
            Cond { expr: first, decision: Decision::Divergent, source: Source::Lane },
            |b| {
                let mut block = Vec::new();
                b.set(taken, Expr::Var(pooled), &mut block);
                b.observe(Moment::Assignment, &[taken], &mut block);
                b.extend(1, &mut block);
                block
            },
            |_| Vec::new(),
        );
        out.push(stmt);
        self.observe(Moment::Operation, &[taken], out);
    }
}
