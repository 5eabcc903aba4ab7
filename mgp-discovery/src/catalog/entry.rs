use std::sync::Arc;

use mgp_types::json::write_string;
use mgp_types::mgp::{ResolvedTool, ServerId};
use mgp_types::{Object, RawJson};

use super::name::{other_forms, shown_name};
use super::names::Named;
use super::uri::Template;

/// A tool, as clients know it.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogTool {
    /// The name that clients call it by.
    pub shown: Arc<str>,
    /// The server's definition, with the member `name` replaced.
    pub definition: RawJson,
    /// The tool, as its server knows it.
    pub resolved: Arc<ResolvedTool>,
    forms: Box<[Arc<str>]>,
}

/// A prompt, as clients know it.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogPrompt {
    /// The name that clients get it by.
    pub shown: Arc<str>,
    /// The server's definition, with the member `name` replaced.
    pub definition: RawJson,
    /// The server that has it.
    pub server: ServerId,
    /// What that server calls it.
    pub name: Arc<str>,
    forms: Box<[Arc<str>]>,
}

/// A resource.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogResource {
    /// The server that has it.
    pub server: ServerId,
    /// Its URI there.
    pub uri: Arc<str>,
    /// The server's definition.
    pub definition: Object,
}

/// A template for URIs of resources.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogTemplate {
    /// The server that has it.
    pub server: ServerId,
    /// The template there.
    pub uri_template: Arc<str>,
    /// The server's definition.
    pub definition: Object,
    pub(super) template: Template,
}

impl CatalogTool {
    pub(super) fn new(resolved: Arc<ResolvedTool>) -> Self {
        let (server, name) = (resolved.server.as_str(), resolved.name.as_str());
        let (shown, forms) = names(server, name);
        let definition = with_text(&resolved.definition, "name", &shown);
        Self { shown, definition, resolved, forms }
    }
}

impl CatalogPrompt {
    /// `None` if the definition has no name.
    pub(super) fn read(server: &ServerId, definition: &Object) -> Option<Self> {
        let name: Arc<str> = definition.text("name")?.into();
        let (shown, forms) = names(server.as_str(), &name);
        let definition = with_text(definition, "name", &shown);
        Some(Self { shown, definition, server: server.clone(), name, forms })
    }
}

impl CatalogResource {
    /// `None` if the definition has no URI.
    pub(super) fn read(server: &ServerId, definition: Object) -> Option<Self> {
        let uri = definition.text("uri").filter(|uri| !uri.is_empty())?.into();
        Some(Self { server: server.clone(), uri, definition })
    }
}

impl CatalogTemplate {
    /// `None` if the definition has no template.
    pub(super) fn read(server: &ServerId, definition: Object) -> Option<Self> {
        let uri_template: Arc<str> = definition.text("uriTemplate").filter(|uri| !uri.is_empty())?.into();
        let template = Template::read(&uri_template);
        Some(Self { server: server.clone(), uri_template, definition, template })
    }
}

/// The definition with the text of one member replaced.
pub(super) fn with_text(definition: &Object, member: &str, text: &str) -> RawJson {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    write_string(&mut quoted, text);
    let mut definition = definition.clone();
    definition.set(member, RawJson::from_written(quoted));
    definition.to_raw()
}

fn names(server: &str, name: &str) -> (Arc<str>, Box<[Arc<str>]>) {
    let shown = shown_name(server, name);
    let forms = other_forms(server, name, &shown).into_iter().map(Arc::from).collect();
    (shown.into(), forms)
}

impl Named for CatalogTool {
    fn shown(&self) -> &Arc<str> {
        &self.shown
    }

    fn other_forms(&self) -> &[Arc<str>] {
        &self.forms
    }
}

impl Named for CatalogPrompt {
    fn shown(&self) -> &Arc<str> {
        &self.shown
    }

    fn other_forms(&self) -> &[Arc<str>] {
        &self.forms
    }
}
