//! The counts of a kernel that belong to no server: refusals, failed logins, and the places of calls.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arc_swap::ArcSwap;
use http::request::Parts;
use mgp_discovery::Config;
use mgp_lifecycle::call::ConcurrencyLimit;
use mgp_transport::http::ConnectionAddrs;
use mgp_types::mgp::{CallRecord, Refusal};
use mgp_types::{Error, Flow, Gate, Method, Origin, Principal, Request, Response, is_hidden};

use crate::settings;

/// The counts of a kernel that belong to no server.
#[derive(Debug)]
pub(crate) struct KernelCounts {
    pub(crate) refusals: RefusalCounts,
    pub(crate) failed_logins: AtomicU64,
    /// The places of the calls of each agent.
    pub(crate) agent_places: ConcurrencyLimit,
    /// The places of the calls that all servers work on.
    pub(crate) server_places: ConcurrencyLimit,
}

impl KernelCounts {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            refusals: RefusalCounts::default(),
            failed_logins: AtomicU64::default(),
            agent_places: settings::agent_calls_at_once(config),
            server_places: settings::calls_at_once(),
        }
    }
}

/// The number of things of one kind within a minute, of which only so many count singly.
#[derive(Debug, Default)]
pub(crate) struct MinuteCount {
    /// The minute that is counted, from the beginning of the clock on.
    minute: i64,
    number: u64,
}

impl MinuteCount {
    /// Counts one more in this minute, of which `max` count singly. Returns how many like it were left out before;
    /// `None` if it is left out, too.
    pub(crate) fn count(&mut self, minute: i64, max: u64) -> Option<u64> {
        let mut before = 0;
        if self.minute != minute {
            before = self.number.saturating_sub(max);
            (self.minute, self.number) = (minute, 0);
        }
        self.number += 1;
        (self.number <= max).then_some(before)
    }
}

/// The largest number of things of one kind that are written in a minute.
pub(crate) const MAX_A_MINUTE: u64 = 60;

/// The numbers of refusals by section and rule. Takes no lock, and allocates for a rule that nobody has met yet.
#[derive(Debug, Default)]
pub(crate) struct RefusalCounts(ArcSwap<BTreeMap<RefusalRule, Arc<AtomicU64>>>);

/// The section that refuses, and its rule.
pub(crate) type RefusalRule = (&'static str, &'static str);

impl RefusalCounts {
    pub(crate) fn count(&self, rule: RefusalRule) {
        if !self.0.load().contains_key(&rule) {
            self.0.rcu(|known| {
                let mut known = BTreeMap::clone(known);
                known.entry(rule).or_default();
                known
            });
        }
        if let Some(count) = self.0.load().get(&rule) {
            count.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn read(&self) -> Vec<(RefusalRule, u64)> {
        self.0.load().iter().map(|(rule, count)| (*rule, count.load(Relaxed))).collect()
    }
}

/// A gate that counts the requests that are refused further in, and logs who was refused what, and why. Reads
/// `context.trail`. Allocates on refusal only.
#[derive(Debug, Clone)]
pub(crate) struct RefusalGate(pub(crate) Arc<KernelCounts>);

/// The facts about a request that are logged if it is refused.
pub(crate) struct WatchedRequest {
    trail: Arc<CallRecord>,
    method: Method,
    address: Option<IpAddr>,
}

impl Gate for RefusalGate {
    type Pass = Option<WatchedRequest>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let ends = request.extensions.get::<Parts>();
        let ends = ends.and_then(|head| head.extensions.get::<ConnectionAddrs>());
        Flow::Pass(request.context.trail.as_ref().map(|trail| WatchedRequest {
            trail: Arc::clone(trail),
            method: request.method.clone(),
            address: ends.map(|ends| ends.peer.ip()),
        }))
    }

    fn leave(&self, pass: Self::Pass, outcome: &mut Result<Response, Error>) {
        let (Some(watched), Err(error)) = (pass, outcome) else { return };
        let Some(&Refusal { by, rule, .. }) = watched.trail.refusal() else { return };
        if error.origin() == Origin::InputRequired {
            return;
        }
        self.0.refusals.count((by, rule));
        // The states of servers are logged where they change.
        if by == "lifecycle" {
            return;
        }
        let agent = watched.trail.caller().map(Principal::access_id);
        let (server, tool) = watched.trail.target().unzip();
        let tool = tool.flatten().map(|tool| short(tool.as_str()));
        tracing::warn!(
            section = by,
            rule,
            agent = agent.as_deref().map(short),
            method = short(watched.method.as_str()),
            server = server.map(|server| short(server.as_str())),
            tool,
            address = watched.address.map(tracing::field::display),
            "a request was refused"
        );
    }
}

/// Returns the beginning of a text that anybody may have written, as far as it is visible.
pub(crate) fn short(text: &str) -> String {
    text.chars().filter(|letter| !is_hidden(*letter)).take(MAX_SHOWN).collect()
}

/// The largest number of characters that are shown of a text.
const MAX_SHOWN: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_written() {
        let mut failed_logins = MinuteCount::default();
        let recorded = (0..1_000).filter(|_| failed_logins.count(7, 60).is_some()).count();
        assert_eq!(recorded, 60);
        assert_eq!(failed_logins.count(8, 60), Some(940));
        assert_eq!(failed_logins.count(8, 60), Some(0));
    }

    #[test]
    fn refusals_are_counted_by_section_and_rule() {
        let counts = RefusalCounts::default();
        for rule in [("limit", "agent"), ("access", "denied"), ("limit", "agent")] {
            counts.count(rule);
        }
        assert_eq!(counts.read(), [(("access", "denied"), 1), (("limit", "agent"), 2)]);
    }
}
