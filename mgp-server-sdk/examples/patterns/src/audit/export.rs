//! Exports: events as JSON, as lines of JSON, and as a table that spreadsheets may open.

use mgp_types::RawJson;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExportFormat {
    /// An array of events; each page is an array of its own.
    Json,
    /// A table as in RFC 4180. The first page begins with the names of the columns.
    Csv,
    /// An event in each line.
    Jsonl,
}

/// The place of a page in an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExportPlace {
    Beginning,
    Later,
}

/// Returns events in a format.
pub(super) fn written(format: ExportFormat, place: ExportPlace, events: &[RawJson]) -> String {
    let texts = events.iter().map(|event| String::from_utf8_lossy(event.as_bytes()));
    match format {
        ExportFormat::Json => format!("[\n{}\n]\n", texts.collect::<Vec<_>>().join(",\n")),
        ExportFormat::Jsonl => texts.flat_map(|text| [text, "\n".into()]).collect(),
        ExportFormat::Csv => {
            let mut table = String::new();
            if place == ExportPlace::Beginning {
                table.push_str(&COLUMNS.map(|(name, _)| name).join(","));
                table.push_str("\r\n");
            }
            for event in events {
                push_row(&mut table, &event.to().unwrap_or_default());
            }
            table
        }
    }
}

fn push_row(table: &mut String, event: &Value) {
    for (place, (_, pointer)) in COLUMNS.iter().enumerate() {
        if place > 0 {
            table.push(',');
        }
        match event.pointer(pointer).unwrap_or_default() {
            Value::Null => push_cell(table, ""),
            Value::String(text) => push_cell(table, text),
            other => push_cell(table, &other.to_string()),
        }
    }
    table.push_str("\r\n");
}

/// Adds a cell. Each is quoted, so that no separator ends it, and one that a spreadsheet would take for a formula begins
/// with an apostrophe.
fn push_cell(table: &mut String, cell: &str) {
    table.push('"');
    if begins_formula(cell) {
        table.push('\'');
    }
    table.push_str(&cell.replace('"', "\"\""));
    table.push('"');
}

/// Returns whether a spreadsheet would take a cell for a formula. Spreadsheets skip what is invisible in front of one, and
/// some read the full-width forms of the signs.
fn begins_formula(cell: &str) -> bool {
    let is_skipped =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{200B}'..='\u{200F}' | '\u{FEFF}');
    let sign = cell.chars().find(|c| !is_skipped(*c));
    cell.starts_with(char::is_control)
        || matches!(sign, Some('=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠' | '\u{2212}'))
}

/// The columns of a table, each with the place of its value in an event.
const COLUMNS: [(&str, &str); 10] = [
    ("timestamp", "/timestamp"),
    ("trace_id", "/trace_id"),
    ("event_type", "/event_type"),
    ("actor_type", "/actor/type"),
    ("actor_id", "/actor/id"),
    ("server_id", "/target/server_id"),
    ("tool_name", "/target/tool_name"),
    ("result", "/result"),
    ("details", "/details"),
    ("seq", "/_mgp/seq"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(tool: &str) -> RawJson {
        let event = json!({
            "timestamp": "2026-02-27T12:00:00.000Z", "trace_id": "550e8400-e29b-41d4-a716-446655440000",
            "event_type": "TOOL_EXECUTED", "actor": {"type": "agent", "id": "one"},
            "target": {"server_id": null, "tool_name": tool}, "result": "SUCCESS",
            "details": {"note": "a,\"b\""}, "_mgp": {"seq": 7},
        });
        RawJson::from_value(&event).unwrap()
    }

    #[test]
    fn a_table_has_a_cell_for_each_value_and_the_names_once() {
        let rows = written(ExportFormat::Csv, ExportPlace::Beginning, &[event("read")]);
        let (names, row) = rows.split_once("\r\n").unwrap();
        assert_eq!(names.split(',').count(), COLUMNS.len());
        let cells = concat!(
            r#""2026-02-27T12:00:00.000Z","550e8400-e29b-41d4-a716-446655440000","TOOL_EXECUTED","agent","one","#,
            r#""","read","SUCCESS","{""note"":""a,\""b\""""}","7""#
        );
        assert_eq!(row, format!("{cells}\r\n"));
        assert_eq!(written(ExportFormat::Csv, ExportPlace::Later, &[event("read")]), row);
    }

    // covers: P-4-14
    #[test]
    fn no_cell_begins_a_formula_or_ends_early() {
        for (cell, expected) in [
            ("plain", "\"plain\""),
            ("=1+1", "\"'=1+1\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            (" =1", "\"' =1\""),
            ("\u{FEFF}=1", "\"'\u{FEFF}=1\""),
            ("＝1", "\"'＝1\""),
            ("\rx", "\"'\rx\""),
            ("a\",=1", "\"a\"\",=1\""),
            ("a-b", "\"a-b\""),
            ("", "\"\""),
        ] {
            let mut table = String::new();
            push_cell(&mut table, cell);
            assert_eq!(table, expected);
        }
        let table = written(ExportFormat::Csv, ExportPlace::Later, &[event("=HYPERLINK(\"http://a\")")]);
        assert!(table.contains(r#","'=HYPERLINK(""http://a"")","#), "{table}");
    }

    #[test]
    fn an_array_and_lines_have_the_events_as_they_came() {
        let events = [event("a"), event("b")];
        let array: Vec<Value> =
            serde_json::from_str(&written(ExportFormat::Json, ExportPlace::Beginning, &events)).unwrap();
        let lines = written(ExportFormat::Jsonl, ExportPlace::Later, &events);
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(array, lines);
        assert_eq!(array.len(), 2);
        assert_eq!(written(ExportFormat::Json, ExportPlace::Later, &[]), "[\n\n]\n");
    }
}
