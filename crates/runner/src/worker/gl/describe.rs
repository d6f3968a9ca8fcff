//! Context → [`DeviceInfo`].

use glow::HasContext as _;
use tangle_features::{Feature, FeatureSet, OpenGl, TABLE};
use tangle_program::case::{SpirvVersion, Stage};

use super::context::Egl;
use super::draw::{self, Functions};
use super::failure::{Failure, check};
use super::program;
use crate::info::{
    ApiVersion, DeviceInfo, DeviceType, DriverMode, Limits, OpenGlInfo, SubgroupInfo, Subgroups, Uuid, WorkgroupLimits,
};
use crate::worker::vulkan::describe::OPERATIONS;

/// What KHR_shader_subgroup lets a program ask for.
const SUBGROUP_SIZE: u32 = 0x9532;
const SUBGROUP_SUPPORTED_STAGES: u32 = 0x9533;
const SUBGROUP_SUPPORTED_FEATURES: u32 = 0x9534;
const SUBGROUP_QUAD_ALL_STAGES: u32 = 0x9535;

/// What ARB_spirv_extensions lets a program ask for.
const SPIR_V_EXTENSIONS: u32 = 0x9553;
const NUM_SPIR_V_EXTENSIONS: u32 = 0x9554;

/// Limits of task and mesh shaders (EXT_mesh_shader): a workgroup's size, its invocations, workgroups in a dimension and together, shared memory.
const TASK: [u32; 5] = [0x975A, 0x9759, 0x9751, 0x9740, 0x9743];
const MESH: [u32; 5] = [0x9758, 0x9757, 0x9752, 0x9741, 0x9744];

/// `GL_DEVICE_UUID_EXT` (EXT_memory_object).
const DEVICE_UUID: u32 = 0x9597;

/// Compute among the stages (`GL_COMPUTE_SHADER_BIT`).
const COMPUTE: u32 = 0x20;

/// The bits of shader stages (OpenGL 4.6, §7.3; EXT_mesh_shader).
const STAGES: [(u32, Stage); 8] = [
    (0x01, Stage::Vertex),
    (0x08, Stage::TessellationControl),
    (0x10, Stage::TessellationEvaluation),
    (0x04, Stage::Geometry),
    (0x02, Stage::Fragment),
    (COMPUTE, Stage::Compute),
    (0x80, Stage::Task),
    (0x40, Stage::Mesh),
];

/// Bits of subgroup features that OpenGL has, the same as Vulkan's (KHR_shader_subgroup; GL_NV_shader_subgroup_partitioned).
const FEATURES: u32 = 0x1FF;

/// The extensions that are listed: those about subgroups, shaders' types and modules.
const LISTED: [&str; 14] = [
    "GL_KHR_shader_subgroup",
    "GL_ARB_shader_ballot",
    "GL_ARB_shader_group_vote",
    "GL_NV_shader_thread_group",
    "GL_NV_shader_thread_shuffle",
    "GL_NV_shader_subgroup_partitioned",
    "GL_ARB_gpu_shader_int64",
    "GL_NV_gpu_shader5",
    "GL_NV_shader_atomic_int64",
    "GL_ARB_shader_viewport_layer_array",
    "GL_EXT_demote_to_helper_invocation",
    "GL_EXT_mesh_shader",
    "GL_ARB_gl_spirv",
    "GL_ARB_spirv_extensions",
];

/// What the current context is.
///
/// # Errors
///
/// A line for a person if it cannot be asked, or has no compute shaders.
pub(super) fn describe(gl: &glow::Context, functions: &Functions, platform: &str) -> Result<DeviceInfo, String> {
    let version = gl.version();
    let api_version = ApiVersion { major: version.major, minor: version.minor, patch: 0 };
    if version.is_embedded || (version.major, version.minor) < (4, 5) {
        return Err(format!("{platform}: OpenGL {}.{}; shaders here need 4.5", version.major, version.minor));
    }
    let extensions = gl.supported_extensions();
    let has = |name: &str| extensions.contains(name);
    // SAFETY: the context is current, and core contexts have these strings.
    let text = |name: u32| unsafe { gl.get_parameter_string(name) };
    // SAFETY: as above; what a context does not know it does not write.
    let number = |name: u32| unsafe { gl.get_parameter_i32(name) }.max(0) as u32;
    let mut opengl = OpenGlInfo {
        platform: platform.to_owned(),
        vendor: text(glow::VENDOR),
        language: text(glow::SHADING_LANGUAGE_VERSION),
        subgroups: Subgroups::None,
        takes_spirv: has("GL_ARB_gl_spirv") || (version.major, version.minor) >= (4, 6),
        extensions: LISTED.into_iter().filter(|name| has(name)).map(str::to_owned).collect(),
        spirv_extensions: Vec::new(),
    };
    if has("GL_ARB_spirv_extensions") || (version.major, version.minor) >= (4, 6) {
        let count = number(NUM_SPIR_V_EXTENSIONS).min(1000);
        // SAFETY: the index is below the number of strings.
        let name = |index| unsafe { gl.get_parameter_indexed_string(SPIR_V_EXTENSIONS, index) };
        opengl.spirv_extensions = (0..count).map(name).collect();
    }
    let mut subgroup = SubgroupInfo::default();
    let mut features = FeatureSet::EMPTY;
    let language = Language::ask(gl, has("GL_ARB_shader_ballot")).map_err(|failure| match failure {
        Failure::Error { call, result } => format!("{platform}: {call}: {result}"),
        Failure::OutOfMemory { call } => format!("{platform}: {call}: GL_OUT_OF_MEMORY"),
        Failure::Lost => format!("{platform}: the context is lost"),
    })?;
    let (mut stages, mut operations) = (0, 0);
    if has("GL_KHR_shader_subgroup") {
        opengl.subgroups = Subgroups::Khr;
        (subgroup.size, stages, operations) =
            (number(SUBGROUP_SIZE), number(SUBGROUP_SUPPORTED_STAGES), number(SUBGROUP_SUPPORTED_FEATURES));
        // SAFETY: as above.
        subgroup.quad_operations_in_all_stages = unsafe { gl.get_parameter_bool(SUBGROUP_QUAD_ALL_STAGES) };
    } else if has("GL_ARB_shader_ballot") && language.subgroup_size > 0 {
        opengl.subgroups = Subgroups::Arb;
        subgroup.size = language.subgroup_size;
    }
    let stages_with = STAGES.into_iter().filter(|(bit, _)| stages & bit != 0);
    subgroup.stages = stages_with.map(|(_, stage)| stage.name().to_owned()).collect();
    let operations_of = OPERATIONS.into_iter().filter(|(bit, _)| operations & FEATURES & bit != 0);
    subgroup.operations = operations_of.map(|(_, name)| name.to_owned()).collect();
    (subgroup.min_size, subgroup.max_size) = (subgroup.size, subgroup.size);
    for row in TABLE {
        let is_there = match row.opengl {
            OpenGl::Never => false,
            OpenGl::Core => true,
            OpenGl::Operation(bit) => stages & COMPUTE != 0 && operations & bit != 0,
            OpenGl::Stage(stage) => STAGES.iter().any(|&(bit, of)| of == stage && stages & bit != 0),
            OpenGl::Limits(limits, _) => limits.iter().all(|&(name, least)| number(name) >= least),
            OpenGl::Language(names) => names.iter().all(|name| language.has.contains(name)),
        };
        if is_there {
            features.insert(row.feature);
        }
    }
    if opengl.subgroups == Subgroups::Arb {
        // What these extensions have of the operations is not said by features: `tangle_emit::glsl::spelling::in_arb`.
        features.extend([Feature::SubgroupBasic, Feature::SubgroupBallot]);
        if has("GL_ARB_shader_group_vote") {
            features.insert(Feature::SubgroupVote);
        }
        subgroup.stages = vec!["compute".to_owned()];
        subgroup.operations =
            opengl.extensions.iter().filter(|name| name.starts_with("GL_ARB_shader_")).cloned().collect();
    }
    // SAFETY: the index is one of the three dimensions.
    let three = |name: u32| [0, 1, 2].map(|index| unsafe { gl.get_parameter_indexed_i32(name, index) }.max(0) as u32);
    let uniform = number(glow::MAX_UNIFORM_BLOCK_SIZE);
    let has_mesh_shaders = features.contains(Feature::MeshShader);
    let workgroups = |[size, invocations, count, total, shared]: [u32; 5]| match has_mesh_shaders {
        true => WorkgroupLimits {
            max_size: three(size),
            max_invocations: number(invocations),
            max_count: three(count),
            max_total_count: number(total),
            max_shared_memory: number(shared),
        },
        false => WorkgroupLimits::default(),
    };
    let limits = Limits {
        max_workgroup_size: three(glow::MAX_COMPUTE_WORK_GROUP_SIZE),
        max_workgroup_invocations: number(glow::MAX_COMPUTE_WORK_GROUP_INVOCATIONS),
        max_workgroup_count: three(glow::MAX_COMPUTE_WORK_GROUP_COUNT),
        max_shared_memory: number(glow::MAX_COMPUTE_SHARED_MEMORY_SIZE),
        // SAFETY: as above.
        max_storage_buffer_range: unsafe { gl.get_parameter_i64(glow::MAX_SHADER_STORAGE_BLOCK_SIZE) }
            .clamp(0, u32::MAX.into()) as u32,
        max_uniform_buffer_range: uniform,
        // They are a uniform buffer here.
        max_push_constants_size: uniform,
        max_storage_buffers: number(glow::MAX_COMPUTE_SHADER_STORAGE_BLOCKS)
            .min(number(glow::MAX_SHADER_STORAGE_BUFFER_BINDINGS)),
        max_uniform_buffers: number(glow::MAX_COMPUTE_UNIFORM_BLOCKS),
        // Not made there.
        max_storage_images: 0,
        // glBufferData takes a signed size.
        max_allocation: i32::MAX as u64,
        timestamp_period: 0.0,
        task: workgroups(TASK),
        mesh: workgroups(MESH),
        ..Limits::default()
    };
    check(gl, "glGetIntegerv").map_err(|failure| format!("{platform}: {failure:?}"))?;
    let limits = Limits { sample_counts: draw::sample_counts(gl, functions), ..limits };
    let (renderer, driver_info) = (text(glow::RENDERER), text(glow::VERSION));
    let maker = match driver_info.contains("Mesa") {
        true => renderer.split(' ').next().unwrap_or_default().to_owned(),
        false => opengl.vendor.clone(),
    };
    Ok(DeviceInfo {
        name: String::new(),
        driver: String::new(),
        index: 0,
        device_name: renderer,
        driver_name: format!("OpenGL {maker}"),
        driver_info,
        driver_version: 0,
        vendor_id: 0,
        device_id: 0,
        device_type: DeviceType::Other,
        api_version,
        conformance_version: String::new(),
        device_uuid: Uuid::default(),
        driver_uuid: Uuid::default(),
        // KHR_shader_subgroup, changes to section C.1: 1.0 and 1.3. No case has an older version than 1.3.
        max_spirv: SpirvVersion::V1_3,
        features,
        subgroup,
        limits,
        mode: DriverMode::Execute,
        debug: false,
        system: crate::worker::system::description(),
        opengl: Some(opengl),
        webgpu: None,
    })
}

/// True if the renderer is a layer on another interface, and does not say that a driver on the processors is beneath: EGL's device is not what executes then.
/// zink says `zink Vulkan 1.4(llvmpipe (LLVM 19.1.7, 256 bits) (MESA_LLVMPIPE))`.
pub(super) fn runs_on_another_driver(info: &DeviceInfo) -> bool {
    let of_processors = ["llvmpipe", "SwiftShader", "softpipe"];
    info.device_name.starts_with("zink") && !of_processors.iter().any(|name| info.device_name.contains(name))
}

/// `VkPhysicalDeviceIDProperties::deviceUUID` of the first device behind the current context, if it says it (EXT_memory_object).
pub(super) fn uuid(egl: &Egl, gl: &glow::Context) -> Option<Uuid> {
    type GetBytes = unsafe extern "system" fn(u32, u32, *mut u8);
    if !gl.supported_extensions().contains("GL_EXT_memory_object") {
        return None;
    }
    let get = egl.get_proc_address("glGetUnsignedBytei_vEXT")?;
    let mut bytes = [0; 16];
    // SAFETY: the function has this type, the context has a first device, and its UUID has 16 bytes (`GL_UUID_SIZE_EXT`).
    unsafe { std::mem::transmute::<extern "system" fn(), GetBytes>(get)(DEVICE_UUID, 0, bytes.as_mut_ptr()) };
    check(gl, "glGetUnsignedBytei_vEXT").ok().map(|()| Uuid(bytes))
}

/// What its front end for GLSL says: a shader that writes down which macros of extensions are defined (GLSL 4.60 §3.3), and the one
/// constant of ARB_shader_ballot that no query gives.
struct Language {
    has: Vec<&'static str>,
    /// `gl_SubGroupSizeARB`; 0 where there is none.
    subgroup_size: u32,
}

impl Language {
    fn ask(gl: &glow::Context, has_ballot: bool) -> Result<Language, Failure> {
        let mut names: Vec<&'static str> = Vec::new();
        for row in TABLE {
            if let OpenGl::Language(extensions) = row.opengl {
                names.extend(extensions);
            }
        }
        let mut source = String::from("#version 450\n");
        if has_ballot {
            source.push_str("#extension GL_ARB_gpu_shader_int64 : enable\n#extension GL_ARB_shader_ballot : enable\n");
        }
        source.push_str(
            "layout(local_size_x = 1) in;\nlayout(binding = 0, std430) buffer Answers { uint answers[]; };\n",
        );
        source.push_str("void main() {\n");
        if has_ballot {
            source.push_str("    answers[0] = gl_SubGroupSizeARB;\n");
        }
        for (number, name) in (1..).zip(&names) {
            source.push_str(&format!("#ifdef {name}\n    answers[{number}] = 1u;\n#endif\n"));
        }
        source.push_str("}\n");
        let shader = program::compile(gl, Stage::Compute, &source)?;
        let linked = program::link(gl, &[shader])?;
        linked.bind();
        let mut bytes = vec![0; (names.len() + 1) * 4];
        // SAFETY: the context is current, the program is linked and bound, its one buffer has all the words that it writes.
        unsafe {
            let buffer = gl.create_buffer().map_err(|result| Failure::Error { call: "glCreateBuffers", result })?;
            gl.bind_buffer(glow::SHADER_STORAGE_BUFFER, Some(buffer));
            gl.buffer_data_u8_slice(glow::SHADER_STORAGE_BUFFER, &bytes, glow::DYNAMIC_COPY);
            gl.bind_buffer_base(glow::SHADER_STORAGE_BUFFER, 0, Some(buffer));
            gl.dispatch_compute(1, 1, 1);
            gl.memory_barrier(glow::BUFFER_UPDATE_BARRIER_BIT);
            gl.finish();
            gl.get_buffer_sub_data(glow::SHADER_STORAGE_BUFFER, 0, &mut bytes);
            gl.delete_buffer(buffer);
        }
        check(gl, "glDispatchCompute")?;
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect();
        let has = names.into_iter().zip(&words[1..]).filter(|(_, word)| **word == 1).map(|(name, _)| name).collect();
        Ok(Language { has, subgroup_size: words[0] })
    }
}
