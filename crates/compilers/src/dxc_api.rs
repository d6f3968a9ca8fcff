//! The few functions of DXC's interface that a compilation needs, by the tables of functions of its objects.
//!
//! Source: DirectXShaderCompiler, `include/dxc/dxcapi.h` and `WinAdapter.h`. Bindings that exist know the tables of one age of the library only.

use std::ffi::{CStr, CString, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use tangle_files::linker;

use crate::compiler::Failure;
use crate::program;

/// A GUID, as COM has it.
#[repr(C)]
struct Guid(u32, u16, u16, [u8; 8]);

const CLSID_COMPILER: Guid = Guid(0x73e2_2d93, 0xe6ce, 0x47f3, [0xb5, 0xbf, 0xf0, 0x66, 0x4f, 0x39, 0xc1, 0xb0]);
const IID_COMPILER: Guid = Guid(0x8c21_0bf3, 0x011f, 0x4422, [0x8d, 0x70, 0x6f, 0x9a, 0xcb, 0x8d, 0xb6, 0x17]);
const CLSID_LIBRARY: Guid = Guid(0x6245_d6af, 0x66e0, 0x48fd, [0x80, 0xb4, 0x4d, 0x27, 0x17, 0x96, 0x74, 0x8c]);
const IID_LIBRARY: Guid = Guid(0xe520_4dc7, 0xd18c, 0x4c3c, [0xbd, 0xfb, 0x85, 0x16, 0x73, 0x98, 0x0f, 0xe7]);

/// The code page of UTF-8.
const UTF8: u32 = 65001;

/// The entries of every table before its own: QueryInterface, AddRef, Release.
const UNKNOWN: usize = 3;

type CreateInstance = unsafe extern "C" fn(*const Guid, *const Guid, *mut *mut c_void) -> i32;

/// An object of the library.
struct Object<'l> {
    this: *mut c_void,
    /// Entries between those of every object and its own.
    destructors: usize,
    library: PhantomData<&'l ()>,
}

impl Object<'_> {
    /// The function at a place of the table.
    ///
    /// # Safety
    /// `F` is the type of the function there.
    unsafe fn entry<F: Copy>(&self, at: usize) -> F {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        // SAFETY: an object begins with the pointer to its table, which has an entry there; the caller knows its type.
        unsafe { (*self.this.cast::<*const *const c_void>()).add(at).cast::<F>().read() }
    }

    /// The function of this number among the object's own.
    ///
    /// # Safety
    /// As [`Object::entry`].
    unsafe fn own<F: Copy>(&self, number: usize) -> F {
        // SAFETY: the caller's.
        unsafe { self.entry(UNKNOWN + self.destructors + number) }
    }

    /// The bytes of an `IDxcBlob`.
    fn bytes(&self) -> Vec<u8> {
        // SAFETY: a blob's own functions are GetBufferPointer and GetBufferSize; the buffer lives as long as the blob.
        unsafe {
            let pointer: unsafe extern "C" fn(*mut c_void) -> *const u8 = self.own(0);
            let size: unsafe extern "C" fn(*mut c_void) -> usize = self.own(1);
            let (pointer, size) = (pointer(self.this), size(self.this));
            if pointer.is_null() { Vec::new() } else { std::slice::from_raw_parts(pointer, size).to_vec() }
        }
    }
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        // SAFETY: Release is the third function of every object, and this one is ours.
        unsafe {
            let release: unsafe extern "C" fn(*mut c_void) -> u32 = self.entry(2);
            release(self.this);
        }
    }
}

/// The library. It is never unloaded.
pub(crate) struct Library {
    create: CreateInstance,
    destructors: usize,
}

impl Library {
    /// Loads the library. `has_destructors`: whether its tables of functions have two destructors.
    pub(crate) fn open(path: &Path, has_destructors: bool) -> Result<Library, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: dlopen and dlsym get strings that end with a zero, dlerror gives one; DxcCreateInstance has this type (dxcapi.h).
        unsafe {
            let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            let symbol = if library.is_null() { library } else { libc::dlsym(library, c"DxcCreateInstance".as_ptr()) };
            if symbol.is_null() {
                let said = libc::dlerror();
                let said = if said.is_null() { "?".into() } else { CStr::from_ptr(said).to_string_lossy() };
                let said = if linker::lacks(&said).is_some() { program::unlinked(&said) } else { said.into_owned() };
                return Err(format!("cannot load {}: {said}", path.display()));
            }
            let create = std::mem::transmute::<*mut c_void, CreateInstance>(symbol);
            Ok(Library { create, destructors: if has_destructors { 2 } else { 0 } })
        }
    }

    fn object(&self, this: *mut c_void, code: i32, what: &str) -> Result<Object<'_>, Failure> {
        if code < 0 || this.is_null() {
            return Err(Failure::Refused(format!("{what} fails with {code:#x}")));
        }
        Ok(Object { this, destructors: self.destructors, library: PhantomData })
    }

    fn create(&self, class: &Guid, interface: &Guid) -> Result<Object<'_>, Failure> {
        let mut this = std::ptr::null_mut();
        // SAFETY: the function reads the two identifiers and writes one pointer.
        let code = unsafe { (self.create)(class, interface, &mut this) };
        self.object(this, code, "DxcCreateInstance")
    }

    /// Compiles: the module, or what it said.
    pub(crate) fn compile(
        &self,
        source: &str,
        entry_point: &str,
        profile: &str,
        arguments: &[&str],
    ) -> Result<Result<Vec<u8>, Vec<u8>>, Failure> {
        // As `wchar_t`, which has four bytes here.
        let wide = |text: &str| text.chars().map(u32::from).chain([0]).collect::<Vec<u32>>();
        let (name, entry_point, profile) = (wide("shader.hlsl"), wide(entry_point), wide(profile));
        let arguments: Vec<Vec<u32>> = arguments.iter().map(|argument| wide(argument)).collect();
        let pointers: Vec<*const u32> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let library = self.create(&CLSID_LIBRARY, &IID_LIBRARY)?;
        let compiler = self.create(&CLSID_COMPILER, &IID_COMPILER)?;
        let null = std::ptr::null_mut;
        let (mut blob, mut result, mut status, mut output) = (null(), null(), 0, null());
        // SAFETY: the numbers and types are those of dxcapi.h: IDxcLibrary::CreateBlobWithEncodingFromPinned (3), IDxcCompiler::Compile (0),
        // IDxcOperationResult::GetStatus (0), GetResult (1), GetErrorBuffer (2). Every string and the source live until the end.
        unsafe {
            type Pinned = unsafe extern "C" fn(*mut c_void, *const u8, u32, u32, *mut *mut c_void) -> i32;
            let pinned: Pinned = library.own(3);
            let code = pinned(library.this, source.as_ptr(), source.len() as u32, UTF8, &mut blob);
            let blob = self.object(blob, code, "CreateBlobWithEncodingFromPinned")?;
            type Compile = unsafe extern "C" fn(
                *mut c_void,
                *mut c_void,
                *const u32,
                *const u32,
                *const u32,
                *const *const u32,
                u32,
                *const c_void,
                u32,
                *mut c_void,
                *mut *mut c_void,
            ) -> i32;
            let compile: Compile = compiler.own(0);
            let code = compile(
                compiler.this,
                blob.this,
                name.as_ptr(),
                entry_point.as_ptr(),
                profile.as_ptr(),
                pointers.as_ptr(),
                pointers.len() as u32,
                std::ptr::null(),
                0,
                null(),
                &mut result,
            );
            let result = self.object(result, code, "Compile")?;
            let get_status: unsafe extern "C" fn(*mut c_void, *mut i32) -> i32 = result.own(0);
            get_status(result.this, &mut status);
            let which = if status < 0 { 2 } else { 1 };
            let get: unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> i32 = result.own(which);
            let code = get(result.this, &mut output);
            let bytes = self.object(output, code, "what comes of a compilation")?.bytes();
            Ok(if status < 0 { Err(bytes) } else { Ok(bytes) })
        }
    }
}
