//! The methods `mgp/manifest/get`, which describes the server and all its tools, and `tools/validate`.

use mgp_types::ext::{
    DEFAULT_MANIFEST_TTL_SECONDS, ExtensionId, GetManifest, ListedExtension, ManifestNotModified,
    ManifestServer, ManifestTool, ServiceManifest,
};
use mgp_types::mcp::Implementation;
use mgp_types::mgp::{method, written};
use mgp_types::{CacheHint, CacheScope, Error, Method, Object, Response, Revision};
use serde::Serialize;

use super::call::{text, unknown_tool};
use crate::server_shared::ServerShared;
use crate::signature::Violation;
use crate::tool::{CallInput, arguments};

/// Answers with the manifest, for clients that declare the extension or speak MGP.
pub(crate) async fn manifest(input: CallInput) -> Result<Response, Error> {
    let shared = ServerShared::of(&input.extras)?;
    let session = input.request.context.session()?;
    if session.mgp.is_none() && !session.extensions().has(ExtensionId::ServiceManifest) {
        return Err(Error::method_not_found(&Method::from_static(method::MANIFEST_GET)));
    }
    let wanted: GetManifest = input.request.body()?;
    let whole = describe(&shared, session.revision);
    match whole.revision.clone() {
        Some(revision) if wanted.if_revision.as_ref() == Some(&revision) => {
            cacheable(&ManifestNotModified::new(revision))
        }
        _ => cacheable(&of_tools(whole, wanted.tools)?),
    }
}

fn describe(shared: &ServerShared, revision: Revision) -> ServiceManifest {
    let definitions = shared.catalog().definitions();
    let definitions: Vec<_> =
        definitions.iter().filter_map(|definition| Object::from_raw(definition).ok()).collect();
    let about = &shared.context.about;
    let mut manifest = ServiceManifest::of_tools(server(about.info.as_ref(), revision), &definitions);
    let declared = |id: &ExtensionId| about.extensions.get(id.id()).is_some();
    let declared = ExtensionId::ALL.iter().copied().filter(declared);
    manifest.supported_extensions = declared.filter_map(ListedExtension::new).collect();
    manifest.manifest_ttl_seconds = Some(DEFAULT_MANIFEST_TTL_SECONDS);
    manifest.recommendations.clone_from(&about.recommendations);
    manifest.with_revision()
}

fn server(info: Option<&Implementation>, revision: Revision) -> ManifestServer {
    let (name, version) = info.map_or(("", ""), |info| (&info.name, &info.version));
    let mut server = ManifestServer::new(name, version, revision.as_str());
    server.description = info.and_then(|info| info.description.as_deref()).map(Into::into);
    server.homepage = info.and_then(|info| info.website_url.as_deref()).map(Into::into);
    server
}

/// Leaves only the tools with these names in the manifest, which keeps the revision of the whole.
fn of_tools(mut manifest: ServiceManifest, names: Option<Vec<Box<str>>>) -> Result<ServiceManifest, Error> {
    let Some(names) = names else { return Ok(manifest) };
    let has = |tool: &ManifestTool, name: &str| *tool.name == *name || tool.mcp_name() == name;
    if let Some(unknown) = names.iter().find(|name| !manifest.tools.iter().any(|tool| has(tool, name))) {
        return Err(unknown_tool(&unknown.chars().take(128).collect::<String>()));
    }
    manifest.tools.retain(|tool| names.iter().any(|name| has(tool, name)));
    Ok(manifest)
}

fn cacheable(document: &impl Serialize) -> Result<Response, Error> {
    let mut response = Response::plain(written(document)?);
    let ttl_ms = DEFAULT_MANIFEST_TTL_SECONDS * 1000;
    response.context.cache = Some(CacheHint { ttl_ms, scope: CacheScope::Private });
    Ok(response)
}

#[derive(Serialize)]
struct ValidateResult {
    valid: bool,
    errors: Vec<Violation>,
    schema_dialect: String,
}

/// Answers whether the named tool would accept the arguments, with all that is wrong with them.
pub(crate) async fn validate(input: CallInput) -> Result<Response, Error> {
    let shared = ServerShared::of(&input.extras)?;
    let name = text(&input.request, "name")?.into_owned();
    let tool = shared.catalog().tools.get(&name).cloned().ok_or_else(|| unknown_tool(&name))?;
    let arguments =
        arguments::members(&input.request.params).map_err(|fault| Error::invalid_params(fault.0))?;
    let errors = tool.checks().all_violations(&shared.context.about.registry, arguments).await?;
    let schema_dialect = tool.checks().dialect();
    Response::with_body(&ValidateResult { valid: errors.is_empty(), errors, schema_dialect })
}
