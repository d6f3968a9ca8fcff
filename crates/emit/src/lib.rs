//! Emitters: one for each language of shaders. Spelling lives here: the tree says what a program means, an emitter how a language
//! says it.
//!
//! - [`glsl`]: GLSL 4.50, with the place of every statement in the text.
//! - [`spirv`]: SPIR-V, with control flow as GLSL cannot say it.

pub mod glsl;
pub mod spirv;
