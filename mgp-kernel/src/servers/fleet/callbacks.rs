//! The routes of callbacks from servers to clients, and of their answers back.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use mgp_stream::callback::CallbackRelay;
use mgp_types::mgp::ServerId;
use mgp_types::{Context, Error, Params, StreamId};
use tokio::time::Instant;

use mgp_types::BoxedService;

/// The routes of the callbacks of all servers to clients, and of their answers back: to the connection that asked,
/// which may be that of a server that is being replaced or removed.
#[derive(Default)]
pub(crate) struct CallbackRoutes {
    relay: CallbackRelay,
    /// The ways back, by the call that the callback is about and the server that sent it.
    ways: HashMap<(StreamId, ServerId), BoxedService, RandomState>,
}

impl CallbackRoutes {
    /// Returns the params under which a callback goes on to the client whose call `front` is. The answer goes `way`.
    ///
    /// # Errors
    /// Fails if it cannot go on.
    pub(crate) fn pass_on(
        &mut self,
        (server, way): (&ServerId, BoxedService),
        front: &Context,
        params: &Params,
        now: Instant,
    ) -> Result<Params, Error> {
        let passed = self.relay.pass_on(server, front, params, now)?;
        self.ways.insert((front.outbox.stream(), server.clone()), way);
        Ok(passed)
    }

    /// Returns the way back to the server whose callback an `mgp/callback/respond` answers, and the params as that
    /// server knows them; `None` if it answers nothing that the sender was asked.
    pub(crate) fn answered(&mut self, context: &Context, params: &Params) -> Option<(BoxedService, Params)> {
        let routed = self.relay.route(context, params, Instant::now())?;
        Some((self.ways.get(&(routed.stream, routed.server))?.clone(), routed.params))
    }

    /// Removes the ways back that no answer will go any more; the caller drops them without a lock.
    #[must_use]
    pub(crate) fn over(&mut self) -> Vec<BoxedService> {
        let Self { relay, ways } = self;
        ways.extract_if(|(stream, server), _| !relay.waits(*stream, server)).map(|(_, way)| way).collect()
    }

    /// Forgets the callbacks about a call that is over. Returns the ways back, which the caller drops without a lock.
    #[must_use]
    pub(crate) fn end_of_call(&mut self, stream: StreamId) -> Vec<BoxedService> {
        self.relay.end_of_call(stream);
        self.ways.extract_if(|(call, _), _| *call == stream).map(|(_, way)| way).collect()
    }
}
