//! Wire enums that a newer peer may extend.

/// Defines an enum of strings with an `Unknown` arm, so that a value from a newer peer is data and no error.
macro_rules! open_enum {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $text:literal,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_attribute])* $variant,)*
            /// A value that no revision known here defines.
            Unknown(Box<str>),
        }

        impl $name {
            /// Returns the value as the wire writes it.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Unknown(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    other => Self::Unknown(other.into()),
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
                let text: $crate::mcp::map::Name<'de> = serde::Deserialize::deserialize(deserializer)?;
                Ok(Self::from(&*text))
            }
        }

        $crate::mcp::for_revision::same_in_every_revision!($name);
        $crate::mcp::shape::opaque!($name);
    };
}
pub(super) use open_enum;
