use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mgp::{SearchStrategy, ServerId, ServerState, ToolName};
use tokio::runtime::Handle;

use super::table::Table;
use super::{Found, Hit, Search};
use crate::category::Hierarchy;
use crate::embed::{EmbedError, Embedder, Purpose, checked};
use crate::keyword::KeywordReader;
use crate::slot::Slot;
use crate::tool::{Server, Tool};
use crate::vector::{QueryVector, Vectors};

/// The tools as they were at one time. It does not change any more.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) generation: u64,
    pub(crate) tools: Table<Arc<Tool>>,
    pub(crate) servers: HashMap<ServerId, Listed, RandomState>,
    pub(crate) count: usize,
    pub(crate) categories: Hierarchy,
    /// The words of the tools.
    pub(crate) words: KeywordReader,
    pub(crate) embedder: Arc<dyn Embedder>,
    /// What `embedder` makes of the tools.
    pub(crate) vectors: Vectors,
}

/// A server, and where its tools are.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) server: Server,
    pub(crate) slots: Arc<HashMap<ToolName, Slot, RandomState>>,
}

impl Snapshot {
    pub(super) fn empty(words: KeywordReader, embedder: Arc<dyn Embedder>) -> Self {
        let vectors = Vectors::new(embedder.dimension());
        Self {
            generation: 0,
            tools: Table::new(),
            servers: HashMap::default(),
            count: 0,
            categories: Hierarchy::default(),
            words,
            embedder,
            vectors,
        }
    }

    /// How many tools there are.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A number that is another one for each snapshot of an index.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// All tools.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter().map(|(_, tool)| tool)
    }

    /// The tool of this name of this server.
    pub fn tool(&self, server: &str, name: &str) -> Option<&Arc<Tool>> {
        let slot = *self.servers.get(server)?.slots.get(name)?;
        self.tools.get(slot)
    }

    /// A server.
    pub fn server(&self, server: &str) -> Option<&Server> {
        Some(&self.servers.get(server)?.server)
    }

    /// The categories of the tools.
    pub const fn categories(&self) -> &Hierarchy {
        &self.categories
    }

    /// Whether calls to a tool reach its server now.
    pub fn is_callable(&self, tool: &Tool) -> bool {
        self.server(tool.server.as_str()).is_some_and(|server| server.state == ServerState::Connected)
    }

    /// The name that a model calls a tool by: its own, and its id where another server has a tool of that name.
    pub fn shown_name(&self, tool: &Tool) -> String {
        let alone = self.bearers(tool.name.as_str()).all(|other| other.server == tool.server);
        if alone { tool.name.to_string() } else { tool.id() }
    }

    /// The tool that a model calls by this name: its id, or its own name if no other has it.
    pub fn called(&self, name: &str) -> Option<&Arc<Tool>> {
        let mut bearers = self.bearers(name);
        if let (Some(tool), None) = (bearers.next(), bearers.next()) {
            return Some(tool);
        }
        let mut dots = name.char_indices().filter(|(_, c)| *c == '.').map(|(at, _)| at);
        dots.find_map(|at| self.tool(&name[..at], &name[at + 1..]))
    }

    /// Finds tools; `vector` is what the text means, if that could be found out.
    pub fn search(&self, search: &Search<'_>, vector: Option<&[f32]>) -> Found {
        if search.strategy == SearchStrategy::Semantic
            && let Some(hits) = vector.and_then(|vector| self.nearest(search, vector))
        {
            return Found { hits, fallback: None };
        }
        let words: Vec<String> = search.text.to_lowercase().split_whitespace().map(Into::into).collect();
        let mut hits: Vec<Hit> = Vec::new();
        for (slot, tool) in self.tools.iter() {
            let text = format!("{} {}", tool.name, tool.description()).to_lowercase();
            let met = words.iter().filter(|word| text.contains(word.as_str())).count();
            if met > 0 && self.fits(search, slot, tool) {
                #[expect(clippy::cast_precision_loss, reason = "few words")]
                let score = met as f32 / words.len() as f32;
                hits.push(Hit { tool: Arc::clone(tool), score });
            }
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(search.limit);
        let fallback = (search.strategy != SearchStrategy::Keyword).then_some(SearchStrategy::Keyword);
        Found { hits, fallback }
    }

    /// The tools whose vectors are nearest; `None` if there are none to compare.
    fn nearest(&self, search: &Search<'_>, vector: &[f32]) -> Option<Vec<Hit>> {
        let queries = [QueryVector::new(vector).ok().filter(|_| self.vectors.len() > 0)?];
        let scores = self.vectors.scan(&queries);
        let fits = |slot| self.tools.get(slot).is_some_and(|tool| self.fits(search, slot, tool));
        let near = scores.best(0, search.limit, fits).into_iter();
        let hits = near.filter_map(|(slot, score)| {
            Some(Hit { tool: Arc::clone(self.tools.get(slot)?), score: score.clamp(0.0, 1.0) })
        });
        Some(hits.collect())
    }

    fn fits(&self, search: &Search<'_>, slot: Slot, tool: &Tool) -> bool {
        self.is_callable(tool)
            && search.sight.is_none_or(|sight| sight.sees(slot))
            && search.filter.risk_level_max.is_none_or(|most| tool.risk <= most)
    }

    /// What a text means, as a vector; `None` if that cannot be found out, or not in time.
    pub(crate) async fn embed(&self, text: &str, purpose: Purpose) -> Option<Vec<f32>> {
        let text = &text[..text.floor_char_boundary(MOST_BYTES)];
        let vector = match self.embedder.embed_now(text, purpose) {
            Some(vector) => Ok(vector),
            None => self.embed_later(text, purpose).await,
        };
        let checked = vector.and_then(|vector| checked(vec![vector], 1, self.embedder.dimension()));
        match checked {
            Ok(mut vectors) => vectors.pop().filter(|vector| vector.iter().any(|number| *number != 0.0)),
            Err(error) => {
                tracing::warn!(%error, "a search goes on without vectors");
                None
            }
        }
    }

    async fn embed_later(&self, text: &str, purpose: Purpose) -> Result<Vec<f32>, EmbedError> {
        let embedded = self.embedder.embed(vec![text.to_owned()], purpose);
        let embedded = if Handle::try_current().is_ok() {
            let late = |_| EmbedError::new("the embedder took too long");
            tokio::time::timeout(PATIENCE, embedded).await.map_err(late)?
        } else {
            embedded.await
        };
        embedded?.pop().ok_or_else(|| EmbedError::new("1 texts have 0 vectors"))
    }

    fn bearers(&self, name: &str) -> impl Iterator<Item = &Arc<Tool>> {
        self.servers.values().filter_map(move |listed| self.tools.get(*listed.slots.get(name)?))
    }
}

/// A search that waits longer for the meaning of its text had better go by its words.
const PATIENCE: Duration = Duration::from_secs(2);

/// Nobody reads further to see what is meant.
const MOST_BYTES: usize = 2048;
