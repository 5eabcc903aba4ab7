//! Commands for the running kernel and its servers: `mgp servers`, `logs`, `stop`, `reload` and `status`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use mgp_kernel_core::admin::config::ReloadConfig;
use mgp_kernel_core::admin::operation::{KernelNeed, ServersToBegin};
use mgp_kernel_core::admin::server_orders::{MAX_LINES, ReadServerLog, ServerLog};
use mgp_kernel_core::admin::servers::{ListServers, ServerRow, WaitingPart};
use mgp_kernel_core::admin::status::{KernelStatus, ReadStatus, RestartKernel, StopKernel};
use mgp_kernel_core::lifecycle::HttpListening;
use mgp_kernel_core::listen::socket;
use mgp_kernel_core::proof::is_guarded;
use mgp_kernel_core::record::PushLag;
use mgp_kernel_core::state::folder::{DiskSpace, states_of, users_state};
use mgp_kernel_core::state::kernel_note::{KernelNote, waiting_notice};
use mgp_kernel_core::terminal::{Exit, Failure, Result, printable, span};
use mgp_types::mgp::ServerState;
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use super::context::{CommandContext, EffectiveConfig};
use super::link::{KernelLink, no_kernel};
use super::output::Output;
use super::proof::{LOCKED, WITHOUT_PROOF, waiting};

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
    /// Wait until each server is connected or has failed, and exit with 4 if any is not connected
    #[arg(long, conflicts_with = "no_start")]
    wait: bool,
    /// Wait no longer than this, such as 90s or 5m
    #[arg(long, value_name = "TIME", requires = "wait", value_parser = span)]
    timeout: Option<Duration>,
}

/// Lists servers and their states.
pub(super) async fn servers(cx: &CommandContext, args: &ServersArgs) -> Result {
    let begin = if args.no_start { ServersToBegin::None } else { ServersToBegin::All };
    let list = async |link: &KernelLink| {
        if args.wait {
            link.settled_within(&begin, args.timeout.unwrap_or(Duration::MAX)).await?;
        }
        link.ask(&ListServers { begin }).await
    };
    let servers = KernelLink::with(cx, KernelNeed::ANY_SERVERS, list).await?;
    cx.output.result(&servers)?;
    let named = |is_wanted: fn(&ServerRow) -> bool| {
        let rows =
            servers.servers.iter().filter(|row| row.enabled && row.waiting != Some(WaitingPart::Server));
        let ids: Vec<_> = rows.filter(|row| is_wanted(row)).map(|row| printable(row.id.as_str())).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    };
    let (starting, failed) = (named(ServerRow::is_connecting), named(ServerRow::has_failed));
    if !args.wait {
        if let Some(starting) = starting {
            let waits = "`mgp servers --wait` waits until each server is connected or has failed";
            cx.output.note(&format!("still starting: {starting}; {waits}"));
        }
        return Ok(Exit::Done);
    }
    if let (Some(starting), Some(timeout)) = (&starting, args.timeout) {
        cx.output.note(&format!("still starting after {} s: {starting}", timeout.as_secs_f64()));
    }
    if let Some(failed) = &failed {
        cx.output.note(&format!("not connected: {failed}"));
    }
    Ok(if starting.or(failed).is_some() { Exit::Unreachable } else { Exit::Done })
}

/// Shows the lines that a server wrote to its standard error.
pub(super) async fn logs(cx: &CommandContext, args: LogsArgs) -> Result {
    let need = KernelNeed::of_server(Some(&args.read.server_id));
    KernelLink::with(cx, need, async |link| log(link, &args).await).await
}

async fn log(link: &KernelLink, args: &LogsArgs) -> Result {
    let mut log = last_lines(link, &args.read).await?;
    if !args.follow {
        link.output.result(&log)?;
        tell_state(&link.output, args, &log);
        return Ok(Exit::Done);
    }
    tell_state(&link.output, args, &log);
    let mut shown: Vec<String> = Vec::new();
    loop {
        let new = behind(&shown, &log.lines).iter();
        let rows = new.map(|line| (json!({ "line": line }), printable(line)));
        if !link.output.lines(rows)? || !link.output.follows().await {
            return Ok(Exit::Done);
        }
        shown = log.lines;
        let all = ReadServerLog { server_id: args.read.server_id.clone(), lines: MAX_LINES };
        log = link.ask(&all).await?;
    }
}

/// Returns the last lines that a server wrote. The lines of a program that has just ended arrive a moment later, so
/// they are waited for.
pub(super) async fn last_lines(link: &KernelLink, read: &ReadServerLog) -> Result<ServerLog> {
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
    let Some(state) = log.state else { return };
    if let Some(reason) = &log.reason {
        output.note(&format!("{server} is {state}: {}", printable(reason)));
    } else if log.lines.is_empty() {
        output.note(&format!("{server} is {state} and has written nothing to its standard error"));
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

/// Stops the running kernel after its calls in progress.
pub(super) async fn stop(cx: &CommandContext) -> Result {
    let socket = Box::pin(cx.read_to_reach()).await?.socket;
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

/// Lets the installed version of this program take over from the running kernel, and waits until it has.
pub(super) async fn restart(cx: &CommandContext) -> Result {
    let restart = async |link: &KernelLink| link.ask(&RestartKernel {}).await;
    let before = KernelLink::with(cx, KernelNeed::Running, restart).await?;
    let losing = before.servers.iter().filter(|server| !server.sessions().is_empty());
    let losing = losing.map(|server| format!("{} ({})", server.id, server.sessions().join(", ")));
    let losing = losing.collect::<Vec<_>>().join(", ");
    if !losing.is_empty() {
        cx.output
            .note(&format!("What these servers keep in memory for clients is lost: {}", printable(&losing)));
    }
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        tokio::time::sleep(LOOK_OFTEN).await;
        // A connection that was made to the old kernel may end without an answer.
        let read = async |link: &KernelLink| link.ask(&ReadStatus {}).await;
        if let Ok(status) = KernelLink::with(cx, KernelNeed::Running, read).await
            && status.since != before.since
        {
            let text = format!("mgp {} has taken over", printable(&status.version));
            return cx.output.show(&status, |_, out| writeln!(out, "{text}"));
        }
    }
    let message = format!("the kernel (process {}) still has calls in work", before.pid);
    Err(Failure::unreachable(message).hint("the kernel restarts when these calls have ended"))
}

/// Makes the running kernel reload its configuration. If a passphrase guards the configuration and no kernel runs, accepts it
/// for the next kernel.
pub(super) async fn reload(cx: &CommandContext) -> Result {
    let state = Box::pin(cx.read_to_reach()).await?.state;
    let link = match KernelLink::to_running(cx).await? {
        Some(link) => link,
        None if is_guarded(users_state(&state)) => KernelLink::to_stored(cx).await?,
        None => return Err(no_kernel()),
    };
    let reloaded = link.ask(&ReloadConfig {}).await;
    link.close().await;
    if reloaded.is_err()
        && let Some(notice) = waiting_notice(&waiting(cx))
    {
        cx.output.note(&notice);
    }
    cx.output.result(&reloaded?)
}

/// The longest time to wait for the end of the kernel; longer than calls usually take.
const PATIENCE: Duration = Duration::from_mins(1);
/// The time between two looks whether the kernel has ended, and for the lines of a program that has just ended.
const LOOK_OFTEN: Duration = Duration::from_millis(50);
/// The longest time to wait for the lines of a program that has just ended.
const PATIENCE_FOR_LINES: Duration = Duration::from_secs(2);

/// The output about the kernel of this folder.
#[derive(Debug, Serialize)]
struct ShownStatus {
    #[serde(flatten)]
    status: KernelStatus,
    /// The socket for operators.
    socket: PathBuf,
    others: Vec<OtherKernel>,
}

/// Another running kernel of the same user.
#[derive(Debug, Serialize)]
struct OtherKernel {
    pid: u32,
    /// The folder with an `mgp.toml` of its own that it is the kernel of; `None` for the kernel of the user.
    folder: Option<PathBuf>,
}

/// Shows the running kernel. The command ends with 4 if none runs, or if no client can connect: the kernel was told to end, or
/// does not listen at its address yet, or does not know what other kernels decided.
pub(super) async fn status(cx: &CommandContext) -> Result {
    let EffectiveConfig { state, socket, .. } = Box::pin(cx.read_to_reach()).await?;
    let others = others(&state).await;
    let Some(link) = KernelLink::to_running(cx).await? else {
        cx.output.show(&json!({ "running": false, "others": others }), |_, out| {
            writeln!(out, "no kernel runs; a client that starts `mgp serve` starts one, as do commands that need servers")?;
            others.iter().try_for_each(|other| other.write(out))
        })?;
        return Ok(Exit::Unreachable);
    };
    let status = link.ask(&ReadStatus {}).await;
    link.close().await;
    let status = status?;
    let is_stale = status.link.as_ref().is_some_and(|link| link.stale);
    let is_ready =
        !status.draining && !is_stale && status.http.as_ref().is_none_or(|http| http.error.is_none());
    cx.output.show(
        &ShownStatus { status, socket, others },
        |ShownStatus { status, socket, others }, out| {
            let KernelStatus { pid, version, since, state, .. } = status;
            writeln!(out, "mgp {} runs since {since}, process {pid}", printable(version))?;
            let files: Vec<_> = status.files.iter().map(|file| file.display().to_string()).collect();
            let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
            writeln!(out, "configuration: {}", printable(&files))?;
            writeln!(out, "state: {}", printable(&state.display().to_string()))?;
            writeln!(out, "socket: {}", printable(&socket.display().to_string()))?;
            writeln!(out, "ends: {}", end(status))?;
            if status.without_proof {
                writeln!(out, "{WITHOUT_PROOF}")?;
            }
            if status.locked {
                writeln!(out, "{LOCKED}")?;
            }
            if !status.waiting.is_empty() {
                let keys = printable(&status.waiting.join(", "));
                writeln!(
                    out,
                    "changes that wait for your operator passphrase (apply with `mgp reload`): {keys}"
                )?;
            }
            if let Some(PushLag { events, seconds, failures }) = status.push {
                writeln!(
                    out,
                    "push of the record: {events} events wait, for {seconds} s; {failures} attempts failed"
                )?;
            }
            status.link.iter().try_for_each(|link| {
                writeln!(out, "decisions of other kernels: {}", printable(&link.text()))
            })?;
            if let Some(DiskSpace { free, total }) = status.disk {
                writeln!(out, "disk of the state: {} of {} MiB free", free >> 20, total >> 20)?;
            }
            status.encoder.iter().try_for_each(|progress| writeln!(out, "encoder: {progress}"))?;
            status
                .http
                .iter()
                .try_for_each(|http| writeln!(out, "http: {}", printable(&listening_text(http))))?;
            for client in &status.clients {
                let program = client.program.as_deref().unwrap_or("an unknown program");
                let said = client.said.as_ref().map(|said| format!(", which says it is {said},"));
                let (said, since) = (said.unwrap_or_default(), time(client.connected_secs));
                let (program, agent) = (printable(program), printable(&client.agent_id));
                writeln!(out, "client: {program}{} as {agent}, for {since}", printable(&said))?;
            }
            if status.clients.is_empty() {
                writeln!(out, "client: none")?;
            }
            status.servers.iter().try_for_each(|server| writeln!(out, "server: {}", described(server)))?;
            others.iter().try_for_each(|other| other.write(out))
        },
    )?;
    Ok(if is_ready { Exit::Done } else { Exit::Unreachable })
}

/// Returns the address for clients over HTTP as text, with the reason why nobody can connect there.
pub(super) fn listening_text(http: &HttpListening) -> String {
    let HttpListening { address, error } = http;
    let Some(error) = error else { return format!("listens at {address}") };
    format!("does not listen at {address} yet: {error}; it is tried again until it is free")
}

/// Returns the running kernels of the same user but the one that keeps its state in `own`.
async fn others(own: &Path) -> Vec<OtherKernel> {
    let mut others = Vec::new();
    for state in states_of(users_state(own)).into_iter().filter(|state| state != own) {
        // A kernel that was killed has left its note, and nobody answers.
        if let Some(KernelNote { pid, folder, .. }) = KernelNote::read(&state)
            && socket::is_shared(&socket::default_path(&state), None).await
        {
            others.push(OtherKernel { pid, folder: (users_state(&state) != state).then_some(folder) });
        }
    }
    others
}

impl OtherKernel {
    fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        let own = || "your own configuration".to_owned();
        let whose = self.folder.as_ref().map_or_else(own, |folder| folder.display().to_string());
        writeln!(out, "another kernel: of {}, process {}", printable(&whose), self.pid)
    }
}

fn end(status: &KernelStatus) -> String {
    match status.linger_secs {
        _ if status.draining => "as soon as its calls in work are answered".to_owned(),
        None => "when it is stopped, or with the client that started it".to_owned(),
        Some(0) => "with the last client".to_owned(),
        Some(secs) if status.clients.is_empty() => format!("in {} unless a client connects", time(secs)),
        Some(secs) => format!("{} after the last client has left", time(secs)),
    }
}

fn described(server: &ServerRow) -> String {
    let state = server.state_word();
    let tools = if server.tools == 1 { "1 tool".to_owned() } else { format!("{} tools", server.tools) };
    let why = server.why().filter(|_| server.state != ServerState::Connected);
    let why = why.map(|why| format!(": {}", printable(why)));
    format!("{} {state}, {tools}{}", printable(server.id.as_str()), why.unwrap_or_default())
}

/// Returns a time as text in its largest unit, with the next smaller unit if that is not zero.
fn time(secs: u64) -> String {
    match (secs / 3600, secs / 60 % 60, secs % 60) {
        (0, 0, secs) => format!("{secs} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, secs) => format!("{minutes} min {secs} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

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

    #[test]
    fn times_are_read_at_a_glance() {
        for (secs, shown) in
            [(0, "0 s"), (59, "59 s"), (300, "5 min"), (61, "1 min 1 s"), (3600, "1 h"), (5430, "1 h 30 min")]
        {
            assert_eq!(time(secs), shown);
        }
    }
}
