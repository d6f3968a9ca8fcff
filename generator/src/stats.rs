//! Static counters: what cases contain.
//!
//! They say what was *generated*; what was reached and checked is known after the run only, and the oracle counts it. Both together show
//! whether a campaign looks where it means to look.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tangle_analysis::context::operations;
use tangle_analysis::divergence::Divergence;
use tangle_analysis::idiom::{Idiom, adjacent_stores, guarded_load, idiom, rotation};
use tangle_program::case::{Case, Draw};
use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::ops::{BinaryOp, Gives, Intrinsic};
use tangle_program::subgroup::{Param, SubgroupOp};
use tangle_program::tree::{
    Arg, Arm, Block, Builtin, Expr, Function, Label, Local, Loop, LoopKind, Stmt, SubgroupCall, VarId, walk_block,
};
use tangle_program::types::{Kind, Shape, Type};

/// Declares [`Construct`] with the list of its variants.
macro_rules! constructs {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Something a program can contain.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Construct { $($(#[doc = $doc])+ $name,)+ }

        impl Construct {
            /// Every construct, in the order of the table.
            pub const ALL: &[Construct] = &[$(Construct::$name,)+];

            /// Its name, in files and on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(Construct::$name => stringify!($name),)+ }
            }

            /// What it is, for people.
            pub const fn about(self) -> &'static str {
                match self { $(Construct::$name => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

constructs! {
    /// An assignment.
    Assign,
    /// An observation point.
    Log,
    /// A subgroup barrier.
    Barrier,
    /// A fragment that is given up.
    Discard,
    /// A store to shared memory.
    Store,
    /// A load, from memory that lanes share, of what a lane of the same tangle stores.
    PeerLoad,
    /// A store to an element of 8 or 16 bits.
    NarrowStore,
    /// Stores to two elements of one array beside each other, one after the other.
    AdjacentStores,
    /// A load of an element of 8 or 16 bits.
    NarrowLoad,
    /// A load by a variable index, from memory that lanes share or a buffer that nothing writes, at the head of one arm of a branch.
    GuardedLoad,
    /// An atomic.
    Atomic,
    /// A log of what an atomic returned on an element that other invocations touch.
    Ticket,
    /// `barrier()` or a memory barrier.
    WorkgroupBarrier,
    /// An `if` without `else`.
    If,
    /// An `if` with `else`.
    IfElse,
    /// A `for` loop.
    For,
    /// A `for` loop with statements in its update part.
    ForUpdate,
    /// A `while` loop.
    While,
    /// A `do … while` loop.
    DoWhile,
    /// A `for (;;)` loop.
    Forever,
    /// A `for (;;)` loop without a counter and a bound.
    Endless,
    /// Such a loop in which lanes return.
    EndlessReturn,
    /// A switch in such a loop in which lanes return.
    EndlessSwitch,
    /// A loop that lanes of a subgroup may leave at different times.
    DivergentLoop,
    /// A loop with a literal bound of 0 or 1.
    LiteralTrip,
    /// A loop of one trip that writes an element by its index.
    OneTripElement,
    /// An array of more than 32 elements in a variable.
    LargeArray,
    /// A `do … while` loop without a branch in its body or its condition.
    SingleBlockLoop,
    /// In a loop, variables that exchange what they hold.
    Rotation,
    /// A variable as an operand that has to be uniform.
    UniformVariable,
    /// A loop that carries such a variable from one iteration to the next.
    CarriedUniform,
    /// A store by a single invocation of the workgroup.
    SingleStore,
    /// A loop with a bound that may be 50 or more.
    LongLoop,
    /// A loop that may run more than 32,768 times.
    VeryLongLoop,
    /// A loop with a condition besides its bound.
    LoopTest,
    /// A loop with statements in its condition.
    LoopTestStatements,
    /// A loop in a loop of the same function.
    NestedLoop,
    /// A loop in two or more others.
    DeepLoop,
    /// A loop with both `break` and `continue`.
    BreakAndContinue,
    /// Two conditional jumps in a row.
    ConsecutiveExits,
    /// A conditional `break` with a conditional `continue` inside.
    ContinueInBreak,
    /// A branch whose arms both jump.
    ExitInBothArms,
    /// A branch or switch with `[[flatten]]`.
    Flatten,
    /// A branch or switch with `[[dont_flatten]]`.
    DontFlatten,
    /// A loop with `[[unroll]]`.
    Unroll,
    /// A loop with `[[dont_unroll]]`.
    DontUnroll,
    /// A write of an element by its index.
    ElementStore,
    /// An element of an array.
    ArrayElement,
    /// A column of a matrix.
    MatrixColumn,
    /// A member of a struct.
    StructMember,
    /// An element of an element by two indices.
    ElementOfElement,
    /// A write of an element of an element.
    ElementOfElementStore,
    /// A variable that is an array or a struct of aggregates, or a struct of members of several types.
    NestedAggregate,
    /// A copy of all of an aggregate.
    AggregateCopy,
    /// A component of a vector by an index.
    DynamicComponent,
    /// An array, matrix or struct as a parameter or result.
    AggregateParameter,
    /// A word of a resource whose index is the same everywhere.
    UniformDescriptor,
    /// A word of a resource whose index may differ between lanes.
    NonUniformDescriptor,
    /// What the compiler may expect.
    Expect,
    /// What the compiler may assume.
    Assume,
    /// A `precise` local.
    Precise,
    /// A function whose variables hold more than a hundred components.
    ManyVariables,
    /// A `switch`.
    Switch,
    /// A segment that falls through into the next.
    Fallthrough,
    /// A segment with several labels.
    SeveralLabels,
    /// A `default` label other than the last.
    EarlyDefault,
    /// A `switch` in a `switch`.
    NestedSwitch,
    /// A `break` out of a loop.
    Break,
    /// A `break` out of a switch, other than at the end of a segment.
    BreakFromSwitch,
    /// A `continue`.
    Continue,
    /// A `continue` out of a switch.
    ContinueFromSwitch,
    /// A `return` before the end of a function.
    EarlyReturn,
    /// A `return` in a loop.
    ReturnFromLoop,
    /// A `return` from `main`.
    ReturnFromMain,
    /// A call.
    Call,
    /// A call in the head of a loop.
    CallInLoopHead,
    /// A call in a loop.
    CallInLoop,
    /// A call by a function other than `main`.
    NestedCall,
    /// An out or inout argument.
    OutArgument,
    /// A function called from several places.
    SeveralCallSites,
    /// `&&` or `||` with a subgroup operation on the right.
    ShortCircuitOperation,
    /// `?:`
    Select,
    /// `x << a | x >> b`
    Rotate,
    /// `x << a | y >> b`
    FunnelShift,
    /// The high word of a product.
    HighProduct,
    /// The carry of a sum or the borrow of a difference, as a function or a comparison.
    Carry,
    /// `x >> 8 & 255`
    ByteSelect,
    /// Integers packed into a wider one, or taken out of it.
    Pack,
    /// `max(x, y) - min(x, y)`
    AbsDifference,
    /// `x + min(y, ~x)`
    SaturatingSum,
    /// An integer dot product.
    DotProduct,
    /// A remainder of numbers that may be negative.
    SignedRemainder,
    /// A float of which the sign of a zero, infinities and NaN are kept, made of bits.
    PreservedFloat,
    /// A conversion, a sum or a product that is rounded in the direction that the program asks for.
    RoundedFloat,
    /// `x ^ x`, `x & x` or `x | x`
    SameOperand,
    /// Two bitwise operators on three operands.
    ThreeOperandLogic,
    /// `(x ^ x >> 31) - (x >> 31)`
    BranchlessAbs,
    /// A quotient by what is no literal.
    VariableQuotient,
    /// A comparison of vectors.
    VectorComparison,
    /// `mix` by bools.
    Mix,
    /// `any` or `all` of a vector of bools.
    AnyOrAll,
    /// A specialisation constant in an expression.
    SpecConstant,
    /// A workgroup size given by specialisation constants.
    SpecWorkgroup,
    /// Quads that the module says (`DerivativeGroupQuadsKHR`, `DerivativeGroupLinearKHR`).
    DerivativeGroup,
    /// A flat input of a triangle, read.
    FlatInput,
    /// `gl_HelperInvocation`
    HelperInput,
    /// `helperInvocationEXT()`
    IsHelper,
    /// A draw with quads of both fragments and helpers.
    PartialQuads,
    /// A framebuffer of several layers.
    Layers,
    /// Several samples of a pixel, each shaded by itself.
    Samples,
    /// `QuadDerivativesKHR`
    QuadDerivatives,
    /// A payload between task and mesh shaders.
    TaskPayload,
    /// A condition, selector or bound with a subgroup operation in it.
    SteeringOperation,
    /// A subgroup operation in an operand of another.
    NestedOperation,
}

/// True if a quad has both fragments and helpers.
pub(crate) fn has_partial_quads(draw: &Draw) -> bool {
    let [columns, rows, depths] = draw.grid();
    let quads = (0..depths).flat_map(|z| (0..rows).step_by(2).map(move |y| (y, z)));
    quads.flat_map(|(y, z)| (0..columns).step_by(2).map(move |x| [x, y, z])).any(|[x, y, z]| {
        let covered = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[i, j]| draw.covers([x + i, y + j, z]));
        covered.contains(&true) && covered.contains(&false)
    })
}

/// How often an operation occurs with one type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationCount {
    /// The operation that is counted.
    pub op: SubgroupOp,
    /// The type of its generic operand, if it has one.
    #[serde(rename = "type")]
    pub ty: Option<Type>,
    /// How often it stands in programs, not how often it runs.
    pub count: u64,
}

impl OperationCount {
    fn key(&self) -> (SubgroupOp, Option<Type>) {
        (self.op, self.ty)
    }
}

/// Counters of one case or of many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stats {
    /// How many cases were counted.
    pub cases: u64,
    /// Functions of all cases, `main` included.
    pub functions: u64,
    /// Statements, nested ones included.
    pub statements: u64,
    /// Invocations launched by all cases together.
    pub invocations: u64,
    /// How often each construct occurs.
    pub constructs: BTreeMap<Construct, u64>,
    /// How often each operation occurs, ascending by operation and type. Where they stand: [`tangle_analysis::context`].
    pub operations: Vec<OperationCount>,
}

impl Stats {
    /// The counters of a case.
    pub fn of(case: &Case) -> Stats {
        let functions = &case.program.functions;
        let mut counter = Counter {
            functions,
            divergence: Divergence::of(&case.program),
            function: 0,
            constructs: BTreeMap::new(),
            statements: 0,
            call_sites: vec![0; functions.len()],
        };
        for (id, function) in functions.iter().enumerate() {
            counter.function = id;
            let passed = function.params.iter().map(|param| param.ty).chain(function.result);
            passed.filter(|ty| !ty.is_single()).for_each(|_| counter.count(Construct::AggregateParameter));
            function.locals.iter().for_each(|local| counter.count_if(local.precise, Construct::Precise));
            let held: usize = function.locals.iter().map(|local| local.ty.components()).sum();
            counter.count_if(held > 100, Construct::ManyVariables);
            let nested = function.locals.iter().filter(|local| local.ty.is_nested());
            nested.for_each(|_| counter.count(Construct::NestedAggregate));
            let is_large = |local: &&Local| matches!(local.ty.shape, Shape::Array(33..));
            function.locals.iter().filter(is_large).for_each(|_| counter.count(Construct::LargeArray));
            counter.block(&function.body, Surroundings::TOP);
        }
        let several = counter.call_sites.iter().filter(|&&sites| sites > 1).count() as u64;
        if several > 0 {
            counter.constructs.insert(Construct::SeveralCallSites, several);
        }
        if case.entry_point.workgroups().default_size.is_some() {
            counter.constructs.insert(Construct::SpecWorkgroup, 1);
        }
        counter.count_if(case.entry_point.workgroups().derivative_group.is_some(), Construct::DerivativeGroup);
        counter.count_if(case.entry_point.payload_copies() > 0, Construct::TaskPayload);
        if let Some(draw) = case.entry_point.draw() {
            counter.count_if(has_partial_quads(draw), Construct::PartialQuads);
            counter.count_if(draw.layers > 1, Construct::Layers);
            counter.count_if(draw.samples > 1, Construct::Samples);
            counter.count_if(draw.quad_derivatives, Construct::QuadDerivatives);
        }
        let mut found = BTreeMap::<_, u64>::new();
        for placed in operations(&case.program) {
            *found.entry((placed.op, placed.ty)).or_default() += 1;
        }
        Stats {
            cases: 1,
            functions: functions.len() as u64,
            statements: counter.statements,
            invocations: u64::from(case.entry_point.invocations()),
            constructs: counter.constructs,
            operations: found.into_iter().map(|((op, ty), count)| OperationCount { op, ty, count }).collect(),
        }
    }

    /// Adds the counters of other cases.
    pub fn merge(&mut self, other: &Stats) {
        self.cases += other.cases;
        self.functions += other.functions;
        self.statements += other.statements;
        self.invocations += other.invocations;
        for (&construct, count) in &other.constructs {
            *self.constructs.entry(construct).or_default() += count;
        }
        for new in &other.operations {
            match self.operations.binary_search_by(|old| old.key().cmp(&new.key())) {
                Ok(at) => self.operations[at].count += new.count,
                Err(at) => self.operations.insert(at, new.clone()),
            }
        }
    }

    /// How often a construct occurs.
    pub fn construct(&self, construct: Construct) -> u64 {
        self.constructs.get(&construct).copied().unwrap_or(0)
    }

    /// How often an operation occurs, with any type, anywhere.
    pub fn operation(&self, op: SubgroupOp) -> u64 {
        self.operations.iter().filter(|count| count.op == op).map(|count| count.count).sum()
    }
}

/// The innermost construct around a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Function,
    Branch,
    Loop,
    LoopHead,
    Switch,
}

/// What is around a statement.
#[derive(Clone, Copy)]
struct Surroundings {
    innermost: Inside,
    /// Loops around it in its function.
    loops: u32,
    /// Switches around it since the innermost loop.
    switches: u32,
    /// True if `break` leaves a switch.
    breaks_switch: bool,
    /// How many constructs are around it.
    depth: u32,
}

impl Surroundings {
    const TOP: Surroundings =
        Surroundings { innermost: Inside::Function, loops: 0, switches: 0, breaks_switch: false, depth: 0 };

    /// What is around the statements of a block of a statement that stands here.
    fn inside(self, stmt: &Stmt, block: &Block) -> Surroundings {
        let inner = Surroundings { innermost: Inside::Branch, depth: self.depth + 1, ..self };
        match stmt {
            Stmt::Switch { .. } => {
                Surroundings { innermost: Inside::Switch, switches: self.switches + 1, breaks_switch: true, ..inner }
            }
            Stmt::Loop(l) if std::ptr::eq(block, &l.body) => Surroundings {
                innermost: Inside::Loop,
                loops: self.loops + 1,
                switches: 0,
                breaks_switch: false,
                ..inner
            },
            Stmt::Loop(_) => Surroundings { innermost: Inside::LoopHead, loops: self.loops + 1, ..inner },
            // A block is a branch if it is not said to be something else.
            _ => inner,
        }
    }
}

struct Counter<'a> {
    functions: &'a [Function],
    divergence: Divergence,
    function: usize,
    constructs: BTreeMap<Construct, u64>,
    statements: u64,
    call_sites: Vec<u32>,
}

/// An `if` without `else` that ends in a jump.
fn guarded_exit(stmt: &Stmt) -> Option<&Block> {
    match stmt {
        Stmt::If { then, otherwise, .. } if otherwise.is_empty() && then.last().is_some_and(Stmt::is_jump) => {
            Some(then)
        }
        _ => None,
    }
}

/// True for an atomic on an element that is not the invocation's own, and a log of what it returned.
fn is_ticket(block: &[Stmt]) -> bool {
    match block {
        [Stmt::Atomic(atomic), Stmt::Log { values, .. }, ..] => {
            let is_own = atomic.index == Expr::Builtin(Builtin::LocalIndex);
            !is_own && atomic.dest.is_some_and(|dest| values.contains(&Expr::Var(dest)))
        }
        _ => false,
    }
}

fn has_operation(expr: &Expr) -> bool {
    expr.any(&mut |part| matches!(part, Expr::Subgroup(_)))
}

/// The greatest value of a bound where it is easily seen.
fn greatest(bound: &Expr) -> Option<u32> {
    match bound {
        Expr::Uint(value) => Some(*value),
        Expr::Binary(BinaryOp::BitAnd, _, mask) => greatest(mask),
        Expr::Binary(BinaryOp::Add, x, y) => greatest(x)?.checked_add(greatest(y)?),
        _ => None,
    }
}

/// The operands of a call that have to be uniform.
fn uniform_operands(call: &SubgroupCall) -> impl Iterator<Item = &Expr> {
    let is_uniform = |param: &Param| matches!(param, Param::BroadcastLane | Param::UniformUint | Param::UniformMask);
    call.op.info().params.iter().zip(&call.args).filter(move |(param, _)| is_uniform(param)).map(|(_, arg)| arg)
}

/// True if a variable is in an operand that has to be uniform.
fn has_uniform(block: &Block, var: VarId) -> bool {
    let mut found = false;
    walk_block(block, &mut |stmt| {
        let mut look = |part: &Expr| {
            if let Expr::Subgroup(call) = part {
                found |= uniform_operands(call).any(|arg| arg.any(&mut |part| *part == Expr::Var(var)));
            }
        };
        stmt.direct_exprs().for_each(|expr| expr.walk(&mut look));
    });
    found
}

/// True if the loop itself is left and continued by statements of its body.
fn breaks_and_continues(body: &Block) -> bool {
    fn find(block: &Block, found: &mut (bool, bool)) {
        for stmt in block {
            match stmt {
                Stmt::Break => found.0 = true,
                Stmt::Continue => found.1 = true,
                Stmt::Loop(_) | Stmt::Switch { .. } => {}
                _ => stmt.nested_blocks().for_each(|inner| find(inner, found)),
            }
        }
    }
    let mut found = (false, false);
    find(body, &mut found);
    found == (true, true)
}

impl Counter<'_> {
    fn count(&mut self, construct: Construct) {
        *self.constructs.entry(construct).or_default() += 1;
    }

    fn count_if(&mut self, condition: bool, construct: Construct) {
        if condition {
            self.count(construct);
        }
    }

    fn is_main(&self) -> bool {
        self.function + 1 == self.functions.len()
    }

    fn block(&mut self, block: &Block, place: Surroundings) {
        for pair in block.windows(2) {
            let both = guarded_exit(&pair[0]).is_some() && guarded_exit(&pair[1]).is_some();
            self.count_if(both, Construct::ConsecutiveExits);
        }
        for (k, stmt) in block.iter().enumerate() {
            self.statements += 1;
            self.count_if(place.loops > 0 && rotation(&block[k..]).is_some(), Construct::Rotation);
            let is_last = k + 1 == block.len();
            match stmt {
                Stmt::Break if place.breaks_switch && !(is_last && place.innermost == Inside::Switch) => {
                    self.count(Construct::BreakFromSwitch);
                }
                Stmt::Return(_) => {
                    self.count_if(!(is_last && place.depth == 0), Construct::EarlyReturn);
                    self.count_if(place.loops > 0, Construct::ReturnFromLoop);
                    self.count_if(self.is_main(), Construct::ReturnFromMain);
                }
                _ => {}
            }
            self.count_if(is_ticket(&block[k..]), Construct::Ticket);
            self.count_if(adjacent_stores(&block[k..]).is_some(), Construct::AdjacentStores);
            self.stmt(stmt, place);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, place: Surroundings) {
        match stmt {
            Stmt::If { cond, then, otherwise, control } => {
                let stores = then.iter().any(|stmt| matches!(stmt, Stmt::Store { .. }));
                self.count_if(stores && cond.single_invocation().is_some(), Construct::SingleStore);
                self.selection_control(*control);
                self.branch(cond, then, otherwise);
            }
            Stmt::Switch { selector, arms, control } => {
                self.selection_control(*control);
                self.switch(selector, arms, place);
            }
            Stmt::Loop(l) => {
                self.loop_control(l.control);
                self.repeated(l, place);
            }
            Stmt::Call { function, args, .. } => self.call(*function as usize, args, place),
            Stmt::Break => self.count_if(!place.breaks_switch, Construct::Break),
            Stmt::Continue => {
                self.count(Construct::Continue);
                self.count_if(place.switches > 0, Construct::ContinueFromSwitch);
            }
            Stmt::Store { value, .. } => {
                self.count(Construct::Store);
                let narrow = value.ty(&self.functions[self.function]).is_some_and(|ty| ty.scalar.size() < 32);
                self.count_if(narrow, Construct::NarrowStore);
            }
            Stmt::Assign { value, .. } => {
                self.count(Construct::Assign);
                let of = if let Expr::Var(var) = value { self.functions[self.function].var_type(*var) } else { None };
                self.count_if(of.is_some_and(|ty| !ty.is_single()), Construct::AggregateCopy);
            }
            Stmt::Log { .. } => self.count(Construct::Log),
            Stmt::SetElement { inner, .. } => {
                self.count(Construct::ElementStore);
                self.count_if(!inner.is_empty(), Construct::ElementOfElementStore);
            }
            Stmt::Atomic(_) => self.count(Construct::Atomic),
            Stmt::Assume(_) => self.count(Construct::Assume),
            Stmt::ControlBarrier(_) => self.count(Construct::WorkgroupBarrier),
            Stmt::SubgroupBarrier(_) => self.count(Construct::Barrier),
            Stmt::Discard(_) => self.count(Construct::Discard),
            // No construct: `return` is counted by where it stands ([`Self::block`]).
            _ => {}
        }
        stmt.direct_exprs().for_each(|expr| expr.walk(&mut |part| self.expr(part)));
        stmt.nested_blocks().for_each(|block| self.block(block, place.inside(stmt, block)));
    }

    fn selection_control(&mut self, control: SelectionControl) {
        match control {
            SelectionControl::Unspecified => {}
            SelectionControl::Flatten => self.count(Construct::Flatten),
            SelectionControl::DontFlatten => self.count(Construct::DontFlatten),
        }
    }

    fn loop_control(&mut self, control: LoopControl) {
        match control {
            LoopControl::Unspecified => {}
            LoopControl::Unroll => self.count(Construct::Unroll),
            LoopControl::DontUnroll => self.count(Construct::DontUnroll),
        }
    }

    fn steering(&mut self, expr: &Expr) {
        self.count_if(has_operation(expr), Construct::SteeringOperation);
    }

    fn branch(&mut self, cond: &Expr, then: &Block, otherwise: &Block) {
        self.count(if otherwise.is_empty() { Construct::If } else { Construct::IfElse });
        self.count_if(guarded_load(then).or(guarded_load(otherwise)).is_some(), Construct::GuardedLoad);
        self.steering(cond);
        let jumps = |block: &Block| block.last().is_some_and(Stmt::is_jump);
        self.count_if(jumps(then) && jumps(otherwise), Construct::ExitInBothArms);
        let continues = |stmt: &Stmt| guarded_exit(stmt).is_some_and(|inner| inner.last() == Some(&Stmt::Continue));
        let breaks = then.last() == Some(&Stmt::Break);
        self.count_if(breaks && then.iter().any(continues), Construct::ContinueInBreak);
    }

    fn switch(&mut self, selector: &Expr, arms: &[Arm], place: Surroundings) {
        self.count(Construct::Switch);
        self.count_if(place.switches > 0, Construct::NestedSwitch);
        self.steering(selector);
        for (k, arm) in arms.iter().enumerate() {
            let is_last = k + 1 == arms.len();
            let falls = !is_last && !arm.body.last().is_some_and(Stmt::is_jump);
            self.count_if(falls, Construct::Fallthrough);
            self.count_if(arm.labels.len() > 1, Construct::SeveralLabels);
            self.count_if(!is_last && arm.labels.contains(&Label::Default), Construct::EarlyDefault);
        }
    }

    fn repeated(&mut self, l: &Loop, place: Surroundings) {
        self.count(match l.kind {
            LoopKind::For { .. } => Construct::For,
            LoopKind::While => Construct::While,
            LoopKind::DoWhile => Construct::DoWhile,
            LoopKind::Forever => Construct::Forever,
            LoopKind::Endless => Construct::Endless,
        });
        if l.kind == LoopKind::Endless {
            let mut returns = false;
            let mut by_switch = false;
            walk_block(&l.body, &mut |stmt| {
                let has_return = |block: &Block| block.iter().any(|stmt| matches!(stmt, Stmt::Return(_)));
                returns |= matches!(stmt, Stmt::Return(_));
                by_switch |= matches!(stmt, Stmt::Switch { .. }) && stmt.nested_blocks().any(has_return);
            });
            self.count_if(returns, Construct::EndlessReturn);
            self.count_if(by_switch, Construct::EndlessSwitch);
        }
        self.count_if(self.divergence.parts_lanes(self.function, l), Construct::DivergentLoop);
        self.count_if(matches!(l.bound, Expr::Uint(0 | 1)), Construct::LiteralTrip);
        let writes_element = l.body.iter().any(|stmt| matches!(stmt, Stmt::SetElement { .. }));
        self.count_if(l.bound == Expr::Uint(1) && writes_element, Construct::OneTripElement);
        self.count_if(l.is_single_block(), Construct::SingleBlockLoop);
        self.count_if(greatest(&l.bound).is_some_and(|bound| bound >= 50), Construct::LongLoop);
        self.count_if(greatest(&l.bound).is_some_and(|bound| bound > 0x8000), Construct::VeryLongLoop);
        let carried = l.body.iter().any(|stmt| match stmt {
            Stmt::Assign { var, value } => {
                value.any(&mut |part| part == &Expr::Var(*var)) && has_uniform(&l.body, *var)
            }
            _ => false,
        });
        self.count_if(carried, Construct::CarriedUniform);
        self.count_if(place.loops > 0, Construct::NestedLoop);
        self.count_if(place.loops > 1, Construct::DeepLoop);
        self.count_if(breaks_and_continues(&l.body), Construct::BreakAndContinue);
        self.steering(&l.bound);
        if let Some(test) = &l.test {
            self.count(Construct::LoopTest);
            self.count_if(!test.before.is_empty(), Construct::LoopTestStatements);
            self.steering(&test.cond);
        }
        if let LoopKind::For { update, .. } = &l.kind {
            self.count_if(!update.is_empty(), Construct::ForUpdate);
        }
    }

    fn call(&mut self, function: usize, args: &[Arg], place: Surroundings) {
        self.count(Construct::Call);
        self.count_if(place.innermost == Inside::LoopHead, Construct::CallInLoopHead);
        self.count_if(place.loops > 0, Construct::CallInLoop);
        self.count_if(!self.is_main(), Construct::NestedCall);
        if let Some(sites) = self.call_sites.get_mut(function) {
            *sites += 1;
        }
        args.iter().for_each(|arg| self.count_if(matches!(arg, Arg::Out(_)), Construct::OutArgument));
    }

    fn is_vector(&self, expr: &Expr) -> bool {
        expr.ty(&self.functions[self.function]).is_some_and(|ty| ty.width > 1)
    }

    fn idiom(&mut self, expr: &Expr) {
        let Some(idiom) = idiom(expr) else { return };
        self.count(match idiom {
            Idiom::Rotate(_) => Construct::Rotate,
            Idiom::Funnel(..) => Construct::FunnelShift,
            Idiom::CarryCompare => Construct::Carry,
            Idiom::ByteSelect(..) => Construct::ByteSelect,
            Idiom::AbsDifference(..) => Construct::AbsDifference,
            Idiom::SaturatingSum(..) => Construct::SaturatingSum,
            Idiom::Same(..) => Construct::SameOperand,
            Idiom::Logic(..) => Construct::ThreeOperandLogic,
            Idiom::BranchlessAbs(_) => Construct::BranchlessAbs,
            Idiom::Quotient(..) => Construct::VariableQuotient,
        });
    }

    fn intrinsic(&mut self, op: Intrinsic) {
        self.count(match op {
            Intrinsic::Expect => Construct::Expect,
            Intrinsic::MulHigh => Construct::HighProduct,
            Intrinsic::AddCarry | Intrinsic::SubBorrow => Construct::Carry,
            Intrinsic::Mix => Construct::Mix,
            Intrinsic::Any | Intrinsic::All => Construct::AnyOrAll,
            _ if op.is_dot() => Construct::DotProduct,
            _ if op.is_signed_remainder() => Construct::SignedRemainder,
            _ if op.is_from_bits() => Construct::PreservedFloat,
            _ if op.rounded().is_some() => Construct::RoundedFloat,
            _ if matches!(op.info().gives, Gives::Whole(_) | Gives::Parts(_)) => Construct::Pack,
            _ => return,
        });
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Binary(BinaryOp::And | BinaryOp::Or, _, rhs) => {
                self.count_if(has_operation(rhs), Construct::ShortCircuitOperation);
            }
            Expr::Select(..) => self.count(Construct::Select),
            Expr::Constant(_) => self.count(Construct::SpecConstant),
            Expr::Binary(op, x, _) if op.is_comparison() && self.is_vector(x) => {
                self.count(Construct::VectorComparison)
            }
            Expr::Binary(..) => self.idiom(expr),
            Expr::Intrinsic(op, _) => self.intrinsic(*op),
            Expr::Element(x, _) => {
                self.count_if(matches!(**x, Expr::Element(..)), Construct::ElementOfElement);
                let function = &self.functions[self.function];
                self.count(match x.ty(function).map_or(Kind::Single, Type::kind) {
                    Kind::Single => Construct::DynamicComponent,
                    Kind::Array => Construct::ArrayElement,
                    Kind::Matrix => Construct::MatrixColumn,
                    Kind::Struct => Construct::StructMember,
                });
            }
            Expr::Load(load) => {
                self.count_if(load.is_of_peer(), Construct::PeerLoad);
                self.count_if(load.scalar.size() < 32, Construct::NarrowLoad);
            }
            Expr::Flat(_) => self.count(Construct::FlatInput),
            Expr::Builtin(Builtin::HelperInput) => self.count(Construct::HelperInput),
            Expr::Builtin(Builtin::Helper) => self.count(Construct::IsHelper),
            Expr::Resource(resource) => self.count(match resource.non_uniform {
                true => Construct::NonUniformDescriptor,
                false => Construct::UniformDescriptor,
            }),
            Expr::Subgroup(call) => {
                self.count_if(call.args.iter().any(has_operation), Construct::NestedOperation);
                let is_variable = |arg: &Expr| arg.any(&mut |part| matches!(part, Expr::Var(_)));
                self.count_if(uniform_operands(call).any(is_variable), Construct::UniformVariable);
            }
            _ => {}
        }
    }
}
