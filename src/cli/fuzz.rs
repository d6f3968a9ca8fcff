//! `tangle fuzz`

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tangle_campaign::against::Against;
use tangle_campaign::campaign::{Campaign, CampaignOptions, Folder, Loss, programs_of_bugs};
use tangle_campaign::plan::Choice;
use tangle_campaign::shard::Shard;
use tangle_campaign::target::{Jobs, Target};
use tangle_files::write_atomically;
use tangle_generator::{Combination, Profile};
use tangle_identity::Known;
use tangle_program::case::{Stage, Tier};
use tangle_program::subgroup::Severity;
use tangle_program::variant::Variant;
use tangle_report::Reporter as _;
use tangle_report::reporter::Text;
use tangle_report::statistics::{DeviceEntry, SignatureEntry, Statistics};

use super::args::{DeviceArgs, Found, duration, inputs, jobs, severity};
use super::deadline::{Deadline, Grace, NOT_OPEN};
use super::output::put;
use super::output::say_stderr;
use super::progress::Progress;
use super::summary::{print_counts, print_operations};
use super::view::View;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: DeviceArgs,
    /// Seed of the sequence of cases; drawn if not given, or that of the campaign in --out
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Length of the sequence that every device goes through; a device leaves out the cases it cannot run
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// How long to run: 30s, 5m, 2h; until Ctrl-C if neither this nor --cases is given
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    time: Option<Duration>,
    /// Run one of N parts of the sequence: 1/N to N/N. The parts have all of its programs together, and none twice
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// How much processor time the search may take, that of tangle and of its workers together: it does as much on a busy machine
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    cpu_time: Option<Duration>,
    /// Stop at the first finding that is not set aside, and minimise it
    #[arg(long)]
    until_first: bool,
    /// Only what this device does not fail on counts: the build before a change, or the one that is installed. The rest is counted as
    /// known
    #[arg(long, value_name = "DEVICE")]
    against: Option<String>,
    /// Only programs of this profile (default: a mixture): default, small, large, loops, ops, switch, calls, shapes, idioms,
    /// vectors
    #[arg(long, value_name = "NAME", value_parser = profile)]
    profile: Option<Profile>,
    /// Only cases of this convergence tier: plain, subgroup_uniform, maximal
    #[arg(long, value_name = "TIER", value_parser = tier)]
    tier: Option<Tier>,
    /// Only shaders of these stages: compute, task, mesh, fragment, vertex, tessellation_control, tessellation_evaluation, geometry. Default: a mixture of what a device offers; on a GPU without task, mesh and tessellation control shaders
    #[arg(long, value_name = "NAME", value_parser = stage, value_delimiter = ',', num_args = 1..)]
    stage: Vec<Stage>,
    /// Only this variant of every program (default: a mixture): unoptimised, module (OpenGL: no text), driver-unoptimised, spirv-opt-O, spirv-opt-Os, or
    /// spirv-opt:PASS,PASS
    #[arg(long, value_name = "NAME")]
    variant: Option<Variant>,
    /// With how many inputs each program runs: compiling is what costs. Cases that have a program in common count as so many [default: 8; 2 if no driver runs them, but the interpreter]
    #[arg(long, value_name = "N", value_parser = inputs)]
    inputs: Option<NonZero<u32>>,
    /// Workers of each device, which run cases side by side [default: what devices.toml says, or else the processors shared among
    /// the devices]
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<Jobs>,
    /// Leave out programs with this: to get past what is known to be broken. The name of an operation, `subgroupBarrier` say, or of a construct, `DivergentLoop` say, or several of these that
    /// stand together, `Switch+subgroupElect`; repeat for several
    #[arg(long, value_name = "WHAT")]
    without: Vec<Combination>,
    /// Known bugs: a file, or a folder of .toml files. Findings that one of them explains are counted, not saved, and do not make
    /// the exit code 1
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// Leave out programs that are like those that show the known bugs of one of the devices
    #[arg(long, requires = "known")]
    avoid_known: bool,
    /// Minimise findings in the background, on one more worker, and group them by what is left: on or off
    #[arg(long, value_name = "WHEN", default_value = "on")]
    minimize: Minimize,
    /// Where findings and the state of the campaign are saved; a campaign that is there already goes on
    #[arg(long, value_name = "DIR", default_value = "tangle-out")]
    out: PathBuf,
    /// How many findings that look alike are saved for each device; the others are counted
    #[arg(long, value_name = "N", default_value_t = 5)]
    witnesses: usize,
    /// Which findings make the exit code 1, by what they rest on: hard (a sentence of a specification), strong (follows from one), or quality
    #[arg(long, value_name = "SEVERITY", default_value = "quality", value_parser = severity)]
    fail_on: Severity,
    /// How much of the disk the folder may take: 500MB, 2GiB; the campaign ends there, and goes on with more
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "2GiB")]
    max_disk: u64,
    /// Write the statistics as JSON at the end
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Fill the terminal with a live view: rates, coverage, findings, events. `q` or Ctrl-C ends the campaign cleanly
    #[arg(long)]
    view: bool,
    /// Print at the end how often each operation ran and was checked
    #[arg(long)]
    stats: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Minimize {
    On,
    Off,
}

pub(super) fn profile(name: &str) -> Result<Profile, String> {
    let names = || Profile::ALL.iter().map(|(profile, _)| profile.name()).collect::<Vec<_>>().join(", ");
    Profile::from_name(name).ok_or_else(|| format!("there is no profile '{name}'; there are: {}", names()))
}

pub(super) fn tier(name: &str) -> Result<Tier, String> {
    let names = || Tier::ALL.map(Tier::name).join(", ");
    let known = Tier::ALL.into_iter().find(|tier| tier.name() == name);
    known.ok_or_else(|| format!("there is no tier '{name}'; there are: {}", names()))
}

pub(super) fn stage(name: &str) -> Result<Stage, String> {
    let names = || Stage::ALL.map(Stage::name).join(", ");
    Stage::from_name(name).ok_or_else(|| format!("there is no stage '{name}'; there are: {}", names()))
}

/// A size with a unit.
fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("B", 1),
    ];
    let size = UNITS.iter().find_map(|(unit, bytes)| {
        let number: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(*bytes)
    });
    size.ok_or_else(|| "not a size (write 500MB or 2GiB)".into())
}

static STOP: AtomicBool = AtomicBool::new(false);

pub fn run(args: Args) -> anyhow::Result<Found> {
    let began = Instant::now();
    if let Some(file) = &args.summary {
        // Known at the end of a campaign, it would be known too late.
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        anyhow::ensure!(folder.is_dir(), "cannot write {}: there is no folder {}", file.display(), folder.display());
    }
    if let Some(problem) = args.variant.as_ref().and_then(Variant::unpromised) {
        anyhow::bail!("--variant: it lacks {problem}");
    }
    anyhow::ensure!(
        !args.view || (std::io::stdout().is_terminal() && std::io::stdin().is_terminal()),
        "--view needs a terminal"
    );
    let folder = Folder::open(&args.out)?;
    // Read in any case: a folder that cannot be used is reported before the devices are opened.
    let there = folder.choice()?;
    let seed = args.seed.or(there.as_ref().map(|choice| choice.seed)).unwrap_or_else(rand::random);
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            // The second time: at once.
            std::process::exit(2);
        }
    })?;
    let jobs = args.jobs.unwrap_or(Jobs::Shared);
    let opening = Deadline::watch((began, args.time), &STOP, Grace::OPENING, NOT_OPEN);
    let mut targets = args.devices.open(jobs)?;
    if let Some(name) = &args.against {
        // It may be one of several that were given by their paths.
        targets.retain(|target| target.name != *name);
        anyhow::ensure!(!targets.is_empty(), "--against {name}: no other device is to be tested");
    }
    let names: Vec<String> = targets.iter().map(named).collect();
    say_stderr!("seed {seed}, devices {}, saving in {}", names.join(", "), args.out.display());
    let known = Known::read(&args.known)?;
    let mut without: BTreeSet<Combination> = args.without.into_iter().collect();
    let (mut deadly, mut seldom, mut changes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    if args.avoid_known {
        for avoided in targets.iter().map(|target| known.avoid(&target.id())) {
            without.extend(avoided.without);
            deadly.extend(avoided.deadly);
            seldom.extend(avoided.seldom);
            changes.extend(avoided.changes);
        }
    }
    let economy = there.map_or_else(|| Target::economy(&targets), |choice| choice.economy());
    let options = CampaignOptions {
        choice: Choice {
            seed,
            profile: args.profile,
            tier: args.tier,
            stages: args.stage.into_iter().collect(),
            variant: args.variant,
            inputs: args.inputs.unwrap_or(economy.inputs),
            long_loops: economy.long_loops,
            is_halved: economy.is_halved,
            without,
            deadly,
            seldom,
            changes,
            shard: args.shard.unwrap_or_default(),
        },
        known,
        cases: args.cases,
        time: args.time,
        witnesses: args.witnesses,
        max_disk: args.max_disk,
        processor_time: args.cpu_time,
        until_first: args.until_first,
    };
    let mut campaign = Campaign::new(options, folder, targets, &STOP)?.since(began);
    campaign.notes().iter().for_each(|note| say_stderr!("note: {note}"));
    if let Some(name) = &args.against {
        campaign = campaign.against(Against::new(args.devices.open_only(name, Jobs::One)?));
    }
    if args.minimize == Minimize::On {
        campaign = campaign.minimizing(args.devices.opener()?);
    }
    let campaign = Arc::new(campaign);
    drop(opening);
    let running =
        Deadline::watch((began, args.time), &STOP, Grace::RUNNING, "the time is over; the same command goes on");
    let ended = match args.view {
        true => {
            let title = format!("tangle fuzz, seed {seed}, {}", args.out.display());
            let mut view = View::open(title, &STOP).context("--view needs a terminal")?;
            campaign.run(|moment| view.show(moment))
        }
        false => {
            let mut progress = Progress::new();
            let ended = campaign.run(|moment| progress.show(&moment.line));
            progress.end();
            ended
        }
    };
    drop(running);
    let statistics = campaign.statistics();
    // Each is written although the other fails.
    let saved = args.summary.as_deref().map_or(Ok(()), |file| write_summary(file, &statistics));
    let report = tangle_report::campaign::Campaign {
        statistics: statistics.clone(),
        not_minimized: campaign.not_minimized(),
        programs: programs_of_bugs(&args.out, &statistics),
        folder: args.out.clone(),
        ..Default::default()
    };
    put(format_args!("{}", Text::PLAIN.campaign(&report)?.unwrap_or_default()))?;
    if args.stats {
        print_counts(&statistics)?;
        print_operations(&statistics)?;
    }
    ended?;
    saved?;
    let mut ended = Vec::new();
    for (device, loss) in campaign.losses() {
        match loss {
            Loss::Workers { .. } => say_stderr!("warning: device {device} {loss}"),
            Loss::Device { .. } => ended.push(format!("device {device} {loss}")),
        }
    }
    // Before its time is over somebody stopped it.
    if args.time.is_some_and(|time| began.elapsed() >= time) {
        let tested = |entry: &DeviceEntry| entry.cases + entry.unsupported + entry.left_out > 0;
        let idle = statistics.devices.iter().filter(|(_, entry)| !tested(entry));
        ended.extend(
            idle.map(|(device, _)| format!("device {device} came to the end of no case: nothing is known of it")),
        );
    }
    if let Some(panic) = statistics.panics.first() {
        ended.push(format!("{}, a bug of tangle, in case {}", panic.message, panic.first_case));
    }
    anyhow::ensure!(ended.is_empty(), "{}", ended.join("; "));
    let decides =
        |finding: &SignatureEntry| statistics.severity(finding) <= args.fail_on && statistics.is_unexpected(finding);
    Ok(if statistics.findings.iter().any(decides) { Found::Something } else { Found::Nothing })
}

/// A device's name, with the number of its workers if there are several.
fn named(target: &Target) -> String {
    match target.executor.workers().len() {
        1 => target.name.clone(),
        workers => format!("{} ({workers} workers)", target.name),
    }
}

fn write_summary(file: &Path, statistics: &Statistics) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(statistics)?;
    text.push(b'\n');
    write_atomically(file, &text)
}
