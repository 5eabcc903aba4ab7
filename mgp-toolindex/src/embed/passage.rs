//! The text of a tool that is embedded, and its hash.

use mgp_types::mgp::ToolHints;
use sha2::{Digest as _, Sha256};

use super::Embedder;
use super::table::words::humps;
use crate::text::{cut, push_word};

/// The text of a tool that is embedded: the words of its server's name, of its own name, and its description.
///
/// Many tools leave out the server's name. The server's description is not in the text: it would make all its tools
/// alike. A server may write texts of any length, so that the passage ends after a few hundred words.
///
/// The first sentence says what the tool is for, and the rest is often longer: arguments, limits, examples. The vector
/// of a tool is therefore the mean of two: that of the text as far as the first sentence, and that of all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passage {
    text: String,
    /// The end of the first sentence.
    opening: usize,
}

/// The hash of an embedded text, under which its vector is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassageHash([u8; 32]);

/// The prefix of every hash; it changes whenever texts or vectors are made in another way.
const RECIPE: &[u8] = b"mgp passage 3\0";

impl Passage {
    /// Returns the text of the tool `name` of `server`.
    pub(crate) fn of(server: &str, name: &str, description: &str) -> Self {
        let mut text = String::new();
        push_words(&mut text, server);
        push_words(&mut text, name);
        let (first, rest) = after_first_sentence(description);
        let (mut bytes, mut words) = (MAX_BYTES, MAX_WORDS);
        let mut push = |out: &mut String, text: &str| {
            for word in text.split_whitespace() {
                // Some languages write without spaces: there a word is as long as a text.
                let fits = word.floor_char_boundary(bytes);
                if fits == 0 || words == 0 {
                    return;
                }
                push_word(out, &word[..fits]);
                bytes -= fits;
                words -= 1;
            }
        };
        push(&mut text, first);
        let opening = text.len();
        push(&mut text, rest);
        Self { text, opening }
    }

    /// Returns the texts whose vectors make that of the tool: one, or two if there is more than a sentence.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let opening = &self.text[..self.opening];
        std::iter::once(&*self.text).chain(Some(opening).filter(|opening| opening.len() < self.text.len()))
    }

    /// Returns the vector of the tool from those of its texts; `None` if they have no direction.
    ///
    /// The opening counts as much as the rest bears it out: it may say one thing so as to be found, and the rest another.
    pub(crate) fn vector(of_texts: &[Vec<f32>]) -> Option<Vec<f32>> {
        let mut units = of_texts.iter().filter_map(|vector| unit(vector));
        let mut sum = units.next()?;
        for opening in units {
            let likeness = sum.iter().zip(&opening).map(|(one, other)| one * other).sum::<f32>().max(0.0);
            sum.iter_mut().zip(&opening).for_each(|(sum, member)| *sum += likeness * member);
        }
        unit(&sum)
    }

    /// Returns the length of the text in bytes.
    pub(crate) const fn len(&self) -> usize {
        self.text.len()
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
) -> Option<Result<Vec<f32>, &'static str>> {
    if hints.embedding.is_empty() {
        return None;
    }
    let vector = if hints.embedder.as_deref() != Some(embedder.id()) {
        Err("the embedder in use did not make the vector")
    } else if hints.embedding.len() != embedder.dimension() {
        Err("the dimension of the vector differs from that of the embedder in use")
    } else {
        unit(&hints.embedding).ok_or("the numbers of the vector are not finite, or all of them are zero")
    };
    Some(vector)
}

/// Returns the vector of length 1 in the same direction, unless there is no direction.
fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    // In 64 bits the squares of all finite numbers have a sum.
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if !length.is_finite() || length < f64::from(f32::MIN_POSITIVE) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "no part is longer than the whole, which is one")]
    Some(vector.iter().map(|x| (f64::from(*x) / length) as f32).collect())
}

const MAX_NAME_BYTES: usize = 128;

/// Appends the words of a name for programs: `readFile_v2` becomes `read File v2`.
fn push_words(out: &mut String, name: &str) {
    for word in cut(name, MAX_NAME_BYTES).split(|c: char| !c.is_alphanumeric()).flat_map(humps) {
        push_word(out, word);
    }
}

const MAX_BYTES: usize = 2048;

/// The number of words of a passage; sentence encoders read no further.
const MAX_WORDS: usize = 256;

/// Splits a description behind its first sentence, which ends with a mark or with its line.
fn after_first_sentence(description: &str) -> (&str, &str) {
    let description = description.trim();
    let before = std::iter::once(' ').chain(description.chars());
    let end = description.char_indices().zip(before).find(|&((_, letter), before)| {
        letter == '\n'
            || (letter.is_whitespace() && matches!(before, '.' | '!' | '?'))
            || matches!(before, '。' | '！' | '？')
    });
    end.map_or((description, ""), |((at, _), _)| description.split_at(at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::embed::hashed_words::HashedWords;

    #[test]
    fn names_are_split_into_words() {
        let passage = Passage::of("tool.HTTPServer", "readFile_v2", "Reads  a file");
        assert_eq!(passage.texts().collect::<Vec<_>>(), ["tool HTTP Server read File v2 Reads a file"]);
    }

    #[test]
    fn what_a_tool_is_for_is_said_twice() {
        let texts = |description| {
            let passage = Passage::of("s", "t", description);
            passage.texts().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            texts("Reads v1.2 files. At most\n9."),
            ["s t Reads v1.2 files. At most 9.", "s t Reads v1.2 files."]
        );
        assert_eq!(texts("\n Title\nReads it"), ["s t Title Reads it", "s t Title"]);
        assert_eq!(texts("読みます。一つだけ"), ["s t 読みます。 一つだけ", "s t 読みます。"]);
        assert_eq!(texts(""), ["s t"]);
    }

    #[test]
    fn an_opening_counts_as_much_as_the_rest_bears_it_out() {
        let towards = |opening: [f32; 2]| Passage::vector(&[vec![3.0, 0.0], opening.to_vec()]).unwrap()[1];
        assert!(towards([0.8, 0.6]) > 0.2);
        assert!(towards([0.1, 2.0]) < 0.1);
        assert!(towards([-0.1, 2.0]).abs() < 1e-6);
        assert_eq!(Passage::vector(&[vec![0.0, 0.0], vec![0.0, 2.0]]), Some(vec![0.0, 1.0]));
        assert_eq!(Passage::vector(&[vec![0.0, 0.0]]), None);
    }

    #[test]
    fn texts_of_any_length_are_cut() {
        let words = Passage::of("y", "x", &"word ".repeat(100_000));
        assert!(words.text.split(' ').count() <= MAX_WORDS + 2);
        let no_spaces = Passage::of("y", "x", &"読".repeat(100_000));
        assert!(no_spaces.text.len() < 4096 && no_spaces.text.ends_with('読'));
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
        for (hints, why) in [
            (hints(&[1.0, 0.0], "another"), "did not make"),
            (hints(&[1.0], embedder.id()), "dimension"),
            (hints(&[f32::NAN, 1.0], embedder.id()), "not finite"),
            (hints(&[0.0, 0.0], embedder.id()), "zero"),
        ] {
            assert!(sent(&hints).unwrap().unwrap_err().contains(why), "{why}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_server_writes_becomes_a_short_text(
            server in ".*", name in ".*", description in "(?s).{0,4000}",
        ) {
            prop_assert!(Passage::of(&server, &name, &description).text.len() < 8192);
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
