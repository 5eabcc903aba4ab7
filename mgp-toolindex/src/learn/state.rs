//! The learned state in a form that can be stored.

use mgp_types::mgp::{ServerId, ToolName};
use serde::{Deserialize, Serialize};

use super::{DefinitionDigest, TenantShift, Uses, hex};

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
    definition: DefinitionDigest,
    weight: u8,
    /// The factor of the codes.
    scale: f32,
    /// A signed number for each dimension of the mean of the queries.
    #[serde(with = "hex")]
    codes: Vec<u8>,
}

impl LearnedState {
    /// Returns the id of the embedder that the state was learned with.
    pub const fn embedder(&self) -> &str {
        &self.embedder
    }

    /// Returns the tools of which something was learned, each with the tenant that did.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &ServerId, &ToolName)> {
        self.tenants.iter().flat_map(|TenantState { tenant, tools }| {
            tools.iter().map(|ToolState { server, tool, .. }| (&**tenant, server, tool))
        })
    }

    /// Forgets all tools but those that `is_kept` returns true for.
    pub fn retain(&mut self, is_kept: impl Fn(&ServerId, &ToolName) -> bool) {
        for tenant in &mut self.tenants {
            tenant.tools.retain(|ToolState { server, tool, .. }| is_kept(server, tool));
        }
        self.tenants.retain(|tenant| !tenant.tools.is_empty());
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
                let centroid =
                    tool.codes.iter().map(|code| f32::from(code.cast_signed()) * tool.scale).collect();
                if let Some(uses) = Uses::kept(centroid, tool.weight, tool.definition, *clock) {
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
        let code = |number: &f32| ((number / scale).round() as i8).cast_unsigned();
        let codes = uses.centroid().iter().map(code).collect();
        let (server, tool) = (server.clone(), tool.clone());
        Self { server, tool, definition: uses.definition, weight: uses.weight(), scale, codes }
    }
}
