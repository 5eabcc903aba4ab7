//! `mgp pin`: shows and approves definitions of tools, prompts and templates.

use std::io::{self, Write as _};

use clap::{Args, Subcommand};
use mgp_kernel_core::admin::definition_status::ShownDefinitionStatus;
use mgp_kernel_core::admin::operation::{KernelNeed, Operation as _};
use mgp_kernel_core::admin::pins::{ApprovePin, ListPins, PinDiff, PinRow, PinnedName};
use mgp_kernel_core::terminal::{Exit, Failure, Result, printable};
use mgp_security::definition::DefinitionName;
use mgp_types::mgp::ServerId;
use serde_json::json;

use super::context::CommandContext;
use super::input::{agrees, is_person_there};
use super::link::{KernelLink, operate};

#[derive(Debug, Subcommand)]
pub(super) enum PinCommand {
    /// List the known definitions of tools, prompts and templates, and those that are refused
    List(ListPins),
    /// Show the definition that waits for approval, or else the approved definition
    Show(PinnedName),
    /// Show what changed in a definition since it was approved
    Diff(PinnedName),
    /// Approve a definition that is held or flagged, or all those of a server
    Approve(PinApproveArgs),
}

#[derive(Debug, Args)]
pub(super) struct PinApproveArgs {
    /// The id of the server
    #[arg(required_unless_present = "since_config")]
    server: Option<ServerId>,
    /// The definition, as its server names it: TOOL, prompt:NAME, template:URI_TEMPLATE, resource:URI
    /// or text:instructions; all definitions that are held or flagged if left out
    name: Option<DefinitionName>,
    /// Approve only the definition with this digest, as `mgp pin diff` shows it
    #[arg(long, requires = "name")]
    digest: Option<String>,
    /// Approve the definition with its lists in any order and any figures, for a server that writes them anew at each
    /// start
    #[arg(long, requires = "name", conflicts_with = "digest")]
    any_order: bool,
    /// Approve all definitions that changed since the configuration of their server changed
    #[arg(long, conflicts_with = "name")]
    since_config: bool,
    /// Approve without asking
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn run(cx: &CommandContext, pin: PinCommand) -> Result {
    match pin {
        PinCommand::List(list) => operate(cx, list).await,
        PinCommand::Diff(named) => operate(cx, named).await,
        PinCommand::Show(named) => {
            let diff = KernelLink::with(cx, named.need(), async |link| link.ask(&named).await).await?;
            cx.output.show(&diff, PinDiff::write_definition)
        }
        PinCommand::Approve(wanted) => {
            let need = KernelNeed::of_server(wanted.server.as_ref());
            KernelLink::with(cx, need, async |link| approve(link, wanted).await).await
        }
    }
}

/// Returns all pins, or those of one server; with `waiting`, only those that are held or flagged.
pub(super) async fn pins(link: &KernelLink, server: Option<&ServerId>, waiting: bool) -> Result<Vec<PinRow>> {
    let list = |page| ListPins { server_id: server.cloned(), waiting, page };
    link.all(list, |list| (list.pins, list.next_offset)).await
}

async fn approve(link: &KernelLink, wanted: PinApproveArgs) -> Result {
    let (Some(server_id), Some(name)) = (&wanted.server, &wanted.name) else {
        return several(link, &wanted).await;
    };
    let named = PinnedName { server_id: server_id.clone(), name: name.clone() };
    let diff = link.ask(&named).await?;
    let mut approve = approval(&diff);
    approve.any_order = wanted.any_order;
    let standing = diff.row.standing.as_ref();
    // Whatever was found in a definition that is held is shown to the operator who approves it.
    let is_shown =
        |held: &ShownDefinitionStatus| held.is_held() && !held.rules.is_empty() && held.is_approvable;
    if standing.is_some_and(is_shown) {
        let mut shown = Vec::new();
        // Writing into memory does not fail.
        let _ = diff.write_findings(&mut shown);
        agreed(&shown, "approve this definition anyway?", wanted.yes).await?;
    } else {
        // Without a digest on the command line, the kernel approves the definition that waits.
        approve.digest = None;
    }
    approve.digest = wanted.digest.or(approve.digest);
    link.output.result(&link.ask(&approve).await?)
}

async fn several(link: &KernelLink, wanted: &PinApproveArgs) -> Result {
    let rows = pins(link, wanted.server.as_ref(), true).await?;
    let is_meant = |row: &PinRow| {
        !wanted.since_config || row.standing.as_ref().is_some_and(|standing| standing.since_config)
    };
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    for row in rows.into_iter().filter(is_meant) {
        let PinRow { server_id, name, standing, .. } = row;
        let named = PinnedName { server_id, name };
        match standing {
            Some(standing) if standing.is_approvable => taken.push(link.ask(&named).await?),
            standing => left.push((named, standing.map(|it| it.reason).unwrap_or_default())),
        }
    }
    if taken.is_empty() && left.is_empty() {
        return Err(nothing(link, wanted).await?);
    }
    if !taken.is_empty() {
        let mut shown = Vec::new();
        let _ = taken.iter().try_for_each(|diff| diff.write_findings(&mut shown));
        let question = match taken.len() {
            1 => "approve this definition?".to_owned(),
            number => format!("approve these {number} definitions?"),
        };
        agreed(&shown, &question, wanted.yes).await?;
    }
    let mut approved = Vec::new();
    for diff in &taken {
        let named = PinnedName { server_id: diff.row.server_id.clone(), name: diff.row.name.clone() };
        // The request carries the digest that was shown, so that a definition that changed since then is not approved.
        match link.ask(&approval(diff)).await {
            Ok(_) => approved.push(named),
            Err(failure) if failure.exit == Exit::Auth => return Err(failure),
            Err(failure) => left.push((named, failure.message().to_owned())),
        }
    }
    // Those that are left need a decision of their own or a correction by their server, or their approval failed.
    let unapproved = left.iter().map(
        |(PinnedName { server_id, name }, why)| json!({ "server_id": server_id, "name": name, "why": why }),
    );
    let outcome = json!({ "approved": approved, "left": unapproved.collect::<Vec<_>>() });
    link.output.show(&outcome, |_, out| {
        for PinnedName { server_id, name } in &approved {
            writeln!(out, "approved {} of {server_id}", printable(&name.to_string()))?;
        }
        left.iter().try_for_each(|(PinnedName { server_id, name }, why)| {
            let name = printable(&name.to_string());
            writeln!(out, "did not approve {name} of {server_id}: {}", printable(why))
        })
    })?;
    Ok(if left.is_empty() { Exit::Done } else { Exit::Tool })
}

/// Returns the request that approves exactly the definition in `diff`, despite the rules that hold or flag it.
fn approval(diff: &PinDiff) -> ApprovePin {
    ApprovePin {
        server_id: diff.row.server_id.clone(),
        name: diff.row.name.clone(),
        digest: diff.row.waiting.clone(),
        despite: diff.row.standing.as_ref().map(|standing| standing.rules.clone()).unwrap_or_default(),
        any_order: false,
    }
}

/// Returns the failure that says why there is nothing to approve.
async fn nothing(link: &KernelLink, wanted: &PinApproveArgs) -> Result<Failure> {
    let server = wanted.server.as_ref();
    let whose = server.map(|server| format!(" of `{server}`")).unwrap_or_default();
    if wanted.since_config {
        let message = format!("no definition{whose} changed with the configuration of its server");
        let hint = "`mgp pin list --waiting` shows what is held for other reasons";
        return Ok(Failure::usage(message).hint(hint));
    }
    let is_known = !pins(link, server, false).await?.is_empty();
    let hint = if is_known { "nothing has to be approved" } else { "`mgp servers` shows the servers" };
    Ok(Failure::usage(format!("no definition{whose} is held or flagged")).hint(hint))
}

/// Shows the definitions to be approved, and asks a person to confirm.
///
/// # Errors
/// The person does not agree, or there is no terminal to ask at.
async fn agreed(shown: &[u8], question: &str, yes: bool) -> Result<()> {
    // The definitions appear on standard error even if `--yes` skips the question.
    io::stderr().write_all(shown).map_err(Failure::with_error("the question cannot be asked"))?;
    if yes {
        return Ok(());
    }
    if !is_person_there() {
        return Err(Failure::usage("nothing was approved: there is no terminal to ask for confirmation")
            .hint("`--yes` approves without asking"));
    }
    if agrees(question).await? { Ok(()) } else { Err(Failure::usage("nothing was approved")) }
}
