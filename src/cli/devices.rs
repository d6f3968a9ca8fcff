//! `tangle devices`

use std::path::PathBuf;

use tangle::capabilities::Capabilities;
use tangle::target::inventory;
use tangle_program::case::Tier;
use tangle_runner::{DeviceInfo, DriverMode};

use super::output::OutputError;
use super::{Found, say};

#[derive(clap::Args)]
pub struct Args {
    /// Devices file to read instead of the one that ./x setup writes
    #[arg(long, value_name = "FILE")]
    devices: Option<PathBuf>,
    /// Print everything that is known, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let inventory = inventory(args.devices.as_deref())?;
    if args.json {
        let devices: Vec<&DeviceInfo> = inventory.devices().map(|(_, info)| info).collect();
        let problems: Vec<_> = inventory
            .problems()
            .map(|(driver, problem)| serde_json::json!({ "driver": driver.name, "problem": problem.to_string() }))
            .collect();
        let all = serde_json::json!({ "devices": devices, "problems": problems });
        say!("{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        for (_, info) in inventory.devices() {
            print_device(info)?;
        }
        for (driver, problem) in inventory.problems() {
            say!("{}: not usable: {problem}", driver.name)?;
        }
    }
    inventory.require_any()?;
    Ok(Found::Nothing)
}

fn print_device(info: &DeviceInfo) -> Result<(), OutputError> {
    let subgroup = &info.subgroup;
    let capabilities = Capabilities::of(info);
    let tiers: Vec<&str> = Tier::ALL.into_iter().filter(|&tier| capabilities.offers(tier)).map(Tier::name).collect();
    let compile_only = if info.mode == DriverMode::CompileOnly { ", compiles only" } else { "" };
    say!(
        "{}: {} ({} {}), Vulkan {}{compile_only}",
        info.name,
        info.device_name,
        info.driver_name,
        info.driver_info,
        info.api_version
    )?;
    let required = if subgroup.required_size_in_compute { "may be required" } else { "cannot be required" };
    say!("  subgroup size  {} ({} to {}), {required}", subgroup.size, subgroup.min_size, subgroup.max_size)?;
    say!("  operations     {}; in {}", subgroup.operations.join(" "), subgroup.stages.join(" "))?;
    say!("  tiers          {}", tiers.join(" "))?;
    let features: Vec<&str> =
        info.features.iter().map(|feature| feature.name()).filter(|name| !name.starts_with("VK_")).collect();
    say!("  features       SPIR-V {}, {}", info.max_spirv, features.join(" "))?;
    let limits = &info.limits;
    say!(
        "  workgroup      {:?}, {} invocations, {} subgroups where a size is required",
        limits.max_workgroup_size,
        limits.max_workgroup_invocations,
        subgroup.max_compute_workgroup_subgroups
    )
}
