//! What a campaign leaves out on a device because the device does not offer it.

use tangle_features::{Feature, LeftOut};
use tangle_program::case::{SpirvVersion, Stage};

use crate::capabilities::Capabilities;

/// Everything that a campaign leaves out on a device, what has the same reason together.
pub fn skips(capabilities: &Capabilities) -> Vec<LeftOut> {
    let mut skips = tangle_features::left_out(capabilities.features, capabilities.api());
    // Without size control the feature is the reason.
    if !capabilities.required_size.contains(&Stage::Compute)
        && capabilities.features.contains(Feature::SubgroupSizeControl)
    {
        let why = "requiredSubgroupSizeStages without compute".into();
        skips.push(LeftOut { what: "required subgroup sizes".into(), why });
    }
    let too_new = |version: &SpirvVersion| *version > capabilities.max_spirv;
    let versions: Vec<String> =
        SpirvVersion::ALL.iter().filter(|version| too_new(version)).map(SpirvVersion::to_string).collect();
    if !versions.is_empty() {
        let why = format!("takes SPIR-V up to {}", capabilities.max_spirv);
        skips.push(LeftOut { what: format!("SPIR-V {}", versions.join(" ")), why });
    }
    skips
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(capabilities: &Capabilities) -> Vec<String> {
        skips(capabilities).into_iter().map(|skip| format!("{}: {}", skip.what, skip.why)).collect()
    }

    #[test]
    fn nothing_is_left_out_on_a_device_that_has_everything() {
        assert_eq!(lines(&Capabilities::reference(8)), [""; 0]);
    }

    #[test]
    fn what_is_left_out_has_its_reason() {
        let old =
            Capabilities { max_spirv: SpirvVersion::V1_4, required_size: Vec::new(), ..Capabilities::reference(8) };
        let versions = "SPIR-V 1.5 1.6: takes SPIR-V up to 1.4";
        assert_eq!(lines(&old), ["required subgroup sizes: requiredSubgroupSizeStages without compute", versions]);
        let mut without_control = old;
        without_control.features.remove(Feature::SubgroupSizeControl);
        let expected = ["varying subgroup sizes: subgroupSizeControl", "required subgroup sizes: subgroupSizeControl"];
        assert_eq!(lines(&without_control), [expected.as_slice(), &[versions]].concat());
    }
}
