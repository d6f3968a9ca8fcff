//! Functions, made where they are first called.
//!
//! A body is generated for a [`Flow`] at its entry. It may be called again wherever at least as much is known
//! ([`Flow::admits`]); with a single call site it knows what that site knows.

use tangle_program::tree::{Arg, Block, Direction, Expr, FunctionId, Stmt, VarId, ends_in_jump};
use tangle_program::types::Type;

use super::builder::{Builder, Made, Parameter};
use super::estimate::Guess;
use super::frame::{Cost, Frame, Jump, Role};
use super::log::Moment;
use super::term::Want;
use crate::class::{Class, Decision, Flow, Leaving, Sites};

/// Calls nested in each other.
const MOST_LEVELS: u32 = 3;

impl Builder<'_> {
    /// True if some function can be called here, or made.
    pub(crate) fn can_call(&self) -> bool {
        self.can_make() || (0..self.made.len()).any(|k| self.can_reuse(k))
    }

    fn can_make(&self) -> bool {
        let room = self.frame.room();
        self.made.len() < self.size.functions as usize
            && self.frame.level < MOST_LEVELS
            && self.statements >= 4
            // Where it is made it should also be reached.
            && self.frame.opens.len() <= 2
            && room.steps >= 60
    }

    fn can_reuse(&self, k: usize) -> bool {
        let made = &self.made[k];
        let steps = made.cost.steps + 1;
        self.frame.flow.admits(made.entry)
            && self.frame.affords(Cost { words: made.cost.words, steps })
            && (made.returns == Leaving::Together || !self.frame.must_come_back_together())
    }

    pub(crate) fn call_statement(&mut self, out: &mut Block) {
        let old: Vec<usize> = (0..self.made.len()).filter(|&k| self.can_reuse(k)).collect();
        if old.is_empty() || (self.can_make() && self.draw.percent(45)) {
            return self.call_new(out);
        }
        let function = self.draw.pick(&old);
        let params = self.made[function].params.clone();
        let (args, taken) = self.arguments(&params);
        self.call_function(function, args, taken, out);
    }

    /// Makes a function and calls it.
    fn call_new(&mut self, out: &mut Block) {
        let params = self.parameters();
        let (args, taken) = self.arguments(&params);
        let guesses: Vec<Option<Guess>> =
            params.iter().zip(&args).map(|(param, arg)| self.arriving(*param, arg)).collect();
        let function = self.make(&params, &guesses);
        self.call_function(function, args, taken, out);
    }

    /// One argument for each parameter; the variables that are written.
    fn arguments(&mut self, params: &[Parameter]) -> (Vec<Arg>, Vec<VarId>) {
        let mut taken = Vec::new();
        let mut args = Vec::with_capacity(params.len());
        for &(direction, ty, class) in params {
            args.push(match direction {
                Direction::In => Arg::In(self.expr(ty, Want::of(class, 1))),
                Direction::Out | Direction::Inout => Arg::Out(self.out_variable(ty, class, &mut taken)),
            });
        }
        (args, taken)
    }

    /// What a parameter is believed to hold when the body starts.
    fn arriving(&self, param: Parameter, arg: &Arg) -> Option<Guess> {
        match (param.0, arg) {
            (_, Arg::In(value)) => self.estimate(|guess| guess.guess(value)),
            (Direction::Out, Arg::Out(_)) => param.1.is_scalar().then(|| Guess::all(0)),
            (_, Arg::Out(var)) => self.frame.guesses[*var as usize],
        }
    }

    /// `dest = function(args);`
    fn call_function(&mut self, function: usize, args: Vec<Arg>, mut taken: Vec<VarId>, out: &mut Block) {
        let made = &self.made[function];
        let (result, cost) = (made.result, made.cost);
        let (entry, end, returns) = (made.entry, made.end, made.returns);
        let dest = match result {
            Some((ty, class)) if self.draw.percent(90) => Some(self.out_variable(ty, class, &mut taken)),
            _ => None,
        };
        self.frame.charge(Cost { words: cost.words, steps: cost.steps + 1 });
        taken.iter().for_each(|&var| self.frame.forget(var));
        self.frame.flow = self.frame.flow.after_call(entry, end, returns);
        // What a callee does not bring together again stays apart in this function too.
        if self.frame.opens.is_empty() {
            self.frame.returns = self.frame.returns.and(returns);
        }
        out.push(Stmt::Call { function: function as FunctionId, args, dest });
        self.observe(Moment::Operation, &taken, out);
    }

    fn out_variable(&mut self, ty: Type, class: Class, taken: &mut Vec<VarId>) -> VarId {
        let var = match self.writable(ty, class, taken) {
            Some(var) => var,
            None => self.frame.local("r", ty, class, Role::Data),
        };
        taken.push(var);
        var
    }

    /// Makes a function that can be called here, and returns its index.
    fn make(&mut self, params: &[Parameter], guesses: &[Option<Guess>]) -> usize {
        let here = self.frame.flow;
        let entry = match self.draw.below(8) {
            0..=3 => here.callee(Sites::Many),
            4..=6 => here.callee(Sites::One),
            _ => here.callee(Sites::Many).anywhere(),
        };
        let entry = if self.is_maximal() { here.callee(Sites::Many) } else { entry };
        let room = self.frame.room();
        let limit = Cost { words: room.words / 2, steps: room.steps / 2 };
        let level = self.frame.level + 1;
        let together = u32::from(self.frame.must_come_back_together());
        let frame = Frame::new(String::new(), entry, self.frame.estimated, limit, level);
        let caller = std::mem::replace(&mut self.frame, frame);
        self.frame.together = together;
        for (&(direction, ty, class), guess) in params.iter().zip(guesses) {
            self.frame.param(direction, ty, class, *guess);
        }
        self.result(params);
        self.frame.function.body = self.body();
        let callee = std::mem::replace(&mut self.frame, caller);
        self.add(callee, entry)
    }

    fn add(&mut self, frame: Frame, entry: Flow) -> usize {
        let params = frame.function.params.iter().zip(&frame.vars);
        let made = Made {
            params: params.map(|(param, var)| (param.direction, param.ty, var.class)).collect(),
            result: frame.result,
            entry,
            end: frame.flow,
            returns: frame.returns,
            cost: frame.spent,
        };
        let mut function = frame.function;
        function.name = format!("f{}", self.made.len());
        self.made.push(made);
        self.functions.push(function);
        self.made.len() - 1
    }

    fn parameters(&mut self) -> Vec<Parameter> {
        let mut params = Vec::new();
        for _ in 0..1 + self.draw.below(3) {
            let direction = self.draw.weighted(&[(5, Direction::In), (4, Direction::Inout), (1, Direction::Out)]);
            let class = if self.draw.percent(6) { Class::MaybeUndefined } else { Class::Clean };
            params.push((direction, self.any_type(), class));
        }
        params
    }

    /// A function gives something back: a result, or parameters that go out.
    fn result(&mut self, params: &[Parameter]) {
        let silent = params.iter().all(|&(direction, ..)| direction == Direction::In);
        if silent || self.draw.percent(50) {
            let ty = self.any_type();
            let inexact = !self.frame.flow.is_exact() && self.draw.percent(50);
            let class = if inexact { Class::Unpredictable } else { Class::Clean };
            self.frame.function.result = Some(ty);
            self.frame.result = Some((ty, class));
        }
    }

    fn body(&mut self) -> Block {
        let mut out = Vec::new();
        self.observe(Moment::Place, &[], &mut out);
        let size = 2 + self.draw.below(4);
        let can_loop = self.affordable_trips() >= 2;
        // A loop that some lanes return from is what inliners and drivers get wrong.
        if can_loop && self.draw.percent(35) {
            self.loop_statement(&mut out);
        }
        if !ends_in_jump(&out)
            && self.draw.percent(55)
            && self.frame.can_jump_from(self.frame.flow.arm(Decision::Divergent), Jump::Return)
        {
            self.early_return(&mut out);
        }
        self.extend(size, &mut out);
        if out.is_empty() {
            self.assignment(&mut out);
        }
        if self.frame.result.is_some() && !matches!(out.last(), Some(Stmt::Return(_))) {
            self.last_return(&mut out);
        }
        out
    }

    /// Some lanes return, often with something written; an operation sees who is left.
    fn early_return(&mut self, out: &mut Block) {
        let cond = self.exit_condition(Decision::Divergent);
        let written = self.draw.percent(70);
        let leave = self.branch(
            cond,
            |b| {
                let mut block = Vec::new();
                if written {
                    b.write_out(&mut block);
                }
                b.push_jump(Jump::Return, &mut block);
                block
            },
            |_| Vec::new(),
        );
        out.push(leave);
        self.operation_statement(out);
    }

    /// Writes a parameter that goes out, or something else.
    fn write_out(&mut self, out: &mut Block) {
        let directions = self.frame.function.params.iter().map(|param| param.direction);
        let Some(var) = directions.clone().position(|direction| direction != Direction::In) else {
            return self.assignment(out);
        };
        let var = var as VarId;
        let ty = self.frame.var(var).ty;
        let value = self.expr(ty, Want::own(1));
        let sum = self.accumulated(var, value);
        let assign = self.assign(var, sum);
        out.push(assign);
    }

    /// The `return` that a function with a result ends with.
    fn last_return(&mut self, out: &mut Block) {
        let Some((ty, class)) = self.frame.result else { return };
        if ends_in_jump(out) {
            // Both arms of the last branch return; a value must still stand at the end.
            self.frame.flow = self.frame.flow.scattered();
        }
        let value = match self.variable(ty, class) {
            Some(var) if self.draw.percent(60) => Expr::Var(var),
            _ => self.expr(ty, Want::of(class, 1)),
        };
        debug_assert!(!self.frame.can_jump(Jump::Break), "all constructs are closed");
        self.frame.charge(Cost { words: 0, steps: 1 });
        out.push(Stmt::Return(Some(value)));
    }
}
