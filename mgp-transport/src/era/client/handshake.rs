//! The handshake, in the order of the specification's decision table.

use std::sync::Arc;

use mgp_types::{
    Error, Method, Object, Origin, Outbox, Params, RawJson, Request, Response, Revision, RpcService, Session,
    call_once, code,
};

use super::agreement::{AgreedSession, ClientRelay, RequestStamp};
use super::probe_verdict::{
    ProbeVerdict, ServerDescription, UnsupportedVersion, ended_by_request, judge, refuses_sessions,
    supported_versions, undescribed,
};
use super::{ClientIdentity, Era, EraMode, EraOptions, WireKind};
use crate::era::negotiated;

/// One handshake over one wire.
pub(super) struct Handshake<'a, W> {
    pub(super) wire: W,
    pub(super) identity: &'a ClientIdentity,
    pub(super) options: &'a EraOptions,
    pub(super) outbox: Outbox,
    pub(super) generation: u64,
}

impl<W: RpcService> Handshake<'_, W> {
    /// Finds out the era of the server, and opens a session where there are sessions.
    pub(super) async fn run(mut self) -> Result<AgreedSession, Error> {
        let modes = (self.identity.stateless_revision(), self.identity.session_revision());
        let mode = match (self.options.mode, modes) {
            (_, (None, None)) => return Err(Error::invalid_params("the client speaks no protocol version")),
            (EraMode::Auto | EraMode::PreferSession, (None, _)) => EraMode::Session,
            (EraMode::Auto | EraMode::PreferSession, (_, None)) => EraMode::Stateless,
            (mode, _) => mode,
        };
        match mode {
            EraMode::Session => self.open_session().await,
            EraMode::Stateless => self.discover().await,
            EraMode::Auto => self.find_out().await,
            // A server of both eras that declares extensions keeps the era without sessions: most have no name in a session,
            // and where each request stands alone its caller is known.
            EraMode::PreferSession => match self.options.kind {
                WireKind::Stream => self.begin_with_session().await,
                WireKind::Http { .. } => self.begin_with_description().await,
            },
        }
    }

    /// Opens a session again on a wire whose server has lost it, or asks a stateless server again for its versions.
    pub(super) async fn renew(mut self, era: Era) -> Result<AgreedSession, Error> {
        if era == Era::Session { self.open_session().await } else { self.run().await }
    }

    async fn find_out(&mut self) -> Result<AgreedSession, Error> {
        let options = self.options;
        if let Some(key) = &options.memory_key
            && options.memory.recall(key) == Some(Era::Session)
        {
            match self.open_session().await {
                Err(error) if error.origin() != Origin::Connection => {
                    tracing::debug!(%error, "the server changed its protocol; asking again");
                    options.memory.forget(key);
                }
                outcome => return outcome,
            }
        }
        if let Some(agreed) = self.probe().await? {
            return Ok(agreed);
        }
        let error = match self.open_session().await {
            Err(error) if error.code() == code::UNSUPPORTED_PROTOCOL_VERSION => error,
            outcome => return outcome,
        };
        // The server knows no sessions, so the probe was misunderstood or came too early.
        self.probe().await?.ok_or(error)
    }

    /// Opens a session, and asks for the description a server that refuses one, or that declares extensions. On a byte
    /// stream some servers of both eras stay with that of the first message.
    async fn begin_with_session(&mut self) -> Result<AgreedSession, Error> {
        let agreed = match self.open_session().await {
            Ok(agreed) => agreed,
            Err(error) if refuses_sessions(&error) => {
                tracing::debug!(%error, "the server refuses a session");
                return self.probe().await?.ok_or(error);
            }
            Err(error) => return Err(ended_by_request(error, self.options.kind)),
        };
        let described = if declares_extensions(&agreed.session) { self.probe().await? } else { None };
        Ok(described.unwrap_or(agreed))
    }

    /// Asks the server for its description, and opens a session with one that declares no extensions: over HTTP, a session
    /// that was opened for nothing would stay behind.
    async fn begin_with_description(&mut self) -> Result<AgreedSession, Error> {
        let agreed = self.find_out().await?;
        if agreed.stamp.is_none() || declares_extensions(&agreed.session) {
            return Ok(agreed);
        }
        match self.open_session().await {
            Err(error) if error.origin() != Origin::Connection => {
                tracing::debug!(%error, "the server refuses a session");
                Ok(agreed)
            }
            outcome => outcome,
        }
    }

    /// Asks the server for its description; returns `None` if the server is not of the era without sessions.
    async fn probe(&mut self) -> Result<Option<AgreedSession>, Error> {
        if self.identity.stateless_revision().is_none() {
            return Ok(None);
        }
        self.describe().await.map(Result::ok)
    }

    /// Asks the server for its description, when it has to be of the era without sessions.
    async fn discover(&mut self) -> Result<AgreedSession, Error> {
        let error = match self.describe().await? {
            Ok(agreed) => return Ok(agreed),
            Err(None) => Error::misbehaved("the server does not serve requests without a session"),
            Err(Some(error)) => error,
        };
        match undescribed(self.identity) {
            // A server that does not describe itself can still serve requests that stand alone.
            Some(description) if error.code() == code::METHOD_NOT_FOUND => self.stateless(description),
            _ => Err(error),
        }
    }

    /// Asks the server for its description, in another revision if the server wants that. The inner error is the refusal,
    /// if there is one, of a server that is not of the era without sessions.
    async fn describe(&mut self) -> Result<Result<AgreedSession, Option<Error>>, Error> {
        let Some(mut revision) = self.identity.stateless_revision() else {
            return Err(Error::invalid_params("the client speaks no protocol version without sessions"));
        };
        let mut is_retried = false;
        loop {
            let outcome = self.ask(revision).await;
            let refusal = outcome.as_ref().err().cloned();
            if let Some(error) = &refusal {
                tracing::debug!(%error, "the server refuses `server/discover`");
            }
            match judge(outcome, self.identity, self.options.kind) {
                ProbeVerdict::Stateless(description) => return self.stateless(description).map(Ok),
                ProbeVerdict::Retry(wanted) if !is_retried => {
                    revision = wanted;
                    is_retried = true;
                }
                ProbeVerdict::Retry(_) | ProbeVerdict::Session => return Ok(Err(refusal)),
                ProbeVerdict::Fail(error) => return Err(error),
            }
        }
    }

    async fn ask(&mut self, revision: Revision) -> Result<Response, Error> {
        let stamp = self.stamp(revision)?;
        let mut request = Request::call(Method::DISCOVER, Params::new());
        stamp.apply(&mut request.params);
        request.context.session = Some(Arc::new(Session::new(revision)));
        self.send(request).await
    }

    fn stamp(&self, revision: Revision) -> Result<RequestStamp, Error> {
        let info = self.identity.info(revision)?;
        Ok(RequestStamp::new(revision, &info, &self.identity.capabilities(revision)))
    }

    fn stateless(&self, description: ServerDescription) -> Result<AgreedSession, Error> {
        let stamp = self.stamp(description.revision)?;
        self.agree(description, Some(stamp))
    }

    /// Opens a session. A server that names other versions gets a second request with one of those.
    async fn open_session(&mut self) -> Result<AgreedSession, Error> {
        let Some(newest) = self.identity.session_revision() else {
            return Err(Error::invalid_params("the client speaks no protocol version with sessions"));
        };
        let result = match self.initialize(newest).await {
            Ok(result) => result,
            Err(error) => {
                let Some(supported) = supported_versions(&error) else { return Err(error) };
                let usable = self.identity.revisions.iter().copied().find(|revision| {
                    !revision.is_stateless()
                        && *revision != newest
                        && supported.iter().any(|v| v == revision.as_str())
                });
                match usable {
                    Some(revision) => self.initialize(revision).await?,
                    None => return Err(error.with_source(UnsupportedVersion::new(supported, self.identity))),
                }
            }
        };
        let description = self.read_session(&result)?;
        let agreed = self.agree(description, None)?;
        let mut initialized = Request::notify(Method::INITIALIZED, Params::new());
        initialized.context.session = Some(agreed.session.clone());
        self.send(initialized).await?;
        Ok(agreed)
    }

    async fn initialize(&mut self, revision: Revision) -> Result<Response, Error> {
        let mut params = Params::new();
        params.set("protocolVersion", RawJson::from_text(revision.as_str()));
        params.set("capabilities", self.identity.capabilities(revision).to_raw());
        params.set("clientInfo", self.identity.info(revision)?);
        self.send(Request::call(Method::INITIALIZE, params)).await
    }

    fn read_session(&self, response: &Response) -> Result<ServerDescription, Error> {
        let malformed = || Error::misbehaved("the answer to `initialize` is malformed");
        let result = Object::from_raw(&response.to_raw()).map_err(|_| malformed())?;
        let version = result.text("protocolVersion").ok_or_else(malformed)?;
        //= mcp 2024-11-05 lifecycle
        //# If the client does not support the version in the server's response, it SHOULD disconnect.
        let revision = match self.identity.speaks(&version) {
            Some(revision) if !revision.is_stateless() => revision,
            _ => return Err(UnsupportedVersion::new(vec![version.into_owned()], self.identity).into_error()),
        };
        let capabilities = match result.get("capabilities") {
            Some(capabilities) => Object::from_raw(&capabilities.detached()).map_err(|_| malformed())?,
            None => Object::new(),
        };
        let info = result.get("serverInfo").map(|info| info.detached());
        let instructions = result.text("instructions").map(Into::into);
        Ok(ServerDescription { revision, info, capabilities, instructions })
    }

    fn agree(
        &self,
        description: ServerDescription,
        stamp: Option<RequestStamp>,
    ) -> Result<AgreedSession, Error> {
        let ServerDescription { revision, info, capabilities, instructions } = description;
        self.identity.check(&capabilities)?;
        let mut session = Session::new(revision);
        session.mgp = negotiated(&capabilities, self.identity.offer.as_ref());
        session.peer = info;
        session.capabilities = capabilities;
        session.outbox = self.outbox.clone();
        if let Some(key) = &self.options.memory_key {
            self.options.memory.remember(key, if stamp.is_some() { Era::Stateless } else { Era::Session });
        }
        let relay = self.options.relays.then(|| ClientRelay::new(revision, self.identity.offer.clone()));
        let (session, relay, generation) = (Arc::new(session), relay.map(Arc::new), self.generation);
        Ok(AgreedSession { session, instructions, stamp, relay, generation })
    }

    async fn send(&mut self, request: Request) -> Result<Response, Error> {
        let answer = call_once(&mut self.wire, request);
        let timeout = self.options.handshake_timeout;
        let silent = || Error::timeout(format!("the server did not answer the handshake within {timeout:?}"));
        tokio::time::timeout(timeout, answer).await.unwrap_or_else(|_| Err(silent()))
    }
}

/// Returns whether the peer declares MGP, or one of the optional extensions.
fn declares_extensions(session: &Session) -> bool {
    session.mgp.is_some() || session.extensions() != mgp_types::ext::ExtensionIds::default()
}
