//! Tests of tool discovery, and the fixtures they share.

mod listing;
mod methods;
mod needs;
mod requesting;
mod searching;
mod telling;
mod unlisted;
mod using;
mod world;

use std::sync::Arc;

use mgp_types::RawJson;
use mgp_types::mgp::{Permission, RiskLevel};
use serde_json::Value;

use crate::{Tool, ToolListing};

/// Returns a tool with this definition in an index.
pub(super) fn tool_of(definition: &Value) -> Arc<Tool> {
    let raw = RawJson::from_value(definition).unwrap();
    let listing = ToolListing::read(&raw).unwrap();
    Arc::new(Tool {
        server: "test".into(),
        name: listing.name,
        definition: raw,
        categories: Box::default(),
        risk: RiskLevel::Safe,
        permissions: Box::<[Permission]>::default(),
        is_qualified: false,
        standing: crate::tool::ProposalRank::default(),
        gist: crate::text::WordSketch::default(),
    })
}
