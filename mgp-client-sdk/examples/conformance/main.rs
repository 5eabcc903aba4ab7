//! The client that the MCP conformance suite runs: the last argument is the server's URL, the environment names
//! the scenario (`MCP_CONFORMANCE_SCENARIO`, `…_PROTOCOL_VERSION`, `…_CONTEXT`).

mod authorization;

use std::env;
use std::process::ExitCode;

use mgp_client_sdk::mcp::{CreateMessageResult, Root};
use mgp_client_sdk::{
    Client, ClientBuilder, Elicited, EraMode, Error, Handlers, HttpWire, PlainStack, Revision,
};
use serde_json::{Value, json};

type HttpClient = Client<PlainStack<HttpWire<Handlers>>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let url = env::args().next_back().unwrap_or_default();
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    match run(&url, &scenario).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{scenario}: {error}: {:?}", error.data().map(|data| data.as_bytes().to_vec()));
            ExitCode::FAILURE
        }
    }
}

async fn run(url: &str, scenario: &str) -> Result<(), Error> {
    let oauth = authorization::of(url, scenario)?;
    let client = builder(scenario).connect_http_with(url, |http| http.authorize_with(oauth.clone())).await?;
    let outcome = walk(&client, scenario).await;
    client.close().await?;
    outcome
}

fn builder(scenario: &str) -> ClientBuilder {
    let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
    let asked: Revision = version.parse().unwrap_or(Revision::LATEST_SESSION);
    let mode = if asked.is_stateless() { EraMode::Stateless } else { EraMode::Session };
    // The version asked for is preferred, any other accepted.
    let others = Revision::ALL.into_iter().filter(|revision| *revision != asked);
    let revisions: Vec<_> = std::iter::once(asked).chain(others).collect();
    let builder =
        Client::builder("mgp-conformance", env!("CARGO_PKG_VERSION")).era(mode).revisions(revisions);
    match scenario {
        "elicitation-sep1034-client-defaults" => {
            builder.on_elicitation(|form, _| async move { Elicited::accept_defaults(&form) })
        }
        "sep-2322-client-request-state" => {
            builder.on_elicitation(|_, _| async { Elicited::Accepted(json!({"confirmed": true})) })
        }
        "request-metadata" => builder
            .on_elicitation(|_, _| async { Elicited::declined() })
            .on_sampling(|_, _| async { Err::<CreateMessageResult, _>(Error::internal("no model here")) })
            .roots([Root::new("file:///tmp")]),
        _ => builder,
    }
}

async fn walk(client: &HttpClient, scenario: &str) -> Result<(), Error> {
    let tools = client.list_tools().await?;
    match scenario {
        "tools_call" => call(client, "add_numbers", json!({"a": 5, "b": 3})).await,
        "elicitation-sep1034-client-defaults" => {
            call(client, "test_client_elicitation_defaults", json!({})).await
        }
        "sse-retry" => call(client, "test_reconnection", json!({})).await,
        "request-metadata" => {
            for tool in &tools {
                call(client, &tool.name, json!({})).await?;
            }
            Ok(())
        }
        "sep-2322-client-request-state" => {
            let names = [
                "test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state",
                "test_mrtr_no_result_type",
            ];
            let (first, rest) = names.split_at(2);
            let (one, other) =
                tokio::join!(call(client, first[0], json!({})), call(client, first[1], json!({})));
            one.and(other)?;
            for name in rest {
                call(client, name, json!({})).await?;
            }
            Ok(())
        }
        "http-standard-headers" => headers(client).await,
        "http-custom-headers" => context_calls(client).await,
        "http-invalid-tool-headers" => {
            let valid = tools.iter().find(|tool| tool.name == "valid_tool");
            let Some(tool) = valid else { return Err(Error::misbehaved("`valid_tool` is missing")) };
            call(client, "valid_tool", sample(&tool.input_schema.to().unwrap_or_default())).await
        }
        "json-schema-2020-12-preservation" => {
            let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
            let Some(tool) = tool else {
                return Err(Error::misbehaved("the tool with the schema is missing"));
            };
            client.call_tool("json_schema_echo", json!({"schema": tool.input_schema})).await.map(drop)
        }
        // Most of them list tools alone; the others let tools be called with more scopes, or by another issuer.
        _ if scenario.starts_with("auth/") => call(client, "test-tool", json!({})).await,
        _ => Ok(()),
    }
}

async fn call(client: &HttpClient, name: &str, arguments: Value) -> Result<(), Error> {
    client.call_tool(name, arguments).await.map(drop)
}

async fn headers(client: &HttpClient) -> Result<(), Error> {
    for tool in client.list_tools().await? {
        call(client, &tool.name, json!({})).await?;
    }
    for resource in client.list_resources().await? {
        client.read_resource(resource.uri).await?;
    }
    for prompt in client.list_prompts().await? {
        client.get_prompt(&prompt.name, ()).await?;
    }
    Ok(())
}

/// Makes the calls that the suite hands over.
async fn context_calls(client: &HttpClient) -> Result<(), Error> {
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    for one in context["toolCalls"].as_array().into_iter().flatten() {
        let name = one["name"].as_str().unwrap_or_default();
        call(client, name, one["arguments"].clone()).await?;
    }
    Ok(())
}

/// Returns arguments that fit a simple schema.
fn sample(schema: &Value) -> Value {
    let mut arguments = serde_json::Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let value = match property["type"].as_str() {
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(true),
            Some("object") => sample(property),
            Some("array") => json!([]),
            _ => json!("x"),
        };
        arguments.insert(name.clone(), value);
    }
    Value::Object(arguments)
}
