//! Which features a Vulkan device has, and how they are enabled: what the rows of [`tangle_features::TABLE`] say.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_void};

use ash::vk::{self, TaggedStructure as _};
use tangle_features::{FeatureSet, Member, Origin, StageFlags, TABLE, Vulkan};

/// What a device can be asked about: its version and its extensions.
pub(super) struct Available {
    version: u32,
    extensions: HashSet<CString>,
}

impl Available {
    /// `version` is the one that may be used, `extensions` all that the device lists.
    pub(super) fn new(version: u32, extensions: &[vk::ExtensionProperties]) -> Available {
        let names = extensions.iter().filter_map(|extension| extension.extension_name_as_c_str().ok());
        Available { version, extensions: names.map(CStr::to_owned).collect() }
    }

    pub(super) fn has(&self, extension: &CStr) -> bool {
        self.extensions.contains(extension)
    }

    pub(super) fn is_at_least(&self, version: u32) -> bool {
        self.version >= version
    }

    /// Subgroup size control came with Vulkan 1.3 or as an extension.
    pub(super) fn has_size_control(&self) -> bool {
        self.is_at_least(vk::API_VERSION_1_3) || self.has(ash::ext::subgroup_size_control::NAME)
    }

    /// SPIR-V 1.4 as an extension of Vulkan 1.1; it needs float controls beside it.
    pub(super) fn has_spirv_1_4(&self) -> bool {
        self.has(ash::khr::spirv_1_4::NAME) && self.has(ash::khr::shader_float_controls::NAME)
    }

    fn has_without_extension(&self, origin: Origin) -> bool {
        origin.core_since.is_some_and(|minor| self.is_at_least(vk::make_api_version(0, 1, minor, 0)))
    }

    fn has_structure(&self, origin: Origin) -> bool {
        self.has_without_extension(origin) || origin.extension.is_some_and(|name| self.has(name))
    }

    /// The extensions to enable with these features.
    pub(super) fn extensions_for(&self, wanted: FeatureSet) -> Vec<&'static CStr> {
        let mut names = Vec::new();
        for row in wanted.with_required().rows() {
            let name = match row.vulkan {
                Vulkan::Member(Member { origin, .. }) if self.has_without_extension(origin) => None,
                Vulkan::Member(member) => member.origin.extension,
                Vulkan::Extension(name) => Some(name),
                Vulkan::FloatControl(_) if self.is_at_least(vk::API_VERSION_1_2) => None,
                Vulkan::FloatControl(_) => Some(ash::khr::shader_float_controls::NAME),
                Vulkan::Operation(_) | Vulkan::Stage(_) => None,
            };
            names.extend(name.filter(|name| self.has(name) && !names.contains(name)));
        }
        if !self.is_at_least(vk::API_VERSION_1_2) && self.has_spirv_1_4() {
            names.extend([ash::khr::spirv_1_4::NAME, ash::khr::shader_float_controls::NAME]);
        }
        names
    }
}

/// Which features a device has.
pub(super) fn query(
    instance: &ash::Instance,
    device: vk::PhysicalDevice,
    available: &Available,
    subgroup: &vk::PhysicalDeviceSubgroupProperties,
) -> FeatureSet {
    let mut chain = Chain::of(available);
    // SAFETY: the chain holds only structures of versions and extensions that the device has, all alive.
    unsafe { instance.get_physical_device_features2(device, chain.link()) };
    let float_controls = float_controls(instance, device, available);
    let in_compute = subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE);
    let has = |vulkan: Vulkan| match vulkan {
        Vulkan::Member(member) => chain.get(member),
        Vulkan::Operation(bit) => in_compute && subgroup.supported_operations.as_raw() & bit != 0,
        Vulkan::Stage(stage) => subgroup.supported_stages.contains(StageFlags::of(stage).shader),
        Vulkan::Extension(name) => available.has(name),
        Vulkan::FloatControl(index) => float_controls.get(index).is_some_and(|&value| value != vk::FALSE),
    };
    let features: FeatureSet = TABLE.iter().filter(|row| has(row.vulkan)).map(|row| row.feature).collect();
    features.with_implied()
}

/// The members of `VkPhysicalDeviceFloatControlsProperties`; none where the device does not know it. What it can only promise of all widths
/// together counts as not there, since cases ask for a width (VUID-RuntimeSpirv-denormBehaviorIndependence-06289 and -06290,
/// VUID-RuntimeSpirv-roundingModeIndependence-06291 and -06292).
fn float_controls(instance: &ash::Instance, device: vk::PhysicalDevice, available: &Available) -> Vec<vk::Bool32> {
    use vk::ShaderFloatControlsIndependence as Independence;
    if !available.is_at_least(vk::API_VERSION_1_2) && !available.has(ash::khr::shader_float_controls::NAME) {
        return Vec::new();
    }
    let mut found = vk::PhysicalDeviceFloatControlsProperties::default();
    let mut chain = vk::PhysicalDeviceProperties2::default().push_next(&mut found);
    // SAFETY: the device knows both structures, which are alive.
    unsafe { instance.get_physical_device_properties2(device, &mut chain) };
    let alone = |independence| match independence {
        Independence::ALL => [vk::TRUE; 3],
        Independence::TYPE_32_ONLY => [vk::FALSE, vk::TRUE, vk::FALSE],
        _ => [vk::FALSE; 3],
    };
    let (denormals, rounding) = (alone(found.denorm_behavior_independence), alone(found.rounding_mode_independence));
    vec![
        0,
        0,
        found.shader_signed_zero_inf_nan_preserve_float16,
        found.shader_signed_zero_inf_nan_preserve_float32,
        found.shader_signed_zero_inf_nan_preserve_float64,
        found.shader_denorm_preserve_float16 & denormals[0],
        found.shader_denorm_preserve_float32 & denormals[1],
        found.shader_denorm_preserve_float64 & denormals[2],
        // No case asks for denormals to be flushed.
        vk::FALSE,
        vk::FALSE,
        vk::FALSE,
        found.shader_rounding_mode_rte_float16 & rounding[0],
        found.shader_rounding_mode_rte_float32 & rounding[1],
        found.shader_rounding_mode_rte_float64 & rounding[2],
        found.shader_rounding_mode_rtz_float16 & rounding[0],
        found.shader_rounding_mode_rtz_float32 & rounding[1],
        found.shader_rounding_mode_rtz_float64 & rounding[2],
    ]
}

/// The feature structures that a device knows, `VkPhysicalDeviceFeatures2` first.
pub(super) struct Chain(Vec<Block>);

/// Any feature structure: a head, and then nothing but booleans.
#[repr(C)]
struct Block {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    members: [vk::Bool32; MEMBERS],
}

/// No feature structure has more members: `VkPhysicalDeviceFeatures` has 55, `VkPhysicalDeviceVulkan12Features` 47.
const MEMBERS: usize = 64;

const _: () = assert!(size_of::<vk::PhysicalDeviceFeatures2>() <= size_of::<Block>());
const _: () = assert!(align_of::<vk::PhysicalDeviceFeatures2>() == align_of::<Block>());

impl Chain {
    /// With every feature switched off.
    fn of(available: &Available) -> Chain {
        let mut chain = Chain(vec![Block::new(vk::PhysicalDeviceFeatures2::STRUCTURE_TYPE)]);
        for row in TABLE {
            let Vulkan::Member(Member { structure, origin, .. }) = row.vulkan else { continue };
            let structure = vk::StructureType::from_raw(structure);
            if available.has_structure(origin) && chain.0.iter().all(|block| block.s_type != structure) {
                chain.0.push(Block::new(structure));
            }
        }
        chain
    }

    /// With just these features switched on.
    pub(super) fn wanting(set: FeatureSet, available: &Available) -> Chain {
        let mut chain = Chain::of(available);
        for row in set.rows() {
            let Vulkan::Member(member) = row.vulkan else { continue };
            if let Some(value) = chain.member(member) {
                *value = vk::TRUE;
            }
        }
        chain
    }

    /// The first structure, with the others chained behind it.
    pub(super) fn link(&mut self) -> &mut vk::PhysicalDeviceFeatures2<'static> {
        let mut next = std::ptr::null_mut();
        for block in self.0.iter_mut().rev() {
            block.p_next = next;
            next = std::ptr::from_mut(block).cast();
        }
        // SAFETY: `next` points to the first block, which is a VkPhysicalDeviceFeatures2 by its type and at least as large (asserted above);
        // it and the blocks behind it live and stay where they are as long as the chain is borrowed.
        unsafe { &mut *next.cast() }
    }

    fn member(&mut self, member: Member) -> Option<&mut vk::Bool32> {
        let block = self.0.iter_mut().find(|block| block.s_type.as_raw() == member.structure)?;
        block.members.get_mut(member.index)
    }

    /// True if the device set the member.
    fn get(&self, member: Member) -> bool {
        let block = self.0.iter().find(|block| block.s_type.as_raw() == member.structure);
        block.and_then(|block| block.members.get(member.index)).is_some_and(|&value| value != vk::FALSE)
    }
}

impl Block {
    fn new(s_type: vk::StructureType) -> Block {
        Block { s_type, p_next: std::ptr::null_mut(), members: [vk::FALSE; MEMBERS] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_features::Feature;

    fn available(version: u32, extensions: &[&CStr]) -> Available {
        Available { version, extensions: extensions.iter().map(|&name| name.to_owned()).collect() }
    }

    #[test]
    fn members_are_where_ash_has_them() {
        let all = available(vk::API_VERSION_1_3, &[]);
        let wanted = [Feature::ShaderInt16, Feature::SubgroupExtendedTypes, Feature::ComputeFullSubgroups];
        let mut chain = Chain::wanting(wanted.into_iter().collect(), &all);
        let features = chain.link();
        assert_eq!((features.features.shader_int16, features.features.shader_int64), (vk::TRUE, vk::FALSE));
        let mut next = features.p_next.cast::<vk::BaseOutStructure>();
        let mut seen = 0;
        while !next.is_null() {
            // SAFETY: the chain is alive, and every structure in it has this head.
            let head = unsafe { &*next };
            if head.s_type == vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES {
                // SAFETY: the type says so, and a block is larger.
                let vulkan_1_2 = unsafe { &*next.cast::<vk::PhysicalDeviceVulkan12Features>() };
                let values = [vulkan_1_2.shader_subgroup_extended_types, vulkan_1_2.shader_int8];
                assert_eq!(values, [vk::TRUE, vk::FALSE]);
                seen += 1;
            }
            if head.s_type == vk::StructureType::PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES {
                // SAFETY: as above.
                let size = unsafe { &*next.cast::<vk::PhysicalDeviceSubgroupSizeControlFeatures>() };
                assert_eq!([size.subgroup_size_control, size.compute_full_subgroups], [vk::FALSE, vk::TRUE]);
                seen += 1;
            }
            next = head.p_next;
        }
        assert_eq!(seen, 2);
    }

    #[test]
    fn every_feature_with_a_member_can_be_switched_on() {
        let names: Vec<&CStr> = TABLE
            .iter()
            .filter_map(|row| if let Vulkan::Member(member) = row.vulkan { member.origin.extension } else { None })
            .collect();
        let all = available(vk::API_VERSION_1_3, &names);
        for row in TABLE {
            let Vulkan::Member(member) = row.vulkan else { continue };
            let chain = Chain::wanting([row.feature].into_iter().collect(), &all);
            assert!(chain.get(member), "{}", row.name);
            let on: u32 = chain.0.iter().flat_map(|block| block.members).sum();
            assert_eq!(on, 1, "{}", row.name);
        }
    }

    #[test]
    fn only_structures_that_the_device_knows_are_chained() {
        let size_control = ash::ext::subgroup_size_control::NAME;
        let quad_control = ash::khr::shader_quad_control::NAME;
        let maximal = ash::khr::shader_maximal_reconvergence::NAME;
        for (version, extensions, wanted, structures, enabled) in [
            // Features of 1.0, 16-bit storage and variable pointers.
            (vk::API_VERSION_1_1, &[][..], Feature::ShaderInt16, 3, &[][..]),
            (vk::API_VERSION_1_1, &[size_control][..], Feature::ComputeFullSubgroups, 4, &[size_control][..]),
            // Beside these: 1.2, size control, demoted and terminated fragments, integer dot products and maintenance4.
            (vk::API_VERSION_1_3, &[size_control][..], Feature::ComputeFullSubgroups, 9, &[][..]),
            (vk::API_VERSION_1_3, &[quad_control, maximal][..], Feature::QuadControl, 11, &[maximal, quad_control][..]),
        ] {
            let available = available(version, extensions);
            assert_eq!(Chain::of(&available).0.len(), structures);
            assert_eq!(available.extensions_for([wanted].into_iter().collect()), enabled);
        }
    }
}
