use serde::{Deserialize, Serialize};

/// The numbers of tokens that the definitions of tools may take (§16.8).
///
/// ```
/// use mgp_types::mgp::ToolContextBudget;
///
/// let budget: ToolContextBudget = serde_json::from_str(r#"{"max_tokens":4000}"#)?;
/// assert_eq!((budget.max_tokens, budget.cache_limit), (4000, 3000));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolContextBudget {
    /// The limit of all definitions together, in tokens.
    pub max_tokens: u32,
    /// The share of the pinned tools, in tokens.
    pub pinned_reserve: u32,
    /// The share of one answer to a search or a request, in tokens.
    pub discovery_reserve: u32,
    /// The share of the tools that the session used, in tokens.
    pub cache_limit: u32,
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

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-16.8-02, MGP-16.8-03, MGP-16.8-04, MGP-16.8-05
    #[test]
    fn the_budget_has_the_members_and_the_figures_of_the_specification() {
        let json = serde_json::to_value(ToolContextBudget::default()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "max_tokens": 8000, "pinned_reserve": 2000, "discovery_reserve": 3000, "cache_limit": 3000
            })
        );
        assert!(serde_json::from_str::<ToolContextBudget>(r#"{"max_tokens":-1}"#).is_err());
    }
}
