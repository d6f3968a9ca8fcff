//! Processes that do graphics on one GPU take turns there.
//!
//! Some drivers cannot switch in time between the graphics of several processes: NVIDIA 580.159.04 logs `Xid 109, CTX SWITCH TIMEOUT`, and a draw counts as finished that wrote
//! nothing. So a draw has the GPU to itself, as far as workers go; launches of compute shaders share it with one another. Compiling, which is what takes time, goes on side by side.
//!
//! The lock is one of the system on a file (flock(2)), which a process that dies leaves free. It is the same for all processes of a user on a machine.
//!
//! A process that waits in the kernel part of its driver for a draw that never ends cannot be killed, and keeps the lock: [`killed_holder`].

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::info::{DeviceInfo, DeviceType};

/// The lock of one GPU.
pub(crate) struct GpuLock(Option<File>);

/// The right to launch, for as long as it lives.
pub(crate) struct Held<'a>(Option<&'a File>);

impl GpuLock {
    /// The lock of this device. There is none of one that runs on the processors, or where no file can be made.
    pub(crate) fn of(info: &DeviceInfo) -> GpuLock {
        GpuLock(path(info).and_then(|path| Self::open(&path)))
    }

    fn open(path: &Path) -> Option<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        options.open(path).ok()
    }

    /// Waits for the right to launch: alone, or beside others that are not alone. Calls `must_wait` first if it has to be waited for.
    pub(crate) fn hold(&self, alone: bool, must_wait: impl FnOnce()) -> Held<'_> {
        let Some(file) = &self.0 else { return Held(None) };
        let tried = if alone { file.try_lock() } else { file.try_lock_shared() };
        let held = match tried {
            Err(TryLockError::WouldBlock) => {
                must_wait();
                if alone { file.lock() } else { file.lock_shared() }
            }
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => Ok(()),
        };
        // On a file system without locks there is nothing to take turns by.
        Held(held.ok().map(|()| file))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            let _ = file.unlock();
        }
    }
}

/// The file that processes lock which use a device; none of one that runs on the processors.
pub(crate) fn path(info: &DeviceInfo) -> Option<PathBuf> {
    let name = || format!("tangle-gpu-{}-{}.lock", rustix::process::getuid().as_raw(), info.device_uuid);
    (info.device_type != DeviceType::Cpu).then(|| std::env::temp_dir().join(name()))
}

/// The process that has locked a file, if it was killed and is still there.
pub(crate) fn killed_holder(path: &Path) -> Option<u32> {
    let inode = fs::metadata(path).ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let was_killed =
        |holder: &u32| fs::read_to_string(format!("/proc/{holder}/status")).is_ok_and(|status| is_killed(&status));
    locks.lines().filter_map(|line| holder(line, inode)).find(was_killed)
}

/// Who has locked the file with this number, by a line of `/proc/locks` (proc_locks(5)):
/// `1: FLOCK  ADVISORY  WRITE 4711 08:01:393220 0 EOF`. Of who waits for it there is `->` behind the number.
fn holder(line: &str, inode: u64) -> Option<u32> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, "FLOCK", _, _, process, file, ..] = fields[..] else { return None };
    (file.rsplit(':').next()?.parse() == Ok(inode)).then(|| process.parse().ok())?
}

/// True of a process that has a SIGKILL before it, or whose first thread has ended, by its `/proc/PID/status` (proc_pid_status(5)).
fn is_killed(status: &str) -> bool {
    let kill = 1u64 << (libc::SIGKILL - 1);
    status.lines().filter_map(|line| line.split_once(':')).any(|(key, value)| match key {
        "State" => matches!(value.trim_start().as_bytes().first(), Some(b'Z' | b'X')),
        "SigPnd" | "ShdPnd" => u64::from_str_radix(value.trim(), 16).is_ok_and(|pending| pending & kill != 0),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn draws_are_alone_and_compute_shaders_share() {
        let folder = tempfile::tempdir().unwrap();
        let lock = || GpuLock(GpuLock::open(&folder.path().join("gpu.lock")));
        for (first_alone, second_alone, waits) in
            [(false, false, false), (false, true, true), (true, false, true), (true, true, true)]
        {
            let (first, second) = (lock(), lock());
            let held = first.hold(first_alone, || unreachable!("nobody has it"));
            let waited = Cell::new(false);
            std::thread::scope(|scope| {
                // It is released once somebody waits, or nobody did.
                let (release, released) = std::sync::mpsc::channel();
                scope.spawn(move || {
                    let _ = released.recv();
                    drop(held);
                });
                let must_wait = || {
                    waited.set(true);
                    release.send(()).expect("the other thread waits for it");
                };
                drop(second.hold(second_alone, must_wait));
                drop(release);
            });
            assert_eq!(waited.get(), waits, "{first_alone} {second_alone}");
        }
    }

    #[test]
    fn who_has_the_lock_is_read_from_the_system() {
        let table = [
            ("1: FLOCK  ADVISORY  WRITE 4711 08:01:393 0 EOF", Some(4711)),
            ("1: FLOCK  ADVISORY  READ 12 00:2f:393 0 EOF", Some(12)),
            ("1: -> FLOCK  ADVISORY  WRITE 4712 08:01:393 0 EOF", None),
            ("2: POSIX  ADVISORY  WRITE 4711 08:01:393 0 EOF", None),
            ("2: FLOCK  ADVISORY  WRITE 4711 08:01:394 0 EOF", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(holder(line, 393), expected, "{line}");
        }
        for (status, expected) in [
            ("State:\tS (sleeping)\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n", false),
            ("State:\tD (disk sleep)\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n", true),
            ("State:\tD (disk sleep)\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n", true),
            ("State:\tT (stopped)\nSigPnd:\t0000000000004000\n", false),
            ("State:\tZ (zombie)\n", true),
        ] {
            assert_eq!(is_killed(status), expected, "{status}");
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), folder.path().join("gpu.lock")).unwrap();
        assert!(GpuLock::open(&folder.path().join("gpu.lock")).is_none());
        assert!(!folder.path().join("elsewhere").exists());
    }
}
