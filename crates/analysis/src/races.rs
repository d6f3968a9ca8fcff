//! No data races: which invocations may touch an array between two barriers, and where `barrier()` may stand.
//!
//! Two accesses to one element race if one of them is a write, they are not both atomic, and nothing orders them (Vulkan memory
//! model; docs/rules.md, section Y). Between two barriers nothing orders different invocations, so in such a *phase* an array is used in one
//! of these ways:
//!
//! | way | accesses |
//! |---|---|
//! | own | stores, which go to the invocation's own slot, and loads of that slot |
//! | read | loads of any slot |
//! | atomic | atomics on any slot |
//!
//! `barrier()` orders all invocations of the workgroup only where all of them execute it together: where control flow is uniform in
//! the workgroup by the rules of docs/rules.md, section E, behind conditions that are visibly equal for all, and after no divergent
//! `return` from `main` (GLSL 4.60 §8.16; SPIR-V 1.6, OpControlBarrier: else the behaviour is undefined). It stands in `main` only.
//!
//! The analysis goes through `main` with the accesses since the last barrier, joined where paths join, and around loops until nothing
//! is added.

use crate::uniform::{Tangles, is_uniform};
use tangle_program::case::{Case, Tier};
use tangle_program::memory::{ArrayId, Shared, Sync};
use tangle_program::tree::{Block, Expr, Function, FunctionId, Loop, LoopKind, Program, Stmt, walk_block};

/// What is wrong, and in which statement of which function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The function.
    pub function: FunctionId,
    /// What is wrong.
    pub reason: String,
}

/// Ways in which an array was used: a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ways(u8);

impl Ways {
    const OWN_LOAD: Ways = Ways(1);
    const STORE: Ways = Ways(2);
    const LOAD: Ways = Ways(4);
    const ATOMIC: Ways = Ways(8);

    const fn or(self, other: Ways) -> Ways {
        Ways(self.0 | other.0)
    }

    const fn has(self, way: Ways) -> bool {
        self.0 & way.0 != 0
    }

    /// True if different invocations may use the array in these ways without order.
    const fn is_free(self) -> bool {
        let stores = self.has(Ways::STORE) && self.has(Ways::LOAD.or(Ways::ATOMIC));
        let atomics = self.has(Ways::ATOMIC) && self.has(Ways::LOAD.or(Ways::OWN_LOAD));
        !stores && !atomics
    }
}

/// By array: how it was used since the last barrier.
type Phase = Vec<Ways>;

/// What a caller must know of a function.
#[derive(Clone, Debug)]
struct Summary {
    uses: Phase,
    /// Lanes may come back by different returns.
    returns_apart: bool,
}

/// Where control flow is.
#[derive(Clone, Debug)]
struct Flow {
    /// Accesses since the last barrier; `None` where nobody comes.
    phase: Option<Phase>,
    /// True if all invocations of the workgroup are here together.
    uniform: bool,
}

/// A construct around the statement.
#[derive(Clone, Debug, Default)]
struct Level {
    is_loop: bool,
    is_switch: bool,
    /// Some lanes may have left it on another way than to its end.
    parted: bool,
    /// Some lanes may have left this iteration, or the loop, alone.
    iteration_parted: bool,
    broken: Option<Phase>,
    continued: Option<Phase>,
}

/// Checks a whole case.
pub fn check(case: &Case) -> Result<(), Race> {
    let Program { shared, functions } = &case.program;
    // Without memory and barriers there is nothing to find.
    let synchronises = |stmt: &Stmt| matches!(stmt, Stmt::Sync(Sync::Barrier));
    let mut any = !shared.is_empty();
    functions.iter().for_each(|function| walk_block(&function.body, &mut |stmt| any |= synchronises(stmt)));
    if any { summaries(shared, functions, case.tier, functions.len()).map(|_| ()) } else { Ok(()) }
}

/// True if `barrier()` may follow these statements of a `main` that is not finished.
pub fn may_synchronise_after(shared: &[Shared], functions: &[Function], tier: Tier, main: &Block) -> bool {
    let Ok(summaries) = summaries(shared, functions, tier, functions.len() + 1) else { return false };
    let mut walk = Walk::new(shared, tier, &summaries, true);
    matches!(walk.body(main), Ok(Flow { phase: Some(_), uniform: true }))
}

/// Of each function; `main` is the last of `count`.
fn summaries(shared: &[Shared], functions: &[Function], tier: Tier, count: usize) -> Result<Vec<Summary>, Race> {
    let mut summaries = Vec::with_capacity(functions.len());
    for (id, function) in (0..).zip(functions) {
        let mut walk = Walk::new(shared, tier, &summaries, id as usize + 1 == count);
        let end = walk.body(&function.body).map_err(|reason| Race { function: id, reason })?;
        // Those that a call parted come to the end apart, too (rule R7).
        let returns_apart = walk.returned_apart || !end.uniform;
        let uses = walk.uses_of(function);
        summaries.push(Summary { uses, returns_apart });
    }
    Ok(summaries)
}

struct Walk<'a> {
    shared: &'a [Shared],
    tier: Tier,
    summaries: &'a [Summary],
    is_main: bool,
    levels: Vec<Level>,
    returned_apart: bool,
    /// What those did that have returned alone.
    ended: Option<Phase>,
}

type Checked<T> = Result<T, String>;

impl<'a> Walk<'a> {
    fn new(shared: &'a [Shared], tier: Tier, summaries: &'a [Summary], is_main: bool) -> Self {
        Walk { shared, tier, summaries, is_main, levels: Vec::new(), returned_apart: false, ended: None }
    }

    fn nothing(&self) -> Phase {
        vec![Ways::default(); self.shared.len()]
    }

    /// Everything a function does, whatever the path.
    fn uses_of(&self, function: &Function) -> Phase {
        let mut uses = self.nothing();
        walk_block(&function.body, &mut |stmt| {
            self.each_use(stmt, &mut |array, way| {
                if let Some(uses) = uses.get_mut(array as usize) {
                    *uses = uses.or(way);
                }
            });
        });
        uses
    }

    /// The accesses of a statement by itself, and of what it calls.
    fn each_use(&self, stmt: &Stmt, visit: &mut dyn FnMut(ArrayId, Ways)) {
        stmt.direct_exprs().for_each(|expr| each_load(expr, visit));
        match stmt {
            Stmt::Store { array, .. } => visit(*array, Ways::STORE),
            Stmt::Atomic(atomic) => visit(atomic.array, Ways::ATOMIC),
            Stmt::Call { function, .. } => {
                let summary = self.summaries.get(*function as usize);
                let uses = summary.into_iter().flat_map(|summary| (0..).zip(&summary.uses));
                uses.filter(|(_, way)| way.0 != 0).for_each(|(array, way)| visit(array, *way));
            }
            Stmt::Assign { .. }
            | Stmt::Log { .. }
            | Stmt::If { .. }
            | Stmt::Switch { .. }
            | Stmt::Loop(_)
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Barrier(_)
            | Stmt::SetElement { .. }
            | Stmt::Sync(_)
            | Stmt::Discard(_)
            | Stmt::Assume(_) => {}
        }
    }

    /// Two paths come together; some invocations may have taken the one, and others the other. (If all take the same, this asks for
    /// more than it must.)
    fn join(&self, into: &mut Option<Phase>, from: Option<Phase>) -> Checked<()> {
        match (into.as_mut(), from) {
            (None, from) => *into = from,
            (Some(_), None) => {}
            (Some(into), Some(from)) => {
                for (array, (x, y)) in into.iter_mut().zip(from).enumerate() {
                    *x = x.or(y);
                    self.check(array, *x)?;
                }
            }
        }
        Ok(())
    }

    fn check(&self, array: usize, ways: Ways) -> Checked<()> {
        if ways.is_free() {
            return Ok(());
        }
        let name = self.shared.get(array).map_or("?", |array| array.name.as_str());
        Err(format!("a data race: since the last barrier '{name}' is used in ways that need an order"))
    }

    fn touch(&self, flow: &mut Flow, array: ArrayId, way: Ways) -> Checked<()> {
        let Some(used) = flow.phase.as_mut().and_then(|phase| phase.get_mut(array as usize)) else { return Ok(()) };
        *used = used.or(way);
        self.check(array as usize, *used)
    }

    fn uses(&self, flow: &mut Flow, stmt: &Stmt) -> Checked<()> {
        let mut all = Vec::new();
        self.each_use(stmt, &mut |array, way| all.push((array, way)));
        all.into_iter().try_for_each(|(array, way)| self.touch(flow, array, way))
    }

    fn loads(&self, flow: &mut Flow, expr: &Expr) -> Checked<()> {
        let mut all = Vec::new();
        each_load(expr, &mut |array, way| all.push((array, way)));
        all.into_iter().try_for_each(|(array, way)| self.touch(flow, array, way))
    }

    /// A whole function.
    fn body(&mut self, body: &Block) -> Checked<Flow> {
        let flow = Flow { phase: Some(self.nothing()), uniform: true };
        let mut end = self.block(body, flow)?;
        let ended = self.ended.take();
        self.join(&mut end.phase, ended)?;
        Ok(end)
    }

    fn block(&mut self, block: &Block, mut flow: Flow) -> Checked<Flow> {
        for stmt in block {
            flow = self.stmt(stmt, flow)?;
        }
        Ok(flow)
    }

    fn stmt(&mut self, stmt: &Stmt, mut flow: Flow) -> Checked<Flow> {
        if flow.phase.is_none() {
            return Ok(flow);
        }
        let target = |levels: &[Level], holds: fn(&Level) -> bool| levels.iter().rposition(holds);
        match stmt {
            Stmt::Loop(l) => return self.repeated(l, flow),
            Stmt::If { cond, then, otherwise, .. } => {
                self.loads(&mut flow, cond)?;
                return self.selection(cond, &[(then, false), (otherwise, false)], flow);
            }
            Stmt::Switch { selector, arms, .. } => {
                self.loads(&mut flow, selector)?;
                // Where no label fits, an empty arm is taken.
                let nothing = Block::new();
                let mut bodies: Vec<(&Block, bool)> = arms.iter().map(|arm| (&arm.body, true)).collect();
                bodies.push((&nothing, true));
                return self.selection(selector, &bodies, flow);
            }
            Stmt::Sync(Sync::Barrier) => {
                if !self.is_main {
                    return Err("barrier() stands in main only".into());
                }
                if !flow.uniform {
                    return Err("barrier() where control flow may not be uniform in the workgroup".into());
                }
                flow.phase = Some(self.nothing());
            }
            Stmt::Break => {
                let target = target(&self.levels, |level| level.is_loop || level.is_switch);
                self.jump(target, |level| &mut level.broken, &mut flow)?;
            }
            Stmt::Continue => {
                let target = target(&self.levels, |level| level.is_loop);
                self.jump(target, |level| &mut level.continued, &mut flow)?;
            }
            Stmt::Return(_) => {
                self.uses(&mut flow, stmt)?;
                self.jump(None, |level| &mut level.broken, &mut flow)?;
            }
            Stmt::Call { function, .. } => {
                self.uses(&mut flow, stmt)?;
                // Different returns do not come together before the next merge, but at tier maximal (docs/rules.md, section R).
                let apart = self.summaries.get(*function as usize).is_some_and(|summary| summary.returns_apart);
                flow.uniform &= !apart || self.tier == Tier::Maximal;
            }
            Stmt::Assign { .. }
            | Stmt::Log { .. }
            | Stmt::Barrier(_)
            | Stmt::SetElement { .. }
            | Stmt::Store { .. }
            | Stmt::Atomic(_)
            | Stmt::Sync(Sync::Memory | Sync::MemoryShared | Sync::MemoryBuffer | Sync::GroupMemory)
            // Fragment shaders have no arrays.
            | Stmt::Discard(_)
            | Stmt::Assume(_) => self.uses(&mut flow, stmt)?,
        }
        Ok(flow)
    }

    /// A jump out of all levels from `target` on, or out of the function; `wait` says where those that jump wait for the others.
    fn jump(
        &mut self,
        target: Option<usize>,
        wait: fn(&mut Level) -> &mut Option<Phase>,
        flow: &mut Flow,
    ) -> Checked<()> {
        let phase = flow.phase.take();
        if !flow.uniform {
            let left = target.map_or(0, |target| target + 1);
            self.levels[left..].iter_mut().for_each(|level| level.parted = true);
            self.returned_apart |= target.is_none();
        }
        let Some(target) = target else {
            // Those that end here together are alone. Others leave what they did behind, and no barrier comes any more.
            let mut ended = self.ended.take();
            self.join(&mut ended, phase.filter(|_| !flow.uniform))?;
            self.ended = ended;
            return Ok(());
        };
        let level = &mut self.levels[target];
        level.iteration_parted |= !flow.uniform;
        let mut at = wait(level).take();
        self.join(&mut at, phase)?;
        *wait(&mut self.levels[target]) = at;
        Ok(())
    }

    /// An if or switch: blocks with whether one falls into the next. Lanes come together after it that have not left by a jump.
    fn selection(&mut self, decides: &Expr, blocks: &[(&Block, bool)], flow: Flow) -> Checked<Flow> {
        let uniform = flow.uniform && is_uniform(decides, Tangles::Loose);
        let is_switch = blocks.iter().any(|(_, falls)| *falls);
        self.levels.push(Level { is_switch, ..Level::default() });
        let mut after = None;
        let mut fallen: Option<Phase> = None;
        for (block, falls) in blocks {
            let mut phase = flow.phase.clone();
            self.join(&mut phase, fallen.take())?;
            let end = self.block(block, Flow { phase, uniform })?;
            if *falls {
                fallen = end.phase.clone();
            }
            self.join(&mut after, end.phase)?;
        }
        let level = self.levels.pop().unwrap_or_default();
        self.join(&mut after, level.broken)?;
        Ok(Flow { phase: after, uniform: flow.uniform && !level.parted })
    }

    fn repeated(&mut self, l: &Loop, entry: Flow) -> Checked<Flow> {
        let mut head = entry.clone();
        if let LoopKind::For { init, .. } = &l.kind {
            self.loads(&mut head, init)?;
        }
        let mut head = Flow { uniform: head.uniform && heads(l).all(|expr| is_uniform(expr, Tangles::Loose)), ..head };
        let mut after = None;
        // What is added in an iteration was there before, or is one of a few ways: this ends.
        loop {
            self.levels.push(Level { is_loop: true, ..Level::default() });
            let next = self.iteration(l, head.clone(), &mut after);
            let level = self.levels.pop().unwrap_or_default();
            let next = next?;
            self.join(&mut after, level.broken)?;
            let mut phase = head.phase.clone();
            self.join(&mut phase, next.phase)?;
            let again = Flow { phase, uniform: head.uniform && next.uniform && !level.iteration_parted };
            if again.phase == head.phase && again.uniform == head.uniform {
                return Ok(Flow { phase: after, uniform: entry.uniform && !level.parted });
            }
            head = again;
        }
    }

    /// From the head of a loop back to it. `after` gets what leaves by the test.
    fn iteration(&mut self, l: &Loop, mut flow: Flow, after: &mut Option<Phase>) -> Checked<Flow> {
        let tests_last = matches!(l.kind, LoopKind::DoWhile);
        if !tests_last {
            flow = self.test(l, flow, after)?;
        }
        flow = self.block(&l.body, flow)?;
        let level = self.levels.last_mut().expect("the loop is open");
        let continued = level.continued.take();
        flow.uniform &= !level.iteration_parted;
        self.join(&mut flow.phase, continued)?;
        if tests_last {
            flow = self.test(l, flow, after)?;
        }
        if let LoopKind::For { update, .. } = &l.kind {
            flow = self.block(update, flow)?;
        }
        Ok(flow)
    }

    fn test(&mut self, l: &Loop, mut flow: Flow, after: &mut Option<Phase>) -> Checked<Flow> {
        if let Some(test) = &l.test {
            flow = self.block(&test.before, flow)?;
            self.loads(&mut flow, &test.cond)?;
        }
        self.loads(&mut flow, &l.bound)?;
        self.join(after, flow.phase.clone())?;
        Ok(flow)
    }
}

/// The expressions that decide how often a loop runs.
fn heads(l: &Loop) -> impl Iterator<Item = &Expr> {
    let init = match &l.kind {
        LoopKind::For { init, .. } => Some(init),
        LoopKind::While | LoopKind::DoWhile | LoopKind::Forever => None,
    };
    init.into_iter().chain(l.test.as_ref().map(|test| &test.cond)).chain([&l.bound])
}

fn each_load(expr: &Expr, visit: &mut dyn FnMut(ArrayId, Ways)) {
    expr.walk(&mut |expr| {
        if let Expr::Load(load) = expr {
            visit(load.array, if load.is_own() { Ways::OWN_LOAD } else { Ways::LOAD });
        }
    });
}
