//! `mgp audit`: shows, searches, exports and verifies the audit log.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use mgp_discovery::{AtomicFile, FileReaders};
use mgp_types::mgp::{AgentId, AuditEvent, Outcome, ServerId, Timestamp, ToolName, TraceId};
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::{KernelLink, KernelNeed};
use super::moment::{Moment, moment};
use super::output::{Output, OutputReader, printable};
use crate::operator::audit::{
    EventPage, EventRow, EventSelection, ExportEvents, ExportFormat, ExportPage, LogEnd, QueryEvents,
    VerifiedLog, VerifyLog,
};
use crate::operator::method;

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Show the last events
    Tail(AuditTailArgs),
    /// Search the audit log
    Query(AuditQueryArgs),
    /// Verify that nobody changed the audit log
    Verify(AuditVerifyArgs),
    /// Export the audit log
    Export(AuditExportArgs),
}

/// The filter of events.
#[derive(Debug, Args)]
pub(super) struct AuditFilterArgs {
    /// Events of this type, such as TOOL_BLOCKED; repeat for more
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Events of this agent
    #[arg(long)]
    agent: Option<String>,
    /// Events of this server
    #[arg(long)]
    server: Option<String>,
    /// Events with this result: success, failure, blocked
    #[arg(long, value_parser = outcome)]
    result: Option<Outcome>,
    /// Events from here on: a time, or a span such as 2h
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    since: Option<Moment>,
    /// Events up to here: a time, or a span such as 2h
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    until: Option<Moment>,
    /// Events of this trace, that is, of one chain of requests
    #[arg(long, value_name = "ID")]
    trace: Option<TraceId>,
}

#[derive(Debug, Args)]
pub(super) struct AuditTailArgs {
    #[command(flatten)]
    filter: AuditFilterArgs,
    /// The number of events
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    lines: u32,
    /// Print new events as they happen, until interrupted; with --json one object per line
    #[arg(short, long)]
    follow: bool,
}

#[derive(Debug, Args)]
pub(super) struct AuditQueryArgs {
    #[command(flatten)]
    filter: AuditFilterArgs,
    /// List the oldest events first
    #[arg(long)]
    oldest_first: bool,
    /// Begin after the event with this number
    #[arg(long, value_name = "SEQ")]
    behind: Option<u64>,
    /// List at most N events
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
}

#[derive(Debug, Args)]
pub(super) struct AuditVerifyArgs {
    /// An end of the audit log that was kept elsewhere, as SEQ:HASH; repeat for more
    #[arg(long, value_name = "SEQ:HASH", value_parser = end)]
    known: Vec<LogEnd>,
}

#[derive(Debug, Args)]
pub(super) struct AuditExportArgs {
    #[command(flatten)]
    filter: AuditFilterArgs,
    /// The format of the export
    #[arg(long, value_enum, default_value_t = AuditExportFormat::Jsonl)]
    format: AuditExportFormat,
    /// The file to write; standard output if left out
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The formats of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum AuditExportFormat {
    /// Writes each event as a line of JSON, with its number and hash
    Jsonl,
    /// A table for spreadsheets
    Csv,
}

/// The result of an export to a file.
#[derive(Debug, Serialize)]
struct Exported<'a> {
    events: u64,
    file: &'a Path,
}

pub(super) async fn run(
    place: &KernelLocation,
    output: &Output,
    audit: AuditCommand,
) -> Result<Exit, Failure> {
    if let AuditCommand::Export(AuditExportArgs { format: AuditExportFormat::Csv, out: None, .. }) = &audit
        && output.is_json()
    {
        return Err(Failure::usage("CSV cannot be printed as JSON")
            .hint("leave `--json` out, or name a file: `--out FILE`"));
    }
    let link = KernelLink::open(place, KernelNeed::State).await?;
    let outcome = match audit {
        AuditCommand::Tail(wanted) => tail(&link, output, wanted).await,
        AuditCommand::Query(wanted) => query(&link, output, wanted).await,
        AuditCommand::Verify(wanted) => verify(&link, output, wanted).await,
        AuditCommand::Export(wanted) => export(&link, output, wanted).await,
    };
    link.close().await;
    outcome
}

async fn tail(link: &KernelLink, output: &Output, wanted: AuditTailArgs) -> Result<Exit, Failure> {
    let events = wanted.filter.events();
    let newest = QueryEvents { events: events.clone(), limit: Some(wanted.lines), ..QueryEvents::default() };
    let mut page: EventPage = link.ask(method::AUDIT_QUERY, &newest).await?;
    page.events.reverse();
    if !wanted.follow {
        return shown(output, &page);
    }
    let mut behind = match page.events.last() {
        Some(last) => last.seq,
        None => link.ask::<LogEnd>(method::AUDIT_HEAD, &()).await?.seq,
    };
    if !link.running {
        output.note("no kernel runs, so no events will follow");
    }
    let unread = output.unread();
    tokio::pin!(unread);
    loop {
        let mut lines = Vec::new();
        for row in &page.events {
            if output.is_json() {
                serde_json::to_writer(&mut lines, row).map_err(|error| Failure::usage(error.to_string()))?;
                lines.push(b'\n');
            } else {
                write_event(row, &mut lines).map_err(|error| Failure::usage(error.to_string()))?;
            }
            behind = row.seq;
        }
        if output.write(&lines)? == OutputReader::Gone {
            return Ok(Exit::Done);
        }
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Done),
            () = &mut unread => return Ok(Exit::Done),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        let next = QueryEvents {
            events: events.clone(),
            oldest_first: true,
            behind: Some(behind),
            limit: Some(crate::operator::page::MOST),
        };
        page = link.ask(method::AUDIT_QUERY, &next).await?;
    }
}

async fn query(link: &KernelLink, output: &Output, wanted: AuditQueryArgs) -> Result<Exit, Failure> {
    let query = QueryEvents {
        events: wanted.filter.events(),
        oldest_first: wanted.oldest_first,
        behind: wanted.behind,
        limit: Some(wanted.limit),
    };
    let page: EventPage = link.ask(method::AUDIT_QUERY, &query).await?;
    shown(output, &page)?;
    if let Some(behind) = page.next_behind {
        output.note(&format!("there may be more events: `--behind {behind}` continues"));
    }
    Ok(Exit::Done)
}

/// Verifies the audit log. The command ends with 5 if the log was changed.
async fn verify(link: &KernelLink, output: &Output, wanted: AuditVerifyArgs) -> Result<Exit, Failure> {
    let verified: VerifiedLog = link.ask(method::AUDIT_VERIFY, &VerifyLog { known: wanted.known }).await?;
    output.show(&verified, |verified, out| match (&verified.head, verified.changed_at) {
        (Some(head), _) => {
            writeln!(out, "intact: {} events", verified.events.unwrap_or_default())?;
            writeln!(out, "head {}:{}", head.seq, head.hash)
        }
        (None, at) => {
            let flaw = verified.flaw.as_deref().unwrap_or_default();
            writeln!(out, "changed at event {}: {flaw}", at.unwrap_or_default())
        }
    })?;
    Ok(if verified.intact { Exit::Done } else { Exit::Tool })
}

async fn export(link: &KernelLink, output: &Output, wanted: AuditExportArgs) -> Result<Exit, Failure> {
    let unwritten = |error: io::Error| Failure::usage(format!("the export cannot be written: {error}"));
    let mut file = wanted
        .out
        .as_deref()
        .map(|out| AtomicFile::at(out, FileReaders::Owner))
        .transpose()
        .map_err(unwritten)?;
    let format = match wanted.format {
        AuditExportFormat::Jsonl => ExportFormat::Jsonl,
        AuditExportFormat::Csv => ExportFormat::Csv,
    };
    let mut asked = ExportEvents { events: wanted.filter.events(), format, behind: 0 };
    let mut events = 0;
    loop {
        let page: ExportPage = link.ask(method::AUDIT_EXPORT, &asked).await?;
        match &mut file {
            Some(file) => file.write(page.text.as_bytes()).map_err(unwritten)?,
            None if output.write(page.text.as_bytes())? == OutputReader::Gone => return Ok(Exit::Done),
            None => {}
        }
        events += page.events;
        match page.next_behind {
            Some(behind) => asked.behind = behind,
            None => break,
        }
    }
    if let (Some(file), Some(out)) = (file, &wanted.out) {
        file.finish().map_err(unwritten)?;
        output.show(&Exported { events, file: out }, |_, _| Ok(()))?;
    }
    output.note(&format!("{events} events"));
    Ok(Exit::Done)
}

fn shown(output: &Output, page: &EventPage) -> Result<Exit, Failure> {
    output.show(page, |page, out| page.events.iter().try_for_each(|row| write_event(row, out)))
}

fn write_event(row: &EventRow, out: &mut Vec<u8>) -> io::Result<()> {
    let Ok(event) = row.event.to::<AuditEvent>() else {
        return writeln!(out, "{}  is no event", row.seq);
    };
    let server = event.target.server_id.as_ref().map_or("", ServerId::as_str);
    let tool = event.target.tool_name.as_ref().map_or("", ToolName::as_str);
    let mut target = [server, tool].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
    for (name, value) in &event.target.arguments {
        target = format!("{target}  {name}={value}");
    }
    let (actor, target) = (printable(&event.actor.id), printable(&target));
    let (kind, result) = (printable(event.event_type.as_str()), event.result.as_str());
    writeln!(out, "{}  {}  {kind}  {result}  {actor}  {target}", row.seq, event.timestamp)
}

impl AuditFilterArgs {
    fn events(&self) -> EventSelection {
        let now = Timestamp::now();
        EventSelection {
            event_types: self.types.clone(),
            agent_id: self.agent.as_deref().map(AgentId::from),
            server_id: self.server.as_deref().map(ServerId::from),
            result: self.result,
            since: self.since.map(|since| since.ago(now)),
            until: self.until.map(|until| until.ago(now)),
            trace_id: self.trace,
        }
    }
}

fn outcome(word: &str) -> Result<Outcome, String> {
    Outcome::read(word).ok_or_else(|| format!("`{word}` is not a result: write success, failure or blocked"))
}

fn end(text: &str) -> Result<LogEnd, String> {
    let parts = text.split_once(':').and_then(|(seq, hash)| Some((seq.parse().ok()?, hash.to_owned())));
    parts.map(|(seq, hash)| LogEnd { seq, hash }).ok_or_else(|| {
        format!("`{text}` is not an end of the audit log: write SEQ:HASH, as `mgp audit verify` prints it")
    })
}

/// The time between two queries for new events with `--follow`.
const LOOK_EVERY: Duration = Duration::from_millis(500);
