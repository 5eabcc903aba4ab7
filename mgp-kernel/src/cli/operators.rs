//! `mgp operators`: sets the operators' passphrase, and issues tokens for scripts.

use std::io::{self, BufRead as _};

use clap::{Args, Subcommand};
use mgp_types::mgp::Timestamp;

use super::context::CommandContext;
use super::link::KernelLink;
use super::proof::{self, TOKEN};
use crate::admin::command::KernelNeed;
use crate::admin::operators::{IssueToken, ReadProofStatus, SetPassphrase};
use crate::proof::NeededProof;
use crate::terminal::{Exit, Failure, ahead};

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

pub(super) async fn run(cx: &CommandContext, operators: OperatorsCommand) -> Result<Exit, Failure> {
    let work = async |link: &KernelLink| match &operators {
        OperatorsCommand::Passphrase(wanted) => passphrase(link, wanted).await,
        OperatorsCommand::Token(wanted) => token(link, wanted).await,
    };
    KernelLink::with(cx, KernelNeed::State, work).await
}

async fn passphrase(link: &KernelLink, wanted: &PassphraseArgs) -> Result<Exit, Failure> {
    let standing = link.ask(&ReadProofStatus {}).await?;
    let old = match (standing.passphrase_set, wanted.stdin) {
        (false, _) => None,
        (true, true) => Some(line()?),
        (true, false) => Some(proof::ask("current operators' passphrase: ").await?),
    };
    let new = match (wanted.without_proof, wanted.stdin) {
        (true, _) => None,
        (false, true) => Some(line()?),
        (false, false) => Some(proof::chosen().await?),
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

async fn token(link: &KernelLink, wanted: &TokenArgs) -> Result<Exit, Failure> {
    let standing = link.ask(&ReadProofStatus {}).await?;
    let needed = standing.needed.unwrap_or(NeededProof::Passphrase);
    let passphrase = if wanted.stdin { line()? } else { proof::ask(proof::prompt(needed)).await? };
    link.output.result(&link.ask(&IssueToken { passphrase, expires_at: wanted.until }).await?)?;
    link.output.note(&format!("the token is not shown again; give it only to the script, as {TOKEN}"));
    Ok(Exit::Done)
}

/// Reads a line of standard input.
fn line() -> Result<String, Failure> {
    let unread =
        |why: String| Failure::usage(format!("the passphrase cannot be read from standard input: {why}"));
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) => Err(unread("it has ended".into())),
        Ok(_) => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => Err(unread(error.to_string())),
    }
}

/// The warning where decisions take no proof.
pub(super) const WITHOUT_PROOF: &str = "DECISIONS TAKE NO PROOF: every program of this account can approve and grant, agents' shells included; \
                                        `mgp operators passphrase` sets a passphrase";
