//! API keys: issued, listed and revoked.

use std::io::{self, Write as _};
use std::num::NonZeroU32;

use clap::Args;
use mgp_discovery::config::nearest;
use mgp_security::auth::{ApiPermission, ApiPermissions, KeyId, KeyInfo, KeyTerms, reserved_owner};
use mgp_security::limit::Rates;
use mgp_types::mgp::{Timestamp, ToolPatternError};
use mgp_types::{Error, Principal, PrincipalRole, RunningCalls, shell_word};
use serde::{Deserialize, Serialize};

use super::access::advised;
use super::operation::{Operation, OperatorCall, PageRequest};
use crate::sections::inventory::ServerInventory;
use crate::terminal::{Exit, Failure, TextForm, TextWriter, ahead, line_form, or_dash};

/// Issues a key.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct IssueKey {
    /// The agent that uses the key
    pub owner: String,
    /// A permission of the key: list (search and list all tools), see:SERVER.TOOL, call:SERVER.TOOL, where `*` stands
    /// for any characters, read (resources and prompts), register (servers); repeat for more
    #[arg(long = "allow", value_name = "WHAT", value_parser = read_permission, default_value = "list")]
    pub permissions: Vec<ApiPermission>,
    /// Give the key the rights of an operator
    #[arg(long)]
    #[serde(default)]
    pub operator: bool,
    /// Make the agent a member of this group for as long as the key holds; repeat for more
    #[arg(long = "group", value_name = "NAME", conflicts_with = "operator")]
    #[serde(default)]
    pub groups: Vec<String>,
    /// A note on the purpose of the key
    #[arg(long, value_name = "TEXT", default_value = "")]
    #[serde(default)]
    pub label: String,
    /// The end of the key: a time, or a span such as 30d
    #[arg(long = "until", value_name = "WHEN", value_parser = ahead)]
    pub expires_at: Option<Timestamp>,
    /// The maximum number of requests per minute
    #[arg(long, value_name = "N")]
    pub per_minute: Option<NonZeroU32>,
    /// The maximum number of requests per hour
    #[arg(long, value_name = "N")]
    pub per_hour: Option<NonZeroU32>,
    /// Issue the key even if it names servers or tools that do not exist
    #[arg(long)]
    #[serde(default)]
    pub force: bool,
}

/// A key that was just issued, with its secret, which is shown only this once.
#[derive(Serialize, Deserialize)]
pub struct IssuedKey {
    /// The secret, which the client sends.
    pub secret: String,
    /// The key without its secret.
    #[serde(flatten)]
    pub key: KeyRow,
}

mgp_types::partial_debug!(IssuedKey, self => key: self.key);

/// The data of a key, without its secret.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeyRow {
    /// The id of the key.
    pub id: String,
    /// The agent or operator whose key it is.
    pub owner: String,
    /// True if it is the key of an operator.
    pub operator: bool,
    /// The permissions of the key.
    pub permissions: Vec<ApiPermission>,
    /// The groups of which the owner is a member because of the key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Box<str>>,
    /// The note that was given with the key.
    pub label: String,
    created_at: Timestamp,
    last_used: Option<Timestamp>,
    /// The time from which the key is refused; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// True if that time has passed.
    pub expired: bool,
    /// The rates at which the key may be used; left out for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<Rates>,
    /// True if the key lets nobody in because its owner's name is reserved for somebody else.
    pub reserved: bool,
}

/// Lists all keys, or those of an owner, the oldest first.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct ListKeys {
    /// List the keys of this agent only
    #[arg(long)]
    pub owner: Option<String>,
    /// The part of the list that is wanted.
    #[command(flatten)]
    #[serde(flatten)]
    pub page: PageRequest,
}

/// A page of the keys.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeyPage {
    /// The keys.
    pub keys: Vec<KeyRow>,
    /// The start of the next part; `None` at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// Revokes a key, and ends its sessions.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct RevokeKey {
    /// The id of the key, as `mgp keys list` shows it
    pub id: String,
    /// Let running calls finish; otherwise they are cancelled
    #[arg(long)]
    #[serde(default)]
    pub let_calls_finish: bool,
}

/// Issues a key with the terms of another one, which ends after a while.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct RotateKey {
    /// The id of the former key, as `mgp keys list` shows it
    id: String,
    /// The end of the former key, which is used until then: a time, or a span such as 2h
    #[arg(long = "former-until", value_name = "WHEN", value_parser = ahead, default_value = "1d")]
    former_until: Timestamp,
    /// The end of the new key: a time, or a span such as 30d; that of the former one if left out
    #[arg(long = "until", value_name = "WHEN", value_parser = ahead)]
    expires_at: Option<Timestamp>,
}

/// The result of a revocation: whether there was such a key.
#[derive(Debug, Serialize, Deserialize)]
pub struct RevokedKey {
    revoked: bool,
}

impl Operation for IssueKey {
    type Reply = IssuedKey;

    async fn run(self, call: &OperatorCall) -> Result<IssuedKey, Error> {
        bounded("owner", &self.owner, 1, MAX_NAME)?;
        if let Some(why) = reserved_owner(&self.owner) {
            return Err(Error::invalid_params(format!(
                "no key can be issued to `{}`: {why}; give the owner another name, such as `agent.build`",
                self.owner.escape_debug(),
            )));
        }
        bounded("label", &self.label, 0, MAX_LABEL)?;
        if self.permissions.len() > MAX_PERMISSIONS {
            return Err(Error::invalid_params(format!("a key has at most {MAX_PERMISSIONS} permissions")));
        }
        if !self.force {
            let targets = ServerInventory::of(&call.kernel);
            for permission in &self.permissions {
                if let ApiPermission::ToolInvoke(tools) | ApiPermission::ToolRead(tools) = permission {
                    targets.check_pattern(tools)?;
                }
            }
        }
        let known = call.kernel.policies.access.groups().ids();
        let known: Vec<_> = known.iter().filter_map(|id| id.as_str().strip_prefix('@')).collect();
        if let Some(unknown) = self.groups.iter().find(|name| !known.contains(&name.as_str())) {
            let meant = nearest(unknown, known).map(|meant| format!("; did you mean `{meant}`?"));
            let (name, meant) = (unknown.escape_debug(), meant.unwrap_or_default());
            return Err(Error::invalid_params(format!("no group in `[[groups]]` is called `{name}`{meant}")));
        }
        let owner = &*self.owner;
        let principal = if self.operator { Principal::operator(owner) } else { Principal::new(owner) };
        let rates = self.per_minute.into_iter().fold(Rates::new(), Rates::per_minute);
        let rates = self.per_hour.into_iter().fold(rates, Rates::per_hour);
        // No key may work of which nothing is recorded, so the record comes first.
        let names = self.groups.join(",");
        let details = [("owner", owner), ("groups", &*names)];
        let recorded = if names.is_empty() { &details[..1] } else { &details[..] };
        call.record_act("dev.cloto.mgp.key_issued", recorded).await?;
        let terms = KeyTerms {
            owner: principal,
            permissions: ApiPermissions::new(self.permissions),
            rate_limit: (rates != Rates::new()).then_some(rates),
            groups: self.groups.into_iter().map(Into::into).collect(),
            label: self.label,
            expires_at: self.expires_at,
        };
        let (info, secret) = call.kernel.policies.keys.issue(terms).await?;
        let now = call.kernel.audit.clock.now();
        Ok(IssuedKey { secret: secret.expose().to_owned(), key: KeyRow::of(info, now) })
    }

    fn refused(&self, failure: Failure) -> Failure {
        let calls = self.permissions.iter().any(|one| matches!(one, ApiPermission::ToolInvoke(_)));
        let what = if calls { "call" } else { "see" };
        let allow = |meant: &str| shell_word(&format!("{what}:{meant}"));
        advised(failure, |meant| format!("mgp keys new {} --allow {}", shell_word(&self.owner), allow(meant)))
    }
}

impl TextForm for IssuedKey {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        writeln!(out, "{}", self.secret)
    }

    fn notes(&self) -> Vec<String> {
        vec![format!("the id of the key is {}; the key itself is not shown again", self.key.id)]
    }
}

impl Operation for ListKeys {
    type Reply = KeyPage;

    async fn run(self, call: &OperatorCall) -> Result<KeyPage, Error> {
        let (mut keys, now) = (call.kernel.policies.keys.keys(), call.kernel.audit.clock.now());
        keys.sort_by_key(|key| (key.created_at, key.id));
        let is_wanted = |key: &KeyRow| self.owner.as_ref().is_none_or(|owner| *owner == key.owner);
        let rows = keys.into_iter().map(|key| KeyRow::of(key, now)).filter(is_wanted);
        let (keys, next_offset) = self.page.of(rows);
        Ok(KeyPage { keys, next_offset })
    }
}

impl TextForm for KeyPage {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let rows = self.keys.iter().map(KeyRow::cells);
        out.table(&["ID", "OWNER", "ALLOWS", "LABEL", "LAST USED", "UNTIL"], rows, "no keys")
    }
}

impl Operation for RevokeKey {
    type Reply = RevokedKey;

    async fn run(self, call: &OperatorCall) -> Result<RevokedKey, Error> {
        let id = key_id(&self.id)?;
        call.record_act("dev.cloto.mgp.key_revoked", &[("key", &self.id)]).await?;
        let calls = if self.let_calls_finish { RunningCalls::Finish } else { RunningCalls::Cancel };
        Ok(RevokedKey { revoked: call.kernel.policies.keys.revoke(id, calls).await? })
    }

    fn exit(&self, reply: &RevokedKey) -> Result<Exit, Failure> {
        if reply.revoked {
            return Ok(Exit::Done);
        }
        Err(Failure::usage(format!("there is no key {}", self.id)).hint("`mgp keys list` shows the keys"))
    }
}

impl Operation for RotateKey {
    type Reply = IssuedKey;

    async fn run(self, call: &OperatorCall) -> Result<IssuedKey, Error> {
        let (id, keys) = (key_id(&self.id)?, &call.kernel.policies.keys);
        let unknown =
            || Error::invalid_params(format!("there is no key {id}: `mgp keys list` shows the keys"));
        let former = keys.keys().into_iter().find(|key| key.id == id).ok_or_else(unknown)?;
        let expires_at = self.expires_at.or(former.terms.expires_at);
        if expires_at.is_some_and(|end| call.kernel.audit.clock.now() >= end) {
            return Err(Error::invalid_params("the new key would be over: `--until` sets another end"));
        }
        let until = self.former_until.to_string();
        let details = [("key", &*self.id), ("owner", former.terms.owner.as_str()), ("until", &*until)];
        call.record_act("dev.cloto.mgp.key_rotated", &details).await?;
        let terms = KeyTerms { expires_at, ..former.terms };
        let (info, secret) = keys.issue(terms).await?;
        keys.end_at(id, self.former_until).await?;
        let now = call.kernel.audit.clock.now();
        Ok(IssuedKey { secret: secret.expose().to_owned(), key: KeyRow::of(info, now) })
    }
}

line_form!(RevokedKey, |key| if key.revoked { "revoked" } else { "there was no such key" });

impl KeyRow {
    fn of(info: KeyInfo, now: Timestamp) -> Self {
        let terms = info.terms;
        Self {
            id: info.id.to_string(),
            owner: terms.owner.as_str().to_owned(),
            reserved: reserved_owner(terms.owner.as_str()).is_some(),
            operator: terms.owner.role() == PrincipalRole::Operator,
            permissions: terms.permissions.iter().cloned().collect(),
            groups: terms.groups,
            label: terms.label,
            created_at: info.created_at,
            last_used: info.last_used,
            expires_at: terms.expires_at,
            expired: terms.expires_at.is_some_and(|end| now >= end),
            rate_limit: terms.rate_limit,
        }
    }

    /// Returns the cells of the key in a table: id, owner, permissions, label, last use and end.
    pub(crate) fn cells(&self) -> [String; 6] {
        let groups = self.groups.iter().map(|group| format!("@{group}"));
        let allows: Vec<_> = self.permissions.iter().map(permission_word).chain(groups).collect();
        let owner = if self.operator { format!("{} (operator)", self.owner) } else { self.owner.clone() };
        let end = match self {
            Self { reserved: true, .. } => "refused: the owner's name is reserved".to_owned(),
            Self { expired: true, .. } => "expired".to_owned(),
            key => or_dash(key.expires_at),
        };
        [self.id.clone(), owner, allows.join(","), self.label.clone(), or_dash(self.last_used), end]
    }
}

/// Returns the name of a permission in commands and lists: `list`, `call:SERVER.TOOL`, `see:SERVER.TOOL`, `read`,
/// `register`.
pub fn permission_word(permission: &ApiPermission) -> String {
    match permission {
        ApiPermission::ToolInvoke(tool) => format!("call:{tool}"),
        ApiPermission::ToolRead(tool) => format!("see:{tool}"),
        ApiPermission::ToolsListAll => "list".to_owned(),
        ApiPermission::AdminWrite => "register".to_owned(),
        ApiPermission::AdminRead => "read".to_owned(),
        _ => "another".to_owned(),
    }
}

/// Parses a permission as [`permission_word`] writes it. `admin:read` and `admin:write` are older words for `read` and
/// `register`.
///
/// # Errors
/// Fails if the word is no permission, with a message for the person who wrote it.
pub fn read_permission(word: &str) -> Result<ApiPermission, String> {
    let pattern = |text: &str| text.parse().map_err(|error: ToolPatternError| error.to_string());
    Ok(match (word, word.split_once(':')) {
        ("list", _) => ApiPermission::ToolsListAll,
        ("read" | "admin:read", _) => ApiPermission::AdminRead,
        ("register" | "admin:write", _) => ApiPermission::AdminWrite,
        (_, Some(("call", tools))) => ApiPermission::ToolInvoke(pattern(tools)?),
        (_, Some(("see", tools))) => ApiPermission::ToolRead(pattern(tools)?),
        _ => {
            return Err(match nearest(word, ["list", "read", "register"]) {
                Some(meant) => format!("`{word}` is not something that a key allows; did you mean {meant}?"),
                None => format!(
                    "a key allows list, read, register, see:SERVER.TOOL or call:SERVER.TOOL, not `{word}`"
                ),
            });
        }
    })
}

/// Reads the id of a key.
///
/// # Errors
/// The text is none.
fn key_id(text: &str) -> Result<KeyId, Error> {
    KeyId::read(text).ok_or_else(|| {
        Error::invalid_params("`id` is not that of a key: 16 hexadecimal digits, as `keys list` shows")
    })
}

fn bounded(name: &str, text: &str, least: usize, most: usize) -> Result<(), Error> {
    if (least..=most).contains(&text.len()) {
        return Ok(());
    }
    Err(Error::invalid_params(format!("`{name}` has to have {least} to {most} bytes")))
}

const MAX_NAME: usize = 512;
const MAX_LABEL: usize = 4_096;
const MAX_PERMISSIONS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_of_keys_have_words_that_are_read_again() {
        for word in ["list", "read", "register", "call:fs.read", "see:fs.*", "call:*", "call:fs/a.b"] {
            assert_eq!(permission_word(&read_permission(word).unwrap()), word);
        }
        assert_eq!(read_permission("admin:read").unwrap(), ApiPermission::AdminRead);
        assert_eq!(read_permission("admin:write").unwrap(), ApiPermission::AdminWrite);
        assert!(read_permission("raed").unwrap_err().contains("did you mean read?"));
        for word in ["", "call:", "call", "call:fs", "admin", "admin:all", "LIST"] {
            assert!(read_permission(word).is_err(), "{word}");
        }
    }
}
