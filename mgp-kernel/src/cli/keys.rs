//! `mgp keys`: issues, lists and revokes API keys.

use std::io::Write as _;
use std::num::NonZeroU32;

use clap::{Args, Subcommand};
use mgp_security::auth::ApiPermission;
use mgp_types::mgp::Timestamp;
use mgp_types::shell_word;

use super::access_target::advised;
use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::{KernelLink, KernelNeed};
use super::moment::{Moment, moment};
use super::output::Output;
use crate::operator::keys::{
    IssuedKey, KeyPage as KeyList, KeyRow, ListKeys, NewKey, RevokeKey, RevokedKey, permission_word,
    read_permission,
};
use crate::operator::method;
use crate::operator::page::PageRequest;

#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    /// Issue a key; it is shown only once
    New(KeyNewArgs),
    /// List keys, without their secrets
    List(KeyListArgs),
    /// Revoke a key, and end its sessions
    Revoke(KeyRevokeArgs),
}

#[derive(Debug, Args)]
pub(super) struct KeyNewArgs {
    /// The agent that uses the key
    owner: String,
    /// A permission of the key: list (search and list all tools), see:SERVER.TOOL, call:SERVER.TOOL, where `*` stands
    /// for any characters, read (resources and prompts), register (servers); repeat for more
    #[arg(long = "allow", value_name = "WHAT", value_parser = read_permission, default_value = "list")]
    allow: Vec<ApiPermission>,
    /// Give the key the rights of an operator
    #[arg(long)]
    operator: bool,
    /// A note on the purpose of the key
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
    /// The end of the key: a time, or a span such as 30d
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    until: Option<Moment>,
    /// The maximum number of requests per minute
    #[arg(long, value_name = "N")]
    per_minute: Option<NonZeroU32>,
    /// The maximum number of requests per hour
    #[arg(long, value_name = "N")]
    per_hour: Option<NonZeroU32>,
    /// Issue the key even if it names servers or tools that do not exist
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
pub(super) struct KeyListArgs {
    /// List the keys of this agent only
    #[arg(long)]
    owner: Option<String>,
    /// Skip the first N keys
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// List at most N keys
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct KeyRevokeArgs {
    /// The id of the key, as `mgp keys list` shows it
    id: String,
    /// Let running calls finish; otherwise they are cancelled, unless `listen.revoked_calls` says otherwise
    #[arg(long)]
    let_calls_finish: bool,
}

pub(super) async fn run(place: &KernelLocation, output: &Output, keys: KeysCommand) -> Result<Exit, Failure> {
    let need = if matches!(keys, KeysCommand::New(_)) { KernelNeed::Configured } else { KernelNeed::State };
    let link = KernelLink::open(place, need).await?;
    let outcome = match keys {
        KeysCommand::New(wanted) => new(&link, output, wanted).await,
        KeysCommand::List(wanted) => list(&link, output, wanted).await,
        KeysCommand::Revoke(wanted) => revoke(&link, output, wanted).await,
    };
    link.close().await;
    outcome
}

async fn new(link: &KernelLink, output: &Output, wanted: KeyNewArgs) -> Result<Exit, Failure> {
    let wanted = NewKey {
        owner: wanted.owner,
        operator: wanted.operator,
        permissions: wanted.allow,
        label: wanted.label,
        expires_at: wanted.until.map(|until| until.ahead(Timestamp::now())),
        per_minute: wanted.per_minute,
        per_hour: wanted.per_hour,
        force: wanted.force,
    };
    let issued: Result<IssuedKey, Failure> = link.ask(method::KEYS_NEW, &wanted).await;
    let issued = issued.map_err(|failure| {
        let calls = wanted.permissions.iter().any(|one| matches!(one, ApiPermission::ToolInvoke(_)));
        let what = if calls { "call" } else { "see" };
        let allow = |meant: &str| shell_word(&format!("{what}:{meant}"));
        advised(failure, |meant| {
            format!("mgp keys new {} --allow {}", shell_word(&wanted.owner), allow(meant))
        })
    })?;
    output.show(&issued, |issued, out| writeln!(out, "{}", issued.secret))?;
    output.note(&format!("the id of the key is {}; the key itself is not shown again", issued.key.id));
    Ok(Exit::Done)
}

async fn list(link: &KernelLink, output: &Output, wanted: KeyListArgs) -> Result<Exit, Failure> {
    let page = PageRequest { offset: wanted.offset, limit: wanted.limit };
    let list: KeyList = link.ask(method::KEYS_LIST, &ListKeys { owner: wanted.owner, page }).await?;
    output.table(&list, "no keys", |list, table| {
        table.headings(&["ID", "OWNER", "ALLOWS", "LABEL", "LAST USED", "UNTIL"]);
        let time = |time: Option<Timestamp>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
        for key in &list.keys {
            let allows: Vec<_> = key.permissions.iter().map(permission_word).collect();
            let owner = if key.operator { format!("{} (operator)", key.owner) } else { key.owner.clone() };
            let end = match key {
                KeyRow { reserved: true, .. } => "refused: the owner's name is reserved".to_owned(),
                KeyRow { expired: true, .. } => "expired".to_owned(),
                key => time(key.expires_at),
            };
            table.row([key.id.clone(), owner, allows.join(","), key.label.clone(), time(key.last_used), end]);
        }
    })
}

async fn revoke(link: &KernelLink, output: &Output, wanted: KeyRevokeArgs) -> Result<Exit, Failure> {
    let asked = RevokeKey { id: wanted.id.clone(), let_calls_finish: wanted.let_calls_finish };
    let revoked: RevokedKey = link.ask(method::KEYS_REVOKE, &asked).await?;
    if !revoked.revoked {
        return Err(
            Failure::usage(format!("there is no key {}", wanted.id)).hint("`mgp keys list` shows the keys")
        );
    }
    output.show(&revoked, |_, out| writeln!(out, "revoked"))
}
