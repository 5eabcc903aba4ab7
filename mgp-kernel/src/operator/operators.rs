//! The proofs of operators that a person is there, and the passphrase and tokens for them.

use mgp_types::Error;
use mgp_types::mgp::{AuditTarget, Timestamp};
use serde::{Deserialize, Serialize};

use super::proof::{NeededProof, OperatorConnection, Proof, ProofChecker};
use super::request::OperatorRequest;

/// The status of a connection: whether it may decide.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProofStatus {
    /// True if a passphrase is set.
    pub(crate) passphrase_set: bool,
    /// The proof that the connection has to give before it decides, if it has to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) needed: Option<NeededProof>,
    /// True if decisions take no proof at all.
    pub(crate) without_proof: bool,
}

/// The params that prove that a person is there, by a passphrase or a token.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct ProvePresence {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) passphrase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
}

/// The result of a proof.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PresenceProved {
    pub(crate) proved: bool,
}

/// The params that ask for a new passphrase.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SetPassphrase {
    /// The new passphrase; without one, decisions take no proof from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<String>,
    /// The current passphrase, if one is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<String>,
}

/// The result of setting a passphrase.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PassphraseSet {
    pub(crate) set: bool,
}

/// The params that ask for a token that stands for the passphrase.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct NewToken {
    pub(crate) passphrase: String,
    pub(crate) expires_at: Timestamp,
}

/// A token that was just issued, which is shown only this once.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct IssuedToken {
    pub(crate) token: String,
    pub(crate) expires_at: Timestamp,
}

pub(super) fn standing(asked: &OperatorRequest, proofs: &ProofChecker) -> Result<ProofStatus, Error> {
    let needed = asked.connection.as_ref().map(|connection| proofs.needed(connection)).transpose()?.flatten();
    Ok(ProofStatus {
        passphrase_set: proofs.is_passphrase_set(),
        needed,
        without_proof: proofs.is_without_proof(),
    })
}

pub(super) async fn prove(
    asked: &OperatorRequest,
    proofs: &ProofChecker,
    proof: ProvePresence,
) -> Result<PresenceProved, Error> {
    // A client with a key has proved its identity by that.
    let Some(connection) = &asked.connection else { return Ok(PresenceProved { proved: true }) };
    let proof = match (proof.passphrase, proof.token) {
        (Some(passphrase), None) => Proof::Passphrase(passphrase),
        (None, Some(token)) => Proof::Token(token),
        _ => return Err(Error::invalid_params("a proof has either a `passphrase` or a `token`")),
    };
    let proved = proofs.prove(connection, proof).await;
    let what =
        if proved.is_ok() { "dev.cloto.mgp.operator_proved" } else { "dev.cloto.mgp.operator_not_proved" };
    asked.record(what, nothing(), &[]).await?;
    proved.map(|()| PresenceProved { proved: true })
}

pub(super) async fn set_passphrase(
    asked: &OperatorRequest,
    proofs: &ProofChecker,
    wanted: SetPassphrase,
) -> Result<PassphraseSet, Error> {
    asked.record("dev.cloto.mgp.operator_passphrase_asked", nothing(), &[]).await?;
    proofs.set_passphrase(of_socket(asked)?, wanted.old, wanted.new).await?;
    asked.record("dev.cloto.mgp.operator_passphrase_set", nothing(), &[]).await?;
    Ok(PassphraseSet { set: true })
}

pub(super) async fn new_token(
    asked: &OperatorRequest,
    proofs: &ProofChecker,
    wanted: NewToken,
) -> Result<IssuedToken, Error> {
    let until = wanted.expires_at.to_string();
    asked.record("dev.cloto.mgp.operator_token_asked", nothing(), &[("until", &until)]).await?;
    let token = proofs.new_token(of_socket(asked)?, wanted.passphrase, wanted.expires_at).await?;
    Ok(IssuedToken { token, expires_at: wanted.expires_at })
}

/// Returns the connection whose person is asked for a passphrase; a holder of an operator's key has none.
fn of_socket(asked: &OperatorRequest) -> Result<&OperatorConnection, Error> {
    asked.connection.as_deref().ok_or_else(|| {
        Error::invalid_request(
            "passphrases and tokens are for operators at the kernel's socket, not for those with a key",
        )
    })
}

const fn nothing() -> AuditTarget {
    AuditTarget::new(None, None)
}
