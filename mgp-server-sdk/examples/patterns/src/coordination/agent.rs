//! Agents: the clients that work on tasks.

use std::collections::BTreeSet;
use std::time::Duration;

use mgp_types::random_name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// The kind of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AgentType {
    /// A model with tools.
    #[default]
    Ai,
    /// A program.
    Container,
}

/// An agent that registers.
#[derive(Debug, Clone)]
pub(super) struct NewAgent {
    pub(super) id: String,
    pub(super) kind: AgentType,
    pub(super) capabilities: BTreeSet<String>,
    /// How long the agent may be silent before it counts as lost.
    pub(super) silence: Duration,
}

/// A registered agent.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) new: NewAgent,
    pub(super) token: TokenDigest,
    /// The time until which the agent counts as alive without a further call.
    pub(super) alive_until: Instant,
    /// True until the agent is lost; true again with its next call.
    pub(super) is_enabled: bool,
    /// The number of the task that the agent works on.
    pub(super) task: Option<u64>,
}

impl Agent {
    /// Notes a sign of life of an agent that may then wait for this long.
    pub(super) fn is_alive(&mut self, now: Instant, waits: Duration) {
        self.alive_until = now + waits + self.new.silence;
        self.is_enabled = true;
    }

    /// Returns whether the agent may be given a task.
    pub(super) fn may_do(&self, target: Option<&str>, required: &BTreeSet<String>) -> bool {
        target.is_none_or(|target| target == self.new.id) && required.is_subset(&self.new.capabilities)
    }
}

/// The secret by which an agent proves in later calls that it is the one that registered.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct AgentToken(String);

/// The digest of a token, which is all that the coordinator keeps of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TokenDigest([u8; 32]);

impl AgentToken {
    /// Makes a token that nobody can guess.
    pub(super) fn new() -> Self {
        Self(random_name() + &random_name())
    }

    pub(super) fn digest(&self) -> TokenDigest {
        TokenDigest::of(&self.0)
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

impl TokenDigest {
    pub(super) fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }
}

impl std::fmt::Debug for AgentToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AgentToken(***)")
    }
}
