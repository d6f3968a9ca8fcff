//! Arrays of descriptors: resources that a shader chooses by an index while it runs (Vulkan, "Descriptor Sets"; SPIR-V 1.6 §3.2.7, capabilities
//! of dynamic and of non-uniform indexing).
//!
//! Every array has as many resources as [`Data::resources`](crate::case::Data::resources) has words, and each resource holds one word of
//! these. Nothing writes to them, so that what is read follows from the index alone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::case::interface::FIRST_RESOURCE;
use crate::tree::{Expr, Program, walk_block};

/// The most resources of an array. What a device has room for it says itself (`maxPerStageDescriptorStorageBuffers` and the like).
pub const MAX_RESOURCES: usize = 8;

/// What the resources of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ResourceClass {
    /// `buffer` blocks.
    StorageBuffer,
    /// `uniform` blocks.
    UniformBuffer,
    /// `uimageBuffer`: storage texel buffers.
    StorageTexelBuffer,
    /// `uimage2D`
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

/// The arrays of descriptors that a program has: those that it reads from.
pub fn resource_classes(program: &Program) -> BTreeSet<ResourceClass> {
    let mut classes = BTreeSet::new();
    let mut expr = |expr: &Expr| classes.extend(if let Expr::Resource(of) = expr { Some(of.class) } else { None });
    for function in &program.functions {
        walk_block(&function.body, &mut |stmt| stmt.direct_exprs().for_each(|part| part.walk(&mut expr)));
    }
    classes
}

/// `array[index]`, or `array[nonuniformEXT(index)]`: the word of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Which array.
    pub class: ResourceClass,
    /// A uint below the number of resources.
    pub index: Box<Expr>,
    /// True if the access is decorated `NonUniform`. Without that the index has to be the same in all invocations of the dispatch that execute
    /// the access (docs/rules.md, Y11; the specification is content with less).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub non_uniform: bool,
}
