//! The proof to the kernel that a person runs the command: the operators' passphrase, or a token for scripts.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};

use mgp_types::{Error, Object, code};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::{KernelLink, KernelNeed};
use crate::operator::method;
use crate::operator::operators::{ProofStatus, ProvePresence};
use crate::operator::proof::PASSPHRASE;

/// Returns whether the kernel refused a request because a person has to prove to be there, and this process can give
/// the proof.
pub(super) fn is_asked_for(error: &Error) -> bool {
    let asked = || Object::from_raw(error.data()?).ok()?.text("proof").map(|how| how == PASSPHRASE);
    match asked().filter(|_| error.code() == code::PERMISSION_DENIED) {
        Some(by_passphrase) => by_passphrase || token().is_some(),
        None => false,
    }
}

fn token() -> Option<String> {
    env::var(TOKEN).ok().filter(|token| !token.is_empty())
}

/// Makes the person prove to be there, for a decision that the command makes without the kernel.
pub(super) async fn person(place: &KernelLocation) -> Result<(), Failure> {
    let link = KernelLink::open(place, KernelNeed::State).await?;
    let admitted = admitted(&link).await;
    link.close().await;
    admitted
}

/// Makes the person prove to be there, if the kernel requires proof.
pub(super) async fn admitted(link: &KernelLink) -> Result<(), Failure> {
    link.ask::<ProofStatus>(method::OPERATORS_ADMIT, &()).await.map(drop)
}

/// Gives the proof with the token of the environment, or by asking for the passphrase on the terminal.
pub(super) async fn give(link: &KernelLink) -> Result<(), Failure> {
    if let Some(token) = token() {
        let proof = ProvePresence { token: Some(token), ..ProvePresence::default() };
        return link.client.request(method::OPERATORS_PROVE, &proof).await.map(drop).map_err(Failure::from);
    }
    for tries in 1.. {
        let passphrase = Some(ask("operators' passphrase: ").await?);
        let proof = ProvePresence { passphrase, ..ProvePresence::default() };
        match link.client.request(method::OPERATORS_PROVE, &proof).await {
            Ok(_) => break,
            Err(error) if tries < TRIES && is_asked_for(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Reads a passphrase from the terminal, which does not show it.
pub(super) async fn ask(what: &'static str) -> Result<String, Failure> {
    let read = tokio::task::spawn_blocking(move || read_hidden(what)).await;
    read.map_err(io::Error::other).and_then(|read| read).map_err(|error| {
        let message = format!(
            "this command requires the operators' passphrase, and there is no terminal to ask for it: {error}"
        );
        Failure::new(Exit::Auth, message)
            .hint(format!("scripts use a token: `mgp operators token` issues one, and {TOKEN} holds it"))
    })
}

/// Reads a line from the terminal, which shows the prompt `what` and not the line.
pub(super) fn read_hidden(what: &str) -> io::Result<String> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let hidden = HiddenInput::new(&terminal)?;
    terminal.write_all(what.as_bytes())?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    drop(hidden);
    terminal.write_all(b"\n")?;
    if read? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A terminal that does not show typed characters until this value is dropped.
struct HiddenInput {
    terminal: File,
    before: Termios,
}

impl HiddenInput {
    fn new(terminal: &File) -> io::Result<Self> {
        let terminal = terminal.try_clone()?;
        let before = tcgetattr(&terminal)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Flush, &hidden)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

/// The environment variable that holds a token for scripts.
pub(super) const TOKEN: &str = "MGP_OPERATORS_TOKEN";
/// The number of times that a person may type the passphrase.
const TRIES: u32 = 3;
