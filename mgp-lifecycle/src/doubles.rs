//! Fixtures of the tests: servers, peers, logs and random numbers.

mod caller;
mod random;
mod upstream;
mod world;

pub(crate) use self::caller::{Caller, Log};
pub(crate) use self::random::{
    Random, agreed, call_of, each_seed, is_whole, millis, peer_error, secs, tool_call,
};
pub(crate) use self::upstream::{Answer, Upstream};
pub(crate) use self::world::{Act, Fate, Incarnation, World, by};
