//! The limits on calls at once: of each agent, of each server, and of all servers together.

use std::num::NonZeroUsize;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::config::model::{ServerConfig, usual};
use mgp_lifecycle::call::ConcurrencyLayer;

/// Returns the limit on the calls of each agent, with those that wait for people and servers. Others wait in its line.
pub(crate) fn agent_calls_at_once(config: &Config) -> ConcurrencyLayer {
    let limits = &config.limits;
    let (waiting, patience) = line(limits.waiting_calls, limits.waiting_ms);
    let most = places(limits.agent_concurrency.unwrap_or(usual::AGENT_CONCURRENCY));
    let each = ConcurrencyLayer::with_line(most, waiting, patience).refusing_with(format!(
        "too many calls of this agent at once: {most} run and {waiting} wait in line, for {} s at most; come again, or have \
         `agent_concurrency`, `waiting_calls` or `waiting_ms` of `[limits]` raised in mgp.toml",
        patience.as_secs_f64()
    ));
    each.per_agent()
}

/// Returns the limit on the calls that all servers work on at once.
pub(crate) fn calls_at_once(config: &Config) -> ConcurrencyLayer {
    let places = places(config.limits.concurrency.unwrap_or(usual::CONCURRENCY));
    ConcurrencyLayer::new(places).refusing_with(format!(
        "the servers work on {places} calls at once, as many as they may together; come again, or have `concurrency` of \
         `[limits]` raised in mgp.toml"
    ))
}

/// Returns the layer that bounds the calls that one server works on at once, within the limit `of_all` servers. Others wait in
/// the server's line.
pub(crate) fn server_calls_at_once(
    config: &Config,
    server: &ServerConfig,
    of_all: &ConcurrencyLayer,
) -> ConcurrencyLayer {
    let (own, all) = (&server.limits, &config.limits);
    let (waiting, patience) =
        line(own.waiting_calls.or(all.waiting_calls), own.waiting_ms.or(all.waiting_ms));
    let id = &server.id;
    let places = server_places(server);
    let own = ConcurrencyLayer::with_line(places, waiting, patience).refusing_with(format!(
        "too many calls of {id} at once: {places} run and {waiting} wait in line, for {} s at most; come again, or have \
         `concurrency`, `waiting_calls` or `waiting_ms` of its `[servers.limits]` raised in mgp.toml",
        patience.as_secs_f64()
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

fn line(calls: Option<u32>, ms: Option<u32>) -> (usize, Duration) {
    let patience = Duration::from_millis(ms.unwrap_or(usual::WAITING_MS).into());
    (calls.unwrap_or(usual::WAITING_CALLS) as usize, patience)
}
