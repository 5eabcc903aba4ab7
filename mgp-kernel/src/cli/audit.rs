//! `mgp audit`: shows, searches, exports and verifies the audit log.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use mgp_discovery::{AtomicFile, FileReaders};
use mgp_security::audit::DATA_FLOW;
use serde_json::json;

use super::context::CommandContext;
use super::link::{KernelLink, operate};
use crate::admin::audit::{EventRow, EventSelection, QueryEvents, VerifyLog, without_others};
use crate::admin::export::{ExportEvents, ExportFormat};
use crate::admin::operation::{KernelNeed, PageRequest};
use crate::terminal::{Exit, Failure, Result, TextForm};

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Show the last events
    Tail(AuditTailArgs),
    /// Search the audit log
    Query(QueryEvents),
    /// List the calls that may have carried out what their session took in before: private data, the words of others
    Flows(QueryEvents),
    /// Verify that nobody changed the audit log
    Verify(VerifyLog),
    /// Export the audit log
    Export(AuditExportArgs),
}

#[derive(Debug, Args)]
pub(super) struct AuditTailArgs {
    #[command(flatten)]
    events: EventSelection,
    /// The number of events
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    lines: u32,
    /// Print new events as they happen, until interrupted; with --json one object per line
    #[arg(short, long)]
    follow: bool,
}

#[derive(Debug, Args)]
pub(super) struct AuditExportArgs {
    #[command(flatten)]
    export: ExportEvents,
    /// The file to write; standard output if left out
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn run(cx: &CommandContext, audit: AuditCommand) -> Result {
    match audit {
        AuditCommand::Query(query) => operate(cx, query).await,
        AuditCommand::Flows(mut query) => {
            query.events.event_types = vec![DATA_FLOW.to_owned()];
            operate(cx, query).await
        }
        AuditCommand::Verify(verify) => operate(cx, verify).await,
        AuditCommand::Tail(wanted) => {
            KernelLink::with(cx, KernelNeed::State, async |link| tail(link, wanted).await).await
        }
        AuditCommand::Export(AuditExportArgs { export, out: None })
            if export.format == ExportFormat::Csv && cx.output.json =>
        {
            Err(Failure::usage("CSV cannot be printed as JSON")
                .hint("leave `--json` out, or name a file: `--out FILE`"))
        }
        AuditCommand::Export(wanted) => {
            KernelLink::with(cx, KernelNeed::State, async |link| export(link, wanted).await).await
        }
    }
}

async fn tail(link: &KernelLink, wanted: AuditTailArgs) -> Result {
    let AuditTailArgs { events, lines, follow } = wanted;
    let after = follow.then(BTreeMap::new);
    let mut query = QueryEvents { events, limit: Some(lines), after, ..QueryEvents::default() };
    let mut page = link.ask(&query).await?;
    page.events.reverse();
    if let Some(why) = &page.only_here {
        link.output.note(&without_others(why));
    }
    if !follow {
        return link.output.show(&page, TextForm::write);
    }
    if !link.is_to_running() && page.events.iter().all(|row| row.kernel.is_none()) {
        link.output.note("no kernel runs, so no events will follow");
    }
    (query.oldest_first, query.limit) = (true, Some(PageRequest::MAX_ITEMS));
    query.here = page.only_here.is_some();
    let print = |rows: &[EventRow]| link.output.lines(rows.iter().map(|row| (row, row.line())));
    let mut waiting = Vec::new();
    // An interruption while the kernel is asked counts, too.
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    while print(&page.events)? {
        query.after.get_or_insert_default().extend(page.ends);
        let goes_on = tokio::select! {
            _ = &mut interrupted => false,
            goes_on = link.output.follows() => goes_on,
        };
        if !goes_on {
            print(&waiting)?;
            break;
        }
        page = link.ask(&query).await?;
        page.events = due(&mut waiting, page.events);
    }
    Ok(Exit::Done)
}

/// Adds new events to those that are `waiting`, and takes out by time those that waited, with the new ones from before them: the
/// others may have to wait for an earlier event, which another kernel copies to the shared database in a moment.
fn due(waiting: &mut Vec<EventRow>, new: Vec<EventRow>) -> Vec<EventRow> {
    let newest = waiting.last().map(EventRow::time);
    waiting.extend(new);
    waiting.sort_by_cached_key(EventRow::time);
    let due = waiting.partition_point(|row| row.kernel.is_none() || Some(row.time()) <= newest);
    waiting.drain(..due).collect()
}

async fn export(link: &KernelLink, wanted: AuditExportArgs) -> Result {
    let unwritten = |error: io::Error| Failure::usage(format!("the export cannot be written: {error}"));
    let file = wanted.out.as_deref().map(|out| AtomicFile::at(out, FileReaders::Owner));
    let mut file = file.transpose().map_err(unwritten)?;
    let mut asked = wanted.export;
    let (mut events, mut only_here) = (0, None);
    loop {
        let page = link.ask(&asked).await?;
        match &mut file {
            Some(file) => file.write(page.text.as_bytes()).map_err(unwritten)?,
            None if !link.output.write(page.text.as_bytes())? => return Ok(Exit::Done),
            None => {}
        }
        events += page.events;
        only_here = only_here.or(page.only_here);
        let Some(behind) = page.next_behind else { break };
        asked.behind = behind;
    }
    if let (Some(file), Some(out)) = (file, &wanted.out) {
        file.finish().map_err(unwritten)?;
        let file = out.display().to_string();
        link.output.show(&json!({ "events": events, "file": file }), |_, _| Ok(()))?;
    }
    if let Some(why) = only_here {
        link.output.warning(&without_others(&why));
    }
    link.output.note(&format!("{events} events"));
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(seconds: &[u32], kernel: Option<&str>) -> Vec<EventRow> {
        let row = |second: &u32| {
            let event = json!({
                "timestamp": format!("2026-01-01T00:00:{second:02}.000Z"),
                "trace_id": "00000000-0000-0000-0000-000000000007",
                "event_type": "X",
                "actor": {"type": "agent", "id": "ada"},
                "target": {"server_id": "files"},
                "result": "SUCCESS",
                "details": {},
            });
            let row = json!({"kernel": kernel, "seq": second, "hash": "", "event": event});
            serde_json::from_str(&row.to_string()).unwrap()
        };
        seconds.iter().map(row).collect()
    }

    #[test]
    fn events_of_several_kernels_come_by_time_though_one_copies_them_later_and_none_is_kept_for_long() {
        let mut waiting = Vec::new();
        let mut look =
            |new: Vec<EventRow>| -> Vec<u64> { due(&mut waiting, new).iter().map(|row| row.seq).collect() };
        assert!(look(rows(&[2, 4], Some("one"))).is_empty());
        assert_eq!(look(rows(&[3, 5], Some("other"))), [2, 3, 4]);
        assert_eq!(look(rows(&[1], Some("late"))), [1, 5]);
        assert!(look(Vec::new()).is_empty());
    }

    #[test]
    fn events_of_a_kernel_alone_wait_for_nothing() {
        let mut waiting = Vec::new();
        assert_eq!(due(&mut waiting, rows(&[1, 2], None)).len(), 2);
        assert!(waiting.is_empty());
    }
}
