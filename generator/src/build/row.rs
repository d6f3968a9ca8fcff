//! Rows of the tables of what can be written: a statement or a template is a row and a function of the builder.

use tangle_program::tree::Block;

use super::Builder;
use crate::profile::Profile;
use crate::weights::Weight;

/// A statement, or one of the shapes that are made of several.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// How often it is chosen.
    pub(super) weight: Weight,
    /// True if it can stand here, and the device has what it is made of.
    pub(super) fits: fn(&Builder<'_>) -> bool,
    /// The part of its weight that it has here, as a fraction.
    pub(super) share: fn(&Builder<'_>) -> (u32, u32),
    /// Writes it behind the statements of a block.
    pub(super) build: fn(&mut Builder<'_>, &mut Block),
}

/// A row that names no more than its weight and its function: it fits everywhere.
pub(super) const ROW: Row = Row { weight: Weight::of(0), fits: |_| true, share: |_| (1, 1), build: |_, _| {} };

impl Row {
    /// The weight that it has here, of that in this case.
    pub(super) fn weight_here(&self, builder: &Builder<'_>, weight: u32) -> u32 {
        if !(self.fits)(builder) {
            return 0;
        }
        let (part, whole) = (self.share)(builder);
        weight * part / whole
    }

    /// The weights of all rows of a table in a profile.
    pub(super) fn weights(table: &[Row], profile: Profile) -> Vec<u32> {
        table.iter().map(|row| row.weight.in_profile(profile)).collect()
    }
}
