//! The transparent mode: each server of each instance is registered with the local kernel (§15.4).

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use mgp_types::Error;
use mgp_types::mgp::{
    DeregisterServer, ListedServer, Permission, RegisterMgp, RegisterServer, ServerId, ServerStatus,
    TrustLevel,
};

use super::follow::FollowsTools;
use super::remote::RemoteKernel;

/// The registrations of one instance's servers at the local kernel.
///
/// Registering is what clients do, not servers, so that this program is a client of the kernel that started it, too,
/// with a key that permits nothing else. What is registered is this program again, for one server each: an operator
/// approves each of them, and sees its whole command line.
pub(super) struct Registrations {
    pub(super) remote: Arc<RemoteKernel>,
    pub(super) local: Arc<RemoteKernel>,
    /// The text by which this program was started; the local kernel lists it among the commands that may be registered.
    pub(super) program: String,
    /// The servers that were registered.
    pub(super) known: BTreeSet<ServerId>,
}

#[async_trait]
impl FollowsTools for Registrations {
    fn remote(&self) -> &Arc<RemoteKernel> {
        &self.remote
    }

    /// Registers what the instance has, and removes what it has no more.
    async fn renew(&mut self) -> Result<(), Error> {
        let servers = self.remote.servers().await?;
        let present: BTreeSet<_> = servers.iter().filter_map(|server| self.id(server)).collect();
        let mut failed = None;
        for server in servers.iter().filter(|server| !server.tools.is_empty()) {
            if let Some(id) = self.id(server).filter(|id| !self.known.contains(id))
                && let Err(error) = self.register(id, server.id.as_str()).await
            {
                tracing::warn!(server = %server.id, %error, "a server of an instance is not registered");
                failed = Some(error);
            }
        }
        for gone in &self.known - &present {
            let removal = DeregisterServer::new(gone.clone()).with_reason("no_longer_needed");
            if let Err(error) = self.local.deregister(&removal).await {
                tracing::warn!(server = %gone, %error, "a server that is gone stays registered");
            }
            self.known.remove(&gone);
        }
        // What failed is tried again soon.
        failed.map_or(Ok(()), Err)
    }
}

impl Registrations {
    async fn register(&mut self, id: ServerId, server: &str) -> Result<(), Error> {
        if let Some(registered) = self.local.register(&self.registration(id.clone(), server)).await?
            && registered.status != ServerStatus::Registered
        {
            tracing::warn!(server = %id, message = registered.message, "a server of an instance is registered and does not run yet");
        }
        self.known.insert(id);
        Ok(())
    }

    /// Returns the id of a server here; `None` for a server that is not offered on, because it is remote there, too.
    fn id(&self, server: &ListedServer) -> Option<ServerId> {
        let id = format!("{PREFIX}{}.{}", self.remote.name(), server.id);
        (!server.id.as_str().starts_with(PREFIX) && id.len() <= LONGEST_ID).then(|| id.as_str().into())
    }

    fn registration(&self, id: ServerId, server: &str) -> RegisterServer {
        let instance = self.remote.instance();
        let (name, variable) = (&instance.name, &instance.key.variable);
        let mut args = vec!["federation".into()];
        args.extend(["--instance".into(), format!("{name}={}", instance.url.as_str())]);
        args.extend(["--key-env".into(), format!("{name}={variable}")]);
        if let Some(authorities) = &instance.authorities {
            args.extend(["--ca".into(), format!("{name}={}", authorities.file)]);
        }
        args.extend(["--server".into(), format!("{name}.{server}")]);
        let mut mgp = RegisterMgp::new(TrustLevel::Sandboxed, vec![Permission::NetworkOutbound]);
        mgp.extensions = EXTENSIONS.map(Into::into).into();
        let mut registration = RegisterServer::new(id, self.program.as_str(), args).with_mgp(mgp);
        registration.transport = Some("stdio".into());
        registration.env.insert(variable.clone(), format!("${{{variable}}}"));
        registration.created_by = Some("mgp-patterns federation".into());
        registration.justification = Some(format!("The server `{server}` of the kernel `{name}`"));
        registration
    }
}

/// The extensions of MGP that this program has.
pub(super) const EXTENSIONS: [&str; 3] = ["security", "streaming", "lifecycle"];

const PREFIX: &str = "remote.";

/// The length of the longest id that a kernel accepts.
const LONGEST_ID: usize = 64;
