//! The handle of a running server.

use std::sync::{Arc, OnceLock};

use mgp_types::RawJson;

use crate::catalog::Catalog;
use crate::change::Change;
use crate::cx::Cx;
use crate::error::Error;
use crate::prompt::{Prompt, PromptEntry, PromptHandler};
use crate::resource::{Resource, ResourceEntry, ResourceHandler, ResourceTemplate, TemplateEntry};
use crate::server_shared::ServerShared;
use crate::tool::{Tool, ToolEntry, ToolHandler};

impl Cx {
    /// Returns a handle of the server that runs the call, to change its catalog.
    pub fn server(&self) -> ServerHandle {
        let handle = ServerHandle::default();
        if let Ok(shared) = ServerShared::of(self.extras()) {
            handle.attach(shared);
        }
        handle
    }
}

/// The handle of a running server, for changes of its catalog and notifications to its clients.
///
/// Clones are of the same server. Clients that listen get notifications of every change; running calls go on with the
/// catalog they started with. [`Server::handle`](crate::Server::handle) returns a handle before the server runs,
/// [`Cx::server`](crate::Cx::server) one inside a handler.
#[derive(Clone, Default)]
pub struct ServerHandle(Arc<OnceLock<Arc<ServerShared>>>);

impl ServerHandle {
    pub(crate) fn attach(&self, shared: Arc<ServerShared>) {
        let _ = self.0.set(shared);
    }

    /// Adds a tool, or replaces the tool of its name.
    ///
    /// # Errors
    /// The tool cannot be served as it is described, the server does not run yet, or other changes
    /// take too long.
    pub fn add_tool<H: ToolHandler<M>, M>(&self, tool: Tool, handler: H) -> Result<(), Error> {
        let entry = ToolEntry::new(tool, handler)?;
        #[cfg(feature = "ext")]
        entry.check_registration(&self.shared()?.context.about.registry)?;
        self.add(&Change::Tools, |catalog| Arc::make_mut(&mut catalog.tools).insert(entry))
    }

    /// Adds a tool whose name no other one has.
    ///
    /// # Errors
    /// A tool has the name, the tool cannot be served as it is described, the server does not run yet, or other changes
    /// take too long.
    #[cfg(feature = "ext")]
    pub fn register_tool<H: ToolHandler<M>, M>(&self, tool: Tool, handler: H) -> Result<(), Error> {
        let entry = ToolEntry::new(tool, handler)?;
        let shared = self.shared()?;
        entry.check_registration(&shared.context.about.registry)?;
        shared.try_change(|catalog| Arc::make_mut(&mut catalog.tools).insert_new(entry))??;
        self.announce(&Change::Tools);
        Ok(())
    }

    /// Returns the current definition of a tool; `None` before the server runs.
    #[cfg(feature = "ext")]
    pub fn tool(&self, name: &str) -> Option<RawJson> {
        self.0.get()?.catalog().definition(name)
    }

    /// Returns a tool as it is called now; `None` before the server runs.
    #[cfg(feature = "ext")]
    pub(crate) fn tool_entry(&self, name: &str) -> Option<Arc<ToolEntry>> {
        self.0.get()?.catalog().tools.get(name).cloned()
    }

    /// Removes a tool; returns whether it existed.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(&Change::Tools, |catalog| Arc::make_mut(&mut catalog.tools).remove(name))
    }

    /// Returns the current definitions of the tools, see [`Server::tools`](crate::Server::tools); none before the
    /// server runs.
    pub fn tools(&self) -> Vec<RawJson> {
        self.0.get().map_or_else(Vec::new, |shared| shared.catalog().definitions())
    }

    /// Adds a prompt, or replaces the prompt of its name.
    ///
    /// # Errors
    /// The prompt cannot be served as it is described, the server does not run yet, or other changes
    /// take too long.
    pub fn add_prompt<H: PromptHandler<M>, M>(&self, prompt: Prompt, handler: H) -> Result<(), Error> {
        let entry = PromptEntry::new(prompt, handler)?;
        self.add(&Change::Prompts, |catalog| Arc::make_mut(&mut catalog.prompts).insert(entry))
    }

    /// Removes a prompt; returns whether it existed.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(&Change::Prompts, |catalog| Arc::make_mut(&mut catalog.prompts).remove(name))
    }

    /// Adds a resource, or replaces the resource of its URI.
    ///
    /// # Errors
    /// The resource cannot be served as it is described, the server does not run yet, or other changes
    /// take too long.
    pub fn add_resource<H: ResourceHandler<M>, M>(
        &self,
        resource: Resource,
        handler: H,
    ) -> Result<(), Error> {
        let entry = ResourceEntry::new(resource, handler)?;
        self.add(&Change::Resources, |catalog| Arc::make_mut(&mut catalog.resources).insert(entry))
    }

    /// Removes a resource; returns whether it existed.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(&Change::Resources, |catalog| Arc::make_mut(&mut catalog.resources).remove(uri))
    }

    /// Adds a family of resources, or replaces the family of its template.
    ///
    /// # Errors
    /// The template cannot be served as it is described, the server does not run yet, or other changes
    /// take too long.
    pub fn add_resource_template<H: ResourceHandler<M>, M>(
        &self,
        template: ResourceTemplate,
        handler: H,
    ) -> Result<(), Error> {
        let entry = TemplateEntry::new(template, handler)?;
        self.add(&Change::Resources, |catalog| Arc::make_mut(&mut catalog.templates).insert(entry))
    }

    /// Removes a family of resources; returns whether it existed.
    pub fn remove_resource_template(&self, template: &str) -> bool {
        self.remove(&Change::Resources, |catalog| Arc::make_mut(&mut catalog.templates).remove(template))
    }

    /// Notifies the clients that subscribed to the resource that it changed.
    pub fn resource_updated(&self, uri: &str) {
        self.announce(&Change::Updated(uri.into()));
    }

    /// Notifies clients that the tools changed, for a change in a layer and not in the catalog.
    pub fn tools_changed(&self) {
        self.announce(&Change::Tools);
    }

    /// Notifies clients that the prompts changed, for a change in a layer and not in the catalog.
    pub fn prompts_changed(&self) {
        self.announce(&Change::Prompts);
    }

    /// Notifies clients that the resources changed, for a change in a layer and not in the catalog.
    pub fn resources_changed(&self) {
        self.announce(&Change::Resources);
    }

    /// Answers all `subscriptions/listen` requests, which ends them in good order.
    pub fn end_subscriptions(&self) {
        if let Some(shared) = self.0.get() {
            shared.listeners.end_subscriptions();
        }
    }

    fn shared(&self) -> Result<&Arc<ServerShared>, Error> {
        self.0.get().ok_or(Error::NotRunning)
    }

    fn add(&self, change: &Change, add: impl FnOnce(&mut Catalog)) -> Result<(), Error> {
        self.shared()?.try_change(add)?;
        self.announce(change);
        Ok(())
    }

    fn remove(&self, change: &Change, remove: impl FnOnce(&mut Catalog) -> bool) -> bool {
        let removed = self.0.get().is_some_and(|shared| shared.change(remove));
        if removed {
            self.announce(change);
        }
        removed
    }

    fn announce(&self, change: &Change) {
        if let Some(shared) = self.0.get() {
            shared.announce(change);
        }
    }
}

mgp_types::partial_debug!(ServerHandle, self => running: self.0.get().is_some());
