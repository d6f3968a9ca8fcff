//! `tangle bisect` and `tangle try-patch`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use tangle_campaign::against::Against;
use tangle_campaign::bisect::{Answer, Found as Where, Git, Outcome, Search, Tested, Wanted};
use tangle_campaign::campaign::{Campaign, CampaignOptions, Folder};
use tangle_campaign::executor::INPUTS;
use tangle_campaign::plan::Choice;
use tangle_campaign::prepare::Prep;
use tangle_campaign::reduce::content_hash;
use tangle_campaign::replay::find_cases;
use tangle_campaign::target::{Conclusion, Jobs, Target};
use tangle_identity::{Known, Signature};
use tangle_program::text::spaced;
use tangle_report::SavedFinding;
use tangle_report::text::shortened;
use tangle_runner::config::Drivers;

use super::args::{Found, duration, read_case, start, timeout, variable};
use super::output::{say, say_stderr};
use super::progress::Progress;

/// How a driver is built and opened.
#[derive(clap::Args)]
struct BuildArgs {
    /// Builds what is checked out: a command for the shell, run at the top of the repository. 125 or another failure passes the commit
    /// over; TANGLE_COMMIT is its name
    #[arg(long, value_name = "COMMAND")]
    build: String,
    /// The driver that the build makes, from the top of the repository: a manifest, a library or a build folder of Mesa
    #[arg(long, value_name = "PATH", required_unless_present = "device")]
    driver: Option<PathBuf>,
    /// A device instead of a driver; @FILE: the one that a file of the build names
    #[arg(long, value_name = "NAME", conflicts_with = "driver")]
    device: Option<String>,
    /// Environment variable for the driver; repeat for several
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    driver_env: Vec<(String, String)>,
    /// Command that starts programs on the driver
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    driver_prefix: Option<String>,
    /// The driver only compiles, because its hardware is not here
    #[arg(long)]
    driver_compiles_only: bool,
    /// The most processor time for one case
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    timeout: Option<Duration>,
    /// The repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    repository: PathBuf,
}

impl BuildArgs {
    /// What distinguishes ways to build.
    fn text(&self) -> String {
        format!(
            "{}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
            self.build, self.driver, self.device, self.driver_env, self.driver_prefix, self.timeout
        )
    }

    /// Builds what is checked out in a folder; what is wrong in a line.
    fn build(&self, folder: &Path, commit: &str) -> Result<(), String> {
        let log = Command::new("sh")
            .args(["-c", &self.build])
            .current_dir(folder)
            .env("TANGLE_COMMIT", commit)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run the build: {error}"))?;
        if log.status.success() {
            return Ok(());
        }
        let text = [log.stdout, log.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        // What a compiler says, and else how the command ends: ninja only says that it stopped.
        let error = text.lines().find(|line| line.contains("error:"));
        let last = || text.lines().rev().find(|line| !line.trim().is_empty());
        let line = error.or_else(last).unwrap_or("it says nothing");
        Err(format!("the build ends with {}: {}", log.status, shortened(line.trim(), 120)))
    }

    /// Opens what was built in a folder, under a name.
    fn open(&self, folder: &Path, name: &str) -> anyhow::Result<Target> {
        let options = tangle_runner::DeviceOptions { timeout: self.timeout, in_flight: 8, ..Default::default() };
        let mut drivers = Drivers::default();
        let mut names = Vec::new();
        match (&self.driver, &self.device) {
            (Some(path), _) => {
                let how = start(&self.driver_env, self.driver_prefix.as_deref(), self.driver_compiles_only);
                drivers.add(&format!("{name}={}", folder.join(path).display()), &how)?;
            }
            (None, Some(device)) => names.push(match device.strip_prefix('@') {
                Some(file) => {
                    let file = folder.join(file);
                    let text = tangle_files::read_text(&file);
                    text.with_context(|| format!("cannot read {}", file.display()))?.trim().to_owned()
                }
                None => device.clone(),
            }),
            (None, None) => anyhow::bail!("name the --driver that the build makes"),
        }
        let targets = tangle_campaign::target::open(&names, &drivers, Jobs::One, &options, |warning| {
            say_stderr!("warning: {warning}")
        });
        targets?.into_iter().next().context("it has no device")
    }
}

/// Works as `git bisect run` does, in a clean checkout of the driver, which is left as it was. Several cases share their builds; what
/// was built is remembered in the repository. Ends with the commit and a paragraph to paste. docs/driver-developers.md says more.
#[derive(clap::Args)]
pub struct Args {
    /// The cases: JSON files, findings' folders, or folders of them
    #[arg(required = true)]
    cases: Vec<PathBuf>,
    #[command(flatten)]
    build: BuildArgs,
    /// The old end: a commit on which the cases pass; with --first-good one on which they fail
    #[arg(long, value_name = "COMMIT")]
    old: String,
    /// The new end
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    new: String,
    /// Look for the first commit that is bad, which is what is done without it
    #[arg(long, conflicts_with = "first_good")]
    first_bad: bool,
    /// Look for the first commit that is good: what fixed it
    #[arg(long)]
    first_good: bool,
}

/// A case with the failure that counts.
struct Subject {
    name: String,
    prep: Prep,
    signature: Option<Signature>,
}

/// Runs of a case that passes: some failures come and go.
const RUNS: u32 = 3;

impl Subject {
    fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<Subject>> {
        let mut files = Vec::new();
        for path in paths {
            match path.is_dir() && !path.join("case.json").is_file() {
                true => files.extend(find_cases(path)?.into_iter().map(|(_, file)| file)),
                false => files.push(path.clone()),
            }
        }
        anyhow::ensure!(!files.is_empty(), "there is no case");
        let subject = |path: PathBuf| {
            let folder = if path.ends_with("case.json") { path.parent().unwrap_or(&path).to_owned() } else { path };
            let small = folder.join("minimized");
            let folder = if SavedFinding::is_at(&small) { small } else { folder };
            let signature = match SavedFinding::is_at(&folder) {
                true => Some(SavedFinding::read(&folder)?.signature),
                false => None,
            };
            let (name, prep) = (folder.display().to_string(), Prep::of(read_case(&folder)?));
            Ok(Subject { name, prep, signature })
        };
        files.into_iter().map(subject).collect()
    }

    /// Names the contents, whatever the file is called.
    fn id(&self) -> String {
        let signature = self.signature.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{} {signature}", content_hash(self.prep.case()))
    }

    fn answer(&self, target: &Target) -> Answer {
        let mut answer = Answer::Unknown;
        for _ in 0..RUNS {
            let conclusion = match &self.prep {
                Prep::Ready(prepared) => target.run(prepared),
                Prep::Faulty(_, fault) => Conclusion::from(fault),
            };
            answer = Answer::of(&conclusion, self.prep.case(), self.signature.as_ref());
            if answer != Answer::Good {
                break;
            }
        }
        answer
    }
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let git = Git::of(&args.build.repository)?;
    let subjects = Subject::read_all(&args.cases)?;
    git.require_clean()?;
    let head = git.head()?;
    let wanted = if args.first_good { Wanted::FirstGood } else { Wanted::FirstBad };
    let search = Search {
        git: &git,
        build: args.build.text(),
        cases: subjects.iter().map(Subject::id).collect(),
        wanted,
        // Names such as HEAD~9 stand for other commits once something else is checked out.
        old: git.commit(&args.old)?,
        new: git.commit(&args.new)?,
    };
    let outcome = search.run(|commit| {
        git.check_out(commit)?;
        let shown = git.describe(commit)?;
        if let Err(why) = args.build.build(git.folder(), commit) {
            say_stderr!("{shown}: passed over: {why}");
            return Ok(Tested::Failed(why));
        }
        let target = match args.build.open(git.folder(), "build") {
            Ok(target) => target,
            Err(error) => {
                let why = format!("what was built cannot be used: {error:#}");
                say_stderr!("{shown}: passed over: {why}");
                return Ok(Tested::Failed(why));
            }
        };
        let answers: Vec<Answer> = subjects.iter().map(|subject| subject.answer(&target)).collect();
        let count = |wanted| answers.iter().filter(|answer| **answer == wanted).count();
        say_stderr!(
            "{shown}: {} good, {} bad, {} say nothing",
            count(Answer::Good),
            count(Answer::Bad),
            count(Answer::Unknown)
        );
        Ok(Tested::Built(answers))
    });
    let back = git.check_out(&head);
    let outcome = outcome?;
    back?;
    report(args, &git, &search, &subjects, &outcome)?;
    let is_found = |found: &Where| !matches!(found, Where::Nothing(_));
    anyhow::ensure!(outcome.found.iter().any(is_found), "no case says where to look");
    Ok(Found::Nothing)
}

fn report(args: &Args, git: &Git, search: &Search<'_>, subjects: &[Subject], outcome: &Outcome) -> anyhow::Result<()> {
    let what = if search.wanted == Wanted::FirstBad { "fails since" } else { "passes since" };
    let (old, new) = (git.describe(&search.old)?, git.describe(&search.new)?);
    let failed = match outcome.failed {
        0 => String::new(),
        failed => format!(", and {failed} that failed"),
    };
    let effort = format!("{} commits between {old} and {new}; {} builds{failed}", outcome.commits, outcome.built);
    for (subject, found) in subjects.iter().zip(&outcome.found) {
        match found {
            Where::Commit(commit) => {
                let failure = subject.signature.as_ref().map_or(String::new(), |signature| format!(" ({signature})"));
                say!("{}: {commit}\n", subject.name)?;
                say!(
                    "The {} shader of the attached case{failure} {what} {}, which is the first such commit of {effort}.",
                    spaced(subject.prep.case().entry_point.stage.name()),
                    git.describe(commit)?
                )?;
                say!("Reproduce: `{}`, then `{}`.\n", args.build.build, reproduce(args, subject))?;
            }
            Where::OneOf(commits) => {
                say!(
                    "{}: one of {} commits, those between cannot be built or say nothing ({effort}):",
                    subject.name,
                    commits.len()
                )?;
                for commit in commits {
                    say!("  {}", git.describe(commit)?)?;
                }
            }
            Where::Nothing(why) => say!("{}: {why}", subject.name)?,
        }
    }
    Ok(())
}

fn reproduce(args: &Args, subject: &Subject) -> String {
    match (&args.build.driver, &args.build.device) {
        (Some(driver), _) => format!("tangle run {} --driver {}", subject.name, driver.display()),
        (None, device) => format!("tangle run {} --device {}", subject.name, device.as_deref().unwrap_or_default()),
    }
}

/// Builds what is checked out, with its changes, and a commit beside it, and says what is new, fixed and unchanged: known cases on both, and
/// a campaign on the new build that counts only what the old one does right.
#[derive(clap::Args)]
pub struct TryArgs {
    /// Known cases: JSON files, findings' folders, folders of them
    cases: Vec<PathBuf>,
    #[command(flatten)]
    build: BuildArgs,
    /// What the changes are compared with
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    base: String,
    /// Processor time of the campaign
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "60s")]
    cpu_time: Duration,
    /// Seed of the campaign
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where the campaign saves what is new
    #[arg(long, value_name = "DIR", default_value = "tangle-patch")]
    out: PathBuf,
}

static STOP: AtomicBool = AtomicBool::new(false);

pub fn try_patch(args: &TryArgs) -> anyhow::Result<Found> {
    let git = Git::of(&args.build.repository)?;
    let base = git.commit(&args.base)?;
    let subjects = if args.cases.is_empty() { Vec::new() } else { Subject::read_all(&args.cases)? };
    let place = git.own_file("tangle-base")?;
    let text = place.display().to_string();
    // A tree of its own, that stays: the next patch on the same base builds little.
    if place.join(".git").exists() {
        let tree = Git::of(&place)?;
        tree.check_out(&base)?;
    } else {
        git.output(&["worktree", "add", "--quiet", "--force", "--detach", &text, &base])?;
    }
    let shown = git.describe(&base)?;
    say_stderr!("building {shown}");
    args.build.build(&place, &base).map_err(|why| anyhow::anyhow!("{shown}: {why}"))?;
    say_stderr!("building what is checked out");
    args.build.build(git.folder(), "").map_err(anyhow::Error::msg)?;
    let (old, new) = (args.build.open(&place, "base")?, args.build.open(git.folder(), "patched")?);
    let (mut fixed, mut broken, mut unchanged) = (0, 0, 0);
    for subject in &subjects {
        match (subject.answer(&old), subject.answer(&new)) {
            (Answer::Bad, Answer::Good) => {
                fixed += 1;
                say!("fixed: {}", subject.name)?;
            }
            (Answer::Good, Answer::Bad) => {
                broken += 1;
                say!("new: {}", subject.name)?;
            }
            (old, new) if old == new => unchanged += 1,
            (old, new) => say!("{}: {}, then {}", subject.name, old.words(), new.words())?,
        }
    }
    let choice = Choice { seed: args.seed, inputs: INPUTS, ..Choice::default() };
    let options = CampaignOptions {
        choice,
        cases: None,
        time: None,
        witnesses: 5,
        known: Known::default(),
        max_disk: CampaignOptions::MAX_DISK,
        processor_time: Some(args.cpu_time),
        until_first: false,
    };
    ctrlc::set_handler(|| STOP.store(true, Ordering::SeqCst))?;
    let campaign = Campaign::new(options, Folder::open(&args.out)?, vec![new], &STOP)?;
    let campaign = Arc::new(campaign.against(Against::new(old)));
    let mut progress = Progress::new();
    let ended = campaign.run(|moment| progress.show(&moment.line));
    progress.end();
    ended?;
    let statistics = campaign.statistics();
    let signatures: BTreeSet<String> = statistics.findings.iter().map(|entry| entry.signature.to_string()).collect();
    signatures.iter().try_for_each(|signature| say!("new in the campaign: {signature}"))?;
    let old: u64 = statistics.known.iter().map(|entry| entry.cases).sum();
    say!(
        "known cases: {fixed} fixed, {broken} new, {unchanged} unchanged; campaign: {} cases, {} values compared, {} new signatures ({}), {old} cases fail on {shown}, too",
        statistics.cases(),
        statistics.counts().checked,
        signatures.len(),
        args.out.display()
    )?;
    Ok(if broken > 0 || !signatures.is_empty() { Found::Something } else { Found::Nothing })
}
