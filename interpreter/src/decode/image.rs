//! Images (SPIR-V 1.6 §3.52.10): loads, stores, fetches, sizes, and pointers to texels for atomics. An image is a buffer of texels, row by row, slice
//! by slice; how many there are is known of its descriptor. It has one level. What is sampled is open: filtering is not computed.

use rspirv::spirv::{Dim, ImageFormat, ImageOperands, Op as Opcode};

use smallvec::smallvec;

use super::texel::{format_of, stand_in};
use super::{Cells, Decoder, Def, Pointer, id_at, integer_width, invalid, literal_at};
use crate::code::*;
use crate::operand::Operand;
use crate::outcome::{Error, Why};
use crate::source::Instruction;
use crate::types::{Image, Scalar, Type};

/// Operands that change nothing of the value.
const HARMLESS: ImageOperands = ImageOperands::MAKE_TEXEL_AVAILABLE
    .union(ImageOperands::MAKE_TEXEL_VISIBLE)
    .union(ImageOperands::NON_PRIVATE_TEXEL)
    .union(ImageOperands::VOLATILE_TEXEL)
    .union(ImageOperands::SIGN_EXTEND)
    .union(ImageOperands::ZERO_EXTEND)
    .union(ImageOperands::NONTEMPORAL);

/// Samples of a texel of a multisampled image, of which the bound one could have any number.
const SAMPLES: u64 = 4;

pub(super) fn is_image(opcode: Opcode) -> bool {
    use Opcode as O;
    is_sampling(opcode)
        || matches!(
            opcode,
            O::Image
                | O::SampledImage
                | O::ImageFetch
                | O::ImageRead
                | O::ImageWrite
                | O::ImageTexelPointer
                | O::ImageQuerySize
                | O::ImageQuerySizeLod
                | O::ImageQueryLevels
                | O::ImageQuerySamples
        )
}

/// Instructions whose result is open, whatever the image holds.
fn is_sampling(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(
        opcode,
        O::ImageSampleImplicitLod
            | O::ImageSampleExplicitLod
            | O::ImageSampleDrefImplicitLod
            | O::ImageSampleDrefExplicitLod
            | O::ImageSampleProjImplicitLod
            | O::ImageSampleProjExplicitLod
            | O::ImageSampleProjDrefImplicitLod
            | O::ImageSampleProjDrefExplicitLod
            | O::ImageGather
            | O::ImageDrefGather
            | O::ImageQueryLod
    )
}

impl Decoder<'_> {
    /// `OpTypeImage`, or what is named where it is used.
    pub(super) fn image_type(&self, inst: &Instruction<'_>) -> Result<Type, Error> {
        let sampled = self.types.scalar(self.type_of(id_at(inst, 0)?)?);
        let (Some(Operand::Dim(dim)), Some(&Operand::ImageFormat(format))) =
            (inst.operands.get(1), inst.operands.get(6))
        else {
            return Err(invalid("OpTypeImage without its operands"));
        };
        let (arrayed, multisampled, use_of) = (literal_at(inst, 3)?, literal_at(inst, 4)?, literal_at(inst, 5)?);
        let is_sampled = use_of == 1;
        let dimensions = match dim {
            Dim::Dim1D | Dim::DimBuffer => 1,
            Dim::Dim2D => 2,
            Dim::Dim3D => 3,
            Dim::DimCube if is_sampled => 2,
            _ => return Ok(Type::Opaque("an image of other than one to three dimensions")),
        };
        let (Some(sampled), 1 | 2) = (sampled, use_of) else { return Ok(Type::Opaque("an image of unknown use")) };
        let has_format = format != ImageFormat::Unknown;
        let named = if has_format { format } else { stand_in(sampled) };
        let Some(format) = format_of(named) else { return Ok(Type::Opaque("an image of this format")) };
        if multisampled != 0 && !is_sampled {
            return Ok(Type::Opaque("a multisampled storage image"));
        }
        Ok(Type::Image(Image {
            dimensions: dimensions + arrayed.min(1),
            sampled,
            dim: *dim,
            arrayed: arrayed != 0,
            format,
            named,
            has_format,
            is_sampled,
            multisampled: multisampled != 0,
        }))
    }

    /// The image that an id stands for, and where it is.
    fn image(&self, id: u32) -> Result<(Pointer, Image), Error> {
        let pointer = self.pointer(id)?;
        let image = self.types.image(pointer.pointee).ok_or_else(|| invalid(format!("%{id} is no image")))?;
        Ok((pointer, image))
    }

    /// A column with the address of the texel at some coordinates, of a level if there is one.
    fn texel(
        &mut self,
        pointer: &Pointer,
        image: Image,
        coordinates: &[Reg],
        scalar: Scalar,
        level: Option<Reg>,
    ) -> Result<Reg, Error> {
        let Scalar::Int(width, signed) = scalar else { return Err(invalid("coordinates that are no integers")) };
        let Some(cells) = coordinates.get(..image.dimensions as usize) else {
            return Err(invalid("fewer coordinates than an image has dimensions"));
        };
        let mut ins = Cells::from_slice(cells);
        ins.extend(level);
        let size = u64::from(image.format.bytes());
        self.code.texels.push(Texel { base: pointer.base, size, width, signed, has_level: level.is_some() });
        let (op, d) = (Op::Texel(self.code.texels.len() as u32 - 1), self.temp());
        self.push(op, d, [Self::base_operand(pointer), NONE, NONE], &[], &ins);
        Ok(d)
    }

    /// The same without a level.
    fn storage_texel(&mut self, pointer: &Pointer, image: Image, coordinates: u32) -> Result<Reg, Error> {
        let (cells, scalar) = self.vector(coordinates)?;
        self.texel(pointer, image, &cells, scalar, None)
    }

    /// An access to all that is stored of a texel.
    fn texel_access(
        &mut self,
        texel: Reg,
        pointer: &Pointer,
        image: Image,
        (operands, reach): (ImageOperands, Option<Reach>),
    ) -> u32 {
        let stored = image.format.stored;
        self.code.granule = self.code.granule.min(stored.bytes());
        self.code.accesses.push(Access {
            base: Base::Reg(texel),
            space: Space::Bytes,
            leaves: (0..image.format.count).map(|at| (at * stored.bytes(), stored)).collect(),
            end: u64::from(image.format.count * stored.bytes()),
            read_only: pointer.read_only || image.is_sampled,
            uniform_descriptor: pointer.uniform_descriptor,
            volatile: operands.contains(ImageOperands::VOLATILE_TEXEL) || pointer.volatile,
            semantics: Semantics::default(),
            sharing: self.sharing(pointer, operands.contains(ImageOperands::NON_PRIVATE_TEXEL), reach),
            aligned: None,
            texel: true,
        });
        self.code.accesses.len() as u32 - 1
    }

    /// The mask of the image operands at a position, and the ids that follow.
    fn image_operands(&self, inst: &Instruction<'_>, at: usize) -> (ImageOperands, Vec<u32>) {
        match inst.operands.get(at) {
            Some(Operand::ImageOperands(mask)) => {
                let ids = (at + 1..inst.operands.len()).filter_map(|at| id_at(inst, at).ok());
                (*mask, ids.collect())
            }
            _ => (ImageOperands::empty(), Vec::new()),
        }
    }

    /// The scope of `MakeTexelAvailable` or `MakeTexelVisible`, of which there is one at most, and which is the last of the operands here.
    fn texel_scope(&mut self, operands: ImageOperands, ids: &[u32]) -> Result<Option<Reach>, Error> {
        let made = ImageOperands::MAKE_TEXEL_AVAILABLE | ImageOperands::MAKE_TEXEL_VISIBLE;
        match ids.last() {
            Some(&id) if operands.intersects(made) => self.memory_scope(id).map(Some),
            _ => Ok(None),
        }
    }

    fn only(&mut self, inst: &Instruction<'_>, operands: ImageOperands, supported: ImageOperands) {
        if !supported.contains(operands) {
            self.unsupported(format!("Op{:?} with {operands:?}", inst.class.opcode));
        }
    }

    /// `OpImageRead`, of one texel at integer coordinates.
    fn image_read(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (operands, ids) = self.image_operands(inst, 2);
        self.only(inst, operands, HARMLESS);
        let reach = self.texel_scope(operands, &ids)?;
        let (pointer, image) = self.image(id_at(inst, 0)?)?;
        let texel = self.storage_texel(&pointer, image, id_at(inst, 1)?)?;
        self.read_texel(inst, &pointer, image, texel, (operands, reach))
    }

    /// The value of a texel. Components that the format does not have are 0, and 1 for the fourth (Vulkan, "Conversion to RGBA").
    fn read_texel(
        &mut self,
        inst: &Instruction<'_>,
        pointer: &Pointer,
        image: Image,
        texel: Reg,
        shared: (ImageOperands, Option<Reach>),
    ) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let stored = self.temps(image.format.count as usize);
        let access = self.texel_access(texel, pointer, image, shared);
        self.push(Op::Load(access), NONE, [texel, NONE, NONE], &stored, &[]);
        let components = self.decode_texel(image.format, &stored, image.sampled)?;
        let count = self.checked_cells(ty)?;
        let one = match image.sampled {
            Scalar::Float(16) => 0x3C00,
            Scalar::Float(_) => u64::from(1f32.to_bits()),
            _ => 1,
        };
        let mut out = Cells::new();
        for at in 0..count {
            out.push(match components.get(at) {
                Some(&component) => component,
                None => self.constant_column(if at == 3 { one } else { 0 }),
            });
        }
        self.define(id, ty, out)
    }

    /// `OpImageFetch`: the texel itself. There is one level; what another has is open ("LOD Selection": it is out of range), and so is what a
    /// multisampled image holds.
    fn image_fetch(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (pointer, image) = self.image(id_at(inst, 0)?)?;
        if image.multisampled {
            return self.sampled(inst);
        }
        let (operands, ids) = self.image_operands(inst, 2);
        let offsets = ImageOperands::CONST_OFFSET | ImageOperands::OFFSET;
        self.only(inst, operands, HARMLESS | ImageOperands::LOD | offsets);
        let (mut cells, scalar) = self.vector(id_at(inst, 1)?)?;
        // In the order of the bits of the mask (SPIR-V 1.6 §3.14).
        let mut ids = ids.into_iter();
        let mut level = None;
        if operands.contains(ImageOperands::LOD) {
            level = Some(self.scalar(ids.next().ok_or_else(|| invalid("Lod without its operand"))?)?.0);
        }
        if operands.intersects(offsets) {
            let (offset, _) = self.vector(ids.next().ok_or_else(|| invalid("an offset without its operand"))?)?;
            let width = integer_width(scalar)?;
            for (cell, &by) in cells.iter_mut().zip(&offset) {
                *cell = self.emit(Op::Int2(Int2::Add, width), [*cell, by, NONE]);
            }
        }
        let texel = self.texel(&pointer, image, &cells, scalar, level)?;
        self.read_texel(inst, &pointer, image, texel, (operands, None))
    }

    /// A result that depends on a sampler or on samples.
    fn sampled(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let count = self.checked_cells(ty)?;
        let out = (0..count).map(|_| self.emit_row(Op::Open(Why::Sampled), &[])).collect();
        self.define(id, ty, out)
    }

    /// `OpSampledImage` and `OpImage`: the same image with a sampler, or without.
    fn retyped(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let (pointer, _) = self.image(id_at(inst, 0)?)?;
        if self.types.image(ty).is_none() {
            return Err(invalid("an image of no image type"));
        }
        self.define_pointer(id, Pointer { pointee: ty, ..pointer });
        Ok(())
    }

    /// `OpImageWrite`. Of a format that is not named it is only known that it has no more components than are written.
    fn image_write(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (operands, ids) = self.image_operands(inst, 3);
        self.only(inst, operands, HARMLESS);
        let reach = self.texel_scope(operands, &ids)?;
        let (pointer, image) = self.image(id_at(inst, 0)?)?;
        let texel = self.storage_texel(&pointer, image, id_at(inst, 1)?)?;
        let (values, scalar) = self.vector(id_at(inst, 2)?)?;
        let mut values = values;
        let components = image.format.components();
        if values.len() < components && image.has_format {
            return Err(invalid("a texel of fewer components than the format's"));
        }
        values.truncate(components);
        while values.len() < components {
            values.push(self.emit_row(Op::Open(Why::Implementation), &[]));
        }
        let parts = self.encode_texel(image.format, &values, scalar)?;
        let access = self.texel_access(texel, &pointer, image, (operands, reach));
        self.push(Op::Store(access), NONE, [texel, NONE, NONE], &[], &parts);
        Ok(())
    }

    /// `OpImageTexelPointer`, for atomics.
    fn texel_pointer(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let (pointer, image) = self.image(id_at(inst, 0)?)?;
        let base = Base::Reg(self.storage_texel(&pointer, image, id_at(inst, 1)?)?);
        let pointee = match *self.types.get(ty) {
            Type::Pointer(_, pointee) => pointee,
            _ => return Err(invalid("a texel without a pointer to it")),
        };
        if self.types.scalar(pointee).map(Scalar::width) != Some(image.format.stored.width()) {
            return Err(invalid("a pointer to a texel of another type"));
        }
        self.atomic_images.insert(pointer.pointee);
        let texel = Pointer { ty, pointee, base, offset: 0, texel: true, ..pointer };
        self.define_pointer(id, texel);
        Ok(())
    }

    /// `OpImageQuerySize` and `OpImageQuerySizeLod`: of other levels than the first, which there are not, it is open.
    fn image_size(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let (pointer, image) = self.image(id_at(inst, 0)?)?;
        let mut outs = self.temps(image.dimensions as usize);
        if outs.len() != self.checked_cells(ty)? {
            return Err(invalid("the size of an image of another number of components"));
        }
        self.code.texels.push(Texel { base: pointer.base, size: 0, width: 32, signed: true, has_level: false });
        let op = Op::ImageSize(self.code.texels.len() as u32 - 1);
        self.push(op, NONE, [Self::base_operand(&pointer), NONE, NONE], &outs, &[]);
        if inst.class.opcode == Opcode::ImageQuerySizeLod {
            let (level, scalar) = self.scalar(id_at(inst, 1)?)?;
            let zero = self.constant_column(0);
            let is_first = self.emit(Op::Int2(Int2::Equal, integer_width(scalar)?), [level, zero, NONE]);
            let open = self.emit_row(Op::Open(Why::OutsideImage), &[]);
            outs = outs.iter().map(|&side| self.emit(Op::Select, [is_first, side, open])).collect();
        }
        self.define(id, ty, outs)
    }

    pub(super) fn image_instruction(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        // What its type lacks was named with the variable.
        let of_opaque = match self.defs.get(id_at(inst, 0)?) {
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
            Opcode::ImageFetch => self.image_fetch(inst),
            Opcode::Image | Opcode::SampledImage => self.retyped(inst),
            Opcode::ImageQueryLevels | Opcode::ImageQuerySamples => {
                let (id, ty) = self.result(inst)?;
                let levels = inst.class.opcode == Opcode::ImageQueryLevels;
                let count = self.constant_column(if levels { 1 } else { SAMPLES });
                self.define(id, ty, smallvec![count])
            }
            opcode if is_sampling(opcode) => self.sampled(inst),
            _ => self.image_size(inst),
        }
    }
}
