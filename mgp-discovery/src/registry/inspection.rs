//! The inspection of servers' code: at registration, and again before each start.

use std::sync::Arc;

use mgp_types::mgp::{Actor, ServerId};

use super::admission::{check_again, script};
use super::event::RegistrationChange;
use super::registration_table::Claim;
use super::{
    Approval, ApprovedCode, InspectedCode, Inspection, LaunchMethod, RegistrationId, Registry, RegistryError,
    Result, ServerRegistration,
};

impl Registry {
    /// Returns the code that a registered server may be started with, read just now. The kernel calls this before each
    /// start. `None` stands for a server that was not registered, or has no script.
    ///
    /// # Errors
    /// The code differs from the code that was approved; then the server is held until it is approved again. Or the
    /// code does something that is not allowed.
    pub async fn check_code(&self, id: &ServerId) -> Result<Option<ApprovedCode>> {
        let Some(server) = self.0.table.get(id) else { return Ok(None) };
        if !server.is_approved() {
            let approve = server.approval_id.as_str();
            let why = format!("the server {id:?} waits: `mgp registrations approve {approve}` starts it");
            return Err(RegistryError::Forbidden(why));
        }
        let code = self.inspect(&server).await?;
        let files = server.changes(code.as_ref());
        if files.is_empty() {
            let argument = script(&server).map(|script| script.argument);
            return Ok(code.zip(argument).map(|(code, argument)| ApprovedCode { code, argument }));
        }
        // A concurrent change finds out about the code as well.
        if let Ok((claim, server)) = self.0.table.claim(id) {
            self.hold(claim, &server, code.as_ref()).await?;
            let (fleet, held) = (Arc::clone(&self.0.fleet), id.clone());
            // The caller is the start that the fleet gives up then.
            tokio::spawn(async move {
                if let Err(error) = fleet.stop(&held).await {
                    tracing::warn!(server = %held, %error, "a server whose code has changed could not be stopped");
                }
            });
        }
        Err(RegistryError::Changed { id: id.clone(), files })
    }

    /// Checks that a server is still allowed, and holds it back if its code has changed. Returns the claim on the server.
    pub(super) async fn unchanged(&self, claim: Claim, server: &ServerRegistration) -> Result<Claim> {
        check_again(&self.0.policy.load(), server)?;
        let code = self.inspect(server).await?;
        let files = server.changes(code.as_ref());
        if files.is_empty() {
            return Ok(claim);
        }
        self.hold(claim, server, code.as_ref()).await?;
        Err(RegistryError::Changed { id: server.id.clone(), files })
    }

    /// Holds a server back until the code that was found is approved.
    pub(super) async fn hold(
        &self,
        claim: Claim,
        server: &ServerRegistration,
        found: Option<&InspectedCode>,
    ) -> Result<()> {
        let (id, files) = (&server.id, server.changes(found).join(", "));
        let (approval, approval_id) = (Approval::Pending, RegistrationId::random());
        let approve = approval_id.as_str();
        tracing::warn!(server = %id, files, "changed code is held back: `mgp registrations approve {approve}` starts it");
        let held = ServerRegistration { approval, approval_id, ..server.clone() }.with_code(found);
        self.put(&RegistrationChange::new(Actor::kernel(), None, "held"), claim, held).await.map(drop)
    }

    /// Returns the server with the findings about its code, its command line and the system that is to confine it.
    pub(super) async fn judged(&self, server: ServerRegistration) -> Result<ServerRegistration> {
        let code = self.inspect(&server).await?;
        let mut server = server.with_code(code.as_ref());
        if !server.is_confined() {
            return Ok(server);
        }
        if let (LaunchMethod::Program { command, args, .. }, None) = (&server.launch, &server.digest) {
            let judged = self.0.inspector.judge_line(command, args);
            judged.map_err(|why| RegistryError::Forbidden(format!("`{}`: {why}", server.launch.line())))?;
        }
        server.unconfined = self.0.fleet.confines().err();
        Ok(server)
    }

    /// Returns the code of the server, if it has a script that has to be inspected.
    pub(super) async fn inspect(&self, server: &ServerRegistration) -> Result<Option<InspectedCode>> {
        let Some(script) = script(server) else { return Ok(None) };
        match self.0.inspector.inspect(script).await {
            Inspection::Harmless(code) => Ok(Some(*code)),
            Inspection::Rejected(rejection) => Err(RegistryError::Code(rejection)),
            Inspection::Unreadable(why) => Err(RegistryError::Forbidden(format!(
                "the script of a sandboxed server has to be inspected: {why}"
            ))),
        }
    }
}
