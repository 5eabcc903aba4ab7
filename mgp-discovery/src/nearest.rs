//! The known word that a misspelled one most likely stands for.

/// Returns the word among `known` that was most likely meant by `written`.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A word this long is not mistyped by a letter or two.
    if written.is_empty() || written.len() > LONGEST {
        return None;
    }
    let wanted = letters(written);
    known
        .into_iter()
        .filter_map(|word| {
            let most = word.chars().count().max(3) / 3;
            let distance = distance(&wanted, &letters(word), most);
            (distance <= most).then_some((distance, word))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Returns whether a name could be mistaken for another one: it differs in case, in separators or in one letter.
pub fn looks_like(name: &str, other: &str) -> bool {
    name != other && distance(&letters(name), &letters(other), 1) <= 1
}

const LONGEST: usize = 64;

/// Returns the characters that are compared: in lower case, with all separators the same.
pub(crate) fn letters(name: &str) -> String {
    let alike = |letter: char| {
        if matches!(letter, '.' | '/' | '-' | ' ') { '_' } else { letter.to_ascii_lowercase() }
    };
    name.chars().take(LONGEST).map(alike).collect()
}

/// Returns the number of letters to insert, remove, replace or swap with their neighbour; more than `most` if the lengths
/// differ by more.
pub(crate) fn distance(one: &str, other: &str, most: usize) -> usize {
    if one.chars().count().abs_diff(other.chars().count()) > most {
        return most + 1;
    }
    strsim::osa_distance(one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_a_letter_look_alike() {
        assert!(looks_like("server-f1lesystem", "server-filesystem") && looks_like("a-b", "A_b"));
        assert!(!looks_like("github", "github") && !looks_like("gitlab", "github"));
    }

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let known = ["stdio", "http", "sse", "unix"];
        for (written, meant) in [
            ("studio", Some("stdio")),
            ("htpt", Some("http")),
            ("HTTP", Some("http")),
            ("websocket", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, known), meant, "{written}");
        }
        assert_eq!(nearest("on-failure", ["never", "on_failure"]), Some("on_failure"));
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
        assert_eq!(distance(&"a".repeat(64), &"b".repeat(64), 70), 64);
    }
}
