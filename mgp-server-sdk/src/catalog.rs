//! The catalog: all tools, prompts and resources that a server offers at one moment.

use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::RawJson;

#[cfg(feature = "ext")]
use crate::change::Change;
use crate::completion::Completers;
use crate::list::{EntryList, ListDialect, ListEntry};
use crate::method::ErasedMethod;
use crate::prompt::PromptEntry;
use crate::resource::{ResourceEntry, TemplateEntry};
use crate::tool::ToolEntry;

/// All tools, prompts and resources that a server offers, as one unchanging whole. Versions share sections, so a change
/// of one keeps the lists of the others.
#[derive(Clone, Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Arc<EntryList<ToolEntry>>,
    pub(crate) prompts: Arc<EntryList<PromptEntry>>,
    pub(crate) resources: Arc<EntryList<ResourceEntry>>,
    pub(crate) templates: Arc<EntryList<TemplateEntry>>,
    pub(crate) completers: Arc<Completers>,
    pub(crate) methods: Arc<HashMap<Box<str>, ErasedMethod>>,
}

impl Catalog {
    pub(crate) fn set_page_size(&mut self, size: usize) {
        Arc::make_mut(&mut self.tools).page_size = size;
        Arc::make_mut(&mut self.prompts).page_size = size;
        Arc::make_mut(&mut self.resources).page_size = size;
        Arc::make_mut(&mut self.templates).page_size = size;
    }

    /// Removes the cached contents that a change concerns.
    #[cfg(feature = "ext")]
    pub(crate) fn forget_contents(&self, change: &Change) {
        let caches = self.resources.iter().filter_map(|entry| entry.source.cached_in());
        for cache in caches.chain(self.templates.iter().filter_map(|entry| entry.source.cached_in())) {
            match change {
                Change::Resources => cache.clear(),
                Change::Updated(uri) => cache.invalidate(uri),
                Change::Tools | Change::Prompts | Change::Task(_) => {}
            }
        }
    }

    /// Returns the tools as the latest revision lists them, with the members of MGP.
    pub(crate) fn definitions(&self) -> Vec<RawJson> {
        let tools = self.tools.iter();
        tools.filter_map(|tool| RawJson::from_value(&tool.wire(ListDialect::LATEST)).ok()).collect()
    }

    /// Returns one of the [`definitions`](Self::definitions).
    #[cfg(feature = "ext")]
    pub(crate) fn definition(&self, name: &str) -> Option<RawJson> {
        RawJson::from_value(&self.tools.get(name)?.wire(ListDialect::LATEST)).ok()
    }
}
