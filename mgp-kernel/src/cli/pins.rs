use std::io::Write as _;

use clap::{Args, Subcommand};
use mgp_types::mgp::{ServerId, ToolName};

use super::exit::{Exit, Failure};
use super::link::{Link, Need};
use super::output::{Output, printable};
use super::place::Place;
use crate::operator::method;
use crate::operator::page::Page;
use crate::operator::pins::{ApprovePin, ApprovedPin, ListPins, PinDiff, PinList, PinWord, PinnedTool};

#[derive(Debug, Subcommand)]
pub(super) enum Pin {
    /// List the tools of which a definition is known
    List(List),
    /// Show what changed in a definition since it was approved
    Diff(Tool),
    /// Approve the definition that waits
    Approve(Approve),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only this server's
    server: Option<String>,
    /// Only those that wait for approval
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
pub(super) struct Tool {
    /// The server
    server: String,
    /// The tool, by its server's name for it
    tool: String,
}

#[derive(Debug, Args)]
pub(super) struct Approve {
    #[command(flatten)]
    tool: Tool,
    /// Only if this is the definition that waits: its digest, as `mgp pin diff` shows it
    #[arg(long)]
    digest: Option<String>,
}

pub(super) async fn run(place: &Place, output: &Output, pin: Pin) -> Result<Exit, Failure> {
    let link = Link::open(place, Need::State).await?;
    let outcome = match pin {
        Pin::List(wanted) => list(&link, output, wanted).await,
        Pin::Diff(tool) => diff(&link, output, &tool).await,
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
        table.headings(&["SERVER", "TOOL", "STATE", "APPROVED", "WAITING"]);
        let short = |digest: &Option<String>| {
            digest.as_ref().map_or_else(|| "-".to_owned(), |digest| digest.chars().take(19).collect())
        };
        for row in &list.pins {
            table.row([
                row.server_id.to_string(),
                row.tool_name.to_string(),
                row.state.as_str().to_owned(),
                short(&row.approved),
                short(&row.waiting),
            ]);
        }
    })?;
    Ok(Exit::Done)
}

async fn diff(link: &Link, output: &Output, tool: &Tool) -> Result<Exit, Failure> {
    let diff: PinDiff = link.ask(method::PINS_DIFF, &tool.named()).await?;
    output.show(&diff, |diff, out| {
        match diff.state {
            PinWord::Approved => writeln!(out, "the definition is the approved one")?,
            PinWord::New => writeln!(out, "the tool is new: nothing was approved yet")?,
            PinWord::Changed => {}
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
    let PinnedTool { server_id, tool_name } = wanted.tool.named();
    let asked = ApprovePin { server_id, tool_name, digest: wanted.digest };
    let approved: ApprovedPin = link.ask(method::PINS_APPROVE, &asked).await?;
    output.show(&approved, |approved, out| writeln!(out, "approved {}", approved.digest))?;
    Ok(Exit::Done)
}

impl Tool {
    fn named(&self) -> PinnedTool {
        PinnedTool {
            server_id: ServerId::from(self.server.as_str()),
            tool_name: ToolName::new(self.tool.as_str()),
        }
    }
}
