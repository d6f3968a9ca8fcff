//! What a SPIR-V module says about itself: version, workgroup size, and the Vulkan features it needs.
//!
//! The worker reads this before a driver sees the module, so that a module which needs what a device lacks is turned
//! away instead of being undefined behaviour. Numbers: SPIR-V unified specification 1.6, and the extensions named beside
//! them. What each capability needs of Vulkan: Vulkan specification, appendix "Vulkan Environment for SPIR-V".

use std::collections::{HashMap, HashSet};

use spirv::{Capability, ExecutionMode};
use tangle_features::{Feature, FeatureSet, TABLE, for_float_control};
use tangle_files::module::instructions;
use tangle_files::words::to_bytes;
use tangle_program::case::FloatMode;

/// What a module says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleFacts {
    /// Version word of the header.
    pub version_word: u32,
    /// Features its capabilities and execution modes need. Not found here, because it would need the types of operands:
    /// [`Feature::SubgroupExtendedTypes`].
    pub features: FeatureSet,
    /// Invocations of one workgroup in x, y, z, with specialisation constants applied.
    pub local_size: Option<[u32; 3]>,
}

/// Operation codes (SPIR-V §3.52).
mod op {
    use spirv::Op;

    pub const EXTENSION: u32 = Op::Extension as u32;
    pub const EXECUTION_MODE: u32 = Op::ExecutionMode as u32;
    pub const CAPABILITY: u32 = Op::Capability as u32;
    pub const CONSTANT_TRUE: u32 = Op::ConstantTrue as u32;
    pub const CONSTANT: u32 = Op::Constant as u32;
    pub const CONSTANT_COMPOSITE: u32 = Op::ConstantComposite as u32;
    pub const CONSTANT_NULL: u32 = Op::ConstantNull as u32;
    pub const SPEC_CONSTANT_TRUE: u32 = Op::SpecConstantTrue as u32;
    pub const SPEC_CONSTANT: u32 = Op::SpecConstant as u32;
    pub const SPEC_CONSTANT_COMPOSITE: u32 = Op::SpecConstantComposite as u32;
    pub const SPEC_CONSTANT_OP: u32 = Op::SpecConstantOp as u32;
    pub const DECORATE: u32 = Op::Decorate as u32;
    pub const EXECUTION_MODE_ID: u32 = Op::ExecutionModeId as u32;
    pub const GROUP_NON_UNIFORM_BROADCAST: u32 = Op::GroupNonUniformBroadcast as u32;
    pub const GROUP_NON_UNIFORM_QUAD_BROADCAST: u32 = Op::GroupNonUniformQuadBroadcast as u32;
    pub const GROUP_NON_UNIFORM_ROTATE: u32 = Op::GroupNonUniformRotateKHR as u32;
}

/// Reads a module's facts; `specialization` holds (constant id, value) as in a job.
///
/// # Errors
///
/// One line when the words are not a SPIR-V module.
pub fn inspect(words: &[u32], specialization: &[(u32, u32)]) -> Result<ModuleFacts, String> {
    if words.len() < 5 || words[0] != spirv::MAGIC_NUMBER {
        return Err("not a SPIR-V module".to_owned());
    }
    let mut reader = Reader { specialization, ..Reader::default() };
    reader.facts.version_word = words[1];
    for instruction in instructions(words) {
        let instruction = instruction.map_err(|at| format!("broken SPIR-V instruction at word {at}"))?;
        reader.instruction(instruction.opcode(), instruction.operands());
    }
    reader.facts.local_size = reader.workgroup_size();
    Ok(reader.facts)
}

/// Capabilities that every device with Vulkan 1.1 has, or that come with another one that needs a feature (Vulkan, "Vulkan Environment for
/// SPIR-V"). Of float controls the execution modes say more: for which width.
const WITHOUT_FEATURE: [Capability; 18] = [
    Capability::Matrix,
    Capability::Shader,
    Capability::InputAttachment,
    Capability::Sampled1D,
    Capability::Image1D,
    Capability::SampledBuffer,
    Capability::ImageBuffer,
    Capability::ImageQuery,
    Capability::DerivativeControl,
    Capability::ShaderNonUniform,
    Capability::DeviceGroup,
    Capability::MultiView,
    Capability::DenormPreserve,
    Capability::DenormFlushToZero,
    Capability::SignedZeroInfNanPreserve,
    Capability::RoundingModeRTE,
    Capability::RoundingModeRTZ,
    Capability::ShaderLayer,
];

/// The capabilities of a module that no row of [`TABLE`] speaks of: a device is not asked whether it has them. Nothing of what is no module.
pub fn unknown_capabilities(words: &[u32]) -> Vec<String> {
    let mut unknown = Vec::new();
    for instruction in instructions(words).flatten() {
        if let (op::CAPABILITY, &[number]) = (instruction.opcode(), instruction.operands()) {
            let is_known = WITHOUT_FEATURE.iter().any(|&known| known as u32 == number)
                || capability_needs(number).next().is_some();
            if !is_known {
                let name = Capability::from_u32(number).map(|known| format!("{known:?}"));
                unknown.push(format!("the capability {}", name.unwrap_or_else(|| number.to_string())));
            }
        }
    }
    unknown
}

/// True if the module declares an execution mode of its entry point.
pub fn declares(words: &[u32], mode: spirv::ExecutionMode) -> bool {
    instructions(words).flatten().any(|instruction| {
        matches!((instruction.opcode(), instruction.operands()), (op::EXECUTION_MODE, &[_, number, ..]) if number == mode as u32)
    })
}

#[derive(Default)]
struct Reader<'a> {
    specialization: &'a [(u32, u32)],
    facts: ModuleFacts,
    /// Ids of constants of every kind.
    constant_ids: HashSet<u32>,
    /// Values of 32-bit scalar constants.
    scalars: HashMap<u32, u32>,
    /// Constituents of composite constants.
    composites: HashMap<u32, Vec<u32>>,
    /// `SpecId` decorations: id of the constant to its number.
    spec_ids: HashMap<u32, u32>,
    /// Ids of the constants that the execution mode `LocalSizeId` names.
    local_size_ids: Option<[u32; 3]>,
    /// Id decorated with `BuiltIn WorkgroupSize`; it overrides the execution mode.
    workgroup_size_id: Option<u32>,
}

impl Reader<'_> {
    fn instruction(&mut self, code: u32, operands: &[u32]) {
        match (code, operands) {
            (op::CAPABILITY, &[capability]) => self.facts.features.extend(capability_needs(capability)),
            (op::EXTENSION, name) => self.facts.features.extend(extension_needs(name)),
            (op::EXECUTION_MODE, &[_, mode, ref rest @ ..]) => self.execution_mode(mode, rest),
            (op::EXECUTION_MODE_ID, &[_, 38, x, y, z]) => {
                self.local_size_ids = Some([x, y, z]);
                self.facts.features.extend(execution_mode_needs(38));
            }
            (op::DECORATE, &[id, 1, number]) => drop(self.spec_ids.insert(id, number)),
            (op::DECORATE, &[id, 11, 25]) => self.workgroup_size_id = Some(id),
            (
                op::CONSTANT_TRUE..=op::CONSTANT_NULL | op::SPEC_CONSTANT_TRUE..=op::SPEC_CONSTANT_OP,
                &[_, id, ref rest @ ..],
            ) => {
                self.constant(code, id, rest);
            }
            (op::GROUP_NON_UNIFORM_BROADCAST | op::GROUP_NON_UNIFORM_QUAD_BROADCAST, &[_, _, _, _, index])
                if !self.constant_ids.contains(&index) =>
            {
                self.facts.features.insert(Feature::SubgroupBroadcastDynamicId);
            }
            // With a cluster size there is one operand more.
            (op::GROUP_NON_UNIFORM_ROTATE, &[_, _, _, _, _, _]) => {
                self.facts.features.insert(Feature::SubgroupRotateClustered);
            }
            _ => {}
        }
    }

    fn execution_mode(&mut self, mode: u32, operands: &[u32]) {
        self.facts.features.extend(execution_mode_needs(mode));
        self.facts.features.extend(float_control_needs(mode, operands));
        if let (17, &[x, y, z]) = (mode, operands) {
            self.facts.local_size = Some([x, y, z]);
        }
    }

    fn constant(&mut self, code: u32, id: u32, rest: &[u32]) {
        self.constant_ids.insert(id);
        match (code, rest) {
            (op::CONSTANT | op::SPEC_CONSTANT, &[value]) => {
                self.scalars.insert(id, self.specialised(id).unwrap_or(value));
            }
            (op::CONSTANT_COMPOSITE | op::SPEC_CONSTANT_COMPOSITE, parts) => {
                self.composites.insert(id, parts.to_vec());
            }
            _ => {}
        }
    }

    /// The value a job gives to a specialisation constant.
    fn specialised(&self, id: u32) -> Option<u32> {
        let number = self.spec_ids.get(&id)?;
        self.specialization.iter().find(|(given, _)| given == number).map(|&(_, value)| value)
    }

    fn workgroup_size(&self) -> Option<[u32; 3]> {
        let ids = match self.workgroup_size_id {
            Some(id) => self.composites.get(&id)?.as_slice().try_into().ok()?,
            None => match self.local_size_ids {
                Some(ids) => ids,
                None => return self.facts.local_size,
            },
        };
        let [x, y, z] = ids.map(|id: u32| self.scalars.get(&id).copied());
        Some([x?, y?, z?])
    }
}

/// The features that need what `is_needed` finds in their row.
fn needing(is_needed: impl Fn(&tangle_features::Spirv) -> bool) -> impl Iterator<Item = Feature> {
    TABLE.iter().filter(move |row| is_needed(&row.spirv)).map(|row| row.feature)
}

fn capability_needs(number: u32) -> impl Iterator<Item = Feature> {
    needing(move |spirv| spirv.capabilities.iter().any(|&capability| capability as u32 == number))
}

fn execution_mode_needs(number: u32) -> impl Iterator<Item = Feature> {
    needing(move |spirv| spirv.execution_modes.iter().any(|&mode| mode as u32 == number))
}

/// What the modes for floats of a width need.
fn float_control_needs(number: u32, operands: &[u32]) -> impl Iterator<Item = Feature> {
    let mode = match ExecutionMode::from_u32(number) {
        Some(ExecutionMode::SignedZeroInfNanPreserve) => Some(FloatMode::SignedZeroInfNanPreserve),
        Some(ExecutionMode::DenormPreserve) => Some(FloatMode::DenormPreserve),
        Some(ExecutionMode::RoundingModeRTE) => Some(FloatMode::RoundingModeRTE),
        Some(ExecutionMode::RoundingModeRTZ) => Some(FloatMode::RoundingModeRTZ),
        _ => None,
    };
    let scalar = operands.first().and_then(|&width| tangle_program::float::of_size(width));
    mode.zip(scalar).into_iter().flat_map(|(mode, scalar)| for_float_control(mode, scalar).iter().collect::<Vec<_>>())
}

/// A literal string: its words end with a byte that is 0 (SPIR-V 1.6 §2.2.1).
pub(crate) fn text(words: &[u32]) -> String {
    let bytes = to_bytes(words);
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

fn extension_needs(name: &[u32]) -> impl Iterator<Item = Feature> {
    let name = text(name);
    needing(move |spirv| spirv.extensions.contains(&&*name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::case::SpirvVersion;

    /// A module of these instructions, each a code and its operands.
    fn module(instructions: &[(u32, &[u32])]) -> Vec<u32> {
        let mut words = vec![spirv::MAGIC_NUMBER, SpirvVersion::V1_5.word(), 0, 100, 0];
        for (code, operands) in instructions {
            words.push((operands.len() as u32 + 1) << 16 | code);
            words.extend_from_slice(operands);
        }
        words
    }

    #[test]
    fn capabilities_and_execution_modes_become_features() {
        let words = module(&[(17, &[1]), (17, &[61]), (17, &[64]), (16, &[4, 6023]), (16, &[4, 17, 8, 2, 1])]);
        let facts = inspect(&words, &[]).unwrap();
        let expected = [Feature::SubgroupBasic, Feature::SubgroupBallot, Feature::MaximalReconvergence];
        assert_eq!(facts.features.iter().collect::<Vec<_>>(), expected);
        assert_eq!(facts.local_size, Some([8, 2, 1]));
        assert_eq!(facts.version_word, 0x0001_0500);
    }

    #[test]
    fn the_workgroup_size_follows_specialisation() {
        let words = module(&[
            (16, &[4, 17, 1, 1, 1]),
            (71, &[30, 11, 25]),
            (71, &[20, 1, 7]),
            (50, &[5, 20, 64]),
            (43, &[5, 21, 2]),
            (51, &[6, 30, 20, 21, 21]),
        ]);
        assert_eq!(inspect(&words, &[]).unwrap().local_size, Some([64, 2, 2]));
        assert_eq!(inspect(&words, &[(7, 16)]).unwrap().local_size, Some([16, 2, 2]));
    }

    #[test]
    fn a_broadcast_from_a_variable_lane_needs_its_feature() {
        let constant = module(&[(43, &[5, 9, 0]), (337, &[5, 50, 3, 40, 9])]);
        assert!(inspect(&constant, &[]).unwrap().features.is_empty());
        let variable = module(&[(337, &[5, 50, 3, 40, 9])]);
        assert!(inspect(&variable, &[]).unwrap().features.contains(Feature::SubgroupBroadcastDynamicId));
    }

    #[test]
    fn capabilities_that_no_device_is_asked_for_are_named() {
        let words = module(&[(17, &[1]), (17, &[61]), (17, &[55]), (17, &[5013]), (17, &[9_999_999])]);
        let expected = ["the capability SparseResidency", "the capability 9999999"];
        assert_eq!(unknown_capabilities(&module(&[(17, &[41]), (17, &[55]), (17, &[9_999_999])])), expected);
        assert_eq!(unknown_capabilities(&words).len(), 2);
        assert!(unknown_capabilities(&[1, 2]).is_empty() && unknown_capabilities(&[0; 9]).is_empty());
    }

    #[test]
    fn what_is_not_a_module_is_an_error() {
        assert_eq!(inspect(&[1, 2, 3], &[]).unwrap_err(), "not a SPIR-V module");
        let mut words = module(&[(17, &[1])]);
        words.push(9 << 16 | 17);
        assert_eq!(inspect(&words, &[]).unwrap_err(), "broken SPIR-V instruction at word 7");
    }
}
