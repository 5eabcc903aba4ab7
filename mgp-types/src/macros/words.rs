//! The macros for the sets of words in the specifications.

/// Defines closed sets of words, which are read in any case and ordered as they are listed.
macro_rules! words {
    ($($(#[$attribute:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ })+) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(clippy::exhaustive_enums, reason = "there are no other words")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All words, in order.
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
                let word = <$crate::json::FrameText<'_> as serde::Deserialize>::deserialize(deserializer)?;
                Self::read(&word.0)
                    .ok_or_else(|| serde::de::Error::unknown_variant(&word.0, &[$($word),+]))
            }
        }
    )+};
}
pub(crate) use words;

/// Defines closed sets of words, ordered as they are listed; any other word stands for the value behind `else`.
macro_rules! levels {
    ($($(#[$attribute:meta])* $name:ident else $safe:ident {
        $($(#[$doc:meta])* $variant:ident = $word:literal $(| $alias:literal)*,)+
    })+) => {$(
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $(#[$attribute])*
        #[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            #[doc = concat!("Reads a word; an unknown one stands for [`", stringify!($safe), "`](Self::", stringify!($safe), ").")]
            pub fn read(word: &str) -> Self {
                match word {
                    $($word $(| $alias)* => Self::$variant,)+
                    _ => Self::$safe,
                }
            }

            /// Returns the word that stands for the value on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        $crate::macros::text_traits!($name: Display, Serialize, Deserialize(Self::read));
    )+};
}
pub(crate) use levels;

/// Defines a set of words that newer peers may extend: any other word is data and no error, in the variant behind `or`.
macro_rules! open_words {
    ($(#[$attribute:meta])* pub enum $name:ident { $($variants:tt)* }) => {
        $crate::macros::words::open_words!($(#[$attribute])* pub enum $name or Unknown { $($variants)* });
    };
    (
        $(#[$attribute:meta])*
        pub enum $name:ident or $other:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $word:literal $(| $alias:literal)*,)*
        }
    ) => {
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        $(#[$attribute])*
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_attribute])* $variant,)*
            /// A word that this version does not know.
            $other(Box<str>),
        }

        impl $name {
            /// The words that this version knows, in the order of the specification.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant,)*];

            /// Reads a word.
            pub fn read(word: &str) -> Self {
                match word {
                    $($word $(| $alias)* => Self::$variant,)*
                    _ => Self::$other(word.into()),
                }
            }

            /// Returns the word that stands for the value on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::$other(word) => word,
                }
            }
        }

        $crate::convert!(&str => $name, word => Self::read(word));
        $crate::macros::text_traits!($name: Display, Serialize, Deserialize(Self::read));
    };
}
pub(crate) use open_words;
