//! The story of the first wrong step for a terminal.

use std::fmt::Write as _;

use crate::tell::{Did, LEGEND, Origin, Row, Strip, Telling, lane_list, mark, must_come};
use tangle_identity::account::{Account, State};
use tangle_identity::rule::{self, Rule};

/// Wrong lanes shown; the rest is counted.
const ROWS_SHOWN: usize = 32;

/// Whether the text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// With the sixteen colours every terminal has.
    Ansi,
    /// Plain text.
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

/// The story of the first wrong step; `None` if there is none.
pub fn explain(account: &Account<'_>, colour: Colour) -> Option<String> {
    let telling = Telling::of(account)?;
    let mut text = String::new();
    let _ = writeln!(text, "{} ({})", colour.paint(Style::Bold, &telling.headline), telling.extent);
    if let Some(trace) = &telling.trace {
        wrapped(&mut text, trace);
    }
    let _ = writeln!(text, "first at {}", telling.place);
    excerpt(&mut text, &telling, colour);
    strips(&mut text, &telling, colour);
    lanes(&mut text, &telling, colour);
    origins(&mut text, &telling.origins);
    if let Some(first) = account.first() {
        text.push_str(&why(&rule::of_step(account, &first), colour));
    }
    Some(text)
}

/// Why something is wrong: the rules that are broken.
pub fn why(rules: &[Rule], colour: Colour) -> String {
    let mut text = String::from("\nwhy this is wrong\n");
    for Rule { source, quote, because } in rules {
        let _ = writeln!(text, "  {}", colour.paint(Style::Bold, source));
        if !quote.is_empty() {
            wrapped(&mut text, &format!("\"{quote}\""));
        }
        wrapped(&mut text, because);
    }
    text
}

fn excerpt(text: &mut String, telling: &Telling, colour: Colour) {
    let width = telling.excerpt.last().map_or(1, |(line, _)| line.to_string().len());
    text.push('\n');
    for (line, source) in &telling.excerpt {
        let number = format!("{line:width$} |");
        let shown = if *line == telling.line {
            colour.paint(Style::Wrong, format!("> {number} {source}"))
        } else {
            format!("  {} {source}", colour.paint(Style::Faint, number))
        };
        let _ = writeln!(text, "{}", shown.trim_end());
    }
}

fn strips(text: &mut String, telling: &Telling, colour: Colour) {
    if telling.strips.is_empty() {
        return;
    }
    let size = telling.strips.iter().map(|strip| strip.lanes.len()).max().unwrap_or(0).max("expected".len());
    let head = format!("{:12} {:size$}  actual (lane 0 at the left)", "lanes", "expected");
    let _ = writeln!(text, "\n{}", colour.paint(Style::Bold, head));
    let (shown, left_out) = telling.shown_strips();
    for strip in shown {
        let name = format!("subgroup {}", strip.subgroup);
        let padding = " ".repeat(size - strip.lanes.len());
        let expected =
            painted(strip, colour, |state| if must_come(state) { ('#', Style::Right) } else { ('.', Style::Faint) });
        let found = painted(strip, colour, |state| (mark(state), style(state)));
        let _ = writeln!(text, "{name:12} {expected}{padding}  {found}");
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

fn lanes(text: &mut String, telling: &Telling, colour: Colour) {
    if let Some(what) = telling.all_left() {
        let _ = writeln!(text, "\ninstead, each of these lanes {what}");
        return;
    }
    let mut head = vec!["subgroup".to_owned(), "lane".into(), "invocation".into()];
    head.extend(telling.columns.iter().cloned());
    if telling.columns.is_empty() {
        head.push("instead".into());
    }
    let mut rows = vec![head.into_iter().map(|cell| (Style::Bold, cell)).collect::<Vec<_>>()];
    rows.extend(telling.rows.iter().take(ROWS_SHOWN).map(table_row));
    text.push('\n');
    table(text, &rows, colour);
    if telling.rows.len() > ROWS_SHOWN {
        let _ = writeln!(text, "... and {} more lanes", telling.rows.len() - ROWS_SHOWN);
    }
    if telling.left_out > 0 {
        let _ = writeln!(
            text,
            "{} more values are logged here; in all of these lanes they are right or open",
            telling.left_out
        );
    }
}

fn table_row(row: &Row) -> Vec<(Style, String)> {
    let place = [row.subgroup.to_string(), row.lane.to_string(), row.index.to_string()];
    let mut cells: Vec<(Style, String)> = place.into_iter().map(|cell| (Style::Faint, cell)).collect();
    match &row.did {
        Did::Left(what) => cells.push((Style::Elsewhere, what.clone())),
        Did::Logged(values) => cells.extend(values.iter().map(|(expected, found)| match expected {
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
    text.push_str("\nthey came from\n");
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
