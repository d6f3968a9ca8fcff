//! Prints a case as a compute shader in GLSL 4.50, for compilers and for people.
//!
//! A shader is, in this order: extensions, interface ([`crate::case::interface`]), the log macros, the functions. `main` begins
//! with the prologue that records the lane map before any control flow (semantics.md §2.3). What a shader does not use it does not
//! declare.
//!
//! The text means exactly what the tree says:
//!
//! - Every local starts at zero at every call. It is declared with `= 0u` at the top of its function, unless the
//!   first mention already writes it: an assignment at the top level of the function that does not read it, or the loop that it counts.
//! - `gl_SubgroupInvocationID` and `gl_SubgroupSize` are mediump in glslang; each function works on highp copies of them
//!   (semantics.md §1.1).
//! - A log entry is written by comma expressions with one `cursor++` each, so that no order of evaluation is left open
//!   (GLSL 4.60 §5.9), and nothing that is logged is evaluated twice.
//! - Operators stand in parentheses wherever precedence (GLSL 4.60 §5.1) is needed, and where a reader would have to think.

use std::fmt::Write;

use crate::bounds::value_words;
use crate::case::{Case, Tier, interface};
use crate::ops::{BinaryOp, UnaryOp};
use crate::subgroup::Category;
use crate::tree::{
    Arg, Arm, Block, Builtin, Direction, Expr, Function, Label, Loop, LoopKind, SiteId, Stmt, SubgroupCall, Test, VarId,
};
use crate::types::{Scalar, Type};

/// The names that a printed shader uses for itself, besides `LOG0`, `LOG1` and so on. A program must not use them.
pub const OWN_NAMES: [&str; 20] = [
    "Inputs",
    "Log",
    "Map",
    "Push",
    "Uniforms",
    "WORD",
    "cursor",
    "entry_mask",
    "entry_token",
    "input_words",
    "invocation",
    "lane",
    "log_words",
    "main",
    "map_base",
    "map_words",
    "push_words",
    "subgroup_size",
    "uniform_words",
    "workgroup_index",
];

/// The shader of a case.
pub fn glsl(case: &Case) -> String {
    print(case).text
}

/// The shader of a case, with the place of each statement.
pub fn print(case: &Case) -> Printed<'_> {
    let plans: Vec<Plan> = case.program.functions.iter().map(plan).collect();
    let mut printer = Printer {
        case,
        out: String::with_capacity(4096),
        line: 1,
        depth: 0,
        places: Vec::new(),
        function: None,
        declarations: Vec::new(),
    };
    printer.header(&plans);
    for (index, (function, plan)) in case.program.functions.iter().zip(&plans).enumerate() {
        printer.function(function, plan, index + 1 == plans.len());
    }
    Printed { text: printer.out, places: printer.places }
}

/// A printed shader.
#[derive(Clone, Debug)]
pub struct Printed<'a> {
    /// The source text.
    pub text: String,
    /// Every statement in the order of the text, with the number of the line that it begins on. A line has several where
    /// statements stand in the head of a loop.
    pub places: Vec<(usize, &'a Stmt)>,
}

impl<'a> Printed<'a> {
    /// The line, counted from 1, on which an observation point stands.
    pub fn line_of_site(&self, site: SiteId) -> Option<usize> {
        let at = |stmt: &Stmt| matches!(stmt, Stmt::Log { site: s, .. } if *s == site);
        self.places.iter().find(|(_, stmt)| at(stmt)).map(|(line, _)| *line)
    }

    /// The statements that begin on a line, counted from 1.
    pub fn statements_on(&self, line: usize) -> impl Iterator<Item = &'a Stmt> {
        let first = self.places.partition_point(|(l, _)| *l < line);
        self.places[first..].iter().take_while(move |(l, _)| *l == line).map(|(_, stmt)| *stmt)
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

/// Where the declaration of a local stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declared {
    /// Nowhere: it is not mentioned.
    Never,
    /// At the top of the function.
    AtTop,
    /// In the statement that mentions it first, or just before it if that is a loop.
    AtFirstMention,
    /// Already.
    Done,
}

/// What has to be known of a function before it can be printed.
#[derive(Debug, Default)]
struct Plan {
    /// For each variable, parameters included.
    declared: Vec<Declared>,
    uses: Uses,
}

/// What a function, or a whole shader, has to declare.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    /// Bit `category as u16`.
    categories: u16,
    /// Bit n: an entry of n words besides the site is logged.
    entries: u64,
    lane: bool,
    subgroup_size: bool,
    workgroup_index: bool,
    inputs: bool,
    uniforms: bool,
    push: bool,
}

impl Uses {
    fn and(self, other: Uses) -> Uses {
        Uses {
            categories: self.categories | other.categories,
            entries: self.entries | other.entries,
            lane: self.lane | other.lane,
            subgroup_size: self.subgroup_size | other.subgroup_size,
            workgroup_index: self.workgroup_index | other.workgroup_index,
            inputs: self.inputs | other.inputs,
            uniforms: self.uniforms | other.uniforms,
            push: self.push | other.push,
        }
    }

    fn add_category(&mut self, category: Category) {
        self.categories |= 1 << category as u16;
    }

    fn has_category(&self, category: Category) -> bool {
        self.categories >> category as u16 & 1 == 1
    }
}

/// Goes through the statements of a function in the order of the text; finds out where its locals are declared and what it uses.
struct Planner<'a> {
    function: &'a Function,
    uses: Uses,
    /// For each variable: how often it was mentioned so far.
    mentions: Vec<u32>,
    /// The locals that the statement that mentions them first can declare.
    at_first_mention: Vec<VarId>,
    /// Loop counters, and how often they are mentioned inside their loops (in the head, too, but not in the initial value).
    inside_loops: Vec<(VarId, u32)>,
}

fn plan(function: &Function) -> Plan {
    let mut planner = Planner {
        function,
        uses: Uses::default(),
        mentions: vec![0; function.var_count()],
        at_first_mention: Vec::new(),
        inside_loops: Vec::new(),
    };
    function.body.iter().for_each(|stmt| planner.top_level(stmt));
    let Planner { uses, mentions, at_first_mention, inside_loops, .. } = planner;
    let mut declared: Vec<Declared> =
        mentions.iter().map(|&n| if n == 0 { Declared::Never } else { Declared::AtTop }).collect();
    // A counter that lives only inside its loop is declared with it, wherever the loop stands.
    let only_inside = |&(counter, inside): &(VarId, u32)| mentions.get(counter as usize) == Some(&inside);
    for var in inside_loops.into_iter().filter(only_inside).map(|(counter, _)| counter).chain(at_first_mention) {
        declared[var as usize] = Declared::AtFirstMention;
    }
    declared[..function.params.len()].fill(Declared::Done);
    Plan { declared, uses }
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
            _ => None,
        };
        let first = written.filter(|&var| self.mentions(var) == 0);
        self.stmt(stmt);
        let is_loop = matches!(stmt, Stmt::Loop(_));
        self.at_first_mention.extend(first.filter(|&var| is_loop || self.mentions(var) == 1));
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
                values.iter().for_each(|value| self.expr(value));
            }
            Stmt::If { cond, then, otherwise } => {
                self.expr(cond);
                self.block(then);
                self.block(otherwise);
            }
            Stmt::Switch { selector, arms } => {
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
            Stmt::Break | Stmt::Continue => {}
        }
    }

    fn repeated(&mut self, l: &Loop) {
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
            Expr::Push(_) => self.uses.push = true,
            _ => {}
        }
        if let Some(category) = category_of(expr) {
            self.uses.add_category(category);
        }
        expr.for_each_child(|child| self.expr(child));
    }
}

/// Words of a log entry besides the site. A valid one has at most [`MAX_ENTRY_WORDS`].
fn entry_words(values: &[Expr], function: &Function) -> u64 {
    values.iter().map(|value| value_words(value, function)).sum::<u64>().min(MAX_ENTRY_WORDS)
}

/// How tightly an operand must bind to stand without parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Context {
    /// Between commas or parentheses.
    Anything,
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
    /// Precedence decides, except that operators which readers mix up are kept apart.
    fn needs_parentheses(self, expr: &Expr) -> bool {
        let is_binary = matches!(expr, Expr::Binary(..));
        let is_select = matches!(expr, Expr::Select(..));
        match self {
            Context::Anything => false,
            Context::Conditional => is_select,
            Context::Left(op) => is_select || matches!(expr, Expr::Binary(inner, ..) if !reads_well(op, *inner, Side::Left)),
            Context::Right(op) => {
                is_select || matches!(expr, Expr::Binary(inner, ..) if !reads_well(op, *inner, Side::Right))
            }
            // `--x` would be a decrement.
            Context::Unary(UnaryOp::Neg) => is_binary || is_select || begins_with_minus(expr),
            Context::Unary(UnaryOp::BitNot | UnaryOp::Not) => is_binary || is_select,
            Context::Postfix => is_binary || is_select || matches!(expr, Expr::Unary(..)),
        }
    }
}

fn begins_with_minus(expr: &Expr) -> bool {
    matches!(expr, Expr::Unary(UnaryOp::Neg, _) | Expr::Int(..=-1))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// True if the operator may stand without parentheses as an operand of another one.
fn reads_well(outer: BinaryOp, inner: BinaryOp, side: Side) -> bool {
    use BinaryOp::{Add, Div, Mod, Mul, Sub};
    let sum = |op| matches!(op, Add | Sub);
    let product = |op| matches!(op, Mul | Div | Mod);
    let groups_left = sum(outer) && sum(inner) || product(outer) && product(inner) || outer == inner;
    match outer {
        Add | Sub if product(inner) => true,
        _ if outer.is_comparison() => sum(inner) || product(inner),
        _ if outer.is_logical() && inner.is_comparison() => true,
        _ => side == Side::Left && groups_left && !outer.is_shift(),
    }
}

struct Printer<'a> {
    case: &'a Case,
    out: String,
    line: usize,
    depth: usize,
    places: Vec<(usize, &'a Stmt)>,
    /// The function being printed.
    function: &'a Function,
    declared: Vec<Declared>,
}

/// `write!` to the text.
macro_rules! put {
    ($printer:expr, $($arg:tt)*) => {
        write!($printer.out, $($arg)*).expect("a String takes everything")
    };
}

impl<'a> Printer<'a> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn start_line(&mut self) {
        for _ in 0..self.depth {
            self.put("    ");
        }
    }

    fn end_line(&mut self) {
        self.out.push('\n');
        self.line += 1;
    }

    fn line(&mut self, text: &str) {
        if !text.is_empty() {
            self.start_line();
        }
        self.put(text);
        self.end_line();
    }

    fn open(&mut self) {
        self.put(" {");
        self.end_line();
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.start_line();
        self.put("}");
    }

    fn header(&mut self, uses: Uses) {
        self.line("#version 450");
        let mut last = "";
        for category in Category::ALL {
            let extension = category.extension();
            if uses.has_category(category) && extension != last {
                put!(self, "#extension {extension} : require");
                self.end_line();
                last = extension;
            }
        }
        match self.case.tier {
            Tier::Plain => {}
            Tier::SubgroupUniform => self.line("#extension GL_EXT_subgroup_uniform_control_flow : require"),
            Tier::Maximal => self.line("#extension GL_EXT_maximal_reconvergence : require"),
        }
        self.line("");
        let [x, y, z] = self.case.launch.workgroup;
        put!(self, "layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;");
        self.end_line();
        self.buffers(uses);
        self.line("");
        self.log_macros(uses);
    }

    fn buffers(&mut self, uses: Uses) {
        use interface::{INPUTS, LOG, MAP, UNIFORMS};
        let data = &self.case.data;
        if uses.inputs {
            put!(self, "layout(set = 0, binding = {INPUTS}, std430) readonly buffer Inputs {{ uint input_words[]; }};");
            self.end_line();
        }
        if uses.uniforms {
            let vectors = data.uniforms.len().div_ceil(4);
            put!(
                self,
                "layout(set = 0, binding = {UNIFORMS}, std140) uniform Uniforms {{ uvec4 uniform_words[{vectors}]; }};"
            );
            self.end_line();
        }
        if uses.push {
            put!(self, "layout(push_constant) uniform Push {{ uint push_words[{}]; }};", data.push.len());
            self.end_line();
        }
        put!(self, "layout(set = 0, binding = {MAP}, std430) writeonly buffer Map {{ uint map_words[]; }};");
        self.end_line();
        put!(self, "layout(set = 0, binding = {LOG}, std430) writeonly buffer Log {{ uint log_words[]; }};");
        self.end_line();
    }

    fn log_macros(&mut self, uses: Uses) {
        self.line("uint invocation;");
        if uses.entries == 0 {
            return;
        }
        self.line("uint cursor;");
        let capacity = self.case.log_capacity();
        put!(
            self,
            "#define WORD(x) log_words[invocation * {capacity}u + (cursor++ & {}u)] = uint(x)",
            capacity - 1
        );
        self.end_line();
        for words in (0..=MAX_ENTRY_WORDS).filter(|words| uses.entries >> words & 1 == 1) {
            put!(self, "#define LOG{words}(site");
            (1..=words).for_each(|i| put!(self, ", x{i}"));
            self.put(") (WORD(site)");
            (1..=words).for_each(|i| put!(self, ", WORD(x{i})"));
            self.put(")");
            self.end_line();
        }
    }

    fn main(&mut self, main: &'a Function, plan: Plan, uses: Uses) {
        self.line("");
        self.put("void main()");
        self.put(match self.case.tier {
            Tier::Plain => "",
            Tier::SubgroupUniform => " [[subgroup_uniform_control_flow]]",
            Tier::Maximal => " [[maximally_reconverges]]",
        });
        self.open();
        self.prologue(uses);
        let before = self.line;
        self.locals(main, plan);
        if !main.body.is_empty() && self.line == before {
            self.line("");
        }
        self.body(main);
    }

    /// Records the lane map while every invocation still executes the same instance (semantics.md §2.3).
    fn prologue(&mut self, uses: Uses) {
        self.builtin_copies(Uses { lane: true, subgroup_size: true, workgroup_index: true, ..Uses::default() });
        put!(self, "    invocation = workgroup_index * {}u + gl_LocalInvocationIndex;", self.case.launch.invocations());
        self.end_line();
        if uses.entries != 0 {
            self.line("cursor = 0u;");
        }
        self.line("uvec4 entry_mask = subgroupBallot(true);");
        self.line("uint entry_token = subgroupBroadcastFirst(gl_LocalInvocationIndex);");
        put!(self, "    uint map_base = invocation * {}u;", interface::MAP_WORDS);
        self.end_line();
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
            put!(self, "    map_words[map_base + {i}u] = {word};");
            self.end_line();
        }
        put!(self, "    map_words[map_base + {}u] = 0x{:X}u;", RECORD.len(), interface::MAP_WRITTEN);
        self.end_line();
    }

    fn function(&mut self, function: &'a Function, plan: Plan) {
        self.line("");
        match function.result {
            Some(ty) => put!(self, "{ty} {}(", function.name),
            None => put!(self, "void {}(", function.name),
        }
        for (i, param) in function.params.iter().enumerate() {
            self.put(if i == 0 { "" } else { ", " });
            self.put(match param.direction {
                Direction::In => "",
                Direction::Out => "out ",
                Direction::Inout => "inout ",
            });
            put!(self, "{} {}", param.ty, param.name);
        }
        self.put(")");
        self.open();
        for param in function.params.iter().filter(|param| param.direction == Direction::Out) {
            self.start_line();
            put!(self, "{} = ", param.name);
            self.zero(param.ty);
            self.put(";");
            self.end_line();
        }
        self.builtin_copies(plan.uses);
        self.locals(function, plan);
        self.body(function);
    }

    /// The copies that take mediump away (semantics.md §1.1), and the index of the workgroup in the dispatch.
    fn builtin_copies(&mut self, uses: Uses) {
        if uses.lane {
            self.line("uint lane = gl_SubgroupInvocationID;");
        }
        if uses.subgroup_size {
            self.line("uint subgroup_size = gl_SubgroupSize;");
        }
        if uses.workgroup_index {
            let [x, y, z] = self.case.launch.groups;
            self.put("    uint workgroup_index = gl_WorkGroupID.x");
            if y != 1 {
                put!(self, " + {x}u * gl_WorkGroupID.y");
            }
            if z != 1 {
                put!(self, " + {}u * gl_WorkGroupID.z", x.wrapping_mul(y));
            }
            self.put(";");
            self.end_line();
        }
    }

    fn locals(&mut self, function: &'a Function, plan: Plan) {
        self.function = function;
        self.declared = plan.declared;
        for (local, declared) in function.locals.iter().zip(&plan_locals(&self.declared, function)) {
            if *declared == Declared::AtTop {
                self.start_line();
                put!(self, "{} {} = ", local.ty, local.name);
                self.zero(local.ty);
                self.put(";");
                self.end_line();
            }
        }
    }
}
