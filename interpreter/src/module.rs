//! A parsed module: what it needs, and which of that is not supported.

use rspirv::spirv::{self, Op};

use crate::operand::Operand;
use crate::outcome::Error;
use crate::read::read;
use crate::source::Source;

/// What a shader reads or writes through a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingKind {
    /// `VK_DESCRIPTOR_TYPE_STORAGE_BUFFER`
    StorageBuffer,
    /// `VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER`
    UniformBuffer,
    /// `VK_DESCRIPTOR_TYPE_STORAGE_IMAGE` or `VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER`.
    StorageImage,
    /// `VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE`, `VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER` or `VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER`. It has one level.
    SampledImage,
    /// `VK_DESCRIPTOR_TYPE_SAMPLER`: nothing is bound to it.
    Sampler,
    /// Anything else: not supported.
    Other,
}

/// An image as its type says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// Bytes of a texel.
    pub texel: u32,
    /// Coordinates of a texel: one to three; the layer of an array counts as one more. A cube has two.
    pub dimensions: u32,
    /// `Dim`. An image of the dimensionality `Buffer` is a texel buffer.
    pub dim: spirv::Dim,
    /// True for an array of images in one.
    pub arrayed: bool,
    /// True if a texel has several samples.
    pub multisampled: bool,
    /// True for an image with its sampler (`OpTypeSampledImage`).
    pub with_sampler: bool,
    /// How its texels lie in memory. Where the type names no format they have four components of the sampled type, in 32 bits each, or one of 64.
    pub format: spirv::ImageFormat,
    /// True if the module has pointers to texels of such images, for atomics.
    pub atomic: bool,
}

/// One variable with a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// `DescriptorSet`.
    pub set: u32,
    /// `Binding`.
    pub binding: u32,
    /// Which of Vulkan's descriptor types can be bound.
    pub kind: BindingKind,
    /// Number of descriptors: 1 without an array.
    pub count: u32,
    /// True of an array of descriptors, also of one with a single element.
    pub is_array: bool,
    /// Bytes that the type needs: with a run-time array at its end, those before it.
    pub size: u64,
    /// Bytes of an element of that run-time array, if there is one.
    pub element: Option<u64>,
    /// What the image type says; `None` if it is no image.
    pub image: Option<ImageShape>,
    /// Name in the module (`OpName` of the variable, else of its type), if there is one.
    pub name: Option<String>,
    /// True if the module cannot write to it.
    pub read_only: bool,
}

/// A specialisation constant, which a run may give another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecConstant {
    /// `SpecId`.
    pub id: u32,
    /// Bits of the default.
    pub default: u64,
    /// Width in bits; 1 for a boolean.
    pub width: u32,
    /// Name in the module, if there is one.
    pub name: Option<String>,
}

/// The convergence rules that subgroup operations are judged by, weakest promise first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// No execution mode: uniform control flow of the whole workgroup only (SPIR-V 1.6 §2.2.5).
    Plain,
    /// `SubgroupUniformControlFlowKHR` (SPV_KHR_subgroup_uniform_control_flow).
    SubgroupUniform,
    /// `MaximallyReconvergesKHR` (SPV_KHR_maximal_reconvergence).
    Maximal,
}

/// What an entry point needs from its dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of the entry point.
    pub entry: String,
    /// Its execution model: any of Vulkan's but those of ray tracing.
    pub stage: spirv::ExecutionModel,
    /// Invocations of a workgroup in x, y, z; 1 in a shader without.
    pub workgroup_size: [u32; 3],
    /// True if quads are of local invocation ids (`DerivativeGroupQuadsKHR`); otherwise they may be of consecutive indices.
    pub quads_of_ids: bool,
    /// True if derivatives may stand where control flow is uniform in the quad only (`QuadDerivativesKHR`).
    pub quad_derivatives: bool,
    /// Locations that a fragment shader has flat inputs at.
    pub inputs: Vec<u32>,
    /// The strongest tier that the execution modes ask for.
    pub tier: Tier,
    /// Buffers and other resources.
    pub bindings: Vec<Binding>,
    /// Bytes of push constants.
    pub push_size: u64,
    /// Specialisation constants of the module.
    pub spec_constants: Vec<SpecConstant>,
}

/// True for the stages that run in workgroups.
pub(crate) fn has_workgroups(stage: spirv::ExecutionModel) -> bool {
    use spirv::ExecutionModel as M;
    matches!(stage, M::GLCompute | M::TaskEXT | M::MeshEXT)
}

impl Interface {
    /// True if it is run for a [`Draw`](crate::draw::Draw), and has no workgroups.
    pub fn is_of_draw(&self) -> bool {
        !has_workgroups(self.stage)
    }
}

/// A module that was read.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) source: Source,
}

impl Module {
    /// Reads the words of a module.
    ///
    /// # Errors
    /// [`Error::Parse`] if they are no SPIR-V by its grammar (SPIR-V 1.6 §2.3, §2.4).
    pub fn parse(words: &[u32]) -> Result<Module, Error> {
        Ok(Module { source: read(words)? })
    }

    /// Names and execution models of the entry points.
    pub fn entry_points(&self) -> Vec<(String, spirv::ExecutionModel)> {
        let entries = self.source.section(&self.source.entry_points).filter_map(|entry| match entry.operands {
            &[Operand::ExecutionModel(model), Operand::IdRef(_), Operand::LiteralString(name), ..] => {
                Some((self.source.text(name).to_owned(), model))
            }
            _ => None,
        });
        entries.collect()
    }

    /// True if the module has an instruction with this opcode.
    pub fn uses(&self, opcode: Op) -> bool {
        self.source.uses(opcode)
    }
}
