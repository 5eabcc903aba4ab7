//! What text may consist of, whichever tool it goes to: every other validator reads text only after [`check`]
//! has let it through, so that what it reads is what people and programs see.
//!
//! | item | what it does |
//! |---|---|
//! | [`check`] | refuses characters that hide, reorder or control |
//! | [`fold`] | the plain spelling of compatibility characters (NFKC) |
//! | [`walk`] | visits every string of a JSON value, names of members included |

mod characters;
mod script;
mod walk;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

pub(crate) use characters::check;
pub(crate) use walk::{StringPart, walk};

/// The text with every compatibility character in its plain spelling: `ｒｍ` becomes `rm`, `①` becomes `1`.
///
/// This is NFKC. It is for comparing and for matching patterns, never for passing on: a tool gets the text as it
/// was written. Nothing is copied if the text is in that form already, as all ASCII is.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfkc().collect())
    }
}
