//! The tools of all servers: listed by name, and found by what they do.

use std::path::Path;
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_discovery::catalog::Catalog;
use mgp_toolindex::embed::{EmbedderChoice, SqliteVectors};
use mgp_toolindex::learn::{LearnSettings, LearnedUses};
use mgp_toolindex::{Index, SentVectorPolicy};

use crate::models::ModelStore;
use crate::{StartError, settings};

/// The catalog of what servers list, and the index in which tools are searched. Clones are the same.
#[derive(Clone)]
pub(crate) struct ToolCatalog {
    pub(crate) catalog: Catalog,
    pub(crate) index: Index,
    /// The uses from which searches learn; `None` where they are not to learn.
    pub(crate) learned: Option<Arc<LearnedUses>>,
}

impl ToolCatalog {
    /// Opens an index with the embedder that the configuration names. The catalog is empty.
    pub(crate) async fn open(config: &Config, state: &Path) -> Result<Self, StartError> {
        let choice = settings::embedder(config, ModelStore::of_user().as_ref())?;
        let table = EmbedderChoice::Static.open().await;
        let learned = || Arc::new(LearnedUses::new(LearnSettings::default(), table.id()));
        let learned = config.tools.learning.then(learned);
        let sent = if config.tools.trust_sent_vectors {
            SentVectorPolicy::Trusted
        } else {
            SentVectorPolicy::Ignored
        };
        let builder = Index::builder(table).sent_vectors(sent);
        // The vectors of the built-in table are made faster than they are read.
        if choice == EmbedderChoice::Static {
            tracing::info!("tools are found by meaning with the built-in table of words");
            return Ok(Self { catalog: Catalog::new(), index: builder.build(), learned });
        }
        let vectors = SqliteVectors::open(&state.join("vectors"), MOST_VECTORS);
        let vectors = vectors.map_err(|error| StartError::Config(format!("`kernel.state`: {error}")))?;
        let tools = Self { catalog: Catalog::new(), index: builder.store(vectors).build(), learned };
        let change = tools.clone().change_embedder(choice.clone());
        // An encoder is loaded while the kernel starts.
        if let EmbedderChoice::Encoder(_) = choice {
            tokio::spawn(change);
        } else {
            change.await;
        }
        Ok(tools)
    }

    /// Changes to another embedder once it is open. The built-in table serves until all vectors are made, and whenever
    /// many are missing.
    async fn change_embedder(self, choice: EmbedderChoice) {
        let embedder = choice.open().await;
        tracing::info!(embedder = %choice, id = embedder.id(), "tools are found by meaning with this embedder");
        if let Some(learned) = &self.learned {
            learned.change_embedder(embedder.id());
        }
        self.index.set_embedder(embedder).await;
    }
}

const MOST_VECTORS: u32 = 1_000_000;
