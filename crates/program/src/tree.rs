//! The typed tree of a program: functions, statements, expressions.
//!
//! The tree is what GLSL can say, restricted so that every program terminates and nothing undefined runs
//! (`tangle_analysis::validate` checks both). Function calls are statements, so that no expression has a side effect; the one
//! place where statements stand inside an expression is a loop's test ([`Test`]), printed with the comma operator.
//!
//! The nodes are here; `tree/visit.rs` says once what a node reads, writes and holds.

mod visit;

use serde::{Deserialize, Serialize};

use crate::control::{LoopControl, SelectionControl};
use crate::memory::{ArrayId, AtomicOp, Shared, Sync};
use crate::ops::{BinaryOp, Intrinsic, UnaryOp};
use crate::resource::ResourceClass;
use crate::subgroup::{Fold, SubgroupOp};
use crate::types::{Scalar, Type};
pub use visit::{Operands, around_bodies, ends_in_jump, walk_block};

/// Index of a variable in its function: parameters first, then locals.
pub type VarId = u32;
/// Index of a function in [`Program::functions`].
pub type FunctionId = u32;
/// Name of an observation point, unique in the program and greater than 0 (0 marks the unwritten part of a log).
pub type SiteId = u32;
/// The deepest nesting of statement lists in a function of a valid case.
pub const MAX_BLOCK_DEPTH: usize = 32;
/// The deepest nesting of expressions in a valid case.
pub const MAX_EXPR_DEPTH: usize = 48;
/// The most words besides the site that one entry of the log of a valid case has.
pub const MAX_ENTRY_WORDS: u64 = 32;

/// A sequence of statements.
pub type Block = Vec<Stmt>;

/// A whole compute shader: functions in definition order, the last one is `main`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Arrays in shared memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Shared>,
    /// A function may call only functions before it (GLSL has no recursion; no prototypes are printed).
    pub functions: Vec<Function>,
}

impl Program {
    /// The entry point: the last function; `None` of an empty program.
    pub fn main(&self) -> Option<&Function> {
        self.functions.last()
    }

    /// Gives the sites the numbers 1, 2, 3… in the order of the text.
    pub fn number_sites(&mut self) {
        fn number(block: &mut Block, last: &mut SiteId) {
            for stmt in block {
                if let Stmt::Log { site, .. } = stmt {
                    *last += 1;
                    *site = *last;
                }
                stmt.nested_blocks_mut().into_iter().for_each(|inner| number(inner, last));
            }
        }
        let mut last = 0;
        self.functions.iter_mut().for_each(|function| number(&mut function.body, &mut last));
    }
}

/// A function of the shader.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// GLSL identifier, unique among the functions.
    pub name: String,
    /// Parameters, in order; [`VarId`]s `0..params.len()`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<Param>,
    /// `None` for `void`. A function with a result ends with a `return`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Type>,
    /// Local variables; [`VarId`]s from `params.len()`. Each starts at zero (`false`) at every call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locals: Vec<Local>,
    /// What it does, from parameters and zeros on.
    pub body: Block,
}

impl Function {
    /// Changes the body by what the function declares, which is given without it and may get more.
    pub fn change_body(&mut self, change: impl FnOnce(&mut Function, &mut Block)) {
        let mut body = std::mem::take(&mut self.body);
        change(self, &mut body);
        self.body = body;
    }

    /// The type of a variable, or `None` if there is no such variable.
    pub fn var_type(&self, var: VarId) -> Option<Type> {
        let var = var as usize;
        match self.params.get(var) {
            Some(param) => Some(param.ty),
            None => self.locals.get(var - self.params.len()).map(|local| local.ty),
        }
    }

    /// The name of a variable, or `None` if there is no such variable.
    pub fn var_name(&self, var: VarId) -> Option<&str> {
        let var = var as usize;
        match self.params.get(var) {
            Some(param) => Some(&param.name),
            None => self.locals.get(var - self.params.len()).map(|local| local.name.as_str()),
        }
    }

    /// Number of parameters and locals together.
    pub fn var_count(&self) -> usize {
        self.params.len() + self.locals.len()
    }

    /// Declares a new local of a name that no variable has, made of a word and a number, and returns its id.
    pub fn add_fresh_local(&mut self, word: &str, ty: Type) -> VarId {
        let mut number = self.var_count();
        while (0..self.var_count()).any(|var| self.var_name(var as VarId) == Some(&format!("{word}_{number}"))) {
            number += 1;
        }
        self.add_local(format!("{word}_{number}"), ty)
    }

    /// Declares a new local and returns its id.
    pub fn add_local(&mut self, name: impl Into<String>, ty: Type) -> VarId {
        self.locals.push(Local::new(name, ty));
        (self.var_count() - 1) as VarId
    }
}

/// How an argument travels (GLSL 4.60 §6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Copied in at the call; a variable of the function.
    In,
    /// Copied out at return; starts at zero inside the function (the printer writes that down).
    Out,
    /// Copied in and out.
    Inout,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// GLSL identifier, unique among the function's variables.
    pub name: String,
    /// Which way values go.
    pub direction: Direction,
    /// The type of its values.
    #[serde(rename = "type")]
    pub ty: Type,
}

/// A local variable: one of a function that is no parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// GLSL identifier, unique among the function's variables.
    pub name: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub ty: Type,
    /// With the qualifier `precise` (GLSL 4.60 §4.14): the arithmetic that leads to it is decorated NoContraction. Floats are exact
    /// anyway (`tangle_analysis::exact`), so that no value depends on it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub precise: bool,
}

impl Local {
    /// A variable without qualifier.
    pub fn new(name: impl Into<String>, ty: Type) -> Local {
        Local { name: name.into(), ty, precise: false }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A statement of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Stmt {
    /// `var = value;`: the whole variable.
    Assign {
        /// The variable written, of the function.
        var: VarId,
        /// Its new value, of the variable's type.
        value: Expr,
    },
    /// An observation point: appends the site and the values to the log of the invocation. A value is a scalar
    /// expression or a vector *variable*.
    Log {
        /// The number that names it in logs.
        site: SiteId,
        /// What is observed; may be empty (the entry then only says that the lane came by).
        values: Vec<Expr>,
    },
    /// `if (cond) { then } else { otherwise }`
    #[serde(rename = "selection", alias = "if")]
    If {
        /// The condition, a bool.
        #[serde(rename = "condition", alias = "cond")]
        cond: Expr,
        /// Statements for the lanes where it holds.
        then: Block,
        /// Statements for the others; empty means that there is no `else`.
        #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "else")]
        otherwise: Block,
        /// What is asked for it.
        #[serde(default, skip_serializing_if = "SelectionControl::is_unspecified")]
        control: SelectionControl,
    },
    /// `switch (selector) { … }`; an arm that does not end with a jump falls through.
    Switch {
        /// An int or uint scalar.
        selector: Expr,
        /// The arms in source order.
        arms: Vec<Arm>,
        /// What is asked for it.
        #[serde(default, skip_serializing_if = "SelectionControl::is_unspecified")]
        control: SelectionControl,
    },
    /// A loop of any of the four kinds.
    Loop(Box<Loop>),
    /// `break;` out of the innermost loop or switch.
    Break,
    /// `continue;` with the innermost loop.
    Continue,
    /// `return;` or `return value;`. In `main` it ends the invocation.
    Return(Option<Expr>),
    /// `dest = function(args);`, or without `dest =`.
    #[serde(rename = "function_call", alias = "call")]
    Call {
        /// Index of the callee, smaller than that of the caller.
        function: FunctionId,
        /// One per parameter. No variable stands twice among the out and inout arguments and `dest`.
        args: Vec<Arg>,
        /// Where the result goes, if the function has one and it is used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dest: Option<VarId>,
    },
    /// `subgroupBarrier();` or one of the subgroup memory barriers: an operation without result.
    #[serde(rename = "subgroup_barrier", alias = "barrier")]
    SubgroupBarrier(#[serde(serialize_with = "crate::subgroup::serialize_spirv_name")] SubgroupOp),
    /// `var[index] = value;`: an element of an array, matrix or struct, or a component of a vector ([`Expr::Element`]). With more indices
    /// `var[index][inner] = value;`: an element of an element.
    SetElement {
        /// The variable of which an element is written.
        var: VarId,
        /// A uint in range; of a struct, a literal.
        index: Expr,
        /// Indices in that element, in the element that the first of them gives, and so on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inner: Vec<Expr>,
        /// Its new value, of the type of the element.
        value: Expr,
    },
    /// `array[gl_LocalInvocationIndex] = value;`: an invocation writes its own slot. Of an array that gives each invocation several elements
    /// ([`Shared::parts`]) `array[gl_LocalInvocationIndex * parts + element] = value;`.
    Store {
        /// The array; it has a slot for every invocation.
        array: ArrayId,
        /// Which of the invocation's own elements, a uint below their number; none if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        element: Option<Expr>,
        /// The new value, of the array's type.
        value: Expr,
    },
    /// An atomic memory function.
    Atomic(Box<Atomic>),
    /// `barrier();` or a memory barrier (`tangle_analysis::races` says where).
    #[serde(rename = "workgroup_barrier", alias = "sync")]
    ControlBarrier(Sync),
    /// `assumeEXT(cond);`: a hint to the compiler, which must come true in every lane (SPV_KHR_expect_assume). So the condition is one that
    /// `tangle_analysis::bounds` knows to hold, without a subgroup operation.
    #[serde(rename = "assume_true", alias = "assume")]
    Assume(Expr),
    /// `demote;` or `terminateInvocation;` in a fragment shader.
    Discard(Discard),
}

/// How a fragment is given up. `discard` alone, OpKill, is either of these as an implementation likes (Vulkan, Shader Termination), and is
/// not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discard {
    /// OpDemoteToHelperInvocation: the invocation goes on as a helper invocation.
    Demote,
    /// OpTerminateInvocation: it ends. It stands in `main`.
    Terminate,
}

/// `dest = atomicAdd(array[index], value);` and the like.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Atomic {
    /// What it combines the old value with the operand by.
    pub op: AtomicOp,
    /// The array, in shared memory or in a buffer.
    pub array: ArrayId,
    /// A uint in range.
    pub index: Expr,
    /// For `atomicCompSwap`: what the old value is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Expr>,
    /// The operand, of the array's type; of `atomicCompSwap`, what is stored if the comparison holds.
    pub value: Expr,
    /// Where the old value goes, if it is used. It depends on the order of invocations, unless only one of them touches the
    /// element between two barriers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dest: Option<VarId>,
}

/// One segment of a switch: its labels and the statements after them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// At least one label.
    pub labels: Vec<Label>,
    /// The statements; without a jump at their end, those of the next arm follow.
    pub body: Block,
}

/// A label of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// `case n:`; in the range of the selector's type.
    Case(i64),
    /// `default:`, at most once in a switch.
    Default,
}

/// A loop. It runs while its test holds *and* `counter < bound`, in that order, so that it always ends.
///
/// | kind | printed as |
/// |---|---|
/// | for | `for (i = init; test && i < bound; i += step, update) { body }` |
/// | while | `i = 0; while (test && i < bound) { i++; body }` |
/// | do-while | `i = 0; do { i++; body } while (test && i < bound);` |
/// | forever | `i = 0; for (;;) { if (i >= bound) break; i++; body }` |
/// | endless | `for (;;) { body }`: all lanes are known to leave within `bound` iterations (`tangle_analysis::leaving`) |
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loop {
    /// Which form is printed.
    pub kind: LoopKind,
    /// A uint local that nothing else writes. It keeps its value after the loop. Nothing reads that of an endless loop.
    pub counter: VarId,
    /// A uint with a statically known small upper bound (`tangle_analysis::bounds`); evaluated at every test, by the lanes
    /// for which the test held.
    pub bound: Expr,
    /// The condition; `None` leaves only the bound. A forever loop has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
    /// The statements of an iteration, without test and update.
    pub body: Block,
    /// What is asked for it.
    #[serde(default, skip_serializing_if = "LoopControl::is_unspecified")]
    pub control: LoopControl,
}

impl Loop {
    /// True for a `do … while` loop without a branch in its body or its condition.
    pub fn is_single_block(&self) -> bool {
        let chooses = |expr: &Expr| {
            expr.any(&mut |part| matches!(part, Expr::Select(..) | Expr::Binary(BinaryOp::And | BinaryOp::Or, ..)))
        };
        let is_plain = |stmt: &Stmt| {
            let kind = matches!(
                stmt,
                Stmt::Assign { .. } | Stmt::Log { .. } | Stmt::SubgroupBarrier(_) | Stmt::SetElement { .. }
            );
            kind && !stmt.direct_exprs().any(chooses)
        };
        self.kind == LoopKind::DoWhile && self.test.is_none() && !chooses(&self.bound) && self.body.iter().all(is_plain)
    }
}

/// The loop forms of GLSL.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LoopKind {
    /// A `for` loop: test and update are expressions of its head.
    For {
        /// First value of the counter.
        init: Expr,
        /// What is added to the counter, at least 1.
        step: u32,
        /// More statements in the increment part, printed with the comma operator: only [`Stmt::Assign`],
        /// [`Stmt::Log`] and [`Stmt::Call`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        update: Block,
    },
    /// `while (…) { … }`
    While,
    /// `do { … } while (…);`: the condition stands in the continue construct.
    DoWhile,
    /// `for (;;) { … }`
    Forever,
    /// `for (;;) { … }` without a counter and a bound.
    Endless,
}

/// The condition of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Statements evaluated before the condition, printed with the comma operator: only [`Stmt::Assign`],
    /// [`Stmt::Log`] and [`Stmt::Call`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Block,
    /// The condition itself, a bool.
    #[serde(rename = "condition", alias = "cond")]
    pub cond: Expr,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arg {
    /// For an `in` parameter.
    In(Expr),
    /// For an `out` or `inout` parameter.
    Out(VarId),
}

/// An expression. Its type follows from its parts (`tangle_analysis::validate`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expr {
    /// `true` or `false`.
    Bool(bool),
    /// An int literal, printed in decimal.
    #[serde(rename = "i32", alias = "int")]
    Int(i32),
    /// A uint literal, printed with `u`.
    #[serde(rename = "u32", alias = "uint")]
    Uint(u32),
    /// A literal of a floating-point type, in quarters: `{"float": ["f32", 7]}` is 1.75.
    Float(Scalar, i32),
    /// A variable of the function.
    Var(VarId),
    /// A built-in variable or a value derived from one.
    #[serde(rename = "built_in", alias = "builtin")]
    Builtin(Builtin),
    /// Per-invocation input `k`, a uint: [`crate::case::Data::inputs`].
    Input(u32),
    /// Input `k` of the invocation of [ordinal](crate::case::EntryPoint::ordinal) `index`, a uint in range: `{"input_of": [k, index]}` reads a buffer that
    /// nothing writes at a place that the program computes.
    #[serde(rename = "input_of")]
    InputOf(u32, Box<Expr>),
    /// Uniform-buffer word `k`, a uint: [`crate::case::Data::uniforms`].
    Uniform(u32),
    /// Push-constant word `k`, a uint: [`crate::case::Data::push`].
    #[serde(rename = "push_constant", alias = "push")]
    Push(u32),
    /// Specialisation constant `k`, a uint: [`crate::case::Data::constants`].
    #[serde(rename = "spec_constant", alias = "constant")]
    Constant(u32),
    /// `op x`, on each component.
    Unary(UnaryOp, Box<Expr>),
    /// `x op y`; `&&` and `||` evaluate the right operand only where needed.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `cond ? x : y`; only the chosen arm is evaluated.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `uint(x)` and the like, with the width of the operand.
    #[serde(rename = "convert", alias = "cast")]
    Cast(Scalar, Box<Expr>),
    /// A built-in function of GLSL on each component.
    #[serde(rename = "ext_inst", alias = "intrinsic")]
    Intrinsic(Intrinsic, Vec<Expr>),
    /// `uvec4(a, b, c, d)`: one scalar for each component. Of an aggregate: one value for each element.
    #[serde(rename = "composite_construct", alias = "vector")]
    Vector(Type, Vec<Expr>),
    /// `v.x`: component 0 to 3 of a vector.
    #[serde(rename = "composite_extract", alias = "component")]
    Component(Box<Expr>, u8),
    /// A subgroup operation with a result.
    #[serde(rename = "group_non_uniform", alias = "subgroup")]
    Subgroup(SubgroupCall),
    /// `array[index]` of an array of the workgroup.
    Load(Load),
    /// A word of a resource of an array of descriptors, a uint.
    Resource(Resource),
    /// `a[i]`: an element of an array, a column of a matrix, a member of a struct (by a literal), a component of a vector. The index is
    /// a uint in range.
    #[serde(rename = "access_chain", alias = "element")]
    Element(Box<Expr>, Box<Expr>),
    /// Flat input `k` of a fragment shader, a uint that the vertex shader gives to the triangle: [`crate::case::Data::flats`].
    Flat(u32),
}

/// A subgroup built-in function applied to its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubgroupCall {
    /// Which one; it has a result.
    #[serde(serialize_with = "crate::subgroup::serialize_spirv_name")]
    pub op: SubgroupOp,
    /// The operands, without the cluster size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Expr>,
    /// The cluster size of a clustered operation, a constant power of two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<u32>,
}

/// `array[index]`, or `array[nonuniformEXT(index)]`: the word of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// The array of descriptors of this class; a shader has at most one of each class.
    pub class: ResourceClass,
    /// A uint below the number of resources.
    pub index: Box<Expr>,
    /// True if the access is decorated `NonUniform`. Without that the index has to be the same in all invocations of the dispatch that execute
    /// the access (docs/rules.md, Y11; the specification is content with less).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub non_uniform: bool,
}

/// An element of an array in shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The array, in shared memory or in a buffer.
    pub array: ArrayId,
    /// The type of its elements.
    #[serde(rename = "type")]
    pub scalar: Scalar,
    /// A uint in range.
    pub index: Box<Expr>,
}

impl Load {
    /// True if it visibly goes to an element of the invocation itself, of an array with so many for each.
    pub fn is_own(&self, parts: u32) -> bool {
        let is_first = |index: &Expr| *index == first_own(parts);
        match &*self.index {
            Expr::Binary(BinaryOp::Add, first, element) if parts > 1 => {
                is_first(first) && matches!(**element, Expr::Uint(element) if element < parts)
            }
            index => is_first(index),
        }
    }

    /// True if it visibly goes to the slot of an invocation of the tangle that performs it, the invocation itself perhaps.
    pub fn is_of_peer(&self) -> bool {
        !self.is_own(1) && is_peer(&self.index)
    }
}

/// The index of the first element of the invocation itself, of an array with so many for each.
pub fn first_own(parts: u32) -> Expr {
    let own = Expr::Builtin(Builtin::LocalIndex);
    if parts == 1 { own } else { Expr::binary(BinaryOp::Mul, own, Expr::Uint(parts)) }
}

/// True if the value is the local index of an invocation of the tangle that evaluates the expression: the invocation's own, one chosen by an
/// operation that gives the value of an active lane, or of a pair of lanes both of which are chosen so the one that is not the
/// invocation itself, if there are two.
fn is_peer(expr: &Expr) -> bool {
    match expr {
        Expr::Builtin(Builtin::LocalIndex) => true,
        Expr::Subgroup(call) => chooses(call.op) && call.args.iter().all(is_peer),
        Expr::Binary(BinaryOp::BitXor, pair, own) => match &**pair {
            Expr::Binary(BinaryOp::BitXor, x, y) => {
                **own == Expr::Builtin(Builtin::LocalIndex) && is_of_pair(x, Fold::Min) && is_of_pair(y, Fold::Max)
            }
            _ => false,
        },
        _ => false,
    }
}

/// True for an operation that gives every lane the operand of a lane that takes part (rules P1, P3 and P10).
fn chooses(op: SubgroupOp) -> bool {
    match op {
        SubgroupOp::BroadcastFirst => true,
        SubgroupOp::Reduce(fold) | SubgroupOp::Inclusive(fold) | SubgroupOp::Clustered(fold) => {
            matches!(fold, Fold::Min | Fold::Max)
        }
        _ => false,
    }
}

/// The least or the greatest local index of a cluster of two.
fn is_of_pair(expr: &Expr, fold: Fold) -> bool {
    matches!(expr, Expr::Subgroup(call) if call.op == SubgroupOp::Clustered(fold)
        && call.cluster == Some(2)
        && call.args == [Expr::Builtin(Builtin::LocalIndex)])
}

/// The built-ins: their names in JSON, with that of older formats, and their types. Those of compute shaders come first.
macro_rules! builtins {
    (
        compute { $($(#[$doc:meta])+ $compute:ident: $name:literal | $older:literal, $ty:expr;)+ }
        fragment { $($(#[$fragment_doc:meta])+ $fragment:ident: $fragment_name:literal, $fragment_ty:expr;)+ }
    ) => {
        /// Built-in variables of GLSL and values derived from them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Builtin {
            $($(#[$doc])+ #[serde(rename = $name, alias = $older)] $compute,)+
            $($(#[$fragment_doc])+ #[serde(rename = $fragment_name)] $fragment,)+
        }

        impl Builtin {
            /// Every built-in of a compute shader.
            pub const ALL: [Builtin; [$($name),+].len()] = [$(Builtin::$compute),+];

            /// Its type: uint, uvec4 for masks, or bool.
            pub const fn ty(self) -> Type {
                match self {
                    $(Builtin::$compute => $ty,)+
                    $(Builtin::$fragment => $fragment_ty,)+
                }
            }
        }
    };
}

builtins! {
    compute {
        /// `gl_SubgroupInvocationID`, read through a highp copy (rules P14 and P15, the mediump trap).
        Lane: "SubgroupLocalInvocationId" | "lane", Type::UINT;
        /// `gl_SubgroupSize`, read through a highp copy.
        SubgroupSize: "SubgroupSize" | "subgroup_size", Type::UINT;
        /// `gl_SubgroupID`.
        SubgroupId: "SubgroupId" | "subgroup_id", Type::UINT;
        /// `gl_NumSubgroups`.
        NumSubgroups: "NumSubgroups" | "num_subgroups", Type::UINT;
        /// `gl_LocalInvocationIndex`.
        LocalIndex: "LocalInvocationIndex" | "local_index", Type::UINT;
        /// `gl_LocalInvocationID.x`
        LocalX: "LocalInvocationId.x" | "local_x", Type::UINT;
        /// `gl_LocalInvocationID.y`
        LocalY: "LocalInvocationId.y" | "local_y", Type::UINT;
        /// `gl_LocalInvocationID.z`
        LocalZ: "LocalInvocationId.z" | "local_z", Type::UINT;
        /// The linear index of the workgroup in the dispatch.
        WorkgroupIndex: "WorkgroupIndex" | "workgroup_index", Type::UINT;
        /// `gl_SubgroupEqMask`
        EqMask: "SubgroupEqMask" | "eq_mask", Type::MASK;
        /// `gl_SubgroupGeMask`
        GeMask: "SubgroupGeMask" | "ge_mask", Type::MASK;
        /// `gl_SubgroupGtMask`
        GtMask: "SubgroupGtMask" | "gt_mask", Type::MASK;
        /// `gl_SubgroupLeMask`
        LeMask: "SubgroupLeMask" | "le_mask", Type::MASK;
        /// `gl_SubgroupLtMask`
        LtMask: "SubgroupLtMask" | "lt_mask", Type::MASK;
    }
    fragment {
        /// `helperInvocationEXT()`: whether the invocation is a helper now.
        Helper: "HelperInvocation", Type::BOOL;
        /// `gl_HelperInvocation`: whether the invocation was launched as a helper; only in shaders that do not demote, since the input does not say what is so
        /// after that (docs/rules.md, rule H7).
        HelperInput: "HelperInvocationInput", Type::BOOL;
    }
}

impl Expr {
    /// `lhs op rhs`, without a check of types.
    pub fn binary(op: BinaryOp, lhs: Expr, rhs: Expr) -> Expr {
        Expr::Binary(op, Box::new(lhs), Box::new(rhs))
    }

    /// `op arg`, without a check of types.
    pub fn unary(op: UnaryOp, arg: Expr) -> Expr {
        Expr::Unary(op, Box::new(arg))
    }

    /// The number of the one invocation of each workgroup for which this holds, where it says so: `gl_LocalInvocationIndex == 5u`.
    pub fn single_invocation(&self) -> Option<u32> {
        match self {
            Expr::Binary(BinaryOp::Eq, x, y) => match (&**x, &**y) {
                (Expr::Builtin(Builtin::LocalIndex), Expr::Uint(number)) => Some(*number),
                _ => None,
            },
            _ => None,
        }
    }

    /// A value of any type by its scalars.
    pub fn composite(ty: Type, scalar: &mut dyn FnMut(Scalar) -> Expr) -> Expr {
        if ty.is_scalar() {
            return scalar(ty.scalar);
        }
        Expr::Vector(ty, ty.parts().map(|part| Expr::composite(part, scalar)).collect())
    }

    /// A constant of an unsigned type, from its bits.
    pub fn bits(scalar: Scalar, bits: u64) -> Expr {
        let part = |word: u64| Expr::Cast(scalar, Box::new(Expr::Uint(word as u32)));
        match (bits >> 32, bits as u32) {
            _ if scalar == Scalar::Uint => Expr::Uint(bits as u32),
            (0, _) => part(bits),
            (high, low) => {
                let high = Expr::binary(BinaryOp::Shl, part(high), Expr::Uint(32));
                if low == 0 { high } else { Expr::binary(BinaryOp::BitOr, high, part(bits)) }
            }
        }
    }

    /// `x[index]` of a value: [`Expr::Element`].
    pub fn element(x: Expr, index: Expr) -> Expr {
        Expr::Element(Box::new(x), Box::new(index))
    }

    /// The number of a literal `uint`: what picks the member of a struct.
    pub fn literal(&self) -> Option<u32> {
        if let Expr::Uint(number) = self { Some(*number) } else { None }
    }

    /// A subgroup operation without a cluster size.
    pub fn subgroup(op: SubgroupOp, args: impl Into<Vec<Expr>>) -> Expr {
        Expr::Subgroup(SubgroupCall { op, args: args.into(), cluster: None })
    }

    /// The type of a valid expression of the function, found without checking the operands; `None` where it is plain that the
    /// expression has none. `tangle_analysis::validate::type_of` checks.
    pub fn ty(&self, function: &Function) -> Option<Type> {
        self.type_from(function, |_, operand| operand.ty(function))
    }

    /// The type of a valid expression, `of` being those of its operands, by their numbers.
    pub fn type_from(&self, function: &Function, of: impl Fn(usize, &Expr) -> Option<Type>) -> Option<Type> {
        match self {
            Expr::Bool(_) => Some(Type::BOOL),
            Expr::Int(_) => Some(Type::INT),
            Expr::Uint(_)
            | Expr::Input(_)
            | Expr::InputOf(..)
            | Expr::Flat(_)
            | Expr::Uniform(_)
            | Expr::Push(_)
            | Expr::Constant(_)
            | Expr::Resource(_) => Some(Type::UINT),
            Expr::Float(scalar, _) => Some(Type::scalar(*scalar)),
            Expr::Var(var) => function.var_type(*var),
            Expr::Builtin(builtin) => Some(builtin.ty()),
            Expr::Unary(_, x) => of(0, x),
            Expr::Select(_, x, _) => of(1, x),
            Expr::Binary(op, ..) if op.is_logical() => Some(Type::BOOL),
            Expr::Binary(op, x, _) if op.is_comparison() => Some(Type { scalar: Scalar::Bool, ..of(0, x)? }),
            Expr::Binary(_, x, _) => of(0, x),
            Expr::Cast(scalar, x) => Some(Type { scalar: *scalar, ..of(0, x)? }),
            Expr::Intrinsic(op, args) => op.info().result(of(0, args.first()?)?),
            Expr::Vector(ty, _) => Some(*ty),
            Expr::Component(x, _) => Some(Type::scalar(of(0, x)?.scalar)),
            Expr::Subgroup(call) => call.op.info().result_type(call.args.first().and_then(|value| of(0, value))),
            Expr::Load(load) => Some(Type::scalar(load.scalar)),
            Expr::Element(x, index) => of(0, x)?.part(index.literal()),
        }
    }
}
