//! Tables in the output of commands.

use std::io::{self, Write};

use anstyle::Style;

use super::output::{Output, printable};

/// A table with headings, whose columns are as wide as their widest cells.
#[derive(Debug, Default)]
pub(super) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn headings(&mut self, headings: &[&'static str]) {
        self.headings = headings.to_vec();
    }

    /// Adds a row. Cells come from servers, so each is shown on one line, with hidden characters spelled out.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| printable(&cell).replace(['\n', '\t'], " "));
        self.rows.push(cells.collect());
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn write(&self, out: &mut impl Write, output: &Output) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(self.headings.len());
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain(self.headings.get(column).map(|heading| heading.len())).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        if !self.headings.is_empty() {
            let bold = output.paint(Style::new().bold());
            write!(out, "{bold}")?;
            line(out, &widths, self.headings.iter().copied())?;
            writeln!(out, "{bold:#}")?;
        }
        for row in &self.rows {
            line(out, &widths, row.iter().map(String::as_str))?;
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Writes the cells of a row. The last cell is not filled up, so that no line ends in spaces.
fn line<'a>(
    out: &mut impl Write,
    widths: &[usize],
    cells: impl ExactSizeIterator<Item = &'a str>,
) -> io::Result<()> {
    let last = cells.len().saturating_sub(1);
    for (column, cell) in cells.enumerate() {
        write!(out, "{cell}")?;
        if column < last {
            let width = widths.get(column).copied().unwrap_or(0);
            let gap = width.saturating_sub(cell.chars().count()) + 2;
            write!(out, "{:gap$}", "")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::{ColorChoice, Global};

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::default();
        table.headings(&["SERVER", "TOOLS"]);
        table.row(["a".to_owned(), "1".to_owned()]);
        table.row(["öäü\u{1b}x\ny".to_owned(), "22".to_owned()]);
        let output = Output::new(&Global { color: ColorChoice::Never, ..Global::default() });
        let mut out = Vec::new();
        table.write(&mut out, &output).unwrap();
        let expected = "SERVER        TOOLS\na             1\nöäü\\u{1b}x y  22\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
