//! `tangle coverage`

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use tangle_analysis::context::Context;
use tangle_campaign::campaign::read_coverage;
use tangle_campaign::coverage::{measure, pairs};
use tangle_campaign::plan::Choice;
use tangle_generator::Profile;
use tangle_generator::pairs::{Kind, Pairs, possible};
use tangle_oracle::coverage::{Cell, Coverage, CoverageRow, EXEMPTIONS, Fill, reachable, reachable_in};
use tangle_program::case::{Stage, Tier};
use tangle_program::subgroup::{Category, OpInfo, SubgroupOp, TABLE};
use tangle_program::text::spaced;
use tangle_program::types::Scalar;
use tangle_report::text::thousands;

use super::args::Found;
use super::fuzz::{profile, tier};
use super::output::OutputError;
use super::output::say;
use super::report::ReportArgs;

#[derive(clap::Args)]
pub struct Args {
    /// The folder of a campaign: what was checked on its devices. Without it, random cases are made, and run on the reference device
    campaign: Option<PathBuf>,
    /// Only this device of the campaign
    #[arg(long, value_name = "NAME", requires = "campaign")]
    device: Option<String>,
    /// How many random cases
    #[arg(long, value_name = "N", default_value_t = 5_000, conflicts_with = "campaign")]
    cases: u64,
    /// Seed of their sequence
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "campaign")]
    seed: u64,
    /// Only programs of this profile
    #[arg(long, value_name = "NAME", value_parser = profile, conflicts_with = "campaign")]
    profile: Option<Profile>,
    /// Only cases of this convergence tier
    #[arg(long, value_name = "TIER", value_parser = tier, conflicts_with = "campaign")]
    tier: Option<Tier>,
    /// What the cells count: places in programs, executions by lanes, or compared values
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Measure::Checked)]
    count: Measure,
    /// Types across instead of contexts
    #[arg(long)]
    types: bool,
    /// Stages across instead of contexts: those that anything stood in
    #[arg(long, conflicts_with = "types")]
    stages: bool,
    /// The types of one operation down, and contexts across
    #[arg(long, value_name = "NAME", value_parser = operation, conflicts_with_all = ["types", "stages"])]
    operation: Option<SubgroupOp>,
    /// What stands together in the random programs: operations and operators with their types, control constructs with those in them
    /// and behind them. Counts programs
    #[arg(long, conflicts_with_all = ["campaign", "types", "stages", "operation", "report", "html", "count"])]
    pairs: bool,
    /// All counts of all operations, types and contexts as JSON, by device; with --pairs, those of the pairs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    report: ReportArgs,
}

/// What a cell shows.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Measure {
    Generated,
    Reached,
    Checked,
}

fn operation(name: &str) -> Result<SubgroupOp, String> {
    let row = TABLE.iter().find(|info| info.name == name);
    row.map(|info| info.op).ok_or_else(|| format!("there is no subgroup operation '{name}'"))
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let choice = Choice { seed: args.seed, profile: args.profile, tier: args.tier, ..Choice::default() };
    let reports = args.report.open()?;
    if args.pairs {
        show_pairs(args, &pairs(choice, args.cases)?)?;
        return Ok(Found::Nothing);
    }
    let by_device = match &args.campaign {
        Some(folder) => {
            let all = read_coverage(folder)?;
            let mut all = all.with_context(|| format!("{} has no coverage.json of a campaign", folder.display()))?;
            if let Some(name) = &args.device {
                all.retain(|device, _| device == name);
                anyhow::ensure!(!all.is_empty(), "the campaign has nothing of a device '{name}'");
            }
            all
        }
        None => BTreeMap::from([("reference".to_owned(), measure(choice, args.cases)?)]),
    };
    reports.write(|reporter| reporter.coverage(&by_device))?;
    if args.json {
        say!("{}", serde_json::to_string(&by_device)?)?;
        return Ok(Found::Nothing);
    }
    for (device, coverage) in &by_device {
        show(args, device, coverage)?;
    }
    legend(args)?;
    Ok(Found::Nothing)
}

/// A pair is rare in less than one of so many programs.
const RARE: u64 = 300;

/// A table for each kind of pairs: percentages of programs, `!` for those that are rare.
fn show_pairs(args: &Args, pairs: &Pairs) -> anyhow::Result<()> {
    let all = possible();
    if args.json {
        let counts: Vec<_> = all.iter().map(|pair| (pair, pairs.count(pair))).collect();
        say!("{}", serde_json::to_string(&counts)?)?;
        return Ok(());
    }
    let rare = pairs.rarer_than(RARE).len();
    say!("{} programs; {rare} of {} pairs are in less than 1 of {RARE}", thousands(pairs.programs), all.len())?;
    for kind in Kind::ALL {
        let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for pair in all.iter().filter(|pair| pair.kind == kind) {
            let count = pairs.count(pair);
            let mark = if count * RARE < pairs.programs { "!" } else { "" };
            let percent = 100.0 * count as f64 / pairs.programs.max(1) as f64;
            rows.entry(&pair.first).or_default().push(format!("{} {percent:.1}{mark}", pair.second));
        }
        say!("-- {kind:?}: percentage of programs")?;
        for (first, cells) in rows {
            say!("{first:25} {}", cells.join(", "))?;
        }
    }
    Ok(())
}

/// Width of a cell.
const CELL: usize = 4;

fn show(args: &Args, device: &str, coverage: &Coverage) -> Result<(), OutputError> {
    let (full, all) = coverage.filled();
    say!("{device}: {} cases; {full} of {all} cells are filled", thousands(coverage.cases))?;
    if let Some(op) = args.operation {
        return one_operation(args.count, op, coverage);
    }
    let stages = coverage.stages();
    let heads: Vec<String> = match () {
        () if args.types => Scalar::ALL.iter().map(|scalar| scalar.name().to_owned()).collect(),
        () if args.stages => stages.iter().map(|stage| stage.glsl_extension().to_owned()).collect(),
        () => Context::ALL.iter().map(|context| context.short().to_owned()).collect(),
    };
    for category in Category::ALL {
        row(&format!("-- {}", spaced(category.name())), &heads)?;
        let shown = |info: &&OpInfo| info.category == category && !(args.types && info.scalars.is_empty());
        for info in TABLE.iter().filter(shown) {
            let operation = coverage.operation(info.op);
            let cells: Vec<String> = match () {
                () if args.types => {
                    Scalar::ALL.iter().map(|&scalar| type_cell(args.count, info, scalar, coverage)).collect()
                }
                () if args.stages => {
                    stages.iter().map(|&stage| stage_cell(args.count, info, stage, &operation)).collect()
                }
                () => Context::ALL.iter().map(|&at| context_cell(args.count, info, at, operation.cell(at))).collect(),
            };
            row(info.name.trim_start_matches("subgroup"), &cells)?;
        }
    }
    Ok(())
}

fn one_operation(count: Measure, op: SubgroupOp, coverage: &Coverage) -> Result<(), OutputError> {
    let heads: Vec<String> = Context::ALL.iter().map(|context| context.short().to_owned()).collect();
    row(op.info().name, &heads)?;
    for (ty, cells) in coverage.types(op) {
        let name = ty.map_or_else(|| "no type".into(), |ty| ty.to_string());
        let shown: Vec<String> =
            Context::ALL.iter().map(|&at| context_cell(count, op.info(), at, cells.cell(at))).collect();
        row(&name, &shown)?;
    }
    Ok(())
}

fn row(name: &str, cells: &[String]) -> Result<(), OutputError> {
    let cells: String = cells.iter().map(|cell| format!(" {cell:>CELL$}")).collect();
    say!("{name:25}{cells}")
}

fn context_cell(count: Measure, info: &OpInfo, at: Context, cell: Cell) -> String {
    filled(count, cell, reachable(info, at).0)
}

fn stage_cell(count: Measure, info: &OpInfo, stage: Stage, row: &CoverageRow) -> String {
    filled(count, row.in_stage(stage), reachable_in(info, stage))
}

/// A cell of scalars and vectors together, as full as the emptier of the two.
fn type_cell(count: Measure, info: &OpInfo, scalar: Scalar, coverage: &Coverage) -> String {
    if !info.scalars.contains(&scalar) {
        return String::new();
    }
    let (alone, vector) = coverage.of_scalar(info.op, scalar);
    match (alone.fill(), vector.fill()) {
        (Fill::Checked, Fill::Checked) => {
            let mut sum = alone;
            sum += vector;
            filled(count, sum, Fill::Checked)
        }
        (alone, vector) => mark(alone.min(vector)).into(),
    }
}

fn filled(count: Measure, cell: Cell, best: Fill) -> String {
    match (cell.fill(), count) {
        (fill, _) if best == Fill::Empty && fill == Fill::Empty => "·".into(),
        (fill, _) if fill < best => mark(fill).into(),
        (_, Measure::Generated) => compact(cell.generated),
        (_, Measure::Reached) => compact(cell.reached),
        (Fill::Checked, Measure::Checked) => compact(cell.checked),
        (_, Measure::Checked) => "·".into(),
    }
}

/// The mark of a cell that could be fuller.
const fn mark(fill: Fill) -> &'static str {
    match fill {
        Fill::Empty => "!",
        Fill::Generated => "gen",
        Fill::Reached => "run",
        Fill::Checked => "",
    }
}

/// `1.2k` for 1234: four characters at most.
fn compact(n: u64) -> String {
    let mut scaled = n as f64;
    for unit in ["", "k", "M", "G", "T"] {
        if scaled < 999.5 || unit == "T" {
            return match unit {
                "" => n.to_string(),
                _ if scaled < 9.95 => format!("{scaled:.1}{unit}"),
                _ => format!("{scaled:.0}{unit}"),
            };
        }
        scaled /= 1000.0;
    }
    unreachable!("the last unit takes everything")
}

fn legend(args: &Args) -> Result<(), OutputError> {
    let counted = match args.count {
        Measure::Generated => "places in programs",
        Measure::Reached => "executions, one for each lane",
        Measure::Checked => "compared values",
    };
    say!("\ncells count {counted}; !: no place in any program, gen: no lane reached it, run: nothing was compared")?;
    for exemption in &EXEMPTIONS {
        say!("·: {}", exemption.reason)?;
    }
    if args.types {
        say!("a cell has scalars and vectors together, and is as full as the emptier of the two")?;
    } else if args.stages {
        for stage in Stage::ALL {
            say!("{:>4}  {}", stage.glsl_extension(), spaced(stage.name()))?;
        }
    } else {
        for context in Context::ALL {
            say!("{:>4}  {}", context.short(), context.about().trim_end_matches('.'))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_fit_into_a_cell() {
        let table = [(0, "0"), (999, "999"), (1000, "1.0k"), (9_949, "9.9k"), (9_960, "10k"), (999_499, "999k")];
        for (n, text) in
            table.into_iter().chain([(999_500, "1.0M"), (12_345_678_901, "12G"), (u64::MAX / 1000, "18447T")])
        {
            assert_eq!(compact(n), text);
        }
    }

    #[test]
    fn heads_fit_into_a_cell() {
        let contexts = Context::ALL.iter().map(|context| context.short());
        let stages = Stage::ALL.map(Stage::glsl_extension);
        contexts
            .chain(Scalar::ALL.map(Scalar::name))
            .chain(stages)
            .for_each(|head| assert!(head.chars().count() <= CELL, "{head}"));
    }
}
