//! Documents about a server, and many calls in one request.

use std::sync::Arc;

use mgp_transport::BatchCallsLayer;
use mgp_types::RawJson;
use mgp_types::ext::{ExtensionId, ServerRecommendation};
use mgp_types::mgp::method;
use tower_layer::Stack;

use super::Server;
use crate::router::manifest;

impl<L> Server<L> {
    /// Serves `mgp/manifest/get`: one document with the server, its tools, what they [declare](crate::Tool::declare), the
    /// scopes that they need, and the extensions that the server declares.
    pub fn offer_manifest(self) -> Self {
        let mut server = self.extension(ExtensionId::ServiceManifest.id(), RawJson::empty_object());
        let methods = Arc::make_mut(&mut server.parts.catalog.methods);
        methods.insert(method::MANIFEST_GET.into(), Arc::new(|input| Ok(Box::pin(manifest(input)))));
        server
    }

    /// Recommends another server for related work: `recommendations` of the [manifest](Self::offer_manifest).
    pub fn recommend(mut self, recommendation: ServerRecommendation) -> Self {
        self.parts.about.manifest.recommendations.push(recommendation);
        self
    }

    /// Serves `mgp/tools/batch`: up to 50 calls of tools in one request, each of which goes through all layers of the
    /// server by itself. The layer of batches is always the outermost.
    pub fn batch_calls(self) -> Server<Stack<L, BatchCallsLayer>> {
        Server { parts: self.parts, layers: Stack::new(self.layers, BatchCallsLayer::new()) }
    }
}
