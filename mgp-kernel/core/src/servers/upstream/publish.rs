//! The listing of a server's tools, prompts and resources, and their offering to clients.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mgp_discovery::catalog::{Catalog, CatalogError, CatalogSnapshot};
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::nearest;
use mgp_security::definition::{DefinitionGuardLayer, DefinitionKind, well_formed};
use mgp_security::tool::effective;
use mgp_toolindex::{ServerTools, ToolListing};
use mgp_types::mgp::{Glob, ResolvedTool, ServerId, ToolName, TrustLevel};
use mgp_types::{Error, Object, RawJson, Request, code};
use tower_layer::Layer;
use tower_service::Service;

use super::connection_shared::{ConnectionShared, ServerDescription};
use super::last_tools;
use super::stale_lists::ListKind;
use super::support::ServerClient;
use crate::catalog::ToolCatalog;
use crate::servers::events::ToolsChange;
use crate::settings;

/// A list beside that of tools, the kind of its definitions, and the function that puts them into a catalog.
type OtherList =
    (ListKind, DefinitionKind, fn(&Catalog, ServerId, Vec<Object>) -> Result<bool, CatalogError>);

const OTHER_LISTS: [OtherList; 3] = [
    (ListKind::Prompts, DefinitionKind::Prompt, Catalog::put_prompts),
    (ListKind::Resources, DefinitionKind::Resource, Catalog::put_resources),
    (ListKind::Resources, DefinitionKind::Template, Catalog::put_templates),
];

impl ConnectionShared {
    /// Lists what the server offers, and puts it where clients find it. Lists are put one at a time: an older one must
    /// not undo a newer one. Returns the lists that could not be fetched completely; what was fetched of them is
    /// offered.
    ///
    /// # Errors
    /// Fails if the tools cannot be listed.
    pub(super) async fn publish(
        &self,
        client: &ServerClient,
        lists: BTreeSet<ListKind>,
    ) -> Result<BTreeSet<ListKind>, Error> {
        let _turn = self.state.publishing.lock().await;
        let mut missed = BTreeSet::new();
        let Some(stack) = self.state.stack.get() else { return Ok(missed) };
        let definitions = &stack.definitions;
        if lists.contains(&ListKind::Tools) {
            self.read_about(client).await?;
            let tools = listed(client, definitions, DefinitionKind::Tool).await?;
            self.put_tools(settings::trust(&self.config, client.session().as_deref()), tools).await;
        }
        for (list, kind, put) in OTHER_LISTS {
            if !lists.contains(&list) {
                continue;
            }
            let items = match listed(client, definitions, kind).await {
                Ok(items) => items.iter().filter_map(|item| well_formed(kind, item).ok()).collect(),
                Err(error) => {
                    tracing::debug!(server = %self.server, %kind, %error, "a list cannot be had");
                    if error.code() != code::METHOD_NOT_FOUND {
                        missed.insert(list);
                        continue;
                    }
                    // The server has no such list.
                    Vec::new()
                }
            };
            if self.put(|catalog, server| put(catalog, server, items)) {
                self.support.tell(|changes| changes.changed(&self.key, list));
            }
        }
        Ok(missed)
    }

    /// Notes the server's description of itself, as far as it may reach a model.
    ///
    /// # Errors
    /// Fails if something is withheld, and that cannot be recorded.
    async fn read_about(&self, client: &ServerClient) -> Result<(), Error> {
        let Some(stack) = self.state.stack.get() else { return Ok(()) };
        let described = client.server_info().and_then(|info| info.description.or(info.title));
        let texts = [("instructions", client.instructions()), ("description", described.map(Into::into))];
        let [instructions, description] = stack.definitions.admitted_texts(texts).await?;
        let capabilities = client.capabilities();
        *self.state.about.lock() = ServerDescription { capabilities, instructions, description };
        Ok(())
    }

    async fn put_tools(&self, trust: TrustLevel, definitions: Vec<Object>) {
        if self.key.client.is_none() {
            self.tell_rules_for_no_tool(&definitions);
        }
        if !self.key.is_own() {
            self.keep(&definitions).await;
        }
        let tools = resolved(&self.config, &self.server, trust, definitions);
        let before = self.lists.snapshot();
        let is_other = self.put(|catalog, server| catalog.put_server(server, tools));
        let after = self.lists.snapshot();
        // A client's own connection mostly lists what the first one did.
        if is_other || self.key.client.is_none() {
            let mut indexed = self.of_server.indexed.lock().await;
            let said = self.state.about.lock().description.as_deref().map(str::to_owned);
            *indexed = said.or_else(|| indexed.take());
            index_tools(&self.support.tools, &self.config, indexed.as_deref()).await;
        }
        if is_other {
            // Clients that are notified ask at once, and their lists follow from the index, too.
            self.support.tools.index.settled().await;
            self.support.tell(|changes| changes.changed(&self.key, ListKind::Tools));
            let of_server = |catalog: &CatalogSnapshot| catalog.of_server(self.server.as_str()).to_vec();
            let change = ToolsChange::between(&self.server, &of_server(&before), &of_server(&after));
            self.support.events.tell_tools(&self.key, &change);
        }
    }

    /// Keeps the list for the next start of the kernel.
    async fn keep(&self, definitions: &[Object]) {
        let (state, config) = (self.support.config.state().to_owned(), Arc::clone(&self.config));
        let definitions = definitions.to_vec();
        let kept = tokio::task::spawn_blocking(move || last_tools::keep(&state, &config, &definitions));
        if let Ok(Err(error)) = kept.await {
            tracing::warn!(server = %self.server, %error, "the tools are not kept for the next start");
        }
    }

    /// Logs the rules under `tools` that stand for none of the tools that the server lists: what they were to switch
    /// off or limit goes on.
    fn tell_rules_for_no_tool(&self, definitions: &[Object]) {
        for (name, rule) in &self.config.tools {
            let glob = Glob::new(name.as_str());
            let is_there =
                |definition: &Object| definition.text("name").is_some_and(|name| glob.matches(&name));
            if definitions.iter().any(is_there) {
                continue;
            }
            let names: Vec<_> = definitions.iter().filter_map(|definition| definition.text("name")).collect();
            let meant = nearest(&name.replace('*', ""), names.iter().map(|name| &**name)).unwrap_or("none");
            tracing::warn!(
                server = %self.server, rule = name, enabled = rule.enabled, nearest = meant,
                "a rule under `[servers.tools]` stands for no tool that the server lists"
            );
        }
    }

    /// Offers items to the clients that they are for. Returns whether they differ from before.
    fn put(&self, list: impl FnOnce(&Catalog, ServerId) -> Result<bool, CatalogError>) -> bool {
        let (catalog, offered) = (&self.support.tools.catalog, &self.of_server.offered);
        let outcome = self.support.tables.publish(&self.server, &self.of_server, || {
            if self.state.is_over.load(Ordering::Acquire) {
                return Ok::<_, CatalogError>(false);
            }
            let is_other = list(&self.lists, self.server.clone())?;
            if is_other {
                offered.put(&self.key, &self.lists);
                self.support.tables.shares_changed();
            }
            let is_other_in_all = catalog.put_shares(&self.server, &offered.all())?;
            // What the first connection lists may have been listed before it, from the last start of the kernel.
            Ok(is_other && (is_other_in_all || self.key.is_own() || offered.count() > 1))
        });
        let outcome = outcome.transpose().inspect_err(|error| {
            tracing::warn!(server = %self.server, %error, "what the server has is not offered");
        });
        outcome.ok().flatten().unwrap_or_default()
    }

    /// Withdraws the lists of the connection, which has ended.
    pub(super) async fn withdraw(&self) {
        // Further lists of the connection are dropped.
        self.state.is_over.store(true, Ordering::Release);
        let offered = &self.of_server.offered;
        let ended = self.support.tables.publish(&self.server, &self.of_server, || {
            let was_last = offered.end(&self.key, &self.lists);
            self.support.tables.shares_changed();
            was_last
                && self.support.tools.catalog.put_shares(&self.server, &offered.all()).unwrap_or_default()
        });
        if ended == Some(true) {
            let said = self.of_server.indexed.lock().await;
            index_tools(&self.support.tools, &self.config, said.as_deref()).await;
        }
        self.tell_state().await;
        self.support.tell(|changes| changes.ended(&self.key));
    }
}

/// Returns the tools of these definitions that the configuration does not switch off, with their rights. The definitions
/// are as servers sent them; those of the tools are as strict clients accept them.
pub(super) fn resolved(
    config: &ServerConfig,
    server: &ServerId,
    trust: TrustLevel,
    definitions: Vec<Object>,
) -> Vec<Arc<ResolvedTool>> {
    let rules = settings::tool_rules(config, trust);
    let tool = |definition: Object| {
        let definition = well_formed(DefinitionKind::Tool, &definition).ok()?;
        let name = ToolName::from(&*definition.text("name").filter(|name| !name.is_empty())?);
        if config.has_off(name.as_str()) {
            return None;
        }
        let security = effective(&definition, &rules);
        Some(ResolvedTool::new(server.clone(), name, definition, security))
    };
    definitions.into_iter().filter_map(tool).collect()
}

/// Indexes the tools of `server` in the catalog: those that all connections to it list, together. The configuration's
/// description goes before the one that the server `said`.
pub(super) async fn index_tools(listed: &ToolCatalog, server: &ServerConfig, said: Option<&str>) {
    let snapshot = listed.catalog.snapshot();
    let listings = snapshot.of_server(&server.id).iter().filter_map(|tool| {
        let ResolvedTool { definition, security, .. } = &*tool.resolved;
        let listing = ToolListing::read(&definition.to_raw()).ok()?;
        let listing = listing.risk(security.risk).permissions(security.permissions.iter().cloned());
        Some(listing.qualified())
    });
    let tools = ServerTools::new(server.id.as_str(), listings.collect());
    let tools = if server.trust() == TrustLevel::Trusted { tools.trust_vectors() } else { tools };
    let description = server.description.as_deref().or(said);
    listed.index.put_server(description.into_iter().fold(tools, ServerTools::description)).await;
}

/// Returns all items of `kind` that the server lists and that may be shown; nothing, if it has no such list.
async fn listed(
    client: &ServerClient,
    definitions: &DefinitionGuardLayer,
    kind: DefinitionKind,
) -> Result<Vec<Object>, Error> {
    let Some(method) = kind.list_method() else { return Ok(Vec::new()) };
    definitions.list_changed(kind);
    let capability = if kind == DefinitionKind::Template { "resources" } else { kind.list_member() };
    if !client.capabilities().contains(capability) {
        return Ok(Vec::new());
    }
    let malformed = || Error::misbehaved("the server's list is none");
    let mut guarded = definitions.layer(client.clone());
    let mut all = Vec::new();
    let mut params = Object::new();
    for _ in 0..MAX_PAGES {
        std::future::poll_fn(|cx| guarded.poll_ready(cx)).await?;
        let page = guarded.call(Request::call(method.clone(), params.clone())).await?;
        let page = Object::from_raw(&page.to_raw()).map_err(|_| malformed())?;
        let items = page.get(kind.list_member()).ok_or_else(malformed)?;
        let items: Vec<RawJson> = items.to().map_err(|_| malformed())?;
        // The kept items must not keep the page alive that they came in.
        all.extend(items.iter().filter_map(|item| Object::from_raw(&item.detached()).ok()));
        match page.get("nextCursor").filter(|cursor| !cursor.is_null()) {
            Some(cursor) if all.len() <= MAX_LISTED => params.set("cursor", cursor),
            _ => return Ok(all),
        }
    }
    Err(Error::misbehaved("the server's list does not end"))
}

const MAX_PAGES: usize = 1_000;
const MAX_LISTED: usize = 20_000;
