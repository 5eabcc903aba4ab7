//! The tool `fit_context`: a conversation in three tiers, within a budget of tokens.

use std::sync::Arc;

use mgp_server_sdk::{Cx, Json, ToolError, schemars};

use super::bounds::{LONGEST_TEXT, check_length};
use super::extraction::{SummaryLimits, tokens};
use super::memory::{LONGEST_MEMORY, Memory};
use super::style::Style;
use super::summarize::{Method, check_limits, summary};

/// The arguments of `fit_context`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(super) struct FitContext {
    /// The conversation, the oldest message first.
    messages: Vec<Message>,
    /// The tokens that the conversation may have, by the kernel's estimate.
    budget_tokens: u32,
    /// Texts that the summary keeps, such as names and numbers.
    #[serde(default)]
    preserve: Option<Vec<String>>,
    /// The form of the summary; running text if left out.
    #[serde(default)]
    style: Option<Style>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
pub(super) struct Message {
    role: String,
    content: String,
}

/// The conversation in three tiers.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(super) struct FittedContext {
    /// The newest messages, as they are: up to 60 % of the budget.
    active: Vec<Message>,
    active_tokens: u32,
    /// The summary of all older messages: up to 25 % of the budget. Left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    summary_tokens: u32,
    /// The way in which the summary was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Method>,
    /// The ids under which the memory keeps the older messages; `recall_memory` finds them.
    archived: Vec<String>,
}

pub(super) async fn fit_context(asked: FitContext, cx: Cx) -> Result<Json<FittedContext>, ToolError> {
    let FitContext { messages, budget_tokens, preserve, style } = asked;
    if !(LEAST_BUDGET..=MAX_BUDGET).contains(&budget_tokens) {
        return Err(ToolError::new(format!(
            "`budget_tokens` is a number from {LEAST_BUDGET} to {MAX_BUDGET}"
        )));
    }
    if messages.len() > MAX_MESSAGES {
        return Err(ToolError::new(format!("`messages` has {MAX_MESSAGES} messages at most")));
    }
    let first_active = first_active(&messages, share(budget_tokens, ACTIVE_PERCENT));
    let (older, active) = messages.split_at(first_active);
    let active_tokens = active.iter().map(Message::tokens).sum();
    let mut fitted = FittedContext {
        active: active.to_vec(),
        active_tokens,
        summary: None,
        summary_tokens: 0,
        method: None,
        archived: Vec::new(),
    };
    if older.is_empty() {
        return Ok(Json(fitted));
    }
    let text = older.iter().map(Message::written).collect::<Vec<_>>().join("\n");
    check_length("messages", &text, LONGEST_TEXT)?;
    let preserve = preserve.unwrap_or_default();
    let max_tokens = share(budget_tokens, SUMMARY_PERCENT);
    let limits = SummaryLimits { max_tokens, preserve: &preserve, style: style.unwrap_or_default() };
    check_limits(limits)?;
    let made = summary(&cx, &text, limits).await?;
    fitted.summary_tokens = made.tokens;
    fitted.method = Some(made.method);
    fitted.summary = Some(made.text);
    fitted.archived = archive(cx.state::<Arc<Memory>>()?, older).await?;
    Ok(Json(fitted))
}

/// Returns the place of the first message that stays as it is: the messages from there on have no more than `most`
/// tokens.
fn first_active(messages: &[Message], most: u32) -> usize {
    let mut left = most;
    let newest = messages.iter().rev().take_while(|message| {
        let rest = left.checked_sub(message.tokens());
        left = rest.unwrap_or_default();
        rest.is_some()
    });
    messages.len() - newest.count()
}

/// Keeps messages in the memory, long ones in parts. The same messages are kept once, however often they are archived.
async fn archive(memory: &Arc<Memory>, messages: &[Message]) -> Result<Vec<String>, ToolError> {
    let written: Vec<(String, String)> = messages
        .iter()
        .flat_map(|message| {
            parts(&message.written()).map(|part| (part, message.role.clone())).collect::<Vec<_>>()
        })
        .collect();
    let memory = Arc::clone(memory);
    let kept = tokio::task::spawn_blocking(move || {
        let kept = written.into_iter().map(|(part, role)| {
            let tags = vec!["archive".to_owned(), role.chars().take(LONGEST_ROLE).collect()];
            memory.store(part, tags).map(|stored| stored.id)
        });
        kept.collect::<std::io::Result<Vec<_>>>()
    });
    Ok(kept.await??)
}

fn parts(text: &str) -> impl Iterator<Item = String> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.floor_char_boundary(LONGEST_MEMORY);
        let (part, behind) = rest.split_at(end);
        rest = behind;
        (!part.is_empty()).then(|| part.to_owned())
    })
}

impl Message {
    fn written(&self) -> String {
        format!("{}: {}", self.role, self.content)
    }

    fn tokens(&self) -> u32 {
        tokens(&self.written())
    }
}

fn share(of: u32, percent: u32) -> u32 {
    of / 100 * percent + of % 100 * percent / 100
}

/// The shares of the budget. What is left is for the next answer.
const ACTIVE_PERCENT: u32 = 60;
const SUMMARY_PERCENT: u32 = 25;
const LEAST_BUDGET: u32 = 64;
const MAX_BUDGET: u32 = 400_000;
const MAX_MESSAGES: usize = 2000;
const LONGEST_ROLE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(contents: &[&str]) -> Vec<Message> {
        contents.iter().map(|&content| Message { role: "user".into(), content: content.into() }).collect()
    }

    #[test]
    fn the_newest_messages_stay_as_far_as_there_is_room() {
        let all = messages(&["one", "two", "three"]);
        let each = all[0].tokens();
        assert_eq!(first_active(&all, each * 3), 0);
        assert_eq!(first_active(&all, each * 2), 1);
        assert_eq!(first_active(&all, each - 1), 3);
        assert_eq!(first_active(&[], 10), 0);
        // No message is skipped: what is older than one without room goes with it.
        let long = "word ".repeat(100);
        assert_eq!(first_active(&messages(&["one", &long, "three"]), each * 2), 2);
    }

    #[test]
    fn a_long_message_is_kept_in_parts() {
        let text = "ä".repeat(LONGEST_MEMORY);
        let parts: Vec<_> = parts(&text).collect();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts.concat(), text);
    }

    #[test]
    fn shares_are_exact_for_any_budget() {
        assert_eq!((share(1000, 60), share(1000, 25), share(64, 25)), (600, 250, 16));
        assert_eq!(share(u32::MAX, 60), 2_576_980_377);
    }
}
