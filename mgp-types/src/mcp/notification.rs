//! Notifications about requests under way, and the token that ties progress to its request.

use std::fmt;

use serde::de;
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::body::body;
use super::body::same_in_every_revision;
use super::shape::opaque;
use super::{Meta, Number};
use crate::Id;

body! {
    /// The params of `notifications/cancelled`.
    pub struct CancelledParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The id of the request; absent only in 2025-11-25, which cancels tasks by `tasks/cancel`.
        optional request_id: Id = "requestId" => with_request_id;
        /// The reason of the cancellation, for people.
        optional reason: String = "reason" => with_reason;
    }

    /// The params of `notifications/progress`.
    pub struct ProgressParams {
        /// Metadata.
        optional meta: Meta = "_meta" => with_meta;
        /// The token of the request.
        required progress_token: ProgressToken = "progressToken";
        /// The amount of work done; it increases with every notification.
        required progress: Number = "progress";
        /// The amount of work in all, if known.
        optional total: Number = "total" => with_total;
        /// The current step of the work, for people.
        optional message: String = "message" [since V2025_03_26] => with_message;
    }
}

/// The token that ties progress notifications to their request: a string or an integer. The sender of the request
/// chooses the token, and the receiver returns it exactly as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum ProgressToken {
    /// An integer token.
    Number(i64),
    /// A text token.
    Text(Box<str>),
}

impl fmt::Display for ProgressToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<i64> for ProgressToken {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for ProgressToken {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for ProgressToken {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl Serialize for ProgressToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for ProgressToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl Visitor<'_> for Either {
            type Value = ProgressToken;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an integer")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ProgressToken, E> {
                Ok(ProgressToken::Number(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ProgressToken, E> {
                i64::try_from(number)
                    .map(ProgressToken::Number)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ProgressToken, E> {
                Ok(ProgressToken::Text(text.into()))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

same_in_every_revision!(ProgressToken);
opaque!(ProgressToken);
