//! The check of which operator connections may decide: those that no agent can have made, and those that proved that a
//! person is there.

mod secrets;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mgp_security::Clock;
use mgp_types::mgp::Timestamp;
use mgp_types::{Error, RawJson, code};
use parking_lot::Mutex;

use self::secrets::OperatorSecrets;
use crate::StartError;
use crate::listen::peer::{ConnectedClients, Lineage, PeerProcess, Process, ProcessId};

/// A connection of an operator, and whether it has proved that a person is there.
#[derive(Debug)]
pub(crate) struct OperatorConnection {
    way: OperatorOrigin,
    is_proved: AtomicBool,
}

/// The origin of an operator's connection.
#[derive(Debug)]
enum OperatorOrigin {
    /// A connection at the operators' socket, made by this process.
    Socket(PeerProcess),
    /// A connection in the process of a command that runs a kernel of its own.
    OwnKernel,
}

impl OperatorConnection {
    /// Returns a connection that `process` made at the operators' socket.
    pub(crate) fn at_socket(process: PeerProcess) -> Self {
        Self { way: OperatorOrigin::Socket(process), is_proved: AtomicBool::new(false) }
    }

    /// Returns the connection of a command to the kernel of its own process. No client is connected to that kernel.
    pub(crate) fn in_process() -> Self {
        Self { way: OperatorOrigin::OwnKernel, is_proved: AtomicBool::new(false) }
    }

    fn lineage(&self) -> Option<&Lineage> {
        match &self.way {
            OperatorOrigin::Socket(PeerProcess::Known(lineage)) => Some(lineage),
            _ => None,
        }
    }
}

/// A proof that a person is there.
pub(crate) enum Proof {
    Passphrase(String),
    Token(String),
}

/// A checker that decides which connections of operators may decide, and takes their proofs.
///
/// Without a passphrase a process may decide that does not descend from a connected client. With a passphrase every
/// connection has to give it, or a token made with it; once given at a terminal it holds there for a while.
#[derive(Debug)]
pub(crate) struct ProofChecker {
    /// The clients whose descendants are not taken for a person.
    pub(crate) clients: ConnectedClients,
    secrets: Arc<OperatorSecrets>,
    terminals: Mutex<Vec<(Terminal, Timestamp)>>,
    /// A lock that allows one guess at a time, with a pause after each wrong one.
    guess: tokio::sync::Mutex<()>,
    clock: Clock,
}

/// A session at a terminal. The start of its leader tells it from later ones of the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Terminal {
    leader: ProcessId,
    device: i64,
}

impl ProofChecker {
    /// Opens the secrets that are kept in `state`.
    pub(crate) fn open(state: &Path, clock: Clock) -> Result<Self, StartError> {
        let secrets =
            OperatorSecrets::open(state).map_err(|(path, error)| StartError::State { path, error })?;
        Ok(Self {
            clients: ConnectedClients::default(),
            secrets: Arc::new(secrets),
            terminals: Mutex::default(),
            guess: tokio::sync::Mutex::default(),
            clock,
        })
    }

    /// Returns whether a passphrase is set.
    pub(crate) fn is_passphrase_set(&self) -> bool {
        self.secrets.is_set()
    }

    /// Lets a connection decide.
    ///
    /// # Errors
    /// 1000 if the connection has to prove first that a person is there; `data.proof` says whether a passphrase will
    /// do, or has to be set first.
    pub(crate) fn admit(&self, connection: &OperatorConnection) -> Result<(), Error> {
        if connection.is_proved.load(Ordering::Acquire) {
            return Ok(());
        }
        if self.secrets.is_set() {
            let is_held = connection.lineage().and_then(|lineage| self.terminal(lineage));
            return if is_held.is_some_and(|terminal| self.holds(terminal)) {
                Ok(())
            } else {
                Err(unproved(PASSPHRASE, "deciding takes the operators' passphrase".into()))
            };
        }
        match &connection.way {
            OperatorOrigin::OwnKernel => Ok(()),
            OperatorOrigin::Socket(PeerProcess::Known(lineage)) => match self.clients.above(lineage) {
                None => Ok(()),
                Some(client) => Err(unproved(UNSET, descends(&client))),
            },
            OperatorOrigin::Socket(PeerProcess::Unknown) => Err(unproved(UNSET, UNTOLD.to_owned())),
        }
    }

    /// Checks a proof that a person is there. Given at a terminal, a passphrase holds there for a while.
    ///
    /// # Errors
    /// 1000 if the proof is wrong.
    pub(crate) async fn prove(&self, connection: &OperatorConnection, proof: Proof) -> Result<(), Error> {
        match proof {
            Proof::Token(token) => {
                if !self.secrets.is_token(&token, self.clock.now()) {
                    let message = "this token is none of the operators', or has expired; `mgp operators token` makes one";
                    return Err(Error::new(code::PERMISSION_DENIED, message));
                }
            }
            Proof::Passphrase(passphrase) => {
                self.check(passphrase).await?;
                if let Some(terminal) = connection.lineage().and_then(|lineage| self.terminal(lineage)) {
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

    /// Sets the passphrase; where one is set, `old` has to match it.
    ///
    /// # Errors
    /// 1000 if `old` is wrong, or if no passphrase is set and the connection may be an agent's.
    pub(crate) async fn set_passphrase(
        &self,
        connection: Option<&OperatorConnection>,
        old: Option<String>,
        new: String,
    ) -> Result<(), Error> {
        if new.chars().count() < SHORTEST {
            let message = format!("a passphrase has {SHORTEST} characters at least");
            return Err(Error::invalid_params(message));
        }
        if self.secrets.is_set() {
            self.check(old.unwrap_or_default()).await?;
        } else if let Some(connection) = connection {
            match self.admit(connection) {
                // Where the system identifies no process, the first connection sets it.
                Err(_) if !cfg!(target_os = "linux") => {}
                admitted => admitted?,
            }
        }
        self.terminals.lock().clear();
        let secrets = Arc::clone(&self.secrets);
        kept(tokio::task::spawn_blocking(move || secrets.set_passphrase(&new)).await)
    }

    /// Makes a token that holds until `expires_at`.
    ///
    /// # Errors
    /// 1000 if the passphrase is wrong; -32602 if none is set.
    pub(crate) async fn new_token(&self, passphrase: String, expires_at: Timestamp) -> Result<String, Error> {
        if !self.secrets.is_set() {
            let message =
                "a token is made with the operators' passphrase, and none is set: `mgp operators passphrase`";
            return Err(Error::invalid_params(message));
        }
        self.check(passphrase).await?;
        kept(Ok(self.secrets.new_token(self.clock.now(), expires_at)))
    }

    async fn check(&self, passphrase: String) -> Result<(), Error> {
        let _one_at_a_time = self.guess.lock().await;
        let secrets = Arc::clone(&self.secrets);
        let is_it = tokio::task::spawn_blocking(move || secrets.is_passphrase(&passphrase)).await;
        if is_it.is_ok_and(|is_it| is_it) {
            return Ok(());
        }
        tokio::time::sleep(AFTER_A_WRONG_ONE).await;
        Err(unproved(PASSPHRASE, "this is not the operators' passphrase".into()))
    }

    fn holds(&self, terminal: Terminal) -> bool {
        let now = self.clock.now();
        self.terminals.lock().iter().any(|(held, end)| *held == terminal && *end > now)
    }

    /// Returns the terminal at which a process runs. A terminal at which a client stands between the process and the
    /// leader of the session does not count: an agent types there as well as a person.
    fn terminal(&self, lineage: &Lineage) -> Option<Terminal> {
        let (process, line) = (lineage.process(), lineage.processes());
        let leads = |other: &Process| other.id.pid == process.session && other.terminal == process.terminal;
        let leader = line.iter().position(leads).filter(|_| process.terminal != 0)?;
        if self.clients.are_among(&line[..leader]) {
            return None;
        }
        Some(Terminal { leader: line[leader].id, device: process.terminal })
    }
}

/// Returns the outcome of writing secrets.
fn kept<T>(written: Result<std::io::Result<T>, tokio::task::JoinError>) -> Result<T, Error> {
    let failed =
        |error: std::io::Error| Error::internal("the passphrase or token cannot be kept").with_source(error);
    written.map_err(std::io::Error::other).and_then(|written| written).map_err(failed)
}

fn unproved(how: &str, message: String) -> Error {
    let data = RawJson::from_written(format!(r#"{{"proof":"{how}"}}"#).into_bytes());
    Error::new(code::PERMISSION_DENIED, message).with_data(data)
}

fn descends(client: &Process) -> String {
    format!(
        "this process was started by a connected client (`{}`, process {}), so an agent may have typed the command: decide \
         at a terminal that the client has not started, or set a passphrase there by `mgp operators passphrase`, which then \
         is asked for here",
        client.name.escape_debug(),
        client.id.pid
    )
}

const UNTOLD: &str = "the system does not tell who started this process, so an agent may have: set a passphrase by `mgp \
                      operators passphrase`, which then is asked for";

/// The value of `data.proof` in a refusal where a passphrase will do.
pub(crate) const PASSPHRASE: &str = "passphrase";
/// The value of `data.proof` in a refusal where no passphrase is set yet.
const UNSET: &str = "unset";
/// The time for which a passphrase holds at a terminal.
const HOLDS: Duration = Duration::from_mins(10);
const AFTER_A_WRONG_ONE: Duration = Duration::from_secs(1);
const SHORTEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use crate::listen::peer::Attendance;

    fn proofs(state: &Path) -> ProofChecker {
        ProofChecker::open(state, Clock::system()).unwrap()
    }

    #[cfg(target_os = "linux")]
    fn own() -> OperatorConnection {
        OperatorConnection::at_socket(PeerProcess::Known(Lineage::of(std::process::id()).unwrap()))
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_clients_descendant_decides_with_the_passphrase_only() {
        let state = tempfile::tempdir().unwrap();
        let proofs = proofs(state.path());
        assert!(proofs.admit(&own()).is_ok());
        proofs.clients.note(Lineage::of(std::process::id()).unwrap(), Attendance::Person);
        let refused = proofs.admit(&own()).unwrap_err();
        assert!(refused.message().contains("mgp operators passphrase"), "{refused}");
        // Nor does it set one.
        assert!(proofs.set_passphrase(Some(&own()), None, "correct horse".into()).await.is_err());
        let person = OperatorConnection::in_process();
        proofs.set_passphrase(Some(&person), None, "correct horse".into()).await.unwrap();
        let connection = own();
        assert!(proofs.prove(&connection, Proof::Passphrase("correct house".into())).await.is_err());
        assert!(proofs.admit(&connection).is_err());
        proofs.prove(&connection, Proof::Passphrase("correct horse".into())).await.unwrap();
        assert!(proofs.admit(&connection).is_ok());
        // What was proved on one connection is not proved on another, but at the same terminal.
        assert!(proofs.admit(&OperatorConnection::in_process()).is_err());
    }

    #[tokio::test]
    async fn with_a_passphrase_everybody_proves() {
        let state = tempfile::tempdir().unwrap();
        let proofs = proofs(state.path());
        let connection = OperatorConnection::in_process();
        assert!(proofs.admit(&connection).is_ok());
        assert!(proofs.set_passphrase(Some(&connection), None, "short".into()).await.is_err());
        proofs.set_passphrase(Some(&connection), None, "correct horse".into()).await.unwrap();
        assert!(proofs.admit(&connection).is_err());
        // Another one takes the old one.
        assert!(proofs.set_passphrase(Some(&connection), None, "another horse".into()).await.is_err());
        let end = Timestamp::now().saturating_add(Duration::from_mins(1));
        let token = proofs.new_token("correct horse".into(), end).await.unwrap();
        proofs.prove(&connection, Proof::Token(token)).await.unwrap();
        assert!(proofs.admit(&connection).is_ok());
    }

    #[test]
    fn who_cannot_be_known_has_to_prove() {
        let state = tempfile::tempdir().unwrap();
        let unknown = OperatorConnection::at_socket(PeerProcess::Unknown);
        assert!(proofs(state.path()).admit(&unknown).is_err());
    }
}
