//! Commands for the running kernel and its servers: `mgp logs`, `restart`, `start`, `stop` and `reload`.

use std::io::Write as _;
use std::time::Duration;

use clap::Args;
use mgp_types::mgp::ServerId;
use serde::Serialize;
use tokio::time::Instant;

use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::{KernelLink, KernelNeed};
use super::output::{Output, OutputReader, printable};
use crate::listen::socket;
use crate::operator::config::ConfigReloaded;
use crate::operator::method;
use crate::operator::proof::is_guarded;
use crate::operator::servers::{NamedServer, ReadServerLog, ServerLog, ServerStateChanged, ServersToBegin};
use crate::operator::status::KernelStatus;
use crate::running::users_state;

#[derive(Debug, Args)]
pub(super) struct LogsArgs {
    /// The id of the server
    server: String,
    /// The number of lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    lines: u32,
    /// Print new lines as they come, until interrupted; with --json one object per line
    #[arg(short, long)]
    follow: bool,
}

/// A line of a server's log, as `--follow` prints it in JSON.
#[derive(Debug, Serialize)]
struct LogLine<'a> {
    line: &'a str,
}

/// The server that a command is about.
#[derive(Debug, Args)]
pub(super) struct ServerArgs {
    /// The id of the server
    server: String,
}

/// The server that is stopped, or none for the kernel.
#[derive(Debug, Args)]
pub(super) struct StopArgs {
    /// The id of the server; the kernel with all its servers if left out
    server: Option<String>,
}

/// Shows the lines that a server wrote to its standard error.
pub(super) async fn logs(place: &KernelLocation, output: &Output, args: LogsArgs) -> Result<Exit, Failure> {
    let link = KernelLink::with_servers(place).await?;
    link.settled(output, &ServersToBegin::Only(vec![args.server.as_str().into()])).await?;
    let outcome = log(&link, output, &args).await;
    link.close().await;
    outcome
}

async fn log(link: &KernelLink, output: &Output, args: &LogsArgs) -> Result<Exit, Failure> {
    let mut log = last_lines(link, args.server.as_str().into(), args.lines).await?;
    if !args.follow {
        output.show(&log, |log, out| {
            log.lines.iter().try_for_each(|line| writeln!(out, "{}", printable(line)))
        })?;
        tell_state(output, args, &log);
        return Ok(Exit::Done);
    }
    tell_state(output, args, &log);
    let mut shown: Vec<String> = Vec::new();
    let unread = output.unread();
    tokio::pin!(unread);
    loop {
        let mut lines = Vec::new();
        for line in behind(&shown, &log.lines) {
            output.add_line(&mut lines, &LogLine { line }, &printable(line))?;
        }
        if output.write(&lines)? == OutputReader::Gone {
            return Ok(Exit::Done);
        }
        shown = log.lines;
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Done),
            () = &mut unread => return Ok(Exit::Done),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        let asked = ReadServerLog { server_id: args.server.as_str().into(), lines: MOST_LINES };
        log = link.ask(method::SERVER_LOGS, &asked).await?;
    }
}

/// Returns the last lines that a server wrote. The lines of a program that has just ended arrive a moment later, so
/// they are waited for.
pub(super) async fn last_lines(
    link: &KernelLink,
    server_id: ServerId,
    lines: u32,
) -> Result<ServerLog, Failure> {
    let asked = ReadServerLog { server_id, lines };
    for _ in 0..LOOKS {
        let log: ServerLog = link.ask(method::SERVER_LOGS, &asked).await?;
        if !log.lines.is_empty() || log.reason.is_none() {
            return Ok(log);
        }
        tokio::time::sleep(SOON).await;
    }
    link.ask(method::SERVER_LOGS, &asked).await
}

/// Notes why a server does not run, or that it has written nothing, because silence would be taken for success.
fn tell_state(output: &Output, args: &LogsArgs, log: &ServerLog) {
    let server = &args.server;
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

/// Restarts a server of the running kernel.
pub(super) async fn restart(
    place: &KernelLocation,
    output: &Output,
    args: &ServerArgs,
) -> Result<Exit, Failure> {
    moved(place, output, args, method::SERVER_RESTART).await
}

/// Starts a stopped server of the running kernel.
pub(super) async fn start(
    place: &KernelLocation,
    output: &Output,
    args: &ServerArgs,
) -> Result<Exit, Failure> {
    moved(place, output, args, method::SERVER_START).await
}

/// Stops a server of the running kernel, or the running kernel itself, after its calls in progress.
pub(super) async fn stop(place: &KernelLocation, output: &Output, args: StopArgs) -> Result<Exit, Failure> {
    if let Some(server) = args.server {
        return moved(place, output, &ServerArgs { server }, method::SERVER_STOP).await;
    }
    let socket = place.read()?.socket;
    let link = KernelLink::needed(place).await?;
    let stopped: Result<KernelStatus, Failure> = link.ask(method::KERNEL_STOP, &()).await;
    link.close().await;
    let stopped = stopped?;
    // The command waits until the kernel is gone, so that another one can be started at once.
    let end = Instant::now() + PATIENCE;
    while socket::connect(&socket).await.is_ok() {
        if Instant::now() >= end {
            let message = format!("the kernel (process {}) still has calls in work", stopped.pid);
            return Err(
                Failure::new(Exit::Unreachable, message).hint("the kernel stops when these calls have ended")
            );
        }
        tokio::time::sleep(LOOK_OFTEN).await;
    }
    output.show(&stopped, |stopped, out| {
        writeln!(out, "stopped (process {})", stopped.pid)?;
        match stopped.clients.len() {
            0 => Ok(()),
            1 => writeln!(out, "1 client stays connected, and its next request starts a kernel again"),
            all => {
                writeln!(out, "{all} clients stay connected, and their next request starts a kernel again")
            }
        }
    })
}

async fn moved(
    place: &KernelLocation,
    output: &Output,
    args: &ServerArgs,
    method: &'static str,
) -> Result<Exit, Failure> {
    let link = KernelLink::needed(place).await?;
    let named = NamedServer { server_id: args.server.as_str().into() };
    let moved: Result<ServerStateChanged, Failure> = link.ask(method, &named).await;
    link.close().await;
    output.show(&moved?, |moved, out| writeln!(out, "{}", moved.state))
}

/// Makes the running kernel reload its configuration. Where a passphrase guards that and no kernel runs, the next one takes it.
pub(super) async fn reload(place: &KernelLocation, output: &Output) -> Result<Exit, Failure> {
    let link = if is_guarded(users_state(&place.read()?.state)) {
        KernelLink::open(place, KernelNeed::State).await?
    } else {
        KernelLink::needed(place).await?
    };
    let reloaded: Result<ConfigReloaded, Failure> = link.ask(method::CONFIG_RELOAD, &()).await;
    link.close().await;
    output.show(&reloaded?, |reloaded, out| {
        let ConfigReloaded { added, changed, removed, needs_restart } = reloaded;
        for (what, servers) in [("added", added), ("changed", changed), ("removed", removed)] {
            for server in servers {
                writeln!(out, "{what} {}", printable(server.as_str()))?;
            }
        }
        if added.is_empty() && changed.is_empty() && removed.is_empty() {
            writeln!(out, "no server changed")?;
        }
        for section in needs_restart {
            writeln!(out, "[{section}] changed, and takes effect when the kernel is restarted")?;
        }
        Ok(())
    })
}

/// The longest time to wait for the end of the kernel; longer than calls usually take.
const PATIENCE: Duration = Duration::from_mins(1);
/// The time between two looks whether the kernel has ended.
const LOOK_OFTEN: Duration = Duration::from_millis(50);
/// The time between two queries for new lines with `--follow`.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The number of queries for the lines of a program that has just ended.
const LOOKS: u32 = 10;
/// The time between two queries for the lines of a program that has just ended.
const SOON: Duration = Duration::from_millis(50);
/// The number of lines that each query with `--follow` asks for.
const MOST_LINES: u32 = 1_000;

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
