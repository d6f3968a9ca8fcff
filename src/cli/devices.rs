//! `tangle devices`

use std::collections::BTreeSet;

use tangle_campaign::capabilities::Capabilities;
use tangle_campaign::skips::skips;
use tangle_campaign::target::{inventory, with_advice};
use tangle_features::{Api, LeftOut};
use tangle_program::case::{Stage, Tier};
use tangle_program::subgroup::Category;
use tangle_runner::{DeviceInfo, DriverMode, Subgroups};

use super::args::{DriverArgs, Found};
use super::output::put;
use super::output::say;
use super::table::Table;

/// Three tables: what each device promises, which operations run in which of its stages, and what a campaign leaves out on it, with the reason.
#[derive(clap::Args)]
pub struct Args {
    /// Only this device; repeat for several
    #[arg(long, value_name = "NAME")]
    device: Vec<String>,
    #[command(flatten)]
    drivers: DriverArgs,
    /// Print everything that is known, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let inventory = inventory(&args.device, &args.drivers.drivers()?)?;
    let devices: Vec<&DeviceInfo> = match args.device.is_empty() {
        true => inventory.devices().map(|(_, info)| info).collect(),
        false => args.device.iter().map(|name| Ok(inventory.device(name)?.1)).collect::<anyhow::Result<_>>()?,
    };
    if args.json {
        let problems: Vec<_> = inventory
            .problems()
            .map(|(driver, problem)| serde_json::json!({ "driver": driver.name, "problem": with_advice(problem) }))
            .collect();
        let all = serde_json::json!({ "devices": devices, "problems": problems });
        say!("{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        put(format_args!("{}", promises(&devices)))?;
        say!("")?;
        put(format_args!("{}", by_stage(&devices)))?;
        for table in [contexts(&devices), adapters(&devices)].into_iter().flatten() {
            say!("")?;
            put(format_args!("{table}"))?;
        }
        let skipped = skipped(&devices);
        if !skipped.is_empty() {
            say!("\nWhat a campaign leaves out, and what the devices lack for it:\n")?;
            put(format_args!("{}", skip_table(&skipped)))?;
        }
        for (driver, problem) in inventory.problems() {
            say!("{}: not usable: {}", driver.name, with_advice(problem))?;
        }
    }
    inventory.require_any()?;
    Ok(Found::Nothing)
}

fn promises(devices: &[&DeviceInfo]) -> Table {
    let head = ["device", "driver", "version", "runs", "subgroup size", "operations", "stages", "tiers", "workgroup"];
    let mut table = Table::new(head);
    for info in devices {
        let capabilities = Capabilities::of(info);
        let tiers = Tier::ALL.into_iter().filter(|&tier| capabilities.offers(tier)).map(Tier::name);
        let mode = match info.mode {
            DriverMode::Execute => "yes",
            DriverMode::CompileOnly => "compiles only",
        };
        let driver = match (info.driver_name.trim(), info.driver_info.trim()) {
            ("", "") => info.device_name.clone(),
            (name, version) => format!("{name} {version}").trim_end().to_owned(),
        };
        table.row([
            info.name.clone(),
            driver,
            match info.api() {
                Api::WebGpu => info.api().name().to_owned(),
                api => format!("{} {}.{}", api.name(), info.api_version.major, info.api_version.minor),
            },
            mode.into(),
            sizes(info),
            operations(&info.subgroup.operations),
            stages(&info.subgroup.stages),
            tiers.collect::<Vec<_>>().join(" "),
            info.limits.max_workgroup_invocations.to_string(),
        ]);
    }
    table
}

/// Which operations cases have in which stages of each device: a row for those that have the same.
fn by_stage(devices: &[&DeviceInfo]) -> Table {
    let mut table = Table::new(["device", "cases of stages", "have operations"]);
    for info in devices {
        let capabilities = Capabilities::of(info);
        let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
        for stage in Stage::ALL.into_iter().filter(|&stage| capabilities.offers_stage(stage)) {
            let here = some_operations(&capabilities.config(stage, Tier::Maximal).categories);
            match rows.iter_mut().find(|(operations, _)| *operations == here) {
                Some((_, stages)) => stages.push(stage.name()),
                None => rows.push((here, vec![stage.name()])),
            }
        }
        for (operations, names) in rows {
            let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            table.row([info.name.clone(), stages(&names), operations]);
        }
    }
    table
}

/// Their names, or which are not among them where that is shorter.
fn some_operations(categories: &BTreeSet<Category>) -> String {
    let names = |has: bool| -> Vec<&str> {
        let wanted = Category::ALL.into_iter().filter(|category| categories.contains(category) == has);
        wanted.map(Category::name).collect()
    };
    let (here, lacking) = (names(true), names(false));
    match lacking.len() {
        0 => "all".into(),
        few if few < here.len() => format!("all but {}", lacking.join(" ")),
        _ => here.join(" "),
    }
}

/// What OpenGL contexts say besides: how each was got, where its subgroup operations come from, whether quads are in all stages, what modules it
/// takes, extensions.
fn contexts(devices: &[&DeviceInfo]) -> Option<Table> {
    let mut table = Table::new(["OpenGL", "context", "subgroups", "quads in all stages", "modules", "extensions"]);
    let mut any = false;
    for (info, context) in devices.iter().filter_map(|info| Some((info, info.opengl.as_ref()?))) {
        any = true;
        let modules = match (context.takes_spirv, context.subgroups) {
            (false, _) => "none",
            (true, Subgroups::Khr) => "SPIR-V 1.0, 1.3",
            (true, _) => "SPIR-V 1.0",
        };
        let (subgroups, quads) = match (context.subgroups, info.subgroup.quad_operations_in_all_stages) {
            (Subgroups::Khr, true) => ("KHR_shader_subgroup", "yes"),
            (Subgroups::Khr, false) => ("KHR_shader_subgroup", "no"),
            (Subgroups::Arb, _) => ("ARB_shader_ballot", ""),
            (Subgroups::None, _) => ("none", ""),
        };
        let extensions: Vec<&str> = context.extensions.iter().map(|name| name.trim_start_matches("GL_")).collect();
        table.row([
            info.name.clone(),
            context.platform.clone(),
            subgroups.into(),
            quads.into(),
            modules.into(),
            extensions.join(" "),
        ]);
    }
    any.then_some(table)
}

/// What WebGPU adapters say besides: the runtime, what it runs on, features, and the bytes of immediate data.
fn adapters(devices: &[&DeviceInfo]) -> Option<Table> {
    let mut table = Table::new(["WebGPU", "runtime", "adapter", "on", "features", "immediates"]);
    let mut any = false;
    for (info, adapter) in devices.iter().filter_map(|info| Some((info, info.webgpu.as_ref()?))) {
        any = true;
        table.row([
            info.name.clone(),
            adapter.runtime.clone(),
            info.device_name.clone(),
            adapter.backend.clone(),
            adapter.features.join(" "),
            format!("{} bytes", info.limits.max_push_constants_size),
        ]);
    }
    any.then_some(table)
}

/// Their names, or `all` where none is missing that tangle uses.
fn operations(names: &[String]) -> String {
    let all = Category::ALL.iter().all(|category| names.iter().any(|name| name == category.name()));
    if all { "all".into() } else { names.join(" ") }
}

/// Their names, with those of a pipeline of triangles or of rays together where there are all of them.
fn stages(names: &[String]) -> String {
    const TOGETHER: [(&str, &[&str]); 3] = [
        ("graphics", &["vertex", "tessellation_control", "tessellation_evaluation", "geometry", "fragment"]),
        ("mesh", &["task", "mesh"]),
        ("ray_tracing", &["raygen", "any_hit", "closest_hit", "miss", "intersection", "callable"]),
    ];
    let mut shown: Vec<&str> = Vec::new();
    for name in names {
        let whole = TOGETHER.iter().find(|(_, group)| {
            group.contains(&name.as_str()) && group.iter().all(|stage| names.iter().any(|name| name == stage))
        });
        let word = whole.map_or(name.as_str(), |(word, _)| word);
        if !shown.contains(&word) {
            shown.push(word);
        }
    }
    shown.join(" ")
}

/// `8`, or `64 (32 to 64, may be required)`.
fn sizes(info: &DeviceInfo) -> String {
    let subgroup = &info.subgroup;
    let range =
        (subgroup.min_size < subgroup.max_size).then(|| format!("{} to {}", subgroup.min_size, subgroup.max_size));
    if info.api() == Api::WebGpu {
        return range.unwrap_or_else(|| subgroup.min_size.to_string());
    }
    let required = subgroup.required_size_in_compute.then(|| "may be required".to_owned());
    let notes: Vec<String> = [range, required].into_iter().flatten().collect();
    if notes.is_empty() { subgroup.size.to_string() } else { format!("{} ({})", subgroup.size, notes.join(", ")) }
}

/// What is left out, each with the devices that it is left out on.
fn skipped<'a>(devices: &[&'a DeviceInfo]) -> Vec<(LeftOut, Vec<&'a str>)> {
    let mut all: Vec<(LeftOut, Vec<&str>)> = Vec::new();
    for info in devices {
        let mut here = skips(&Capabilities::of(info));
        if info.mode == DriverMode::CompileOnly {
            let what = "results: a pipeline that is created is no pass".into();
            here.insert(0, LeftOut { what, why: "nothing is run: mode compile-only".into() });
        }
        for skip in here {
            match all.iter_mut().find(|(other, _)| *other == skip) {
                Some((_, devices)) => devices.push(&info.name),
                None => all.push((skip, vec![&info.name])),
            }
        }
    }
    all
}

fn skip_table(skipped: &[(LeftOut, Vec<&str>)]) -> Table {
    let mut table = Table::new(["left out", "lacking", "devices"]);
    for (skip, devices) in skipped {
        table.row([skip.what.clone(), skip.why.clone(), devices.join(" ")]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_told_together_where_all_are_there() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let table = [
            ("vertex fragment compute", "vertex fragment compute"),
            ("fragment compute task mesh", "fragment compute mesh"),
            (
                "vertex tessellation_control tessellation_evaluation geometry fragment compute raygen miss",
                "graphics compute raygen miss",
            ),
        ];
        for (all, shown) in table {
            assert_eq!(stages(&names(all)), shown);
        }
        assert_eq!(operations(&names("basic vote")), "basic vote");
        let all: BTreeSet<Category> = Category::ALL.into_iter().collect();
        assert_eq!(some_operations(&all), "all");
        let without: BTreeSet<Category> = all.into_iter().filter(|category| *category != Category::Quad).collect();
        assert_eq!(some_operations(&without), "all but quad");
        assert_eq!(some_operations(&BTreeSet::from([Category::Vote, Category::Ballot])), "vote ballot");
    }
}
