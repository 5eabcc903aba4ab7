//! The state that clients carry for servers: each agent's own, and no other's.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock};

use foldhash::fast::RandomState;
use memchr::memmem::Finder;
use mgp_types::canonical::Digest;
use mgp_types::ext::{ExtensionId, MAX_SESSION_STATE_BYTES, SESSION_STATE, STATE_CHANGED, STATE_DROPPED};
use mgp_types::mgp::{Recovery, Refusal, ServerId};
use mgp_types::{
    Error, Flow, Gate, Method, Object, Principal, RawJson, Request, RequestKind, Response, Session, code,
};
use parking_lot::Mutex;

use super::{may_name, mentioning};

/// A gate that lets state tokens (`_meta.session_state`) pass unread, each between its server and the agent that it was
/// given to.
///
/// A token that this server did not give to this agent reaches no server: the call is refused with 2031, and a token
/// longer than 64 KiB with 3025. A token that passes is forwarded byte for byte in both directions. A new token that is
/// too long, and every token for a client that did not declare `session_state`, is taken out of the result. Servers
/// that did not declare the extension cost a look at a bit.
#[derive(Clone)]
pub(crate) struct SessionStateGate {
    pub(crate) server: ServerId,
    /// Returns the session with the connected incarnation of the server.
    pub(crate) session: Arc<CurrentSession>,
    pub(crate) owners: Arc<StateOwners>,
}

/// A function that returns the session with a peer, if it is connected.
pub(crate) type CurrentSession = dyn Fn() -> Option<Arc<Session>> + Send + Sync;

/// The caller to whom the state in a result belongs.
pub(crate) struct StateCaller {
    agent: Principal,
    /// True if the client declared that it carries state.
    carries: bool,
}

impl Gate for SessionStateGate {
    type Pass = Option<StateCaller>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let is_call = request.kind == RequestKind::Call && request.method == Method::TOOLS_CALL;
        if !is_call || !(self.session)().is_some_and(|session| has_extension(&session)) {
            return Flow::Pass(None);
        }
        let caller = self.admit(request).inspect_err(|error| {
            let rule = if error.code() == code::STATE_TOO_LARGE { "too-long" } else { "not-given" };
            request.context.note_refusal(Refusal::new("session-state", rule));
        });
        caller.map(Some).into()
    }

    fn leave(&self, caller: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some(caller), Ok(response)) = (caller, outcome) {
            self.note(&caller, response);
        }
    }
}

impl SessionStateGate {
    fn admit(&self, request: &Request) -> Result<StateCaller, Error> {
        let Some(agent) = request.context.principal.clone() else {
            return Err(Error::invalid_request("nobody says who calls"));
        };
        let token = mentioning(request, &MEMBER).and_then(|meta| meta.get(SESSION_STATE));
        if let Some(token) = token.filter(|token| !token.is_null()) {
            self.check(&agent, &token)?;
        }
        let carries = request.context.session.as_ref().is_some_and(|session| has_extension(session));
        Ok(StateCaller { agent, carries })
    }

    fn check(&self, agent: &Principal, token: &RawJson) -> Result<(), Error> {
        let token =
            token.to_text().ok_or_else(|| Error::invalid_params("`_meta.session_state` must be a string"))?;
        if token.len() > MAX_SESSION_STATE_BYTES {
            let message = format!(
                "the session state has more than {MAX_SESSION_STATE_BYTES} bytes; send the token as the server gave it"
            );
            return Err(refusal(code::STATE_TOO_LARGE, message));
        }
        if self.owners.has(agent, &self.server, &token) {
            return Ok(());
        }
        let message = "the session state was not given by this server to this agent; call again without \
                       `_meta.session_state`";
        Err(refusal(code::SESSION_STATE_INVALID, message))
    }

    /// Notes whose the token in a result is.
    fn note(&self, caller: &StateCaller, response: &mut Response) {
        if !may_name(response.result.as_bytes(), &META) {
            return;
        }
        let meta = Object::from_raw(&response.result).ok().and_then(|result| result.object("_meta"));
        let Some(meta) = meta else { return };
        let token = meta.text(SESSION_STATE);
        if !caller.carries {
            let members = [SESSION_STATE, STATE_CHANGED, STATE_DROPPED];
            if members.iter().any(|name| meta.contains(name)) {
                response.change_meta(|meta| members.into_iter().for_each(|name| drop(meta.remove(name))));
            }
            return;
        }
        match token {
            Some(token) if token.len() <= MAX_SESSION_STATE_BYTES => {
                self.owners.note(&caller.agent, &self.server, &token);
            }
            Some(token) => {
                let (server, bytes) = (&self.server, token.len());
                tracing::warn!(%server, bytes, "a server gave more state than a client carries; it is dropped");
                response.change_meta(|meta| {
                    meta.remove(SESSION_STATE);
                    meta.set(STATE_DROPPED, RawJson::from_written(b"true".to_vec()));
                });
            }
            None => {}
        }
    }
}

fn has_extension(session: &Session) -> bool {
    session.extensions().has(ExtensionId::SessionState)
}

/// Returns an error after which a client begins its session anew.
fn refusal(code: i64, message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    let restart = ("recovery", RawJson::from_text("restart"));
    let details: Object = Some(restart).filter(|_| code == code::SESSION_STATE_INVALID).into_iter().collect();
    let recovery = Recovery::for_code(code).unwrap_or_default().with_details(&details);
    Error::new(code, message).with_recovery(recovery)
}

static META: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""_meta""#));
static MEMBER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""session_state""#));

/// The agents to whom servers gave state tokens. Only digests of the tokens are kept, in memory: a kernel that starts
/// knows none, and clients begin their sessions anew.
///
/// Of each agent the 256 latest tokens are known; a session uses the latest one. Of too many agents, the one that was
/// not given a token for longest gives way.
#[derive(Default)]
pub(crate) struct StateOwners(Mutex<GivenStates>);

#[derive(Default)]
struct GivenStates {
    agents: HashMap<Principal, AgentStates, RandomState>,
    /// The number of tokens given so far, which orders them.
    given: u64,
}

#[derive(Default)]
struct AgentStates {
    /// The digests of a server's id and a token.
    tokens: VecDeque<Digest>,
    latest: u64,
}

impl StateOwners {
    /// Returns whether `server` gave the token to `agent`.
    fn has(&self, agent: &Principal, server: &ServerId, token: &str) -> bool {
        let digest = digest(server, token);
        self.0.lock().agents.get(agent).is_some_and(|states| states.tokens.contains(&digest))
    }

    /// Notes that `server` gave the token to `agent`.
    fn note(&self, agent: &Principal, server: &ServerId, token: &str) {
        let digest = digest(server, token);
        let mut states = self.0.lock();
        states.given += 1;
        let given = states.given;
        if states.agents.len() >= MAX_AGENTS && !states.agents.contains_key(agent) {
            let oldest = states.agents.iter().min_by_key(|(_, states)| states.latest);
            if let Some(oldest) = oldest.map(|(agent, _)| agent.clone()) {
                states.agents.remove(&oldest);
            }
        }
        let own = states.agents.entry(agent.clone()).or_default();
        own.latest = given;
        if own.tokens.contains(&digest) {
            return;
        }
        if own.tokens.len() >= MAX_TOKENS {
            own.tokens.pop_front();
        }
        own.tokens.push_back(digest);
    }
}

fn digest(server: &ServerId, token: &str) -> Digest {
    Digest::of_parts([server.as_str(), token].map(str::as_bytes))
}

/// The number of tokens of an agent that are known.
const MAX_TOKENS: usize = 256;
/// The number of agents whose tokens are known.
const MAX_AGENTS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_for_one_agent_and_one_server() {
        let owners = StateOwners::default();
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        owners.note(&ada, &"docs".into(), "token");
        assert!(owners.has(&ada, &"docs".into(), "token"));
        for (agent, server, token) in [
            (&bob, "docs", "token"),
            (&Principal::operator("ada"), "docs", "token"),
            (&ada, "mail", "token"),
            (&ada, "docs", "other"),
            (&ada, "docst", "oken"),
        ] {
            assert!(!owners.has(agent, &server.into(), token), "{agent:?} {server} {token}");
        }
    }

    #[test]
    fn one_agent_forgets_its_own_oldest_tokens_and_no_others() {
        let owners = StateOwners::default();
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        owners.note(&bob, &"docs".into(), "his");
        for number in 0..=MAX_TOKENS {
            owners.note(&ada, &"docs".into(), &number.to_string());
        }
        let has = |token: &str| owners.has(&ada, &"docs".into(), token);
        assert_eq!([has("0"), has("1"), has(&MAX_TOKENS.to_string())], [false, true, true]);
        assert!(owners.has(&bob, &"docs".into(), "his"));
        for agent in 0..MAX_AGENTS {
            owners.note(&Principal::new(agent.to_string()), &"docs".into(), "x");
        }
        assert!(!owners.has(&bob, &"docs".into(), "his"), "he was not given a token for longest");
        assert!(owners.0.lock().agents.len() <= MAX_AGENTS);
    }
}
