//! Single tools, prompts, resources and templates of the catalog.

use std::sync::{Arc, OnceLock};

use mgp_types::json::write_string;
use mgp_types::mgp::{NameStyle, ResolvedTool, ServerId};
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
