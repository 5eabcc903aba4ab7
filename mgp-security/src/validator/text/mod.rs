//! Checks and normalization of text that apply to every tool. The other validators read text only after [`check`] has
//! passed it, so that they read what people and programs see.
//!
//! | item | what it does |
//! |---|---|
//! | [`check`] | refuses characters that hide, reorder or control |
//! | [`fold`] | the plain spelling of compatibility characters (NFKC) |
//! | [`walk`] | visits every string of a JSON value, names of members included |

mod walk;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

pub(crate) use crate::characters::check;
pub(crate) use walk::{StringPart, walk};

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
