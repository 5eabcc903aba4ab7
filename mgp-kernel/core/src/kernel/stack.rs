//! The order of the layers and gates behind the session of a connection, from the outside in. It is a security decision, so
//! all of it stands here, with its reasons; `ARCHITECTURE.md` follows a call through them.
//!
//! Outcomes are changed by those who know what stands in them: each extension its own members. What a refusal looks like to a
//! client is decided once, by `RejectGate`, and what a server's outcome looks like to the kernel by `ServerOutcomeGate`.

use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::config::Reach;
use mgp_lifecycle::call::{BreakerSettings, RetryPolicy, SendingLayer, SharedBreaker};
use mgp_lifecycle::idempotency::IdempotencyLayer;
use mgp_lifecycle::server::LifecycleLayer;
use mgp_security::RejectGate;
use mgp_security::access::{AccessGate, RunningAccessLayer};
use mgp_security::audit::{AuditLayer, TraceIdGate};
use mgp_security::auth::{AuthLayer, KeyScopeGate};
use mgp_security::confirmation::{ConfirmationGate, EditedCallGate};
use mgp_security::definition::DefinitionGuardLayer;
use mgp_security::limit::LimitGate;
use mgp_security::permission::PermissionGate;
use mgp_security::scope::ScopeGate;
use mgp_security::tool::OperationsGate;
use mgp_security::validator::ValidateGate;
use mgp_stream::call::StreamLayer;
use mgp_toolindex::discovery::{ToolDiscoveryGate, UnlistedCallGate};
use mgp_types::ext::{EnvelopeGate, ExtensionId};
use mgp_types::{BoxedService, Gate, Principal, Request, RpcService, gates};
use tower_layer::Layer;

use crate::admin::ProofGate;
use crate::approvals::{ParkedCallLayer, ParkedCallLimits, WaitingCallLayer, approvers_of};
use crate::call::checkpoints::CheckpointsGate;
use crate::call::effects::{EffectIdsGate, EffectRecord, ReplayGate};
use crate::call::hints::CallHintsGate;
use crate::call::meter::{MeterGate, OpenCallGate};
use crate::call::registry_timeout::RegistryTimeoutGate;
use crate::call::repeated_headers::RepeatedHeadersGate;
use crate::call::server_meta::{CallerMetaGate, KernelOptionsGate};
use crate::call::session_state::{CurrentSession, SessionStateGate};
use crate::data::DataReferencesGate;
use crate::front::cancel::UpstreamCanceller;
use crate::front::delegation::DelegationGate;
use crate::front::fallback;
use crate::front::listed_tools::ListedToolsGate;
use crate::front::resolve::ResolveToolGate;
use crate::front::suggestion::SuggestionGate;
use crate::methods::{ArgumentFaultsGate, MethodsAsToolsGate};
use crate::router::Router;
use crate::sections::Sections;
use crate::servers::upstream::{
    ConnectionShared, FallbackToolGate, ServerOutcomeGate, ServerStack, ServerSupport, UpstreamTransport,
    reach_here,
};
use crate::settings::paths;
use crate::telemetry::counts::RefusalGate;
use crate::{StartError, settings, telemetry};

/// Puts layers and gates around a service; a call meets the first one first.
macro_rules! stack {
    (=> $service:expr) => { $service };
    ($layer:expr $(, $further:expr)* $(,)? => $service:expr) => {
        $layer.layer(stack![$($further),* => $service])
    };
}

/// The layers between a client and the router. Those with a state are made once; their services share what they know.
pub(crate) struct ClientStack {
    sections: Arc<Sections>,
    pub(crate) waiting: WaitingCallLayer,
    audit: AuditLayer,
    cancelling: StreamLayer,
    pub(crate) parking: ParkedCallLayer,
    router: Router,
}

impl ClientStack {
    pub(crate) fn new(sections: &Sections, tools: ToolDiscoveryGate) -> Self {
        let Sections { audit, fleet, .. } = sections;
        let recording = AuditLayer::new(Arc::new(audit.log.clone()));
        let recording = recording.arguments(audit.arguments.clone()).clock(audit.clock.clone());
        Self {
            sections: Arc::new(sections.clone()),
            waiting: WaitingCallLayer::new(),
            parking: ParkedCallLayer::new(ParkedCallLimits::default(), Some(recording.clone())),
            audit: recording,
            cancelling: StreamLayer::relaying(UpstreamCanceller(Arc::clone(fleet))),
            router: Router::new(sections, tools),
        }
    }

    /// Returns the service that answers one connection, whose client `auth` lets in.
    pub(crate) fn service(&self, auth: &AuthLayer) -> BoxedService {
        BoxedService::new(self.layers(auth))
    }

    fn layers(&self, auth: &AuthLayer) -> impl RpcService<Future: 'static> + Sync + use<> {
        let Sections { policies, audit, fleet, visibility, counts, lifecycle, .. } = &*self.sections;
        let catalog = visibility.catalog.clone();
        let auth = auth.clone().methods_as_tools().resolved_behind(move |name| {
            let snapshot = catalog.read();
            let tool = &snapshot.called(name)?.resolved;
            Some((tool.server.clone(), tool.name.clone()))
        });
        // A kernel that ends waits for the calls of its clients, not for what goes on behind their answers. A call by
        // `mgp.tools.call` is one of the tool that it names, for all that follows. Log lines of all layers further in stand in
        // the span of the request.
        gates![lifecycle.unanswered.clone(), UnlistedCallGate::new()].layer(telemetry::traced(stack![
            // Nothing is done for an unknown caller, and nothing is recorded without a name.
            auth,
            // A call that waits for an operator goes on behind its answer, with all that renders and records its outcome.
            self.waiting,
            gates![
                RejectGate,
                // What is refused is a result too, for those who want results in envelopes.
                EnvelopeGate::default(),
                // The agent that a client speaks for is the caller, for everybody further in.
                DelegationGate(Arc::clone(&self.sections)),
            ],
            // The fallback tool is held to the same rules, and recorded like one that was asked for.
            fallback::layer(visibility.catalog.clone(), Arc::clone(fleet), audit.port()),
            // Outside of every decision about a known caller, or the record would miss denials; inside of `RejectGate`, which
            // writes them for the client.
            self.audit,
            // A client can stop its call anywhere, also where the call waits for a person or in line.
            self.cancelling,
            // A call that asked its client something goes on where it was when the client comes back with the answer, and
            // passes none of the layers above again.
            self.parking,
            gates![
                // All that knows the caller and may refuse stands further in.
                RefusalGate(Arc::clone(counts)),
                // From here on the tool of a call is known.
                ResolveToolGate(Arc::clone(&self.sections)),
                // Nothing further in decides on rights that another kernel may have taken away.
                policies.freshness.clone(),
                KeyScopeGate,
                policies.limit.clone(),
                // What changes something takes a person, over a connection of an operator.
                ProofGate(Arc::clone(&self.sections)),
                MethodsAsToolsGate::default(),
            ],
            // An agent's calls wait for its own places. Requests that end work or ask about health pass, and so do methods
            // of operators.
            SendingLayer::new().places(counts.agent_places.clone()),
            // Nothing new begins while the kernel drains. The router answers the methods of health.
            LifecycleLayer::new(lifecycle.life.clone()).answered_behind(),
            gates![
                // Whoever lists tools, a client is listed what it can read.
                ListedToolsGate,
                ArgumentFaultsGate,
                // What is suggested is what the caller may see, as it is when the call is made.
                SuggestionGate(Arc::clone(&self.sections)),
            ],
            => self.router.clone()
        ]))
    }
}

impl ServerStack {
    /// Puts the layers around `transport`, which leads to the connected incarnation of a server.
    ///
    /// # Errors
    /// Fails if the configuration of the server asks for something that there is not.
    pub(crate) fn new(shared: &ConnectionShared, transport: UpstreamTransport) -> Result<Self, StartError> {
        let ServerStack { service, explain, permissions, definitions, breaker } = layers(shared, transport)?;
        Ok(Self { service: BoxedService::new(service), explain, permissions, definitions, breaker })
    }
}

fn layers(
    shared: &ConnectionShared,
    transport: UpstreamTransport,
) -> Result<ServerStack<impl RpcService<Future: 'static> + Sync + use<>>, StartError> {
    let ConnectionShared { support, config: server, key, of_server, state, .. } = shared;
    let ServerSupport { policies, audit, concurrency, .. } = &**support;
    let config = support.config.load();
    let current = Arc::clone(&state.current);
    let session = move || current.load().as_ref().and_then(|client| client.session());
    let owners = Arc::clone(&policies.session_states);
    let peer: Arc<CurrentSession> = Arc::new(session.clone());
    let states = SessionStateGate { server: key.server.clone(), session: Arc::clone(&peer), owners };
    let id = key.server.clone();
    let timeout = settings::call_timeout(server);
    let (definitions, arguments, permissions, confirmation) = call_rules(shared)?;
    let safe = settings::passed_methods(&server.safe_methods)?;
    let keys = IdempotencyLayer::new(policies.keyed_calls.clone()).unless({
        let session = session.clone();
        move || session().is_some_and(|session| session.extensions().has(ExtensionId::Idempotency))
    });
    let effects = EffectRecord { audit: Arc::clone(audit), server: id.clone() };
    let checkpoints = CheckpointsGate {
        server: id.clone(),
        session: Arc::clone(&peer),
        key: policies.checkpoint_key.clone(),
    };
    let effect_ids =
        EffectIdsGate { config: Arc::clone(&support.config), session: peer, record: effects.clone() };
    let speaks_mgp = {
        let session = session.clone();
        move || session().is_some_and(|session| session.mgp.is_some())
    };
    let breaker = SharedBreaker::new(BreakerSettings::default());
    let mut retries = RetryPolicy::default();
    retries.max_delay = LONGEST_PAUSE;
    // The retry loop has an order of its own: no pause takes a place, the time in line is not held against the server,
    // and the breaker sees each try. All tries have the time of the call together.
    let sending = SendingLayer::new()
        .deadline(timeout)
        .retry(retries)
        .audit(audit.port())
        .places(settings::server_calls_at_once(&config, server, concurrency))
        .breaker(breaker.clone())
        .attempt_timeout(timeout, timeout)
        .timing_out_with(format!(
            "{id} did not answer within {} s; `timeout_ms` of its `[servers.limits]` in mgp.toml sets this time",
            timeout.as_secs_f64()
        ))
        .carry_when(speaks_mgp.clone());
    // Definitions are judged by lists that come the same way.
    let behind = stack![
        gates![KernelOptionsGate::new(speaks_mgp), CallerMetaGate::new(server), TraceIdGate::to_peer(session)],
        // Nobody is waited for from here on, and all that is tried again is one call with one key.
        keys,
        gates![
            // The call was made, so nothing is tried again, and the server is not to blame for what is asked of it.
            ServerOutcomeGate {
                server: server.id.as_str().into(),
                audit: Arc::clone(audit),
                max_bytes: settings::max_message_bytes(&config),
                is_confined: reach_here(&config, server) != Reach::All,
            },
            // Within whatever waits for people, as the time of every call is.
            RegistryTimeoutGate::new(server),
            // Servers see keys and transactions under ids of the kernel, never under those of agents.
            effect_ids,
            // From here on the checkpoint in a call is the server's own token.
            checkpoints,
        ],
        // Within whatever waits for people.
        sending,
        => transport
    ];
    // All that decides about a call, in one set: what was judged is judged again when the call has waited for a person.
    let decide = gates![
        // Callers are told of an edit also where a gate refuses what the operator wrote.
        EditedCallGate,
        FallbackToolGate::new(server),
        OpenCallGate(of_server.meter.clone(), state.uses.clone()),
        // A call that waited for a person is held to what other kernels decided meanwhile, or refused.
        policies.freshness.clone(),
        // A caller that may not call a tool learns nothing from how its arguments are judged.
        AccessGate::new(policies.access.clone()).for_server(id.clone()),
        // Scopes are told to those who may call the tool only, and no server sees their tokens.
        ScopeGate::new(policies.scopes.clone()),
        // A call that is refused to one agent uses up nothing of what others share.
        LimitGate::with(settings::server_limits(server), None, Arc::clone(&policies.limiter)),
        // A call that nobody may make or pay for is not judged further.
        CallHintsGate::new(id.clone(), Arc::clone(&support.config), Arc::clone(&policies.budgets)),
        // No server sees the state that another one, or the same one for another agent, gave.
        states,
        // From here on the operation of a request that calls no tool is known; a method that the table of methods
        // does not have ends here, unless the operator passes it.
        OperationsGate::new(id, settings::tool_rules(server, server.trust()))
            .passing(shared.passed.clone(), safe),
        definitions.gate(BoxedService::new(behind.clone())),
        RepeatedHeadersGate,
        arguments,
        policies.asks.clone(),
        policies.flows.clone(),
        permissions.clone(),
        // A repeated call with the key of one that was made has passed the same rules, and nobody is asked about it.
        ReplayGate { keys, record: effects },
        // A human sees the arguments that were checked, and what the human saw is what is forwarded.
        confirmation,
        // Data is fetched for calls that are made.
        DataReferencesGate { server: key.server.clone(), broker: Arc::clone(&support.data) },
    ];
    // A caller that loses access loses its running calls, also those that wait for a person.
    let running = RunningAccessLayer::new(policies.access.clone(), key.server.clone());
    let service = running.layer(decide.layer(MeterGate(of_server.meter.clone()).layer(behind)));
    let explain = Arc::new(move |request: &mut Request| {
        let mut answers = Vec::new();
        decide.explain(request, &mut answers);
        answers
    });
    Ok(ServerStack { service, explain, permissions, definitions, breaker })
}

/// The rules about the calls of one server that come from several sections of its settings.
type CallRules = (DefinitionGuardLayer, ValidateGate, PermissionGate, ConfirmationGate);

fn call_rules(shared: &ConnectionShared) -> Result<CallRules, StartError> {
    let ConnectionShared { support, config: server, key, .. } = shared;
    let ServerSupport { policies, audit, tools, .. } = &**support;
    let (config, id) = (support.config.load(), key.server.clone());
    let (guard, port, clock) = (Arc::clone(&policies.definitions), audit.port(), audit.clock.clone());
    let agent = key.agent.as_ref().map(Principal::access_id);
    let configured = settings::configured_server(&config, server)?;
    let definitions = DefinitionGuardLayer::new(id.clone(), agent.as_deref(), guard, configured, port, clock);
    let approver = approvers_of(&support.config, policies, audit, &shared.state.asked);
    let folder = support.folder(server, key);
    let protected = paths::protected(&config, server, &policies.own_files, &folder);
    let paths = paths::validator(&support.config, server, protected.clone(), &folder)?;
    let validators = settings::validators(&config, server, protected, tools.catalog.clone())?.with(paths);
    let allowed = settings::permissions(&config, &server.id)?;
    let confirmed = settings::confirmation(&config, server, policies.grants.clone());
    let arguments = settings::validate(&config, validators);
    let permissions = PermissionGate::new(id, allowed, policies.grants.clone(), Arc::clone(&approver));
    let confirmation = ConfirmationGate::new(confirmed, approver).sharing(policies.confirmed.clone());
    Ok((definitions, arguments, permissions, confirmation))
}

/// The longest pause before a retry: a caller is better told when to come again than kept waiting for long.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
