use std::borrow::Cow;

use mgp_types::RawJson;

use super::compact;
use super::shorten::{Cut, Optional, Schema, clip};

/// What a tool says of itself, at one length.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Form<'a> {
    /// What it does.
    pub(crate) description: Cow<'a, str>,
    /// What it wants.
    pub(crate) schema: RawJson,
    /// Whether it says less than the tool itself does.
    pub(crate) shortened: bool,
}

impl<'a> Form<'a> {
    /// All that the tool says.
    pub(crate) fn whole(description: &'a str, schema: &RawJson) -> Self {
        Self { description: Cow::Borrowed(description), schema: compact::value(schema), shortened: false }
    }

    /// Whether it may take no more than so many tokens; it is not counted.
    pub(crate) fn may_fit(&self, most: u32) -> bool {
        self.length() <= (most as usize).saturating_mul(MOST_BYTES_OF_A_TOKEN)
    }

    fn length(&self) -> usize {
        self.description.len() + self.schema.as_bytes().len()
    }
}

/// The forms of what a tool says of itself, the whole in front and each shorter than the one before.
///
/// First go members that only comment, then words about optional parameters, their inner structure, long lists of
/// values, and optional parameters themselves. Required parameters and their types stay in every form, and no form
/// forbids a call that the whole allows: that is why a long list of values becomes a note, and not a shorter list. Of a
/// schema that refers to places which might go, only comments and words are cut.
#[derive(Debug, Clone)]
pub(crate) struct Forms<'a> {
    description: &'a str,
    schema: &'a RawJson,
    /// Once a shorter form than the whole is asked for.
    read: Option<Schema>,
    cuts: std::slice::Iter<'static, Cut>,
    /// How long the form before was, if there was one.
    length: Option<usize>,
}

impl<'a> Forms<'a> {
    /// The forms of this description and this JSON Schema.
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
        let schema = self.read.get_or_insert_with(|| Schema::read(self.schema));
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

/// Of forms and their sizes, the longest one that is no larger than `liked`; if there is none, the longest one that is
/// no larger than `most`.
pub(crate) fn longest<T>(forms: impl Iterator<Item = (T, u32)>, liked: u32, most: u32) -> Option<(T, u32)> {
    let mut within_most = None;
    for (form, size) in forms {
        if size <= liked {
            return Some((form, size));
        }
        if size <= most && within_most.is_none() {
            within_most = Some((form, size));
        }
    }
    within_most
}

/// From the mildest to the hardest.
const CUTS: [Cut; 12] = [
    COMMENTS,
    Cut { optional_words: 160, ..COMMENTS },
    Cut { optional_words: 80, tool_words: 1200, ..COMMENTS },
    OUTLINES,
    NO_LONG_LISTS,
    Cut { kept_eighths: 4, ..NO_LONG_LISTS },
    Cut { kept_eighths: 2, ..NO_LONG_LISTS },
    Cut { kept_eighths: 1, ..NO_LONG_LISTS },
    Cut { kept_eighths: 0, ..NO_LONG_LISTS },
    NEEDED_ONLY,
    Cut { needed_words: 120, tool_words: 300, ..NEEDED_ONLY },
    Cut { needed_words: 40, tool_words: 120, ..NEEDED_ONLY },
];

const COMMENTS: Cut = Cut {
    tool_words: usize::MAX,
    needed_words: usize::MAX,
    optional_words: usize::MAX,
    optional: Optional::Whole,
    kept_eighths: 8,
    long_lists: true,
};

const OUTLINES: Cut = Cut { optional_words: 80, tool_words: 1200, optional: Optional::Outline, ..COMMENTS };

const NO_LONG_LISTS: Cut = Cut { needed_words: 300, tool_words: 600, long_lists: false, ..OUTLINES };

const NEEDED_ONLY: Cut = Cut { optional: Optional::Gone, kept_eighths: 0, ..NO_LONG_LISTS };

/// Where the cuts begin that leave required parameters only.
const HARD: usize = 8;

/// For a longer one it would take too long to try the mild cuts, and they would not do.
const LONG_SCHEMA: usize = 64 * 1024;

/// Nobody reads a longer one, and it would take long to shorten.
const LONGEST_SCHEMA: usize = 512 * 1024;

/// Text of which a token is longer on average is none that a definition should have.
const MOST_BYTES_OF_A_TOKEN: usize = 16;

#[cfg(test)]
mod tests;
