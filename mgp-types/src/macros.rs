//! Macros for traits that many types have in the same form.

/// Implements `Debug` of a type that does not show all its members: it prints the named values and `..`.
///
/// ```
/// struct Pages<S, P> {
///     list: Option<P>,
///     items: Vec<S>,
/// }
///
/// mgp_types::partial_debug!([S, P: Clone] Pages<S, P>, self => at_hand: self.items.len());
///
/// let pages = Pages { list: Some(0), items: vec!["a"] };
/// assert_eq!(format!("{pages:?}"), "Pages { at_hand: 1, .. }");
/// # let _ = pages.list;
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! partial_debug {
    ($([$($generics:tt)*])? $name:ident $(<$($argument:tt),+>)?) => {
        $crate::partial_debug!($([$($generics)*])? $name $(<$($argument),+>)?, self =>);
    };
    (
        $([$($generics:tt)*])? $name:ident $(<$($argument:tt),+>)?,
        $this:ident => $($member:ident: $value:expr),* $(,)?
    ) => {
        impl $(<$($generics)*>)? ::std::fmt::Debug for $name $(<$($argument),+>)? {
            fn fmt(&$this, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($member), &$value))*.finish_non_exhaustive()
            }
        }
    };
}

/// Implements traits of a type that the wire writes as text.
///
/// `Display` and `Serialize` write what `as_str` returns, `Deserialize(read)` gives the text to `read`, which knows no
/// error; `SerializeDisplay` and `DeserializeFromStr` go by the traits in their names.
macro_rules! text_traits {
    ($type:ty: $($trait:ident $(($read:expr))?),+) => {
        $($crate::macros::text_traits!(@$trait $type $(, $read)?);)+
    };
    (@Display $type:ty) => {
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    (@Serialize $type:ty) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
    (@Deserialize $type:ty, $read:expr) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <::std::borrow::Cow<'_, str> as ::serde::Deserialize>::deserialize(deserializer)?;
                Ok($read(&*text))
            }
        }
    };
    (@SerializeDisplay $type:ty) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
    (@DeserializeFromStr $type:ty) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <::std::borrow::Cow<'_, str> as ::serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(::serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use text_traits;
