//! The data of an API key: as it is requested, as it is listed, and as it is stored.

use mgp_types::mgp::Timestamp;
use mgp_types::{Principal, PrincipalKind, PrincipalRole};

use super::{ApiPermission, ApiPermissions, KeyDigest, KeyId};
use crate::rates::Rates;

/// A request for a new key: without permissions, an end or a rate limit, unless these are added.
#[derive(Debug, Clone)]
#[must_use]
pub struct KeyRequest {
    owner: Principal,
    permissions: Vec<ApiPermission>,
    rate_limit: Option<Rates>,
    label: String,
    expires_at: Option<Timestamp>,
}

/// The data of a key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyInfo {
    /// The id of the key.
    pub id: KeyId,
    /// The principal that the sender of the key is taken for.
    pub owner: Principal,
    /// The permissions of the key.
    pub permissions: ApiPermissions,
    /// The rates at which the key may be used; `None` for no limit.
    pub rate_limit: Option<Rates>,
    /// The purpose of the key, in the words of its issuer.
    pub label: String,
    /// The time at which the key was issued.
    pub created_at: Timestamp,
    /// The time at which the key was last used; `None` if it never was.
    pub last_used: Option<Timestamp>,
    /// The time from which the key no longer holds; `None` if it never ends.
    pub expires_at: Option<Timestamp>,
}

/// A key as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredKey {
    /// The data of the key.
    pub info: KeyInfo,
    /// The digest that a sent key is compared with.
    pub digest: KeyDigest,
}

impl KeyRequest {
    /// Returns a request for a key whose owner is the agent or operator `owner`. The sender of the key is known as
    /// the owner of a key, and never as a principal of the same name that came in another way.
    pub fn new(owner: &Principal) -> Self {
        let kind = match owner.role() {
            PrincipalRole::Operator => PrincipalKind::KeyOperator,
            _ => PrincipalKind::KeyHolder,
        };
        let owner = Principal::of(kind, owner.as_str());
        Self { owner, permissions: Vec::new(), rate_limit: None, label: String::new(), expires_at: None }
    }

    /// Adds a permission.
    pub fn allow(mut self, permission: ApiPermission) -> Self {
        self.permissions.push(permission);
        self
    }

    /// Limits the use of the key to these rates.
    pub const fn rate_limit(mut self, rates: Rates) -> Self {
        self.rate_limit = Some(rates);
        self
    }

    /// Sets the label, which says what the key is for.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets the time from which the key no longer holds.
    pub const fn expires_at(mut self, end: Timestamp) -> Self {
        self.expires_at = Some(end);
        self
    }

    pub(super) fn issued(self, id: KeyId, created_at: Timestamp) -> KeyInfo {
        KeyInfo {
            id,
            owner: self.owner,
            permissions: ApiPermissions::new(self.permissions),
            rate_limit: self.rate_limit,
            label: self.label,
            created_at,
            last_used: None,
            expires_at: self.expires_at,
        }
    }
}

impl StoredKey {
    /// Returns the key that a store kept.
    pub const fn new(info: KeyInfo, digest: KeyDigest) -> Self {
        Self { info, digest }
    }
}
