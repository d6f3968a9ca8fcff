//! What a format is.

use std::collections::BTreeMap;

use tangle_oracle::coverage::Coverage;

use crate::campaign::Campaign;
use crate::matrix::Matrix;
use crate::module::ModuleReport;
use crate::replay::Replay;
use crate::subject::Analysis;

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

    /// The result of a folder of cases.
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

    /// Somebody else's shader that a device fails on.
    ///
    /// # Errors
    /// If it cannot be written in this format.
    fn module(&self, _module: &ModuleReport) -> Result<Option<String>, ReportError> {
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
