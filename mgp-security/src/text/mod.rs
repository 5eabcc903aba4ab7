//! Checks and normalization of text that apply to every tool. The other validators read text only after [`check`] has
//! passed it, so that they read what people and programs see.
//!
//! | item | what it does |
//! |---|---|
//! | [`check`] | refuses characters that hide, reorder or control |
//! | [`fold`] | the plain spelling of compatibility characters (NFKC) |
//! | [`walk`] | visits every string of a JSON value, names of members included |

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write as _;

use mgp_types::RawJson;
use serde_json::Value;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use crate::Finding;
pub(crate) use crate::characters::check;

/// Returns the text with every compatibility character in its plain form: `ｒｍ` becomes `rm`, `①` becomes `1`.
///
/// This is NFKC normalization. It is for comparing and for matching patterns, never for forwarding: a tool gets the
/// text as it was written. Text that is in this form already, like all ASCII, is not copied.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfkc().collect())
    }
}

/// The position of a string in a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StringPlace<'a> {
    /// The JSON pointer of the string; for the name of a member, the pointer of the member.
    pub(crate) pointer: &'a str,
    /// The name of the innermost member that the string is or stands in. Elements of an array have the name of the
    /// array.
    pub(crate) member: Option<&'a str>,
    /// True if the string is the name of a member, and not a value.
    pub(crate) is_name: bool,
}

/// Reads a value for [`walk`].
///
/// # Errors
/// Fails if the value nests deeper than the limit of the parser or holds a number that fits no type: a value that
/// cannot be read cannot be judged.
pub(crate) fn read(value: &RawJson) -> Result<Value, Finding> {
    let why = "the arguments nest too deeply or hold a number out of range";
    value.to().map_err(|_| Finding::new("unreadable-json", why))
}

/// Passes every string of `value`, at any depth, to `visit`. The name of a member comes before its value.
///
/// # Errors
/// Fails with the first finding of `visit`, which ends the walk.
pub(crate) fn walk(
    value: &Value,
    visit: &mut dyn FnMut(StringPlace<'_>, &str) -> Result<(), Finding>,
) -> Result<(), Finding> {
    step(value, None, &mut String::new(), visit)
}

fn step(
    value: &Value,
    member: Option<&str>,
    pointer: &mut String,
    visit: &mut dyn FnMut(StringPlace<'_>, &str) -> Result<(), Finding>,
) -> Result<(), Finding> {
    let length = pointer.len();
    match value {
        Value::String(text) => visit(StringPlace { pointer, member, is_name: false }, text)?,
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let _ = write!(pointer, "/{index}");
                step(element, member, pointer, visit)?;
                pointer.truncate(length);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                pointer.push('/');
                if name.contains(['~', '/']) {
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                } else {
                    pointer.push_str(name);
                }
                visit(StringPlace { pointer, member: Some(name), is_name: true }, name)?;
                step(value, Some(name), pointer, visit)?;
                pointer.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}
