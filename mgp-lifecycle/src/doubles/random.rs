//! Random schedules, sessions, requests and errors for tests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use mgp_types::mgp::{
    EffectiveSecurity, Extension, ExtensionSet, Negotiated, Offer, Recovery, ResolvedTool, RiskLevel,
};
use mgp_types::{Error, Object, Origin, Request, Revision, Session};

/// Runs a schedule for each of `seeds` seeds, each on a clock of its own, and returns their outcomes.
///
/// A schedule that fails prints its seed; `MGP_SEED=17 cargo test -p mgp-lifecycle NAME` runs that one alone, where
/// NAME is the name of the test.
pub(crate) fn each_seed<T>(seeds: u64, mut schedule: impl AsyncFnMut(Random) -> T) -> Vec<T> {
    each_seed_alone(seeds, |random| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(schedule(random))
    })
}

/// Runs a schedule for each of `seeds` seeds, as [`each_seed`] does, without a runtime.
pub(crate) fn each_seed_alone<T>(seeds: u64, mut schedule: impl FnMut(Random) -> T) -> Vec<T> {
    let seeds = match std::env::var("MGP_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..seeds).collect(),
    };
    let mut run = |seed| {
        let run = AssertUnwindSafe(|| schedule(Random(seed)));
        catch_unwind(run).unwrap_or_else(|_| panic!("replay with MGP_SEED={seed}"))
    };
    seeds.into_iter().map(&mut run).collect()
}

/// Returns whether all seeds run, so that tests can check the sum of their outcomes.
pub(crate) fn is_whole() -> bool {
    std::env::var_os("MGP_SEED").is_none()
}

/// Pseudo-random numbers that follow from a seed (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Returns a session in which both sides offered these extensions.
pub(crate) fn agreed(revision: Revision, extensions: &[Extension]) -> Session {
    let offer = Offer::new(extensions.iter().cloned().collect::<ExtensionSet>());
    let mut session = Session::new(revision);
    session.mgp = Negotiated::agree(&offer, &offer);
    session
}

/// Returns an error of a server, with its recovery advice.
pub(crate) fn peer_error(code: i64, recovery: Recovery) -> Error {
    Error::from_origin(Origin::Peer, code, "no").with_recovery(recovery)
}

/// Returns the call of a tool without known annotations.
pub(crate) fn tool_call() -> Request {
    Request::call("tools/call", Object::parse(r#"{"name":"search","arguments":{"q":"x"}}"#).unwrap())
}

/// Returns the call of a tool whose definition has these annotations.
pub(crate) fn call_of(annotations: &str) -> Request {
    let definition = Object::parse(format!(r#"{{"annotations":{annotations}}}"#)).unwrap();
    let security = EffectiveSecurity::new(RiskLevel::Moderate);
    let mut request = tool_call();
    request.context.tool = Some(ResolvedTool::new("web".into(), "search".into(), definition, security));
    request
}

pub(crate) const fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

pub(crate) const fn secs(number: u64) -> Duration {
    Duration::from_secs(number)
}
