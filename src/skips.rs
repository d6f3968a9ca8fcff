//! What a campaign leaves out on a device because the device does not offer it.

use std::collections::BTreeMap;

use tangle_program::case::{SpirvVersion, Tier};
use tangle_program::subgroup::Category;
use tangle_program::types::Scalar;
use tangle_runner::Feature;

use crate::capabilities::{Capabilities, category_features, scalar_feature, tier_feature};
use crate::prepare::spirv_version;

/// Something that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// What: types, operations, a tier.
    pub what: String,
    /// What the device lacks.
    pub why: String,
}

/// Everything that a campaign leaves out on a device, what has the same reason together.
pub fn skips(capabilities: &Capabilities) -> Vec<Skip> {
    let mut skips = Vec::new();
    let mut group = |kind: &str, members: &mut dyn Iterator<Item = (&'static str, Option<Feature>)>| {
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let lacking = members.filter_map(|(name, feature)| Some((name, feature?)));
        for (name, feature) in lacking.filter(|(_, feature)| !capabilities.features.contains(*feature)) {
            by_reason.entry(feature.name()).or_default().push(name);
        }
        for (why, names) in by_reason {
            skips.push(Skip { what: format!("{kind} {}", names.join(" ")), why: why.into() });
        }
    };
    group("tier", &mut Tier::ALL.into_iter().map(|tier| (tier.name(), tier_feature(tier))));
    let lacks = |feature: &Feature| !capabilities.features.contains(*feature);
    let first_lacking = |category: Category| category_features(category).iter().copied().find(lacks);
    let mut categories = Category::ALL.into_iter().map(|category| (category.name(), first_lacking(category)));
    group("operations", &mut categories);
    let extended = |feature: Feature| match capabilities.features.contains(feature) {
        true => Feature::SubgroupExtendedTypes,
        false => feature,
    };
    group("types", &mut Scalar::ALL.into_iter().map(|scalar| (scalar.name(), scalar_feature(scalar).map(extended))));
    group("", &mut LAUNCHES.into_iter().map(|(what, feature)| (what, Some(feature))));
    if !capabilities.required_size {
        let why = "requiredSubgroupSizeStages without compute".into();
        skips.push(Skip { what: "required subgroup sizes".into(), why });
    }
    let too_new = |version: &SpirvVersion| spirv_version(*version) > capabilities.max_spirv;
    let versions: Vec<String> =
        SpirvVersion::ALL.into_iter().filter(too_new).map(|version| spirv_version(version).to_string()).collect();
    if !versions.is_empty() {
        let why = format!("takes SPIR-V up to {}", capabilities.max_spirv);
        skips.push(Skip { what: format!("SPIR-V {}", versions.join(" ")), why });
    }
    skips.iter_mut().for_each(|skip| skip.what = skip.what.trim().to_owned());
    skips
}

/// Ways to launch, and an operand, that need a feature.
const LAUNCHES: [(&str, Feature); 3] = [
    ("full subgroups", Feature::ComputeFullSubgroups),
    ("varying subgroup sizes", Feature::SubgroupSizeControl),
    ("broadcasts from a lane that is no constant", Feature::SubgroupBroadcastDynamicId),
];

#[cfg(test)]
mod tests {
    use tangle_runner::SpirvVersion as Version;

    use super::*;

    fn without(features: &[Feature]) -> Capabilities {
        let mut capabilities = Capabilities::reference(8);
        let all = Feature::ALL.iter().copied().filter(|feature| !features.contains(feature));
        capabilities.features = all.collect();
        capabilities
    }

    fn told(capabilities: &Capabilities) -> Vec<String> {
        skips(capabilities).into_iter().map(|skip| format!("{}: {}", skip.what, skip.why)).collect()
    }

    #[test]
    fn nothing_is_left_out_on_a_device_that_has_everything() {
        assert_eq!(told(&Capabilities::reference(8)), [""; 0]);
    }

    #[test]
    fn what_is_left_out_is_told_with_the_reason() {
        let table: [(&[Feature], &str); 5] = [
            (&[Feature::MaximalReconvergence], "tier maximal: shaderMaximalReconvergence"),
            (&[Feature::SubgroupClustered], "operations clustered: VK_SUBGROUP_FEATURE_CLUSTERED_BIT"),
            (&[Feature::ShaderInt8], "types int8_t uint8_t: shaderInt8"),
            (&[Feature::ShaderInt8, Feature::SubgroupExtendedTypes], "types int8_t uint8_t: shaderInt8"),
            (&[Feature::ComputeFullSubgroups], "full subgroups: computeFullSubgroups"),
        ];
        for (features, line) in table {
            let told = told(&without(features));
            assert!(told.iter().any(|told| told == line), "{line}: {told:?}");
        }
        let old = Capabilities { max_spirv: Version::V1_4, required_size: false, ..Capabilities::reference(8) };
        let lines = [
            "required subgroup sizes: requiredSubgroupSizeStages without compute",
            "SPIR-V 1.5 1.6: takes SPIR-V up to 1.4",
        ];
        assert_eq!(told(&old), lines);
    }
}
