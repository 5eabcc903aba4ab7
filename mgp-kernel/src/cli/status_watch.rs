//! `mgp status --watch`: how the kernel does, again and again: a screen for a person, a line for everybody else.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use mgp_types::mgp::{ServerId, Timestamp};
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::context::CommandContext;
use super::link::KernelLink;
use crate::admin::operation::KernelNeed;
use crate::admin::servers::CallCounts;
use crate::admin::status::{KernelStatus, ReadStatus};
use crate::record::PushLag;
use crate::state_folder::DiskSpace;
use crate::terminal::{Exit, Result, TextForm, TextWriter, printable};

/// Shows the kernel until it ends, or nobody reads any more.
pub(super) async fn run(cx: &CommandContext) -> Result {
    KernelLink::with(cx, KernelNeed::Running, async |link: &KernelLink| {
        let is_screen = io::stdout().is_terminal() && !cx.output.json;
        let mut before: Option<(Instant, HashMap<ServerId, CallCounts>)> = None;
        loop {
            let (status, now) = (link.ask(&ReadStatus {}).await?, Instant::now());
            let counts: HashMap<_, _> =
                status.servers.iter().map(|row| (row.id.clone(), row.calls.clone())).collect();
            let (then, old) = before.unwrap_or_else(|| (now, counts.clone()));
            let load = KernelLoad::of(&status, &counts, &old, now.duration_since(then));
            let text = if is_screen {
                // The cursor goes home, and what was there is erased.
                format!("\x1b[H\x1b[2J{}", TextWriter::text_of(&load))
            } else {
                load.line()
            };
            if !cx.output.lines([(&load, text)])? {
                return Ok(Exit::Done);
            }
            before = Some((now, counts));
            sleep(EVERY).await;
        }
    })
    .await
}

/// What a kernel does at one moment.
#[derive(Debug, Serialize)]
struct KernelLoad {
    time: Timestamp,
    /// The number of servers, by their state.
    states: BTreeMap<String, u64>,
    calls_per_second: f64,
    errors_per_second: f64,
    in_work: u64,
    pending: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    push: Option<PushLag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<DiskSpace>,
    servers: Vec<ServerLoad>,
}

/// What a server does at one moment.
#[derive(Debug, Serialize)]
struct ServerLoad {
    id: ServerId,
    state: &'static str,
    calls_per_second: f64,
    errors_per_second: f64,
    in_work: u64,
    restarts: u64,
}

impl KernelLoad {
    fn of(
        status: &KernelStatus,
        counts: &HashMap<ServerId, CallCounts>,
        old: &HashMap<ServerId, CallCounts>,
        span: Duration,
    ) -> Self {
        let mut states = BTreeMap::new();
        let servers: Vec<_> = status
            .servers
            .iter()
            .map(|row| {
                *states.entry(row.state_word().to_owned()).or_default() += 1;
                let before = old.get(&row.id).cloned().unwrap_or_default();
                ServerLoad {
                    id: row.id.clone(),
                    state: row.state_word(),
                    calls_per_second: rate(before.ended, row.calls.ended, span),
                    errors_per_second: rate(before.failed, row.calls.failed, span),
                    in_work: row.calls.in_work,
                    restarts: row.restarts,
                }
            })
            .collect();
        // Agents that have connections of their own have rows of their own, with the counts of the server.
        let sum = |all: &HashMap<ServerId, CallCounts>, of: fn(&CallCounts) -> u64| -> u64 {
            all.values().map(of).sum()
        };
        let per_second = |of: fn(&CallCounts) -> u64| rate(sum(old, of), sum(counts, of), span);
        Self {
            time: Timestamp::now(),
            states,
            calls_per_second: per_second(|calls| calls.ended),
            errors_per_second: per_second(|calls| calls.failed),
            in_work: sum(counts, |calls| calls.in_work),
            pending: status.pending,
            push: status.push,
            disk: status.disk,
            servers,
        }
    }

    fn line(&self) -> String {
        let states: Vec<_> = self.states.iter().map(|(state, number)| format!("{number} {state}")).collect();
        let mut parts = vec![
            self.time.to_string(),
            format!("servers {}", if states.is_empty() { "none".to_owned() } else { states.join(", ") }),
            format!("{:.1} calls/s, {:.1} errors/s", self.calls_per_second, self.errors_per_second),
            format!("{} in work", self.in_work),
            format!("{} questions wait", self.pending),
        ];
        let pushed = self.push.map(|lag| format!("{} events to push, for {} s", lag.events, lag.seconds));
        let disk = self.disk.map(|disk| format!("{} of {} MiB free", disk.free >> 20, disk.total >> 20));
        parts.extend(pushed.into_iter().chain(disk));
        parts.join("; ")
    }
}

impl TextForm for KernelLoad {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        writeln!(out, "{}\n", printable(&self.line()))?;
        let rows = self.servers.iter().map(|server| {
            [
                server.id.to_string(),
                server.state.to_owned(),
                format!("{:.1}", server.calls_per_second),
                format!("{:.1}", server.errors_per_second),
                server.in_work.to_string(),
                server.restarts.to_string(),
            ]
        });
        let headings = ["SERVER", "STATE", "CALLS/S", "ERRORS/S", "IN WORK", "RESTARTS"];
        out.table(&headings, rows, "no servers")
    }
}

/// Returns how much a counter grew in a second. One that begins anew counts from 0.
fn rate(before: u64, now: u64, span: Duration) -> f64 {
    let grown = u32::try_from(now.checked_sub(before).unwrap_or(now)).unwrap_or(u32::MAX);
    if span.is_zero() { 0.0 } else { f64::from(grown) / span.as_secs_f64() }
}

const EVERY: Duration = Duration::from_secs(2);
