//! What devices at the same place in the sequence share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tangle_program::case::Case;
use tangle_program::variant::FrontEnd;

use crate::prepare::Prep;

/// What devices at the same place in the sequence share.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) drawn: OnceLock<Drawn>,
    /// As each front end makes it: `None` for cases that no compiler is a device for.
    preps: Mutex<BTreeMap<Option<FrontEnd>, Arc<OnceLock<Arc<Prep>>>>>,
}

/// A program as [`crate::plan::Plan::cases`] makes it.
pub(super) struct Drawn {
    /// Its cases by number; `None` for data that it does not have.
    pub(super) cases: Vec<Option<Arc<Case>>>,
    /// How many programs were left out for it.
    pub(super) avoided: u64,
}

impl Shared {
    /// The case with the first data, if it was made.
    pub(super) fn first_case(&self) -> Option<Arc<Case>> {
        self.drawn.get()?.cases.first()?.clone()
    }

    pub(super) fn prep(&self, front_end: Option<&FrontEnd>) -> Arc<OnceLock<Arc<Prep>>> {
        let mut preps = self.preps.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(preps.entry(front_end.cloned()).or_default())
    }
}
