//! The forms in which commands print: results as JSON or as text, with tables whose columns are as wide as their widest
//! cells; failures with their exit codes; and times as people write them.

mod failure;

use std::io::{self, Write};
use std::time::Duration;

use anstyle::Style;
use mgp_types::is_hidden;
use mgp_types::mgp::Timestamp;
use serde::Serialize;

pub use self::failure::{Exit, Failure, Result, with_causes};

/// A result of a command, which `--json` prints as it is serialized, and everything else as text.
pub trait TextForm: Serialize {
    /// Writes the text for people.
    fn write(&self, out: &mut TextWriter) -> io::Result<()>;

    /// Returns the notes that follow the text, on standard error.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Has results of a type printed as one line: `line_form!(TYPE, |result| LINE)`.
macro_rules! line_form {
    ($result:ty, |$it:ident| $line:expr) => {
        impl $crate::terminal::TextForm for $result {
            fn write(&self, out: &mut $crate::terminal::TextWriter) -> ::std::io::Result<()> {
                let $it = self;
                ::std::io::Write::write_fmt(out, format_args!("{}\n", $line))
            }
        }
    };
}
pub(crate) use line_form;

/// A writer of text for people.
pub struct TextWriter {
    /// The text so far.
    pub written: Vec<u8>,
    /// The style of headings.
    pub heading: Style,
    /// True if only results are wanted: lists without rows say nothing.
    pub is_quiet: bool,
}

mgp_types::partial_debug!(TextWriter, self => is_quiet: self.is_quiet);

impl TextWriter {
    /// Returns what a command prints of a result, without style.
    pub fn text_of(result: &impl TextForm) -> String {
        let mut out = Self { written: Vec::new(), heading: Style::new(), is_quiet: false };
        // Writing into memory cannot fail.
        let _ = result.write(&mut out);
        String::from_utf8_lossy(&out.written).into_owned()
    }

    /// Writes a table, or `none` in its place if it has no rows. Cells come from servers, so each is shown on one line,
    /// with hidden characters spelled out.
    pub fn table<R: IntoIterator<Item = String>>(
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
            self.line(&widths, headings)?;
            writeln!(self, "{style:#}")?;
        }
        rows.iter().try_for_each(|row| {
            self.line(&widths, row)?;
            writeln!(self)
        })
    }

    /// Writes the cells of a row. The last cell is not filled up, so that no line ends in spaces.
    fn line(&mut self, widths: &[usize], cells: &[impl AsRef<str>]) -> io::Result<()> {
        let last = cells.len().saturating_sub(1);
        cells.iter().zip(widths).enumerate().try_for_each(|(column, (cell, &width))| {
            let cell = cell.as_ref();
            if column < last { write!(self, "{cell:width$}  ") } else { write!(self, "{cell}") }
        })
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
pub fn word_of(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}

/// Returns a cell with the value, or `-` without one.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Returns a peer's text in a form that is safe for a terminal: characters that are hidden or move the cursor are
/// spelled out. Ends of lines, tabs and the emoji variation selector stay.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let is_kept = matches!(c, '\n' | '\t' | '\u{fe0f}') || !is_hidden(c);
        if is_kept { shown.push(c) } else { shown.extend(c.escape_unicode()) }
    }
    shown
}

/// Parses a time in the form of RFC 3339, or its distance from now, such as `90s`, `15m`, `2h` or `30d`, where spans lie
/// in the future.
pub fn ahead(text: &str) -> Result<Timestamp, String> {
    moment(text, |span| Timestamp::now().saturating_add(span))
}

/// Parses a time as [`ahead`] does, where spans lie in the past.
pub(crate) fn ago(text: &str) -> Result<Timestamp, String> {
    moment(text, |span| {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let now = Timestamp::now().as_millis();
        Timestamp::from_millis(now.saturating_sub(millis)).unwrap_or(Timestamp::EPOCH)
    })
}

fn moment(text: &str, away: impl FnOnce(Duration) -> Timestamp) -> Result<Timestamp, String> {
    text.parse().or_else(|_| span(text).map(away)).map_err(|_| {
        format!("`{text}` is neither a time like 2026-02-27T12:00:00Z nor a span like 15m, 2h or 30d")
    })
}

/// Parses a span of time; a number alone is in seconds.
pub fn span(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: Option<u64> = match &text[digits.len()..] {
        "ms" => Some(1),
        "" | "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let millis = unit.zip(digits.parse::<u64>().ok()).and_then(|(unit, count)| unit.checked_mul(count));
    let span = millis.map(Duration::from_millis);
    span.ok_or_else(|| format!("`{text}` is not a span of time such as 500ms, 30s, 15m, 2h or 30d"))
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

    #[test]
    fn moments_are_times_or_spans() {
        assert_eq!(span("90").unwrap(), Duration::from_secs(90));
        assert_eq!(span("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(span("2h").unwrap(), Duration::from_hours(2));
        for wrong in ["", "h", "-1s", "1w", "99999999999999999999s", "18446744073709551615d", "1é"] {
            assert!(span(wrong).is_err() && ahead(wrong).is_err(), "{wrong}");
        }
        let day = Duration::from_hours(24);
        let (now, later, before) = (Timestamp::now(), ahead("1d").unwrap(), ago("1d").unwrap());
        assert!(later >= now.saturating_add(day) && before.saturating_add(day) >= now);
        assert!(before < now && later < now.saturating_add(day + Duration::from_mins(1)));
        let time = "2026-02-27T12:00:00Z";
        assert_eq!(
            (ahead(time).unwrap(), ago(time).unwrap()),
            (time.parse().unwrap(), time.parse().unwrap())
        );
    }
}
