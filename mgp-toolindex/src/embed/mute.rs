use mgp_types::BoxFuture;

use super::{EmbedError, Embedder, Purpose};

/// An embedder that knows nothing, for tests that do not search by meaning.
#[derive(Debug)]
pub(crate) struct Mute;

impl Embedder for Mute {
    fn id(&self) -> &'static str {
        "mute"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn embed(&self, _: Vec<String>, _: Purpose) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async { Err(EmbedError::new("it says nothing")) })
    }
}
