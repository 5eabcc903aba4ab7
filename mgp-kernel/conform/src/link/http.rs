//! A server that is reached over HTTP, each message by a request of its own.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Arrival, Headers, LinkError, Receipt};

/// A server that is reached over HTTP. Bodies that are still read when this is dropped are given up.
#[derive(Debug)]
pub(crate) struct HttpLink {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    uri: Uri,
    sender: mpsc::Sender<Arrival>,
    bodies: JoinSet<()>,
}

impl HttpLink {
    pub(super) fn new(url: &str, sender: mpsc::Sender<Arrival>) -> Result<Self, LinkError> {
        let failed = |error: &dyn std::fmt::Display| LinkError::Http(error.to_string());
        let uri = url.parse().map_err(|error| failed(&error))?;
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())
            .map_err(|error| failed(&error))?
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { client, uri, sender, bodies: JoinSet::new() })
    }

    pub(super) async fn send(
        &mut self,
        method: &str,
        text: &str,
        headers: &Headers,
    ) -> Result<Receipt, LinkError> {
        let failed = |error: &dyn std::fmt::Display| LinkError::Http(format!("HTTP failed: {error}"));
        let method = Method::from_bytes(method.as_bytes()).map_err(|error| failed(&error))?;
        let mut request = Request::builder().method(method).uri(&self.uri);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let body = Full::new(Bytes::copy_from_slice(text.as_bytes()));
        let request = request.body(body).map_err(|error| failed(&error))?;
        let response = self.client.request(request).await.map_err(|error| failed(&error))?;
        let headers = response.headers().iter();
        let headers = headers
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let receipt = Receipt { status: Some(response.status().as_u16()), headers };
        self.bodies.spawn(read(response, self.sender.clone()));
        Ok(receipt)
    }
}

/// Reads a body: events, or one message.
async fn read(response: Response<Incoming>, sender: mpsc::Sender<Arrival>) {
    let is_events = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
    let mut body = response.into_body();
    let mut text = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        text.extend_from_slice(data);
        while is_events && let Some((event, rest)) = first_event(&text) {
            if !event.is_empty() && sender.send(Arrival::read(&event)).await.is_err() {
                return;
            }
            text = rest;
        }
    }
    if !is_events && !text.trim_ascii().is_empty() {
        let _ = sender.send(Arrival::read(&text)).await;
    }
    // Nobody waits any more if the link was dropped.
    let _ = sender.send(Arrival::End).await;
}

/// Returns the data of the first complete event, and the bytes behind it.
fn first_event(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut data = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        rest = &rest[end + 1..];
        if line.is_empty() {
            return Some((data, rest.to_vec()));
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        }
    }
    None
}
