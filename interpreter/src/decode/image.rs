//! Storage images: loads, stores, sizes, and pointers to texels for atomics (SPIR-V 1.6 §3.52.10). An image is a buffer of texels, row by row, slice by
//! slice; how many there are is known of its descriptor.

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Dim, ImageFormat, ImageOperands, Op as Opcode};

use super::instructions::{float_width, integer_width};
use super::{Cells, Decoder, Def, Pointer, id_at, invalid, literal_at};
use crate::code::*;
use crate::outcome::Error;
use crate::types::{Image, Scalar, Type};

/// Operands that change nothing: what they promise of memory is checked by barriers alone.
const HARMLESS: ImageOperands = ImageOperands::MAKE_TEXEL_AVAILABLE
    .union(ImageOperands::MAKE_TEXEL_VISIBLE)
    .union(ImageOperands::NON_PRIVATE_TEXEL)
    .union(ImageOperands::VOLATILE_TEXEL)
    .union(ImageOperands::SIGN_EXTEND)
    .union(ImageOperands::ZERO_EXTEND)
    .union(ImageOperands::NONTEMPORAL);

/// Components and what one of them is, of the formats whose values are kept as they are.
fn format_of(format: ImageFormat) -> Option<(u32, Scalar)> {
    use ImageFormat as F;
    let (components, scalar) = match format {
        F::Rgba32f => (4, Scalar::Float(32)),
        F::Rg32f => (2, Scalar::Float(32)),
        F::R32f => (1, Scalar::Float(32)),
        F::Rgba16f => (4, Scalar::Float(16)),
        F::Rg16f => (2, Scalar::Float(16)),
        F::R16f => (1, Scalar::Float(16)),
        F::Rgba32i => (4, Scalar::Int(32, true)),
        F::Rg32i => (2, Scalar::Int(32, true)),
        F::R32i => (1, Scalar::Int(32, true)),
        F::Rgba32ui => (4, Scalar::Int(32, false)),
        F::Rg32ui => (2, Scalar::Int(32, false)),
        F::R32ui => (1, Scalar::Int(32, false)),
        F::Rgba16i => (4, Scalar::Int(16, true)),
        F::Rg16i => (2, Scalar::Int(16, true)),
        F::R16i => (1, Scalar::Int(16, true)),
        F::Rgba16ui => (4, Scalar::Int(16, false)),
        F::Rg16ui => (2, Scalar::Int(16, false)),
        F::R16ui => (1, Scalar::Int(16, false)),
        F::Rgba8i => (4, Scalar::Int(8, true)),
        F::Rg8i => (2, Scalar::Int(8, true)),
        F::R8i => (1, Scalar::Int(8, true)),
        F::Rgba8ui => (4, Scalar::Int(8, false)),
        F::Rg8ui => (2, Scalar::Int(8, false)),
        F::R8ui => (1, Scalar::Int(8, false)),
        F::R64i => (1, Scalar::Int(64, true)),
        F::R64ui => (1, Scalar::Int(64, false)),
        _ => return None,
    };
    Some((components, scalar))
}

impl Decoder<'_> {
    /// `OpTypeImage`: a storage image, or what is named where it is used.
    pub(super) fn image_type(&self, inst: &dr::Instruction) -> Result<Type, Error> {
        let sampled = self.types.scalar(self.type_of(id_at(inst, 0)?)?);
        let (Some(Operand::Dim(dim)), Some(&Operand::ImageFormat(format))) =
            (inst.operands.get(1), inst.operands.get(6))
        else {
            return Err(invalid("OpTypeImage without its operands"));
        };
        let (arrayed, multisampled, use_of) = (literal_at(inst, 3)?, literal_at(inst, 4)?, literal_at(inst, 5)?);
        let dimensions = match dim {
            Dim::Dim1D | Dim::DimBuffer => 1,
            Dim::Dim2D => 2,
            Dim::Dim3D => 3,
            _ => return Ok(Type::Opaque("an image of other than one to three dimensions")),
        };
        Ok(match (use_of, multisampled, sampled, format_of(format)) {
            (2, 0, Some(sampled), Some((components, scalar))) => {
                Type::Image(Image { dimensions: dimensions + arrayed.min(1), sampled, components, scalar })
            }
            (2, 0, Some(_), None) => {
                Type::Opaque("a storage image without a format, or with one of fixed point or of packed floats")
            }
            (2, ..) => Type::Opaque("a multisampled storage image"),
            _ => Type::Opaque("a sampled image"),
        })
    }

    /// The image that an id stands for, and where it is.
    fn image(&self, id: u32) -> Result<(Pointer, Image), Error> {
        let pointer = self.pointer(id)?;
        match *self.types.get(pointer.pointee) {
            Type::Image(image) => Ok((pointer, image)),
            _ => Err(invalid(format!("%{id} is no image"))),
        }
    }

    /// A column with the address of the texel at some coordinates.
    fn texel(&mut self, pointer: &Pointer, image: Image, coordinates: u32) -> Result<Reg, Error> {
        let (cells, scalar) = self.vector(coordinates)?;
        let Scalar::Int(width, signed) = scalar else { return Err(invalid("coordinates that are no integers")) };
        let Some(cells) = cells.get(..image.dimensions as usize) else {
            return Err(invalid("fewer coordinates than an image has dimensions"));
        };
        let size = u64::from(image.components * image.scalar.bytes());
        self.code.texels.push(Texel { base: pointer.base, size, width, signed });
        let (op, d) = (Op::Texel(self.code.texels.len() as u32 - 1), self.temp());
        self.push(op, d, [Self::base_operand(pointer), NONE, NONE], &[], cells);
        Ok(d)
    }

    /// An access to all components of a texel.
    fn texel_access(&mut self, texel: Reg, pointer: &Pointer, image: Image) -> u32 {
        let bytes = image.scalar.bytes();
        self.code.granule = self.code.granule.min(bytes);
        self.code.accesses.push(Access {
            base: Base::Reg(texel),
            space: Space::Bytes,
            leaves: (0..image.components).map(|at| (at * bytes, image.scalar)).collect(),
            read_only: pointer.read_only,
            synchronises: false,
            texel: true,
        });
        self.code.accesses.len() as u32 - 1
    }

    fn only_harmless(&mut self, inst: &dr::Instruction, at: usize) {
        if let Some(Operand::ImageOperands(operands)) = inst.operands.get(at) {
            if !HARMLESS.contains(*operands) {
                self.unsupported(format!("Op{:?} with {operands:?}", inst.class.opcode));
            }
        }
    }

    /// `OpImageRead`. Components that the format does not have are 0, and 1 for the fourth (Vulkan, "Conversion to RGBA").
    fn image_read(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        self.only_harmless(inst, 2);
        let (pointer, image) = self.image(id_at(inst, 0)?)?;
        let texel = self.texel(&pointer, image, id_at(inst, 1)?)?;
        let loaded = self.temps(image.components as usize);
        let access = self.texel_access(texel, &pointer, image);
        self.push(Op::Load(access), NONE, [texel, NONE, NONE], &loaded, &[]);
        let count = self.checked_cells(ty)?;
        let mut out = Cells::new();
        for at in 0..count {
            out.push(match (loaded.get(at), image.scalar, image.sampled) {
                (None, ..) => {
                    let one = match image.sampled {
                        Scalar::Float(_) => u64::from(1f32.to_bits()),
                        _ => 1,
                    };
                    self.constant_column(if at == 3 { one } else { 0 })
                }
                // 32 bits, too, since a denormal may be flushed.
                (Some(&x), Scalar::Float(from), sampled) => {
                    self.emit(Op::FloatConvert(from, float_width(sampled)?), [x, NONE, NONE])
                }
                (Some(&x), Scalar::Int(from, signed), sampled) => match integer_width(sampled)? {
                    to if to == from => x,
                    to => self.emit(Op::Resize(from, to, signed), [x, NONE, NONE]),
                },
                (Some(&x), ..) => x,
            });
        }
        self.define(id, ty, out)
    }

    /// `OpImageWrite`.
    fn image_write(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        self.only_harmless(inst, 3);
        let (pointer, image) = self.image(id_at(inst, 0)?)?;
        let texel = self.texel(&pointer, image, id_at(inst, 1)?)?;
        let (values, scalar) = self.vector(id_at(inst, 2)?)?;
        if values.len() < image.components as usize {
            return Err(invalid("a texel of fewer components than the format's"));
        }
        let mut parts = Cells::new();
        for &x in &values[..image.components as usize] {
            parts.push(match image.scalar {
                Scalar::Float(to) => self.emit(Op::FloatConvert(float_width(scalar)?, to), [x, NONE, NONE]),
                Scalar::Int(to, signed) if integer_width(scalar)? > to => {
                    self.emit(Op::Narrow(to, signed), [x, NONE, NONE])
                }
                _ => x,
            });
        }
        let access = self.texel_access(texel, &pointer, image);
        self.push(Op::Store(access), NONE, [texel, NONE, NONE], &[], &parts);
        Ok(())
    }

    /// `OpImageTexelPointer`, for atomics.
    fn texel_pointer(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let (pointer, image) = self.image(id_at(inst, 0)?)?;
        let base = Base::Reg(self.texel(&pointer, image, id_at(inst, 1)?)?);
        let pointee = match *self.types.get(ty) {
            Type::Pointer(_, pointee) => pointee,
            _ => return Err(invalid("a texel without a pointer to it")),
        };
        if self.types.scalar(pointee).map(Scalar::width) != Some(image.scalar.width()) {
            return Err(invalid("a pointer to a texel of another type"));
        }
        let texel = Pointer { ty, pointee, base, offset: 0, texel: true, ..pointer };
        self.defs.insert(id, Def::Pointer(Box::new(texel)));
        Ok(())
    }

    /// `OpImageQuerySize`.
    fn image_size(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let (pointer, image) = self.image(id_at(inst, 0)?)?;
        let outs = self.temps(image.dimensions as usize);
        if outs.len() != self.checked_cells(ty)? {
            return Err(invalid("OpImageQuerySize of another number of components"));
        }
        self.code.texels.push(Texel { base: pointer.base, size: 0, width: 32, signed: true });
        let op = Op::ImageSize(self.code.texels.len() as u32 - 1);
        self.push(op, NONE, [Self::base_operand(&pointer), NONE, NONE], &outs, &[]);
        self.define(id, ty, outs)
    }

    pub(super) fn image_instruction(&mut self, inst: &dr::Instruction) -> Result<(), Error> {
        // What its type lacks was named with the variable.
        let of_opaque = match self.defs.get(&id_at(inst, 0)?) {
            Some(Def::Value(ty, _)) => matches!(self.types.get(*ty), Type::Opaque(_)),
            Some(Def::Pointer(pointer)) => matches!(self.types.get(pointer.pointee), Type::Opaque(_)),
            None => false,
        };
        match inst.class.opcode {
            _ if of_opaque => match inst.result_id {
                Some(_) => {
                    let (id, ty) = self.result(inst)?;
                    self.define_undefined(id, ty)
                }
                None => Ok(()),
            },
            Opcode::ImageRead => self.image_read(inst),
            Opcode::ImageWrite => self.image_write(inst),
            Opcode::ImageTexelPointer => self.texel_pointer(inst),
            _ => self.image_size(inst),
        }
    }
}
