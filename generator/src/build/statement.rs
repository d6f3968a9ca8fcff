//! Statements: which one comes next ([`table`]), and the plain ones.

mod table;

use tangle_program::case::Stage;
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::MAX_EXPR_DEPTH;
use tangle_program::tree::{Block, Builtin, Discard, Expr, Stmt, VarId, ends_in_jump};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::frame::{Cost, Jump, Role};
use super::log::Moment;
use super::row::Row;
use super::term::{Want, as_number, bin, cast, lane, nesting};
use crate::class::{Class, Decision};
use crate::profile::Profile;
use table::STATEMENTS;

/// Locals a function has at most before it reuses them.
const MANY_LOCALS: usize = 14;

/// Of a hundred operations, those put where only some lanes evaluate them.
const CHOSEN_OPERATIONS: u32 = 6;

/// Of a hundred statements of programs that keep special numbers, those that are about these.
const PRESERVED_STATEMENTS: u32 = 25;

/// Of a hundred statements of programs that ask for a direction of rounding, those that are about that.
const ROUNDED_STATEMENTS: u32 = 25;

/// The weights of the table in a profile.
pub(super) fn weights(profile: Profile) -> Vec<u32> {
    Row::weights(STATEMENTS, profile)
}

impl Builder<'_> {
    /// The variables `main` starts with.
    pub(crate) fn prelude(&mut self, out: &mut Block) {
        let first = self.frame.local("u", Type::UINT, Class::Clean, Role::Data);
        let input = self.input();
        let assign = self.assign(first, input);
        out.push(assign);
        for _ in 0..1 + self.draw.below(3) {
            let ty = self.scalar_type();
            let value = self.expr(ty, Want::of(Class::Clean, 1));
            let var = self.frame.local(stem(ty, Class::Clean), ty, Class::Clean, Role::Data);
            let assign = self.assign(var, value);
            out.push(assign);
        }
    }

    /// A statement at the top level of `main`, the `k`-th of about `top`.
    pub(crate) fn main_statement(&mut self, k: usize, top: usize, out: &mut Block) {
        let late = 3 * k > 2 * top;
        if late && self.draw.percent(3) && self.entry_point.stage != Stage::Task {
            return self.leave_main(out);
        }
        if self.is_fragment() && self.draw.percent(20) {
            return self.discard(out);
        }
        if self.may_derive(out) && self.draw.percent(22) {
            self.statements = self.statements.saturating_sub(1);
            return self.derivative(out);
        }
        if self.has_workgroups() && self.draw.percent(self.weights.shared) && self.may_synchronise(out) {
            self.statements = self.statements.saturating_sub(1);
            return self.shared_memory(out);
        }
        let before = out.len();
        self.statement(out);
        let construct = matches!(out.get(before..), Some([.., Stmt::Loop(_) | Stmt::If { .. } | Stmt::Switch { .. }]));
        // Lanes have just come together again, and a detector sees whether they have.
        if construct && self.draw.percent(50) {
            self.operation_statement(out);
        }
    }

    /// Some lanes end here.
    fn leave_main(&mut self, out: &mut Block) {
        self.frame.may_return = true;
        let cond = self.own_condition();
        let leave = self.branch(
            cond,
            |b| {
                let mut block = Vec::new();
                // Should all of them leave, something has been seen.
                b.log(Vec::new(), &mut block);
                b.push_jump(Jump::Return, &mut block);
                block
            },
            |_| Vec::new(),
        );
        self.frame.may_return = false;
        out.push(leave);
    }

    /// Some fragments are given up: they become helpers, they end, or they return.
    fn discard(&mut self, out: &mut Block) {
        match self.draw.below(4) {
            0 | 1 if self.demotes => self.demote(out),
            2 if self.config.terminate => {
                self.leave_main(out);
                if let Some(Stmt::If { then, .. }) = out.last_mut()
                    && let Some(last @ Stmt::Return(None)) = then.last_mut()
                {
                    *last = Stmt::Discard(Discard::Terminate);
                }
            }
            _ => self.leave_main(out),
        }
    }

    /// `if (c) { …; demote; }`
    fn demote(&mut self, out: &mut Block) {
        let cond = self.own_condition();
        let demoted = self.branch(
            cond,
            |b| {
                let mut block = Vec::new();
                b.log(Vec::new(), &mut block);
                block.push(Stmt::Discard(Discard::Demote));
                block
            },
            |_| Vec::new(),
        );
        out.push(demoted);
    }

    /// Up to `n` statements.
    pub(crate) fn block(&mut self, n: u32) -> Block {
        let mut out = Vec::new();
        self.extend(n, &mut out);
        out
    }

    /// Up to `n` more statements.
    pub(crate) fn extend(&mut self, n: u32, out: &mut Block) {
        for _ in 0..n {
            if self.is_done() || ends_in_jump(out) {
                break;
            }
            self.statement(out);
        }
    }

    /// Up to `n` statements, at least one.
    pub(crate) fn filled(&mut self, n: u32) -> Block {
        let block = self.block(n);
        self.nonempty(block)
    }

    /// One of the statements that fit here.
    pub(crate) fn statement(&mut self, out: &mut Block) {
        self.statements = self.statements.saturating_sub(1);
        // Also where control flow has parted, and in functions.
        if self.is_fragment() && self.demotes && self.draw.percent(3) {
            return self.demote(out);
        }
        if self.preserves() && self.draw.percent(PRESERVED_STATEMENTS) {
            return self.preserved_statement(out);
        }
        if self.rounds() && self.draw.percent(ROUNDED_STATEMENTS) {
            return self.rounded_statement(out);
        }
        let weights: [u32; STATEMENTS.len()] =
            std::array::from_fn(|i| STATEMENTS[i].weight_here(self, self.weights.rows.statements[i]));
        let row = &STATEMENTS[self.draw.index(weights.into_iter())];
        (row.build)(self, out);
    }

    fn scalar_type(&mut self) -> Type {
        let scalars = self.weighted_scalars(&Scalar::ALL);
        Type::scalar(self.draw.weighted(&scalars))
    }

    /// Those of the types that are in the list, uint first, with their weights.
    pub(crate) fn weighted_scalars(&self, among: &[Scalar]) -> [(u32, Scalar); Scalar::ALL.len()] {
        let mut scalars = Scalar::ALL.map(|scalar| {
            let weight = if among.contains(&scalar) { self.weights.scalars[scalar as usize] } else { 0 };
            (weight, scalar)
        });
        scalars.swap(0, Scalar::Uint as usize);
        scalars
    }

    /// A type other than bool, int and uint, if the case uses any.
    pub(crate) fn extended_scalar(&mut self) -> Option<Scalar> {
        let scalars = self.weighted_scalars(&Scalar::ALL[3..]);
        scalars.iter().any(|&(weight, _)| weight > 0).then(|| self.draw.weighted(&scalars))
    }

    /// A type for a variable.
    pub(crate) fn data_type(&mut self) -> Type {
        let ty = self.scalar_type();
        let width = if self.draw.percent(self.weights.vectors) { 2 + self.draw.below(3) as u8 } else { 1 };
        Type { width, ..ty }
    }

    /// A variable to keep a result of that type and class in: an old one, or a new one.
    pub(crate) fn result_variable(&mut self, ty: Type, class: Class) -> VarId {
        let many = self.frame.vars.len() >= MANY_LOCALS;
        if let (true, Some(var)) = (many || self.draw.percent(55), self.writable(ty, class, &[])) {
            return var;
        }
        self.frame.local(stem(ty, class), ty, class, Role::Data)
    }

    /// `var = …;` from a lane's own data.
    pub(crate) fn assignment(&mut self, out: &mut Block) {
        let ty = self.data_type();
        let class = if self.draw.percent(8) { Class::MaybeUndefined } else { Class::Clean };
        let var = self.result_variable(ty, class);
        let depth = 1 + self.draw.below(3);
        let class = self.frame.var(var).class;
        let value = self.expr(ty, Want::of(class, depth));
        let carried = value == Expr::Var(var) || (self.frame.in_loop() && self.draw.percent(50));
        let value = if carried { self.accumulated(var, value) } else { value };
        let assign = self.assign(var, value);
        out.push(assign);
        self.observe(Moment::Assignment, &[var], out);
    }

    /// `t = a; a = b; b = t;`, or with three: what goes round as a loop goes on.
    pub(crate) fn rotation(&mut self, out: &mut Block) {
        let ty = self.data_type();
        let count = 2 + self.draw.below(3) / 2;
        let mut ring: Vec<VarId> = Vec::new();
        for _ in 0..count {
            let var = match self.writable(ty, Class::Clean, &ring) {
                Some(var) => var,
                None => self.frame.local(stem(ty, Class::Clean), ty, Class::Clean, Role::Data),
            };
            ring.push(var);
        }
        let kept = self.frame.local("kept", ty, Class::Clean, Role::Private);
        let copies = std::iter::once(kept).chain(ring.iter().copied());
        for (to, from) in copies.zip(ring.iter().copied().chain([kept])) {
            let assign = self.assign(to, Expr::Var(from));
            out.push(assign);
        }
        self.observe(Moment::Assignment, &ring, out);
    }

    /// `var op value`: what a loop carries from one iteration to the next.
    pub(crate) fn accumulated(&mut self, var: VarId, value: Expr) -> Expr {
        let ty = self.frame.var(var).ty;
        if !ty.is_single() {
            return value;
        }
        let value = match value {
            Expr::Var(other) if other == var => self.something_else(ty),
            value => value,
        };
        let op = match ty {
            Type { scalar: Scalar::Bool, width: 1, .. } => BinaryOp::Xor,
            Type { scalar: Scalar::Bool, .. } => return value,
            Type { scalar, .. } if scalar.is_float() => self.draw.pick(&[BinaryOp::Add, BinaryOp::Sub]),
            _ => self.draw.pick(&[BinaryOp::Add, BinaryOp::Add, BinaryOp::BitXor, BinaryOp::Sub]),
        };
        bin(op, Expr::Var(var), value)
    }

    /// A value that is certainly not some variable.
    fn something_else(&mut self, ty: Type) -> Expr {
        let part = |b: &mut Self| {
            let word = if b.draw.percent(50) { lane() } else { b.input() };
            match ty.scalar {
                scalar if scalar != Scalar::Bool => as_number(scalar, word),
                _ => bin(BinaryOp::Ne, bin(BinaryOp::BitAnd, word, Expr::Uint(1)), Expr::Uint(0)),
            }
        };
        if ty.is_scalar() {
            return part(self);
        }
        let parts = (0..ty.width).map(|_| part(self)).collect();
        Expr::Vector(ty, parts)
    }

    /// `var = subgroupXxx(…);`
    pub(crate) fn operation_statement(&mut self, out: &mut Block) {
        let made = if self.frame.flow.tolerates_choices() && self.draw.percent(CHOSEN_OPERATIONS) {
            self.chosen_operation()
        } else {
            self.any_operation()
        };
        let Some((value, ty, class)) = made else { return self.assignment(out) };
        let var = self.result_variable(ty, class);
        self.keep(var, value, out);
    }

    /// `cond ? subgroupXxx(…) : value`: any operation where a part of the lanes evaluates it.
    fn chosen_operation(&mut self) -> Option<(Expr, Type, Class)> {
        let cond = self.boolean(Want::of(Class::Clean, 1));
        let before = self.frame.flow;
        self.frame.flow = before.arm(Decision::Divergent);
        let made = self.any_operation();
        self.frame.flow = before;
        let (value, ty, class) = made?;
        // A float would have to be exact whichever arm it comes from, and expressions may not nest without end.
        if ty.scalar.is_float() || nesting(&value) > MAX_EXPR_DEPTH / 2 {
            return Some((value, ty, class));
        }
        let otherwise = self.expr(ty, Want::of(Class::Clean, 0));
        Some((Expr::Select(Box::new(cond), Box::new(value), Box::new(otherwise)), ty, class))
    }

    /// `var = value;`, then a log or not. What is not logged is mixed into what the variable held more often than not, so that it
    /// is still there at the end.
    pub(crate) fn keep(&mut self, var: VarId, value: Expr, out: &mut Block) {
        let logged = self.draw.percent(self.density.percent(Moment::Operation));
        let held = self.frame.var(var);
        let percent = match (logged, held.class) {
            // One undefined value would taint all that come after it.
            (_, Class::MaybeUndefined) | (true, _) => 15,
            (false, _) => 60,
        };
        let mixed = held.written > 0 && self.draw.percent(percent);
        let value = if mixed { self.accumulated(var, value) } else { value };
        let assign = self.assign(var, value);
        out.push(assign);
        if logged {
            self.log(vec![Expr::Var(var)], out);
        }
    }

    fn barrier(&mut self, out: &mut Block) {
        use SubgroupOp::{Barrier, MemoryBarrier, MemoryBarrierBuffer, MemoryBarrierImage, MemoryBarrierShared};
        let op = self.draw.weighted(&[
            (6, Barrier),
            (1, MemoryBarrier),
            (1, MemoryBarrierBuffer),
            (1, MemoryBarrierShared),
            (1, MemoryBarrierImage),
        ]);
        // Shared memory is of workgroups.
        let op = if op == MemoryBarrierShared && !self.has_workgroups() { Barrier } else { op };
        self.frame.charge(Cost { words: 0, steps: 1 });
        out.push(Stmt::SubgroupBarrier(op));
    }

    /// A word that lanes agree on in groups: what waterfall loops take apart.
    pub(crate) fn key(&mut self, mask: u32) -> Expr {
        let word = match self.draw.below(6) {
            0 => lane(),
            1 => Expr::Builtin(Builtin::LocalIndex),
            2 => match self.variable(Type::INT, Class::Clean) {
                Some(var) => cast(Scalar::Uint, Expr::Var(var)),
                None => self.input(),
            },
            3 => match self.variable(Type::UINT, Class::Clean) {
                Some(var) => Expr::Var(var),
                None => self.input(),
            },
            _ => self.input(),
        };
        bin(BinaryOp::BitAnd, word, Expr::Uint(mask))
    }
}

/// The first part of a variable's name: its type, or that its value is not certain.
fn stem(ty: Type, class: Class) -> &'static str {
    match (class, ty) {
        (Class::MaybeUndefined, _) => "maybe",
        (Class::Unpredictable, _) => "open",
        (Class::Clean, Type::MASK) => "mask",
        (Class::Clean, Type { width: 2.., .. }) => "v",
        (Class::Clean, Type { scalar: Scalar::Bool, .. }) => "b",
        (Class::Clean, Type { scalar: Scalar::Int, .. }) => "i",
        (Class::Clean, Type { scalar: Scalar::Uint, .. }) => "u",
        (Class::Clean, Type { scalar, .. }) => match (scalar.is_float(), scalar.size()) {
            (false, ..=8) => "byte",
            (false, 9..=31) => "narrow",
            (false, 32..) => "wide",
            (true, ..=31) => "fine",
            (true, 32) => "real",
            (true, 33..) => "twice",
        },
    }
}
