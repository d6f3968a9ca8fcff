//! Formats: each shows a finding, a campaign, the replay of a folder, a matrix and coverage, or those of them that it has a form for.
//!
//! To add one, implement [`Reporter`] in a file of its own and name it in [`FORMATS`]; nothing else knows of formats.

pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod text;

use std::collections::BTreeMap;
use std::path::Path;

use tangle_oracle::coverage::Coverage;

use crate::campaign::Campaign;
use crate::matrix::Matrix;
use crate::replay::Replay;
use crate::subject::Analysis;

pub use html::Html;
pub use json::Json;
pub use junit::Junit;
pub use markdown::Markdown;
pub use text::Text;

/// Something could not be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReportError(pub String);

/// A format. What it has no form for is `None`.
pub trait Reporter: Sync {
    /// A finding.
    ///
    /// # Errors
    /// If it cannot be written in this format.
    fn finding(&self, _finding: &Analysis<'_>) -> Result<Option<String>, ReportError> {
        Ok(None)
    }

    /// A campaign.
    ///
    /// # Errors
    /// If it cannot be written in this format.
    fn campaign(&self, _campaign: &Campaign) -> Result<Option<String>, ReportError> {
        Ok(None)
    }

    /// What came of a folder of cases.
    ///
    /// # Errors
    /// If it cannot be written in this format.
    fn replay(&self, _replay: &Replay) -> Result<Option<String>, ReportError> {
        Ok(None)
    }

    /// Cases against devices.
    ///
    /// # Errors
    /// If it cannot be written in this format.
    fn matrix(&self, _matrix: &Matrix) -> Result<Option<String>, ReportError> {
        Ok(None)
    }

    /// What was covered on each device, by its name.
    ///
    /// # Errors
    /// If it cannot be written in this format.
    fn coverage(&self, _by_device: &BTreeMap<String, Coverage>) -> Result<Option<String>, ReportError> {
        Ok(None)
    }
}

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
