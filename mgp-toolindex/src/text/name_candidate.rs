//! Names of tools in queries.

use super::analysis::cut;
use super::everyday::is_function_word;
use super::fold::fold;
use super::script::Script;

/// The bytes of a name that are compared.
const LONGEST_NAME: usize = 64;

const LONGEST_READ: usize = 2048;

/// Returns a name in the form in which names are compared: separators and capitals do not matter, so that `read_file`,
/// `readFile` and "read file" are one.
pub(crate) fn joined(name: &str) -> String {
    let mut folded = String::new();
    fold(cut(name, LONGEST_READ), &mut folded);
    let letters = folded.chars().filter(|c| !matches!(Script::of(*c), Script::Gap | Script::Apostrophe));
    let mut joined: String = letters.flat_map(char::to_lowercase).collect();
    joined.truncate(joined.floor_char_boundary(LONGEST_NAME));
    joined
}

/// A part of a query that may be the name of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NameCandidate {
    /// The possible name, [`joined`].
    pub(crate) name: String,
    /// The certainty that this is meant as a name: its share of the query, or 1 if it is spelled as names of programs
    /// are.
    pub(crate) sure: f32,
    /// Set if a similar name may be meant.
    pub(crate) roughly: bool,
}

/// The share of a query below which a part is not meant as a name.
const LEAST_SHARE: f32 = 0.3;

const MAX_SPELLED: usize = 4;

/// The number of words in a name at most.
const LONGEST_RUN: usize = 5;

const MAX_WORDS: usize = 24;

/// Returns the parts of a query that may be names of tools, each once, the surest first.
pub(crate) fn called(text: &str) -> Vec<NameCandidate> {
    let parts = |c: char| c.is_whitespace() || ",;\"'`()[]{}".contains(c);
    let words = cut(text, LONGEST_READ).split(parts).filter(|word| word.contains(char::is_alphanumeric));
    let words: Vec<&str> = words.take(MAX_WORDS).collect();
    let says: Vec<bool> = words.iter().map(|word| !is_function_word(&word.to_lowercase())).collect();
    let all = says.iter().filter(|says| **says).count();
    let mut found: Vec<NameCandidate> = Vec::new();
    let mut add = |name: &str, sure: f32, roughly: bool| {
        let name = joined(name);
        if !name.is_empty() && !found.iter().any(|called| called.name == name) {
            found.push(NameCandidate { name, sure, roughly });
        }
    };
    if words.len() <= LONGEST_RUN {
        add(&words.concat(), 1.0, true);
    }
    for word in words.iter().filter(|word| is_spelled_as_name(word)).take(MAX_SPELLED) {
        add(word, 1.0, true);
    }
    for length in (1..=LONGEST_RUN.min(words.len())).rev() {
        for start in 0..=words.len() - length {
            let said = says[start..start + length].iter().filter(|says| **says).count();
            #[expect(clippy::cast_precision_loss, reason = "few words")]
            let share = said as f32 / all.max(1) as f32;
            if share >= LEAST_SHARE && says[start] && says[start + length - 1] {
                add(&words[start..start + length].concat(), share, false);
            }
        }
    }
    found.sort_by(|a, b| b.sure.total_cmp(&a.sure));
    found
}

/// Returns whether a word is spelled as in a program: `read_file`, `readFile`, `files.read`.
fn is_spelled_as_name(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    let mut pairs = inner.chars().zip(inner.chars().skip(1));
    let camel = pairs.any(|(before, c)| before.is_lowercase() && c.is_uppercase());
    let dotted =
        inner.split('.').filter(|part| part.len() > 1 && part.contains(char::is_alphabetic)).count() > 1;
    inner.contains('_') || dotted || camel && inner.starts_with(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surest(text: &str) -> (String, f32) {
        let called = called(text).into_iter().next().unwrap();
        (called.name, called.sure)
    }

    #[test]
    fn spellings_of_a_name_are_one() {
        for name in ["read_file", "readFile", "Read-File", "read file", "ＲｅａｄＦｉｌｅ"] {
            assert_eq!(joined(name), "readfile");
        }
        assert_eq!(joined("_-. "), "");
        assert_eq!(joined(&"é".repeat(5000)).len(), LONGEST_NAME);
    }

    #[test]
    fn what_is_spelled_as_a_name_is_surely_one() {
        assert_eq!(
            surest("please open it with read_file for me, the one that reads"),
            ("readfile".into(), 1.0)
        );
        assert_eq!(
            surest("use github.createIssue when a build breaks again and again"),
            ("githubcreateissue".into(), 1.0)
        );
    }

    #[test]
    fn words_in_a_sentence_are_a_name_as_far_as_they_are_the_sentence() {
        let found = called("send an email");
        assert!(found.contains(&NameCandidate { name: "sendanemail".into(), sure: 1.0, roughly: true }));
        assert!(found.contains(&NameCandidate { name: "email".into(), sure: 0.5, roughly: false }));
        let found =
            called("we would like to know how the weather in Paris will be for the whole of next week");
        assert!(found.iter().all(|called| called.sure < 1.0));
    }

    #[test]
    fn any_text_gives_few_names() {
        assert!(called("").is_empty());
        assert!(called("?! \u{0}\u{202e}").is_empty());
        assert!(called(&"read_file ".repeat(10_000)).len() < 10);
        let many: Vec<String> = (0..10_000).map(|n| format!("w{n}")).collect();
        assert!(called(&many.join(" ")).len() < 100);
    }
}
