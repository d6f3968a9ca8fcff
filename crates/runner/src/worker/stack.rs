//! Where a crashing worker dies: it writes the calls that led there on standard error itself, and then dies as it would have.
//!
//! A debugger would know more, and is not on every machine; what counts findings together must not depend on one. So the worker unwinds
//! its own stack, by the tables that every library has for C++'s exceptions (`.eh_frame`), stripped or not, and names functions by what
//! libraries export (`dladdr`). [`crate::stack`] has the format and reads it.
//!
//! The process is broken when this runs: a lock may be held for ever, memory may be spoilt. Nothing here allocates, a second fault in the
//! same thread and a limit of time both end the process by the signal it was to die by.

use std::ffi::{CStr, c_int, c_void};
use std::fmt::{self, Write as _};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use crate::stack::{FRAMES, LONGEST_NAME, MARK};

/// The signals that a process causes by what it does (signal(7)).
const FAULTS: [c_int; 7] =
    [libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS];

/// How long the stack may take, seconds.
const LIMIT: u32 = 5;

/// The signal that the process dies by, and the thread that caught it; 0 before.
static DYING: AtomicI32 = AtomicI32::new(0);
static THREAD: AtomicI32 = AtomicI32::new(0);

/// Where this program is loaded.
static OWN: AtomicUsize = AtomicUsize::new(0);

/// `struct _Unwind_Context` of the C++ ABI.
enum Context {}

// Level I of the Itanium C++ ABI's exception handling, which libgcc and LLVM's libunwind have alike; Rust's own library is linked with
// one of them.
unsafe extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut Context, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut Context, before_instruction: *mut c_int) -> usize;
    fn _Unwind_FindEnclosingFunction(address: *mut c_void) -> *mut c_void;
}

/// Has crashes write the stack. Signals that something else handles are left alone: a sanitizer that a driver was built with, say.
pub(super) fn write_at_crash() {
    let handler: extern "C" fn(c_int) = caught;
    OWN.store(module_of(handler as usize).map_or(0, |own| own.base), Ordering::Relaxed);
    for signal in FAULTS {
        // SAFETY: both structures are plain data, of which sigaction reads and writes one each.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            // The handlers of Rust's library only say that a stack is too small.
            let is_own =
                module_of(before.sa_sigaction).is_some_and(|module| module.base == OWN.load(Ordering::Relaxed));
            if before.sa_sigaction != libc::SIG_DFL && !is_own {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(signal, &action, null_mut());
        }
    }
}

/// Handles a fault: writes the stack of the thread, and lets the process die of the signal.
extern "C" fn caught(signal: c_int) {
    // SAFETY: gettid has no preconditions.
    let thread = unsafe { libc::gettid() };
    match DYING.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => THREAD.store(thread, Ordering::SeqCst),
        // The stack itself cannot be read.
        Err(_) if THREAD.load(Ordering::SeqCst) == thread => die(),
        // The process is about to end.
        Err(_) => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
    }
    // SAFETY: the structure is plain data; the handler is a function of the right type; alarm has no preconditions.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(c_int) = too_late;
        action.sa_sigaction = handler as usize;
        libc::sigaction(libc::SIGALRM, &action, null_mut());
        libc::alarm(LIMIT);
    }
    let mut walk = Walk { own_handler: true, in_driver: false, frames: 0 };
    // SAFETY: `each` takes the pointer for what it is, and the walk outlives the call.
    unsafe { _Unwind_Backtrace(each, (&raw mut walk).cast()) };
    die()
}

extern "C" fn too_late(_: c_int) {
    die()
}

/// Ends the process by the signal that it was to die by.
fn die() -> ! {
    let signal = DYING.load(Ordering::SeqCst);
    // SAFETY: the calls take plain data of ours; they end the process, and _exit does if they cannot.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, null_mut());
        libc::raise(signal);
        libc::_exit(128 + signal)
    }
}

/// How far the stack has been read.
struct Walk {
    /// Still in the frames of the handler.
    own_handler: bool,
    /// Something else than the worker has been seen.
    in_driver: bool,
    frames: usize,
}

extern "C" fn each(context: *mut Context, data: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const STOP: c_int = 5;
    // SAFETY: this is the walk of `caught`, which nothing else uses meanwhile.
    let walk = unsafe { &mut *data.cast::<Walk>() };
    let mut before_instruction = 0;
    // SAFETY: the context is the unwinder's, valid during this call.
    let address = unsafe { _Unwind_GetIPInfo(context, &mut before_instruction) };
    // The handler was not called by what lies below it: there, as at no other place before, the address is that of an instruction to
    // execute, not of one to return to.
    if walk.own_handler {
        walk.own_handler = before_instruction == 0;
        if walk.own_handler {
            return GO_ON;
        }
    }
    // Of a call, the last byte and not what follows, which may be another function.
    let place = if before_instruction == 0 { address.saturating_sub(1) } else { address };
    let is_own = module_of(place).is_some_and(|module| module.base == OWN.load(Ordering::Relaxed));
    write_frame(walk.frames, place);
    walk.frames += 1;
    // Further out is what called the driver, the same each time.
    let is_through = is_own && walk.in_driver;
    walk.in_driver |= !is_own;
    if address == 0 || is_through || walk.frames >= FRAMES { STOP } else { GO_ON }
}

/// A library, and the function in it that exports a name.
struct Module {
    base: usize,
    path: *const libc::c_char,
    name: *const libc::c_char,
}

fn module_of(address: usize) -> Option<Module> {
    // SAFETY: the structure is plain data that dladdr fills; what its pointers point at stays while the library is loaded.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr(address as *const c_void, &mut info) != 0;
        found.then_some(Module { base: info.dli_fbase as usize, path: info.dli_fname, name: info.dli_sname })
    }
}

/// `MARK ADDRESS FUNCTION NAME LIBRARY`: the offset in the library, that of the function's first byte, its exported name; `-` for what is
/// not known, and for this program.
fn write_frame(number: usize, place: usize) {
    let mut line = Buffer { bytes: [0; LINE], length: 0 };
    // SAFETY: it looks for the address in tables of the loaded libraries, and gives a null pointer if there is none.
    let function = unsafe { _Unwind_FindEnclosingFunction(place as *mut c_void) } as usize;
    let _ = match module_of(place) {
        // Code that was generated into memory.
        None => write!(line, "{MARK}{number} - - - ?"),
        Some(module) if module.base == OWN.load(Ordering::Relaxed) => {
            write!(line, "{MARK}{number} {:#x} - - -", place - module.base)
        }
        Some(module) => {
            let _ = write!(line, "{MARK}{number} {:#x} ", place - module.base);
            let _ = match function.checked_sub(module.base) {
                Some(start) => write!(line, "{start:#x}"),
                None => line.write_char('-'),
            };
            let _ = line.write_char(' ');
            line.push(text(module.name).filter(|name| name.len() <= LONGEST_NAME).unwrap_or(b"-"));
            let _ = line.write_char(' ');
            line.push(text(module.path).unwrap_or(b"?"));
            Ok(())
        }
    };
    line.push(b"\n");
    // SAFETY: the buffer has so many bytes. Where nobody reads, the line is lost.
    unsafe { libc::write(libc::STDERR_FILENO, line.bytes.as_ptr().cast(), line.length) };
}

fn text<'a>(pointer: *const libc::c_char) -> Option<&'a [u8]> {
    // SAFETY: names that dladdr gives are C strings of loaded libraries.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_bytes())
}

/// The longest line, as much as is kept of one ([`tangle_files::text`]).
const LINE: usize = 400;

/// A line in memory that is there already.
struct Buffer {
    bytes: [u8; LINE],
    length: usize,
}

impl Buffer {
    fn push(&mut self, bytes: &[u8]) {
        let fits = bytes.len().min(LINE - self.length);
        self.bytes[self.length..self.length + fits].copy_from_slice(&bytes[..fits]);
        self.length += fits;
    }
}

impl fmt::Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}
