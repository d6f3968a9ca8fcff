//! What a case may contain: the device's limits, and how large a program should be.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tangle_program::case::{DerivativeGroup, Draw, FloatControls, SpirvVersion, Stage, Tier};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Category, SubgroupOp};
use tangle_program::types::Scalar;

use crate::profile::Profile;
pub use crate::size::Size;

/// Everything [`generate`](crate::generate) must respect. The default suits a device with every feature and a subgroup size of at
/// least 4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What kind of programs to make.
    pub profile: Profile,
    /// The stage of the shaders.
    pub stage: Stage,
    /// The convergence rules programs ask for; decides where results may steer control flow.
    pub tier: Tier,
    /// Categories of subgroup operations the device supports. Without [`Category::Basic`] and [`Category::Ballot`] a program
    /// has little to say.
    pub categories: BTreeSet<Category>,
    /// Operations of these categories that the device does not have. None is chosen as an operation, but what is built around others may
    /// still contain one.
    pub without: BTreeSet<SubgroupOp>,
    /// Types the device supports, in subgroup operations as elsewhere. Bool, int, uint and float are used in any case.
    pub scalars: BTreeSet<Scalar>,
    /// The smallest subgroup size the device may choose when none is required (`minSubgroupSize`). Cluster sizes stay
    /// within it.
    pub min_subgroup_size: u32,
    /// The largest size that it may choose (`maxSubgroupSize`).
    pub max_subgroup_size: u32,
    /// Sizes that pipelines may require; empty if the device cannot.
    pub required_sizes: Vec<u32>,
    /// The derivative groups that workgroups may have.
    pub derivative_groups: Vec<DerivativeGroup>,
    /// Whether task shaders may hand payloads to mesh shaders (`taskShader`).
    pub payloads: bool,
    /// Whether framebuffers may have several layers (`shaderOutputLayer`, `geometryShader`).
    pub layers: bool,
    /// The numbers of samples that pixels may have, 1 among them (`sampleRateShading`).
    pub sample_counts: Vec<u32>,
    /// Whether pipelines may ask for full subgroups (`computeFullSubgroups`).
    pub full_subgroups: bool,
    /// Whether pipelines may allow varying subgroup sizes (`subgroupSizeControl`).
    pub varying_size: bool,
    /// Whether the lane operand of `subgroupBroadcast` may be other than a literal, from SPIR-V 1.5
    /// (`subgroupBroadcastDynamicId`).
    pub broadcast_dynamic_id: bool,
    /// Whether atomics on 64-bit integers in shared memory may be used (`shaderSharedInt64Atomics`).
    pub shared_int64_atomics: bool,
    /// The sizes in bits below 32 that elements of arrays in buffers may have (`storageBuffer8BitAccess`, `storageBuffer16BitAccess`).
    pub narrow_storage: BTreeSet<u32>,
    /// Whether programs may give the compiler hints (`shaderExpectAssume`).
    pub expect_assume: bool,
    /// Whether fragments may be demoted (`shaderDemoteToHelperInvocation`).
    pub demote: bool,
    /// Whether fragments may be terminated (`shaderTerminateInvocation`).
    pub terminate: bool,
    /// Whether there are integer dot products (`shaderIntegerDotProduct`).
    pub dot_product: bool,
    /// Whether there are remainders of negative numbers (`maintenance8`).
    pub signed_remainders: bool,
    /// The modes of floats that there are, beside their types (`VkPhysicalDeviceFloatControlsProperties`).
    pub float_controls: FloatControls,
    /// The classes of arrays of descriptors that may be indexed, by what differs between invocations, too (descriptor indexing).
    pub resources: BTreeSet<ResourceClass>,
    /// Whether there are push constants: modules for OpenGL have none (ARB_gl_spirv).
    pub push_constants: bool,
    /// Whether workgroup sizes may be specialised from SPIR-V 1.6 on (`maintenance4`).
    pub local_size_id: bool,
    /// SPIR-V versions to choose from, those that have the stage; not empty.
    pub spirv: Vec<SpirvVersion>,
    /// Largest local size in x, y, z.
    pub max_workgroup: [u32; 3],
    /// Most invocations in a workgroup.
    pub max_invocations: u32,
    /// Most subgroups in a workgroup if a size is required (`maxComputeWorkgroupSubgroups`).
    pub max_workgroup_subgroups: u32,
    /// Most workgroups in the dispatch.
    pub max_workgroups: u32,
    /// How large programs are; `None` leaves it to the profile.
    pub size: Option<Size>,
    /// How much programs log; `None` draws it for every case.
    pub density: Option<Density>,
    /// The number of the program in its sequence, by which every operation gets its turn with every type. `None` leaves that to chance.
    pub turn: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            profile: Profile::Default,
            stage: Stage::Compute,
            tier: Tier::Maximal,
            categories: Category::ALL.into(),
            without: BTreeSet::new(),
            scalars: Scalar::ALL.into(),
            min_subgroup_size: 4,
            max_subgroup_size: 128,
            required_sizes: Vec::new(),
            derivative_groups: DerivativeGroup::ALL.to_vec(),
            payloads: true,
            layers: true,
            sample_counts: Draw::SAMPLES.to_vec(),
            full_subgroups: false,
            varying_size: false,
            broadcast_dynamic_id: true,
            shared_int64_atomics: true,
            narrow_storage: [8, 16].into(),
            expect_assume: true,
            demote: true,
            terminate: true,
            dot_product: true,
            signed_remainders: true,
            float_controls: FloatControls::ALL,
            resources: ResourceClass::ALL.into(),
            push_constants: true,
            local_size_id: true,
            spirv: SpirvVersion::ALL.into(),
            max_workgroup: [1024, 1024, 64],
            max_invocations: 1024,
            max_workgroup_subgroups: 32,
            max_workgroups: 3,
            size: None,
            density: None,
            turn: None,
        }
    }
}

/// How much a program logs. Stores hide optimiser bugs and take some drivers much time, so that most of the cases log very little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Density {
    /// After nearly every statement.
    Dense,
    /// After about half of the operations and after every loop.
    Medium,
    /// After loops and here and there.
    Sparse,
    /// A hash of the variables at the end of `main`.
    Final,
}

impl Density {
    /// Every density, most entries first.
    pub const ALL: [Density; 4] = [Density::Dense, Density::Medium, Density::Sparse, Density::Final];
}
