use serde::{Deserialize, Serialize};

/// What is known of the program that shows tools to a model, and of its tasks.
///
/// Nobody can measure these for all hosts. The defaults are those of an agent that works at a task of several steps with
/// a hosted model; what is known better should be said. A number that makes no sense counts as the nearest one that does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HostProfile {
    /// What the model reads in each turn beside definitions of tools: instructions, the conversation, results.
    pub context_tokens: u32,
    /// How often the model is asked for one task.
    pub turns_per_task: f64,
    /// How often it has to search for one task. A session that goes on finds most of its tools in its cache.
    pub searches_per_task: f64,
    /// How many tools of one task are new in the session, so that its list changes.
    pub new_tools_per_task: f64,
    /// What reading a token again costs while the prompt cache has it, as a part of the price of a fresh one: 0.1 is what
    /// large providers take, 1 a host without a cache.
    pub cached_input_ratio: f64,
    /// What writing a token costs, in tokens that are read.
    pub output_ratio: f64,
    /// What becomes of the list of tools in the host.
    pub lists: ToolLists,
    /// How many tools the host takes at the most, where it has a limit.
    pub most_tools: Option<u32>,
}

/// What a host makes of a list of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolLists {
    /// The model gets the whole list, and the new one when it changes. Definitions stand in front of the prompt, so after
    /// a change all of it is read afresh.
    #[default]
    Followed,
    /// The model gets the whole list, and a change of it with the next task at the earliest.
    Fixed,
    /// The host searches itself and shows the model only what it finds: a second search would gain nothing.
    Compacted,
}

impl HostProfile {
    /// The profile with numbers that make sense.
    pub(super) fn sound(mut self) -> Self {
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
            lists: ToolLists::Followed,
            most_tools: None,
        }
    }
}

const MOST: f64 = 10_000.0;
