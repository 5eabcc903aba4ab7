//! Syslog over TLS (RFC 5424, RFC 5425), a connection for each batch.
//!
//! The protocol has no answers. So the kernel ends its side of the connection behind the last message, and a batch counts as
//! taken once the receiver has ended the other side: it does so when it has read all of it, and a receiver that is lost before
//! resets the connection.

use std::io;

use mgp_security::audit::LogEntry;
use mgp_types::mgp::{Outcome, Timestamp};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::json_receiver::trusting;
use crate::terminal::with_causes;

/// A receiver of syslog.
pub(super) struct SyslogReceiver {
    host: String,
    port: u16,
    name: ServerName<'static>,
    tls: TlsConnector,
}

impl SyslogReceiver {
    /// Returns the receiver at `HOST:PORT`, whose certificate comes from a public authority or from one of `ca`.
    pub(super) fn new(place: &str, ca: Option<&[u8]>) -> Result<Self, String> {
        let wrong = || format!("`audit.push.url`: {place} is no HOST:PORT");
        let (host, port) = place.trim_end_matches('/').rsplit_once(':').ok_or_else(wrong)?;
        let (host, port) = (host.trim_matches(['[', ']']), port.parse().map_err(|_| wrong())?);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| wrong())?;
        let http = trusting(ca).map_err(|error| format!("`audit.push.ca`: {error}"))?;
        Ok(Self { host: host.to_owned(), port, name, tls: TlsConnector::from(http.tls()) })
    }

    pub(super) async fn take(&self, batch: &[LogEntry]) -> Result<(), String> {
        let mut messages = Vec::new();
        let host = own_host();
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
    let line = line.strip_suffix(b"\n").unwrap_or(&line);
    out.extend_from_slice(format!("{} ", head.len() + line.len()).as_bytes());
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(line);
}

fn own_host() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = String::new();
    printable_ascii(&name, MAX_HOSTNAME)
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
        assert_eq!([line.as_bytes(), b"\n"].concat(), entry.to_line());
    }
}
