use std::collections::HashMap;

use foldhash::fast::RandomState;
use mgp_stream::callback::CallbackRelay;
use mgp_types::mgp::ServerId;
use mgp_types::{Context, Error, Params, StreamId};
use tokio::time::Instant;

use crate::call::erased::ErasedService;

/// The callbacks of all servers, on their way to clients, and the way back of their answers: to the connection that asked,
/// which may be that of a server that is being replaced or removed.
#[derive(Default)]
pub(crate) struct CallbackRoutes {
    relay: CallbackRelay,
    /// By the call that was called back about, and the server that did.
    ways: HashMap<(StreamId, ServerId), ErasedService, RandomState>,
}

impl CallbackRoutes {
    /// The parameters under which a callback goes on to the client whose call `front` is. The answer goes `way`.
    ///
    /// # Errors
    /// It cannot go on.
    pub(crate) fn pass_on(
        &mut self,
        (server, way): (&ServerId, ErasedService),
        front: &Context,
        params: &Params,
        now: Instant,
    ) -> Result<Params, Error> {
        let passed = self.relay.pass_on(server, front, params, now)?;
        self.ways.insert((front.outbox.stream(), server.clone()), way);
        Ok(passed)
    }

    /// The way to whoever asked what an `mgp/callback/respond` answers, and the parameters as it knows them; `None` if it
    /// answers nothing that the sender was asked.
    pub(crate) fn answered(&mut self, context: &Context, params: &Params) -> Option<(ErasedService, Params)> {
        let routed = self.relay.route(context, params, Instant::now())?;
        Some((self.ways.get(&(routed.stream, routed.server))?.clone(), routed.params))
    }

    /// The ways back that no answer will go any more; to be dropped without a lock.
    #[must_use]
    pub(crate) fn over(&mut self) -> Vec<ErasedService> {
        let Self { relay, ways } = self;
        ways.extract_if(|(stream, server), _| !relay.waits(*stream, server)).map(|(_, way)| way).collect()
    }

    /// Forgets what a call was called back about that is over; the ways back are to be dropped without a lock.
    #[must_use]
    pub(crate) fn end_of_call(&mut self, stream: StreamId) -> Vec<ErasedService> {
        self.relay.end_of_call(stream);
        self.ways.extract_if(|(call, _), _| *call == stream).map(|(_, way)| way).collect()
    }
}
