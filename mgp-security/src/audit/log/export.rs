//! The lines in which audit events are exported, as JSON or CSV.

use mgp_types::mgp::{AuditEvent, ServerId, ToolName};

use super::entry::LogEntry;
use crate::StoreError;

impl LogEntry {
    /// Returns the event as a line of JSON, with its number and link under `_mgp`.
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = self.with_place(true);
        line.push(b'\n');
        line
    }

    /// Returns the event as a row of a table as RFC 4180 defines it. A cell that a spreadsheet would take for a formula
    /// begins with an apostrophe.
    ///
    /// # Errors
    /// Fails if the bytes are not an event, which cannot be in a log that verifies.
    pub fn to_csv(&self) -> Result<Vec<u8>, StoreError> {
        let event: AuditEvent =
            self.to_event().map_err(|_| StoreError::Damaged(format!("event {} is no event", self.seq)))?;
        let details = event.details.to_raw();
        let arguments = &event.target.arguments;
        let arguments = if arguments.is_empty() {
            String::new()
        } else {
            serde_json::to_string(arguments).unwrap_or_default()
        };
        let kind = serde_json::to_value(event.actor.kind).unwrap_or_default();
        let cells = [
            &*self.seq.to_string(),
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
            &self.hash.to_string(),
        ];
        let mut row = String::with_capacity(400);
        for (index, cell) in cells.into_iter().enumerate() {
            if index > 0 {
                row.push(',');
            }
            push_cell(&mut row, cell);
        }
        row.push_str("\r\n");
        Ok(row.into_bytes())
    }

    /// The column headings that go with [`to_csv`](Self::to_csv).
    pub const CSV_HEADINGS: &[u8] =
        b"seq,timestamp,trace_id,event_type,actor_type,actor_id,server_id,tool_name,target_arguments,result,details,hash\r\n";
}

/// Adds a cell to a row. Every cell is quoted, so that no reader's separator can end it.
fn push_cell(row: &mut String, cell: &str) {
    row.push('"');
    if begins_formula(cell) {
        row.push('\'');
    }
    row.push_str(&cell.replace('"', "\"\""));
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
