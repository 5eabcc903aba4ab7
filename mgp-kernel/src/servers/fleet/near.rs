//! Ids that are written nearly like another one, for messages about unknown servers.

use mgp_types::mgp::ServerId;

/// Returns a few of `known` that are written nearly like `wanted`, the nearest first.
pub(super) fn near<'a>(wanted: &str, known: impl Iterator<Item = &'a ServerId>) -> Vec<ServerId> {
    let wanted: Vec<char> = wanted.chars().take(MAX_CHARS).flat_map(char::to_lowercase).collect();
    let mut near: Vec<_> = known
        .filter_map(|id| {
            let text: Vec<char> = id.as_str().chars().take(MAX_CHARS).flat_map(char::to_lowercase).collect();
            let distance = if !wanted.is_empty() && text.windows(wanted.len()).any(|part| part == wanted) {
                0
            } else {
                distance(&wanted, &text)
            };
            (distance <= wanted.len().div_ceil(3).min(3)).then(|| (distance, id.clone()))
        })
        .collect();
    near.sort();
    near.into_iter().take(MOST).map(|(_, id)| id).collect()
}

/// Returns the number of letters that have to be inserted, deleted or replaced.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, left) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, right) in other.iter().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

const MAX_CHARS: usize = 128;
const MOST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_with_a_slip_are_found_and_others_are_not() {
        let known: Vec<ServerId> = ["files", "github", "tool.terminal"].map(Into::into).into();
        let near = |wanted| near(wanted, known.iter()).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(near("flies"), ["files"]);
        assert_eq!(near("GitHub"), ["github"]);
        assert_eq!(near("terminal"), ["tool.terminal"]);
        assert!(near("weather").is_empty() && near("").is_empty());
    }
}
