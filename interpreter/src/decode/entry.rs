//! The entry point with its execution modes, names and decorations.

use std::collections::BTreeSet;

use rspirv::spirv::{self, Decoration, Op as Opcode};

use super::{Decoder, Direction, FloatModes, has_workgroups, id_at, invalid, is_executed, literal_at};
use crate::code::*;
use crate::dispatch::Tier;
use crate::operand::Operand;
use crate::outcome::Error;
use crate::source::{Instruction, Source};

impl Decoder<'_> {
    pub(super) fn entry_point(&self) -> Result<(u32, String, spirv::ExecutionModel), Error> {
        let mut found = Vec::new();
        for inst in self.module.section(&self.module.entry_points) {
            if let &[Operand::ExecutionModel(model), Operand::IdRef(id), Operand::LiteralString(name), ..] =
                inst.operands
            {
                let name = self.module.text(name);
                if self.options.entry.as_ref().map_or(is_executed(model), |entry| entry == name) {
                    found.push((id, name.to_owned(), model));
                }
            }
        }
        // A module of task and mesh shaders may have a compute shader, too, and one of these a fragment shader.
        let is_compute = |stage| stage == spirv::ExecutionModel::GLCompute;
        for is_meant in [is_compute, has_workgroups] {
            if self.options.entry.is_none() && found.iter().any(|found| is_meant(found.2)) {
                found.retain(|found| is_meant(found.2));
            }
        }
        match (found.len(), &self.options.entry) {
            (1, _) => Ok(found.remove(0)),
            (0, Some(name)) => {
                Err(Error::Dispatch(format!("it has no entry point '{name}', but {}", self.entry_names())))
            }
            (0, None) => {
                match self.module.section(&self.module.entry_points).next().and_then(|inst| inst.operands.first()) {
                    Some(Operand::ExecutionModel(model)) => {
                        Err(Error::Unsupported(vec![format!("execution model {model:?}")]))
                    }
                    _ => Err(invalid("there is no entry point")),
                }
            }
            (_, None) => Err(Error::Dispatch(format!("it has several entry points, name one: {}", self.entry_names()))),
            (_, Some(name)) => Err(invalid(format!("several entry points are called '{name}'"))),
        }
    }

    /// The variables of the interface of an entry point.
    pub(super) fn interface_of(&self, entry: u32, stage: spirv::ExecutionModel) -> BTreeSet<u32> {
        let is_it = |inst: &Instruction<'_>| {
            inst.operands.get(..2) == Some(&[Operand::ExecutionModel(stage), Operand::IdRef(entry)])
        };
        let all = self.module.section(&self.module.entry_points).filter(is_it);
        all.flat_map(|inst| inst.operands[2..].iter().filter_map(Operand::id)).collect()
    }

    /// The names of all entry points, for people.
    fn entry_names(&self) -> String {
        let names = self.module.section(&self.module.entry_points).filter_map(|inst| match *inst.operands {
            [_, _, Operand::LiteralString(name), ..] => Some(format!("'{}'", self.module.text(name))),
            _ => None,
        });
        names.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn memory_model(&mut self) {
        let operands = self.module.memory_model.map_or(&[][..], |number| self.module.get(number).operands);
        let addressing = operands.first();
        self.vulkan_memory = operands.get(1) == Some(&Operand::MemoryModel(spirv::MemoryModel::Vulkan));
        match addressing {
            Some(Operand::AddressingModel(
                spirv::AddressingModel::Logical | spirv::AddressingModel::PhysicalStorageBuffer64,
            )) => {}
            other => self.unsupported(format!("addressing model {other:?}")),
        }
    }

    pub(super) fn imports(&mut self) {
        let module = self.module;
        for inst in module.section(&module.imports) {
            let (Some(id), Some(&Operand::LiteralString(name))) = (inst.result_id, inst.operands.first()) else {
                continue;
            };
            let name = module.text(name);
            if name == "GLSL.std.450" {
                self.glsl.insert(id);
            } else if name.starts_with("NonSemantic.") || name.contains("DebugInfo") {
                self.ignored_sets.insert(id);
            } else {
                self.unsupported(format!("extended instructions \"{name}\""));
            }
        }
    }

    pub(super) fn debug(&mut self) {
        let module = self.module;
        for inst in module.section(&module.names) {
            if let &[Operand::IdRef(id), Operand::LiteralString(name)] = inst.operands
                && !module.text(name).is_empty()
            {
                self.name_of.insert(id, name);
            }
        }
        for inst in module.section(&module.strings) {
            if let (Opcode::String, Some(id), Some(&Operand::LiteralString(text))) =
                (inst.class.opcode, inst.result_id, inst.operands.first())
            {
                self.names.files.insert(id, module.text(text).to_owned());
            }
        }
    }

    pub(super) fn annotations(&mut self) {
        let module = self.module;
        for inst in module.section(&module.annotations) {
            match (inst.class.opcode, inst.operands) {
                (
                    Opcode::Decorate | Opcode::DecorateId,
                    [Operand::IdRef(id), Operand::Decoration(decoration), rest @ ..],
                ) => self.decorate(*id, *decoration, rest),
                (
                    Opcode::MemberDecorate,
                    [Operand::IdRef(id), Operand::LiteralBit32(member), Operand::Decoration(decoration), rest @ ..],
                ) => self.decorate_member((*id, *member), *decoration, rest),
                (Opcode::GroupDecorate, [Operand::IdRef(group), targets @ ..]) => {
                    for (decoration, rest) in decorations_of(module, *group) {
                        for target in targets {
                            if let Operand::IdRef(target) = target {
                                self.decorate(*target, decoration, rest);
                            }
                        }
                    }
                }
                (Opcode::GroupMemberDecorate, [Operand::IdRef(group), targets @ ..]) => {
                    for (decoration, rest) in decorations_of(module, *group) {
                        for pair in targets.chunks_exact(2) {
                            if let [Operand::IdRef(target), Operand::LiteralBit32(member)] = pair {
                                self.decorate_member((*target, *member), decoration, rest);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn decorate(&mut self, id: u32, decoration: Decoration, operands: &[Operand]) {
        match decoration {
            // "If the SPIR-V specifies it explicitly using the code:FPFastMath decoration […] then that is used" (Vulkan, "Precision and Operation of
            // SPIR-V Instructions"), in place of what the execution modes say.
            Decoration::FPFastMathMode => self.unsupported("the decoration FPFastMathMode"),
            // "Asserts that […] all active invocations in the invocation's Subgroup scope compute the same result value" (SPIR-V 1.6, Decoration): a driver
            // may rely on what is not looked at here.
            Decoration::Uniform => self.unsupported("the decoration Uniform"),
            Decoration::UniformId => self.unsupported("the decoration UniformId"),
            Decoration::NonUniform => return self.marks.get_or_default(id).non_uniform = true,
            Decoration::RelaxedPrecision => return self.marks.get_or_default(id).relaxed = true,
            Decoration::NoContraction => return self.marks.get_or_default(id).no_contraction = true,
            Decoration::NoSignedWrap => return self.marks.get_or_default(id).no_signed_wrap = true,
            Decoration::NoUnsignedWrap => return self.marks.get_or_default(id).no_unsigned_wrap = true,
            _ => {}
        }
        let value = number(operands);
        let entry = self.decorations.entry(id).or_default();
        match decoration {
            Decoration::DescriptorSet => entry.set = value,
            Decoration::Binding => entry.binding = value,
            Decoration::SpecId => entry.spec_id = value,
            Decoration::BuiltIn => entry.built_in = value,
            Decoration::Location => entry.location = value,
            Decoration::Component => entry.component = value,
            Decoration::Index => entry.index = value,
            Decoration::Flat => entry.flat = true,
            Decoration::ArrayStride => entry.array_stride = value,
            Decoration::NonWritable => entry.read_only = true,
            Decoration::Aliased => entry.aliased = true,
            Decoration::Coherent => entry.coherent = true,
            Decoration::Volatile => (entry.coherent, entry.volatile) = (true, true),
            Decoration::BufferBlock => entry.buffer_block = true,
            Decoration::Block => entry.block = true,
            _ => {}
        }
    }

    fn decorate_member(&mut self, member: (u32, u32), decoration: Decoration, operands: &[Operand]) {
        let value = number(operands);
        let entry = self.members.entry(member).or_default();
        match decoration {
            Decoration::Offset => entry.offset = value,
            Decoration::MatrixStride => entry.matrix_stride = value,
            Decoration::RowMajor => entry.row_major = true,
            Decoration::NonWritable => entry.read_only = true,
            Decoration::Coherent => entry.coherent = true,
            Decoration::Volatile => (entry.coherent, entry.volatile) = (true, true),
            Decoration::BuiltIn => entry.built_in = value,
            _ => {}
        }
    }

    pub(super) fn workgroup_size(&self, entry: u32) -> Result<[u32; 3], Error> {
        let mut size = None;
        for inst in self.module.section(&self.module.execution_modes) {
            if inst.operands.first() != Some(&Operand::IdRef(entry)) {
                continue;
            }
            let mode = match inst.operands.get(1) {
                Some(Operand::ExecutionMode(mode)) => *mode,
                _ => continue,
            };
            if mode == spirv::ExecutionMode::LocalSize {
                size = Some([literal_at(&inst, 2)?, literal_at(&inst, 3)?, literal_at(&inst, 4)?]);
            } else if mode == spirv::ExecutionMode::LocalSizeId {
                let side = |at| Ok::<_, Error>(self.literal_constant(id_at(&inst, at)?)? as u32);
                size = Some([side(2)?, side(3)?, side(4)?]);
            }
        }
        // "WorkgroupSize: … takes precedence over any LocalSize or LocalSizeId" (Vulkan, built-in WorkgroupSize).
        if let Some(constant) = self.workgroup_size_constant.and_then(|id| self.constants.get(id))
            && let [Start::Value(x), Start::Value(y), Start::Value(z)] = constant.cells[..]
        {
            size = Some([x as u32, y as u32, z as u32]);
        }
        size.ok_or_else(|| invalid("the entry point has no workgroup size"))
    }

    pub(super) fn has_mode(&self, entry: u32, wanted: spirv::ExecutionMode) -> bool {
        self.module.section(&self.module.execution_modes).any(|inst| {
            inst.operands.first() == Some(&Operand::IdRef(entry))
                && inst.operands.get(1) == Some(&Operand::ExecutionMode(wanted))
        })
    }

    pub(super) fn declared_tier(&self, entry: u32) -> Tier {
        if self.has_mode(entry, spirv::ExecutionMode::MaximallyReconvergesKHR) {
            Tier::Maximal
        } else if self.has_mode(entry, spirv::ExecutionMode::SubgroupUniformControlFlowKHR) {
            Tier::SubgroupUniform
        } else {
            Tier::Plain
        }
    }

    /// True if floats of this width keep infinities, NaN and the signs of zeros.
    pub(super) fn keeps_signs(&self, width: u8) -> bool {
        [16, 32, 64].iter().zip(self.float_modes).any(|(&of, modes)| of == width && modes.preserve)
    }

    /// How a result of this width is rounded that is made of an operand of the other one. Where the modes of the two differ the text does not say: "Only
    /// affects instructions operating on a floating-point type … whose component width is Target Width" (SPIR-V 1.6 §3.2.6) holds for both.
    pub(super) fn direction(&self, from: Option<u8>, to: u8) -> Option<Direction> {
        let of = |width: u8| match width {
            16 => self.float_modes[0].rounding,
            32 => self.float_modes[1].rounding,
            // "The precision of double-precision instructions is at least that of single precision", and no more (Vulkan).
            _ => None,
        };
        let other =
            from.and_then(|from| self.float_modes[if from == 16 { 0 } else { usize::from(from) / 32 }].rounding);
        of(to).filter(|&direction| other.is_none_or(|other| other == direction))
    }

    pub(super) fn float_modes(&self, entry: u32) -> [FloatModes; 3] {
        let mut modes = [FloatModes::default(); 3];
        // A decoration of one instruction "takes precedence over" the modes (SPV_KHR_float_controls); which one it is, is not looked at.
        let decorates = |inst: Instruction<'_>| {
            inst.operands.iter().any(|operand| matches!(operand, Operand::Decoration(Decoration::FPRoundingMode)))
        };
        let is_decorated = self.module.section(&self.module.annotations).any(decorates);
        let mut directions = [[false; 2]; 3];
        for inst in self.module.section(&self.module.execution_modes) {
            let [Operand::IdRef(id), Operand::ExecutionMode(mode), Operand::LiteralBit32(width)] = inst.operands else {
                continue;
            };
            let at = match width {
                16 => 0,
                32 => 1,
                64 => 2,
                _ => continue,
            };
            if *id != entry {
                continue;
            }
            match mode {
                spirv::ExecutionMode::SignedZeroInfNanPreserve => modes[at].preserve = true,
                spirv::ExecutionMode::DenormPreserve => modes[at].denorm_preserve = true,
                spirv::ExecutionMode::RoundingModeRTE => directions[at][0] = true,
                spirv::ExecutionMode::RoundingModeRTZ => directions[at][1] = true,
                _ => {}
            }
        }
        for (modes, asked) in modes.iter_mut().zip(directions) {
            modes.rounding = match asked {
                [true, false] if !is_decorated => Some(Direction::NearestEven),
                [false, true] if !is_decorated => Some(Direction::Zero),
                _ => None,
            };
        }
        modes
    }
}

/// The operand of a decoration, of those that are understood.
fn number(operands: &[Operand]) -> Option<u32> {
    match operands.first() {
        Some(Operand::LiteralBit32(value)) => Some(*value),
        Some(Operand::BuiltIn(value)) => Some(*value as u32),
        _ => None,
    }
}

/// What an `OpDecorationGroup` is decorated with: "All such decoration instructions targeting this OpDecorationGroup instruction must precede it" (SPIR-V 1.6
/// §3.52.3), and those that apply it follow.
fn decorations_of(module: &Source, group: u32) -> impl Iterator<Item = (Decoration, &[Operand])> {
    module.section(&module.annotations).filter_map(move |inst| match (inst.class.opcode, inst.operands) {
        (Opcode::Decorate, [Operand::IdRef(id), Operand::Decoration(decoration), rest @ ..]) if *id == group => {
            Some((*decoration, rest))
        }
        _ => None,
    })
}
