//! Prints a case as a compute shader in WGSL, for compilers that make SPIR-V of it, and for people.
//!
//! What a shader declares is planned as for GLSL; what it says is printed here. Which sentences of the language's text it rests on is said in
//! `docs/languages.md`. In short:
//!
//! - `enable subgroups;`, but for naga, and `diagnostic(off, subgroup_uniformity);`: programs have subgroup operations wherever they like.
//! - Built-in values are copied to private variables of the module; the log is written by functions `LOG1(site, x1)` and so on.
//! - `out` and `inout` parameters are pointers; a parameter that the function writes is copied to a variable.
//! - A loop whose head holds statements is a `loop` with `continuing`; so is every `do … while`, with `break if`.
//! - `?:` is `select`, where evaluating both values changes nothing.
//! - Lane masks, scans of other operations than add and multiply, fall through and other things do not exist: [`lacks`].

mod body;
mod functions;
mod share;
pub(crate) mod spelling;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

use tangle_analysis::cost::{log_capacity, log_stride};
use tangle_program::case::{Case, SubgroupSize, interface};
use tangle_program::map_buffer;
use tangle_program::memory::Shared;
use tangle_program::ops::Intrinsic;
use tangle_program::tree::{Direction, Expr, Function, MAX_ENTRY_WORDS, walk_block};
use tangle_program::types::{Scalar, Type};

use crate::glsl::precedence::Context;
use crate::plan::{Helper, Plan, Uses, plan, structs};
use crate::printed::Printed;
use crate::printer::{Dialect, NOTHING, Printer, in_halves, member_name, put, put_line, record_words};
use body::{Body, is_atomic};
pub use share::{fitted, lacks};
use spelling::TypeName;

/// The shader of a case, with the place of each statement.
pub fn print(case: &Case) -> Printed<'_> {
    let plans: Vec<Plan> = case.program.functions.iter().map(|function| plan(case, function, Dialect::Wgsl)).collect();
    let mut uses = plans.iter().fold(Uses::default(), |uses, plan| uses.and(plan.uses));
    case.program.shared.iter().for_each(|array| uses.scalars |= 1 << array.scalar as u16);
    let mut printer = Printer::new(case, Dialect::Wgsl);
    printer.wgsl_header(uses);
    let header = printer.line;
    structs(&plans).into_iter().for_each(|ty| printer.wgsl_structure(ty));
    let helpers: BTreeSet<(Helper, Type)> = plans.iter().flat_map(|plan| plan.helpers.iter().copied()).collect();
    helpers.into_iter().for_each(|(helper, ty)| printer.wgsl_helper(helper, ty));
    let mut functions = case.program.functions.iter().zip(plans);
    let main = functions.next_back();
    functions.for_each(|(function, plan)| printer.wgsl_function(function, plan));
    let prologue = main.map_or(0..0, |(main, plan)| printer.wgsl_main(main, plan, uses));
    Printed { text: printer.out, places: printer.places, header, prologue }
}

/// An expression of a function of the case.
pub(crate) fn expression(case: &Case, function: &Function, expr: &Expr) -> String {
    let mut printer = Printer::new(case, Dialect::Wgsl);
    Body::new(&mut printer, function, Vec::new(), false).expr(expr, Context::Open);
    printer.out
}

/// Whether the shader has to ask for subgroup operations, as WGSL says (§4.1.1). naga has them without being asked, and refuses the line as not
/// implemented (gfx-rs/wgpu, issue 5555).
fn enables_subgroups(case: &Case) -> bool {
    case.variant.front_end().is_none_or(|by| by.base() != "naga")
}

/// The size that subgroups have to have, where WGSL can say so: "A pipeline-creation error results if the x-dimension of the entry point's
/// `workgroup_size` is not a multiple of the `subgroup_size` value" (WGSL, `subgroup_size`). naga does not know it.
fn required_size(case: &Case) -> Option<u32> {
    match case.entry_point.subgroup_size {
        SubgroupSize::Required(size) if enables_subgroups(case) => {
            case.entry_point.workgroups().size[0].is_multiple_of(size).then_some(size)
        }
        _ => None,
    }
}

/// The shader without the size that subgroups have to have, in as many lines: it is the pipeline's, and in no module.
pub fn without_subgroup_size(source: &str) -> String {
    let is_of_size = |line: &str| line == ENABLE_SUBGROUP_SIZE || line.starts_with(SUBGROUP_SIZE);
    source.lines().flat_map(|line| [if is_of_size(line) { "" } else { line }, "\n"]).collect()
}

const ENABLE_SUBGROUP_SIZE: &str = "enable subgroup_size_control;";
const SUBGROUP_SIZE: &str = "@subgroup_size(";

impl<'a> Printer<'a> {
    fn wgsl_header(&mut self, uses: Uses) {
        use interface::{ARRAYS, INPUTS, LOG, MAP, UNIFORMS};
        let data = &self.case.data;
        if enables_subgroups(self.case) {
            put_line!(self, "enable subgroups;");
        }
        if required_size(self.case).is_some() {
            put_line!(self, "{ENABLE_SUBGROUP_SIZE}");
        }
        if uses.scalars >> Scalar::Float16 as u16 & 1 == 1 {
            put_line!(self, "enable f16;");
        }
        put_line!(self, "diagnostic(off, subgroup_uniformity);");
        self.blank_line();
        if uses.inputs {
            put_line!(self, "@group(0) @binding({INPUTS}) var<storage, read> input_words: array<u32>;");
        }
        if uses.uniforms {
            let size = data.uniforms.len().div_ceil(4);
            put_line!(self, "@group(0) @binding({UNIFORMS}) var<uniform> uniform_words: array<vec4<u32>, {size}>;");
        }
        if uses.push {
            let words: Vec<String> = (0..data.push.len()).map(|k| format!("w{k}: u32")).collect();
            put_line!(self, "struct Push {{ {} }}", words.join(", "));
            put_line!(self, "var<immediate> push_words: Push;");
        }
        put_line!(self, "@group(0) @binding({MAP}) var<storage, read_write> map_words: array<u32>;");
        put_line!(self, "@group(0) @binding({LOG}) var<storage, read_write> log_words: array<u32>;");
        let case = self.case;
        let element = |at: usize, array: &Shared| {
            let scalar = spelling::scalar(array.scalar).unwrap_or(NOTHING);
            if is_atomic(case, at as u32) { format!("atomic<{scalar}>") } else { scalar.to_owned() }
        };
        let numbered = || case.program.shared.iter().enumerate();
        let in_buffer: Vec<String> = numbered()
            .filter(|(_, array)| !array.storage.is_workgroup())
            .map(|(at, array)| {
                let len = u64::from(array.len) * u64::from(case.entry_point.groups());
                format!("{}: array<{}, {len}>", spelling::name(&array.name), element(at, array))
            })
            .collect();
        if !in_buffer.is_empty() {
            put_line!(self, "struct ArraysInBuffer {{ {} }}", in_buffer.join(", "));
            put_line!(self, "@group(0) @binding({ARRAYS}) var<storage, read_write> Arrays: ArraysInBuffer;");
        }
        for (at, array) in numbered().filter(|(_, array)| array.storage.is_workgroup()) {
            let (name, element, len) = (spelling::name(&array.name), element(at, array), array.len);
            put_line!(self, "var<workgroup> {name}: array<{element}, {len}>;");
        }
        self.blank_line();
        put_line!(self, "var<private> localId: vec3<u32>;");
        for name in
            ["localIndex", "lane", "subgroup_size", "subgroupId", "numSubgroups", "workgroup_index", "invocation"]
        {
            put_line!(self, "var<private> {name}: u32;");
        }
        if uses.entries != 0 {
            self.wgsl_log(uses);
        }
    }

    /// The functions that write entries of the log.
    fn wgsl_log(&mut self, uses: Uses) {
        put_line!(self, "var<private> log_base: u32;");
        put_line!(self, "var<private> cursor: u32;");
        self.blank_line();
        if Scalar::ALL.into_iter().any(|scalar| scalar.is_float() && uses.logged >> scalar as u16 & 1 == 1) {
            put_line!(self, "// The bits of a float, a negative zero being a zero: its sign is up to the device.");
            put_line!(self, "fn FLOAT_WORD(value: f32) -> u32 {{");
            put_line!(self, "    return bitcast<u32>(value) * min(bitcast<u32>(value) << 1u, 1u);");
            put_line!(self, "}}");
        }
        let last = log_capacity(self.case) - 1;
        for words in (0..=MAX_ENTRY_WORDS).filter(|words| uses.entries >> words & 1 == 1) {
            put!(self, "fn LOG{words}(site: u32");
            (1..=words).for_each(|i| put!(self, ", x{i}: u32"));
            self.put(")");
            self.open();
            put_line!(self, "let entry = log_base + (cursor & {last}u);");
            put_line!(self, "cursor += {}u;", words + 1);
            put_line!(self, "log_words[entry] = site;");
            (1..=words).for_each(|i| put_line!(self, "log_words[entry + {i}u] = x{i};"));
            self.close();
            self.end_line();
        }
    }

    fn wgsl_structure(&mut self, ty: Type) {
        let member = |(k, member): (usize, Type)| format!("{}: {}", member_name(k), TypeName(member));
        let members: Vec<String> = ty.parts().enumerate().map(member).collect();
        put_line!(self, "struct {} {{ {} }}", TypeName(ty), members.join(", "));
    }

    /// A function for what WGSL has no built-in function for.
    fn wgsl_helper(&mut self, helper: Helper, ty: Type) {
        let name = TypeName(ty);
        let flag = TypeName(Type { scalar: Scalar::Uint, ..ty });
        match helper {
            Helper::Of(op @ (Intrinsic::AddCarry | Intrinsic::SubBorrow)) => {
                let test = if op == Intrinsic::AddCarry { "x + y < x" } else { "x < y" };
                let function = spelling::of_width(op, ty.width);
                put_line!(self, "fn {function}(x: {name}, y: {name}) -> {name} {{ return {flag}({test}); }}");
            }
            Helper::Of(op @ Intrinsic::SignedMod) => {
                let function = spelling::of_width(op, ty.width);
                put_line!(self, "fn {function}(x: {name}, y: {name}) -> {name} {{");
                put_line!(self, "    let rest = x % y;");
                put_line!(self, "    return select(rest, rest + y, (rest != {name}()) & ((rest ^ y) < {name}()));");
                put_line!(self, "}}");
            }
            Helper::Lanes => self.put_lines(functions::LANES),
            Helper::Of(_) => {}
            Helper::Wave(op) => self.put_lines(functions::of_operation(op).unwrap_or_default()),
        }
    }

    fn wgsl_function(&mut self, function: &'a Function, plan: Plan) {
        let mut written = BTreeSet::new();
        walk_block(&function.body, &mut |stmt| written.extend(stmt.written()));
        let is_copied = |at: usize, direction: Direction| direction == Direction::In && written.contains(&(at as u32));
        self.blank_line();
        put!(self, "fn {}(", spelling::name(&function.name));
        for (at, param) in function.params.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            let (name, ty) = (spelling::name(&param.name), TypeName(param.ty));
            match param.direction {
                Direction::In if is_copied(at, param.direction) => put!(self, "{separator}{name}In: {ty}"),
                Direction::In => put!(self, "{separator}{name}: {ty}"),
                Direction::Out | Direction::Inout => put!(self, "{separator}{name}: ptr<function, {ty}>"),
            }
        }
        self.put(")");
        if let Some(ty) = function.result {
            put!(self, " -> {}", TypeName(ty));
        }
        self.open();
        for (at, param) in function.params.iter().enumerate() {
            let (name, ty) = (spelling::name(&param.name), TypeName(param.ty));
            if param.direction == Direction::Out {
                put_line!(self, "*{name} = {ty}();");
            } else if is_copied(at, param.direction) {
                put_line!(self, "var {name} = {name}In;");
            }
        }
        Body::new(self, function, plan.declared, false).print();
        self.close();
        self.end_line();
    }

    /// Gives the lines of the prologue.
    fn wgsl_main(&mut self, main: &'a Function, plan: Plan, uses: Uses) -> Range<usize> {
        let [x, y, z] = self.case.entry_point.workgroups().size;
        self.blank_line();
        if let Some(size) = required_size(self.case) {
            put_line!(self, "{SUBGROUP_SIZE}{size})");
        }
        put_line!(self, "@compute @workgroup_size({x}, {y}, {z})");
        self.put(
            "fn main(@builtin(workgroup_id) groupId: vec3<u32>, @builtin(local_invocation_id) inLocalId: vec3<u32>,",
        );
        self.end_line();
        self.put(
            "        @builtin(local_invocation_index) inLocalIndex: u32, @builtin(subgroup_invocation_id) inLane: u32,",
        );
        self.end_line();
        self.put("        @builtin(subgroup_size) inSubgroupSize: u32, @builtin(subgroup_id) inSubgroupId: u32,");
        self.end_line();
        self.put("        @builtin(num_subgroups) inNumSubgroups: u32)");
        self.open();
        let first = self.line;
        self.wgsl_prologue(uses);
        if !main.body.is_empty() {
            self.blank_line();
        }
        let prologue = first..self.line;
        Body::new(self, main, plan.declared, true).print();
        self.close();
        self.end_line();
        prologue
    }

    /// Records the lane map while the lanes of a subgroup still execute everything together (docs/rules.md, section M).
    fn wgsl_prologue(&mut self, uses: Uses) {
        for (name, value) in [
            ("localId", "inLocalId"),
            ("localIndex", "inLocalIndex"),
            ("lane", "inLane"),
            ("subgroup_size", "inSubgroupSize"),
            ("subgroupId", "inSubgroupId"),
            ("numSubgroups", "inNumSubgroups"),
        ] {
            put_line!(self, "{name} = {value};");
        }
        let [x, y, z] = self.case.entry_point.workgroups().count;
        self.start_line();
        self.put("workgroup_index = groupId.x");
        if y != 1 {
            put!(self, " + {x}u * groupId.y");
        }
        if z != 1 {
            put!(self, " + {}u * groupId.z", x.wrapping_mul(y));
        }
        self.put(";");
        self.end_line();
        let invocations = self.case.entry_point.group_size();
        put_line!(self, "invocation = workgroup_index * {invocations}u + localIndex;");
        if uses.entries != 0 {
            put_line!(self, "log_base = invocation * {}u;", log_stride(self.case));
            put_line!(self, "cursor = 0u;");
        }
        put_line!(self, "let entry_mask = subgroupBallot(true);");
        put_line!(self, "let entry_token = subgroupBroadcastFirst(localIndex);");
        put_line!(self, "let map_base = invocation * {}u;", self.case.entry_point.packed_map_words());
        let subgroup = in_halves("subgroupId", "numSubgroups");
        for (i, word) in record_words(map_buffer::WRITTEN, Some(Some(subgroup)), &[]).iter().flatten().enumerate() {
            put_line!(self, "map_words[map_base + {i}u] = {word};");
        }
        self.wgsl_arrays_begin();
    }

    /// Fills the workgroup's arrays with what they hold at first.
    fn wgsl_arrays_begin(&mut self) {
        let case = self.case;
        let invocations = case.entry_point.group_size();
        for (at, array) in case.program.shared.iter().enumerate() {
            let (len, ty) = (array.len, spelling::scalar(array.scalar).unwrap_or(NOTHING));
            let init = match array.scalar {
                Scalar::Uint => format!("{}u", array.init),
                _ => format!("{ty}({}u)", array.init),
            };
            let slice = self.slice(array);
            let place = |index: &str| format!("{}[{slice}{index}]", spelling::array(array));
            let set = |index: &str| match is_atomic(case, at as u32) {
                true => format!("atomicStore(&{}, {init});", place(index)),
                false => format!("{} = {init};", place(index)),
            };
            if len == invocations {
                put_line!(self, "{}", set("localIndex"));
            } else {
                put_line!(self, "for (var Slot{at} = localIndex; Slot{at} < {len}u; Slot{at} += {invocations}u) {{");
                put_line!(self, "    {}", set(&format!("Slot{at}")));
                put_line!(self, "}}");
            }
        }
        if !case.program.shared.is_empty() {
            self.start_line();
            self.wgsl_barrier();
            self.end_line();
        }
    }

    fn wgsl_barrier(&mut self) {
        let in_buffer = self.case.program.shared.iter().any(|array| !array.storage.is_workgroup());
        self.put(if in_buffer { "storageBarrier(); workgroupBarrier();" } else { "workgroupBarrier();" });
    }
}
