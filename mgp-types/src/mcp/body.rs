//! The macro that defines objects of the wire as structs, and the fitting of a body to a revision.

use serde::de::{Error, MapAccess};

use crate::json::FrameText;
use crate::{Id, RawJson, Revision};

/// Defines objects of the wire.
///
/// ```text
/// body! {
///     /// Documentation.
///     pub struct Name("type": "constant") {                 // the tag is optional
///         /// Documentation.
///         required field: Type = "wireName";                // absent: an error
///         /// Documentation.
///         optional field: Type = "wireName" [since V2025_06_18];   // absent or null: None
///         /// Documentation.
///         nullable field: Type = "wireName" => with_field;  // absent: None; null is a value of Type
///     }
/// }
/// ```
///
/// An optional or nullable field can name the method that sets it.
///
/// The struct gets a public `extra` for every other member, `new` with the required fields in order,
/// `Default` if there are none, `Serialize` in the order written here, `Deserialize` that refuses
/// duplicates, and [`ForRevision`](super::ForRevision). The gates of an optional or nullable field:
///
/// * `[since R]`, `[until R]`, `[only R]`: other revisions lack the member;
/// * `[since R, or value]`: and from `R` on it is required, so that fitting fills `value` in;
/// * `[since R, before Q only predicate]`: and revisions before `Q` allow only some values.
///
/// `pub struct Name with meta {` begins with the optional member `_meta`, and `with meta => with_meta` also names the method that sets
/// it. `pub struct Name and meta {` ends with it, and may give it gates as well.
///
/// `pub struct Name, fit by method {` calls `self.method(revision)` before the gates, for changes that no gate can
/// express.
macro_rules! body {
    (@one
        $(#[$attribute:meta])*
        pub struct $name:ident $(($tag:literal : $tag_value:literal))? $(, fit by $hook:ident)? {
            $(
                $(#[$field_attribute:meta])*
                $presence:ident $field:ident: $type:ty = $wire:literal $([$($gate:tt)*])? $(=> $setter:ident)?;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_attribute])* pub $field: $crate::mcp::body::field_type!($presence $type),)*
            /// The members that this type does not name.
            pub extra: $crate::mcp::Extra,
        }

        $crate::mcp::body::constructor!($name [] [] $($presence $field: $type,)*);

        impl $name {
            $($($crate::macros::setter!($field: $type => into $setter);)?)*
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(map.serialize_entry($tag, $tag_value)?;)?
                $($crate::mcp::body::write_field!($presence map $wire self.$field);)*
                self.extra.write_into(&mut map)?;
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct BodyVisitor;

                impl<'de> serde::de::Visitor<'de> for BodyVisitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object (", stringify!($name), ")"))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<Self::Value, A::Error> {
                        $(let mut $field = None;)*
                        $(let mut tag: Option<&'static str> = { let _: &str = $tag; None };)?
                        let mut extra = $crate::mcp::Extra::new();
                        while let Some(name) = map.next_key::<$crate::json::FrameText<'de>>()? {
                            match &*name.0 {
                                $($tag => $crate::mcp::body::read_tag(&mut tag, $tag, $tag_value, &mut map)?,)?
                                $($wire => $crate::mcp::body::read_field(&mut $field, $wire, &mut map)?,)*
                                other => extra.push_unchecked(other, map.next_value()?),
                            }
                        }
                        extra.refuse_duplicate()?;
                        $(tag.ok_or_else(|| serde::de::Error::missing_field($tag))?;)?
                        Ok($name {
                            $($field: $crate::mcp::body::finish_field!($presence $field $wire),)*
                            extra,
                        })
                    }
                }

                deserializer.deserialize_map(BodyVisitor)
            }
        }

        impl $crate::mcp::shape::Shaped for $name {
            fn shape() -> $crate::mcp::shape::Shape {
                const MEMBERS: &[$crate::mcp::shape::Member] = &[
                    $($crate::mcp::shape::Member {
                        name: $tag,
                        shape: <String as $crate::mcp::shape::Shaped>::shape,
                    },)?
                    $($crate::mcp::shape::Member {
                        name: $wire,
                        shape: <$type as $crate::mcp::shape::Shaped>::shape,
                    },)*
                ];
                $crate::mcp::shape::Shape::Object(MEMBERS)
            }
        }

        impl $crate::mcp::ForRevision for $name {
            #[allow(unused_variables, reason = "an object may have no members of its own")]
            fn fit(&mut self, revision: $crate::Revision) {
                $(self.$hook(revision);)?
                $(
                    $($crate::mcp::body::gate!(self.$field, revision, $($gate)*);)?
                    $crate::mcp::ForRevision::fit(&mut self.$field, revision);
                )*
            }
        }
    };
    ($(
        $(#[$attribute:meta])*
        pub struct $name:ident $(with $meta:ident $(=> $setter:ident)?)?
            $(and $last:ident $([$($gate:tt)*])? $(=> $last_setter:ident)?)?
            $(($tag:literal : $tag_value:literal))? $(, fit by $hook:ident)? { $($fields:tt)* }
    )+) => {$(
        $crate::mcp::body::body! { @one
            $(#[$attribute])*
            pub struct $name $(($tag: $tag_value))? $(, fit by $hook)? {
                $(
                    /// Metadata.
                    optional $meta: $crate::mcp::Meta = "_meta" $(=> $setter)?;
                )?
                $($fields)*
                $(
                    /// Metadata.
                    optional $last: $crate::mcp::Meta = "_meta" $([$($gate)*])? $(=> $last_setter)?;
                )?
            }
        }
    )+};
}

/// The type of a field in the struct.
macro_rules! field_type {
    (required $type:ty) => { $type };
    (optional $type:ty) => { Option<$type> };
    (nullable $type:ty) => { Option<$type> };
}

/// Writes one field unless it is absent.
macro_rules! write_field {
    (required $map:ident $wire:literal $($field:tt)*) => {
        $map.serialize_entry($wire, &$($field)*)?
    };
    ($presence:ident $map:ident $wire:literal $($field:tt)*) => {
        if let Some(value) = &$($field)* {
            $map.serialize_entry($wire, value)?;
        }
    };
}

/// Turns the value that was read into the field.
macro_rules! finish_field {
    (required $slot:ident $wire:literal) => {
        $slot.ok_or_else(|| serde::de::Error::missing_field($wire))?
    };
    (optional $slot:ident $wire:literal) => {
        $slot.flatten()
    };
    (nullable $slot:ident $wire:literal) => {
        $slot
    };
}

/// Leaves a field out of, or fills it in for, a revision.
macro_rules! gate {
    ($self:ident.$field:ident, $revision:ident, $bound:ident $at:ident) => {
        if !$crate::mcp::method::revisions!($bound $at).contains(&$revision) {
            $self.$field = None;
        }
    };
    ($self:ident.$field:ident, $revision:ident, since $since:ident, or $value:expr) => {
        if $revision < $crate::Revision::$since {
            $self.$field = None;
        } else {
            $self.$field.get_or_insert_with(|| $value);
        }
    };
    ($self:ident.$field:ident, $revision:ident, since $since:ident, before $before:ident only $allowed:expr) => {
        if $revision < $crate::Revision::$since {
            $self.$field = None;
        } else if $revision < $crate::Revision::$before {
            $self.$field = $self.$field.take().filter($allowed);
        }
    };
}

/// Writes `new`, whose arguments are the required fields, by walking over all fields.
macro_rules! constructor {
    ($name:ident [] [$($init:tt)*]) => {
        impl $name {
            /// Creates the value without any member.
            pub const fn new() -> Self {
                Self { $($init)* extra: $crate::mcp::Extra::new() }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }
    };
    ($name:ident [$($argument:ident: $argument_type:ty,)+] [$($init:tt)*]) => {
        impl $name {
            /// Creates the value with the members that are always required.
            pub fn new($($argument: impl Into<$argument_type>),+) -> Self {
                Self { $($init)* extra: $crate::mcp::Extra::new() }
            }
        }
    };
    ($name:ident [$($arguments:tt)*] [$($init:tt)*] required $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::mcp::body::constructor!(
            $name [$($arguments)* $field: $type,] [$($init)* $field: $field.into(),] $($rest)*
        );
    };
    ($name:ident [$($arguments:tt)*] [$($init:tt)*] $presence:ident $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::mcp::body::constructor!($name [$($arguments)*] [$($init)* $field: None,] $($rest)*);
    };
}

/// Defines the params and the result of a method that returns a list page by page.
macro_rules! pages {
    ($method:literal: $params:ident, $result:ident, $(#[$doc:meta])* $items:ident: $type:ty = $wire:literal) => {
        $crate::mcp::body::body! {
            #[doc = concat!("The params of `", $method, "`.")]
            pub struct $params with meta => with_meta {
                /// The cursor of the wanted page; absent for the first one.
                optional cursor: String = "cursor" => with_cursor;
            }

            #[doc = concat!("The result of `", $method, "`.")]
            pub struct $result {
                /// The kind of result; absent means complete.
                optional result_type: $crate::mcp::ResultType = "resultType"
                    [since V2026_07_28, or $crate::mcp::ResultType::Complete];
                $(#[$doc])*
                required $items: $type = $wire;
                /// The cursor of the next page; absent on the last one.
                optional next_cursor: String = "nextCursor" => with_next_cursor;
                /// The time in milliseconds for which the result stays fresh.
                optional ttl_ms: i64 = "ttlMs" [since V2026_07_28, or 0] => with_ttl_ms;
                /// The audience that may share the cached result.
                optional cache_scope: $crate::mcp::CacheScope = "cacheScope"
                    [since V2026_07_28, or $crate::mcp::CacheScope::Private] => with_cache_scope;
                /// Metadata.
                optional meta: $crate::mcp::Meta = "_meta" => with_meta;
            }
        }
    };
}

pub(super) use {body, constructor, field_type, finish_field, gate, pages, write_field};

/// Reads the value of a member into its slot, which must still be empty.
pub(super) fn read_field<'de, T: serde::Deserialize<'de>, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *slot = Some(map.next_value()?);
    Ok(())
}

/// Reads the member that names the kind of the object, and checks that the object is of the expected kind.
pub(super) fn read_tag<'de, A: MapAccess<'de>>(
    slot: &mut Option<&'static str>,
    name: &'static str,
    expected: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    let value: FrameText<'de> = map.next_value()?;
    if value.0 != expected {
        return Err(A::Error::custom(format_args!("field `{name}` is not `{expected}`")));
    }
    *slot = Some(expected);
    Ok(())
}

/// A body that can be made legal for an older or newer revision.
///
/// Fitting removes members that the revision does not define, fills in required members that have a default, and
/// replaces content types that the revision lacks by a text block that says so. Members that no revision defines stay.
pub trait ForRevision {
    /// Fits the value to `revision` in place. A value that is the same in every revision stays as it is.
    fn fit(&mut self, revision: Revision) {
        let _ = revision;
    }

    /// Returns the value fitted to `revision`.
    #[must_use]
    fn for_revision(mut self, revision: Revision) -> Self
    where
        Self: Sized,
    {
        self.fit(revision);
        self
    }
}

/// Makes types bodies without members of their own, which are the same in every revision.
macro_rules! plain {
    ($($name:ty),* $(,)?) => {$(
        impl $crate::mcp::ForRevision for $name {}

        impl $crate::mcp::shape::Shaped for $name {}
    )*};
}
pub(super) use plain;

plain!(String, Box<str>, bool, i64, Id, RawJson);

impl<T: ForRevision> ForRevision for Option<T> {
    fn fit(&mut self, revision: Revision) {
        if let Some(value) = self {
            value.fit(revision);
        }
    }
}

impl<T: ForRevision> ForRevision for Vec<T> {
    fn fit(&mut self, revision: Revision) {
        for value in self {
            value.fit(revision);
        }
    }
}

impl<T: ForRevision> ForRevision for Box<T> {
    fn fit(&mut self, revision: Revision) {
        (**self).fit(revision);
    }
}
