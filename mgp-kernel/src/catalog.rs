//! The tools of all servers: listed by name, and found by what they do.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mgp_discovery::Config;
use mgp_discovery::catalog::Catalog;
use mgp_toolindex::Index;
use mgp_toolindex::embed::{EmbedderChoice, SqliteVectors, VectorStore};
use serde::{Deserialize, Serialize};

use crate::models::ModelStore;
use crate::{StartError, settings};

/// The catalog of what servers list, and the index in which tools are searched. Clones are the same.
#[derive(Clone)]
pub(crate) struct ToolCatalog {
    pub(crate) catalog: Catalog,
    pub(crate) index: Index,
    /// The encoder that is loaded when servers start.
    encoder: Option<EmbedderChoice>,
    /// True once the encoder was loaded, or could not be.
    is_loaded: Arc<AtomicBool>,
}

/// The progress of an encoder that is not used for searches yet.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct EncoderProgress {
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
    /// Opens an index with the embedder that the configuration names; an encoder is loaded [later](Self::load_encoder).
    /// The catalog is empty.
    pub(crate) async fn open(config: &Config, state: &Path) -> Result<Self, StartError> {
        let choice = settings::embedder(config, ModelStore::of_user().as_ref())?;
        // The vectors of the built-in table are made faster than they are read.
        let store: Option<Arc<dyn VectorStore>> = if choice == EmbedderChoice::Static {
            tracing::info!("tools are found by meaning with the built-in table of words");
            None
        } else {
            let vectors = SqliteVectors::open(&state.join("vectors"), MAX_VECTORS);
            let vectors = vectors.map_err(|error| StartError::Config(format!("`kernel.state`: {error}")))?;
            Some(Arc::new(vectors))
        };
        let index = Index::with_vectors(EmbedderChoice::Static.open().await, store);
        let mut tools = Self { catalog: Catalog::new(), index, encoder: None, is_loaded: Arc::default() };
        match choice {
            EmbedderChoice::Static => {}
            EmbedderChoice::Encoder(_) => tools.encoder = Some(choice),
            _ => tools.change_embedder(&choice).await,
        }
        Ok(tools)
    }

    /// Loads the encoder that the configuration names, if it names one, and waits until that is done.
    pub(crate) async fn load_encoder(&self) {
        if let Some(encoder) = &self.encoder {
            self.change_embedder(encoder).await;
            self.index.settled().await;
            self.is_loaded.store(true, Ordering::Release);
        }
    }

    /// Returns the progress of the encoder, if there is one and searches do not use it yet.
    pub(crate) fn encoder_progress(&self) -> Option<EncoderProgress> {
        self.encoder.as_ref()?;
        let snapshot = self.index.snapshot();
        let progress = snapshot.embedding();
        let progress = progress.map(|now| EncoderProgress { embedded: now.embedded, tools: now.tools });
        let is_loaded = self.is_loaded.load(Ordering::Acquire);
        progress.or_else(|| (!is_loaded).then(|| EncoderProgress { embedded: 0, tools: snapshot.len() }))
    }

    /// Changes to another embedder once it is open. The built-in table serves until all vectors are made, and whenever
    /// many are missing.
    async fn change_embedder(&self, choice: &EmbedderChoice) {
        let embedder = choice.open().await;
        tracing::info!(embedder = %choice, id = embedder.id(), "tools are found by meaning with this embedder");
        self.index.set_embedder(embedder).await;
    }
}

const MAX_VECTORS: u32 = 1_000_000;
