//! What turns text into vectors.
//!
//! | | |
//! |---|---|
//! | [`Embedder`] | whatever turns text into vectors |
//! | [`StaticEmbedder`] | a table of words that is built in; the only one that is instant |
//! | [`ServiceEmbedder`] | a tool of an MGP or MCP server |
//! | `HttpEmbedder` | a service that speaks OpenAI's protocol; feature `http` |
//! | `FastEmbedder` | a sentence encoder on this machine, run by onnxruntime; feature `fastembed` |
//! | [`EmbedderChoice`] | one of them, by the words of a configuration |
//! | [`VectorStore`] | where vectors outlive the process: `SqliteVectors` with feature `store` |

mod background;
mod choice;
#[cfg(feature = "fastembed")]
mod fastembed;
#[cfg(test)]
pub(crate) mod hashed_words;
#[cfg(test)]
mod mute;
mod passage;
mod queue;
mod remote;
#[cfg(feature = "store")]
mod store;
mod table;

use std::fmt;

use mgp_types::BoxFuture;

pub(crate) use self::background::{Background, Lane, Made};
pub use self::choice::{ChoiceError, EmbedderChoice};
#[cfg(feature = "fastembed")]
pub use self::fastembed::FastEmbedder;
#[cfg(test)]
pub(crate) use self::mute::Mute;
pub use self::passage::PassageHash;
pub(crate) use self::passage::{Passage, sent_along, unit};
pub(crate) use self::queue::Lacking;
#[cfg(feature = "http")]
pub use self::remote::HttpEmbedder;
pub use self::remote::ServiceEmbedder;
#[cfg(feature = "store")]
pub use self::store::{SqliteVectors, StoreError};
pub use self::table::{StaticEmbedder, TableError};

/// Turns text into vectors whose likeness is the likeness of what is meant.
pub trait Embedder: fmt::Debug + Send + Sync + 'static {
    /// What made a vector: vectors are kept under this name, and compared only with others of the same.
    fn id(&self) -> &str;

    /// How long its vectors are.
    fn dimension(&self) -> usize;

    /// The vectors of texts, in their order; a text that says nothing has the vector of zeros.
    fn embed(
        &self,
        texts: Vec<String>,
        purpose: Purpose,
    ) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>>;

    /// The vector of a text, if it is made in microseconds: then nothing has to wait for it. An embedder that can do
    /// this can do it with every text.
    fn embed_now(&self, _text: &str, _purpose: Purpose) -> Option<Vec<f32>> {
        None
    }

    /// How much of a text its vectors can speak of, from 0 to 1. A search by words and meaning lets the words decide
    /// what the vectors cannot.
    fn grasps(&self, _text: &str) -> f32 {
        1.0
    }
}

/// What a text is, which some models want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a text is searched for, or searched with")]
pub enum Purpose {
    /// What somebody looks for.
    Query,
    /// What can be found.
    Passage,
}

impl Purpose {
    /// The word on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Passage => "passage",
        }
    }
}

/// Keeps vectors, so that what was embedded once is not embedded again.
///
/// It is a cache: what it cannot give is made anew, and what it cannot take is lost. So it has no errors, and says in
/// the log what is wrong with it. Its methods may take milliseconds; they are called where that holds up nobody.
pub trait VectorStore: fmt::Debug + Send + Sync + 'static {
    /// The vectors that `embedder` made of these, in their order, where they are kept.
    fn get_many(&self, embedder: &str, of: &[PassageHash]) -> Vec<Option<Vec<f32>>>;

    /// Keeps vectors that `embedder` made.
    fn put_many(&self, embedder: &str, vectors: &[(PassageHash, &[f32])]);
}

/// Why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EmbedError(Box<str>);

impl EmbedError {
    /// It failed because of this.
    pub fn new(why: impl Into<Box<str>>) -> Self {
        Self(why.into())
    }
}

/// What an embedder answered, if it can be an answer to so many texts.
pub(crate) fn checked(
    vectors: Vec<Vec<f32>>,
    texts: usize,
    dimension: usize,
) -> Result<Vec<Vec<f32>>, EmbedError> {
    if vectors.len() != texts {
        return Err(EmbedError::new(format!("{texts} texts have {} vectors", vectors.len())));
    }
    if let Some(vector) = vectors.iter().find(|vector| vector.len() != dimension) {
        return Err(EmbedError::new(format!("a vector has {} numbers instead of {dimension}", vector.len())));
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err(EmbedError::new("a vector has numbers that are not finite"));
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_cannot_be_right_are_refused() {
        let refused = |vectors: &[&[f32]]| {
            checked(vectors.iter().map(|vector| vector.to_vec()).collect(), 1, 2).unwrap_err().to_string()
        };
        assert_eq!(refused(&[]), "1 texts have 0 vectors");
        assert_eq!(refused(&[&[1.0]]), "a vector has 1 numbers instead of 2");
        assert_eq!(refused(&[&[1.0, f32::NAN]]), "a vector has numbers that are not finite");
        assert!(checked(vec![vec![1.0, 0.0]], 1, 2).is_ok());
    }
}
