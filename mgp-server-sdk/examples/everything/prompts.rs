//! Prompts, and the completion of their arguments.

use mgp_server_sdk::mcp::{PromptMessage, Role};
use mgp_server_sdk::{CompletionRequest, Cx, Prompt, Server, ToolError, schemars};

use crate::content::{embedded, image};

pub(crate) fn add(server: Server) -> Server {
    server
        .prompt(
            Prompt::new("test_simple_prompt", "A prompt without arguments."),
            async || "This is a simple prompt for testing.",
        )
        .prompt(
            Prompt::new("test_prompt_with_arguments", "A prompt with two arguments."),
            async |Two { arg1, arg2 }: Two| format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"),
        )
        .prompt(
            Prompt::new("test_prompt_with_embedded_resource", "A prompt that holds a resource."),
            async |Embed { resource_uri }: Embed| {
                let text = "Embedded resource content for testing.";
                [
                    PromptMessage::new(Role::User, embedded(&resource_uri, "text/plain", text)),
                    user("Please process the embedded resource above."),
                ]
            },
        )
        .prompt(Prompt::new("test_prompt_with_image", "A prompt that holds an image."), async || {
            [PromptMessage::new(Role::User, image()), user("Please analyze the image above.")]
        })
        .prompt(
            Prompt::new("test_input_required_result_prompt", "A prompt that asks for its context."),
            with_context,
        )
        .complete_prompt("test_prompt_with_arguments", "arg1", async |typed: CompletionRequest| {
            let known = ["paris", "park", "party", "hello", "help"];
            known.into_iter().filter(|value| value.starts_with(&typed.value)).collect::<Vec<_>>()
        })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Two {
    /// The first argument.
    arg1: String,
    /// The second argument.
    arg2: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Embed {
    /// The URI of the resource.
    #[serde(rename = "resourceUri")]
    resource_uri: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Context {
    context: String,
}

async fn with_context(cx: Cx) -> Result<String, ToolError> {
    let context = cx.elicit::<Context>("user_context", "What context should the prompt use?").await?;
    let context = context.accepted().map_or_else(|| "none".into(), |form| form.context);
    Ok(format!("Use this context: {context}"))
}

fn user(text: &str) -> PromptMessage {
    PromptMessage::new(Role::User, mgp_server_sdk::mcp::ContentBlock::text(text))
}
