//! Values that a client carries for servers: the state of conversations, and places to go on from.

use std::collections::VecDeque;
use std::sync::Arc;

use mgp_stream::call::StreamPart;
use mgp_types::ext::{
    ExtensionId, MAX_SESSION_STATE_BYTES, RESUME, Resume, SESSION_STATE, STATE_CHANGED, STATE_DROPPED,
    StructuredError,
};
use mgp_types::mcp::CallToolResult;
use mgp_types::{Error, Object, RawJson, RpcService, code};
use parking_lot::Mutex;

use crate::{Call, ClientBuilder};

/// Returns the metadata of a result.
pub(crate) fn meta(result: &CallToolResult) -> Object {
    result.meta.as_ref().and_then(|meta| Object::from_value(meta).ok()).unwrap_or_default()
}

/// The last place of a streamed call from which another call can go on.
///
/// ```no_run
/// # use mgp_client_sdk::{Client, StreamPart, StreamCheckpoint, Error, RpcService};
/// async fn export<S: RpcService>(client: &Client<S>) -> Result<Vec<StreamPart>, Error> {
///     let (mut parts, mut checkpoint) = (Vec::new(), None::<StreamCheckpoint>);
///     loop {
///         let mut call = client.call_tool("export", ()).resume(checkpoint.as_ref()).stream()?;
///         while let Some(part) = call.next().await {
///             parts.push(part);
///         }
///         let last = call.checkpoint().cloned();
///         match call.finish().await {
///             Ok(_) => return Ok(parts),
///             Err(error) if last.is_none() => return Err(error),
///             Err(_) => checkpoint = last,
///         }
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamCheckpoint {
    resume: Resume,
    /// The number of the next part.
    next: u64,
}

/// The number of the first part of a call that goes on with another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstPart(pub(crate) u64);

/// The newest checkpoint of a call that is read.
#[derive(Debug, Default)]
pub(crate) struct CheckpointWatch {
    pub(crate) newest: Option<StreamCheckpoint>,
    pub(crate) next: u64,
}

impl CheckpointWatch {
    pub(crate) fn note(&mut self, part: &StreamPart) {
        let (operation, token) = match part {
            StreamPart::Chunk(chunk) => {
                self.next = chunk.index + 1;
                (&chunk.operation_id, &chunk.checkpoint_token)
            }
            StreamPart::Progress(progress) => (&progress.operation_id, &progress.checkpoint_token),
            StreamPart::Gap { missing } => {
                self.next = missing.end;
                return;
            }
            _ => return,
        };
        if let (Some(operation), Some(token)) = (operation, token) {
            let resume = Resume::new(operation.clone(), token.clone());
            self.newest = Some(StreamCheckpoint { resume, next: self.next });
        }
    }
}

impl<S: RpcService, T> Call<S, T> {
    /// Goes on with an interrupted call from its last [checkpoint](crate::StreamedCall::checkpoint): a call of the same tool
    /// with the same arguments. Its parts are numbered on from there. Without a checkpoint the call begins anew.
    pub fn resume(self, checkpoint: Option<&StreamCheckpoint>) -> Self {
        let Some(checkpoint) = checkpoint else { return self };
        self.meta(RESUME, checkpoint.resume.to_raw())
            .request_with(|request| request.extensions.insert(FirstPart(checkpoint.next)))
    }
}

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
    use mgp_types::mcp::{ContentBlock, Meta};
    use mgp_types::mgp::{StreamChunk, StreamProgress};

    use super::*;

    // covers: EXT-08-08
    #[test]
    fn the_checkpoint_of_the_last_chunk_or_report_is_kept() {
        let mut watch = CheckpointWatch::default();
        let chunk = |index, token: Option<&str>| {
            let mut chunk = StreamChunk::new(index, ContentBlock::text("x"));
            chunk.operation_id = token.map(|_| "op".into());
            chunk.checkpoint_token = token.map(Into::into);
            StreamPart::Chunk(chunk)
        };
        let mut progress = StreamProgress::new(0.5);
        watch.note(&chunk(0, None));
        assert_eq!(watch.newest, None);
        watch.note(&chunk(1, Some("first")));
        let at = |token, next| StreamCheckpoint { resume: Resume::new("op", token), next };
        assert_eq!(watch.newest, Some(at("first", 2)));
        watch.note(&chunk(2, None));
        watch.note(&StreamPart::Progress(progress.clone()));
        assert_eq!(watch.newest, Some(at("first", 2)), "what came after it comes again");
        (progress.operation_id, progress.checkpoint_token) = (Some("op".into()), Some("second".into()));
        watch.note(&StreamPart::Progress(progress));
        assert_eq!(watch.newest, Some(at("second", 3)));
        watch.note(&chunk(3, Some("third")));
        assert_eq!(watch.newest, Some(at("third", 4)));
    }

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
