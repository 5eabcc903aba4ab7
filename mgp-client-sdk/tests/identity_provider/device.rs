//! Logins on another device (RFC 8628).

use http::StatusCode;
use serde_json::json;

use super::exchange::{self, Answer, Refusal, Request};
use super::fault::Endpoint;
use super::issued::{Consented, Device, random};
use super::{State, clients};

pub(super) async fn begin(state: &State, request: &Request) -> Result<Answer, Refusal> {
    let form = request.form();
    let client = clients::authenticate(state, request, &form).await?;
    let (device_code, user_code) = (random(), random()[..8].to_uppercase());
    let page = state.url(Endpoint::DevicePage);
    let mut issued = state.issued.lock();
    let consented = Consented {
        client,
        subject: String::new(),
        scope: form.get("scope").unwrap_or_default().into(),
        resource: form.get("resource").map(Into::into),
        bound_to: None,
        family: issued.new_family(),
    };
    let device = Device { user_code: user_code.clone(), consented, is_approved: false };
    issued.devices.insert(device_code.clone(), device);
    let answer = json!({
        "device_code": device_code,
        "user_code": user_code,
        "verification_uri": page,
        "verification_uri_complete": format!("{page}?user_code={user_code}"),
        "expires_in": 600,
        "interval": 1,
    });
    Ok(exchange::json(StatusCode::OK, &answer))
}

/// Consents to the login with this code, for the person of the query or of the settings.
pub(super) fn page(state: &State, request: &Request) -> Result<Answer, Refusal> {
    let Some(user_code) = request.query.get("user_code") else {
        return Ok(exchange::page(PAGE.into()));
    };
    let subject = match (state.settings.lock().consent.clone(), request.query.get("subject")) {
        (super::Consent::Of(subject), _) => subject,
        (super::Consent::Asked, Some(subject)) => subject.to_owned(),
        (super::Consent::Asked, None) => return Ok(exchange::page(PAGE.into())),
        (super::Consent::Denied, _) => return Err(Refusal::of("access_denied", "nobody consents")),
    };
    if state.issued.lock().approve(user_code, &subject) {
        Ok(exchange::page("<!doctype html><title>Done</title><p>You can go back to the device.</p>".into()))
    } else {
        Err(Refusal::request("no device shows this code"))
    }
}

const PAGE: &str = "<!doctype html><title>Sign in</title><h1>Sign in</h1><form>\
    <label>Code <input name=\"user_code\"></label> <label>Name <input name=\"subject\"></label> \
    <button>Allow</button></form>";
