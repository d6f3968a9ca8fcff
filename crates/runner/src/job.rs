//! What a device is asked to do: plain data, in memory, in JSON and between processes.
//!
//! A [`Job`] is one pipeline and the [`Launch`]es that run on it. Compiling is what costs on most drivers;
//! another launch of a compiled pipeline with other data is almost free, so one job may carry many.

use serde::{Deserialize, Serialize};

use crate::texel::{Image, TexelFormat};
use tangle_features::FeatureSet;
pub use tangle_program::case::Stage as ShaderStage;

/// One pipeline and its launches. The entry point is `main`, the local size is inside the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Name of the job among those of one device; comes back with its [`Outcome`](crate::Outcome).
    pub id: u64,
    /// The SPIR-V module; empty if there is source.
    #[serde(with = "crate::words::as_bytes")]
    pub spirv: Vec<u32>,
    /// Its stage, and what stands around it.
    pub pipeline: Pipeline,
    /// A shader for the device's own front end, instead of a module: GLSL for OpenGL, WGSL for WebGPU.
    pub source: Option<Box<Source>>,
    /// Subgroup size demanded through `VkPipelineShaderStageRequiredSubgroupSizeCreateInfo`.
    pub required_subgroup_size: Option<u32>,
    /// Flags of the shader stage.
    pub subgroup_flags: SubgroupFlags,
    /// Whether the driver may optimise.
    pub optimisation: Optimisation,
    /// Specialisation constants as (constant id, 32-bit value).
    pub specialization: Vec<(u32, u32)>,
    /// Bindings to whose texels atomics are applied.
    pub texel_atomics: Vec<u32>,
    /// What the job needs beyond what its module declares. The worker adds to it what it reads in the module itself:
    /// capabilities, extensions and SPIR-V version.
    pub features: FeatureSet,
    /// What to run, one after the other, each with its own buffers. All launches of one job have the same bindings and
    /// the same number of push-constant bytes, because they share the pipeline layout.
    pub launches: Vec<Launch>,
}

/// The stage of a job's module, and what its pipeline has beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pipeline {
    /// A compute pipeline, of the job's module alone.
    #[default]
    Compute,
    /// A graphics pipeline whose task shader the module is. Nothing is rasterised.
    Task {
        /// The mesh shader. It sees the buffers of the launch.
        mesh: Box<Module>,
    },
    /// A graphics pipeline whose mesh shader the module is. Nothing is rasterised.
    Mesh {
        /// The task shader that emits its workgroups, if there is one. It uses no buffer.
        task: Option<Box<Module>>,
    },
    /// A graphics pipeline whose fragment shader the module is.
    Fragment(Box<Raster>),
    /// A graphics pipeline whose module is of a stage before rasterisation, which does not take place.
    Items(Box<ItemPipeline>),
}

/// What stands around a stage before rasterisation. A launch has as many vertices as it has [workgroups](Launch::groups) in x, and instances in y.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemPipeline {
    /// The stage of the module.
    pub stage: ShaderStage,
    /// The other stages. They use no buffer.
    pub beside: Vec<(ShaderStage, Module)>,
    /// True if each vertex is a patch, and not a point.
    pub patches: bool,
}

/// What fragments come from: triangles, three vertices each, as many vertices as a launch has [workgroups](Launch::groups) in x, and instances in y.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raster {
    /// The vertex shader. It reads buffers of the launch, and writes none.
    pub vertex: Module,
    /// Width of the framebuffer, which has no attachments.
    pub width: u32,
    /// Height of the framebuffer, pixels.
    pub height: u32,
    /// Layers of the framebuffer.
    pub layers: u32,
    /// Samples of a pixel.
    pub samples: u32,
}

impl Default for Raster {
    fn default() -> Raster {
        Raster { vertex: Module::default(), width: 1, height: 1, layers: 1, samples: 1 }
    }
}

/// A module beside that of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module(#[serde(with = "crate::words::as_bytes")] pub Vec<u32>);

impl Pipeline {
    /// The stage of the job's module.
    pub const fn stage(&self) -> ShaderStage {
        match self {
            Pipeline::Compute => ShaderStage::Compute,
            Pipeline::Task { .. } => ShaderStage::Task,
            Pipeline::Mesh { .. } => ShaderStage::Mesh,
            Pipeline::Fragment(_) => ShaderStage::Fragment,
            Pipeline::Items(items) => items.stage,
        }
    }

    /// True if there are fragments.
    pub const fn rasterises(&self) -> bool {
        match self {
            Pipeline::Compute | Pipeline::Task { .. } | Pipeline::Mesh { .. } | Pipeline::Items(_) => false,
            Pipeline::Fragment(_) => true,
        }
    }

    /// The other modules of the pipeline, with their stages.
    pub fn beside(&self) -> Vec<(ShaderStage, &[u32])> {
        match self {
            Pipeline::Compute => Vec::new(),
            Pipeline::Mesh { task } => task.iter().map(|task| (ShaderStage::Task, task.0.as_slice())).collect(),
            Pipeline::Items(items) => {
                items.beside.iter().map(|(stage, module)| (*stage, module.0.as_slice())).collect()
            }
            Pipeline::Task { mesh } => vec![(ShaderStage::Mesh, mesh.0.as_slice())],
            Pipeline::Fragment(raster) => vec![(ShaderStage::Vertex, raster.vertex.0.as_slice())],
        }
    }
}

/// A shader for a front end that is part of a driver, or of a runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The text of the shader, GLSL or WGSL.
    pub text: String,
    /// Invocations of a workgroup in x, y, z, as the text says.
    pub local_size: [u32; 3],
    /// The texts of the shaders beside it, where the pipeline has others: its modules are empty then.
    pub beside: Vec<(ShaderStage, String)>,
}

/// Flags of the shader stage that concern subgroups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubgroupFlags {
    /// `VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT`.
    pub require_full: bool,
    /// `VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT`; SPIR-V 1.6 implies it.
    pub allow_varying_size: bool,
}

/// Whether the driver may optimise the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Optimisation {
    /// As the driver does by default.
    #[default]
    Default,
    /// `VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT`.
    Disabled,
}

/// One dispatch or draw with its data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Workgroups in x, y, z.
    pub groups: [u32; 3],
    /// Push constants, a multiple of 4 bytes.
    pub push_constants: Vec<u8>,
    /// Buffers of descriptor set 0. Those of one binding stand behind one another: they are the elements of an array of descriptors.
    pub buffers: Vec<Buffer>,
    /// Where the device addresses of buffers are written before the launch, since only the device knows them.
    pub addresses: Vec<Address>,
}

impl Launch {
    /// The buffers whose device address counts, by their place in [`Launch::buffers`].
    pub fn addressed(&self) -> impl Iterator<Item = usize> + '_ {
        let numbered = self.buffers.iter().enumerate();
        numbered.filter(|(_, buffer)| buffer.kind == BufferKind::Addressed).map(|(index, _)| index)
    }

    /// The launch with device addresses written where they belong, given those of the [`Launch::addressed`] buffers. What lies outside of the contents
    /// is left out ([`crate::check`] refuses it).
    #[must_use]
    pub fn placed(&self, addresses: &[u64]) -> Launch {
        let mut launch = self.clone();
        let of_buffer: Vec<(usize, u64)> = self.addressed().zip(addresses.iter().copied()).collect();
        for Address { place, word, buffer, offset } in &self.addresses {
            let Some((_, base)) = of_buffer.iter().find(|(index, _)| *index == *buffer as usize) else { continue };
            let address = base.wrapping_add(*offset);
            let first = *word as usize;
            match place {
                Place::PushConstants => {
                    let bytes =
                        first.checked_mul(4).and_then(|at| launch.push_constants.get_mut(at..at.checked_add(8)?));
                    if let Some(bytes) = bytes {
                        bytes.copy_from_slice(&address.to_le_bytes());
                    }
                }
                Place::Buffer(index) => {
                    if let Some(Init::Data(words)) = launch.buffers.get_mut(*index as usize).map(|b| &mut b.init)
                        && let Some([low, high]) = words.get_mut(first..).and_then(<[u32]>::first_chunk_mut)
                    {
                        (*low, *high) = (address as u32, (address >> 32) as u32);
                    }
                }
            }
        }
        launch
    }
}

/// Two words that hold the device address of a buffer, or one in it, the lower half first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// What they are in.
    pub place: Place,
    /// The first of the two, in words of 4 bytes.
    pub word: u32,
    /// Whose address it is: a place in [`Launch::buffers`], of a buffer that is [`BufferKind::Addressed`].
    pub buffer: u32,
    /// Bytes from the beginning of that buffer.
    pub offset: u64,
}

/// What of a launch an address is written into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// The push constants of the launch.
    PushConstants,
    /// The buffer at this place in [`Launch::buffers`], which has given contents.
    Buffer(u32),
}

/// One buffer of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Binding in descriptor set 0; of no meaning if it is [`BufferKind::Addressed`].
    pub binding: u32,
    /// What the shader sees it as.
    pub kind: BufferKind,
    /// What is in it before the dispatch; also says how large it is.
    pub init: Init,
    /// Whether its contents come back, and how.
    pub read_back: ReadBackMode,
}

/// What a shader sees a buffer as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BufferKind {
    /// `buffer` block: a storage buffer.
    Storage,
    /// `uniform` block: a uniform buffer.
    Uniform,
    /// `imageBuffer` and its like.
    StorageTexels(TexelFormat),
    /// `textureBuffer`, `samplerBuffer`: a uniform texel buffer.
    UniformTexels(TexelFormat),
    /// `image2D` and its like. The buffer holds the texels; zeros fill it up to a whole word.
    StorageImage(Image),
    /// `texture2D` and its like, which has its texels as [`BufferKind::StorageImage`] does.
    SampledImage(Image),
    /// `sampler2D` and its like: the same with a sampler.
    CombinedImageSampler(Image),
    /// `sampler`: it takes the nearest texel, and clamps to the edge. The buffer is empty.
    Sampler,
    /// No descriptor names the buffer: its device address is somewhere in the launch ([`Launch::addresses`]).
    Addressed,
}

impl BufferKind {
    /// The image that a descriptor names.
    pub const fn image(&self) -> Option<&Image> {
        match self {
            BufferKind::StorageImage(image)
            | BufferKind::SampledImage(image)
            | BufferKind::CombinedImageSampler(image) => Some(image),
            BufferKind::Storage
            | BufferKind::Uniform
            | BufferKind::StorageTexels(_)
            | BufferKind::UniformTexels(_)
            | BufferKind::Sampler
            | BufferKind::Addressed => None,
        }
    }
}

/// Contents of a buffer before the dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Init {
    /// These words, as many as the buffer has.
    Data(#[serde(with = "crate::words::as_bytes")] Vec<u32>),
    /// So many words, each zero.
    Zero {
        /// How many words of 4 bytes.
        words: u64,
    },
}

impl Init {
    /// Size of the buffer in words of 4 bytes.
    pub fn words(&self) -> u64 {
        match self {
            Init::Data(words) => words.len() as u64,
            Init::Zero { words } => *words,
        }
    }
}

/// Whether the contents of a buffer come back after the dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadBackMode {
    /// They do not come back.
    None,
    /// All of it, less the zeros at its end.
    Whole,
    /// Cut into slices of this many words, each less the zeros at its end.
    Slices(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_survives_both_encodings() {
        let buffer =
            |binding, init| Buffer { binding, kind: BufferKind::Storage, init, read_back: ReadBackMode::Slices(8) };
        let job = Job {
            id: 7,
            spirv: vec![0x0723_0203, 0x0001_0300],
            required_subgroup_size: Some(8),
            specialization: vec![(0, 1)],
            launches: vec![Launch {
                groups: [1, 2, 3],
                push_constants: vec![1, 2, 3, 4],
                buffers: vec![
                    buffer(0, Init::Zero { words: 64 }),
                    buffer(1, Init::Data(vec![1, 2])),
                    Buffer { kind: BufferKind::StorageImage(Image::ONE), ..buffer(2, Init::Data(vec![1])) },
                    Buffer { kind: BufferKind::Addressed, ..buffer(0, Init::Data(vec![1])) },
                ],
                addresses: vec![Address { place: Place::Buffer(1), word: 0, buffer: 3, offset: 4 }],
            }],
            ..Job::default()
        };
        let binary = postcard::to_stdvec(&job).unwrap();
        assert_eq!(postcard::from_bytes::<Job>(&binary).unwrap(), job);
        let json = serde_json::to_string(&job).unwrap();
        assert_eq!(serde_json::from_str::<Job>(&json).unwrap(), job);
    }

    #[test]
    fn addresses_are_written_where_they_belong() {
        let buffer = |kind, words: &[u32]| Buffer {
            binding: 0,
            kind,
            init: Init::Data(words.to_vec()),
            read_back: ReadBackMode::Whole,
        };
        let address = |place, word, buffer, offset| Address { place, word, buffer, offset };
        let launch = Launch {
            push_constants: vec![0; 12],
            buffers: vec![
                buffer(BufferKind::Addressed, &[5, 5, 5]),
                buffer(BufferKind::Storage, &[6, 6, 6]),
                buffer(BufferKind::Addressed, &[7]),
            ],
            addresses: vec![
                address(Place::PushConstants, 1, 2, 4),
                address(Place::Buffer(1), 0, 0, 0),
                // What does not fit, or is of no such buffer, is left out.
                address(Place::Buffer(1), 2, 0, 0),
                address(Place::Buffer(9), 0, 0, 0),
                address(Place::PushConstants, u32::MAX, 0, 0),
                address(Place::PushConstants, 0, 1, 0),
            ],
            ..Launch::default()
        };
        let placed = launch.placed(&[0x1_0000_0002, 0x3_0000_0004]);
        assert_eq!(placed.push_constants, [0, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0]);
        let words: Vec<_> = placed.buffers.iter().map(|buffer| buffer.init.clone()).collect();
        assert_eq!(words, [Init::Data(vec![5, 5, 5]), Init::Data(vec![2, 1, 6]), Init::Data(vec![7])]);
        // Without addresses nothing is written.
        assert_eq!(launch.placed(&[]), launch);
    }
}
