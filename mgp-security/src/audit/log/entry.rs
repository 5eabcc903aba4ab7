//! The entry of the audit log: an event with its place in the chain, and the lines in which it is exported, as JSON or
//! CSV.

use mgp_types::canonical::Digest;
use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditTarget, EventType, Outcome, ServerId, Timestamp, ToolName, TraceId,
    method,
};
use mgp_types::{Object, RawJson, Request};

use super::chain::LogHead;
use crate::StoreError;

/// An event in the log: its number, its bytes as they are forwarded, and its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogEntry {
    /// The number of the event: 1 for the first, and one more for each that follows.
    pub seq: u64,
    /// The event as JSON.
    pub event: RawJson,
    /// The link of the event before.
    pub prev: Digest,
    /// The link of this event.
    pub hash: Digest,
    /// The values of the event that the log can be searched by.
    pub facets: EventFacets,
}

/// The values of an event that the log can be searched by; they are copies of values in its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventFacets {
    /// The time of the event, in milliseconds since 1970.
    pub millis: i64,
    /// The type of the event.
    pub event_type: EventType,
    /// The agent that acted; `None` if the actor was not an agent.
    pub agent: Option<Box<str>>,
    /// The server that the event is about.
    pub server: Option<ServerId>,
    /// The outcome of what the event reports.
    pub result: Outcome,
    /// The trace id of the chain of requests that the event belongs to.
    pub trace: u128,
}

impl LogEntry {
    /// Returns the entry for `event` behind `before`, and moves `before` to the new entry.
    pub(crate) fn behind(before: &mut LogHead, event: RawJson, facets: EventFacets) -> Self {
        let prev = before.hash;
        *before = before.link(event.as_bytes());
        Self { seq: before.seq, event, prev, hash: before.hash, facets }
    }

    /// Returns the place of the entry in the chain.
    pub const fn head(&self) -> LogHead {
        LogHead::new(self.seq, self.hash)
    }

    /// Returns the event as a typed value.
    ///
    /// # Errors
    /// Fails if the bytes are not an event, which cannot be in a log that verifies.
    pub fn to_event(&self) -> Result<AuditEvent, serde_json::Error> {
        self.event.to()
    }

    /// Returns the notification for peers that keep a log of their own (§6.3): the event's bytes, with its number
    /// under `_mgp.seq`.
    ///
    /// The number is that of this log, so that a receiver that misses an event can ask for it.
    pub fn to_notification(&self) -> Request {
        let params = Object::parse(self.with_place(false)).unwrap_or_default();
        Request::notify(method::AUDIT, params)
    }

    /// Returns the bytes of the event with its place in the chain as a last member, `_mgp`.
    pub(crate) fn with_place(&self, with_hash: bool) -> Vec<u8> {
        let event = self.event.as_bytes();
        let open = event.strip_suffix(b"}").unwrap_or(event);
        let mut out = Vec::with_capacity(event.len() + 100);
        out.extend_from_slice(open);
        let place = if with_hash {
            format!(r#","_mgp":{{"seq":{},"hash":"{}"}}}}"#, self.seq, self.hash)
        } else {
            format!(r#","_mgp":{{"seq":{}}}}}"#, self.seq)
        };
        out.extend_from_slice(place.as_bytes());
        out
    }

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
            &self.hash.to_string(),
        ];
        Ok(format!("{}\r\n", cells.map(quoted).join(",")).into_bytes())
    }

    /// The column headings that go with [`to_csv`](Self::to_csv).
    pub const CSV_HEADINGS: &[u8] =
        b"seq,timestamp,trace_id,event_type,actor_type,actor_id,server_id,tool_name,target_arguments,result,details,hash\r\n";
}

/// Returns an event that the log reports of itself.
pub(super) fn own_event(now: Timestamp, kind: &'static str, result: Outcome) -> AuditEvent {
    let (kind, target) = (EventType::Custom(kind.into()), AuditTarget::new(None, None));
    AuditEvent::new(now, TraceId::random(), kind, Actor::kernel(), target, result)
}

impl EventFacets {
    /// Returns the searchable values of `event`.
    pub fn of(event: &AuditEvent) -> Self {
        Self {
            millis: event.timestamp.as_millis(),
            event_type: event.event_type.clone(),
            agent: (event.actor.kind == ActorType::Agent).then(|| event.actor.id.as_str().into()),
            server: event.target.server_id.clone(),
            result: event.result,
            trace: event.trace_id.as_u128(),
        }
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
            assert_eq!(quoted(cell), written);
        }
    }
}
