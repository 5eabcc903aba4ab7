//! `mgp pin`: shows and approves definitions of tools, prompts and templates.

use std::io::{self, Write as _};

use clap::{Args, Subcommand};
use mgp_security::definition::DefinitionName;
use mgp_types::mgp::ServerId;

use super::approving::{self, PinApproveArgs};
use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::KernelLink;
use super::output::{Output, printable};
use super::spec;
use super::table::Table;
use crate::operator::method;
use crate::operator::page::PageRequest;
use crate::operator::pins::{ListPins, PinDiff, PinList, PinRow, PinStatus, PinnedName};
use crate::operator::servers::ServersToBegin;

#[derive(Debug, Subcommand)]
pub(super) enum PinCommand {
    /// List the known definitions of tools, prompts and templates, and those that are refused
    List(PinListArgs),
    /// Show the definition that waits for approval, or else the approved definition
    Show(PinNameArgs),
    /// Show what changed in a definition since it was approved
    Diff(PinNameArgs),
    /// Approve a definition that is held or flagged, or all those of a server
    Approve(PinApproveArgs),
}

#[derive(Debug, Args)]
pub(super) struct PinListArgs {
    /// List the definitions of this server only
    server: Option<String>,
    /// List the definitions that are held or flagged only
    #[arg(long)]
    waiting: bool,
    /// Skip the first N definitions
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// List at most N definitions
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct PinNameArgs {
    /// The id of the server
    server: String,
    /// The definition, as its server names it: TOOL, prompt:NAME, template:URI_TEMPLATE, resource:URI
    /// or text:instructions
    name: String,
}

pub(super) async fn run(place: &KernelLocation, output: &Output, pin: PinCommand) -> Result<Exit, Failure> {
    // Findings in definitions are known only for servers that have listed them, so the servers have to run.
    let link = KernelLink::with_servers(place).await?;
    let named = match &pin {
        PinCommand::List(list) => list.server.as_deref(),
        PinCommand::Show(named) | PinCommand::Diff(named) => Some(&*named.server),
        PinCommand::Approve(approve) => approve.server.as_deref(),
    };
    let wanted = named.map_or(ServersToBegin::All, |id| ServersToBegin::Only(vec![id.into()]));
    link.settled(output, &wanted).await?;
    let outcome = match pin {
        PinCommand::List(wanted) => list(&link, output, wanted).await,
        PinCommand::Show(named) => show(&link, output, &named).await,
        PinCommand::Diff(named) => diff(&link, output, &named).await,
        PinCommand::Approve(wanted) => approving::run(&link, output, wanted).await,
    };
    link.close().await;
    outcome
}

async fn list(link: &KernelLink, output: &Output, wanted: PinListArgs) -> Result<Exit, Failure> {
    let asked = ListPins {
        server_id: wanted.server.as_deref().map(ServerId::from),
        waiting: wanted.waiting,
        page: PageRequest { offset: wanted.offset, limit: wanted.limit },
    };
    let list: PinList = link.ask(method::PINS_LIST, &asked).await?;
    let told = |list: &PinList, out: &mut Vec<u8>| {
        for row in &list.pins {
            let Some(standing) = &row.standing else { continue };
            writeln!(out, "\n{}", printable(&standing.sentence(&row.server_id, &row.name)))?;
            writeln!(out, "    {}", printable(&standing.way))?;
        }
        Ok(())
    };
    let rows = |list: &PinList, table: &mut Table| {
        table.headings(&["SERVER", "NAME", "STATE", "APPROVED", "WAITING", "MARK"]);
        let short = |digest: &Option<String>| {
            digest.as_ref().map_or_else(|| "-".to_owned(), |digest| digest.chars().take(19).collect())
        };
        for row in &list.pins {
            table.row([
                row.server_id.to_string(),
                row.name.to_string(),
                row.state.as_str().to_owned(),
                short(&row.approved),
                short(&row.waiting),
                row.standing.as_ref().map_or_else(|| "-".to_owned(), |standing| standing.is.clone()),
            ]);
        }
    };
    output.table_with(&list, "no definitions", rows, told)
}

async fn show(link: &KernelLink, output: &Output, named: &PinNameArgs) -> Result<Exit, Failure> {
    let diff: PinDiff = link.ask(method::PINS_DIFF, &named.named()).await?;
    output.show(&diff, |diff, out| {
        writeln!(out, "{}", diff.state.as_str())?;
        write_standing(out, diff)?;
        if let Some(definition) = &diff.definition {
            writeln!(out, "{}", printable(&String::from_utf8_lossy(definition.as_bytes())))?;
        }
        match &diff.waiting {
            Some(digest) => writeln!(out, "waiting: {digest}"),
            None => Ok(()),
        }
    })
}

async fn diff(link: &KernelLink, output: &Output, named: &PinNameArgs) -> Result<Exit, Failure> {
    let diff: PinDiff = link.ask(method::PINS_DIFF, &named.named()).await?;
    output.show(&diff, |diff, out| {
        match diff.state {
            PinStatus::Approved => writeln!(out, "the definition is the approved one")?,
            PinStatus::New => {
                writeln!(
                    out,
                    "the definition is new, and none was approved before; `mgp pin show` shows it"
                )?;
            }
            PinStatus::Changed | PinStatus::Refused => {}
        }
        write_changes(out, diff)?;
        write_standing(out, diff)?;
        match &diff.waiting {
            Some(digest) => writeln!(out, "waiting: {digest}"),
            None => Ok(()),
        }
    })
}

/// Returns all pins, or those of one server; with `waiting`, only those that are held or flagged.
pub(super) async fn pins(
    link: &KernelLink,
    server: Option<&str>,
    waiting: bool,
) -> Result<Vec<PinRow>, Failure> {
    let (mut all, mut next) = (Vec::new(), Some(0));
    while let Some(offset) = next {
        let page = PageRequest { offset, limit: None };
        let asked = ListPins { server_id: server.map(ServerId::from), waiting, page };
        let list: PinList = link.ask(method::PINS_LIST, &asked).await?;
        all.extend(list.pins);
        next = list.next_offset;
    }
    Ok(all)
}

/// Writes what changed in a definition since it was approved, and what each change means for those who call the tool.
pub(super) fn write_changes(out: &mut Vec<u8>, diff: &PinDiff) -> io::Result<()> {
    for change in &diff.changes {
        writeln!(out, "{}", printable(&change.at))?;
        for (sign, text) in [('-', &change.before), ('+', &change.after)] {
            if let Some(text) = text {
                writeln!(out, "  {sign} {}", printable(text))?;
            }
        }
    }
    if diff.omitted > 0 {
        writeln!(out, "and {} more", diff.omitted)?;
    }
    diff.interface.iter().try_for_each(|change| spec::write_change(out, change))
}

/// Writes why a definition is held or flagged, and how to change that.
fn write_standing(out: &mut Vec<u8>, diff: &PinDiff) -> io::Result<()> {
    let Some(standing) = &diff.standing else { return Ok(()) };
    writeln!(out, "{}", printable(&standing.sentence(&diff.server_id, &diff.name)))?;
    writeln!(out, "{}", printable(&standing.way))
}

impl PinNameArgs {
    fn named(&self) -> PinnedName {
        PinnedName {
            server_id: ServerId::from(self.server.as_str()),
            name: DefinitionName::from(self.name.as_str()),
        }
    }
}
