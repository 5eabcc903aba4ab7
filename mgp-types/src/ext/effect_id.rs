//! The ids that clients give to calls, transactions and steps, so that each is known when it comes again.

use std::str::FromStr;

use crate::macros::text_traits;

const MAX_BYTES: usize = 128;

/// The error of a text that is no id of a call, a transaction or a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id has 1 to 128 letters, digits or characters of `_-:.`")]
pub struct InvalidEffectId;

macro_rules! effect_ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidEffectId;

            fn from_str(text: &str) -> Result<Self, InvalidEffectId> {
                is_id(text).then(|| Self(text.into())).ok_or(InvalidEffectId)
            }
        }

        text_traits!($name: Display, Debug, Serialize, DeserializeFromStr);
    )+};
}

effect_ids! {
    /// The key by which a server knows a call that is made again. A random UUID is a good one.
    ///
    /// ```
    /// use mgp_types::ext::IdempotencyKey;
    ///
    /// assert!("op-2026-03-15-abc123".parse::<IdempotencyKey>().is_ok());
    /// assert!("with space".parse::<IdempotencyKey>().is_err());
    /// ```
    IdempotencyKey;
    /// The id of a transaction, which its client chooses.
    TransactionId;
    /// The id of a step of a transaction.
    StepId;
}

fn is_id(text: &str) -> bool {
    (1..=MAX_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-:.".contains(&byte))
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
