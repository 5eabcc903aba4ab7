//! The server's gate that takes the answers to callbacks.

use mgp_types::mgp::{Extension, method};
use mgp_types::{Flow, Gate, GateLayer, Gated, Request};

use super::Callbacks;
use crate::session::negotiated;

/// Takes the answers to the questions that a server asks. The layer makes [`CallbackService`]s.
pub type CallbackLayer = GateLayer<Callbacks>;

/// The service of [`CallbackLayer`].
///
/// The service sits behind the layers that authenticate and record, anywhere in front of the router. The service
/// answers `mgp/callback/respond` where callbacks were negotiated and lets everything else go on. The service reads
/// `context.session` and `context.principal`: only the client that was asked may answer; for all others the callback
/// does not exist. The service writes nothing, allocates and locks for its own method only, and never waits, so that
/// dropping the future changes nothing.
pub type CallbackService<S> = Gated<Callbacks, S>;

impl Gate for Callbacks {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let is_ours = request.method == *method::CALLBACK_RESPOND
            && negotiated(request.context.session.as_deref(), &Extension::Callbacks);
        if is_ours { Flow::Answer(self.answer(request)) } else { Flow::Pass(()) }
    }
}
