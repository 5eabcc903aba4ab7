//! A receiver of JSON over HTTP that the operator names: the collector of traces, or that of the record.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use mgp_discovery::config::Secret;
use mgp_security::network::JudgedHttp;
use tokio::net::lookup_host;
use tokio::time::timeout;

use crate::terminal::with_causes;

/// A receiver of JSON over HTTP.
pub(crate) struct JsonReceiver {
    http: JudgedHttp,
    url: Uri,
    headers: HeaderMap,
}

impl JsonReceiver {
    /// Returns the receiver, whose certificate comes from a public authority or from one of `ca`. Does not check that it can
    /// be reached.
    ///
    /// # Errors
    /// Fails with the reason why the settings cannot be used.
    pub(crate) fn new(
        url: &str,
        headers: &BTreeMap<String, Secret>,
        ca: Option<&[u8]>,
    ) -> Result<Self, String> {
        let http = trusting(ca)?;
        let mut sent = HeaderMap::new();
        sent.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            let wrong = || format!("`{name}` is no header, or its value none");
            let value = HeaderValue::try_from(value.expose()).map_err(|_| wrong())?;
            sent.insert(HeaderName::try_from(name).map_err(|_| wrong())?, value);
        }
        let url: Uri = url.parse().map_err(|_| "the address of the receiver is none of HTTP".to_owned())?;
        Ok(Self { http, url, headers: sent })
    }

    /// Returns whether what is sent stays on this machine, or is encrypted.
    pub(crate) fn is_private(&self) -> bool {
        let is_own = ["localhost", "127.0.0.1", "[::1]"].contains(&self.url.host().unwrap_or_default());
        is_own || self.url.scheme_str() == Some("https")
    }

    /// Sends a text with further headers, and waits until the receiver has taken it.
    ///
    /// # Errors
    /// Fails with the reason why it was not taken.
    pub(crate) async fn post(&self, body: String, further: HeaderMap) -> Result<(), String> {
        let host = self.url.host().unwrap_or_default().trim_matches(['[', ']']);
        let usual = if self.url.scheme_str() == Some("https") { 443 } else { 80 };
        let sent = async {
            let found = lookup_host((host, self.url.port_u16().unwrap_or(usual))).await;
            let addresses: Vec<_> = found.map_err(|error| format!("{host}: {error}"))?.collect();
            let mut request = Request::new(Full::new(Bytes::from(body)));
            (*request.method_mut(), *request.uri_mut()) = (Method::POST, self.url.clone());
            *request.headers_mut() = self.headers.clone();
            request.headers_mut().extend(further);
            let answer = self.http.send(request, &addresses).await;
            match answer.map_err(|error| with_causes(&error.to_string(), &error))?.status() {
                status if status.is_success() => Ok(()),
                status => Err(format!("the receiver answered {status}")),
            }
        };
        timeout(TIMEOUT, sent).await.unwrap_or_else(|_| Err("the receiver did not answer in time".to_owned()))
    }
}

/// Returns a client that trusts public authorities, and those of `ca` (PEM).
///
/// # Errors
/// Fails with the reason why they cannot be used.
pub(crate) fn trusting(ca: Option<&[u8]>) -> Result<JudgedHttp, String> {
    let http = JudgedHttp::new().and_then(|http| match ca {
        Some(pem) => http.trust_pem(pem),
        None => Ok(http),
    });
    http.map_err(|error| with_causes(error.message(), &error))
}

const TIMEOUT: Duration = Duration::from_secs(10);
