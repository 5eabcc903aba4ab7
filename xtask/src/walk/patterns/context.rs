//! The steps of `docs/patterns/context.md`.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Pattern;
use crate::walk::home::Home;

pub(super) fn steps(pattern: &mut Pattern) {
    pattern.step("a text is summarized, and what matters survives", |pattern| {
        let arguments = json!({"text": TEXT, "max_tokens": 12, "preserve": ["OPS-1234"], "style": "bullets"});
        let made = called(&pattern.home, "summarize", &arguments)?;
        let summary = made["summary"].as_str().context("there is no summary")?;
        ensure!(summary.contains("OPS-1234") && made["method"] == "extraction", "{made}");
        ensure!(made["tokens"].as_u64().is_some_and(|tokens| tokens <= 12), "{made}");
        Ok(format!("{} of {} tokens", made["tokens"], made["original_tokens"]))
    });
    pattern.step("its facts are listed", |pattern| {
        let made = called(&pattern.home, "extract_key_facts", &json!({"text": TEXT}))?;
        let facts = made["facts"].as_array().context("there are no facts")?;
        let decision =
            facts.iter().find(|fact| fact["category"] == "decision").context("there is no decision")?;
        Ok(decision["content"].to_string())
    });
    pattern.step("a conversation is fitted, and what left it is found by the next kernel", |pattern| {
        let message = |number: usize| json!({"role": "user", "content": format!("{TEXT} Note {number}.")});
        let messages: Vec<Value> = (0..20).map(message).collect();
        let arguments = json!({"messages": messages, "budget_tokens": 300});
        let fitted = called(&pattern.home, "fit_context", &arguments)?;
        ensure!(fitted["active_tokens"].as_u64().is_some_and(|tokens| tokens <= 180), "{fitted}");
        ensure!(fitted["summary_tokens"].as_u64().is_some_and(|tokens| tokens <= 75), "{fitted}");
        let recall = json!({"query": "the full disk of OPS-1234", "tags": ["archive"], "limit": 1});
        let recalled = called(&pattern.home, "recall_memory", &recall)?;
        let content = recalled["memories"][0]["content"].as_str().context("nothing is recalled")?;
        ensure!(content.contains("OPS-1234"), "{recalled}");
        Ok(format!("{} messages", fitted["archived"].as_array().map_or(0, Vec::len)))
    });
    pattern.step("over its budget, the kernel drops the tool that was used longest ago", |pattern| {
        let block = pattern.page.split("```toml\n").nth(2).and_then(|rest| rest.split("```").next());
        let before = fs::read_to_string(pattern.home.configuration())?;
        pattern.home.configure(&format!("{before}\n{}", block.context("the page has no budget")?))?;
        let mut client = pattern.client("mgp_tools_discover")?;
        let used = [
            ("context.summarize", json!({"text": TEXT, "max_tokens": 20})),
            ("context.extract_key_facts", json!({"text": TEXT})),
            ("context.recall_memory", json!({"query": "disk"})),
            ("context.store_memory", json!({"content": "The disk is watched."})),
        ];
        for (tool, arguments) in &used {
            client.call(tool, arguments)?;
        }
        let session = client.call("mgp.tools.session", &json!({}))?;
        let cached = session["cached"].as_array().context("there are no used tools")?;
        let has =
            |name: &str| cached.iter().any(|tool| tool.as_str().is_some_and(|tool| tool.contains(name)));
        ensure!(has("store_memory") && !has("summarize"), "{session}");
        // It can still be called.
        client.call(used[0].0, &used[0].1)?;
        Ok(format!("{} of {} tools stay", cached.len(), used.len()))
    });
}

/// Calls a tool by command, with a kernel of its own.
fn called(home: &Home, tool: &str, arguments: &Value) -> Result<Value> {
    let output = home.run(&["call", &format!("context.{tool}"), "--args", &arguments.to_string()])?;
    serde_json::from_str(&output).with_context(|| format!("{tool} answers {output}"))
}

const TEXT: &str =
    "We decided to ship version 2 on Monday. The cause of ticket OPS-1234 was a full disk. Lunch was good.";
