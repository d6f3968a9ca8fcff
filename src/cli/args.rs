//! Arguments that several commands take, how they are read, and what a command found.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use tangle_analysis::validate::validate;
use tangle_campaign::background::Opener;
use tangle_campaign::fuzzing::input;
use tangle_campaign::plan::MOST_INPUTS;
use tangle_campaign::target::{Jobs, Target};
use tangle_identity::switches::Variable;
use tangle_program::case::Case;
use tangle_program::subgroup::Severity;
use tangle_runner::DriverMode;
use tangle_runner::config::{Drivers, LONGEST_TIMEOUT, Start};

use super::output::say_stderr;

/// What a command found.
pub(super) enum Found {
    Nothing,
    Something,
}

/// Which drivers there are to choose from.
#[derive(clap::Args, Clone, Default)]
pub(super) struct DriverArgs {
    /// A driver of your own: its manifest (.json), its library (.so), or a build folder of Mesa. Only it runs unless --device names
    /// others; repeat for several. Its device is called `my-lvp`, after the library, or as NAME says
    #[arg(long, value_name = "[NAME=]PATH")]
    pub(super) driver: Vec<String>,
    /// Environment variable for the drivers of --driver; repeat for several
    #[arg(long, value_name = "NAME=VALUE", requires = "driver", value_parser = variable)]
    pub(super) driver_env: Vec<(String, String)>,
    /// Command that starts programs on the drivers of --driver: another C library's `ld-linux-x86-64.so.2 --library-path FOLDER`, say
    #[arg(long, value_name = "COMMAND", requires = "driver", allow_hyphen_values = true)]
    pub(super) driver_prefix: Option<String>,
    /// The drivers of --driver only compile, because their hardware is not here
    #[arg(long, requires = "driver")]
    pub(super) driver_compiles_only: bool,
    /// Devices file to read instead of the one that ./x setup writes
    #[arg(long, value_name = "FILE")]
    pub(super) devices: Option<PathBuf>,
}

impl DriverArgs {
    pub(super) fn drivers(&self) -> anyhow::Result<Drivers> {
        let mut drivers = Drivers::listed(self.devices.as_deref());
        let start = start(&self.driver_env, self.driver_prefix.as_deref(), self.driver_compiles_only);
        for driver in &self.driver {
            drivers.add(driver, &start).context("--driver")?;
        }
        Ok(drivers)
    }
}

/// How drivers of one's own are started.
pub(super) fn start(env: &[(String, String)], prefix: Option<&str>, compiles_only: bool) -> Start {
    Start {
        env: env.iter().cloned().collect(),
        prefix: prefix.unwrap_or_default().split_whitespace().map(Into::into).collect(),
        mode: if compiles_only { DriverMode::CompileOnly } else { DriverMode::Execute },
    }
}

/// `NAME=VALUE`
pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("not of the form NAME=VALUE".into()),
    }
}

/// Which devices, and how long they may take.
#[derive(clap::Args, Clone)]
pub(super) struct DeviceArgs {
    /// Device to run on, by the name `tangle devices` shows; repeat for several; all Vulkan devices if none is given.
    /// `reference`, `reference:minimal` and `reference:<planted fault>` name the reference device, `interpreter` the one that executes
    /// SPIR-V modules without a driver; `@SIZE` is their subgroup size
    #[arg(long, value_name = "NAME")]
    pub(super) device: Vec<String>,
    /// Compiler to test, by the name `tangle compilers` shows: its modules are executed by the interpreter, without any driver; repeat for
    /// several. `NAME=PATH` for a build of your own; `clang.base=PATH` and `clang.patched=PATH` for several of one compiler
    #[arg(long, value_name = "NAME")]
    pub(super) compiler: Vec<CompilerName>,
    /// Command that starts the programs of --compiler NAME=PATH: another C library's `ld-linux-x86-64.so.2 --library-path FOLDER`, say
    #[arg(long, value_name = "COMMAND", requires = "compiler", allow_hyphen_values = true)]
    pub(super) compiler_prefix: Option<String>,
    #[command(flatten)]
    pub(super) drivers: DriverArgs,
    /// The most processor time (or time of the device, where it says how long it works) for one case on one device
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    pub(super) timeout: Option<Duration>,
}

impl DeviceArgs {
    /// Opens one more worker of a device that is open already.
    pub(super) fn opener(&self) -> anyhow::Result<Opener> {
        let (drivers, timeout) = (self.drivers.drivers()?, self.timeout);
        self.settle_compilers();
        Ok(Box::new(move |name| {
            let options = tangle_runner::DeviceOptions { timeout, in_flight: 8, ..Default::default() };
            let targets = tangle_campaign::target::open(&[name.to_owned()], &drivers, Jobs::One, &options, |_| {})?;
            targets.into_iter().next().with_context(|| format!("device {name} does not start"))
        }))
    }

    /// Has the compilers be those at the places that were named.
    pub(super) fn settle_compilers(&self) {
        self.compiler.iter().for_each(|compiler| compiler.settle(self.compiler_prefix.as_deref()));
    }

    /// True if neither a device nor a driver is given.
    pub(super) fn are_default(&self) -> bool {
        self.device.is_empty() && self.compiler.is_empty() && self.drivers.driver.is_empty()
    }

    /// Opens a device with one variable of its driver set to something else.
    pub(super) fn switched(&self) -> anyhow::Result<impl Fn(&str, &Variable) -> anyhow::Result<Target>> {
        let (mut drivers, timeout) = (self.drivers.drivers()?, self.timeout);
        drivers.own = drivers.all()?;
        Ok(move |name: &str, variable: &Variable| {
            let mut drivers = drivers.clone();
            for driver in &mut drivers.own {
                let value = variable.beside(driver.env.get(&variable.name).map(String::as_str));
                driver.env.insert(variable.name.clone(), value);
            }
            let options = tangle_runner::DeviceOptions { timeout, in_flight: 8, ..Default::default() };
            let targets = tangle_campaign::target::open(&[name.to_owned()], &drivers, Jobs::One, &options, |_| {})?;
            targets.into_iter().next().with_context(|| format!("device {name} does not start"))
        })
    }

    /// Opens one device by its name.
    pub(super) fn open_only(&self, name: &str, jobs: Jobs) -> anyhow::Result<Target> {
        let options = tangle_runner::DeviceOptions { timeout: self.timeout, in_flight: 8, ..Default::default() };
        let (names, drivers) = ([name.to_owned()], self.drivers.drivers()?);
        let targets = tangle_campaign::target::open(&names, &drivers, jobs, &options, |warning| {
            say_stderr!("warning: {warning}")
        });
        targets?.into_iter().next().with_context(|| format!("device {name} does not start"))
    }

    pub(super) fn open(&self, jobs: Jobs) -> anyhow::Result<Vec<Target>> {
        let options = tangle_runner::DeviceOptions { timeout: self.timeout, in_flight: 8, ..Default::default() };
        let drivers = self.drivers.drivers()?;
        let warn = |warning| say_stderr!("warning: {warning}");
        let mut targets = Vec::new();
        if !drivers.own.is_empty() {
            targets = tangle_campaign::target::open(&[], &drivers, jobs, &options, warn)?;
        }
        let mut names: Vec<String> = Vec::new();
        self.settle_compilers();
        let compilers = self.compiler.iter().flat_map(|compiler| &compiler.devices);
        for name in self.device.iter().chain(compilers) {
            // One device under one name: statistics are kept by name.
            if !names.contains(name) && !targets.iter().any(|target| target.name == *name) {
                names.push(name.clone());
            }
        }
        if targets.is_empty() || !names.is_empty() {
            targets.extend(tangle_campaign::target::open(&names, &drivers, jobs, &options, warn)?);
        }
        Ok(targets)
    }
}

/// `dxc`, `hlsl@dxc`, `dxc=PATH` or `dxc.patched=PATH`.
#[derive(Clone, Debug)]
pub(super) struct CompilerName {
    /// The names of its devices, one for each language.
    pub(super) devices: Vec<String>,
    pub(super) name: String,
    pub(super) path: Option<PathBuf>,
}

impl CompilerName {
    /// Has the compiler be the one at the place that was named.
    pub(super) fn settle(&self, prefix: Option<&str>) {
        if let Some(path) = &self.path {
            // It is started in a folder of its own.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let prefix = prefix.unwrap_or_default().split_whitespace().map(Into::into).collect();
            tangle_compilers::set_own_build(&self.name, tangle_compilers::OwnBuild { path, prefix });
        }
    }
}

impl std::str::FromStr for CompilerName {
    type Err = String;

    fn from_str(text: &str) -> Result<CompilerName, String> {
        let (word, path) = match text.split_once('=') {
            Some((word, path)) => (word, Some(PathBuf::from(path))),
            None => (text, None),
        };
        let front_ends = tangle_compilers::named(word);
        let Some(first) = front_ends.first() else {
            let names: Vec<String> = tangle_compilers::TABLE.iter().map(|row| row.front_end().to_string()).collect();
            return Err(format!("no compiler is called '{word}'; there are: {}", names.join(", ")));
        };
        let (devices, name) = (front_ends.iter().map(ToString::to_string).collect(), first.compiler.clone());
        if path.is_none() && name.contains('.') {
            return Err(format!("a build of your own has a place: {name}=PATH"));
        }
        Ok(CompilerName { devices, name, path })
    }
}

/// `hard`, `strong` or `quality`
pub(super) fn severity(text: &str) -> Result<Severity, String> {
    let names = || Severity::ALL.map(Severity::name).join(", ");
    let named = Severity::ALL.into_iter().find(|severity| severity.name() == text);
    named.ok_or_else(|| format!("a severity is one of {}", names()))
}

/// The longest time that a command may be given: far more than anybody waits, far less than the clock has.
pub(super) const LONGEST_TIME: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| format!("{error} (write 30s, 5m or 2h)"))?;
    if time <= LONGEST_TIME { Ok(time) } else { Err("it must be at most 10 years".into()) }
}

/// How many workers each device has.
pub(super) fn jobs(text: &str) -> Result<Jobs, String> {
    Jobs::each(text.parse().map_err(|_| "a number from 1 on".to_owned())?)
}

/// With how many data each program runs.
pub(super) fn inputs(text: &str) -> Result<NonZero<u32>, String> {
    let inputs: Option<NonZero<u32>> = text.parse().ok();
    inputs.filter(|inputs| inputs.get() <= MOST_INPUTS).ok_or_else(|| format!("a number from 1 to {MOST_INPUTS}"))
}

/// A time limit for one case.
pub(super) fn timeout(text: &str) -> Result<Duration, String> {
    let limits = Duration::from_millis(1)..=LONGEST_TIMEOUT;
    let time = duration(text)?;
    if limits.contains(&time) { Ok(time) } else { Err("it must be from 1ms to 1day".into()) }
}

/// The most that is read of a case, in bytes. Those of the corpus have a few thousand.
pub(super) const LARGEST_CASE: u64 = 16 << 20;

/// Reads a case: a JSON file, a finding's folder, or an input of a fuzz target.
pub(super) fn read_case(path: &Path) -> anyhow::Result<Case> {
    let file = if path.is_dir() { path.join("case.json") } else { path.to_owned() };
    anyhow::ensure!(
        !path.join("judge.json").exists(),
        "{} is of `tangle judge`: a module without a tree, which only `minimize`, `export` and `report` take (its README.md has the command that runs it again)",
        path.display()
    );
    anyhow::ensure!(
        !path.is_dir() || file.exists(),
        "{} is no finding: it has no case.json (`tangle replay` runs a folder of cases)",
        path.display()
    );
    let contents =
        tangle_files::read(&file, LARGEST_CASE).with_context(|| format!("cannot read {}", file.display()))?;
    let case = if input::has_name_of_input(&file) {
        input::from_json(&contents).unwrap_or_else(|| Ok(input::from_bytes(&contents)))
    } else {
        let text = std::str::from_utf8(&contents);
        Case::from_json(text.with_context(|| format!("cannot read {}: it is no text in UTF-8", file.display()))?)
    };
    let case = case.with_context(|| format!("{}", file.display()))?;
    validate(&case).with_context(|| format!("{}", file.display()))?;
    Ok(case)
}
