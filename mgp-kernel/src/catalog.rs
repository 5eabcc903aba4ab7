//! The tools of all servers: listed by name, and found by what they do.

use std::path::Path;
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_discovery::catalog::Catalog;
use mgp_toolindex::embed::{EmbedderChoice, SqliteVectors};
use mgp_toolindex::learn::{LearnSettings, LearnedUses};
use mgp_toolindex::{Index, SentVectorPolicy};

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
        let choice = settings::embedder(config)?;
        let embedder = choice.open().await;
        let learned = || Arc::new(LearnedUses::new(LearnSettings::default(), embedder.id()));
        let learned = config.tools.learning.then(learned);
        let sent = if config.tools.trust_sent_vectors {
            SentVectorPolicy::Trusted
        } else {
            SentVectorPolicy::Ignored
        };
        let builder = Index::builder(embedder).sent_vectors(sent);
        // The vectors of the built-in table are made faster than they are read.
        let index = if choice == EmbedderChoice::Static {
            builder.build()
        } else {
            let vectors = SqliteVectors::open(&state.join("vectors"), MOST_VECTORS);
            let vectors = vectors.map_err(|error| StartError::Config(format!("`kernel.state`: {error}")))?;
            builder.store(vectors).build()
        };
        Ok(Self { catalog: Catalog::new(), index, learned })
    }
}

const MOST_VECTORS: u32 = 1_000_000;
