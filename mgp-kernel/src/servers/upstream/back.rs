//! The way to one server, from what lies in front of it to the connection; `stack.rs` says in which order.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use mgp_client_sdk::{Client, Standing};
use mgp_lifecycle::supervise::StateGate;
use mgp_security::access::TaskOwnersGate;
use mgp_security::definition::GuardLayer;
use mgp_security::permission::PermissionGate;

use super::forward::Forward;
use crate::asking::InWork;
use crate::call::erased::Erased;

/// The client of a server that is kept alive.
pub(crate) type Kept = Client<Standing<Erased>>;

/// The incarnation of a server that was connected last.
pub(crate) type Current = Arc<ArcSwapOption<Kept>>;

/// The way to whatever incarnation of a server is connected, with nothing in front of it that decides.
pub(crate) type BareWay = InWork<Forward<StateGate<Kept>>>;

/// The layers in front of one server, made once for all its incarnations.
pub(crate) struct Back {
    pub(crate) service: Erased,
    /// Decides what the server may do, and negotiates that with each incarnation.
    pub(crate) permissions: PermissionGate,
    /// Looks at the definitions of its tools, and is told when they change.
    pub(crate) definitions: GuardLayer,
    /// Knows the owners of its tasks, and is told how those do.
    pub(crate) tasks: TaskOwnersGate,
}
