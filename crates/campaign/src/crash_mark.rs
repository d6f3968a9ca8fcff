//! A mark that tangle leaves when it crashes, so that the next run knows that it was not killed by somebody.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd as _;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

/// The file in a campaign's folder.
const FILE: &str = "crashed";

/// Signals of a crash.
const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

/// Where the mark goes; below 0 for nowhere.
static MARK: AtomicI32 = AtomicI32::new(-1);

/// True if the last run in a folder left the mark.
pub fn is_there(folder: &Path) -> bool {
    folder.join(FILE).metadata().is_ok_and(|there| there.len() > 0)
}

/// Takes the mark away, and has a crash of this process leave a new one.
///
/// # Errors
/// If the file cannot be made.
pub fn prepare(folder: &Path) -> io::Result<()> {
    static HANDLERS: Once = Once::new();
    // Kept open to the end of the process: a handler cannot open files.
    MARK.store(File::create(folder.join(FILE))?.into_raw_fd(), Ordering::SeqCst);
    HANDLERS.call_once(|| SIGNALS.iter().for_each(|&signal| handle(signal)));
    Ok(())
}

fn handle(signal: c_int) {
    // SAFETY: `sigaction` is plain data, for which zeros are valid, and is filled in before it is used; the handler only calls functions
    // that are safe in one (signal-safety(7)). It runs on the stack that Rust gives each of its threads for this, and once: the signal then
    // has its default action.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = leave_mark as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND | libc::SA_NODEFER;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

extern "C" fn leave_mark(signal: c_int) {
    let mark = MARK.load(Ordering::SeqCst);
    // SAFETY: both take any numbers; the text lives for ever.
    unsafe {
        libc::write(mark, b"crashed\n".as_ptr().cast(), 8);
        libc::raise(signal);
    }
}
