//! Searches of a snapshot, by strategy, with their parameters and results.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{MatchEvidence, SearchStrategy, ToolFilter};
use tokio::runtime::Handle;

use super::{Snapshot, VisibleTools};
use crate::Tool;
use crate::category::{CategoryPath, browse};
use crate::embed::{EmbedError, checked};
use crate::keyword::KeywordReader;
use crate::rank::{FusionWeights, QueryMeaning, RankedTool, Ranking, RequestPart, SPARE, prefer};
use crate::slot::Slot;
use crate::text::in_words_of_tools;
use crate::vector::Vectors;

/// A search: the query, the strategy and the tools among which to search.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Search<'a> {
    /// The query in words; for [`SearchStrategy::Category`] the path of a category.
    pub text: &'a str,
    /// The strategy.
    pub strategy: SearchStrategy,
    /// The number of tools to find at most.
    pub limit: usize,
    /// The filter of tools.
    pub filter: ToolFilter,
    /// The tools that the agent may see; all if `None`.
    pub visible: Option<&'a VisibleTools>,
    /// The weights of words and of meaning in a search by both.
    pub weights: FusionWeights,
    /// Set if the text names a capability, as a program does: it is in the words of tools, and tools that say nearly the
    /// same may stand beside one another, because the caller may not be allowed to call each.
    pub(crate) is_capability: bool,
}

impl<'a> Search<'a> {
    /// Creates a search of all callable tools, by words and meaning, for five tools.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            strategy: SearchStrategy::Hybrid,
            limit: 5,
            filter: ToolFilter::default(),
            visible: None,
            weights: FusionWeights::default(),
            is_capability: false,
        }
    }

    /// Creates a search for the tools that have a capability. Its words count in full, and meaning less than usual.
    pub(crate) fn capability(text: &'a str) -> Self {
        let weights = FusionWeights { meaning: 2.0, by_chance: 0.0, ..FusionWeights::default() };
        Self { is_capability: true, weights, ..Self::new(text) }
    }

    mgp_types::setters! { self =>
        /// Sets the strategy.
        pub fn strategy(strategy: SearchStrategy) => self.strategy = strategy;

        /// Sets the number of tools to find at most.
        pub fn limit(limit: usize) => self.limit = limit;

        /// Searches only among these tools.
        pub fn filter(filter: ToolFilter) => self.filter = filter;

        /// Searches only the tools that may be seen.
        pub fn visible(visible: &'a VisibleTools) => self.visible = Some(visible);

        /// Sets how much words and meaning count in a search by both.
        pub fn weights(weights: FusionWeights) => self.weights = weights;
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchResult {
    /// The tools, the best first.
    pub hits: Vec<SearchHit>,
    /// The actual strategy, if it differs from the one asked for.
    pub fallback: Option<SearchStrategy>,
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchHit {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The fit, from 0 to 1.
    pub score: f32,
    /// The evidence for the tool; none in a search by category.
    pub evidence: MatchEvidence,
}

/// The number of bytes of a query that are embedded.
const MAX_BYTES: usize = 2048;

/// The time that a search waits for the vector of its text; then it goes by words.
const PATIENCE: Duration = Duration::from_secs(2);

impl Snapshot {
    /// Searches the tools of the snapshot.
    pub async fn search(&self, search: &Search<'_>) -> SearchResult {
        match search.strategy {
            SearchStrategy::Keyword => self.by_words(search, &[RequestPart::of(search.text, |_| None)]),
            SearchStrategy::Semantic => {
                let request = vec![RequestPart::of(search.text, |text| self.translated(search, text))];
                self.by_meaning(search, request, None).await
            }
            SearchStrategy::Hybrid => {
                let request = RequestPart::all(search.text, |text| self.translated(search, text));
                self.by_meaning(search, request, Some(&*self.words)).await
            }
            SearchStrategy::Category => self.by_category(search),
        }
    }

    /// Returns a text with the words that tools have for what it says in everyday words, if there are any.
    fn translated(&self, search: &Search<'_>, text: &str) -> Option<String> {
        if search.is_capability {
            return None;
        }
        in_words_of_tools(text, |word| self.words.is_in_a_name(word))
    }

    /// Searches by words, which another strategy falls back to.
    fn by_words(&self, search: &Search<'_>, request: &[RequestPart]) -> SearchResult {
        let hits = self.ranked(search, Some(&*self.words), None, request);
        let is_asked = search.strategy == SearchStrategy::Keyword;
        SearchResult { hits, fallback: (!is_asked).then_some(SearchStrategy::Keyword) }
    }

    /// Searches by meaning, and by `words` if they are given; by words alone, if the meaning is not available.
    async fn by_meaning(
        &self,
        search: &Search<'_>,
        request: Vec<RequestPart>,
        words: Option<&KeywordReader>,
    ) -> SearchResult {
        let meanings = self.meanings(request.iter().map(|part| &*part.meant)).await;
        if meanings.first().is_none_or(Option::is_none) {
            return self.by_words(search, &request);
        }
        let of_parts: Vec<_> = meanings
            .iter()
            .zip(&request)
            .map(|(vector, part)| QueryMeaning::of(vector.as_deref()?, self.embedder.grasps(&part.meant)))
            .collect();
        let hits = self.ranked(search, words, Some((&self.vectors, &*of_parts)), &request);
        SearchResult { hits, fallback: None }
    }

    /// Searches by category; by words instead, if there is no such category.
    fn by_category(&self, search: &Search<'_>) -> SearchResult {
        let name = |slot| self.tools.get(slot).map_or("", |tool| tool.name.as_str());
        let tools = || self.tools.iter().map(|(slot, tool)| (slot, &*tool.categories));
        let found = browse(tools, search.text, search.limit, self.fits(search), name);
        if found.is_empty() && !search.text.trim().is_empty() {
            return self.by_words(search, &[RequestPart::of(search.text, |_| None)]);
        }
        let ranked = |(slot, score)| RankedTool { slot, score, evidence: MatchEvidence::default() };
        SearchResult { hits: self.hits(found.into_iter().map(ranked)), fallback: None }
    }

    fn ranked(
        &self,
        search: &Search<'_>,
        words: Option<&KeywordReader>,
        meanings: Option<(&Vectors, &[Option<QueryMeaning>])>,
        request: &[RequestPart],
    ) -> Vec<SearchHit> {
        if search.limit == 0 {
            return Vec::new();
        }
        let ranking = Ranking {
            words,
            meanings,
            weights: search.weights,
            server: &|slot| self.tools.get(slot).map_or("", |tool| tool.server.as_str()),
            are_twins: &|a, b| self.crowd(search, a, b),
        };
        let mut ranked = ranking.best(request, search.limit.saturating_add(SPARE), &self.fits(search));
        let standing = |slot| self.tools.get(slot).map(|tool| tool.standing).unwrap_or_default();
        prefer(&mut ranked, search.limit, search.text, standing);
        self.hits(ranked)
    }

    /// Returns whether one of two tools has to give way to the other because they say nearly the same.
    fn crowd(&self, search: &Search<'_>, one: Slot, other: Slot) -> bool {
        let Some((one, other)) = self.tools.get(one).zip(self.tools.get(other)) else { return false };
        let is_copied = || {
            letters(one.name.as_str()).eq(letters(other.name.as_str()))
                && (one.gist.has_all_of(&other.gist) || other.gist.has_all_of(&one.gist))
        };
        !search.is_capability && (one.gist.is_nearly(&other.gist) || is_copied())
    }

    fn hits(&self, ranked: impl IntoIterator<Item = RankedTool>) -> Vec<SearchHit> {
        let hit = |RankedTool { slot, score, evidence }| {
            Some(SearchHit { tool: Arc::clone(self.tools.get(slot)?), score, evidence })
        };
        ranked.into_iter().filter_map(hit).collect()
    }

    /// Returns whether a tool may be found.
    fn fits<'a>(&'a self, search: &'a Search<'_>) -> impl Fn(Slot) -> bool + 'a {
        let filter = &search.filter;
        let categories: Vec<_> =
            filter.categories.iter().map(|category| CategoryPath::read(category)).collect();
        let fits = move |slot| {
            let is_asked = |path: &CategoryPath| categories.iter().flatten().any(|wider| path.is_in(wider));
            self.tools.get(slot).is_some_and(|tool| {
                filter.risk_level_max.is_none_or(|most| tool.risk <= most)
                    && filter.status.is_none_or(|state| {
                        self.server(tool.server.as_str()).is_some_and(|server| server.state == state)
                    })
                    && (categories.is_empty() || tool.categories.iter().any(is_asked))
            })
        };
        // Most searches have only this filter, and looking at the tool itself costs more than scoring it.
        let only_callable =
            filter.status.is_none() && filter.risk_level_max.is_none() && filter.categories.is_empty();
        move |slot| {
            search.visible.is_none_or(|visible| visible.sees(slot))
                && (filter.status.is_some() || self.callable.contains(slot))
                && (only_callable || fits(slot))
        }
    }

    /// Returns the vector of each text; `None` for a text without meaning, and for all texts if the embedder fails or
    /// is too slow.
    pub(super) async fn meanings(&self, texts: impl Iterator<Item = &str>) -> Vec<Option<Vec<f32>>> {
        let texts: Vec<&str> = texts.map(|text| &text[..text.floor_char_boundary(MAX_BYTES)]).collect();
        let now: Option<Vec<_>> = texts.iter().map(|text| self.embedder.embed_now(text)).collect();
        let count = texts.len();
        let vectors = match now {
            Some(vectors) => Ok(vectors),
            None => self.embed_later(texts.into_iter().map(Into::into).collect()).await,
        };
        match vectors.and_then(|vectors| checked(vectors, count, self.embedder.dimension())) {
            Ok(vectors) => {
                let says_something = |vector: &Vec<f32>| vector.iter().any(|number| *number != 0.0);
                vectors.into_iter().map(|vector| Some(vector).filter(says_something)).collect()
            }
            Err(error) => {
                tracing::warn!(%error, "a search goes on without vectors");
                vec![None; count]
            }
        }
    }

    async fn embed_later(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let embedded = self.embedder.embed(texts);
        if Handle::try_current().is_err() {
            return embedded.await;
        }
        let late = |_| EmbedError::new("the embedder took too long");
        tokio::time::timeout(PATIENCE, embedded).await.map_err(late)?
    }
}

/// Returns the letters of a name without a suffix that makes a copy of it.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| c.is_alphabetic())
}
