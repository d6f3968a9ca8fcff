//! A program, from GLSL or from modules: "All the shader objects attached to \<program> do not have the same value for the SPIR_V_BINARY_ARB state" is why
//! linking may fail (ARB_gl_spirv), so that it is all of one kind.

use std::ffi::CString;

use glow::HasContext as _;

use super::context::Egl;
use super::draw::shader_type;
use super::failure::{Failure, check};
use super::module::has_constant;
use crate::info::DeviceInfo;
use crate::job::ShaderStage;

/// `GL_SHADER_BINARY_FORMAT_SPIR_V`.
const SPIR_V: u32 = 0x9551;

/// The longest part of a compiler's message that is kept, characters.
const MESSAGE: usize = 200;

type ShaderBinary = unsafe extern "system" fn(i32, *const u32, u32, *const std::ffi::c_void, i32);
type SpecializeShader = unsafe extern "system" fn(u32, *const std::ffi::c_char, u32, *const u32, *const u32);

/// The functions of ARB_gl_spirv, which `glow` does not have.
pub(super) struct TakesModules {
    binary: ShaderBinary,
    specialize: SpecializeShader,
}

impl TakesModules {
    /// The functions, if the context has them.
    pub(super) fn load(egl: &Egl, info: &DeviceInfo) -> Option<TakesModules> {
        if !info.opengl.as_ref()?.takes_spirv {
            return None;
        }
        let binary = egl.get_proc_address("glShaderBinary")?;
        let specialize =
            egl.get_proc_address("glSpecializeShader").or_else(|| egl.get_proc_address("glSpecializeShaderARB"))?;
        // SAFETY: the functions have these types (OpenGL 4.6, §7.2; ARB_gl_spirv).
        unsafe {
            Some(TakesModules {
                binary: std::mem::transmute::<extern "system" fn(), ShaderBinary>(binary),
                specialize: std::mem::transmute::<extern "system" fn(), SpecializeShader>(specialize),
            })
        }
    }
}

/// A shader that is deleted with this.
pub(super) struct Shader<'gl> {
    gl: &'gl glow::Context,
    shader: glow::Shader,
}

impl Drop for Shader<'_> {
    fn drop(&mut self) {
        // SAFETY: the shader is of this context, and used by nobody after this.
        unsafe { self.gl.delete_shader(self.shader) };
    }
}

/// A program that is deleted with this.
pub(super) struct Program<'gl> {
    gl: &'gl glow::Context,
    program: glow::Program,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is of this context, and used by nobody after this.
        unsafe {
            self.gl.use_program(None);
            self.gl.delete_program(self.program);
        }
    }
}

fn new_shader(gl: &glow::Context, stage: ShaderStage) -> Result<Shader<'_>, Failure> {
    // SAFETY: the context is current; a stage that it does not have gives an error.
    let shader = unsafe { gl.create_shader(shader_type(stage)) };
    let shader = shader.map_err(|result| Failure::Error { call: "glCreateShader", result })?;
    Ok(Shader { gl, shader })
}

/// Compiles GLSL; the error has the beginning of the compiler's log.
pub(super) fn compile<'gl>(gl: &'gl glow::Context, stage: ShaderStage, source: &str) -> Result<Shader<'gl>, Failure> {
    let shader = new_shader(gl, stage)?;
    // SAFETY: the shader was just made.
    let log = unsafe {
        gl.shader_source(shader.shader, source);
        gl.compile_shader(shader.shader);
        (!gl.get_shader_compile_status(shader.shader)).then(|| gl.get_shader_info_log(shader.shader))
    };
    match log {
        Some(log) => Err(Failure::Error { call: "glCompileShader", result: message(&log) }),
        None => check(gl, "glCompileShader").map(|()| shader),
    }
}

/// Takes a module, and gives those of the specialisation constants that it has their values.
pub(super) fn specialize<'gl>(
    gl: &'gl glow::Context,
    modules: &TakesModules,
    stage: ShaderStage,
    words: &[u32],
    constants: &[(u32, u32)],
) -> Result<Shader<'gl>, Failure> {
    let shader = new_shader(gl, stage)?;
    let name = CString::from(c"main");
    let (ids, values): (Vec<u32>, Vec<u32>) =
        constants.iter().copied().filter(|&(number, _)| has_constant(words, number)).unzip();
    // SAFETY: lengths and pointers are those of slices that live until the calls return; the shader was just made.
    let log = unsafe {
        let id = shader.shader.0.get();
        (modules.binary)(1, &id, SPIR_V, words.as_ptr().cast(), size_of_val(words) as i32);
        check(gl, "glShaderBinary")?;
        (modules.specialize)(id, name.as_ptr(), ids.len() as u32, ids.as_ptr(), values.as_ptr());
        check(gl, "glSpecializeShader")?;
        (!gl.get_shader_compile_status(shader.shader)).then(|| gl.get_shader_info_log(shader.shader))
    };
    match log {
        Some(log) => Err(Failure::Error { call: "glSpecializeShader", result: message(&log) }),
        None => Ok(shader),
    }
}

/// Links a program of these shaders.
pub(super) fn link<'gl>(gl: &'gl glow::Context, shaders: &[Shader<'gl>]) -> Result<Program<'gl>, Failure> {
    // SAFETY: the context is current.
    let program = unsafe { gl.create_program() };
    let program = program.map_err(|result| Failure::Error { call: "glCreateProgram", result })?;
    let program = Program { gl, program };
    // SAFETY: program and shaders are of this context.
    let log = unsafe {
        shaders.iter().for_each(|shader| gl.attach_shader(program.program, shader.shader));
        gl.link_program(program.program);
        (!gl.get_program_link_status(program.program)).then(|| gl.get_program_info_log(program.program))
    };
    match log {
        Some(log) => Err(Failure::Error { call: "glLinkProgram", result: message(&log) }),
        None => check(gl, "glLinkProgram").map(|()| program),
    }
}

impl Program<'_> {
    /// Makes it the program that dispatches and draws run.
    pub(super) fn bind(&self) {
        // SAFETY: the program is linked.
        unsafe { self.gl.use_program(Some(self.program)) };
    }
}

/// What a compiler said first of what is wrong, without the place: that differs from shader to shader.
fn message(log: &str) -> String {
    let lower = |line: &str| line.to_ascii_lowercase();
    let line = log
        .lines()
        .find(|line| lower(line).contains("error"))
        .or_else(|| log.lines().find(|line| !line.trim().is_empty()));
    let line = line.unwrap_or("GL_FALSE, without a message");
    let begin = lower(line).find("error").unwrap_or(0);
    line.get(begin..).unwrap_or(line).trim().chars().take(MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_compilers_lose_their_places() {
        for (log, said) in [
            ("0:45(12): error: `x' undeclared\n0:46(1): error: more\n", "error: `x' undeclared"),
            ("0(45) : error C1503: undefined variable \"x\"\n", "error C1503: undefined variable \"x\""),
            ("warning: slow\nERROR: 0:1: no\n", "ERROR: 0:1: no"),
            ("\nunsupported\n", "unsupported"),
            ("", "GL_FALSE, without a message"),
        ] {
            assert_eq!(message(log), said);
        }
        assert_eq!(message(&"x".repeat(1 << 20)).len(), MESSAGE);
    }
}
