//! What a module is run with: specialisation, workgroups, lane map, buffers, limits.

use std::collections::BTreeMap;

use crate::draw::Draw;
use crate::lane_map::LaneMap;
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
