//! The macro for tables of the file and the words in them.

/// Defines tables whose keys may all be left out, and the words that keys have as values.
///
/// A key that is left out has the value after its `=`, or the default of its type. Words are written in snake case. The
/// traits after a name are derived, too.
///
/// ```text
/// tables! {
///     /// Documentation.
///     pub struct Name: Debug, Eq {
///         /// Documentation.
///         pub key: bool = true,
///     }
///
///     /// Documentation.
///     pub enum Word: Default {
///         /// Documentation.
///         #[default]
///         Usual,
///     }
/// }
/// ```
macro_rules! tables {
    ($($(#[$($attribute:tt)*])* pub $kind:ident $name:ident $(: $($trait:ident),+)? { $($body:tt)* })+) => {$(
        $crate::config::model::tables::tables! {
            @$kind [$(#[derive($($trait),+)])? $(#[$($attribute)*])*] $name { $($body)* }
        }
    )+};
    (@struct [$($attribute:tt)*] $name:ident {
        $($(#[$($about:tt)*])* pub $key:ident: $type:ty $(= $value:expr)?,)+
    }) => {
        #[derive(Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        $($attribute)*
        #[serde(default)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$($about)*])* pub $key: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $crate::config::model::tables::tables!(@value $($value)?),)+ }
            }
        }
    };
    (@enum [$($attribute:tt)*] $name:ident { $($body:tt)* }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[derive(::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        $($attribute)*
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum $name {
            $($body)*
        }
    };
    (@value $value:expr) => {
        $value
    };
    (@value) => {
        Default::default()
    };
}
pub(super) use tables;
