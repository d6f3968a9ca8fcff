//! What a device can run, in the terms of the test-case language.

use tangle_analysis::validate::MAX_WORKGROUP;
use tangle_features::{for_category, for_scalar, for_tier, needs};
use tangle_generator::Config;
use tangle_oracle::map::SizePromise;
use tangle_program::case::{Case, SpirvVersion, SubgroupSize, Tier};
use tangle_program::subgroup::Category;
use tangle_program::types::Scalar;
use tangle_runner::{DeviceInfo, Feature, FeatureSet, Limits};

/// What a device can run.
#[derive(Clone, Debug, PartialEq)]
pub struct Capabilities {
    /// Its subgroup sizes.
    pub sizes: SizePromise,
    /// True if a pipeline may require a size.
    pub required_size: bool,
    /// Most subgroups in a workgroup when a size is required.
    pub max_workgroup_subgroups: u32,
    /// Vulkan features.
    pub features: FeatureSet,
    /// Newest SPIR-V version.
    pub max_spirv: SpirvVersion,
    /// Limits of compute work.
    pub limits: Limits,
}

impl Capabilities {
    /// What a Vulkan device can run.
    pub fn of(info: &DeviceInfo) -> Capabilities {
        let subgroup = &info.subgroup;
        Capabilities {
            sizes: SizePromise { default: subgroup.size, min: subgroup.min_size, max: subgroup.max_size },
            required_size: subgroup.required_size_in_compute,
            max_workgroup_subgroups: subgroup.max_compute_workgroup_subgroups,
            features: info.features,
            max_spirv: info.max_spirv,
            limits: info.limits,
        }
    }

    /// What the reference device can run: everything, at sizes up to 128, its default being `size`.
    pub fn reference(size: u32) -> Capabilities {
        let mut features = FeatureSet::EMPTY;
        Feature::ALL.iter().for_each(|&feature| features.insert(feature));
        let limits = Limits {
            max_workgroup_size: [1024, 1024, 64],
            max_workgroup_invocations: 1024,
            max_workgroup_count: [65535; 3],
            max_push_constants_size: 128,
            max_storage_buffer_range: u32::MAX,
            ..Limits::default()
        };
        Capabilities {
            sizes: SizePromise { default: size, min: size.min(4), max: 128 },
            required_size: true,
            max_workgroup_subgroups: 1024,
            features,
            max_spirv: SpirvVersion::V1_6,
            limits,
        }
    }

    /// True if the device offers the tier.
    pub fn offers(&self, tier: Tier) -> bool {
        self.has_all(for_tier(tier))
    }

    fn has_all(&self, features: FeatureSet) -> bool {
        features.without(self.features).is_empty()
    }

    /// What the device lacks for a case; empty if it can run it.
    pub fn missing(&self, case: &Case) -> Vec<String> {
        let needs = needs(case);
        let lacking = needs.features.without(self.features);
        let mut missing: Vec<String> = lacking.iter().map(|feature| feature.name().to_owned()).collect();
        self.missing_sizes(case, needs.min_subgroup_size, &mut missing);
        self.missing_limits(case, &mut missing);
        missing
    }

    /// The smallest subgroup size that a launch can get.
    fn smallest_size(&self, case: &Case) -> u32 {
        match case.entry_point.subgroup_size {
            SubgroupSize::Required(size) => size,
            SubgroupSize::Default if case.entry_point.spirv < SpirvVersion::V1_6 => self.sizes.default,
            _ => self.sizes.min,
        }
    }

    fn missing_sizes(&self, case: &Case, needed: u32, missing: &mut Vec<String>) {
        let SizePromise { default, min, max } = self.sizes;
        let x = case.entry_point.workgroups().size[0];
        let mut multiple_of = None;
        match case.entry_point.subgroup_size {
            SubgroupSize::Required(_) if !self.required_size => missing.push("a required subgroup size".into()),
            SubgroupSize::Required(size) => {
                if !(min..=max).contains(&size) {
                    missing.push(format!("subgroup size {size} (has {min} to {max})"));
                }
                // VUID-VkPipelineShaderStageCreateInfo-pNext-02756
                if case.entry_point.group_size() > size.saturating_mul(self.max_workgroup_subgroups) {
                    missing.push(format!("more than {} subgroups in a workgroup", self.max_workgroup_subgroups));
                }
                multiple_of = Some(size);
            }
            SubgroupSize::Varying => multiple_of = Some(max),
            SubgroupSize::Default => multiple_of = Some(default),
        }
        // VUID-VkPipelineShaderStageCreateInfo-flags-02757, 02758, 02759
        if let Some(size) = multiple_of.filter(|&size| case.entry_point.full_subgroups && size > 0 && x % size != 0) {
            missing.push(format!("full subgroups with a workgroup x that is no multiple of {size}"));
        }
        if self.smallest_size(case) < needed {
            missing.push(format!("a subgroup size of at least {needed} (may be {})", self.smallest_size(case)));
        }
    }

    fn missing_limits(&self, case: &Case, missing: &mut Vec<String>) {
        let limits = &self.limits;
        if case.entry_point.spirv > self.max_spirv {
            missing.push(format!("SPIR-V {}", case.entry_point.spirv));
        }
        if case.entry_point.group_size() > limits.max_workgroup_invocations {
            missing.push(format!("workgroups of {} invocations", case.entry_point.group_size()));
        }
        let too_large =
            |wanted: [u32; 3], limit: [u32; 3]| wanted.iter().zip(limit).any(|(&wanted, most)| wanted > most);
        if too_large(case.entry_point.workgroups().size, limits.max_workgroup_size) {
            missing.push(format!(
                "a workgroup of {:?} (has {:?})",
                case.entry_point.workgroups().size,
                limits.max_workgroup_size
            ));
        }
        if too_large(case.entry_point.workgroups().count, limits.max_workgroup_count) {
            missing.push(format!(
                "{:?} workgroups (has {:?})",
                case.entry_point.workgroups().count,
                limits.max_workgroup_count
            ));
        }
        if case.data.push.len() * 4 > limits.max_push_constants_size as usize {
            missing.push(format!("{} bytes of push constants", case.data.push.len() * 4));
        }
    }

    /// What the generator may use for this device at a tier.
    pub fn config(&self, tier: Tier) -> Config {
        let has = |feature| self.features.contains(feature);
        let categories = Category::ALL.into_iter().filter(|&category| self.has_all(for_category(category)));
        // A program that uses a type uses it in subgroup operations, too.
        let scalars = Scalar::ALL.into_iter().filter(|&scalar| self.has_all(for_scalar(scalar)));
        let sizes = self.sizes;
        let powers = (0..8).map(|n| 1u32 << n).filter(|size| (sizes.min..=sizes.max).contains(size));
        let [x, y, z] = self.limits.max_workgroup_size;
        Config {
            tier,
            categories: categories.collect(),
            scalars: scalars.collect(),
            min_subgroup_size: sizes.min,
            max_subgroup_size: sizes.max,
            required_sizes: if self.required_size { powers.collect() } else { Vec::new() },
            full_subgroups: has(Feature::ComputeFullSubgroups),
            varying_size: has(Feature::SubgroupSizeControl),
            shared_int64_atomics: has(Feature::SharedInt64Atomics) && has(Feature::BufferInt64Atomics),
            expect_assume: has(Feature::ExpectAssume),
            dot_product: has(Feature::IntegerDotProduct),
            local_size_id: has(Feature::Maintenance4),
            broadcast_dynamic_id: has(Feature::SubgroupBroadcastDynamicId),
            spirv: SpirvVersion::ALL.into_iter().filter(|&version| version <= self.max_spirv).collect(),
            max_workgroup: [x, y, z].map(|side| side.min(MAX_WORKGROUP as u32)),
            max_invocations: self.limits.max_workgroup_invocations.min(MAX_WORKGROUP as u32),
            max_workgroup_subgroups: self.max_workgroup_subgroups,
            ..Config::default()
        }
    }
}
