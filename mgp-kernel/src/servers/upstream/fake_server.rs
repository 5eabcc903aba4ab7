//! Servers that live within a test.

use std::sync::Arc;

use mgp_discovery::config::model::ServerConfig;
use mgp_types::{Object, Session};

use super::{FirstStart, ServerSupport, Upstream};
use mgp_types::BoxedService;

/// A server that is connected and lives within the test.
pub(crate) struct FakeServer {
    pub(crate) service: BoxedService,
    pub(crate) session: Arc<Session>,
    pub(crate) capabilities: Object,
    pub(crate) instructions: Option<Arc<str>>,
    /// The start of the server, which the test ends; `None` if it is over.
    pub(crate) start: Option<FirstStart>,
}

impl Upstream {
    /// Returns the server `id`, with nothing in front of it.
    pub(crate) fn fake(support: &Arc<ServerSupport>, id: &str, fake: FakeServer) -> Arc<Self> {
        let loaded = support.config.load();
        let mut config = ServerConfig::default();
        config.id = id.into();
        // The configuration of a test says what is different.
        let config = loaded.servers.iter().find(|server| server.id == id).cloned().unwrap_or(config);
        let upstream = Self::new(support, config).unwrap();
        assert!(upstream.fake.set(fake).is_ok());
        upstream
    }
}
