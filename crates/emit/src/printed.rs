//! A printed shader: its text, and where each statement stands.

use std::fmt::Write;
use std::ops::Range;

use tangle_program::tree::{SiteId, Stmt};

/// A printed shader, with the place of each statement in its text.
#[derive(Clone, Debug)]
pub struct Printed<'a> {
    /// The whole source text, in the language that it was printed in.
    pub text: String,
    /// Every statement in the order of the text, with the number of the line that it begins on. A line has several where
    /// statements stand in the head of a loop.
    pub places: Vec<(usize, &'a Stmt)>,
    /// The line behind extensions, interface and log macros.
    pub(crate) header: usize,
    /// The lines at the beginning of `main` that record the lane map.
    pub(crate) prologue: Range<usize>,
}

impl<'a> Printed<'a> {
    /// The line, counted from 1, on which an observation point stands.
    pub fn line_of_site(&self, site: SiteId) -> Option<usize> {
        let is_it = |stmt: &Stmt| matches!(stmt, Stmt::Log { site: s, .. } if *s == site);
        self.places.iter().find(|(_, stmt)| is_it(stmt)).map(|(line, _)| *line)
    }

    /// The functions without what every shader begins with: extensions, interface, log macros, the prologue of `main`.
    pub fn functions(&self) -> String {
        let lines = (1..).zip(self.text.lines());
        let own = lines.filter(|(number, _)| *number >= self.header && !self.prologue.contains(number));
        own.map(|(_, line)| line).skip_while(|line| line.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The text with notes beside it: `note` says for a statement what to write at the right of its line.
    pub fn with_margin(&self, mut note: impl FnMut(&'a Stmt) -> Option<String>) -> String {
        const WIDEST: usize = 100;
        let mut notes: Vec<(usize, String)> = Vec::new();
        for (line, stmt) in &self.places {
            match (note(stmt), notes.last_mut()) {
                (Some(text), Some((last, notes))) if last == line => {
                    notes.push_str("; ");
                    notes.push_str(&text);
                }
                (Some(text), _) => notes.push((*line, text)),
                (None, _) => {}
            }
        }
        let lines: Vec<&str> = self.text.lines().collect();
        let widths = notes.iter().map(|(line, _)| lines[line - 1].len());
        let column = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
        let mut notes = notes.into_iter().peekable();
        let mut out = String::with_capacity(2 * self.text.len());
        for (number, line) in (1..).zip(lines) {
            match notes.next_if(|(noted, _)| *noted == number) {
                Some((_, note)) => writeln!(out, "{line:column$}  // {note}").expect("a String takes everything"),
                None => {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
        out
    }
}
