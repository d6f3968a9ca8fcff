//! How large a case is: the order in which candidates are smaller than the case they come from.

use std::fmt;

use tangle_program::case::{Case, Data, EntryPoint, Launch, SubgroupSize, Workgroups};
use tangle_program::resource::ResourceClass;
use tangle_program::tree::{
    Arg, Block, Builtin, Direction, Expr, Function, Label, LoopKind, Program, Stmt, walk_block,
};
use tangle_program::types::{Scalar, Type};

use crate::access::reads;

/// The size of a case. Compared from the first field to the last: fewer statements are worth any number of expressions, and so
/// on. Every step of the minimizer makes it less, so it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Statements, functions, parameters and locals, by weight.
    pub code: u64,
    /// Expressions, each by how much there is to it.
    pub exprs: u64,
    /// Invocations of the dispatch.
    pub lanes: u64,
    /// Words of data by weight: how far they are from zero.
    pub data: u64,
    /// What the launch asks for: dimensions, flags, versions, tier, variant.
    pub launch: u64,
    /// Bits of the numbers in the program, and how many things are signed.
    pub numbers: u64,
    /// Letters of the names, early ones counting less, and numbers of the sites.
    pub names: u64,
}

impl Size {
    /// The size of a case.
    pub fn of(case: &Case) -> Size {
        let mut size = Size {
            lanes: u64::from(case.entry_point.invocations()),
            data: data(&case.data),
            launch: launch(&case.entry_point) + case.tier as u64 + case.variant.weight(),
            ..Size::default()
        };
        for array in &case.program.shared {
            size.code += 4;
            size.names += letters(&array.name);
            size.numbers += bits(u64::from(array.init)) + type_rank(array.scalar);
        }
        case.program.functions.iter().for_each(|function| size.add_function(function));
        size
    }

    fn add_function(&mut self, function: &Function) {
        self.code += 6 + function.result.map_or(0, |ty| 2 + held(ty));
        for param in &function.params {
            self.code += 4 + held(param.ty) + if param.direction == Direction::In { 0 } else { 2 };
            self.names += letters(&param.name);
            self.numbers += param.ty.scalars().map(type_rank).sum::<u64>();
        }
        for local in &function.locals {
            self.code += 1 + held(local.ty) + u64::from(local.precise);
            self.names += letters(&local.name);
            self.numbers += local.ty.scalars().map(type_rank).sum::<u64>();
        }
        self.names += letters(&function.name);
        self.add_block(&function.body);
    }

    fn add_block(&mut self, block: &Block) {
        walk_block(block, &mut |stmt| {
            self.add_stmt(stmt);
            stmt.direct_exprs().for_each(|expr| expr.walk(&mut |expr| self.add_expr(expr)));
        });
    }

    fn add_stmt(&mut self, stmt: &Stmt) {
        self.code += u64::from(has_attribute(stmt));
        self.code += match stmt {
            Stmt::Log { site, values } => {
                self.names += u64::from(*site);
                4 + values.len() as u64
            }
            Stmt::If { otherwise, .. } => 4 + if otherwise.is_empty() { 0 } else { 2 },
            Stmt::Switch { arms, .. } => {
                let labels = arms.iter().flat_map(|arm| &arm.labels);
                for label in labels.clone() {
                    if let Label::Case(value) = label {
                        self.numbers += bits(value.unsigned_abs());
                    }
                }
                6 + 2 * arms.len() as u64 + labels.count() as u64
            }
            Stmt::Loop(l) => {
                let test = l.test.as_ref().map_or(0, |_| 3);
                let kind = match &l.kind {
                    LoopKind::For { step, update, .. } => {
                        self.numbers += bits(u64::from(*step));
                        u64::from(!update.is_empty())
                    }
                    LoopKind::Forever | LoopKind::Endless => 1,
                    LoopKind::While | LoopKind::DoWhile => 2,
                };
                6 + test + kind
            }
            Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::SubgroupBarrier(_)
            | Stmt::ControlBarrier(_)
            | Stmt::Discard(_) => 3,
            Stmt::Store { .. } => 5,
            Stmt::SetElement { inner, .. } => 6 + inner.len() as u64,
            Stmt::Atomic(atomic) => 7 + u64::from(atomic.dest.is_some()) + u64::from(atomic.compare.is_some()),
            Stmt::Call { args, dest, .. } => {
                let outs = args.iter().filter(|arg| matches!(arg, Arg::Out(_))).count() as u64;
                5 + args.len() as u64 + outs + u64::from(dest.is_some())
            }
            // Assignments, and what is like them. This is a matter of taste: nothing goes wrong with another weight.
            _ => 4,
        };
    }

    fn add_expr(&mut self, expr: &Expr) {
        self.exprs += node(expr);
        self.numbers += match expr {
            Expr::Int(n) => 1 + bits(u64::from(n.unsigned_abs())) + u64::from(*n < 0),
            Expr::Uint(n) => bits(u64::from(*n)),
            Expr::Float(scalar, n) => type_rank(*scalar) + bits(u64::from(n.unsigned_abs())) + u64::from(*n < 0),
            Expr::Subgroup(call) => call.cluster.map_or(0, |n| bits(u64::from(n))),
            _ => 0,
        };
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "code {}, expressions {}, lanes {}, data {}", self.code, self.exprs, self.lanes, self.data)
    }
}

/// How many statements a program has, as people count them: what stands in others counts, too.
pub fn statements(program: &Program) -> usize {
    let mut count = 0;
    program.functions.iter().for_each(|function| walk_block(&function.body, &mut |_| count += 1));
    count
}

/// How many expressions a program has; parts of others count, too.
pub fn expressions(program: &Program) -> usize {
    let mut count = 0;
    let mut in_stmt = |stmt: &Stmt| stmt.direct_exprs().for_each(|expr| expr.walk(&mut |_| count += 1));
    program.functions.iter().for_each(|function| walk_block(&function.body, &mut in_stmt));
    count
}

/// The weight of an expression with all its parts.
pub fn weight(expr: &Expr) -> u64 {
    let mut sum = 0;
    expr.walk(&mut |expr| sum += node(expr));
    sum
}

/// The weight of a statement with everything in it.
pub fn stmt_weight(stmt: &Stmt) -> u64 {
    let mut size = Size::default();
    size.add_stmt(stmt);
    stmt.direct_exprs().for_each(|expr| expr.walk(&mut |expr| size.add_expr(expr)));
    stmt.nested_blocks().for_each(|block| size.add_block(block));
    8 * size.code + size.exprs
}

/// The weight of an expression without its operands.
fn node(expr: &Expr) -> u64 {
    match expr {
        Expr::Bool(false) | Expr::Int(0) | Expr::Uint(0) | Expr::Float(_, 0) => 1,
        Expr::Bool(true) | Expr::Int(1) | Expr::Uint(1) | Expr::Float(_, 4) => 2,
        Expr::Int(_) | Expr::Uint(_) | Expr::Float(..) => 3,
        Expr::Builtin(Builtin::Lane) => 4,
        Expr::Builtin(builtin) if builtin.ty() == Type::UINT => 5,
        Expr::Var(_) => 6,
        Expr::Builtin(_) => 7,
        Expr::Uniform(_) | Expr::Push(_) | Expr::Constant(_) => 8,
        Expr::Input(_) | Expr::Flat(_) => 9,
        Expr::Component(..) => 2,
        Expr::Unary(..) | Expr::Binary(..) | Expr::Cast(..) | Expr::Vector(..) => 3,
        Expr::Select(..) | Expr::Intrinsic(..) => 4,
        Expr::Subgroup(call) => 6 + call.op.info().rank,
        Expr::Load(_) | Expr::InputOf(..) => 10,
        Expr::Resource(resource) => {
            let is_plain = resource.class == ResourceClass::StorageBuffer;
            11 + u64::from(resource.non_uniform) + u64::from(!is_plain)
        }
        Expr::Element(..) => 7,
    }
}

/// What a variable of the type has to read: its scalars, and the aggregates that they stand in within it.
fn held(ty: Type) -> u64 {
    ty.components() as u64 + if ty.is_nested() { ty.parts().map(|part| part.depth() as u64).sum() } else { 0 }
}

/// How far a number is from zero, for a reader.
fn bits(n: u64) -> u64 {
    u64::from(u64::BITS - n.leading_zeros()) + u64::from(n.count_ones()).saturating_sub(1)
}

fn letters(name: &str) -> u64 {
    name.bytes().map(u64::from).sum()
}

fn data(data: &Data) -> u64 {
    let constants = data.constants.iter().flat_map(|constant| [&constant.default, &constant.value]);
    let words = data.inputs.iter().flatten().chain(data.flats.iter().flatten());
    let words = words.chain(&data.uniforms).chain(&data.push).chain(&data.resources).chain(constants);
    words.map(|&word| 1 + 2 * bits(u64::from(word))).sum()
}

fn launch(entry_point: &EntryPoint) -> u64 {
    let Workgroups { size, count, default_size, derivative_group, meshes, by_task } = entry_point.workgroups();
    let dimensions = size.iter().chain(&count);
    let drawn = match &entry_point.launch {
        Launch::Workgroups(_) | Launch::Items(_) => 0,
        Launch::Draw(draw) => {
            let corners = draw.triangles.iter().flatten().flatten().map(|&side| bits(side.into())).sum::<u64>();
            let modes = u64::from(draw.full_quads) + u64::from(draw.quad_derivatives);
            10 * u64::from(draw.grid()[2]) + corners + modes
        }
    };
    let size = match entry_point.subgroup_size {
        SubgroupSize::Default => 0,
        SubgroupSize::Varying => 4,
        SubgroupSize::Required(_) => 8,
    };
    let shape = dimensions.map(|&n| if n == 1 { 0 } else { 4 }).sum::<u64>();
    let specialised = if default_size.is_some() { 6 } else { 0 } + if derivative_group.is_some() { 4 } else { 0 };
    let payload = u64::from(meshes + u32::from(by_task)) * 4;
    drawn
        + payload
        + shape
        + size
        + specialised
        + if entry_point.full_subgroups { 4 } else { 0 }
        + 4 * entry_point.float_controls.iter().count() as u64
        + entry_point.spirv as u64
}

/// True if the value of an expression depends on nothing but the invocation: no variable.
pub(crate) fn is_closed(expr: &Expr) -> bool {
    reads(expr).is_empty()
}

/// How far a type is from uint and bool.
fn type_rank(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::Bool | Scalar::Uint => 0,
        Scalar::Int => 1,
        _ if scalar.is_float() => 4 + u64::from(scalar.is_extended()),
        _ => 2 + u64::from(scalar.is_signed()),
    }
}

/// True if something is asked for the statement.
pub(crate) fn has_attribute(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::If { control, .. } | Stmt::Switch { control, .. } => !control.is_unspecified(),
        Stmt::Loop(l) => !l.control.is_unspecified(),
        _ => false,
    }
}
