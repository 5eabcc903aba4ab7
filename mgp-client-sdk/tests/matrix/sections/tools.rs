//! The tools of the servers under test.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mgp_server_sdk::types::mgp::EventSeverity;
use mgp_server_sdk::types::{Error, Params, code};
use mgp_server_sdk::{Callback, Confirmation, Cx, Elicited, Server, Tool, ToolError};
use serde_json::Value;

use crate::sections::server::State;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Count {
    to: u32,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Publish {
    channel: String,
    severity: String,
    count: u64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Wait {
    millis: u64,
}

/// Adds the tools that all servers have.
pub(crate) fn add(server: Server) -> Server {
    let server = calls(asking(streaming(server)));
    server.tool(Tool::new("publish", "Publishes events."), async |wanted: Publish, cx: Cx| {
        let state = state(&cx)?;
        let severity: EventSeverity = serde_json::from_value(Value::String(wanted.severity))
            .map_err(|error| ToolError::new(error.to_string()))?;
        for number in 0..wanted.count {
            state.publish(&wanted.channel, severity, number);
        }
        Ok::<_, ToolError>(())
    })
}

fn state(cx: &Cx) -> Result<Arc<State>, Error> {
    cx.state::<Arc<State>>().cloned()
}

/// Says when a call is ended before it was done.
struct Guard(Arc<State>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.stopped.notify_one();
    }
}

fn streaming(server: Server) -> Server {
    server
        .tool(Tool::new("count", "Streams numbers; they are the result."), async |wanted: Count, cx: Cx| {
            for number in 0..wanted.to {
                cx.stream(format!("{number} ")).await?;
                if number % 8 == 7 {
                    tokio::task::yield_now().await;
                }
            }
            Ok::<_, ToolError>(())
        })
        .tool(Tool::new("think", "Streams words, and returns a text of its own."), async |cx: Cx| {
            cx.stream("Quantum computing is").await?;
            tokio::task::yield_now().await;
            cx.stream(" a paradigm that uses").await?;
            Ok::<_, ToolError>("Quantum computing is a paradigm that uses...")
        })
        .tool(
            Tool::new("hang", "Streams two words and never ends."),
            async |cx: Cx| -> Result<(), ToolError> {
                let state = state(&cx)?;
                state.begun.notify_one();
                let _guard = Guard(state);
                cx.stream("one ").await?;
                cx.stream("two").await?;
                std::future::pending().await
            },
        )
        .tool(Tool::new("begun", "Ends when one that never ends has begun."), async |cx: Cx| {
            state(&cx)?.begun.notified().await;
            Ok::<_, ToolError>("begun")
        })
        .tool(Tool::new("stopped", "Ends when one that never ends was ended."), async |cx: Cx| {
            state(&cx)?.stopped.notified().await;
            Ok::<_, ToolError>("stopped")
        })
        .tool(Tool::new("fail", "Streams a word and fails."), async |cx: Cx| -> Result<(), ToolError> {
            cx.stream("word").await?;
            tokio::task::yield_now().await;
            Err(Error::new(code::UPSTREAM_ERROR, "the model is gone").into())
        })
        .tool(Tool::new("stumble", "Streams a word and says that it failed."), async |cx: Cx| {
            cx.stream("word").await?;
            Err::<(), _>(ToolError::new("no more words"))
        })
        .tool(Tool::new("pour", "Streams without an end."), async |cx: Cx| -> Result<(), ToolError> {
            let state = state(&cx)?;
            let _guard = Guard(state.clone());
            let drop = "x".repeat(1000);
            loop {
                cx.stream(drop.clone()).await?;
                state.poured.fetch_add(1, Ordering::Relaxed);
            }
        })
        .tool(Tool::new("poured", "How much was streamed without an end."), async |cx: Cx| {
            Ok::<_, ToolError>(state(&cx)?.poured.load(Ordering::Relaxed))
        })
        .tool(Tool::new("step", "Tells progress and streams."), async |Count { to, .. }: Count, cx: Cx| {
            for step in 1..=to {
                cx.progress(f64::from(step), Some(f64::from(to)), Some("step")).await;
                cx.stream(format!("{step} ")).await?;
                tokio::task::yield_now().await;
            }
            Ok::<_, ToolError>(())
        })
}

fn asking(server: Server) -> Server {
    server
        .tool(Tool::new("delete", "Asks for a yes."), async |cx: Cx| {
            let question = Callback::confirmation("This operation will delete 15 files. Continue?");
            Ok::<_, ToolError>(match cx.callback("delete", question).await? {
                Confirmation::Confirmed => "confirmed",
                Confirmation::Declined => "declined",
                Confirmation::Cancelled => "cancelled",
            })
        })
        .tool(Tool::new("name", "Asks for a name."), async |cx: Cx| {
            Ok::<_, ToolError>(match cx.callback("name", Callback::input("Who?")).await? {
                Elicited::Accepted(name) => name.to_text().unwrap_or_default(),
                other => format!("{other:?}"),
            })
        })
        .tool(Tool::new("choose", "Asks for a branch."), async |cx: Cx| {
            let question = Callback::selection("Which branch?", ["main", "next"]);
            Ok::<_, ToolError>(match cx.callback("branch", question).await? {
                Elicited::Accepted(choice) => format!("{} {}", choice.index, choice.option),
                other => format!("{other:?}"),
            })
        })
        .tool(Tool::new("remark", "Tells the user something."), async |cx: Cx| {
            cx.callback("remark", Callback::notification("The index is old.")).await?;
            Ok::<_, ToolError>("remarked")
        })
        .tool(Tool::new("hurry", "Asks for a yes and does not wait."), async |cx: Cx| {
            let question = Callback::confirmation("Now?").timeout(Duration::from_millis(100));
            Ok::<_, ToolError>(cx.callback("hurry", question).await?.is_confirmed())
        })
}

fn calls(server: Server) -> Server {
    server
        .tool(Tool::new("pid", "The number of the process."), async || std::process::id())
        .tool(Tool::new("add", "Adds nothing."), async || "0")
        .tool(Tool::new("wait", "Ends after a while."), async |Wait { millis }: Wait| {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            "waited"
        })
        .tool(Tool::new("held", "Ends when the test wants it."), async |cx: Cx| {
            state(&cx)?.go_on.notified().await;
            Ok::<_, ToolError>("held")
        })
        .notification(GO_ON, async |_: Params, cx: Cx| {
            if let Ok(state) = state(&cx) {
                state.go_on.notify_one();
            }
        })
}

/// The test wants what is `held` to end.
pub(crate) const GO_ON: &str = "notifications/tests.go_on";
