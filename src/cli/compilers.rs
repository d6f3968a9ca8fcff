//! `tangle compilers`

use tangle_compilers::{Compiler, TABLE};

use super::args::Found;
use super::output::put;
use super::output::say;
use super::table::Table;

#[derive(clap::Args)]
pub struct Args {
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    if args.json {
        let rows: Vec<serde_json::Value> = TABLE.iter().map(json).collect();
        say!("{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(Found::Nothing);
    }
    let mut table = Table::new(["compiler", "version", "promises", "what"]);
    for row in TABLE {
        let version = row.found().map_or_else(|reason| format!("- ({reason})"), |found| found.version);
        table.row([row.front_end().to_string(), version, row.promise.name().into(), row.about.into()]);
    }
    put(format_args!("{table}"))?;
    Ok(Found::Nothing)
}

fn json(row: &Compiler) -> serde_json::Value {
    let found = row.found();
    serde_json::json!({
        "compiler": row.front_end().to_string(),
        "language": row.language.name(),
        "about": row.about,
        "promises": row.promise,
        "version": found.as_ref().ok().map(|found| &found.version),
        "path": found.as_ref().ok().and_then(|found| found.path.as_ref()),
        "absent": found.as_ref().err(),
    })
}
