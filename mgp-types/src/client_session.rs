//! The session of a client at this program: a connection, or a session over HTTP.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::{Object, Principal, PrincipalKind, RawJson, Session};

/// The agent that the clients of the user are who runs the program: they have no keys. A client that names itself is
/// `local/NAME`.
pub const LOCAL_AGENT: &str = "local";

/// Returns the agent whose rules also hold for `agent`: `local` for each of its clients, `local/NAME`.
pub fn agent_family(agent: &str) -> Option<&'static str> {
    agent.strip_prefix(LOCAL_AGENT)?.starts_with('/').then_some(LOCAL_AGENT)
}

/// The number of a client session. No two sessions of a process have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientSessionId(NonZeroU64);

/// The session of one client, from its first request to its end: a connection, or a session over HTTP.
///
/// Requests and the owner of the connection hold it. It ends when nobody does.
pub struct ClientSession {
    id: ClientSessionId,
    named: OnceLock<NamedClient>,
    is_trusted: AtomicBool,
    ended: Box<dyn Fn(ClientSessionId) + Send + Sync>,
}

struct NamedClient {
    principal: Principal,
    said: Box<str>,
}

impl ClientSession {
    /// Creates a session that begins now. `ended` is called once, when it has ended.
    pub fn new(ended: impl Fn(ClientSessionId) + Send + Sync + 'static) -> Arc<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let id = ClientSessionId(NonZeroU64::new(number).unwrap_or(NonZeroU64::MAX));
        Arc::new(Self {
            id,
            named: OnceLock::new(),
            is_trusted: AtomicBool::new(false),
            ended: Box::new(ended),
        })
    }

    /// Returns the number of the session.
    pub const fn id(&self) -> ClientSessionId {
        self.id
    }

    /// Returns the name and version that the client gave first, for display only.
    pub fn said(&self) -> Option<&str> {
        self.named.get().map(|named| &*named.said)
    }

    /// Notes that an operator trusts the client to let a person answer. This ends with the session.
    pub fn trust(&self) {
        self.is_trusted.store(true, Ordering::Relaxed);
    }

    /// Returns whether an operator trusts the client to let a person answer.
    pub fn is_trusted(&self) -> bool {
        self.is_trusted.load(Ordering::Relaxed)
    }

    /// Returns the principal that a request of this session comes from, where `caller` was authenticated.
    ///
    /// A client of the user is known by the name that it gave first; the name proves nothing. Everybody else is who was
    /// authenticated. Allocates for the first request with a name only.
    pub fn principal(&self, caller: &Principal, peer: Option<&Session>) -> Principal {
        let is_local = caller.kind() == PrincipalKind::LocalClient && caller.as_str() == LOCAL_AGENT;
        match self.named.get().or_else(|| self.name(peer?)) {
            Some(named) if is_local => named.principal.clone(),
            _ => caller.clone().through(self.id),
        }
    }

    fn name(&self, peer: &Session) -> Option<&NamedClient> {
        let info = Object::from_raw(peer.peer.as_ref()?).ok()?;
        let text = |member| info.get(member).as_ref().and_then(RawJson::to_text);
        let name = text("name")?;
        let agent =
            safe_name(&name).map_or_else(|| LOCAL_AGENT.to_owned(), |safe| format!("{LOCAL_AGENT}/{safe}"));
        let said = [Some(name), text("version")].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let principal = Principal::of(PrincipalKind::LocalClient, agent).through(self.id);
        let said = said.chars().take(MAX_NAME_CHARS).collect::<String>().into();
        Some(self.named.get_or_init(|| NamedClient { principal, said }))
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        (self.ended)(self.id);
    }
}

crate::partial_debug!(ClientSession, self => id: self.id, said: self.said());

/// Returns the name of a client as a part of an agent's id: in lower case, with `-` for all but letters, digits, `.` and
/// `_`; `None` if nothing is left of it.
fn safe_name(said: &str) -> Option<String> {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c.to_ascii_lowercase() } else { '-' }
    };
    let safe: String = said.chars().take(MAX_NAME_CHARS).map(safe).collect();
    let words: Vec<_> = safe.split('-').filter(|word| !word.is_empty()).collect();
    (!words.is_empty()).then(|| words.join("-"))
}

const MAX_NAME_CHARS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Revision;

    fn naming(info: &'static str) -> Session {
        let mut session = Session::new(Revision::LATEST);
        session.peer = Some(RawJson::parse(info).unwrap());
        session
    }

    #[test]
    fn a_local_client_is_known_by_the_name_that_it_gives_first() {
        let (session, local) =
            (ClientSession::new(|_| {}), Principal::of(PrincipalKind::LocalClient, "local"));
        assert_eq!(session.principal(&local, None), local);
        let principal = session.principal(&local, Some(&naming(r#"{"name":"Claude Code","version":"2.1"}"#)));
        assert_eq!(principal, Principal::of(PrincipalKind::LocalClient, "local/claude-code"));
        assert_eq!(principal.client(), Some(session.id()));
        assert_eq!(session.said(), Some("Claude Code 2.1"));
        let other = session.principal(&local, Some(&naming(r#"{"name":"cursor"}"#)));
        assert_eq!(other, principal);
    }

    #[test]
    fn nobody_else_is_renamed() {
        let named = naming(r#"{"name":"claude-code"}"#);
        for (kind, name) in [(PrincipalKind::KeyHolder, "local"), (PrincipalKind::LocalClient, "desk")] {
            let caller = Principal::of(kind, name);
            assert_eq!(ClientSession::new(|_| {}).principal(&caller, Some(&named)), caller);
        }
    }

    #[test]
    fn names_have_safe_characters_only() {
        let named = |said: &str| safe_name(said);
        assert_eq!(named("Visual Studio Code").as_deref(), Some("visual-studio-code"));
        assert_eq!(named("../local/x\n").as_deref(), Some("..-local-x"));
        assert_eq!(named("Zed_1.2").as_deref(), Some("zed_1.2"));
        assert_eq!(named("日本"), None);
        assert_eq!(named(&"x".repeat(1_000)).unwrap().len(), 64);
    }

    #[test]
    fn only_clients_of_the_user_have_a_family() {
        assert_eq!(agent_family("local/claude-code"), Some("local"));
        for other in ["local", "locale/x", "team/ada", "local-http", ""] {
            assert_eq!(agent_family(other), None, "{other}");
        }
    }
}
