//! The configuration of the rate limits.

use std::collections::HashMap;

use mgp_types::mgp::{ServerId, ToolName};
use mgp_types::{Principal, PrincipalRole};

use super::Rates;
use crate::rates::MeterPace;

/// The rate limits. A call has to be within all that apply to it.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Limits {
    principal: Option<MeterPace>,
    pub(super) server: Option<MeterPace>,
    tools: HashMap<ServerId, HashMap<ToolName, MeterPace>>,
    /// The settings that set the rates, for the message of refusals.
    pub(super) setting: Option<Box<str>>,
}

impl Limits {
    /// Returns a set without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits all requests of each principal but operators, who have to be able to end what uses a limit up. Callers that have
    /// not authenticated share one limit.
    pub fn per_principal(mut self, rates: Rates) -> Self {
        self.principal = Some(MeterPace::new(rates));
        self
    }

    /// Limits the requests to each server, by all principals together.
    pub fn per_server(mut self, rates: Rates) -> Self {
        self.server = Some(MeterPace::new(rates));
        self
    }

    /// Limits the calls of one tool, by all principals together.
    pub fn for_tool(mut self, server: ServerId, tool: ToolName, rates: Rates) -> Self {
        self.tools.entry(server).or_default().insert(tool, MeterPace::new(rates));
        self
    }

    /// Names the settings that set the rates, such as ``"`calls_per_minute` in settings.toml"``, in the message of refusals.
    pub fn set_by(mut self, setting: impl Into<Box<str>>) -> Self {
        self.setting = Some(setting.into());
        self
    }

    pub(super) fn of_principal(&self, principal: Option<&Principal>) -> Option<&MeterPace> {
        let is_operator = principal.is_some_and(|principal| principal.role() == PrincipalRole::Operator);
        self.principal.as_ref().filter(|_| !is_operator)
    }

    pub(super) fn of_tool(&self, server: Option<&ServerId>, tool: &str) -> Option<&MeterPace> {
        self.tools.get(server?)?.get(tool)
    }
}
