//! `tangle minimize CASE|FINDING`

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Deserialize;
use tangle_campaign::against::Against;
use tangle_campaign::executor::built_in;
use tangle_campaign::finding::describe;
use tangle_campaign::minimized::MinimizedPath;
use tangle_campaign::reduce::{ReduceOptions, Reduction, Same, content_hash, reduce};
use tangle_campaign::target::{Jobs, Target};
use tangle_campaign::variants;
use tangle_identity::Signature;
use tangle_minimizer::{Progress, Size, statements};
use tangle_program::case::Case;
use tangle_runner::config::Drivers;

use super::args::{CompilerName, DriverArgs, Found, duration, read_case, timeout};
use super::deadline::{Deadline, Grace, NOT_OPEN};
use super::output::{say, say_stderr};
use super::{foreign, progress};

#[derive(clap::Args)]
pub struct Args {
    /// What to minimise: the folder of a finding, a case (JSON), or an artifact of `cargo fuzz`
    case: PathBuf,
    /// Device to run on, by the name `tangle devices` shows; that of the finding if not given
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Compiler to run on, as `tangle fuzz` takes it: `NAME=PATH` for a build of your own
    #[arg(long, value_name = "NAME", conflicts_with = "device")]
    compiler: Option<CompilerName>,
    /// Command that starts the program of --compiler NAME=PATH
    #[arg(long, value_name = "COMMAND", requires = "compiler", allow_hyphen_values = true)]
    compiler_prefix: Option<String>,
    #[command(flatten)]
    drivers: DriverArgs,
    /// The most processor time for one candidate; for a hang that is what every candidate that hangs costs
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    timeout: Option<Duration>,
    /// Where to save the minimised finding: a new folder, or a .json file for the case alone [default: `minimized` in the folder
    /// of the finding, or beside the case]
    #[arg(long, value_name = "DIR|FILE")]
    out: Option<PathBuf>,
    /// How long to go on at most; what is found by then is saved
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    time: Option<Duration>,
    /// How many candidates to run at most
    #[arg(long, value_name = "N")]
    tries: Option<u64>,
    /// Accept any failure instead of the same kind
    #[arg(long, conflicts_with = "same_signature")]
    any_failure: bool,
    /// Accept only failures with the same signature: the same operation with the same lanes
    #[arg(long)]
    same_signature: bool,
    /// Keep to what this device does not fail on: the build before a change, or the one that is installed
    #[arg(long, value_name = "DEVICE")]
    against: Option<String>,
    /// Start again from the beginning, not from what an earlier run reached
    #[arg(long)]
    fresh: bool,
    /// Workers that run candidates side by side [default: 2 if there are processors enough]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    jobs: Option<u8>,
}

pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// What is said when the time is over and a device still runs something.
pub(super) const LATE: &str =
    "the time is over, and the device still runs a case; what was reached is kept, and the same command goes on";

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let began = Instant::now();
    if let Some(finding) = foreign::read(&args.case)? {
        let out = args.out.as_deref();
        return foreign::minimize(&args.case, &finding, args.device.as_ref(), &args.drivers, args.time, out, &STOP);
    }
    let mut original = read_case(&args.case)?;
    let mut device = args.device.clone();
    if let Some(compiler) = &args.compiler {
        compiler.settle(args.compiler_prefix.as_deref());
        let name = compiler.devices.first().context("a compiler without a language")?;
        original.variant = name.parse().map_err(anyhow::Error::msg)?;
        device = Some(name.clone());
    }
    let found = read_finding(&args.case)?;
    let place = args.out.as_deref().map_or_else(|| MinimizedPath::of(&args.case), MinimizedPath::new);
    place.check(&original)?;
    let drivers = args.drivers.drivers()?;
    let name = match (&device, drivers.own.first(), &found) {
        (Some(name), ..) => name.clone(),
        (None, Some(own), _) => own.name.clone(),
        (None, None, Some(found)) => found.device.clone(),
        (None, None, None) => anyhow::bail!("say with --device where the case fails"),
    };
    let opening = Deadline::watch((began, args.time), &STOP, Grace::OPENING, NOT_OPEN);
    let targets = open(args, &drivers, &name)?;
    drop(opening);
    let _running = Deadline::watch((began, args.time), &STOP, Grace::RUNNING, LATE);
    if let (Some(_), Some(target)) = (&args.compiler, targets.first()) {
        let missing = target.missing(&original);
        anyhow::ensure!(missing.is_empty(), "{name} cannot run the case: it lacks {}", missing.join(", "));
    }
    let unfinished = if args.fresh { None } else { place.unfinished(&original) };
    let resumed = unfinished.is_some();
    let start = unfinished.unwrap_or_else(|| original.clone());
    // On another device the failure may be another.
    let signature = found.as_ref().filter(|found| found.device == name).map(|found| &found.signature);
    let same = match (args.any_failure, args.same_signature) {
        (true, _) => Same::Anything,
        (_, true) => Same::Signature,
        _ => Same::Failure,
    };
    let from = Some(content_hash(&original));
    let against = match &args.against {
        Some(name) => open(args, &drivers, name)?.into_iter().next().map(Against::new),
        None => None,
    };
    let time = args.time.map(|time| time.saturating_sub(began.elapsed()));
    let options = ReduceOptions { same, time, processor_time: None, candidates: args.tries, from, against };
    say_stderr!("{}{}", if resumed { "going on from an earlier run: " } else { "" }, summary(&start));
    let started = Instant::now();
    let reduced = watched(&targets, &start, signature, &options, |best| place.note(&original, best));
    let reduction = match reduced {
        Err(error) if resumed => return Err(error.context("cannot go on from an earlier run (--fresh starts again)")),
        reduced => reduced?,
    };
    let others = Others::of(&args.case, &place, &name);
    place.save(&targets[0], &original, &reduction, started.elapsed())?;
    tell_result(&reduction, &original, started.elapsed(), place.path())?;
    for (aside, folder) in reduction.asides.iter().zip(place.save_asides(&targets[0], &reduction.asides)?) {
        say_stderr!("a candidate failed in another way: {}; saved {}", aside.signature, folder.display());
    }
    let is_time_left = !STOP.load(Ordering::SeqCst) && args.time.is_none_or(|time| started.elapsed() < time);
    if is_time_left && !place.is_file() && variants::are_telling(reduction.signature.kind) {
        say_stderr!("looking for the stage to blame: every variant on every device of the finding");
        let others = others.open(args, &drivers);
        let targets = targets.iter().take(1).chain(&others);
        variants::save(&variants::table(targets, &reduction.minimized.case), place.path())?;
    }
    Ok(Found::Nothing)
}

/// Reduces a case before the user's eyes: with a line of progress, until Ctrl-C. `note` saves what is reached.
pub(super) fn watched(
    targets: &[Target],
    case: &Case,
    signature: Option<&Signature>,
    options: &ReduceOptions,
    mut note: impl FnMut(&Case) -> anyhow::Result<()>,
) -> anyhow::Result<Reduction> {
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            // The second time: at once. What is reached is on disk.
            std::process::exit(2);
        }
    })?;
    let (started, mut display) = (Instant::now(), progress::Progress::new());
    let mut unsaved = None;
    let reduced = reduce(targets, case, signature, options, &STOP, |report| {
        display.show(&line(report, started, options.time));
        if report.improved {
            unsaved = note(report.best).err();
        }
        if unsaved.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    display.end();
    unsaved.map_or(reduced, Err)
}

/// The other devices of a finding's table of variants.
struct Others(Vec<String>);

impl Others {
    /// Those of the table of an older result, or of the finding itself.
    fn of(case: &Path, place: &MinimizedPath, own: &str) -> Others {
        let table = [place.path(), case].into_iter().find_map(variants::read);
        let columns = table.map_or(Vec::new(), |table| table.columns);
        Others(columns.into_iter().map(|column| column.device).filter(|device| device != own).collect())
    }

    /// Opens them; the table is worth having without those that do not start.
    fn open(&self, args: &Args, drivers: &Drivers) -> Vec<Target> {
        let open = |name: &String| {
            tangle_campaign::target::open(std::slice::from_ref(name), drivers, Jobs::One, &options(args), |_| {})
        };
        self.0.iter().filter_map(|name| open(name).ok()).flatten().collect()
    }
}

fn open(args: &Args, drivers: &Drivers, name: &str) -> anyhow::Result<Vec<Target>> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or(processors.min(2), usize::from);
    let names = vec![name.to_owned(); if built_in(name).is_some() { 1 } else { jobs }];
    tangle_campaign::target::open(&names, drivers, Jobs::One, &options(args), |warning| {
        say_stderr!("warning: {warning}")
    })
}

fn options(args: &Args) -> tangle_runner::DeviceOptions {
    tangle_runner::DeviceOptions { timeout: args.timeout, in_flight: 8, ..Default::default() }
}

/// What is needed of a `finding.json`.
#[derive(Deserialize)]
struct Saved {
    device: String,
    #[serde(flatten)]
    signature: Signature,
}

fn read_finding(path: &Path) -> anyhow::Result<Option<Saved>> {
    let file = path.join("finding.json");
    if !path.is_dir() || !file.exists() {
        return Ok(None);
    }
    let text =
        tangle_files::read(&file, tangle_files::MOST).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_slice(&text).map(Some).with_context(|| format!("cannot read {}", file.display()))
}

fn summary(case: &Case) -> String {
    format!("{} statements, {} invocations", statements(&case.program), u64::from(case.entry_point.invocations()))
}

fn tell_result(reduction: &Reduction, original: &Case, time: Duration, saved: &Path) -> anyhow::Result<()> {
    let minimized = &reduction.minimized;
    let case = reduction.prep.case();
    say_stderr!(
        "{} -> {}; {} candidates in {:.1} s{}",
        summary(original),
        summary(case),
        minimized.tried,
        time.as_secs_f64(),
        if minimized.finished { "" } else { "; not finished: run the command again to go on" }
    );
    say!("{}\n", body(case))?;
    say!("fails {}: {}", reduction.after, reduction.signature)?;
    say!("{}", describe(case, &reduction.conclusion.finish))?;
    say_stderr!("saved {}", saved.display());
    Ok(())
}

/// The launch, the data, and the functions of the shader.
fn body(case: &Case) -> String {
    let [x, y, z] = case.entry_point.workgroups().size;
    let mut text = format!("// workgroup {x}x{y}x{z}, tier {}\n", case.tier.name());
    for (k, words) in case.data.inputs.iter().enumerate() {
        let _ = writeln!(text, "// input {k} of the invocations: {}", listed(words));
    }
    for (k, words) in case.data.flats.iter().enumerate() {
        let _ = writeln!(text, "// flat input {k} of the triangles: {}", listed(words));
    }
    let constants: Vec<u32> = case.data.constants.iter().map(|constant| constant.value).collect();
    let data = &case.data;
    for (name, words) in [
        ("uniforms", &data.uniforms),
        ("push constants", &data.push),
        ("resources of arrays of descriptors", &data.resources),
        ("specialisation constants", &constants),
    ] {
        if !words.is_empty() {
            let _ = writeln!(text, "// {name}: {}", listed(words));
        }
    }
    text + &tangle_emit::print(case).functions()
}

/// Words that are shown of a list.
const WORDS_SHOWN: usize = 32;

fn listed(words: &[u32]) -> String {
    let shown: Vec<String> = words
        .iter()
        .take(WORDS_SHOWN)
        .map(|&word| match word {
            0..10_000 => word.to_string(),
            _ => format!("{word:#x}"),
        })
        .collect();
    let more =
        if words.len() > WORDS_SHOWN { format!(" … {} more", words.len() - WORDS_SHOWN) } else { String::new() };
    shown.join(" ") + &more
}

/// How far a reduction is.
fn line(progress: &Progress<'_>, started: Instant, limit: Option<Duration>) -> String {
    let Size { code, exprs, data, .. } = progress.size;
    let elapsed = started.elapsed();
    let left =
        limit.map_or(String::new(), |limit| format!("; at most {} s more", limit.saturating_sub(elapsed).as_secs()));
    format!(
        "{} (code {code}, expressions {exprs}, data {data}); tried {}, {:.0}/s; {} steps, now {}{left}",
        summary(progress.best),
        progress.tried,
        progress.tried as f64 / elapsed.as_secs_f64().max(0.001),
        progress.accepted,
        progress.pass,
    )
}
