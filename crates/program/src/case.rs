//! A whole test case: program, data, launch, convergence tier and origin.

use serde::{Deserialize, Serialize};

pub use crate::entry_point::{
    Centre, DerivativeGroup, Draw, EntryPoint, GroupId, InvocationId, Items, Launch, SpirvVersion, Stage, SubgroupSize,
    Workgroups,
};
use crate::tree::Program;
use crate::variant::{Language, Variant};

/// The version this code writes. Every older version stays readable.
pub const FORMAT: u32 = 2;

/// A self-contained test case. Saved as JSON, it replays for years: nothing in it depends on the generator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Version of the JSON form, [`FORMAT`].
    pub format: u32,
    /// What the case guards or shows, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Origin::is_unknown")]
    pub origin: Origin,
    /// The convergence rules the program asks for and is judged by.
    pub tier: Tier,
    /// Its stage, and what starts its invocations.
    pub entry_point: EntryPoint,
    /// How its module is made and compiled; all variants mean the same.
    #[serde(default, skip_serializing_if = "Variant::is_unoptimised")]
    pub variant: Variant,
    /// What it reads.
    pub data: Data,
    /// What it does.
    pub program: Program,
}

/// Where a case came from: its birth certificate, not needed to run it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The generator's seed for this one case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Which other data the generator made for the program of the seed; none for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<u32>,
    /// The generator's profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The generator's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// The bytes that the generator made it from, in hexadecimal; gone once it is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Content hash of the case this one was minimised from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimized_from: Option<String>,
}

impl Origin {
    fn is_unknown(&self) -> bool {
        *self == Origin::default()
    }
}

/// The convergence rules a program asks for (docs/rules.md, section T).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// No attribute: uniform control flow of the whole workgroup only (SPIR-V 1.6 §2.2.5).
    Plain,
    /// `[[subgroup_uniform_control_flow]]` (SPV_KHR_subgroup_uniform_control_flow).
    SubgroupUniform,
    /// `[[maximally_reconverges]]` (SPV_KHR_maximal_reconvergence).
    Maximal,
}

impl Tier {
    /// Every tier, weakest promise first.
    pub const ALL: [Tier; 3] = [Tier::Plain, Tier::SubgroupUniform, Tier::Maximal];

    /// The name in JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Plain => "plain",
            Tier::SubgroupUniform => "subgroup_uniform",
            Tier::Maximal => "maximal",
        }
    }
}

/// What a program reads. All words are uints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Per-invocation inputs: `inputs[k][i]` for the invocation of [ordinal](EntryPoint::ordinal) `i`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Vec<u32>>,
    /// Words of the uniform buffer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uniforms: Vec<u32>,
    /// Words of the push constants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub push: Vec<u32>,
    /// What the resources of every array of descriptors hold, a word each ([`crate::resource`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<u32>,
    /// Specialisation constants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<SpecConstant>,
}

/// A specialisation constant: a uint (SPIR-V 1.6 §2.12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecConstant {
    /// What it is in the module.
    pub default: u32,
    /// What it is made when the pipeline is (`VkSpecializationInfo`), and then is.
    pub value: u32,
}

impl Case {
    /// What a pipeline gives to specialisation constants: their numbers (`constant_id`) and values.
    pub fn specialization(&self) -> Vec<(u32, u32)> {
        let workgroups = self.entry_point.workgroups();
        let sides = workgroups.default_size.map(|_| (0..).zip(workgroups.size));
        let constants = self.data.constants.iter().map(|constant| constant.value);
        sides.into_iter().flatten().chain((interface::FIRST_CONSTANT..).zip(constants)).collect()
    }

    /// The extension of files with its shader: of the language of its variant, in GLSL of the stage.
    pub fn extension(&self) -> &'static str {
        match self.variant.language() {
            Language::Glsl => self.entry_point.stage.glsl_extension(),
            language => language.name(),
        }
    }
}

/// What the printed shader and its user agree on: descriptor set 0, and the layout of each buffer.
pub mod interface {
    /// Storage buffer of inputs: word `i * K + k` for `K` inputs and the invocation of [ordinal](super::EntryPoint::ordinal) `i`.
    pub const INPUTS: u32 = 0;
    /// Uniform buffer: words in `uvec4`s (std140).
    pub const UNIFORMS: u32 = 1;
    /// Storage buffer of the lane map: [`MAP_WORDS`] words for each invocation.
    pub const MAP: u32 = 2;
    /// Storage buffer of the logs: a slice of `tangle_analysis::cost::log_stride` words for each invocation, zero
    /// before the dispatch. An entry is its site and then its values, one word for each component.
    pub const LOG: u32 = 3;
    /// Storage buffer of the arrays that lie there ([`StorageClass::StorageBuffer`](crate::memory::StorageClass)).
    pub const ARRAYS: u32 = 4;
    /// Uniform buffer that stands for push constants where there are none (OpenGL): words in `uvec4`s (std140).
    pub const PUSH: u32 = 5;

    /// Arrays of descriptors, by [class](crate::resource::ResourceClass): the first binding.
    pub const FIRST_RESOURCE: u32 = 6;

    /// `constant_id` of specialisation constant 0. Before it come the three sides of the workgroup.
    pub const FIRST_CONSTANT: u32 = 3;

    /// Words of a record of the lane map: `gl_SubgroupInvocationID`, `gl_SubgroupSize`, `gl_SubgroupID`,
    /// `gl_NumSubgroups`, the token (the local index of the subgroup's first lane, by broadcast), the four words of
    /// `subgroupBallot(true)` at entry, and [`MAP_WRITTEN`] (docs/rules.md, section M).
    pub const MAP_WORDS: usize = 10;
    /// Words of a record of a fragment shader's lane map: `gl_SubgroupInvocationID`, `gl_SubgroupSize`, the token (the number of the subgroup's
    /// lowest lane that is no helper, by shuffle), the four words of `subgroupBallot(true)` at entry, what the horizontal, the vertical and
    /// the diagonal neighbour in the quad are ([`neighbour`]), and [`MAP_WRITTEN`].
    pub const FRAGMENT_MAP_WORDS: usize = 11;
    /// What an invocation reports to its quad: its number in the group, its lane, and whether it is a helper.
    pub const fn neighbour(index: u32, lane: u32, helper: bool) -> u32 {
        index << 8 | (lane & 127) << 1 | helper as u32
    }
    /// Words of a record of the lane map of a stage before rasterisation: `gl_SubgroupInvocationID`, `gl_SubgroupSize`, the token (the number of
    /// the subgroup's lowest lane, by broadcast), the four words of `subgroupBallot(true)` at entry, and [`MAP_WRITTEN`].
    pub const ITEM_MAP_WORDS: usize = 8;
    /// Storage buffer of the corners of what is drawn: x and y of each in clip coordinates, as floats.
    pub const CORNERS: u32 = 5;

    /// Stands in a record for `gl_SubgroupID` and `gl_NumSubgroups` where the language cannot read them
    /// ([`Language::has_subgroup_id`](crate::variant::Language::has_subgroup_id)).
    pub const NOT_OBSERVED: u32 = u32::MAX;
    /// Last word of a record that was written.
    pub const MAP_WRITTEN: u32 = 0x7461_6E67;
    /// The same where the shader has its subgroup operations from ARB_shader_ballot and ARB_shader_group_vote: which subgroup it is and how
    /// many there are is not said, and nothing relates the groups that vote to these subgroups (docs/opengl.md).
    pub const MAP_WRITTEN_ARB: u32 = 0x7461_6E61;
}
