//! Walks through any server and reports the features that work, one JSON object per line: `interop stdio|http|sse
//! auto|legacy|modern COMMAND-OR-URL…`. With `login`, or `login-bound` for tokens that are bound to a key (DPoP), in place
//! of `http` it signs in first: what follows the URL is a program that is given the page as its last argument.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_client_sdk::mcp::{self, CreateMessageResult, Root, SamplingContents, Tool};
use mgp_client_sdk::oauth::{LoopbackBrowser, OAuth};
use mgp_client_sdk::types::Origin;
use mgp_client_sdk::{Client, ClientBuilder, Elicited, EraMode, Error, RpcService};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let [transport, mode, target, rest @ ..] = &args[..] else {
        eprintln!("usage: interop stdio|http|sse|login|login-bound auto|legacy|modern COMMAND-OR-URL…");
        return ExitCode::from(2);
    };
    let mode = match mode.as_str() {
        "legacy" => EraMode::Session,
        "modern" => EraMode::Stateless,
        _ => EraMode::Auto,
    };
    let asked = Arc::new(AtomicU64::new(0));
    let builder = builder(mode, &asked);
    let failed = match transport.as_str() {
        "stdio" => walk(builder.connect_stdio(target, rest).await, &asked).await,
        "http" => walk(builder.connect_http(target).await, &asked).await,
        "login" | "login-bound" => {
            let connected = signed_in(builder, target, rest, transport == "login-bound").await;
            walk(connected, &asked).await
        }
        "sse" => walk(builder.connect_sse(target).await, &asked).await,
        _ => true,
    };
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Connects to a server that wants a login, for which `browser` opens its page.
async fn signed_in(
    builder: ClientBuilder,
    url: &str,
    browser: &[String],
    is_bound: bool,
) -> Result<Client<impl RpcService + Sync>, Error> {
    let Some((program, arguments)) = browser.split_first() else {
        return Err(Error::invalid_params("the program that opens pages is missing"));
    };
    let (program, arguments) = (program.clone(), arguments.to_vec());
    let browser = LoopbackBrowser::new(move |page| {
        let opened = Command::new(&program).args(&arguments).arg(page).stdout(Stdio::null()).spawn();
        // Without the program nobody answers, and that is what the check then says.
        drop(opened);
    });
    let oauth = OAuth::builder(url).browser(browser);
    let oauth = if is_bound { oauth.bound_tokens() } else { oauth }.build()?;
    builder.connect_http_with(url, |http| http.authorize_with(oauth.clone())).await
}

fn builder(mode: EraMode, asked: &Arc<AtomicU64>) -> ClientBuilder {
    let asked = asked.clone();
    Client::builder("mgp-interop", env!("CARGO_PKG_VERSION"))
        .era(mode)
        .on_elicitation(move |form, _| {
            asked.fetch_add(1, Ordering::Relaxed);
            async move {
                let schema = serde_json::to_value(&form.requested_schema).unwrap_or_default();
                Elicited::Accepted(arguments(&schema))
            }
        })
        .on_sampling(|_, _| async {
            CreateMessageResult::new(mcp::Role::Assistant, SamplingContents::from("four"), "none")
        })
        .roots([Root::new("file:///tmp")])
}

/// The report on the checks, and whether any failed.
#[derive(Default)]
struct Report {
    failed: bool,
}

impl Report {
    fn note(&mut self, check: &str, outcome: Result<String, Error>) {
        self.failed |= outcome.is_err();
        let line = match outcome {
            Ok(detail) => json!({"check": check, "ok": true, "detail": detail}),
            Err(error) => json!({"check": check, "ok": false, "detail": error.to_string()}),
        };
        write_line(&line);
    }

    fn skip(check: &str, why: &str) {
        write_line(&json!({"check": check, "ok": true, "skipped": true, "detail": why}));
    }
}

fn write_line(line: &Value) {
    // The parent may have gone away; then the report has no reader.
    let _ = writeln!(std::io::stdout(), "{line}");
}

async fn walk<S: RpcService + Sync>(connected: Result<Client<S>, Error>, asked: &AtomicU64) -> bool {
    let mut report = Report::default();
    let client = match connected {
        Ok(client) => client,
        Err(error) => {
            report.note("connect", Err(error));
            return true;
        }
    };
    let name = client.server_info().map(|info| format!("{} {}", info.name, info.version)).unwrap_or_default();
    let revision = client.revision().map(|revision| revision.to_string()).unwrap_or_default();
    report.note("connect", Ok(format!("{revision} {name}")));
    let tools = tools(&client, &mut report).await;
    resources(&client, &mut report).await;
    prompts(&client, &mut report).await;
    progress(&client, &tools, &mut report).await;
    elicitation(&client, &tools, asked, &mut report).await;
    cancel(&client, &tools, &mut report).await;
    report.note("close", client.close().await.map(|()| String::new()));
    report.failed
}

async fn tools<S: RpcService + Sync>(client: &Client<S>, report: &mut Report) -> Vec<Tool> {
    if !client.capabilities().contains("tools") {
        Report::skip("tools/list", "no tools");
        return Vec::new();
    }
    let tools = match client.list_tools().await {
        Ok(tools) => tools,
        Err(error) => {
            report.note("tools/list", Err(error));
            return Vec::new();
        }
    };
    report.note("tools/list", Ok(format!("{} tools", tools.len())));
    match find(&tools, &["echo", "test_simple_text", "add", "get-sum", "list_allowed_directories"]) {
        None => Report::skip("tools/call", "no simple tool"),
        Some(tool) => {
            let outcome = client.call_tool(&tool.name, sample(tool)).await;
            report.note("tools/call", outcome.and_then(|result| done(&tool.name, &result)));
        }
    }
    tools
}

fn done(name: &str, result: &mcp::CallToolResult) -> Result<String, Error> {
    let text = result.content.iter().find_map(|block| block.as_text()).unwrap_or("(no text)");
    let detail = format!("{name}: {}", text.chars().take(120).collect::<String>());
    if result.is_error() { Err(Error::misbehaved(detail)) } else { Ok(detail) }
}

async fn resources<S: RpcService + Sync>(client: &Client<S>, report: &mut Report) {
    if !client.capabilities().contains("resources") {
        Report::skip("resources/list", "no resources");
        return;
    }
    let listed = client.list_resources().await;
    let first = listed.as_ref().ok().and_then(|resources| resources.first()).map(|first| first.uri.clone());
    report.note("resources/list", listed.map(|resources| format!("{} resources", resources.len())));
    match first {
        Some(uri) => {
            let read = client.read_resource(uri).await;
            report.note("resources/read", read.map(|read| format!("{} contents", read.contents.len())));
        }
        None => Report::skip("resources/read", "nothing to read"),
    }
}

async fn prompts<S: RpcService + Sync>(client: &Client<S>, report: &mut Report) {
    if !client.capabilities().contains("prompts") {
        Report::skip("prompts/list", "no prompts");
        return;
    }
    let listed = client.list_prompts().await;
    let simple = |prompt: &mcp::Prompt| prompt.arguments.as_ref().is_none_or(Vec::is_empty);
    let first = listed.as_ref().ok().and_then(|prompts| {
        let prompt = prompts.iter().find(|prompt| simple(prompt)).or_else(|| prompts.first())?;
        let given = prompt.arguments.iter().flatten().map(|argument| (argument.name.clone(), json!("x")));
        Some((prompt.name.clone(), Value::Object(given.collect())))
    });
    report.note("prompts/list", listed.map(|prompts| format!("{} prompts", prompts.len())));
    match first {
        Some((name, arguments)) => {
            let got = client.get_prompt(&name, arguments).await;
            report.note("prompts/get", got.map(|got| format!("{name}: {} messages", got.messages.len())));
        }
        None => Report::skip("prompts/get", "nothing to get"),
    }
}

const LONG: [&str; 4] =
    ["trigger-long-running-operation", "longRunningOperation", "test_tool_with_progress", "long_task"];

async fn progress<S: RpcService + Sync>(client: &Client<S>, tools: &[Tool], report: &mut Report) {
    let Some(tool) = find(tools, &LONG) else { return Report::skip("progress", "no long tool") };
    let reports = Arc::new(AtomicU64::new(0));
    let counted = reports.clone();
    let call = client.call_tool(&tool.name, lasting(tool, 1)).on_progress(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let outcome = call.await.and_then(|_| match reports.load(Ordering::Relaxed) {
        0 => Err(Error::misbehaved("no progress came")),
        count => Ok(format!("{count} reports")),
    });
    report.note("progress", outcome);
}

async fn elicitation<S: RpcService + Sync>(
    client: &Client<S>,
    tools: &[Tool],
    asked: &AtomicU64,
    report: &mut Report,
) {
    let names = ["trigger-elicitation-request", "startElicitation", "test_elicitation", "elicit", "ask"];
    let Some(tool) = find(tools, &names) else { return Report::skip("elicitation", "no tool that asks") };
    let outcome =
        client.call_tool(&tool.name, sample(tool)).await.and_then(|_| match asked.load(Ordering::Relaxed) {
            0 => Err(Error::misbehaved("nothing was asked")),
            count => Ok(format!("asked {count} times")),
        });
    report.note("elicitation", outcome);
}

/// Takes a call back and looks whether the connection goes on.
async fn cancel<S: RpcService + Sync>(client: &Client<S>, tools: &[Tool], report: &mut Report) {
    let Some(tool) = find(tools, &LONG) else { return Report::skip("cancel", "no long tool") };
    let call = client.call_tool(&tool.name, lasting(tool, 5)).timeout(Duration::from_millis(20));
    let outcome = match call.await {
        Err(error) if error.origin() == Origin::Timeout => {
            client.list_tools().await.map(|_| "the connection goes on".to_owned())
        }
        Err(error) => Err(error),
        Ok(_) => Ok("it was done before".to_owned()),
    };
    report.note("cancel", outcome);
}

/// Finds the first of these tools that there is. A gateway puts the server's name in front.
fn find<'a>(tools: &'a [Tool], names: &[&str]) -> Option<&'a Tool> {
    let is_named = |tool: &Tool, name: &str| {
        let server = tool.name.strip_suffix(name);
        server.is_some_and(|server| server.is_empty() || server.ends_with('.') || server.ends_with("__"))
    };
    names.iter().find_map(|name| tools.iter().find(|tool| is_named(tool, name)))
}

/// Returns arguments that make a long tool take some seconds, as far as the tool takes them.
fn lasting(tool: &Tool, seconds: u64) -> Value {
    let schema: Value = tool.input_schema.to().unwrap_or_default();
    let wanted = [("duration", seconds), ("steps", 5)];
    let taken = wanted.into_iter().filter(|(name, _)| schema["properties"].get(name).is_some());
    Value::Object(taken.map(|(name, value)| (name.to_owned(), value.into())).collect())
}

fn sample(tool: &Tool) -> Value {
    arguments(&tool.input_schema.to().unwrap_or_default())
}

/// Returns arguments that fit a simple schema, or the answers to a form.
fn arguments(schema: &Value) -> Value {
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let sampled = properties.filter(|(name, _)| required.contains(&name.as_str())).map(|(name, property)| {
        let first = property["enum"][0].clone();
        let value = match (property.get("default"), property["type"].as_str()) {
            (Some(default), _) => default.clone(),
            (None, _) if !first.is_null() => first,
            (None, Some("integer" | "number")) => {
                property.get("minimum").cloned().unwrap_or_else(|| json!(1))
            }
            (None, Some("boolean")) => json!(true),
            (None, Some("array")) => json!([]),
            (None, Some("object")) => arguments(property),
            (None, _) => match property["format"].as_str() {
                Some("email") => json!("a@example.com"),
                Some("uri") => json!("https://example.com"),
                Some("date") => json!("2026-01-01"),
                _ => json!("hello"),
            },
        };
        (name.clone(), value)
    });
    Value::Object(sampled.collect())
}
