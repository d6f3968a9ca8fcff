//! Types of AmberScript's buffers, and how their values lie in memory.

use tangle_program::float::{half_bits, half_value};

/// The type of one value in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Two's complement of this many bits: 8, 16, 32 or 64.
    Int(u32),
    /// Without a sign, of this many bits: 8, 16, 32 or 64.
    Uint(u32),
    /// IEEE 754 of this many bits: 16, 32 or 64.
    Float(u32),
}

/// How arrays and vectors are aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// `std430`: what storage buffers use.
    #[default]
    Std430,
    /// `std140`: elements of arrays and columns at multiples of 16 bytes.
    Std140,
}

/// The type of one item of a buffer: a scalar, a vector, or a matrix in columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemType {
    /// Type of each value.
    pub scalar: Scalar,
    /// Columns; 1 unless it is a matrix.
    pub columns: u32,
    /// Values in a column; 1 for a scalar.
    pub rows: u32,
}

impl Scalar {
    /// How many bytes one takes.
    pub const fn size(self) -> usize {
        match self {
            Scalar::Int(bits) | Scalar::Uint(bits) | Scalar::Float(bits) => bits as usize / 8,
        }
    }

    /// The type that AmberScript calls so; `None` if there is none.
    fn parse(name: &str) -> Option<Scalar> {
        Some(match name {
            "int8" => Scalar::Int(8),
            "int16" => Scalar::Int(16),
            "int32" => Scalar::Int(32),
            "int64" => Scalar::Int(64),
            "uint8" => Scalar::Uint(8),
            "uint16" => Scalar::Uint(16),
            "uint32" => Scalar::Uint(32),
            "uint64" => Scalar::Uint(64),
            "float16" => Scalar::Float(16),
            "float" => Scalar::Float(32),
            "double" => Scalar::Float(64),
            _ => return None,
        })
    }

    /// The bytes of a number as it is written in a script; `None` if it is none of this type.
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        let bits = match self {
            Scalar::Float(width) => match (hexadecimal(text), width) {
                (Some(bits), _) => bits,
                (None, 16) => half_bits(text.parse().ok()?).into(),
                (None, 32) => u64::from(text.parse::<f32>().ok()?.to_bits()),
                (None, _) => text.parse::<f64>().ok()?.to_bits(),
            },
            _ => match hexadecimal(text) {
                Some(bits) => bits,
                None => {
                    let whole = text.parse::<i64>().map(|value| value as u64).or_else(|_| text.parse::<u64>());
                    // `2.0` for 2.
                    let exact = |value: &f64| value.fract() == 0.0 && value.abs() < 2f64.powi(53);
                    whole.ok().or_else(|| Some(text.parse::<f64>().ok().filter(exact)? as i64 as u64))?
                }
            },
        };
        Some(bits.to_le_bytes()[..self.size()].to_vec())
    }

    /// True if bytes hold one number: of floats zeros of both signs are equal, and a NaN is equal to itself only.
    pub fn is_equal(self, found: &[u8], wanted: &[u8]) -> bool {
        found == wanted || matches!(self, Scalar::Float(_)) && self.number(found) == self.number(wanted)
    }

    /// The number that bytes hold, for people and for comparisons of order. 64-bit integers may lose their low-order bits.
    pub fn number(self, bytes: &[u8]) -> f64 {
        let mut word = [0; 8];
        word[..self.size()].copy_from_slice(&bytes[..self.size()]);
        let bits = u64::from_le_bytes(word);
        match self {
            Scalar::Uint(_) => bits as f64,
            Scalar::Int(width) => ((bits << (64 - width)) as i64 >> (64 - width)) as f64,
            Scalar::Float(16) => half_value(bits as u16),
            Scalar::Float(32) => f64::from(f32::from_bits(bits as u32)),
            Scalar::Float(_) => f64::from_bits(bits),
        }
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?, 16).ok()
}

impl ItemType {
    /// By AmberScript's name: `uint32`, `vec3<float>`, `mat2x3<double>` (columns × rows); a `[]` behind it says nothing here.
    pub fn parse(name: &str) -> Option<ItemType> {
        let name = name.strip_suffix("[]").unwrap_or(name);
        let digit = |text: &str| text.parse().ok().filter(|count| (2..=4).contains(count));
        let inner = |text: &str| Scalar::parse(text.strip_suffix('>')?);
        if let Some(rest) = name.strip_prefix("vec") {
            let (count, scalar) = rest.split_once('<')?;
            return Some(ItemType { scalar: inner(scalar)?, columns: 1, rows: digit(count)? });
        }
        if let Some(rest) = name.strip_prefix("mat") {
            let (counts, scalar) = rest.split_once('<')?;
            let (columns, rows) = counts.split_once('x')?;
            return Some(ItemType { scalar: inner(scalar)?, columns: digit(columns)?, rows: digit(rows)? });
        }
        Some(ItemType { scalar: Scalar::parse(name)?, columns: 1, rows: 1 })
    }

    /// Values in an item.
    pub const fn values(self) -> usize {
        (self.columns * self.rows) as usize
    }

    /// Bytes from one column to the next (GLSL §7.6.2.2: a vector of three is aligned as one of four).
    fn column(self, layout: Layout) -> usize {
        let aligned = self.scalar.size() * if self.rows == 3 { 4 } else { self.rows as usize };
        if layout == Layout::Std140 { aligned.next_multiple_of(16) } else { aligned }
    }

    /// Bytes from one item to the next.
    pub fn stride(self, layout: Layout) -> usize {
        self.column(layout) * self.columns as usize
    }

    /// Byte offset of each value of an item.
    pub fn offsets(self, layout: Layout) -> impl Iterator<Item = usize> {
        let (column, size) = (self.column(layout), self.scalar.size());
        (0..self.columns as usize).flat_map(move |c| (0..self.rows as usize).map(move |r| c * column + r * size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_or_not() {
        for (scalar, found, wanted, is_equal) in [
            (Scalar::Float(32), "0.0", "-0.0", true),
            (Scalar::Float(64), "0.0", "-0.0", true),
            (Scalar::Float(16), "1.0", "1.5", false),
            (Scalar::Float(32), "NaN", "NaN", true),
            // As numbers of 64 bits they are one.
            (Scalar::Uint(64), "18446744073709551615", "18446744073709551614", false),
            (Scalar::Int(8), "-1", "0xFF", true),
        ] {
            let bytes = [found, wanted].map(|text| scalar.encode(text).expect("a number"));
            assert_eq!(scalar.is_equal(&bytes[0], &bytes[1]), is_equal, "{scalar:?}: {found}, {wanted}");
        }
    }

    #[test]
    fn types_and_where_their_values_lie() {
        for (name, layout, stride, offsets) in [
            ("uint32", Layout::Std430, 4, vec![0]),
            ("uint8", Layout::Std140, 16, vec![0]),
            ("vec3<float>[]", Layout::Std430, 16, vec![0, 4, 8]),
            ("vec2<double>", Layout::Std430, 16, vec![0, 8]),
            ("mat2x3<float>", Layout::Std430, 32, vec![0, 4, 8, 16, 20, 24]),
            ("mat2x2<float>", Layout::Std140, 32, vec![0, 4, 16, 20]),
        ] {
            let ty = ItemType::parse(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(ty.stride(layout), stride, "{name}");
            assert_eq!(ty.offsets(layout).collect::<Vec<_>>(), offsets, "{name}");
        }
        for name in ["uint33", "vec5<float>", "vec2<bool>", "mat2<float>", "R8G8B8A8_UNORM", ""] {
            assert_eq!(ItemType::parse(name), None, "{name}");
        }
    }

    #[test]
    fn numbers_become_bytes_and_back() {
        for (scalar, text, bytes, value) in [
            (Scalar::Uint(32), "0xff", vec![255, 0, 0, 0], 255.0),
            (Scalar::Int(8), "-2", vec![254], -2.0),
            (Scalar::Int(16), "-3.0", vec![253, 255], -3.0),
            (Scalar::Uint(64), "18446744073709551615", vec![255; 8], 18446744073709551615.0),
            (Scalar::Float(32), "1.5", vec![0, 0, 0xc0, 0x3f], 1.5),
            (Scalar::Float(32), "0x3fc00000", vec![0, 0, 0xc0, 0x3f], 1.5),
            (Scalar::Float(16), "1", vec![0, 0x3c], 1.0),
            (Scalar::Float(16), "-65504", vec![0xff, 0xfb], -65504.0),
            (Scalar::Float(16), "0.00006103515625", vec![0, 4], 0.00006103515625),
            (Scalar::Float(16), "0.000000059604644775390625", vec![1, 0], 2f64.powi(-24)),
            (Scalar::Float(16), "1e9", vec![0, 0x7c], f64::INFINITY),
        ] {
            let encoded = scalar.encode(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(encoded, bytes, "{text}");
            assert_eq!(scalar.number(&encoded), value, "{text}");
        }
        assert_eq!(Scalar::Uint(32).encode("1.5"), None);
        assert_eq!(Scalar::Float(32).encode("EQ"), None);
    }
}
