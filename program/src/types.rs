//! Types of the language: bool, int and uint scalars and their vectors.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A scalar type of GLSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    /// `bool`; a lane holds 0 or 1.
    Bool,
    /// `int`: 32-bit two's complement, wrapping (GLSL 4.60 §4.1.3).
    Int,
    /// `uint`: 32 bits, wrapping.
    Uint,
}

impl Scalar {
    /// Every scalar type, in the order tables print them.
    pub const ALL: [Scalar; 3] = [Scalar::Bool, Scalar::Int, Scalar::Uint];

    /// The bits a value of this type may have set.
    pub const fn bits(self) -> u64 {
        match self {
            Scalar::Bool => 1,
            Scalar::Int | Scalar::Uint => 0xFFFF_FFFF,
        }
    }

    /// The GLSL name of the scalar type.
    pub const fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Int => "int",
            Scalar::Uint => "uint",
        }
    }

    const fn vector_prefix(self) -> &'static str {
        match self {
            Scalar::Bool => "bvec",
            Scalar::Int => "ivec",
            Scalar::Uint => "uvec",
        }
    }
}

/// A scalar or a vector of two to four components. Its JSON form is the GLSL name, `"uvec4"` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    /// The component type.
    pub scalar: Scalar,
    /// Number of components, 1 to 4; 1 is the scalar itself.
    pub width: u8,
}

impl Type {
    /// `bool`.
    pub const BOOL: Type = Type::scalar(Scalar::Bool);
    /// `int`.
    pub const INT: Type = Type::scalar(Scalar::Int);
    /// `uint`.
    pub const UINT: Type = Type::scalar(Scalar::Uint);
    /// `uvec4`: the type of ballots and of the subgroup masks.
    pub const MASK: Type = Type { scalar: Scalar::Uint, width: 4 };

    /// The scalar type itself.
    pub const fn scalar(scalar: Scalar) -> Type {
        Type { scalar, width: 1 }
    }

    /// True for one-component types.
    pub const fn is_scalar(self) -> bool {
        self.width == 1
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.width {
            1 => f.write_str(self.scalar.name()),
            n => write!(f, "{}{n}", self.scalar.vector_prefix()),
        }
    }
}

impl FromStr for Type {
    type Err = String;

    fn from_str(name: &str) -> Result<Type, String> {
        Scalar::ALL
            .into_iter()
            .flat_map(|scalar| (1..=4).map(move |width| Type { scalar, width }))
            .find(|ty| ty.to_string() == name)
            .ok_or_else(|| format!("unknown type '{name}'"))
    }
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
    fn names_round_trip() {
        for name in ["bool", "int", "uint", "bvec2", "ivec3", "uvec4"] {
            assert_eq!(name.parse::<Type>().unwrap().to_string(), name);
        }
        for bad in ["uvec1", "uvec5", "float", ""] {
            assert!(bad.parse::<Type>().is_err(), "{bad}");
        }
    }
}
