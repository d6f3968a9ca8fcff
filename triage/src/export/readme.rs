//! `README.md`: ready to paste into a bug tracker.

use std::fmt::Write as _;

use tangle_oracle::map::MapFault;
use tangle_program::case::Case;
use tangle_program::needs::Needs;

use super::{Basis, FILES, Source, Subject, amber, environment, limits, vkrunner};
use crate::rule::{self, Rule};
use crate::tell::{Did, LEGEND, Row, Telling, lane_list};

/// Wrong lanes shown in the table, and subgroups shown as strips; the rest is counted.
const ROWS_SHOWN: usize = 32;
/// Longest program that is put into the text.
const LINES_SHOWN: usize = 400;

/// Everything the text is made from.
pub(super) struct Page<'a> {
    pub subject: &'a Subject<'a>,
    pub source: &'a Source<'a>,
    pub telling: Option<&'a Telling>,
    pub faults: &'a [MapFault],
    pub needs: &'a Needs,
    /// The other files of the bundle.
    pub made: &'a [&'a str],
}

/// The text.
pub(super) fn readme(page: &Page<'_>) -> String {
    let mut text = format!("# {}\n", page.source.title);
    how_it_fails(&mut text, page);
    why_it_is_wrong(&mut text, page);
    reproduction(&mut text, page);
    environment_block(&mut text, page.subject);
    other_devices(&mut text, page.subject);
    neighbour(&mut text, page.subject);
    contents(&mut text, page);
    program(&mut text, page.subject.glsl);
    let _ = writeln!(text, "\nMade by {}.", page.subject.versions);
    text
}

fn how_it_fails(text: &mut String, page: &Page<'_>) {
    let subject = page.subject;
    if subject.signature.is_none() {
        let _ = writeln!(text, "\n## What it is\n\n{}\n", indented_report(subject));
        let _ = writeln!(text, "{}", expectation_note(subject));
        return;
    }
    text.push_str("\n## How it fails\n\n");
    if let Some(telling) = page.telling {
        step(text, telling);
    } else if page.faults.is_empty() {
        let _ = writeln!(text, "{}", fenced(subject.report.trim_end(), ""));
    }
    if !page.faults.is_empty() {
        text.push_str("The subgroup built-ins contradict each other or the specification before any control flow:\n\n");
        for fault in page.faults {
            let _ = writeln!(text, "- workgroup {}: {}", fault.workgroup, fault.seen);
        }
        text.push('\n');
    }
    if let Some(rate) = subject.rate {
        let _ = writeln!(text, "It fails in {} of {} runs.", rate.failed, rate.runs);
    }
}

fn indented_report(subject: &Subject<'_>) -> String {
    match (subject.case.about.as_str(), &subject.device) {
        ("", None) => "A program whose result follows from the specifications.".into(),
        (about, None) => about.into(),
        ("", Some(device)) => format!("On {}: {}.", device.name, first_line(subject.report)),
        (about, Some(device)) => format!("{about}\n\nOn {}: {}.", device.name, first_line(subject.report)),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end_matches('.')
}

fn expectation_note(subject: &Subject<'_>) -> String {
    match subject.basis {
        Basis::Observed { .. } => {
            "The expected values are for the lanes and subgroups that this device gives the invocations.".into()
        }
        Basis::Linear(size) => format!("The expected values are for subgroups of {size} consecutive invocations."),
        Basis::Nothing => "No values are expected: it only has to run to its end.".into(),
    }
}

fn step(text: &mut String, telling: &Telling) {
    let _ = writeln!(text, "{}; first at {}:\n", telling.headline, telling.place);
    if !telling.excerpt.is_empty() {
        let width = telling.excerpt.last().map_or(1, |(line, _)| line.to_string().len());
        let lines = telling.excerpt.iter().map(|(line, source)| {
            let mark = if *line == telling.line { '>' } else { ' ' };
            format!("{mark} {line:width$} | {source}").trim_end().to_owned()
        });
        let _ = writeln!(text, "{}", fenced(&lines.collect::<Vec<_>>().join("\n"), ""));
    }
    strips(text, telling);
    lane_table(text, telling);
    for origin in &telling.origins {
        let from = match &origin.from {
            Some((step, source)) => format!("step {} (`{source}`)", step + 1),
            None => "the start of the program".into(),
        };
        let _ = writeln!(text, "- {}: came from {from}", lane_list(&origin.lanes));
    }
    text.push('\n');
}

fn strips(text: &mut String, telling: &Telling) {
    if telling.strips.is_empty() {
        return;
    }
    let size = telling.strips.iter().map(|strip| strip.lanes.len()).max().unwrap_or(0).max(12);
    let mut lines = vec![format!("{:12} {:size$}  came", "", "have to come")];
    // Those that show the failure first, if not all can be shown.
    let mut shown: Vec<_> = telling.strips.iter().collect();
    shown.sort_by_key(|strip| strip.is_right());
    shown.truncate(ROWS_SHOWN);
    shown.sort_by_key(|strip| strip.subgroup);
    for strip in &shown {
        let name = format!("subgroup {}", strip.subgroup);
        lines.push(format!("{name:12} {:size$}  {}", strip.expected(), strip.found()).trim_end().to_owned());
    }
    if shown.len() < telling.strips.len() {
        lines.push(format!("... and {} more subgroups", telling.strips.len() - shown.len()));
    }
    let _ = writeln!(
        text,
        "The lanes at this step, lane 0 at the left:\n\n{}\n`{LEGEND}`\n",
        fenced(&lines.join("\n"), "")
    );
}

fn lane_table(text: &mut String, telling: &Telling) {
    let columns: String = telling.columns.iter().map(|column| format!(" `{column}` expected | found |")).collect();
    let rule = "---:|".repeat(3 + 2 * telling.columns.len());
    if telling.columns.is_empty() {
        text.push_str("| subgroup | lane | invocation | instead |\n|---:|---:|---:|---|\n");
    } else {
        let _ = writeln!(text, "| subgroup | lane | invocation |{columns}\n|{rule}");
    }
    for Row { subgroup, lane, local_index, did } in telling.rows.iter().take(ROWS_SHOWN) {
        let cells = match did {
            Did::Left(where_to) => format!(" {where_to} |"),
            Did::Logged(cells) => cells.iter().map(value_cells).collect(),
        };
        let _ = writeln!(text, "| {subgroup} | {lane} | {local_index} |{cells}");
    }
    if telling.rows.len() > ROWS_SHOWN {
        let _ = writeln!(text, "\n... and {} more lanes.", telling.rows.len() - ROWS_SHOWN);
    }
    if telling.left_out > 0 {
        let _ = writeln!(text, "\n{} other logged values are right or open in all of these lanes.", telling.left_out);
    }
    text.push('\n');
}

fn value_cells((expected, found): &(Option<String>, String)) -> String {
    match expected {
        None => format!(" open | {found} |"),
        Some(expected) if expected == found => format!(" {expected} | {found} |"),
        Some(expected) => format!(" {expected} | **{found}** |"),
    }
}

fn why_it_is_wrong(text: &mut String, page: &Page<'_>) {
    let rules = broken_rules(page);
    if rules.is_empty() {
        return;
    }
    text.push_str("\n## Why this is wrong\n\n");
    for Rule { source, quote, because } in rules {
        let _ = writeln!(text, "- {source}:{}", if quote.is_empty() { format!(" {because}") } else { String::new() });
        if !quote.is_empty() {
            let _ = writeln!(text, "  > {quote}\n\n  {because}");
        }
    }
}

fn broken_rules(page: &Page<'_>) -> Vec<Rule> {
    let Some(signature) = page.subject.signature else { return Vec::new() };
    let mut rules = Vec::new();
    if let Some((account, first)) = page.source.account.and_then(|account| Some((account, account.first()?))) {
        rules.extend(rule::of_step(account, &first));
    }
    rules.extend(page.faults.iter().map(|fault| rule::of_map(fault.rule)));
    rules.extend(rule::of_failure(signature.kind));
    rules.dedup();
    rules
}

fn reproduction(text: &mut String, page: &Page<'_>) {
    text.push_str("\n## Reproduce\n\n");
    if !page.made.contains(&"repro.c") {
        let command = "glslangValidator --target-env vulkan1.3 shader.comp -o shader.spv && spirv-val shader.spv";
        let _ = writeln!(text, "There is no module: the failure is in the compiler.\n\n{}", fenced(command, "sh"));
        return;
    }
    let start = page.subject.device.map_or("", |device| device.start);
    let mut commands = String::from("cc repro.c -lvulkan -o repro\n./repro");
    if let Some(device) = page.subject.device.filter(|_| page.subject.signature.is_some()) {
        let _ = write!(commands, " {}", quoted(super::environment::device_name(&device)));
    }
    let _ = writeln!(text, "{}", fenced(&commands, "sh"));
    text.push_str(
        "`repro` needs nothing but the Vulkan loader. It exits with 0 if the device is right, 1 if it is not, and 77 if the device \
         lacks something or places invocations in other lanes or subgroups than the expected values are for. The arguments are a part \
         of the device's name, and a number of runs.\n",
    );
    if !start.is_empty() {
        let _ = writeln!(
            text,
            "\nWhere this was found, programs are started on the driver like this:\n\n{}",
            fenced(start, "sh")
        );
    }
    let _ = writeln!(
        text,
        "Or with other tools:\n\n{}",
        fenced(&format!("{}\n{}", amber::command(page.needs), vkrunner::COMMAND), "sh")
    );
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn environment_block(text: &mut String, subject: &Subject<'_>) {
    text.push_str("\n## Environment\n\n| | |\n|---|---|\n");
    for (what, value) in environment::rows(subject.device.as_ref()) {
        let _ = writeln!(text, "| {what} | {} |", if value.is_empty() { "(fill in)" } else { &value });
    }
}

fn other_devices(text: &mut String, subject: &Subject<'_>) {
    if subject.others.is_empty() {
        return;
    }
    text.push_str("\n## The same program elsewhere\n\n| device | result |\n|---|---|\n");
    for (device, verdict) in &subject.others {
        let _ = writeln!(text, "| {device} | {verdict} |");
    }
}

fn neighbour(text: &mut String, subject: &Subject<'_>) {
    let Some(neighbour) = subject.neighbour else { return };
    let difference = difference(subject.glsl, &tangle_program::glsl::glsl(neighbour));
    let _ = writeln!(text, "\n## The nearest program that passes\n\n{}", fenced(&difference, "diff"));
    if launch_differs(subject.case, neighbour) {
        text.push_str("Its data or its launch differ, too.\n");
    }
}

fn launch_differs(case: &Case, neighbour: &Case) -> bool {
    case.launch != neighbour.launch || case.data != neighbour.data
}

/// The lines that differ, with a few around them.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // Length of the longest common subsequence of the rests.
    let mut common = vec![vec![0u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] =
                if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    around_changes(&lines)
}

fn around_changes(lines: &[(char, &str)]) -> String {
    const AROUND: usize = 3;
    let near = |i: usize| {
        lines[i.saturating_sub(AROUND)..lines.len().min(i + AROUND + 1)].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut text = String::new();
    let mut gap = false;
    for (i, (mark, line)) in lines.iter().enumerate() {
        if near(i) {
            if gap && !text.is_empty() {
                text.push_str("...\n");
            }
            let _ = writeln!(text, "{}", format!("{mark}{line}").trim_end());
        }
        gap = !near(i);
    }
    text.trim_end().to_owned()
}

fn contents(text: &mut String, page: &Page<'_>) {
    text.push_str("\n## In this folder\n\n| file | is |\n|---|---|\n");
    for (name, what) in FILES.iter().filter(|(name, _)| page.made.contains(name)) {
        let _ = writeln!(text, "| `{name}` | {what} |");
    }
    if !page.made.contains(&"repro.c") {
        return;
    }
    text.push_str("\n`repro.c` carries everything. What the other formats cannot carry:\n");
    for (file, limits) in limits(page.needs) {
        let _ = writeln!(text, "\n`{file}`\n");
        for limit in limits {
            let _ = writeln!(text, "- {limit}");
        }
    }
}

fn program(text: &mut String, glsl: &str) {
    if glsl.lines().count() > LINES_SHOWN {
        return;
    }
    let _ = writeln!(
        text,
        "\n<details>\n<summary>The program (shader.comp)</summary>\n\n{}</details>",
        fenced(glsl.trim_end(), "glsl")
    );
}

/// A block of code. The fence is longer than any in the code.
fn fenced(code: &str, language: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{code}\n{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_show_the_lines_around() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
        for (new, text) in [
            (old.replace("e\n", ""), " b\n c\n d\n-e\n f\n g\n h"),
            (old.replace("b\n", "x\n").replace("m\n", ""), " a\n-b\n+x\n c\n d\n e\n...\n j\n k\n l\n-m"),
        ] {
            assert_eq!(difference(old, &new), text);
        }
    }

    #[test]
    fn a_fence_is_longer_than_those_inside() {
        assert_eq!(fenced("a\n```\nb", "c"), "````c\na\n```\nb\n````\n");
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("it's (LLVM)"), r"'it'\''s (LLVM)'");
    }
}
