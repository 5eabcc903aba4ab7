//! The gateway's table of callbacks that it passes on.

use std::collections::HashMap;
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::mgp::{CallbackRequest, ServerId};
use mgp_types::{Context, Error, Params, RawJson, StreamId, code, random_name};
use tokio::time::Instant;

use super::ask::PREFIX;
use super::question::wait_for;
use crate::advice::refused;
use crate::session::SessionOwner;

/// The callbacks that a gateway passes on from the servers behind it to the clients in front of it.
///
/// Servers choose ids as they like, and two may choose the same; so each callback goes on under an id of the gateway,
/// which cannot be guessed. A repeated callback goes on under the same id, so that the client recognises it. The answer
/// finds its server by the gateway's id, and only if it comes from the client that was asked.
///
/// The relay does no IO and is given the time: its user puts a lock around it and sends what it returns.
#[derive(Default)]
pub struct CallbackRelay {
    passed: HashMap<Box<str>, PassedCallback, RandomState>,
}

/// The server's key of a callback: ids may be unique within a call only.
#[derive(PartialEq)]
struct ServerCallbackKey {
    server: ServerId,
    stream: StreamId,
    id: Box<str>,
}

struct PassedCallback {
    theirs: ServerCallbackKey,
    owner: SessionOwner,
    is_answered: bool,
    until: Instant,
}

/// An answer and its destination.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RoutedAnswer {
    /// The server that asked.
    pub server: ServerId,
    /// The call of the client that the server asked about.
    pub stream: StreamId,
    /// The parameters of `mgp/callback/respond` as this server knows them.
    pub params: Params,
}

const MAX_OF_SERVER: usize = 128;
const MAX_PASSED: usize = 1024;

/// The time for which answers may come after the server stopped waiting.
const MEMORY: Duration = Duration::from_mins(1);

/// The member that named the call on the connection of the request.
const CALL: &str = "request_id";

const ID: &str = "callback_id";

impl CallbackRelay {
    /// Creates a relay that has passed nothing on yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the parameters under which a callback request of `server` goes on to the client whose call `front` is.
    ///
    /// # Errors
    /// -32602 if the request has no usable id; -32600 if `front` is no call, so that no client is there to be asked;
    /// 3001 if too many callbacks of the server are open.
    pub fn pass_on(
        &mut self,
        server: &ServerId,
        front: &Context,
        params: &Params,
        now: Instant,
    ) -> Result<Params, Error> {
        let request = CallbackRequest::read(params)
            .ok_or_else(|| Error::invalid_params("a callback needs a `callback_id` of 1 to 256 bytes"))?;
        let stream = front.outbox.stream();
        if stream == StreamId::STANDALONE {
            return Err(Error::invalid_request("the callback belongs to a call that is over"));
        }
        let until = now + wait_for(&request) + MEMORY;
        let theirs = ServerCallbackKey { server: server.clone(), stream, id: request.callback_id };
        let known = self.passed.iter_mut().find(|(_, passed)| passed.theirs == theirs);
        let ours = if let Some((ours, passed)) = known {
            passed.until = until;
            ours.clone()
        } else {
            self.make_room(server, now)?;
            let ours: Box<str> = format!("{PREFIX}{}", random_name()).into();
            let passed = PassedCallback { theirs, owner: SessionOwner::of(front), is_answered: false, until };
            self.passed.insert(ours.clone(), passed);
            ours
        };
        let mut params = params.clone();
        params.remove(CALL);
        params.set(ID, RawJson::from_text(&ours));
        Ok(params)
    }

    /// Returns the destination of an answer whose sender has `context`; `None` if the sender was passed no such
    /// callback.
    pub fn route(&mut self, context: &Context, params: &Params, now: Instant) -> Option<RoutedAnswer> {
        let passed = self.passed.get_mut(&*params.text(ID)?)?;
        if now >= passed.until || passed.owner != SessionOwner::of(context) {
            return None;
        }
        // The entry is kept: an answer that was lost on its way to the server is sent again.
        passed.is_answered = true;
        let mut params = params.clone();
        params.set(ID, RawJson::from_text(&passed.theirs.id));
        Some(RoutedAnswer { server: passed.theirs.server.clone(), stream: passed.theirs.stream, params })
    }

    /// Forgets the callbacks of a call that is over.
    pub fn end_of_call(&mut self, stream: StreamId) {
        self.passed.retain(|_, passed| passed.theirs.stream != stream);
    }

    /// Returns whether an answer to a callback that `server` made about the call may still come.
    pub fn waits(&self, stream: StreamId, server: &ServerId) -> bool {
        self.passed.values().any(|passed| passed.theirs.stream == stream && passed.theirs.server == *server)
    }

    /// Makes room for one more callback of `server`: the one that was answered first gives way.
    fn make_room(&mut self, server: &ServerId, now: Instant) -> Result<(), Error> {
        self.passed.retain(|_, passed| now < passed.until);
        let of_server = || self.passed.iter().filter(|(_, passed)| passed.theirs.server == *server);
        if of_server().count() >= MAX_OF_SERVER || self.passed.len() >= MAX_PASSED {
            let answered = of_server().filter(|(_, passed)| passed.is_answered);
            let oldest = answered.min_by_key(|(_, passed)| passed.until).map(|(ours, _)| ours.clone());
            let message = "too many callbacks of the server wait for an answer";
            let oldest = oldest.ok_or_else(|| refused(code::RESOURCE_EXHAUSTED, message))?;
            self.passed.remove(&oldest);
        }
        Ok(())
    }
}

mgp_types::partial_debug!(CallbackRelay, self => passed: self.passed.len());

#[cfg(test)]
mod tests;
