//! The catalog: all tools, prompts and resources that a server offers at one moment.

mod section;

use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::{RawJson, Revision};

pub(crate) use self::section::{CatalogSection, ListDialect, ListEntry};
use crate::completion::Completers;
use crate::method::ErasedMethod;
use crate::prompt::PromptEntry;
use crate::resource::{ResourceEntry, TemplateEntry};
use crate::tool::ToolEntry;

/// All tools, prompts and resources that a server offers, as one unchanging whole. Versions share sections, so a change
/// of one keeps the lists of the others.
#[derive(Clone)]
pub(crate) struct Catalog {
    pub(crate) tools: Arc<CatalogSection<ToolEntry>>,
    pub(crate) prompts: Arc<CatalogSection<PromptEntry>>,
    pub(crate) resources: Arc<CatalogSection<ResourceEntry>>,
    pub(crate) templates: Arc<CatalogSection<TemplateEntry>>,
    pub(crate) completers: Arc<Completers>,
    pub(crate) methods: Arc<HashMap<Box<str>, ErasedMethod>>,
}

/// The page size of a list without pages.
const ALL: usize = usize::MAX;

impl Default for Catalog {
    fn default() -> Self {
        Self {
            tools: Arc::new(CatalogSection::new(ALL)),
            prompts: Arc::new(CatalogSection::new(ALL)),
            resources: Arc::new(CatalogSection::new(ALL)),
            templates: Arc::new(CatalogSection::new(ALL)),
            completers: Arc::default(),
            methods: Arc::default(),
        }
    }
}

impl Catalog {
    pub(crate) fn set_page_size(&mut self, size: usize) {
        Arc::make_mut(&mut self.tools).set_page_size(size);
        Arc::make_mut(&mut self.prompts).set_page_size(size);
        Arc::make_mut(&mut self.resources).set_page_size(size);
        Arc::make_mut(&mut self.templates).set_page_size(size);
    }

    /// Returns the tools as the latest revision lists them, with the members of MGP.
    pub(crate) fn definitions(&self) -> Vec<RawJson> {
        let dialect = ListDialect { revision: Revision::LATEST, tool_security: true };
        self.tools.iter().filter_map(|tool| RawJson::from_value(&tool.wire(dialect)).ok()).collect()
    }
}
