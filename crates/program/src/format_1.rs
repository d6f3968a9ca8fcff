//! Cases of format 1, which tangle wrote until it knew stages.
//!
//! The tree is the same in both formats; its names were those of GLSL, and are aliases of today's ([`crate::tree`], [`crate::ops`],
//! [`crate::types`], [`crate::memory`], [`crate::control`]). What differs is here: a launch was always that of a compute shader, and the
//! names of types were not made of those of their parts.

use serde::Deserialize;

use crate::case::{Case, Data, FORMAT, Origin, Tier};
use crate::entry_point::{EntryPoint, Launch, SpirvVersion, Stage, SubgroupSize, Workgroups};
use crate::tree::Program;
use crate::types::{Scalar, Shape, Type};
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
            launch: Launch::Workgroups(Workgroups { size, count, default_size, derivative_group: None }),
            subgroup_size: launch.subgroup_size,
            full_subgroups: launch.full_subgroups,
            spirv: launch.spirv,
        }
    }
}

impl From<Case1> for Case {
    fn from(case: Case1) -> Case {
        let Case1 { about, origin, tier, launch, variant, data, program, _format } = case;
        Case { format: FORMAT, about, origin, tier, entry_point: launch.into(), variant, data, program }
    }
}

/// The type of a name: `uvec4`, `uvec4[2]`, `mat2x3` of two columns, `Struct_ivec2_3`. It may be one that does not exist.
pub(crate) fn ty(name: &str) -> Option<Type> {
    let many = |single_type: &str, count: &str, shape: fn(u8) -> Shape| {
        Some(Type { shape: shape(count.parse().ok()?), ..single(single_type)? })
    };
    let array = || name.strip_suffix(']')?.split_once('[').and_then(|(of, n)| many(of, n, Shape::Array));
    let structure = || name.strip_prefix("Struct_")?.rsplit_once('_').and_then(|(of, n)| many(of, n, Shape::Struct));
    let matrix = || {
        name.split_once('x').and_then(|(columns, rows)| {
            let (prefix, count) = columns.split_at_checked(columns.len().checked_sub(1)?)?;
            many(&format!("{}vec{rows}", prefix.strip_suffix("mat")?), count, Shape::Matrix)
        })
    };
    single(name).or_else(array).or_else(structure).or_else(matrix)
}

fn single(name: &str) -> Option<Type> {
    let scalar = |name: &str| Scalar::ALL.into_iter().find(|scalar| scalar.info().format_1 == name);
    if let Some(scalar) = scalar(name) {
        return Some(Type::scalar(scalar));
    }
    let (prefix, width) = name.split_once("vec")?;
    let scalar = match prefix {
        "b" => Scalar::Bool,
        "i" => Scalar::Int,
        "u" => Scalar::Uint,
        "" => Scalar::Float,
        "d" => Scalar::Double,
        _ => Scalar::ALL.into_iter().find(|scalar| scalar.is_extended() && scalar.name() == prefix)?,
    };
    let width = width.parse().ok().filter(|width| *width > 1)?;
    Some(Type::vector(scalar, width))
}
