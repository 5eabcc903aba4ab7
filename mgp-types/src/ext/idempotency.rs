//! Calls that have their effect once, however often they are made: the ids by which calls, transactions and steps are known
//! when they come again, and what the result tells of the key of its call.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{nearest_seconds, written};
use crate::macros::{checked_texts, record, text_traits};
use crate::mgp::Timestamp;
use crate::{Error, Object, RawJson, random_name};

const MAX_BYTES: usize = 128;
/// The bytes of a context in a unique key: what a time, 32 digits and two hyphens leave.
const MAX_CONTEXT_BYTES: usize = MAX_BYTES - 58;

/// The error of a text that is no id of a call, a transaction or a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id has 1 to 128 letters, digits or characters of `_-:.`")]
pub struct InvalidEffectId;

checked_texts! {
    /// The key by which a server knows a call that is made again. A random UUID is a good one.
    ///
    /// ```
    /// use mgp_types::ext::IdempotencyKey;
    ///
    /// assert!("op-2026-03-15-abc123".parse::<IdempotencyKey>().is_ok());
    /// assert!("with space".parse::<IdempotencyKey>().is_err());
    /// ```
    IdempotencyKey by check => InvalidEffectId;
    /// The id of a transaction, which its client chooses.
    TransactionId by check => InvalidEffectId;
    /// The id of a step of a transaction.
    StepId by check => InvalidEffectId;
}

impl IdempotencyKey {
    /// Creates a key that no other call has: the context, the time, and random digits. Of the context only the first
    /// 70 bytes remain, and `_` replaces characters that a key cannot have.
    ///
    /// ```
    /// use mgp_types::ext::IdempotencyKey;
    ///
    /// let (one, other) = (IdempotencyKey::unique("order 7"), IdempotencyKey::unique("order 7"));
    /// assert!(one.as_str().starts_with("order_7-20") && one != other);
    /// ```
    ///
    /// # Panics
    /// The operating system gives no random bytes.
    pub fn unique(context: &str) -> Self {
        let bytes = context.bytes().take(MAX_CONTEXT_BYTES);
        let context: String =
            bytes.map(|byte| if is_in_ids(byte) { char::from(byte) } else { '_' }).collect();
        Self(format!("{context}-{}-{}", Timestamp::now(), random_name()).into())
    }
}

text_traits!(IdempotencyKey: Serialize, DeserializeFromStr);
text_traits!(TransactionId: Serialize, DeserializeFromStr);
text_traits!(StepId: Serialize, DeserializeFromStr);

fn check(text: &str) -> Result<(), InvalidEffectId> {
    let is_id = (1..=MAX_BYTES).contains(&text.len()) && text.bytes().all(is_in_ids);
    is_id.then_some(()).ok_or(InvalidEffectId)
}

const fn is_in_ids(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.')
}

/// Reads the id that stands under `name` in the metadata of a call.
pub(super) fn id_in<T: DeserializeOwned>(meta: &Object, name: &str) -> Result<Option<T>, Error> {
    meta.get(name).map(|id| id.to()).transpose().map_err(|_| {
        Error::invalid_params(format!(
            "`_meta.{name}` must be a string of 1 to 128 letters, digits or characters of `_-:.`"
        ))
    })
}

/// The HTTP header that can hold the key of a call.
pub const IDEMPOTENCY_HEADER: &str = "x-idempotency-key";

const KEY: &str = "idempotency_key";
const TTL: &str = "idempotency_ttl_seconds";

/// The time in seconds for which a server remembers a key: from one second to a week, a day where the call names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IdempotencyTtl(#[serde(deserialize_with = "nearest_seconds::<604_800, _>")] u32);

impl IdempotencyTtl {
    /// The longest time.
    pub const MAX: Self = Self(604_800);

    /// Returns the time that is nearest to `seconds`.
    pub fn nearest(seconds: i64) -> Self {
        let seconds = seconds.clamp(1, i64::from(Self::MAX.0));
        Self(u32::try_from(seconds).unwrap_or(Self::MAX.0))
    }

    /// Returns the seconds.
    pub const fn seconds(self) -> u32 {
        self.0
    }
}

impl Default for IdempotencyTtl {
    fn default() -> Self {
        Self(86_400)
    }
}

/// The key of a call, in the metadata of its params, and the time for which it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "closed by the specification")]
pub struct IdempotentCall {
    /// The key.
    pub key: IdempotencyKey,
    /// The time for which the server is to remember the key.
    pub ttl: IdempotencyTtl,
}

impl IdempotentCall {
    /// Creates the member for a call with this key, which holds for a day.
    pub fn new(key: IdempotencyKey) -> Self {
        Self { key, ttl: IdempotencyTtl::default() }
    }

    /// Reads the key in the metadata of a call; `None` if the call has none.
    ///
    /// # Errors
    ///
    /// A key or a time of another form is an error for the caller, because a call whose key is overlooked could have its
    /// effect twice.
    pub fn read(meta: &Object) -> Result<Option<Self>, Error> {
        let Some(key) = id_in(meta, KEY)? else { return Ok(None) };
        let ttl = match meta.get(TTL) {
            None => IdempotencyTtl::default(),
            Some(ttl) => ttl.to().map_err(|_| {
                Error::invalid_params("`_meta.idempotency_ttl_seconds` must be a whole number of seconds")
            })?,
        };
        Ok(Some(Self { key, ttl }))
    }

    /// Writes the key into the metadata of a call.
    pub fn write(&self, meta: &mut Object) {
        meta.set(KEY, RawJson::from_text(self.key.as_str()));
        if self.ttl != IdempotencyTtl::default() {
            meta.set(TTL, written(&self.ttl));
        }
    }
}

record! {
    /// The word of a server about the key of a call, in the metadata of the result.
    pub struct IdempotentResult: Eq {
        /// The key.
        plain idempotency_key: IdempotencyKey;
        /// True if the result is that of an earlier call with this key.
        default was_replay: bool;
        /// The moment at which the call was carried out.
        optional original_timestamp: Timestamp;
        /// The time for which the server remembers the key, counted from that moment.
        #[serde(rename = "idempotency_ttl_seconds")]
        optional ttl: IdempotencyTtl;
    }
}

impl IdempotentResult {
    /// Creates the word about a call that was carried out at `original_timestamp`.
    pub fn new(call: &IdempotentCall, was_replay: bool, original_timestamp: Timestamp) -> Self {
        Self {
            idempotency_key: call.key.clone(),
            was_replay,
            original_timestamp: Some(original_timestamp),
            ttl: Some(call.ttl),
        }
    }

    /// Reads the word about the key in the metadata of a result.
    pub fn read(meta: &Object) -> Option<Self> {
        meta.contains(KEY).then(|| meta.to().ok())?
    }

    /// Writes the word about the key into the metadata of a result.
    pub fn write(&self, meta: &mut Object) {
        meta.set_all(&Object::from_value(self).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(json: &str) -> Object {
        Object::parse(json.to_owned()).unwrap()
    }

    #[test]
    fn the_key_of_a_call_is_read_as_it_is_written_and_a_wrong_one_is_refused() {
        let call = IdempotentCall::new("op-1".parse().unwrap());
        let mut written = Object::new();
        call.write(&mut written);
        assert_eq!(written.to_raw().as_bytes(), br#"{"idempotency_key":"op-1"}"#);
        assert_eq!(IdempotentCall::read(&written).unwrap(), Some(call));
        assert_eq!(IdempotentCall::read(&meta("{}")).unwrap(), None);
        for wrong in [r#""a/b""#, r#""""#, "7", "null", r#"["a"]"#] {
            let error =
                IdempotentCall::read(&meta(&format!(r#"{{"idempotency_key":{wrong}}}"#))).unwrap_err();
            assert_eq!(error.code(), -32602, "{wrong}");
        }
    }

    // covers: EXT-05-03
    #[test]
    fn a_key_holds_for_a_day_and_at_most_for_a_week() {
        let ttl = |json: &str| {
            let json = format!(r#"{{"idempotency_key":"k"{json}}}"#);
            IdempotentCall::read(&meta(&json)).map(|call| call.unwrap().ttl.seconds())
        };
        assert_eq!(ttl("").unwrap(), 86_400);
        for (asked, given) in [(60, 60), (0, 1), (-5, 1), (604_800, 604_800), (604_801, 604_800)] {
            assert_eq!(ttl(&format!(r#","idempotency_ttl_seconds":{asked}"#)).unwrap(), given, "{asked}");
        }
        for wrong in ["1.5", r#""60""#, "null"] {
            assert!(ttl(&format!(r#","idempotency_ttl_seconds":{wrong}"#)).is_err(), "{wrong}");
        }
    }

    // covers: EXT-05-07
    #[test]
    fn a_result_tells_of_its_key_as_the_specification_prints_it() {
        let json = concat!(
            r#"{"idempotency_key":"op-2026-03-15-abc123","was_replay":true,"#,
            r#""original_timestamp":"2026-03-15T10:30:00.000Z","idempotency_ttl_seconds":60}"#
        );
        let parsed = IdempotentResult::read(&meta(json)).unwrap();
        assert!(parsed.was_replay);
        let mut written = Object::new();
        parsed.write(&mut written);
        assert_eq!(written.to_raw().as_bytes(), json.as_bytes());
        assert_eq!(IdempotentResult::read(&meta(r#"{"was_replay":true}"#)), None);
        let least = IdempotentResult::read(&meta(r#"{"idempotency_key":"k","more":1}"#)).unwrap();
        assert!(!least.was_replay && least.original_timestamp.is_none());
    }

    #[test]
    fn an_id_has_up_to_128_characters_of_a_small_set() {
        for good in [
            "a",
            "op-2026-03-15-a1b2c3d4",
            "550e8400-e29b-41d4-a716-446655440000",
            "A_:.-9",
            &"x".repeat(128),
        ] {
            assert_eq!(good.parse::<IdempotencyKey>().unwrap().as_str(), good);
            assert!(good.parse::<TransactionId>().is_ok() && good.parse::<StepId>().is_ok());
        }
        for wrong in ["", " ", "a b", "a/b", "é", "a\n", "a\0", &"x".repeat(129)] {
            assert_eq!(wrong.parse::<IdempotencyKey>(), Err(InvalidEffectId), "{wrong:?}");
            assert!(serde_json::from_value::<StepId>(wrong.into()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_unique_key_is_a_key_whatever_its_context() {
        for context in ["", "order 7", &"é/".repeat(100)] {
            let (one, other) = (IdempotencyKey::unique(context), IdempotencyKey::unique(context));
            assert!(check(one.as_str()).is_ok(), "{one}");
            assert_ne!(one, other);
        }
    }
}
