//! The sections of the kernel that connections to its servers are made with.

use std::sync::{Arc, OnceLock};

use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::registry::Registry;
use mgp_security::permission::Approver;

use super::back::{BareWay, CurrentClient, ServerStack};
use super::connection_key::ConnectionKey;
use super::server_notifications::ServerNotifications;
use crate::StartError;
use crate::call::meter::Meter;
use crate::catalog::ToolCatalog;
use crate::notify::events::ServerEvents;
use crate::policies::Policies;
use crate::record::AuditTrail;
use crate::running::RunningConfig;
use crate::servers::fleet::FleetBooks;

/// The sections of the kernel that all connections to its servers use.
pub(crate) struct ServerSupport {
    pub(crate) config: Arc<RunningConfig>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) audit: Arc<AuditTrail>,
    pub(crate) tools: ToolCatalog,
    pub(crate) events: ServerEvents,
    /// Hears what servers say to nobody in particular.
    pub(crate) told: Arc<dyn ServerNotifications>,
    pub(crate) books: Arc<FleetBooks>,
    /// The servers that registered themselves. Set once, before the first server starts.
    pub(crate) registry: Arc<OnceLock<Registry>>,
    /// Puts the layers of the stack in front of a server.
    pub(crate) stack: Stack,
}

/// Puts the layers of the stack around the bare way to a server.
pub(crate) type Stack = fn(
    &ServerSupport,
    &ServerConfig,
    &ConnectionKey,
    Arc<dyn Approver>,
    CurrentClient,
    BareWay,
    &Meter,
) -> Result<ServerStack, StartError>;
