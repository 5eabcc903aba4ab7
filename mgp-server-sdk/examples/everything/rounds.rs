//! Tools whose questions travel with the result, round by round (2026-07-28). In a session the same code
//! asks directly.

use mgp_server_sdk::mcp::Root;
use mgp_server_sdk::types::{Object, RawJson};
use mgp_server_sdk::{Ask, Cx, Elicited, Server, Tool, ToolError, schemars};

use crate::ask::{question, sample};

pub(crate) fn add(server: Server) -> Server {
    let tool = |name: &str, what: &str| Tool::new(format!("test_input_required_result_{name}"), what);
    server
        .tool(tool("elicitation", "Asks for a name."), elicitation)
        .tool(tool("sampling", "Asks the client's model for a capital."), sampling)
        .tool(tool("list_roots", "Asks for the client's roots."), list_roots)
        .tool(
            tool("request_state", "Asks for a confirmation, and keeps state with the client."),
            request_state,
        )
        .tool(tool("multiple_inputs", "Asks three questions at once."), multiple_inputs)
        .tool(tool("multi_round", "Asks one question after the other."), multi_round)
        .tool(tool("tampered_state", "Keeps state with the client, which it must not change."), request_state)
        .tool(tool("capabilities", "Asks only what the client can answer."), capabilities)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Confirm {
    ok: bool,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Colour {
    color: String,
}

async fn elicitation(cx: Cx) -> Result<String, ToolError> {
    Ok(match cx.elicit::<Name>("user_name", "What is your name?").await? {
        Elicited::Accepted(Name { name }) => format!("Hello, {name}!"),
        Elicited::Declined | Elicited::Cancelled => "Hello, stranger!".into(),
    })
}

async fn sampling(cx: Cx) -> Result<String, ToolError> {
    sample(&cx, "capital_question", "What is the capital of France?", 100).await
}

async fn list_roots(cx: Cx) -> Result<String, ToolError> {
    Ok(format!("Client roots: {}", names(&cx.roots("client_roots").await?)))
}

async fn request_state(cx: Cx) -> Result<&'static str, ToolError> {
    let confirmed = cx.elicit::<Confirm>("confirm", "Please confirm").await?.accepted();
    Ok(if confirmed.is_some_and(|confirm| confirm.ok) {
        "state-ok, confirmed"
    } else {
        "state-ok, not confirmed"
    })
}

async fn multiple_inputs(cx: Cx) -> Result<String, ToolError> {
    let (name, greeting, roots) = cx
        .ask_all((
            Ask::elicit::<Name>("user_name", "What is your name?"),
            Ask::sample("greeting", question("Generate a greeting", 50)),
            Ask::roots("client_roots"),
        ))
        .await?;
    let name = name.accepted().map_or_else(|| "stranger".into(), |form| form.name);
    let greeting = greeting.content.as_slice().iter().find_map(|block| block.as_text()).unwrap_or("Hello");
    Ok(format!("{greeting}, {name}! Your roots: {}", names(&roots)))
}

async fn multi_round(cx: Cx) -> Result<String, ToolError> {
    let name = cx.elicit::<Name>("step1", "Step 1: What is your name?").await?.accepted();
    let colour = cx.elicit::<Colour>("step2", "Step 2: What is your favorite color?").await?.accepted();
    let name = name.map_or_else(|| "Somebody".into(), |form| form.name);
    Ok(format!("{name} likes {}", colour.map_or_else(|| "no colour".into(), |form| form.color)))
}

async fn capabilities(cx: Cx) -> Result<String, ToolError> {
    let session = cx.session();
    let mut questions: Vec<Ask<RawJson>> = Vec::new();
    if session.peer_can(&["sampling"]) {
        let params = Object::from_value(&question("Say hello", 50))?;
        questions.push(Ask::raw("greeting", "sampling/createMessage", params));
    }
    if session.peer_can(&["elicitation"]) {
        let form = r#"{"message":"What is your name?","requestedSchema":{"type":"object","properties":
            {"name":{"type":"string"}},"required":["name"]}}"#;
        questions.push(Ask::raw("user_name", "elicitation/create", Object::parse(form)?));
    }
    if session.peer_can(&["roots"]) {
        questions.push(Ask::raw("client_roots", "roots/list", Object::new()));
    }
    let answers = cx.ask_all(questions).await?;
    Ok(format!("{} questions answered", answers.len()))
}

fn names(roots: &[Root]) -> String {
    let names: Vec<_> = roots.iter().map(|root| root.name.as_deref().unwrap_or(&root.uri)).collect();
    names.join(", ")
}
