//! `mgp registrations`: lists, approves and removes servers that agents registered.

use std::io::Write as _;

use clap::{Args, Subcommand};
use mgp_types::mgp::{Permission, ServerId};

use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::{KernelLink, KernelNeed};
use super::output::{Output, printable};
use crate::operator::method;
use crate::operator::page::PageRequest;
use crate::operator::registrations::{
    ApprovedRegistration, ListRegistrations, NamedRegistration, RegistrationPage as RegistrationList,
    RegistrationRow, RegistrationStatus,
};

#[derive(Debug, Subcommand)]
pub(super) enum RegistrationsCommand {
    /// List the servers that were registered while the kernel ran
    List(RegistrationListArgs),
    /// Approve a server that waits for approval, and start it in the running kernel
    Approve(RegistrationArgs),
    /// Remove a server that waits for approval
    Deny(RegistrationArgs),
    /// Keep a server after the session that registered it ends
    Keep(RegistrationArgs),
}

#[derive(Debug, Args)]
pub(super) struct RegistrationListArgs {
    /// List the servers that wait for approval only
    #[arg(long)]
    waiting: bool,
    /// Skip the first N servers
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// List at most N servers
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct RegistrationArgs {
    /// The id under which the server was registered
    id: String,
}

pub(super) async fn run(
    place: &KernelLocation,
    output: &Output,
    command: RegistrationsCommand,
) -> Result<Exit, Failure> {
    let link = match command {
        // An approved server is started, and a server that lives as long as a session is known only to the running
        // kernel.
        RegistrationsCommand::Approve(_) | RegistrationsCommand::Keep(_) => KernelLink::needed(place).await?,
        RegistrationsCommand::List(_) | RegistrationsCommand::Deny(_) => {
            KernelLink::open(place, KernelNeed::State).await?
        }
    };
    let outcome = match command {
        RegistrationsCommand::List(wanted) => list(&link, output, &wanted).await,
        RegistrationsCommand::Approve(named) => approve(&link, output, &named).await,
        RegistrationsCommand::Deny(named) => {
            decide(&link, output, method::REGISTRATIONS_DENY, &named, "is removed").await
        }
        RegistrationsCommand::Keep(named) => {
            decide(&link, output, method::REGISTRATIONS_KEEP, &named, "stays").await
        }
    };
    link.close().await;
    outcome
}

async fn list(link: &KernelLink, output: &Output, wanted: &RegistrationListArgs) -> Result<Exit, Failure> {
    let page = PageRequest { offset: wanted.offset, limit: wanted.limit };
    let asked = ListRegistrations { waiting: wanted.waiting, page };
    let list: RegistrationList = link.ask(method::REGISTRATIONS_LIST, &asked).await?;
    output.show(&list, |list, out| {
        for row in &list.registrations {
            shown(row, out)?;
        }
        if list.registrations.is_empty() {
            writeln!(out, "no server was registered")?;
        }
        Ok(())
    })
}

/// Writes everything on which the decision about a server depends. Nothing is cut, because nothing may be approved
/// unseen.
fn shown(row: &RegistrationRow, out: &mut Vec<u8>) -> std::io::Result<()> {
    writeln!(out, "{}: {}, registered by {}", row.server_id, state(row), printable(&row.registered_by))?;
    let mut say =
        |what: &str, told: &str| writeln!(out, "  {what:<12}{}", printable(told).replace('\n', " "));
    say("starts", &row.launch)?;
    if let Some(code) = &row.inline_code {
        say("", code)?;
    }
    if let Some(folder) = &row.folder {
        say("in", folder)?;
    }
    if !row.env.is_empty() {
        say("variables", &row.env.join(", "))?;
    }
    let permissions: Vec<_> = row.permissions.iter().map(Permission::as_str).collect();
    let permissions = permissions.join(", ");
    say("trust", &row.trust_level.to_string())?;
    say("permissions", if permissions.is_empty() { "none" } else { &permissions })?;
    say("code", row.digest.as_deref().unwrap_or("not inspected"))?;
    for file in &row.files {
        say("", &format!("{}  {}", file.digest, file.path))?;
    }
    match &row.unconfined {
        Some(why) => say("confined", &format!("no, although it has to be: {why}"))?,
        None => say("confined", if row.confined { "yes, by the system" } else { "no" })?,
    }
    if let Some(because) = &row.justification {
        say("because", because)?;
    }
    Ok(())
}

async fn approve(link: &KernelLink, output: &Output, named: &RegistrationArgs) -> Result<Exit, Failure> {
    let asked = link.ask(method::REGISTRATIONS_APPROVE, &named.registration()).await;
    let approved: ApprovedRegistration = asked.map_err(unknown)?;
    output.show(&approved, |approved, out| {
        writeln!(out, "approved {}: {}", printable(&named.id), approved.status)?;
        match &approved.message {
            Some(message) => writeln!(out, "{}", printable(message)),
            None => Ok(()),
        }
    })
}

async fn decide(
    link: &KernelLink,
    output: &Output,
    method: &'static str,
    named: &RegistrationArgs,
    done: &str,
) -> Result<Exit, Failure> {
    let decided: NamedRegistration = link.ask(method, &named.registration()).await.map_err(unknown)?;
    output.show(&decided, |decided, out| writeln!(out, "{} {done}", printable(decided.server_id.as_str())))
}

impl RegistrationArgs {
    fn registration(&self) -> NamedRegistration {
        NamedRegistration { server_id: ServerId::from(self.id.as_str()) }
    }
}

fn unknown(failure: Failure) -> Failure {
    failure.hint("`mgp registrations list` shows the registered servers")
}

const fn state(row: &RegistrationRow) -> &'static str {
    match row.state {
        RegistrationStatus::Waiting => "waits",
        RegistrationStatus::Approved if row.for_session => "for a session",
        RegistrationStatus::Approved => "approved",
    }
}
