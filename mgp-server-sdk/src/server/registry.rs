//! The settings of a server for MGP's registry of tools, for what its clients carry, and for data it holds for others.

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::token::SealingKey;
use mgp_transport::{BatchCallsLayer, CatchPanic, CatchPanicFuture};
use mgp_types::ext::{
    DataReference, ENVELOPE_VERSION, EnvelopeClient, EnvelopeGate, ExtensionId, ExtensionIds,
    MAX_SESSION_STATE_BYTES, ServerRecommendation, ToolDeclaration,
};
use mgp_types::mcp::ResourceContents;
use mgp_types::mgp::method;
use mgp_types::{Error, Gate, GateLayer, RawJson, Request, Revision, RpcService, Session};
use serde::Deserialize;
use tower_layer::{Layer, Stack};
use tower_service::Service;

use super::Server;
use crate::ServerCore;
use crate::cx::HINTS;
use crate::error::Fault;
use crate::method::ErasedMethod;
use crate::reference::ReferenceStore;
use crate::resource::{ResourceTemplate, base64};
use crate::router::{manifest, validate};
use crate::server_context::ServerDescription;
use crate::server_shared::Catalog;
use crate::signature::{Timeouts, ToolValidator};

impl<L> Server<L> {
    /// Registers a validator, which constraints name by [`Constraint::Custom`](crate::Constraint::Custom). A tool that
    /// names an unknown one cannot be served.
    pub fn validator(mut self, validator: impl ToolValidator) -> Self {
        let subject = format!("validator `{}`", validator.name());
        if !self.parts.about.registry.validators.add(Arc::new(validator)) {
            self.parts.faults.push(Fault::new(subject, "it is registered twice"));
        }
        self
    }

    /// Serves `tools/validate`, also as `mgp/tools/validate`: whether a call with these arguments would be accepted,
    /// and all that is wrong with them. No tool runs for it.
    pub fn offer_validation(self) -> Self {
        let validating: ErasedMethod = Arc::new(|input| Ok(Box::pin(validate(input))));
        self.serving("tools/validate", validating.clone()).serving("mgp/tools/validate", validating)
    }

    mgp_types::setters! { self =>
        /// Refuses tools that do not describe their arguments and their results by schemas, and results that do not fit
        /// the schema of their tool: their calls end with an error, and not only with a warning in the log.
        pub fn require_schemas() => self.parts.about.registry.requires_schemas = true;

        /// Limits how long a call may take. Without this, a tool takes as long as it does. A call that runs as a task
        /// has the limits of tasks instead.
        pub fn timeouts(timeouts: Timeouts) => self.parts.about.registry.timeouts = Some(timeouts);

        /// Recommends another server for related work: `recommendations` of the [manifest](Self::offer_manifest).
        pub fn recommend(recommendation: ServerRecommendation) =>
            self.parts.about.recommendations.push(recommendation);
    }

    /// Declares the extensions of hints: the purpose of a call, costs and quotas, sources, and media. Handlers give
    /// hints by [`Cx::cost`](crate::Cx::cost) and the methods beside it, tools by
    /// [`Tool::declare`](crate::Tool::declare).
    pub fn hints(mut self) -> Self {
        for id in HINTS {
            self.parts.about.extensions.insert(id.id(), RawJson::empty_object());
        }
        self
    }

    /// Serves `mgp/manifest/get`: one document with the server, its tools, what they [declare](crate::Tool::declare),
    /// the scopes that they need, and the extensions that the server declares.
    pub fn offer_manifest(self) -> Self {
        self.extension(ExtensionId::ServiceManifest.id(), RawJson::empty_object())
            .serving(method::MANIFEST_GET, Arc::new(|input| Ok(Box::pin(manifest(input)))))
    }

    /// Serves `mgp/tools/batch`: up to 50 calls of tools in one request, each of which goes through all layers of the
    /// server by itself. The layer of batches is always the outermost.
    pub fn batch_calls(self) -> Server<Stack<L, BatchCallsLayer>> {
        Server { info: self.info, parts: self.parts, layers: Stack::new(self.layers, BatchCallsLayer::new()) }
    }

    /// Returns whether a tool takes binary arguments as parts of an HTTP request.
    #[cfg(feature = "http")]
    pub(crate) fn takes_parts(&self) -> bool {
        self.parts.catalog.tools.iter().any(|tool| tool.takes_parts())
    }

    /// Lets handlers keep state from call to call ([`Cx::session_state`](crate::Cx::session_state)), which the client
    /// carries for the server. A conversation ends when nothing is called for `idle_timeout`; half an hour is usual.
    ///
    /// Instances with the same [`sealing_key`](Self::sealing_key) and name go on with each other's conversations.
    pub fn session_state(mut self, idle_timeout: Duration) -> Self {
        let settings = format!(r#"{{"max_bytes":{MAX_SESSION_STATE_BYTES}}}"#);
        self.parts.about.tokens.session_idle_timeout = Some(idle_timeout);
        self.extension(ExtensionId::SessionState.id(), RawJson::from_written(settings.into_bytes()))
    }

    /// Lets handlers refer to data instead of sending it ([`Cx::refer_to`](crate::Cx::refer_to)): `store` holds it for
    /// other servers. Data of 1 MiB at most can also be read as a resource, by its `mgp-ref` address.
    ///
    /// Other servers fetch data over HTTP; [`ReferenceStore::answer`] says what to answer them.
    pub fn references(mut self, store: &ReferenceStore) -> Self {
        let template = format!("{}://{}/{{ref_id}}", DataReference::SCHEME, store.origin());
        let template = ResourceTemplate::new(template, "data-reference")
            .description("Data that a tool of this server refers to, for some minutes.");
        self.parts.about.references = Some(store.clone());
        let store = store.clone();
        let transports = RawJson::from_written(br#"{"transports":["signed_url"]}"#.to_vec());
        self.extension(ExtensionId::DataReferences.id(), transports).resource_template(
            template,
            move |HeldId { ref_id }: HeldId| {
                let store = store.clone();
                async move { read(store, ref_id).await }
            },
        )
    }

    /// Gives the results of calls as envelopes where the calls ask for them, and tells clients of it.
    ///
    /// Readers of envelopes expect each tool to have a schema of its result. A tool without one is a warning in the log,
    /// and refused by a server that [requires schemas](Self::require_schemas).
    pub fn envelopes(self) -> Server<Stack<GateLayer<EnvelopeGate>, L>> {
        self.declaring_envelopes().layer(EnvelopeGate::default().into_layer())
    }

    /// Wraps the tools of the server for calls in this process, without a transport. They are called `module.tool`.
    ///
    /// ```
    /// use mgp_server_sdk::types::ext::{EnvelopeReading, ToolCall};
    /// use mgp_server_sdk::{Server, Tool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// async fn greet() -> &'static str {
    ///     "hello"
    /// }
    ///
    /// let server = Server::new("polite", "1.0.0").tool(Tool::new("greet", "Greets you."), greet);
    /// let mut tools = server.into_envelopes("polite").await?;
    /// let call = ToolCall::from_json(r#"{"tool_name":"polite.greet","arguments":{}}"#, EnvelopeReading::Strict)?;
    /// let result = tools.call(&call).await;
    /// assert_eq!(
    ///     result.to_raw().to_string(),
    ///     r#"{"status":"success","data":{"content":[{"type":"text","text":"hello"}]}}"#,
    /// );
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A registered entry cannot be served.
    pub async fn into_envelopes(
        self,
        module: &str,
    ) -> Result<EnvelopeClient<InProcess<L::Service>>, crate::Error>
    where
        L: Layer<ServerCore, Service: RpcService>,
    {
        let session = Arc::new(Session::new(Revision::LATEST));
        let service =
            InProcess { service: CatchPanic::new(self.declaring_envelopes().into_service()?), session };
        Ok(EnvelopeClient::new(service, module).await?)
    }

    fn declaring_envelopes(self) -> Self {
        let settings = format!(r#"{{"version":"{ENVELOPE_VERSION}"}}"#);
        self.extension(ExtensionId::Envelopes.id(), RawJson::from_written(settings.into_bytes()))
    }
}

/// Returns the faults of tools that lack what the server demands, and of extensions that need others.
pub(super) fn faults(catalog: &Catalog, about: &ServerDescription) -> Vec<Fault> {
    let tools = catalog.tools.iter();
    let mut faults: Vec<_> =
        tools.filter_map(|tool| tool.check_registration(&about.registry).err()).collect();
    let declares = |id: ExtensionId| about.extensions.get(id.id()).is_some();
    if declares(ExtensionId::Transactions) && !declares(ExtensionId::Idempotency) {
        let subject = format!("extension `{}`", ExtensionId::Transactions.id());
        let fault = format!("it needs `{}`: declare both", ExtensionId::Idempotency.id());
        faults.push(Fault::new(subject, fault));
    }
    if declares(ExtensionId::Envelopes) && !about.registry.requires_schemas {
        for tool in catalog.tools.iter().filter(|tool| !tool.describes_result()) {
            tracing::warn!(tool = %tool.name, "a tool in envelopes has no schema of its result");
        }
    }
    faults
}

/// Declares the extensions of the tokens that the server's tools give, and gives the server the key of its tokens.
pub(super) fn sealed_with(
    mut about: ServerDescription,
    catalog: &Catalog,
    key: &SealingKey,
) -> ServerDescription {
    let any = |wants: fn(&ToolDeclaration) -> bool| {
        catalog.tools.iter().any(|tool| tool.declared().is_some_and(wants))
    };
    if any(|declared| declared.requires_confirmation) {
        about.extensions.insert(ExtensionId::HumanInTheLoop.id(), RawJson::empty_object());
    }
    if any(|declared| declared.supports_checkpoint) {
        let settings = RawJson::from_written(br#"{"checkpoint":true}"#.to_vec());
        about.extensions.insert(ExtensionId::Streaming.id(), settings);
    }
    let offered = about.extensions.iter().filter_map(|(id, _)| ExtensionId::read(id));
    let offered = ExtensionIds::new(offered);
    about.tokens.seal_with(key, offered);
    about
}

/// The bytes of data that a client reads as a resource at most.
const MAX_READ: u64 = 1 << 20;

/// The variable of the template.
#[derive(Deserialize)]
struct HeldId {
    ref_id: String,
}

async fn read(store: ReferenceStore, ref_id: String) -> Result<ResourceContents, Error> {
    let uri = format!("{}://{}/{ref_id}", DataReference::SCHEME, store.origin());
    let read = tokio::task::spawn_blocking(move || store.read(&ref_id, MAX_READ)).await;
    let (data, mime_type) =
        read.map_err(|error| Error::internal("the data cannot be read").with_source(error))??;
    let is_text = mime_type.starts_with("text/") || &*mime_type == "application/json";
    let contents = match std::str::from_utf8(&data) {
        Ok(text) if is_text => ResourceContents::text(uri, text),
        _ => ResourceContents::blob(uri, base64(&data)),
    };
    Ok(contents.with_mime_type(&*mime_type))
}

/// A server in this process, whose peer is this program: it can be asked nothing, and has no limits of its own.
#[derive(Debug, Clone)]
pub struct InProcess<S> {
    service: CatchPanic<S>,
    session: Arc<Session>,
}

impl<S: RpcService> Service<Request> for InProcess<S> {
    type Future = CatchPanicFuture<S::Future>;

    mgp_types::ready_as_inner!(service);

    fn call(&mut self, mut request: Request) -> Self::Future {
        request.context.session = Some(Arc::clone(&self.session));
        self.service.call(request)
    }
}
