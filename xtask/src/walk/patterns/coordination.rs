//! The steps of `docs/patterns/coordination.md`. Each agent is a client of its own.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Client, Pattern};

pub(super) fn steps(pattern: &mut Pattern) {
    pattern.step("fan-out and fan-in", |pattern| {
        let mut lead = pattern.client("coordination.delegate_task")?;
        let mut agents = [Agent::register(pattern, "one", &[])?, Agent::register(pattern, "two", &[])?];
        let tasks = ["a", "b", "c", "d"].map(|part| lead.delegate(&json!({"task": part})));
        let tasks = tasks.into_iter().collect::<Result<Vec<_>>>()?;
        for _ in 0..2 {
            for agent in &mut agents {
                agent.work(&agent_result)?;
            }
        }
        let collected = lead.call("coordination.collect_results", &json!({"task_ids": tasks}))?;
        ensure!(collected["satisfied"] == true && results(&collected).len() == 4, "{collected}");
        let by: Vec<_> =
            collected["results"].as_array().into_iter().flatten().map(|r| &r["agent_id"]).collect();
        ensure!(by.contains(&&json!("one")) && by.contains(&&json!("two")), "{collected}");
        for mut agent in agents {
            agent.leave()?;
        }
        Ok(results(&collected).join(", "))
    });
    pattern.step("a chain of specialists", |pattern| {
        let mut lead = pattern.client("coordination.delegate_task")?;
        let mut researcher = Agent::register(pattern, "researcher", &["research"])?;
        let mut writer = Agent::register(pattern, "writer", &["prose"])?;
        let first = lead.delegate(&json!({"task": "tides", "required_capabilities": ["research"]}))?;
        // The other specialist is given nothing of it.
        ensure!(writer.next(0)?.is_null(), "the writer was given the research");
        researcher.work(&|task| format!("facts about {task}"))?;
        let facts = lead.call("coordination.collect_results", &json!({"task_ids": [first]}))?;
        let next = json!({"task": format!("write up: {}", results(&facts)[0]), "target_agent": "writer"});
        let second = lead.delegate(&next)?;
        writer.work(&|task| format!("a text from `{task}`"))?;
        let text = lead.call("coordination.collect_results", &json!({"task_ids": [second]}))?;
        ensure!(results(&text) == ["a text from `write up: facts about tides`"], "{text}");
        researcher.leave()?;
        writer.leave()?;
        Ok(results(&text)[0].clone())
    });
    pattern.step("the task of a lost agent goes to another", |pattern| {
        let mut lead = pattern.client("coordination.delegate_task")?;
        let mut lost = Agent::register(pattern, "lost", &[])?;
        let mut other = Agent::register(pattern, "other", &[])?;
        let task = lead.delegate(&json!({"task": "perilous", "priority": "critical"}))?;
        ensure!(lost.next(0)?["task_id"] == task, "the first agent has no task");
        // It says no more; the other one waits until the task is given back.
        other.work(&agent_result)?;
        let collected = lead.call("coordination.collect_results", &json!({"task_ids": [task]}))?;
        ensure!(collected["results"][0]["agent_id"] == "other", "{collected}");
        let lost = lead.call("coordination.query_agents", &json!({"filter": {"status": "disabled"}}))?;
        ensure!(lost["agents"][0]["agent_id"] == "lost", "{lost}");
        Ok(results(&collected)[0].clone())
    });
    pattern.step("what is missing is named when the time is over", |pattern| {
        let mut lead = pattern.client("coordination.delegate_task")?;
        let task = lead.delegate(&json!({"task": "alchemy", "required_capabilities": ["gold"]}))?;
        let asked = json!({"task_ids": [task], "wait_strategy": "any", "timeout_ms": 200});
        let collected = lead.call("coordination.collect_results", &asked)?;
        ensure!(collected["satisfied"] == false && collected["missing"][0]["task_id"] == task, "{collected}");
        Ok(collected["missing"][0]["status"].as_str().unwrap_or_default().to_owned())
    });
}

fn agent_result(task: &str) -> String {
    format!("did {task}")
}

fn results(collected: &Value) -> Vec<String> {
    let results = collected["results"].as_array().into_iter().flatten();
    results.filter_map(|result| Some(result["result"].as_str()?.to_owned())).collect()
}

impl Client {
    /// Delegates a task, and returns its id.
    fn delegate(&mut self, task: &Value) -> Result<Value> {
        Ok(self.call("coordination.delegate_task", task)?["task_id"].take())
    }
}

/// A client that works on tasks.
struct Agent {
    client: Client,
    token: Value,
}

impl Agent {
    fn register(pattern: &Pattern, id: &str, capabilities: &[&str]) -> Result<Self> {
        let mut client = pattern.client("coordination.register_agent")?;
        let who = json!({"agent_id": id, "capabilities": capabilities, "silence_ms": 1_000});
        let token = client.call("coordination.register_agent", &who)?["agent_token"].take();
        Ok(Self { client, token })
    }

    /// The task to work on, waited for if there is none.
    fn next(&mut self, wait_ms: u64) -> Result<Value> {
        let asked = json!({"agent_token": self.token, "wait_ms": wait_ms});
        Ok(self.client.call("coordination.next_task", &asked)?["task"].take())
    }

    fn work(&mut self, result: &dyn Fn(&str) -> String) -> Result<()> {
        let task = self.next(30_000)?;
        let result = result(task["task"].as_str().context("there is no task")?);
        let done = json!({"agent_token": self.token, "task_id": task["task_id"], "result": result});
        self.client.call("coordination.complete_task", &done).map(drop)
    }

    fn leave(&mut self) -> Result<()> {
        self.client.call("coordination.unregister_agent", &json!({"agent_token": self.token})).map(drop)
    }
}
