//! The audit record: searched, verified and exported, a page at a time.

use mgp_security::StoreError;
use mgp_security::audit::{Filter, LogEntry, LogFlaw, LogReader, Order, Query, VerifyError};
use mgp_types::mgp::{AgentId, EventType, Outcome, ServerId, Timestamp, TraceId};
use mgp_types::{Error, RawJson};
use serde::{Deserialize, Serialize};

pub(crate) use crate::audit_log_ends::LogEnd;
use crate::record::AuditTrail;

/// The filter for events; all of them by default.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EventSelection {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) event_types: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent_id: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_id: Option<ServerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_id: Option<TraceId>,
}

/// The params that ask for a page of events.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct QueryEvents {
    #[serde(flatten)]
    pub(crate) events: EventSelection,
    /// True if the oldest events come first; else the newest do.
    pub(crate) oldest_first: bool,
    /// The number of the event in that order behind which the page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) behind: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u32>,
}

/// A page of events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EventPage {
    pub(crate) events: Vec<EventRow>,
    /// The value of `behind` for the next page, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_behind: Option<u64>,
}

/// An event with its place in the chain.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EventRow {
    pub(crate) seq: u64,
    pub(crate) hash: String,
    pub(crate) event: RawJson,
}

/// The params that ask for the whole record to be checked.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct VerifyLog {
    /// The ends that the record once had, kept elsewhere.
    pub(crate) known: Vec<LogEnd>,
}

/// The result of a check of the record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct VerifiedLog {
    pub(crate) intact: bool,
    /// The number of events that were checked; `None` if the record was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) events: Option<u64>,
    /// The end of the record, to be kept elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<LogEnd>,
    /// The number of the event where a change shows first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed_at: Option<u64>,
    /// The fault that was found there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) flaw: Option<String>,
}

/// The params that ask for a page of events as text, the oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ExportEvents {
    #[serde(flatten)]
    pub(crate) events: EventSelection,
    pub(crate) format: ExportFormat,
    /// The number of the event behind which the page begins.
    pub(crate) behind: u64,
}

/// The format of exported events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExportFormat {
    /// A JSON object a line for each event, with its number and link under `_mgp`.
    #[default]
    Jsonl,
    /// A table as in RFC 4180.
    Csv,
}

/// A part of an export.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ExportPage {
    pub(crate) text: String,
    pub(crate) events: u64,
    /// The value of `behind` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_behind: Option<u64>,
}

pub(super) async fn head(audit: &AuditTrail) -> Result<LogEnd, Error> {
    audit.log.flush().await?;
    Ok(LogEnd::of(audit.log.head()))
}

pub(super) async fn query(audit: &AuditTrail, asked: QueryEvents) -> Result<EventPage, Error> {
    let limit = limit(asked.limit);
    let mut query = Query::new(asked.events.filter());
    query.order = if asked.oldest_first { Order::OldestFirst } else { Order::NewestFirst };
    query.behind = asked.behind;
    query.limit = limit;
    let found = reading(audit, move |reader| reader.query(&query)).await?.map_err(unreadable)?;
    let next_behind = (found.len() == limit).then(|| found.last().map(|last| last.seq)).flatten();
    let events = found.into_iter().map(|entry| EventRow {
        seq: entry.seq,
        hash: entry.hash.to_string(),
        event: entry.event,
    });
    Ok(EventPage { events: events.collect(), next_behind })
}

pub(super) async fn verify(audit: &AuditTrail, asked: VerifyLog) -> Result<VerifiedLog, Error> {
    if asked.known.len() > MOST_KNOWN {
        return Err(Error::invalid_params(format!(
            "at most {MOST_KNOWN} ends can be held against the record"
        )));
    }
    let mut known = asked.known.iter().map(LogEnd::read).collect::<Result<Vec<_>, _>>()?;
    known.extend(audit.ends.known());
    let ends: Vec<u64> = known.iter().map(|end| end.seq).collect();
    match reading(audit, move |reader| reader.verify(&known)).await? {
        Ok(verified) => Ok(VerifiedLog {
            intact: true,
            events: Some(verified.events),
            head: Some(LogEnd::of(verified.head)),
            changed_at: None,
            flaw: None,
        }),
        Err(VerifyError::Changed { seq, flaw: LogFlaw::End }) if ends.contains(&seq) => {
            let now = audit.log.head().seq;
            let flaw = if seq > now {
                format!("cut: the last known event was {seq}, the record ends at {now}")
            } else {
                format!("replaced: the event {seq} is not the one that was known to be the last")
            };
            Ok(VerifiedLog {
                intact: false,
                events: None,
                head: None,
                changed_at: Some(seq),
                flaw: Some(flaw),
            })
        }
        Err(VerifyError::Changed { seq, flaw }) => Ok(VerifiedLog {
            intact: false,
            events: None,
            head: None,
            changed_at: Some(seq),
            flaw: Some(flaw.to_string()),
        }),
        Err(VerifyError::Store(error)) => Err(unreadable(error)),
        Err(error) => Err(Error::internal("the record cannot be checked").with_source(error)),
    }
}

pub(super) async fn export(audit: &AuditTrail, asked: ExportEvents) -> Result<ExportPage, Error> {
    let query = Query::after(asked.events.filter(), asked.behind, EXPORTED_AT_ONCE);
    let found = reading(audit, move |reader| reader.query(&query)).await?.map_err(unreadable)?;
    let mut bytes = Vec::new();
    if asked.format == ExportFormat::Csv && asked.behind == 0 {
        bytes.extend_from_slice(LogEntry::CSV_HEADINGS);
    }
    for entry in &found {
        match asked.format {
            ExportFormat::Jsonl => bytes.extend_from_slice(&entry.to_line()),
            ExportFormat::Csv => bytes.extend_from_slice(&entry.to_csv().map_err(unreadable)?),
        }
    }
    let next_behind = (found.len() == EXPORTED_AT_ONCE).then(|| found.last().map(|last| last.seq)).flatten();
    let text = String::from_utf8(bytes)
        .map_err(|error| Error::internal("the record holds an event that is no text").with_source(error))?;
    Ok(ExportPage { text, events: found.len() as u64, next_behind })
}

/// Reads the record on a thread that may wait for the medium, after everything that was recorded before is written.
async fn reading<T: Send + 'static>(
    audit: &AuditTrail,
    read: impl FnOnce(&LogReader) -> T + Send + 'static,
) -> Result<T, Error> {
    audit.log.flush().await?;
    let reader = audit.log.reader();
    let done = tokio::task::spawn_blocking(move || read(&reader)).await;
    done.map_err(|panic| Error::internal("the record could not be read").with_source(panic))
}

fn unreadable(error: StoreError) -> Error {
    Error::internal(format!("the record cannot be read: {error}")).with_source(error)
}

fn limit(asked: Option<u32>) -> usize {
    asked.map_or(50, |limit| limit as usize).clamp(1, Query::MAX_LIMIT)
}

impl EventSelection {
    fn filter(self) -> Filter {
        let mut filter = Filter::default();
        filter.event_types = self.event_types.iter().map(|name| EventType::read(name)).collect();
        filter.agent_id = self.agent_id;
        filter.server_id = self.server_id;
        filter.result = self.result;
        filter.since = self.since;
        filter.until = self.until;
        filter.trace_id = self.trace_id;
        filter
    }
}

const MOST_KNOWN: usize = 1_000;
/// The number of events in a page of an export. A page stays well under the limit of a message, even if each event is
/// as long as it can be.
const EXPORTED_AT_ONCE: usize = 100;
