//! The tools of a session (§16.7) and the tokens that they may take (§16.8).

use crate::macros::record;

record! {
    /// The result of `mgp/tools/session` (§16.7): the tools that are in the model's context.
    pub struct ToolSession: Eq {
        /// The tools that are always there.
        default pinned: Vec<String>;
        /// The tools that the session used, the latest first.
        default cached: Vec<String>;
        /// The number of tokens that the tools of the session take.
        plain total_tokens: u64;
        /// The greatest number of tokens that the tools of the session may take.
        required max_tokens: u64;
    }

    /// The parameters of `mgp/tools/session/evict` (§16.7).
    pub struct EvictTools: Eq {
        /// The names of the tools.
        plain tools: Vec<String>;
        /// The reason, like `no_longer_needed`.
        optional reason: String;
    }
}

impl EvictTools {
    /// Creates the request to take these tools out.
    pub fn new(tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { tools: tools.into_iter().map(Into::into).collect(), reason: None }
    }
}

record! {
    /// The result of `mgp/tools/session/evict`.
    pub struct EvictedTools: Eq {
        /// The tools that were taken out.
        default evicted: Vec<String>;
        /// The tools that the session did not have.
        default not_found: Vec<String>;
        /// The tools that stay because they are pinned.
        list pinned: String;
        /// The number of tokens that the remaining tools take.
        plain total_tokens: u64;
        /// The greatest number of tokens that the tools of the session may take.
        required max_tokens: u64;
    }

    /// The numbers of tokens that the definitions of tools may take (§16.8).
    ///
    /// ```
    /// use mgp_types::mgp::ToolContextBudget;
    ///
    /// let budget: ToolContextBudget = serde_json::from_str(r#"{"max_tokens":4000}"#)?;
    /// assert_eq!((budget.max_tokens, budget.cache_limit), (4000, 3000));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[serde(default)]
    pub struct ToolContextBudget: Copy, Eq, Hash {
        /// The limit of all definitions together, in tokens.
        required max_tokens: u32;
        /// The share of the pinned tools, in tokens.
        required pinned_reserve: u32;
        /// The share of one answer to a search or a request, in tokens.
        required discovery_reserve: u32;
        /// The share of the tools that the session used, in tokens.
        required cache_limit: u32;
    }
}

impl ToolContextBudget {
    /// Returns the budget of the specification for this total.
    pub fn of(max_tokens: u32) -> Self {
        Self { max_tokens, ..Self::default() }
    }
}

impl Default for ToolContextBudget {
    fn default() -> Self {
        Self { max_tokens: 8000, pinned_reserve: 2000, discovery_reserve: 3000, cache_limit: 3000 }
    }
}
