use std::io::Write as _;

use clap::{Args, Subcommand};
use mgp_security::definition::DefinitionName;
use mgp_types::mgp::ServerId;

use super::exit::{Exit, Failure};
use super::link::{Link, Need};
use super::output::{Output, printable};
use super::place::Place;
use crate::operator::method;
use crate::operator::page::Page;
use crate::operator::pins::{ApprovePin, ApprovedPin, ListPins, PinDiff, PinList, PinWord, PinnedName};

#[derive(Debug, Subcommand)]
pub(super) enum Pin {
    /// List known definitions of tools, prompts and templates, and those that are refused
    List(List),
    /// Show the definition that waits for approval, or else the approved one
    Show(Named),
    /// Show what changed in a definition since it was approved
    Diff(Named),
    /// Approve the definition that waits
    Approve(Approve),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only this server's
    server: Option<String>,
    /// Only those that wait for approval or are refused
    #[arg(long)]
    waiting: bool,
    /// Begin behind so many
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// List so many at the most
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct Named {
    /// The server
    server: String,
    /// The name that the server has for it: TOOL, prompt:NAME, template:URI_TEMPLATE or resource:URI
    name: String,
}

#[derive(Debug, Args)]
pub(super) struct Approve {
    #[command(flatten)]
    named: Named,
    /// Only if this is the definition that waits: its digest, as `mgp pin diff` shows it
    #[arg(long)]
    digest: Option<String>,
}

pub(super) async fn run(place: &Place, output: &Output, pin: Pin) -> Result<Exit, Failure> {
    let link = Link::open(place, Need::State).await?;
    let outcome = match pin {
        Pin::List(wanted) => list(&link, output, wanted).await,
        Pin::Show(named) => show(&link, output, &named).await,
        Pin::Diff(named) => diff(&link, output, &named).await,
        Pin::Approve(wanted) => approve(&link, output, wanted).await,
    };
    link.close().await;
    outcome
}

async fn list(link: &Link, output: &Output, wanted: List) -> Result<Exit, Failure> {
    let asked = ListPins {
        server_id: wanted.server.as_deref().map(ServerId::from),
        waiting: wanted.waiting,
        page: Page { offset: wanted.offset, limit: wanted.limit },
    };
    let list: PinList = link.ask(method::PINS_LIST, &asked).await?;
    output.table(&list, "no definitions", |list, table| {
        table.headings(&["SERVER", "NAME", "STATE", "APPROVED", "WAITING"]);
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
            ]);
        }
    })?;
    Ok(Exit::Done)
}

async fn show(link: &Link, output: &Output, named: &Named) -> Result<Exit, Failure> {
    let diff: PinDiff = link.ask(method::PINS_DIFF, &named.named()).await?;
    output.show(&diff, |diff, out| {
        writeln!(out, "{}", diff.state.as_str())?;
        if let Some(refused) = &diff.refused {
            writeln!(out, "{}", printable(refused))?;
        }
        if let Some(definition) = &diff.definition {
            writeln!(out, "{}", printable(&String::from_utf8_lossy(definition.as_bytes())))?;
        }
        match &diff.waiting {
            Some(digest) => writeln!(out, "waiting: {digest}"),
            None => Ok(()),
        }
    })?;
    Ok(Exit::Done)
}

async fn diff(link: &Link, output: &Output, named: &Named) -> Result<Exit, Failure> {
    let diff: PinDiff = link.ask(method::PINS_DIFF, &named.named()).await?;
    output.show(&diff, |diff, out| {
        match diff.state {
            PinWord::Approved => writeln!(out, "the definition is the approved one")?,
            PinWord::New => writeln!(out, "it is new: nothing was approved yet; `mgp pin show` shows it")?,
            PinWord::Changed => {}
            PinWord::Refused => {
                let refused = diff.refused.as_deref().unwrap_or_default();
                writeln!(out, "the definition is refused: {}", printable(refused))?;
            }
        }
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
        match &diff.waiting {
            Some(digest) => writeln!(out, "waiting: {digest}"),
            None => Ok(()),
        }
    })?;
    Ok(Exit::Done)
}

async fn approve(link: &Link, output: &Output, wanted: Approve) -> Result<Exit, Failure> {
    let PinnedName { server_id, name } = wanted.named.named();
    let asked = ApprovePin { server_id, name, digest: wanted.digest };
    let approved: ApprovedPin = link.ask(method::PINS_APPROVE, &asked).await?;
    output.show(&approved, |approved, out| writeln!(out, "approved {}", approved.digest))?;
    Ok(Exit::Done)
}

impl Named {
    fn named(&self) -> PinnedName {
        PinnedName {
            server_id: ServerId::from(self.server.as_str()),
            name: DefinitionName::from(self.name.as_str()),
        }
    }
}
