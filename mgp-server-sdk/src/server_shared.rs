//! The state that all connections of a server share: what it offers, and the handle that changes that while it runs.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
#[cfg(not(feature = "ext"))]
use std::time::Duration;

use arc_swap::ArcSwap;
use mgp_types::mcp::{
    ForRevision, ListCapability, Marker, ResourcesCapability, ServerCapabilities, ServerTaskRequests,
    ServerTasksCapability, ToolTaskRequests, task_extension,
};
use mgp_types::mgp::written;
use mgp_types::{Error, Object, RawJson, Response, Revision};
use parking_lot::{Mutex, MutexGuard};

use crate::change::{Change, Listeners};
use crate::cx::{CallExtras, Cx};
use crate::list::{EntryList, ListDialect, ListEntry};
use crate::method::{Completers, ErasedMethod};
use crate::prompt::{Prompt, PromptEntry, PromptHandler};
use crate::resource::{Resource, ResourceEntry, ResourceHandler, ResourceTemplate, TemplateEntry};
use crate::server_context::{OfferedFeatures, ServerContext, ServerDescription};
use crate::task::TaskStore;
use crate::tool::{TaskMode, Tool, ToolEntry, ToolHandler};

/// The state that all connections of a server share.
pub(crate) struct ServerShared {
    /// The catalog, read without a lock; a change replaces it.
    catalog: ArcSwap<Catalog>,
    /// The lock of changes, so that no change is lost.
    changing: Mutex<()>,
    pub(crate) context: Arc<ServerContext>,
    pub(crate) listeners: Arc<Listeners>,
}

impl ServerShared {
    pub(crate) fn new(catalog: Catalog, mut about: ServerDescription, tasks: TaskStore) -> Arc<Self> {
        // A section that had entries once stays offered: a capability cannot be taken back from a session.
        about.dynamic = offers(about.dynamic, &catalog);
        Arc::new_cyclic(|server: &Weak<Self>| Self {
            catalog: ArcSwap::from_pointee(catalog),
            changing: Mutex::new(()),
            listeners: tasks.listeners.clone(),
            context: Arc::new(ServerContext { about, tasks: Arc::new(tasks), server: server.clone() }),
        })
    }

    /// Returns the server that runs a call.
    ///
    /// # Errors
    /// The call came to no server, or the server is gone.
    pub(crate) fn of(call: &CallExtras) -> Result<Arc<Self>, Error> {
        let server = call.server.as_ref().and_then(|context| context.server.upgrade());
        let server = server.and_then(|server| server.downcast().ok());
        server.ok_or_else(|| Error::internal("the request came to no server"))
    }

    pub(crate) fn catalog(&self) -> arc_swap::Guard<Arc<Catalog>> {
        self.catalog.load()
    }

    /// Replaces the present catalog by a changed one.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Catalog) -> R) -> R {
        self.change_locked(self.changing.lock(), change)
    }

    /// Replaces the present catalog by a changed one, unless other changes take too long.
    pub(crate) fn try_change<R>(&self, change: impl FnOnce(&mut Catalog) -> R) -> Result<R, crate::Error> {
        #[cfg(feature = "ext")]
        let limit = self.context.about.registry.timeouts.unwrap_or_default().lock;
        #[cfg(not(feature = "ext"))]
        let limit = Duration::from_millis(500);
        let changing = self.changing.try_lock_for(limit).ok_or(crate::Error::Busy)?;
        Ok(self.change_locked(changing, change))
    }

    fn change_locked<R>(&self, changing: MutexGuard<'_, ()>, change: impl FnOnce(&mut Catalog) -> R) -> R {
        let mut catalog = Catalog::clone(&self.catalog.load());
        let outcome = change(&mut catalog);
        let former = self.catalog.swap(Arc::new(catalog));
        drop(changing);
        // A handler that ends here may run code of its own, which may change the catalog.
        drop(former);
        outcome
    }

    pub(crate) fn announce(&self, change: &Change) {
        #[cfg(feature = "ext")]
        self.catalog().forget_contents(change);
        self.context.tasks.tell(change);
    }

    pub(crate) fn offered(&self) -> OfferedFeatures {
        offers(self.context.about.dynamic, &self.catalog())
    }

    /// Returns the answer to `server/discover`, from which the era layer makes that of `initialize`, too.
    pub(crate) fn describe(&self, revision: Revision) -> Result<Response, Error> {
        let mut described = Object::from([("capabilities", written(&self.capabilities(revision))?)]);
        if let Some(instructions) = &self.context.about.instructions {
            described.set("instructions", RawJson::from_text(instructions));
        }
        let mut response = Response::plain(described.to_raw());
        response.context.cache.clone_from(&self.context.about.cache);
        Ok(response)
    }

    fn capabilities(&self, revision: Revision) -> ServerCapabilities {
        let offered = self.offered();
        let list = || ListCapability::new().with_list_changed(true);
        let resources = || ResourcesCapability::new().with_subscribe(true).with_list_changed(true);
        let mut capabilities = ServerCapabilities::new();
        capabilities.tools = offered.tools.then(list);
        capabilities.prompts = offered.prompts.then(list);
        capabilities.resources = offered.resources.then(resources);
        capabilities.completions = offered.completions.then(Marker::new);
        capabilities.logging = Some(Marker::new());
        capabilities.tasks = offered.tasks.then(session_tasks);
        let mut extensions = self.context.about.extensions.clone();
        if offered.tasks && revision.is_stateless() {
            extensions.insert(task_extension::EXTENSION_ID, RawJson::empty_object());
        }
        capabilities.extensions = Some(extensions).filter(|extensions| !extensions.is_empty());
        capabilities.experimental =
            Some(self.context.about.experimental.clone()).filter(|members| !members.is_empty());
        capabilities.for_revision(revision)
    }
}

fn offers(always: OfferedFeatures, catalog: &Catalog) -> OfferedFeatures {
    OfferedFeatures {
        tools: always.tools || !catalog.tools.is_empty(),
        prompts: always.prompts || !catalog.prompts.is_empty(),
        resources: always.resources || !(catalog.resources.is_empty() && catalog.templates.is_empty()),
        completions: always.completions || !catalog.completers.is_empty(),
        tasks: always.tasks || catalog.tools.iter().any(|tool| tool.mode != TaskMode::Never),
    }
}

/// Returns the tasks capability of 2025-11-25.
fn session_tasks() -> ServerTasksCapability {
    let tools = ToolTaskRequests::new().with_call(Marker::new());
    let requests = ServerTaskRequests::new().with_tools(tools);
    ServerTasksCapability::new().with_list(Marker::new()).with_cancel(Marker::new()).with_requests(requests)
}

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
    pub fn add_tool<H: ToolHandler<M>, M>(&self, tool: Tool, handler: H) -> Result<(), crate::Error> {
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
    pub fn register_tool<H: ToolHandler<M>, M>(&self, tool: Tool, handler: H) -> Result<(), crate::Error> {
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
    pub fn add_prompt<H: PromptHandler<M>, M>(&self, prompt: Prompt, handler: H) -> Result<(), crate::Error> {
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
    ) -> Result<(), crate::Error> {
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
    ) -> Result<(), crate::Error> {
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

    fn shared(&self) -> Result<&Arc<ServerShared>, crate::Error> {
        self.0.get().ok_or(crate::Error::NotRunning)
    }

    fn add(&self, change: &Change, add: impl FnOnce(&mut Catalog)) -> Result<(), crate::Error> {
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
