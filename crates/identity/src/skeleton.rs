//! The shape of a program without what does not matter for a bug: what minimal programs of one bug have in common.
//!
//! Half of all convergence bugs need no particular subgroup operation: a ballot or an add is only the detector. So a
//! skeleton keeps control flow, and where operations stand in it, but not which ones, as far as the program has control flow that can
//! be to blame:
//!
//! | the program has | an operation is called |
//! |---|---|
//! | a loop, a switch or a call | `op` |
//! | only `if` | its category: `vote`, `ballot`, `arithmetic` … |
//! | no control flow | its name, and the type it works on; of nested ones, the outermost |
//!
//! Constants, variables, other expressions and data are left out. Where no operation is left to be to blame, the types are that not every
//! shader has: `if {}; log with small integers`.
//!
//! A value that is assigned, or loaded, in a loop and read after it is `after-loop`. Where a minimal program has that, it is what is
//! broken: which loops there are, and how lanes leave them, is left out, so that thirty programs that show it have one skeleton.
//! Left is whether operations stand in loops (`after-loop of op`), and which less common constructs take part (`after-loop with
//! continue, switch`). Where `after-loop` alone fails, these are no bugs of their own: [`simpler`].
//!
//! It makes sense for minimised cases only; see [`crate::known`].

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use tangle_emit::glsl::spelling::{self, TypeName};
use tangle_program::case::Case;
use tangle_program::memory::{AtomicOp, Sync};
use tangle_program::needs::resource_classes;
use tangle_program::subgroup::{Category, SubgroupOp};
use tangle_program::tree::{
    Arg, Block, Builtin, Discard, Expr, Function, FunctionId, Label, Loop, LoopKind, Program, Stmt, VarId, walk_block,
};
use tangle_program::types::{Scalar, Type};

/// The shape of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skeleton {
    /// Values are used after the loop that computes them.
    AfterLoop {
        /// True if subgroup operations stand in loops.
        of_operation: bool,
        /// Less common constructs and types that take part.
        with: BTreeSet<Extra>,
    },
    /// No value is used after the loop that computes it: the statements themselves.
    Shape {
        /// The statements of `main`.
        parts: Vec<Part>,
        /// Types to blame where there is no operation.
        with: BTreeSet<Extra>,
    },
}

/// A less common construct, or a kind of types that not every shader has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Extra {
    HalfFloats,
    LongIntegers,
    Descriptors,
    Barrier,
    Call,
    Continue,
    Doubles,
    Return,
    SharedMemory,
    SmallIntegers,
    Switch,
}

/// A statement, without what does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// What matters of expressions.
    Uses(Uses),
    /// A log of nothing that matters.
    Log,
    /// `if`, with or without `else`.
    If {
        /// What matters of the condition.
        cond: Uses,
        /// What matters of the statements of the first arm.
        then: Vec<Part>,
        /// What matters of those of the second one; empty without `else`, too.
        otherwise: Vec<Part>,
    },
    /// `switch`, whatever the values of its labels.
    Switch {
        /// What matters of the selector.
        selector: Uses,
        /// In the program's order.
        arms: Vec<Arm>,
    },
    /// A loop; of its form only what `kind` says matters.
    Loop {
        /// How its end is tested.
        kind: Repeat,
        /// Condition, bound and update.
        test: Vec<Part>,
        /// What matters of the statements of its body.
        body: Vec<Part>,
    },
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `return`, of a value
    Return(Uses),
    /// A call, with the function's statements in its place.
    Call {
        /// Of the arguments that go in.
        args: Uses,
        /// What matters of the statements of the function.
        body: Vec<Part>,
    },
    /// A subgroup barrier; which, where operations have names.
    SubgroupBarrier(Option<SubgroupOp>),
    /// A control or memory barrier.
    Sync(Sync),
    /// `assumeEXT`.
    Assume,
    /// A fragment is given up.
    Discard(Discard),
    /// A store of a value to memory.
    Store(Uses),
    /// An atomic operation on an array.
    Atomic {
        /// Which, where operations have names.
        op: Option<AtomicOp>,
        /// What matters of index, operand and comparator.
        operands: Uses,
    },
}

/// An arm of a switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Arm {
    /// True if it has the default label.
    pub default: bool,
    /// What matters of its statements.
    pub body: Vec<Part>,
}

/// The kinds of loops that compilers treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// Tested at the head: `for` and `while`.
    While,
    /// Tested at the end.
    DoWhile,
    /// Left by jumps only.
    Forever,
}

/// What matters of expressions, each thing once.
pub type Uses = BTreeSet<Use>;

/// One thing that matters of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// A value that was assigned, or loaded, in a loop that has ended.
    AfterLoop,
    /// An operation whose name and kind say nothing: it stands beside loops, switches or calls.
    AnyOperation,
    /// An operation of this kind.
    Operation(Category),
    /// This operation, on this type of values.
    Named(SubgroupOp, Option<Operand>),
    /// One of the masks.
    Mask(Builtin),
}

/// The type that an operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operand {
    /// A vector of whatever components and width.
    Vector,
    /// A scalar of this type.
    Scalar(Type),
}

/// The shape of a program.
pub fn skeleton(case: &Case) -> Skeleton {
    let program = &case.program;
    let Some(main) = program.main() else { return Skeleton::Shape { parts: Vec::new(), with: BTreeSet::new() } };
    let mut writer = Writer { program, detail: Detail::of(program), is_after_loop: false, passes_loops: false };
    let parts = writer.block(main, &main.body, &mut Scope::default());
    if writer.is_after_loop { after_loop(program) } else { Skeleton::Shape { parts, with: to_blame(program) } }
}

impl Skeleton {
    /// The simpler shape that explains this one on a device that gets both wrong: where plain values get lost after plain loops, results of
    /// operations and values after loops with more in them do, too.
    pub fn simpler(&self) -> Option<Skeleton> {
        let simplest = Skeleton::AfterLoop { of_operation: false, with: BTreeSet::new() };
        (matches!(self, Skeleton::AfterLoop { .. }) && *self != simplest).then_some(simplest)
    }

    /// True if it names operations: where it is they that are broken.
    pub fn names_operations(&self) -> bool {
        let Skeleton::Shape { parts, .. } = self else { return false };
        parts.iter().any(|part| match part {
            Part::Uses(uses) => uses.iter().any(|used| matches!(used, Use::Named(..))),
            Part::SubgroupBarrier(op) => op.is_some(),
            _ => false,
        })
    }
}

/// `shape with this, that`
fn with(f: &mut fmt::Formatter<'_>, more: &BTreeSet<Extra>) -> fmt::Result {
    if more.is_empty() { Ok(()) } else { write!(f, " with {}", joined(more, ", ")) }
}

fn joined<T: fmt::Display>(parts: impl IntoIterator<Item = T>, between: &str) -> String {
    parts.into_iter().map(|part| part.to_string()).collect::<Vec<_>>().join(between)
}

impl fmt::Display for Skeleton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skeleton::AfterLoop { of_operation, with: more } => {
                f.write_str(if *of_operation { "after-loop of op" } else { "after-loop" })?;
                with(f, more)
            }
            Skeleton::Shape { parts, with: more } => {
                f.write_str(&joined(parts, "; "))?;
                with(f, more)
            }
        }
    }
}

impl fmt::Display for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Extra::HalfFloats => "16-bit floats",
            Extra::LongIntegers => "64-bit integers",
            Extra::Barrier => "barrier",
            Extra::Call => "call",
            Extra::Continue => "continue",
            Extra::Descriptors => "arrays of descriptors",
            Extra::Doubles => "doubles",
            Extra::Return => "return",
            Extra::SharedMemory => "shared memory",
            Extra::SmallIntegers => "small integers",
            Extra::Switch => "switch",
        })
    }
}

/// Alphabetically, with a space between.
fn text(uses: &Uses) -> String {
    let mut names: Vec<String> = uses.iter().map(Use::to_string).collect();
    names.sort();
    names.join(" ")
}

/// ` text`, or nothing
fn after_space(uses: &Uses) -> String {
    if uses.is_empty() { String::new() } else { format!(" {}", text(uses)) }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Use::AfterLoop => f.write_str("after-loop"),
            Use::AnyOperation => f.write_str("op"),
            Use::Operation(category) => f.write_str(category.title()),
            Use::Named(op, None) => f.write_str(op.info().name),
            Use::Named(op, Some(Operand::Vector)) => write!(f, "{}(vector)", op.info().name),
            Use::Named(op, Some(Operand::Scalar(ty))) => write!(f, "{}({})", op.info().name, TypeName(*ty)),
            Use::Mask(builtin) => f.write_str(spelling::builtin(*builtin)),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let block = |parts: &Vec<Part>| joined(parts, "; ");
        match self {
            Part::Uses(uses) => f.write_str(&text(uses)),
            Part::Log => f.write_str("log"),
            Part::If { cond, then, otherwise } => {
                f.write_str("if ")?;
                if !cond.is_empty() {
                    write!(f, "({}) ", text(cond))?;
                }
                write!(f, "{{{}}}", block(then))?;
                if otherwise.is_empty() { Ok(()) } else { write!(f, " else {{{}}}", block(otherwise)) }
            }
            Part::Switch { selector, arms } => write!(f, "switch ({}) {{{}}}", text(selector), joined(arms, " ")),
            Part::Loop { kind, test, body } => {
                f.write_str(match kind {
                    Repeat::While => "while",
                    Repeat::DoWhile => "do",
                    Repeat::Forever => "loop",
                })?;
                if !test.is_empty() {
                    write!(f, " ({})", block(test))?;
                }
                write!(f, " {{{}}}", block(body))
            }
            Part::Break => f.write_str("break"),
            Part::Continue => f.write_str("continue"),
            Part::Return(uses) => write!(f, "return{}", after_space(uses)),
            Part::Call { args, body } => write!(f, "call({}) {{{}}}", text(args), block(body)),
            Part::SubgroupBarrier(op) => f.write_str(op.map_or("barrier", |op| op.info().name)),
            Part::Sync(sync) => write!(f, "{}()", spelling::sync(*sync)),
            Part::Assume => f.write_str("assume"),
            Part::Discard(Discard::Demote) => f.write_str("demote"),
            Part::Discard(Discard::Terminate) => f.write_str("terminate"),
            Part::Store(uses) => write!(f, "store{}", after_space(uses)),
            Part::Atomic { op, operands } => {
                f.write_str(op.map_or("atomic", spelling::atomic))?;
                if operands.is_empty() { Ok(()) } else { write!(f, "({})", text(operands)) }
            }
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{{{}}}", if self.default { "default " } else { "" }, joined(&self.body, "; "))
    }
}

/// The operators and functions in a minimal program that has neither control flow nor subgroup operations: one of them is to blame. Of any
/// other program: none.
///
/// They are no part of the shape, since what shows that a sum is wrong may be any comparison: two programs of one shape are taken for
/// the same bug if half of their operators are the same.
pub fn operators(case: &Case) -> BTreeSet<&'static str> {
    let program = &case.program;
    let mut found = BTreeSet::new();
    let blocks = || program.functions.iter().flat_map(|function| &function.body);
    if Detail::of(program) == Detail::Name && !blocks().any(has_operation) {
        let exprs = blocks().flat_map(Stmt::direct_exprs);
        exprs.for_each(|expr| expr.walk(&mut |expr| found.extend(spelling::operator(expr))));
    }
    // To a compiler the four orders of two values are one: `a <= b` is `!(b < a)`. Of vectors `all` or `any` makes one value.
    let is_order = |operator: &str| matches!(operator, "<" | "<=" | ">" | ">=");
    let is_beside = |operator: &str| matches!(operator, "all" | "any");
    if found.iter().any(|operator| is_order(operator))
        && found.iter().all(|operator| is_order(operator) || is_beside(operator))
    {
        found = BTreeSet::from(["<"]);
    }
    // Beside another operator a comparison is a condition, which may be any.
    let is_comparison = |operator: &str| is_order(operator) || matches!(operator, "==" | "!=");
    if !found.iter().all(|operator| is_comparison(operator)) {
        found.retain(|operator| !is_comparison(operator));
    }
    found
}

/// Arrays of descriptors, and the kinds of types other than bool, int, uint and float in a program without subgroup operations.
fn to_blame(program: &Program) -> BTreeSet<Extra> {
    let blocks = || program.functions.iter().flat_map(|function| &function.body);
    let descriptors = (!resource_classes(program).is_empty()).then_some(Extra::Descriptors);
    if blocks().any(has_operation) {
        return descriptors.into_iter().collect();
    }
    let kind = |scalar: Scalar| {
        scalar.is_extended().then(|| match (scalar.is_float(), scalar.size() < 32) {
            (false, true) => Extra::SmallIntegers,
            (false, false) => Extra::LongIntegers,
            (true, true) => Extra::HalfFloats,
            (true, false) => Extra::Doubles,
        })
    };
    let mut kinds: BTreeSet<Extra> = descriptors.into_iter().collect();
    for function in &program.functions {
        let params = function.params.iter().map(|param| param.ty);
        let types = params.chain(function.locals.iter().map(|local| local.ty)).chain(function.result);
        kinds.extend(types.flat_map(Type::scalars).filter_map(kind));
        walk_block(&function.body, &mut |stmt| {
            stmt.direct_exprs().for_each(|expr| {
                expr.walk(&mut |expr| match expr {
                    Expr::Cast(scalar, _) | Expr::Float(scalar, _) => kinds.extend(kind(*scalar)),
                    Expr::Vector(ty, _) => kinds.extend(ty.scalars().filter_map(kind)),
                    _ => {}
                })
            });
        });
    }
    kinds
}

/// The skeleton of a program that uses values after their loops.
fn after_loop(program: &Program) -> Skeleton {
    let mut of_operation = false;
    let mut with = to_blame(program);
    for function in &program.functions {
        walk_block(&function.body, &mut |stmt| match stmt {
            Stmt::Loop(_) => of_operation |= has_operation(stmt),
            Stmt::Continue => drop(with.insert(Extra::Continue)),
            Stmt::Switch { .. } => drop(with.insert(Extra::Switch)),
            Stmt::Call { .. } => drop(with.insert(Extra::Call)),
            Stmt::SubgroupBarrier(_) => drop(with.insert(Extra::Barrier)),
            Stmt::Store { .. } | Stmt::Atomic(_) => drop(with.insert(Extra::SharedMemory)),
            // A function's last statement may return its result.
            Stmt::Return(_) if function.body.last() != Some(stmt) => drop(with.insert(Extra::Return)),
            _ => {}
        });
    }
    Skeleton::AfterLoop { of_operation, with }
}

/// True if a subgroup operation stands anywhere in a statement.
fn has_operation(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.direct_exprs().for_each(|expr| expr.walk(&mut |expr| found |= matches!(expr, Expr::Subgroup(_))));
    found || stmt.nested_blocks().flatten().any(has_operation)
}

/// How exactly operations are named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    Name,
    Category,
    Any,
}

impl Detail {
    fn of(program: &Program) -> Detail {
        let mut detail = Detail::Name;
        for function in &program.functions {
            walk_block(&function.body, &mut |stmt| {
                detail = detail.max(match stmt {
                    Stmt::Loop(_) | Stmt::Switch { .. } | Stmt::Call { .. } => Detail::Any,
                    Stmt::If { .. } => Detail::Category,
                    _ => Detail::Name,
                });
            });
        }
        detail
    }
}

struct Writer<'a> {
    program: &'a Program,
    detail: Detail,
    /// True once a value was used after the loop that computes it.
    is_after_loop: bool,
    /// True while it looks for what an iteration uses of the one before: the loops in it were looked at.
    passes_loops: bool,
}

impl<'a> Writer<'a> {
    fn block(&mut self, function: &'a Function, block: &'a Block, scope: &mut Scope) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for stmt in block {
            let Some(part) = self.stmt(function, stmt, scope) else { continue };
            let is_control_flow =
                matches!(part, Part::If { .. } | Part::Switch { .. } | Part::Loop { .. } | Part::Call { .. });
            // The same thing twice is the same thing, except for control flow.
            if is_control_flow || parts.last() != Some(&part) {
                parts.push(part);
            }
        }
        parts
    }

    /// A statement; `None` if nothing of it matters.
    fn stmt(&mut self, function: &'a Function, stmt: &'a Stmt, scope: &mut Scope) -> Option<Part> {
        let uses = |uses: Uses| (!uses.is_empty()).then_some(Part::Uses(uses));
        Some(match stmt {
            Stmt::Log { values, .. } => uses(self.exprs(function, values, scope)).unwrap_or(Part::Log),
            Stmt::If { cond, then, otherwise, .. } => Part::If {
                cond: self.exprs(function, [cond], scope),
                then: self.block(function, then, scope),
                otherwise: self.block(function, otherwise, scope),
            },
            Stmt::Switch { selector, arms, .. } => Part::Switch {
                selector: self.exprs(function, [selector], scope),
                arms: arms
                    .iter()
                    .map(|arm| Arm {
                        default: arm.labels.contains(&Label::Default),
                        body: self.block(function, &arm.body, scope),
                    })
                    .collect(),
            },
            Stmt::Loop(_) if self.passes_loops => return None,
            Stmt::Loop(l) => {
                let part = self.loop_(function, l, scope);
                self.note_loads(stmt, &mut scope.loaded);
                part
            }
            Stmt::Break => Part::Break,
            Stmt::Continue => Part::Continue,
            Stmt::Return(value) => Part::Return(self.exprs(function, value, scope)),
            Stmt::Call { function: callee, args, dest } => {
                let ins = args.iter().filter_map(|arg| match arg {
                    Arg::In(expr) => Some(expr),
                    Arg::Out(_) => None,
                });
                let ins = self.exprs(function, ins, scope);
                let outs = args.iter().filter_map(|arg| if let Arg::Out(var) = arg { Some(*var) } else { None });
                scope.assigned.extend(outs.chain(*dest));
                Part::Call { args: ins, body: self.callee(*callee, scope) }
            }
            Stmt::SubgroupBarrier(op) => Part::SubgroupBarrier((self.detail == Detail::Name).then_some(*op)),
            Stmt::ControlBarrier(sync) => Part::Sync(*sync),
            Stmt::Assume(_) => Part::Assume,
            Stmt::Discard(how) => Part::Discard(*how),
            Stmt::Store { value, .. } => Part::Store(self.exprs(function, [value], scope)),
            Stmt::Atomic(atomic) => {
                let operands = self.exprs(function, stmt.direct_exprs(), scope);
                scope.assigned.extend(atomic.dest);
                Part::Atomic { op: (self.detail == Detail::Name).then_some(atomic.op), operands }
            }
            // Of assignments, and what is like them, only the values matter.
            _ => {
                let found = self.exprs(function, stmt.direct_exprs(), scope);
                scope.assigned.extend(stmt.written());
                return uses(found);
            }
        })
    }

    /// The body of a function. What is loaded in its loops may be used behind the call.
    fn callee(&mut self, function: FunctionId, caller: &mut Scope) -> Vec<Part> {
        let program = self.program;
        let Some(function) = program.functions.get(function as usize) else { return Vec::new() };
        let mut scope = Scope { loaded: std::mem::take(&mut caller.loaded), ..Scope::default() };
        let parts = self.block(function, &function.body, &mut scope);
        caller.loaded = scope.loaded;
        parts
    }

    fn loop_(&mut self, function: &'a Function, l: &'a Loop, scope: &mut Scope) -> Part {
        let outside = std::mem::take(&mut scope.assigned);
        let body = self.block(function, &l.body, scope);
        // What comes from a loop in it may be used in the next iteration.
        self.passes_loops = true;
        self.block(function, &l.body, scope);
        self.passes_loops = false;
        let update = match &l.kind {
            LoopKind::For { update, .. } => self.block(function, update, scope),
            LoopKind::While | LoopKind::DoWhile | LoopKind::Forever | LoopKind::Endless => Vec::new(),
        };
        let mut test = Vec::new();
        if let Some(t) = &l.test {
            test.extend(self.block(function, &t.before, scope));
            test.push(Part::Uses(self.exprs(function, [&t.cond], scope)));
        }
        test.push(Part::Uses(self.exprs(function, [&l.bound], scope)));
        test.extend(update);
        test.retain(|part| !matches!(part, Part::Uses(uses) if uses.is_empty()));
        let inside = std::mem::replace(&mut scope.assigned, outside);
        scope.after_loop.extend(inside);
        scope.after_loop.insert(l.counter);
        // What was assigned before the loop, and in it, comes from it.
        scope.assigned.retain(|var| !scope.after_loop.contains(var));
        let kind = match l.kind {
            LoopKind::For { .. } | LoopKind::While => Repeat::While,
            LoopKind::DoWhile => Repeat::DoWhile,
            LoopKind::Forever | LoopKind::Endless => Repeat::Forever,
        };
        Part::Loop { kind, test, body }
    }

    fn exprs(&mut self, function: &Function, exprs: impl IntoIterator<Item = &'a Expr>, scope: &Scope) -> Uses {
        let mut found = Uses::new();
        for expr in exprs {
            let mut has_operation = false;
            expr.walk(&mut |expr| match expr {
                // What gives an operation its operands is not to blame where the operation itself may be.
                Expr::Subgroup(_) if has_operation => {}
                Expr::Subgroup(call) => {
                    has_operation = true;
                    let value = call.args.first().and_then(|value| value.ty(function));
                    found.insert(self.operation(call.op, value));
                }
                Expr::Var(var) if scope.after_loop.contains(var) && !scope.assigned.contains(var) => {
                    found.insert(Use::AfterLoop);
                }
                Expr::Input(input) if scope.loaded.contains(input) => {
                    found.insert(Use::AfterLoop);
                }
                Expr::Builtin(
                    builtin @ (Builtin::EqMask | Builtin::GeMask | Builtin::GtMask | Builtin::LeMask | Builtin::LtMask),
                ) if self.detail == Detail::Name => {
                    found.insert(Use::Mask(*builtin));
                }
                _ => {}
            });
        }
        self.is_after_loop |= found.contains(&Use::AfterLoop);
        found
    }

    /// Notes the inputs that a statement loads, with what stands in it and what it calls.
    fn note_loads(&self, stmt: &Stmt, inputs: &mut BTreeSet<u32>) {
        stmt.direct_exprs().for_each(|expr| {
            expr.walk(&mut |expr| {
                if let Expr::Input(input) = expr {
                    inputs.insert(*input);
                }
            });
        });
        let callee = match stmt {
            Stmt::Call { function, .. } => self.program.functions.get(*function as usize),
            _ => None,
        };
        let called = callee.into_iter().flat_map(|function| &function.body);
        stmt.nested_blocks().flatten().chain(called).for_each(|inner| self.note_loads(inner, inputs));
    }

    fn operation(&self, op: SubgroupOp, value: Option<Type>) -> Use {
        let operand = |ty: Type| if ty.width > 1 { Operand::Vector } else { Operand::Scalar(ty) };
        match self.detail {
            Detail::Any => Use::AnyOperation,
            Detail::Category => Use::Operation(op.info().category),
            Detail::Name => Use::Named(op, value.map(operand)),
        }
    }
}

/// Where a value comes from that an expression reads.
#[derive(Default)]
struct Scope {
    /// Assigned in the innermost loop around, or before, outside of any other loop.
    assigned: BTreeSet<VarId>,
    /// Assigned in a loop that has ended.
    after_loop: BTreeSet<VarId>,
    /// Inputs that were loaded in a loop that has ended. A compiler keeps the value instead of loading it again.
    loaded: BTreeSet<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
    use tangle_program::subgroup::{Fold, SubgroupOp};
    use tangle_program::tree::{Local, Test};

    /// A case with this body, with three uint locals; 2 is for counters.
    fn case(body: Block) -> Case {
        let mut case = Case::from_json(include_str!("../../../corpus/vectors/V01.json")).expect("a case");
        let local = |name: &str| Local::new(name, Type::UINT);
        let main = Function {
            name: "main".into(),
            params: Vec::new(),
            result: None,
            locals: vec![local("a"), local("b"), local("k")],
            body,
        };
        case.program.functions = vec![main];
        case
    }

    fn add() -> Expr {
        Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [Expr::Uint(1)])
    }

    fn ballot() -> Expr {
        Expr::subgroup(SubgroupOp::Elect, [])
    }

    fn set(var: VarId, value: Expr) -> Stmt {
        Stmt::Assign { var, value }
    }

    fn log(value: Expr) -> Stmt {
        Stmt::Log { site: 1, values: vec![value] }
    }

    fn when(then: Block) -> Stmt {
        Stmt::If { cond: Expr::Bool(true), then, otherwise: Vec::new(), control: Default::default() }
    }

    fn repeat(kind: LoopKind, body: Block) -> Stmt {
        let test = Some(Test { before: Vec::new(), cond: Expr::Bool(true) });
        let test = test.filter(|_| kind != LoopKind::Forever);
        Stmt::Loop(Box::new(Loop { kind, counter: 2, bound: Expr::Uint(3), test, body, control: Default::default() }))
    }

    #[test]
    fn programs_of_one_bug_have_one_skeleton() {
        let table = [
            // A value that is used after its loop: whatever it is, whatever the loop.
            (vec![repeat(LoopKind::DoWhile, vec![set(0, add())]), log(Expr::Var(0))], "after-loop of op"),
            (vec![repeat(LoopKind::While, vec![set(0, Expr::Uint(7))]), log(Expr::Var(0))], "after-loop"),
            (vec![repeat(LoopKind::While, vec![]), when(vec![log(Expr::Var(2))])], "after-loop"),
            (vec![repeat(LoopKind::While, vec![set(0, Expr::Input(0))]), log(Expr::Input(0))], "after-loop"),
            (
                vec![repeat(LoopKind::While, vec![repeat(LoopKind::Forever, vec![Stmt::Continue])]), log(Expr::Var(2))],
                "after-loop with continue",
            ),
            // It had another value before.
            (
                vec![set(0, Expr::Uint(1)), repeat(LoopKind::While, vec![set(0, Expr::Uint(7))]), log(Expr::Var(0))],
                "after-loop",
            ),
            (
                vec![repeat(LoopKind::While, vec![set(0, Expr::Uint(7))]), set(0, Expr::Uint(1)), log(Expr::Var(0))],
                "while {}; log",
            ),
            // It is used in the next iteration of a loop around.
            (
                vec![repeat(
                    LoopKind::While,
                    vec![log(Expr::Var(0)), repeat(LoopKind::While, vec![set(0, Expr::Uint(7))])],
                )],
                "after-loop",
            ),
            (
                vec![repeat(
                    LoopKind::While,
                    vec![log(Expr::Var(1)), repeat(LoopKind::While, vec![set(0, Expr::Uint(7))])],
                )],
                "while {log; while {}}",
            ),
            // One that is not: an operation in the loop, or after it.
            (vec![repeat(LoopKind::While, vec![log(add())])], "while {op}"),
            (vec![repeat(LoopKind::Forever, vec![when(vec![Stmt::Break])]), log(add())], "loop {if {break}}; op"),
            (vec![repeat(LoopKind::DoWhile, vec![set(0, add()), log(Expr::Var(0))])], "do {op; log}"),
            // Under divergence, the kind of operation counts.
            (vec![when(vec![log(add())])], "if {arithmetic}"),
            (vec![when(vec![log(ballot())])], "if {elect}"),
            (vec![when(vec![Stmt::SubgroupBarrier(SubgroupOp::Barrier), log(add())])], "if {barrier; arithmetic}"),
            // Without an operation, the type.
            (vec![when(vec![log(Expr::Var(0))])], "if {log}"),
            (vec![when(vec![log(Expr::Cast(Scalar::Int16, Box::new(Expr::Var(0))))])], "if {log} with small integers"),
            (vec![log(Expr::Cast(Scalar::Uint64, Box::new(Expr::Var(0))))], "log with 64-bit integers"),
            (
                vec![
                    repeat(LoopKind::While, vec![set(0, Expr::Uint(7)), Stmt::Continue]),
                    log(Expr::Cast(Scalar::Uint8, Box::new(Expr::Var(0)))),
                ],
                "after-loop with continue, small integers",
            ),
            // In a straight line, it is the operation that is wrong.
            (vec![log(add())], "subgroupAdd(uint)"),
            (vec![log(Expr::subgroup(SubgroupOp::AllEqual, [add()]))], "subgroupAllEqual(uint)"),
            (
                vec![log(Expr::subgroup(SubgroupOp::AllEqual, [Expr::Vector(Type::MASK, vec![Expr::Uint(0); 4])]))],
                "subgroupAllEqual(vector)",
            ),
        ];
        for (body, wanted) in table {
            assert_eq!(skeleton(&case(body.clone())).to_string(), wanted, "{body:?}");
        }
    }

    #[test]
    fn what_a_loop_calls_loads_in_it() {
        let callee = |loads| Function {
            name: "f".into(),
            params: Vec::new(),
            result: None,
            locals: Vec::new(),
            body: vec![log(if loads { Expr::Input(0) } else { Expr::Uint(1) })],
        };
        let call = Stmt::Call { function: 0, args: Vec::new(), dest: None };
        for (loads, wanted) in [(true, "after-loop with call"), (false, "while {call() {log}}; log")] {
            let mut case = case(vec![repeat(LoopKind::While, vec![call.clone()]), log(Expr::Input(0))]);
            case.program.functions.insert(0, callee(loads));
            assert_eq!(skeleton(&case).to_string(), wanted);
        }
    }

    #[test]
    fn in_a_straight_line_of_plain_values_an_operator_is_to_blame() {
        let small = |op, x| Expr::Cast(Scalar::Int8, Box::new(Expr::unary(op, x)));
        let shifted = Expr::Binary(BinaryOp::Shl, Box::new(Expr::Var(0)), Box::new(Expr::Uint(1)));
        let negated = small(UnaryOp::Neg, shifted);
        let largest = Expr::Intrinsic(Intrinsic::Max, vec![Expr::Var(0), Expr::Var(1)]);
        let [first, second] = [0, 1].map(|k| Expr::Vector(Type::MASK, vec![Expr::Var(k); 4]));
        let orders = Expr::binary(BinaryOp::Le, first, second);
        for (body, wanted) in [
            (vec![log(negated.clone())], vec!["-", "<<"]),
            (vec![set(0, largest), log(Expr::Var(0))], vec!["max"]),
            (vec![log(Expr::Var(0))], vec![]),
            (vec![log(Expr::binary(BinaryOp::Ge, Expr::Var(0), Expr::Var(1)))], vec!["<"]),
            (vec![log(Expr::Intrinsic(Intrinsic::All, vec![orders]))], vec!["<"]),
            (vec![log(Expr::binary(BinaryOp::Eq, Expr::Var(0), Expr::Var(1)))], vec!["=="]),
            (vec![log(Expr::binary(BinaryOp::Eq, negated.clone(), Expr::Var(1)))], vec!["-", "<<"]),
            (vec![log(negated.clone()), log(add())], vec![]),
            (vec![when(vec![log(negated)])], vec![]),
        ] {
            assert_eq!(operators(&case(body.clone())), wanted.into_iter().collect(), "{body:?}");
        }
    }

    #[test]
    fn lost_values_explain_lost_results_of_operations() {
        let after_loop =
            |of_operation, with: &[Extra]| Skeleton::AfterLoop { of_operation, with: with.iter().copied().collect() };
        let simplest = after_loop(false, &[]);
        for (skeleton, wanted) in [
            (after_loop(true, &[Extra::Return]), Some(&simplest)),
            (after_loop(false, &[Extra::Continue]), Some(&simplest)),
            (simplest.clone(), None),
            (skeleton(&case(vec![repeat(LoopKind::While, vec![log(add())])])), None),
        ] {
            assert_eq!(skeleton.simpler().as_ref(), wanted, "{skeleton}");
        }
    }

    #[test]
    fn a_skeleton_is_read_back_as_it_was_written() {
        let bodies = [
            vec![repeat(LoopKind::DoWhile, vec![set(0, add())]), log(Expr::Var(0))],
            vec![when(vec![Stmt::SubgroupBarrier(SubgroupOp::Barrier), log(add())])],
            vec![log(add()), Stmt::SubgroupBarrier(SubgroupOp::Barrier)],
        ];
        for body in bodies {
            let skeleton = skeleton(&case(body));
            let json = serde_json::to_string(&skeleton).expect("plain data");
            assert_eq!(serde_json::from_str::<Skeleton>(&json).expect("it was just written"), skeleton, "{json}");
        }
    }
}
