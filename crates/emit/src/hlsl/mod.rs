//! Prints a case as a compute, amplification, mesh or pixel shader in HLSL (Shader Model 6), for compilers that make SPIR-V of it, and for people.
//!
//! The printer is that of GLSL, whose statements HLSL shares; here is what differs. Which sentences of the language's documents it rests on is
//! said in `docs/languages.md`. In short:
//!
//! - Buffers are structured buffers with `[[vk::binding]]`; what is private to an invocation in GLSL is `static`.
//! - `SubgroupId` and `NumSubgroups` do not exist: the lane map says that they were not observed.
//! - A subgroup operation is the wave intrinsic of the same meaning, or a function of the shader that a person would write, too:
//!   `InclusiveSum(x)` is `WavePrefixSum(x) + x`, and what is asked of ballots is asked of the bits of a `uint4`. `main` leaves the lane and
//!   the number of lanes for them in `static` variables.
//! - Where HLSL has another type than the tree (`sign`, `countbits`, `firstbitlow`, bitwise wave intrinsics) a conversion says so.
//! - Literals of `int` that only meet each other are converted: HLSL 2021 computes with such literals in 64 bits.

mod functions;
mod share;
pub(crate) mod spelling;
pub(crate) mod stage;

use std::fmt::Write;

use tangle_analysis::cost::log_stride;
use tangle_program::case::{Case, SpecConstant, Tier, interface};
use tangle_program::memory::Shared;
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Atomic, Expr, SubgroupCall};
use tangle_program::types::{Kind, Scalar, Type};

use crate::glsl::precedence::Context;
use crate::glsl::{Body, print_in};
use crate::plan::{Helper, Uses};
use crate::printed::Printed;
use crate::printer::{Dialect, NOTHING, Printer, in_halves, put, put_line};
pub use share::{QUALIFIERS, intrinsics, wave_intrinsic, words};
pub(crate) use share::{fitted, lacks};
use spelling::{TypeName, Wave};

/// The shader of a case, with the place of each statement.
pub(crate) fn print(case: &Case, dialect: Dialect) -> Printed<'_> {
    print_in(case, dialect)
}

impl<'a> Printer<'a> {
    pub(crate) fn hlsl_header(&mut self, uses: Uses) {
        use interface::{ARRAYS, INPUTS, LOG, MAP, UNIFORMS};
        let data = &self.case.data;
        for (k, SpecConstant { default, value }) in data.constants.iter().enumerate() {
            if uses.constants >> k.min(31) & 1 == 1 {
                let id = interface::FIRST_CONSTANT as usize + k;
                put_line!(
                    self,
                    "[[vk::constant_id({id})]] const uint SPEC{k} = {default}u; // Specialised to {value}u."
                );
            }
        }
        if uses.inputs {
            put_line!(self, "[[vk::binding({INPUTS}, 0)]] StructuredBuffer<uint> input_words;");
        }
        if uses.uniforms {
            let size = data.uniforms.len().div_ceil(4);
            put_line!(self, "[[vk::binding({UNIFORMS}, 0)]] cbuffer Uniforms {{ uint4 uniform_words[{size}]; }};");
        }
        if uses.push {
            let words: Vec<String> = (0..data.push.len()).map(|k| format!("w{k}")).collect();
            put_line!(self, "struct Push {{ uint {}; }};", words.join(", "));
            put_line!(self, "[[vk::push_constant]] Push push_words;");
        }
        self.hlsl_resources(uses);
        put_line!(self, "[[vk::binding({MAP}, 0)]] RWStructuredBuffer<uint> map_words;");
        put_line!(self, "[[vk::binding({LOG}, 0)]] RWStructuredBuffer<uint> log_words;");
        let (shared, in_buffer): (Vec<&Shared>, Vec<&Shared>) =
            self.case.program.shared.iter().partition(|array| array.storage.is_workgroup());
        if !in_buffer.is_empty() {
            self.put("struct ArraysInBuffer {");
            for Shared { name, scalar, len, .. } in in_buffer {
                let len = u64::from(*len) * u64::from(self.case.entry_point.groups());
                put!(self, " {} {}[{len}];", spelling::scalar(*scalar), spelling::name(name));
            }
            self.put(" };");
            self.end_line();
            put_line!(self, "[[vk::binding({ARRAYS}, 0)]] globallycoherent RWStructuredBuffer<ArraysInBuffer> Arrays;");
        }
        for Shared { name, scalar, len, .. } in shared {
            put_line!(self, "groupshared {} {}[{len}];", spelling::scalar(*scalar), spelling::name(name));
        }
        self.blank_line();
        stage::globals(self.case).iter().for_each(|line| put_line!(self, "{line}"));
        put_line!(self, "static uint invocation;");
        if uses.ballots {
            put_line!(self, "static uint LaneIndex;");
            put_line!(self, "static uint LaneCount;");
        }
        if uses.entries != 0 {
            self.log_macros(uses);
        }
    }

    /// The declarations of the arrays of descriptors that the shader uses.
    fn hlsl_resources(&mut self, uses: Uses) {
        let count = self.case.data.resources.len();
        for class in uses.resource_classes() {
            let ty = match class {
                ResourceClass::StorageBuffer => "StructuredBuffer<uint>",
                ResourceClass::UniformBuffer => "ConstantBuffer<UniformBufferOf>",
                ResourceClass::StorageTexelBuffer => "RWBuffer<uint>",
                ResourceClass::StorageImage => "RWTexture2D<uint>",
            };
            if class == ResourceClass::UniformBuffer {
                put_line!(self, "struct UniformBufferOf {{ uint word; }};");
            }
            let (binding, name) = (class.binding(), class.name());
            put_line!(self, "[[vk::binding({binding}, 0)]] {ty} {name}[{count}];");
        }
    }

    /// The bits of floats, a negative zero being a zero: its sign is up to the device.
    pub(crate) fn hlsl_word_macros(&mut self, logged: u16) {
        let floats = Scalar::ALL.into_iter().filter(|&scalar| scalar.is_float() && logged >> scalar as u16 & 1 == 1);
        let (long, short): (Vec<Scalar>, Vec<Scalar>) = floats.partition(|scalar| scalar.words() > 1);
        if !short.is_empty() {
            put_line!(self, "#define FLOAT_WORD(value) (asuint(value) * min(asuint(value) << 1u, 1u))");
        }
        if !long.is_empty() {
            put_line!(self, "uint LOW_WORD(double value) {{ uint low, high; asuint(value, low, high); return low; }}");
            put_line!(self, "uint HIGH_WORD(double value) {{");
            put_line!(self, "    uint low, high;");
            put_line!(self, "    asuint(value, low, high);");
            put_line!(self, "    return high * min(low | high << 1u, 1u);");
            put_line!(self, "}}");
        }
    }

    /// A struct, and a function that makes one.
    pub(crate) fn hlsl_maker(&mut self, ty: Type, members: &[String]) {
        let name = TypeName(ty);
        let params: Vec<String> =
            ty.parts().zip(members).map(|(member, m)| format!("{} {m}", TypeName(member))).collect();
        let sets: Vec<String> = members.iter().map(|m| format!("made.{m} = {m};")).collect();
        put_line!(self, "{name} Make{name}({}) {{ {name} made; {} return made; }}", params.join(", "), sets.join(" "));
    }

    /// A function for what HLSL has no intrinsic function for.
    pub(crate) fn hlsl_helper(&mut self, helper: Helper, ty: Type) {
        let name = TypeName(ty);
        match helper {
            Helper::Of(Intrinsic::AddCarry) => {
                put_line!(self, "{name} ADD_CARRY({name} x, {name} y) {{ return {name}(x + y < x); }}");
            }
            Helper::Of(Intrinsic::SubBorrow) => {
                put_line!(self, "{name} SUB_BORROW({name} x, {name} y) {{ return {name}(x < y); }}");
            }
            Helper::Lanes => self.put_lines(functions::LANES),
            Helper::Of(_) => {}
            Helper::Wave(op) => self.hlsl_wave_helper(op, name),
        }
    }

    /// True if sums, differences, products and negations of this type have to be those of unsigned integers: HLSL has no word about those that leave a
    /// signed type, and compilers made of LLVM take it that none does. In Slang they wrap.
    fn may_overflow(&self, ty: Type) -> bool {
        self.dialect != Dialect::Slang && ty.scalar.is_integer() && ty.scalar.is_signed()
    }

    fn hlsl_wave_helper(&mut self, op: SubgroupOp, ty: TypeName) {
        use SubgroupOp as Op;
        match op {
            Op::Inclusive(fold) => {
                let (name, op, prefix) = match fold {
                    Fold::Add => ("InclusiveSum", "+", "WavePrefixSum"),
                    _ => ("InclusiveProduct", "*", "WavePrefixProduct"),
                };
                let value = match self.may_overflow(ty.0) {
                    true => {
                        let unsigned = TypeName(unsigned(ty.0));
                        format!("{ty}({unsigned}({prefix}(x)) {op} {unsigned}(x))")
                    }
                    false => format!("{prefix}(x) {op} x"),
                };
                put_line!(self, "{ty} {name}({ty} x) {{ return {value}; }}");
            }
            Op::Reduce(Fold::Xor) if ty.0.scalar == Scalar::Bool => {
                put_line!(self, "bool WaveActiveParity(bool x) {{ return (WaveActiveCountBits(x) & 1u) != 0u; }}");
            }
            op => self.put_lines(functions::of_ballot(op).unwrap_or_default()),
        }
    }

    /// The attribute and the head of `main`.
    pub(crate) fn hlsl_main(&mut self) {
        if self.dialect == Dialect::Slang && self.case.tier == Tier::Maximal {
            put_line!(self, "[MaximallyReconverges]");
        }
        stage::attributes(self.case).iter().for_each(|line| put_line!(self, "{line}"));
        put!(self, "void main({})", stage::parameters(self.case));
    }

    /// Records the lane map while the lanes of a wave still execute everything together (docs/rules.md, section M).
    pub(crate) fn hlsl_prologue(&mut self, uses: Uses) {
        stage::inputs(self.case).iter().for_each(|line| put_line!(self, "{line}"));
        let workgroup_index = self.case.entry_point.stage.has_workgroups() || uses.workgroup_index;
        self.builtin_copies(Uses { lane: true, subgroup_size: true, workgroup_index, ..uses });
        put_line!(self, "{}", stage::number(self.case));
        if uses.ballots {
            put_line!(self, "LaneIndex = lane;");
            put_line!(self, "LaneCount = subgroup_size;");
        }
        if uses.entries != 0 {
            put_line!(self, "log_base = invocation * {}u;", log_stride(self.case));
            put_line!(self, "cursor = 0u;");
        }
        let subgroup = match self.dialect {
            Dialect::Slang => in_halves("WaveGetWaveIndex()", "WaveGetNumWaves()"),
            _ => format!("0x{:X}u", interface::NOT_OBSERVED),
        };
        let (lines, words) = stage::record(self.case, subgroup);
        lines.iter().for_each(|line| put_line!(self, "{line}"));
        put_line!(self, "uint map_base = invocation * {}u;", self.case.entry_point.packed_map_words());
        for (i, word) in words.iter().flatten().enumerate() {
            put_line!(self, "map_words[map_base + {i}u] = {word};");
        }
        self.arrays_begin();
    }
}

impl<'a> Body<'_, 'a> {
    /// Prints an expression that HLSL says in another way than GLSL, without the parentheses around it; false if it does not.
    pub(crate) fn hlsl_expr(&mut self, expr: &Expr) -> bool {
        let type_of = |expr: &Expr| expr.ty(self.function);
        match expr {
            Expr::Int(i32::MIN) => self.put("int(0x80000000u)"),
            Expr::Float(scalar, quarters) => {
                let value = f64::from(*quarters) / 4.0;
                match scalar {
                    Scalar::Float => put!(self.printer, "{value:?}"),
                    scalar => put!(self.printer, "{}({value:?})", spelling::scalar(*scalar)),
                }
            }
            Expr::Push(k) => put!(self.printer, "push_words.w{k}"),
            Expr::Unary(UnaryOp::Not, x) => {
                self.put("!");
                self.expr(x, Context::Unary(UnaryOp::Not));
            }
            expr if wraps(expr) && type_of(expr).is_some_and(|ty| self.printer.may_overflow(ty)) => {
                put!(self.printer, "{}(", TypeName(type_of(expr).unwrap_or(Type::INT)));
                self.unsigned(expr);
                self.put(")");
            }
            Expr::Unary(op, x) if is_literal_int(x) => {
                self.put(match op {
                    UnaryOp::Neg => "-",
                    _ => "~",
                });
                self.converted_literal(x);
            }
            Expr::Binary(BinaryOp::Xor, x, y) => {
                self.expr(x, Context::Left(BinaryOp::Ne));
                self.put(" != ");
                self.expr(y, Context::Right(BinaryOp::Ne));
            }
            Expr::Binary(op, x, y) => {
                // Where both are literals, the first decides on the type of both.
                match is_literal_int(x) && (op.is_shift() || is_literal_int(y)) {
                    true => self.converted_literal(x),
                    false => self.expr(x, Context::Left(*op)),
                }
                put!(self.printer, " {} ", crate::glsl::spelling::binary(*op));
                self.expr(y, Context::Right(*op));
            }
            Expr::Select(cond, x, y) if is_literal_int(x) => {
                self.expr(cond, Context::Conditional);
                self.put(" ? ");
                self.converted_literal(x);
                self.put(" : ");
                self.expr(y, Context::Conditional);
            }
            Expr::Cast(scalar, x) => {
                let width = type_of(x).map_or(1, |ty| ty.width);
                put!(self.printer, "{}", TypeName(Type::vector(*scalar, width)));
                self.list(std::slice::from_ref(x));
            }
            Expr::Vector(ty, args) => {
                let make = if ty.kind() == Kind::Struct { "Make" } else { "" };
                put!(self.printer, "{make}{}", TypeName(*ty));
                self.list(args);
            }
            Expr::Intrinsic(op, args) => self.hlsl_intrinsic(*op, args),
            Expr::Subgroup(call) => self.hlsl_wave(call),
            _ => return false,
        }
        true
    }

    /// A signed expression as an unsigned one, which wraps ([`Printer::may_overflow`]).
    fn unsigned(&mut self, expr: &Expr) {
        let part = |body: &mut Self, part: &Expr| {
            let nests = wraps(part);
            body.put(if nests { "(" } else { "" });
            body.unsigned(part);
            body.put(if nests { ")" } else { "" });
        };
        match expr {
            Expr::Unary(UnaryOp::Neg, x) => {
                self.put("-");
                part(self, x);
            }
            Expr::Binary(op, x, y) if wraps(expr) => {
                part(self, x);
                put!(self.printer, " {} ", crate::glsl::spelling::binary(*op));
                part(self, y);
            }
            _ => {
                let ty = expr.ty(self.function).unwrap_or(Type::INT);
                put!(self.printer, "{}(", TypeName(unsigned(ty)));
                self.expr(expr, Context::Open);
                self.put(")");
            }
        }
    }

    /// An expression of literals of `int`, as an `int`.
    fn converted_literal(&mut self, expr: &Expr) {
        self.put("int(");
        self.expr(expr, Context::Open);
        self.put(")");
    }

    fn hlsl_intrinsic(&mut self, op: Intrinsic, args: &[Expr]) {
        let ty = args.first().and_then(|arg| arg.ty(self.function)).unwrap_or(Type::UINT);
        let (result, operand) = match op {
            // HLSL has them with results of int, or of uint only.
            Intrinsic::Sign if ty.scalar != Scalar::Int => (Some(ty.scalar), None),
            Intrinsic::BitCount | Intrinsic::FindLsb | Intrinsic::BitfieldReverse => {
                let result = if op == Intrinsic::BitfieldReverse { ty.scalar } else { Scalar::Int };
                (Some(result).filter(|&result| result != Scalar::Uint), Some(Scalar::Uint))
            }
            Intrinsic::FindMsb => (Some(Scalar::Int), None),
            _ => (None, None),
        };
        let converted = |scalar: Scalar| TypeName(Type { scalar, ..ty }).to_string();
        if let Some(result) = result {
            put!(self.printer, "{}(", converted(result));
        }
        self.put(spelling::intrinsic(op).unwrap_or(NOTHING));
        let operand = operand.filter(|&operand| operand != ty.scalar);
        if let Some(operand) = operand {
            put!(self.printer, "({}", converted(operand));
        }
        self.put("(");
        self.hlsl_items(args);
        self.put(")");
        self.put(if operand.is_some() { ")" } else { "" });
        self.put(if result.is_some() { ")" } else { "" });
    }

    /// Operands between commas: literals of `int` among themselves decide on no type.
    fn hlsl_items(&mut self, args: &[Expr]) {
        for (i, arg) in args.iter().enumerate() {
            self.put(if i > 0 { ", " } else { "" });
            match is_literal_int(arg) {
                true => self.converted_literal(arg),
                false => self.expr(arg, Context::Open),
            }
        }
    }

    fn hlsl_wave(&mut self, SubgroupCall { op, args, cluster }: &SubgroupCall) {
        let ty = args.first().and_then(|arg| arg.ty(self.function));
        match (spelling::wave(self.printer.dialect, *op, ty), args.as_slice()) {
            (Wave::Call(name), args) => {
                put!(self.printer, "{name}(");
                self.hlsl_items(args);
                if let Some(cluster) = cluster {
                    put!(self.printer, ", {cluster}u");
                }
                self.put(")");
            }
            (Wave::AllEqual, [value]) => {
                let is_vector = ty.is_some_and(|ty| ty.width > 1);
                self.put(if is_vector { "all(WaveActiveAllEqual(" } else { "WaveActiveAllEqual(" });
                self.hlsl_items(std::slice::from_ref(value));
                self.put(if is_vector { "))" } else { ")" });
            }
            (Wave::Bits(name), [value, rest @ ..]) => {
                let ty = ty.unwrap_or(Type::UINT);
                let unsigned = unsigned(ty);
                if unsigned == ty {
                    put!(self.printer, "{name}(");
                    self.expr(value, Context::Open);
                } else {
                    put!(self.printer, "{}({name}({}(", TypeName(ty), TypeName(unsigned));
                    self.expr(value, Context::Open);
                    self.put(")");
                }
                for arg in rest {
                    self.put(", ");
                    self.expr(arg, Context::Open);
                }
                self.put(if unsigned == ty { ")" } else { "))" });
            }
            (Wave::Relative(sign), [value, other]) => {
                self.put("WaveReadLaneAt(");
                self.hlsl_items(std::slice::from_ref(value));
                put!(self.printer, ", WaveGetLaneIndex() {sign} ");
                self.expr(other, Context::Right(BinaryOp::BitXor));
                self.put(")");
            }
            (Wave::Rotate, [value, delta]) => {
                self.put("WaveReadLaneAt(");
                self.hlsl_items(std::slice::from_ref(value));
                self.put(", (WaveGetLaneIndex() + ");
                self.expr(delta, Context::Right(BinaryOp::BitXor));
                self.put(") % WaveGetLaneCount())");
            }
            _ => self.put(NOTHING),
        }
    }

    /// `InterlockedAdd(array[index], value, dest);`
    pub(crate) fn hlsl_atomic(&mut self, atomic: &'a Atomic) {
        use tangle_program::memory::AtomicOp;
        // An exchange gives the old value in any case.
        let needs_result = matches!(atomic.op, AtomicOp::Exchange | AtomicOp::CompSwap);
        if atomic.dest.is_none() && needs_result {
            let scalar = self.printer.case.program.shared.get(atomic.array as usize).map_or(Scalar::Uint, |a| a.scalar);
            put!(self.printer, "{{ {} OldValue; ", spelling::scalar(scalar));
        }
        if let Some(dest) = atomic.dest {
            self.declare(dest);
        }
        self.atomic_operands(spelling::atomic(atomic.op), atomic);
        match atomic.dest {
            Some(dest) => {
                self.put(", ");
                self.var(dest);
                self.put(");");
            }
            None if needs_result => self.put(", OldValue); }"),
            None => self.put(");"),
        }
    }
}

/// True if it is a sum, difference, product or negation.
fn wraps(expr: &Expr) -> bool {
    matches!(expr, Expr::Unary(UnaryOp::Neg, _) | Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..))
}

/// The type of unsigned integers of the same shape and size.
fn unsigned(ty: Type) -> Type {
    Type { scalar: ty.scalar.unsigned(), ..ty }
}

/// True if HLSL computes an expression as a literal: before its types are known, in 64 bits (HLSL 2021).
fn is_literal_int(expr: &Expr) -> bool {
    match expr {
        Expr::Int(value) => *value != i32::MIN,
        _ => false,
    }
}
