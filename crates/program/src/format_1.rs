//! Cases of format 1, which tangle wrote until it knew stages.
//!
//! The tree is the same in both formats; its names were those of GLSL, and are aliases of today's ([`crate::tree`], [`crate::ops`],
//! [`crate::types`], [`crate::memory`], [`crate::control`]). What differs is here: a launch was always that of a compute shader, and the
//! names of types were not made of those of their parts.

use serde::Deserialize;

use crate::case::{Case, Data, FORMAT, Origin, Tier};
use crate::entry_point::{EntryPoint, FloatControls, Launch, SpirvVersion, Stage, SubgroupSize, Workgroups};
use crate::tree::Program;
use crate::variant::Variant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case1 {
    #[serde(rename = "format")]
    _format: u32,
    #[serde(default)]
    about: String,
    #[serde(default)]
    origin: Origin,
    tier: Tier,
    launch: Launch1,
    #[serde(default)]
    variant: Variant,
    data: Data,
    program: Program,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Launch1 {
    workgroup: [u32; 3],
    groups: [u32; 3],
    #[serde(default)]
    subgroup_size: SubgroupSize,
    #[serde(default)]
    full_subgroups: bool,
    #[serde(default)]
    default_workgroup: Option<[u32; 3]>,
    spirv: SpirvVersion,
}

impl From<Launch1> for EntryPoint {
    fn from(launch: Launch1) -> EntryPoint {
        let Launch1 { workgroup: size, groups: count, default_workgroup: default_size, .. } = launch;
        EntryPoint {
            stage: Stage::Compute,
            launch: Launch::Workgroups(Workgroups { size, count, default_size, ..Workgroups::SINGLE }),
            subgroup_size: launch.subgroup_size,
            full_subgroups: launch.full_subgroups,
            spirv: launch.spirv,
            float_controls: FloatControls::NONE,
        }
    }
}

impl From<Case1> for Case {
    fn from(case: Case1) -> Case {
        let Case1 { about, origin, tier, launch, variant, data, program, _format } = case;
        Case { format: FORMAT, about, origin, tier, entry_point: launch.into(), variant, data, program }
    }
}
