//! A whole test case: program, data, launch, convergence tier and origin.

use serde::{Deserialize, Serialize};

pub use crate::entry_point::{
    Coverage, DerivativeGroup, Draw, EntryPoint, FloatControls, FloatMode, GroupId, InvocationId, Items, Launch, Slice,
    SpirvVersion, Stage, SubgroupSize, Workgroups,
};
pub use crate::interface;
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
    /// What invocations read, in buffers and constants: a program runs with several, each a case.
    pub data: Data,
    /// What invocations do, in functions and statements.
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
    /// The name of the generator's profile: what it was to write more of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The version of the generator: of another one the seed may give another case.
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
    /// Specialisation constants, with the values that the pipeline gives them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<SpecConstant>,
    /// Flat inputs of fragment shaders: for each a word of every triangle, over and over again where there are fewer words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flats: Vec<Vec<u32>>,
}

impl Data {
    /// What a vertex of a triangle (0 to 2) gives for a flat input, if there is one. The triangle's word is that of the first, the provoking
    /// vertex (docs/rules.md, rule H11); the others have other words.
    pub fn flat(&self, k: usize, triangle: u32, vertex: u32) -> Option<u32> {
        let words = self.flats.get(k)?;
        let word = *words.get(triangle as usize % words.len().max(1))?;
        Some(match vertex {
            0 => word,
            1 => !word,
            _ => word.wrapping_add(1),
        })
    }
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
    /// True if helper invocations may be considered inactive for subgroup operations that are no quad operations (docs/rules.md, rule H3).
    pub fn excludes_helpers(&self) -> bool {
        self.entry_point.stage == Stage::Fragment && self.tier != Tier::Maximal
    }

    /// What a pipeline gives to specialisation constants: their numbers (`constant_id`) and values.
    pub fn specialization(&self) -> Vec<(u32, u32)> {
        let workgroups = self.entry_point.workgroups();
        let sides = workgroups.default_size.map(|_| (0..).zip(workgroups.size));
        let constants = self.data.constants.iter().map(|constant| constant.value);
        sides.into_iter().flatten().chain((interface::FIRST_CONSTANT..).zip(constants)).collect()
    }

    /// The vertices of the triangles of a fragment shader, one after the other: x and y in clip coordinates, as the bits of floats, and the flat
    /// inputs.
    pub fn vertices(&self) -> Vec<u32> {
        let corners = self.entry_point.draw().map(Draw::corners).unwrap_or_default();
        let vertex = |(corner, at): (u32, &[u32])| {
            let flats = (0..self.data.flats.len()).filter_map(move |k| self.data.flat(k, corner / 3, corner % 3));
            at.iter().copied().chain(flats).collect::<Vec<_>>()
        };
        (0..).zip(corners.chunks(2)).flat_map(vertex).collect()
    }

    /// The extension of files with its shader: of the language of its variant, in GLSL of the stage.
    pub fn extension(&self) -> &'static str {
        match self.variant.language() {
            Language::Glsl => self.entry_point.stage.glsl_extension(),
            language => language.name(),
        }
    }
}
