//! HTML: one file, no script, nothing loaded from anywhere.

use std::collections::BTreeMap;

use tangle_oracle::coverage::Coverage;

use super::traits::{ReportError, Reporter};
use crate::campaign::Campaign;
use crate::html;
use crate::matrix::Matrix;
use crate::module::ModuleReport;
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

    fn matrix(&self, matrix: &Matrix) -> Result<Option<String>, ReportError> {
        Ok(Some(html::matrix::matrix(matrix)))
    }

    fn module(&self, module: &ModuleReport) -> Result<Option<String>, ReportError> {
        Ok(Some(html::module::module_page(module)))
    }

    fn coverage(&self, by_device: &BTreeMap<String, Coverage>) -> Result<Option<String>, ReportError> {
        Ok(Some(html::coverage::coverage(by_device)))
    }
}
