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

const LONGEST: usize = 64;

/// Returns the characters that are compared: in lower case, with all separators the same.
pub(crate) fn letters(name: &str) -> Vec<u8> {
    let alike =
        |byte: u8| if matches!(byte, b'.' | b'/' | b'-' | b' ') { b'_' } else { byte.to_ascii_lowercase() };
    name.bytes().take(LONGEST).map(alike).collect()
}

/// Returns the number of letters to insert, remove, replace or swap with their neighbour; no more than `most` is counted.
pub(crate) fn distance(a: &[u8], b: &[u8], most: usize) -> usize {
    if a.len().abs_diff(b.len()) > most {
        return most + 1;
    }
    let mut row: [usize; LONGEST + 1] = std::array::from_fn(|place| place);
    // The row before the last one, for letters that are swapped.
    let mut earlier = row;
    let mut least_before = 0;
    for (above, &letter) in (1..).zip(a) {
        let before = std::mem::replace(&mut row, [above; LONGEST + 1]);
        let mut least = above;
        for (place, &other) in (1..).zip(b) {
            let replaced = before[place - 1] + usize::from(letter != other);
            row[place] = replaced.min(before[place] + 1).min(row[place - 1] + 1);
            if above > 1 && place > 1 && letter == b[place - 2] && a[above - 2] == other {
                row[place] = row[place].min(earlier[place - 2] + 1);
            }
            least = least.min(row[place]);
        }
        earlier = before;
        if std::mem::replace(&mut least_before, least).min(least) > most {
            return most + 1;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(distance(&[b'a'; 64], &[b'b'; 64], 70), 64);
    }
}
