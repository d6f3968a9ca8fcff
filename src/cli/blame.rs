//! `tangle blame`

use std::path::{Path, PathBuf};

use tangle_campaign::blame::blame;
use tangle_campaign::executor::built_in;
use tangle_campaign::target::{Jobs, Target};
use tangle_files::write_atomically;
use tangle_identity::Signature;
use tangle_identity::switches::{Switches, Variable, listed, variables};
use tangle_program::case::Case;
use tangle_report::SavedFinding;

use super::args::{DeviceArgs, Found, read_case, variable};
use super::output::{say, say_stderr};

/// One thing is changed at a time, and a case that does not fail each time is left out. What makes a finding pass is saved in its folder
/// (`switches.json`), and stands in its reports.
#[derive(clap::Args)]
pub struct Args {
    /// Findings' folders, or cases
    #[arg(required = true)]
    cases: Vec<PathBuf>,
    /// Devices [default: the one that the finding is of]
    #[command(flatten)]
    devices: DeviceArgs,
    #[command(flatten)]
    switches: SwitchArgs,
}

/// Switches besides those that are known.
#[derive(clap::Args)]
pub struct SwitchArgs {
    /// One more switch of the driver; repeat for several
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    switch: Vec<(String, String)>,
}

impl SwitchArgs {
    /// Tries all switches of a device on a case.
    pub fn try_on(
        &self,
        devices: &DeviceArgs,
        target: &Target,
        case: &Case,
        signature: Option<&Signature>,
    ) -> anyhow::Result<Switches> {
        let open = devices.switched()?;
        let mut all = Vec::new();
        // A device that is part of tangle has no driver that could take a switch.
        if built_in(&target.name).is_none() {
            let driver = target.driver_id();
            all = variables(&driver.name, &driver.version);
            let own = |(name, value): &(String, String)| Variable {
                name: name.clone(),
                value: value.clone(),
                is_list: false,
            };
            all.extend(self.switch.iter().map(own));
        }
        blame(target, case, signature, &all, &|variable| open(&target.name, variable))
    }
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let mut targets: Vec<Target> = Vec::new();
    if !args.devices.are_default() {
        targets = args.devices.open(Jobs::One)?;
    }
    let mut known = 0;
    for path in &args.cases {
        let small = path.join("minimized");
        let folder = if SavedFinding::is_at(&small) { &small } else { path };
        let case = read_case(folder)?;
        let finding = SavedFinding::is_at(folder).then(|| SavedFinding::read(folder)).transpose()?;
        let own;
        let on = match &finding {
            Some(finding) if args.devices.are_default() => {
                own = [args.devices.open_only(&finding.device, Jobs::One)?];
                &own[..]
            }
            _ => {
                anyhow::ensure!(!targets.is_empty(), "{} is no finding: name a --device", folder.display());
                &targets[..]
            }
        };
        let signature = finding.as_ref().map(|finding| &finding.signature);
        for target in on {
            match args.switches.try_on(&args.devices, target, &case, signature) {
                Ok(switches) => {
                    known += 1;
                    report(folder, &switches)?;
                    if finding.is_some() {
                        save(folder, &switches)?;
                    }
                }
                Err(error) => say_stderr!("{}: left out: {error:#}", folder.display()),
            }
        }
    }
    anyhow::ensure!(known > 0, "no case fails each time");
    Ok(Found::Nothing)
}

fn report(folder: &Path, switches: &Switches) -> anyhow::Result<()> {
    say!("{} on {}: {}", folder.display(), switches.device, switches.sentences())?;
    for (what, list) in [("fails with", &switches.fails), ("nothing is known of", &switches.says_nothing)] {
        if !list.is_empty() {
            say!("  {what} {}", listed(list))?;
        }
    }
    Ok(())
}

fn save(folder: &Path, switches: &Switches) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(switches)?;
    text.push(b'\n');
    write_atomically(&folder.join("switches.json"), &text)
}
