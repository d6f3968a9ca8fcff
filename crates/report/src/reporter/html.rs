//! HTML: one file, no script, nothing loaded from anywhere.

use super::{ReportError, Reporter};
use crate::campaign::Campaign;
use crate::html;
use crate::subject::Analysis;

/// Pages that load nothing.
#[derive(Clone, Copy, Debug)]
pub struct Html;

impl Reporter for Html {
    fn finding(&self, finding: &Analysis<'_>) -> Result<Option<String>, ReportError> {
        Ok(Some(html::finding::finding(finding)))
    }

    fn campaign(&self, campaign: &Campaign) -> Result<Option<String>, ReportError> {
        Ok(Some(html::campaign::campaign(campaign)))
    }
}
