use std::collections::BinaryHeap;

/// The names that are written nearly like `name`, the nearest first; no more than [`MOST`].
pub(super) fn near<'a, T>(
    name: &str,
    known: impl Iterator<Item = (&'a str, &'a str, T)>,
    may_see: impl Fn(T) -> bool,
) -> Vec<&'a str> {
    let wanted = letters(name);
    let most = (wanted.len() / 3).clamp(1, 8);
    let mut nearest: BinaryHeap<(usize, &str)> = BinaryHeap::new();
    for (shown, bare, entry) in known {
        let distance = distance(&wanted, &letters(shown), most).min(distance(&wanted, &letters(bare), most));
        if distance > most || !may_see(entry) {
            continue;
        }
        nearest.push((distance, shown));
        if nearest.len() > MOST {
            nearest.pop();
        }
    }
    nearest.into_sorted_vec().into_iter().map(|(_, shown)| shown).collect()
}

/// What is compared: no case, and all that separates words is the same.
fn letters(name: &str) -> Vec<u8> {
    let alike =
        |byte: u8| if matches!(byte, b'.' | b'/' | b'-' | b' ') { b'_' } else { byte.to_ascii_lowercase() };
    name.bytes().take(LONGEST).map(alike).collect()
}

/// How many letters have to be put in, taken out or replaced; more than `most` is not counted.
fn distance(a: &[u8], b: &[u8], most: usize) -> usize {
    if a.len().abs_diff(b.len()) > most {
        return most + 1;
    }
    let mut row: [usize; LONGEST + 1] = std::array::from_fn(|place| place);
    for (above, &letter) in (1..).zip(a) {
        let mut diagonal = std::mem::replace(&mut row[0], above);
        let mut least = above;
        for (place, &other) in (1..).zip(b) {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[place];
            row[place] = replaced.min(diagonal + 1).min(row[place - 1] + 1);
            least = least.min(row[place]);
        }
        if least > most {
            return most + 1;
        }
    }
    row[b.len()]
}

const MOST: usize = 3;
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Vec<&'static str> {
        let known = [("files.read_file", "read_file"), ("files.read_dir", "read_dir"), ("clock.now", "now")];
        near(name, known.into_iter().map(|(shown, bare)| (shown, bare, shown)), |shown| shown != "clock.now")
    }

    #[test]
    fn slips_are_found_and_the_nearest_comes_first() {
        assert_eq!(found("file.read_file")[0], "files.read_file");
        assert_eq!(found("Read-File")[0], "files.read_file");
        assert_eq!(found("read_di")[0], "files.read_dir");
        assert!(found("send_mail").is_empty() && found("").is_empty());
    }

    #[test]
    fn what_may_not_be_seen_is_not_told() {
        assert!(found("clock.no").is_empty());
    }

    #[test]
    fn names_of_any_length_are_compared() {
        assert!(found(&"x".repeat(100_000)).is_empty());
        assert_eq!(distance(&[b'a'; 64], &[b'b'; 64], 70), 64);
    }
}
