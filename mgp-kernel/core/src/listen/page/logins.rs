//! The browsers that are signed in at the page of this kernel or, where kernels share a database, of another one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_discovery::config::Secret;
use mgp_types::mgp::Timestamp;
use mgp_types::random_name;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::guard::Browser;
use super::page_client::PageClient;
use crate::kernel::Kernel;
use crate::lifecycle::page_door::PageHolder;
use crate::peer::ProcessId;
use crate::replicas::StoredPageLogin;

/// The browsers that are signed in, by the digests of the secrets in their cookies.
pub(super) struct PageLogins {
    kernel: Kernel,
    known: Mutex<HashMap<[u8; 32], Arc<PageLogin>, RandomState>>,
    /// A place for each secret that is looked for at the other kernels.
    looks: Semaphore,
}

/// A browser that is signed in.
pub(super) struct PageLogin {
    pub(super) client: PageClient,
    /// The process of the browser, where the system tells it.
    pub(super) process: Option<ProcessId>,
    /// The token of a person who signed in at the identity provider. The login is worth as much as the token is.
    pub(super) token: Option<Secret>,
    ends_at: Timestamp,
    /// True if other kernels accept the login, too.
    is_shared: bool,
    /// True once the browser signed out.
    is_over: AtomicBool,
}

/// A person who has just signed in.
pub(super) struct SignedIn {
    client: PageClient,
    process: Option<ProcessId>,
    token: Option<Secret>,
    /// True for a browser on another machine, which may reach another kernel with its next request.
    is_elsewhere: bool,
}

impl SignedIn {
    pub(super) async fn of(client: PageClient, browser: &Browser, token: Option<Secret>) -> Self {
        let (process, is_elsewhere) = (browser.process().await, browser.is_elsewhere().await);
        Self { client, process, token, is_elsewhere }
    }
}

impl PageLogin {
    /// Returns whether the login has not ended.
    pub(super) fn holds(&self) -> bool {
        !self.is_over.load(Ordering::Acquire) && Timestamp::now() < self.ends_at
    }
}

impl PageLogins {
    pub(super) fn new(kernel: Kernel) -> Self {
        Self { kernel, known: Mutex::default(), looks: Semaphore::new(LOOKS) }
    }

    /// Signs a browser in, and returns the secret for its cookie; `None` if too many are signed in.
    pub(super) async fn sign_in(
        &self,
        SignedIn { client, process, token, is_elsewhere }: SignedIn,
    ) -> Option<String> {
        let lasts = if token.is_some() { TOKEN_LOGIN_LASTS } else { LOGIN_LASTS };
        let now = Timestamp::now();
        let (ends_at, is_over) = (now.saturating_add(lasts), AtomicBool::new(false));
        let secret = format!("{}{}", random_name(), random_name());
        let shared = self.kernel.sections().policies.page_logins.as_ref().filter(|_| is_elsewhere);
        let mut is_shared = false;
        if let Some(shared) = shared {
            let PageHolder { by, role } = client.holder.clone();
            let token = token.as_ref().map(|token| token.expose().to_owned());
            let added = shared.add(&secret, StoredPageLogin { by, role, token, ends_at }, now).await;
            is_shared = added
                .inspect_err(|error| tracing::warn!(%error, "a login at the page is of this kernel alone"))
                .is_ok();
        }
        let login = PageLogin { client, process, token, ends_at, is_shared, is_over };
        self.keep(&secret, Arc::new(login)).then_some(secret)
    }

    fn keep(&self, secret: &str, login: Arc<PageLogin>) -> bool {
        let mut known = self.known.lock();
        known.retain(|_, login| login.holds());
        let has_room = known.len() < MAX_LOGINS;
        if has_room {
            known.insert(digest(secret), login);
        }
        has_room
    }

    /// Returns the login whose secret a browser has.
    pub(super) async fn find(&self, secret: &str) -> Option<Arc<PageLogin>> {
        let known = self.known.lock().get(&digest(secret)).cloned();
        let Some(shared) = &self.kernel.sections().policies.page_logins else {
            return known.filter(|login| login.holds());
        };
        if let Some(login) = known.as_ref().filter(|login| !login.is_shared) {
            return login.holds().then(|| Arc::clone(login));
        }
        let mut stored = shared.find(secret).await.ok()?;
        if stored.is_none()
            && known.is_none()
            && let (Ok(_place), Some(link)) = (self.looks.try_acquire(), &self.kernel.sections().link)
        {
            // The browser may have signed in at another kernel a moment ago.
            link.look().await;
            stored = shared.find(secret).await.ok()?;
        }
        let Some(StoredPageLogin { by, role, token, ends_at }) = stored else {
            self.forget(secret);
            return None;
        };
        if known.is_some() {
            return known.filter(|login| login.holds());
        }
        let login = Arc::new(PageLogin {
            client: PageClient::new(self.kernel.clone(), PageHolder { by, role }),
            process: None,
            token: token.map(Secret::from),
            ends_at,
            is_shared: true,
            is_over: AtomicBool::new(false),
        });
        (login.holds() && self.keep(secret, Arc::clone(&login))).then_some(login)
    }

    /// Ends a login, at all kernels.
    pub(super) async fn sign_out(&self, secret: &str) {
        self.forget(secret);
        if let Some(shared) = &self.kernel.sections().policies.page_logins
            && let Err(error) = shared.remove(secret).await
        {
            tracing::warn!(%error, "other kernels do not know that a browser signed out");
        }
    }

    fn forget(&self, secret: &str) {
        if let Some(login) = self.known.lock().remove(&digest(secret)) {
            login.is_over.store(true, Ordering::Release);
        }
    }
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

const LOGIN_LASTS: Duration = Duration::from_hours(12);
/// The longest time for which a person who signed in at the identity provider is not asked again.
const TOKEN_LOGIN_LASTS: Duration = Duration::from_hours(1);
const MAX_LOGINS: usize = 256;
/// The number of secrets that are looked for at the other kernels at once.
const LOOKS: usize = 4;
