//! The API keys in the database.

use mgp_types::mgp::Timestamp;
use mgp_types::{Principal, PrincipalKind, PrincipalRole};
use rusqlite::{Row, params};

use super::{ApiPermission, ApiPermissions, KeyId, KeyInfo, StoredKey};
use crate::StoreError;
use crate::scope::SecretDigest;
use crate::sqlite::{Database, optional_time, text, time};

/// The store of API keys. It is read once and then only written, away from the threads that answer requests.
#[derive(Debug)]
pub(super) struct KeyStore(Database);

impl KeyStore {
    /// Returns the store in `database`, whose tables are brought up to date.
    pub(super) fn new(database: Database) -> Result<Self, StoreError> {
        database.migrate("auth", MIGRATIONS).map(|()| Self(database))
    }

    /// Returns all keys, including expired ones.
    pub(super) fn load(&self) -> Result<Vec<StoredKey>, StoreError> {
        self.0.read_all(
            "SELECT id, digest, owner, role, permissions, rate_limit, label, created_at, last_used, expires_at,
                 member_of
             FROM api_keys",
            read,
        )
    }

    /// Adds a new key; an id that is there already is an error.
    pub(super) fn add(&self, key: &StoredKey) -> Result<(), StoreError> {
        let info = &key.info;
        let permissions: Vec<_> = info.permissions.iter().collect();
        let rate_limit = info.rate_limit.as_ref().map(serde_json::to_string).transpose();
        self.0.execute(
            "INSERT INTO api_keys
             (id, digest, owner, role, permissions, rate_limit, label, created_at, last_used, expires_at, member_of)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                info.id.to_string(),
                key.digest.0,
                info.owner.as_str(),
                if info.owner.role() == PrincipalRole::Operator { "operator" } else { "agent" },
                serde_json::to_string(&permissions).map_err(unavailable)?,
                rate_limit.map_err(unavailable)?,
                info.label,
                info.created_at.as_millis(),
                info.last_used.map(Timestamp::as_millis),
                info.expires_at.map(Timestamp::as_millis),
                serde_json::to_string(&info.groups).map_err(unavailable)?,
            ],
        )
    }

    /// Removes a key, if there is one.
    pub(super) fn remove(&self, id: KeyId) -> Result<(), StoreError> {
        self.0.execute("DELETE FROM api_keys WHERE id = ?1", [id.to_string()])
    }

    /// Stores the times at which keys were last used. Keys that no longer exist are passed over.
    pub(super) fn note_used(&self, uses: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        self.0.transaction(|transaction| {
            let mut update = transaction.prepare("UPDATE api_keys SET last_used = ?2 WHERE id = ?1")?;
            uses.iter().try_for_each(|(id, time)| {
                update.execute(params![id.to_string(), time.as_millis()])?;
                Ok(())
            })
        })
    }
}

fn read(row: &Row<'_>) -> Result<StoredKey, StoreError> {
    let owner = match text(row, 3)? {
        "agent" => Principal::of(PrincipalKind::KeyHolder, text(row, 2)?),
        "operator" => Principal::of(PrincipalKind::KeyOperator, text(row, 2)?),
        _ => return Err(damaged("a role that is none")),
    };
    let permissions: Vec<ApiPermission> =
        serde_json::from_str(text(row, 4)?).map_err(|_| damaged("permissions that are none"))?;
    let rate_limit = row.get::<_, Option<String>>(5)?.map(|json| serde_json::from_str(&json));
    let info = KeyInfo {
        id: KeyId::read(text(row, 0)?).ok_or_else(|| damaged("an id that is none"))?,
        owner,
        permissions: ApiPermissions::new(permissions),
        rate_limit: rate_limit.transpose().map_err(|_| damaged("a rate limit that is none"))?,
        groups: serde_json::from_str(text(row, 10)?).map_err(|_| damaged("groups that are none"))?,
        label: row.get(6)?,
        created_at: time(row, 7)?,
        last_used: optional_time(row, 8)?,
        expires_at: optional_time(row, 9)?,
    };
    Ok(StoredKey { info, digest: SecretDigest(row.get(1)?) })
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("a key has {what}"))
}

fn unavailable(error: serde_json::Error) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}

const MIGRATIONS: &[&str] = &[include_str!("schema.sql"), include_str!("groups.sql")];
