use mgp_types::StreamId;

/// That a server asked on the stream of a call, among the extensions of the question.
///
/// Over HTTP a server with sessions asks where it answers the call that it asks about. Over a byte stream nothing says
/// so. The call is known by the stream of the outbox that it was made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedDuring(StreamId);

impl AskedDuring {
    /// Asked during the call that has `stream`.
    pub const fn new(stream: StreamId) -> Self {
        Self(stream)
    }

    /// The stream of the call.
    pub const fn stream(self) -> StreamId {
        self.0
    }
}
