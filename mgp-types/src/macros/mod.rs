//! Macros for traits that many types have in the same form.

pub(crate) mod services;
pub(crate) mod words;

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

/// Defines a struct with the default of each field.
///
/// ```
/// mgp_types::with_defaults! {
///     /// The limits of a queue.
///     #[derive(Debug)]
///     pub struct QueueLimits {
///         /// The number of entries at most.
///         pub entries: usize = 64,
///         bytes: u64 = 1 << 20,
///     }
/// }
///
/// let limits = QueueLimits::default();
/// assert_eq!((limits.entries, limits.bytes), (64, 1 << 20));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! with_defaults {
    (
        $(#[$about:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$doc:meta])* $shown:vis $field:ident: $type:ty = $default:expr,)+
        }
    ) => {
        $(#[$about])*
        $visibility struct $name {
            $($(#[$doc])* $shown $field: $type,)+
        }

        impl ::std::default::Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }
    };
}

/// Implements `Display` or `Debug` by what `write!` writes.
///
/// ```
/// struct Place(&'static str, u32);
///
/// mgp_types::write_as!(Display of Place, self => "{}, line {}", self.0, self.1);
///
/// assert_eq!(Place("notes", 3).to_string(), "notes, line 3");
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! write_as {
    ($trait:ident of $type:ty, $this:ident => $($text:tt)+) => {
        impl ::std::fmt::$trait for $type {
            fn fmt(&$this, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::write!(f, $($text)+)
            }
        }
    };
}

/// Implements `From` by an expression. A doc comment in front of the types is that of the method.
///
/// ```
/// struct Seconds(u64);
///
/// mgp_types::convert!(u32 => Seconds, seconds => Self(seconds.into()));
///
/// assert_eq!(Seconds::from(3).0, 3);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! convert {
    ($(#[$doc:meta])* $from:ty => $to:ty, $value:ident => $converted:expr) => {
        impl From<$from> for $to {
            $(#[$doc])*
            fn from($value: $from) -> Self {
                $converted
            }
        }
    };
}

/// Defines methods that take a value, change it and return it.
///
/// Each is written as a function without its receiver, then `=>` and the change. `self` has to be named in front, since
/// a macro cannot lend its own. `#[must_use]` in front of that counts for all the methods.
///
/// ```
/// #[derive(Default)]
/// struct Greeting {
///     name: String,
///     is_loud: bool,
/// }
///
/// impl Greeting {
///     mgp_types::setters! { self =>
///         /// Sets whom it greets.
///         pub fn name(name: impl Into<String>) => self.name = name.into();
///
///         /// Says it loudly.
///         pub fn loud() => self.is_loud = true;
///     }
/// }
///
/// let greeting = Greeting::default().name("Ada").loud();
/// assert_eq!((greeting.name.as_str(), greeting.is_loud), ("Ada", true));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    (
        #[must_use] $this:ident =>
        $($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),*) => $change:expr;)+
    ) => {
        $crate::setters! { $this =>
            $($(#[$attribute])* #[must_use] $visibility fn $name($($argument: $type),*) => $change;)+
        }
    };
    (
        $this:ident =>
        $($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),*) => $change:expr;)+
    ) => {$(
        $(#[$attribute])*
        $visibility fn $name(mut $this $(, $argument: $type)*) -> Self {
            $change;
            $this
        }
    )+};
}

/// Implements traits of a type that the wire writes as text.
///
/// `Display`, `Debug` and `Serialize` write what `as_str` returns, `Deserialize(read)` gives the text to `read`, which
/// knows no error; `SerializeDisplay` and `DeserializeFromStr` go by the traits in their names.
macro_rules! text_traits {
    ($type:ty: $($trait:ident $(($read:expr))?),+) => {
        $($crate::macros::text_traits!(@$trait $type $(, $read)?);)+
    };
    (@Display $type:ty) => {
        $crate::write_as!(Display of $type, self => "{}", self.as_str());
    };
    (@Debug $type:ty) => {
        $crate::write_as!(Debug of $type, self => "{:?}", self.as_str());
    };
    (@DebugAsDisplay $type:ty) => {
        $crate::write_as!(Debug of $type, self => "{}", self);
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
                let text = <$crate::json::FrameText<'_> as ::serde::Deserialize>::deserialize(deserializer)?;
                Ok($read(&*text.0))
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
                let text = <$crate::json::FrameText<'_> as ::serde::Deserialize>::deserialize(deserializer)?;
                text.0.parse().map_err(::serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use text_traits;

/// Defines texts that are checked when they are read: `check(text)` returns the error of a text that is none.
macro_rules! checked_texts {
    ($($(#[$doc:meta])* $name:ident by $check:expr => $error:ty;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(::std::sync::Arc<str>);

        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                $check(text).map(|()| Self(text.into()))
            }
        }

        $crate::macros::text_traits!($name: Display, Debug);
    )+};
}
pub(crate) use checked_texts;

/// Defines the method that sets an optional field: `setter!(field: Type => with_field)`; `into with_field` takes
/// `impl Into<Type>`, and `optional with_field` an `Option<Type>`.
macro_rules! setter {
    ($field:ident: $type:ty => into $setter:ident) => {
        $crate::macros::setter!(@define $field [impl Into<$type>] $setter Some($field.into()));
    };
    ($field:ident: $type:ty => optional $setter:ident) => {
        $crate::macros::setter!(@define $field [Option<$type>] $setter $field);
    };
    ($field:ident: $type:ty => $setter:ident) => {
        $crate::macros::setter!(@define $field [$type] $setter Some($field));
    };
    (@define $field:ident [$($argument:tt)*] $setter:ident $value:expr) => {
        #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
        #[must_use]
        pub fn $setter(mut self, $field: $($argument)*) -> Self {
            self.$field = $value;
            self
        }
    };
}
pub(crate) use setter;

/// Defines objects of the wire that are the same in every version.
///
/// ```text
/// record! {
///     /// Documentation.
///     pub struct Name: Eq, Default {          // further traits to derive
///         required field: Type;               // an argument of `new`; absent: an error
///         required field: into Type;          // the argument is `impl Into<Type>`
///         optional field: Type;               // an `Option`; left out if it is `None`
///         optional field: Type => with_field; // the method that sets it; `into with_field` takes `impl Into<Type>`
///         nullable field: Type;               // an `Option`; written as null if it is `None`
///         list field: Type;                   // a `Vec`; left out if it is empty
///         flag field;                         // a `bool`; left out if it is false
///         default field: Type;                // absent: the type's default
///         plain field: Type;                  // absent: an error; `new` begins with the type's default
///         plain field: Type = value;          // absent: an error; `new` begins with this value
///     }
/// }
/// ```
///
/// The struct gets `new` with the required fields in order, if there are any, and both directions of serde, which heed
/// further `#[serde]` attributes of a field. `pub struct Name shows field, other {` prints only these fields in `Debug`,
/// and `shows by_hand` leaves `Debug` to another `impl`;
/// `pub struct Name as exhaustive {` can be written member by member in other crates.
macro_rules! record {
    ($(
        $(#[$attribute:meta])*
        pub struct $name:ident $(as $open:ident)? $(shows $($shown:ident),+)? $(: $($trait:ident),+)? {
            $($fields:tt)*
        }
    )+) => {$(
        $crate::macros::record!(
            @struct $name [$($open)?] [$($($shown)+)?] [$(#[derive($($trait),+)])? $(#[$attribute])*] $($fields)*
        );
    )+};
    (@struct $n:ident [] $shown:tt [$($attribute:tt)*] $($fields:tt)*) => {
        $crate::macros::record!(@struct $n [marked] $shown [#[non_exhaustive] $($attribute)*] $($fields)*);
    };
    (@struct $n:ident [exhaustive] $shown:tt [$($attribute:tt)*] $($fields:tt)*) => {
        $crate::macros::record!(@struct $n [marked] $shown
            [#[expect(clippy::exhaustive_structs, reason = "declared so")] $($attribute)*] $($fields)*);
    };
    (@struct $n:ident [marked] [] [$($attribute:tt)*] $($fields:tt)*) => {
        $crate::macros::record!(@read $n [#[derive(Debug)] $($attribute)*] [] [] [] [] $($fields)*);
    };
    (@struct $n:ident [marked] [by_hand] $attributes:tt $($fields:tt)*) => {
        $crate::macros::record!(@read $n $attributes [] [] [] [] $($fields)*);
    };
    (@struct $n:ident [marked] [$($shown:ident)+] $attributes:tt $($fields:tt)*) => {
        $crate::partial_debug!($n, self => $($shown: self.$shown),+);
        $crate::macros::record!(@read $n $attributes [] [] [] [] $($fields)*);
    };
    (@read $n:ident $a:tt $f:tt $g:tt $i:tt $m:tt
        $(#[$doc:meta])* required $field:ident: into $type:ty; $($rest:tt)*) => {
        $crate::macros::record!(@add $n $a $f $g $i $m
            [$(#[$doc])* pub $field: $type,] [$field: impl Into<$type>,] [$field: $field.into(),] [] $($rest)*);
    };
    (@read $n:ident $a:tt $f:tt $g:tt $i:tt $m:tt
        $(#[$doc:meta])* required $field:ident: $type:ty; $($rest:tt)*) => {
        $crate::macros::record!(@add $n $a $f $g $i $m
            [$(#[$doc])* pub $field: $type,] [$field: $type,] [$field,] [] $($rest)*);
    };
    (@read $n:ident $a:tt $f:tt $g:tt $i:tt $m:tt
        $(#[$doc:meta])* optional $field:ident: $($type:tt)*) => {
        $crate::macros::record!(@option $n $a $f $g $i $m
            [$(#[$doc])* #[serde(default, skip_serializing_if = "Option::is_none")]] $field: $($type)*);
    };
    (@read $n:ident $a:tt $f:tt $g:tt $i:tt $m:tt
        $(#[$doc:meta])* nullable $field:ident: $($type:tt)*) => {
        $crate::macros::record!(@option $n $a $f $g $i $m [$(#[$doc])*] $field: $($type)*);
    };
    (@read $n:ident $a:tt $f:tt $g:tt $i:tt $m:tt
        $(#[$doc:meta])* list $field:ident: $type:ty; $($rest:tt)*) => {
        $crate::macros::record!(@read $n $a $f $g $i $m
            $(#[$doc])* #[serde(skip_serializing_if = "Vec::is_empty")] default $field: Vec<$type>; $($rest)*);
    };
    (@read $n:ident $a:tt $f:tt $g:tt $i:tt $m:tt
        $(#[$doc:meta])* flag $field:ident; $($rest:tt)*) => {
        $crate::macros::record!(@read $n $a $f $g $i $m
            $(#[$doc])* #[serde(skip_serializing_if = "std::ops::Not::not")] default $field: bool; $($rest)*);
    };
    (@read $n:ident $a:tt $f:tt $g:tt $i:tt $m:tt
        $(#[$doc:meta])* default $field:ident: $type:ty; $($rest:tt)*) => {
        $crate::macros::record!(@read $n $a $f $g $i $m $(#[$doc])* #[serde(default)] plain $field: $type; $($rest)*);
    };
    (@read $n:ident $a:tt $f:tt $g:tt $i:tt $m:tt
        $(#[$doc:meta])* plain $field:ident: $type:ty; $($rest:tt)*) => {
        $crate::macros::record!(@read $n $a $f $g $i $m $(#[$doc])* plain $field: $type = Default::default(); $($rest)*);
    };
    (@read $n:ident $a:tt $f:tt $g:tt $i:tt $m:tt
        $(#[$doc:meta])* plain $field:ident: $type:ty = $value:expr; $($rest:tt)*) => {
        $crate::macros::record!(@add $n $a $f $g $i $m
            [$(#[$doc])* pub $field: $type,] [] [$field: $value,] [] $($rest)*);
    };
    (@option $n:ident $a:tt $f:tt $g:tt $i:tt $m:tt [$($doc:tt)*]
        $field:ident: $type:ty $(=> $($setter:ident)+)?; $($rest:tt)*) => {
        $crate::macros::record!(@add $n $a $f $g $i $m [$($doc)* pub $field: Option<$type>,] [] [$field: None,]
            [$($crate::macros::setter!($field: $type => $($setter)+);)?] $($rest)*);
    };
    (@add $n:ident $a:tt [$($f:tt)*] [$($g:tt)*] [$($i:tt)*] [$($m:tt)*]
        [$($field:tt)*] [$($argument:tt)*] [$($init:tt)*] [$($method:tt)*] $($rest:tt)*) => {
        $crate::macros::record!(@read $n $a [$($f)* $($field)*] [$($g)* $($argument)*] [$($i)* $($init)*]
            [$($m)* $($method)*] $($rest)*);
    };
    (@read $n:ident [$($attribute:tt)*] [$($field:tt)*] $g:tt $i:tt $m:tt) => {
        #[derive(Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        $($attribute)*
        pub struct $n {
            $($field)*
        }

        $crate::macros::record!(@methods $n $g $i $m);
    };
    (@methods $n:ident [] $i:tt []) => {};
    (@methods $n:ident [] $i:tt [$($method:tt)*]) => {
        impl $n {
            $($method)*
        }
    };
    (@methods $n:ident [$($argument:tt)+] [$($init:tt)*] [$($method:tt)*]) => {
        impl $n {
            /// Creates the object with the members that it always has.
            pub fn new($($argument)+) -> Self {
                Self { $($init)* }
            }

            $($method)*
        }
    };
}
pub(crate) use record;
