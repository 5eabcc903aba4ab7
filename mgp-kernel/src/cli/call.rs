//! `mgp call`: calls a tool, and asks the person at the terminal for an approval that the call waits for.
//!
//! The call never waits in the kernel (`approval_wait_ms` is 0): it is refused with the id of the question, the
//! command asks and approves as the operator, and calls again. One way holds with and without a running kernel.

use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mgp_types::mcp::{CallToolResult, ProgressParams};
use mgp_types::mgp::{CallOptions, ServerState};
use mgp_types::{Error, Object, Origin, RawJson, code};
use tokio::time::{Instant, sleep};

use super::arguments::arguments;
use super::context::CommandContext;
use super::input::read_text;
use super::link::KernelLink;
use super::permissions::{awaited, decide};
use super::{proof, tools};
use crate::admin::operation::{KernelNeed, ServersToBegin};
use crate::admin::servers::ServerRow;
use crate::admin::tools::ToolRow;
use crate::terminal::{Exit, Failure, printable, span};

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
}

pub(super) async fn run(cx: &CommandContext, args: CallArgs) -> Result<Exit, Failure> {
    KernelLink::with(cx, KernelNeed::ANY_SERVERS, async |link| call(link, args).await).await
}

async fn call(link: &KernelLink, args: CallArgs) -> Result<Exit, Failure> {
    let given = given(&args)?;
    let tool = tools::one(link, &args.tool).await?;
    let definition = Object::from_raw(&tool.definition).unwrap_or_default();
    let arguments = match given {
        Some(object) => object.to_raw(),
        None => arguments(&args.arguments, definition.get("inputSchema").as_ref())?,
    };
    // With a proof, no rule for agents applies to the call; without one, it is a call of a client of the user.
    let _ = proof::by_token(link).await?;
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
            call = call.on_progress(|report| progress(&report));
        }
        let result = tokio::select! {
            result = call => result,
            // Dropping the call cancels it at the server.
            _ = tokio::signal::ctrl_c() => return Err(Failure::new(Exit::Tool, "the call was cancelled")),
        };
        if link.output.is_watched() {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
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
    let failed = result.is_error == Some(true);
    // Output to a file or pipe gets the bytes that the server sent.
    let is_raw = args.raw || !io::stdout().is_terminal();
    link.output.show(&result, |result, out| write_result(result, is_raw, out))?;
    if failed {
        Err(Failure::new(Exit::Tool, format!("{} reported that the call failed", tool.name)))
    } else {
        Ok(Exit::Done)
    }
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
    let message = match row.why() {
        Some(why) => format!("{}: {}", failure.message(), printable(why)),
        None => failure.message().to_owned(),
    };
    failure.with_message(message).hint(row.remedy())
}

fn given(args: &CallArgs) -> Result<Option<Object>, Failure> {
    let (json, whence) = match (&args.args, &args.args_file) {
        (Some(json), _) => (json.clone(), "--args".to_owned()),
        (None, Some(path)) => (read_text(path)?, path.display().to_string()),
        (None, None) => return Ok(None),
    };
    let object = Object::parse(json);
    object.map(Some).map_err(|error| {
        Failure::usage(format!("{whence} is not a JSON object: {error}"))
            .hint(r#"write names and texts in double quotes, such as '{"path": "notes.txt"}'"#)
    })
}

fn progress(report: &ProgressParams) {
    let number =
        |number: f64| if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number}") };
    let done = number(report.progress.as_f64());
    let share =
        report.total.map_or_else(|| done.clone(), |total| format!("{done}/{}", number(total.as_f64())));
    let message = report.message.as_deref().map(printable).unwrap_or_default().replace('\n', " ");
    // Progress is only informative, so a failed write is ignored.
    let _ = write!(io::stderr(), "\r\u{1b}[K{share} {message}");
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
