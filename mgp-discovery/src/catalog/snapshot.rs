//! Snapshots of the catalog, in which clients look up names and URIs.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use mgp_types::RawJson;
use mgp_types::mgp::{NameStyle, ServerId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::name::{Lookup, near};
use super::offer::{
    CatalogPrompt, CatalogResource, CatalogTool, ServerOffer, TextByStyle, list, uri_member, with_text,
    written_once,
};

/// The tools, prompts and resources of all servers at one time. A snapshot does not change.
///
/// All lists are in the order of the servers' ids, and for each server in its own order. A list that did not change is
/// shared with the snapshot before.
#[derive(Debug, Clone, Default)]
pub struct CatalogSnapshot {
    generation: u64,
    pub(super) servers: BTreeMap<ServerId, Arc<ServerOffer>>,
    tools: Arc<Vec<Arc<CatalogTool>>>,
    tool_names: Arc<Lookup>,
    prompts: Arc<Vec<Arc<CatalogPrompt>>>,
    prompt_names: Arc<Lookup>,
    /// The first server of each resource.
    resources: Arc<UriOwners>,
    templates: Arc<UriOwners>,
    tool_list: Arc<TextByStyle>,
    prompt_list: Arc<TextByStyle>,
    resource_list: Arc<OnceLock<RawJson>>,
    template_list: Arc<OnceLock<RawJson>>,
}

type UriOwners = HashMap<Arc<str>, ServerId, RandomState>;

impl CatalogSnapshot {
    /// Returns a number that grows with each snapshot of a catalog.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the tool that is meant by `name`: the name it is shown by, or another form that no other tool has.
    ///
    /// A shown name may have any [`NameStyle`]; the other forms are the tool's own name, `server/tool`, and the shown
    /// name with `_` for each `.`. The look-up allocates nothing.
    pub fn called(&self, name: &str) -> Option<&Arc<CatalogTool>> {
        self.tools.get(self.tool_names.place(name)?)
    }

    /// Returns the tool `name` of `server`, both as configured and listed.
    pub fn tool(&self, server: &str, name: &str) -> Option<&Arc<CatalogTool>> {
        self.servers.get(server)?.tool(name)
    }

    /// Returns all tools.
    pub fn tools(&self) -> &[Arc<CatalogTool>] {
        &self.tools
    }

    /// Returns the tools of one server.
    pub fn of_server(&self, server: &str) -> &[Arc<CatalogTool>] {
        self.servers.get(server).map_or(&[], |offer| &offer.tools)
    }

    /// Returns a few tools whose names are written nearly like `name`, of those that the caller may see.
    pub fn near(&self, name: &str, may_see: impl Fn(&CatalogTool) -> bool) -> Vec<&Arc<CatalogTool>> {
        let known = self.tools.iter().map(|tool| (&*tool.shown, tool.resolved.name.as_str(), &**tool));
        near(name, known, may_see).into_iter().filter_map(|shown| self.called(shown)).collect()
    }

    /// Returns the prompt that is meant by `name`, by the rules of [`called`](Self::called).
    pub fn prompt(&self, name: &str) -> Option<&Arc<CatalogPrompt>> {
        self.prompts.get(self.prompt_names.place(name)?)
    }

    /// Returns all prompts.
    pub fn prompts(&self) -> &[Arc<CatalogPrompt>] {
        &self.prompts
    }

    /// Returns all resources, including those that are listed under a URI of another server.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<CatalogResource>> {
        self.servers.values().flat_map(|offer| &offer.resources)
    }

    /// Returns all templates.
    pub fn templates(&self) -> impl Iterator<Item = &Arc<CatalogResource>> {
        self.servers.values().flat_map(|offer| &offer.templates)
    }

    /// Returns which of the servers that `may_be` allows has the resource `uri`, and the URI of the resource there.
    ///
    /// The owner is, in this order: the server that `mgp://SERVER/URI` names; the first server that lists the URI; the
    /// server whose template matches the longest part of the URI before its first variable.
    pub fn resource_owner<'a>(
        &'a self,
        uri: &'a str,
        may_be: impl Fn(&ServerId) -> bool,
    ) -> Option<ResourceOwner<'a>> {
        if let Some(named) = self.named(uri) {
            return Some(named).filter(|named| may_be(named.server));
        }
        let lists = |offer: &ServerOffer| offer.resources.iter().any(|resource| *resource.uri == *uri);
        if let Some(server) = self.first(self.resources.get(uri), lists, &may_be) {
            return Some(ResourceOwner { server, uri });
        }
        let mut best: Option<(usize, &ServerId)> = None;
        for template in self.templates() {
            let Some(known) = template.template.as_ref().and_then(|own| own.matches(uri)) else { continue };
            if best.is_none_or(|(most, _)| known > most) && may_be(&template.server) {
                best = Some((known, &template.server));
            }
        }
        best.map(|(_, server)| ResourceOwner { server, uri })
    }

    /// Returns which of the servers that `may_be` allows has the template, and the template there; for completions.
    pub fn template_owner<'a>(
        &'a self,
        template: &'a str,
        may_be: impl Fn(&ServerId) -> bool,
    ) -> Option<ResourceOwner<'a>> {
        if let Some(named) = self.named(template) {
            return Some(named).filter(|named| may_be(named.server));
        }
        let lists = |offer: &ServerOffer| offer.templates.iter().any(|listed| *listed.uri == *template);
        let server = self.first(self.templates.get(template), lists, may_be)?;
        Some(ResourceOwner { server, uri: template })
    }

    /// Returns whether a server lists resources, or templates of them, under URIs of this scheme.
    pub fn has_scheme(&self, server: &str, scheme: &str) -> bool {
        let is_of = |uri: &str| uri.split_once(':').is_some_and(|(own, _)| own.eq_ignore_ascii_case(scheme));
        self.servers.get(server).is_some_and(|offer| {
            offer.resources.iter().chain(&offer.templates).any(|resource| is_of(&resource.uri))
        })
    }

    /// Returns the result of `tools/list`, with all tools, for a client whose names are of this style.
    pub fn tool_list(&self, style: NameStyle) -> RawJson {
        let tools = self.tools.iter().map(|tool| tool.definition(style));
        self.tool_list.get(style, || list("tools", tools))
    }

    /// Returns the result of `prompts/list`, with all prompts, for a client whose names are of this style.
    pub fn prompt_list(&self, style: NameStyle) -> RawJson {
        let prompts = self.prompts.iter().map(|prompt| prompt.definition(style));
        self.prompt_list.get(style, || list("prompts", prompts))
    }

    /// Returns the result of `resources/list`, with all resources. A resource whose URI an earlier server has too is
    /// listed under `mgp://SERVER/URI`.
    pub fn resource_list(&self) -> RawJson {
        let resources = self.resources().map(|resource| self.listed(resource));
        written_once(&self.resource_list, || list("resources", resources))
    }

    /// Returns the result of `resources/templates/list`, with all templates.
    pub fn template_list(&self) -> RawJson {
        let templates = self.templates().map(|template| self.listed(template));
        written_once(&self.template_list, || list("resourceTemplates", templates))
    }

    /// Returns the definition of a resource or template as clients see it.
    pub fn listed(&self, resource: &CatalogResource) -> RawJson {
        let CatalogResource { server, uri, definition, .. } = resource;
        let is_template = resource.template.is_some();
        let owners = if is_template { &self.templates } else { &self.resources };
        match owners.get(uri) {
            Some(owner) if owner != server => {
                with_text(definition, uri_member(is_template), &qualified(server, uri))
            }
            _ => definition.to_raw(),
        }
    }

    /// Returns the next snapshot, of `servers`, whose changed lists `gather` makes anew.
    pub(super) fn next(
        &self,
        servers: BTreeMap<ServerId, Arc<ServerOffer>>,
        gather: impl FnOnce(&mut Self),
    ) -> Self {
        let mut next = Self { generation: self.generation + 1, servers, ..self.clone() };
        gather(&mut next);
        next
    }

    pub(super) fn gather_tools(&mut self) {
        let tools: Vec<_> = self.servers.values().flat_map(|offer| &offer.tools).cloned().collect();
        self.tool_names = Arc::new(Lookup::of(&tools, |tool| &tool.names));
        self.tools = Arc::new(tools);
        self.tool_list = Arc::default();
    }

    pub(super) fn gather_prompts(&mut self) {
        let prompts: Vec<_> = self.servers.values().flat_map(|offer| &offer.prompts).cloned().collect();
        self.prompt_names = Arc::new(Lookup::of(&prompts, |prompt| &prompt.names));
        self.prompts = Arc::new(prompts);
        self.prompt_list = Arc::default();
    }

    pub(super) fn gather_resources(&mut self) {
        self.resources = Arc::new(owners(self.resources()));
        self.resource_list = Arc::default();
    }

    pub(super) fn gather_templates(&mut self) {
        self.templates = Arc::new(owners(self.templates()));
        self.template_list = Arc::default();
    }

    /// Returns the first server that `may_be` allows and for which `lists` holds; `owner` is the first without regard
    /// to `may_be`.
    fn first<'a>(
        &'a self,
        owner: Option<&'a ServerId>,
        lists: impl Fn(&ServerOffer) -> bool,
        may_be: impl Fn(&ServerId) -> bool,
    ) -> Option<&'a ServerId> {
        let owner = owner?;
        if may_be(owner) {
            return Some(owner);
        }
        let mut later = self.servers.range::<ServerId, _>((Bound::Excluded(owner), Bound::Unbounded));
        later.find(|(server, offer)| lists(offer) && may_be(server)).map(|(server, _)| server)
    }

    /// Returns the server that the URI itself names.
    fn named<'a>(&'a self, uri: &'a str) -> Option<ResourceOwner<'a>> {
        let (server, uri) = parts(uri)?;
        let (server, _) = self.servers.get_key_value(&*server)?;
        Some(ResourceOwner { server, uri })
    }
}

fn owners<'a>(all: impl Iterator<Item = &'a Arc<CatalogResource>>) -> UriOwners {
    let mut owners = UriOwners::default();
    for resource in all {
        owners.entry(resource.uri.clone()).or_insert_with(|| resource.server.clone());
    }
    owners
}

/// The server that has a resource, and its URI there.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceOwner<'a> {
    /// The server.
    pub server: &'a ServerId,
    /// The URI of the resource at its server.
    pub uri: &'a str,
}

const SCHEME: &str = "mgp://";

/// The characters that an id in a URI is not written with.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'.').remove(b'-');

/// Returns the URI of a resource whose own URI another server has too: `mgp://SERVER/URI`.
fn qualified(server: &ServerId, uri: &str) -> String {
    format!("{SCHEME}{}/{uri}", utf8_percent_encode(server.as_str(), ESCAPED))
}

/// Splits `mgp://SERVER/URI` into the server, escaped, and the URI there; `None` for any other URI.
fn parts(uri: &str) -> Option<(Cow<'_, str>, &str)> {
    let (server, uri) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let server = percent_decode_str(server).decode_utf8().ok()?;
    Some((server, uri)).filter(|(_, uri)| !uri.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qualified_uri_is_read_back_whatever_the_server_is_called() {
        for (server, uri) in
            [("files", "file:///a?b#c"), ("a b/ü%", "x"), ("mind.cerebras", "mgp://other/mgp://x/y")]
        {
            let qualified = qualified(&server.into(), uri);
            assert_eq!(parts(&qualified), Some((Cow::Borrowed(server), uri)), "{qualified}");
        }
        for wrong in ["file:///a", "mgp://files", "mgp://files/", "mgp://%FF/x"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
