//! What turns text into vectors.

mod table;

use std::fmt;

use mgp_types::BoxFuture;

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

    /// The vector of a text, if it is made in microseconds: then nothing has to wait for it.
    fn embed_now(&self, _text: &str, _purpose: Purpose) -> Option<Vec<f32>> {
        None
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
