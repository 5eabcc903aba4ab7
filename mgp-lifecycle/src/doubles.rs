//! Fixtures of the tests: servers, peers, logs and random numbers.

mod caller;
mod fake_server_host;
#[cfg(feature = "store")]
mod kill_switch;
mod random;
mod upstream;

pub(crate) use self::caller::{Caller, Log};
pub(crate) use self::fake_server_host::{
    AttemptOutcome, FakeServerHost, Incarnation, LIVES, ScriptedAttempt, by,
};
#[cfg(feature = "store")]
pub(crate) use self::kill_switch::{KillSwitch, life};
#[cfg(feature = "store")]
pub(crate) use self::random::each_seed_alone;
pub(crate) use self::random::{
    Random, agreed, call_of, each_seed, is_whole, millis, peer_error, secs, tool_call,
};
pub(crate) use self::upstream::{Upstream, UpstreamAnswer};
