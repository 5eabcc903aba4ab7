//! The risk of calling a tool (§4.4).

use serde::Serialize;

use crate::macros::text_traits;

/// The risk of calling a tool (§4.4), in the order of the danger.
///
/// ```
/// use mgp_types::mgp::RiskLevel;
///
/// assert_eq!(RiskLevel::Safe.max(RiskLevel::read("unheard of")), RiskLevel::Dangerous);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskLevel {
    /// The tool only reads: no confirmation.
    Safe,
    /// The tool writes data, within limits: confirmation is optional.
    Moderate,
    /// The tool changes the system or cannot be undone: explicit confirmation or permission.
    Dangerous,
}

impl RiskLevel {
    /// Reads a level; an unknown word is [`Dangerous`](Self::Dangerous), because a guess must not lower the risk.
    pub fn read(word: &str) -> Self {
        match word {
            "safe" => Self::Safe,
            "moderate" => Self::Moderate,
            _ => Self::Dangerous,
        }
    }

    /// Returns the word that stands for the value on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Moderate => "moderate",
            Self::Dangerous => "dangerous",
        }
    }
}

text_traits!(RiskLevel: Display, Deserialize(Self::read));

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-4.3-01
    #[test]
    fn the_three_levels_are_read_as_they_are_written_and_others_are_dangerous() {
        for (level, json) in [
            (RiskLevel::Safe, r#""safe""#),
            (RiskLevel::Moderate, r#""moderate""#),
            (RiskLevel::Dangerous, r#""dangerous""#),
        ] {
            assert_eq!(serde_json::to_string(&level).unwrap(), json);
            assert_eq!(serde_json::from_str::<RiskLevel>(json).unwrap(), level);
        }
        assert_eq!(serde_json::from_str::<RiskLevel>(r#""SAFE""#).unwrap(), RiskLevel::Dangerous);
    }
}
