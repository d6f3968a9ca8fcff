//! Subcommands, one file each.

mod args;
mod bench;
mod bisect;
mod blame;
mod bugs;
mod cases;
mod compilers;
mod corpus;
mod coverage;
mod deadline;
mod devices;
mod exhibit;
mod explain;
mod export;
mod foreign;
mod fuzz;
mod judge;
mod matrix;
mod merge;
mod minimize;
mod output;
mod progress;
mod replay;
mod report;
mod run;
mod show;
mod summary;
mod table;
mod view;

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tangle_report::text::shortened;

use args::Found;
use output::{OutputError, say_stderr};

/// Differential conformance fuzzer for the subgroup and convergence behaviour of Vulkan drivers.
///
/// Exit codes: 0 nothing found, 1 something found, 2 wrong usage or environment.
#[derive(Parser)]
#[command(version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the Vulkan devices and what they promise about subgroups and convergence
    Devices(devices::Args),
    /// List the shader compilers that can be tested, with what is here
    Compilers(compilers::Args),
    /// Run random cases on devices and save what is wrong
    Fuzz(fuzz::Args),
    /// Run one case and say what each device made of it
    Run(run::Args),
    /// Judge any compute, task or mesh shader: what its buffers must hold, what is open and why, undefined behaviour
    Judge(judge::Args),
    /// Known bugs, or cases, on all devices: who fails, and which version of a driver fixed what
    Matrix(matrix::Args),
    /// What is tested: operations, types and contexts that random cases, or those of a campaign, have and check
    Coverage(coverage::Args),
    /// Print a case as GLSL, with the expected masks and values beside the lines if a device or size is given
    Show(show::Args),
    /// Run all cases of a folder on all devices, and compare with what is expected of them
    Replay(replay::Args),
    /// Write random cases, and changed ones of a corpus: a black-box fuzzer of ClusterFuzz
    Cases(cases::Args),
    /// Measure what a case costs, stage by stage, and how fast a campaign is
    Bench(bench::Args),
    /// Keep a bug book: known bugs, which versions have them, what became of them
    Bugs(bugs::Args),
    /// Find the commit of a driver that made cases fail, or that fixed them
    Bisect(bisect::Args),
    /// Try a patch of a driver: known cases and a campaign on its build against that of a commit
    TryPatch(bisect::TryArgs),
    /// Say what makes a failing case pass: debug switches of the driver, its optimiser turned off, single passes of spirv-opt
    Blame(blame::Args),
    /// Make one folder of several campaigns: the shards of a farm
    Merge(merge::Args),
    /// Keep a regression corpus
    Corpus(corpus::Args),
    /// Make a failing case small
    Minimize(minimize::Args),
    /// Describe the first wrong step of a finding: line, lanes, expected and actual values, the step before, the rule
    Explain(explain::Args),
    /// Make a bundle of a finding or case that reproduces without tangle: a C program, AmberScript, VkRunner, a README
    Export(export::Args),
    /// Write a report of a finding (lanes against steps) or of a campaign: HTML, Markdown, text, JSON or JUnit
    Report(report::Args),
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            // Help and version are no errors.
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let result = match cli.command {
        Command::Devices(args) => devices::run(&args),
        Command::Compilers(args) => compilers::run(&args),
        Command::Fuzz(args) => fuzz::run(args),
        Command::Run(args) => run::run(&args),
        Command::Judge(args) => judge::run(&args),
        Command::Bugs(args) => bugs::run(&args),
        Command::Bisect(args) => bisect::run(&args),
        Command::Blame(args) => blame::run(&args),
        Command::TryPatch(args) => bisect::try_patch(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Matrix(args) => matrix::run(&args),
        Command::Coverage(args) => coverage::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Cases(args) => cases::run(&args),
        Command::Corpus(args) => corpus::run(args),
        Command::Minimize(args) => minimize::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Report(args) => report::run(&args),
    };
    match result {
        Ok(Found::Nothing) => ExitCode::SUCCESS,
        Ok(Found::Something) => ExitCode::from(1),
        Err(error) => {
            if !error.downcast_ref::<OutputError>().is_some_and(OutputError::is_closed) {
                say_stderr!("error: {}", one_line(&error));
            }
            ExitCode::from(2)
        }
    }
}

/// Longest line of an error, in characters: names and messages may come from anywhere.
const LONGEST_ERROR: usize = 1_000;

/// The error with its causes; a cause that an error already names is not named again.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.ends_with(&cause) {
            let _ = write!(line, ": {cause}");
        }
    }
    shortened(&line, LONGEST_ERROR)
}
