//! `README.md`: ready to paste into a bug tracker.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

use tangle_features::Needs;
use tangle_identity::DriverId;
use tangle_program::case::Case;
use tangle_program::text::capital;
use tangle_program::variant::{Compiled, Printing, Variant};

use super::source::{FILES, Source, row};
use super::{amber, environment, vkrunner};
use crate::difference::difference;
use crate::subject::{Analysis, Basis, Elsewhere, Subject};
use crate::text::{fenced, shell_word};
use crate::wrong_step::{LEGEND, LaneResult, LaneRow, WrongStep, lane_list, short_program};
use tangle_identity::rule::Rule;

/// Wrong lanes shown in the table; the rest is counted.
const ROWS_SHOWN: usize = 32;
/// Longest program that is put into the text.
const LINES_SHOWN: usize = 400;

/// Everything the text is made from.
pub(super) struct Page<'a> {
    pub analysis: &'a Analysis<'a>,
    pub source: &'a Source<'a>,
    pub needs: &'a Needs,
    /// The other files of the bundle.
    pub made: &'a [&'a str],
}

/// The text of `README.md`, in Markdown.
pub(super) fn readme(page: &Page<'_>) -> String {
    let mut text = String::new();
    paragraph(&mut text, format_args!("# {}", page.source.title));
    if page.analysis.subject.signature.is_some() {
        how_it_fails(&mut text, page);
        why_it_is_wrong(&mut text, page);
    } else {
        what_it_is(&mut text, page.analysis.subject);
    }
    reproduction(&mut text, page);
    environment_block(&mut text, page.analysis.subject);
    other_devices(&mut text, page.analysis.subject);
    variants(&mut text, page.analysis.subject);
    switches(&mut text, page.analysis.subject);
    neighbour(&mut text, page.analysis.subject);
    contents(&mut text, page);
    program(&mut text, page.source);
    let _ = writeln!(text, "Made by {}.", page.analysis.subject.versions);
    text
}

/// Text, and an empty line after it.
fn paragraph(text: &mut String, what: impl Display) {
    let _ = writeln!(text, "{what}\n");
}

fn what_it_is(text: &mut String, subject: &Subject) {
    paragraph(text, "## What it is");
    if subject.case.about.is_empty() {
        paragraph(text, "A program whose result follows from the specifications.");
    } else {
        paragraph(text, &subject.case.about);
    }
    if let Some(device) = &subject.device {
        paragraph(text, format_args!("On {}: {}.", device.name, first_line(&subject.report)));
    }
    paragraph(
        text,
        match subject.basis {
            Basis::Observed { .. } => {
                "The expected values are for the lanes and subgroups that this device gives the invocations.".into()
            }
            Basis::Linear(size) => format!("The expected values are for subgroups of {size} consecutive invocations."),
            Basis::Nothing => "No values are expected: it only has to run to its end.".into(),
        },
    );
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end_matches('.')
}

fn how_it_fails(text: &mut String, page: &Page<'_>) {
    paragraph(text, "## How it fails");
    if let Some(wrong_step) = &page.analysis.wrong_step {
        step(text, wrong_step);
    } else if page.analysis.faults.is_empty() {
        paragraph(text, fenced(page.analysis.subject.report.trim_end(), ""));
        if let Some(program) = short_program(page.source.case) {
            paragraph(
                text,
                format_args!(
                    "The program, after what every shader of tangle begins with:\n\n{}",
                    fenced(&program, "glsl")
                ),
            );
        }
    }
    if !page.analysis.faults.is_empty() {
        paragraph(text, "The subgroup built-ins contradict each other or the specification before any control flow:");
        let faults =
            page.analysis.faults.iter().map(|fault| format!("- {}", fault.describe(&page.source.case.entry_point)));
        paragraph(text, lines(faults));
    }
    if let Some(made) = how_made(page.source.case, &page.source.case.variant) {
        paragraph(text, made);
    }
    if let Some(rate) = page.analysis.subject.rate {
        paragraph(text, format_args!("It fails in {} of {} runs.", rate.failed, rate.runs));
    }
}

/// What is done to the module on its way to the driver, if anything.
fn how_made(case: &Case, variant: &Variant) -> Option<String> {
    match variant {
        Variant::Compiled(Compiled { by, then }) => {
            let mut made = format!("The module is what the compiler `{by}` makes of the {}.", by.language.title());
            if let Some(command) = command(case) {
                made += &format!(" Its command line: `{command}`.");
            }
            Some(how_made(case, then).map_or(made.clone(), |then| format!("{made} {then}")))
        }
        Variant::Unoptimised | Variant::Module => None,
        Variant::DriverUnoptimised => {
            Some("The pipeline is created with `VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT`.".into())
        }
        Variant::Printed(Printing { freedoms, .. }) => {
            let names: Vec<&str> = freedoms.iter().map(|freedom| freedom.name()).collect();
            let freedoms = if names.is_empty() { String::new() } else { format!(" (freedoms: {})", names.join(", ")) };
            Some(format!(
                "The module does not come from the GLSL, which is for reading: tangle's SPIR-V printer makes it{freedoms}. It is \
                 `shader.spvasm`."
            ))
        }
        optimised => Some(format!(
            "The module is what `spirv-opt {}` makes of the front end's. What goes wrong may be the optimiser's fault.",
            optimised.flags().join(" ")
        )),
    }
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn step(text: &mut String, wrong_step: &WrongStep) {
    if let Some(trace) = &wrong_step.trace {
        paragraph(text, format_args!("{}.", capital(trace)));
    }
    paragraph(
        text,
        format_args!("{} ({}); first at {}:", capital(&wrong_step.headline), wrong_step.extent, wrong_step.place),
    );
    if !wrong_step.excerpt.is_empty() {
        let width = wrong_step.excerpt.last().map_or(1, |(line, _)| line.to_string().len());
        let numbered = wrong_step.excerpt.iter().map(|(line, source)| {
            let mark = if *line == wrong_step.line { '>' } else { ' ' };
            format!("{mark} {line:width$} | {source}").trim_end().to_owned()
        });
        paragraph(text, fenced(&lines(numbered), ""));
    }
    strips(text, wrong_step);
    lane_table(text, wrong_step);
    let origins = wrong_step.origins.iter().map(|origin| {
        let from = match &origin.from {
            Some((step, source)) => format!("step {} (`{source}`)", step + 1),
            None => "the start of the program".into(),
        };
        format!("- {}: from {from}", lane_list(&origin.lanes))
    });
    paragraph(text, format_args!("The step before:\n\n{}", lines(origins)));
}

fn strips(text: &mut String, wrong_step: &WrongStep) {
    if wrong_step.strips.is_empty() {
        return;
    }
    let size = wrong_step.strips.iter().map(|strip| strip.lanes.len()).max().unwrap_or(0).max("expected".len());
    let mut rows = vec![format!("{:12} {:size$}  actual", "", "expected")];
    let (shown, left_out) = wrong_step.shown_strips();
    for strip in shown {
        let name = format!("subgroup {}", strip.subgroup);
        rows.push(format!("{name:12} {:size$}  {}", strip.expected(), strip.actual()).trim_end().to_owned());
    }
    if left_out > 0 {
        rows.push(format!("... and {left_out} more subgroups"));
    }
    let _ =
        write!(text, "The lanes at this step, lane 0 at the left:\n\n{}\n`{LEGEND}`\n\n", fenced(&rows.join("\n"), ""));
}

fn lane_table(text: &mut String, wrong_step: &WrongStep) {
    if let Some(what) = wrong_step.all_left() {
        paragraph(text, format_args!("Instead, each of these lanes {what}."));
        return;
    }
    let columns: String = wrong_step.columns.iter().map(|column| format!(" `{column}` expected | found |")).collect();
    if wrong_step.columns.is_empty() {
        text.push_str("| subgroup | lane | invocation | instead |\n|---:|---:|---:|---|\n");
    } else {
        let rule = "---:|".repeat(3 + 2 * wrong_step.columns.len());
        let _ = writeln!(text, "| subgroup | lane | invocation |{columns}\n|{rule}");
    }
    for LaneRow { subgroup, lane, index, result } in wrong_step.rows.iter().take(ROWS_SHOWN) {
        let cells = match result {
            LaneResult::Left(where_to) => format!(" {where_to} |"),
            LaneResult::Logged(cells) => cells.iter().map(value_cells).collect(),
        };
        let _ = writeln!(text, "| {subgroup} | {lane} | {index} |{cells}");
    }
    text.push('\n');
    if wrong_step.rows.len() > ROWS_SHOWN {
        paragraph(text, format_args!("... and {} more lanes.", wrong_step.rows.len() - ROWS_SHOWN));
    }
    if wrong_step.left_out > 0 {
        paragraph(
            text,
            format_args!(
                "{} more values are logged here; in all of these lanes they are right or open.",
                wrong_step.left_out
            ),
        );
    }
}

fn value_cells((expected, found): &(Option<String>, String)) -> String {
    match expected {
        None => format!(" open | {found} |"),
        Some(expected) if expected == found => format!(" {expected} | {found} |"),
        Some(expected) => format!(" {expected} | **{found}** |"),
    }
}

fn why_it_is_wrong(text: &mut String, page: &Page<'_>) {
    let rules = &page.analysis.rules;
    if rules.is_empty() {
        return;
    }
    paragraph(text, "## Why this is wrong");
    for rule in rules {
        let (heading, Rule { quote, because, .. }) = (rule.heading(), rule);
        if quote.is_empty() {
            paragraph(text, format_args!("- {heading}: {because}"));
        } else {
            paragraph(text, format_args!("- {heading}:\n\n  > {quote}\n\n  {because}"));
        }
    }
}

/// The command line of the compiler that makes the case's module, if it is another than glslang with GLSL.
fn command(case: &Case) -> Option<String> {
    let row = tangle_compilers::row(case.variant.front_end()?)?;
    (row.command)(case.entry_point.spirv, case.entry_point.stage)
}

fn reproduction(text: &mut String, page: &Page<'_>) {
    paragraph(text, "## Reproduce");
    if !page.made.contains(&"repro.c") {
        if page.analysis.subject.case.variant.is_printed() {
            return paragraph(text, "There is no valid module: the failure is in tangle's own printer of SPIR-V.");
        }
        paragraph(text, "There is no module: the failure is in the compiler.");
        if let Some(command) = command(page.source.case) {
            return paragraph(text, fenced(&command, "sh"));
        }
        let flags = page.source.case.variant.flags().join(" ");
        let optimise =
            if flags.is_empty() { String::new() } else { format!("spirv-opt {flags} shader.spv -o shader.spv && ") };
        let command = &format!(
            "glslangValidator --target-env vulkan1.3 shader.{} -o shader.spv && {optimise}spirv-val shader.spv",
            page.source.case.extension()
        );
        return paragraph(text, fenced(command, "sh"));
    }
    let mut commands = String::from("cc repro.c -lvulkan -o repro\n./repro");
    if let Some(device) = page.analysis.subject.device.as_ref().filter(|_| page.analysis.subject.signature.is_some()) {
        let _ = write!(commands, " {}", shell_word(environment::device_name(device)));
    }
    paragraph(text, fenced(&commands, "sh"));
    paragraph(
        text,
        "`repro` needs nothing but the Vulkan loader. It exits with 0 if the device is right, 1 if it is not, and 77 if the device \
         lacks something or places invocations in other lanes or subgroups than the expected values are for. The arguments are a part \
         of the device's name, and a number of runs.",
    );
    let runtime = page.analysis.subject.device.as_ref().and_then(|device| device.info["webgpu"]["runtime"].as_str());
    if let Some(runtime) = runtime {
        paragraph(
            text,
            format_args!(
                "This was found with {runtime}, a WebGPU runtime, which got `shader.wgsl`. `repro` runs on Vulkan what the compiler makes of it by \
                 itself, without the runtime: where it is right, the runtime gives the driver another module, or runs it in another way.",
            ),
        );
    }
    let start = page.analysis.subject.device.as_ref().map_or("", |device| &device.start);
    if !start.is_empty() {
        paragraph(text, "Where this was found, programs are started on the driver like this (folders are left out):");
        paragraph(text, fenced(start, "sh"));
    }
    let others = [("case.amber", amber::command(page.needs)), ("case.shader_test", vkrunner::COMMAND.to_owned())];
    let others = others.into_iter().filter(|(file, _)| page.made.contains(file)).map(|(_, command)| command);
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        paragraph(text, "Or with other tools:");
        paragraph(text, fenced(&others.join("\n"), "sh"));
    }
}

fn environment_block(text: &mut String, subject: &Subject) {
    paragraph(text, "## Environment");
    let rows = environment::properties(subject.device.as_ref()).into_iter().map(|(what, value)| {
        let value = if value.is_empty() { "(fill in)".into() } else { value };
        format!("| {what} | {value} |")
    });
    paragraph(text, format_args!("| | |\n|---|---|\n{}", lines(rows)));
}

fn other_devices(text: &mut String, subject: &Subject) {
    if subject.others.is_empty() {
        return;
    }
    paragraph(text, "## The same program elsewhere");
    let rows = subject.others.iter().map(|Elsewhere { device, driver, version, result, .. }| {
        format!("| {device} | {} | {result} |", format!("{driver} {version}").trim())
    });
    paragraph(text, format_args!("| device | driver | result |\n|---|---|---|\n{}", lines(rows)));
    let info = subject.device.as_ref().filter(|_| subject.signature.is_some()).map(|device| &device.info);
    if let Some(versions) = info.and_then(|info| versions(info, &subject.others)) {
        paragraph(text, versions);
    }
}

/// Which versions of the device's own driver are wrong, and which are right; `None` if no other than its own was tried.
fn versions(info: &serde_json::Value, others: &[Elsewhere]) -> Option<String> {
    let DriverId { name: driver, version: own } = DriverId::of(info);
    if driver.is_empty() || own.is_empty() {
        return None;
    }
    let family = || others.iter().filter(|other| other.driver == driver);
    let of = |is_right| family().filter(move |other| other.is_right == Some(is_right)).map(|o| o.version.as_str());
    let wrong: BTreeSet<&str> = of(false).chain([own.as_str()]).collect();
    let right: BTreeSet<&str> = of(true).filter(|version| !wrong.contains(version)).collect();
    let listed = |versions: &BTreeSet<&str>| versions.iter().copied().collect::<Vec<_>>().join("; ");
    if wrong.len() + right.len() < 2 {
        return None;
    }
    let right = if right.is_empty() { "none that was tried".into() } else { listed(&right) };
    Some(format!("Versions of {driver} that are wrong: {}. Right: {right}.", listed(&wrong)))
}

fn variants(text: &mut String, subject: &Subject) {
    let Some(table) = &subject.variants else { return };
    paragraph(text, "## Which stage is to blame");
    if let Some(blame) = subject.device.as_ref().and_then(|device| table.blame(&device.name)) {
        paragraph(text, format_args!("{blame}."));
    }
    let heads: String = table.columns.iter().map(|column| format!(" {} |", column.device)).collect();
    let rows = table.rows.iter().map(|row| {
        let cells: String = row.cells.iter().map(|cell| format!(" {} |", cell.text.replace('|', "\\|"))).collect();
        format!("| {} |{cells}", row.made)
    });
    let rule = "---|".repeat(table.columns.len() + 1);
    paragraph(text, format_args!("| variant |{heads}\n|{rule}\n{}", lines(rows)));
}

fn switches(text: &mut String, subject: &Subject) {
    let Some(switches) = &subject.switches else { return };
    paragraph(text, "## What makes it pass");
    paragraph(text, switches.sentences());
}

fn neighbour(text: &mut String, subject: &Subject) {
    let Some(neighbour) = &subject.neighbour else { return };
    paragraph(text, "## The nearest program that passes");
    paragraph(text, fenced(&difference(&subject.shader.source, &tangle_emit::source(neighbour)), "diff"));
    if launch_differs(&subject.case, neighbour) {
        paragraph(text, "Its data or its launch differ, too.");
    }
}

fn launch_differs(case: &Case, neighbour: &Case) -> bool {
    case.entry_point != neighbour.entry_point || case.data != neighbour.data
}

fn contents(text: &mut String, page: &Page<'_>) {
    paragraph(text, "## In this folder");
    let mut made: Vec<(usize, &str)> =
        page.made.iter().chain(&["README.md"]).filter_map(|name| Some((row(name)?, *name))).collect();
    made.sort_unstable();
    let rows = made.into_iter().map(|(row, name)| format!("| `{name}` | {} |", FILES[row].1));
    paragraph(text, format_args!("| file | is |\n|---|---|\n{}", lines(rows)));
    if !page.made.contains(&"repro.c") {
        return;
    }
    paragraph(text, "`repro.c` carries everything. What the other formats cannot carry:");
    for (file, limits) in limits(page.source, page.needs) {
        paragraph(text, format_args!("`{file}`"));
        paragraph(text, lines(limits.into_iter().map(|limit| format!("- {limit}"))));
    }
}

fn program(text: &mut String, source: &Source<'_>) {
    if source.text.lines().count() <= LINES_SHOWN {
        let code = fenced(source.text.trim_end(), source.case.variant.language().name());
        paragraph(text, format_args!("<details>\n<summary>The program</summary>\n\n{code}\n\n</details>"));
    }
}

/// What each format cannot carry of a case: the file, and one line for each thing.
fn limits(source: &Source<'_>, needs: &Needs) -> [(&'static str, Vec<String>); 2] {
    let of = |lacks: Option<&str>, limits: &dyn Fn() -> Vec<String>| {
        lacks.map_or_else(limits, |why| vec![format!("{}.", capital(why))])
    };
    [
        ("case.amber", of(amber::lacks(source.case), &|| amber::limits(source, needs))),
        ("case.shader_test", of(vkrunner::lacks(source.case), &|| vkrunner::limits(source, needs))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_same_driver_are_kept_apart() {
        let info = serde_json::json!({ "driver_name": "m", "driver_info": "22" });
        let other = |driver: &str, version: &str, is_right| Elsewhere {
            device: "d".into(),
            driver: driver.into(),
            version: version.into(),
            result: String::new(),
            is_right,
        };
        let table = [
            (vec![], None),
            (vec![other("n", "25", Some(true)), other("m", "25", None)], None),
            // The same version with other lanes.
            (vec![other("m", "22", Some(true))], None),
            (vec![other("m", "25", Some(true)), other("n", "26", Some(true))], Some("wrong: 22. Right: 25.")),
            (vec![other("m", "21", Some(false))], Some("wrong: 21; 22. Right: none that was tried.")),
        ];
        for (others, text) in table {
            let found = versions(&info, &others);
            assert_eq!(found, text.map(|text| format!("Versions of m that are {text}")), "{others:?}");
        }
    }
}
