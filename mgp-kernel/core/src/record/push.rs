//! The push of the record to a receiver: in order, each event at least once, and never in the way of calls.
//!
//! Batches are read from the record behind the last event that the receiver took, whose number is kept in the state. The
//! push goes on from there, whatever became of the kernel or the receiver.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use std::{fs, io};

use http::HeaderMap;
use mgp_discovery::config::Secret;
use mgp_discovery::config::model::AuditPush;
use mgp_security::audit::LogEntry;
use mgp_types::mgp::{Outcome, ServerId, Timestamp};
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use crate::platform::host_name;
use crate::record::{AuditTrail, PushProgress, RECEIVER};
use crate::settings::running::{AcceptedConfig, RunningConfig};
use crate::telemetry::json_receiver::{JsonReceiver, signed, trusting};
use crate::telemetry::{attribute, log_record, logs};
use crate::terminal::with_causes;

/// The receiver of the record.
enum PushReceiver {
    Syslog(SyslogReceiver),
    /// A receiver over HTTPS: of webhooks, which the secret signs; without a secret, of logs by OTLP.
    Http(Box<JsonReceiver>, Option<Secret>),
}

impl PushReceiver {
    fn of(settings: &AuditPush, accepted: &AcceptedConfig) -> Result<Self, String> {
        let (url, headers, secret) = settings.expanded(accepted).map_err(|fault| fault.to_string())?;
        let read = |ca: &String| fs::read(ca).map_err(|error| format!("`audit.push.ca`, {ca}: {error}"));
        let ca = settings.ca.as_ref().map(read).transpose()?;
        if let Some(place) = url.expose().strip_prefix("syslog+tls://") {
            return SyslogReceiver::new(place, ca.as_deref()).map(Self::Syslog);
        }
        let to = JsonReceiver::new(url.expose(), &headers, ca.as_deref())?;
        if !to.is_private() {
            return Err("`audit.push.url` has to begin with https:// for another machine".to_owned());
        }
        Ok(Self::Http(Box::new(to), secret))
    }

    /// Sends a batch, and waits until the receiver has taken it.
    async fn take(&self, batch: &[LogEntry]) -> Result<(), String> {
        let taken = async {
            match self {
                Self::Syslog(receiver) => receiver.take(batch).await,
                Self::Http(to, secret) => post(to, secret.as_ref(), batch).await,
            }
        };
        timeout(TAKES, taken).await.unwrap_or_else(|_| Err("the receiver takes too long".to_owned()))
    }
}

/// Pushes the record as the configuration says, for as long as it is polled.
pub(crate) async fn push(config: Arc<RunningConfig>, audit: Arc<AuditTrail>) {
    let settings = config.load_full().audit.push.clone();
    let (Some(settings), Some(progress)) = (settings, &audit.push) else { return };
    let receiver = loop {
        match PushReceiver::of(&settings, &config.accepted) {
            Ok(receiver) => break receiver,
            Err(error) => fail(progress, &error, LONGEST_PAUSE).await,
        }
    };
    push_to(&receiver, &audit, progress).await;
}

async fn push_to(receiver: &PushReceiver, audit: &AuditTrail, progress: &PushProgress) {
    let id = ServerId::from(RECEIVER);
    let begin = match audit.forwarded.position(&id) {
        // The record of that position may be another one.
        Some(_) => audit.forwarded.begin(&id, &audit.log).await,
        None => 0,
    };
    let mut events = audit.log.subscribe(begin);
    let mut after = begin;
    loop {
        let batch = match events.next().await {
            Ok(Some(batch)) => batch,
            Ok(None) => return,
            Err(error) => {
                fail(progress, &error.to_string(), LONGEST_PAUSE).await;
                continue;
            }
        };
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { continue };
        if first.seq > after + 1 {
            let (missing, before) = (first.seq - after - 1, first.seq);
            tracing::error!(
                missing,
                before,
                "events were removed before the receiver of the record took them"
            );
        }
        progress.waiting_since.store(first.facets.millis, Relaxed);
        let mut pause = FIRST_PAUSE;
        while let Err(error) = receiver.take(&batch).await {
            fail(progress, &error, pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        after = last.seq;
        audit.forwarded.note(&id, last.head());
        progress.waiting_since.store(0, Relaxed);
        if progress.is_failing.swap(false, Relaxed) {
            tracing::warn!("the record is pushed again");
        }
        // More events come meanwhile, and go together.
        sleep(PAUSE).await;
    }
}

/// Notes an attempt that failed, and waits until the next one.
async fn fail(progress: &PushProgress, error: &str, pause: Duration) {
    progress.failures.fetch_add(1, Relaxed);
    progress.is_failing.store(true, Relaxed);
    tracing::warn!(error, again_in = ?pause, "the record is not pushed; it is tried again");
    sleep(pause).await;
}

/// The longest time that a receiver has for a batch.
const TAKES: Duration = Duration::from_secs(30);
/// The time between two batches.
const PAUSE: Duration = Duration::from_millis(200);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Posts a batch as a webhook that `secret` signs; without one, as logs.
async fn post(to: &JsonReceiver, secret: Option<&Secret>, batch: &[LogEntry]) -> Result<(), String> {
    let Some(secret) = secret else { return to.post(records(batch), HeaderMap::new()).await };
    let (first, last) =
        (batch.first().map_or(0, |entry| entry.seq), batch.last().map_or(0, |entry| entry.seq));
    let body = message(batch);
    let signed = signed(secret.expose(), &format!("mgp_audit_{first}_{last}"), &body);
    to.post(body, signed.ok_or("`audit.push.secret` is no Base64 behind `whsec_`")?).await
}

/// Returns the events as a message of Standard Webhooks, each as in an export.
fn message(batch: &[LogEntry]) -> String {
    let lines: Vec<_> = batch.iter().map(LogEntry::to_line).collect();
    let (now, events) = (Timestamp::now(), lines.join(","));
    format!(r#"{{"type":"mgp.audit.events","timestamp":"{now}","data":{{"events":[{events}]}}}}"#)
}

/// Returns the events as logs of OTLP, whose bodies are those of an export.
fn records(batch: &[LogEntry]) -> String {
    logs("mgp.audit", &batch.iter().map(record).collect::<Vec<_>>())
}

fn record(entry: &LogEntry) -> Value {
    let facets = &entry.facets;
    let nanos = format!("{}000000", facets.millis);
    let severity = if facets.result == Outcome::Success { (9, "INFO") } else { (13, "WARN") };
    let mut attributes = vec![attribute("mgp.audit.seq", &entry.seq.to_string())];
    attributes.extend(facets.agent.as_ref().map(|agent| attribute("gen_ai.agent.id", agent)));
    attributes.extend(facets.server.as_ref().map(|server| attribute("mgp.server.id", server.as_str())));
    let mut record = log_record(&nanos, severity, &entry.to_line(), &attributes);
    record["eventName"] = facets.event_type.as_str().into();
    record["traceId"] = format!("{:032x}", facets.trace).into();
    record
}

/// A receiver of syslog over TLS (RFC 5424, RFC 5425), with a connection for each batch.
///
/// The protocol has no answers. So the kernel ends its side of the connection behind the last message, and a batch counts as
/// taken once the receiver has ended the other side: it does so when it has read all of it, and a receiver that is lost before
/// resets the connection.
struct SyslogReceiver {
    host: String,
    port: u16,
    name: ServerName<'static>,
    tls: TlsConnector,
}

impl SyslogReceiver {
    /// Returns the receiver at `HOST:PORT`, whose certificate comes from a public authority or from one of `ca`.
    fn new(place: &str, ca: Option<&[u8]>) -> Result<Self, String> {
        let wrong = || format!("`audit.push.url`: {place} is no HOST:PORT");
        let (host, port) = place.trim_end_matches('/').rsplit_once(':').ok_or_else(wrong)?;
        let (host, port) = (host.trim_matches(['[', ']']), port.parse().map_err(|_| wrong())?);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| wrong())?;
        let http = trusting(ca).map_err(|error| format!("`audit.push.ca`: {error}"))?;
        Ok(Self { host: host.to_owned(), port, name, tls: TlsConnector::from(http.tls()) })
    }

    async fn take(&self, batch: &[LogEntry]) -> Result<(), String> {
        let mut messages = Vec::new();
        let host = printable_ascii(&host_name(), MAX_HOSTNAME);
        for entry in batch {
            write_frame(&mut messages, entry, &host);
        }
        self.deliver(&messages).await.map_err(|error| with_causes(&error.to_string(), &error))
    }

    async fn deliver(&self, messages: &[u8]) -> io::Result<()> {
        let stream = TcpStream::connect((&*self.host, self.port)).await?;
        let mut stream = self.tls.connect(self.name.clone(), stream).await?;
        stream.write_all(messages).await?;
        stream.shutdown().await?;
        let mut ignored = [0; 256];
        loop {
            match stream.read(&mut ignored).await {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                // It closed the connection without the closing message of TLS.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Writes an event as a message of syslog behind its length.
fn write_frame(out: &mut Vec<u8>, entry: &LogEntry, host: &str) {
    let severity = if entry.facets.result == Outcome::Success { INFORMATIONAL } else { WARNING };
    let time = Timestamp::from_millis(entry.facets.millis).unwrap_or(Timestamp::EPOCH);
    let (priority, pid) = (AUDIT * 8 + severity, std::process::id());
    let kind = printable_ascii(entry.facets.event_type.as_str(), MAX_MSGID);
    let head = format!("<{priority}>1 {time} {host} mgp {pid} {kind} - ");
    let line = entry.to_line();
    out.extend_from_slice(format!("{} {head}{line}", head.len() + line.len()).as_bytes());
}

/// Returns a text as the head of a message may have it; `-` stands for nothing.
fn printable_ascii(text: &str, most: usize) -> String {
    let kept: String = text.chars().filter(char::is_ascii_graphic).take(most).collect();
    if kept.is_empty() { "-".to_owned() } else { kept }
}

/// The number of the facility for audit logs.
const AUDIT: u8 = 13;
const WARNING: u8 = 4;
const INFORMATIONAL: u8 = 6;
const MAX_HOSTNAME: usize = 255;
const MAX_MSGID: usize = 32;

#[cfg(test)]
mod tests {
    use mgp_security::audit::{AuditLog, Filter, LogStore, Query};
    use mgp_types::mgp::{Actor, ActorType, AuditEvent, AuditPort as _, AuditTarget, EventType, TraceId};

    use super::*;

    #[tokio::test]
    async fn a_message_has_its_length_its_head_and_the_line_of_an_export() {
        let log = AuditLog::open(LogStore::in_memory().unwrap()).unwrap();
        let (trace, target) = (TraceId::from_random([1; 16]), AuditTarget::new(None, None));
        let actor = Actor::new(ActorType::Agent, "ada");
        let kind = EventType::Custom("dev.cloto.mgp.a_type_with_a_very_long_name".into());
        let event = AuditEvent::new(Timestamp::EPOCH, trace, kind, actor, target, Outcome::Blocked);
        log.record(event).await.unwrap();
        let entry = log.reader().query(&Query::new(Filter::default())).unwrap().remove(0);
        let mut frame = Vec::new();
        write_frame(&mut frame, &entry, "host");
        let frame = String::from_utf8(frame).unwrap();
        let (length, message) = frame.split_once(' ').unwrap();
        assert_eq!(length.parse::<usize>().unwrap(), message.len());
        let (time, pid) = ("1970-01-01T00:00:00.000Z", std::process::id());
        let head = format!("<108>1 {time} host mgp {pid} dev.cloto.mgp.a_type_with_a_very - ");
        let line = message.strip_prefix(&head).unwrap_or_else(|| panic!("{message}"));
        assert_eq!(line, entry.to_line());
    }
}
