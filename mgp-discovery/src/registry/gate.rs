//! The gate for the methods of `mgp/discovery`.

use mgp_types::mgp::{Extension, MethodForm, Refusal, method, written};
use mgp_types::{Error, Flow, Gate, RawJson, Request, RequestKind, Response, Revision, code};

use super::{RegistrationTerms, Registry, RegistryError};

/// Serves `mgp/discovery/list`, `mgp/discovery/register` and `mgp/discovery/deregister` (§15).
///
/// The gate sits inside of the layers that authenticate and record, and around the service that reaches servers: it
/// guards its own methods itself. The same three are served as tools under the names `mgp.discovery.list`,
/// `mgp/discovery/list` and `mgp_discovery_list`, and so on. As methods, the three exist only for a peer with which
/// `discovery` was negotiated. All other requests pass untouched.
///
/// The gate reads `context.session`, `context.principal`, `context.trace`, and notes refusals in `context.trail`.
/// Without a principal all is refused with 1002. The gate allocates for its own methods only. A change whose future is
/// dropped is made completely or not at all.
#[derive(Debug, Clone)]
pub struct DiscoveryGate {
    registry: Registry,
}

impl DiscoveryGate {
    /// Returns a gate that queries and changes `registry`.
    pub const fn new(registry: Registry) -> Self {
        Self { registry }
    }
}

impl Gate for DiscoveryGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        match DiscoveryRequest::of(request) {
            None => Flow::Pass(()),
            Some(asked) => Flow::answer_later(asked.answer(self.registry.clone(), request.take())),
        }
    }
}

/// The method that is called, and the form of the call.
#[derive(Debug, Clone, Copy)]
struct DiscoveryRequest {
    operation: DiscoveryOperation,
    form: MethodForm,
}

#[derive(Debug, Clone, Copy)]
enum DiscoveryOperation {
    List,
    Register,
    Deregister,
}

impl DiscoveryRequest {
    fn of(request: &Request) -> Option<Self> {
        let (form, method) = MethodForm::of(request)?;
        Some(Self { operation: DiscoveryOperation::of(method)?, form })
    }

    async fn answer(self, registry: Registry, request: Request) -> Result<Response, Error> {
        self.form.check(&request, &Extension::Discovery)?;
        if request.kind == RequestKind::Notify {
            return Err(Error::invalid_request(
                "servers are listed and registered by calls, not by notifications",
            ));
        }
        let outcome = self.result(&registry, &request).await;
        if let (Err(error), Some(trail)) = (&outcome, &request.context.trail)
            && matches!(
                error.code(),
                code::PERMISSION_DENIED | code::AUTH_REQUIRED | code::CODE_SAFETY_VIOLATION
            )
        {
            trail.note_refusal(Refusal::new("discovery", self.operation.rule()));
        }
        let revision = request.context.session.as_ref().map_or(Revision::LATEST, |session| session.revision);
        self.form.answer(outcome, revision)
    }

    async fn result(self, registry: &Registry, request: &Request) -> Result<RawJson, Error> {
        let context = &request.context;
        let by = context.principal.as_ref().ok_or(RegistryError::Unauthenticated)?;
        let form = self.form;
        match self.operation {
            DiscoveryOperation::List => written(&registry.list(context, &form.read(request)?)?),
            DiscoveryOperation::Register => {
                let register = form.read(request)?;
                written(&registry.register(by, context.trace, register, RegistrationTerms::default()).await?)
            }
            DiscoveryOperation::Deregister => {
                written(&registry.deregister(by, context.trace, &form.read(request)?).await?)
            }
        }
    }
}

impl DiscoveryOperation {
    fn of(method: &str) -> Option<Self> {
        match method {
            method::DISCOVERY_LIST => Some(Self::List),
            method::DISCOVERY_REGISTER => Some(Self::Register),
            method::DISCOVERY_DEREGISTER => Some(Self::Deregister),
            _ => None,
        }
    }

    const fn rule(self) -> &'static str {
        match self {
            Self::List => "discovery-list",
            Self::Register => "discovery-register",
            Self::Deregister => "discovery-deregister",
        }
    }
}
