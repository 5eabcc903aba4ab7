//! The proof to the kernel that a person runs the command: the operators' passphrase, or a token for scripts; and
//! `mgp operators`, which sets and issues them.

use std::env;
use std::io::{self, BufRead as _};
use std::path::Path;
use std::sync::atomic::Ordering;

use clap::{Args, Subcommand};
use mgp_security::Clock;
use mgp_types::Error;
use mgp_types::mgp::Timestamp;

use super::context::CommandContext;
use super::input::{agrees, is_person_there};
use super::link::KernelLink;
use crate::admin::config::ReloadConfig;
use crate::admin::list::OperationEntry;
use crate::admin::operation::KernelNeed;
use crate::admin::operators::{AdmitOperator, IssueToken, ProvePresence, ReadProofStatus, SetPassphrase};
use crate::platform::read_hidden;
use crate::proof::{NeededProof, OperatorConnection, Proof, ProofChecker};
use crate::running::AcceptedConfig;
use crate::state_folder::users_state;
use crate::terminal::{Exit, Failure, Result, ahead};

#[derive(Debug, Subcommand)]
pub(super) enum OperatorsCommand {
    /// Set or change the passphrase that decisions require
    Passphrase(PassphraseArgs),
    /// Issue a token for scripts, which replaces the passphrase until it expires
    Token(TokenArgs),
}

#[derive(Debug, Args)]
pub(super) struct PassphraseArgs {
    /// Read the passphrase from standard input; the old passphrase, if any, on a line before the new one
    #[arg(long)]
    stdin: bool,
    /// Let every program of this account decide, without any proof; for machines that are thrown away
    #[arg(long)]
    without_proof: bool,
}

#[derive(Debug, Args)]
pub(super) struct TokenArgs {
    /// The end of the token: a time, or a span such as 8h
    #[arg(long, value_name = "WHEN", value_parser = ahead, default_value = "8h")]
    until: Timestamp,
    /// Read the passphrase from standard input
    #[arg(long)]
    stdin: bool,
}

/// Returns the proof that the kernel demands in a refusal, if this process can give it.
pub(super) fn demanded(refusal: &Error) -> Option<NeededProof> {
    let needed = NeededProof::of(refusal)?;
    let is_typed = needed.is_secret() || needed == NeededProof::First && is_person_there();
    (is_typed || token().is_some()).then_some(needed)
}

fn token() -> Option<String> {
    env::var(TOKEN).ok().filter(|token| !token.is_empty())
}

/// Makes the person prove to be there, for a decision that the command makes without the kernel.
pub(super) async fn person(cx: &CommandContext) -> Result<()> {
    KernelLink::with(cx, KernelNeed::State, admitted).await
}

/// Makes the person prove to be there, for a decision about the state in `state`, which no kernel has open, and which may be
/// damaged. Where nothing is set up, and no client was connected, nothing is guarded yet.
pub(super) async fn person_at(state: &Path) -> Result<()> {
    let checker = ProofChecker::open(users_state(state), Clock::system())?;
    let connection = OperatorConnection::of_account(None);
    match checker.needed(&connection)? {
        None | Some(NeededProof::First) => Ok(()),
        Some(needed) if needed.is_secret() || token().is_some() => {
            prove(needed, async |proof| checker.prove(&connection, proof).await).await
        }
        Some(_) => Ok(checker.admit(&connection)?),
    }
}

/// Makes the person prove to be there, if the kernel requires proof.
pub(super) async fn admitted(link: &KernelLink) -> Result<()> {
    link.ask(&AdmitOperator {}).await.map(drop)
}

/// Gives the proof with the token of the environment, if there is one that was not given on this connection.
pub(super) async fn by_token(link: &KernelLink) -> Result<()> {
    if let Some(token) = token().filter(|_| !link.is_token_given.swap(true, Ordering::Relaxed)) {
        prove_to(link, &Proof::Token(token)).await?;
    }
    Ok(())
}

async fn prove_to(link: &KernelLink, proof: &Proof) -> Result<(), Error> {
    link.client.request(OperationEntry::name_of::<ProvePresence>(), proof).await.map(drop)
}

/// Gives the proof with the token of the environment, or by asking at the terminal. Where none is set up yet, sets it up.
pub(super) async fn give(link: &KernelLink, needed: NeededProof) -> Result<()> {
    if needed == NeededProof::First && token().is_none() {
        return set_up(link).await;
    }
    prove(needed, async |proof| prove_to(link, &proof).await).await
}

/// Gives a proof to `take`: the token of the environment, or what the person types at the terminal.
async fn prove(needed: NeededProof, take: impl AsyncFn(Proof) -> Result<(), Error>) -> Result<()> {
    if let Some(token) = token() {
        return Ok(take(Proof::Token(token)).await?);
    }
    for tries in 1.. {
        match take(Proof::Passphrase(ask(prompt(needed), BY_TOKEN).await?)).await {
            Ok(()) => break,
            Err(error) if tries < TRIES && demanded(&error).is_some() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns the keys of the configuration that wait until an operator takes them.
pub(super) fn waiting(cx: &CommandContext) -> Vec<String> {
    cx.read().map(|read| AcceptedConfig::new(&read.state).held(&read.config).1).unwrap_or_default()
}

/// Takes what a command has changed in the configuration, where a passphrase guards that, and the person gives it. What
/// waited `before` is not taken with it.
pub(super) async fn take_change(cx: &CommandContext, before: &[String]) {
    if waiting(cx).is_empty() {
        return;
    }
    let taken = async {
        if !before.is_empty() {
            return Err(Failure::usage(format!("other changes waited before: {}", before.join(", "))));
        }
        if token().is_none() && !is_person_there() {
            return Err(Failure::usage("nobody gave the operators' passphrase"));
        }
        let reload = async |link: &KernelLink| link.ask(&ReloadConfig {}).await.map(drop);
        KernelLink::with(cx, KernelNeed::State, reload).await
    };
    if let Err(failure) = taken.await {
        let why = failure.message();
        cx.output.warning(&format!("the change waits until `mgp reload` takes it, because {why}"));
    }
}

/// Offers the person at the terminal to set up a proof, if none is set up yet and no client was connected.
pub(super) async fn offered(cx: &CommandContext) -> Result<()> {
    if !is_person_there() || cx.output.json {
        return Ok(());
    }
    let offer = async |link: &KernelLink| {
        let needed = link.ask(&ReadProofStatus {}).await?.needed;
        let question = "decisions take a proof that a person is there: set a passphrase for them now?";
        if needed == Some(NeededProof::First) && agrees(question).await? {
            set_up(link).await?;
        }
        Ok(())
    };
    KernelLink::with(cx, KernelNeed::State, offer).await
}

/// Has the person choose the operators' passphrase.
async fn set_up(link: &KernelLink) -> Result<()> {
    let wanted = SetPassphrase { new: Some(chosen().await?), old: None };
    link.client.request(OperationEntry::name_of::<SetPassphrase>(), &wanted).await?;
    Ok(())
}

/// Reads a new passphrase from the terminal, twice.
pub(super) async fn chosen() -> Result<String> {
    let new = ask("new operators' passphrase: ", BY_STDIN).await?;
    if ask("new operators' passphrase again: ", BY_STDIN).await? != new {
        return Err(Failure::usage("the two new passphrases differ"));
    }
    Ok(new)
}

/// Returns how a person is asked for a proof.
pub(super) const fn prompt(needed: NeededProof) -> &'static str {
    let is_account = matches!(needed, NeededProof::Account);
    if is_account { "password of this account: " } else { "operators' passphrase: " }
}

/// Reads a passphrase from the terminal, which does not show it. The failure where there is none has the `hint`.
pub(super) async fn ask(what: &'static str, hint: &str) -> Result<String> {
    let read = tokio::task::spawn_blocking(move || read_hidden(what)).await;
    read.map_err(io::Error::other).and_then(|read| read).map_err(|error| {
        let message = format!(
            "this command requires the operators' passphrase, and there is no terminal to ask for it: {error}"
        );
        Failure::new(Exit::Auth, message).hint(hint)
    })
}

pub(super) async fn operate(cx: &CommandContext, operators: OperatorsCommand) -> Result {
    let work = async |link: &KernelLink| match &operators {
        OperatorsCommand::Passphrase(wanted) => passphrase(link, wanted).await,
        OperatorsCommand::Token(wanted) => issue(link, wanted).await,
    };
    KernelLink::with(cx, KernelNeed::State, work).await
}

async fn passphrase(link: &KernelLink, wanted: &PassphraseArgs) -> Result {
    let standing = link.ask(&ReadProofStatus {}).await?;
    let old = match (standing.passphrase_set, wanted.stdin) {
        (false, _) => None,
        (true, true) => Some(line()?),
        (true, false) => Some(ask("current operators' passphrase: ", BY_STDIN).await?),
    };
    let new = match (wanted.without_proof, wanted.stdin) {
        (true, _) => None,
        (false, true) => Some(line()?),
        (false, false) => Some(chosen().await?),
    };
    let is_set = new.is_some();
    link.output.result(&link.ask(&SetPassphrase { new, old }).await?)?;
    if is_set {
        link.output.note(
            "decisions require the passphrase from now on; a terminal is asked again after ten minutes",
        );
    } else {
        link.output.warning(WITHOUT_PROOF);
    }
    Ok(Exit::Done)
}

async fn issue(link: &KernelLink, wanted: &TokenArgs) -> Result {
    let needed = link.ask(&ReadProofStatus {}).await?.needed.unwrap_or(NeededProof::Passphrase);
    let passphrase = if wanted.stdin {
        line()?
    } else if needed.is_secret() {
        ask(prompt(needed), BY_STDIN).await?
    } else {
        // The refusal says what has to be set first.
        String::new()
    };
    link.output.result(&link.ask(&IssueToken { passphrase, expires_at: wanted.until }).await?)?;
    link.output.note(&format!("the token is not shown again; give it only to the script, as {TOKEN}"));
    Ok(Exit::Done)
}

/// Reads a line of standard input.
fn line() -> Result<String> {
    let unread =
        |why: String| Failure::usage(format!("the passphrase cannot be read from standard input: {why}"));
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) => Err(unread("it has ended".into())),
        Ok(_) => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => Err(unread(error.to_string())),
    }
}

/// The environment variable that holds a token for scripts.
pub(super) const TOKEN: &str = "MGP_OPERATORS_TOKEN";
/// The hints on what replaces the terminal for a decision, and for setting a passphrase or making a token.
const BY_TOKEN: &str = "scripts use a token: `mgp operators token` makes it, MGP_OPERATORS_TOKEN holds it";
const BY_STDIN: &str = "with `--stdin`, `mgp operators` reads it from standard input";
/// The number of times that a person may type the passphrase.
const TRIES: u32 = 3;
/// The warning where decisions take no proof.
pub(super) const WITHOUT_PROOF: &str = "DECISIONS TAKE NO PROOF: every program of this account can approve and grant, agents' shells included; \
                                        `mgp operators passphrase` sets a passphrase";
