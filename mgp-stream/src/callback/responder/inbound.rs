//! The client's gate that takes callbacks out of the notifications of a server.

use mgp_types::mgp::{Extension, method};
use mgp_types::{Flow, Gate, GateLayer, Gated, Request, RequestKind, Response};

use super::ServerResponder;
use crate::session::negotiated;

/// Takes the questions that a server asks in the middle of calls. The layer makes [`CallbackInbound`] services.
pub type CallbackInboundLayer = GateLayer<ServerResponder>;

/// The service of [`CallbackInboundLayer`].
///
/// The service sits in the stack that answers the server, behind the layer that knows the session. The service takes
/// `notifications/mgp.callback.request` where callbacks were negotiated and lets everything else go on. The responder
/// answers in a task of its own: the connection goes on at once. The service reads `context.session` and the stream of
/// `context.outbox`, writes and refuses nothing, and allocates and locks for its own notification only.
pub type CallbackInbound<S> = Gated<ServerResponder, S>;

impl Gate for ServerResponder {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let is_ours = request.kind == RequestKind::Notify && request.method == *method::CALLBACK_REQUEST;
        if is_ours
            && let Some(session) = &request.context.session
            && negotiated(Some(session), &Extension::Callbacks)
        {
            self.take(session, request, (*request.context).clone());
            return Flow::answer(Response::empty());
        }
        Flow::Pass(())
    }
}
