//! What the tests are arranged with: servers, peers, logs and numbers that do as they are told.

mod caller;
mod log;
mod random;
mod sent;
mod upstream;
mod world;

pub(crate) use self::caller::Caller;
pub(crate) use self::log::Log;
pub(crate) use self::random::{Random, each_seed, is_whole};
pub(crate) use self::sent::{agreed, call_of, millis, peer_error, secs, tool_call};
pub(crate) use self::upstream::{Answer, Upstream};
pub(crate) use self::world::{Act, Fate, Incarnation, World, by};
