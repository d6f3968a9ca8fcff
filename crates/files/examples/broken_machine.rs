//! A library to preload (`LD_PRELOAD`) into a program that a test runs on a machine that breaks.
//!
//! | variable | what breaks |
//! |---|---|
//! | `BROKEN_MACHINE_SHADOW` | the power goes when the test kills the program: the folder named has what `fsync` and `fdatasync` made sure of |
//! | `BROKEN_MACHINE_FULL_AFTER` | the disk is full after so many of these calls |
//! | `BROKEN_MACHINE_CLOCK` | the clock of the day is off by so many seconds |
//!
//! The shadow has a copy of each synced file under its inode (`<inode>.file`), and for each synced folder the list of its entries
//! (`<inode>.folder`: a line `inode name` each). From the inode of the topmost folder a test rebuilds what a disk may have after the power is
//! gone: files that were never synced are empty, names that were never synced are not there. That is the worst that POSIX allows
//! (`fsync(2)`). The file system must not use an inode twice, which `tmpfs` does not.

use std::ffi::c_int;
use std::fs::{self, File};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// As the function of libc.
#[unsafe(no_mangle)]
pub extern "C" fn fsync(fd: c_int) -> c_int {
    sync(fd, libc::SYS_fsync)
}

/// As the function of libc.
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync(fd, libc::SYS_fdatasync)
}

/// As the function of libc.
///
/// # Safety
/// As there: `time` points to a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    // SAFETY: the caller's promise is the same.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) } as c_int;
    if result == 0 && clock == libc::CLOCK_REALTIME {
        // SAFETY: the call has just written there.
        unsafe { (*time).tv_sec += number("BROKEN_MACHINE_CLOCK").unwrap_or(0) };
    }
    result
}

fn number(variable: &str) -> Option<i64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn sync(fd: c_int, call: libc::c_long) -> c_int {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let calls = CALLS.fetch_add(1, Ordering::SeqCst);
    if number("BROKEN_MACHINE_FULL_AFTER").is_some_and(|most| calls >= most.unsigned_abs()) {
        // SAFETY: the place is the calling thread's own.
        unsafe { *libc::__errno_location() = libc::ENOSPC };
        return -1;
    }
    if let Some(shadow) = std::env::var_os("BROKEN_MACHINE_SHADOW") {
        copy(fd, Path::new(&shadow)).unwrap_or_else(|error| eprintln!("broken machine: {error}"));
    }
    // SAFETY: any number may be given; a wrong one is an error.
    unsafe { libc::syscall(call, fd) as c_int }
}

fn copy(fd: c_int, shadow: &Path) -> io::Result<()> {
    // SAFETY: the descriptor is open while its owner syncs it, and is not closed here.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    let there = file.metadata()?;
    let path = PathBuf::from(format!("/proc/self/fd/{fd}"));
    if there.is_dir() {
        let mut lines = String::new();
        for entry in fs::read_dir(path)?.flatten() {
            let inode = entry.metadata().map_or(0, |there| there.ino());
            lines += &format!("{inode} {}\n", entry.file_name().to_string_lossy());
        }
        return put(shadow, &format!("{}.folder", there.ino()), lines.as_bytes());
    }
    put(shadow, &format!("{}.file", there.ino()), &fs::read(path)?)
}

/// At once, so that a program that is killed here leaves what was synced before.
fn put(shadow: &Path, name: &str, contents: &[u8]) -> io::Result<()> {
    // SAFETY: it takes nothing and cannot fail.
    let thread = unsafe { libc::gettid() };
    let partial = shadow.join(format!("{name}.{thread}"));
    fs::write(&partial, contents)?;
    fs::rename(partial, shadow.join(name))
}
