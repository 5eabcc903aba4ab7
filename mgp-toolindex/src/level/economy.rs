use std::fmt;

use serde::Serialize;

use super::{HostProfile, Level, Sizes, ToolLists};

/// What each level costs with some tools in some host, and which is the best.
///
/// Costs are in tokens that a model reads afresh; what is read from a prompt cache or written is converted by the
/// host's prices. Savings of definitions stand beside what they cost: a search is one more turn, in which the whole
/// context is read once more, and a list that changes makes the prompt cache useless once.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Economy {
    /// What was counted.
    pub sizes: Sizes,
    /// What was assumed of the host.
    pub host: HostProfile,
    /// What each level costs, L0 in front.
    pub levels: [LevelCost; 4],
    /// What one search costs at L3.
    pub search_cost: u64,
    /// What one change of the list costs.
    pub list_change_cost: u64,
    /// From how many tools of this size on L3 is cheaper than L0 in this host; nothing if it never is.
    pub break_even_tools: Option<u64>,
    /// The best level.
    pub level: Level,
    /// Why it is.
    pub reason: Reason,
}

/// What a level costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LevelCost {
    /// Which.
    pub level: Level,
    /// The definitions in the context when the session begins.
    pub definition_tokens: u64,
    /// How many turns more than at L0 a task takes.
    pub extra_turns: f64,
    /// What a task costs because of tools, all told.
    pub cost_per_task: u64,
}

/// Why a level is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// There are so few tools that searching costs more than it saves.
    BelowBreakEven,
    /// There are so many tools that searching saves more than it costs.
    AboveBreakEven,
    /// The host does not show the whole list to its model anyway.
    HostCompacts,
    /// The host takes fewer tools than there are.
    HostLimit,
}

impl Economy {
    /// What these tools cost in this host.
    pub fn of(sizes: Sizes, host: HostProfile) -> Self {
        let host = host.sound();
        let costs = Costs { sizes: &sizes, host: &host };
        let levels = Level::ALL.map(|level| costs.of(level));
        let break_even_tools = costs.break_even();
        let too_many = host.most_tools.is_some_and(|most| sizes.tools > u64::from(most));
        let (level, reason) = match break_even_tools {
            _ if too_many => (Level::L3, Reason::HostLimit),
            _ if host.lists == ToolLists::Compacted => (Level::L0, Reason::HostCompacts),
            Some(least) if sizes.tools >= least => (Level::L3, Reason::AboveBreakEven),
            _ => (Level::L0, Reason::BelowBreakEven),
        };
        let search_cost = whole(costs.search(costs.definitions(Level::L3)));
        let list_change_cost = whole(costs.list_change());
        Self { sizes, host, levels, search_cost, list_change_cost, break_even_tools, level, reason }
    }

    /// How many tokens of definitions are not in the context when a session at L3 begins.
    pub const fn saved_definition_tokens(&self) -> u64 {
        let [all, _, _, hybrid] = &self.levels;
        all.definition_tokens.saturating_sub(hybrid.definition_tokens)
    }
}

impl fmt::Display for Economy {
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

impl fmt::Display for Reason {
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

    /// What L3 keeps in the list has to be found again where nothing is kept.
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

    /// One more turn: the call is written, the answer is read, and so is once more all that was there before.
    fn search(&self, definitions: f64) -> f64 {
        let answer = RESULTS * self.sizes.mean_definition_tokens();
        CALL_TOKENS * self.host.output_ratio
            + (CALL_TOKENS + answer) * self.read_from_the_middle()
            + (f64::from(self.host.context_tokens) + definitions) * self.host.cached_input_ratio
    }

    /// What the cache had is read afresh.
    fn list_change(&self) -> f64 {
        match self.host.lists {
            ToolLists::Followed => f64::from(self.host.context_tokens) * (1.0 - self.host.cached_input_ratio),
            ToolLists::Fixed | ToolLists::Compacted => 0.0,
        }
    }

    /// How often a token costs what it costs afresh, if it is there in all turns.
    fn read_from_the_start(&self) -> f64 {
        1.0 + (self.host.turns_per_task - 1.0) * self.host.cached_input_ratio
    }

    /// The same if it comes up in the course of the task.
    fn read_from_the_middle(&self) -> f64 {
        1.0 + (self.host.turns_per_task - 1.0) / 2.0 * self.host.cached_input_ratio
    }

    fn break_even(&self) -> Option<u64> {
        let each = self.sizes.mean_definition_tokens() * self.read_from_the_start();
        let never = self.host.lists == ToolLists::Compacted || each <= 0.0;
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

/// What a model writes to search: the name of the tool, and a question of a few words.
const CALL_TOKENS: f64 = 60.0;

/// How many tools an answer has.
const RESULTS: f64 = 5.0;
