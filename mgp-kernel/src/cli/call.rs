//! `mgp call`: calls a tool, and asks the person at the terminal for an approval that the call waits for.
//!
//! The call never waits in the kernel (`approval_wait_ms` is 0): it is refused with the id of the question, the
//! command asks and approves as the operator, and calls again. One way holds with and without a running kernel.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mgp_discovery::config::nearest;
use mgp_kernel_core::admin::operation::{KernelNeed, ServersToBegin};
use mgp_kernel_core::admin::questions::awaited;
use mgp_kernel_core::admin::servers::ServerRow;
use mgp_kernel_core::admin::tools::{ExplainCall, ToolRow};
use mgp_kernel_core::terminal::{Exit, Failure, Result, printable, span};
use mgp_types::mcp::{CallToolResult, ProgressParams};
use mgp_types::mgp::{CallOptions, ServerState};
use mgp_types::{Error, Object, Origin, RawJson, code};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::context::CommandContext;
use super::input::read_text;
use super::link::KernelLink;
use super::permissions::decide;
use super::{proof, tools};

#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// The tool, as `mgp tools` shows it
    #[arg(value_name = "SERVER.TOOL")]
    tool: String,
    /// The arguments; the tool's schema decides which values are numbers, lists or texts
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    /// All arguments, as a JSON object
    #[arg(long, value_name = "JSON", conflicts_with_all = ["arguments", "args_file"])]
    args: Option<String>,
    /// All arguments, as a JSON file; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "arguments")]
    args_file: Option<PathBuf>,
    /// The time to wait for an answer, or for the next progress report
    #[arg(long, value_name = "SPAN", value_parser = span, default_value = "60s")]
    timeout: Duration,
    /// Write texts to the terminal unchanged, with control characters and hidden characters
    #[arg(long)]
    raw: bool,
    /// Show what each rule answers to the call, and do not make it
    #[arg(long)]
    explain: bool,
    /// The agent that would call; the client of this user if left out
    #[arg(long, value_name = "ID", requires = "explain")]
    agent: Option<String>,
}

pub(super) async fn run(cx: &CommandContext, args: CallArgs) -> Result {
    KernelLink::with(cx, KernelNeed::ANY_SERVERS, async |link| call(link, args).await).await
}

async fn call(link: &KernelLink, args: CallArgs) -> Result {
    let given = given(&args)?;
    let tool = tools::one(link, &args.tool).await?;
    let definition = Object::from_raw(&tool.definition).unwrap_or_default();
    let arguments = match given {
        Some(object) => object.to_raw(),
        None => arguments(&args.arguments, definition.get("inputSchema").as_ref())?,
    };
    if args.explain {
        let (agent, folder) = (args.agent, std::env::current_dir().ok());
        return link.operate(&ExplainCall { name: tool.name, arguments, agent, folder }).await;
    }
    // With a proof, no rule for agents applies to the call; without one, it is a call of a client of the user.
    proof::by_token(link).await?;
    let mut settled_by = Instant::now();
    let result = loop {
        // The call uses the name that was found, because the name as typed may be another spelling of it.
        let mut call = link.client.call_tool(&tool.name, arguments.clone()).timeout(args.timeout);
        // The person at this terminal decides, so the kernel need not wait for anybody else.
        call = call.request_with(|request| {
            let mut wishes = CallOptions::of(&request.params);
            wishes.approval_wait_ms = Some(0);
            wishes.write(&mut request.params);
        });
        if link.output.is_watched() {
            let output = link.output.clone();
            call = call.on_progress(move |report| output.waiting(&progress(&report)));
        }
        let result = tokio::select! {
            result = call => result,
            // Dropping the call cancels it at the server.
            _ = tokio::signal::ctrl_c() => return Err(Failure::new(Exit::Tool, "the call was cancelled")),
        };
        link.output.waiting("");
        let Err(error) = &result else { break result };
        if let Some(id) = awaited(error) {
            decide(link, id, error).await?;
            // A decision takes effect a moment later.
            settled_by = Instant::now() + SETTLING;
        } else if error.code() == code::SERVER_NOT_READY && Instant::now() < settled_by {
            sleep(LOOK_EVERY).await;
        } else {
            break result;
        }
    };
    let result: CallToolResult = match result {
        Ok(result) => result,
        Err(error) => return Err(refused(link, &tool, error, args.timeout).await),
    };
    // Output to a file or pipe gets the bytes that the server sent.
    let is_raw = args.raw || !io::stdout().is_terminal();
    link.output.show(&result, |result, out| write_result(result, is_raw, out))?;
    if result.is_error == Some(true) {
        return Err(Failure::new(Exit::Tool, format!("{} reported that the call failed", tool.name)));
    }
    Ok(Exit::Done)
}

/// Returns the failure of a call. If the server is not there, the failure says why.
async fn refused(link: &KernelLink, tool: &ToolRow, error: Error, timeout: Duration) -> Failure {
    let is_absent = matches!(error.code(), code::SERVER_NOT_READY | code::SERVER_RESTARTING)
        || error.origin() == Origin::Connection
        || error.code() == code::UPSTREAM_UNAVAILABLE;
    // The error of a peer has its code and not its origin.
    let is_late = error.origin() == Origin::Timeout && error.recovery().is_none();
    let failure = Failure::from(error);
    if is_late {
        let message = format!("{} did not answer within {} s", tool.name, timeout.as_secs_f64());
        return failure.with_message(message).hint("`--timeout 10m` waits longer");
    }
    if !is_absent {
        return failure;
    }
    // The kernel learns how a server ended a moment after a call of it has.
    let until = Instant::now() + LEARNS_WITHIN;
    let row = loop {
        let Ok(servers) = link.servers(ServersToBegin::None).await else { return failure };
        let is_absent = |row: &ServerRow| row.id == tool.server_id && row.state != ServerState::Connected;
        let row = servers.into_iter().find(is_absent);
        let is_known = row.as_ref().is_some_and(|row| row.why().is_some());
        match row {
            Some(row) if is_known || Instant::now() > until => break row,
            None if Instant::now() > until => return failure,
            _ => sleep(LOOK_EVERY).await,
        }
    };
    let why = row.why().map(|why| format!(": {}", printable(why))).unwrap_or_default();
    let message = format!("{}{why}", failure.message());
    failure.with_message(message).hint(row.remedy())
}

fn given(args: &CallArgs) -> Result<Option<Object>> {
    let (json, whence) = match (&args.args, &args.args_file) {
        (Some(json), _) => (json.clone(), "--args".to_owned()),
        (None, Some(path)) => (read_text(path)?, path.display().to_string()),
        (None, None) => return Ok(None),
    };
    Object::parse(json).map(Some).map_err(|error| {
        Failure::usage(format!("{whence} is not a JSON object: {error}"))
            .hint(r#"write names and texts in double quotes, such as '{"path": "notes.txt"}'"#)
    })
}

fn progress(report: &ProgressParams) -> String {
    let number =
        |number: f64| if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number}") };
    let done = number(report.progress.as_f64());
    let total = report.total.map(|total| format!("/{}", number(total.as_f64()))).unwrap_or_default();
    let message = report.message.as_deref().map(printable).unwrap_or_default().replace('\n', " ");
    format!("{done}{total} {message}")
}

/// Writes the texts of a result, and of other content its kind and length. Characters that a terminal would act upon
/// are spelled out unless `is_raw`.
fn write_result(result: &CallToolResult, is_raw: bool, out: &mut impl io::Write) -> io::Result<()> {
    for block in &result.content {
        if let Some(text) = block.as_text() {
            let shown = if is_raw { text.to_owned() } else { printable(text) };
            write!(out, "{shown}")?;
            if !text.ends_with('\n') {
                writeln!(out)?;
            }
            continue;
        }
        let json = RawJson::from_value(block).unwrap_or_else(|_| RawJson::null());
        let kind = Object::from_raw(&json).ok();
        let kind = kind.as_ref().and_then(|block| block.text("type")).unwrap_or_default();
        writeln!(out, "({}, {} bytes; --json shows it)", printable(&kind), json.as_bytes().len())?;
    }
    if let (true, Some(structured)) = (result.content.is_empty(), &result.structured_content) {
        let text = serde_json::to_string_pretty(structured)?;
        writeln!(out, "{}", if is_raw { text } else { printable(&text) })?;
    }
    Ok(())
}

/// The longest time that a decision takes to reach the server; until then, the call is tried again.
const SETTLING: Duration = Duration::from_secs(2);
/// The time within which the kernel learns how a server ended.
const LEARNS_WITHIN: Duration = Duration::from_secs(2);
/// The time between two attempts of a call, and between two looks at a server.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Returns the arguments of a call. A key that is given several times becomes a list, as does one that the schema
/// declares as an array.
///
/// A value whose type the schema leaves open is a string; `KEY:=JSON` gives any other value.
fn arguments(given: &[String], schema: Option<&RawJson>) -> Result<RawJson> {
    let schema: Value = schema.and_then(|schema| schema.to().ok()).unwrap_or_default();
    let mut arguments: Map<String, Value> = Map::new();
    for pair in given {
        let wrong = || Failure::usage(format!("`{pair}` is not an argument: write KEY=VALUE, or KEY:=JSON"));
        let (key, text) = pair.split_once('=').ok_or_else(wrong)?;
        let (key, value) = if let Some(key) = key.strip_suffix(':') {
            (key, json(key, text)?)
        } else {
            let property = &schema["properties"][key];
            if let Some(meant) = meant(key, &schema) {
                let what = format!("`{key}` is not an argument of this tool: did you mean `{meant}`?");
                return Err(Failure::usage(what).hint(format!("`{key}:=JSON` passes it all the same")));
            }
            let value = match kind(property) {
                // A whole list can be given as JSON.
                Some("array") if text.starts_with('[') => json(key, text)?,
                Some("array") => Value::Array(vec![typed(key, text, &property["items"])?]),
                _ => typed(key, text, property)?,
            };
            (key, value)
        };
        match arguments.get_mut(key) {
            None => _ = arguments.insert(key.to_owned(), value),
            Some(Value::Array(items)) => match value {
                Value::Array(more) => items.extend(more),
                one => items.push(one),
            },
            Some(before) => *before = Value::Array(vec![before.take(), value]),
        }
    }
    RawJson::from_value(&arguments).map_err(|error| Failure::usage(error.to_string()))
}

/// Returns the argument that is probably meant by one that the schema does not know.
fn meant<'s>(key: &str, schema: &'s Value) -> Option<&'s str> {
    let known = schema["properties"].as_object()?;
    if known.contains_key(key) { None } else { nearest(key, known.keys().map(String::as_str)) }
}

fn typed(key: &str, text: &str, schema: &Value) -> Result<Value> {
    let wrong = |what: &str| Failure::usage(format!("`{key}` has to be {what}, and `{text}` is not"));
    match kind(schema) {
        Some("integer") => {
            let number = text.parse::<i64>().map(Value::from);
            number.or_else(|_| text.parse::<u64>().map(Value::from)).map_err(|_| wrong("a whole number"))
        }
        Some("number") => match serde_json::from_str(text) {
            Ok(Value::Number(number)) => Ok(Value::Number(number)),
            _ => Err(wrong("a number")),
        },
        Some("boolean") => match text {
            "true" | "yes" | "1" => Ok(Value::Bool(true)),
            "false" | "no" | "0" => Ok(Value::Bool(false)),
            _ => Err(wrong("true or false")),
        },
        Some("null") => Ok(Value::Null),
        Some("object" | "array") => json(key, text),
        _ => Ok(Value::String(text.to_owned())),
    }
}

fn json(key: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| Failure::usage(format!("`{key}` has to be JSON: {error}")))
}

/// Returns the one type that a schema allows apart from `null`, if there is exactly one.
fn kind(schema: &Value) -> Option<&str> {
    let all: Vec<&str> = match &schema["type"] {
        Value::String(one) => return Some(one),
        Value::Array(all) => all.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => schema["anyOf"].as_array()?.iter().map(|one| one["type"].as_str()).collect::<Option<_>>()?,
    };
    let mut others = all.into_iter().filter(|one| *one != "null");
    others.next().filter(|_| others.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","properties":{
        "text":{"type":"string"},"count":{"type":"integer"},"share":{"type":["number","null"]},
        "deep":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}},
        "ids":{"type":"array","items":{"type":"integer"}},"filter":{"type":"object"},
        "rows":{"type":"array","items":{"type":"array"}},
        "maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},"any":{}}}"#;

    fn read(given: &[&str]) -> Result<Value, Failure> {
        let schema = RawJson::parse(SCHEMA).unwrap();
        let given: Vec<_> = given.iter().map(|&it| it.to_owned()).collect();
        arguments(&given, Some(&schema)).map(|arguments| arguments.to().unwrap())
    }

    #[test]
    fn the_schema_says_what_a_value_is() {
        for (given, expected) in [
            (&["text=7"][..], r#"{"text":"7"}"#),
            (&["text=[a]=b"], r#"{"text":"[a]=b"}"#),
            (&["count=7"], r#"{"count":7}"#),
            (&["count=18446744073709551615"], r#"{"count":18446744073709551615}"#),
            (&["share=0.5"], r#"{"share":0.5}"#),
            (&["deep=true"], r#"{"deep":true}"#),
            (&["tags=a"], r#"{"tags":["a"]}"#),
            (&["tags=a", "tags=b"], r#"{"tags":["a","b"]}"#),
            (&["ids=1", "ids=2"], r#"{"ids":[1,2]}"#),
            (&["ids=[1,2]"], r#"{"ids":[1,2]}"#),
            (&[r#"tags=["a","b"]"#], r#"{"tags":["a","b"]}"#),
            (&[r#"tags=["a","b"]"#, "tags=c"], r#"{"tags":["a","b","c"]}"#),
            (&["any=[draft]"], r#"{"any":"[draft]"}"#),
            (&["unknown=[draft]"], r#"{"unknown":"[draft]"}"#),
            (&["rows=[1]"], r#"{"rows":[1]}"#),
            (&[r#"filter={"a":1}"#], r#"{"filter":{"a":1}}"#),
            (&["maybe=3"], r#"{"maybe":3}"#),
            (&["any=7"], r#"{"any":"7"}"#),
            (&["any:=7"], r#"{"any":7}"#),
            (&["unknown=x", "unknown=y"], r#"{"unknown":["x","y"]}"#),
            (&[], "{}"),
        ] {
            let expected: Value = serde_json::from_str(expected).unwrap();
            assert_eq!(read(given).unwrap(), expected, "{given:?}");
        }
    }

    #[test]
    fn what_is_no_such_value_is_named() {
        for given in
            ["count=x", "count=1.5", "share=NaN", "deep=perhaps", "filter=x", "tags=[a", "any:=x", "alone"]
        {
            let failure = read(&[given]).unwrap_err();
            let name = given.split([':', '=']).next().unwrap();
            assert!(failure.message().contains(name), "{given}: {}", failure.message());
        }
    }
}
