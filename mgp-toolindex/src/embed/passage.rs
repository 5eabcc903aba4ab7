//! The text of a tool that is embedded, and its hash.

use mgp_types::mgp::ToolHints;
use sha2::{Digest as _, Sha256};

use super::Embedder;

/// The text of a tool that is embedded: the words of its server's name, of its own name, and its description.
///
/// Many tools leave out the server's name. The server's description is not in the text: it would make all its tools
/// alike. A server may write texts of any length, so that the passage ends after a few hundred words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passage {
    text: String,
}

/// The hash of an embedded text, under which its vector is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassageHash([u8; 32]);

/// The prefix of every hash; it changes whenever texts or vectors are made in another way.
const RECIPE: &[u8] = b"mgp passage 1\0";

impl Passage {
    /// Returns the text of the tool `name` of `server`.
    pub(crate) fn of(server: &str, name: &str, description: &str) -> Self {
        let mut text = String::new();
        push_words(&mut text, server);
        push_words(&mut text, name);
        push_text(&mut text, description);
        Self { text }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(crate) fn hash(&self) -> PassageHash {
        PassageHash(Sha256::new_with_prefix(RECIPE).chain_update(&self.text).finalize().into())
    }
}

impl PassageHash {
    /// Returns the SHA-256 digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Returns the vector that a server sends with a tool; `None` if there is none.
///
/// The vector is scaled to length 1, and no other check is possible: a server can still send the direction of frequent
/// queries, and no look at one vector tells that from an honest one. Therefore such vectors are ignored unless the
/// settings trust them.
pub(crate) fn sent_along(
    hints: &ToolHints,
    embedder: &dyn Embedder,
) -> Option<Result<Vec<f32>, UnusableVector>> {
    if hints.embedding.is_empty() {
        return None;
    }
    let vector = if hints.embedder.as_deref() != Some(embedder.id()) {
        Err(UnusableVector::AnotherEmbedder)
    } else if hints.embedding.len() != embedder.dimension() {
        Err(UnusableVector::WrongLength)
    } else {
        unit(&hints.embedding).ok_or(UnusableVector::NoDirection)
    };
    Some(vector)
}

/// The reason why a sent vector is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnusableVector {
    #[error("the embedder in use did not make the vector")]
    AnotherEmbedder,
    #[error("the dimension of the vector differs from that of the embedder in use")]
    WrongLength,
    #[error("the numbers of the vector are not finite, or all of them are zero")]
    NoDirection,
}

/// Returns the vector of length 1 in the same direction, unless there is no direction.
pub(crate) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    // In 64 bits the squares of all finite numbers have a sum.
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if !length.is_finite() || length < f64::from(f32::MIN_POSITIVE) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "no part is longer than the whole, which is one")]
    Some(vector.iter().map(|x| (f64::from(*x) / length) as f32).collect())
}

const MOST_NAME_CHARS: usize = 128;

/// Appends the words of a name for programs: `readFile_v2` becomes `read File v2`.
fn push_words(out: &mut String, name: &str) {
    let mut before = ' ';
    let mut letters = name.chars().take(MOST_NAME_CHARS).peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_alphanumeric() {
            before = ' ';
            continue;
        }
        let ends_capitals = before.is_uppercase()
            && letter.is_uppercase()
            && letters.peek().is_some_and(|next| next.is_lowercase());
        let begins = before == ' ' || (letter.is_uppercase() && !before.is_uppercase()) || ends_capitals;
        if begins && !out.is_empty() {
            out.push(' ');
        }
        out.push(letter);
        before = letter;
    }
}

const MOST_BYTES: usize = 2048;

/// The number of words of a passage; sentence encoders read no further.
const MOST_WORDS: usize = 256;

fn push_text(out: &mut String, text: &str) {
    let mut left = MOST_BYTES;
    for word in text.split_whitespace().take(MOST_WORDS) {
        // Some languages write without spaces: there a word is as long as a text.
        let mut fits = word.len().min(left);
        while !word.is_char_boundary(fits) {
            fits -= 1;
        }
        if fits == 0 {
            return;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word[..fits]);
        left -= fits;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::embed::hashed_words::HashedWords;

    #[test]
    fn names_are_split_into_words() {
        let passage = Passage::of("tool.HTTPServer", "readFile_v2", "Reads  a\nfile");
        assert_eq!(passage.text(), "tool HTTP Server read File v2 Reads a file");
    }

    #[test]
    fn texts_of_any_length_are_cut() {
        let words = Passage::of("y", "x", &"word ".repeat(100_000));
        assert!(words.text().split(' ').count() <= MOST_WORDS + 2);
        let no_spaces = Passage::of("y", "x", &"読".repeat(100_000));
        assert!(no_spaces.text().len() < 4096 && no_spaces.text().ends_with('読'));
    }

    #[test]
    fn other_texts_have_another_hash() {
        let hash = |server, name| Passage::of(server, name, "").hash();
        assert_eq!(hash("a", "b"), hash("a", "b"));
        assert_ne!(hash("a", "b"), hash("b", "a"));
    }

    // covers: MGP-16.4-09
    #[test]
    fn a_vector_that_is_sent_along_is_used_only_if_it_fits() {
        let embedder = HashedWords::new(2);
        let hints = |embedding: &[f32], embedder: &str| {
            let mut hints = ToolHints::default();
            hints.embedding = embedding.to_vec();
            hints.embedder = Some(embedder.into());
            hints
        };
        let sent = |hints: &ToolHints| sent_along(hints, &embedder);
        assert_eq!(sent(&ToolHints::default()), None);
        assert_eq!(sent(&hints(&[1e30, 0.0], embedder.id())), Some(Ok(vec![1.0, 0.0])));
        assert_eq!(sent(&hints(&[1.0, 0.0], "another")), Some(Err(UnusableVector::AnotherEmbedder)));
        assert_eq!(sent(&hints(&[1.0], embedder.id())), Some(Err(UnusableVector::WrongLength)));
        assert_eq!(sent(&hints(&[f32::NAN, 1.0], embedder.id())), Some(Err(UnusableVector::NoDirection)));
        assert_eq!(sent(&hints(&[0.0, 0.0], embedder.id())), Some(Err(UnusableVector::NoDirection)));
    }

    proptest! {
        #[test]
        fn whatever_a_server_writes_becomes_a_short_text(
            server in ".*", name in ".*", description in "(?s).{0,4000}",
        ) {
            prop_assert!(Passage::of(&server, &name, &description).text().len() < 8192);
        }

        #[test]
        fn a_direction_is_as_long_as_one_or_is_none(vector in prop::collection::vec(any::<f32>(), 0..20)) {
            if let Some(unit) = unit(&vector) {
                let length: f32 = unit.iter().map(|x| x * x).sum();
                prop_assert!((length - 1.0).abs() < 1e-3, "{length}");
            }
        }
    }
}
