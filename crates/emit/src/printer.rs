//! What every printer writes with: the text so far, whose language it is, and where each statement stands.

use tangle_program::case::{Case, Draw};
use tangle_program::map_buffer;
use tangle_program::tree::{Expr, Stmt};
use tangle_program::types::{Kind, Type};

/// What stands where a language has no word for what a program says: nothing compiles that.
pub(crate) const NOTHING: &str = "NO_SUCH_WORD";

/// The name of a member of a struct, in every language.
pub(crate) fn member_name(number: impl std::fmt::Display) -> String {
    format!("m{number}")
}

/// The name of the member that an index of a value stands for; `None` if it is one that is printed, in brackets.
pub(crate) fn indexed_member(of: Option<Type>, index: &Expr) -> Option<String> {
    match (of.map(Type::kind), index) {
        (Some(Kind::Struct), Expr::Uint(number)) => Some(member_name(number)),
        _ => None,
    }
}

/// The name of a struct of members of several types, in every language: the names of the members; `A` and `M` and their number before what arrays
/// and matrices are made of, `S` and the number of members before those of a struct within.
pub(crate) fn struct_name(ty: Type) -> String {
    fn parts(ty: Type) -> String {
        let of_first =
            |letter: char| format!("{letter}{}_{}", ty.elements(), ty.part(Some(0)).map_or_else(String::new, parts));
        match ty.kind() {
            Kind::Single => ty.to_string(),
            Kind::Array => of_first('A'),
            Kind::Matrix => of_first('M'),
            Kind::Struct => format!("S{}_{}", ty.elements(), members(ty)),
        }
    }
    fn members(ty: Type) -> String {
        ty.parts().map(parts).collect::<Vec<_>>().join("_")
    }
    format!("Struct_{}", members(ty))
}

/// The name of a nested aggregate in GLSL and HLSL: that of a struct, or what an array of arrays is made of in the end and the brackets behind it,
/// that of the outermost array first.
pub(crate) fn nested_name(ty: Type, name: impl Fn(Type) -> String) -> String {
    let (mut of, mut brackets) = (ty, String::new());
    while let (Kind::Array, Some(element)) = (of.kind(), of.part(Some(0))) {
        brackets += &format!("[{}]", of.elements());
        of = element;
    }
    if of == ty { struct_name(ty) } else { name(of) + &brackets }
}

/// The indices of a statement that writes an element, each with the type of what it is an index into.
pub(crate) fn indices_of<'e>(
    of: Option<Type>,
    index: &'e Expr,
    inner: &'e [Expr],
) -> impl Iterator<Item = (Option<Type>, &'e Expr)> {
    let mut next = of;
    std::iter::once(index).chain(inner).map(move |index| {
        let of = next;
        next = of.and_then(|ty| ty.part(index.literal()));
        (of, index)
    })
}

/// The words of a record of the lane map ([`map_buffer`]), by the names that the shader has for them: `subgroup` is the word of the number of the subgroup and how
/// many there are, where workgroups have one, `of_quad` what the lanes of a quad say of each other, in fragment shaders. None for what the shader cannot say.
pub(crate) fn record_words(written: u32, subgroup: Option<Option<String>>, of_quad: &[&str]) -> Vec<Option<String>> {
    let mut words = vec![Some(in_halves("lane", "subgroup_size"))];
    words.extend(subgroup);
    words.extend([Some(format!("0x{written:X}u + entry_token")), Some("entry_mask.x".into())]);
    if of_quad.is_empty() {
        let [z, w] = map_buffer::FOLD;
        words.push(Some(format!("entry_mask.y + 0x{z:X}u * entry_mask.z + 0x{w:X}u * entry_mask.w")));
    } else {
        let upper = ["entry_mask.y", "entry_mask.z", "entry_mask.w"];
        words.extend(upper.iter().chain(of_quad).map(|&word| Some(word.to_owned())));
    }
    words
}

/// Which [slice](Draw::slice) of the grid a fragment is in, in any of the languages: of its triangle, layer and sample, by their names there. The variables that
/// say it are read only where there are several layers or samples: they need features, and a shader that reads the sample is one that shades samples (Vulkan,
/// Sample Shading).
pub(crate) fn slice(draw: &Draw, [triangle, layer, sample]: [&str; 3]) -> String {
    let of_layer = match draw.layers {
        0 | 1 => triangle.to_owned(),
        _ => format!("{layer} * {}u + {triangle}", draw.triangles.len()),
    };
    match draw.samples {
        1 => of_layer,
        samples => format!("({of_layer}) * {samples}u + {sample}"),
    }
}

/// Sets `invocation` of a fragment, its number in the grid, in any of the languages. A wrong identity must not lead out of the buffers.
pub(crate) fn number_of_fragment(draw: &Draw) -> String {
    let [columns, rows, depth] = draw.grid();
    let last = columns.saturating_mul(rows).saturating_mul(depth).saturating_sub(1);
    format!("invocation = min((slice * {rows}u + pixel.y) * {columns}u + pixel.x, {last}u);")
}

/// [`map_buffer::halves`] in any of the languages.
pub(crate) fn in_halves(low: &str, high: &str) -> String {
    let largest = map_buffer::LARGEST;
    format!("min({low}, 0x{largest:X}u) | (min({high}, 0x{largest:X}u) << 16u)")
}

/// Whose GLSL it is. What a case says differently in OpenGL, and where that rests, stands in docs/opengl.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Vulkan's (GL_KHR_vulkan_glsl).
    #[default]
    Vulkan,
    /// OpenGL's, with GL_KHR_shader_subgroup.
    OpenGl,
    /// OpenGL's, with ARB_shader_ballot and ARB_shader_group_vote instead. Of the subgroup operations it has those of
    /// [`in_arb`](crate::glsl::spelling::in_arb); nothing says which subgroup of the workgroup one is in.
    OpenGlArb,
    /// No GLSL, but HLSL.
    Hlsl,
    /// No GLSL, but Slang, which is printed as HLSL is but for what [`crate::hlsl`] lists.
    Slang,
    /// No GLSL, but WGSL ([`crate::wgsl`]), which is planned as the others are and printed by itself.
    Wgsl,
}

impl Dialect {
    /// True if what is printed is HLSL, or Slang, which is nearly the same.
    pub const fn is_hlsl(self) -> bool {
        matches!(self, Dialect::Hlsl | Dialect::Slang)
    }

    /// True if the shader is for an OpenGL context.
    pub const fn is_opengl(self) -> bool {
        matches!(self, Dialect::OpenGl | Dialect::OpenGlArb)
    }
}

/// Writes text and counts lines.
pub(crate) struct Printer<'a> {
    pub(crate) case: &'a Case,
    pub(crate) dialect: Dialect,
    pub(crate) out: String,
    /// Number of the line that is being written, from 1.
    pub(crate) line: usize,
    pub(crate) depth: usize,
    pub(crate) places: Vec<(usize, &'a Stmt)>,
    /// Specialisation constants are copied to variables before they are computed with.
    pub(crate) copies_constants: bool,
}

/// `write!` into the text.
macro_rules! put {
    ($printer:expr, $($arg:tt)*) => {
        write!($printer.out, $($arg)*).expect("a String takes everything")
    };
}

/// Writes a whole line, with the indentation of its place.
macro_rules! put_line {
    ($printer:expr, $($arg:tt)*) => {{
        $printer.start_line();
        put!($printer, $($arg)*);
        $printer.end_line();
    }};
}

pub(crate) use {put, put_line};

impl<'a> Printer<'a> {
    /// One that has written nothing.
    pub(crate) fn new(case: &'a Case, dialect: Dialect) -> Printer<'a> {
        Printer {
            case,
            dialect,
            out: String::with_capacity(8192),
            line: 1,
            depth: 0,
            places: Vec::new(),
            copies_constants: false,
        }
    }

    pub(crate) fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(crate) fn start_line(&mut self) {
        for _ in 0..self.depth {
            self.out.push_str("    ");
        }
    }

    pub(crate) fn end_line(&mut self) {
        self.out.push('\n');
        self.line += 1;
    }

    /// Whole lines, as they are.
    pub(crate) fn put_lines(&mut self, text: &str) {
        for line in text.lines() {
            self.start_line();
            self.put(line);
            self.end_line();
        }
    }

    pub(crate) fn blank_line(&mut self) {
        self.end_line();
    }

    /// ` {` and the end of the line.
    pub(crate) fn open(&mut self) {
        self.put(" {");
        self.end_line();
        self.depth += 1;
    }

    /// `}` on a line that is not ended yet.
    pub(crate) fn close(&mut self) {
        self.depth -= 1;
        self.start_line();
        self.put("}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only shaders that need it read the layer and the sample.
    #[test]
    fn what_says_the_slice() {
        let triangle = [[0, 0], [2, 0], [0, 2]];
        for (layers, samples, expected) in [
            (1, 1, "triangle"),
            (3, 1, "uint(gl_Layer) * 2u + triangle"),
            (1, 4, "(triangle) * 4u + uint(gl_SampleID)"),
            (3, 8, "(uint(gl_Layer) * 2u + triangle) * 8u + uint(gl_SampleID)"),
        ] {
            let draw = Draw { layers, samples, ..Draw::new([1, 1], vec![triangle; 2]) };
            assert_eq!(slice(&draw, ["triangle", "uint(gl_Layer)", "uint(gl_SampleID)"]), expected);
        }
    }
}
