//! Prints statements: assignments and logs, atomics, calls, branches, switches and loops.

use std::fmt::Write;

use tangle_program::control::SelectionControl;
use tangle_program::memory::{ArrayId, Sync};
use tangle_program::ops::BinaryOp;
use tangle_program::tree::{
    Arg, Arm, Atomic, Block, Builtin, Discard, Expr, FunctionId, Label, Loop, LoopKind, SiteId, Stmt, Test, VarId,
};
use tangle_program::types::{Scalar, Type};

use super::body::Body;
use super::precedence::Context;
use super::shader::{parts, qualifier, words_of};
use super::spelling;
use crate::hlsl;
use crate::plan::{Declared, entry_words};
use crate::printer::{Dialect, indices_of, put, put_line};

/// True if a loop stands right in a block, whose counter may be declared there.
pub(super) fn declares(block: &Block) -> bool {
    block.iter().any(|stmt| matches!(stmt, Stmt::Loop(_) | Stmt::Atomic(_)))
}

impl<'a> Body<'_, 'a> {
    pub(super) fn print(mut self) {
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

    pub(super) fn block(&mut self, block: &'a Block) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn place(&mut self, stmt: &'a Stmt) {
        self.printer.places.push((self.printer.line, stmt));
    }

    pub(super) fn stmt(&mut self, stmt: &'a Stmt) {
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
            Stmt::SubgroupBarrier(op) => put!(self.printer, "{}();", op.info().name),
            Stmt::ControlBarrier(Sync::Barrier) => self.printer.barrier(),
            Stmt::ControlBarrier(sync) => match self.printer.dialect {
                Dialect::Hlsl | Dialect::Slang => put!(self.printer, "{}();", hlsl::spelling::sync(*sync, false)),
                _ => put!(self.printer, "{}();", spelling::sync(*sync)),
            },
            Stmt::SetElement { var, index, inner, value } => {
                self.var(*var);
                let places = indices_of(self.function.var_type(*var), index, inner);
                places.for_each(|(of, index)| self.index(of, index));
                self.put(" = ");
                self.expr(value, Context::Open);
                self.put(";");
            }
            Stmt::Store { array, element, value } => {
                self.element_of(*array);
                let len = self.printer.case.program.shared.get(*array as usize).map_or(0, |array| array.len);
                // An index that is the same for all lanes is compiled in another way.
                match self.single.filter(|&number| number < len) {
                    Some(number) => put!(self.printer, "{number}u"),
                    None => self.put(self.printer.builtin(Builtin::LocalIndex)),
                }
                if let Some(element) = element {
                    put!(
                        self.printer,
                        " * {}u + ",
                        self.printer.case.program.shared.get(*array as usize).map_or(1, |array| array.parts)
                    );
                    self.expr(element, Context::Right(BinaryOp::Add));
                }
                self.put("] = ");
                self.expr(value, Context::Open);
                self.put(";");
            }
            Stmt::Atomic(atomic) => match self.printer.dialect {
                Dialect::Hlsl | Dialect::Slang => self.hlsl_atomic(atomic),
                _ => self.atomic(atomic),
            },
            Stmt::Discard(Discard::Demote) if self.printer.dialect.is_hlsl() => self.put("discard;"),
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
            | Stmt::SubgroupBarrier(_)
            | Stmt::SetElement { .. }
            | Stmt::Store { .. }
            | Stmt::Atomic(_)
            | Stmt::ControlBarrier(_)
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
        self.expr(&atomic.index, Context::of_index(self.printer.case, atomic.array));
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
            Dialect::Hlsl | Dialect::Slang => hlsl::spelling::selection_control(control),
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
            let braces = self.printer.dialect.is_hlsl() && declares(&arm.body);
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

    pub(super) fn repeated(&mut self, stmt: &'a Stmt, l: &'a Loop) {
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
            Dialect::Hlsl | Dialect::Slang => hlsl::spelling::loop_control(l.control),
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

    pub(super) fn count(&mut self, l: &Loop) {
        self.printer.start_line();
        self.var(l.counter);
        self.put("++;");
        self.printer.end_line();
    }

    /// `test && counter < bound`
    pub(super) fn test(&mut self, l: &'a Loop) {
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
}
