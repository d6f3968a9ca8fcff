//! How long a process has worked, and how long it has been stuck: limits that hold on a machine however busy it is.
//!
//! The clock on the wall says little about a process: on a loaded machine most of it passes in the queue for a processor. What counts is
//!
//! | time | is | from |
//! |---|---|---|
//! | processor | what it and all its children computed | `/proc/PID/stat`, proc(5) fields 14 to 17 |
//! | device | what the device worked for it, where its kernel driver says so | `drm-engine-*` in `/proc/PID/fdinfo` (Linux, `Documentation/gpu/drm-usage-stats.rst`) |
//! | queue | what its threads waited for a processor; counts for nothing | `/proc/PID/task/TID/schedstat`, field 2 (Linux, `Documentation/scheduler/sched-stats.rst`) |
//! | blocked | the rest: it waits for a lock, a pipe, a disk, a device that does not say what it does | what is left of the wall clock |
//!
//! A thread that is ready to run, a process that is stopped (`SIGSTOP`, a debugger), and time in which this process itself did not run
//! (it was stopped, the machine slept) are not blocked.

use std::collections::HashSet;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::outcome::Stall;

/// Time between two looks at a process that works.
pub(crate) const TICK: Duration = Duration::from_millis(250);

/// How many times the limit a process may be blocked beside others: nothing is known of what it waits for, and they may use the same device.
const PATIENCE: u32 = 3;

/// What a process has used up since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// Time on processors, of all its threads.
    pub(crate) processor: Duration,
    /// Time of a device.
    pub(crate) device: Duration,
    /// Time in the queue for a processor.
    pub(crate) queue: Duration,
    /// Whether, now, it runs, waits for a processor, or is stopped.
    pub(crate) excused: bool,
}

impl Usage {
    /// Of a process with all its children; `None` when it is gone, or the system does not say.
    pub(crate) fn of(process: u32) -> Option<Usage> {
        let mut usage = Usage::default();
        let mut clients = HashSet::new();
        let mut found = false;
        for process in family(process) {
            let Some(stat) = Stat::of(&format!("/proc/{process}/stat")) else { continue };
            found = true;
            usage.processor += stat.processor;
            for thread in numbers(&format!("/proc/{process}/task")) {
                let folder = format!("/proc/{process}/task/{thread}");
                usage.queue += queue(&folder);
                usage.excused |=
                    Stat::of(&format!("{folder}/stat")).is_some_and(|stat| matches!(stat.state, b'R' | b'T' | b't'));
            }
            usage.device += device_time(process, &mut clients);
        }
        found.then_some(usage)
    }
}

/// Processor time of this process and of everything that it started, what has ended included.
pub fn processor_time() -> Duration {
    let of = |process| Stat::of(&format!("/proc/{process}/stat")).map(|stat| stat.processor);
    family(std::process::id()).into_iter().filter_map(of).sum()
}

/// Processor time of this process alone, all its threads together.
pub(crate) fn process_time() -> Duration {
    clock(ClockId::ProcessCPUTime)
}

/// Processor time of the thread that asks.
pub fn thread_time() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Waits for a process to end. `None` if it uses more processor time than the limit, or is blocked three times as long: then it is killed.
///
/// # Errors
/// If it cannot be waited for.
pub fn wait_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let mut meter = Meter::new(limit);
    let mut next_look = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let now = Instant::now();
        if now >= next_look {
            next_look = now + TICK;
            if Usage::of(child.id()).and_then(|usage| meter.look(now, usage, TICK)).is_some() {
                let _ = child.kill();
                return child.wait().map(|_| None);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A process and everything that it started, directly or not.
fn family(process: u32) -> Vec<u32> {
    let mut family = vec![process];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        next += 1;
        for thread in numbers(&format!("/proc/{parent}/task")) {
            let children = fs::read_to_string(format!("/proc/{parent}/task/{thread}/children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|child| child.parse::<u32>().ok());
            family.extend(children.filter(|child| *child != process));
        }
    }
    family
}

/// The entries of a folder that are numbers.
fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What `/proc/PID/stat`, or that of a thread, says.
struct Stat {
    state: u8,
    processor: Duration,
}

impl Stat {
    fn of(path: &str) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(path).ok()?)
    }

    /// The name in parentheses may contain anything, parentheses too.
    fn parse(text: &str) -> Option<Stat> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        // Fields 14 to 17, the first of these being field 3.
        let ticks: u64 = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        Some(Stat {
            state: *fields.first()?.as_bytes().first()?,
            processor: Duration::from_secs_f64(ticks as f64 / per_second as f64),
        })
    }
}

fn queue(thread: &str) -> Duration {
    let text = fs::read_to_string(format!("{thread}/schedstat")).unwrap_or_default();
    Duration::from_nanos(text.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0))
}

/// Device time of all the open device files of a process. Files that share a client count once.
fn device_time(process: u32, clients: &mut HashSet<String>) -> Duration {
    let is_device = |number: &u32| {
        fs::read_link(format!("/proc/{process}/fd/{number}")).is_ok_and(|target| target.starts_with("/dev/dri"))
    };
    let files = numbers(&format!("/proc/{process}/fd")).into_iter().filter(is_device);
    let texts = files.filter_map(|number| fs::read_to_string(format!("/proc/{process}/fdinfo/{number}")).ok());
    texts.map(|text| engine_time(&text, clients)).sum()
}

fn engine_time(fdinfo: &str, clients: &mut HashSet<String>) -> Duration {
    let fields = || fdinfo.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key, value.trim()));
    let id = |key| fields().find(|(name, _)| *name == key).map_or("", |(_, value)| value).to_owned();
    if !clients.insert(id("drm-pdev") + " " + &id("drm-client-id")) {
        return Duration::ZERO;
    }
    // `drm-engine-capacity-…` is a number of engines, without a unit.
    let engines = fields().filter(|(key, _)| key.starts_with("drm-engine-"));
    let times = engines.filter_map(|(_, value)| value.strip_suffix(" ns")?.trim().parse::<u64>().ok());
    Duration::from_nanos(times.sum())
}

/// Watches one piece of a process's work.
pub(crate) struct Meter {
    limit: Duration,
    last: Option<(Instant, Usage)>,
    processor: Duration,
    device: Duration,
    blocked: Duration,
    /// How long it had been blocked when nothing was beside it any more.
    alone_from: Option<Duration>,
}

impl Meter {
    /// Begins now. What the process uses up before the first look is not counted.
    pub(crate) fn new(limit: Duration) -> Meter {
        let zero = Duration::ZERO;
        Meter { limit, last: None, processor: zero, device: zero, blocked: zero, alone_from: None }
    }

    /// The same, of a process that does not wait for others.
    pub(crate) fn with_nothing_beside(limit: Duration) -> Meter {
        Meter { alone_from: Some(Duration::ZERO), ..Meter::new(limit) }
    }

    /// From now on the process does not wait for others, or may.
    pub(crate) fn set_alone(&mut self, alone: bool) {
        self.alone_from = alone.then_some(self.alone_from.unwrap_or(self.blocked));
    }

    /// Takes a look. Says what has gone on too long, and for how long.
    pub(crate) fn look(&mut self, now: Instant, usage: Usage, every: Duration) -> Option<(Stall, Duration)> {
        if let Some((then, before)) = self.last.replace((now, usage)) {
            // Looks that come late say that this process did not run, whatever the other did.
            let elapsed = now.saturating_duration_since(then).min(every * 2);
            let processor = usage.processor.saturating_sub(before.processor);
            let device = usage.device.saturating_sub(before.device);
            let queue = usage.queue.saturating_sub(before.queue);
            self.processor += processor;
            self.device += device;
            if !usage.excused && !before.excused {
                self.blocked += elapsed.saturating_sub(processor).saturating_sub(device).saturating_sub(queue);
            }
        }
        let limits = [
            (Stall::Processor, self.processor, 1),
            (Stall::Device, self.device, 1),
            (Stall::Blocked, self.blocked, PATIENCE),
            (Stall::Blocked, self.alone_from.map_or(Duration::ZERO, |from| self.blocked.saturating_sub(from)), 1),
        ];
        let over = limits.into_iter().find(|(_, time, times)| *time >= self.limit.saturating_mul(*times));
        over.map(|(how, time, _)| (how, time))
    }

    /// What was used up so far.
    pub(crate) fn spent(&self) -> Duration {
        self.processor + self.device + self.blocked
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Looks at made-up usage every [`TICK`]: (processor, device, queue) in ms since the last look, and whether it is excused.
    fn looks(limit_ms: u64, rows: &[(u64, u64, u64, bool)]) -> Option<(Stall, u128)> {
        let mut meter = Meter::new(Duration::from_millis(limit_ms));
        let mut usage = Usage::default();
        let begin = Instant::now();
        meter.look(begin, usage, TICK);
        for (number, &(processor, device, queue, excused)) in (1..).zip(rows) {
            usage.processor += Duration::from_millis(processor);
            usage.device += Duration::from_millis(device);
            usage.queue += Duration::from_millis(queue);
            usage.excused = excused;
            if let Some((how, time)) = meter.look(begin + TICK * number, usage, TICK) {
                return Some((how, time.as_millis()));
            }
        }
        None
    }

    #[test]
    fn waiting_for_a_processor_is_not_counted() {
        // One second, a look every quarter of one.
        let rows: [(&str, &[(u64, u64, u64, bool)], Option<(Stall, u128)>); 8] = [
            ("it computes", &[(250, 0, 0, true); 4], Some((Stall::Processor, 1000))),
            ("with four threads", &[(1000, 0, 0, true); 1], Some((Stall::Processor, 1000))),
            ("twenty others compute, too", &[(12, 0, 238, true); 80], None),
            ("the same, seen between two turns", &[(12, 0, 238, false); 80], None),
            ("the device works", &[(0, 250, 0, false); 4], Some((Stall::Device, 1000))),
            ("it is stopped", &[(0, 0, 0, true); 1000], None),
            ("nothing moves", &[(0, 0, 0, false); 12], Some((Stall::Blocked, 3000))),
            ("nothing moves, not long enough", &[(0, 0, 0, false); 11], None),
        ];
        for (what, looked, expected) in rows {
            assert_eq!(looks(1000, looked), expected, "{what}");
        }
    }

    #[test]
    fn what_has_nothing_beside_it_is_not_blocked_by_others() {
        let begin = Instant::now();
        let look =
            |meter: &mut Meter, look| meter.look(begin + TICK * look, Usage::default(), TICK).map(|(how, _)| how);
        let mut meter = Meter::with_nothing_beside(TICK * 4);
        let seen = (0..=4).map(|at| look(&mut meter, at));
        assert_eq!(seen.collect::<Vec<_>>(), [None, None, None, None, Some(Stall::Blocked)]);
        // Blocked beside others for two limits, then with the device to itself for one.
        let mut meter = Meter::new(TICK * 4);
        assert!((0..=8).all(|at| look(&mut meter, at).is_none()));
        meter.set_alone(true);
        let seen = (9..=12).map(|at| look(&mut meter, at));
        assert_eq!(seen.collect::<Vec<_>>(), [None, None, None, Some(Stall::Blocked)]);
        // For half of one, and then no longer: three limits in all.
        let mut meter = Meter::new(TICK * 4);
        assert!((0..=8).all(|at| look(&mut meter, at).is_none()));
        meter.set_alone(true);
        assert!((9..=10).all(|at| look(&mut meter, at).is_none()));
        meter.set_alone(false);
        let seen = (11..=12).map(|at| look(&mut meter, at));
        assert_eq!(seen.collect::<Vec<_>>(), [None, Some(Stall::Blocked)]);
    }

    #[test]
    fn time_in_which_nobody_looked_is_not_counted() {
        let mut meter = Meter::new(Duration::from_secs(1));
        let begin = Instant::now();
        assert_eq!(meter.look(begin, Usage::default(), TICK), None);
        assert_eq!(meter.look(begin + Duration::from_secs(3600), Usage::default(), TICK), None);
        assert_eq!(meter.blocked, TICK * 2);
    }

    #[test]
    fn the_system_is_understood() {
        let text = "7 (a) b (c) R 1 7 7 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 9 9";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.state, stat.processor.as_secs()), (b'R', 200 / rustix::param::clock_ticks_per_second()));
        let fdinfo = "pos:\t0\ndrm-driver:\tamdgpu\ndrm-pdev:\t0000:01:00.0\ndrm-client-id:\t5\n\
                      drm-engine-compute:\t1500 ns\ndrm-engine-gfx:\t500 ns\ndrm-engine-capacity-gfx:\t2\n";
        let mut clients = HashSet::new();
        assert_eq!(engine_time(fdinfo, &mut clients), Duration::from_nanos(2000));
        assert_eq!(engine_time(fdinfo, &mut clients), Duration::ZERO, "the same client");
    }

    #[test]
    fn what_computes_or_waits_for_ever_is_killed() {
        for (script, ends) in [("exit 0", true), ("while :; do :; done", false), ("exec sleep 600", false)] {
            let mut child = shell(script);
            let status = wait_within(&mut child.0, Duration::from_millis(300)).unwrap();
            assert_eq!(status.is_some_and(|status| status.success()), ends, "{script}");
        }
    }

    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn shell(script: &str) -> Killed {
        Killed(Command::new("/bin/sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap())
    }

    #[test]
    fn children_count_and_sleepers_are_blocked() {
        let busy = shell("sh -c 'while :; do :; done' & wait");
        let idle = shell("sleep 60 & wait");
        let usage = |process: &Killed| Usage::of(process.0.id()).unwrap();
        let begin = Instant::now();
        while usage(&busy).processor < Duration::from_millis(100) {
            assert!(begin.elapsed() < Duration::from_secs(60), "the child of a shell counts");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(usage(&busy).excused);
        assert!(!usage(&idle).excused);
        assert!(usage(&idle).processor < Duration::from_millis(100));
        // Its group is not ours: the loop would outlive the shell.
        for child in family(busy.0.id()) {
            // SAFETY: kill takes any process id; these are children of the shell that this test started.
            unsafe { libc::kill(child as i32, libc::SIGKILL) };
        }
    }
}
