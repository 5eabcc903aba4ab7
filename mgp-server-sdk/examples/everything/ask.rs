//! Tools that ask the client.

use mgp_server_sdk::mcp::{
    BooleanSchema, CreateMessageParams, FormSchema, Map, MultiSelectSchema, NumberKind, NumberSchema,
    PrimitiveSchema, Role, SamplingMessage, SingleSelectSchema, StringSchema, TitledChoice,
};
use mgp_server_sdk::{Cx, Elicited, Server, Tool, ToolError, schemars};

pub(crate) fn add(server: Server) -> Server {
    server
        .tool(Tool::new("test_sampling", "Asks the client's model."), sampling)
        .tool(
            Tool::new("test_missing_capability", "Asks the client's model, which not every client has."),
            missing,
        )
        .tool(Tool::new("test_elicitation", "Asks the user for a name and an address."), elicitation)
        .tool(Tool::new("test_streaming_elicitation", "Asks the user for a name."), streaming_elicitation)
        .tool(
            Tool::new("test_elicitation_sep1034_defaults", "Asks the user with a form that is filled in."),
            async |cx: Cx| form(cx, "Please review the values", defaults()).await,
        )
        .tool(
            Tool::new("test_elicitation_sep1330_enums", "Asks the user to choose in every way there is."),
            async |cx: Cx| form(cx, "Please choose", choices()).await,
        )
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Ask {
    /// What the model is asked.
    prompt: String,
}

async fn sampling(Ask { prompt }: Ask, cx: Cx) -> Result<String, ToolError> {
    Ok(format!("LLM response: {}", sample(&cx, "prompt", &prompt, 100).await?))
}

async fn missing(cx: Cx) -> Result<String, ToolError> {
    sample(&cx, "prompt", "Hello", 10).await
}

/// Asks the client's model one question.
pub(crate) async fn sample(cx: &Cx, key: &str, prompt: &str, max_tokens: i64) -> Result<String, ToolError> {
    let result = cx.sample(key, question(prompt, max_tokens)).await?;
    let texts: Vec<_> = result.content.as_slice().iter().filter_map(|block| block.as_text()).collect();
    Ok(texts.join("\n"))
}

pub(crate) fn question(prompt: &str, max_tokens: i64) -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::new(Role::User, prompt)], max_tokens)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Show {
    /// What the user is told.
    message: String,
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Account {
    /// Your name on this server.
    username: String,
    /// Where mail reaches you.
    email: String,
}

async fn elicitation(Show { message }: Show, cx: Cx) -> Result<String, ToolError> {
    Ok(match cx.elicit::<Account>("account", message).await? {
        Elicited::Accepted(account) => {
            format!("User response: action=accept, content={}", serde_json::to_string(&account)?)
        }
        Elicited::Declined => "User response: action=decline".into(),
        Elicited::Cancelled => "User response: action=cancel".into(),
    })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

async fn streaming_elicitation(cx: Cx) -> Result<String, ToolError> {
    let name = cx.elicit::<Name>("name", "What is your name?").await?.accepted();
    Ok(format!("Hello, {}!", name.map_or_else(|| "stranger".into(), |form| form.name)))
}

async fn form(cx: Cx, message: &str, schema: FormSchema) -> Result<String, ToolError> {
    let (action, content) = match cx.elicit_form("form", message, schema).await? {
        Elicited::Accepted(fields) => ("accept", serde_json::to_string(&fields)?),
        Elicited::Declined => ("decline", "{}".into()),
        Elicited::Cancelled => ("cancel", "{}".into()),
    };
    Ok(format!("Elicitation completed: action={action}, content={content}"))
}

fn defaults() -> FormSchema {
    let status = SingleSelectSchema::untitled(["active", "inactive", "pending"].map(String::from));
    fields([
        ("name", StringSchema::new().with_default("John Doe").into()),
        ("age", NumberSchema::new(NumberKind::Integer).with_default(30).into()),
        ("score", NumberSchema::new(NumberKind::Number).with_default(95.5).into()),
        ("status", status.with_default("active").into()),
        ("verified", BooleanSchema::new().with_default(true).into()),
    ])
}

fn choices() -> FormSchema {
    let options = || ["option1", "option2", "option3"].map(String::from);
    let titled = || [1, 2, 3].map(|n| TitledChoice::new(format!("value{n}"), format!("Option {n}")));
    let mut legacy = SingleSelectSchema::untitled([1, 2, 3].map(|n| format!("opt{n}")));
    legacy.value_names = Some([1, 2, 3].map(|n| format!("Option {n}")).into());
    fields([
        ("untitledSingle", SingleSelectSchema::untitled(options()).into()),
        ("titledSingle", SingleSelectSchema::titled(titled()).into()),
        ("legacyEnum", legacy.into()),
        ("untitledMulti", MultiSelectSchema::untitled(options()).into()),
        ("titledMulti", MultiSelectSchema::titled(titled()).into()),
    ])
}

fn fields<const N: usize>(fields: [(&str, PrimitiveSchema); N]) -> FormSchema {
    FormSchema::new(fields.into_iter().collect::<Map<_>>())
}
