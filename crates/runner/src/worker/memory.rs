//! What a worker does when an allocation fails: it leaves with an exit code of its own, so that nobody takes it for a crash.
//!
//! In C++, `operator new` calls the new-handler before it gives up ([new.delete.single] and [new.handler] of the C++ standard). Drivers
//! share the handler with the worker where they use the same C++ library.

use super::this_process::{ExitStatus, leave};

/// `std::new_handler`.
type Handler = extern "C" fn();

/// `std::set_new_handler`, under the name that both GNU's and LLVM's library give it.
const SET_NEW_HANDLER: &std::ffi::CStr = c"_ZSt15set_new_handlerPFvvE";

/// The C++ libraries that a driver may have brought along.
const LIBRARIES: [&std::ffi::CStr; 2] = [c"libstdc++.so.6", c"libc++.so.1"];

/// Has failed allocations end the worker, in all that is loaded now.
pub(crate) fn leave_without() {
    for library in LIBRARIES {
        // SAFETY: the name is a C string; a library that is not loaded is not loaded by this, and one that is stays.
        let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            continue;
        }
        // SAFETY: the handle was just opened, and the name is a C string.
        let function = unsafe { libc::dlsym(handle, SET_NEW_HANDLER.as_ptr()) };
        if !function.is_null() {
            // SAFETY: the function of this name takes a function without parameters and gives back the one before.
            unsafe {
                let set: extern "C" fn(Handler) -> Option<Handler> = std::mem::transmute(function);
                set(out_of_memory);
            }
        }
    }
}

pub(super) extern "C" fn out_of_memory() {
    leave(ExitStatus::OutOfMemory)
}
