//! The forms of a definition, from the full one to the shortest.

use std::borrow::Cow;

use mgp_types::RawJson;

use super::shorten::{OptionalParameters, ShortenLevel, ShortenableSchema, clip};

/// The description and the schema of a tool, at one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form<'a> {
    /// The description.
    pub(crate) description: Cow<'a, str>,
    /// The schema of the arguments.
    pub(crate) schema: RawJson,
    /// Set if the form is shorter than the tool's own definition.
    pub(crate) shortened: bool,
}

/// The bytes of a token on average, at most; longer ones do not occur in definitions.
const MAX_BYTES_OF_A_TOKEN: usize = 16;

impl<'a> Form<'a> {
    /// Creates the full form.
    pub(crate) fn whole(description: &'a str, schema: &RawJson) -> Self {
        Self { description: Cow::Borrowed(description), schema: schema.compact(), shortened: false }
    }

    /// Returns whether the form may take no more than `most` tokens, without counting.
    pub(crate) fn may_fit(&self, most: u32) -> bool {
        self.length() <= (most as usize).saturating_mul(MAX_BYTES_OF_A_TOKEN)
    }

    fn length(&self) -> usize {
        self.description.len() + self.schema.as_bytes().len()
    }
}

/// The forms of a tool's description and schema, the full one first and each shorter than the one before.
///
/// Members that only comment are cut first, then words about optional parameters, their inner structure, long lists of
/// values, and optional parameters themselves. Required parameters and their types stay in every form, and no form
/// forbids a call that the full one allows: that is why a long list of values becomes a note, and not a shorter list.
/// Of a schema that refers to places which might be cut, only comments and words are cut.
#[derive(Debug, Clone)]
pub(crate) struct Forms<'a> {
    description: &'a str,
    schema: &'a RawJson,
    /// The parsed schema, once a shorter form is asked for.
    read: Option<ShortenableSchema>,
    cuts: std::slice::Iter<'static, ShortenLevel>,
    /// The length of the previous form, if there was one.
    length: Option<usize>,
}

/// The length of a schema in bytes from which on it is not shortened: no model reads a longer one, and shortening would
/// take long.
const LONGEST_SCHEMA: usize = 512 * 1024;

/// The length of a schema in bytes from which on mild cuts are skipped: they would take too long, and would not do.
const LONG_SCHEMA: usize = 64 * 1024;

/// The index of the first cut that leaves required parameters only.
const HARD: usize = 8;

/// The cuts, from the mildest to the hardest.
const CUTS: [ShortenLevel; 12] = [
    COMMENTS,
    ShortenLevel { optional_words: 160, ..COMMENTS },
    ShortenLevel { optional_words: 80, tool_words: 1200, ..COMMENTS },
    OUTLINES,
    NO_LONG_LISTS,
    ShortenLevel { kept_eighths: 4, ..NO_LONG_LISTS },
    ShortenLevel { kept_eighths: 2, ..NO_LONG_LISTS },
    ShortenLevel { kept_eighths: 1, ..NO_LONG_LISTS },
    ShortenLevel { kept_eighths: 0, ..NO_LONG_LISTS },
    NEEDED_ONLY,
    ShortenLevel { needed_words: 120, tool_words: 300, ..NEEDED_ONLY },
    ShortenLevel { needed_words: 40, tool_words: 120, ..NEEDED_ONLY },
];

impl<'a> Forms<'a> {
    /// Returns the forms of this description and this JSON Schema.
    pub(crate) fn of(description: &'a str, schema: &'a RawJson) -> Self {
        let first = match schema.as_bytes().len() {
            length if length > LONGEST_SCHEMA => CUTS.len(),
            length if length > LONG_SCHEMA => HARD,
            _ => 0,
        };
        let cuts = &CUTS[first..];
        Self { description, schema, read: None, cuts: cuts.iter(), length: None }
    }
}

impl<'a> Iterator for Forms<'a> {
    type Item = Form<'a>;

    fn next(&mut self) -> Option<Form<'a>> {
        let Some(length) = self.length else {
            let whole = Form::whole(self.description, self.schema);
            self.length = Some(whole.length());
            return Some(whole);
        };
        let schema = self.read.get_or_insert_with(|| ShortenableSchema::read(self.schema));
        let shorter = self.cuts.by_ref().map(|cut| Form {
            description: clip(self.description, cut.tool_words),
            schema: schema.shorten(cut),
            shortened: true,
        });
        let form = shorter.into_iter().find(|form| form.length() < length)?;
        self.length = Some(form.length());
        Some(form)
    }
}

/// Returns the longest form of no more than `liked` tokens; if there is none, the longest one of no more than `most`.
/// `size` returns the tokens of a form.
pub(crate) fn longest<T>(
    forms: impl Iterator<Item = T>,
    size: impl Fn(&T) -> u32,
    liked: u32,
    most: u32,
) -> Option<T> {
    let mut within_most = None;
    for form in forms {
        let size = size(&form);
        if size <= liked {
            return Some(form);
        }
        if size <= most {
            within_most.get_or_insert(form);
        }
    }
    within_most
}

const COMMENTS: ShortenLevel = ShortenLevel {
    tool_words: usize::MAX,
    needed_words: usize::MAX,
    optional_words: usize::MAX,
    optional: OptionalParameters::Whole,
    kept_eighths: 8,
    long_lists: true,
};

const OUTLINES: ShortenLevel =
    ShortenLevel { optional_words: 80, tool_words: 1200, optional: OptionalParameters::Outline, ..COMMENTS };
const NO_LONG_LISTS: ShortenLevel =
    ShortenLevel { needed_words: 300, tool_words: 600, long_lists: false, ..OUTLINES };
const NEEDED_ONLY: ShortenLevel =
    ShortenLevel { optional: OptionalParameters::Gone, kept_eighths: 0, ..NO_LONG_LISTS };

#[cfg(test)]
mod tests;
