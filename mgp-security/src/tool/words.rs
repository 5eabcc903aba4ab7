//! Splitting of names into words.

/// Returns the words of a name like `filePath`, `file-path` or `FILE_PATH`, in lower case.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    let mut characters = name.chars().take(MAX_NAME).peekable();
    while let Some(character) = characters.next() {
        let begins = match previous {
            // A word starts at a capital, as in `filePath`; in `URLPath`, the last capital of the run belongs to the
            // next word.
            Some(before) if character.is_uppercase() => {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && characters.peek().is_some_and(|next| next.is_lowercase()))
            }
            _ => false,
        };
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

/// The largest number of characters of a name that are read; longer texts are no names.
const MAX_NAME: usize = 256;

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
        assert!(words("--").is_empty());
    }
}
