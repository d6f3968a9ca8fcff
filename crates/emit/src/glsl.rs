//! Prints a case as a compute shader in GLSL 4.50, for compilers and for people.
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

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

use tangle_analysis::cost::{log_capacity, log_stride, value_words};
use tangle_program::case::{Case, Launch, SpecConstant, SpirvVersion, Tier, Workgroups, interface};
use tangle_program::memory::{ArrayId, Shared, Sync};
use tangle_program::needs::{category_of, declared_scalars, declared_types, operated_scalar, scalar_of};
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::subgroup::{Category, Param};
use tangle_program::tree::{
    Arg, Arm, Atomic, Block, Builtin, Direction, Expr, Function, FunctionId, Label, Local, Loop, LoopKind,
    MAX_ENTRY_WORDS, SiteId, Stmt, SubgroupCall, Test, VarId,
};
use tangle_program::types::{Scalar, Shape, Type};

use spelling::TypeName;

/// The shader of a case.
pub fn glsl(case: &Case) -> String {
    print(case).text
}

/// The shader of a case, with the place of each statement.
pub fn print(case: &Case) -> Printed<'_> {
    let plans: Vec<Plan> = case.program.functions.iter().map(|function| plan(case, function)).collect();
    let mut uses = plans.iter().fold(Uses::default(), |uses, plan| uses.and(plan.uses));
    // The prologue uses these.
    uses.add_category(Category::Basic);
    uses.add_category(Category::Ballot);

    for array in &case.program.shared {
        uses.scalars |= 1 << array.scalar as u16;
    }

    let copies_constants = copies_constants(case, uses.scalars);
    let out = String::with_capacity(8192);
    let mut printer = Printer { case, out, line: 1, depth: 0, places: Vec::new(), copies_constants };
    printer.header(uses);
    let header = printer.line;
    let structs: BTreeSet<Type> = plans.iter().flat_map(|plan| plan.structs.iter().copied()).collect();
    structs.into_iter().for_each(|ty| printer.structure(ty));
    let helpers: BTreeSet<(Intrinsic, Type)> = plans.iter().flat_map(|plan| plan.helpers.iter().copied()).collect();
    helpers.into_iter().for_each(|(op, ty)| printer.helper(op, ty));
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

/// An expression of a function of the case, as the shader says it.
pub fn expression(case: &Case, function: &Function, expr: &Expr) -> String {
    let mut printer =
        Printer { case, out: String::new(), line: 1, depth: 0, places: Vec::new(), copies_constants: false };
    Body { printer: &mut printer, function, declared: Vec::new() }.expr(expr, Context::Open);
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
    header: usize,
    /// The lines at the beginning of `main` that record the lane map.
    prologue: Range<usize>,
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
enum Declared {
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
struct Plan {
    /// For each variable, parameters included.
    declared: Vec<Declared>,
    uses: Uses,
    /// The struct types that are mentioned.
    structs: BTreeSet<Type>,
    /// The functions of several results of which one is used, with the types of their operands.
    helpers: BTreeSet<(Intrinsic, Type)>,
}

/// What a function, or a whole shader, has to declare.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    /// Bit `category as u16`.
    categories: u16,
    /// Bit `scalar as u16`: a type that is mentioned.
    scalars: u16,
    /// Bit `scalar as u16`: a type that a subgroup operation works on.
    operated: u16,
    /// Bit n: an entry of n words besides the site is logged.
    entries: u64,
    /// Bit `scalar as u16`: a type of a logged value.
    logged: u16,
    lane: bool,
    subgroup_size: bool,
    workgroup_index: bool,
    inputs: bool,
    uniforms: bool,
    push: bool,
    /// Bit `k`: specialisation constant `k`.
    constants: u32,
    /// A control-flow attribute.
    attributes: bool,
    /// What the compiler may expect or assume.
    hints: bool,
    /// Integer dot products.
    dots: bool,
}

impl Uses {
    fn and(self, other: Uses) -> Uses {
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
        }
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
    function: &'a Function,
    uses: Uses,
    /// For each variable: how often it was mentioned so far.
    mentions: Vec<u32>,
    /// The locals that the statement that mentions them first can declare.
    at_first_mention: Vec<VarId>,
    /// Loop counters, and how often they are mentioned by their loops (in the head, too, but not in the initial value).
    inside_loops: Vec<(VarId, u32)>,
    structs: BTreeSet<Type>,
    helpers: BTreeSet<(Intrinsic, Type)>,
}

/// True if several workgroups have their slices in the array.
fn is_sliced(case: &Case, array: &Shared) -> bool {
    !array.storage.is_workgroup() && case.entry_point.groups() != 1
}

fn plan(case: &Case, function: &Function) -> Plan {
    let mut planner = Planner {
        case,
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
            Stmt::Break | Stmt::Continue | Stmt::Sync(_) => {}
        }
    }

    fn array(&mut self, array: ArrayId) {
        let array = self.case.program.shared.get(array as usize);
        self.uses.workgroup_index |= array.is_some_and(|array| is_sliced(self.case, array));
    }

    fn repeated(&mut self, l: &Loop) {
        self.uses.attributes |= !l.control.is_unspecified();
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
            Expr::Intrinsic(Intrinsic::Expect, _) => self.uses.hints = true,
            Expr::Intrinsic(op, _) if op.is_dot() => self.uses.dots = true,
            Expr::Intrinsic(op @ (Intrinsic::MulHigh | Intrinsic::AddCarry | Intrinsic::SubBorrow), args) => {
                self.helpers.extend(args.first().and_then(|arg| arg.ty(self.function)).map(|ty| (*op, ty)));
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
fn entry_words(values: &[Expr], function: &Function) -> u64 {
    values.iter().map(|value| value_words(value, function)).sum::<u64>().min(MAX_ENTRY_WORDS)
}

/// Where an expression stands: decides whether it needs parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Context {
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
    fn needs_parentheses(self, expr: &Expr) -> bool {
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
struct Printer<'a> {
    case: &'a Case,
    out: String,
    /// Number of the line that is being written, from 1.
    line: usize,
    depth: usize,
    places: Vec<(usize, &'a Stmt)>,
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

impl<'a> Printer<'a> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn start_line(&mut self) {
        for _ in 0..self.depth {
            self.out.push_str("    ");
        }
    }

    fn end_line(&mut self) {
        self.out.push('\n');
        self.line += 1;
    }

    fn blank_line(&mut self) {
        self.end_line();
    }

    /// ` {` and the end of the line.
    fn open(&mut self) {
        self.put(" {");
        self.end_line();
        self.depth += 1;
    }

    /// `}` on a line that is not ended yet.
    fn close(&mut self) {
        self.depth -= 1;
        self.start_line();
        self.put("}");
    }

    fn header(&mut self, uses: Uses) {
        put_line!(self, "#version 450");
        let mut last = "";
        for category in Category::ALL {
            let extension = spelling::extension(category);
            // Two categories share an extension; they are neighbours.
            if uses.has_category(category) && extension != last {
                put_line!(self, "#extension {extension} : require");
                last = extension;
            }
        }
        for (family, used) in [
            ("GL_EXT_shader_explicit_arithmetic_types", uses.scalars),
            ("GL_EXT_shader_subgroup_extended_types", uses.operated),
        ] {
            // The signed and the unsigned type of one size are neighbours.
            let mut last = "";
            let used = Scalar::ALL.into_iter().filter(|&scalar| used >> scalar as u16 & 1 == 1);
            for ending in used.filter_map(|scalar| spelling::scalar(scalar).extension) {
                if ending != last {
                    put_line!(self, "#extension {family}_{ending} : require");
                    last = ending;
                }
            }
        }
        if self.case.program.shared.iter().any(|array| array.scalar.size() == 64) {
            put_line!(self, "#extension GL_EXT_shader_atomic_int64 : require");
        }
        if uses.hints {
            put_line!(self, "#extension GL_EXT_expect_assume : require");
        }
        if uses.dots {
            put_line!(self, "#extension GL_EXT_integer_dot_product : require");
        }
        if uses.attributes {
            put_line!(self, "#extension GL_EXT_control_flow_attributes : require");
        }
        match self.case.tier {
            Tier::Plain => {}
            Tier::SubgroupUniform => put_line!(self, "#extension GL_EXT_subgroup_uniform_control_flow : require"),
            Tier::Maximal => put_line!(self, "#extension GL_EXT_maximal_reconvergence : require"),
        }
        self.blank_line();
        self.local_size();
        self.constants(uses.constants);
        self.buffers(uses);
        let (shared, in_buffer): (Vec<&Shared>, Vec<&Shared>) =
            self.case.program.shared.iter().partition(|array| array.storage.is_workgroup());
        if !in_buffer.is_empty() {
            put!(self, "layout(set = 0, binding = {}, std430) coherent buffer Arrays {{", interface::ARRAYS);
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

    fn local_size(&mut self) {
        let Launch::Workgroups(Workgroups { size: [x, y, z], default_size, .. }) = self.case.entry_point.launch;
        match default_size {
            None => put_line!(self, "layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;"),
            Some([dx, dy, dz]) => {
                put_line!(self, "// Specialised to {x}, {y}, {z}.");
                put_line!(self, "layout(local_size_x = {dx}, local_size_y = {dy}, local_size_z = {dz}) in;");
                put_line!(self, "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;");
            }
        }
    }

    fn constants(&mut self, used: u32) {
        for (k, SpecConstant { default, value }) in self.case.data.constants.iter().enumerate() {
            if used >> k.min(31) & 1 == 1 {
                let id = interface::FIRST_CONSTANT as usize + k;
                put_line!(
                    self,
                    "layout(constant_id = {id}) const uint SPEC{k} = {default}u; // Specialised to {value}u."
                );
            }
        }
    }

    fn buffers(&mut self, uses: Uses) {
        use interface::{INPUTS, LOG, MAP, UNIFORMS};
        let data = &self.case.data;
        if uses.inputs {
            put_line!(
                self,
                "layout(set = 0, binding = {INPUTS}, std430) readonly buffer Inputs {{ uint input_words[]; }};"
            );
        }
        if uses.uniforms {
            let size = data.uniforms.len().div_ceil(4);
            put_line!(
                self,
                "layout(set = 0, binding = {UNIFORMS}, std140) uniform Uniforms {{ uvec4 uniform_words[{size}]; }};"
            );
        }
        if uses.push {
            put_line!(self, "layout(push_constant) uniform Push {{ uint push_words[{}]; }};", data.push.len());
        }
        put_line!(self, "layout(set = 0, binding = {MAP}, std430) writeonly buffer Map {{ uint map_words[]; }};");
        put_line!(self, "layout(set = 0, binding = {LOG}, std430) writeonly buffer Log {{ uint log_words[]; }};");
    }

    fn log_macros(&mut self, uses: Uses) {
        let entries = uses.entries;
        put_line!(self, "uint log_base;");
        put_line!(self, "uint cursor;");
        put_line!(self, "uint entry;");
        self.blank_line();
        self.word_macros(uses.logged);
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
        put_line!(self, "struct {} {{ {} {}; }};", TypeName(ty), TypeName(member), members.join(", "));
    }

    fn function(&mut self, function: &'a Function, plan: Plan) {
        self.blank_line();
        match function.result {
            Some(ty) => put!(self, "{} {}(", TypeName(ty), function.name),
            None => put!(self, "void {}(", function.name),
        }
        for (i, param) in function.params.iter().enumerate() {
            let direction = match param.direction {
                Direction::In => "",
                Direction::Out => "out ",
                Direction::Inout => "inout ",
            };
            let separator = if i == 0 { "" } else { ", " };
            put!(self, "{separator}{direction}{} {}", TypeName(param.ty), param.name);
        }
        self.put(")");
        self.open();
        for param in function.params.iter().filter(|param| param.direction == Direction::Out) {
            put_line!(self, "{} = {};", param.name, Zero(param.ty));
        }
        self.builtin_copies(plan.uses);
        Body { printer: self, function, declared: plan.declared }.print();
        self.close();
        self.end_line();
    }

    /// Gives the lines of the prologue.
    fn main(&mut self, main: &'a Function, plan: Plan, uses: Uses) -> Range<usize> {
        self.blank_line();
        self.put("void main()");
        self.put(match self.case.tier {
            Tier::Plain => "",
            Tier::SubgroupUniform => " [[subgroup_uniform_control_flow]]",
            Tier::Maximal => " [[maximally_reconverges]]",
        });
        self.open();
        let first = self.line;
        self.prologue(uses);
        if !main.body.is_empty() {
            self.blank_line();
        }
        let prologue = first..self.line;
        Body { printer: self, function: main, declared: plan.declared }.print();
        self.close();
        self.end_line();
        prologue
    }

    /// Records the lane map while the lanes of a subgroup still execute everything together (docs/rules.md, section M).
    fn prologue(&mut self, uses: Uses) {
        self.builtin_copies(Uses { lane: true, subgroup_size: true, workgroup_index: true, ..uses });
        let invocations = self.case.entry_point.group_size();
        put_line!(self, "invocation = workgroup_index * {invocations}u + gl_LocalInvocationIndex;");
        if uses.entries != 0 {
            put_line!(self, "log_base = invocation * {}u;", log_stride(self.case));
            put_line!(self, "cursor = 0u;");
        }
        put_line!(self, "uvec4 entry_mask = subgroupBallot(true);");
        put_line!(self, "uint entry_token = subgroupBroadcastFirst(gl_LocalInvocationIndex);");
        put_line!(self, "uint map_base = invocation * {}u;", interface::MAP_WORDS);
        const RECORD: [&str; interface::MAP_WORDS - 1] = [
            "lane",
            "subgroup_size",
            "gl_SubgroupID",
            "gl_NumSubgroups",
            "entry_token",
            "entry_mask.x",
            "entry_mask.y",
            "entry_mask.z",
            "entry_mask.w",
        ];
        for (i, word) in RECORD.iter().enumerate() {
            put_line!(self, "map_words[map_base + {i}u] = {word};");
        }
        put_line!(self, "map_words[map_base + {}u] = 0x{:X}u;", RECORD.len(), interface::MAP_WRITTEN);
        self.arrays_begin();
    }

    /// Fills the arrays: in shared memory they hold undefined values at first.
    fn arrays_begin(&mut self) {
        let invocations = self.case.entry_point.group_size();
        for array in &self.case.program.shared {
            let Shared { name, scalar, len, init, .. } = array;
            let init = match scalar {
                Scalar::Uint => format!("{init}u"),
                _ => format!("{}({init}u)", spelling::scalar(*scalar).name),
            };
            let slice = self.slice(array);
            if *len == invocations {
                put_line!(self, "{name}[{slice}gl_LocalInvocationIndex] = {init};");
            } else {
                // Nothing that a program may name is mentioned in the loop but the array and the workgroup's index.
                let head = format!("uint slot = gl_LocalInvocationIndex; slot < {len}u; slot += {invocations}u");
                put_line!(self, "for ({head}) {name}[{slice}slot] = {init};");
            }
        }
        if !self.case.program.shared.is_empty() {
            self.start_line();
            self.barrier();
            self.end_line();
        }
    }

    /// What comes before an index, so that a workgroup keeps to its slice of an array in a buffer.
    fn slice(&self, array: &Shared) -> String {
        if is_sliced(self.case, array) { format!("workgroup_index * {}u + ", array.len) } else { String::new() }
    }

    fn barrier(&mut self) {
        let in_buffer = self.case.program.shared.iter().any(|array| !array.storage.is_workgroup());
        self.put(if in_buffer { "memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();" } else { "barrier();" });
    }

    /// The copies that take mediump away (rules P14 and P15), and the index of the workgroup in the dispatch.
    fn builtin_copies(&mut self, uses: Uses) {
        if uses.lane {
            put_line!(self, "uint lane = gl_SubgroupInvocationID;");
        }
        if uses.subgroup_size {
            put_line!(self, "uint subgroup_size = gl_SubgroupSize;");
        }
        if uses.workgroup_index {
            let [x, y, z] = self.case.entry_point.workgroups().count;
            self.start_line();
            self.put("uint workgroup_index = gl_WorkGroupID.x");
            if y != 1 {
                put!(self, " + {x}u * gl_WorkGroupID.y");
            }
            if z != 1 {
                put!(self, " + {}u * gl_WorkGroupID.z", x.wrapping_mul(y));
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
const fn words_of(scalar: Scalar) -> &'static [(&'static str, &'static str)] {
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

/// Prints the statements of one function.
struct Body<'p, 'a> {
    printer: &'p mut Printer<'a>,
    function: &'a Function,
    declared: Vec<Declared>,
}

impl<'a> Body<'_, 'a> {
    fn print(mut self) {
        let function = self.function;
        for (i, local) in (function.params.len()..).zip(&function.locals) {
            if self.declared[i] == Declared::AtTop {
                let ty = TypeName(local.ty);
                put_line!(self.printer, "{}{ty} {} = {};", qualifier(local), local.name, Zero(local.ty));
            }
        }
        self.block(&function.body);
    }

    fn put(&mut self, text: &str) {
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
                self.put(spelling::selection_control(*control));
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
            Stmt::Sync(sync) => put!(self.printer, "{}();", spelling::sync(*sync)),
            Stmt::SetElement { var, index, value } => {
                self.var(*var);
                self.index(self.function.var_type(*var), index);
                self.put(" = ");
                self.expr(value, Context::Open);
                self.put(";");
            }
            Stmt::Store { array, value } => {
                self.element_of(*array);
                self.put("gl_LocalInvocationIndex] = ");
                self.expr(value, Context::Open);
                self.put(";");
            }
            Stmt::Atomic(atomic) => self.atomic(atomic),
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
            | Stmt::Assume(_) => {}
        }
    }

    fn simple_in_list(&mut self, stmt: &'a Stmt) {
        self.place(stmt);
        self.simple(stmt);
    }

    /// `var = `, with the type if this declares the variable.
    fn assigned(&mut self, var: VarId) {
        if let Some(declared @ Declared::AtFirstMention) = self.declared.get_mut(var as usize) {
            *declared = Declared::Already;
            let local = (var as usize).checked_sub(self.function.params.len());
            if let Some(local) = local.and_then(|local| self.function.locals.get(local)) {
                put!(self.printer, "{}{} ", qualifier(local), TypeName(local.ty));
            }
        }
        self.var(var);
        self.put(" = ");
    }

    fn var(&mut self, var: VarId) {
        match self.function.var_name(var) {
            Some(name) => self.printer.put(name),
            None => put!(self.printer, "no_variable_{var}"),
        }
    }

    /// `array[`, and where the slice of the workgroup begins.
    fn element_of(&mut self, array: ArrayId) {
        match self.printer.case.program.shared.get(array as usize) {
            Some(array) => {
                let slice = self.printer.slice(array);
                put!(self.printer, "{}[{slice}", array.name);
            }
            None => put!(self.printer, "no_array_{array}["),
        }
    }

    /// The context of an index behind [`Self::element_of`].
    fn index_context(&self, array: ArrayId) -> Context {
        let case = self.printer.case;
        let is_sum = case.program.shared.get(array as usize).is_some_and(|array| is_sliced(case, array));
        if is_sum { Context::Right(BinaryOp::Add) } else { Context::Open }
    }

    fn atomic(&mut self, atomic: &'a Atomic) {
        if let Some(dest) = atomic.dest {
            self.assigned(dest);
        }
        put!(self.printer, "{}(", spelling::atomic(atomic.op));
        self.element_of(atomic.array);
        self.expr(&atomic.index, self.index_context(atomic.array));
        self.put("]");
        for operand in atomic.compare.iter().chain([&atomic.value]) {
            self.put(", ");
            self.expr(operand, Context::Open);
        }
        self.put(");");
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
            Some(callee) => self.printer.put(&callee.name),
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
        self.put(spelling::selection_control(*control));
        self.put("if (");
        self.expr(cond, Context::Open);
        self.put(")");
        self.nested(then);
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
            for label in &arm.labels {
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
                self.printer.end_line();
            }
            self.printer.depth += 1;
            self.block(&arm.body);
            self.printer.depth -= 1;
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
        if !matches!(l.kind, LoopKind::For { .. }) {
            self.printer.start_line();
            self.assigned(l.counter);
            self.put("0u;");
            self.printer.end_line();
        }
        self.place(stmt);
        self.printer.start_line();
        self.put(spelling::loop_control(l.control));
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

    fn int(&mut self, value: i32) {
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

    fn expr(&mut self, expr: &Expr, context: Context) {
        let parentheses = context.needs_parentheses(expr);
        if parentheses {
            self.put("(");
        }
        match expr {
            Expr::Bool(value) => self.put(if *value { "true" } else { "false" }),
            Expr::Int(value) => self.int(*value),
            Expr::Uint(value) => self.uint(*value),
            Expr::Float(scalar, quarters) => {
                put!(self.printer, "{:?}{}", f64::from(*quarters) / 4.0, spelling::scalar(*scalar).suffix);
            }
            Expr::Var(var) => self.var(*var),
            Expr::Builtin(builtin) => self.put(spelling::builtin(*builtin)),
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
                self.put(spelling::intrinsic(*op));
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
            Expr::Load(load) => {
                self.element_of(load.array);
                self.expr(&load.index, self.index_context(load.array));
                self.put("]");
            }
            Expr::Subgroup(SubgroupCall { op, args, cluster }) => {
                self.put(op.info().name);
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
    fn list(&mut self, args: &[impl std::borrow::Borrow<Expr>]) {
        self.put("(");
        self.items(args);
        self.put(")");
    }

    /// `a, b, c`
    fn items(&mut self, args: &[impl std::borrow::Borrow<Expr>]) {
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            self.expr(arg.borrow(), Context::Open);
        }
    }
}
