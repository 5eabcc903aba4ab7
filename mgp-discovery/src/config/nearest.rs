//! The known word that a misspelled one most likely stands for.

const LONGEST: usize = 64;

/// Returns the word among `known` that was most likely meant by `written`.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A word this long is not mistyped by a letter or two, and the distance takes the product of both lengths.
    if written.is_empty() || written.len() > LONGEST {
        return None;
    }
    let written = written.to_lowercase().replace('-', "_");
    known
        .into_iter()
        .filter(|word| word.len() <= LONGEST)
        .map(|word| (distance(&written, &word.to_lowercase().replace('-', "_")), word))
        .filter(|(distance, word)| *distance <= word.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Returns the number of letters to add, remove, replace or swap with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
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
    }
}
