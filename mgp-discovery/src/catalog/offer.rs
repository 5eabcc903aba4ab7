//! The offer of one server, shared by snapshots, and its single tools, prompts, resources and templates.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use mgp_types::json::write_string;
use mgp_types::mgp::{NameStyle, ResolvedTool, ServerId, ToolName};
use mgp_types::{Object, RawJson, UriTemplate};

use super::name::CatalogNames;

/// A tool, as clients know it.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogTool {
    /// The name that people know the tool by, `server.tool`.
    pub shown: Arc<str>,
    /// The tool, as its server knows it.
    pub resolved: Arc<ResolvedTool>,
    pub(super) names: CatalogNames,
    written: TextByStyle,
}

/// A prompt, as clients know it.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogPrompt {
    /// The name that people know the prompt by, `server.prompt`.
    pub shown: Arc<str>,
    /// The server that has it.
    pub server: ServerId,
    /// The name of the prompt at its server.
    pub name: Arc<str>,
    definition: Object,
    pub(super) names: CatalogNames,
    written: TextByStyle,
}

/// A resource, or a template for URIs of resources.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogResource {
    /// The server that has it.
    pub server: ServerId,
    /// The URI of the resource at its server, or the template.
    pub uri: Arc<str>,
    /// The server's definition.
    pub definition: Object,
    pub(super) template: Option<UriTemplate>,
}

impl CatalogTool {
    pub(super) fn new(resolved: Arc<ResolvedTool>) -> Self {
        let (server, name) = (resolved.server.as_str(), resolved.name.as_str());
        let names = CatalogNames::new(server, name);
        Self { shown: Arc::clone(&names.dots), names, resolved, written: TextByStyle::default() }
    }

    /// Returns the server's definition with the name that a client of this style calls the tool by.
    pub fn definition(&self, style: NameStyle) -> RawJson {
        let ResolvedTool { server, name, definition, .. } = &*self.resolved;
        let called = || style.write(server.as_str(), name.as_str());
        self.written.get(style, || with_text(definition, "name", &called()))
    }
}

impl CatalogPrompt {
    /// Reads a listed prompt; `None` if the definition has no name.
    pub(super) fn read(server: &ServerId, definition: &Object) -> Option<Self> {
        let name: Arc<str> = definition.text("name")?.into();
        let names = CatalogNames::new(server.as_str(), &name);
        let (definition, written) = (definition.clone(), TextByStyle::default());
        let shown = Arc::clone(&names.dots);
        Some(Self { shown, server: server.clone(), name, definition, names, written })
    }

    /// Returns the server's definition with the name that a client of this style gets the prompt by.
    pub fn definition(&self, style: NameStyle) -> RawJson {
        let called = || style.write(self.server.as_str(), &self.name);
        self.written.get(style, || with_text(&self.definition, "name", &called()))
    }
}

impl CatalogResource {
    /// Reads a listed resource or template; `None` if the definition has no URI.
    pub(super) fn read(server: &ServerId, is_template: bool, definition: Object) -> Option<Self> {
        let uri = definition.text(uri_member(is_template)).filter(|uri| !uri.is_empty())?;
        let uri: Arc<str> = uri.into();
        let template = is_template.then(|| UriTemplate::read(&uri));
        Some(Self { server: server.clone(), uri, definition, template })
    }
}

/// Returns the member of a definition that has the URI, or the template.
pub(super) const fn uri_member(is_template: bool) -> &'static str {
    if is_template { "uriTemplate" } else { "uri" }
}

/// Returns the definition with the text of one member replaced.
pub(super) fn with_text(definition: &Object, member: &'static str, text: &str) -> RawJson {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    write_string(&mut quoted, text);
    let mut definition = definition.clone();
    definition.set(member, RawJson::from_written(quoted));
    definition.to_raw()
}

/// A text in the two styles of names that most clients have, each written when it is first asked for.
#[derive(Debug, Default)]
pub(super) struct TextByStyle {
    dots: OnceLock<RawJson>,
    underscores: OnceLock<RawJson>,
}

impl TextByStyle {
    /// Returns the text in this style, which `write` writes.
    pub(super) fn get(&self, style: NameStyle, write: impl FnOnce() -> RawJson) -> RawJson {
        match style {
            NameStyle::DOTS => written_once(&self.dots, write),
            NameStyle::UNDERSCORES => written_once(&self.underscores, write),
            _ => write(),
        }
    }
}

/// Returns the text that was written first. Two callers who ask first at the same time both write it, so that neither waits.
pub(super) fn written_once(text: &OnceLock<RawJson>, write: impl FnOnce() -> RawJson) -> RawJson {
    if let Some(written) = text.get() {
        return written.clone();
    }
    let written = write();
    let _ = text.set(written.clone());
    written
}

/// Returns a list as it stands in a result: `{"member":[...]}`.
pub(super) fn list(member: &str, items: impl Iterator<Item = RawJson>) -> RawJson {
    let items: Vec<_> = items.collect();
    let size: usize = items.iter().map(|item| item.as_bytes().len() + 1).sum();
    let mut out = Vec::with_capacity(size + member.len() + 6);
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(member.as_bytes());
    out.extend_from_slice(b"\":[");
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item.as_bytes());
    }
    out.extend_from_slice(b"]}");
    RawJson::from_written(out)
}

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
