//! `mgp audit`: shows, searches, exports and verifies the audit log.

use std::io;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use mgp_discovery::{AtomicFile, FileReaders};
use mgp_kernel_core::admin::audit::{EventSelection, QueryEvents, ReadLogEnd, VerifyLog, without_others};
use mgp_kernel_core::admin::export::{ExportEvents, ExportFormat};
use mgp_kernel_core::admin::operation::{KernelNeed, PageRequest};
use mgp_kernel_core::terminal::{Exit, Failure, Result, TextForm};
use mgp_security::audit::DATA_FLOW;
use serde_json::json;

use super::context::CommandContext;
use super::link::{KernelLink, operate};

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Show the last events
    Tail(AuditTailArgs),
    /// Search the audit log
    Query(QueryEvents),
    /// List the calls that may have carried out what their agent took in before: private data, the words of others
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
    /// Print new events of this kernel as they happen, until interrupted; with --json one object per line
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
    // Events of other kernels come late, with times of long ago, so only this kernel's can be followed.
    let newest =
        QueryEvents { events: events.clone(), limit: Some(lines), here: follow, ..QueryEvents::default() };
    let mut page = link.ask(&newest).await?;
    page.events.reverse();
    if !follow {
        if let Some(why) = &page.only_here {
            link.output.note(&without_others(why));
        }
        return link.output.show(&page, TextForm::write);
    }
    let mut behind = match page.events.last() {
        Some(last) => last.seq,
        None => link.ask(&ReadLogEnd {}).await?.seq,
    };
    if !link.is_to_running() {
        link.output.note("no kernel runs, so no events will follow");
    }
    loop {
        let rows = page.events.iter().map(|row| (row, row.line()));
        behind = page.events.last().map_or(behind, |last| last.seq);
        if !link.output.lines(rows)? || !link.output.follows().await {
            return Ok(Exit::Done);
        }
        let next = QueryEvents {
            events: events.clone(),
            oldest_first: true,
            behind: Some(behind),
            limit: Some(PageRequest::MAX_ITEMS),
            here: true,
        };
        page = link.ask(&next).await?;
    }
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
    if let Some(why) = &only_here {
        link.output.warning(&without_others(why));
    }
    link.output.note(&format!("{events} events"));
    Ok(Exit::Done)
}
