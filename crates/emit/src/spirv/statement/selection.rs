//! Branches and switches, in the forms that the variant allows.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::Op;
use tangle_features::Feature;
use tangle_program::control;
use tangle_program::tree::{Arm, Block, Expr, Label, Stmt};
use tangle_program::types::{Scalar, Type};
use tangle_program::variant::Freedom;

use super::shape::{has_break, has_every_value, has_stmt};
use crate::spirv::blocks::{BlockId, Role};
use crate::spirv::body::{Body, Target};
use crate::spirv::module::Id;

impl<'a> Body<'_, 'a> {
    /// The block that a list of statements does nothing but jump to.
    fn exit_of(&self, block: &Block) -> Option<BlockId> {
        match block.as_slice() {
            [Stmt::Break] => self.targets.last().map(|target| target.on_break),
            [Stmt::Continue] => self.continue_target(),
            [Stmt::Return(None)] => self.shared_return,
            _ => None,
        }
    }

    pub(super) fn selection(
        &mut self,
        cond: &Expr,
        then: &'a Block,
        otherwise: &'a Block,
        control: control::SelectionControl,
    ) {
        let may_change = control.is_unspecified();
        let exits = (self.exit_of(then), self.exit_of(otherwise));
        if may_change && exits.0 != exits.1 && self.takes(Freedom::BareExits) {
            return self.bare_exit(cond, then, otherwise, exits);
        }
        let assignments = |body: &Self, block: &Block| {
            block.iter().all(|stmt| matches!(stmt, Stmt::Assign { value, .. } if body.is_eager(value)))
        };
        if may_change
            && self.is_maximal()
            && assignments(self, then)
            && assignments(self, otherwise)
            && self.takes(Freedom::Select)
        {
            return self.selected(cond, then, otherwise);
        }
        let (cond, _) = self.eval(cond);
        let merge = self.new_block(Role::Merge);
        if may_change && self.can_be_switch(then, otherwise) && self.module.draws.takes_once_in(3, Freedom::IfAsSwitch)
        {
            self.as_switch(cond, then, otherwise, merge);
            return self.enter_merge(merge);
        }
        let arm = |body: &mut Self, block: &Block, needed: bool| {
            let is_merge = !needed && block.is_empty() && !body.takes(Freedom::EmptyBlocks);
            if is_merge { merge } else { body.new_block(Role::Arm) }
        };
        // The two labels must differ.
        let on_true = arm(self, then, otherwise.is_empty());
        let on_false = arm(self, otherwise, false);
        let mut arms = [(on_true, then), (on_false, otherwise)];
        let merges = self.selection_merge(merge, control);
        if self.part(Some(merges), cond, on_true, on_false) {
            arms.reverse();
        }
        for (block, stmts) in arms {
            if block != merge {
                self.enter(block);
                self.block(stmts);
                self.branch(merge);
            }
        }
        self.enter_merge(merge);
    }

    /// `if (cond) break;` without OpSelectionMerge: what follows is in the other target.
    fn bare_exit(
        &mut self,
        cond: &Expr,
        then: &'a Block,
        otherwise: &'a Block,
        exits: (Option<BlockId>, Option<BlockId>),
    ) {
        let (cond, _) = self.eval(cond);
        let (on_true, on_false, rest) = match exits {
            (Some(on_true), Some(on_false)) => {
                self.part(None, cond, on_true, on_false);
                return;
            }
            (Some(on_true), None) => (on_true, self.new_block(Role::Other), otherwise),
            (None, on_false) => {
                let on_true = self.new_block(Role::Other);
                (on_true, on_false.unwrap_or(on_true), then)
            }
        };
        self.part(None, cond, on_true, on_false);
        let next = if exits.0.is_some() { on_false } else { on_true };
        self.enter(next);
        self.block(rest);
    }

    /// OpSelect for each variable that an arm assigns.
    fn selected(&mut self, cond: &Expr, then: &'a Block, otherwise: &'a Block) {
        let (cond, _) = self.eval(cond);
        for (block, holds) in [(then, true), (otherwise, false)] {
            for stmt in block {
                let Stmt::Assign { var, value } = stmt else { continue };
                let (value, ty) = self.eval(value);
                let before = self.read(*var, ty);
                let (x, y) = if holds { (value, before) } else { (before, value) };
                let value = self.select_parts(cond, ty, x, y);
                self.write(*var, value);
            }
        }
    }

    /// Before SPIR-V 1.4 OpSelect does not take aggregates.
    fn select_parts(&mut self, cond: Id, ty: Type, x: Id, y: Id) -> Id {
        if ty.is_single() {
            return self.select(cond, ty, x, y);
        }
        let parts = (0..).zip(ty.parts()).map(|(k, part)| {
            let (x, y) = (self.extract(x, part, &[k]), self.extract(y, part, &[k]));
            Operand::IdRef(self.select_parts(cond, part, x, y))
        });
        let parts = parts.collect();
        self.op(Op::CompositeConstruct, ty, parts)
    }

    /// True if nothing in the arms jumps to the merge block of a switch around: it could not get there out of another switch.
    fn can_be_switch(&self, then: &Block, otherwise: &Block) -> bool {
        let in_loop = self.targets.last().is_some_and(|target| target.on_continue.is_some());
        let leaves = |block: &Block| {
            !in_loop && has_break(block)
                || self.shared_return.is_some() && has_stmt(block, |s| matches!(s, Stmt::Return(_)))
        };
        !self.in_continue && !leaves(then) && !leaves(otherwise)
    }

    /// OpSwitch on 1 or 0, with the labels 1 and default, 0 and default, or both and a default that nobody reaches.
    fn as_switch(&mut self, cond: Id, then: &'a Block, otherwise: &'a Block, merge: BlockId) {
        let scalar = self.selector_scalar(Scalar::Uint);
        let (one, zero) = (self.module.bits(scalar, 1), self.module.bits(scalar, 0));
        let selector = self.ids(Op::Select, Type::scalar(scalar), [cond, one, zero]);
        let arm = |body: &mut Self, block: &Block| if block.is_empty() { merge } else { body.new_block(Role::Other) };
        let (on_true, on_false) = (arm(self, then), arm(self, otherwise));
        let nobody = self.takes(Freedom::UnreachableDefault).then(|| self.new_block(Role::Other));
        let (labels, default) = match nobody {
            Some(nobody) => (vec![(0, on_false), (1, on_true)], nobody),
            None if self.takes(Freedom::SwappedArms) => (vec![(0, on_false)], on_true),
            None => (vec![(1, on_true)], on_false),
        };
        self.end_with_switch(merge, control::SelectionControl::Unspecified, (selector, scalar), &labels, default);
        for (block, stmts) in [(on_true, then), (on_false, otherwise)] {
            if block != merge {
                self.enter(block);
                self.block(stmts);
                self.branch(merge);
            }
        }
        if let Some(nobody) = nobody {
            self.enter(nobody);
            self.end(Op::Unreachable, Vec::new(), []);
        }
    }

    /// The type of a selector: its own, or 64 bits wide.
    fn selector_scalar(&mut self, scalar: Scalar) -> Scalar {
        let wide = self.module.features.contains(Feature::ShaderInt64) && self.takes(Freedom::WideSelectors);
        match (wide, scalar.is_signed()) {
            (false, _) => scalar,
            (true, true) => Scalar::Int64,
            (true, false) => Scalar::Uint64,
        }
    }

    pub(super) fn end_with_switch(
        &mut self,
        merge: BlockId,
        control: control::SelectionControl,
        (selector, scalar): (Id, Scalar),
        labels: &[(i64, BlockId)],
        default: BlockId,
    ) {
        let merges = self.selection_merge(merge, control);
        self.blocks.push(merges);
        let mut operands = vec![Operand::IdRef(selector), Operand::IdRef(self.blocks.label(default))];
        for &(value, block) in labels {
            operands.push(match scalar.size() {
                64 => Operand::LiteralBit64(value as u64),
                _ => Operand::LiteralBit32(value as u32),
            });
            operands.push(Operand::IdRef(self.blocks.label(block)));
        }
        let successors: Vec<BlockId> = labels.iter().map(|&(_, block)| block).chain([default]).collect();
        self.blocks.end(Instruction::new(Op::Switch, None, None, operands), successors);
    }

    pub(super) fn switch(&mut self, selector: &Expr, arms: &'a [Arm], control: control::SelectionControl) {
        let has_every_value = has_every_value(selector, arms);
        let (id, ty) = self.eval(selector);
        let scalar = self.selector_scalar(ty.scalar);
        let selector = self.cast(id, ty, Type::scalar(scalar));
        let merge = self.new_block(Role::Merge);
        let mut nobody = None;
        let mut default = merge;
        let mut labels = Vec::new();
        let mut blocks = Vec::new();
        for arm in arms {
            let is_exit = arm.body == [Stmt::Break] && self.takes(Freedom::BareExits);
            let block = if is_exit { merge } else { self.new_block(Role::Other) };
            blocks.push(block);
            for label in &arm.labels {
                match label {
                    Label::Default => default = block,
                    Label::Case(value) => labels.push((*value, block)),
                }
            }
        }
        if default == merge && has_every_value && self.takes(Freedom::UnreachableDefault) {
            default = self.new_block(Role::Other);
            nobody = Some(default);
        }
        self.end_with_switch(merge, control, (selector, scalar), &labels, default);
        self.targets.push(Target { on_break: merge, on_continue: None });
        for (number, arm) in arms.iter().enumerate() {
            if blocks[number] == merge {
                continue;
            }
            self.enter(blocks[number]);
            self.block(&arm.body);
            // Nothing but the branch: what falls through comes straight from the segment.
            if self.blocks.current.is_some() {
                self.jump(blocks.get(number + 1).copied().unwrap_or(merge));
            }
        }
        self.targets.pop();
        if let Some(nobody) = nobody {
            self.enter(nobody);
            self.end(Op::Unreachable, Vec::new(), []);
        }
        self.enter_merge(merge);
    }
}
