//! Devices on another machine: the relay by itself, and over ssh to this machine where it has an ssh server.

mod common;

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{inventory, marked_job, null_driver, options, probe_options, words, worker_exe};
use tangle_runner::{Device, DeviceOptions, DriverConfig, DriverMode, Inventory, Outcome, Stage, WorkerEnd};

/// The null device behind this command.
fn remote(fault: &str, command: &[&str]) -> DriverConfig {
    DriverConfig { remote: command.iter().map(|&word| word.to_owned()).collect(), ..null_driver(fault) }
}

/// The null device behind a relay that is started without any connection.
fn near(fault: &str) -> DriverConfig {
    remote(fault, &[&worker_exe().display().to_string()])
}

/// A worker as other machines have it: found by the relay, not by its parent.
fn remote_options() -> DeviceOptions {
    DeviceOptions { worker_exe: None, ..options() }
}

/// Runs jobs 1 to `count` and checks that each gets its outcome; gives that of `third`.
fn third_of(device: &Device, count: u64) -> Outcome {
    let mut third = None;
    for id in 1..=count {
        let outcome = device.run(marked_job(id));
        match id {
            3 => third = Some(outcome),
            _ => assert_eq!(words(outcome, 0), [id as u32], "job {id}"),
        }
    }
    third.expect("there are three")
}

#[test]
fn a_crash_on_another_machine_is_blamed_on_its_job() {
    let device = Device::open(&near("crash@3"), 0, &remote_options()).unwrap();
    let Outcome::Crashed { end, stage, stderr } = third_of(&device, 5) else { panic!("no crash") };
    assert_eq!((end, stage), (WorkerEnd::Signal(libc::SIGSEGV), Stage::Pipeline));
    assert_eq!(tangle_runner::stack::split(&stderr).1, "fault: crash in job 3");
    assert_eq!(device.stats().restarts, 1);
}

#[test]
fn a_hang_on_another_machine_times_out() {
    let options = DeviceOptions { timeout: Some(Duration::from_millis(1500)), ..remote_options() };
    let device = Device::open(&near("hang@3"), 0, &options).unwrap();
    assert!(matches!(third_of(&device, 5), Outcome::TimedOut { stage: Stage::Pipeline, .. }));
}

#[test]
fn a_worker_that_does_not_come_up_there_says_why() {
    let mut driver = near("");
    driver.worker = Some("/no/such/worker".into());
    let problem = Device::open(&driver, 0, &remote_options()).err().expect("it cannot open").to_string();
    assert!(problem.contains("cannot start worker /no/such/worker"), "{problem}");
    let silent = Device::open(&remote("", &["/bin/false"]), 0, &remote_options()).err().expect("it cannot open");
    assert!(silent.to_string().contains("exited with code 1"), "{silent}");
    let early = Device::open(&near("init"), 0, &remote_options()).err().expect("it cannot open").to_string();
    assert!(early.contains("exited with code 3") && early.contains("cannot initialise"), "{early}");
}

/// A relay that dies with its worker in the middle of the third job, the first time it runs.
#[test]
fn a_lost_connection_is_a_lost_worker_and_no_lost_job() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "if test -e {state}; then exec {worker}; fi; touch {state}\nTANGLE_WORKER_FAULT=hang@3 exec timeout -s KILL 3 {worker}\n",
        state = folder.path().join("state").display(),
        worker = worker_exe().display(),
    );
    let mut driver = remote("", &["/bin/sh", "-c", &script]);
    driver.env.remove("TANGLE_WORKER_FAULT");
    let device = Device::open(&driver, 0, &remote_options()).unwrap();
    let outcome = third_of(&device, 5);
    assert_eq!(words(outcome, 0), [3], "the job is run again");
    let stats = device.stats();
    assert_eq!((stats.jobs, stats.crashes, stats.time_outs, stats.restarts), (5, 0, 0, 1));
}

/// An ssh server for this test only: an ordinary process on a port of its own, with keys made for it.
struct Server {
    process: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Server {
    /// None, and a note why, where there is no ssh server that can be started.
    fn start() -> Option<Server> {
        let sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].map(Path::new).into_iter().find(|path| path.exists());
        let Some(sshd) = sshd else {
            note("ssh is not tested: there is no sshd (Debian: apt install openssh-server)");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at(key)).status();
            assert!(made.is_ok_and(|status| status.success()), "ssh-keygen");
        }
        fs::copy(at("user.pub"), at("authorized")).unwrap();
        fs::set_permissions(at("authorized"), fs::Permissions::from_mode(0o600)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n",
            at("host").display(),
            at("authorized").display(),
        );
        fs::write(at("config"), config).unwrap();
        let log = fs::File::create(at("log")).unwrap();
        let mut command = Command::new(sshd);
        command.args(["-D", "-e", "-f"]).arg(at("config")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let mut server = Server { process: command.spawn().unwrap(), folder, port };
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(120) {
            if server.command("true").status().is_ok_and(|status| status.success()) {
                return Some(server);
            }
            if let Ok(Some(_)) = server.process.try_wait() {
                break;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        let log = fs::read_to_string(server.at("log")).unwrap_or_default();
        note(&format!("ssh is not tested: sshd cannot be used here: {}", log.trim().replace('\n', "; ")));
        None
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The words that run a command there.
    fn words(&self, command: &str) -> Vec<String> {
        let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
        let (key, port) = (self.at("user").display().to_string(), self.port.to_string());
        let known_hosts = format!("UserKnownHostsFile={}", self.at("known").display());
        let options = ["StrictHostKeyChecking=accept-new", "BatchMode=yes", &known_hosts, "LogLevel=ERROR"];
        let mut words = vec!["ssh", "-F", "none", "-T", "-i", &key, "-p", &port];
        options.iter().for_each(|option| words.extend(["-o", option]));
        let host = format!("{}@127.0.0.1", user.trim());
        words.extend([host.as_str(), command]);
        words.into_iter().map(str::to_owned).collect()
    }

    fn command(&self, command: &str) -> Command {
        let words = self.words(command);
        let mut ssh = Command::new(&words[0]);
        ssh.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        ssh
    }

    /// Cuts every connection.
    fn cut(&self) {
        let parent = self.process.id();
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            // SAFETY: kill takes any process id; these are children of the server that this test started.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.cut();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Seen although the test passes.
fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "note: {text}");
}

#[test]
fn over_ssh_to_this_machine() {
    let Some(server) = Server::start() else { return };
    let ssh = server.words(&worker_exe().display().to_string());
    let over_ssh = |driver: &DriverConfig| DriverConfig { remote: ssh.clone(), ..driver.clone() };

    let device = Device::open(&over_ssh(&null_driver("crash@3")), 0, &remote_options()).unwrap();
    let outcome = third_of(&device, 5);
    assert!(matches!(outcome, Outcome::Crashed { end: WorkerEnd::Signal(libc::SIGSEGV), .. }), "{outcome}");

    let options = DeviceOptions { timeout: Some(Duration::from_secs(30)), ..remote_options() };
    let device = Device::open(&over_ssh(&null_driver("")), 0, &options).unwrap();
    assert_eq!(words(device.run(marked_job(1)), 0), [1]);
    server.cut();
    assert_eq!(words(device.run(marked_job(2)), 0), [2], "another worker runs it");
    assert_eq!((device.stats().crashes, device.stats().restarts), (0, 1));

    // A driver, where there is one: its manifest, prefix and environment count on the other side.
    let drivers = inventory().probes.iter().filter(|probe| probe.driver.mode == DriverMode::Execute);
    let Some(near) = drivers.clone().find(|probe| probe.result.as_ref().is_ok_and(|devices| !devices.is_empty()))
    else {
        note("no driver is tested over ssh: there is none");
        return;
    };
    let far = Inventory::probe(&[over_ssh(&near.driver)], &probe_options());
    assert_eq!(far.probes[0].result, near.result);
    note(&format!("over ssh: the null device with a crash and a cut connection, and {}", near.driver.name));
}
