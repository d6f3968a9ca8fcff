//! `tangle fuzz`

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tangle::campaign::{Campaign, Folder, Loss, Options, write_atomically};
use tangle::ledger::{Ledger, thousands};
use tangle::plan::{Choice, INPUTS};
use tangle::target::{Jobs, Target};
use tangle_generator::stats::Construct;
use tangle_generator::{Combination, Profile};
use tangle_program::case::Tier;
use tangle_program::subgroup::TABLE;
use tangle_program::variant::Variant;
use tangle_triage::Known;

use super::output::OutputError;
use super::view::View;
use super::{DeviceArgs, Found, duration, say, tell};

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
    /// Only programs of this profile (default: a mixture): default, small, large, loops, ops, switch, calls, shapes, idioms,
    /// vectors
    #[arg(long, value_name = "NAME", value_parser = profile)]
    profile: Option<Profile>,
    /// Only cases of this convergence tier: plain, subgroup_uniform, maximal
    #[arg(long, value_name = "TIER", value_parser = tier)]
    tier: Option<Tier>,
    /// Only this variant of every program (default: a mixture): unoptimised, driver-unoptimised, spirv-opt-O, spirv-opt-Os, or
    /// spirv-opt:PASS,PASS
    #[arg(long, value_name = "NAME")]
    variant: Option<Variant>,
    /// With how many inputs each program runs: compiling is what costs. Cases that have a program in common count as so many
    #[arg(long, value_name = "N", default_value_t = INPUTS)]
    inputs: NonZero<u32>,
    /// Workers of each device, which run cases side by side [default: what devices.toml says, or else the processors shared among
    /// the devices]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Leave out programs with this: to get past what is known to be broken. The name of an operation, `subgroupBarrier` say, or of a construct, `DivergentLoop` say, or several of these that
    /// stand together, `Switch+subgroupElect`; repeat for several
    #[arg(long, value_name = "WHAT", num_args = 1..)]
    without: Vec<Combination>,
    /// Known bugs: a file, or a folder of .toml files. Findings that one of them explains are counted, not saved, and do not make
    /// the exit code 1
    #[arg(long, value_name = "FILE", num_args = 1..)]
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
    /// Write the books as JSON at the end
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

static STOP: AtomicBool = AtomicBool::new(false);

pub fn run(args: Args) -> anyhow::Result<Found> {
    if let Some(file) = &args.summary {
        // Known at the end of a campaign, it would be known too late.
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        anyhow::ensure!(folder.is_dir(), "cannot write {}: there is no folder {}", file.display(), folder.display());
    }
    anyhow::ensure!(
        !args.view || (std::io::stdout().is_terminal() && std::io::stdin().is_terminal()),
        "--view needs a terminal"
    );
    let folder = Folder::open(&args.out)?;
    // Read in any case: a folder that cannot be used is told before the devices are opened.
    let seed_there = folder.seed()?;
    let seed = args.seed.or(seed_there).unwrap_or_else(rand::random);
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            // The second time: at once.
            std::process::exit(2);
        }
    })?;
    let targets = args.devices.open(args.jobs.map_or(Jobs::Shared, Jobs::Each))?;
    let names: Vec<String> = targets.iter().map(named).collect();
    tell!("seed {seed}, devices {}, saving in {}", names.join(", "), args.out.display());
    let known = Known::read(&args.known)?;
    let mut without: BTreeSet<Combination> = args.without.into_iter().collect();
    if args.avoid_known {
        targets.iter().for_each(|target| without.extend(known.avoid(&target.id())));
    }
    let options = Options {
        choice: Choice {
            seed,
            profile: args.profile,
            tier: args.tier,
            variant: args.variant,
            inputs: args.inputs,
            without,
        },
        known,
        cases: args.cases,
        time: args.time,
        witnesses: args.witnesses,
    };
    let mut campaign = Campaign::new(options, folder, targets, &STOP)?;
    if args.minimize == Minimize::On {
        campaign = campaign.minimizing(args.devices.opener());
    }
    let ledger = match args.view {
        true => {
            let title = format!("tangle fuzz, seed {seed}, {}", args.out.display());
            let mut view = View::open(title, &STOP).context("--view needs a terminal")?;
            campaign.run(|moment| view.show(moment))?
        }
        false => {
            let mut progress = Progress::new();
            let ledger = campaign.run(|moment| progress.show(&moment.line))?;
            progress.end();
            ledger
        }
    };
    // Each is to be had although the other fails.
    let saved = args.summary.as_deref().map_or(Ok(()), |file| write_summary(file, &ledger));
    print_books(&ledger)?;
    print_bugs(&ledger)?;
    for (folder, reason) in campaign.not_minimized() {
        tell!("not minimised: {}: {reason}", folder.display());
    }
    if args.stats {
        print_operations(&ledger)?;
    }
    saved?;
    let mut ended = Vec::new();
    for (device, loss) in campaign.losses() {
        match loss {
            Loss::Workers { .. } => tell!("warning: device {device} {loss}"),
            Loss::Device { .. } => ended.push(format!("device {device} {loss}")),
        }
    }
    anyhow::ensure!(ended.is_empty(), "{}", ended.join("; "));
    let is_news = ledger.findings.iter().any(|finding| ledger.is_news(finding));
    Ok(if is_news { Found::Something } else { Found::Nothing })
}

/// A device's name, with the number of its workers if there are several.
fn named(target: &Target) -> String {
    match target.workers().len() {
        1 => target.name.clone(),
        workers => format!("{} ({workers} workers)", target.name),
    }
}

/// Writes the books, at once or not at all; straight into what is no file (`/dev/stdout`, a pipe).
fn write_summary(file: &Path, ledger: &Ledger) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(ledger)?;
    text.push(b'\n');
    if std::fs::symlink_metadata(file).is_ok_and(|there| !there.is_file()) {
        return std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()));
    }
    write_atomically(file, &text)
}

/// The progress line: rewritten in place on a terminal, repeated now and then elsewhere.
struct Progress {
    terminal: bool,
    shown: Option<Instant>,
    width: usize,
}

impl Progress {
    fn new() -> Progress {
        Progress { terminal: std::io::stderr().is_terminal(), shown: None, width: 0 }
    }

    fn show(&mut self, line: &str) {
        let every = Duration::from_secs(if self.terminal { 1 } else { 30 });
        if self.shown.is_some_and(|shown| shown.elapsed() < every) {
            return;
        }
        self.shown = Some(Instant::now());
        let mut stderr = std::io::stderr();
        // A progress line that cannot be written is no reason to stop.
        let _ = if self.terminal {
            write!(stderr, "\r{line:width$}", width = self.width)
        } else {
            writeln!(stderr, "{line}")
        };
        self.width = line.chars().count();
    }

    fn end(&self) {
        if self.terminal && self.shown.is_some() {
            tell!();
        }
    }
}

fn print_books(ledger: &Ledger) -> Result<(), OutputError> {
    for (name, book) in &ledger.devices {
        let verdicts: Vec<String> =
            book.verdicts.iter().map(|(verdict, n)| format!("{} {verdict}", thousands(*n))).collect();
        let counts = book.counts;
        let verdicts = if verdicts.is_empty() { String::new() } else { format!(" ({})", verdicts.join(", ")) };
        let left_out =
            if book.left_out == 0 { String::new() } else { format!(", {} left out", thousands(book.left_out)) };
        let (cases, unsupported) = (thousands(book.cases), thousands(book.unsupported));
        say!("{name}: {cases} cases{verdicts}, {unsupported} not supported{left_out}")?;
        let logged = counts.checked + counts.tainted + counts.skipped;
        say!(
            "  {} values checked ({:.0} % of those logged), {} tainted, {} skipped; {} steps checked; {:.0} % of the log sites reached",
            thousands(counts.checked),
            100.0 * counts.checked as f64 / logged.max(1) as f64,
            thousands(counts.tainted),
            thousands(counts.skipped),
            thousands(counts.steps),
            100.0 * counts.sites_reached as f64 / counts.sites.max(1) as f64
        )?;
        say!(
            "  {} values logged under divergence, {:.0} % of them checked; {} values checked by the tangles observed",
            thousands(counts.divergent),
            100.0 * counts.divergent_checked as f64 / counts.divergent.max(1) as f64,
            thousands(counts.observed)
        )?;
        let times = book.times;
        say!(
            "  seconds: generate {:.1}, compile {:.1}, driver {:.1} ({:.0} % of the workers' {:.1}), judge {:.1}, save {:.1}; {} restarts",
            times.generate,
            times.compile,
            times.driver,
            100.0 * times.driver_share(),
            times.worker,
            times.judge,
            times.save,
            book.restarts
        )?;
    }
    for book in &ledger.findings {
        say!("{} {} ({} cases, first {})", book.device, book.signature, thousands(book.cases), book.first_case)?;
        if let Some(folder) = book.folders.first() {
            say!("  {folder}")?;
        }
    }
    Ok(())
}

/// What the findings come down to, and what was set aside.
fn print_bugs(ledger: &Ledger) -> Result<(), OutputError> {
    for bug in &ledger.bugs {
        let known = bug.known.as_ref().map_or(String::new(), |known| format!(" (known: {known})"));
        let flake = bug.flake.map_or(String::new(), |rate| format!(", flake: fails {rate}"));
        say!(
            "bug on {}: {}{known}: {} signatures, {} findings minimised, smallest {} statements{flake}\n  {}",
            bug.device,
            bug.name,
            bug.signatures.len(),
            bug.witnesses,
            bug.statements,
            bug.face
        )?;
    }
    for book in &ledger.known {
        say!("known on {}: {} ({} cases)", book.device, book.bug, thousands(book.cases))?;
    }
    Ok(())
}

fn print_operations(ledger: &Ledger) -> Result<(), OutputError> {
    say!("\n{:22} {:66} {:>12}", "construct", "", "generated")?;
    for &construct in Construct::ALL {
        let count = thousands(ledger.generated.construct(construct));
        say!("{:22} {:66} {count:>12}", construct.name(), construct.about())?;
    }
    say!(
        "\n{:32} {:>10} {:>14} {:>14} {:>14} {:>14}",
        "operation",
        "generated",
        "lanes, full",
        "lanes, partial",
        "checked, full",
        "checked, part."
    )?;
    for info in &TABLE {
        let used = ledger.operations.get(info.name).copied().unwrap_or_default();
        say!(
            "{:32} {:>10} {:>14} {:>14} {:>14} {:>14}",
            info.name,
            thousands(ledger.generated.operation(info.op)),
            thousands(used.executed_full),
            thousands(used.executed_partial),
            thousands(used.checked_full),
            thousands(used.checked_partial)
        )?;
    }
    Ok(())
}
