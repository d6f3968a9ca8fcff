//! The Vulkan features and subgroup operations that a job may need, under the names the Vulkan specification gives them.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares [`Feature`] from one row per feature: documentation, variant, Vulkan name.
macro_rules! features {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// One thing a device may or may not be able to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Feature {
            $($(#[$doc])* $variant,)*
        }

        impl Feature {
            /// Every feature, in the order of this page.
            pub const ALL: &'static [Feature] = &[$(Feature::$variant,)*];

            /// The name in the Vulkan specification: the member of the feature structure, the operation bit, or the
            /// extension where there is neither.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Feature::$variant => $name,)*
                }
            }
        }
    };
}

features! {
    /// `subgroupElect`, `subgroupBarrier` and the built-in variables, in compute shaders.
    SubgroupBasic = "VK_SUBGROUP_FEATURE_BASIC_BIT",
    /// `subgroupAll`, `subgroupAny`, `subgroupAllEqual`.
    SubgroupVote = "VK_SUBGROUP_FEATURE_VOTE_BIT",
    /// Reductions and scans.
    SubgroupArithmetic = "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT",
    /// Ballots and broadcasts.
    SubgroupBallot = "VK_SUBGROUP_FEATURE_BALLOT_BIT",
    /// `subgroupShuffle`, `subgroupShuffleXor`.
    SubgroupShuffle = "VK_SUBGROUP_FEATURE_SHUFFLE_BIT",
    /// `subgroupShuffleUp`, `subgroupShuffleDown`.
    SubgroupShuffleRelative = "VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT",
    /// Clustered reductions.
    SubgroupClustered = "VK_SUBGROUP_FEATURE_CLUSTERED_BIT",
    /// Quad broadcasts and swaps, in compute shaders.
    SubgroupQuad = "VK_SUBGROUP_FEATURE_QUAD_BIT",
    /// Partitioned operations (the bit is shared by the NV and the EXT extension).
    SubgroupPartitioned = "VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV",
    /// Modules that declare `SPV_NV_shader_subgroup_partitioned`.
    PartitionedNv = "VK_NV_shader_subgroup_partitioned",
    /// Modules that declare `SPV_EXT_shader_subgroup_partitioned`.
    PartitionedExt = "shaderSubgroupPartitioned",
    /// `subgroupRotate`.
    SubgroupRotate = "shaderSubgroupRotate",
    /// `subgroupClusteredRotate`.
    SubgroupRotateClustered = "shaderSubgroupRotateClustered",
    /// `subgroupQuadAll`, `subgroupQuadAny` and the quad execution modes.
    QuadControl = "shaderQuadControl",
    /// The `MaximallyReconvergesKHR` execution mode.
    MaximalReconvergence = "shaderMaximalReconvergence",
    /// The `SubgroupUniformControlFlowKHR` execution mode.
    SubgroupUniformControlFlow = "shaderSubgroupUniformControlFlow",
    /// Subgroup operations on 8-, 16- and 64-bit integers and 16-bit floats.
    SubgroupExtendedTypes = "shaderSubgroupExtendedTypes",
    /// `subgroupBroadcast` with an index that is not constant.
    SubgroupBroadcastDynamicId = "subgroupBroadcastDynamicId",
    /// Varying and required subgroup sizes.
    SubgroupSizeControl = "subgroupSizeControl",
    /// Required full subgroups.
    ComputeFullSubgroups = "computeFullSubgroups",
    /// 8-bit integers in shader arithmetic.
    ShaderInt8 = "shaderInt8",
    /// 16-bit integers in shader arithmetic.
    ShaderInt16 = "shaderInt16",
    /// 64-bit integers in shader arithmetic.
    ShaderInt64 = "shaderInt64",
    /// 16-bit floats in shader arithmetic.
    ShaderFloat16 = "shaderFloat16",
    /// 64-bit floats in shader arithmetic.
    ShaderFloat64 = "shaderFloat64",
    /// 8-bit members of storage buffers.
    StorageBuffer8Bit = "storageBuffer8BitAccess",
    /// 8-bit members of uniform buffers.
    UniformAndStorageBuffer8Bit = "uniformAndStorageBuffer8BitAccess",
    /// 16-bit members of storage buffers.
    StorageBuffer16Bit = "storageBuffer16BitAccess",
    /// 16-bit members of uniform buffers.
    UniformAndStorageBuffer16Bit = "uniformAndStorageBuffer16BitAccess",
    /// 64-bit integer atomics on buffers.
    BufferInt64Atomics = "shaderBufferInt64Atomics",
    /// 64-bit integer atomics on shared memory.
    SharedInt64Atomics = "shaderSharedInt64Atomics",
    /// The Vulkan memory model.
    VulkanMemoryModel = "vulkanMemoryModel",
    /// Device scope in the Vulkan memory model.
    VulkanMemoryModelDeviceScope = "vulkanMemoryModelDeviceScope",
    /// The `LocalSizeId` execution mode.
    Maintenance4 = "maintenance4",
    /// `OpExpectKHR` and `OpAssumeTrueKHR`.
    ExpectAssume = "shaderExpectAssume",
    /// Statistics and internal representations of compiled pipelines.
    PipelineExecutableInfo = "pipelineExecutableInfo",
}

impl fmt::Display for Feature {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is not a [`Feature`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown Vulkan feature `{0}`")]
pub struct UnknownFeature(pub String);

impl FromStr for Feature {
    type Err = UnknownFeature;

    fn from_str(name: &str) -> Result<Feature, UnknownFeature> {
        let found = Feature::ALL.iter().find(|feature| feature.name() == name);
        found.copied().ok_or_else(|| UnknownFeature(name.to_owned()))
    }
}

/// A set of [`Feature`]s: what a job needs, or what a device has. A list of names in JSON, one number in the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FeatureSet(u64);

impl FeatureSet {
    /// The set without a member.
    pub const EMPTY: FeatureSet = FeatureSet(0);

    /// Adds a feature.
    pub fn insert(&mut self, feature: Feature) {
        self.0 |= bit(feature);
    }

    /// Takes a feature out.
    pub fn remove(&mut self, feature: Feature) {
        self.0 &= !bit(feature);
    }

    /// True when the feature is in the set.
    pub fn contains(self, feature: Feature) -> bool {
        self.0 & bit(feature) != 0
    }

    /// True for the set without a member.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in one of the two sets or in both.
    #[must_use]
    pub fn union(self, other: FeatureSet) -> FeatureSet {
        FeatureSet(self.0 | other.0)
    }

    /// What is in this set and not in the other: of what a job needs, what the device lacks.
    #[must_use]
    pub fn without(self, other: FeatureSet) -> FeatureSet {
        FeatureSet(self.0 & !other.0)
    }

    /// The members in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.iter().copied().filter(move |&feature| self.contains(feature))
    }
}

fn bit(feature: Feature) -> u64 {
    1 << feature as u8
}

impl FromIterator<Feature> for FeatureSet {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> FeatureSet {
        let mut set = FeatureSet::EMPTY;
        features.into_iter().for_each(|feature| set.insert(feature));
        set
    }
}

impl Extend<Feature> for FeatureSet {
    fn extend<I: IntoIterator<Item = Feature>>(&mut self, features: I) {
        features.into_iter().for_each(|feature| self.insert(feature));
    }
}

impl Serialize for FeatureSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_seq(self.iter().map(Feature::name));
        }
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FeatureSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FeatureSet, D::Error> {
        if !deserializer.is_human_readable() {
            return u64::deserialize(deserializer).map(FeatureSet);
        }
        let names = Vec::<String>::deserialize(deserializer)?;
        names.iter().map(|name| name.parse().map_err(D::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_its_own_bit_and_name() {
        assert!(Feature::ALL.len() <= 64);
        for (index, &feature) in Feature::ALL.iter().enumerate() {
            assert_eq!(feature as usize, index);
            assert_eq!(feature.name().parse(), Ok(feature));
        }
        assert_eq!("shaderInt63".parse::<Feature>(), Err(UnknownFeature("shaderInt63".into())));
    }

    #[test]
    fn json_lists_names() {
        let set: FeatureSet = [Feature::ShaderInt8, Feature::SubgroupVote].into_iter().collect();
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(json, r#"["VK_SUBGROUP_FEATURE_VOTE_BIT","shaderInt8"]"#);
        assert_eq!(serde_json::from_str::<FeatureSet>(&json).unwrap(), set);
        assert!(serde_json::from_str::<FeatureSet>(r#"["shaderInt9"]"#).is_err());
    }

    #[test]
    fn missing_features_are_the_difference() {
        let needed: FeatureSet = [Feature::ShaderInt8, Feature::QuadControl].into_iter().collect();
        let present: FeatureSet = [Feature::ShaderInt8, Feature::ShaderInt16].into_iter().collect();
        assert_eq!(needed.without(present).iter().collect::<Vec<_>>(), [Feature::QuadControl]);
        assert_eq!(needed.union(present).iter().count(), 3);
    }
}
