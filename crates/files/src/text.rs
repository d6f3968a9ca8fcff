//! Text of drivers and other programs: whatever comes from a driver's memory or a pipe passes through here before anything else sees it.
//!
//! A driver may print escape sequences, a device may have a name with a line break in it, and a message may have a megabyte. What shows
//! such text (a terminal, C, Markdown, Amber, HTML) escapes what is special there; that nothing is left that is special *everywhere* is
//! decided here, by the type.
//!
//! | in the text | becomes |
//! |---|---|
//! | escape sequences (ECMA-48: CSI, and strings like OSC with all their contents) | nothing |
//! | line breaks: LF, CR LF, CR, VT, FF, NEL, U+2028, U+2029 | a line break; a space in a [`Line`] |
//! | tabs | a space |
//! | other control characters (C0, DEL, C1) | U+FFFD |
//! | characters that change the direction of text, or cannot be seen (U+200B to U+200F, U+202A to U+202E, U+2060 to U+206F, U+FEFF) | U+FFFD |
//! | what is not UTF-8 | U+FFFD |
//! | what is beyond the limits | `…` |

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize};

/// The longest line that is kept, characters.
const LINE: usize = 400;

/// The most bytes of text that are kept.
const BYTES: usize = 8 << 10;

/// The longest list of lines that is kept.
const LIST: usize = 100;

/// Text of another program with at most so many lines, none of them longer than 400 characters, and 8 KiB at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Foreign<const LINES: usize>(String);

/// One line of another program: a name, a message.
pub type Line = Foreign<1>;

/// What another program printed.
pub type Lines = Foreign<200>;

impl<const LINES: usize> Foreign<LINES> {
    /// From what may not even be text.
    pub fn from_bytes(bytes: &[u8]) -> Foreign<LINES> {
        Foreign::new(&String::from_utf8_lossy(bytes))
    }

    fn new(text: &str) -> Foreign<LINES> {
        let mut clean = Clean { lines: LINES, ..Clean::default() };
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            if clean.is_full() {
                clean.text.push('…');
                break;
            }
            match c {
                '\x1b' => skip_escape(&mut rest),
                // The same sequences with their introducers as single characters (C1).
                '\u{9b}' => skip_control_sequence(&mut rest),
                '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
                '\r' if rest.as_str().starts_with('\n') => {}
                '\n' | '\r' | '\x0b' | '\x0c' | '\u{85}' | '\u{2028}' | '\u{2029}' => clean.line_break(),
                '\t' => clean.push(' '),
                c if is_unseen(c) => clean.push(char::REPLACEMENT_CHARACTER),
                c => clean.push(c),
            }
        }
        Foreign(clean.text)
    }
}

/// Text as far as it has been looked at.
#[derive(Default)]
struct Clean {
    text: String,
    /// How many lines there may be.
    lines: usize,
    /// Line breaks so far.
    breaks: usize,
    /// Characters of the present line.
    column: usize,
}

impl Clean {
    fn push(&mut self, c: char) {
        self.column += 1;
        match self.column.cmp(&LINE) {
            std::cmp::Ordering::Less => self.text.push(c),
            std::cmp::Ordering::Equal => self.text.push('…'),
            std::cmp::Ordering::Greater => {}
        }
    }

    fn line_break(&mut self) {
        if self.lines == 1 {
            return self.push(' ');
        }
        self.breaks += 1;
        self.column = 0;
        self.text.push('\n');
    }

    fn is_full(&self) -> bool {
        self.breaks >= self.lines || self.text.len() >= BYTES || (self.lines == 1 && self.column >= LINE)
    }
}

/// True of control characters, of those that change the direction of text, and of those that cannot be seen.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Takes the rest of an escape sequence (ECMA-48, 5.2 to 5.6, and 13.2 of ECMA-35).
fn skip_escape(rest: &mut std::str::Chars) {
    match rest.as_str().chars().next() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some('P' | 'X' | ']' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        _ => {
            while rest.as_str().starts_with(|c| matches!(c, ' '..='/')) {
                rest.next();
            }
            if rest.as_str().starts_with(|c| matches!(c, '0'..='~')) {
                rest.next();
            }
        }
    }
}

/// Parameters and intermediates up to the final character.
fn skip_control_sequence(rest: &mut std::str::Chars) {
    while rest.as_str().starts_with(|c| matches!(c, ' '..='?')) {
        rest.next();
    }
    if rest.as_str().starts_with(|c| matches!(c, '@'..='~')) {
        rest.next();
    }
}

/// Up to the string terminator, or BEL, which terminals take for one. A string that nothing ends reaches to the end of its line.
fn skip_string(rest: &mut std::str::Chars) {
    while let Some(c) = rest.as_str().chars().next() {
        if matches!(c, '\n' | '\r') {
            return;
        }
        rest.next();
        match c {
            '\x07' | '\u{9c}' => return,
            '\x1b' if rest.as_str().starts_with('\\') => {
                rest.next();
                return;
            }
            _ => {}
        }
    }
}

impl<const LINES: usize> Deref for Foreign<LINES> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const LINES: usize> AsRef<str> for Foreign<LINES> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<const LINES: usize> fmt::Display for Foreign<LINES> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<const LINES: usize> From<&str> for Foreign<LINES> {
    fn from(text: &str) -> Foreign<LINES> {
        Foreign::new(text)
    }
}

impl<const LINES: usize> From<String> for Foreign<LINES> {
    fn from(text: String) -> Foreign<LINES> {
        Foreign::new(&text)
    }
}

impl<const LINES: usize> PartialEq<str> for Foreign<LINES> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl<const LINES: usize> PartialEq<&str> for Foreign<LINES> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl<'de, const LINES: usize> Deserialize<'de> for Foreign<LINES> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Foreign<LINES>, D::Error> {
        String::deserialize(deserializer).map(Foreign::from)
    }
}

/// Plain data with every string in it as one line; its keys are kept.
pub fn cleaned(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(Line::from(text).0),
        Value::Array(values) => values.into_iter().take(LIST).map(cleaned).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, cleaned(value))).collect(),
        other => other,
    }
}

/// Reads a field that holds one line of another program, for structures whose fields are plain strings.
pub fn line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Line::deserialize(deserializer).map(|line| line.0)
}

/// The same for a list of lines.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let lines = Vec::<Line>::deserialize(deserializer)?;
    Ok(lines.into_iter().take(LIST).map(|line| line.0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_a_terminal_would_obey() {
        for (text, line, lines) in [
            (
                "llvmpipe (LLVM 15.0.6, 256 bits)",
                "llvmpipe (LLVM 15.0.6, 256 bits)",
                "llvmpipe (LLVM 15.0.6, 256 bits)",
            ),
            ("größe ≤ 3 µs 日本", "größe ≤ 3 µs 日本", "größe ≤ 3 µs 日本"),
            ("a\nb\r\nc\rd\u{2028}e", "a b c d e", "a\nb\nc\nd\ne"),
            ("\x1b[1;31mred\x1b[0m", "red", "red"),
            ("\u{9b}31mred", "red", "red"),
            ("\x1b]0;title\x07text", "text", "text"),
            ("\x1b]8;;http://x\x1b\\link", "link", "link"),
            ("\x1bPq#0\nnext", " next", "\nnext"),
            ("\x1b(Bplain\x1bc", "plain", "plain"),
            ("end\x1b", "end", "end"),
            ("end\x1b[12", "end", "end"),
            ("a\tb\0c\x7fd", "a b\u{fffd}c\u{fffd}d", "a b\u{fffd}c\u{fffd}d"),
            ("x\u{202e}gnp.exe", "x\u{fffd}gnp.exe", "x\u{fffd}gnp.exe"),
            ("zero\u{200b}width\u{feff}", "zero\u{fffd}width\u{fffd}", "zero\u{fffd}width\u{fffd}"),
        ] {
            assert_eq!(Line::from(text), line, "{text:?}");
            assert_eq!(Lines::from(text), lines, "{text:?}");
        }
        assert_eq!(Line::from_bytes(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn text_is_bounded() {
        let long = "x".repeat(1 << 20);
        let line = Line::from(long.as_str());
        assert!(line.chars().count() <= LINE + 1 && line.ends_with('…'), "{}", line.len());
        let lines = Lines::from(format!("{long}\nshort"));
        assert_eq!(lines.lines().last(), Some("short"));
        let many = Lines::from("y\n".repeat(1 << 20));
        assert!(many.lines().count() <= 201 && many.len() <= BYTES + 4);
        let wide = Lines::from("é\n".repeat(1 << 20) + &long);
        assert!(wide.len() <= BYTES + 4);
    }

    #[test]
    fn what_is_read_is_clean() {
        let read: Line = serde_json::from_str(r#""a\u001b[2Jb\nc""#).unwrap();
        assert_eq!(read, "ab c");
        let bytes = postcard::to_stdvec("a\x1b[2Jb\nc").unwrap();
        assert_eq!(postcard::from_bytes::<Lines>(&bytes).unwrap(), "ab\nc");
        assert_eq!(serde_json::to_string(&read).unwrap(), r#""ab c""#);
    }

    #[test]
    fn every_string_of_plain_data_is_a_line() {
        let info = serde_json::json!({ "name": "a\u{1b}[2Jb\nc", "list": ["x\u{7}"], "size": 8, "on": true });
        let clean = serde_json::json!({ "name": "ab c", "list": ["x\u{fffd}"], "size": 8, "on": true });
        assert_eq!(cleaned(info), clean);
    }
}
