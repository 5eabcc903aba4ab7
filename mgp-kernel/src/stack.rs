//! The order of the layers. It is a security decision, so all of it stands here, with its reasons.

use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::catalog::Catalog;
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::registry::DiscoveryGate;
use mgp_lifecycle::call::{BreakerSettings, ConcurrencyLayer, FallbackLayer, RetryPolicy, SendingLayer};
use mgp_lifecycle::server::LifecycleLayer;
use mgp_security::RejectGate;
use mgp_security::access::{AccessGate, AccessMethodsGate};
use mgp_security::audit::{AuditLayer, TraceIdGate};
use mgp_security::auth::{AuthLayer, KeyScopeGate};
use mgp_security::confirmation::ConfirmationGate;
use mgp_security::definition::DefinitionGuardLayer;
use mgp_security::limit::LimitGate;
use mgp_security::permission::{Approver, PermissionGate};
use mgp_security::tool::OperationsGate;
use mgp_security::validator::ValidateGate;
use mgp_stream::call::StreamLayer;
use mgp_stream::event::{EventsGate, Publisher};
use mgp_toolindex::discovery::ToolDiscoveryGate;
use mgp_types::{Gate, gates};
use tower_layer::Layer;

use crate::StartError;
use crate::call::delegation::DelegationGate;
use crate::call::erased::ErasedService;
use crate::call::meter::{Meter, MeterGate};
use crate::call::resolve::ResolveToolLayer;
use crate::listen::http::RepeatedHeadersGate;
use crate::methods::{MethodsAsToolsGate, OwnPermissionsGate, ServerHealthGate};
use crate::notify::changes::AccessChangeGate;
use crate::notify::events::ChannelAudience;
use crate::operator::OperatorGate;
use crate::parked_calls::ParkedCallLayer;
use crate::router::Router;
use crate::servers::upstream::{
    BareWay, ConnectionKey, CurrentClient, FallbackToolGate, ResultSizeGate, ServerStack, ServerSupport,
};
use crate::{settings, telemetry};

/// The layers between a client and the router, made once; their services share what they know.
pub(crate) struct ClientStack {
    pub(crate) catalog: Catalog,
    pub(crate) delegation: DelegationGate,
    pub(crate) fallback: FallbackLayer,
    pub(crate) audit: AuditLayer,
    pub(crate) cancelling: StreamLayer,
    pub(crate) asking: ParkedCallLayer,
    pub(crate) resolve: ResolveToolLayer,
    pub(crate) limit: LimitGate,
    pub(crate) operators: OperatorGate,
    pub(crate) at_once: ConcurrencyLayer,
    pub(crate) permissions: OwnPermissionsGate,
    pub(crate) health: ServerHealthGate,
    pub(crate) life: LifecycleLayer,
    pub(crate) events: Publisher,
    pub(crate) audience: ChannelAudience,
    pub(crate) servers: DiscoveryGate,
    pub(crate) tell_access: AccessChangeGate,
    pub(crate) access: AccessMethodsGate,
    pub(crate) tools: ToolDiscoveryGate,
    pub(crate) router: Router,
}

impl ClientStack {
    /// No call waits any longer for a client that is away.
    pub(crate) fn stop_asking(&self) {
        self.asking.close();
    }

    /// What answers one connection whose client is let in by `auth`. From the inside out:
    pub(crate) fn service(&self, auth: &AuthLayer) -> ErasedService {
        let own_methods = gates![
            EventsGate::new(self.events.clone()).for_audience(self.audience.clone()),
            self.servers.clone(),
            self.tell_access.clone(),
            self.access.clone(),
            // What a model is given of the tools. What it finds is decided by the same policy as what it may call.
            self.tools.clone(),
        ];
        let service = own_methods.layer(self.router.clone());
        // Health is answered whatever the load, and nothing new begins while the kernel drains.
        let service = self.life.layer(service);
        let service = gates![self.permissions.clone(), self.health.clone()].layer(service);
        // Whatever ends work or tells of health passes, also where it is called as a tool, and so do operators.
        let service = self.at_once.layer(service);
        let known = gates![
            KeyScopeGate::new(),
            self.limit.clone(),
            // For operators only, also while the kernel drains; to all others there is no such thing.
            self.operators.clone(),
            MethodsAsToolsGate::default(),
        ];
        // From here on it is known which tool a call is for.
        let service = self.resolve.layer(known.layer(service));
        // A call that waited for an answer goes on where it was, and passes nothing of the above again.
        let service = self.asking.layer(service);
        // A client stops its call wherever that is, also where the call waits for a person or in line.
        let service = self.cancelling.layer(service);
        // Outside of every decision, or it would never see a denial; inside of what decides how a refusal looks.
        let service = self.audit.layer(service);
        // The other tool is held to the same rules and recorded like one that was asked for.
        let service = self.fallback.layer(service);
        // Whoever is spoken for is who calls, for everybody further in.
        let service = gates![RejectGate::new(), self.delegation.clone()].layer(service);
        // Nothing is done for somebody unknown, and nothing recorded without a name.
        let catalog = self.catalog.clone();
        let auth = auth.clone().methods_as_tools().resolved_behind(move |name| {
            let snapshot = catalog.read();
            let tool = &snapshot.called(name)?.resolved;
            Some((tool.server.clone(), tool.name.clone()))
        });
        let service = auth.layer(service);
        // Whatever is logged on the way stands in the span of the request.
        ErasedService::new(telemetry::traced(service))
    }
}

impl ServerStack {
    /// Puts the layers around `way`, which leads to whatever incarnation of `line` is connected; `current` is the one.
    pub(crate) fn new(
        support: &ServerSupport,
        server: &ServerConfig,
        line: &ConnectionKey,
        approver: Arc<dyn Approver>,
        current: CurrentClient,
        way: BareWay,
        meter: &Meter,
    ) -> Result<Self, StartError> {
        let ServerSupport { policies, audit, tools, books, .. } = support;
        let config = support.config.load();
        let session = move || current.load().as_ref().and_then(|client| client.session());
        let id = line.server.clone();
        let limits = &server.limits;
        let timeout = Duration::from_millis(limits.timeout_ms.unwrap_or(TIMEOUT_MS));
        let permissions = PermissionGate::new(
            id.clone(),
            settings::permissions(&config, &server.id)?,
            policies.grants.clone(),
        )
        .with_approver(Arc::clone(&approver));
        let (guard, port, clock) = (Arc::clone(&policies.definitions), audit.port(), audit.clock.clone());
        let definitions = match &line.agent {
            None => DefinitionGuardLayer::new(id.clone(), guard, port, clock),
            Some(agent) => DefinitionGuardLayer::of_agent(id.clone(), &agent.access_id(), guard, port, clock),
        };
        let definitions = definitions.configured(settings::configured_server(&config, server)?);

        let reads_deadlines = {
            let session = session.clone();
            move || session().is_some_and(|session| session.mgp.is_some())
        };
        // Within whatever waits for people. The loop has an order of its own: no pause takes a place, the time in line is not
        // held against the server, and the breaker sees each try.
        let service = SendingLayer::new()
            .deadline(timeout * TRIES)
            .retry(retries())
            .audit(audit.port())
            .places(settings::server_calls_at_once(&config, server))
            .breaker(BreakerSettings::default())
            .attempt_timeout(timeout, timeout)
            .carry_when(reads_deadlines)
            .layer(way);
        let confirmed = settings::confirmation(&config, server, policies.grants.clone());
        let validators = settings::validators(&config, server, &policies.own_files, tools.catalog.clone())?;
        let of_call = gates![
            RepeatedHeadersGate,
            ValidateGate::new(validators).argument_types(settings::argument_types(&config)),
            permissions.clone(),
            // A human sees the arguments that were checked, and what the human saw is what is forwarded.
            ConfirmationGate::new(confirmed, approver),
            TraceIdGate::to_peer(session),
            // The call was made, so nothing is tried again, and the server is not to blame for what is asked of it.
            ResultSizeGate { max_bytes: settings::max_result_bytes(&config, server) },
        ];
        let service = definitions.layer(of_call.layer(service));
        let passed = settings::passed_methods(&server.pass_methods)?;
        let safe = settings::passed_methods(&server.safe_methods)?;
        // A program that ends takes its tasks with it; with other servers they outlive the connection.
        let tasks = books.task_owners(line, server);
        let of_server = gates![
            FallbackToolGate::new(server),
            // All that a caller waits for counts.
            MeterGate(meter.clone()),
            // Whoever may not call a tool learns nothing from how its arguments are judged.
            AccessGate::new(policies.access.clone()).for_server(id.clone()),
            // What is refused to one agent uses up nothing of what others share.
            LimitGate::new(settings::server_limits(server)),
            tasks.clone(),
            // From here on it is known what a request that calls no tool asks for; a method that the table of methods does
            // not have ends here, unless the operator passes it.
            OperationsGate::new(id, settings::tool_rules(server)).passing(passed, safe),
        ];
        let service = of_server.layer(service);
        Ok(Self { service: ErasedService::new(service), permissions, definitions, tasks })
    }
}

/// A caller is better told when to come again than kept waiting for long.
fn retries() -> RetryPolicy {
    let mut policy = RetryPolicy::default();
    policy.max_delay = LONGEST_PAUSE;
    policy
}

const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const TIMEOUT_MS: u64 = 300_000;
const TRIES: u32 = 2;
