//! What stands around the functions of a shader: extensions, interface, macros of the log, the prologue of `main`, declarations of arrays.

use std::fmt::Write;
use std::ops::Range;

use rspirv::spirv::Op;
use tangle_analysis::cost::{log_capacity, log_stride};
use tangle_program::case::{Launch, SpecConstant, Tier, Workgroups, interface};
use tangle_program::float;
use tangle_program::memory::{FILL_INDEX, Shared, Sync};
use tangle_program::ops::Intrinsic;
use tangle_program::resource::ResourceClass;
use tangle_program::rounding::{Operation, Rounded};
use tangle_program::subgroup::Category;
use tangle_program::tree::{Builtin, Direction, Function, Local, MAX_ENTRY_WORDS};
use tangle_program::types::{Kind, Scalar, Type};
use tangle_program::variant::Variant;

use super::spelling::{self, TypeName};
use super::{body::Body, stage};
use crate::hlsl;
use crate::plan::{FLOAT_CONTROLS, Plan, Uses, has_buffer_arrays, is_sliced, mode_numbers};
use crate::printer::{Dialect, NOTHING, Printer, member_name, put, put_line};

impl<'a> Printer<'a> {
    pub(super) fn header(&mut self, uses: Uses) {
        put_line!(self, "#version 450");
        for line in stage::header(self.case, self.dialect) {
            put_line!(self, "{line}");
        }
        let mut named: Vec<&str> = Vec::new();
        for category in Category::ALL {
            let Some(extension) = spelling::extension(category, self.dialect) else { continue };
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
        let controls = self.case.entry_point.float_controls;
        if uses.instructions || !controls.is_none() {
            put_line!(self, "#extension GL_EXT_spirv_intrinsics : require");
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
        for (mode, scalar) in controls.iter() {
            let [capability, number] = mode_numbers(mode);
            put_line!(
                self,
                "spirv_execution_mode(extensions = [\"{FLOAT_CONTROLS}\"], capabilities = [{capability}], {number}, {}); // {}",
                scalar.size(),
                mode.name()
            );
        }
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

    /// A function for one of the results of a built-in function that has several (GLSL 4.60 §8.8), or for an instruction that GLSL has no
    /// operator for (GL_EXT_spirv_intrinsics).
    pub(super) fn helper(&mut self, op: Intrinsic, ty: Type) {
        if op.is_of_bits() {
            return self.bits_helper(op, ty);
        }
        if let Some(rounded) = op.rounded() {
            return self.rounded_helper(op, rounded, ty);
        }
        let signed = if ty.scalar.is_signed() { 'i' } else { 'u' };
        let (name, ty) = (spelling::intrinsic(op), TypeName(ty));
        let instruction = match op {
            Intrinsic::SignedRem => Some(Op::SRem),
            Intrinsic::SignedMod => Some(Op::SMod),
            _ => None,
        };
        if let Some(instruction) = instruction {
            let number = instruction as u32;
            return put_line!(self, "spirv_instruction(id = {number}) {ty} {name}({ty} x, {ty} y);");
        }
        put!(self, "{ty} {name}({ty} x, {ty} y) {{ ");
        match op {
            Intrinsic::AddCarry => put!(self, "{ty} carry; uaddCarry(x, y, carry); return carry;"),
            Intrinsic::SubBorrow => put!(self, "{ty} borrow; usubBorrow(x, y, borrow); return borrow;"),
            _ => put!(self, "{ty} high, low; {signed}mulExtended(x, y, high, low); return high;"),
        }
        self.put(" }");
        self.end_line();
    }

    /// A function for the way from bits to floats, or back.
    fn bits_helper(&mut self, op: Intrinsic, of: Type) {
        let Some(result) = op.info().result(of) else { return };
        let (from, to, scalar) = (TypeName(of), TypeName(result), result.scalar.max(of.scalar));
        let [to_float, to_bits] = spelling::bit_casts(scalar);
        let literal = |bits: u64| if scalar.size() == 64 { format!("{bits:#X}UL") } else { format!("{bits:#X}u") };
        let name = spelling::intrinsic(op);
        let all = |bits: u64| format!("{}({})", if op == Intrinsic::ToBits { &to } else { &from }, literal(bits));
        match op {
            Intrinsic::ToBits => {
                put_line!(
                    self,
                    "{to} {name}({from} x) {{ return mix({to_bits}(x), {}, isnan(x)); }}",
                    all(float::nan(scalar))
                );
            }
            _ => {
                let [exponent, sign, magnitude, quiet, zero] =
                    [float::infinity(scalar), float::sign(scalar), float::sign(scalar) - 1, float::quiet(scalar), 0]
                        .map(all);
                let compared = |name: &str, op: &str, x: String, y: &str| match of.width {
                    1 => format!("({x}) {op} {y}"),
                    _ => format!("{name}({x}, {y})"),
                };
                put!(self, "{to} {name}({from} x) {{ ");
                if op == Intrinsic::FromBits {
                    let is_small = compared("equal", "==", format!("x & {exponent}"), &zero);
                    put!(self, "x = mix(x, x & {sign}, {is_small}); ");
                }
                let is_nan = compared("greaterThan", ">", format!("x & {magnitude}"), &exponent);
                put!(self, "return {to_float}(mix(x, x | {quiet}, {is_nan})); }}");
                self.end_line();
            }
        }
    }

    /// A function for a rounded operation. `precise` is NoContraction in SPIR-V: what it is about is not rearranged (rule F10).
    fn rounded_helper(&mut self, op: Intrinsic, rounded: Rounded, of: Type) {
        let (Some(result), Some(target)) = (op.info().result(of), rounded.target(of.scalar)) else { return };
        let source = rounded.source(of.scalar);
        let number = |x: &str| match source {
            Some(source) => format!("{}({x})", spelling::bit_casts(source)[0]),
            None => x.to_owned(),
        };
        let (from, name, to) = (TypeName(of), spelling::intrinsic(op), TypeName(Type { scalar: target, ..of }));
        let [x, y] = ["x", "y"].map(number);
        let (params, value) = match rounded.operation {
            Operation::Add => (format!("{from} x, {from} y"), format!("{x} + {y}")),
            Operation::Sub => (format!("{from} x, {from} y"), format!("{x} - {y}")),
            Operation::Mul => (format!("{from} x, {from} y"), format!("{x} * {y}")),
            Operation::OfInteger(_) | Operation::OfFloat(_) => (format!("{from} x"), format!("{to}({x})")),
        };
        let to_bits = spelling::bit_casts(target)[1];
        put_line!(
            self,
            "{} {name}({params}) {{ precise {to} result = {value}; return {to_bits}(result); }}",
            TypeName(result)
        );
    }

    /// What stands before `binding` in a layout.
    fn set(&self) -> &'static str {
        if self.dialect.is_opengl() { "" } else { "set = 0, " }
    }

    fn local_size(&mut self) {
        stage::interface(self.case).iter().for_each(|line| put_line!(self, "{line}"));
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

    pub(super) fn constants(&mut self, used: u32) {
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

    /// The declarations of the arrays of descriptors that the shader uses.
    pub(super) fn resources(&mut self, uses: Uses) {
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
            Dialect::Hlsl | Dialect::Slang => "static ",
            _ => "",
        };
        put_line!(self, "{private}uint log_base;");
        put_line!(self, "{private}uint cursor;");
        put_line!(self, "{private}uint entry;");
        self.blank_line();
        match self.dialect {
            Dialect::Hlsl | Dialect::Slang => self.hlsl_word_macros(uses.logged),
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

    pub(super) fn structure(&mut self, ty: Type) {
        let members: Vec<String> = (0..ty.elements()).map(member_name).collect();
        let declared = match ty.indexed() {
            Some((member, _)) => format!("{} {};", self.ty(member).trim_end(), members.join(", ")),
            None => {
                let each = ty.parts().zip(&members).map(|(member, name)| format!("{} {name};", self.ty(member)));
                each.collect::<Vec<_>>().join(" ")
            }
        };
        put_line!(self, "struct {} {{ {declared} }};", self.ty(ty));
        if self.dialect.is_hlsl() {
            self.hlsl_maker(ty, &members);
        }
    }

    pub(super) fn function(&mut self, function: &'a Function, plan: Plan) {
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
    pub(super) fn ty(&self, ty: Type) -> String {
        match self.dialect {
            Dialect::Hlsl | Dialect::Slang => hlsl::spelling::TypeName(ty).to_string(),
            _ => TypeName(ty).to_string(),
        }
    }

    /// The zero of a type.
    pub(super) fn zero(&self, ty: Type) -> String {
        match self.dialect {
            Dialect::Hlsl | Dialect::Slang => hlsl::spelling::zero(ty),
            _ => Zero(ty).to_string(),
        }
    }

    /// A name of the program.
    pub(super) fn name<'n>(&self, name: &'n str) -> std::borrow::Cow<'n, str> {
        match self.dialect {
            Dialect::Hlsl | Dialect::Slang => hlsl::spelling::name(name),
            _ => name.into(),
        }
    }

    /// A built-in variable, or what has a copy of it.
    pub(super) fn builtin(&self, builtin: Builtin) -> &'static str {
        match self.dialect {
            Dialect::Hlsl | Dialect::Slang => {
                hlsl::spelling::builtin(self.dialect, self.case.entry_point.stage, builtin).unwrap_or(NOTHING)
            }
            _ => spelling::builtin(builtin),
        }
    }

    /// Gives the lines of the prologue.
    pub(super) fn main(&mut self, main: &'a Function, plan: Plan, uses: Uses) -> Range<usize> {
        self.blank_line();
        match self.dialect {
            Dialect::Hlsl | Dialect::Slang => self.hlsl_main(),
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
        let stage::Frame { begin, open, close } = match self.dialect.is_hlsl() {
            true => hlsl::stage::frame(self.case.entry_point.stage),
            false => stage::frame(self.case),
        };
        begin.iter().for_each(|line| put_line!(self, "{line}"));
        match self.dialect {
            Dialect::Hlsl | Dialect::Slang => self.hlsl_prologue(uses),
            _ => self.prologue(uses),
        }
        open.iter().for_each(|line| put_line!(self, "{line}"));
        if !main.body.is_empty() {
            self.blank_line();
        }
        let prologue = first..self.line;
        Body { printer: self, function: main, declared: plan.declared, single: None }.print();
        close.iter().for_each(|line| put_line!(self, "{line}"));
        self.close();
        self.end_line();
        prologue
    }

    /// Records the lane map while the lanes of a subgroup still execute everything together (docs/rules.md, section M).
    pub(super) fn prologue(&mut self, uses: Uses) {
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
        put_line!(self, "uint map_base = invocation * {}u;", self.case.entry_point.packed_map_words());
        for (i, word) in identity.words.iter().enumerate() {
            if let Some(word) = word {
                put_line!(self, "map_words[map_base + {i}u] = {word};");
            }
        }
        self.arrays_begin();
    }

    /// Fills the arrays: in shared memory they hold undefined values at first.
    pub(crate) fn arrays_begin(&mut self) {
        let invocations = self.case.entry_point.group_size();
        let index = self.builtin(Builtin::LocalIndex);
        for (number, array) in self.case.program.shared.iter().enumerate() {
            // In HLSL a name that a loop declares may live on behind it.
            let slot = match self.dialect {
                Dialect::Hlsl | Dialect::Slang => format!("Slot{number}"),
                _ => FILL_INDEX.to_owned(),
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
    pub(super) fn array(&self, array: &Shared) -> String {
        match (self.dialect, array.storage.is_workgroup()) {
            (Dialect::Hlsl | Dialect::Slang, false) => format!("Arrays[0].{}", self.name(&array.name)),
            _ => self.name(&array.name).into_owned(),
        }
    }

    /// What comes before an index, so that a workgroup keeps to its slice of an array in a buffer.
    pub(crate) fn slice(&self, array: &Shared) -> String {
        if is_sliced(self.case, array) { format!("workgroup_index * {}u + ", array.len) } else { String::new() }
    }

    pub(crate) fn barrier(&mut self) {
        self.put(match (self.dialect, has_buffer_arrays(self.case)) {
            (Dialect::Hlsl | Dialect::Slang, in_buffer) => hlsl::spelling::sync(Sync::Barrier, in_buffer),
            (_, true) => "memoryBarrierBuffer(); barrier(); memoryBarrierBuffer",
            (_, false) => "barrier",
        });
        self.put("();");
    }

    /// The copies that take mediump away (rules P14 and P15), and the index of the workgroup in the dispatch.
    pub(crate) fn builtin_copies(&mut self, uses: Uses) {
        let [lane, size, group] = match self.dialect {
            Dialect::Hlsl | Dialect::Slang => ["WaveGetLaneIndex()", "WaveGetLaneCount()", "GroupId"],
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
            let of_x = stage::workgroup_x(self.case).unwrap_or_else(|| format!("{group}.x"));
            self.start_line();
            put!(self, "uint workgroup_index = {of_x}");
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
    let part = |k: usize| match ty.kind() {
        Kind::Single => format!(".{}", ["x", "y", "z", "w"].get(k).copied().unwrap_or("?")),
        Kind::Struct => format!(".{}", member_name(k)),
        Kind::Array | Kind::Matrix => format!("[{k}]"),
    };
    if ty.is_scalar() {
        return vec![String::new()];
    }
    let within = |(k, of): (usize, Type)| parts(of).into_iter().map(move |rest| part(k) + &rest);
    ty.parts().enumerate().flat_map(within).collect()
}

/// The zero of a type.
struct Zero(Type);

impl std::fmt::Display for Zero {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Kind::Array | Kind::Struct = self.0.kind() {
            let zeros: Vec<String> = self.0.parts().map(|part| Zero(part).to_string()).collect();
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
pub(super) fn qualifier(local: &Local) -> &'static str {
    if local.precise { "precise " } else { "" }
}
