//! The login of a person at a server, in the browser that shows the page of the kernel.

use mgp_client_sdk::oauth::LoopbackBrowser;
use mgp_types::Error;
use mgp_types::mgp::{AuditTarget, ServerId};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::operation::{KernelNeed, Operation, OperatorCall};
use super::server_orders::{ReconnectServer, known};
use crate::servers::authorization::{at_server, without_person};

/// Begins a login at a server. The kernel connects to the server anew once a person has signed in.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BeginLogin {
    pub(crate) server_id: ServerId,
}

/// A login that was begun.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BegunLogin {
    /// The page of the issuer, whose answer comes to a port of the kernel's machine.
    pub(crate) page: String,
}

impl Operation for BeginLogin {
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = BegunLogin;

    async fn run(self, call: &OperatorCall) -> Result<BegunLogin, Error> {
        let running = known(&call.kernel, &self.server_id)?;
        let server = running.config();
        let grant = server.oauth.as_ref().map(|oauth| oauth.grant);
        if server.has_logins_of_agents() || grant.is_some_and(|grant| without_person(grant).is_some()) {
            let what = format!("there is no common login at `{}`: `mgp login {0}` says more", self.server_id);
            return Err(Error::invalid_params(what));
        }
        let (show, shown) = oneshot::channel();
        let show = Mutex::new(Some(show));
        let browser = LoopbackBrowser::new(move |page| {
            // Nobody waits for the page any more if the caller has gone.
            let _ = show.lock().take().map(|show| show.send(page.to_owned()));
        });
        let port = server.oauth.as_ref().and_then(|oauth| oauth.redirect_port);
        let browser = port.into_iter().fold(browser, LoopbackBrowser::port);
        let oauth = at_server(&call.kernel.config.load_full(), server, None)?.browser(browser).build()?;
        let target = AuditTarget::new(Some(self.server_id.clone()), None);
        call.record("dev.cloto.mgp.login_begun", target, &[]).await?;
        let (call, server_id) = (call.clone(), self.server_id.clone());
        let login = tokio::spawn(async move {
            let login = async {
                oauth.login().await?;
                ReconnectServer { server_id: server_id.clone() }.run(&call).await
            };
            login.await.inspect_err(|error| {
                tracing::warn!(server = %server_id, %error, "a login that was begun came to nothing");
            })
        });
        match shown.await {
            Ok(page) => Ok(BegunLogin { page }),
            Err(_) => match login.await {
                Ok(Err(error)) => Err(error),
                _ => Err(Error::internal("the login ended before it began")),
            },
        }
    }
}
