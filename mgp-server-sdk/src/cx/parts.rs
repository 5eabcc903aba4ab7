//! The parts of a result that are kept for a caller that does not want parts.

use mgp_types::mcp::ContentBlock;

/// The parts of a result whose caller does not want parts: they become the result if the handler returns none.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<ContentBlock>);

impl Parts {
    /// Adds a part; a text continues the text before it.
    pub(super) fn push(&mut self, part: ContentBlock) {
        match (self.0.last_mut(), part) {
            (Some(ContentBlock::Text(last)), ContentBlock::Text(next))
                if last.annotations.is_none() && next.annotations.is_none() =>
            {
                last.text.push_str(&next.text);
            }
            (_, part) => self.0.push(part),
        }
    }

    pub(super) fn take(&mut self) -> Vec<ContentBlock> {
        std::mem::take(&mut self.0)
    }
}
