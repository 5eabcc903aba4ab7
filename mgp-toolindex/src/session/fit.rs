//! Answers to searches, fitted into the budget of a session.

use mgp_types::mgp::FoundTool;

use super::SessionSettings;
use super::held::ListingReason;
use super::tools::SessionTools;
use crate::budget::{Forms, TokenCounter, longest};

/// The part of an answer that fits into the budget.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FittedTools {
    /// The tools, in the order they were given in.
    pub(crate) tools: Vec<FoundTool>,
    /// The number of tools without room, even shortened.
    pub(crate) omitted: u64,
    /// The tokens of the tools, as they stand in the answer.
    pub(crate) tokens: u32,
}

impl SessionTools {
    /// Makes the answer to a search fit the budget: long definitions are shortened, and tools that have no room even so
    /// are left out.
    ///
    /// The answer takes its part of the budget until the next one, or until a tool is used or loaded.
    pub(crate) fn fit(
        &mut self,
        settings: &SessionSettings,
        found: impl IntoIterator<Item = FoundTool>,
    ) -> FittedTools {
        let tokens = &*settings.tokens;
        let found: Vec<(FoundTool, u32)> = found.into_iter().map(|tool| whole(tool, tokens)).collect();
        let left = self.left(settings);
        let all = left.saturating_add(self.cached_tokens());
        let best = found.first().map_or(0, |(_, size)| *size).min(all);
        let mut fitted = FittedTools::default();
        let mut room = settings.budget.discovery_reserve.min(left.max(best));
        let share = share(room, found.iter().map(|(_, size)| *size));
        for (tool, size) in found {
            let liked = share.min(room);
            let fits = if size <= liked { Some((tool, size)) } else { within(&tool, liked, room, tokens) };
            match fits {
                Some((tool, size)) => {
                    room -= size;
                    fitted.tokens += size;
                    fitted.tools.push(tool);
                }
                None => fitted.omitted += 1,
            }
        }
        // The least recently used tools leave where the total is used up, because a session that finds nothing any more could
        // not go on.
        while self.left(settings) < fitted.tokens && self.evict_idle(u64::MAX, ListingReason::Used) {}
        self.discovered = fitted.tokens;
        fitted
    }
}

/// The part of the room that a tool may take even if there are many.
const LEAST_SHARE: u32 = 6;

/// Returns the tokens that each tool may take so that all have room: small ones leave more to the others. The share
/// does not become so small that every schema is cut; then tools are left out instead.
fn share(room: u32, sizes: impl Iterator<Item = u32>) -> u32 {
    let mut sizes: Vec<u32> = sizes.collect();
    sizes.sort_unstable();
    let mut left = room;
    let mut number = u32::try_from(sizes.len()).unwrap_or(u32::MAX);
    for size in sizes {
        let even = left / number.max(1);
        if size > even {
            return even.max(room / LEAST_SHARE);
        }
        left -= size;
        number -= 1;
    }
    room
}

fn whole(mut tool: FoundTool, tokens: &dyn TokenCounter) -> (FoundTool, u32) {
    if let Some(form) = Forms::of(&tool.description, &tool.input_schema).next() {
        tool.input_schema = form.schema;
    }
    let size = size(&tool, tokens);
    (tool, size)
}

fn within(tool: &FoundTool, liked: u32, most: u32, tokens: &dyn TokenCounter) -> Option<(FoundTool, u32)> {
    let forms = Forms::of(&tool.description, &tool.input_schema).filter(|form| form.may_fit(most));
    let sized = forms.map(|form| {
        let mut short = tool.clone();
        short.description = form.description.into_owned();
        short.input_schema = form.schema;
        short.schema_shortened |= form.shortened;
        let size = size(&short, tokens);
        (short, size)
    });
    longest(sized, |(_, size)| *size, liked, most)
}

fn size(tool: &FoundTool, tokens: &dyn TokenCounter) -> u32 {
    serde_json::to_string(tool).map_or(u32::MAX, |text| tokens.count(&text))
}
