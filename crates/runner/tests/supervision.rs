//! Crashes, hangs and restarts, on the worker's null device with faults on demand: no driver is needed.

mod common;

use std::io::{BufRead, BufReader};
use std::num::NonZero;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{completed, marked_job, null_driver, options, probe_options, words};
use tangle_runner::{
    Buffer, BufferKind, Device, DeviceError, DeviceOptions, DriverConfig, Inventory, Outcome, Scheduler, Shortage,
    Stage, Stall, StartProblem, Terms, WorkerEnd,
};

/// Submits jobs 1 to `count` and gives their outcomes in the order they came.
fn run_all(device: &Device, count: u64) -> Vec<(u64, Outcome)> {
    std::thread::scope(|scope| {
        scope.spawn(|| (1..=count).for_each(|id| device.submit(marked_job(id))));
        (0..count)
            .map(|_| device.results().recv_timeout(Duration::from_secs(600)).unwrap())
            .map(|completion| (completion.job, completion.outcome))
            .collect()
    })
}

/// Runs six jobs with a fault in the third: the outcome of that one, after checking that the others went as they should.
fn fault_in_third(fault: &str, options: &DeviceOptions) -> (Outcome, Device) {
    let device = Device::open(&null_driver(fault), 0, options).unwrap();
    let mut outcomes = run_all(&device, 6);
    let ids: Vec<u64> = outcomes.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6], "in order, none lost, none twice");
    let (_, third) = outcomes.remove(2);
    for (id, outcome) in outcomes {
        assert_eq!(words(outcome, 0), [id as u32]);
    }
    (third, device)
}

#[test]
fn a_crash_is_blamed_on_its_job_alone() {
    let (outcome, device) = fault_in_third("crash@3", &options());
    let Outcome::Crashed { end, stage, stderr } = outcome else { panic!("{outcome}") };
    assert_eq!((end, stage), (WorkerEnd::Signal(libc::SIGSEGV), Stage::Pipeline));
    let (frames, said) = tangle_runner::stack::split(&stderr);
    assert_eq!(said, "fault: crash in job 3");
    assert!(frames.iter().any(|frame| frame.module == tangle_runner::stack::Module::Worker), "{stderr}");
    let stats = device.stats();
    assert_eq!((stats.jobs, stats.crashes, stats.restarts, stats.time_outs), (6, 1, 1, 0));
}

#[test]
fn a_hang_times_out_and_is_blamed_on_its_job_alone() {
    let timeout = Duration::from_millis(1500);
    let (outcome, device) = fault_in_third("hang@3", &DeviceOptions { timeout: Some(timeout), ..options() });
    let Outcome::TimedOut { stage, how, after, stderr } = outcome else { panic!("{outcome}") };
    assert_eq!((stage, how), (Stage::Pipeline, Stall::Blocked));
    assert!(after >= timeout && after < timeout * 4, "{after:?}");
    assert_eq!(stderr.trim(), "fault: hang in job 3");
    assert_eq!(device.stats().time_outs, 1);
}

#[test]
fn waiting_for_a_gpu_that_another_worker_uses_is_no_hang() {
    // Blocked for three times as long, it would be one.
    let (outcome, device) =
        fault_in_third("lock@3", &DeviceOptions { timeout: Some(Duration::from_millis(300)), ..options() });
    assert!(matches!(outcome, Outcome::Completed(_)), "{outcome}");
    assert_eq!(device.stats().time_outs, 0);
}

/// Locks a file as a worker that draws does. When its input is closed, its first thread ends and the other one goes on: to the system it is a dead process that still holds the
/// lock, as one is that was killed inside its driver.
const KILLED_HOLDER: &str = "
import ctypes, fcntl, platform, sys, threading
lock = open(sys.argv[1], 'w')
fcntl.flock(lock, fcntl.LOCK_EX)
threading.Thread(target=threading.Event().wait, daemon=True).start()
print('locked', flush=True)
sys.stdin.readline()
ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[platform.machine()], 0)
";

/// The file that processes lock which use a device.
fn gpu_lock(device: &Device) -> std::path::PathBuf {
    let name = format!("tangle-gpu-{}-{}.lock", rustix::process::getuid().as_raw(), device.info().device_uuid);
    std::env::temp_dir().join(name)
}

#[test]
fn a_gpu_that_a_killed_process_keeps_is_given_up() {
    let driver = DriverConfig { name: "stuck".into(), ..null_driver("lock@1,lock@2,lock@3,lock@4,lock@5,lock@6") };
    let options = DeviceOptions { timeout: Some(Duration::from_millis(100)), ..options() };
    let device = Device::open(&driver, 0, &options).unwrap();
    let path = gpu_lock(&device);
    let mut holder = Command::new("python3")
        .args(["-c", KILLED_HOLDER])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is Python: set-up needs it");
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "locked\n");
    assert_eq!(words(device.run(marked_job(1)), 0), [1], "one that is alive is waited for");
    drop(holder.stdin.take());
    let outcomes: Vec<Outcome> = (2..=6).map(|id| device.run(marked_job(id))).collect();
    holder.kill().unwrap();
    holder.wait().unwrap();
    std::fs::remove_file(&path).unwrap();
    let _ = std::fs::remove_file(path.with_extension("present"));
    let Some(Outcome::WorkerLost { reason }) = outcomes.last() else { panic!("{outcomes:?}") };
    assert!(reason.starts_with(&format!("the GPU is stuck: process {} was killed", holder.id())), "{reason}");
}

/// How many jobs a device that takes turns has at a time.
const JOBS: usize = 32;

/// Null devices that take turns, as those on one GPU do, and the file that its processes share. Each test has a name of its own.
struct Gpu {
    name: &'static str,
    lock: std::path::PathBuf,
}

impl Gpu {
    fn new(name: &'static str) -> Gpu {
        Gpu { name, lock: gpu_lock(&Device::open(&Gpu::driver(name, ""), 0, &options()).unwrap()) }
    }

    fn driver(name: &str, fault: &str) -> DriverConfig {
        let mut driver = DriverConfig { name: name.into(), ..null_driver(fault) };
        driver.env.insert("TANGLE_WORKER_NULL".into(), "takes-turns".into());
        driver
    }

    fn open(&self, fault: &str) -> Device {
        let options = DeviceOptions { timeout: Some(Duration::from_millis(200)), in_flight: JOBS, ..options() };
        Device::open(&Gpu::driver(self.name, fault), 0, &options).unwrap()
    }

    fn present(&self) -> std::path::PathBuf {
        self.lock.with_extension("present")
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        for path in [&self.lock, &self.present()] {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[test]
fn idle_workers_leave_a_gpu_that_is_reset() {
    let gpu = Gpu::new("left");
    let (hangs, _idle) = (gpu.open("stall@1"), gpu.open(""));
    assert!(matches!(hangs.run(marked_job(1)), Outcome::TimedOut { .. } | Outcome::Crashed { .. }));
    let present = std::fs::File::open(gpu.present()).unwrap();
    let begin = Instant::now();
    while present.try_lock().is_err() {
        assert!(begin.elapsed() < Duration::from_secs(60), "somebody stays");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn after_a_hang_on_a_gpu_every_worker_opens_it_anew() {
    let gpu = Gpu::new("reset");
    let (hangs, beside) = (gpu.open("stall@2"), gpu.open(""));
    assert_eq!(words(hangs.run(marked_job(1)), 0), [1]);
    assert_eq!(words(beside.run(marked_job(1)), 0), [1]);
    hangs.submit(marked_job(2));
    // It waits for the GPU until the other is ended.
    beside.submit(marked_job(2));
    let outcome = |device: &Device| device.results().recv().unwrap().outcome;
    assert!(matches!(outcome(&hangs), Outcome::TimedOut { stage: Stage::Wait { launch: 0 }, .. }));
    assert_eq!(words(outcome(&beside), 0), [2]);
    for device in [&hangs, &beside] {
        assert_eq!(words(device.run(marked_job(3)), 0), [3]);
        assert_eq!(device.stats().restarts, 1, "once, whoever was to blame");
    }
    assert_eq!((beside.stats().crashes, beside.stats().time_outs), (0, 0));
}

#[test]
fn after_two_hangs_in_a_row_workers_are_on_a_gpu_one_at_a_time() {
    let gpu = Gpu::new("turns");
    let (hangs, beside) = (gpu.open("stall@1,stall@2"), gpu.open(""));
    for id in 1..=2 {
        assert!(matches!(hangs.run(marked_job(id)), Outcome::TimedOut { .. } | Outcome::Crashed { .. }));
    }
    // The other one has its turn although this one always has something to do.
    beside.submit(marked_job(1));
    // All of what it has is waited for: when the turn is over, nobody submits what would be a reason to go on.
    let mut firsts = (3..).step_by(JOBS);
    let mut some = || {
        let first = firsts.next().unwrap();
        let ids = first..first + JOBS as u64;
        ids.clone().for_each(|id| hangs.submit(marked_job(id)));
        ids.for_each(|id| assert_eq!(words(hangs.results().recv().unwrap().outcome, 0), [id as u32]));
    };
    while beside.results().is_empty() {
        some();
    }
    assert_eq!(words(beside.results().recv().unwrap().outcome, 0), [1]);
    some();
    assert_eq!((beside.stats().crashes, beside.stats().time_outs, hangs.stats().time_outs), (0, 0, 2));
}

#[test]
fn a_gpu_that_executes_nothing_any_more_is_given_up_and_nobody_blamed() {
    let gpu = Gpu::new("dead");
    let stalls: Vec<String> = (1..=20).map(|id| format!("stall@{id}")).collect();
    let (hangs, beside) = (gpu.open(&stalls.join(",")), gpu.open("stall@1"));
    let outcomes: Vec<Outcome> = (1..=20).map(|id| hangs.run(marked_job(id))).collect();
    let is_lost = |outcome: &Outcome| matches!(outcome, Outcome::WorkerLost { .. });
    let blamed = outcomes.iter().position(is_lost).expect("it is given up");
    // Each runs again alone before it is blamed.
    assert_eq!(blamed, 5, "{outcomes:?}");
    assert!(outcomes[blamed..].iter().all(is_lost));
    for outcome in [&outcomes[blamed], &beside.run(marked_job(1))] {
        let Outcome::WorkerLost { reason } = outcome else { panic!("{outcome}") };
        assert!(reason.starts_with("the GPU executes nothing any more: 12 processes in a row"), "{reason}");
    }
    // Whoever comes when it was reset finds it alive.
    let later = gpu.open("stall@2");
    assert_eq!(words(later.run(marked_job(1)), 0), [1]);
    assert!(matches!(later.run(marked_job(2)), Outcome::TimedOut { .. } | Outcome::Crashed { .. }));
    assert_eq!(words(later.run(marked_job(3)), 0), [3]);
}

#[test]
fn an_endless_computation_times_out_by_its_processor_time() {
    let timeout = Duration::from_millis(1000);
    let (outcome, _) = fault_in_third("spin@3", &DeviceOptions { timeout: Some(timeout), ..options() });
    let Outcome::TimedOut { how, after, .. } = outcome else { panic!("{outcome}") };
    assert_eq!(how, Stall::Processor);
    assert!(after >= timeout && after < timeout * 4, "{after:?}");
}

/// A null device with this fault, which notes the process id of its worker.
fn noted(fault: &str, folder: &std::path::Path) -> DriverConfig {
    let mut driver = null_driver(fault);
    let script = format!("echo $$ > {}; exec \"$@\"", folder.join("pid").display());
    driver.prefix = vec!["/bin/sh".into(), "-c".into(), script, "sh".into()];
    driver.env.insert("TANGLE_WORKER_FAULT_STATE".into(), folder.join("had-").display().to_string());
    driver
}

#[test]
fn time_in_which_a_worker_does_not_run_is_not_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let timeout = Some(Duration::from_secs(4));
    let device = Device::open(&noted("slow@1", folder.path()), 0, &DeviceOptions { timeout, ..options() }).unwrap();
    let pid: i32 = std::fs::read_to_string(folder.path().join("pid")).unwrap().trim().parse().unwrap();
    let signal = |signal| {
        // SAFETY: kill takes any process id; this is the worker of this test.
        unsafe { libc::kill(pid, signal) };
    };
    device.submit(marked_job(1));
    std::thread::sleep(Duration::from_millis(500));
    // As long as it would take to time out by the clock on the wall, and blocked.
    signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(13));
    signal(libc::SIGCONT);
    let outcome = device.results().recv().unwrap().outcome;
    assert_eq!(words(outcome, 0), [1]);
    assert_eq!((device.stats().time_outs, device.stats().restarts), (0, 0));
}

#[test]
fn what_comes_through_alone_with_more_time_is_slow_and_no_hang() {
    let options = DeviceOptions { timeout: Some(Duration::from_millis(1000)), ..options() };
    let device = Device::open(&null_driver("slow@1,spin@2"), 0, &options).unwrap();
    assert_eq!(words(device.run(marked_job(1)), 0), [1]);
    let stats = device.stats();
    assert_eq!((stats.time_outs, stats.slow, stats.restarts), (1, 1, 1));
    let Outcome::TimedOut { after, .. } = device.run(marked_job(2)) else { panic!("it never ends") };
    assert!(after >= Duration::from_secs(10), "{after:?}");
    assert_eq!(device.stats().slow, 1);
}

#[test]
fn a_device_that_is_known_to_hang_gets_little_more_than_its_longest_job() {
    let options = DeviceOptions { timeout: Some(Duration::from_secs(20)), ..options() };
    let device = Device::open(&null_driver("spin@60"), 0, &options).unwrap();
    for job in 0..60 {
        assert_eq!(words(device.run(marked_job(job)), 0), [job as u32]);
    }
    let (sender, receiver) = crossbeam_channel::bounded(1);
    device.submit_on(marked_job(60), Terms::Brief, &sender);
    let Outcome::TimedOut { after, .. } = receiver.recv().unwrap().outcome else { panic!("it never ends") };
    assert!(after >= Duration::from_secs(1) && after < Duration::from_secs(10), "{after:?}");
}

#[test]
fn a_worker_that_is_killed_once_is_nobodys_fault() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::open(&noted("kill@1!,kill@2", folder.path()), 0, &options()).unwrap();
    assert_eq!(words(device.run(marked_job(1)), 0), [1]);
    let stats = device.stats();
    assert_eq!((stats.killed, stats.crashes, stats.restarts), (1, 1, 1));
    let outcome = device.run(marked_job(2));
    assert!(matches!(outcome, Outcome::Crashed { end: WorkerEnd::Signal(libc::SIGKILL), .. }), "{outcome}");
}

#[test]
fn a_failed_allocation_is_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::open(&noted("bad_alloc@1!,bad_alloc@2", folder.path()), 0, &options()).unwrap();
    assert_eq!(words(device.run(marked_job(1)), 0), [1]);
    assert_eq!((device.stats().short_of_memory, device.stats().crashes), (1, 0));
    let outcome = device.run(marked_job(2));
    assert!(matches!(outcome, Outcome::OutOfMemory { shortage: Shortage::Allocation, .. }), "{outcome}");
}

#[test]
fn an_answer_that_cannot_be_is_a_failure_of_its_own() {
    let (outcome, device) = fault_in_third("lie@3", &options());
    let Outcome::Implausible { problem, .. } = &outcome else { panic!("{outcome}") };
    assert!(problem.starts_with("a buffer of 4294967295 words in slices of 4294967295 in launch 0"), "{problem}");
    assert_eq!(device.stats().restarts, 1);
}

#[test]
fn a_message_that_is_too_long_is_not_read() {
    let (outcome, _) = fault_in_third("huge@3", &options());
    let Outcome::Crashed { end: WorkerEnd::Garbage(what), .. } = &outcome else { panic!("{outcome}") };
    assert!(what.starts_with("a message of 4294967295 bytes, where at most"), "{what}");
}

/// Every second answer is spoilt, in another way each. `TANGLE_FRAMES=40000` spoils 20,000.
#[test]
fn spoilt_answers_cost_their_job_and_no_other() {
    let frames = std::env::var("TANGLE_FRAMES").ok().and_then(|frames| frames.parse().ok()).unwrap_or(200);
    // An answer that lacks its last bytes is waited for; nothing of that is said by the worker any more.
    let options =
        DeviceOptions { timeout: Some(Duration::from_millis(100)), start_timeout: Duration::from_secs(5), ..options() };
    // As many as the environment of a worker can name.
    const PART: u64 = 2_000;
    for first in (1..=frames).step_by(PART as usize) {
        let ids = first..(first + PART).min(frames + 1);
        let faults: Vec<String> = ids.clone().step_by(2).map(|id| format!("mutate@{id}")).collect();
        let device = Device::open(&null_driver(&faults.join(",")), 0, &options).unwrap();
        let jobs = ids.end - ids.start;
        for id in ids {
            device.submit(marked_job(id));
            let outcome = device.results().recv().unwrap().outcome;
            if (id - first) % 2 == 1 {
                assert_eq!(words(outcome, 0), [id as u32]);
            }
        }
        assert!(device.stats().restarts > jobs / 10);
    }
}

#[test]
fn twenty_devices_share_the_processors() {
    let scheduler = Scheduler::new(NonZero::new(2).unwrap());
    let options = DeviceOptions { scheduler, ..options() };
    let devices: Vec<Device> = (0..20).map(|_| Device::open(&null_driver(""), 0, &options).unwrap()).collect();
    std::thread::scope(|scope| {
        for device in &devices {
            scope.spawn(|| run_all(device, 20));
        }
    });
    assert!(devices.iter().all(|device| device.stats().jobs == 20));
}

/// Leases that are asked for on one processor while a device runs 40 jobs, one after the other, beside a busy one.
fn leases(linger: Duration) -> u64 {
    let scheduler = Scheduler::new(NonZero::<usize>::MIN);
    let options = DeviceOptions { scheduler: scheduler.clone(), linger, ..options() };
    let [busy, patient] = [(); 2].map(|()| Device::open(&null_driver(""), 0, &options).unwrap());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                run_all(&busy, 20);
            }
        });
        for id in 1..=40 {
            assert_eq!(words(patient.run(marked_job(id)), 0), [id as u32]);
        }
        // What it keeps the busy one waits for.
        drop(patient);
        is_over.store(true, Ordering::SeqCst);
    });
    scheduler.requests()
}

/// Whoever gives its jobs one after the other does not stand in line for each.
#[test]
fn a_lease_is_kept_for_the_next_job() {
    // So long that it does not matter how busy the machine is.
    let (kept, given_back) = (leases(Duration::from_secs(60)), leases(Duration::ZERO));
    assert!(kept < 40 && given_back > 40, "{kept} leases, and {given_back}");
}

#[test]
fn an_exit_is_a_crash_with_its_code() {
    let (outcome, _) = fault_in_third("exit@3", &options());
    assert!(matches!(outcome, Outcome::Crashed { end: WorkerEnd::Exit(3), stage: Stage::Pipeline, .. }), "{outcome}");
}

#[test]
fn garbage_in_the_protocol_is_a_crash() {
    let (outcome, _) = fault_in_third("garbage@3", &options());
    assert!(matches!(outcome, Outcome::Crashed { end: WorkerEnd::Garbage(_), .. }), "{outcome}");
}

#[test]
fn a_lost_device_costs_the_worker_and_no_other_job() {
    let (outcome, device) = fault_in_third("lost@3", &options());
    assert_eq!(outcome, Outcome::DeviceLost { stage: Stage::Wait { launch: 0 } });
    assert_eq!(device.stats().restarts, 1);
}

#[test]
fn a_driver_that_prints_does_not_break_the_protocol() {
    let (outcome, device) = fault_in_third("chatter@3", &options());
    assert_eq!(words(outcome, 0), [3]);
    assert_eq!(device.stats().restarts, 0);
}

#[test]
fn several_faults_in_a_row_each_cost_one_worker() {
    let device = Device::open(&null_driver("crash@1,exit@2,crash@3,crash@6"), 0, &options()).unwrap();
    let outcomes = run_all(&device, 6);
    let crashed: Vec<u64> =
        outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Crashed { .. })).map(|(id, _)| *id).collect();
    assert_eq!(crashed, [1, 2, 3, 6]);
    assert!(outcomes.iter().all(|(id, outcome)| crashed.contains(id) || matches!(outcome, Outcome::Completed(_))));
}

#[test]
fn two_hundred_jobs_with_a_fault_in_every_ninth_all_get_their_outcome() {
    let faults: Vec<String> =
        (9..=200).step_by(9).map(|id| format!("{}@{id}", ["crash", "exit", "garbage", "lost"][id / 9 % 4])).collect();
    let device =
        Device::open(&null_driver(&faults.join(",")), 0, &DeviceOptions { in_flight: 5, ..options() }).unwrap();
    for (expected, (id, outcome)) in (1..).zip(run_all(&device, 200)) {
        assert_eq!(id, expected);
        match outcome {
            Outcome::Crashed { .. } | Outcome::DeviceLost { .. } if id % 9 == 0 => {}
            Outcome::Completed(_) if id % 9 != 0 => assert_eq!(words(outcome, 0), [id as u32]),
            other => panic!("job {id}: {other}"),
        }
    }
    assert_eq!((device.stats().jobs, device.stats().restarts), (200, 22));
}

#[test]
fn workers_that_die_before_a_job_are_given_up_in_the_end() {
    let options = DeviceOptions { max_start_failures: 3, ..options() };
    let device = Device::open(&null_driver("quit@2"), 0, &options).unwrap();
    assert_eq!(words(device.run(marked_job(1)), 0), [1]);
    let Outcome::WorkerLost { reason } = device.run(marked_job(2)) else { panic!("job 2 has no worker") };
    assert!(reason.contains("gave up after 3 workers") && reason.contains("quit before job 2"), "{reason}");
    assert!(matches!(device.run(marked_job(3)), Outcome::WorkerLost { .. }));
}

#[test]
fn a_driver_that_does_not_come_up_is_an_error_with_what_it_printed() {
    let error = Device::open(&null_driver("init"), 0, &options()).err().unwrap();
    assert_eq!(error.to_string(), "driver null: worker exited with code 3 while starting: fault: cannot initialise");
    let options = DeviceOptions { start_timeout: Duration::from_millis(300), ..options() };
    let error = Device::open(&null_driver("silent"), 0, &options).err().unwrap();
    assert!(matches!(error, DeviceError::Driver { problem: StartProblem::Silent { .. }, .. }), "{error}");
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    let error = Device::open(&null_driver(""), 7, &options()).err().unwrap();
    assert_eq!(error.to_string(), "driver null: no device with index 7");
}

#[test]
fn a_program_that_is_no_worker_is_an_error() {
    let open = |program: &str| {
        let options = DeviceOptions { worker_exe: Some(program.into()), ..options() };
        Device::open(&null_driver(""), 0, &options).err().unwrap().to_string()
    };
    assert!(open("/nonexistent/worker").contains("cannot start worker /nonexistent/worker"));
    assert!(open("/bin/true").contains("exited with code 0 while starting"));
    assert!(open("/bin/cat").contains("speaks another protocol"));
}

#[test]
fn no_more_jobs_are_in_flight_than_asked_for() {
    let device = Device::open(&null_driver("hang@1"), 0, &DeviceOptions { in_flight: 2, ..options() }).unwrap();
    assert!(device.try_submit(marked_job(1)).is_ok());
    assert!(device.try_submit(marked_job(2)).is_ok());
    assert_eq!(device.try_submit(marked_job(3)).unwrap_err().id, 3);
    assert_eq!(device.unfinished(), 2);
}

#[test]
fn dropping_a_device_does_not_wait_for_a_hung_driver() {
    let device = Device::open(&null_driver("hang@1"), 0, &options()).unwrap();
    device.submit(marked_job(1));
    std::thread::sleep(Duration::from_millis(200));
    let begin = Instant::now();
    drop(device);
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

#[test]
fn outcomes_of_several_devices_can_share_a_channel() {
    let (sender, receiver) = crossbeam_channel::unbounded();
    let devices: Vec<Device> = (0..2).map(|_| Device::open(&null_driver(""), 0, &options()).unwrap()).collect();
    for (index, device) in devices.iter().enumerate() {
        device.submit_to(marked_job(index as u64), &sender);
    }
    let mut ids: Vec<u64> = (0..2).map(|_| receiver.recv().unwrap().job).collect();
    ids.sort();
    assert_eq!(ids, [0, 1]);
}

#[test]
fn a_prefix_command_starts_the_worker() {
    let mut driver = null_driver("");
    driver.prefix = vec!["/usr/bin/env".into(), "TANGLE_WORKER_FAULT=crash@1".into()];
    let device = Device::open(&driver, 0, &options()).unwrap();
    assert!(matches!(device.run(marked_job(1)), Outcome::Crashed { .. }));
}

#[test]
fn jobs_that_contradict_themselves_are_turned_away() {
    let device = Device::open(&null_driver(""), 0, &options()).unwrap();
    let mut no_launch = marked_job(1);
    no_launch.launches.clear();
    assert_eq!(device.run(no_launch), Outcome::Invalid { problems: vec!["no launch".into()] });
    let mut twice = marked_job(2);
    // Of one kind they were an array.
    let again = Buffer { kind: BufferKind::Uniform, ..twice.launches[0].buffers[0].clone() };
    twice.launches[0].buffers.push(again);
    assert_eq!(device.run(twice), Outcome::Invalid { problems: vec!["binding 0 is used twice".into()] });
    let mut no_module = marked_job(3);
    no_module.spirv = vec![1, 2, 3];
    assert_eq!(device.run(no_module), Outcome::Invalid { problems: vec!["not a SPIR-V module".into()] });
    assert_eq!(completed(device.run(marked_job(4))).launches.len(), 1);
}

#[test]
fn a_large_job_comes_back_whole() {
    let device = Device::open(&null_driver(""), 0, &options()).unwrap();
    let mut job = marked_job(1);
    let data: Vec<u32> = (0..4 << 20).map(|index: u32| index.wrapping_mul(0x9e37_79b9)).collect();
    job.launches[0].buffers[0].init = tangle_runner::Init::Data(data.clone());
    assert_eq!(words(device.run(job), 0), data);
}

#[test]
fn an_inventory_has_a_line_for_every_driver_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("gone_icd.json");
    std::fs::write(&manifest, r#"{ "file_format_version": "1.0.0", "ICD": { "library_path": "./libgone.so" } }"#)
        .unwrap();
    let mut broken = null_driver("init");
    broken.name = "broken".into();
    let drivers = [DriverConfig::from_manifest("gone", &manifest), broken, null_driver("")];
    let inventory = Inventory::probe(&drivers, &probe_options());
    assert_eq!(inventory.devices().count(), 1);
    let problems: Vec<String> =
        inventory.problems().map(|(driver, problem)| format!("{}: {problem}", driver.name)).collect();
    assert_eq!(problems.len(), 2);
    assert!(problems[0].starts_with("gone: manifest ") && problems[0].ends_with("which is not there"), "{problems:?}");
    assert_eq!(problems[1], "broken: worker exited with code 3 while starting: fault: cannot initialise");
    assert_eq!(inventory.device("null").unwrap().1.device_name, "null device");
    assert_eq!(inventory.device("nil").unwrap_err().to_string(), "no device named `nil`; there are: null");
    assert!(inventory.device("broken").unwrap_err().to_string().starts_with("driver broken: worker exited"));
}

#[test]
fn a_library_that_the_linker_cannot_find_is_an_error_line() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("gone_icd.json");
    let text = r#"{ "file_format_version": "1.0.0", "ICD": { "library_path": "libgone.so", "api_version": "1.3.0" } }"#;
    std::fs::write(&manifest, text).unwrap();
    let inventory = Inventory::probe(&[DriverConfig::from_manifest("gone", &manifest)], &probe_options());
    let error = inventory.require_any().unwrap_err().to_string();
    assert!(error.starts_with("no Vulkan device found; gone: "), "{error}");
    assert!(error.contains("libgone.so: cannot open shared object file"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn no_driver_at_all_is_an_error_with_advice() {
    let inventory = Inventory::probe(&[], &probe_options());
    assert_eq!(inventory.require_any(), Err(DeviceError::NoDriver));
    assert!(inventory.device("lvp").unwrap_err().to_string().contains("apt install mesa-vulkan-drivers"));
}

/// A device whose worker hangs in job 1, and the worker's process id.
fn hung_worker() -> (Device, u32) {
    let pid_file = tempfile::NamedTempFile::new().unwrap();
    let mut driver = null_driver("hang@1");
    let script = format!("echo $$ > {}; exec \"$@\"", pid_file.path().display());
    driver.prefix = vec!["/bin/sh".into(), "-c".into(), script, "sh".into()];
    let device = Device::open(&driver, 0, &options()).unwrap();
    device.submit(marked_job(1));
    let pid = std::fs::read_to_string(pid_file.path()).unwrap().trim().parse().unwrap();
    (device, pid)
}

fn is_alive(pid: u32) -> bool {
    // A killed process that nobody has waited for yet is still listed, as a zombie.
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn a_dropped_device_leaves_no_process() {
    let (device, pid) = hung_worker();
    assert!(is_alive(pid));
    drop(device);
    assert!(!is_alive(pid));
}

/// Not a test of its own: the parent that `a_worker_dies_with_its_parent` kills.
#[test]
#[ignore = "started by another test"]
fn parent_to_be_killed() {
    let (_device, pid) = hung_worker();
    println!("worker={pid}.");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_worker_dies_with_its_parent() {
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "parent_to_be_killed"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(parent.stdout.take().unwrap()).lines().map_while(Result::ok);
    let pid: u32 = { lines }
        .find_map(|line| line.split_once("worker=")?.1.split_once('.')?.0.parse().ok())
        .expect("the parent prints its worker's process id");
    assert!(is_alive(pid));
    parent.kill().unwrap();
    parent.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while is_alive(pid) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!is_alive(pid));
}
