//! The tools of all servers: listed by name, and found by what they do.

use std::path::Path;
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_discovery::catalog::Catalog;
use mgp_toolindex::Index;
use mgp_toolindex::embed::{EmbedderChoice, SqliteVectors};
use serde::{Deserialize, Serialize};

use crate::{StartError, settings};

/// The catalog of what servers list, and the index in which tools are searched. Clones are the same.
#[derive(Clone)]
pub(crate) struct ToolCatalog {
    pub(crate) catalog: Catalog,
    pub(crate) index: Index,
}

/// The progress of a sentence encoder that is not used for searches yet.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct EncoderProgress {
    /// The number of tools that are embedded.
    pub(crate) embedded: usize,
    /// The number of all tools.
    pub(crate) tools: usize,
}

impl std::fmt::Display for EncoderProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { embedded, tools } = self;
        write!(
            f,
            "searches use the built-in table until the encoder is ready: {embedded} of {tools} tools are embedded"
        )
    }
}

impl ToolCatalog {
    /// Opens an index with the embedder that the configuration names. The catalog is empty.
    pub(crate) async fn open(config: &Config, state: &Path) -> Result<Self, StartError> {
        let choice = settings::embedder(config)?;
        let table = EmbedderChoice::Static.open().await;
        let catalog = Catalog::new();
        if choice == EmbedderChoice::Static {
            tracing::info!("tools are found by meaning with the built-in table of words");
            // The vectors of the table are made faster than they are read.
            return Ok(Self { catalog, index: Index::with_vectors(table, None) });
        }
        let vectors = SqliteVectors::open(&state.join("vectors"), MAX_VECTORS);
        let vectors = vectors.map_err(|error| StartError::Config(format!("`kernel.state`: {error}")))?;
        let index = Index::with_vectors(table, Some(Arc::new(vectors)));
        let embedder = choice.open().await;
        tracing::info!(embedder = %choice, id = embedder.id(), "tools are found by meaning with this embedder");
        // The table serves until all vectors are made, and whenever many are missing.
        index.set_embedder(embedder).await;
        Ok(Self { catalog, index })
    }

    /// Returns the progress of the encoder, if there is one and searches do not use it yet.
    pub(crate) fn encoder_progress(&self) -> Option<EncoderProgress> {
        let progress = self.index.snapshot().embedding()?;
        Some(EncoderProgress { embedded: progress.embedded, tools: progress.tools })
    }
}

const MAX_VECTORS: u32 = 1_000_000;
