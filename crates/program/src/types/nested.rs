//! Aggregates of aggregates, and structs of members of several types.

use std::fmt;

use super::nodes::{MAX_NODES, Nested};
use super::{Kind, Scalar, Shape, Type};

/// The most scalars in a value of a nested type.
const MAX_COMPONENTS: usize = 64;
/// The most members of a struct.
const MAX_MEMBERS: u8 = 4;
/// What no node is.
const NONE: u8 = u8::MAX;

/// A node: what [`Nested`] holds a byte of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    /// A scalar or vector.
    Single(Type),
    /// An aggregate of so many. The node of the element of an array or the column of a matrix follows; those of each member of a struct do.
    Aggregate(Kind, u8),
}

impl Node {
    const fn byte(self) -> u8 {
        match self {
            Node::Single(ty) => ty.scalar as u8 * 4 + ty.width - 1,
            Node::Aggregate(Kind::Matrix, count) => 0x40 | count,
            Node::Aggregate(Kind::Struct, count) => 0x50 | count,
            Node::Aggregate(_, count) => 0x80 | count,
        }
    }

    const fn of(byte: u8) -> Node {
        match byte {
            0x00..=0x3F => {
                let scalar = (byte / 4) as usize;
                let known = if scalar < Scalar::ALL.len() { scalar } else { 0 };
                Node::Single(Type::vector(Scalar::ALL[known], byte % 4 + 1))
            }
            0x40..=0x4F => Node::Aggregate(Kind::Matrix, byte & 0xF),
            0x50..=0x7F => Node::Aggregate(Kind::Struct, byte & 0xF),
            0x80.. => Node::Aggregate(Kind::Array, byte & 0x7F),
        }
    }
}

/// Writes the nodes of a type; `None` if there are too many, or no node says it.
fn write(ty: Type, nodes: &mut Vec<u8>) -> Option<()> {
    let own = match ty.shape {
        Shape::Nested(nested) => {
            nodes.extend(nested.nodes());
            return (nodes.len() <= MAX_NODES).then_some(());
        }
        Shape::Single => None,
        Shape::Array(count) => Some((Kind::Array, count, 1)),
        Shape::Matrix(count) => Some((Kind::Matrix, count, 1)),
        Shape::Struct(count) => Some((Kind::Struct, count, count)),
    };
    let parts = own.map_or(1, |(.., parts)| parts);
    nodes.extend(own.map(|(kind, count, _)| Node::Aggregate(kind, count).byte()));
    let single = Node::Single(Type { shape: Shape::Single, ..ty }).byte();
    nodes.extend(std::iter::repeat_n(single, parts.into()));
    (nodes.len() <= MAX_NODES).then_some(())
}

/// Reads a type off the front of nodes, and counts what it read.
fn read(nodes: &[u8]) -> Option<(Type, usize)> {
    let (kind, count) = match Node::of(*nodes.first().filter(|byte| **byte != NONE)?) {
        Node::Single(ty) => return Some((ty, 1)),
        Node::Aggregate(kind, count) => (kind, count),
    };
    let mut at = 1;
    let mut next = || {
        let (part, read) = read(nodes.get(at..)?)?;
        at += read;
        Some(part)
    };
    let ty = match kind {
        Kind::Struct => Type::structure(&(0..count).map(|_| next()).collect::<Option<Vec<Type>>>()?)?,
        Kind::Matrix => Type { shape: Shape::Matrix(count), ..next()? },
        Kind::Single | Kind::Array => Type::array(next()?, count)?,
    };
    Some((ty, at))
}

impl Nested {
    /// An array of aggregates; `None` if it is too large.
    pub(super) fn array(element: Type, count: u8) -> Option<Nested> {
        Nested::of(Kind::Array, count, &[element])
    }

    /// A struct; `None` if it is too large.
    pub(super) fn structure(members: &[Type]) -> Option<Nested> {
        Nested::of(Kind::Struct, members.len().try_into().ok()?, members)
    }

    fn of(kind: Kind, count: u8, parts: &[Type]) -> Option<Nested> {
        let most = if kind == Kind::Struct { MAX_MEMBERS } else { MAX_COMPONENTS as u8 };
        if !(2..=most).contains(&count) {
            return None;
        }
        let mut nodes = vec![Node::Aggregate(kind, count).byte()];
        parts.iter().try_for_each(|part| write(*part, &mut nodes))?;
        nodes.resize(MAX_NODES, NONE);
        nodes.try_into().ok().map(Nested)
    }

    /// The nodes that there are.
    fn nodes(self) -> impl Iterator<Item = u8> {
        self.0.into_iter().take_while(|byte| *byte != NONE)
    }

    pub(super) const fn kind(self) -> Kind {
        match Node::of(self.0[0]) {
            Node::Aggregate(kind, _) => kind,
            Node::Single(_) => Kind::Single,
        }
    }

    pub(super) const fn count(self) -> u8 {
        match Node::of(self.0[0]) {
            Node::Aggregate(_, count) => count,
            Node::Single(_) => 1,
        }
    }

    /// The elements or members.
    pub(super) fn parts(self) -> impl Iterator<Item = Type> + Clone {
        let is_struct = self.kind() == Kind::Struct;
        let mut at = 1;
        (0..self.count()).map_while(move |_| {
            let (part, nodes) = read(self.0.get(at..)?)?;
            at += if is_struct { nodes } else { 0 };
            Some(part)
        })
    }

    pub(super) fn components(self) -> usize {
        self.parts().map(Type::components).sum()
    }

    pub(super) fn singles(self) -> Vec<Type> {
        self.parts().flat_map(|part| part.singles().collect::<Vec<_>>()).collect()
    }

    pub(super) fn with_scalars(self, map: impl Fn(Scalar) -> Scalar) -> Option<Type> {
        let nodes = self.0.map(|byte| match Node::of(byte) {
            Node::Single(ty) => Node::Single(Type { scalar: map(ty.scalar), ..ty }).byte(),
            Node::Aggregate(..) => byte,
        });
        read(&nodes).map(|(ty, _)| ty)
    }

    /// True if there is such a type: its parts exist, and it is not too large.
    pub(super) fn exists(self) -> bool {
        self.parts().all(Type::exists) && self.components() <= MAX_COMPONENTS
    }
}

impl From<Nested> for Type {
    fn from(nested: Nested) -> Type {
        Type { shape: Shape::Nested(nested), ..Type::BOOL }
    }
}

impl fmt::Debug for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of the type: `struct(u32, array(f32x2, 3))`, `array(struct(u32, i8), 2)`; of members alike, their number.
impl fmt::Display for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.kind() == Kind::Struct { "struct" } else { "array" };
        write!(f, "{kind}(")?;
        match Type::from(*self).indexed() {
            Some((part, count)) => write!(f, "{part}, {count})"),
            None => {
                for (number, part) in self.parts().enumerate() {
                    write!(f, "{}{part}", if number == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}
