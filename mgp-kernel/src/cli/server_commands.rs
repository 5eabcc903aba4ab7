use std::io::Write as _;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::link::{Link, Need};
use super::output::{Output, Reader, printable};
use super::place::Place;
use crate::operator::config::Reloaded;
use crate::operator::method;
use crate::operator::servers::{LogLines, NamedServer, ServerLog, ServerMoved};

#[derive(Debug, Args)]
pub(super) struct Logs {
    /// The server
    server: String,
    /// How many lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    lines: u32,
    /// Go on with what it writes from now on, until it is interrupted; with --json an object each
    #[arg(short, long)]
    follow: bool,
}

/// One line of those that are followed.
#[derive(Debug, Serialize)]
struct Line<'a> {
    line: &'a str,
}

/// Names a server.
#[derive(Debug, Args)]
pub(super) struct OneServer {
    /// The server
    server: String,
}

/// Shows what a server wrote to its standard error.
pub(super) async fn logs(place: &Place, output: &Output, args: Logs) -> Result<Exit, Failure> {
    let link = Link::open(place, Need::Servers).await?;
    let outcome = log(&link, output, &args).await;
    link.close().await;
    outcome
}

async fn log(link: &Link, output: &Output, args: &Logs) -> Result<Exit, Failure> {
    let asked = LogLines { server_id: args.server.as_str().into(), lines: args.lines };
    let mut log: ServerLog = link.ask(method::SERVER_LOGS, &asked).await?;
    if !args.follow {
        output.show(&log, |log, out| {
            log.lines.iter().try_for_each(|line| writeln!(out, "{}", printable(line)))
        })?;
        return Ok(Exit::Done);
    }
    let mut shown: Vec<String> = Vec::new();
    let unread = output.unread();
    tokio::pin!(unread);
    loop {
        let mut lines = Vec::new();
        for line in behind(&shown, &log.lines) {
            output.add_line(&mut lines, &Line { line }, &printable(line))?;
        }
        if output.write(&lines)? == Reader::Gone {
            return Ok(Exit::Done);
        }
        shown = log.lines;
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Done),
            () = &mut unread => return Ok(Exit::Done),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        let asked = LogLines { server_id: args.server.as_str().into(), lines: MOST_LINES };
        log = link.ask(method::SERVER_LOGS, &asked).await?;
    }
}

/// What stands in `now` behind all that stood in `before`.
fn behind<'a>(before: &[String], now: &'a [String]) -> &'a [String] {
    let from = (0..=before.len()).find(|skipped| now.starts_with(&before[*skipped..]));
    let known = from.map_or(0, |skipped| before.len() - skipped);
    // The first look shows less than the ones after it, so its lines may stand in the middle.
    if known == 0
        && let Some(last) = before.last()
    {
        let place = now.iter().rposition(|line| line == last);
        return &now[place.map_or(0, |place| place + 1)..];
    }
    &now[known..]
}

/// Stops a server and starts it again, in the kernel that runs.
pub(super) async fn restart(place: &Place, output: &Output, args: &OneServer) -> Result<Exit, Failure> {
    moved(place, output, args, method::SERVER_RESTART).await
}

/// Starts a server that was stopped, in the kernel that runs. It connects behind the answer.
pub(super) async fn start(place: &Place, output: &Output, args: &OneServer) -> Result<Exit, Failure> {
    moved(place, output, args, method::SERVER_START).await
}

/// Stops a server in the kernel that runs, after the calls that it has in work.
pub(super) async fn stop(place: &Place, output: &Output, args: &OneServer) -> Result<Exit, Failure> {
    moved(place, output, args, method::SERVER_STOP).await
}

async fn moved(
    place: &Place,
    output: &Output,
    args: &OneServer,
    method: &'static str,
) -> Result<Exit, Failure> {
    let link = Link::needed(place).await?;
    let named = NamedServer { server_id: args.server.as_str().into() };
    let moved: Result<ServerMoved, Failure> = link.ask(method, &named).await;
    link.close().await;
    output.show(&moved?, |moved, out| writeln!(out, "{}", moved.state))?;
    Ok(Exit::Done)
}

/// Has the kernel that runs read its configuration anew.
pub(super) async fn reload(place: &Place, output: &Output) -> Result<Exit, Failure> {
    let link = Link::needed(place).await?;
    let reloaded: Result<Reloaded, Failure> = link.ask(method::CONFIG_RELOAD, &()).await;
    link.close().await;
    output.show(&reloaded?, |reloaded, out| {
        let Reloaded { added, changed, removed, needs_restart } = reloaded;
        for (what, servers) in [("added", added), ("changed", changed), ("removed", removed)] {
            for server in servers {
                writeln!(out, "{what} {}", printable(server.as_str()))?;
            }
        }
        if added.is_empty() && changed.is_empty() && removed.is_empty() {
            writeln!(out, "no server is another one")?;
        }
        for section in needs_restart {
            writeln!(out, "[{section}] says something else that waits for the kernel to be started anew")?;
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}

const LOOK_EVERY: Duration = Duration::from_millis(500);
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
