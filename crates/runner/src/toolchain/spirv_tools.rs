//! SPIRV-Tools through its C interface (`spirv-tools/libspirv.h`), which is part of shaderc's static library.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use tangle_program::case::SpirvVersion;

/// The declarations of `libspirv.h` and of glslang's `glslang_c_interface.h` that are used here.
mod ffi {
    use std::ffi::{c_char, c_int, c_void};

    /// `spv_text_t`.
    #[repr(C)]
    pub struct Text {
        pub str: *const c_char,
        pub length: usize,
    }

    /// `spv_binary_t`.
    #[repr(C)]
    pub struct Binary {
        pub code: *mut u32,
        pub word_count: usize,
    }

    /// `spv_diagnostic_t`.
    #[repr(C)]
    pub struct Diagnostic {
        pub line: usize,
        pub column: usize,
        pub index: usize,
        pub error: *mut c_char,
        pub is_text_source: bool,
    }

    /// `glslang_version_t`.
    #[repr(C)]
    pub struct GlslangVersion {
        pub major: c_int,
        pub minor: c_int,
        pub patch: c_int,
        pub flavor: *const c_char,
    }

    /// `spv_message_consumer`.
    pub type Consumer = unsafe extern "C" fn(c_int, *const c_char, *const c_void, *const c_char);

    unsafe extern "C" {
        pub fn spvSoftwareVersionString() -> *const c_char;
        pub fn spvContextCreate(env: c_int) -> *mut c_void;
        pub fn spvContextDestroy(context: *mut c_void);
        pub fn spvValidateBinary(
            context: *const c_void,
            words: *const u32,
            count: usize,
            diagnostic: *mut *mut Diagnostic,
        ) -> c_int;
        pub fn spvValidatorOptionsCreate() -> *mut c_void;
        pub fn spvValidatorOptionsDestroy(options: *mut c_void);
        pub fn spvValidatorOptionsSetScalarBlockLayout(options: *mut c_void, value: bool);
        pub fn spvValidatorOptionsSetWorkgroupScalarBlockLayout(options: *mut c_void, value: bool);
        pub fn spvValidateWithOptions(
            context: *const c_void,
            options: *const c_void,
            binary: *const Binary,
            diagnostic: *mut *mut Diagnostic,
        ) -> c_int;
        pub fn spvBinaryToText(
            context: *const c_void,
            words: *const u32,
            count: usize,
            options: u32,
            text: *mut *mut Text,
            diagnostic: *mut *mut Diagnostic,
        ) -> c_int;
        pub fn spvTextToBinary(
            context: *const c_void,
            text: *const c_char,
            length: usize,
            binary: *mut *mut Binary,
            diagnostic: *mut *mut Diagnostic,
        ) -> c_int;
        pub fn spvTextDestroy(text: *mut Text);
        pub fn spvDiagnosticDestroy(diagnostic: *mut Diagnostic);
        pub fn spvBinaryDestroy(binary: *mut Binary);
        pub fn spvOptimizerCreate(env: c_int) -> *mut c_void;
        pub fn spvOptimizerDestroy(optimizer: *mut c_void);
        pub fn spvOptimizerSetMessageConsumer(optimizer: *mut c_void, consumer: Consumer);
        pub fn spvOptimizerRegisterPassFromFlag(optimizer: *mut c_void, flag: *const c_char) -> bool;
        pub fn spvOptimizerOptionsCreate() -> *mut c_void;
        pub fn spvOptimizerOptionsDestroy(options: *mut c_void);
        pub fn spvOptimizerOptionsSetRunValidator(options: *mut c_void, value: bool);
        pub fn spvOptimizerOptionsSetPreserveBindings(options: *mut c_void, value: bool);
        pub fn spvOptimizerOptionsSetPreserveSpecConstants(options: *mut c_void, value: bool);
        pub fn spvOptimizerRun(
            optimizer: *mut c_void,
            words: *const u32,
            count: usize,
            optimised: *mut *mut Binary,
            options: *mut c_void,
        ) -> c_int;
        pub fn glslang_get_version(version: *mut GlslangVersion);
        #[cfg(test)]
        pub fn spvTargetEnvDescription(env: c_int) -> *const c_char;
    }
}

/// `SPV_SUCCESS`.
const SUCCESS: c_int = 0;

/// `SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES`.
const READABLE: u32 = 1 << 3 | 1 << 6;

/// The `spv_target_env` of the Vulkan version that first takes this SPIR-V.
fn environment(version: SpirvVersion) -> c_int {
    match version {
        SpirvVersion::V1_3 => 18,
        SpirvVersion::V1_4 => 21,
        SpirvVersion::V1_5 => 23,
        SpirvVersion::V1_6 => 25,
    }
}

/// `spv_context`.
pub(super) struct Context(*mut c_void);

impl Context {
    pub(super) fn new(version: SpirvVersion) -> Context {
        // SAFETY: the number is one of the enumeration's.
        Context(unsafe { ffi::spvContextCreate(environment(version)) })
    }

    pub(super) fn validate(&self, module: &[u32]) -> Result<(), String> {
        let mut diagnostic = ptr::null_mut();
        // SAFETY: the context is alive, the slice is valid for its length, and the diagnostic is freed below.
        let status = unsafe { ffi::spvValidateBinary(self.0, module.as_ptr(), module.len(), &mut diagnostic) };
        let message = take_message(diagnostic);
        if status == SUCCESS { Ok(()) } else { Err(message.unwrap_or_else(|| format!("validator status {status}"))) }
    }

    /// The same with `scalarBlockLayout` and `workgroupMemoryExplicitLayoutScalarBlockLayout`.
    pub(super) fn validate_scalar_layout(&self, module: &[u32]) -> Result<(), String> {
        let mut diagnostic = ptr::null_mut();
        let binary = ffi::Binary { code: module.as_ptr().cast_mut(), word_count: module.len() };
        // SAFETY: the context is alive, the binary is only read and valid for its length, the options are made and destroyed here, and the
        // diagnostic is freed below.
        let status = unsafe {
            let options = ffi::spvValidatorOptionsCreate();
            ffi::spvValidatorOptionsSetScalarBlockLayout(options, true);
            ffi::spvValidatorOptionsSetWorkgroupScalarBlockLayout(options, true);
            let status = ffi::spvValidateWithOptions(self.0, options, &binary, &mut diagnostic);
            ffi::spvValidatorOptionsDestroy(options);
            status
        };
        let message = take_message(diagnostic);
        if status == SUCCESS { Ok(()) } else { Err(message.unwrap_or_else(|| format!("validator status {status}"))) }
    }

    pub(super) fn disassemble(&self, module: &[u32]) -> Result<String, String> {
        let mut text = ptr::null_mut();
        let mut diagnostic = ptr::null_mut();
        // SAFETY: the context is alive, the slice is valid for its length, and both results are freed below.
        let status = unsafe {
            ffi::spvBinaryToText(self.0, module.as_ptr(), module.len(), READABLE, &mut text, &mut diagnostic)
        };
        let message = take_message(diagnostic);
        if status != SUCCESS || text.is_null() {
            return Err(message.unwrap_or_else(|| format!("disassembler status {status}")));
        }
        // SAFETY: on success the text is valid for its length.
        let bytes = unsafe { std::slice::from_raw_parts((*text).str.cast::<u8>(), (*text).length) };
        let readable = String::from_utf8_lossy(bytes).into_owned();
        // SAFETY: the text was given to us to free, and is not used again.
        unsafe { ffi::spvTextDestroy(text) };
        Ok(readable)
    }
}

/// The module of an assembly text, with this version in its header.
pub(super) fn assemble(text: &str, target: AssemblyTarget) -> Result<Vec<u32>, String> {
    let mut binary = ptr::null_mut();
    let mut diagnostic = ptr::null_mut();
    // SAFETY: the context is made and destroyed here, the text is valid for its length, and both results are freed below.
    let status = unsafe {
        let context = ffi::spvContextCreate(target.0);
        let status = ffi::spvTextToBinary(context, text.as_ptr().cast(), text.len(), &mut binary, &mut diagnostic);
        ffi::spvContextDestroy(context);
        status
    };
    // SAFETY: a diagnostic that is not null is valid until it is freed.
    let line = (!diagnostic.is_null()).then(|| unsafe { (*diagnostic).line } + 1);
    let message = take_message(diagnostic);
    match take_words(binary) {
        Some(words) if status == SUCCESS => Ok(words),
        _ => Err(match (line, message) {
            (Some(line), Some(message)) => format!("line {line}: {message}"),
            _ => format!("assembler status {status}"),
        }),
    }
}

/// What a text is assembled for: an `spv_target_env`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssemblyTarget(c_int);

impl AssemblyTarget {
    /// By the name that `spirv-as --target-env` has for it: `spv1.0` to `spv1.6`, `vulkan1.0` to `vulkan1.3`.
    pub fn parse(name: &str) -> Option<AssemblyTarget> {
        const TARGETS: [(&str, c_int); 11] = [
            ("spv1.0", 0),
            ("vulkan1.0", 1),
            ("spv1.1", 2),
            ("spv1.2", 10),
            ("spv1.3", 17),
            ("vulkan1.1", 18),
            ("spv1.4", 20),
            ("spv1.5", 22),
            ("vulkan1.2", 23),
            ("spv1.6", 24),
            ("vulkan1.3", 25),
        ];
        TARGETS.iter().find(|(known, _)| *known == name).map(|&(_, number)| AssemblyTarget(number))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: created in `new` and not destroyed since.
        unsafe { ffi::spvContextDestroy(self.0) }
    }
}

/// The message of a diagnostic, which is freed.
fn take_message(diagnostic: *mut ffi::Diagnostic) -> Option<String> {
    if diagnostic.is_null() {
        return None;
    }
    // SAFETY: a diagnostic that is not null has a message with a NUL at its end.
    let message = unsafe { text((*diagnostic).error) };
    // SAFETY: the diagnostic was given to us to free, and is not used again.
    unsafe { ffi::spvDiagnosticDestroy(diagnostic) };
    Some(message.trim().to_owned())
}

/// A C string as text; empty for a null pointer.
///
/// # Safety
///
/// A pointer that is not null must point to characters with a NUL at their end.
unsafe fn text(characters: *const c_char) -> String {
    if characters.is_null() {
        return String::new();
    }
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(characters) }.to_string_lossy().into_owned()
}

thread_local! {
    /// What the optimiser said: its message consumer takes no data of the caller.
    static MESSAGES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a message of the optimiser.
///
/// # Safety
///
/// Called by SPIRV-Tools, with a message that is null or a C string.
unsafe extern "C" fn keep_message(_: c_int, _: *const c_char, _: *const c_void, message: *const c_char) {
    // SAFETY: promised by SPIRV-Tools.
    let message = unsafe { text(message) };
    MESSAGES.with_borrow_mut(|messages| messages.push(message));
}

/// Runs the optimiser over a module, with flags of `spirv-opt`.
pub(super) fn optimise(module: &[u32], version: SpirvVersion, flags: &[String]) -> Result<Vec<u32>, String> {
    MESSAGES.with_borrow_mut(Vec::clear);
    let c_string = |flag: &String| CString::new(flag.as_str()).map_err(|_| "a flag has a NUL character".to_owned());
    let flags: Vec<CString> = flags.iter().map(c_string).collect::<Result<_, _>>()?;
    let mut binary = ptr::null_mut();
    // SAFETY: optimiser and options are created here, used here, and destroyed here; the slice is valid for its length.
    let status = unsafe {
        let handle = ffi::spvOptimizerCreate(environment(version));
        ffi::spvOptimizerSetMessageConsumer(handle, keep_message);
        if let Some(flag) = flags.iter().find(|flag| !ffi::spvOptimizerRegisterPassFromFlag(handle, flag.as_ptr())) {
            ffi::spvOptimizerDestroy(handle);
            return Err(format!("the optimiser does not know {}", flag.to_string_lossy()));
        }
        let options = ffi::spvOptimizerOptionsCreate();
        ffi::spvOptimizerOptionsSetRunValidator(options, false);
        ffi::spvOptimizerOptionsSetPreserveBindings(options, true);
        ffi::spvOptimizerOptionsSetPreserveSpecConstants(options, true);
        let status = ffi::spvOptimizerRun(handle, module.as_ptr(), module.len(), &mut binary, options);
        ffi::spvOptimizerOptionsDestroy(options);
        ffi::spvOptimizerDestroy(handle);
        status
    };
    let optimised = take_words(binary);
    match optimised {
        Some(words) if status == SUCCESS => Ok(words),
        _ => Err(MESSAGES.with_borrow(|messages| format!("optimiser status {status}: {}", messages.join("; ")))),
    }
}

/// The words of a binary, which is freed.
fn take_words(binary: *mut ffi::Binary) -> Option<Vec<u32>> {
    if binary.is_null() {
        return None;
    }
    // SAFETY: a binary that is not null is valid for its length.
    let words = unsafe { std::slice::from_raw_parts((*binary).code, (*binary).word_count) }.to_vec();
    // SAFETY: the binary was given to us to free, and is not used again.
    unsafe { ffi::spvBinaryDestroy(binary) };
    Some(words)
}

/// Version of glslang, as `15.3.0`.
pub(super) fn glslang_version() -> String {
    let mut version = ffi::GlslangVersion { major: 0, minor: 0, patch: 0, flavor: ptr::null() };
    // SAFETY: the structure is filled in by the call.
    unsafe { ffi::glslang_get_version(&mut version) };
    format!("{}.{}.{}", version.major, version.minor, version.patch)
}

/// Version of SPIRV-Tools, as `v2025.3`.
pub(super) fn spirv_tools_version() -> String {
    // SAFETY: a string that lives as long as the process.
    unsafe { text(ffi::spvSoftwareVersionString()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_the_assembler_have_the_numbers_of_the_header() {
        for (name, expected) in [
            ("spv1.0", "SPIR-V 1.0"),
            ("vulkan1.0", "SPIR-V 1.0 (under Vulkan 1.0"),
            ("spv1.1", "SPIR-V 1.1"),
            ("spv1.2", "SPIR-V 1.2"),
            ("spv1.3", "SPIR-V 1.3"),
            ("vulkan1.1", "SPIR-V 1.3 (under Vulkan 1.1"),
            ("spv1.4", "SPIR-V 1.4"),
            ("spv1.5", "SPIR-V 1.5"),
            ("vulkan1.2", "SPIR-V 1.5 (under Vulkan 1.2"),
            ("spv1.6", "SPIR-V 1.6"),
            ("vulkan1.3", "SPIR-V 1.6 (under Vulkan 1.3"),
        ] {
            let target = AssemblyTarget::parse(name).unwrap_or_else(|| panic!("{name}"));
            // SAFETY: a string that lives as long as the process.
            let description = unsafe { text(ffi::spvTargetEnvDescription(target.0)) };
            assert!(description.starts_with(expected), "{name}: {description}");
            assert_eq!(description.contains("under"), name.starts_with("vulkan"), "{name}: {description}");
        }
        assert_eq!(AssemblyTarget::parse("opengl4.5"), None);
    }

    #[test]
    fn environments_have_the_numbers_of_the_header() {
        let expected = [
            "SPIR-V 1.3 (under Vulkan 1.1",
            "SPIR-V 1.4 (under Vulkan 1.1",
            "SPIR-V 1.5 (under Vulkan 1.2",
            "SPIR-V 1.6 (under Vulkan 1.3",
        ];
        for (version, expected) in SpirvVersion::ALL.into_iter().zip(expected) {
            // SAFETY: a string that lives as long as the process.
            let description = unsafe { text(ffi::spvTargetEnvDescription(environment(version))) };
            assert!(description.starts_with(expected), "{description}");
        }
    }
}
