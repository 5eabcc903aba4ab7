//! The tools of all servers: listed by name, and found by what they do.

use std::path::Path;
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_discovery::catalog::Catalog;
use mgp_toolindex::Index;
use mgp_toolindex::embed::{EmbedderChoice, SqliteVectors, VectorStore};

use crate::models::ModelStore;
use crate::{StartError, settings};

/// The catalog of what servers list, and the index in which tools are searched. Clones are the same.
#[derive(Clone)]
pub(crate) struct ToolCatalog {
    pub(crate) catalog: Catalog,
    pub(crate) index: Index,
    /// The encoder that is loaded when servers start.
    encoder: Option<EmbedderChoice>,
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
        let mut tools = Self { catalog: Catalog::new(), index, encoder: None };
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
        }
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
