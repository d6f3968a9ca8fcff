//! `tangle matrix WHAT…`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use tangle_campaign::matrix::{Subject, matrix};
use tangle_campaign::replay::find_cases;
use tangle_identity::{Known, Status};
use tangle_report::matrix::{Matrix, MatrixRow, Meaning};

use super::args::{DeviceArgs, Found, read_case};
use super::output::put;
use super::output::{say, say_stderr};
use super::progress::watch;
use super::report::ReportArgs;
use super::table::Table;
use tangle_campaign::target::Jobs;

/// Runs each case on each device and shows the results side by side. For each driver that fails: which of its versions here do, and
/// which do not. A pipeline that a compile-only driver creates says nothing about wrong results.
#[derive(clap::Args)]
pub struct Args {
    /// Cases (JSON), findings' folders, folders of cases, or files and folders of known bugs (TOML), whose cases are run
    #[arg(required = true)]
    what: Vec<PathBuf>,
    #[command(flatten)]
    devices: DeviceArgs,
    #[command(flatten)]
    report: ReportArgs,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let reports = args.report.open()?;
    let mut subjects = Vec::new();
    for path in &args.what {
        subjects.extend(subjects_at(path)?);
    }
    anyhow::ensure!(!subjects.is_empty(), "there is no case to run");
    let targets = args.devices.open(Jobs::One)?;
    let (all, done) = (targets.len() * subjects.len(), AtomicUsize::new(0));
    let matrix = watch("runs", all, &done, || matrix(&targets, &subjects, &done));
    print(&matrix)?;
    reports.write(|reporter| reporter.matrix(&matrix))?;
    let is_bad = |row: &MatrixRow| row.cells.iter().any(|cell| cell.meaning == Meaning::Bad);
    Ok(if matrix.rows.iter().any(is_bad) { Found::Something } else { Found::Nothing })
}

fn subjects_at(path: &Path) -> anyhow::Result<Vec<Subject>> {
    if is_known(path) {
        let known = Known::read(&[path.into()])?;
        let subject = |bug: &tangle_identity::known::Bug| {
            if bug.case.is_none() {
                say_stderr!("note: known bug {} is left out: it has no case", bug.name);
            }
            let named = |case| Subject { name: bug.name.clone(), about: bug.versions.clone(), case };
            bug.case.clone().map(named)
        };
        return Ok(known.bugs().iter().filter_map(subject).collect());
    }
    let is_folder = path.is_dir() && !path.join("case.json").is_file();
    let files = if is_folder { find_cases(path)? } else { vec![(file_name(path), path.into())] };
    let subject = |(name, file): (String, PathBuf)| Ok(Subject { name, about: String::new(), case: read_case(&file)? });
    files.into_iter().map(subject).collect()
}

fn file_name(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// True for a file of known bugs, and for a folder of such files.
fn is_known(path: &Path) -> bool {
    let is_toml = |path: &Path| path.extension().is_some_and(|end| end == "toml");
    let json_inside = || find_cases(path).is_ok_and(|files| !files.is_empty());
    let toml_inside = || path.read_dir().is_ok_and(|entries| entries.flatten().any(|entry| is_toml(&entry.path())));
    if path.is_dir() { toml_inside() && !json_inside() } else { is_toml(path) }
}

fn print(matrix: &Matrix) -> anyhow::Result<()> {
    let mut devices = Table::new(["", "device", "driver"]);
    for (number, device) in (1..).zip(&matrix.devices) {
        devices.row([format!("{number}"), device.name.clone(), device.driver.clone()]);
    }
    let numbers = (1..=matrix.devices.len()).map(|number| number.to_string());
    let mut table = Table::new(std::iter::once("case".to_owned()).chain(numbers));
    for row in &matrix.rows {
        let marks = row.cells.iter().map(|cell| cell.status.mark().to_string());
        table.row(std::iter::once(row.name.clone()).chain(marks));
    }
    say!("{devices}")?;
    put(format_args!("{table}"))?;
    say!("\n{}", legend(matrix))?;
    for row in matrix.rows.iter().filter(|row| !row.history.is_empty()) {
        let about = if row.about.is_empty() { String::new() } else { format!(" (known: {})", row.about) };
        say!("\n{}{about}", row.name)?;
        for line in &row.history {
            say!("  {line}")?;
        }
    }
    Ok(())
}

/// The results whose marks are always explained.
const ALWAYS: [Status; 4] = [Status::Pass, Status::Compiled, Status::NotRun, Status::Vacuous];

/// The marks that stand in the table.
fn legend(matrix: &Matrix) -> String {
    let explained = |status: Status| format!("{} {}", status.mark(), status.title());
    let stand: BTreeSet<Status> = matrix.rows.iter().flat_map(|row| row.cells.iter().map(|cell| cell.status)).collect();
    let others: Vec<String> = stand.into_iter().filter(|status| !ALWAYS.contains(status)).map(explained).collect();
    let others = if others.is_empty() { "nothing is wrong".to_owned() } else { others.join("  ") };
    format!("{}; {others}", ALWAYS.map(explained).join("  "))
}
