//! `tangle explain FINDING`

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::Context as _;
use tangle_identity::account::Account;
use tangle_identity::rule::{self, Rule};
use tangle_oracle::map::LaneMap;
use tangle_report::explain::{Colour, explain, why};
use tangle_report::tell::short_program;

use super::exhibit::{Exhibit, RunArgs};
use super::{Found, say};

#[derive(clap::Args)]
pub struct Args {
    /// What to explain: the folder of a finding; or a case (JSON), with the device to run it on
    finding: PathBuf,
    #[command(flatten)]
    run: RunArgs,
    /// Colour the text: auto (on a terminal, unless NO_COLOR is set), always, never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"])]
    color: String,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let exhibit = Exhibit::load(&args.finding, &args.run)?;
    let (device, _) = exhibit.device.as_ref().context("name the --device to run the case on")?;
    let Some(signature) = &exhibit.signature else {
        say!("{device}: nothing is wrong\n{}", exhibit.report)?;
        return Ok(Found::Nothing);
    };
    say!("{signature} on {device}\n")?;
    let colour = colour(&args.color);
    let mut told = String::new();
    if let Some((observation, promise)) = &exhibit.observed {
        let (map, faults) = LaneMap::check(&exhibit.case, &observation.map, *promise);
        if !faults.is_empty() {
            faults.iter().for_each(|fault| {
                told.push_str(&format!("lane map, {}\n", fault.describe(&exhibit.case.entry_point)));
            });
            let mut rules: Vec<Rule> = faults.iter().map(|fault| rule::of_map(fault.rule)).collect();
            rules.dedup();
            told.push_str(&why(&rules, colour));
        }
        if let Some(map) = map {
            let account = Account::new(&exhibit.case, map, Some(observation))?;
            told.push_str(&explain(&account, colour).unwrap_or_default());
        }
    }
    if told.is_empty() {
        // A crash, a time-out: there are no steps.
        let program = short_program(&exhibit.shader.glsl).map_or(String::new(), |program| format!("\n{program}\n"));
        told = format!("{}\n{program}{}", exhibit.report, why(&rule::of_failure(signature), colour));
    }
    say!("{}", told.trim_end())?;
    if let Some(table) = &exhibit.variants {
        let blame = table.blame(device).map_or(String::new(), |blame| format!("stage to blame: {blame}\n"));
        say!("\n{blame}{}", table.to_string().trim_end())?;
    }
    Ok(Found::Something)
}

fn colour(when: &str) -> Colour {
    // https://no-color.org: set and not empty.
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let wanted = match when {
        "always" => true,
        "never" => false,
        _ => std::io::stdout().is_terminal() && !refused,
    };
    if wanted { Colour::Ansi } else { Colour::Plain }
}
