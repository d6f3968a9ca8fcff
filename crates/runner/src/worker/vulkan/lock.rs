//! Processes that do graphics on one GPU take turns there.
//!
//! Some drivers cannot switch in time between the graphics of several processes: NVIDIA 580.159.04 logs `Xid 109, CTX SWITCH TIMEOUT`, and a draw counts as finished that wrote
//! nothing. So a draw has the GPU to itself, as far as workers go; launches of compute shaders share it with one another. Compiling, which is what takes time, goes on side by side.
//!
//! The lock is one of the system on a file (flock(2)), which a process that dies leaves free. It is the same for all processes of a user on a machine.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;

use crate::info::{DeviceInfo, DeviceType};

/// The lock of one GPU.
pub(super) struct GpuLock(Option<File>);

/// The right to launch, for as long as it lives.
pub(super) struct Held<'a>(Option<&'a File>);

impl GpuLock {
    /// The lock of this device. There is none of one that runs on the processors, or where no file can be made.
    pub(super) fn of(info: &DeviceInfo) -> GpuLock {
        if info.device_type == DeviceType::Cpu {
            return GpuLock(None);
        }
        let name = format!("tangle-gpu-{}-{}.lock", rustix::process::getuid().as_raw(), info.device_uuid);
        GpuLock(Self::open(&std::env::temp_dir().join(name)))
    }

    fn open(path: &std::path::Path) -> Option<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        options.open(path).ok()
    }

    /// Waits for the right to launch: alone, or beside others that are not alone. Calls `must_wait` first if it has to be waited for.
    pub(super) fn hold(&self, alone: bool, must_wait: impl FnOnce()) -> Held<'_> {
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
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), folder.path().join("gpu.lock")).unwrap();
        assert!(GpuLock::open(&folder.path().join("gpu.lock")).is_none());
        assert!(!folder.path().join("elsewhere").exists());
    }
}
