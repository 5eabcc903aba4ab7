//! The audit trail and access control in front of any MCP server: `two_layers PROGRAM [ARGS…]`, for instance
//! `two_layers target/debug/examples/echo stdio`. The agent may call the tool `echo` and no other.

use mgp_security::access::{AccessGate, AccessPolicy, AccessPolicySettings};
use mgp_security::audit::{AuditLayer, AuditLog, Filter, LogStore, Query};
use mgp_security::auth::AuthLayer;
use mgp_transport::{ConnectionLimits, child::ChildCommand, connect, era};
use mgp_types::mgp::{AccessGrant, AccessPermission::Allow};
use mgp_types::{Error, Gate, Object, Principal, Request, Response, mcp::Implementation};
use tower::{ServiceBuilder, ServiceExt, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let child = ChildCommand::new(args.next().ok_or("usage: two_layers PROGRAM [ARGS…]")?);
    let (_process, stdout, stdin) = child.args(args).spawn()?;
    let deaf = |_| service_fn(async |it: Request| Err::<Response, _>(Error::method_not_found(&it.method)));
    let (wire, connection) = connect(stdout, stdin, &deaf, ConnectionLimits::default());
    tokio::spawn(connection);
    let me = era::ClientIdentity::new(Implementation::new("two_layers", "1.0.0"));
    let server = era::ClientEra::negotiate(wire, me, era::EraOptions::default()).await?;
    let (log, policy) =
        (AuditLog::open(LogStore::in_memory()?)?, AccessPolicy::open(AccessPolicySettings::default())?);
    let grant = AccessGrant::new("agent".into(), "child".into(), Allow).for_tool("echo".into());
    policy.grant(&Principal::operator("me"), None, grant).await?;
    let auth = AuthLayer::fixed(Principal::new("agent"));
    let audit = AuditLayer::new(std::sync::Arc::new(log.clone())).for_server("child".into());
    let access = AccessGate::new(policy).for_server("child".into());
    let server = ServiceBuilder::new().layer(auth).layer(audit).layer(access.into_layer()).service(server);
    for params in [r#"{"name":"echo","arguments":{"text":"hi","message":"hi"}}"#, r#"{"name":"add"}"#] {
        match server.clone().oneshot(Request::call("tools/call", Object::parse(params)?)).await {
            Ok(response) => eprintln!("{}", response.result),
            Err(error) => eprintln!("{error}"),
        }
    }
    log.reader().query(&Query::new(Filter::default()))?.iter().for_each(|entry| eprintln!("{entry:?}"));
    Ok(())
}
