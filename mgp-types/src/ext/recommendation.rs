//! Recommendations of servers that have a capability.

use serde::{Deserialize, Deserializer};

use crate::macros::record;
use crate::macros::words::words;

words! {
    /// The confidence that a server has the capability.
    MatchConfidence {
        /// The server has it.
        High = "high",
        /// The server probably has it.
        Medium = "medium",
        /// The server may have it.
        Low = "low",
    }
}

impl MatchConfidence {
    /// Returns the word for a number from 0 to 1.
    pub fn of(score: f64) -> Self {
        match score {
            score if score >= 0.67 => Self::High,
            score if score >= 0.34 => Self::Medium,
            _ => Self::Low,
        }
    }
}

record! {
    /// A server that may have a capability. Nothing is connected because of it.
    pub struct ServerRecommendation: Eq {
        /// The capability; in an answer it may be left out, because the question has it.
        #[serde(default)]
        required capability: into Box<str>;
        /// The name of the server.
        #[serde(alias = "server")]
        required server_name: into Box<str>;
        /// The page of the server in a registry.
        optional registry_url: Box<str>;
        /// The way in which a user signs in at the server.
        optional auth_flow: Box<str>;
        /// The confidence.
        #[serde(default, deserialize_with = "confidence", skip_serializing_if = "Option::is_none")]
        required match_confidence: into Option<MatchConfidence>;
    }

    /// The params of `mgp/discovery/recommend`.
    pub struct RecommendServers: Eq {
        /// The capability that is needed, in words.
        required capability_needed: Box<str>;
        /// The most recommendations.
        optional limit: u32;
    }

    /// The result of `mgp/discovery/recommend`.
    pub struct RecommendedServers: Eq {
        /// The capability that was asked for.
        required capability_needed: Box<str>;
        /// The recommendations, the best first.
        required recommendations: Vec<ServerRecommendation>;
    }
}

/// Reads a word, or a number from 0 to 1, as some peers write it.
fn confidence<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MatchConfidence>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Word(MatchConfidence),
    }
    Ok(Option::<Written>::deserialize(deserializer)?.map(|written| match written {
        Written::Number(score) => MatchConfidence::of(score),
        Written::Word(word) => word,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_becomes_one_of_three_words() {
        use MatchConfidence::{High, Low, Medium};
        let words = [1.0, 0.67, 0.66, 0.34, 0.33, -1.0, f64::NAN].map(MatchConfidence::of);
        assert_eq!(words, [High, High, Medium, Medium, Low, Low, Low]);
    }
}
