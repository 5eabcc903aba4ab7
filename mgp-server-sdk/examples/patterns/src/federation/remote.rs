//! A kernel elsewhere, and the connection to it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use mgp_client_sdk::{Client, Subscription};
use mgp_server_sdk::ToolError;
use mgp_types::mcp::{ListToolsParams, ListToolsResult, SubscriptionFilter, Tool};
use mgp_types::mgp::{
    DeregisterServer, DiscoverTools, DiscoveredTools, ExtensionSet, ListServers, ListedServer, ListedServers,
    MEMBER, Offer, RegisterServer, RegisteredServer, method,
};
use mgp_types::{BoxedService, Error, Origin, RawJson, code};
use parking_lot::Mutex;

use super::failure::{shortened, upstream};
use super::instance::Instance;

/// A kernel elsewhere. The connection is made when it is first needed, and again after it was lost.
#[derive(Debug)]
pub(super) struct RemoteKernel {
    instance: Instance,
    timeout: Duration,
    connection: Mutex<Option<Client>>,
}

impl RemoteKernel {
    /// Creates the way to an instance, which may take `timeout` to answer, and as long until each sign of progress.
    pub(super) fn new(instance: Instance, timeout: Duration) -> Self {
        Self { instance, timeout, connection: Mutex::new(None) }
    }

    pub(super) fn instance(&self) -> &Instance {
        &self.instance
    }

    pub(super) fn name(&self) -> &str {
        self.instance.name.as_str()
    }

    /// Runs `work` with the connection. Its failure is told as one of this instance.
    pub(super) async fn with<T, F>(&self, work: impl FnOnce(Client) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let outcome = match self.client().await {
            Ok(client) => work(client).await,
            Err(error) => Err(error),
        };
        outcome.map_err(|error| {
            if error.origin() == Origin::Connection {
                // Calls in work keep the connection until they end.
                self.connection.lock().take();
            }
            upstream(&self.instance, error)
        })
    }

    /// Searches the tools.
    pub(super) async fn discover(&self, wanted: &DiscoverTools) -> Result<DiscoveredTools, Error> {
        self.with(|client| client.discover_tools(wanted).into_future()).await
    }

    /// Lists the servers with the names of their tools, as far as the key permits to see them.
    pub(super) async fn servers(&self) -> Result<Vec<ListedServer>, Error> {
        let listed: ListedServers = self.ask(method::DISCOVERY_LIST, &ListServers::default()).await?;
        Ok(listed.servers)
    }

    /// Lists the definitions of all tools that the key permits to see, also where a model would be given a part.
    pub(super) async fn tools(&self) -> Result<Vec<Tool>, Error> {
        self.with(|client| async move {
            let mut tools = Vec::new();
            let mut params = ListToolsParams::new();
            params.extra.insert(MEMBER, RawJson::parse(WHOLE_LIST)?);
            for _ in 0..MAX_PAGES {
                let page: ListToolsResult = client.send(&params).await?;
                tools.extend(page.tools);
                params.cursor = page.next_cursor;
                if params.cursor.is_none() {
                    break;
                }
            }
            Ok(tools)
        })
        .await
    }

    /// Asks for notifications when the tools change. A kernel notifies whoever has listed all of them of each change.
    pub(super) async fn changes(&self) -> Result<Subscription<BoxedService>, Error> {
        self.tools().await?;
        let wanted = SubscriptionFilter::new().with_tools_list_changed(true);
        self.with(|client| async move { client.subscribe(wanted).await }).await
    }

    /// Registers a server; returns `None` if a server of its id is registered already.
    pub(super) async fn register(&self, server: &RegisterServer) -> Result<Option<RegisteredServer>, Error> {
        self.with(|client| async move {
            match client.request(method::DISCOVERY_REGISTER, server).await {
                Ok(answer) => {
                    answer.to().map(Some).map_err(|error| unreadable(method::DISCOVERY_REGISTER, error))
                }
                Err(error) if error.code() == code::SERVER_ALREADY_REGISTERED => Ok(None),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Removes a server that was registered.
    pub(super) async fn deregister(&self, server: &DeregisterServer) -> Result<(), Error> {
        self.ask::<RawJson>(method::DISCOVERY_DEREGISTER, server).await.map(drop)
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        method: &'static str,
        params: &(impl serde::Serialize + Sync),
    ) -> Result<T, Error> {
        self.with(|client| async move {
            client.request(method, params).await?.to().map_err(|error| unreadable(method, error))
        })
        .await
    }

    async fn client(&self) -> Result<Client, Error> {
        if let Some(client) = &*self.connection.lock() {
            return Ok(client.clone());
        }
        // Callers that come at once connect each for itself: none waits behind the failure of another.
        let client = self.connect().await?;
        *self.connection.lock() = Some(client.clone());
        Ok(client)
    }

    /// Connects, and lets both sides prove themselves: the instance by its certificate, this program by its key.
    async fn connect(&self) -> Result<Client, Error> {
        let Instance { url, key, authorities, .. } = &self.instance;
        let unusable = |error: anyhow::Error| Error::invalid_params(error.to_string());
        let header = key.header().map_err(unusable)?;
        let client = Client::builder("mgp-federation", env!("CARGO_PKG_VERSION"))
            .mgp(Offer::new(ExtensionSet::from_names(EXTENSIONS)))
            .caching(false)
            .timeouts(self.timeout, self.timeout.saturating_mul(TIMES_IN_ALL));
        let client = client.connect_http_with(url.as_str(), |http| {
            let http = http.header(AUTHORIZATION, header.clone());
            match authorities {
                Some(authorities) => http.root_certificates_pem(authorities.pem.as_slice()),
                None => http,
            }
        });
        Ok(client.await?.boxed())
    }
}

/// The instances, by name.
pub(super) struct Instances(BTreeMap<String, Arc<RemoteKernel>>);

impl Instances {
    /// Creates the ways to the instances, each of which may take `timeout`.
    pub(super) fn new(instances: Vec<Instance>, timeout: Duration) -> Self {
        let remotes = instances.into_iter().map(|instance| {
            let name = instance.name.as_str().to_owned();
            (name, Arc::new(RemoteKernel::new(instance, timeout)))
        });
        Self(remotes.collect())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&String, &Arc<RemoteKernel>)> {
        self.0.iter()
    }

    /// Returns the instance of this name.
    ///
    /// # Errors
    /// There is none; the error names those that there are.
    pub(super) fn get(&self, name: &str) -> Result<&Arc<RemoteKernel>, ToolError> {
        self.0.get(name).ok_or_else(|| {
            let names: Vec<_> = self.0.keys().map(|name| format!("`{name}`")).collect();
            ToolError::new(format!(
                "there is no instance {:?}; there are {}",
                shortened(name),
                names.join(", ")
            ))
        })
    }
}

fn unreadable(method: &str, error: serde_json::Error) -> Error {
    Error::misbehaved(format!("the answer to `{method}` cannot be read")).with_source(error)
}

/// What is spoken with other kernels.
const EXTENSIONS: [&str; 4] = ["security", "streaming", "discovery", "tool_discovery"];

/// The wish for all tools, whatever a model is given.
const WHOLE_LIST: &str = r#"{"level":"L0"}"#;
const MAX_PAGES: usize = 100;

/// The time of a call in all, as a multiple of the time between signs of progress.
const TIMES_IN_ALL: u32 = 10;
