use std::sync::{Arc, OnceLock};

use mgp_types::json::write_string;
use mgp_types::mgp::{NameStyle, ResolvedTool, ServerId};
use mgp_types::{Object, RawJson, UriTemplate};

use super::lookup::Named;
use super::name::Names;

/// A tool, as clients know it.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogTool {
    /// The name that people know it by, `server.tool`.
    pub shown: Arc<str>,
    /// The tool, as its server knows it.
    pub resolved: Arc<ResolvedTool>,
    names: Names,
    written: Written,
}

/// A prompt, as clients know it.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogPrompt {
    /// The name that people know it by, `server.prompt`.
    pub shown: Arc<str>,
    /// The server that has it.
    pub server: ServerId,
    /// What that server calls it.
    pub name: Arc<str>,
    definition: Object,
    names: Names,
    written: Written,
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
    pub(super) template: UriTemplate,
}

impl CatalogTool {
    pub(super) fn new(resolved: Arc<ResolvedTool>) -> Self {
        let (server, name) = (resolved.server.as_str(), resolved.name.as_str());
        let names = Names::new(server, name);
        Self { shown: Arc::clone(names.dots()), names, resolved, written: Written::default() }
    }

    /// Returns the server's definition with the name that a client of this style calls the tool by.
    pub fn definition(&self, style: NameStyle) -> RawJson {
        let ResolvedTool { server, name, definition, .. } = &*self.resolved;
        self.written.get(style, definition, &self.names, || style.write(server.as_str(), name.as_str()))
    }
}

impl CatalogPrompt {
    /// `None` if the definition has no name.
    pub(super) fn read(server: &ServerId, definition: &Object) -> Option<Self> {
        let name: Arc<str> = definition.text("name")?.into();
        let names = Names::new(server.as_str(), &name);
        let (definition, written) = (definition.clone(), Written::default());
        let shown = Arc::clone(names.dots());
        Some(Self { shown, server: server.clone(), name, definition, names, written })
    }

    /// Returns the server's definition with the name that a client of this style gets the prompt by.
    pub fn definition(&self, style: NameStyle) -> RawJson {
        let write = || style.write(self.server.as_str(), &self.name);
        self.written.get(style, &self.definition, &self.names, write)
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
        let template = UriTemplate::read(&uri_template);
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

/// A definition under the two names that most clients know, each written when it is first asked for.
#[derive(Debug, Default)]
struct Written {
    dots: OnceLock<RawJson>,
    underscores: OnceLock<RawJson>,
}

impl Written {
    fn get(
        &self,
        style: NameStyle,
        definition: &Object,
        names: &Names,
        write: impl FnOnce() -> String,
    ) -> RawJson {
        let called = |name: &str| with_text(definition, "name", name);
        match style {
            NameStyle::DOTS => self.dots.get_or_init(|| called(names.dots())).clone(),
            NameStyle::UNDERSCORES => self.underscores.get_or_init(|| called(names.underscores())).clone(),
            _ => called(&write()),
        }
    }
}

impl Named for CatalogTool {
    fn names(&self) -> &Names {
        &self.names
    }
}

impl Named for CatalogPrompt {
    fn names(&self) -> &Names {
        &self.names
    }
}
