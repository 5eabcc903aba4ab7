//! The builder of a server.

#[cfg(feature = "ext")]
mod registry;
mod sections;
#[cfg(feature = "ext")]
mod transactions;

use std::sync::Arc;
use std::time::Duration;

use mgp_lifecycle::server::ServerLifecycle;
use mgp_transport::era::{ServerIdentity, VersionMismatch};
use mgp_transport::mrtr::MrtrGate;
use mgp_transport::token::SealingKey;
use mgp_transport::{Trace, TraceLayer};
use mgp_types::mcp::{CacheScope, Icon, Implementation};
use mgp_types::mgp::{Extension, Offer};
use mgp_types::{BoxedService, Gate as _, Object, RawJson, Revision, RpcService};
use tower_layer::{Identity, Layer, Stack};

#[cfg(feature = "ext")]
pub use self::registry::InProcess;
#[cfg(feature = "ext")]
pub use self::transactions::TransactionLayer;
use crate::accept::{ServerAccept, ServerCore};
use crate::error::{Error, Fault, Faults};
use crate::method::{ArgumentOwner, CompletionHandler, ErasedMethod, MethodHandler, NotificationHandler};
use crate::prompt::{Prompt, PromptEntry, PromptHandler};
use crate::resource::{Resource, ResourceEntry, ResourceHandler, ResourceTemplate, TemplateEntry, hint};
use crate::router::Router;
use crate::server_context::ServerDescription;
use crate::server_shared::{Catalog, ServerHandle, ServerShared};
use crate::task::{TaskLimits, TaskStore};
use crate::tool::{Tool, ToolEntry, ToolHandler};

/// The builder of a server: its name, its catalog, and the layers around them.
///
/// Registering never fails; entries that cannot be served are collected, and building or serving returns them fault by
/// fault.
#[must_use = "a server does nothing until it is served"]
pub struct Server<L = Identity> {
    info: Implementation,
    parts: ServerParts,
    layers: L,
}

/// The parts of a server other than its description and its layers.
#[derive(Default)]
struct ServerParts {
    revisions: Option<Vec<Revision>>,
    mismatch: VersionMismatch,
    required: Vec<Box<str>>,
    mgp: Option<Offer>,
    life: Option<ServerLifecycle>,
    catalog: Catalog,
    about: ServerDescription,
    tasks: TaskLimits,
    fallback: Option<BoxedService>,
    sealing: Option<SealingKey>,
    faults: Vec<Fault>,
    handle: ServerHandle,
}

impl Server {
    /// Creates a server with this name and version, with an empty catalog, in every revision of MCP.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let info = Implementation::new(name, version);
        Self { info, parts: ServerParts::default(), layers: Identity::new() }
    }
}

impl<L> Server<L> {
    mgp_types::setters! { self =>
        /// Sets the name for people.
        pub fn title(title: impl Into<String>) => self.info.title = Some(title.into());

        /// Sets the description of the server.
        pub fn description(description: impl Into<String>) =>
            self.info.description = Some(description.into());

        /// Sets the page of the server.
        pub fn website(url: impl Into<String>) => self.info.website_url = Some(url.into());

        /// Adds an image for a user interface.
        pub fn icon(icon: Icon) => self.info.icons.get_or_insert_default().push(icon);

        /// Sets the instructions for use of the server, for a model.
        pub fn instructions(instructions: impl Into<String>) =>
            self.parts.about.instructions = Some(instructions.into());

        /// Serves only these revisions of MCP.
        pub fn revisions(revisions: impl IntoIterator<Item = Revision>) =>
            self.parts.revisions = Some(revisions.into_iter().collect());

        /// Sets the answer to `initialize` for a revision that is not served.
        pub fn version_mismatch(mismatch: VersionMismatch) => self.parts.mismatch = mismatch;

        /// Refuses clients that lack one of these capabilities, like `sampling`.
        pub fn require(capabilities: impl IntoIterator<Item = impl Into<Box<str>>>) =>
            self.parts.required = capabilities.into_iter().map(Into::into).collect();

        /// Declares an extension of MCP with its settings, an object.
        pub fn extension(id: impl Into<Box<str>>, settings: RawJson) =>
            self.parts.about.extensions.insert(id, settings);

        /// Declares a capability outside the specification.
        pub fn experimental(name: impl Into<Box<str>>, settings: RawJson) =>
            self.parts.about.experimental.insert(name, settings);

        /// Sets how many entries one page of a list holds. Default: all of them.
        pub fn page_size(entries: usize) => self.parts.catalog.set_page_size(entries.max(1));

        /// Sets the key that seals the state which clients keep between the rounds of one request. Default: a random
        /// one. Processes that answer for each other need the same.
        pub fn sealing_key(key: SealingKey) => self.parts.sealing = Some(key);

        /// Sets the limits of tasks.
        pub fn task_limits(limits: TaskLimits) => self.parts.tasks = limits;

        /// Sets how long lists may be cached, and by which audience (2026-07-28). Default: not at all.
        pub fn cache_lists(time: Duration, scope: CacheScope) => self.parts.about.cache = Some(hint(time, scope));

        fn serving(name: impl Into<Box<str>>, method: ErasedMethod) =>
            Arc::make_mut(&mut self.parts.catalog.methods).insert(name.into(), method);
    }

    /// Offers MGP to clients that speak it. A server without this, and without a section of MGP like
    /// [`streaming`](Self::streaming), is a plain MCP one. Sections add themselves to the offer.
    pub fn mgp(mut self, mut offer: Offer) -> Self {
        for name in self.parts.mgp.iter().flat_map(|sections| sections.extensions.names()) {
            offer.extensions.insert(Extension::from(name));
        }
        self.parts.mgp = Some(offer);
        self
    }

    /// Adds a value that all handlers share, one of each type; [`Cx::state`](crate::Cx::state) returns it.
    ///
    /// ```
    /// use mgp_server_sdk::{Cx, Server, Tool, ToolError};
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// Server::new("counter", "1.0.0").state(AtomicU64::new(0)).tool(
    ///     Tool::new("count", "Counts its calls."),
    ///     async |cx: Cx| Ok::<_, ToolError>(cx.state::<AtomicU64>()?.fetch_add(1, Ordering::Relaxed)),
    /// );
    /// ```
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.parts.about.state.insert(value);
        self
    }

    /// Declares tools, prompts and resources even while there are none, because they come at run time.
    pub fn dynamic(mut self) -> Self {
        let dynamic = &mut self.parts.about.dynamic;
        (dynamic.tools, dynamic.prompts, dynamic.resources) = (true, true, true);
        self
    }

    /// Offers a tool: its description, and the async function that it runs.
    pub fn tool<H: ToolHandler<M>, M>(mut self, tool: Tool, handler: H) -> Self {
        let entry = ToolEntry::new(tool, handler);
        self.parts.add(entry, |catalog, entry| Arc::make_mut(&mut catalog.tools).insert_new(entry));
        self
    }

    /// Offers a prompt: its description, and the async function that makes its messages.
    pub fn prompt<H: PromptHandler<M>, M>(mut self, prompt: Prompt, handler: H) -> Self {
        let entry = PromptEntry::new(prompt, handler);
        self.parts.add(entry, |catalog, entry| Arc::make_mut(&mut catalog.prompts).insert_new(entry));
        self
    }

    /// Offers a resource: its description, and the async function that reads it.
    pub fn resource<H: ResourceHandler<M>, M>(mut self, resource: Resource, handler: H) -> Self {
        let entry = ResourceEntry::new(resource, handler);
        self.parts.add(entry, |catalog, entry| Arc::make_mut(&mut catalog.resources).insert_new(entry));
        self
    }

    /// Offers a family of resources: its template, and the async function that reads one of them.
    pub fn resource_template<H: ResourceHandler<M>, M>(
        mut self,
        template: ResourceTemplate,
        handler: H,
    ) -> Self {
        let entry = TemplateEntry::new(template, handler);
        self.parts.add(entry, |catalog, entry| Arc::make_mut(&mut catalog.templates).insert_new(entry));
        self
    }

    /// Completes an argument of a prompt.
    pub fn complete_prompt<H: CompletionHandler<M>, M>(
        self,
        prompt: &str,
        argument: &str,
        handler: H,
    ) -> Self {
        self.complete(ArgumentOwner::Prompt(prompt.into()), argument, handler)
    }

    /// Completes a variable of a resource template.
    pub fn complete_resource<H: CompletionHandler<M>, M>(
        self,
        template: &str,
        variable: &str,
        handler: H,
    ) -> Self {
        self.complete(ArgumentOwner::Template(template.into()), variable, handler)
    }

    fn complete<H: CompletionHandler<M>, M>(
        mut self,
        owner: ArgumentOwner,
        argument: &str,
        handler: H,
    ) -> Self {
        let completer = Arc::new(move |wanted, input| handler.complete(wanted, input));
        Arc::make_mut(&mut self.parts.catalog.completers).insert((owner, argument.into()), completer);
        self
    }

    /// Serves a method of a vendor.
    pub fn method<H: MethodHandler<M>, M>(self, name: impl Into<Box<str>>, handler: H) -> Self {
        self.serving(name, Arc::new(move |input| handler.serve(input)))
    }

    /// Handles a notification of a vendor.
    pub fn notification<H: NotificationHandler<M>, M>(self, name: impl Into<Box<str>>, handler: H) -> Self {
        self.serving(name, Arc::new(move |input| handler.take(input)))
    }

    /// Lets this service answer every request about what the server does not have itself: other methods, tools, prompts and
    /// resources. Lists have the entries of both. The server offers only the sections in which it has entries, or that are
    /// [dynamic](Self::dynamic); [`proxy`](Self::proxy) offers those of another server.
    pub fn fallback<S: RpcService + Sync>(mut self, service: S) -> Self {
        self.parts.fallback = Some(BoxedService::new(service));
        self
    }

    /// Stands in front of another server: `service`, such as a client of it, answers like a [fallback](Self::fallback), and
    /// the server offers the sections of the `capabilities` of that server, too.
    ///
    /// ```
    /// use mgp_server_sdk::types::{Object, RpcService};
    /// use mgp_server_sdk::Server;
    ///
    /// fn guard(client: impl RpcService + Sync, capabilities: &Object) -> Server {
    ///     Server::new("guard", "1.0.0").proxy(client, capabilities)
    /// }
    /// ```
    pub fn proxy<S: RpcService + Sync>(mut self, service: S, capabilities: &Object) -> Self {
        let offered = &mut self.parts.about.dynamic;
        offered.tools |= capabilities.contains("tools");
        offered.prompts |= capabilities.contains("prompts");
        offered.resources |= capabilities.contains("resources");
        offered.completions |= capabilities.contains("completions");
        self.fallback(service)
    }

    /// Adds a layer around the server. The first layer added is the outermost; all of them sit behind the era, which
    /// has written `context.session` by then.
    pub fn layer<N>(self, layer: N) -> Server<Stack<N, L>> {
        Server { info: self.info, parts: self.parts, layers: Stack::new(layer, self.layers) }
    }

    /// Returns the definitions of the tools so far, as the latest revision lists them, with the members of MGP: for a
    /// layer that searches them.
    pub fn tools(&self) -> Vec<RawJson> {
        self.parts.catalog.definitions()
    }

    /// Returns the handle that changes the server once it runs.
    pub fn handle(&self) -> ServerHandle {
        self.parts.handle.clone()
    }

    /// Returns the server as a service, without the era in front, for programs that stack the layers themselves.
    ///
    /// # Errors
    /// A registered entry cannot be served.
    pub fn into_service(self) -> Result<L::Service, Error>
    where
        L: Layer<ServerCore, Service: RpcService>,
    {
        let Self { info, parts, layers } = self;
        Ok(layers.layer(parts.build(info)?.0))
    }

    /// Returns the factory of services, one per connection, that any transport takes.
    ///
    /// # Errors
    /// A registered entry cannot be served.
    pub fn accept(self) -> Result<ServerAccept<Trace<L::Service>>, Error>
    where
        L: Layer<ServerCore, Service: RpcService + Sync>,
    {
        let Self { info, parts, layers } = self;
        let (core, identity) = parts.build(info)?;
        let service = TraceLayer::new().layer(layers.layer(core));
        Ok(ServerAccept { service, identity: Arc::new(identity) })
    }
}

impl ServerParts {
    /// Adds an entry that could be made, and notes the fault of any other.
    fn add<T>(&mut self, entry: Result<T, Fault>, insert: impl FnOnce(&mut Catalog, T) -> Result<(), Fault>) {
        if let Err(fault) = entry.and_then(|entry| insert(&mut self.catalog, entry)) {
            self.faults.push(fault);
        }
    }

    fn build(self, info: Implementation) -> Result<(ServerCore, ServerIdentity), Error> {
        let mut faults = self.faults;
        faults.extend(dangling(&self.catalog));
        #[cfg(feature = "ext")]
        faults.extend(registry::faults(&self.catalog, &self.about));
        #[cfg(feature = "ext")]
        faults.extend(without_undo(&self.catalog));
        Faults::check(faults)?;
        #[cfg(feature = "ext")]
        let about = ServerDescription { info: Some(info.clone()), ..self.about };
        let name = info.name.clone();
        let mut identity = ServerIdentity::new(info);
        (identity.mgp, identity.mismatch, identity.required) = (self.mgp, self.mismatch, self.required);
        if let Some(revisions) = self.revisions {
            identity = identity.with_revisions(revisions);
        }
        let key = self.sealing.unwrap_or_else(SealingKey::random).for_server(&name);
        #[cfg(feature = "ext")]
        let about = registry::sealed_with(about, &self.catalog, &key);
        #[cfg(not(feature = "ext"))]
        let about = self.about;
        let shared = ServerShared::new(self.catalog, about, TaskStore::new(self.tasks));
        self.handle.attach(shared.clone());
        if let Some(life) = &self.life {
            let server = Arc::downgrade(&shared);
            life.tools(move || {
                let tools = server.upgrade().map_or(0, |shared| shared.catalog().tools.iter().count() as u64);
                (tools, tools)
            });
            if let Err(error) = life.ready() {
                tracing::debug!(%error, "the server is served again");
            }
        }
        let mrtr = MrtrGate::new(key);
        Ok((mrtr.layer(Router::new(shared, self.fallback)), identity))
    }
}

/// Returns the faults of tools whose effect is taken back by a tool that does not exist.
#[cfg(feature = "ext")]
fn without_undo(catalog: &Catalog) -> Vec<Fault> {
    let missing = catalog.tools.iter().filter_map(|tool| {
        let undo = tool.undone_by().filter(|undo| catalog.tools.get(undo).is_none())?;
        let subject = format!("tool `{}`", tool.name);
        Some(Fault::new(subject, format!("there is no tool `{undo}` that takes it back")))
    });
    missing.collect()
}

/// Returns the faults of completions for prompts and templates that do not exist.
fn dangling(catalog: &Catalog) -> Vec<Fault> {
    let missing = catalog.completers.keys().filter_map(|(owner, argument)| {
        let (known, subject, what) = match owner {
            ArgumentOwner::Prompt(name) => {
                let known = catalog.prompts.get(name).is_some_and(|prompt| prompt.has_argument(argument));
                (known, format!("prompt `{name}`"), "argument")
            }
            ArgumentOwner::Template(text) => {
                let known =
                    catalog.templates.get(text).is_some_and(|entry| entry.template.has_variable(argument));
                (known, format!("resource template `{text}`"), "variable")
            }
        };
        (!known).then(|| Fault::new(subject, format!("there is no {what} `{argument}` to complete")))
    });
    missing.collect()
}

mgp_types::partial_debug!([L] Server<L>, self => info: self.info);
