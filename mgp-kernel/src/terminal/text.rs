//! The form of results for people: text, and tables whose columns are as wide as their widest cells.

use std::io::{self, Write};

use anstyle::Style;
use mgp_types::is_hidden;
use serde::Serialize;

/// A result of a command, which `--json` prints as it is serialized, and everything else as text.
pub(crate) trait TextForm: Serialize {
    /// Writes the text for people.
    fn write(&self, out: &mut TextWriter) -> io::Result<()>;

    /// Returns the notes that follow the text, on standard error.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A writer of text for people.
#[derive(Debug)]
pub(crate) struct TextWriter {
    pub(crate) written: Vec<u8>,
    pub(crate) heading: Style,
    /// True if only results are wanted: lists without rows say nothing.
    pub(crate) is_quiet: bool,
}

impl TextWriter {
    /// Writes a table, or `none` in its place if it has no rows. Cells come from servers, so each is shown on one line,
    /// with hidden characters spelled out.
    pub(crate) fn table<R: IntoIterator<Item = String>>(
        &mut self,
        headings: &[&str],
        rows: impl IntoIterator<Item = R>,
        none: &str,
    ) -> io::Result<()> {
        let cell = |cell: String| printable(&cell).replace(['\n', '\t'], " ");
        let rows: Vec<Vec<String>> =
            rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
        if rows.is_empty() {
            return if self.is_quiet { Ok(()) } else { writeln!(self, "{none}") };
        }
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(headings.len());
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain(headings.get(column).map(|heading| heading.len())).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        if !headings.is_empty() {
            let style = self.heading;
            write!(self, "{style}")?;
            self.line(&widths, headings.iter().copied())?;
            writeln!(self, "{style:#}")?;
        }
        for row in &rows {
            self.line(&widths, row.iter().map(String::as_str))?;
            writeln!(self)?;
        }
        Ok(())
    }

    /// Writes the cells of a row. The last cell is not filled up, so that no line ends in spaces.
    fn line<'a>(
        &mut self,
        widths: &[usize],
        cells: impl ExactSizeIterator<Item = &'a str>,
    ) -> io::Result<()> {
        let last = cells.len().saturating_sub(1);
        for (column, cell) in cells.enumerate() {
            let width = widths.get(column).copied().unwrap_or(0);
            if column < last { write!(self, "{cell:width$}  ")? } else { write!(self, "{cell}")? }
        }
        Ok(())
    }
}

impl Write for TextWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the word that stands for a value in JSON.
pub(crate) fn word_of(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}

/// Returns a cell with the value, or `-` without one.
pub(crate) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Returns a peer's text in a form that is safe for a terminal: characters that are hidden or move the cursor are
/// spelled out. Ends of lines, tabs and the emoji variation selector stay.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let is_kept = matches!(c, '\n' | '\t' | '\u{fe0f}') || !is_hidden(c);
        if is_kept { shown.push(c) } else { shown.extend(c.escape_unicode()) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut text = TextWriter { written: Vec::new(), heading: Style::new(), is_quiet: false };
        let rows = [["a".to_owned(), "1".to_owned()], ["öäü\u{1b}x\ny".to_owned(), "22".to_owned()]];
        text.table(&["SERVER", "TOOLS"], rows, "none").unwrap();
        let expected = "SERVER        TOOLS\na             1\nöäü\\u{1b}x y  22\n";
        assert_eq!(String::from_utf8(text.written).unwrap(), expected);
    }

    #[test]
    fn what_would_deceive_a_terminal_is_spelled_out() {
        assert_eq!(printable("a\u{1b}[2Kb\u{202e}\r\n"), "a\\u{1b}[2Kb\\u{202e}\\u{d}\n");
        assert_eq!(printable("Grüße 你好 ⚠\u{fe0f}"), "Grüße 你好 ⚠\u{fe0f}");
        assert_eq!(printable("a\u{e0041}"), "a\\u{e0041}");
    }
}
