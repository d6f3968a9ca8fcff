//! One way to show what tangle found: a format.
//!
//! To add one, implement [`Reporter`] in a file of its own and name it in [`FORMATS`]; nothing else knows of formats.

use crate::explain::{Colour, explain};
use crate::export::{Subject, bundle};
use crate::html;
use crate::html::campaign::Campaign;
use crate::junit::Junit;
use crate::replay::Replay;

/// Something could not be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReportError(pub String);

/// A format. What it has no form for is `None`.
pub trait Reporter {
    /// A finding.
    ///
    /// # Errors
    /// If its case is not well-defined on its lane map.
    fn finding(&self, _finding: &Subject<'_>) -> Result<Option<String>, ReportError> {
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
}

/// Every format, by the extension of its files.
pub const FORMATS: &[(&str, &dyn Reporter)] = &[("html", &Html), ("md", &Markdown), ("txt", &Text), ("xml", &Junit)];

/// Pages that load nothing.
#[derive(Clone, Copy, Debug)]
pub struct Html;

impl Reporter for Html {
    fn finding(&self, finding: &Subject<'_>) -> Result<Option<String>, ReportError> {
        html::finding::finding(finding).map(Some).map_err(|error| ReportError(error.to_string()))
    }

    fn campaign(&self, campaign: &Campaign) -> Result<Option<String>, ReportError> {
        Ok(Some(html::campaign::campaign(campaign)))
    }
}

/// What a bug tracker takes: the README of a bundle.
#[derive(Clone, Copy, Debug)]
pub struct Markdown;

impl Reporter for Markdown {
    fn finding(&self, finding: &Subject<'_>) -> Result<Option<String>, ReportError> {
        let bundle = bundle(finding).map_err(|error| ReportError(error.to_string()))?;
        let readme = bundle.files.into_iter().find(|(name, _)| *name == "README.md");
        Ok(readme.and_then(|(_, text)| String::from_utf8(text).ok()))
    }
}

/// Plain text, as on a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Text;

impl Reporter for Text {
    fn finding(&self, finding: &Subject<'_>) -> Result<Option<String>, ReportError> {
        let account = finding.account().map_err(|error| ReportError(error.to_string()))?;
        Ok(account.and_then(|account| explain(&account, Colour::Plain)))
    }

    fn replay(&self, replay: &Replay) -> Result<Option<String>, ReportError> {
        Ok(Some(replay.summary()))
    }
}
