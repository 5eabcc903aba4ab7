//! The rules for a server that is kept alive.

use std::time::Duration;

use mgp_client_sdk::RestartPolicy;
use mgp_types::Origin;
use mgp_types::mgp::{LifecycleChange, ServerState, code};
use tokio::time::Instant;

use super::peer::Record;
use super::plan::{Death, Plan};
use super::{Call, SOON, Seen};
use crate::tally::Tally;

/// Returns all faults of a run.
pub(super) fn violations(plan: &Plan, record: &Record, seen: &Seen, tally: &Tally) -> Vec<String> {
    let mut wrong = record.odd.clone();
    wrong.extend(seen.wrong.iter().cloned());
    wrong.extend(too_many_restarts(plan, seen, tally));
    wrong.extend(two_at_once(record));
    for (at, change, opened) in &seen.changes {
        let listed = opened.checked_sub(1).is_some_and(|latest| record.listed.contains(&latest));
        if change.new_state == ServerState::Connected && !listed {
            wrong.push(format!("at {at:?} connection {opened} was ready, and its tools were not listed"));
        }
    }
    for call in &seen.calls {
        let why = one_outcome(plan, record, call, tally);
        wrong.extend(why.map(|why| format!("{why}: {call:?}")));
    }
    wrong
}

/// No connection is made while there is another one. The server may notice its end a little later.
fn two_at_once(record: &Record) -> Option<String> {
    for (number, opened) in record.opened.iter().enumerate() {
        let ended = |before: usize| record.ended.get(&before).is_some_and(|ended| *ended <= *opened + SOON);
        if let Some(before) = (0..number).find(|before| !ended(*before)) {
            return Some(format!("connection {number} was made beside {before}"));
        }
    }
    None
}

/// Within any window, the server is restarted so often at most, unless somebody orders it.
fn too_many_restarts(plan: &Plan, seen: &Seen, tally: &Tally) -> Option<String> {
    let restarts: Vec<_> =
        seen.changes.iter().filter(|(_, change, _)| is_automatic(change)).map(|(at, ..)| *at).collect();
    tally.add("restarted", restarts.len());
    let given_up = |change: &LifecycleChange| change.reason.as_deref() == Some("restart_limit_exceeded");
    tally.add("given up", seen.changes.iter().filter(|(_, change, _)| given_up(change)).count());
    if plan.restarts.restart_policy == RestartPolicy::Never && !restarts.is_empty() {
        return Some("it was restarted, and should not have been".to_owned());
    }
    let window = Duration::from_secs(plan.restarts.restart_window_secs);
    for from in &restarts {
        // An order begins a new count; which came first in the same moment cannot be told.
        let until = seen.orders.iter().filter(|order| *order >= from).min().copied();
        let until = until.unwrap_or(*from + window).min(*from + window);
        let times = restarts.iter().filter(|at| *at >= from && **at < until).count();
        if times > plan.restarts.max_restarts as usize {
            return Some(format!("restarted {times} times from {from:?} on"));
        }
    }
    None
}

fn is_automatic(change: &LifecycleChange) -> bool {
    let ordered = ["operator_request", "configuration_change"];
    change.new_state == ServerState::Restarting
        && change
            .reason
            .as_deref()
            .is_some_and(|reason| !ordered.contains(&reason) && reason != "restart_limit_exceeded")
}

/// A call ends in time, with its own answer or for a reason, and is sent once.
fn one_outcome(plan: &Plan, record: &Record, call: &Call, tally: &Tally) -> Option<String> {
    let came = record.calls.get(&call.nonce).map_or(&[][..], Vec::as_slice);
    if came.len() > 1 {
        return Some(format!("it came {} times", came.len()));
    }
    if call.ended > call.started + call.timeout + SOON {
        return Some("later than its deadline".to_owned());
    }
    let connection = came.first().copied();
    match &call.outcome {
        Ok(text) => {
            tally.count("answered");
            let own = connection.map(|connection| format!("{}:{connection}", call.nonce));
            (Some(text) != own.as_ref()).then(|| format!("the answer is not {own:?}"))
        }
        Err(error) => match error.origin() {
            Origin::Local => {
                tally.count("refused");
                let at_once = call.ended == call.started && connection.is_none();
                let is_known = matches!(
                    error.code(),
                    code::SERVER_NOT_READY | code::SERVER_DRAINING | code::SERVER_RESTARTING
                );
                let recovery = error.recovery();
                let says_when = call.state != ServerState::Restarting
                    || recovery
                        .is_some_and(|recovery| recovery.may_retry() && recovery.retry_after_ms.is_some());
                (!at_once || !is_known || !says_when).then(|| "refused in another way".to_owned())
            }
            Origin::Timeout => {
                tally.count("timed out");
                let early = call.ended + SOON < call.started + call.timeout;
                early.then(|| "earlier than its deadline".to_owned())
            }
            Origin::Connection => {
                tally.count("lost");
                lost_in_time(plan, record, call, connection)
            }
            _ => Some("an unexpected error".to_owned()),
        },
    }
}

/// Returns a fault if a loss was noticed late: a crash shows at once, silence when the supervisor has asked often
/// enough.
fn lost_in_time(plan: &Plan, record: &Record, call: &Call, connection: Option<usize>) -> Option<String> {
    let connection = connection?;
    let ended: Option<Instant> = record.ended.get(&connection).copied();
    let Some(ended) = ended.filter(|ended| *ended <= call.ended + CLOSING) else {
        return Some("the connection was not lost".to_owned());
    };
    let crashed = plan
        .lives
        .get(connection)
        .and_then(|life| life.death)
        .is_some_and(|(_, death)| death == Death::Crash);
    (crashed && call.ended > ended + SOON).then(|| format!("the connection was lost at {ended:?}"))
}

/// The time that a server may take to close.
const CLOSING: Duration = Duration::from_secs(6);
