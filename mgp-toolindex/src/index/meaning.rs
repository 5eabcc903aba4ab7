use std::time::Duration;

use tokio::runtime::Handle;

use super::Snapshot;
use crate::embed::{EmbedError, Purpose, checked};

impl Snapshot {
    /// What each of some texts means, as a vector; `None` for a text that says nothing, and for all of them if it
    /// cannot be found out, or not in time.
    pub(super) async fn meanings(&self, texts: impl Iterator<Item = &str>) -> Vec<Option<Vec<f32>>> {
        let texts: Vec<&str> = texts.map(|text| &text[..text.floor_char_boundary(MOST_BYTES)]).collect();
        let now: Option<Vec<_>> =
            texts.iter().map(|text| self.embedder.embed_now(text, Purpose::Query)).collect();
        let count = texts.len();
        let vectors = match now {
            Some(vectors) => Ok(vectors),
            None => self.embed_later(texts.into_iter().map(Into::into).collect()).await,
        };
        match vectors.and_then(|vectors| checked(vectors, count, self.embedder.dimension())) {
            Ok(vectors) => {
                let says_something = |vector: &Vec<f32>| vector.iter().any(|number| *number != 0.0);
                vectors.into_iter().map(|vector| Some(vector).filter(says_something)).collect()
            }
            Err(error) => {
                tracing::warn!(%error, "a search goes on without vectors");
                vec![None; count]
            }
        }
    }

    async fn embed_later(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let embedded = self.embedder.embed(texts, Purpose::Query);
        if Handle::try_current().is_err() {
            return embedded.await;
        }
        let late = |_| EmbedError::new("the embedder took too long");
        tokio::time::timeout(PATIENCE, embedded).await.map_err(late)?
    }
}

/// A search that waits longer for the meaning of its text had better go by its words.
const PATIENCE: Duration = Duration::from_secs(2);

/// Nobody reads further to see what is meant.
const MOST_BYTES: usize = 2048;
