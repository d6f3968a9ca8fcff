//! Processes that do graphics on one GPU take turns there.
//!
//! Some drivers cannot switch in time between the graphics of several processes: NVIDIA 580.159.04 logs `Xid 109, CTX SWITCH TIMEOUT`, and a draw counts as finished that wrote
//! nothing. So a draw has the GPU to itself, as far as workers go; launches of compute shaders share it with one another and with workers that [open](to_open) it. Compiling, which
//! is what takes time, goes on side by side.
//!
//! The lock is one of the system on a file (flock(2)), which a process that dies leaves free. It is the same for all processes of a user on a machine.
//!
//! A process that waits in the kernel part of its driver for a draw that never ends cannot be killed, and keeps the lock: [`killed_holder`].
//!
//! Work that hangs on a GPU has to be reset, and with the same driver a reset damages the contexts of all other processes: each of their draws runs into that time-out, too, and is reset
//! in its turn. So the file counts resets ([`count_reset`]). A process that opened the device before the last one launches nothing more ([`Outdated`]), and the processes that take
//! their places start when all of them are gone ([`Presence`]).
//!
//! On some GPUs that is not enough (three of four H200 in persistence mode): from the first reset on, draws hang as soon as a second process has opened the GPU, whatever they
//! draw, until the machine starts anew, while those of one process alone end as usual. So where the next reset comes within [a few launches](FEW_LAUNCHES), processes are on the GPU
//! one at a time from then on. The file says it, below the system's folder for temporary files, for as long as it is there.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::info::{DeviceInfo, DeviceType, DriverMode, Uuid};
use tangle_features::Api;

/// What the files of a GPU hold: numbers of 8 bytes, the lowest first; what is not there is 0.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// How often work on the GPU had to be ended.
    Resets,
    /// Launches that ended since the last of these.
    Launches,
    /// 1 if processes are on the GPU one at a time.
    OneAtATime,
    /// 1 if another one has wanted to be there since that one came.
    Waiting,
    /// How often in a row a process that came after a reset had to be ended before a launch of any process ended.
    InVain,
}

impl Entry {
    fn read(self, file: &File) -> u64 {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 8 * self as u64).map_or(0, |()| u64::from_le_bytes(bytes))
    }

    /// Where nothing can be written there is nothing to be done.
    fn write(self, file: &File, number: u64) {
        let _ = file.write_all_at(&number.to_le_bytes(), 8 * self as u64);
    }
}

/// A reset after so few launches of all processes since the one before is taken for its consequence. Of the programs of a campaign, with several launches each, one in hundreds
/// hangs by itself.
const FEW_LAUNCHES: u64 = 128;

/// After so many the GPU is taken for dead: one H200 ended no launch any more after a campaign of mesh shaders, in nine minutes and 32 processes. A program that hangs has two of
/// them, one when it runs again alone.
pub(crate) const MOST_IN_VAIN: u64 = 12;

/// The lock of one GPU; by default of none.
#[derive(Default)]
pub(crate) struct GpuLock {
    file: Option<File>,
    /// How many resets there had been when it was made.
    resets: u64,
}

/// The right to launch, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Held<'a>(Option<&'a File>);

impl Held<'_> {
    /// Counts a launch that ended. Of compute shaders, which are not alone, two at once may count one.
    pub(crate) fn count_launch(&self) {
        if let Some(file) = self.0 {
            Entry::Launches.write(file, Entry::Launches.read(file).saturating_add(1));
        }
    }
}

/// The GPU was reset since the lock was made: what was opened then must not launch.
#[derive(Debug)]
pub(crate) struct Outdated;

impl GpuLock {
    /// The lock of this device; to be made before the device is opened. There is none of one that runs on the processors, or where no file can be made.
    pub(crate) fn of(info: &DeviceInfo) -> GpuLock {
        GpuLock::at(path(info).as_deref())
    }

    fn at(path: Option<&Path>) -> GpuLock {
        let file = path.and_then(open);
        let resets = file.as_ref().map_or(0, |file| Entry::Resets.read(file));
        GpuLock { file, resets }
    }

    /// Waits for the right to launch: alone, or beside others that are not alone. Calls `must_wait` first if it has to be waited for.
    ///
    /// # Errors
    /// If the GPU was reset since the lock was made.
    pub(crate) fn hold(&self, alone: bool, must_wait: impl FnOnce()) -> Result<Held<'_>, Outdated> {
        let Some(file) = &self.file else { return Ok(Held(None)) };
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
        let held = Held(held.ok().map(|()| file));
        if Entry::Resets.read(file) == self.resets { Ok(held) } else { Err(Outdated) }
    }

    /// As [`count_reset`], by who holds it.
    pub(crate) fn count_reset(&self) {
        if let Some(file) = &self.file {
            count_reset_in(file, self.resets);
        }
    }
}

/// As [`right_to_open`], of this device.
pub(crate) fn to_open(info: &DeviceInfo) -> Option<File> {
    right_to_open(&path(info)?)
}

/// Waits for the right to load the driver of the GPU of this lock and to open it, beside others but beside no draw; it lasts as long as the value. A driver has work done on
/// the GPU for that, and a draw beside it runs into the same time-out, or never ends.
pub(crate) fn right_to_open(path: &Path) -> Option<File> {
    let file = open(path)?;
    file.lock_shared().ok()?;
    Some(file)
}

fn open(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(path).ok()
}

/// `opened_after`: how many resets there had been when the process was started whose work is ended.
fn count_reset_in(file: &File, opened_after: u64) {
    let resets = Entry::Resets.read(file);
    // What was there at the last reset may be damaged by that one.
    if resets > 0 && opened_after == resets && Entry::Launches.read(file) < FEW_LAUNCHES {
        Entry::OneAtATime.write(file, 1);
    }
    // Who was there at the last reset says nothing of what comes after it.
    if opened_after == resets {
        let before = if Entry::Launches.read(file) == 0 { Entry::InVain.read(file) } else { 0 };
        Entry::InVain.write(file, before + 1);
    }
    Entry::Launches.write(file, 0);
    // Two at once count one, which is as good.
    Entry::Resets.write(file, resets + 1);
}

fn read(path: &Path, entry: Entry) -> u64 {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    file.map_or(0, |file| entry.read(&file))
}

/// How often work on the GPU of this lock had to be ended.
pub(crate) fn resets(path: &Path) -> u64 {
    read(path, Entry::Resets)
}

/// True if the GPU of this lock executes nothing any more: [`MOST_IN_VAIN`] processes in a row had to be ended, and no launch has ended since.
pub(crate) fn is_dead(path: &Path) -> bool {
    read(path, Entry::InVain) >= MOST_IN_VAIN && read(path, Entry::Launches) == 0
}

/// A process on the GPU, as long as this value lives. After a reset none is added before all that were there are gone.
pub(crate) struct Presence {
    file: Option<File>,
    /// How many resets were over when it was added.
    pub(crate) resets: u64,
    /// True if it is there alone: others wait until it goes.
    pub(crate) is_alone: bool,
    since: Instant,
}

/// Others are on the GPU, where processes are one at a time.
pub(crate) struct Busy;

/// How long processes that were there are waited for: the kernel may take seconds to end what they had on the GPU, or be stuck.
pub(crate) const LEAVING: Duration = Duration::from_secs(8);
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// How long who is on a GPU alone is there before another one's turn: opening it again takes about a second, and there each start may end in a hang.
const TURN: Duration = Duration::from_secs(8);
/// How long it stays with nothing to do.
pub(crate) const IDLE: Duration = Duration::from_secs(1);
/// How long who has had its turn stays away: time for others to look.
pub(crate) const AWAY: Duration = Duration::from_millis(100);

impl Presence {
    /// Adds a process to those on the GPU of this lock, after all that were there at the last reset. `goes_on_after` sleeps, and says whether to go on waiting. The
    /// file beside that of the lock has the number of resets that are over. Where processes are there one at a time, another one is waited for as long as `patience`.
    ///
    /// # Errors
    /// If that is not long enough.
    pub(crate) fn wait_for(
        lock: &Path,
        patience: Duration,
        goes_on_after: impl Fn(Duration) -> bool,
    ) -> Result<Presence, Busy> {
        let begin = Instant::now();
        let Some(file) = open(&lock.with_extension("present")) else {
            return Ok(Presence { file: None, resets: resets(lock), is_alone: false, since: begin });
        };
        let resets = loop {
            let resets = resets(lock);
            if Entry::Resets.read(&file) >= resets {
                break resets;
            }
            // Who stays longer is not waited for a second time.
            if file.try_lock().is_ok() || begin.elapsed() >= LEAVING {
                Entry::Resets.write(&file, resets);
                break resets;
            }
            if !goes_on_after(LOOK) {
                break resets;
            }
        };
        let is_alone = read(lock, Entry::OneAtATime) != 0;
        if is_alone {
            let begin = Instant::now();
            while let Err(TryLockError::WouldBlock) = file.try_lock() {
                Entry::Waiting.write(&file, 1);
                if begin.elapsed() >= patience || !goes_on_after(LOOK) {
                    return Err(Busy);
                }
            }
            Entry::Waiting.write(&file, 0);
        } else {
            // A lock that it has alone becomes a shared one.
            let _ = file.lock_shared();
        }
        Ok(Presence { file: Some(file), resets, is_alone, since: Instant::now() })
    }

    /// True if it is another one's turn to be there alone.
    pub(crate) fn has_had_its_turn(&self) -> bool {
        let others_wait = || self.file.as_ref().is_some_and(|file| Entry::Waiting.read(file) != 0);
        self.is_alone && self.since.elapsed() >= TURN && others_wait()
    }
}

/// Counts that work on the GPU of this lock is reset. Best before the process is killed whose work it is: a draw has the lock alone until then. `opened_after`: how many resets
/// there had been when it was started.
pub(crate) fn count_reset(path: &Path, opened_after: u64) {
    if let Some(file) = open(path) {
        count_reset_in(&file, opened_after);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            let _ = file.unlock();
        }
    }
}

/// The file that processes lock which use a device; none of one that runs on the processors or only compiles. OpenGL says which device it has where there is
/// EXT_memory_object, and takes turns with Vulkan then. WebGPU does not say it, and takes none.
pub(crate) fn path(info: &DeviceInfo) -> Option<PathBuf> {
    let name = || format!("tangle-gpu-{}-{}.lock", rustix::process::getuid().as_raw(), info.device_uuid);
    let is_known = info.api() == Api::Vulkan || info.device_uuid != Uuid::default();
    let executes = is_known && info.mode == DriverMode::Execute;
    (executes && info.device_type != DeviceType::Cpu).then(|| std::env::temp_dir().join(name()))
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
        let lock = || GpuLock::at(Some(&folder.path().join("gpu.lock")));
        for (first_alone, second_alone, waits) in
            [(false, false, false), (false, true, true), (true, false, true), (true, true, true)]
        {
            let (first, second) = (lock(), lock());
            let held = first.hold(first_alone, || unreachable!("nobody has it")).unwrap();
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

    /// A GPU has one lock whatever it is driven by, if that says which GPU it is.
    #[test]
    fn who_takes_turns() {
        let gpu = DeviceInfo {
            device_type: DeviceType::DiscreteGpu,
            device_uuid: Uuid([7; 16]),
            ..crate::worker::null::null_device("gpu", DriverMode::Execute)
        };
        let in_opengl = |device_type, device_uuid| DeviceInfo {
            device_type,
            device_uuid,
            opengl: Some(crate::info::OpenGlInfo::default()),
            ..gpu.clone()
        };
        let lock = path(&gpu);
        assert!(lock.is_some());
        assert_eq!(path(&in_opengl(DeviceType::Other, gpu.device_uuid)), lock);
        assert_eq!(path(&in_opengl(DeviceType::Other, Uuid::default())), None);
        assert_eq!(path(&in_opengl(DeviceType::Cpu, gpu.device_uuid)), None);
    }

    #[test]
    fn a_device_is_opened_beside_no_draw() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpu.lock");
        let first = right_to_open(&path).unwrap();
        let second = right_to_open(&path).unwrap();
        let draw = GpuLock::at(Some(&path));
        let waited = Cell::new(false);
        let draws = std::thread::scope(|scope| {
            let (wait, must_open) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || {
                let _ = must_open.recv();
                drop((first, second));
            });
            let must_wait = || {
                waited.set(true);
                wait.send(()).expect("the other thread waits for it");
            };
            let held = draw.hold(true, must_wait);
            drop(wait);
            held.is_ok()
        });
        assert!(draws && waited.get());
    }

    #[test]
    fn what_was_opened_before_a_reset_does_not_launch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpu.lock");
        let lock = || GpuLock::at(Some(&path));
        let launches = |lock: &GpuLock| lock.hold(true, || unreachable!("nobody has it")).is_ok();
        let (first, second) = (lock(), lock());
        assert!(launches(&first) && launches(&second));
        count_reset(&path, 0);
        assert_eq!(resets(&path), 1);
        // It gives the lock back.
        assert!(!launches(&first) && !launches(&second));
        let third = lock();
        assert!(launches(&third));
        third.count_reset();
        assert!(!launches(&third) && launches(&lock()));
        assert_eq!(resets(&path), 2);
    }

    #[test]
    fn a_gpu_that_ends_no_launch_is_dead() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpu.lock");
        let launch = || GpuLock::at(Some(&path)).hold(true, || unreachable!("nobody has it")).unwrap().count_launch();
        let hang = || count_reset(&path, resets(&path));
        let hangs = |count| (0..count).for_each(|_| hang());
        assert!(!is_dead(&path), "nothing is known of it");
        // Many processes that were there at one reset are ended by one hang.
        hangs(1);
        (0..MOST_IN_VAIN).for_each(|_| count_reset(&path, 0));
        hangs(MOST_IN_VAIN - 2);
        assert!(!is_dead(&path));
        hang();
        assert!(is_dead(&path));
        // The machine was started anew, or the GPU reset.
        launch();
        assert!(!is_dead(&path));
        hangs(MOST_IN_VAIN - 1);
        assert!(!is_dead(&path));
        hang();
        assert!(is_dead(&path));
    }

    #[test]
    fn nobody_comes_back_before_all_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("gpu.lock");
        let looks = Cell::new(0);
        let come = |leaves: &mut dyn FnMut()| {
            looks.set(0);
            let leaves = std::cell::RefCell::new(leaves);
            let presence = Presence::wait_for(&lock, Duration::ZERO, |_| {
                looks.set(looks.get() + 1);
                if looks.get() == 3 {
                    (leaves.borrow_mut())();
                }
                looks.get() < 10
            });
            presence.unwrap_or_else(|Busy| unreachable!("several may be there"))
        };
        let launches = |count| {
            let lock = GpuLock::at(Some(&lock));
            let held = lock.hold(true, || unreachable!("nobody has it")).unwrap();
            (0..count).for_each(|_| held.count_launch());
        };
        let first = come(&mut || ());
        let mut second = Some(come(&mut || ()));
        assert_eq!(looks.get(), 0, "nothing was reset");
        count_reset(&lock, resets(&lock));
        drop(first);
        let third = come(&mut || second = None);
        assert_eq!(looks.get(), 3, "the second was still there");
        let _fourth = come(&mut || ());
        assert_eq!(looks.get(), 0, "this reset is over");
        launches(FEW_LAUNCHES);
        count_reset(&lock, resets(&lock));
        let fifth = come(&mut || ());
        assert_eq!((looks.get(), fifth.resets), (10, 2), "called off: two are still there");
        // Another reset while it waits.
        launches(FEW_LAUNCHES);
        let again = come(&mut || count_reset(&lock, resets(&lock)));
        assert_eq!((looks.get(), again.resets), (10, 3));
        assert!(!again.is_alone);
        drop(third);
    }

    #[test]
    fn after_a_reset_that_comes_soon_processes_are_there_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("gpu.lock");
        let come = || Presence::wait_for(&lock, Duration::ZERO, |_| false).ok();
        count_reset(&lock, 0);
        assert!(come().is_some_and(|presence| !presence.is_alone), "the first says nothing");
        count_reset(&lock, 0);
        assert!(come().is_some_and(|presence| !presence.is_alone), "it was there at the first");
        count_reset(&lock, 2);
        let mut first = come();
        let is_to_leave = |first: &mut Option<Presence>, spent| {
            let first = first.as_mut().expect("it is there");
            first.since = Instant::now().checked_sub(spent).unwrap();
            first.has_had_its_turn()
        };
        assert!(first.as_ref().is_some_and(|presence| presence.is_alone));
        assert!(!is_to_leave(&mut first, TURN), "nobody waits");
        assert!(come().is_none(), "the first is there");
        assert!(is_to_leave(&mut first, TURN) && !is_to_leave(&mut first, TURN / 2));
        drop(first);
        assert!(come().is_some());
        // Also after a reset that comes much later.
        let gpu = GpuLock::at(Some(&lock));
        let held = gpu.hold(true, || unreachable!("nobody has it")).unwrap();
        (0..FEW_LAUNCHES).for_each(|_| held.count_launch());
        drop(held);
        count_reset(&lock, 3);
        assert!(come().is_some_and(|presence| presence.is_alone));
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
        assert!(open(&folder.path().join("gpu.lock")).is_none());
        assert!(!folder.path().join("elsewhere").exists());
    }
}
