//! The trust in a server (§2.3).

use crate::macros::words::levels;

levels! {
    /// The trust that a server asks for or has (§2.3).
    ///
    /// A declared level can only lower the level that the operator's configuration grants, so the order is that of trust
    /// and [`stricter`](Self::stricter) chooses between the two.
    ///
    /// ```
    /// use mgp_types::mgp::TrustLevel;
    ///
    /// assert!(TrustLevel::Sandboxed < TrustLevel::Trusted);
    /// assert_eq!(TrustLevel::Standard.stricter(TrustLevel::read("untrusted")), TrustLevel::Sandboxed);
    /// ```
    #[derive(Default)]
    TrustLevel else Sandboxed {
        /// The server is confined as far as possible; also the level of an unknown server or word, because a guess must
        /// not raise trust.
        #[default]
        Sandboxed = "sandboxed",
        /// The server passes the usual checks.
        Standard = "standard",
        /// The server is part of the installation.
        Trusted = "trusted" | "core",
    }
}

impl TrustLevel {
    /// Returns the lower of the two levels.
    pub fn stricter(self, other: Self) -> Self {
        self.min(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_later_drafts_are_read_and_unknown_ones_give_no_trust() {
        assert_eq!(TrustLevel::read("core"), TrustLevel::Trusted);
        for word in ["experimental", "untrusted", "unknown", "", "Trusted", "root"] {
            assert_eq!(TrustLevel::read(word), TrustLevel::Sandboxed, "{word}");
        }
    }

    #[test]
    fn the_stricter_level_wins_whichever_side_says_it() {
        use TrustLevel::{Sandboxed, Standard, Trusted};
        for (a, b, strict) in
            [(Trusted, Standard, Standard), (Standard, Sandboxed, Sandboxed), (Trusted, Trusted, Trusted)]
        {
            assert_eq!(a.stricter(b), strict);
            assert_eq!(b.stricter(a), strict);
        }
        assert_eq!(TrustLevel::default(), Sandboxed);
    }
}
