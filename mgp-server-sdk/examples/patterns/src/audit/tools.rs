//! The tools of the audit service: their arguments and results.

use std::collections::BTreeMap;

use mgp_security::StoreError;
use mgp_server_sdk::{Cx, Json, ToolError};
use mgp_types::RawJson;
use mgp_types::mgp::{Outcome, Timestamp, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::export::{ExportFormat, ExportPlace, written};
use super::search::{EventFilter, Order, PageBounds};
use super::statistics::GroupBy;
use super::store::EventStore;
use super::writer::EventQueue;

/// What the tools work with.
#[derive(Debug, Clone)]
pub(super) struct AuditService {
    pub(super) store: EventStore,
    pub(super) queue: EventQueue,
}

impl AuditService {
    /// Reads the store, with all events that came before, on a thread that may wait for the disk.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&EventStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ToolError> {
        self.queue.flush().await;
        let store = self.store.clone();
        Ok(tokio::task::spawn_blocking(move || read(&store)).await??)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryAuditLog {
    /// Only events of this type, such as `TOOL_BLOCKED`.
    event_type: Option<String>,
    /// Only events in which this agent acted.
    agent_id: Option<String>,
    /// Only events about this server.
    server_id: Option<String>,
    /// Only events with this outcome.
    #[schemars(with = "Option<OutcomeWord>")]
    result: Option<Outcome>,
    /// Only events from this time on, as in RFC 3339.
    #[schemars(with = "Option<String>")]
    since: Option<Timestamp>,
    /// Only events before this time, as in RFC 3339.
    #[schemars(with = "Option<String>")]
    until: Option<Timestamp>,
    /// Only events of this chain of requests.
    #[schemars(with = "Option<String>")]
    trace_id: Option<TraceId>,
    /// How many events are returned at most.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
    /// The `next_cursor` of the page before.
    cursor: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FoundEvents {
    /// The events, the newest first.
    #[schemars(with = "Vec<serde_json::Value>")]
    events: Vec<RawJson>,
    /// The `cursor` for the events before these, if there may be any.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<i64>,
}

pub(super) async fn query_audit_log(asked: QueryAuditLog, cx: Cx) -> Result<Json<FoundEvents>, ToolError> {
    let filter = EventFilter {
        types: asked.event_type.into_iter().collect(),
        agent: asked.agent_id,
        server: asked.server_id,
        result: asked.result,
        since: asked.since,
        until: asked.until,
        trace: asked.trace_id,
    };
    let bounds = PageBounds {
        order: Order::NewestFirst,
        behind: asked.cursor,
        most_events: asked.limit as usize,
        most_bytes: PAGE_BYTES,
    };
    let page = cx.state::<AuditService>()?.read(move |store| store.search(&filter, bounds)).await?;
    Ok(Json(FoundEvents { events: page.events, next_cursor: page.next }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetAuditStats {
    /// The beginning of the period, as in RFC 3339; the first event if left out.
    #[schemars(with = "Option<String>")]
    since: Option<Timestamp>,
    /// The end of the period, not included, as in RFC 3339; the last event if left out.
    #[schemars(with = "Option<String>")]
    until: Option<Timestamp>,
    /// The property by which events are grouped.
    #[serde(default)]
    group_by: GroupBy,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuditStats {
    /// The period that was asked for.
    period: Period,
    /// The number of all events of the period.
    total_events: u64,
    /// The number of events of each group: the largest first, hours in their order, 1000 at most.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, u64>")]
    breakdown: Vec<(String, u64)>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Period {
    #[schemars(with = "Option<String>")]
    since: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    until: Option<Timestamp>,
}

pub(super) async fn get_audit_stats(asked: GetAuditStats, cx: Cx) -> Result<Json<AuditStats>, ToolError> {
    let GetAuditStats { since, until, group_by } = asked;
    let service = cx.state::<AuditService>()?;
    let counts = service.read(move |store| store.count(since, until, group_by)).await?;
    let period = Period { since, until };
    Ok(Json(AuditStats { period, total_events: counts.total, breakdown: counts.groups }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportAudit {
    /// The format of the events.
    format: ExportFormat,
    /// Only events from this time on, as in RFC 3339.
    #[schemars(with = "Option<String>")]
    since: Option<Timestamp>,
    /// Only events before this time, as in RFC 3339.
    #[schemars(with = "Option<String>")]
    until: Option<Timestamp>,
    /// Only events of these types; all if left out.
    #[serde(default)]
    #[schemars(length(max = 100))]
    event_types: Vec<String>,
    /// The `next_cursor` of the page before.
    cursor: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ExportedEvents {
    format: ExportFormat,
    /// The number of events in `data`.
    events: usize,
    /// The events, the oldest first.
    data: String,
    /// The `cursor` for the events behind these, if there may be any.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<i64>,
}

pub(super) async fn export_audit(asked: ExportAudit, cx: Cx) -> Result<Json<ExportedEvents>, ToolError> {
    let ExportAudit { format, since, until, event_types, cursor } = asked;
    let filter = EventFilter { types: event_types, since, until, ..EventFilter::default() };
    let bounds = PageBounds {
        order: Order::OldestFirst,
        behind: cursor,
        most_events: EXPORTED_AT_ONCE,
        most_bytes: PAGE_BYTES,
    };
    let page = cx.state::<AuditService>()?.read(move |store| store.search(&filter, bounds)).await?;
    let place = if cursor.is_none() { ExportPlace::Beginning } else { ExportPlace::Later };
    let data = written(format, place, &page.events);
    Ok(Json(ExportedEvents { format, events: page.events.len(), data, next_cursor: page.next }))
}

/// The outcomes of events, as schemas show them.
#[derive(JsonSchema)]
#[schemars(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "only its schema is used")]
enum OutcomeWord {
    Success,
    Failure,
    Blocked,
}

fn as_map<S: Serializer>(groups: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(groups.iter().map(|(group, events)| (group, events)))
}

const fn default_limit() -> u32 {
    50
}

/// How many events an export returns at most.
const EXPORTED_AT_ONCE: usize = 1_000;
/// A page ends with the event with which it has so many bytes.
const PAGE_BYTES: usize = 1 << 20;
