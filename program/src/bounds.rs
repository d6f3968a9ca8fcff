//! Static bounds: what values an expression can have, and how much a program can do and log at most.
//!
//! [`Scope::range`] is an interval analysis without flow: a variable can hold anything of its type, except the counter of a
//! loop, which nothing else writes. That is enough for the guards a program must have around operations that are not defined for
//! all operands (`x << (y & 31u)`, `x / (y | 1u)`), and for loop bounds. The data of a case belong to it, so that a bound may
//! come from a buffer and still be known here and unknown to the compiler.
//!
//! The bounds hold for values that are defined.

use std::cell::OnceCell;

use crate::case::{Case, Data, Launch, SubgroupSize};
use crate::ops::{BinaryOp, Intrinsic, UnaryOp};
use crate::subgroup::{Fold, Gives, SubgroupOp};
use crate::tree::{Block, Builtin, Expr, Function, Loop, LoopKind, Stmt, VarId};
use crate::types::Scalar;

/// The most words that an invocation may log.
pub const MAX_LOG_WORDS: u64 = 4096;
/// The fewest words of a log slice.
pub const MIN_LOG_CAPACITY: u64 = 16;
/// The most statements that an invocation may execute.
pub const MAX_STEPS: u64 = 20_000;
/// The most iterations of one loop, and the greatest step of its counter.
pub const MAX_LOOP_ITERATIONS: u64 = 128;
/// The greatest subgroup size of Vulkan (semantics.md §1.1).
pub const MAX_SUBGROUP_SIZE: u32 = 128;

/// The integers from `lo` to `hi`, both included. Bools are 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The least.
    pub lo: i64,
    /// The greatest.
    pub hi: i64,
}

impl Interval {
    /// From `lo` to `hi`.
    pub const fn new(lo: i64, hi: i64) -> Interval {
        Interval { lo, hi }
    }

    /// One value.
    pub const fn exactly(value: i64) -> Interval {
        Interval { lo: value, hi: value }
    }

    /// Everything that a scalar type can hold.
    pub const fn all(scalar: Scalar) -> Interval {
        match scalar {
            Scalar::Bool => Interval::new(0, 1),
            Scalar::Int => Interval::new(i32::MIN as i64, i32::MAX as i64),
            Scalar::Uint => Interval::new(0, u32::MAX as i64),
        }
    }

    /// True if the value is in it.
    pub const fn contains(self, value: i64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// True if every value of it is in `other`.
    pub const fn is_within(self, other: Interval) -> bool {
        other.lo <= self.lo && self.hi <= other.hi
    }

    /// The least interval around both.
    pub fn hull(self, other: Interval) -> Interval {
        Interval::new(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    /// The interval, or everything if the arithmetic of the type may have wrapped around.
    fn wrapped(self, scalar: Scalar) -> Interval {
        let all = Interval::all(scalar);
        if self.is_within(all) { self } else { all }
    }

    /// The interval around some values; everything if there is none, or if one of them overflowed 64 bits.
    fn around<const N: usize>(values: [Option<i64>; N], scalar: Scalar) -> Interval {
        let all = Interval::all(scalar);
        let mut hull: Option<Interval> = None;
        for value in values {
            let Some(value) = value else { return all };
            let point = Interval::exactly(value);
            hull = Some(hull.map_or(point, |hull| hull.hull(point)));
        }
        hull.map_or(all, |hull| hull.wrapped(scalar))
    }

    /// `[0, 2^n - 1]` for the least `n` that covers both; what `|` and `^` of non-negative values stay in.
    fn bits_of(self, other: Interval) -> Interval {
        let bits = 64 - (self.hi | other.hi).leading_zeros();
        Interval::new(0, (1 << bits) - 1)
    }
}

/// What is known where an expression stands: its function, the launch and the data.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    function: &'a Function,
    launch: &'a Launch,
    data: &'a Data,
    inputs: Vec<OnceCell<Interval>>,
    /// For the variables of the function: loop counters.
    counters: Vec<Option<Interval>>,
}

impl<'a> Scope<'a> {
    /// The scope of a function of a case.
    pub fn new(case: &'a Case, function: &'a Function) -> Scope<'a> {
        let mut scope = Scope::unfinished(function, &case.launch, &case.data);
        scope.learn_counters(&function.body);
        scope
    }

    /// The scope of a function whose body is not there yet. Nothing is known of its variables but what [`Scope::learn`] is told.
    pub fn unfinished(function: &'a Function, launch: &'a Launch, data: &'a Data) -> Scope<'a> {
        let inputs = vec![OnceCell::new(); data.inputs.len()];
        Scope { function, launch, data, inputs, counters: vec![None; function.var_count()] }
    }

    /// Lets a variable, the counter of a loop, be known to stay in an interval.
    pub fn learn(&mut self, counter: VarId, range: Interval) {
        let counter = counter as usize;
        if counter >= self.counters.len() {
            self.counters.resize(counter + 1, None);
        }
        self.counters[counter] = Some(range);
    }

    fn learn_counters(&mut self, block: &'a Block) {
        for stmt in block {
            match stmt {
                Stmt::If { then, otherwise, .. } => {
                    self.learn_counters(then);
                    self.learn_counters(otherwise);
                }
                Stmt::Switch { arms, .. } => arms.iter().for_each(|arm| self.learn_counters(&arm.body)),
                Stmt::Loop(l) => {
                    if (l.counter as usize) < self.counters.len() {
                        self.learn(l.counter, self.counter_range(l));
                    }
                    self.learn_counters(&l.body);
                }
                _ => {}
            }
        }
    }

    /// What the counter of a loop can hold at any time: also before the loop (0) and after it.
    pub fn counter_range(&self, l: &Loop) -> Interval {
        let bound = self.range(&l.bound).hi;
        let last = match &l.kind {
            LoopKind::For { init, step, .. } => {
                let init = self.range(init).hi;
                init.max(bound.saturating_sub(1).saturating_add(i64::from(*step)))
            }
            LoopKind::DoWhile => bound.max(1),
            LoopKind::While | LoopKind::Forever => bound,
        };
        Interval::new(0, last).wrapped(Scalar::Uint)
    }

    /// The most iterations of a loop: how often its body can start.
    pub fn iterations(&self, l: &Loop) -> u64 {
        let bound = self.range(&l.bound).hi;
        let iterations = match &l.kind {
            LoopKind::For { init, step, .. } => {
                let (distance, step) = (bound - self.range(init).lo, i64::from(*step).max(1));
                (distance + step - 1).max(0) / step
            }
            LoopKind::DoWhile => bound.max(1),
            LoopKind::While | LoopKind::Forever => bound,
        };
        u64::try_from(iterations).unwrap_or(0)
    }

    /// The values that an expression can have; for a vector, that its components can have.
    pub fn range(&self, expr: &Expr) -> Interval {
        self.typed_range(expr).1
    }

    /// True if the value, or every component, is known not to be zero. Sees more than [`Scope::range`]: `x | 1`.
    pub fn is_nonzero(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Binary(BinaryOp::BitOr, x, y) => self.is_nonzero(x) || self.is_nonzero(y),
            Expr::Unary(UnaryOp::Neg, x) => self.is_nonzero(x),
            Expr::Cast(Scalar::Int | Scalar::Uint, x) => self.is_nonzero(x),
            Expr::Select(_, x, y) => self.is_nonzero(x) && self.is_nonzero(y),
            Expr::Vector(_, args) => args.iter().all(|arg| self.is_nonzero(arg)),
            _ => !self.range(expr).contains(0),
        }
    }

    /// The component type of the expression, and its range.
    fn typed_range(&self, expr: &Expr) -> (Scalar, Interval) {
        match expr {
            Expr::Bool(value) => (Scalar::Bool, Interval::exactly(i64::from(*value))),
            Expr::Int(value) => (Scalar::Int, Interval::exactly(i64::from(*value))),
            Expr::Uint(value) => (Scalar::Uint, Interval::exactly(i64::from(*value))),
            Expr::Var(var) => {
                let scalar = self.function.var_type(*var).map_or(Scalar::Uint, |ty| ty.scalar);
                let counter = self.counters.get(*var as usize).copied().flatten();
                (scalar, counter.unwrap_or(Interval::all(scalar)))
            }
            Expr::Builtin(builtin) => (Scalar::Uint, self.builtin(*builtin)),
            Expr::Input(k) => (Scalar::Uint, self.input(*k as usize)),
            Expr::Uniform(k) => (Scalar::Uint, word(&self.data.uniforms, *k)),
            Expr::Push(k) => (Scalar::Uint, word(&self.data.push, *k)),
            Expr::Unary(op, x) => {
                let (scalar, x) = self.typed_range(x);
                (scalar, unary(*op, scalar, x))
            }
            Expr::Binary(op, ..) if op.is_logical() || op.is_comparison() => {
                (Scalar::Bool, Interval::all(Scalar::Bool))
            }
            Expr::Binary(op, x, y) => {
                let (scalar, x) = self.typed_range(x);
                (scalar, binary(*op, scalar, x, self.range(y)))
            }
            Expr::Select(_, x, y) => {
                let (scalar, x) = self.typed_range(x);
                (scalar, x.hull(self.range(y)))
            }
            Expr::Cast(to, x) => {
                let (from, x) = self.typed_range(x);
                (*to, cast(from, *to, x))
            }
            Expr::Intrinsic(op, args) => self.intrinsic(*op, args),
            Expr::Vector(ty, args) => {
                let ranges = args.iter().map(|arg| self.range(arg));
                (ty.scalar, ranges.reduce(Interval::hull).unwrap_or(Interval::all(ty.scalar)))
            }
            Expr::Component(x, c) => match &**x {
                Expr::Vector(_, args) if args.len() > usize::from(*c) => self.typed_range(&args[usize::from(*c)]),
                x => self.typed_range(x),
            },
            Expr::Subgroup(call) => self.subgroup(call.op, &call.args),
        }
    }

    /// `gl_SubgroupID` and `gl_NumSubgroups` are unknown: how invocations are packed is free, and a driver was seen to report them
    /// wrongly (semantics.md §2.1, §2.3).
    fn builtin(&self, builtin: Builtin) -> Interval {
        let size = match self.launch.subgroup_size {
            SubgroupSize::Required(size) => Interval::exactly(i64::from(size)),
            SubgroupSize::Default | SubgroupSize::Varying => Interval::new(1, i64::from(MAX_SUBGROUP_SIZE)),
        };
        let below = |n: u64| Interval::new(0, i64::try_from(n).unwrap_or(i64::MAX).saturating_sub(1).max(0));
        let [x, y, z] = self.launch.workgroup.map(u64::from);
        let product = |sides: [u32; 3]| sides.iter().fold(1, |n: u64, &side| n.saturating_mul(u64::from(side)));
        let range = match builtin {
            Builtin::Lane => Interval::new(0, (size.hi - 1).max(0)),
            Builtin::SubgroupSize => size,
            Builtin::LocalIndex => below(product(self.launch.workgroup)),
            Builtin::LocalX => below(x),
            Builtin::LocalY => below(y),
            Builtin::LocalZ => below(z),
            Builtin::WorkgroupIndex => below(product(self.launch.groups)),
            _ => Interval::all(Scalar::Uint),
        };
        range.wrapped(Scalar::Uint)
    }

    fn input(&self, k: usize) -> Interval {
        let (Some(cell), Some(words)) = (self.inputs.get(k), self.data.inputs.get(k)) else {
            return Interval::all(Scalar::Uint);
        };
        *cell.get_or_init(|| {
            let (lo, hi) = (words.iter().min(), words.iter().max());
            lo.zip(hi).map_or(Interval::all(Scalar::Uint), |(&lo, &hi)| Interval::new(lo.into(), hi.into()))
        })
    }

    fn intrinsic(&self, op: Intrinsic, args: &[Expr]) -> (Scalar, Interval) {
        let [first, ..] = args else { return (Scalar::Uint, Interval::all(Scalar::Uint)) };
        let (scalar, x) = self.typed_range(first);
        let all = Interval::all(scalar);
        let arg = |i: usize| args.get(i).map_or(all, |arg| self.range(arg));
        let min = |x: Interval, y: Interval| Interval::new(x.lo.min(y.lo), x.hi.min(y.hi));
        let max = |x: Interval, y: Interval| Interval::new(x.lo.max(y.lo), x.hi.max(y.hi));
        let found = |most: i64| Interval::new(if self.is_nonzero(first) { 0 } else { -1 }, most);
        match op {
            Intrinsic::Min => (scalar, min(x, arg(1))),
            Intrinsic::Max => (scalar, max(x, arg(1))),
            Intrinsic::Clamp => (scalar, min(max(x, arg(1)), arg(2))),
            Intrinsic::Abs if x.lo <= i64::from(i32::MIN) => (scalar, all),
            Intrinsic::Abs => {
                let least = if x.contains(0) { 0 } else { x.lo.abs().min(x.hi.abs()) };
                (scalar, Interval::new(least, x.lo.abs().max(x.hi.abs())))
            }
            Intrinsic::Sign => (scalar, Interval::new(x.lo.signum(), x.hi.signum())),
            Intrinsic::BitfieldExtract => {
                let range = match (scalar, arg(2).hi) {
                    (_, ..=0) => Interval::exactly(0),
                    (Scalar::Uint, bits @ 1..=31) => Interval::new(0, (1 << bits) - 1),
                    (_, bits @ 1..=31) => Interval::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
                    _ => all,
                };
                (scalar, range)
            }
            Intrinsic::BitfieldInsert | Intrinsic::BitfieldReverse => (scalar, all),
            Intrinsic::BitCount => {
                let most = if x.lo >= 0 { i64::from(64 - x.hi.leading_zeros()) } else { 32 };
                (Scalar::Int, Interval::new(i64::from(self.is_nonzero(first)), most))
            }
            Intrinsic::FindLsb | Intrinsic::FindMsb => (Scalar::Int, found(31)),
        }
    }

    fn subgroup(&self, op: SubgroupOp, args: &[Expr]) -> (Scalar, Interval) {
        let most = match self.launch.subgroup_size {
            SubgroupSize::Required(size) => i64::from(size.min(MAX_SUBGROUP_SIZE)),
            SubgroupSize::Default | SubgroupSize::Varying => i64::from(MAX_SUBGROUP_SIZE),
        };
        let (scalar, x) = match args {
            [value, ..] => self.typed_range(value),
            [] => (Scalar::Uint, Interval::all(Scalar::Uint)),
        };
        let info = op.info();
        match (info.gives, op) {
            (Gives::Bool | Gives::Nothing, _) => (Scalar::Bool, Interval::all(Scalar::Bool)),
            (Gives::Uint, SubgroupOp::BallotFindLsb | SubgroupOp::BallotFindMsb) => {
                (Scalar::Uint, Interval::new(0, most - 1))
            }
            (Gives::Uint, _) => (Scalar::Uint, Interval::new(0, most)),
            (Gives::Mask, _) => (Scalar::Uint, Interval::all(Scalar::Uint)),
            (
                Gives::Same,
                SubgroupOp::Reduce(fold) | SubgroupOp::Inclusive(fold) | SubgroupOp::Clustered(fold),
            ) => (scalar, folded(fold, scalar, x, most)),
            (Gives::Same, SubgroupOp::Exclusive(fold)) => {
                let identity = as_integer(scalar, fold.identity(scalar));
                (scalar, folded(fold, scalar, x, most).hull(Interval::exactly(identity)))
            }
            // The others move a value from some lane.
            (Gives::Same, _) => (scalar, x),
        }
    }
}

fn as_integer(scalar: Scalar, bits: u64) -> i64 {
    match scalar {
        Scalar::Int => i64::from(bits as u32 as i32),
        Scalar::Bool | Scalar::Uint => i64::from(bits as u32),
    }
}

fn word(words: &[u32], k: u32) -> Interval {
    words.get(k as usize).map_or(Interval::all(Scalar::Uint), |&word| Interval::exactly(i64::from(word)))
}

/// The combination of 1 to `most` values of a range.
fn folded(fold: Fold, scalar: Scalar, x: Interval, most: i64) -> Interval {
    match fold {
        Fold::Add => Interval::new(x.lo.min(x.lo * most), x.hi.max(x.hi * most)).wrapped(scalar),
        Fold::Min | Fold::Max => x,
        Fold::And if x.lo >= 0 => Interval::new(0, x.hi),
        Fold::Or | Fold::Xor if x.lo >= 0 => x.bits_of(x),
        Fold::Mul | Fold::And | Fold::Or | Fold::Xor => Interval::all(scalar),
    }
}

fn unary(op: UnaryOp, scalar: Scalar, x: Interval) -> Interval {
    match op {
        UnaryOp::Neg => Interval::new(-x.hi, -x.lo).wrapped(scalar),
        UnaryOp::BitNot if scalar == Scalar::Uint => {
            Interval::new(i64::from(u32::MAX) - x.hi, i64::from(u32::MAX) - x.lo)
        }
        UnaryOp::BitNot => Interval::new(-1 - x.hi, -1 - x.lo),
        UnaryOp::Not => Interval::new(1 - x.hi, 1 - x.lo),
    }
}

/// For the operators that are neither logical nor comparisons.
fn binary(op: BinaryOp, scalar: Scalar, x: Interval, y: Interval) -> Interval {
    let all = Interval::all(scalar);
    let corners = |f: fn(i64, i64) -> Option<i64>| {
        Interval::around([f(x.lo, y.lo), f(x.lo, y.hi), f(x.hi, y.lo), f(x.hi, y.hi)], scalar)
    };
    match op {
        BinaryOp::Add => Interval::new(x.lo + y.lo, x.hi + y.hi).wrapped(scalar),
        BinaryOp::Sub => Interval::new(x.lo - y.hi, x.hi - y.lo).wrapped(scalar),
        BinaryOp::Mul => corners(i64::checked_mul),
        BinaryOp::Div if y.contains(0) => all,
        BinaryOp::Div => corners(i64::checked_div),
        BinaryOp::Mod if x.lo < 0 || y.lo <= 0 => all,
        BinaryOp::Mod if x.hi < y.lo => x,
        BinaryOp::Mod => Interval::new(0, x.hi.min(y.hi - 1)),
        BinaryOp::BitAnd => match (x.lo >= 0, y.lo >= 0) {
            (true, true) => Interval::new(0, x.hi.min(y.hi)),
            (true, false) => Interval::new(0, x.hi),
            (false, true) => Interval::new(0, y.hi),
            (false, false) => all,
        },
        BinaryOp::BitOr | BinaryOp::BitXor if x.lo < 0 || y.lo < 0 => all,
        BinaryOp::BitOr => Interval { lo: x.lo.max(y.lo), ..x.bits_of(y) },
        BinaryOp::BitXor => x.bits_of(y),
        BinaryOp::Shl | BinaryOp::Shr if !y.is_within(Interval::new(0, 31)) => all,
        BinaryOp::Shl => corners(|x, y| x.checked_mul(1 << y)),
        BinaryOp::Shr => corners(|x, y| Some(x >> y)),
        _ => all,
    }
}

fn cast(from: Scalar, to: Scalar, x: Interval) -> Interval {
    const WRAP: i64 = 1 << 32;
    match (from, to) {
        (Scalar::Bool, _) => x,
        (_, Scalar::Bool) => Interval::new(i64::from(!x.contains(0)), i64::from(x != Interval::exactly(0))),
        (Scalar::Int, Scalar::Uint) if x.hi < 0 => Interval::new(x.lo + WRAP, x.hi + WRAP),
        (Scalar::Uint, Scalar::Int) if x.lo > i64::from(i32::MAX) => Interval::new(x.lo - WRAP, x.hi - WRAP),
        _ => x.wrapped(to),
    }
}

/// What running something can cost one invocation, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Words logged.
    pub log_words: u64,
    /// Statements executed; a test of a loop counts as one.
    pub steps: u64,
}

impl Cost {
    const STEP: Cost = Cost { log_words: 0, steps: 1 };

    fn then(self, other: Cost) -> Cost {
        Cost {
            log_words: self.log_words.saturating_add(other.log_words),
            steps: self.steps.saturating_add(other.steps),
        }
    }

    fn or(self, other: Cost) -> Cost {
        Cost { log_words: self.log_words.max(other.log_words), steps: self.steps.max(other.steps) }
    }

    fn times(self, n: u64) -> Cost {
        Cost { log_words: self.log_words.saturating_mul(n), steps: self.steps.saturating_mul(n) }
    }
}

/// The cost of running the program once.
pub fn cost(case: &Case) -> Cost {
    let mut functions = Vec::with_capacity(case.program.functions.len());
    for function in &case.program.functions {
        let scope = Scope::new(case, function);
        functions.push(Costs { scope: &scope, callees: &functions }.block(&function.body));
    }
    functions.pop().unwrap_or_default()
}

/// The most words that an invocation can log: one for each site, one for each component of a value.
pub fn log_words(case: &Case) -> u64 {
    cost(case).log_words
}

/// The most statements that an invocation can execute.
pub fn steps(case: &Case) -> u64 {
    cost(case).steps
}

impl Case {
    /// Words of an invocation's slice of the log: a power of two, enough for every valid case.
    pub fn log_capacity(&self) -> u32 {
        log_words(self).clamp(MIN_LOG_CAPACITY, MAX_LOG_WORDS).next_power_of_two() as u32
    }
}

/// The costs of the statements of one function, whose callees' costs are known.
struct Costs<'a> {
    scope: &'a Scope<'a>,
    callees: &'a [Cost],
}

impl Costs<'_> {
    fn block(&self, block: &Block) -> Cost {
        block.iter().fold(Cost::default(), |cost, stmt| cost.then(self.stmt(stmt)))
    }

    fn stmt(&self, stmt: &Stmt) -> Cost {
        let nested = match stmt {
            Stmt::Log { values, .. } => {
                let words = values.iter().map(|value| value_words(value, self.scope.function)).sum();
                Cost { log_words: 1u64.saturating_add(words), steps: 0 }
            }
            Stmt::If { then, otherwise, .. } => self.block(then).or(self.block(otherwise)),
            Stmt::Switch { arms, .. } => {
                let mut most = Cost::default();
                let mut from_here = Cost::default();
                for arm in arms.iter().rev() {
                    let falls_through = !arm.body.last().is_some_and(Stmt::is_jump);
                    let after = if falls_through { from_here } else { Cost::default() };
                    from_here = self.block(&arm.body).then(after);
                    most = most.or(from_here);
                }
                most
            }
            Stmt::Loop(l) => self.repeated(l),
            Stmt::Call { function, .. } => self.callees.get(*function as usize).copied().unwrap_or_default(),
            _ => Cost::default(),
        };
        Cost::STEP.then(nested)
    }

    fn repeated(&self, l: &Loop) -> Cost {
        let iterations = self.scope.iterations(l);
        let test = Cost::STEP.then(l.test.as_ref().map_or(Cost::default(), |test| self.block(&test.before)));
        let tests = match l.kind {
            LoopKind::DoWhile => iterations,
            LoopKind::For { .. } | LoopKind::While | LoopKind::Forever => iterations.saturating_add(1),
        };
        let update = match &l.kind {
            LoopKind::For { update, .. } => self.block(update),
            LoopKind::While | LoopKind::DoWhile | LoopKind::Forever => Cost::default(),
        };
        test.times(tests).then(self.block(&l.body).then(update).times(iterations))
    }
}

/// Words that a logged value takes: its components.
pub fn value_words(value: &Expr, function: &Function) -> u64 {
    match value {
        Expr::Var(var) => function.var_type(*var).map_or(1, |ty| u64::from(ty.width)),
        // Only variables may be logged as vectors.
        _ => 1,
    }
}

