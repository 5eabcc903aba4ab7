//! The walk over all strings of a JSON value.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use mgp_types::RawJson;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::Finding;

/// The position of a string in a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StringPlace<'a> {
    /// The JSON pointer of the string; for the name of a member, the pointer of the member.
    pub(crate) pointer: &'a str,
    /// The name of the innermost member that the string is or stands in. Elements of an array have the name of the
    /// array.
    pub(crate) member: Option<&'a str>,
    /// The part that the string is: a value, or the name of a member.
    pub(crate) part: StringPart,
}

/// The role of a string within a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringPart {
    /// The name of a member.
    Name,
    /// A value.
    Value,
}

/// Passes every string of `value`, at any depth, to `visit`, with its escapes decoded. The name of a member comes
/// before its value.
///
/// The first finding ends the walk. No tree is built, and a string without escapes is not copied. Only one pointer is
/// allocated, which grows to the deepest position.
///
/// # Errors Fails with the first finding of `visit`, or with `unreadable-json` if the value nests deeper than the limit
/// of the parser or holds a number that fits no type: a value that cannot be read cannot be judged.
pub(crate) fn walk(
    value: &RawJson,
    visit: &mut dyn FnMut(StringPlace<'_>, &str) -> Result<(), Finding>,
) -> Result<(), Finding> {
    let mut walker = Walker { visit, pointer: String::new(), finding: None };
    let mut reader = serde_json::Deserializer::from_slice(value.as_bytes());
    match (WalkStep { walker: &mut walker, member: None }).deserialize(&mut reader) {
        Ok(()) => Ok(()),
        Err(_) => Err(walker.finding.unwrap_or_else(|| {
            Finding::new("unreadable-json", "the arguments nest too deeply or hold a number out of range")
        })),
    }
}

struct Walker<'v> {
    visit: &'v mut dyn FnMut(StringPlace<'_>, &str) -> Result<(), Finding>,
    pointer: String,
    /// The finding that ended the walk, since the error of the parser can only carry text.
    finding: Option<Finding>,
}

impl Walker<'_> {
    fn show<E: serde::de::Error>(
        &mut self,
        member: Option<&str>,
        part: StringPart,
        text: &str,
    ) -> Result<(), E> {
        (self.visit)(StringPlace { pointer: &self.pointer, member, part }, text).map_err(|finding| {
            self.finding = Some(finding);
            E::custom("found")
        })
    }

    fn push_name(&mut self, name: &str) {
        self.pointer.push('/');
        for character in name.chars() {
            match character {
                '~' => self.pointer.push_str("~0"),
                '/' => self.pointer.push_str("~1"),
                other => self.pointer.push(other),
            }
        }
    }
}

/// One value to walk, with the member it stands in.
struct WalkStep<'w, 'v> {
    walker: &'w mut Walker<'v>,
    member: Option<&'w str>,
}

impl<'de> DeserializeSeed<'de> for WalkStep<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for WalkStep<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.walker.show(self.member, StringPart::Value, text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let length = self.walker.pointer.len();
        for index in 0_usize.. {
            write!(self.walker.pointer, "/{index}").map_err(A::Error::custom)?;
            let step = WalkStep { walker: &mut *self.walker, member: self.member };
            let more = elements.next_element_seed(step)?.is_some();
            self.walker.pointer.truncate(length);
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let length = self.walker.pointer.len();
        while let Some(MemberName(name)) = members.next_key()? {
            self.walker.push_name(&name);
            self.walker.show::<A::Error>(Some(&name), StringPart::Name, &name)?;
            members.next_value_seed(WalkStep { walker: &mut *self.walker, member: Some(&name) })?;
            self.walker.pointer.truncate(length);
        }
        Ok(())
    }
}

/// The name of a member, borrowed where it has no escapes.
#[derive(Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);
