//! The record of all kernels as text, a page at a time: as lines of JSON, or as a table for spreadsheets.

use clap::{Args, ValueEnum};
use mgp_security::audit::with_place;
use mgp_types::Error;
use mgp_types::mgp::{AuditEvent, ServerId, ToolName};
use serde::{Deserialize, Serialize};

use super::audit::{EventPage, EventRow, EventSelection, QueryEvents};
use super::operation::{Operation, OperatorCall};

/// Exports the record: a page of events as text, the oldest first.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct ExportEvents {
    #[command(flatten)]
    #[serde(flatten)]
    events: EventSelection,
    /// The format of the export
    #[arg(long, value_enum, default_value_t)]
    pub format: ExportFormat,
    /// The place of the event behind which the page begins, as the page before tells it.
    #[arg(skip)]
    pub behind: u64,
    /// True if only events of the kernel that is asked are wanted, and else those of all kernels.
    #[arg(skip)]
    here: bool,
}

/// The format of exported events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// Writes each event as a line of JSON, with its number and hash
    #[default]
    Jsonl,
    /// A table for spreadsheets
    Csv,
}

/// A part of an export.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExportPage {
    /// The events as text, in the format that was asked for.
    pub text: String,
    /// The number of events in the text.
    pub events: u64,
    /// The reason why events of other kernels are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_here: Option<String>,
    /// The value of `behind` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_behind: Option<u64>,
}

impl Operation for ExportEvents {
    type Reply = ExportPage;

    async fn run(self, call: &OperatorCall) -> Result<ExportPage, Error> {
        let (behind, limit) = ((self.behind > 0).then_some(self.behind), Some(EXPORTED_AT_ONCE));
        let query = QueryEvents { events: self.events, oldest_first: true, behind, limit, here: self.here };
        let EventPage { events, only_here, next_behind } = query.run(call).await?;
        let mut text = String::new();
        if self.format == ExportFormat::Csv && behind.is_none() {
            text.push_str(HEADINGS);
            let has_kernels = events.iter().any(|row| row.kernel.is_some());
            text.push_str(if has_kernels { ",kernel\r\n" } else { "\r\n" });
        }
        for row in &events {
            match self.format {
                ExportFormat::Jsonl => text.extend([&*row.to_line(), "\n"]),
                ExportFormat::Csv => text.push_str(&row.to_csv()?),
            }
        }
        Ok(ExportPage { text, events: events.len() as u64, only_here, next_behind })
    }
}

impl EventRow {
    /// Returns the event as a line of JSON without its end, with its place in the record under `_mgp`.
    fn to_line(&self) -> String {
        let kernel = self.kernel.as_deref().map(|kernel| ("kernel", kernel));
        let more: Vec<_> = [("hash", &*self.hash)].into_iter().chain(kernel).collect();
        with_place(&self.event, self.seq, &more)
    }

    /// Returns the event as a row of a table as RFC 4180 defines it. A cell that a spreadsheet would take for a formula
    /// begins with an apostrophe.
    ///
    /// # Errors
    /// Fails if the row is no event, which cannot be in a record that verifies.
    fn to_csv(&self) -> Result<String, Error> {
        let event: AuditEvent = self.event.to().map_err(|error| {
            let what = format!("the record cannot be read: event {} is no event", self.name());
            Error::internal(what).with_source(error)
        })?;
        let details = event.details.to_raw();
        let arguments = &event.target.arguments;
        let arguments = (!arguments.is_empty()).then(|| serde_json::to_string(arguments));
        let arguments = arguments.and_then(Result::ok).unwrap_or_default();
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
            &self.hash,
        ];
        let cells = cells.into_iter().chain(self.kernel.as_deref()).map(quoted);
        Ok(format!("{}\r\n", cells.collect::<Vec<_>>().join(",")))
    }
}

/// Returns a cell of a row. Every cell is quoted, so that no reader's separator can end it.
fn quoted(cell: &str) -> String {
    let mark = if begins_formula(cell) { "'" } else { "" };
    format!("\"{mark}{}\"", cell.replace('"', "\"\""))
}

/// Returns whether a spreadsheet would take a cell for a formula. Spreadsheets skip leading white space, and some
/// read the full-width forms of the signs like the usual ones.
fn begins_formula(cell: &str) -> bool {
    let is_skipped =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{200B}'..='\u{200F}' | '\u{FEFF}');
    let first = cell.chars().find(|c| !is_skipped(*c));
    cell.starts_with(['\t', '\r', '\n'])
        || matches!(first, Some('=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠' | '\u{2212}'))
}

/// The headings of the columns, but for that of the kernel, which stands last where there are several.
const HEADINGS: &str = "seq,timestamp,trace_id,event_type,actor_type,actor_id,server_id,tool_name,target_arguments,result,details,hash";

/// The number of events in a page of an export. A page stays under the usual limit of a message, even if each event is
/// as long as it can be, and half of its characters are escaped.
const EXPORTED_AT_ONCE: u32 = 400;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_a_line_and_a_row_with_its_place_and_its_kernel_if_there_are_several() {
        let event = json!({
            "timestamp": "2026-01-01T00:00:00.000Z",
            "trace_id": "00000000-0000-0000-0000-000000000007",
            "event_type": "TOOL_BLOCKED",
            "actor": {"type": "agent", "id": "=cmd|'/c calc'!A1"},
            "target": {"server_id": "files", "tool_name": "a\"b\nc"},
            "result": "BLOCKED",
            "details": {},
        });
        for (kernel, ending) in [(None, "\"00\"\r\n"), (Some("k\"1"), "\"00\",\"k\"\"1\"\r\n")] {
            let mut row = json!({"seq": 7, "hash": "00", "event": event});
            row["kernel"] = json!(kernel);
            let row: EventRow = serde_json::from_str(&row.to_string()).unwrap();
            let line: serde_json::Value = serde_json::from_str(&row.to_line()).unwrap();
            assert_eq!((&line["_mgp"]["seq"], &line["_mgp"]["hash"]), (&json!(7), &json!("00")));
            assert_eq!(line["_mgp"].get("kernel"), kernel.map(|kernel| json!(kernel)).as_ref());
            assert_eq!(line["event_type"], "TOOL_BLOCKED");
            let row = row.to_csv().unwrap();
            assert!(row.starts_with("\"7\",") && row.contains(r#","'=cmd|'/c calc'!A1","#), "{row}");
            assert!(row.contains("\"a\"\"b\nc\"") && row.ends_with(ending), "{row}");
        }
    }

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
            assert_eq!(quoted(cell), written);
        }
    }
}
