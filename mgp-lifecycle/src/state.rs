//! The states of a server, their transitions, and the broadcast of changes to listeners.

use mgp_types::mgp::{LifecycleChange, ServerId, ServerState, Timestamp};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// The error of a transition that the specification does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a server that is `{from}` cannot become `{to}`")]
#[non_exhaustive]
pub struct InvalidTransition {
    /// The state of the server, which stays.
    pub from: ServerState,
    /// The state that was asked for.
    pub to: ServerState,
}

/// Takes a server from its state to the state `to`, and returns the previous one. There are the transitions of the
/// specification (§11.2) and no others.
pub(crate) fn take(state: &mut ServerState, to: ServerState) -> Result<ServerState, InvalidTransition> {
    let from = *state;
    if !next(from).contains(&to) {
        return Err(InvalidTransition { from, to });
    }
    *state = to;
    Ok(from)
}

/// Returns the next states by the figure of §11.2, and three transitions it lacks: a connected server can break, a
/// stopped one can be started again, and a restart can fail.
const fn next(from: ServerState) -> &'static [ServerState] {
    use ServerState::{Connected, Connecting, Disconnected, Draining, Error, Registered, Restarting};
    match from {
        Registered | Disconnected => &[Connecting],
        Connecting | Restarting => &[Connected, Error],
        Connected => &[Draining, Error],
        Draining => &[Disconnected, Restarting],
        Error => &[Restarting],
    }
}

/// The changes of one server's state, as they happen.
#[derive(Debug)]
pub struct LifecycleChanges(pub(crate) broadcast::Receiver<LifecycleChange>);

impl LifecycleChanges {
    /// Returns the next change; `None` when the server can have no more. A listener that is too slow loses the oldest
    /// changes: the previous state of the next one is then not the new state of the last one.
    ///
    /// # Cancel safety
    /// Dropping the future loses no change.
    pub async fn next(&mut self) -> Option<LifecycleChange> {
        loop {
            match self.0.recv().await {
                Ok(change) => return Some(change),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// Tells all listeners that `server` went from one state to another. The function never waits for a listener.
pub(crate) fn tell(
    changes: &broadcast::Sender<LifecycleChange>,
    server: &ServerId,
    from: ServerState,
    to: ServerState,
    reason: Option<&str>,
) {
    tracing::info!(server = server.as_str(), %from, %to, reason, "server changed state");
    let mut change = LifecycleChange::new(server.clone(), from, to, Timestamp::now());
    change.reason = reason.map(str::to_owned);
    // Sending fails only without a listener.
    let _ = changes.send(change);
}

/// The number of changes that are kept for a slow listener.
pub(crate) const CHANGES_KEPT: usize = 64;

#[cfg(test)]
mod tests {
    use mgp_types::mgp::ServerState::{
        Connected, Connecting, Disconnected, Draining, Error, Registered, Restarting,
    };

    use super::*;

    // covers: MGP-11.2-01..08
    #[test]
    fn the_transitions_of_the_specification_are_taken_and_no_others() {
        let of_the_figure = [
            (Registered, Connecting),
            (Connecting, Connected),
            (Connecting, Error),
            (Connected, Draining),
            (Draining, Disconnected),
            (Draining, Restarting),
            (Error, Restarting),
            (Restarting, Connected),
        ];
        let added = [(Connected, Error), (Disconnected, Connecting), (Restarting, Error)];
        for &from in ServerState::ALL {
            for &to in ServerState::ALL {
                let mut life = from;
                let expected = of_the_figure.contains(&(from, to)) || added.contains(&(from, to));
                assert_eq!(take(&mut life, to).is_ok(), expected, "{from} to {to}");
                assert_eq!(life, if expected { to } else { from });
            }
        }
    }

    #[test]
    fn a_refused_transition_names_both_ends() {
        let error = take(&mut Registered.clone(), Connected).unwrap_err();
        assert_eq!(error.to_string(), "a server that is `registered` cannot become `connected`");
    }
}
