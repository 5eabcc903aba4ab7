//! The browsers that are signed in. Their logins end with the kernel.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_discovery::config::Secret;
use mgp_types::random_name;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::page_client::PageClient;
use crate::peer::ProcessId;

/// The browsers that are signed in, by the digests of the secrets in their cookies.
#[derive(Default)]
pub(super) struct PageLogins(Mutex<HashMap<[u8; 32], Arc<PageLogin>, RandomState>>);

/// A browser that is signed in.
pub(super) struct PageLogin {
    pub(super) client: PageClient,
    /// The process of the browser, where the system tells it.
    pub(super) process: Option<ProcessId>,
    /// The token of a person who signed in at the identity provider. The login is worth as much as the token is.
    pub(super) token: Option<Secret>,
    end: Instant,
    /// True once the browser signed out.
    is_over: AtomicBool,
}

impl PageLogin {
    /// Returns whether the login is not over.
    pub(super) fn holds(&self) -> bool {
        !self.is_over.load(Ordering::Acquire) && Instant::now() < self.end
    }
}

impl PageLogins {
    /// Signs a browser in, whose person may have a token, and returns the secret for its cookie; `None` if too many are
    /// signed in.
    pub(super) fn sign_in(
        &self,
        client: PageClient,
        process: Option<ProcessId>,
        token: Option<Secret>,
    ) -> Option<String> {
        let holds = if token.is_some() { TOKEN_LOGIN_HOLDS } else { LOGIN_HOLDS };
        let (end, is_over) = (Instant::now() + holds, AtomicBool::new(false));
        let mut logins = self.0.lock();
        logins.retain(|_, known| known.holds());
        if logins.len() >= MAX_LOGINS {
            return None;
        }
        let secret = format!("{}{}", random_name(), random_name());
        logins.insert(digest(&secret), Arc::new(PageLogin { client, process, token, end, is_over }));
        Some(secret)
    }

    /// Returns the login whose secret a browser has.
    pub(super) fn find(&self, secret: &str) -> Option<Arc<PageLogin>> {
        let login = self.0.lock().get(&digest(secret)).cloned();
        login.filter(|login| login.holds())
    }

    /// Ends a login.
    pub(super) fn sign_out(&self, secret: &str) {
        if let Some(login) = self.0.lock().remove(&digest(secret)) {
            login.is_over.store(true, Ordering::Release);
        }
    }
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

const LOGIN_HOLDS: Duration = Duration::from_hours(12);
/// The longest time for which a person who signed in at the identity provider is not asked again.
const TOKEN_LOGIN_HOLDS: Duration = Duration::from_hours(1);
const MAX_LOGINS: usize = 256;
