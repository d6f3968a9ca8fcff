//! Types of the language: bool, integers of 8 to 64 bits, floating-point numbers of 16 to 64 bits, their vectors, and arrays, matrices
//! and structs of these, and of each other ([`Nested`]).

mod nested;
mod nodes;

use std::fmt;
use std::str::FromStr;

pub use nodes::Nested;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The kind of a scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// A lane holds 0 or 1.
    Bool,
    /// Two's complement, wrapping (GLSL 4.60 §4.1.3; SPIR-V's OpIAdd, OpISub and OpIMul take the low bits at every width).
    Signed,
    /// Without a sign; wrapping, too.
    Unsigned,
    /// IEEE 754. What floating-point values may be: `tangle_analysis::exact`.
    Float,
}

/// The row of a scalar type.
#[derive(Clone, Copy, Debug)]
pub struct ScalarInfo {
    /// The name in JSON: kind and width (SPIR-V 1.6 §3.49.6).
    pub name: &'static str,
    /// The name in format 1.
    pub(crate) format_1: &'static str,
    /// How a lane holds it, and how it computes with it.
    pub kind: ScalarKind,
    /// Size in bits; 1 for bool.
    pub size: u32,
}

/// Declares the scalar types with their rows: bool, then the integers, then the floats.
macro_rules! scalars {
    ($($(#[$doc:meta])* $scalar:ident = $name:literal, $format_1:literal: $kind:ident of $size:literal,)+) => {
        /// A scalar type: what a component of a value is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Scalar {
            $($(#[$doc])* #[serde(rename = $name, alias = $format_1)] $scalar,)+
        }

        impl Scalar {
            /// Every scalar type, in the order tables print them.
            pub const ALL: [Scalar; [$($name),+].len()] = [$(Scalar::$scalar),+];

            /// Its row: names, kind and size.
            pub const fn info(self) -> ScalarInfo {
                match self {
                    $(Scalar::$scalar => {
                        ScalarInfo { name: $name, format_1: $format_1, kind: ScalarKind::$kind, size: $size }
                    })+
                }
            }
        }
    };
}

scalars! {
    /// `bool`
    Bool = "bool", "bool": Bool of 1,
    /// `int`
    Int = "i32", "int": Signed of 32,
    /// `uint`
    Uint = "u32", "uint": Unsigned of 32,
    /// `int8_t`
    Int8 = "i8", "int8_t": Signed of 8,
    /// `uint8_t`
    Uint8 = "u8", "uint8_t": Unsigned of 8,
    /// `int16_t`
    Int16 = "i16", "int16_t": Signed of 16,
    /// `uint16_t`
    Uint16 = "u16", "uint16_t": Unsigned of 16,
    /// `int64_t`
    Int64 = "i64", "int64_t": Signed of 64,
    /// `uint64_t`
    Uint64 = "u64", "uint64_t": Unsigned of 64,
    /// `float16_t`: binary16.
    Float16 = "f16", "float16_t": Float of 16,
    /// `float`: binary32.
    Float = "f32", "float": Float of 32,
    /// `double`: binary64.
    Double = "f64", "double": Float of 64,
}

impl Scalar {
    /// All types but bool, in the same order.
    pub const NUMBERS: [Scalar; Scalar::ALL.len() - 1] = Scalar::from_place(1);

    /// The integer types, in the same order.
    pub const INTEGERS: [Scalar; Scalar::NUMBERS.len() - Scalar::FLOATS] = Scalar::from_place(1);

    /// Bool and the integer types: what has bits.
    pub const DISCRETE: [Scalar; Scalar::ALL.len() - Scalar::FLOATS] = Scalar::from_place(0);

    /// How many floating-point types there are.
    const FLOATS: usize = {
        let (mut count, mut at) = (0, 0);
        while at < Scalar::ALL.len() {
            count += Scalar::ALL[at].is_float() as usize;
            at += 1;
        }
        count
    };

    /// Some types in a row, from a place in [`Scalar::ALL`].
    const fn from_place<const N: usize>(first: usize) -> [Scalar; N] {
        let mut types = [Scalar::Bool; N];
        let mut at = 0;
        while at < N {
            types[at] = Scalar::ALL[first + at];
            at += 1;
        }
        types
    }

    /// The name in JSON and in messages: kind and width.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Size in bits; 1 for bool.
    pub const fn size(self) -> u32 {
        self.info().size
    }

    /// The bits a value of this type may have set.
    pub const fn bits(self) -> u64 {
        u64::MAX >> (64 - self.size())
    }

    /// True for the signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self.info().kind, ScalarKind::Signed)
    }

    /// True for `int` and `uint`, the types of GLSL without extensions.
    pub const fn is_word(self) -> bool {
        self.is_integer() && self.size() == 32
    }

    /// True for the floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self.info().kind, ScalarKind::Float)
    }

    /// True for the integers of every width.
    pub const fn is_integer(self) -> bool {
        matches!(self.info().kind, ScalarKind::Signed | ScalarKind::Unsigned)
    }

    /// True for the types that a device may lack: all that are not of 32 bits, and not bool.
    pub const fn is_extended(self) -> bool {
        !matches!(self, Scalar::Bool) && self.size() != 32
    }

    /// The unsigned integer of the same size; what is no signed integer stays.
    pub const fn unsigned(self) -> Scalar {
        if self.is_signed() { self.twin(false) } else { self }
    }

    /// The signed integer of the same size; what is no integer stays.
    pub const fn signed(self) -> Scalar {
        if self.is_integer() { self.twin(true) } else { self }
    }

    /// The integer of the same size that is signed, or is not.
    const fn twin(self, signed: bool) -> Scalar {
        let mut at = 0;
        while at < Scalar::INTEGERS.len() {
            let other = Scalar::INTEGERS[at];
            if other.size() == self.size() && other.is_signed() == signed {
                return other;
            }
            at += 1;
        }
        self
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

    /// The least value of a signed integer type.
    pub const fn least(self) -> i64 {
        self.extend(1 << (self.size() - 1)) as i64
    }

    /// Words that a logged value takes.
    pub const fn words(self) -> u64 {
        if self.size() == 64 { 2 } else { 1 }
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
    /// An array or a struct of aggregates, or a struct of members of several types.
    Nested(Nested),
}

/// What an aggregate is, whatever it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// None: a scalar or vector.
    Single,
    /// An array, of whatever elements.
    Array,
    /// A matrix, of floats.
    Matrix,
    /// A struct, of whatever members.
    Struct,
}

/// A scalar or a vector of two to four components, or an aggregate. Its JSON form is the text of [`Display`](fmt::Display).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    /// The component type; bool of a nested aggregate, whose [`scalars`](Type::scalars) may be several.
    pub scalar: Scalar,
    /// Number of components, 1 to 4; 1 is the scalar itself. Of an aggregate: of each element. 1 of a nested aggregate.
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

    /// A vector of so many components, 2 to 4; of 1 the scalar.
    pub const fn vector(scalar: Scalar, width: u8) -> Type {
        Type { scalar, width, shape: Shape::Single }
    }

    /// An array of so many elements; `None` if there is no such type.
    pub fn array(element: Type, count: u8) -> Option<Type> {
        let ty = match element.shape {
            Shape::Single => Type { shape: Shape::Array(count), ..element },
            _ => Nested::array(element, count)?.into(),
        };
        Some(ty).filter(|ty| ty.exists())
    }

    /// A struct with these members; `None` if there is no such type.
    pub fn structure(members: &[Type]) -> Option<Type> {
        let ty = match members {
            [first, rest @ ..] if first.is_single() && rest.iter().all(|member| member == first) => {
                Type { shape: Shape::Struct(members.len().try_into().ok()?), ..*first }
            }
            _ => Nested::structure(members)?.into(),
        };
        Some(ty).filter(|ty| ty.exists())
    }

    /// True for one-component types.
    pub const fn is_scalar(self) -> bool {
        self.width == 1 && self.is_single()
    }

    /// True for scalars and vectors.
    pub const fn is_single(self) -> bool {
        matches!(self.shape, Shape::Single)
    }

    /// True for aggregates that are not made of one scalar or vector type alone.
    pub const fn is_nested(self) -> bool {
        matches!(self.shape, Shape::Nested(_))
    }

    /// Which kind of aggregate it is, if any.
    pub const fn kind(self) -> Kind {
        match self.shape {
            Shape::Single => Kind::Single,
            Shape::Array(_) => Kind::Array,
            Shape::Matrix(_) => Kind::Matrix,
            Shape::Struct(_) => Kind::Struct,
            Shape::Nested(nested) => nested.kind(),
        }
    }

    /// Elements of an array, columns of a matrix, members of a struct; 1 for scalars and vectors.
    pub const fn elements(self) -> u8 {
        match self.shape {
            Shape::Single => 1,
            Shape::Array(n) | Shape::Matrix(n) | Shape::Struct(n) => n,
            Shape::Nested(nested) => nested.count(),
        }
    }

    /// What each index gives: the elements of an aggregate, the components of a vector; nothing for scalars.
    pub fn parts(self) -> impl Iterator<Item = Type> + Clone {
        let (one, nested) = match self.shape {
            Shape::Nested(nested) => (None, Some(nested)),
            _ => (self.indexed(), None),
        };
        let alike = one.into_iter().flat_map(|(part, count)| std::iter::repeat_n(part, count.into()));
        alike.chain(nested.into_iter().flat_map(Nested::parts))
    }

    /// What an index gives; only where members of several types make a difference, the index has to be a literal.
    pub fn part(self, index: Option<u32>) -> Option<Type> {
        match (self.indexed(), index) {
            (Some((part, _)), _) => Some(part),
            (None, Some(index)) => self.parts().nth(index as usize),
            (None, None) => None,
        }
    }

    /// What an index gives whatever it is, and how many values it may have; `None` if it has no parts, or they are of several types.
    pub fn indexed(self) -> Option<(Type, u8)> {
        match self.shape {
            Shape::Single if self.width == 1 => None,
            Shape::Single => Some((Type::scalar(self.scalar), self.width)),
            Shape::Array(_) | Shape::Matrix(_) | Shape::Struct(_) => {
                Some((Type { shape: Shape::Single, ..self }, self.elements()))
            }
            Shape::Nested(nested) => {
                let mut parts = nested.parts();
                let first = parts.next()?;
                parts.all(|part| part == first).then_some((first, nested.count()))
            }
        }
    }

    /// The scalars and vectors that it is made of, in order.
    pub fn singles(self) -> impl Iterator<Item = Type> {
        let (count, nested) = match self.shape {
            Shape::Nested(nested) => (0, nested.singles()),
            _ => (self.elements(), Vec::new()),
        };
        std::iter::repeat_n(Type { shape: Shape::Single, ..self }, count.into()).chain(nested)
    }

    /// The types of its scalars: one, or of a nested aggregate those of all its parts.
    pub fn scalars(self) -> impl Iterator<Item = Scalar> {
        let one = (!self.is_nested()).then_some(self.scalar);
        let nested = self.is_nested().then(|| self.singles().map(|single| single.scalar));
        one.into_iter().chain(nested.into_iter().flatten())
    }

    /// It with other scalar types; `None` if there is no such type.
    pub fn with_scalars(self, map: impl Fn(Scalar) -> Scalar) -> Option<Type> {
        let ty = match self.shape {
            Shape::Nested(nested) => nested.with_scalars(map)?,
            _ => Type { scalar: map(self.scalar), ..self },
        };
        Some(ty).filter(|ty| ty.exists())
    }

    /// It with other parts, if it is nested; `None` if there is no such type.
    pub fn with_parts(self, part: impl Fn(Type) -> Option<Type>) -> Option<Type> {
        match self.shape {
            Shape::Nested(nested) if nested.kind() == Kind::Array => {
                Type::array(part(self.part(Some(0))?)?, nested.count())
            }
            Shape::Nested(_) => Type::structure(&self.parts().map(part).collect::<Option<Vec<Type>>>()?),
            _ => Some(self),
        }
    }

    /// Scalars in all of it.
    pub fn components(self) -> usize {
        match self.shape {
            Shape::Nested(nested) => nested.components(),
            _ => self.width as usize * self.elements() as usize,
        }
    }

    /// Scalars before one of its parts.
    pub fn components_before(self, part: usize) -> usize {
        match self.indexed() {
            Some((element, _)) => part * element.components(),
            None => self.parts().take(part).map(Type::components).sum(),
        }
    }

    /// Words that all of it takes in a log.
    pub fn words(self) -> u64 {
        match self.shape {
            Shape::Nested(_) => self.singles().map(Type::words).sum(),
            _ => self.components() as u64 * self.scalar.words(),
        }
    }

    /// How deep aggregates stand in each other: 0 for scalars and vectors.
    pub fn depth(self) -> usize {
        match self.shape {
            Shape::Single => 0,
            Shape::Array(_) | Shape::Matrix(_) | Shape::Struct(_) => 1,
            Shape::Nested(nested) => 1 + nested.parts().map(Type::depth).max().unwrap_or(0),
        }
    }

    /// The structs that it is made of, itself among them, those within others first.
    pub fn structs(self) -> Vec<Type> {
        let mut found: Vec<Type> = match self.shape {
            Shape::Nested(nested) => nested.parts().flat_map(Type::structs).collect(),
            _ => Vec::new(),
        };
        found.extend((self.kind() == Kind::Struct).then_some(self));
        found
    }

    /// True if there is such a type.
    pub fn exists(self) -> bool {
        let single = (1..=4).contains(&self.width);
        single
            && match self.shape {
                Shape::Single => true,
                Shape::Array(n) => (2..=64).contains(&n),
                Shape::Matrix(n) => (2..=4).contains(&n) && self.width > 1 && self.scalar.is_float(),
                Shape::Struct(n) => (2..=4).contains(&n),
                Shape::Nested(nested) => nested.exists() && self == nested.into(),
            }
    }
}

/// The name in JSON and in messages: `u32x4`, `array(u32x4, 2)`, `matrix(f32x3, 2)` of two columns, `struct(i32x2, 3)` of three members
/// alike, `struct(i32x2, u8)` of two.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let single = Type { shape: Shape::Single, ..*self };
        match self.shape {
            Shape::Single if self.width == 1 => f.write_str(self.scalar.name()),
            Shape::Single => write!(f, "{}x{}", self.scalar.name(), self.width),
            Shape::Array(n) => write!(f, "array({single}, {n})"),
            Shape::Matrix(n) => write!(f, "matrix({single}, {n})"),
            Shape::Struct(n) => write!(f, "struct({single}, {n})"),
            Shape::Nested(nested) => nested.fmt(f),
        }
    }
}

/// Of the name, or of that in format 1.
impl FromStr for Type {
    type Err = String;

    fn from_str(name: &str) -> Result<Type, String> {
        let known = named(name).or_else(|| named_in_format_1(name));
        known.filter(|ty| ty.exists()).ok_or_else(|| format!("unknown type '{name}'"))
    }
}

/// The type of a name in format 1: `uvec4`, `uvec4[2]`, `mat2x3` of two columns, `Struct_ivec2_3`. It may be one that does not exist.
fn named_in_format_1(name: &str) -> Option<Type> {
    let many = |single_type: &str, count: &str, shape: fn(u8) -> Shape| {
        Some(Type { shape: shape(count.parse().ok()?), ..single_in_format_1(single_type)? })
    };
    let array = || name.strip_suffix(']')?.split_once('[').and_then(|(of, n)| many(of, n, Shape::Array));
    let structure = || name.strip_prefix("Struct_")?.rsplit_once('_').and_then(|(of, n)| many(of, n, Shape::Struct));
    let matrix = || {
        name.split_once('x').and_then(|(columns, rows)| {
            let (prefix, count) = columns.split_at_checked(columns.len().checked_sub(1)?)?;
            many(&format!("{}vec{rows}", prefix.strip_suffix("mat")?), count, Shape::Matrix)
        })
    };
    single_in_format_1(name).or_else(array).or_else(structure).or_else(matrix)
}

fn single_in_format_1(name: &str) -> Option<Type> {
    let scalar = |name: &str| Scalar::ALL.into_iter().find(|scalar| scalar.info().format_1 == name);
    if let Some(scalar) = scalar(name) {
        return Some(Type::scalar(scalar));
    }
    let (prefix, width) = name.split_once("vec")?;
    let scalar = match prefix {
        "b" => Scalar::Bool,
        "i" => Scalar::Int,
        "u" => Scalar::Uint,
        "" => Scalar::Float,
        "d" => Scalar::Double,
        _ => Scalar::ALL.into_iter().find(|scalar| scalar.is_extended() && scalar.name() == prefix)?,
    };
    let width = width.parse().ok().filter(|width| *width > 1)?;
    Some(Type::vector(scalar, width))
}

fn named(name: &str) -> Option<Type> {
    let ty = if name.len() <= LONGEST_NAME { read(name)? } else { return None };
    // One spelling for each type, so that what is read is written again.
    (ty.to_string() == name).then_some(ty)
}

/// No name of a type is longer, so that nobody reads deeper.
const LONGEST_NAME: usize = 200;

fn read(name: &str) -> Option<Type> {
    let Some((kind, parts)) = name.strip_suffix(')').and_then(|name| name.split_once('(')) else {
        let (scalar, width) = name.split_once('x').unwrap_or((name, "1"));
        let scalar = Scalar::ALL.into_iter().find(|known| known.name() == scalar)?;
        return Some(Type::vector(scalar, width.parse().ok()?));
    };
    let parts = list(parts);
    let [first, rest @ ..] = parts.as_slice() else { return None };
    let first = read(first)?;
    let count = match rest {
        [count] => count.parse::<u8>().ok(),
        _ => None,
    };
    match (kind, count) {
        ("array", Some(count)) => Type::array(first, count),
        ("matrix", Some(count)) if first.is_single() => Some(Type { shape: Shape::Matrix(count), ..first }),
        ("struct", Some(count)) if count <= 4 => Type::structure(&vec![first; count.into()]),
        ("struct", None) => {
            let rest = rest.iter().map(|part| read(part));
            Type::structure(&std::iter::once(Some(first)).chain(rest).collect::<Option<Vec<Type>>>()?)
        }
        _ => None,
    }
}

/// What stands between the commas that are in no parentheses.
fn list(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut first) = (Vec::new(), 0, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[first..at].trim_start());
                first = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[first..].trim_start());
    parts
}

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Type {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Type, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
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
    fn names_of_scalars() {
        for scalar in Scalar::ALL {
            assert_eq!(serde_json::to_string(&scalar).unwrap(), format!("\"{}\"", scalar.name()));
            let old = format!("\"{}\"", scalar.info().format_1);
            assert_eq!(serde_json::from_str::<Scalar>(&old).unwrap(), scalar);
        }
    }

    #[test]
    fn names_of_types() {
        for (name, format_1) in [
            ("bool", "bool"),
            ("i32", "int"),
            ("u32", "uint"),
            ("u32x4", "uvec4"),
            ("boolx2", "bvec2"),
            ("i32x3", "ivec3"),
            ("i8", "int8_t"),
            ("i8x3", "i8vec3"),
            ("u16x3", "u16vec3"),
            ("i64x2", "i64vec2"),
            ("f32x4", "vec4"),
            ("f64x2", "dvec2"),
            ("f16x3", "f16vec3"),
            ("array(u32, 2)", "uint[2]"),
            ("array(i8x3, 8)", "i8vec3[8]"),
            ("matrix(f32x3, 2)", "mat2x3"),
            ("matrix(f64x4, 4)", "dmat4x4"),
            ("matrix(f16x2, 3)", "f16mat3x2"),
            ("struct(i8, 2)", "Struct_int8_t_2"),
            ("struct(boolx2, 4)", "Struct_bvec2_4"),
        ] {
            let ty: Type = name.parse().unwrap();
            assert_eq!(ty.to_string(), name);
            assert_eq!(format_1.parse(), Ok(ty));
            assert_eq!(serde_json::to_value(ty).unwrap(), name);
            assert_eq!(serde_json::from_value::<Type>(format_1.into()).unwrap(), ty);
        }
        for bad in [
            "u32x1",
            "u32x5",
            "u32x04",
            "array(u32, 1)",
            "array(u32)",
            "matrix(u32x2, 2)",
            "list(u32, 2)",
            "u33",
            "uvec1",
            "uvec5",
            "vec",
            "",
            "uint[1]",
            "uint[65]",
            "uint[]",
            "umat2x2",
            "mat1x2",
            "Struct_uint_5",
            "Struct_2",
            "struct(u32)",
            "struct(u32, u32)",
            "struct(u32, u8, u8, u8, u8)",
            "struct(array(u32, 2), array(u32, 2))",
            "array(matrix(f32x2, 2), 1)",
            "matrix(array(f32x2, 2), 2)",
            "matrix(f32x2, f32x2)",
            "struct(matrix(u32x2, 2), u8)",
            "struct(u32,u8)",
            "struct(u32, u8",
            "struct(u32, u8))",
            "array(array(u32, 64), 2)",
            "array(struct(u32, struct(u32, array(u8, 2), array(u8, 3), i8), array(u8, 4), array(i8, 4)), 2)",
        ] {
            assert!(bad.parse::<Type>().is_err(), "{bad}");
        }
        assert!("array(".repeat(100_000).parse::<Type>().is_err());
    }

    #[test]
    fn parts_of_types() {
        for (name, parts, singles, words) in [
            ("u32", &[] as &[&str], &["u32"] as &[&str], 1),
            ("f64x2", &["f64"; 2], &["f64x2"], 4),
            ("array(u8x2, 3)", &["u8x2"; 3], &["u8x2"; 3], 6),
            ("struct(u32, i64)", &["u32", "i64"], &["u32", "i64"], 3),
            ("array(array(u32, 2), 3)", &["array(u32, 2)"; 3], &["u32"; 6], 6),
            ("struct(matrix(f32x2, 2), 2)", &["matrix(f32x2, 2)"; 2], &["f32x2"; 4], 8),
            (
                "array(struct(bool, array(i16x3, 2)), 2)",
                &["struct(bool, array(i16x3, 2))"; 2],
                &["bool", "i16x3", "i16x3", "bool", "i16x3", "i16x3"],
                14,
            ),
            (
                "struct(struct(u32, 2), u8, struct(f16, f32x4))",
                &["struct(u32, 2)", "u8", "struct(f16, f32x4)"],
                &["u32", "u32", "u8", "f16", "f32x4"],
                8,
            ),
        ] {
            let ty: Type = name.parse().unwrap();
            assert_eq!(ty.to_string(), name);
            let names = |types: Vec<Type>| types.iter().map(Type::to_string).collect::<Vec<_>>();
            assert_eq!(names(ty.parts().collect()), parts, "{name}");
            assert_eq!(names(ty.singles().collect()), singles, "{name}");
            assert_eq!(
                (ty.words(), ty.components_before(parts.len())),
                (words, if ty.is_scalar() { 0 } else { ty.components() })
            );
            for (number, part) in (0..).zip(ty.parts()) {
                assert_eq!(ty.part(Some(number)), Some(part));
            }
            assert_eq!(ty.with_scalars(|scalar| scalar), Some(ty));
        }
        let of_two: Type = "struct(u32, u8)".parse().unwrap();
        assert_eq!(of_two.with_scalars(|_| Scalar::Int).unwrap().to_string(), "struct(i32, 2)");
        assert_eq!((of_two.part(None), of_two.part(Some(2))), (None, None));
    }

    #[test]
    fn signs() {
        for (signed, unsigned) in
            [(Scalar::Int, Scalar::Uint), (Scalar::Int8, Scalar::Uint8), (Scalar::Int64, Scalar::Uint64)]
        {
            assert_eq!((signed.unsigned(), unsigned.signed()), (unsigned, signed));
            assert_eq!((unsigned.unsigned(), signed.signed()), (unsigned, signed));
        }
        for other in [Scalar::Bool, Scalar::Float16, Scalar::Float] {
            assert_eq!((other.unsigned(), other.signed()), (other, other));
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
