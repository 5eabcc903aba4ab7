//! The risk of calling a tool (§4.4), and the effect of a call, by which people are asked about it.

use serde::{Deserialize, Serialize};

use crate::macros::words::levels;

levels! {
    /// The risk of calling a tool (§4.4), in the order of the danger.
    ///
    /// ```
    /// use mgp_types::mgp::RiskLevel;
    ///
    /// assert_eq!(RiskLevel::Safe.max(RiskLevel::read("unheard of")), RiskLevel::Dangerous);
    /// ```
    #[derive(Default)]
    RiskLevel else Dangerous {
        /// The tool only reads: no confirmation.
        Safe = "safe",
        /// The tool writes data, within limits: confirmation is optional.
        Moderate = "moderate",
        /// The tool changes the system or cannot be undone: explicit confirmation or permission. A guess must not lower
        /// the risk, so an unknown word means this, too.
        #[default]
        Dangerous = "dangerous",
    }
}

/// The effect of a call on the world, as its tool and its arguments tell; the worse one is greater.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "whoever decides by effects decides about each")]
pub enum CallEffect {
    /// The call changes nothing.
    #[default]
    Reads,
    /// The call makes something new, or changes something in a way that can be taken back.
    Writes,
    /// Nothing that is known says what the call does.
    Unknown,
    /// The call runs code, a command or a program.
    Runs,
    /// The call sends or publishes something to others.
    Sends,
    /// The call destroys or overwrites something.
    Destroys,
    /// The call spends money, or orders something.
    Spends,
    /// The call gives somebody power or access, or reveals what gives it.
    GivesAccess,
}

impl CallEffect {
    /// The words of all effects, from the least to the worst.
    pub const WORDS: [&str; 8] =
        ["reads", "writes", "unknown", "runs", "sends", "destroys", "spends", "gives_access"];

    /// Returns the word for the effect.
    pub const fn as_str(self) -> &'static str {
        Self::WORDS[self as usize]
    }

    /// Returns the words that say to a person what the call does.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Reads => "changes nothing",
            Self::Writes => "changes something",
            Self::Unknown => "does what its name does not tell",
            Self::Runs => "runs code or a command",
            Self::Sends => "sends or publishes something",
            Self::Destroys => "destroys or overwrites something",
            Self::Spends => "spends money or orders something",
            Self::GivesAccess => "gives or reveals access",
        }
    }

    /// Returns the least risk of such a call.
    pub const fn risk(self) -> RiskLevel {
        match self {
            Self::Reads | Self::Writes | Self::Unknown => RiskLevel::Safe,
            Self::Sends => RiskLevel::Moderate,
            Self::Runs | Self::Destroys | Self::Spends | Self::GivesAccess => RiskLevel::Dangerous,
        }
    }

    /// Returns whether each such call is a matter of its own, so that a permission of its server does not cover it.
    pub const fn is_grave(self) -> bool {
        matches!(self, Self::Sends | Self::Destroys | Self::Spends | Self::GivesAccess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_read_by_its_word_and_a_later_word_is_worse() {
        let effects = CallEffect::WORDS.map(|word| {
            let effect: CallEffect = serde_json::from_str(&format!("{word:?}")).unwrap();
            assert_eq!(effect.as_str(), word);
            effect
        });
        assert!(effects.is_sorted() && effects[7] == CallEffect::GivesAccess, "{effects:?}");
    }
}
