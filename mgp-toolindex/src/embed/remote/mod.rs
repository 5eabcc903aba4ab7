//! Embedders that are somewhere else.

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

/// What a service answered to one call.
struct Answer {
    vectors: Vec<Vec<f32>>,
    model: String,
}

/// Waits for an answer as long as anybody can be expected to.
async fn in_time<T>(asked: impl Future<Output = Result<T, EmbedError>>) -> Result<T, EmbedError> {
    if Handle::try_current().is_err() {
        return Err(EmbedError::new("an embedding service can be asked only within a tokio runtime"));
    }
    let late =
        |_| EmbedError::new(format!("the embedding service did not answer in {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, asked).await.map_err(late)?
}

/// All texts by as many calls as they need, each of bounded size.
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

/// How long the vectors of an answer to one text are.
fn dimension(answer: &Answer) -> Result<usize, EmbedError> {
    match &*answer.vectors {
        [vector] if (1..=MOST_NUMBERS).contains(&vector.len()) => Ok(vector.len()),
        [vector] => Err(EmbedError::new(format!("a vector has {} numbers", vector.len()))),
        vectors => Err(EmbedError::new(format!("1 texts have {} vectors", vectors.len()))),
    }
}

/// Vectors of two models cannot be compared, though they may be of one length.
fn same_model(now: &str, first: &str) -> Result<(), EmbedError> {
    if now == first {
        return Ok(());
    }
    let [now, first] = [now, first].map(|model| model.chars().take(MOST_NAME).collect::<String>());
    Err(EmbedError::new(format!("the embedding service has another model now: {now:?} instead of {first:?}")))
}

const PATIENCE: Duration = Duration::from_secs(30);

const MOST_TEXTS: usize = 64;

const MOST_NUMBERS: usize = 16_384;

/// A longer name is none.
const MOST_NAME: usize = 200;

/// A text that every model has a vector for.
const PROBE: &str = "text";
