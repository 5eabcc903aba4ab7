//! The operator passphrase, or a token for scripts, as commands give it to the kernel; and `mgp operators`, which sets and
//! issues them.

use std::env;
use std::fs;
use std::io::{self, BufRead as _};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use clap::{Args, Subcommand};
use mgp_kernel_core::admin::config::ReloadConfig;
use mgp_kernel_core::admin::list::OperationEntry;
use mgp_kernel_core::admin::operation::KernelNeed;
use mgp_kernel_core::admin::operators::{
    AdmitOperator, IssueToken, ProofStatus, ProvePresence, ReadProofStatus, SetPassphrase,
};
use mgp_kernel_core::listen::socket::own_uid;
use mgp_kernel_core::platform::{become_self_with, read_hidden};
use mgp_kernel_core::proof::{NeededProof, OperatorConnection, Proof, ProofChecker};
use mgp_kernel_core::settings::running::AcceptedConfig;
use mgp_kernel_core::state::folder::users_state;
use mgp_kernel_core::terminal::{Exit, Failure, Result, ahead};
use mgp_security::Clock;
use mgp_types::Error;
use mgp_types::mgp::Timestamp;

use super::context::CommandContext;
use super::input::is_person_there;
use super::link::KernelLink;

#[derive(Debug, Subcommand)]
pub(super) enum OperatorsCommand {
    /// Set or change the passphrase without which nobody approves, grants or loosens anything
    Passphrase(PassphraseArgs),
    /// Issue a token for scripts, which replaces the passphrase until it expires
    Token(TokenArgs),
}

#[derive(Debug, Args)]
pub(super) struct PassphraseArgs {
    /// Read the passphrase from standard input; on a line before it, the current one, or the password of this account where
    /// that is needed
    #[arg(long)]
    stdin: bool,
    /// Let every program of this account decide without a passphrase; for disposable machines
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

/// Returns what the kernel asks for in a refusal, if this process can give it.
pub(super) fn demanded(refusal: &Error) -> Option<NeededProof> {
    let needed = NeededProof::of(refusal)?;
    let is_typed = needed.is_secret() || needed == NeededProof::First && is_person_there();
    (is_typed || token().is_some()).then_some(needed)
}

fn token() -> Option<String> {
    TAKEN.get().filter(|token| !token.is_empty()).cloned()
}

/// The token that was in the environment.
static TAKEN: OnceLock<String> = OnceLock::new();

/// Takes the token out of the environment, which other programs of the account can read, and which programs that this one
/// starts get: this process becomes itself anew, and reads the token from a pipe.
pub(super) fn take_token() {
    let Ok(given) = env::var(TOKEN) else { return };
    let token = if let Some(number) = given.strip_prefix(IN_FILE) {
        fs::read_to_string(format!("/dev/fd/{number}")).unwrap_or_default()
    } else {
        // Where that fails, the token stays where it is.
        let _ = become_self_with(&given, |number| (TOKEN, format!("{IN_FILE}{number}")));
        given
    };
    let _ = TAKEN.set(token.trim_end().to_owned());
}

/// The beginning of the variable's value if the token stands in an open file: its number follows.
const IN_FILE: &str = "fd:";

/// Has the person give the passphrase for a decision that the command makes without the kernel.
pub(super) async fn person(cx: &CommandContext) -> Result<()> {
    KernelLink::with(cx, KernelNeed::State, admitted).await
}

/// Has the person give the passphrase for a decision about the state in `state`, which no kernel has open, and which may be
/// damaged. Nothing is needed while none is set and this process may set it.
pub(super) async fn person_at(state: &Path) -> Result<()> {
    let checker = ProofChecker::open(users_state(state), Clock::system())?;
    let connection = OperatorConnection::of_this_process();
    match checker.needed(&connection)? {
        None | Some(NeededProof::First) => Ok(()),
        Some(needed) if needed.is_secret() || token().is_some() => {
            prove(needed, async |proof| checker.prove(&connection, proof).await).await
        }
        Some(_) => Ok(checker.admit(&connection)?),
    }
}

/// Has the person give the passphrase, if the kernel asks for it.
async fn admitted(link: &KernelLink) -> Result<()> {
    link.ask(&AdmitOperator {}).await.map(drop)
}

/// Warns a person who is about to answer questions that nobody can approve anything.
pub(super) async fn warn_if_locked(link: &KernelLink) -> Result<()> {
    if link.ask(&ReadProofStatus {}).await?.locked {
        link.output.warning(LOCKED);
    }
    Ok(())
}

/// Gives the token of the environment, if there is one that was not given on this connection.
pub(super) async fn by_token(link: &KernelLink) -> Result<()> {
    if let Some(token) = token().filter(|_| !link.is_token_given.swap(true, Ordering::Relaxed)) {
        prove_to(link, &Proof::Token(token)).await?;
    }
    Ok(())
}

async fn prove_to(link: &KernelLink, proof: &Proof) -> Result<(), Error> {
    link.client.request(OperationEntry::name_of::<ProvePresence>(), proof).await.map(drop)
}

/// Gives the token of the environment, or what the person types at the terminal. Has the person choose the passphrase if
/// none is set.
pub(super) async fn give(link: &KernelLink, needed: NeededProof) -> Result<()> {
    if needed == NeededProof::First && token().is_none() {
        link.output.note("This needs an operator passphrase, and none is set yet.");
        let new = chosen().await?;
        return set(link, new).await;
    }
    prove(needed, async |proof| prove_to(link, &proof).await).await
}

/// Gives `take` the token of the environment, or what the person types at the terminal.
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

/// Returns the keys of the configuration that wait until an operator accepts them.
pub(super) fn waiting(cx: &CommandContext) -> Vec<String> {
    cx.read_written().map(|read| AcceptedConfig::new(&read.state).held(&read.config).1).unwrap_or_default()
}

/// Accepts what a command has changed in the configuration, where that needs the passphrase and the person gives it. What
/// waited `before` is not accepted with it.
pub(super) async fn take_change(cx: &CommandContext, before: &[String]) {
    if waiting(cx).is_empty() {
        return;
    }
    let taken = async {
        if !before.is_empty() {
            return Err(Failure::usage(format!("other changes waited before: {}", before.join(", "))));
        }
        if token().is_none() && !is_person_there() {
            return Err(Failure::usage("nobody gave the operator passphrase"));
        }
        let reload = async |link: &KernelLink| link.ask(&ReloadConfig {}).await.map(drop);
        KernelLink::with(cx, KernelNeed::State, reload).await
    };
    if let Err(failure) = taken.await {
        let why = failure.message();
        cx.output.warning(&format!("the change waits until `mgp reload` takes it, because {why}"));
    }
}

/// Offers the person at the terminal to set the passphrase before it is needed. Enter skips this.
pub(super) async fn offered(cx: &CommandContext) -> Result<()> {
    if !is_person_there() || cx.output.json {
        return Ok(());
    }
    let offer = async |link: &KernelLink| {
        if link.ask(&ReadProofStatus {}).await?.needed != Some(NeededProof::First) {
            return Ok(());
        }
        link.output.note("mgp asks you before dangerous calls. Approving one needs an operator passphrase, which no agent knows.");
        let new = ask("New operator passphrase (press Enter to skip): ", BY_STDIN).await?;
        if new.is_empty() {
            link.output.note("Set it before you connect a client: mgp operators passphrase");
            return Ok(());
        }
        let new = repeated(new).await?;
        set(link, new).await
    };
    KernelLink::with(cx, KernelNeed::State, offer).await
}

/// Sets the first passphrase.
async fn set(link: &KernelLink, new: String) -> Result<()> {
    let wanted = SetPassphrase { new: Some(new), old: None };
    link.client.request(OperationEntry::name_of::<SetPassphrase>(), &wanted).await?;
    Ok(())
}

/// Reads a new passphrase from the terminal, twice.
async fn chosen() -> Result<String> {
    repeated(ask("New operator passphrase: ", BY_STDIN).await?).await
}

/// Returns a new passphrase once the person has typed it again.
async fn repeated(new: String) -> Result<String> {
    if ask("New operator passphrase again: ", BY_STDIN).await? != new {
        return Err(Failure::usage("the two passphrases differ, so none was set"));
    }
    Ok(new)
}

/// Returns how a person is asked for what `needed` names.
const fn prompt(needed: NeededProof) -> &'static str {
    if matches!(needed, NeededProof::Account) {
        "This needs the password of your account.\nPassword: "
    } else {
        "This needs your operator passphrase.\nOperator passphrase: "
    }
}

/// Reads a passphrase from the terminal, which does not show it. The failure where there is none has the `hint`.
async fn ask(what: &'static str, hint: &str) -> Result<String> {
    let read = tokio::task::spawn_blocking(move || read_hidden(what)).await;
    read.map_err(io::Error::other).and_then(|read| read).map_err(|error| {
        let message =
            format!("this needs the operator passphrase, and there is no terminal to ask for it: {error}");
        Failure::new(Exit::Auth, message).hint(hint)
    })
}

pub(super) async fn operate(cx: &CommandContext, operators: OperatorsCommand) -> Result {
    let work = async |link: &KernelLink| match &operators {
        OperatorsCommand::Passphrase(wanted) => passphrase(cx, link, wanted).await,
        OperatorsCommand::Token(wanted) => issue(link, wanted).await,
    };
    KernelLink::with(cx, KernelNeed::State, work).await
}

/// Sets the passphrase. Whatever is needed for that comes first, so that nobody chooses one in vain.
async fn passphrase(cx: &CommandContext, link: &KernelLink, wanted: &PassphraseArgs) -> Result {
    let ProofStatus { passphrase_set, needed, .. } = link.ask(&ReadProofStatus {}).await?;
    let old = match needed {
        _ if passphrase_set => Some(given(link, NeededProof::Passphrase, wanted.stdin).await?),
        Some(NeededProof::Account) => Some(given(link, NeededProof::Account, wanted.stdin).await?),
        Some(NeededProof::Unset) => {
            let socket = Box::pin(cx.read_to_reach()).await?.socket;
            return Err(Failure::new(Exit::Auth, NO_LOGIN).hint(ways_to_set(&socket)));
        }
        _ => None,
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
            "Approvals need the passphrase from now on. A terminal asks for it again after ten minutes.",
        );
    } else {
        link.output.warning(WITHOUT_PROOF);
    }
    Ok(Exit::Done)
}

/// Has the person give what `needed` names, and returns it once the kernel has accepted it.
async fn given(link: &KernelLink, needed: NeededProof, is_piped: bool) -> Result<String> {
    let mut tries = 1;
    loop {
        let secret = if is_piped { line()? } else { ask(prompt(needed), BY_STDIN).await? };
        match prove_to(link, &Proof::Passphrase(secret.clone())).await {
            Ok(()) => return Ok(secret),
            Err(error) if tries < TRIES && !is_piped && NeededProof::of(&error).is_some() => {
                link.output.note(error.message());
                tries += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns how a person sets the first passphrase once an agent could do so, too.
pub(super) fn ways_to_set(socket: &Path) -> String {
    let mut ways = Vec::new();
    if cfg!(target_os = "linux") {
        let login = "run it where no client can have started the terminal: on the console, over ssh, or with `docker exec -it` \
                     or `kubectl exec -it` (tmux, editors and desktop terminals do not count)";
        ways.push(login.to_owned());
    }
    if cfg!(windows) {
        ways.push(
            "on Windows only a new state gets a first passphrase: `mgp stop`, then rename the state folder"
                .to_owned(),
        );
    } else if own_uid() != 0 {
        ways.push(format!("or as root: sudo mgp --socket {} operators passphrase", socket.display()));
    }
    ways.join("\n")
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
    link.output.note(&format!("The token is not shown again. Give it only to the script, as {TOKEN}."));
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
/// The hints on what replaces the terminal for a decision, and for setting a passphrase or issuing a token.
const BY_TOKEN: &str = "scripts use a token: `mgp operators token` issues it, MGP_OPERATORS_TOKEN passes it";
const BY_STDIN: &str = "with `--stdin`, `mgp operators` reads it from standard input";
/// The number of times that a person may type the passphrase.
const TRIES: u32 = 3;
/// The warning where no passphrase is needed.
pub(super) const WITHOUT_PROOF: &str = "NO PASSPHRASE IS NEEDED: every program of this account can approve and grant, agents' shells included; \
                                        `mgp operators passphrase` sets a passphrase";
/// The fault of a kernel at which nobody can approve anything.
pub(super) const LOCKED: &str =
    "no operator passphrase is set, so nobody can approve calls. Set one: mgp operators passphrase";
const NO_LOGIN: &str = "no operator passphrase is set, and a client has already connected, so an agent may have sent this command";
