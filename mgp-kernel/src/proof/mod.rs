//! The check of which operator connections may decide: those that proved that a person is there.
//!
//! The proof is a secret of the person. A question on the terminal proves nothing, because agents make terminals;
//! neither does the tree of processes, in which an orphan outlives its client and an editor's terminal is no
//! descendant of its extension host. Once a client was connected, an agent could set the first passphrase, so root
//! sets it then.

mod secrets;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mgp_security::Clock;
use mgp_types::mgp::Timestamp;
use mgp_types::{Error, Object, RawJson, code};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use self::secrets::{OperatorSecrets, StoredOperatorSecrets, SystemAccount};
use crate::StartError;
use crate::peer::{Lineage, ProcessId};

/// Returns whether a passphrase guards what is decided in this state. A file that cannot be read guards it.
pub(crate) fn is_guarded(state: &Path) -> bool {
    OperatorSecrets::at(state).read().map_or(true, |known| known.has_passphrase())
}

/// A connection of an operator, and whether it has proved that a person is there.
#[derive(Debug)]
pub(crate) struct OperatorConnection {
    /// True for a process of the account that the kernel runs as.
    pub(crate) is_own: bool,
    terminal: Option<Terminal>,
    is_proved: AtomicBool,
    /// True once a request was one of a client of the user.
    is_client: AtomicBool,
}

impl OperatorConnection {
    /// Returns a connection that `process`, of the account that the kernel runs as, made at the operators' socket, or in its
    /// own process.
    pub(crate) fn of_account(process: Option<&Lineage>) -> Self {
        Self { terminal: process.and_then(Terminal::of), ..Self::new(true, false) }
    }

    /// Returns a connection of another member of the operators' group.
    pub(crate) const fn of_member() -> Self {
        Self::new(false, false)
    }

    /// Returns a connection of a person who signed in where nobody else does, and who need not be of this system.
    pub(crate) const fn of_person() -> Self {
        Self::new(false, true)
    }

    /// Returns a connection of the system's superuser, where the kernel runs as somebody else: the system asked for the
    /// proof.
    pub(crate) const fn of_superuser() -> Self {
        Self::new(true, true)
    }

    const fn new(is_own: bool, proved: bool) -> Self {
        Self { is_own, terminal: None, is_proved: AtomicBool::new(proved), is_client: AtomicBool::new(false) }
    }
}

/// A session at a terminal. The start of its leader tells it from later ones of the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Terminal {
    leader: ProcessId,
    device: i64,
}

impl Terminal {
    /// Returns the terminal at which a process was started by the leader of the session, the shell of the person. What
    /// other programs start there does not count: an agent types there as well as a person.
    fn of(lineage: &Lineage) -> Option<Self> {
        let [process, leader, ..] = lineage.processes() else { return None };
        let is_typed =
            process.terminal != 0 && leader.id.pid == process.session && leader.terminal == process.terminal;
        is_typed.then_some(Self { leader: leader.id, device: process.terminal })
    }
}

/// A proof that a person is there.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Proof {
    /// The operators' passphrase or, while none is set, the password of the account.
    Passphrase(String),
    Token(String),
}

/// The proof that a decision takes, as `data.proof` of a refusal names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NeededProof {
    /// The operators' passphrase.
    Passphrase,
    /// The password of the account that the kernel runs as.
    Account,
    /// None is set up, and no client was connected so far: whoever comes first sets it up.
    First,
    /// None is set up, and a client may have sent the command.
    Unset,
}

impl NeededProof {
    /// Returns whether a person can type the proof.
    pub(crate) const fn is_secret(self) -> bool {
        matches!(self, Self::Passphrase | Self::Account)
    }

    /// Reads which proof a refusal asks for.
    pub(crate) fn of(refusal: &Error) -> Option<Self> {
        let data = Object::from_raw(refusal.data().filter(|_| refusal.code() == code::PERMISSION_DENIED)?);
        data.ok()?.get("proof")?.to().ok()
    }
}

/// A checker that decides which connections of operators may decide, and takes their proofs.
///
/// Every connection has to give a proof; once given at a terminal it holds there for a while. Nothing follows from which
/// process descends from which.
#[derive(Debug)]
pub(crate) struct ProofChecker {
    secrets: Arc<OperatorSecrets>,
    /// The account, looked for when a decision may take its password.
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
    pub(crate) fn open(state: &Path, clock: Clock) -> Result<Self, StartError> {
        let secrets = OperatorSecrets::at(state);
        // Where the file cannot be read, it must not be assumed that no passphrase was set.
        secrets.read().map_err(|error| StartError::State { path: secrets.0.clone(), error })?;
        Ok(Self {
            secrets: Arc::new(secrets),
            account: OnceLock::new(),
            clients_mark: state.join(CLIENTS_MARK),
            is_client_noted: AtomicBool::new(false),
            terminals: Mutex::default(),
            guess: tokio::sync::Mutex::default(),
            clock,
        })
    }

    /// Notes that a client asks for something, so that from now on a command may be its agent's.
    pub(crate) fn note_client(&self) {
        if self.is_client_noted.load(Ordering::Relaxed) || self.is_client_noted.swap(true, Ordering::Relaxed)
        {
            return;
        }
        if let Err(error) = std::fs::write(&self.clients_mark, "") {
            tracing::error!(%error, "it is not kept that a client was connected");
        }
    }

    /// Returns whether a passphrase is set.
    pub(crate) fn is_passphrase_set(&self) -> bool {
        self.secrets.read().is_ok_and(|known| known.has_passphrase())
    }

    /// Returns whether decisions take no proof at all.
    pub(crate) fn is_without_proof(&self) -> bool {
        self.secrets.read().is_ok_and(|known| known.without_proof)
    }

    /// Returns the proof that `connection` has to give before it decides; `None` if it may.
    ///
    /// # Errors
    /// Fails if the secrets cannot be read.
    pub(crate) fn needed(&self, connection: &OperatorConnection) -> Result<Option<NeededProof>, Error> {
        if connection.is_proved.load(Ordering::Acquire) {
            return Ok(None);
        }
        let needed = self.kind(&self.read()?, connection);
        let now = self.clock.now();
        let holds = |here| self.terminals.lock().iter().any(|(held, end)| *held == here && *end > now);
        Ok(needed.filter(|needed| !needed.is_secret() || !connection.terminal.is_some_and(holds)))
    }

    fn kind(&self, known: &StoredOperatorSecrets, connection: &OperatorConnection) -> Option<NeededProof> {
        let has_client = || self.is_client_noted.load(Ordering::Relaxed) || self.clients_mark.exists();
        if known.has_passphrase() {
            Some(NeededProof::Passphrase)
        } else if !connection.is_own {
            Some(NeededProof::Unset)
        } else if known.without_proof {
            None
        } else if self.account().is_some() {
            Some(NeededProof::Account)
        } else if has_client() {
            Some(NeededProof::Unset)
        } else {
            Some(NeededProof::First)
        }
    }

    fn account(&self) -> Option<&Arc<SystemAccount>> {
        self.account.get_or_init(|| SystemAccount::own().map(Arc::new)).as_ref()
    }

    /// Lets a connection decide.
    ///
    /// # Errors
    /// 1000 if the connection has to prove first that a person is there; `data.proof` says [how](NeededProof).
    pub(crate) fn admit(&self, connection: &OperatorConnection) -> Result<(), Error> {
        let Some(needed) = self.needed(connection)? else { return Ok(()) };
        let message = match (needed, self.account.get().and_then(Option::as_ref)) {
            (NeededProof::Account, Some(account)) => format!(
                "deciding takes the password of {}, or an operators' passphrase: `mgp operators passphrase`",
                account.user.escape_debug()
            ),
            (NeededProof::First, _) => FIRST.to_owned(),
            (NeededProof::Unset, _) => UNSET.to_owned(),
            _ => "deciding takes the operators' passphrase".to_owned(),
        };
        Err(unproved(needed, message))
    }

    /// Returns whether the requests of a connection that agents make as well are those of a client of the user: until it may
    /// decide. Once they were, they stay so, because a yes to a call holds for the caller that was asked about.
    pub(crate) fn is_client(&self, connection: &OperatorConnection) -> bool {
        let is_unproved = self.admit(connection).is_err();
        connection.is_client.fetch_or(is_unproved, Ordering::AcqRel) || is_unproved
    }

    /// Checks a proof that a person is there. Given at a terminal, a passphrase holds there for a while.
    ///
    /// # Errors
    /// 1000 if the proof is wrong.
    pub(crate) async fn prove(&self, connection: &OperatorConnection, proof: Proof) -> Result<(), Error> {
        match proof {
            Proof::Token(token) => {
                if !self.read()?.is_token(&token, self.clock.now()) {
                    let message = "this token is none of the operators', or has expired; `mgp operators token` makes one";
                    return Err(Error::new(code::PERMISSION_DENIED, message));
                }
            }
            Proof::Passphrase(passphrase) => {
                self.check(connection, passphrase).await?;
                if let Some(terminal) = connection.terminal {
                    let until = self.clock.now().saturating_add(HOLDS);
                    let mut terminals = self.terminals.lock();
                    terminals.retain(|(other, end)| *other != terminal && *end > self.clock.now());
                    terminals.push((terminal, until));
                }
            }
        }
        connection.is_proved.store(true, Ordering::Release);
        Ok(())
    }

    /// Sets the passphrase or, with `None`, that decisions take no proof. Where a passphrase is set, `old` has to match
    /// it.
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
            return Err(Error::invalid_params(format!("a passphrase has {SHORTEST} characters at least")));
        }
        match self.needed(connection)? {
            Some(NeededProof::First) => {}
            _ if self.read()?.has_passphrase() => self.check(connection, old.unwrap_or_default()).await?,
            _ => self.admit(connection)?,
        }
        self.terminals.lock().clear();
        let secrets = Arc::clone(&self.secrets);
        kept(tokio::task::spawn_blocking(move || secrets.set_passphrase(new.as_deref())).await)?;
        // Whoever set it knows it.
        connection.is_proved.store(true, Ordering::Release);
        Ok(())
    }

    /// Makes a token that holds until `expires_at`, with the passphrase or the password of the account.
    ///
    /// # Errors
    /// 1000 if the passphrase is wrong; -32602 if there is none.
    pub(crate) async fn new_token(
        &self,
        connection: &OperatorConnection,
        passphrase: String,
        expires_at: Timestamp,
    ) -> Result<String, Error> {
        if !self.kind(&self.read()?, connection).is_some_and(NeededProof::is_secret) {
            let message =
                "a token is made with the operators' passphrase, and none is set: `mgp operators passphrase`";
            return Err(Error::invalid_params(message));
        }
        self.check(connection, passphrase).await?;
        kept(Ok(self.secrets.new_token(self.clock.now(), expires_at)))
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
        let what = if is_accounts { "the account's password" } else { "the operators' passphrase" };
        Err(unproved(needed.unwrap_or(NeededProof::Unset), format!("this is not {what}")))
    }

    fn read(&self) -> Result<StoredOperatorSecrets, Error> {
        self.secrets.read().map_err(|error| {
            Error::internal("the operators' passphrase and tokens cannot be read").with_source(error)
        })
    }
}

/// Returns the outcome of writing secrets.
fn kept<T>(written: Result<io::Result<T>, tokio::task::JoinError>) -> Result<T, Error> {
    let failed =
        |error: io::Error| Error::internal("the passphrase or token cannot be kept").with_source(error);
    written.map_err(io::Error::other).and_then(|written| written).map_err(failed)
}

fn unproved(needed: NeededProof, message: String) -> Error {
    let proof = RawJson::from_value(&needed).unwrap_or_else(|_| RawJson::null());
    Error::new(code::PERMISSION_DENIED, message).with_data(Object::from([("proof", proof)]).to_raw())
}

const FIRST: &str = "deciding takes a proof that a person is there, and none is set up yet: `mgp operators passphrase` \
                     sets a passphrase";
const UNSET: &str = "deciding takes a proof that a person is there. None was set up before the first client was \
                     connected, so an agent may have sent this command: let the system's superuser set it up, by `sudo \
                     mgp --socket SOCKET operators passphrase` with the socket that `mgp status` shows";

/// The file in the state that says that a client was connected.
const CLIENTS_MARK: &str = "met-clients";
/// The time for which a passphrase holds at a terminal.
const HOLDS: Duration = Duration::from_mins(10);
const AFTER_A_WRONG_ONE: Duration = Duration::from_secs(1);
const SHORTEST: usize = 8;

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
    async fn a_proof_is_set_up_before_the_first_client_and_by_nobody_after_it() {
        let state = tempfile::tempdir().unwrap();
        let fresh = proofs(state.path());
        assert_eq!(needed(&fresh, &own()), Some(NeededProof::First));
        fresh.note_client();
        // Another kernel with the same state knows it as well.
        for proofs in [fresh, proofs(state.path())] {
            assert_eq!(needed(&proofs, &own()), Some(NeededProof::Unset));
            for new in [Some("the attacker's".to_owned()), None] {
                assert!(proofs.set_passphrase(&own(), None, new).await.is_err());
            }
            assert_eq!(needed(&proofs, &OperatorConnection::of_superuser()), None);
        }
        let root = OperatorConnection::of_superuser();
        let proofs = proofs(state.path());
        proofs.set_passphrase(&root, None, Some("correct horse".into())).await.unwrap();
        assert_eq!(needed(&proofs, &own()), Some(NeededProof::Passphrase));
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

    #[cfg(target_os = "linux")]
    #[test]
    fn only_what_the_shell_of_a_terminal_starts_is_at_the_terminal() {
        use crate::peer::Process;

        let process = |pid, parent, session, terminal| Process {
            id: ProcessId { pid, started: u64::from(pid) },
            name: "p".into(),
            parent,
            group: session,
            session,
            terminal,
        };
        let (shell, agent) = (process(10, 1, 10, 7), process(11, 10, 10, 7));
        let at = |line: Vec<Process>| Terminal::of(&Lineage::from(line));
        assert!(at(vec![process(12, 10, 10, 7), shell.clone()]).is_some());
        assert_eq!(at(vec![process(12, 11, 10, 7), agent, shell.clone()]), None);
        assert_eq!(at(vec![process(12, 10, 12, 7), shell.clone()]), None, "a session of its own");
        assert_eq!(at(vec![process(12, 10, 10, 0), shell]), None, "no terminal");
    }
}
