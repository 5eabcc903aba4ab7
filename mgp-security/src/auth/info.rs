//! The data of an API key: as it is requested, as it is listed, and as it is stored.

use mgp_types::mgp::Timestamp;
use mgp_types::{Principal, PrincipalKind, PrincipalRole};

use super::{ApiPermission, ApiPermissions, KeyId};
use crate::rates::Rates;
use crate::scope::SecretDigest;

/// A request for a new key.
#[derive(Debug, Clone)]
#[must_use]
pub struct KeyRequest {
    /// The agent or operator that owns the key. The sender of the key is known as the owner of a key, and never as a
    /// principal of the same name that came in another way.
    pub owner: Principal,
    /// The permissions of the key.
    pub permissions: Vec<ApiPermission>,
    /// The rates at which the key may be used; `None` for no limit.
    pub rate_limit: Option<Rates>,
    /// The purpose of the key.
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
#[derive(Debug)]
pub(super) struct StoredKey {
    pub(super) info: KeyInfo,
    /// The digest that a sent key is compared with.
    pub(super) digest: SecretDigest,
}

impl KeyRequest {
    /// Returns a request for a key without permissions, an end or a rate limit.
    pub fn new(owner: Principal) -> Self {
        Self { owner, permissions: Vec::new(), rate_limit: None, label: String::new(), expires_at: None }
    }

    pub(super) fn issued(self, id: KeyId, created_at: Timestamp) -> KeyInfo {
        let kind = match self.owner.role() {
            PrincipalRole::Operator => PrincipalKind::KeyOperator,
            _ => PrincipalKind::KeyHolder,
        };
        KeyInfo {
            id,
            owner: Principal::of(kind, self.owner.as_str()),
            permissions: ApiPermissions::new(self.permissions),
            rate_limit: self.rate_limit,
            label: self.label,
            created_at,
            last_used: None,
            expires_at: self.expires_at,
        }
    }
}
