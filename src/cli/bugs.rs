//! `tangle bugs`

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use tangle_campaign::campaign;
use tangle_campaign::counterfactual::telling;
use tangle_campaign::executor::built_in;
use tangle_campaign::minimized::MinimizedPath;
use tangle_campaign::prepare::Prep;
use tangle_campaign::reduce::content_hash;
use tangle_campaign::retest::{part_of_toolchain, retest};
use tangle_campaign::target::Target;
use tangle_campaign::variants;
use tangle_files::{create_folder, write_atomically};
use tangle_identity::book::{Book, Event, GLSLANG, OPTIMISER, Record, Seen, SeenVersion, State, version_numbers};
use tangle_identity::duplicates::{Relation, compare};
use tangle_identity::stage::VARIANTS;
use tangle_identity::{BugId, DeviceId, DriverId, Kind, Known, Signature};
use tangle_program::case::{Case, Tier};
use tangle_program::subgroup::Severity;
use tangle_program::text::{slug, spaced};
use tangle_report::SavedFinding;
use tangle_report::export::bundle;
use tangle_report::html::bugs::{bug, file_name, index};
use tangle_report::reporter::{Html, Markdown, Reporter as _};
use tangle_report::subject::{Basis, Subject};

use super::args::{DeviceArgs, Found, read_case};
use super::blame::SwitchArgs;
use super::exhibit;
use super::output::put;
use super::output::{say, say_stderr};
use super::progress::watch;
use super::table::Table;
use tangle_campaign::target::Jobs;

/// A folder in git, one file a bug. `tangle fuzz --known` and `tangle matrix` read it. docs/bugs.md says what is in a file.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the bugs: state, severity, versions
    List(ListArgs),
    /// Add a finding, the minimised form where there is one
    Add(AddArgs),
    /// Say what happened to a bug: reported, confirmed, a duplicate
    Set(SetArgs),
    /// Run the bugs on all devices at hand: closes what is fixed, reopens what is back, widens the ranges of versions. The files' histories
    /// say so
    Retest(RetestArgs),
    /// Say what makes the open bugs pass (`tangle blame`), on one device of each driver. The files keep it
    Blame(BlameArgs),
    /// Say which open bugs seem to have one cause: the same versions, driver switches and shapes
    Duplicates(ListArgs),
    /// Print what a tracker wants: title and text, with the sentences of the specification
    File(FileArgs),
    /// Write a site: what is open by driver, and a page for each bug with its lanes, versions and history
    Site(SiteArgs),
}

#[derive(clap::Args)]
struct BookArgs {
    /// The folder of the bug book
    #[arg(long, value_name = "DIR", default_value = "known")]
    book: PathBuf,
}

#[derive(clap::Args)]
struct ListArgs {
    #[command(flatten)]
    book: BookArgs,
    /// Those that are not open, too
    #[arg(long)]
    all: bool,
}

#[derive(clap::Args)]
struct AddArgs {
    /// The folder of the finding
    finding: PathBuf,
    #[command(flatten)]
    book: BookArgs,
    /// Its id [default: made of driver, shape and contents]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// What it is, in a line [default: what the finding says]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Where it is tracked
    #[arg(long, value_name = "URL")]
    tracker: Option<String>,
    /// Add it although a bug of the book explains it
    #[arg(long)]
    again: bool,
}

#[derive(clap::Args)]
struct SetArgs {
    /// The bug
    id: String,
    #[command(flatten)]
    book: BookArgs,
    /// new, reported, confirmed, fixed, invalid, duplicate, specification_question
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<State>,
    /// Where it is tracked; a new bug is reported with it
    #[arg(long, value_name = "URL")]
    tracker: Option<String>,
    /// It is another bug of the book
    #[arg(long, value_name = "ID")]
    duplicate_of: Option<String>,
}

#[derive(clap::Args)]
struct RetestArgs {
    /// Only these bugs
    ids: Vec<String>,
    #[command(flatten)]
    book: BookArgs,
    #[command(flatten)]
    devices: DeviceArgs,
    /// Say what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(clap::Args)]
struct BlameArgs {
    /// Only these bugs
    ids: Vec<String>,
    #[command(flatten)]
    book: BookArgs,
    #[command(flatten)]
    devices: DeviceArgs,
    #[command(flatten)]
    switches: SwitchArgs,
}

#[derive(clap::Args)]
struct FileArgs {
    /// The bug
    id: String,
    #[command(flatten)]
    book: BookArgs,
    /// Whose tracker: gitlab (Mesa), github, khronos
    #[arg(long, value_name = "TRACKER", default_value = "gitlab", value_parser = ["gitlab", "github", "khronos"])]
    tracker: String,
    /// Write the attachments, too: a C program, AmberScript, SPIR-V
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    devices: DeviceArgs,
}

#[derive(clap::Args)]
struct SiteArgs {
    /// The folder of the site
    out: PathBuf,
    #[command(flatten)]
    book: BookArgs,
    /// A campaign to say of what it found lately; repeat for several
    #[arg(long, value_name = "DIR")]
    campaign: Vec<PathBuf>,
    #[command(flatten)]
    devices: DeviceArgs,
    /// Run nothing: bugs without a finding in the book are shown without lanes
    #[arg(long)]
    no_run: bool,
}

fn state(text: &str) -> Result<State, String> {
    serde_json::from_value(text.replace('-', "_").into()).map_err(|_| {
        "a state is new, reported, confirmed, fixed, invalid, duplicate or specification_question".to_owned()
    })
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    match &args.command {
        Command::List(args) => list(args),
        Command::Add(args) => add(args),
        Command::Set(args) => set(args),
        Command::Retest(args) => run_retest(args),
        Command::Blame(args) => run_blame(args),
        Command::Duplicates(args) => duplicates(args),
        Command::File(args) => file(args),
        Command::Site(args) => site(args),
    }
}

/// Today in UTC, `2026-11-22`. Source of the arithmetic: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    date(days)
}

fn date(days: u64) -> String {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn list(args: &ListArgs) -> anyhow::Result<Found> {
    let book = Book::read(&args.book.book)?;
    let mut table = Table::new(["bug", "state", "severity", "versions", "title"]);
    for record in book.records.iter().filter(|record| args.all || record.state.is_open()) {
        let (state, severity) = (record.state.name().to_owned(), record.severity.name().to_owned());
        table.row([record.id.clone(), state, severity, record.ranges().join("; "), record.title.clone()]);
    }
    put(format_args!("{table}"))?;
    Ok(Found::Nothing)
}

fn save(book: &Book, record: &Record) -> anyhow::Result<()> {
    let text = record.to_text().map_err(anyhow::Error::msg)?;
    write_atomically(&book.file(&record.id), text.as_bytes())
}

fn find<'a>(book: &'a Book, id: &str) -> anyhow::Result<&'a Record> {
    let found = book.records.iter().find(|record| record.id == id);
    found.with_context(|| format!("there is no bug {id} in {} (`tangle bugs list --all`)", book.folder.display()))
}

/// What of a finding goes into the book: nothing that is made of the rest.
const EVIDENCE: [&str; 10] = [
    "case.json",
    "finding.json",
    "device.json",
    "report.txt",
    "lane-map.json",
    "observation.json",
    "open.json",
    "minimized.json",
    VARIANTS,
    "switches.json",
];

fn add(args: &AddArgs) -> anyhow::Result<Found> {
    let small = args.finding.join("minimized");
    let folder = if SavedFinding::is_at(&small) { &small } else { &args.finding };
    let finding = SavedFinding::read(folder)?;
    let book = Book::read(&args.book.book)?;
    let device = DeviceId::new(&finding.device, &finding.device_info);
    let known = match book.folder.is_dir() {
        true => Known::read(std::slice::from_ref(&book.folder))?,
        false => Known::default(),
    };
    let changes = MinimizedPath::new(folder).passes_without();
    let known = variants::candidates(&known, folder, &finding.device);
    if let Some(bug) = known.by_minimal(&device, &finding.signature, &finding.case, &changes) {
        anyhow::ensure!(args.again, "the book has it: {} (--again adds it nevertheless)", bug.name);
    }
    let variant = &finding.case.variant;
    let DriverId { name: driver, version } = match DriverId::of(&finding.device_info) {
        // Modules are executed by tangle itself: the minimiser has tried the front end's.
        none if none.name.is_empty() && variant.is_optimised() => part_of_toolchain(OPTIMISER),
        none if none.name.is_empty() && finding.signature.kind == Kind::Toolchain => part_of_toolchain(GLSLANG),
        driver => driver,
    };
    let shape = BugId::of(&finding.signature, &finding.case).to_string();
    // Other devices that are part of tangle have no driver.
    let of = if driver.is_empty() { &finding.device } else { &driver };
    let made = || {
        let name: String = slug(&format!("{of} {shape}")).chars().take(48).collect();
        format!("{}-{}", name.trim_end_matches('-'), &content_hash(&finding.case)[..6])
    };
    let id = args.id.clone().unwrap_or_else(made);
    anyhow::ensure!(!id.is_empty() && slug(&id) == id, "'{id}' is no id: small letters, digits and `-`");
    anyhow::ensure!(!book.file(&id).exists(), "{} is there already", book.file(&id).display());
    let evidence = book.folder.join(&id);
    create_folder(&evidence).with_context(|| format!("cannot create {}", evidence.display()))?;
    for name in EVIDENCE {
        if let Ok(contents) = tangle_files::read(&folder.join(name), tangle_files::MOST) {
            write_atomically(&evidence.join(name), &contents)?;
        }
    }
    let tracker = args.tracker.clone().unwrap_or_default();
    let mut record = Record {
        title: args.title.clone().unwrap_or_else(|| format!("{of}: {shape}")),
        state: if tracker.is_empty() { State::New } else { State::Reported },
        tracker,
        severity: finding.signature.severity(),
        versions: vec![SeenVersion { driver: driver.clone(), version, result: Seen::Bad }],
        drivers: vec![driver].into_iter().filter(|driver| !driver.is_empty()).collect(),
        case: Some(Path::new(&id).join("case.json")),
        switches: finding.switches.clone().into_iter().collect(),
        history: vec![Event { date: today(), what: format!("added from a finding on {}", finding.device) }],
        id,
        ..Record::default()
    };
    record.identify(&finding.signature, &finding.case);
    save(&book, &record)?;
    say!("{}", book.file(&record.id).display())?;
    Ok(Found::Nothing)
}

fn set(args: &SetArgs) -> anyhow::Result<Found> {
    let book = Book::read(&args.book.book)?;
    let mut record = find(&book, &args.id)?.clone();
    let mut changes = Vec::new();
    if let Some(tracker) = &args.tracker {
        record.tracker.clone_from(tracker);
        if record.state == State::New {
            record.state = State::Reported;
        }
        changes.push(format!("reported: {tracker}"));
    }
    if let Some(other) = &args.duplicate_of {
        find(&book, other)?;
        anyhow::ensure!(*other != record.id, "a bug is no duplicate of itself");
        record.duplicate_of.clone_from(other);
        record.state = State::Duplicate;
        changes.push(format!("a duplicate of {other}"));
    }
    if let Some(state) = args.state {
        record.state = state;
        changes.push(spaced(state.name()));
    }
    anyhow::ensure!(!changes.is_empty(), "nothing to set: --state, --tracker or --duplicate-of");
    record.history.extend(changes.into_iter().map(|what| Event { date: today(), what }));
    save(&book, &record)?;
    Ok(Found::Nothing)
}

/// The case of a bug, if it has one.
fn case_of(book: &Book, record: &Record) -> anyhow::Result<Option<Case>> {
    record.shown_by().map(|case| read_case(&book.folder.join(case))).transpose()
}

fn run_retest(args: &RetestArgs) -> anyhow::Result<Found> {
    let mut book = Book::read(&args.book.book)?;
    for id in &args.ids {
        find(&book, id)?;
    }
    for list in &book.lists {
        say_stderr!("note: {} is a list of bugs in the older form, which is not kept", list.display());
    }
    let wanted = |record: &Record| args.ids.is_empty() || args.ids.contains(&record.id);
    let mut bugs = Vec::new();
    for (at, record) in book.records.iter().enumerate().filter(|(_, record)| wanted(record)) {
        match case_of(&book, record)? {
            Some(case) => bugs.push((at, Prep::of(case))),
            None => say_stderr!("note: {} is left out: it has no case", record.id),
        }
    }
    anyhow::ensure!(!bugs.is_empty(), "there is no bug to run in {}", book.folder.display());
    let targets = targets(&args.devices, bugs.iter().map(|(at, _)| &book.records[*at]))?;
    let (all, done) = (targets.len() * bugs.len(), AtomicUsize::new(0));
    let (today, mut changed, mut runs) = (today(), 0, 0);
    watch("runs", all, &done, || {
        for (at, prep) in &bugs {
            let record = &mut book.records[*at];
            let tried = retest(&targets, record, prep, &done);
            runs += tried.len();
            let changes = record.retest(&tried, &today);
            changes.iter().try_for_each(|what| say!("{}: {what}", record.id))?;
            if !changes.is_empty() {
                changed += 1;
                if !args.dry_run {
                    let record = record.clone();
                    save(&book, &record)?;
                }
            }
        }
        anyhow::Ok(())
    })?;
    let open = book.records.iter().filter(|record| record.state.is_open()).count();
    say!("{runs} results, {changed} bugs changed, {open} of {} open", book.records.len())?;
    Ok(Found::Nothing)
}

/// The devices that are named; without any, all drivers of the machine and, where a bug is theirs, the compilers and the interpreter.
fn targets<'a>(devices: &DeviceArgs, records: impl Iterator<Item = &'a Record> + Clone) -> anyhow::Result<Vec<Target>> {
    if !devices.are_default() {
        return devices.open(Jobs::One);
    }
    let mut targets = Vec::new();
    if records.clone().any(|record| !record.is_of_compiler()) {
        targets = devices.open(Jobs::One)?;
    }
    let mut makers: BTreeSet<&str> = BTreeSet::new();
    for record in records.filter(|record| record.is_of_compiler()) {
        match record.maker() {
            Some(_) => makers.extend(["interpreter"]),
            None => makers.extend(record.drivers.iter().map(String::as_str)),
        }
    }
    for maker in makers {
        match Target::built_in(maker) {
            Ok(target) => targets.push(target),
            Err(error) => say_stderr!("note: {error:#}"),
        }
    }
    anyhow::ensure!(!targets.is_empty(), "no device is here that has a bug of these");
    Ok(targets)
}

fn run_blame(args: &BlameArgs) -> anyhow::Result<Found> {
    let mut book = Book::read(&args.book.book)?;
    for id in &args.ids {
        find(&book, id)?;
    }
    let wanted = |record: &Record| match args.ids.is_empty() {
        true => record.state.is_open(),
        false => args.ids.contains(&record.id),
    };
    let targets = targets(&args.devices, book.records.iter().filter(|record| wanted(record)))?;
    let (today, mut entered) = (today(), 0);
    for at in 0..book.records.len() {
        let record = &book.records[at];
        let Some(case) = wanted(record).then(|| case_of(&book, record)).transpose()?.flatten() else { continue };
        // Older versions have other bugs besides: the newest says most.
        let driver = |target: &Target| target.driver_id().name;
        let version = |target: &Target| version_numbers(&target.driver_id().version);
        let mut about: Vec<&Target> =
            targets.iter().filter(|target| record.is_about(&target.name, &driver(target))).collect();
        about.sort_by_key(|target| std::cmp::Reverse(version(target)));
        let mut done: Vec<String> = Vec::new();
        let mut shows = false;
        for target in about {
            if done.contains(&driver(target)) {
                continue;
            }
            let prep = Prep::of(case.clone());
            let tried = retest(std::slice::from_ref(target), &book.records[at], &prep, &AtomicUsize::new(0));
            if tried.first().is_none_or(|tried| tried.result == Seen::Good) {
                continue;
            }
            shows = true;
            if book.records[at].passes_without.is_empty() {
                let record = &mut book.records[at];
                record.passes_without = telling(target, &case).into_iter().collect();
                if !record.passes_without.is_empty() {
                    say!("{}: its programs pass without {}", record.id, record.passes_without[0])?;
                    let record = record.clone();
                    save(&book, &record)?;
                }
            }
            match args.switches.try_on(&args.devices, target, &case, None) {
                Ok(switches) if switches.say_nothing() => {
                    done.push(driver(target));
                    let id = &book.records[at].id;
                    say_stderr!("note: {id}: on {} nothing that can be changed says anything", target.name);
                }
                Ok(switches) => {
                    done.push(driver(target));
                    entered += 1;
                    let record = &mut book.records[at];
                    if let Some(what) = record.enter_switches(switches, &today) {
                        say!("{}: {what}", record.id)?;
                    }
                    let record = record.clone();
                    save(&book, &record)?;
                }
                Err(error) => say_stderr!("note: {}: {error:#}", book.records[at].id),
            }
        }
        if !shows {
            say_stderr!("note: {} does not occur on any of these devices", book.records[at].id);
        }
    }
    say!("{entered} results")?;
    Ok(Found::Nothing)
}

/// The shape of a bug's minimal program, where it has one.
fn shape(book: &Book, record: &Record) -> anyhow::Result<Option<String>> {
    let is_minimal = record.case.is_some();
    let case = is_minimal.then(|| case_of(book, record)).transpose()?.flatten();
    Ok(record.skeleton.clone().or(case.map(|case| tangle_identity::skeleton(&case).to_string())))
}

fn duplicates(args: &ListArgs) -> anyhow::Result<Found> {
    let book = Book::read(&args.book.book)?;
    let bugs: Vec<&Record> = book.records.iter().filter(|record| args.all || record.state.is_open()).collect();
    let shapes = bugs.iter().map(|record| shape(&book, record)).collect::<anyhow::Result<Vec<_>>>()?;
    let (mut joined, mut apart, mut unknown) = (0, 0, 0);
    for (at, bug) in bugs.iter().enumerate() {
        for (other_at, other) in bugs.iter().enumerate().skip(at + 1) {
            let Some(evidence) = compare(bug, other, [shapes[at].as_deref(), shapes[other_at].as_deref()]) else {
                continue;
            };
            match evidence.relation() {
                Relation::OneCause => {
                    joined += 1;
                    say!("{} and {}: {}", bug.id, other.id, evidence.same.join("; "))?;
                    say!("  tangle bugs set {} --duplicate-of {}", other.id, bug.id)?;
                }
                Relation::Apart => {
                    apart += 1;
                    // Those that look alike are worth a line.
                    if !evidence.same.is_empty() {
                        let (same, differs) = (evidence.same.join("; "), evidence.differs.join("; "));
                        say!("{} and {} are two bugs: {differs} ({same})", bug.id, other.id)?;
                    }
                }
                Relation::Unknown => unknown += 1,
            }
        }
    }
    say!("{joined} pairs seem to have one cause, {apart} have two, of {unknown} too little is known")?;
    Ok(Found::Nothing)
}

/// The finding of a bug: as it is in the book, or of a run on a device that it is about, or what the case has to do.
fn subject(book: &Book, record: &Record, targets: &[Target]) -> anyhow::Result<Option<Subject>> {
    let evidence = book.folder.join(&record.id);
    let case = match SavedFinding::is_at(&evidence) {
        true => {
            let subject = exhibit::of_finding(SavedFinding::read(&evidence)?);
            let is_doubtful = subject.signature.as_ref().is_some_and(|own| own.severity() == Severity::Strong);
            if !is_doubtful || subject.passes_at_maximal || targets.is_empty() {
                return Ok(Some(subject));
            }
            // Where it shows here, it can be judged at tier maximal, too.
            let case = subject.case.clone();
            return Ok(Some(shown(record, &case, targets).unwrap_or(subject)));
        }
        false => case_of(book, record)?,
    };
    let Some(case) = case else { return Ok(None) };
    if let Some(subject) = shown(record, &case, targets) {
        return Ok(Some(subject));
    }
    let mut subject = exhibit::of_case(case);
    subject.basis = Basis::Linear(match subject.case.entry_point.subgroup_size {
        tangle_program::case::SubgroupSize::Required(size) => size,
        _ => 8,
    });
    Ok(Some(subject))
}

/// What a device at hand shows of a bug, at the tier at which it is clearest.
fn shown(record: &Record, case: &Case, targets: &[Target]) -> Option<Subject> {
    let runs = |target: &&Target| {
        // A bug of the optimiser is shown without a driver.
        let is_own = !record.is_of_compiler() || built_in(&target.name).is_some();
        is_own && record.concerns(&target.id()) && target.executes()
    };
    let about = targets.iter().filter(runs).map(|target| (target, target.dressed(case)));
    for (target, case) in about.filter(|(target, case)| target.missing(case).is_empty()).take(TRIED_FOR_A_PICTURE) {
        let mut one = exhibit::of_case(case.into_owned());
        if exhibit::run(&mut one, target).is_ok() && one.signature.as_ref().is_some_and(|own| record.may_be(own)) {
            return Some(exhibit::clearest(one, target));
        }
    }
    None
}

/// Devices on which a bug is looked for to be shown.
const TRIED_FOR_A_PICTURE: usize = 3;

fn file(args: &FileArgs) -> anyhow::Result<Found> {
    let book = Book::read(&args.book.book)?;
    let record = find(&book, &args.id)?;
    // What has no device any more is shown as it was found, or as what the case has to do.
    let targets = targets(&args.devices, std::iter::once(record)).unwrap_or_else(|error| {
        say_stderr!("warning: no device: {error:#}");
        Vec::new()
    });
    let subject = subject(&book, record, &targets)?.with_context(|| format!("{} has no case", record.id))?;
    let text = Markdown.finding(&subject.analyse()?)?.context("there is nothing to say of it")?;
    // The report has a title of its own.
    let body = text.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    say!("{}", title(record, &args.tracker))?;
    let severity = subject.signature.as_ref().map_or(record.severity, Signature::severity);
    say!("\nSeverity: {}.\n", meaning(severity))?;
    say!("Clearest at tier {}{}.\n", subject.case.tier.name(), how_clear(&subject))?;
    for range in record.ranges() {
        say!("Versions: {range}.\n")?;
    }
    for switches in &record.switches {
        say!("On {}: {}\n", format!("{} {}", switches.driver, switches.version).trim(), switches.sentences())?;
    }
    put(format_args!("{body}"))?;
    say!(
        "\nThis bug is {} in the bug book; `Fixes: tangle+{}` in a commit says that it is fixed.",
        record.id,
        record.id
    )?;
    if let Some(out) = &args.out {
        let bundle = bundle(&subject)?;
        bundle.write(out)?;
        say_stderr!("attachments: {}", out.display());
    }
    Ok(Found::Nothing)
}

/// The title that a tracker wants.
fn title(record: &Record, tracker: &str) -> String {
    let title = record.title.trim_end_matches('.');
    match tracker {
        "khronos" if record.state == State::SpecificationQuestion => format!("Question: {title}"),
        "khronos" => format!("[{}] {title}", record.drivers.join(", ")),
        _ => title.to_owned(),
    }
}

/// What other tiers say.
fn how_clear(subject: &Subject) -> &'static str {
    match (subject.case.tier, subject.passes_at_maximal) {
        (Tier::Maximal, _) => "",
        (_, true) => "; at tier maximal the device does the same program right",
        (_, false) => ", without any promise of reconvergence",
    }
}

fn meaning(severity: Severity) -> &'static str {
    match severity {
        Severity::Hard => "hard (a sentence of the specification, below, says otherwise)",
        Severity::Strong => "strong (it follows from sentences of the specification; no conformance test covers it)",
        Severity::Quality => "quality (the specification leaves the method to the implementation)",
    }
}

fn site(args: &SiteArgs) -> anyhow::Result<Found> {
    let book = Book::read(&args.book.book)?;
    let mut without =
        book.records.iter().filter(|record| !SavedFinding::is_at(&book.folder.join(&record.id))).peekable();
    let targets = match args.no_run || without.peek().is_none() {
        true => Vec::new(),
        false => targets(&args.devices, without).unwrap_or_else(|error| {
            say_stderr!("warning: no device: {error:#}");
            Vec::new()
        }),
    };
    create_folder(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    let mut shown = 0;
    for record in &book.records {
        let subject = subject(&book, record, &targets)?;
        let analysis = subject.as_ref().map(Subject::analyse).transpose()?;
        shown += usize::from(analysis.as_ref().is_some_and(|analysis| analysis.account.is_some()));
        let page = bug(record, analysis.as_ref());
        write_atomically(&args.out.join(file_name(&record.id)), page.as_bytes())?;
    }
    let mut campaigns = Vec::new();
    for (number, folder) in args.campaign.iter().enumerate() {
        let mut campaign = campaign::read(folder)?.with_context(|| format!("{} is no campaign", folder.display()))?;
        let prefix = format!("campaign-{}", number + 1);
        let name = format!("{prefix}.html");
        // The site may be moved to where the campaign's folder is not.
        campaign.pages = Some(pages(&campaign, &prefix, &args.out)?);
        let report = Html.campaign(&campaign)?.unwrap_or_default();
        write_atomically(&args.out.join(&name), report.as_bytes())?;
        campaigns.push((name, campaign));
    }
    let first = index("Bugs of drivers and compilers", &book.records, &campaigns);
    write_atomically(&args.out.join("index.html"), first.as_bytes())?;
    say!(
        "{}: {} bugs, {shown} with lanes, {} campaigns",
        args.out.join("index.html").display(),
        book.records.len(),
        campaigns.len()
    )?;
    // Old pages of bugs that are gone would not be linked.
    for entry in fs::read_dir(&args.out).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = name == "index.html"
            || campaigns.iter().any(|(file, _)| *file == name)
            || campaigns
                .iter()
                .flat_map(|(_, campaign)| &campaign.pages)
                .any(|pages| pages.values().any(|page| *page == name))
            || book.records.iter().any(|record| file_name(&record.id) == name);
        if !is_ours {
            say_stderr!("note: {} is of no bug of the book", entry.path().display());
        }
    }
    Ok(Found::Nothing)
}

/// Writes pages of what a campaign found: the smallest finding of each bug, and one of each signature that came down to none. Gives their names
/// by the findings' folders.
fn pages(
    campaign: &tangle_report::campaign::Campaign,
    prefix: &str,
    out: &Path,
) -> anyhow::Result<BTreeMap<String, String>> {
    let of_bugs = campaign.bugs().into_iter().map(|bug| bug.representative.clone());
    let others = campaign.not_explained().into_iter().filter_map(|entry| entry.folders.first().cloned());
    let mut pages = BTreeMap::new();
    for folder in of_bugs.chain(others).take(PAGES) {
        let place = campaign.folder.join(&folder);
        // It may have been deleted.
        if pages.contains_key(&folder) || !SavedFinding::is_at(&place) {
            continue;
        }
        let subject = exhibit::of_finding(SavedFinding::read(&place)?);
        let text = Html.finding(&subject.analyse()?)?.unwrap_or_default();
        let name = folder.trim_start_matches("findings/").trim_end_matches("/minimized").replace('/', "-");
        let name = file_name(&format!("{prefix}-{name}"));
        write_atomically(&out.join(&name), text.as_bytes())?;
        pages.insert(folder, name);
    }
    Ok(pages)
}

/// Pages of a campaign's findings, at most.
const PAGES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (19_782, "2024-02-29"),
            (19_783, "2024-03-01"),
            (20_779, "2026-11-22"),
            (47_540, "2100-02-28"),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
