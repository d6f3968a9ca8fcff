//! What of a module OpenGL does not take.
//!
//! Sources: ARB_gl_spirv, appendix A.spv (OpenGL 4.6, appendix C), and KHR_shader_subgroup, "Modifications to Appendix C".

use std::borrow::Cow;
use std::collections::BTreeSet;

use spirv::Capability;

use crate::info::{OpenGlInfo, Subgroups};
use crate::spirv::text;
use tangle_files::module::instructions;

/// Operation codes, storage classes, execution modes and masks (SPIR-V 1.3 §3).
mod code {
    use spirv::{BuiltIn, Decoration, ExecutionMode, Op, StorageClass};

    pub const EXTENSION: u32 = Op::Extension as u32;
    pub const EXECUTION_MODE: u32 = Op::ExecutionMode as u32;
    pub const CAPABILITY: u32 = Op::Capability as u32;
    pub const VARIABLE: u32 = Op::Variable as u32;
    pub const LOOP_MERGE: u32 = Op::LoopMerge as u32;
    pub const MODULE_PROCESSED: u32 = Op::ModuleProcessed as u32;
    pub const EXECUTION_MODE_ID: u32 = Op::ExecutionModeId as u32;
    pub const DECORATE_ID: u32 = Op::DecorateId as u32;
    pub const PUSH_CONSTANT: u32 = StorageClass::PushConstant as u32;
    pub const STORAGE_BUFFER: u32 = StorageClass::StorageBuffer as u32;
    pub const UNIFORM: u32 = StorageClass::Uniform as u32;
    pub const TYPE_POINTER: u32 = Op::TypePointer as u32;
    pub const DECORATE: u32 = Op::Decorate as u32;
    pub const SPEC_ID: u32 = Decoration::SpecId as u32;
    pub const BLOCK: u32 = Decoration::Block as u32;
    pub const BUILT_IN: u32 = Decoration::BuiltIn as u32;
    pub const VERTEX_INDEX: u32 = BuiltIn::VertexIndex as u32;
    pub const INSTANCE_INDEX: u32 = BuiltIn::InstanceIndex as u32;
    pub const VERTEX_ID: u32 = BuiltIn::VertexId as u32;
    pub const INSTANCE_ID: u32 = BuiltIn::InstanceId as u32;
    pub const ORIGIN_UPPER_LEFT: u32 = ExecutionMode::OriginUpperLeft as u32;
    pub const ORIGIN_LOWER_LEFT: u32 = ExecutionMode::OriginLowerLeft as u32;
    pub const BUFFER_BLOCK: u32 = Decoration::BufferBlock as u32;
    pub const LOCAL_SIZE_ID: u32 = ExecutionMode::LocalSizeId as u32;
    /// The loop controls DependencyInfinite and DependencyLength.
    pub const DEPENDENCIES: u32 = 0xC;
}

/// The capabilities of shaders: tables of A.spv.3, then those that an extension of OpenGL brings, by its name. Those that an extension of SPIR-V brings, which a
/// module declares, are at the end.
const CAPABILITIES: [(Capability, Option<&str>); 26] = [
    (Capability::Matrix, None),
    (Capability::Shader, None),
    (Capability::Geometry, None),
    (Capability::Tessellation, None),
    (Capability::GeometryPointSize, None),
    (Capability::TessellationPointSize, None),
    (Capability::SampleRateShading, None),
    (Capability::DerivativeControl, None),
    (Capability::Float64, None),
    (Capability::UniformBufferArrayDynamicIndexing, None),
    (Capability::SampledImageArrayDynamicIndexing, None),
    (Capability::StorageBufferArrayDynamicIndexing, None),
    (Capability::StorageImageArrayDynamicIndexing, None),
    (Capability::Int64, Some("GL_ARB_gpu_shader_int64")),
    (Capability::Int64Atomics, Some("GL_NV_shader_atomic_int64")),
    // Which of these is a question of features (`tangle_features`).
    (Capability::GroupNonUniform, Some(SUBGROUP)),
    (Capability::GroupNonUniformVote, Some(SUBGROUP)),
    (Capability::GroupNonUniformArithmetic, Some(SUBGROUP)),
    (Capability::GroupNonUniformBallot, Some(SUBGROUP)),
    (Capability::GroupNonUniformShuffle, Some(SUBGROUP)),
    (Capability::GroupNonUniformShuffleRelative, Some(SUBGROUP)),
    (Capability::GroupNonUniformClustered, Some(SUBGROUP)),
    (Capability::GroupNonUniformQuad, Some(SUBGROUP)),
    (Capability::GroupNonUniformPartitionedEXT, Some("GL_NV_shader_subgroup_partitioned")),
    (Capability::DemoteToHelperInvocation, None),
    (Capability::ShaderViewportIndexLayerEXT, None),
];

/// The extension with the subgroup operations.
const SUBGROUP: &str = "GL_KHR_shader_subgroup";

/// The extension with which storage buffers have a storage class of their own.
const STORAGE_BUFFERS: &str = "SPV_KHR_storage_buffer_storage_class";

/// The module as the context takes it. It means the same.
///
/// - "VertexIndex and InstanceIndex built-in decorations cannot be used" (ARB_gl_spirv); draws begin with vertex and instance 0, so that VertexId and InstanceId are
///   the same numbers.
/// - The origin of `FragCoord` is that of the framebuffer's window coordinates ([`super::draw`]), OriginLowerLeft here.
/// - Where the context has no storage class for storage buffers, they are of class Uniform, with structures that are decorated as BufferBlock ("If
///   SPV_KHR_storage_buffer_storage_class is not supported: The *StorageBuffer* Storage Class must not be used", KHR_shader_subgroup; "OpTypeRuntimeArray must only be
///   used for the last member of an OpTypeStruct in the Uniform Storage Class and is decorated as BufferBlock", A.spv.4).
pub(super) fn fitted<'a>(words: &'a [u32], context: &OpenGlInfo) -> Cow<'a, [u32]> {
    let has_class = context.spirv_extensions.iter().any(|name| name == STORAGE_BUFFERS);
    let structures: BTreeSet<u32> = instructions(words)
        .flatten()
        .filter_map(|instruction| match (instruction.opcode(), instruction.operands()) {
            (code::TYPE_POINTER, &[_, code::STORAGE_BUFFER, ty]) if !has_class => Some(ty),
            _ => None,
        })
        .collect();
    let mut fitted = Cow::from(words);
    for instruction in instructions(words).flatten() {
        let at = instruction.at;
        let (place, word) = match (instruction.opcode(), instruction.operands()) {
            (code::TYPE_POINTER, &[_, code::STORAGE_BUFFER, _]) if !has_class => (2, code::UNIFORM),
            (code::VARIABLE, &[_, _, code::STORAGE_BUFFER, ..]) if !has_class => (3, code::UNIFORM),
            (code::DECORATE, &[target, code::BLOCK]) if structures.contains(&target) => (2, code::BUFFER_BLOCK),
            (code::DECORATE, &[_, code::BUILT_IN, code::VERTEX_INDEX]) => (3, code::VERTEX_ID),
            (code::DECORATE, &[_, code::BUILT_IN, code::INSTANCE_INDEX]) => (3, code::INSTANCE_ID),
            (code::EXECUTION_MODE, &[_, code::ORIGIN_UPPER_LEFT]) => (2, code::ORIGIN_LOWER_LEFT),
            _ => continue,
        };
        fitted.to_mut()[at + place] = word;
    }
    fitted
}

/// Whether the module has a specialisation constant of this number: an optimiser may have taken it out, and "INVALID_VALUE is generated if any element
/// of <pConstantIndex> refers to a specialization constant that does not exist in the shader module" (ARB_gl_spirv, glSpecializeShaderARB).
pub(super) fn has_constant(words: &[u32], number: u32) -> bool {
    instructions(words).flatten().any(|found| {
        found.opcode() == code::DECORATE && matches!(found.operands(), &[_, code::SPEC_ID, its] if its == number)
    })
}

/// What a context lacks for a module; empty if it takes it. The module is one ([`crate::spirv::inspect`]).
pub(super) fn missing(words: &[u32], context: &OpenGlInfo) -> Vec<String> {
    let mut missing = BTreeSet::new();
    let mut lacks = |what: String| {
        missing.insert(what);
    };
    if !context.takes_spirv {
        lacks("GL_ARB_gl_spirv".to_owned());
    }
    let has_subgroups = context.subgroups == Subgroups::Khr;
    let version = words.get(1).copied().unwrap_or(0);
    // The modified section C.1: "Implementations must support the 1.0 and 1.3 versions of SPIR-V".
    if version != 0x0001_0000 && !(version == 0x0001_0300 && has_subgroups) {
        lacks(format!("SPIR-V {}.{} (not in OpenGL)", version >> 16 & 0xff, version >> 8 & 0xff));
    }
    let has_extension = |name: &str| context.spirv_extensions.iter().any(|extension| extension == name);
    for instruction in instructions(words).flatten() {
        match (instruction.opcode(), instruction.operands()) {
            (code::CAPABILITY, &[capability]) => {
                match CAPABILITIES.iter().find(|(known, _)| *known as u32 == capability) {
                    None => lacks(format!("capability {capability} of a module (not in OpenGL)")),
                    Some((_, Some(extension))) if !context.extensions.iter().any(|name| name == extension) => {
                        lacks((*extension).to_owned());
                    }
                    Some(_) => {}
                }
            }
            (code::EXTENSION, name) => {
                let name = text(name);
                if !has_extension(&name) {
                    lacks(name);
                }
            }
            (code::VARIABLE, &[_, _, code::PUSH_CONSTANT, ..]) => {
                lacks("push constants of a module (not in OpenGL)".to_owned());
            }
            (code::VARIABLE, &[_, _, code::STORAGE_BUFFER, ..]) if !has_extension(STORAGE_BUFFERS) => {
                lacks(STORAGE_BUFFERS.to_owned());
            }
            (code::EXECUTION_MODE | code::EXECUTION_MODE_ID, &[_, code::LOCAL_SIZE_ID, ..]) => {
                lacks("the LocalSizeId execution mode (not in OpenGL)".to_owned());
            }
            (operation @ (code::EXECUTION_MODE_ID | code::DECORATE_ID | code::MODULE_PROCESSED), _) => {
                lacks(format!("instruction {operation} of a module (not in OpenGL)"));
            }
            (code::LOOP_MERGE, &[_, _, control, ..]) if control & code::DEPENDENCIES != 0 => {
                lacks("loop dependencies of a module (not in OpenGL)".to_owned());
            }
            _ => {}
        }
    }
    missing.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(subgroups: Subgroups) -> OpenGlInfo {
        let extensions = match subgroups {
            Subgroups::Khr => vec!["GL_KHR_shader_subgroup".to_owned()],
            _ => Vec::new(),
        };
        let spirv_extensions = vec!["SPV_KHR_storage_buffer_storage_class".to_owned()];
        OpenGlInfo { subgroups, takes_spirv: true, extensions, spirv_extensions, ..OpenGlInfo::default() }
    }

    fn module(version: u32, instructions: &[&[u32]]) -> Vec<u32> {
        let mut words = vec![0x0723_0203, version, 0, 100, 0];
        for instruction in instructions {
            words.push((instruction.len() as u32) << 16 | instruction[0]);
            words.extend(&instruction[1..]);
        }
        words
    }

    const V1_3: u32 = 0x0001_0300;

    #[test]
    fn constants_have_numbers() {
        let constant = module(V1_3, &[&[71, 7, 1, 3], &[71, 8, 33, 4]]);
        assert_eq!([3, 4].map(|number| has_constant(&constant, number)), [true, false]);
    }

    #[test]
    fn what_opengl_does_not_take_is_named() {
        let rows: [(u32, &[&[u32]], &str); 11] = [
            (V1_3, &[&[17, 1], &[17, 61], &[17, 64], &[59, 1, 2, 12]], ""),
            (0x0001_0000, &[&[17, 1]], ""),
            (0x0001_0400, &[&[17, 1]], "SPIR-V 1.4 (not in OpenGL)"),
            (V1_3, &[&[17, 4441]], "capability 4441 of a module (not in OpenGL)"),
            (V1_3, &[&[17, 11]], "GL_ARB_gpu_shader_int64"),
            (V1_3, &[&[59, 1, 2, 9]], "push constants of a module (not in OpenGL)"),
            (V1_3, &[&[10, u32::from_le_bytes(*b"SPV_"), u32::from_le_bytes(*b"X\0\0\0")]], "SPV_X"),
            (V1_3, &[&[331, 4, 38, 5, 6, 7]], "the LocalSizeId execution mode (not in OpenGL)"),
            (V1_3, &[&[246, 1, 2, 4]], "loop dependencies of a module (not in OpenGL)"),
            (V1_3, &[&[246, 1, 2, 1]], ""),
            (V1_3, &[&[332, 1, 2]], "instruction 332 of a module (not in OpenGL)"),
        ];
        for (version, instructions, expected) in rows {
            assert_eq!(missing(&module(version, instructions), &context(Subgroups::Khr)).join(", "), expected);
        }
        // 1.3 comes with KHR_shader_subgroup only.
        let expected = missing(&module(V1_3, &[&[17, 61]]), &context(Subgroups::Arb)).join(", ");
        assert_eq!(expected, "GL_KHR_shader_subgroup, SPIR-V 1.3 (not in OpenGL)");
        // Storage buffers without a class of their own; a uniform block stays one.
        let buffers: [&[u32]; 6] =
            [&[71, 7, 2], &[71, 8, 2], &[32, 1, 12, 7], &[32, 2, 2, 8], &[59, 1, 3, 12], &[59, 2, 4, 2]];
        let old = OpenGlInfo { spirv_extensions: Vec::new(), ..context(Subgroups::Khr) };
        assert_eq!(missing(&module(V1_3, &buffers), &old), ["SPV_KHR_storage_buffer_storage_class"]);
        let fit: [&[u32]; 6] =
            [&[71, 7, 3], &[71, 8, 2], &[32, 1, 2, 7], &[32, 2, 2, 8], &[59, 1, 3, 2], &[59, 2, 4, 2]];
        assert_eq!(fitted(&module(V1_3, &buffers), &old).as_ref(), module(V1_3, &fit));
        assert_eq!(missing(&fitted(&module(V1_3, &buffers), &old), &old), [""; 0]);
        assert_eq!(fitted(&module(V1_3, &buffers), &context(Subgroups::Khr)).as_ref(), module(V1_3, &buffers));
        // What counts vertices and instances from 0, and where fragments begin.
        let draws: [&[u32]; 4] = [&[71, 5, 11, 42], &[71, 6, 11, 43], &[71, 7, 11, 15], &[16, 4, 7]];
        let fit: [&[u32]; 4] = [&[71, 5, 11, 5], &[71, 6, 11, 6], &[71, 7, 11, 15], &[16, 4, 8]];
        assert_eq!(fitted(&module(V1_3, &draws), &context(Subgroups::Khr)).as_ref(), module(V1_3, &fit));
        // A broken end is no endless loop.
        assert_eq!(missing(&[0x0723_0203, V1_3, 0, 1, 0, 9 << 16 | 17, 1], &context(Subgroups::Khr)), [""; 0]);
        assert_eq!(missing(&[0x0723_0203, V1_3, 0, 1, 0, 17], &context(Subgroups::Khr)), [""; 0]);
    }
}
