//! The way to one server, from what lies in front of it to the connection; `stack.rs` says in which order.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use mgp_client_sdk::{Client, StandingRequestsService};
use mgp_lifecycle::supervise::SupervisedService;
use mgp_security::access::TaskOwnersGate;
use mgp_security::definition::DefinitionGuardLayer;
use mgp_security::permission::PermissionGate;

use super::forward::ForwardToServer;
use crate::call::erased::ErasedService;
use crate::parked_calls::CallsInWorkService;

/// The client of a server that is kept alive.
pub(crate) type ServerClient = Client<StandingRequestsService<ErasedService>>;

/// The incarnation of a server that was connected last.
pub(crate) type CurrentClient = Arc<ArcSwapOption<ServerClient>>;

/// The way to whatever incarnation of a server is connected, with nothing in front of it that decides.
pub(crate) type BareWay = CallsInWorkService<ForwardToServer<SupervisedService<ServerClient>>>;

/// The layers in front of one server, made once for all its incarnations.
pub(crate) struct ServerStack<S = ErasedService> {
    pub(crate) service: S,
    /// Decides what the server may do, and negotiates that with each incarnation.
    pub(crate) permissions: PermissionGate,
    /// Looks at the definitions of its tools, and is told when they change.
    pub(crate) definitions: DefinitionGuardLayer,
    /// Knows the owners of its tasks, and is told how those do.
    pub(crate) tasks: TaskOwnersGate,
}
