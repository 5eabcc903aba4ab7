//! Log messages that a server sends to a client.

use super::Meta;
use super::body::{body, builders};
use super::open_enum::open_enum;
use crate::RawJson;

open_enum! {
    /// How severe a log message is, after RFC 5424.
    pub enum LogLevel {
        /// For debugging.
        Debug = "debug",
        /// For information.
        Info = "info",
        /// Normal but significant.
        Notice = "notice",
        /// A warning.
        Warning = "warning",
        /// An error.
        Error = "error",
        /// A critical condition.
        Critical = "critical",
        /// Action must be taken at once.
        Alert = "alert",
        /// The system is unusable.
        Emergency = "emergency",
    }
}

impl LogLevel {
    /// The severity from 0 for debug to 7 for emergency, `None` for an unknown level.
    pub const fn severity(&self) -> Option<u8> {
        match self {
            Self::Debug => Some(0),
            Self::Info => Some(1),
            Self::Notice => Some(2),
            Self::Warning => Some(3),
            Self::Error => Some(4),
            Self::Critical => Some(5),
            Self::Alert => Some(6),
            Self::Emergency => Some(7),
            Self::Unknown(_) => None,
        }
    }
}

body! {
    /// The params of `logging/setLevel`.
    pub struct SetLevelParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The lowest level wanted.
        required level: LogLevel = "level";
    }
}

body! {
    /// The params of `notifications/message`.
    pub struct LoggingMessageParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// How severe the message is.
        required level: LogLevel = "level";
        /// Who logs it.
        optional logger: String = "logger";
        /// The message: any JSON.
        required data: RawJson = "data";
    }
}

builders! {
    LoggingMessageParams {
        with_meta: meta: Meta,
        with_logger: logger: String,
    }
}
