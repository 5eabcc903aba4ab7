//! The ids that clients give to calls, transactions and steps, so that each is known when it comes again.

use serde::de::DeserializeOwned;

use crate::macros::{checked_texts, text_traits};
use crate::{Error, Object};

const MAX_BYTES: usize = 128;

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

text_traits!(IdempotencyKey: Serialize, DeserializeFromStr);
text_traits!(TransactionId: Serialize, DeserializeFromStr);
text_traits!(StepId: Serialize, DeserializeFromStr);

fn check(text: &str) -> Result<(), InvalidEffectId> {
    let is_id = (1..=MAX_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-:.".contains(&byte));
    is_id.then_some(()).ok_or(InvalidEffectId)
}

/// Reads the id that stands under `name` in the metadata of a call.
pub(super) fn id_in<T: DeserializeOwned>(meta: &Object, name: &str) -> Result<Option<T>, Error> {
    meta.get(name).map(|id| id.to()).transpose().map_err(|_| {
        Error::invalid_params(format!(
            "`_meta.{name}` must be a string of 1 to 128 letters, digits or characters of `_-:.`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: EXT-05-02
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
}
