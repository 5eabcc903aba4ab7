//! The offer of one server, shared by snapshots.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::Object;
use mgp_types::mgp::{ResolvedTool, ServerId, ToolName};

use super::entry::{CatalogPrompt, CatalogResource, CatalogTool};

/// All that one server offers. Snapshots share an offer for as long as it does not change.
#[derive(Debug, Clone, Default)]
pub(super) struct ServerOffer {
    pub(super) tools: Vec<Arc<CatalogTool>>,
    /// The positions of the tools, by the server's names.
    pub(super) places: Arc<HashMap<ToolName, u32, RandomState>>,
    pub(super) prompts: Vec<Arc<CatalogPrompt>>,
    pub(super) resources: Vec<Arc<CatalogResource>>,
    pub(super) templates: Vec<Arc<CatalogResource>>,
    /// The prompts as they were listed, to see whether a later list differs.
    pub(super) prompts_listed: Vec<Object>,
}

impl ServerOffer {
    /// Returns the offer with other tools; `None` if the tools are the same.
    pub(super) fn with_tools(&self, server: &ServerId, tools: Vec<Arc<ResolvedTool>>) -> Option<Self> {
        let tools = bounded(server, "tools", tools);
        let tools = once(server, "tool", tools, |tool| tool.name.clone());
        let is_same = tools.len() == self.tools.len()
            && tools.iter().zip(&self.tools).all(|(new, old)| *new == old.resolved);
        if is_same {
            return None;
        }
        let places = (0..).zip(&tools).map(|(place, tool)| (tool.name.clone(), place)).collect();
        let tools = tools.into_iter().map(|tool| self.kept(tool)).collect();
        Some(Self { tools, places: Arc::new(places), ..self.clone() })
    }

    /// Returns the offer with other prompts; `None` if the prompts are the same.
    pub(super) fn with_prompts(&self, server: &ServerId, listed: Vec<Object>) -> Option<Self> {
        let prompts_listed = bounded(server, "prompts", listed);
        if prompts_listed == self.prompts_listed {
            return None;
        }
        let read = prompts_listed.iter().filter_map(|prompt| CatalogPrompt::read(server, prompt));
        let prompts = once(server, "prompt", read, |prompt| prompt.name.clone());
        let prompts = prompts.into_iter().map(Arc::new).collect();
        Some(Self { prompts, prompts_listed, ..self.clone() })
    }

    /// Returns the offer with other resources, or templates; `None` if they are the same.
    pub(super) fn with_resources(
        &self,
        server: &ServerId,
        is_template: bool,
        listed: Vec<Object>,
    ) -> Option<Self> {
        let (what, old) = if is_template {
            ("resource templates", &self.templates)
        } else {
            ("resources", &self.resources)
        };
        let listed = bounded(server, what, listed);
        let read = listed.into_iter();
        let read = read.filter_map(|resource| CatalogResource::read(server, is_template, resource));
        let new = once(server, what, read, |resource| resource.uri.clone());
        if new.iter().map(|one| &one.definition).eq(old.iter().map(|one| &one.definition)) {
            return None;
        }
        let mut offer = self.clone();
        let place = if is_template { &mut offer.templates } else { &mut offer.resources };
        *place = new.into_iter().map(Arc::new).collect();
        Some(offer)
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Arc<CatalogTool>> {
        self.tools.get(*self.places.get(name)? as usize)
    }

    /// Returns the previous entry of the tool, if the tool has not changed.
    fn kept(&self, tool: Arc<ResolvedTool>) -> Arc<CatalogTool> {
        match self.tool(tool.name.as_str()) {
            Some(known) if known.resolved == tool => known.clone(),
            _ => Arc::new(CatalogTool::new(tool)),
        }
    }
}

/// Returns the first item of each key: of a name that a server lists twice, the first counts.
fn once<T, K: Eq + Hash>(
    server: &ServerId,
    kind: &'static str,
    listed: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let mut all = 0;
    let first = firsts(listed.into_iter().inspect(|_| all += 1), key);
    for _ in first.len()..all {
        tracing::warn!(%server, kind, "a server lists the same name twice; the first one counts");
    }
    first
}

/// Returns the first item of each key.
pub(super) fn firsts<T, K: Eq + Hash>(all: impl Iterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut seen = HashSet::with_hasher(RandomState::default());
    all.filter(|item| seen.insert(key(item))).collect()
}

/// The number of items of one kind that one server may offer.
const MAX_ITEMS: usize = 20_000;

fn bounded<T>(server: &ServerId, kind: &'static str, mut listed: Vec<T>) -> Vec<T> {
    if listed.len() > MAX_ITEMS {
        tracing::warn!(%server, kind, listed = listed.len(), most = MAX_ITEMS, "a server lists too many items; the rest is left out");
        listed.truncate(MAX_ITEMS);
    }
    listed
}
