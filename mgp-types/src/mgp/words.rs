//! The macros for the sets of words in the specifications.

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

        $crate::macros::text_traits!($name: Display, Serialize);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <std::borrow::Cow<'_, str> as serde::Deserialize>::deserialize(deserializer)?;
                Self::read(&word).ok_or_else(|| serde::de::Error::custom(concat!("unknown ", stringify!($name))))
            }
        }
    };
}
pub(crate) use words;

/// Defines a set of words that newer peers may extend: any other word is `Unknown`, which is data and no error.
macro_rules! open_words {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $word:literal $(| $alias:literal)*,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_attribute])* $variant,)*
            /// A word that this version does not know.
            Unknown(Box<str>),
        }

        impl $name {
            /// Returns the word that stands for the value on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Unknown(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word $(| $alias)* => Self::$variant,)*
                    _ => Self::Unknown(word.into()),
                }
            }
        }

        $crate::macros::text_traits!($name: Display);
    };
}
pub(crate) use open_words;
