//! The log levels that sessions want, and the levels that servers are asked for.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_types::{Error, Method, Object, Principal, RawJson, Request, Response, Severity};
use parking_lot::Mutex;

use super::ChangeListeners;
use crate::servers::fan_out::{ask, has};
use crate::servers::upstream::ConnectionKey;

/// The log level that was last requested on each connection.
pub(super) type LogLevels = Mutex<HashMap<ConnectionKey, Severity, RandomState>>;

/// Answers `logging/setLevel`: from now on the session gets messages that are at least as severe, and each server that
/// it reaches is asked for the level that the most verbose session wants.
pub(crate) async fn set_level(changes: Arc<ChangeListeners>, request: Request) -> Result<Response, Error> {
    let level = request.params.text("level").and_then(|level| Severity::named(&level));
    let known = "`level` is one of debug, info, notice, warning, error, critical, alert and emergency";
    let level = level.ok_or_else(|| Error::invalid_params(known))?;
    request.context.session()?.set_log_level(Some(level));
    changes.open(&request.context);
    tell_levels(&changes).await;
    Ok(Response::empty())
}

/// Asks servers for the level that is wanted of them now, where they were not asked for it yet.
pub(super) async fn tell_levels(changes: &ChangeListeners) {
    let mut wanted = Vec::new();
    for upstream in changes.fleet.all() {
        for (line, session, capabilities) in upstream.lines() {
            // A server without sessions gets the level with each request.
            if session.describes_each_request() {
                continue;
            }
            if let Some((level, principal)) = changes.level_for(&line, &capabilities) {
                let params = Object::from([("level", RawJson::from_text(level.as_str()))]);
                let mut request = Request::call(Method::SET_LEVEL, params);
                request.context.principal = Some(principal);
                wanted.push((line, Arc::clone(&upstream), request));
            }
        }
    }
    for (line, outcome) in ask(wanted).await {
        if let Err(error) = outcome {
            changes.levels.lock().remove(&line);
            tracing::debug!(server = %line, %error, "a server did not take a level of logging");
        }
    }
}

impl ChangeListeners {
    /// Returns the level that a server of these capabilities is to be asked for, and notes it as asked for; `None` if it
    /// was asked for that already, or nobody wants messages of it.
    pub(super) fn level_for(&self, line: &ConnectionKey, offers: &Object) -> Option<(Severity, Principal)> {
        let wanted = has(offers, &["logging"]).then(|| self.most_verbose(line))??;
        (self.levels.lock().insert(line.clone(), wanted.0) != Some(wanted.0)).then_some(wanted)
    }

    /// Returns the least severe level that a session wants on the connection, and the principal of that session.
    fn most_verbose(&self, line: &ConnectionKey) -> Option<(Severity, Principal)> {
        let sessions = self.sessions.lock();
        let levels = sessions.values().filter_map(|listener| {
            let level = listener.session.as_ref().and_then(Weak::upgrade)?.log_level()?;
            Some((level, &listener.principal))
        });
        let reaches = |agent: &Principal| {
            self.fleet.is_line_of(line, agent)
                && self.access.reaches(&agent.access_id(), line.server.as_str())
        };
        let most = levels.filter(|(_, principal)| reaches(principal)).max_by_key(|(level, _)| *level);
        most.map(|(level, principal)| (level, principal.clone()))
    }
}
