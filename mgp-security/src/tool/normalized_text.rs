//! Texts and names of definitions as plain words, so that phrases can be found in them.

use super::lexicon::list;

/// A text in lower case, with single spaces around its words.
#[derive(Debug, Clone, Default)]
pub(super) struct NormalizedText(String);

impl NormalizedText {
    /// Reads the start of `text`; the rest says little about what a thing is.
    pub(super) fn of(text: &str) -> Self {
        let mut out = String::from(" ");
        for character in text.chars().take(MAX_CHARS) {
            if character.is_alphanumeric() {
                out.extend(character.to_lowercase());
            } else if !out.ends_with(' ') {
                out.push(' ');
            }
        }
        if !out.ends_with(' ') {
            out.push(' ');
        }
        Self(out)
    }

    /// Adds words at the end.
    pub(super) fn push(&mut self, words: &[String]) {
        for word in words {
            self.0.push_str(word);
            self.0.push(' ');
        }
    }

    /// Returns the words in order.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split_ascii_whitespace()
    }

    /// Returns whether the text contains one of the phrases of `sign`.
    pub(super) fn says(&self, sign: &str) -> bool {
        list(sign).any(|phrase| self.has(phrase))
    }

    /// Returns whether the text contains the words of `phrase` in a row; a `*` at its end stands for any ending.
    fn has(&self, phrase: &str) -> bool {
        let (phrase, whole) = phrase.strip_suffix('*').map_or((phrase, true), |start| (start, false));
        self.0.match_indices(phrase).any(|(at, found)| {
            let behind = self.0.as_bytes().get(at + found.len());
            at > 0 && self.0.as_bytes()[at - 1] == b' ' && (!whole || behind == Some(&b' '))
        })
    }
}

/// Returns the first sentence of `text`.
pub(super) fn first_sentence(text: &str) -> &str {
    let text = text.trim_start();
    let end = [". ", ".\n", "\n\n"].iter().filter_map(|end| text.find(end)).min();
    &text[..end.unwrap_or(text.len())]
}

/// Returns the description of the argument called `name` in documentation in the style of Python, as in `path (str):
/// The file`.
pub(super) fn documented<'a>(description: &'a str, name: &str) -> Option<&'a str> {
    description.lines().find_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '•', ' ', '`']);
        let rest = line.strip_prefix(name)?.trim_start_matches(['`', '*']);
        let (kind, said) = rest.split_once(':')?;
        let kind = kind.trim();
        (kind.is_empty() || (kind.starts_with('(') && kind.ends_with(')'))).then_some(said.trim())
    })
}

/// The largest number of characters of a text that are read.
const MAX_CHARS: usize = 600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_whole_words() {
        let prose = NormalizedText::of("The absolute path, on the\nserver's File-System.");
        assert!(prose.has("absolute path") && prose.has("file system") && prose.has("serv*"));
        assert!(!prose.has("solute path") && !prose.has("serv"));
    }

    #[test]
    fn docstrings_tell_of_arguments() {
        let text =
            "Reads a value.\n\nArgs:\n    name: The key.\n    path (str, optional): The JSON path: `$`.\n";
        assert_eq!(documented(text, "path"), Some("The JSON path: `$`."));
        assert_eq!(documented(text, "name"), Some("The key."));
        assert_eq!(documented(text, "nam"), None);
        assert_eq!(first_sentence(text), "Reads a value");
    }
}
