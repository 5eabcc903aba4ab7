//! An API key: its secret and its id, the terms on which it is issued, and its data as they are listed and stored.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mgp_types::mgp::Timestamp;
use mgp_types::{Principal, PrincipalKind, PrincipalRole, random_bytes};
use rusqlite::{Row, params};
use serde::Serialize;

use super::ApiPermissions;
use crate::StoreError;
use crate::limit::Rates;
use crate::scope::SecretDigest;
use mgp_store::{Database, optional_time, text, time};

/// The terms of a key: who owns it, and what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct KeyTerms {
    /// The agent or operator that owns the key. The sender of the key is known as the owner of a key, and never as a
    /// principal of the same name that came in another way.
    pub owner: Principal,
    /// The permissions of the key.
    pub permissions: ApiPermissions,
    /// The rates at which the key may be used; `None` for no limit.
    pub rate_limit: Option<Rates>,
    /// The names of the groups of which the owner is a member for as long as the key holds.
    pub groups: Vec<Box<str>>,
    /// The purpose of the key, in the words of its issuer.
    pub label: String,
    /// The time from which the key no longer holds; `None` if it never ends.
    pub expires_at: Option<Timestamp>,
}

/// The data of a key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyInfo {
    /// The id of the key.
    pub id: KeyId,
    /// The terms of the key; the owner is the principal that the sender of the key is taken for.
    pub terms: KeyTerms,
    /// The time at which the key was issued.
    pub created_at: Timestamp,
    /// The time at which the key was last used; `None` if it never was.
    pub last_used: Option<Timestamp>,
}

/// A key as a store keeps it.
#[derive(Debug, Clone)]
pub(super) struct StoredKey {
    pub(super) info: KeyInfo,
    /// The digest that a sent key is compared with.
    pub(super) digest: SecretDigest,
}

impl KeyTerms {
    /// Returns the terms of a key without permissions, an end or a rate limit.
    pub fn new(owner: Principal) -> Self {
        Self {
            owner,
            permissions: ApiPermissions::default(),
            rate_limit: None,
            groups: Vec::new(),
            label: String::new(),
            expires_at: None,
        }
    }

    pub(super) fn issued(self, id: KeyId, created_at: Timestamp) -> KeyInfo {
        let kind = match self.owner.role() {
            PrincipalRole::Operator => PrincipalKind::KeyOperator,
            _ => PrincipalKind::KeyHolder,
        };
        let terms = Self { owner: Principal::of(kind, self.owner.as_str()), ..self };
        KeyInfo { id, terms, created_at, last_used: None }
    }
}

/// A secret key as its owner sends it: `mgp_`, the key's id, `_`, and 256 random bits. It is shown once, when it is
/// issued, and stored nowhere.
#[derive(Clone)]
pub struct SecretKey(Box<str>);

/// The id of a key. It is not secret: it finds the key and proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct KeyId(u64);

impl SecretKey {
    /// Returns a new random key.
    pub(super) fn random() -> (KeyId, Self) {
        let bytes: [u8; ID_BYTES + SECRET_BYTES] = random_bytes();
        let (id, secret) = bytes.split_at(ID_BYTES);
        let id = KeyId(id.iter().fold(0, |bits, byte| (bits << 8) | u64::from(*byte)));
        let text = format!("{PREFIX}{id}_{}", URL_SAFE_NO_PAD.encode(secret));
        (id, Self(text.into()))
    }

    /// Returns the text of the key, for its owner.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

mgp_types::partial_debug!(SecretKey);

impl KeyId {
    /// Returns the id and the secret part of a key, if `key` has the form of a key.
    pub(super) fn of_key(key: &str) -> Option<(Self, &str)> {
        let (id, secret) = key.strip_prefix(PREFIX).filter(|_| key.len() == KEY_LEN)?.split_once('_')?;
        Some((Self::read(id)?, secret))
    }

    /// Returns the id written as `text`; each id has exactly one written form.
    pub fn read(text: &str) -> Option<Self> {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let id = (text.len() == 2 * ID_BYTES && text.bytes().all(is_digit)).then_some(text)?;
        u64::from_str_radix(id, 16).ok().map(Self)
    }
}

mgp_types::write_as!(Display of KeyId, self => "{:016x}", self.0);

mgp_types::convert!(KeyId => String, id => id.to_string());

/// The beginning of every key.
const PREFIX: &str = "mgp_";
/// The length of an id in bytes.
const ID_BYTES: usize = 8;
/// The length of the secret part in bytes.
const SECRET_BYTES: usize = 32;
/// The length of a key in bytes: the prefix, 16 digits, `_`, and 43 letters for 32 bytes.
const KEY_LEN: usize = 64;

/// The store of API keys. It is read once, and again when other kernels changed it, and else only written, away from the
/// threads that answer requests.
#[derive(Debug)]
pub(super) struct KeyStore(Database);

impl KeyStore {
    /// Returns the store in `database`, whose tables are brought up to date.
    pub(super) fn new(database: Database) -> Result<Self, StoreError> {
        database.section("auth", MIGRATIONS).map(Self)
    }

    /// Returns all keys, including expired ones.
    pub(super) fn load(&self) -> Result<Vec<StoredKey>, StoreError> {
        self.0.read_all(
            "SELECT id, digest, owner, role, permissions, rate_limit, label, created_at, last_used, expires_at,
                 member_of
             FROM api_keys",
            [],
            read,
        )
    }

    /// Adds a new key; an id that is there already is an error.
    pub(super) fn add(&self, key: &StoredKey) -> Result<(), StoreError> {
        let KeyInfo { id, terms, created_at, last_used } = &key.info;
        let rate_limit = terms.rate_limit.as_ref().map(serde_json::to_string).transpose();
        let insert = || {
            self.0.execute(
            "INSERT INTO api_keys
             (id, digest, owner, role, permissions, rate_limit, label, created_at, last_used, expires_at, member_of)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                id.to_string(),
                key.digest.0,
                terms.owner.as_str(),
                if terms.owner.role() == PrincipalRole::Operator { "operator" } else { "agent" },
                serde_json::to_string(&terms.permissions).map_err(unavailable)?,
                rate_limit.map_err(unavailable)?,
                terms.label,
                created_at.as_millis(),
                last_used.map(Timestamp::as_millis),
                terms.expires_at.map(Timestamp::as_millis),
                serde_json::to_string(&terms.groups).map_err(unavailable)?,
            ],
        )
        };
        self.0.give(insert)
    }

    /// Removes a key, and returns whether there was one.
    pub(super) fn remove(&self, id: KeyId) -> Result<bool, StoreError> {
        let statement = "DELETE FROM api_keys WHERE id = ?1";
        let remove = || self.0.change(|change| change.execute(statement, params![id.to_string()]));
        Ok(self.0.take_away(remove)? > 0)
    }

    /// Stores the end of a key, unless it ends before.
    pub(super) fn end_at(&self, id: KeyId, end: Timestamp) -> Result<(), StoreError> {
        let statement = "UPDATE api_keys SET expires_at = ?2 WHERE id = ?1
                         AND (expires_at IS NULL OR expires_at > ?2)";
        self.0.take_away(|| self.0.execute(statement, params![id.to_string(), end.as_millis()]))
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
    let rate_limit = row.get::<_, Option<String>>(5)?.map(|json| serde_json::from_str(&json));
    let terms = KeyTerms {
        owner,
        permissions: serde_json::from_str(text(row, 4)?).map_err(|_| damaged("permissions that are none"))?,
        rate_limit: rate_limit.transpose().map_err(|_| damaged("a rate limit that is none"))?,
        groups: serde_json::from_str(text(row, 10)?).map_err(|_| damaged("groups that are none"))?,
        label: row.get(6)?,
        expires_at: optional_time(row, 9)?,
    };
    let id = KeyId::read(text(row, 0)?).ok_or_else(|| damaged("an id that is none"))?;
    let info = KeyInfo { id, terms, created_at: time(row, 7)?, last_used: optional_time(row, 8)? };
    Ok(StoredKey { info, digest: SecretDigest(row.get(1)?) })
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("a key has {what}"))
}

fn unavailable(error: serde_json::Error) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}

const MIGRATIONS: &[&str] = &[include_str!("schema.sql"), include_str!("groups.sql")];
