//! Runs tests against mutants, and keeps what came out in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// Tests of at most so many seconds run in one process.
const QUICK: f64 = 0.1;
/// Bytes of address space that a mutant may use.
const MEMORY: u64 = 4 << 30;

/// A test of the program: its name, with `@VARIABLE=VALUE` behind it one that runs in that environment.
#[derive(Clone, Debug)]
pub struct Test {
    pub name: String,
    /// Processor time without a mutant, in seconds.
    pub seconds: f64,
    /// The mutants that it reaches.
    pub reaches: BTreeSet<u32>,
}

/// How one run of tests ended.
#[derive(Debug, PartialEq)]
enum End {
    Passed,
    Failed(String),
    /// It took more processor time than it may.
    TimeOut,
}

/// The processes that run, so that the deadline can end them.
#[derive(Default)]
struct Running {
    pids: Mutex<BTreeSet<u32>>,
    is_over: AtomicBool,
}

/// The tests of the program, by name.
fn list(program: &Path) -> Result<Vec<String>> {
    let output = Command::new(program).args(["--list", "--format", "terse"]).output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Runs every test by itself, and writes down how long it takes and which mutants it reaches. What is there of a test is kept.
pub fn record(program: &Path, also: &[String], to: &Path) -> Result<()> {
    let reached = to.with_extension("reached");
    let known = std::fs::read_to_string(to).unwrap_or_default();
    let known: BTreeMap<&str, &str> = known.lines().filter_map(|line| Some((line.split_once('\t')?.0, line))).collect();
    let mut text = String::new();
    for name in list(program)?.iter().chain(also) {
        if let Some(line) = known.get(name.as_str()) {
            text += &format!("{line}\n");
            continue;
        }
        let _ = std::fs::remove_file(&reached);
        let (end, seconds) = run(program, &[name], &[("MUTANT", "0")], None, &Running::default())?;
        if end != End::Passed {
            bail!("{name} fails without a mutant: {end:?}");
        }
        let file = reached.to_str().context("the path is text")?;
        run(program, &[name], &[("MUTANT", "record"), ("MUTANT_REACHED", file)], None, &Running::default())?;
        let ids = std::fs::read_to_string(&reached).unwrap_or_default();
        let ids: Vec<&str> = ids.lines().collect();
        println!("{seconds:7.2} s, {:4} mutants: {name}", ids.len());
        text += &format!("{name}\t{seconds:.2}\t{}\n", ids.join(" "));
    }
    let _ = std::fs::remove_file(&reached);
    std::fs::write(to, text)?;
    Ok(())
}

/// What [`record`] wrote, the quickest first.
pub fn tests(path: &Path) -> Result<Vec<Test>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let test = |line: &str| {
        let [name, seconds, ids] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        let reaches = ids.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Test { name: name.to_owned(), seconds: seconds.parse().ok()?, reaches })
    };
    let tests: Option<Vec<Test>> = text.lines().map(test).collect();
    let mut tests = tests.with_context(|| format!("{} is not a list of tests", path.display()))?;
    tests.sort_by(|x, y| x.seconds.total_cmp(&y.seconds));
    Ok(tests)
}

/// Tests that run in one process, with the name by which the results tell them apart.
struct Batch<'t> {
    name: &'t str,
    tests: Vec<&'t Test>,
}

/// The name of the batch that a test is in.
fn batch_of(test: &Test) -> &str {
    if test.seconds <= QUICK && !test.name.contains('@') { "quick" } else { &test.name }
}

/// The batches, the quickest first; tests are in that order.
fn batches(tests: &[Test]) -> Vec<Batch<'_>> {
    let mut batches: Vec<Batch<'_>> = Vec::new();
    for test in tests {
        let name = batch_of(test);
        match batches.iter_mut().find(|batch| batch.name == name) {
            Some(batch) => batch.tests.push(test),
            None => batches.push(Batch { name, tests: vec![test] }),
        }
    }
    batches
}

/// What is known of the mutants: what killed each, and which batches it passed.
#[derive(Default)]
pub struct Results {
    pub killed: BTreeMap<u32, String>,
    pub passed: BTreeSet<(u32, String)>,
}

impl Results {
    /// True if a mutant passed this test.
    pub fn has_passed(&self, id: u32, test: &Test) -> bool {
        self.passed.contains(&(id, batch_of(test).to_owned()))
    }
}

/// Reads a file of results; lines that are cut short do not count.
pub fn results(path: &Path) -> Results {
    let mut results = Results::default();
    for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, end, batch, _, by] = fields[..] else { continue };
        let Ok(id) = id.parse() else { continue };
        match end {
            "passed" => drop(results.passed.insert((id, batch.to_owned()))),
            "killed" => drop(results.killed.insert(id, by.to_owned())),
            "timeout" => drop(results.killed.insert(id, format!("time limit of {batch}"))),
            _ => {}
        }
    }
    results
}

/// Keeps what still holds when the schema was made anew: mutants have the numbers of their names, and the quick tests are run again, since
/// there may be more of them.
pub fn carry(path: &Path, before: &BTreeMap<u32, String>, now: &BTreeMap<String, u32>) -> Result<()> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(()) };
    let carried = text.lines().filter_map(|line| {
        let (id, rest) = line.split_once('\t')?;
        let id = now.get(before.get(&id.parse().ok()?)?)?;
        (!rest.starts_with("passed\tquick\t")).then(|| format!("{id}\t{rest}\n"))
    });
    Ok(std::fs::write(path, carried.collect::<String>())?)
}

/// What is to be done.
pub struct Options {
    pub program: PathBuf,
    pub jobs: usize,
    /// No process lives on after so many seconds.
    pub time: u64,
    pub results: PathBuf,
    /// These mutants only; all if there are none.
    pub only: Vec<u32>,
}

/// Runs what is not known yet: of every mutant the quick tests first. Every result is written as soon as it is known.
pub fn run_all(mutants: &[u32], tests: &[Test], options: &Options) -> Result<()> {
    let known = results(&options.results);
    let batches = batches(tests);
    let mut work = Vec::new();
    for batch in &batches {
        for &id in mutants.iter().filter(|id| options.only.is_empty() || options.only.contains(id)) {
            let tests: Vec<&Test> = batch.tests.iter().copied().filter(|test| test.reaches.contains(&id)).collect();
            let is_known = known.killed.contains_key(&id) || known.passed.contains(&(id, batch.name.to_owned()));
            if !tests.is_empty() && !is_known {
                work.push((id, batch.name, tests));
            }
        }
    }
    println!("{} runs to do at most, {} mutants killed before", work.len(), known.killed.len());
    let start = Instant::now();
    let left = || Duration::from_secs(options.time).saturating_sub(start.elapsed()).as_secs_f64();
    let file = Mutex::new(File::options().append(true).create(true).open(&options.results)?);
    let killed = Mutex::new(BTreeSet::new());
    let (next, done, idle) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let running = Running::default();
    let job = || -> Result<()> {
        while let Some((id, batch, tests)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            let seconds: f64 = tests.iter().map(|test| test.seconds).sum();
            if running.is_over.load(Ordering::Relaxed) || seconds > left() {
                break;
            }
            if killed.lock().expect("no thread panics").contains(id) {
                continue;
            }
            let names: Vec<&String> = tests.iter().map(|test| &test.name).collect();
            let limit = (10.0 * seconds).min(seconds + 100.0).max(3.0);
            let id_text = id.to_string();
            let (end, spent) = run(&options.program, &names, &[("MUTANT", &id_text)], Some(limit as u64), &running)?;
            if running.is_over.load(Ordering::Relaxed) {
                break;
            }
            let (word, by) = match &end {
                End::Passed => ("passed", ""),
                End::Failed(by) => ("killed", by.as_str()),
                End::TimeOut => ("timeout", ""),
            };
            if end != End::Passed {
                killed.lock().expect("no thread panics").insert(*id);
            }
            let line = format!("{id}\t{word}\t{batch}\t{spent:.2}\t{by}\n");
            file.lock().expect("no thread panics").write_all(line.as_bytes())?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.jobs)
            .map(|_| {
                scope.spawn(|| {
                    let result = job();
                    idle.fetch_add(1, Ordering::Relaxed);
                    result
                })
            })
            .collect();
        while idle.load(Ordering::Relaxed) < options.jobs && left() > 0.0 {
            std::thread::sleep(Duration::from_millis(100));
        }
        running.is_over.store(true, Ordering::Relaxed);
        for &pid in running.pids.lock().expect("no thread panics").iter() {
            // SAFETY: a child of ours that was not waited for: its number is not another's.
            unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
        }
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    let is_done = next.load(Ordering::Relaxed) >= work.len() + options.jobs;
    println!(
        "{} runs in {:.0} s, {} mutants killed; {}",
        done.load(Ordering::Relaxed),
        start.elapsed().as_secs_f64(),
        killed.lock().expect("no thread panics").len(),
        if is_done { "nothing is left" } else { "not done: run it again" }
    );
    Ok(())
}

/// Runs tests in one process, until one fails; gives the processor time in seconds. `limit` is in seconds of processor time.
fn run(
    program: &Path,
    names: &[impl AsRef<str>],
    environment: &[(&str, &str)],
    limit: Option<u64>,
    running: &Running,
) -> Result<(End, f64)> {
    let mut command = Command::new(program);
    for name in names {
        let (name, variable) = name.as_ref().split_once('@').unwrap_or((name.as_ref(), ""));
        command.arg(name).envs(variable.split_once('='));
    }
    command.args(["--exact", "--test-threads", "1"]).envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let limits = move || {
        let set = |what, most: u64| {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most + 1 };
            // SAFETY: the limit lives as long as the call.
            if unsafe { libc::setrlimit(what, &limit) } == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        set(libc::RLIMIT_AS, MEMORY)?;
        set(libc::RLIMIT_CORE, 0)?;
        limit.map_or(Ok(()), |limit| set(libc::RLIMIT_CPU, limit))
    };
    // SAFETY: the closure only calls setrlimit.
    unsafe { command.pre_exec(limits) };
    let mut child = {
        let mut pids = running.pids.lock().expect("no thread panics");
        let child = command.spawn().with_context(|| program.display().to_string())?;
        pids.insert(child.id());
        child
    };
    let (mut failed, mut begun) = (None, String::new());
    let mut output = BufReader::new(child.stdout.take().context("the output is piped")?);
    let mut line = Vec::new();
    // Piece by piece: the name of a test is written before it runs.
    while output.read_until(b' ', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line).into_owned();
        if text.contains("::") {
            begun = text.trim().to_owned();
        }
        if text.starts_with("FAILED") {
            failed = Some(begun.clone());
            child.kill()?;
            break;
        }
        line.clear();
    }
    let pid = child.id();
    let (mut status, mut usage) = (0, unsafe_zeroed());
    // SAFETY: the child is ours and not waited for; the places for the results live as long as the call.
    let waited = unsafe { libc::wait4(pid as libc::pid_t, &mut status, 0, &mut usage) };
    running.pids.lock().expect("no thread panics").remove(&pid);
    if waited < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let spent = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    let status = ExitStatus::from_raw(status);
    let end = match failed {
        Some(name) => End::Failed(name),
        None if status.success() => End::Passed,
        None if status.signal() == Some(libc::SIGXCPU) => End::TimeOut,
        None if limit.is_some_and(|limit| spent >= limit as f64) => End::TimeOut,
        None => End::Failed(format!("{begun} ({status})")),
    };
    Ok((end, spent))
}

fn unsafe_zeroed() -> libc::rusage {
    // SAFETY: numbers only.
    unsafe { std::mem::zeroed() }
}
