//! Tokens that a client carries from call to call for a server: the state of a session, and the point at which a long call
//! goes on.

use super::written;
use crate::macros::record;
use crate::macros::words::words;
use crate::mgp::Timestamp;
use crate::{Error, Object, RawJson, code};

/// The most bytes of a state token.
pub const MAX_SESSION_STATE_BYTES: usize = 65_536;

/// The member of `_meta` that carries the state token, of a call and of its result.
pub const SESSION_STATE: &str = "session_state";

/// The member of a result's `_meta` that tells whether the call changed the state. With `true` and no token beside it,
/// the session is over.
pub const STATE_CHANGED: &str = "state_changed";

/// The member of a result's `_meta` that tells that the new state was too long to be sent.
pub const STATE_DROPPED: &str = "state_dropped";

record! {
    /// A session as its client keeps it: the token is opaque, and only the server can read it.
    pub struct SessionState shows session_id: Eq {
        /// The id of the session.
        required session_id: into Box<str>;
        /// The token.
        required state: into Box<str>;
        /// The moment at which the session began.
        required created_at: Timestamp;
        /// The moment at which the session ends, if nothing is called until then.
        optional expires_at: Timestamp;
        /// The server and the tool to which the session belongs.
        optional metadata: SessionMetadata;
    }

    /// The server and the tool to which a session belongs.
    pub struct SessionMetadata: Default, Eq {
        /// The name of the server that owns the session.
        optional server_name: Box<str>;
        /// The tool that the session is about.
        optional tool_context: Box<str>;
    }

    /// The params of `notifications/mgp.session.lifecycle`: something happened to a session.
    pub struct SessionEvent: Eq {
        /// The kind of the event.
        #[serde(rename = "type")]
        plain change: SessionChange;
        /// The id of the session.
        plain session_id: Box<str>;
        /// The moment at which it happened.
        plain timestamp: Timestamp;
        /// The reason for the event.
        optional reason: Box<str> => into with_reason;
    }
}

words! {
    /// An event in the life of a session.
    SessionChange {
        /// The session began.
        Created = "session_created",
        /// The session was used and goes on for another while.
        Renewed = "session_renewed",
        /// The session expired, because nothing was called for too long.
        Expired = "session_expired",
        /// The server ended the session.
        Invalidated = "session_invalidated",
    }
}

impl SessionEvent {
    /// The method of the notification.
    pub const METHOD: &'static str = "notifications/mgp.session.lifecycle";

    /// Creates the event that `change` happened now.
    pub fn now(change: SessionChange, session_id: impl Into<Box<str>>) -> Self {
        Self { change, session_id: session_id.into(), timestamp: Timestamp::now(), reason: None }
    }
}

/// The most bytes of a checkpoint's token.
pub const MAX_CHECKPOINT_BYTES: usize = 8192;

/// The member of a call's `_meta` that says where the call goes on.
pub const RESUME: &str = "resume";

record! {
    /// The point at which an interrupted call goes on: `_meta.resume` of the same call, made again.
    pub struct Resume shows operation_id: Eq {
        /// The operation that the interrupted call was about.
        required operation_id: into Box<str>;
        /// The token of the last chunk or report of progress that came.
        required checkpoint_token: into Box<str>;
    }
}

impl Resume {
    /// Reads the wish in the metadata of a call; `None` if the call begins anew.
    ///
    /// # Errors
    ///
    /// -32602 for a wish of another form. It is not overlooked, or the call would begin anew.
    pub fn read(meta: &Object) -> Result<Option<Self>, Error> {
        let Some(resume) = meta.get(RESUME) else { return Ok(None) };
        resume.to().map(Some).map_err(|error| {
            let form =
                "`_meta.resume` must be an object with the strings `operation_id` and `checkpoint_token`";
            Error::invalid_params(form).with_source(error)
        })
    }

    /// Returns the wish as JSON.
    pub fn to_raw(&self) -> RawJson {
        written(self)
    }

    /// Returns the error for a checkpoint that was not given for the call.
    pub fn invalid() -> Error {
        let message = "the checkpoint is none of this call: its tool, its arguments or its caller differ, or it was \
                       changed; make the call again without `_meta.resume`";
        Error::new(code::CHECKPOINT_INVALID, message).with_usual_recovery()
    }

    /// Returns the error for a checkpoint whose time is over.
    pub fn expired() -> Error {
        let message = "the checkpoint is too old; make the call again without `_meta.resume`";
        Error::new(code::CHECKPOINT_EXPIRED, message).with_usual_recovery()
    }

    /// Returns the error for a call of a tool without checkpoints. It is not begun anew: the caller has a part of it.
    pub fn unsupported(tool: &str) -> Error {
        let message = format!("tool `{tool}` has no checkpoints: make the call again without `_meta.resume`");
        Error::new(code::METHOD_NOT_FOUND, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: EXT-14-06
    #[test]
    fn a_session_hides_its_token() {
        let session = SessionState::new("s1", "djEuLi4=", Timestamp::EPOCH);
        assert!(!format!("{session:?}").contains("djEuLi4="));
    }

    // covers: EXT-08-03
    #[test]
    fn a_call_goes_on_by_its_operation_and_its_token() {
        let meta = |json: &'static str| Object::parse(json).unwrap();
        let json = r#"{"resume":{"operation_id":"op-42","checkpoint_token":"ck"}}"#;
        let resume = Resume::read(&meta(json)).unwrap().unwrap();
        assert_eq!(resume, Resume::new("op-42", "ck"));
        assert_eq!(resume.to_raw().as_bytes(), br#"{"operation_id":"op-42","checkpoint_token":"ck"}"#);
        assert!(!format!("{resume:?}").contains("ck"), "a token is no text for logs");
        assert_eq!(Resume::read(&meta("{}")).unwrap(), None);
        for wrong in [r#"{"resume":"ck"}"#, r#"{"resume":{"operation_id":"op-42"}}"#, r#"{"resume":null}"#] {
            assert_eq!(Resume::read(&meta(wrong)).unwrap_err().code(), -32602, "{wrong}");
        }
    }
}
