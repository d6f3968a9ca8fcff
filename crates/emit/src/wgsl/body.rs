//! Statements and expressions of one function.

use std::fmt::Write;

use tangle_program::case::Case;
use tangle_program::memory::Sync;
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::tree::{
    Arg, Arm, Atomic, Block, Direction, Expr, Function, Label, Loop, LoopKind, Stmt, SubgroupCall, Test, VarId,
    walk_block,
};
use tangle_program::types::{Scalar, Type};

use super::share::contains_return;
use super::spelling::{self, TypeName, Wave};
use crate::glsl::precedence::Context;
use crate::glsl::shader::{parts, words_of};
use crate::plan::{Declared, entry_words};
use crate::printer::{NOTHING, Printer, indexed_member, indices_of, put, put_line};

/// Prints the statements of one function.
pub(super) struct Body<'p, 'a> {
    printer: &'p mut Printer<'a>,
    function: &'a Function,
    declared: Vec<Declared>,
    /// True where all invocations of the workgroup are known to be together.
    is_uniform: bool,
}

impl<'p, 'a> Body<'p, 'a> {
    pub(super) fn new(
        printer: &'p mut Printer<'a>,
        function: &'a Function,
        declared: Vec<Declared>,
        is_uniform: bool,
    ) -> Body<'p, 'a> {
        Body { printer, function, declared, is_uniform }
    }

    pub(super) fn print(mut self) {
        let function = self.function;
        for (i, local) in (function.params.len()..).zip(&function.locals) {
            if self.declared[i] == Declared::AtTop {
                let (name, ty) = (spelling::name(&local.name), TypeName(local.ty));
                put_line!(self.printer, "var {name}: {ty};");
            }
        }
        for stmt in &function.body {
            self.stmt(stmt);
            self.is_uniform &= !contains_return(stmt);
        }
    }

    fn put(&mut self, text: &str) {
        self.printer.put(text);
    }

    fn line(&mut self, text: &str) {
        put_line!(self.printer, "{text}");
    }

    /// Where invocations may have parted.
    fn apart(&mut self, print: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.is_uniform, false);
        print(self);
        self.is_uniform = before;
    }

    fn block(&mut self, block: &'a Block) {
        self.apart(|body| block.iter().for_each(|stmt| body.stmt(stmt)));
    }

    fn place(&mut self, stmt: &'a Stmt) {
        self.printer.places.push((self.printer.line, stmt));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::Loop(l) = stmt {
            return self.repeated(stmt, l);
        }
        self.place(stmt);
        self.printer.start_line();
        match stmt {
            Stmt::If { .. } => self.branch(stmt),
            Stmt::Switch { selector, arms, .. } => self.switch(selector, arms),
            Stmt::Break => self.put("break;"),
            Stmt::Continue => self.put("continue;"),
            Stmt::Return(None) => self.put("return;"),
            Stmt::Return(Some(value)) => {
                self.put("return ");
                self.expr(value, Context::Open);
                self.put(";");
            }
            Stmt::ControlBarrier(Sync::Barrier) => self.printer.wgsl_barrier(),
            Stmt::SetElement { var, index, inner, value } => {
                self.place_of(*var, true);
                let places = indices_of(self.function.var_type(*var), index, inner);
                places.for_each(|(of, index)| self.index(of, index));
                self.put(" = ");
                self.expr(value, Context::Open);
                self.put(";");
            }
            Stmt::Store { array, element, value } => {
                let atomic = is_atomic(self.printer.case, *array);
                self.put(if atomic { "atomicStore(&" } else { "" });
                self.element_of(*array);
                self.put("localIndex");
                if let Some(element) = element {
                    put!(
                        self.printer,
                        " * {}u + ",
                        self.printer.case.program.shared.get(*array as usize).map_or(1, |array| array.parts)
                    );
                    self.expr(element, Context::Right(BinaryOp::Add));
                }
                self.put(if atomic { "], " } else { "] = " });
                self.expr(value, Context::Open);
                self.put(if atomic { ");" } else { ";" });
            }
            Stmt::Atomic(atomic) => self.atomic(atomic),
            Stmt::Assign { .. } | Stmt::Log { .. } | Stmt::Call { .. } => {
                self.simple(stmt);
                self.put(";");
            }
            _ => {
                self.put(NOTHING);
                self.put(";");
            }
        }
        self.printer.end_line();
    }

    fn simple(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign { var, value } => {
                self.assigned(*var);
                self.expr(value, Context::Open);
            }
            Stmt::Log { site, values } => {
                put!(self.printer, "LOG{}({site}u", entry_words(values, self.function));
                values.iter().for_each(|value| self.logged(value));
                self.put(")");
            }
            Stmt::Call { function, args, dest } => {
                if let Some(dest) = dest {
                    self.assigned(*dest);
                }
                match self.printer.case.program.functions.get(*function as usize) {
                    Some(callee) => put!(self.printer, "{}(", spelling::name(&callee.name)),
                    None => put!(self.printer, "no_function_{function}("),
                }
                let several = args.len() > 1;
                for (i, arg) in args.iter().enumerate() {
                    self.put(if i > 0 { ", " } else { "" });
                    match arg {
                        Arg::In(value) => self.item(value, several),
                        Arg::Out(var) if self.is_pointer(*var) => self.name(*var),
                        Arg::Out(var) => {
                            self.put("&");
                            self.name(*var);
                        }
                    }
                }
                self.put(")");
            }
            // Nothing else stands in a line of its own.
            _ => self.put(NOTHING),
        }
    }

    fn logged(&mut self, value: &'a Expr) {
        let ty = value.ty(self.function).unwrap_or(Type::UINT);
        for part in parts(ty) {
            // WGSL has one word at most.
            let (before, after) = words_of(ty.scalar)[0];
            let (before, after) = match ty.scalar {
                Scalar::Uint => ("", ""),
                Scalar::Float16 => ("FLOAT_WORD(f32(", "))"),
                scalar if scalar.is_float() => (before, after),
                _ => ("u32(", ")"),
            };
            self.put(", ");
            self.put(before);
            let several = before.is_empty();
            match part.is_empty() {
                true => self.item(value, several),
                false => self.expr(value, Context::Postfix),
            }
            self.put(&part);
            self.put(after);
        }
    }

    /// True for the parameters that are pointers.
    fn is_pointer(&self, var: VarId) -> bool {
        self.function.params.get(var as usize).is_some_and(|param| param.direction != Direction::In)
    }

    fn name(&mut self, var: VarId) {
        match self.function.var_name(var) {
            Some(name) => self.printer.put(&spelling::name(name)),
            None => put!(self.printer, "no_variable_{var}"),
        }
    }

    /// A variable; `in_part` if something of it is asked for.
    fn place_of(&mut self, var: VarId, in_part: bool) {
        let pointer = self.is_pointer(var);
        self.put(match (pointer, in_part) {
            (true, true) => "(*",
            (true, false) => "*",
            (false, _) => "",
        });
        self.name(var);
        self.put(if pointer && in_part { ")" } else { "" });
    }

    /// `var = `, with `var` if this declares the variable.
    fn assigned(&mut self, var: VarId) {
        if let Some(declared @ Declared::AtFirstMention) = self.declared.get_mut(var as usize) {
            *declared = Declared::Already;
            self.put("var ");
        }
        self.place_of(var, false);
        self.put(" = ");
    }

    /// `array[`, and where the slice of the workgroup begins.
    fn element_of(&mut self, array: u32) {
        match self.printer.case.program.shared.get(array as usize) {
            Some(array) => {
                let (name, slice) = (spelling::array(array), self.printer.slice(array));
                put!(self.printer, "{name}[{slice}");
            }
            None => put!(self.printer, "no_array_{array}["),
        }
    }

    fn atomic(&mut self, atomic: &'a Atomic) {
        if let Some(dest) = atomic.dest {
            self.assigned(dest);
        }
        put!(self.printer, "{}(&", spelling::atomic(atomic.op).unwrap_or(NOTHING));
        self.element_of(atomic.array);
        self.expr(&atomic.index, Context::of_index(self.printer.case, atomic.array));
        self.put("], ");
        self.item(&atomic.value, true);
        self.put(");");
    }

    /// `if (…) { … } else if (…) { … } else { … }`, without the end of the last line.
    fn branch(&mut self, stmt: &'a Stmt) {
        let Stmt::If { cond, then, otherwise, .. } = stmt else { return };
        self.put("if (");
        self.expr(cond, Context::Open);
        self.put(")");
        self.nested(then);
        match otherwise.as_slice() {
            [] => {}
            [next @ Stmt::If { .. }] => {
                self.put(" else ");
                self.place(next);
                self.apart(|body| body.branch(next));
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
        self.put(")");
        self.printer.open();
        for arm in arms {
            self.printer.start_line();
            if arm.labels == [Label::Default] {
                self.put("default:");
            } else {
                self.put("case ");
                for (at, label) in arm.labels.iter().enumerate() {
                    self.put(if at > 0 { ", " } else { "" });
                    match label {
                        Label::Default => self.put("default"),
                        Label::Case(value) if scalar == Scalar::Int => self.int(*value as i32),
                        Label::Case(value) => self.uint(*value as u32),
                    }
                }
                self.put(":");
            }
            self.nested(&arm.body);
            self.printer.end_line();
        }
        if !arms.iter().any(|arm| arm.labels.contains(&Label::Default)) {
            self.line("default: {}");
        }
        self.printer.close();
    }

    fn repeated(&mut self, stmt: &'a Stmt, l: &'a Loop) {
        let before = l.test.as_ref().map_or(&[][..], |test| &test.before);
        match &l.kind {
            LoopKind::For { init, step, update } if before.is_empty() && update.is_empty() => {
                self.place(stmt);
                self.printer.start_line();
                self.put("for (");
                self.assigned(l.counter);
                self.expr(init, Context::Open);
                self.put("; ");
                self.apart(|body| body.test(l));
                self.put("; ");
                self.count(l, *step);
                self.put(")");
                self.nested(&l.body);
                self.printer.end_line();
            }
            LoopKind::For { init, step, update } => {
                self.begin(l, |body| body.expr(init, Context::Open));
                self.place(stmt);
                self.opened("loop");
                self.leave_unless_it_holds(l);
                self.block(&l.body);
                self.opened("continuing");
                self.printer.start_line();
                self.count(l, *step);
                self.put(";");
                self.printer.end_line();
                self.block(update);
                self.closed();
                self.closed();
            }
            LoopKind::While if before.is_empty() => {
                self.begin(l, |body| body.put("0u"));
                self.place(stmt);
                self.printer.start_line();
                self.put("while (");
                self.apart(|body| body.test(l));
                self.put(")");
                self.printer.open();
                self.counted(l);
                self.closed();
            }
            LoopKind::Endless => {
                self.place(stmt);
                self.opened("loop");
                self.block(&l.body);
                self.closed();
            }
            LoopKind::While | LoopKind::Forever => {
                self.begin(l, |body| body.put("0u"));
                self.place(stmt);
                self.opened("loop");
                self.leave_unless_it_holds(l);
                self.counted(l);
                self.closed();
            }
            LoopKind::DoWhile => {
                self.begin(l, |body| body.put("0u"));
                self.place(stmt);
                self.opened("loop");
                self.counted(l);
                self.opened("continuing");
                self.before(l);
                self.printer.start_line();
                self.put("break if ");
                self.apart(|body| body.not_test(l));
                self.put(";");
                self.printer.end_line();
                self.closed();
                self.closed();
            }
        }
    }

    /// The counter's first value, on a line of its own.
    fn begin(&mut self, l: &'a Loop, value: impl FnOnce(&mut Self)) {
        self.printer.start_line();
        self.assigned(l.counter);
        value(self);
        self.put(";");
        self.printer.end_line();
    }

    fn opened(&mut self, word: &str) {
        self.printer.start_line();
        self.put(word);
        self.printer.open();
    }

    fn closed(&mut self) {
        self.printer.close();
        self.printer.end_line();
    }

    fn count(&mut self, l: &Loop, step: u32) {
        self.name(l.counter);
        match step {
            1 => self.put("++"),
            step => {
                self.put(" += ");
                self.uint(step);
            }
        }
    }

    /// `counter++;` and the body.
    fn counted(&mut self, l: &'a Loop) {
        self.printer.start_line();
        self.count(l, 1);
        self.put(";");
        self.printer.end_line();
        self.block(&l.body);
    }

    /// The statements of the test.
    fn before(&mut self, l: &'a Loop) {
        if let Some(test) = &l.test {
            self.block(&test.before);
        }
    }

    /// `if (!(test && counter < bound)) { break; }`
    fn leave_unless_it_holds(&mut self, l: &'a Loop) {
        self.before(l);
        self.printer.start_line();
        self.put("if (");
        self.apart(|body| body.not_test(l));
        self.put(")");
        self.printer.open();
        self.line("break;");
        self.closed();
    }

    /// `test && counter < bound`, of which the statements are not part.
    fn test(&mut self, l: &'a Loop) {
        if let Some(Test { cond, .. }) = &l.test {
            self.expr(cond, Context::Left(BinaryOp::And));
            self.put(" && ");
        }
        self.compare_counter(l, BinaryOp::Lt);
    }

    /// The opposite of [`Self::test`].
    fn not_test(&mut self, l: &'a Loop) {
        match &l.test {
            None => self.compare_counter(l, BinaryOp::Ge),
            Some(_) => {
                self.put("!(");
                self.test(l);
                self.put(")");
            }
        }
    }

    fn compare_counter(&mut self, l: &'a Loop, op: BinaryOp) {
        self.name(l.counter);
        put!(self.printer, " {} ", spelling::binary(op));
        self.expr(&l.bound, Context::Right(op));
    }

    fn int(&mut self, value: i32) {
        match value {
            // 2147483648i is no literal, so that there is nothing to negate.
            i32::MIN => self.put("i32(-2147483648)"),
            _ => put!(self.printer, "{value}i"),
        }
    }

    fn uint(&mut self, value: u32) {
        match value {
            0..=0xFFFF => put!(self.printer, "{value}u"),
            _ => put!(self.printer, "0x{value:X}u"),
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr, context: Context) {
        let ty = || expr.ty(self.function);
        let parentheses = match expr {
            // A function.
            Expr::Select(..) | Expr::Int(i32::MIN) => false,
            // A difference.
            Expr::Unary(UnaryOp::Neg, _) if ty().is_some_and(|ty| ty.scalar == Scalar::Uint) => {
                context != Context::Open
            }
            // `*p.x` would be something else.
            _ => context.needs_parentheses(expr),
        };
        self.put(if parentheses { "(" } else { "" });
        match expr {
            Expr::Bool(value) => self.put(if *value { "true" } else { "false" }),
            Expr::Int(value) => self.int(*value),
            Expr::Uint(value) => self.uint(*value),
            Expr::Float(scalar, quarters) => {
                let suffix = if *scalar == Scalar::Float16 { "h" } else { "f" };
                put!(self.printer, "{:?}{suffix}", f64::from(*quarters) / 4.0);
            }
            Expr::Var(var) => self.place_of(*var, context != Context::Open),
            Expr::Builtin(builtin) => self.put(spelling::builtin(*builtin).unwrap_or(NOTHING)),
            Expr::Input(k) => {
                let n = self.printer.case.data.inputs.len();
                match (n, k) {
                    (1, _) => self.put("input_words[invocation]"),
                    (n, 0) => put!(self.printer, "input_words[invocation * {n}u]"),
                    (n, k) => put!(self.printer, "input_words[invocation * {n}u + {k}u]"),
                }
            }
            Expr::InputOf(k, index) => {
                let n = self.printer.case.data.inputs.len();
                self.put("input_words[");
                self.expr(index, if n == 1 { Context::Open } else { Context::Left(BinaryOp::Mul) });
                match (n, k) {
                    (1, _) => self.put("]"),
                    (n, 0) => put!(self.printer, " * {n}u]"),
                    (n, k) => put!(self.printer, " * {n}u + {k}u]"),
                }
            }
            Expr::Uniform(k) => {
                let component = ["x", "y", "z", "w"][*k as usize % 4];
                put!(self.printer, "uniform_words[{}].{component}", k / 4);
            }
            Expr::Push(k) => put!(self.printer, "push_words.w{k}"),
            Expr::Constant(_) => self.put(NOTHING),
            Expr::Unary(UnaryOp::Neg, x) if ty().is_some_and(|ty| ty.scalar == Scalar::Uint) => {
                match ty() {
                    Some(ty) if ty.width > 1 => put!(self.printer, "{}() - ", TypeName(ty)),
                    _ => self.put("0u - "),
                }
                self.expr(x, Context::Right(BinaryOp::Sub));
            }
            Expr::Unary(op, x) => {
                self.put(match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::BitNot => "~",
                    UnaryOp::Not => "!",
                });
                self.expr(x, Context::Unary(*op));
            }
            Expr::Binary(op, x, y) => {
                let place = if *op == BinaryOp::Xor { BinaryOp::Ne } else { *op };
                self.expr(x, Context::Left(place));
                put!(self.printer, " {} ", spelling::binary(*op));
                match op {
                    BinaryOp::And | BinaryOp::Or => self.apart(|body| body.expr(y, Context::Right(place))),
                    _ => self.expr(y, Context::Right(place)),
                }
            }
            Expr::Select(cond, x, y) => self.call("select", &[y, x, cond]),
            Expr::Cast(scalar, x) => {
                let width = x.ty(self.function).map_or(1, |ty| ty.width);
                self.call(&TypeName(Type::vector(*scalar, width)).to_string(), &[x]);
            }
            Expr::Intrinsic(op, args) => self.intrinsic(*op, args),
            Expr::Vector(ty, args) => self.call_of(&TypeName(*ty).to_string(), args),
            Expr::Component(x, c) => {
                self.expr(x, Context::Postfix);
                put!(self.printer, ".{}", ["x", "y", "z", "w"][usize::from(*c) & 3]);
            }
            Expr::Element(x, index) => {
                self.expr(x, Context::Postfix);
                self.index(x.ty(self.function), index);
            }
            Expr::Load(load) => {
                let atomic = is_atomic(self.printer.case, load.array);
                self.put(if atomic { "atomicLoad(&" } else { "" });
                self.element_of(load.array);
                self.expr(&load.index, Context::of_index(self.printer.case, load.array));
                self.put(if atomic { "])" } else { "]" });
            }
            // Not in WGSL ([`super::lacks`]).
            Expr::Resource(_) | Expr::Flat(_) => self.put(NOTHING),
            Expr::Subgroup(call) => self.subgroup(call),
        }
        self.put(if parentheses { ")" } else { "" });
    }

    fn intrinsic(&mut self, op: Intrinsic, args: &[Expr]) {
        let ty = args.first().and_then(|arg| arg.ty(self.function)).unwrap_or(Type::UINT);
        let name = spelling::intrinsic(op).unwrap_or(NOTHING);
        match (op, args) {
            (Intrinsic::SignedRem, [x, y]) => {
                self.put("(");
                self.expr(x, Context::Left(BinaryOp::Mod));
                put!(self.printer, " {name} ");
                self.expr(y, Context::Right(BinaryOp::Mod));
                self.put(")");
            }
            (Intrinsic::AddCarry | Intrinsic::SubBorrow | Intrinsic::SignedMod, _) => {
                self.call_of(&spelling::of_width(op, ty.width), args)
            }
            // It gives what it takes; the tree has an int.
            (Intrinsic::BitCount | Intrinsic::FindLsb | Intrinsic::FindMsb, [x]) if ty.scalar == Scalar::Uint => {
                put!(self.printer, "{}(", TypeName(Type { scalar: Scalar::Int, ..ty }));
                self.call(name, &[x]);
                self.put(")");
            }
            // Offsets are unsigned.
            (Intrinsic::BitfieldExtract | Intrinsic::BitfieldInsert, _) => {
                put!(self.printer, "{name}(");
                for (i, arg) in args.iter().enumerate() {
                    self.put(if i > 0 { ", " } else { "" });
                    if i + 2 < args.len() {
                        self.item(arg, true);
                    } else {
                        self.call("u32", &[arg]);
                    }
                }
                self.put(")");
            }
            (Intrinsic::Dot, [x, y]) if ty.scalar == Scalar::Uint => self.call("dot4U8Packed", &[x, y]),
            // Packed bytes are in a u32.
            (Intrinsic::Dot, [x, y]) => {
                put!(self.printer, "{name}(");
                self.call("u32", &[x]);
                self.put(", ");
                self.call("u32", &[y]);
                self.put(")");
            }
            _ => self.call_of(name, args),
        }
    }

    fn subgroup(&mut self, SubgroupCall { op, args, .. }: &SubgroupCall) {
        let ty = args.first().and_then(|arg| arg.ty(self.function));
        match (spelling::wave(*op, ty), args.as_slice()) {
            (Wave::Call(name) | Wave::Helper(name), args) => self.call_of(name, args),
            // WGSL: "It is a dynamic error if `id` does not select an active invocation": it has to be known to be there.
            (Wave::Broadcast, [value, lane]) => {
                let is_there = self.is_uniform && *lane == Expr::Uint(0);
                self.call(if is_there { "subgroupBroadcast" } else { "subgroupShuffle" }, &[value, lane]);
            }
            // WGSL: "An indeterminate value is returned if […] `delta` is not a uniform value within the subgroup."
            (Wave::Relative(name, _), [value, other]) if is_plainly_uniform(other) => self.call(name, &[value, other]),
            (Wave::Relative(_, sign), [value, other]) => {
                self.put("subgroupShuffle(");
                self.item(value, true);
                put!(self.printer, ", lane {sign} ");
                self.expr(other, Context::Right(BinaryOp::Shl));
                self.put(")");
            }
            (Wave::Rotate, [value, delta]) => {
                self.put("subgroupShuffle(");
                self.item(value, true);
                self.put(", (lane + ");
                self.expr(delta, Context::Right(BinaryOp::Add));
                self.put(") % subgroup_size)");
            }
            _ => self.put(NOTHING),
        }
    }

    /// `[index]`, or the name of a struct's member.
    fn index(&mut self, of: Option<Type>, index: &Expr) {
        match indexed_member(of, index) {
            Some(name) => put!(self.printer, ".{name}"),
            None => {
                self.put("[");
                self.expr(index, Context::Open);
                self.put("]");
            }
        }
    }

    fn call_of(&mut self, name: &str, args: &[Expr]) {
        self.call(name, &args.iter().collect::<Vec<_>>());
    }

    /// `name(a, b, c)`
    fn call(&mut self, name: &str, args: &[&Expr]) {
        put!(self.printer, "{name}(");
        for (i, arg) in args.iter().enumerate() {
            self.put(if i > 0 { ", " } else { "" });
            self.item(arg, args.len() > 1);
        }
        self.put(")");
    }

    /// One of several between commas: in `f(a < b, c > d)` would be a template list (WGSL, "Template Lists").
    fn item(&mut self, expr: &Expr, several: bool) {
        let compares = matches!(expr, Expr::Binary(op, ..) if op.is_comparison() || op.is_logical());
        if several && compares {
            self.put("(");
            self.expr(expr, Context::Open);
            self.put(")");
        } else {
            self.expr(expr, Context::Open);
        }
    }
}

/// True for operands that are the same in every invocation by their form, and no constants that WGSL refuses.
fn is_plainly_uniform(expr: &Expr) -> bool {
    matches!(expr, Expr::Uint(0..=127) | Expr::Uniform(_) | Expr::Push(_))
}

/// True if an array has to be one of atomics: something changes it atomically.
pub(super) fn is_atomic(case: &Case, array: u32) -> bool {
    let mut found = false;
    for function in &case.program.functions {
        walk_block(&function.body, &mut |stmt| {
            found |= matches!(stmt, Stmt::Atomic(atomic) if atomic.array == array);
        });
    }
    found
}
