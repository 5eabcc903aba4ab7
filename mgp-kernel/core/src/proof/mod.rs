//! The check of which operator connections may decide: those that gave the operator passphrase, or what stands for it.
//!
//! A question on the terminal proves nothing, because agents open terminals. Nothing follows either from a command not
//! being a descendant of a client: orphans outlive their client, and an editor's terminal is not below its extension
//! host. So a decision needs a secret. Before one is set, and once a client has connected, an agent could set it: then only
//! a command at a login sets it, or root.

mod connection;
mod login;
mod secrets;
mod shared;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mgp_security::Clock;
use mgp_store::{Database, OrderKey, StoreError, off_the_runtime};
use mgp_types::mgp::Timestamp;
use mgp_types::{Error, Object, RawJson, code};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub use self::connection::OperatorConnection;
use self::connection::Terminal;
use self::secrets::{OperatorSecrets, StoredOperatorSecrets, SystemAccount};
use self::shared::SharedSecrets;
use crate::StartError;

/// Returns whether a passphrase protects what is decided in this state. A file that cannot be read counts as one with a
/// passphrase.
pub fn is_guarded(state: &Path) -> bool {
    OperatorSecrets::at(state).read().map_or(true, |known| known.has_passphrase())
}

/// What a person gives so that a connection may decide.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Proof {
    /// The operator passphrase or, while none is set, the password of the account.
    Passphrase(String),
    /// A token that replaces the passphrase.
    Token(String),
}

mgp_types::partial_debug!(Proof);

/// What a connection has to give before it may decide, as `data.proof` of a refusal names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NeededProof {
    /// The operator passphrase.
    Passphrase,
    /// The password of the account that the kernel runs as.
    Account,
    /// No passphrase is set, and this connection may set it: no client has connected so far, or the connection is at a
    /// login.
    First,
    /// No passphrase is set, and an agent may have sent the command.
    Unset,
}

impl NeededProof {
    /// Returns whether a person can type it.
    pub const fn is_secret(self) -> bool {
        matches!(self, Self::Passphrase | Self::Account)
    }

    /// Reads what a refusal asks for.
    pub fn of(refusal: &Error) -> Option<Self> {
        let data = Object::from_raw(refusal.data().filter(|_| refusal.code() == code::PERMISSION_DENIED)?);
        data.ok()?.get("proof")?.to().ok()
    }
}

/// A checker that decides which connections of operators may decide, and checks their passphrases and tokens.
///
/// Every connection has to give one; a passphrase that was typed at a terminal counts there for a while.
#[derive(Debug)]
pub struct ProofChecker {
    secrets: Arc<OperatorSecrets>,
    /// The passphrase and tokens of all kernels, where they share decisions.
    shared: Option<SharedSecrets>,
    /// The account, looked up when a decision may need its password.
    account: OnceLock<Option<Arc<SystemAccount>>>,
    /// The file that says that a client was connected to a kernel with this state.
    clients_mark: PathBuf,
    is_client_noted: AtomicBool,
    terminals: Mutex<Vec<(Terminal, Timestamp)>>,
    /// A lock that allows one guess at a time.
    guess: tokio::sync::Mutex<()>,
    clock: Clock,
}

impl ProofChecker {
    /// Opens the secrets that are kept in `state`.
    pub fn open(state: &Path, clock: Clock) -> Result<Self, StartError> {
        let secrets = OperatorSecrets::at(state);
        // Where the file cannot be read, it must not be assumed that no passphrase was set.
        secrets.read().map_err(|error| StartError::State { path: secrets.0.clone(), error })?;
        Ok(Self {
            secrets: Arc::new(secrets),
            shared: None,
            account: OnceLock::new(),
            clients_mark: state.join(CLIENTS_MARK),
            is_client_noted: AtomicBool::new(false),
            terminals: Mutex::default(),
            guess: tokio::sync::Mutex::default(),
            clock,
        })
    }

    /// Shares the passphrase and the tokens with other kernels, by rows of `database` that `key` seals. What is set here
    /// already is shared if nothing is set at the others.
    ///
    /// # Errors
    /// Fails if a newer version wrote the database.
    pub(crate) fn share(&mut self, database: Database, key: OrderKey) -> Result<(), StoreError> {
        self.shared = Some(SharedSecrets::open(database, key, Arc::clone(&self.secrets))?);
        Ok(())
    }

    /// Takes over what other kernels set. Waits for the disk.
    ///
    /// # Errors
    /// Fails if it cannot be read or kept here.
    pub(crate) fn follow(&self) -> Result<(), StoreError> {
        self.shared.as_ref().map_or(Ok(()), SharedSecrets::follow)
    }

    /// Notes that a client asks for something, so that from now on a command may be its agent's.
    pub(crate) fn note_client(&self) {
        if self.is_client_noted.load(Ordering::Relaxed) || self.is_client_noted.swap(true, Ordering::Relaxed)
        {
            return;
        }
        if let Err(error) = std::fs::write(&self.clients_mark, "") {
            tracing::error!(%error, "cannot write that a client has connected");
        }
    }

    /// Returns whether a passphrase is set.
    pub(crate) fn is_passphrase_set(&self) -> bool {
        self.secrets.read().is_ok_and(|known| known.has_passphrase())
    }

    /// Returns whether every program of the account may decide.
    pub(crate) fn is_without_proof(&self) -> bool {
        self.secrets.read().is_ok_and(|known| known.without_proof)
    }

    /// Returns whether nobody can decide until a passphrase is set: there is nothing that a person could give, and a client
    /// has connected.
    pub(crate) fn is_locked(&self) -> bool {
        let now = self.clock.now();
        let is_open = |known: StoredOperatorSecrets| {
            known.has_passphrase() || known.without_proof || known.has_token(now)
        };
        self.has_client() && !self.secrets.read().is_ok_and(is_open) && self.account().is_none()
    }

    /// Returns what `connection` has to give before it decides; `None` if it may decide.
    ///
    /// # Errors
    /// Fails if the secrets cannot be read.
    pub fn needed(&self, connection: &OperatorConnection) -> Result<Option<NeededProof>, Error> {
        if connection.is_proved.load(Ordering::Acquire) {
            return Ok(None);
        }
        let needed = self.kind(&self.read()?, connection);
        let now = self.clock.now();
        let holds = |here| self.terminals.lock().iter().any(|(held, end)| *held == here && *end > now);
        Ok(needed.filter(|needed| !needed.is_secret() || !connection.terminal().is_some_and(holds)))
    }

    fn kind(&self, known: &StoredOperatorSecrets, connection: &OperatorConnection) -> Option<NeededProof> {
        if known.has_passphrase() {
            Some(NeededProof::Passphrase)
        } else if !connection.is_own {
            Some(NeededProof::Unset)
        } else if known.without_proof {
            None
        } else if self.account().is_some() {
            Some(NeededProof::Account)
        } else if self.has_client() && !connection.is_at_login() {
            Some(NeededProof::Unset)
        } else {
            Some(NeededProof::First)
        }
    }

    /// Returns whether a client has ever connected to a kernel with this state.
    fn has_client(&self) -> bool {
        self.is_client_noted.load(Ordering::Relaxed) || self.clients_mark.exists()
    }

    fn account(&self) -> Option<&Arc<SystemAccount>> {
        self.account.get_or_init(|| SystemAccount::own().map(Arc::new)).as_ref()
    }

    /// Lets a connection decide.
    ///
    /// # Errors
    /// 1000 if the connection has to give something first; `data.proof` says [what](NeededProof).
    pub fn admit(&self, connection: &OperatorConnection) -> Result<(), Error> {
        let Some(needed) = self.needed(connection)? else { return Ok(()) };
        let message = match (needed, self.account.get().and_then(Option::as_ref)) {
            (NeededProof::Account, Some(account)) => format!(
                "this needs the password of the account {}, or an operator passphrase: `mgp operators passphrase` sets one",
                account.user.escape_debug()
            ),
            (NeededProof::First, _) => FIRST.to_owned(),
            (NeededProof::Unset, _) => UNSET.to_owned(),
            _ => "this needs your operator passphrase".to_owned(),
        };
        Err(unproved(needed, message))
    }

    /// Returns whether the calls of a connection are those of a client of the user, for which all rules hold: until it may
    /// decide. Once they were, they stay so, because an approval is for the caller that was asked about.
    pub(crate) fn is_client(&self, connection: &OperatorConnection) -> bool {
        let is_unproved = self.admit(connection).is_err();
        connection.is_client.fetch_or(is_unproved, Ordering::AcqRel) || is_unproved
    }

    /// Checks a passphrase or token. A passphrase that was typed at a terminal counts there for a while.
    ///
    /// # Errors
    /// 1000 if it is wrong.
    pub async fn prove(&self, connection: &OperatorConnection, proof: Proof) -> Result<(), Error> {
        match proof {
            Proof::Token(token) => {
                if !self.read()?.is_token(&token, self.clock.now()) {
                    let message = "this operator token is invalid, expired or revoked; `mgp operators token` issues one";
                    return Err(Error::new(code::PERMISSION_DENIED, message));
                }
            }
            Proof::Passphrase(passphrase) => {
                self.check(connection, passphrase).await?;
                self.note_typed(connection);
            }
        }
        connection.is_proved.store(true, Ordering::Release);
        Ok(())
    }

    /// Has a passphrase that was typed at the terminal of a connection count there for a while.
    fn note_typed(&self, connection: &OperatorConnection) {
        if let Some(terminal) = connection.terminal() {
            let now = self.clock.now();
            let mut terminals = self.terminals.lock();
            terminals.retain(|(other, end)| *other != terminal && *end > now);
            terminals.push((terminal, now.saturating_add(HOLDS)));
        }
    }

    /// Sets the passphrase or, with `None`, lets every program of the account decide. Where a passphrase is set, `old` has
    /// to match it. Waits for the other kernels' order, if there are any.
    ///
    /// # Errors
    /// 1000 if `old` is wrong, or if no passphrase is set and the connection may be an agent's.
    pub(crate) async fn set_passphrase(
        &self,
        connection: &OperatorConnection,
        old: Option<String>,
        new: Option<String>,
    ) -> Result<(), Error> {
        if new.as_ref().is_some_and(|new| new.chars().count() < SHORTEST) {
            return Err(Error::invalid_params(format!("a passphrase needs at least {SHORTEST} characters")));
        }
        match self.needed(connection)? {
            Some(NeededProof::First) => {}
            _ if self.read()?.has_passphrase() => self.check(connection, old.unwrap_or_default()).await?,
            _ => self.admit(connection)?,
        }
        self.terminals.lock().clear();
        let set = off_the_runtime(move || Ok(StoredOperatorSecrets::of(new.as_deref())?)).await;
        let set = set.map_err(unstored)?;
        self.change(move |known| *known = set).await?;
        // Whoever set it knows it.
        self.note_typed(connection);
        connection.is_proved.store(true, Ordering::Release);
        Ok(())
    }

    /// Issues a token that is valid until `expires_at`, for the passphrase or the password of the account.
    ///
    /// # Errors
    /// 1000 if the passphrase is wrong; -32602 if none is set.
    pub(crate) async fn new_token(
        &self,
        connection: &OperatorConnection,
        passphrase: String,
        expires_at: Timestamp,
    ) -> Result<String, Error> {
        if !self.kind(&self.read()?, connection).is_some_and(NeededProof::is_secret) {
            let message =
                "a token needs an operator passphrase, and none is set: `mgp operators passphrase` sets one";
            return Err(Error::invalid_params(message));
        }
        self.check(connection, passphrase).await?;
        let now = self.clock.now();
        self.change(move |known| known.new_token(now, expires_at)).await
    }

    /// Changes the secrets, here and at all kernels that share them.
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut StoredOperatorSecrets) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (secrets, shared) = (Arc::clone(&self.secrets), self.shared.clone());
        let changed = off_the_runtime(move || match shared {
            Some(shared) => shared.change(change),
            None => Ok(secrets.change(change)?),
        });
        changed.await.map_err(unstored)
    }

    async fn check(&self, connection: &OperatorConnection, passphrase: String) -> Result<(), Error> {
        let known = self.read()?;
        let needed = self.kind(&known, connection);
        let is_accounts = needed == Some(NeededProof::Account);
        let account = self.account().filter(|_| is_accounts).cloned();
        let is_it = {
            let _one_at_a_time = self.guess.lock().await;
            let is_it = move || match account {
                Some(account) => account.has_password(&passphrase),
                None => known.is_passphrase(&passphrase),
            };
            tokio::task::spawn_blocking(is_it).await
        };
        if is_it.is_ok_and(|is_it| is_it) {
            return Ok(());
        }
        // Nobody else waits for this: an agent that guesses would hold up the person.
        tokio::time::sleep(AFTER_A_WRONG_ONE).await;
        let what = if is_accounts { "password of the account" } else { "operator passphrase" };
        Err(unproved(needed.unwrap_or(NeededProof::Unset), format!("this is not the {what}")))
    }

    fn read(&self) -> Result<StoredOperatorSecrets, Error> {
        self.secrets.read().map_err(|error| {
            Error::internal("the operator passphrase and tokens cannot be read").with_source(error)
        })
    }
}

fn unstored(error: StoreError) -> Error {
    Error::internal("the passphrase or token cannot be stored").with_source(error)
}

fn unproved(needed: NeededProof, message: String) -> Error {
    let proof = RawJson::from_value(&needed).unwrap_or_else(|_| RawJson::null());
    Error::new(code::PERMISSION_DENIED, message).with_data(Object::from([("proof", proof)]).to_raw())
}

const FIRST: &str = "this needs an operator passphrase, and none is set: `mgp operators passphrase` sets one";
const UNSET: &str = "this needs an operator passphrase, and none is set; because an agent may have sent this command, set it \
                     from a login: `mgp operators passphrase` says how";

/// The file in the state that says that a client has connected.
const CLIENTS_MARK: &str = "met-clients";
/// The time for which a passphrase counts at a terminal.
const HOLDS: Duration = Duration::from_mins(10);
const AFTER_A_WRONG_ONE: Duration = Duration::from_secs(1);
const SHORTEST: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    /// A checker of a machine whose account has no password.
    fn proofs(state: &Path) -> ProofChecker {
        ProofChecker { account: OnceLock::from(None), ..ProofChecker::open(state, Clock::system()).unwrap() }
    }

    fn own() -> OperatorConnection {
        OperatorConnection::of_account(None)
    }

    fn needed(proofs: &ProofChecker, connection: &OperatorConnection) -> Option<NeededProof> {
        let refusal = proofs.admit(connection).err()?;
        Some(NeededProof::of(&refusal).unwrap())
    }

    #[tokio::test]
    async fn a_passphrase_is_set_by_anybody_before_the_first_client_and_after_it_by_root() {
        let state = tempfile::tempdir().unwrap();
        let fresh = proofs(state.path());
        assert_eq!(needed(&fresh, &own()), Some(NeededProof::First));
        assert!(!fresh.is_locked());
        fresh.note_client();
        // Another kernel with the same state knows it as well.
        for proofs in [fresh, proofs(state.path())] {
            assert_eq!(needed(&proofs, &own()), Some(NeededProof::Unset));
            assert!(proofs.is_locked());
            for new in [Some("the attacker's".to_owned()), None] {
                assert!(proofs.set_passphrase(&own(), None, new).await.is_err());
            }
            assert_eq!(needed(&proofs, &OperatorConnection::of_superuser()), None);
        }
        let root = OperatorConnection::of_superuser();
        let proofs = proofs(state.path());
        proofs.set_passphrase(&root, None, Some("correct horse".into())).await.unwrap();
        assert_eq!(needed(&proofs, &own()), Some(NeededProof::Passphrase));
        assert!(!proofs.is_locked());
    }

    #[tokio::test]
    async fn with_a_passphrase_everybody_proves() {
        let state = tempfile::tempdir().unwrap();
        let (proofs, connection) = (proofs(state.path()), own());
        assert!(proofs.set_passphrase(&connection, None, Some("short".into())).await.is_err());
        proofs.set_passphrase(&connection, None, Some("correct horse".into())).await.unwrap();
        assert_eq!(needed(&proofs, &connection), None);
        let (next, member) = (own(), OperatorConnection::of_member());
        for connection in [&next, &member] {
            assert_eq!(needed(&proofs, connection), Some(NeededProof::Passphrase));
            assert!(proofs.prove(connection, Proof::Passphrase("correct house".into())).await.is_err());
            assert!(proofs.set_passphrase(connection, None, Some("another horse".into())).await.is_err());
        }
        let end = Timestamp::now().saturating_add(Duration::from_mins(1));
        let token = proofs.new_token(&next, "correct horse".into(), end).await.unwrap();
        proofs.prove(&next, Proof::Token(token)).await.unwrap();
        proofs.prove(&member, Proof::Passphrase("correct horse".into())).await.unwrap();
        assert_eq!((needed(&proofs, &next), needed(&proofs, &member)), (None, None));
    }

    #[tokio::test]
    async fn without_proof_everybody_of_the_account_decides_and_no_member_does() {
        let state = tempfile::tempdir().unwrap();
        let proofs = proofs(state.path());
        proofs.set_passphrase(&own(), None, None).await.unwrap();
        assert!(proofs.is_without_proof() && proofs.admit(&own()).is_ok());
        assert_eq!(needed(&proofs, &OperatorConnection::of_member()), Some(NeededProof::Unset));
    }

    #[tokio::test(start_paused = true)]
    async fn who_guesses_holds_up_nobody_else() {
        let state = tempfile::tempdir().unwrap();
        let proofs = Arc::new(proofs(state.path()));
        proofs.set_passphrase(&own(), None, Some("correct horse".into())).await.unwrap();
        let guesses: Vec<_> = (0..4)
            .map(|_| {
                let proofs = Arc::clone(&proofs);
                tokio::spawn(async move { proofs.prove(&own(), Proof::Passphrase("no".into())).await })
            })
            .collect();
        // All of them ask before the person does.
        tokio::task::yield_now().await;
        let began = tokio::time::Instant::now();
        proofs.prove(&own(), Proof::Passphrase("correct horse".into())).await.unwrap();
        assert!(began.elapsed() < AFTER_A_WRONG_ONE);
        for guess in guesses {
            assert!(guess.await.unwrap().is_err());
        }
    }
}
