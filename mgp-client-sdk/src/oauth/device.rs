//! Logins on another device, for programs without a browser (RFC 8628).

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::OAuthError;
use super::exchange::joined;
use super::token_request::{Form, Token, TokenEndpoint, read, refusal};

/// The address and the code that a person needs to sign in on another device.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeviceCode {
    /// The page to open.
    pub page: Box<str>,
    /// The code to type there.
    pub code: Box<str>,
    /// The page with the code in it, if the issuer has such.
    pub whole_page: Option<Box<str>>,
}

#[derive(Deserialize)]
struct DeviceAnswer {
    device_code: Box<str>,
    user_code: Box<str>,
    verification_uri: Box<str>,
    verification_uri_complete: Option<Box<str>>,
    expires_in: Option<u64>,
    interval: Option<u64>,
}

/// Has a person sign in on another device, and waits for the token.
pub(super) async fn sign_in(
    endpoint: &TokenEndpoint<'_>,
    scopes: &[Box<str>],
    show: impl FnOnce(&DeviceCode) + Send,
) -> Result<Token, OAuthError> {
    let url = endpoint.issuer.device_authorization_endpoint.as_deref();
    let url =
        url.ok_or(OAuthError::Metadata("the issuer has no logins on other devices; sign in with a browser"))?;
    let (mut form, mut headers) = (Form::default(), http::HeaderMap::new());
    endpoint.client.prove(endpoint.issuer, &mut form, &mut headers)?;
    if headers.contains_key(http::header::AUTHORIZATION) {
        form.set("client_id", &endpoint.client.id);
    }
    form.set_if_some("scope", joined(scopes).as_deref());
    form.set_if_some("resource", endpoint.resource);
    let posted = endpoint.fetcher.post_form(url, &headers, form.to_text()).await;
    let fetched = posted.map_err(OAuthError::unfetched("a code for another device"))?;
    if !fetched.status.is_success() {
        return Err(refusal(&fetched));
    }
    let device: DeviceAnswer = read(&fetched)?;
    let is_page = |page: &str| page.starts_with("https://") || page.starts_with("http://");
    if !is_page(&device.verification_uri) {
        return Err(OAuthError::Metadata("the issuer's page to sign in at is no page of the web"));
    }
    show(&DeviceCode {
        page: device.verification_uri,
        code: device.user_code,
        whole_page: device.verification_uri_complete.filter(|page| is_page(page)),
    });
    let mut interval = Duration::from_secs(device.interval.unwrap_or(5).clamp(1, 60));
    let end = Instant::now() + Duration::from_secs(device.expires_in.unwrap_or(600).min(3600));
    loop {
        sleep(interval).await;
        if Instant::now() >= end {
            return Err(OAuthError::NoAnswer("the time for it is over; try again"));
        }
        let form = Form::of(&[("grant_type", DEVICE_GRANT), ("device_code", &device.device_code)]);
        match endpoint.ask(form, scopes).await {
            Err(OAuthError::Refused(code)) if *code == *"authorization_pending" => {}
            Err(OAuthError::Refused(code)) if *code == *"slow_down" => interval += Duration::from_secs(5),
            done => return done,
        }
    }
}

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
