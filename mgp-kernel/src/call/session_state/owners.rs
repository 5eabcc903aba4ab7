//! The agents to whom servers gave state, by digests of the tokens.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use mgp_types::Principal;
use mgp_types::mgp::ServerId;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// The agents to whom servers gave state tokens. Only digests of the tokens are kept, in memory: a kernel that starts
/// knows none, and clients begin their sessions anew.
///
/// Of each agent the 256 latest tokens are known; a session uses the latest one. Of too many agents, the one that was
/// not given a token for longest gives way.
#[derive(Default)]
pub(crate) struct StateOwners(Mutex<GivenStates>);

#[derive(Default)]
struct GivenStates {
    agents: HashMap<Principal, AgentStates, RandomState>,
    /// The number of tokens given so far, which orders them.
    given: u64,
}

#[derive(Default)]
struct AgentStates {
    tokens: VecDeque<OwnerDigest>,
    latest: u64,
}

/// The digest of a server's id and a token.
type OwnerDigest = [u8; 32];

impl StateOwners {
    /// Returns whether `server` gave the token to `agent`.
    pub(super) fn has(&self, agent: &Principal, server: &ServerId, token: &str) -> bool {
        let digest = digest(server, token);
        self.0.lock().agents.get(agent).is_some_and(|states| states.tokens.contains(&digest))
    }

    /// Notes that `server` gave the token to `agent`.
    pub(super) fn note(&self, agent: &Principal, server: &ServerId, token: &str) {
        let digest = digest(server, token);
        let mut states = self.0.lock();
        states.given += 1;
        let given = states.given;
        if states.agents.len() >= MAX_AGENTS && !states.agents.contains_key(agent) {
            let oldest = states.agents.iter().min_by_key(|(_, states)| states.latest);
            if let Some(oldest) = oldest.map(|(agent, _)| agent.clone()) {
                states.agents.remove(&oldest);
            }
        }
        let own = states.agents.entry(agent.clone()).or_default();
        own.latest = given;
        if own.tokens.contains(&digest) {
            return;
        }
        if own.tokens.len() >= MAX_TOKENS {
            own.tokens.pop_front();
        }
        own.tokens.push_back(digest);
    }
}

fn digest(server: &ServerId, token: &str) -> OwnerDigest {
    let server = server.as_str();
    let length = (server.len() as u64).to_be_bytes();
    Sha256::new().chain_update(length).chain_update(server).chain_update(token).finalize().into()
}

/// The number of tokens of an agent that are known.
const MAX_TOKENS: usize = 256;
/// The number of agents whose tokens are known.
const MAX_AGENTS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_for_one_agent_and_one_server() {
        let owners = StateOwners::default();
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        owners.note(&ada, &"docs".into(), "token");
        assert!(owners.has(&ada, &"docs".into(), "token"));
        for (agent, server, token) in [
            (&bob, "docs", "token"),
            (&Principal::operator("ada"), "docs", "token"),
            (&ada, "mail", "token"),
            (&ada, "docs", "other"),
            (&ada, "docst", "oken"),
        ] {
            assert!(!owners.has(agent, &server.into(), token), "{agent:?} {server} {token}");
        }
    }

    #[test]
    fn one_agent_forgets_its_own_oldest_tokens_and_no_others() {
        let owners = StateOwners::default();
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        owners.note(&bob, &"docs".into(), "his");
        for number in 0..=MAX_TOKENS {
            owners.note(&ada, &"docs".into(), &number.to_string());
        }
        let has = |token: &str| owners.has(&ada, &"docs".into(), token);
        assert_eq!([has("0"), has("1"), has(&MAX_TOKENS.to_string())], [false, true, true]);
        assert!(owners.has(&bob, &"docs".into(), "his"));
        for agent in 0..MAX_AGENTS {
            owners.note(&Principal::new(agent.to_string()), &"docs".into(), "x");
        }
        assert!(!owners.has(&bob, &"docs".into(), "his"), "he was not given a token for longest");
        assert!(owners.0.lock().agents.len() <= MAX_AGENTS);
    }
}
