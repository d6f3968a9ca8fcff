//! Emitters: one for each language of shaders. Spelling lives here: the tree says what a program means, an emitter how a language
//! says it.
//!
//! - [`glsl`]: GLSL 4.50, with the place of every statement in the text.
//! - [`hlsl`]: HLSL of Shader Model 6, by the same printer with its own spelling.
//! - [`wgsl`]: WGSL, by a printer of its own.
//! - [`spirv`]: SPIR-V, with control flow as GLSL cannot say it.
//!
//! [`print()`] prints a case in the language of its variant. Below the languages: `plan.rs` finds out what a function declares and uses before
//! it is printed, `printer.rs` is what they write with, `printed.rs` the text with the place of each statement.

pub mod glsl;
pub mod hlsl;
mod plan;
mod printed;
mod printer;
pub mod spirv;
mod unlisted;
pub mod wgsl;

use tangle_program::case::Case;
use tangle_program::tree::{Expr, Function};
use tangle_program::variant::Language;

pub use printed::Printed;
use printer::Dialect;

/// The shader of a case in the language of its variant, with the place of each statement. What the language does not have ([`lacks`]) is
/// printed as something that does not compile.
pub fn print(case: &Case) -> Printed<'_> {
    match case.variant.language() {
        Language::Glsl => glsl::print(case),
        Language::Hlsl => hlsl::print(case, Dialect::Hlsl),
        Language::Slang => hlsl::print(case, Dialect::Slang),
        Language::Wgsl => wgsl::print(case),
    }
}

/// The text of [`print()`].
pub fn source(case: &Case) -> String {
    print(case).text
}

/// An expression of a function of the case, as the shader in the language of its variant says it.
pub fn expression(case: &Case, function: &Function, expr: &Expr) -> String {
    match case.variant.language() {
        Language::Glsl => glsl::expression(case, Dialect::Vulkan, function, expr),
        Language::Hlsl => glsl::expression(case, Dialect::Hlsl, function, expr),
        Language::Slang => glsl::expression(case, Dialect::Slang, function, expr),
        Language::Wgsl => wgsl::expression(case, function, expr),
    }
}

/// What of a case a language cannot say, in words; empty if it can say all.
pub fn lacks(language: Language, case: &Case) -> Vec<String> {
    match language {
        Language::Glsl => Vec::new(),
        Language::Hlsl => hlsl::lacks(case, Dialect::Hlsl),
        Language::Slang => hlsl::lacks(case, Dialect::Slang),
        Language::Wgsl => wgsl::lacks(case),
    }
}

/// The case as far as a language can say it: what it does not have is left out or replaced, where another valid program comes of that. For
/// random cases, so that a language gets its share of what is generated.
pub fn fitted(language: Language, case: Case) -> Case {
    match language {
        Language::Glsl => case,
        Language::Hlsl => hlsl::fitted(case, Dialect::Hlsl),
        Language::Slang => hlsl::fitted(case, Dialect::Slang),
        Language::Wgsl => wgsl::fitted(case),
    }
}
