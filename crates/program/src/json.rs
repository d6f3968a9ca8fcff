//! The JSON form of a case: reading it with messages that say what is wrong and where, writing it for people.

use std::fmt::{self, Write};

use serde::Deserialize;
use serde_json::Value;

use crate::case::{Case, FORMAT};
use crate::format_1::Case1;
use crate::tree::{MAX_BLOCK_DEPTH, MAX_EXPR_DEPTH};

/// Arrays and objects that fit into this many columns stand on one line.
const WIDTH: usize = 120;
/// How deep the brackets of a case file may nest. In a valid case that is 5 for each level of statements, 3 for each level of
/// expressions (`tangle_analysis::validate` limits both), and a few around them.
const MAX_NESTING: usize = 5 * MAX_BLOCK_DEPTH + 3 * MAX_EXPR_DEPTH + 16;

/// Why a case file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is not JSON, or not that of a case.
    #[error("{message}{} (line {line}, column {column})", At(path))]
    Content {
        /// Where in the case, `program.functions[0].body[2].if.cond` say; empty if the text is not JSON.
        path: String,
        /// Line of the text, from 1.
        line: usize,
        /// Column of that line, from 1.
        column: usize,
        /// What is wrong there, as `serde_json` says it.
        message: String,
    },
    /// The text has no format number.
    #[error("not a test case of tangle: it has no \"format\" number")]
    NoFormat,
    /// A newer tangle wrote it.
    #[error("the case has format {0}, but this tangle reads only up to {FORMAT}: use a newer tangle")]
    NewerFormat(u64),
    /// No tangle ever wrote that.
    #[error("there is no format {0}")]
    UnknownFormat(u64),
    /// The brackets nest deeper than in any valid case.
    #[error("brackets nest more than {MAX_NESTING} deep (line {line}, column {column})")]
    TooDeep {
        /// Line of the bracket, from 1.
        line: usize,
        /// Column of that line, from 1.
        column: usize,
    },
}

struct At<'a>(&'a str);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " at {}", self.0) }
    }
}

impl JsonError {
    fn content(error: &serde_json::Error, path: String) -> JsonError {
        // serde_json ends its messages with the place, which is said in another way here.
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
        JsonError::Content { path, line: error.line(), column: error.column(), message }
    }
}

impl Case {
    /// Reads a case of any format. It may still be invalid: see `tangle_analysis::validate::validate`.
    pub fn from_json(text: &str) -> Result<Case, JsonError> {
        check_nesting(text)?;
        let format = check_format(text)?;
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.disable_recursion_limit();
        let case = match format {
            1 => serde_path_to_error::deserialize(&mut reader).map(Case1::into),
            _ => serde_path_to_error::deserialize(&mut reader),
        };
        let case = case.map_err(|error| {
            let path = error.path().to_string();
            JsonError::content(error.inner(), if path == "." { String::new() } else { path })
        })?;
        reader.end().map_err(|error| JsonError::content(&error, String::new()))?;
        Ok(case)
    }

    /// The case as JSON for people: whatever fits on a line stands on one, and so does every array of numbers.
    pub fn to_json(&self) -> String {
        let value = serde_json::to_value(self).expect("every case has a JSON form");
        let mut out = String::new();
        lay_out(&value, 0, 0, &mut out);
        out.push('\n');
        out
    }
}

/// serde_json and serde recurse; this does not.
fn check_nesting(text: &str) -> Result<(), JsonError> {
    let (mut depth, mut line, mut line_start) = (0usize, 1, 0);
    let mut bytes = text.bytes().enumerate();
    let mut in_string = false;
    while let Some((i, byte)) = bytes.next() {
        match byte {
            b'\n' => (line, line_start) = (line + 1, i + 1),
            b'\\' if in_string => _ = bytes.next(),
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_NESTING {
                    return Err(JsonError::TooDeep { line, column: i - line_start + 1 });
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// Another format may have other fields everywhere, so its number comes before anything else that could be said.
fn check_format(text: &str) -> Result<u64, JsonError> {
    #[derive(Deserialize)]
    struct Head {
        format: Option<Value>,
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let head = Head::deserialize(&mut reader).map_err(|error| match error.is_data() {
        true => JsonError::NoFormat,
        false => JsonError::content(&error, String::new()),
    })?;
    match head.format.as_ref().and_then(Value::as_u64) {
        None => Err(JsonError::NoFormat),
        Some(format) if (1..=u64::from(FORMAT)).contains(&format) => Ok(format),
        Some(format) if format > u64::from(FORMAT) => Err(JsonError::NewerFormat(format)),
        Some(format) => Err(JsonError::UnknownFormat(format)),
    }
}

/// Writes a value whose first line begins at `column`, in a structure indented by `indent`.
fn lay_out(value: &Value, indent: usize, column: usize, out: &mut String) {
    let start = out.len();
    let budget = match value {
        Value::Array(items) if items.iter().all(Value::is_number) => usize::MAX,
        Value::Array(_) | Value::Object(_) => WIDTH.saturating_sub(column),
        _ => usize::MAX,
    };
    if one_line(value, start.saturating_add(budget), out) {
        return;
    }
    out.truncate(start);
    let inner = indent + 2;
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "[\n" } else { ",\n" });
                spaces(inner, out);
                lay_out(item, inner, inner, out);
            }
            new_line(indent, ']', out);
        }
        // A name around a thing, as every statement and expression has: no lines and no indentation of its own.
        Value::Object(fields) if fields.len() == 1 => {
            out.push('{');
            for (key, field) in fields {
                lay_out_field(key, field, indent, column + 1, out);
            }
            out.push('}');
        }
        Value::Object(fields) => {
            for (i, (key, field)) in fields.iter().enumerate() {
                out.push_str(if i == 0 { "{\n" } else { ",\n" });
                spaces(inner, out);
                lay_out_field(key, field, inner, inner, out);
            }
            new_line(indent, '}', out);
        }
        _ => {}
    }
}

fn lay_out_field(key: &str, field: &Value, indent: usize, column: usize, out: &mut String) {
    let before = out.len();
    put_string(key, out);
    out.push_str(": ");
    lay_out(field, indent, column + out.len() - before, out);
}

/// Writes a value on one line; false as soon as the text would be longer than `end`.
fn one_line(value: &Value, end: usize, out: &mut String) -> bool {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                if !one_line(item, end, out) {
                    return false;
                }
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (key, field)) in fields.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                put_string(key, out);
                out.push_str(": ");
                if !one_line(field, end, out) {
                    return false;
                }
            }
            out.push('}');
        }
        Value::String(text) => put_string(text, out),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            write!(out, "{value}").expect("a String takes everything");
        }
    }
    out.len() <= end
}

fn put_string(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).expect("every string has a JSON form"));
}

fn spaces(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', count));
}

fn new_line(indent: usize, bracket: char, out: &mut String) {
    out.push('\n');
    spaces(indent, out);
    out.push(bracket);
}
