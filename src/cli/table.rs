//! A table for a terminal.

use std::fmt;

/// Rows of cells under a head, in columns that are as wide as they have to be.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a head and no row.
    pub fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Table {
        Table { rows: vec![head.into_iter().map(Into::into).collect()] }
    }

    /// Adds a row, a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows.iter().map(Vec::len).max().unwrap_or(0)).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(["a", "bcd"]);
        table.row(["long".into(), "x".into()]);
        table.row(["é".into(), String::new()]);
        assert_eq!(table.to_string(), "a     bcd\nlong  x\né\n");
    }
}
