//! The costs of each level.

use std::fmt;

use mgp_toolindex::level::{Level, Sizes};
use serde::Serialize;

use crate::host::{HostProfile, HostToolLists};

/// The costs of each level with some tools in some host, and the best level.
///
/// Costs are in tokens that a model reads afresh; tokens that are read from a prompt cache or written are converted by
/// the host's prices. Savings of definitions stand beside their costs: a search is one more turn, in which the whole
/// context is read once more, and a list that changes makes the prompt cache useless once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LevelComparison {
    /// The counted sizes.
    pub(crate) sizes: Sizes,
    /// The assumptions about the host.
    pub(crate) host: HostProfile,
    /// The costs of each level, L0 first.
    pub(crate) levels: [LevelCost; 4],
    /// The costs of one search at L3.
    pub(crate) search_cost: u64,
    /// The costs of one change of the list.
    pub(crate) list_change_cost: u64,
    /// The number of tools of this size from which on L3 is cheaper than L0 in this host; `None` if it never is.
    pub(crate) break_even_tools: Option<u64>,
    /// The best level.
    pub(crate) level: Level,
    /// The reason for the best level.
    pub(crate) reason: LevelReason,
}

/// The costs of a level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct LevelCost {
    /// The level.
    pub(crate) level: Level,
    /// The tokens of definitions in the context when the session begins.
    pub(crate) definition_tokens: u64,
    /// The turns of a task in excess of those at L0.
    pub(crate) extra_turns: f64,
    /// The total costs of tools for a task.
    pub(crate) cost_per_task: u64,
}

/// The reason why a level is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LevelReason {
    /// There are so few tools that searching costs more than it saves.
    BelowBreakEven,
    /// There are so many tools that searching saves more than it costs.
    AboveBreakEven,
    /// The host does not show the whole list to its model anyway.
    HostCompacts,
    /// The host takes fewer tools than there are.
    HostLimit,
}

impl LevelComparison {
    /// Returns the costs of these tools in this host.
    pub(crate) fn of(sizes: Sizes, host: HostProfile) -> Self {
        let host = host.sound();
        let costs = Costs { sizes: &sizes, host: &host };
        let levels = Level::ALL.map(|level| costs.of(level));
        let break_even_tools = costs.break_even();
        let too_many = host.most_tools.is_some_and(|most| sizes.tools > u64::from(most));
        let (level, reason) = match break_even_tools {
            _ if too_many => (Level::L3, LevelReason::HostLimit),
            _ if host.lists == HostToolLists::Compacted => (Level::L0, LevelReason::HostCompacts),
            Some(least) if sizes.tools >= least => (Level::L3, LevelReason::AboveBreakEven),
            _ => (Level::L0, LevelReason::BelowBreakEven),
        };
        let search_cost = whole(costs.search(costs.definitions(Level::L3)));
        let list_change_cost = whole(costs.list_change());
        Self { sizes, host, levels, search_cost, list_change_cost, break_even_tools, level, reason }
    }
}

impl fmt::Display for LevelComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.sizes.sampled { "about " } else { "" };
        writeln!(
            f,
            "{} tools, {about}{} tokens by {}",
            self.sizes.tools, self.sizes.definition_tokens, self.sizes.counter
        )?;
        for cost in &self.levels {
            let LevelCost { level, definition_tokens, extra_turns, cost_per_task } = cost;
            writeln!(
                f,
                "{level}  {definition_tokens:>9} at the start  {extra_turns:>4.1} turns more  {cost_per_task:>9} per task"
            )?;
        }
        writeln!(f, "a search costs {}, a change of the list {}", self.search_cost, self.list_change_cost)?;
        match self.break_even_tools {
            Some(tools) => writeln!(f, "L3 is cheaper from {tools} tools on")?,
            None => writeln!(f, "L3 is never cheaper")?,
        }
        write!(f, "{}: {}", self.level, self.reason)
    }
}

impl fmt::Display for LevelReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BelowBreakEven => "searching would cost more than it saves",
            Self::AboveBreakEven => "searching saves more than it costs",
            Self::HostCompacts => "the host does not show the whole list to its model anyway",
            Self::HostLimit => "the host takes fewer tools than there are",
        })
    }
}

struct Costs<'a> {
    sizes: &'a Sizes,
    host: &'a HostProfile,
}

/// The number of tools in an answer.
const RESULTS: f64 = 5.0;

/// The tokens that a model writes to search: the name of the tool, and a query of a few words.
const CALL_TOKENS: f64 = 60.0;

impl Costs<'_> {
    fn of(&self, level: Level) -> LevelCost {
        let definitions = self.definitions(level);
        LevelCost {
            level,
            definition_tokens: whole(definitions),
            extra_turns: self.searches(level),
            cost_per_task: whole(self.per_task(level)),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "far fewer tokens than a double counts exactly")]
    fn definitions(&self, level: Level) -> f64 {
        let meta = f64::from(self.sizes.meta_tokens);
        match level {
            Level::L0 => self.sizes.definition_tokens as f64,
            Level::L1 => meta + self.sizes.category_tokens as f64,
            Level::L2 => meta,
            Level::L3 => meta + f64::from(self.sizes.pinned_tokens),
        }
    }

    /// Returns the searches of a task. At levels without used tools, tools that L3 keeps have to be found again.
    fn searches(&self, level: Level) -> f64 {
        match level {
            Level::L0 => 0.0,
            Level::L1 | Level::L2 => self.host.searches_per_task + self.host.new_tools_per_task,
            Level::L3 => self.host.searches_per_task,
        }
    }

    fn per_task(&self, level: Level) -> f64 {
        let definitions = self.definitions(level);
        let searches = self.searches(level) * self.search(definitions);
        let kept = if level == Level::L3 {
            let added = self.host.new_tools_per_task * self.sizes.mean_definition_tokens();
            added * self.read_from_the_middle() + self.host.new_tools_per_task * self.list_change()
        } else {
            0.0
        };
        definitions * self.read_from_the_start() + searches + kept
    }

    /// Returns the costs of a search: one more turn, in which the call is written, the answer is read, and all that was
    /// there before is read once more.
    fn search(&self, definitions: f64) -> f64 {
        let answer = RESULTS * self.sizes.mean_definition_tokens();
        CALL_TOKENS * self.host.output_ratio
            + (CALL_TOKENS + answer) * self.read_from_the_middle()
            + (f64::from(self.host.context_tokens) + definitions) * self.host.cached_input_ratio
    }

    /// Returns the costs of a changed list: the cached part is read afresh.
    fn list_change(&self) -> f64 {
        match self.host.lists {
            HostToolLists::Followed => {
                f64::from(self.host.context_tokens) * (1.0 - self.host.cached_input_ratio)
            }
            HostToolLists::Fixed | HostToolLists::Compacted => 0.0,
        }
    }

    /// Returns the price of a token that is there in all turns, in fresh tokens.
    fn read_from_the_start(&self) -> f64 {
        1.0 + (self.host.turns_per_task - 1.0) * self.host.cached_input_ratio
    }

    /// Returns the price of a token that comes up in the course of the task, in fresh tokens.
    fn read_from_the_middle(&self) -> f64 {
        1.0 + (self.host.turns_per_task - 1.0) / 2.0 * self.host.cached_input_ratio
    }

    fn break_even(&self) -> Option<u64> {
        let each = self.sizes.mean_definition_tokens() * self.read_from_the_start();
        let never = self.host.lists == HostToolLists::Compacted || each <= 0.0;
        (!never).then(|| whole((self.per_task(Level::L3) / each).floor()) + 1)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is too large becomes the largest"
)]
fn whole(tokens: f64) -> u64 {
    tokens.round() as u64
}
