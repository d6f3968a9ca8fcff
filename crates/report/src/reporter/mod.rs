//! Formats: each shows a finding, a campaign, the replay of a folder, a matrix, somebody else's shader and coverage, or those of them that it has a form for.
//!
//! To add one, implement [`Reporter`] in a file of its own and name it in [`FORMATS`]; nothing else knows of formats.

pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod text;
mod traits;

use std::path::Path;

pub use html::Html;
pub use json::Json;
pub use junit::Junit;
pub use markdown::Markdown;
pub use text::Text;
pub use traits::{ReportError, Reporter};

/// Every format, by the extension of its files.
pub const FORMATS: &[(&str, &dyn Reporter)] =
    &[("html", &Html), ("json", &Json), ("md", &Markdown), ("txt", &Text::PLAIN), ("xml", &Junit)];

/// The names of all formats, for help texts.
pub fn names() -> String {
    FORMATS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// The format of a file: the one that is asked for, or else the one that the file's extension names.
///
/// # Errors
/// If neither names a format.
pub fn for_file(file: &Path, asked: Option<&str>) -> Result<&'static dyn Reporter, ReportError> {
    let extension = || file.extension().map(|extension| extension.to_string_lossy().into_owned()).unwrap_or_default();
    let name = asked.map_or_else(extension, str::to_owned);
    let format = FORMATS.iter().find(|(known, _)| *known == name).map(|(_, reporter)| *reporter);
    format.ok_or_else(|| ReportError(format!("'{name}' is no format of reports; there are: {}", names())))
}
