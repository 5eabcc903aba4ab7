//! The record, the log and the counts of requests that were refused for lack of a key or token that holds.

use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use mgp_security::auth::RefusedBy;
use mgp_transport::http::ConnectionAddrs;
use mgp_types::Object;
use mgp_types::mgp::{Actor, ActorType, AuditPort as _, EventType, Outcome};
use parking_lot::Mutex;

use crate::sections::Sections;
use crate::telemetry::counts::{MAX_A_MINUTE, MinuteCount, short};

/// A recorder of failed logins: from where, to which path, by which key or with which claims.
///
/// Anybody can fail to log in, so only so many are recorded each minute, and the next event says how many there were beside.
#[derive(Default)]
pub(super) struct FailedLogins(Mutex<MinuteCount>);

impl FailedLogins {
    /// Records an attempt if it failed, by its answer.
    pub(super) fn note<B>(&self, kernel: &Sections, login: &LoginAttempt, answer: &Response<B>) {
        let Sections { audit, counts, .. } = kernel;
        let rule = answer.extensions().get::<RefusedBy>().map(|refused| refused.0);
        let (status, address) = (answer.status(), login.address.map(tracing::field::display));
        let path = short(login.uri.path());
        if let Some(rule) = rule {
            counts.refusals.count(("auth", rule));
        }
        let is_failed = status == StatusCode::UNAUTHORIZED
            || (status == StatusCode::FORBIDDEN && login.authorization.is_some());
        if !is_failed {
            if let Some(rule) = rule {
                tracing::warn!(rule, address, path, "a caller was refused");
            }
            return;
        }
        // Every login by OAuth begins without a token.
        let is_login = rule != Some("no-token");
        counts.failed_logins.fetch_add(u64::from(is_login), Relaxed);
        let Some(beside) = self.0.lock().count(audit.minute(), MAX_A_MINUTE) else { return };
        let kind = EventType::Custom("dev.cloto.mgp.login_failed".into());
        let mut event = audit
            .event(kind, Actor::new(ActorType::Agent, "anonymous"), Outcome::Blocked)
            .with_detail("status", &status.as_u16())
            .with_detail("path", &path);
        let credential = login.credential();
        let said = |name| credential.iter().find(|(of, _)| *of == name).map(|(_, value)| &**value);
        if is_login {
            tracing::warn!(
                rule,
                address,
                path,
                credential = said("credential"),
                key = said("key_id"),
                issuer = said("issuer"),
                subject = said("subject"),
                "a login failed"
            );
        }
        if let Some(address) = login.address {
            event = event.with_detail("address", &address.to_canonical());
        }
        for (name, value) in &credential {
            event = event.with_detail(*name, value);
        }
        if beside > 0 {
            event = event.with_detail("unrecorded_before", &beside);
        }
        audit.log.record_now(vec![event]);
    }
}

/// The things by which a request tried to log in.
pub(super) struct LoginAttempt {
    authorization: Option<HeaderValue>,
    address: Option<IpAddr>,
    uri: Uri,
}

impl LoginAttempt {
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        Self {
            authorization: request.headers().get(AUTHORIZATION).cloned(),
            address: request.extensions().get::<ConnectionAddrs>().map(|ends| ends.peer.ip()),
            uri: request.uri().clone(),
        }
    }

    /// Returns what the credential says of itself, which nobody has proved: nothing of it is secret.
    fn credential(&self) -> Vec<(&'static str, String)> {
        let Some(value) = &self.authorization else { return vec![("credential", "none".into())] };
        let token =
            value.to_str().ok().and_then(|value| value.split_once(' ')).map(|(_, token)| token.trim());
        let Some(token) = token else { return vec![("credential", "unreadable".into())] };
        if let Some((id, _)) = token.strip_prefix("mgp_").and_then(|rest| rest.split_once('_')) {
            return vec![("credential", "key".into()), ("key_id", short(id))];
        }
        let claims = token.split('.').nth(1).and_then(|payload| URL_SAFE_NO_PAD.decode(payload).ok());
        let claims = claims.and_then(|claims| Object::parse(claims).ok()).unwrap_or_default();
        let said = |claim, name| claims.text(claim).map(|text| (name, short(&text)));
        let named = [said("iss", "issuer"), said("sub", "subject")];
        std::iter::once(("credential", "token".to_owned())).chain(named.into_iter().flatten()).collect()
    }
}
