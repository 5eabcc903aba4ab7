//! Log messages that a server sends to a client.

use super::Meta;
use super::body::body;
use super::union::open_enum;
use crate::RawJson;

open_enum! {
    /// The severity of a log message, after RFC 5424.
    pub enum LogLevel {
        /// A message for debugging.
        Debug = "debug",
        /// A message for information.
        Info = "info",
        /// A normal but significant event.
        Notice = "notice",
        /// A warning.
        Warning = "warning",
        /// An error.
        Error = "error",
        /// A critical condition.
        Critical = "critical",
        /// An event on which somebody must act at once.
        Alert = "alert",
        /// The system is unusable.
        Emergency = "emergency",
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

    /// The params of `notifications/message`.
    pub struct LoggingMessageParams {
        /// Metadata.
        optional meta: Meta = "_meta" => with_meta;
        /// The severity of the message.
        required level: LogLevel = "level";
        /// The name of the logger.
        optional logger: String = "logger" => with_logger;
        /// The message: any JSON.
        required data: RawJson = "data";
    }
}
