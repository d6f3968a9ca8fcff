//! Cases against devices, side by side.

use tangle_identity::Status;

/// The results of some cases on some devices.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// The columns, in the order in which the devices were named.
    pub devices: Vec<MatrixDevice>,
    /// The rows, in the order of the cases.
    pub rows: Vec<MatrixRow>,
}

/// A column of the matrix: a device.
#[derive(Clone, Debug, Default)]
pub struct MatrixDevice {
    /// The unique name of the device.
    pub name: String,
    /// Name and version of its driver.
    pub driver: String,
}

/// A row of the matrix: a bug, or a case.
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
    /// The result in a word.
    pub status: Status,
    /// What that says about the bug.
    pub meaning: Meaning,
}

/// What a result says about a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The bug is there: the case fails.
    Bad,
    /// The bug is not there: the case passes.
    Good,
    /// It says nothing: nothing ran, or nothing was compared.
    Open,
}
