//! A receiver of JSON over HTTP that the operator names: the collector of traces, or that of the record; and the signatures of
//! webhooks, by the scheme of Standard Webhooks.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use mgp_discovery::config::Secret;
use mgp_security::network::JudgedHttp;
use ring::hmac;
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
    let http = JudgedHttp::new().and_then(|http| ca.into_iter().try_fold(http, JudgedHttp::trust_pem));
    http.map_err(|error| with_causes(error.message(), &error))
}

const TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the headers that sign the message `id` with this body, as it is sent now; `None` if the secret is no Base64
/// behind `whsec_`.
pub(crate) fn signed(secret: &str, id: &str, body: &str) -> Option<HeaderMap> {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", now.to_string()),
        ("webhook-signature", signature(secret, id, now, body)?),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::try_from(value).ok()?);
    }
    Some(headers)
}

fn signature(secret: &str, id: &str, seconds: u64, body: &str) -> Option<String> {
    let key = BASE64.decode(secret.strip_prefix("whsec_")?).ok()?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let signed = hmac::sign(&key, format!("{id}.{seconds}.{body}").as_bytes());
    Some(format!("v1,{}", BASE64.encode(signed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_the_one_that_the_libraries_of_standard_webhooks_expect() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let signed =
            signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert_eq!(signature("no secret", "a", 0, ""), None);
    }
}
