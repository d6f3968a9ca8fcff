//! What a device can run, in the terms of the test-case language.

use std::collections::BTreeSet;

use tangle_analysis::validate::MAX_WORKGROUP;
use tangle_compilers::{Compiler, Found};
use tangle_emit::glsl::Dialect;
use tangle_emit::glsl::spelling::{self, TypeName, in_arb};
use tangle_features::{for_category, for_float_control, for_resource, for_scalar, for_stage, for_tier, needs};
use tangle_generator::Config;
use tangle_oracle::map::SubgroupPromise;
use tangle_program::api::Api;
use tangle_program::case::{Case, DerivativeGroup, Draw, FloatControls, SpirvVersion, Stage, SubgroupSize, Tier};
use tangle_program::resource::{MAX_RESOURCES, ResourceClass};
use tangle_program::subgroup::{Category, SubgroupOp, TABLE};
use tangle_program::tree::{Builtin, Expr, Stmt, walk_block};
use tangle_program::types::Scalar;
use tangle_program::variant::{FrontEnd, Language};
use tangle_runner::{DeviceInfo, DeviceType, Feature, FeatureSet, Limits, Subgroups};

/// What a device can run.
#[derive(Clone, Debug, PartialEq)]
pub struct Capabilities {
    /// The sizes that it promises, in lanes: the default, the smallest and the largest.
    pub sizes: SubgroupPromise,
    /// The stages in which a pipeline may require a size.
    pub required_size: Vec<Stage>,
    /// True if quad operations are in all stages with subgroups, not only in compute and fragment shaders
    /// (`quadOperationsInAllStages`).
    pub quads_everywhere: bool,
    /// Most subgroups in a workgroup when a size is required.
    pub max_workgroup_subgroups: u32,
    /// The features that it has of those that shaders may need, whatever its API.
    pub features: FeatureSet,
    /// The newest version of SPIR-V that it takes.
    pub max_spirv: SpirvVersion,
    /// Limits of compute work.
    pub limits: Limits,
    /// Whose GLSL it takes, or WGSL.
    pub dialect: Dialect,
    /// True of a GPU, which processes share; a driver that runs on the processors has one of its own in each.
    pub is_gpu: bool,
    /// True of a device that says it is a GPU, or may be one behind OpenGL: a lane map that is wrong there has to occur again alone.
    pub may_be_disturbed: bool,
    /// Whether it takes modules, where it takes GLSL: SPIR-V 1.3 with subgroup operations (KHR_shader_subgroup, changes to section C.1).
    pub takes_modules: bool,
    /// True if a task shader hands a payload to mesh shaders.
    pub payloads: bool,
    /// True if its driver runs with settings that it has for debugging only.
    pub debug_settings: bool,
}

/// The front end of WebGPU's cases: Dawn's compiler, whose module is made, too, so that a fault of it is seen by itself.
pub fn webgpu_front_end() -> FrontEnd {
    FrontEnd { language: Language::Wgsl, compiler: "tint".into() }
}

/// Whose GLSL a device takes, or WGSL.
pub fn dialect(info: &DeviceInfo) -> Dialect {
    if info.webgpu.is_some() {
        return Dialect::Wgsl;
    }
    match info.opengl.as_ref().map(|opengl| opengl.subgroups) {
        None => Dialect::Vulkan,
        Some(Subgroups::Khr | Subgroups::None) => Dialect::OpenGl,
        Some(Subgroups::Arb) => Dialect::OpenGlArb,
    }
}

/// What is missing where [`Capabilities::payloads`] is false.
pub(crate) const PAYLOADS: &str = "payloads of task shaders";

impl Capabilities {
    /// What is left of it for modules of a compiler.
    pub fn through(&self, compiler: &Compiler, found: &Found) -> Capabilities {
        let without: FeatureSet = compiler.without(found).collect();
        Capabilities { features: self.features.without(without), ..self.clone() }
    }

    /// What a device of a driver can run.
    pub fn of(info: &DeviceInfo) -> Capabilities {
        let subgroup = &info.subgroup;
        let own = Capabilities {
            sizes: SubgroupPromise {
                api: info.api(),
                default: subgroup.size,
                min: subgroup.min_size,
                max: subgroup.max_size,
            },
            required_size: Stage::ALL
                .into_iter()
                .filter(|&stage| match stage {
                    Stage::Compute => subgroup.required_size_in_compute,
                    stage => subgroup.required_size_stages.iter().any(|name| name == stage.name()),
                })
                .collect(),
            quads_everywhere: subgroup.quad_operations_in_all_stages,
            max_workgroup_subgroups: subgroup.max_compute_workgroup_subgroups,
            features: info.features,
            max_spirv: info.max_spirv,
            limits: info.limits,
            dialect: dialect(info),
            is_gpu: info.device_type != DeviceType::Cpu,
            may_be_disturbed: match info.device_type {
                DeviceType::IntegratedGpu | DeviceType::DiscreteGpu | DeviceType::VirtualGpu => true,
                DeviceType::Other => info.api() != Api::Vulkan,
                DeviceType::Cpu => false,
            },
            takes_modules: info
                .opengl
                .as_ref()
                .is_none_or(|opengl| opengl.takes_spirv && opengl.subgroups == Subgroups::Khr),
            payloads: true,
            debug_settings: info.debug,
        };
        match tangle_compilers::row(&webgpu_front_end()).filter(|_| info.api() == Api::WebGpu) {
            Some(tint) => own.through(tint, &Found::default()),
            None => own,
        }
    }

    /// The interface that it is driven by.
    pub const fn api(&self) -> Api {
        self.sizes.api
    }

    /// True of a device of WebGPU.
    fn is_webgpu(&self) -> bool {
        self.api() == Api::WebGpu
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
            max_storage_buffers: u32::MAX,
            max_uniform_buffers: u32::MAX,
            max_storage_images: u32::MAX,
            sample_counts: Draw::SAMPLES.iter().sum(),
            ..Limits::default()
        };
        let (task, mesh) = (limits.workgroups(Stage::Compute), limits.workgroups(Stage::Compute));
        let limits = Limits { task, mesh, ..limits };
        Capabilities {
            sizes: SubgroupPromise::vulkan(size, size.min(4), 128),
            required_size: Stage::ALL.into(),
            quads_everywhere: true,
            max_workgroup_subgroups: 1024,
            features,
            max_spirv: SpirvVersion::V1_6,
            limits,
            dialect: Dialect::Vulkan,
            is_gpu: false,
            may_be_disturbed: false,
            takes_modules: true,
            payloads: true,
            debug_settings: false,
        }
    }

    /// The same in shaders that are executed by themselves: without payloads, which two of them show.
    pub fn of_interpreter(size: u32) -> Capabilities {
        let mut capabilities = Capabilities::reference(size);
        capabilities.payloads = false;
        capabilities
    }

    /// True if the device offers the tier.
    pub fn offers(&self, tier: Tier) -> bool {
        self.has_all(for_tier(tier))
    }

    /// True if the device offers the stage.
    pub fn offers_stage(&self, stage: Stage) -> bool {
        let has_quads = stage != Stage::Fragment || self.sizes.min >= 4;
        let has_groups = self.limits.workgroups(stage).max_invocations > 0;
        // OpenGL has its own front end.
        let has_version = self.max_spirv >= stage.first_spirv() || self.dialect.is_opengl();
        self.has_all(for_stage(stage)) && has_version && has_quads && has_groups
    }

    /// Whether the device has the category in a stage.
    fn has_category(&self, category: Category, stage: Stage) -> bool {
        if category == Category::Derivative {
            return stage == Stage::Fragment && !self.dialect.is_opengl();
        }
        let is_quad = matches!(category, Category::Quad | Category::QuadControl);
        self.has_all(for_category(category))
            && (!is_quad || self.quads_everywhere || matches!(stage, Stage::Compute | Stage::Fragment))
    }

    fn has_all(&self, features: FeatureSet) -> bool {
        features.without(self.features).is_empty()
    }

    /// What the device lacks for a case; empty if it can run it.
    pub fn missing(&self, case: &Case) -> Vec<String> {
        let needs = needs(case);
        let lacking = needs.features.without(self.features);
        let mut missing: Vec<String> = lacking.rows().map(|row| row.name_in(self.api()).into_owned()).collect();
        let stage = case.entry_point.stage;
        let quads = needs.features.contains(Feature::SubgroupQuad) || needs.features.contains(Feature::QuadControl);
        if quads && !self.has_category(Category::Quad, stage) && self.has_all(for_category(Category::Quad)) {
            missing.push(format!("quad operations in {} shaders (quadOperationsInAllStages)", stage.name()));
        }
        let least = if stage == Stage::Fragment { needs.min_subgroup_size.max(4) } else { needs.min_subgroup_size };
        if !self.payloads && case.entry_point.payload_copies() > 0 {
            missing.push(PAYLOADS.into());
        }
        self.missing_sizes(case, least, &mut missing);
        self.missing_limits(case, &mut missing);
        self.missing_in_opengl(case, &mut missing);
        if self.dialect == Dialect::Wgsl && !case.variant.then().is_unoptimised() && case.variant.front_end().is_some()
        {
            missing.push(format!("{} (WebGPU takes WGSL)", case.variant.then()));
        }
        missing
    }

    /// The smallest subgroup size that a launch can get.
    fn smallest_size(&self, case: &Case) -> u32 {
        match case.entry_point.subgroup_size {
            SubgroupSize::Required(size) => size,
            SubgroupSize::Default if case.entry_point.spirv < SpirvVersion::V1_6 && !self.is_webgpu() => {
                self.sizes.default
            }
            _ => self.sizes.min,
        }
    }

    /// True if subgroups, and the samples of pixels, can be launched as a case asks.
    pub(crate) fn has_sizes_of(&self, case: &Case) -> bool {
        let mut missing = Vec::new();
        self.missing_sizes(case, 0, &mut missing);
        missing.is_empty()
    }

    fn missing_sizes(&self, case: &Case, needed: u32, missing: &mut Vec<String>) {
        let SubgroupPromise { default, min, max, .. } = self.sizes;
        let x = case.entry_point.workgroups().size[0];
        let mut multiple_of = None;
        match case.entry_point.subgroup_size {
            SubgroupSize::Required(_) if !self.required_size.contains(&case.entry_point.stage) => {
                missing.push("a required subgroup size".into());
            }
            SubgroupSize::Required(size) => {
                if !(min..=max).contains(&size) {
                    missing.push(format!("subgroup size {size} (has {min} to {max})"));
                }
                // VUID-VkPipelineShaderStageCreateInfo-pNext-02756
                let has_workgroups = case.entry_point.stage.has_workgroups();
                let most = size.saturating_mul(self.max_workgroup_subgroups);
                if has_workgroups && case.entry_point.group_size() > most {
                    missing.push(format!("more than {} subgroups in a workgroup", self.max_workgroup_subgroups));
                }
                multiple_of = Some(size);
            }
            SubgroupSize::Varying if self.is_webgpu() => missing.push("varying subgroup sizes (not in WebGPU)".into()),
            SubgroupSize::Varying => multiple_of = Some(max),
            SubgroupSize::Default => multiple_of = Some(default),
        }
        // VUID-VkPipelineShaderStageCreateInfo-flags-02757, 02758, 02759. In WebGPU subgroups of a required size are full.
        let is_required = matches!(case.entry_point.subgroup_size, SubgroupSize::Required(_));
        let full = case.entry_point.full_subgroups || is_required && self.is_webgpu();
        if let Some(size) = multiple_of.filter(|&size| full && size > 0 && !x.is_multiple_of(size)) {
            missing.push(format!("full subgroups with a workgroup x that is no multiple of {size}"));
        }
        let samples = case.entry_point.draw().map_or(1, |draw| draw.samples);
        if !self.limits.has_samples(samples) {
            missing.push(format!("{samples} samples at the standard locations"));
        }
        if self.smallest_size(case) < needed {
            missing.push(format!("a subgroup size of at least {needed} (may be {})", self.smallest_size(case)));
        }
    }

    /// True if there is room for the longest array of descriptors of a class beside a shader's other buffers, and beside an array of the other
    /// class of images.
    fn has_room_for(&self, class: ResourceClass) -> bool {
        /// Lane map, log, arrays in memory, inputs, corners.
        const STORAGE_BUFFERS: u32 = 5;
        let most = MAX_RESOURCES as u32;
        match class {
            ResourceClass::StorageBuffer => self.limits.max_storage_buffers >= STORAGE_BUFFERS + most,
            ResourceClass::UniformBuffer => self.limits.max_uniform_buffers > most,
            ResourceClass::StorageTexelBuffer | ResourceClass::StorageImage => {
                self.limits.max_storage_images >= 2 * most
            }
        }
    }

    fn missing_limits(&self, case: &Case, missing: &mut Vec<String>) {
        let limits = &self.limits;
        let is_source = self.dialect.is_opengl() && case.variant.may_be_text();
        if case.entry_point.spirv > self.max_spirv && !is_source {
            missing.push(format!("SPIR-V {}", case.entry_point.spirv));
        }
        let of_stage = limits.workgroups(case.entry_point.stage);
        if case.entry_point.group_size() > of_stage.max_invocations {
            missing.push(format!("workgroups of {} invocations", case.entry_point.group_size()));
        }
        let too_large =
            |wanted: [u32; 3], limit: [u32; 3]| wanted.iter().zip(limit).any(|(&wanted, most)| wanted > most);
        if too_large(case.entry_point.workgroups().size, of_stage.max_size) {
            missing.push(format!(
                "a workgroup of {:?} (has {:?})",
                case.entry_point.workgroups().size,
                of_stage.max_size
            ));
        }
        if too_large(case.entry_point.workgroups().count, of_stage.max_count) {
            missing.push(format!(
                "{:?} workgroups (has {:?})",
                case.entry_point.workgroups().count,
                of_stage.max_count
            ));
        }
        if case.entry_point.groups() > of_stage.max_total_count {
            missing.push(format!("{} workgroups together", case.entry_point.groups()));
        }
        if case.data.push.len() * 4 > limits.max_push_constants_size as usize {
            missing.push(format!("{} bytes of push constants", case.data.push.len() * 4));
        }
    }

    /// What OpenGL does not have of a case (docs/opengl.md).
    fn missing_in_opengl(&self, case: &Case, missing: &mut Vec<String>) {
        if !self.dialect.is_opengl() {
            return;
        }
        if !case.variant.may_be_text() {
            if !self.takes_modules {
                missing.push("modules with subgroup operations (ARB_gl_spirv and KHR_shader_subgroup)".into());
            }
            // ARB_gl_spirv, "Non-acceptance of SPIR-V features, relative to Vulkan".
            if !case.data.push.is_empty() {
                missing.push("push constants of a module (not in OpenGL)".into());
            }
        }
        if has_derivative(case) {
            missing.push("derivatives, of which OpenGL promises no value".into());
        }
        if self.dialect == Dialect::OpenGlArb {
            missing.extend(missing_in_arb(case));
        }
    }

    /// What the generator may use for this device in a stage at a tier.
    pub fn config(&self, stage: Stage, tier: Tier) -> Config {
        let has = |feature| self.features.contains(feature);
        let categories = Category::ALL.into_iter().filter(|&category| self.has_category(category, stage));
        // A program that uses a type uses it in subgroup operations, too.
        let scalars = Scalar::ALL.into_iter().filter(|&scalar| self.has_all(for_scalar(scalar)));
        let sizes = self.sizes;
        let powers = (0..8).map(|n| 1u32 << n).filter(|size| (sizes.min..=sizes.max).contains(size));
        let limits = self.limits.workgroups(stage);
        // At the weaker tiers helpers may be considered inactive at one operation and active at the next: what has to be uniform for all
        // lanes of an operation is then not known to be (rule H3).
        // Without workgroups nothing says at tier plain that a subgroup comes together again (rule I4).
        let loose = match stage {
            Stage::Fragment => tier != Tier::Maximal,
            stage => !stage.has_workgroups() && tier == Tier::Plain,
        };
        let categories = categories.filter(move |category| {
            !loose || !matches!(category, Category::Rotate | Category::RotateClustered | Category::Partitioned)
        });
        let powers = powers.filter(move |&size| stage != Stage::Fragment || size >= 4);
        let [x, y, z] = limits.max_size;
        Config {
            stage,
            tier,
            categories: categories.collect(),
            without: match self.dialect {
                Dialect::Vulkan | Dialect::OpenGl | Dialect::Hlsl | Dialect::Slang | Dialect::Wgsl => BTreeSet::new(),
                Dialect::OpenGlArb => TABLE.iter().map(|info| info.op).filter(|op| in_arb(*op).is_none()).collect(),
            },
            scalars: scalars.collect(),
            push_constants: self.api() != Api::OpenGl || !self.takes_modules,
            min_subgroup_size: sizes.min,
            max_subgroup_size: sizes.max,
            required_sizes: if self.required_size.contains(&stage) { powers.collect() } else { Vec::new() },
            derivative_groups: [
                (DerivativeGroup::Quads, Feature::ComputeDerivativeGroupQuads),
                (DerivativeGroup::Linear, Feature::ComputeDerivativeGroupLinear),
            ]
            .into_iter()
            .filter_map(|(group, feature)| (stage == Stage::Compute && has(feature)).then_some(group))
            .collect(),
            full_subgroups: has(Feature::ComputeFullSubgroups) && stage.has_workgroups(),
            payloads: self.payloads && has(Feature::TaskShader),
            layers: has(Feature::ShaderOutputLayer) && has(Feature::GeometryShader),
            sample_counts: Draw::SAMPLES
                .into_iter()
                .filter(|&samples| self.limits.has_samples(samples))
                .filter(|&samples| samples == 1 || has(Feature::SampleRateShading))
                .collect(),
            demote: has(Feature::DemoteToHelperInvocation),
            terminate: has(Feature::TerminateInvocation),
            varying_size: has(Feature::SubgroupSizeControl) && !self.is_webgpu(),
            shared_int64_atomics: has(Feature::SharedInt64Atomics) && has(Feature::BufferInt64Atomics),
            narrow_storage: [(8, Feature::StorageBuffer8Bit), (16, Feature::StorageBuffer16Bit)]
                .into_iter()
                .filter_map(|(bits, feature)| has(feature).then_some(bits))
                .collect(),
            expect_assume: has(Feature::ExpectAssume),
            dot_product: has(Feature::IntegerDotProduct),
            signed_remainders: has(Feature::Maintenance8),
            float_controls: FloatControls::ALL
                .iter()
                .filter(|&(mode, scalar)| self.has_all(for_float_control(mode, scalar)))
                .fold(FloatControls::NONE, |all, (mode, scalar)| all.with(mode, scalar)),
            resources: ResourceClass::ALL
                .into_iter()
                .filter(|&class| self.has_all(for_resource(class)) && self.has_room_for(class))
                .collect(),
            local_size_id: has(Feature::Maintenance4),
            broadcast_dynamic_id: has(Feature::SubgroupBroadcastDynamicId) && !loose,
            // Where OpenGL takes no module of a stage, it takes its source.
            spirv: SpirvVersion::ALL
                .into_iter()
                .filter(|version| (stage.first_spirv()..=self.max_spirv.max(stage.first_spirv())).contains(version))
                .collect(),
            max_workgroup: [x, y, z].map(|side| side.min(MAX_WORKGROUP as u32)),
            max_invocations: limits.max_invocations.min(MAX_WORKGROUP as u32),
            max_workgroup_subgroups: self.max_workgroup_subgroups,
            ..Config::default()
        }
    }
}

fn has_derivative(case: &Case) -> bool {
    let mut found = false;
    for function in &case.program.functions {
        walk_block(&function.body, &mut |stmt| found |= stmt.direct_exprs().any(Expr::derives));
    }
    found
}

/// What a case has that ARB_shader_ballot and ARB_shader_group_vote do not.
pub fn missing_in_arb(case: &Case) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    let mut lacks = |what: String| {
        missing.insert(format!("{what} (not in ARB_shader_ballot)"));
    };
    for function in &case.program.functions {
        walk_block(&function.body, &mut |stmt| {
            if let Stmt::SubgroupBarrier(op) = stmt {
                lacks(op.info().name.into());
            }
            stmt.direct_exprs().for_each(|expr| {
                expr.walk(&mut |expr| match expr {
                    Expr::Subgroup(call) if in_arb(call.op).is_none() => lacks(call.op.info().name.into()),
                    Expr::Subgroup(call) => {
                        // The votes are of bools; what is read from an invocation is of genType, genIType or genUType.
                        let takes: &[Scalar] = match call.op {
                            SubgroupOp::All | SubgroupOp::Any | SubgroupOp::AllEqual | SubgroupOp::Ballot => {
                                &[Scalar::Bool]
                            }
                            _ => &[Scalar::Int, Scalar::Uint, Scalar::Float],
                        };
                        let ty = call.args.first().and_then(|arg| arg.ty(function));
                        if let Some(ty) =
                            ty.filter(|ty| !takes.contains(&ty.scalar) || takes == [Scalar::Bool] && ty.width > 1)
                        {
                            lacks(format!("{} of {}", call.op.info().name, TypeName(ty)));
                        }
                    }
                    Expr::Builtin(builtin @ (Builtin::SubgroupId | Builtin::NumSubgroups)) => {
                        lacks(spelling::builtin(*builtin).into())
                    }
                    _ => {}
                });
            });
        });
    }
    missing
}
