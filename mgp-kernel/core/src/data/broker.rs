//! The broker: takes references over, fetches their data, and grants it to one reader, which can ask for its address again,
//! keep it longer, or give it up. The requests for data go to judged addresses of origins of its server, and carry no
//! credentials.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::access::AccessPolicy;
use mgp_security::reference::ReferenceImporter;
use mgp_server_sdk::{ReferenceData, ReferenceStore};
use mgp_types::ext::{DataReference, ImportData};
use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditTarget, EventType, Outcome, Recovery, ServerId, Timestamp, written,
};
use mgp_types::{Error, Object, Principal, RawJson, Request, Response, code, random_name};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Url;

use super::grants::{DataGrant, DataGrants, TakenReference, TakenReferences};
use crate::record::AuditTrail;
use crate::settings;
use crate::settings::running::RunningConfig;

/// The broker of data between servers. It does nothing unless `listen.data_references` is on.
///
/// A reference of a server becomes one of the kernel, for the agent whose call it came from. When that agent names it to
/// another server, the kernel fetches the data from where the configuration of its server allows, compares it with the
/// checksum, and holds a copy for the other server. So no server is told the address of another one, and none reads what
/// was not meant for it.
pub(crate) struct DataBroker {
    config: Arc<RunningConfig>,
    access: AccessPolicy,
    audit: Arc<AuditTrail>,
    /// The data that is served; set once the kernel serves HTTP.
    pub(super) served: OnceLock<ReferenceStore>,
    taken: TakenReferences,
    pub(super) grants: DataGrants,
    fetches: Semaphore,
}

/// The params of `mgp/data/resolve`, `mgp/data/renew` and `mgp/data/release`.
#[derive(Debug, Deserialize)]
struct NamedData {
    #[serde(flatten)]
    named: ImportData,
    /// The server that reads the data: the one that asks, or nobody else.
    audience: Option<String>,
}

impl DataBroker {
    /// Creates the broker of a kernel.
    pub(crate) fn new(config: Arc<RunningConfig>, access: AccessPolicy, audit: Arc<AuditTrail>) -> Self {
        Self {
            config,
            access,
            audit,
            served: OnceLock::new(),
            taken: TakenReferences::default(),
            grants: DataGrants::default(),
            fetches: Semaphore::new(FETCHES_AT_ONCE),
        }
    }

    /// Returns whether the configuration has data go from server to server.
    pub(crate) fn is_on(&self) -> bool {
        self.config.load().listen.data_references
    }

    /// Serves data below `address`, which is that of the socket, unless the configuration names the one by which servers
    /// reach it. The first socket counts.
    ///
    /// # Errors
    /// The address is none of HTTP.
    pub(crate) fn serve_at(&self, address: SocketAddr) -> Result<(), Error> {
        let config = self.config.load();
        let scheme = if config.listen.tls.is_some() { "https" } else { "http" };
        let base = config.listen.data_url.clone().unwrap_or_else(|| format!("{scheme}://{address}"));
        let store = ReferenceStore::new("mgp", &format!("{}{PATH}", base.trim_end_matches('/')));
        let store = store.map_err(|error| {
            Error::invalid_params("`listen.data_url` is no address of HTTP, such as `https://mgp.example`")
                .with_source(error)
        })?;
        // A second socket leads to the same data.
        let _ = self.served.set(store);
        Ok(())
    }

    /// Takes over a reference that `origin` gave to `agent`, and returns the one that takes its place: with an id and an
    /// address that say nothing. A reference without an address leads nowhere, and is `None`.
    pub(super) fn take_over(
        &self,
        origin: &ServerId,
        agent: &Principal,
        mut reference: DataReference,
    ) -> Option<DataReference> {
        reference.access_url.as_ref()?;
        let now = Timestamp::now();
        let longest = now.saturating_add(MAX_TTL);
        let ends_at = reference.expires_at.map_or(longest, |end| end.min(longest));
        let mut shown =
            DataReference::new(format!("ref-{}", random_name()), origin.as_str(), &*reference.mime_type);
        shown.size_bytes = reference.size_bytes;
        shown.expires_at = Some(ends_at);
        shown.checksum.clone_from(&reference.checksum);
        shown.access_url = Some(shown.uri().into());
        reference.origin_server = origin.as_str().into();
        let taken = TakenReference { origin: origin.clone(), agent: agent.clone(), reference, ends_at };
        self.taken.put(shown.ref_id.clone(), taken, now);
        Some(shown)
    }

    /// Fetches the data of a reference that `agent` names to `audience`, and returns the reference by which that server,
    /// and no other, reads it.
    ///
    /// # Errors
    /// 3021: the agent has no such reference, or its server is gone; 3023: the agent may not use that server any more, or
    /// the data may not be fetched; 3001: too much data is held; 2002: the kernel serves no HTTP. The other errors are those of
    /// [`ReferenceImporter::import`](mgp_security::reference::ReferenceImporter::import).
    pub(super) async fn hand_over(
        &self,
        named: &ImportData,
        agent: &Principal,
        audience: &ServerId,
    ) -> Result<DataReference, Error> {
        let taken = self.taken.find(named, agent, Timestamp::now()).ok_or_else(unknown)?;
        let fetched = self.fetch(named, &taken, audience).await;
        let event = |what, end| self.event(what, &taken.origin, audience, end);
        let event = match &fetched {
            Ok(reference) => event("fetched", Outcome::Success).with_detail("bytes", &reference.size_bytes),
            Err(error) => event("not_fetched", Outcome::Failure).with_detail("code", &error.code()),
        };
        let event = event.with_detail("ref_id", &*named.ref_id).with_detail("agent_id", &agent.access_id());
        self.audit.port().record(event).await?;
        fetched
    }

    async fn fetch(
        &self,
        named: &ImportData,
        taken: &TakenReference,
        audience: &ServerId,
    ) -> Result<DataReference, Error> {
        if !self.access.reaches(&taken.agent.access_id(), taken.origin.as_str()) {
            let message = "the agent may not use the server of the data any more";
            return Err(error(code::REFERENCE_FORBIDDEN, message));
        }
        let Some(store) = self.served.get() else {
            let message = "the kernel serves no data: set `listen.http`, or start it with `--http ADDRESS`";
            return Err(error(code::RESOURCE_EXHAUSTED, message));
        };
        let config = self.config.load_full();
        let server = config.server(taken.origin.as_str()).ok_or_else(unknown)?;
        let importer = importer(&config, server)?.max_bytes(MAX_BYTES);
        let _turn =
            self.fetches.acquire().await.map_err(|_| Error::internal("no data is fetched any more"))?;
        self.grants.make_room(taken.reference.size_bytes.unwrap_or(MAX_BYTES), Timestamp::now())?;
        let unstored =
            |error: std::io::Error| Error::internal("the data cannot be stored").with_source(error);
        // A file without a name, which is gone when nobody holds it, however the kernel ends.
        let mut file = tempfile::tempfile_in(self.config.state()).map_err(unstored)?;
        let mut sink = |piece: &[u8]| file.write_all(piece);
        let import = importer.import(&taken.reference, Timestamp::now(), &mut sink);
        let size = timeout(PATIENCE, import)
            .await
            .map_err(|_| error(code::UPSTREAM_TIMEOUT, "the data did not come in time; export less"))??;
        let (store, media_type) = (store.clone(), taken.reference.mime_type.clone());
        let held = tokio::task::spawn_blocking(move || {
            let data = ReferenceData::open_file(file).map_err(unstored)?;
            store.hold(data, &media_type, TTL).map(|held| (store, held))
        });
        let (store, held) = held.await.map_err(|error| unstored(std::io::Error::other(error)))??;
        let access = store.grant(&held.ref_id, audience.as_str())?;
        let grant = DataGrant {
            ref_id: named.ref_id.clone(),
            origin: taken.origin.clone(),
            agent: taken.agent.clone(),
            audience: audience.clone(),
            size,
            ends_at: access.expires_at,
            sent: 0,
        };
        self.grants.put(held.ref_id.clone(), grant);
        let mut granted = DataReference::new(&*named.ref_id, taken.origin.as_str(), &*held.mime_type);
        granted.size_bytes = Some(size);
        granted.expires_at = Some(access.expires_at);
        granted.checksum = held.checksum;
        granted.access_url = Some(access.access_url);
        Ok(granted)
    }

    /// Returns the answer to a request of `server` about data that an agent handed to it.
    ///
    /// # Errors
    /// 3021: nothing of this name was handed to the server; 3022: it is over; 3023: the server asks for another one; -32601:
    /// there is no such method, or data does not go from server to server here.
    pub(crate) fn answer_server(&self, server: &ServerId, request: &Request) -> Result<Response, Error> {
        let store = self.served.get().filter(|_| self.is_on());
        let store = store.ok_or_else(|| Error::method_not_found(&request.method))?;
        let NamedData { named, audience } = request.body()?;
        if audience.is_some_and(|audience| audience != server.as_str()) {
            return Err(error(code::REFERENCE_FORBIDDEN, "a server asks for data for itself alone"));
        }
        let held = self.grants.of(&named.ref_id, &named.origin_server, server).ok_or_else(unknown)?;
        match request.method.as_str() {
            "mgp/data/resolve" => {}
            "mgp/data/renew" => {
                let renewed = store.renew(&held, TTL)?;
                renewed.expires_at.into_iter().for_each(|end| self.grants.prolong(&held, end));
            }
            "mgp/data/release" => {
                self.give_up(&held);
                self.grants.remove(&held);
                return Ok(Response::new(Object::new().to_raw()));
            }
            _ => return Err(Error::method_not_found(&request.method)),
        }
        let access = store.grant(&held, server.as_str())?;
        let (address, end) = (RawJson::from_text(&access.access_url), written(&access.expires_at)?);
        Ok(Response::new(Object::from([("access_url", address), ("expires_at", end)]).to_raw()))
    }

    /// Returns the event that something happened to data of `origin` on its way to `audience`.
    pub(super) fn event(&self, what: &str, origin: &ServerId, reader: &ServerId, end: Outcome) -> AuditEvent {
        let kind = EventType::read(&format!("dev.cloto.mgp.data_{what}"));
        let mut event = self.audit.event(kind, Actor::new(ActorType::Server, reader.as_str()), end);
        event.target = AuditTarget::new(Some(origin.clone()), None);
        event
    }

    /// Records an event; a delivery that has ended does not fail for want of a record.
    pub(super) async fn record(&self, event: AuditEvent) {
        if let Err(error) = self.audit.port().record(event).await {
            tracing::error!(%error, "a delivery of data is not in the record");
        }
    }
}

pub(super) fn error(code: i64, message: &'static str) -> Error {
    Error::new(code, message).with_recovery(Recovery::for_code(code).unwrap_or_default())
}

fn unknown() -> Error {
    let message = "there is no such reference of this agent; it may be over: export the data again";
    error(code::REFERENCE_NOT_FOUND, message)
}

/// The bytes that are fetched at most; a reference that does not tell its size counts as that many.
const MAX_BYTES: u64 = 1 << 30;
/// The path below which data is served.
pub(super) const PATH: &str = "/data";
/// The time for which a copy is held, unless its reader renews it.
const TTL: Duration = Duration::from_mins(5);
/// The longest time for which a reference is known.
const MAX_TTL: Duration = Duration::from_hours(1);
/// The time that a transfer may take.
const PATIENCE: Duration = Duration::from_mins(10);
/// The number of transfers at the same time.
const FETCHES_AT_ONCE: usize = 8;

/// Returns an importer of the data of one server: from the origins that its configuration names, and from the one that it
/// is reached at itself. Private addresses are refused unless the configuration of the server opens them.
fn importer(config: &Config, server: &ServerConfig) -> Result<ReferenceImporter, Error> {
    let wrong = |why: String| Error::internal(format!("data of `{}` cannot be fetched: {why}", server.id));
    let mut policy = settings::network_policy(config, server).map_err(|error| wrong(error.to_string()))?;
    let own = server.url.as_deref().and_then(|url| Url::parse(url).ok());
    if let Some((host, port)) = own.as_ref().and_then(|own| own.host_str().zip(own.port_or_known_default()))
        && let Ok(host) = format!("{host}:{port}").parse()
    {
        policy = policy.allow_host(host);
    }
    let own = own.map(|own| own.origin().ascii_serialization());
    let mut importer = ReferenceImporter::new(policy)?;
    for origin in server.network.data_origins.iter().cloned().chain(own) {
        importer = importer
            .with_origin(server.id.as_str(), &origin)
            .map_err(|error| wrong(format!("`servers.network.data_origins`: {origin:?}: {error}")))?;
    }
    Ok(importer)
}
