//! The categories of facts, and the words that tell them.

use std::sync::LazyLock;

/// A category of facts.
#[derive(Debug)]
pub(super) struct Category {
    pub(super) name: &'static str,
    cues: Vec<Cue>,
}

#[derive(Debug)]
enum Cue {
    /// A word, or several in this order.
    Words(&'static str),
    /// A date or a time in digits.
    Date,
    /// A number.
    Digits,
}

/// Returns all categories, the one that decides first.
pub(super) fn categories() -> &'static [Category] {
    static ALL: LazyLock<Vec<Category>> = LazyLock::new(|| {
        let lines = include_str!("categories.txt").lines();
        lines.filter(|line| !line.starts_with('#')).filter_map(Category::read).collect()
    });
    &ALL
}

impl Category {
    fn read(line: &'static str) -> Option<Self> {
        let (name, cues) = line.split_once(':')?;
        let cue = |word: &'static str| match word.trim() {
            "@date" => Cue::Date,
            "@digits" => Cue::Digits,
            words => Cue::Words(words),
        };
        Some(Self { name, cues: cues.split(',').map(cue).collect() })
    }

    /// Returns how sure it is that the sentence states a fact of this category, from 0 to 1; `None` if no word tells it.
    pub(super) fn confidence(&self, sentence: &str) -> Option<f32> {
        let words = words(sentence);
        match self.cues.iter().filter(|cue| cue.is_in(&words)).count() {
            0 => None,
            1 => Some(0.6),
            2 => Some(0.75),
            _ => Some(0.9),
        }
    }
}

impl Cue {
    fn is_in(&self, words: &str) -> bool {
        match self {
            Self::Words(cue) => words.contains(&format!(" {cue} ")),
            Self::Digits => words.split(' ').any(is_number),
            Self::Date => words.split(' ').any(is_date),
        }
    }
}

/// Returns the words in small letters, with one blank around each. Signs within a word stay.
fn words(sentence: &str) -> String {
    let mut words = String::from(" ");
    for word in sentence.split_whitespace() {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        if !word.is_empty() {
            words.push_str(&word.to_lowercase());
            words.push(' ');
        }
    }
    words
}

fn is_number(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Returns whether a word is a date or a time: numbers with `-`, `/` or `:` between them.
fn is_date(word: &str) -> bool {
    let mut numbers = word.split(['-', '/', ':', 't', 'z', '+', '.']).filter(|part| !part.is_empty());
    word.contains(['-', '/', ':'])
        && is_number(word)
        && numbers.all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sentence: &str) -> Vec<&'static str> {
        categories()
            .iter()
            .filter(|category| category.confidence(sentence).is_some())
            .map(|c| c.name)
            .collect()
    }

    #[test]
    fn every_line_of_the_file_is_a_category_with_words() {
        let names: Vec<_> = categories().iter().map(|category| category.name).collect();
        assert_eq!(names, ["decision", "requirement", "problem", "action", "preference", "date", "number"]);
        for category in categories() {
            for cue in &category.cues {
                if let Cue::Words(words) = cue {
                    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter == ' ';
                    assert!(!words.is_empty() && words.chars().all(is_plain), "{}: {words}", category.name);
                }
            }
        }
    }

    #[test]
    fn words_are_compared_as_a_whole() {
        assert_eq!(of("We agreed: no dates."), ["decision"]);
        assert_eq!(of("The mustard is here."), Vec::<&str>::new());
        assert_eq!(of("The server must restart, and needs to be quick."), ["requirement"]);
        assert_eq!(of("It begins at 10:30."), ["date", "number"]);
        assert_eq!(of("Released on 2026-11-22T10:00:00Z"), ["date", "number"]);
        assert_eq!(of("It costs 4.50"), ["number"]);
    }

    #[test]
    fn more_words_make_it_surer() {
        let requirement = &categories()[1];
        let sure = |sentence| requirement.confidence(sentence).unwrap();
        assert!(sure("It must start, and it is required and mandatory.") > sure("It must start."));
    }
}
