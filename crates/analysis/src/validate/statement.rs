//! The rules of statements: where they may stand, what they may refer to, and what their expressions must be.

use std::collections::HashSet;

use tangle_program::case::{Stage, SubgroupSize};
use tangle_program::memory::{ArrayId, AtomicOp, Shared, has_atomics};
use tangle_program::subgroup::{Gives, MAX_SUBGROUP_SIZE, SubgroupOp};
use tangle_program::tree::{
    Arg, Arm, Atomic, Block, Builtin, Direction, Discard, Expr, Function, FunctionId, Label, Loop, LoopKind,
    MAX_ENTRY_WORDS, Program, SiteId, Stmt, VarId, walk_block,
};
use tangle_program::types::{Scalar, Type};

use super::checker::{Around, Checker, Counter, Enclosing};
use super::expression::{defined, element, in_range, own_element};
use super::invalid::{At, Checked, each, invalid, refuse};
use crate::bounds::{Interval, MAX_LOOP_ITERATIONS};
use crate::cost::MAX_LONG_ITERATIONS;
use crate::cost::value_words;
use crate::idiom::only_sums;
use crate::info::ExprInfo;
use crate::leaving::{self, may_continue};
use crate::names;
use crate::uniform::Tangles;

impl Checker<'_, '_> {
    pub(super) fn function(&mut self, tangles: Tangles) -> Checked {
        let function = self.function;
        if self.is_main() && !function.params.is_empty() {
            return invalid("main has no parameters").at(|| "params".into());
        }
        if self.is_main() && function.result.is_some() {
            return invalid("main has no result").at(|| "result".into());
        }
        variable_names(function, &self.case.program)?;
        walk_block(&function.body, &mut |stmt| {
            if let Stmt::Loop(l) = stmt
                && let Some(counter) = self.counters.get_mut(l.counter as usize)
            {
                *counter = Counter::Ahead;
            }
        });
        let place = Enclosing { around: Around::Function, in_loop: false, tangles };
        self.block(&function.body, place).at(|| "body".into())?;
        if function.result.is_some() && !matches!(function.body.last(), Some(Stmt::Return(_))) {
            return invalid("a function with a result ends with a return").at(|| "body".into());
        }
        Ok(())
    }

    fn is_main(&self) -> bool {
        self.id as usize + 1 == self.case.program.functions.len()
    }

    fn block(&mut self, block: &Block, place: Enclosing) -> Checked {
        let mut jumped = false;
        each(block, |stmt| {
            if jumped {
                refuse!("nothing comes here: the statement before jumps away");
            }
            jumped = stmt.is_jump();
            self.stmt(stmt, place)
        })
    }

    /// Which built-ins a stage has (Vulkan, Built-In Variables; SubgroupId and NumSubgroups are of GLCompute, MeshEXT and TaskEXT), and where
    /// there are derivatives (docs/rules.md, rule H10).
    fn builtins(&self, stmt: &Stmt) -> Checked {
        let entry_point = &self.case.entry_point;
        let has_quads = entry_point.draw().is_some() || entry_point.workgroups().derivative_group.is_some();
        if !has_quads && stmt.direct_exprs().any(Expr::derives) {
            refuse!("a derivative in a shader that does not say how its invocations form quads");
        }
        let stage = self.case.entry_point.stage;
        let is_other = |expr: &Expr| match expr {
            Expr::Builtin(Builtin::Helper | Builtin::HelperInput) => stage != Stage::Fragment,
            Expr::Builtin(Builtin::SubgroupId | Builtin::NumSubgroups) => !stage.has_workgroups(),
            _ => false,
        };
        if stmt.direct_exprs().any(|expr| expr.any(&mut |part| is_other(part))) {
            refuse!("a built-in that {} shaders do not have", self.case.entry_point.stage.name());
        }
        let is_input = |expr: &Expr| *expr == Expr::Builtin(Builtin::HelperInput);
        if stmt.direct_exprs().any(|expr| expr.any(&mut |part| is_input(part))) && self.case.program.demotes() {
            refuse!("gl_HelperInvocation in a shader that demotes");
        }
        Ok(())
    }

    /// Checks a part that not all lanes come to, or that some come to from elsewhere: what it makes uniform is so to its end only.
    fn part<R>(&mut self, check: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scope.here.clone();
        let checked = check(self);
        self.scope.here = before;
        checked
    }

    fn stmt(&mut self, stmt: &Stmt, place: Enclosing) -> Checked {
        self.builtins(stmt)?;
        if let Stmt::Assign { var, value } = stmt {
            let known = self.assign(*var, value, place).at(|| "assign".into())?;
            self.scope.here.assign(*var, known.uniformity, place.tangles);
            return Ok(());
        }
        let written = written_in(stmt);
        // Lanes come to a loop's body with what they wrote there before, and to a segment with what the one before it wrote.
        match stmt {
            Stmt::Loop(l) => self.enter_loop(l, &written, place),
            Stmt::Switch { .. } => self.scope.here.forget(&written),
            _ => {}
        }
        self.rules(stmt, place)?;
        self.scope.here.forget(&written);
        Ok(())
    }

    /// Of the variables that a loop writes, those stay uniform in its iterations that each iteration gives a uniform value, all of its lanes
    /// together: lanes that go on to the next one have executed the same assignments. Their values may be made of such variables.
    fn enter_loop(&mut self, l: &Loop, written: &[VarId], place: Enclosing) {
        let known = self.scope.here.variables(written);
        if known.is_empty() || place.tangles != Tangles::Exact {
            return self.scope.here.forget(written);
        }
        let by_all: Vec<(VarId, &Expr)> = of_each_iteration(l).collect();
        let times = |var: VarId| written.iter().filter(|other| **other == var).count();
        let is_by_all = |var: &VarId| by_all.iter().filter(|(other, _)| other == var).count() == times(*var);
        let mut carried: Vec<VarId> = known.into_iter().filter(is_by_all).collect();
        let before = self.scope.here.clone();
        loop {
            self.scope.here = before.carrying(written, &carried);
            let varies = |value: &Expr| !self.scope.info(value).uniformity.holds_in(place.tangles);
            let lost: Vec<VarId> = by_all.iter().filter(|(_, value)| varies(value)).map(|(var, _)| *var).collect();
            let count = carried.len();
            carried.retain(|var| !lost.contains(var));
            if carried.len() == count {
                return;
            }
        }
    }

    /// What statements other than assignments must be.
    fn rules(&mut self, stmt: &Stmt, place: Enclosing) -> Checked {
        match stmt {
            Stmt::Assign { .. } => Ok(()),
            Stmt::Log { site, values } => self.log(*site, values, place).at(|| "log".into()),
            Stmt::If { cond, then, otherwise, .. } => {
                self.condition(cond, place).at(|| "selection.condition".into())?;
                self.part(|checker| {
                    let mut here = checker.scope.here.clone();
                    here.assume(cond, place.tangles, &|expr| checker.scope.info(expr).uniformity);
                    checker.scope.here = here;
                    checker.block(then, place).at(|| "selection.then".into())
                })?;
                self.part(|checker| checker.block(otherwise, place)).at(|| "selection.else".into())
            }
            Stmt::Switch { selector, arms, .. } => self.switch(selector, arms, place).at(|| "switch".into()),
            Stmt::Loop(l) => self.repeated(l, place).at(|| "loop".into()),
            Stmt::Break if place.around == Around::Function => invalid("break outside of every loop and switch"),
            Stmt::Continue if !place.in_loop => invalid("continue outside of every loop"),
            Stmt::Break | Stmt::Continue => Ok(()),
            // Behind main comes what all invocations of a task shader have to execute (tangle_emit::glsl::stage).
            Stmt::Return(_) if self.is_main() && self.case.entry_point.stage == Stage::Task => {
                invalid("main of a task shader has no return: all invocations must come to its end")
            }
            Stmt::Return(value) => self.returned(value.as_ref(), place).at(|| "return".into()),
            Stmt::Call { function, args, dest } => {
                self.call(*function, args, *dest, place).at(|| "function_call".into())
            }
            Stmt::SetElement { var, index, inner, value } => {
                self.set_element(*var, (index, inner), value, place).at(|| "set_element".into())
            }
            Stmt::Store { array, element, value } => {
                self.store(*array, element.as_ref(), value, place).at(|| "store".into())
            }
            Stmt::Atomic(atomic) => self.atomic(atomic, place).at(|| "atomic".into()),
            Stmt::Discard(_) if self.case.entry_point.stage != Stage::Fragment => {
                invalid("only a fragment can be discarded").at(|| "discard".into())
            }
            Stmt::Discard(Discard::Terminate) if !self.is_main() => {
                invalid("terminateInvocation stands in main").at(|| "discard".into())
            }
            Stmt::Discard(_) => Ok(()),
            Stmt::ControlBarrier(_) if !self.case.entry_point.stage.has_workgroups() => {
                invalid("a stage without workgroups has no barriers of workgroups").at(|| "workgroup_barrier".into())
            }
            Stmt::Assume(cond) => self.assumption(cond, place).at(|| "assume_true".into()),
            // Where it may stand is checked for the whole program.
            Stmt::ControlBarrier(_) => Ok(()),
            Stmt::SubgroupBarrier(SubgroupOp::MemoryBarrierShared) if !self.case.entry_point.stage.has_workgroups() => {
                invalid("a stage without workgroups has no shared memory").at(|| "subgroup_barrier".into())
            }
            Stmt::SubgroupBarrier(op) if op.info().gives == Gives::Nothing => Ok(()),
            Stmt::SubgroupBarrier(op) => invalid(format!("{} has a result: it is an expression", op.info().name))
                .at(|| "subgroup_barrier".into()),
        }
    }

    /// Statements printed with the comma operator.
    fn comma_list(&mut self, block: &Block, place: Enclosing) -> Checked {
        each(block, |stmt| match stmt {
            Stmt::Assign { .. } | Stmt::Log { .. } | Stmt::Call { .. } => self.stmt(stmt, place),
            _ => invalid("only assign, log and call can stand in the head of a loop"),
        })
    }

    /// The type of a variable that is written here.
    fn written(&self, var: VarId) -> Checked<Type> {
        let Some(ty) = self.function.var_type(var) else { refuse!("there is no variable {var}") };
        if self.counters[var as usize] != Counter::No {
            refuse!("'{}' counts a loop, which alone may write it", self.name(var));
        }
        Ok(ty)
    }

    fn name(&self, var: VarId) -> &str {
        self.function.var_name(var).unwrap_or("?")
    }

    fn assign(&self, var: VarId, value: &Expr, place: Enclosing) -> Checked<ExprInfo> {
        let expected = self.written(var).at(|| "var".into())?;
        self.stored(value, expected, place).at(|| "value".into())
    }

    /// Checks what is stored to a variable.
    fn stored(&self, value: &Expr, expected: Type, place: Enclosing) -> Checked<ExprInfo> {
        let known = self.expr_of(value, expected, place)?;
        if !known.fits(expected) {
            refuse!("may be more than a variable of {expected} can hold");
        }
        Ok(known)
    }

    fn set_element(&self, var: VarId, (index, inner): (&Expr, &[Expr]), value: &Expr, place: Enclosing) -> Checked {
        let mut ty = self.written(var).at(|| "var".into())?;
        let mut enter = |index: &Expr| {
            let known = self.expr_of(index, Type::UINT, place)?;
            ty = element(Some(ty), index, &known)?;
            Ok(())
        };
        enter(index).at(|| "index".into())?;
        each(inner, enter).at(|| "inner".into())?;
        self.stored(value, ty, place).map(drop).at(|| "value".into())
    }

    pub(super) fn array(&self, array: ArrayId) -> Checked<&Shared> {
        match self.case.program.shared.get(array as usize) {
            Some(array) => Ok(array),
            None => invalid(format!("there is no array {array}")).at(|| "array".into()),
        }
    }

    fn store(&self, array: ArrayId, element: Option<&Expr>, value: &Expr, place: Enclosing) -> Checked {
        let array = self.array(array)?;
        if u64::from(array.len) < u64::from(self.case.entry_point.group_size()) * u64::from(array.parts) {
            return invalid(format!("'{}' has no slot for every invocation", array.name)).at(|| "array".into());
        }
        match element {
            Some(element) => {
                let known = self.expr_of(element, Type::UINT, place).at(|| "element".into())?;
                own_element(&known, array).at(|| "element".into())?;
            }
            None if array.parts != 1 => {
                return invalid(format!("which of the elements of an invocation in '{}'", array.name))
                    .at(|| "element".into());
            }
            None => {}
        }
        self.expr_of(value, array.ty(), place).map(drop).at(|| "value".into())
    }

    fn atomic(&self, atomic: &Atomic, place: Enclosing) -> Checked {
        let array = self.array(atomic.array)?;
        if !has_atomics(array.scalar) {
            return invalid(format!("atomics are on 32 or 64 bits, not on {}", array.scalar.name()))
                .at(|| "array".into());
        }
        let index = self.expr_of(&atomic.index, Type::UINT, place).at(|| "index".into())?;
        in_range(&index, array).at(|| "index".into())?;
        match (&atomic.compare, atomic.op) {
            (Some(compare), AtomicOp::CompSwap) => {
                self.expr_of(compare, array.ty(), place).map(drop).at(|| "compare".into())?;
            }
            (None, AtomicOp::CompSwap) => return invalid("AtomicCompareExchange compares").at(|| "compare".into()),
            (Some(_), _) => return invalid("only AtomicCompareExchange compares").at(|| "compare".into()),
            (None, _) => {}
        }
        self.expr_of(&atomic.value, array.ty(), place).at(|| "value".into())?;
        let Some(dest) = atomic.dest else { return Ok(()) };
        let ty = self.written(dest).at(|| "dest".into())?;
        if ty != array.ty() {
            return invalid(format!("'{}' is {ty}, not {}", self.name(dest), array.ty())).at(|| "dest".into());
        }
        Ok(())
    }

    fn log(&mut self, site: SiteId, values: &[Expr], place: Enclosing) -> Checked {
        if site == 0 {
            return invalid("0 marks the unwritten part of a log").at(|| "site".into());
        }
        if !self.sites.insert(site) {
            return invalid(format!("there are two sites {site}")).at(|| "site".into());
        }
        each(values, |value| {
            let info = self.expr(value, place)?;
            let ty = info.ty.unwrap_or(Type::UINT);
            if ty.is_nested() {
                refuse!("of a nested aggregate the elements can be logged");
            }
            if !matches!(value, Expr::Var(_)) {
                if !ty.is_scalar() {
                    refuse!("a vector must be a variable to be logged");
                }
                if ty.scalar.words() > 1 || ty.scalar.is_float() {
                    refuse!("a 64-bit or floating-point value must be a variable to be logged");
                }
            }
            Ok(())
        })
        .at(|| "values".into())?;
        let words: u64 = values.iter().map(|value| value_words(value, self.function)).sum();
        if words > MAX_ENTRY_WORDS {
            return invalid(format!("{words} words in one entry, more than {MAX_ENTRY_WORDS}")).at(|| "values".into());
        }
        Ok(())
    }

    fn switch(&mut self, selector: &Expr, arms: &[Arm], place: Enclosing) -> Checked {
        let scalar = self.selector(selector, place).at(|| "selector".into())?;
        if arms.is_empty() {
            return invalid("a switch has at least one arm").at(|| "arms".into());
        }
        let mut seen = HashSet::new();
        let inside = Enclosing { around: Around::LoopOrSwitch, tangles: Tangles::Loose, ..place };
        each(arms, |arm| {
            if arm.labels.is_empty() {
                return invalid("an arm has at least one label").at(|| "labels".into());
            }
            each(&arm.labels, |label| match label {
                Label::Case(value) if !Interval::all(scalar).contains((*value).into()) => {
                    refuse!("{value} is no {}", scalar.name());
                }
                _ if !seen.insert(*label) => refuse!("the label stands twice in one switch"),
                _ => Ok(()),
            })
            .at(|| "labels".into())?;
            self.part(|checker| checker.block(&arm.body, inside)).at(|| "body".into())
        })
        .at(|| "arms".into())
    }

    fn selector(&self, selector: &Expr, place: Enclosing) -> Checked<Scalar> {
        let info = self.expr(selector, place)?;
        match info.ty {
            Some(Type::INT | Type::UINT) => {}
            Some(ty) => refuse!("a selector is i32 or u32, not {ty}"),
            None => refuse!("a selector is i32 or u32"),
        }
        defined(&info, "decides a switch")?;
        Ok(info.scalar())
    }

    fn repeated(&mut self, l: &Loop, place: Enclosing) -> Checked {
        self.counter(l.counter).at(|| "counter".into())?;
        let inside = Enclosing { around: Around::LoopOrSwitch, in_loop: true, ..place };
        match &l.kind {
            LoopKind::For { init, step, update } => {
                self.bound(init, place).at(|| "kind.for.init".into())?;
                if !(1..=MAX_LOOP_ITERATIONS).contains(&u64::from(*step)) {
                    return invalid(format!("a step of {step}: must be 1 to {MAX_LOOP_ITERATIONS}"))
                        .at(|| "kind.for.step".into());
                }
                self.part(|checker| checker.comma_list(update, place)).at(|| "kind.for.update".into())?;
            }
            LoopKind::Forever | LoopKind::Endless if l.test.is_some() => {
                return invalid("a forever loop has no test").at(|| "test".into());
            }
            LoopKind::Endless => self.leaves(l).at(|| "kind".into())?,
            LoopKind::Forever | LoopKind::While | LoopKind::DoWhile => {}
        }
        if let Some(test) = &l.test {
            self.part(|checker| {
                checker.comma_list(&test.before, place).at(|| "test.before".into())?;
                checker.condition(&test.cond, place).map(drop).at(|| "test.condition".into())
            })?;
        }
        let most = self.bound(&l.bound, place).at(|| "bound".into())?.range.hi;
        let limit = if only_sums(l, self.function) { MAX_LONG_ITERATIONS } else { MAX_LOOP_ITERATIONS };
        if most > i128::from(limit) {
            return invalid(format!("can be {most}, more than {limit}")).at(|| "bound".into());
        }
        self.part(|checker| checker.block(&l.body, inside)).at(|| "body".into())
    }

    /// All lanes leave an endless loop, and nothing reads its counter, which is not printed.
    fn leaves(&self, l: &Loop) -> Checked {
        let lanes = match self.case.entry_point.subgroup_size {
            SubgroupSize::Required(size) => size,
            SubgroupSize::Default | SubgroupSize::Varying => MAX_SUBGROUP_SIZE,
        };
        let lanes = (!self.case.excludes_helpers()).then_some(lanes);
        let Some(rounds) = leaving::rounds(l, self.function, lanes) else {
            refuse!("is not known to be left by all lanes");
        };
        if l.bound != Expr::Uint(rounds) {
            return invalid(format!("all lanes have left after {rounds} iterations: the bound is that"))
                .at(|| "bound".into());
        }
        let mut is_read = false;
        walk_block(&self.function.body, &mut |stmt| {
            let reads = |expr: &Expr| expr.any(&mut |part| *part == Expr::Var(l.counter));
            is_read |= stmt.direct_exprs().any(reads);
        });
        if is_read {
            refuse!("has no counter that could be read");
        }
        Ok(())
    }

    fn counter(&mut self, counter: VarId) -> Checked {
        if self.function.var_type(counter) != Some(Type::UINT) || (counter as usize) < self.function.params.len() {
            refuse!("a loop counter is a u32 local");
        }
        let state = &mut self.counters[counter as usize];
        if *state == Counter::Taken {
            refuse!("'{}' counts another loop, too", self.name(counter));
        }
        *state = Counter::Taken;
        Ok(())
    }

    fn bound(&self, bound: &Expr, place: Enclosing) -> Checked<ExprInfo> {
        let info = self.expr_of(bound, Type::UINT, place)?;
        defined(&info, "decides how often a loop runs")?;
        Ok(info)
    }

    fn condition(&self, cond: &Expr, place: Enclosing) -> Checked<ExprInfo> {
        let info = self.expr_of(cond, Type::BOOL, place)?;
        defined(&info, "is a condition")?;
        Ok(info)
    }

    /// SPV_KHR_expect_assume: if the condition is false, behaviour is undefined.
    fn assumption(&self, cond: &Expr, place: Enclosing) -> Checked {
        if self.condition(cond, place)?.range != Interval::exactly(1) {
            refuse!("is assumed, but not known to hold");
        }
        if cond.any(&mut |expr| matches!(expr, Expr::Subgroup(_))) {
            refuse!("an assumption has no subgroup operation");
        }
        Ok(())
    }

    fn returned(&self, value: Option<&Expr>, place: Enclosing) -> Checked {
        match (self.function.result, value) {
            (None, None) => Ok(()),
            (Some(ty), Some(value)) => self.stored(value, ty, place).map(drop),
            (Some(ty), None) => invalid(format!("returns nothing, but the result is {ty}")),
            (None, Some(_)) => invalid("returns a value, but the function has no result"),
        }
    }

    fn call(&self, function: FunctionId, args: &[Arg], dest: Option<VarId>, place: Enclosing) -> Checked {
        let callee = match self.case.program.functions.get(function as usize) {
            Some(callee) if function < self.id => callee,
            _ => {
                return invalid(format!("{function} is not the index of a function before this one"))
                    .at(|| "function".into());
            }
        };
        if args.len() != callee.params.len() {
            return invalid(format!("'{}' takes {}, not {}", callee.name, callee.params.len(), args.len()))
                .at(|| "args".into());
        }
        let mut outs = Vec::new();
        (0..).zip(callee.params.iter().zip(args)).try_for_each(|(i, (param, arg))| {
            match (param.direction, arg) {
                (Direction::In, Arg::In(value)) => self.stored(value, param.ty, place).map(drop).at(|| "in".into()),
                (Direction::Out | Direction::Inout, Arg::Out(var)) => {
                    self.received(*var, param.ty, &mut outs).at(|| "out".into())
                }
                (Direction::In, Arg::Out(_)) => invalid(format!("'{}' is an in parameter", param.name)),
                (_, Arg::In(_)) => invalid(format!("'{}' is an out parameter: it needs a variable", param.name)),
            }
            .at(|| format!("args[{i}]"))
        })?;
        match (dest, callee.result) {
            (None, _) => Ok(()),
            (Some(var), Some(ty)) => self.received(var, ty, &mut outs),
            (Some(_), None) => invalid(format!("'{}' has no result", callee.name)),
        }
        .at(|| "dest".into())
    }

    /// A variable that a call writes, `outs` being those before it.
    fn received(&self, var: VarId, expected: Type, outs: &mut Vec<VarId>) -> Checked {
        let ty = self.written(var)?;
        if ty != expected {
            refuse!("'{}' is {ty}, not {expected}", self.name(var));
        }
        if outs.contains(&var) {
            refuse!("'{}' is written twice by one call, in no certain order", self.name(var));
        }
        outs.push(var);
        Ok(())
    }
}

fn variable_names(function: &Function, program: &Program) -> Checked {
    let mut seen: HashSet<&str> = HashSet::with_capacity(function.var_count());
    let check = |name: &str, known: bool| -> Checked {
        if known {
            refuse!("there are two variables '{name}'");
        }
        // A variable would hide the function.
        if program.functions.iter().any(|function| function.name == name) {
            refuse!("'{name}' is a function, too");
        }
        if program.shared.iter().any(|array| array.name == name) {
            refuse!("'{name}' is an array in shared memory, too");
        }
        names::check(name).or_else(invalid)
    };
    for (i, param) in function.params.iter().enumerate() {
        check(&param.name, !seen.insert(&param.name)).at(|| format!("params[{i}].name"))?;
        exists(param.ty).at(|| format!("params[{i}].type"))?;
    }
    for (i, local) in function.locals.iter().enumerate() {
        check(&local.name, !seen.insert(&local.name)).at(|| format!("locals[{i}].name"))?;
        exists(local.ty).at(|| format!("locals[{i}].type"))?;
    }
    Ok(())
}

/// JSON names no other types; a change of a program can make them, a matrix of integers say.
fn exists(ty: Type) -> Checked {
    if ty.exists() { Ok(()) } else { invalid(format!("there is no type {ty}")) }
}

/// The assignments of a loop that all lanes of an iteration execute: those of its head and, in its body, those before a `continue` may come.
fn of_each_iteration(l: &Loop) -> impl Iterator<Item = (VarId, &Expr)> {
    let update: &[Stmt] = if let LoopKind::For { update, .. } = &l.kind { update } else { &[] };
    let before: &[Stmt] = l.test.as_ref().map_or(&[], |test| &test.before);
    let body = l.body.iter().take_while(|stmt| !may_continue(stmt));
    update.iter().chain(before).chain(body).filter_map(|stmt| match stmt {
        Stmt::Assign { var, value } => Some((*var, value)),
        _ => None,
    })
}

/// The variables that a statement and those in it write, counters of loops among them, each as often as it is written.
fn written_in(stmt: &Stmt) -> Vec<VarId> {
    let mut written = Vec::new();
    let mut note = |stmt: &Stmt| {
        written.extend(stmt.written());
        if let Stmt::Loop(l) = stmt {
            written.push(l.counter);
        }
    };
    note(stmt);
    stmt.nested_blocks().for_each(|block| walk_block(block, &mut note));
    written
}
