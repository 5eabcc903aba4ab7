//! Commands for the running kernel and its servers: `mgp servers`, `logs`, `stop` and `reload`.

use std::io::Write as _;
use std::time::Duration;

use clap::Args;
use mgp_types::mgp::{ServerId, ServerState};
use serde_json::json;
use tokio::time::Instant;

use super::context::CommandContext;
use super::link::{KernelLink, operate};
use super::output::{Output, OutputReader};
use crate::admin::config::ReloadConfig;
use crate::admin::operation::{KernelNeed, ServersToBegin};
use crate::admin::server_orders::{MAX_LINES, ReadServerLog, ServerLog, StopServer};
use crate::admin::servers::{ListServers, ServerList};
use crate::admin::status::StopKernel;
use crate::listen::socket;
use crate::proof::is_guarded;
use crate::state_folder::users_state;
use crate::terminal::{Exit, Failure, printable};

#[derive(Debug, Args)]
pub(super) struct LogsArgs {
    #[command(flatten)]
    read: ReadServerLog,
    /// Print new lines as they come, until interrupted; with --json one object per line
    #[arg(short, long)]
    follow: bool,
}

#[derive(Debug, Args)]
pub(super) struct ServersArgs {
    /// Show the servers without starting those that do not run yet
    #[arg(long)]
    no_start: bool,
    /// Wait until each server is connected or has failed
    #[arg(long, conflicts_with = "no_start")]
    wait: bool,
}

/// The server that is stopped, or none for the kernel.
#[derive(Debug, Args)]
pub(super) struct StopArgs {
    /// The id of the server; the kernel with all its servers if left out
    server: Option<ServerId>,
}

/// Lists servers and their states.
pub(super) async fn servers(cx: &CommandContext, args: &ServersArgs) -> Result<Exit, Failure> {
    let begin = if args.no_start { ServersToBegin::None } else { ServersToBegin::All };
    let list = async |link: &KernelLink| {
        if args.wait {
            return link.settled(&begin).await.map(|servers| ServerList { servers });
        }
        link.ask(&ListServers { begin: begin.clone() }).await
    };
    let servers = KernelLink::with(cx, KernelNeed::ANY_SERVERS, list).await?;
    cx.output.result(&servers)
}

/// Shows the lines that a server wrote to its standard error.
pub(super) async fn logs(cx: &CommandContext, args: LogsArgs) -> Result<Exit, Failure> {
    let need = KernelNeed::of_server(Some(&args.read.server_id));
    KernelLink::with(cx, need, async |link| log(link, &args).await).await
}

async fn log(link: &KernelLink, args: &LogsArgs) -> Result<Exit, Failure> {
    let mut log = last_lines(link, &args.read).await?;
    if !args.follow {
        link.output.result(&log)?;
        tell_state(&link.output, args, &log);
        return Ok(Exit::Done);
    }
    tell_state(&link.output, args, &log);
    let mut shown: Vec<String> = Vec::new();
    loop {
        let mut lines = Vec::new();
        for line in behind(&shown, &log.lines) {
            link.output.add_line(&mut lines, &json!({ "line": line }), &printable(line))?;
        }
        if link.output.write(&lines)? == OutputReader::Gone || !link.output.follows().await {
            return Ok(Exit::Done);
        }
        shown = log.lines;
        let all = ReadServerLog { server_id: args.read.server_id.clone(), lines: MAX_LINES };
        log = link.ask(&all).await?;
    }
}

/// Returns the last lines that a server wrote. The lines of a program that has just ended arrive a moment later, so
/// they are waited for.
pub(super) async fn last_lines(link: &KernelLink, read: &ReadServerLog) -> Result<ServerLog, Failure> {
    let end = Instant::now() + PATIENCE_FOR_LINES;
    loop {
        let log = link.ask(read).await?;
        let has_ended = matches!(log.state, Some(ServerState::Restarting | ServerState::Error));
        if !log.lines.is_empty() || !has_ended || Instant::now() >= end {
            return Ok(log);
        }
        tokio::time::sleep(LOOK_OFTEN).await;
    }
}

/// Notes why a server does not run, or that it has written nothing, because silence would be taken for success.
fn tell_state(output: &Output, args: &LogsArgs, log: &ServerLog) {
    let server = &args.read.server_id;
    match (&log.reason, log.state) {
        (Some(reason), Some(state)) => output.note(&format!("{server} is {state}: {}", printable(reason))),
        (None, Some(state)) if log.lines.is_empty() => {
            output.note(&format!("{server} is {state} and has written nothing to its standard error"));
        }
        _ => {}
    }
}

/// Returns the lines of `now` that follow the lines of `before`.
fn behind<'a>(before: &[String], now: &'a [String]) -> &'a [String] {
    let from = (0..=before.len()).find(|skipped| now.starts_with(&before[*skipped..]));
    let known = from.map_or(0, |skipped| before.len() - skipped);
    // The first query gives fewer lines than the later ones, so its lines may stand in the middle.
    if known == 0
        && let Some(last) = before.last()
    {
        let place = now.iter().rposition(|line| line == last);
        return &now[place.map_or(0, |place| place + 1)..];
    }
    &now[known..]
}

/// Stops a server of the running kernel, or the running kernel itself, after its calls in progress.
pub(super) async fn stop(cx: &CommandContext, args: StopArgs) -> Result<Exit, Failure> {
    if let Some(server_id) = args.server {
        return operate(cx, StopServer { server_id }).await;
    }
    let socket = cx.read()?.socket;
    let stop = async |link: &KernelLink| link.ask(&StopKernel {}).await;
    let stopped = KernelLink::with(cx, KernelNeed::Running, stop).await?;
    // The command waits until the kernel is gone, so that another one can be started at once.
    let end = Instant::now() + PATIENCE;
    while socket::connect(&socket).await.is_ok() {
        if Instant::now() >= end {
            let message = format!("the kernel (process {}) still has calls in work", stopped.pid);
            return Err(Failure::unreachable(message).hint("the kernel stops when these calls have ended"));
        }
        tokio::time::sleep(LOOK_OFTEN).await;
    }
    let clients = match stopped.clients.len() {
        0 => String::new(),
        1 => "\n1 client stays connected, and its next request starts a kernel again".to_owned(),
        all => format!("\n{all} clients stay connected, and their next request starts a kernel again"),
    };
    cx.output.show(&stopped, |stopped, out| writeln!(out, "stopped (process {}){clients}", stopped.pid))
}

/// Makes the running kernel reload its configuration. Where a passphrase guards that and no kernel runs, the next one takes it.
pub(super) async fn reload(cx: &CommandContext) -> Result<Exit, Failure> {
    let is_guarded = is_guarded(users_state(&cx.read()?.state));
    let need = if is_guarded { KernelNeed::State } else { KernelNeed::Running };
    let reloaded = KernelLink::with(cx, need, async |link| link.ask(&ReloadConfig {}).await).await?;
    cx.output.result(&reloaded)
}

/// The longest time to wait for the end of the kernel; longer than calls usually take.
const PATIENCE: Duration = Duration::from_mins(1);
/// The time between two looks whether the kernel has ended, and for the lines of a program that has just ended.
const LOOK_OFTEN: Duration = Duration::from_millis(50);
/// The longest time to wait for the lines of a program that has just ended.
const PATIENCE_FOR_LINES: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_lines_are_shown() {
        let lines = |text: &str| text.chars().map(|c| c.to_string()).collect::<Vec<_>>();
        for (before, now, new) in [
            ("", "abc", "abc"),
            ("abc", "abc", ""),
            ("abc", "abcd", "d"),
            ("abc", "bcd", "d"),
            ("c", "abcd", "d"),
            ("abc", "xyz", "xyz"),
        ] {
            assert_eq!(behind(&lines(before), &lines(now)), lines(new), "{before} {now}");
        }
    }
}
