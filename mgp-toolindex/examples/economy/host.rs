//! The assumptions about a host.

use serde::{Deserialize, Serialize};

/// The properties of the program that shows tools to a model, and of its tasks.
///
/// The properties cannot be measured for all hosts. The defaults are those of an agent that works at a task of several
/// steps with a hosted model; better values should be set. A number out of range counts as the nearest one within.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HostProfile {
    /// The tokens that the model reads in each turn beside definitions of tools: instructions, the conversation,
    /// results.
    pub(crate) context_tokens: u32,
    /// The turns of the model for one task.
    pub(crate) turns_per_task: f64,
    /// The searches for one task. A session that goes on finds most of its tools in its cache.
    pub(crate) searches_per_task: f64,
    /// The number of tools of one task that are new in the session, so that its list changes.
    pub(crate) new_tools_per_task: f64,
    /// The price of a token that the prompt cache has, as a part of the price of a fresh one: 0.1 at large providers, 1
    /// for a host without a cache.
    pub(crate) cached_input_ratio: f64,
    /// The price of a written token, in tokens that are read.
    pub(crate) output_ratio: f64,
    /// The treatment of the list of tools in the host.
    pub(crate) lists: HostToolLists,
    /// The number of tools that the host takes at most, where it has a limit.
    pub(crate) most_tools: Option<u32>,
}

/// The treatment of a list of tools by a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostToolLists {
    /// The model gets the whole list, and the new one when it changes. Definitions stand in front of the prompt, so
    /// that after a change all of it is read afresh.
    #[default]
    Followed,
    /// The model gets the whole list, and a change of it with the next task at the earliest.
    Fixed,
    /// The host searches itself and shows the model only found tools: a second search would gain nothing.
    Compacted,
}

const MOST: f64 = 10_000.0;

impl HostProfile {
    /// Returns the profile with all numbers in range.
    pub(crate) fn sound(mut self) -> Self {
        let default = Self::default();
        let sound = |value: f64, least: f64, most: f64, default: f64| {
            if value.is_finite() { value.clamp(least, most) } else { default }
        };
        self.turns_per_task = sound(self.turns_per_task, 1.0, MOST, default.turns_per_task);
        self.searches_per_task = sound(self.searches_per_task, 0.0, MOST, default.searches_per_task);
        self.new_tools_per_task = sound(self.new_tools_per_task, 0.0, MOST, default.new_tools_per_task);
        self.cached_input_ratio = sound(self.cached_input_ratio, 0.0, 1.0, default.cached_input_ratio);
        self.output_ratio = sound(self.output_ratio, 0.0, MOST, default.output_ratio);
        self
    }
}

impl Default for HostProfile {
    fn default() -> Self {
        Self {
            context_tokens: 20_000,
            turns_per_task: 8.0,
            searches_per_task: 1.0,
            new_tools_per_task: 1.0,
            cached_input_ratio: 0.1,
            output_ratio: 5.0,
            lists: HostToolLists::Followed,
            most_tools: None,
        }
    }
}
