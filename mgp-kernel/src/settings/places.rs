//! The limits on calls at once: of each agent, of each server, and of all servers together.

use std::num::NonZeroUsize;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::config::model::{ServerConfig, usual};
use mgp_lifecycle::call::ConcurrencyLimit;

/// Returns the limit on the calls of each agent, with those that wait for people and servers. Others wait in its line.
pub(crate) fn agent_calls_at_once(config: &Config) -> ConcurrencyLimit {
    let most = places(config.limits.agent_concurrency.unwrap_or(usual::AGENT_CONCURRENCY));
    let waiting = line(config);
    let each = ConcurrencyLimit::with_line(most, waiting, PATIENCE).refusing_with(format!(
        "too many calls of this agent at once: {most} run and {waiting} wait in line, for {} s at most; come again, or have \
         `agent_concurrency` or `waiting_calls` of `[limits]` raised in mgp.toml",
        PATIENCE.as_secs()
    ));
    each.per_agent()
}

/// Returns the limit on the calls that all servers work on at once.
pub(crate) fn calls_at_once() -> ConcurrencyLimit {
    let places = places(usual::CONCURRENCY);
    ConcurrencyLimit::new(places).refusing_with(format!(
        "the servers work on {places} calls at once, as many as they may together; come again"
    ))
}

/// Returns the layer that bounds the calls that one server works on at once, within the limit `of_all` servers. Others wait in
/// the server's line.
pub(crate) fn server_calls_at_once(
    config: &Config,
    server: &ServerConfig,
    of_all: &ConcurrencyLimit,
) -> ConcurrencyLimit {
    let (id, places, waiting) = (&server.id, server_places(server), line(config));
    let own = ConcurrencyLimit::with_line(places, waiting, PATIENCE).refusing_with(format!(
        "too many calls of {id} at once: {places} run and {waiting} wait in line, for {} s at most; come again, or have \
         `concurrency` of its `[servers.limits]`, or `waiting_calls` of `[limits]`, raised in mgp.toml",
        PATIENCE.as_secs()
    ));
    own.within(of_all.clone())
}

/// Returns the number of calls that one server works on at once.
pub(crate) fn server_places(server: &ServerConfig) -> NonZeroUsize {
    places(server.limits.concurrency.unwrap_or(usual::SERVER_CONCURRENCY))
}

fn places(calls: u32) -> NonZeroUsize {
    NonZeroUsize::new(calls as usize).unwrap_or(NonZeroUsize::MIN)
}

/// Returns the number of calls that wait in each line.
fn line(config: &Config) -> usize {
    config.limits.waiting_calls.unwrap_or(usual::WAITING_CALLS) as usize
}

/// The time that a call waits in line.
const PATIENCE: Duration = Duration::from_mins(2);
