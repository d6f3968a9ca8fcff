//! Formats of texels: what the bits of a component say (Vulkan, "Compatibility Between SPIR-V Image Formats and Vulkan Formats"), and how
//! numbers become normalised fixed point and come back (Vulkan, "Fixed-Point Data Conversions").

use rspirv::spirv::ImageFormat;

use super::{Cells, Decoder, float_width, integer_width};
use crate::code::*;
use crate::outcome::{Error, Why};
use crate::types::{Encoding, Format, Scalar};

/// What a format that is not named is taken for: it is that of the image which is bound, here four components in 32 bits each, or one in 64.
pub(super) fn stand_in(sampled: Scalar) -> ImageFormat {
    match sampled {
        Scalar::Int(64, true) => ImageFormat::R64i,
        Scalar::Int(64, false) => ImageFormat::R64ui,
        Scalar::Int(_, true) => ImageFormat::Rgba32i,
        Scalar::Int(_, false) => ImageFormat::Rgba32ui,
        _ => ImageFormat::Rgba32f,
    }
}

/// The layout of a format; `None` of one that is not named.
pub(super) fn format_of(format: ImageFormat) -> Option<Format> {
    use ImageFormat as F;
    let plain = |count, stored| Format { stored, count, fields: None, encoding: Encoding::Plain };
    let float = |count, width| Some(plain(count, Scalar::Float(width)));
    let int = |count, width, signed| Some(plain(count, Scalar::Int(width, signed)));
    let normalised = |count, width, signed| {
        let stored = Scalar::Int(width, signed);
        Some(Format { stored, count, fields: None, encoding: Encoding::Normalised(signed) })
    };
    let packed =
        |fields, encoding| Some(Format { stored: Scalar::Int(32, false), count: 1, fields: Some(fields), encoding });
    match format {
        F::Unknown => None,
        F::Rgba32f => float(4, 32),
        F::Rg32f => float(2, 32),
        F::R32f => float(1, 32),
        F::Rgba16f => float(4, 16),
        F::Rg16f => float(2, 16),
        F::R16f => float(1, 16),
        F::Rgba32i => int(4, 32, true),
        F::Rg32i => int(2, 32, true),
        F::R32i => int(1, 32, true),
        F::Rgba32ui => int(4, 32, false),
        F::Rg32ui => int(2, 32, false),
        F::R32ui => int(1, 32, false),
        F::Rgba16i => int(4, 16, true),
        F::Rg16i => int(2, 16, true),
        F::R16i => int(1, 16, true),
        F::Rgba16ui => int(4, 16, false),
        F::Rg16ui => int(2, 16, false),
        F::R16ui => int(1, 16, false),
        F::Rgba8i => int(4, 8, true),
        F::Rg8i => int(2, 8, true),
        F::R8i => int(1, 8, true),
        F::Rgba8ui => int(4, 8, false),
        F::Rg8ui => int(2, 8, false),
        F::R8ui => int(1, 8, false),
        F::R64i => int(1, 64, true),
        F::R64ui => int(1, 64, false),
        F::Rgba16 => normalised(4, 16, false),
        F::Rg16 => normalised(2, 16, false),
        F::R16 => normalised(1, 16, false),
        F::Rgba8 => normalised(4, 8, false),
        F::Rg8 => normalised(2, 8, false),
        F::R8 => normalised(1, 8, false),
        F::Rgba16Snorm => normalised(4, 16, true),
        F::Rg16Snorm => normalised(2, 16, true),
        F::R16Snorm => normalised(1, 16, true),
        F::Rgba8Snorm => normalised(4, 8, true),
        F::Rg8Snorm => normalised(2, 8, true),
        F::R8Snorm => normalised(1, 8, true),
        F::Rgb10A2 => packed([10, 10, 10, 2], Encoding::Normalised(false)),
        F::Rgb10a2ui => packed([10, 10, 10, 2], Encoding::Plain),
        F::R11fG11fB10f => packed([11, 11, 10, 0], Encoding::SmallFloat),
    }
}

/// Bits of a half that such a float has not: those of the mantissa, since both have five of the exponent.
fn dropped(bits: u8) -> u64 {
    15 - u64::from(bits)
}

/// Which of the two integers around a number it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// Any: "one of the two unsigned binary integer values with exactly b bits which are closest to the floating-point value" (Vulkan,
    /// "Conversion From Floating-Point to Normalized Fixed-Point").
    Either,
    /// The nearer one, any of them from the middle: `round` of GLSL.std.450.
    Nearest,
}

impl Decoder<'_> {
    pub(super) fn float_constant(&mut self, value: f32) -> Reg {
        self.constant_column(u64::from(value.to_bits()))
    }

    /// The components of a texel from what is stored of it, as the image's instructions read them.
    pub(super) fn decode_texel(&mut self, format: Format, stored: &[Reg], sampled: Scalar) -> Result<Cells, Error> {
        let width = format.stored.width();
        let Some(fields) = format.fields else {
            return stored.iter().map(|&x| self.decode_component(format, x, width, sampled)).collect();
        };
        let mut out = Cells::new();
        let mut offset = 0;
        for bits in fields.into_iter().filter(|bits| *bits > 0) {
            let (at, count) = (self.constant_column(offset), self.constant_column(u64::from(bits)));
            let field = self.emit(Op::BitFieldExtract(width, false), [stored[0], at, count]);
            out.push(self.decode_component(format, field, bits, sampled)?);
            offset += u64::from(bits);
        }
        Ok(out)
    }

    /// A component of `bits` bits, of which the column holds as many, or a word with zeros above them.
    fn decode_component(&mut self, format: Format, x: Reg, bits: u8, sampled: Scalar) -> Result<Reg, Error> {
        let width = format.stored.width();
        match (format.encoding, format.stored) {
            // 32 bits, too, since a denormal may be flushed.
            (Encoding::Plain, Scalar::Float(from)) => {
                Ok(self.emit(Op::FloatConvert(from, float_width(sampled)?), [x, NONE, NONE]))
            }
            (Encoding::Plain, Scalar::Int(from, signed)) => Ok(match integer_width(sampled)? {
                to if to == from => x,
                to => self.emit(Op::Resize(from, to, signed), [x, NONE, NONE]),
            }),
            (Encoding::Plain, _) => Ok(x),
            (Encoding::Normalised(signed), _) => {
                let value = self.decode_normalised(x, width, bits, signed);
                Ok(self.emit(Op::FloatConvert(32, float_width(sampled)?), [value, NONE, NONE]))
            }
            (Encoding::SmallFloat, _) => {
                let shift = self.constant_column(dropped(bits));
                let shifted = self.emit(Op::Int2(Int2::ShiftLeft, width), [x, shift, NONE]);
                let half = self.emit(Op::Resize(width, 16, false), [shifted, NONE, NONE]);
                Ok(self.emit(Op::FloatConvert(16, float_width(sampled)?), [half, NONE, NONE]))
            }
        }
    }

    /// What is stored of a texel with these components.
    pub(super) fn encode_texel(&mut self, format: Format, values: &[Reg], scalar: Scalar) -> Result<Cells, Error> {
        let Some(fields) = format.fields else {
            let bits = format.stored.width();
            return values.iter().map(|&x| self.encode_component(format, x, bits, scalar)).collect();
        };
        let mut word = self.constant_column(0);
        let mut offset = 0;
        for (&x, bits) in values.iter().zip(fields) {
            let field = self.encode_component(format, x, bits, scalar)?;
            let (at, count) = (self.constant_column(offset), self.constant_column(u64::from(bits)));
            word = self.emit_row(Op::BitFieldInsert(32), &[word, field, at, count]);
            offset += u64::from(bits);
        }
        Ok(Cells::from_slice(&[word]))
    }

    fn encode_component(&mut self, format: Format, x: Reg, bits: u8, scalar: Scalar) -> Result<Reg, Error> {
        let width = format.stored.width();
        match (format.encoding, format.stored) {
            (Encoding::Plain, Scalar::Float(to)) => {
                Ok(self.emit(Op::FloatConvert(float_width(scalar)?, to), [x, NONE, NONE]))
            }
            (Encoding::Plain, Scalar::Int(_, signed)) if integer_width(scalar)? > bits => {
                let narrow = self.emit(Op::Narrow(bits, signed), [x, NONE, NONE]);
                Ok(if width > bits { self.emit(Op::Resize(bits, width, false), [narrow, NONE, NONE]) } else { narrow })
            }
            (Encoding::Plain, _) => Ok(x),
            (Encoding::Normalised(signed), _) => {
                let float = self.emit(Op::FloatConvert(float_width(scalar)?, 32), [x, NONE, NONE]);
                let integer = self.encode_normalised(float, bits, signed, Rounding::Either);
                Ok(if width < 32 { self.emit(Op::Resize(32, width, false), [integer, NONE, NONE]) } else { integer })
            }
            // A number that such a float has is that one. Others are rounded, and negative ones clamped: open.
            (Encoding::SmallFloat, _) => {
                let from = float_width(scalar)?;
                let half = self.emit(Op::FloatConvert(from, 16), [x, NONE, NONE]);
                let back = self.emit(Op::FloatConvert(16, from), [half, NONE, NONE]);
                let is_half = self.emit(Op::FloatCompare(FloatCompare::Equal, from, false), [x, back, NONE]);
                let word = self.emit(Op::Resize(16, 32, false), [half, NONE, NONE]);
                let mask = self.constant_column(1 << 15 | ((1 << dropped(bits)) - 1));
                let extra = self.emit(Op::Int2(Int2::And, 32), [word, mask, NONE]);
                let zero = self.constant_column(0);
                let fits = self.emit(Op::Int2(Int2::Equal, 32), [extra, zero, NONE]);
                let exact = self.emit(Op::Int2(Int2::And, 1), [fits, is_half, NONE]);
                let shift = self.constant_column(dropped(bits));
                let small = self.emit(Op::Int2(Int2::ShiftRightLogical, 32), [word, shift, NONE]);
                let open = self.emit_row(Op::Open(Why::Precision), &[x]);
                let rounded = self.emit(Op::Select, [exact, small, open]);
                let is_zero = self.emit(Op::FloatCompare(FloatCompare::Equal, from, false), [x, zero, NONE]);
                Ok(self.emit(Op::Select, [is_zero, zero, rounded]))
            }
        }
    }

    /// A 32-bit float from normalised fixed point of `bits` bits, in a column of `width`: `c / (2^b - 1)`, or `max(c / (2^(b-1) - 1), -1)`, each
    /// a division with the precision of one (Vulkan, "Conversion From Normalized Fixed-Point to Floating-Point"). Zero and the ends are exact:
    /// "the integer value -127 corresponds to -1.0 and the value 127 corresponds to 1.0".
    fn decode_normalised(&mut self, x: Reg, width: u8, bits: u8, signed: bool) -> Reg {
        let most = greatest(bits, signed);
        let least = most.wrapping_neg() & crate::alu::mask(width);
        let mut value = self.normalised_quotient(x, width, bits, signed);
        let ends = [(Int2::Equal, 0, 0.0), (Int2::Equal, most, 1.0), (Int2::SLessEqual, least, -1.0)];
        for (compare, end, exact) in ends.into_iter().take(if signed { 3 } else { 2 }) {
            let (end, exact) = (self.constant_column(end), self.float_constant(exact));
            let at_end = self.emit(Op::Int2(compare, width), [x, end, NONE]);
            value = self.emit(Op::Select, [at_end, exact, value]);
        }
        value
    }

    /// The integer divided by the one that stands for 1, as a 32-bit float.
    pub(super) fn normalised_quotient(&mut self, x: Reg, width: u8, bits: u8, signed: bool) -> Reg {
        let float = self.emit(Op::IntToFloat(width, signed, 32), [x, NONE, NONE]);
        let divisor = self.float_constant(greatest(bits, signed) as f32);
        self.emit(Op::Float2(Float2::Div, 32), [float, divisor, NONE])
    }

    /// Normalised fixed point of `bits` bits, in a column of 32, from a 32-bit float.
    pub(super) fn encode_normalised(&mut self, x: Reg, bits: u8, signed: bool, rounding: Rounding) -> Reg {
        let (low, high) = (self.float_constant(if signed { -1.0 } else { 0.0 }), self.float_constant(1.0));
        let clamped = self.emit(Op::FClamp(32), [x, low, high]);
        let factor = self.float_constant(greatest(bits, signed) as f32);
        let scaled = self.emit(Op::Float2(Float2::Mul, 32), [clamped, factor, NONE]);
        let [first, second] = match rounding {
            Rounding::Either => [Float1::Floor, Float1::Ceil],
            Rounding::Nearest => [Float1::Round; 2],
        }
        .map(|round| {
            let whole = self.emit(Op::Float1(round, 32), [scaled, NONE, NONE]);
            self.emit(Op::FloatToInt(32, 32, true), [whole, NONE, NONE])
        });
        if rounding == Rounding::Nearest {
            return first;
        }
        // Open where they differ.
        let any = self.emit_row(Op::Open(Why::Precision), &[x]);
        self.emit(Op::Select, [any, first, second])
    }
}

/// The integer that stands for 1.
fn greatest(bits: u8, signed: bool) -> u64 {
    crate::alu::mask(bits - u8::from(signed))
}
