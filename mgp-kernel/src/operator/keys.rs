//! API keys: issued, listed and revoked.

use std::num::NonZeroU32;

use mgp_discovery::config::nearest;
use mgp_security::auth::{ApiPermission, KeyId, KeyInfo, KeyRequest, KeyRing, reserved_owner};
use mgp_security::limit::Rates;
use mgp_types::mgp::{AuditTarget, Timestamp, ToolPatternError};
use mgp_types::{Error, Principal, PrincipalRole, RunningCalls};
use serde::{Deserialize, Serialize};

use super::page::PageRequest;
use super::request::OperatorRequest;
use crate::running::RunningConfig;
use crate::server_inventory::AccessTargets;
use crate::settings;

/// The params that ask for a new key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NewKey {
    /// The owner: clients that send the key are taken for this principal.
    pub(crate) owner: String,
    /// True if the key may decide what agents may do, beside calling tools.
    #[serde(default)]
    pub(crate) operator: bool,
    /// The permissions of the key.
    pub(crate) permissions: Vec<ApiPermission>,
    #[serde(default)]
    pub(crate) label: String,
    pub(crate) expires_at: Option<Timestamp>,
    /// The largest number of uses in a minute.
    pub(crate) per_minute: Option<NonZeroU32>,
    /// The largest number of uses in an hour.
    #[serde(default)]
    pub(crate) per_hour: Option<NonZeroU32>,
    /// True if the key is issued although it names servers or tools that do not exist.
    #[serde(default)]
    pub(crate) force: bool,
}

/// A key that was just issued, with its secret, which is shown only this once.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct IssuedKey {
    pub(crate) secret: String,
    #[serde(flatten)]
    pub(crate) key: KeyRow,
}

/// The data of a key, without its secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeyRow {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) operator: bool,
    pub(crate) permissions: Vec<ApiPermission>,
    pub(crate) label: String,
    pub(crate) created_at: Timestamp,
    pub(crate) last_used: Option<Timestamp>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) expired: bool,
    /// The rates at which the key may be used; left out for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate_limit: Option<Rates>,
    /// True if the key lets nobody in because its owner's name is reserved for somebody else.
    #[serde(default)]
    pub(crate) reserved: bool,
}

/// The params that ask for all keys, or those of an owner.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    #[serde(flatten)]
    pub(crate) page: PageRequest,
}

/// A page of the keys, the oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeyPage {
    pub(crate) keys: Vec<KeyRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
}

/// The params that ask for a key to be revoked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RevokeKey {
    pub(crate) id: String,
    /// True if calls in work may finish, whatever the configuration says.
    #[serde(default)]
    pub(crate) let_calls_finish: bool,
}

/// The result of a revocation: whether there was such a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RevokedKey {
    pub(crate) revoked: bool,
}

impl NewKey {
    /// Returns the rates at which the key may be used; `None` for no limit.
    fn rates(&self) -> Option<Rates> {
        let mut rates = Rates::new();
        if let Some(calls) = self.per_minute {
            rates = rates.per_minute(calls);
        }
        if let Some(calls) = self.per_hour {
            rates = rates.per_hour(calls);
        }
        (rates != Rates::new()).then_some(rates)
    }
}

pub(super) async fn issue(
    asked: &OperatorRequest,
    keys: &KeyRing,
    targets: &AccessTargets,
    wanted: NewKey,
) -> Result<IssuedKey, Error> {
    bounded("owner", &wanted.owner, 1, MAX_NAME)?;
    if let Some(why) = reserved_owner(&wanted.owner) {
        return Err(Error::invalid_params(format!(
            "no key can be issued to `{}`: {why}; give the owner another name, such as `agent.build`",
            wanted.owner.escape_debug(),
        )));
    }
    bounded("label", &wanted.label, 0, MAX_LABEL)?;
    if wanted.permissions.len() > MAX_PERMISSIONS {
        return Err(Error::invalid_params(format!("a key has at most {MAX_PERMISSIONS} permissions")));
    }
    if !wanted.force {
        let targets = targets.known();
        for permission in &wanted.permissions {
            if let ApiPermission::ToolInvoke(tools) | ApiPermission::ToolRead(tools) = permission {
                targets.check_pattern(tools)?;
            }
        }
    }
    let owner = &*wanted.owner;
    let principal = if wanted.operator { Principal::operator(owner) } else { Principal::new(owner) };
    let mut request = KeyRequest::new(&principal).label(wanted.label.clone());
    for permission in &wanted.permissions {
        request = request.allow(permission.clone());
    }
    if let Some(end) = wanted.expires_at {
        request = request.expires_at(end);
    }
    if let Some(rates) = wanted.rates() {
        request = request.rate_limit(rates);
    }
    // No key may work of which nothing is recorded, so the record comes first.
    let detail = ("owner", wanted.owner.as_str());
    asked.record("dev.cloto.mgp.key_issued", AuditTarget::new(None, None), &[detail]).await?;
    let (info, secret) = keys.issue(request).await?;
    Ok(IssuedKey { secret: secret.expose().to_owned(), key: KeyRow::of(info, asked.audit.clock.now()) })
}

pub(super) fn list(keys: &KeyRing, now: Timestamp, asked: &ListKeys) -> KeyPage {
    let mut keys = keys.keys();
    keys.sort_by_key(|key| (key.created_at, key.id));
    let keys = keys.into_iter().map(|key| KeyRow::of(key, now));
    let (keys, next_offset) =
        asked.page.of(keys.filter(|key| asked.owner.as_ref().is_none_or(|owner| *owner == key.owner)));
    KeyPage { keys, next_offset }
}

pub(super) async fn revoke(
    asked: &OperatorRequest,
    keys: &KeyRing,
    config: &RunningConfig,
    key: &RevokeKey,
) -> Result<RevokedKey, Error> {
    let id = KeyId::read(&key.id).ok_or_else(|| {
        Error::invalid_params("`id` is not that of a key: 16 hexadecimal digits, as `keys list` shows")
    })?;
    let detail = ("key", key.id.as_str());
    asked.record("dev.cloto.mgp.key_revoked", AuditTarget::new(None, None), &[detail]).await?;
    let calls = match settings::revoked_calls(&config.load()) {
        _ if key.let_calls_finish => RunningCalls::Finish,
        configured => configured,
    };
    Ok(RevokedKey { revoked: keys.revoke(id, calls).await? })
}

impl KeyRow {
    fn of(info: KeyInfo, now: Timestamp) -> Self {
        Self {
            id: info.id.to_string(),
            owner: info.owner.as_str().to_owned(),
            reserved: reserved_owner(info.owner.as_str()).is_some(),
            operator: info.owner.role() == PrincipalRole::Operator,
            permissions: info.permissions.iter().cloned().collect(),
            label: info.label,
            created_at: info.created_at,
            last_used: info.last_used,
            expires_at: info.expires_at,
            expired: info.expires_at.is_some_and(|end| now >= end),
            rate_limit: info.rate_limit,
        }
    }
}

/// Returns the name of a permission in commands and lists: `list`, `call:SERVER.TOOL`, `see:SERVER.TOOL`, `read`,
/// `register`.
pub(crate) fn permission_word(permission: &ApiPermission) -> String {
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
pub(crate) fn read_permission(word: &str) -> Result<ApiPermission, String> {
    let pattern = |text: &str| text.parse().map_err(|error: ToolPatternError| error.to_string());
    Ok(match word.split_once(':') {
        None if word == "list" => ApiPermission::ToolsListAll,
        None if word == "read" => ApiPermission::AdminRead,
        None if word == "register" => ApiPermission::AdminWrite,
        Some(("admin", "write")) => ApiPermission::AdminWrite,
        Some(("admin", "read")) => ApiPermission::AdminRead,
        Some(("call", tools)) => ApiPermission::ToolInvoke(pattern(tools)?),
        Some(("see", tools)) => ApiPermission::ToolRead(pattern(tools)?),
        _ => {
            let meant = nearest(word, ["list", "read", "register"]);
            return Err(match meant {
                Some(meant) => format!("`{word}` is not something that a key allows; did you mean {meant}?"),
                None => format!(
                    "a key allows list, read, register, see:SERVER.TOOL or call:SERVER.TOOL, not `{word}`"
                ),
            });
        }
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
