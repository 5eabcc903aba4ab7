//! `mgp stats`: shows counters of calls, times, and the tokens that tool lists save.

use std::io;
use std::time::Duration;

use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::KernelLink;
use super::output::Output;
use super::table::Table;
use crate::operator::method;
use crate::operator::servers::ServersToBegin;
use crate::operator::stats::Stats;

pub(super) async fn run(place: &KernelLocation, output: &Output) -> Result<Exit, Failure> {
    let link = KernelLink::with_servers(place).await?;
    // What lists save follows from the tools of all servers.
    link.settled(output, &ServersToBegin::All).await?;
    let stats: Result<Stats, Failure> = link.ask(method::STATS, &()).await;
    link.close().await;
    output.show(&stats?, |stats, out| write(stats, out, output))
}

fn write(stats: &Stats, out: &mut Vec<u8>, output: &Output) -> io::Result<()> {
    let mut sums = Table::default();
    for (what, count) in [
        ("servers", stats.servers),
        ("tools", stats.tools),
        ("tokens of all definitions", stats.tool_tokens),
        ("tokens that are listed", stats.listed_tokens),
        ("tokens saved by each list", stats.saved_tokens),
        ("events in the record", stats.audit_events),
        ("questions that wait", stats.pending),
        ("seconds up", stats.uptime_secs),
    ] {
        sums.row([what.to_owned(), count.to_string()]);
    }
    sums.row(["level of the list".to_owned(), stats.level.to_string()]);
    sums.write(out, output)?;
    if stats.calls.is_empty() {
        return Ok(());
    }
    out.push(b'\n');
    let mut calls = Table::default();
    calls.headings(&["SERVER", "CALLS", "ERRORS", "IN WORK", "P50", "P95"]);
    for row in &stats.calls {
        calls.row([
            row.server_id.to_string(),
            row.calls.ended.to_string(),
            row.calls.failed.to_string(),
            row.calls.in_work.to_string(),
            time(row.calls.p50_micros),
            time(row.calls.p95_micros),
        ]);
    }
    calls.write(out, output)
}

/// Returns a time as text. Times are counted as upper bounds.
fn time(micros: Option<u64>) -> String {
    micros.map_or_else(|| "-".to_owned(), |micros| format!("{:?}", Duration::from_micros(micros)))
}
