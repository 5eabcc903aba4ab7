//! The tools, prompts and resources of all servers, as one list.
//!
//! The code that connects to servers puts their lists into the [`Catalog`]; the code that serves clients reads a
//! [`CatalogSnapshot`], which never changes and never has to be waited for.
//!
//! ```
//! use mgp_discovery::catalog::Catalog;
//! use mgp_types::Object;
//! use mgp_types::mgp::{EffectiveSecurity, NameStyle, ResolvedTool, RiskLevel};
//!
//! let definition = Object::parse(r#"{"name":"read","inputSchema":{"type":"object"}}"#)?;
//! let tool = ResolvedTool::new("files".into(), "read".into(), definition, EffectiveSecurity::new(RiskLevel::Safe));
//!
//! let catalog = Catalog::new();
//! catalog.put_server("files".into(), vec![tool])?;
//! let snapshot = catalog.snapshot();
//! for name in ["files.read", "files/read", "files__read", "files_read", "read"] {
//!     let tool = snapshot.called(name).expect("only one tool is called so");
//!     assert_eq!(&*tool.shown, "files.read");
//! }
//! assert_eq!(
//!     snapshot.tool_list(NameStyle::UNDERSCORES).as_bytes(),
//!     br#"{"tools":[{"name":"files__read","inputSchema":{"type":"object"}}]}"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | | |
//! |---|---|
//! | [`Catalog`] | takes the lists of servers |
//! | [`CatalogSnapshot`] | answers by name and by URI, and has the lists |
//! | [`CatalogTool`], [`CatalogPrompt`], [`CatalogResource`] | single items, under the names they are shown by |
//! | [`ResourceOwner`] | the server that has a resource |

mod name;
mod offer;
mod snapshot;

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use mgp_types::Object;
use mgp_types::mgp::{ResolvedTool, ServerId};
use parking_lot::Mutex;

pub(crate) use self::name::{LONGEST_ID, is_reserved_server, is_written_as_id};
pub use self::offer::{CatalogPrompt, CatalogResource, CatalogTool};
use self::offer::{ServerOffer, firsts};
pub use self::snapshot::{CatalogSnapshot, ResourceOwner};

/// The tools, prompts and resources of all servers, while they change. Clones are the same catalog.
///
/// Readers never wait. Changes are made one after the other; each makes a snapshot that shares all unchanged parts with
/// the previous one.
#[derive(Clone, Default)]
pub struct Catalog(Arc<CatalogInner>);

#[derive(Default)]
struct CatalogInner {
    latest: ArcSwap<CatalogSnapshot>,
    /// The lock that is held while the next snapshot is made.
    change: Mutex<()>,
}

impl Catalog {
    /// Creates an empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the current snapshot, to keep.
    pub fn snapshot(&self) -> Arc<CatalogSnapshot> {
        self.0.latest.load_full()
    }

    /// Returns the current snapshot, to look at, without counting a reference.
    pub fn read(&self) -> Guard<Arc<CatalogSnapshot>> {
        self.0.latest.load()
    }

    /// Replaces all tools of `server` by `tools`. Returns whether anything changed.
    ///
    /// # Errors
    /// The id of the server is reserved, or empty.
    pub fn put_server(&self, server: ServerId, tools: Vec<Arc<ResolvedTool>>) -> Result<bool, CatalogError> {
        self.put(server, CatalogSnapshot::gather_tools, |offer, server| offer.with_tools(server, tools))
    }

    /// Replaces all prompts of `server` by `prompts`, as they were listed. Returns whether anything changed.
    ///
    /// # Errors
    /// The id of the server is reserved, or empty.
    pub fn put_prompts(&self, server: ServerId, prompts: Vec<Object>) -> Result<bool, CatalogError> {
        self.put(server, CatalogSnapshot::gather_prompts, |offer, server| offer.with_prompts(server, prompts))
    }

    /// Replaces all resources of `server` by `resources`, as they were listed. Returns whether anything changed.
    ///
    /// # Errors
    /// The id of the server is reserved, or empty.
    pub fn put_resources(&self, server: ServerId, resources: Vec<Object>) -> Result<bool, CatalogError> {
        self.put(server, CatalogSnapshot::gather_resources, |offer, server| {
            offer.with_resources(server, false, resources)
        })
    }

    /// Replaces all templates of `server` by `templates`, as they were listed. Returns whether anything changed.
    ///
    /// # Errors
    /// The id of the server is reserved, or empty.
    pub fn put_templates(&self, server: ServerId, templates: Vec<Object>) -> Result<bool, CatalogError> {
        self.put(server, CatalogSnapshot::gather_templates, |offer, server| {
            offer.with_resources(server, true, templates)
        })
    }

    /// Replaces all that `server` offers by the union of `shares`, each from a connection of its own. Of an item in
    /// several shares the first counts. Returns whether anything changed.
    ///
    /// # Errors
    /// The id of the server is reserved, or empty.
    pub fn put_shares(
        &self,
        server: &ServerId,
        shares: &[Arc<CatalogSnapshot>],
    ) -> Result<bool, CatalogError> {
        let offers: Vec<_> = shares.iter().filter_map(|share| share.servers.get(server)).collect();
        let tools = offers.iter().flat_map(|offer| &offer.tools).map(|tool| Arc::clone(&tool.resolved));
        let prompts = offers.iter().flat_map(|offer| &offer.prompts_listed).cloned();
        let definition = |resource: &Arc<CatalogResource>| resource.definition.clone();
        let resources = offers.iter().flat_map(|offer| &offer.resources).map(definition);
        let templates = offers.iter().flat_map(|offer| &offer.templates).map(definition);
        let text = |member| move |object: &Object| object.text(member).map(|text| Box::<str>::from(&*text));
        let changes = [
            self.put_server(server.clone(), firsts(tools, |tool| tool.name.clone()))?,
            self.put_prompts(server.clone(), firsts(prompts, text("name")))?,
            self.put_resources(server.clone(), firsts(resources, text("uri")))?,
            self.put_templates(server.clone(), firsts(templates, text("uriTemplate")))?,
        ];
        Ok(changes.contains(&true))
    }

    /// Removes all that `server` offered. Returns whether there was anything.
    pub fn remove_server(&self, server: &ServerId) -> bool {
        let _change = self.0.change.lock();
        let latest = self.snapshot();
        let mut servers = latest.servers.clone();
        if servers.remove(server).is_none() {
            return false;
        }
        let next = latest.next(servers, |next| {
            next.gather_tools();
            next.gather_prompts();
            next.gather_resources();
            next.gather_templates();
        });
        self.0.latest.store(Arc::new(next));
        true
    }

    fn put(
        &self,
        server: ServerId,
        gather: fn(&mut CatalogSnapshot),
        change: impl FnOnce(&ServerOffer, &ServerId) -> Option<ServerOffer>,
    ) -> Result<bool, CatalogError> {
        if server.as_str().is_empty() {
            return Err(CatalogError::Unnamed);
        }
        if is_reserved_server(server.as_str()) {
            return Err(CatalogError::Reserved(server));
        }
        let _change = self.0.change.lock();
        let latest = self.snapshot();
        let known = latest.servers.get(&server).cloned();
        let is_new = known.is_none();
        let changed = match change(&known.unwrap_or_default(), &server) {
            Some(offer) => Arc::new(offer),
            None if is_new => Arc::default(),
            None => return Ok(false),
        };
        let mut servers = latest.servers.clone();
        servers.insert(server, changed);
        self.0.latest.store(Arc::new(latest.next(servers, gather)));
        Ok(true)
    }
}

mgp_types::partial_debug!(Catalog, self =>
    generation: self.read().generation(),
    servers: self.read().servers.len(),
    tools: self.read().tools().len(),
);

/// The reason why a server was not taken into the catalog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The id is reserved: the names of the server's tools would be those of the kernel.
    #[error(
        "the server id {0:?} is reserved: choose one that is not `mgp` and does not begin with `mgp.`, `mgp/` or `mgp_`"
    )]
    Reserved(ServerId),
    /// The id is empty.
    #[error("a server id must not be empty")]
    Unnamed,
}

#[cfg(test)]
mod tests;
