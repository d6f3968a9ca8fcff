//! Reports as HTML pages: one file each, no script, nothing loaded from anywhere.
//!
//! ```text
//!   Analysis (a finding taken apart) ────────────► finding ──┬─► page ─► one HTML file
//!                                                 lanes (SVG)┤    ▲
//!                                           framebuffer (SVG)┘    │
//!   Campaign (statistics, findings, samples) ────► campaign ───────┤
//!   Coverage (operations, contexts, types) ──────► coverage ───────┤
//!   Matrix (bugs against devices) ───────────────► matrix ─────────┤
//!   Record (a page of the bug book) ─────────────► bugs ───────────┤
//!   ModuleReport (somebody else's shader) ───────► module ─────────┘
//! ```
//!
//! Everything that is not a literal of this module goes through [`Html::text`] or an attribute, which escape it.

pub mod bugs;
pub mod campaign;
mod cell;
pub(crate) mod coverage;
pub mod curves;
pub mod finding;
mod framebuffer;
mod lanes;
mod listing;
pub(crate) mod matrix;
pub mod module;

use std::fmt::{self, Display, Write as _};

use tangle_files::text::is_unseen;

const STYLE: &str = include_str!("style.css");

/// Markup being written. Text and attributes are escaped; only literals go in as they are.
#[derive(Debug, Default)]
struct Html(String);

/// An attribute: its name, and the value, which is escaped when it is written.
type Attribute<'a> = (&'static str, &'a dyn Display);

/// Escapes what is written through it.
struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(c),
                // A driver's name may hold anything.
                c if is_unseen(c) => self.0.push(char::REPLACEMENT_CHARACTER),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

impl Html {
    /// Markup that stands in the source of this module.
    fn raw(&mut self, markup: &'static str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Adds text, escaped.
    fn text(&mut self, text: impl Display) -> &mut Html {
        let _ = write!(Escaped(&mut self.0), "{text}");
        self
    }

    /// `<tag a="b">`
    fn open(&mut self, tag: &'static str, attributes: &[Attribute<'_>]) -> &mut Html {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            let _ = write!(Escaped(&mut self.0), "{value}");
            self.0.push('"');
        }
        self.0.push('>');
        self
    }

    /// `</tag>`
    fn close(&mut self, tag: &'static str) -> &mut Html {
        let _ = write!(self.0, "</{tag}>");
        self
    }

    /// `<tag a="b">text</tag>`
    fn element(&mut self, tag: &'static str, attributes: &[Attribute<'_>], text: impl Display) -> &mut Html {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// Adds markup that was made apart.
    fn append(&mut self, other: Html) -> &mut Html {
        self.0.push_str(&other.0);
        self
    }

    /// A heading that begins a section.
    fn section(&mut self, heading: &str) -> &mut Html {
        self.raw("<section>\n").element("h2", &[], heading).raw("\n")
    }

    /// A heading that begins a section, to which the page itself has links.
    fn section_at(&mut self, id: &str, heading: &str) -> &mut Html {
        self.open("section", &[("id", &id)]).element("h2", &[], heading).raw("\n")
    }

    /// A table of two columns: names and values.
    fn facts(&mut self, rows: impl IntoIterator<Item = (String, String)>) -> &mut Html {
        self.raw("<table class=\"facts\">\n");
        for (name, value) in rows {
            self.raw("<tr>").element("th", &[], name).element("td", &[], value).raw("</tr>\n");
        }
        self.raw("</table>\n")
    }
}

/// A path as part of an address: what has a meaning there is encoded (RFC 3986, 2.1).
pub fn address(path: &str) -> String {
    let mut address = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => address.push(byte.into()),
            _ => drop(write!(address, "%{byte:02X}")),
        }
    }
    address
}

/// A whole page, with its style in it: nothing is loaded from elsewhere.
fn page(title: &str, body: Html) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.element("title", &[], title).raw("\n<style>\n").raw(STYLE).raw("</style>\n</head>\n<body>\n<main>\n");
    html.append(body).raw("</main>\n</body>\n</html>\n");
    html.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut html = Html::default();
        html.element("a", &[("href", &"x\" onload='y'&z"), ("id", &7)], "<script>&\u{1}\u{9b}\u{202e}\n");
        let text = "&lt;script&gt;&amp;\u{fffd}\u{fffd}\u{fffd}\n";
        assert_eq!(html.0, format!("<a href=\"x&quot; onload=&#39;y&#39;&amp;z\" id=\"7\">{text}</a>"));
    }

    #[test]
    fn a_page_loads_nothing() {
        let page = page("a < b", Html::default());
        assert!(page.contains("<title>a &lt; b</title>"));
        for loading in ["<script", "<link", "src=", "@import", "url(", "http"] {
            assert!(!page.contains(loading), "{loading}");
        }
    }
}
