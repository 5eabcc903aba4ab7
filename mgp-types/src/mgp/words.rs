//! The macro for the closed sets of words in the specification.

/// Defines a closed set of words, which are read in any case and ordered as they are listed.
macro_rules! words {
    ($(#[$attribute:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All words, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Reads a word in any case; returns `None` for any other word.
            pub fn read(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str().eq_ignore_ascii_case(word))
            }

            /// Returns the word that stands for the value on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <std::borrow::Cow<'_, str> as serde::Deserialize>::deserialize(deserializer)?;
                Self::read(&word).ok_or_else(|| serde::de::Error::custom(concat!("unknown ", stringify!($name))))
            }
        }
    };
}
pub(super) use words;
