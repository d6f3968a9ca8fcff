//! Lowering: the tree with types and operations resolved, as the machine walks it.
//!
//! Every expression node knows the scalar type it works on, every subgroup operation its row of the table and a number, and every
//! decision (branch, loop test, selection) a number for path keys. The shape of the tree stays.

use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::float;
use tangle_program::memory::{ArrayId, AtomicOp, Sync};
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{OpInfo, Param, Severity, SubgroupOp};
use tangle_program::tree::Resource;
use tangle_program::tree::{
    Arg, Builtin, Direction, Discard, Expr, Function, Label, LoopKind, Program, SiteId, Stmt, SubgroupCall, VarId,
};
use tangle_program::types::{Scalar, Type};

use crate::rules::{Access, Accessed, Bound, Peephole, Rewrite};

/// A whole program, lowered: expressions with their types, statements as steps.
pub(crate) struct Code {
    pub functions: Vec<Body>,
    /// The subgroup operations by number, in the order of [`tangle_analysis::context::operations`].
    pub ops: Vec<SubgroupOp>,
    /// Number of log sites.
    pub sites: usize,
    pub has_switch: bool,
    /// A fragment may be given up.
    pub discards: bool,
}

pub(crate) struct Body {
    /// Types of parameters and locals.
    pub vars: Vec<Type>,
    pub params: Vec<Direction>,
    pub result: Option<Type>,
    pub block: Vec<Step>,
}

/// Number of a decision, unique in the program.
pub(crate) type Decision = u32;

pub(crate) enum Step {
    Assign {
        var: usize,
        value: Node,
    },
    /// The values with their component types.
    Log {
        site: SiteId,
        values: Vec<(Node, Scalar)>,
    },
    If {
        decision: Decision,
        control: SelectionControl,
        cond: Node,
        then: Vec<Step>,
        otherwise: Vec<Step>,
    },
    Switch {
        decision: Decision,
        selector: Node,
        segments: Vec<Segment>,
    },
    Loop(Box<LoopCode>),
    Break,
    Continue,
    Return(Option<Node>),
    Call {
        decision: Decision,
        function: usize,
        args: Vec<ArgCode>,
        dest: Option<usize>,
    },
    Barrier {
        /// Number of the static instruction.
        id: usize,
        /// It makes lanes wait for each other: no mere memory barrier.
        synchronises: bool,
    },
    SetElement {
        var: usize,
        /// From the variable inwards.
        indices: Vec<(Accessed, Node)>,
        value: Node,
    },
    Store {
        array: usize,
        /// Which of the lane's own elements.
        element: Option<Node>,
        value: Node,
    },
    Atomic(Box<AtomicCode>),
    /// `barrier()`.
    Synchronise,
    /// `demote` or `terminateInvocation`.
    Discard(Discard),
    /// What a compiler may assume. It holds ([`tangle_analysis::validate`]), so that nothing is computed.
    Assume,
    /// A memory barrier: without data races there is nothing to order.
    Nothing,
}

pub(crate) struct AtomicCode {
    pub op: AtomicOp,
    pub array: usize,
    pub index: Node,
    pub compare: Option<Node>,
    pub value: Node,
    pub dest: Option<usize>,
}

pub(crate) struct Segment {
    /// The labels as bits of the selector's type.
    pub labels: Vec<u64>,
    pub default: bool,
    pub block: Vec<Step>,
}

pub(crate) struct LoopCode {
    pub decision: Decision,
    pub form: Form,
    pub counter: usize,
    pub bound: Node,
    pub before: Vec<Step>,
    pub cond: Option<Node>,
    pub block: Vec<Step>,
    pub control: LoopControl,
}

pub(crate) enum Form {
    For { init: Node, step: u32, update: Vec<Step> },
    While,
    DoWhile,
    Forever,
}

pub(crate) enum ArgCode {
    In(Node),
    Out(usize),
}

pub(crate) enum Node {
    Const {
        bits: u64,
    },
    Var(usize),
    Builtin(Builtin),
    Input(usize),
    InputOf(usize, Box<Node>),
    Flat(usize),
    Uniform(usize),
    Push(usize),
    Constant(usize),
    Unary {
        op: UnaryOp,
        scalar: Scalar,
        arg: Box<Node>,
    },
    Binary {
        op: BinaryOp,
        scalar: Scalar,
        lhs: Box<Node>,
        rhs: Box<Node>,
    },
    /// `&&` (`short_on == false`) or `||` (`short_on == true`): the right side runs where the left is not `short_on`.
    ShortCircuit {
        decision: Decision,
        short_on: bool,
        lhs: Box<Node>,
        rhs: Box<Node>,
        tangled: bool,
    },
    Select {
        decision: Decision,
        cond: Box<Node>,
        then: Box<Node>,
        otherwise: Box<Node>,
        tangled: bool,
    },
    Cast {
        from: Scalar,
        to: Scalar,
        arg: Box<Node>,
    },
    Intrinsic {
        op: Intrinsic,
        scalar: Scalar,
        /// Components of the result.
        width: usize,
        args: Vec<Node>,
    },
    Vector(Vec<Node>),
    Component {
        arg: Box<Node>,
        index: usize,
    },
    Subgroup(Box<OpNode>),
    Load {
        array: usize,
        index: Box<Node>,
    },
    Resource {
        class: ResourceClass,
        non_uniform: bool,
        index: Box<Node>,
    },
    Element {
        of: Box<Node>,
        accessed: Accessed,
        index: Box<Node>,
        /// Components of what it gives.
        width: usize,
    },
}

pub(crate) struct OpNode {
    pub info: &'static OpInfo,
    /// Number of the static instruction.
    pub id: usize,
    pub scalar: Scalar,
    pub width: usize,
    pub cluster: usize,
    /// True if the generic operand is a preserved number.
    pub preserved: bool,
    pub args: Vec<Node>,
}

impl OpNode {
    /// How well its results stand. No conformance test covers those of preserved numbers (docs/rules.md, rules F6 to F9).
    pub fn severity(&self) -> Severity {
        let severity = self.info.severity(self.scalar);
        if self.preserved { severity.max(Severity::Strong) } else { severity }
    }

    /// True if the result may be undefined though the operands are not.
    pub fn may_be_undefined(&self) -> bool {
        self.info.may_be_undefined() || self.preserved
    }

    /// Components of the result.
    pub fn result_width(&self) -> usize {
        self.info.result_type(None).map_or(self.width, |ty| usize::from(ty.width))
    }
}

impl Node {
    /// True if a subgroup operation stands in the expression.
    fn is_tangled(&self) -> bool {
        match self {
            Node::Const { .. }
            | Node::Var(_)
            | Node::Builtin(_)
            | Node::Input(_)
            | Node::Flat(_)
            | Node::Uniform(_)
            | Node::Push(_)
            | Node::Constant(_) => false,
            Node::Unary { arg, .. } | Node::Cast { arg, .. } | Node::Component { arg, .. } => arg.is_tangled(),
            Node::Load { index, .. } | Node::Resource { index, .. } | Node::InputOf(_, index) => index.is_tangled(),
            Node::Element { of, index, .. } => of.is_tangled() || index.is_tangled(),
            Node::Binary { lhs, rhs, .. } | Node::ShortCircuit { lhs, rhs, .. } => lhs.is_tangled() || rhs.is_tangled(),
            Node::Select { cond, then, otherwise, .. } => {
                cond.is_tangled() || then.is_tangled() || otherwise.is_tangled()
            }
            Node::Intrinsic { args, .. } | Node::Vector(args) => args.iter().any(Node::is_tangled),
            Node::Subgroup(_) => true,
        }
    }
}

/// Resolves a program. The error names what is ill-formed; a validated program has none.
pub(crate) fn lower(program: &Program) -> Result<Code, String> {
    lower_as(program, None, None, None)
}

/// The same for a device whose compiler rewrites expressions, statements and bounds of loops.
pub(crate) fn lower_as(
    program: &Program,
    peephole: Option<Peephole>,
    rewrite: Option<Rewrite>,
    bound: Option<Bound>,
) -> Result<Code, String> {
    let mut lowering = Lowering {
        program,
        peephole,
        rewrite,
        bound,
        function: None,
        decisions: 0,
        ops: Vec::new(),
        sites: 0,
        has_switch: false,
        discards: false,
    };
    let mut functions = Vec::with_capacity(program.functions.len());
    for function in &program.functions {
        lowering.function = Some(function);
        functions.push(Body {
            vars: (0..function.var_count() as VarId).filter_map(|var| function.var_type(var)).collect(),
            params: function.params.iter().map(|param| param.direction).collect(),
            result: function.result,
            block: lowering.block(&function.body)?,
        });
    }
    Ok(Code {
        functions,
        ops: lowering.ops,
        sites: lowering.sites,
        has_switch: lowering.has_switch,
        discards: lowering.discards,
    })
}

struct Lowering<'a> {
    program: &'a Program,
    peephole: Option<Peephole>,
    rewrite: Option<Rewrite>,
    bound: Option<Bound>,
    function: Option<&'a Function>,
    decisions: Decision,
    ops: Vec<SubgroupOp>,
    sites: usize,
    has_switch: bool,
    discards: bool,
}

impl Lowering<'_> {
    /// The number of the next operation.
    fn operation(&mut self, op: SubgroupOp) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    fn decision(&mut self) -> Decision {
        self.decisions += 1;
        self.decisions
    }

    fn var(&self, var: VarId) -> Result<(usize, Type), String> {
        let ty = self.function.and_then(|function| function.var_type(var));
        ty.map(|ty| (var as usize, ty)).ok_or_else(|| format!("no variable {var}"))
    }

    fn array(&self, array: ArrayId) -> Result<usize, String> {
        let array = array as usize;
        if array < self.program.shared.len() { Ok(array) } else { Err(format!("no array {array}")) }
    }

    fn block(&mut self, block: &[Stmt]) -> Result<Vec<Step>, String> {
        let Some(rewrite) = self.rewrite else { return block.iter().map(|stmt| self.stmt(stmt)).collect() };
        let mut steps = Vec::with_capacity(block.len());
        let mut rest = block;
        while let Some((first, after)) = rest.split_first() {
            match rewrite(rest) {
                Some((count, stmts)) => {
                    // What is made of them is not looked at again.
                    self.rewrite = None;
                    steps.extend(self.block(&stmts)?);
                    self.rewrite = Some(rewrite);
                    rest = &rest[count..];
                }
                None => {
                    steps.push(self.stmt(first)?);
                    rest = after;
                }
            }
        }
        Ok(steps)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<Step, String> {
        Ok(match stmt {
            Stmt::Assign { var, value } => Step::Assign { var: self.var(*var)?.0, value: self.node(value)? },
            Stmt::Log { site, values } => {
                self.sites += 1;
                let values = values.iter().map(|value| self.typed(value).map(|(node, ty)| (node, ty.scalar)));
                let values = values.collect::<Result<_, _>>()?;
                Step::Log { site: *site, values }
            }
            Stmt::If { cond, then, otherwise, control } => Step::If {
                decision: self.decision(),
                control: *control,
                cond: self.node(cond)?,
                then: self.block(then)?,
                otherwise: self.block(otherwise)?,
            },
            Stmt::Switch { selector, arms, .. } => {
                self.has_switch = true;
                let decision = self.decision();
                let selector = self.node(selector)?;
                let mut segments = Vec::with_capacity(arms.len());
                for arm in arms {
                    let label = |label: &Label| match label {
                        Label::Case(n) => Some(u64::from(*n as u32)),
                        Label::Default => None,
                    };
                    segments.push(Segment {
                        labels: arm.labels.iter().filter_map(label).collect(),
                        default: arm.labels.contains(&Label::Default),
                        block: self.block(&arm.body)?,
                    });
                }
                Step::Switch { decision, selector, segments }
            }
            Stmt::Loop(l) => {
                let decision = self.decision();
                let form = match &l.kind {
                    LoopKind::For { init, step, update } => {
                        Form::For { init: self.node(init)?, step: *step, update: self.block(update)? }
                    }
                    LoopKind::While => Form::While,
                    LoopKind::DoWhile => Form::DoWhile,
                    LoopKind::Forever | LoopKind::Endless => Form::Forever,
                };
                let (before, cond) = match &l.test {
                    Some(test) => (self.block(&test.before)?, Some(self.node(&test.cond)?)),
                    None => (Vec::new(), None),
                };
                let (counter, _) = self.var(l.counter)?;
                let taken_for = self.bound.and_then(|bound| bound(l));
                let bound = self.node(taken_for.as_ref().unwrap_or(&l.bound))?;
                let block = self.block(&l.body)?;
                Step::Loop(Box::new(LoopCode {
                    decision,
                    form,
                    counter,
                    bound,
                    before,
                    cond,
                    block,
                    control: l.control,
                }))
            }
            Stmt::Break => Step::Break,
            Stmt::Continue => Step::Continue,
            Stmt::Return(value) => Step::Return(value.as_ref().map(|value| self.node(value)).transpose()?),
            Stmt::Call { function, args, dest } => {
                let callee = self.program.functions.get(*function as usize);
                if callee.is_none_or(|callee| callee.params.len() != args.len()) {
                    return Err(format!("bad call of function {function}"));
                }
                let decision = self.decision();
                let args = args.iter().map(|arg| match arg {
                    Arg::In(expr) => self.node(expr).map(ArgCode::In),
                    Arg::Out(var) => Ok(ArgCode::Out(self.var(*var)?.0)),
                });
                let args = args.collect::<Result<_, String>>()?;
                let dest = dest.map(|dest| self.var(dest)).transpose()?.map(|(dest, _)| dest);
                Step::Call { decision, function: *function as usize, args, dest }
            }
            Stmt::SubgroupBarrier(op) => {
                Step::Barrier { id: self.operation(*op), synchronises: *op == SubgroupOp::Barrier }
            }
            Stmt::SetElement { var, index, inner, value } => {
                let (var, mut of) = self.var(*var)?;
                let first = self.node(index)?;
                // In the order in which operations are numbered.
                let value = self.node(value)?;
                let mut indices = vec![(Accessed { access: Access::Write, of, depth: 0 }, first)];
                let mut entered = index;
                for (depth, index) in (1..).zip(inner) {
                    of = part(of, entered)?;
                    indices.push((Accessed { access: Access::Write, of, depth }, self.node(index)?));
                    entered = index;
                }
                Step::SetElement { var, indices, value }
            }
            Stmt::Store { array, element, value } => Step::Store {
                array: self.array(*array)?,
                element: element.as_ref().map(|element| self.node(element)).transpose()?,
                value: self.node(value)?,
            },
            Stmt::Atomic(atomic) => Step::Atomic(Box::new(AtomicCode {
                op: atomic.op,
                array: self.array(atomic.array)?,
                index: self.node(&atomic.index)?,
                compare: atomic.compare.as_ref().map(|compare| self.node(compare)).transpose()?,
                value: self.node(&atomic.value)?,
                dest: atomic.dest.map(|dest| self.var(dest)).transpose()?.map(|(dest, _)| dest),
            })),
            Stmt::ControlBarrier(Sync::Barrier) => Step::Synchronise,
            Stmt::ControlBarrier(Sync::Memory | Sync::MemoryShared | Sync::MemoryBuffer | Sync::GroupMemory) => {
                Step::Nothing
            }
            Stmt::Discard(how) => {
                self.discards = true;
                Step::Discard(*how)
            }
            Stmt::Assume(_) => Step::Assume,
        })
    }

    fn node(&mut self, expr: &Expr) -> Result<Node, String> {
        self.typed(expr).map(|(node, _)| node)
    }

    fn boxed(&mut self, expr: &Expr) -> Result<Box<Node>, String> {
        self.node(expr).map(Box::new)
    }

    fn typed(&mut self, expr: &Expr) -> Result<(Node, Type), String> {
        let rewritten = self.peephole.zip(self.function).and_then(|(rewrite, function)| rewrite(expr, function));
        if let Some(rewritten) = rewritten {
            let peephole = self.peephole.take();
            let lowered = self.unchanged(&rewritten);
            self.peephole = peephole;
            return lowered;
        }
        self.unchanged(expr)
    }

    fn unchanged(&mut self, expr: &Expr) -> Result<(Node, Type), String> {
        Ok(match expr {
            Expr::Bool(value) => (Node::Const { bits: u64::from(*value) }, Type::BOOL),
            Expr::Int(value) => (Node::Const { bits: u64::from(*value as u32) }, Type::INT),
            Expr::Uint(value) => (Node::Const { bits: u64::from(*value) }, Type::UINT),
            Expr::Float(scalar, quarters) => {
                let bits = float::bits(*scalar, f64::from(*quarters) / 4.0);
                (Node::Const { bits }, Type::scalar(*scalar))
            }
            Expr::Var(var) => {
                let (var, ty) = self.var(*var)?;
                (Node::Var(var), ty)
            }
            Expr::Builtin(builtin) => (Node::Builtin(*builtin), builtin.ty()),
            Expr::Input(k) => (Node::Input(*k as usize), Type::UINT),
            Expr::InputOf(k, index) => (Node::InputOf(*k as usize, self.boxed(index)?), Type::UINT),
            Expr::Flat(k) => (Node::Flat(*k as usize), Type::UINT),
            Expr::Uniform(k) => (Node::Uniform(*k as usize), Type::UINT),
            Expr::Push(k) => (Node::Push(*k as usize), Type::UINT),
            Expr::Constant(k) => (Node::Constant(*k as usize), Type::UINT),
            Expr::Unary(op, arg) => {
                let (arg, ty) = self.typed(arg)?;
                (Node::Unary { op: *op, scalar: ty.scalar, arg: Box::new(arg) }, ty)
            }
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), lhs, rhs) => {
                let decision = self.decision();
                let (lhs, rhs) = (self.boxed(lhs)?, self.boxed(rhs)?);
                let tangled = rhs.is_tangled();
                (Node::ShortCircuit { decision, short_on: *op == BinaryOp::Or, lhs, rhs, tangled }, Type::BOOL)
            }
            Expr::Binary(op, lhs, rhs) => {
                let (lhs, ty) = self.typed(lhs)?;
                let result = if op.is_comparison() { Type { scalar: Scalar::Bool, ..ty } } else { ty };
                let rhs = self.boxed(rhs)?;
                (Node::Binary { op: *op, scalar: ty.scalar, lhs: Box::new(lhs), rhs }, result)
            }
            Expr::Select(cond, then, otherwise) => {
                let decision = self.decision();
                let cond = self.boxed(cond)?;
                let (then, ty) = self.typed(then)?;
                let otherwise = self.boxed(otherwise)?;
                let tangled = then.is_tangled() || otherwise.is_tangled();
                (Node::Select { decision, cond, then: Box::new(then), otherwise, tangled }, ty)
            }
            Expr::Cast(to, arg) => {
                let (arg, ty) = self.typed(arg)?;
                let result = Type { scalar: *to, ..ty };
                (Node::Cast { from: ty.scalar, to: *to, arg: Box::new(arg) }, result)
            }
            Expr::Intrinsic(op, args) => {
                let mut ty = Type::INT;
                let mut nodes = Vec::with_capacity(args.len());
                for (i, arg) in args.iter().enumerate() {
                    let (node, arg_ty) = self.typed(arg)?;
                    if i == 0 {
                        ty = arg_ty;
                    }
                    nodes.push(node);
                }
                let info = op.info();
                if nodes.len() != info.operands() {
                    return Err(format!("{} with {} operands", info.name, nodes.len()));
                }
                let result = info.result(ty).ok_or_else(|| format!("{} of {ty}", info.name))?;
                let width = usize::from(result.width);
                (Node::Intrinsic { op: *op, scalar: ty.scalar, width, args: nodes }, result)
            }
            Expr::Vector(ty, args) => {
                let args = args.iter().map(|arg| self.node(arg)).collect::<Result<_, _>>()?;
                (Node::Vector(args), *ty)
            }
            Expr::Component(arg, index) => {
                let (arg, ty) = self.typed(arg)?;
                if *index >= ty.width {
                    return Err(format!("component {index} of a {ty}"));
                }
                (Node::Component { arg: Box::new(arg), index: usize::from(*index) }, Type::scalar(ty.scalar))
            }
            Expr::Element(of, index) => {
                let (node, ty) = self.typed(of)?;
                let element = part(ty, index)?;
                let accessed = Accessed { access: Access::Read, of: ty, depth: indices_before(of) };
                let (of, index) = (Box::new(node), self.boxed(index)?);
                (Node::Element { of, accessed, index, width: element.components() }, element)
            }
            Expr::Subgroup(call) => self.subgroup(call)?,
            Expr::Resource(Resource { class, index, non_uniform }) => {
                let index = self.boxed(index)?;
                (Node::Resource { class: *class, non_uniform: *non_uniform, index }, Type::UINT)
            }
            Expr::Load(load) => {
                let (array, index) = (self.array(load.array)?, self.boxed(&load.index)?);
                (Node::Load { array, index }, Type::scalar(load.scalar))
            }
        })
    }

    fn subgroup(&mut self, call: &SubgroupCall) -> Result<(Node, Type), String> {
        let info = call.op.info();
        if info.params.len() != call.args.len() {
            return Err(format!("{} with {} operands", info.name, call.args.len()));
        }
        let mut value = None;
        let mut args = Vec::with_capacity(call.args.len());
        for (param, arg) in info.params.iter().zip(&call.args) {
            let (node, ty) = self.typed(arg)?;
            if *param == Param::Value {
                value = Some(ty);
            }
            args.push(node);
        }
        let result = info.result_type(value).ok_or_else(|| format!("{} gives no value", info.name))?;
        let id = self.operation(call.op);
        let Type { scalar, width, .. } = value.unwrap_or(Type::BOOL);
        let cluster = call.cluster.unwrap_or(0) as usize;
        let preserved = value.is_some() && call.args.first().is_some_and(Expr::is_preserved);
        let width = usize::from(width);
        Ok((Node::Subgroup(Box::new(OpNode { info, id, scalar, width, cluster, preserved, args })), result))
    }
}

fn part(of: Type, index: &Expr) -> Result<Type, String> {
    of.part(index.literal()).ok_or_else(|| format!("an element of {of}"))
}

/// How many indices an element is behind already.
fn indices_before(of: &Expr) -> usize {
    if let Expr::Element(of, _) = of { 1 + indices_before(of) } else { 0 }
}

#[cfg(test)]
mod tests {
    use tangle_analysis::context::operations;
    use tangle_generator::{Config, Profile, from_seed};

    use super::*;

    #[test]
    fn operations_are_numbered_as_statistics_number_them() {
        for (profile, _) in Profile::ALL {
            for seed in 0..200 {
                let program = from_seed(seed, &Config { profile, ..Config::default() }).program;
                let placed: Vec<SubgroupOp> = operations(&program).iter().map(|placed| placed.op).collect();
                assert_eq!(lower(&program).expect("it is valid").ops, placed, "{} {seed}", profile.name());
            }
        }
    }
}
