//! The full stack of security between a client and a server: reject, audit, limit, resolve, access, tasks, definitions,
//! validators, permission, confirmation, trace.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use mgp_client_sdk::Client;
use mgp_security::access::{AccessGate, AccessPolicy, TaskOwnersGate};
use mgp_security::audit::{AuditLayer, AuditLog, Filter, LogStore, Query, TraceIdGate};
use mgp_security::confirmation::{ConfirmationGate, ConfirmationSettings};
use mgp_security::definition::{DefinitionGuard, DefinitionGuardLayer, FirstUse, PinnedDefinitions};
use mgp_security::limit::{LimitGate, Limits};
use mgp_security::permission::{GrantBook, GrantTerms, PendingApprovals, PermissionGate, PermissionSettings};
use mgp_security::sqlite::Database;
use mgp_security::tool::{ResolveToolLayer, ToolRules};
use mgp_security::validator::{ValidateGate, Validators};
use mgp_security::{Clock, RejectGate};
use mgp_transport::era::EraMode;
use mgp_transport::{Accept, ConnectionLimits, connect, memory};
use mgp_types::mgp::{
    AccessGrant, AccessPermission, ApprovalPolicy, AuditEvent, ExtensionSet, Offer, Permission, ServerId,
    TrustLevel,
};
use mgp_types::{
    BoxedService, Error, Gate, Principal, Request, Response, Revision, RpcService, Session, gates,
};
use parking_lot::Mutex;
use tokio::io::AsyncWrite;
use tower_layer::Layer;
use tower_service::Service;

use crate::held::Held;

pub(crate) const AGENT: &str = "agent.one";
pub(crate) const SERVER: &str = "tool.upstream";

/// The differences of a stack from the usual one.
pub(crate) struct Setup {
    pub(crate) rules: ToolRules,
    pub(crate) settings: PermissionSettings,
    pub(crate) confirmation: Option<ConfirmationSettings>,
    pub(crate) limits: Limits,
    pub(crate) first_use: FirstUse,
    pub(crate) clock: Clock,
    pub(crate) offer: Option<Offer>,
    pub(crate) settle: bool,
}

impl Default for Setup {
    fn default() -> Self {
        let settings = PermissionSettings::new(ApprovalPolicy::Interactive)
            .with_grant(Permission::NetworkOutbound, GrantTerms::default())
            .unwrap();
        Self {
            rules: ToolRules::new(TrustLevel::Trusted),
            settings,
            confirmation: None,
            limits: Limits::new(),
            first_use: FirstUse::Trust,
            clock: Clock::system(),
            offer: Some(Offer::new(ExtensionSet::standard())),
            settle: true,
        }
    }
}

/// A server behind the full stack, and everything an operator has in hand.
pub(crate) struct Kernel {
    pub(crate) client: Client<BoxedService>,
    /// The stack, to be put behind an era of its own.
    pub(crate) stack: BoxedService,
    /// The way to the server below the stack.
    pub(crate) below: BoxedService,
    pub(crate) sent: Frames,
    pub(crate) log: AuditLog,
    pub(crate) policy: AccessPolicy,
    pub(crate) gate: PermissionGate,
    pub(crate) book: GrantBook,
    pub(crate) pending: PendingApprovals,
    pub(crate) guard: Arc<DefinitionGuard>,
    pub(crate) lists: DefinitionGuardLayer,
}

pub(crate) fn operator() -> Principal {
    Principal::operator("ada")
}

pub(crate) fn server_id() -> ServerId {
    SERVER.into()
}

impl Kernel {
    /// Returns the stack as `setup` says, in front of `server` in the era of `revision`.
    pub(crate) async fn before<A>(server: A, revision: Revision, setup: Setup) -> Self
    where
        A: Accept<Service: Unpin>,
    {
        let (near, far) = memory::pair(1 << 16);
        let (_, connection) = connect(far.0, far.1, &server, ConnectionLimits::default());
        tokio::spawn(connection);
        let log = AuditLog::open(LogStore::in_memory().unwrap()).unwrap();
        let audit = Arc::new(log.clone());
        let policy = AccessPolicy::builder().audit(audit.clone()).clock(setup.clock.clone()).build().unwrap();
        let book = GrantBook::open(Database::in_memory().unwrap(), audit.clone(), setup.clock.clone())
            .await
            .unwrap();
        let pending = PendingApprovals::new(setup.clock.clone());
        let approver = Arc::new(pending.clone());
        let gate =
            PermissionGate::new(server_id(), setup.settings, book.clone()).with_approver(approver.clone());
        let confirmation = setup
            .confirmation
            .unwrap_or_else(|| ConfirmationSettings::new().with_permission_instead(book.clone()));
        let guard = Arc::new(DefinitionGuard::new(
            PinnedDefinitions::load(setup.first_use, Database::in_memory().unwrap()).unwrap(),
        ));
        let lists = DefinitionGuardLayer::new(server_id(), guard.clone(), audit, setup.clock.clone());
        let session = Arc::new(OnceLock::<Arc<Session>>::new());
        let known = session.clone();
        let layers = Layers {
            audit: AuditLayer::new(log.clone()).for_server(server_id()),
            limit: LimitGate::new(setup.limits).for_server(server_id()),
            resolve: ResolveToolLayer::new(server_id(), setup.rules),
            access: AccessGate::new(policy.clone()).for_server(server_id()),
            tasks: TaskOwnersGate::new(),
            guard: lists.clone(),
            validate: ValidateGate::new(Validators::standard()),
            permission: gate.clone(),
            confirmation: ConfirmationGate::new(confirmation, approver),
            trace: TraceIdGate::to_peer(move || known.get().cloned()),
        };
        let (outer, inner) = (Held::default(), Held::default());
        let mode = if revision.is_stateless() { EraMode::Stateless } else { EraMode::Session };
        let sent = Frames::default();
        let client = Client::builder("kernel", "1.0.0")
            .era(mode)
            .revisions([revision])
            .tasks()
            .mgp(setup.offer)
            .layer(Held::default())
            .layer(From(Some(Principal::new(AGENT))))
            .layer(outer.clone())
            .layer(layers)
            .layer(inner.clone())
            .connect_io(near.0, sent.around(near.1))
            .await
            .unwrap();
        assert_eq!(client.revision(), Some(revision));
        session.set(client.session().unwrap()).unwrap();
        let (stack, mut below) = (outer.service(), inner.service());
        if setup.settle {
            gate.negotiate(&mut below, &client.session().unwrap()).await.unwrap();
        }
        let kernel = Self { client, stack, below, sent, log, policy, gate, book, pending, guard, lists };
        for tool in ["echo", "run", "evaluate", "wipe", "fetch"] {
            kernel.allow(AGENT, Some(tool)).await;
        }
        kernel
    }

    pub(crate) async fn allow(&self, agent: &str, tool: Option<&str>) {
        let grant = AccessGrant::of_server(agent.into(), server_id(), AccessPermission::Allow);
        let grant = match tool {
            Some(tool) => grant.for_tool(tool.into()),
            None => grant,
        };
        self.policy.grant(&operator(), None, grant).await.unwrap();
    }

    pub(crate) async fn permit(&self, permission: Permission) {
        self.book.grant(&operator(), &server_id(), &permission, GrantTerms::default()).await.unwrap();
    }

    /// Returns the events in the log, the oldest first.
    pub(crate) fn events(&self) -> Vec<AuditEvent> {
        let all = self.log.reader().query(&Query::after(Filter::default(), 0, 1_000)).unwrap();
        all.iter().map(|entry| entry.to_event().unwrap()).collect()
    }

    /// Returns the types of the events after the first `skip`.
    pub(crate) fn kinds(&self, skip: usize) -> Vec<String> {
        self.events()[skip..].iter().map(|event| event.event_type.as_str().to_owned()).collect()
    }
}

#[derive(Clone)]
struct Layers {
    audit: AuditLayer,
    limit: LimitGate,
    resolve: ResolveToolLayer,
    access: AccessGate,
    tasks: TaskOwnersGate,
    guard: DefinitionGuardLayer,
    validate: ValidateGate,
    permission: PermissionGate,
    confirmation: ConfirmationGate,
    trace: TraceIdGate,
}

impl<S: RpcService<Future: 'static> + Sync> Layer<S> for Layers {
    type Service = BoxedService;

    fn layer(&self, inner: S) -> BoxedService {
        let gates = gates![
            self.validate.clone(),
            self.permission.clone(),
            self.confirmation.clone(),
            self.trace.clone()
        ];
        let service = self.guard.layer(gates.layer(inner));
        let service = gates![self.access.clone(), self.tasks.clone()].layer(service);
        let service = self.limit.layer(self.resolve.layer(service));
        BoxedService::new(RejectGate::new().layer(self.audit.layer(service)))
    }
}

/// Says who calls; nobody, if none.
#[derive(Clone)]
pub(crate) struct From(pub(crate) Option<Principal>);

impl<S> Layer<S> for From {
    type Service = Named<S>;

    fn layer(&self, inner: S) -> Named<S> {
        Named { inner, principal: self.0.clone() }
    }
}

#[derive(Clone)]
pub(crate) struct Named<S> {
    inner: S,
    principal: Option<Principal>,
}

impl<S: RpcService> Service<Request> for Named<S> {
    type Response = Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> S::Future {
        request.context.principal.clone_from(&self.principal);
        self.inner.call(request)
    }
}

/// The bytes that were written to a server.
#[derive(Clone, Default)]
pub(crate) struct Frames(Arc<Mutex<Vec<u8>>>);

impl Frames {
    fn around<W>(&self, writer: W) -> Noted<W> {
        Noted { writer, frames: self.clone() }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

struct Noted<W> {
    writer: W,
    frames: Frames,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Noted<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = std::task::ready!(Pin::new(&mut self.writer).poll_write(cx, bytes))?;
        self.frames.0.lock().extend_from_slice(&bytes[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}
