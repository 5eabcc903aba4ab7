//! The tool `summarize`.

use mgp_server_sdk::{Cx, Json, ToolError, schemars};
use mgp_types::Error;

use super::bounds::{LONGEST_TEXT, check_length};
use super::extraction::{SummaryLimits, extract, holds, tokens};
use super::model::ask_model;
use super::style::Style;

/// The arguments of `summarize`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(super) struct Summarize {
    /// The text.
    text: String,
    /// The most tokens that the summary may have, by the kernel's estimate.
    max_tokens: u32,
    /// Texts that the summary keeps, such as names and numbers.
    #[serde(default)]
    preserve: Option<Vec<String>>,
    /// The form of the summary; running text if left out.
    #[serde(default)]
    style: Option<Style>,
}

/// A summary.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(super) struct Summary {
    #[serde(rename = "summary")]
    pub(super) text: String,
    /// The tokens of the summary.
    pub(super) tokens: u32,
    /// The tokens of the text.
    pub(super) original_tokens: u32,
    /// The way in which the summary was made.
    pub(super) method: Method,
    /// Texts that were to be preserved and that the text does not have.
    pub(super) missing: Vec<String>,
}

/// The way in which a result was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Method {
    /// The client's model wrote it.
    Model,
    /// It was taken from the text.
    Extraction,
}

pub(super) async fn summarize(asked: Summarize, cx: Cx) -> Result<Json<Summary>, ToolError> {
    let Summarize { text, max_tokens, preserve, style } = asked;
    check_length("text", &text, LONGEST_TEXT)?;
    let preserve = preserve.unwrap_or_default();
    let limits = SummaryLimits { max_tokens, preserve: &preserve, style: style.unwrap_or_default() };
    check_limits(limits)?;
    Ok(Json(summary(&cx, &text, limits).await?))
}

/// Checks the demands on a summary.
pub(super) fn check_limits(limits: SummaryLimits<'_>) -> Result<(), ToolError> {
    if !(LEAST_TOKENS..=MAX_TOKENS).contains(&limits.max_tokens) {
        return Err(ToolError::new(format!("`max_tokens` is a number from {LEAST_TOKENS} to {MAX_TOKENS}")));
    }
    if limits.preserve.len() > MAX_PRESERVED {
        return Err(ToolError::new(format!("`preserve` has {MAX_PRESERVED} texts at most")));
    }
    for item in limits.preserve {
        check_length("preserve", item, LONGEST_PRESERVED)?;
    }
    Ok(())
}

/// Summarizes a text by the client's model, or by extraction where there is none. The limits hold in either case.
///
/// # Errors
/// What is to be preserved has no room, or the answer of the model is still to come.
pub(super) async fn summary(cx: &Cx, text: &str, limits: SummaryLimits<'_>) -> Result<Summary, ToolError> {
    // Limits that cannot hold are told before anybody is asked.
    let extracted = extract(text, limits).map_err(ToolError::new)?;
    let (summary, method) = match by_model(cx, text, limits).await? {
        Some(summary) => (summary, Method::Model),
        None => (extracted, Method::Extraction),
    };
    let missing = limits.preserve.iter().filter(|item| !holds(text, item)).cloned().collect();
    Ok(Summary { tokens: tokens(&summary), original_tokens: tokens(text), text: summary, method, missing })
}

async fn by_model(cx: &Cx, text: &str, limits: SummaryLimits<'_>) -> Result<Option<String>, Error> {
    let SummaryLimits { max_tokens, preserve, style } = limits;
    let present: Vec<&String> = preserve.iter().filter(|item| holds(text, item)).collect();
    let mut task = format!("Summarize the text in at most {max_tokens} tokens, {}.", style.wish());
    if !present.is_empty() {
        task.push_str(" Keep these word for word:");
        for item in &present {
            task = format!("{task}\n- {item}");
        }
    }
    let Some(mut summary) = ask_model(cx, "summary", &task, text, max_tokens).await? else { return Ok(None) };
    for lost in present {
        if !holds(&summary, lost) {
            summary = format!("{summary}\n{lost}");
        }
    }
    if tokens(&summary) > max_tokens {
        // A model that wrote too much is shortened like any other text.
        return Ok(extract(&summary, limits).ok());
    }
    Ok(Some(summary))
}

const LEAST_TOKENS: u32 = 8;
const MAX_TOKENS: u32 = 100_000;
const MAX_PRESERVED: usize = 32;
const LONGEST_PRESERVED: usize = 500;
