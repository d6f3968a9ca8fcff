//! What an executor is, its workers and their tasks.

use std::num::NonZero;
use std::path::Path;
use std::time::Duration;

use crossbeam_channel::Sender;
use tangle_program::case::Case;
use tangle_program::subgroup::parse_subgroup_size;
use tangle_program::variant::FrontEnd;
use tangle_runner::{Completion, DeviceStats, DriverMode, Stage, Terms};

use crate::capabilities::Capabilities;
use crate::prepare::Prepared;

/// How many inputs a program has on a driver, if not asked for: `docs/speed.md` has what was measured.
pub const INPUTS: NonZero<u32> = NonZero::new(8).unwrap();

/// What a campaign makes its cases of, if not asked for: `docs/speed.md` has what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Economy {
    /// How many inputs a program has: as many as cost little beside making it.
    pub inputs: NonZero<u32>,
    /// Of how many programs with a loop of tens of thousands of iterations one is drawn.
    pub long_loops: NonZero<u32>,
    /// Whether programs are [half as large](tangle_generator::Size::halved).
    pub is_halved: bool,
}

impl Economy {
    /// On drivers, for which iterations and straight code are cheap.
    pub const OF_DRIVERS: Economy = Economy { inputs: INPUTS, long_loops: NonZero::<u32>::MIN, is_halved: false };

    /// Where the interpreter executes: an input costs as much as a third of a program that a compiler makes, and one program of 40 has such a loop,
    /// which costs more than all others. A program costs as much as it has statements, straight code too, and bugs of compilers need few.
    pub const OF_THE_INTERPRETER: Economy =
        Economy { inputs: NonZero::new(2).unwrap(), long_loops: NonZero::new(16).unwrap(), is_halved: true };
}

/// Something that runs cases.
pub trait Executor: Send + Sync {
    /// What it is, and what it can run.
    fn description(&self) -> Description;

    /// Everything that can run cases at the same time; at least one.
    fn workers(&self) -> Vec<&dyn Worker>;

    /// Opens workers until there are so many. It stays with fewer if not all can be opened, which `warn` is given.
    fn open_workers(&mut self, jobs: NonZero<usize>, warn: &mut dyn FnMut(String));

    /// Whether it runs what it compiles.
    fn mode(&self) -> DriverMode {
        DriverMode::Execute
    }

    /// What its campaigns make their cases of, if not asked for.
    fn economy(&self) -> Economy {
        Economy::OF_DRIVERS
    }

    /// What it runs of a case.
    fn runs(&self) -> Runs {
        Runs::Module
    }

    /// The compiler whose modules it runs, and no others, or whose source if it runs [that](Runs::Source); `None` if it runs any module.
    fn front_end(&self) -> Option<&FrontEnd> {
        None
    }

    /// True if its driver prints the machine code that it makes of a case.
    fn prints_machine_code(&self) -> bool {
        false
    }

    /// Has its driver print the machine code of a case to a file, as far as it comes. Best effort.
    fn print_machine_code(&self, _prepared: &Prepared, _file: &Path) {}
}

/// Runs tasks one after the other, in the order in which they were submitted.
pub trait Worker: Sync {
    /// Runs a task. The completion is sent when it is over; a worker [in this process](Worker::is_in_process) sends it before it returns.
    fn submit(&self, task: &Task<'_>, completions: &Sender<Completion>);

    /// True if it runs tasks in the thread that submits them. Another one may die of a task, which is then noted on disk before it runs.
    fn is_in_process(&self) -> bool {
        true
    }

    /// The most time for a task that runs again: of the processor, or blocked.
    fn longest(&self) -> Duration {
        Duration::ZERO
    }

    /// Its jobs, their time and their failures since it was opened.
    fn stats(&self) -> DeviceStats {
        DeviceStats::default()
    }

    /// What it does for a task now, and for how long it has, where that is known.
    fn doing(&self) -> Option<(Stage, Duration)> {
        None
    }
}

/// Cases that have their program in common, with a launch for each.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Which completion is its own.
    pub id: u64,
    /// The program and its module.
    pub prepared: &'a Prepared,
    /// The cases, which differ from that of `prepared` in nothing but data.
    pub cases: &'a [&'a Case],
    /// How long it may take, and whether it runs again.
    pub terms: Terms,
}

/// What an executor runs of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The module, so that whoever made it may be to blame.
    Module,
    /// The source, with a front end of its own: the GLSL of variants without an optimiser, and of others the module; or always the WGSL.
    Source,
    /// The tree: no module needs to be made.
    Tree,
}

/// What an executor is.
#[derive(Clone, Debug)]
pub struct Description {
    /// The name of the device; unique among the devices of a command.
    pub name: String,
    /// What it can run.
    pub capabilities: Capabilities,
    /// Identity and properties, for reports.
    pub info: serde_json::Value,
}

/// A kind of executor that is part of tangle.
pub struct BuiltIn {
    /// What its devices' names begin with, before `:` or `@`.
    pub word: &'static str,
    /// Opens the device of a name.
    pub open: fn(&str) -> anyhow::Result<Box<dyn Executor>>,
}

/// Splits the subgroup size off the name of a device that is part of tangle: `8` unless it ends in `@SIZE`.
///
/// # Errors
/// If the size is no power of two up to 128.
pub fn subgroup_size(name: &str) -> anyhow::Result<(&str, u32)> {
    let (name, size) = name.split_once('@').unwrap_or((name, "8"));
    Ok((name, parse_subgroup_size(size).map_err(anyhow::Error::msg)?))
}
