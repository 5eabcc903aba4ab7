//! `mgp status --watch`: how the kernel does, again and again: a screen for a person, a line for everybody else.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use mgp_kernel_core::admin::servers::{CallCounts, ServerList};
use mgp_kernel_core::admin::status::{KernelStatus, ReadStatus};
use mgp_kernel_core::terminal::{Exit, Result, TextWriter, printable};
use mgp_types::mgp::Timestamp;
use tokio::time::{Instant, sleep};

use super::link::KernelLink;

/// Shows the kernel until it ends, or nobody reads any more.
pub(super) async fn run(link: &KernelLink) -> Result {
    let is_screen = io::stdout().is_terminal() && !link.output.json;
    let mut before: Option<(Instant, CallCounts)> = None;
    loop {
        let (mut status, now) = (link.ask(&ReadStatus {}).await?, Instant::now());
        let sums = sums(&status);
        let (then, earlier) = before.unwrap_or((now, sums));
        let mut text = printable(&load(&status, &sums, &earlier, now.duration_since(then)));
        if is_screen {
            let servers = ServerList { servers: std::mem::take(&mut status.servers), waiting: None };
            // The cursor goes home, and what was there is erased.
            text = format!("\x1b[H\x1b[2J{text}\n\n{}", TextWriter::text_of(&servers));
        }
        if !link.output.lines([(&status, text)])? {
            return Ok(Exit::Done);
        }
        before = Some((now, sums));
        sleep(EVERY).await;
    }
}

/// Returns the sums of the calls of all servers.
fn sums(status: &KernelStatus) -> CallCounts {
    // Agents that have connections of their own have rows of their own, with the counts of the server.
    let each: BTreeMap<_, _> = status.servers.iter().map(|row| (&row.id, &row.calls)).collect();
    each.values().fold(CallCounts::default(), |sums, calls| CallCounts {
        ended: sums.ended + calls.ended,
        failed: sums.failed + calls.failed,
        in_work: sums.in_work + calls.in_work,
        ..sums
    })
}

/// Returns the load of the kernel in a line, where so much time has passed since the `earlier` sums.
fn load(status: &KernelStatus, sums: &CallCounts, earlier: &CallCounts, passed: Duration) -> String {
    let mut servers = BTreeMap::<_, u64>::new();
    status.servers.iter().for_each(|row| *servers.entry(row.state_word()).or_default() += 1);
    let servers: Vec<_> = servers.iter().map(|(state, number)| format!("{number} {state}")).collect();
    let mut parts = vec![
        Timestamp::now().to_string(),
        format!("servers {}", if servers.is_empty() { "none".to_owned() } else { servers.join(", ") }),
        format!("{:.1} calls/s", rate(earlier.ended, sums.ended, passed)),
        format!("{:.1} errors/s", rate(earlier.failed, sums.failed, passed)),
        format!("{} in work", sums.in_work),
        format!("{} questions wait", status.pending),
    ];
    let pushed = status.push.map(|lag| format!("{} events to push, for {} s", lag.events, lag.seconds));
    let disk = status.disk.map(|disk| format!("{} of {} MiB free", disk.free >> 20, disk.total >> 20));
    parts.extend(pushed.into_iter().chain(disk));
    parts.join("; ")
}

/// Returns how much a counter grew in a second. One that begins anew counts from 0.
fn rate(before: u64, now: u64, passed: Duration) -> f64 {
    let grown = u32::try_from(now.checked_sub(before).unwrap_or(now)).unwrap_or(u32::MAX);
    if passed.is_zero() { 0.0 } else { f64::from(grown) / passed.as_secs_f64() }
}

const EVERY: Duration = Duration::from_secs(2);
