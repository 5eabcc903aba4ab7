use mgp_types::mgp::ToolHints;
use sha2::{Digest as _, Sha256};

use super::Embedder;

/// The texts of a tool that are embedded, the fuller one behind the plainer one.
///
/// Of both together one vector is made: [`Passages::vector`]. What a server wrote is as long as the server likes, so
/// each text ends after a few hundred words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passages {
    texts: [String; 2],
}

/// What tells one [`Passages`] from all others. Vectors are kept under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassagesHash([u8; 32]);

impl Passages {
    /// The texts of the tool `name` of `server`.
    ///
    /// The words of the server are in only one of them: they help where many servers have tools that are alike, and
    /// drown a tool that says little of itself.
    pub(crate) fn of(name: &str, description: &str, server: &str, server_description: &str) -> Self {
        let mut plain = String::new();
        push_words(&mut plain, name);
        push_text(&mut plain, description, MOST_WORDS, MOST_BYTES);
        let mut full = String::new();
        push_words(&mut full, server);
        push_text(&mut full, server_description, MOST_SERVER_WORDS, MOST_SERVER_BYTES);
        if !full.is_empty() && !plain.is_empty() {
            full.push(' ');
        }
        full.push_str(&plain);
        Self { texts: [plain, full] }
    }

    pub(crate) const fn texts(&self) -> &[String; 2] {
        &self.texts
    }

    pub(crate) fn into_texts(self) -> [String; 2] {
        self.texts
    }

    /// How long the longer one is.
    pub(crate) fn bytes(&self) -> usize {
        self.texts[1].len()
    }

    pub(crate) fn hash(&self) -> PassagesHash {
        let mut hash = Sha256::new_with_prefix(RECIPE);
        for text in &self.texts {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        PassagesHash(hash.finalize().into())
    }

    /// The vector of a tool by the vectors of its texts: the mean of their directions, so that the likeness to it is
    /// the mean of the likenesses to the texts.
    ///
    /// A text that says nothing has no direction; `None` if none of them has one.
    pub(crate) fn vector<'a>(parts: impl IntoIterator<Item = &'a [f32]>) -> Option<Vec<f32>> {
        let mut parts = parts.into_iter().filter_map(unit);
        let mut sum = parts.next()?;
        let mut count = 1.0;
        for part in parts {
            sum.iter_mut().zip(part).for_each(|(sum, of_part)| *sum += of_part);
            count += 1.0;
        }
        for number in &mut sum {
            *number /= count;
        }
        Some(sum)
    }
}

impl PassagesHash {
    /// A SHA-256 digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The vector that a server sends along with a tool; `None` if it sends none.
///
/// The length is brought to one, and that is all that can be done: a server can still send the direction of whatever
/// is asked for often, and so be found for it, which no look at one vector tells from an honest one. Therefore nobody's
/// vectors are taken unless somebody says so.
pub(crate) fn sent_along(hints: &ToolHints, embedder: &dyn Embedder) -> Option<Result<Vec<f32>, Useless>> {
    if hints.embedding.is_empty() {
        return None;
    }
    let vector = if hints.embedder.as_deref() != Some(embedder.id()) {
        Err(Useless::AnotherEmbedder)
    } else if hints.embedding.len() != embedder.dimension() {
        Err(Useless::WrongLength)
    } else {
        unit(&hints.embedding).ok_or(Useless::NoDirection)
    };
    Some(vector)
}

/// Why a vector that a server sent along is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Useless {
    #[error("it was not made by the embedder in use")]
    AnotherEmbedder,
    #[error("it has not as many numbers as the vectors of the embedder in use")]
    WrongLength,
    #[error("its numbers are not finite, or all of them are zero")]
    NoDirection,
}

/// The vector of the same direction that is as long as one, unless there is no direction.
pub(crate) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    // In 64 bits the squares of all finite numbers have a sum.
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if !length.is_finite() || length < f64::from(f32::MIN_POSITIVE) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "no part is longer than the whole, which is one")]
    Some(vector.iter().map(|x| (f64::from(*x) / length) as f32).collect())
}

/// The words of a name for programs: `readFile_v2` is `read File v2`.
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

fn push_text(out: &mut String, text: &str, most_words: usize, most_bytes: usize) {
    let mut left = most_bytes;
    for word in text.split_whitespace().take(most_words) {
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

/// Belongs to every hash; it is another one whenever texts or vectors come about in another way.
const RECIPE: &[u8] = b"mgp passages 1\0";

/// Sentence encoders read no further than this.
const MOST_WORDS: usize = 256;

const MOST_BYTES: usize = 2048;

const MOST_SERVER_WORDS: usize = 32;

const MOST_SERVER_BYTES: usize = 256;

const MOST_NAME_CHARS: usize = 128;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::embed::hashed_words::HashedWords;

    #[test]
    fn names_are_split_into_words_and_the_server_is_in_one_text_only() {
        let passages = Passages::of("readFile_v2", "Reads  a\nfile", "tool.HTTPServer", "Files of the web");
        assert_eq!(
            passages.texts(),
            &["read File v2 Reads a file", "tool HTTP Server Files of the web read File v2 Reads a file"]
        );
    }

    #[test]
    fn texts_of_any_length_are_cut() {
        let words = Passages::of("x", &"word ".repeat(100_000), "y", &"long ".repeat(100_000));
        assert!(words.texts()[0].split(' ').count() <= MOST_WORDS + 1);
        assert!(words.bytes() < 4096);
        let no_spaces = Passages::of("x", &"読".repeat(100_000), "y", "");
        assert!(no_spaces.bytes() < 4096 && no_spaces.texts()[0].ends_with('読'));
    }

    #[test]
    fn other_texts_have_another_hash() {
        let hash = |name, server| Passages::of(name, "", server, "").hash();
        assert_eq!(hash("a", "b"), hash("a", "b"));
        assert_ne!(hash("a", "b"), hash("b", "a"));
        assert_ne!(hash("ab", ""), hash("a", "b"));
    }

    #[test]
    fn a_text_that_says_nothing_is_left_out_of_the_mean() {
        let (one, none, other) = ([3.0, 0.0], [0.0, 0.0], [0.0, 0.5]);
        assert_eq!(Passages::vector([&one[..], &none[..]]), Some(vec![1.0, 0.0]));
        assert_eq!(Passages::vector([&one[..], &other[..]]), Some(vec![0.5, 0.5]));
        assert_eq!(Passages::vector([&none[..], &none[..]]), None);
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
        assert_eq!(sent(&hints(&[1.0, 0.0], "another")), Some(Err(Useless::AnotherEmbedder)));
        assert_eq!(sent(&hints(&[1.0], embedder.id())), Some(Err(Useless::WrongLength)));
        assert_eq!(sent(&hints(&[f32::NAN, 1.0], embedder.id())), Some(Err(Useless::NoDirection)));
        assert_eq!(sent(&hints(&[0.0, 0.0], embedder.id())), Some(Err(Useless::NoDirection)));
    }

    proptest! {
        #[test]
        fn whatever_a_server_writes_becomes_short_texts(
            name in ".*", description in "(?s).{0,4000}", server in ".*", about in "(?s).{0,600}",
        ) {
            let passages = Passages::of(&name, &description, &server, &about);
            prop_assert!(passages.texts().iter().all(|text| text.len() < 8192));
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
