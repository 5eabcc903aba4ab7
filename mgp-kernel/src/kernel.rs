use std::path::PathBuf;
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_security::auth::AuthLayer;
use mgp_toolindex::budget;
use mgp_toolindex::discovery::ToolDiscoveryLayer;
use mgp_toolindex::session::{Pins, SessionSettings, ToolSessions};
use mgp_transport::Accept;
use mgp_transport::era::{ServerEra, ServerIdentity};
use mgp_types::mcp::Implementation;
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Outbox, Principal};

use crate::changes::Teller;
use crate::erased::Erased;
use crate::parts::Parts;
use crate::router::CatalogEyes;
use crate::stack::Front;
use crate::{StartError, settings};

/// One server between any client and any number of servers. Cheap to clone.
#[derive(Clone)]
pub struct Kernel(Arc<Inner>);

struct Inner {
    parts: Arc<Parts>,
    front: Front,
    identity: Arc<ServerIdentity>,
}

impl Kernel {
    /// Opens what the kernel keeps in `state` and answers from then on. Servers connect behind it, each on its own.
    ///
    /// # Errors
    /// The configuration asks for something that there is not, or what is kept cannot be opened. Nothing is started then.
    pub async fn start(config: Config, state: PathBuf) -> Result<Self, StartError> {
        let name = config.kernel.name.clone().unwrap_or_else(|| "mgp".into());
        let parts = Parts::open(config, state).await?;
        let tools = tool_discovery(&parts)?;
        parts.changes.also_tell(tools.clone());
        let _ = parts.told.set(Arc::new(Teller::new(&parts)));
        let identity = ServerIdentity::new(Implementation::new(name, env!("CARGO_PKG_VERSION")))
            .with_mgp(Offer::new(ExtensionSet::standard()));
        let front = Front::new(&parts, tools);
        Ok(Self(Arc::new(Inner { parts, front, identity: Arc::new(identity) })))
    }

    /// What answers clients that are this principal, over any transport.
    pub fn accept(&self, principal: Principal) -> impl Accept<Service: Unpin> {
        self.accept_by(&AuthLayer::fixed(principal))
    }

    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.0.parts
    }

    pub(crate) fn accept_by(&self, auth: &AuthLayer) -> impl Accept<Service: Unpin> + use<> {
        let service = self.0.front.service(auth);
        let identity = Arc::clone(&self.0.identity);
        move |outbox: Outbox| -> ServerEra<Erased> {
            ServerEra::new(service.clone(), Arc::clone(&identity), outbox)
        }
    }
}

fn tool_discovery(parts: &Arc<Parts>) -> Result<ToolDiscoveryLayer, StartError> {
    let config = parts.config.load();
    let settings = settings::tool_discovery(&config)?.eyes(Arc::new(CatalogEyes(Arc::clone(parts))));
    let counter = budget::default_counter();
    let sessions = SessionSettings::new(settings::budget(&config), Arc::clone(&counter))
        .pins(Pins::new(config.tools.pinned.iter().cloned()))
        .meta_tools(&settings.definitions(&*counter));
    let sessions = ToolSessions::new(sessions).map_err(|error| StartError::Config(error.to_string()))?;
    Ok(ToolDiscoveryLayer::new(parts.index.clone(), Arc::new(sessions), settings))
}
