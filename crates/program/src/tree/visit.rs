//! Going through a tree: the operands of an expression, and what a statement reads, writes and holds, each said once.

use super::{Arg, Arm, Atomic, Block, Discard, Expr, Function, LoopKind, Program, Stmt, VarId};
use crate::memory::ArrayId;
use crate::ops::Intrinsic;
use crate::subgroup::Category;

impl Expr {
    /// The direct operands, in order of evaluation.
    pub fn operands(&self) -> Operands<'_> {
        let (few, count, many): ([&Expr; 3], usize, &[Expr]) = match self {
            Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Uint(_)
            | Expr::Float(..)
            | Expr::Var(_)
            | Expr::Builtin(_)
            | Expr::Input(_)
            | Expr::Flat(_)
            | Expr::Uniform(_)
            | Expr::Push(_)
            | Expr::Constant(_) => ([self; 3], 0, &[]),
            Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Component(x, _) | Expr::InputOf(_, x) => ([x; 3], 1, &[]),
            Expr::Load(load) => ([&load.index; 3], 1, &[]),
            Expr::Resource(resource) => ([&resource.index; 3], 1, &[]),
            Expr::Binary(_, x, y) | Expr::Element(x, y) => ([x, y, y], 2, &[]),
            Expr::Select(c, x, y) => ([c, x, y], 3, &[]),
            Expr::Intrinsic(_, args) | Expr::Vector(_, args) => ([self; 3], 0, args),
            Expr::Subgroup(call) => ([self; 3], 0, &call.args),
        };
        Operands { few, at: 0, count, many: many.iter() }
    }

    /// The direct operands, to change them; in the same order.
    pub fn operands_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Uint(_)
            | Expr::Float(..)
            | Expr::Var(_)
            | Expr::Builtin(_)
            | Expr::Input(_)
            | Expr::Flat(_)
            | Expr::Uniform(_)
            | Expr::Push(_)
            | Expr::Constant(_) => Vec::new(),
            Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Component(x, _) | Expr::InputOf(_, x) => vec![x],
            Expr::Load(load) => vec![&mut load.index],
            Expr::Resource(resource) => vec![&mut resource.index],
            Expr::Binary(_, x, y) | Expr::Element(x, y) => vec![x, y],
            Expr::Select(c, x, y) => vec![c, x, y],
            Expr::Intrinsic(_, args) | Expr::Vector(_, args) => args.iter_mut().collect(),
            Expr::Subgroup(call) => call.args.iter_mut().collect(),
        }
    }

    /// Calls `visit` on this expression and everything below it, parents first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        self.operands().for_each(|operand| operand.walk(visit));
    }

    /// True for a float of which every bit is known but the sign and payload of a NaN: a *preserved* number. It is made of bits
    /// ([`Intrinsic::FromBits`]), and only chosen and moved, and of several a minimum or maximum
    /// is found (docs/rules.md, rules F6 and F8). Variables hold none: they keep its bits.
    pub fn is_preserved(&self) -> bool {
        match self {
            Expr::Intrinsic(op, _) if op.is_from_bits() => true,
            Expr::Intrinsic(Intrinsic::Mix, args) => args.iter().take(2).all(Expr::is_preserved),
            Expr::Select(_, x, y) => x.is_preserved() && y.is_preserved(),
            Expr::Vector(ty, args) => ty.is_single() && args.iter().all(Expr::is_preserved),
            Expr::Component(x, _) => x.is_preserved(),
            Expr::Subgroup(call) => call.op.info().preserves() && call.args.first().is_some_and(Expr::is_preserved),
            _ => false,
        }
    }

    /// True if something holds for this expression or for one below it.
    pub fn any<'a>(&'a self, holds: &mut dyn FnMut(&'a Expr) -> bool) -> bool {
        holds(self) || self.operands().any(|operand| operand.any(holds))
    }

    /// True if the value is computed with a derivative.
    pub fn derives(&self) -> bool {
        self.any(&mut |part| matches!(part, Expr::Subgroup(call) if call.op.info().category == Category::Derivative))
    }

    /// True for an expression of literals, which a front end may fold.
    pub fn is_constant(&self) -> bool {
        match self {
            Expr::Bool(_) | Expr::Int(_) | Expr::Uint(_) | Expr::Float(..) => true,
            Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Select(..)
            | Expr::Cast(..)
            | Expr::Intrinsic(..)
            | Expr::Vector(..)
            | Expr::Component(..)
            | Expr::Element(..) => self.operands().all(Expr::is_constant),
            Expr::Var(_)
            | Expr::Builtin(_)
            | Expr::Input(_)
            | Expr::Flat(_)
            | Expr::Uniform(_)
            | Expr::Push(_)
            | Expr::Constant(_)
            | Expr::Subgroup(_)
            | Expr::InputOf(..)
            | Expr::Load(_)
            | Expr::Resource(_) => false,
        }
    }
}

/// The direct operands of an expression.
#[derive(Clone, Debug)]
pub struct Operands<'a> {
    /// The first `count` of these from `at` on, then the list.
    few: [&'a Expr; 3],
    at: usize,
    count: usize,
    many: std::slice::Iter<'a, Expr>,
}

impl<'a> Iterator for Operands<'a> {
    type Item = &'a Expr;

    fn next(&mut self) -> Option<&'a Expr> {
        if self.at == self.count {
            return self.many.next();
        }
        self.at += 1;
        Some(self.few[self.at - 1])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.count - self.at + self.many.len();
        (left, Some(left))
    }
}

impl Stmt {
    /// The expressions that stand directly in this statement (not in nested blocks), in order of evaluation.
    pub fn direct_exprs(&self) -> impl Iterator<Item = &Expr> {
        let (single, list, args): ([Option<&Expr>; 3], &[Expr], &[Arg]) = match self {
            Stmt::Assign { value, .. } => ([Some(value), None, None], &[], &[]),
            Stmt::Log { values, .. } => ([None; 3], values, &[]),
            Stmt::If { cond, .. } => ([Some(cond), None, None], &[], &[]),
            Stmt::Switch { selector, .. } => ([Some(selector), None, None], &[], &[]),
            Stmt::Loop(l) => {
                let init = match &l.kind {
                    LoopKind::For { init, .. } => Some(init),
                    LoopKind::While | LoopKind::DoWhile | LoopKind::Forever | LoopKind::Endless => None,
                };
                ([init, l.test.as_ref().map(|test| &test.cond), Some(&l.bound)], &[], &[])
            }
            Stmt::Return(value) => ([value.as_ref(), None, None], &[], &[]),
            Stmt::Call { args, .. } => ([None; 3], &[], args),
            Stmt::Store { element, value, .. } => ([element.as_ref(), Some(value), None], &[], &[]),
            Stmt::Assume(value) => ([Some(value), None, None], &[], &[]),
            Stmt::SetElement { index, inner, value, .. } => ([Some(index), Some(value), None], inner, &[]),
            Stmt::Atomic(atomic) => ([Some(&atomic.index), atomic.compare.as_ref(), Some(&atomic.value)], &[], &[]),
            Stmt::Break | Stmt::Continue | Stmt::SubgroupBarrier(_) | Stmt::ControlBarrier(_) | Stmt::Discard(_) => {
                ([None; 3], &[], &[])
            }
        };
        let ins = args.iter().filter_map(|arg| match arg {
            Arg::In(expr) => Some(expr),
            Arg::Out(_) => None,
        });
        single.into_iter().flatten().chain(list).chain(ins)
    }

    /// The expressions of [`Stmt::direct_exprs`], to change them.
    pub fn direct_exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Stmt::Assign { value, .. } => vec![value],
            Stmt::Log { values, .. } => values.iter_mut().collect(),
            Stmt::If { cond, .. } => vec![cond],
            Stmt::Switch { selector, .. } => vec![selector],
            Stmt::Loop(l) => {
                let init = match &mut l.kind {
                    LoopKind::For { init, .. } => Some(init),
                    LoopKind::While | LoopKind::DoWhile | LoopKind::Forever | LoopKind::Endless => None,
                };
                let test = l.test.as_mut().map(|test| &mut test.cond);
                init.into_iter().chain(test).chain([&mut l.bound]).collect()
            }
            Stmt::Return(value) => value.iter_mut().collect(),
            Stmt::Call { args, .. } => {
                let ins = args.iter_mut().filter_map(|arg| match arg {
                    Arg::In(expr) => Some(expr),
                    Arg::Out(_) => None,
                });
                ins.collect()
            }
            Stmt::Store { element, value, .. } => element.iter_mut().chain([value]).collect(),
            Stmt::Assume(value) => vec![value],
            Stmt::SetElement { index, inner, value, .. } => [index, value].into_iter().chain(inner).collect(),
            Stmt::Atomic(atomic) => {
                let Atomic { index, compare, value, .. } = &mut **atomic;
                [index].into_iter().chain(compare).chain([value]).collect()
            }
            Stmt::Break | Stmt::Continue | Stmt::SubgroupBarrier(_) | Stmt::ControlBarrier(_) | Stmt::Discard(_) => {
                Vec::new()
            }
        }
    }

    /// The statement lists nested directly in this statement, in source order.
    pub fn nested_blocks(&self) -> impl Iterator<Item = &Block> {
        let (single, arms): ([Option<&Block>; 3], &[Arm]) = match self {
            Stmt::If { then, otherwise, .. } => ([Some(then), Some(otherwise), None], &[]),
            Stmt::Switch { arms, .. } => ([None; 3], arms),
            Stmt::Loop(l) => {
                let update = match &l.kind {
                    LoopKind::For { update, .. } => Some(update),
                    LoopKind::While | LoopKind::DoWhile | LoopKind::Forever | LoopKind::Endless => None,
                };
                ([l.test.as_ref().map(|test| &test.before), Some(&l.body), update], &[])
            }
            Stmt::Assign { .. }
            | Stmt::Log { .. }
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Call { .. }
            | Stmt::SubgroupBarrier(_)
            | Stmt::SetElement { .. }
            | Stmt::Store { .. }
            | Stmt::Atomic(_)
            | Stmt::ControlBarrier(_)
            | Stmt::Discard(_)
            | Stmt::Assume(_) => ([None; 3], &[]),
        };
        single.into_iter().flatten().chain(arms.iter().map(|arm| &arm.body))
    }

    /// The lists of [`Stmt::nested_blocks`], to change them.
    pub fn nested_blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Stmt::If { then, otherwise, .. } => vec![then, otherwise],
            Stmt::Switch { arms, .. } => arms.iter_mut().map(|arm| &mut arm.body).collect(),
            Stmt::Loop(l) => {
                let update = match &mut l.kind {
                    LoopKind::For { update, .. } => Some(update),
                    LoopKind::While | LoopKind::DoWhile | LoopKind::Forever | LoopKind::Endless => None,
                };
                let before = l.test.as_mut().map(|test| &mut test.before);
                before.into_iter().chain([&mut l.body]).chain(update).collect()
            }
            Stmt::Assign { .. }
            | Stmt::Log { .. }
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Call { .. }
            | Stmt::Store { .. }
            | Stmt::SetElement { .. }
            | Stmt::Atomic(_)
            | Stmt::ControlBarrier(_)
            | Stmt::Assume(_)
            | Stmt::Discard(_)
            | Stmt::SubgroupBarrier(_) => Vec::new(),
        }
    }

    /// The variables that this statement writes by itself (not in nested blocks, and not as the counter of a loop).
    pub fn written(&self) -> impl Iterator<Item = VarId> + '_ {
        let (var, args): (Option<VarId>, &[Arg]) = match self {
            Stmt::Assign { var, .. } | Stmt::SetElement { var, .. } => (Some(*var), &[]),
            Stmt::Call { args, dest, .. } => (*dest, args),
            Stmt::Atomic(atomic) => (atomic.dest, &[]),
            Stmt::Log { .. }
            | Stmt::If { .. }
            | Stmt::Switch { .. }
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Loop(_)
            | Stmt::SubgroupBarrier(_)
            | Stmt::Store { .. }
            | Stmt::ControlBarrier(_)
            | Stmt::Discard(_)
            | Stmt::Assume(_) => (None, &[]),
        };
        let outs = args.iter().filter_map(|arg| match arg {
            Arg::Out(var) => Some(*var),
            Arg::In(_) => None,
        });
        outs.chain(var)
    }

    /// The variables of [`Stmt::written`], to change them.
    pub fn written_mut(&mut self) -> Vec<&mut VarId> {
        match self {
            Stmt::Assign { var, .. } | Stmt::SetElement { var, .. } => vec![var],
            Stmt::Call { args, dest, .. } => {
                let outs = args.iter_mut().filter_map(|arg| match arg {
                    Arg::Out(var) => Some(var),
                    Arg::In(_) => None,
                });
                outs.chain(dest).collect()
            }
            Stmt::Atomic(atomic) => atomic.dest.iter_mut().collect(),
            Stmt::Log { .. }
            | Stmt::If { .. }
            | Stmt::Switch { .. }
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Loop(_)
            | Stmt::SubgroupBarrier(_)
            | Stmt::Store { .. }
            | Stmt::ControlBarrier(_)
            | Stmt::Discard(_)
            | Stmt::Assume(_) => Vec::new(),
        }
    }

    /// The array in memory that this statement accesses by itself (not those that its expressions load from).
    pub fn array(&self) -> Option<ArrayId> {
        match self {
            Stmt::Store { array, .. } => Some(*array),
            Stmt::Atomic(atomic) => Some(atomic.array),
            Stmt::Assign { .. }
            | Stmt::Log { .. }
            | Stmt::If { .. }
            | Stmt::Switch { .. }
            | Stmt::Loop(_)
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Call { .. }
            | Stmt::SubgroupBarrier(_)
            | Stmt::SetElement { .. }
            | Stmt::ControlBarrier(_)
            | Stmt::Assume(_)
            | Stmt::Discard(_) => None,
        }
    }

    /// The array of [`Stmt::array`], to change it.
    pub fn array_mut(&mut self) -> Option<&mut ArrayId> {
        match self {
            Stmt::Store { array, .. } => Some(array),
            Stmt::Atomic(atomic) => Some(&mut atomic.array),
            Stmt::Assign { .. }
            | Stmt::Log { .. }
            | Stmt::If { .. }
            | Stmt::Switch { .. }
            | Stmt::Loop(_)
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Call { .. }
            | Stmt::SubgroupBarrier(_)
            | Stmt::SetElement { .. }
            | Stmt::ControlBarrier(_)
            | Stmt::Assume(_)
            | Stmt::Discard(_) => None,
        }
    }

    /// True for the statements after which no lane goes on to the next one.
    pub fn is_jump(&self) -> bool {
        matches!(self, Stmt::Break | Stmt::Continue | Stmt::Return(_) | Stmt::Discard(Discard::Terminate))
    }
}

/// True if no lane goes on after the last statement, as in every arm of it lanes jump. `terminateInvocation` is a jump, `discard` and `demote` are
/// none: a lane that became a helper goes on. WGSL has no other than these, so that its printer refuses the former before it asks.
pub fn ends_in_jump(block: &[Stmt]) -> bool {
    match block.last() {
        Some(Stmt::If { then, otherwise, .. }) => ends_in_jump(then) && ends_in_jump(otherwise),
        Some(stmt) => stmt.is_jump(),
        None => false,
    }
}

impl Program {
    /// True if fragments may become helper invocations.
    pub fn demotes(&self) -> bool {
        let mut found = false;
        let mut look = |stmt: &Stmt| found |= matches!(stmt, Stmt::Discard(Discard::Demote));
        self.functions.iter().for_each(|function| walk_block(&function.body, &mut look));
        found
    }
}

/// Calls `visit` on every statement of the block, or of a part of one, outer ones first, in source order.
pub fn walk_block<'a>(block: &'a [Stmt], visit: &mut dyn FnMut(&'a Stmt)) {
    for stmt in block {
        visit(stmt);
        stmt.nested_blocks().for_each(|inner| walk_block(inner, visit));
    }
}

/// For each function what is around its body: the greatest of what is around its calls, and `outside` if there is none. `inside` says what is around
/// the blocks of a statement, of what is around the statement itself. Callers have to stand after what they call.
pub fn around_bodies<T: Copy + Ord>(functions: &[Function], outside: T, inside: impl Fn(T, &Stmt) -> T) -> Vec<T> {
    fn note_calls<T: Copy + Ord>(block: &Block, here: T, inside: &impl Fn(T, &Stmt) -> T, around: &mut [T]) {
        for stmt in block {
            if let Stmt::Call { function, .. } = stmt
                && let Some(around) = around.get_mut(*function as usize)
            {
                *around = here.max(*around);
            }
            let within = inside(here, stmt);
            stmt.nested_blocks().for_each(|block| note_calls(block, within, inside, around));
        }
    }
    let mut around = vec![outside; functions.len()];
    for (id, function) in functions.iter().enumerate().rev() {
        note_calls(&function.body, around[id], &inside, &mut around);
    }
    around
}
