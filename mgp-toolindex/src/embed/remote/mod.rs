//! Embedders behind a network: MGP or MCP servers, and HTTP services.

#[cfg(feature = "http")]
mod http;
mod service;

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Handle;

#[cfg(feature = "http")]
pub use self::http::HttpEmbedder;
pub use self::service::ServiceEmbedder;
use super::EmbedError;

/// The answer of a service to one call.
struct EmbeddingAnswer {
    vectors: Vec<Vec<f32>>,
    model: String,
}

const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for an answer up to the time limit.
async fn in_time<T>(asked: impl Future<Output = Result<T, EmbedError>>) -> Result<T, EmbedError> {
    if Handle::try_current().is_err() {
        return Err(EmbedError::new("an embedding service can be asked only within a tokio runtime"));
    }
    let late =
        |_| EmbedError::new(format!("the embedding service did not answer in {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, asked).await.map_err(late)?
}

const MOST_TEXTS: usize = 64;

/// Embeds all texts with as many calls as they need, each of bounded size.
async fn in_parts<F>(
    mut texts: Vec<String>,
    ask: impl Fn(Vec<String>) -> F,
) -> Result<Vec<Vec<f32>>, EmbedError>
where
    F: Future<Output = Result<Vec<Vec<f32>>, EmbedError>>,
{
    let mut vectors = Vec::with_capacity(texts.len());
    while !texts.is_empty() {
        let rest = texts.split_off(texts.len().min(MOST_TEXTS));
        vectors.extend(ask(std::mem::replace(&mut texts, rest)).await?);
    }
    Ok(vectors)
}

const MOST_NUMBERS: usize = 16_384;

/// Returns the dimension of the vectors in an answer to one text.
fn dimension(answer: &EmbeddingAnswer) -> Result<usize, EmbedError> {
    match &*answer.vectors {
        [vector] if (1..=MOST_NUMBERS).contains(&vector.len()) => Ok(vector.len()),
        [vector] => Err(EmbedError::new(format!("a vector has {} numbers", vector.len()))),
        vectors => Err(EmbedError::new(format!("1 texts have {} vectors", vectors.len()))),
    }
}

/// The length of a model's name at most, in bytes.
const MOST_NAME: usize = 200;

/// Checks the model of an answer: vectors of two models cannot be compared, even if they have one dimension.
fn same_model(now: &str, first: &str) -> Result<(), EmbedError> {
    if now == first {
        return Ok(());
    }
    let [now, first] = [now, first].map(|model| model.chars().take(MOST_NAME).collect::<String>());
    Err(EmbedError::new(format!("the model of the embedding service changed from {first:?} to {now:?}")))
}

/// A text for which every model has a vector.
const PROBE: &str = "text";
