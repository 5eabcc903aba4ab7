//! The receivers over HTTPS: of logs by OTLP, and of signed webhooks.

use std::collections::BTreeMap;

use ::http::{HeaderMap, HeaderName, HeaderValue};
use mgp_discovery::config::Secret;
use mgp_security::audit::LogEntry;
use mgp_security::network::{Fetcher, NetworkPolicy};
use mgp_types::mgp::{Outcome, Timestamp};
use serde_json::{Value, json};

use crate::telemetry::{attribute, resource};
use crate::terminal::with_causes;
use crate::webhook;

/// A receiver over HTTPS.
pub(super) struct HttpReceiver {
    fetcher: Fetcher,
    url: Secret,
    headers: HeaderMap,
    /// The secret that signs webhooks; without one the receiver gets logs.
    secret: Option<Secret>,
}

impl HttpReceiver {
    pub(super) fn new(
        url: Secret,
        headers: &BTreeMap<String, Secret>,
        secret: Option<Secret>,
        ca: Option<&[u8]>,
    ) -> Result<Self, String> {
        let policy = NetworkPolicy::default().allow_host_of(url.expose());
        let fetcher = Fetcher::new(policy).and_then(|fetcher| match ca {
            Some(pem) => fetcher.trust_pem(pem),
            None => Ok(fetcher),
        });
        let fetcher = fetcher.map_err(|error| with_causes(&error.to_string(), &error))?;
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            let wrong = || format!("`audit.push.headers`: {name} is no header");
            let value = HeaderValue::try_from(value.expose()).map_err(|_| wrong())?;
            sent.insert(HeaderName::try_from(name).map_err(|_| wrong())?, value);
        }
        Ok(Self { fetcher, url, headers: sent, secret })
    }

    pub(super) async fn take(&self, batch: &[LogEntry]) -> Result<(), String> {
        let mut headers = self.headers.clone();
        let body = match &self.secret {
            None => logs(batch),
            Some(secret) => {
                let body = message(batch);
                let ends = (batch.first().map_or(0, |first| first.seq), batch.last().map_or(0, |last| last.seq));
                let id = format!("mgp_audit_{}_{}", ends.0, ends.1);
                let signed = webhook::signed(secret.expose(), &id, &body);
                headers.extend(signed.ok_or("`audit.push.secret` is no Base64 behind `whsec_`")?);
                body
            }
        };
        let answer = self.fetcher.post_json(self.url.expose(), &headers, body).await;
        match answer.map_err(|error| with_causes(&error.to_string(), &error))?.status {
            status if status.is_success() => Ok(()),
            status => Err(format!("the receiver answered {status}")),
        }
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
fn logs(batch: &[LogEntry]) -> String {
    let records: Vec<_> = batch.iter().map(log_record).collect();
    let scope = json!({"scope": {"name": "mgp.audit"}, "logRecords": records});
    json!({"resourceLogs": [{"resource": resource(), "scopeLogs": [scope]}]}).to_string()
}

fn log_record(entry: &LogEntry) -> Value {
    let facets = &entry.facets;
    let nanos = format!("{}000000", facets.millis);
    let (number, severity) = if facets.result == Outcome::Success { (9, "INFO") } else { (13, "WARN") };
    let mut attributes = vec![attribute("mgp.audit.seq", &entry.seq.to_string())];
    attributes.extend(facets.agent.as_ref().map(|agent| attribute("gen_ai.agent.id", agent)));
    attributes.extend(facets.server.as_ref().map(|server| attribute("mgp.server.id", server.as_str())));
    json!({
        "timeUnixNano": nanos,
        "observedTimeUnixNano": nanos,
        "severityNumber": number,
        "severityText": severity,
        "eventName": facets.event_type.as_str(),
        "body": {"stringValue": line(entry)},
        "attributes": attributes,
        "traceId": format!("{:032x}", facets.trace),
    })
}
