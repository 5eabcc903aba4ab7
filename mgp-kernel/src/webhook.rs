//! The signatures of webhooks, by the scheme of Standard Webhooks.

use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderMap, HeaderName, HeaderValue};
use ring::hmac;

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
