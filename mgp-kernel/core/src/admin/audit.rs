//! The audit record: searched a page at a time, counted and verified.

use std::io::{self, Write as _};
use std::time::Duration;

use clap::Args;
use mgp_security::StoreError;
use mgp_security::audit::{Filter, LogEntry, LogFlaw, LogHead, LogStore, Order, Query, VerifyError};
use mgp_types::mgp::{AgentId, AuditEvent, EventType, Outcome, ServerId, Timestamp, ToolName, TraceId};
use mgp_types::{Error, RawJson};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::operation::{Operation, OperatorCall};
use crate::record::AuditTrail;
use crate::replicas::VerifiedChain;
use crate::terminal::{Exit, Failure, TextForm, TextWriter, ago, printable, with_causes};

/// The filter for events; all of them by default.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct EventSelection {
    /// Events of this type, such as TOOL_BLOCKED; repeat for more
    #[arg(long = "type", value_name = "TYPE")]
    pub event_types: Vec<String>,
    /// Events of this agent
    #[arg(long = "agent", value_name = "AGENT")]
    agent_id: Option<AgentId>,
    /// Events of this server
    #[arg(long = "server", value_name = "SERVER")]
    server_id: Option<ServerId>,
    /// Events with this result: success, failure, blocked
    #[arg(long, value_parser = outcome)]
    pub result: Option<Outcome>,
    /// Events from here on: a time, or a span such as 2h
    #[arg(long, value_name = "WHEN", value_parser = ago)]
    since: Option<Timestamp>,
    /// Events up to here: a time, or a span such as 2h
    #[arg(long, value_name = "WHEN", value_parser = ago)]
    until: Option<Timestamp>,
    /// Events of this trace, that is, of one chain of requests
    #[arg(long = "trace", value_name = "ID")]
    trace_id: Option<TraceId>,
}

/// Searches the record: a page of events.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct QueryEvents {
    /// The events that are wanted.
    #[command(flatten)]
    #[serde(flatten)]
    pub events: EventSelection,
    /// List the oldest events first
    #[arg(long)]
    pub oldest_first: bool,
    /// Begin after the event with this number
    #[arg(long, value_name = "SEQ")]
    pub behind: Option<u64>,
    /// List at most N events
    #[arg(long, value_name = "N", default_value = "50")]
    pub limit: Option<u32>,
    /// True if only events of the kernel that is asked are wanted, and else those of all kernels.
    #[arg(skip)]
    pub here: bool,
}

/// A page of events.
#[derive(Debug, Serialize, Deserialize)]
pub struct EventPage {
    /// The events.
    pub events: Vec<EventRow>,
    /// The reason why events of other kernels are not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_here: Option<String>,
    /// The value of `behind` for the next page, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_behind: Option<u64>,
}

/// An event with its place in the chain.
#[derive(Debug, Serialize, Deserialize)]
pub struct EventRow {
    /// The kernel that recorded the event, where several share their decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) kernel: Option<String>,
    /// The number of the event in the record.
    pub seq: u64,
    pub(super) hash: String,
    /// The event, as it is recorded.
    pub event: RawJson,
}

/// Counts the newest events of the last day, by hour.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct CountEvents {
    /// The server that the events are about; events about all servers, and none, if left out.
    #[serde(default)]
    pub(crate) server_id: Option<ServerId>,
}

/// The counts of the last day.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EventCounts {
    /// The hours, the oldest first.
    pub(crate) hours: Vec<HourCount>,
}

/// The events of an hour.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HourCount {
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) events: u64,
    /// The number of those that failed or were blocked.
    pub(crate) failed: u64,
    /// The time in milliseconds that half of the server's calls took at most, waits for people included; only where events of
    /// one server are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) p50_ms: Option<u64>,
    /// The time in milliseconds that 95 % of them took at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) p95_ms: Option<u64>,
}

/// Reads where the record ends.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadLogEnd {}

/// Verifies that nobody changed the record.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifyLog {
    /// An end of the audit log that was kept elsewhere, as SEQ:HASH; repeat for more
    #[arg(long, value_name = "SEQ:HASH", value_parser = end)]
    known: Vec<LogHead>,
}

/// The result of a check of the record.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct VerifiedLog {
    /// True if nothing in the record was changed or removed.
    pub intact: bool,
    /// The number of events that were checked; `None` if the record was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// The end of the record, to be kept elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<LogHead>,
    /// The number of the event where a change shows first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<u64>,
    /// The fault that was found there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flaw: Option<String>,
    /// The events of all kernels that share their decisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kernels: Vec<VerifiedChain>,
}

impl Operation for ReadLogEnd {
    type Reply = LogHead;

    async fn run(self, call: &OperatorCall) -> Result<LogHead, Error> {
        call.kernel.audit.log.flush().await?;
        Ok(call.kernel.audit.log.head())
    }
}

impl Operation for CountEvents {
    type Reply = EventCounts;

    async fn run(self, call: &OperatorCall) -> Result<EventCounts, Error> {
        let audit = &call.kernel.audit;
        let start = first_hour(audit);
        let server = self.server_id;
        let counted = move |reader: &LogStore| {
            let times = server.as_ref().map(|server| reader.call_times(server, start, HOUR, COUNTED));
            let counts = reader.counts(server.as_ref(), start, HOUR, COUNTED)?;
            Ok::<_, StoreError>((counts, times.transpose()?.unwrap_or_default()))
        };
        let (counts, times) = reading(audit, counted).await?.map_err(unreadable)?;
        let hour = |number: u32| {
            let (events, failed) = counts.get(&u64::from(number)).copied().unwrap_or_default();
            let since = start.saturating_add(HOUR * number);
            let took = |percent| percentile(times.get(&u64::from(number))?, percent);
            let until = since.saturating_add(HOUR);
            HourCount { since, until, events, failed, p50_ms: took(50), p95_ms: took(95) }
        };
        Ok(EventCounts { hours: (0..HOURS).map(hour).collect() })
    }
}

/// Returns the time that this percentage of `times`, which rise, do not exceed.
fn percentile(times: &[u64], percent: usize) -> Option<u64> {
    times.get((times.len() * percent).div_ceil(100).checked_sub(1)?).copied()
}

impl Operation for QueryEvents {
    type Reply = EventPage;

    async fn run(self, call: &OperatorCall) -> Result<EventPage, Error> {
        let (audit, mut only_here) = (&call.kernel.audit, None);
        // A page goes on as the one before: by the numbers of this kernel, or by the places of the events of all.
        let is_here = self.here || self.behind.is_some_and(|behind| behind < FIRST_PLACE);
        if let Some(link) = call.kernel.link.as_deref().filter(|_| !is_here) {
            // The pages behind the first one go on with what that waited for.
            if self.behind.is_none() && !link.freshness.is_stale() {
                audit.log.flush().await?;
                audit.until_copied(audit.log.head().seq).await;
            }
            match link.events(&json!(self)).await {
                Ok(page) => return Ok(page),
                Err(error) if self.behind.is_some() => return Err(unreadable(error)),
                Err(error) => only_here = Some(with_causes(&error.to_string(), &error)),
            }
        }
        let limit = self.limit.map_or(50, |limit| limit as usize).clamp(1, Query::MAX_LIMIT);
        let mut query = Query::new(self.events.filter());
        query.order = if self.oldest_first { Order::OldestFirst } else { Order::NewestFirst };
        query.behind = self.behind;
        query.limit = limit;
        let found = reading(audit, move |reader| reader.query(&query)).await?.map_err(unreadable)?;
        let next_behind = found.get(limit - 1).map(|last| last.seq);
        let row = |entry: LogEntry| {
            let (seq, hash) = (entry.seq, entry.hash.to_string());
            EventRow { kernel: None, seq, hash, event: entry.event }
        };
        Ok(EventPage { events: found.into_iter().map(row).collect(), only_here, next_behind })
    }
}

impl TextForm for EventPage {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        self.events.iter().try_for_each(|row| writeln!(out, "{}", row.line()))
    }

    fn notes(&self) -> Vec<String> {
        let more = |behind| format!("there may be more events: `--behind {behind}` continues");
        let others = self.only_here.as_deref().map(without_others);
        self.next_behind.map(more).into_iter().chain(others).collect()
    }
}

/// Returns the sentence for people who see only events of this kernel, for this reason.
pub fn without_others(why: &str) -> String {
    format!("only events of this kernel are shown, and none of others: {why}")
}

impl EventRow {
    /// Returns the number of the event, behind the beginning of its kernel's id where there are several kernels.
    pub(crate) fn name(&self) -> String {
        let kernel = self.kernel.as_deref().map(|kernel| kernel.get(..8).unwrap_or(kernel));
        kernel.map_or_else(|| self.seq.to_string(), |kernel| format!("{kernel}:{}", self.seq))
    }

    /// Returns the event as a line.
    pub fn line(&self) -> String {
        let Ok(event) = self.event.to::<AuditEvent>() else { return format!("{}  is no event", self.name()) };
        let server = event.target.server_id.as_ref().map_or("", ServerId::as_str);
        let tool = event.target.tool_name.as_ref().map_or("", ToolName::as_str);
        let parts = [server, tool].into_iter().filter(|part| !part.is_empty());
        let mut target = parts.collect::<Vec<_>>().join(".");
        target.extend(event.target.arguments.iter().map(|(name, value)| format!("  {name}={value}")));
        let sources: Option<Vec<String>> = event.details.get("sources").and_then(|sources| sources.to().ok());
        target.extend(sources.into_iter().flatten().map(|source| format!("  after {source}")));
        let (actor, target) = (printable(&event.actor.id), printable(&target));
        let (kind, result) = (printable(event.event_type.as_str()), event.result.as_str());
        format!("{}  {}  {kind}  {result}  {actor}  {target}", self.name(), event.timestamp)
    }
}

impl Operation for VerifyLog {
    type Reply = VerifiedLog;

    async fn run(self, call: &OperatorCall) -> Result<VerifiedLog, Error> {
        if self.known.len() > MAX_KNOWN {
            let why = format!("at most {MAX_KNOWN} ends can be held against the record");
            return Err(Error::invalid_params(why));
        }
        let audit = &call.kernel.audit;
        let mut known = self.known;
        known.extend(audit.ends.known());
        let ends: Vec<u64> = known.iter().map(|end| end.seq).collect();
        let (seq, flaw) = match reading(audit, move |reader| reader.verify(&known)).await? {
            Ok(verified) => {
                let (events, head) = (Some(verified.events), Some(verified.head));
                let here = VerifiedLog { intact: true, events, head, ..VerifiedLog::default() };
                let Some(link) = &call.kernel.link else { return Ok(here) };
                return here.with_others(link.verify_record(&audit.log).await);
            }
            Err(VerifyError::Changed { seq, flaw: LogFlaw::End }) if ends.contains(&seq) => {
                let now = audit.log.head().seq;
                let flaw = if seq > now {
                    format!("cut: the last known event was {seq}, the record ends at {now}")
                } else {
                    format!("replaced: the event {seq} is not the one that was known to be the last")
                };
                (seq, flaw)
            }
            Err(VerifyError::Changed { seq, flaw }) => (seq, flaw.to_string()),
            Err(VerifyError::Store(error)) => return Err(unreadable(error)),
            Err(error) => return Err(Error::internal("the record cannot be checked").with_source(error)),
        };
        Ok(VerifiedLog { changed_at: Some(seq), flaw: Some(flaw), ..VerifiedLog::default() })
    }

    // The command ends with 5 if the log was changed.
    fn exit(&self, reply: &VerifiedLog) -> Result<Exit, Failure> {
        Ok(if reply.intact { Exit::Done } else { Exit::Tool })
    }
}

impl VerifiedLog {
    /// Returns what was changed, and where; `None` if nothing was.
    pub fn change(&self) -> Option<String> {
        let at = self.changed_at.map(|at| format!(" at event {at}")).unwrap_or_default();
        self.flaw.as_ref().map(|flaw| format!("changed{at}: {}", printable(flaw)))
    }

    /// Returns the result for the records of all kernels, where that of this kernel is intact.
    fn with_others(self, others: Result<Vec<VerifiedChain>, StoreError>) -> Result<Self, Error> {
        match others {
            Ok(kernels) => {
                let flaw = |of: &VerifiedChain| Some(format!("kernel {}, {}", of.kernel, of.flaw.as_ref()?));
                let flaws: Vec<_> = kernels.iter().filter_map(flaw).collect();
                let flaw = (!flaws.is_empty()).then(|| flaws.join("; "));
                Ok(Self { intact: flaw.is_none(), flaw, kernels, ..self })
            }
            Err(StoreError::Damaged(flaw)) => Ok(Self { intact: false, flaw: Some(flaw), ..self }),
            Err(error) => {
                let events = self.events.unwrap_or_default();
                let what = format!(
                    "the record of this kernel is intact, {events} events; those of all kernels cannot be checked: {error}"
                );
                Err(Error::internal(with_causes(&what, &error)).with_source(error))
            }
        }
    }
}

impl TextForm for VerifiedLog {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        if let Some(end) = &self.head {
            let events = self.events.unwrap_or_default();
            writeln!(out, "intact: {events} events\nhead {}:{}", end.seq, end.hash)?;
        }
        for VerifiedChain { kernel, events, through, .. } in &self.kernels {
            writeln!(out, "kernel {}: {events} events up to {through}", printable(kernel))?;
        }
        self.change().map_or(Ok(()), |change| writeln!(out, "{change}"))
    }
}

/// The agents that called tools in the last day, the busiest first.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Callers {
    /// The time from which on calls are counted.
    pub(crate) since: Timestamp,
    pub(crate) agents: Vec<AgentCalls>,
}

/// The number of calls of an agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AgentCalls {
    pub(crate) agent_id: String,
    pub(crate) calls: u64,
}

/// Returns the agents that called tools in the last day. Looks at the newest events only.
pub(super) async fn callers(audit: &AuditTrail) -> Result<Callers, Error> {
    let since = first_hour(audit);
    let counted = reading(audit, move |reader| reader.callers(since, COUNTED)).await?.map_err(unreadable)?;
    let agents = counted.into_iter().map(|(agent_id, calls)| AgentCalls { agent_id, calls }).collect();
    Ok(Callers { since, agents })
}

/// Returns the first of the hours that are counted. Whole hours keep their addresses.
fn first_hour(audit: &AuditTrail) -> Timestamp {
    let this_hour = audit.clock.now().as_millis().div_euclid(HOUR_MILLIS);
    Timestamp::from_millis((this_hour + 1 - i64::from(HOURS)) * HOUR_MILLIS).unwrap_or(Timestamp::EPOCH)
}

/// Reads the record on a thread that may wait for the medium, after everything that was recorded before is written.
async fn reading<T: Send + 'static>(
    audit: &AuditTrail,
    read: impl FnOnce(&LogStore) -> T + Send + 'static,
) -> Result<T, Error> {
    audit.log.flush().await?;
    let reader = audit.log.reader();
    let done = tokio::task::spawn_blocking(move || read(&reader)).await;
    done.map_err(|panic| Error::internal("the record could not be read").with_source(panic))
}

fn unreadable(error: StoreError) -> Error {
    Error::internal(with_causes(&format!("the record cannot be read: {error}"), &error)).with_source(error)
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

fn outcome(word: &str) -> Result<Outcome, String> {
    Outcome::read(word).ok_or_else(|| format!("`{word}` is not a result: write success, failure or blocked"))
}

fn end(text: &str) -> Result<LogHead, String> {
    let parts = text.split_once(':').and_then(|(seq, hash)| Some((seq.parse().ok()?, hash.parse().ok()?)));
    parts.map(|(seq, hash)| LogHead::new(seq, hash)).ok_or_else(|| {
        format!("`{text}` is not an end of the audit log: write SEQ:HASH, as `mgp audit verify` prints it")
    })
}

const HOUR: Duration = Duration::from_hours(1);
const HOUR_MILLIS: i64 = 3_600_000;
const HOURS: u32 = 24;
/// The number of the newest events that are counted.
const COUNTED: u64 = 50_000;
const MAX_KNOWN: usize = 1_000;

/// A number that no kernel's events reach, and that lies before the places of all events.
const FIRST_PLACE: u64 = 1 << 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times: Vec<u64> = (1..=20).collect();
        assert_eq!((percentile(&times, 50), percentile(&times, 95)), (Some(10), Some(19)));
        assert_eq!((percentile(&[7], 50), percentile(&[7], 95)), (Some(7), Some(7)));
        assert_eq!(percentile(&[], 50), None);
    }
}
