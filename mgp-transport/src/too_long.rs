//! The cause of errors about messages that were too long to be read.

use mgp_types::json::ObjectWriter;
use mgp_types::{Error, Origin, code};

use crate::{ConnectionLimits, SettingNames};

/// The reason why a message was refused unread: the cause of the error that its call ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TooLong {
    /// The message is longer than its connection allows.
    #[error("the message is longer than {most_bytes} bytes")]
    Message {
        /// The greatest length of a message in bytes.
        most_bytes: usize,
    },
    /// Other long messages take the memory that there is for all of them.
    #[error("the {budget_bytes} bytes for long messages are in use")]
    Memory {
        /// The number of bytes that all long messages may take.
        budget_bytes: usize,
    },
}

impl TooLong {
    /// Returns the reason behind `error`, if a message was too long.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// Returns the reason for a message that is longer than `limits` allow.
    pub(crate) fn message(limits: &ConnectionLimits) -> Self {
        Self::Message { most_bytes: limits.max_frame_bytes }
    }

    /// Returns the error 3001: the peer has answered, and the answer was refused unread.
    pub(crate) fn answer(self, names: SettingNames) -> Error {
        let message = format!("the answer was refused unread: {self}; {}", self.advice(names));
        Error::from_origin(Origin::Peer, code::RESOURCE_EXHAUSTED, message).with_source(self)
    }

    /// Returns the error -32600: the peer has sent a message that was refused unread. The data of the error name the
    /// setting.
    pub(crate) fn refusal(self, names: SettingNames) -> Error {
        let message = format!("the message was refused unread: {self}; {}", self.advice(names));
        let (bytes, setting, retryable) = match self {
            Self::Message { most_bytes } => (most_bytes, names.max_frame_bytes, false),
            Self::Memory { budget_bytes } => (budget_bytes, names.memory, true),
        };
        let mut data = ObjectWriter::new();
        data.value("max_bytes", &bytes);
        data.text("setting", setting);
        data.value("retryable", &retryable);
        Error::invalid_request(message).with_data(data.finish().to_raw())
    }

    fn advice(self, names: SettingNames) -> String {
        match self {
            Self::Message { .. } => {
                format!("send or ask for less at once, or have {} raised", names.max_frame_bytes)
            }
            Self::Memory { .. } => format!("try again in a moment, or have {} raised", names.memory),
        }
    }
}
