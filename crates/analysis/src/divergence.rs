//! Which loops the lanes of a subgroup may leave at different times.
//!
//! A conservative analysis over the whole program, by the text alone: which variables may differ between lanes, which statements may
//! run with a part of the lanes, and from both, which loops let lanes go one by one. It distinguishes shapes of programs, no more: what lanes
//! really do is the oracle's business.

use crate::uniform::{Tangles, is_uniform};
use tangle_program::tree::{Arg, Block, Builtin, Discard, Expr, Loop, LoopKind, Program, Stmt};

/// What may differ between the lanes of a subgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// In the order of [`Program::functions`].
    functions: Vec<Varying>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Varying {
    /// For each variable, the parameters first.
    vars: Vec<bool>,
    /// The result may vary; false of a function without one.
    result: bool,
    /// The body may run with a part of the lanes.
    apart: bool,
}

impl Divergence {
    /// Analyses a valid program.
    pub fn of(program: &Program) -> Divergence {
        let fresh = |function: &tangle_program::tree::Function| Varying {
            vars: vec![false; function.var_count()],
            ..Varying::default()
        };
        let mut all = Divergence { functions: program.functions.iter().map(fresh).collect() };
        // What varies only grows, so that this ends.
        loop {
            let before = all.clone();
            for (id, function) in program.functions.iter().enumerate() {
                let body = &function.body;
                let early = body
                    .split_last()
                    .is_some_and(|(_, rest)| rest.iter().any(|stmt| all.leaves(id, stmt, Exits::FUNCTION, false)));
                let apart = all.functions[id].apart || early;
                all.block(id, body, apart);
            }
            if all == before {
                return all;
            }
        }
    }

    /// True if lanes that run the loop together may leave it, or go on to its next iteration, at different times. The loop is one of the
    /// function with that number.
    pub fn parts_lanes(&self, function: usize, l: &Loop) -> bool {
        self.is_left_by(function, l, self.left_of(function, &l.body))
    }

    /// The same, of a loop whose body is left so.
    fn is_left_by(&self, function: usize, l: &Loop, body: Left) -> bool {
        let started = match &l.kind {
            LoopKind::For { init, .. } => self.varies(function, init),
            LoopKind::While | LoopKind::DoWhile | LoopKind::Forever | LoopKind::Endless => false,
        };
        let test = l.test.as_ref().is_some_and(|test| self.varies(function, &test.cond));
        started || test || body.whole.meets(Exits::LOOP) || self.varies(function, &l.bound)
    }

    /// True if a part of the lanes may call the function.
    pub(crate) fn is_called_apart(&self, function: usize) -> bool {
        self.functions[function].apart
    }

    /// True if a part of the lanes may jump out of the statement. `apart`: it runs with a part of them.
    pub(crate) fn leaves(&self, function: usize, stmt: &Stmt, exits: Exits, apart: bool) -> bool {
        let left = self.left(function, stmt);
        (if apart { left.apart } else { left.whole }).meets(exits)
    }

    /// By which jumps a part of the lanes may leave the statement.
    fn left(&self, function: usize, stmt: &Stmt) -> Left {
        let inside = stmt.nested_blocks().fold(Left::default(), |left, block| left.or(self.left_of(function, block)));
        match stmt {
            Stmt::Break => Left { apart: Exits::BREAK, ..Left::default() },
            Stmt::Continue => Left { apart: Exits::CONTINUE, ..Left::default() },
            Stmt::Return(_) | Stmt::Discard(Discard::Terminate) => Left { apart: Exits::FUNCTION, ..Left::default() },
            Stmt::Loop(l) => inside.parted_if(self.is_left_by(function, l, inside)).map(Exits::out_of_loop),
            Stmt::Switch { selector, .. } => {
                inside.parted_if(self.varies(function, selector)).map(Exits::out_of_switch)
            }
            // Of any other, too, the expressions may part the lanes that run what is nested in it.
            _ => inside.parted_if(stmt.direct_exprs().any(|expr| self.varies(function, expr))),
        }
    }

    fn left_of(&self, function: usize, block: &Block) -> Left {
        block.iter().fold(Left::default(), |left, stmt| left.or(self.left(function, stmt)))
    }

    /// True if the expression may differ between the lanes of a subgroup.
    pub(crate) fn varies(&self, function: usize, expr: &Expr) -> bool {
        match expr {
            Expr::Var(var) => self.functions[function].vars.get(*var as usize).copied().unwrap_or(true),
            Expr::Builtin(Builtin::WorkgroupIndex | Builtin::SubgroupSize | Builtin::NumSubgroups) => false,
            Expr::Subgroup(_) => !is_uniform(expr, Tangles::Exact),
            _ if expr.operands().next().is_none() => !is_uniform(expr, Tangles::Exact),
            _ => expr.operands().any(|operand| self.varies(function, operand)),
        }
    }

    fn mark(&mut self, function: usize, var: u32, varies: bool) {
        if let Some(known) = self.functions[function].vars.get_mut(var as usize) {
            *known |= varies;
        }
    }

    fn block(&mut self, function: usize, block: &Block, apart: bool) {
        for stmt in block {
            self.stmt(function, stmt, apart);
        }
    }

    fn stmt(&mut self, function: usize, stmt: &Stmt, apart: bool) {
        let mut inner = apart || stmt.direct_exprs().any(|expr| self.varies(function, expr));
        match stmt {
            // Every lane finds another old value.
            Stmt::Atomic(atomic) => atomic.dest.iter().for_each(|dest| self.mark(function, *dest, true)),
            Stmt::Return(Some(_)) => self.functions[function].result |= inner,
            Stmt::Call { function: callee, args, dest } => {
                let callee = *callee as usize;
                self.functions[callee].apart |= apart;
                for (param, arg) in (0..).zip(args) {
                    let given = match arg {
                        Arg::In(expr) => self.varies(function, expr),
                        Arg::Out(var) => self.varies(function, &Expr::Var(*var)),
                    };
                    self.mark(callee, param, apart || given);
                    if let Arg::Out(var) = arg {
                        let got = self.varies(callee, &Expr::Var(param));
                        self.mark(function, *var, apart || got);
                    }
                }
                if let Some(dest) = dest {
                    let result = self.functions[callee].result;
                    self.mark(function, *dest, apart || result);
                }
            }
            Stmt::Loop(l) => {
                inner = apart || self.parts_lanes(function, l);
                self.mark(function, l.counter, inner);
            }
            // What a statement writes varies with what it reads.
            _ => stmt.written().for_each(|var| self.mark(function, var, inner)),
        }
        stmt.nested_blocks().for_each(|block| self.block(function, block, inner));
    }
}

/// By which jumps a part of the lanes may leave something. For both ways to run it at once, so that what is nested is gone through once.
#[derive(Clone, Copy, Default)]
struct Left {
    /// If all lanes run it together.
    whole: Exits,
    /// If a part of them runs it.
    apart: Exits,
}

impl Left {
    fn or(self, other: Left) -> Left {
        Left { whole: self.whole.or(other.whole), apart: self.apart.or(other.apart) }
    }

    /// What is left so stands in a construct that may part the lanes, if `parts`.
    fn parted_if(self, parts: bool) -> Left {
        if parts { Left { whole: self.apart, ..self } } else { self }
    }

    fn map(self, change: fn(Exits) -> Exits) -> Left {
        Left { whole: change(self.whole), apart: change(self.apart) }
    }
}

/// A set of kinds of jumps.
#[derive(Clone, Copy, Default)]
pub(crate) struct Exits {
    by_break: bool,
    by_continue: bool,
    by_return: bool,
}

impl Exits {
    const NONE: Exits = Exits { by_break: false, by_continue: false, by_return: false };
    pub(crate) const BREAK: Exits = Exits { by_break: true, ..Exits::NONE };
    pub(crate) const CONTINUE: Exits = Exits { by_continue: true, ..Exits::NONE };
    pub(crate) const FUNCTION: Exits = Exits { by_return: true, ..Exits::NONE };
    const LOOP: Exits = Exits { by_break: true, by_continue: true, by_return: true };

    const fn or(self, other: Exits) -> Exits {
        Exits {
            by_break: self.by_break || other.by_break,
            by_continue: self.by_continue || other.by_continue,
            by_return: self.by_return || other.by_return,
        }
    }

    /// True if some kind is in both sets.
    const fn meets(self, other: Exits) -> bool {
        self.by_break && other.by_break || self.by_continue && other.by_continue || self.by_return && other.by_return
    }

    /// Those that lead out of the loop, too, if these lead out of its body.
    const fn out_of_loop(self) -> Exits {
        Exits { by_return: self.by_return, ..Exits::NONE }
    }

    /// Those that lead out of the switch, too.
    const fn out_of_switch(self) -> Exits {
        Exits { by_break: false, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::subgroup::{Fold, SubgroupOp};
    use tangle_program::tree::{Function, Test};
    use tangle_program::types::Type;

    fn lane() -> Expr {
        Expr::Builtin(Builtin::Lane)
    }

    fn odd(x: Expr) -> Expr {
        Expr::binary(tangle_program::ops::BinaryOp::Lt, x, Expr::Uint(1))
    }

    fn when(cond: Expr, then: Block) -> Stmt {
        Stmt::If { cond, then, otherwise: Vec::new(), control: Default::default() }
    }

    /// `for (;;)` over a counter of its own.
    fn forever(bound: Expr, body: Block) -> Loop {
        Loop { kind: LoopKind::Forever, counter: 2, bound, test: None, body, control: Default::default() }
    }

    fn add(x: Expr) -> Expr {
        Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [x])
    }

    #[test]
    fn lanes_leave_loops_by_bounds_tests_and_jumps() {
        let set = |var, value| Stmt::Assign { var, value };
        let steady = |body| forever(Expr::Uniform(0), body);
        let tested = |cond| Loop {
            kind: LoopKind::While,
            test: Some(Test { before: Vec::new(), cond }),
            ..forever(Expr::Uint(3), Vec::new())
        };
        let call = |args: Vec<Arg>| Stmt::Call { function: 0, args, dest: Some(0) };
        let table: Vec<(&str, Block, Loop, bool)> = vec![
            ("a bound of all", vec![], steady(vec![]), false),
            ("a bound of its own", vec![], forever(lane(), vec![]), true),
            ("a test of all", vec![], tested(odd(Expr::Push(0))), false),
            ("a test of its own", vec![], tested(odd(Expr::Input(0))), true),
            ("a reduction", vec![], forever(add(lane()), vec![]), false),
            ("a variable", vec![set(0, lane())], forever(Expr::Var(0), vec![]), true),
            ("a variable of all", vec![set(0, add(lane()))], forever(Expr::Var(0), vec![]), false),
            ("set by some", vec![when(odd(lane()), vec![set(0, Expr::Uint(1))])], forever(Expr::Var(0), vec![]), true),
            ("a break", vec![], steady(vec![when(odd(lane()), vec![Stmt::Break])]), true),
            ("a break of all", vec![], steady(vec![when(odd(Expr::Var(2)), vec![Stmt::Break])]), false),
            ("a continue", vec![], steady(vec![when(odd(lane()), vec![Stmt::Continue])]), true),
            (
                "a break of an inner loop",
                vec![],
                steady(vec![Stmt::Loop(Box::new(Loop {
                    counter: 1,
                    ..steady(vec![when(odd(lane()), vec![Stmt::Break])])
                }))]),
                false,
            ),
            (
                "a return from an inner loop",
                vec![],
                steady(vec![Stmt::Loop(Box::new(Loop {
                    counter: 1,
                    ..steady(vec![when(odd(lane()), vec![Stmt::Return(None)])])
                }))]),
                true,
            ),
            ("a call", vec![call(vec![Arg::In(Expr::Uint(1))])], forever(Expr::Var(0), vec![]), false),
            ("a call with its own", vec![call(vec![Arg::In(lane())])], forever(Expr::Var(0), vec![]), true),
        ];
        let local = |name: &str| tangle_program::tree::Local::new(name, Type::UINT);
        for (what, mut body, l, parts) in table {
            body.push(Stmt::Loop(Box::new(l.clone())));
            let same = Function {
                name: "same".into(),
                params: vec![tangle_program::tree::Param {
                    name: "x".into(),
                    direction: tangle_program::tree::Direction::In,
                    ty: Type::UINT,
                }],
                result: Some(Type::UINT),
                locals: Vec::new(),
                body: vec![Stmt::Return(Some(Expr::Var(0)))],
            };
            let main = Function {
                name: "main".into(),
                params: Vec::new(),
                result: None,
                locals: vec![local("a"), local("j"), local("i")],
                body,
            };
            let program = Program { shared: Vec::new(), functions: vec![same, main] };
            assert_eq!(Divergence::of(&program).parts_lanes(1, &l), parts, "{what}");
        }
    }
}
