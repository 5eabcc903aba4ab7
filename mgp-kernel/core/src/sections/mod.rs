//! The sections of a kernel, opened and put together.

pub(crate) mod inventory;
pub mod rules;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use mgp_discovery::Config;
use mgp_discovery::registry::Registry;
use mgp_store::check_own;
use mgp_stream::event::Publisher;
use mgp_types::mgp::EntryType;

use crate::StartError;
use crate::catalog::ToolCatalog;
use crate::changes::ChangeListeners;
use crate::data::DataBroker;
use crate::lifecycle::Lifecycle;
use crate::platform::set_mode;
use crate::policies::Policies;
use crate::record::AuditTrail;
use crate::registration;
use crate::replicas::{ClusterLink, Peers};
use crate::servers::events::{self, ServerEvents};
use crate::servers::fleet::{Fleet, FleetTables};
use crate::servers::upstream::{ServerSupport, StartQueue};
use crate::settings;
use crate::settings::running::RunningConfig;
use crate::telemetry::counts::KernelCounts;
use crate::visibility::Visibility;

/// The sections of one kernel. The kernel holds all of them, as do its gates in front of clients and the methods that it
/// answers itself; each server gets those that it uses.
#[derive(Clone)]
pub struct Sections {
    /// The configuration in effect.
    pub config: Arc<RunningConfig>,
    /// The link to other kernels; `None` for a kernel that decides alone.
    pub(crate) link: Option<Arc<ClusterLink>>,
    /// The decisions of operators and of the configuration.
    pub policies: Arc<Policies>,
    /// The record.
    pub audit: Arc<AuditTrail>,
    pub(crate) data: Arc<DataBroker>,
    pub(crate) tools: ToolCatalog,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) events: Publisher,
    /// The clients that are notified of what servers send unasked.
    pub(crate) changes: Arc<ChangeListeners>,
    pub(crate) visibility: Arc<Visibility>,
    /// The servers that registered themselves.
    pub(crate) registry: Registry,
    /// The life of the kernel, and its connections.
    pub lifecycle: Arc<Lifecycle>,
    pub(crate) counts: Arc<KernelCounts>,
}

mgp_types::partial_debug!(Sections);

impl Sections {
    /// Opens what the kernel keeps in `state`. No server may touch that folder, nor `files`.
    pub(crate) async fn open(
        config: Config,
        state: PathBuf,
        files: Vec<PathBuf>,
    ) -> Result<Self, StartError> {
        settings::check_parts(&config)?;
        open_private(&state)?;
        let config = Arc::new(RunningConfig::new(config, state));
        let counts = Arc::new(KernelCounts::new(&config.load()));
        let audit = Arc::new(AuditTrail::open(&config.load(), config.state())?);
        let link = Box::pin(ClusterLink::open(&config.load_full(), config.state())).await?;
        let policies = Arc::new(Policies::open(&config, &audit, link.as_ref(), files).await?);
        let tools = ToolCatalog::open(&config.load_full(), config.state()).await?;
        let events = events::publisher();
        let (access, tables) = (policies.access.clone(), Arc::<FleetTables>::default());
        let registered = Arc::<OnceLock<Registry>>::default();
        let data = DataBroker::new(Arc::clone(&config), access.clone(), Arc::clone(&audit));
        let data = Arc::new(data);
        // Servers notify the clients, and the section that does so knows the servers: the reference back is weak.
        let changes = Arc::new_cyclic(|changes: &Weak<ChangeListeners>| {
            let support = ServerSupport {
                config: Arc::clone(&config),
                link: link.clone(),
                policies: Arc::clone(&policies),
                audit: Arc::clone(&audit),
                data: Arc::clone(&data),
                tools: tools.clone(),
                events: ServerEvents::new(events.clone(), access.clone(), Arc::clone(&tables)),
                changes: changes.clone(),
                tables: Arc::clone(&tables),
                concurrency: counts.server_places.clone(),
                starts: StartQueue::of_machine(),
                registry: Arc::clone(&registered),
            };
            ChangeListeners::new(access.clone(), Arc::new(Fleet::new(Arc::new(support))))
        });
        if let Some(link) = &link {
            follow_decisions(link, &policies, &changes);
        }
        let fleet = Arc::clone(&changes.fleet);
        let visibility = Arc::new(Visibility {
            catalog: tools.catalog.clone(),
            policies: Arc::clone(&policies),
            fleet: Arc::clone(&fleet),
        });
        let registry = registration::open(&config, &visibility, audit.port(), link.as_ref())?;
        let registry = registered.get_or_init(|| registry).clone();
        Ok(Self {
            lifecycle: Arc::default(),
            counts,
            config,
            link,
            policies,
            audit,
            data,
            tools,
            fleet,
            events,
            changes,
            visibility,
            registry,
        })
    }

    /// Returns the other kernels, if calls are passed on to them and by them.
    pub(crate) fn peers(&self) -> Option<&Peers> {
        self.link.as_ref()?.peers.as_ref()
    }
}

/// Has the decisions of operators follow those of other kernels, and clients be told of changes in what they may use.
fn follow_decisions(link: &ClusterLink, policies: &Arc<Policies>, changes: &Arc<ChangeListeners>) {
    let (database, policies, changes) =
        (policies.database.clone(), Arc::clone(policies), Arc::clone(changes));
    link.follow("policy", database, move |sections| {
        let (policies, changes) = (Arc::clone(&policies), Arc::clone(&changes));
        Box::pin(async move {
            policies.reload(&sections).await?;
            if sections.contains("access") {
                changes.may_use_others(None, EntryType::ServerGrant);
            }
            if sections.contains("logins") {
                changes.fleet.all().iter().for_each(|server| server.follow_logins());
            }
            Ok(())
        })
    });
}

/// Creates the state folder for this user alone: nobody else may read keys and permissions. Checks that all files in it belong
/// to its user, and that none is a link to elsewhere.
fn open_private(state: &Path) -> Result<(), StartError> {
    let unusable = |error| StartError::State { path: state.to_owned(), error };
    fs::create_dir_all(state).map_err(unusable)?;
    set_mode(state, 0o700).map_err(unusable)?;
    for file in fs::read_dir(state).map_err(unusable)? {
        let path = file.map_err(unusable)?.path();
        check_own(&path).map_err(|error| StartError::Kept { path, error })?;
    }
    Ok(())
}
