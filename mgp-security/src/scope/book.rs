//! The book of scopes: who may have which, who has which now, and whether that suffices for a tool.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use mgp_types::ext::scope::{
    DeniedScope, InvalidScopes, NegotiateScopes, ScopeSession, Scopes, ScopesNegotiated,
    missing_scopes_details, temporary,
};
use mgp_types::mgp::{Recovery, ResolvedTool};
use mgp_types::{AgentGroups, Error, Principal, Request, code, random_name};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::sessions::{INACTIVITY, ScopeEnd, ScopeSessions, SecretDigest, StoredSession, shown_by};
use crate::Clock;
use crate::refusal::refusal;

/// The scopes that agents may have, and those that tools need besides the ones in their definitions.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct ScopeRules {
    agents: HashMap<Box<str>, Arc<Scopes>, RandomState>,
    tools: HashMap<Box<str>, HashMap<Box<str>, Scopes, RandomState>, RandomState>,
    groups: AgentGroups,
}

impl ScopeRules {
    mgp_types::setters! { self =>
        /// Finds the groups of agents in `groups`.
        pub fn with_groups(groups: AgentGroups) => self.groups = groups;

        /// Holds the agent of this id, or each member of the group `@name` that has no scopes of its own, to `scopes`.
        pub fn with_agent(agent: &str, scopes: Scopes) => self.agents.insert(agent.into(), Arc::new(scopes));

        /// Adds to the scopes that a call of `tool` on `server` needs.
        pub fn with_tool(server: &str, tool: &str, scopes: Scopes) =>
            self.tools.entry(server.into()).or_default().insert(tool.into(), scopes);
    }

    /// Returns the scopes of an agent; `None` if it is held to none.
    fn of_caller(&self, caller: &Principal) -> Option<&Arc<Scopes>> {
        self.groups.find(&caller.access_id(), |name| self.agents.get(name))
    }

    /// Returns the scopes that a call of `tool` needs and `held` does not have.
    ///
    /// # Errors
    /// Fails if the definition has something else than a list of scopes: what it needs is not known then.
    fn missing(&self, tool: &ResolvedTool, held: &Scopes) -> Result<Vec<Box<str>>, InvalidScopes> {
        let declared = match tool.definition.get("required_scopes").filter(|list| !list.is_null()) {
            None => Scopes::new(),
            Some(list) => list.to().map_err(|_| InvalidScopes::InvalidScope)?,
        };
        let mut missing = declared.missing_from(held);
        let added = self.tools.get(tool.server.as_str()).and_then(|tools| tools.get(tool.name.as_str()));
        let added = added.into_iter().flat_map(|added| added.missing_from(held));
        missing.extend(added.filter(|scope| !declared.has(scope)));
        Ok(missing)
    }
}

/// The scopes of callers, and the sessions that they negotiated. Clones share them.
///
/// Sessions are kept in memory, each for the principal that negotiated it, and end by a clock that cannot go back. Of
/// a token only the digest is kept.
#[derive(Clone)]
pub struct ScopeBook(Arc<ScopeBookShared>);

struct ScopeBookShared {
    rules: ArcSwap<ScopeRules>,
    sessions: Mutex<ScopeSessions>,
    /// The number of times that the rules were set.
    revision: AtomicU64,
    /// True once an agent is held to scopes, or has negotiated some.
    is_in_use: AtomicBool,
    clock: Clock,
}

impl ScopeBook {
    /// The time in seconds without a call after which a session ends.
    pub const INACTIVITY_TIMEOUT_SECONDS: u64 = INACTIVITY.as_secs();

    /// Creates a book without rules and sessions, which writes the ends of sessions by `clock`.
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(ScopeBookShared {
            rules: ArcSwap::default(),
            sessions: Mutex::default(),
            revision: AtomicU64::new(0),
            is_in_use: AtomicBool::new(false),
            clock,
        }))
    }

    /// Sets the rules from now on. Sessions lose the scopes that their agents may no longer have.
    pub fn set(&self, rules: ScopeRules) {
        let holds_somebody = !rules.agents.is_empty();
        self.0.rules.store(Arc::new(rules));
        self.0.revision.fetch_add(1, Ordering::Release);
        if holds_somebody {
            self.0.is_in_use.store(true, Ordering::Release);
        }
    }

    /// Returns a number that grows with each change of the rules.
    pub fn revision(&self) -> u64 {
        self.0.revision.load(Ordering::Acquire)
    }

    /// Returns whether these scopes suffice for a call of the tool.
    pub fn suffice(&self, held: &Scopes, tool: &ResolvedTool) -> bool {
        self.missing(tool, held).is_ok_and(|missing| missing.is_empty())
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.0.is_in_use.load(Ordering::Acquire)
    }

    /// Returns the scopes that the sender of a request holds: those of its token, of the session whose session token the
    /// request shows, or else those that are configured. Returns `None` for a sender that is held to none.
    ///
    /// # Errors
    /// Fails for a sender or a session token that is not known (1002), and for a session that is over (1003).
    pub fn held(&self, request: &Request) -> Result<Option<Arc<Scopes>>, Error> {
        let of_token = request.context.scopes.clone();
        if !self.is_in_use() {
            return Ok(of_token);
        }
        let held = self.held_by(sender(request)?, shown_by(request).as_ref())?;
        Ok(match (of_token, held) {
            (Some(of_token), Some(held)) => Some(Arc::new(allowed((*held).clone(), Some(&of_token)))),
            (of_token, held) => of_token.or(held),
        })
    }

    /// Decides whether the sender of a request has the scopes to call `tool`, exactly as [`ScopeGate`](super::ScopeGate)
    /// decides about the call.
    ///
    /// # Errors
    /// Fails if scopes are missing (1000, with `missing_scopes` in the details), for a sender or a session token that is not
    /// known (1002), and for a session that is over (1003).
    pub fn check(&self, request: &Request, tool: &ResolvedTool) -> Result<(), Error> {
        let token = if self.is_in_use() { shown_by(request) } else { None };
        self.judge(request, token.as_ref(), tool)
    }

    /// Judges a call by the scopes of its access token, and by those of its sender, whose session has `token`.
    pub(super) fn judge(
        &self,
        request: &Request,
        token: Option<&SecretDigest>,
        tool: &ResolvedTool,
    ) -> Result<(), Error> {
        if let Some(held) = &request.context.scopes {
            let missing = self.missing(tool, held)?;
            if !missing.is_empty() {
                let error = insufficient(&missing);
                #[cfg(feature = "auth")]
                if let Some(step_up) = request.extensions.get::<crate::oauth::StepUp>() {
                    return Err(error.with_source(step_up.demand(missing.iter().map(|scope| &**scope), held)));
                }
                return Err(error);
            }
        }
        if !self.is_in_use() {
            return Ok(());
        }
        let Some(held) = self.held_by(sender(request)?, token)? else { return Ok(()) };
        let missing = self.missing(tool, &held)?;
        if missing.is_empty() { Ok(()) } else { Err(insufficient(&missing)) }
    }

    fn missing(&self, tool: &ResolvedTool, held: &Scopes) -> Result<Vec<Box<str>>, Error> {
        self.0.rules.load().missing(tool, held).map_err(|_| {
            refusal(code::PERMISSION_DENIED, "the tool's list of scopes cannot be read, so nobody has them")
        })
    }

    fn held_by(
        &self,
        caller: &Principal,
        token: Option<&SecretDigest>,
    ) -> Result<Option<Arc<Scopes>>, Error> {
        let configured = self.0.rules.load().of_caller(caller).cloned();
        let Some(token) = token else { return Ok(configured) };
        let of_session = self.0.sessions.lock().held(caller, token, Instant::now())?;
        Ok(Some(Arc::new(allowed(of_session, configured.as_deref()))))
    }

    /// Opens a session with those of the wanted scopes that the sender of the request may have. A session whose token
    /// the request shows becomes part of the new one, each scope with the end that it had, and its token dies.
    ///
    /// # Errors
    /// Fails for wrong times or too many scopes (-32602), for a sender or a token that is not known (1002), for a
    /// session that is over (1003), and if too many sessions are open (3001).
    pub fn negotiate(&self, request: &Request, wanted: &NegotiateScopes) -> Result<ScopesNegotiated, Error> {
        let caller = sender(request)?;
        let ttl = match wanted.ttl_seconds {
            Some(0) => return Err(Error::invalid_params("`ttl_seconds` must be 1 or more")),
            Some(seconds) => Duration::from_secs(seconds).min(MAX_TTL),
            None => USUAL_TTL,
        };
        let limit = wanted.requested_scopes.iter().filter_map(temporary).min().filter(|limit| *limit < ttl);
        let now = Instant::now();
        let end = ScopeEnd { at: now + limit.unwrap_or(ttl), is_limited: limit.is_some() };
        let configured = self.0.rules.load().of_caller(caller).cloned();
        let (mut scopes, mut denied) = (BTreeMap::new(), Vec::new());
        for scope in wanted.requested_scopes.iter().filter(|scope| temporary(scope).is_none()) {
            if scope.starts_with("temp:") {
                denied
                    .push(DeniedScope::new(scope, "a time is written like temp:45s, temp:30min or temp:2h"));
            } else if configured.as_ref().is_none_or(|configured| configured.has(scope)) {
                scopes.insert(Box::from(scope), end);
            } else {
                denied
                    .push(DeniedScope::new(scope, "not among the scopes that this agent is configured for"));
            }
        }
        let mut sessions = self.0.sessions.lock();
        if let Some(shown) = shown_by(request) {
            // The check of the set comes first: a session is not taken out before the new one is sure.
            let before = sessions.held(caller, &shown, now)?;
            let union = before.iter().chain(scopes.keys().map(|scope| &**scope));
            Scopes::read(union).map_err(|error| Error::invalid_params(error.to_string()))?;
            let former = sessions.take(caller, now, |session| session.token.matches(&shown))?;
            for (scope, end) in former.scopes {
                scopes.entry(scope).or_insert(end);
            }
        } else {
            sessions.make_room(caller, now)?;
        }
        scopes.retain(|_, end| now < end.at);
        let session_end = last_end(&scopes).unwrap_or(end.at);
        let answer = self.opened(&mut sessions, caller, scopes, (now, session_end, ttl));
        self.0.is_in_use.store(true, Ordering::Release);
        Ok(ScopesNegotiated::new(answer, denied))
    }

    /// Opens a session with the scopes of the one that `refresh_token` belongs to, whose tokens die. Scopes with a time of
    /// their own keep their end.
    ///
    /// # Errors
    /// Fails for a sender or a token that is not known (1002), and for a session that is over (1003).
    pub fn refresh(&self, request: &Request, refresh_token: &str) -> Result<ScopeSession, Error> {
        let caller = sender(request)?;
        let now = Instant::now();
        let mut sessions = self.0.sessions.lock();
        let shown = SecretDigest::of(refresh_token);
        let former = sessions.take(caller, now, |session| session.refresh_token.matches(&shown))?;
        let renewed = now + former.ttl;
        let renew = |end: ScopeEnd| if end.is_limited { end } else { ScopeEnd { at: renewed, ..end } };
        let scopes = former.scopes.into_iter().map(|(scope, end)| (scope, renew(end)));
        let scopes = scopes.filter(|(_, end)| now < end.at).collect();
        let session_end = last_end(&scopes).unwrap_or(renewed);
        Ok(self.opened(&mut sessions, caller, scopes, (now, session_end, former.ttl)))
    }

    /// Opens a session that begins now and ends then, and returns it as its holder is told of it.
    fn opened(
        &self,
        sessions: &mut ScopeSessions,
        caller: &Principal,
        scopes: BTreeMap<Box<str>, ScopeEnd>,
        (now, end, ttl): (Instant, Instant, Duration),
    ) -> ScopeSession {
        // Nobody can guess 256 random bits.
        let [token, refresh_token] = [(); 2].map(|()| Box::<str>::from(random_name() + &random_name()));
        let digests = (SecretDigest::of(&token), SecretDigest::of(&refresh_token));
        let session =
            StoredSession { token: digests.0, refresh_token: digests.1, scopes, ttl, end, used: now };
        let configured = self.0.rules.load().of_caller(caller).cloned();
        let expires_at = self.0.clock.now().saturating_add(end.saturating_duration_since(now));
        let held = allowed(session.held(now), configured.as_deref());
        sessions.put(caller, session);
        let mut answer = ScopeSession::new(token, held, expires_at);
        answer.refresh_token = Some(refresh_token);
        answer.inactivity_timeout_seconds = Some(Self::INACTIVITY_TIMEOUT_SECONDS);
        answer
    }
}

mgp_types::partial_debug!(ScopeBook, self => rules: self.0.rules.load(), sessions: self.0.sessions.lock().len());

/// Returns the end of the scope that lasts longest.
fn last_end(scopes: &BTreeMap<Box<str>, ScopeEnd>) -> Option<Instant> {
    scopes.values().map(|end| end.at).max()
}

fn sender(request: &Request) -> Result<&Principal, Error> {
    let unknown = || refusal(code::AUTH_REQUIRED, "scopes belong to a caller, and nobody is known to call");
    request.context.principal.as_ref().ok_or_else(unknown)
}

/// Returns those of the scopes that the configuration allows; all of them if it says nothing.
fn allowed(scopes: Scopes, configured: Option<&Scopes>) -> Scopes {
    let Some(configured) = configured else { return scopes };
    // A part of a set is a set.
    Scopes::read(scopes.iter().filter(|scope| configured.has(scope))).unwrap_or_default()
}

fn insufficient(missing: &[Box<str>]) -> Error {
    let recovery = Recovery::for_code(code::PERMISSION_DENIED).unwrap_or_default();
    let message = format!("missing required scopes: {}", missing.join(", "));
    Error::new(code::PERMISSION_DENIED, message)
        .with_recovery(recovery.with_details(&missing_scopes_details(missing)))
}

/// The longest time of a session.
const MAX_TTL: Duration = Duration::from_hours(24);
/// The time of a session for which none is asked.
const USUAL_TTL: Duration = Duration::from_hours(1);
