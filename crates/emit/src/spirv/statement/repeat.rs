//! Loops, in the forms that the variant allows.

use rspirv::spirv::Op;
use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Loop, LoopKind, VarId};
use tangle_program::types::Type;
use tangle_program::variant::Freedom;

use super::shape::can_be_continue;
use crate::spirv::blocks::{BlockId, Role};
use crate::spirv::body::{Body, Target};
use crate::spirv::module::Id;

impl<'a> Body<'_, 'a> {
    /// Ends the current block at the header of a loop, and begins the header.
    fn begin_header(&mut self) -> BlockId {
        // MR relates a merge block to the last OpSelectionMerge at every execution; an arm is in no such relation.
        let roles: &[Role] = if self.is_maximal() { &[Role::Arm] } else { &[Role::Arm, Role::Merge] };
        if self.takes(Freedom::MergeAsHeader) {
            let (function, result) = (self.function, self.function.result);
            let ty = |var: VarId| if var as usize == function.var_count() { result } else { function.var_type(var) };
            if let Some(current) = self.blocks.current.filter(|_| self.blocks.reopen(self.module, roles, ty)) {
                return current;
            }
        }
        let header = self.new_block(Role::Other);
        self.branch(header);
        self.blocks.begin(header);
        header
    }

    pub(super) fn repeated(&mut self, l: &'a Loop) {
        let first = match &l.kind {
            LoopKind::For { init, .. } => self.eval(init).0,
            LoopKind::While | LoopKind::DoWhile | LoopKind::Forever | LoopKind::Endless => self.uint(0),
        };
        if l.kind != LoopKind::Endless {
            self.write(l.counter, first);
        }
        let header = self.begin_header();
        let merge = self.new_block(Role::Merge);
        let test = l.test.as_ref();
        let test_is_straight = self.is_eager(&l.bound)
            && test.is_none_or(|test| self.is_straight(&test.cond) && self.all_straight(&test.before));
        let is_do_while = l.kind == LoopKind::DoWhile;
        if is_do_while && test_is_straight && self.all_straight(&l.body) && self.takes(Freedom::SingleBlock) {
            self.targets.push(Target { on_break: merge, on_continue: Some(header) });
            self.straight = true;
            self.count(l);
            self.block(&l.body);
            let goes_on = self.test(l);
            self.straight = false;
            let merges = self.loop_merge(merge, header, l.control);
            self.part(Some(merges), goes_on, header, merge);
            self.targets.pop();
        } else {
            let next = self.new_block(Role::Other);
            self.targets.push(Target { on_break: merge, on_continue: Some(next) });
            let in_continue = !self.in_continue && can_be_continue(&l.body) && self.takes(Freedom::BodyAsContinue);
            match l.kind {
                LoopKind::Endless => self.untested(l, header, merge, next),
                LoopKind::DoWhile => self.test_behind(l, header, merge, next, in_continue),
                LoopKind::For { .. } | LoopKind::While | LoopKind::Forever => {
                    self.test_before(l, header, merge, next, in_continue, test_is_straight);
                }
            }
            self.targets.pop();
        }
        self.blocks.seal(self.module, header);
        self.enter_merge(merge);
    }

    /// A loop that is left by its body alone.
    fn untested(&mut self, l: &'a Loop, header: BlockId, merge: BlockId, next: BlockId) {
        let merges = self.loop_merge(merge, next, l.control);
        self.blocks.push(merges);
        let body = self.new_block(Role::Arm);
        self.jump(body);
        self.enter(body);
        self.block(&l.body);
        self.branch(next);
        self.enter(next);
        self.jump(header);
    }

    /// `for` and `while` loops, and those that test their bound alone.
    fn test_before(
        &mut self,
        l: &'a Loop,
        header: BlockId,
        merge: BlockId,
        next: BlockId,
        in_continue: bool,
        is_straight: bool,
    ) {
        let in_header = is_straight && self.takes(Freedom::HeaderTest);
        let merges = self.loop_merge(merge, next, l.control);
        let mut merges = Some(merges);
        if !in_header {
            merges.take().into_iter().for_each(|merges| self.blocks.push(merges));
            let test = self.new_block(Role::Other);
            self.jump(test);
            self.enter(test);
        }
        self.straight = in_header;
        let body = if in_continue { next } else { self.new_block(Role::Arm) };
        let goes_on = match &l.test {
            // Two exits in place of one condition.
            Some(test) if !in_header && self.takes(Freedom::BareExits) => {
                test.before.iter().for_each(|stmt| self.stmt(stmt));
                let (holds, _) = self.eval(&test.cond);
                let rest = self.new_block(Role::Other);
                self.part(None, holds, rest, merge);
                self.enter(rest);
                self.below_bound(l)
            }
            _ => self.test(l),
        };
        self.straight = false;
        self.part(merges, goes_on, body, merge);
        self.enter(body);
        self.in_continue |= in_continue;
        if !matches!(l.kind, LoopKind::For { .. }) {
            self.count(l);
        }
        self.block(&l.body);
        if !in_continue {
            self.branch(next);
            self.enter(next);
        }
        let reached = self.blocks.has_predecessors(next);
        if let (LoopKind::For { step, update, .. }, true) = (&l.kind, reached) {
            self.add_to_counter(l, *step);
            update.iter().for_each(|stmt| self.stmt(stmt));
        }
        self.in_continue &= !in_continue;
        self.jump(header);
    }

    /// The blocks of a `do … while` loop, whose test stands behind the body.
    fn test_behind(&mut self, l: &'a Loop, header: BlockId, merge: BlockId, next: BlockId, in_continue: bool) {
        let mut body = l.body.as_slice();
        let first = if in_continue { next } else { self.new_block(Role::Arm) };
        let in_header = !in_continue && self.takes(Freedom::HeaderTest);
        if in_header {
            // The header begins with the body, up to where it may branch.
            self.count(l);
            self.straight = true;
            let straight = body.iter().take_while(|stmt| self.stmt_is_straight(stmt)).count();
            let (before, behind) = body.split_at(straight);
            before.iter().for_each(|stmt| self.stmt(stmt));
            self.straight = false;
            body = behind;
        }
        let merges = self.loop_merge(merge, next, l.control);
        self.blocks.push(merges);
        self.jump(first);
        self.enter(first);
        self.in_continue |= in_continue;
        if !in_header {
            self.count(l);
        }
        self.block(body);
        if !in_continue {
            self.branch(next);
            self.enter(next);
        }
        if self.blocks.has_predecessors(next) {
            let goes_on = self.test(l);
            self.part(None, goes_on, header, merge);
        } else {
            self.jump(header);
        }
        self.in_continue &= !in_continue;
    }

    /// `counter++`
    pub(super) fn count(&mut self, l: &Loop) {
        self.add_to_counter(l, 1);
    }

    fn add_to_counter(&mut self, l: &Loop, step: u32) {
        let counter = self.read(l.counter, Type::UINT);
        let step = self.uint(step);
        let counter = self.ids(Op::IAdd, Type::UINT, [counter, step]);
        self.write(l.counter, counter);
    }

    /// `counter < bound`
    fn below_bound(&mut self, l: &Loop) -> Id {
        let counter = self.read(l.counter, Type::UINT);
        let (bound, _) = self.eval(&l.bound);
        self.binary(BinaryOp::Lt, Type::UINT, counter, bound).0
    }

    /// `test && counter < bound`
    fn test(&mut self, l: &'a Loop) -> Id {
        let Some(test) = &l.test else { return self.below_bound(l) };
        test.before.iter().for_each(|stmt| self.stmt(stmt));
        let (holds, _) = self.eval(&test.cond);
        let eager = self.is_eager(&l.bound) && (self.straight || self.takes(Freedom::Select));
        self.short_circuit_with(BinaryOp::And, holds, eager, |body| body.below_bound(l))
    }
}
