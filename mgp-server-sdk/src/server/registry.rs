//! The settings of a server for its registry of tools: checks, time limits, hints, documents, and calls in batches.

use std::sync::Arc;

use mgp_transport::BatchCallsLayer;
use mgp_types::RawJson;
use mgp_types::ext::{ExtensionId, ServerRecommendation};
use mgp_types::mgp::method;
use tower_layer::Stack;

use super::Server;
use crate::catalog::Catalog;
use crate::cx::HINTS;
use crate::error::Fault;
use crate::router::{manifest, validate};
use crate::server_context::ServerDescription;
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
    pub fn offer_validation(mut self) -> Self {
        let methods = Arc::make_mut(&mut self.parts.catalog.methods);
        for name in ["tools/validate", "mgp/tools/validate"] {
            methods.insert(name.into(), Arc::new(|input| Ok(Box::pin(validate(input)))));
        }
        self
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
            self.parts.about.manifest.recommendations.push(recommendation);
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
        let mut server = self.extension(ExtensionId::ServiceManifest.id(), RawJson::empty_object());
        let methods = Arc::make_mut(&mut server.parts.catalog.methods);
        methods.insert(method::MANIFEST_GET.into(), Arc::new(|input| Ok(Box::pin(manifest(input)))));
        server
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
            tracing::warn!(tool = %tool.name(), "a tool in envelopes has no schema of its result");
        }
    }
    faults
}
