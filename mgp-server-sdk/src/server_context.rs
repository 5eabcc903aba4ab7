//! The server as its calls know it, without what it offers.

use std::any::Any;
use std::sync::{Arc, Weak};

use mgp_stream::callback::Callbacks;
#[cfg(feature = "ext")]
use mgp_types::ext::ServerRecommendation;
#[cfg(feature = "ext")]
use mgp_types::mcp::Implementation;
use mgp_types::mcp::Map;
use mgp_types::{CacheHint, Extensions, RawJson};

#[cfg(feature = "ext")]
use crate::reference::ReferenceStore;
#[cfg(feature = "ext")]
use crate::signature::RegistrySettings;
use crate::task::TaskStore;
#[cfg(feature = "ext")]
use crate::tokens::TokenSettings;

/// The server as its calls know it. What it offers holds the handlers, so a call does not know that.
pub(crate) struct ServerContext {
    pub(crate) about: ServerDescription,
    pub(crate) tasks: Arc<TaskStore>,
    /// The server itself, for what a handler may change of it.
    pub(crate) server: Weak<dyn Any + Send + Sync>,
}

/// The description of a server beside its catalog.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerDescription {
    pub(crate) instructions: Option<String>,
    pub(crate) extensions: Map<RawJson>,
    pub(crate) experimental: Map<RawJson>,
    pub(crate) cache: Option<CacheHint>,
    /// The values that handlers share, one per type.
    pub(crate) state: Extensions,
    /// True if a layer numbers the parts that handlers stream.
    pub(crate) streams: bool,
    /// The open questions of handlers.
    pub(crate) callbacks: Callbacks,
    /// The sections that are offered even while they are empty, because entries may come.
    pub(crate) dynamic: OfferedFeatures,
    #[cfg(feature = "ext")]
    pub(crate) registry: RegistrySettings,
    /// The server as its manifest describes it, once the server is built.
    #[cfg(feature = "ext")]
    pub(crate) info: Option<Implementation>,
    #[cfg(feature = "ext")]
    pub(crate) recommendations: Vec<ServerRecommendation>,
    #[cfg(feature = "ext")]
    pub(crate) tokens: TokenSettings,
    /// The data that is held for other servers.
    #[cfg(feature = "ext")]
    pub(crate) references: Option<ReferenceStore>,
}

/// The sections of MCP that a server offers.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each part is offered or not")]
pub(crate) struct OfferedFeatures {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) completions: bool,
    pub(crate) tasks: bool,
}
