//! What is left out on a device that lacks features.

use tangle_program::case::{Stage, Tier};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::Category;
use tangle_program::types::Scalar;

use crate::{Api, Ask, Feature, FeatureSet, TABLE, for_category, for_resource, for_scalar, for_stage, for_tier};

/// Something that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// What: types, operations, a tier, a way to launch.
    pub what: String,
    /// What the device lacks.
    pub why: String,
}

/// Everything that a campaign leaves out on a device of this interface with these features, what has the same reason together.
pub fn left_out(features: FeatureSet, api: Api) -> Vec<LeftOut> {
    let lacking = |needed: FeatureSet| needed.without(features).iter().next();
    let tiers = Tier::ALL.into_iter().map(|tier| (tier.name(), lacking(for_tier(tier))));
    let categories = Category::ALL.into_iter().map(|category| (category.name(), lacking(for_category(category))));
    let scalars = Scalar::ALL.into_iter().map(|scalar| (scalar.name(), lacking(for_scalar(scalar))));
    let stages = Stage::ALL.into_iter().map(|stage| (stage.name(), lacking(for_stage(stage))));
    let mut left_out = grouped(api, "tier ", tiers);
    left_out.extend(grouped(api, "stages ", stages));
    left_out.extend(grouped(api, "operations ", categories));
    left_out.extend(grouped(api, "types ", scalars));
    let resources = ResourceClass::ALL.into_iter().map(|class| (class.name(), lacking(for_resource(class))));
    left_out.extend(grouped(api, "arrays of descriptors: ", resources));
    let mut said: Vec<&str> = Vec::new();
    for row in TABLE.iter().filter(|row| !features.contains(row.feature)) {
        for what in row.asked_by.iter().filter_map(words) {
            // What needs two features is named with the first.
            if !said.contains(&what) {
                said.push(what);
                left_out.push(LeftOut { what: what.into(), why: row.name_in(api).into() });
            }
        }
    }
    left_out
}

/// What asks, where it is neither a tier nor a stage nor a category nor a type.
fn words(ask: &Ask) -> Option<&'static str> {
    match *ask {
        Ask::Always => Some("every case"),
        Ask::EntryPoint(what, _) | Ask::Case(what, _) | Ask::Statement(what, _) | Ask::Expression(what, _) => {
            Some(what)
        }
        Ask::Category(_)
        | Ask::Tier(_)
        | Ask::Stage(_)
        | Ask::Scalar(_)
        | Ask::Operand(_)
        | Ask::Resource(_)
        | Ask::NonUniform(_) => None,
    }
}

fn grouped(api: Api, kind: &str, members: impl Iterator<Item = (&'static str, Option<Feature>)>) -> Vec<LeftOut> {
    let mut groups: Vec<LeftOut> = Vec::new();
    for (name, feature) in members.filter_map(|(name, feature)| Some((name, feature?))) {
        let why = feature.row().name_in(api);
        match groups.iter_mut().find(|group| group.why == why) {
            Some(group) => group.what = format!("{} {name}", group.what),
            None => groups.push(LeftOut { what: format!("{kind}{name}"), why: why.into() }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lacking: &[Feature]) -> Vec<String> {
        let has = Feature::ALL.iter().copied().filter(|feature| !lacking.contains(feature)).collect();
        left_out(has, Api::Vulkan).into_iter().map(|left_out| format!("{}: {}", left_out.what, left_out.why)).collect()
    }

    #[test]
    fn what_is_left_out_has_its_reason() {
        for (lacking, expected) in [
            (&[][..], &[][..]),
            (
                &[Feature::MaximalReconvergence],
                &["tier maximal: shaderMaximalReconvergence", "operations quad_control: shaderMaximalReconvergence"],
            ),
            (&[Feature::SubgroupClustered], &["operations clustered: VK_SUBGROUP_FEATURE_CLUSTERED_BIT"]),
            (
                &[Feature::SubgroupBasic],
                &["operations basic: VK_SUBGROUP_FEATURE_BASIC_BIT", "every case: VK_SUBGROUP_FEATURE_BASIC_BIT"],
            ),
            (
                &[Feature::ShaderInt8, Feature::SubgroupExtendedTypes],
                &["types i8 u8: shaderInt8", "types i16 u16 i64 u64 f16: shaderSubgroupExtendedTypes"],
            ),
            // No subgroup operation on doubles needs more than doubles do.
            (&[Feature::ShaderFloat64], &["types f64: shaderFloat64"]),
            (&[Feature::ComputeFullSubgroups], &["full subgroups: computeFullSubgroups"]),
            (
                &[Feature::BufferInt64Atomics, Feature::SharedInt64Atomics],
                &["atomics on 64-bit integers: shaderBufferInt64Atomics"],
            ),
            // No case asks for it.
            (&[Feature::PipelineExecutableInfo], &[]),
        ] {
            assert_eq!(lines(lacking), expected, "{lacking:?}");
        }
    }
}
