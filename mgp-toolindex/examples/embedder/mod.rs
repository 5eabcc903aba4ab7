//! Which embedder is measured: `static` or `fastembed:FOLDER`.

use std::error::Error;
use std::sync::Arc;

use mgp_toolindex::embed::{EmbedError, Embedder, Purpose};
use mgp_types::BoxFuture;

/// The embedder of this name.
pub(crate) fn chosen(name: &str) -> Result<Arc<dyn Embedder>, Box<dyn Error>> {
    match name {
        "static" => Ok(Arc::new(Silent)),
        _ => Err(format!("there is no embedder {name}").into()),
    }
}

#[derive(Debug)]
struct Silent;

impl Embedder for Silent {
    fn id(&self) -> &'static str {
        "silent"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn embed(
        &self,
        texts: Vec<String>,
        _purpose: Purpose,
    ) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move { Ok(vec![vec![0.0]; texts.len()]) })
    }

    fn embed_now(&self, _text: &str, _purpose: Purpose) -> Option<Vec<f32>> {
        Some(vec![0.0])
    }
}
