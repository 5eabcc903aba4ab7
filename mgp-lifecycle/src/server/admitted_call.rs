//! Calls inside a server, counted until they end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::mgp::{Refusal, ServerState};
use mgp_types::{Error, Request, Response};
use pin_project_lite::pin_project;
use tokio::sync::futures::OwnedNotified;
use tokio::time::Instant;

use super::run::ServerRun;
use crate::admission::{AdmissionKind, InFlightCount};
use crate::refusal;

pin_project! {
    /// A call that is inside: it counts until it is dropped, and is woken when it has to end.
    ///
    /// A call that is done at its first poll costs two atomic operations. A call that waits takes a lock for a moment,
    /// to be woken if the server ends before it.
    pub(super) struct AdmittedCall {
        run: Arc<ServerRun>,
        seat: AdmissionKind,
        begun: Option<Instant>,
        #[pin]
        gone: Option<OwnedNotified>,
    }

    impl PinnedDrop for AdmittedCall {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.run.gate.leave(*this.seat);
        }
    }
}

impl AdmittedCall {
    /// Lets a call in.
    ///
    /// # Errors
    /// The refusal of a server that takes no calls.
    pub(super) fn begin(run: &Arc<ServerRun>, request: &Request) -> Result<Self, Error> {
        let seat = AdmissionKind::of(&request.method);
        let entered = run.gate.enter(seat, request.role());
        entered.map_err(|inside| refuse(run, inside, request))?;
        Ok(Self { run: Arc::clone(run), seat, begun: None, gone: None })
    }

    /// Waits for the end of the server, because the call is not done yet, and returns the answer to the call then.
    pub(super) fn poll_end(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Response, Error>> {
        let mut this = self.project();
        if this.gone.is_none() {
            *this.begun = (*this.seat == AdmissionKind::Call).then(Instant::now);
            this.gone.set(Some(Arc::clone(&this.run.exit).notified_owned()));
        }
        // A call that begins to wait after the end would not be woken, so that the gate is checked after the wait has
        // begun.
        let woken = this.gone.as_pin_mut().is_some_and(|gone| gone.poll(cx).is_ready());
        if !woken && !this.run.gate.inside().is_ended() {
            return Poll::Pending;
        }
        Poll::Ready(match this.seat {
            AdmissionKind::Call => Err(refusal::cut_off()),
            // A subscription ends with an empty answer.
            AdmissionKind::Listener => Ok(Response::empty()),
        })
    }

    /// Notes that the call ended by itself.
    pub(super) fn ended(self: Pin<&mut Self>, outcome: &Result<Response, Error>) {
        let this = self.project();
        if let (Some(begun), Ok(_)) = (*this.begun, outcome) {
            this.run.durations.observe(begun.elapsed());
        }
    }
}

fn refuse(run: &ServerRun, inside: InFlightCount, request: &Request) -> Error {
    tracing::debug!(method = %request.method, state = %inside.state(), "call refused");
    if let Some(trail) = &request.context.trail {
        trail.note_refusal(Refusal::new("lifecycle", inside.state().as_str()));
    }
    match inside.state() {
        _ if inside.is_ended() => refusal::gone(),
        state @ (ServerState::Draining | ServerState::Disconnected) => {
            refusal::not_admitted(state, Some(run.remaining(inside.calls())))
        }
        state => refusal::not_admitted(state, Some(Duration::ZERO)),
    }
}
