//! The page at which a person consents.

use std::fmt::Write as _;

use http::Method;

use super::clients;
use super::exchange::{self, Answer, Form, Refusal, Request};
use super::fault::{Endpoint, Fault};
use super::issued::{Code, Consented, random};
use super::{Consent, State};

pub(super) async fn authorize(state: &State, request: &Request) -> Result<Answer, Refusal> {
    let form = if request.method == Method::POST { request.form() } else { request.query.clone() };
    let client = form.need("client_id")?;
    let redirect_uri = form.need("redirect_uri")?;
    // Nobody is sent to an address that may not be the client's.
    if !clients::find(state, client).await?.has_address(redirect_uri) {
        return Err(Refusal::request("`redirect_uri` is not one of the client"));
    }
    let answer = match consented(state, request, &form) {
        Ok(Some(consented)) => code(state, &form, consented),
        Ok(None) => return Ok(exchange::page(consent_page(state, &form))),
        Err(refusal) => Err(refusal),
    };
    Ok(exchange::redirect(&redirected(state, redirect_uri, form.get("state"), answer)))
}

/// Returns what a person consents to; `None` if nobody was asked yet.
fn consented(state: &State, request: &Request, form: &Form) -> Result<Option<Consented>, Refusal> {
    if form.get("response_type") != Some("code") {
        return Err(Refusal::of("unsupported_response_type", "only codes are handed out"));
    }
    let asked = form.get("scope").unwrap_or_default();
    let known = state.settings.lock().scopes.clone();
    if asked
        .split(' ')
        .any(|scope| !scope.is_empty() && scope != "openid" && !known.iter().any(|it| it == scope))
    {
        return Err(Refusal::of("invalid_scope", "a scope is not known"));
    }
    let denied = || Refusal::of("access_denied", "the person does not consent");
    let subject = match state.settings.lock().consent.clone() {
        Consent::Of(subject) => subject,
        Consent::Denied => return Err(denied()),
        Consent::Asked if request.method == Method::POST => form.get("subject").ok_or_else(denied)?.into(),
        Consent::Asked => return Ok(None),
    };
    Ok(Some(Consented {
        client: form.need("client_id")?.into(),
        subject,
        scope: asked.into(),
        resource: form.get("resource").map(Into::into),
        bound_to: form.get("dpop_jkt").map(Into::into),
        family: state.issued.lock().new_family(),
    }))
}

fn code(state: &State, form: &Form, consented: Consented) -> Result<String, Refusal> {
    if form.get("code_challenge_method") != Some("S256") {
        return Err(Refusal::request("a challenge by S256 is needed"));
    }
    let code = Code {
        consented,
        redirect_uri: form.need("redirect_uri")?.into(),
        challenge: form.need("code_challenge")?.into(),
        is_used: false,
    };
    let text = random();
    state.issued.lock().codes.insert(text.clone(), code);
    Ok(text)
}

fn redirected(state: &State, uri: &str, answered: Option<&str>, answer: Result<String, Refusal>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    match answer {
        Ok(code) => query.append_pair("code", &code),
        Err(refusal) => query.append_pair("error", refusal.code),
    };
    if let Some(answered) = answered {
        query.append_pair("state", answered);
    }
    let wrong = state.faults.lock().iter().find_map(|fault| match fault {
        Fault::WrongIss(issuer) => Some(issuer.clone()),
        _ => None,
    });
    if !state.has_fault(&Fault::NoIss) {
        query.append_pair("iss", &wrong.unwrap_or_else(|| state.issuer()));
    }
    format!("{uri}{}{}", if uri.contains('?') { '&' } else { '?' }, query.finish())
}

fn consent_page(state: &State, form: &Form) -> String {
    let mut hidden = String::new();
    for (name, value) in form.pairs() {
        let (name, value) = (exchange::escaped(name), exchange::escaped(value));
        let _ = write!(hidden, "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">");
    }
    let client = exchange::escaped(form.get("client_id").unwrap_or_default());
    let scope = exchange::escaped(form.get("scope").unwrap_or("nothing in particular"));
    format!(
        "<!doctype html><title>Sign in</title><h1>Sign in</h1>\
         <p><code>{client}</code> asks for: {scope}</p>\
         <form method=\"post\" action=\"{}\">{hidden}\
         <label>Name <input name=\"subject\" autofocus></label> <button>Allow</button></form>\
         <p>Without a name nothing is allowed.</p>",
        state.url(Endpoint::Authorize),
    )
}
