//! Types of the language: bool, integers of 8 to 64 bits, floating-point numbers of 16 to 64 bits, their vectors, and arrays, matrices
//! and structs of these.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A scalar type. Its JSON form is kind and width (SPIR-V 1.6 §3.49.6); format 1 had the GLSL name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scalar {
    /// `bool`; a lane holds 0 or 1.
    #[serde(rename = "bool")]
    Bool,
    /// `int`: 32-bit two's complement, wrapping (GLSL 4.60 §4.1.3).
    #[serde(rename = "i32", alias = "int")]
    Int,
    /// `uint`: 32 bits, wrapping.
    #[serde(rename = "u32", alias = "uint")]
    Uint,
    /// `int8_t`. The types from here on wrap, too: SPIR-V's OpIAdd, OpISub and OpIMul take the low bits at every width.
    #[serde(rename = "i8", alias = "int8_t")]
    Int8,
    /// `uint8_t`
    #[serde(rename = "u8", alias = "uint8_t")]
    Uint8,
    /// `int16_t`
    #[serde(rename = "i16", alias = "int16_t")]
    Int16,
    /// `uint16_t`
    #[serde(rename = "u16", alias = "uint16_t")]
    Uint16,
    /// `int64_t`
    #[serde(rename = "i64", alias = "int64_t")]
    Int64,
    /// `uint64_t`
    #[serde(rename = "u64", alias = "uint64_t")]
    Uint64,
    /// `float16_t`: IEEE 754 binary16. What floating-point values may be: `tangle_analysis::exact`.
    #[serde(rename = "f16", alias = "float16_t")]
    Float16,
    /// `float`: binary32.
    #[serde(rename = "f32", alias = "float")]
    Float,
    /// `double`: binary64.
    #[serde(rename = "f64", alias = "double")]
    Double,
}

impl Scalar {
    /// Every scalar type, in the order tables print them.
    pub const ALL: [Scalar; 12] = [
        Scalar::Bool,
        Scalar::Int,
        Scalar::Uint,
        Scalar::Int8,
        Scalar::Uint8,
        Scalar::Int16,
        Scalar::Uint16,
        Scalar::Int64,
        Scalar::Uint64,
        Scalar::Float16,
        Scalar::Float,
        Scalar::Double,
    ];

    /// All types but bool, in the same order.
    pub const NUMBERS: [Scalar; 11] = {
        let [_, numbers @ ..] = Scalar::ALL;
        numbers
    };

    /// The integer types, in the same order.
    pub const INTEGERS: [Scalar; 8] = {
        let [integers @ .., _, _, _] = Scalar::NUMBERS;
        integers
    };

    /// Size in bits; 1 for bool.
    pub const fn size(self) -> u32 {
        match self {
            Scalar::Bool => 1,
            Scalar::Int8 | Scalar::Uint8 => 8,
            Scalar::Int16 | Scalar::Uint16 | Scalar::Float16 => 16,
            Scalar::Int | Scalar::Uint | Scalar::Float => 32,
            Scalar::Int64 | Scalar::Uint64 | Scalar::Double => 64,
        }
    }

    /// The bits a value of this type may have set.
    pub const fn bits(self) -> u64 {
        u64::MAX >> (64 - self.size())
    }

    /// True for the signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Scalar::Int | Scalar::Int8 | Scalar::Int16 | Scalar::Int64)
    }

    /// True for `int` and `uint`, the types of GLSL without extensions.
    pub const fn is_word(self) -> bool {
        matches!(self, Scalar::Int | Scalar::Uint)
    }

    /// True for the floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self, Scalar::Float16 | Scalar::Float | Scalar::Double)
    }

    /// True for the integers of every width.
    pub const fn is_integer(self) -> bool {
        !matches!(self, Scalar::Bool) && !self.is_float()
    }

    /// True for the types that a device may lack: integers of 8, 16 and 64 bits, `float16_t` and `double`.
    pub const fn is_extended(self) -> bool {
        !matches!(self, Scalar::Bool | Scalar::Int | Scalar::Uint | Scalar::Float)
    }

    /// True if subgroup operations on the type are a feature of their own: `shaderSubgroupExtendedTypes`, for integers of 8, 16 and 64
    /// bits and floats of 16 (VUID-RuntimeSpirv-None-06275).
    pub const fn is_extended_in_subgroups(self) -> bool {
        self.is_extended() && !matches!(self, Scalar::Double)
    }

    /// The unsigned integer of the same size; bool stays.
    pub const fn unsigned(self) -> Scalar {
        match self {
            Scalar::Int => Scalar::Uint,
            Scalar::Int8 => Scalar::Uint8,
            Scalar::Int16 => Scalar::Uint16,
            Scalar::Int64 => Scalar::Uint64,
            other => other,
        }
    }

    /// The signed integer of the same size; bool stays.
    pub const fn signed(self) -> Scalar {
        match self {
            Scalar::Uint => Scalar::Int,
            Scalar::Uint8 => Scalar::Int8,
            Scalar::Uint16 => Scalar::Int16,
            Scalar::Uint64 => Scalar::Int64,
            other => other,
        }
    }

    /// The bits of an integer or bool, widened to 64 bits: with the sign of signed types, else with zeros.
    pub const fn extend(self, bits: u64) -> u64 {
        if self.is_signed() {
            let unused = 64 - self.size();
            (((bits << unused) as i64) >> unused) as u64
        } else {
            bits
        }
    }

    /// What is logged of a value: the bits of a float, those of 16 bits as `float`; an integer widened to at least a word.
    pub fn logged(self, bits: u64) -> u64 {
        match self {
            Scalar::Float16 => crate::float::bits(Scalar::Float, crate::float::value(self, bits)),
            Scalar::Float | Scalar::Double => bits,
            _ => self.extend(bits),
        }
    }

    /// The bits of the value that is logged so, if there is one.
    pub fn from_logged(self, logged: u64) -> u64 {
        match self {
            Scalar::Float16 => crate::float::bits(self, crate::float::value(Scalar::Float, logged)),
            _ => logged & self.bits(),
        }
    }

    /// The least value of a signed integer type.
    pub const fn least(self) -> i64 {
        self.extend(1 << (self.size() - 1)) as i64
    }

    /// Words that a logged value takes.
    pub const fn words(self) -> u64 {
        if self.size() == 64 { 2 } else { 1 }
    }

    /// The ending of the extensions for a type that GLSL lacks: `GL_EXT_shader_explicit_arithmetic_types_…` and
    /// `GL_EXT_shader_subgroup_extended_types_…`.
    pub const fn extension(self) -> Option<&'static str> {
        match self {
            Scalar::Bool | Scalar::Int | Scalar::Uint | Scalar::Float | Scalar::Double => None,
            Scalar::Float16 => Some("float16"),
            Scalar::Int8 | Scalar::Uint8 => Some("int8"),
            Scalar::Int16 | Scalar::Uint16 => Some("int16"),
            Scalar::Int64 | Scalar::Uint64 => Some("int64"),
        }
    }

    /// The GLSL name of the scalar type.
    pub const fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Int => "int",
            Scalar::Uint => "uint",
            Scalar::Int8 => "int8_t",
            Scalar::Uint8 => "uint8_t",
            Scalar::Int16 => "int16_t",
            Scalar::Uint16 => "uint16_t",
            Scalar::Int64 => "int64_t",
            Scalar::Uint64 => "uint64_t",
            Scalar::Float16 => "float16_t",
            Scalar::Float => "float",
            Scalar::Double => "double",
        }
    }

    /// The name in JSON: kind and width.
    pub const fn json_name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Int => "i32",
            Scalar::Uint => "u32",
            Scalar::Int8 => "i8",
            Scalar::Uint8 => "u8",
            Scalar::Int16 => "i16",
            Scalar::Uint16 => "u16",
            Scalar::Int64 => "i64",
            Scalar::Uint64 => "u64",
            Scalar::Float16 => "f16",
            Scalar::Float => "f32",
            Scalar::Double => "f64",
        }
    }

    const fn vector_prefix(self) -> &'static str {
        match self {
            Scalar::Bool => "bvec",
            Scalar::Int => "ivec",
            Scalar::Uint => "uvec",
            Scalar::Int8 => "i8vec",
            Scalar::Uint8 => "u8vec",
            Scalar::Int16 => "i16vec",
            Scalar::Uint16 => "u16vec",
            Scalar::Int64 => "i64vec",
            Scalar::Uint64 => "u64vec",
            Scalar::Float16 => "f16vec",
            Scalar::Float => "vec",
            Scalar::Double => "dvec",
        }
    }
}

/// How many values of one scalar or vector type make up a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// One: a scalar or vector.
    #[default]
    Single,
    /// An array of 2 to 8.
    Array(u8),
    /// A matrix of 2 to 4 columns, which are vectors of floats.
    Matrix(u8),
    /// A struct of 2 to 4 members. Their numbers are literals.
    Struct(u8),
}

/// A scalar or a vector of two to four components, or an aggregate of these. Its JSON form is [`Type::json_name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    /// The component type.
    pub scalar: Scalar,
    /// Number of components, 1 to 4; 1 is the scalar itself. Of an aggregate: of each element.
    pub width: u8,
    /// Whether it is an aggregate.
    pub shape: Shape,
}

impl Type {
    /// `bool`.
    pub const BOOL: Type = Type::scalar(Scalar::Bool);
    /// `int`.
    pub const INT: Type = Type::scalar(Scalar::Int);
    /// `uint`.
    pub const UINT: Type = Type::scalar(Scalar::Uint);
    /// `uvec4`: the type of ballots and of the subgroup masks.
    pub const MASK: Type = Type::vector(Scalar::Uint, 4);

    /// The scalar type itself.
    pub const fn scalar(scalar: Scalar) -> Type {
        Type::vector(scalar, 1)
    }

    /// So many components.
    pub const fn vector(scalar: Scalar, width: u8) -> Type {
        Type { scalar, width, shape: Shape::Single }
    }

    /// True for one-component types.
    pub const fn is_scalar(self) -> bool {
        self.width == 1 && self.is_single()
    }

    /// True for scalars and vectors.
    pub const fn is_single(self) -> bool {
        matches!(self.shape, Shape::Single)
    }

    /// Elements of an array, columns of a matrix, members of a struct; 1 for scalars and vectors.
    pub const fn elements(self) -> u8 {
        match self.shape {
            Shape::Single => 1,
            Shape::Array(n) | Shape::Matrix(n) | Shape::Struct(n) => n,
        }
    }

    /// Scalars in all of it.
    pub const fn components(self) -> usize {
        self.width as usize * self.elements() as usize
    }

    /// What an index gives, and how many values it may have: elements of an aggregate, components of a vector.
    pub fn indexed(self) -> Option<(Type, u8)> {
        match self.shape {
            Shape::Single if self.width == 1 => None,
            Shape::Single => Some((Type::scalar(self.scalar), self.width)),
            _ => Some((Type { shape: Shape::Single, ..self }, self.elements())),
        }
    }

    /// True if there is such a type.
    pub fn exists(self) -> bool {
        let single = (1..=4).contains(&self.width);
        single
            && match self.shape {
                Shape::Single => true,
                Shape::Array(n) => (2..=8).contains(&n),
                Shape::Matrix(n) => (2..=4).contains(&n) && self.width > 1 && self.scalar.is_float(),
                Shape::Struct(n) => (2..=4).contains(&n),
            }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let single = Type { shape: Shape::Single, ..*self };
        match (self.shape, self.width) {
            (Shape::Single, 1) => f.write_str(self.scalar.name()),
            (Shape::Single, n) => write!(f, "{}{n}", self.scalar.vector_prefix()),
            (Shape::Array(n), _) => write!(f, "{single}[{n}]"),
            (Shape::Matrix(n), rows) => write!(f, "{}{n}x{rows}", self.scalar.vector_prefix().replace("vec", "mat")),
            (Shape::Struct(n), _) => write!(f, "Struct_{single}_{n}"),
        }
    }
}

impl FromStr for Type {
    type Err = String;

    fn from_str(name: &str) -> Result<Type, String> {
        let singles =
            || Scalar::ALL.into_iter().flat_map(|scalar| (1..=4).map(move |width| Type::vector(scalar, width)));
        let shaped = |single: &str, count: &str, shape: fn(u8) -> Shape| -> Option<Type> {
            let single = singles().find(|ty| ty.to_string() == single)?;
            Some(Type { shape: shape(count.parse().ok()?), ..single })
        };
        let array = || name.strip_suffix(']')?.split_once('[').and_then(|(ty, n)| shaped(ty, n, Shape::Array));
        let structure =
            || name.strip_prefix("Struct_")?.rsplit_once('_').and_then(|(ty, n)| shaped(ty, n, Shape::Struct));
        let matrices = || (2..=4).flat_map(|n| singles().map(move |ty| Type { shape: Shape::Matrix(n), ..ty }));
        let found = singles().find(|ty| ty.to_string() == name).or_else(array).or_else(structure);
        let found = found.or_else(|| matrices().find(|ty| ty.exists() && ty.to_string() == name));
        found.filter(|ty| ty.exists()).ok_or_else(|| format!("unknown type '{name}'"))
    }
}

impl Type {
    /// The name in JSON: `u32x4`, `array(u32x4, 2)`, `matrix(f32x3, 2)` of two columns, `struct(i32x2, 3)`.
    pub fn json_name(self) -> String {
        let scalar = self.scalar.json_name();
        let single = if self.width == 1 { scalar.to_owned() } else { format!("{scalar}x{}", self.width) };
        match self.shape {
            Shape::Single => single,
            Shape::Array(n) => format!("array({single}, {n})"),
            Shape::Matrix(n) => format!("matrix({single}, {n})"),
            Shape::Struct(n) => format!("struct({single}, {n})"),
        }
    }

    fn from_json_name(name: &str) -> Option<Type> {
        let aggregate = name.strip_suffix(')').and_then(|name| name.split_once('('));
        let (single, shape) = match aggregate {
            None => (name, Shape::Single),
            Some((kind, parts)) => {
                let (single, count) = parts.split_once(", ")?;
                let count = count.parse().ok()?;
                let shape = match kind {
                    "array" => Shape::Array(count),
                    "matrix" => Shape::Matrix(count),
                    "struct" => Shape::Struct(count),
                    _ => return None,
                };
                (single, shape)
            }
        };
        let (scalar, width) = single.split_once('x').unwrap_or((single, "1"));
        let scalar = Scalar::ALL.into_iter().find(|known| known.json_name() == scalar)?;
        let ty = Type { scalar, width: width.parse().ok()?, shape };
        // One spelling for each type, so that what is read is written again.
        (ty.exists() && ty.json_name() == name).then_some(ty)
    }
}

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.json_name())
    }
}

impl<'de> Deserialize<'de> for Type {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Type, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        // Format 1 had the names of GLSL.
        Type::from_json_name(&name).map_or_else(|| name.parse(), Ok).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_types() {
        let those = |holds: fn(&Scalar) -> bool| Scalar::ALL.into_iter().filter(holds).collect::<Vec<_>>();
        assert_eq!(Scalar::NUMBERS.to_vec(), those(|scalar| *scalar != Scalar::Bool));
        assert_eq!(Scalar::INTEGERS.to_vec(), those(|scalar| scalar.is_integer()));
    }

    #[test]
    fn names_round_trip() {
        for name in [
            "bool",
            "int",
            "uint",
            "bvec2",
            "ivec3",
            "uvec4",
            "int8_t",
            "u16vec3",
            "i64vec2",
            "vec4",
            "dvec2",
            "f16vec3",
            "uint[2]",
            "i8vec3[8]",
            "mat2x3",
            "dmat4x4",
            "f16mat3x2",
            "Struct_int8_t_2",
            "Struct_bvec2_4",
        ] {
            assert_eq!(name.parse::<Type>().unwrap().to_string(), name);
        }
        for bad in [
            "uvec1",
            "uvec5",
            "vec",
            "",
            "uint[1]",
            "uint[9]",
            "uint[]",
            "umat2x2",
            "mat1x2",
            "Struct_uint_5",
            "Struct_2",
        ] {
            assert!(bad.parse::<Type>().is_err(), "{bad}");
        }
    }

    #[test]
    fn json_names_of_scalars() {
        for scalar in Scalar::ALL {
            assert_eq!(serde_json::to_string(&scalar).unwrap(), format!("\"{}\"", scalar.json_name()));
            // Format 1 had the names of GLSL.
            assert_eq!(serde_json::from_str::<Scalar>(&format!("\"{}\"", scalar.name())).unwrap(), scalar);
        }
    }

    #[test]
    fn json_names_of_types() {
        let read = |name: &str| serde_json::from_value::<Type>(name.into());
        for (name, glsl) in [
            ("bool", "bool"),
            ("u32x4", "uvec4"),
            ("i8x3", "i8vec3"),
            ("array(u32, 4)", "uint[4]"),
            ("array(i8x3, 8)", "i8vec3[8]"),
            ("matrix(f32x3, 2)", "mat2x3"),
            ("matrix(f16x2, 3)", "f16mat3x2"),
            ("struct(boolx2, 4)", "Struct_bvec2_4"),
        ] {
            let ty = read(name).unwrap();
            assert_eq!((ty.json_name().as_str(), ty.to_string().as_str()), (name, glsl));
            assert_eq!(read(glsl).unwrap(), ty, "format 1");
        }
        for bad in
            ["u32x1", "u32x5", "u32x04", "array(u32, 1)", "array(u32)", "matrix(u32x2, 2)", "list(u32, 2)", "u33"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn widths() {
        assert_eq!(Scalar::Int8.extend(0x80), (-128i64) as u64);
        assert_eq!(Scalar::Uint8.extend(0x80), 0x80);
        assert_eq!(Scalar::Int64.extend(u64::MAX), u64::MAX);
        assert_eq!((Scalar::Int16.least(), Scalar::Int64.least()), (-32768, i64::MIN));
        assert_eq!((Scalar::Bool.bits(), Scalar::Uint64.bits()), (1, u64::MAX));
    }
}
