//! What clients carry for the server from call to call: session state, checkpoints, and confirmations. The guard around the
//! handler of each tool (`tool/guard.rs`) opens it and writes it.

mod checkpoint;
mod confirm;

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::token::{SealingKey, SingleUseTokens, TokenBinding, TokenError, TokenPurpose};
use mgp_types::canonical::digest;
use mgp_types::ext::{
    ExtensionId, ExtensionIds, MAX_SESSION_STATE_BYTES, SESSION_STATE, STATE_CHANGED, STATE_DROPPED,
    SessionChange, SessionEvent, ToolDeclaration,
};
use mgp_types::mcp::Meta;
use mgp_types::mgp::Recovery;
use mgp_types::{Error, Method, Object, Outbox, Params, RawJson, Request, code};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub(crate) use self::checkpoint::CallCheckpoints;
pub(crate) use self::confirm::{ConfirmForm, Confirmation, declined};

/// The tokens that a server gives, and their keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenSettings {
    /// The time for which an unused session lasts; `None` for a server without sessions.
    pub(crate) session_idle_timeout: Option<Duration>,
    /// The extensions that the server declares.
    offered: ExtensionIds,
    keys: Option<Arc<TokenKeys>>,
}

#[derive(Debug)]
struct TokenKeys {
    sealing: SealingKey,
    confirmations: SingleUseTokens,
}

impl TokenSettings {
    /// Gives the server its key, once it is known which extensions it declares.
    pub(crate) fn seal_with(&mut self, key: &SealingKey, offered: ExtensionIds) {
        let confirmations = SingleUseTokens::new(key.clone());
        self.keys = Some(Arc::new(TokenKeys { sealing: key.clone(), confirmations }));
        self.offered = offered;
    }

    /// Returns whether the server and the client both have the extension.
    pub(crate) fn shares(&self, id: ExtensionId, request: &Request) -> bool {
        self.offered.has(id)
            && request.context.session.as_ref().is_some_and(|session| session.extensions().has(id))
    }

    fn keys(&self) -> Result<&Arc<TokenKeys>, Error> {
        self.keys.as_ref().ok_or_else(|| Error::internal("the server has no key for its tokens"))
    }
}

/// The tool whose calls get tokens.
#[derive(Debug)]
pub(crate) struct TokenTool {
    name: Box<str>,
    declared: Option<ToolDeclaration>,
}

impl TokenTool {
    pub(crate) fn new(name: &str, declared: Option<&ToolDeclaration>) -> Self {
        Self { name: name.into(), declared: declared.cloned() }
    }
}

/// The tokens that the client of one call carries for the server.
#[derive(Debug)]
pub(crate) struct CallTokens {
    pub(crate) session: Option<CallSession>,
    pub(crate) checkpoints: Option<CallCheckpoints>,
}

/// Binds a token to a call: to its caller, its tool, and its arguments, however they are written.
fn call_binding(purpose: TokenPurpose, tool: &TokenTool, request: &Request) -> Result<TokenBinding, Error> {
    let arguments = digest(&arguments(&request.params)?.to_raw()).map_err(|error| {
        Error::invalid_params("the arguments cannot be tied to a token").with_source(error)
    })?;
    let binding = TokenBinding::new(purpose, request.context.principal.as_ref());
    Ok(binding.and(tool.name.as_bytes()).and(arguments.as_bytes()))
}

/// Returns the arguments of a call; none and null ones are an empty object.
fn arguments(params: &Params) -> Result<Object, Error> {
    match params.get("arguments").filter(|arguments| !arguments.is_null()) {
        None => Ok(Object::new()),
        Some(arguments) => Ok(Object::from_raw(&arguments)?),
    }
}

/// Returns the metadata of a call.
fn meta(params: &Params) -> Object {
    params.object("_meta").unwrap_or_default()
}

/// The session that a call belongs to.
pub(crate) struct CallSession {
    keys: Arc<TokenKeys>,
    binding: TokenBinding,
    idle_timeout: Duration,
    progress: Mutex<SessionProgress>,
}

/// The session as the call found it, and as its handler leaves it.
#[derive(Debug, Default)]
struct SessionProgress {
    found: Option<SealedSession>,
    /// The state that the handler set.
    set: Option<RawJson>,
    ended: bool,
}

/// The content of a state token.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SealedSession {
    id: Box<str>,
    state: RawJson,
}

/// The refusal of a call that brings no state of this server, and the event that tells of it.
#[derive(Debug)]
pub(crate) struct RefusedSession {
    error: Error,
    event: Option<SessionEvent>,
}

impl CallSession {
    /// Opens the state that the call brings; `None` if the server or the client knows no session state.
    pub(crate) fn of(settings: &TokenSettings, request: &Request) -> Result<Option<Self>, RefusedSession> {
        let Some(idle_timeout) = settings.session_idle_timeout else { return Ok(None) };
        if !settings.shares(ExtensionId::SessionState, request) {
            return Ok(None);
        }
        let binding = TokenBinding::new(TokenPurpose::SessionState, request.context.principal.as_ref());
        let keys = settings.keys()?.clone();
        let session = Self { keys, binding, idle_timeout, progress: Mutex::default() };
        if let Some(token) = meta(&request.params).get(SESSION_STATE).filter(|token| !token.is_null()) {
            let form = || Error::invalid_params("`_meta.session_state` must be a string");
            let token = token.to_text().ok_or_else(form)?;
            session.progress.lock().found = Some(session.open(&token)?);
        }
        Ok(Some(session))
    }

    fn open(&self, token: &str) -> Result<SealedSession, RefusedSession> {
        let key = &self.keys.sealing;
        match key.open(token, &self.binding) {
            Ok(content) => Ok(read(&content).ok_or_else(invalid_session)?),
            Err(TokenError::TooLarge) => {
                let message = format!(
                    "the session state has more than {MAX_SESSION_STATE_BYTES} bytes; send the token as the server \
                     gave it"
                );
                Err(Error::new(code::STATE_TOO_LARGE, message).with_usual_recovery().into())
            }
            Err(TokenError::Expired) => {
                let whose = key.open_expired(token, &self.binding).ok().and_then(|content| read(&content));
                let event = whose.map(|session| {
                    SessionEvent::now(SessionChange::Expired, session.id).with_reason("inactivity")
                });
                let message =
                    "the session was not used for too long; call again without `_meta.session_state`";
                Err(RefusedSession { error: restart(code::SESSION_STATE_EXPIRED, message), event })
            }
            Err(_) => Err(invalid_session().into()),
        }
    }

    /// Returns the state that the call found or its handler set.
    pub(crate) fn state(&self) -> Option<RawJson> {
        let progress = self.progress.lock();
        if progress.ended {
            return None;
        }
        progress.set.clone().or_else(|| progress.found.as_ref().map(|found| found.state.clone()))
    }

    pub(crate) fn set(&self, state: RawJson) {
        let mut progress = self.progress.lock();
        progress.set = Some(state);
        progress.ended = false;
    }

    pub(crate) fn end(&self) {
        let mut progress = self.progress.lock();
        progress.set = None;
        progress.ended = true;
    }

    /// Seals the state for the result of the call, and tells the client what happened to its session.
    pub(crate) async fn close(&self, outbox: &Outbox) -> Meta {
        let (meta, event) = self.sealed();
        if let Some(event) = event {
            tell(&event, outbox).await;
        }
        meta
    }

    fn sealed(&self) -> (Meta, Option<SessionEvent>) {
        let SessionProgress { found, set, ended } = std::mem::take(&mut *self.progress.lock());
        let flag =
            |name: &str, value: &'static str| Meta::new().with(name, RawJson::from_written(value.into()));
        if ended {
            let Some(found) = found else { return (Meta::new(), None) };
            let event = SessionEvent::now(SessionChange::Invalidated, found.id);
            return (flag(STATE_CHANGED, "true"), Some(event.with_reason("ended by the server")));
        }
        let changed = set.is_some();
        let change = if found.is_some() { SessionChange::Renewed } else { SessionChange::Created };
        let id = found.as_ref().map_or_else(|| mgp_types::random_name().into(), |found| found.id.clone());
        let Some(state) = set.or_else(|| found.map(|found| found.state)) else { return (Meta::new(), None) };
        let session = SealedSession { id: id.clone(), state };
        let Some(token) = self.seal(&session) else {
            tracing::warn!(
                limit = MAX_SESSION_STATE_BYTES,
                "session state is too long and was dropped: keep less of it, or keep it at the server"
            );
            return (flag(STATE_DROPPED, "true"), None);
        };
        let meta = flag(STATE_CHANGED, if changed { "true" } else { "false" });
        (meta.with(SESSION_STATE, RawJson::from_text(&token)), Some(SessionEvent::now(change, id)))
    }

    fn seal(&self, session: &SealedSession) -> Option<String> {
        let content = RawJson::from_value(session).ok()?;
        self.keys.sealing.seal(content.as_bytes(), &self.binding, self.idle_timeout).ok()
    }
}

mgp_types::partial_debug!(CallSession, self => idle_timeout: self.idle_timeout);

impl RefusedSession {
    /// Tells the client what happened to its session, and returns the error of the call.
    pub(crate) async fn tell(self, outbox: Outbox) -> Error {
        if let Some(event) = &self.event {
            tell(event, &outbox).await;
        }
        self.error
    }
}

mgp_types::convert!(Error => RefusedSession, error => Self { error, event: None });

/// Returns an error with the advice to begin a new session, which programs read.
fn restart(code: i64, message: &'static str) -> Error {
    let details = Object::from([("recovery", RawJson::from_text("restart"))]);
    Error::new(code, message)
        .with_recovery(Recovery::for_code(code).unwrap_or_default().with_details(&details))
}

pub(crate) fn invalid_session() -> Error {
    let message = "the session state was not given by this server to this caller; call again without \
                   `_meta.session_state`";
    restart(code::SESSION_STATE_INVALID, message)
}

fn read(content: &[u8]) -> Option<SealedSession> {
    RawJson::parse(content.to_vec()).ok()?.to().ok()
}

async fn tell(event: &SessionEvent, outbox: &Outbox) {
    let Ok(params) = Object::from_value(event) else { return };
    let event = Request::notify(Method::from_static(SessionEvent::METHOD), params);
    if let Err(error) = outbox.notify(event).await {
        tracing::debug!(%error, "an event of a session was lost");
    }
}
