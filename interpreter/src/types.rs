//! Types and layouts (SPIR-V 1.6 §2.16.4, §3.52.6).
//!
//! A value of any type is a row of *cells*, one for each scalar in it, in order. Memory that has a layout (buffers, and workgroup memory, for which one
//! is made up if the module gives none) is bytes; memory without one (function, private, input) is cells again.

use rspirv::spirv::{Dim, ImageFormat};

use crate::outcome::Error;

/// Number of a type: an index into [`Types`].
pub(crate) type TypeId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scalar {
    Bool,
    /// Width in bits, and whether it is signed.
    Int(u8, bool),
    /// Width in bits.
    Float(u8),
    /// A pointer, or the address of one.
    Pointer,
}

impl Scalar {
    pub fn width(self) -> u8 {
        match self {
            Scalar::Bool => 1,
            Scalar::Int(width, _) | Scalar::Float(width) => width,
            Scalar::Pointer => 64,
        }
    }

    /// Bytes in memory with a layout. A Boolean has none of its own; where a layout is made up it takes four.
    pub fn bytes(self) -> u32 {
        match self {
            Scalar::Bool => 4,
            other => u32::from(other.width()) / 8,
        }
    }
}

/// A member of a structure.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub ty: TypeId,
    pub offset: Option<u32>,
    pub matrix: Option<MatrixLayout>,
    pub read_only: bool,
    /// Decorated `Coherent`, or `Volatile`, which implies it.
    pub coherent: bool,
    pub volatile: bool,
    pub built_in: Option<u32>,
}

/// `MatrixStride` with `RowMajor` or `ColMajor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixLayout {
    pub stride: u32,
    pub row_major: bool,
}

/// An image type (`OpTypeImage`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// Coordinates of a texel: one to three, and one for the layer. Of a cube those of a face.
    pub dimensions: u32,
    /// What is read and written.
    pub sampled: Scalar,
    pub dim: Dim,
    pub arrayed: bool,
    /// How a texel lies in memory.
    pub format: Format,
    /// The format that the type names, or the one that stands in for it.
    pub named: ImageFormat,
    /// The type names a format.
    pub has_format: bool,
    /// Read with a sampler or by `OpImageFetch`, and not written.
    pub is_sampled: bool,
    /// Several samples for each texel: none of them is kept.
    pub multisampled: bool,
}

/// How a texel lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// What is stored, and how many of it.
    pub stored: Scalar,
    pub count: u32,
    /// Bits of the components, from the lowest, if they lie in one stored word together. 0 where there are fewer.
    pub fields: Option<[u8; 4]>,
    pub encoding: Encoding,
}

/// What the bits of a component say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// The value itself: an integer or a float of the stored type.
    Plain,
    /// Normalised fixed point; signed or not.
    Normalised(bool),
    /// A float without a sign, with five bits of exponent.
    SmallFloat,
}

impl Format {
    /// Bytes of a texel.
    pub fn bytes(self) -> u32 {
        self.count * self.stored.bytes()
    }

    /// Components of a texel.
    pub fn components(self) -> usize {
        match self.fields {
            Some(fields) => fields.iter().filter(|bits| **bits > 0).count(),
            None => self.count as usize,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Type {
    Void,
    Scalar(Scalar),
    Vector(TypeId, u32),
    /// Column type and number of columns.
    Matrix(TypeId, u32),
    /// Element, length, and stride in bytes if it has a layout.
    Array(TypeId, u64, Option<u32>),
    RuntimeArray(TypeId, Option<u32>),
    Struct(Vec<Member>),
    Pointer(u32, TypeId),
    Function,
    Image(Image),
    /// An image with a sampler.
    SampledImage(TypeId),
    Sampler,
    /// A type that may be declared and not used, since it is not supported: what it is, for messages.
    Opaque(&'static str),
}

/// Where a scalar of a value lies in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub offset: u64,
    pub scalar: Scalar,
}

/// The most cells a value may have, the most parts a type may be written out in, and how deep types may be nested.
pub(crate) const MAX_CELLS: u64 = 1 << 20;
const MAX_PARTS: u32 = 1 << 16;
const MAX_DEPTH: u32 = 64;

#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    types: Vec<Type>,
    cells: Vec<u64>,
    depth: Vec<u32>,
    /// Types in it, an array's element counted once.
    parts: Vec<u32>,
}

impl Types {
    pub fn get(&self, ty: TypeId) -> &Type {
        &self.types[ty as usize]
    }

    /// Adds a type whose parts are there already.
    pub fn add(&mut self, ty: Type) -> Result<TypeId, Error> {
        let (cells, depth) = match &ty {
            Type::Void | Type::Opaque(_) | Type::Image(_) | Type::SampledImage(_) | Type::Sampler | Type::Function => {
                (0, 0)
            }
            Type::Scalar(_) | Type::Pointer(..) => (1, 0),
            Type::Vector(part, n) | Type::Matrix(part, n) => {
                (self.cells[*part as usize].saturating_mul(u64::from(*n)), self.depth[*part as usize] + 1)
            }
            Type::Array(part, n, _) => (self.cells[*part as usize].saturating_mul(*n), self.depth[*part as usize] + 1),
            Type::RuntimeArray(part, _) => (0, self.depth[*part as usize] + 1),
            Type::Struct(members) => {
                let cells = members.iter().fold(0u64, |sum, m| sum.saturating_add(self.cells[m.ty as usize]));
                (cells, members.iter().map(|m| self.depth[m.ty as usize] + 1).max().unwrap_or(0))
            }
        };
        let parts = match &ty {
            Type::Vector(part, _) | Type::Matrix(part, _) | Type::Array(part, ..) | Type::RuntimeArray(part, _) => {
                self.parts[*part as usize].saturating_add(1)
            }
            Type::Struct(members) => {
                members.iter().fold(1u32, |sum, member| sum.saturating_add(self.parts[member.ty as usize]))
            }
            _ => 1,
        };
        if depth > MAX_DEPTH || parts > MAX_PARTS {
            return Err(Error::Memory("types are nested too deeply".into()));
        }
        self.parts.push(parts);
        self.types.push(ty);
        self.cells.push(cells);
        self.depth.push(depth);
        Ok(self.types.len() as TypeId - 1)
    }

    /// True for images and samplers, which are no values.
    pub fn is_opaque(&self, ty: TypeId) -> bool {
        matches!(self.get(ty), Type::Opaque(_) | Type::Image(_) | Type::SampledImage(_) | Type::Sampler)
    }

    /// The image of an image type, with a sampler or without.
    pub fn image(&self, ty: TypeId) -> Option<Image> {
        match *self.get(ty) {
            Type::Image(image) => Some(image),
            Type::SampledImage(image) => match *self.get(image) {
                Type::Image(image) => Some(image),
                _ => None,
            },
            _ => None,
        }
    }

    /// Completes a pointer that was declared by `OpTypeForwardPointer`.
    pub fn set_pointee(&mut self, ty: TypeId, pointee: TypeId) {
        if let Type::Pointer(_, old) = &mut self.types[ty as usize] {
            *old = pointee;
        }
    }

    /// Number of scalars; 0 for types without values, and for run-time arrays.
    pub fn cells(&self, ty: TypeId) -> u64 {
        self.cells[ty as usize]
    }

    pub fn scalar(&self, ty: TypeId) -> Option<Scalar> {
        match self.get(ty) {
            Type::Scalar(scalar) => Some(*scalar),
            Type::Pointer(..) => Some(Scalar::Pointer),
            _ => None,
        }
    }

    /// The scalar of a scalar or vector, with the number of components.
    pub fn components(&self, ty: TypeId) -> Option<(Scalar, u32)> {
        match self.get(ty) {
            Type::Vector(part, n) => Some((self.scalar(*part)?, *n)),
            _ => Some((self.scalar(ty)?, 1)),
        }
    }

    /// The element at a literal index of a composite: its type and first cell.
    pub fn element(&self, ty: TypeId, index: u64) -> Option<(TypeId, u64)> {
        match self.get(ty) {
            Type::Vector(part, n) | Type::Matrix(part, n) => {
                (index < u64::from(*n)).then(|| (*part, index * self.cells(*part)))
            }
            Type::Array(part, n, _) => (index < *n).then(|| (*part, index * self.cells(*part))),
            Type::Struct(members) => {
                let member = members.get(usize::try_from(index).ok()?)?;
                Some((member.ty, members[..index as usize].iter().map(|m| self.cells(m.ty)).sum()))
            }
            _ => None,
        }
    }

    /// The scalars of a type in the order of its cells.
    pub fn scalars(&self, ty: TypeId, out: &mut Vec<Scalar>) {
        if self.cells(ty) == 0 {
            return;
        }
        match self.get(ty) {
            Type::Scalar(scalar) => out.push(*scalar),
            Type::Pointer(..) => out.push(Scalar::Pointer),
            Type::Vector(part, n) | Type::Matrix(part, n) => (0..*n).for_each(|_| self.scalars(*part, out)),
            Type::Array(part, n, _) => (0..*n).for_each(|_| self.scalars(*part, out)),
            Type::Struct(members) => members.iter().for_each(|m| self.scalars(m.ty, out)),
            Type::Void
            | Type::RuntimeArray(..)
            | Type::Function
            | Type::Image(_)
            | Type::SampledImage(_)
            | Type::Sampler
            | Type::Opaque(_) => {}
        }
    }

    /// Alignment and size where a layout is made up: scalars after each other, each at a multiple of its size.
    fn natural(&self, ty: TypeId) -> (u64, u64) {
        match self.get(ty) {
            Type::Scalar(scalar) => (u64::from(scalar.bytes()), u64::from(scalar.bytes())),
            Type::Pointer(..) => (8, 8),
            Type::Vector(part, n) | Type::Matrix(part, n) => {
                let (align, size) = self.natural(*part);
                (align, size.saturating_mul(u64::from(*n)))
            }
            Type::Array(part, n, _) => {
                let (align, size) = self.natural(*part);
                (align, size.saturating_mul(*n))
            }
            Type::Struct(members) => {
                let (mut align, mut size) = (1, 0u64);
                for member in members {
                    let (a, s) = self.natural(member.ty);
                    align = align.max(a);
                    size = size.next_multiple_of(a).saturating_add(s);
                }
                (align, size.next_multiple_of(align))
            }
            _ => (1, 0),
        }
    }

    /// The offset of a member.
    pub fn member_offset(&self, ty: TypeId, index: usize) -> u64 {
        let Type::Struct(members) = self.get(ty) else { return 0 };
        if let Some(offset) = members.get(index).and_then(|member| member.offset) {
            return u64::from(offset);
        }
        let mut at = 0u64;
        for (i, member) in members.iter().enumerate() {
            let (align, size) = self.natural(member.ty);
            at = at.next_multiple_of(align);
            if i == index {
                break;
            }
            at = at.saturating_add(size);
        }
        at
    }

    /// Bytes from one element of an array to the next.
    pub fn stride(&self, part: TypeId, stride: Option<u32>) -> u64 {
        stride.map_or_else(|| self.natural(part).1, u64::from)
    }

    /// Bytes that a value of the type takes in memory with a layout; a run-time array counts for nothing.
    pub fn size(&self, ty: TypeId, matrix: Option<MatrixLayout>) -> u64 {
        match self.get(ty) {
            Type::Array(part, n, stride) if *n > 0 => {
                let stride = self.stride(*part, *stride);
                stride.saturating_mul(n - 1).saturating_add(self.size(*part, matrix))
            }
            Type::Matrix(column, n) => match (matrix, self.get(*column)) {
                (Some(layout), Type::Vector(part, rows)) => {
                    let (strides, inner) = if layout.row_major { (*rows, *n) } else { (*n, *rows) };
                    let bytes = self.size(*part, None) * u64::from(inner);
                    u64::from(layout.stride) * u64::from(strides.saturating_sub(1)) + bytes
                }
                _ => self.natural(ty).1,
            },
            Type::Struct(members) => {
                let ends = members
                    .iter()
                    .enumerate()
                    .map(|(i, m)| self.member_offset(ty, i).saturating_add(self.size(m.ty, m.matrix)));
                ends.max().unwrap_or(0)
            }
            _ => self.natural(ty).1,
        }
    }

    /// Where the scalars of a value lie, from `base`, in the order of its cells. `step` is the distance of a vector's components if they lie in a row
    /// of a row-major matrix.
    pub fn leaves(&self, ty: TypeId, base: u64, matrix: Option<MatrixLayout>, step: Option<u64>, out: &mut Vec<Leaf>) {
        if self.cells(ty) == 0 {
            return;
        }
        match self.get(ty) {
            Type::Scalar(scalar) => out.push(Leaf { offset: base, scalar: *scalar }),
            Type::Pointer(..) => out.push(Leaf { offset: base, scalar: Scalar::Pointer }),
            Type::Vector(part, n) => {
                let step = step.unwrap_or_else(|| self.natural(*part).1);
                (0..u64::from(*n)).for_each(|i| self.leaves(*part, base.saturating_add(i * step), None, None, out));
            }
            Type::Matrix(column, n) => {
                for i in 0..u64::from(*n) {
                    let (offset, step) = self.column(*column, i, matrix);
                    self.leaves(*column, base.saturating_add(offset), None, step, out);
                }
            }
            Type::Array(part, n, stride) => {
                let stride = self.stride(*part, *stride);
                for i in 0..*n {
                    self.leaves(*part, base.saturating_add(i.saturating_mul(stride)), matrix, None, out);
                }
            }
            Type::Struct(members) => {
                for (i, member) in members.iter().enumerate() {
                    let offset = self.member_offset(ty, i);
                    self.leaves(member.ty, base.saturating_add(offset), member.matrix, None, out);
                }
            }
            Type::Void
            | Type::RuntimeArray(..)
            | Type::Function
            | Type::Image(_)
            | Type::SampledImage(_)
            | Type::Sampler
            | Type::Opaque(_) => {}
        }
    }

    /// Offset of a column in a matrix, and the distance of its components.
    pub fn column(&self, column: TypeId, index: u64, matrix: Option<MatrixLayout>) -> (u64, Option<u64>) {
        let Type::Vector(part, _) = self.get(column) else { return (0, None) };
        match matrix {
            Some(layout) if layout.row_major => (index * self.natural(*part).1, Some(u64::from(layout.stride))),
            Some(layout) => (index.saturating_mul(u64::from(layout.stride)), None),
            None => (index.saturating_mul(self.natural(column).1), None),
        }
    }
}
