//! What stands around a stage that is no compute shader: a framebuffer without attachments, and the draw.
//!
//! Window coordinates are those of Vulkan's framebuffer: there as here a position of -1 is the edge where `gl_FragCoord` begins (OpenGL 4.6, Controlling the Viewport, with its
//! default clip control and lower-left origin; Vulkan, Controlling the Viewport), so that a pixel has the same number in both.

use glow::HasContext as _;
use tangle_program::case::Draw;

use super::context::Egl;
use super::failure::{Failure, check};
use crate::job::{Pipeline, Raster, ShaderStage};

const FRAMEBUFFER_DEFAULT_WIDTH: u32 = 0x9310;
const FRAMEBUFFER_DEFAULT_HEIGHT: u32 = 0x9311;
const FRAMEBUFFER_DEFAULT_LAYERS: u32 = 0x9312;
const FRAMEBUFFER_DEFAULT_SAMPLES: u32 = 0x9313;
const FRAMEBUFFER_DEFAULT_FIXED_SAMPLE_LOCATIONS: u32 = 0x9314;
const SAMPLES: u32 = 0x80A9;
const SAMPLE_POSITION: u32 = 0x8E50;
const FIRST_VERTEX_CONVENTION: u32 = 0x8E4D;

/// `GL_TASK_SHADER_EXT` and `GL_MESH_SHADER_EXT`.
const TASK_SHADER: u32 = 0x955A;
const MESH_SHADER: u32 = 0x9559;

type FramebufferParameter = unsafe extern "system" fn(u32, u32, i32);
type ProvokingVertex = unsafe extern "system" fn(u32);
type GetMultisample = unsafe extern "system" fn(u32, u32, *mut f32);
type DrawMeshTasks = unsafe extern "system" fn(u32, u32, u32);

/// Functions of OpenGL 4.5 that `glow` does not have, and that of EXT_mesh_shader, where it is there.
pub(super) struct Functions {
    framebuffer_parameter: FramebufferParameter,
    provoking_vertex: ProvokingVertex,
    get_multisample: GetMultisample,
    draw_mesh_tasks: Option<DrawMeshTasks>,
}

impl Functions {
    /// The functions of the current context; the error is a line for a person.
    pub(super) fn load(egl: &Egl) -> Result<Functions, String> {
        let load = |name| egl.get_proc_address(name).ok_or_else(|| format!("EGL has no {name}"));
        let [parameter, provoking, multisample] =
            [load("glFramebufferParameteri")?, load("glProvokingVertex")?, load("glGetMultisamplefv")?];
        let mesh = egl.get_proc_address("glDrawMeshTasksEXT");
        // SAFETY: the functions have these types (OpenGL 4.5; EXT_mesh_shader).
        unsafe {
            Ok(Functions {
                framebuffer_parameter: std::mem::transmute::<extern "system" fn(), FramebufferParameter>(parameter),
                provoking_vertex: std::mem::transmute::<extern "system" fn(), ProvokingVertex>(provoking),
                get_multisample: std::mem::transmute::<extern "system" fn(), GetMultisample>(multisample),
                draw_mesh_tasks: mesh.map(|mesh| std::mem::transmute::<extern "system" fn(), DrawMeshTasks>(mesh)),
            })
        }
    }
}

/// What `glCreateShader` calls a stage.
pub(super) const fn shader_type(stage: ShaderStage) -> u32 {
    match stage {
        ShaderStage::Compute => glow::COMPUTE_SHADER,
        ShaderStage::Task => TASK_SHADER,
        ShaderStage::Mesh => MESH_SHADER,
        ShaderStage::Fragment => glow::FRAGMENT_SHADER,
        ShaderStage::Vertex => glow::VERTEX_SHADER,
        ShaderStage::TessellationControl => glow::TESS_CONTROL_SHADER,
        ShaderStage::TessellationEvaluation => glow::TESS_EVALUATION_SHADER,
        ShaderStage::Geometry => glow::GEOMETRY_SHADER,
    }
}

/// The framebuffer and the empty vertex array of draws, deleted with this.
pub(super) struct Surface<'gl> {
    gl: &'gl glow::Context,
    functions: &'gl Functions,
    framebuffer: glow::Framebuffer,
    vertices: glow::VertexArray,
}

impl Drop for Surface<'_> {
    fn drop(&mut self) {
        // SAFETY: both are of this context, and used by nobody after this.
        unsafe {
            self.gl.bind_framebuffer(glow::FRAMEBUFFER, None);
            self.gl.bind_vertex_array(None);
            self.gl.delete_framebuffer(self.framebuffer);
            self.gl.delete_vertex_array(self.vertices);
        }
    }
}

impl<'gl> Surface<'gl> {
    /// Makes and binds what launches of this pipeline draw into.
    pub(super) fn new(
        gl: &'gl glow::Context,
        functions: &'gl Functions,
        pipeline: &Pipeline,
    ) -> Result<Surface<'gl>, Failure> {
        let (one, rasterises) = (Raster::default(), pipeline.rasterises());
        let raster = match pipeline {
            Pipeline::Fragment(raster) => raster.as_ref(),
            Pipeline::Compute | Pipeline::Task { .. } | Pipeline::Mesh { .. } | Pipeline::Items(_) => &one,
        };
        let failed = |call| move |result| Failure::Error { call, result };
        // SAFETY: the context is current; numbers that it does not allow give an error.
        unsafe {
            let framebuffer = gl.create_framebuffer().map_err(failed("glGenFramebuffers"))?;
            let vertices = match gl.create_vertex_array() {
                Ok(vertices) => vertices,
                Err(result) => {
                    gl.delete_framebuffer(framebuffer);
                    return Err(failed("glGenVertexArrays")(result));
                }
            };
            let surface = Surface { gl, functions, framebuffer, vertices };
            surface.bind(raster, rasterises)?;
            Ok(surface)
        }
    }

    /// # Safety
    /// The context is current.
    unsafe fn bind(&self, raster: &Raster, rasterises: bool) -> Result<(), Failure> {
        let &Raster { width, height, layers, samples, .. } = raster;
        let gl = self.gl;
        // SAFETY: the context is current, and these are objects of it.
        unsafe {
            gl.bind_vertex_array(Some(self.vertices));
            gl.bind_framebuffer(glow::FRAMEBUFFER, Some(self.framebuffer));
            let set = |name, value: u32| (self.functions.framebuffer_parameter)(glow::FRAMEBUFFER, name, value as i32);
            set(FRAMEBUFFER_DEFAULT_WIDTH, width);
            set(FRAMEBUFFER_DEFAULT_HEIGHT, height);
            // 0 is no layered framebuffer, and none with several samples.
            set(FRAMEBUFFER_DEFAULT_LAYERS, if layers > 1 { layers } else { 0 });
            set(FRAMEBUFFER_DEFAULT_SAMPLES, if samples > 1 { samples } else { 0 });
            set(FRAMEBUFFER_DEFAULT_FIXED_SAMPLE_LOCATIONS, 1);
            check(gl, "glFramebufferParameteri")?;
            let status = gl.check_framebuffer_status(glow::FRAMEBUFFER);
            if status != glow::FRAMEBUFFER_COMPLETE {
                let result = format!("framebuffer status {status:#x}");
                return Err(Failure::Error { call: "glCheckFramebufferStatus", result });
            }
            gl.viewport(0, 0, width as i32, height as i32);
            match rasterises {
                true => gl.disable(glow::RASTERIZER_DISCARD),
                false => gl.enable(glow::RASTERIZER_DISCARD),
            }
            (self.functions.provoking_vertex)(FIRST_VERTEX_CONVENTION);
        }
        check(gl, "glProvokingVertex")
    }

    /// Draws, with the program that is bound: as many vertices as there are groups in x, and instances in y, or these workgroups of task or mesh shaders.
    pub(super) fn draw(&self, pipeline: &Pipeline, [x, y, z]: [u32; 3]) -> Result<(), Failure> {
        // SAFETY: a linked program is bound, its buffers are large enough (check.rs), and the counts are within the limits.
        let call = unsafe {
            match (topology(pipeline), self.functions.draw_mesh_tasks) {
                (Some(topology), _) => {
                    if topology == glow::PATCHES {
                        self.gl.patch_parameter_i32(glow::PATCH_VERTICES, 1);
                    }
                    self.gl.draw_arrays_instanced(topology, 0, x as i32, y as i32);
                    "glDrawArraysInstanced"
                }
                (None, Some(draw_mesh_tasks)) => {
                    draw_mesh_tasks(x, y, z);
                    "glDrawMeshTasksEXT"
                }
                (None, None) => {
                    let result = "it is not there".to_owned();
                    return Err(Failure::Error { call: "glDrawMeshTasksEXT", result });
                }
            }
        };
        check(self.gl, call)
    }

    /// Where the samples of its pixels are, in 16ths from where `gl_FragCoord` begins; `None` if one is anywhere else.
    fn sample_locations(&self) -> Option<Vec<[u32; 2]>> {
        // SAFETY: the framebuffer is bound, and the context has this number.
        let count = unsafe { self.gl.get_parameter_i32(SAMPLES) }.clamp(0, 64) as u32;
        let location = |index| {
            let mut position = [-1.0f32; 2];
            // SAFETY: the index is below the number of samples, and two numbers are written.
            unsafe { (self.functions.get_multisample)(SAMPLE_POSITION, index, position.as_mut_ptr()) };
            let parts = position.map(|part| part * 16.0);
            let is_part = |part: f32| part.fract() == 0.0 && (0.0..16.0).contains(&part);
            parts.into_iter().all(is_part).then(|| parts.map(|part| part as u32))
        };
        (0..count).map(location).collect()
    }
}

/// What vertices are taken for; none where there are no vertices.
const fn topology(pipeline: &Pipeline) -> Option<u32> {
    match pipeline {
        Pipeline::Items(items) if items.patches => Some(glow::PATCHES),
        Pipeline::Items(_) => Some(glow::POINTS),
        Pipeline::Fragment(_) => Some(glow::TRIANGLES),
        Pipeline::Compute | Pipeline::Task { .. } | Pipeline::Mesh { .. } => None,
    }
}

/// The numbers of samples with which they are at the [locations](Draw::sample_locations) of Vulkan. In OpenGL they may be anywhere (OpenGL 4.6, Multisampling).
pub(super) fn sample_counts(gl: &glow::Context, functions: &Functions) -> u32 {
    let has = |&samples: &u32| {
        let pipeline = Pipeline::Fragment(Box::new(Raster { samples, ..Raster::default() }));
        let draw = Draw { samples, ..Draw::new([1, 1], Vec::new()) };
        let surface = Surface::new(gl, functions, &pipeline);
        surface.is_ok_and(|surface| surface.sample_locations().as_deref() == Some(draw.sample_locations()))
    };
    let counts = Draw::SAMPLES.into_iter().filter(|&samples| samples > 1).filter(has).sum();
    // What a context does not have is no error of what comes next.
    let _ = check(gl, "glFramebufferParameteri");
    counts
}
