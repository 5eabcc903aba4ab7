//! The state that all connections of a server share.

use std::sync::{Arc, Weak};
#[cfg(not(feature = "ext"))]
use std::time::Duration;

use arc_swap::ArcSwap;
use mgp_types::mcp::{
    ForRevision, ListCapability, Marker, ResourcesCapability, ServerCapabilities, ServerTaskRequests,
    ServerTasksCapability, ToolTaskRequests, task_extension,
};
use mgp_types::mgp::written;
use mgp_types::{Error, RawJson, Response, Revision};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

use crate::catalog::Catalog;
use crate::change::{Change, Listeners};
use crate::cx::CallExtras;
use crate::server_context::{OfferedFeatures, ServerContext, ServerDescription};
use crate::task::TaskStore;
use crate::tool::TaskMode;

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
        let described = DescribedServer {
            capabilities: self.capabilities(revision),
            instructions: self.context.about.instructions.as_deref(),
        };
        let mut response = Response::plain(written(&described)?);
        response.context.cache.clone_from(&self.context.about.cache);
        Ok(response)
    }

    fn capabilities(&self, revision: Revision) -> ServerCapabilities {
        let offered = self.offered();
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

fn list() -> ListCapability {
    ListCapability::new().with_list_changed(true)
}

fn resources() -> ResourcesCapability {
    ResourcesCapability::new().with_subscribe(true).with_list_changed(true)
}

#[derive(Serialize)]
struct DescribedServer<'a> {
    capabilities: ServerCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}
