//! Prints expressions: literals, variables, operators, built-in functions, subgroup operations, resources.

use std::fmt::Write;

use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::Param;
use tangle_program::tree::Resource;
use tangle_program::tree::{Expr, SubgroupCall};
use tangle_program::types::Type;

use super::body::Body;
use super::precedence::Context;
use super::spelling::{self, TypeName};
use super::stage;
use crate::hlsl;
use crate::printer::{Dialect, NOTHING, indexed_member, put};

impl<'a> Body<'_, 'a> {
    /// The word of a resource.
    pub(super) fn resource(&mut self, resource: &Resource) {
        let name = resource.class.name();
        let is_hlsl = self.printer.dialect.is_hlsl();
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

    pub(crate) fn int(&mut self, value: i32) {
        match value {
            // 2147483648 is no int literal, so that there is nothing to negate (GLSL 4.60 §4.1.3).
            i32::MIN => self.put("int(0x80000000u)"),
            _ => put!(self.printer, "{value}"),
        }
    }

    pub(super) fn uint(&mut self, value: u32) {
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
        if self.printer.dialect.is_hlsl() && self.hlsl_expr(expr) {
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
                _ if self.printer.dialect.is_hlsl() => {
                    let stage = self.printer.case.entry_point.stage;
                    self.put(hlsl::spelling::builtin(self.printer.dialect, stage, *builtin).unwrap_or(NOTHING));
                }
                _ => {
                    let stage = self.printer.case.entry_point.stage;
                    let own = stage::builtin(stage, *builtin, self.printer.dialect);
                    self.put(own.unwrap_or_else(|| spelling::builtin(*builtin)));
                }
            },
            Expr::Flat(k) => put!(self.printer, "FLAT{k}"),
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
                self.expr(&load.index, Context::of_index(self.printer.case, load.array));
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
    pub(super) fn index(&mut self, of: Option<Type>, index: &Expr) {
        match indexed_member(of, index) {
            Some(name) => put!(self.printer, ".{name}"),
            None => {
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
