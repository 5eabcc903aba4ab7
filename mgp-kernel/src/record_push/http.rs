//! The receivers over HTTPS: of logs by OTLP, and of signed webhooks.

use std::collections::BTreeMap;

use ::http::HeaderMap;
use mgp_discovery::config::Secret;
use mgp_security::audit::LogEntry;
use mgp_types::mgp::{Outcome, Timestamp};
use serde_json::Value;

use crate::json_receiver::JsonReceiver;
use crate::telemetry::{attribute, log_record, logs};
use crate::webhook;

/// A receiver over HTTPS.
pub(super) struct HttpReceiver {
    to: JsonReceiver,
    /// The secret that signs webhooks; without one the receiver gets logs.
    secret: Option<Secret>,
}

impl HttpReceiver {
    pub(super) fn new(
        url: &Secret,
        headers: &BTreeMap<String, Secret>,
        secret: Option<Secret>,
        ca: Option<&[u8]>,
    ) -> Result<Self, String> {
        let to = JsonReceiver::new(url.expose(), headers, ca)?;
        if !to.is_private() {
            return Err("`audit.push.url` has to begin with https:// for another machine".to_owned());
        }
        Ok(Self { to, secret })
    }

    pub(super) async fn take(&self, batch: &[LogEntry]) -> Result<(), String> {
        let Some(secret) = &self.secret else { return self.to.post(records(batch), HeaderMap::new()).await };
        let (first, last) =
            (batch.first().map_or(0, |entry| entry.seq), batch.last().map_or(0, |entry| entry.seq));
        let body = message(batch);
        let signed = webhook::signed(secret.expose(), &format!("mgp_audit_{first}_{last}"), &body);
        self.to.post(body, signed.ok_or("`audit.push.secret` is no Base64 behind `whsec_`")?).await
    }
}

/// Returns the events as a message of Standard Webhooks, each as in an export.
fn message(batch: &[LogEntry]) -> String {
    let lines: Vec<_> = batch.iter().map(line).collect();
    let (now, events) = (Timestamp::now(), lines.join(","));
    format!(r#"{{"type":"mgp.audit.events","timestamp":"{now}","data":{{"events":[{events}]}}}}"#)
}

/// Returns the event as in an export.
fn line(entry: &LogEntry) -> String {
    String::from_utf8_lossy(&entry.to_line()).trim_end().to_owned()
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
    let mut record = log_record(&nanos, severity, &line(entry), attributes);
    record["eventName"] = facets.event_type.as_str().into();
    record["traceId"] = format!("{:032x}", facets.trace).into();
    record
}
