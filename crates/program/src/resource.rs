//! Arrays of descriptors: resources that a shader chooses by an index while it runs (Vulkan, "Descriptor Sets"; SPIR-V 1.6 §3.2.7, capabilities
//! of dynamic and of non-uniform indexing).
//!
//! Every array has as many resources as [`Data::resources`](crate::case::Data::resources) has words, and each resource holds one word of
//! these. Nothing writes to them, so that what is read follows from the index alone.

use serde::{Deserialize, Serialize};

use crate::interface::FIRST_RESOURCE;

/// The most resources of an array. What a device has room for it says itself (`maxPerStageDescriptorStorageBuffers` and the like).
pub const MAX_RESOURCES: usize = 8;

/// What the resources of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ResourceClass {
    /// `buffer` blocks: storage buffers.
    StorageBuffer,
    /// `uniform` blocks: uniform buffers.
    UniformBuffer,
    /// `uimageBuffer`: storage texel buffers.
    StorageTexelBuffer,
    /// `uimage2D`: storage images.
    StorageImage,
}

impl ResourceClass {
    /// Every class, in the order of their bindings.
    pub const ALL: [ResourceClass; 4] = [
        ResourceClass::StorageBuffer,
        ResourceClass::UniformBuffer,
        ResourceClass::StorageTexelBuffer,
        ResourceClass::StorageImage,
    ];

    /// Where the array is bound.
    pub const fn binding(self) -> u32 {
        FIRST_RESOURCE + self as u32
    }

    /// The array's name in a shader.
    pub const fn name(self) -> &'static str {
        match self {
            ResourceClass::StorageBuffer => "storage_buffers",
            ResourceClass::UniformBuffer => "uniform_buffers",
            ResourceClass::StorageTexelBuffer => "storage_texels",
            ResourceClass::StorageImage => "storage_images",
        }
    }
}
