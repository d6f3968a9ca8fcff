//! Standard output and error that may be full or closed: an error or nothing, never a panic. What comes from files, names and drivers cannot
//! control the terminal.

use std::fmt;
use std::io::{self, Write as _};

use tangle_files::text::is_unseen;

/// Standard output cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
pub struct OutputError(io::Error);

impl OutputError {
    /// True if the reader has gone, as `head` does: that is no error.
    pub fn is_closed(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Writes to standard output, and sees to it that it arrives.
pub fn put(text: fmt::Arguments<'_>) -> Result<(), OutputError> {
    let mut stdout = io::stdout();
    stdout.write_all(visible(&text.to_string()).as_bytes()).and_then(|()| stdout.flush()).map_err(OutputError)
}

/// Writes a line to standard error, for people; where that fails nothing can be done.
pub fn write_stderr(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", visible(&text.to_string()));
}

/// Text with what a terminal would obey replaced: all but line breaks, tabs and changes of colour (`ESC [ … m`: ECMA-48, SGR).
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        shown.push(match c {
            '\n' | '\t' => c,
            '\x1b' if begins_with_colour(&text[at..]) => c,
            c if is_unseen(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        });
    }
    shown
}

fn begins_with_colour(text: &str) -> bool {
    let parameters =
        text.strip_prefix("\x1b[").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
    parameters.is_some_and(|rest| rest.starts_with('m'))
}

/// `println!` with a result.
macro_rules! say {
    ($($arg:tt)*) => { $crate::cli::output::put(format_args!("{}\n", format_args!($($arg)*))) };
}

/// `eprintln!` that never fails.
macro_rules! say_stderr {
    () => { $crate::cli::output::write_stderr(format_args!("")) };
    ($($arg:tt)*) => { $crate::cli::output::write_stderr(format_args!($($arg)*)) };
}

pub(super) use {say, say_stderr};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_controlled() {
        for (text, expected) in [
            ("a\tb\n", "a\tb\n"),
            ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
            ("\x1b[2Jx", "\u{fffd}[2Jx"),
            ("\x1b]0;title\x07", "\u{fffd}]0;title\u{fffd}"),
            ("\x1b[31", "\u{fffd}[31"),
            ("a\rb\x08\u{9b}2J\u{202e}", "a\u{fffd}b\u{fffd}\u{fffd}2J\u{fffd}"),
            ("größer → 1", "größer → 1"),
        ] {
            assert_eq!(visible(text), expected, "{text:?}");
        }
    }
}
