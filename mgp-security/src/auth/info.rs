use mgp_types::mgp::Timestamp;
use mgp_types::{Principal, PrincipalKind, PrincipalRole};

use super::{ApiPermission, ApiPermissions, KeyDigest, KeyId};
use crate::rates::Rates;

/// A key that is to be issued: without permissions, without an end and without a limit until it is told otherwise.
#[derive(Debug, Clone)]
#[must_use]
pub struct KeyRequest {
    owner: Principal,
    permissions: Vec<ApiPermission>,
    rate_limit: Option<Rates>,
    label: String,
    expires_at: Option<Timestamp>,
}

/// What is known about a key, its secret not included.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyInfo {
    /// Which key.
    pub id: KeyId,
    /// Who whoever sends it is taken for.
    pub owner: Principal,
    /// What it lets its owner do.
    pub permissions: ApiPermissions,
    /// How often it may be used.
    pub rate_limit: Option<Rates>,
    /// What it is for, in the words of whoever issued it.
    pub label: String,
    /// When it was issued.
    pub created_at: Timestamp,
    /// When it was last used, if it was.
    pub last_used: Option<Timestamp>,
    /// Until when it holds, that moment not included; `None` for ever.
    pub expires_at: Option<Timestamp>,
}

/// A key as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredKey {
    /// What is known about it.
    pub info: KeyInfo,
    /// What its secret is compared with.
    pub digest: KeyDigest,
}

impl KeyRequest {
    /// Asks for a key for the agent or operator that `owner` is. Whoever sends it is known as one that has a key,
    /// and never as a principal of the same name that came in another way.
    pub fn new(owner: &Principal) -> Self {
        let kind = match owner.role() {
            PrincipalRole::Operator => PrincipalKind::KeyOperator,
            _ => PrincipalKind::KeyHolder,
        };
        let owner = Principal::of(kind, owner.as_str());
        Self { owner, permissions: Vec::new(), rate_limit: None, label: String::new(), expires_at: None }
    }

    /// With one more permission.
    pub fn allow(mut self, permission: ApiPermission) -> Self {
        self.permissions.push(permission);
        self
    }

    /// To be used no oftener.
    pub const fn rate_limit(mut self, rates: Rates) -> Self {
        self.rate_limit = Some(rates);
        self
    }

    /// With what it is for.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With its end.
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
    /// What a store kept.
    pub const fn new(info: KeyInfo, digest: KeyDigest) -> Self {
        Self { info, digest }
    }
}
