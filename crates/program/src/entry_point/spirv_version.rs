//! Versions of SPIR-V.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The SPIR-V version of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SpirvVersion {
    /// SPIR-V 1.3, core in Vulkan 1.1.
    #[default]
    #[serde(rename = "1.3")]
    V1_3,
    /// SPIR-V 1.4, through `VK_KHR_spirv_1_4` or Vulkan 1.2.
    #[serde(rename = "1.4")]
    V1_4,
    /// SPIR-V 1.5, core in Vulkan 1.2.
    #[serde(rename = "1.5")]
    V1_5,
    /// SPIR-V 1.6, core in Vulkan 1.3. Lets the subgroup size vary and makes full subgroups the rule.
    #[serde(rename = "1.6")]
    V1_6,
}

impl SpirvVersion {
    /// Every version with subgroup operations.
    pub const ALL: [SpirvVersion; 4] = [SpirvVersion::V1_3, SpirvVersion::V1_4, SpirvVersion::V1_5, SpirvVersion::V1_6];

    /// The version word of a module's header (SPIR-V 1.6 §2.3).
    pub const fn word(self) -> u32 {
        match self {
            SpirvVersion::V1_3 => 0x0001_0300,
            SpirvVersion::V1_4 => 0x0001_0400,
            SpirvVersion::V1_5 => 0x0001_0500,
            SpirvVersion::V1_6 => 0x0001_0600,
        }
    }
}

impl fmt::Display for SpirvVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            SpirvVersion::V1_3 => "1.3",
            SpirvVersion::V1_4 => "1.4",
            SpirvVersion::V1_5 => "1.5",
            SpirvVersion::V1_6 => "1.6",
        })
    }
}
