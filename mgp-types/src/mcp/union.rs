//! The macros that define open enums of the wire: of strings, and of objects told apart by one member.

use std::borrow::Cow;

use serde::de::Error as _;
use serde_json::value::RawValue;

use crate::json::{FrameText, JsonError, Scanner};

/// Defines an enum over bodies that share a member naming the kind of the body.
///
/// ```text
/// union! {
///     /// Documentation.
///     pub enum Name by "type" {                                   // or: by "mode" else "form", or: by fn kind_of
///         /// Documentation.
///         Variant(Body) = "constant",
///         /// Documentation.
///         Newer(Body) = "constant" [since V2025_03_26],           // fitting calls `Self::left_out`
///     }
/// }
/// ```
///
/// With `by fn` a function tells the kind of an object, which is a `RawValue`.
///
/// An object of another kind is kept as it came, in `Unknown`. The value is read from a borrowed slice, so it can be
/// read from bytes or text in memory and not from a reader.
macro_rules! union {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident by $tag:literal $(else $default:literal)? { $($variants:tt)* }
    ) => {
        $crate::mcp::union::union! {
            $(#[$attribute])*
            pub enum $name by fn (|object| {
                $crate::mcp::union::tag_of(object, $tag, <[&str]>::first(&[$($default)?]).copied())
            }) { $($variants)* }
        }
    };
    (
        $(#[$attribute:meta])*
        pub enum $name:ident by fn $kind_of:tt {
            $(
                $(#[$variant_attribute:meta])*
                $variant:ident($body:ty) = $value:literal $([since $since:ident])?,
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_attribute])* $variant($body),)*
            /// An object of a kind that no revision known here defines.
            Unknown($crate::RawJson),
        }

        $($crate::convert!($body => $name, body => Self::$variant(body));)*

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use serde::de::Error as _;
                let object = <&'de serde_json::value::RawValue>::deserialize(deserializer)?;
                let kind: std::borrow::Cow<'_, str> = $kind_of(object).map_err(D::Error::custom)?.into();
                match &*kind {
                    $($value => serde_json::from_str(object.get()).map(Self::$variant),)*
                    _ => serde_json::from_str(object.get()).map(Self::Unknown),
                }
                .map_err(D::Error::custom)
            }
        }

        impl $crate::mcp::shape::Shaped for $name {
            fn shape() -> $crate::mcp::shape::Shape {
                const KINDS: &[fn() -> $crate::mcp::shape::Shape] =
                    &[$(<$body as $crate::mcp::shape::Shaped>::shape),*];
                $crate::mcp::shape::Shape::AnyOf(KINDS)
            }
        }

        impl $crate::mcp::ForRevision for $name {
            fn fit(&mut self, revision: $crate::Revision) {
                $($(
                    if matches!(self, Self::$variant(_)) && revision < $crate::Revision::$since {
                        *self = self.left_out(revision);
                        return;
                    }
                )?)*
                match self {
                    $(Self::$variant(body) => $crate::mcp::ForRevision::fit(body, revision),)*
                    Self::Unknown(_) => {}
                }
            }
        }
    };
}
pub(super) use union;

/// Returns the text of the member `name` of an object; `default` if the member is missing or `null`.
pub(super) fn tag_of<'de>(
    object: &'de RawValue,
    name: &'static str,
    default: Option<&'static str>,
) -> Result<Cow<'de, str>, serde_json::Error> {
    let tag = match leading_tag(object.get(), name) {
        Some(tag) => Some(Cow::Borrowed(tag)),
        None => match member(object.get(), name).map_err(serde_json::Error::custom)? {
            Some(tag) => serde_json::from_slice::<Option<FrameText<'_>>>(tag)?.map(|tag| tag.0),
            None => None,
        },
    };
    tag.or_else(|| default.map(Cow::Borrowed)).ok_or_else(|| serde_json::Error::missing_field(name))
}

/// Returns the text of the member `name` if the object starts with it, as most objects do; the rest is not read then.
fn leading_tag<'de>(object: &'de str, name: &str) -> Option<&'de str> {
    let rest = object.strip_prefix('{')?.trim_ascii_start().strip_prefix('"')?;
    let rest = rest.strip_prefix(name)?.strip_prefix('"')?.trim_ascii_start().strip_prefix(':')?;
    let (tag, _) = rest.trim_ascii_start().strip_prefix('"')?.split_once('"')?;
    (!tag.contains('\\')).then_some(tag)
}

/// Returns the JSON of the member `name` of an object, which must not have two members of a name.
fn member<'de>(object: &'de str, name: &str) -> Result<Option<&'de [u8]>, JsonError> {
    let mut scanner = Scanner::of_checked(object.as_bytes());
    scanner.start()?;
    let (mut members, mut found) = (scanner.open_object()?, None);
    while let Some(key) = scanner.next_key(&mut members)? {
        let value = scanner.value()?;
        if *scanner.name(&key) == *name.as_bytes() {
            found = Some(scanner.slice(&value));
        }
    }
    Ok(found)
}

/// Defines [open sets of words](crate::macros::words::open_words) that stand in the bodies of MCP.
macro_rules! open_enum {
    ($($(#[$attribute:meta])* pub enum $name:ident { $($variants:tt)* })+) => {$(
        $crate::macros::words::open_words!($(#[$attribute])* pub enum $name { $($variants)* });
        $crate::mcp::body::plain!($name);
    )+};
}
pub(super) use open_enum;

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(object: &str) -> String {
        let object: &RawValue = serde_json::from_str(object).unwrap();
        tag_of(object, "type", Some("none")).unwrap().into_owned()
    }

    #[test]
    fn tag_is_found_wherever_it_stands() {
        assert_eq!(tag(r#"{ "type" : "text" , "a":1}"#), "text");
        assert_eq!(tag(r#"{"a":{"type":"inner"},"type":"outer"}"#), "outer");
        assert_eq!(tag(r#"{"type":"te\u0078t"}"#), "text");
    }

    #[test]
    fn object_without_tag_has_none() {
        assert_eq!(tag(r#"{"types":"text"}"#), "none");
        assert_eq!(tag("{}"), "none");
        assert_eq!(tag(r#"{"type":null}"#), "none");
    }
}
