//! The manner of a tool: whether it reads, writes or destroys.

use mgp_types::Object;

use super::lexicon::MANNERS;
use super::normalized_text::NormalizedText;
use super::words::words;

/// The manner of a tool, as its name tells; the first telling word decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameManner {
    Reads,
    Writes,
    Destroys,
    Unclear,
}

impl NameManner {
    /// Returns the manner that the name of a tool tells.
    pub(crate) fn of(name: &str) -> Self {
        words(name).iter().find_map(|word| Self::of_word(word)).unwrap_or(Self::Unclear)
    }

    /// Returns the manner that the name of a tool tells, or else the verb at the start of its description.
    pub(super) fn of_tool(definition: &Object) -> Self {
        match Self::of(&definition.text("name").unwrap_or_default()) {
            Self::Unclear => {
                let description = NormalizedText::of(&definition.text("description").unwrap_or_default());
                description.words().take(MAX_BEFORE_VERB).find_map(Self::of_verb).unwrap_or(Self::Unclear)
            }
            told => told,
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        MANNERS.iter().find(|(_, known)| known.has(word)).map(|(manner, _)| *manner)
    }

    /// Returns the manner of a verb in any of its forms: `delete`, `deletes`, `deleting`.
    fn of_verb(word: &str) -> Option<Self> {
        let stems = ["", "s", "es", "ing"].into_iter().filter_map(|ending| word.strip_suffix(ending));
        let mut stems = stems.flat_map(|stem| [stem.to_owned(), format!("{stem}e")]);
        stems.find_map(|stem| Self::of_word(&stem))
    }
}

/// The number of words at the start of a description that are searched for its verb.
const MAX_BEFORE_VERB: usize = 6;
