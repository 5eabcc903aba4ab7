//! The catalog: all tools, prompts and resources that a server offers at one moment.

mod section;

use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::{RawJson, Revision};

pub(crate) use self::section::{Dialect, Listed, Section};
use crate::completion::Completers;
use crate::method::DynMethod;
use crate::prompt::PromptEntry;
use crate::resource::{ResourceEntry, TemplateEntry};
use crate::tool::ToolEntry;

/// All tools, prompts and resources that a server offers, as one unchanging whole. Versions share sections, so a change
/// of one keeps the lists of the others.
#[derive(Clone)]
pub(crate) struct Catalog {
    pub(crate) tools: Arc<Section<ToolEntry>>,
    pub(crate) prompts: Arc<Section<PromptEntry>>,
    pub(crate) resources: Arc<Section<ResourceEntry>>,
    pub(crate) templates: Arc<Section<TemplateEntry>>,
    pub(crate) completers: Arc<Completers>,
    pub(crate) methods: Arc<HashMap<Box<str>, Arc<dyn DynMethod>>>,
}

/// The page size of a list without pages.
const ALL: usize = usize::MAX;

impl Default for Catalog {
    fn default() -> Self {
        Self {
            tools: Arc::new(Section::new(ALL)),
            prompts: Arc::new(Section::new(ALL)),
            resources: Arc::new(Section::new(ALL)),
            templates: Arc::new(Section::new(ALL)),
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
        let dialect = Dialect { revision: Revision::LATEST, tool_security: true };
        self.tools.iter().filter_map(|tool| RawJson::from_value(&tool.wire(dialect)).ok()).collect()
    }
}
