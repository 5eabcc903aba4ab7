//! The mark on a server's question that tells the call it belongs to.

use mgp_types::StreamId;

/// The call during which a server asked a question. The mark stands among the extensions of the question.
///
/// Over HTTP a server with sessions asks where it answers the call that the question belongs to. Over a byte stream the
/// call is unknown. The mark names the call by the stream of its outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedDuring(StreamId);

impl AskedDuring {
    /// Creates the mark of a question asked during the call that has `stream`.
    pub const fn new(stream: StreamId) -> Self {
        Self(stream)
    }

    /// Returns the stream of the call.
    pub const fn stream(self) -> StreamId {
        self.0
    }
}
