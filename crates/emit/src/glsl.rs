//! Prints a case as a shader of its stage in GLSL 4.50, for compilers and for people. What belongs to a stage and not to the case is in
//! [`stage`].
//!
//! A shader is, in this order: extensions, interface ([`tangle_program::case::interface`]), the log macros, the functions. `main` begins
//! with the prologue that records the lane map before any control flow (docs/rules.md, section M). What a shader does not use it does not
//! declare.
//!
//! The text means exactly what the tree says:
//!
//! - Every local starts at zero at every call. It is declared as zero at the top of its function, unless the first mention
//!   writes it anyway: an assignment at the top level of the function that does not read it, or the loop that it counts.
//! - `gl_SubgroupInvocationID` and `gl_SubgroupSize` are mediump in glslang; each function works on highp copies of them
//!   (rules P14 and P15).
//! - A log entry is written by one comma expression, so that no order of evaluation is left open (GLSL 4.60 §5.9), and nothing
//!   that is logged is evaluated twice.
//! - Operators stand in parentheses where precedence (GLSL 4.60 §5.1) asks for it, and where a reader would have to think.

pub mod spelling;
pub mod stage;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

use tangle_analysis::cost::{log_capacity, log_stride, value_words};
use tangle_program::case::{Case, Launch, SpecConstant, SpirvVersion, Tier, Workgroups, interface};
use tangle_program::control::SelectionControl;
use tangle_program::memory::{ArrayId, Shared, Sync};
use tangle_program::needs::{category_of, declared_scalars, declared_types, operated_scalar, scalar_of};
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::resource::{Resource, ResourceClass};
use tangle_program::subgroup::{Category, Param, SubgroupOp};
use tangle_program::tree::{
    Arg, Arm, Atomic, Block, Builtin, Direction, Discard, Expr, Function, FunctionId, Label, Local, Loop, LoopKind,
    MAX_ENTRY_WORDS, SiteId, Stmt, SubgroupCall, Test, VarId,
};
use tangle_program::types::{Scalar, Shape, Type};
use tangle_program::variant::Language;
use tangle_program::variant::Variant;

use crate::{NOTHING, hlsl, wgsl};
use spelling::TypeName;

/// Whose GLSL it is. What a case says differently in OpenGL, and where that rests, stands in docs/opengl.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Vulkan's (GL_KHR_vulkan_glsl).
    #[default]
    Vulkan,
    /// OpenGL's, with GL_KHR_shader_subgroup.
    OpenGl,
    /// OpenGL's, with ARB_shader_ballot and ARB_shader_group_vote instead. Of the subgroup operations it has those of
    /// [`spelling::in_arb`]; nothing says which subgroup of the workgroup one is in.
    OpenGlArb,
    /// No GLSL, but HLSL.
    Hlsl,
    /// No GLSL, but WGSL ([`crate::wgsl`]), which is planned as the others are and printed by itself.
    Wgsl,
}

impl Dialect {
    /// True if the shader is for an OpenGL context.
    pub const fn is_opengl(self) -> bool {
        matches!(self, Dialect::OpenGl | Dialect::OpenGlArb)
    }
}

/// The shader of a case.
pub fn glsl(case: &Case) -> String {
    print(case).text
}

/// The shader of a case, with the place of each statement.
pub fn print(case: &Case) -> Printed<'_> {
    print_in(case, Dialect::Vulkan)
}

/// The same in another dialect, or in a language that is as like C ([`crate::hlsl`]).
pub fn print_in(case: &Case, dialect: Dialect) -> Printed<'_> {
    let plans: Vec<Plan> = case.program.functions.iter().map(|function| plan(case, function, dialect)).collect();
    let mut uses = plans.iter().fold(Uses::default(), |uses, plan| uses.and(plan.uses));
    // The prologue uses these.
    uses.add_category(Category::Basic);
    uses.add_category(Category::Ballot);
    if case.entry_point.draw().is_some() {
        uses.add_category(Category::Shuffle);
        uses.add_category(Category::Quad);
    }

    for array in &case.program.shared {
        uses.scalars |= 1 << array.scalar as u16;
    }

    let copies_constants = dialect == Dialect::Vulkan && copies_constants(case, uses.scalars);
    let mut printer = Printer { copies_constants, ..Printer::new(case, dialect) };
    match dialect {
        Dialect::Hlsl => printer.hlsl_header(uses),
        _ => printer.header(uses),
    }
    let header = printer.line;
    let structs: BTreeSet<Type> = plans.iter().flat_map(|plan| plan.structs.iter().copied()).collect();
    structs.into_iter().for_each(|ty| printer.structure(ty));
    let helpers: BTreeSet<(Helper, Type)> = plans.iter().flat_map(|plan| plan.helpers.iter().copied()).collect();
    for (helper, ty) in helpers {
        match (dialect, helper) {
            (Dialect::Hlsl, helper) => printer.hlsl_helper(helper, ty),
            (_, Helper::Of(op)) => printer.helper(op, ty),
            (_, Helper::Wave(_) | Helper::Lanes) => {}
        }
    }
    let mut functions = case.program.functions.iter().zip(plans);
    let main = functions.next_back();
    for (function, plan) in functions {
        printer.function(function, plan);
    }
    let prologue = main.map_or(0..0, |(main, plan)| printer.main(main, plan, uses));
    Printed { text: printer.out, places: printer.places, header, prologue }
}

/// True if specialisation constants have to be copied to variables before they are computed with: the front end makes an `OpSpecConstantOp` of
/// `uint16_t(SPEC0)`, and `UConvert` may stand there from SPIR-V 1.4 only (SPIR-V 1.6 §3.49.7).
fn copies_constants(case: &Case, scalars: u16) -> bool {
    let is_other_integer = |scalar: &Scalar| scalar.is_integer() && scalar.size() != 32;
    let mut mentioned = Scalar::ALL.into_iter().filter(|&scalar| scalars >> scalar as u16 & 1 == 1);
    case.entry_point.spirv < SpirvVersion::V1_4 && mentioned.any(|scalar| is_other_integer(&scalar))
}

/// An expression of a function of the case, as the shader in the language of its variant says it.
pub fn expression(case: &Case, function: &Function, expr: &Expr) -> String {
    let dialect = match case.variant.language() {
        Language::Glsl => Dialect::Vulkan,
        Language::Hlsl => Dialect::Hlsl,
        Language::Wgsl => return wgsl::expression(case, function, expr),
    };
    let mut printer = Printer::new(case, dialect);
    Body { printer: &mut printer, function, declared: Vec::new(), single: None }.expr(expr, Context::Open);
    printer.out
}

/// A printed shader.
#[derive(Clone, Debug)]
pub struct Printed<'a> {
    /// The source text.
    pub text: String,
    /// Every statement in the order of the text, with the number of the line that it begins on. A line has several where
    /// statements stand in the head of a loop.
    pub places: Vec<(usize, &'a Stmt)>,
    /// The line behind extensions, interface and log macros.
    pub(crate) header: usize,
    /// The lines at the beginning of `main` that record the lane map.
    pub(crate) prologue: Range<usize>,
}

impl<'a> Printed<'a> {
    /// The line, counted from 1, on which an observation point stands.
    pub fn line_of_site(&self, site: SiteId) -> Option<usize> {
        let is_it = |stmt: &Stmt| matches!(stmt, Stmt::Log { site: s, .. } if *s == site);
        self.places.iter().find(|(_, stmt)| is_it(stmt)).map(|(line, _)| *line)
    }

    /// The statements that begin on a line, counted from 1.
    pub fn statements_on(&self, line: usize) -> impl Iterator<Item = &'a Stmt> {
        let first = self.places.partition_point(|(l, _)| *l < line);
        self.places[first..].iter().take_while(move |(l, _)| *l == line).map(|(_, stmt)| *stmt)
    }

    /// The functions without what every shader begins with: extensions, interface, log macros, the prologue of `main`.
    pub fn functions(&self) -> String {
        let lines = (1..).zip(self.text.lines());
        let own = lines.filter(|(number, _)| *number >= self.header && !self.prologue.contains(number));
        own.map(|(_, line)| line).skip_while(|line| line.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The text with notes beside it: `note` says for a statement what to write at the right of its line.
    pub fn with_margin(&self, mut note: impl FnMut(&'a Stmt) -> Option<String>) -> String {
        const WIDEST: usize = 100;
        let mut notes: Vec<(usize, String)> = Vec::new();
        for (line, stmt) in &self.places {
            match (note(stmt), notes.last_mut()) {
                (Some(text), Some((last, notes))) if last == line => {
                    notes.push_str("; ");
                    notes.push_str(&text);
                }
                (Some(text), _) => notes.push((*line, text)),
                (None, _) => {}
            }
        }
        let lines: Vec<&str> = self.text.lines().collect();
        let widths = notes.iter().map(|(line, _)| lines[line - 1].len());
        let column = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
        let mut notes = notes.into_iter().peekable();
        let mut out = String::with_capacity(2 * self.text.len());
        for (number, line) in (1..).zip(lines) {
            match notes.next_if(|(noted, _)| *noted == number) {
                Some((_, note)) => writeln!(out, "{line:column$}  // {note}").expect("a String takes everything"),
                None => {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
        out
    }
}

/// Where a variable is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    /// Nowhere: it is not mentioned.
    Never,
    /// At the top of the function.
    AtTop,
    /// By the statement that mentions it first.
    AtFirstMention,
    /// Before what is printed next.
    Already,
}

/// What has to be known of a function before it can be printed.
pub(crate) struct Plan {
    /// For each variable, parameters included.
    pub(crate) declared: Vec<Declared>,
    pub(crate) uses: Uses,
    /// The struct types that are mentioned.
    pub(crate) structs: BTreeSet<Type>,
    /// The functions that the shader has for itself, with the types of their operands.
    pub(crate) helpers: BTreeSet<(Helper, Type)>,
}

/// A function that the shader has because the language has none, or one with other results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Helper {
    /// In HLSL and WGSL: which bits of a ballot are those of lanes.
    Lanes,
    /// One of several results of a built-in function, or what a language has no built-in function for.
    Of(Intrinsic),
    /// In HLSL and WGSL: a subgroup operation that takes an expression of those that the language has.
    Wave(SubgroupOp),
}

/// What a function, or a whole shader, has to declare.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Uses {
    /// Bit `category as u16`.
    pub(crate) categories: u16,
    /// Bit `scalar as u16`: a type that is mentioned.
    pub(crate) scalars: u16,
    /// Bit `scalar as u16`: a type that a subgroup operation works on.
    pub(crate) operated: u16,
    /// Bit n: an entry of n words besides the site is logged.
    pub(crate) entries: u64,
    /// Bit `scalar as u16`: a type of a logged value.
    pub(crate) logged: u16,
    pub(crate) lane: bool,
    pub(crate) subgroup_size: bool,
    pub(crate) workgroup_index: bool,
    pub(crate) inputs: bool,
    pub(crate) uniforms: bool,
    pub(crate) push: bool,
    /// Bit `k`: specialisation constant `k`.
    pub(crate) constants: u32,
    /// A control-flow attribute.
    pub(crate) attributes: bool,
    /// What the compiler may expect or assume.
    pub(crate) hints: bool,
    /// Integer dot products.
    pub(crate) dots: bool,
    /// Bit `class as u8`: an array of descriptors.
    pub(crate) resources: u8,
    /// A non-uniform index of one.
    pub(crate) non_uniform: bool,
    /// In HLSL: a function of the shader for a ballot, which asks for the lane or for the number of lanes.
    pub(crate) ballots: bool,
}

impl Uses {
    pub(crate) fn and(self, other: Uses) -> Uses {
        Uses {
            categories: self.categories | other.categories,
            scalars: self.scalars | other.scalars,
            operated: self.operated | other.operated,
            entries: self.entries | other.entries,
            logged: self.logged | other.logged,
            lane: self.lane | other.lane,
            subgroup_size: self.subgroup_size | other.subgroup_size,
            workgroup_index: self.workgroup_index | other.workgroup_index,
            inputs: self.inputs | other.inputs,
            uniforms: self.uniforms | other.uniforms,
            push: self.push | other.push,
            constants: self.constants | other.constants,
            attributes: self.attributes | other.attributes,
            hints: self.hints | other.hints,
            dots: self.dots | other.dots,
            resources: self.resources | other.resources,
            non_uniform: self.non_uniform | other.non_uniform,
            ballots: self.ballots | other.ballots,
        }
    }

    /// The arrays of descriptors that there are.
    pub(crate) fn resource_classes(self) -> impl Iterator<Item = ResourceClass> {
        ResourceClass::ALL.into_iter().filter(move |&class| self.resources >> class as u8 & 1 == 1)
    }

    fn add_category(&mut self, category: Category) {
        self.categories |= 1 << category as u16;
        if category == Category::QuadControl {
            // The functions need both extensions (GL_EXT_shader_quad_control §8.18).
            self.add_category(Category::Vote);
        }
    }

    fn has_category(&self, category: Category) -> bool {
        self.categories >> category as u16 & 1 == 1
    }
}

/// Goes through the statements of a function in the order of the text; finds out where its locals are declared and what it uses.
struct Planner<'a> {
    case: &'a Case,
    dialect: Dialect,
    function: &'a Function,
    uses: Uses,
    /// For each variable: how often it was mentioned so far.
    mentions: Vec<u32>,
    /// The locals that the statement that mentions them first can declare.
    at_first_mention: Vec<VarId>,
    /// Loop counters, and how often they are mentioned by their loops (in the head, too, but not in the initial value).
    inside_loops: Vec<(VarId, u32)>,
    structs: BTreeSet<Type>,
    helpers: BTreeSet<(Helper, Type)>,
}

/// True if several workgroups have their slices in the array.
pub(crate) fn is_sliced(case: &Case, array: &Shared) -> bool {
    !array.storage.is_workgroup() && case.entry_point.groups() != 1
}

/// True if arrays are in a buffer.
pub(crate) fn has_buffer_arrays(case: &Case) -> bool {
    case.program.shared.iter().any(|array| !array.storage.is_workgroup())
}

pub(crate) fn plan(case: &Case, function: &Function, dialect: Dialect) -> Plan {
    let mut planner = Planner {
        case,
        dialect,
        function,
        uses: Uses::default(),
        mentions: vec![0; function.var_count()],
        at_first_mention: Vec::new(),
        inside_loops: Vec::new(),
        structs: declared_types(function).filter(|ty| matches!(ty.shape, Shape::Struct(_))).collect(),
        helpers: BTreeSet::new(),
    };
    declared_scalars(function).for_each(|scalar| planner.uses.scalars |= 1 << scalar as u16);
    function.body.iter().for_each(|stmt| planner.top_level(stmt));
    let Planner { uses, mentions, at_first_mention, inside_loops, structs, helpers, .. } = planner;
    let mut declared: Vec<Declared> =
        mentions.iter().map(|&n| if n == 0 { Declared::Never } else { Declared::AtTop }).collect();
    // A counter that lives only in its loop is declared there, wherever the loop stands.
    let only_inside = |&(counter, inside): &(VarId, u32)| mentions.get(counter as usize) == Some(&inside);
    for var in inside_loops.into_iter().filter(only_inside).map(|(counter, _)| counter).chain(at_first_mention) {
        if let Some(declared) = declared.get_mut(var as usize) {
            *declared = Declared::AtFirstMention;
        }
    }
    declared[..function.params.len()].fill(Declared::Already);
    Plan { declared, uses, structs, helpers }
}

impl Planner<'_> {
    fn mention(&mut self, var: VarId) {
        if let Some(count) = self.mentions.get_mut(var as usize) {
            *count += 1;
        }
    }

    fn mentions(&self, var: VarId) -> u32 {
        self.mentions.get(var as usize).copied().unwrap_or(0)
    }

    /// A statement that runs at most once in a call, before everything that follows it in the text. If it writes a local that
    /// is mentioned neither before nor in what is written, it can declare it.
    fn top_level(&mut self, stmt: &Stmt) {
        let written = match stmt {
            Stmt::Assign { var, .. } | Stmt::Call { dest: Some(var), .. } => Some(*var),
            // The counter is set to zero before anything of such a loop is evaluated.
            Stmt::Loop(l) if !matches!(l.kind, LoopKind::For { .. }) => Some(l.counter),
            Stmt::Call { dest: None, .. }
            | Stmt::Loop(_)
            | Stmt::Log { .. }
            | Stmt::If { .. }
            | Stmt::Switch { .. }
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Barrier(_)
            | Stmt::SetElement { .. }
            | Stmt::Store { .. }
            | Stmt::Atomic(_)
            | Stmt::Sync(_)
            | Stmt::Discard(_)
            | Stmt::Assume(_) => None,
        };
        let first = written.filter(|&var| self.mentions(var) == 0);
        self.stmt(stmt);
        let is_loop = matches!(stmt, Stmt::Loop(_));
        let declares = first.filter(|&var| is_loop || self.mentions(var) == 1);
        self.at_first_mention.extend(declares);
    }

    fn block(&mut self, block: &Block) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign { var, value } => {
                self.expr(value);
                self.mention(*var);
            }
            Stmt::Log { values, .. } => {
                self.uses.entries |= 1 << entry_words(values, self.function);
                let tys = values.iter().filter_map(|value| value.ty(self.function));
                self.uses.logged |= tys.fold(0, |logged, ty| logged | 1 << ty.scalar as u16);
                values.iter().for_each(|value| self.expr(value));
            }
            Stmt::If { cond, then, otherwise, control } => {
                self.uses.attributes |= !control.is_unspecified();
                self.expr(cond);
                self.block(then);
                self.block(otherwise);
            }
            Stmt::Switch { selector, arms, control } => {
                self.uses.attributes |= !control.is_unspecified();
                self.expr(selector);
                arms.iter().for_each(|arm| self.block(&arm.body));
            }
            Stmt::Loop(l) => self.repeated(l),
            Stmt::Return(value) => value.iter().for_each(|value| self.expr(value)),
            Stmt::Call { args, dest, .. } => {
                for arg in args {
                    match arg {
                        Arg::In(value) => self.expr(value),
                        Arg::Out(var) => self.mention(*var),
                    }
                }
                dest.iter().for_each(|dest| self.mention(*dest));
            }
            Stmt::Barrier(op) => self.uses.add_category(op.info().category),
            Stmt::Store { array, value } => {
                self.array(*array);
                self.expr(value);
            }
            Stmt::SetElement { var, index, value } => {
                self.expr(index);
                self.expr(value);
                self.mention(*var);
            }
            Stmt::Atomic(atomic) => {
                self.array(atomic.array);
                stmt.direct_exprs().for_each(|expr| self.expr(expr));
                atomic.dest.iter().for_each(|dest| self.mention(*dest));
            }
            Stmt::Assume(cond) => {
                self.uses.hints = true;
                self.expr(cond);
            }
            Stmt::Discard(_) => {}
            Stmt::Break | Stmt::Continue | Stmt::Sync(_) => {}
        }
    }

    /// True if the shader has a function for a subgroup operation.
    fn has_helper(&self, call: &SubgroupCall) -> bool {
        match self.dialect {
            Dialect::Hlsl => hlsl::is_helper(call.op),
            Dialect::Wgsl => wgsl::is_helper(call, self.function),
            Dialect::Vulkan | Dialect::OpenGl | Dialect::OpenGlArb => false,
        }
    }

    fn array(&mut self, array: ArrayId) {
        let array = self.case.program.shared.get(array as usize);
        self.uses.workgroup_index |= array.is_some_and(|array| is_sliced(self.case, array));
    }

    fn repeated(&mut self, l: &Loop) {
        self.uses.attributes |= !l.control.is_unspecified();
        if l.kind == LoopKind::Endless {
            return self.block(&l.body);
        }
        if let LoopKind::For { init, .. } = &l.kind {
            self.expr(init);
        }
        let before = self.mentions(l.counter);
        self.mention(l.counter);
        if let Some(test) = &l.test {
            self.block(&test.before);
            self.expr(&test.cond);
        }
        self.expr(&l.bound);
        self.block(&l.body);
        if let LoopKind::For { update, .. } = &l.kind {
            self.block(update);
        }
        self.inside_loops.push((l.counter, self.mentions(l.counter) - before));
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Var(var) => self.mention(*var),
            Expr::Builtin(Builtin::Lane) => self.uses.lane = true,
            Expr::Builtin(Builtin::SubgroupSize) => self.uses.subgroup_size = true,
            Expr::Builtin(Builtin::WorkgroupIndex) => self.uses.workgroup_index = true,
            Expr::Input(_) => self.uses.inputs = true,
            Expr::Uniform(_) => self.uses.uniforms = true,
            Expr::Vector(ty @ Type { shape: Shape::Struct(_), .. }, _) => drop(self.structs.insert(*ty)),
            Expr::Push(_) => self.uses.push = true,
            Expr::Constant(k) => self.uses.constants |= 1 << (*k).min(31),
            Expr::Load(load) => self.array(load.array),
            Expr::Resource(resource) => {
                self.uses.resources |= 1 << resource.class as u8;
                self.uses.non_uniform |= resource.non_uniform;
            }
            Expr::Intrinsic(Intrinsic::Expect, _) => self.uses.hints = true,
            Expr::Intrinsic(op, _) if op.is_dot() => self.uses.dots = true,
            Expr::Intrinsic(op @ (Intrinsic::MulHigh | Intrinsic::AddCarry | Intrinsic::SubBorrow), args) => {
                let ty = args.first().and_then(|arg| arg.ty(self.function));
                self.helpers.extend(ty.map(|ty| (Helper::Of(*op), ty)));
            }
            Expr::Subgroup(call) if self.has_helper(call) => {
                let ty = call.args.first().and_then(|arg| arg.ty(self.function));
                self.helpers.extend(ty.map(|ty| (Helper::Wave(call.op), ty)));
                if hlsl::counts_lanes(call.op) {
                    self.helpers.insert((Helper::Lanes, Type::UINT));
                }
                self.uses.ballots |= hlsl::counts_lanes(call.op) || call.op == SubgroupOp::InverseBallot;
            }
            Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Uint(_)
            | Expr::Float(..)
            | Expr::Builtin(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Select(..)
            | Expr::Cast(..)
            | Expr::Intrinsic(..)
            | Expr::Vector(..)
            | Expr::Component(..)
            | Expr::Subgroup(_)
            | Expr::Element(..) => {}
        }
        if let Some(category) = category_of(expr) {
            self.uses.add_category(category);
        }
        if let Some(scalar) = scalar_of(expr) {
            self.uses.scalars |= 1 << scalar as u16;
        }
        if let Some(scalar) = operated_scalar(expr, self.function) {
            self.uses.operated |= 1 << scalar as u16;
        }
        expr.operands().for_each(|operand| self.expr(operand));
    }
}

/// Words of a log entry besides the site. A valid one has at most [`MAX_ENTRY_WORDS`].
pub(crate) fn entry_words(values: &[Expr], function: &Function) -> u64 {
    values.iter().map(|value| value_words(value, function)).sum::<u64>().min(MAX_ENTRY_WORDS)
}

/// Where an expression stands: decides whether it needs parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// Between commas, parentheses, or `=` and `;`.
    Open,
    /// Operand of `?:`.
    Conditional,
    /// Left operand of a binary operator.
    Left(BinaryOp),
    /// Right operand of a binary operator.
    Right(BinaryOp),
    /// Operand of a unary operator.
    Unary(UnaryOp),
    /// Before `.x`.
    Postfix,
}

impl Context {
    pub(crate) fn needs_parentheses(self, expr: &Expr) -> bool {
        match (self, expr) {
            (Context::Open, _) => false,
            (_, Expr::Select(..)) => true,
            (Context::Conditional, _) => false,
            (Context::Left(outer), Expr::Binary(inner, ..)) => {
                !reads_well(outer, *inner) && !groups_left(outer, *inner)
            }
            (Context::Right(outer), Expr::Binary(inner, ..)) => !reads_well(outer, *inner),
            (Context::Left(_) | Context::Right(_), _) => false,
            (Context::Unary(_) | Context::Postfix, Expr::Binary(..)) => true,
            // `--x` would be a decrement. (The least int is printed as a conversion.)
            (
                Context::Unary(UnaryOp::Neg),
                Expr::Unary(UnaryOp::Neg, _) | Expr::Int(-0x7FFF_FFFF..=-1) | Expr::Float(_, ..=-1),
            ) => true,
            (Context::Unary(_), _) => false,
            (Context::Postfix, Expr::Unary(..)) => true,
            (Context::Postfix, _) => false,
        }
    }
}

const fn is_sum(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Sub)
}

const fn is_product(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod)
}

/// True if the inner operator binds tighter than the outer one, and everybody knows it: not `a & b == c`, not `a && b || c`, not
/// `a + b << c`.
const fn reads_well(outer: BinaryOp, inner: BinaryOp) -> bool {
    if is_sum(outer) {
        is_product(inner)
    } else if outer.is_comparison() {
        is_sum(inner) || is_product(inner)
    } else {
        outer.is_logical() && inner.is_comparison()
    }
}

/// True if `a inner b outer c` is `(a inner b) outer c`, and everybody knows it.
fn groups_left(outer: BinaryOp, inner: BinaryOp) -> bool {
    is_sum(outer) && is_sum(inner)
        || is_product(outer) && is_product(inner)
        || outer == inner && !outer.is_shift() && !outer.is_comparison()
}

/// Writes text and counts lines.
pub(crate) struct Printer<'a> {
    pub(crate) case: &'a Case,
    dialect: Dialect,
    pub(crate) out: String,
    /// Number of the line that is being written, from 1.
    pub(crate) line: usize,
    depth: usize,
    pub(crate) places: Vec<(usize, &'a Stmt)>,
    /// See [`copies_constants`].
    copies_constants: bool,
}

/// `write!` into the text.
macro_rules! put {
    ($printer:expr, $($arg:tt)*) => {
        write!($printer.out, $($arg)*).expect("a String takes everything")
    };
}

/// A whole line.
macro_rules! put_line {
    ($printer:expr, $($arg:tt)*) => {{
        $printer.start_line();
        put!($printer, $($arg)*);
        $printer.end_line();
    }};
}

pub(crate) use {put, put_line};

impl<'a> Printer<'a> {
    /// One that has written nothing.
    pub(crate) fn new(case: &'a Case, dialect: Dialect) -> Printer<'a> {
        Printer {
            case,
            dialect,
            out: String::with_capacity(8192),
            line: 1,
            depth: 0,
            places: Vec::new(),
            copies_constants: false,
        }
    }

    pub(crate) fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(crate) fn start_line(&mut self) {
        for _ in 0..self.depth {
            self.out.push_str("    ");
        }
    }

    pub(crate) fn end_line(&mut self) {
        self.out.push('\n');
        self.line += 1;
    }

    pub(crate) fn blank_line(&mut self) {
        self.end_line();
    }

    /// ` {` and the end of the line.
    pub(crate) fn open(&mut self) {
        self.put(" {");
        self.end_line();
        self.depth += 1;
    }

    /// `}` on a line that is not ended yet.
    pub(crate) fn close(&mut self) {
        self.depth -= 1;
        self.start_line();
        self.put("}");
    }

    fn header(&mut self, uses: Uses) {
        put_line!(self, "#version 450");
        for line in stage::header(self.case) {
            put_line!(self, "{line}");
        }
        let mut named: Vec<&str> = Vec::new();
        for category in Category::ALL {
            let extension = spelling::extension(category, self.dialect);
            // Categories share extensions.
            if uses.has_category(category) && !named.contains(&extension) {
                put_line!(self, "#extension {extension} : require");
                named.push(extension);
            }
        }
        let has_int64 = self.dialect == Dialect::OpenGlArb
            || [Scalar::Int64, Scalar::Uint64].into_iter().any(|scalar| uses.scalars >> scalar as u16 & 1 == 1);
        let is_opengl = self.dialect.is_opengl();
        let is_own = |scalar: &Scalar| is_opengl && scalar.is_integer() && scalar.size() == 64;
        if self.dialect.is_opengl() && has_int64 {
            put_line!(self, "#extension GL_ARB_gpu_shader_int64 : require");
        }
        for (family, used) in [
            ("GL_EXT_shader_explicit_arithmetic_types", uses.scalars),
            ("GL_EXT_shader_subgroup_extended_types", uses.operated),
        ] {
            // The signed and the unsigned type of one size are neighbours.
            let mut last = "";
            let used = Scalar::ALL.into_iter().filter(|&scalar| used >> scalar as u16 & 1 == 1);
            // 64-bit integers are OpenGL's own, but not as operands.
            let used: Vec<Scalar> = used.filter(|scalar| family.contains("subgroup") || !is_own(scalar)).collect();
            for ending in used.into_iter().filter_map(|scalar| spelling::scalar(scalar).extension) {
                if ending != last {
                    put_line!(self, "#extension {family}_{ending} : require");
                    last = ending;
                }
            }
        }
        if self.case.program.shared.iter().any(|array| array.scalar.size() == 64) {
            put_line!(self, "#extension GL_EXT_shader_atomic_int64 : require");
        }
        for bits in [8, 16] {
            let is_narrow = |array: &Shared| !array.storage.is_workgroup() && array.scalar.size() == bits;
            if self.case.program.shared.iter().any(is_narrow) {
                put_line!(self, "#extension GL_EXT_shader_{bits}bit_storage : require");
            }
        }
        if uses.hints {
            put_line!(self, "#extension GL_EXT_expect_assume : require");
        }
        if uses.dots {
            put_line!(self, "#extension GL_EXT_integer_dot_product : require");
        }
        if uses.attributes && !self.dialect.is_opengl() {
            put_line!(self, "#extension GL_EXT_control_flow_attributes : require");
        }
        if uses.non_uniform {
            put_line!(self, "#extension GL_EXT_nonuniform_qualifier : require");
        }
        match self.case.tier {
            Tier::Plain => {}
            Tier::SubgroupUniform => put_line!(self, "#extension GL_EXT_subgroup_uniform_control_flow : require"),
            Tier::Maximal => put_line!(self, "#extension GL_EXT_maximal_reconvergence : require"),
        }
        if self.dialect.is_opengl() && self.case.variant == Variant::DriverUnoptimised {
            // Behind the extensions: Mesa allows none after it.
            put_line!(self, "#pragma optimize(off)");
        }
        self.blank_line();
        self.local_size();
        self.constants(uses.constants);
        self.buffers(uses);
        let (shared, in_buffer): (Vec<&Shared>, Vec<&Shared>) =
            self.case.program.shared.iter().partition(|array| array.storage.is_workgroup());
        if !in_buffer.is_empty() {
            let (set, binding) = (self.set(), interface::ARRAYS);
            put!(self, "layout({set}binding = {binding}, std430) coherent buffer Arrays {{");
            for Shared { name, scalar, len, .. } in in_buffer {
                let workgroups = u64::from(self.case.entry_point.groups());
                put!(self, " {} {name}[{}];", spelling::scalar(*scalar).name, u64::from(*len) * workgroups);
            }
            self.put(" };");
            self.end_line();
        }
        for Shared { name, scalar, len, .. } in shared {
            put_line!(self, "shared {} {name}[{len}];", spelling::scalar(*scalar).name);
        }
        self.blank_line();
        put_line!(self, "uint invocation;");
        stage::globals(self.case.entry_point.stage).iter().for_each(|line| put_line!(self, "{line}"));
        if uses.entries != 0 {
            self.log_macros(uses);
        }
    }

    /// A function for one of the results of a built-in function that has several (GLSL 4.60 §8.8).
    fn helper(&mut self, op: Intrinsic, ty: Type) {
        let signed = if ty.scalar.is_signed() { 'i' } else { 'u' };
        let (name, ty) = (spelling::intrinsic(op), TypeName(ty));
        put!(self, "{ty} {name}({ty} x, {ty} y) {{ ");
        match op {
            Intrinsic::AddCarry => put!(self, "{ty} carry; uaddCarry(x, y, carry); return carry;"),
            Intrinsic::SubBorrow => put!(self, "{ty} borrow; usubBorrow(x, y, borrow); return borrow;"),
            _ => put!(self, "{ty} high, low; {signed}mulExtended(x, y, high, low); return high;"),
        }
        self.put(" }");
        self.end_line();
    }

    /// What stands before `binding` in a layout.
    fn set(&self) -> &'static str {
        if self.dialect.is_opengl() { "" } else { "set = 0, " }
    }

    fn local_size(&mut self) {
        stage::interface(&self.case.entry_point).iter().for_each(|line| put_line!(self, "{line}"));
        let Launch::Workgroups(workgroups) = self.case.entry_point.launch else { return };
        let Workgroups { size: [x, y, z], default_size, derivative_group, .. } = workgroups;
        match default_size.filter(|_| !self.dialect.is_opengl()) {
            None => put_line!(self, "layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;"),
            Some([dx, dy, dz]) => {
                put_line!(self, "// Specialised to {x}, {y}, {z}.");
                put_line!(self, "layout(local_size_x = {dx}, local_size_y = {dy}, local_size_z = {dz}) in;");
                put_line!(self, "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;");
            }
        }
        if let Some(group) = derivative_group {
            // Behind the size, which it is checked against.
            put_line!(self, "layout(derivative_group_{}NV) in;", group.name());
        }
    }

    fn constants(&mut self, used: u32) {
        for (k, SpecConstant { default, value }) in self.case.data.constants.iter().enumerate() {
            if used >> k.min(31) & 1 == 1 && self.dialect.is_opengl() {
                put_line!(self, "const uint SPEC{k} = {value}u;");
            } else if used >> k.min(31) & 1 == 1 {
                let id = interface::FIRST_CONSTANT as usize + k;
                put_line!(
                    self,
                    "layout(constant_id = {id}) const uint SPEC{k} = {default}u; // Specialised to {value}u."
                );
            }
        }
    }

    fn buffers(&mut self, uses: Uses) {
        use interface::{INPUTS, LOG, MAP, PUSH, UNIFORMS};
        let data = &self.case.data;
        let set = self.set();
        if uses.inputs {
            put_line!(
                self,
                "layout({set}binding = {INPUTS}, std430) readonly buffer Inputs {{ uint input_words[]; }};"
            );
        }
        if uses.uniforms {
            let size = data.uniforms.len().div_ceil(4);
            put_line!(
                self,
                "layout({set}binding = {UNIFORMS}, std140) uniform Uniforms {{ uvec4 uniform_words[{size}]; }};"
            );
        }
        if uses.push && self.dialect.is_opengl() {
            let size = data.push.len().div_ceil(4);
            put_line!(self, "layout(binding = {PUSH}, std140) uniform Push {{ uvec4 push_words[{size}]; }};");
        } else if uses.push {
            put_line!(self, "layout(push_constant) uniform Push {{ uint push_words[{}]; }};", data.push.len());
        }
        self.resources(uses);
        // Atomics read, too.
        let access = if self.case.entry_point.items().is_some() { "" } else { "writeonly " };
        put_line!(self, "layout({set}binding = {MAP}, std430) {access}buffer Map {{ uint map_words[]; }};");
        put_line!(self, "layout({set}binding = {LOG}, std430) writeonly buffer Log {{ uint log_words[]; }};");
    }

    /// Arrays of descriptors.
    fn resources(&mut self, uses: Uses) {
        let count = self.case.data.resources.len();
        for class in uses.resource_classes() {
            let (binding, name) = (class.binding(), class.name());
            let layout = format!("layout({}binding = {binding}", self.set());
            match class {
                ResourceClass::StorageBuffer => {
                    put_line!(
                        self,
                        "{layout}, std430) readonly buffer StorageBufferOf {{ uint word; }} {name}[{count}];"
                    );
                }
                ResourceClass::UniformBuffer => {
                    put_line!(self, "{layout}, std140) uniform UniformBufferOf {{ uint word; }} {name}[{count}];");
                }
                ResourceClass::StorageTexelBuffer => {
                    put_line!(self, "{layout}, r32ui) uniform readonly uimageBuffer {name}[{count}];");
                }
                ResourceClass::StorageImage => {
                    put_line!(self, "{layout}, r32ui) uniform readonly uimage2D {name}[{count}];");
                }
            }
        }
    }

    pub(crate) fn log_macros(&mut self, uses: Uses) {
        let entries = uses.entries;
        let private = match self.dialect {
            Dialect::Hlsl => "static ",
            _ => "",
        };
        put_line!(self, "{private}uint log_base;");
        put_line!(self, "{private}uint cursor;");
        put_line!(self, "{private}uint entry;");
        self.blank_line();
        match self.dialect {
            Dialect::Hlsl => self.hlsl_word_macros(uses.logged),
            _ => self.word_macros(uses.logged),
        }
        let last = log_capacity(self.case) - 1;
        for words in (0..=MAX_ENTRY_WORDS).filter(|words| entries >> words & 1 == 1) {
            put!(self, "#define LOG{words}(site");
            (1..=words).for_each(|i| put!(self, ", x{i}"));
            put!(self, ") (entry = log_base + (cursor & {last}u), cursor += {}u, log_words[entry] = site", words + 1);
            (1..=words).for_each(|i| put!(self, ", log_words[entry + {i}u] = uint(x{i})"));
            self.put(")");
            self.end_line();
        }
    }

    /// The bits of floats, a negative zero being a zero: its sign is up to the device.
    fn word_macros(&mut self, logged: u16) {
        let floats = Scalar::ALL.into_iter().filter(|&scalar| scalar.is_float() && logged >> scalar as u16 & 1 == 1);
        let (long, short): (Vec<Scalar>, Vec<Scalar>) = floats.partition(|scalar| scalar.words() > 1);
        if !short.is_empty() {
            put_line!(
                self,
                "#define FLOAT_WORD(value) (floatBitsToUint(value) * min(floatBitsToUint(value) << 1u, 1u))"
            );
        }
        if !long.is_empty() {
            put_line!(self, "#define LOW_WORD(value) unpackDouble2x32(value).x");
            put_line!(self, "#define HIGH_WORD(value) (unpackDouble2x32(value).y \\");
            put_line!(self, "    * min(unpackDouble2x32(value).x | unpackDouble2x32(value).y << 1u, 1u))");
        }
    }

    fn structure(&mut self, ty: Type) {
        let Some((member, count)) = ty.indexed() else { return };
        let members: Vec<String> = (0..count).map(|k| format!("m{k}")).collect();
        if self.dialect == Dialect::Hlsl {
            return self.hlsl_structure(ty, member, &members);
        }
        put_line!(self, "struct {} {{ {} {}; }};", TypeName(ty), TypeName(member), members.join(", "));
    }

    fn function(&mut self, function: &'a Function, plan: Plan) {
        self.blank_line();
        match function.result {
            Some(ty) => put!(self, "{} {}(", self.ty(ty), self.name(&function.name)),
            None => put!(self, "void {}(", self.name(&function.name)),
        }
        for (i, param) in function.params.iter().enumerate() {
            let direction = match param.direction {
                Direction::In => "",
                Direction::Out => "out ",
                Direction::Inout => "inout ",
            };
            let separator = if i == 0 { "" } else { ", " };
            put!(self, "{separator}{direction}{} {}", self.ty(param.ty), self.name(&param.name));
        }
        self.put(")");
        self.open();
        for param in function.params.iter().filter(|param| param.direction == Direction::Out) {
            put_line!(self, "{} = {};", self.name(&param.name), self.zero(param.ty));
        }
        self.builtin_copies(plan.uses);
        Body { printer: self, function, declared: plan.declared, single: None }.print();
        self.close();
        self.end_line();
    }

    /// A type as the language names it.
    fn ty(&self, ty: Type) -> String {
        match self.dialect {
            Dialect::Hlsl => hlsl::spelling::TypeName(ty).to_string(),
            _ => TypeName(ty).to_string(),
        }
    }

    /// The zero of a type.
    fn zero(&self, ty: Type) -> String {
        match self.dialect {
            Dialect::Hlsl => hlsl::spelling::zero(ty),
            _ => Zero(ty).to_string(),
        }
    }

    /// A name of the program.
    fn name<'n>(&self, name: &'n str) -> std::borrow::Cow<'n, str> {
        match self.dialect {
            Dialect::Hlsl => hlsl::spelling::name(name),
            _ => name.into(),
        }
    }

    /// A built-in variable, or what has a copy of it.
    fn builtin(&self, builtin: Builtin) -> &'static str {
        match self.dialect {
            Dialect::Hlsl => hlsl::spelling::builtin(builtin).unwrap_or(NOTHING),
            _ => spelling::builtin(builtin),
        }
    }

    /// Gives the lines of the prologue.
    fn main(&mut self, main: &'a Function, plan: Plan, uses: Uses) -> Range<usize> {
        self.blank_line();
        match self.dialect {
            Dialect::Hlsl => self.hlsl_main(),
            _ => {
                self.put("void main()");
                self.put(match self.case.tier {
                    Tier::Plain => "",
                    Tier::SubgroupUniform => " [[subgroup_uniform_control_flow]]",
                    Tier::Maximal => " [[maximally_reconverges]]",
                });
            }
        }
        self.open();
        let first = self.line;
        let stage::Frame { begin, open, close, end } = stage::frame(self.case.entry_point.stage);
        begin.iter().for_each(|line| put_line!(self, "{line}"));
        match self.dialect {
            Dialect::Hlsl => self.hlsl_prologue(uses),
            _ => self.prologue(uses),
        }
        open.iter().for_each(|line| put_line!(self, "{line}"));
        if !main.body.is_empty() {
            self.blank_line();
        }
        let prologue = first..self.line;
        Body { printer: self, function: main, declared: plan.declared, single: None }.print();
        close.iter().chain(end).for_each(|line| put_line!(self, "{line}"));
        self.close();
        self.end_line();
        prologue
    }

    /// Records the lane map while the lanes of a subgroup still execute everything together (docs/rules.md, section M).
    fn prologue(&mut self, uses: Uses) {
        let has_workgroups = self.case.entry_point.stage.has_workgroups();
        self.builtin_copies(Uses {
            lane: true,
            subgroup_size: true,
            workgroup_index: has_workgroups || uses.workgroup_index,
            ..uses
        });
        let identity = stage::identity(self.case, self.dialect);
        identity.number.iter().for_each(|line| put_line!(self, "{line}"));
        if uses.entries != 0 {
            put_line!(self, "log_base = invocation * {}u;", log_stride(self.case));
            put_line!(self, "cursor = 0u;");
        }
        identity.record.iter().for_each(|line| put_line!(self, "{line}"));
        put_line!(self, "uint map_base = invocation * {}u;", self.case.entry_point.map_words());
        for (i, word) in identity.words.iter().enumerate() {
            if self.dialect == Dialect::OpenGlArb && word.starts_with("gl_") {
                // Nothing says it.
                continue;
            }
            put_line!(self, "map_words[map_base + {i}u] = {word};");
        }
        let written = match self.dialect {
            Dialect::OpenGlArb => interface::MAP_WRITTEN_ARB,
            _ => interface::MAP_WRITTEN,
        };
        let last = identity.words.len();
        put_line!(self, "map_words[map_base + {last}u] = 0x{written:X}u;");
        self.arrays_begin();
    }

    /// Fills the arrays: in shared memory they hold undefined values at first.
    pub(crate) fn arrays_begin(&mut self) {
        let invocations = self.case.entry_point.group_size();
        let index = self.builtin(Builtin::LocalIndex);
        for (number, array) in self.case.program.shared.iter().enumerate() {
            // In HLSL a name that a loop declares may live on behind it.
            let slot = match self.dialect {
                Dialect::Hlsl => format!("Slot{number}"),
                _ => "slot".to_owned(),
            };
            let Shared { scalar, len, init, .. } = array;
            let name = self.array(array);
            let init = match scalar {
                Scalar::Uint => format!("{init}u"),
                scalar => format!("{}({init}u)", self.ty(Type::scalar(*scalar))),
            };
            let slice = self.slice(array);
            if *len == invocations {
                put_line!(self, "{name}[{slice}{index}] = {init};");
            } else {
                // Nothing that a program may name is mentioned in the loop but the array and the workgroup's index.
                let head = format!("uint {slot} = {index}; {slot} < {len}u; {slot} += {invocations}u");
                put_line!(self, "for ({head}) {name}[{slice}{slot}] = {init};");
            }
        }
        if !self.case.program.shared.is_empty() {
            self.start_line();
            self.barrier();
            self.end_line();
        }
    }

    /// An array, before its index.
    fn array(&self, array: &Shared) -> String {
        match (self.dialect, array.storage.is_workgroup()) {
            (Dialect::Hlsl, false) => format!("Arrays[0].{}", self.name(&array.name)),
            _ => self.name(&array.name).into_owned(),
        }
    }

    /// What comes before an index, so that a workgroup keeps to its slice of an array in a buffer.
    pub(crate) fn slice(&self, array: &Shared) -> String {
        if is_sliced(self.case, array) { format!("workgroup_index * {}u + ", array.len) } else { String::new() }
    }

    pub(crate) fn barrier(&mut self) {
        self.put(match (self.dialect, has_buffer_arrays(self.case)) {
            (Dialect::Hlsl, in_buffer) => hlsl::spelling::sync(Sync::Barrier, in_buffer),
            (_, true) => "memoryBarrierBuffer(); barrier(); memoryBarrierBuffer",
            (_, false) => "barrier",
        });
        self.put("();");
    }

    /// The copies that take mediump away (rules P14 and P15), and the index of the workgroup in the dispatch.
    pub(crate) fn builtin_copies(&mut self, uses: Uses) {
        let [lane, size, group] = match self.dialect {
            Dialect::Hlsl => ["WaveGetLaneIndex()", "WaveGetLaneCount()", "GroupId"],
            dialect => [spelling::lane(dialect), spelling::subgroup_size(dialect), "gl_WorkGroupID"],
        };
        if uses.lane {
            put_line!(self, "uint lane = {lane};");
        }
        if uses.subgroup_size {
            put_line!(self, "uint subgroup_size = {size};");
        }
        if uses.workgroup_index && !self.case.entry_point.stage.has_workgroups() {
            put_line!(self, "uint workgroup_index = 0u;");
        } else if uses.workgroup_index {
            let [x, y, z] = self.case.entry_point.workgroups().count;
            self.start_line();
            put!(self, "uint workgroup_index = {group}.x");
            if y != 1 {
                put!(self, " + {x}u * {group}.y");
            }
            if z != 1 {
                put!(self, " + {}u * {group}.z", x.wrapping_mul(y));
            }
            self.put(";");
            self.end_line();
        }
        if self.copies_constants {
            for k in (0..self.case.data.constants.len()).filter(|k| uses.constants >> k & 1 == 1) {
                put_line!(self, "uint SPEC{k}_COPY = SPEC{k};");
            }
        }
    }
}

/// What stands around a logged value to make its words of it, the low one first. The macros of the log convert them to uint.
pub(crate) const fn words_of(scalar: Scalar) -> &'static [(&'static str, &'static str)] {
    match (scalar.is_float(), scalar.size()) {
        (false, 64) => &[("", ""), ("", " >> 32u")],
        (false, _) => &[("", "")],
        (true, 64) => &[("LOW_WORD(", ")"), ("HIGH_WORD(", ")")],
        (true, 32) => &[("FLOAT_WORD(", ")")],
        // Exact, and the bits of 16-bit floats need no 16-bit integers that way.
        (true, _) => &[("FLOAT_WORD(float(", "))")],
    }
}

/// What stands behind a value to get each of its scalars, in the order in which they are logged.
pub fn parts(ty: Type) -> Vec<String> {
    let component = |c: u8| ["x", "y", "z", "w"].get(usize::from(c)).copied().unwrap_or("?");
    let components: Vec<String> = match ty.width {
        1 => vec![String::new()],
        width => (0..width).map(|c| format!(".{}", component(c))).collect(),
    };
    let element = |k: u8| match ty.shape {
        Shape::Single => String::new(),
        Shape::Struct(_) => format!(".m{k}"),
        Shape::Array(_) | Shape::Matrix(_) => format!("[{k}]"),
    };
    let elements = (0..ty.elements()).map(element);
    elements.flat_map(|element| components.iter().map(move |component| format!("{element}{component}"))).collect()
}

/// The zero of a type.
struct Zero(Type);

impl std::fmt::Display for Zero {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let (Shape::Array(_) | Shape::Struct(_), Some((element, count))) = (self.0.shape, self.0.indexed()) {
            let zeros = vec![Zero(element).to_string(); usize::from(count)];
            return write!(f, "{}({})", TypeName(self.0), zeros.join(", "));
        }
        let zero = match self.0.scalar {
            Scalar::Bool => "false",
            Scalar::Int => "0",
            Scalar::Uint => "0u",
            _ => return write!(f, "{}(0)", TypeName(self.0)),
        };
        if self.0.is_scalar() { f.write_str(zero) } else { write!(f, "{}({zero})", TypeName(self.0)) }
    }
}

/// What stands before the type of a variable, with the space after it.
fn qualifier(local: &Local) -> &'static str {
    if local.precise { "precise " } else { "" }
}

/// True if a loop stands right in a block, whose counter may be declared there.
fn declares(block: &Block) -> bool {
    block.iter().any(|stmt| matches!(stmt, Stmt::Loop(_) | Stmt::Atomic(_)))
}

/// Prints the statements of one function.
pub(crate) struct Body<'p, 'a> {
    pub(crate) printer: &'p mut Printer<'a>,
    pub(crate) function: &'a Function,
    declared: Vec<Declared>,
    /// The number of the only invocation that comes here, where a condition says so.
    single: Option<u32>,
}

impl<'a> Body<'_, 'a> {
    fn print(mut self) {
        let function = self.function;
        for (i, local) in (function.params.len()..).zip(&function.locals) {
            if self.declared[i] == Declared::AtTop {
                let (ty, zero) = (self.printer.ty(local.ty), self.printer.zero(local.ty));
                let name = self.printer.name(&local.name);
                put_line!(self.printer, "{}{ty} {name} = {zero};", qualifier(local));
            }
        }
        self.block(&function.body);
    }

    pub(crate) fn put(&mut self, text: &str) {
        self.printer.put(text);
    }

    fn block(&mut self, block: &'a Block) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn place(&mut self, stmt: &'a Stmt) {
        self.printer.places.push((self.printer.line, stmt));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        // A loop begins where its head stands, which may be after a line for the counter.
        if !matches!(stmt, Stmt::Loop(_)) {
            self.place(stmt);
        }
        if let Stmt::Loop(l) = stmt {
            return self.repeated(stmt, l);
        }
        self.printer.start_line();
        match stmt {
            Stmt::If { .. } => self.branch(stmt),
            Stmt::Switch { selector, arms, control } => {
                self.selection_control(*control);
                self.switch(selector, arms);
            }
            Stmt::Break => self.put("break;"),
            Stmt::Continue => self.put("continue;"),
            Stmt::Return(None) => self.put("return;"),
            Stmt::Return(Some(value)) => {
                self.put("return ");
                self.expr(value, Context::Open);
                self.put(";");
            }
            Stmt::Barrier(op) => put!(self.printer, "{}();", op.info().name),
            Stmt::Sync(Sync::Barrier) => self.printer.barrier(),
            Stmt::Sync(sync) => match self.printer.dialect {
                Dialect::Hlsl => put!(self.printer, "{}();", hlsl::spelling::sync(*sync, false)),
                _ => put!(self.printer, "{}();", spelling::sync(*sync)),
            },
            Stmt::SetElement { var, index, value } => {
                self.var(*var);
                self.index(self.function.var_type(*var), index);
                self.put(" = ");
                self.expr(value, Context::Open);
                self.put(";");
            }
            Stmt::Store { array, value } => {
                self.element_of(*array);
                let len = self.printer.case.program.shared.get(*array as usize).map_or(0, |array| array.len);
                // An index that is the same for all lanes is compiled in another way.
                match self.single.filter(|&number| number < len) {
                    Some(number) => put!(self.printer, "{number}u"),
                    None => self.put(self.printer.builtin(Builtin::LocalIndex)),
                }
                self.put("] = ");
                self.expr(value, Context::Open);
                self.put(";");
            }
            Stmt::Atomic(atomic) => match self.printer.dialect {
                Dialect::Hlsl => self.hlsl_atomic(atomic),
                _ => self.atomic(atomic),
            },
            Stmt::Discard(Discard::Demote) => self.put("demote;"),
            Stmt::Discard(Discard::Terminate) => self.put("terminateInvocation;"),
            Stmt::Assume(cond) => {
                self.put("assumeEXT(");
                self.expr(cond, Context::Open);
                self.put(");");
            }
            Stmt::Assign { .. } | Stmt::Log { .. } | Stmt::Call { .. } | Stmt::Loop(_) => {
                self.simple(stmt);
                self.put(";");
            }
        }
        self.printer.end_line();
    }

    /// A statement that can also stand in a comma list.
    fn simple(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign { var, value } => {
                self.assigned(*var);
                self.expr(value, Context::Open);
            }
            Stmt::Log { site, values } => self.log(*site, values),
            Stmt::Call { function, args, dest } => {
                if let Some(dest) = dest {
                    self.assigned(*dest);
                }
                self.call(*function, args);
            }
            // No other statement is valid in a comma list.
            Stmt::If { .. }
            | Stmt::Switch { .. }
            | Stmt::Loop(_)
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Barrier(_)
            | Stmt::SetElement { .. }
            | Stmt::Store { .. }
            | Stmt::Atomic(_)
            | Stmt::Sync(_)
            | Stmt::Discard(_)
            | Stmt::Assume(_) => {}
        }
    }

    fn simple_in_list(&mut self, stmt: &'a Stmt) {
        self.place(stmt);
        self.simple(stmt);
    }

    /// `var = `, with the type if this declares the variable.
    pub(crate) fn assigned(&mut self, var: VarId) {
        if let Some(declared @ Declared::AtFirstMention) = self.declared.get_mut(var as usize) {
            *declared = Declared::Already;
            let local = (var as usize).checked_sub(self.function.params.len());
            if let Some(local) = local.and_then(|local| self.function.locals.get(local)) {
                put!(self.printer, "{}{} ", qualifier(local), self.printer.ty(local.ty));
            }
        }
        self.var(var);
        self.put(" = ");
    }

    /// The declaration of a variable that is mentioned first here.
    pub(crate) fn declare(&mut self, var: VarId) {
        if let Some(declared @ Declared::AtFirstMention) = self.declared.get_mut(var as usize) {
            *declared = Declared::Already;
            let ty = self.function.var_type(var).unwrap_or(Type::UINT);
            put!(self.printer, "{} ", self.printer.ty(ty));
            self.var(var);
            self.put("; ");
        }
    }

    pub(crate) fn var(&mut self, var: VarId) {
        match self.function.var_name(var) {
            Some(name) => {
                let name = self.printer.name(name);
                self.printer.put(&name);
            }
            None => put!(self.printer, "no_variable_{var}"),
        }
    }

    /// The word of a resource.
    fn resource(&mut self, resource: &Resource) {
        let name = resource.class.name();
        let is_hlsl = self.printer.dialect == Dialect::Hlsl;
        let (before, behind) = match resource.class {
            ResourceClass::UniformBuffer => ("", ".word"),
            ResourceClass::StorageBuffer | ResourceClass::StorageTexelBuffer if is_hlsl => ("", "[0u]"),
            ResourceClass::StorageImage if is_hlsl => ("", "[uint2(0u, 0u)]"),
            ResourceClass::StorageBuffer => ("", ".word"),
            ResourceClass::StorageTexelBuffer => ("imageLoad(", ", 0).x"),
            ResourceClass::StorageImage => ("imageLoad(", ", ivec2(0)).x"),
        };
        put!(self.printer, "{before}{name}[");
        if resource.non_uniform {
            self.put(if is_hlsl { "NonUniformResourceIndex(" } else { "nonuniformEXT(" });
        }
        self.expr(&resource.index, Context::Open);
        put!(self.printer, "{}]{behind}", if resource.non_uniform { ")" } else { "" });
    }

    /// `array[`, and where the slice of the workgroup begins.
    pub(crate) fn element_of(&mut self, array: ArrayId) {
        match self.printer.case.program.shared.get(array as usize) {
            Some(array) => {
                let (name, slice) = (self.printer.array(array), self.printer.slice(array));
                put!(self.printer, "{name}[{slice}");
            }
            None => put!(self.printer, "no_array_{array}["),
        }
    }

    /// The context of an index behind [`Self::element_of`].
    pub(crate) fn index_context(&self, array: ArrayId) -> Context {
        let case = self.printer.case;
        let is_sum = case.program.shared.get(array as usize).is_some_and(|array| is_sliced(case, array));
        if is_sum { Context::Right(BinaryOp::Add) } else { Context::Open }
    }

    fn atomic(&mut self, atomic: &'a Atomic) {
        if let Some(dest) = atomic.dest {
            self.assigned(dest);
        }
        self.atomic_operands(spelling::atomic(atomic.op), atomic);
        self.put(");");
    }

    /// `name(array[index], compare, value`: what every language begins an atomic operation with.
    pub(crate) fn atomic_operands(&mut self, name: &str, atomic: &'a Atomic) {
        put!(self.printer, "{name}(");
        self.element_of(atomic.array);
        self.expr(&atomic.index, self.index_context(atomic.array));
        self.put("]");
        for operand in atomic.compare.iter().chain([&atomic.value]) {
            self.put(", ");
            self.expr(operand, Context::Open);
        }
    }

    fn log(&mut self, site: SiteId, values: &[Expr]) {
        put!(self.printer, "LOG{}({site}", entry_words(values, self.function));
        for value in values {
            let ty = match value {
                Expr::Var(var) => self.function.var_type(*var).unwrap_or(Type::UINT),
                _ => Type::UINT,
            };
            for part in parts(ty) {
                for (before, after) in words_of(ty.scalar) {
                    self.put(", ");
                    self.put(before);
                    self.expr(value, Context::Open);
                    self.put(&part);
                    self.put(after);
                }
            }
        }
        self.put(")");
    }

    fn call(&mut self, function: FunctionId, args: &[Arg]) {
        match self.printer.case.program.functions.get(function as usize) {
            Some(callee) => {
                let name = self.printer.name(&callee.name);
                self.printer.put(&name);
            }
            None => put!(self.printer, "no_function_{function}"),
        }
        self.put("(");
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            match arg {
                Arg::In(value) => self.expr(value, Context::Open),
                Arg::Out(var) => self.var(*var),
            }
        }
        self.put(")");
    }

    /// `if (…) { … } else if (…) { … } else { … }`, without the end of the last line.
    fn branch(&mut self, stmt: &'a Stmt) {
        let Stmt::If { cond, then, otherwise, control } = stmt else { return };
        self.selection_control(*control);
        self.put("if (");
        self.expr(cond, Context::Open);
        self.put(")");
        let around = self.single;
        self.single = cond.single_invocation().or(around);
        self.nested(then);
        self.single = around;
        match otherwise.as_slice() {
            [] => {}
            [next @ Stmt::If { .. }] => {
                self.put(" else ");
                self.place(next);
                self.branch(next);
            }
            _ => {
                self.put(" else");
                self.nested(otherwise);
            }
        }
    }

    fn selection_control(&mut self, control: SelectionControl) {
        self.put(match self.printer.dialect {
            Dialect::Vulkan => spelling::selection_control(control),
            Dialect::OpenGl | Dialect::OpenGlArb | Dialect::Wgsl => "",
            Dialect::Hlsl => hlsl::spelling::selection_control(control),
        });
    }

    /// ` { … }`, without the end of the last line.
    fn nested(&mut self, block: &'a Block) {
        self.printer.open();
        self.block(block);
        self.printer.close();
    }

    fn switch(&mut self, selector: &'a Expr, arms: &'a [Arm]) {
        let scalar = selector.ty(self.function).map_or(Scalar::Uint, |ty| ty.scalar);
        self.put("switch (");
        self.expr(selector, Context::Open);
        self.put(") {");
        self.printer.end_line();
        for arm in arms {
            // In HLSL a declaration in one arm is in the way of a jump to the next one.
            let braces = self.printer.dialect == Dialect::Hlsl && declares(&arm.body);
            for (at, label) in arm.labels.iter().enumerate() {
                self.printer.start_line();
                match label {
                    Label::Default => self.put("default:"),
                    Label::Case(value) => {
                        self.put("case ");
                        match scalar {
                            Scalar::Int => self.int(*value as i32),
                            // Nothing else is a selector.
                            _ => self.uint(*value as u32),
                        }
                        self.put(":");
                    }
                }
                self.put(if braces && at + 1 == arm.labels.len() { " {" } else { "" });
                self.printer.end_line();
            }
            self.printer.depth += 1;
            self.block(&arm.body);
            self.printer.depth -= 1;
            if braces {
                put_line!(self.printer, "}}");
            }
        }
        // GLSL 4.60 §6.2: no label without a statement after it.
        if arms.last().is_some_and(|arm| arm.body.is_empty()) {
            self.printer.depth += 1;
            put_line!(self.printer, "break;");
            self.printer.depth -= 1;
        }
        self.printer.start_line();
        self.put("}");
    }

    fn repeated(&mut self, stmt: &'a Stmt, l: &'a Loop) {
        if !matches!(l.kind, LoopKind::For { .. } | LoopKind::Endless) {
            self.printer.start_line();
            self.assigned(l.counter);
            self.put("0u;");
            self.printer.end_line();
        }
        self.place(stmt);
        self.printer.start_line();
        self.put(match self.printer.dialect {
            Dialect::Vulkan => spelling::loop_control(l.control),
            Dialect::OpenGl | Dialect::OpenGlArb | Dialect::Wgsl => "",
            Dialect::Hlsl => hlsl::spelling::loop_control(l.control),
        });
        match &l.kind {
            LoopKind::For { init, step, update } => {
                self.put("for (");
                self.assigned(l.counter);
                self.expr(init, Context::Open);
                self.put("; ");
                self.test(l);
                self.put("; ");
                self.var(l.counter);
                match step {
                    1 => self.put("++"),
                    step => {
                        self.put(" += ");
                        self.uint(*step);
                    }
                }
                for stmt in update {
                    self.put(", ");
                    self.simple_in_list(stmt);
                }
                self.put(")");
                self.nested(&l.body);
            }
            LoopKind::While => {
                self.put("while (");
                self.test(l);
                self.put(")");
                self.counted(l);
            }
            LoopKind::DoWhile => {
                self.put("do");
                self.counted(l);
                self.put(" while (");
                self.test(l);
                self.put(");");
            }
            LoopKind::Endless => {
                self.put("for (;;)");
                self.nested(&l.body);
            }
            LoopKind::Forever => {
                self.put("for (;;)");
                self.printer.open();
                self.printer.start_line();
                self.put("if (");
                self.compare_counter(l, BinaryOp::Ge);
                self.put(")");
                self.printer.open();
                put_line!(self.printer, "break;");
                self.printer.close();
                self.printer.end_line();
                self.count(l);
                self.block(&l.body);
                self.printer.close();
            }
        }
        self.printer.end_line();
    }

    /// ` { counter++; … }`, without the end of the last line.
    fn counted(&mut self, l: &'a Loop) {
        self.printer.open();
        self.count(l);
        self.block(&l.body);
        self.printer.close();
    }

    fn count(&mut self, l: &Loop) {
        self.printer.start_line();
        self.var(l.counter);
        self.put("++;");
        self.printer.end_line();
    }

    /// `test && counter < bound`
    fn test(&mut self, l: &'a Loop) {
        match &l.test {
            None => {}
            Some(Test { before, cond }) if before.is_empty() => {
                self.expr(cond, Context::Left(BinaryOp::And));
                self.put(" && ");
            }
            Some(Test { before, cond }) => {
                self.put("(");
                for stmt in before {
                    self.simple_in_list(stmt);
                    self.put(", ");
                }
                self.expr(cond, Context::Open);
                self.put(") && ");
            }
        }
        self.compare_counter(l, BinaryOp::Lt);
    }

    fn compare_counter(&mut self, l: &Loop, op: BinaryOp) {
        self.var(l.counter);
        put!(self.printer, " {} ", spelling::binary(op));
        self.expr(&l.bound, Context::Right(op));
    }

    pub(crate) fn int(&mut self, value: i32) {
        match value {
            // 2147483648 is no int literal, so that there is nothing to negate (GLSL 4.60 §4.1.3).
            i32::MIN => self.put("int(0x80000000u)"),
            _ => put!(self.printer, "{value}"),
        }
    }

    fn uint(&mut self, value: u32) {
        match value {
            0..=0xFFFF => put!(self.printer, "{value}u"),
            _ => put!(self.printer, "0x{value:X}u"),
        }
    }

    pub(crate) fn expr(&mut self, expr: &Expr, context: Context) {
        let parentheses = context.needs_parentheses(expr);
        if parentheses {
            self.put("(");
        }
        if self.printer.dialect == Dialect::Hlsl && self.hlsl_expr(expr) {
            self.put(if parentheses { ")" } else { "" });
            return;
        }
        match expr {
            Expr::Bool(value) => self.put(if *value { "true" } else { "false" }),
            Expr::Int(value) => self.int(*value),
            Expr::Uint(value) => self.uint(*value),
            Expr::Float(scalar, quarters) => {
                put!(self.printer, "{:?}{}", f64::from(*quarters) / 4.0, spelling::scalar(*scalar).suffix);
            }
            Expr::Var(var) => self.var(*var),
            Expr::Builtin(builtin) => match spelling::mask_in_arb(*builtin) {
                Some(name) if self.printer.dialect == Dialect::OpenGlArb => {
                    put!(self.printer, "uvec4(unpackUint2x32({name}), 0u, 0u)");
                }
                _ if self.printer.dialect == Dialect::Hlsl => {
                    self.put(hlsl::spelling::builtin(*builtin).unwrap_or(NOTHING))
                }
                _ => {
                    let stage = self.printer.case.entry_point.stage;
                    self.put(stage::builtin(stage, *builtin).unwrap_or_else(|| spelling::builtin(*builtin)));
                }
            },
            Expr::Input(k) => match self.printer.case.data.inputs.len() {
                1 => self.put("input_words[invocation]"),
                n => {
                    put!(self.printer, "input_words[invocation * {n}u");
                    match k {
                        0 => self.put("]"),
                        _ => put!(self.printer, " + {k}u]"),
                    }
                }
            },
            Expr::Uniform(k) => {
                let component = ["x", "y", "z", "w"][*k as usize % 4];
                put!(self.printer, "uniform_words[{}].{component}", k / 4);
            }
            Expr::Push(k) if self.printer.dialect.is_opengl() => {
                let component = ["x", "y", "z", "w"][*k as usize % 4];
                put!(self.printer, "push_words[{}].{component}", k / 4);
            }
            Expr::Push(k) => put!(self.printer, "push_words[{k}]"),
            Expr::Constant(k) if self.printer.copies_constants => put!(self.printer, "SPEC{k}_COPY"),
            Expr::Constant(k) => put!(self.printer, "SPEC{k}"),
            Expr::Unary(UnaryOp::Not, x) if x.ty(self.function).is_some_and(|ty| ty.width > 1) => {
                self.put("not");
                self.list(std::slice::from_ref(x));
            }
            Expr::Binary(op, x, y) if op.is_comparison() && x.ty(self.function).is_some_and(|ty| ty.width > 1) => {
                self.put(spelling::comparison(*op));
                self.list(&[&**x, &**y]);
            }
            Expr::Unary(op, x) => {
                self.put(spelling::unary(*op));
                self.expr(x, Context::Unary(*op));
            }
            Expr::Binary(op, x, y) => {
                self.expr(x, Context::Left(*op));
                put!(self.printer, " {} ", spelling::binary(*op));
                self.expr(y, Context::Right(*op));
            }
            Expr::Select(cond, x, y) => {
                self.expr(cond, Context::Conditional);
                self.put(" ? ");
                self.expr(x, Context::Conditional);
                self.put(" : ");
                self.expr(y, Context::Conditional);
            }
            Expr::Cast(scalar, x) => {
                let width = x.ty(self.function).map_or(1, |ty| ty.width);
                put!(self.printer, "{}", TypeName(Type::vector(*scalar, width)));
                self.list(std::slice::from_ref(x));
            }
            Expr::Intrinsic(op, args) => {
                let of = args.first().and_then(|arg| arg.ty(self.function)).map(|ty| ty.scalar);
                self.put(match (self.printer.dialect, of) {
                    (Dialect::Vulkan, _) | (_, None) => spelling::intrinsic(*op),
                    (_, Some(of)) => spelling::intrinsic_in_opengl(*op, of),
                });
                self.list(args);
            }
            Expr::Vector(ty, args) => {
                put!(self.printer, "{}", TypeName(*ty));
                self.list(args);
            }
            Expr::Component(x, c) => {
                self.expr(x, Context::Postfix);
                self.put(match c {
                    0 => ".x",
                    1 => ".y",
                    2 => ".z",
                    _ => ".w",
                });
            }
            Expr::Element(x, index) => {
                self.expr(x, Context::Postfix);
                self.index(x.ty(self.function), index);
            }
            Expr::Resource(resource) => self.resource(resource),
            Expr::Load(load) => {
                self.element_of(load.array);
                self.expr(&load.index, self.index_context(load.array));
                self.put("]");
            }
            Expr::Subgroup(SubgroupCall { op, args, cluster }) => {
                let (name, end) = match (self.printer.dialect, spelling::in_arb(*op)) {
                    (Dialect::OpenGlArb, Some(spelling)) => spelling,
                    _ => (op.info().name, ""),
                };
                self.put(name);
                self.put("(");
                for (i, arg) in args.iter().enumerate() {
                    self.put(if i > 0 { ", " } else { "" });
                    match (op.info().params.get(i), arg) {
                        // It has to be a constant.
                        (Some(Param::BroadcastLane | Param::QuadIndex), Expr::Constant(k)) => {
                            put!(self.printer, "SPEC{k}");
                        }
                        _ => self.expr(arg, Context::Open),
                    }
                }
                if let Some(cluster) = cluster {
                    put!(self.printer, ", {cluster}u");
                }
                self.put(")");
                self.put(end);
            }
        }
        if parentheses {
            self.put(")");
        }
    }

    /// `[index]`, or the name of a struct's member.
    fn index(&mut self, of: Option<Type>, index: &Expr) {
        match (of.map(|ty| ty.shape), index) {
            (Some(Shape::Struct(_)), Expr::Uint(member)) => put!(self.printer, ".m{member}"),
            _ => {
                self.put("[");
                self.expr(index, Context::Open);
                self.put("]");
            }
        }
    }

    /// `(a, b, c)`
    pub(crate) fn list(&mut self, args: &[impl std::borrow::Borrow<Expr>]) {
        self.put("(");
        self.items(args);
        self.put(")");
    }

    /// `a, b, c`
    pub(crate) fn items(&mut self, args: &[impl std::borrow::Borrow<Expr>]) {
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            self.expr(arg.borrow(), Context::Open);
        }
    }
}
