//! `tangle corpus`

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use tangle_campaign::corpus::{Addition, add};
use tangle_campaign::reduce::ReduceOptions;
use tangle_program::case::Case;

use super::args::{DeviceArgs, Found, read_case};
use super::deadline::{Deadline, Grace};
use super::minimize::{LATE, STOP, watched};
use super::output::{say, say_stderr};
use tangle_campaign::target::Jobs;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Add a case to a regression corpus; what the corpus has already, under whatever name, is refused
    Add(AddArgs),
}

#[derive(clap::Args)]
struct AddArgs {
    /// The case (JSON), or the folder of a finding; of a finding that was minimised, the minimised case is taken
    case: PathBuf,
    /// The folder it goes to, in the corpus
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// What it guards, in words: the test's description, and its file name
    #[arg(long, value_name = "TEXT")]
    guards: String,
    /// File name without `.json`
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Minimise it first, on the device given with --device where it fails
    #[arg(long, requires = "device")]
    minimize: bool,
    #[command(flatten)]
    devices: DeviceArgs,
}

pub fn run(args: Args) -> anyhow::Result<Found> {
    let Command::Add(args) = args.command;
    let case = if args.minimize { minimized(&args)? } else { small_case(&args.case)? };
    let addition = Addition { case, guards: args.guards, name: args.name };
    say!("{}", add(addition, &args.to)?.display())?;
    Ok(Found::Nothing)
}

/// The minimised case of a finding, or a case as it is.
fn small_case(path: &Path) -> anyhow::Result<Case> {
    let is_finding = path.join("finding.json").exists();
    let small = path.join("minimized");
    if is_finding && small.join("case.json").exists() {
        return read_case(&small);
    }
    let case = read_case(path)?;
    let is_small = !is_finding || case.origin.minimized_from.is_some();
    anyhow::ensure!(is_small, "{} is not minimised: `tangle minimize` does it, or --minimize here", path.display());
    Ok(case)
}

fn minimized(args: &AddArgs) -> anyhow::Result<Case> {
    let case = read_case(&args.case)?;
    let mut targets = args.devices.open(Jobs::One)?;
    targets.truncate(1);
    let name = targets.first().context("no device")?.name.clone();
    say_stderr!("minimising on {name}");
    let _running = Deadline::watch((Instant::now(), None), &STOP, Grace::RUNNING, LATE);
    let reduction = watched(&targets, &case, None, &ReduceOptions::default(), |_| Ok(()))?;
    anyhow::ensure!(
        reduction.minimized.finished,
        "stopped, and nothing added; what `tangle minimize` reaches is kept, and it goes on later"
    );
    Ok(reduction.minimized.case)
}
