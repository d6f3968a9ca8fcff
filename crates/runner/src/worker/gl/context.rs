//! EGL without a window: every OpenGL context that a driver gives.
//!
//! Sources: EGL 1.5; EGL_EXT_platform_base, EGL_EXT_device_base, EGL_EXT_platform_device, EGL_MESA_platform_surfaceless,
//! EGL_KHR_no_config_context, EGL_KHR_surfaceless_context, EGL_KHR_create_context, EGL_EXT_create_context_robustness.

use std::ffi::{CStr, c_void};

use khronos_egl as egl;

/// The functions of libEGL, which is loaded when a worker needs it.
pub(super) type Egl = egl::DynamicInstance<egl::EGL1_4>;

const PLATFORM_DEVICE: egl::Enum = 0x313F;
const PLATFORM_SURFACELESS: egl::Enum = 0x31DD;
const CONTEXT_MINOR_VERSION: egl::Int = 0x30FB;
const CONTEXT_OPENGL_PROFILE_MASK: egl::Int = 0x30FD;
const CONTEXT_OPENGL_CORE_PROFILE_BIT: egl::Int = 1;
const CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY: egl::Int = 0x31BD;
const LOSE_CONTEXT_ON_RESET: egl::Int = 0x31BF;

/// The versions that are asked for, one after the other. Shaders are GLSL 4.50.
const VERSIONS: [(egl::Int, egl::Int); 2] = [(4, 6), (4, 5)];

/// The most devices of one driver.
const MOST_DEVICES: usize = 64;

type QueryDevices = unsafe extern "system" fn(egl::Int, *mut *mut c_void, *mut egl::Int) -> egl::Boolean;
type GetPlatformDisplay = unsafe extern "system" fn(egl::Enum, *mut c_void, *const egl::Int) -> egl::EGLDisplay;

type QueryDisplayAttribute = unsafe extern "system" fn(egl::EGLDisplay, egl::Int, *mut isize) -> egl::Boolean;
type QueryDeviceString = unsafe extern "system" fn(*mut c_void, egl::Int) -> *const std::ffi::c_char;

/// `EGL_DEVICE_EXT`.
const DEVICE: egl::Int = 0x322C;

/// Where a context comes from.
#[derive(Clone, Copy)]
pub(super) enum Platform {
    /// A device of EGL_EXT_device_enumeration: its number and handle.
    Device(usize, *mut c_void),
    /// No device: EGL_MESA_platform_surfaceless.
    Surfaceless,
}

impl std::fmt::Display for Platform {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Platform::Device(number, _) => write!(formatter, "device {number}"),
            Platform::Surfaceless => formatter.write_str("surfaceless"),
        }
    }
}

/// A context, with its display.
#[derive(Clone, Copy)]
pub(super) struct Context {
    display: egl::Display,
    context: egl::Context,
}

/// Loads libEGL; the error is a line for a person.
pub(super) fn load() -> Result<Egl, String> {
    // SAFETY: libEGL is an ordinary library; its initialisers ask nothing of us.
    unsafe { Egl::load_required() }.map_err(|error| format!("no libEGL (Debian: apt install libegl1): {error}"))
}

/// Everything that may give a context, the devices first.
///
/// # Errors
///
/// If EGL has no platform without a window.
pub(super) fn platforms(egl: &Egl) -> Result<Vec<Platform>, String> {
    let extensions = egl.query_string(None, egl::EXTENSIONS).map(CStr::to_string_lossy).unwrap_or_default();
    let has = |name: &str| extensions.split(' ').any(|extension| extension == name);
    let mut platforms = Vec::new();
    let can_enumerate = has("EGL_EXT_device_base") || has("EGL_EXT_device_enumeration");
    if let Some(query) =
        egl.get_proc_address("eglQueryDevicesEXT").filter(|_| can_enumerate && has("EGL_EXT_platform_device"))
    {
        // SAFETY: the function has this type (EGL_EXT_device_base).
        let query: QueryDevices = unsafe { std::mem::transmute::<extern "system" fn(), QueryDevices>(query) };
        let mut devices = [std::ptr::null_mut(); MOST_DEVICES];
        let mut count = 0;
        // SAFETY: at most as many handles are written as fit.
        let is_well = unsafe { query(MOST_DEVICES as egl::Int, devices.as_mut_ptr(), &mut count) } == egl::TRUE;
        let count = if is_well { (count.max(0) as usize).min(MOST_DEVICES) } else { 0 };
        platforms.extend(
            devices.into_iter().take(count).enumerate().map(|(number, device)| Platform::Device(number, device)),
        );
    }
    if has("EGL_MESA_platform_surfaceless") {
        platforms.push(Platform::Surfaceless);
    }
    if platforms.is_empty() {
        return Err("EGL has no driver with EGL_EXT_platform_device or EGL_MESA_platform_surfaceless".to_owned());
    }
    Ok(platforms)
}

/// Makes a context of OpenGL 4.5 or later, core profile, and makes it the current one of this thread.
///
/// # Errors
///
/// A line for a person if the platform has none.
pub(super) fn create(egl: &Egl, platform: Platform) -> Result<Context, String> {
    let failed = |call: &str, error: egl::Error| format!("{platform}: {call}: {error}");
    let (kind, native) = match platform {
        Platform::Device(_, device) => (PLATFORM_DEVICE, device),
        Platform::Surfaceless => (PLATFORM_SURFACELESS, std::ptr::null_mut()),
    };
    let get = egl.get_proc_address("eglGetPlatformDisplayEXT").ok_or("EGL has no eglGetPlatformDisplayEXT")?;
    // SAFETY: the function has this type (EGL_EXT_platform_base).
    let get: GetPlatformDisplay = unsafe { std::mem::transmute::<extern "system" fn(), GetPlatformDisplay>(get) };
    // SAFETY: the handle is one of the platform's, and the list of attributes is ended.
    let display = unsafe { get(kind, native, [egl::NONE].as_ptr()) };
    if display.is_null() {
        return Err(format!("{platform}: eglGetPlatformDisplayEXT gives no display"));
    }
    // SAFETY: EGL gave the handle.
    let display = unsafe { egl::Display::from_ptr(display) };
    egl.initialize(display).map_err(|error| failed("eglInitialize", error))?;
    egl.bind_api(egl::OPENGL_API).map_err(|error| failed("eglBindAPI", error))?;
    // SAFETY: no configuration is one that EGL_KHR_no_config_context allows.
    let config = unsafe { egl::Config::from_ptr(std::ptr::null_mut()) };
    let mut problem = format!("{platform}: no context of OpenGL 4.5");
    for (major, minor) in VERSIONS {
        let version = [
            egl::CONTEXT_MAJOR_VERSION,
            major,
            CONTEXT_MINOR_VERSION,
            minor,
            CONTEXT_OPENGL_PROFILE_MASK,
            CONTEXT_OPENGL_CORE_PROFILE_BIT,
        ];
        // A context that is lost says so; not every driver has that.
        let robust = [CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY, LOSE_CONTEXT_ON_RESET];
        for more in [robust.as_slice(), &[]] {
            let attributes = [&version, more, &[egl::NONE]].concat();
            match egl.create_context(display, config, None, &attributes) {
                Ok(context) => {
                    let context = Context { display, context };
                    context.make_current(egl).map_err(|error| failed("eglMakeCurrent", error))?;
                    return Ok(context);
                }
                Err(error) => problem = format!("{platform}: no context of OpenGL {major}.{minor}: {error}"),
            }
        }
    }
    Err(problem)
}

impl Context {
    /// True if what is behind it runs on the processors (EGL_EXT_device_query, EGL_MESA_device_software).
    pub(super) fn is_software(&self, egl: &Egl) -> bool {
        let functions =
            egl.get_proc_address("eglQueryDisplayAttribEXT").zip(egl.get_proc_address("eglQueryDeviceStringEXT"));
        let Some((attribute, string)) = functions else { return false };
        // SAFETY: the functions have these types (EGL_EXT_device_base).
        let (attribute, string) = unsafe {
            (
                std::mem::transmute::<extern "system" fn(), QueryDisplayAttribute>(attribute),
                std::mem::transmute::<extern "system" fn(), QueryDeviceString>(string),
            )
        };
        let mut device = 0;
        // SAFETY: the display is there, and a number is written.
        if unsafe { attribute(self.display.as_ptr(), DEVICE, &mut device) } != egl::TRUE || device == 0 {
            return false;
        }
        // SAFETY: EGL gave the device, and its string lives as long as it.
        let extensions = unsafe { string(device as *mut c_void, egl::EXTENSIONS) };
        if extensions.is_null() {
            return false;
        }
        // SAFETY: it is a string of EGL.
        let extensions = unsafe { CStr::from_ptr(extensions) }.to_string_lossy();
        extensions.split(' ').any(|extension| extension == "EGL_MESA_device_software")
    }

    /// Destroys it, and leaves no context current. One that cannot be destroyed stays where it is.
    pub(super) fn destroy(self, egl: &Egl) {
        let _ = egl.make_current(self.display, None, None, None);
        let _ = egl.destroy_context(self.display, self.context);
    }

    /// Makes it the current context of this thread, without a surface (EGL_KHR_surfaceless_context).
    fn make_current(&self, egl: &Egl) -> Result<(), egl::Error> {
        egl.make_current(self.display, None, None, Some(self.context))
    }
}
