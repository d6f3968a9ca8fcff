//! The Vulkan features that a case needs, and how the formats ask for them.

use tangle_features::{FeatureRow, Needs, Vulkan};
use tangle_program::case::SpirvVersion;

/// What a case needs beside subgroup operations, which no extension has and nothing switches on.
pub(super) fn demands(needs: &Needs) -> impl Iterator<Item = &'static FeatureRow> {
    needs.features.rows().filter(|row| !matches!(row.vulkan, Vulkan::Operation(_) | Vulkan::Stage(_)))
}

/// The version of Vulkan that a case needs: minor number.
pub(super) fn vulkan_minor(needs: &Needs) -> u32 {
    let by_module = match needs.spirv {
        SpirvVersion::V1_6 => 3,
        SpirvVersion::V1_5 => 2,
        SpirvVersion::V1_4 | SpirvVersion::V1_3 => 1,
    };
    let without_extension = |row: &'static FeatureRow| match row.vulkan {
        Vulkan::Member(member) if member.origin.extension.is_none() => member.origin.core_since,
        _ => None,
    };
    demands(needs).filter_map(without_extension).fold(by_module, u32::max)
}

/// The extensions that a script asks for, each once.
pub(super) fn extensions(needs: &Needs) -> Vec<&'static str> {
    let spirv_1_4 = (needs.spirv == SpirvVersion::V1_4).then_some("VK_KHR_spirv_1_4");
    let mut names: Vec<&str> = Vec::new();
    for name in demands(needs).filter_map(FeatureRow::extension).chain(spirv_1_4) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What is lost where a format has no name for a feature, with something about the drivers that let it pass; of an extension that is all there
/// is to ask for, only that another does as well.
pub(super) fn nameless(row: &FeatureRow, aside: &str) -> Option<String> {
    let name = row.name;
    match (row.vulkan, row.extension()) {
        (Vulkan::Extension(_), _) => {
            let other = row.implied_by.iter().find_map(|feature| feature.row().extension())?;
            Some(format!("It asks for the extension {name}; a device may have {other} instead, which does as well."))
        }
        (Vulkan::FloatControl(_), _) => {
            Some(format!("It has no name for the property {name}, which it does not ask for."))
        }
        (_, None) => Some(format!("It has no name for the feature {name} and leaves it switched off.")),
        (_, Some(extension)) => Some(format!(
            "It has no name for the feature {name}. The script enables the extension {extension} and leaves the feature switched off, \
             which drivers usually let pass{aside}."
        )),
    }
}
