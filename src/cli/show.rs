//! `tangle show CASE`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use tangle_campaign::prepare::{Prepared, prepare};
use tangle_oracle::map::LaneMap;
use tangle_oracle::predict::{LoggedEvent, LoggedValues, predict};
use tangle_program::case::Case;
use tangle_program::subgroup::parse_subgroup_size;
use tangle_program::tree::{SiteId, Stmt};

use super::args::{DeviceArgs, Found, read_case};
use super::output::put;
use tangle_campaign::target::Jobs;

#[derive(clap::Args)]
pub struct Args {
    /// The case: a JSON file, the folder of a finding, or an artifact of `cargo fuzz`
    case: PathBuf,
    /// Show what is expected with linear subgroups of this size
    #[arg(long, value_name = "SIZE", value_parser = parse_subgroup_size, conflicts_with_all = ["device", "compiler"])]
    subgroup_size: Option<u32>,
    #[command(flatten)]
    devices: DeviceArgs,
    /// Print the case's JSON instead
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let case = read_case(&args.case)?;
    if args.json {
        put(format_args!("{}", case.to_json()))?;
        return Ok(Found::Nothing);
    }
    let (case, map) = as_run(args, case)?;
    let printed = tangle_emit::print(&case);
    match map {
        None => put(format_args!("{}", printed.text))?,
        Some(map) => {
            let prediction = predict(&case, &map)?;
            let mut by_site = BTreeMap::<SiteId, Vec<(LoggedEvent, LoggedValues)>>::new();
            for (event, values) in prediction.events_with_values() {
                by_site.entry(event.site).or_default().push((event, values));
            }
            let beside = |stmt: &Stmt| match stmt {
                Stmt::Log { site, .. } => Some(expectation(by_site.get(site).map_or(&[], Vec::as_slice))),
                _ => None,
            };
            put(format_args!("{}", printed.with_margin(beside)))?;
        }
    }
    Ok(Found::Nothing)
}

/// The case as the device runs it, and the lane map that is asked for.
fn as_run(args: &Args, case: Case) -> anyhow::Result<(Case, Option<LaneMap>)> {
    if let Some(size) = args.subgroup_size {
        let map = LaneMap::linear(&case, size);
        return Ok((case, Some(map)));
    }
    if args.devices.are_default() {
        return Ok((case, None));
    }
    let target = args.devices.open(Jobs::One)?.into_iter().next().context("no device")?;
    let case = target.dressed(&case).into_owned();
    let missing = target.missing(&case);
    anyhow::ensure!(missing.is_empty(), "{} lacks {}", target.name, missing.join(", "));
    let prepared = match target.runs_modules() {
        true => prepare(case.clone())?,
        false => Prepared::without_module(case.clone()),
    };
    let conclusion = target.run(&prepared);
    let observation = conclusion.observation.with_context(|| format!("{} gave no lane map", target.name))?;
    let (map, _) = LaneMap::check(&case, &observation.map, target.capabilities.sizes);
    let map = map.with_context(|| format!("{} gave a lane map that breaks the rules", target.name))?;
    Ok((case, Some(map)))
}

/// Events shown beside one line.
const EVENTS_SHOWN: usize = 4;

/// Masks, and values where all lanes of an event have the same.
fn expectation(events: &[(LoggedEvent, LoggedValues)]) -> String {
    if events.is_empty() {
        return "never reached".into();
    }
    let mut text = String::new();
    for (i, (event, values)) in events.iter().take(EVENTS_SHOWN).enumerate() {
        let masks: Vec<String> = event.active.iter().map(|(subgroup, lanes)| format!("{subgroup}:{lanes:x}")).collect();
        let _ = write!(text, "{}{}", if i > 0 { " | " } else { "" }, masks.join(" "));
        let (_, first) = &values[0];
        if first.is_empty() {
            continue;
        }
        if values.iter().all(|(_, values)| values == first) {
            let _ = write!(text, " = {}", words(first));
        } else {
            let each: Vec<String> = values.iter().take(8).map(|(_, values)| words(values)).collect();
            let more = if values.len() > 8 { ", …" } else { "" };
            let _ = write!(text, " = [{}{more}]", each.join(", "));
        }
    }
    if events.len() > EVENTS_SHOWN {
        let _ = write!(text, " | … {} more", events.len() - EVENTS_SHOWN);
    }
    text
}

fn words(values: &[Option<u32>]) -> String {
    let shown = values.iter().map(|value| match value {
        None => "?".into(),
        Some(value) if *value < 10_000 => value.to_string(),
        Some(value) => format!("{value:#x}"),
    });
    shown.collect::<Vec<String>>().join(" ")
}
