//! Which identifiers a program may use.
//!
//! Names are lower-case, which keeps them apart from most of GLSL's own (`subgroupAdd`, `findLSB`) and from the macros and blocks
//! of the printer; the other words that have a meaning are listed here.

/// The names that a printed shader uses for itself, besides `LOG0`, `SPEC0`, `FLAT0` and so on. A program must not use them.
const OWN_NAMES: [&str; 49] = [
    "ADD_CARRY",
    "Arrays",
    "FLOAT_WORD",
    "HIGH_WORD",
    "Inputs",
    "LOW_WORD",
    "Log",
    "MUL_HIGH",
    "Map",
    "Push",
    "SUB_BORROW",
    "StorageBufferOf",
    "UniformBufferOf",
    "Uniforms",
    "cursor",
    "entry",
    "entry_diagonal",
    "entry_helper",
    "entry_high",
    "entry_horizontal",
    "entry_low",
    "entry_mask",
    "entry_real",
    "entry_self",
    "entry_subgroup",
    "entry_subgroups",
    "entry_token",
    "entry_vertical",
    "execution",
    "input_words",
    "invocation",
    "lane",
    "log_base",
    "log_words",
    "map_base",
    "map_words",
    "of_item",
    "payload",
    "pixel",
    "push_words",
    "slice",
    "storage_buffers",
    "storage_images",
    "storage_texels",
    "subgroup_size",
    "triangle",
    "uniform_buffers",
    "uniform_words",
    "workgroup_index",
];

/// The most characters of a name.
const MAX_NAME: usize = 64;

/// The lower-case keywords, reserved words and built-in functions of GLSL 4.60 and its extensions, as glslang 15.3 knows them
/// (MachineIndependent/Scan.cpp and Initialize.cpp). Sorted.
#[rustfmt::skip]
const RESERVED: [&str; 317] = [
    "abs", "acos", "acosh", "active", "all", "any", "asin", "asinh", "asm", "atan", "atanh", "atomic_uint", "attribute",
    "average", "barrier", "bf16vec2", "bf16vec3", "bf16vec4", "bfloat16_t", "bool", "break", "buffer", "bvec2", "bvec3",
    "bvec4", "case", "cast", "ceil", "centroid", "clamp", "class", "coherent", "common", "const", "continue", "coopmat",
    "cos", "cosh", "cross", "default", "defined", "degrees", "demote", "determinant", "devicecoherent", "discard",
    "distance", "dmat2", "dmat2x2", "dmat2x3", "dmat2x4", "dmat3", "dmat3x2", "dmat3x3", "dmat3x4", "dmat4", "dmat4x2",
    "dmat4x3", "dmat4x4", "do", "dot", "double", "dvec2", "dvec3", "dvec4", "else", "enum", "equal", "exp", "exp2",
    "extern", "external", "f16mat2", "f16mat2x2", "f16mat2x3", "f16mat2x4", "f16mat3", "f16mat3x2", "f16mat3x3",
    "f16mat3x4", "f16mat4", "f16mat4x2", "f16mat4x3", "f16mat4x4", "f16vec2", "f16vec3", "f16vec4", "f32mat2",
    "f32mat2x2", "f32mat2x3", "f32mat2x4", "f32mat3", "f32mat3x2", "f32mat3x3", "f32mat3x4", "f32mat4", "f32mat4x2",
    "f32mat4x3", "f32mat4x4", "f32vec2", "f32vec3", "f32vec4", "f64mat2", "f64mat2x2", "f64mat2x3", "f64mat2x4",
    "f64mat3", "f64mat3x2", "f64mat3x3", "f64mat3x4", "f64mat4", "f64mat4x2", "f64mat4x3", "f64mat4x4", "f64vec2",
    "f64vec3", "f64vec4", "faceforward", "false", "fe4m3vec2", "fe4m3vec3", "fe4m3vec4", "fe5m2vec2", "fe5m2vec3",
    "fe5m2vec4", "filter", "fixed", "flat", "float", "float16_t", "float32_t", "float64_t", "floate4m3_t",
    "floate5m2_t", "floor", "fma", "for", "fract", "frexp", "ftransform", "fvec2", "fvec3", "fvec4", "fwidth", "goto",
    "half", "highp", "hvec2", "hvec3", "hvec4", "i16vec2", "i16vec3", "i16vec4", "i32vec2", "i32vec3", "i32vec4",
    "i64vec2", "i64vec3", "i64vec4", "i8vec2", "i8vec3", "i8vec4", "if", "in", "inline", "inout", "input", "int",
    "int16_t", "int32_t", "int64_t", "int8_t", "interface", "invariant", "inverse", "inversesqrt", "isinf", "isnan",
    "ivec2", "ivec3", "ivec4", "layout", "ldexp", "length", "log", "log2", "long", "lowp", "main", "mat2", "mat2x2",
    "mat2x3", "mat2x4", "mat3", "mat3x2", "mat3x3", "mat3x4", "mat4", "mat4x2", "mat4x3", "mat4x4", "max", "max3",
    "mediump", "mid3", "min", "min3", "mix", "mod", "modf", "multiply32x16", "namespace", "noinline", "noise1",
    "noise2", "noise3", "noise4", "nonprivate", "nontemporal", "noperspective", "normalize", "not", "out", "output",
    "pack16", "pack32", "pack64", "packed", "partition", "patch", "pow", "precise", "precision", "public",
    "queuefamilycoherent", "radians", "readonly", "reflect", "refract", "resource", "restrict", "return", "round",
    "sample", "sampler", "shadercallcoherent", "shared", "short", "sign", "sin", "sinh", "sizeof", "smooth",
    "smoothstep", "spirv_by_reference", "spirv_decorate", "spirv_decorate_id", "spirv_decorate_string",
    "spirv_execution_mode", "spirv_execution_mode_id", "spirv_instruction", "spirv_literal", "spirv_storage_class",
    "spirv_type", "sqrt", "static", "step", "struct", "subgroupcoherent", "subroutine", "superp", "switch", "tan",
    "tanh", "template", "texture", "this", "transpose", "true", "trunc", "typedef", "u16vec2", "u16vec3", "u16vec4",
    "u32vec2", "u32vec3", "u32vec4", "u64vec2", "u64vec3", "u64vec4", "u8vec2", "u8vec3", "u8vec4", "uint", "uint16_t",
    "uint32_t", "uint64_t", "uint8_t", "uniform", "union", "unpack16", "unpack32", "unpack8", "unsigned", "using",
    "uvec2", "uvec3", "uvec4", "varying", "vec2", "vec3", "vec4", "void", "volatile", "while", "workgroupcoherent",
    "writeonly",
];

/// What is wrong with an identifier of a variable or function, `main` included; `Ok` if nothing is.
pub fn check(name: &str) -> Result<(), String> {
    let lower_case = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let starts_well = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    if !starts_well || !name.bytes().all(lower_case) || name.len() > MAX_NAME {
        let shown: String = name.chars().take(MAX_NAME).collect();
        return Err(format!(
            "'{shown}' is no name: lower-case letters, digits and underscores, a letter first, {MAX_NAME} characters at most"
        ));
    }
    // GLSL 4.60 §3.7: both kinds are reserved.
    if name.starts_with("gl_") || name.contains("__") {
        return Err(format!("'{name}' is reserved in GLSL: it begins with gl_ or has two underscores in a row"));
    }
    if RESERVED.binary_search(&name).is_ok() {
        return Err(format!("'{name}' is a word of GLSL"));
    }
    if OWN_NAMES.binary_search(&name).is_ok() {
        return Err(format!("'{name}' is a name that the printed shader uses itself"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(RESERVED.is_sorted());
        assert!(OWN_NAMES.is_sorted());
    }

    #[test]
    fn names() {
        for good in ["a", "v0", "loop_counter", "x_", "subgroup", "mask", "vec5"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let long = "x".repeat(MAX_NAME + 1);
        for bad in [
            "", "0a", "_a", "aB", "LOG1", "ä", "a-b", "a b", "gl_x", "a__b", "uint", "min", "main", "lane", "cursor",
            &long,
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
