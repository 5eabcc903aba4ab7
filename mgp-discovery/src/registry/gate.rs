//! The gate for the methods of `mgp/discovery`.

use mgp_types::mgp::{Extension, MethodForm, Refusal, method, written};
use mgp_types::{Error, Flow, Gate, Request, RequestKind, Response, Revision, code};

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
        let Some((form, method)) = MethodForm::of(request) else { return Flow::Pass(()) };
        let rule = match method {
            method::DISCOVERY_LIST => "discovery-list",
            method::DISCOVERY_REGISTER => "discovery-register",
            method::DISCOVERY_DEREGISTER => "discovery-deregister",
            _ => return Flow::Pass(()),
        };
        Flow::answer_later(answer(self.registry.clone(), form, rule, request.take()))
    }
}

async fn answer(
    registry: Registry,
    form: MethodForm,
    rule: &'static str,
    request: Request,
) -> Result<Response, Error> {
    form.check(&request, &Extension::Discovery)?;
    if request.kind == RequestKind::Notify {
        return Err(Error::invalid_request(
            "servers are listed and registered by calls, not by notifications",
        ));
    }
    let context = &request.context;
    let outcome = async {
        let by = context.principal.as_ref().ok_or(RegistryError::Unauthenticated)?;
        match rule {
            "discovery-list" => written(&registry.list(context, &form.read(&request)?)?),
            "discovery-register" => {
                let (register, terms) = (form.read(&request)?, RegistrationTerms::default());
                written(&registry.register(by, context.trace, register, terms).await?)
            }
            _ => written(&registry.deregister(by, context.trace, &form.read(&request)?).await?),
        }
    };
    let outcome = outcome.await;
    if let (Err(error), Some(trail)) = (&outcome, &context.trail)
        && matches!(error.code(), code::PERMISSION_DENIED | code::AUTH_REQUIRED | code::CODE_SAFETY_VIOLATION)
    {
        trail.note_refusal(Refusal::new("discovery", rule));
    }
    let revision = context.session.as_ref().map_or(Revision::LATEST, |session| session.revision);
    form.answer(outcome, revision)
}
