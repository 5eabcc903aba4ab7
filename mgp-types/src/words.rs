//! The words of names, and lists of words in text files beside the rules that use them.

use std::collections::HashMap;

/// Returns the words of a name like `filePath`, `file-path` or `FILE_PATH`, in lower case.
pub fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    let mut characters = name.chars().take(MAX_NAME_CHARS).peekable();
    while let Some(character) = characters.next() {
        // A word starts at a capital, as in `filePath`; in `URLPath`, the last capital of the run belongs to the next
        // word.
        let begins = character.is_uppercase()
            && previous.is_some_and(|before| {
                !before.is_uppercase() || characters.peek().is_some_and(|next| next.is_lowercase())
            });
        if (begins || !character.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        previous = Some(character);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The lists of words of a file, by their headings.
pub type WordLists = HashMap<&'static str, Vec<&'static str>>;

/// Returns the lists of a file, in which each has a heading in brackets, and commas between its words.
pub fn word_lists(file: &'static str) -> WordLists {
    let sections = file.split("\n[").skip(1).filter_map(|section| section.split_once("]\n"));
    let words = |list: &'static str| list.split(',').map(str::trim).collect();
    sections.map(|(heading, list)| (heading, words(list))).collect()
}

/// The largest number of characters of a name that are read; longer texts are no names.
const MAX_NAME_CHARS: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_convention_fall_into_the_same_words() {
        for name in ["filePath", "file_path", "file-path", "FILE_PATH", "FilePath", "file.path"] {
            assert_eq!(words(name), ["file", "path"], "{name}");
        }
        assert_eq!(words("baseURLPath"), ["base", "url", "path"]);
        assert_eq!(words("sha256Sum"), ["sha256", "sum"]);
        assert_eq!(words("读Write"), ["读", "write"], "letters without case end at a capital, too");
        assert!(words("--").is_empty());
    }
}
