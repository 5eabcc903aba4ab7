mod gate;
mod groups;
mod methods;
mod patterns;
mod policy;
mod properties;
mod running;
mod stored;

use std::sync::Arc;

use mgp_types::mgp::{AccessGrant, AccessPermission, AccessQuery, AccessRevoke, ServerId};
use mgp_types::{Error, Principal, Request, Response};
use tower_service::Service;

use super::{AccessPolicy, AccessPolicySettings};
use crate::doubles::{ManualClock, RecordingAuditPort, TestServer, moment as at};
use mgp_store::Database;

fn admin() -> Principal {
    Principal::operator("admin")
}

fn policy() -> AccessPolicy {
    AccessPolicy::open(AccessPolicySettings::default()).unwrap()
}

fn timed(hands: &ManualClock) -> AccessPolicy {
    AccessPolicy::open(AccessPolicySettings { clock: hands.clock(), ..AccessPolicySettings::default() })
        .unwrap()
}

/// Returns the settings of a policy whose entries are in `database`.
fn kept_in(database: &Database) -> AccessPolicySettings {
    AccessPolicySettings { database: Some(database.clone()), ..AccessPolicySettings::default() }
}

fn with_trail() -> (AccessPolicySettings, Arc<RecordingAuditPort>) {
    let trail = Arc::new(RecordingAuditPort::default());
    (AccessPolicySettings { audit: Some(Arc::clone(&trail) as _), ..AccessPolicySettings::default() }, trail)
}

fn grant(agent: &str, server: &str, tool: Option<&str>, permission: AccessPermission) -> AccessGrant {
    let grant = AccessGrant::new(agent.into(), server.into(), permission);
    match tool {
        Some(tool) => grant.for_tool(tool.into()),
        None => grant,
    }
}

fn revoke(agent: &str, server: &str, tool: Option<&str>) -> AccessRevoke {
    let revoke = AccessRevoke::new(agent.into(), server.into());
    match tool {
        Some(tool) => revoke.for_tool(tool.into()),
        None => revoke,
    }
}

fn query(agent: &str, server: &str, tool: Option<&str>) -> AccessQuery {
    AccessQuery::new(agent.into(), ServerId::from(server), tool.map(Into::into))
}
