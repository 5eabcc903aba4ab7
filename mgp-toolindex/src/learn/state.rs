//! The learned state in a form that can be stored.

use mgp_types::mgp::{ServerId, ToolName};
use serde::{Deserialize, Serialize};

use super::{TenantShift, Uses};

/// The learned state, in a form that can be stored. The state fits only the embedder that it was learned with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedState {
    embedder: Box<str>,
    /// The tenants, the last active one at the end.
    tenants: Vec<TenantState>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TenantState {
    tenant: Box<str>,
    /// The tools, the last used one at the end.
    tools: Vec<ToolState>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ToolState {
    server: ServerId,
    tool: ToolName,
    weight: u8,
    /// The factor of the codes.
    scale: f32,
    codes: Vec<i8>,
}

impl LearnedState {
    /// Returns the id of the embedder that the state was learned with.
    pub const fn embedder(&self) -> &str {
        &self.embedder
    }

    pub(super) fn of<'a>(embedder: &str, tenants: impl Iterator<Item = (&'a str, &'a TenantShift)>) -> Self {
        let tenants = tenants.map(|(tenant, shift)| {
            let mut tools: Vec<_> = shift.tools().collect();
            tools.sort_unstable_by_key(|(_, uses)| uses.used);
            let tools =
                tools.into_iter().map(|((server, tool), uses)| ToolState::of(server, tool, uses)).collect();
            TenantState { tenant: tenant.into(), tools }
        });
        Self { embedder: embedder.into(), tenants: tenants.collect() }
    }

    /// Returns the valid parts of the state, which may come from anywhere. The clock advances with each tool.
    pub(super) fn into_tenants(self, most_tools: usize, clock: &mut u64) -> Vec<(Box<str>, TenantShift)> {
        let mut tenants = Vec::new();
        for TenantState { tenant, tools } in self.tenants {
            let mut shift = TenantShift::default();
            for tool in tools {
                *clock += 1;
                let centroid = tool.codes.iter().map(|code| f32::from(*code) * tool.scale).collect();
                if let Some(uses) = Uses::kept(centroid, tool.weight, *clock) {
                    shift.put((tool.server, tool.tool), uses, most_tools);
                }
            }
            tenants.push((tenant, shift));
        }
        tenants
    }
}

impl ToolState {
    fn of(server: &ServerId, tool: &ToolName, uses: &Uses) -> Self {
        let largest = uses.centroid().iter().fold(0.0, |largest: f32, number| largest.max(number.abs()));
        let scale = if largest > 0.0 { largest / f32::from(i8::MAX) } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, reason = "no number is larger than the largest")]
        let codes = uses.centroid().iter().map(|number| (number / scale).round() as i8).collect();
        Self { server: server.clone(), tool: tool.clone(), weight: uses.weight(), scale, codes }
    }
}
