//! Changes to modules as words: what the runner needs, and a prologue that writes down the lane map.
//!
//! Numbers are those of the SPIR-V unified specification 1.6.

use std::collections::{BTreeMap, BTreeSet};

use tangle_files::module::instructions;

/// Opcodes (SPIR-V 1.6 §3.52).
pub(crate) mod op {
    use rspirv::spirv::Op;

    /// Source text, strings, and what processed the module.
    pub const TEXT: [u32; 5] = [2, 3, 4, 7, 330];
    pub const NAME: u32 = Op::Name as u32;
    pub const MEMBER_NAME: u32 = Op::MemberName as u32;
    pub const LINE: u32 = Op::Line as u32;
    pub const ENTRY_POINT: u32 = Op::EntryPoint as u32;
    pub const EXECUTION_MODE: u32 = Op::ExecutionMode as u32;
    pub const CAPABILITY: u32 = Op::Capability as u32;
    pub const TYPE_VOID: u32 = Op::TypeVoid as u32;
    pub const TYPE_INT: u32 = Op::TypeInt as u32;
    pub const TYPE_VECTOR: u32 = Op::TypeVector as u32;
    pub const TYPE_RUNTIME_ARRAY: u32 = Op::TypeRuntimeArray as u32;
    pub const TYPE_STRUCT: u32 = Op::TypeStruct as u32;
    pub const TYPE_POINTER: u32 = Op::TypePointer as u32;
    pub const TYPE_FORWARD_POINTER: u32 = Op::TypeForwardPointer as u32;
    pub const CONSTANT_TRUE: u32 = Op::ConstantTrue as u32;
    /// The constants lie between these.
    pub const LAST_CONSTANT: u32 = Op::SpecConstantOp as u32;
    pub const CONSTANT: u32 = Op::Constant as u32;
    pub const CONSTANT_NULL: u32 = Op::ConstantNull as u32;
    pub const FUNCTION: u32 = Op::Function as u32;
    pub const FUNCTION_PARAMETER: u32 = Op::FunctionParameter as u32;
    pub const FUNCTION_END: u32 = Op::FunctionEnd as u32;
    pub const VARIABLE: u32 = Op::Variable as u32;
    pub const LOAD: u32 = Op::Load as u32;
    pub const STORE: u32 = Op::Store as u32;
    pub const ACCESS_CHAIN: u32 = Op::AccessChain as u32;
    pub const IN_BOUNDS_ACCESS_CHAIN: u32 = Op::InBoundsAccessChain as u32;
    pub const FUNCTION_CALL: u32 = Op::FunctionCall as u32;
    pub const DECORATE: u32 = Op::Decorate as u32;
    pub const MEMBER_DECORATE: u32 = Op::MemberDecorate as u32;
    pub const COMPOSITE_EXTRACT: u32 = Op::CompositeExtract as u32;
    pub const COPY_OBJECT: u32 = Op::CopyObject as u32;
    pub const BITCAST: u32 = Op::Bitcast as u32;
    pub const I_ADD: u32 = Op::IAdd as u32;
    pub const I_MUL: u32 = Op::IMul as u32;
    pub const PHI: u32 = Op::Phi as u32;
    pub const LOOP_MERGE: u32 = Op::LoopMerge as u32;
    pub const SELECTION_MERGE: u32 = Op::SelectionMerge as u32;
    pub const LABEL: u32 = Op::Label as u32;
    pub const BRANCH: u32 = Op::Branch as u32;
    pub const BRANCH_CONDITIONAL: u32 = Op::BranchConditional as u32;
    pub const SWITCH: u32 = Op::Switch as u32;
    pub const UNREACHABLE: u32 = Op::Unreachable as u32;
    pub const NO_LINE: u32 = Op::NoLine as u32;
    /// What samples an image with a depth comparison.
    pub const DEPTH_COMPARISONS: [u32; 5] = [
        Op::ImageSampleDrefImplicitLod as u32,
        Op::ImageSampleDrefExplicitLod as u32,
        Op::ImageSampleProjDrefImplicitLod as u32,
        Op::ImageSampleProjDrefExplicitLod as u32,
        Op::ImageDrefGather as u32,
    ];
    pub const EXECUTION_MODE_ID: u32 = Op::ExecutionModeId as u32;
}

/// Decorations (SPIR-V 1.6 §3.20).
mod decoration {
    use rspirv::spirv::Decoration;

    pub const BLOCK: u32 = Decoration::Block as u32;
    pub const ARRAY_STRIDE: u32 = Decoration::ArrayStride as u32;
    pub const BUILT_IN: u32 = Decoration::BuiltIn as u32;
    pub const BINDING: u32 = Decoration::Binding as u32;
    pub const DESCRIPTOR_SET: u32 = Decoration::DescriptorSet as u32;
    pub const OFFSET: u32 = Decoration::Offset as u32;
}

/// Built-in variables (SPIR-V 1.6 §3.21).
mod built_in {
    use rspirv::spirv::BuiltIn;

    pub const NUM_WORKGROUPS: u32 = BuiltIn::NumWorkgroups as u32;
    pub const WORKGROUP_ID: u32 = BuiltIn::WorkgroupId as u32;
    pub const LOCAL_INVOCATION_INDEX: u32 = BuiltIn::LocalInvocationIndex as u32;
    pub const SUBGROUP_SIZE: u32 = BuiltIn::SubgroupSize as u32;
    pub const NUM_SUBGROUPS: u32 = BuiltIn::NumSubgroups as u32;
    pub const SUBGROUP_ID: u32 = BuiltIn::SubgroupId as u32;
    pub const SUBGROUP_LOCAL_INVOCATION_ID: u32 = BuiltIn::SubgroupLocalInvocationId as u32;
}

/// The execution model GLCompute (SPIR-V 1.6 §3.3).
const GL_COMPUTE: u32 = 5;
/// The capability GroupNonUniform (SPIR-V 1.6 §3.31).
const GROUP_NON_UNIFORM: u32 = 61;
/// The storage classes Input and StorageBuffer (SPIR-V 1.6 §3.7).
const INPUT: u32 = 1;
const STORAGE_BUFFER: u32 = 12;
/// The first version with subgroup operations and this storage class in the core, and the first whose entry points name all variables.
const SPIRV_1_3: u32 = 0x0001_0300;
const SPIRV_1_4: u32 = 0x0001_0400;

/// Words that each invocation writes into the lane map: `SubgroupId`, `SubgroupLocalInvocationId`, `SubgroupSize`, `NumSubgroups`.
pub const MAP_WORDS: usize = 4;

/// A module as instructions, each with its first word.
pub(crate) struct Instructions {
    pub header: [u32; 5],
    pub list: Vec<Vec<u32>>,
}

pub(crate) fn instruction(opcode: u32, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![(operands.len() as u32 + 1) << 16 | opcode];
    words.extend(operands);
    words
}

pub(crate) fn opcode(words: &[u32]) -> u32 {
    words[0] & 0xFFFF
}

/// A literal string (§2.2.1).
fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() + 1).next_multiple_of(4), 0);
    tangle_files::words::from_bytes(&bytes)
}

/// Words of the string that these begin with.
fn string_words(words: &[u32]) -> usize {
    let ends = |word: &u32| word.to_le_bytes().contains(&0);
    words.iter().position(ends).map_or(words.len(), |last| last + 1)
}

impl Instructions {
    /// `None` if the words are no module.
    pub fn read(words: &[u32]) -> Option<Instructions> {
        let list: Result<_, usize> = instructions(words).map(|one| Ok(one?.words.to_vec())).collect();
        Some(Instructions { header: *words.first_chunk()?, list: list.ok()? })
    }

    pub fn words(self) -> Vec<u32> {
        self.header.into_iter().chain(self.list.into_iter().flatten()).collect()
    }

    fn id(&mut self) -> u32 {
        self.header[3] += 1;
        self.header[3] - 1
    }

    /// Before the first type, and its line.
    fn first_type(&self) -> usize {
        let is_type = |words: &Vec<u32>| (op::TYPE_VOID..=op::TYPE_FORWARD_POINTER).contains(&opcode(words));
        let mut at = self.list.iter().position(is_type).unwrap_or(self.list.len());
        while at > 0 && [op::LINE, op::NO_LINE].contains(&opcode(&self.list[at - 1])) {
            at -= 1;
        }
        at
    }

    pub fn first_function(&self) -> usize {
        self.list.iter().position(|words| opcode(words) == op::FUNCTION).unwrap_or(self.list.len())
    }

    /// The type with these operands; made if there is none.
    fn type_of(&mut self, wanted: u32, operands: &[u32]) -> u32 {
        let found = self.list.iter().find(|words| opcode(words) == wanted && words[2..] == *operands);
        if let Some(words) = found {
            return words[1];
        }
        let id = self.id();
        self.add_global(instruction(wanted, &[&[id], operands].concat()));
        id
    }

    /// The constant of a type that has no literal: null, or true.
    pub fn plain_constant(&mut self, wanted: u32, ty: u32) -> u32 {
        if let Some(words) = self.list.iter().find(|words| opcode(words) == wanted && words[1] == ty) {
            return words[2];
        }
        let id = self.id();
        self.add_global(instruction(wanted, &[ty, id]));
        id
    }

    fn constant(&mut self, ty: u32, value: u32) -> u32 {
        let found = self.list.iter().find(|w| opcode(w) == op::CONSTANT && w[1] == ty && w[3..] == [value]);
        if let Some(words) = found {
            return words[2];
        }
        let id = self.id();
        self.add_global(instruction(op::CONSTANT, &[ty, id, value]));
        id
    }

    fn add_global(&mut self, words: Vec<u32>) {
        let at = self.first_function();
        self.list.insert(at, words);
    }

    fn decorate(&mut self, words: Vec<u32>) {
        let at = self.first_type();
        self.list.insert(at, words);
    }

    /// The entry point for compute; there is one.
    fn entry(&mut self) -> Option<&mut Vec<u32>> {
        self.list.iter_mut().find(|words| opcode(words) == op::ENTRY_POINT && words[1] == GL_COMPUTE)
    }

    /// The entry point names a variable.
    fn add_interface(&mut self, id: u32) {
        let Some(entry) = self.entry() else { return };
        let first = 3 + string_words(&entry[3..]);
        if !entry[first..].contains(&id) {
            entry.push(id);
            entry[0] += 1 << 16;
        }
    }

    /// An input variable: its id and the type of what is in it. The variable of the module if it has one, since there may only be one.
    fn input(&mut self, number: u32, ty: u32) -> (u32, u32) {
        let decorated = |words: &&Vec<u32>| {
            opcode(words) == op::DECORATE && words.len() == 4 && words[2..] == [decoration::BUILT_IN, number]
        };
        let variables = self.list.iter().filter(decorated).map(|words| words[1]).collect::<Vec<_>>();
        let found = self
            .list
            .iter()
            .find(|w| opcode(w) == op::VARIABLE && w.get(3) == Some(&INPUT) && variables.contains(&w[2]));
        let known = found.map(|words| (words[2], words[1])).and_then(|(id, pointer)| {
            let is_it = |w: &&Vec<u32>| opcode(w) == op::TYPE_POINTER && w[1] == pointer;
            self.list.iter().find(is_it).map(|words| (id, words[3]))
        });
        let (id, pointee) = known.unwrap_or_else(|| {
            let pointer = self.type_of(op::TYPE_POINTER, &[INPUT, ty]);
            let id = self.id();
            self.add_global(instruction(op::VARIABLE, &[pointer, id, INPUT]));
            self.decorate(instruction(op::DECORATE, &[id, decoration::BUILT_IN, number]));
            (id, ty)
        });
        self.add_interface(id);
        (id, pointee)
    }
}

/// True if the module samples an image with a depth comparison.
pub(crate) fn compares_depths(words: &[u32]) -> bool {
    let instructions = Instructions::read(words).map_or(Vec::new(), |module| module.list);
    instructions.iter().any(|words| op::DEPTH_COMPARISONS.contains(&opcode(words)))
}

/// Set and binding of the arrays of descriptors with an index that is no constant.
pub(crate) fn dynamically_indexed(words: &[u32]) -> BTreeSet<(u32, u32)> {
    let list = Instructions::read(words).map_or(Vec::new(), |module| module.list);
    let is_constant = |words: &&Vec<u32>| (op::CONSTANT_TRUE..=op::LAST_CONSTANT).contains(&opcode(words));
    let constants: BTreeSet<u32> = list.iter().filter(is_constant).filter_map(|words| words.get(2).copied()).collect();
    let decorated = |id: u32, what: u32| {
        let found = list.iter().find(|w| opcode(w) == op::DECORATE && w.len() > 3 && w[1] == id && w[2] == what);
        found.map_or(0, |words| words[3])
    };
    let variables: BTreeMap<u32, (u32, u32)> = list
        .iter()
        .filter(|words| opcode(words) == op::VARIABLE && words.len() > 3)
        .map(|words| words[2])
        .map(|id| (id, (decorated(id, decoration::DESCRIPTOR_SET), decorated(id, decoration::BINDING))))
        .collect();
    let mut found = BTreeSet::new();
    for words in &list {
        match (opcode(words), &words[1..]) {
            (op::ACCESS_CHAIN | op::IN_BOUNDS_ACCESS_CHAIN, [_, _, _, index, ..]) if constants.contains(index) => {}
            // What a function does with an array that it is given is not followed.
            (op::ACCESS_CHAIN | op::IN_BOUNDS_ACCESS_CHAIN | op::FUNCTION_CALL | op::COPY_OBJECT, operands) => {
                found.extend(operands.iter().filter_map(|id| variables.get(id)));
            }
            _ => {}
        }
    }
    found
}

/// A module for the runner, which knows descriptor set 0 and the entry point `main` only. `bindings` are the module's, as (set, binding); each gets its
/// place in this list as its binding.
///
/// # Errors
/// If the words are no module with this entry point.
pub fn portable(words: &[u32], entry: &str, bindings: &[(u32, u32)]) -> Result<Vec<u32>, String> {
    let mut module = Instructions::read(words).ok_or("no SPIR-V module")?;
    let name = string(entry);
    let mut chosen = None;
    let mut others = Vec::new();
    for words in module.list.iter().filter(|words| opcode(words) == op::ENTRY_POINT) {
        match words[1] == GL_COMPUTE && words[3..].starts_with(&name) {
            true => chosen = Some(words[2]),
            false => others.push(words[2]),
        }
    }
    let chosen = chosen.ok_or_else(|| format!("there is no entry point '{entry}'"))?;
    module.list.retain(|words| match opcode(words) {
        op::ENTRY_POINT => words[1] == GL_COMPUTE && words[3..].starts_with(&name),
        op::EXECUTION_MODE | op::EXECUTION_MODE_ID => words[1] == chosen || !others.contains(&words[1]),
        _ => true,
    });
    if let Some(words) = module.entry() {
        let operands = [&words[1..3], &string("main"), &words[3 + name.len()..]].concat();
        *words = instruction(op::ENTRY_POINT, &operands);
    }
    let value = |list: &[Vec<u32>], id: u32, what: u32| {
        list.iter().find(|w| opcode(w) == op::DECORATE && w[1] == id && w[2] == what).map_or(0, |w| w[3])
    };
    let is_place = |words: &[u32]| {
        opcode(words) == op::DECORATE && [decoration::BINDING, decoration::DESCRIPTOR_SET].contains(&words[2])
    };
    let old = module.list.clone();
    for words in module.list.iter_mut().filter(|words| is_place(words)) {
        let id = words[1];
        let place = (value(&old, id, decoration::DESCRIPTOR_SET), value(&old, id, decoration::BINDING));
        let new = bindings.iter().position(|known| *known == place).unwrap_or(bindings.len());
        words[3] = if words[2] == decoration::BINDING { new as u32 } else { 0 };
    }
    Ok(module.words())
}

/// A copy of a [`portable`] module that first writes, for every invocation, [`MAP_WORDS`] words into a storage buffer at a binding of its own.
/// `invocations` are those of a workgroup.
///
/// # Errors
/// If the words are no such module.
pub fn with_lane_map(words: &[u32], binding: u32, invocations: u32) -> Result<Vec<u32>, String> {
    let mut module = Instructions::read(words).ok_or("no SPIR-V module")?;
    module.header[1] = module.header[1].max(SPIRV_1_3);
    if !module.list.contains(&instruction(op::CAPABILITY, &[GROUP_NON_UNIFORM])) {
        module.list.insert(0, instruction(op::CAPABILITY, &[GROUP_NON_UNIFORM]));
    }
    let uint = module.type_of(op::TYPE_INT, &[32, 0]);
    let vector = module.type_of(op::TYPE_VECTOR, &[uint, 3]);
    // Aggregates may be there twice.
    let (array, block) = (module.id(), module.id());
    module.add_global(instruction(op::TYPE_RUNTIME_ARRAY, &[array, uint]));
    module.add_global(instruction(op::TYPE_STRUCT, &[block, array]));
    module.decorate(instruction(op::DECORATE, &[array, decoration::ARRAY_STRIDE, 4]));
    module.decorate(instruction(op::DECORATE, &[block, decoration::BLOCK]));
    module.decorate(instruction(op::MEMBER_DECORATE, &[block, 0, decoration::OFFSET, 0]));
    let pointer = module.type_of(op::TYPE_POINTER, &[STORAGE_BUFFER, block]);
    let element = module.type_of(op::TYPE_POINTER, &[STORAGE_BUFFER, uint]);
    let map = module.id();
    module.add_global(instruction(op::VARIABLE, &[pointer, map, STORAGE_BUFFER]));
    module.decorate(instruction(op::DECORATE, &[map, decoration::DESCRIPTOR_SET, 0]));
    module.decorate(instruction(op::DECORATE, &[map, decoration::BINDING, binding]));
    if module.header[1] >= SPIRV_1_4 {
        module.add_interface(map);
    }
    let mut code = Code { module: &mut module, uint, list: Vec::new() };
    let [group, groups] = [built_in::WORKGROUP_ID, built_in::NUM_WORKGROUPS].map(|number| code.load(number, vector));
    let [x, y, z] = [0, 1, 2].map(|component| code.component(group, component));
    let [columns, rows] = [0, 1].map(|component| code.component(groups, component));
    let slices = code.compute(op::I_MUL, z, rows);
    let slices = code.compute(op::I_ADD, slices, y);
    let before = code.compute(op::I_MUL, slices, columns);
    let workgroup = code.compute(op::I_ADD, before, x);
    let n = code.module.constant(uint, invocations);
    let first = code.compute(op::I_MUL, workgroup, n);
    let (index, _) = code.load(built_in::LOCAL_INVOCATION_INDEX, uint);
    let invocation = code.compute(op::I_ADD, first, index);
    let stride = code.module.constant(uint, MAP_WORDS as u32);
    let base = code.compute(op::I_MUL, invocation, stride);
    let zero = code.module.constant(uint, 0);
    let values = [
        built_in::SUBGROUP_ID,
        built_in::SUBGROUP_LOCAL_INVOCATION_ID,
        built_in::SUBGROUP_SIZE,
        built_in::NUM_SUBGROUPS,
    ];
    for (at, number) in (0..).zip(values) {
        let (value, _) = code.load(number, uint);
        let offset = code.module.constant(uint, at);
        let at = code.compute(op::I_ADD, base, offset);
        let to = code.module.id();
        code.list.push(instruction(op::ACCESS_CHAIN, &[element, to, map, zero, at]));
        code.list.push(instruction(op::STORE, &[to, value]));
    }
    let list = code.list;
    let entry = module.entry().map(|words| words[2]).ok_or("there is no entry point for compute")?;
    let function = module.list.iter().position(|words| opcode(words) == op::FUNCTION && words[2] == entry);
    let label = function
        .and_then(|from| module.list[from..].iter().position(|words| opcode(words) == op::LABEL).map(|at| from + at));
    let mut at = label.ok_or("the entry point has no body")? + 1;
    while [op::VARIABLE, op::LINE, op::NO_LINE].contains(&module.list.get(at).map_or(0, |words| opcode(words))) {
        at += 1;
    }
    module.list.splice(at..at, list);
    Ok(module.words())
}

/// Instructions of the prologue.
struct Code<'a> {
    module: &'a mut Instructions,
    uint: u32,
    list: Vec<Vec<u32>>,
}

impl Code<'_> {
    /// A built-in variable: its value and its type. Scalars are unsigned.
    fn load(&mut self, number: u32, ty: u32) -> (u32, u32) {
        let (variable, ty) = self.module.input(number, ty);
        let id = self.module.id();
        self.list.push(instruction(op::LOAD, &[ty, id, variable]));
        let is_vector = self.module.list.iter().any(|words| opcode(words) == op::TYPE_VECTOR && words[1] == ty);
        if is_vector { (id, ty) } else { (self.unsigned(id, ty), self.uint) }
    }

    fn unsigned(&mut self, value: u32, ty: u32) -> u32 {
        if ty == self.uint {
            return value;
        }
        let id = self.module.id();
        self.list.push(instruction(op::BITCAST, &[self.uint, id, value]));
        id
    }

    fn component(&mut self, (vector, ty): (u32, u32), index: u32) -> u32 {
        let is_it = |words: &&Vec<u32>| opcode(words) == op::TYPE_VECTOR && words[1] == ty;
        let scalar = self.module.list.iter().find(is_it).map_or(self.uint, |words| words[2]);
        let id = self.module.id();
        self.list.push(instruction(op::COMPOSITE_EXTRACT, &[scalar, id, vector, index]));
        self.unsigned(id, scalar)
    }

    fn compute(&mut self, operation: u32, x: u32, y: u32) -> u32 {
        let id = self.module.id();
        self.list.push(instruction(operation, &[self.uint, id, x, y]));
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Inputs, judge};
    use std::collections::BTreeMap;
    use tangle_program::case::{SpirvVersion, Stage};
    use tangle_runner::toolchain;

    const GLSL: &str = "#version 450
        #extension GL_KHR_shader_subgroup_basic : require
        #extension GL_KHR_shader_subgroup_arithmetic : require
        layout(local_size_x = 4, local_size_y = 3) in;
        layout(set = 3, binding = 5) buffer A { uint a[]; };
        layout(set = 1, binding = 5) uniform B { uint b; };
        void main() {
            uint i = gl_LocalInvocationIndex + 12u * (gl_WorkGroupID.x + 2u * gl_WorkGroupID.y);
            a[i] = b + subgroupAdd(gl_SubgroupInvocationID);
        }";

    #[test]
    fn a_copy_writes_the_lane_map_and_what_the_module_writes() {
        for version in [SpirvVersion::V1_3, SpirvVersion::V1_4, SpirvVersion::V1_6] {
            let words = toolchain::compile_with_lines(GLSL, Stage::Compute, version).unwrap();
            let inputs = Inputs {
                buffers: BTreeMap::from([((1, 5), vec![9, 0, 0, 0])]),
                workgroups: [2, 3, 1],
                subgroup_size: 8,
                ..Inputs::default()
            };
            let original = judge(&words, &inputs).unwrap();
            let words = portable(&words, "main", &[(3, 5), (1, 5)]).unwrap();
            toolchain::validate(&words, SpirvVersion::V1_6).unwrap();
            let words = with_lane_map(&words, 2, 12).unwrap();
            toolchain::validate(&words, SpirvVersion::V1_6).unwrap();
            let buffers = BTreeMap::from([((0, 1), vec![9, 0, 0, 0]), ((0, 2), vec![0; 6 * 12 * 16])]);
            let copy = judge(&words, &Inputs { buffers, ..inputs }).unwrap();
            let find = |outcome: &tangle_interpreter::Outcome, set, binding| {
                outcome.buffers.iter().find(|b| (b.set, b.binding) == (set, binding)).cloned().unwrap()
            };
            let (before, after) = (find(&original.outcome, 3, 5), find(&copy.outcome, 0, 0));
            assert_eq!((before.bytes, before.states), (after.bytes, after.states));
            let map = find(&copy.outcome, 0, 2);
            for invocation in 0..72u32 {
                let index = invocation % 12;
                let expected = [index / 8, index % 8, 8, 2];
                for (at, value) in expected.into_iter().enumerate() {
                    assert_eq!(map.word(16 * invocation as usize + 4 * at), Some(value), "{invocation} {at}");
                }
            }
        }
    }

    #[test]
    fn arrays_of_descriptors_are_indexed_by_constants_or_not() {
        let glsl = "#version 450
            layout(constant_id = 1) const int k = 1;
            layout(set = 2, binding = 5) buffer A { uint a; } x[2];
            layout(set = 2, binding = 6) buffer B { uint a[2]; } y[2];
            layout(binding = 1) uniform sampler2D s[3];
            layout(binding = 2) uniform C { int i; };
            void main() { x[1].a = 2u; y[k].a[i] = 1u; y[0].a[1] = uint(textureLod(s[i], vec2(0), 0.0).x); }";
        let words = toolchain::compile(glsl, SpirvVersion::V1_3).unwrap();
        assert_eq!(dynamically_indexed(&words).into_iter().collect::<Vec<_>>(), [(0, 1)]);
        assert!(dynamically_indexed(&[1, 2]).is_empty());
    }

    #[test]
    fn what_is_no_module_is_an_error() {
        for words in [&[][..], &[1; 4], &[0x0723_0203, 0, 0, 1, 0, 0], &[0x0723_0203, 0, 0, 1, 0, 0x0005_0000]] {
            assert!(portable(words, "main", &[]).is_err() && with_lane_map(words, 0, 1).is_err());
        }
    }
}
