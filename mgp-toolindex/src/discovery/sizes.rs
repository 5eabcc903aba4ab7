//! The counted sizes of tools.

use serde::Serialize;

use super::meta_tool::category_tokens;
use crate::budget::{ListedDefinition, TokenCounter};
use crate::category::uppermost;
use crate::session::ToolView;

/// The sizes of the tools that an agent sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Sizes {
    /// The number of tools.
    pub tools: u64,
    /// The tokens of all definitions.
    pub definition_tokens: u64,
    /// The tokens that the names of categories add to the kernel's own tools.
    pub category_tokens: u64,
    /// Set if only some definitions were counted, evenly spread, because there are so many.
    pub sampled: bool,
    /// The name of the counter.
    pub counter: String,
}

const MAX_COUNTED: usize = 4096;

impl Sizes {
    /// Counts the tools of a view, each under its own name. The time is bounded by that for a few thousand definitions.
    pub fn of(view: &ToolView<'_>, tokens: &dyn TokenCounter) -> Self {
        let tools = view.tools().count();
        let step = tools.div_ceil(MAX_COUNTED).max(1);
        let (mut sum, mut counted) = (0_u64, 0_u64);
        for tool in view.tools().step_by(step) {
            sum += u64::from(ListedDefinition::of(tool, tool.name.as_str(), tokens).tokens());
            counted += 1;
        }
        let tools = tools as u64;
        Self {
            tools,
            definition_tokens: (sum * tools).checked_div(counted).unwrap_or(0),
            category_tokens: category_tokens(&uppermost(view.tools().map(|tool| &*tool.categories)), tokens)
                .into(),
            sampled: step > 1,
            counter: tokens.name().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mgp_types::RawJson;
    use serde_json::json;

    use super::*;
    use crate::budget::TokenEstimator;
    use crate::embed::NullEmbedder;
    use crate::level::Level;
    use crate::{Index, ServerTools, Tool, ToolListing};

    #[test]
    fn a_level_is_written_as_it_is_named() {
        for level in [Level::L0, Level::L1, Level::L2, Level::L3] {
            assert_eq!(serde_json::to_value(level).unwrap(), level.to_string());
        }
    }

    #[tokio::test]
    async fn tools_are_counted_and_where_there_are_very_many_by_sample() {
        let index = Index::new(Arc::new(NullEmbedder));
        for tools in [10, 10_000] {
            let listed = (0..tools).map(|n| {
                let definition =
                    json!({ "name": format!("tool_{n:05}"), "inputSchema": { "type": "object" } });
                ToolListing::read(&RawJson::from_value(&definition).unwrap()).unwrap()
            });
            index.put_server(ServerTools::new("s", listed.collect())).await;
            index.settled().await;
            let snapshot = index.snapshot();
            let tokens = TokenEstimator::new();
            let sizes = Sizes::of(&ToolView::all(&snapshot), &tokens);
            let one = ListedDefinition::of(snapshot.tool("s", "tool_00000").unwrap(), "tool_00000", &tokens)
                .tokens();
            assert_eq!((sizes.tools, sizes.sampled), (tools, tools > 5000));
            assert_eq!(sizes.definition_tokens, tools * u64::from(one));
            assert_eq!(sizes.category_tokens, 0, "they speak of nothing known");
            let half = |tool: &Tool| tool.name.as_str().ends_with(['0', '2', '4', '6', '8']);
            assert_eq!(Sizes::of(&ToolView::new(&snapshot, &half), &tokens).tools, tools / 2);
        }
    }
}
