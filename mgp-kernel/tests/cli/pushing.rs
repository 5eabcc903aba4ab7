//! The record, as a receiver gets it from a kernel that is killed and a network that is lost.

use std::net::TcpListener;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parking_lot::Mutex;
use ring::hmac;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring as provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use crate::certificate::self_signed;
use crate::home::Home;
use crate::kernel::{Kernel, until};
use crate::notifications::{header, taken};

/// A home whose record is pushed.
fn pushing(lines: &str) -> Home {
    let home = Home::with_state();
    home.configure(&format!("[audit.push]\n{lines}\n"));
    home
}

/// Starts a kernel, has it record something, and returns the number of its last event.
fn recorded(home: &Home, agent: &str) -> (Kernel, u64) {
    let kernel = Kernel::start(home, &["--no-stdio", "--http", "127.0.0.1:0"]);
    for server in ["one", "two", "three"] {
        home.json(["access", "grant", agent, server, "--force"]);
    }
    let head = home.json(["audit", "verify"])["head"]["seq"].as_u64().unwrap();
    (kernel, head)
}

/// Kills a kernel as the system does that has no memory left.
fn killed(mut kernel: Kernel) {
    kernel.child.kill().unwrap();
    kernel.child.wait().unwrap();
}

/// Checks that each event came, and that those that came again are the only ones out of order.
fn assert_no_gap(seen: &[u64], through: u64) {
    let mut next = 1;
    for seq in seen {
        assert!(*seq <= next, "event {next} is missing before {seq}: {seen:?}");
        next = next.max(seq + 1);
    }
    assert!(next > through, "the events from {next} to {through} did not come: {seen:?}");
}

fn seq(event: &Value) -> u64 {
    event["_mgp"]["seq"].as_u64().unwrap()
}

/// Reads the messages of a connection by their lengths, and returns the numbers of their events.
fn messages(mut bytes: &[u8]) -> Vec<u64> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ').unwrap();
        let length: usize = str::from_utf8(&bytes[..space]).unwrap().parse().unwrap();
        let (message, rest) = bytes[space + 1..].split_at(length);
        let message = str::from_utf8(message).unwrap();
        assert!(message.starts_with("<110>1 ") || message.starts_with("<108>1 "), "{message}");
        let (_, event) = message.split_once(" - ").unwrap();
        found.push(seq(&serde_json::from_str(event).unwrap()));
        bytes = rest;
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn syslog_gets_every_event_though_the_kernel_is_killed_and_connections_are_lost() {
    let files = Home::new();
    let (_, certificate) = self_signed(&files);
    let key = PrivateKeyDer::from_pem_slice(files.read("tls.key").as_bytes()).unwrap();
    let tls = ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::<Mutex<Vec<u64>>>::default();
    let taking = Arc::clone(&seen);
    let receiver = tokio::spawn(async move {
        for connection in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            // Each third connection is lost before anything is read.
            if connection % 3 == 0 {
                continue;
            }
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut bytes = Vec::new();
            // A kernel that is killed does not end its connection as it should.
            if stream.read_to_end(&mut bytes).await.is_ok() {
                taking.lock().extend(messages(&bytes));
            }
        }
    });
    let ca = files.path("tls.crt").display().to_string();
    let home = pushing(&format!("url = 'syslog+tls://localhost:{port}'\nca = {ca:?}"));
    let (kernel, _) = recorded(&home, "agent.first");
    until("something is taken", || !seen.lock().is_empty());
    killed(kernel);
    let (kernel, _) = recorded(&home, "agent.second");
    killed(kernel);
    let (_kernel, head) = recorded(&home, "agent.third");
    until("all is taken", || seen.lock().iter().max() >= Some(&head));
    receiver.abort();
    assert_no_gap(&seen.lock(), head);
}

#[test]
fn a_webhook_gets_what_it_had_not_taken_when_the_kernel_was_killed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let secret = BASE64.encode("a secret of the test");
    let home = pushing(&format!("url = 'http://127.0.0.1:{port}/audit'\nsecret = 'whsec_{secret}'"));
    let (kernel, _) = recorded(&home, "agent.first");
    let (refused, _) = taken(&listener, "503 Service Unavailable");
    assert!(header(&refused, "webhook-id").starts_with("mgp_audit_1_"), "{refused}");
    killed(kernel);

    let (_kernel, head) = recorded(&home, "agent.second");
    let (key, mut seen) = (hmac::Key::new(hmac::HMAC_SHA256, b"a secret of the test"), Vec::new());
    while seen.iter().max() < Some(&head) {
        let (headers, body) = taken(&listener, "204 No Content");
        let message: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(message["type"], "mgp.audit.events");
        seen.extend(message["data"]["events"].as_array().unwrap().iter().map(seq));
        let (id, time) = (header(&headers, "webhook-id"), header(&headers, "webhook-timestamp"));
        let signature = header(&headers, "webhook-signature").strip_prefix("v1,").unwrap();
        let signed = format!("{id}.{time}.{body}");
        hmac::verify(&key, signed.as_bytes(), &BASE64.decode(signature).unwrap()).unwrap();
    }
    assert_no_gap(&seen, head);
}

#[test]
fn logs_of_otlp_have_the_events_of_the_record() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let lines =
        format!("url = 'http://127.0.0.1:{port}/v1/logs'\nheaders = {{ x-token = '${{secret:siem}}' }}");
    let home = pushing(&lines);
    assert_eq!(home.run_with(["secrets", "set", "siem"], "t-1\n").code, Some(0));
    let (_kernel, _) = recorded(&home, "agent.first");
    let (head, body) = taken(&listener, "200 OK");
    assert_eq!(header(&head, "x-token"), "t-1");
    let logs: Value = serde_json::from_str(&body).unwrap();
    let record = &logs["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    let event: Value = serde_json::from_str(record["body"]["stringValue"].as_str().unwrap()).unwrap();
    assert_eq!((seq(&event), &record["eventName"]), (1, &event["event_type"]), "{record}");
}
