//! The export of audit events as JSON or CSV.

use std::io::{self, Write};

use mgp_types::mgp::{AuditEvent, ServerId, ToolName};

use super::entry::LogEntry;
use super::filter::{Filter, Query};
use super::reader::LogReader;
use crate::StoreError;

/// A format in which events are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// One event as JSON in each line, with its number and link under `_mgp`.
    JsonLines,
    /// A JSON array of events, each with its number and link under `_mgp`.
    Json,
    /// A table as RFC 4180 defines it.
    ///
    /// A cell that a spreadsheet would take for a formula begins with an apostrophe.
    Csv,
}

/// The reason why events were not exported, or not all of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The log cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The events cannot be written to the output.
    #[error("the export cannot be written")]
    Write(#[from] io::Error),
}

impl LogReader {
    /// Writes the events that match `filter` to `out`, oldest first, and returns their number.
    ///
    /// The log is read a page at a time, so it may be of any size and may grow meanwhile.
    pub fn export(&self, filter: &Filter, format: Format, out: &mut dyn Write) -> Result<u64, ExportError> {
        let end = self.store.tail()?.head.map_or(0, |head| head.seq);
        let (mut after, mut written) = (0, 0);
        match format {
            Format::Csv => out.write_all(HEADINGS)?,
            Format::Json => out.write_all(b"[")?,
            Format::JsonLines => {}
        }
        loop {
            let entries = self.store.read(&Query::after(filter.clone(), after, PAGE))?;
            let Some(last) = entries.last() else { break };
            after = last.seq;
            for entry in entries.iter().take_while(|entry| entry.seq <= end) {
                match format {
                    Format::JsonLines => write_line(out, entry)?,
                    Format::Json => {
                        out.write_all(if written == 0 { b"\n" } else { b",\n" })?;
                        out.write_all(&entry.with_place(true))?;
                    }
                    Format::Csv => write_row(out, entry)?,
                }
                written += 1;
            }
            if after >= end {
                break;
            }
        }
        if format == Format::Json {
            out.write_all(b"\n]\n")?;
        }
        out.flush()?;
        Ok(written)
    }
}

impl LogEntry {
    /// Returns the event as [`Format::JsonLines`] writes it, with its number and link under `_mgp`.
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = self.with_place(true);
        line.push(b'\n');
        line
    }

    /// Returns the event as [`Format::Csv`] writes it.
    ///
    /// # Errors
    /// Fails if the bytes are not an event, which cannot be in a log that verifies.
    pub fn to_csv(&self) -> Result<Vec<u8>, ExportError> {
        let mut row = Vec::with_capacity(400);
        write_row(&mut row, self)?;
        Ok(row)
    }

    /// The column headings that go with [`to_csv`](Self::to_csv).
    pub const CSV_HEADINGS: &[u8] = HEADINGS;
}

fn write_line(out: &mut dyn Write, entry: &LogEntry) -> Result<(), ExportError> {
    out.write_all(&entry.to_line())?;
    Ok(())
}

fn write_row(out: &mut dyn Write, entry: &LogEntry) -> Result<(), ExportError> {
    let event: AuditEvent =
        entry.to_event().map_err(|_| StoreError::Damaged(format!("event {} is no event", entry.seq)))?;
    let details = event.details.to_raw();
    let arguments = &event.target.arguments;
    let arguments = if arguments.is_empty() {
        String::new()
    } else {
        serde_json::to_string(arguments).unwrap_or_default()
    };
    let kind = serde_json::to_value(event.actor.kind).unwrap_or_default();
    let cells = [
        &*entry.seq.to_string(),
        &event.timestamp.to_string(),
        &event.trace_id.to_string(),
        event.event_type.as_str(),
        kind.as_str().unwrap_or_default(),
        &event.actor.id,
        event.target.server_id.as_ref().map_or("", ServerId::as_str),
        event.target.tool_name.as_ref().map_or("", ToolName::as_str),
        &arguments,
        event.result.as_str(),
        &String::from_utf8_lossy(details.as_bytes()),
        &entry.hash.to_string(),
    ];
    let mut row = String::with_capacity(400);
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            row.push(',');
        }
        push_cell(&mut row, cell);
    }
    row.push_str("\r\n");
    out.write_all(row.as_bytes())?;
    Ok(())
}

/// Adds a cell to a row. Every cell is quoted, so that no reader's separator can end it.
fn push_cell(row: &mut String, cell: &str) {
    row.push('"');
    if begins_formula(cell) {
        row.push('\'');
    }
    for character in cell.chars() {
        if character == '"' {
            row.push('"');
        }
        row.push(character);
    }
    row.push('"');
}

/// Returns whether a spreadsheet would take a cell for a formula. Spreadsheets skip leading white space, and some
/// read the full-width forms of the signs like the usual ones.
fn begins_formula(cell: &str) -> bool {
    let is_skipped =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{200B}'..='\u{200F}' | '\u{FEFF}');
    let first = cell.chars().find(|c| !is_skipped(*c));
    let begins_with_control = cell.starts_with(['\t', '\r', '\n']);
    begins_with_control
        || matches!(first, Some('=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠' | '\u{2212}'))
}

/// The first row of a CSV export.
const HEADINGS: &[u8] =
    b"seq,timestamp,trace_id,event_type,actor_type,actor_id,server_id,tool_name,target_arguments,result,details,hash\r\n";

/// The number of events that are read at a time.
const PAGE: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_begins_a_formula_or_ends_early() {
        for (cell, written) in [
            ("plain", "\"plain\""),
            ("=1+1", "\"'=1+1\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            ("\tx", "\"'\tx\""),
            (" =1", "\"' =1\""),
            ("\u{FEFF}=1", "\"'\u{FEFF}=1\""),
            ("＝1", "\"'＝1\""),
            ("a\",=1", "\"a\"\",=1\""),
            ("a\r\n=1", "\"a\r\n=1\""),
            ("a-b", "\"a-b\""),
            ("", "\"\""),
        ] {
            let mut row = String::new();
            push_cell(&mut row, cell);
            assert_eq!(row, written);
        }
    }
}
