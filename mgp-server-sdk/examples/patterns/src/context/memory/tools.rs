//! The tools `store_memory` and `recall_memory`.

use std::sync::Arc;

use mgp_server_sdk::{Cx, Json, ToolError, schemars};

use super::super::bounds::check_length;
use super::{LONGEST_MEMORY, Memory, Stored};

/// The arguments of `store_memory`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct StoreMemory {
    /// The text to keep.
    content: String,
    /// Words by which memories are told apart.
    #[serde(default)]
    tags: Vec<String>,
}

/// A text that is kept now.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct StoredMemory {
    id: String,
    /// The number of texts that are kept.
    memories: usize,
    /// The number of the oldest texts that were forgotten for it.
    forgotten: usize,
}

/// The arguments of `recall_memory`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct RecallMemory {
    /// The need, in words.
    query: String,
    /// The most texts to return; 5 if left out.
    #[serde(default)]
    limit: Option<usize>,
    /// Tags that a text has to have, all of them.
    #[serde(default)]
    tags: Vec<String>,
}

/// The texts that fit, the most relevant first.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct RecalledMemories {
    memories: Vec<RecalledMemory>,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct RecalledMemory {
    id: String,
    content: String,
    tags: Vec<String>,
    stored_at: String,
    /// The relevance, from 0 to 1.
    relevance: f32,
}

pub(crate) async fn store_memory(asked: StoreMemory, cx: Cx) -> Result<Json<StoredMemory>, ToolError> {
    let StoreMemory { content, tags } = asked;
    check_length("content", &content, LONGEST_MEMORY)?;
    if content.trim().is_empty() {
        return Err(ToolError::new("`content` is empty"));
    }
    check_tags(&tags)?;
    let memory = Arc::clone(cx.state::<Arc<Memory>>()?);
    let stored = tokio::task::spawn_blocking(move || memory.store(content, tags)).await??;
    let Stored { id, memories, forgotten } = stored;
    Ok(Json(StoredMemory { id, memories, forgotten }))
}

pub(crate) async fn recall_memory(asked: RecallMemory, cx: Cx) -> Result<Json<RecalledMemories>, ToolError> {
    let RecallMemory { query, limit, tags } = asked;
    check_length("query", &query, LONGEST_QUERY)?;
    check_tags(&tags)?;
    let most = limit.unwrap_or(USUAL_RECALLED).clamp(1, MAX_RECALLED);
    let memory = Arc::clone(cx.state::<Arc<Memory>>()?);
    let found = tokio::task::spawn_blocking(move || memory.recall(&query, &tags, most)).await?;
    let memories = found.into_iter().map(|(relevance, entry)| RecalledMemory {
        id: entry.id,
        content: entry.content,
        tags: entry.tags,
        stored_at: entry.stored_at.to_string(),
        relevance,
    });
    Ok(Json(RecalledMemories { memories: memories.collect() }))
}

fn check_tags(tags: &[String]) -> Result<(), ToolError> {
    if tags.len() > MAX_TAGS {
        return Err(ToolError::new(format!("`tags` has {MAX_TAGS} words at most")));
    }
    tags.iter().try_for_each(|tag| check_length("tags", tag, LONGEST_TAG))
}

const LONGEST_QUERY: usize = 4096;
const USUAL_RECALLED: usize = 5;
const MAX_RECALLED: usize = 50;
const MAX_TAGS: usize = 16;
const LONGEST_TAG: usize = 64;
