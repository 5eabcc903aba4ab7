//! The operator passphrase and tokens: given, set and issued; and the operators' way to the page.

use clap::Args;
use mgp_types::Error;
use mgp_types::mgp::Timestamp;
use serde::{Deserialize, Serialize};

use super::operation::{KernelNeed, Operation, OperatorCall};
use crate::lifecycle::page_door::{PageHolder, PageRole};
use crate::proof::{NeededProof, OperatorConnection, Proof};
use crate::terminal::line_form;

/// Reads whether a connection may decide.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadProofStatus {}

/// Asks for nothing but the passphrase: a request that is answered comes from a connection that may decide.
#[derive(Debug, Serialize, Deserialize)]
pub struct AdmitOperator {}

/// The status of a connection: whether it may decide.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProofStatus {
    /// True if a passphrase is set.
    pub passphrase_set: bool,
    /// What the connection has to give before it decides, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<NeededProof>,
    /// True if every program of the account may decide.
    pub without_proof: bool,
    /// True if no passphrase is set and a client has connected, so that nobody can approve calls.
    #[serde(default)]
    pub locked: bool,
}

/// Gives a passphrase or a token.
#[derive(Serialize, Deserialize)]
pub struct ProvePresence {
    pub(crate) passphrase: Option<String>,
    pub(crate) token: Option<String>,
}

mgp_types::partial_debug!(ProvePresence);

/// The result of giving a passphrase or a token.
#[derive(Debug, Serialize, Deserialize)]
pub struct PresenceProved {
    proved: bool,
}

/// Sets a passphrase, or lets every program of the account decide.
#[derive(Serialize, Deserialize)]
pub struct SetPassphrase {
    /// The new passphrase; without one, every program of the account may decide.
    pub new: Option<String>,
    /// The current passphrase, if one is set.
    pub old: Option<String>,
}

mgp_types::partial_debug!(SetPassphrase);

/// The result of setting a passphrase.
#[derive(Debug, Serialize, Deserialize)]
pub struct PassphraseSet {
    set: bool,
}

/// Issues a token that replaces the passphrase.
#[derive(Serialize, Deserialize)]
pub struct IssueToken {
    /// The operator passphrase.
    pub passphrase: String,
    /// The end of the token.
    pub expires_at: Timestamp,
}

mgp_types::partial_debug!(IssueToken, self => expires_at: self.expires_at);

/// A token that was just issued, which is shown only this once.
#[derive(Serialize, Deserialize)]
pub struct IssuedToken {
    token: String,
    expires_at: Timestamp,
}

mgp_types::partial_debug!(IssuedToken, self => expires_at: self.expires_at);

impl Operation for ReadProofStatus {
    type Reply = ProofStatus;

    async fn run(self, call: &OperatorCall) -> Result<ProofStatus, Error> {
        let proofs = &call.kernel.policies.proofs;
        let needed = call.connection.as_ref().map(|connection| proofs.needed(connection)).transpose()?;
        Ok(ProofStatus {
            passphrase_set: proofs.is_passphrase_set(),
            needed: needed.flatten(),
            without_proof: proofs.is_without_proof(),
            locked: proofs.is_locked(),
        })
    }
}

impl Operation for AdmitOperator {
    type Reply = ProofStatus;

    async fn run(self, call: &OperatorCall) -> Result<ProofStatus, Error> {
        ReadProofStatus {}.run(call).await
    }
}

impl Operation for ProvePresence {
    type Reply = PresenceProved;

    async fn run(self, call: &OperatorCall) -> Result<PresenceProved, Error> {
        // A client with a key has proved its identity by that.
        let Some(connection) = &call.connection else { return Ok(PresenceProved { proved: true }) };
        let proof = match (self.passphrase, self.token) {
            (Some(passphrase), None) => Proof::Passphrase(passphrase),
            (None, Some(token)) => Proof::Token(token),
            _ => return Err(Error::invalid_params("give either a `passphrase` or a `token`")),
        };
        let proved = call.kernel.policies.proofs.prove(connection, proof).await;
        let what = if proved.is_ok() { "operator_proved" } else { "operator_not_proved" };
        call.record_act(&format!("dev.cloto.mgp.{what}"), &[]).await?;
        proved.map(|()| PresenceProved { proved: true })
    }
}

impl Operation for SetPassphrase {
    type Reply = PassphraseSet;

    async fn run(self, call: &OperatorCall) -> Result<PassphraseSet, Error> {
        call.record_act("dev.cloto.mgp.operator_passphrase_asked", &[]).await?;
        call.kernel.policies.proofs.set_passphrase(of_socket(call, SECRETS_ARE)?, self.old, self.new).await?;
        call.record_act("dev.cloto.mgp.operator_passphrase_set", &[]).await?;
        call.kernel.config.accept_running();
        Ok(PassphraseSet { set: true })
    }
}

line_form!(PassphraseSet, |done| if done.set { "set" } else { "not set" });

impl Operation for IssueToken {
    type Reply = IssuedToken;

    async fn run(self, call: &OperatorCall) -> Result<IssuedToken, Error> {
        let until = self.expires_at.to_string();
        call.record_act("dev.cloto.mgp.operator_token_asked", &[("until", &until)]).await?;
        let proofs = &call.kernel.policies.proofs;
        let token = proofs.new_token(of_socket(call, SECRETS_ARE)?, self.passphrase, self.expires_at).await?;
        Ok(IssuedToken { token, expires_at: self.expires_at })
    }
}

line_form!(IssuedToken, |issued| issued.token);

/// Has the page served, and makes a code with which one browser signs in.
#[derive(Debug, Default, Serialize, Deserialize, Args)]
#[serde(default)]
pub struct OpenPage {
    /// The code lets somebody look at everything and decide nothing
    #[arg(long)]
    pub auditor: bool,
}

/// The origin of the page, and a code for one login.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenedPage {
    /// The address of the page.
    pub address: String,
    pub(crate) code: String,
}

impl Operation for OpenPage {
    const NEED: KernelNeed = KernelNeed::ANY_SERVERS;
    type Reply = OpenedPage;

    async fn run(self, call: &OperatorCall) -> Result<OpenedPage, Error> {
        let role = match of_socket(call, "the page is")?.is_own {
            _ if self.auditor => PageRole::Auditor,
            true => PageRole::Account,
            false => PageRole::Member,
        };
        let (address, code) =
            call.kernel.lifecycle.page.open(PageHolder { by: call.by.clone(), role }).await?;
        let role = if self.auditor { "auditor" } else { "operator" };
        call.record_act("dev.cloto.mgp.page_opened", &[("role", role)]).await?;
        Ok(OpenedPage { address, code })
    }
}

line_form!(OpenedPage, |page| format_args!("page: {}/\ncode: {}", page.address, page.code));

/// Returns the connection of the person who asks for `what`; a holder of an operator's key has none.
fn of_socket<'a>(call: &'a OperatorCall, what: &str) -> Result<&'a OperatorConnection, Error> {
    let why = || format!("{what} for operators at the kernel's socket, not for those with a key");
    call.connection.as_deref().ok_or_else(|| Error::invalid_request(why()))
}

/// The things that no holder of a key can ask for, as the refusal names them.
const SECRETS_ARE: &str = "passphrases and tokens are";
