//! What a module is run with: specialisation, workgroups, lane map, buffers, limits.

use std::collections::BTreeMap;

use crate::draw::Draw;
use crate::module::Interface;
pub use crate::module::Tier;

/// What is fixed when a pipeline is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineOptions {
    /// Name of the entry point; if none, the only compute shader, or where there is none the only other one.
    pub entry: Option<String>,
    /// Values of specialisation constants by `SpecId` (`VkSpecializationInfo`): the bits of the constant, not sign-extended. Booleans are 0 or 1.
    /// Numbers that the module does not have are ignored, as Vulkan does (VkSpecializationMapEntry).
    pub specialization: BTreeMap<u32, u64>,
    /// How many descriptors the run-time arrays of descriptors have, by set and binding (`descriptorCount` of VkDescriptorSetLayoutBinding).
    pub descriptors: BTreeMap<(u32, u32), u32>,
    /// Judge by this tier instead of by the execution modes of the entry point.
    pub tier: Option<Tier>,
    /// Several invocations may store one value to a location without any order: that is no data race for once. Such shaders are common, and what
    /// they leave is the same on every device; the specification makes no such exception.
    pub equal_stores: bool,
    /// Operands of `OpSRem` and `OpSMod` may be negative, as SPIR-V defines them (the feature `maintenance8`); otherwise such a remainder is
    /// undefined.
    pub signed_remainders: bool,
}

/// Where one invocation sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanePosition {
    /// Index of the subgroup in the workgroup, counted from 0 without gaps. It names the subgroup and is not `SubgroupId`.
    pub subgroup: u32,
    /// `SubgroupLocalInvocationId`, below the subgroup size.
    pub lane: u32,
    /// `SubgroupId` as the device reports it.
    pub subgroup_id: u32,
    /// `NumSubgroups` as the device reports it.
    pub num_subgroups: u32,
}

/// Which invocation sits in which subgroup and lane. Any division into subgroups is legal unless full subgroups are asked for (Vulkan,
/// "Subgroups" in the chapter on shaders), so it is an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneMap {
    /// `SubgroupSize`: a power of two from 1 to 128.
    pub subgroup_size: u32,
    /// For every workgroup, by its linear index: the place of each invocation, by local invocation index. With one element it holds for every
    /// workgroup.
    pub workgroups: Vec<Vec<LanePosition>>,
}

impl LaneMap {
    /// Subgroups of consecutive local invocation indices, for every workgroup of `invocations`.
    pub fn linear(invocations: u32, subgroup_size: u32) -> LaneMap {
        let size = subgroup_size.max(1);
        let num_subgroups = invocations.div_ceil(size);
        let place = |index: u32| LanePosition {
            subgroup: index / size,
            lane: index % size,
            subgroup_id: index / size,
            num_subgroups,
        };
        LaneMap { subgroup_size, workgroups: vec![(0..invocations).map(place).collect()] }
    }

    /// What an entry point allows: subgroups of consecutive local invocation indices, or quad by quad if the quads are of local invocation ids
    /// (Vulkan, Shaders, Quad: "each invocation in a quad scope instance is formed of invocations with adjacent local invocation IDs").
    pub fn of(interface: &Interface, subgroup_size: u32) -> LaneMap {
        let [width, height, depth] = interface.workgroup_size;
        let by_index = LaneMap::linear(width.saturating_mul(height).saturating_mul(depth), subgroup_size);
        if !interface.quads_of_ids || width % 2 == 1 || height % 2 == 1 {
            return by_index;
        }
        let mut places = by_index.workgroups.into_iter().flatten();
        let mut workgroup = vec![None; width as usize * height as usize * depth as usize];
        for z in 0..depth {
            for (y, x) in (0..height).step_by(2).flat_map(|y| (0..width).step_by(2).map(move |x| (y, x))) {
                for (y, x) in [(y, x), (y, x + 1), (y + 1, x), (y + 1, x + 1)] {
                    workgroup[((z * height + y) * width + x) as usize] = places.next();
                }
            }
        }
        LaneMap { subgroup_size, workgroups: vec![workgroup.into_iter().flatten().collect()] }
    }
}

/// A buffer that is bound to a descriptor, or that a physical address points into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// `DescriptorSet`.
    pub set: u32,
    /// `Binding`.
    pub binding: u32,
    /// Element of an array of descriptors; 0 without one.
    pub element: u32,
    /// Contents before the dispatch, all of them defined. The length is the size of the descriptor's range.
    pub bytes: Vec<u8>,
    /// The device address (`vkGetBufferDeviceAddress`) if the module may point into the buffer. Ranges must not overlap.
    pub address: Option<u64>,
    /// For a storage image, of which `bytes` are the texels, row by row and slice by slice: width, height, and depth or layers; 1 where it has fewer
    /// dimensions. 0 for a buffer.
    pub extent: [u32; 3],
    /// The index in [`Dispatch::buffers`] of the buffer whose memory this is, where several descriptors have one buffer. `bytes` and `address` are then
    /// those of that one.
    pub same_as: Option<usize>,
}

/// One `vkCmdDispatch`, or one draw for a shader without workgroups, with what is bound to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// Number of workgroups in x, y, z; 1 for a draw.
    pub workgroups: [u32; 3],
    /// The subgroup and lane of each invocation: what follows is what a device with this map does.
    pub lane_map: LaneMap,
    /// The invocations of a shader without workgroups; none of another one.
    pub draw: Draw,
    /// Storage and uniform buffers.
    pub buffers: Vec<Buffer>,
    /// Push constants, from offset 0.
    pub push: Vec<u8>,
    /// Where to give up.
    pub limits: Limits,
}

/// Bounds of a run. Nothing else bounds it: not the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions executed by one tangle each, over the whole dispatch; a load or store of many scalars counts as several. Behind it stands "no
    /// termination".
    pub steps: u64,
    /// Bytes of values, of variables, and of what is known of the contents of memory, as far as it is touched. The contents of buffers are not
    /// counted, nor their states in the outcome.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 20_000_000, memory: 256 << 20 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quads_of_local_ids_follow_each_other() {
        let interface = |workgroup_size, quads_of_ids| Interface {
            entry: "main".into(),
            stage: rspirv::spirv::ExecutionModel::GLCompute,
            workgroup_size,
            quads_of_ids,
            quad_derivatives: false,
            inputs: Vec::new(),
            tier: Tier::Plain,
            bindings: Vec::new(),
            push_size: 0,
            spec_constants: Vec::new(),
        };
        let lanes = |size, quads_of_ids| -> Vec<u32> {
            let map = LaneMap::of(&interface(size, quads_of_ids), 8);
            map.workgroups[0].iter().map(|place| 8 * place.subgroup + place.lane).collect()
        };
        for (size, quads_of_ids, expected) in [
            ([4, 2, 1], true, &[0, 1, 4, 5, 2, 3, 6, 7][..]),
            ([2, 4, 1], true, &[0, 1, 2, 3, 4, 5, 6, 7]),
            ([2, 2, 2], true, &[0, 1, 2, 3, 4, 5, 6, 7]),
            ([4, 4, 1], true, &[0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]),
            ([4, 2, 1], false, &[0, 1, 2, 3, 4, 5, 6, 7]),
            // No quads: the module is not valid.
            ([3, 1, 1], true, &[0, 1, 2]),
        ] {
            assert_eq!(lanes(size, quads_of_ids), expected, "{size:?}");
        }
    }
}
