//! The agent: it works at tasks as a model does, and counts what the model would read and write.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use mgp_client_sdk::{Client, PlainStack};
use mgp_toolindex::budget::{ListedDefinition, TokenCounter};
use mgp_transport::Wire;
use mgp_types::mcp::{CallToolResult, Tool};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tasks::{Step, Task};

/// The tokens of a task.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    /// The definitions that are listed when it begins.
    pub(super) listed: f64,
    /// How often the model reads everything and answers.
    pub(super) turns: f64,
    /// The calls that search, and what they find.
    pub(super) searches: f64,
    /// The calls that the task needs, and their results.
    pub(super) calls: f64,
    /// What the model reads for the first time, or again behind something that changed.
    pub(super) fresh: f64,
    /// What the model reads again.
    pub(super) cached: f64,
    /// What the model writes.
    pub(super) written: f64,
}

/// A scripted agent in a session.
pub(super) struct Agent<'a> {
    client: &'a Client<PlainStack<Wire>>,
    counter: Arc<dyn TokenCounter>,
    /// Whether it reads the list again in the middle of a task.
    follows: bool,
    tasks: Vec<Spent>,
}

/// The conversation about a task: definitions of tools, then what was said.
#[derive(Debug, Default)]
struct Conversation {
    definitions: f64,
    said: f64,
    /// What the last turn read and wrote, as far as nothing changed before it.
    cached: f64,
}

#[derive(Deserialize)]
struct FoundTools {
    tools: Vec<FoundTool>,
}

#[derive(Deserialize)]
struct FoundTool {
    name: String,
}

const SEARCH: &str = "mgp_tools_discover";
/// How many tools a first search asks for, and a second one.
const FOUND: [u32; 2] = [5, 20];
/// The instructions of a host, beside its tools.
const INSTRUCTIONS: f64 = 2_000.0;
/// The model's answer to the person.
const ANSWER: f64 = 40.0;

impl<'a> Agent<'a> {
    pub(super) fn new(
        client: &'a Client<PlainStack<Wire>>,
        counter: Arc<dyn TokenCounter>,
        follows: bool,
    ) -> Self {
        Self { client, counter, follows, tasks: Vec::new() }
    }

    /// Works at a task: searches each tool that is not listed, and calls it.
    pub(super) async fn work(&mut self, task: &Task, folder: &Path) -> Result<()> {
        let mut spent = Spent::default();
        let mut listed = self.client.list_tools().await?;
        let definitions = self.definitions(&listed);
        let said = INSTRUCTIONS + self.count(task.wish);
        let mut conversation = Conversation { definitions, said, cached: 0.0 };
        spent.listed = definitions;
        for step in task.steps {
            if !listed.iter().any(|tool| tool.name == step.tool) {
                self.search(step, &mut conversation, &mut spent).await?;
            }
            let arguments = (step.arguments)(folder);
            let written = self.count(&format!("{} {arguments}", step.tool));
            let result = self.call(step.tool, arguments).await?;
            conversation.turn(written, &mut spent);
            spent.calls += written + conversation.hear(self.count(&result));
            if self.follows {
                listed = self.client.list_tools().await?;
                conversation.list(self.definitions(&listed));
            }
        }
        conversation.turn(ANSWER, &mut spent);
        self.tasks.push(spent);
        Ok(())
    }

    /// Searches the tool of a step until it is found.
    async fn search(&self, step: &Step, conversation: &mut Conversation, spent: &mut Spent) -> Result<()> {
        for most in FOUND {
            let arguments = json!({"query": step.wish, "max_results": most});
            let written = self.count(&format!("{SEARCH} {arguments}"));
            let answer = self.call(SEARCH, arguments).await?;
            conversation.turn(written, spent);
            spent.searches += written + conversation.hear(self.count(&answer));
            let found: FoundTools = serde_json::from_str(&answer).context("what was found")?;
            if found.tools.iter().any(|tool| tool.name == step.tool) {
                return Ok(());
            }
        }
        anyhow::bail!("\"{}\" does not find {}", step.wish, step.tool)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<String> {
        let result: CallToolResult = self.client.call_tool(tool, arguments).await?;
        let text: Vec<_> = result.content.iter().filter_map(|block| block.as_text()).collect();
        let text = text.join("\n");
        ensure!(!result.is_error(), "{tool} fails: {text}");
        Ok(text)
    }

    fn definitions(&self, tools: &[Tool]) -> f64 {
        let tokens = |tool: &Tool| {
            let description = tool.description.as_deref().unwrap_or_default();
            ListedDefinition::new(&tool.name, description, &tool.input_schema, &*self.counter).tokens()
        };
        tools.iter().map(tokens).map(f64::from).sum()
    }

    fn count(&self, text: &str) -> f64 {
        f64::from(self.counter.count(text))
    }

    /// Returns what was spent on a task in the mean.
    pub(super) fn mean(&self) -> Spent {
        #[expect(clippy::cast_precision_loss, reason = "there are few tasks")]
        let tasks = self.tasks.len() as f64;
        let mean = |of: fn(&Spent) -> f64| self.tasks.iter().map(of).sum::<f64>() / tasks;
        Spent {
            listed: mean(|task| task.listed),
            turns: mean(|task| task.turns),
            searches: mean(|task| task.searches),
            calls: mean(|task| task.calls),
            fresh: mean(|task| task.fresh),
            cached: mean(|task| task.cached),
            written: mean(|task| task.written),
        }
    }
}

impl Conversation {
    /// The model reads everything, and writes.
    fn turn(&mut self, written: f64, spent: &mut Spent) {
        let all = self.definitions + self.said;
        spent.turns += 1.0;
        spent.cached += self.cached;
        spent.fresh += all - self.cached;
        spent.written += written;
        self.said += written;
        self.cached = all;
    }

    /// Adds a result, and returns its tokens.
    fn hear(&mut self, tokens: f64) -> f64 {
        self.said += tokens;
        tokens
    }

    /// Takes over the list as it is now. Definitions stand in front, so that after a change only they are in the cache.
    fn list(&mut self, definitions: f64) {
        if (definitions - self.definitions).abs() >= 1.0 {
            self.cached = self.cached.min(self.definitions);
            self.definitions = definitions;
        }
    }
}
