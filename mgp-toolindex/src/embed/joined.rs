//! Two embedders as one.

use std::sync::Arc;

use mgp_types::BoxFuture;

use super::{EmbedError, Embedder};

/// Two embedders as one: the likeness of two texts is the mean of the likenesses that each of them sees.
///
/// Where two embedders of different kinds agree, they are mostly right, and where they do not, each is mostly wrong in
/// its own way: together they find more than the better of them.
///
/// ```
/// use std::sync::Arc;
///
/// use mgp_toolindex::embed::{Embedder as _, JoinedEmbedder, StaticEmbedder};
///
/// let table = Arc::new(StaticEmbedder::new());
/// let joined = JoinedEmbedder::new(table.clone(), table.clone());
/// assert_eq!(joined.dimension(), 2 * table.dimension());
/// ```
#[derive(Debug, Clone)]
pub struct JoinedEmbedder {
    id: String,
    one: Arc<dyn Embedder>,
    other: Arc<dyn Embedder>,
}

impl JoinedEmbedder {
    /// Joins two embedders.
    pub fn new(one: Arc<dyn Embedder>, other: Arc<dyn Embedder>) -> Self {
        Self { id: format!("{}+{}", one.id(), other.id()), one, other }
    }
}

impl Embedder for JoinedEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.one.dimension() + self.other.dimension()
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        let (one, other) = (self.one.embed(texts.clone()), self.other.embed(texts));
        Box::pin(async move {
            let (one, other) = (one.await?, other.await?);
            if one.len() != other.len() {
                return Err(EmbedError::new(format!("texts have {} and {} vectors", one.len(), other.len())));
            }
            Ok(one.iter().zip(&other).map(|(one, other)| joined(one, other)).collect())
        })
    }

    fn embed_now(&self, text: &str) -> Option<Vec<f32>> {
        Some(joined(&self.one.embed_now(text)?, &self.other.embed_now(text)?))
    }

    fn grasps(&self, text: &str) -> f32 {
        self.one.grasps(text).max(self.other.grasps(text))
    }
}

/// Returns one vector behind the other, each as long as the root of a half, so that the product of two of them is the
/// mean of the products of their halves.
fn joined(one: &[f32], other: &[f32]) -> Vec<f32> {
    half(one).chain(half(other)).collect()
}

fn half(vector: &[f32]) -> impl Iterator<Item = f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    let factor = if length > 0.0 { std::f32::consts::FRAC_1_SQRT_2 / length } else { 0.0 };
    vector.iter().map(move |number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::StaticEmbedder;
    use crate::embed::hashed_words::HashedWords;

    fn likeness(one: &[f32], other: &[f32]) -> f32 {
        let product =
            |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f32>();
        product(one, other) / (product(one, one) * product(other, other)).sqrt()
    }

    #[tokio::test]
    async fn the_likeness_is_the_mean_of_both() {
        let (one, other): (Arc<dyn Embedder>, Arc<dyn Embedder>) =
            (Arc::new(StaticEmbedder::new()), Arc::new(HashedWords::new(64)));
        let texts = || ["send a mail", "send a letter"].map(String::from).to_vec();
        let mut sum = 0.0;
        for embedder in [&one, &other] {
            let vectors = embedder.embed(texts()).await.unwrap();
            sum += likeness(&vectors[0], &vectors[1]);
        }
        let joined = JoinedEmbedder::new(one, other);
        let vectors = joined.embed(texts()).await.unwrap();
        assert!((likeness(&vectors[0], &vectors[1]) - sum / 2.0).abs() < 1e-5);
        assert_eq!(vectors[0].len(), joined.dimension());
    }
}
