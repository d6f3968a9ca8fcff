//! Plain text, as on a terminal: a finding, the end of a campaign, the summary of a replay.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tangle_identity::account::State;
use tangle_identity::rule::Rule;

use super::traits::{ReportError, Reporter};
use crate::campaign::Campaign;
use crate::module::ModuleReport;
use crate::replay::Replay;
use crate::statistics::{BugEntry, DeviceEntry, PanicEntry, SignatureEntry};
use crate::subject::Analysis;
use crate::text::{shortened, thousands};
use crate::wrong_step::{
    LEGEND, LaneResult, LaneRow, Origin, Strip, WrongStep, is_expected, lane_list, mark, short_program,
};

/// Wrong lanes shown; the rest is counted.
const ROWS_SHOWN: usize = 32;

/// Whether the text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// With the sixteen colours every terminal has.
    Ansi,
    /// Without colours.
    Plain,
}

/// A way to set off text.
#[derive(Clone, Copy)]
enum Style {
    Bold,
    Faint,
    Right,
    Wrong,
    Elsewhere,
}

impl Colour {
    fn paint(self, style: Style, text: impl AsRef<str>) -> String {
        let text = text.as_ref();
        let code = match style {
            Style::Bold => "1",
            Style::Faint => "2",
            Style::Right => "32",
            Style::Wrong => "1;31",
            Style::Elsewhere => "33",
        };
        match self {
            Colour::Ansi if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

/// Text for a terminal or a file.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Whether findings are coloured.
    pub colour: Colour,
}

impl Text {
    /// Text without colours, for files.
    pub const PLAIN: Text = Text { colour: Colour::Plain };
}

impl Reporter for Text {
    fn finding(&self, finding: &Analysis<'_>) -> Result<Option<String>, ReportError> {
        let Text { colour } = *self;
        let subject = finding.subject;
        let device = subject.device.as_ref().map_or("no device", |device| &device.name);
        let Some(signature) = &subject.signature else {
            return Ok(Some(format!("{device}: nothing is wrong\n{}\n", subject.report.trim_end())));
        };
        let mut text = format!("{signature} on {device}\n\n");
        for fault in &finding.faults {
            let _ = writeln!(text, "lane map, {}", fault.describe(&subject.case.entry_point));
        }
        match &finding.wrong_step {
            Some(wrong_step) => text += &step(wrong_step, colour),
            // A crash, a time-out: there are no steps.
            None if finding.faults.is_empty() => {
                let program = short_program(&subject.case).map_or(String::new(), |program| format!("\n{program}\n"));
                let _ = write!(text, "{}\n{program}", subject.report.trim_end());
            }
            None => {}
        }
        why(&mut text, &finding.rules, colour);
        if let Some(switches) = &subject.switches {
            let _ = writeln!(text, "\n{}", switches.sentences());
        }
        if let Some(table) = &subject.variants {
            let blame = table.blame(device).map_or(String::new(), |blame| format!("stage to blame: {blame}\n"));
            let _ = writeln!(text, "\n{blame}{}", table.to_string().trim_end());
        }
        Ok(Some(text))
    }

    fn campaign(&self, campaign: &Campaign) -> Result<Option<String>, ReportError> {
        let device =
            |(name, device): (&String, &DeviceEntry)| line(&format!("{name}: {}", counts(device))) + &lacking(device);
        let devices = campaign.statistics.devices.iter().map(device).collect();
        let sections = [
            (panics(campaign), "panics of tangle", 4),
            (bugs(campaign), "bugs", 15),
            (not_minimized(campaign), "signatures that are not minimised", 6),
            (devices, "devices", 8),
            (rest(campaign), "known bugs, changes of versions and flakes", 7),
        ];
        let (mut text, mut left) = (String::new(), 0);
        for (items, what, most) in sections {
            let shown = some(&items, what, left + most, campaign);
            left = (left + most).saturating_sub(rows(&shown));
            text += &shown;
        }
        Ok(Some(text))
    }

    fn replay(&self, replay: &Replay) -> Result<Option<String>, ReportError> {
        Ok(Some(replay.summary()))
    }

    fn module(&self, module: &ModuleReport) -> Result<Option<String>, ReportError> {
        let mut text = format!("{}\n\n{}\n\n", module.title, module.what.trim_end());
        for (what, value) in module.all_facts() {
            let _ = writeln!(text, "{what}: {value}");
        }
        let _ = writeln!(text, "\n{}\n{}\n\n{}", module.command, module.without_tangle, module.assembly.trim_end());
        Ok(Some(text))
    }
}

/// The first wrong step.
pub fn step(wrong_step: &WrongStep, colour: Colour) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{} ({})", colour.paint(Style::Bold, &wrong_step.headline), wrong_step.extent);
    if let Some(trace) = &wrong_step.trace {
        wrapped(&mut text, trace);
    }
    let _ = writeln!(text, "first at {}", wrong_step.place);
    excerpt(&mut text, wrong_step, colour);
    strips(&mut text, wrong_step, colour);
    lanes(&mut text, wrong_step, colour);
    origins(&mut text, &wrong_step.origins);
    text
}

/// Why something is wrong: the rules that are broken.
fn why(text: &mut String, rules: &[Rule], colour: Colour) {
    if rules.is_empty() {
        return;
    }
    text.push_str("\nwhy this is wrong\n");
    for rule in rules {
        let _ = writeln!(text, "  {}", colour.paint(Style::Bold, rule.heading()));
        if !rule.quote.is_empty() {
            wrapped(text, &format!("\"{}\"", rule.quote));
        }
        wrapped(text, &rule.because);
    }
}

fn excerpt(text: &mut String, wrong_step: &WrongStep, colour: Colour) {
    let width = wrong_step.excerpt.last().map_or(1, |(line, _)| line.to_string().len());
    text.push('\n');
    for (line, source) in &wrong_step.excerpt {
        let number = format!("{line:width$} |");
        let shown = if *line == wrong_step.line {
            colour.paint(Style::Wrong, format!("> {number} {source}"))
        } else {
            format!("  {} {source}", colour.paint(Style::Faint, number))
        };
        let _ = writeln!(text, "{}", shown.trim_end());
    }
}

fn strips(text: &mut String, wrong_step: &WrongStep, colour: Colour) {
    if wrong_step.strips.is_empty() {
        return;
    }
    let size = wrong_step.strips.iter().map(|strip| strip.lanes.len()).max().unwrap_or(0).max("expected".len());
    let head = format!("{:12} {:size$}  actual (lane 0 at the left)", "lanes", "expected");
    let _ = writeln!(text, "\n{}", colour.paint(Style::Bold, head));
    let (shown, left_out) = wrong_step.shown_strips();
    for strip in shown {
        let name = format!("subgroup {}", strip.subgroup);
        let padding = " ".repeat(size - strip.lanes.len());
        let expected =
            painted(strip, colour, |state| if is_expected(state) { ('#', Style::Right) } else { ('.', Style::Faint) });
        let actual = painted(strip, colour, |state| (mark(state), style(state)));
        let _ = writeln!(text, "{name:12} {expected}{padding}  {actual}");
    }
    if left_out > 0 {
        let _ = writeln!(text, "... and {left_out} more subgroups");
    }
    let _ = writeln!(text, "{}", colour.paint(Style::Faint, LEGEND));
}

const fn style(state: State) -> Style {
    match state {
        State::Absent | State::NotJudged => Style::Faint,
        State::Right | State::Open | State::Unseen => Style::Right,
        State::WrongValue => Style::Wrong,
        State::Missing | State::Intruder => Style::Elsewhere,
    }
}

/// The lanes of a strip, coloured; neighbours of one style share the codes.
fn painted(strip: &Strip, colour: Colour, look: impl Fn(State) -> (char, Style)) -> String {
    let looks = strip.lanes.iter().map(|lane| lane.map_or((' ', Style::Faint), &look));
    let mut parts: Vec<(Style, String)> = Vec::new();
    for (mark, style) in looks {
        match parts.last_mut() {
            Some((last, part)) if *last as u8 == style as u8 => part.push(mark),
            _ => parts.push((style, mark.into())),
        }
    }
    parts.iter().map(|(style, part)| colour.paint(*style, part)).collect()
}

fn lanes(text: &mut String, wrong_step: &WrongStep, colour: Colour) {
    if let Some(what) = wrong_step.all_left() {
        let _ = writeln!(text, "\ninstead, each of these lanes {what}");
        return;
    }
    let mut head = vec!["subgroup".to_owned(), "lane".into(), "invocation".into()];
    head.extend(wrong_step.columns.iter().cloned());
    if wrong_step.columns.is_empty() {
        head.push("instead".into());
    }
    let mut rows = vec![head.into_iter().map(|cell| (Style::Bold, cell)).collect::<Vec<_>>()];
    rows.extend(wrong_step.rows.iter().take(ROWS_SHOWN).map(table_row));
    text.push('\n');
    table(text, &rows, colour);
    if wrong_step.rows.len() > ROWS_SHOWN {
        let _ = writeln!(text, "... and {} more lanes", wrong_step.rows.len() - ROWS_SHOWN);
    }
    if wrong_step.left_out > 0 {
        let _ = writeln!(
            text,
            "{} more values are logged here; in all of these lanes they are right or open",
            wrong_step.left_out
        );
    }
}

fn table_row(row: &LaneRow) -> Vec<(Style, String)> {
    let place = [row.subgroup.to_string(), row.lane.to_string(), row.index.to_string()];
    let mut cells: Vec<(Style, String)> = place.into_iter().map(|cell| (Style::Faint, cell)).collect();
    match &row.result {
        LaneResult::Left(what) => cells.push((Style::Elsewhere, what.clone())),
        LaneResult::Logged(values) => cells.extend(values.iter().map(|(expected, found)| match expected {
            None => (Style::Faint, format!("{found} (open)")),
            Some(expected) if expected == found => (Style::Right, found.clone()),
            Some(expected) => (Style::Wrong, format!("{found}, not {expected}")),
        })),
    }
    cells
}

/// A table with columns as wide as they must be; the first three stand at the right.
fn table(text: &mut String, rows: &[Vec<(Style, String)>], colour: Colour) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.1.chars().count())).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(i, ((style, cell), &width))| {
            let padding = " ".repeat(width - cell.chars().count());
            let cell = colour.paint(*style, cell);
            if i < 3 { format!("{padding}{cell}") } else { format!("{cell}{padding}") }
        });
        let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

fn origins(text: &mut String, origins: &[Origin]) {
    text.push_str("\nthe step before\n");
    for origin in origins {
        let from = origin.from.as_ref().map_or_else(
            || "the start of the program".to_owned(),
            |(step, source)| format!("step {}, {source}", step + 1),
        );
        let _ = writeln!(text, "  {from}\n      {}", lane_list(&origin.lanes));
    }
}

/// Indented lines of at most 100 columns.
fn wrapped(text: &mut String, words: &str) {
    let mut line = String::from("   ");
    for word in words.split_whitespace() {
        if line.len() + word.len() >= 100 {
            let _ = writeln!(text, "{line}");
            line = String::from("   ");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

/// Columns of a terminal. A campaign's summary is no longer than the 40 rows of one: the page has all of it.
const COLUMNS: usize = 80;

/// Rows of a terminal that a text takes.
fn rows(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(COLUMNS).max(1)).sum()
}

/// As many items as go into so many rows, and how many more there are.
fn some(items: &[String], what: &str, most: usize, campaign: &Campaign) -> String {
    let mut text = String::new();
    for (at, item) in items.iter().enumerate() {
        let left = items.len() - at;
        let folder = campaign.folder.display();
        let more = line(&format!("{left} more {what}: `tangle report {folder} --out page.html` has all"));
        let all: usize = items[at..].iter().map(|item| rows(item)).sum();
        let taken = rows(&text);
        if taken + all > most && taken + rows(item) + rows(&more) > most {
            return text + &more;
        }
        text += item;
    }
    text
}

/// Longest line of a campaign's summary, in characters.
const WIDTH: usize = 160;

/// Where tangle itself failed.
fn panics(campaign: &Campaign) -> Vec<String> {
    let panics = &campaign.statistics.panics;
    let row = |entry: &PanicEntry| {
        let PanicEntry { device, message, programs, first_case } = entry;
        let place = campaign.folder.join(format!("panics/{first_case}.txt"));
        let text = format!("a bug of tangle: {message} ({} programs left out on {device}", thousands(*programs));
        line(&format!("{text}, the first in {})", place.display()))
    };
    panics.iter().map(row).collect()
}

fn bugs(campaign: &Campaign) -> Vec<String> {
    let row = |bug: &BugEntry| {
        let known = bug.known.as_ref().map_or(String::new(), |known| format!(" (known: {known})"));
        let flake = bug.flake.map_or(String::new(), |rate| format!(", fails {rate}"));
        let stage = campaign.other_to_blame(bug).map_or(String::new(), |stage| format!(" ({stage} to blame)"));
        let text = line(&format!(
            "bug on {}{stage}: {}{known}: {} findings, smallest {} statements{flake}",
            bug.device,
            bug.title(),
            thousands(campaign.statistics.cases_of(bug)),
            bug.statements
        ));
        text + &format!("  tangle explain {}\n", campaign.folder.join(&bug.representative).display())
    };
    campaign.bugs().into_iter().map(row).collect()
}

fn not_minimized(campaign: &Campaign) -> Vec<String> {
    let row = |entry: &SignatureEntry| {
        let SignatureEntry { device, signature, first_case, .. } = entry;
        let cases = match entry.cases {
            0 => "in the minimiser".to_owned(),
            cases => format!("{} cases, first {first_case}", thousands(cases)),
        };
        let mut text = line(&format!("not minimised: {device} {signature} ({cases})"));
        if let Some(folder) = entry.folders.first() {
            text += &format!("  tangle minimize {}\n", campaign.folder.join(folder).display());
        }
        text
    };
    campaign.not_explained().into_iter().map(row).collect()
}

fn rest(campaign: &Campaign) -> Vec<String> {
    let known = campaign.statistics.known.iter();
    let known = known
        .map(|known| line(&format!("known on {}: {} ({} cases)", known.device, known.bug, thousands(known.cases))));
    let flake = |flake: &SignatureEntry| {
        line(&format!(
            "flake on {}: {} ({} cases, first {}; not again when it ran alone)",
            flake.device,
            flake.signature,
            thousands(flake.cases),
            flake.first_case
        ))
    };
    let changes = campaign.sections.iter().map(|change| line(change));
    let mut items: Vec<String> = reasons(campaign).into_iter().chain(known).chain(changes).collect();
    items.extend(campaign.statistics.flakes.iter().map(flake));
    items
}

/// Why findings are not minimised, in a line.
fn reasons(campaign: &Campaign) -> Option<String> {
    let mut reasons = BTreeMap::<&str, usize>::new();
    campaign.not_minimized.values().for_each(|reason| *reasons.entry(reason).or_default() += 1);
    let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others = reasons.len().saturating_sub(3);
    let mut texts: Vec<String> =
        reasons.iter().take(3).map(|(reason, count)| format!("{count} × {}", shortened(reason, 60))).collect();
    if others > 0 {
        texts.push(format!("{others} other reasons"));
    }
    let count = campaign.not_minimized.len();
    (count > 0).then(|| line(&format!("{count} findings are not minimised: {}", texts.join("; "))))
}

fn line(text: &str) -> String {
    shortened(text, WIDTH) + "\n"
}

/// What most of the cases that a device cannot run need, in a line; empty if it can run all.
fn lacking(device: &DeviceEntry) -> String {
    let most = device.most_lacking();
    let shown: Vec<String> =
        most.iter().take(4).map(|(what, count)| format!("{what} ({} cases)", thousands(*count))).collect();
    if shown.is_empty() { String::new() } else { line(&format!("  lacks {}", shown.join(", "))) }
}

/// What a device did, in a line.
fn counts(device: &DeviceEntry) -> String {
    let verdicts: Vec<String> =
        device.verdicts.iter().map(|(verdict, n)| format!("{} {verdict}", thousands(*n))).collect();
    let mut text = format!("{} cases", thousands(device.cases));
    if !verdicts.is_empty() {
        let _ = write!(text, " ({})", verdicts.join(", "));
    }
    for (count, what) in [
        (device.unsupported, "not supported"),
        (device.left_out, "left out"),
        (device.avoided, "programs avoided"),
        (device.restarts, "workers replaced"),
        (device.slow, "slow"),
        (device.killed, "killed from outside"),
        (device.short_of_memory, "short of memory"),
        (device.unconfirmed, "time-outs like others"),
        (device.timed_out.len() as u64, "time-outs to be confirmed when the campaign goes on"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {} {what}", thousands(count));
        }
    }
    let counts = device.counts;
    let logged = counts.checked + counts.tainted + counts.skipped;
    let share = 100.0 * counts.checked as f64 / logged.max(1) as f64;
    text + &format!("; {} values checked ({share:.0} %)", thousands(counts.checked))
}
