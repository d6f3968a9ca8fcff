//! Cases against devices, side by side.

use tangle_identity::Status;

/// The results of some cases on some devices.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// The devices: columns.
    pub devices: Vec<MatrixDevice>,
    /// The cases: rows.
    pub rows: Vec<MatrixRow>,
}

/// A column.
#[derive(Clone, Debug, Default)]
pub struct MatrixDevice {
    /// Its name.
    pub name: String,
    /// Name and version of its driver.
    pub driver: String,
}

/// A row.
#[derive(Clone, Debug, Default)]
pub struct MatrixRow {
    /// The bug or case.
    pub name: String,
    /// What is said of it.
    pub about: String,
    /// The result, for each device.
    pub cells: Vec<MatrixCell>,
    /// Which version has it and which has not, for each driver that shows it.
    pub history: Vec<String>,
}

/// The result of a case on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixCell {
    /// In a word.
    pub status: Status,
    /// What that says about the bug.
    pub meaning: Meaning,
}

/// What a result says about a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It is there.
    Bad,
    /// It is not.
    Good,
    /// It says nothing: nothing ran, or nothing was compared.
    Open,
}
