//! The permissions that are granted for one call alone.

use mgp_types::Request;
use mgp_types::mgp::{Permission, ServerId};

use crate::permission::GrantBook;

/// The permissions that were granted for the request that carries them, and for no other. The gate puts them into the
/// request; no code outside this crate can.
#[derive(Debug)]
pub(crate) struct GrantedOnce(Vec<Permission>);

/// A guard for a running call with permissions granted for it alone; the server has them until the guard is dropped.
pub(super) struct OnceGrantGuard {
    book: GrantBook,
    server: ServerId,
    permissions: Vec<Permission>,
}

impl GrantedOnce {
    /// Returns whether `permission` was granted for this request.
    pub(crate) fn holds(request: &Request, permission: &Permission) -> bool {
        request.extensions.get::<Self>().is_some_and(|once| once.0.contains(permission))
    }
}

impl OnceGrantGuard {
    /// Lets `request` go on with `permissions`, until the returned guard is dropped.
    pub(super) fn begin(
        book: &GrantBook,
        server: &ServerId,
        permissions: Vec<Permission>,
        request: &mut Request,
    ) -> Option<Self> {
        if permissions.is_empty() {
            return None;
        }
        book.count_once(server, &permissions, true);
        request.extensions.insert(GrantedOnce(permissions.clone()));
        Some(Self { book: book.clone(), server: server.clone(), permissions })
    }
}

impl Drop for OnceGrantGuard {
    fn drop(&mut self) {
        self.book.count_once(&self.server, &self.permissions, false);
    }
}
