//! Tools that go on after their call was answered.

use std::time::Duration;

use mgp_server_sdk::types::Error;
use mgp_server_sdk::{Ask, Cx, Elicited, Server, TaskMode, Tool, ToolError, ToolResult, schemars};
use tokio::time::sleep;

pub(crate) fn add(server: Server) -> Server {
    server
        .tool(Tool::new("greet", "Greets somebody, at once."), async |Greet { name }: Greet| {
            format!("Hello, {name}!")
        })
        .tool(Tool::new("slow_compute", "Computes for some seconds.").task(TaskMode::Optional), slow_compute)
        .tool(Tool::new("failing_job", "Fails after a second.").task(TaskMode::Required), async || {
            sleep(Duration::from_secs(1)).await;
            Err::<(), _>(ToolError::new("The job failed, as it always does"))
        })
        .tool(
            Tool::new("protocol_error_job", "Ends with a protocol error.").task(TaskMode::Optional),
            async || {
                sleep(Duration::from_millis(100)).await;
                Err::<(), _>(Error::internal("The job broke, as it always does"))
            },
        )
        .tool(
            Tool::new("confirm_delete", "Deletes a file, once the user agrees.").task(TaskMode::Optional),
            confirm_delete,
        )
        .tool(
            Tool::new("multi_input", "Asks the user two questions at once.").task(TaskMode::Optional),
            multi_input,
        )
        .tool(
            Tool::new("test_tool_with_task", "Asks for a name, then goes on as a task.")
                .task(TaskMode::Manual),
            question_then_task,
        )
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    name: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Compute {
    /// The time that the work takes.
    seconds: f64,
    /// The name of the work.
    label: Option<String>,
}

async fn slow_compute(Compute { seconds, label }: Compute) -> String {
    sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default()).await;
    format!("Computed {} in {seconds} s", label.as_deref().unwrap_or("something"))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Delete {
    filename: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Confirm {
    confirm: bool,
}

async fn confirm_delete(Delete { filename }: Delete, cx: Cx) -> Result<String, ToolError> {
    let answer = cx.elicit::<Confirm>("confirm", format!("Delete {filename}?")).await?;
    Ok(match answer {
        Elicited::Accepted(Confirm { confirm: true }) => format!("Deleted {filename}"),
        _ => format!("Kept {filename}"),
    })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

async fn multi_input(cx: Cx) -> Result<String, ToolError> {
    let questions = [
        Ask::elicit::<Name>("own_name", "What is your name?"),
        Ask::elicit::<Name>("pet_name", "What is the name of your pet?"),
    ];
    let names = cx.ask_all(questions).await?.into_iter().filter_map(Elicited::accepted);
    Ok(format!("Hello, {}!", names.map(|form| form.name).collect::<Vec<_>>().join(" and ")))
}

async fn question_then_task(cx: Cx) -> Result<ToolResult, Error> {
    let name = cx.elicit::<Name>("user_name", "What is your name?").await?.accepted();
    let name = name.map_or_else(|| "stranger".into(), |form| form.name);
    cx.into_task(async move |_| {
        sleep(Duration::from_millis(100)).await;
        format!("Hello, {name}, the task is done!")
    })
    .await
}
