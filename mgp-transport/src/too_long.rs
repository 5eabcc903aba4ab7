use mgp_types::{Error, Origin, code};

/// The cause of an error that came about because an answer is longer than its connection takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is longer than {most_bytes} bytes")]
#[expect(clippy::exhaustive_structs, reason = "a number and no more")]
pub struct TooLong {
    /// How long a message may be.
    pub most_bytes: usize,
}

impl TooLong {
    /// Whether this is why `error` came about.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// 3001: the peer has answered, and the answer is not taken in.
    pub(crate) fn answer(most_bytes: usize) -> Error {
        let message = format!("the answer is longer than the {most_bytes} bytes that this connection takes");
        Error::from_origin(Origin::Peer, code::RESOURCE_EXHAUSTED, message).with_source(Self { most_bytes })
    }
}
