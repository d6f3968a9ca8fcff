//! No data races: which invocations may touch an array between two barriers, and where `barrier()` may stand.
//!
//! Two accesses to one element race if one of them is a write, they are not both atomic, and nothing orders them (Vulkan memory
//! model; docs/rules.md, section Y). Between two barriers nothing orders different invocations, so in such a *phase* an array is used in one
//! of these ways:
//!
//! | way | accesses |
//! |---|---|
//! | own | stores, which go to the invocation's own slot or one of its own elements ([`Shared::parts`]), and loads of these |
//! | read | loads of any slot |
//! | atomic | atomics on any slot |
//! | subgroup | stores to the own slot, and loads of slots of lanes of the tangle that performs the load ([`Load::is_of_peer`]), ordered by `subgroupBarrier()` |
//!
//! `subgroupBarrier()` orders the lanes that execute it together, no others (rule Y5). A load from a peer needs one behind every store, and a
//! store one behind every load from a peer, which the lanes that perform the two have executed together. That is known in `main` only: at tier maximal
//! outside of switches, where a lane of a later statement's tangle was in the tangle of every earlier statement of the same blocks (rules
//! X3 to X5 and X8); at the weaker tiers where control flow is uniform in the workgroup (rule E7). At tier maximal a barrier in a block orders
//! nothing behind the end of that block, where lanes come that were not there, and loads of lanes that jump out of a block stay without order in
//! it.
//!
//! `barrier()` orders all invocations of the workgroup only where all of them execute it together: where control flow is uniform in
//! the workgroup by the rules of docs/rules.md, section E, behind conditions that are visibly equal for all, and after no divergent
//! `return` from `main` (GLSL 4.60 §8.16; SPIR-V 1.6, OpControlBarrier: else the behaviour is undefined). It stands in `main` only.
//!
//! Derivatives stand where control flow is uniform, too, in the triangle or the quad of the invocation (docs/rules.md, rule H10): the same walk
//! checks that. What is uniform for all of the launch is so for each of its parts; [`Group`] says what else is.
//!
//! The analysis goes through `main` with the accesses since the last barrier, joined where paths join, and around loops until nothing
//! is added.

use crate::uniform::{Tangles, is_uniform};
use tangle_program::case::{Case, EntryPoint, Tier};
use tangle_program::memory::{ArrayId, Shared, Sync};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{
    Block, Builtin, Discard, Expr, Function, FunctionId, Load, Loop, LoopKind, Program, Stmt, walk_block,
};

/// What is wrong, and in which statement of which function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The function in which the statement stands.
    pub function: FunctionId,
    /// The statement, and what is wrong with it, in words.
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
    /// Loads of slots of lanes of the same tangle.
    const PEER_LOAD: Ways = Ways(16);

    const fn or(self, other: Ways) -> Ways {
        Ways(self.0 | other.0)
    }

    const fn has(self, way: Ways) -> bool {
        self.0 & way.0 != 0
    }

    /// True if different invocations may use the array in these ways without order.
    const fn is_free(self) -> bool {
        let stores = self.has(Ways::STORE) && self.has(Ways::LOAD.or(Ways::ATOMIC));
        let atomics = self.has(Ways::ATOMIC) && self.has(Ways::LOAD.or(Ways::OWN_LOAD).or(Ways::PEER_LOAD));
        !stores && !atomics
    }
}

/// How deep a block is nested: the body of a function has depth 1. What is ordered by a barrier, or not, holds down to a depth.
type Depth = u32;

/// Nowhere, or in no block at all.
const NOWHERE: Depth = Depth::MAX;

/// How an array was used since the last barrier of the workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Use {
    ways: Ways,
    /// The stores are ordered by a subgroup barrier for the lanes that are together in a block of this depth or deeper.
    stores_ordered: Depth,
    /// There are loads from peers that only a subgroup barrier of this depth or less orders; [`NOWHERE`] if there are none.
    loads_pending: Depth,
}

impl Default for Use {
    fn default() -> Self {
        Use { ways: Ways::default(), stores_ordered: 0, loads_pending: NOWHERE }
    }
}

impl Use {
    /// On some of the paths that come together.
    fn join(&mut self, other: Use) {
        self.ways = self.ways.or(other.ways);
        self.stores_ordered = self.stores_ordered.max(other.stores_ordered);
        self.loads_pending = self.loads_pending.min(other.loads_pending);
    }

    /// The lanes that executed a subgroup barrier of this depth are ordered.
    fn order(&mut self, depth: Depth) {
        self.stores_ordered = self.stores_ordered.min(depth);
        if self.loads_pending >= depth {
            self.loads_pending = NOWHERE;
        }
    }

    /// The lanes come to a block of this depth out of one that is nested in it.
    fn leave_to(&mut self, depth: Depth) {
        if self.stores_ordered > depth {
            self.stores_ordered = NOWHERE;
        }
        self.keep_loads(depth);
    }

    /// Lanes have gone, with their loads, to a block of this depth.
    fn keep_loads(&mut self, depth: Depth) {
        if self.loads_pending != NOWHERE {
            self.loads_pending = self.loads_pending.min(depth);
        }
    }
}

/// By array: how it was used since the last barrier.
type Phase = Vec<Use>;

/// What a caller must know of a function.
#[derive(Clone, Debug)]
struct Summary {
    uses: Vec<Ways>,
    /// Lanes may come back by different returns.
    returns_apart: bool,
    /// It computes derivatives, or calls what does.
    derives: bool,
}

/// The invocations that have to be together where `barrier()` or a derivative stands, beside all of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// All of the launch, and no others.
    Launch,
    /// Those of a triangle in a layer: "the primitive scope instance" (Vulkan, Derivative Operations).
    Triangle {
        /// Whether they are in one [slice](tangle_program::case::Slice): whether pixels have one sample.
        is_one_slice: bool,
    },
    /// Those of a quad, of which no two are of different triangles, layers or samples: "the quad scope instance if the QuadDerivativesKHR execution
    /// mode is specified" (ibid.).
    Quad,
}

impl Group {
    /// A triangle by itself is together where conditions are the same in it only if it is sure to come together again after that: where each
    /// subgroup does, or where the draw is this one triangle (rule I4). A quad is in a subgroup, and comes together again where that does.
    fn of(entry_point: &EntryPoint, tier: Tier) -> Group {
        match entry_point.draw() {
            Some(draw) if draw.quad_derivatives && tier == Tier::Maximal => Group::Quad,
            Some(draw) if tier == Tier::Maximal || draw.primitives() == 1 => {
                Group::Triangle { is_one_slice: draw.samples == 1 }
            }
            _ => Group::Launch,
        }
    }

    /// True if all invocations of the group get the same, each by itself.
    fn agrees_on(self, expr: &Expr) -> bool {
        if is_uniform(expr, Tangles::Loose) || self == Group::Quad && is_of_quad(expr) {
            return true;
        }
        match expr {
            Expr::Builtin(Builtin::LocalZ) => matches!(self, Group::Triangle { is_one_slice: true } | Group::Quad),
            Expr::Flat(_) => matches!(self, Group::Triangle { .. } | Group::Quad),
            Expr::Binary(BinaryOp::And | BinaryOp::Or, ..) => false,
            Expr::Unary(..) | Expr::Binary(..) | Expr::Cast(..) | Expr::Intrinsic(..) => {
                expr.operands().all(|operand| self.agrees_on(operand))
            }
            _ => false,
        }
    }
}

/// True if the lanes of a whole quad that evaluate it together get the same: what says which quad it is, and what a quad operation gives to all four.
fn is_of_quad(expr: &Expr) -> bool {
    match expr {
        Expr::Subgroup(call) => {
            matches!(call.op, SubgroupOp::QuadAny | SubgroupOp::QuadAll | SubgroupOp::QuadBroadcast)
        }
        Expr::Binary(BinaryOp::Div, number, by) => match (in_a_quad(number), &**by) {
            (Some(count), Expr::Uint(by)) => *by > 0 && by.is_multiple_of(count),
            _ => false,
        },
        Expr::Binary(BinaryOp::BitAnd, number, mask) => match (in_a_quad(number), &**mask) {
            (Some(count), Expr::Uint(mask)) => mask.is_multiple_of(count),
            _ => false,
        },
        _ => false,
    }
}

/// How many values of a number are in a quad, the first of which is a multiple of that (rule H2).
fn in_a_quad(expr: &Expr) -> Option<u32> {
    match expr {
        Expr::Builtin(Builtin::Lane) => Some(4),
        Expr::Builtin(Builtin::LocalX | Builtin::LocalY) => Some(2),
        _ => None,
    }
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
    /// By array: the depth to which lanes have left it alone with loads from peers pending; empty if none have.
    gone: Vec<Depth>,
}

/// Checks a whole case.
pub fn check(case: &Case) -> Result<(), Race> {
    let Program { shared, functions } = &case.program;
    // Without memory and barriers there is nothing to find.
    let synchronises =
        |stmt: &Stmt| matches!(stmt, Stmt::ControlBarrier(Sync::Barrier)) || stmt.direct_exprs().any(Expr::derives);
    let mut any = !shared.is_empty();
    functions.iter().for_each(|function| walk_block(&function.body, &mut |stmt| any |= synchronises(stmt)));
    let group = Group::of(&case.entry_point, case.tier);
    if any { summaries(shared, functions, case.tier, group, functions.len()).map(|_| ()) } else { Ok(()) }
}

/// True if `barrier()`, or a derivative, may follow these statements of a `main` that is not finished.
pub fn may_synchronise_after(
    shared: &[Shared],
    functions: &[Function],
    tier: Tier,
    entry_point: &EntryPoint,
    main: &Block,
) -> bool {
    let group = Group::of(entry_point, tier);
    let Ok(summaries) = summaries(shared, functions, tier, group, functions.len() + 1) else { return false };
    let mut walk = Walk::new(shared, tier, group, &summaries, true);
    matches!(walk.body(main), Ok(Flow { phase: Some(_), uniform: true }))
}

/// Of each function; `main` is the last of `count`.
fn summaries(
    shared: &[Shared],
    functions: &[Function],
    tier: Tier,
    group: Group,
    count: usize,
) -> Result<Vec<Summary>, Race> {
    let mut summaries = Vec::with_capacity(functions.len());
    for (id, function) in (0..).zip(functions) {
        let mut walk = Walk::new(shared, tier, group, &summaries, id as usize + 1 == count);
        let end = walk.body(&function.body).map_err(|reason| Race { function: id, reason })?;
        // Those that a call parted come to the end apart, too (rule R7).
        let returns_apart = walk.returned_apart || !end.uniform;
        let (uses, derives) = (walk.uses_of(function), walk.derives);
        summaries.push(Summary { uses, returns_apart, derives });
    }
    Ok(summaries)
}

struct Walk<'a> {
    shared: &'a [Shared],
    tier: Tier,
    group: Group,
    summaries: &'a [Summary],
    is_main: bool,
    levels: Vec<Level>,
    returned_apart: bool,
    /// What those did that have returned alone.
    ended: Option<Phase>,
    /// There were derivatives, or calls of what has some.
    derives: bool,
}

type Checked<T> = Result<T, String>;

impl<'a> Walk<'a> {
    fn new(shared: &'a [Shared], tier: Tier, group: Group, summaries: &'a [Summary], is_main: bool) -> Self {
        let levels = Vec::new();
        Walk { shared, tier, group, summaries, is_main, levels, returned_apart: false, ended: None, derives: false }
    }

    fn nothing(&self) -> Phase {
        vec![Use::default(); self.shared.len()]
    }

    /// That of the innermost block.
    fn depth(&self) -> Depth {
        self.levels.len() as Depth + 1
    }

    /// True if the lanes of the tangle are known to have executed together what comes before in the blocks around.
    fn knows_tangle(&self, flow: &Flow) -> bool {
        let known = match self.tier {
            Tier::Maximal => !self.levels.iter().any(|level| level.is_switch),
            Tier::Plain | Tier::SubgroupUniform => flow.uniform,
        };
        self.is_main && known
    }

    /// Everything a function does, whatever the path.
    fn uses_of(&self, function: &Function) -> Vec<Ways> {
        let mut uses = vec![Ways::default(); self.shared.len()];
        walk_block(&function.body, &mut |stmt| {
            self.each_use(stmt, &mut |array, way| {
                // Nothing is known of tangles in a function.
                let way = if way == Ways::PEER_LOAD { Ways::LOAD } else { way };
                if let Some(uses) = uses.get_mut(array as usize) {
                    *uses = uses.or(way);
                }
            });
        });
        uses
    }

    /// The accesses of a statement by itself, and of what it calls.
    fn each_use(&self, stmt: &Stmt, visit: &mut dyn FnMut(ArrayId, Ways)) {
        stmt.direct_exprs().for_each(|expr| each_load(self.shared, expr, visit));
        match stmt {
            Stmt::Atomic(atomic) => visit(atomic.array, Ways::ATOMIC),
            Stmt::Call { function, .. } => {
                let summary = self.summaries.get(*function as usize);
                let uses = summary.into_iter().flat_map(|summary| (0..).zip(&summary.uses));
                uses.filter(|(_, way)| way.0 != 0).for_each(|(array, way)| visit(array, *way));
            }
            _ => stmt.array().into_iter().for_each(|array| visit(array, Ways::STORE)),
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
                    x.join(y);
                    self.check(array, x.ways)?;
                }
            }
        }
        Ok(())
    }

    fn check(&self, array: usize, ways: Ways) -> Checked<()> {
        if ways.is_free() {
            return Ok(());
        }
        let name = self.name_of(array);
        Err(format!("a data race: since the last barrier '{name}' is used in ways that need an order"))
    }

    fn name_of(&self, array: usize) -> &str {
        self.shared.get(array).map_or("?", |array| array.name.as_str())
    }

    fn touch(&self, flow: &mut Flow, array: ArrayId, way: Ways) -> Checked<()> {
        let depth = self.depth();
        let way = if way == Ways::PEER_LOAD && !self.knows_tangle(flow) { Ways::LOAD } else { way };
        let Some(used) = flow.phase.as_mut().and_then(|phase| phase.get_mut(array as usize)) else { return Ok(()) };
        used.ways = used.ways.or(way);
        self.check(array as usize, used.ways)?;
        let needs = |first: &str, then: &str| {
            let name = self.name_of(array as usize);
            Err(format!("a data race: no subgroup barrier orders a {first} '{name}' and a later {then}"))
        };
        if way.has(Ways::PEER_LOAD) {
            if used.stores_ordered > depth {
                return needs("store to", "load from a peer");
            }
            used.loads_pending = used.loads_pending.min(depth);
        }
        if way.has(Ways::STORE) {
            if used.loads_pending != NOWHERE {
                return needs("load of a peer from", "store");
            }
            used.stores_ordered = NOWHERE;
        }
        Ok(())
    }

    fn uses(&mut self, flow: &mut Flow, stmt: &Stmt) -> Checked<()> {
        stmt.direct_exprs().try_for_each(|expr| self.derivatives(flow, expr))?;
        let mut all = Vec::new();
        self.each_use(stmt, &mut |array, way| all.push((array, way)));
        all.into_iter().try_for_each(|(array, way)| self.touch(flow, array, way))
    }

    fn loads(&mut self, flow: &mut Flow, expr: &Expr) -> Checked<()> {
        self.derivatives(flow, expr)?;
        let mut all = Vec::new();
        each_load(self.shared, expr, &mut |array, way| all.push((array, way)));
        all.into_iter().try_for_each(|(array, way)| self.touch(flow, array, way))
    }

    /// Derivatives stand where control flow is uniform in their group, and not where only some of it evaluate an operand.
    fn derivatives(&mut self, flow: &Flow, expr: &Expr) -> Checked<()> {
        if expr.derives() {
            self.derives = true;
            if !flow.uniform || !self.derives_together(expr) {
                return Err("a derivative where control flow may not be uniform in its triangle or quad".into());
            }
        }
        Ok(())
    }

    /// True if all that evaluate the expression together evaluate its derivatives together.
    fn derives_together(&self, expr: &Expr) -> bool {
        let chosen = match expr {
            Expr::Binary(BinaryOp::And | BinaryOp::Or, first, _) | Expr::Select(first, ..) => {
                !self.group.agrees_on(first) && expr.operands().skip(1).any(Expr::derives)
            }
            _ => false,
        };
        !chosen && expr.operands().all(|operand| self.derives_together(operand))
    }

    /// A whole function: its body, and those that returned before its end.
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
            Stmt::ControlBarrier(Sync::Barrier) => {
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
            Stmt::Return(_) | Stmt::Discard(Discard::Terminate) => {
                self.uses(&mut flow, stmt)?;
                self.jump(None, |level| &mut level.broken, &mut flow)?;
            }
            Stmt::Call { function, .. } => {
                self.uses(&mut flow, stmt)?;
                if self.summaries.get(*function as usize).is_some_and(|summary| summary.derives) {
                    self.derives = true;
                    if !flow.uniform {
                        return Err(
                            "a call of a function with derivatives where control flow may not be uniform".into()
                        );
                    }
                }
                // Different returns do not come together before the next merge, but at tier maximal (docs/rules.md, section R).
                let apart = self.summaries.get(*function as usize).is_some_and(|summary| summary.returns_apart);
                flow.uniform &= !apart || self.tier == Tier::Maximal;
            }
            Stmt::SubgroupBarrier(SubgroupOp::Barrier) if self.knows_tangle(&flow) => {
                let depth = self.depth();
                flow.phase.iter_mut().flatten().for_each(|used| used.order(depth));
            }
            // SPV_EXT_demote_to_helper_invocation: it is "not considered a flow control instruction (flow control does not become
            // non-uniform)".
            Stmt::Discard(Discard::Demote) => {}
            _ if stmt.is_jump() || stmt.nested_blocks().next().is_some() => {
                return Err("where the lanes of a statement go on is not known".into());
            }
            _ => self.uses(&mut flow, stmt)?,
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
        let mut phase = flow.phase.take();
        // Those that return come to no barrier any more.
        let depth = target.map_or(0, |target| target as Depth + 1);
        phase.iter_mut().flatten().for_each(|used| used.leave_to(depth));
        if !flow.uniform {
            let left = target.map_or(0, |target| target + 1);
            let with = phase.iter().flatten().map(|used| used.loads_pending);
            let with: Vec<Depth> = if self.is_main { with.collect() } else { Vec::new() };
            for level in &mut self.levels[left..] {
                level.parted = true;
                level.gone.resize(with.len(), NOWHERE);
                level.gone.iter_mut().zip(&with).for_each(|(gone, depth)| *gone = (*gone).min(*depth));
            }
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
        let uniform = flow.uniform && self.group.agrees_on(decides);
        let is_switch = blocks.iter().any(|(_, falls)| *falls);
        let depth = self.depth();
        self.levels.push(Level { is_switch, ..Level::default() });
        let mut after = None;
        let mut fallen = Flow { phase: None, uniform: true };
        for (block, falls) in blocks {
            let mut phase = flow.phase.clone();
            // Of those that fall through, some may have left by a `break`.
            let uniform = uniform && (fallen.uniform || fallen.phase.is_none());
            self.join(&mut phase, fallen.phase.take())?;
            let end = self.block(block, Flow { phase, uniform })?;
            if *falls {
                fallen = end.clone();
            }
            self.join(&mut after, end.phase)?;
        }
        let level = self.levels.pop().unwrap_or_default();
        after.iter_mut().flatten().for_each(|used: &mut Use| used.leave_to(depth));
        self.join(&mut after, level.broken)?;
        keep(&mut after, &level.gone);
        Ok(Flow { phase: after, uniform: flow.uniform && !level.parted })
    }

    fn repeated(&mut self, l: &Loop, entry: Flow) -> Checked<Flow> {
        let mut head = entry.clone();
        if let LoopKind::For { init, .. } = &l.kind {
            self.loads(&mut head, init)?;
        }
        let mut head = Flow { uniform: head.uniform && heads(l).all(|expr| self.group.agrees_on(expr)), ..head };
        let mut after = None;
        // What is added in an iteration was there before, or is one of a few ways: this ends.
        loop {
            self.levels.push(Level { is_loop: true, ..Level::default() });
            let next = self.iteration(l, head.clone(), &mut after);
            let level = self.levels.pop().unwrap_or_default();
            let next = next?;
            self.join(&mut after, level.broken)?;
            keep(&mut after, &level.gone);
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
        let outside = self.depth() - 1;
        let mut left = flow.phase.clone();
        left.iter_mut().flatten().for_each(|used| used.leave_to(outside));
        self.join(after, left)?;
        if !flow.uniform {
            // Some lanes leave here, and others go on.
            flow.phase.iter_mut().flatten().for_each(|used| used.keep_loads(outside));
        }
        Ok(flow)
    }
}

/// Where lanes go on without some that have gone with loads pending.
fn keep(phase: &mut Option<Phase>, gone: &[Depth]) {
    phase.iter_mut().flatten().zip(gone).for_each(|(used, depth)| used.loads_pending = used.loads_pending.min(*depth));
}

/// The expressions that decide how often a loop runs.
fn heads(l: &Loop) -> impl Iterator<Item = &Expr> {
    let init = match &l.kind {
        LoopKind::For { init, .. } => Some(init),
        LoopKind::While | LoopKind::DoWhile | LoopKind::Forever | LoopKind::Endless => None,
    };
    init.into_iter().chain(l.test.as_ref().map(|test| &test.cond)).chain([&l.bound])
}

fn each_load(shared: &[Shared], expr: &Expr, visit: &mut dyn FnMut(ArrayId, Ways)) {
    let parts = |load: &Load| shared.get(load.array as usize).map_or(1, |array| array.parts);
    expr.walk(&mut |expr| {
        if let Expr::Load(load) = expr {
            let way = match load {
                load if load.is_own(parts(load)) => Ways::OWN_LOAD,
                load if parts(load) == 1 && load.is_of_peer() => Ways::PEER_LOAD,
                _ => Ways::LOAD,
            };
            visit(load.array, way);
        }
    });
}
