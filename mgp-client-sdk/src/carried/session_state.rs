//! The state of conversations, which the client carries for servers from call to call.

use std::collections::VecDeque;
use std::sync::Arc;

use mgp_types::ext::{
    ExtensionId, MAX_SESSION_STATE_BYTES, SESSION_STATE, STATE_CHANGED, STATE_DROPPED, StructuredError,
};
use mgp_types::mcp::CallToolResult;
use mgp_types::{Error, Object, RawJson, RpcService, code};
use parking_lot::Mutex;

use super::meta;
use crate::{Call, ClientBuilder};

impl<L, I> ClientBuilder<L, I> {
    /// Declares that the client carries state for servers; [`Call::within`] carries it.
    pub fn session_state(self) -> Self {
        // A stale state is told from other faults by the members of structured errors, for servers without MGP.
        let none = Object::new();
        self.extension(ExtensionId::SessionState.id(), &none)
            .extension(ExtensionId::StructuredErrors.id(), &none)
    }
}

/// The state that servers gave, by server and conversation. Clones share it.
///
/// The state is opaque: it goes back to the server that gave it, in the conversation that it was given in, and is neither
/// read, logged, nor left in results. It can outlive a connection, so that a conversation goes on after another one was
/// made. At most 1024 conversations are kept; the one that was not used for longest gives way.
#[derive(Clone, Default)]
pub struct SessionStates(Arc<Mutex<KeptStates>>);

/// The tokens, those that were used later behind the others.
type KeptStates = VecDeque<(ConversationKey, Box<str>)>;

/// A server, and a conversation with it.
type ConversationKey = (Box<str>, Box<str>);

/// The number of conversations whose state is kept.
const MAX_CONVERSATIONS: usize = 1024;

impl SessionStates {
    /// Creates a store without any state.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the conversation of this name with a server. The name of the server is the caller's own, not one that the
    /// server claims, so that no server can take another one's state.
    pub fn conversation(&self, server: impl Into<Box<str>>, name: impl Into<Box<str>>) -> Conversation {
        Conversation { states: self.clone(), key: (server.into(), name.into()) }
    }
}

mgp_types::partial_debug!(SessionStates, self => conversations: self.0.lock().len());

/// One conversation with one server: its calls find the state that the calls before them left.
///
/// Of calls at the same time, the one that is answered last decides the state.
#[derive(Debug, Clone)]
pub struct Conversation {
    states: SessionStates,
    key: ConversationKey,
}

impl Conversation {
    /// Returns whether the server has given state for the conversation.
    pub fn has_state(&self) -> bool {
        self.states.0.lock().iter().any(|(key, _)| *key == self.key)
    }

    /// Returns the state, which is thereby used last.
    fn token(&self) -> Option<Box<str>> {
        let mut kept = self.states.0.lock();
        let place = kept.iter().position(|(key, _)| *key == self.key)?;
        let (key, token) = kept.remove(place)?;
        kept.push_back((key, token.clone()));
        Some(token)
    }

    fn keep(&self, token: &str) {
        let mut kept = self.states.0.lock();
        kept.retain(|(key, _)| *key != self.key);
        if kept.len() >= MAX_CONVERSATIONS {
            kept.pop_front();
        }
        kept.push_back((self.key.clone(), token.into()));
    }

    /// Forgets the state: the next call begins the conversation anew.
    pub fn forget(&self) {
        self.states.0.lock().retain(|(key, _)| *key != self.key);
    }

    /// Takes the state out of a result and keeps it. Returns whether new state was too long to be carried.
    fn take(&self, result: &mut CallToolResult) -> bool {
        let received = meta(result);
        if let Some(meta) = &mut result.meta {
            for name in [SESSION_STATE, STATE_CHANGED, STATE_DROPPED] {
                meta.remove(name);
            }
            if meta.is_empty() {
                result.meta = None;
            }
        }
        match received.text(SESSION_STATE) {
            Some(token) if token.len() <= MAX_SESSION_STATE_BYTES => {
                self.keep(&token);
                false
            }
            Some(token) => {
                let (bytes, server) = (token.len(), &*self.key.0);
                tracing::warn!(
                    server,
                    bytes,
                    "a server gave more state than a client carries; the state before it stays"
                );
                true
            }
            None => {
                // Changed state that is not sent has come to its end.
                if received.bytes(STATE_CHANGED) == Some(b"true") {
                    self.forget();
                }
                received.bytes(STATE_DROPPED) == Some(b"true")
            }
        }
    }
}

/// The result of a call within a conversation. The state is no part of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConversationReply {
    /// The result.
    pub result: CallToolResult,
    /// True if the server refused the state, so that the conversation was begun anew with this call.
    pub restarted: bool,
    /// True if the call made state that is too long to be carried, so that the next call finds the state before it.
    pub dropped: bool,
}

impl<S: RpcService> Call<S, CallToolResult> {
    /// Makes the call within a conversation: it brings the state that the last call left, and keeps the new one.
    ///
    /// A server that refuses the state has not run the tool. The client then forgets the state and makes the call once more
    /// without it; [`ConversationReply::restarted`] tells so.
    ///
    /// # Errors
    /// The errors of the call.
    pub async fn within(self, conversation: &Conversation) -> Result<ConversationReply, Error> {
        let token = conversation.token();
        let (outcome, restarted) = match token {
            None => (self.await, false),
            Some(token) => {
                // Progress is reported of the first call alone.
                let mut anew =
                    Self::new(self.stack.clone(), self.shared.clone(), self.request.clone(), self.read);
                (anew.timeout, anew.max_timeout) = (self.timeout, self.max_timeout);
                match self.meta(SESSION_STATE, RawJson::from_text(&token)).await {
                    Err(error) if begins_anew(&error) => {
                        tracing::debug!(server = %conversation.key.0, "a conversation is begun anew");
                        // Another call may have brought another one meanwhile.
                        let stays = |kept: &(ConversationKey, Box<str>)| {
                            kept.0 != conversation.key || kept.1 != token
                        };
                        conversation.states.0.lock().retain(stays);
                        (anew.await, true)
                    }
                    outcome => (outcome, false),
                }
            }
        };
        let mut result = outcome?;
        let dropped = conversation.take(&mut result);
        Ok(ConversationReply { result, restarted, dropped })
    }
}

/// Returns whether the server refused the state of the call, and takes the call without.
fn begins_anew(error: &Error) -> bool {
    if matches!(error.code(), code::SESSION_STATE_INVALID | code::SESSION_STATE_EXPIRED) {
        return true;
    }
    let details = error.data().and_then(StructuredError::read).and_then(|structured| structured.details);
    error.code() == code::INVALID_PARAMS
        && details.is_some_and(|details| details.text("recovery").as_deref() == Some("restart"))
}

#[cfg(test)]
mod tests {
    use mgp_types::mcp::Meta;

    use super::*;

    fn result(meta: &[(&str, RawJson)]) -> CallToolResult {
        let meta = meta.iter().fold(Meta::new(), |all, (name, value)| all.with(*name, value.clone()));
        CallToolResult::text("x").with_meta(meta)
    }

    fn token(text: &str) -> RawJson {
        RawJson::from_text(text)
    }

    fn kept(conversation: &Conversation) -> Option<Box<str>> {
        conversation.token()
    }

    // covers: EXT-14-02
    #[test]
    fn state_is_kept_byte_by_byte_for_its_server_and_conversation_and_leaves_the_result() {
        let states = SessionStates::new();
        let docs = states.conversation("docs", "chat-1");
        let odd = "eyJ\u{1F600}\n\"not base64 at all";
        let mut given =
            result(&[(SESSION_STATE, token(odd)), (STATE_CHANGED, RawJson::from_written(b"true".to_vec()))]);
        assert!(!docs.take(&mut given));
        assert_eq!((kept(&docs).as_deref(), given.meta), (Some(odd), None));
        for other in [states.conversation("mail", "chat-1"), states.conversation("docs", "chat-2")] {
            assert_eq!(kept(&other), None, "{other:?}");
        }
        assert!(!format!("{docs:?} {states:?}").contains("eyJ"), "a token is no text for logs");
    }

    // covers: EXT-14-03
    #[test]
    fn a_token_of_64_kib_is_carried_and_a_longer_one_leaves_the_one_before_it() {
        let docs = SessionStates::new().conversation("docs", "chat-1");
        let most = "x".repeat(65_536);
        assert!(!docs.take(&mut result(&[(SESSION_STATE, token(&most))])));
        assert_eq!(kept(&docs).as_deref(), Some(&*most));
        assert!(docs.take(&mut result(&[(SESSION_STATE, token(&"x".repeat(65_537)))])), "the host is told");
        assert!(docs.take(&mut result(&[(STATE_DROPPED, RawJson::from_written(b"true".to_vec()))])));
        assert_eq!(kept(&docs).as_deref(), Some(&*most));
        docs.take(&mut result(&[]));
        assert!(docs.has_state());
        docs.take(&mut result(&[(STATE_CHANGED, RawJson::from_written(b"true".to_vec()))]));
        assert!(!docs.has_state(), "the server ended the conversation");
    }

    #[test]
    fn of_too_many_conversations_the_least_used_gives_way() {
        let states = SessionStates::new();
        let named = |name: usize| states.conversation("docs", name.to_string());
        for name in 0..MAX_CONVERSATIONS {
            named(name).take(&mut result(&[(SESSION_STATE, token("x"))]));
        }
        assert!(kept(&named(0)).is_some(), "it is used again");
        named(MAX_CONVERSATIONS).take(&mut result(&[(SESSION_STATE, token("x"))]));
        let there = [0, 1, 2, MAX_CONVERSATIONS].map(|name| named(name).has_state());
        assert_eq!(there, [true, false, true, true]);
    }
}
