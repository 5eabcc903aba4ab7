//! The server's side of both eras: the layer that opens sessions and reads stateless requests.

mod outgoing;
mod session;
mod stateless;

use std::sync::Arc;

use bytes::Bytes;
use mgp_types::mcp::{ForRevision, Implementation, meta::key};
use mgp_types::mgp::{Offer, TraceId};
use mgp_types::{
    CacheHint, Error, Flow, Gate, Gated, Method, Object, Outbox, RawJson, Request, RequestKind, Response,
    Revision, Session, code, json,
};

pub(crate) use self::outgoing::explain;
use self::session::OpenedSession;
use self::stateless::DescribedSession;
use crate::era::{lacking, refused};

/// A server behind a [`ServerEraGate`].
pub type ServerEra<S> = Gated<ServerEraGate, S>;

/// Serves both eras with one server, or one gateway. The gate sits outermost, behind the transport; each byte stream has its
/// own, and so has each session over HTTP.
///
/// Inbound it writes `context.session`: agreed by `initialize` once per connection, or described by each request's
/// `_meta`. The server behind it answers `server/discover` with its `capabilities` and `instructions`, and this gate
/// makes the results of `initialize` and `server/discover` from that. Outbound it adds the members that the era
/// requires of a result (`resultType`, `serverInfo`, cache hints) or removes them, and translates errors for the peer.
///
/// Messages that only MGP has do not leave to a peer that did not negotiate MGP, whichever layer sends them.
///
/// The gate refuses methods that the era does not have, sessions that were not opened, and requests that do not
/// describe themselves. The gate answers `ping`. The gate does not allocate for a request whose `_meta` is that of
/// the last one.
#[derive(Debug, Clone)]
pub struct ServerEraGate {
    identity: Arc<ServerIdentity>,
    connection: Arc<ServerEraConnection>,
}

#[derive(Debug)]
struct ServerEraConnection {
    opened: OpenedSession,
    described: DescribedSession,
}

impl ServerEraGate {
    /// Creates the gate of one connection, whose peer is reached through `outbox`.
    ///
    /// With a closed outbox the connection cannot hold a session, and every request has to describe itself.
    pub fn new(identity: Arc<ServerIdentity>, outbox: Outbox) -> Self {
        let (opened, described) = (OpenedSession::new(outbox), DescribedSession::default());
        Self { identity, connection: Arc::new(ServerEraConnection { opened, described }) }
    }

    /// Turns the request into its inner form, and returns how its answer is to leave.
    fn admit(&self, request: &mut Request) -> Result<Flow<AdmittedRequest>, Error> {
        let ServerEraConnection { opened, described } = &*self.connection;
        if !opened.can_open() || described.is_stateless(&request.params) {
            let session = described.session(&request.params, &self.identity)?;
            session::exists(&request.method, session.revision)?;
            let outgoing = if request.method == Method::DISCOVER {
                ResponseTreatment::Discovered
            } else {
                self.identity.check(&session)?;
                let cacheable = request.method.rule().is_some_and(|rule| rule.is_cacheable);
                ResponseTreatment::Stamped { cacheable }
            };
            return Ok(pass(request, session, outgoing));
        }
        if request.method == Method::PING && request.kind == RequestKind::Call {
            return Ok(Flow::answer(Response::empty()));
        }
        if request.method == Method::INITIALIZE && request.kind == RequestKind::Call {
            let session = opened.described(&request.params, &self.identity)?;
            request.method = Method::DISCOVER;
            return Ok(pass(request, session, ResponseTreatment::Initialized));
        }
        let session = opened.session()?;
        if request.method == Method::DISCOVER {
            let message = "`server/discover` needs a protocol version in `_meta`";
            return Err(refused(Error::invalid_params(message)));
        }
        session::exists(&request.method, session.revision)?;
        opened.connect(request);
        Ok(pass(request, session, ResponseTreatment::Stripped))
    }
}

/// A request on its way through the server, which the treatment of its answer depends on.
#[derive(Debug)]
pub struct AdmittedRequest {
    session: Arc<Session>,
    outgoing: ResponseTreatment,
    trace: Option<TraceId>,
}

fn pass(request: &mut Request, session: Arc<Session>, outgoing: ResponseTreatment) -> Flow<AdmittedRequest> {
    if session.mgp.is_none() {
        request.context.outbox = std::mem::take(&mut request.context.outbox).without_mgp();
    }
    request.context.session = Some(session.clone());
    let trace = outgoing::trace_for_errors(request, &session);
    Flow::Pass(AdmittedRequest { session, outgoing, trace })
}

/// The change to the answer on its way out.
#[derive(Debug, Clone, Copy)]
enum ResponseTreatment {
    Initialized,
    Discovered,
    Stamped { cacheable: bool },
    Stripped,
}

impl Gate for ServerEraGate {
    type Pass = AdmittedRequest;

    fn enter(&self, request: &mut Request) -> Flow<AdmittedRequest> {
        self.admit(request).unwrap_or_else(|error| {
            if request.kind == RequestKind::Call {
                return Flow::refuse(error);
            }
            tracing::debug!(%error, method = %request.method, "ignoring a notification");
            Flow::answer(Response::empty())
        })
    }

    fn leave(&self, admitted: AdmittedRequest, outcome: &mut Result<Response, Error>) {
        let AdmittedRequest { session, outgoing, trace } = admitted;
        let identity = &*self.identity;
        match (outcome.as_mut(), outgoing) {
            (Ok(response), ResponseTreatment::Stripped) => outgoing::strip(response),
            (Ok(response), ResponseTreatment::Stamped { cacheable }) => {
                outgoing::stamp(response, cacheable, identity);
            }
            (Ok(response), ResponseTreatment::Discovered) => {
                *outcome = session::discovered(response, identity).map(|mut response| {
                    outgoing::stamp(&mut response, true, identity);
                    response
                });
            }
            (Ok(response), ResponseTreatment::Initialized) => {
                *outcome = session::initialized(response, &session, identity).map(|mut response| {
                    self.connection.opened.open(session);
                    outgoing::strip(&mut response);
                    response
                });
            }
            (Err(_), _) => {
                let failed = std::mem::replace(outcome, Ok(Response::empty()));
                *outcome = failed.map_err(|error| outgoing::explain(error, &session, trace));
            }
        }
    }
}

/// The identity of a server on every connection: its name, its revisions, and its offer of MGP.
#[derive(Debug)]
pub struct ServerIdentity {
    info: Implementation,
    revisions: Vec<Revision>,
    /// The offer of MGP to clients that speak it. Default: none.
    pub mgp: Option<Offer>,
    /// The answer to a request for a revision that the server does not have. Default: a counter-offer.
    pub mismatch: VersionMismatch,
    /// The capabilities that a client must declare, like `sampling`; any client may ask for the server's description.
    /// Default: none.
    pub required: Vec<Box<str>>,
    /// The members that every stateless result begins with.
    stamp: Bytes,
    uncached_stamp: Bytes,
}

/// The answer to a client that opens a session with a revision the server does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "the specification knows these two answers")]
pub enum VersionMismatch {
    /// The server offers its newest revision.
    #[default]
    CounterOffer,
    /// The server answers with an error that names its revisions.
    Refuse,
}

impl ServerIdentity {
    /// Creates the identity of a server with this name that serves every revision and offers no MGP.
    pub fn new(info: Implementation) -> Self {
        let server_info = RawJson::from_value(&info).unwrap_or_else(|_| RawJson::empty_object());
        let mut stamp = br#""resultType":"complete","_meta":{""#.to_vec();
        stamp.extend_from_slice(key::SERVER_INFO.as_bytes());
        stamp.extend_from_slice(br#"":"#);
        stamp.extend_from_slice(server_info.as_bytes());
        stamp.push(b'}');
        let uncached_stamp = [&stamp[..], br#","ttlMs":0,"cacheScope":"private""#].concat();
        Self {
            info,
            revisions: Revision::ALL.to_vec(),
            mgp: None,
            mismatch: VersionMismatch::default(),
            required: Vec::new(),
            stamp: stamp.into(),
            uncached_stamp: uncached_stamp.into(),
        }
    }

    /// Serves only these revisions.
    #[must_use]
    pub fn with_revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.revisions = revisions.into_iter().collect();
        self.revisions.sort_unstable_by(|a, b| b.cmp(a));
        self.revisions.dedup();
        self
    }

    /// Returns the revisions served, newest first.
    pub fn revisions(&self) -> &[Revision] {
        &self.revisions
    }

    /// Checks that the client has all required capabilities.
    ///
    /// # Errors
    /// -32602, or -32021 where there are no sessions, with the capabilities that the client did not declare.
    fn check(&self, client: &Session) -> Result<(), Error> {
        let required = self.required.iter().map(|name| &**name);
        let missing: Vec<&str> = required.filter(|name| !client.peer_can(&[name])).collect();
        if missing.is_empty() {
            return Ok(());
        }
        if client.revision.is_stateless() {
            let missing = missing.into_iter().map(|name| (name.to_owned(), RawJson::empty_object()));
            return Err(Error::missing_client_capability(&missing.collect::<Object>().to_raw()));
        }
        Err(lacking("the client lacks capabilities this server needs", &missing))
    }

    /// Returns the error of an envelope that asks for a revision which is not served.
    fn unsupported(&self, requested: &str) -> Error {
        refused(Error::unsupported_version(code::UNSUPPORTED_PROTOCOL_VERSION, requested, self.revisions()))
    }

    /// Returns the name and version as `revision` writes them.
    fn info(&self, revision: Revision) -> RawJson {
        RawJson::from_value(&self.info.clone().for_revision(revision))
            .unwrap_or_else(|_| RawJson::empty_object())
    }

    /// Returns the revisions that `initialize` may agree on, newest first.
    fn session_revisions(&self) -> impl Iterator<Item = Revision> {
        self.revisions.iter().copied().filter(|revision| !revision.is_stateless())
    }

    /// Returns the members that every stateless result begins with that may be kept.
    fn cacheable_stamp(&self, hint: Option<&CacheHint>) -> Bytes {
        let Some(hint) = hint else { return self.uncached_stamp.clone() };
        let mut stamp = self.stamp.to_vec();
        stamp.extend_from_slice(br#","ttlMs":"#);
        stamp.extend_from_slice(hint.ttl_ms.to_string().as_bytes());
        stamp.extend_from_slice(br#","cacheScope":"#);
        json::write_string(&mut stamp, hint.scope.as_str());
        stamp.into()
    }
}
