//! How GLSL spells what the tree names: types, operators, functions, built-in variables, attributes, extensions. The names of subgroup
//! operations are in their rows ([`tangle_program::subgroup::OpInfo::name`]).

use std::fmt;

use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::memory::{AtomicOp, Sync};
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::subgroup::{Category, SubgroupOp};
use tangle_program::tree::{Builtin, Expr};
use tangle_program::types::{Scalar, Shape, Type};

use crate::printer::{Dialect, nested_name};

/// The spellings of a scalar type.
pub(crate) struct ScalarSpelling {
    pub name: &'static str,
    /// What stands before the number of components.
    pub vector: &'static str,
    /// The ending of the extensions that have the type: `GL_EXT_shader_explicit_arithmetic_types_…` and
    /// `GL_EXT_shader_subgroup_extended_types_…`.
    pub extension: Option<&'static str>,
    /// What stands behind a literal of a floating-point type.
    pub suffix: &'static str,
}

pub(crate) const fn scalar(scalar: Scalar) -> ScalarSpelling {
    const fn core(name: &'static str, vector: &'static str) -> ScalarSpelling {
        ScalarSpelling { name, vector, extension: None, suffix: "" }
    }
    const fn of(extension: &'static str, name: &'static str, vector: &'static str) -> ScalarSpelling {
        ScalarSpelling { extension: Some(extension), ..core(name, vector) }
    }
    match scalar {
        Scalar::Bool => core("bool", "bvec"),
        Scalar::Int => core("int", "ivec"),
        Scalar::Uint => core("uint", "uvec"),
        Scalar::Int8 => of("int8", "int8_t", "i8vec"),
        Scalar::Uint8 => of("int8", "uint8_t", "u8vec"),
        Scalar::Int16 => of("int16", "int16_t", "i16vec"),
        Scalar::Uint16 => of("int16", "uint16_t", "u16vec"),
        Scalar::Int64 => of("int64", "int64_t", "i64vec"),
        Scalar::Uint64 => of("int64", "uint64_t", "u64vec"),
        Scalar::Float16 => ScalarSpelling { suffix: "hf", ..of("float16", "float16_t", "f16vec") },
        Scalar::Float => core("float", "vec"),
        Scalar::Double => ScalarSpelling { suffix: "lf", ..core("double", "dvec") },
    }
}

/// The functions from bits to the floats of a type, and back.
pub(super) const fn bit_casts(float: Scalar) -> [&'static str; 2] {
    match float.size() {
        16 => ["uint16BitsToFloat16", "float16BitsToUint16"],
        32 => ["uintBitsToFloat", "floatBitsToUint"],
        _ => ["uint64BitsToDouble", "doubleBitsToUint64"],
    }
}

/// A type as GLSL names it. A struct has the name that the shader declares it by.
#[derive(Clone, Copy, Debug)]
pub struct TypeName(pub Type);

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spelling = scalar(self.0.scalar);
        let single = TypeName(Type { shape: Shape::Single, ..self.0 });
        match (self.0.shape, self.0.width) {
            (Shape::Single, 1) => f.write_str(spelling.name),
            (Shape::Single, n) => write!(f, "{}{n}", spelling.vector),
            (Shape::Array(n), _) => write!(f, "{single}[{n}]"),
            (Shape::Matrix(n), rows) => write!(f, "{}{n}x{rows}", spelling.vector.replace("vec", "mat")),
            (Shape::Struct(n), _) => write!(f, "Struct_{single}_{n}"),
            (Shape::Nested(_), _) => f.write_str(&nested_name(self.0, |of| TypeName(of).to_string())),
        }
    }
}

/// An operator with one operand.
pub const fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "-",
        UnaryOp::BitNot => "~",
        UnaryOp::Not => "!",
    }
}

/// An operator with two operands.
pub const fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
        BinaryOp::Xor => "^^",
    }
}

/// The function that compares vectors component by component (GLSL 4.60 §8.7).
pub(super) const fn comparison(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Lt => "lessThan",
        BinaryOp::Le => "lessThanEqual",
        BinaryOp::Gt => "greaterThan",
        BinaryOp::Ge => "greaterThanEqual",
        BinaryOp::Eq => "equal",
        BinaryOp::Ne => "notEqual",
        // No comparison.
        _ => binary(op),
    }
}

/// The operator or function of an expression; a negation is called like a difference from 0. `None` for what is neither.
pub const fn operator(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Unary(op, _) => Some(unary(*op)),
        Expr::Binary(op, ..) => Some(binary(*op)),
        Expr::Intrinsic(op, _) => Some(intrinsic(*op)),
        _ => None,
    }
}

/// A built-in function. Those in capitals are functions of the shader itself.
pub const fn intrinsic(op: Intrinsic) -> &'static str {
    match op {
        Intrinsic::Min => "min",
        Intrinsic::Max => "max",
        Intrinsic::Clamp => "clamp",
        Intrinsic::Abs => "abs",
        Intrinsic::Sign => "sign",
        Intrinsic::BitfieldExtract => "bitfieldExtract",
        Intrinsic::BitfieldInsert => "bitfieldInsert",
        Intrinsic::BitfieldReverse => "bitfieldReverse",
        Intrinsic::BitCount => "bitCount",
        Intrinsic::FindLsb => "findLSB",
        Intrinsic::FindMsb => "findMSB",
        Intrinsic::Floor => "floor",
        Intrinsic::Ceil => "ceil",
        Intrinsic::Trunc => "trunc",
        Intrinsic::Expect => "expectEXT",
        Intrinsic::MulHigh => "MUL_HIGH",
        Intrinsic::AddCarry => "ADD_CARRY",
        Intrinsic::SubBorrow => "SUB_BORROW",
        Intrinsic::SignedRem => "SIGNED_REM",
        Intrinsic::SignedMod => "SIGNED_MOD",
        Intrinsic::Dot => "dotPacked4x8EXT",
        Intrinsic::DotAccSat => "dotPacked4x8AccSatEXT",
        Intrinsic::Pack16 => "pack16",
        Intrinsic::Pack32 => "pack32",
        Intrinsic::Pack64 => "pack64",
        Intrinsic::Unpack8 => "unpack8",
        Intrinsic::Unpack16 => "unpack16",
        Intrinsic::Unpack32 => "unpack32",
        Intrinsic::Mix => "mix",
        Intrinsic::Any => "any",
        Intrinsic::All => "all",
        Intrinsic::FromBits => "FROM_BITS",
        Intrinsic::FromAllBits => "FROM_ALL_BITS",
        Intrinsic::ToBits => "TO_BITS",
        Intrinsic::FAddRte => "FADD_RTE",
        Intrinsic::FAddRtz => "FADD_RTZ",
        Intrinsic::FSubRte => "FSUB_RTE",
        Intrinsic::FSubRtz => "FSUB_RTZ",
        Intrinsic::FMulRte => "FMUL_RTE",
        Intrinsic::FMulRtz => "FMUL_RTZ",
        Intrinsic::IntToHalfRte => "INT_TO_F16_RTE",
        Intrinsic::IntToHalfRtz => "INT_TO_F16_RTZ",
        Intrinsic::IntToFloatRte => "INT_TO_F32_RTE",
        Intrinsic::IntToFloatRtz => "INT_TO_F32_RTZ",
        Intrinsic::FloatToHalfRte => "TO_F16_RTE",
        Intrinsic::FloatToHalfRtz => "TO_F16_RTZ",
        Intrinsic::DoubleToFloatRte => "TO_F32_RTE",
        Intrinsic::DoubleToFloatRtz => "TO_F32_RTZ",
    }
}

/// A built-in variable, or what the shader has a copy of it in.
pub const fn builtin(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Lane => "lane",
        Builtin::SubgroupSize => "subgroup_size",
        Builtin::SubgroupId => "gl_SubgroupID",
        Builtin::NumSubgroups => "gl_NumSubgroups",
        Builtin::LocalIndex => "gl_LocalInvocationIndex",
        Builtin::LocalX => "gl_LocalInvocationID.x",
        Builtin::LocalY => "gl_LocalInvocationID.y",
        Builtin::LocalZ => "gl_LocalInvocationID.z",
        Builtin::WorkgroupIndex => "workgroup_index",
        Builtin::EqMask => "gl_SubgroupEqMask",
        Builtin::GeMask => "gl_SubgroupGeMask",
        Builtin::GtMask => "gl_SubgroupGtMask",
        Builtin::LeMask => "gl_SubgroupLeMask",
        Builtin::LtMask => "gl_SubgroupLtMask",
        Builtin::Helper => "helperInvocationEXT()",
        Builtin::HelperInput => "gl_HelperInvocation",
    }
}

/// What `lane` is a copy of.
pub(super) const fn lane(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Vulkan | Dialect::OpenGl | Dialect::Hlsl | Dialect::Slang | Dialect::Wgsl => "gl_SubgroupInvocationID",
        Dialect::OpenGlArb => "gl_SubGroupInvocationARB",
    }
}

/// What `subgroup_size` is a copy of.
pub(super) const fn subgroup_size(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Vulkan | Dialect::OpenGl | Dialect::Hlsl | Dialect::Slang | Dialect::Wgsl => "gl_SubgroupSize",
        Dialect::OpenGlArb => "gl_SubGroupSizeARB",
    }
}

/// How ARB_shader_ballot and ARB_shader_group_vote spell an operation that they have: what stands before its operands in parentheses, and
/// behind them.
pub const fn in_arb(op: SubgroupOp) -> Option<(&'static str, &'static str)> {
    Some(match op {
        SubgroupOp::Ballot => ("uvec4(unpackUint2x32(ballotARB", "), 0u, 0u)"),
        SubgroupOp::Broadcast => ("readInvocationARB", ""),
        SubgroupOp::BroadcastFirst => ("readFirstInvocationARB", ""),
        SubgroupOp::All => ("allInvocationsARB", ""),
        SubgroupOp::Any => ("anyInvocationARB", ""),
        SubgroupOp::AllEqual => ("allInvocationsEqualARB", ""),
        _ => return None,
    })
}

/// A mask as ARB_shader_ballot has it: a `uint64_t`.
pub const fn mask_in_arb(builtin: Builtin) -> Option<&'static str> {
    Some(match builtin {
        Builtin::EqMask => "gl_SubGroupEqMaskARB",
        Builtin::GeMask => "gl_SubGroupGeMaskARB",
        Builtin::GtMask => "gl_SubGroupGtMaskARB",
        Builtin::LeMask => "gl_SubGroupLeMaskARB",
        Builtin::LtMask => "gl_SubGroupLtMaskARB",
        _ => return None,
    })
}

/// A function in OpenGL, by the type of its first operand: ARB_gpu_shader_int64, section 8.4.
pub(super) const fn intrinsic_in_opengl(op: Intrinsic, of: Scalar) -> &'static str {
    match (op, of) {
        (Intrinsic::Pack64, Scalar::Uint) => "packUint2x32",
        (Intrinsic::Pack64, Scalar::Int) => "packInt2x32",
        (Intrinsic::Unpack32, Scalar::Uint64) => "unpackUint2x32",
        (Intrinsic::Unpack32, Scalar::Int64) => "unpackInt2x32",
        _ => intrinsic(op),
    }
}

/// The function of an atomic operation.
pub const fn atomic(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Add => "atomicAdd",
        AtomicOp::Min => "atomicMin",
        AtomicOp::Max => "atomicMax",
        AtomicOp::And => "atomicAnd",
        AtomicOp::Or => "atomicOr",
        AtomicOp::Xor => "atomicXor",
        AtomicOp::Exchange => "atomicExchange",
        AtomicOp::CompSwap => "atomicCompSwap",
    }
}

/// The function of a barrier of the workgroup.
pub const fn sync(sync: Sync) -> &'static str {
    match sync {
        Sync::Barrier => "barrier",
        Sync::Memory => "memoryBarrier",
        Sync::MemoryShared => "memoryBarrierShared",
        Sync::MemoryBuffer => "memoryBarrierBuffer",
        Sync::GroupMemory => "groupMemoryBarrier",
    }
}

/// What stands before an `if` or a switch, with the space after it.
pub const fn selection_control(control: SelectionControl) -> &'static str {
    match control {
        SelectionControl::Unspecified => "",
        SelectionControl::Flatten => "[[flatten]] ",
        SelectionControl::DontFlatten => "[[dont_flatten]] ",
    }
}

/// What stands before a loop, with the space after it.
pub const fn loop_control(control: LoopControl) -> &'static str {
    match control {
        LoopControl::Unspecified => "",
        LoopControl::Unroll => "[[unroll]] ",
        LoopControl::DontUnroll => "[[dont_unroll]] ",
    }
}

/// The extension that has the operations of a category; `None` if they need none.
pub(super) const fn extension(category: Category, dialect: Dialect) -> Option<&'static str> {
    if matches!(dialect, Dialect::OpenGlArb) {
        return Some(match category {
            Category::Vote => "GL_ARB_shader_group_vote",
            // The others have no operation there.
            _ => "GL_ARB_shader_ballot",
        });
    }
    Some(match category {
        Category::Basic => "GL_KHR_shader_subgroup_basic",
        Category::Vote => "GL_KHR_shader_subgroup_vote",
        Category::Ballot => "GL_KHR_shader_subgroup_ballot",
        Category::Arithmetic => "GL_KHR_shader_subgroup_arithmetic",
        Category::Shuffle => "GL_KHR_shader_subgroup_shuffle",
        Category::ShuffleRelative => "GL_KHR_shader_subgroup_shuffle_relative",
        Category::Clustered => "GL_KHR_shader_subgroup_clustered",
        Category::Quad => "GL_KHR_shader_subgroup_quad",
        Category::Rotate | Category::RotateClustered => "GL_KHR_shader_subgroup_rotate",
        Category::QuadControl => "GL_EXT_shader_quad_control",
        Category::Partitioned => "GL_NV_shader_subgroup_partitioned",
        // GLSL 4.60 §8.14.1
        Category::Derivative => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases of format 1 named types as GLSL does.
    #[test]
    fn types_are_named_as_in_format_1() {
        for scalar in Scalar::ALL {
            for width in 1..=4 {
                for shape in [Shape::Single, Shape::Array(3), Shape::Matrix(2), Shape::Struct(4)] {
                    let ty = Type { scalar, width, shape };
                    if ty.exists() {
                        assert_eq!(TypeName(ty).to_string().parse(), Ok(ty));
                    }
                }
            }
        }
    }
}
